/*
 * The locking rules, broken on purpose (MEGA_INFO_TEST_BREACH): one function for each kind of
 * breach, whose name the panic has to report as the place where the rule was broken, and one
 * function that does only what is allowed. Where the conflicting lock is taken in another function,
 * the name of that function begins with hold_.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/timer.h"
#include "kernel/test/test_private.h"

#define SOON_NS 2000000u    /* deadline of a timer: two ticks */
#define LONG_NS 5000000000u /* the longest wait for another thread */

static struct spinlock low = SPINLOCK_INIT("low", RANK_SECTION, IPL_ASTDEL);
static struct spinlock low_too = SPINLOCK_INIT("low too", RANK_SECTION, IPL_ASTDEL);
static struct spinlock high = SPINLOCK_INIT("high", RANK_PFN, IPL_CLOCK);
static struct spinlock nests = {
    .rank = RANK_SECTION, .ipl = IPL_ASTDEL, .flags = SPIN_NESTS, .name = "nests"};
static struct spinlock nests_too = {
    .rank = RANK_SECTION, .ipl = IPL_ASTDEL, .flags = SPIN_NESTS, .name = "nests too"};
static struct mutex first = MUTEX_INIT("the earlier one", MUTEX_TRACE, first);
static struct mutex second = MUTEX_INIT("the later one", MUTEX_RMD, second);
static struct mutex second_too = MUTEX_INIT("another later one", MUTEX_RMD, second_too);

static uint32_t ready; /* atomic: the other thread has reached its place */

static __attribute__((noipa)) ipl_t hold_low(void) { return spin_lock(&low); }
static __attribute__((noipa)) ipl_t hold_high(void) { return spin_lock(&high); }
static __attribute__((noipa)) ipl_t hold_nests(void) { return spin_lock(&nests); }
static __attribute__((noipa)) void hold_second(void) { mutex_lock(&second); }
static __attribute__((noipa)) void hold_second_shared(void) { mutex_lock_shared(&second); }
static __attribute__((noipa)) ipl_t hold_ipl(void) { return ipl_raise(IPL_DEVICE); }

static void run_for(uint64_t ns)
{
    for (uint64_t end = clock_ns() + ns; clock_ns() < end;)
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Have another thread call fn on one of the CPUs. Returns when fn has set `ready`, or after
   LONG_NS. */
static void elsewhere(void (*fn)(void *), cpumask_t cpus)
{
    struct thread *t = thread_create("breach", fn, NULL, PRIO_NORMAL);

    if (!t || thread_set_affinity(t, cpus) != 0)
        panic("no thread for a breach");
    thread_start(t);
    for (uint64_t end = clock_ns() + LONG_NS; clock_ns() < end;)
        if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
            return;
}

/* ---- spinlocks ---- */

static void spin_rank(void)
{
    hold_high();
    spin_lock_at_ipl(&low);
}

static void spin_rank_at_same_ipl(void)
{
    static struct spinlock lower = SPINLOCK_INIT("lower", RANK_POOL, IPL_CLOCK);

    hold_high();
    spin_lock_at_ipl(&lower);
}

static void spin_same_rank(void)
{
    hold_low();
    spin_lock(&low_too);
}

static void spin_twice(void)
{
    hold_nests();
    spin_lock(&nests_too);
    spin_lock(&nests);
}

static void spin_above_its_ipl(void)
{
    hold_ipl();
    spin_lock(&low);
}

static void spin_below_its_ipl(void) { spin_lock_at_ipl(&high); }

static void spin_at_ipl_above(void)
{
    hold_ipl();
    spin_lock_at_ipl(&low);
}

static void spin_release_unheld(void) { spin_unlock(&low, IPL_NONE); }

static void hold_low_for_ever(void *arg)
{
    (void)arg;
    spin_lock(&low);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    run_for(UINT64_MAX / 2);
}

static void spin_release_foreign(void)
{
    unsigned other = cpu_id() == 0;

    thread_set_affinity(thread_self(), 1ul << !other);
    elsewhere(hold_low_for_ever, 1ul << other);
    spin_unlock(&low, IPL_NONE);
}

static void spin_release_order(void)
{
    ipl_t ipl = spin_lock(&low);

    hold_high();
    spin_unlock(&low, ipl);
}

static void ipl_lowered(void)
{
    ipl_t ipl = hold_ipl();

    hold_high();
    ipl_restore(ipl);
}

/* ---- actions that require that no lock is held ---- */

static void wait_with_spinlock(void)
{
    hold_low();
    thread_sleep_ns(1);
}

static void wait_at_ipl(void)
{
    hold_ipl();
    thread_sleep_ns(1);
}

static void hold_the_cpu(void *arg)
{
    (void)arg;
    run_for(LONG_NS);
}

static void yield_with_spinlock(void)
{
    cpumask_t here = 1ul << cpu_id();

    thread_set_affinity(thread_self(), here);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE); /* the thread does not run before the yield */
    elsewhere(hold_the_cpu, here);
    hold_low();
    thread_yield();
}

static volatile uintptr_t nowhere = 64;

static void fault_with_spinlock(void)
{
    hold_low();
    *(volatile uint64_t *)nowhere = 1;
}

static void fault_at_ipl(void)
{
    hold_ipl();
    *(volatile uint64_t *)nowhere = 1;
}

static void end_with_spinlock(void)
{
    hold_low();
    thread_exit();
}

static void end_with_mutex(void)
{
    hold_second();
    thread_exit();
}

static void hold_in_handler(struct timer *t)
{
    (void)t;
    spin_lock_at_ipl(&high);
}

static void handler_keeps_spinlock(void)
{
    static struct timer t = {.fn = hold_in_handler};

    timer_start(&t, clock_ns() + SOON_NS);
    run_for(LONG_NS);
}

