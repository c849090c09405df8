/* Resource limits: rlimit.h. */
#include "kernel/proc/rlimit.h"

#include "kernel/base/errno.h"
#include "kernel/proc/fdtable.h"
#include "sysman/params.h"

#define STACK_BYTES (UINT64_C(8) << 20) /* kernel/proc/exec.c */

void rlimit_boot(struct process *p)
{
    p->nofile.hard = (uint64_t)sysparam(SYSPARAM_CHANNELCNT);
    p->nofile.soft = MIN(p->nofile.hard, NOFILE_SOFT);
}

int rlimit_get(const struct process *p, uint64_t resource, struct rlimit *l)
{
    uint64_t fixed = resource == RLIMIT_STACK  ? STACK_BYTES
                     : resource == RLIMIT_CORE ? 0
                                               : RLIM_INFINITY;

    if (resource >= RLIMITS)
        return -EINVAL;
    if (resource == RLIMIT_NOFILE)
        *l = (struct rlimit){rlimit_files(p), __atomic_load_n(&p->nofile.hard, __ATOMIC_RELAXED)};
    else
        *l = (struct rlimit){fixed, fixed};
    return 0;
}

int rlimit_set_locked(struct process *p, uint64_t resource, const struct rlimit *l, bool root)
{
    struct rlimit is;
    int err = rlimit_get(p, resource, &is);

    if (err)
        return err;
    if (l->soft > l->hard)
        return -EINVAL;
    if (resource != RLIMIT_NOFILE)
        return l->soft == is.soft && l->hard == is.hard ? 0 : -EPERM;
    if (l->hard > is.hard && (!root || l->hard > FD_MAX))
        return -EPERM;
    __atomic_store_n(&p->nofile.hard, l->hard, __ATOMIC_RELAXED);
    __atomic_store_n(&p->nofile.soft, l->soft, __ATOMIC_RELAXED);
    return 0;
}
