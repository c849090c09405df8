/*
 * Tests of the scheduler that need the kernel itself: threads, interrupts, several CPUs. A user
 * program requests and reports them (MEGA_INFO_SELFTEST).
 *
 * Each test creates threads, waits until all have ended, and checks the results that they left. A
 * failure is described in words. The worker threads share one struct crew, which lies on the stack
 * of the thread that runs the test and outlives them.
 */
#include "arch/alpha/hw/clock.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sched/meter.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "kernel/test/test_private.h"
#include "kernel/trace/locks.h"

#define CREW_MAX 8
#define MS       1000000ul

struct crew {
    void (*work)(struct crew *, unsigned self);
    uint32_t running; /* atomic */
    uint32_t numbers; /* atomic: gives each worker its index */
    uint32_t stop;    /* atomic */
    struct wait_queue done;
    struct wait_queue queue; /* for the test's own use */
    struct mutex mutex;
    uint64_t counter;          /* for the test's own use */
    uint64_t counts[CREW_MAX]; /* own worker; atomic */
    struct thread *threads[CREW_MAX];
    struct mega_selftest *result;
    uint32_t failed; /* atomic: the first failure is kept */
};

static void __attribute__((format(printf, 2, 3))) fail(struct crew *c, const char *fmt, ...)
{
    va_list ap;

    if (__atomic_exchange_n(&c->failed, 1, __ATOMIC_ACQ_REL))
        return;
    va_start(ap, fmt);
    vformat(c->result->failure, sizeof(c->result->failure), fmt, ap);
    va_end(ap);
}

static void worker(void *arg)
{
    struct crew *c = arg;
    unsigned self = __atomic_fetch_add(&c->numbers, 1, __ATOMIC_ACQ_REL);

    c->work(c, self);
    /* The crew may be gone once the last worker has left: access it last under the queue's lock,
     * which crew_join() takes. */
    ipl_t ipl = spin_lock(&c->done.lock);

    __atomic_fetch_sub(&c->running, 1, __ATOMIC_RELEASE);
    spin_unlock(&c->done.lock, ipl);
}

static void crew_init(struct crew *c, struct mega_selftest *result)
{
    memset(c, 0, sizeof(*c));
    c->result = result;
    wait_queue_init(&c->done, "selftest");
    wait_queue_init(&c->queue, "selftest queue");
    mutex_init(&c->mutex, "selftest", MUTEX_GSD);
}

static void crew_start(struct crew *c, unsigned n, unsigned prio, cpumask_t affinity,
                       void (*work)(struct crew *, unsigned))
{
    c->work = work;
    for (unsigned i = 0; i < n; i++) {
        c->threads[i] = thread_create("selftest", worker, c, prio);
        if (c->threads[i] == NULL) {
            fail(c, "no memory for thread %u", i);
            return;
        }
        c->threads[i]->affinity = affinity;
        __atomic_fetch_add(&c->running, 1, __ATOMIC_RELAXED);
        thread_start(c->threads[i]);
    }
}

/* Wait until all workers have ended. They wake nobody at their end, since they could not do so
 * without accessing the crew; hence the polling, each millisecond. */
static void crew_join(struct crew *c)
{
    ipl_t ipl;

    while (__atomic_load_n(&c->running, __ATOMIC_ACQUIRE) != 0)
        thread_sleep_ns(MS);
    ipl = spin_lock(&c->done.lock); /* until the last worker has released it */
    spin_unlock(&c->done.lock, ipl);
}

static unsigned online(void)
{
    return __builtin_popcountl(__atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED));
}

static void spin_for(uint64_t ns)
{
    uint64_t end = clock_ns() + ns;

    while (clock_ns() < end)
        ;
}

/* ---- the tests ---- */

#define PINGS 2000

static void ping_work(struct crew *c, unsigned self)
{
    struct waiter w;

    for (unsigned i = 0; i < PINGS; i++) {
        for (;;) {
            wait_enqueue(&c->queue, &w);
            if (__atomic_load_n(&c->counter, __ATOMIC_ACQUIRE) % 2 == self)
                break;
            wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
            wait_finish(&w);
        }
        wait_finish(&w);
        __atomic_fetch_add(&c->counter, 1, __ATOMIC_RELEASE);
        wake_one(&c->queue);
        if (i == 0)
            c->counts[self] = clock_ns();
    }
    c->counts[2 + self] = clock_ns();
}

