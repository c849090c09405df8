/*
 * The freezer.
 *
 * 1. Every thread of a process gets EXIT_FREEZE in its hw.syscall_exit, which is tested on the way
 *    out to user mode anyway: the thread parks there, at a clock tick at the latest, or in a long
 *    loop that asks (sched_loop_point). Threads that wait for an event stay where they are, and
 *    park when they are woken and return. So no fast path has an additional check.
 * 2. When all threads seem to have stopped, each other CPU gets a stopper, a thread of the highest
 *    priority that occupies the CPU (in WTINT, so that the host's core is free), and the freezing
 *    thread takes the same priority: from now on interrupts may make threads ready, but those do
 *    not run.
 * 3. Now the states of the threads cannot change, and checking them is final. If a thread has not
 *    stopped, the stoppers release the CPUs for a millisecond and the procedure starts over, until
 *    the time limit.
 *
 * Why a check before step 2 is not enough: after one thread has been checked, and before the next
 * one is, the first may be woken and be in the middle of an allocation. All CPUs must be occupied
 * for the same reason: otherwise this could happen between the check and the use of its result.
 *
 * No deadlock: a thread that is parked or waits for an event holds no mutex, so every other thread
 * reaches the way out to user mode or a wait. A thread that waits for an event while it holds a
 * mutex would prevent the freeze, and is named when the time is up. If two threads freeze at once,
 * the second waits for an event (the end of the first freeze), which is a safe point.
 *
 * Fairness: after a freeze everything runs for as long as it was stopped, at least for a tick,
 * before the next freeze begins. Otherwise a thread that freezes in a loop could stop the parked
 * threads again each time before they have got a CPU.
 *
 * A thread that is created meanwhile is ready, so the check finds it, and it is marked in the next
 * round. A thread that is DEAD owns nothing any more, and its stack is freed by another thread.
 *
 * Locks: thread table, then run queue. Only the creation of the stoppers can fail for lack of
 * memory.
 */
#include "kernel/sched/freeze.h"

#include "arch/alpha/hw/pal.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/sched_private.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

#define ROUND_NS 1000000u /* between two checks: a clock tick */

static struct wait_queue turns = WAIT_QUEUE_INIT("freeze turns", turns);
static struct wait_queue parking = WAIT_QUEUE_INIT("frozen", parking);
static struct wait_queue stopping = WAIT_QUEUE_INIT("stoppers", stopping);
static uint32_t taken;                    /* atomic: a thread is freezing the others */
static uint32_t freezing;                 /* atomic: threads are to park */
static cpumask_t stop;                    /* atomic: CPUs to be occupied by their stoppers */
static uint32_t stopped;                  /* atomic: number of CPUs that are occupied */
static struct thread *stoppers[MAX_CPUS]; /* written by the freezing thread */
static cpumask_t own_affinity;            /* of the freezing thread, to be restored; own thread */
static unsigned own_prio;                 /* likewise */
static uint64_t began_ns, next_ns;        /* when all had stopped; when they may be stopped again */

void sched_freeze_park(void)
{
    struct thread *t = thread_self();
    struct waiter w;

    __atomic_fetch_and(&t->hw.syscall_exit, ~EXIT_FREEZE, __ATOMIC_SEQ_CST);
    for (;;) {
        wait_enqueue(&parking, &w);
        if (!__atomic_load_n(&freezing, __ATOMIC_SEQ_CST))
            break;
        wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        wait_finish(&w);
    }
    wait_finish(&w);
}

bool sched_loop_point(void)
{
    struct thread *t = thread_self();

    if (likely(__atomic_load_n(&t->hw.syscall_exit, __ATOMIC_RELAXED) == 0))
        return false;
    if ((__atomic_load_n(&t->hw.syscall_exit, __ATOMIC_RELAXED) & EXIT_FREEZE) && !t->held_mutexes)
        sched_freeze_park();
    return thread_killed();
}

static bool to_be_held(unsigned cpu)
{
    return (__atomic_load_n(&stop, __ATOMIC_ACQUIRE) >> cpu) & 1;
}

static void stopper(void *arg)
{
    unsigned self = (unsigned)(uint64_t)arg;
    struct waiter w;

    for (;;) {
        wait_enqueue(&stopping, &w);
        if (!to_be_held(self))
            wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        wait_finish(&w);
        if (!to_be_held(self))
            continue;
        __atomic_fetch_add(&stopped, 1, __ATOMIC_ACQ_REL);
        /* If `stop` is cleared between the test and WTINT, the next clock tick notices. */
        while (to_be_held(self))
            pal_wtint(0);
        __atomic_fetch_sub(&stopped, 1, __ATOMIC_ACQ_REL);
    }
}

/* Create a stopper for each online CPU at the first freeze. -ENOMEM. */
static int stoppers_make(void)
{
    cpumask_t online = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED);

    if (bit_count(online) == 1)
        return 0;
    for (; online; online &= online - 1) {
        unsigned i = bit_lowest(online);

        if (stoppers[i])
            continue;
        stoppers[i] = thread_create_on("stopper", stopper, (void *)(uint64_t)i, PRIO_HIGH,
                                       1ul << i);
        if (!stoppers[i])
            return -ENOMEM;
        thread_start(stoppers[i]);
    }
    return 0;
}

