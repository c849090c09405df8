/*
 * The inodes of a shared folder: which are known, what the server says of them, and their end.
 *
 * A file is known by the path of its qid, which the server makes of device and inode number. So all
 * names of a file here lead to one inode, and to one set of pages. An inode whose name leads to
 * another file by now, or a directory that was moved by the host, is forgotten: who has it open
 * keeps it, and a look-up makes a new one.
 *
 * References: the index has one to each inode in it. While share.lock is held, an inode whose only
 * reference is that of the index can gain no other: look-ups take theirs under the lock, and
 * everybody else must have one already, or a mapping of its object, which share_trim() asks for.
 *
 * An inode is freed by the client's thread, one after the other: the end of a directory may be that
 * of its parent, and so on upward.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/fs/ninep/private.h"
#include "kernel/fs/notify.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"
#include "mm/pool/pool_charged.h"

#define TRIES 3u /* of a look-up, while the host replaces the file */

static struct list *head_of(struct share *s, uint64_t path)
{
    return &s->heads[(path * UINT64_C(0x9E3779B97F4A7C15)) >> 32 & (SHARE_HEADS - 1)];
}

uint64_t share_place(const struct inode *dir, const struct fs_name *name)
{
    return share_inode_of(dir)->serial * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)name->hash << 8 ^
           name->len;
}

/* ---- attributes ---- */

static uint32_t type_of(uint32_t mode) { return mode & S_IFMT; }

static bool is_known_type(uint32_t mode)
{
    switch (type_of(mode)) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK:
        return true;
    default:
        return false;
    }
}

/*
 * What the server says may be older than what we have changed since it was asked: the length of a
 * file that was appended to meanwhile would cut it. So changes are counted when the server has
 * answered them, and who asks for attributes notes the counts first.
 */
struct moment {
    uint32_t changes, doubts;
};

static struct moment now(const struct share_inode *i)
{
    return (struct moment){__atomic_load_n(&i->changes, __ATOMIC_ACQUIRE),
                           __atomic_load_n(&i->doubts, __ATOMIC_ACQUIRE)};
}

/* Take over what the server says of a regular file's contents, which it was asked for when
 * i->changes was `changes`. Its lock is held, or nobody knows it yet. */
static void take_contents(struct share_inode *i, const struct ninep_attributes *a, uint32_t changes)
{
    bool ours = __atomic_load_n(&i->wrote, __ATOMIC_RELAXED);

    if (share_is_dirty(i)) /* the pages here are newer, whatever has changed there */
        return;
    if (__atomic_load_n(&i->changes, __ATOMIC_ACQUIRE) != changes) /* so is the length */
        return;
    if (!ours && a->size == i->server_size && a->mtime_ns == i->server_mtime_ns)
        return;
    if (!ours && !share_drop_pages(&i->inode))
        return; /* who looks next finds the change, too */
    __atomic_store_n(&i->wrote, false, __ATOMIC_RELAXED);
    __atomic_store_n(&i->server_size, a->size, __ATOMIC_RELEASE);
    i->server_mtime_ns = a->mtime_ns;
    if (a->size != i->inode.size)
        share_set_size(&i->inode, a->size);
}

static void take(struct share_inode *i, const struct ninep_attributes *a, struct moment asked)
{
    struct inode *in = &i->inode;

    if (asked.doubts != now(i).doubts)
        return; /* asked_ns is 0, or somebody has asked later */
    __atomic_store_n(&in->mode, a->mode, __ATOMIC_RELAXED);
    __atomic_store_n(&in->uid, a->uid, __ATOMIC_RELAXED);
    __atomic_store_n(&in->gid, a->gid, __ATOMIC_RELAXED);
    __atomic_store_n(&in->nlink, (uint32_t)MIN(a->nlink, (uint64_t)UINT32_MAX), __ATOMIC_RELAXED);
    __atomic_store_n(&in->atime_ns, a->atime_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&in->mtime_ns, a->mtime_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&in->ctime_ns, a->ctime_ns, __ATOMIC_RELAXED);
    if (in->object)
        take_contents(i, a, asked.changes);
    else
        __atomic_store_n(&in->size, a->size, __ATOMIC_RELAXED);
    __atomic_store_n(&i->qid.version, a->qid.version, __ATOMIC_RELAXED);
    __atomic_store_n(&i->asked_ns, clock_ns(), __ATOMIC_RELAXED);
}

