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
 * Random calls of the services on sections, compared with a plain model of the contents that each
 * section must have.
 */
#include "section_world.h"

#define PROCS   5
#define MAPS    6
#define SAMPLES 24
static const char *const walk_names[] = {"ALLOC", "ALLOC_NOPT", "FLUID_PT", "FLUID_NOPT",
                                         "W1",    "W2",         "PIECES",   "PIECES_NOPT"};

static struct model { /* the contents that a section must have */
    bool exists, permanent;
    uint64_t npages, shares;
    uint64_t value[SAMPLES];
    bool valid[SAMPLES];
} models[ARRAY_SIZE(walk_names)];

static struct walker {
    struct aspace *as;
    uint64_t shared_region, plain_region;
    struct {
        bool used, shared;
        unsigned section;
        vaddr_t va;
        uint64_t length;
    } maps[MAPS];
} walkers[PROCS];

static struct {
    uint64_t created, mapped, touched, forked;
} walked;

static uint64_t sample_page(const struct model *m, unsigned i)
{
    return i * (m->npages - 1) / (SAMPLES - 1);
}

static void model_drop(unsigned section)
{
    struct model *m = &models[section];

    if (--m->shares == 0 && !m->permanent)
        m->exists = false;
}

static void walker_start(struct walker *w)
{
    memset(w, 0, sizeof(*w));
    w->as = aspace_create(0);
    w->shared_region = region_new(w->as, 256 * MIB, VA$M_SHARED_PTS | (rnd(2) ? VA$M_DESCEND : 0));
    w->plain_region = region_new(w->as, 256 * MIB, rnd(2) ? VA$M_DESCEND : 0);
}

static void walker_end(struct walker *w)
{
    aspace_unref(w->as);
    for (unsigned i = 0; i < MAPS; i++)
        if (w->maps[i].used)
            model_drop(w->maps[i].section);
    w->as = NULL;
}

static bool walk_create(void)
{
    static const uint64_t sizes[] = {1, 7 * PAGES_PER_MIB, 8 * PAGES_PER_MIB, 20 * PAGES_PER_MIB,
                                     19 * PAGES_PER_MIB + 3};
    unsigned i = (unsigned)rnd(ARRAY_SIZE(walk_names));
    uint64_t n = sizes[rnd(ARRAY_SIZE(sizes))];
    int status;

    if (models[i].exists && !models[i].permanent && walk_names[i][0] == 'W')
        return true; /* two sections of one name: the model has room for one */
    status = create(walk_names[i], n, 0);
    if (models[i].exists)
        return status == (models[i].permanent ? SS$_DUPLNAM : SS$_RESERVEDMEMUSED);
    walked.created++;
    models[i] = (struct model){.exists = true, .permanent = true, .npages = n};
    return status == (strstr(walk_names[i], "NOPT") ? SS$_CREATED : SS$_CREATED_SHPT);
}

static bool walk_delete(void)
{
    unsigned i = (unsigned)rnd(ARRAY_SIZE(walk_names));
    struct model *m = &models[i];
    int status = delete (walk_names[i]);

    if (!m->exists || !m->permanent)
        return status == SS$_NOSUCHSEC;
    m->permanent = false;
    if (m->shares == 0)
        m->exists = false;
    return status == SS$_NORMAL;
}

static bool walk_map(struct walker *w)
{
    unsigned i = (unsigned)rnd(ARRAY_SIZE(walk_names)), slot = 0;
    bool shared = rnd(2);
    vaddr_t va;
    int status;

    while (slot < MAPS && w->maps[slot].used)
        slot++;
    if (slot == MAPS)
        return true;
    status = map_whole(w->as, walk_names[i], shared ? w->shared_region : w->plain_region, &va);
    if (!models[i].exists || !models[i].permanent)
        return status == SS$_NOSUCHSEC;
    if (shared && strstr(walk_names[i], "NOPT"))
        return status == SS$_NOSHPTS;
    if (status == SS$_REGISFULL)
        return true;
    models[i].shares++;
    walked.mapped++;
    w->maps[slot].used = true;
    w->maps[slot].shared = shared;
    w->maps[slot].section = i;
    w->maps[slot].va = va;
    w->maps[slot].length = models[i].npages * PAGE_SIZE;
    return status == SS$_NORMAL;
}

