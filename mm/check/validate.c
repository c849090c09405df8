/*
 * The self-check: marks, lists and ranges, pages that nobody counted, the fluid count.
 *
 * The check walks every structure that holds pages and counts them: lists, caches and ranges;
 * reservations; page tables from their roots down, and the pages that private PTEs map; objects by
 * their index; sections by their own tables; pools; kernel stacks. Each page has one bit. A page
 * that is counted a second time is an error, and so is a page of RAM that was not counted in the
 * end. When a page is counted, its database entry (state, type, owner, offset) is compared with
 * where it was found and, for a table, the count of its PTEs with their number. So a page that is
 * lost, counted twice, on the wrong list, or recorded as another owner's is detected, and so is a
 * wrong counter: each is computed anew from what was found.
 *
 * The bits. A group is 65,536 pages (512 MiB); a group in which any entry of the database is
 * initialised has a page of marks, one bit for each of its pages. Never-used RAM has no entries and
 * no bits: it is counted in stretches, kept in order, which must not overlap, and which together
 * must be all RAM without entries. So the check takes memory in proportion to the initialised part
 * of the database, not to RAM.
 *
 * While the check runs, all threads are stopped (kernel/sched/freeze.h), so there are no locks, but
 * interrupts are served. One that allocates memory changes the fluid count or the size of the pool:
 * then the result says `moved`, and the caller runs the check again. validate_begin() fails when
 * there is no memory for the marks.
 */
#include "mm/check/validate_private.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/bitops.h"
#include "kernel/base/format.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/fluid.h"
#include "mm/pool/pool.h"
#include "mm/pt/kstack.h"

#define GROUP_SHIFT  16 /* number of bits in a page of marks: 2^16 */
#define GROUP_PAGES  (1UL << GROUP_SHIFT)
#define ERROR_LINES  32u /* printed on the console at most */
#define LINE_MOST    160u
#define STRETCH_MORE 8u /* stretches that allocating the marks may add */

_Static_assert(GROUP_PAGES == PAGE_SIZE * 8, "a group's marks fill a page");

_Static_assert(QUOTA_PAGES == 0 && QUOTA_FILE_PAGES == 1, "the first kinds are those of pages");

static uint16_t last_epoch; /* used only while the system is stopped */
/* Pages found that are charged to each account, by kind; likewise. */
static uint32_t charged[ACCOUNTS_MAX][QUOTA_FILE_PAGES + 1];

static uint32_t filed[ACCOUNTS_MAX]; /* slots of page files charged to each account; likewise */

/* ---- errors ---- */

void validate_error(struct validate *v, const char *fmt, ...)
{
    char line[LINE_MOST];
    size_t n, room = sizeof(v->r.text) - v->text_used;
    va_list ap;

    va_start(ap, fmt);
    n = MIN(vformat(line, sizeof(line), fmt, ap), sizeof(line) - 1);
    va_end(ap);
    if (v->r.errors++ < ERROR_LINES)
        printk("validate: %s\n", line);
    if (n + 2 > room)
        return;
    memcpy(v->r.text + v->text_used, line, n);
    v->text_used += n;
    v->r.text[v->text_used++] = '\n';
    v->r.text[v->text_used] = 0;
}

const char *validate_entry(uint64_t n)
{
    static char text[80];
    const struct page *p = &page_db[n];

    if (n >= page_end || !page_entry_valid(pfn_of(n)))
        return "no entry";
    format(text, sizeof(text), "state %u type %u refs %u share %u owner %lx offset %x", p->state,
           p->type, p->refcnt, p->share, p->owner, p->offset);
    return text;
}

bool validate_seen(const struct validate *v, uint16_t *mark)
{
    bool seen = *mark == v->epoch;

    *mark = v->epoch;
    return seen;
}

/* ---- marks ---- */

/* Note what a page is charged to. False: that counts no pages. */
static bool note_charge(uint32_t charge)
{
    uint32_t of = sizeof(struct account) / sizeof(struct quota_count);

    if (charge / of >= ACCOUNTS_MAX || charge % of > QUOTA_FILE_PAGES)
        return false;
    charged[charge / of][charge % of]++;
    return true;
}

