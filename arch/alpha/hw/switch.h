/*
 * Context switch (arch/alpha/hw/switch.S). A thread's register context lies on its kernel stack
 * while it does not run: s0-s6 and ra at hw.pcb.ksp. The PCB that PALcode reads by physical address
 * is one of two in the CPU's block, so struct thread may lie anywhere.
 */
#ifndef ARCH_ALPHA_HW_SWITCH_H
#define ARCH_ALPHA_HW_SWITCH_H

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/trapframe.h"

/*
 * Stop running `from` (the current thread) and run `to`, with its kernel stack, page tables, user
 * stack pointer and unique value; cpu->current, to->cpu and $8 follow. Live floating-point
 * registers of `from` are saved and the unit is off afterwards. Returns when somebody switches back
 * to `from`: the thread that ran last on this CPU. IPL_HIGH, the same on both sides: meanwhile the
 * stack and cpu->current belong to different threads.
 */
struct thread_hw *context_switch(struct thread_hw *from, struct thread_hw *to);

/*
 * Make a thread that has its stack (kstack_base, kstack_limit, kstack_top set) ready for its first
 * context_switch: it will then run start(previous thread) at the IPL of the switch, on the stack
 * below the place of the user frame. start does not return. pcb.ptbr is the caller's to set.
 */
void context_prepare(struct thread_hw *t, void (*start)(struct thread_hw *previous));

/* Load another level-1 page on this CPU for the current thread; every translation of the CPU is
 * dropped. IPL above 0. */
void context_load_root(uint64_t ptbr);

/* The current thread's first way into user mode: restore the frame at kstack_top. IPL 0; does not
 * return. */
void user_enter(void) __attribute__((noreturn));

/* Where user_enter goes on: the way out to user mode, by the complete frame that SP points to. The
 * trap floor (arch/alpha/entry) fills it in. Constant after boot. */
extern void (*user_return)(void);

#endif
