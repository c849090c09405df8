// SOURCES: kernel/quota/account.c
// SOURCES: mm/space/region.c mm/section/section.c mm/section/section_gsd.c mm/pt/gh.c
// SOURCES: mm/section/section_map.c
// SOURCES: mm/section/section_pt.c mm/section/section_walk.c mm/section/shpt.c mm/space/aspace.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/space/aspace_tree.c mm/space/anon.c
// SOURCES: mm/space/fault.c mm/space/fork.c mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c mm/object/pager.c
// SOURCES: mm/object/rmap.c mm/pt/shootdown.c mm/pt/pt.c mm/pt/pt_system.c mm/phys/page.c
// SOURCES: mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c
// SOURCES: mm/phys/fluid.c mm/pool/pool_nonpaged.c mm/pool/pool_var.c mm/pool/pool_check.c
// SOURCES: kernel/base/string_extra.c
// SOURCES: sysman/params.c sysman/config.c
// SOURCES: mm/space/object_fault.c mm/space/aspace_protect.c mm/space/region_memory.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c
/*
 * Faults on FLUID sections, on one processor and on four at once: each page is made valid once, and
 * every fault is counted by its effect.
 */
#include "section_world.h"

#include "mm/phys/failure.h"

static void fluid_counts(void)
{
    struct aspace *a = aspace_create(0), *b = aspace_create(0);
    uint64_t ra = region_new(a, 32 * MIB, VA$M_SHARED_PTS),
             rb = region_new(b, 32 * MIB, VA$M_SHARED_PTS);
    uint64_t pa = region_new(a, 32 * MIB, 0);
    vaddr_t va, vb, vp;
    struct section *s;

    is(create("F", 20 * PAGES_PER_MIB, 0), SS$_CREATED_SHPT, "a FLUID section");
    s = peek("F");
    map_whole(a, "F", ra, &va);
    map_whole(b, "F", rb, &vb);
    map_whole(a, "F", pa, &vp);
    is(s->valid_pages + s->related->valid_pages, 0,
       "has no page and no level-3 page-table page at first");
    *touch(a, va, true) = 1;
    touch(a, va + PAGE_SIZE, true);
    is(a->counts.section_made_valid, 2, "two pages touched: two made valid");
    is(*touch(b, vb, false), 1, "seen by the other");
    is(b->counts.section_l3_pickup, 1, "whose access picks up the level-3 page");
    touch(b, vb + PAGE_SIZE, true);
    is(b->counts.section_l3_pickup + b->counts.section_made_valid + b->counts.section_raced, 1,
       "once for its 8 MiB");
    touch(b, vb + 19 * MIB, true);
    is(b->counts.section_made_valid, 1, "a new level-3 page and page count as one page made valid");
    is(*touch(a, vp, false), 1, "private tables see the page");
    is(a->counts.section_global_valid, 1, "by a global valid fault");
    touch(a, vp + 2 * MIB, true);
    is(a->counts.section_made_valid, 3, "and make pages valid for all");
    is(*touch(b, vb + 2 * MIB, true), 0, "who find them");
    is(s->counts.made_valid, s->valid_pages, "made valid is what is valid");
    is(s->counts.raced, 0, "no fault lost a race");
    delete ("F");
    aspace_unref(a);
    aspace_unref(b);
}

#define RACERS     4
#define RACE_PAGES 600
static struct racer {
    struct aspace *as;
    vaddr_t va;
    unsigned cpu;
} racers[RACERS];
static pthread_barrier_t race_start;

