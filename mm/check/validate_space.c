/*
 * The self-check of address spaces: the map, and the page tables from the root down. Each table
 * page is mapped by one PTE, which its database entry names, and has as many nonzero PTEs as that
 * entry counts. Each PTE maps what the map entry of its address says.
 */
#include "mm/check/validate_private.h"
#include "mm/pagefile/pagefile.h"
#include "mm/pt/gh.h"
#include "mm/pt/pt_system.h"
#include "mm/section/huge_cow.h"
#include "mm/section/section_pt.h"
#include "mm/section/shpt.h"
#include "mm/space/aspace.h"
#include "mm/space/region.h"

/* The walk visits the tables in address order, and advances in the list of map entries with it. */
struct space_walk {
    struct validate *v;
    struct aspace *as;
    struct map_entry *e; /* first entry that ends above the current address; NULL: none */
    uint64_t filled;     /* PTEs of a section entry so far: pages, or spans if shared */
    uint64_t tables, rss, zeroes, paged_out;
};

/* ---- entries ---- */

/* The map entry after e, or the first one when e is NULL; NULL: there is none. */
static struct map_entry *entry_next(struct space_walk *w, const struct map_entry *e)
{
    struct list *l = e ? list_next(&w->as->entries, &e->link) : list_first(&w->as->entries);

    return l ? list_entry(l, struct map_entry, link) : NULL;
}

/* PTEs of an entry with shared tables: one for each span, and of a part of a span that has a table
   of its own (huge pages) one for each page. */
static uint64_t shared_want(const struct map_entry *e)
{
    uint64_t n = 0;

    for (vaddr_t va = e->start; va < e->end; va = (va & ~(PTE_L2_SPAN - 1)) + PTE_L2_SPAN)
        n += section_span_shared(e, va)
                 ? 1
                 : (MIN(e->end, (va & ~(PTE_L2_SPAN - 1)) + PTE_L2_SPAN) - va) / PAGE_SIZE;
    return n;
}

/* All PTEs of the current entry have been seen: compare their number. */
static void entry_done(struct space_walk *w)
{
    const struct map_entry *e = w->e;
    uint64_t want = (e->end - e->start) >> PAGE_SHIFT;

    if (!e->smap || !section_is_alloc(e->smap->section))
        return;
    if (e->smap->shared)
        want = shared_want(e);
    if (w->filled != want)
        validate_error(w->v, "space %lx: the section at %lx has %lu of %lu PTEs", w->as->pt.root.n,
                       e->start, w->filled, want);
}

/* The map entry that contains va, or NULL. va rises from call to call. */
static struct map_entry *entry_at(struct space_walk *w, vaddr_t va)
{
    while (w->e && w->e->end <= va) {
        entry_done(w);
        w->e = entry_next(w, w->e);
        w->filled = 0;
    }
    return w->e && w->e->start <= va ? w->e : NULL;
}

static void one_entry(struct validate *v, struct aspace *as, struct map_entry *e, vaddr_t above)
{
    v->r.entries++;
    if (e->start >= e->end || ((e->start | e->end) & PAGE_MASK) || e->start < above ||
        e->pt != &as->pt)
        validate_error(v, "space %lx: entry %lx to %lx behind %lx", as->pt.root.n, e->start, e->end,
                       above);
    if (aspace_lookup_locked(as, e->start) != e || aspace_lookup_locked(as, e->end - 1) != e)
        validate_error(v, "space %lx: the tree has no entry at %lx", as->pt.root.n, e->start);
    if (e->inner != (region_at_locked(as, e->start) != NULL))
        validate_error(v, "space %lx: the entry at %lx is %s a region", as->pt.root.n, e->start,
                       e->inner ? "not in" : "in");
    if (e->object) {
        v->mapped++;
        validate_object(v, e->object, 0);
    }
    if (e->smap && (e->smap->aspace != as || e->smap->start != e->start))
        validate_error(v, "space %lx: the section mapping at %lx says %lx", as->pt.root.n, e->start,
                       e->smap->start);
}

