// SOURCES: kernel/base/span.c
// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c mm/pt/pt_system.c mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c mm/space/aspace_tree.c
// SOURCES: mm/space/fault.c
// SOURCES: mm/space/fork.c mm/space/anon.c mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c mm/object/pager.c
// SOURCES: mm/object/rmap.c mm/space/object_fault.c mm/space/aspace_protect.c
// SOURCES: mm/space/aspace_lock.c mm/space/region.c
// SOURCES: mm/space/region_memory.c mm/space/prot_code.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/*
 * Private memory in regions: the meaning of protection codes, where a region grows, each service
 * with each allocation failing in turn, locked pages that a pager wants back, the exact limit of
 * locked pages, and random calls compared with a plain model.
 */
#define VM_REAL_REGIONS
#include "tests/host/vm.h"

#include "kernel/base/abi/prtdef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "mm/phys/fluid.h"
#include "mm/space/prot_code.h"

#define K_EPERM  1
#define K_ENOMEM 12
#define K_EACCES 13
#define K_EFAULT 14
#define K_EBUSY  16
#define K_EINVAL 22

#define RX  (MAP_R | MAP_X)
#define RWX (MAP_R | MAP_W | MAP_X)

/* ---- the fluid count: the free pages, of which a minimum may not be locked ---- */

static uint64_t minimum;

uint64_t fluid_count(void) { return vm_nfree; }
uint64_t fluid_minimum(void) { return minimum; }

/* ---- pure parts ---- */

static void test_codes(void)
{
    static const int want[] = {0, -1, 0, 0, RWX, 0, 0, 0, 0, 0, 0, 0, RX, RX, RX, RX};
    unsigned prot, wrong = 0;

    for (uint32_t code = 0; code < 16; code++) {
        bool is_code = prot_of_code(code, &prot);

        wrong += is_code != (want[code] >= 0) || (is_code && prot != (unsigned)want[code]);
        if (is_code) { /* converting it back gives a code of the same meaning */
            unsigned again = 77;

            wrong += !prot_of_code(prot_to_code(prot), &again) || again != prot;
        }
    }
    wrong += prot_of_code(16, &prot) || prot_of_code(UINT32_MAX, &prot);
    is(wrong, 0, "protection codes give user mode the right access");
    ok(prot_to_code(MAP_R) == PRT$C_UR && prot_to_code(MAP_R | MAP_W) == PRT$C_UW &&
           prot_to_code(0) == PRT$C_NA,
       "access is converted back to a code, also without execution");
}

static void test_place(void)
{
    const vaddr_t start = 0x10000, end = start + 10 * PAGE_SIZE;
    unsigned wrong = 0;

    for (unsigned used = 0; used <= 10; used++)
        for (unsigned n = 1; n <= 11; n++) {
            vaddr_t up = start + used * PAGE_SIZE, down = end - used * PAGE_SIZE;
            bool fits = used + n <= 10;

            wrong += region_expand_place(start, end, up, false, n * PAGE_SIZE) != (fits ? up : 0);
            wrong += region_expand_place(start, end, down, true, n * PAGE_SIZE) !=
                     (fits ? down - n * PAGE_SIZE : 0);
        }
    wrong += region_expand_place(start, end, start, false, UINT64_MAX & ~PAGE_MASK) != 0;
    wrong += region_expand_place(start, end, end, true, UINT64_MAX & ~PAGE_MASK) != 0;
    is(wrong, 0, "a region grows at its end, up or down, as far as there is room");
}

/* ---- a space with a region ---- */

static struct aspace *space;
static struct region_view view;

static void begin(uint64_t pages, uint32_t flags)
{
    space = aspace_create(0);
    vm_switch(0, space);
    if (region_create(space, pages * PAGE_SIZE, 0, flags, 0, false, &view) != SS$_NORMAL)
        vm_die("no region");
}

static void end(void)
{
    vm_check(space);
    vm_switch(0, NULL);
    aspace_unref(space);
}

static vaddr_t page_va(unsigned i) { return view.start + i * PAGE_SIZE; }

static void put(unsigned i, uint64_t v)
{
    if (vm_access(space, page_va(i), FAULT_WRITE, &v) != 0)
        vm_die("page %u cannot be written", i);
}

static uint64_t get(unsigned i)
{
    uint64_t v = 0;

    if (vm_access(space, page_va(i), FAULT_READ, &v) != 0)
        vm_die("page %u cannot be read", i);
    return v;
}

static int read_error(unsigned i)
{
    uint64_t v;

    return vm_access(space, page_va(i), FAULT_READ, &v);
}

