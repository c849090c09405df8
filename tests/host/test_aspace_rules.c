// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c
// SOURCES: mm/pt/pt_system.c
// SOURCES: mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c mm/space/aspace_lock.c mm/space/aspace_protect.c
// SOURCES: mm/space/aspace_remap.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/space/aspace_tree.c
// SOURCES: mm/space/fault.c
// SOURCES: mm/space/fork.c
// SOURCES: mm/space/anon.c
// SOURCES: mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c
// SOURCES: mm/object/pager.c
// SOURCES: mm/object/rmap.c
// SOURCES: mm/space/object_fault.c mm/space/preload.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/*
 * Rules of address spaces: which addresses a mapping gets, that a fault invalidates what a CPU
 * remembers, and that PTEs of forms which the kernel never writes are taken for nothing else.
 */
#include <sys/wait.h>

#include "arch/alpha/hw/layout.h"
#include "kernel/base/panic.h"
#include "mm/pt/pt.h"
#include "tests/host/vm.h"

/* ---- choice of addresses: the lowest free range ---- */

#define PLACES 400u

static bool taken[PLACES];

static unsigned lowest_fit(unsigned n)
{
    for (unsigned i = 0;; i++) {
        unsigned j = 0;

        while (j < n && !(i + j < PLACES && taken[i + j]))
            j++;
        if (j == n)
            return i;
    }
}

static void test_places(void)
{
    static const unsigned prots[] = {MAP_R, MAP_R | MAP_W, MAP_R | MAP_X};
    struct aspace *as = aspace_create(0);

    for (unsigned round = 0; round < 20000; round++) {
        unsigned n = 1 + (unsigned)rnd(8), at = lowest_fit(n);
        bool map = at + n <= PLACES && rnd(2);

        if (map) {
            vaddr_t va = 0;

            if (aspace_map_anon(as, &va, n * PAGE_SIZE, prots[rnd(3)], 0) ||
                va != LAYOUT_P2_BASE + at * PAGE_SIZE)
                vm_die("the mapping is at 0x%lx, not at page %u", (unsigned long)va, at);
        } else {
            at = (unsigned)rnd(PLACES - n);
            if (aspace_unmap(as, LAYOUT_P2_BASE + at * PAGE_SIZE, n * PAGE_SIZE))
                vm_die("munmap fails");
        }
        for (unsigned i = at; i < at + n; i++)
            taken[i] = map;
        if (round % 1000 == 0)
            vm_check(as);
    }
    mutex_lock(&as->lock);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t len = (1 + rnd(20)) * PAGE_SIZE, align = PAGE_SIZE << rnd(4);
        vaddr_t low = LAYOUT_P2_BASE, high = low + PLACES * PAGE_SIZE;
        vaddr_t up = aspace_find_locked(as, len, align, low, high, false);
        vaddr_t down = aspace_find_locked(as, len, align, low, high, true), want = 0;

        for (vaddr_t va = low; va + len <= high && !want; va += align)
            if (aspace_range_free_locked(as, va, len))
                want = va;
        if (up != want)
            vm_die("a search from below finds 0x%lx", (unsigned long)up);
        want = 0;
        for (vaddr_t va = (high - len) & ~(align - 1); va >= low && !want; va -= align)
            if (aspace_range_free_locked(as, va, len))
                want = va;
        if (down != want)
            vm_die("a search from above finds 0x%lx", (unsigned long)down);
    }
    mutex_unlock(&as->lock);
    aspace_unref(as);
    ok(1, "a mapping without an address gets the lowest free one, a search from above the highest");
}

/* ---- how many mappings ---- */

/* What locking pages asks for, which nothing here does. */
uint64_t fluid_count(void) { return 0; }
uint64_t fluid_minimum(void) { return 0; }

/* No call makes more than there may be: a new mapping, a split by unmapping or protecting the
   middle, a move. What makes fewer, or no more, is still possible. */
