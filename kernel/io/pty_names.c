/*
 * /dev/pts: the names of pseudo-terminals. The directory has a name for each pair whose master is
 * open, and nobody can add or remove one. A name stands for the inode in the pair itself, so its
 * owner and permissions last as long as the pair.
 *
 * Lock: ptys.lock (RANK_PTYS, IPL_ASTDEL) protects the two tables. A look-up takes its reference
 * under it: a pair whose name is there has that of its master.
 */
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/io/io_private.h"
#include "kernel/io/pty_private.h"
#include "kernel/quota/quota.h"

#define FIRST_COOKIE 3u /* of /dev/pts/0; 1 and 2 stand for . and .. */
#define TTY_GROUP    5u /* of the terminals, as programs that write to them expect */

static struct {
    struct spinlock lock;
    struct pty *named[PTY_MAX];   /* lock: those that look-ups find */
    uint64_t taken[PTY_MAX / 64]; /* lock: the numbers that are in use */
} ptys = {.lock = SPINLOCK_INIT("pseudo-terminals", RANK_PTYS, IPL_ASTDEL)};

static struct fs pts_fs;
static struct inode pts_root;
static const struct inode_ops pts_ops;

uint32_t tty_device(unsigned number)
{
    return number == TTY_CONSOLE ? RDEV_CONSOLE : RDEV(RDEV_PTS_MAJOR, number - 1);
}

struct tty *pty_of(struct inode *i)
{
    return i->fs == &pts_fs && i != &pts_root ? &container_of(i, struct pty, inode)->tty : NULL;
}

/* ---- numbers ---- */

/* The lowest free number; PTY_MAX: there is none. */
static unsigned number_take_locked(void)
{
    for (unsigned k = 0; k < ARRAY_SIZE(ptys.taken); k++)
        if (~ptys.taken[k]) {
            unsigned n = (unsigned)__builtin_ctzl(~ptys.taken[k]);

            ptys.taken[k] |= UINT64_C(1) << n;
            return k * 64 + n;
        }
    return PTY_MAX;
}

int pty_name_enter(struct pty *p, const struct io_cred *cred)
{
    struct fs_new what = {.mode = S_IFCHR | 0620, .uid = cred->uid, .gid = TTY_GROUP};
    ipl_t ipl = spin_lock(&ptys.lock);
    unsigned n = number_take_locked();

    spin_unlock(&ptys.lock, ipl);
    if (n == PTY_MAX)
        return -ENOSPC;
    p->tty.number = n + 1;
    what.rdev = tty_device(n + 1);
    inode_init(&p->inode, &pts_fs, &pts_ops, &what);
    p->inode.nlink = 1;
    p->inode.ino = n + FIRST_COOKIE;
    ipl = spin_lock(&ptys.lock);
    ptys.named[n] = p;
    spin_unlock(&ptys.lock, ipl);
    return 0;
}

void pty_name_remove(struct pty *p)
{
    ipl_t ipl = spin_lock(&ptys.lock);

    ptys.named[pty_index(p)] = NULL;
    spin_unlock(&ptys.lock, ipl);
    __atomic_store_n(&p->inode.nlink, 0, __ATOMIC_RELAXED);
}

void pty_number_free(const struct pty *p)
{
    unsigned n = pty_index(p);
    ipl_t ipl = spin_lock(&ptys.lock);

    ptys.taken[n / 64] &= ~(UINT64_C(1) << n % 64);
    spin_unlock(&ptys.lock, ipl);
}

/* ---- the directory ---- */

/* Write the number to text; its length. */
static uint32_t name_text(char *text, size_t size, unsigned n)
{
    return (uint32_t)format(text, size, "%u", n);
}

