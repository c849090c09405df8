/*
 * Calls on descriptors: reading, writing, duplication, flags, pipes.
 *
 * A call may use a file from fd_get() to fd_put(); what that takes if the descriptor table is
 * shared is in kernel/proc/fdtable.h. fd_call() does both around one function. There is no lock
 * here: the descriptor table and the files have their own.
 */
#include "kernel/sys/posix/file.h"
#include "mm/section/huge_pool.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/trapframe.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/memfd.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pty.h"
#include "kernel/io/termios.h"
#include "kernel/io/tree.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool.h"

#define F_DUPFD         0
#define F_GETFD         1
#define F_SETFD         2
#define F_GETFL         3
#define F_SETFL         4
#define F_GETLK         7
#define F_SETLK         8
#define F_SETLKW        9
#define F_OFD_GETLK     36
#define F_OFD_SETLK     37
#define F_OFD_SETLKW    38
#define F_DUPFD_CLOEXEC 1030
#define F_SETPIPE_SZ    1031
#define F_GETPIPE_SZ    1032
#define F_ADD_SEALS     1033
#define F_GET_SEALS     1034
#define FD_CLOEXEC      1 /* the bit that F_GETFD returns */
#define FL_CHANGEABLE   (O_APPEND | O_NONBLOCK | O_NOATIME)

static inline long file_call(uint64_t fd, fd_fn fn, uint64_t a, uint64_t b, uint64_t c)
{
    return fd_call(process_self()->files, fd, fn, a, b, c);
}

/* As file_call(), and count the call as I/O of the process. */
static inline long io_call(uint64_t fd, fd_fn fn, uint64_t a, uint64_t b, uint64_t c)
{
    struct process *p = process_self();

    process_count_io(p);
    return fd_call(p->files, fd, fn, a, b, c);
}

static bool can_read(const struct file *f)
{
    return f->ops->read && (f->flags & O_ACCMODE) != O_WRONLY;
}
static bool can_write(const struct file *f)
{
    return f->ops->write && (f->flags & O_ACCMODE) != O_RDONLY;
}

/* The error of a read or write that f does not allow: it was opened for both, and does not know
 * the operation, or it was not opened for this one. */
static __attribute__((noinline)) long not_allowed(const struct file *f)
{
    return (f->flags & (O_ACCMODE | O_PATH)) == O_RDWR ? -EINVAL : -EBADF;
}

long broken_pipe(void)
{
    struct process *p = process_self();
    struct signal_info info = {
        .signo = SIGPIPE, .code = SI_KERNEL, .pid = p->pid, .uid = process_uid(p)};

    signal_send_thread(p, uthread_self(), &info);
    return -EPIPE;
}

static inline long file_read(struct file *f, uint64_t buf, uint64_t n, uint64_t c)
{
    (void)c;
    if (unlikely(!can_read(f)))
        return not_allowed(f);
    if (unlikely(!user_range_ok(buf, n)))
        return -EFAULT;
    n = MIN(n, IO_MAX);
    return f->ops->read(f, buf, n);
}

long sys_read(uint64_t fd, uint64_t buf, uint64_t n) { return io_call(fd, file_read, buf, n, 0); }

static inline long file_write(struct file *f, uint64_t buf, uint64_t n, uint64_t c)
{
    long r;

    (void)c;
    if (unlikely(!can_write(f)))
        return not_allowed(f);
    if (unlikely(!user_range_ok(buf, n)))
        return -EFAULT;
    n = MIN(n, IO_MAX);
    r = f->ops->write(f, buf, n);
    return unlikely(r == -EPIPE) ? broken_pipe() : r;
}

long sys_write(uint64_t fd, uint64_t buf, uint64_t n) { return io_call(fd, file_write, buf, n, 0); }

long sys_close(uint64_t fd) { return fd_close(process_self()->files, fd); }

static inline long file_seek(struct file *f, uint64_t off, uint64_t whence, uint64_t c)
{
    (void)c;
    return f->ops->lseek ? f->ops->lseek(f, (int64_t)off, (int)whence) : -ESPIPE;
}

long sys_lseek(uint64_t fd, uint64_t off, uint64_t whence)
{
    return file_call(fd, file_seek, off, whence, 0);
}

static long file_nothing(struct file *f, uint64_t a, uint64_t b, uint64_t c)
{
    (void)f, (void)a, (void)b, (void)c;
    return 0;
}