/* ---- the check ---- */

struct look {
    struct freeze_blocker *who;
    bool mark; /* tell threads of processes to park */
    bool all;  /* all have stopped */
};

bool sched_is_stopper(const struct thread *t)
{
    for (unsigned i = 0; i < MAX_CPUS; i++)
        if (stoppers[i] == t)
            return true;
    return false;
}

static const struct mutex *mutex_of(const struct thread *t, const char **verb)
{
    const struct mutex *wants = __atomic_load_n(&t->wants, __ATOMIC_RELAXED);
    uint64_t n = t->held_mutexes;

    *verb = wants ? "waits for" : "waits and holds";
    return wants ? wants : n ? t->held[n - 1] : NULL;
}

/* Has t not stopped at a safe point? If so, why receives the reason. t's run queue is locked: if t
 * is waiting it stays so, and the mutex that it holds or waits for is not freed. */
static bool under_way_locked(const struct thread *t, char *why, size_t size)
{
    static const char *const names[] = {"is new", "is ready to run", "runs"};
    const struct mutex *m;
    const char *verb;

    if (t->state == THREAD_DEAD || t->prio == PRIO_IDLE)
        return false;
    if (t->state < THREAD_WAITING) {
        str_copy(why, names[t->state], size);
        return true;
    }
    m = mutex_of(t, &verb);
    if (m)
        format(why, size, "%s mutex %s", verb, m->name);
    return m != NULL;
}

static bool under_way(struct thread *t, char *why, size_t size)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);
    bool is = under_way_locked(t, why, size);

    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
    return is;
}

static void look_at(struct thread *t, void *arg)
{
    struct look *l = arg;

    if (t == thread_self() || sched_is_stopper(t))
        return;
    if (l->mark && t->process)
        __atomic_fetch_or(&t->hw.syscall_exit, EXIT_FREEZE, __ATOMIC_SEQ_CST);
    if (!under_way(t, l->who->why, sizeof(l->who->why)))
        return;
    l->all = false;
    l->who->tid = t->tid;
    str_copy(l->who->name, t->name, sizeof(l->who->name));
}

static bool all_stand(struct freeze_blocker *who, bool mark)
{
    struct look l = {.who = who, .mark = mark, .all = true};

    thread_for_each(look_at, &l);
    return l.all;
}

/* ---- freeze and thaw ---- */

static void let_go(void)
{
    __atomic_store_n(&stop, 0, __ATOMIC_RELEASE);
    sched_own_priority(own_prio);
    thread_set_affinity(thread_self(), own_affinity);
}

/* Occupy all other CPUs and check again. False: a thread has not stopped; the CPUs are released. */
static bool hold_all(struct freeze_blocker *who, uint64_t deadline)
{
    struct thread *t = thread_self();
    cpumask_t others;

    own_affinity = t->affinity;
    own_prio = t->prio;
    thread_set_affinity(t, 1ul << cpu_id());
    sched_own_priority(PRIO_HIGH);
    others = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << cpu_id());
    __atomic_store_n(&stop, others, __ATOMIC_RELEASE);
    if (others)
        wake_all(&stopping);
    while (__atomic_load_n(&stopped, __ATOMIC_ACQUIRE) < bit_count(others)) {
        if (clock_ns() < deadline)
            continue;
        *who = (struct freeze_blocker){.name = "stopper", .why = "does not get its CPU"};
        let_go();
        return false;
    }
    if (all_stand(who, false))
        return true;
    let_go();
    return false;
}

static int take_turn(uint64_t deadline)
{
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&turns, &w);
        if (!__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
            break;
        err = wait_block(&w, WAIT_UNINTERRUPTIBLE, deadline);
        wait_finish(&w);
        if (err)
            return err;
    }
    wait_finish(&w);
    return 0;
}

static void end(void)
{
    __atomic_store_n(&freezing, 0, __ATOMIC_SEQ_CST);
    wake_all(&parking);
    __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
    wake_all(&turns);
}

int sched_freeze(uint64_t limit_ns, struct freeze_blocker *who)
{
    uint64_t deadline = clock_ns() + limit_ns;
    int err;

    *who = (struct freeze_blocker){.why = "another freeze is under way"};
    err = take_turn(deadline);
    if (err)
        return err;
    err = stoppers_make();
    if (!err)
        thread_sleep_until(MIN(next_ns, deadline), WAIT_UNINTERRUPTIBLE);
    __atomic_store_n(&freezing, 1, __ATOMIC_SEQ_CST);
    while (!err) {
        if (all_stand(who, true) && hold_all(who, deadline)) {
            began_ns = clock_ns();
            return 0;
        }
        if (clock_ns() >= deadline)
            err = -ETIMEDOUT;
        else
            thread_sleep_ns(ROUND_NS);
    }
    end();
    return err;
}

void sched_thaw(void)
{
    uint64_t now = clock_ns();

    next_ns = now + MAX(now - began_ns, ROUND_NS);
    let_go();
    end();
}
