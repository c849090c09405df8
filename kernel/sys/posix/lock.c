/* Calls on file locks: fcntl's, those of open file descriptions, and flock. kernel/io/lock.c keeps
 * them. */
#include "kernel/io/lock.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/file.h"

#define F_RDLCK 1
#define F_WRLCK 2
#define F_UNLCK 8

#define FLOCK_SH 1u
#define FLOCK_EX 2u
#define FLOCK_NB 4u
#define FLOCK_UN 8u

struct flock { /* layout of Linux/Alpha */
    int16_t type, whence;
    int32_t pad;
    int64_t start, len;
    int32_t pid, pad2;
};

/* The range of bytes that *u means for f. 0, -EINVAL, -EOVERFLOW. */
static int range_in(const struct flock *u, struct file *f, struct lock_range *r)
{
    struct file_stat st;
    int64_t base = 0, start, last = 0;
    int err = 0;

    if (u->whence == SEEK_CUR && f->ops->lseek)
        base = f->ops->lseek(f, 0, SEEK_CUR);
    else if (u->whence == SEEK_END && (err = f->ops->stat(f, &st)) == 0)
        base = (int64_t)st.size;
    else if (u->whence != SEEK_SET)
        return err ? err : -EINVAL;
    if (__builtin_add_overflow(MAX(base, (int64_t)0), u->start, &start))
        return -EOVERFLOW;
    if (u->len < 0) {
        last = start - 1;
        start += u->len;
    } else if (u->len && __builtin_add_overflow(start, u->len - 1, &last)) {
        return -EOVERFLOW;
    }
    if (start < 0)
        return -EINVAL;
    r->start = (uint64_t)start;
    r->end = u->len ? (uint64_t)last : LOCK_END;
    return 0;
}

static int kind_in(const struct flock *u, struct lock_range *r)
{
    switch (u->type) {
    case F_RDLCK:
        r->kind = LOCK_SHARED;
        return 0;
    case F_WRLCK:
        r->kind = LOCK_EXCLUSIVE;
        return 0;
    case F_UNLCK:
        r->kind = LOCK_NONE;
        return 0;
    default:
        return -EINVAL;
    }
}

/* The lock that the user's structure describes. */
static int lock_in(struct file *f, vaddr_t from, bool open_file, struct flock *u,
                   struct lock_range *r)
{
    struct process *p = process_self();
    int err;

    if (f->flags & O_PATH)
        return -EBADF;
    if (copyin(u, from, sizeof(*u)) != 0)
        return -EFAULT;
    if (open_file && u->pid != 0)
        return -EINVAL;
    *r = (struct lock_range){.owner = open_file ? (const void *)f : p->files,
                             .pid = open_file ? 0 : p->pid};
    err = range_in(u, f, r);
    return err ? err : kind_in(u, r);
}

long lock_get(struct file *f, vaddr_t arg, bool open_file)
{
    struct lock_range want, found;
    struct flock u;
    int err = lock_in(f, arg, open_file, &u, &want);

    if (err)
        return err;
    if (want.kind == LOCK_NONE || !f->inode)
        return -EINVAL;
    if (lock_test(f->inode, &want, &found)) {
        u.type = found.kind == LOCK_EXCLUSIVE ? F_WRLCK : F_RDLCK;
        u.whence = SEEK_SET;
        u.start = (int64_t)found.start;
        u.len = found.end == LOCK_END ? 0 : (int64_t)(found.end - found.start + 1);
        u.pid = found.pid ? (int32_t)found.pid : -1;
    } else {
        u.type = F_UNLCK;
    }
    return copyout(arg, &u, sizeof(u));
}

/* Another thread has closed the descriptor while the lock was being set: nobody would remove it. */
static bool lost(struct file *f, uint64_t fd)
{
    struct file_table *t = process_self()->files;
    struct fd_use u;
    bool gone;

    if (!fdtable_shared(t))
        return false;
    u = fd_get(t, fd);
    gone = u.file != f;
    fd_put(u);
    return gone;
}

long lock_change(struct file *f, uint64_t fd, vaddr_t arg, bool open_file, bool wait)
{
    struct lock_range want;
    struct flock u;
    int err = lock_in(f, arg, open_file, &u, &want);

    if (err)
        return err;
    if (!f->inode)
        return -EINVAL;
    if ((want.kind == LOCK_SHARED && (f->flags & O_ACCMODE) == O_WRONLY) ||
        (want.kind == LOCK_EXCLUSIVE && (f->flags & O_ACCMODE) == O_RDONLY))
        return -EBADF;
    err = lock_set(f->inode, open_file ? LOCK_OPEN_FILE : LOCK_POSIX, &want, wait);
    if (!err && !open_file && want.kind != LOCK_NONE && lost(f, fd)) {
        lock_release(f->inode, want.owner);
        err = -EBADF;
    }
    return err;
}

static long file_flock(struct file *f, uint64_t how, uint64_t b, uint64_t c)
{
    static const enum lock_kind kinds[] = {
        [FLOCK_SH] = LOCK_SHARED, [FLOCK_EX] = LOCK_EXCLUSIVE, [FLOCK_UN] = LOCK_NONE};
    struct lock_range want = {.start = 0, .end = LOCK_END, .owner = f};

    (void)b, (void)c;
    if (f->flags & O_PATH)
        return -EBADF;
    if (!f->inode)
        return -EINVAL;
    want.kind = kinds[how & ~(uint64_t)FLOCK_NB];
    return lock_set(f->inode, LOCK_FLOCK, &want, !(how & FLOCK_NB));
}

long sys_flock(uint64_t fd, uint64_t how)
{
    uint64_t kind = how & ~(uint64_t)FLOCK_NB;

    if (kind != FLOCK_SH && kind != FLOCK_EX && kind != FLOCK_UN)
        return -EINVAL;
    return fd_call(process_self()->files, fd, file_flock, how, 0, 0);
}
