/*
 * The memory file system. A regular file's pages are filled at their first use, from the initrd's
 * bytes (backing) or with zeroes, and stay until the file is deleted: there is no other storage.
 *
 * A directory keeps its names in two structures: a hash table by name, for look-ups, and a treap (a
 * search tree balanced by random weights) by cookie, for getdents. Cookies ascend in the order of
 * creation and are not used again, so a thread that reads the directory while names are removed
 * gets no name twice and none that is gone. The hash table starts with MEMFS_HEADS heads in the
 * inode, and doubles and halves with the number of names. If there is no memory for a larger table,
 * or at MEMFS_HEADS_MAX, more names share a head instead; so the only allocation that can make the
 * addition of a name fail is the name itself. The names of a head are a treap too, by hash, length
 * and text: users choose names, and can choose them so that all have the same hash.
 *
 * The pager replies at once, inside get: it allocates a page, fills it and supplies it. It takes no
 * lock of this layer, because it runs inside faults, including the fault of a thread that is in
 * inode_write_user with the inode's mutex held. What it reads (size, backing_bytes) is atomic. A
 * page that is supplied while a truncation runs is dropped by the truncation, which sets the size
 * first.
 *
 * An object and its inode: the inode holds one reference to the object, and while the object exists
 * it keeps the inode's memory allocated (without an inode reference). Dropping the last inode
 * reference drops the object's, and the object's end frees the memory. So the contents of an
 * unlinked file stay while they are mapped.
 */
#include "kernel/fs/memfs.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/base/treap.h"
#include "kernel/sched/timer.h"
#include "mm/check/census.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_charged.h"
#include "mm/space/aspace.h"

#define MEMFS_HEADS     8u         /* heads of a small directory */
#define MEMFS_HEADS_MAX (1u << 16) /* heads of the largest: 512 KiB of paged pool */
#define FIRST_COOKIE    3u         /* 1 and 2 stand for . and .. */

/* In paged pool. All fields are protected by the directory's mutex. */
struct memfs_name {
    struct inode *inode;                  /* holds a reference */
    struct treap_node node;               /* in the tree of its head; with the hash */
    struct memfs_name *left, *right, *up; /* treap: cookies ascend from left to right */
    uint64_t cookie;
    uint32_t weight;  /* not above the weight of `up` */
    uint16_t account; /* number of the account that is charged for it; constant */
    uint8_t len;
    char text[];
};

struct memfs_file { /* regular files, symbolic links, devices */
    struct inode inode;
    uint16_t account;       /* number of the account that is charged for it; constant */
    const uint8_t *backing; /* constant: the initrd's bytes, or NULL */
    uint64_t backing_bytes; /* atomic; only shrinks, with inode.lock held exclusively */
    char *target;           /* symbolic link: constant; in paged pool, inode.size bytes */
    bool linkable;          /* made without a name, and may get one; constant */
    uint32_t found;         /* used by the census: names found so far, 0 after the last */
    /* One of its names, for those who ask for a path: its directory (NULL: none is known) and its
     * cookie there; homes_lock. It is forgotten before the name is removed, so while the lock is
     * held the directory exists. */
    struct memfs_dir *home;
    uint64_t home_cookie;
};

/* All fields but `self` are protected by inode.lock. */
struct memfs_dir {
    struct inode inode;
    uint16_t account; /* as above */
    /* Its name in its parent directory. Protected by rename_mutex, as is the name itself. */
    struct memfs_name *self;
    struct memfs_name *tree, *last; /* root of the treap, and its last name */
    struct treap *heads;            /* nheads: `small`, or in paged pool */
    uint32_t nheads, count;
    uint64_t next_cookie;
    uint32_t seed; /* state of the generator of weights; never 0 */
    struct treap small[MEMFS_HEADS];
};

static const struct inode_ops memfs_ops;
static uint64_t boot_seed; /* constant after boot */

