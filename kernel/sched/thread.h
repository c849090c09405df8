/*
 * Threads: a register context, a kernel stack and an address-space root. The scheduler knows
 * neither memory management nor processes: to it the root is a PFN and a CPU mask that it
 * maintains, and the process is an opaque pointer.
 *
 * In the fields below "run queue's lock" is the lock of the run queue of CPU last_cpu.
 */
#ifndef KERNEL_SCHED_THREAD_H
#define KERNEL_SCHED_THREAD_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/list.h"
#include "kernel/sched/fair.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/spinlock.h"

#define PRIO_IDLE 0
#define PRIO_LOW  1
/* The fair rule (fair.h); threads of other priorities are the kernel's own. */
#define PRIO_NORMAL 16
#define PRIO_HIGH   31
#define PRIO_COUNT  32

enum thread_state { THREAD_NEW, THREAD_RUNNABLE, THREAD_RUNNING, THREAD_WAITING, THREAD_DEAD };

struct account;
struct runq;

struct thread {
    struct thread_hw hw; /* first: $8 points here */
    char name[16];
    uint32_t tid;          /* constant */
    uint8_t prio;          /* run queue's lock; atomic: also read without it */
    uint8_t state;         /* enum thread_state; run queue's lock, see thread_state_set_locked() */
    uint8_t interruptible; /* WAIT_ value of the current wait, 0: none; run queue's lock; atomic:
                              also read without it */
    uint8_t interrupted;   /* atomic: thread_interrupt() was called; cleared by the thread */
    uint8_t fatal;         /* atomic: thread_interrupt_fatal() was called; never cleared */
    uint32_t last_cpu;     /* CPU whose run queue it belongs to; changed under that queue's lock */
    struct runq *runq;     /* that run queue; as last_cpu, atomic */
    cpumask_t affinity;    /* CPUs it may run on; run queue's lock */
    uint64_t root_pfn;     /* level-1 page table; the system root for kernel threads */
    cpumask_t *root_mask;  /* CPUs that have root_pfn loaded: atomic; NULL for the system root */
    void *process;         /* struct process of kernel/proc, or NULL; constant until it ends */
    void *user;            /* struct uthread (kernel/proc/signal.h), or NULL; as process */
    /* Charged for what the thread allocates (kernel/quota): its process's, or the system's. Own
     * thread, or before it runs. */
    struct account *account;
    int8_t nice;        /* -20 to 19; run queue's lock; atomic: also read without it */
    int8_t lent;        /* how much better than 19 the nice value is that others lend it; as nice */
    uint64_t run_ns[2]; /* CPU time up to start_cycles in the kernel [0] and in user mode [1]; own
                              CPU, IPL_CLOCK; atomic: read by others */
    uint64_t *run_sum;  /* the one of the mode in which the last clock tick found it; as run_ns */
    uint64_t switches;  /* run queue's lock; atomic: read as a statistic */
    uint32_t start_cycles;     /* cycle counter at the switch to it or at the last tick; own CPU */
    uint32_t grace;            /* clock ticks that met it with a mutex; own CPU, IPL_CLOCK */
    struct fair_node fair;     /* its part in the fair rule; run queue's lock */
    struct sched_group *group; /* whose share it uses; run queue's lock */
    struct spinlock *spin_top; /* innermost spinlock held; own CPU */
    uint64_t held_mutexes;     /* own thread; others: run queue's lock, while it does not run;
                                  atomic: also read as a hint */
    uint8_t home_rad; /* domain preferred for its memory and its CPUs; written by the own thread;
                         atomic: a hint to others */
    uint8_t sleeping; /* waits for a deadline only, on no wait queue; own thread; atomic */
    uint8_t ending;   /* counted by thread_leave_process(); own thread, then the reaper */
    uint8_t settling; /* does at its end what others wait for: no wait for a mutex is cut short; own
                         thread */
    uint8_t starved;  /* pages that it may take of the last ones, as it waited often; own thread */
    uint8_t no_faults;      /* an access to user memory that faults fails at once; own thread */
    uint8_t refused;        /* pages were refused, and no wait has followed; own thread */
    uint16_t refused_by;    /* number of the counter that refused pages last; own thread */
    uint16_t attempt;       /* pages that its call may need at once, as it was refused some several
                               times; own thread */
    uint16_t refused_room;  /* with so much room left it tried again in vain; own thread */
    uint32_t refused_pages; /* how many; 0: the last allocation that failed, failed for the system's
                               shortage; own thread */
    struct mutex *held[MUTEXES_HELD_MAX]; /* in rising rank; as held_mutexes */
    uint64_t held_at[MUTEXES_HELD_MAX];   /* PC at which each was taken; as held_mutexes */
    struct mutex *wants;                  /* mutex it waits for, or NULL; own thread; atomic */
    const char *wants_name;               /* name of that mutex, a constant string; atomic */
    uint64_t waited_ns;                   /* total wait for mutexes; own thread */
    struct list run_link; /* PRIO_NORMAL: in runq.movable, else in runq.ready; run queue's lock */
    struct list all_link; /* thread table's lock */
    struct thread *next_dead; /* link of the list of dead threads; atomic */
    uint64_t stack_base;      /* of the stack to free, 0 for one in the kernel's image; constant */
    uint64_t unaligned;       /* user unaligned accesses fixed up; own thread */
    uint64_t disk_requests;   /* made by it; own thread; others read it atomically */
    /* Records of failure injection (mm/phys/failure.h): `failure` while it is armed for this
       thread, `failing` while allocations are being counted, else NULL. Own thread. */
    struct failure *failing, *failure;
    void (*entry)(void *);
    void *arg;
};

