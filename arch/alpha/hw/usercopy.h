/*
 * Access to user memory, with fix-ups for faults (arch/alpha/hw/usercopy.S; the section __ex_table
 * contains pairs of a faulting PC and a fix-up PC). The functions may wait in a page fault: IPL 0,
 * no spinlock held. A range that does not lie below LAYOUT_USER_TOP fails without an access.
 * Unaligned user addresses are allowed. The functions return 0 or -EFAULT unless stated otherwise.
 */
#ifndef ARCH_ALPHA_HW_USERCOPY_H
#define ARCH_ALPHA_HW_USERCOPY_H

#include "arch/alpha/hw/layout.h"
#include "kernel/base/types.h"

int copyin(void *dst, vaddr_t usrc, size_t nbytes);
int copyout(vaddr_t udst, const void *src, size_t nbytes);
/* Zero nbytes of user memory. */
int clear_user(vaddr_t udst, size_t nbytes);
/* Copy a NUL-terminated string of at most max bytes, its NUL included, to dst, which has room for
   max bytes. Returns its length without the NUL, -EFAULT, or -ENAMETOOLONG when there is no NUL
   within max bytes. */
long copyin_str(char *dst, vaddr_t usrc, size_t max);
/* The same in one pass, for short strings. dst is at the same place in its quadword as usrc is in
   its own; the quadwords that contain bytes of [dst, dst + max) may all be overwritten; max is
   below LAYOUT_USER_TOP. */
long copyin_str_in_step(char *dst, vaddr_t usrc, size_t max);
int copyin_u32(uint32_t *v, vaddr_t ua);
int copyin_u64(uint64_t *v, vaddr_t ua);
int copyout_u32(vaddr_t ua, uint32_t v);
int copyout_u64(vaddr_t ua, uint64_t v);
/* Store `new` in the aligned word at ua if it is `old`, atomically and with a barrier before and
   after; *seen is what it was. */
int user_compare_swap(vaddr_t ua, uint32_t old, uint32_t new, uint32_t *seen);
/* Is [ua, ua+nbytes) wholly below LAYOUT_USER_TOP, without wrap? (Host tests have user memory of
   their own.) */
#ifdef __MEGALITH_HOST__
bool user_range_ok(vaddr_t ua, uint64_t nbytes);
#else
static inline bool user_range_ok(vaddr_t ua, uint64_t nbytes)
{
    return nbytes <= LAYOUT_USER_TOP && ua <= LAYOUT_USER_TOP - nbytes;
}
#endif
/* Check that every page of the range can be written, by storing one quadword's own value in each
   atomically. A service probes its outputs in this way before it changes anything. */
int probe_write(vaddr_t ua, size_t nbytes);
/* The fix-up address for a faulting kernel PC, or 0. For the trap handler. Any IPL. */
uint64_t fixup_find(uint64_t pc);
/* Is pc the load of kernel_read_u64 or kernel_peek? Only these may fault on a kernel address. */
bool fixup_is_kernel_read(uint64_t pc);
/* Is the exception table nonempty and in ascending order? Checked at boot. */
bool fixup_table_sorted(void);

/* Read the aligned quadword at a kernel address that may have been unmapped (a packet of a
   lookaside list) into *v. Returns 0, or -EFAULT on a fault that cannot be resolved. IPL 0, no
   spinlock. */
int kernel_read_u64(uint64_t *v, const void *p);

/* The same in one instruction: returns the quadword, which the caller knows to be below 2^63, or -1
   on a fault that cannot be resolved. The fix-up is the next instruction, where v is still -1. */
static inline int64_t kernel_peek(const void *p)
{
    int64_t v = -1;

#ifdef __alpha__
    __asm__ volatile("77:\tldq %0, 0(%1)\n\t.section __ex_table, \"a\"\n\t.quad 77b, 77b + 4\n\t"
                     ".previous"
                     : "+&r"(v)
                     : "r"(p)
                     : "memory");
#else
    uint64_t u;

    if (kernel_read_u64(&u, p) == 0)
        v = (int64_t)u;
#endif
    return v;
}

#endif
