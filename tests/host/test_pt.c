// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c
// SOURCES: mm/pt/pt_system.c
// SOURCES: mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/space/aspace_tree.c
// SOURCES: mm/space/fault.c
// SOURCES: mm/space/fork.c
// SOURCES: mm/space/anon.c
// SOURCES: mm/object/object.c mm/object/object_paging.c
// SOURCES:
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c
// SOURCES: mm/object/pager.c
// SOURCES: mm/object/rmap.c
// SOURCES: mm/space/object_fault.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/*
 * Page tables: each bit of PTEs, walks compared with address arithmetic, creating and pruning of
 * tables compared with a model, the self-map and the page-table-space addresses that a changed
 * entry invalidates, mappings in system space, and which CPUs a shootdown interrupts.
 */
#include "tests/host/vm.h"

#include "arch/alpha/hw/layout.h"

/* ---- bits ---- */

static void test_bits(void)
{
    pte_t rw = pt_user_bits(MAP_R | MAP_W, true), cow = pt_user_bits(MAP_R | MAP_W, false);
    pte_t rx = pt_user_bits(MAP_R | MAP_X, true), none = pt_user_bits(0, true);

    is(rw, PTE_V | PTE_KRE | PTE_URE | PTE_KWE | PTE_UWE | PTE_FOE, "read, write");
    is(cow, PTE_V | PTE_KRE | PTE_URE | PTE_FOW | PTE_FOE, "a store will fault");
    is(rx, PTE_V | PTE_KRE | PTE_URE | PTE_FOW, "read, execute");
    is(none, PTE_V | PTE_FOW | PTE_FOE, "no access, but the page stays");
    ok(!(pt_user_bits(MAP_R, true) & (PTE_KWE | PTE_UWE)), "no write without MAP_W");
    is(pte_pfn(pte_make(pfn_of(0xABCDEF), rw)).n, 0xABCDEF, "the page frame number is read back");
    is(pte_gh(3ul << PTE_GH_SHIFT), 3, "granularity hint");
    for (unsigned f = 0; f < 5; f++)
        if (pte_form((pte_t)f << PTE_FORM_SHIFT) != f)
            vm_die("form %u", f);
    is(PTE_FORM_MASK &
           (PTE_SW_COW | PTE_SW_WIRED | PTE_SW_SHARED | PTE_SW_SHPT | PTE_SW_AGED | PTE_SW_LEAVE),
       0, "forms and software bits do not overlap");
    is((PTE_SW_COW | PTE_SW_WIRED | PTE_SW_SHARED | PTE_SW_SHPT) & ~PTE_SW_MASK, 0,
       "software bits do not overlap the hardware's");
}

/* Free the tables that a test created without a map entry, then the space. */
static void prune_all(struct aspace *as)
{
    struct tb_gather g;

    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    pt_prune(&as->pt, 0, LAYOUT_USER_TOP, &g);
    tb_gather_flush(&g);
}

/* ---- walks: read a quadword at a page-table-space address as the hardware would ---- */

static uint64_t read_virtual(struct aspace *as, vaddr_t va)
{
    const pte_t *t = kseg_page(as->pt.root);
    const pte_t p1 = t[(va >> 33) & 1023];
    const pte_t *t2 = kseg_page(pte_pfn(p1));
    const pte_t p2 = t2[(va >> 23) & 1023];
    const pte_t *t3 = kseg_page(pte_pfn(p2));
    const pte_t p3 = t3[(va >> 13) & 1023];

    if (!pte_valid(p1) || !pte_valid(p2) || !pte_valid(p3))
        vm_die("0x%lx is not mapped", (unsigned long)va);
    return ((const uint64_t *)kseg_page(pte_pfn(p3)))[(va & PAGE_MASK) / 8];
}

static vaddr_t pt_space(vaddr_t va, unsigned level)
{
    uint64_t low = va & ((UINT64_C(1) << 43) - 1);

    for (; level <= 3; level++)
        low = ((low >> 13) << 3) | (0x3FFul << 33);
    return low | 0xFFFFFC0000000000ul;
}

