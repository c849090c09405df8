/*
 * Schedules. Where several CPUs are emulated in turns and time is counted in instructions
 * (scripts/run --schedule), the same machine does the same things in the same order each time. A
 * seed selects another order, which is as repeatable: each CPU sets alarms at times drawn from the
 * seed. An alarm ends the turn of the CPU that is being emulated, wherever it is, and some alarms
 * also preempt that CPU's thread. Off unless the command line says `schedule=`; a clock interrupt
 * then costs one load and one branch for it.
 */
#ifndef KERNEL_SCHED_PERTURB_H
#define KERNEL_SCHED_PERTURB_H

#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/types.h"

extern uint32_t perturb_enabled; /* constant after boot */
static inline bool perturb_on(void) { return unlikely(perturb_enabled != 0); }

/* Turn schedules on, with number `seed`, where one instruction takes 1 << shift ns (shift up to
   10), and start the alarms of this CPU. Boot, before the other CPUs are started. */
void perturb_boot(uint64_t seed, uint64_t shift);
/* Start the alarms of this CPU, if schedules are on. Called on each other CPU when it starts. */
void perturb_cpu_start(void);
/* Must this idle CPU stay awake? If all CPUs waited for interrupts, QEMU's main loop would advance
   the time, in parallel with the thread of the CPUs, and which of the two came first would decide
   when the next turn ends: the run would not be repeatable. */
static inline bool perturb_keeps_awake(unsigned cpu) { return perturb_on() && cpu == 0; }
/* Add the clock interrupt of this CPU, at IPL_CLOCK and before it is served, to the digest. */
void perturb_clock(const struct trapframe *f);
/* This CPU has been waiting for another one for some time: end its turn, so that the other has one.
   Any IPL. */
void perturb_wait(void);
/* Number of alarms of all CPUs so far; 0 without schedules. Any IPL. */
uint64_t perturb_points(void);
/* Print a summary of the schedule on the console; repeated runs of it print the same. */
void perturb_report(void);

#endif
