/*
 * Inter-processor requests: a word of pending reasons for each CPU, and a handler for each reason,
 * registered by the subsystem concerned. Handlers run at IPL_IPI and take no spinlock.
 */
#ifndef KERNEL_SCHED_IPI_H
#define KERNEL_SCHED_IPI_H

#include "arch/alpha/hw/cpu.h"

enum ipi_reason { IPI_RESCHEDULE, IPI_SHOOTDOWN, IPI_STOP, IPI_CALL, IPI_WATCH, IPI_REASONS };

/* Register the handler of a reason; at boot only. */
void ipi_register(enum ipi_reason r, void (*fn)(void));
/* Interrupt every online CPU of the mask except this one. Release order: the handler sees all that
 * was stored before. IPL above 0, so that the CPU does not change. */
void ipi_send(cpumask_t mask, enum ipi_reason r);
/* Serve the requests that are pending for this CPU. For loops that wait for other CPUs with
 * inter-processor interrupts blocked. Any IPL. */
void ipi_poll(void);
/* Run fn(arg) on every online CPU of the mask, at IPL_IPI, and wait until all have done so; this
 * CPU is included if its bit is set. IPL below IPL_IPI. Panics if a CPU does not answer. */
void ipi_call(cpumask_t mask, void (*fn)(void *), void *arg);
extern cpumask_t cpu_online_mask; /* atomic */

#endif
