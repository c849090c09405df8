/* Sets of pinned pages (pin_set.h). */
#include "mm/space/pin_set.h"

#include "kernel/base/errno.h"
#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool_charged.h"
#include "sysman/params.h"

#define AT_ONCE         16u /* pages pinned in a hold of the mutex */
#define PAGELETS        (PAGE_SIZE / 512)
#define SHARE_OF_MEMORY 4u /* MAXBOBMEM = -1: a quarter */

static struct spinlock lock = SPINLOCK_INIT("pin sets", RANK_PIN_SETS, IPL_ASTDEL);
static struct list sets = LIST_INIT(sets); /* lock */
static uint64_t total;                     /* pages; atomic */

uint64_t pin_set_total(void) { return __atomic_load_n(&total, __ATOMIC_RELAXED); }

uint64_t pin_set_most(void)
{
    int64_t pagelets = sysparam(SYSPARAM_MAXBOBMEM);
    struct page_stats s;

    if (pagelets >= 0)
        return (uint64_t)pagelets / PAGELETS;
    page_stats(&s);
    return s.total / SHARE_OF_MEMORY;
}

/* By compare-and-swap: what one that is refused had added would be missing to another one. */
static bool charge(uint64_t npages)
{
    uint64_t most = pin_set_most(), now = pin_set_total();

    do
        if (now > most || npages > most - now)
            return false;
    while (!__atomic_compare_exchange_n(&total, &now, now + npages, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return true;
}

static size_t bytes_of(uint64_t npages)
{
    return sizeof(struct pin_set) + npages * sizeof(uint32_t);
}

/* Pin pages from the set's npages-th on until it has `most`. As aspace_pin(). Each piece is on the
 * list before the next one waits, so that the self-check knows its pins. */
static int fill(struct pin_set *s, struct aspace *as, uint32_t most)
{
    pfn_t page[AT_ONCE];
    int err = 0;

    while (s->npages < most && !err) {
        uint32_t n = MIN(most - s->npages, AT_ONCE);

        err = thread_killed()
                  ? -EINTR
                  : aspace_pin(as, s->first + ((uint64_t)s->npages << PAGE_SHIFT), n, page);
        for (uint32_t k = 0; k < n && !err; k++)
            s->page[s->npages + k] = (uint32_t)page[k].n;
        s->npages += err ? 0 : n;
    }
    return err;
}

/* Unpin the pages that it has, and free it. It is charged for `charged` pages. */
static void discard(struct pin_set *s, uint64_t charged)
{
    ipl_t ipl = spin_lock(&lock);

    list_remove(&s->all);
    spin_unlock(&lock, ipl);
    for (uint32_t k = 0; k < s->npages; k++)
        page_unpin(pfn_of(s->page[k]));
    __atomic_sub_fetch(&total, charged, __ATOMIC_RELAXED);
    npp_free_charged(s, bytes_of(charged), s->account);
}

int pin_set_create(struct aspace *as, vaddr_t first, uint64_t npages, struct pin_set **out)
{
    uint16_t account = pool_account();
    struct pin_set *s;
    ipl_t ipl;
    int err;

    if (npages > PIN_SET_PAGES)
        return -E2BIG;
    if (!charge(npages))
        return -EDQUOT;
    s = npp_alloc_charged(bytes_of(npages), account);
    if (!s) {
        __atomic_sub_fetch(&total, npages, __ATOMIC_RELAXED);
        return -ENOMEM;
    }
    s->refs = 1;
    s->account = account;
    s->npages = 0;
    s->first = first;
    ipl = spin_lock(&lock);
    list_add_tail(&sets, &s->all);
    spin_unlock(&lock, ipl);
    err = fill(s, as, (uint32_t)npages);
    if (err)
        discard(s, npages);
    else
        *out = s;
    return err;
}

void pin_set_unref(struct pin_set *s)
{
    if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) == 0)
        discard(s, s->npages);
}

void pin_set_walk(void (*fn)(pfn_t pfn, void *arg), void *arg)
{
    const struct pin_set *s;

    list_for_each_entry(s, &sets, all)
        for (uint32_t k = 0; k < s->npages; k++)
            fn(pfn_of(s->page[k]), arg);
}