static long file_pread(struct file *f, uint64_t buf, uint64_t n, uint64_t offset)
{
    if (!can_read(f))
        return -EBADF;
    if ((int64_t)offset < 0)
        return -EINVAL;
    if (!user_range_ok(buf, n))
        return -EFAULT;
    if (f->ops != &regular_ops)
        return f->ops->read_at            ? f->ops->read_at(f, buf, MIN(n, IO_MAX), offset)
               : f->ops == &directory_ops ? -EISDIR
                                          : -ESPIPE;
    return inode_read_user(f->inode, offset, buf, MIN(n, IO_MAX));
}

long sys_pread64(uint64_t fd, uint64_t buf, uint64_t n, uint64_t offset)
{
    return io_call(fd, file_pread, buf, n, offset);
}

static long file_pwrite(struct file *f, uint64_t buf, uint64_t n, uint64_t offset)
{
    if (!can_write(f))
        return -EBADF;
    if ((int64_t)offset < 0)
        return -EINVAL;
    if (f->ops != &regular_ops && !f->ops->write_at)
        return memfd_is_huge(f) ? -EINVAL : -ESPIPE;
    if (!user_range_ok(buf, n))
        return -EFAULT;
    if (f->ops->write_at)
        return f->ops->write_at(f, buf, MIN(n, IO_MAX), offset);
    if (f->flags & O_APPEND)
        offset = INODE_APPEND; /* as Linux, against POSIX */
    return regular_written(f, inode_write_user(f->inode, offset, buf, MIN(n, IO_MAX)));
}

long sys_pwrite64(uint64_t fd, uint64_t buf, uint64_t n, uint64_t offset)
{
    return io_call(fd, file_pwrite, buf, n, offset);
}

static long file_append(struct file *f, uint64_t buf, uint64_t n, uint64_t c)
{
    (void)c;
    if (!can_write(f))
        return -EBADF;
    if (f->ops != &regular_ops)
        return -ESPIPE;
    if (!user_range_ok(buf, n))
        return -EFAULT;
    return regular_written(f, inode_write_user(f->inode, INODE_APPEND, buf, MIN(n, IO_MAX)));
}

long file_write_at_end(uint64_t fd, uint64_t buf, uint64_t n)
{
    return io_call(fd, file_append, buf, n, 0);
}

static long file_getdents(struct file *f, uint64_t buf, uint64_t n, uint64_t old)
{
    if (!f->ops->getdents)
        return -ENOTDIR;
    return user_range_ok(buf, n) ? f->ops->getdents(f, buf, n, old) : -EFAULT;
}

long sys_getdents64(uint64_t fd, uint64_t buf, uint64_t n)
{
    return file_call(fd, file_getdents, buf, (uint32_t)n, false);
}

long sys_getdents(uint64_t fd, uint64_t buf, uint64_t n)
{
    return file_call(fd, file_getdents, buf, (uint32_t)n, true);
}

static long file_truncate(struct file *f, uint64_t size, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    if ((int64_t)size < 0 || !f->ops->truncate || (!can_write(f) && !(f->flags & O_PATH)))
        return -EINVAL;
    return f->ops->truncate(f, size);
}

long sys_ftruncate(uint64_t fd, uint64_t size) { return file_call(fd, file_truncate, size, 0, 0); }

/* TIOCGPTPEER, the only request that makes a descriptor. */
static long file_open_peer(const struct file *f, uint64_t flags)
{
    struct file *peer;
    int err = pty_open_peer(f, (uint32_t)flags, &peer), fd;

    if (err)
        return err;
    fd = fd_add(process_self()->files, peer, 0, flags & O_CLOEXEC);
    if (fd < 0)
        file_unref(peer);
    return fd;
}

/* FIONBIO: O_NONBLOCK, as the word at arg says. */
static long set_nonblock(struct file *f, vaddr_t arg)
{
    uint32_t on;

    if (copyin_u32(&on, arg))
        return -EFAULT;
    if (on)
        __atomic_fetch_or(&f->flags, O_NONBLOCK, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&f->flags, ~O_NONBLOCK, __ATOMIC_RELAXED);
    return 0;
}

static long file_ioctl(struct file *f, uint64_t req, uint64_t arg, uint64_t fd)
{
    if (unlikely(f->flags & O_PATH))
        return -EBADF;
    switch (req) {
    case TIOCGPTPEER:
        return file_open_peer(f, arg);
    case FIONBIO:
        return set_nonblock(f, arg);
    case FIOCLEX:
    case FIONCLEX:
        return fd_set_cloexec(process_self()->files, (unsigned)fd, req == FIOCLEX);
    default:
        return f->ops->ioctl ? f->ops->ioctl(f, req, arg) : -ENOTTY;
    }
}