static struct memfs_dir *dir_of(struct inode *i)
{
    return container_of(i, struct memfs_dir, inode);
}
static struct memfs_file *file_of(struct inode *i)
{
    return container_of(i, struct memfs_file, inode);
}
static size_t entry_bytes(size_t len) { return offsetof(struct memfs_name, text) + len; }

/* ---- the pager ---- */

/* Supply one page of a file, or deny it with an error. */
static void supply_page(struct mm_object *o, struct memfs_file *f, uint64_t offset, unsigned access)
{
    uint64_t backed = __atomic_load_n(&f->backing_bytes, __ATOMIC_ACQUIRE);
    uint64_t at = offset << PAGE_SHIFT;
    pfn_t pfn;
    int err;

    if (at >= __atomic_load_n(&f->inode.size, __ATOMIC_ACQUIRE)) {
        mm_deny(o, offset, 1, -ENXIO);
        return;
    }
    /* What was read from the archive stays for all users; what one of them writes is theirs. */
    err = page_alloc(at < backed ? PA_SHARED : PA_ZERO | PA_FILE, PAGE_T_OBJECT, RAD_ANY, &pfn);
    if (err) {
        mm_deny(o, offset, 1, at < backed ? err : -ENOSPC);
        return;
    }
    if (at < backed) {
        size_t n = MIN(backed - at, PAGE_SIZE);
        uint8_t *page = kseg_page(pfn);

        memcpy(page, f->backing + at, n);
        if (n < PAGE_SIZE)
            memset(page + n, 0, PAGE_SIZE - n);
    }
    mm_supply(o, offset, pfn, access | MAP_R | MAP_W);
}

static int memfs_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    struct memfs_file *f = object_pager_data(o);

    for (uint64_t n = 0; n < count; n++)
        supply_page(o, f, offset + n, access);
    return 0;
}

/* The memory of an inode, zeroed, which counts for the current thread's account. */
static void *node_alloc(size_t nbytes)
{
    struct account *a = account_self();
    void *p;

    if (!account_charge(a, QUOTA_INODES, 1))
        return NULL;
    p = npp_alloc_zeroed(nbytes);
    if (!p)
        account_release(a, QUOTA_INODES, 1);
    return p;
}

static void node_free(void *p, size_t nbytes, uint16_t account)
{
    account_release(&accounts[account], QUOTA_INODES, 1);
    npp_free(p, nbytes);
}

static void node_end(struct memfs_file *f)
{
    if (f->target)
        pgd_free_charged(f->target, f->inode.size, f->account);
    node_free(f, sizeof(*f), f->account);
}

static void memfs_object_end(struct mm_object *o) { node_end(object_pager_data(o)); }

/* Every page is supplied with all access rights, so there is no upgrade operation, and pages are
 * never written back. */
static const struct pager_ops memfs_pager = {
    .name = "file", .get = memfs_get, .end = memfs_object_end};

/* ---- inodes ---- */

static struct inode *dir_new(struct fs *fs, const struct fs_new *what)
{
    struct memfs_dir *d = node_alloc(sizeof(*d));

    if (!d)
        return NULL;
    d->account = pool_account();
    inode_init(&d->inode, fs, &memfs_ops, what);
    d->heads = d->small;
    d->nheads = MEMFS_HEADS;
    d->next_cookie = FIRST_COOKIE;
    d->seed = (uint32_t)(d->inode.ino * 2654435761u ^ boot_seed) | 1;
    return &d->inode;
}

static struct inode *file_new(struct fs *fs, const struct fs_new *what)
{
    struct memfs_file *f = node_alloc(sizeof(*f));
    bool whole = true;

    if (!f)
        return NULL;
    f->account = pool_account();
    inode_init(&f->inode, fs, &memfs_ops, what);
    if ((what->mode & S_IFMT) == S_IFREG) {
        f->inode.object = object_create(0, &memfs_pager, f);
        whole = f->inode.object != NULL;
    } else if ((what->mode & S_IFMT) == S_IFLNK) {
        size_t n = strlen(what->target);

        f->target = pgd_alloc_charged(n, f->account);
        whole = f->target != NULL;
        if (whole) {
            memcpy(f->target, what->target, n);
            f->inode.size = n;
        }
    }
    if (!whole) {
        node_free(f, sizeof(*f), f->account);
        return NULL;
    }
    return &f->inode;
}

