/*
 * Threads: a register context, a kernel stack and an address-space root. The scheduler knows no
 * mm and no processes: the root is a PFN and a mask to be kept, the process an opaque pointer.
 */
#ifndef KERNEL_SCHED_THREAD_H
#define KERNEL_SCHED_THREAD_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/list.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/spinlock.h"

#define PRIO_IDLE   0
#define PRIO_LOW    1
#define PRIO_NORMAL 16 /* time-shared */
#define PRIO_HIGH   31
#define PRIO_COUNT  32

enum thread_state { THREAD_NEW, THREAD_RUNNABLE, THREAD_RUNNING, THREAD_WAITING, THREAD_DEAD };

struct thread {
    struct thread_hw hw; /* first: $8 points here */
    char name[16];
    uint32_t tid;          /* constant */
    uint8_t prio;          /* run queue's lock; atomic, for others that look */
    uint8_t state;         /* enum thread_state; run queue's lock, see thread_state_set_locked() */
    uint8_t interruptible; /* WAIT_ value of its wait, 0 while it does not wait; run queue's lock;
                              atomic, for others that look */
    uint8_t interrupted;   /* atomic: thread_interrupt() came; cleared by the thread */
    uint8_t fatal;         /* atomic: thread_interrupt_fatal() came; never cleared */
    uint32_t last_cpu;     /* whose run queue protects it; changed under that lock */
    cpumask_t affinity;    /* CPUs it may run on */
    uint64_t root_pfn;     /* level-1 page; system root for kernel threads */
    cpumask_t *root_mask;  /* CPUs that have root_pfn loaded: atomic; NULL for the system root */
    void *process;         /* struct process of kernel/proc, or NULL; constant until it ends */
    void *user;            /* its struct uthread (kernel/proc/signal.h); likewise */
    uint64_t run_ns;       /* CPU time up to start_cycles; own CPU (others: thread_cpu_ns) */
    uint64_t user_ns;      /* of that in user mode, sampled by the clock; own CPU */
    uint64_t switches;     /* run queue's lock; atomic, read as a statistic */
    uint32_t
        start_cycles; /* cycle counter when it was put on the CPU, or at the last tick; own CPU */
    uint32_t slice;   /* clock ticks left; protected by the run queue's lock */
    struct spinlock *spin_top; /* innermost spinlock held; own CPU */
    uint32_t held_mutexes;     /* own thread; others: run queue's lock, while it waits */
    uint8_t home_rad; /* domain that its memory should come from and its CPUs should be of; changed
                         by the own thread; atomic, a hint */
    uint8_t queued;   /* is on a run queue; protected by the run queue's lock */
    uint8_t sleeping; /* until a time, on no wait queue; own thread; atomic */
    struct mutex *held[MUTEXES_HELD_MAX]; /* in rising rank; as held_mutexes */
    uint64_t held_at[MUTEXES_HELD_MAX];   /* PC that took each; likewise */
    struct mutex *wants;                  /* waits for it; own thread; atomic */
    const char *wants_name;               /* its name, which lives for ever; atomic */
    uint64_t waited_ns;                   /* for mutexes, in all; own thread */
    struct list run_link;                 /* protected by the run queue's lock */
    struct list all_link;                 /* protected by the table's lock */
    struct thread *next_dead;             /* atomic list of what is to be freed */
    uint64_t stack_base; /* to be given back, 0 for a stack in the kernel's image; constant */
    uint64_t unaligned;  /* user unaligned accesses fixed up; own thread */
    /* Allocations are counted, and one is to fail (mm/phys/failure.h): the record of that. failing
       NULL: they are not counted now, as nearly always. Own thread. */
    struct failure *failing, *failure;
    void (*entry)(void *);
    void *arg;
};

/* The innermost spinlock that t holds. Marked: an interrupt on the same CPU takes and releases
 * others between any two instructions, though it leaves the chain as it was. */
