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
 * Random mapping and deleting of parts of sections of more than 8 GiB, with sharing at both levels
 * and forks, compared with a model: for every 8 MiB span ("piece") of every process, which piece of
 * which section must be mapped there.
 */
#include "section_world.h"

#define BLOCK    PTE_L1_SPAN
#define PIECE    PTE_L2_SPAN
#define RAM      (64 * PAGES_PER_GIB)
#define PROCS    4
#define PIECES   (40 * GIB / PIECE) /* of a process's region */
#define PER_8G   (BLOCK / PIECE)
#define SECTIONS 3

static const struct {
    const char *name;
    uint64_t npages;
} sections[SECTIONS] = {
    {"BLOCKS", 16 * PAGES_PER_GIB + 20 * PAGES_PER_MIB}, /* ALLOC */
    {"F", 20 * PAGES_PER_GIB + 3},
    {"SMALL", 20 * PAGES_PER_MIB},
};

static struct proc {
    struct aspace *as;
    uint64_t region;
    vaddr_t base;
    struct view {
        uint8_t section; /* 1..; 0: nothing */
        uint8_t whole;   /* these 8 GiB are mapped by one shared level-1 PTE */
        uint16_t piece;
    } sees[PIECES];
} procs[PROCS];

/* The expected first word of each piece of each section: the value that was written last. */
static uint64_t value[SECTIONS][3 * PER_8G];

static struct {
    uint64_t mapped, in_use, deleted, refused, touched, nothing, forked;
} did;

static uint64_t pieces_of(unsigned i) { return shpt_l3_pages(sections[i].npages); }

static void proc_start(struct proc *p)
{
    struct region_view v;

    memset(p, 0, sizeof(*p));
    p->as = aspace_create(0);
    p->region = region_new(p->as, PIECES * PIECE, VA$M_SHARED_PTS);
    if (!region_view_locked(p->as, p->region, &v))
        abort();
    p->base = v.start;
}

/* A random piece number below n, half of the time the first of an 8 GiB block. */
static uint64_t rnd_piece(uint64_t n) { return rnd(2) ? rnd(n) : rnd(n) / PER_8G * PER_8G; }

static bool step_map(struct proc *p)
{
    unsigned i = (unsigned)rnd(SECTIONS);
    uint64_t at = rnd_piece(PIECES), from = rnd_piece(pieces_of(i));
    uint64_t wanted = rnd(3) ? pieces_of(i) : 1 + rnd(pieces_of(i));
    uint64_t n = MIN(wanted, pieces_of(i) - from);
    struct section_map_request m = {.region_id = p->region,
                                    .start = p->base + at * PIECE,
                                    .offset = from * PIECE,
                                    .length = from + n == pieces_of(i) ? 0 : n * PIECE,
                                    .write = true};
    int expected = SS$_NORMAL, status;
    uint64_t length;
    vaddr_t va;

    for (uint64_t k = at; k < MIN(at + n, PIECES); k++)
        if (p->sees[k].section)
            expected = SS$_VA_IN_USE;
    if (at + n > PIECES)
        expected = SS$_PAGNOTINREG;
    status = map(p->as, sections[i].name, m, &va, &length);
    if (status != expected) {
        diag("%s, %lu pieces from %lu on at %lu: status %d, not %d", sections[i].name, n, from, at,
             status, expected);
        return false;
    }
    did.mapped += status == SS$_NORMAL;
    did.in_use += status == SS$_VA_IN_USE;
    for (uint64_t k = 0; status == SS$_NORMAL && k < n; k++) {
        uint64_t block = (at + k) / PER_8G * PER_8G;

        p->sees[at + k].section = (uint8_t)(i + 1);
        p->sees[at + k].piece = (uint16_t)(from + k);
        /* Address and offset are congruent, and the mapping covers the whole block. */
        p->sees[at + k].whole = at % PER_8G == from % PER_8G && block >= at &&
                                (block + PER_8G) * PIECE <= at * PIECE + length;
    }
    return true;
}

/* A cut within a block ends the sharing of its level-2 page. */
static void part(struct proc *p, uint64_t boundary)
{
    uint64_t block = boundary / PER_8G * PER_8G;

    for (uint64_t k = block; boundary % PER_8G && k < block + PER_8G && k < PIECES; k++)
        p->sees[k].whole = 0;
}