static void test_most_entries(void)
{
    struct aspace *as = aspace_create(0);
    vaddr_t va = 0, first = 0, shared = 0, last = 0;
    uint64_t n = 1;

    if (aspace_map_anon(as, &shared, PAGE_SIZE, MAP_R, MAPF_SHARED) != 0)
        vm_die("no shared mapping");
    while (as->counts.entries < ASPACE_ENTRIES_MAX &&
           aspace_map_anon(as, &va, 4 * PAGE_SIZE, n % 2 ? MAP_R : MAP_R | MAP_W, 0) == 0) {
        first = n++ > 1 ? first : va;
        last = va;
        va = 0;
    }
    is(n, ASPACE_ENTRIES_MAX, "as many mappings as an address space may have");
    va = first;
    is(aspace_map_anon(as, &va, 4 * PAGE_SIZE, MAP_R, MAPF_FIXED), 0, "one is replaced");
    is(aspace_remap(
           as, &(struct remap){.old = last, .old_len = 4 * PAGE_SIZE, .new_len = 5 * PAGE_SIZE},
           &va),
       0, "one gets longer in place");
    is(aspace_remap(
           as, &(struct remap){.old = shared, .new_len = PAGE_SIZE, .flags = REMAP_MAYMOVE}, &va),
       -ENOMEM, "none is mapped a second time");
    va = 0;
    is(aspace_map_anon(as, &va, PAGE_SIZE, MAP_X, 0), 0, "mmap makes one more");
    va = first;
    is(aspace_map_anon(as, &va, 4 * PAGE_SIZE, MAP_R, MAPF_FIXED), -ENOMEM,
       "and then not even one that replaces another");
    is(aspace_unmap(as, last, 5 * PAGE_SIZE), 0, "one is unmapped");
    is(aspace_unmap(as, first + PAGE_SIZE, PAGE_SIZE), -ENOMEM, "none is split by unmapping");
    is(aspace_protect(as, first, PAGE_SIZE, MAP_R | MAP_W), -ENOMEM, "nor by protecting");
    is(aspace_remap(as,
                    &(struct remap){.old = first,
                                    .old_len = PAGE_SIZE,
                                    .new_len = PAGE_SIZE,
                                    .fixed = LAYOUT_P0_FIRST,
                                    .flags = REMAP_FIXED | REMAP_MAYMOVE | REMAP_KEEP},
                    &va),
       -ENOMEM, "nor moved");
    is(aspace_unmap(as, first, 8 * PAGE_SIZE), 0, "whole ones are unmapped");
    is(aspace_unmap(as, first + 9 * PAGE_SIZE, PAGE_SIZE), 0, "then one is split");
    is(as->counts.entries, ASPACE_ENTRIES_MAX - 1, "their number is counted");
    vm_check(as);
    aspace_unref(as);
}

/* The architecture lets a CPU cache a PTE that was not valid, or not yet writable. A fault on a PTE
   that is valid by now must invalidate this CPU's translation, or it would repeat for ever. */
static void test_remembered(void)
{
    struct aspace *as = aspace_create(0);
    vaddr_t va = 0;
    uint64_t before;

    if (aspace_map_anon(as, &va, PAGE_SIZE, MAP_R | MAP_W, 0) || aspace_fault(as, va, FAULT_WRITE))
        vm_die("a page cannot be touched");
    before = host_tb_singles;
    is(aspace_fault(as, va, FAULT_WRITE), 0, "a fault on a page that is valid already succeeds");
    is(host_tb_singles - before, 1, "and invalidates this CPU's translation");
    aspace_unref(as);
}

/* ---- PTEs of forms that the kernel never writes ---- */

static bool panic_expected;
static char panic_text[200];

void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(panic_text, sizeof(panic_text), fmt, ap);
    va_end(ap);
    if (panic_expected)
        _exit(strstr(panic_text, "where only a page or nothing can be") ||
                      strstr(panic_text, "which no page file has")
                  ? 42
                  : 43);
    bail_out("panic: %s", panic_text);
}