static void memfs_end(struct inode *i)
{
    if (i->object) {
        object_unref(i->object); /* memfs_object_end frees i, now or after the last unmapping */
    } else if (inode_is_dir(i)) {
        KASSERT(dir_of(i)->count == 0, "each name's directory is held by the name");
        node_free(dir_of(i), sizeof(struct memfs_dir), dir_of(i)->account);
    } else {
        node_end(file_of(i));
    }
}

static void set_size(struct inode *i, uint64_t size)
{
    uint64_t npages = (size + PAGE_MASK) >> PAGE_SHIFT, was = (i->size + PAGE_MASK) >> PAGE_SHIFT;

    __atomic_store_n(&i->size, size, __ATOMIC_RELEASE);
    if (npages != was)
        object_truncate(i->object, npages);
}

static int memfs_resize(struct inode *i, uint64_t size)
{
    struct memfs_file *f = file_of(i);
    uint64_t within = size & PAGE_MASK;
    bool shorter = size < i->size;

    if (f->backing_bytes > size)
        __atomic_store_n(&f->backing_bytes, size, __ATOMIC_RELEASE);
    set_size(i, size);
    if (shorter && within) { /* a later extension must read as zeroes */
        pfn_t pfn = object_page_try_get(i->object, size >> PAGE_SHIFT);

        if (!pfn_eq(pfn, PFN_NONE)) {
            memset((uint8_t *)kseg_page(pfn) + within, 0, PAGE_SIZE - within);
            page_unref(pfn);
        }
    }
    return 0;
}

/* Overwrite a page with zeroes, if it is in memory, or if `make` is set. */
static int clear_page(struct inode *i, uint64_t index, bool make)
{
    pfn_t pfn = object_page_try_get(i->object, index);
    int err = 0;

    if (pfn_eq(pfn, PFN_NONE) && make)
        err = object_page_get(i->object, index, MAP_R | MAP_W, &pfn);
    if (err || pfn_eq(pfn, PFN_NONE))
        return err;
    memset(kseg_page(pfn), 0, PAGE_SIZE);
    page_unref(pfn);
    return 0;
}

/* Pages of the initrd would come back as they were, and a page locked in memory stays: these are
 * overwritten. */
static int memfs_discard(struct inode *i, uint64_t first, uint64_t n)
{
    uint64_t backed = (file_of(i)->backing_bytes + PAGE_MASK) >> PAGE_SHIFT, end = first + n;

    int err = 0;

    for (; !err && first < MIN(backed, end); first++)
        err = clear_page(i, first, true);
    if (!err && first < end && mm_downgrade(i->object, first, end - first, 0))
        for (; first < end; first++)
            (void)clear_page(i, first, false);
    return err;
}

void memfs_set_backing(struct inode *i, const void *p, uint64_t n)
{
    struct memfs_file *f = file_of(i);

    f->backing = p;
    f->backing_bytes = n;
    set_size(i, n);
}

static long memfs_readlink(struct inode *i, char *buf, size_t n)
{
    n = MIN(n, i->size);
    memcpy(buf, file_of(i)->target, n);
    return (long)n;
}

/* ---- the treap of names by cookie ---- */

/* Make `by` (or NULL) the child of e's parent in e's place. */
static void replace_child(struct memfs_dir *d, struct memfs_name *e, struct memfs_name *by)
{
    if (!e->up)
        d->tree = by;
    else if (e->up->left == e)
        e->up->left = by;
    else
        e->up->right = by;
    if (by)
        by->up = e->up;
}