long sys_ioctl(uint64_t fd, uint64_t req, uint64_t arg)
{
    return file_call(fd, file_ioctl, (uint32_t)req, arg, fd);
}

/* ---- descriptors ---- */

static long duplicate(struct file *f, uint64_t from, uint64_t cloexec, uint64_t c)
{
    int fd;

    (void)c;
    if (from >= rlimit_files(process_self()))
        return -EINVAL; /* before it is narrowed */
    file_ref(f);
    fd = fd_add(process_self()->files, f, (unsigned)from, cloexec);
    if (fd < 0)
        file_unref(f);
    return fd;
}

static long duplicate_to(struct file *f, uint64_t fd, uint64_t cloexec, uint64_t c)
{
    int r;

    (void)c;
    file_ref(f);
    r = fd_replace(process_self()->files, f, fd, cloexec);
    if (r < 0)
        file_unref(f);
    return r;
}

long sys_dup(uint64_t fd) { return file_call(fd, duplicate, 0, false, 0); }

long sys_dup2(uint64_t fd, uint64_t to)
{
    long err;

    if (fd != to)
        return file_call(fd, duplicate_to, to, false, 0);
    err = file_call(fd, file_nothing, 0, 0, 0);
    return err ? err : (long)fd;
}

long sys_dup3(uint64_t fd, uint64_t to, uint64_t flags)
{
    if (flags & ~(uint64_t)O_CLOEXEC || fd == to)
        return -EINVAL;
    return file_call(fd, duplicate_to, to, (flags & O_CLOEXEC) != 0, 0);
}

static __attribute__((noinline)) long set_flags(struct file *f, uint32_t flags)
{
    uint32_t old = __atomic_load_n(&f->flags, __ATOMIC_RELAXED), new;
    uint32_t uid = process_euid(process_self());

    if ((flags & ~old & O_NOATIME) && f->inode && uid &&
        uid != __atomic_load_n(&f->inode->uid, __ATOMIC_RELAXED))
        return -EPERM;
    do
        new = (old & ~FL_CHANGEABLE) | (flags & FL_CHANGEABLE);
    while (!__atomic_compare_exchange_n(&f->flags, &old, new, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return 0;
}

/* A pipe always has its one size, which is at least as much as a smaller request asks for. A larger
 * one is refused as to a user who may have no more. */
static long set_pipe_size(struct file *f, uint64_t n)
{
    if (!file_is_pipe(f))
        return -EBADF;
    if ((uint32_t)n > INT32_MAX)
        return -EINVAL;
    return (uint32_t)n > PIPE_BYTES ? -EPERM : (long)PIPE_BYTES;
}

static inline long file_control(struct file *f, uint64_t fd, uint64_t cmd, uint64_t arg)
{
    struct file_table *t = process_self()->files;

    switch (cmd) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        return duplicate(f, arg, cmd == F_DUPFD_CLOEXEC, 0);
    case F_GETFD:
        return fd_cloexec(t, (unsigned)fd);
    case F_SETFD:
        return fd_set_cloexec(t, (unsigned)fd, (arg & FD_CLOEXEC) != 0);
    case F_GETFL:
        return __atomic_load_n(&f->flags, __ATOMIC_RELAXED);
    case F_SETFL:
        if (f->flags & O_PATH)
            return -EBADF;
        return set_flags(f, (uint32_t)arg);
    case F_GETPIPE_SZ:
        return file_is_pipe(f) ? (long)PIPE_BYTES : -EBADF;
    case F_SETPIPE_SZ:
        return set_pipe_size(f, arg);
    case F_ADD_SEALS:
        return memfd_seal(f, (uint32_t)arg);
    case F_GET_SEALS:
        return memfd_seals(f);
    case F_GETLK:
    case F_OFD_GETLK:
        return lock_get(f, arg, cmd == F_OFD_GETLK);
    case F_SETLK:
    case F_SETLKW:
        return lock_change(f, fd, arg, false, cmd == F_SETLKW);
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return lock_change(f, fd, arg, true, cmd == F_OFD_SETLKW);
    default:
        return -EINVAL;
    }
}

long sys_fcntl(uint64_t fd, uint64_t cmd, uint64_t arg)
{
    return file_call(fd, file_control, fd, cmd, arg);
}

long sys_getdtablesize(void) { return (long)rlimit_files(process_self()); }

#define CLOSE_RANGE_UNSHARE 2u
#define CLOSE_RANGE_CLOEXEC 4u

/* Give the process a table of its own, if it shares one with other processes. One of several
 * threads cannot have its own: -EINVAL. */
static int unshare_files(void)
{
    struct process *p = process_self();
    struct file_table *old = p->files, *new;

    if (!fdtable_shared(old))
        return 0;
    if (!process_alone(p))
        return -EINVAL;
    new = fdtable_fork(old);
    if (!new)
        return -ENOMEM;
    fdtable_release(process_change_files(p, new));
    return 0;
}

long sys_close_range(uint64_t first, uint64_t last, uint64_t flags)
{
    uint32_t how = (uint32_t)flags;
    struct file_table *t;
    int err;

    if (first > last || (how & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)))
        return -EINVAL;
    err = how & CLOSE_RANGE_UNSHARE ? unshare_files() : 0;
    if (err)
        return err;
    t = process_self()->files;
    for (uint64_t fd = first; (fd = fd_next(t, fd)) <= last && fd < FD_MAX; fd++) {
        if (thread_killed())
            return -EINTR;
        if (how & CLOSE_RANGE_CLOEXEC)
            fd_set_cloexec(t, (unsigned)fd, true);
        else
            fd_close(t, fd);
    }
    return 0;
}

