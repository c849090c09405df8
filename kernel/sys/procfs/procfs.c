/*
 * The names of /proc. Of what is about a process no inode is kept: each look-up creates one, which
 * remembers its entry and the process, and it is freed with its last reference. So what exists
 * follows from the process table alone, and a file of a process that has ended answers ENOENT.
 */
#include "kernel/sys/procfs/procfs.h"

#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/io/tree.h"
#include "kernel/sys/procfs/procfs_private.h"
#include "mm/pool/pool.h"

#define FIRST_COOKIE 3u     /* of the table's entries; 1 and 2 stand for . and .. */
#define FIRST_NUMBER 0x100u /* cookie of the name 0 */

static struct fs proc_fs;
static struct proc_inode root;
static const struct inode_ops proc_ops;

bool proc_name_number(const struct fs_name *name, uint32_t *number)
{
    uint64_t n = 0;

    if (name->len > 9 || (name->len > 1 && name->text[0] == '0'))
        return false;
    for (uint32_t k = 0; k < name->len; k++) {
        if (name->text[k] < '0' || name->text[k] > '9')
            return false;
        n = n * 10 + (uint64_t)(name->text[k] - '0');
    }
    *number = (uint32_t)n;
    return name->len > 0;
}

/* The owner of a process: of the files about it. */
static int owner_of(const struct proc_id *who, uint32_t *uid, uint32_t *gid)
{
    const struct process *p = proc_if_self(who);
    ipl_t ipl;

    if (p) {
        *uid = p->euid;
        *gid = p->egid;
        return 0;
    }
    ipl = spin_lock(&process_lock);
    p = proc_find_locked(who);
    if (p) {
        *uid = p->euid;
        *gid = p->egid;
    }
    spin_unlock(&process_lock, ipl);
    return p ? 0 : -ENOENT;
}

/* The number of the inode of `entry` in dir, the same at each look-up. What tells the name from all
 * others fits into 64 bits: an entry, aligned to 8 bytes, is in the kernel's image, less than
 * 16 MB, and numbers of processes and descriptors are below 2^21. But the ino_t of most programs
 * has 32 bits, to which they are mixed: two given names get the same number by a rare chance. */
