/* The device nodes, the devices without hardware (null, zero), and the initialisation of kernel/io
 * in its order. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/fs/ext4/ext4.h"
#include "kernel/fs/initrd.h"
#include "kernel/fs/notify.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/random.h"
#include "kernel/sched/freeze.h"

static long null_read(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f, (void)ubuf, (void)n;
    return 0;
}

static long null_write(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f, (void)ubuf;
    return (long)n;
}

static long null_write_kernel(struct file *f, const void *buf, size_t n)
{
    (void)f, (void)buf;
    return (long)n;
}

#define ZERO_CHUNK (16 * PAGE_SIZE) /* bytes cleared at a time: some 20,000 instructions */

static long zero_read(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f;
    for (size_t done = 0; done < n; done += MIN(n - done, ZERO_CHUNK)) {
        if (sched_loop_point())
            return done ? (long)done : -EINTR;
        if (clear_user(ubuf + done, MIN(n - done, ZERO_CHUNK)))
            return done ? (long)done : -EFAULT;
    }
    return (long)n;
}

static long full_write(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f, (void)ubuf, (void)n;
    return -ENOSPC;
}

/* /dev/random: as getrandom. */
static long seeded_read(struct file *f, vaddr_t ubuf, size_t n)
{
    int err = random_wait(f->flags & O_NONBLOCK);

    return err ? err : random_to_user(ubuf, n);
}

static long random_read(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f;
    return random_to_user(ubuf, n);
}

static int64_t device_lseek(struct file *f, int64_t off, int whence)
{
    (void)f, (void)off, (void)whence;
    return 0;
}

static int device_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

static const struct file_ops null_ops = {.name = "null",
                                         .read = null_read,
                                         .write = null_write,
                                         .write_kernel = null_write_kernel,
                                         .lseek = device_lseek,
                                         .stat = device_stat};
static const struct file_ops zero_ops = {.name = "zero",
                                         .read = zero_read,
                                         .write = null_write,
                                         .write_kernel = null_write_kernel,
                                         .lseek = device_lseek,
                                         .stat = device_stat,
                                         .anonymous = true};

static const struct file_ops full_ops = {.name = "full",
                                         .read = zero_read,
                                         .write = full_write,
                                         .lseek = device_lseek,
                                         .stat = device_stat};
static unsigned seeded_poll(struct file *f, struct poll_entry *e)
{
    (void)f;
    return random_poll(e);
}

static long random_write(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f;
    return random_from_user(ubuf, n);
}

static const struct file_ops random_ops = {.name = "random",
                                           .read = seeded_read,
                                           .write = random_write,
                                           .poll = seeded_poll,
                                           .lseek = device_lseek,
                                           .stat = device_stat};
static const struct file_ops urandom_ops = {.name = "urandom",
                                            .read = random_read,
                                            .write = random_write,
                                            .lseek = device_lseek,
                                            .stat = device_stat};

static const struct {
    const char *path;
    uint32_t mode, rdev;
    const struct file_ops *ops;
} nodes[] = {
    {"/dev/null", 0666, RDEV(1, 3), &null_ops},
    {"/dev/zero", 0666, RDEV(1, 5), &zero_ops},
    {"/dev/full", 0666, RDEV(1, 7), &full_ops},
    {"/dev/random", 0666, RDEV(1, 8), &random_ops},
    {"/dev/urandom", 0666, RDEV(1, 9), &urandom_ops},
    {"/dev/console", 0600, RDEV_CONSOLE, &tty_ops},
    {"/dev/tty", 0666, RDEV_TTY, &tty_ops},
    {"/dev/ptmx", 0666, RDEV_PTMX, &ptmx_ops},
};

const struct file_ops *device_ops(uint32_t rdev)
{
    for (unsigned k = 0; k < ARRAY_SIZE(nodes); k++)
        if (nodes[k].rdev == rdev)
            return nodes[k].ops;
    return rdev >> 8 == RDEV_PTS_MAJOR ? &tty_ops : NULL;
}

void device_boot(void)
{
    for (unsigned k = 0; k < ARRAY_SIZE(nodes); k++) {
        int err = tree_device(nodes[k].path, S_IFCHR | nodes[k].mode, nodes[k].rdev);

        if (err && err != -EEXIST)
            printk("%s: cannot be created (error %d)\n", nodes[k].path, err);
    }
}

/* The names of a process's own files in /dev. */
static void device_links(void)
{
    static const char *const links[][2] = {{"/dev/fd", "/proc/self/fd"},
                                           {"/dev/stdin", "/proc/self/fd/0"},
                                           {"/dev/stdout", "/proc/self/fd/1"},
                                           {"/dev/stderr", "/proc/self/fd/2"}};

    for (unsigned k = 0; k < ARRAY_SIZE(links); k++) {
        int err = tree_symlink(&(struct io_cred){0}, NULL, links[k][0], links[k][1]);

        if (err && err != -EEXIST)
            printk("%s: cannot be created (error %d)\n", links[k][0], err);
    }
}

/* Create a directory that the system needs whether or not the archive contains it. */
static void need_directory(const char *path, uint32_t mode)
{
    int err = tree_create(&(struct io_cred){0}, NULL, path, S_IFDIR | mode, true, NULL);

    if (err && err != -EEXIST)
        printk("%s: cannot be created (error %d)\n", path, err);
}

void io_boot(const void *initrd, uint64_t nbytes)
{
    tree_boot();
    lock_boot();
    notify_boot();
    need_directory("/dev", 0755);
    need_directory("/dev/pts", 0755);
    need_directory("/dev/shm", S_ISVTX | 0777);
    need_directory("/tmp", S_ISVTX | 0777);
    need_directory("/proc", 0555);
    device_links();
    device_boot(); /* before the archive, so that it cannot use these names for other files */
    disk_files_boot();
    if (initrd && nbytes)
        initrd_boot(inode_root, initrd, nbytes);
    poll_boot();
    tty_boot();
    pty_boot();
    stream_boot();
    ext4_boot();
    io_census_boot();
}
