/* Software completion of floating-point instructions (Alpha Architecture, /S qualifier). */
#ifndef ARCH_ALPHA_ENTRY_FP_COMPLETE_H
#define ARCH_ALPHA_ENTRY_FP_COMPLETE_H

#include "arch/alpha/hw/trapframe.h"

/*
 * Do in integers what the instruction before the frame's PC, which trapped, should have done: its
 * result goes to its register, its exceptions into FPCR. The current thread's, IPL 0; may fault for
 * the instruction. Returns 0 when the program goes on; the si_code of a SIGFPE for an exception
 * that the program has enabled (its control word), or for an instruction that is not one to
 * complete.
 */
int fp_complete(struct trapframe *f);

#endif