static void test_ping(struct crew *c)
{
    crew_start(c, 2, PRIO_NORMAL, ~0ul, ping_work);
    crew_join(c);
    c->result->value = (c->counts[2] - c->counts[0]) / (2 * (PINGS - 1));
    if (c->counter != 2 * PINGS)
        fail(c, "%lu turns, not %u", c->counter, 2 * PINGS);
}

#define ADDS 3000

static void mutex_work(struct crew *c, unsigned self)
{
    for (unsigned i = 0; i < ADDS; i++) {
        if ((i + self) % 4 == 0) {
            mutex_lock_shared(&c->mutex);
            if (mutex_held(&c->mutex))
                fail(c, "a reader holds the mutex as a writer");
            mutex_unlock_shared(&c->mutex);
            continue;
        }
        mutex_lock(&c->mutex);

        uint64_t v = c->counter;

        if (i % 64 == self)
            thread_yield();
        if (i % 512 == self)
            thread_sleep_ns(MS / 10);
        c->counter = v + 1;
        mutex_unlock(&c->mutex);
        c->counts[self]++;
    }
}

/* The statistics of the locks of that name; all zero if nothing was counted. */
static struct lockstat counted(enum lockstat_kind kind, const char *name)
{
    struct lockstat s;

    for (uint64_t i = 0; lockstat_get(kind, i, &s); i++)
        if (strcmp(s.name, name) == 0)
            return s;
    return (struct lockstat){.name = name};
}

static void test_mutex(struct crew *c)
{
    struct lockstat s;
    uint64_t sum = 0;

    lockstat_start(LOCKSTAT_MUTEX);
    crew_start(c, CREW_MAX, PRIO_NORMAL, ~0ul, mutex_work);
    crew_join(c);
    lockstat_stop(LOCKSTAT_MUTEX);
    for (unsigned i = 0; i < CREW_MAX; i++)
        sum += c->counts[i];
    if (c->counter != sum)
        fail(c, "%lu of %lu additions under the mutex were kept", c->counter, sum);
    s = counted(LOCKSTAT_MUTEX, "selftest");
    if (s.acquisitions != sum || s.shared != CREW_MAX * ADDS - sum)
        fail(c, "%lu writers and %lu readers counted, not %lu and %lu", s.acquisitions, s.shared,
             sum, CREW_MAX * ADDS - sum);
    c->result->value = s.waits;
}

#define HOLDS      200u
#define SHORT_HOLD (MS / 100)
#define LONG_HOLD  MS

static struct spinlock measured_lock = SPINLOCK_INIT("selftest measured", RANK_SECTION, IPL_ASTDEL);

/* As spin_for(), by the clock that measures holds, which leaves out interrupts. IPL above 0. */
static void hold_for(uint64_t ns)
{
    uint32_t begin = meter_clock();

    while ((int32_t)(meter_clock() - begin) < (int32_t)(ns / CLOCK_CYCLE_NS))
        ;
}

static void hold_work(struct crew *c, unsigned self)
{
    (void)self;
    for (unsigned i = 0; i < HOLDS; i++) {
        ipl_t ipl = spin_lock(&measured_lock);

        /* One hold is long, and begins when the other worker is running. */
        hold_for(++c->counter == HOLDS ? LONG_HOLD : SHORT_HOLD);
        spin_unlock(&measured_lock, ipl);
    }
}

static void test_lock_statistics(struct crew *c)
{
    struct lockstat s;
    ipl_t ipl;

    lockstat_start(LOCKSTAT_SPIN);
    ipl = spin_lock(&measured_lock); /* released in the next round: not counted */
    lockstat_start(LOCKSTAT_SPIN);
    spin_unlock(&measured_lock, ipl);
    crew_start(c, 2, PRIO_NORMAL, ~0ul, hold_work);
    crew_join(c);
    ipl = spin_lock(&measured_lock);
    lockstat_stop(LOCKSTAT_SPIN);
    spin_unlock(&measured_lock, ipl);
    s = counted(LOCKSTAT_SPIN, "selftest measured");
    if (s.acquisitions != 2 * HOLDS)
        fail(c, "%lu acquisitions counted, not %u", s.acquisitions, 2 * HOLDS);
    if (s.longest_ns < LONG_HOLD || s.held_ns < s.longest_ns + (2 * HOLDS - 1) * SHORT_HOLD)
        fail(c, "longest %lu ns, all %lu ns", s.longest_ns, s.held_ns);
    if (s.rank != RANK_SECTION || s.ipl != IPL_ASTDEL || s.longest_place < (uint64_t)hold_work)
        fail(c, "rank %u, IPL %u, place %pS", s.rank, s.ipl, (void *)s.longest_place);
    if (online() == 1 && s.waits != 0)
        fail(c, "%lu spins on one CPU", s.waits);
    c->result->value = s.waits;
}

