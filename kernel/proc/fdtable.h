/*
 * Descriptors of a process. Only the process's own thread touches its table, so neither a lock nor
 * a reference is needed while a call uses a file: nobody else can close it. (Threads that share a
 * table will have to change that: fd_get then takes a reference.)
 */
#ifndef KERNEL_PROC_FDTABLE_H
#define KERNEL_PROC_FDTABLE_H

#include "kernel/io/file.h"

#define FD_FIRST 32u  /* slots in the structure itself */
#define FD_MAX   256u /* most a process can have; RLIMIT_NOFILE says so too */

struct file_table {
    uint32_t size;      /* slots */
    uint32_t open;      /* slots in use */
    struct file **file; /* first, or FD_MAX slots of nonpaged pool */
    struct file *first[FD_FIRST];
    uint64_t cloexec[FD_MAX / 64];
};

struct file_table *fdtable_create(void);
/* A copy with a reference more for each file; NULL: memory is short. */
struct file_table *fdtable_fork(const struct file_table *from);
/* Close everything. */
void fdtable_free(struct file_table *t);
/* exec: close what is marked. */
void fdtable_exec(struct file_table *t);

static inline struct file *fd_get(const struct file_table *t, uint64_t fd)
{
    return likely(fd < t->size) ? t->file[fd] : NULL;
}
/* The lowest free number from `from` on, which fd_fill then takes: between the two a call does what
 * may fail for other reasons. -EMFILE, -ENOMEM, -EINVAL. */
int fd_find(struct file_table *t, unsigned from);
/* Put f (the caller's reference) at a number that fd_find gave. */
void fd_fill(struct file_table *t, struct file *f, unsigned fd, bool cloexec);
/* Both: give f (the caller's reference) the lowest free number from `from` on. Number, -EMFILE,
 * -ENOMEM, -EINVAL. */
int fd_add(struct file_table *t, struct file *f, unsigned from, bool cloexec);
/* Put f (the caller's reference) at fd, closing what is there. fd, or -EBADF, -ENOMEM. */
int fd_replace(struct file_table *t, struct file *f, uint64_t fd, bool cloexec);
/* 0 or -EBADF. */
int fd_close(struct file_table *t, uint64_t fd);
static inline bool fd_cloexec(const struct file_table *t, unsigned fd)
{
    return t->cloexec[fd / 64] >> (fd % 64) & 1;
}
void fd_set_cloexec(struct file_table *t, unsigned fd, bool on);

#endif
