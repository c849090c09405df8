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
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c mm/space/page_out.c
// SOURCES: mm/space/page_written.c mm/space/pin.c
// SOURCES: kernel/base/string_extra.c kernel/proc/swap_header.c
/*
 * Page files: random accesses of two address spaces, forks, unmaps, moves, changes of protection
 * and steps of the pager against a model of what each page holds. In the middle of reads and
 * writes, another CPU accesses pages, unmaps them, or pages them in itself; reads and writes fail.
 * The same for pages of an object that both spaces map and calls read and write. Then the slots one
 * by one, and headers of mkswap.
 */
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/proc/swap_header.h"
#include "mm/pagefile/pagefile.h"
#include "mm/space/aspace_page.h"
#include "tests/host/vm.h"

#define SLOTS  200u
#define SPACES 2u
#define ROUNDS 60000u
#define BASE   0x80100000ul
#define PAGES  96u

uint64_t fluid_count(void) { return 1u << 20; }
uint64_t fluid_minimum(void) { return 0; }

/* ---- the device ---- */

static uint8_t stored[SLOTS][PAGE_SIZE], out[PAGEFILE_CLUSTER][PAGE_SIZE];
static bool reads_fail, writes_fail;
static unsigned depth;
static bool in_object; /* the test of an object runs */
static void disturb(void);
static void disturb_shared(void);
static void fork_meanwhile(void);

static int device_read(void *device, uint32_t slot, unsigned n, pfn_t *pages)
{
    (void)device;
    disturb();
    if (reads_fail)
        return -EIO;
    if (page_alloc_bulk(0, PAGE_T_SYSTEM, 0, pages, n) != 0)
        return -ENOMEM;
    for (unsigned k = 0; k < n; k++)
        memcpy(kseg_page(pages[k]), stored[slot + k], PAGE_SIZE);
    disturb();
    return 0;
}

static void *device_buffer(void *device, unsigned k)
{
    (void)device;
    return out[k];
}

static int device_write(void *device, uint32_t slot, unsigned n)
{
    (void)device;
    disturb();
    fork_meanwhile();
    if (writes_fail)
        return -EIO;
    memcpy(stored[slot], out, n * PAGE_SIZE);
    disturb();
    return 0;
}

static const struct pagefile_io io = {device_read, device_buffer, device_write};

/* ---- the model ---- */

static struct aspace *spaces[SPACES];
static struct {
    bool mapped, writable;
    uint64_t value;
} model[SPACES][PAGES];
static uint64_t next_value = 1, paged, paged_shared, errors;
static unsigned counted[SLOTS];

static vaddr_t at(unsigned page) { return BASE + (vaddr_t)page * PAGE_SIZE; }

static void one_access(unsigned s, unsigned page)
{
    bool write = rnd(2);
    uint64_t value = write ? next_value++ : 0;
    int err = vm_access(spaces[s], at(page), write ? FAULT_WRITE : FAULT_READ, &value);

    if (!model[s][page].mapped) {
        if (err != -EFAULT)
            vm_die("page %u is not mapped, but an access gives %d", page, err);
    } else if (err == -EIO && reads_fail) {
        errors++;
    } else if (err == -ENOMEM && vm_failed) {
        return;
    } else if (write && !model[s][page].writable) {
        if (err != -EACCES)
            vm_die("page %u is read-only, but a write gives %d", page, err);
    } else if (err) {
        vm_die("an access to page %u gives %d", page, err);
    } else if (write) {
        model[s][page].value = value;
    } else if (value != model[s][page].value) {
        vm_die("space %u, page %u: %lu instead of %lu", s, page, (unsigned long)value,
               (unsigned long)model[s][page].value);
    }
}

static void unmap(unsigned s, unsigned page, unsigned n)
{
    if (aspace_unmap(spaces[s], at(page), n * PAGE_SIZE) != 0)
        vm_die("cannot unmap");
    for (unsigned k = 0; k < n; k++)
        model[s][page + k].mapped = false;
}

static void map(unsigned s, unsigned page, unsigned n)
{
    vaddr_t va = at(page);

    if (aspace_map_anon(spaces[s], &va, n * PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED) != 0)
        vm_die("cannot map");
    for (unsigned k = 0; k < n; k++) {
        model[s][page + k].mapped = model[s][page + k].writable = true;
        model[s][page + k].value = 0;
    }
}

