/*
 * Access to user memory under fault fix-ups (arch/alpha/hw/usercopy.S, exception table in section
 * __ex_table: pairs of faulting PC and fix-up PC). All may sleep in a page fault: IPL 0, no
 * spinlock. Addresses not below LAYOUT_USER_TOP (start or end) fail without an access. Return 0 or
 * -EFAULT unless said otherwise. An unaligned user pointer is copied bytewise where Linux would
 * succeed.
 */
#ifndef ARCH_ALPHA_HW_USERCOPY_H
#define ARCH_ALPHA_HW_USERCOPY_H

#include "kernel/base/types.h"

int copyin(void *dst, vaddr_t usrc, size_t nbytes);
int copyout(vaddr_t udst, const void *src, size_t nbytes);
/* Zero nbytes of user memory. */
int clear_user(vaddr_t udst, size_t nbytes);
/* Copy a NUL-terminated string of at most max bytes with its NUL. Returns its length without the
   NUL, -EFAULT, or -ENAMETOOLONG when there is no NUL within max bytes. */
long copyin_str(char *dst, vaddr_t usrc, size_t max);
int copyin_u32(uint32_t *v, vaddr_t ua);
int copyin_u64(uint64_t *v, vaddr_t ua);
int copyout_u32(vaddr_t ua, uint32_t v);
int copyout_u64(vaddr_t ua, uint64_t v);
/* Is [ua, ua+nbytes) wholly below LAYOUT_USER_TOP, without wrap? */
bool user_range_ok(vaddr_t ua, uint64_t nbytes);
/* Write access to every page of the range, proved by an atomic add of zero to each: a service
   probes its outputs with it before it changes anything. */
int probe_write(vaddr_t ua, size_t nbytes);
/* Fix-up address for a faulting kernel PC, or 0. Used by trap dispatch. */
uint64_t fixup_find(uint64_t pc);
/* Is it the load of kernel_read_u64 or kernel_peek, which alone may be fixed up at a kernel
   address? */
bool fixup_is_kernel_read(uint64_t pc);
/* Boot check of the exception table. */
bool fixup_table_sorted(void);

/* Read one quadword at a kernel address that may have gone (lookaside pop); -EFAULT on a fault
   that cannot be resolved. Usable at IPL 0 for paged pool. */
int kernel_read_u64(uint64_t *v, const void *p);

/* The same in one instruction: the quadword, which the caller knows to be below 2^63, or -1 on such
   a fault. Its fix-up is the next instruction, which finds the -1. */
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