static void *race(void *arg)
{
    struct racer *r = arg;

    host_cpu_enter(r->cpu, &threads[r->cpu].hw);
    for (unsigned i = 0; i < RACE_PAGES; i++) {
        if (i % 16 == 0)
            pthread_barrier_wait(&race_start);
        __atomic_fetch_add(touch(r->as, r->va + i * 5 * PAGE_SIZE, true), 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void races(bool shared)
{
    pthread_t t[RACERS];
    uint64_t sum = 0;
    struct section *s;
    bool right = true;

    create("R", 40 * PAGES_PER_MIB, 0);
    s = peek("R");
    pthread_barrier_init(&race_start, NULL, RACERS);
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i].as = aspace_create(0);
        racers[i].cpu = i;
        map_whole(racers[i].as, "R",
                  region_new(racers[i].as, 40 * MIB, shared ? VA$M_SHARED_PTS : 0), &racers[i].va);
    }
    for (unsigned i = 0; i < RACERS; i++)
        pthread_create(&t[i], NULL, race, &racers[i]);
    for (unsigned i = 0; i < RACERS; i++)
        pthread_join(t[i], NULL);
    for (unsigned i = 0; i < RACERS; i++) {
        struct aspace_counts *c = &racers[i].as->counts;

        right = right && c->section_l3_pickup <= 3;
        sum += c->section_made_valid + c->section_l3_pickup + c->section_raced +
               c->section_global_valid;
    }
    for (unsigned i = 0; i < RACE_PAGES; i++)
        right = right && *touch(racers[0].as, racers[0].va + i * 5 * PAGE_SIZE, false) == RACERS;
    ok(right, "four processors at once: no count lost, pick-ups within bounds");
    is(s->counts.made_valid, RACE_PAGES, "each page made valid once");
    is(s->valid_pages, RACE_PAGES, "and there once");
    if (shared)
        ok(sum <= RACERS * RACE_PAGES && s->counts.raced + s->counts.l3_pickup < sum,
           "faults add up");
    else
        is(s->counts.global_valid, (RACERS - 1) * RACE_PAGES,
           "one global valid fault for each other");
    delete ("R");
    for (unsigned i = 0; i < RACERS; i++)
        aspace_unref(racers[i].as);
    pthread_barrier_destroy(&race_start);
}

/* Four processors create and delete sections of one name. When one is created, the resources of the
   one before it have been freed, by any processor, or are being freed by one that has not finished.
 */
#define LIVES 200
static uint64_t lives_begun, lives_refused;

static void *live(void *arg)
{
    struct racer *r = arg;
    struct section_request q = request("ALLOC", 512, 0);

    host_cpu_enter(r->cpu, &threads[r->cpu].hw);
    pthread_barrier_wait(&race_start);
    for (unsigned i = 0; i < LIVES; i++) {
        struct section *s;
        int status = section_create(&q, true, true, &s);

        if (status == SS$_CREATED_SHPT)
            __atomic_fetch_add(&lives_begun, 1, __ATOMIC_RELAXED);
        if (status & 1)
            section_drop(s);
        else
            __atomic_fetch_add(&lives_refused, 1, __ATOMIC_RELAXED);
        if (i % 2)
            section_reap();
    }
    section_reap();
    return NULL;
}

static void short_lives(void)
{
    struct balance before = balance();
    pthread_t t[RACERS];

    pthread_barrier_init(&race_start, NULL, RACERS);
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i].cpu = i;
        pthread_create(&t[i], NULL, live, &racers[i]);
    }
    for (unsigned i = 0; i < RACERS; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&race_start);
    ok(lives_begun > 0 && lives_begun <= RACERS * LIVES, "sections of one name came and went");
    is(lives_refused, 0, "no creation failed for resources that its predecessor held");
    is(rmds[0].used, 0, "the reservation is back");
    ok(balanced(before), "and every page");
}

/* The last share is dropped just between the lookup of a section and the attempt to share it. */
static struct section *last_share_of;
static unsigned last_shares;

static void drop_the_last_share(enum mega_alloc kind)
{
    if (kind != MEGA_ALLOC_SHARE || !last_share_of)
        return;
    last_shares++;
    section_drop(last_share_of);
    last_share_of = NULL;
}

static void gone_when_found(void)
{
    struct section_request q = request("ALLOC", 512, 0);
    struct balance before = balance();
    struct section *s;

    is(section_create(&q, true, true, &last_share_of), SS$_CREATED_SHPT, "a section");
    host_inject_hook = drop_the_last_share;
    is(section_create(&q, true, true, &s), SS$_CREATED_SHPT,
       "a section deleted while a creation looks it up is created again");
    last_share_of = s;
    is(section_find(&q, true, &s), SS$_NOSUCHSEC,
       "a lookup of a section that is being deleted finds none");
    host_inject_hook = NULL;
    is(last_shares, 2, "both sections were deleted during a call");
    ok(balanced(before), "every page is back");
    is(rmds[0].used, 0, "and the reservation");
}

int main(void)
{
    world_boot(SMALL_RAM, false);
    fluid_counts();
    races(true);
    races(false);
    short_lives();
    gone_when_found();
    return tap_done();
}
