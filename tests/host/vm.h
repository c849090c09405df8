/*
 * Shared by the tests of address spaces: physical pages and nonpaged pool, whose use is checked and
 * whose allocations can be made to fail, and CPUs with a translation buffer, which walk the page
 * tables as the hardware does.
 *
 * A freed page is filled with VM_POISON, a page freed as zeroed must be zero, and a page allocated
 * without PA_ZERO has arbitrary contents, so that a use of old data is noticed. The translation
 * buffer keeps every translation until it is invalidated.
 */
#ifndef TESTS_HOST_VM_H
#define TESTS_HOST_VM_H

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/tb.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_private.h"
#include "mm/phys/page_quick.h"
#include "mm/pool/pool.h"
#include "mm/pt/gh.h"
#include "mm/pt/pt.h"
#include "mm/pt/pt_system.h"
#include "mm/space/aspace_private.h"
#include "mm/space/region_memory.h"
#include "userland/lib/include/tap.h"

#define VM_PAGES  16384u
#define VM_POISON 0xDEADBEEFDEADBEEFul

/* Three windows of pages: within one table, across the border of two level-3 tables, and across
   that of two level-2 tables. */
#define WINDOW 48u
#define NPAGES (3 * WINDOW)
static const vaddr_t windows[3] = {0x80100000ul, 0xC0000000ul - WINDOW / 2 * 8192,
                                   0x400000000ul - WINDOW / 2 * 8192};

static inline vaddr_t va_of(unsigned i)
{
    return windows[i / WINDOW] + (vaddr_t)(i % WINDOW) * PAGE_SIZE;
}

/* ---- random numbers ---- */

static uint64_t vm_seed = 88172645463325252u;

__attribute__((unused)) static uint64_t rnd(uint64_t below)
{
    vm_seed ^= vm_seed << 13;
    vm_seed ^= vm_seed >> 7;
    vm_seed ^= vm_seed << 17;
    return vm_seed % below;
}

/* Takes the seed from SEED in the environment, if set, to repeat a run. */
__attribute__((unused)) static void vm_seed_init(void)
{
    const char *s = getenv("SEED");

    if (s)
        vm_seed = strtoull(s, NULL, 0);
    diag("SEED=0x%lx", (unsigned long)vm_seed);
}

__attribute__((noreturn, format(printf, 1, 2))) static void vm_die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("Bail out! ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    fflush(stdout);
    abort();
}

/* ---- allocations that fail on purpose ---- */

static int64_t vm_fail_at = -1; /* allocations until the one that fails; negative: none fails */
static bool vm_failed;          /* an allocation was made to fail */

static bool vm_fails(void)
{
    int64_t n = __atomic_load_n(&vm_fail_at, __ATOMIC_RELAXED);

    if (n < 0)
        return false;
    __atomic_store_n(&vm_fail_at, n - 1, __ATOMIC_RELAXED);
    if (n == 0)
        vm_failed = true;
    return n == 0;
}

/* ---- physical pages ---- */

struct page *page_db;
pfn_t page_zeroes;
static pthread_mutex_t vm_page_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t vm_free[VM_PAGES];
static uint32_t vm_nfree;

/* The fault takes its pages with the allocator's inner functions (mm/phys/page_quick.h). The caches
   of the CPUs are empty here, so that each page comes from page_take_zeroed(), unless allocations
   are being counted: then it is page_alloc() that may fail. */
struct page_cache page_caches[MAX_CPUS][RAD_MAX];
int64_t fluid_available = INT64_MAX / 2;

static void vm_pages_init(void)
{
    account_system->count[QUOTA_PAGES].limit = QUOTA_UNLIMITED;
    host_fail_at = &vm_fail_at;
    page_db = calloc(VM_PAGES, sizeof(*page_db));
    for (uint32_t n = VM_PAGES - 1; n > 0; n--)
        vm_free[vm_nfree++] = n;
}

static void vm_fill(pfn_t pfn, uint64_t with)
{
    uint64_t *p = kseg_page(pfn);

    for (unsigned i = 0; i < PAGE_SIZE / 8; i++)
        p[i] = with;
}

