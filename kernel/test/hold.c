/*
 * MEGA_CTL_HOLD: a spinlock held, or the IPL kept raised, for as long as the caller asks: what the
 * meter (kernel/sched/meter.h) must find. With nested locks and levels the time is the same whether
 * they are measured or not, if the meter leaves out its own work as it should.
 */
#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/sched/spinlock.h"
#include "kernel/test/test_private.h"

static struct spinlock planted = SPINLOCK_INIT("planted", RANK_PROC, IPL_ASTDEL);
static struct spinlock inner = SPINLOCK_INIT("planted inner", RANK_WAIT, IPL_CLOCK);

static void __attribute__((noipa)) steps(uint64_t n)
{
    while (n--)
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* keep the loop */
}

/* The cycle counter counts four instructions as one. The steps between the nested ones make all
   remainders equally frequent, so that they cancel out. */
static void __attribute__((noipa)) nested_locks(uint64_t n)
{
    for (; n; n--) {
        spin_unlock(&inner, spin_lock(&inner));
        steps(n % 4);
    }
}

static void __attribute__((noipa)) nested_levels(uint64_t n)
{
    for (; n; n--) {
        ipl_restore(ipl_raise(IPL_CLOCK));
        steps(n % 4);
    }
}

static uint32_t __attribute__((noipa)) hold_spinlock(void (*work)(uint64_t), uint64_t n)
{
    ipl_t ipl = spin_lock(&planted);
    uint32_t start = clock_cycles(), took;

    work(n);
    took = clock_cycles() - start;
    spin_unlock(&planted, ipl);
    return took;
}

static uint32_t __attribute__((noipa)) hold_ipl(void (*work)(uint64_t), uint64_t n)
{
    ipl_t ipl = ipl_raise(IPL_DEVICE);
    uint32_t start = clock_cycles(), took;

    work(n);
    took = clock_cycles() - start;
    ipl_restore(ipl);
    return took;
}

cond_t test_hold(const uint64_t a[CONTROL_ARGS])
{
    static const struct {
        uint32_t (*hold)(void (*work)(uint64_t), uint64_t n);
        void (*work)(uint64_t n);
    } kinds[MEGA_HOLDS] = {
        [MEGA_HOLD_SPIN] = {hold_spinlock, steps},
        [MEGA_HOLD_IPL] = {hold_ipl, steps},
        [MEGA_HOLD_SPIN_NESTED] = {hold_spinlock, nested_locks},
        [MEGA_HOLD_IPL_NESTED] = {hold_ipl, nested_levels},
    };
    uint64_t ns;

    if (a[0] >= MEGA_HOLDS || a[1] > MEGA_HOLD_MAX)
        return SS$_BADPARAM;
    ns = (uint64_t)kinds[a[0]].hold(kinds[a[0]].work, a[1]) * CLOCK_CYCLE_NS;
    return copyout(a[2], &ns, sizeof(ns)) ? SS$_ACCVIO : SS$_NORMAL;
}