/* Operations that read the PTE of va, in an entry [from, to). */
static void look_fault(struct aspace *as, vaddr_t va) { aspace_fault(as, va, FAULT_WRITE); }
static void look_populate(struct aspace *as, vaddr_t va)
{
    aspace_populate(as, va - 2 * PAGE_SIZE, 4 * PAGE_SIZE, true);
}
static void look_unmap(struct aspace *as, vaddr_t va) { aspace_unmap(as, va, PAGE_SIZE); }
static void look_protect(struct aspace *as, vaddr_t va)
{
    aspace_protect(as, va, PAGE_SIZE, MAP_R);
}
static void look_forget(struct aspace *as, vaddr_t va) { aspace_forget(as, va, PAGE_SIZE, true); }
static void look_fork(struct aspace *as, vaddr_t va)
{
    (void)va;
    aspace_fork(as);
}
static void look_end(struct aspace *as, vaddr_t va)
{
    (void)va;
    vm_switch(0, NULL);
    aspace_unref(as);
}

/* The PFN of such a PTE is that of an unrelated page: code that took the PTE for a valid one would
   map or free this page. A slot is one of a page file that is not there. */
static void test_forms(void)
{
    static const struct {
        const char *what;
        void (*look)(struct aspace *as, vaddr_t va);
    } looks[] = {{"a fault", look_fault},         {"populate", look_populate},
                 {"unmap", look_unmap},           {"protect", look_protect},
                 {"forget", look_forget},         {"fork", look_fork},
                 {"the end of a space", look_end}};
    static const enum pte_form forms[] = {PTE_FORM_DZRO, PTE_FORM_PAGEFILE, PTE_FORM_TRANSITION};

    for (unsigned object = 0; object < 2; object++) {
        struct aspace *as = aspace_create(0), *child;
        vaddr_t va = 0;
        uint64_t value = 1;
        pte_t *p;

        vm_switch(0, as);
        if (aspace_map_anon(as, &va, 8 * PAGE_SIZE, MAP_R | MAP_W, 0) ||
            vm_access(as, va, FAULT_WRITE, &value))
            vm_die("a page cannot be touched");
        if (object) {
            child = aspace_fork(as);
            if (!child || vm_access(as, va, FAULT_WRITE, &value))
                vm_die("a page cannot be copied");
            aspace_unref(child);
        }
        va += 2 * PAGE_SIZE;
        p = pt_lookup(&as->pt, va, 3);
        for (unsigned k = 0; k < sizeof(looks) / sizeof(*looks); k++)
            for (unsigned f = 0; f < 3; f++) {
                int status = 0;
                pid_t pid;

                if (looks[k].look == look_protect && forms[f] == PTE_FORM_PAGEFILE)
                    continue; /* the protection is that of the entry until the page is read */
                pid = fork();
                if (pid == 0) {
                    panic_expected = true;
                    pt_set(p, (pte_t)forms[f] << PTE_FORM_SHIFT | pte_make(pfn_of(5), 0));
                    looks[k].look(as, va);
                    _exit(0);
                }
                waitpid(pid, &status, 0);
                is(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 42, "%s does not take a PTE %s %s",
                   looks[k].what, pte_form_name((pte_t)forms[f] << PTE_FORM_SHIFT),
                   object ? "in an object" : "in private memory");
            }
        vm_switch(0, NULL);
        aspace_unref(as);
    }
}

/* ---- a page is replaced: no CPU may use the new one while another still uses the old ---- */

static struct aspace *replacing;
static vaddr_t replaced;
static unsigned early, replacements;

static int file_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    (void)access;
    for (uint64_t i = offset; i < offset + count; i++) {
        pfn_t pfn;

        vm_page_take(PA_ZERO, PAGE_T_OBJECT, &pfn);
        mm_supply(o, i, pfn, MAP_R | MAP_W);
    }
    return 0;
}

static const struct pager_ops file_ops = {.name = "test file", .get = file_get};

