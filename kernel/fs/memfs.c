/*
 * The memory file system: the operations that change names, and where each file and directory has
 * its name. memfs_dir.c finds the names of a directory, memfs_file.c has the contents of files.
 */
#include "kernel/fs/memfs_private.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/sched/timer.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_charged.h"

/* Protects memfs_file.home of all files, and the list of those that have none. */
static struct spinlock homes_lock = SPINLOCK_INIT("names of files", RANK_HOMES, IPL_ASTDEL);

struct list memfs_nameless = LIST_INIT(memfs_nameless);

static bool is_place(const struct memfs_place *p, const struct memfs_dir *d,
                     const struct memfs_name *e)
{
    return p->dir == d && p->cookie == e->cookie;
}

/* i has the name e in d now. */
static void home_set(struct inode *i, struct memfs_dir *d, const struct memfs_name *e)
{
    struct memfs_file *f;
    ipl_t ipl;

    if (inode_is_dir(i))
        return;
    f = file_of(i);
    ipl = spin_lock(&homes_lock);
    if (f->home.dir)
        f->former = f->home;
    f->home = (struct memfs_place){d, e->cookie};
    spin_unlock(&homes_lock, ipl);
}

/* No name of f is known. The caller has a reference to f; homes_lock is held. */
static void enter_nameless_locked(struct memfs_file *f)
{
    if (f->nameless)
        return;
    f->nameless = true;
    list_add_tail(&memfs_nameless, &f->nameless_link);
}

/* The name e of i in d will be removed. Of several other names, one may be known. */
static void home_forget(struct inode *i, const struct memfs_dir *d, const struct memfs_name *e)
{
    struct memfs_file *f;
    ipl_t ipl;

    if (inode_is_dir(i))
        return;
    f = file_of(i);
    ipl = spin_lock(&homes_lock);
    if (is_place(&f->former, d, e))
        f->former.dir = NULL;
    if (is_place(&f->home, d, e)) {
        f->home = f->former;
        f->former.dir = NULL;
    }
    if (!f->home.dir)
        enter_nameless_locked(f);
    spin_unlock(&homes_lock, ipl);
}

/* Nobody refers to f any more. */
static void forget_nameless(struct memfs_file *f)
{
    ipl_t ipl;

    if (!f->nameless) /* who put it into the list had a reference */
        return;
    ipl = spin_lock(&homes_lock);
    list_remove(&f->nameless_link);
    spin_unlock(&homes_lock, ipl);
}

static void add_links(struct inode *i, uint32_t n)
{
    __atomic_fetch_add(&i->nlink, n, __ATOMIC_RELAXED);
}

/* Record that the directory child is in `parent`, under the name e. */
static void set_parent(struct inode *child, struct inode *parent, struct memfs_name *e)
{
    child->parent = parent;
    dir_of(child)->self = e;
    inode_ref(parent);
    add_links(parent, 1); /* child's .. */
}

/* Record that the directory child is in no directory. */
static void drop_parent(struct inode *child)
{
    struct inode *parent = child->parent;

    child->parent = NULL;
    dir_of(child)->self = NULL;
    add_links(parent, -1u);
    inode_unref(parent); /* never the last: the caller, which holds its lock, has one */
}

/* Remove the name e from dir; the caller holds a reference to its inode. */
static void remove_name(struct inode *dir, struct memfs_name *e)
{
    struct inode *i = e->inode;

    home_forget(i, dir_of(dir), e);
    memfs_take_out(dir_of(dir), e);
    if (inode_is_dir(i)) {
        drop_parent(i);
        add_links(i, -2u); /* its name and its own . */
    } else {
        add_links(i, -1u);
    }
    inode_unref(i);
}

static void memfs_end(struct inode *i)
{
    if (inode_is_dir(i)) {
        memfs_dir_end(i);
        return;
    }
    forget_nameless(file_of(i));
    memfs_file_end(i);
}