static void entries(struct validate *v, struct aspace *as)
{
    uint64_t size = 0, section_pages = 0, locked = 0;
    struct region *r;
    struct map_entry *e;
    vaddr_t above = 0;

    list_for_each_entry(e, &as->entries, link) {
        one_entry(v, as, e, above);
        above = e->end;
        size += e->end - e->start;
        if (e->smap)
            section_pages += (e->end - e->start) >> PAGE_SHIFT;
        if (e->locked)
            locked += (e->end - e->start) >> PAGE_SHIFT;
    }
    if (size != as->counts.vsize || section_pages != as->counts.section_pages)
        validate_error(v, "space %lx: %lu bytes, %lu pages of sections, counted as %lu and %lu",
                       as->pt.root.n, size, section_pages, as->counts.vsize,
                       as->counts.section_pages);
    if (locked != as->counts.locked)
        validate_error(v, "space %lx: %lu locked pages, counted as %lu", as->pt.root.n, locked,
                       as->counts.locked);
    above = 0;
    list_for_each_entry(r, &as->regions, link) {
        if (r->start < above || r->end <= r->start)
            validate_error(v, "space %lx: region %lu at %lx", as->pt.root.n, r->id, r->start);
        above = r->end;
    }
}

/* ---- PTEs ---- */

static void wrong(struct space_walk *w, vaddr_t va, pte_t pte, unsigned level, const char *why)
{
    validate_error(w->v, "space %lx: level-%u PTE %lx at %lx %s", w->as->pt.root.n, level, pte, va,
                   why);
}

/* Does the PTE allow an access that its map entry does not? */
static bool too_much(const struct map_entry *e, pte_t pte)
{
    return (!(e->prot & MAP_W) && (pte & (PTE_UWE | PTE_KWE))) ||
           (!e->prot && (pte & (PTE_URE | PTE_KRE))) || (!(e->prot & MAP_X) && !(pte & PTE_FOE));
}

/* A PTE of a private page: one of those that the page counts. */
static void private_pte(struct space_walk *w, const struct map_entry *e, const pte_t *p, vaddr_t va)
{
    w->rss++;
    validate_private(w->v, pte_pfn(*p), kseg_paddr(p).a);
    if (page_of(pte_pfn(*p))->refcnt - page_of(pte_pfn(*p))->share > 1 &&
        (*p & (PTE_UWE | PTE_KWE)))
        wrong(w, va, *p, 3, "may write a page that is to be copied");
    else if (too_much(e, *p) || pte_gh(*p))
        wrong(w, va, *p, 3, "says more than its entry");
}

/* A PTE of the page of zeroes, which a write replaces. */
static void zeroes_pte(struct space_walk *w, const struct map_entry *e, pte_t pte, vaddr_t va)
{
    w->rss++;
    w->zeroes++;
    if (!pfn_eq(pte_pfn(pte), page_zeroes))
        wrong(w, va, pte, 3, "maps a page of nobody");
    else if ((pte & (PTE_UWE | PTE_KWE)) || !(pte & PTE_SW_COW))
        wrong(w, va, pte, 3, "may write the page of zeroes");
    else if (too_much(e, pte) || pte_gh(pte))
        wrong(w, va, pte, 3, "says more than its entry");
}

/* May the PTE of an object's page be one of a block (mm/space/object_block.h)? */
static bool may_have_hint(const struct map_entry *e, pte_t pte, vaddr_t va)
{
    vaddr_t block = va & ~(vaddr_t)(GH_SMALL * PAGE_SIZE - 1);

    return pte_gh(pte) == 1 && !(e->prot & MAP_W) && e->ops == &anon_ops && block >= e->start &&
           block + GH_SMALL * PAGE_SIZE <= e->end;
}