/* ---- every allocation fails in its turn ---- */

static int do_cretva(void)
{
    return region_create_va(space, view.id, page_va(2), 4 * PAGE_SIZE, 0);
}

static int do_expreg(void)
{
    vaddr_t va;

    return region_expand(space, view.id, 4 * PAGE_SIZE, 0, &va);
}

static int do_setprt(void)
{
    unsigned old;

    return aspace_set_protection(space, page_va(2), 4 * PAGE_SIZE, RX, &old) == -K_ENOMEM
               ? SS$_INSFMEM
               : SS$_NORMAL;
}

static int do_lock(void)
{
    bool any;

    return aspace_lock_pages(space, page_va(2), 4 * PAGE_SIZE, &any) == -K_ENOMEM ? SS$_INSFMEM
                                                                                  : SS$_NORMAL;
}

static int do_unlock(void)
{
    bool all;

    return aspace_unlock_pages(space, page_va(9), PAGE_SIZE, &all) == -K_ENOMEM ? SS$_INSFMEM
                                                                                : SS$_NORMAL;
}

static int do_delete(void) { return region_delete_va(space, view.id, page_va(2), 4 * PAGE_SIZE); }

static void test_failures(void)
{
    static const struct {
        const char *name;
        int (*fn)(void);
    } calls[] = {{"$CRETVA_64", do_cretva}, {"$EXPREG_64", do_expreg}, {"$SETPRT_64", do_setprt},
                 {"$LCKPAG_64", do_lock},   {"$ULKPAG_64", do_unlock}, {"$DELTVA_64", do_delete}};

    for (unsigned k = 0; k < ARRAY_SIZE(calls); k++) {
        unsigned failures = 0, wrong = 0;
        bool done = false;

        for (int64_t n = 0; !done; n++) {
            bool any;
            int status;

            begin(64, 0);
            region_create_va(space, view.id, page_va(0), 12 * PAGE_SIZE, 0);
            put(3, 33);
            put(9, 99);
            aspace_lock_pages(space, page_va(8), 3 * PAGE_SIZE, &any);
            vm_failed = false;
            vm_fail_at = n;
            status = calls[k].fn();
            vm_fail_at = -1;
            done = !vm_failed;
            if (!done) {
                failures++;
                wrong += status != SS$_INSFMEM || get(3) != 33 || get(9) != 99;
                wrong += space->counts.locked != 3 || space->counts.vsize != 12 * PAGE_SIZE;
                wrong += region_first_free_locked(space, &view) != page_va(12);
                put(2, 1);
            } else {
                wrong += status != SS$_NORMAL;
            }
            end();
        }
        ok(failures > 0 && wrong == 0, "%s: each of %u allocations that fails changes nothing",
           calls[k].name, failures);
    }
}

/* ---- locked pages and pagers ---- */

static unsigned gets;

static int file_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    (void)access;
    for (uint64_t i = offset; i < offset + count; i++) {
        pfn_t pfn;

        gets++;
        page_alloc(PA_ZERO, PAGE_T_OBJECT, RAD_ANY, &pfn);
        *(uint64_t *)kseg_page(pfn) = 0xF00 + i;
        mm_supply(o, i, pfn, MAP_R | MAP_W);
    }
    return 0;
}

static const struct pager_ops file_ops = {.name = "test file", .get = file_get};

/* Another CPU takes pages back all the time while this one locks and unlocks them. */
static struct mm_object *wanted;
static bool thief_ends; /* atomic */

static void *thief_main(void *arg)
{
    vm_switch(1, NULL);
    while (!__atomic_load_n(&thief_ends, __ATOMIC_ACQUIRE)) {
        mm_downgrade(wanted, 0, 4, 0);
    }
    return arg;
}

static void test_thief(void)
{
    unsigned locked = 0, refused = 0, wrong = 0;
    vaddr_t va = 0;
    pthread_t thief;
    bool set;

    wanted = object_create(4, &file_ops, NULL);
    begin(16, 0);
    aspace_map_object(space, &va, 4 * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED, wanted, 0);
    gets = 0;
    pthread_create(&thief, NULL, thief_main, NULL);
    /* Until both have happened often enough: the host may run the thief alone for a while. */
    for (unsigned round = 0; round < 1000000 && (gets < 400 || locked < 100); round++) {
        int err = aspace_lock_pages(space, va, 4 * PAGE_SIZE, &set);

        if (err) {
            refused++;
            wrong += err != -K_ENOMEM || space->counts.locked != 0;
            continue;
        }
        locked++;
        for (unsigned look = 0; look < 8; look++) {
            for (unsigned i = 0; i < 4; i++)
                wrong += !pte_valid(pt_load(pt_lookup(&space->pt, va + i * PAGE_SIZE, 3)));
            sched_yield();
        }
        wrong += aspace_unlock_pages(space, va, 4 * PAGE_SIZE, &set) != 0 || !set;
        sched_yield();
    }
    __atomic_store_n(&thief_ends, true, __ATOMIC_RELEASE);
    pthread_join(thief, NULL);
    ok(wrong == 0 && locked >= 100,
       "pages that a pager takes back stay while they are locked (%u times, %u refused)", locked,
       refused);
    ok(gets >= 400, "and are taken back in between");
    aspace_unmap(space, va, 4 * PAGE_SIZE);
    end();
    object_unref(wanted);
}

