// SOURCES: kernel/base/span.c
// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c mm/pt/pt_system.c mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c mm/space/aspace_tree.c mm/space/fault.c mm/space/fork.c
// SOURCES: mm/space/anon.c mm/space/object_fault.c
// SOURCES: mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/mappings.c mm/object/object_index.c mm/object/pager.c
// SOURCES: mm/object/rmap.c kernel/base/treap.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/*
 * The parts of an object against plain models: the order of its map entries, and the pages of its
 * index when ranges are freed. Then one file with many mappings is cut off and grows again while
 * three CPUs read it, fork, unmap and map it: no access may reach a page that was freed, and when a
 * truncation is over, none beyond the end.
 */
#include "tests/host/vm.h"

#define K_ENXIO 6

/* ---- the tree of entries ---- */

#define ENTRIES 300u

static struct map_entry entries[ENTRIES];
static bool attached[ENTRIES];

/* The entry behind (first, age) that maps a page of [from, to), found by looking at all. */
static struct map_entry *plain_after(uint64_t first, uint64_t age, uint64_t from, uint64_t to)
{
    struct map_entry *best = NULL;

    for (unsigned i = 0; i < ENTRIES; i++) {
        const struct object_mapping *m = &entries[i].pages;

        if (!attached[i] || m->end <= from || m->first >= to || m->first < first ||
            (m->first == first && m->age <= age))
            continue;
        if (!best || m->first < best->pages.first ||
            (m->first == best->pages.first && m->age < best->pages.age))
            best = &entries[i];
    }
    return best;
}

static void check_walk(struct mm_object *o)
{
    uint64_t from = rnd(64), to = from + 1 + rnd(8), first = 0, age = 0;

    for (;;) {
        struct map_entry *want = plain_after(first, age, from, to);

        if (object_entry_after(o, first, age, from, to) != want)
            vm_die("the entry behind (%lu, %lu) for pages %lu to %lu is another",
                   (unsigned long)first, (unsigned long)age, (unsigned long)from,
                   (unsigned long)to);
        if (!want)
            return;
        first = want->pages.first;
        age = want->pages.age;
    }
}

static void change_entry(struct mm_object *o)
{
    unsigned i = (unsigned)rnd(ENTRIES), k = (unsigned)rnd(ENTRIES);
    uint64_t n = 1 + rnd(12);

    if (attached[i] && !attached[k] && rnd(3) == 0 &&
        entries[i].end - entries[i].start > PAGE_SIZE) {
        uint64_t keep = PAGE_SIZE * (1 + rnd((entries[i].end - entries[i].start) / PAGE_SIZE - 1));

        entries[k] = (struct map_entry){.start = entries[i].start + keep,
                                        .end = entries[i].end,
                                        .offset = entries[i].offset + keep};
        object_split_entry(&entries[i], &entries[k]);
        entries[i].end = entries[k].start;
        attached[k] = true;
    } else if (attached[i]) {
        object_detach_entry(&entries[i]);
        attached[i] = false;
    } else {
        entries[i] = (struct map_entry){
            .start = 0x100000, .end = 0x100000 + n * PAGE_SIZE, .offset = rnd(64) * PAGE_SIZE};
        object_attach_entry(o, &entries[i]);
        attached[i] = true;
    }
}

static void test_entries(void)
{
    struct mm_object *o = object_create(100, NULL, NULL);
    unsigned n = 0, seen = 0;

    for (unsigned r = 0; r < 6000; r++) {
        change_entry(o);
        check_walk(o);
    }
    for (unsigned i = 0; i < ENTRIES; i++)
        n += attached[i];
    for (const struct map_entry *e = NULL; (e = object_next_entry(o, e)) != NULL;)
        seen++;
    ok(n == seen && n == o->nentries, "walks meet exactly the entries that map a page, in order");
    for (unsigned i = 0; i < ENTRIES; i++)
        if (attached[i])
            object_detach_entry(&entries[i]);
    object_unref(o);
}

/* ---- the index ---- */

#define OFFSETS 400u

