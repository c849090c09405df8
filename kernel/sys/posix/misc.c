/*
 * Calls that return information about the system (uname, sysinfo), resource limits, random numbers,
 * and affinity. What is shared is atomic or constant, or found under the process table lock.
 */
#include "kernel/sys/posix/misc.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/random.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/page.h"

#define GRND_NONBLOCK 1u
#define GRND_RANDOM   2u
#define GRND_INSECURE 4u

/* The C library compares the release with the oldest Linux version that it supports. */
char system_names[UTS_NAMES][UTS_LENGTH] = {
    [UTS_SYSNAME] = "Megalith", [UTS_NODENAME] = "megalith", [UTS_RELEASE] = "6.1.0-megalith",
    [UTS_VERSION] = "SMP",      [UTS_MACHINE] = "alpha",     [UTS_DOMAIN] = "(none)",
};

long sys_uname(uint64_t to)
{
    char names[UTS_NAMES][UTS_LENGTH];
    ipl_t ipl = spin_lock(&process_lock);

    memcpy(names, system_names, sizeof(names));
    spin_unlock(&process_lock, ipl);
    return copyout(to, names, sizeof(names));
}

static long get_system_name(unsigned which, vaddr_t to, uint64_t n)
{
    char name[UTS_LENGTH];
    ipl_t ipl = spin_lock(&process_lock);

    memcpy(name, system_names[which], sizeof(name));
    spin_unlock(&process_lock, ipl);
    if ((int32_t)n < 0)
        return -EINVAL;
    return copyout(to, name, MIN(n, strlen(name) + 1));
}

static long set_system_name(unsigned which, vaddr_t from, uint64_t n)
{
    char name[UTS_LENGTH] = "";
    ipl_t ipl;

    if (process_euid(process_self()) != 0)
        return -EPERM;
    if (n >= sizeof(name))
        return -EINVAL;
    if (copyin(name, from, n) != 0)
        return -EFAULT;
    ipl = spin_lock(&process_lock);
    memcpy(system_names[which], name, sizeof(name));
    spin_unlock(&process_lock, ipl);
    return 0;
}

long sys_gethostname(uint64_t to, uint64_t n) { return get_system_name(UTS_NODENAME, to, n); }
long sys_sethostname(uint64_t from, uint64_t n) { return set_system_name(UTS_NODENAME, from, n); }
long sys_getdomainname(uint64_t to, uint64_t n) { return get_system_name(UTS_DOMAIN, to, n); }
long sys_setdomainname(uint64_t from, uint64_t n) { return set_system_name(UTS_DOMAIN, from, n); }

long sys_sysinfo(uint64_t to)
{
    struct {
        int64_t uptime;
        uint64_t loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
        uint16_t procs, pad;
        uint64_t totalhigh, freehigh;
        uint32_t mem_unit;
    } info = {0};
    uint64_t slots, free;
    struct page_stats s;

    page_stats(&s);
    pagefile_totals(&slots, &free);
    info.totalswap = slots * PAGE_SIZE;
    info.freeswap = free * PAGE_SIZE;
    info.uptime = (int64_t)(clock_ns() / 1000000000);
    info.totalram = s.total * PAGE_SIZE;
    info.freeram = s.free * PAGE_SIZE;
    info.mem_unit = 1;
    return copyout(to, &info, sizeof(info));
}

/* The limits of process pid (0: the caller's), old ones to *was, new ones from *now; either may be
   NULL. Of another process only those of the same user, unless the caller is root. */
static int limits(uint64_t pid, uint64_t resource, const struct rlimit *now, struct rlimit *was)
{
    struct process *self = process_self(), *p;
    bool root = process_euid(self) == 0;
    ipl_t ipl = spin_lock(&process_lock);
    int err = 0;

    p = pid == 0 ? self : pid <= INT32_MAX ? process_find_locked((uint32_t)pid) : NULL;
    if (!p)
        err = -ESRCH;
    else if (p != self && !root &&
             (p->uid != self->uid || p->euid != self->uid || p->suid != self->uid))
        err = -EPERM;
    if (!err && was)
        err = rlimit_get(p, resource, was);
    if (!err && now)
        err = rlimit_set_locked(p, resource, now, root);
    spin_unlock(&process_lock, ipl);
    return err;
}

