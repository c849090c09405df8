/*
 * The pool of huge pages.
 *
 * The frames are reserved at boot in the largest stretches there are, like those of an entry of the
 * registry (mm/section/reserved.c), and stay reserved. One bit for each huge page says whether it
 * is free; the bits are in the order of the stretches. The lowest free page is taken first, so that
 * a section usually gets neighbours. What is taken is zeroed by its user.
 *
 * A page that is taken counts its uses: one by each section that has it, and one by each private
 * mapping that maps it. Whoever has a use may add one, so the count rises from nonzero only, and
 * nobody who sees it become zero has a rival. The user who took the page is charged for it until
 * then, whoever has the last use.
 *
 * The mutex is held for time in proportion to the pool's size, or to what one section takes.
 */
#include "mm/section/huge_pool.h"

#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/mutex.h"
#include "mm/phys/page.h"
#include "mm/phys/page_reserve.h"
#include "mm/pool/pool.h"
#include "mm/section/reserved.h"
#include "sysman/params.h"

_Static_assert(HUGE_PAGES == 512, "a huge page has the largest granularity hint");

static struct mutex pool_mutex = MUTEX_INIT("huge pages", MUTEX_HUGE_POOL, pool_mutex);
static struct rmd_extent extents[RMD_EXTENTS_MAX]; /* constant after boot */
static unsigned nextents;                          /* constant after boot */
static uint64_t total;                             /* huge pages; constant after boot */
static uint64_t *taken; /* one bit for each; NULL: there are none; pool_mutex */
static uint64_t nfree;  /* pool_mutex to write; atomic */

static struct huge_page {
    uint32_t uses;           /* atomic */
    struct account *account; /* charged for it; constant while it has uses */
} *pages;                    /* one for each; NULL: there are none */

/* ---- boot ---- */

/* Reserve the largest stretch there is, of at most npages. False: there is none. */
static bool take_stretch(uint64_t npages, struct rmd_extent *e)
{
    uint64_t most = 0;
    unsigned best = 0;

    for (unsigned i = 0; i < rad_count; i++) {
        uint64_t n = page_largest_stretch(i, HUGE_PAGES);

        if (n > most) {
            most = n;
            best = i;
        }
    }
    return most >= HUGE_PAGES &&
           page_reserve_part(npages, HUGE_PAGES, HUGE_PAGES, best, &e->first, &e->npages) == 0;
}

void huge_pool_boot(void)
{
    uint64_t wanted = (uint64_t)sysparam(SYSPARAM_NR_HUGEPAGES);

    if (wanted == 0)
        return;
    taken = npp_alloc_zeroed(BITMAP_WORDS(wanted) * sizeof(uint64_t));
    pages = npp_alloc_zeroed(wanted * sizeof(*pages));
    while (taken && pages && total < wanted && nextents < RMD_EXTENTS_MAX) {
        struct rmd_extent *e = &extents[nextents];

        if (!take_stretch((wanted - total) * HUGE_PAGES, e))
            break;
        page_reserve_entries(e->first, e->npages);
        total += e->npages / HUGE_PAGES;
        nextents++;
    }
    nfree = total;
    printk("huge pages: %lu of %lu\n", total, wanted);
}

/* ---- taking and giving ---- */

static pfn_t frame_of(uint64_t index)
{
    uint64_t run;

    return rmd_extent_frame(extents, index * HUGE_PAGES, &run);
}

static uint64_t index_of(pfn_t frame)
{
    uint64_t before = 0;

    for (unsigned i = 0; i < nextents; i++) {
        if (frame.n - extents[i].first.n < extents[i].npages)
            return (before + (frame.n - extents[i].first.n)) / HUGE_PAGES;
        before += extents[i].npages;
    }
    panic("frame %lx is of no huge page", frame.n);
}

static void set_free(uint64_t n) { __atomic_store_n(&nfree, n, __ATOMIC_RELAXED); }

int huge_pool_take(struct account *account, uint64_t n, pfn_t *frames)
{
    uint64_t got = 0;

    if (!account_charge(account, QUOTA_HUGE_PAGES, n))
        return -ENOMEM;
    mutex_lock(&pool_mutex);
    if (n > nfree) {
        mutex_unlock(&pool_mutex);
        account_release(account, QUOTA_HUGE_PAGES, n);
        return -ENOMEM;
    }
    for (uint64_t i = 0; got < n; i++) {
        KASSERT(i < total, "free huge pages are in the bitmap");
        if (taken[i / 64] == UINT64_MAX) {
            i |= 63;
        } else if (!bitmap_test(taken, i)) {
            bitmap_set(taken, i);
            pages[i].account = account;
            __atomic_store_n(&pages[i].uses, 1, __ATOMIC_RELAXED);
            frames[got++] = frame_of(i);
        }
    }
    set_free(nfree - n);
    mutex_unlock(&pool_mutex);
    return 0;
}

void huge_pool_use(pfn_t frame)
{
    __atomic_fetch_add(&pages[index_of(frame)].uses, 1, __ATOMIC_RELAXED);
}

uint32_t huge_pool_uses(pfn_t frame)
{
    return __atomic_load_n(&pages[index_of(frame)].uses, __ATOMIC_ACQUIRE);
}

/* Its last use has ended. */
static void put_back(uint64_t index)
{
    account_release(pages[index].account, QUOTA_HUGE_PAGES, 1);
    mutex_lock(&pool_mutex);
    KASSERT(bitmap_test(taken, index), "a huge page is given back once");
    bitmap_clear(taken, index);
    set_free(nfree + 1);
    mutex_unlock(&pool_mutex);
}

void huge_pool_give(const pfn_t *frames, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t index = index_of(frames[i]);
        /* Release: what this user wrote; acquire: what the others did. */
        uint32_t before = __atomic_fetch_sub(&pages[index].uses, 1, __ATOMIC_ACQ_REL);

        KASSERT(before != 0, "a huge page that is given back was in use");
        if (before == 1)
            put_back(index);
    }
}

/* ---- figures ---- */

void huge_pool_stats(struct huge_pool_stats *s)
{
    *s = (struct huge_pool_stats){total, __atomic_load_n(&nfree, __ATOMIC_RELAXED)};
}

void huge_pool_stretches(void (*fn)(pfn_t first, uint64_t npages, void *arg), void *arg)
{
    for (unsigned i = 0; i < nextents; i++)
        fn(extents[i].first, extents[i].npages, arg);
}

void huge_pool_recount(uint64_t *free, uint64_t *uses)
{
    *free = *uses = 0;
    for (uint64_t i = 0; i < total; i++) {
        *free += !bitmap_test(taken, i);
        *uses += pages[i].uses;
    }
}
