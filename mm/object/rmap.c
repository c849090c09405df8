/*
 * Reverse walk: from an object's page to the PTEs that map it, through the object's map entries and
 * those of its copies.
 *
 * Pagers and truncation call it, without any aspace mutex. The caller holds the family's lock,
 * which protects the lists, the entries' objects and offsets, and the PTEs of these entries;
 * page_table.lock, taken here, keeps the tables that hold the PTEs. An entry's end may be lowered
 * by a split at the same time: by then the cut-off part is on the list as an entry of its own, so
 * no page is missed, and a PTE counts only if it maps this page. An entry that is being unmapped
 * has no PTEs left or is still on the list.
 *
 * Nothing is allocated, so nothing can fail. The time is in proportion to the entries of the family
 * that can see the page.
 */
#include "mm/object/object_private.h"
#include "mm/pt/pt.h"

struct search {
    pfn_t pfn;
    unsigned access;
};

/* Called for an entry that may map the page, at va. True: stop the walk. */
typedef bool entry_fn(struct map_entry *e, vaddr_t va, const struct search *s);

static bool restrict_pte(struct map_entry *e, vaddr_t va, const struct search *s)
{
    struct page_table *pt = e->pt;
    ipl_t ipl = spin_lock(&pt->lock);
    pte_t *p = pt_lookup(pt, va, 3);
    pte_t old = p ? *p : 0;

    if (pte_maps_page(va, old) && pfn_eq(pte_pfn(old), s->pfn)) {
        if (s->access == 0) {
            pt_set(p, 0);
            __atomic_fetch_sub(&pt->rss, 1, __ATOMIC_RELAXED);
            tb_flush_page(&pt->loaded, va, TB_UNMAP);
        } else if (old & (PTE_KWE | PTE_UWE)) {
            pt_set(p, (old & ~(PTE_KWE | PTE_UWE)) | PTE_FOW);
            tb_flush_page(&pt->loaded, va, TB_PROTECT);
        }
    }
    spin_unlock(&pt->lock, ipl);
    return false;
}

static bool is_locked_here(struct map_entry *e, vaddr_t va, const struct search *s)
{
    struct page_table *pt = e->pt;
    const pte_t *p;
    pte_t pte;
    ipl_t ipl;

    if (!e->locked)
        return false;
    ipl = spin_lock(&pt->lock);
    p = pt_lookup(pt, va, 3);
    pte = p ? *p : 0;
    spin_unlock(&pt->lock, ipl);
    return pte_maps_page(va, pte) && pfn_eq(pte_pfn(pte), s->pfn);
}

/* Call fn for the entries of o itself that cover offset. True: fn stopped the walk. */
static bool for_each_entry(struct mm_object *o, uint64_t offset, entry_fn *fn,
                           const struct search *s)
{
    struct map_entry *e;

    list_for_each_entry(e, &o->entries, obj_link) {
        uint64_t first = e->offset >> PAGE_SHIFT;

        if (offset >= first && offset - first < (e->end - e->start) >> PAGE_SHIFT &&
            fn(e, e->start + ((offset - first) << PAGE_SHIFT), s))
            return true;
    }
    return false;
}

/* Walk o and the tree of its copies without recursion: to the first copy of an object, or to its
   next sibling, or back up. True: fn stopped the walk. */
static bool walk(struct mm_object *o, uint64_t offset, entry_fn *fn, const struct search *s)
{
    struct mm_object *at = o;

    for (;;) {
        bool inside = at == o || offset < at->npages; /* does this copy see the page? */
        struct list *next = NULL;

        if (inside) {
            if (for_each_entry(at, offset, fn, s))
                return true;
            next = list_first(&at->copies);
        }
        while (!next && at != o) {
            offset += at->shadow_offset;
            next = list_next(&at->shadow->copies, &at->copy_link);
            at = at->shadow;
        }
        if (!next)
            return false;
        at = list_entry(next, struct mm_object, copy_link);
        offset -= at->shadow_offset; /* wraps if the copy begins above it: then not inside */
    }
}

void rmap_restrict_locked(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access)
{
    walk(o, offset, restrict_pte, &(struct search){pfn, access});
}

bool rmap_is_locked(struct mm_object *o, uint64_t offset, pfn_t pfn)
{
    return walk(o, offset, is_locked_here, &(struct search){pfn, 0});
}
