/*
 * Open files. Each has a table of operations for its type; kernel/proc keeps the descriptor tables
 * that refer to them. All functions are called at IPL 0 with no spinlock held and may wait.
 * Results: a number of bytes or 0, or a negative errno.
 */
#ifndef KERNEL_IO_FILE_H
#define KERNEL_IO_FILE_H

#include "kernel/fs/stat.h"

struct file;
struct inode;
struct validate;
struct mm_object;
struct poll_entry;
struct epoll_item;
struct block_volume;

/* Kernel memory that a file is read into. */
struct file_part {
    void *base;
    size_t nbytes;
};

struct file_ops {
    const char *name;
    /* Called when the file was opened by a path, before it is used: 0 or a negative errno, which
     * becomes that of the open. NULL: nothing is to be done. */
    int (*open)(struct file *f);
    long (*read)(struct file *f, vaddr_t ubuf, size_t n);
    long (*write)(struct file *f, vaddr_t ubuf, size_t n);
    /* Read at offset, leaving the file position alone; NULL: there is no position. (Regular files
     * have functions of their own, kernel/fs/inode.h.) */
    long (*read_at)(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset);
    /* The same for pwrite; NULL: there is no position, or nothing is written there. */
    long (*write_at)(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset);
    /* Write from kernel memory, where write would; NULL: sendfile refuses the file. */
    long (*write_kernel)(struct file *f, const void *buf, size_t n);
    /* Read what is there into n parts of kernel memory, with the mutex of a pipe held. The number
     * of bytes; 0: there will be no more; -EAGAIN: there is nothing. *rest: what came with the
     * bytes, for read_rest, or unchanged. NULL: splice refuses the file. */
    long (*read_kernel)(struct file *f, const struct file_part *part, unsigned n, void **rest);
    /* Wait until read_kernel may find something. 0; -EAGAIN: that would take a wait, which the file
     * or, where the file's type cares for it, nonblock forbids; -ETIMEDOUT: read would return 0. */
    long (*read_wait)(struct file *f, bool nonblock);
    /* Free *rest. NULL: there is never any. */
    void (*read_rest)(void *rest);
    int64_t (*lseek)(struct file *f, int64_t off, int whence);
    int (*stat)(struct file *f, struct file_stat *st);
    long (*ioctl)(struct file *f, unsigned long req, vaddr_t arg);
    /* The POLL* bits that hold now. Unless e is NULL, it is put on the source of the object first,
     * where it is told of changes (poll.h). NULL: it can always be read and written. */
    unsigned (*poll)(struct file *f, struct poll_entry *e);
    /* old: the records have the older layout of getdents. */
    long (*getdents)(struct file *f, vaddr_t ubuf, size_t n, bool old);
    int (*truncate)(struct file *f, uint64_t size);
    /* Have what was written survive the machine's end. NULL: fsync refuses the file, unless it is
     * one of a file system (inode_ops.sync). */
    int (*sync)(struct file *f);
    /* The object that mmap maps, without a new reference; NULL: the file cannot be mapped. */
    struct mm_object *(*object)(struct file *f);
    bool anonymous; /* mmap gives memory of no file, zero at first: /dev/zero */
    /* The current process has closed a descriptor of f, which has no inode. NULL: never mind. */
    void (*left)(struct file *f);
    void (*close)(struct file *f); /* on the last reference */
};

struct file {
    uint32_t refs;  /* atomic */
    uint32_t flags; /* O_* of open_flags.h; atomic */
    const struct file_ops *ops;
    struct inode *inode; /* holds a reference; NULL: it was opened by no name and has none (pipes,
                            sockets, the streams of a command, eventfd and its like) */
    uint32_t failed;     /* the failed write-back that was told last: inode_failure(); atomic */
    /* The file position. Protected by the inode's mutex; of a directory, getdents reads and writes
     * it as an atomic word without the mutex (directory.c). */
    int64_t pos;
    void *priv;
    struct account *account; /* charged for it; constant */
    /* Of epoll instances (epoll.c); atomic: NULL where nobody watches. */
    struct epoll_item *watches;
};

#define PIPE_BYTES 65536u /* what a pipe can hold; it cannot be changed */
/* Is it an end of a pipe, or a FIFO? */
bool file_is_pipe(const struct file *f);

/* The error when file_alloc has returned NULL: -ENFILE at the user's limit, else -ENOMEM. */
int file_why_not(void);
/* Free a file that is in no table and has no inode. */
void file_free(struct file *f);
/* Allocate a file with one reference and no inode, charged to the current thread's account; NULL
 * when memory is short or the user has as many open as USER_FILES allows. */
struct file *file_alloc(const struct file_ops *ops, uint32_t flags);
static inline void file_ref(struct file *f) { __atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED); }
/* Attributes of an open file without a name that is neither a pipe nor a socket. */
int anon_stat(struct file *f, struct file_stat *st);
/* Its file position is 0, whatever is asked for. */
int64_t anon_lseek(struct file *f, int64_t off, int whence);
/* Drop a reference; the last one closes the file. */
void file_unref(struct file *f);
/* Open path with the rights of cred; a relative path starts at dir (NULL: the root). flags: O_*
 * of open_flags.h; mode: of a file that is created. 0 with one reference in *out, or a negative
 * errno. *created: there is a new file, also if it could not be opened. */
int file_open_at(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t flags,
                 uint32_t mode, struct file **out, bool *created);
/* The same for an absolute path with the superuser's rights. */
int file_open(const char *path, uint32_t flags, uint32_t mode, struct file **out);
/* Create a pipe, which belongs to the user of `cred`: both ends, with one reference each. flags:
 * O_NONBLOCK or 0. 0 or -ENOMEM. */
int pipe_create(const struct io_cred *cred, struct file **rd, struct file **wr, uint32_t flags);
/* The inode, with a reference, by which the pipe of an open end is opened again, for either side
 * (/proc/PID/fd). It belongs to who made the pipe. 0; -ENXIO: f is no end of a pipe; or an error
 * of creating an inode. IPL 0; the caller has a reference to f. */
int pipe_inode(struct file *f, struct inode **out);
/* Create the tree with /dev and /tmp, add the files of the initrd, and start the terminal and the
 * streams. Called once, at boot. */
void io_boot(const void *initrd, uint64_t nbytes);

/* The volume of an open disk; NULL: f is none. (disk_file.c) */
struct block_volume *disk_file_volume(const struct file *f);

/* The self-check (mm/check/validate.h): count the pages of all files and pipes, whoever holds them.
 * All other threads are stopped. */
void io_validate(struct validate *v);

/* A command's standard input is empty: reads return 0 from the start. Boot, after io_boot(). */
void stream_input_ends(void);
/* The terminal of the host's user: its size, or (rows and columns 0) that there is none, and what
 * arrives was not typed: it is not echoed then. Without this call it is 24 by 80. Boot, before
 * io_boot(), after which input arrives. */
void console_terminal(uint16_t rows, uint16_t columns);
/* Send the last frame on COM2, of type R with n bytes, n > 0. IPL 0, may wait. Returns at
 * IPL_ASTDEL with the stream locked, for the caller to power the machine off. */
void stream_send_result(const void *payload, size_t n);
/* Open descriptors 0 to 2 of the first process: with a command the streams on COM2, otherwise the
 * console terminal. 0 or -ENOMEM. */
int console_open(struct file **in, struct file **out, struct file **err, bool command);

#endif