/* Instead of vm_tlb_drop(): an invalidation of the page, on one of the CPUs. */
static void note_early(vaddr_t va)
{
    const pte_t *p = pt_lookup(&replacing->pt, replaced, 3);
    const pte_t *old = &vm_cpus[1].tlb[(replaced >> PAGE_SHIFT) % VM_TLB].pte;

    if (va == replaced && pte_valid(*old) && cpu_id() == 0) {
        replacements++;
        early += vm_permits(*p, FAULT_READ);
    }
    vm_tlb_drop(va);
}

/* CPU 1 has read the page; CPU 0 writes it. */
static void replace(struct aspace *as, vaddr_t va, const char *what)
{
    uint64_t value, now = 7;

    replacing = as;
    replaced = va;
    early = replacements = 0;
    vm_unload(as);
    vm_switch(1, as); /* alone, it maps the page of zeroes */
    if (vm_access(as, va, FAULT_READ, &value))
        vm_die("%s cannot be read", what);
    host_tb_hook = note_early;
    vm_switch(0, as);
    if (vm_access(as, va, FAULT_WRITE, &now))
        vm_die("%s cannot be written", what);
    host_tb_hook = vm_tlb_drop;
    vm_switch(1, as);
    ok(replacements && !early && !vm_access(as, va, FAULT_READ, &value) && value == 7,
       "%s is replaced when no CPU reads it any more", what);
    vm_check(as);
}

static void test_replaced(void)
{
    struct aspace *as = aspace_create(0), *child;
    struct mm_object *file = object_create(4, &file_ops, NULL);
    vaddr_t anon = 0, mapped = 0;

    vm_switch(0, as);
    if (!file || aspace_map_anon(as, &anon, 4 * PAGE_SIZE, MAP_R | MAP_W, 0) ||
        aspace_map_object(as, &mapped, 4 * PAGE_SIZE, MAP_R | MAP_W, 0, file, 0))
        vm_die("nothing can be mapped");
    replace(as, anon, "the page of zeroes");
    child = aspace_fork(as);
    if (!child)
        vm_die("no fork");
    replace(as, anon, "a page that a fork has shared");
    replace(as, mapped, "a page of a file mapped privately");
    vm_unload(as);
    aspace_unref(child);
    aspace_unref(as);
    object_unref(file);
}

/* ---- fork: pages to which the child is going to write ---- */

/* Does a write at va need a fault? */
static bool write_faults(struct aspace *as, vaddr_t va)
{
    const pte_t *p = pt_lookup(&as->pt, va, 3);

    return !p || (pt_load(p) & (PTE_V | PTE_FOW | PTE_UWE)) != (PTE_V | PTE_UWE);
}

/* Of three pages the first is written soon. Neither side faults there, and each has its own. */
static void test_soon(void)
{
    struct aspace *as = aspace_create(0), *a, *b;
    vaddr_t va = 0;
    uint64_t value = 1;

    vm_switch(0, as);
    if (aspace_map_anon(as, &va, 3 * PAGE_SIZE, MAP_R | MAP_W, 0) ||
        vm_access(as, va, FAULT_WRITE, &value) ||
        vm_access(as, va + PAGE_SIZE, FAULT_WRITE, &value))
        vm_die("pages cannot be touched");
    vaddr_t soon[] = {va, va + 2 * PAGE_SIZE, va + 64 * PAGE_SIZE, ~UINT64_C(7)};

    a = aspace_fork_writing(as, soon, 4);
    ok(a && !write_faults(as, va) && !write_faults(a, va), "neither side faults at such a page");
    ok(write_faults(as, va + PAGE_SIZE) && write_faults(a, va + PAGE_SIZE), "another is shared");
    ok(write_faults(a, va + 2 * PAGE_SIZE), "one that was never touched is not made");
    value = 2;
    if (vm_access(as, va, FAULT_WRITE, &value))
        vm_die("the parent cannot write");
    vm_switch(0, a);
    ok(!vm_access(a, va, FAULT_READ, &value) && value == 1,
       "what one writes the other does not see");
    vm_switch(0, as);
    aspace_unref(a);
    a = aspace_fork(as);
    b = aspace_fork_writing(as, soon, 1);
    ok(a && b && write_faults(as, va) && write_faults(a, va) && !write_faults(b, va),
       "the parent still shares it with an older child");
    vm_check(as);
    aspace_unref(a);
    aspace_unref(b);
    vm_switch(0, NULL);
    aspace_unref(as);
}