int share_refresh(struct share_inode *i, uint32_t fid)
{
    struct moment asked = now(i);
    struct ninep_attributes a;
    int err = ninep_getattr(client_of(i), fid, &a);

    if (err)
        return err;
    if (a.qid.path != i->qid.path || type_of(a.mode) != type_of(i->inode.mode))
        return -ESTALE;
    if (i->inode.object) {
        err = mutex_lock_killable(&i->inode.lock);
        if (err)
            return err;
    }
    take(i, &a, asked);
    if (i->inode.object)
        mutex_unlock(&i->inode.lock);
    return 0;
}

int share_refresh_own(struct share_inode *i)
{
    uint32_t fid = fid_hold(i);
    int err = share_refresh(i, fid);

    fid_release(i, fid);
    return err;
}

/* ---- making and ending ---- */

/* Its name, which is not changed meanwhile. */
static bool has_name(const struct share_inode *i, const struct fs_name *name)
{
    return i->name && i->name_len == name->len && memcmp(i->name, name->text, name->len) == 0;
}

static char *copy_name(const struct share_inode *i, const struct fs_name *name)
{
    char *copy = npp_alloc_charged(name->len, i->account);

    if (copy)
        memcpy(copy, name->text, name->len);
    return copy;
}

int share_rename_directory(struct share_inode *i, const struct fs_name *name)
{
    char *copy = copy_name(i, name);

    if (!copy)
        return -ENOMEM;
    if (i->name)
        npp_free_charged(i->name, i->name_len, i->account);
    i->name = copy;
    i->name_len = name->len;
    return 0;
}

/* Exchange what i remembers. The former name and directory are freed and dropped. */
static void set_home(struct share_inode *i, char *name, uint32_t len, struct inode *dir)
{
    struct inode *old_dir;
    uint32_t old_len;
    char *old;

    mutex_lock(&i->share->lock);
    old_dir = i->home;
    old = i->name;
    old_len = i->name_len;
    i->home = dir;
    i->name = name;
    i->name_len = len;
    mutex_unlock(&i->share->lock);
    if (old)
        npp_free_charged(old, old_len, i->account);
    if (old_dir)
        inode_unref(old_dir);
}

void share_remember(struct share_inode *i, struct inode *dir, const struct fs_name *name)
{
    char *copy = inode_is_dir(&i->inode) ? NULL : copy_name(i, name);

    notify_entered(dir, &i->inode);
    if (!copy)
        return;
    inode_ref(dir);
    set_home(i, copy, name->len, dir);
}

void share_unremember(struct share_inode *i)
{
    if (!inode_is_dir(&i->inode))
        set_home(i, NULL, 0, NULL);
}

int share_place_of(struct inode *in, struct inode **dir, struct fs_entry *to)
{
    struct share_inode *i = share_inode_of(in);
    int err = mutex_lock_killable(&i->share->lock);

    if (err)
        return err;
    err = i->home ? 0 : -ENOENT;
    if (!err) {
        *dir = i->home;
        inode_ref(*dir);
        to->len = i->name_len;
        memcpy(to->text, i->name, i->name_len);
        to->text[i->name_len] = '\0';
    }
    mutex_unlock(&i->share->lock);
    return err;
}

static void free_memory(struct share_inode *i)
{
    if (i->name)
        npp_free_charged(i->name, i->name_len, i->account);
    share_listing_free(i);
    account_release(&accounts[i->account], QUOTA_INODES, 1);
    npp_free(i, sizeof(*i));
}

static struct share_inode *alloc(struct share *s)
{
    struct account *a = account_self();
    struct share_inode *i;

    if (!account_charge(a, QUOTA_INODES, 1)) {
        (void)share_trim(s, 0, a, UINT32_MAX);
        share_free_dead(s); /* the client's thread would do it later */
        if (!account_charge(a, QUOTA_INODES, 1))
            return NULL;
    }
    i = npp_alloc_zeroed(sizeof(*i));
    if (!i) {
        account_release(a, QUOTA_INODES, 1);
        return NULL;
    }
    i->account = (uint16_t)(a - accounts);
    return i;
}