#define PLACES (2 * LOCK_CALLERS)

/* More places take a lock than a table of callers has slots: the callers that find no slot are
 * counted as dropped, if tables are loaded, and the lock's own count is complete. */
static void test_callers(struct crew *c)
{
    struct lockstat_hold h = {
        .kind = LOCKSTAT_MUTEX, .name = "selftest callers", .rank = MUTEX_GSD};
    struct lockstat s;

    lockstat_start(LOCKSTAT_MUTEX);
    for (unsigned i = 0; i < PLACES; i++) {
        h.place = (uint64_t)test_callers + 4 * i;
        lockstat_note(lockstat_round_of(LOCKSTAT_MUTEX), &h, LOCKSTAT_TAKEN);
    }
    lockstat_stop(LOCKSTAT_MUTEX);
    s = counted(LOCKSTAT_MUTEX, "selftest callers");
    if (s.acquisitions != PLACES)
        fail(c, "%lu of %u acquisitions were counted", s.acquisitions, PLACES);
    c->result->value = PLACES;
}

static void test_sleep(struct crew *c)
{
    uint64_t worst = 0;

    for (unsigned i = 1; i <= 40; i++) {
        uint64_t want = i * 137000ul, before = clock_ns(), slept;

        thread_sleep_ns(want);
        slept = clock_ns() - before;
        if (slept < want)
            fail(c, "slept %lu ns of %lu", slept, want);
        worst = slept - want > worst ? slept - want : worst;
    }
    c->result->value = worst;
}

static void spin_work(struct crew *c, unsigned self)
{
    while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED))
        __atomic_fetch_add(&c->counts[self], 1, __ATOMIC_RELAXED);
}

static uint64_t turns(const struct thread *t)
{
    return __atomic_load_n(&t->switches, __ATOMIC_RELAXED);
}

/* Two threads that never give up the CPU share it, and they do not keep this one, which sleeps and
 * wakes meanwhile, from running. Their turns are compared: how much they do in a turn also depends
 * on the host. */
static void test_preempt(struct crew *c)
{
    uint64_t a, b;

    crew_start(c, 2, PRIO_NORMAL, 1, spin_work);
    do {
        thread_sleep_ns(100 * MS);
        a = turns(c->threads[0]);
        b = turns(c->threads[1]);
    } while (a + b < 100);
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELAXED);
    crew_join(c);
    c->result->value = MIN(a, b) * 100 / (a + b);
    if (c->result->value < 35 || !c->counts[0] || !c->counts[1])
        fail(c, "turns %lu and %lu, rounds %lu and %lu", a, b, c->counts[0], c->counts[1]);
}

static void nothing_work(struct crew *c, unsigned self)
{
    (void)self;
    __atomic_fetch_add(&c->counter, 1, __ATOMIC_RELAXED);
}

static void count_thread(struct thread *t, void *arg)
{
    (void)t;
    ++*(uint64_t *)arg;
}

static void test_churn(struct crew *c)
{
    uint64_t before = 0, after = 0;

    thread_sleep_ns(20 * MS);
    thread_for_each(count_thread, &before);
    for (unsigned i = 0; i < 50; i++) {
        crew_start(c, CREW_MAX, PRIO_NORMAL, ~0ul, nothing_work);
        crew_join(c);
        c->numbers = 0;
    }
    /* The last stacks are freed by another thread, which a busy host may delay. */
    for (unsigned i = 0; i == 0 || (after > before && i < 100); i++) {
        thread_sleep_ns(20 * MS);
        after = 0;
        thread_for_each(count_thread, &after);
    }
    if (c->counter != 50 * CREW_MAX)
        fail(c, "%lu threads ran", c->counter);
    if (after > before)
        fail(c, "%lu threads before, %lu afterwards", before, after);
    c->result->value = c->counter;
}