static void protect(unsigned s, unsigned page, unsigned n)
{
    bool writable = rnd(2);

    for (unsigned k = 0; k < n; k++)
        if (!model[s][page + k].mapped)
            return;
    if (aspace_protect(spaces[s], at(page), n * PAGE_SIZE, MAP_R | (writable ? MAP_W : 0)) != 0)
        vm_die("cannot change the protection");
    for (unsigned k = 0; k < n; k++)
        model[s][page + k].writable = writable;
}

/* Exchange two stretches of pages by way of a third place. */
static void move(unsigned s, unsigned from, unsigned to, unsigned n)
{
    struct remap r = {
        .old_len = n * PAGE_SIZE, .new_len = n * PAGE_SIZE, .flags = REMAP_MAYMOVE | REMAP_FIXED};
    vaddr_t va;

    for (unsigned k = 0; k < n; k++)
        if (!model[s][from + k].mapped || model[s][from + k].writable != model[s][from].writable)
            return;
    if (from < to + n && to < from + n)
        return;
    r.old = at(from);
    r.fixed = at(to);
    if (aspace_remap(spaces[s], &r, &va) != 0)
        return; /* it is not one mapping */
    for (unsigned k = 0; k < n; k++) {
        model[s][to + k] = model[s][from + k];
        model[s][from + k].mapped = false;
    }
}

static void renew(unsigned s)
{
    unsigned other = 1 - s;

    if (spaces[s]) {
        vm_unload(spaces[s]);
        aspace_unref(spaces[s]);
    }
    spaces[s] = aspace_fork(spaces[other]);
    if (!spaces[s])
        vm_die("cannot fork");
    memcpy(model[s], model[other], sizeof(model[s]));
}

/* What another CPU does meanwhile. */
static void disturb(void)
{
    unsigned cpu = cpu_id(), s = (unsigned)rnd(SPACES), page = (unsigned)rnd(PAGES - 8);
    unsigned other = cpu == 3 ? s : 2; /* that of the space, unless it waits here */

    if (in_object) {
        disturb_shared();
        return;
    }
    if (cpu == 2 || depth >= 3 || vm_fail_at >= 0 || rnd(3))
        return;
    depth++;
    vm_switch(other, spaces[s]);
    switch (rnd(6)) {
    case 0:
        unmap(s, page, 1 + (unsigned)rnd(8));
        break;
    case 1:
        map(s, page, 1 + (unsigned)rnd(8));
        break;
    case 2:
        move(s, page, (unsigned)rnd(PAGES - 8), 1 + (unsigned)rnd(8));
        break;
    default:
        one_access(s, page);
    }
    if (other == 2)
        vm_switch(other, NULL);
    host_cpu_enter(cpu, &vm_cpus[cpu].thread.hw);
    depth--;
}

/* One of the spaces becomes a copy of the other while the pager writes. */
static void fork_meanwhile(void)
{
    if (in_object || cpu_id() != 3 || depth != 1 || rnd(20))
        return;
    renew((unsigned)rnd(SPACES));
    vm_switch(3, NULL);
}

static void step(void)
{
    static vaddr_t where[SPACES];
    unsigned s = (unsigned)rnd(SPACES);
    struct aspace *as = spaces[s];

    depth = 1;
    aspace_ref(as);
    paged += aspace_page_out(as, &where[s], NULL);
    paged_shared += written_sweep(rnd(20) ? WRITTEN_LOOK : rnd(4) ? WRITTEN_ROUND : WRITTEN_ALL);
    aspace_unref(as);
    if (where[s] >= LAYOUT_USER_TOP)
        where[s] = 0;
    depth = 0;
}

static void pinned_page(void *arg, pfn_t pfn)
{
    (void)arg;
    page_of(pfn)->share--;
    page_of(pfn)->refcnt--;
}

static void pinned_again(void *arg, pfn_t pfn)
{
    (void)arg;
    page_of(pfn)->share++;
    page_of(pfn)->refcnt++;
}

/* ---- all slots and pages are counted ---- */

static void no_page(void *arg, pfn_t pfn) { (void)arg, (void)pfn; }

static void one_slot(void *arg, pagefile_slot_t slot, uint32_t found, uint32_t n, uint16_t charge)
{
    (void)arg, (void)charge;
    if (found != n)
        vm_die("slot %u is in %u PTEs, and counts %u", slot, found, n);
    counted[0]++;
}

static void one_file(void *arg, const char *name, uint64_t found, uint64_t n)
{
    (void)arg, (void)name;
    if (found != n)
        vm_die("%lu slots are used, counted as %lu", (unsigned long)found, (unsigned long)n);
}