/* The number of a name; PTY_MAX: it is none. */
static unsigned name_number(const struct fs_name *name)
{
    unsigned n = 0;

    if (name->len > 3 || (name->len > 1 && name->text[0] == '0'))
        return PTY_MAX;
    for (uint32_t k = 0; k < name->len; k++) {
        if (name->text[k] < '0' || name->text[k] > '9')
            return PTY_MAX;
        n = n * 10 + (unsigned)(name->text[k] - '0');
    }
    return MIN(n, PTY_MAX);
}

static int pts_lookup(struct inode *dir, const struct fs_name *name, struct inode **out)
{
    unsigned n = name_number(name);
    struct pty *p;
    ipl_t ipl;

    (void)dir;
    if (n == PTY_MAX)
        return -ENOENT;
    ipl = spin_lock(&ptys.lock);
    p = ptys.named[n];
    if (p)
        inode_ref(&p->inode);
    spin_unlock(&ptys.lock, ipl);
    if (!p)
        return -ENOENT;
    *out = &p->inode;
    return 0;
}

static int pts_readdir(struct inode *dir, uint64_t pos, struct fs_entry *e)
{
    uint64_t n = pos < FIRST_COOKIE ? 0 : pos - FIRST_COOKIE + 1;
    ipl_t ipl = spin_lock(&ptys.lock);

    (void)dir;
    while (n < PTY_MAX && !ptys.named[n]) /* some 1,500 instructions at most */
        n++;
    spin_unlock(&ptys.lock, ipl);
    if (n >= PTY_MAX)
        return -ENOENT;
    e->ino = e->cookie = n + FIRST_COOKIE;
    e->mode = S_IFCHR;
    e->len = name_text(e->text, sizeof(e->text), (unsigned)n);
    return 0;
}

static int pts_name_of(struct inode *dir, struct fs_entry *e)
{
    (void)dir;
    e->len = (uint32_t)format(e->text, sizeof(e->text), "pts");
    return 0;
}

static int pts_place_of(struct inode *i, struct inode **dir, struct fs_entry *e)
{
    if (!__atomic_load_n(&i->nlink, __ATOMIC_RELAXED))
        return -ENOENT;
    e->len = name_text(e->text, sizeof(e->text), (unsigned)(i->ino - FIRST_COOKIE));
    inode_ref(&pts_root);
    *dir = &pts_root;
    return 0;
}

static int pts_create(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                      struct inode **out)
{
    (void)dir, (void)name, (void)out;
    return (what->mode & S_IFMT) == S_IFREG ? -EACCES : -EPERM;
}

static int pts_link(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    (void)dir, (void)name, (void)i;
    return -EPERM;
}

static int pts_rename(struct inode *from, const struct fs_name *old, struct inode *i,
                      struct inode *to, const struct fs_name *to_name, struct inode *replaced)
{
    (void)from, (void)old, (void)i, (void)to, (void)to_name, (void)replaced;
    return -EPERM;
}

static const struct inode_ops pts_ops = {.lookup = pts_lookup,
                                         .create = pts_create,
                                         .link = pts_link,
                                         .unlink = pts_link,
                                         .rename = pts_rename,
                                         .readdir = pts_readdir,
                                         .name_of = pts_name_of,
                                         .place_of = pts_place_of,
                                         .end = pty_end};

static void pts_usage(const struct fs *fs, struct fs_usage *u)
{
    (void)fs;
    u->magic = PTS_MAGIC;
}

void pty_boot(void)
{
    struct fs_new what = {.mode = S_IFDIR | 0755};
    int err;

    quota_boot_total(QUOTA_PTYS, PTY_MAX);
    pts_fs.name = "devpts";
    pts_fs.dev = fs_new_dev();
    pts_fs.usage = pts_usage;
    pts_fs.root = &pts_root;
    inode_init(&pts_root, &pts_fs, &pts_ops, &what);
    pts_root.nlink = 2;
    err = tree_mount(&(struct io_cred){0}, NULL, "/dev/pts", &pts_fs);
    if (err)
        panic("/dev/pts cannot be mounted: error %d", err);
}
