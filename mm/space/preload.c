/*
 * What a new program is about to use is mapped before it runs, because a page that is mapped here
 * costs a fraction of the fault that it saves:
 *
 *   text     those of the first PRELOAD_PAGES pages of a segment that are in memory: 10
 *            instructions a page, where a fault takes 1,100 for a few pages;
 *   data     copies of the first COPIED_PAGES pages that are in memory: the dynamic linker or the
 *            start of the C library writes to them, mostly to all. A larger segment is data that
 *            the program perhaps never changes, so what is beyond is left to faults;
 *   zeroes   the first and the last page of memory without a file: what the start files and the C
 *            library have there is linked first and last, and both write to it as they begin;
 *   stack    its top page, to which exec itself writes.
 *
 * What is not in memory, as its pager has not been asked for it yet, is left to faults.
 *
 * Locks: the aspace mutex is held, at least shared, as by a fault. The object's lock is held for
 * the pages of one leaf of its index at a time, some 15 instructions each. Pages are copied without
 * it, while a reference keeps the source: if the object has another page or none by then, the copy
 * is freed. PTEs that a fault fills at the same time stay as the fault has left them.
 *
 * Out of memory: -ENOMEM; what has been mapped stays, as after a fault.
 */
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "mm/object/object_pages.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/object_block.h"

#define PRELOAD_PAGES 128u
#define COPIED_PAGES  4u

/* The slot of o at offset, where `before` is that of the page before it, or NULL. NULL: it has
   none. Lock held. */
static const slot_t *slot_after(struct mm_object *o, const slot_t *before, uint64_t offset)
{
    if (offset >= o->npages)
        return NULL;
    return before && offset % INDEX_SLOTS ? before + 1 : index_find(o, offset);
}

/* Has a slot a page that may be mapped? */
/* One that the pager looks at is left to a fault, which tells it that the page is used. */
static inline bool slot_maps(slot_t s)
{
    return (s & (SLOT_PRESENT | SLOT_TAKE | SLOT_AGED)) == SLOT_PRESENT;
}

/* The page of o at offset that may be mapped; PFN_NONE: none is in memory. Lock held. */
static inline pfn_t present_at(struct mm_object *o, uint64_t offset)
{
    const slot_t *s = offset < o->npages ? index_find(o, offset) : NULL;

    return s && slot_maps(*s) ? slot_pfn(*s) : PFN_NONE;
}

static inline uint64_t first_offset(const struct map_entry *e) { return e->offset >> PAGE_SHIFT; }

/* Map the blocks among the pages `used` of a leaf, whose slots begin at s, by PTEs from p on, which
   are all empty. The first block begins at number i. Returns the other pages. Lock held. */
static __attribute__((noinline)) uint64_t map_blocks(pte_t *p, const slot_t *s, uint64_t used,
                                                     unsigned i, pte_t bits)
{
    for (uint64_t rest = used >> i; rest; rest >>= GH_SMALL, i += GH_SMALL)
        if ((uint8_t)rest == 0xFF && block_slots_fit(s + i)) {
            block_map(p + i, s + i, bits);
            used &= ~(UINT64_C(0xFF) << i);
        }
    return used;
}

/* Map, to be read, those of n pages of e's object from `offset` on that are in memory, by the empty
   ones among the PTEs from p on; the slots are in one leaf of the index. (That a group of PTEs
   has no mark says that they are empty: who fills one holds the object's lock.) */
static void map_leaf(struct aspace *as, struct map_entry *e, pte_t *p, uint64_t offset, unsigned n)
{
    vaddr_t va = e->start + ((offset - first_offset(e)) << PAGE_SHIFT);
    struct mm_object *o = e->object;
    pte_t bits = pt_user_bits(e->prot, false) | PTE_SW_SHARED | PTE_SW_COW;
    ipl_t ipl = spin_lock(o->lock);
    const slot_t *s = offset < o->npages ? index_find(o, offset) : NULL;
    uint64_t used = 0;
    unsigned mapped = 0;

    if (s) {
        unsigned in_leaf = (unsigned)(offset % INDEX_SLOTS);

        used = container_of(s - in_leaf, const struct index_node, slot[0])->used >> in_leaf;
        n = (unsigned)MIN((uint64_t)n, o->npages - offset);
        used &= ~UINT64_C(0) >> (INDEX_SLOTS - n); /* n is not 0, but may be INDEX_SLOTS */
    }
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as that of pt_store(), for all of them */
    mapped = bit_count(used);
    if (used && !((va >> PAGE_SHIFT ^ offset) % GH_SMALL) &&
        !(__atomic_load_n(&pt_page_of(p)->groups, __ATOMIC_RELAXED) & pt_groups(p, n)))
        used = map_blocks(p, s, used, (unsigned)(-offset % GH_SMALL), bits);
    for (; used; used &= used - 1) {
        unsigned i = bit_lowest(used);
        slot_t slot = s[i];
        pte_t *to = p + i;

        if (likely(slot_maps(slot) && !*to))
            __atomic_store_n(to, pte_make(slot_pfn(slot), bits), __ATOMIC_RELAXED);
        else
            mapped--;
    }
    if (mapped) {
        pt_count(p, (int)mapped);
        pt_mark_range(p, n);
        page_table_add_rss(&as->pt, mapped); /* a reverse walk may subtract after the release */
    }
    spin_unlock(o->lock, ipl);
    count_add(&as->counts.object_valid, mapped);
}

static void map_pages(struct aspace *as, struct map_entry *e, pte_t *p, unsigned n)
{
    uint64_t offset = first_offset(e);

    while (n) {
        unsigned step = INDEX_SLOTS - (unsigned)(offset % INDEX_SLOTS);

        step = MIN(step, n);
        map_leaf(as, e, p, offset, step);
        offset += step;
        p += step;
        n -= step;
    }
}

