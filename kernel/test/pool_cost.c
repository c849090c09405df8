/*
 * MEGA_CTL_POOL_COST: the cost of a pool to the kernel, measured one request at a time. The blocks,
 * and the memory for the figures, are freed before the request returns.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/perturb.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/test/test_private.h"
#include "mm/pool/pool.h"

#define SIZE_MAX_MEASURED 65536u
#define COUNT_MAX         256u
#define SIZE_MAX_NONPAGED 8192u /* sizes with lookaside lists: no walk of a list at raised IPL */

/* When a call began, and how long it took. */
struct timing {
    uint64_t at, ns;
};

/* Each function times one call; nothing but the call is between the two readings of the clock. */
static void __attribute__((noinline)) time_nothing(struct timing *t)
{
    uint64_t before = clock_ns(), after = clock_ns();

    *t = (struct timing){before, after - before};
}

static void __attribute__((noinline)) time_alloc(size_t size, void **p, struct timing *t)
{
    uint64_t before = clock_ns(), after;

    *p = pgd_alloc(size);
    after = clock_ns();
    *t = (struct timing){before, after - before};
}

static void __attribute__((noinline)) time_free(void *p, size_t size, struct timing *t)
{
    uint64_t before = clock_ns(), after;

    pgd_free(p, size);
    after = clock_ns();
    *t = (struct timing){before, after - before};
}

/* Nonpaged pool at the IPL at which interrupt handlers use it. */
static void __attribute__((noinline)) time_nonpaged_alloc(size_t size, void **p, struct timing *t)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    uint64_t before = clock_ns(), after;

    *p = npp_alloc(size);
    after = clock_ns();
    ipl_restore(ipl);
    *t = (struct timing){before, after - before};
}

static void __attribute__((noinline)) time_nonpaged_free(void *p, size_t size, struct timing *t)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    uint64_t before = clock_ns(), after;

    npp_free(p, size);
    after = clock_ns();
    ipl_restore(ipl);
    *t = (struct timing){before, after - before};
}

static const struct timed {
    void (*alloc)(size_t size, void **p, struct timing *t);
    void (*free)(void *p, size_t size, struct timing *t);
    size_t size_max;
} timed[] = {{time_nonpaged_alloc, time_nonpaged_free, SIZE_MAX_NONPAGED},
             {time_alloc, time_free, SIZE_MAX_MEASURED}};

static uint32_t less(uint64_t a, uint64_t b)
{
    return (uint32_t)MIN(a > b ? a - b : 0, (uint64_t)UINT32_MAX);
}

/* What may disturb a measurement: waits of the current thread for mutexes, and alarms. */
struct meanwhile {
    uint64_t waited_ns, alarms;
};

static struct meanwhile meanwhile(void)
{
    return (struct meanwhile){thread_self()->waited_ns, perturb_points()};
}

/* Allocate all blocks, then free every third, beginning with the first, the second and the third in
   turn. False: the pool is short. */
static bool measure(const struct timed *of, struct mega_pool_cost *cost, void **block,
                    unsigned count, size_t size)
{
    uint64_t reading = UINT64_MAX;
    unsigned n = 0, freed = 0;
    struct meanwhile m;
    struct timing t;

    for (unsigned i = 0; i < 16; i++) {
        time_nothing(&t);
        reading = MIN(reading, t.ns);
    }
    for (; n < count; n++) {
        m = meanwhile();
        of->alloc(size, &block[n], &t);
        cost[n].alloc_at = t.at;
        cost[n].alloc_ns = less(t.ns, reading);
        cost[n].alloc_wait_ns = less(meanwhile().waited_ns, m.waited_ns);
        cost[n].alloc_alarms = less(meanwhile().alarms, m.alarms);
        if (!block[n])
            break;
    }
    for (unsigned first = 0; first < 3; first++)
        for (unsigned i = first; i < n; i += 3, freed++) {
            m = meanwhile();
            of->free(block[i], size, &t);
            cost[freed].free_at = t.at;
            cost[freed].free_ns = less(t.ns, reading);
            cost[freed].free_wait_ns = less(meanwhile().waited_ns, m.waited_ns);
            cost[freed].free_alarms = less(meanwhile().alarms, m.alarms);
        }
    return n == count;
}

cond_t test_pool_cost(const uint64_t a[CONTROL_ARGS])
{
    size_t size = a[0], work;
    unsigned count = (unsigned)a[1];
    struct mega_pool_cost *cost;
    cond_t status = SS$_NORMAL;

    if (a[3] >= ARRAY_SIZE(timed) || size == 0 || size > timed[a[3]].size_max || a[1] == 0 ||
        a[1] > COUNT_MAX)
        return SS$_BADPARAM;
    work = count * (sizeof(*cost) + sizeof(void *));
    cost = npp_alloc_zeroed(work);
    if (!cost)
        return SS$_INSFMEM;
    /* The first round fills the lookaside list, if there is one; the figures of the second
       count. */
    for (unsigned round = 0; round < 2 && status == SS$_NORMAL; round++)
        if (!measure(&timed[a[3]], cost, (void **)(cost + count), count, size))
            status = SS$_INSFMEM;
    if (status == SS$_NORMAL && copyout(a[2], cost, count * sizeof(*cost)) != 0)
        status = SS$_ACCVIO;
    npp_free(cost, work);
    return status;
}
