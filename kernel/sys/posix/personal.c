/*
 * Calls by which a process sets or asks what it is: prctl, personality, capabilities, scheduling
 * policy. What a process sets concerns all its threads, except its name. Fields that other
 * processes read are changed under the process table lock.
 */
#include "kernel/sys/posix/personal.h"
#include "kernel/sys/posix/process.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/ipi.h"
#include "mm/space/aspace.h"

/* ---- prctl ---- */

enum {
    PR_SET_PDEATHSIG = 1,
    PR_GET_PDEATHSIG = 2,
    PR_GET_DUMPABLE = 3,
    PR_SET_DUMPABLE = 4,
    PR_GET_KEEPCAPS = 7,
    PR_SET_KEEPCAPS = 8,
    PR_SET_NAME = 15,
    PR_GET_NAME = 16,
    PR_CAPBSET_READ = 23,
    PR_SET_NO_NEW_PRIVS = 38,
    PR_GET_NO_NEW_PRIVS = 39
};

#define NAME_BYTES 16 /* of a thread's name, with its NUL */
#define CAP_LAST   40 /* CAP_CHECKPOINT_RESTORE */

static long set_name(vaddr_t from)
{
    char name[NAME_BYTES] = "";
    struct process *p = process_self();
    long n = copyin_str(name, from, sizeof(name));
    ipl_t ipl;

    if (n < 0 && n != -ENAMETOOLONG)
        return n;
    if (n < 0 && copyin(name, from, sizeof(name)) != 0)
        return -EFAULT;
    name[NAME_BYTES - 1] = '\0';
    ipl = spin_lock(&process_lock);
    str_copy(thread_self()->name, name, MIN(sizeof(name), sizeof(thread_self()->name)));
    if (uthread_self()->tid == p->pid)
        str_copy(p->name, name, sizeof(p->name));
    spin_unlock(&process_lock, ipl);
    return 0;
}

static long get_name(vaddr_t to)
{
    char name[NAME_BYTES] = "";

    str_copy(name, thread_self()->name, sizeof(name));
    return copyout(to, name, sizeof(name));
}

long sys_prctl(uint64_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    struct process *p = process_self();
    struct personal *own = &p->personal;
    ipl_t ipl;

    switch (what) {
    case PR_SET_PDEATHSIG:
        if (a > NSIG)
            return -EINVAL;
        /* With the lock: either the parent's end sees it, or this process has no parent when it
           asks for it next. */
        ipl = spin_lock(&process_lock);
        __atomic_store_n(&own->death_signal, (uint8_t)a, __ATOMIC_RELAXED);
        spin_unlock(&process_lock, ipl);
        return 0;
    case PR_GET_PDEATHSIG:
        return copyout_u32(a, __atomic_load_n(&own->death_signal, __ATOMIC_RELAXED));
    case PR_GET_DUMPABLE:
        return !__atomic_load_n(&own->undumpable, __ATOMIC_RELAXED);
    case PR_SET_DUMPABLE:
        if (a > 1)
            return -EINVAL;
        __atomic_store_n(&own->undumpable, a == 0, __ATOMIC_RELAXED);
        return 0;
    case PR_GET_KEEPCAPS:
        return 0;
    case PR_SET_KEEPCAPS: /* 0 only: there are no capabilities to keep beside the user id */
        return a > 1 ? -EINVAL : a ? -EPERM : 0;
    case PR_SET_NAME:
        return set_name(a);
    case PR_GET_NAME:
        return get_name(a);
    case PR_CAPBSET_READ:
        return a > CAP_LAST ? -EINVAL : 1;
    case PR_SET_NO_NEW_PRIVS: /* exec gives no privileges, so there is nothing to prevent */
        if (a != 1 || b || c || d)
            return -EINVAL;
        __atomic_store_n(&own->no_new_privs, true, __ATOMIC_RELAXED);
        return 0;
    case PR_GET_NO_NEW_PRIVS:
        if (a || b || c || d)
            return -EINVAL;
        return __atomic_load_n(&own->no_new_privs, __ATOMIC_RELAXED);
    default:
        return -EINVAL;
    }
}