static void vm_page_take(unsigned flags, enum page_type type, pfn_t *out)
{
    pthread_mutex_lock(&vm_page_lock);
    if (vm_nfree == 0)
        vm_die("the test's pages are used up");
    /* Not always the page that was freed last. */
    if (vm_nfree > 8) {
        uint32_t i = vm_nfree - 1 - (vm_free[vm_nfree - 1] * 7u) % 8u, n = vm_free[i];

        vm_free[i] = vm_free[vm_nfree - 1];
        vm_free[vm_nfree - 1] = n;
    }
    *out = pfn_of(vm_free[--vm_nfree]);
    page_db[out->n] = (struct page){.refcnt = 1, .state = PAGE_ACTIVE, .type = (uint8_t)type};
    pthread_mutex_unlock(&vm_page_lock);
    vm_fill(*out, flags & PA_ZERO ? 0 : VM_POISON);
}

int page_alloc(unsigned flags, enum page_type type, unsigned rad, pfn_t *out)
{
    (void)rad;
    if (!(flags & PA_PROMISED) && vm_fails())
        return -12;
    vm_page_take(flags, type, out);
    return 0;
}

uint64_t page_take_zeroed(enum page_type type, unsigned rad, uint32_t charge, uint64_t owner)
{
    pfn_t pfn;

    (void)rad, (void)charge;
    vm_page_take(PA_ZERO, type, &pfn);
    page_of(pfn)->owner = owner;
    return pfn.n;
}

int page_alloc_bulk(unsigned flags, enum page_type type, unsigned rad, pfn_t *out, size_t n)
{
    if (vm_fails())
        return -12;
    for (size_t i = 0; i < n; i++)
        vm_page_take(flags, type, &out[i]);
    (void)rad;
    return 0;
}

/* After vm_pages_init(). */
void page_zeroes_boot(void) { vm_page_take(PA_ZERO, PAGE_T_SYSTEM, &page_zeroes); }

/* The first stretch of free pages in their order, wherever they are in the list. */
__attribute__((unused)) static int vm_page_stretch(uint64_t npages, uint64_t align, pfn_t *first)
{
    static bool is_free[VM_PAGES];
    uint32_t left = 0, run = 0, n;

    pthread_mutex_lock(&vm_page_lock);
    memset(is_free, 0, sizeof(is_free));
    for (uint32_t i = 0; i < vm_nfree; i++)
        is_free[vm_free[i]] = true;
    for (n = 1; n < VM_PAGES && run < npages; n++)
        run = is_free[n] && (run || n % align == 0) ? run + 1 : 0;
    if (run < npages)
        vm_die("the test's pages are used up");
    *first = pfn_of(n - npages);
    for (uint32_t i = 0; i < vm_nfree; i++)
        if (vm_free[i] - first->n >= npages)
            vm_free[left++] = vm_free[i];
    vm_nfree = left;
    pthread_mutex_unlock(&vm_page_lock);
    for (uint64_t k = 0; k < npages; k++) {
        page_db[first->n + k] = (struct page){
            .refcnt = 1, .state = PAGE_ACTIVE, .type = PAGE_T_OBJECT};
        vm_fill(pfn_of(first->n + k), VM_POISON);
    }
    return 0;
}

void page_free(pfn_t pfn)
{
    struct page *p = page_of(pfn);

    if (p->state != PAGE_ACTIVE || p->refcnt != 1)
        vm_die("page %lu is freed in state %u with %u references", (unsigned long)pfn.n, p->state,
               p->refcnt);
    vm_fill(pfn, VM_POISON);
    pthread_mutex_lock(&vm_page_lock);
    p->state = PAGE_FREE;
    vm_free[vm_nfree++] = (uint32_t)pfn.n;
    pthread_mutex_unlock(&vm_page_lock);
}

void page_free_zeroed(pfn_t pfn)
{
    const uint64_t *p = kseg_page(pfn);

    for (unsigned i = 0; i < PAGE_SIZE / 8; i++)
        if (p[i])
            vm_die("a page is freed as zeroed that is not");
    page_free(pfn);
}

