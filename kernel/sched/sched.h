/*
 * What the roof (arch/alpha/entry, kernel/main.c) calls of the scheduler, and what `show` asks it.
 * Everybody else: kernel/sched/thread.h.
 */
#ifndef KERNEL_SCHED_SCHED_H
#define KERNEL_SCHED_SCHED_H

#include "kernel/sched/thread.h"

/* The thread that a CPU runs when it enters the kernel, on its boot stack. Their hw part is set by
 * the machine. */
extern struct thread boot_threads[MAX_CPUS];

/* What an idle CPU does before it sleeps: a small step, at IPL 0, in the idle thread, which must
 * not wait. It returns whether it did anything; then the CPU looks for a thread and calls it again.
 * The owner fills it in at boot, once: atomic. */
extern bool (*sched_idle_work)(void);
/* On the boot CPU, once kstack_ops is filled in and the system root is loaded: boot_threads[0]
   becomes an ordinary thread that may wait and ends by thread_exit(); gets an idle thread beside
   it. Panics when memory is short. IPL 0 or above; the clock may tick as soon as this has returned.
 */
void sched_boot(void);

/* On a secondary CPU, as boot_threads[cpu], entry points set: it becomes the CPU's idle thread.
 * Marks the CPU online. Does not return. */
void sched_secondary_start(void) __attribute__((noreturn));

/* Clock interrupt (tick or alarm) of this CPU, at IPL_CLOCK; user: it came out of user mode. */
void sched_clock_tick(bool user);

/* First C code of a new thread, from thread_trampoline at the IPL of the switch; calls the thread's
 * function. */
void sched_thread_start(struct thread_hw *previous) __attribute__((noreturn));

struct sched_cpu_stats {
    uint64_t idle_ns, user_ns, busy_ns; /* busy includes user */
    /* Of it: interrupts, spinning; idle without the interrupts meanwhile; kernel: what is left. */
    uint64_t interrupt_ns, spin_ns, pure_idle_ns, kernel_ns;
    uint64_t switches, ticks, ipis, steals, balanced;
    uint32_t ready; /* threads that wait for this CPU */
    char current_name[16];
    const void *current_process; /* for comparing only */
    bool idle;
};
/* Fill in s for CPU i (online). Locks up to RANK_WAIT. */
void sched_cpu_stats(unsigned i, struct sched_cpu_stats *s);

#endif