static void mutex_of_handler(struct timer *t)
{
    (void)t;
    mutex_lock(&second);
}

static void handler_takes_mutex(void)
{
    static struct timer t = {.fn = mutex_of_handler};

    timer_start(&t, clock_ns() + SOON_NS);
    run_for(LONG_NS);
}

/* ---- mutexes ---- */

static void mutex_rank(void)
{
    hold_second();
    mutex_lock(&first);
}

static void mutex_rank_shared(void)
{
    hold_second_shared();
    mutex_lock_shared(&first);
}

static void mutex_same_rank(void)
{
    hold_second();
    mutex_lock(&second_too);
}

static void mutex_twice(void)
{
    hold_second();
    mutex_lock(&second);
}

static void mutex_reader_then_writer(void)
{
    hold_second_shared();
    mutex_lock(&second);
}

static void mutex_with_spinlock(void)
{
    hold_low();
    mutex_lock(&first);
}

static void mutex_try_with_spinlock(void)
{
    hold_low();
    mutex_try_lock(&first);
}

static void mutex_at_ipl(void)
{
    hold_ipl();
    mutex_lock_shared(&first);
}

static void mutex_too_many(void)
{
    static struct mutex many[MUTEXES_HELD_MAX + 1];

    for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
        mutex_init(&many[i], "one of many", MUTEX_ASPACE); /* a rank that may be nested */
        mutex_lock(&many[i]);
    }
}

static void mutex_release_unheld(void) { mutex_unlock(&first); }

static void hold_first_for_ever(void *arg)
{
    (void)arg;
    mutex_lock(&first);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    thread_sleep_ns(UINT64_MAX / 2);
}

static void mutex_release_foreign(void)
{
    elsewhere(hold_first_for_ever, ~0ul);
    mutex_unlock(&first);
}

static void mutex_release_as_reader(void)
{
    hold_second();
    mutex_unlock_shared(&second);
}

static void mutex_release_as_writer(void)
{
    hold_second_shared();
    mutex_unlock(&second);
}

/* The thread returns to its program with the mutex held, where the clock interrupts it. */
static void user_with_mutex(void) { mutex_lock(&first); }

/* ---- allowed ---- */

static void legal(void)
{
    ipl_t outer = spin_lock(&low), inner = spin_lock(&high);

    /* In another order, but the IPL stays that of the lock still held. */
    spin_unlock(&low, IPL_CLOCK);
    spin_unlock(&high, outer);
    KASSERT(inner == IPL_ASTDEL, "the outer lock had raised the IPL");
    outer = spin_lock(&nests);
    inner = spin_lock(&nests_too);
    spin_unlock(&nests_too, inner);
    spin_unlock(&nests, outer);
    mutex_lock(&first);
    mutex_lock_shared(&second);
    /* Released in another order, and tried against the order: neither can cause a deadlock. */
    mutex_unlock(&first);
    if (mutex_try_lock(&first))
        mutex_unlock(&first);
    mutex_unlock_shared(&second);
}

static const struct {
    const char *name;
    void (*commit)(void);
} breaches[] = {
    {"legal", legal},
    {"spin_rank", spin_rank},
    {"spin_rank_at_same_ipl", spin_rank_at_same_ipl},
    {"spin_same_rank", spin_same_rank},
    {"spin_twice", spin_twice},
    {"spin_above_its_ipl", spin_above_its_ipl},
    {"spin_below_its_ipl", spin_below_its_ipl},
    {"spin_at_ipl_above", spin_at_ipl_above},
    {"spin_release_unheld", spin_release_unheld},
    {"spin_release_foreign", spin_release_foreign},
    {"spin_release_order", spin_release_order},
    {"ipl_lowered", ipl_lowered},
    {"wait_with_spinlock", wait_with_spinlock},
    {"wait_at_ipl", wait_at_ipl},
    {"yield_with_spinlock", yield_with_spinlock},
    {"fault_with_spinlock", fault_with_spinlock},
    {"fault_at_ipl", fault_at_ipl},
    {"end_with_spinlock", end_with_spinlock},
    {"end_with_mutex", end_with_mutex},
    {"handler_keeps_spinlock", handler_keeps_spinlock},
    {"handler_takes_mutex", handler_takes_mutex},
    {"mutex_rank", mutex_rank},
    {"mutex_rank_shared", mutex_rank_shared},
    {"mutex_same_rank", mutex_same_rank},
    {"mutex_twice", mutex_twice},
    {"mutex_reader_then_writer", mutex_reader_then_writer},
    {"mutex_with_spinlock", mutex_with_spinlock},
    {"mutex_try_with_spinlock", mutex_try_with_spinlock},
    {"mutex_at_ipl", mutex_at_ipl},
    {"mutex_too_many", mutex_too_many},
    {"mutex_release_unheld", mutex_release_unheld},
    {"mutex_release_foreign", mutex_release_foreign},
    {"mutex_release_as_reader", mutex_release_as_reader},
    {"mutex_release_as_writer", mutex_release_as_writer},
    {"user_with_mutex", user_with_mutex},
};

cond_t test_breach(int64_t index, void *out)
{
    struct mega_breach *m = out;
    uint64_t n = (uint64_t)index & ~(uint64_t)MEGA_TEST_COMMIT;

    if (process_euid(process_self()) != 0)
        return SS$_NOPRIV;
    if (n >= ARRAY_SIZE(breaches))
        return SS$_NONEXPR;
    str_copy(m->name, breaches[n].name, sizeof(m->name));
    if (index & MEGA_TEST_COMMIT)
        breaches[n].commit();
    return SS$_NORMAL;
}