/* ---- the first access to pages of shared memory, and hints that are wrong ---- */

static bool is_fresh(struct aspace *as, vaddr_t va) { return aspace_lookup_locked(as, va)->fresh; }

/* Write `value` to page i from va on. Returns the result of the fault. */
static int put(struct aspace *as, vaddr_t va, unsigned i, uint64_t value)
{
    vm_switch(0, as);
    return vm_access(as, va + i * PAGE_SIZE, FAULT_WRITE, &value);
}

/* The value in page i, or -1. */
static uint64_t get(struct aspace *as, vaddr_t va, unsigned i)
{
    uint64_t value = 0;

    vm_switch(0, as);
    return vm_access(as, va + i * PAGE_SIZE, FAULT_READ, &value) ? ~UINT64_C(0) : value;
}

/* Two spaces touch pages of the memory that they share, in turns. */
static void first_of_two(struct aspace *as, struct aspace *other, vaddr_t va)
{
    uint32_t pages;
    bool right = true;

    for (unsigned i = 0; i < 150; i++) /* three leaves of the index */
        right = right && put(as, va, i, i + 1) == 0 && is_fresh(as, va);
    ok(right && as->counts.demand_zero == 150, "a space that is the first makes every page");
    for (unsigned i = 0; i < 150; i++)
        right = right && get(other, va, i) == i + 1;
    ok(right && !is_fresh(other, va), "another one finds them");
    ok(put(other, va, 160, 7) == 0 && is_fresh(other, va), "and is the first elsewhere");
    pages = vm_nfree;
    ok(get(as, va, 160) == 7 && !is_fresh(as, va) && vm_nfree == pages,
       "one that was wrong finds the page, and gives its own back");
    ok(get(as, va, 170) == 0 && is_fresh(as, va) && get(other, va, 170) == 0 &&
           vm_nfree == pages - 1,
       "a page is made by a read as well");
}

/* What forbids the access also does so where the last one made a page. */
static void first_refused(struct aspace *as, vaddr_t va)
{
    uint32_t pages;

    put(as, va, 180, 1);
    pages = vm_nfree;
    vm_fail_at = 0;
    ok(is_fresh(as, va) && put(as, va, 181, 1) == -ENOMEM && vm_nfree == pages,
       "a page that cannot be had is not made");
    vm_fail_at = -1;
    aspace_protect(as, va, 200 * PAGE_SIZE, MAP_R);
    ok(is_fresh(as, va) && put(as, va, 182, 1) == -EACCES &&
           aspace_fault(as, va + 183 * PAGE_SIZE, FAULT_EXEC) == -EACCES && vm_nfree == pages,
       "nor one that may not be written or executed");
    ok(get(as, va, 184) == 0 && vm_nfree == pages - 1, "one that may be read is");
}

static void test_first(void)
{
    struct aspace *as = aspace_create(0), *other;
    struct mm_object *o = object_create(4, NULL, NULL);
    uint32_t pages;
    vaddr_t va = 0, end = 0;

    vm_switch(0, as);
    if (aspace_map_anon(as, &va, 200 * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED) || !o ||
        aspace_map_object(as, &end, 8 * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED, o, 0))
        vm_die("nothing can be mapped");
    other = aspace_fork(as);
    if (!other)
        vm_die("no fork");
    first_of_two(as, other, va);
    first_refused(as, va);
    put(as, end, 3, 1);
    pages = vm_nfree;
    ok(is_fresh(as, end) && put(as, end, 4, 1) == -ENXIO && vm_nfree == pages,
       "nor one behind the object's end");
    object_truncate(o, 0);
    ok(put(as, end, 2, 1) == -ENXIO && vm_nfree == pages + 1, "nor one that was truncated");
    vm_check(as);
    vm_check(other);
    vm_switch(0, NULL);
    aspace_unref(other);
    aspace_unref(as);
    object_unref(o);
}