/* Note who is charged for page n, if it is allocated. */
static void count_charge(struct validate *v, uint64_t n)
{
    if (page_db[n].state != PAGE_ACTIVE && page_db[n].state != PAGE_TRANSITION)
        return;
    if (!note_charge(page_db[n].charge))
        validate_error(v, "page %lx is charged to counter %x, which counts no pages: %s", n,
                       page_db[n].charge, validate_entry(n));
}

/* Set the bit of page n. False, with an error reported: it cannot be counted. */
static bool mark(struct validate *v, uint64_t n, enum validate_kind kind)
{
    uint64_t *bits;

    if (n >= page_end || !page_is_ram(pfn_of(n))) {
        validate_error(v, "page %lx is counted (kind %u), but it is no RAM", n, kind);
        return false;
    }
    bits = v->groups[n >> GROUP_SHIFT];
    if (!bits || !page_entry_valid(pfn_of(n))) {
        validate_error(v, "page %lx is counted (kind %u), but never left its range", n, kind);
        return false;
    }
    if (bitmap_test(bits, n % GROUP_PAGES)) {
        validate_error(v, "page %lx is counted twice, the second time as kind %u: %s", n, kind,
                       validate_entry(n));
        return false;
    }
    bitmap_set(bits, n % GROUP_PAGES);
    v->r.pages[kind]++;
    count_charge(v, n);
    return true;
}

void validate_count(struct validate *v, uint64_t n, enum validate_kind kind, enum page_state state)
{
    if (mark(v, n, kind) && page_db[n].state != state)
        validate_error(v, "page %lx is counted as kind %u: %s", n, kind, validate_entry(n));
}

void validate_active(struct validate *v, pfn_t pfn, enum validate_kind kind, enum page_type type,
                     uint64_t owner, uint64_t offset)
{
    const struct page *p = page_of(pfn);

    if (!mark(v, pfn.n, kind))
        return;
    /* A page that is written back is in transition, and the request refers to it. */
    if ((p->state != PAGE_ACTIVE && p->state != PAGE_TRANSITION) || p->type != type ||
        p->owner != owner || p->offset != offset || p->refcnt == 0 ||
        (p->refcnt != 1 && p->state != PAGE_TRANSITION))
        validate_error(v, "page %lx: %s; it is of type %u, owner %lx, offset %lx", pfn.n,
                       validate_entry(pfn.n), type, owner, offset);
}

/* References to a private page by PTEs: all but those of pins. */
static uint32_t mapped(const struct page *p) { return p->refcnt - p->share; }

/* The first PTE of a private page has been found. */
static void private_first(struct validate *v, pfn_t pfn, uint64_t pte)
{
    struct page *p = page_of(pfn);

    if (!mark(v, pfn.n, VALIDATE_PRIVATE))
        return;
    p->ptes = 1;
    v->partly += mapped(p) > 1;
    v->pins += p->share;
    if (p->state != PAGE_ACTIVE || p->type != PAGE_T_PROCESS || p->offset != 0 || mapped(p) == 0 ||
        (p->owner != 0 && (p->owner != pte || mapped(p) != 1)))
        validate_error(v, "page %lx: %s; it is private, mapped by the PTE at %lx", pfn.n,
                       validate_entry(pfn.n), pte);
}

void validate_private(struct validate *v, pfn_t pfn, uint64_t pte)
{
    const uint64_t *bits = pfn.n < page_end ? v->groups[pfn.n >> GROUP_SHIFT] : NULL;
    struct page *p = page_of(pfn);

    if (!bits || !bitmap_test(bits, pfn.n % GROUP_PAGES) || p->type != PAGE_T_PROCESS ||
        p->ptes >= mapped(p)) { /* also the one that is too many: it is marked already */
        private_first(v, pfn, pte);
        return;
    }
    p->ptes++;
    v->partly -= p->ptes == mapped(p);
}

void validate_pin(struct validate *v, pfn_t pfn)
{
    const uint64_t *bits = pfn.n < page_end ? v->groups[pfn.n >> GROUP_SHIFT] : NULL;
    struct page *p = page_of(pfn);

    v->pins_found++;
    if (!bits || p->state != PAGE_ACTIVE || p->type != PAGE_T_PROCESS || p->share == 0)
        validate_error(v, "page %lx is pinned: %s", pfn.n, validate_entry(pfn.n));
    else if (mapped(p) == 0 && !bitmap_test(bits, pfn.n % GROUP_PAGES) &&
             mark(v, pfn.n, VALIDATE_PIPE))
        v->pins += p->share;
}