/* The innermost spinlock that t holds. Accessed atomically: an interrupt on the same CPU may
 * acquire and release others between any two instructions, although it leaves the chain as it
 * was. */
static inline struct spinlock *thread_spin_top(const struct thread *t)
{
    return __atomic_load_n(&t->spin_top, __ATOMIC_RELAXED);
}
static inline void thread_spin_top_set(struct thread *t, struct spinlock *l)
{
    __atomic_store_n(&t->spin_top, l, __ATOMIC_RELAXED);
}

/* Set t's state; the caller holds its run queue's lock. The store is atomic because others read the
 * state without the lock ($GETJPI, `show system`), knowing that it may have changed since. */
static inline void thread_state_set_locked(struct thread *t, enum thread_state state)
{
    __atomic_store_n(&t->state, (uint8_t)state, __ATOMIC_RELAXED);
}

static inline struct thread *thread_self(void) { return (struct thread *)current_hw; }

/* Create a kernel thread with the current thread's home domain; it is not runnable until
   thread_start(). Its stack comes from kstack_ops. prio: below PRIO_COUNT. NULL when memory is
   short. IPL 0. */
struct thread *thread_create(const char *name, void (*fn)(void *), void *arg, unsigned prio);
/* Make a new thread runnable on the least loaded CPU that its affinity allows. IPL up to
   IPL_CLOCK. */
void thread_start(struct thread *t);
/* Free a thread that was created and never started. */
void thread_discard(struct thread *t);
/* The current thread belongs to no process any more, and is about to end. IPL up to IPL_CLOCK. */
void thread_leave_process(void);
/* End the current thread, which holds no lock (checked). Its stack and structure are freed once no
   CPU uses them. IPL 0. */
void thread_exit(void) __attribute__((noreturn));
/* Give a thread that is not yet started, or the current thread, an address space: the PFN of its
   level-1 page table, and the mask in which the context switch sets and clears the CPU's bit. For
   the current thread the root is loaded at once. */
void thread_set_root(struct thread *t, uint64_t root_pfn, cpumask_t *mask);
/* Called, if set, in the clock interrupt for a tick that has met t in user mode. IPL_CLOCK.
   kernel/proc sets it at boot. */
extern void (*sched_user_tick)(struct thread *t);
/* Bit of hw.syscall_exit: thread_interrupt() was called. Code that clears it clears `interrupted`
   afterwards. */
#define EXIT_INTERRUPTED 2ul
/* End an interruptible wait of t with -EINTR, or a killable one if t is `fatal`, and have t take
   the slow path when it next returns to user mode. Any IPL up to IPL_CLOCK, spinlocks below
   RANK_SCHED. */
