/*
 * Private to kernel/sched: the run queue of a CPU, and the functions that its files share.
 *
 * A thread belongs to the run queue of CPU t->last_cpu. That queue's lock protects its state, its
 * priority and its position, whether it is running there, ready there, or waiting. The lock is held
 * across the context switch and released by the thread that was switched to: so whoever holds the
 * lock and sees that a thread is not running knows that no CPU is using its stack.
 */
#ifndef KERNEL_SCHED_SCHED_PRIVATE_H
#define KERNEL_SCHED_SCHED_PRIVATE_H

#include "arch/alpha/hw/clock.h"
#include "kernel/sched/group.h"
#include "kernel/sched/prioq.h"
#include "kernel/sched/sched.h"

/* A thread that holds a mutex and was chosen for that is not preempted until this many ticks have
   met it so: 10 ms, while the longest holds are of 1 ms. */
#define SCHED_GRACE_TICKS 10u

/* A CPU's load is a mean, because threads that run for a moment should not move others. */
#define LOAD_TICKS 64

enum { AFTER_NOTHING, AFTER_RETIRE, AFTER_CARRY };

/* The most recent actions of a CPU, for panics and for the debugger. Written with the run queue
   locked; the newest is at trace_next - 1. */
#define TRACE_EVENTS 64u

enum trace_kind { TRACE_NONE, TRACE_SWITCH, TRACE_READY };

struct trace_event {
    uint32_t cycles; /* low half of the cycle counter */
    uint32_t tid;    /* SWITCH: the next thread; READY: the thread that becomes ready on this CPU */
    uint32_t other;  /* SWITCH: the previous thread */
    uint16_t kind;
    uint16_t state; /* SWITCH: state of the previous thread */
};

struct runq {
    struct spinlock lock; /* RANK_SCHED */
    /* The ready threads, except those of PRIO_NORMAL. Protected by lock; bitmap and count are also
       read as hints. */
    struct prioq ready;
    struct fair_queue fair; /* the threads of PRIO_NORMAL; protected by lock */
    /* Those that are ready, a list of those among them that may run on another CPU, the newest
       last, and their number. Protected by lock; the number is also read as a hint. */
    struct list movable;
    uint32_t fair_ready;
    uint32_t several; /* there are several CPUs, for which more is kept; constant after boot */
    int64_t load;     /* the mean of fair_load() over some LOAD_TICKS, times that; atomic */
    int64_t seen;     /* what that was at the last look of sched_balance(); atomic */
    bool pass;        /* the next preemption is for another thread; own CPU, IPL_CLOCK */
    struct thread *current;       /* protected by lock; also read by own CPU */
    struct thread *idle;          /* constant once the CPU is online */
    struct thread *switched_from; /* set before the switch, read after it, lock held */
    uint8_t after;                /* AFTER_*: what sched_finish_switch() does with it; as above */
    uint64_t next_tick_ns;        /* own CPU, IPL_CLOCK */
    uint64_t ticks;               /* atomic: written by own CPU, read by the watchdog */
    uint64_t switches;            /* protected by lock; atomic: read as a statistic */
    uint64_t steals, balanced;    /* own CPU, IPL_CLOCK; atomic: read as a statistic */
    uint64_t user_ns;             /* own CPU, sampled by the clock; atomic: as above */
    uint64_t online_ns;           /* constant once the CPU is online */
    uint64_t ipis;                /* own CPU, IPL_IPI; atomic: as above */
    uint32_t trace_next;          /* protected by lock, like the ring */
    struct trace_event trace[TRACE_EVENTS];
} __attribute__((aligned(2048))); /* a power of two: the index is a shift */

extern struct runq runqs[MAX_CPUS];
extern uint64_t clock_ticks; /* of CPU 0; atomic, written by it */

/* That of this CPU: a thread that runs belongs to it. */
static inline struct runq *runq_self(void)
{
    return __atomic_load_n(&thread_self()->runq, __ATOMIC_RELAXED);
}