/* The pages of [from, to), found one after the other; the object may be 32 TiB long. */
static void check_next(struct mm_object *o, const uint64_t *at, const bool *there, uint64_t from,
                       uint64_t to)
{
    uint64_t k = from, found = 0, have = 0;

    for (unsigned i = 0; i < OFFSETS; i++)
        have += there[i] && at[i] >= from && at[i] < to;
    while ((k = object_next_page(o, k, to, false)) != UINT64_MAX) {
        slot_t *s = index_find(o, k);

        if (k < from || k >= to || !s || !(*s & SLOT_PRESENT))
            vm_die("page %lx is found, which is not there", (unsigned long)k);
        found++;
        k++;
    }
    if (found != have)
        vm_die("%lu of %lu pages from %lx to %lx are found", (unsigned long)found,
               (unsigned long)have, (unsigned long)from, (unsigned long)to);
}

static void test_ranges(void)
{
    uint32_t pages = vm_nfree;
    int64_t pool = vm_pool_bytes;

    for (unsigned round = 0; round < 60; round++) {
        struct mm_object *o = object_create(OBJECT_MAX_PAGES, NULL, NULL);
        uint64_t at[OFFSETS], resident = 0;
        unsigned bits = 4 + (unsigned)rnd(28);
        bool there[OFFSETS];

        for (unsigned i = 0; i < OFFSETS; i++) {
            struct index_nodes spare = {0};
            slot_t *s;
            pfn_t pfn;

            at[i] = rnd(UINT64_C(1) << bits);
            while (!(s = index_create(o, at[i], &spare)))
                index_nodes_fill(&spare);
            if (spare.first)
                vm_die("%u nodes were wanted for page %lx and not used", spare.count,
                       (unsigned long)at[i]);
            there[i] = !(*s & SLOT_PRESENT);
            if (!there[i])
                continue;
            page_alloc(0, PAGE_T_OBJECT, RAD_ANY, &pfn);
            *s = slot_make(pfn, SLOT_W);
            o->resident++;
            resident++;
        }
        for (unsigned n = 0; n < 6; n++) {
            uint64_t from = rnd(UINT64_C(1) << bits), to = from + rnd(UINT64_C(1) << bits);

            check_next(o, at, there, from, to);
            (void)object_free_range(o, from, to, false);
            for (unsigned i = 0; i < OFFSETS; i++) {
                bool gone = there[i] && at[i] >= from && at[i] < to;
                slot_t *s = index_find(o, at[i]);

                there[i] &= !gone;
                resident -= gone;
                if (there[i] && !(s && (*s & SLOT_PRESENT)))
                    vm_die("freeing %lx to %lx loses page %lx", (unsigned long)from,
                           (unsigned long)to, (unsigned long)at[i]);
                if (gone && s && *s)
                    vm_die("freeing %lx to %lx leaves page %lx", (unsigned long)from,
                           (unsigned long)to, (unsigned long)at[i]);
            }
            check_next(o, at, there, 0, OBJECT_MAX_PAGES);
            if (o->resident != resident)
                vm_die("%lu pages, counted %lu", (unsigned long)resident,
                       (unsigned long)o->resident);
        }
        (void)object_free_range(o, 0, OBJECT_MAX_PAGES, false);
        if (o->nodes || o->root || o->resident)
            vm_die("an empty index has %u nodes", o->nodes);
        object_unref(o);
    }
    ok(vm_nfree == pages && vm_pool_bytes == pool, "freed ranges are empty, and all else is there");
}

/* ---- a file that is cut off while it is used ---- */

#define FILE_PAGES 40u
#define MAPPINGS   12u
#define READERS    3u

static struct mm_object *file;
static uint64_t file_size;     /* pages; atomic */
static uint64_t cut, cut_over; /* atomic: number of the truncation begun, and of the one over */
static bool stop;              /* atomic */

static int file_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    (void)access;
    for (uint64_t i = offset; i < offset + count; i++) {
        pfn_t pfn;

        if (i >= __atomic_load_n(&file_size, __ATOMIC_ACQUIRE)) {
            mm_deny(o, i, 1, -K_ENXIO);
            continue;
        }
        page_alloc(PA_ZERO, PAGE_T_OBJECT, RAD_ANY, &pfn);
        *(uint64_t *)kseg_page(pfn) = 0xF000 + i;
        mm_supply(o, i, pfn, MAP_R | MAP_W);
    }
    return 0;
}

