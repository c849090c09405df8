/*
 * Layout of a kernel stack.
 *
 *     kstack_top    +-----------------------+  a user thread's outermost trap frame ends here
 *                   | usable                |
 *     kstack_limit  +-----------------------+  soft limit: an entry with SP below it panics
 *                   | reserve,              |  room for what PALcode and entry code push
 *                   | STACK_RESERVE bytes   |  before SP is checked
 *     kstack_base   +-----------------------+
 *                   | guard page, no access |
 *                   +-----------------------+
 *
 * PALcode pushes its frame on the current stack and powers the machine off when that has no
 * translation, so a push onto the guard page cannot be handled. Therefore every function that calls
 * another touches the memory STACK_RESERVE bytes below its frame first (-fstack-check). That touch
 * faults on the guard page while SP still lies in the reserve, and the check at entry panics.
 */
#ifndef ARCH_ALPHA_HW_STACK_H
#define ARCH_ALPHA_HW_STACK_H

#define STACK_RESERVE 4096

/* Stacks in the image, for boot and for panics: they have a reserve, but no guard page. */
#define BOOT_STACK_SIZE      16384
#define EMERGENCY_STACK_SIZE 16384

#endif
