/* Emulation of unaligned accesses of user programs, as on Linux/Alpha. */
#ifndef ARCH_ALPHA_ENTRY_UNALIGNED_H
#define ARCH_ALPHA_ENTRY_UNALIGNED_H

#include "arch/alpha/hw/trapframe.h"

/*
 * Perform the access that trapped, bytewise; a load stores its result in the frame's register or in
 * the thread's floating-point state. va, opcode and reg are entUna's a0-a2. The frame contains
 * s0-s6, and its PC is that of the next instruction. Counts the access for the thread and the CPU.
 * Returns 0; -EFAULT when the memory is not accessible; -EINVAL for an instruction that is not
 * emulated (a load-locked or store-conditional). With an error the PC is set back to the
 * instruction. IPL 0; may take page faults.
 */
int unaligned_fixup_user(struct trapframe *f, vaddr_t va, unsigned opcode, unsigned reg);

#endif