static void links_init(struct share_inode *i)
{
    list_init(&i->head_link);
    list_init(&i->order_link);
    list_init(&i->all_link);
    list_init(&i->dead_link);
    list_init(&i->dirty_link);
}

/* A new inode, in no index yet. The fid is taken over unless it fails. */
static int make(struct share *s, struct inode *dir, const struct fs_name *name, uint32_t fid,
                const struct ninep_attributes *a, struct share_inode **out)
{
    struct fs_new what = {.mode = a->mode, .uid = a->uid, .gid = a->gid};
    struct share_inode *i = is_known_type(a->mode) ? alloc(s) : NULL;
    ipl_t ipl;

    if (!i)
        return is_known_type(a->mode) ? -ENOMEM : -EIO;
    links_init(i);
    inode_init(&i->inode, &s->fs, &share_ops, &what);
    i->inode.ino = a->qid.path;
    i->share = s;
    i->qid = a->qid;
    i->serial = __atomic_add_fetch(&s->serial, 1, __ATOMIC_RELAXED);
    i->read_fid = i->write_fid = NINEP_NO_FID;
    i->put_end = UINT64_MAX;
    if (type_of(a->mode) == S_IFREG)
        i->inode.object = object_create(0, &share_pager, i);
    if (type_of(a->mode) == S_IFDIR) {
        mutex_init(&i->listing_lock, "names of a shared folder", MUTEX_INODE);
        if (dir) {
            i->name = copy_name(i, name);
            i->name_len = name->len;
        }
    }
    if ((type_of(a->mode) == S_IFREG && !i->inode.object) ||
        (type_of(a->mode) == S_IFDIR && dir && !i->name)) {
        free_memory(i);
        return -ENOMEM;
    }
    i->fid = fid;
    if (dir)
        i->place = share_place(dir, name);
    if (dir && type_of(a->mode) == S_IFDIR) {
        inode_ref(dir);
        i->inode.parent = dir;
    }
    take(i, a, now(i));
    ipl = spin_lock(&s->client.lock);
    list_add_tail(&s->all, &i->all_link);
    spin_unlock(&s->client.lock, ipl);
    *out = i;
    return 0;
}

/* Nobody can reach i any more: have the client's thread free it. */
static void bury(struct share_inode *i)
{
    struct share *s = i->share;
    ipl_t ipl = spin_lock(&s->client.lock);

    list_remove(&i->dirty_link);
    list_add_tail(&s->dead, &i->dead_link);
    spin_unlock(&s->client.lock, ipl);
    ninep_client_wake(&s->client);
}

void share_object_ended(struct mm_object *o) { bury(object_pager_data(o)); }

void share_end(struct inode *in)
{
    struct share_inode *i = share_inode_of(in);

    i->ended = true;
    if (in->object)
        object_unref(
            in->object); /* share_object_ended() buries i, now or after the last unmapping */
    else
        bury(i);
}

/* The next inode to be freed, or NULL. It is in no list afterwards. */
static struct share_inode *next_dead(struct share *s)
{
    ipl_t ipl = spin_lock(&s->client.lock);
    struct list *l = list_pop_head(&s->dead);
    struct share_inode *i = l ? list_entry(l, struct share_inode, dead_link) : NULL;

    if (i)
        list_remove(&i->all_link);
    spin_unlock(&s->client.lock, ipl);
    return i;
}

void share_free_dead(struct share *s)
{
    struct share_inode *i;

    while ((i = next_dead(s)) != NULL) {
        struct inode *parent = i->inode.parent, *home = i->home;

        ninep_fid_drop(&s->client, i->fid);
        ninep_fid_drop(&s->client, i->read_fid);
        if (i->write_fid != i->read_fid)
            ninep_fid_drop(&s->client, i->write_fid);
        free_memory(i);
        if (parent)
            inode_unref(parent);
        if (home)
            inode_unref(home);
    }
}