void page_ref(pfn_t pfn)
{
    if (__atomic_fetch_add(&page_of(pfn)->refcnt, 1, __ATOMIC_RELAXED) == 0)
        vm_die("a reference from nothing");
}

void page_unref_last(pfn_t pfn, uint32_t before)
{
    if (before != 1)
        vm_die("a reference is dropped that nobody has");
    page_of(pfn)->refcnt = 1;
    page_free(pfn);
}

bool page_unref(pfn_t pfn)
{
    uint32_t before = __atomic_fetch_sub(&page_of(pfn)->refcnt, 1, __ATOMIC_ACQ_REL);

    if (before > 1)
        return false;
    page_unref_last(pfn, before);
    return true;
}

/* A batch holds nothing: what is added is freed at once. */
void page_batch_add_slow(struct page_batch *b, pfn_t pfn)
{
    if (b->state == PAGE_ZEROED)
        page_free_zeroed(pfn);
    else
        page_unref(pfn);
}

void page_batch_flush(struct page_batch *b) { (void)b; }

void page_free_bulk(const pfn_t *pfns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        page_unref(pfns[i]);
}

void page_free_zeroed_bulk(const pfn_t *pfns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        page_free_zeroed(pfns[i]);
}

void page_copy(pfn_t dst, pfn_t src) { memcpy(kseg_page(dst), kseg_page(src), PAGE_SIZE); }

/* ---- nonpaged pool: malloc, so that AddressSanitizer checks accesses ---- */

static int64_t vm_pool_bytes;

void *npp_alloc(size_t nbytes)
{
    if (vm_fails())
        return NULL;
    __atomic_fetch_add(&vm_pool_bytes, (int64_t)nbytes, __ATOMIC_RELAXED);
    return malloc(nbytes);
}

void *npp_alloc_zeroed(size_t nbytes)
{
    void *p = npp_alloc(nbytes);

    return p ? memset(p, 0, nbytes) : NULL;
}

void npp_free(void *p, size_t nbytes)
{
    __atomic_fetch_sub(&vm_pool_bytes, (int64_t)nbytes, __ATOMIC_RELAXED);
    free(p);
}

void npp_free_chain(void *first, size_t nbytes)
{
    for (void *next; first; first = next) {
        next = *(void **)first;
        npp_free(first, nbytes);
    }
}

/* ---- CPUs ---- */

#define VM_TLB 256u

static uint64_t vm_blocks; /* translations of blocks that were used; any CPU */

static struct vm_cpu {
    pthread_mutex_t lock; /* an IPI's handler runs in the sender's thread */
    struct aspace *loaded;
    struct thread thread;
    struct {
        vaddr_t va;
        pte_t pte;
    } tlb[VM_TLB];
} vm_cpus[MAX_CPUS];

/* Drop the translation of va, with that of the block of which it is a part. */
static void vm_tlb_drop_block(struct vm_cpu *c, vaddr_t va)
{
    vaddr_t block = va & ~(vaddr_t)(GH_SMALL * PAGE_SIZE - 1);

    for (vaddr_t at = block; at < block + GH_SMALL * PAGE_SIZE; at += PAGE_SIZE) {
        unsigned i = (at >> PAGE_SHIFT) % VM_TLB;

        if (c->tlb[i].va == at && (at == va || pte_gh(c->tlb[i].pte)))
            c->tlb[i].pte = 0;
    }
}

/* Keep the translations of a block, whose PTE at va is pte. */
static void vm_tlb_keep_block(struct vm_cpu *c, vaddr_t va, pte_t pte)
{
    uint64_t k = (va >> PAGE_SHIFT) % GH_SMALL;

    vm_blocks++;
    for (uint64_t n = 0; n < GH_SMALL; n++) {
        unsigned i = ((va >> PAGE_SHIFT) - k + n) % VM_TLB;

        c->tlb[i].va = va + (n - k) * PAGE_SIZE;
        c->tlb[i].pte = pte + ((n - k) << PTE_PFN_SHIFT);
    }
}

