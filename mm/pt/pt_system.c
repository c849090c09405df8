/*
 * Mapped system space: the system root, its level-2 pages, and the mapping of single pages (kernel
 * stacks, paged pool, windows). The comment at the top of mm/pt/pt.c says why no lock is needed.
 *
 * A system PTE is zero (nothing is mapped), demand zero (PTE_FORM_DZRO: system_fault() allocates
 * the page), or valid. When a valid PTE changes, every CPU invalidates the translation, because
 * system space is part of every address space.
 */
#include "mm/pt/pt_system.h"

#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/tb.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "mm/pt/pt.h"

uint64_t system_root_pfn;

static uint64_t tables = 1 + LAYOUT_L1_SYSTEM_USED; /* atomic: CPUs install tables without a lock */

uint64_t pt_system_tables(void) { return __atomic_load_n(&tables, __ATOMIC_RELAXED); }

#define PTE_DEMAND_ZERO ((pte_t)PTE_FORM_DZRO << PTE_FORM_SHIFT)

static bool is_system_space(vaddr_t va)
{
    return va >= LAYOUT_SYSTEM_BASE &&
           va < LAYOUT_SYSTEM_BASE + LAYOUT_L1_SYSTEM_USED * LAYOUT_L1_SPAN;
}

static pte_t *system_l2(vaddr_t va)
{
    const pte_t *root = kseg_page(pfn_of(system_root_pfn));

    KASSERT(is_system_space(va), "a system mapping lies in a used part of system space");
    return pt_table(root[pte_l1_index(va)]) + pte_l2_index(va);
}

/* Address of the level-3 PTE, or NULL when there is no table. */
static pte_t *system_pte(vaddr_t va)
{
    pte_t upper = pt_load(system_l2(va));

    return pte_valid(upper) ? pt_table(upper) + pte_l3_index(va) : NULL;
}

pte_t *pt_system_create(vaddr_t va)
{
    pte_t *l2 = system_l2(va);

    if (!pte_valid(pt_load(l2))) {
        pfn_t pfn;

        if (page_alloc(PA_ZERO | PA_KERNEL, PAGE_T_PT, RAD_ANY, &pfn) != 0)
            return NULL;
        page_of(pfn)->owner = kseg_paddr(l2).a;
        page_of(pfn)->aux = 0;
        if (pt_cas(l2, 0, pte_table(pfn)))
            __atomic_fetch_add(&tables, 1, __ATOMIC_RELAXED);
        else
            page_free_zeroed(pfn);
    }
    return pt_table(pt_load(l2)) + pte_l3_index(va);
}

int kmap_page(vaddr_t va, pfn_t pfn)
{
    pte_t *p = pt_system_create(va);

    if (!p)
        return -ENOMEM;
    KASSERT(!pte_valid(*p), "a system page is mapped once");
    pt_set(p, pte_make(pfn, PTE_SYSTEM));
    return 0;
}

int kmap_demand_zero(vaddr_t va, uint64_t npages)
{
    for (uint64_t i = 0; i < npages; i++) {
        pte_t *p = pt_system_create(va + i * PAGE_SIZE);

        if (!p)
            return -ENOMEM;
        if (*p == 0)
            pt_set(p, PTE_DEMAND_ZERO);
    }
    return 0;
}

pfn_t kmap_lookup(vaddr_t va)
{
    pte_t *p = system_pte(va);
    pte_t pte = p ? pt_load(p) : 0;

    return pte_valid(pte) ? pte_pfn(pte) : PFN_NONE;
}

void kunmap_gather(struct tb_gather *g, vaddr_t va, uint64_t npages, bool free_pages)
{
    pte_t *p = NULL;

    for (uint64_t i = 0; i < npages; i++, va += PAGE_SIZE) {
        pte_t old;

        p = p && pte_l3_index(va) != 0 ? p + 1 : system_pte(va);
        old = p ? *p : 0;
        if (old == 0)
            continue;
        pt_set(p, 0);
        if (!pte_valid(old))
            continue;
        tb_gather_va(g, va);
        if (free_pages)
            tb_gather_page(g, pte_pfn(old));
    }
}

void kunmap_pages(vaddr_t va, uint64_t npages, bool free_pages)
{
    struct tb_gather g;

    tb_gather_begin(&g, NULL, TB_SYSTEM);
    kunmap_gather(&g, va, npages, free_pages);
    tb_gather_flush(&g);
}

int system_fault(vaddr_t va, enum fault_access access)
{
    pte_t *p;
    pte_t old;
    pfn_t pfn;

    va &= ~PAGE_MASK;
    if (!is_system_space(va) || access == FAULT_EXEC)
        return -EFAULT;
    p = system_pte(va);
    old = p ? pt_load(p) : 0;
    if (pte_valid(old)) { /* another CPU has resolved the same fault */
        tb_invalidate_single(va);
        return 0;
    }
    if (pte_form(old) != PTE_FORM_DZRO)
        return -EFAULT;
    if (page_alloc(PA_ZERO | PA_KERNEL, PAGE_T_SYSTEM, RAD_ANY, &pfn) != 0)
        return -ENOMEM;
    page_of(pfn)->owner = kseg_paddr(p).a;
    if (!pt_cas(p, old, pte_make(pfn, PTE_SYSTEM)))
        page_free(pfn);
    return 0;
}

void pt_system_boot(void)
{
    pfn_t pfn;
    pte_t *root;

    if (page_alloc(PA_ZERO | PA_KERNEL, PAGE_T_PT, RAD_ANY, &pfn) != 0)
        panic("no page for the system page table");
    system_root_pfn = pfn.n;
    root = kseg_page(pfn);
    root[LAYOUT_L1_SELFMAP] = pte_table(pfn);
    page_of(pfn)->owner = kseg_paddr(&root[LAYOUT_L1_SELFMAP]).a;
    for (unsigned i = 0; i < LAYOUT_L1_SYSTEM_USED; i++) {
        if (page_alloc(PA_ZERO | PA_KERNEL, PAGE_T_PT, RAD_ANY, &pfn) != 0)
            panic("no page for the system page table");
        page_of(pfn)->owner = kseg_paddr(&root[LAYOUT_L1_SYSTEM_FIRST + i]).a;
        page_of(pfn)->aux = 0;
        root[LAYOUT_L1_SYSTEM_FIRST + i] = pte_table(pfn);
    }
    shootdown_boot();
    thread_set_root(thread_self(), system_root_pfn, NULL);
}
