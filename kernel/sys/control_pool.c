/* MEGA_CTL_POOL_COST: what a pool costs the kernel, one request at a time. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/control.h"
#include "mm/pool.h"

#define SIZE_MAX_MEASURED 65536u
#define COUNT_MAX         256u
#define SIZE_MAX_NONPAGED 8192u /* what lists have: no walk at raised IPL */

/* Each times one call, the call included; nothing else is between the two readings. */
static uint64_t __attribute__((noinline)) time_nothing(void)
{
    uint64_t before = clock_ns();

    return clock_ns() - before;
}

static uint64_t __attribute__((noinline)) time_alloc(size_t size, void **p)
{
    uint64_t before = clock_ns();

    *p = pgd_alloc(size);
    return clock_ns() - before;
}

static uint64_t __attribute__((noinline)) time_free(void *p, size_t size)
{
    uint64_t before = clock_ns();

    pgd_free(p, size);
    return clock_ns() - before;
}

/* Nonpaged pool as interrupt handlers use it. */
static uint64_t __attribute__((noinline)) time_nonpaged_alloc(size_t size, void **p)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    uint64_t before = clock_ns(), lasted;

    *p = npp_alloc(size);
    lasted = clock_ns() - before;
    ipl_restore(ipl);
    return lasted;
}

static uint64_t __attribute__((noinline)) time_nonpaged_free(void *p, size_t size)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    uint64_t before = clock_ns(), lasted;

    npp_free(p, size);
    lasted = clock_ns() - before;
    ipl_restore(ipl);
    return lasted;
}

static const struct timed {
    uint64_t (*alloc)(size_t size, void **p);
    uint64_t (*free)(void *p, size_t size);
    size_t size_max;
} timed[] = {{time_nonpaged_alloc, time_nonpaged_free, SIZE_MAX_NONPAGED},
             {time_alloc, time_free, SIZE_MAX_MEASURED}};

static uint32_t less(uint64_t d, uint64_t reading)
{
    return (uint32_t)MIN(d > reading ? d - reading : 0, (uint64_t)UINT32_MAX);
}

/* All blocks allocated, then freed beginning with every third. False: the pool is short. */
static bool measure(const struct timed *of, struct mega_pool_cost *cost, void **block,
                    unsigned count, size_t size)
{
    uint64_t reading = time_nothing();
    unsigned n = 0, freed = 0;

    for (unsigned i = 0; i < 16; i++)
        reading = MIN(reading, time_nothing());
    for (; n < count; n++) {
        cost[n].alloc_ns = less(of->alloc(size, &block[n]), reading);
        if (!block[n])
            break;
    }
    for (unsigned first = 0; first < 3; first++)
        for (unsigned i = first; i < n; i += 3)
            cost[freed++].free_ns = less(of->free(block[i], size), reading);
    return n == count;
}

int control_pool_cost(const uint64_t a[CONTROL_ARGS])
{
    size_t size = a[0], work;
    unsigned count = (unsigned)a[1];
    struct mega_pool_cost *cost;
    int status = SS$_NORMAL;

    if (a[3] >= ARRAY_SIZE(timed) || size == 0 || size > timed[a[3]].size_max || a[1] == 0 ||
        a[1] > COUNT_MAX)
        return SS$_BADPARAM;
    work = count * (sizeof(*cost) + sizeof(void *));
    cost = npp_alloc_zeroed(work);
    if (!cost)
        return SS$_INSFMEM;
    /* The first time fills the list, if there is one; the second time counts. */
    for (unsigned round = 0; round < 2 && status == SS$_NORMAL; round++)
        if (!measure(&timed[a[3]], cost, (void **)(cost + count), count, size))
            status = SS$_INSFMEM;
    if (status == SS$_NORMAL && copyout(a[2], cost, count * sizeof(*cost)) != 0)
        status = SS$_ACCVIO;
    npp_free(cost, work);
    return status;
}
