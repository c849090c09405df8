/*
 * Open files: a table of operations behind every descriptor. kernel/proc keeps the descriptor tables.
 * All at IPL 0, no spinlock; may wait. Results: bytes or 0, or a negative errno.
 */
#ifndef KERNEL_IO_FILE_H
#define KERNEL_IO_FILE_H

#include "kernel/base/types.h"

struct file;
struct inode;
struct mm_object;

struct file_stat {
    uint64_t ino, size, blocks, mtime_ns;
    uint32_t mode, nlink, uid, gid, rdev, blksize;
};

struct file_ops {
    const char *name;
    long (*read)(struct file *f, vaddr_t ubuf, size_t n);
    long (*write)(struct file *f, vaddr_t ubuf, size_t n);
    int64_t (*lseek)(struct file *f, int64_t off, int whence);
    int (*stat)(struct file *f, struct file_stat *st);
    long (*ioctl)(struct file *f, unsigned long req, vaddr_t arg);
    unsigned (*poll)(struct file *f); /* POLLIN | POLLOUT | POLLHUP now */
    long (*getdents)(struct file *f, vaddr_t ubuf, size_t n);
    int (*truncate)(struct file *f, uint64_t size);
    /* The object to map, without a new reference; NULL: cannot be mapped. */
    struct mm_object *(*object)(struct file *f);
    void (*close)(struct file *f); /* last reference */
};

struct file {
    uint32_t refs;   /* atomic */
    uint32_t flags;  /* O_*; atomic */
    const struct file_ops *ops;
    struct inode *inode;
    int64_t pos;     /* protected by the inode's mutex */
    void *priv;
};

void file_ref(struct file *f);
void file_unref(struct file *f);
/* Open by absolute path (initrd and tmpfs share one tree). */
int file_open(const char *path, uint32_t flags, uint32_t mode, struct file **out);
int file_stat_path(const char *path, bool follow, struct file_stat *st);
int pipe_create(struct file **rd, struct file **wr, uint32_t flags);
/* fds 0..2 of the first process. With a command: COM2 streams; without: the console terminal. */
int console_open(struct file **in, struct file **out, struct file **err, bool command);

#endif
