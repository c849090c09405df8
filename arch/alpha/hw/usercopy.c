/*
 * Access to user memory: the functions here check the range of addresses and call the functions of
 * usercopy.S, whose accesses have fix-ups. The exception table is sorted, so that a fix-up is found
 * by binary search.
 */
#include "arch/alpha/hw/usercopy.h"

#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"

/* usercopy.S. Those that return 0 or -EFAULT return an int, so that the functions below end in a
   jump to them. */
int user_copy_from(void *dst, const void *src, size_t nbytes);
int user_copy_to(void *dst, const void *src, size_t nbytes);
int user_clear(void *dst, size_t nbytes);
long user_copy_string(char *dst, const char *src, const void *limit);
long user_find_nul(const void *src, const void *limit);
int user_touch_write(void *quadword);
int user_load64(uint64_t *v, const void *p);
int user_load32(uint32_t *v, const void *p);
int user_swap32(void *p, uint32_t old, uint32_t new, uint32_t *seen);
int user_store64(void *p, uint64_t v);
int user_store32(void *p, uint32_t v);

struct fixup {
    uint64_t fault_pc, go_on_pc;
};
extern const struct fixup _ex_table_start[], _ex_table_end[];

/* The entries are in the order of the instructions' addresses (fixup_table_sorted checks this). */
uint64_t fixup_find(uint64_t pc)
{
    const struct fixup *low = _ex_table_start, *high = _ex_table_end;

    while (low < high) {
        const struct fixup *middle = low + (high - low) / 2;

        if (middle->fault_pc == pc)
            return middle->go_on_pc;
        if (middle->fault_pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* The load of kernel_read_u64 is user_load64's first instruction; that of kernel_peek is the only
   one whose fix-up is the next instruction. */
bool fixup_is_kernel_read(uint64_t pc)
{
    return pc == (uint64_t)user_load64 || fixup_find(pc) == pc + 4;
}

bool fixup_table_sorted(void)
{
    for (const struct fixup *f = _ex_table_start; f + 1 < _ex_table_end; f++)
        if (f[0].fault_pc >= f[1].fault_pc)
            return false;
    return &_ex_table_start[0] != &_ex_table_end[0];
}

int copyin(void *dst, vaddr_t usrc, size_t nbytes)
{
    if (!user_range_ok(usrc, nbytes))
        return -EFAULT;
    return user_copy_from(dst, (const void *)usrc, nbytes);
}

int copyout(vaddr_t udst, const void *src, size_t nbytes)
{
    if (!user_range_ok(udst, nbytes))
        return -EFAULT;
    return user_copy_to((void *)udst, src, nbytes);
}

int clear_user(vaddr_t udst, size_t nbytes)
{
    if (!user_range_ok(udst, nbytes))
        return -EFAULT;
    return user_clear((void *)udst, nbytes);
}

long copyin_str(char *dst, vaddr_t usrc, size_t max)
{
    if (max == 0)
        return -ENAMETOOLONG;
    if (usrc >= LAYOUT_USER_TOP)
        return -EFAULT;
    vaddr_t limit = max < LAYOUT_USER_TOP - usrc ? usrc + max : LAYOUT_USER_TOP;
    long nul = user_find_nul((const void *)usrc, (const void *)limit);
    if (nul < 0)
        return nul;
    if (nul == 0 || (vaddr_t)nul >= limit)
        return limit == LAYOUT_USER_TOP && nul == 0 ? -EFAULT : -ENAMETOOLONG;
    size_t nbytes = (vaddr_t)nul - usrc;
    long err = user_copy_from(dst, (const void *)usrc, nbytes);
    if (err)
        return err;
    /* Another thread may have changed the string meanwhile: its length is that of the copy. */
    dst[nbytes] = '\0';
    return (long)strlen(dst);
}

long copyin_str_in_step(char *dst, vaddr_t usrc, size_t max)
{
    if (unlikely(usrc > LAYOUT_USER_TOP - max))
        return copyin_str(dst, usrc, max);
    long n = user_copy_string(dst, (const char *)usrc, (const char *)usrc + max);
    return likely(n < (long)max) ? n : -ENAMETOOLONG;
}

int copyin_u64(uint64_t *v, vaddr_t ua)
{
    if (ua & 7)
        return copyin(v, ua, sizeof *v);
    return ua < LAYOUT_USER_TOP ? user_load64(v, (const void *)ua) : -EFAULT;
}

int copyin_u32(uint32_t *v, vaddr_t ua)
{
    if (ua & 3)
        return copyin(v, ua, sizeof *v);
    return ua < LAYOUT_USER_TOP ? user_load32(v, (const void *)ua) : -EFAULT;
}

int copyout_u64(vaddr_t ua, uint64_t v)
{
    if (ua & 7)
        return copyout(ua, &v, sizeof v);
    return ua < LAYOUT_USER_TOP ? user_store64((void *)ua, v) : -EFAULT;
}

int copyout_u32(vaddr_t ua, uint32_t v)
{
    if (ua & 3)
        return copyout(ua, &v, sizeof v);
    return ua < LAYOUT_USER_TOP ? user_store32((void *)ua, v) : -EFAULT;
}

int user_compare_swap(vaddr_t ua, uint32_t old, uint32_t new, uint32_t *seen)
{
    if ((ua & 3) || ua >= LAYOUT_USER_TOP)
        return -EFAULT;
    return user_swap32((void *)ua, old, new, seen);
}

int probe_write(vaddr_t ua, size_t nbytes)
{
    if (!user_range_ok(ua, nbytes))
        return -EFAULT;
    if (nbytes == 0)
        return 0;
    vaddr_t last = ua + nbytes - 1;
    for (vaddr_t at = ua & ~7UL; at <= last; at = (at | PAGE_MASK) + 1) {
        int err = user_touch_write((void *)at);
        if (err)
            return err;
    }
    return 0;
}

int kernel_read_u64(uint64_t *v, const void *p) { return user_load64(v, p); }
