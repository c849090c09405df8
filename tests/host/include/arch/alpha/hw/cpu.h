/*
 * Host stand-in for the per-CPU block: a POSIX thread plays a CPU. current_hw is thread-local, set
 * by host_cpu_enter(); before that a thread is CPU 0.
 */
#ifndef ARCH_ALPHA_HW_CPU_H
#define ARCH_ALPHA_HW_CPU_H

#include "arch/alpha/hw/thread_hw.h"

#define MAX_CPUS 4

struct thread;

struct cpu {
    struct thread_hw *current;
    uint32_t id;
    uint32_t whami;
    uint32_t online;
    uint32_t idle;
    uint32_t resched;
    uint64_t interrupts;
    uint64_t unaligned;
};

extern struct cpu cpus[MAX_CPUS];
extern uint32_t cpu_count; /* 1 unless the test sets it */

extern __thread struct thread_hw *current_hw;
extern __thread unsigned host_cpu_id;

static inline struct cpu *cpu_self(void) { return &cpus[host_cpu_id]; }
static inline unsigned cpu_id(void) { return host_cpu_id; }

/* Make this POSIX thread play CPU id and run thread t, which may be NULL. */
void host_cpu_enter(unsigned id, struct thread_hw *t);

typedef uint64_t cpumask_t;

#endif
