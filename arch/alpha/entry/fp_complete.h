/* Software completion of floating-point instructions (Alpha Architecture, /S qualifier). */
#ifndef ARCH_ALPHA_ENTRY_FP_COMPLETE_H
#define ARCH_ALPHA_ENTRY_FP_COMPLETE_H

#include "arch/alpha/hw/trapframe.h"

/*
 * Emulate the floating-point instruction before the frame's PC, which trapped: store its result in
 * its register and its exceptions in FPCR, both of the current thread. Returns 0 when the program
 * continues, or the si_code of the SIGFPE to send: for an exception that the program's control word
 * enables, or for an instruction that is not completed in software. IPL 0; may take a page fault
 * to read the instruction.
 */
int fp_complete(struct trapframe *f);

#endif