static void test_pager_wants_back(void)
{
    struct mm_object *o = object_create(16, &file_ops, NULL);
    struct aspace *child;
    vaddr_t va = 0, copy = 0;
    uint64_t v = 7;
    bool set;

    begin(16, 0);
    aspace_map_object(space, &va, 8 * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED, o, 0);
    aspace_map_object(space, &copy, 8 * PAGE_SIZE, MAP_R | MAP_W, 0, o, 8 * PAGE_SIZE);
    is(aspace_lock_pages(space, va + 2 * PAGE_SIZE, 2 * PAGE_SIZE, &set), 0,
       "pages of a file are locked");
    ok(!set && gets == 2 && space->counts.locked == 2, "locking makes them present");
    is(mm_downgrade(o, 0, 8, 0), -K_EBUSY,
       "a pager that takes all pages back gets an error for locked ones");
    is(vm_access(space, va + 2 * PAGE_SIZE, FAULT_READ, &v) || v != 0xF02 || gets != 2, 0,
       "the locked pages are still present");
    is(vm_access(space, va, FAULT_READ, &v) || v != 0xF00 || gets != 3, 0,
       "the others have to be supplied again");
    is(mm_downgrade(o, 0, 8, MAP_R), 0, "write access can be taken away from all pages");
    is(aspace_unlock_pages(space, va + 2 * PAGE_SIZE, PAGE_SIZE, &set) || !set, 0,
       "one page is unlocked");
    is(mm_downgrade(o, 0, 8, 0), -K_EBUSY, "the other one stays");
    gets = 0;
    is(vm_access(space, va + 2 * PAGE_SIZE, FAULT_READ, &v) || gets != 1, 0,
       "the unlocked page was taken back");
    aspace_unmap(space, va, 8 * PAGE_SIZE);
    is(mm_downgrade(o, 0, 8, 0), 0, "after unmapping no page is locked");
    is(space->counts.locked, 0, "and none is counted as locked");

    gets = 0; /* private mapping: locking copies the page, the file's may be taken back */
    is(aspace_lock_pages(space, copy, PAGE_SIZE, &set) || gets != 1, 0, "a private copy is locked");
    is(mm_downgrade(o, 8, 1, 0), 0, "the file's page is taken back");
    is(vm_access(space, copy, FAULT_READ, &v) || v != 0xF08 || gets != 1, 0,
       "the private copy is not");
    child = aspace_fork(space);
    is(child->counts.locked, 0, "a child inherits the page, not the lock");
    vm_check(child);
    aspace_unref(child);
    aspace_unmap(space, copy, 8 * PAGE_SIZE);
    end();
    object_unref(o);
}

static void test_limit(void)
{
    uint64_t before;
    bool set;

    begin(1024, 0);
    region_create_va(space, view.id, view.start, 1024 * PAGE_SIZE, 0);
    put(0, 1);
    before = space->pt.rss;
    minimum = vm_nfree - 100; /* 100 pages are available; page 0 is present already */
    is(aspace_lock_pages(space, page_va(0), 102 * PAGE_SIZE, &set), -K_ENOMEM,
       "one page beyond the fluid pages");
    ok(space->pt.rss == before && space->counts.locked == 0,
       "locking more than the fluid pages is refused at once");
    is(aspace_lock_pages(space, page_va(0), 101 * PAGE_SIZE, &set), 0,
       "a range of exactly all fluid pages");
    is(space->counts.locked, 101, "can be locked");
    minimum = 0;
    is(aspace_lock_pages(space, page_va(0), 1025 * PAGE_SIZE, &set), -K_EFAULT,
       "a range with a hole is refused");
    is(aspace_lock_pages(space, page_va(0) + 1, PAGE_SIZE, &set), -K_EFAULT, "no page");
    is(aspace_forget(space, page_va(0), 200 * PAGE_SIZE, false), -K_EINVAL,
       "contents of locked pages are not discarded");
    is(aspace_forget(space, page_va(0), 200 * PAGE_SIZE, true), 0,
       "unless locked pages are included explicitly");
    end();
}