/* t, whose run queue is locked or which nobody else knows yet, belongs to that CPU now. */
static inline void thread_set_cpu(struct thread *t, unsigned cpu)
{
    __atomic_store_n(&t->last_cpu, cpu, __ATOMIC_RELAXED);
    __atomic_store_n(&t->runq, &runqs[cpu], __ATOMIC_RELAXED);
}

static inline struct thread *thread_of_link(const struct list *l)
{
    return container_of(l, struct thread, run_link);
}

static inline struct thread *thread_of_node(struct fair_node *n)
{
    return container_of(n, struct thread, fair);
}

static inline unsigned runq_cpu(const struct runq *rq) { return (unsigned)(rq - runqs); }

/* Number of ready threads, without the one that runs; a hint without the lock. */
static inline uint32_t runq_ready(const struct runq *rq)
{
    return prioq_count(&rq->ready) + __atomic_load_n(&rq->fair_ready, __ATOMIC_RELAXED);
}

/* Is a thread of priority prio, up to PRIO_COUNT, or above ready? A hint without the lock. */
static inline bool runq_has(const struct runq *rq, unsigned prio)
{
    uint64_t others = __atomic_load_n(&rq->ready.bitmap, __ATOMIC_RELAXED);

    return others >> prio != 0 ||
           (prio <= PRIO_NORMAL && __atomic_load_n(&rq->fair_ready, __ATOMIC_RELAXED) != 0);
}

/* Of t's user, the threads that are ready or run on the CPU of rq have become one more, t, if sign
   is 1, or one less, -1. There are several CPUs. Lock held. */
static inline void runq_count_active(struct runq *rq, const struct thread *t, int sign)
{
    uint64_t *sum = &t->group->top->active[runq_cpu(rq)];

    __atomic_store_n(sum, *sum + (uint64_t)((int64_t)t->fair.weight * sign), __ATOMIC_RELAXED);
}

/* The fair threads of rq that are ready have become one more, t. comes: it did not run here before.
 */
static inline __attribute__((always_inline)) void runq_note_ready(struct runq *rq, struct thread *t,
                                                                  bool comes)
{
    __atomic_store_n(&rq->fair_ready, rq->fair_ready + 1, __ATOMIC_RELAXED);
    if (unlikely(rq->several)) {
        if (comes)
            runq_count_active(rq, t, 1);
        if (t->affinity & (t->affinity - 1))
            list_add_tail(&rq->movable, &t->run_link);
    }
}

/* They have become one less, t. gone: t, if it will not run here, or the one that ran here and has
   stopped being ready; NULL: neither. */
static inline __attribute__((always_inline)) void runq_note_taken(struct runq *rq, struct thread *t,
                                                                  const struct thread *gone)
{
    __atomic_store_n(&rq->fair_ready, rq->fair_ready - 1, __ATOMIC_RELAXED);
    if (unlikely(rq->several)) {
        if (gone)
            runq_count_active(rq, gone, -1);
        list_remove(&t->run_link);
    }
}

/* May others be waiting for t: does it hold a mutex, or was it woken to take one? The mutex of an
   address space, or of a process's settings (MUTEX_PROCESS), does not count, as it keeps nobody
   else's call waiting. t is the current thread, or its run queue is locked and it does not run. */
static inline bool thread_hurries(const struct thread *t)
{
    uint64_t n = t->held_mutexes;

    if (__atomic_load_n(&t->wants, __ATOMIC_RELAXED) != NULL)
        return true;
    return n != 0 && (t->held[0]->rank < MUTEX_PROCESS || t->held[n - 1]->rank > MUTEX_ASPACE);
}

/* The same, unless t has been in that state for too long. */
static inline bool thread_may_hurry(const struct thread *t)
{
    return t->grace < SCHED_GRACE_TICKS && thread_hurries(t);
}