/* ---- personality ---- */

#define PERSONALITY_ASK   0xFFFFFFFFu
#define ADDR_NO_RANDOMIZE 0x0040000u /* addresses are never chosen at random */

long sys_personality(uint64_t persona)
{
    struct personal *own = &process_self()->personal;
    uint32_t was = __atomic_load_n(&own->persona, __ATOMIC_RELAXED);

    if ((uint32_t)persona == PERSONALITY_ASK)
        return was;
    if ((uint32_t)persona & ~ADDR_NO_RANDOMIZE)
        return -EINVAL;
    __atomic_store_n(&own->persona, (uint32_t)persona, __ATOMIC_RELAXED);
    return was;
}

/* ---- capabilities: all of them with effective user 0, else none ---- */

#define CAP_VERSION_1 0x19980330u
#define CAP_VERSION_2 0x20071026u
#define CAP_VERSION_3 0x20080522u

struct cap_data {
    uint32_t effective, permitted, inheritable;
};

/* The number of structures that follow a header of this version; 0: it is unknown. */
static unsigned cap_words(uint32_t version)
{
    return version == CAP_VERSION_1                               ? 1
           : version == CAP_VERSION_2 || version == CAP_VERSION_3 ? 2
                                                                  : 0;
}

static struct cap_data caps_of(const struct process *p, unsigned word)
{
    uint32_t all = word ? (uint32_t)((UINT64_C(1) << (CAP_LAST + 1 - 32)) - 1) : UINT32_MAX;
    bool super = process_euid(p) == 0;
    bool saved = super || process_uid(p) == 0 || __atomic_load_n(&p->suid, __ATOMIC_RELAXED) == 0;

    return (struct cap_data){super ? all : 0, saved ? all : 0, 0};
}

/* Read a header; *words is what cap_words says. For an unknown version the preferred one is written
 * back. 0 or a negative errno. */
static int cap_header(vaddr_t header, unsigned *words, int32_t *pid)
{
    struct {
        uint32_t version;
        int32_t pid;
    } h;

    if (copyin(&h, header, sizeof(h)) != 0)
        return -EFAULT;
    *words = cap_words(h.version);
    *pid = h.pid;
    if (*words)
        return 0;
    return copyout_u32(header, CAP_VERSION_3) ? -EFAULT : -EINVAL;
}

long sys_capget(uint64_t header, uint64_t to)
{
    struct cap_data data[2] = {{0}, {0}};
    const struct process *p;
    unsigned words;
    int32_t pid;
    int err = cap_header(header, &words, &pid);
    ipl_t ipl;

    if (err)
        return err == -EINVAL && !to ? 0 : err;
    if (pid < 0)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    p = pid ? process_find_locked((uint32_t)pid) : process_self();
    for (unsigned k = 0; p && k < words; k++)
        data[k] = caps_of(p, k);
    spin_unlock(&process_lock, ipl);
    if (!p)
        return -ESRCH;
    return to ? copyout(to, data, words * sizeof(data[0])) : 0;
}

/* Only what is so already can be set: capabilities cannot be given up one by one here. */
long sys_capset(uint64_t header, uint64_t from)
{
    const struct process *p = process_self();
    struct cap_data want[2];
    unsigned words;
    int32_t pid;
    int err = cap_header(header, &words, &pid);

    if (err)
        return err;
    if (pid && (uint32_t)pid != p->pid)
        return -EPERM;
    if (copyin(want, from, words * sizeof(want[0])) != 0)
        return -EFAULT;
    for (unsigned k = 0; k < words; k++) {
        struct cap_data is = caps_of(p, k);

        if (memcmp(&is, &want[k], sizeof(is)))
            return -EPERM;
    }
    return 0;
}

/* ---- scheduling policy: every thread has the ordinary one ---- */

enum { SCHED_OTHER = 0, SCHED_FIFO = 1, SCHED_RR = 2, SCHED_BATCH = 3, SCHED_IDLE = 5 };
#define REALTIME_MOST 99

