/*
 * Threads: a register context, a kernel stack and an address-space root. The scheduler knows no
 * mm and no processes: the root is a PFN and a mask to be kept, the process an opaque pointer.
 */
#ifndef KERNEL_SCHED_THREAD_H
#define KERNEL_SCHED_THREAD_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"

#define PRIO_IDLE 0
#define PRIO_LOW 1
#define PRIO_NORMAL 16 /* time-shared */
#define PRIO_HIGH 31
#define PRIO_COUNT 32

enum thread_state { THREAD_NEW, THREAD_RUNNABLE, THREAD_RUNNING, THREAD_WAITING, THREAD_DEAD };

struct thread {
    struct thread_hw hw;       /* first: $8 points here */
    char name[16];
    uint32_t tid;              /* constant */
    uint8_t prio;              /* protected by the run queue's lock */
    uint8_t state;             /* enum thread_state; protected by the run queue's lock */
    uint8_t interruptible;     /* waiting so; protected by the run queue's lock */
    uint8_t interrupted;       /* atomic: thread_interrupt() came; cleared by the thread */
    uint32_t last_cpu;
    cpumask_t affinity;        /* CPUs it may run on */
    uint64_t root_pfn;         /* level-1 page; system root for kernel threads */
    cpumask_t *root_mask;      /* CPUs that have root_pfn loaded: atomic; NULL for the system root */
    void *process;             /* struct process of kernel/proc, or NULL; constant */
    uint64_t run_ns;           /* CPU time used up to last_start_ns */
    uint64_t user_ns;
    uint64_t last_start_ns;
    uint64_t switches;
    uint32_t slice;            /* clock ticks left */
    uint32_t held_mutexes;     /* for the checker */
    struct list run_link;      /* protected by the run queue's lock */
    struct list all_link;      /* protected by the scheduler's table lock */
    struct mutex *mutex_top;   /* checker: innermost mutex held */
    uint64_t unaligned;        /* user unaligned accesses fixed up; own thread */
    void (*entry)(void *);
    void *arg;
};

static inline struct thread *thread_self(void) { return (struct thread *)current_hw; }

/* A kernel thread, not yet runnable. Kernel stack from kstack_alloc (hook: sched owns the table
   kstack_ops that mm fills in). NULL when memory is short. */
struct thread *thread_create(const char *name, void (*fn)(void *), void *arg, unsigned prio);
/* Make a new thread runnable on the least loaded CPU that its affinity allows. */
void thread_start(struct thread *t);
/* End the current thread; the stack and the structure go when no CPU stands on them any more. */
void thread_exit(void) __attribute__((noreturn));
/* Give a not yet started (or the current) thread an address space: its level-1 page and the mask
   in which the switch sets and clears the CPU's bit. For the current thread it loads the root at once. */
void thread_set_root(struct thread *t, uint64_t root_pfn, cpumask_t *mask);
/* Make a thread's interruptible wait end with -EINTR. Any IPL up to IPL_CLOCK. */
void thread_interrupt(struct thread *t);
/* Let another thread of the same priority run. */
void thread_yield(void);
/* Switch away if a reschedule is pending. IPL 0. Called on the way out of interrupts and calls. */
void sched_preempt(void);
void thread_sleep_ns(uint64_t ns); /* uninterruptible */
int thread_set_affinity(struct thread *t, cpumask_t mask);
/* For each live thread, under the table lock (RANK_PROC, IPL_ASTDEL). */
void thread_for_each(void (*fn)(struct thread *, void *), void *arg);

struct kstack_ops {
    /* Returns lowest usable address, or 0; top is base + size. */
    uint64_t (*alloc)(uint64_t *top);
    void (*free)(uint64_t base);
};
extern struct kstack_ops kstack_ops; /* filled in by mm at boot */

/* First code of a user thread or process after its first switch: set t->entry to it. */
#endif