static void vm_tlb_drop(vaddr_t va)
{
    struct vm_cpu *c = &vm_cpus[cpu_id()];

    pthread_mutex_lock(&c->lock);
    if (va == HOST_TB_ALL)
        memset(c->tlb, 0, sizeof(c->tlb));
    else
        vm_tlb_drop_block(c, va);
    pthread_mutex_unlock(&c->lock);
}

/* Switch as the scheduler does: set the new bit, load the root, invalidate, clear the old bit. */
static void vm_switch(unsigned cpu, struct aspace *as)
{
    struct vm_cpu *c = &vm_cpus[cpu];
    struct aspace *old = c->loaded;

    host_cpu_enter(cpu, &c->thread.hw);
    if (old == as)
        return;
    if (as)
        __atomic_fetch_or(&as->pt.loaded, UINT64_C(1) << cpu, __ATOMIC_SEQ_CST);
    c->loaded = as;
    c->thread.root_pfn = as ? as->pt.root.n : system_root_pfn;
    vm_tlb_drop(HOST_TB_ALL);
    if (old)
        __atomic_fetch_and(&old->pt.loaded, ~(UINT64_C(1) << cpu), __ATOMIC_SEQ_CST);
}

void thread_set_root(struct thread *t, uint64_t root_pfn, cpumask_t *mask)
{
    (void)mask;
    (void)root_pfn;
    if (vm_cpus[cpu_id()].loaded)
        vm_switch(cpu_id(), NULL);
    t->root_pfn = system_root_pfn;
}

/* Unload the space from all CPUs. */
__attribute__((unused)) static void vm_unload(struct aspace *as)
{
    for (unsigned i = 0; i < MAX_CPUS; i++)
        if (vm_cpus[i].loaded == as)
            vm_switch(i, NULL);
}

/* The PTE that this CPU uses for a user access, from its translation buffer or by a walk. The CPU's
   lock is held on return and until the access is done, because an invalidation is acknowledged only
   between two instructions. */
static pte_t vm_translate_locked(struct aspace *as, vaddr_t va)
{
    struct vm_cpu *c = &vm_cpus[cpu_id()];
    unsigned i = (va >> PAGE_SHIFT) % VM_TLB;
    vaddr_t page = va & ~PAGE_MASK;

    if (c->tlb[i].va != page || !pte_valid(c->tlb[i].pte)) {
        pte_t *p = pt_lookup(&as->pt, va, 3);

        c->tlb[i].va = page;
        c->tlb[i].pte = p ? pt_load(p) : 0;
        if (pte_valid(c->tlb[i].pte) && pte_gh(c->tlb[i].pte))
            vm_tlb_keep_block(c, page, c->tlb[i].pte);
    }
    return c->tlb[i].pte;
}

static bool vm_permits(pte_t pte, enum fault_access a)
{
    if (!pte_valid(pte))
        return false;
    if (a == FAULT_WRITE)
        return (pte & (PTE_FOW | PTE_UWE | PTE_KWE)) == (PTE_UWE | PTE_KWE);
    if (!(pte & PTE_URE) || (pte & PTE_FOR))
        return false;
    return a == FAULT_READ || !(pte & PTE_FOE);
}

/* Access the quadword at va in the space that this CPU has loaded. 0 or the fault's error. */
__attribute__((unused)) static int vm_access(struct aspace *as, vaddr_t va, enum fault_access a,
                                             uint64_t *value)
{
    struct vm_cpu *c = &vm_cpus[cpu_id()];

    if (c->loaded != as)
        vm_die("the space is not loaded here");
    for (unsigned tries = 0; tries < 100000; tries++) {
        pte_t pte;
        int err;

        pthread_mutex_lock(&c->lock);
        pte = vm_translate_locked(as, va);
        if (vm_permits(pte, a)) {
            uint64_t *p = kseg_ptr(paddr_of(pfn_to_paddr(pte_pfn(pte)).a + (va & PAGE_MASK)));

            if (page_of(pte_pfn(pte))->state != PAGE_ACTIVE &&
                page_of(pte_pfn(pte))->state != PAGE_TRANSITION)
                vm_die("access to 0x%lx reaches a free page", (unsigned long)va);
            if (a == FAULT_WRITE)
                __atomic_store_n(p, *value, __ATOMIC_RELAXED);
            else
                *value = __atomic_load_n(p, __ATOMIC_RELAXED);
            pthread_mutex_unlock(&c->lock);
            return 0;
        }
        pthread_mutex_unlock(&c->lock);
        err = aspace_fault(as, va, a);
        if (err)
            return err;
        if (tries > 10) /* another thread is replacing the page */
            sched_yield();
    }
    vm_die("a fault at 0x%lx is served again and again", (unsigned long)va);
}