static bool is_realtime(uint64_t policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

static bool is_ordinary(uint64_t policy)
{
    return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

long sys_sched_get_priority_max(uint64_t policy)
{
    return is_realtime(policy) ? REALTIME_MOST : is_ordinary(policy) ? 0 : -EINVAL;
}

long sys_sched_get_priority_min(uint64_t policy)
{
    return is_realtime(policy) ? 1 : is_ordinary(policy) ? 0 : -EINVAL;
}

/* May the caller change how p is scheduled? The table lock is held. */
static bool may_schedule_locked(const struct process *p)
{
    uint32_t euid = process_euid(process_self());

    return euid == 0 || euid == process_uid(p) || euid == process_euid(p);
}

/* Is there such a thread? 0, -EINVAL or -ESRCH. *own: may the caller change how it is scheduled? */
static int look_for(uint64_t tid, bool *own)
{
    const struct uthread *u;
    ipl_t ipl;

    *own = true;
    if ((int32_t)tid < 0)
        return -EINVAL;
    if (tid == 0)
        return 0;
    ipl = spin_lock(&process_lock);
    u = thread_find_locked((uint32_t)tid);
    if (u)
        *own = may_schedule_locked(u->process);
    spin_unlock(&process_lock, ipl);
    return u ? 0 : -ESRCH;
}

long sys_sched_getscheduler(uint64_t tid)
{
    bool own;
    int err = look_for(tid, &own);

    return err ? err : SCHED_OTHER;
}

long sys_sched_getparam(uint64_t tid, uint64_t to)
{
    bool own;
    int err = to ? look_for(tid, &own) : -EINVAL;

    return err ? err : copyout_u32(to, 0);
}

/* Can the thread have a policy with this priority? There is no other policy than the ordinary one,
 * so -EPERM is the answer to those with real-time priorities, and to those that would run less. */
static long check_policy(uint64_t tid, uint64_t policy, uint32_t priority)
{
    bool own;
    int err = look_for(tid, &own);

    if (err)
        return err;
    if (is_realtime(policy))
        return priority >= 1 && priority <= REALTIME_MOST ? -EPERM : -EINVAL;
    if (!is_ordinary(policy) || priority)
        return -EINVAL;
    return policy == SCHED_OTHER && own ? 0 : -EPERM;
}

/* Set a policy with the priority at `from`. */
static long set_policy(uint64_t tid, uint64_t policy, vaddr_t from)
{
    uint32_t priority;

    if (!from || (int32_t)tid < 0)
        return -EINVAL;
    return copyin_u32(&priority, from) ? -EFAULT : check_policy(tid, policy, priority);
}

long sys_sched_setscheduler(uint64_t tid, uint64_t policy, uint64_t from)
{
    return set_policy(tid, policy, from);
}

long sys_sched_setparam(uint64_t tid, uint64_t from) { return set_policy(tid, SCHED_OTHER, from); }

/* The time slice of a real-time policy, which no thread has. */
long sys_sched_rr_get_interval(uint64_t tid, uint64_t to)
{
    uint64_t none[2] = {0};
    bool own;
    int err = look_for(tid, &own);

    return err ? err : copyout(to, none, sizeof(none));
}

/* What sched_setattr and sched_getattr exchange, in its first form. */
#define PRIO_PROCESS 0
struct sched_attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct sched_attr) == 48, "the layout is Linux's");

/* Bits of sched_attr.flags that Linux knows: none has an effect on the ordinary policy here. */
#define SCHED_FLAGS_KNOWN 0x7Fu

/* The structure at `from`, whose first word is its size: what it has beyond the first form must be
 * zero. 0, -E2BIG, -EFAULT. */
