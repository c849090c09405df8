/*
 * The idle loop, and the distribution of ready threads over the CPUs.
 *
 * A woken or new thread goes to the CPU on which it is likely to run soonest (sched_choose_cpu in
 * place.c). What can become uneven is the number of ready threads that queue behind a long-running
 * one. An idle CPU takes a thread from the longest queue before it sleeps and at each tick that
 * wakes it; a busy one looks every BALANCE_TICKS, and takes threads if that makes the loads more
 * equal. All users weigh the same, and each of a user's threads a part of that: so the only thread
 * of one user is as heavy as the thousands of another, which go to the other CPUs. To take a
 * thread is to remove it from the victim's queue under its lock and then to add it to the own queue
 * under that one's lock; the two are never held together.
 */
#include "kernel/sched/ipi.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sched/meter.h"
#include "kernel/sched/perturb.h"
#include "kernel/sched/sched_private.h"

static bool may_run_on(const struct list *l, uint64_t cpu)
{
    return (thread_of_link(l)->affinity >> cpu) & 1;
}

/* How many ready threads one look of another CPU examines. Those that may not move there come last
   afterwards, so that the next look examines others. */
#define EXAMINED_MAX 8
/* How many threads a busy CPU takes at most when it looks. */
#define TAKEN_MAX 4
#define ANY_GAP   UINT32_MAX /* an idle CPU takes whatever it may run */

/* Is t, whose run queue is locked, light enough to be moved to a CPU whose load is less by gap? */
static bool is_light(const struct thread *t, uint32_t gap)
{
    return gap == ANY_GAP || fair_moves(gap, t->fair.weight, sched_active(t->group->top));
}

/* A fair ready thread of rq, locked, that may run on CPU cpu, whose load is `gap` below that of
   rq's, and not so heavy that it should stay; NULL: none was found. Of those examined the heaviest,
   so that not many light ones are moved where one would do; of equals the newest: it has waited
   least, and its data is least likely to be in the cache of its CPU. */
static struct thread *find_fair(struct runq *rq, unsigned cpu, uint32_t gap)
{
    struct thread *best = NULL;
    struct list *l;

    for (unsigned i = 0; i < EXAMINED_MAX && (l = list_last(&rq->movable)); i++) {
        struct thread *t = thread_of_link(l);

        if (t == best)
            break; /* all have been examined */
        if (may_run_on(l, cpu) && (!best || t->fair.weight > best->fair.weight) && is_light(t, gap))
            best = t;
        list_remove(l);
        list_add_head(&rq->movable, l);
    }
    return best;
}

/* As find_fair(); for an idle CPU, also a thread that is not fair. */
static struct thread *find_movable(struct runq *rq, unsigned cpu, uint32_t gap)
{
    struct thread *t = find_fair(rq, cpu, gap);
    struct list *l = !t && gap == ANY_GAP ? prioq_find(&rq->ready, may_run_on, cpu) : NULL;

    return l ? thread_of_link(l) : t;
}

static void add_load(struct runq *rq, int64_t sum)
{
    __atomic_fetch_add(&rq->load, sum, __ATOMIC_RELAXED);
    __atomic_fetch_add(&rq->seen, sum, __ATOMIC_RELAXED);
}

/* t is to be moved: correct the loads by what it adds to one, and return that. Clock ticks would
   find it out later. */
static uint32_t move_load(const struct thread *t, struct runq *from, struct runq *to)
{
    uint32_t part = fair_part(t->fair.weight, sched_active(t->group->top));

    add_load(from, -(int64_t)part * LOAD_TICKS);
    add_load(to, (int64_t)part * LOAD_TICKS);
    return part;
}

/* Move one ready thread of another CPU, whose load is *gap above that of this one, to this one, and
   make *gap less by what that changes. False: there was no thread to move. IPL_CLOCK, no lock. */
static bool steal_from(unsigned victim, unsigned self, uint32_t *gap)
{
    struct runq *rq = &runqs[victim];
    struct thread *t;

    spin_lock_at_ipl(&rq->lock);
    t = find_movable(rq, self, *gap);
    if (t) {
        if (*gap != ANY_GAP)
            *gap -= MIN(2 * move_load(t, rq, &runqs[self]), *gap);
        runq_take(rq, t);
        thread_leave_locked(t, self);
    }
    spin_unlock_at_ipl(&rq->lock);
    if (t)
        runq_deliver(t);
    return t != NULL;
}

