/*
 * Tables of file descriptors, and what a system call holds while it uses a descriptor.
 *
 * A table usually has one user, a thread. It has several when processes share it (CLONE_FILES) or
 * when a process has several threads: `others` is the number of users minus one. While `others` is
 * 0, only a clone by the caller itself could add a user, so nobody else can change the table or
 * close a file during the call, and neither the lock nor a reference is taken. Otherwise every
 * look-up and every change is made under the lock, and a file that a call uses is referenced for
 * the duration of the call. Without that:
 *
 *   reader: fd_get(3) finds f         other: close(3) drops the last reference to f
 *                                            f is freed
 *           f->ops->read(f)
 *
 * A descriptor number is allocated in two steps if an operation that can fail lies between them:
 * fd_find reserves it, so that no other thread gets the same number, and then fd_fill installs the
 * file, or fd_cancel frees the number.
 *
 * Other processes may look at a table, too (fd_remote.c): they take the lock, or see to it that the
 * only user does not run.
 */
#ifndef KERNEL_PROC_FDTABLE_H
#define KERNEL_PROC_FDTABLE_H

#include "kernel/base/errno.h"
#include "kernel/io/file.h"
#include "kernel/sched/spinlock.h"

#define FD_FIRST  32u  /* slots within struct file_table */
#define FD_CHUNK  512u /* slots in a chunk: one block of pool, which a lookaside list keeps */
#define FD_CHUNKS 512u
#define FD_MAX    (FD_CHUNK * FD_CHUNKS) /* numbers that a table can have; RLIMIT_NOFILE is below */

/* FD_CHUNK consecutive numbers. Nonpaged pool. */
struct fd_chunk {
    struct file *file[FD_CHUNK];
    uint64_t used[FD_CHUNK / 64];    /* numbers in use: with a file, or reserved */
    uint64_t cloexec[FD_CHUNK / 64]; /* those of them that exec closes */
    uint32_t full;                   /* bit k: used[k] has no free number */
    uint32_t count;                  /* numbers in use */
};

/* The chunks of a table with numbers from FD_CHUNK on. Nonpaged pool. */
struct fd_directory {
    struct fd_chunk *chunk[FD_CHUNKS]; /* NULL: no number of it is in use */
    uint64_t full[FD_CHUNKS / 64];     /* chunks without a free number */
    uint32_t full_words;               /* bit k: full[k] has no chunk with a free number */
    uint32_t nempty;                   /* chunks without a used number, except the first: 0 or 1 */
};

/*
 * A small table, of most processes, has its slots in the structure itself. It grows on demand, by a
 * chunk, then by a directory and more chunks, and never moves more than FD_FIRST slots. Chunks that
 * become empty are freed, but for the first and one more, so that who opens and closes one file
 * again and again does not pay for it. Finding the lowest free number takes three levels of bit
 * masks, whatever their number.
 */
struct file_table {       /* nonpaged pool */
    struct spinlock lock; /* RANK_FILE, IPL_ASTDEL; protects the rest if there are several users */
    /* Number of users minus one; users that have left are counted until the next lock holder
     * subtracts them. Changed under the lock, and by a user only: so the one user that is left has
     * set it to 0 itself, and needs no barrier to see what the others did. Atomic: read without the
     * lock. */
    uint64_t others;
    /* While there is one user: its thread. Set under the lock when the others have gone, or before
     * the user is in the table of processes. */
    struct thread *owner;
    uint64_t gone;             /* how many of `others` have left; always under the lock */
    uint64_t size;             /* slots at `file`: FD_FIRST or FD_CHUNK */
    struct file **file;        /* `first`, or those of chunk0 */
    struct fd_chunk *chunk0;   /* NULL: the table is small */
    struct fd_directory *more; /* contains chunk0, too; NULL: numbers below FD_CHUNK only */
    uint64_t used, cloexec;    /* of a small table; those from FD_FIRST on count as used */
    uint32_t nfar;             /* numbers from FD_CHUNK on that are in use */
    struct file *first[FD_FIRST];
};

/* A file in use by a call, from fd_get to fd_put. */
struct fd_use {
    struct file *file; /* NULL: the number has no file */
    bool counted;      /* fd_put drops a reference */
};

/* Create an empty table with one user; NULL: memory is short. IPL 0. */
struct file_table *fdtable_create(void);
/* Create a copy with one user and a reference of its own to each file; NULL: memory is short.
 * Called by a user of `from`. IPL 0. */
struct file_table *fdtable_fork(struct file_table *from);
/* Add a user. Called by a user. */
void fdtable_share(struct file_table *t);
/* Remove the caller from the users; the last one closes all files. IPL 0; may wait. */
void fdtable_release(struct file_table *t);
/* exec: close the files that are marked for it. Called by a user. IPL 0; may wait. */
void fdtable_exec(struct file_table *t);

