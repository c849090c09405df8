/*
 * Floating-point context of user mode; the kernel itself uses no floating point. A thread gets the
 * unit at its first floating-point instruction after a context switch (FEN fault) and loses it at
 * the next switch. Bit 0 of hw.pcb.flags says that its registers are live in the CPU; otherwise
 * they are in hw.fp. Except for fp_init, the functions act on the current thread. IPL_CLOCK or
 * below; they block preemption themselves.
 */
#ifndef ARCH_ALPHA_HW_FP_H
#define ARCH_ALPHA_HW_FP_H

#include "arch/alpha/hw/thread_hw.h"

/* Round to nearest, all traps disabled: what a Linux/Alpha program starts with. */
#define FPCR_INITIAL (2UL << 58 | 7UL << 49 | 3UL << 61 | 1UL << 47)

/* For a FEN fault: enable the unit and load the registers, unless they are live already. */
void fp_enable(void);
/* Store live registers in hw.fp, so that it can be copied (fork, signal frame). They stay live. */
void fp_sync(void);
/* Drop live registers without storing them, after hw.fp was written (sigreturn). */
void fp_discard(void);
/* Set all registers to 0 and FPCR to FPCR_INITIAL (exec). */
void fp_reset(void);
/* The same in hw.fp of a thread that has not run yet. */
void fp_init(struct thread_hw *t);

/* Read or write one register of t, the current thread, for the emulation of unaligned accesses.
   $f31 reads as 0; writing it has no effect. */
uint64_t fp_get(struct thread_hw *t, unsigned reg);
void fp_set(struct thread_hw *t, unsigned reg, uint64_t v);

/* fp.S: store or load all registers and FPCR. The unit is enabled. */
void fp_store(struct fp_state *s);
void fp_load(const struct fp_state *s);

#endif
