/* Resource limits: rlimit.h. */
#include "kernel/proc/rlimit.h"

#include "kernel/base/errno.h"
#include "kernel/fs/inode.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/signal.h"
#include "kernel/quota/quota.h"
#include "sysman/params.h"

#define MIB            (UINT64_C(1) << 20)
#define STACK_SOFT     (8 * MIB)
#define STACK_LEAST    (MIB / 8)   /* a program gets this much whatever the limit: its arguments */
#define STACK_MOST     (512 * MIB) /* half of P1 */
#define MEMLOCK        (8 * MIB)   /* as on Linux */
#define SIGNALS_QUEUED 1024u
#define MESSAGE_BYTES  819200u /* as on Linux */

/* A limit of the current process in bytes; UINT64_MAX: none. */
static inline uint64_t own_limit(unsigned resource)
{
    const struct process *p = process_self();
    uint64_t n = p ? rlimit_soft(p, resource) : RLIM_INFINITY;

    return n >= RLIM_INFINITY ? UINT64_MAX : n;
}

/* No space has as many bytes as RLIM_INFINITY. */
static bool memory_within(uint64_t nbytes, uint64_t data)
{
    const struct process *p = process_self();

    return !p || (nbytes <= rlimit_soft(p, RLIMIT_AS) && data <= rlimit_soft(p, RLIMIT_DATA));
}

static uint64_t stack_limit(void) { return own_limit(RLIMIT_STACK); }

/* kernel/io asks before a write or truncation makes a file longer than the limit. */
static uint64_t file_limit(bool exceeded)
{
    if (exceeded) {
        struct process *p = process_self();
        const struct signal_info info = {
            .signo = SIGXFSZ, .code = SI_KERNEL, .pid = p->pid, .uid = process_uid(p)};

        signal_send_thread(p, uthread_self(), &info);
    }
    return own_limit(RLIMIT_FSIZE);
}

void rlimit_boot(struct process *p)
{
    uint64_t files = (uint64_t)sysparam(SYSPARAM_CHANNELCNT);

    for (unsigned k = 0; k < RLIMITS; k++)
        p->limits[k] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    p->limits[RLIMIT_STACK].soft = STACK_SOFT;
    p->limits[RLIMIT_CORE].soft = 0;
    p->limits[RLIMIT_NOFILE] = (struct rlimit){MIN(files, NOFILE_SOFT), files};
    p->limits[RLIMIT_MEMLOCK] = (struct rlimit){MEMLOCK, MEMLOCK};
    p->limits[RLIMIT_SIGPENDING] = (struct rlimit){SIGNALS_QUEUED, SIGNALS_QUEUED};
    p->limits[RLIMIT_MSGQUEUE] = (struct rlimit){MESSAGE_BYTES, MESSAGE_BYTES};
    p->limits[RLIMIT_NICE] = p->limits[RLIMIT_RTPRIO] = (struct rlimit){0, 0};
    aspace_within = memory_within;
    aspace_stack_limit = stack_limit;
    file_size_limit = file_limit;
    cpu_timers_boot();
}

int rlimit_get(const struct process *p, uint64_t resource, struct rlimit *l)
{
    if (resource >= RLIMITS)
        return -EINVAL;
    l->soft = rlimit_soft(p, (unsigned)resource);
    l->hard = __atomic_load_n(&p->limits[resource].hard, __ATOMIC_RELAXED);
    return 0;
}

int rlimit_set_locked(struct process *p, uint64_t resource, const struct rlimit *l, bool root)
{
    if (resource >= RLIMITS || l->soft > l->hard)
        return -EINVAL;
    if (l->hard > p->limits[resource].hard &&
        (!root || (resource == RLIMIT_NOFILE && l->hard > FD_MAX)))
        return -EPERM;
    __atomic_store_n(&p->limits[resource].hard, l->hard, __ATOMIC_RELAXED);
    __atomic_store_n(&p->limits[resource].soft, l->soft, __ATOMIC_RELAXED);
    if (resource == RLIMIT_CPU)
        cpu_timers_limit_set(p);
    return 0;
}

bool rlimit_may_fork(void)
{
    const struct process *p = process_self();

    return !p || process_euid(p) == 0 ||
           __atomic_load_n(&p->account->count[QUOTA_PROCESSES].used, __ATOMIC_RELAXED) <
               rlimit_soft(p, RLIMIT_NPROC);
}

uint64_t rlimit_stack_bytes(void)
{
    uint64_t n = rlimit_soft(process_self(), RLIMIT_STACK);

    if (n >= RLIM_INFINITY)
        return STACK_SOFT; /* without a limit, what programs get by default */
    return MIN(MAX(n, STACK_LEAST), STACK_MOST) & ~PAGE_MASK;
}