static long attr_in(vaddr_t from, struct sched_attr *a)
{
    uint32_t size;
    uint64_t word;

    if (copyin_u32(&size, from))
        return -EFAULT;
    if (!size)
        size = sizeof(*a);
    if (size < sizeof(*a) || size > PAGE_SIZE)
        return copyout_u32(from, sizeof(*a)) ? -EFAULT : -E2BIG;
    if (copyin(a, from, sizeof(*a)))
        return -EFAULT;
    for (uint32_t at = sizeof(*a); at < size; at += sizeof(word)) {
        word = 0;
        if (copyin(&word, from + at, MIN(size - at, (uint32_t)sizeof(word))))
            return -EFAULT;
        if (word)
            return -E2BIG;
    }
    return 0;
}

/* Of the ordinary policy, the nice value. */
long sys_sched_setattr(uint64_t tid, uint64_t from, uint64_t flags)
{
    struct sched_attr a;
    long err;

    if (!from || (int32_t)tid < 0 || (uint32_t)flags)
        return -EINVAL;
    err = attr_in(from, &a);
    if (!err)
        err = (int32_t)a.policy < 0 || (a.flags & ~(uint64_t)SCHED_FLAGS_KNOWN) ? -EINVAL : 0;
    if (!err)
        err = check_policy(tid, a.policy, a.priority);
    return err ? err : sys_setpriority(PRIO_PROCESS, tid, (uint64_t)(int64_t)a.nice);
}

long sys_sched_getattr(uint64_t tid, uint64_t to, uint64_t n, uint64_t flags)
{
    struct sched_attr a = {.size = sizeof(a), .policy = SCHED_OTHER};
    const struct uthread *u;
    ipl_t ipl;

    if (!to || (int32_t)tid < 0 || (uint32_t)n < sizeof(a) || (uint32_t)n > PAGE_SIZE ||
        (uint32_t)flags)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    u = tid ? thread_find_locked((uint32_t)tid) : uthread_self();
    if (u)
        a.nice = __atomic_load_n(&u->thread->nice, __ATOMIC_RELAXED);
    spin_unlock(&process_lock, ipl);
    return u ? copyout(to, &a, sizeof(a)) : -ESRCH;
}

/* ---- membarrier ---- */

#define MEMBARRIER_GLOBAL           1u
#define MEMBARRIER_GLOBAL_EXPEDITED 2u
#define MEMBARRIER_REGISTER_GLOBAL  4u
#define MEMBARRIER_PRIVATE          8u
#define MEMBARRIER_REGISTER_PRIVATE 16u
#define MEMBARRIER_ALL              31u

static void barrier(void *arg)
{
    (void)arg;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * Every thread of the process, or of all, passes a barrier between the beginning and the end of the
 * call. Those that run do so by an interrupt; those that do not have passed one when they gave up
 * the CPU, and pass one when they get it. A CPU whose bit of pt.loaded is not set yet will pass the
 * one of the context switch after this one has read the mask (kernel/sched/sched.c, barrier A).
 */
static void barrier_on(cpumask_t mask)
{
    barrier(NULL);
    ipi_call(mask, barrier, NULL);
}

long sys_membarrier(uint64_t command, uint64_t flags, uint64_t cpu)
{
    struct process *p = process_self();
    uint8_t *registered = &p->personal.barriers;

    (void)cpu;
    if (flags)
        return -EINVAL;
    switch ((uint32_t)command) {
    case 0:
        return MEMBARRIER_ALL;
    case MEMBARRIER_GLOBAL:
    case MEMBARRIER_GLOBAL_EXPEDITED: /* for all, whether they have registered or not */
        barrier_on(~0ul);
        return 0;
    case MEMBARRIER_REGISTER_GLOBAL:
    case MEMBARRIER_REGISTER_PRIVATE:
        __atomic_fetch_or(registered, (uint8_t)command, __ATOMIC_RELAXED);
        return 0;
    case MEMBARRIER_PRIVATE:
        if (!(__atomic_load_n(registered, __ATOMIC_RELAXED) & MEMBARRIER_REGISTER_PRIVATE))
            return -EPERM;
        barrier(NULL);
        barrier_on(__atomic_load_n(&p->aspace->pt.loaded, __ATOMIC_RELAXED));
        return 0;
    default:
        return -EINVAL;
    }
}