/* Can another thread use t? Called by a user. */
static inline bool fdtable_shared(const struct file_table *t)
{
    return unlikely(__atomic_load_n(&t->others, __ATOMIC_RELAXED) != 0);
}
/* fd_get for a table with several users: the file with a reference, or NULL. */
struct file *fd_get_counted(struct file_table *t, uint64_t fd);
/* fd_get for a number that is not below t->size, in a table with one user. */
struct file *fd_get_far(const struct file_table *t, uint64_t fd);
/* The file with number fd or NULL, without a reference: the table has one user, or all others are
 * stopped. */
static inline struct file *fd_file(const struct file_table *t, uint64_t fd)
{
    return likely(fd < t->size) ? t->file[fd] : fd_get_far(t, fd);
}

/* The file with number fd, which stays until fd_put. Called by a user. IPL 0. */
static inline struct fd_use fd_get(struct file_table *t, uint64_t fd)
{
    if (fdtable_shared(t)) {
        struct file *f = fd_get_counted(t, fd);

        return (struct fd_use){f, f != NULL};
    }
    return (struct fd_use){fd_file(t, fd), false};
}
static inline void fd_put(struct fd_use u)
{
    if (unlikely(u.counted))
        file_unref(u.file);
}

/*
 * Call fn with the file of descriptor fd and three arguments of the caller's, as between fd_get and
 * fd_put. Returns fn's result, or -EBADF when there is no such file. Meant for calls of a few
 * instructions: if the table has one user, the compiler makes a tail call of it, and nothing has to
 * be saved or done afterwards. Called by a user. IPL 0.
 */
typedef long (*fd_fn)(struct file *f, uint64_t a, uint64_t b, uint64_t c);
long fd_call_slowly(struct file_table *t, uint64_t fd, fd_fn fn, uint64_t a, uint64_t b,
                    uint64_t c);
static inline long fd_call(struct file_table *t, uint64_t fd, fd_fn fn, uint64_t a, uint64_t b,
                           uint64_t c)
{
    struct file *f;

    if (unlikely(fdtable_shared(t) || fd >= t->size))
        return fd_call_slowly(t, fd, fn, a, b, c);
    f = t->file[fd];
    return likely(f != NULL) ? fn(f, a, b, c) : -EBADF;
}

/* The lowest number from `from` on that has a file; FD_MAX: there is none. Called by a user, or
 * while all others are stopped. */
uint64_t fd_next(struct file_table *t, uint64_t from);
/* For those who are no users (fd_remote.c), while no user changes t. The file with number fd, with
 * a reference, or NULL, and whether exec closes it. Any IPL. */
struct file *fdtable_peek(const struct file_table *t, uint64_t fd, bool *cloexec);
/* The lowest number from *fd on that has a file, in *fd. False: there is none below *fd, up to
 * which it has looked; FD_MAX is the end. Any IPL, in at most some 30 steps. */
bool fdtable_look(const struct file_table *t, uint64_t *fd);
/* How many numbers are in use, at some moment during the call if others change the table. The
 * caller sees to it that the table stays (process.files with the process table lock held), but need
 * not be a user, and neither stops nor locks out the users: chunk0 is never freed before the
 * table. */
uint32_t fdtable_count(const struct file_table *t);
/* Reserve the lowest free number that is at least `from`; fd_fill or fd_cancel must follow. The
 * number, -EMFILE (the limit of the current process, RLIMIT_NOFILE, is reached), -ENOMEM, or
 * -EINVAL (`from` is not below the limit). */
int fd_find(struct file_table *t, unsigned from);
/* Install f at a number that fd_find returned; the caller's reference passes to the table. */
void fd_fill(struct file_table *t, struct file *f, unsigned fd, bool cloexec);
/* Free a number that fd_find returned. */
void fd_cancel(struct file_table *t, unsigned fd);
/* fd_find and fd_fill: install f, with the caller's reference, at the lowest free number that is at
 * least `from`. The number, or -EMFILE, -ENOMEM, -EINVAL with the reference still the caller's. */
int fd_add(struct file_table *t, struct file *f, unsigned from, bool cloexec);
/* Install f, with the caller's reference, at fd, and close the file that was there. fd; or -EBADF
 * (not below the limit of the current process), -ENOMEM, or -EBUSY when another call has reserved
 * the number, with the reference still the caller's. */
int fd_replace(struct file_table *t, struct file *f, uint64_t fd, bool cloexec);
/* Close fd. 0 or -EBADF. IPL 0; may wait. */
long fd_close(struct file_table *t, uint64_t fd);
/* Does exec close fd, which has a file? 1 or 0. */
int fd_cloexec(struct file_table *t, unsigned fd);
/* Set or clear the mark that makes exec close fd; does nothing if fd has no file. Returns 0. */
int fd_set_cloexec(struct file_table *t, unsigned fd, bool on);

#endif
