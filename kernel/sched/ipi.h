/*
 * Inter-processor requests: a word of pending reasons for each CPU, handlers registered by the
 * subsystems. Handlers run at IPL_IPI and take no ranked lock.
 */
#ifndef KERNEL_SCHED_IPI_H
#define KERNEL_SCHED_IPI_H

#include "arch/alpha/hw/cpu.h"

enum ipi_reason { IPI_RESCHEDULE, IPI_SHOOTDOWN, IPI_STOP, IPI_CALL, IPI_REASONS };

/* Register the handler of a reason; at boot only. */
void ipi_register(enum ipi_reason r, void (*fn)(void));
/* Ask every online CPU of the mask but this one. Release order: what was stored before is seen by
 * the handler. */
void ipi_send(cpumask_t mask, enum ipi_reason r);
/* Serve what is pending for this CPU; for loops that wait for other CPUs at IPL_IPI. */
void ipi_poll(void);
/* Run fn(arg) on every CPU of the mask (this one included) and wait. IPL below IPL_IPI. */
void ipi_call(cpumask_t mask, void (*fn)(void *), void *arg);
extern cpumask_t cpu_online_mask; /* atomic */

#endif
