/*
 * Schedules: where several CPUs are emulated in turns and time is counted in instructions
 * (scripts/run --schedule), the same machine does the same things in the same order each time. A
 * seed makes it another order, as repeatable: each CPU sets alarms at times drawn from the seed.
 * An alarm ends the turn of the CPU that the emulator runs, wherever it is, and some of them take
 * the CPU from its thread. Off unless the command line says `schedule=`; then a clock interrupt
 * costs one load and one branch for it.
 */
#ifndef KERNEL_SCHED_PERTURB_H
#define KERNEL_SCHED_PERTURB_H

#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/types.h"

extern uint32_t perturb_enabled; /* constant after boot */
static inline bool perturb_on(void) { return unlikely(perturb_enabled != 0); }

/* Schedule number `seed`, where one instruction takes 1 << shift ns (shift up to 10). Boot, before
   the other CPUs are started; starts the alarms of this CPU. */
void perturb_boot(uint64_t seed, uint64_t shift);
/* Start the alarms of this CPU, if schedules are on. On each other CPU when it comes up. */
void perturb_cpu_start(void);
/* An idle CPU asks: is it the one that stays awake? When all of them wait for interrupts, QEMU's
   main loop moves time on, beside the CPUs' thread, and which of the two is first decides when the
   next turn ends: the run would not repeat. */
static inline bool perturb_keeps_awake(unsigned cpu) { return perturb_on() && cpu == 0; }
/* The clock interrupt of this CPU, at IPL_CLOCK, before it is served: it goes into the digest. */
void perturb_clock(const struct trapframe *f);
/* How many alarms of all CPUs came so far; 0 without schedules. Any IPL. */
uint64_t perturb_points(void);
/* Tell the console what the schedule was: the same schedule of the same command tells the same. */
void perturb_report(void);

#endif
