/*
 * Resource limits of processes. RLIMIT_NOFILE, the number of descriptors, can be changed; the other
 * limits have fixed values. A process inherits its parent's; exec keeps them.
 */
#ifndef KERNEL_PROC_RLIMIT_H
#define KERNEL_PROC_RLIMIT_H

#include "kernel/proc/process.h"

#define RLIMIT_STACK  3
#define RLIMIT_CORE   4
#define RLIMIT_NOFILE 6
#define RLIMITS       16
#define RLIM_INFINITY 0x7FFFFFFFFFFFFFFFul /* on Alpha */
#define NOFILE_SOFT   256u /* descriptors that the first process may have unless it asks for more */

/* The descriptor numbers of p are below this: its soft limit. Any IPL. */
static inline uint64_t rlimit_files(const struct process *p)
{
    return __atomic_load_n(&p->nofile.soft, __ATOMIC_RELAXED);
}

/* The limits of the first process: NOFILE_SOFT, and the parameter CHANNELCNT as the hard limit. */
void rlimit_boot(struct process *p);
/* Get a limit of p. 0 or -EINVAL. Table lock held, or p is the current process. */
int rlimit_get(const struct process *p, uint64_t resource, struct rlimit *l);
/* Set a limit of p, as a thread with effective user 0 (root) or not. -EINVAL: no such resource, or
 * soft above hard; -EPERM: the hard limit would rise, and the caller is not root, or above FD_MAX;
 * or the limit is a fixed one, with another value. Table lock held. */
int rlimit_set_locked(struct process *p, uint64_t resource, const struct rlimit *l, bool root);

#endif