static void move_work(struct crew *c, unsigned self)
{
    for (unsigned i = 0; i < 100; i++)
        for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++) {
            cpumask_t bit = 1ul << ((cpu + self) % MAX_CPUS);

            if (!(__atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & bit)) {
                if (thread_set_affinity(thread_self(), bit) != -EINVAL)
                    fail(c, "affinity to a CPU that is not there was accepted");
                continue;
            }
            thread_set_affinity(thread_self(), bit);
            if (1ul << cpu_id() != bit)
                fail(c, "on CPU %u, affinity %#lx", cpu_id(), bit);
            c->counts[self]++;
        }
}

static void test_affinity(struct crew *c)
{
    crew_start(c, 4, PRIO_NORMAL, ~0ul, move_work);
    crew_join(c);
    c->result->value = c->counts[0] + c->counts[1] + c->counts[2] + c->counts[3];
}

static void interrupted_work(struct crew *c, unsigned self)
{
    struct waiter w;
    int err;

    static const unsigned flags[] = {WAIT_UNINTERRUPTIBLE, WAIT_INTERRUPTIBLE, WAIT_KILLABLE,
                                     WAIT_INTERRUPTIBLE};

    if (flags[self] == WAIT_KILLABLE)
        __atomic_store_n(&c->counts[self], (uint64_t)thread_self(), __ATOMIC_RELAXED);
    wait_enqueue(&c->queue, &w);
    err = wait_block(&w, flags[self], WAIT_FOREVER);
    wait_finish(&w);
    if (err != (flags[self] == WAIT_UNINTERRUPTIBLE ? 0 : -EINTR))
        fail(c, "waiter %u ended with %d", self, err);
    thread_self()->interrupted = 0;
}

static bool left(struct crew *c, unsigned n)
{
    unsigned tries = 0;

    while (__atomic_load_n(&c->running, __ATOMIC_ACQUIRE) > n && ++tries < 1000)
        thread_sleep_ns(MS);
    return c->running == n;
}

static void test_interrupt(struct crew *c)
{
    struct thread *killable;

    crew_start(c, 4, PRIO_NORMAL, ~0ul, interrupted_work);
    thread_sleep_ns(5 * MS);
    /* Two of the waits are interruptible; it does not matter which. Their threads end, but the
     * structures remain for a while. */
    for (unsigned i = 0; i < 4; i++)
        thread_interrupt(c->threads[i]);
    if (!left(c, 2))
        fail(c, "%u waiters left after the interrupt", c->running);
    /* The killable wait is left, and ends when its thread is marked as one that is to end. */
    killable = (struct thread *)__atomic_load_n(&c->counts[2], __ATOMIC_RELAXED);
    __atomic_store_n(&killable->fatal, 1, __ATOMIC_RELAXED);
    thread_interrupt(killable);
    if (!left(c, 1))
        fail(c, "%u waiters left after the kill", c->running);
    c->result->value = wake_all(&c->queue);
    if (c->result->value != 1)
        fail(c, "%lu waiters woken", c->result->value);
    crew_join(c);
}

static void test_timeout(struct crew *c)
{
    struct waiter w;
    uint64_t before = clock_ns();
    int err;

    wait_enqueue(&c->queue, &w);
    err = wait_block(&w, WAIT_INTERRUPTIBLE, before + 3 * MS);
    wait_finish(&w);
    c->result->value = clock_ns() - before;
    if (err != -ETIMEDOUT || c->result->value < 3 * MS)
        fail(c, "result %d after %lu ns", err, c->result->value);
    if (wake_one(&c->queue) != 0)
        fail(c, "the waiter stayed on the queue");
}

static void mark_cpu(void *arg)
{
    struct crew *c = arg;

    __atomic_fetch_add(&c->counts[cpu_id()], 1, __ATOMIC_RELAXED);
}

static void call_work(struct crew *c, unsigned self)
{
    (void)self;
    for (unsigned i = 0; i < 200; i++)
        ipi_call(~0ul, mark_cpu, c);
}

