/* Registers and symbolised call chains on the console. For panics: one CPU at a time (static
 * storage). */
#ifndef KERNEL_BASE_BACKTRACE_H
#define KERNEL_BASE_BACKTRACE_H

#include "kernel/base/types.h"

struct trapframe;

/* Who called the caller, up to the stack's end, with the registers of each interrupted context on
 * the way. */
void backtrace_here(void);
/* The registers in f, and the call chain of what it interrupted, unless that was user mode. sp is
   the stack pointer of that moment; s0-s6 are taken from f. */
void backtrace_frame(const struct trapframe *f, uint64_t sp);

#endif
