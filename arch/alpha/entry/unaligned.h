/* Unaligned accesses of user programs, fixed up as Linux/Alpha does. */
#ifndef ARCH_ALPHA_ENTRY_UNALIGNED_H
#define ARCH_ALPHA_ENTRY_UNALIGNED_H

#include "arch/alpha/hw/trapframe.h"

/*
 * Perform the access that trapped, bytewise, and give its result to the frame's register.
 * va: the address; opcode, reg: as entUna gets them in a0-a2. The frame is full and its PC already
 * that of the next instruction. Counts the access for the thread and the system. Returns 0; -EFAULT
 * when the memory is not there (the PC then names the instruction again); -EINVAL for an
 * instruction that is never fixed up (a locked access). IPL 0, may fault.
 */
int unaligned_fixup_user(struct trapframe *f, vaddr_t va, unsigned opcode, unsigned reg);

#endif
