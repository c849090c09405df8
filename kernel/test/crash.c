/*
 * Ends of the system caused on purpose (MEGA_INFO_TEST_CRASH), so that tests see what a user would
 * see.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/panic.h"
#include "kernel/proc/process.h"
#include "kernel/sched/patience.h"
#include "kernel/sched/spinlock.h"
#include "kernel/test/test_private.h"

/* Run the kernel stack into its soft limit, a frame for each call. The frame is used after the call
 * so that the recursion is not turned into a loop. */
static unsigned long deeper(unsigned long n)
{
    volatile unsigned long frame[32];

    frame[n % ARRAY_SIZE(frame)] = n;
    return n == 0 ? 0 : deeper(n + 1) + frame[n % ARRAY_SIZE(frame)];
}

static void overflow_stack(void) { panic("the kernel stack has no end: %lu", deeper(1)); }

/* Divide the watchdog's limits by ten. */
static void hurry(void)
{
    patience_limits.ns /= 10;
    patience_limits.silent_ns /= 10;
}

/* A lock that is never released: its holder waits for it again, having lost the record of holding
   it. */
static void spin_too_long(void)
{
    static struct spinlock lost = SPINLOCK_INIT("deliberately lost", RANK_SECTION, IPL_ASTDEL);

    hurry();
    patience_limits.reads /= 10;
    spin_lock(&lost);
    thread_self()->spin_top = NULL;
    spin_lock(&lost);
}

static void hang_at(ipl_t ipl)
{
    hurry();
    patience_limits.silent_ns = 3 * patience_limits.ns;
    ipl_set(ipl);
    for (;;)
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void hang_with_interrupts_off(void) { hang_at(IPL_HIGH); }
static void hang_without_clock(void) { hang_at(IPL_CLOCK); }

static uint64_t words[2];
static volatile uintptr_t odd = 1;

static void unaligned_access(void) { *(volatile uint64_t *)((uintptr_t)words + odd) = 1; }

static void null_reference(void) { *(volatile uint64_t *)(odd - 1) = 1; }

/* An undefined operation that only a kernel built with UBSan's traps notices; others continue. */
static void shift_too_far(void)
{
    volatile unsigned width = 64;

    odd <<= width;
    odd = 1;
}

cond_t test_crash(int64_t index, void *out)
{
    static void (*const ways[])(void) = {
        overflow_stack, spin_too_long, hang_with_interrupts_off, unaligned_access,
        null_reference, shift_too_far, hang_without_clock,       hurry,
    };

    (void)out;
    if (process_euid(process_self()) != 0)
        return SS$_NOPRIV;
    if (index < 0 || (uint64_t)index >= ARRAY_SIZE(ways))
        return SS$_NONEXPR;
    ways[index]();
    return SS$_ABORT; /* only hurry returns, or a shift that nothing notices */
}