/* ---- a random walk ---- */

#define PAGES 40u

static struct {
    bool mapped, locked;
    unsigned prot;
    uint64_t value;
} model[PAGES];
static bool grows_down;

static bool all_mapped(unsigned first, unsigned n, bool accessible)
{
    for (unsigned i = first; i < first + n; i++)
        if (!model[i].mapped || (accessible && !model[i].prot))
            return false;
    return true;
}

static void model_set(unsigned first, unsigned n, bool mapped)
{
    for (unsigned i = first; i < first + n; i++) {
        model[i].mapped = mapped;
        model[i].locked = false;
        model[i].prot = RWX;
        model[i].value = 0;
    }
}

static unsigned used_pages(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < PAGES; i++)
        if (model[grows_down ? PAGES - 1 - i : i].mapped)
            n = i + 1;
    return n;
}

static void walk_create(unsigned first, unsigned n)
{
    bool refuse = rnd(3) == 0, any = false;
    int status = region_create_va(space, view.id, page_va(first), n * PAGE_SIZE,
                                  refuse ? VA$M_NO_OVERMAP : 0);

    for (unsigned i = first; i < first + n; i++)
        any |= model[i].mapped;
    if (status != (any && refuse ? SS$_VA_IN_USE : SS$_NORMAL))
        vm_die("$CRETVA_64 gives %d", status);
    if (status == SS$_NORMAL)
        model_set(first, n, true);
}

static void walk_expand(unsigned n)
{
    unsigned used = used_pages(), first = grows_down ? PAGES - used - n : used;
    vaddr_t va = 0;
    int status = region_expand(space, view.id, n * PAGE_SIZE, 0, &va);

    if (status != (used + n <= PAGES ? SS$_NORMAL : SS$_REGISFULL))
        vm_die("$EXPREG_64 gives %d", status);
    if (status != SS$_NORMAL)
        return;
    if (va != page_va(first))
        vm_die("$EXPREG_64 returns another address");
    model_set(first, n, true);
}

static void walk_protect(unsigned first, unsigned n)
{
    static const unsigned codes[] = {PRT$C_UW, PRT$C_UW, PRT$C_UR, PRT$C_KW};
    unsigned prot = 0, old = 0;
    int err;

    prot_of_code(codes[rnd(4)], &prot);
    err = aspace_set_protection(space, page_va(first), n * PAGE_SIZE, prot, &old);
    if (err != (all_mapped(first, n, false) ? 0 : -K_EFAULT))
        vm_die("$SETPRT_64 gives %d", err);
    if (err)
        return;
    if (old != model[first + n - 1].prot)
        vm_die("$SETPRT_64 returns %u for the last page's old protection", old);
    for (unsigned i = first; i < first + n; i++)
        model[i].prot = prot;
}

static void walk_lock(unsigned first, unsigned n, bool lock)
{
    bool any = false, all = true, set = false;
    int want, err;

    for (unsigned i = first; i < first + n; i++) {
        any |= model[i].locked;
        all &= model[i].locked;
    }
    err = lock ? aspace_lock_pages(space, page_va(first), n * PAGE_SIZE, &set)
               : aspace_unlock_pages(space, page_va(first), n * PAGE_SIZE, &set);
    want = !all_mapped(first, n, false) ? -K_EFAULT : 0;
    if (lock && !want && !all_mapped(first, n, true))
        want = -K_EACCES;
    if (lock && err == -K_EACCES && want == -K_EFAULT)
        want = err; /* whichever page comes first */
    if (err != want)
        vm_die("locking gives %d, not %d", err, want);
    if (err)
        return;
    if (set != (lock ? any : all))
        vm_die("locking returns the wrong previous state");
    for (unsigned i = first; i < first + n; i++) {
        pte_t *p = pt_lookup(&space->pt, page_va(i), 3);

        model[i].locked = lock;
        if (lock && (!p || !pte_valid(*p)))
            vm_die("a locked page is not present");
    }
}

static void walk_touch(unsigned i)
{
    uint64_t v = rnd(UINT64_MAX);
    bool write = rnd(2);
    int err = vm_access(space, page_va(i), write ? FAULT_WRITE : FAULT_READ, &v), want;

    want = !model[i].mapped ? -K_EFAULT : model[i].prot & (write ? MAP_W : MAP_R) ? 0 : -K_EACCES;
    if (err != want)
        vm_die("an access gives %d, not %d", err, want);
    if (!err && write)
        model[i].value = v;
    if (!err && !write && v != model[i].value)
        vm_die("a page has the wrong contents");
}

