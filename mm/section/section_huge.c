/*
 * Sections of huge pages.
 *
 * A section takes its huge pages from the pool when it is created, zeroes them and fills in its
 * level-3 pages, before anybody can find it: so no mutex is held for a time that grows with its
 * size, and a creator that is killed gives everything back. Faults have nothing to do. Its level-3
 * pages are not contiguous; they are part of a promise, like those of a FLUID section.
 *
 * A mapping that may read and write, at an address that equals the offset modulo 8 MiB, uses the
 * section's level-3 pages for every whole span, and its level-2 pages for every whole block of
 * 8 GiB. Any other mapping has tables of its own, with the same granularity hints.
 *
 * Locks: none here. The pool has a mutex, and what all sections share is under the GSD mutex.
 */
#include "mm/section/section_huge.h"

#include "arch/alpha/hw/pte.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/section/section_map.h"
#include "mm/section/section_pt.h"
#include "mm/section/shpt.h"

static uint64_t blocks_of(const struct section *s) { return s->npages / HUGE_PAGES; }

static int error_of(cond_t status) { return status == SS$_ABORT ? -EINTR : -ENOMEM; }

/* ---- memory ---- */

static void blocks_give(struct section *s)
{
    uint64_t n = blocks_of(s);

    huge_pool_give(s->blocks, n);
    npp_free((void *)s->blocks, n * sizeof(pfn_t));
    s->blocks = NULL;
}

/* Take the pages of s, the first of them from `old`, or none (NULL). *shared is how many those are.
   0 or -ENOMEM. */
static int blocks_take(struct section *s, const struct section *old, uint64_t *shared)
{
    uint64_t n = blocks_of(s), k;
    pfn_t *blocks = npp_alloc(n * sizeof(pfn_t));
    int err = blocks ? 0 : -ENOMEM;

    *shared = old ? MIN(n, blocks_of(old)) : 0;
    if (!err && n > *shared)
        err = huge_pool_take(s->account, n - *shared, blocks + *shared);
    if (err) {
        if (blocks)
            npp_free(blocks, n * sizeof(pfn_t));
        return err;
    }
    for (k = 0; k < *shared; k++) {
        blocks[k] = old->blocks[k];
        huge_pool_use(blocks[k]);
    }
    s->blocks = blocks;
    s->first = blocks[0];
    s->valid_pages = s->npages;
    return 0;
}

/* Zero the pages from number `first` on. False: the caller is to end. */
static bool zero_blocks(const struct section *s, uint64_t first)
{
    for (uint64_t page = first * HUGE_PAGES; page < s->npages; page++) {
        if (thread_killed())
            return false;
        page_zero_if_needed(section_frame(s, page));
    }
    return true;
}

/* The level-2 and level-3 pages. 0, -ENOMEM, -EINTR. */
static int tables_make(struct section *s)
{
    uint64_t n = shpt_l3_pages(s->npages) + shpt_l2_pages(s->npages);
    int err = fluid_promise(n);

    if (err)
        return err;
    s->promised = n;
    s->tables_shared = true;
    err = shpt_create(s);
    if (err)
        fluid_promise_end(n);
    return err;
}

static void huge_release(struct section *s)
{
    shpt_delete(s);
    fluid_promise_end(s->promised);
    blocks_give(s);
}

static const struct section_kind huge_kind = {
    .implied = SEC$M_MRES | SEC$M_MRES_ALLOC | SEC$M_GRANHINT | SEC$M_DZRO | SEC$M_WRT,
    .has_gptes = true,
    .map_ops = &section_map_ops,
    .release = huge_release,
};

/* Give s its memory, zero where it is not that of `old`, and its tables. */
static int furnish(struct section *s, const struct section *old)
{
    uint64_t shared;
    int err = blocks_take(s, old, &shared);

    if (err)
        return err;
    err = zero_blocks(s, shared) ? tables_make(s) : -EINTR;
    if (err)
        blocks_give(s);
    return err;
}

static int create(const char *name, uint64_t npages, void *owner, const struct section *old,
                  struct section **out)
{
    struct section *s;
    cond_t status;
    int err;

    s = section_new(&huge_kind, npages * HUGE_PAGES, 0, &status);
    if (!s)
        return -ENOMEM;
    s->owner = owner;
    err = furnish(s, old);
    if (!err) {
        status = section_enter(s, name);
        if (status != SS$_NORMAL) {
            err = error_of(status);
            huge_release(s);
        }
    }
    if (err) {
        section_free(s);
        return err;
    }
    *out = s;
    return 0;
}

int section_huge_resize(const char *name, uint64_t npages, void *owner, const struct section *old,
                        struct section **out)
{
    struct huge_pool_stats pool;

