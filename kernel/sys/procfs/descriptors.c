/* /proc/PID/fd: the open files of a process, as links; /proc/PID/fdinfo: what is known of them. */
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/io/tty.h"
#include "kernel/proc/fd_remote.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/pidfd.h"
#include "kernel/sys/procfs/procfs_private.h"

/* Of the current process? Its own table needs no permission. */
static bool is_own(const struct proc_id *who)
{
    const struct process *self = process_self();

    return who->pid == self->pid && who->start_ns == self->start_ns;
}

/* The error of a name that leads to a descriptor of another process. */
static int error_of(int err) { return err == -EPERM ? -EACCES : err == -EINTR ? err : -ENOENT; }

/* The open file `fd` of a process, with a reference, in *out, and whether exec closes it. 0;
 * -ENOENT; -EACCES: the caller may not trace the process; -EINTR. */
static int file_of(const struct proc_id *who, uint64_t fd, struct file **out, bool *cloexec)
{
    struct file_table *t = process_self()->files;
    struct fd_use u;
    int err;

    if (!is_own(who)) {
        err = fd_remote_get(who->pid, who->start_ns, fd, out, cloexec);
        return err ? error_of(err) : 0;
    }
    u = fd_get(t, fd);
    if (!u.file)
        return -ENOENT;
    if (!u.counted)
        file_ref(u.file);
    *out = u.file;
    *cloexec = fd_cloexec(t, (unsigned)fd) != 0;
    return 0;
}

static int follow_fd(const struct proc_inode *i, struct inode **out)
{
    struct file *f;
    bool cloexec;
    int err = file_of(&i->who, i->number, &f, &cloexec);

    if (err)
        return err;
    if (f->inode) {
        inode_ref(f->inode);
        *out = f->inode;
    } else {
        err = pipe_inode(f, out); /* what else has no inode cannot be opened again */
    }
    file_unref(f);
    return err;
}

static long describe(struct file *f, char *buf, size_t n)
{
    struct file_stat st = {0};
    long r;

    if (f->inode) {
        r = tree_path_of(f->inode, buf, n);
        if (r != -ENOENT)
            return r > 0 ? r - 1 : r;
    }
    r = f->ops->stat(f, &st);
    return r ? r : (long)MIN(format(buf, n, "%s:[%lu]", f->ops->name, st.ino), n - 1);
}

static long readlink_fd(const struct proc_inode *i, char *buf, size_t n)
{
    struct file *f;
    bool cloexec;
    long r = file_of(&i->who, i->number, &f, &cloexec);

    if (r)
        return r;
    r = describe(f, buf, n);
    file_unref(f);
    return r;
}

static const struct proc_entry fd_entry = {
    .name = "", .mode = S_IFLNK | 0700, .readlink = readlink_fd, .follow = follow_fd};

/* The position is read as it is: lseek would write it, beside its owner. What has no inode keeps
 * something else there. */
static int show_info(const struct proc_inode *i, struct proc_text *t)
{
    struct file_stat st = {0};
    struct file *f;
    uint32_t pid, flags;
    uint64_t start_ns;
    bool cloexec;
    int err = file_of(&i->who, i->number, &f, &cloexec);

    if (err)
        return err;
    flags = __atomic_load_n(&f->flags, __ATOMIC_RELAXED) | (cloexec ? O_CLOEXEC : 0);
    err = f->ops->stat(f, &st);
    if (!err) {
        proc_print(t, "pos:\t%ld\nflags:\t0%o\nmnt_id:\t%lu\nino:\t%lu\n",
                   f->inode && !tty_of_file(f) ? __atomic_load_n(&f->pos, __ATOMIC_RELAXED) : 0,
                   flags, f->inode ? (uint64_t)f->inode->fs->dev : 0, st.ino);
        if (!pidfd_target(f, &pid, &start_ns))
            proc_print(t, "Pid:\t%d\n", pidfd_process(f) ? (int)pid : -1);
    }
    file_unref(f);
    return err;
}

static const struct proc_entry info_entry = {
    .name = "", .mode = S_IFREG | 0444, .record = show_info};

/* Has the process such a descriptor? Errors are those of file_of(). Takes no reference: the caller
 * holds a directory's mutex, with which the last one must not be dropped. */
static int exists(const struct proc_id *who, uint64_t fd)
{
    int err;

    if (is_own(who))
        return fd < FD_MAX && fd_next(process_self()->files, fd) == fd ? 0 : -ENOENT;
    err = fd_remote_has(who->pid, who->start_ns, fd);
    return err ? error_of(err) : 0;
}

static int find(const struct proc_inode *dir, const struct fs_name *name,
                const struct proc_entry *entry, struct inode **out)
{
    uint32_t fd;
    int err;

    if (!proc_name_number(name, &fd))
        return -ENOENT;
    err = exists(&dir->who, fd);
    return err ? err : proc_inode_create(dir, entry, &dir->who, fd, out);
}

static int next(const struct proc_inode *dir, uint64_t from, uint64_t *number)
{
    int err;

    *number = from;
    if (is_own(&dir->who)) {
        *number = fd_next(process_self()->files, from);
        return *number < FD_MAX ? 0 : -ENOENT;
    }
    err = fd_remote_next(dir->who.pid, dir->who.start_ns, number);
    return err ? error_of(err) : 0;
}

int proc_find_fd(const struct proc_inode *dir, const struct fs_name *name, struct inode **out)
{
    return find(dir, name, &fd_entry, out);
}

int proc_next_fd(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                 const struct proc_entry **entry)
{
    *entry = &fd_entry;
    return next(dir, from, number);
}

int proc_find_fdinfo(const struct proc_inode *dir, const struct fs_name *name, struct inode **out)
{
    return find(dir, name, &info_entry, out);
}

int proc_next_fdinfo(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                     const struct proc_entry **entry)
{
    *entry = &info_entry;
    return next(dir, from, number);
}