static const struct pager_ops file_ops = {.name = "test file", .get = file_get};

static void map_file(struct aspace *as, vaddr_t va, unsigned flags)
{
    if (aspace_map_object(as, &va, FILE_PAGES * PAGE_SIZE, MAP_R | MAP_W, flags | MAPF_FIXED, file,
                          0))
        vm_die("mmap fails");
}

static vaddr_t mapping_at(uint64_t n) { return 0x80000000ul + n * 0x100000; }

static void read_one(struct aspace *as, uint64_t mapping, uint64_t page)
{
    uint64_t before = __atomic_load_n(&cut_over, __ATOMIC_ACQUIRE), value = 0;
    uint64_t size = __atomic_load_n(&file_size, __ATOMIC_ACQUIRE);
    int err = vm_access(as, mapping_at(mapping) + page * PAGE_SIZE, FAULT_READ, &value);

    if (err && err != -K_ENXIO)
        vm_die("a read fails with %d", err);
    if (!err && value != 0xF000 + page)
        vm_die("page %lu holds 0x%lx", (unsigned long)page, (unsigned long)value);
    /* No truncation was under way at any time in between, so the size is known. */
    if (before == __atomic_load_n(&cut, __ATOMIC_ACQUIRE) && (page < size) != (err == 0))
        vm_die("page %lu of %lu: %d", (unsigned long)page, (unsigned long)size, err);
}

/* The truncation stops between two of its steps, and others go on. */
static __thread bool truncates;

static void between_steps(const struct spinlock *l)
{
    if (truncates && l == file->lock && rnd(6) == 0)
        usleep(20);
}

static void *reader_main(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    struct aspace *as = aspace_create(0);
    uint64_t seed = 12345 + me;

    vm_switch(me, as);
    for (unsigned n = 0; n < MAPPINGS; n++)
        map_file(as, mapping_at(n), n % 2 ? 0 : MAPF_SHARED);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        uint64_t n, what;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        n = (seed >> 33) % MAPPINGS;
        what = (seed >> 50) % 64;
        if (what == 0) { /* the child goes on in place of the parent */
            struct aspace *child = aspace_fork(as);

            vm_switch(me, child);
            aspace_unref(as);
            as = child;
        } else if (what == 1) {
            map_file(as, mapping_at(n), n % 2 ? 0 : MAPF_SHARED);
        } else if (what == 2) { /* a hole splits the mapping; it is closed again at once */
            if (aspace_unmap(as, mapping_at(n) + (seed >> 20) % FILE_PAGES * PAGE_SIZE, PAGE_SIZE))
                vm_die("munmap fails");
            map_file(as, mapping_at(n), n % 2 ? 0 : MAPF_SHARED);
        } else {
            read_one(as, n, (seed >> 20) % FILE_PAGES);
        }
    }
    vm_switch(me, NULL);
    aspace_unref(as);
    return NULL;
}

static void test_truncation(void)
{
    uint32_t pages = vm_nfree;
    int64_t pool = vm_pool_bytes;
    pthread_t t[READERS];

    vm_switch(READERS, NULL);
    truncates = true;
    host_unlocked = between_steps;
    file_size = FILE_PAGES;
    file = object_create(FILE_PAGES, &file_ops, NULL);
    for (uintptr_t i = 0; i < READERS; i++)
        pthread_create(&t[i], NULL, reader_main, (void *)i);
    for (unsigned r = 0; r < 1000; r++) {
        uint64_t size = rnd(3) ? rnd(FILE_PAGES) : FILE_PAGES;

        __atomic_fetch_add(&cut, 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&file_size, size, __ATOMIC_RELEASE);
        object_truncate(file, size);
        __atomic_store_n(&cut_over, cut, __ATOMIC_SEQ_CST);
        usleep(100);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(t[i], NULL);
    host_unlocked = NULL;
    object_unref(file);
    ok(vm_nfree == pages && vm_pool_bytes == pool,
       "a file is cut off and grows under three CPUs that use it, and nothing is lost");
}

int main(void)
{
    vm_boot();
    test_entries();
    test_ranges();
    test_truncation();
    return tap_done();
}