void validate_page(struct validate *v, pfn_t pfn, enum validate_kind kind)
{
    validate_active(v, pfn, kind, PAGE_T_SYSTEM, 0, 0);
}

void validate_left_page(struct validate *v, pfn_t pfn)
{
    validate_active(v, pfn, VALIDATE_PIPE, PAGE_T_OBJECT, page_of(pfn)->owner,
                    page_of(pfn)->offset);
}

/* Record a stretch of pages without entries. */
static void note_bare(struct validate *v, uint64_t first, uint64_t npages, enum validate_kind kind)
{
    uint64_t i = v->nstretches;

    v->r.pages[kind] += npages;
    if (!v->stretches || i == v->stretches_max) {
        v->nstretches++; /* the first pass only counts them; too many are reported at the end */
        return;
    }
    for (; i > 0 && v->stretches[i - 1].first > first; i--)
        v->stretches[i] = v->stretches[i - 1];
    v->stretches[i] = (struct validate_stretch){first, npages};
    v->nstretches++;
    if ((i > 0 && v->stretches[i - 1].first + v->stretches[i - 1].npages > first) ||
        (i + 1 < v->nstretches && first + npages > v->stretches[i + 1].first))
        validate_error(v, "pages %lx to %lx (kind %u) are in two stretches of unused memory", first,
                       first + npages - 1, kind);
}

void validate_stretch(struct validate *v, uint64_t first, uint64_t npages, enum validate_kind kind)
{
    uint64_t end = first + npages, bare = first;

    if (npages == 0 || end < first || end > page_end) {
        validate_error(v, "a stretch of %lu pages at %lx (kind %u)", npages, first, kind);
        return;
    }
    for (uint64_t n = first; n < end;) {
        uint64_t next = MIN(end, align_down(n, CHUNK_PAGES) + CHUNK_PAGES);

        if (page_entry_valid(pfn_of(n))) {
            if (n > bare)
                note_bare(v, bare, n - bare, kind);
            bare = next;
            for (; n < next && v->stretches; n++)
                if (mark(v, n, kind) && page_db[n].state != PAGE_UNUSED &&
                    (kind != VALIDATE_RESERVED || page_db[n].state != PAGE_RESERVED))
                    validate_error(v, "page %lx is counted as kind %u: %s", n, kind,
                                   validate_entry(n));
        }
        n = next;
    }
    if (end > bare)
        note_bare(v, bare, end - bare, kind);
}

/* ---- begin ---- */

static void marks_free(struct validate *v)
{
    for (uint64_t g = 0; v->groups && g < v->ngroups; g++)
        if (v->groups[g])
            page_free(paddr_to_pfn(kseg_paddr(v->groups[g])));
    if (v->groups)
        npp_free(v->groups, v->ngroups * sizeof(*v->groups));
    if (v->stretches)
        npp_free(v->stretches, v->stretches_max * sizeof(*v->stretches));
    npp_free(v, sizeof(*v));
}

static bool group_has_entries(uint64_t g)
{
    for (uint64_t n = g * GROUP_PAGES; n < MIN((g + 1) * GROUP_PAGES, page_end); n += CHUNK_PAGES)
        if (page_entry_valid(pfn_of(n)))
            return true;
    return false;
}

/* Allocate a page of marks for each group that needs one. The allocation may initialise entries of
   another group, so repeat until none is missing. False: there is no memory. */
static bool marks_make(struct validate *v)
{
    bool missing = true;

    while (missing) {
        missing = false;
        for (uint64_t g = 0; g < v->ngroups; g++) {
            pfn_t pfn;

            if (v->groups[g] || !group_has_entries(g))
                continue;
            if (page_alloc(PA_ZERO, PAGE_T_SYSTEM, RAD_ANY, &pfn) != 0)
                return false;
            v->groups[g] = kseg_page(pfn);
            missing = true;
        }
    }
    return true;
}

static void count_range(void *arg, uint64_t first, uint64_t npages)
{
    validate_stretch(arg, first, npages, VALIDATE_NEVER_USED);
}

/* Count all never-used and reserved stretches. */
static void stretches_all(struct validate *v)
{
    page_walk_ranges(count_range, v);
    validate_reservations(v);
}