static void check(void)
{
    static const struct pagefile_check fns = {one_slot, one_file};

    pagefile_check_begin(no_page, NULL);
    for (unsigned s = 0; s < SPACES; s++) {
        uint64_t n = 0;

        written_pages(pinned_page, NULL); /* vm_check() knows PTEs only */
        vm_check(spaces[s]);
        written_pages(pinned_again, NULL);
        for (unsigned page = 0; page < PAGES; page++) {
            const pte_t *p = pt_lookup(&spaces[s]->pt, at(page), 3);

            if (!p || !pte_is_paged_out(*p))
                continue;
            n++;
            if (!pagefile_check_slot(pte_slot(*p)))
                vm_die("a PTE has no slot");
        }
        if (n != spaces[s]->pt.paged_out)
            vm_die("%lu pages are in the file, counted as %lu", (unsigned long)n,
                   (unsigned long)spaces[s]->pt.paged_out);
    }
    pagefile_check_end(&fns, NULL);
}

static void test_random(void)
{
    for (unsigned s = 0; s < SPACES; s++) {
        spaces[s] = aspace_create(0);
        map(s, 0, PAGES);
    }
    for (unsigned k = 0; k < ROUNDS; k++) {
        unsigned s = (unsigned)rnd(SPACES), page = (unsigned)rnd(PAGES - 16);

        reads_fail = k % 1000 > 960;
        writes_fail = k % 6000 > 5990;
        vm_switch(s, spaces[s]); /* the other space's CPU keeps its translations */
        switch (rnd(40)) {
        case 0:
            unmap(s, page, 1 + (unsigned)rnd(16));
            break;
        case 1:
            map(s, page, 1 + (unsigned)rnd(16));
            break;
        case 2:
            protect(s, page, 1 + (unsigned)rnd(16));
            break;
        case 3:
            move(s, page, (unsigned)rnd(PAGES - 16), 1 + (unsigned)rnd(16));
            break;
        case 4:
            if (rnd(10) == 0) {
                vm_switch(3, NULL);
                renew(s);
            }
            break;
        case 5:
            vm_failed = false;
            vm_fail_at = (int64_t)rnd(3);
            one_access(s, page);
            vm_fail_at = -1;
            break;
        case 6 ... 15:
            vm_switch(3, NULL);
            step();
            break;
        default:
            one_access(s, page);
        }
        if (k % 50 == 0)
            check();
    }
    for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
        vm_switch(cpu, NULL);
    reads_fail = writes_fail = false;
    check();
    ok(paged > 1000, "%lu pages went to the file and came back right", (unsigned long)paged);
    ok(paged_shared > 100, "%lu went by way of several PTEs", (unsigned long)paged_shared);
    ok(errors > 0, "%lu reads failed, and said so", (unsigned long)errors);
}

/* ---- pages of an object ---- */

#define SHARED_BASE 0x90000000ul
static struct mm_object *object;
static uint64_t shared[PAGES], object_paged;

/* One access: by a mapping of either space, or by a call. */
static void access_shared(unsigned page)
{
    bool write = rnd(2);
    uint64_t value = write ? next_value++ : 0;
    unsigned s = (unsigned)rnd(3);
    pfn_t pfn;
    int err;

    if (s < SPACES) {
        vm_switch(s, spaces[s]);
        err = vm_access(spaces[s], SHARED_BASE + page * PAGE_SIZE, write ? FAULT_WRITE : FAULT_READ,
                        &value);
    } else {
        err = object_page_get(object, page, write ? MAP_R | MAP_W : MAP_R, &pfn);
        if (!err) {
            uint64_t *at = kseg_page(pfn);

            if (write)
                *at = value;
            value = *at;
            page_unref(pfn);
        }
    }
    if (err == -EIO && reads_fail)
        errors++;
    else if (err == -ENOMEM && vm_failed)
        return;
    else if (err)
        vm_die("an access to page %u of the object gives %d", page, err);
    else if (write)
        shared[page] = value;
    else if (value != shared[page])
        vm_die("page %u of the object: %lu instead of %lu", page, (unsigned long)value,
               (unsigned long)shared[page]);
}

/* Cut the object off and let it grow again: what was cut off is zero. */
static void cut_shared(void)
{
    uint64_t from = rnd(PAGES);

    object_truncate(object, from);
    object_truncate(object, PAGES);
    for (uint64_t k = from; k < PAGES; k++)
        shared[k] = 0;
}

