/*
 * Context switch (arch/alpha/hw/switch.S). While a thread does not run, its s0-s6 and ra lie on its
 * kernel stack, at hw.pcb.ksp. The PCB that PALcode reads by its physical address is one of two in
 * the CPU's block, so a struct thread may lie anywhere.
 */
#ifndef ARCH_ALPHA_HW_SWITCH_H
#define ARCH_ALPHA_HW_SWITCH_H

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/trapframe.h"

/*
 * Stop running `from`, the current thread, and run `to`, with its kernel stack, page tables, user
 * stack pointer, unique value and floating-point registers (arch/alpha/hw/fp.h); cpu->current,
 * to->cpu and $8 are set accordingly. Returns in `from` when it is switched to again; the value is
 * the thread that ran before it on that CPU. Every caller is at IPL_HIGH, because during the switch
 * the stack and cpu->current belong to different threads; for a switch to itself, where they do
 * not, IPL_CLOCK is enough.
 */
struct thread_hw *context_switch(struct thread_hw *from, struct thread_hw *to);

/*
 * Prepare a thread whose kstack_base and kstack_top are set for its first context_switch: it will
 * run start(previous thread) at the IPL of the switch, on its stack below the room for the user
 * frame. Sets kstack_limit, pcb.ksp and pcb.flags; the caller sets pcb.ptbr. start does not return.
 */
void context_prepare(struct thread_hw *t, void (*start)(struct thread_hw *previous));

/* Load another root (PFN of a level-1 page) for the current thread on this CPU. All translations of
   the CPU that lack ASM are invalidated. IPL_CLOCK or above. */
void context_load_root(uint64_t ptbr);

/* The current thread's first entry into user mode, by the complete frame that ends at kstack_top.
   IPL 0; does not return. */
void user_enter(void) __attribute__((noreturn));

/* The return path to user mode that user_enter jumps to, with SP at a complete frame. Set by
   arch/alpha/entry; constant after boot. */
extern void (*user_return)(void);

#endif