/* ---- the index ---- */

static struct share_inode *find_locked(struct share *s, uint64_t path)
{
    struct share_inode *i;

    list_for_each_entry(i, head_of(s, path), head_link)
        if (i->qid.path == path)
            return i;
    return NULL;
}

static void take_out_locked(struct share_inode *i)
{
    list_remove(&i->head_link);
    list_remove(&i->order_link);
    i->indexed = false;
    __atomic_fetch_sub(&i->share->count, 1, __ATOMIC_RELAXED);
}

static void enter_locked(struct share *s, struct share_inode *i)
{
    inode_ref(&i->inode);
    list_add_head(head_of(s, i->qid.path), &i->head_link);
    list_add_tail(&s->order, &i->order_link);
    i->indexed = true;
    __atomic_fetch_add(&s->count, 1, __ATOMIC_RELAXED);
}

void share_forget(struct share_inode *i)
{
    bool was;

    mutex_lock(&i->share->lock);
    was = i->indexed;
    if (was)
        take_out_locked(i);
    mutex_unlock(&i->share->lock);
    if (was)
        inode_unref(&i->inode);
}

/* Is i what `name` in dir leads to, if that has type and path of i? The name and parent of a
 * directory change only with the mutexes of its parent, before and after, held exclusively: so if
 * it is in dir, whose mutex the caller holds, it stays there. */
static bool fits(const struct share_inode *i, const struct inode *dir, const struct fs_name *name,
                 const struct ninep_qid *q)
{
    if (i->qid.type != q->type)
        return false;
    if (!inode_is_dir(&i->inode))
        return true;
    if (!dir)
        return i->inode.parent == &i->inode;
    return __atomic_load_n(&i->inode.parent, __ATOMIC_RELAXED) == dir && has_name(i, name);
}

/* Find the inode with a reference, and let `fid` be what stands for it if its name is not the one
 * that it was found by last. *left: the fid that is not used any more. Forgets one that does not
 * fit. */
static struct share_inode *find(struct share *s, const struct inode *dir,
                                const struct fs_name *name, uint32_t fid, const struct ninep_qid *q,
                                uint32_t *left)
{
    struct share_inode *i, *other = NULL;

    *left = fid;
    mutex_lock(&s->lock);
    i = find_locked(s, q->path);
    if (i && !fits(i, dir, name, q)) {
        take_out_locked(i);
        other = i;
        i = NULL;
    }
    if (i) {
        inode_ref(&i->inode);
        list_remove(&i->order_link);
        list_add_tail(&s->order, &i->order_link);
        if (dir && i->place != share_place(dir, name)) {
            i->place = share_place(dir, name);
            *left = __atomic_exchange_n(&i->fid, fid, __ATOMIC_SEQ_CST);
        }
        __atomic_store_n(&i->lost, false, __ATOMIC_RELEASE);
    }
    mutex_unlock(&s->lock);
    if (other)
        inode_unref(&other->inode);
    return i;
}

static bool is_believed(const struct share_inode *i, uint32_t version)
{
    uint64_t asked = __atomic_load_n(&i->asked_ns, __ATOMIC_RELAXED);

    return asked && clock_ns() - asked < SHARE_BELIEF_NS &&
           __atomic_load_n(&i->qid.version, __ATOMIC_RELAXED) == version;
}

/* Enter a new inode, unless another thread was faster: then *i becomes that one. */
static void enter(struct share *s, const struct inode *dir, const struct fs_name *name,
                  struct share_inode **i)
{
    struct share_inode *mine = *i, *other;

    mutex_lock(&s->lock);
    other = find_locked(s, mine->qid.path);
    if (other && fits(other, dir, name, &mine->qid)) {
        inode_ref(&other->inode);
        *i = other;
    } else if (other) {
        take_out_locked(other);
    }
    if (*i == mine)
        enter_locked(s, mine);
    mutex_unlock(&s->lock);
    if (other && *i == mine)
        inode_unref(&other->inode);
    if (*i != mine)
        inode_unref(&mine->inode);
}

