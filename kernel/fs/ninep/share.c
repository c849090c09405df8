/* Shared folders as file systems: attaching, and what concerns a folder as a whole. */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ninep/private.h"
#include "kernel/sched/thread.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define V9FS_MAGIC   0x01021997u
#define NS_SHORTEST  UINT64_C(10000000)
#define NS_LONGEST   UINT64_C(1000000000)
#define NS_A_PAGE    4000u
#define RESERVE_PART 4u /* of memory is not used for pages that are only kept */

const struct inode_ops share_ops = {
    .lookup = share_lookup,
    .create = share_create,
    .link = share_link,
    .unlink = share_unlink,
    .rename = share_rename,
    .readdir = share_readdir,
    .name_of = share_name_of,
    .place_of = share_place_of,
    .readlink = share_readlink,
    .open = share_open,
    .change = share_change,
    .will_read = share_will_read,
    .write = share_write,
    .resize = share_resize,
    .sync = share_sync,
    .end = share_end,
};

static void usage(const struct fs *fs, struct fs_usage *u)
{
    struct share *s = share_of(fs);
    const struct share_inode *root = share_inode_of(fs->root);
    uint32_t fid = fid_hold(root);
    struct ninep_statfs st;
    int err = ninep_usage(&s->client, fid, &st);

    fid_release(root, fid);
    u->magic = V9FS_MAGIC;
    if (err)
        return;
    /* In whole pages of ours: a server's block may be smaller or larger. */
    u->blocks = (uint64_t)((unsigned __int128)st.blocks * st.block_size / PAGE_SIZE);
    u->free = (uint64_t)((unsigned __int128)st.free * st.block_size / PAGE_SIZE);
    u->available = (uint64_t)((unsigned __int128)st.available * st.block_size / PAGE_SIZE);
    u->inodes = st.files;
    u->inodes_free = st.files_free;
}

/* How long programs need to take what is free, down to half of the reserve, at 2 GiB a second: that
 * is when it has to be looked at again whether pages kept here must make room. */
static uint64_t next_look(struct share *s)
{
    uint64_t fluid = fluid_count(), floor = s->reserve / 2;
    uint64_t ns = fluid > floor ? (fluid - floor) * NS_A_PAGE : 0;

    return MIN(MAX(ns, NS_SHORTEST), NS_LONGEST);
}

/* What the client's thread does now and then: free what has ended, write back, leave memory to
 * programs. Returns when it is to be called again. */
static uint64_t idle(void *arg)
{
    struct share *s = arg;

    share_free_dead(s);
    (void)share_trim(s, fluid_count() < s->reserve ? 0 : SHARE_KEPT, NULL, TRIM_STEP);
    share_shrink(s);
    return share_write_back(s) ? 0 : next_look(s);
}

/* ---- self-check and census ---- */

static void validate_share(struct validate *v, const struct fs *fs)
{
    const struct share *s = share_of(fs);
    const struct share_inode *i;

    list_for_each_entry(i, &s->all, all_link)
        if (i->inode.object && !i->ended)
            validate_file_object(v, i->inode.object);
    ninep_client_validate(v, &s->client);
}

static struct share *shares; /* constant after boot: a chain by `next` */

static void explain_inode(struct census *c, const struct share_inode *i)
{
    census_explain(c, CENSUS_NONPAGED, sizeof(*i), 1);
    if (i->name)
        census_explain(c, CENSUS_NONPAGED, i->name_len, 1);
    if (i->inode.object && !i->ended)
        object_census(c, i->inode.object);
    share_listing_census(c, i);
}

static void explain(struct census *c)
{
    const struct share_inode *i;

    for (const struct share *s = shares; s; s = s->next) {
        list_for_each_entry(i, &s->all, all_link)
            explain_inode(c, i);
        ninep_client_census(c, &s->client);
    }
}

static void census_boot(struct share *s)
{
    static const struct census_kind kinds[] = {
        {"inode of a shared folder", CENSUS_NONPAGED, sizeof(struct share_inode)},
    };

    if (!shares)
        census_register(explain, kinds, ARRAY_SIZE(kinds));
    s->next = shares;
    shares = s;
}

/* ---- boot ---- */

static int attach(struct share *s, const char *text)
{
    uint32_t fid = ninep_fid_new(&s->client);
    struct fs_name name = fs_name(text, strlen(text));
    struct inode *root;
    struct ninep_qid q;
    int err = ninep_attach(&s->client, fid, &q);

    if (!err)
        err = share_found(s, NULL, NULL, fid, &q, &root);
    if (err)
        return err;
    if (!inode_is_dir(root))
        return -ENOTDIR;
    root->parent = root; /* no reference is counted: tree_mount() sets the real one */
    s->fs.root = root;
    return share_rename_directory(share_inode_of(root), &name);
}

static void share_init(struct share *s)
{
    struct page_stats pages;

    page_stats(&pages);
    s->reserve = pages.total / RESERVE_PART;
    s->fs.name = "9p";
    s->fs.dev = fs_new_dev();
    s->fs.usage = usage;
    s->fs.reclaim = share_reclaim;
    s->fs.validate = validate_share;
    s->fs.sync = share_sync_all;
    s->fs.private = s;
    mutex_init(&s->lock, "shared folder", MUTEX_SHARE);
    for (unsigned k = 0; k < SHARE_HEADS; k++)
        list_init(&s->heads[k]);
    list_init(&s->order);
    list_init(&s->all);
    list_init(&s->dead);
    list_init(&s->dirty);
    wait_queue_init(&s->written, "written back");
}

/* A folder that cannot be attached keeps its memory: its server may still answer. */
int ninep_fs_create(const char *tag, const char *name, struct fs **fs)
{
    struct share *s = npp_alloc_zeroed(sizeof(*s));
    int err;

    if (!s)
        return -ENOMEM;
    share_init(s);
    err = ninep_client_boot(&s->client, tag, idle, s);
    if (err == -ENODEV) {
        npp_free(s, sizeof(*s));
        return err;
    }
    if (!err)
        err = attach(s, name);
    census_boot(s);
    if (!err)
        *fs = &s->fs;
    return err;
}