/* A page of an object that is to be copied. */
struct source {
    uint64_t at; /* the page of the entry */
    pfn_t pfn;
};

/* Note those of e's first n pages that are in memory and that no PTE maps, with a reference to
   each. p: the first PTE. Returns the end of the list that begins at k. */
static struct source *note_sources(struct map_entry *e, const pte_t *p, uint64_t n,
                                   struct source *k)
{
    struct mm_object *o = e->object;
    uint64_t offset = first_offset(e);
    ipl_t ipl = spin_lock(o->lock);
    const slot_t *s = NULL;

    for (uint64_t i = 0; i < n; i++) {
        s = slot_after(o, s, offset + i);
        if (p[i] || !s || !slot_maps(*s))
            continue;
        *k = (struct source){.at = i, .pfn = slot_pfn(*s)};
        page_ref(k->pfn);
        k++;
    }
    spin_unlock(o->lock, ipl);
    return k;
}

/* Map the copies `to` of the pages from k to end where the object still has the page, by those of
   the PTEs from p on that are empty. What is mapped is taken from `to`. Returns its number. */
static uint64_t map_copies(struct map_entry *e, pte_t *p, const struct source *k,
                           const struct source *end, pfn_t *to)
{
    struct mm_object *o = e->object;
    pte_t bits = pt_user_bits(e->prot, true);
    uint64_t offset = first_offset(e), mapped = 0, n = end[-1].at + 1;
    ipl_t ipl = spin_lock(o->lock);

    for (; k < end; k++, to++) {
        pte_t *pte = p + k->at;

        if (*pte || !pfn_eq(present_at(o, offset + k->at), k->pfn))
            continue;
        page_of(*to)->owner = kseg_paddr(pte).a;
        pt_store(pte, pte_make(*to, bits));
        *to = PFN_NONE;
        mapped++;
    }
    if (mapped) {
        pt_count(p, (int)mapped);
        pt_mark_range(p, n);
    }
    spin_unlock(o->lock, ipl);
    return mapped;
}

/* Map private copies of those of e's first n pages that are in memory, at most COPIED_PAGES. p: the
   first PTE. 0 or -ENOMEM. */
static __attribute__((noinline)) int copy_pages(struct aspace *as, struct map_entry *e, pte_t *p,
                                                uint64_t n)
{
    struct source source[COPIED_PAGES], *end = note_sources(e, p, n, source);
    pfn_t to[COPIED_PAGES], *t = to;
    uint64_t mapped = 0;
    int err;

    if (end == source)
        return 0;
    err = page_alloc_bulk(0, PAGE_T_PROCESS, as->pt.home_rad, to, (size_t)(end - source));
    if (!err) {
        for (const struct source *k = source; k < end; k++)
            page_copy(*t++, k->pfn);
        mapped = map_copies(e, p, source, end, to);
    }
    t = to;
    for (const struct source *k = source; k < end; k++, t++) {
        page_unref(k->pfn);
        if (!err && unlikely(t->n))
            page_free(*t);
    }
    page_table_add_rss(&as->pt, mapped);
    count_add(&as->counts.cow, mapped);
    return err;
}

/* Those pages of e that its first table maps. */
static int preload_object(struct aspace *as, struct map_entry *e)
{
    uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(e->start), (e->end - e->start) >> PAGE_SHIFT);
    pte_t *p = pt_create(&as->pt, e->start, 3);

    if (!p)
        return -ENOMEM;
    if (e->prot & MAP_W)
        return copy_pages(as, e, p, MIN(n, (uint64_t)COPIED_PAGES));
    map_pages(as, e, p, (unsigned)MIN(n, (uint64_t)PRELOAD_PAGES));
    return 0;
}

/* Map a page of zeroes of its own at va of e, unless one is there. */
static int preload_zero(struct aspace *as, const struct map_entry *e, vaddr_t va)
{
    pte_t *p = pt_create(&as->pt, va, 3);
    pfn_t pfn;

    if (!p || page_alloc(PA_ZERO, PAGE_T_PROCESS, as->pt.home_rad, &pfn) != 0)
        return -ENOMEM;
    page_of(pfn)->owner = kseg_paddr(p).a;
    if (unlikely(!pt_install(p, pte_make(pfn, pt_user_bits(e->prot, true))))) {
        page_free_zeroed(pfn);
        return 0;
    }
    page_table_add_rss(&as->pt, 1);
    return 0;
}

/* The first and the last page of e, which is private memory without an object. */
static int preload_zeroes(struct aspace *as, const struct map_entry *e)
{
    int err = preload_zero(as, e, e->start);

    if (!err && e->end - e->start > PAGE_SIZE)
        err = preload_zero(as, e, e->end - PAGE_SIZE);
    return err;
}

/* The top page of the stack e, unless the process's limit forbids it. */
static int preload_stack(struct aspace *as, struct map_entry *e)
{
    vaddr_t va = e->end - PAGE_SIZE;

    return anon_stack_touch(as, e, va) ? preload_zero(as, e, va) : 0;
}

int aspace_preload_locked(struct aspace *as)
{
    struct map_entry *e;
    int err = 0;

    list_for_each_entry(e, &as->entries, link) {
        if (e->flags & MAPF_GROWSDOWN)
            err = preload_stack(as, e);
        else if (e->object && e->prot && !(e->flags & MAPF_SHARED))
            err = preload_object(as, e);
        else if (!e->object && (e->prot & MAP_W))
            err = preload_zeroes(as, e);
        if (err)
            break;
    }
    return err;
}