int share_found(struct share *s, struct inode *dir, const struct fs_name *name, uint32_t fid,
                const struct ninep_qid *q, struct inode **out)
{
    struct ninep_attributes a = {.qid = *q};
    struct share_inode *i = NULL;
    uint32_t left = fid;
    int err = 0;

    for (unsigned k = 0; k < TRIES && !i && !err; k++) {
        struct ninep_qid seen = a.qid;

        i = find(s, dir, name, fid, &seen, &left);
        if (i || (err = ninep_getattr(&s->client, fid, &a)) != 0)
            break;
        if (a.qid.path != seen.path)
            continue; /* it was replaced since */
        err = make(s, dir, name, fid, &a, &i);
        if (!err) {
            enter(s, dir, name, &i);
            *out = &i->inode;
            return 0;
        }
    }
    if (i && !is_believed(i, a.qid.version)) {
        err = left == fid ? share_refresh(i, fid) : share_refresh_own(i);
        if (err) {
            if (err == -ESTALE) /* the next look-up makes a new one */
                share_forget(i);
            inode_unref(&i->inode);
            i = NULL;
        }
    }
    ninep_fid_drop(&s->client, left);
    if (i)
        *out = &i->inode;
    return i ? 0 : err ? err : -ESTALE;
}

/* Does only the index refer to i, and is nothing to be written? Mappings first: whoever unmaps the
 * file has made its last store before, and so counts as dirty. The rest in one look under the
 * client's lock: its thread takes a reference before a dirty file leaves the list, and puts it back
 * on the list before it drops that. New references are taken under share.lock, which is held. */
static bool is_unused(struct share_inode *i)
{
    struct ninep_client *c = &i->share->client;
    bool unused;
    ipl_t ipl;

    if (i->inode.object && object_is_mapped(i->inode.object))
        return false;
    ipl = spin_lock(&c->lock);
    unused = __atomic_load_n(&i->inode.refs, __ATOMIC_ACQUIRE) == 1 && list_empty(&i->dirty_link) &&
             __atomic_load_n(&i->puts, __ATOMIC_ACQUIRE) == 0;
    spin_unlock(&c->lock, ipl);
    return unused;
}

/* One of those, among the first few that were looked up longest ago; it is taken out. Adds to
 * *looked how many were looked at. */
static struct share_inode *pick(struct share *s, uint32_t keep, const struct account *of,
                                uint32_t *looked)
{
    struct share_inode *i, *tmp, *found = NULL;
    unsigned n = 0;

    mutex_lock(&s->lock);
    list_for_each_entry_safe(i, tmp, &s->order, order_link) {
        if (n++ == TRIM_STEP || s->count <= keep)
            break;
        if ((!of || &accounts[i->account] == of) && is_unused(i)) {
            take_out_locked(i);
            found = i;
            break;
        }
        list_remove(&i->order_link); /* look at others next time */
        list_add_tail(&s->order, &i->order_link);
    }
    mutex_unlock(&s->lock);
    *looked += MAX(n, 1u);
    return found;
}

unsigned share_trim(struct share *s, uint32_t keep, const struct account *of, uint32_t look)
{
    uint32_t looked = 0, count = __atomic_load_n(&s->count, __ATOMIC_RELAXED);
    unsigned k = 0;

    while (looked < MIN(look, count) && k < TRIM_STEP && !thread_killed()) {
        struct share_inode *i = pick(s, keep, of, &looked);

        if (i) {
            inode_unref(&i->inode);
            k++;
        } else if (__atomic_load_n(&s->count, __ATOMIC_RELAXED) <= keep) {
            break;
        }
    }
    return k;
}

struct share_inode *share_next(struct share *s, uint32_t *looked)
{
    struct share_inode *i, *tmp, *found = NULL;
    unsigned n = 0;

    mutex_lock(&s->lock);
    list_for_each_entry_safe(i, tmp, &s->order, order_link) {
        if (found || n++ == TRIM_STEP)
            break;
        list_remove(&i->order_link);
        list_add_tail(&s->order, &i->order_link);
        if (i->inode.object) {
            inode_ref(&i->inode);
            found = i;
        }
    }
    mutex_unlock(&s->lock);
    *looked += MAX(n, 1u);
    return found;
}