static inline struct spinlock *thread_spin_top(const struct thread *t)
{
    return __atomic_load_n(&t->spin_top, __ATOMIC_RELAXED);
}
static inline void thread_spin_top_set(struct thread *t, struct spinlock *l)
{
    __atomic_store_n(&t->spin_top, l, __ATOMIC_RELAXED);
}

/* t's state, by whoever holds its run queue's lock. Marked: others look without it ($GETJPI, `show
 * system`), and know that it may be another one since. */
static inline void thread_state_set_locked(struct thread *t, enum thread_state state)
{
    __atomic_store_n(&t->state, (uint8_t)state, __ATOMIC_RELAXED);
}

static inline struct thread *thread_self(void) { return (struct thread *)current_hw; }

/* A kernel thread, not yet runnable, with the current thread's home domain. Kernel stack from
   kstack_alloc (hook: sched owns the table kstack_ops that mm fills in). NULL when memory is
   short. */
struct thread *thread_create(const char *name, void (*fn)(void *), void *arg, unsigned prio);
/* Make a new thread runnable on the least loaded CPU that its affinity allows. */
void thread_start(struct thread *t);
/* Give back a thread that was created and not started. */
void thread_discard(struct thread *t);
/* End the current thread; the stack and the structure go when no CPU stands on them any more. */
void thread_exit(void) __attribute__((noreturn));
/* Give a not yet started (or the current) thread an address space: its level-1 page and the mask
   in which the switch sets and clears the CPU's bit. For the current thread it loads the root at
   once. */
void thread_set_root(struct thread *t, uint64_t root_pfn, cpumask_t *mask);
/* Bit of hw.syscall_exit: thread_interrupt() came. Who clears it clears `interrupted` afterwards.
 */
#define EXIT_INTERRUPTED 2ul
/* Make a thread's interruptible wait end with -EINTR, a killable one too if the thread is `fatal`,
   and have it leave for user mode by the slow way. Any IPL up to IPL_CLOCK. */
void thread_interrupt(struct thread *t);
/* The same for a thread whose process ends, whatever it does: it leaves for user mode no more. */
static inline void thread_interrupt_fatal(struct thread *t)
{
    __atomic_store_n(&t->fatal, 1, __ATOMIC_RELAXED); /* ordered by the store that interrupts */
    thread_interrupt(t);
}
/* Does t's process end? Then a wait that only its end may cut short is over. By t; the wait looks
 * after it has found itself interrupted. */
static inline bool thread_fatal_pending(const struct thread *t)
{
    return __atomic_load_n(&t->fatal, __ATOMIC_RELAXED) != 0;
}
/* Let another thread of the same priority run. */
void thread_yield(void);
/* Switch away if a reschedule is pending. IPL 0, or that of an interrupt which came in at IPL 0 and
 * is on its way out. */
void sched_preempt(void);
void thread_sleep_ns(uint64_t ns); /* uninterruptible */
/* Sleep until clock_ns() reaches deadline_ns: 0, or with WAIT_INTERRUPTIBLE -EINTR. IPL 0, no
 * spinlock. */
int thread_sleep_until(uint64_t deadline_ns, unsigned flags);
/* Move t to the CPUs of the mask. -EINVAL when none of them is online. IPL 0 when t is the current
 * thread, which runs on one of them when this returns. */
int thread_set_affinity(struct thread *t, cpumask_t mask);
/* CPU time of t, up to a clock tick old when it runs elsewhere. */
uint64_t thread_cpu_ns(const struct thread *t);
/* Free what ended threads have left: stack and structure. The reaper does it at the next tick. IPL
 * below IPL_IPI. */
void thread_reap(void);
/* For each live thread, under the table lock (RANK_THREADS, IPL_ASTDEL). */
void thread_for_each(void (*fn)(struct thread *, void *), void *arg);

struct kstack_ops {
    /* Returns lowest usable address, or 0; top is base + size. rad: the domain that is wanted. */
    uint64_t (*alloc)(unsigned rad, uint64_t *top);
    void (*free)(uint64_t base);
};
extern struct kstack_ops kstack_ops; /* filled in by mm at boot */
#endif