void thread_interrupt(struct thread *t);
/* The same for a thread whose process ends: t will not return to user mode any more. */
static inline void thread_interrupt_fatal(struct thread *t)
{
    __atomic_store_n(&t->fatal, 1, __ATOMIC_RELAXED); /* thread_interrupt() orders it */
    thread_interrupt(t);
}
/* Is t, the current thread, to end? Then a wait that only the thread's end may interrupt is over;
 * to be asked after such a wait has returned -EINTR. */
static inline bool thread_fatal_pending(const struct thread *t)
{
    return __atomic_load_n(&t->fatal, __ATOMIC_RELAXED) != 0;
}
/* The same for the current thread, as the condition of loops. Every loop of a system call or fault
 * whose length a user determines asks this at least once in 100,000 instructions, with or without
 * mutexes held, and if it is true leaves a consistent state and returns, with -EINTR or the number
 * of bytes done. A loop that cannot stop in the middle (freeing memory, above all) costs a bounded
 * number of instructions a page. Preemption needs no request: at IPL 0 without a spinlock it is
 * always possible. docs/long-loops.md lists all such loops. Any IPL. */
static inline bool thread_killed(void)
{
    struct thread *t = thread_self();

    if (likely(!thread_fatal_pending(t)))
        return false;
    /* thread_interrupt() sets it too, but possibly later than `fatal` is set: without it the call
       would return to user mode, with an -EINTR that no program is to see. */
    __atomic_fetch_or(&t->hw.syscall_exit, EXIT_INTERRUPTED, __ATOMIC_RELAXED);
    return true;
}
/* Let another ready thread of the same priority run. IPL 0, no spinlock. */
void thread_yield(void);
/* Switch to another thread if a reschedule is pending. Called at IPL 0. */
void sched_preempt(void);
/* The same on the way out of an interrupt that was taken at IPL 0, at that interrupt's IPL. */
void sched_preempt_late(void);
void thread_sleep_ns(uint64_t ns); /* uninterruptible; IPL 0, no spinlock */
/* Sleep until clock_ns() reaches deadline_ns. Returns 0, or -EINTR with WAIT_INTERRUPTIBLE. IPL 0,
 * no spinlock. */
int thread_sleep_until(uint64_t deadline_ns, unsigned flags);
/* Restrict t to the CPUs of the mask. -EINVAL when none of them is online. IPL 0 when t is the
 * current thread, which runs on one of them when this returns; else up to IPL_CLOCK. */
int thread_set_affinity(struct thread *t, cpumask_t mask);
/* Call fn(arg) while t, which is alive, does not run, with its run queue locked, and return -1; or
 * return the CPU where t runs at this moment. fn takes no locks. IPL up to IPL_CLOCK, spinlocks
 * below RANK_SCHED. */
int thread_while_off_cpu(const struct thread *t, void (*fn)(void *), void *arg);
/* CPU time in ns. */
struct cpu_time {
    uint64_t user_ns, system_ns;
};
/* CPU time of t, up to a clock tick old while t runs. Each piece of time between two events, clock
   ticks and switches, counts as time of the mode in which t's last tick found it. Any IPL. */
struct cpu_time thread_cpu_time(const struct thread *t);
uint64_t thread_cpu_ns(const struct thread *t); /* the sum of both */
/* Wait until the threads that have left their processes have ended, and reap them. IPL 0, no
 * lock. */
void thread_drain(void);
/* Free stacks and structures of ended threads now; otherwise the reaper does so at the next tick.
 * IPL up to IPL_ASTDEL. */
void thread_reap(void);
/* Call fn for each live thread, with the thread table locked (RANK_THREADS, IPL_ASTDEL). */
void thread_for_each(void (*fn)(struct thread *, void *), void *arg);

struct kstack_ops {
    /* Allocate a stack, if possible in domain rad. Returns its lowest usable address, and its end
       in *top; 0: there is none. IPL up to IPL_ASTDEL. */
    uint64_t (*alloc)(unsigned rad, uint64_t *top);
    void (*free)(uint64_t base);
};
extern struct kstack_ops kstack_ops; /* filled in by mm at boot */
#endif