/* Is t, which gives up the CPU to others, to be the first of its user again? If what it holds or
   wants last is a file's or a socket's mutex, under which a call may copy as much as its caller
   likes, only while it may hurry. The other mutexes guard what all users need: if their holder
   waited for the others of its user, each hold would keep everybody waiting for a second. And the
   ticks that are counted do not measure one hold: they may have met t in one short hold after
   another. */
static inline bool thread_comes_first(const struct thread *t)
{
    const struct mutex *last;

    if (likely(!thread_hurries(t)))
        return false;
    last = __atomic_load_n(&t->wants, __ATOMIC_RELAXED);
    if (!last)
        last = t->held[t->held_mutexes - 1];
    return last->rank < MUTEX_INODE || last->rank > MUTEX_SOCKET || t->grace < SCHED_GRACE_TICKS;
}

/* Put t on rq, locked, to which it belongs, or take it off. */
static inline __attribute__((always_inline)) void runq_put(struct runq *rq, struct thread *t)
{
    if (likely(t->prio == PRIO_NORMAL)) {
        fair_add(&t->fair);
        runq_note_ready(rq, t, true);
    } else {
        prioq_add_tail(&rq->ready, &t->run_link, t->prio);
    }
}

static inline void runq_take(struct runq *rq, struct thread *t)
{
    if (t->prio == PRIO_NORMAL) {
        fair_remove(&t->fair);
        runq_note_taken(rq, t, t);
    } else {
        prioq_remove(&rq->ready, &t->run_link, t->prio);
    }
}

/* t, of PRIO_NORMAL, which runs on the CPU of rq, locked, and is charged, leaves the fair rule, or
   comes back. */
static inline void runq_stop(struct runq *rq, struct thread *t, uint32_t cycles)
{
    if (rq->several)
        runq_count_active(rq, t, -1);
    fair_stop(&t->fair, cycles, false);
}

static inline void runq_resume(struct runq *rq, struct thread *t, uint32_t cycles)
{
    if (rq->several)
        runq_count_active(rq, t, 1);
    fair_resume(&t->fair, cycles);
}

/* Is t, whose run queue is locked, on it? If not, it runs, waits, or is on its way to another. */
static inline bool thread_is_queued(const struct thread *t)
{
    if (t->state != THREAD_RUNNABLE)
        return false;
    return t->prio == PRIO_NORMAL ? t->fair.queue != NULL : !list_empty(&t->run_link);
}

/* Let t, which is on no queue and does not run, leave rq, which is locked, for another CPU. */
static inline void thread_leave_locked(struct thread *t, unsigned cpu)
{
    if (t->fair.queue) {
        fair_detach(&t->fair);
        t->fair.queue = NULL;
    }
    thread_set_cpu(t, cpu);
}

static inline bool cpu_is_idle(unsigned i)
{
    return __atomic_load_n(&cpus[i].idle, __ATOMIC_RELAXED) != 0;
}

static inline void trace(struct runq *rq, uint32_t cycles, enum trace_kind kind, uint32_t tid,
                         uint32_t other, unsigned state)
{
    rq->trace[rq->trace_next++ % TRACE_EVENTS] = (struct trace_event){
        cycles, tid, other, (uint16_t)kind, (uint16_t)state};
}

