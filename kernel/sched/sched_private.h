/*
 * Private to kernel/sched: the run queue of a CPU, and what its files call of each other.
 *
 * A thread belongs to the run queue of t->last_cpu, and that queue's lock protects its state,
 * priority and place, whether it runs there, is ready there, or waits. The lock is held across the
 * context switch, and released by the thread that was switched to: so whoever holds the lock and
 * sees that a thread does not run knows that no CPU stands on its stack.
 */
#ifndef KERNEL_SCHED_SCHED_PRIVATE_H
#define KERNEL_SCHED_SCHED_PRIVATE_H

#include "arch/alpha/hw/clock.h"
#include "kernel/sched/prioq.h"
#include "kernel/sched/sched.h"

#define SLICE_TICKS 10 /* 10 / 1,024 s: two spinners alternate about 50 times a second each */

enum { AFTER_NOTHING, AFTER_BURY, AFTER_CARRY };

/* What a CPU did last, for a panic and for the debugger. Written with the run queue locked, newest
   at trace_next - 1. */
#define TRACE_EVENTS 64u

enum trace_kind { TRACE_NONE, TRACE_SWITCH, TRACE_READY };

struct trace_event {
    uint32_t cycles; /* low half of the cycle counter */
    uint32_t tid;    /* SWITCH: who comes; READY: who becomes ready on this CPU */
    uint32_t other;  /* SWITCH: who leaves */
    uint16_t kind;
    uint16_t state; /* SWITCH: the state of who leaves */
};

struct runq {
    struct spinlock lock;         /* RANK_SCHED */
    struct prioq ready;           /* protected by lock; bitmap and count are also read as hints */
    struct thread *current;       /* protected by lock; also read by own CPU */
    struct thread *idle;          /* constant once the CPU is online */
    struct thread *switched_from; /* set before, read after the switch, lock held */
    uint8_t after;                /* AFTER_*: what finish_switch is to do with it; likewise */
    uint64_t next_tick_ns;        /* own CPU, IPL_CLOCK */
    uint64_t ticks;               /* atomic: written by own CPU, read by the watchdog */
    uint64_t switches;            /* protected by lock; atomic, read as a statistic */
    uint64_t steals, balanced;    /* own CPU, IPL_CLOCK; likewise */
    uint64_t user_ns;             /* own CPU, sampled by the clock; likewise */
    uint64_t online_ns;           /* constant once the CPU is online */
    uint64_t ipis;                /* own CPU, IPL_IPI; likewise */
    uint32_t trace_next;          /* protected by lock, like the ring */
    struct trace_event trace[TRACE_EVENTS];
} __attribute__((aligned(2048))); /* a power of two: the index is a shift */

extern struct runq runqs[MAX_CPUS];

static inline struct runq *runq_self(void) { return &runqs[cpu_id()]; }

static inline struct thread *thread_of_link(const struct list *l)
{
    return container_of(l, struct thread, run_link);
}

static inline unsigned runq_cpu(const struct runq *rq) { return (unsigned)(rq - runqs); }
static inline void runq_take(struct runq *rq, struct thread *t)
{
    prioq_remove(&rq->ready, &t->run_link, t->prio);
    t->queued = 0;
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

/* A statistic that only the lock's holder or the own CPU changes, and everybody reads. */
static inline void count_up(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static inline void account(struct thread *t, uint32_t cycles)
{
    uint64_t ns = (uint64_t)(cycles - t->start_cycles) * CLOCK_CYCLE_NS;

    __atomic_store_n(&t->run_ns, t->run_ns + ns, __ATOMIC_RELAXED);
    t->start_cycles = cycles;
}

/* Lock the run queue that t belongs to. IPL_CLOCK or, by the first form, below. */
struct runq *runq_lock_of(struct thread *t);

/* Sleep, with the own run queue's lock held, until thread_wake_locked(); returns with it released,
 * at IPL_CLOCK. */
void sched_block_locked(struct runq *rq);
/* Have the CPU of rq (locked) look for a better thread soon: on its next way to IPL 0 or to user
   mode. */
void runq_kick(struct runq *rq);
/* t, RUNNABLE and on no queue, is in this CPU's hands (no run queue locked): put it on the queue
   that it belongs to. IPL_CLOCK. */
void runq_deliver(struct thread *t);
/* Make t runnable if it waits. Locks t's run queue. If clear is not NULL, *clear becomes NULL under
   that lock, first. follow: see wake_all_follow(). IPL_CLOCK, locks below RANK_SCHED. After it t
   may be gone. */
void sched_wake(struct thread *t, struct wait_queue **clear, bool follow);
/* Put a thread that is neither ready nor running, and of which the caller is the only user, on a
 * run queue. */
void sched_enqueue_new(struct thread *t);
/* The rest of thread_exit(). */
void sched_exit_current(void) __attribute__((noreturn));
void sched_idle_loop(void) __attribute__((noreturn));

/* idle.c: from the clock tick, every BALANCE_TICKS. IPL_CLOCK, no lock. */
void sched_balance(unsigned self);

/* thread.c */
void thread_boot(void);
void thread_init_static(struct thread *t, const char *name, unsigned prio, cpumask_t affinity);
struct thread *thread_create_on(const char *name, void (*fn)(void *), void *arg, unsigned prio,
                                cpumask_t affinity);
/* t is dead and no CPU stands on it: it is freed later. IPL_CLOCK; takes no lock. */
void thread_bury(struct thread *t);
/* Wake the reaper when there is something for it. From the clock tick. */
void thread_reaper_tick(void);

/* timer.c */
void timer_boot(void);
/* Run what is due on this CPU. IPL_CLOCK. */
void timer_run(uint64_t now_ns);

/* ipi.c */
void ipi_boot(void);

/* watchdog.c: from the clock tick of this CPU. IPL_CLOCK. */
void watchdog_tick(uint64_t now_ns);

#endif