static void table_page(void *arg, pfn_t pfn) { validate_page(arg, pfn, VALIDATE_LINKS); }

struct validate *validate_begin(void)
{
    struct validate *v = npp_alloc_zeroed(sizeof(*v));
    bool pools;

    if (!v)
        return NULL;
    /* First: this reads boundary bits of the paged pool, and their faults may allocate pages. */
    pools = npp_check() == 0 && pgd_check() == 0;
    v->ngroups = div_round_up(page_end, GROUP_PAGES);
    v->groups = npp_alloc_zeroed(v->ngroups * sizeof(*v->groups));
    stretches_all(v); /* first pass: only the number of stretches */
    v->stretches_max = v->nstretches + STRETCH_MORE;
    v->stretches = npp_alloc(v->stretches_max * sizeof(*v->stretches));
    if (!v->groups || !v->stretches || !marks_make(v)) {
        marks_free(v);
        return NULL;
    }
    memset(&v->r, 0, sizeof(v->r));
    v->nstretches = v->text_used = v->reserved = v->promised = v->partly = 0;
    if (++last_epoch == 0)
        last_epoch = 1;
    v->epoch = last_epoch;
    memset(charged, 0, sizeof(charged));
    memset(filed, 0, sizeof(filed));
    v->fluid_at_begin = __atomic_load_n(&fluid_available, __ATOMIC_RELAXED);
    v->npool_at_begin = npp_total_pages();
    pagefile_check_begin(table_page, v); /* before any slot is counted */
    validate_section_objects(v);
    if (!pools)
        validate_error(v, "a pool is broken: see the console");
    for (uint64_t g = 0; g < v->ngroups; g++)
        if (v->groups[g])
            validate_page(v, paddr_to_pfn(kseg_paddr(v->groups[g])), VALIDATE_CHECK);
    return v;
}

/* ---- lists, ranges, pages that nobody counted ---- */

static const enum validate_kind kind_of_list[] = {
    [PAGE_FREE] = VALIDATE_FREE,     [PAGE_MODIFIED] = VALIDATE_MODIFIED, [PAGE_BAD] = VALIDATE_BAD,
    [PAGE_ZEROED] = VALIDATE_ZEROED, [PAGE_CACHED] = VALIDATE_CACHED,
};

static void count_free(void *arg, uint64_t n, enum page_state state)
{
    validate_count(arg, n, kind_of_list[state], state);
}

static void free_pages(struct validate *v)
{
    const char *broken = page_walk_free(count_free, v);
    struct page_stats s;

    if (broken)
        validate_error(v, "%s", broken);
    stretches_all(v);
    page_stats(&s);
    if (s.never_used != v->r.pages[VALIDATE_NEVER_USED])
        validate_error(v, "the ranges hold %lu pages, their count says %lu",
                       v->r.pages[VALIDATE_NEVER_USED], s.never_used);
    if (s.reserved != v->reserved)
        validate_error(v, "the reservations hold %lu pages, their count says %lu", v->reserved,
                       s.reserved);
}

/* Some private page has fewer PTEs than references: report page n if it is that one. */
static void all_ptes_found(struct validate *v, uint64_t n)
{
    const struct page *p = &page_db[n];

    if (p->state == PAGE_ACTIVE && p->type == PAGE_T_PROCESS && mapped(p) > 1 &&
        p->ptes != mapped(p))
        validate_error(v, "page %lx is mapped by %u PTEs: %s", n, p->ptes, validate_entry(n));
}

struct left {
    struct validate *v;
    uint64_t bare; /* pages without entries */
};

static void sweep(void *arg, uint64_t first, uint64_t npages)
{
    struct left *l = arg;

    for (uint64_t n = first; n < first + npages; n++) {
        if (!page_entry_valid(pfn_of(n))) {
            uint64_t next = MIN(first + npages, align_down(n, CHUNK_PAGES) + CHUNK_PAGES);

            l->bare += next - n;
            n = next - 1;
            continue;
        }
        if (l->v->groups[n >> GROUP_SHIFT] &&
            bitmap_test(l->v->groups[n >> GROUP_SHIFT], n % GROUP_PAGES)) {
            if (l->v->partly)
                all_ptes_found(l->v, n);
            continue;
        }
        validate_error(l->v, "page %lx is lost: %s", n, validate_entry(n));
        count_charge(l->v, n); /* it is charged still: that is no second error */
    }
}