/* Rotate c above its parent. */
static void rotate_up(struct memfs_dir *d, struct memfs_name *c)
{
    struct memfs_name *p = c->up;

    replace_child(d, p, c);
    if (p->left == c) {
        p->left = c->right;
        if (p->left)
            p->left->up = p;
        c->right = p;
    } else {
        p->right = c->left;
        if (p->right)
            p->right->up = p;
        c->left = p;
    }
    p->up = c;
}

/* Append the newest name, which has the highest cookie: below the lowest node on the right edge
 * whose weight is not smaller, with the lighter nodes of that edge as its left subtree. */
static void order_append(struct memfs_dir *d, struct memfs_name *e)
{
    struct memfs_name *up = d->last, *below = NULL;

    d->seed ^= d->seed << 13; /* xorshift */
    d->seed ^= d->seed >> 17;
    d->seed ^= d->seed << 5;
    e->weight = d->seed;
    e->cookie = d->next_cookie++;
    for (; up && up->weight < e->weight; up = up->up)
        below = up;
    e->up = up;
    e->left = below;
    e->right = NULL;
    if (below)
        below->up = e;
    if (up)
        up->right = e;
    else
        d->tree = e;
    d->last = e;
}

static void order_remove(struct memfs_dir *d, struct memfs_name *e)
{
    if (d->last == e) { /* it has no right subtree */
        d->last = e->left ? e->left : e->up;
        while (d->last && d->last != e->up && d->last->right)
            d->last = d->last->right;
    }
    while (e->left && e->right)
        rotate_up(d, e->left->weight > e->right->weight ? e->left : e->right);
    replace_child(d, e, e->left ? e->left : e->right);
}

/* Put e in the place of old, with old's cookie. */
static void order_replace(struct memfs_dir *d, struct memfs_name *old, struct memfs_name *e)
{
    e->cookie = old->cookie;
    e->weight = old->weight;
    e->left = old->left;
    e->right = old->right;
    e->up = old->up;
    replace_child(d, old, e);
    if (e->left)
        e->left->up = e;
    if (e->right)
        e->right->up = e;
    if (d->last == old)
        d->last = e;
}

/* The first name whose cookie is above pos; NULL: none. */
static struct memfs_name *order_after(const struct memfs_dir *d, uint64_t pos)
{
    struct memfs_name *best = NULL;

    for (struct memfs_name *e = d->tree; e;) {
        if (e->cookie > pos) {
            best = e;
            e = e->left;
        } else {
            e = e->right;
        }
    }
    return best;
}

/* ---- names ---- */

static struct memfs_name *name_of(const struct treap_node *n)
{
    return container_of(n, struct memfs_name, node);
}

/* The order of a head's tree: how name compares to e, below 0, 0, or above 0. */
static inline int compare(const struct fs_name *name, const struct memfs_name *e)
{
    if (name->hash != e->node.hash)
        return name->hash < e->node.hash ? -1 : 1;
    if (name->len != e->len)
        return name->len < e->len ? -1 : 1;
    return memcmp(name->text, e->text, name->len);
}

static inline struct memfs_name *find(const struct memfs_dir *d, const struct fs_name *name)
{
    struct treap_node *at = d->heads[name->hash & (d->nheads - 1)].root;

    while (at) {
        int order = compare(name, name_of(at));

        if (order == 0)
            return name_of(at);
        at = order < 0 ? at->left : at->right;
    }
    return NULL;
}

static inline struct treap *head_of(struct memfs_dir *d, const struct memfs_name *e)
{
    return &d->heads[e->node.hash & (d->nheads - 1)];
}

static void head_enter(struct memfs_dir *d, struct memfs_name *e)
{
    struct fs_name name = {.text = e->text, .len = e->len, .hash = e->node.hash};
    struct treap *head = head_of(d, e);
    struct treap_node *up = NULL, **where = &head->root;

    while (*where) {
        up = *where;
        where = compare(&name, name_of(up)) < 0 ? &up->left : &up->right;
    }
    treap_insert(head, &e->node, up, where);
}

static void head_remove(struct memfs_dir *d, struct memfs_name *e)
{
    treap_remove(head_of(d, e), &e->node);
}

