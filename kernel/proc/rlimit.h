/*
 * Resource limits of processes. A process inherits its parent's; exec keeps them. Everybody may
 * lower a limit, and raise a soft one up to the hard one; user 0 may raise hard ones.
 *
 * Limits on memory are asked for by mm (aspace_within, aspace_stack_limit), that on the size of
 * files by kernel/io. There are no core files, and RSS, LOCKS, RTPRIO and RTTIME limit nothing:
 * they can be set and read.
 */
#ifndef KERNEL_PROC_RLIMIT_H
#define KERNEL_PROC_RLIMIT_H

#include "kernel/proc/process.h"

/* Numbers on Alpha. */
enum {
    RLIMIT_CPU,   /* seconds: SIGXCPU at the soft limit and each second, SIGKILL at the hard one */
    RLIMIT_FSIZE, /* bytes: SIGXFSZ and EFBIG */
    RLIMIT_DATA,  /* private writable memory: ENOMEM */
    RLIMIT_STACK, /* of the next program, and of the growing stack: SIGSEGV */
    RLIMIT_CORE,
    RLIMIT_RSS,
    RLIMIT_NOFILE, /* descriptors */
    RLIMIT_AS,     /* bytes of mappings: ENOMEM */
    RLIMIT_NPROC,  /* processes of the real user: EAGAIN, except for user 0 */
    RLIMIT_MEMLOCK,
    RLIMIT_LOCKS,
    RLIMIT_SIGPENDING, /* queued signals of the user */
    RLIMIT_MSGQUEUE,   /* bytes of the user's POSIX message queues */
    RLIMIT_NICE,       /* 20 minus the lowest nice value that setpriority allows */
    RLIMIT_RTPRIO,
    RLIMIT_RTTIME
};
#define RLIM_INFINITY 0x7FFFFFFFFFFFFFFFul /* on Alpha */
/* Descriptors that the first process may have unless it asks for more. */
#define NOFILE_SOFT 1024u

/* A soft limit of p. Any IPL. */
static inline uint64_t rlimit_soft(const struct process *p, unsigned resource)
{
    return __atomic_load_n(&p->limits[resource].soft, __ATOMIC_RELAXED);
}

/* The descriptor numbers of p are below this: its soft limit. Any IPL. */
static inline uint64_t rlimit_files(const struct process *p)
{
    return rlimit_soft(p, RLIMIT_NOFILE);
}

/* Set the limits of the first process, and let mm and kernel/io ask for limits. */
void rlimit_boot(struct process *p);
/* Get a limit of p. 0 or -EINVAL. Table lock held, or p is the current process. */
int rlimit_get(const struct process *p, uint64_t resource, struct rlimit *l);
/* Set a limit of p, as a thread with effective user 0 (root) or not. -EINVAL: no such resource, or
 * soft above hard; -EPERM: the hard limit would rise, and the caller is not root, or that of
 * descriptors above FD_MAX. Table lock held. */
int rlimit_set_locked(struct process *p, uint64_t resource, const struct rlimit *l, bool root);
/* May the current process's user have one process more, by RLIMIT_NPROC? */
bool rlimit_may_fork(void);
/* The size of the stack of a program that the current process starts. */
uint64_t rlimit_stack_bytes(void);

#endif