static void test_calls(struct crew *c)
{
    crew_start(c, 4, PRIO_NORMAL, ~0ul, call_work);
    crew_join(c);
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        uint64_t want = (__atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) >> i) & 1 ? 800 : 0;

        if (c->counts[i] != want)
            fail(c, "CPU %u ran %lu calls, not %lu", i, c->counts[i], want);
        c->result->value += c->counts[i];
    }
}

static void spread_work(struct crew *c, unsigned self)
{
    for (unsigned i = 0; i < 300; i++) {
        spin_for(MS / 2);
        __atomic_fetch_or(&c->counts[self], 1ul << thread_self()->hw.cpu->id, __ATOMIC_RELAXED);
        __atomic_fetch_or(&c->counter, 1ul << thread_self()->hw.cpu->id, __ATOMIC_RELAXED);
    }
}

/* All threads start on CPU 0 and may then run anywhere: they must spread to the other CPUs. */
static void test_balance(struct crew *c)
{
    crew_start(c, online(), PRIO_NORMAL, 1, spread_work);
    for (unsigned i = 0; i < online(); i++)
        thread_set_affinity(c->threads[i], ~0ul);
    crew_join(c);
    c->result->value = c->counter;
    if (c->counter != (__atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED)))
        fail(c, "spinners ran on CPUs %#lx only", c->counter);
}

static void prio_work(struct crew *c, unsigned self)
{
    c->counts[self] = __atomic_add_fetch(&c->counter, 1, __ATOMIC_RELAXED);
}

static void high_work(struct crew *c, unsigned self)
{
    if (self == 0)
        spin_work(c, self);
    else
        prio_work(c, self);
}

/* A thread of higher priority gets the CPU at once, although another one is spinning on it. */
static void test_priority(struct crew *c)
{
    uint64_t before;

    crew_start(c, 1, PRIO_LOW, 1, high_work);
    while (__atomic_load_n(&c->counts[0], __ATOMIC_RELAXED) == 0)
        thread_sleep_ns(MS); /* else the other one could be the first, and spin */
    before = clock_ns();
    crew_start(c, 1, PRIO_HIGH, 1, high_work);
    while (__atomic_load_n(&c->counter, __ATOMIC_RELAXED) == 0 && clock_ns() - before < 1000 * MS)
        thread_yield();
    c->result->value = clock_ns() - before;
    if (c->counter != 1)
        fail(c, "it did not run within a second");
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELAXED);
    crew_join(c);
}

#define LONG_HOLD_TICKS 40u
#define SPINNERS        (CREW_MAX - 1)

static uint64_t ticks_of_others(const struct crew *c)
{
    uint64_t ns = 0;

    for (unsigned i = 1; i <= SPINNERS; i++)
        ns += thread_cpu_ns(c->threads[i]);
    return ns / CLOCK_TICK_NS;
}

/* Worker 0 holds the mutex for so many ticks of its own CPU time, and notes what the others have
 * had meanwhile. */
static void long_hold_work(struct crew *c, unsigned self)
{
    uint64_t begin;

    if (self != 0) {
        spin_work(c, self);
        return;
    }
    for (unsigned i = 1; i <= SPINNERS; i++)
        while (!__atomic_load_n(&c->counts[i], __ATOMIC_RELAXED))
            thread_yield();
    mutex_lock(&c->mutex);
    c->counter = 0 - ticks_of_others(c);
    begin = thread_cpu_ns(thread_self());
    while (thread_cpu_ns(thread_self()) - begin < LONG_HOLD_TICKS * CLOCK_TICK_NS)
        ;
    c->counter += ticks_of_others(c);
    mutex_unlock(&c->mutex);
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELEASE);
}

/* Who holds a mutex, however long, does not wait for all others of its user at every turn: beside
 * seven that compute it has most of the CPU. */
static void test_long_hold(struct crew *c)
{
    crew_start(c, 1 + SPINNERS, PRIO_NORMAL, 1, long_hold_work);
    crew_join(c);
    c->result->value = c->counter;
    if (c->result->value > 2 * LONG_HOLD_TICKS)
        fail(c, "the others had %lu ticks during a hold of %u", c->result->value, LONG_HOLD_TICKS);
}