/* ---- checks ---- */

struct vm_tables {
    uint64_t tables, valid;
};

/* Check the PTE of a private page: it owns the page, or counts as one of several that may only read
   it. */
static void vm_check_private(const pte_t *p)
{
    const struct page *page = page_of(pte_pfn(*p));

    if (page->owner != 0 && (page->owner != kseg_paddr(p).a || page->refcnt != 1))
        vm_die("a private page's owner is not its PTE");
    if (page->refcnt > 1 && ((*p & (PTE_UWE | PTE_KWE)) || !(*p & PTE_SW_COW)))
        vm_die("a PTE may write a page that %u PTEs map", page->refcnt);
}

/* Check one table and those below it: their counts and owners. */
static void vm_check_table(pfn_t pfn, unsigned level, struct vm_tables *t)
{
    const pte_t *p = kseg_page(pfn);
    unsigned used = 0, n = level == 1 ? LAYOUT_USER_TOP / PTE_L1_SPAN : PTES_PER_PAGE;
    struct gh_count hints = {.errors = 0};

    t->tables++;
    if (level == 3)
        gh_count(p, n, 0, &hints); /* a table begins a block of any size */
    if (hints.errors)
        vm_die("%lu PTEs of a table have wrong hints", (unsigned long)hints.errors);
    for (unsigned i = 0; i < n; i++) {
        if (p[i] == 0)
            continue;
        used++;
        if (!pte_valid(p[i]))
            continue;
        if (level < 3) {
            if (page_of(pte_pfn(p[i]))->owner != kseg_paddr(&p[i]).a ||
                page_of(pte_pfn(p[i]))->type != PAGE_T_PT)
                vm_die("a table's owner is not its PTE");
            vm_check_table(pte_pfn(p[i]), level + 1, t);
            continue;
        }
        t->valid++;
        if (page_of(pte_pfn(p[i]))->state == PAGE_FREE)
            vm_die("a PTE maps a free page");
        if (pfn_eq(pte_pfn(p[i]), page_zeroes) && (p[i] & (PTE_UWE | PTE_KWE)))
            vm_die("a PTE may write the page of zeroes");
        if (page_of(pte_pfn(p[i]))->type == PAGE_T_PROCESS)
            vm_check_private(&p[i]);
    }
    if (page_of(pfn)->aux != used)
        vm_die("a level-%u table counts %u PTEs and has %u", level, page_of(pfn)->aux, used);
}

/* Check the spans below n, and that what each records of its subtree is right. */
static int vm_check_tree(struct treap_node *n, struct treap_node *up, uint64_t *max, bool *all)
{
    uint64_t below[2] = {0, 0};
    bool inner[2] = {true, true};
    const struct span *s;
    int count;

    if (!n)
        return 0;
    s = span_of(n);
    if (n->up != up || (up && n->weight > up->weight))
        vm_die("the search tree is broken");
    count = vm_check_tree(n->left, n, &below[0], &inner[0]) + 1 +
            vm_check_tree(n->right, n, &below[1], &inner[1]);
    if (s->max_gap < MAX(s->gap, MAX(below[0], below[1])) ||
        (s->all_inner && !(s->inner && inner[0] && inner[1])))
        vm_die("a span at 0x%lx records too small a gap of its subtree", (unsigned long)s->start);
    *max = s->max_gap;
    *all = s->all_inner;
    return count;
}