static void object_pte(struct space_walk *w, const struct map_entry *e, pte_t pte, vaddr_t va)
{
    slot_t *s = index_find(e->object, (e->offset + (va - e->start)) >> PAGE_SHIFT);

    w->rss++;
    if (!s || !(*s & SLOT_PRESENT) || !pfn_eq(slot_pfn(*s), pte_pfn(pte)))
        wrong(w, va, pte, 3, "maps a page that the object does not have there");
    else if ((*s & (SLOT_AGED | SLOT_WALKS)) == SLOT_AGED && !w->as->pt.dying)
        wrong(w, va, pte, 3, "maps a page that is marked as taken away");
    else if ((pte & (PTE_UWE | PTE_KWE)) && !(e->flags & MAPF_SHARED))
        wrong(w, va, pte, 3, "may write a page that is to be copied");
    else if (too_much(e, pte) || (pte_gh(pte) && !may_have_hint(e, pte, va)))
        wrong(w, va, pte, 3, "says more than its entry");
}

static void section_pte(struct space_walk *w, const struct map_entry *e, pte_t pte, vaddr_t va)
{
    const struct section *s = e->smap->section;
    uint64_t page = section_page_at(e, va);
    const pte_t *global = section_is_alloc(s) ? NULL : shpt_pte(s->related, page);
    pfn_t frame = section_is_alloc(s) ? section_frame(s, page)
                  : global            ? pte_pfn(*global)
                                      : PFN_NONE;

    w->filled++;
    if (section_span_shared(e, va))
        wrong(w, va, pte, 3, "is private where tables are shared");
    else if ((pte & ~PTE_GH_MASK) != pte_make(frame, section_private_bits(e)))
        wrong(w, va, pte, 3, "is not the section's");
}

/* Private huge pages: each is mapped as a whole, by equal PTEs, and is one use of it. */
static void huge_pte(struct space_walk *w, const struct map_entry *e, const pte_t *p, vaddr_t va)
{
    pte_t first = p[-(long)(va % HUGE_BYTES / PAGE_SIZE)];

    w->v->huge += va % HUGE_BYTES == 0;
    if (pte_gh(*p) != 3 || !pte_valid(first) || pte_pfn(first).n % HUGE_PAGES ||
        (*p & ~PTE_GH_MASK) != huge_private_pte(e, va, first))
        wrong(w, va, *p, 3, "is not of a private huge page");
    else if (!(*p & PTE_SW_COW) && huge_pool_uses(pte_pfn(first)) != 1)
        wrong(w, va, *p, 3, "does not copy what others use");
}

/* A PTE of a page in a page file: one of those that its slot counts. */
static void slot_pte(struct space_walk *w, pte_t pte, vaddr_t va)
{
    w->paged_out++;
    if (!pagefile_check_slot(pte_slot(pte)))
        wrong(w, va, pte, 3, "has a slot that is not there, or too many have");
}

static void level3_pte(struct space_walk *w, const pte_t *p, vaddr_t va)
{
    const struct map_entry *e = entry_at(w, va);

    if (!e)
        wrong(w, va, *p, 3, "maps where nothing is mapped");
    else if (pte_is_paged_out(*p) && e->ops == &anon_ops && !e->object)
        slot_pte(w, *p, va);
    else if (!pte_valid(*p))
        validate_error(w->v, "space %lx: level-3 PTE %lx at %lx is %s, which nothing makes there",
                       w->as->pt.root.n, *p, va, pte_form_name(*p));
    else if (e->object && (*p & PTE_SW_SHARED)) /* also for page-file sections */
        object_pte(w, e, *p, va);
    else if (e->smap)
        section_pte(w, e, *p, va);
    else if (e->flags & MAPF_HUGE)
        huge_pte(w, e, p, va);
    else if (*p & PTE_SW_SHARED)
        zeroes_pte(w, e, *p, va);
    else
        private_pte(w, e, p, va);
}

/* A level-2 or level-1 PTE that maps a shared table: one span of a section, or a whole level-2
   table of spans. */