static bool step_delete(struct proc *p)
{
    uint64_t at = rnd_piece(PIECES);
    uint64_t wanted = rnd(3) ? 1 + rnd(40) : rnd_piece(PIECES) + 1;
    uint64_t n = MIN(wanted, PIECES - at);
    uint64_t odd = rnd(8) == 0 ? PAGE_SIZE * (1 + rnd(1023)) : 0;
    int status;

    if (odd) { /* not whole pieces: refused, unless unmapped or at a mapping's end */
        const struct view *v = &p->sees[at + n - 1];

        if (!v->section || v->piece + 1u == pieces_of(v->section - 1u))
            return true;
        status = region_delete_va(p->as, p->region, p->base + at * PIECE, n * PIECE - odd);
        did.refused++;
        return status == SS$_LEN_NOTPAGMULT;
    }
    if (region_delete_va(p->as, p->region, p->base + at * PIECE, n * PIECE) != SS$_NORMAL)
        return false;
    did.deleted++;
    part(p, at);
    part(p, at + n);
    memset(&p->sees[at], 0, n * sizeof(p->sees[0]));
    return true;
}

static bool look(struct proc *p, uint64_t k)
{
    const struct view *v = &p->sees[k];
    pte_t l1 = *pt_lookup(&p->as->pt, p->base + k * PIECE, 1);
    uint64_t *word = touch(p->as, p->base + k * PIECE, true);

    if (!v->section) {
        did.nothing++;
        return !word;
    }
    did.touched++;
    if (!word || *word != value[v->section - 1][v->piece] || v->whole != !!(l1 & PTE_SW_SHPT)) {
        diag("piece %lu shows piece %u of %s: word at %p, level-1 PTE %lx, whole %u", k, v->piece,
             sections[v->section - 1].name, (void *)word, l1, v->whole);
        return false;
    }
    *word = value[v->section - 1][v->piece] = rnd(UINT64_MAX);
    return true;
}

static bool step_look(struct proc *p)
{
    uint64_t k = rnd(PIECES);

    /* Also at the edges of what is mapped. */
    for (uint64_t edge = k; edge + 1 < PIECES; edge++)
        if (p->sees[edge].section != p->sees[edge + 1].section)
            return look(p, k) && look(p, edge) && look(p, edge + 1);
    return look(p, k);
}

static bool step_fork(void)
{
    struct proc *from = &procs[rnd(PROCS)], *to = &procs[rnd(PROCS)];

    if (from == to)
        return true;
    aspace_unref(to->as);
    *to = *from;
    to->as = aspace_fork(from->as);
    did.forked++;
    return to->as != NULL;
}

/* Check the hints of every section in every process, and the number of tables of each process. */
static bool verify(void)
{
    for (unsigned i = 0; i < SECTIONS; i++)
        for (unsigned k = 0; k < PROCS; k++) {
            struct gh_count l3, l2;
            uint64_t l1, pages;

            section_walk(peek(sections[i].name), procs[k].as, &l3, &l2, &l1, &pages);
            if (l3.errors || l2.errors) {
                diag("%s: wrong hints in process %u", sections[i].name, k);
                return false;
            }
        }
    for (unsigned k = 0; k < PROCS; k++) {
        uint64_t tables = 1; /* the root */

        for (uint64_t block = 0; block < PIECES; block += PER_8G) {
            bool own = false;

            for (uint64_t n = block; n < MIN(block + PER_8G, PIECES); n++)
                own = own || (procs[k].sees[n].section && !procs[k].sees[n].whole);
            tables += own;
        }
        if (procs[k].as->pt.tables != tables) {
            diag("process %u: %lu tables, not %lu", k, procs[k].as->pt.tables, tables);
            return false;
        }
    }
    return true;
}

int main(void)
{
    const unsigned steps = 4000;
    struct balance before;
    unsigned step;
    bool good = true;

    world_boot(RAM, true);
    before = balance();
    for (unsigned i = 0; i < SECTIONS; i++)
        is(create(sections[i].name, sections[i].npages, 0), SS$_CREATED_SHPT, "%s",
           sections[i].name);
    for (unsigned i = 0; i < PROCS; i++)
        proc_start(&procs[i]);
    for (step = 0; good && step < steps; step++) {
        struct proc *p = &procs[rnd(PROCS)];

        switch (rnd(8)) {
        case 0:
        case 1:
            good = step_map(p);
            break;
        case 2:
            good = step_delete(p);
            break;
        case 3:
            good = rnd(8) ? step_look(p) : step_fork();
            break;
        default:
            good = step_look(p);
        }
        if (good && step % 128 == 0)
            good = verify();
    }
    is(step, steps, "random parts from seed 20261121");
    diag("%lu mapped, %lu in use, %lu deleted, %lu refused, %lu + %lu looked at, %lu forks",
         did.mapped, did.in_use, did.deleted, did.refused, did.touched, did.nothing, did.forked);
    ok(good && verify(), "what is seen, and the tables behind it, are as expected");
    for (unsigned i = 0; i < PROCS; i++)
        aspace_unref(procs[i].as);
    for (unsigned i = 0; i < SECTIONS; i++)
        delete (sections[i].name);
    ok(balanced(before), "every page is back");
    return tap_done();
}
