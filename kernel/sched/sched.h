/*
 * The scheduler as seen by the layers above that start and drive it (arch/alpha/entry,
 * kernel/main.c), and its statistics. All others use kernel/sched/thread.h.
 */
#ifndef KERNEL_SCHED_SCHED_H
#define KERNEL_SCHED_SCHED_H

#include "kernel/sched/thread.h"

/* The thread that each CPU is running when it enters the kernel, on its boot stack. The machine
 * layer sets up the hw part. */
extern struct thread boot_threads[MAX_CPUS];

/* Work that an idle CPU does before it sleeps (or NULL): a small step, in the idle thread at IPL 0,
 * which must not wait. Returns whether there may be more to do; then the CPU looks for a ready
 * thread and calls it again. Set once at boot by its owner; atomic. */
extern bool (*sched_idle_work)(void);

/* Start the scheduler on the boot CPU, once kstack_ops is filled in and the system root is loaded:
   boot_threads[0] becomes an ordinary thread, which may wait and which ends by thread_exit(), and
   the CPU gets an idle thread. Panics when memory is short. Any IPL up to IPL_ASTDEL; the clock may
   tick as soon as this has returned. */
void sched_boot(void);

/* Enter the scheduler on a secondary CPU, running as boot_threads[cpu], with the entry points set:
 * that thread becomes the CPU's idle thread. Marks the CPU online. Does not return. */
void sched_secondary_start(void) __attribute__((noreturn));

/* Clock interrupt (tick or alarm) of this CPU, at IPL_CLOCK; user: it interrupted user mode. */
void sched_clock_tick(bool user);

/* First C code of a new thread, called by thread_trampoline at the IPL of the switch; calls the
 * thread's function. */
void sched_thread_start(struct thread_hw *previous) __attribute__((noreturn));

struct sched_cpu_stats {
    uint64_t idle_ns, user_ns, busy_ns; /* busy includes user */
    /* Parts of idle and busy time: interrupts; waiting for spinlocks; idle without either; kernel:
       the rest of busy time. */
    uint64_t interrupt_ns, spin_ns, pure_idle_ns, kernel_ns;
    uint64_t switches, ticks, ipis, steals, balanced;
    uint32_t ready; /* threads ready on this CPU */
    char current_name[16];
    const void *current_process; /* for comparison only, not to be dereferenced */
    bool idle;
};
/* Fill in s for CPU i, which is online. Any IPL up to IPL_CLOCK, spinlocks below RANK_SCHED. */
void sched_cpu_stats(unsigned i, struct sched_cpu_stats *s);

#endif