static void shared_pte(struct space_walk *w, pte_t pte, vaddr_t va, unsigned level)
{
    const struct map_entry *e = entry_at(w, va);
    uint64_t span, spans = level == 2 ? 1 : PTE_SPAN_PAGES;
    const struct section *s = e && e->smap && section_span_shared(e, va) ? e->smap->section : NULL;

    if (!s || !s->related) {
        wrong(w, va, pte, level, "maps shared tables where no section has them");
        return;
    }
    w->filled += spans;
    span = section_page_at(e, va) / PTE_SPAN_PAGES;
    if (level == 2 ? (pte & ~PTE_GH_MASK) != validate_shared_pte(s, span)
                   : pte != shpt_l1_pte(s->related, span) || span % PTE_SPAN_PAGES)
        wrong(w, va, pte, level, "is not the section's");
}

/* ---- tables ---- */

static void hints(struct space_walk *w, const pte_t *table, vaddr_t va, unsigned level)
{
    struct gh_count c = {.errors = 0};

    gh_count(table, PTES_PER_PAGE, va >> (level == 3 ? 13 : 23), &c);
    if (c.errors)
        validate_error(w->v, "space %lx: %lu level-%u PTEs with wrong hints from %lx on",
                       w->as->pt.root.n, c.errors, level, va);
}

void validate_table(struct validate *v, pfn_t pfn, const pte_t *upper, uint64_t ptes)
{
    /* A table has no offset; its count of PTEs, which has the same place, is compared below. */
    validate_active(v, pfn, VALIDATE_TABLE, PAGE_T_PT, kseg_paddr(upper).a, page_of(pfn)->aux);
    v->r.ptes += ptes;
    if (page_of(pfn)->aux != ptes)
        validate_error(v, "page table %lx holds %lu PTEs, its count says %u", pfn.n, ptes,
                       page_of(pfn)->aux);
}

/* Does the table at va, with nonzero PTEs in these groups, say so in its PFN database entry? */
static void groups_marked(struct space_walk *w, pfn_t pfn, vaddr_t va, uint32_t groups)
{
    uint32_t marked = __atomic_load_n(&page_of(pfn)->groups, __ATOMIC_RELAXED);

    if (groups & ~marked)
        validate_error(w->v, "space %lx: page table for %lx has PTEs in groups %x, marked are %x",
                       w->as->pt.root.n, va, groups, marked);
}

/* Does the PTE map a page of RAM, so that the table can be read? Reports an error if not. */
static bool table_readable(struct space_walk *w, pte_t pte, vaddr_t va, unsigned level)
{
    bool may = pte_valid(pte) && page_is_ram(pte_pfn(pte)) && page_entry_valid(pte_pfn(pte));

    if (!may)
        wrong(w, va, pte, level, "maps no table");
    return may;
}

static void level3_table(struct space_walk *w, const pte_t *upper, vaddr_t va)
{
    const pte_t *table = pt_table(*upper);
    uint64_t ptes = 0;
    uint32_t groups = 0;

    for (unsigned i = 0; i < PTES_PER_PAGE; i++)
        if (table[i]) {
            ptes++;
            groups |= 1u << (i / PT_GROUP);
            level3_pte(w, &table[i], va + i * PTE_L3_SPAN);
        }
    hints(w, table, va, 3);
    w->tables++;
    groups_marked(w, pte_pfn(*upper), va, groups);
    validate_table(w->v, pte_pfn(*upper), upper, ptes);
}

static void level2_table(struct space_walk *w, const pte_t *upper, vaddr_t va)
{
    const pte_t *table = pt_table(*upper);
    uint64_t ptes = 0;
    uint32_t groups = 0;

    for (unsigned i = 0; i < PTES_PER_PAGE; i++) {
        vaddr_t at = va + i * PTE_L2_SPAN;

        if (table[i] == 0)
            continue;
        ptes++;
        if (!(table[i] & PTE_SW_SHPT))
            groups |= 1u << (i / PT_GROUP);
        if (!table_readable(w, table[i], at, 2))
            continue;
        if (table[i] & PTE_SW_SHPT)
            shared_pte(w, table[i], at, 2);
        else
            level3_table(w, &table[i], at);
    }
    hints(w, table, va, 2);
    w->tables++;
    groups_marked(w, pte_pfn(*upper), va, groups);
    validate_table(w->v, pte_pfn(*upper), upper, ptes);
}