    huge_pool_stats(&pool);
    if (npages > pool.total)
        return -ENOMEM;
    section_settle(); /* what deleted sections had, quotas too, may not be back yet */
    return create(name, npages, owner, old, out);
}

int section_huge_create(const char *name, uint64_t npages, void *owner, struct section **out)
{
    return section_huge_resize(name, npages, owner, NULL, out);
}

bool section_is_mapped(struct section *s)
{
    bool uses = false;
    uint64_t n;
    ipl_t ipl = spin_lock(&s->lock);

    n = s->nmaps;
    spin_unlock(&s->lock, ipl);
    for (uint64_t k = 0; !n && !uses && k < blocks_of(s); k++)
        uses = huge_pool_uses(s->blocks[k]) > 1;
    return n || uses;
}

void section_huge_keep(struct section *s) { __atomic_fetch_add(&s->holds, 1, __ATOMIC_RELAXED); }

void section_huge_leave(struct section *s)
{
    __atomic_fetch_sub(&s->holds, 1, __ATOMIC_RELAXED);
    section_drop(s);
}

/* ---- mappings ---- */

/* The alignment of a mapping: of a block if it can share a whole one, else of a span if it can. */
static uint64_t align_of(uint64_t len, uint64_t offset)
{
    uint64_t align = len >= PTE_L1_SPAN   ? PTE_L1_SPAN
                     : len >= PTE_L2_SPAN ? PTE_L2_SPAN
                                          : HUGE_BYTES;

    while (offset & (align - 1))
        align >>= 1;
    return MAX(align, HUGE_BYTES);
}

int section_huge_place_locked(struct aspace *as, vaddr_t *va, uint64_t len, uint64_t offset,
                              unsigned prot, unsigned flags)
{
    static const uint64_t aligns[] = {PTE_L1_SPAN, PTE_L2_SPAN, HUGE_BYTES};
    uint64_t best = align_of(len, offset);
    vaddr_t hint = *va;
    int err = -ENOMEM;

    for (unsigned i = 0; i < ARRAY_SIZE(aligns) && err == -ENOMEM; i++) {
        if (aligns[i] > best)
            continue;
        *va = hint;
        err = aspace_place_locked(as, va, len, aligns[i], prot, flags);
    }
    return err;
}

static int map_locked(struct aspace *as, struct map_entry *e, struct section_map *m, vaddr_t *va,
                      uint64_t len, unsigned prot, unsigned flags)
{
    int err = section_huge_place_locked(as, va, len, e->offset, prot, flags);

    if (err)
        return err;
    e->start = *va;
    e->end = *va + len;
    e->prot = (uint8_t)prot;
    e->max_prot = flags & MAPF_READONLY ? MAP_R | MAP_X : MAP_R | MAP_W | MAP_X;
    e->flags = MAPF_SHARED | MAPF_HUGE;
    e->smap = m;
    m->start = *va;
    m->shared = prot == (MAP_R | MAP_W) && (*va - e->offset) % PTE_L2_SPAN == 0;
    err = section_tables_fill(as, e);
    if (err)
        return err;
    section_map_link(e);
    aspace_insert_locked(as, e);
    __atomic_fetch_add(&as->counts.section_pages, len / PAGE_SIZE, __ATOMIC_RELAXED);
    return 0;
}

bool section_huge_fixed_ok(vaddr_t va, unsigned flags)
{
    return !(flags & (MAPF_FIXED | MAPF_FIXED_NOREPLACE)) || va % HUGE_BYTES == 0;
}

int section_huge_map(struct aspace *as, struct section *s, vaddr_t *va, uint64_t len,
                     uint64_t offset, unsigned prot, unsigned flags, const struct map_ops *ops)
{
    struct map_entry *e;
    struct section_map *m;
    cond_t status;
    int err = -ENOMEM;

    if (!section_huge_fixed_ok(*va, flags))
        return -EINVAL;
    if (!section_try_share(s))
        return -ENOMEM;
    e = map_entry_alloc();
    m = section_map_new(as, s, 0, false, &status);
    if (e && m) {
        e->ops = ops;
        e->offset = offset;
        err = mutex_lock_killable(&as->lock);
        if (!err) {
            err = map_locked(as, e, m, va, len, prot, flags);
            mutex_unlock(&as->lock);
        }
    }
    if (err) {
        if (e)
            map_entry_free(e);
        if (m)
            section_map_free(m);
        section_drop(s);
    }
    return err;
}

int section_huge_map_new(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot,
                         unsigned flags)
{
    struct section *s;
    int err = section_huge_fixed_ok(*va, flags) ? 0 : -EINVAL;

    if (!err)
        err = section_huge_create("anon_hugepage", len / HUGE_BYTES, NULL, &s);

    if (err)
        return err;
    err = section_huge_map(as, s, va, len, 0, prot, flags, &section_map_ops);
    section_drop(s);
    section_reap();
    return err;
}
