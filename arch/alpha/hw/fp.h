/*
 * Floating-point context of user mode; the kernel itself uses no floating point.
 *
 * Until its first floating-point instruction (FEN fault) a thread has the unit disabled, and all
 * its registers are 0. From then on, until exec, it has the unit whenever it runs: context_switch
 * saves and loads the registers. HW_FP_USED in hw.pcb.flags says so; hw.fp holds the registers
 * while the thread does not run, or after fp_sync().
 *
 * FEN cannot tell when registers are needed: on QEMU FTOIT and FTOIS do not fault while the unit is
 * disabled but read what the registers of the CPU hold. So these must be the thread's own in user
 * mode, disabled or not, and are cleared before a thread that has used none runs behind one that
 * has (cpu->fp_stale).
 *
 * Except for fp_init and fp_inherit, the functions act on the current thread. IPL_CLOCK or below;
 * they block preemption themselves, because a context switch would save the CPU's registers over
 * hw.fp.
 */
#ifndef ARCH_ALPHA_HW_FP_H
#define ARCH_ALPHA_HW_FP_H

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/thread_hw.h"

/* Round to nearest, all traps disabled: what a Linux/Alpha program starts with. */
#define FPCR_INITIAL (2UL << 58 | 7UL << 49 | 3UL << 61 | 1UL << 47)

/* Does the thread use floating point? Then the unit is enabled, in kernel mode too. Any IPL. */
static inline bool fp_used(void) { return current_hw->pcb.flags & HW_FP_USED; }
/* The current thread never runs again: nobody wants its registers. At IPL_CLOCK. */
static inline void fp_abandon(void) { current_hw->pcb.flags &= ~(uint64_t)HW_FP_USED; }
/* For a FEN fault: give the thread the unit. */
void fp_enable(void);
/* Store the registers in hw.fp, where they stay until the thread returns to user mode. */
void fp_sync(void);
/* Set all registers to 0 and FPCR to FPCR_INITIAL, as of a thread of a process that has not used
   the unit (exec). */
void fp_reset(void);
/* The same in hw.fp, all zero, of a thread that has not run yet and belongs to no process. */
void fp_init(struct thread_hw *t);
/* Give t, which has not run yet, the registers of the current thread (fork). */
void fp_inherit(struct thread_hw *t);

/* Read one register, for emulated instructions. $f31 reads as 0. */
uint64_t fp_get(unsigned reg);
/* Write one register and set bits of FPCR. Writing $f31 has no effect. */
void fp_set(unsigned reg, uint64_t v, uint64_t exceptions);
/* Replace all registers and FPCR (sigreturn). */
void fp_write(const struct fp_state *s);

/* fp.S: store or load all registers and FPCR. The unit is enabled. */
void fp_store(struct fp_state *s);
void fp_load(const struct fp_state *s);

#endif
