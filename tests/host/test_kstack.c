// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/kstack.c mm/phys/page.c mm/phys/page_range.c mm/phys/fluid.c
// SOURCES: mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: kernel/base/string_extra.c
/*
 * Kernel stacks: guard pages, reuse, trimming, shortage of memory, and threads that allocate and
 * free them at the same time.
 */
#include "mm/pt/kstack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/layout.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/thread.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pt/pt_system.h"
#include "mm/pt/shootdown.h"
#include "mm/space/aspace.h"
#include "userland/lib/include/tap.h"

struct kstack_ops kstack_ops;

/* ---- system space: the page mapped at each address ---- */

#define MAPPED 4000
static uint64_t mapped[MAPPED]; /* atomic: PFN mapped at each page of the area of stacks */
static uint64_t kmap_failures;  /* the n-th call from now fails; 0: none */

static uint64_t *place(vaddr_t va)
{
    uint64_t n = (va - LAYOUT_KSTACK_BASE) / PAGE_SIZE;

    if (n >= MAPPED)
        bail_out("address %#lx is outside the area of stacks", va);
    return &mapped[n];
}

int kmap_page(vaddr_t va, pfn_t pfn)
{
    uint64_t none = 0;

    if (kmap_failures && --kmap_failures == 0)
        return -12;
    if (!__atomic_compare_exchange_n(place(va), &none, pfn.n, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        bail_out("mapped twice");
    return 0;
}

void kunmap_pages(vaddr_t va, uint64_t npages, bool free_pages)
{
    for (uint64_t i = 0; i < npages; i++) {
        uint64_t pfn = __atomic_exchange_n(place(va + i * PAGE_SIZE), 0, __ATOMIC_RELAXED);

        if (pfn && free_pages)
            page_free(pfn_of(pfn));
    }
}

void tb_gather_begin(struct tb_gather *g, cpumask_t *mask, enum tb_reason reason)
{
    memset(g, 0, sizeof(*g));
    g->mask = mask;
    g->reason = reason;
}

/* A translation lasts until the flush: who uses the address again before that maps it twice. */
void kunmap_gather(struct tb_gather *g, vaddr_t va, uint64_t npages, bool free_pages)
{
    for (uint64_t i = 0; i < npages; i++, va += PAGE_SIZE) {
        tb_gather_va(g, va);
        if (free_pages)
            tb_gather_page(g, kmap_lookup(va));
    }
}

void tb_gather_flush(struct tb_gather *g)
{
    if (g->nvas > TB_GATHER_VAS)
        bail_out("more addresses than one invalidation takes");
    for (; g->nvas; g->nvas--)
        __atomic_store_n(place(g->vas[g->nvas - 1]), 0, __ATOMIC_RELAXED);
    for (; g->npages; g->npages--)
        page_free(g->pages[g->npages - 1]);
}

pfn_t kmap_lookup(vaddr_t va) { return pfn_of(__atomic_load_n(place(va), __ATOMIC_RELAXED)); }

static bool whole(uint64_t base, uint64_t top)
{
    for (uint64_t va = base; va < top; va += PAGE_SIZE)
        if (!*place(va))
            return false;
    return top - base == KSTACK_PAGES * PAGE_SIZE && *place(base - PAGE_SIZE) == 0;
}

static uint64_t broken;        /* atomic */
static uint64_t owner[MAPPED]; /* atomic: the thread that owns the stack at this page */

static void give(uint64_t base)
{
    __atomic_store_n(&owner[place(base) - mapped], 0, __ATOMIC_RELAXED);
    kstack_free(base);
}

static void *churn(void *arg)
{
    uint64_t s = (uint64_t)arg * 31 + 7, have[12], n = 0, top;

    host_cpu_enter((unsigned)((uint64_t)arg % MAX_CPUS), NULL);
    for (unsigned i = 0; i < 40000; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        if ((s >> 62) && n < 12) {
            uint64_t b = kstack_alloc(0, &top);

            if (!b)
                continue;
            if (!whole(b, top) ||
                __atomic_exchange_n(&owner[place(b) - mapped], 1, __ATOMIC_RELAXED))
                __atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
            have[n++] = b;
        } else
            while (n > (s >> 40) % 4)
                give(have[--n]);
    }
    while (n > 0)
        give(have[--n]);
    return NULL;
}

int main(void)
{
    static uint64_t have[300];
    uint64_t top, fluid;
    struct kstack_stats s;
    pthread_t t[6];
    ipl_t ipl;

    rad_count = 2;
    page_boot_add_range(pfn_of(16), 8000);
    page_boot_done();
    kstack_boot();
    have[0] = kstack_ops.alloc(0, &top);
    ok(whole(have[0], top), "a stack is mapped above its guard page");
    kstack_ops.free(have[0]);
    have[1] = kstack_ops.alloc(0, &top);
    is(have[1], have[0], "a freed stack is used again");
    kstack_free(have[1]);

    fluid = fluid_count();
    for (unsigned n = 2; n <= KSTACK_PAGES; n++) {
        have[0] = kstack_alloc(0, &top); /* from the cache */
        kmap_failures = n;
        ok(kstack_alloc(0, &top) == 0, "page %u of a new stack cannot be mapped: no stack", n);
        kmap_failures = 0;
        kstack_free(have[0]);
        is(fluid_count(), fluid, "and no page is lost");
    }

    for (unsigned i = 0; i < 300; i++)
        have[i] = kstack_alloc(0, &top);
    ok(have[299] != 0, "300 stacks can exist at once");
    ipl = ipl_raise(IPL_CLOCK);
    for (unsigned i = 0; i < 100; i++)
        kstack_free(have[i]);
    ipl_restore(ipl);
    kstack_stats(&s);
    is(s.cached, 100, "stacks freed at raised IPL are all kept");
    for (unsigned i = 100; i < 300; i++)
        kstack_free(have[i]);
    kstack_stats(&s);
    ok(s.cached <= 64 && s.unmapped >= 236, "at IPL 0 all but some are unmapped");

    for (uint64_t i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, churn, (void *)i);
    for (unsigned i = 0; i < 6; i++)
        pthread_join(t[i], NULL);
    is(broken, 0, "six threads never get the same stack, and only whole ones");
    kstack_stats(&s);
    is(fluid_count() + s.cached * KSTACK_PAGES, fluid + KSTACK_PAGES, "no page is lost");

    uint64_t promise = fluid_count() - fluid_minimum();

    fluid_promise(promise);
    unsigned n = 0;
    while (n < 300 && (have[n] = kstack_alloc(0, &top)) != 0)
        n++;
    is(n, s.cached, "without memory only cached stacks can be allocated");
    while (n > 0)
        kstack_free(have[--n]);
    fluid_promise_end(promise);

    uint64_t far = kstack_alloc(1, &top), near = kstack_alloc(0, &top);

    for (vaddr_t va = far; va < far + KSTACK_PAGES * PAGE_SIZE; va += PAGE_SIZE)
        n += page_rad(kmap_lookup(va)) == 1;
    is(n, KSTACK_PAGES, "a stack of domain 1 has that domain's pages");
    is(page_rad(kmap_lookup(near)), 0, "a stack of domain 0 has pages of domain 0");
    kstack_free(far);
    have[0] = kstack_alloc(0, &top);
    ok(have[0] != far, "a stack that was freed is not used again in another domain");
    is(kstack_alloc(1, &top), far, "but in its own domain");
    kstack_free(far);
    kstack_free(near);
    kstack_free(have[0]);
    kstack_drain();
    kstack_stats(&s);
    is(s.cached, 0, "after draining no stack is cached");
    is(fluid_count(), fluid + KSTACK_PAGES, "and every page is free");
    return tap_done();
}