/* A child of as that is made; if it writes at va, it is the first to do so. */
static struct aspace *child_of(struct aspace *as, vaddr_t va, bool writes)
{
    struct aspace *child = aspace_fork(as);
    uint64_t value = 5;

    if (!child)
        vm_die("no fork");
    if (writes) {
        vm_switch(0, child);
        if (vm_access(child, va, FAULT_WRITE, &value))
            vm_die("the child cannot write");
        vm_switch(0, as);
    }
    return child;
}

/* What the last child wrote to first is copied by the next forks, until they forget. */
static void test_marked(void)
{
    struct aspace *as = aspace_create(0), *child;
    vaddr_t va = 0;
    uint64_t value = 1;
    unsigned copied = 0;

    vm_switch(0, as);
    if (aspace_map_anon(as, &va, 2 * PAGE_SIZE, MAP_R | MAP_W, 0) ||
        vm_access(as, va, FAULT_WRITE, &value) ||
        vm_access(as, va + PAGE_SIZE, FAULT_WRITE, &value))
        vm_die("pages cannot be touched");
    aspace_unref(child_of(as, va, true));
    child = child_of(as, va, false);
    ok(!write_faults(as, va) && !write_faults(child, va), "what a child wrote is copied");
    ok(write_faults(as, va + PAGE_SIZE) && write_faults(child, va + PAGE_SIZE),
       "what it did not write is shared");
    vm_switch(0, child);
    ok(!vm_access(child, va, FAULT_READ, &value) && value == 1, "the copy is the parent's page");
    vm_switch(0, as);
    vm_check(as);
    vm_check(child);
    aspace_unref(child);
    for (unsigned n = 0;; n++) { /* the last of these is the page for the copy */
        vm_fail_at = n;
        child = aspace_fork(as);
        vm_fail_at = -1;
        vm_check(as);
        if (child)
            break;
    }
    aspace_unref(child);
    for (unsigned n = 0; n < 80; n++) {
        child = child_of(as, va, false);
        copied += !write_faults(child, va);
        aspace_unref(child);
    }
    ok(copied < 32, "when children no longer write to it, forks stop to copy it");
    ok(!vm_access(as, va, FAULT_READ, &value) && value == 1, "the parent has what it had");
    vm_switch(0, NULL);
    aspace_unref(as);
}

/* ---- the heap grows ---- */

static void test_grow(void)
{
    struct aspace *as = aspace_create(0);
    vaddr_t va = 0, second;
    uint64_t value = 3;

    if (aspace_map_anon(as, &va, PAGE_SIZE, MAP_R | MAP_W, 0))
        vm_die("nothing can be mapped");
    second = va + 4 * PAGE_SIZE;
    if (aspace_map_anon(as, &second, PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED_NOREPLACE))
        vm_die("nothing can be mapped");
    is(aspace_grow_anon(as, va + PAGE_SIZE, PAGE_SIZE, MAP_R), -ENOENT, "other protection");
    is(aspace_grow_anon(as, va + 2 * PAGE_SIZE, PAGE_SIZE, MAP_R | MAP_W), -ENOENT,
       "nothing ends there");
    is(aspace_grow_anon(as, va + PAGE_SIZE, 4 * PAGE_SIZE, MAP_R | MAP_W), -EEXIST,
       "there is a mapping in the way");
    is(aspace_grow_anon(as, va + PAGE_SIZE, PAGE_SIZE, MAP_R | MAP_W), 0, "it gets longer");
    ok(as->counts.entries == 2 && as->counts.vsize == 3 * PAGE_SIZE &&
           as->counts.data == 3 * PAGE_SIZE && as->counts.vsize_peak == 3 * PAGE_SIZE,
       "no entry is made, its bytes are counted");
    vm_switch(0, as);
    ok(!vm_access(as, va + PAGE_SIZE, FAULT_WRITE, &value), "the new page can be written");
    is(aspace_grow_anon(as, va + 2 * PAGE_SIZE, 2 * PAGE_SIZE, MAP_R | MAP_W), 0,
       "it gets as long as to its neighbour");
    ok(as->counts.entries == 1 && as->counts.vsize == 5 * PAGE_SIZE, "they are one entry then");
    vm_check(as);
    vm_switch(0, NULL);
    aspace_unref(as);
}