#define MFD_CLOEXEC       1u
#define MFD_ALLOW_SEALING 2u
#define MFD_HUGETLB       4u
#define MFD_HUGE_SHIFT    26u /* above: the logarithm of the size of huge pages, 0: the default */
#define MFD_HUGE_MASK     63u
#define MEMFD_NAME_MAX    249u /* bytes: with a prefix it is a name */

/* The name is nowhere shown. */
long sys_memfd_create(uint64_t name, uint64_t flags)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    char text[MEMFD_NAME_MAX + 1];
    uint64_t huge_shift = 0;
    struct file *f;
    long err;

    if (flags & MFD_HUGETLB) {
        huge_shift = flags >> MFD_HUGE_SHIFT & MFD_HUGE_MASK;
        flags &= ~((uint64_t)MFD_HUGE_MASK << MFD_HUGE_SHIFT);
    }
    if (flags & ~(uint64_t)(MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB))
        return -EINVAL;
    err = copyin_str(text, name, sizeof(text));
    if (err < 0)
        return err == -ENAMETOOLONG ? -EINVAL : err;
    if (huge_shift && huge_shift != HUGE_SHIFT)
        return -ENODEV;
    err = (flags & MFD_HUGETLB ? memfd_huge_create
                               : memfd_create)(&cred, (flags & MFD_ALLOW_SEALING) != 0, &f);
    if (err)
        return err;
    err = fd_add(p->files, f, 0, (flags & MFD_CLOEXEC) != 0);
    if (err < 0)
        file_unref(f);
    return err;
}

/* Create a pipe and two descriptors for it, or neither. */
static long make_pipe(uint64_t flags, uint32_t fd[2])
{
    struct file_table *t = process_self()->files;
    struct io_cred cred = process_cred(process_self());
    bool cloexec = (flags & O_CLOEXEC) != 0;
    struct file *rd, *wr;
    int err, a, b;

    if (flags & ~(uint64_t)(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    err = pipe_create(&cred, &rd, &wr, (uint32_t)flags);
    if (err)
        return err;
    a = fd_add(t, rd, 0, cloexec);
    b = a < 0 ? a : fd_add(t, wr, 0, cloexec);
    if (b < 0) {
        if (a < 0)
            file_unref(rd);
        else
            fd_close(t, (uint64_t)a);
        file_unref(wr);
        return b;
    }
    fd[0] = (uint32_t)a;
    fd[1] = (uint32_t)b;
    return 0;
}

long sys_pipe2(uint64_t to, uint64_t flags)
{
    uint32_t fd[2];
    long err = make_pipe(flags, fd);

    if (!err && copyout(to, fd, sizeof(fd)) != 0) {
        fd_close(process_self()->files, fd[0]);
        fd_close(process_self()->files, fd[1]);
        err = -EFAULT;
    }
    return err;
}

long sys_pipe(void)
{
    uint32_t fd[2];
    long err = make_pipe(0, fd);

    if (err)
        return err;
    user_frame_of(current_hw)->a4 = fd[1];
    return fd[0];
}