#define OTHER_USER (CREW_MAX - 1) /* the worker that is of another user than the others */

/* Worker 0 holds the mutex until all others wait, one after the other. Each notes how many had it
 * before. Accounts say only whose turns these are. */
static void turn_work(struct crew *c, unsigned self)
{
    struct thread *t = thread_self();
    struct account *own = t->account;

    while (__atomic_load_n(&c->counter, __ATOMIC_ACQUIRE) != self)
        thread_sleep_ns(MS);
    thread_sleep_ns(2 * MS); /* the one before waits now */
    if (self != 0) {
        t->account = &accounts[self == OTHER_USER ? 2 : 1];
        __atomic_store_n(&c->counter, self + 1, __ATOMIC_RELEASE);
    }
    mutex_lock(&c->mutex);
    t->account = own;
    if (self == 0) {
        __atomic_store_n(&c->counter, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&c->counter, __ATOMIC_ACQUIRE) != CREW_MAX)
            thread_sleep_ns(MS);
        thread_sleep_ns(4 * MS);
    }
    c->counts[self] = c->stop++;
    mutex_unlock(&c->mutex);
}

/* Who is alone of its user waits for one of a crowd that was there before, and not for all. */
static void test_turns(struct crew *c)
{
    crew_start(c, CREW_MAX, PRIO_NORMAL, ~0ul, turn_work);
    crew_join(c);
    c->result->value = c->counts[OTHER_USER] - 1;
    if (c->result->value > 1)
        fail(c, "%lu of another user had the mutex before", c->result->value);
}

static struct spinlock handed_lock = SPINLOCK_INIT("selftest handed", RANK_SECTION, IPL_CLOCK);

/* The second waits for a lock that the first holds for many ticks, which both block. */
static void hand_over_work(struct crew *c, unsigned self)
{
    ipl_t ipl;

    thread_set_affinity(thread_self(), 1ul << (online() - 1 - self));
    while (self == 1 && __atomic_load_n(&c->counter, __ATOMIC_ACQUIRE) == 0)
        ;
    ipl = spin_lock(&handed_lock);
    if (__atomic_fetch_add(&c->counter, 1, __ATOMIC_RELEASE) == 0)
        spin_for(20 * MS);
    spin_unlock(&handed_lock, ipl);
}

static void test_hand_over(struct crew *c)
{
    if (online() == 1)
        return;
    crew_start(c, 2, PRIO_NORMAL, ~0ul, hand_over_work);
    crew_join(c);
    c->result->value = c->counter;
}

static const struct {
    const char *name;
    void (*fn)(struct crew *);
} tests[] = {
    {"two threads wake each other in turns (ns a turn)", test_ping},
    {"writers and readers of a mutex (waits)", test_mutex},
    {"every hold of a spinlock is counted and timed (spins)", test_lock_statistics},
    {"no sleep ends early (worst lateness in ns)", test_sleep},
    {"two spinners share a CPU (percent of the lesser)", test_preempt},
    {"threads come and go and leave nothing (threads)", test_churn},
    {"a thread is where its affinity says (moves)", test_affinity},
    {"a signal ends an interruptible wait only (others)", test_interrupt},
    {"a wait with a deadline ends (ns of 3000000)", test_timeout},
    {"calls of all CPUs by all at once (calls)", test_calls},
    {"ready threads spread over the CPUs (mask)", test_balance},
    {"a higher priority preempts (ns)", test_priority},
    {"more callers of a lock than there is room for (callers)", test_callers},
    {"a long hold of a mutex beside others (their ticks)", test_long_hold},
    {"a turn at a mutex behind others of one user (how many go first)", test_turns},
    {"a CPU that waits for a spinlock lets its holder go on (holders)", test_hand_over},
};

cond_t test_selftest(int64_t index, void *out)
{
    struct mega_selftest *result = out;
    struct crew c;

    if (process_euid(process_self()) != 0)
        return SS$_NOPRIV;
    if (index < 0 || (uint64_t)index >= ARRAY_SIZE(tests))
        return SS$_NONEXPR;
    memset(result, 0, sizeof(*result));
    str_copy(result->name, tests[index].name, sizeof(result->name));
    crew_init(&c, result);
    tests[index].fn(&c);
    return SS$_NORMAL;
}