static uint64_t ino_of(const struct proc_inode *dir, const struct proc_entry *entry,
                       uint64_t number)
{
    uint64_t who = proc_number(&dir->who);
    uint64_t x = ((uint64_t)entry & 0xFFFFF8) << 39 | who << 21 | number;

    x = (x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return MAX(x >> 32, 1ul); /* 0 would be a removed name */
}

/* Fill in i, which is all zero, for `entry` in dir. */
static void init(struct proc_inode *i, const struct proc_inode *dir, const struct proc_entry *entry,
                 const struct proc_id *who, uint32_t number, const struct fs_new *what)
{
    bool directory = (what->mode & S_IFMT) == S_IFDIR;

    inode_init(&i->inode, &proc_fs, &proc_ops, what);
    i->inode.ino = ino_of(dir, entry, number);
    i->inode.nlink = directory ? 2 : 1;
    i->entry = entry;
    i->who = *who;
    i->number = number;
    if (directory) {
        struct inode *parent = (struct inode *)&dir->inode;

        inode_ref(parent);
        i->inode.parent = parent;
    } else {
        mutex_init(&i->inode.lock, "proc file", MUTEX_PROC_FILE);
    }
}

int proc_inode_create(const struct proc_inode *dir, const struct proc_entry *entry,
                      const struct proc_id *who, uint32_t number, struct inode **out)
{
    struct fs_new what = {.mode = entry->mode};
    struct proc_inode *i;
    int err = who->pid ? owner_of(who, &what.uid, &what.gid) : 0;

    if (err)
        return err;
    i = npp_alloc(sizeof(*i));
    if (!i)
        return -ENOMEM;
    memset(i, 0, sizeof(*i));
    init(i, dir, entry, who, number, &what);
    *out = &i->inode;
    return 0;
}

/* By bytes: names are short, and most differ in the first. */
static inline bool is_name(const char *text, const struct fs_name *name)
{
    uint32_t k = 0;

    while (k < name->len && text[k] == name->text[k])
        k++;
    return k == name->len && !text[k];
}

static int proc_lookup(struct inode *dir, const struct fs_name *name, struct inode **out)
{
    const struct proc_inode *d = proc_inode_of(dir);
    const struct proc_entry *e = d->entry;

    for (unsigned k = 0; k < e->nchild; k++) {
        if (!is_name(e->child[k].name, name))
            continue;
        if (!e->child[k].kept)
            return proc_inode_create(d, &e->child[k], &d->who, 0, out);
        *out = &e->child[k].kept->inode;
        inode_ref(*out);
        return 0;
    }
    return e->find ? e->find(d, name, out) : -ENOENT;
}

static int proc_readdir(struct inode *dir, uint64_t pos, struct fs_entry *to)
{
    const struct proc_inode *d = proc_inode_of(dir);
    const struct proc_entry *e = d->entry, *found;
    uint64_t k = pos < FIRST_COOKIE ? 0 : pos - FIRST_COOKIE + 1, number = 0;
    int err;

    if (k < e->nchild) {
        found = &e->child[k];
        to->cookie = FIRST_COOKIE + k;
        to->len = (uint32_t)strlen(found->name);
        memcpy(to->text, found->name, to->len + 1);
    } else {
        if (!e->next)
            return -ENOENT;
        err = e->next(d, pos < FIRST_NUMBER ? 0 : pos - FIRST_NUMBER + 1, &number, &found);
        if (err)
            return err;
        to->cookie = FIRST_NUMBER + number;
        to->len = (uint32_t)format(to->text, sizeof(to->text), "%lu", number);
    }
    to->mode = found->mode;
    to->ino = ino_of(d, found, number);
    return 0;
}

/* The working directory may be a process's directory. */
static int proc_name_of(struct inode *dir, struct fs_entry *to)
{
    const struct proc_inode *i = proc_inode_of(dir);

    if (i->entry == &proc_process_entry)
        to->len = (uint32_t)format(to->text, sizeof(to->text), "%u", i->who.pid);
    else
        to->len = (uint32_t)str_copy(to->text, i->entry->name, sizeof(to->text));
    return 0;
}

static int proc_create(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                       struct inode **out)
{
    (void)dir, (void)name, (void)what, (void)out;
    return -EACCES;
}

static int proc_link(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    (void)dir, (void)name, (void)i;
    return -EPERM;
}

static int proc_rename(struct inode *from, const struct fs_name *old, struct inode *i,
                       struct inode *to, const struct fs_name *to_name, struct inode *replaced)
{
    (void)from, (void)old, (void)i, (void)to, (void)to_name, (void)replaced;
    return -EPERM;
}

static int proc_resize(struct inode *i, uint64_t size, bool killable)
{
    (void)i, (void)size, (void)killable;
    return -EACCES;
}

static long proc_readlink(struct inode *i, char *buf, size_t n)
{
    const struct proc_inode *l = proc_inode_of(i);

    return l->entry->readlink(l, buf, n);
}

static int proc_follow(struct inode *i, struct inode **out)
{
    const struct proc_inode *l = proc_inode_of(i);

    return l->entry->follow ? l->entry->follow(l, out) : -EOPNOTSUPP;
}

static void proc_end(struct inode *i)
{
    struct inode *parent = i->parent;

    npp_free(proc_inode_of(i), sizeof(struct proc_inode));
    if (parent)
        inode_unref(parent); /* at most five directories deep */
}

/* Entries are what the kernel says they are; some stay in memory, for all. */
static int proc_change(struct inode *i, const struct fs_change *to)
{
    (void)i, (void)to;
    return -EPERM;
}

static const struct inode_ops proc_ops = {
    .lookup = proc_lookup,
    .create = proc_create,
    .link = proc_link,
    .unlink = proc_link,
    .rename = proc_rename,
    .readdir = proc_readdir,
    .name_of = proc_name_of,
    .readlink = proc_readlink,
    .follow = proc_follow,
    .resize = proc_resize,
    .change = proc_change,
    .end = proc_end,
    .file_ops = &proc_file_ops,
};

static void proc_usage(const struct fs *fs, struct fs_usage *u)
{
    (void)fs;
    u->magic = PROC_MAGIC;
}

/* Boot: make the inode of an entry of the root that is kept. */
static void keep(const struct proc_entry *e)
{
    const struct fs_new what = {.mode = e->mode};

    if (e->kept)
        init(e->kept, &root, e, &root.who, 0, &what);
}

void procfs_boot(void)
{
    struct fs_new what = {.mode = S_IFDIR | 0555};
    int err;

    proc_fs.name = "proc";
    proc_fs.dev = fs_new_dev();
    proc_fs.usage = proc_usage;
    proc_fs.root = &root.inode;
    inode_init(&root.inode, &proc_fs, &proc_ops, &what);
    root.inode.nlink = 2;
    root.entry = &proc_root_entry;
    for (unsigned k = 0; k < root.entry->nchild; k++)
        keep(&root.entry->child[k]);
    err = tree_mount(&(struct io_cred){0}, NULL, "/proc", &proc_fs);
    if (err)
        panic("/proc cannot be mounted: error %d", err);
}
