/*
 * Stacks of the kernel, seen by the machine.
 *
 *     kstack_top    +----------------------+  a user thread's outermost trap frame ends here
 *                   | usable               |
 *     kstack_limit  +----------------------+  soft limit: an entry with SP below it panics
 *                   | reserve, one          |  STACK_RESERVE bytes: room for what PALcode and
 *                   | STACK_RESERVE         |  entry code push before the check
 *     kstack_base   +----------------------+
 *                   | guard page, no access |
 *                   +----------------------+
 *
 * PALcode pushes its frame on the current stack and powers the machine off when that has no
 * translation, so a fault on the guard itself would come too late. Therefore the compiler is told
 * (-fstack-clash-protection) to touch what lies STACK_RESERVE below SP when a function begins: that
 * touch faults on the guard while SP still lies in the reserve, and the entry's check panics.
 */
#ifndef ARCH_ALPHA_HW_STACK_H
#define ARCH_ALPHA_HW_STACK_H

#define STACK_RESERVE 4096

/* Stacks in the image, for booting and for panics: no guard, but a reserve. */
#define BOOT_STACK_SIZE      16384
#define EMERGENCY_STACK_SIZE 16384

#endif