static void whats_left(struct validate *v)
{
    struct left l = {.v = v};
    uint64_t noted = 0, counted = 0;

    page_walk_ram(sweep, &l);
    for (uint64_t i = 0; i < MIN(v->nstretches, v->stretches_max); i++)
        noted += v->stretches[i].npages;
    if (v->nstretches > v->stretches_max)
        validate_error(v, "%lu stretches of unused memory, %lu at the beginning", v->nstretches,
                       v->stretches_max - STRETCH_MORE);
    else if (noted != l.bare)
        validate_error(v, "%lu pages were never used, %lu are in ranges and reservations", l.bare,
                       noted);
    for (unsigned k = 0; k < VALIDATE_KINDS; k++)
        counted += v->r.pages[k];
    if (counted != page_total && v->r.errors == 0)
        validate_error(v, "%lu pages are counted of %lu", counted, page_total);
}

static void fluid(struct validate *v)
{
    const uint64_t *n = v->r.pages;
    uint64_t free = n[VALIDATE_FREE] + n[VALIDATE_ZEROED] + n[VALIDATE_CACHED] +
                    n[VALIDATE_NEVER_USED];
    int64_t want = (int64_t)free - (int64_t)v->promised - (int64_t)fluid_minimum();
    int64_t got = __atomic_load_n(&fluid_available, __ATOMIC_RELAXED);

    if (fluid_promised_unused() != v->promised)
        validate_error(v, "%lu pages are promised, but sections and reservations owe %lu",
                       fluid_promised_unused(), v->promised);
    if (got != want)
        validate_error(v,
                       "the fluid count is %ld, but %lu free - %lu promised - %lu minimum is %ld",
                       got, free, v->promised, fluid_minimum(), want);
}

static void accounts_of_pages(struct validate *v)
{
    for (unsigned i = 0; i < ACCOUNTS_MAX; i++) {
        uint64_t slots = __atomic_load_n(&accounts[i].count[QUOTA_PAGE_FILE].used,
                                         __ATOMIC_RELAXED);

        if (slots != filed[i])
            validate_error(v, "user %u is charged %lu slots of page files, but has %u",
                           accounts[i].uid, slots, filed[i]);
        for (unsigned k = QUOTA_PAGES; k <= QUOTA_FILE_PAGES; k++) {
            uint64_t used = __atomic_load_n(&accounts[i].count[k].used, __ATOMIC_RELAXED);

            if (used != charged[i][k])
                validate_error(v, "user %u is charged %lu pages (%s), but has %u", accounts[i].uid,
                               used, quota_name(k), charged[i][k]);
        }
    }
}

static void one_slot(void *arg, pagefile_slot_t slot, uint32_t found, uint32_t counted,
                     uint16_t charge)
{
    if (found != counted)
        validate_error(arg, "slot %x: %u PTEs or objects have it, it counts %u", slot, found,
                       counted);
    if (charge != PAGEFILE_UNCHARGED)
        filed[quota_account(charge) - accounts]++;
}

static void one_page_file(void *arg, const char *name, uint64_t found, uint64_t counted)
{
    if (found != counted)
        validate_error(arg, "page file %s: %lu slots are used, counted as %lu", name, found,
                       counted);
}

void validate_end(struct validate *v, struct validate_result *r)
{
    static const struct pagefile_check check = {.slot = one_slot, .file = one_page_file};

    validate_sections(v);
    validate_held_objects(v);
    pagefile_check_end(&check, v);
    validate_system(v);
    validate_pool(v);
    free_pages(v);
    whats_left(v);
    fluid(v);
    accounts_of_pages(v);
    if (v->mapped != v->listed)
        validate_error(v, "%lu entries map objects, the objects know %lu", v->mapped, v->listed);
    if (v->pins != v->pins_found)
        validate_error(v, "private pages have %lu pins, %lu are known", v->pins, v->pins_found);
    v->r.total = page_total;
    v->r.moved = __atomic_load_n(&fluid_available, __ATOMIC_RELAXED) != v->fluid_at_begin ||
                 npp_total_pages() != v->npool_at_begin;
    if (v->r.moved && v->r.errors)
        printk("validate: an interrupt took memory meanwhile: that was no error\n");
    *r = v->r;
    marks_free(v);
}
