/* System calls of inotify: arguments and descriptors. What they do is in kernel/io/inotify.c. No
 * lock here. */
#include "kernel/io/inotify.h"

#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/event.h"
#include "kernel/sys/posix/upath.h"

/* How a watch is to be added, beside the events. */
#define IN_ONLYDIR     0x01000000u
#define IN_DONT_FOLLOW 0x02000000u
#define IN_EXCL_UNLINK 0x04000000u /* changes nothing: no name, no report */
#define IN_MASK_CREATE 0x10000000u
#define IN_MASK_ADD    0x20000000u
#define IN_HOW         (IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD)
#define IN_KNOWN \
    (IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_HOW | IN_ISDIR | IN_ONESHOT)

long sys_inotify_init1(uint64_t flags)
{
    struct file *f;
    int err, fd;

    if ((uint32_t)flags & ~(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    err = inotify_create_file((flags & O_NONBLOCK) != 0, &f);
    if (err)
        return err;
    fd = fd_add(process_self()->files, f, 0, flags & O_CLOEXEC);
    if (fd < 0)
        file_unref(f);
    return fd;
}

long sys_inotify_init(void) { return sys_inotify_init1(0); }

/* Look the path up, and watch what it leads to, if the caller may read that. */
static long watch_path(struct file *f, vaddr_t path, uint32_t mask)
{
    struct io_cred cred = process_cred(process_self());
    enum notify_how how = mask & IN_MASK_CREATE ? NOTIFY_NEW
                          : mask & IN_MASK_ADD  ? NOTIFY_MERGE
                                                : NOTIFY_REPLACE;
    struct inode *i;
    long r = path_lookup((uint64_t)AT_FDCWD, path, !(mask & IN_DONT_FOLLOW), &i);

    if (r)
        return r;
    if ((mask & IN_ONLYDIR) && !inode_is_dir(i))
        r = -ENOTDIR;
    if (!r)
        r = inode_access(i, &cred, 4);
    if (!r)
        r = inotify_watch(f, i, mask & (IN_ALL_EVENTS | IN_ONESHOT), how);
    inode_unref(i);
    return r;
}

long sys_inotify_add_watch(uint64_t fd, uint64_t path, uint64_t events)
{
    uint32_t mask = (uint32_t)events;
    struct fd_use u;
    long r;

    if (!(mask & IN_KNOWN) ||
        (mask & (IN_MASK_ADD | IN_MASK_CREATE)) == (IN_MASK_ADD | IN_MASK_CREATE))
        return -EINVAL;
    u = fd_get(process_self()->files, (uint32_t)fd);
    if (!u.file)
        return -EBADF;
    r = inotify_is(u.file) ? watch_path(u.file, path, mask) : -EINVAL;
    fd_put(u);
    return r;
}

long sys_inotify_rm_watch(uint64_t fd, uint64_t number)
{
    struct fd_use u = fd_get(process_self()->files, (uint32_t)fd);
    long r;

    if (!u.file)
        return -EBADF;
    r = inotify_end(u.file, (int)number);
    fd_put(u);
    return r;
}
