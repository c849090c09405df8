/*
 * Open files: a table of operations behind every descriptor. kernel/proc keeps the descriptor
 * tables. All at IPL 0, no spinlock; may wait. Results: bytes or 0, or a negative errno.
 */
#ifndef KERNEL_IO_FILE_H
#define KERNEL_IO_FILE_H

#include "kernel/fs/stat.h"

struct file;
struct inode;
struct validate;
struct mm_object;

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
    uint32_t refs;  /* atomic */
    uint32_t flags; /* O_* of open_flags.h; atomic */
    const struct file_ops *ops;
    struct inode *inode; /* own reference; NULL for pipes and streams */
    int64_t pos;         /* protected by the inode's mutex */
    void *priv;
};

/* A file with one reference and nothing behind it; NULL when memory is short. */
struct file *file_alloc(const struct file_ops *ops, uint32_t flags);
static inline void file_ref(struct file *f) { __atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED); }
/* Give a reference back; the last one closes. */
void file_unref(struct file *f);
/* Open for cred; a path that is not absolute starts at dir (NULL: the root). */
int file_open_at(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t flags,
                 uint32_t mode, struct file **out);
/* Open by absolute path (initrd and tmpfs share one tree). */
int file_open(const char *path, uint32_t flags, uint32_t mode, struct file **out);
int file_stat_path(const char *path, bool follow, struct file_stat *st);
int pipe_create(struct file **rd, struct file **wr, uint32_t flags);
/* The initrd's files become the tree's; /tmp and /dev are made. Once, at boot. */
void io_boot(const void *initrd, uint64_t nbytes);

/* The self-check (mm/check/validate.h): count the pages of all files with names; of an open file or
   pipe.
 */
void io_validate(struct validate *v);
void file_validate(struct validate *v, struct file *f);

/* ^C and its like: signal sig to a process group. Filled in by kernel/proc before the first
 * process. IPL 0. */
extern void (*tty_signal_hook)(uint32_t pgrp, int sig);
/* A command's standard input is at its end from the start. Boot, after io_boot(). */
void stream_input_ends(void);
/* The last frame on COM2, of type R with n bytes, n > 0. IPL 0, may wait; returns at IPL_ASTDEL
 * with the stream locked, for the caller to switch the machine off. */
void stream_send_result(const void *payload, size_t n);
/* fds 0..2 of the first process. With a command: COM2 streams; without: the console terminal. */
int console_open(struct file **in, struct file **out, struct file **err, bool command);

#endif
