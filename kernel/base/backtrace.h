/* Registers and symbolised call chains on the console. The printing functions are for panics: their
   storage is static, so only one CPU may print at a time. */
#ifndef KERNEL_BASE_BACKTRACE_H
#define KERNEL_BASE_BACKTRACE_H

#include "kernel/base/types.h"
#include "kernel/base/unwind.h"

struct trapframe;

/* Print the call chain of the caller up to the end of the stack, with the registers of the first
   interrupted contexts in it. */
void backtrace_here(void);
/* Print the registers in f, s0-s6 too, and the call chain of the interrupted code, unless that was
   in user mode. sp is the interrupted code's stack pointer. */
void backtrace_frame(const struct trapframe *f, uint64_t sp);

struct backtrace_room { /* working storage; too large for a kernel stack */
    struct unwind_frame frame;
    struct unwind_work work;
};
/* Store the return PCs of the caller's callers in pc[], nearest first, at most `most` and up to the
   first interrupted context. Returns their number. Prints nothing; room is the caller's own. Any
   IPL. */
unsigned backtrace_callers(struct backtrace_room *room, uint64_t *pc, unsigned most);

#endif