static bool walk_touch(struct walker *w)
{
    unsigned slot = (unsigned)rnd(MAPS), i = (unsigned)rnd(SAMPLES);
    struct model *m = &models[w->maps[slot].section];
    uint64_t page, *p;

    if (!w->maps[slot].used)
        return true;
    page = sample_page(m, i);
    p = touch(w->as, w->maps[slot].va + page * PAGE_SIZE, rnd(2) != 0);
    for (unsigned k = 0; k < SAMPLES; k++)
        if (sample_page(m, k) == page)
            i = k; /* small section: several samples are in one page */
    if (!p || *p != m->value[i])
        return false;
    p = touch(w->as, w->maps[slot].va + page * PAGE_SIZE, true);
    *p = m->value[i] = rnd(UINT64_MAX) | 1;
    m->valid[i] = true;
    walked.touched++;
    return true;
}

static bool walk_unmap(struct walker *w)
{
    unsigned slot = (unsigned)rnd(MAPS);

    if (!w->maps[slot].used)
        return true;
    if (region_delete_va(w->as, w->maps[slot].shared ? w->shared_region : w->plain_region,
                         w->maps[slot].va, w->maps[slot].length) != SS$_NORMAL)
        return false;
    w->maps[slot].used = false;
    model_drop(w->maps[slot].section);
    return true;
}

static bool walk_fork(void)
{
    struct walker *from = &walkers[rnd(PROCS)], *to = &walkers[rnd(PROCS)];

    if (from == to)
        return true;
    walker_end(to);
    *to = *from;
    to->as = aspace_fork(from->as);
    walked.forked++;
    for (unsigned i = 0; i < MAPS; i++)
        if (to->maps[i].used)
            models[to->maps[i].section].shares++;
    return to->as != NULL;
}

/* The section of that name in the list of all sections, even if it is marked deleted. */
static struct section *listed(const char *name)
{
    struct section *s;

    for (uint64_t i = 0; (s = section_nth(i)) != NULL; i++) {
        bool same = strcmp(s->gsd->name, name) == 0;

        section_drop(s);
        if (same)
            return s;
    }
    return NULL;
}

/* Compare the counts and hints of every section with the model. */
static bool walk_verify(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(walk_names); i++) {
        struct section *s = listed(walk_names[i]);
        struct gh_count l3, l2;
        uint64_t valid = 0, pages, l1;

        if ((s != NULL) != models[i].exists || (peek(walk_names[i]) != NULL) != models[i].permanent)
            return false;
        if (!s)
            continue;
        for (unsigned k = 0; k < SAMPLES; k++)
            valid += models[i].valid[k];
        section_walk(s, walkers[rnd(PROCS)].as, &l3, &l2, &l1, &pages);
        if (l3.errors || l2.errors || shares(s) != models[i].shares || s->nmaps != models[i].shares)
            return false;
        if (!section_is_alloc(s) &&
            (s->valid_pages < valid || s->counts.made_valid != s->valid_pages))
            return false;
    }
    return true;
}

static void random_walk(unsigned steps)
{
    struct balance before = balance();
    unsigned step;

    for (unsigned i = 0; i < PROCS; i++)
        walker_start(&walkers[i]);
    for (step = 0; step < steps; step++) {
        struct walker *w = &walkers[rnd(PROCS)];
        bool good = true;

        switch (rnd(12)) {
        case 0:
            good = walk_create();
            break;
        case 1:
            good = rnd(3) ? true : walk_delete();
            break;
        case 2:
        case 3:
            good = walk_map(w);
            break;
        case 4:
            good = walk_unmap(w);
            break;
        case 5:
            good = rnd(4) ? true : walk_fork();
            break;
        case 6:
            if (rnd(8) == 0) {
                walker_end(w);
                walker_start(w);
            }
            break;
        default:
            good = walk_touch(w);
        }
        if (good && step % 64 == 0)
            good = walk_verify();
        if (!good)
            break;
    }
    is(step, steps, "random walk from seed 20261121");
    diag("%lu creations, %lu mappings, %lu touches, %lu forks", walked.created, walked.mapped,
         walked.touched, walked.forked);
    for (unsigned i = 0; i < PROCS; i++)
        walker_end(&walkers[i]);
    for (unsigned i = 0; i < ARRAY_SIZE(walk_names); i++)
        delete (walk_names[i]);
    ok(balanced(before), "every page, promise and reservation is back");
}

int main(void)
{
    world_boot(SMALL_RAM, false);
    random_walk(40000);
    return tap_done();
}
