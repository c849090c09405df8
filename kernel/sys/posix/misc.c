#include "kernel/sys/posix/misc.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/phys/page.h"

#define UNUSED4    ((void)a2, (void)a3, (void)a4, (void)a5)
#define UTS_LENGTH 65

POSIX_DEFINE(sys_uname)
{
    /* Programs of the C library compare the release with the oldest Linux that they can run on. */
    static const char names[6][UTS_LENGTH] = {"Megalith", "megalith", "6.1.0-megalith",
                                              "SMP",      "alpha",    "(none)"};

    return copyout(a0, names, sizeof(names));
}

POSIX_DEFINE(sys_sysinfo)
{
    struct {
        int64_t uptime;
        uint64_t loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
        uint16_t procs, pad;
        uint64_t totalhigh, freehigh;
        uint32_t mem_unit;
    } info = {0};
    struct page_stats s;

    page_stats(&s);
    info.uptime = (int64_t)(clock_ns() / 1000000000);
    info.totalram = s.total * PAGE_SIZE;
    info.freeram = s.free * PAGE_SIZE;
    info.mem_unit = 1;
    return copyout(a0, &info, sizeof(info));
}

/* Limits are facts of this kernel: they can be read, and set to what they are. */
struct limit {
    uint64_t now, most;
};

#define NO_LIMIT     0x7FFFFFFFFFFFFFFFul /* RLIM_INFINITY on Alpha */
#define LIMIT_STACK  3
#define LIMIT_CORE   4
#define LIMIT_NOFILE 6
#define LIMITS       16
#define STACK_LIMIT  (8ul << 20)
#define NOFILE_LIMIT 256ul

static int limit_of(uint64_t resource, struct limit *l)
{
    uint64_t v = NO_LIMIT;

    if (resource >= LIMITS)
        return -EINVAL;
    if (resource == LIMIT_STACK)
        v = STACK_LIMIT;
    else if (resource == LIMIT_CORE)
        v = 0;
    else if (resource == LIMIT_NOFILE)
        v = NOFILE_LIMIT;
    *l = (struct limit){v, v};
    return 0;
}

static long limit_set(uint64_t resource, vaddr_t from)
{
    struct limit wanted, is;
    int err = limit_of(resource, &is);

    if (err)
        return err;
    if (copyin(&wanted, from, sizeof(wanted)) != 0)
        return -EFAULT;
    if (wanted.now > wanted.most)
        return -EINVAL;
    return wanted.now == is.now && wanted.most == is.most ? 0 : -EPERM;
}

static long limit_get(uint64_t resource, vaddr_t to)
{
    struct limit is;
    int err = limit_of(resource, &is);

    return err ? err : copyout(to, &is, sizeof(is));
}

POSIX_DEFINE(sys_getrlimit) { return limit_get(a0, a1); }

POSIX_DEFINE(sys_setrlimit) { return limit_set(a0, a1); }

POSIX_DEFINE(sys_prlimit64)
{
    long err = 0;

    if (a0 != 0 && a0 != process_self()->pid)
        return -EPERM;
    if (a3)
        err = limit_get(a1, a3);
    if (!err && a2)
        err = limit_set(a1, a2);
    return err;
}

/* No source of entropy is wired up: good for hash seeds, not for keys. One step of splitmix64. */
static uint64_t random_next(void)
{
    static uint64_t state; /* atomic */
    uint64_t x = __atomic_add_fetch(&state, 0x9E3779B97F4A7C15ul, __ATOMIC_RELAXED) +
                 clock_wall_ns();

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ul;
    x = (x ^ x >> 27) * 0x94D049BB133111EBul;
    return x ^ x >> 31;
}

POSIX_DEFINE(sys_getrandom)
{
    uint64_t done = 0;

    if (a2 & ~7ul)
        return -EINVAL;
    a1 = MIN(a1, UINT64_C(33554431)); /* as Linux cuts it */
    while (done < a1) {
        uint64_t v = random_next();
        size_t part = MIN(a1 - done, sizeof(v));

        if (copyout(a0 + done, &v, part) != 0)
            return done ? (long)done : -EFAULT;
        done += part;
    }
    return (long)done;
}

POSIX_DEFINE(sys_sched_yield)
{
    thread_yield();
    return 0;
}

/* Affinity of the current thread only: 0 or its own number. */
static bool is_self(uint64_t pid) { return pid == 0 || pid == process_self()->pid; }

POSIX_DEFINE(sys_sched_getaffinity)
{
    cpumask_t mask;

    if (a1 < sizeof(mask) || a1 % sizeof(mask))
        return -EINVAL;
    if (!is_self(a0))
        return -ESRCH;
    mask = thread_self()->affinity & ((UINT64_C(1) << cpu_count) - 1);
    return copyout(a2, &mask, sizeof(mask)) ? -EFAULT : (long)sizeof(mask);
}

POSIX_DEFINE(sys_sched_setaffinity)
{
    cpumask_t mask = 0;

    if (!is_self(a0))
        return -ESRCH;
    if (copyin(&mask, a2, MIN(a1, sizeof(mask))) != 0)
        return -EFAULT;
    mask &= (UINT64_C(1) << cpu_count) - 1;
    return mask ? thread_set_affinity(thread_self(), mask) : -EINVAL;
}

POSIX_DEFINE(sys_getcpu)
{
    if (a0 && copyout_u32(a0, cpu_id()) != 0)
        return -EFAULT;
    return a1 ? copyout_u32(a1, 0) : 0;
}