static void walk_check(void)
{
    uint64_t locked = 0, mapped = 0;
    struct map_entry *e;

    for (unsigned i = 0; i < PAGES; i++) {
        locked += model[i].locked;
        mapped += model[i].mapped;
        e = aspace_lookup_locked(space, page_va(i));
        if ((e != NULL) != model[i].mapped || (e && (e->locked != 0) != model[i].locked))
            vm_die("page %u is not mapped or locked as in the model", i);
    }
    if (space->counts.locked != locked || space->counts.vsize != mapped * PAGE_SIZE)
        vm_die("%lu pages are counted as locked, not %lu", (unsigned long)space->counts.locked,
               (unsigned long)locked);
    vm_check(space);
}

static void walk_fork(void)
{
    struct aspace *child = aspace_fork(space);
    uint64_t v = 1;

    if (child->counts.locked != 0)
        vm_die("a child has locked pages");
    vm_switch(1, child);
    for (unsigned i = 0; i < PAGES; i++) {
        if (!model[i].mapped || !model[i].prot)
            continue;
        if (vm_access(child, page_va(i), FAULT_READ, &v) || v != model[i].value)
            vm_die("a child's page differs");
        if (model[i].prot & MAP_W)
            vm_access(child, page_va(i), FAULT_WRITE, &(uint64_t){9});
    }
    vm_check(child);
    vm_switch(1, NULL);
    vm_switch(0, space);
    aspace_unref(child);
}

static void walk(bool down)
{
    grows_down = down;
    begin(PAGES, down ? VA$M_DESCEND : 0);
    memset(model, 0, sizeof(model));
    for (unsigned round = 0; round < 20000; round++) {
        unsigned first = (unsigned)rnd(PAGES), n = 1 + (unsigned)rnd(MIN(PAGES - first, 6u));

        switch (rnd(12)) {
        case 0:
            walk_create(first, n);
            break;
        case 1:
            walk_expand(n);
            break;
        case 2:
            if (region_delete_va(space, view.id, page_va(first), n * PAGE_SIZE) != SS$_NORMAL)
                vm_die("$DELTVA_64 fails");
            model_set(first, n, false);
            break;
        case 3:
        case 4:
            walk_protect(first, n);
            break;
        case 5:
        case 6:
            walk_lock(first, n, true);
            break;
        case 7:
            walk_lock(first, n, false);
            break;
        case 8:
            if (rnd(20) == 0)
                walk_fork();
            break;
        default:
            walk_touch(first);
        }
        if (round % 16 == 0)
            walk_check();
    }
    end();
    ok(1, "a random walk in a region that grows %s", down ? "down" : "up");
}

static void test_walls(void)
{
    struct region_view shared;
    uint64_t pages;
    vaddr_t va = 0;

    begin(64, VA$M_EXPAND_ON_ACCVIO);
    region_create(space, PTE_L2_SPAN, 0, VA$M_SHARED_PTS, 0, false, &shared);
    pages = vm_nfree;
    is(region_create_va(space, shared.id, shared.start, PAGE_SIZE, 0), SS$_NOSHPTS,
       "no private page in a region with shared page tables");
    is(region_expand(space, shared.id, PAGE_SIZE, 0, &va), SS$_NOSHPTS, "from neither service");
    is(region_create_va(space, VA$C_P2, shared.start, PAGE_SIZE, 0), SS$_PAGNOTINREG,
       "nor through the id of P2");
    va = shared.start;
    is(aspace_map_anon(space, &va, PAGE_SIZE, MAP_R, MAPF_FIXED), -K_ENOMEM, "nor from mmap");
    ok(vm_access(space, shared.start, FAULT_READ, &va) == -K_EFAULT && vm_nfree == pages,
       "nor from a fault");
    ok(read_error(5) == 0 && get(5) == 0, "a fault makes an expandable region grow");
    ok(region_first_free_locked(space, &view) == page_va(6), "up to the page of the fault");
    is(read_error(64), -K_EFAULT, "but not beyond its end");
    end();
}

int main(void)
{
    uint32_t free;
    int64_t pool;

    vm_boot();
    test_codes();
    test_place();
    free = vm_nfree;
    pool = vm_pool_bytes;
    test_failures();
    test_pager_wants_back();
    test_thief();
    test_limit();
    test_walls();
    walk(false);
    walk(true);
    is(vm_nfree, free, "no page is lost");
    is(vm_pool_bytes, pool, "no pool is lost");
    return tap_done();
}
