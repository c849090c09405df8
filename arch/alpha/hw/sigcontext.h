/*
 * The registers in the frame of a signal handler, in the layout of Linux/Alpha, and their way
 * between user memory and the current thread (usercopy.S). Nothing is copied in between: a frame of
 * a handler is written and read once for each signal.
 *
 * The functions take a user address that is a multiple of 8, of a context that lies wholly below
 * LAYOUT_USER_TOP, and return 0 or -EFAULT. They may wait in a page fault: IPL 0, no spinlock held.
 */
#ifndef ARCH_ALPHA_HW_SIGCONTEXT_H
#define ARCH_ALPHA_HW_SIGCONTEXT_H

#include "arch/alpha/hw/trapframe.h"

struct sigcontext {
    uint64_t onstack, mask, pc, ps;
    uint64_t regs[32];
    uint64_t ownedfp, fpregs[32];
    uint64_t fpcr, fp_control, reserved[2], ssize, sbase;
    uint64_t traparg[3], fp_trap_pc, fp_trigger_sum, fp_trigger_inst;
};

_Static_assert(sizeof(struct sigcontext) == 81 * 8, "sigcontext as Linux/Alpha has it");

/* Set all fields but those of floating point, from the complete frame f. */
long user_put_context(vaddr_t to, const struct trapframe *f, uint64_t mask);
/* Set PC and the integer registers of f. On an error f is unchanged, unless another thread unmaps
   the context at this moment. */
long user_get_context(struct trapframe *f, vaddr_t from);
/* Store and load $f0-$f30 and FPCR. For a thread that uses floating point: fp_used(). */
long user_put_fp(vaddr_t to);
long user_get_fp(vaddr_t from);

#endif
