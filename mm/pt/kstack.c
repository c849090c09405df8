/*
 * Kernel stacks.
 *
 * Slot n of KSTACK_SLOTS lies at LAYOUT_KSTACK_BASE + n * (KSTACK_PAGES + 1) pages; its lowest page
 * is the guard page. A slot is in use, or on a lock-free list: `cached`, one for each domain, holds
 * slots that are mapped and ready (thread creation takes one in a few dozen instructions), `empty`
 * those that are not mapped. Slots from next_slot on were never used.
 *
 * The head of a list is one quadword {version:24, count:20, slot + 1:20}, changed by
 * compare-and-swap. The links are in pages of their own, which are never freed, and not in the
 * stacks: a pop may read the link of a slot that another CPU has just popped and unmapped. The
 * version guards against A-B-A as in mm/pool/pool_lal.h. A change of the head goes with the
 * creation or the end of a thread, so 2^24 of them take far longer than the moment between the two
 * accesses of a pop.
 *
 * A stack is passed on from thread to thread, so its pages are charged to no user: the number of a
 * user's processes bounds them.
 *
 * The pages of cached stacks are not fluid: at most CACHED_MOST stacks for each domain, and those
 * that were freed at raised IPL.
 */
#include "mm/pt/kstack.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/panic.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/thread.h"
#include "mm/phys/failure.h"
#include "mm/phys/page.h"
#include "mm/pt/pt_system.h"
#include "mm/pt/shootdown.h"

/* Of the 209,715 that fit into 8 GiB: more threads than the process table allows. */
#define KSTACK_SLOTS 65536u
#define SLOT_BYTES   ((KSTACK_PAGES + 1) * PAGE_SIZE)
#define CACHED_MOST  64u /* stacks kept for each domain: 2 MiB; above that, */
#define TRIM_TO      32u /* all but this many are unmapped */

#define LINKS_PER_PAGE (PAGE_SIZE / sizeof(uint32_t))
#define LINK_PAGES     (KSTACK_SLOTS / LINKS_PER_PAGE)

#define HEAD_SLOT_MASK   0xFFFFFUL
#define HEAD_COUNT_ONE   (1UL << 20)
#define HEAD_VERSION_ONE (1UL << 40)

static uint64_t cached[RAD_MAX], empty;    /* heads; cached by the pages' domain; atomic */
static uint64_t next_slot;                 /* slots from here on were never used; atomic */
static uint32_t *links[LINK_PAGES];        /* pages of links: pointers set once; both atomic */
static uint64_t created, reused, unmapped; /* atomic */

static unsigned head_count(uint64_t h) { return (h >> 20) & HEAD_SLOT_MASK; }

/* The link of a slot. In all functions below, `slot` is the number of the slot plus 1; 0: none. */
static uint32_t *link_of(uint64_t slot)
{
    return &__atomic_load_n(&links[(slot - 1) / LINKS_PER_PAGE],
                            __ATOMIC_ACQUIRE)[(slot - 1) % LINKS_PER_PAGE];
}