/* Change the table to n heads; without memory for them it stays as it is. */
static void rehash(struct memfs_dir *d, uint32_t n)
{
    struct treap *heads = n > MEMFS_HEADS ? pgd_alloc_zeroed(n * sizeof(*heads)) : d->small;
    struct treap *old = d->heads;
    uint32_t nold = d->nheads;

    if (!heads)
        return;
    if (heads == d->small)
        memset(d->small, 0, sizeof(d->small));
    d->heads = heads;
    d->nheads = n;
    for (uint32_t k = 0; k < nold; k++)
        while (old[k].root) {
            struct memfs_name *e = name_of(old[k].root);

            treap_remove(&old[k], &e->node);
            head_enter(d, e);
        }
    if (old != d->small)
        pgd_free(old, nold * sizeof(*old));
}

/* Allocate a name for i, in no directory yet. NULL: no memory. */
static struct memfs_name *entry_new(const struct fs_name *name, struct inode *i)
{
    uint16_t account = pool_account();
    struct memfs_name *e = pgd_alloc_charged(entry_bytes(name->len), account);

    if (!e)
        return NULL;
    e->account = account;
    e->inode = i;
    e->node.hash = name->hash;
    e->len = (uint8_t)name->len;
    memcpy(e->text, name->text, name->len);
    return e;
}

static void entry_free(struct memfs_name *e)
{
    pgd_free_charged(e, entry_bytes(e->len), e->account);
}

static void insert(struct memfs_dir *d, struct memfs_name *e)
{
    if (++d->count > d->nheads && d->nheads < MEMFS_HEADS_MAX)
        rehash(d, 2 * d->nheads);
    head_enter(d, e);
    order_append(d, e);
}

/* Remove e from d and free it. */
static void take_out(struct memfs_dir *d, struct memfs_name *e)
{
    head_remove(d, e);
    order_remove(d, e);
    entry_free(e);
    if (--d->count <= d->nheads / 4 && d->nheads > MEMFS_HEADS)
        rehash(d, d->nheads / 2);
}

/* Protects memfs_file.home of all files. */
static struct spinlock homes_lock = SPINLOCK_INIT("names of files", RANK_HOMES, IPL_ASTDEL);

/* i has the name e in d now. */
static void home_set(struct inode *i, struct memfs_dir *d, const struct memfs_name *e)
{
    ipl_t ipl;

    if (inode_is_dir(i))
        return;
    ipl = spin_lock(&homes_lock);
    file_of(i)->home = d;
    file_of(i)->home_cookie = e->cookie;
    spin_unlock(&homes_lock, ipl);
}

/* The name e of i in d will be removed. Of its other names, if there are any, none is known. */
static void home_forget(struct inode *i, const struct memfs_dir *d, const struct memfs_name *e)
{
    ipl_t ipl;

    if (inode_is_dir(i))
        return;
    ipl = spin_lock(&homes_lock);
    if (file_of(i)->home == d && file_of(i)->home_cookie == e->cookie)
        file_of(i)->home = NULL;
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
    take_out(dir_of(dir), e);
    if (inode_is_dir(i)) {
        drop_parent(i);
        add_links(i, -2u); /* its name and its own . */
    } else {
        add_links(i, -1u);
    }
    inode_unref(i);
}

static int memfs_lookup(struct inode *dir, const struct fs_name *name, struct inode **out)
{
    struct memfs_name *e = find(dir_of(dir), name);

    if (!e)
        return -ENOENT;
    inode_ref(e->inode);
    *out = e->inode;
    return 0;
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
    struct inode *i = directory ? dir_new(dir->fs, what) : file_new(dir->fs, what);
    struct memfs_name *e = i ? entry_new(name, i) : NULL;

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
    insert(dir_of(dir), e); /* the first reference becomes the name's */
    if (!directory) {       /* nobody else knows i before dir is unlocked */
        file_of(i)->home = dir_of(dir);
        file_of(i)->home_cookie = e->cookie;
    }
    inode_changed_at(dir, i->mtime_ns);
    return 0;
}