static void test_selfmap(void)
{
    struct aspace *as = aspace_create(0);
    vaddr_t va = 0x123456000ul & ~PAGE_MASK;
    pte_t *p3 = pt_create(&as->pt, va, 3);

    ok(p3 != NULL, "tables are created");
    pt_set(p3, pte_make(pfn_of(77), PTE_V));
    is(read_virtual(as, pt_space(va, 3)), *p3, "the self-map shows the level-3 PTE");
    is(read_virtual(as, pt_space(va, 2)), *pt_lookup(&as->pt, va, 2),
       "the self-map shows the level-2 PTE");
    is(read_virtual(as, pt_space(va, 1)), *pt_lookup(&as->pt, va, 1),
       "the self-map shows the level-1 PTE");
    is(pt_space(0, 3), LAYOUT_PT_SPACE_BASE, "page-table space starts where the layout says");
    is(as->pt.tables, 3, "three tables");
    ok(pt_lookup(&as->pt, va + PTE_L2_SPAN, 3) == NULL &&
           pt_lookup(&as->pt, va + PTE_L2_SPAN, 2) != NULL,
       "without a table there is no PTE");
    ok(pt_lookup(&as->pt, va + PTE_L1_SPAN, 2) == NULL, "nor at level 2");
    {
        struct tb_gather g;

        tb_gather_begin(&g, &as->pt.loaded, TB_PTPAGE);
        tb_gather_table(&g, va, 2);
        ok(g.nvas == 1 && g.vas[0] == (pt_space(va, 3) & ~PAGE_MASK),
           "a changed level-2 PTE invalidates the level-3 page's address");
        tb_gather_begin(&g, &as->pt.loaded, TB_PTPAGE);
        tb_gather_table(&g, va, 1);
        ok(g.vas[0] == (pt_space(va, 2) & ~PAGE_MASK) && g.nvas > TB_GATHER_VAS,
           "a changed level-1 PTE invalidates the level-2 page's address and all below it");
    }
    pt_set(p3, 0);
    prune_all(as);
    aspace_unref(as);
}

/* ---- tables against a model ---- */

#define SPOTS 40u

static void test_prune(void)
{
    struct aspace *as = aspace_create(0);
    uint32_t pages = vm_nfree;
    vaddr_t spot[SPOTS];
    bool used[SPOTS] = {false};
    pte_t *l2;

    for (unsigned i = 0; i < SPOTS; i++)
        spot[i] = ((rnd(4) * PTE_L1_SPAN * 100) + rnd(3) * PTE_L2_SPAN * 77 +
                   rnd(1024) * PAGE_SIZE) |
                  0x2000;
    for (unsigned round = 0; round < 4000; round++) {
        unsigned i = (unsigned)rnd(SPOTS);
        struct tb_gather g;
        pte_t *p;

        tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
        if (!used[i]) {
            p = pt_create(&as->pt, spot[i], 3);
            if (!p)
                vm_die("no table");
            if (*p == 0)
                pt_set(p, pte_make(pfn_of(5), 0)); /* invalid but nonzero: it is counted too */
        } else {
            bool shared = false;

            for (unsigned j = 0; j < SPOTS; j++)
                shared |= j != i && used[j] && spot[j] == spot[i];
            p = pt_lookup(&as->pt, spot[i], 3);
            if (!p || *p == 0)
                vm_die("a PTE is lost");
            if (!shared)
                pt_set(p, 0);
            pt_prune(&as->pt, spot[i], spot[i] + PAGE_SIZE, &g);
        }
        used[i] = !used[i];
        tb_gather_flush(&g);
        if (round % 100 == 0)
            vm_check(as);
    }
    for (unsigned i = 0; i < SPOTS; i++) {
        pte_t *p = pt_lookup(&as->pt, spot[i], 3);

        if (p)
            pt_set(p, 0);
    }
    prune_all(as);
    ok(as->pt.tables == 1 && vm_nfree == pages, "an empty space has its root and no other table");
    is(pt_skip_holes(&as->pt, 0, LAYOUT_USER_TOP), LAYOUT_USER_TOP, "an empty space is one hole");
    ok(pt_create(&as->pt, 5 * PTE_L2_SPAN, 3) != NULL, "a table is created");
    is(pt_skip_holes(&as->pt, 0, LAYOUT_USER_TOP), 5 * PTE_L2_SPAN, "it is found after the hole");
    l2 = pt_create(&as->pt, 9 * PTE_L2_SPAN, 2);
    pt_set(l2, pte_make(pfn_of(9), PTE_V | PTE_KRE | PTE_SW_SHPT));
    prune_all(as);
    ok(pte_valid(*l2), "a shared table is not pruned, and its level-2 page stays");
    pt_set(l2, 0);
    prune_all(as);
    aspace_unref(as);
}

/* ---- system space ---- */