/* The largest stretch of [low, high) that no region reserves, found by looking at all of them. */
static uint64_t vm_largest_free(const struct aspace *as, vaddr_t low, vaddr_t high)
{
    uint64_t largest = 0;

    for (const struct span *r = span_of(treap_first(&as->region_tree)); r; r = span_next(r)) {
        if (r->end <= low || r->start >= high)
            continue;
        if (r->start > low)
            largest = MAX(largest, r->start - low);
        low = r->end;
    }
    return low < high ? MAX(largest, high - low) : largest;
}

/* Check that the table found last is the one that a walk finds. */
static void vm_check_recent(struct page_table *pt)
{
    vaddr_t va = (pt->recent & PT_NO_TABLE) << PTE_L2_SHIFT;
    const pte_t *l2 = pt->recent == PT_NO_TABLE ? NULL : pt_lookup(pt, va, 2);

    if (pt->recent != PT_NO_TABLE &&
        (!l2 || !pte_valid(*l2) || pte_pfn(*l2).n != pt->recent >> PT_RECENT_BITS))
        vm_die("the recent table 0x%lx is not that of 0x%lx",
               (unsigned long)(pt->recent >> PT_RECENT_BITS), (unsigned long)va);
}

/* Check that the space's tables, map and counters agree with each other. */
__attribute__((unused)) static void vm_check(struct aspace *as)
{
    struct vm_tables t = {0, 0};
    struct map_entry *e;
    vaddr_t last = 0;
    int n = 0;
    uint64_t max;
    bool all;

    vm_check_table(as->pt.root, 1, &t);
    if (t.tables != as->pt.tables)
        vm_die("%lu tables, counted %lu", (unsigned long)t.tables, (unsigned long)as->pt.tables);
    if (t.valid != as->pt.rss)
        vm_die("%lu valid PTEs, counted %lu", (unsigned long)t.valid, (unsigned long)as->pt.rss);
    vm_check_recent(&as->pt);
    list_for_each_entry(e, &as->entries, link) {
        if (e->start < last || e->start >= e->end)
            vm_die("entries overlap or are out of order");
        if (e->gap < vm_largest_free(as, last, e->start))
            vm_die("the entry at 0x%lx behind 0x%lx records a gap of 0x%lx, not 0x%lx",
                   (unsigned long)e->start, (unsigned long)last, (unsigned long)e->gap,
                   (unsigned long)vm_largest_free(as, last, e->start));
        last = e->end;
        n++;
    }
    if (vm_check_tree(as->tree.root, NULL, &max, &all) != n)
        vm_die("list and tree differ");
}

/* ---- regions: there are none, unless the test links mm/space/region.c ---- */

#ifndef VM_REAL_REGIONS
struct region *region_at_locked(struct aspace *as, vaddr_t va)
{
    (void)as;
    (void)va;
    return NULL;
}
bool region_overlaps_locked(struct aspace *as, vaddr_t va, uint64_t len)
{
    (void)as;
    (void)va;
    (void)len;
    return false;
}
bool region_border_locked(struct aspace *as, vaddr_t va)
{
    (void)as;
    (void)va;
    return false;
}
int region_fork_locked(struct aspace *src, struct aspace *dst)
{
    (void)src;
    (void)dst;
    return 0;
}
void region_clear_locked(struct aspace *as) { (void)as; }
int region_grow_to(struct aspace *as, vaddr_t va)
{
    (void)as;
    (void)va;
    return -EFAULT;
}
#endif

static void vm_boot(void)
{
    vm_seed_init();
    for (unsigned i = 0; i < MAX_CPUS; i++)
        pthread_mutex_init(&vm_cpus[i].lock, NULL);
    cpu_count = MAX_CPUS;
    cpu_online_mask = (1u << MAX_CPUS) - 1;
    host_tb_hook = vm_tlb_drop;
    vm_switch(0, NULL);
    vm_pages_init();
    page_zeroes_boot();
    pt_system_boot();
    pager_boot();
}

#endif
