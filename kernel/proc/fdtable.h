/*
 * Tables of descriptors, and what a call holds while it uses one.
 *
 * A table is used by one thread as a rule, and by several when processes share it (CLONE_FILES) or
 * when a process has several threads: `others` counts those but one. While it is 0, the caller is
 * the only user, and only a clone of its own adds another: nobody can change the table or close a
 * file under the caller, so neither the lock nor a reference is taken. Else every look and every
 * change is made under the lock, and a file that a call uses has a reference for that call:
 *
 *     reader: fd_get(3) finds f         other: close(3), the last reference to f
 *             f->ops->read(f)                  f is freed
 *
 * A number is taken in two steps where something that can fail lies between them: fd_find reserves
 * it, so that no other thread is given the same, and fd_fill publishes the file, or fd_cancel gives
 * the number back.
 */
#ifndef KERNEL_PROC_FDTABLE_H
#define KERNEL_PROC_FDTABLE_H

#include "kernel/base/errno.h"
#include "kernel/io/file.h"
#include "kernel/sched/spinlock.h"

#define FD_FIRST 32u  /* slots in the structure itself */
#define FD_MAX   256u /* most a process can have; RLIMIT_NOFILE says so too */

struct file_table {       /* nonpaged pool */
    struct spinlock lock; /* RANK_FILE, IPL_ASTDEL: protects the rest if there are several users */
    /* Users but one, with those that have left and are not taken off yet. Changed under the lock
       and by a user only, so the one that is left has lowered it to 0 itself and needs no barrier
       to see what the others did. Atomic: read without the lock. */
    uint64_t others;
    uint64_t gone;      /* of them, those that have left; always under the lock */
    uint64_t size;      /* slots */
    struct file **file; /* first, or FD_MAX slots of nonpaged pool */
    struct file *first[FD_FIRST];
    uint64_t used[FD_MAX / 64];    /* numbers that are taken, with a file or reserved */
    uint64_t cloexec[FD_MAX / 64]; /* of them, those that exec closes */
};

/* What a call uses: fd_get to fd_put. */
struct fd_use {
    struct file *file; /* NULL: there is none with that number */
    bool counted;      /* fd_put gives a reference back */
};

/* An empty table with one user; NULL: memory is short. */
struct file_table *fdtable_create(void);
/* A copy with a reference more for each file, and one user; NULL: memory is short. */
struct file_table *fdtable_fork(struct file_table *from);
/* One more user. By a user. */
void fdtable_share(struct file_table *t);
/* A user less; the last one closes everything. */
void fdtable_release(struct file_table *t);
/* exec: close what is marked. */
void fdtable_exec(struct file_table *t);

/* Can another thread use t? By a user. */
static inline bool fdtable_shared(const struct file_table *t)
{
    return unlikely(__atomic_load_n(&t->others, __ATOMIC_RELAXED) != 0);
}
/* fd_get of a table with several users: the file with a reference, or NULL. */
struct file *fd_get_counted(struct file_table *t, uint64_t fd);

/* The file with number fd, which stays until fd_put. By a user. IPL 0. */
static inline struct fd_use fd_get(struct file_table *t, uint64_t fd)
{
    if (fdtable_shared(t)) {
        struct file *f = fd_get_counted(t, fd);

        return (struct fd_use){f, f != NULL};
    }
    return (struct fd_use){likely(fd < t->size) ? t->file[fd] : NULL, false};
}
static inline void fd_put(struct fd_use u)
{
    if (unlikely(u.counted))
        file_unref(u.file);
}

/*
 * fn with the file number fd and three arguments of the caller's, between fd_get and fd_put. -EBADF
 * when there is none. For calls of a few instructions: with a table of its own the caller jumps to
 * fn, and has nothing to keep or to do behind it. By a user. IPL 0.
 */
typedef long (*fd_fn)(struct file *f, uint64_t a, uint64_t b, uint64_t c);
long fd_call_counted(struct file_table *t, uint64_t fd, fd_fn fn, uint64_t a, uint64_t b,
                     uint64_t c);
static inline long fd_call(struct file_table *t, uint64_t fd, fd_fn fn, uint64_t a, uint64_t b,
                           uint64_t c)
{
    struct file *f;

    if (fdtable_shared(t))
        return fd_call_counted(t, fd, fn, a, b, c);
    f = likely(fd < t->size) ? t->file[fd] : NULL;
    return likely(f != NULL) ? fn(f, a, b, c) : -EBADF;
}

/* Reserve the lowest free number from `from` on, for fd_fill or fd_cancel: between the two a call
 * does what may fail for other reasons. -EMFILE, -ENOMEM, -EINVAL. */
int fd_find(struct file_table *t, unsigned from);
/* Put f (the caller's reference) at a number that fd_find gave. */
void fd_fill(struct file_table *t, struct file *f, unsigned fd, bool cloexec);
/* Give back a number that fd_find gave. */
void fd_cancel(struct file_table *t, unsigned fd);
/* Both: give f (the caller's reference) the lowest free number from `from` on. Number, -EMFILE,
 * -ENOMEM, -EINVAL. */
int fd_add(struct file_table *t, struct file *f, unsigned from, bool cloexec);
/* Put f (the caller's reference) at fd, closing what is there. fd, or -EBADF, -ENOMEM, -EBUSY: the
 * number is reserved by a call that is under way. */
int fd_replace(struct file_table *t, struct file *f, uint64_t fd, bool cloexec);
/* 0 or -EBADF. */
int fd_close(struct file_table *t, uint64_t fd);
/* Is fd, which has a file, closed by exec? 1 or 0. */
int fd_cloexec(struct file_table *t, unsigned fd);
/* Mark fd, or take the mark away; nothing if it has no file. 0. */
int fd_set_cloexec(struct file_table *t, unsigned fd, bool on);

#endif
