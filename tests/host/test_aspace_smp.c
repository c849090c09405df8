// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c
// SOURCES: mm/pt/pt_system.c
// SOURCES: mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c mm/space/aspace_protect.c
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
// SOURCES: mm/space/object_fault.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/* Address spaces used by several CPUs at once: threads of one, and processes of one family. */
#include "tests/host/vm.h"

/* ---- three threads write, a fourth forks ---- */

#define THREAD_ROUNDS 4000u
static struct aspace *common;

static void *thread_main(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    uint64_t seed = me, mine[NPAGES] = {0};

    vm_switch(me, common);
    for (unsigned r = 1; r < THREAD_ROUNDS; r++) {
        uint64_t value = ((uint64_t)me << 32) | r;
        unsigned i;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        i = (unsigned)(seed >> 33) % NPAGES;
        if (seed >> 63) {
            if (vm_access(common, va_of(i) + me * 8, FAULT_WRITE, &value))
                vm_die("a thread's write fails");
            mine[i] = value;
        } else if (vm_access(common, va_of(i) + me * 8, FAULT_READ, &value) || value != mine[i]) {
            vm_die("CPU %u reads 0x%lx from page %u and wrote 0x%lx", me, (unsigned long)value, i,
                   (unsigned long)mine[i]);
        }
    }
    vm_switch(me, NULL);
    return NULL;
}

/* The child is a snapshot: none of its words changes while the parent's threads continue. */
static void snapshot_check(void)
{
    static unsigned forks;
    vaddr_t soon[] = {va_of(forks++ % NPAGES), va_of(forks * 7 % NPAGES)};
    struct aspace *child = aspace_fork_writing(common, soon, 2);
    uint64_t before[NPAGES], value;

    if (!child)
        vm_die("fork fails");
    vm_switch(0, child);
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < NPAGES; i++) {
            if (vm_access(child, va_of(i) + 8, FAULT_READ, &value))
                vm_die("the child cannot read");
            if (pass == 0)
                before[i] = value;
            else if (value != before[i])
                vm_die("the child's page %u changes under it", i);
            value = 1;
            if (pass == 0 && i % 7 == 0 && vm_access(child, va_of(i), FAULT_WRITE, &value))
                vm_die("the child cannot write");
        }
    vm_switch(0, NULL);
    aspace_unref(child);
}

static void test_threads(void)
{
    pthread_t t[3];
    uint32_t pages = vm_nfree;

    common = aspace_create(0);
    vm_switch(0, NULL);
    for (unsigned i = 0; i < NPAGES; i += 16) {
        vaddr_t va = va_of(i);

        if (aspace_map_anon(common, &va, 16 * PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED))
            vm_die("mmap fails");
    }
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread_main, (void *)(i + 1));
    for (unsigned i = 0; i < 60; i++)
        snapshot_check();
    for (unsigned i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    vm_check(common);
    aspace_unref(common);
    ok(vm_nfree == pages,
       "three threads that write and a fourth that forks lose neither words nor pages");
}

/* ---- four CPUs, each with processes of one family ---- */

#define KIN 3u

struct kin {
    struct aspace *as;
    uint64_t value[NPAGES];
};

static void *family_main(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    uint64_t seed = 99 + me;
    static struct kin all[MAX_CPUS][KIN];
    struct kin *k = all[me];

    k[0].as = aspace_fork(common);
    for (unsigned i = 0; i < NPAGES; i++)
        k[0].value[i] = i;
    for (unsigned r = 0; r < 3000; r++) {
        struct kin *a, *b;
        uint64_t value;
        unsigned i;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        a = &k[(seed >> 33) % KIN];
        b = &k[(seed >> 43) % KIN];
        i = (unsigned)(seed >> 50) % NPAGES;
        if (!a->as)
            continue;
        if (a != b && !b->as) {
            *b = *a;
            b->as = aspace_fork_writing(a->as, (vaddr_t[]){va_of(i)}, 1);
        } else if (a != b && r % 3 == 0) {
            vm_switch(me, NULL);
            aspace_unref(b->as);
            b->as = NULL;
        }
        vm_switch(me, a->as);
        if (vm_access(a->as, va_of(i), FAULT_READ, &value) || value != a->value[i])
            vm_die("CPU %u: page %u holds 0x%lx, not 0x%lx", me, i, (unsigned long)value,
                   (unsigned long)a->value[i]);
        value = seed | 1;
        if (vm_access(a->as, va_of((i * 7) % NPAGES), FAULT_WRITE, &value))
            vm_die("a write fails");
        a->value[(i * 7) % NPAGES] = value;
    }
    vm_switch(me, NULL);
    for (unsigned j = 0; j < KIN; j++)
        if (k[j].as) {
            vm_check(k[j].as);
            aspace_unref(k[j].as);
            k[j].as = NULL;
        }
    return NULL;
}