static int memfs_link(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    uint32_t links = __atomic_load_n(&i->nlink, __ATOMIC_RELAXED);
    struct memfs_name *e = entry_new(name, i);

    if (!e)
        return why_not(name);
    do {
        if (links == 0 && (inode_is_dir(i) || !file_of(i)->linkable)) {
            entry_free(e);
            return -ENOENT;
        }
    } while (!__atomic_compare_exchange_n(&i->nlink, &links, links + 1, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    inode_ref(i);
    insert(dir_of(dir), e);
    home_set(i, dir_of(dir), e);
    inode_touch(dir);
    inode_touch_attributes(i);
    return 0;
}

static int memfs_make_unnamed(struct inode *dir, const struct fs_new *what, bool linkable,
                              struct inode **out)
{
    struct inode *i = file_new(dir->fs, what);

    if (!i)
        return account_is_full(account_self(), QUOTA_INODES, 1) ? -ENOSPC : -ENOMEM;
    file_of(i)->linkable = linkable;
    *out = i;
    return 0;
}

static bool has_names(struct inode *i) { return inode_is_dir(i) && dir_of(i)->count; }

static int memfs_unlink(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    if (has_names(i))
        return -ENOTEMPTY;
    remove_name(dir, find(dir_of(dir), name));
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
    e = entry_new(to_name, i);
    if (!e)
        return why_not(to_name);
    if (replaced) {
        remove_name(to, find(dir_of(to), to_name));
        inode_touch_attributes(replaced);
    }
    was = find(dir_of(from), old);
    if (from == to) {
        head_remove(dir_of(to), was);
        order_replace(dir_of(to), was, e);
        head_enter(dir_of(to), e);
        entry_free(was);
    } else {
        insert(dir_of(to), e);
        home_set(i, dir_of(to), e);
        take_out(dir_of(from), was);
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
    struct memfs_name *e = find(dir_of(dir), name), *f = find(dir_of(to), other);

    give_name(to, f, i);
    give_name(dir, e, j);
    inode_touch(dir);
    inode_touch(to);
    return 0;
}

static void describe(const struct memfs_name *e, struct fs_entry *to)
{
    to->ino = e->inode->ino;
    to->cookie = e->cookie;
    to->mode = __atomic_load_n(&e->inode->mode, __ATOMIC_RELAXED);
    to->len = e->len;
    memcpy(to->text, e->text, e->len);
    to->text[e->len] = '\0';
}

static int memfs_readdir(struct inode *dir, uint64_t pos, struct fs_entry *to)
{
    struct memfs_name *e = order_after(dir_of(dir), pos);

    if (!e)
        return -ENOENT;
    describe(e, to);
    return 0;
}

static int memfs_name_of(struct inode *dir, struct fs_entry *to)
{
    describe(dir_of(dir)->self, to);
    return 0;
}

/* The directory of the file's known name, with a reference, or NULL. */
static struct memfs_dir *home_of(struct memfs_file *f, uint64_t *cookie)
{
    ipl_t ipl = spin_lock(&homes_lock);
    struct memfs_dir *d = f->home;

    *cookie = f->home_cookie;
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
    int err = -ENOENT;

    if (!d)
        return -ENOENT;
    mutex_lock_shared(&d->inode.lock);
    e = order_after(d, cookie - 1);
    if (e && e->cookie == cookie && e->inode == i) {
        describe(e, to);
        err = 0;
    }
    mutex_unlock_shared(&d->inode.lock);
    if (err)
        inode_unref(&d->inode);
    else
        *dir = &d->inode;
    return err;
}

struct inode *memfs_inode_of(struct mm_object *o)
{
    struct memfs_file *f = object_pager(o) == &memfs_pager ? object_pager_data(o) : NULL;
    uint32_t refs = f ? __atomic_load_n(&f->inode.refs, __ATOMIC_RELAXED) : 0;

    while (refs)
        if (__atomic_compare_exchange_n(&f->inode.refs, &refs, refs + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return &f->inode;
    return NULL;
}

static const struct inode_ops memfs_ops = {
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
    fs->dev = fs_new_dev();
    fs->usage = memfs_usage;
    boot_seed = clock_ns();
    fs->root = dir_new(fs, &(struct fs_new){.mode = S_IFDIR | 0755});
    if (!fs->root)
        return -ENOMEM;
    fs->root->parent = fs->root; /* no reference is counted: the root would never be freed */
    fs->root->nlink = 2;
    return 0;
}

/* ---- the self-check and the census ---- */

/* Call fn for each name below the root. The walk does not recurse, because the tree may be deeper
 * than a kernel stack. False: names, indexes and parents do not agree. */
static bool for_each_name(struct inode *root, void (*fn)(void *arg, struct memfs_name *e),
                          void *arg)
{
    struct memfs_dir *d = dir_of(root);
    uint64_t pos = 0;

    for (;;) {
        struct memfs_name *e = order_after(d, pos);

        if (e) {
            struct fs_name name = {.text = e->text, .len = e->len, .hash = e->node.hash};

            if (find(d, &name) != e)
                return false;
            fn(arg, e);
            pos = e->cookie;
            if (inode_is_dir(e->inode)) {
                if (e->inode->parent != &d->inode || dir_of(e->inode)->self != e)
                    return false;
                d = dir_of(e->inode);
                pos = 0;
            }
        } else if (&d->inode == root) {
            return true;
        } else {
            pos = d->self->cookie;
            d = dir_of(d->inode.parent);
        }
    }
}

static void validate_name(void *arg, struct memfs_name *e) { inode_validate(arg, e->inode); }

void memfs_validate(struct validate *v, struct fs *fs)
{
    if (!for_each_name(fs->root, validate_name, v))
        validate_error(v, "a directory is not among the names of its parent, or a name is lost");
}

/* Account for an inode without open files: only its names, and for a directory its children, refer
 * to it. A directory's nlink also counts its own ".". */
static void explain_inode(struct census *c, struct inode *i, const char *name)
{
    bool directory = inode_is_dir(i);
    uint32_t refs = i->nlink - directory;

    if (i->refs != refs)
        census_error(c, "file %s has %u references, %u without open files", name, i->refs, refs);
    census_explain(c, CENSUS_NONPAGED,
                   directory ? sizeof(struct memfs_dir) : sizeof(struct memfs_file), 1);
    if (i->object)
        object_census(c, i->object);
    if (directory && dir_of(i)->heads != dir_of(i)->small)
        census_explain(c, CENSUS_PAGED, dir_of(i)->nheads * sizeof(struct treap), 1);
    if (!directory && file_of(i)->target)
        census_explain(c, CENSUS_PAGED, i->size, 1);
}

/* An inode with several names is accounted for at the last of them. */
static void explain_name(void *arg, struct memfs_name *e)
{
    struct inode *i = e->inode;
    char name[32];

    census_explain(arg, CENSUS_PAGED, entry_bytes(e->len), 1);
    if (!inode_is_dir(i)) {
        if (++file_of(i)->found < i->nlink)
            return;
        file_of(i)->found = 0;
    }
    memcpy(name, e->text, MIN(e->len, sizeof(name) - 1));
    name[MIN(e->len, sizeof(name) - 1)] = 0;
    explain_inode(arg, i, name);
}

static struct fs *counted; /* constant after boot */

static void explain(struct census *c)
{
    for_each_name(counted->root, explain_name, c);
    explain_inode(c, counted->root, "/");
}

void memfs_census_boot(struct fs *fs)
{
    static const struct census_kind kinds[] = {
        {"inode", CENSUS_NONPAGED, sizeof(struct memfs_file)},
        {"directory", CENSUS_NONPAGED, sizeof(struct memfs_dir)},
    };

    counted = fs;
    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