static void discard_shared(void)
{
    uint64_t page = rnd(PAGES);

    (void)mm_downgrade(object, page, 1, 0);
    shared[page] = 0;
}

static void disturb_shared(void)
{
    unsigned cpu = cpu_id(), page = (unsigned)rnd(PAGES);
    const slot_t *s = index_find(object, page);

    if (depth >= 3 || rnd(2))
        return;
    depth++;
    if (rnd(8) == 0)
        cut_shared();
    else if (rnd(8) == 0)
        discard_shared();
    else if (!s || !(*s & SLOT_GET)) /* else it would wait for the thread that it has interrupted */
        access_shared(page);
    host_cpu_enter(cpu, &vm_cpus[cpu].thread.hw);
    depth--;
}

static bool count_filed(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    uint64_t *n = arg;

    (void)o, (void)offset;
    if (!(*s & SLOT_FILED))
        return true;
    n[0]++;
    if (*s & SLOT_GET)
        vm_die("nobody reads any more");
    if (!pagefile_check_slot(slot_filed(*s)))
        vm_die("the object has a slot that is not there");
    return true;
}

static void check_shared(void)
{
    static const struct pagefile_check fns = {one_slot, one_file};
    uint64_t n = 0;

    pagefile_check_begin(no_page, NULL);
    index_for_each(object, 0, UINT64_MAX, count_filed, &n);
    if (n != object_filed(object))
        vm_die("the object has %lu pages in the file, counted as %lu", (unsigned long)n,
               (unsigned long)object_filed(object));
    pagefile_check_end(&fns, NULL);
    if (object->pending || object->held)
        vm_die("nothing is under way");
}

static void test_object(void)
{
    uint64_t before = errors;
    vaddr_t va = SHARED_BASE;
    bool more;

    depth = 0;
    in_object = true;
    spaces[0] = aspace_create(0);
    if (aspace_map_anon(spaces[0], &va, PAGES * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED | MAPF_FIXED))
        vm_die("cannot map");
    object = aspace_lookup_locked(spaces[0], va)->object;
    spaces[1] = aspace_fork(spaces[0]);
    for (unsigned k = 0; k < ROUNDS; k++) {
        reads_fail = k % 1000 > 960;
        writes_fail = k % 6000 > 5990;
        switch (rnd(30)) {
        case 0:
            rnd(4) ? discard_shared() : cut_shared();
            break;
        case 1:
            vm_failed = false;
            vm_fail_at = (int64_t)rnd(3);
            access_shared((unsigned)rnd(PAGES));
            vm_fail_at = -1;
            break;
        case 2 ... 9:
            vm_switch(3, NULL);
            object_paged += object_page_out(object, NULL, &more);
            break;
        default:
            access_shared((unsigned)rnd(PAGES));
        }
        if (k % 50 == 0)
            check_shared();
    }
    reads_fail = writes_fail = false;
    ok(object_paged > 1000, "%lu pages of an object went to the file and came back right",
       (unsigned long)object_paged);
    ok(errors > before, "%lu reads failed", (unsigned long)(errors - before));
    depth = 3;
    is(object_page_in(object, 0), 0, "all come back");
    is(object_filed(object), 0, "none is left");
    for (unsigned k = 0; k < PAGES; k++)
        access_shared(k);
    depth = 0;
    while (object_filed(object) == 0)
        object_paged += object_page_out(object, NULL, &more);
    for (unsigned s = 0; s < SPACES; s++) {
        vm_switch(s, NULL);
        aspace_unref(spaces[s]);
    }
    in_object = false;
}

static void test_close(void)
{
    struct pagefile_stats s;
    vaddr_t va;

    depth = 3; /* nobody moves what is still to be brought back */
    ok(pagefile_close(0, true), "the file is closed");
    ok(!pagefile_close(0, true), "once");
    va = 0;
    is(aspace_page_out(spaces[0], &va, NULL), 0, "no slots are taken any more");
    (void)written_sweep(WRITTEN_ALL);
    for (unsigned k = 0; k < SPACES; k++)
        for (va = 0; va < LAYOUT_USER_TOP;)
            if (aspace_page_in(spaces[k], 0, &va) != 0)
                vm_die("a page does not come back");
    pagefile_stats(0, &s);
    is(s.used, 0, "all pages are in memory");
    for (unsigned k = 0; k < SPACES; k++) {
        vm_switch(0, spaces[k]);
        for (unsigned page = 0; page < PAGES; page++)
            one_access(k, page);
        vm_switch(0, NULL);
        aspace_unref(spaces[k]);
    }
    ok(pagefile_end(0), "the file ends");
    ok(!pagefile_any(), "there is none");
}

