/*
 * Blocks of an object's pages that are mapped together, by PTEs with a granularity hint
 * (mm/pt/gh.h): GH_SMALL pages in frames that follow each other, as a pager may have brought them
 * (kernel/fs/memfs_file.c), in memory that is not written. All PTEs of a block are made at once,
 * from zero, so that no translation of a single page of it exists beside that of the block; before
 * one of them changes alone, gh_break() takes the hint from all. They change with the object's lock
 * held, and agree whenever it is free. They belong to one map entry: who splits it breaks the block
 * that lies across.
 */
#ifndef MM_SPACE_OBJECT_BLOCK_H
#define MM_SPACE_OBJECT_BLOCK_H

#include "mm/object/mapping.h"
#include "mm/object/object_pages.h"
#include "mm/pt/gh.h"
#include "mm/pt/pt.h"

#define BLOCK_BYTES ((vaddr_t)GH_SMALL * PAGE_SIZE)
#define BLOCK_BIT   (UINT64_C(1) << PTE_GH_SHIFT) /* of a PTE: the hint of a block */

static inline bool block_begins(vaddr_t va) { return !(va & (BLOCK_BYTES - 1)); }

/* May the page at va with this frame be one of a block? */
static inline bool block_may_hold(vaddr_t va, pfn_t pfn)
{
    return !((va >> PAGE_SHIFT ^ pfn.n) % GH_SMALL);
}

/* Do the pages of the GH_SMALL slots from s on, with which a block of the object begins, lie in
   frames that a block can have, and may they be mapped? Object's lock held. */
static inline bool block_slots_fit(const slot_t *s)
{
    uint64_t step = gh_step;
    slot_t next = s[0], differ = 0;

    if ((next & (SLOT_PRESENT | SLOT_TAKE | SLOT_AGED)) != SLOT_PRESENT ||
        slot_pfn(next).n % GH_SMALL)
        return false;
#pragma GCC unroll 8
    for (unsigned k = 1; k < GH_SMALL; k++) {
        next += step;
        differ |= s[k] ^ next;
    }
    return !differ;
}

/* Can the block of e that begins at va, whose slots begin at s, be mapped by the PTEs from p on?
   Object's lock held. */
static inline bool block_fits(const struct map_entry *e, const pte_t *p, vaddr_t va,
                              const slot_t *s)
{
    uint64_t offset = (e->offset + (va - e->start)) >> PAGE_SHIFT;

    return block_slots_fit(s) && !(offset % GH_SMALL) && offset + GH_SMALL <= e->object->npages &&
           !(p[0] | p[1] | p[2] | p[3] | p[4] | p[5] | p[6] | p[7]);
}

/* Map them: bits are those of each PTE. The caller counts and marks the PTEs, and has made the
   contents of the pages visible before. Lock held. */
static inline void block_map(pte_t *p, const slot_t *s, pte_t bits)
{
    pte_t pte = pte_make(slot_pfn(s[0]), bits | BLOCK_BIT);
    uint64_t step = gh_step;

    _Static_assert(GH_SMALL == 8 && SLOT_PFN_SHIFT == PTE_PFN_SHIFT, "the hint is 1, one step");
#pragma GCC unroll 8
    for (unsigned k = 0; k < GH_SMALL; k++, pte += step)
        __atomic_store_n(&p[k], pte, __ATOMIC_RELAXED);
}

#endif
