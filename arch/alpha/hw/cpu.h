/*
 * Per-CPU block and CPU identity. Higher floors keep their own arrays [MAX_CPUS], indexed by
 * cpu_id(); only what the machine floor and the entry code need lives here.
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
    uint32_t id;               /* index, 0 .. MAX_CPUS-1; constant after boot */
    uint32_t whami;            /* hardware id; constant after boot */
    uint32_t online;           /* atomic: set once by the CPU itself */
    uint32_t idle;             /* atomic hint */
    uint32_t resched;    /* atomic: a reschedule is pending; set by sched, read by entry code */
    uint32_t pcb_live;   /* which of pcb[] the CPU has loaded; own CPU, IPL above 0 */
    uint64_t interrupts; /* device interrupts taken; own CPU */
    uint64_t unaligned;  /* user accesses fixed up on it; atomic, relaxed: a statistic */
    uint64_t fp_loads;   /* floating-point units given out by FEN faults; own CPU */
    /* Cycles in interrupt handlers [that came while the CPU was idle], and waiting for spinlocks
       outside of those; written by own CPU, read by others as statistics. */
    uint64_t interrupt_cycles[2], spin_cycles;
    struct hwpcb pcb[2]; /* what SWPCTX loads and saves, by physical address; own CPU */
} __attribute__((aligned(64)));

extern struct cpu cpus[MAX_CPUS];
extern uint32_t cpu_count; /* CPUs that came up; constant after boot */

register struct thread_hw *current_hw asm("$8");

/* The CPU that runs this; stable only where preemption is impossible (IPL above 0). */
static inline struct cpu *cpu_self(void) { return current_hw->cpu; }
static inline unsigned cpu_id(void) { return current_hw->cpu->id; }

/* Cycles that this CPU has spent in interrupts that have ended. */
static inline uint64_t cpu_interrupt_cycles(void)
{
    const struct cpu *c = cpu_self();

    return c->interrupt_cycles[0] + c->interrupt_cycles[1];
}

typedef uint64_t cpumask_t; /* bit n = CPU index n; shared ones are accessed by atomics */

#endif