/* Why there was no inode or name: a limit of the user, or memory. */
static int why_not(const struct fs_name *name)
{
    const struct account *a = account_self();

    return account_is_full(a, QUOTA_INODES, 1) ||
                   account_is_full(a, QUOTA_PAGED, entry_bytes(name->len))
               ? -ENOSPC
               : -ENOMEM;
}

static int memfs_make(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                      struct inode **out)
{
    bool directory = (what->mode & S_IFMT) == S_IFDIR;
    struct inode *i = directory ? memfs_dir_new(dir->fs, what) : memfs_file_new(dir->fs, what);
    struct memfs_name *e = i ? memfs_entry_new(name, i) : NULL;

    if (!e) {
        if (i)
            memfs_end(i);
        return why_not(name);
    }
    i->nlink = directory ? 2 : 1;
    if (directory)
        set_parent(i, dir, e);
    if (out) {
        i->refs++;
        *out = i;
    }
    memfs_insert(dir_of(dir), e); /* the first reference becomes the name's */
    if (!directory) {             /* nobody else knows i before dir is unlocked */
        file_of(i)->home = (struct memfs_place){dir_of(dir), e->cookie};
    }
    inode_changed_at(dir, i->mtime_ns);
    return 0;
}

static int memfs_link(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    uint32_t links = __atomic_load_n(&i->nlink, __ATOMIC_RELAXED);
    struct memfs_name *e = memfs_entry_new(name, i);

    if (!e)
        return why_not(name);
    do {
        if (links == 0 && (inode_is_dir(i) || !file_of(i)->linkable)) {
            memfs_entry_free(e);
            return -ENOENT;
        }
    } while (!__atomic_compare_exchange_n(&i->nlink, &links, links + 1, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    inode_ref(i);
    memfs_insert(dir_of(dir), e);
    home_set(i, dir_of(dir), e);
    inode_touch(dir);
    inode_touch_attributes(i);
    return 0;
}

static int memfs_make_unnamed(struct inode *dir, const struct fs_new *what, bool linkable,
                              struct inode **out)
{
    struct inode *i = memfs_file_new(dir->fs, what);
    ipl_t ipl;

    if (!i)
        return account_is_full(account_self(), QUOTA_INODES, 1) ? -ENOSPC : -ENOMEM;
    file_of(i)->linkable = linkable;
    ipl = spin_lock(&homes_lock);
    enter_nameless_locked(file_of(i));
    spin_unlock(&homes_lock, ipl);
    *out = i;
    return 0;
}

static bool has_names(struct inode *i) { return inode_is_dir(i) && dir_of(i)->count; }

static int memfs_unlink(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    if (has_names(i))
        return -ENOTEMPTY;
    remove_name(dir, memfs_find(dir_of(dir), name));
    inode_touch(dir);
    inode_touch_attributes(i);
    return 0;
}

static int memfs_rename(struct inode *from, const struct fs_name *old, struct inode *i,
                        struct inode *to, const struct fs_name *to_name, struct inode *replaced)
{
    struct memfs_name *e, *was;

    if (replaced && has_names(replaced))
        return -ENOTEMPTY;
    e = memfs_entry_new(to_name, i);
    if (!e)
        return why_not(to_name);
    if (replaced) {
        remove_name(to, memfs_find(dir_of(to), to_name));
        inode_touch_attributes(replaced);
    }
    was = memfs_find(dir_of(from), old);
    if (from == to) {
        memfs_replace(dir_of(to), was, e);
    } else {
        memfs_insert(dir_of(to), e);
        home_set(i, dir_of(to), e); /* first, so that it always has a known one */
        home_forget(i, dir_of(from), was);
        memfs_take_out(dir_of(from), was);
    }
    if (inode_is_dir(i)) {
        drop_parent(i);
        set_parent(i, to, e);
    }
    inode_touch(to);
    inode_changed_at(from, to->mtime_ns);
    inode_touch_attributes(i);
    return 0;
}

/* Let the name e of directory dir stand for i, and with it its reference. */
static void give_name(struct inode *dir, struct memfs_name *e, struct inode *i)
{
    e->inode = i;
    home_set(i, dir_of(dir), e);
    if (inode_is_dir(i)) {
        drop_parent(i);
        set_parent(i, dir, e);
    }
    inode_touch_attributes(i);
}

static int memfs_exchange(struct inode *dir, const struct fs_name *name, struct inode *i,
                          struct inode *to, const struct fs_name *other, struct inode *j)
{
    struct memfs_name *e = memfs_find(dir_of(dir), name), *f = memfs_find(dir_of(to), other);

    give_name(to, f, i);
    home_forget(i, dir_of(dir), e);
    give_name(dir, e, j);
    home_forget(j, dir_of(to), f);
    inode_touch(dir);
    inode_touch(to);
    return 0;
}

static int memfs_name_of(struct inode *dir, struct fs_entry *to)
{
    memfs_describe(dir_of(dir)->self, to);
    return 0;
}

/* The directory of the file's known name, with a reference, or NULL. */
static struct memfs_dir *home_of(struct memfs_file *f, uint64_t *cookie)
{
    ipl_t ipl = spin_lock(&homes_lock);
    struct memfs_dir *d = f->home.dir;

    *cookie = f->home.cookie;
    if (d)
        inode_ref(&d->inode);
    spin_unlock(&homes_lock, ipl);
    return d;
}

static int memfs_place_of(struct inode *i, struct inode **dir, struct fs_entry *to)
{
    uint64_t cookie;
    struct memfs_dir *d = home_of(file_of(i), &cookie);
    const struct memfs_name *e;
    int err;

    if (!d)
        return -ENOENT;
    err = mutex_lock_shared_killable(&d->inode.lock);
    if (!err) {
        e = memfs_after(d, cookie - 1);
        if (e && e->cookie == cookie && e->inode == i)
            memfs_describe(e, to);
        else
            err = -ENOENT;
        mutex_unlock_shared(&d->inode.lock);
    }
    if (err)
        inode_unref(&d->inode);
    else
        *dir = &d->inode;
    return err;
}

const struct inode_ops memfs_ops = {
    .lookup = memfs_lookup,
    .create = memfs_make,
    .link = memfs_link,
    .unlink = memfs_unlink,
    .rename = memfs_rename,
    .exchange = memfs_exchange,
    .create_unnamed = memfs_make_unnamed,
    .readdir = memfs_readdir,
    .name_of = memfs_name_of,
    .place_of = memfs_place_of,
    .readlink = memfs_readlink,
    .resize = memfs_resize,
    .discard = memfs_discard,
    .end = memfs_end,
};

/* The pages that the current user's files could still have, and the inodes. */
static void memfs_usage(const struct fs *fs, struct fs_usage *u)
{
    const struct account *a = account_self();
    const struct quota_count *pages = &a->count[QUOTA_FILE_PAGES];
    const struct quota_count *inodes = &a->count[QUOTA_INODES];
    uint64_t room = quota_room(pages), fluid = fluid_count();
    uint64_t floor = (uint64_t)MAX(a->file_floor, 0);
    struct page_stats s;

    (void)fs;
    page_stats(&s);
    u->magic = TMPFS_MAGIC;
    u->blocks = s.total;
    u->free = s.free;
    u->available = MIN(MIN(fluid > floor ? fluid - floor : 0, room), s.free);
    u->inodes_free = MIN(quota_room(inodes), s.free);
    u->inodes = u->inodes_free + __atomic_load_n(&inodes->used, __ATOMIC_RELAXED);
}

int memfs_create(struct fs *fs)
{
    fs->name = "tmpfs";
    fs->keeps = true;
    fs->dev = fs_new_dev();
    fs->usage = memfs_usage;
    memfs_dir_seed(clock_ns());
    fs->root = memfs_dir_new(fs, &(struct fs_new){.mode = S_IFDIR | 0755});
    if (!fs->root)
        return -ENOMEM;
    fs->root->parent = fs->root; /* no reference is counted: the root would never be freed */
    fs->root->nlink = 2;
    return 0;
}