static uint64_t slot_pop(uint64_t *head)
{
    uint64_t h, slot, next;

    do {
        h = __atomic_load_n(head, __ATOMIC_ACQUIRE);
        slot = h & HEAD_SLOT_MASK;
        if (slot == 0)
            return 0;
        next = h + HEAD_VERSION_ONE - HEAD_COUNT_ONE - slot +
               __atomic_load_n(link_of(slot), __ATOMIC_RELAXED);
    } while (
        !__atomic_compare_exchange_n(head, &h, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return slot;
}

/* Returns the new count. */
static unsigned slot_push(uint64_t *head, uint64_t slot)
{
    uint64_t h = __atomic_load_n(head, __ATOMIC_RELAXED);
    uint64_t next;

    do {
        uint64_t top = h & HEAD_SLOT_MASK;

        __atomic_store_n(link_of(slot), (uint32_t)top, __ATOMIC_RELAXED);
        next = h + HEAD_VERSION_ONE + HEAD_COUNT_ONE + slot - top;
    } while (
        !__atomic_compare_exchange_n(head, &h, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return head_count(next);
}

/* Take a never-used slot and make the page of its link. 0: there is no memory or no slot left. */
static uint64_t slot_new(void)
{
    uint64_t n = __atomic_load_n(&next_slot, __ATOMIC_RELAXED);
    uint32_t **page;

    do {
        if (n == KSTACK_SLOTS)
            return 0;
        page = &links[n / LINKS_PER_PAGE];
        if (!__atomic_load_n(page, __ATOMIC_ACQUIRE)) {
            uint32_t *none = NULL;
            pfn_t pfn;

            if (page_alloc(PA_KERNEL, PAGE_T_SYSTEM, RAD_ANY, &pfn))
                return 0;
            if (!__atomic_compare_exchange_n(page, &none, kseg_page(pfn), false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
                page_free(pfn); /* another CPU made it */
        }
    } while (!__atomic_compare_exchange_n(&next_slot, &n, n + 1, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return n + 1;
}

static uint64_t slot_base(uint64_t slot)
{
    return LAYOUT_KSTACK_BASE + (slot - 1) * SLOT_BYTES + PAGE_SIZE;
}

static uint64_t slot_of(uint64_t base)
{
    uint64_t n = (base - PAGE_SIZE - LAYOUT_KSTACK_BASE) / SLOT_BYTES;

    KASSERT(n < KSTACK_SLOTS && slot_base(n + 1) == base, "what is freed is a kernel stack");
    return n + 1;
}

static bool slot_map(uint64_t slot, unsigned rad)
{
    uint64_t va = slot_base(slot);
    pfn_t pfns[KSTACK_PAGES];

    if (page_alloc_bulk(PA_SHARED, PAGE_T_KSTACK, rad, pfns, KSTACK_PAGES))
        return false;
    for (unsigned i = 0; i < KSTACK_PAGES; i++)
        if (kmap_page(va + i * PAGE_SIZE, pfns[i])) {
            page_free_bulk(&pfns[i], KSTACK_PAGES - i);
            kunmap_pages(va, i, true);
            return false;
        }
    return true;
}

/* The domain of a mapped stack is that of its lowest page. The other pages may be of another
   domain, if that one had no more. */
static unsigned slot_rad(uint64_t slot)
{
    return rad_count == 1 ? 0 : page_rad(kmap_lookup(slot_base(slot)));
}

uint64_t kstack_alloc(unsigned rad, uint64_t *top)
{
    uint64_t slot;

    if (failure_inject(MEGA_ALLOC_STACK))
        return 0;
    slot = slot_pop(&cached[rad < rad_count ? rad : 0]);
    if (slot) {
        __atomic_fetch_add(&reused, 1, __ATOMIC_RELAXED);
    } else {
        slot = slot_pop(&empty);
        if (!slot)
            slot = slot_new();
        if (!slot)
            return 0;
        if (!slot_map(slot, rad)) {
            slot_push(&empty, slot);
            return 0;
        }
        __atomic_fetch_add(&created, 1, __ATOMIC_RELAXED);
    }
    *top = slot_base(slot) + KSTACK_PAGES * PAGE_SIZE;
    return slot_base(slot);
}

#define UNMAP_STEP 4u /* stacks that are unmapped together, with one invalidation on all CPUs */
_Static_assert(UNMAP_STEP *KSTACK_PAGES <= TB_GATHER_VAS, "not all translations are invalidated");

/* Unmap up to `most` stacks of a list, at most UNMAP_STEP. Returns their number. */
static unsigned unmap_some(uint64_t *head, unsigned most)
{
    uint64_t slot[UNMAP_STEP];
    struct tb_gather g;
    unsigned n = 0;

    tb_gather_begin(&g, NULL, TB_SYSTEM);
    while (n < MIN(most, UNMAP_STEP) && (slot[n] = slot_pop(head)) != 0)
        kunmap_gather(&g, slot_base(slot[n++]), KSTACK_PAGES, true);
    tb_gather_flush(&g);
    for (unsigned i = 0; i < n; i++)
        slot_push(&empty, slot[i]); /* now that no CPU has an old translation */
    __atomic_fetch_add(&unmapped, n, __ATOMIC_RELAXED);
    return n;
}

void kstack_free(uint64_t base)
{
    uint64_t slot = slot_of(base), *head = &cached[slot_rad(slot)];
    unsigned count = slot_push(head, slot), n;

    if (likely(count <= CACHED_MOST) || ipl_get() != IPL_NONE || spin_depth() != 0)
        return;
    while (count > TRIM_TO && (n = unmap_some(head, count - TRIM_TO)) != 0)
        count -= n;
}

void kstack_drain(void)
{
    for (unsigned i = 0; i < rad_count; i++)
        while (unmap_some(&cached[i], UNMAP_STEP))
            ;
}

void kstack_stats(struct kstack_stats *s)
{
    s->created = __atomic_load_n(&created, __ATOMIC_RELAXED);
    s->reused = __atomic_load_n(&reused, __ATOMIC_RELAXED);
    s->unmapped = __atomic_load_n(&unmapped, __ATOMIC_RELAXED);
    s->cached = 0;
    for (unsigned i = 0; i < rad_count; i++)
        s->cached += head_count(__atomic_load_n(&cached[i], __ATOMIC_RELAXED));
}

bool kstack_link_page(unsigned n, pfn_t *pfn)
{
    if (n >= LINK_PAGES)
        return false;
    *pfn = links[n] ? paddr_to_pfn(kseg_paddr(links[n])) : PFN_NONE;
    return true;
}

uint64_t kstack_link_pages(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < LINK_PAGES; i++)
        n += __atomic_load_n(&links[i], __ATOMIC_RELAXED) != NULL;
    return n;
}

void kstack_boot(void)
{
    kstack_ops.alloc = kstack_alloc;
    kstack_ops.free = kstack_free;
}
