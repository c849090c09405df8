/* /proc/PID/fd: the open files of a process, as links. */
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/io/tree.h"
#include "kernel/proc/fdtable.h"
#include "kernel/sys/procfs/procfs_private.h"

/*
 * The open file `fd` of a process, with a reference, or NULL.
 *
 * Another process's table may be in use by its only user, who then takes no lock. So only the
 * caller's own table is looked at.
 */
static struct file *own_file(const struct proc_id *who, uint64_t fd)
{
    struct process *self = process_self();
    struct fd_use u;

    if (who->pid != self->pid || who->start_ns != self->start_ns)
        return NULL;
    u = fd_get(self->files, fd);
    if (u.file && !u.counted)
        file_ref(u.file);
    return u.file;
}

static int follow_fd(const struct proc_inode *i, struct inode **out)
{
    struct file *f = own_file(&i->who, i->number);
    int err = 0;

    if (!f)
        return -ENOENT;
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
    struct file *f = own_file(&i->who, i->number);
    long r;

    if (!f)
        return -ENOENT;
    r = describe(f, buf, n);
    file_unref(f);
    return r;
}

static const struct proc_entry fd_entry = {
    .name = "", .mode = S_IFLNK | 0700, .readlink = readlink_fd, .follow = follow_fd};

int proc_find_fd(const struct proc_inode *dir, const struct fs_name *name, struct inode **out)
{
    struct file *f;
    uint32_t fd;

    if (!proc_name_number(name, &fd))
        return -ENOENT;
    f = own_file(&dir->who, fd);
    if (!f)
        return -ENOENT;
    file_unref(f);
    return proc_inode_create(dir, &fd_entry, &dir->who, fd, out);
}

int proc_next_fd(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                 const struct proc_entry **entry)
{
    struct file *f;

    for (uint64_t fd = from; (fd = fd_next(process_self()->files, fd)) < FD_MAX; fd++) {
        f = own_file(&dir->who, fd);
        if (!f)
            continue;
        file_unref(f);
        *number = fd;
        *entry = &fd_entry;
        return 0;
    }
    return -ENOENT;
}