/* ---- what a new program uses is mapped in advance ---- */

static bool present(struct aspace *as, vaddr_t va)
{
    const pte_t *p = pt_lookup(&as->pt, va, 3);

    return p && pte_valid(pt_load(p));
}

/* A space with text and data of a file and a stack, at text, data and below top. */
static struct aspace *program(struct mm_object *file, vaddr_t *text, vaddr_t *data, vaddr_t *stack)
{
    struct aspace *as = aspace_create(0);

    *text = *data = *stack = 0;
    if (!as || aspace_map_object(as, text, 6 * PAGE_SIZE, MAP_R | MAP_X, 0, file, 0) ||
        aspace_map_object(as, data, 6 * PAGE_SIZE, MAP_R | MAP_W, 0, file, PAGE_SIZE) ||
        aspace_map_anon(as, stack, 8 * PAGE_SIZE, MAP_R | MAP_W, MAPF_GROWSDOWN))
        vm_die("a program cannot be mapped");
    return as;
}

static void test_preload(void)
{
    struct mm_object *file = object_create(7, &file_ops, NULL);
    vaddr_t text, data, stack;
    struct aspace *first = program(file, &text, &data, &stack), *as;
    uint64_t value = 9;

    vm_switch(0, first);
    if (vm_access(first, text + PAGE_SIZE, FAULT_READ, &value) ||
        vm_access(first, text + 4 * PAGE_SIZE, FAULT_READ, &value) ||
        vm_access(first, data + 5 * PAGE_SIZE, FAULT_READ, &value))
        vm_die("the file cannot be read"); /* pages 1, 4 and 6 are in memory now */
    vm_switch(0, NULL);
    as = program(file, &text, &data, &stack);
    is(aspace_preload_locked(as), 0, "preload");
    ok(!present(as, text) && present(as, text + PAGE_SIZE) && !present(as, text + 2 * PAGE_SIZE) &&
           present(as, text + 4 * PAGE_SIZE) && write_faults(as, text + PAGE_SIZE),
       "of the text, what is in memory is mapped to be read");
    ok(!write_faults(as, data) && !present(as, data + PAGE_SIZE) &&
           !write_faults(as, data + 3 * PAGE_SIZE) && !present(as, data + 5 * PAGE_SIZE),
       "of the first four pages of data, those in memory are copied");
    ok(!write_faults(as, stack + 7 * PAGE_SIZE) && !present(as, stack + 6 * PAGE_SIZE),
       "the stack has its top page");
    is(as->pt.rss, 5, "they are counted");
    vm_check(as);
    vm_switch(0, as);
    value = 77;
    if (vm_access(as, data, FAULT_WRITE, &value))
        vm_die("data cannot be written");
    ok(!vm_access(as, text + PAGE_SIZE, FAULT_READ, &value) && value != 77,
       "what is written to the copy is not in the file");
    is(aspace_preload_locked(as), 0, "once more");
    ok(!vm_access(as, data, FAULT_READ, &value) && value == 77 && as->pt.rss == 5,
       "what is mapped already stays");
    vm_switch(0, NULL);
    aspace_unref(as);
    for (unsigned n = 0;; n++) {
        int err;

        as = program(file, &text, &data, &stack);
        vm_fail_at = n;
        err = aspace_preload_locked(as);
        vm_fail_at = -1;
        vm_check(as);
        aspace_unref(as);
        if (!err)
            break;
        is(err, -ENOMEM, "allocation %u fails", n);
    }
    aspace_unref(first);
    object_unref(file);
}

int main(void)
{
    vm_boot();
    test_first();
    test_soon();
    test_marked();
    test_grow();
    test_preload();
    test_places();
    test_most_entries();
    test_remembered();
    test_forms();
    test_replaced();
    return tap_done();
}