static void test_slots(void)
{
    uint32_t bad[] = {0, 3, 3, 99};
    struct pagefile_stats s;
    pagefile_slot_t first, other;
    const struct quota_count *in_file = &accounts[5].count[QUOTA_PAGE_FILE];
    uint16_t charge = (uint16_t)quota_number(&accounts[5].count[QUOTA_PAGES]), page = 0;
    uint64_t slots, free;

    is(pagefile_begin(&io, stored, "vdb", 0, NULL, 0), -EINVAL, "a file has slots");
    is(pagefile_begin(&io, stored, "vdb", PAGEFILE_SLOTS + 1, NULL, 0), -EINVAL, "not too many");
    is(pagefile_begin(&io, stored, "vdb", 8, bad, 4), 0, "a file with bad slots");
    pagefile_stats(0, &s);
    is(s.bad, 2, "of which two are its own");
    is(pagefile_reserve(16, &first), 2, "slots in a row");
    is(first, 1, "are those between the bad ones");
    is(pagefile_reserve(16, &other), 4, "the others");
    is(other, 4, "come next");
    is(pagefile_reserve(1, &other), 0, "there are no more");
    pagefile_totals(&slots, &free);
    is(slots * 100 + free, 600, "the totals say so");
    ok(!pagefile_may_take(charge), "a user without a quota has none of them");
    accounts[5].count[QUOTA_PAGE_FILE].limit = 1;
    ok(pagefile_may_take(charge), "with a quota he has");
    pagefile_commit(first, charge);
    ok(!pagefile_may_take(charge), "one, and no more");
    pagefile_retire(first + 1);
    for (unsigned k = 0; k < 4; k++)
        pagefile_cancel(4 + k);
    pagefile_share(first);
    ok(pagefile_hold(first), "a reader holds it");
    pagefile_drop(first);
    pagefile_drop(first);
    is(in_file->used, 1, "it is used, and charged, as long as he does");
    pagefile_charge_page(first, &page);
    is(page, charge, "a page that is read from it is charged as the one before");
    is(accounts[5].count[QUOTA_PAGES].used, 1, "so that it counts");
    ok(pagefile_close(0, true) && !pagefile_end(0), "and keeps the file from its end");
    pagefile_release(first);
    is(in_file->used, 0, "then it is free");
    ok(!pagefile_hold(first), "and cannot be held");
    ok(pagefile_end(0), "and the file ends");
}

static void test_header(void)
{
    static uint32_t page[PAGE_SIZE / 4];
    struct swap_header h;

    is(swap_header(page, 1 << 20, &h), -EINVAL, "zeroes are no header");
    page[256] = 1;
    page[257] = 255; /* of 4 KiB: 1 MiB */
    page[258] = 4;
    page[384] = 1; /* bytes 4,096 to 8,191: in the page of the header */
    page[385] = 2;
    page[386] = 255;
    page[387] = 256;
    memcpy((char *)page + 4086, "SWAPSPACE2", 10);
    is(swap_header(page, 1 << 20, &h), 0, "a header of a machine with pages of 4 KiB");
    is(h.slots, 127, "its pages, but for the first");
    ok(h.nbad == 2 && h.bad[0] == 0 && h.bad[1] == 126, "and the bad ones among them");
    is(swap_header(page, (1 << 20) - 1, &h), -EINVAL, "not on a smaller disk");
    page[258] = 638;
    is(swap_header(page, 1 << 20, &h), -EINVAL, "not with more bad pages than have room");
    page[258] = 0;
    page[256] = 2;
    is(swap_header(page, 1 << 20, &h), -EINVAL, "nor of another version");
    memset(page, 0, sizeof(page));
    page[256] = 1;
    page[257] = UINT32_MAX;
    memcpy((char *)page + 8182, "SWAPSPACE2", 10);
    is(swap_header(page, 1 << 20, &h), -EINVAL, "nor one that says more than there can be");
}

int main(void)
{
    vm_boot();
    is(pagefile_begin(&io, stored, "vda", SLOTS, NULL, 0), 0, "a page file");
    test_object();
    test_random();
    test_close();
    test_slots();
    test_header();
    return tap_done();
}