static void test_system(void)
{
    vaddr_t va = LAYOUT_WINDOW_BASE + 3 * PAGE_SIZE;
    struct aspace *as = aspace_create(0);
    pfn_t a, b, found;
    uint32_t pages;

    page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &a);
    page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &b);
    is(kmap_page(va, a), 0, "a system page is mapped");
    is(kmap_page(va + PTE_L2_SPAN, b), 0, "a system page is mapped in another table");
    ok(pfn_eq(kmap_lookup(va), a) && pfn_eq(kmap_lookup(va + PTE_L2_SPAN), b), "they are found");
    ok(pt_lookup(&as->pt, va, 3) && pfn_eq(pte_pfn(*pt_lookup(&as->pt, va, 3)), a),
       "in every address space");
    ok(!(*pt_lookup(&as->pt, va, 3) & (PTE_URE | PTE_UWE)),
       "but are not accessible from user mode");
    host_tb_singles = 0;
    kunmap_pages(va, 1, false);
    is(host_tb_singles, MAX_CPUS, "unmapping asks every CPU");
    ok(kmap_lookup(va).n == 0, "the page is unmapped");
    pages = vm_nfree;
    kunmap_pages(va + PTE_L2_SPAN, 1, true);
    is(vm_nfree, pages + 1, "a page is freed with its mapping if requested");
    page_free(a);
    is(system_fault(va, FAULT_READ), -14, "a fault where nothing is mapped");
    is(kmap_demand_zero(va, 2), 0, "demand zero");
    ok(kmap_lookup(va).n == 0, "demand zero allocates no page yet");
    is(system_fault(va + 100, FAULT_WRITE), 0, "the fault allocates one");
    found = kmap_lookup(va);
    ok(found.n && *(uint64_t *)kseg_page(found) == 0, "which is zero");
    is(system_fault(va, FAULT_READ), 0, "a second fault finds it");
    vm_fail_at = 0;
    is(system_fault(va + PAGE_SIZE, FAULT_READ), -12, "a fault without memory returns an error");
    vm_fail_at = -1;
    is(system_fault(LAYOUT_PT_SPACE_BASE, FAULT_READ), -14,
       "faults in page-table space are refused");
    kunmap_pages(va, 2, true);
    is(system_fault(va, FAULT_READ), -14, "afterwards nothing is mapped");
    aspace_unref(as);
}

/* ---- which CPUs a shootdown interrupts ---- */

static void test_shootdown(void)
{
    struct aspace *as = aspace_create(0);
    struct tb_stats before, after;
    struct tb_gather g;

    vm_switch(0, as);
    tb_stats(&before);
    host_tb_singles = host_tb_alls = 0;
    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    tb_gather_va(&g, 0x2000);
    tb_gather_va(&g, 0x4000);
    tb_gather_flush(&g);
    tb_stats(&after);
    is(host_tb_singles, 2, "with the space loaded on one CPU only that CPU invalidates");
    is(after.ipis, before.ipis, "and interrupts no other CPU");
    is(after.skipped, before.skipped + MAX_CPUS - 1, "the others are counted as skipped");
    vm_switch(2, as);
    vm_switch(0, as);
    host_tb_singles = host_tb_alls = 0;
    tb_stats(&before);
    tb_gather_va(&g, 0x2000);
    tb_gather_flush(&g);
    tb_stats(&after);
    is(host_tb_singles, 2, "with the space loaded on two CPUs both invalidate");
    is(after.ipis, before.ipis + 1, "with one interrupt");
    host_tb_singles = host_tb_alls = 0;
    for (unsigned i = 0; i < TB_GATHER_VAS + 1; i++)
        tb_gather_va(&g, i * PAGE_SIZE);
    tb_gather_flush(&g);
    ok(host_tb_alls == 2 && host_tb_singles == 0,
       "many addresses become an invalidation of everything");
    vm_unload(as);
    vm_switch(0, NULL);
    tb_stats(&before);
    host_tb_singles = host_tb_alls = 0;
    tb_gather_va(&g, 0x2000);
    tb_gather_flush(&g);
    is(host_tb_singles, 0, "with the space loaded nowhere nothing is invalidated");
    aspace_unref(as);
}

int main(void)
{
    uint32_t pages;

    vm_boot();
    kmap_demand_zero(LAYOUT_WINDOW_BASE, 1); /* creates the tables that system space keeps */
    kmap_demand_zero(LAYOUT_WINDOW_BASE + PTE_L2_SPAN, 1);
    pages = vm_nfree;
    test_bits();
    test_selfmap();
    test_prune();
    test_system();
    test_shootdown();
    is(vm_nfree, pages, "no page is lost");
    return tap_done();
}
