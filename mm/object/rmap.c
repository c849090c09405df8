/*
 * Reverse walk: from an object's page to the PTEs that map it, through the object's map entries and
 * those of its copies.
 *
 * It runs without any aspace mutex, called by pagers and truncation. What it needs to stand still
 * does: lists, entries' objects and offsets, and the PTEs of these entries by the family's lock,
 * which the caller holds; the tables that the PTEs lie in by page_table.lock. An entry's range may
 * be cut at its end by a split at the same time: the cut-off part is on the list before that, so
 * no page is missed, and a PTE counts only if it maps this very page. An entry whose unmapping is
 * under way has no PTEs left or is still on the list.
 */
#include "mm/object/object_private.h"
#include "mm/pt/pt.h"

struct search {
    pfn_t pfn;
    unsigned access;
};

/* What is done with an entry that may map the page at va. True: stop here. */
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

/* Through the tree of copies without recursion: down to the first copy, else to the next one, else
 * up. True: fn said so. */
static bool walk(struct mm_object *o, uint64_t offset, entry_fn *fn, const struct search *s)
{
    struct mm_object *at = o;

    for (;;) {
        bool inside = at == o ||
                      offset < at->npages; /* else the page lies outside what this copy sees */
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
        offset -= at->shadow_offset; /* below the window it wraps, and is outside */
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
