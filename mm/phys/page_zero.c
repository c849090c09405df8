/*
 * Contents of pages: zeroing, also in advance, and copying.
 *
 * A page is allocated zeroed (PA_ZERO), or to a caller that overwrites it. Only being on a zeroed
 * stack or list marks a page as zero; page_zero_idle() and page_free_zeroed() put pages there,
 * page_free() never does.
 */
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "mm/phys/page_private.h"

pfn_t page_zeroes;

void page_zeroes_boot(void)
{
    if (page_alloc(PA_ZERO | PA_KERNEL, PAGE_T_SYSTEM, RAD_ANY, &page_zeroes) != 0)
        panic("no memory for the page of zeroes");
}

void page_zero(pfn_t pfn) { mem_zero_page(kseg_page(pfn)); }

void page_zero_if_needed(pfn_t pfn)
{
    void *p = kseg_page(pfn);

    if (!mem_is_zero(p, PAGE_SIZE))
        mem_zero_page(p);
}

void page_copy(pfn_t dst, pfn_t src) { mem_copy_page(kseg_page(dst), kseg_page(src)); }

/*
 * Take the lowest never-used page of r, whose lock is held, for the list of zeroed pages. It is
 * only read: on a sparse host it is zero, and has no memory until its owner writes to it. It is
 * read where it is, without the lock, and taken afterwards unless another CPU has taken it
 * meanwhile; had it also become the lowest again, a range would have been made. A page that is not
 * zero goes to the free list, for another call. Returns with the lock dropped.
 */
static void zero_unused_unlock(struct rad *r, ipl_t ipl)
{
    uint64_t first = r->ranges[0].first;
    uint32_t made = r->ranges_made;
    bool zero;

    spin_unlock(&r->lock, ipl);
    zero = mem_is_zero(kseg_page(pfn_of(first)), PAGE_SIZE);
    ipl = spin_lock(&r->lock);
    if (r->nranges > 0 && r->ranges[0].first == first && r->ranges_made == made) {
        range_take_low_locked(r, 1, &first);
        page_db[first].state = zero ? PAGE_ZEROED : PAGE_FREE;
        page_list_push_locked(&r->lists[zero ? PAGE_ZEROED : PAGE_FREE], first, first, 1);
    }
    spin_unlock(&r->lock, ipl);
}

/*
 * Zero one free page of r in advance. False: nothing to do. While it is zeroed, the page is counted
 * as free but is on no list, so the IPL stays raised until it is on one again, about a microsecond.
 * The lock is dropped meanwhile, so that others can take all other pages. Pages of the free list
 * come first.
 */
static bool zero_one(struct rad *r, uint64_t goal)
{
    struct page_list *zeroed = &r->lists[PAGE_ZEROED];
    uint64_t first = 0, last;

    if (__atomic_load_n(&zeroed->count, __ATOMIC_RELAXED) >= goal ||
        (__atomic_load_n(&r->lists[PAGE_FREE].count, __ATOMIC_RELAXED) == 0 &&
         __atomic_load_n(&r->range_pages, __ATOMIC_RELAXED) == 0))
        return false; /* nearly always, and without taking the lock */

    ipl_t ipl = spin_lock(&r->lock);

    if (zeroed->count < goal &&
        page_list_take_locked(&r->lists[PAGE_FREE], 1, PAGE_ZEROED, &first, &last) > 0) {
        spin_unlock_at_ipl(&r->lock);
        page_zero(pfn_of(first));
        spin_lock_at_ipl(&r->lock);
        page_list_push_locked(zeroed, first, first, 1);
    } else if (zeroed->count < goal && r->nranges > 0) {
        zero_unused_unlock(r, ipl);
        return true;
    }
    spin_unlock(&r->lock, ipl);
    return first != 0;
}

unsigned page_zero_idle(unsigned limit, uint64_t goal)
{
    unsigned home = rad_of_cpu(cpu_id()), done = 0;

    for (unsigned i = 0; i < rad_count; i++)
        while (done < limit && zero_one(&rads[(home + i) % rad_count], goal))
            done++;
    return done;
}
