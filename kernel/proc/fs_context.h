/*
 * The file-system context of a process: its root, its working directory and its umask. Processes
 * created with CLONE_FS share one; the threads of a process always do.
 *
 * `others` is the number of threads that use it, minus one. While it is 0, no other thread can
 * change the context, so the directory is used without a reference. Otherwise a call takes a
 * reference under the lock, because another thread may change the directory during the call.
 */
#ifndef KERNEL_PROC_FS_CONTEXT_H
#define KERNEL_PROC_FS_CONTEXT_H

#include "kernel/base/types.h"
#include "kernel/sched/spinlock.h"

struct inode;

/* Part of struct process, or in nonpaged pool once processes share it. */
struct fs_context {
    /* RANK_FILE, IPL_ASTDEL; protects cwd and root if there are several users. */
    struct spinlock lock;
    uint32_t others;   /* number of users minus one; atomic */
    uint32_t umask;    /* atomic; relaxed, as it orders nothing */
    struct inode *cwd; /* holds a reference; NULL: the root of the machine */
    /* The directory that "/" is (chroot); likewise. Never NULL again once it was set; atomic, so
     * that most calls see without the lock that it is NULL. */
    struct inode *root;
};

/* The working directory or the root during one call: from fs_cwd_get or fs_root_get to fs_cwd_put.
 */
struct cwd_use {
    struct inode *dir; /* NULL: the root */
    bool counted;      /* fs_cwd_put drops a reference */
};

/* Initialise with the root directory, this mask and one user, before the process runs. */
void fs_init(struct fs_context *fs, uint32_t umask);
/* Make *to a copy of *from with one user. Called by a user of from. IPL 0. */
void fs_fork(struct fs_context *to, struct fs_context *from);
/* Add a user. Called by a user. */
void fs_share(struct fs_context *fs);
/* Remove a user. True: it was the last one; the directory's reference was dropped, and the caller
 * frees fs if it was allocated. IPL 0; may wait. */
bool fs_release(struct fs_context *fs);

/* Can another thread change fs? Called by a user. The load is an acquire, paired with the release
 * in fs_release: a user that finds itself alone sees the directory that another one set before it
 * left. */
static inline bool fs_shared(const struct fs_context *fs)
{
    return unlikely(__atomic_load_n(&fs->others, __ATOMIC_ACQUIRE) != 0);
}
/* fs_cwd_get for a context with several users: the directory with a reference, or NULL. */
struct inode *fs_cwd_counted(struct fs_context *fs);
/* The working directory, which stays until fs_cwd_put. Called by a user. IPL 0. */
static inline struct cwd_use fs_cwd_get(struct fs_context *fs)
{
    if (fs_shared(fs)) {
        struct inode *dir = fs_cwd_counted(fs);

        return (struct cwd_use){dir, dir != NULL};
    }
    return (struct cwd_use){fs->cwd, false};
}
/* fs_root_get for a context whose root was set, and has several users; as fs_cwd_counted. */
struct inode *fs_root_counted(struct fs_context *fs);
/* The root, as fs_cwd_get. */
static inline struct cwd_use fs_root_get(struct fs_context *fs)
{
    if (likely(__atomic_load_n(&fs->root, __ATOMIC_RELAXED) == NULL))
        return (struct cwd_use){NULL, false};
    if (fs_shared(fs))
        return (struct cwd_use){fs_root_counted(fs), true};
    return (struct cwd_use){fs->root, false};
}
void fs_cwd_put(struct cwd_use u);
/* Make dir the working directory; the caller's reference passes to fs. Called by a user. IPL 0. */
void fs_cwd_set(struct fs_context *fs, struct inode *dir);
/* The same for the root. */
void fs_root_set(struct fs_context *fs, struct inode *dir);
static inline uint32_t fs_umask(const struct fs_context *fs)
{
    return __atomic_load_n(&fs->umask, __ATOMIC_RELAXED);
}
/* Set the mask; returns the previous one. */
static inline uint32_t fs_umask_set(struct fs_context *fs, uint32_t umask)
{
    return __atomic_exchange_n(&fs->umask, umask, __ATOMIC_RELAXED);
}

#endif