/* Pages of the ancestor were written in several generations, so the chains of objects are long. */
static void test_family(void)
{
    uint32_t pages = vm_nfree;
    int64_t pool = vm_pool_bytes;
    pthread_t t[MAX_CPUS];

    for (unsigned round = 0; round < 6; round++) {
        common = aspace_create(0);
        vm_switch(0, common);
        for (unsigned i = 0; i < NPAGES; i += 16) {
            vaddr_t va = va_of(i);

            aspace_map_anon(common, &va, 16 * PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED);
        }
        for (uint64_t i = 0; i < NPAGES; i++) {
            vm_access(common, va_of((unsigned)i), FAULT_WRITE, &i);
            if (i % 40 == 39) {
                struct aspace *next = aspace_fork(common);

                vm_switch(0, next);
                aspace_unref(common);
                common = next;
            }
        }
        vm_switch(0, NULL);
        for (uintptr_t i = 0; i < MAX_CPUS; i++)
            pthread_create(&t[i], NULL, family_main, (void *)i);
        for (unsigned i = 0; i < MAX_CPUS; i++)
            pthread_join(t[i], NULL);
        aspace_unref(common);
    }
    ok(vm_nfree == pages && vm_pool_bytes == pool,
       "four CPUs fork, write and end one family, and lose nothing");
}

/* ---- the first access to pages of shared memory, by two threads of each of two spaces ---- */

#define SHARED_PAGES 1000u
static struct aspace *both[2];
static vaddr_t shared_va;

/* Each CPU writes its own word of every page, in one of three orders. */
static void *first_main(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    static const unsigned steps[MAX_CPUS] = {1, 1, SHARED_PAGES - 1, 7};
    unsigned page = 0;

    vm_switch(me, both[me % 2]);
    for (unsigned k = 0; k < SHARED_PAGES; k++, page = (page + steps[me]) % SHARED_PAGES) {
        uint64_t value = (uint64_t)me << 32 | page;

        if (vm_access(both[me % 2], shared_va + page * PAGE_SIZE + me * 8, FAULT_WRITE, &value))
            vm_die("CPU %u cannot write page %u", me, page);
    }
    vm_switch(me, NULL);
    return NULL;
}

/* How many words are not what their CPU wrote, as one of the spaces sees them. */
static unsigned first_wrong(struct aspace *as)
{
    unsigned wrong = 0;
    uint64_t value;

    vm_switch(0, as);
    for (unsigned i = 0; i < SHARED_PAGES * MAX_CPUS; i++) {
        unsigned page = i / MAX_CPUS, cpu = i % MAX_CPUS;

        if (vm_access(as, shared_va + page * PAGE_SIZE + cpu * 8, FAULT_READ, &value) ||
            value != ((uint64_t)cpu << 32 | page))
            wrong++;
    }
    vm_check(as);
    vm_switch(0, NULL);
    return wrong;
}

static void test_first(void)
{
    uint32_t pages = vm_nfree;
    int64_t pool = vm_pool_bytes;
    unsigned wrong = 0;
    pthread_t t[MAX_CPUS];

    for (unsigned round = 0; round < 8; round++) {
        both[0] = aspace_create(0);
        shared_va = 0;
        if (aspace_map_anon(both[0], &shared_va, SHARED_PAGES * PAGE_SIZE, MAP_R | MAP_W,
                            MAPF_SHARED))
            vm_die("mmap fails");
        both[1] = aspace_fork(both[0]);
        for (uintptr_t i = 0; i < MAX_CPUS; i++)
            pthread_create(&t[i], NULL, first_main, (void *)i);
        for (unsigned i = 0; i < MAX_CPUS; i++)
            pthread_join(t[i], NULL);
        wrong += first_wrong(both[0]) + first_wrong(both[1]);
        aspace_unref(both[0]);
        aspace_unref(both[1]);
    }
    is(wrong, 0, "four CPUs that are the first in shared memory write to the same pages");
    ok(vm_nfree == pages && vm_pool_bytes == pool, "and nothing is lost");
}

int main(void)
{
    vm_boot();
    test_first();
    test_threads();
    test_family();
    return tap_done();
}