/* Increment a statistic that has one writer at a time (the lock's holder, or the own CPU). */
static inline void count_up(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* Account for the time of t, which runs on this CPU, up to now. */
static inline void account(struct thread *t, uint32_t cycles)
{
    uint32_t used = cycles - t->start_cycles;
    uint64_t *sum = t->run_sum;

    __atomic_store_n(sum, *sum + (uint64_t)used * CLOCK_CYCLE_NS, __ATOMIC_RELAXED);
    t->start_cycles = cycles;
    fair_charge(&t->fair, used);
}

/* Lock the run queue that t belongs to. The caller is at IPL_CLOCK. */
struct runq *runq_lock_of(const struct thread *t);

/* Put the current thread to sleep, with this CPU's run queue rq locked as its only spinlock, until
 * it is woken by sched_wake(). Returns at IPL_HIGH, possibly on another CPU, and the caller calls
 * sched_finish_switch() (sched_quick.h) at once. */
void sched_block_locked(struct runq *rq);
/* The rest of sched_finish_switch() where there is more to do: see there. */
void sched_finish_slowly(struct runq *rq, struct thread *from);
/* Have the CPU of rq (locked) choose a thread anew as soon as it returns to IPL 0 or to user
   mode. */
void runq_kick(struct runq *rq);
/* Put t, which is RUNNABLE, on no queue and owned by the caller, on the queue that it belongs to.
   IPL_CLOCK, no run queue locked. */
void runq_deliver(struct thread *t);
/* place.c: the CPU on which t should run: `last`, or one that is less loaded by a quarter of what t
   adds, as its cache has nothing of t's; it comes before those of other domains than t's home by
   half of that. An idle one comes before all. Only a hint: all that it reads may change meanwhile,
   and no lock is needed. */
unsigned sched_choose_cpu(const struct thread *t, unsigned last);
/* place.c: if t, which is WAITING, should run on another CPU than that of rq, its run queue,
   locked: make it ready there, and release the lock. False: it should run here, and rq is locked
   still. follow: see wake_all_follow(). IPL_CLOCK. */
bool sched_move_to_better(struct runq *rq, struct thread *t, bool follow);
/* Make t runnable if it is waiting. Locks t's run queue; if clear is not NULL, first stores NULL in
   *clear under that lock. follow: see wake_all_follow(). IPL_CLOCK, spinlocks below RANK_SCHED. The
   caller must not access t afterwards: it may have ended. */
void sched_wake(struct thread *t, struct wait_queue **clear, bool follow);
/* Put a thread that has never run, and which only the caller uses, on a run queue. IPL up to
 * IPL_CLOCK. */
void sched_enqueue_new(struct thread *t);
/* The end of thread_exit(): mark the current thread dead and switch away. */
void sched_exit_current(void) __attribute__((noreturn));
void sched_idle_loop(void) __attribute__((noreturn));

/* group.c: set the priority of the current thread. IPL up to IPL_CLOCK, no spinlock held. */
void sched_own_priority(unsigned prio);

/* group.c: the sum of the weights of the threads of g, a user's group, that are ready or run on all
   CPUs. Of the CPU whose run queue is locked it is exact, else a hint. */
uint64_t sched_active(const struct sched_group *g);
/* t runs on the CPU of rq, locked: if it is of PRIO_NORMAL, its user's group gets the weight that
   is its share of this CPU. To be called when that group becomes current, and by ticks. */
void sched_set_share(struct runq *rq, const struct thread *t);

/* idle.c: called by the clock tick every BALANCE_TICKS. IPL_CLOCK, no spinlock held. */
void sched_balance(unsigned self);

/* thread.c */
void thread_boot(void);
void thread_init_static(struct thread *t, const char *name, unsigned prio, cpumask_t affinity);
struct thread *thread_create_on(const char *name, void (*fn)(void *), void *arg, unsigned prio,
                                cpumask_t affinity);
/* Have t, which is dead and whose stack no CPU uses, freed later. IPL_CLOCK; takes no lock. */
void thread_retire(struct thread *t);
/* Have the reaper woken if there are dead threads. Called by the clock tick, which began at now_ns,
   at IPL_CLOCK. */
void thread_reaper_tick(uint64_t now_ns);

/* timer.c */
void timer_boot(void);
/* Call the function of the first timer of this CPU that is due, and set the alarm for the next.
   IPL_CLOCK, no spinlock held. */
void timer_run(uint64_t now_ns);
/* The same from a tick, which has taken time already: leave it to an interrupt that follows. */
void timer_run_after_tick(uint64_t now_ns);

/* ipi.c */
void ipi_boot(void);

/* watchdog.c */
void watchdog_boot(void);
/* From the clock tick of this CPU. IPL_CLOCK. */
void watchdog_tick(uint64_t now_ns);

#endif
