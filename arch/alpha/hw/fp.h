/*
 * Floating point of user mode; the kernel itself uses none. A thread gets the unit when it first
 * uses it after a switch (FEN fault) and loses it at the next: hw.pcb.flags, bit 0, says that its
 * registers are live in this CPU; otherwise they are in hw.fp. All for the current thread,
 * IPL_CLOCK or below; each takes care of preemption.
 */
#ifndef ARCH_ALPHA_HW_FP_H
#define ARCH_ALPHA_HW_FP_H

#include "arch/alpha/hw/thread_hw.h"

/* Round to nearest, all traps disabled: what a Linux/Alpha program starts with. */
#define FPCR_INITIAL (2UL << 58 | 7UL << 49 | 3UL << 61 | 1UL << 47)

/* FEN fault: load the current thread's registers and switch the unit on. */
void fp_enable(void);
/* Bring hw.fp up to date, so that it can be copied (fork, signal frame). The registers stay live.
 */
void fp_sync(void);
/* hw.fp was written (sigreturn): what is in the CPU is void. */
void fp_discard(void);
/* Registers 0 and FPCR_INITIAL (exec). */
void fp_reset(void);
/* hw.fp of a thread that has not run yet. */
void fp_init(struct thread_hw *t);

/* One register of the current thread (t), for the fix-up of unaligned accesses. $f31 reads 0 and is
 * not written. */
uint64_t fp_get(struct thread_hw *t, unsigned reg);
void fp_set(struct thread_hw *t, unsigned reg, uint64_t v);

/* fp.S: all registers and FPCR; the unit is on. */
void fp_store(struct fp_state *s);
void fp_load(const struct fp_state *s);

#endif
