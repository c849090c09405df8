/* Interface between the assembly and the C code of this folder. */
#ifndef ARCH_ALPHA_ENTRY_ENTRY_H
#define ARCH_ALPHA_ENTRY_ENTRY_H

#include "arch/alpha/hw/trapframe.h"

/* entry.S */
void entry_interrupt(void);
void entry_arithmetic(void);
void entry_memory(void);
void entry_instruction(void);
void entry_unaligned(void);
void entry_syscall(void);
void entry_syscall_traced(void);
void user_return_full(void);
void syscall_full(void);         /* a word of dispatch.c, not to be called from C */
long stack_stain(uint64_t byte); /* only in kernels with kernel/test */

/* boot.S, and the C functions that it calls */
void secondary_start(void);
void kernel_boot(uint64_t gp) __attribute__((noreturn));
void secondary_boot(struct cpu *c) __attribute__((noreturn));

/* dispatch.c: fill the tables of system calls. Boot only, before user mode is entered. */
void dispatch_boot(void);

/* trap.c: register the six entry points on this CPU. */
void entry_points_set(void);

/* trap.c: the handlers that entry.S calls with the frame that it built. The arguments before the
   frame are those of PALcode (entInt, entArith, entMM, entIF, entUna); IPL: that of the entry. */
void trap_interrupt(uint64_t kind, uint64_t vector, uint64_t param, struct trapframe *f);
void trap_arithmetic(uint64_t summary, uint64_t registers, struct trapframe *f);
void trap_memory(uint64_t va, uint64_t kind, int64_t cause, struct trapframe *f);
void trap_instruction(uint64_t kind, struct trapframe *f);
void trap_unaligned(uint64_t va, uint64_t opcode, uint64_t reg, struct trapframe *f);
void trap_stack_overflow(struct trapframe *f, uint64_t sp) __attribute__((noreturn));

#endif