/* prlimit64 has a number of its own for "no limit", which is the same on all machines. */
#define RLIM64_INFINITY UINT64_MAX

static uint64_t limit_in(uint64_t n) { return n == RLIM64_INFINITY ? RLIM_INFINITY : n; }
static uint64_t limit_out(uint64_t n) { return n == RLIM_INFINITY ? RLIM64_INFINITY : n; }

long sys_prlimit64(uint64_t pid, uint64_t resource, uint64_t from, uint64_t to)
{
    struct rlimit now = {0}, was;
    int err;

    if (resource >= RLIMITS)
        return -EINVAL;
    if (from && copyin(&now, from, sizeof(now)) != 0)
        return -EFAULT;
    now = (struct rlimit){limit_in(now.soft), limit_in(now.hard)};
    err = limits(pid, resource, from ? &now : NULL, to ? &was : NULL);
    if (err || !to)
        return err;
    was = (struct rlimit){limit_out(was.soft), limit_out(was.hard)};
    return copyout(to, &was, sizeof(was));
}

long sys_getrlimit(uint64_t resource, uint64_t to)
{
    struct rlimit was;
    int err = limits(0, resource, NULL, &was);

    return err ? err : copyout(to, &was, sizeof(was));
}

long sys_setrlimit(uint64_t resource, uint64_t from)
{
    struct rlimit now;

    if (copyin(&now, from, sizeof(now)) != 0)
        return -EFAULT;
    return limits(0, resource, &now, NULL);
}

long sys_getrandom(uint64_t to, uint64_t n, uint64_t flags)
{
    int err = 0;

    if (flags & ~(uint64_t)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE) ||
        (flags & GRND_RANDOM && flags & GRND_INSECURE))
        return -EINVAL;
    if (!(flags & GRND_INSECURE))
        err = random_wait(flags & GRND_NONBLOCK);
    return err ? err : random_to_user(to, n);
}

long sys_sched_yield(void)
{
    thread_yield();
    return 0;
}

/* Call fn for the thread tid (0: the caller) under the table lock. -ESRCH, or what fn returns. */
static long with_thread(uint64_t tid, long (*fn)(struct uthread *u, cpumask_t *mask),
                        cpumask_t *mask)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct uthread *u = (uint32_t)tid ? thread_find_locked((uint32_t)tid) : uthread_self();
    long r = u ? fn(u, mask) : -ESRCH;

    spin_unlock(&process_lock, ipl);
    return r;
}

static long get_affinity(struct uthread *u, cpumask_t *mask)
{
    *mask = __atomic_load_n(&u->thread->affinity, __ATOMIC_RELAXED);
    return 0;
}

static long set_affinity(struct uthread *u, cpumask_t *mask)
{
    const struct process *self = process_self(), *p = u->process;
    uint32_t euid = process_euid(self);

    if (p != self && euid != 0 && euid != process_uid(p) && euid != process_euid(p))
        return -EPERM;
    return thread_set_affinity(u->thread, *mask);
}

long sys_sched_getaffinity(uint64_t tid, uint64_t n, uint64_t to)
{
    cpumask_t mask;
    long err;

    if (n < sizeof(mask) || n % sizeof(mask))
        return -EINVAL;
    err = with_thread(tid, get_affinity, &mask);
    if (err)
        return err;
    mask &= (UINT64_C(1) << cpu_count) - 1;
    return copyout(to, &mask, sizeof(mask)) ? -EFAULT : (long)sizeof(mask);
}

long sys_sched_setaffinity(uint64_t tid, uint64_t n, uint64_t from)
{
    cpumask_t mask = 0;

    if (copyin(&mask, from, MIN(n, sizeof(mask))) != 0)
        return -EFAULT;
    mask &= (UINT64_C(1) << cpu_count) - 1;
    if (!mask)
        return -EINVAL;
    if (!(uint32_t)tid || (uint32_t)tid == uthread_self()->tid)
        return thread_set_affinity(thread_self(), mask);
    return with_thread(tid, set_affinity, &mask);
}

long sys_getcpu(uint64_t cpu, uint64_t node)
{
    if (cpu && copyout_u32(cpu, cpu_id()) != 0)
        return -EFAULT;
    return node ? copyout_u32(node, 0) : 0;
}
