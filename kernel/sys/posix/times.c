/* Calls that set the times of files. A time is kept as nanoseconds since 1970, so it lies between
 * the years 1677 and 2262; one beyond them is set to the nearest. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/process.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/posix/path.h"
#include "kernel/sys/posix/upath.h"

#define NS         1000000000l
#define SECONDS    (INT64_MAX / NS - 1) /* the last second; the first is its negative */
#define UTIME_NOW  0x3FFFFFFFl
#define UTIME_OMIT 0x3FFFFFFEl

struct times {
    int64_t atime, mtime; /* ns, or TIME_UNCHANGED */
    bool now;             /* both are the present: whoever may write may set them */
};

static int64_t to_ns(int64_t sec, int64_t nsec)
{
    return MIN(MAX(sec, -SECONDS), SECONDS) * NS + nsec;
}

/* One struct timespec. 0 or -EINVAL. */
static int one_time(const int64_t t[2], int64_t now, int64_t *ns)
{
    if (t[1] == UTIME_NOW)
        *ns = now;
    else if (t[1] == UTIME_OMIT)
        *ns = TIME_UNCHANGED;
    else if (t[1] < 0 || t[1] >= NS)
        return -EINVAL;
    else
        *ns = to_ns(t[0], t[1]);
    return 0;
}

/* Two of struct timespec at `from`; 0: the present. */
static int times_in(vaddr_t from, struct times *times)
{
    int64_t now = (int64_t)clock_wall_ns(), t[4];
    int err;

    *times = (struct times){.atime = now, .mtime = now, .now = true};
    if (!from)
        return 0;
    if (copyin(t, from, sizeof(t)) != 0)
        return -EFAULT;
    err = one_time(t, now, &times->atime);
    if (!err)
        err = one_time(t + 2, now, &times->mtime);
    times->now = t[1] == UTIME_NOW && t[3] == UTIME_NOW;
    return err;
}

/* Two of struct timeval. */
static int timevals_in(vaddr_t from, struct times *times)
{
    int64_t t[4];

    if (!from)
        return times_in(0, times);
    if (copyin(t, from, sizeof(t)) != 0)
        return -EFAULT;
    if (t[1] < 0 || t[1] >= 1000000 || t[3] < 0 || t[3] >= 1000000)
        return -EINVAL;
    *times = (struct times){.atime = to_ns(t[0], t[1] * 1000), .mtime = to_ns(t[2], t[3] * 1000)};
    return 0;
}

static int set_times(struct inode *i, const struct times *times)
{
    struct io_cred cred = process_cred(process_self());

    if (cred.uid && cred.uid != __atomic_load_n(&i->uid, __ATOMIC_RELAXED)) {
        int err = times->now ? inode_access(i, &cred, 2) : -EPERM;

        if (err)
            return err;
    }
    return inode_set_times(i, times->atime, times->mtime);
}

static long set_times_at(uint64_t dirfd, vaddr_t path, uint64_t flags, const struct times *times)
{
    struct fd_use file;
    struct inode *i;
    long err = path_lookup_at(dirfd, path, flags, &i, &file);

    fd_put(file); /* the times of a pipe are those of each look at it */
    if (!err && i) {
        err = set_times(i, times);
        inode_unref(i);
    }
    return err;
}

static long set_times_of(uint64_t fd, const struct times *times)
{
    struct fd_use u = fd_get(process_self()->files, fd);
    long err = -EBADF;

    if (u.file && !(u.file->flags & O_PATH))
        err = u.file->inode ? set_times(u.file->inode, times) : 0;
    fd_put(u);
    return err;
}

long sys_utimensat(uint64_t dirfd, uint64_t path, uint64_t from, uint64_t flags)
{
    struct times times;
    int err = times_in(from, &times);

    if (err)
        return err;
    if (times.atime == TIME_UNCHANGED && times.mtime == TIME_UNCHANGED)
        return 0;
    if (CHECKED_FLAGS(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    if (path || (int32_t)dirfd == AT_FDCWD)
        return set_times_at(dirfd, path, flags, &times);
    return flags ? -EINVAL : set_times_of(dirfd, &times);
}

long sys_futimesat(uint64_t dirfd, uint64_t path, uint64_t from)
{
    struct times times;
    int err = timevals_in(from, &times);

    if (err)
        return err;
    if (path || (int32_t)dirfd == AT_FDCWD)
        return set_times_at(dirfd, path, 0, &times);
    return set_times_of(dirfd, &times);
}

long sys_utimes(uint64_t path, uint64_t from)
{
    struct times times;
    int err = timevals_in(from, &times);

    return err ? err : set_times_at((uint64_t)AT_FDCWD, path, 0, &times);
}
