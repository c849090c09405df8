/*
 * Pages that several processes have after a fork, on their way to a page file.
 *
 * Such a page leaves process by process: the pager goes over one address space at a time, and finds
 * the PTEs of the others when it comes to them. The page is written once, when it is found unused
 * in the first of them. Until the last PTE has gone, this table says in which slot its contents
 * are, so that the other PTEs get the same slot:
 *
 *     parent [COW]--+-> A (2)        parent [slot 7]     A (1), slot 7      parent [slot 7]
 *     child  [COW]--'                child  [COW]------> (table)            child  [slot 7]
 *
 * The contents cannot change meanwhile: a reference of the table, counted as a pin (page.share), is
 * one more user of the page, so a write copies it, even when only one PTE is left. And the table
 * holds the slot. Who reads the slot gets a page of his own, so a page that was shared takes
 * memory for each process that comes back to it.
 *
 * An entry goes when no PTE is left, when another page takes its place, or after ROUNDS_KEPT rounds
 * in which some process still uses the page: then the slot is that of the others alone. The pager
 * alone uses the table, so it needs no lock.
 */
#include "mm/pagefile/pagefile.h"
#include "mm/phys/page.h"
#include "mm/space/aspace_page.h"
#include "mm/space/aspace_private.h"
#include "mm/space/pin.h"

#define PAGES       1024u /* 8 MiB: what is written in a round or two */
#define ROUNDS_KEPT 8u

static struct written {
    pfn_t pfn; /* PFN_NONE: unused */
    pagefile_slot_t slot;
    uint32_t rounds;
} written[PAGES];
static unsigned nwritten;

/* PTEs that map the page; it may be falling. */
static uint32_t ptes_of(pfn_t pfn)
{
    const struct page *p = page_of(pfn);

    return __atomic_load_n(&p->refcnt, __ATOMIC_ACQUIRE) -
           __atomic_load_n(&p->share, __ATOMIC_RELAXED);
}

static void forget(struct written *w)
{
    pfn_t pfn = w->pfn;

    w->pfn = PFN_NONE;
    nwritten--;
    page_unpin(pfn);
    pagefile_release(w->slot);
}

bool written_find(pfn_t pfn, pagefile_slot_t *slot)
{
    const struct written *w = &written[pfn.n % PAGES];

    *slot = w->slot;
    return pfn_eq(w->pfn, pfn);
}

void written_add(pfn_t pfn, pagefile_slot_t slot)
{
    struct written *w = &written[pfn.n % PAGES];

    if (w->pfn.n)
        forget(w);
    if (!pagefile_hold(slot))
        return;
    page_pin_again(pfn);
    *w = (struct written){.pfn = pfn, .slot = slot};
    nwritten++;
}

unsigned written_sweep(enum written_sweep how)
{
    unsigned freed = 0;

    if (!nwritten)
        return 0;
    for (struct written *w = written; w < written + PAGES; w++) {
        if (!w->pfn.n)
            continue;
        if (ptes_of(w->pfn) == 0)
            freed++;
        else if (how != WRITTEN_ALL && (how == WRITTEN_LOOK || ++w->rounds < ROUNDS_KEPT))
            continue;
        forget(w);
    }
    return freed;
}

void written_pages(void (*fn)(void *arg, pfn_t pfn), void *arg)
{
    for (const struct written *w = written; nwritten && w < written + PAGES; w++)
        if (w->pfn.n)
            fn(arg, w->pfn);
}
