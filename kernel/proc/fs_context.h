/*
 * Where a process's paths begin and with which mode its files are made: the working directory and
 * the mask of umask(2). Processes share one with CLONE_FS, the threads of a process always.
 *
 * `others` counts the threads that use it, but one. While it is 0, nobody else can change it, so
 * the directory is used without a reference; else a call takes one under the lock, because another
 * thread may change to another directory during the call.
 */
#ifndef KERNEL_PROC_FS_CONTEXT_H
#define KERNEL_PROC_FS_CONTEXT_H

#include "kernel/base/types.h"
#include "kernel/sched/spinlock.h"

struct inode;

struct fs_context {       /* in the process, or in nonpaged pool once processes share it */
    struct spinlock lock; /* RANK_FILE, IPL_ASTDEL: protects cwd if there are several users */
    uint32_t others;      /* users but one; atomic */
    uint32_t umask;       /* atomic: one word, and it orders nothing */
    struct inode *cwd;    /* a reference; NULL: the root */
};

/* The working directory for the time of one call: fs_cwd_get to fs_cwd_put. */
struct cwd_use {
    struct inode *dir; /* NULL: the root */
    bool counted;      /* fs_cwd_put gives a reference back */
};

/* The root and this mask, and one user. Before the process runs. */
void fs_init(struct fs_context *fs, uint32_t umask);
/* A copy of from with one user. By a user of from. */
void fs_fork(struct fs_context *to, struct fs_context *from);
/* One more user. By a user. */
void fs_share(struct fs_context *fs);
/* A user less. True: it was the last one, and fs is to be freed if it was allocated. */
bool fs_release(struct fs_context *fs);

/* Can another thread change fs? By a user. Acquire order, against the release in fs_release: who
 * finds itself alone sees the directory that another user has set before it left. */
static inline bool fs_shared(const struct fs_context *fs)
{
    return unlikely(__atomic_load_n(&fs->others, __ATOMIC_ACQUIRE) != 0);
}
/* fs_cwd_get of one with several users: the directory with a reference, or NULL. */
struct inode *fs_cwd_counted(struct fs_context *fs);
/* By a user; IPL 0. */
static inline struct cwd_use fs_cwd_get(struct fs_context *fs)
{
    if (fs_shared(fs)) {
        struct inode *dir = fs_cwd_counted(fs);

        return (struct cwd_use){dir, dir != NULL};
    }
    return (struct cwd_use){fs->cwd, false};
}
void fs_cwd_put(struct cwd_use u);
/* Change to dir (the caller's reference). By a user; IPL 0. */
void fs_cwd_set(struct fs_context *fs, struct inode *dir);
static inline uint32_t fs_umask(const struct fs_context *fs)
{
    return __atomic_load_n(&fs->umask, __ATOMIC_RELAXED);
}
/* The mask becomes this; returns the old one. */
static inline uint32_t fs_umask_set(struct fs_context *fs, uint32_t umask)
{
    return __atomic_exchange_n(&fs->umask, umask, __ATOMIC_RELAXED);
}

#endif
