/* Registers and symbolised call chains on the console. For panics: one CPU at a time (static
 * storage). */
#ifndef KERNEL_BASE_BACKTRACE_H
#define KERNEL_BASE_BACKTRACE_H

#include "kernel/base/types.h"
#include "kernel/base/unwind.h"

struct trapframe;

/* Who called the caller, up to the stack's end, with the registers of each interrupted context on
 * the way. */
void backtrace_here(void);
/* The registers in f, and the call chain of what it interrupted, unless that was user mode. sp is
   the stack pointer of that moment; s0-s6 are taken from f. */
void backtrace_frame(const struct trapframe *f, uint64_t sp);

struct backtrace_room { /* to work in; too large for a kernel stack */
    struct unwind_frame frame;
    struct unwind_work work;
};
/* The return PCs of the caller's callers into pc[], nearest first, at most `most`; those inside an
   interrupted context are left out. Returns how many. Any IPL; prints nothing, the room is the
   caller's own. */
unsigned backtrace_callers(struct backtrace_room *room, uint64_t *pc, unsigned most);

#endif