/* The load of another CPU, and the own one: at the last look or now, whichever makes the gap
   between them less. A thread that runs for some ticks makes a gap for one look, not for two. */
static uint32_t load_of(unsigned i)
{
    int64_t load = __atomic_load_n(&runqs[i].load, __ATOMIC_RELAXED);
    int64_t seen = __atomic_load_n(&runqs[i].seen, __ATOMIC_RELAXED);

    return (uint32_t)(MAX(MIN(load, seen), 0) / LOAD_TICKS);
}

static uint32_t look_at_own(struct runq *rq)
{
    int64_t load = __atomic_load_n(&rq->load, __ATOMIC_RELAXED);
    int64_t seen = __atomic_exchange_n(&rq->seen, load, __ATOMIC_RELAXED);

    return (uint32_t)(MAX(MAX(load, seen), 0) / LOAD_TICKS);
}

/* The CPU of `others` with the highest load of those with a ready thread, and that load; MAX_CPUS
 * when there is none above *load. */
static unsigned busiest(cpumask_t others, uint32_t *load)
{
    unsigned best = MAX_CPUS;

    for (cpumask_t m = others; m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint32_t its = runq_has(&runqs[i], 0) ? load_of(i) : 0;

        if (its > *load) {
            best = i;
            *load = its;
        }
    }
    return best;
}

static cpumask_t other_cpus(unsigned self)
{
    return __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << self);
}

/* Take some threads as long as each makes the loads more equal, so that none is taken back at the
 * next look; from the CPU with the highest load that has any which are light enough. */
void sched_balance(unsigned self)
{
    uint32_t own = look_at_own(&runqs[self]), load, gap;
    cpumask_t others = other_cpus(self);
    unsigned victim, taken = 0;

    while (!taken && (load = own, victim = busiest(others, &load)) != MAX_CPUS) {
        others &= ~(1ul << victim);
        for (gap = load - own; taken < TAKEN_MAX && steal_from(victim, self, &gap); taken++)
            count_up(&runqs[self].balanced);
    }
}

/* The online CPU other than self on which most threads are ready or run; MAX_CPUS: on none is one
 * ready that could run here. */
static unsigned longest(unsigned self)
{
    unsigned best = MAX_CPUS;
    uint32_t most = 1;

    for (cpumask_t m = other_cpus(self); m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint32_t n = runq_ready(&runqs[i]) + !cpu_is_idle(i);

        if (n > most && runq_has(&runqs[i], 0)) {
            best = i;
            most = n;
        }
    }
    return best;
}

static bool idle_steal(unsigned self)
{
    unsigned victim = longest(self);
    uint32_t gap = ANY_GAP;

    if (victim == MAX_CPUS || !steal_from(victim, self, &gap))
        return false;
    count_up(&runqs[self].steals);
    return true;
}

bool (*sched_idle_work)(void);

/* One step of the work that idle CPUs do. True: there may be more. */
static bool idle_work(const struct runq *rq)
{
    bool (*work)(void) = __atomic_load_n(&sched_idle_work, __ATOMIC_ACQUIRE);

    return work && !runq_has(rq, 0) && work();
}

static void wait_for_interrupt(void)
{
    pal_wtint(0);
    if (lockstat_on(LOCKSTAT_SPIN))
        meter_waited();
}

/*
 * The idle loop. WTINT stops the CPU until an interrupt is pending, even one that the IPL blocks
 * (QEMU 7.2: alpha_cpu_has_work checks what is requested, not the IPL; on hardware, a WTINT that
 * missed an interrupt would end at the next clock tick). Therefore no wake-up is lost: a CPU that
 * gives this one a thread puts it on the queue, sets resched and then sends an interrupt. We first
 * block interrupts and then look at both. If we see neither, the interrupt comes after our look,
 * stays pending, and WTINT returns at once.
 */
void sched_idle_loop(void)
{
    unsigned self = cpu_id(); /* the idle thread does not move */
    struct runq *rq = &runqs[self];

    for (;;) {
        ipl_set(IPL_CLOCK);
        if (!runq_has(rq, 0))
            idle_steal(self);
        ipl_restore(IPL_NONE); /* switches to a thread that has become ready */
        if (idle_work(rq))
            continue;
        if (perturb_keeps_awake(self))
            continue;
        ipl_set(IPL_IPI);
        if (!__atomic_load_n(&cpus[self].resched, __ATOMIC_ACQUIRE) && !runq_has(rq, 0))
            wait_for_interrupt();
        ipl_restore(IPL_NONE);
    }
}