static void root(struct space_walk *w)
{
    const pte_t *table = kseg_page(w->as->pt.root), *system = kseg_page(pfn_of(system_root_pfn));
    const pte_t *self = &table[LAYOUT_L1_SELFMAP];
    uint64_t ptes = 0;

    for (unsigned i = 0; i < LAYOUT_USER_TOP / PTE_L1_SPAN; i++) {
        vaddr_t va = i * PTE_L1_SPAN;

        if (table[i] == 0)
            continue;
        ptes++;
        if (!table_readable(w, table[i], va, 1))
            continue;
        if (table[i] & PTE_SW_SHPT)
            shared_pte(w, table[i], va, 1);
        else
            level2_table(w, &table[i], va);
    }
    for (unsigned i = LAYOUT_USER_TOP / PTE_L1_SPAN; i < LAYOUT_L1_SELFMAP; i++)
        if (table[i] != (i >= LAYOUT_L1_SYSTEM_FIRST ? system[i] : 0))
            wrong(w, 0, table[i], 1, "is not the system's");
    if (*self != pte_table(w->as->pt.root))
        wrong(w, 0, *self, 1, "is not the self-map");
    w->tables++;
    validate_table(w->v, w->as->pt.root, self, ptes);
}

/* ---- spaces ---- */

/* The table that faults found last is still the private one of its addresses. */
static void recent_table(struct validate *v, struct aspace *as)
{
    uint64_t recent = as->pt.recent;
    vaddr_t va = (recent & PT_NO_TABLE) << PTE_L2_SHIFT;
    const pte_t *l2 = recent == PT_NO_TABLE ? NULL : pt_lookup(&as->pt, va, 2);

    if (recent != PT_NO_TABLE && (!l2 || !pte_valid(*l2) || (*l2 & PTE_SW_SHPT) ||
                                  pte_pfn(*l2).n != recent >> PT_RECENT_BITS))
        validate_error(v, "space %lx: the recent table %lx is not that of %lx", as->pt.root.n,
                       recent >> PT_RECENT_BITS, va);
}

void validate_aspace(struct validate *v, struct aspace *as)
{
    struct space_walk w = {.v = v, .as = as};

    if (validate_seen(v, &as->seen)) {
        as->holders++;
        return;
    }
    as->holders = 1;
    as->visitors = 0;
    v->r.spaces++;
    entries(v, as);
    w.e = entry_next(&w, NULL);
    root(&w);
    entry_at(&w, UINT64_MAX);
    recent_table(v, as);
    if (w.tables != as->pt.tables || w.rss != as->pt.rss)
        validate_error(v, "space %lx: %lu tables, %lu resident pages, counted as %lu and %lu",
                       as->pt.root.n, w.tables, w.rss, as->pt.tables, as->pt.rss);
    if (w.paged_out != as->pt.paged_out)
        validate_error(v, "space %lx: %lu pages in page files, counted as %lu", as->pt.root.n,
                       w.paged_out, as->pt.paged_out);
    if (w.zeroes != as->pt.zeroes)
        validate_error(v, "space %lx: %lu times the page of zeroes, counted as %lu", as->pt.root.n,
                       w.zeroes, as->pt.zeroes);
}

void validate_visited_space(struct validate *v, struct aspace *as)
{
    validate_aspace(v, as);
    as->holders--;
    as->visitors++;
}

void validate_space_refs(struct validate *v, struct aspace *as)
{
    if (as->refs < as->holders || as->refs > as->holders + as->visitors)
        validate_error(v, "space %lx: %u processes, %u visitors, %u references", as->pt.root.n,
                       as->holders, as->visitors, as->refs);
}
