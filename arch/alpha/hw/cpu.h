/*
 * Per-CPU block and CPU identity. The block contains only what this layer and the entry code need;
 * higher layers keep their own arrays [MAX_CPUS], indexed by cpu_id().
 */
#ifndef ARCH_ALPHA_HW_CPU_H
#define ARCH_ALPHA_HW_CPU_H

#include "arch/alpha/hw/thread_hw.h"

#define MAX_CPUS 4

struct thread;

struct cpu {
    struct thread_hw *current; /* first: entry code loads $8 from here; own CPU */
    uint64_t gp;               /* kernel GP, loaded by entry code; constant after boot */
    uint64_t emergency_stack;  /* top of the emergency stack; constant after boot */
    uint64_t scratch[4];       /* entry code, own CPU, interrupts off */
    uint64_t id;               /* index, 0 .. MAX_CPUS-1; constant after boot */
    uint32_t whami;            /* hardware id; constant after boot */
    uint32_t online;           /* atomic: set once by the CPU itself */
    uint32_t idle;             /* atomic hint: the CPU runs its idle thread; set by sched */
    uint32_t resched;    /* atomic: a reschedule is pending; set by sched, read by entry code */
    uint32_t pcb_live;   /* offset in pcb[] of the one that is loaded; own CPU, IPL above 0 */
    uint32_t fp_stale;   /* its floating-point registers may differ from 0; own CPU, IPL_CLOCK */
    uint32_t preempting; /* an interrupt is about to preempt; own CPU (sched_preempt_late) */
    uint64_t interrupts; /* device interrupts taken; own CPU */
    uint64_t unaligned;  /* user accesses fixed up on it; atomic, relaxed: a statistic */
    /* Cycles spent in interrupt handlers, and waiting for spinlocks, while the CPU ran a thread [0]
       and while it was idle [1]. Waiting in a handler counts as spin_cycles only. Atomic, relaxed:
       written by own CPU, read by others as statistics. */
    uint64_t interrupt_cycles[2], spin_cycles[2];
    /* The PCBs that SWPCTX loads and saves, by physical address; own CPU. */
    struct hwpcb pcb[2] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

extern struct cpu cpus[MAX_CPUS];
extern uint32_t cpu_count; /* CPUs that came up; atomic during boot, then constant */

register struct thread_hw *current_hw asm("$8");

/* The CPU that runs the caller; stable only where preemption is impossible (IPL above 0). */
static inline struct cpu *cpu_self(void) { return current_hw->cpu; }
static inline unsigned cpu_id(void) { return (unsigned)current_hw->cpu->id; }

/* The PC of the caller, to record the place where something was done. */
static inline __attribute__((always_inline)) uint64_t cpu_pc(void)
{
    uint64_t pc;

    __asm__ volatile("br %0, 1f\n1:" : "=r"(pc));
    return pc;
}

typedef uint64_t cpumask_t; /* bit n = CPU index n; shared ones are accessed by atomics */

#endif
