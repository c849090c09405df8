/*
 * Windows in system space.
 *
 * All windows lie in the 8 GiB of one level-1 entry. Each starts at a multiple of 4 MiB, so that it
 * can have the largest granularity hints that its frames allow. They are kept in a list by address
 * and allocated first fit, since a system has only a handful. A level-3 table is allocated when
 * something is first mapped in its 8 MiB and is never freed (mm/pt/pt_system.c); a window that ends
 * leaves its PTEs zero.
 *
 * A hint covers a group of PTEs. window_end() clears all PTEs, then flushes the translation
 * buffers, and only then makes the addresses available again, so that no CPU sees a group half of
 * which has changed.
 *
 * The window mutex protects the list. PTEs are written by the window's owner only, without a lock.
 * Creation and mapping can fail for lack of memory or addresses.
 */
#include "mm/section/window.h"

#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/sched/mutex.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"
#include "mm/pt/pt.h"
#include "mm/pt/pt_system.h"

#define BLOCK (pte_gh_pages(3) * PAGE_SIZE)
#define BASE  LAYOUT_WINDOW_BASE
#define PAGES (LAYOUT_L1_SPAN / PAGE_SIZE)

static struct mutex window_mutex = MUTEX_INIT("window", MUTEX_WINDOW, window_mutex);
static struct list windows = LIST_INIT(windows); /* by address; window_mutex */

static vaddr_t end_of(const struct window *w)
{
    return (w->start + w->npages * PAGE_SIZE + BLOCK - 1) & ~(BLOCK - 1);
}

int window_create(uint64_t npages, struct window **out)
{
    struct window *new = npp_alloc(sizeof(*new)), *w;
    vaddr_t at = BASE;

    if (!new)
        return -ENOMEM;
    list_init(&new->link);
    new->npages = npages;
    mutex_lock(&window_mutex);
    list_for_each_entry(w, &windows, link) {
        if (npages <= (w->start - at) / PAGE_SIZE)
            break;
        at = end_of(w);
    }
    new->start = at;
    if (failure_inject(MEGA_ALLOC_WINDOW) || npages == 0 ||
        npages > PAGES - (at - BASE) / PAGE_SIZE) {
        npp_free(new, sizeof(*new));
        new = NULL;
    } else {
        list_add_before(&w->link, &new->link); /* w may be the head */
    }
    mutex_unlock(&window_mutex);
    if (!new)
        return -ENOSPC;
    *out = new;
    return 0;
}

int window_map(struct window *w, uint64_t page, pfn_t first, uint64_t n)
{
    KASSERT(page < w->npages && n <= w->npages - page, "frames are mapped inside their window");
    for (uint64_t done = 0, run; done < n; done += run) {
        vaddr_t va = w->start + (page + done) * PAGE_SIZE;
        pte_t *p = pt_system_create(va);

        if (!p) {
            kunmap_pages(w->start + page * PAGE_SIZE, done, false);
            return -ENOMEM;
        }
        run = MIN(n - done, (uint64_t)PTES_PER_PAGE - pte_l3_index(va));
        gh_fill(p, run, va >> PAGE_SHIFT, pfn_add(first, done), PTE_SYSTEM);
        pt_count(p, (int)run);
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return 0;
}

pfn_t window_frame(const struct window *w, uint64_t page)
{
    return kmap_lookup(w->start + page * PAGE_SIZE);
}

void window_end(struct window *w)
{
    kunmap_pages(w->start, w->npages, false);
    mutex_lock(&window_mutex);
    list_remove(&w->link);
    mutex_unlock(&window_mutex);
    npp_free(w, sizeof(*w));
}

void window_count(const struct window *w, struct gh_count *c)
{
    *c = (struct gh_count){.errors = 0};
    for (uint64_t page = 0, run; page < w->npages; page += run) {
        vaddr_t va = w->start + page * PAGE_SIZE;

        run = MIN(w->npages - page, (uint64_t)PTES_PER_PAGE - pte_l3_index(va));
        if (kmap_lookup(va).n)
            gh_count(pt_system_create(va), run, va >> PAGE_SHIFT, c);
    }
}

void window_census(struct census *c)
{
    const struct window *w;

    list_for_each_entry(w, &windows, link)
        census_explain(c, CENSUS_NONPAGED, sizeof(*w), 1);
}
