/*
 * Address spaces: creation and end, and the functions that change the map.
 *
 * An address space consists of a page-table root, a map of entries (mm/space/aspace_tree.c) and
 * regions (mm/space/region.c), all changed with the mutex held exclusively. Each entry has a table
 * of operations (struct map_ops): those of anonymous memory and object mappings are in
 * mm/space/anon.c, those of sections in mm/section/section_map.c.
 *
 * Every function that changes the map first checks and allocates what it needs, then does what
 * cannot fail any more: the range is split at both ends or at neither, then whole entries are
 * removed or changed. Two adjacent private entries with the same attributes are merged, so that a
 * heap grown by brk stays one entry.
 *
 * A process cannot die in the middle of such a change: nothing here waits in a way that a signal
 * interrupts, and the mutex is released before the thread returns to where signals are delivered.
 * But a thread that is to end does not complete a long change: populating, unmapping, discarding,
 * changing protection and copying for fork stop between two tables, in a state that would have been
 * correct for a smaller range, because other processes may use the same address space (vfork).
 */
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/range.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_pages.h"
#include "mm/pool/pool_charged.h"
#include "mm/pt/pt.h"
#include "mm/pt/pt_system.h"
#include "mm/space/aspace_private.h"
#include "mm/space/region.h"

#define POPULATE_BYTES (4096 * PAGE_SIZE) /* populated at a time: some million instructions */
#define POPULATE_SHORT (16 * PAGE_SIZE)   /* while memory is short */

struct map_entry *map_entry_alloc(void)
{
    uint16_t account = pool_account();
    struct map_entry *e = npp_alloc_charged(sizeof(*e), account);

    if (!e)
        return NULL;
    /* Field by field, without those that aspace_insert_locked sets: half the instructions of a
       memset, for each entry that a fork copies. */
    list_init(&e->link);
    e->start = e->end = 0;
    e->inner = false;
    e->prot = e->max_prot = e->locked = e->fresh = 0;
    e->flags = 0;
    e->account = account;
    e->ops = NULL;
    e->object = NULL;
    e->offset = 0;
    e->low = 0;
    e->pt = NULL;
    e->smap = NULL;
    return e;
}

struct map_entry *map_entry_copy(const struct map_entry *from)
{
    uint16_t account = pool_account();
    struct map_entry *e = npp_alloc_charged(sizeof(*e), account);

    if (!e)
        return NULL;
    e->start = from->start;
    e->end = from->end;
    e->inner = from->inner;
    e->prot = from->prot;
    e->max_prot = from->max_prot;
    e->locked = e->fresh = 0;
    e->flags = from->flags;
    e->account = account;
    e->ops = from->ops;
    e->object = NULL;
    e->offset = from->offset;
    e->low = from->low;
    e->smap = NULL;
    return e;
}

void map_entry_free(struct map_entry *e) { npp_free_charged(e, sizeof(*e), e->account); }

/* Free a chain of entries, linked by their first words, which have no object. */
static void entries_free(struct map_entry *chain)
{
    _Static_assert(offsetof(struct map_entry, link.next) == 0, "a chain is linked by its blocks");
    for (const struct map_entry *e = chain; e;
         e = (const struct map_entry *)(const void *)e->link.next)
        quota_count_give(&accounts[e->account].count[QUOTA_NONPAGED], sizeof(*e));
    npp_free_chain(chain, sizeof(*chain));
}

void map_entry_destroy(struct map_entry *e)
{
    if (e->object)
        object_detach_entry(e);
    map_entry_free(e);
}

struct aspace *aspace_new(unsigned rad)
{
    struct aspace *as = npp_alloc_zeroed(sizeof(*as));

    if (!as)
        return NULL;
    as->refs = 1;
    mutex_init(&as->lock, "aspace", MUTEX_ASPACE);
    list_init(&as->entries);
    list_init(&as->regions);
    as->next_region_id = REGION_MIN_USER_ID;
    if (!pt_root_create(&as->pt, rad)) {
        npp_free(as, sizeof(*as));
        return NULL;
    }
    return as;
}

struct aspace *aspace_create(unsigned rad) { return aspace_new(rad); }

void (*aspace_entries_gone)(void);

void aspace_entries_left(void)
{
    if (aspace_entries_gone)
        aspace_entries_gone();
}

void aspace_ref(struct aspace *as) { __atomic_fetch_add(&as->refs, 1, __ATOMIC_RELAXED); }

bool aspace_try_unref(struct aspace *as)
{
    uint32_t refs = __atomic_load_n(&as->refs, __ATOMIC_RELAXED);

    while (refs > 1)
        if (__atomic_compare_exchange_n(&as->refs, &refs, refs - 1, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

/* Add the level-1 PTEs of [start, end) to a set. */
static inline void l1_add(struct l1_set *set, vaddr_t start, vaddr_t end)
{
    for (uint64_t i = start / PTE_L1_SPAN; i <= (end - 1) / PTE_L1_SPAN; i++)
        set->bits[i / 64] |= UINT64_C(1) << i % 64;
}

/* Unmap and free every entry, then their page tables, then the regions. The search tree is dropped
   first, so that no entry has to be taken out of it. Mutex exclusive. */
static void clear_locked(struct aspace *as)
{
    struct map_entry *gone = NULL;
    struct l1_set used = {0};
    struct tb_gather g;
    struct list *l;

    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    as->gather = &g;
    as->tree.root = NULL;
    __atomic_store_n(&as->hint, NULL, __ATOMIC_RELAXED);
    while ((l = list_first(&as->entries)) != NULL) {
        struct map_entry *e = list_entry(l, struct map_entry, link);
        int err = e->ops->unmap(as, e, e->start, e->end);

        KASSERT(err == 0, "an entry of a dying address space can always be unmapped");
        l1_add(&used, e->start, e->end);
        list_remove(&e->link);
        if (e->object)
            object_detach_entry(e);
        e->link.next = (struct list *)(void *)gone;
        gone = e;
    }
    tb_gather_flush(&g);
    entries_free(gone);
    anon_end(as, &used);
    as->counts.vsize = as->counts.data = as->counts.entries = 0;
    __atomic_store_n(&as->counts.locked, 0, __ATOMIC_RELAXED);
    region_clear_locked(as);
}

void aspace_unref(struct aspace *as)
{
    ipl_t ipl;

    if (__atomic_fetch_sub(&as->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    if (thread_self()->root_pfn == as->pt.root.n)
        thread_set_root(thread_self(), system_root_pfn, NULL);
    KASSERT(__atomic_load_n(&as->pt.loaded, __ATOMIC_ACQUIRE) == 0,
            "no CPU has a dying root loaded");
    ipl = spin_lock(&as->pt.lock); /* from here on reverse walks leave the tables alone */
    as->pt.dying = true;
    spin_unlock(&as->pt.lock, ipl);
    mutex_lock(&as->lock);
    clear_locked(as);
    mutex_unlock(&as->lock);
    npp_free(as, sizeof(*as));
    aspace_entries_left();
}

/* ---- splitting and merging ---- */

/* split_prepare() for an entry that extends across va. */
static int __attribute__((noinline)) split_prepare_across(struct aspace *as, struct map_entry *e,
                                                          vaddr_t va, struct map_entry **second)
{
    struct map_entry *new;
    int err = 0;

    new = as->counts.entries < ASPACE_ENTRIES_MAX ? map_entry_alloc() : NULL;
    if (!new)
        return -ENOMEM;
    new->ops = e->ops;
    new->pt = &as->pt;
    if (e->ops->split_prepare)
        err = e->ops->split_prepare(e, new, va);
    if (err)
        map_entry_free(new);
    else
        *second = new;
    return err;
}

/* Do everything that can fail in a split of e at va. *second: the new entry, for split_commit; NULL
   when e does not extend across va (e NULL: nor does any other entry). 0, -ENOMEM, or the error of
   map_ops.split_prepare. */
static inline int split_prepare(struct aspace *as, struct map_entry *e, vaddr_t va,
                                struct map_entry **second)
{
    *second = NULL;
    return !e || e->start == va || e->end == va ? 0 : split_prepare_across(as, e, va, second);
}

/* Split e, which extends across va: it keeps [start, va), and `second`, which split_prepare
   allocated for this va, gets [va, end). */
static void split_commit(struct aspace *as, struct map_entry *e, vaddr_t va,
                         struct map_entry *second)
{
    second->start = va;
    second->end = e->end;
    second->prot = e->prot;
    second->max_prot = e->max_prot;
    second->locked = e->locked;
    second->flags = e->flags;
    second->offset = e->offset + (va - e->start);
    second->low = MAX(e->low, va);
    second->inner = e->inner;
    if (e->ops->split)
        e->ops->split(e, second, va);
    aspace_count_extent(as, e, -(int64_t)(second->end - second->start));
    e->end = va;
    second->flags &= ~MAPF_GROWSDOWN; /* the guard page stays with the lower part */
    aspace_insert_locked(as, second);
}

int aspace_split_locked(struct aspace *as, vaddr_t low, vaddr_t high)
{
    struct map_entry *e = aspace_hinted(as, low), *after, *first, *second;
    int err;

    if (!e)
        e = aspace_lookup_locked(as, low);
    err = split_prepare(as, e, low, &first);
    if (err)
        return err;
    after = e;
    if (!e || high < low || e->end < high) /* otherwise e extends across high, or ends there */
        after = aspace_lookup_locked(as, high);
    err = split_prepare(as, after, high, &second);
    if (!err) {
        if (first)
            split_commit(as, e, low, first);
        if (second)
            split_commit(as, first && after == e && high > low ? first : after, high, second);
    } else if (first) {
        if (first->ops->split_cancel)
            first->ops->split_cancel(first);
        map_entry_free(first);
    }
    return err;
}

/* Can a and b, which follow each other in the list, become one entry? */
static bool continues(struct aspace *as, const struct map_entry *a, const struct map_entry *b)
{
    if (a->end != b->start || a->ops != &anon_ops || b->ops != &anon_ops || a->prot != b->prot ||
        a->max_prot != b->max_prot || a->locked != b->locked || a->flags != b->flags ||
        (a->flags & MAPF_GROWSDOWN))
        return false;
    return !a->object && !b->object && !region_border_locked(as, b->start);
}

/* Merges entries without an object only. Adjacent entries of one object arise from splits of one
   mmap. */
struct map_entry *aspace_merge_locked(struct aspace *as, struct map_entry *e)
{
    struct list *l = list_next(&as->entries, &e->link);
    struct map_entry *other;

    if (l && continues(as, e, other = list_entry(l, struct map_entry, link))) {
        aspace_remove_locked(as, other);
        aspace_count_extent(as, e, (int64_t)(other->end - other->start));
        aspace_set_end_locked(as, e, other->end);
        map_entry_free(other);
    }
    l = list_prev(&as->entries, &e->link);
    if (l && continues(as, other = list_entry(l, struct map_entry, link), e)) {
        aspace_remove_locked(as, e);
        aspace_count_extent(as, other, (int64_t)(e->end - e->start));
        aspace_set_end_locked(as, other, e->end);
        map_entry_free(e);
        e = other;
    }
    return e;
}

/* ---- mapping ---- */

bool (*aspace_within)(uint64_t nbytes, uint64_t data);
uint64_t (*aspace_stack_limit)(void);
bool (*aspace_wait_for_memory)(void);

/* The sums are far below 2^64: all that is mapped is within the addresses of users, and so is n. */
bool aspace_may_grow_locked(struct aspace *as, uint64_t n, bool data)
{
    if (!aspace_within)
        return true;
    return aspace_within(as->counts.vsize + n, data ? as->counts.data + n : 0);
}

bool aspace_user_range(vaddr_t va, uint64_t len)
{
    return len != 0 && ((va | len) & PAGE_MASK) == 0 &&
           range_within(va, len, LAYOUT_P0_FIRST, LAYOUT_USER_TOP);
}

/* Choose or check the address of a new mapping. With MAPF_FIXED the range may hold entries, which
   the caller removes. 0, -ENOMEM (no such range), or -EEXIST. */
static int place(struct aspace *as, vaddr_t *va, uint64_t len, uint64_t align, unsigned flags)
{
    if (flags & (MAPF_FIXED | MAPF_FIXED_NOREPLACE)) {
        if (!aspace_user_range(*va, len))
            return -ENOMEM;
        if (!(flags & MAPF_REGION) && region_overlaps_locked(as, *va, len))
            return -ENOMEM;
        if ((flags & MAPF_FIXED_NOREPLACE) && aspace_first_in_locked(as, *va, *va + len))
            return -EEXIST;
        return 0;
    }
    *va = (*va + align - 1) & ~(align - 1);
    if (*va && aspace_user_range(*va, len) && aspace_range_free_locked(as, *va, len))
        return 0;
    *va = aspace_find_locked(as, len, align, LAYOUT_P2_BASE, LAYOUT_USER_TOP, false);
    return *va ? 0 : -ENOMEM;
}

/* Is there room within the limits for a mapping at va if what it replaces there goes? */
static __attribute__((noinline)) bool may_replace_locked(struct aspace *as, vaddr_t va,
                                                         uint64_t len, bool data)
{
    uint64_t replaced = 0;

    for (struct map_entry *e = aspace_first_in_locked(as, va, va + len); e && !thread_killed();
         e = aspace_first_in_locked(as, e->end, va + len))
        replaced += MIN(e->end, va + len) - MAX(e->start, va);
    return replaced && aspace_may_grow_locked(as, len - replaced, data);
}

/* Is there room within the process's limits for a mapping at va, which replaces what is there? */
static inline bool may_map_locked(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot,
                                  unsigned flags)
{
    bool data = (prot & MAP_W) && !(flags & (MAPF_SHARED | MAPF_GROWSDOWN));

    if (unlikely(as->counts.entries > ASPACE_ENTRIES_MAX))
        return false;
    if (likely(aspace_may_grow_locked(as, len, data)))
        return true;
    return (flags & MAPF_FIXED) && may_replace_locked(as, va, len, data);
}

int aspace_place_locked(struct aspace *as, vaddr_t *va, uint64_t len, uint64_t align, unsigned prot,
                        unsigned flags)
{
    int err = place(as, va, len, align, flags);

    if (!err && unlikely(!may_map_locked(as, *va, len, prot, flags)))
        err = -ENOMEM;
    if (!err && (flags & MAPF_FIXED))
        err = aspace_unmap_locked(as, *va, len);
    return err;
}

static void insert_anon(struct aspace *as, struct map_entry *e, vaddr_t va, uint64_t len,
                        unsigned prot, unsigned flags, const struct map_ops *ops)
{
    e->ops = ops;
    e->start = va;
    e->end = va + len;
    e->prot = (uint8_t)prot;
    e->max_prot = flags & MAPF_READONLY ? MAP_R | MAP_X : MAP_R | MAP_W | MAP_X;
    e->flags = flags & (MAPF_SHARED | MAPF_GROWSDOWN);
    e->low = e->end;
    aspace_insert_locked(as, e);
}

void aspace_add_anon_locked(struct aspace *as, struct map_entry *e, vaddr_t va, uint64_t len,
                            unsigned prot)
{
    insert_anon(as, e, va, len, prot, 0, &anon_ops);
    aspace_merge_locked(as, e);
}

static inline bool can_be_mapped(uint64_t len, unsigned prot, uint64_t offset)
{
    return len && !((len | offset) & PAGE_MASK) && !(prot & ~(MAP_R | MAP_W | MAP_X));
}

/* Insert the new entry e, which maps anonymous memory (obj NULL) or obj from `offset` bytes on.
   Errors as for aspace_map_anon. */
static inline __attribute__((always_inline)) int
map_entry_locked(struct aspace *as, struct map_entry *e, vaddr_t *va, uint64_t len, unsigned prot,
                 unsigned flags, struct mm_object *obj, uint64_t offset, const struct map_ops *ops)
{
    int err = aspace_place_locked(as, va, len, PAGE_SIZE, prot, flags);

    if (err)
        return err;
    insert_anon(as, e, *va, len, prot, flags, ops);
    if (obj) { /* once attached, a pager's reverse walk may use the entry and its page table */
        e->offset = offset;
        object_attach_entry(obj, e);
    } else {
        aspace_merge_locked(as, e);
    }
    return 0;
}

/* The same for an entry that is allocated here, at an address that is chosen if *va is 0. */
static int map_entry_at(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags,
                        struct mm_object *obj, uint64_t offset, const struct map_ops *ops)
{
    struct map_entry *e;
    int err;

    if (!can_be_mapped(len, prot, offset))
        return -EINVAL;
    e = map_entry_alloc();
    if (!e)
        return -ENOMEM;
    err = mutex_lock_killable(&as->lock);
    if (likely(!err)) {
        err = map_entry_locked(as, e, va, len, prot, flags, obj, offset, ops);
        mutex_unlock(&as->lock);
    }
    if (unlikely(err))
        map_entry_free(e);
    return err;
}

int aspace_map_new_locked(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot,
                          unsigned flags, struct mm_object *obj, uint64_t offset)
{
    struct map_entry *e;
    int err;

    if (!can_be_mapped(len, prot, offset))
        return -EINVAL;
    e = map_entry_alloc();
    if (!e)
        return -ENOMEM;
    err = map_entry_locked(as, e, &va, len, prot, flags | MAPF_FIXED_NOREPLACE, obj, offset,
                           &anon_ops);
    if (unlikely(err))
        map_entry_free(e);
    return err;
}

int aspace_map_anon(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags)
{
    struct mm_object *obj = NULL;
    int err;

    if (flags & MAPF_SHARED) {
        obj = object_create(len >> PAGE_SHIFT, NULL, NULL);
        if (!obj)
            return -ENOMEM;
    }
    err = map_entry_at(as, va, len, prot, flags, obj, 0, &anon_ops);
    if (obj)
        object_unref(obj);
    return err;
}

/* Does e, which ends where private memory of this protection is to begin, extend to that? */
static bool grows(struct aspace *as, const struct map_entry *e, unsigned prot)
{
    return e->ops == &anon_ops && !e->object && !e->locked && !e->flags && e->prot == prot &&
           e->max_prot == (MAP_R | MAP_W | MAP_X) && !region_border_locked(as, e->end);
}

/* Extend e by len bytes, if they are free and within the limits. Errors as for aspace_map_anon. */
static int grow_locked(struct aspace *as, struct map_entry *e, uint64_t len)
{
    const struct list *l = list_next(&as->entries, &e->link);
    vaddr_t next = l ? list_entry(l, const struct map_entry, link)->start : LAYOUT_USER_TOP;

    if (!aspace_user_range(e->end, len) || region_overlaps_locked(as, e->end, len))
        return -ENOMEM;
    if (len > next - e->end)
        return -EEXIST;
    if (unlikely(!may_map_locked(as, e->end, len, e->prot, MAPF_FIXED_NOREPLACE)))
        return -ENOMEM;
    aspace_count_extent(as, e, (int64_t)len);
    count_peak(&as->counts.vsize_peak, as->counts.vsize);
    aspace_set_end_locked(as, e, e->end + len);
    if (e->end == next) /* its other neighbour is as before */
        aspace_merge_locked(as, e);
    return 0;
}

int aspace_grow_anon(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot)
{
    struct map_entry *e;
    int err = mutex_lock_killable(&as->lock);

    if (unlikely(err))
        return err;
    e = aspace_entry_locked(as, va - 1);
    err = e && e->end == va && grows(as, e, prot) ? grow_locked(as, e, len) : -ENOENT;
    mutex_unlock(&as->lock);
    return err;
}

int aspace_map_object(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags,
                      struct mm_object *obj, uint64_t offset)
{
    return map_entry_at(as, va, len, prot, flags, obj, offset, &anon_ops);
}

int aspace_map_object_by(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot,
                         unsigned flags, struct mm_object *obj, uint64_t offset,
                         const struct map_ops *ops)
{
    return map_entry_at(as, va, len, prot, flags, obj, offset, ops);
}

int aspace_unmap_locked(struct aspace *as, vaddr_t va, uint64_t len)
{
    vaddr_t end = va + len;
    struct map_entry *e;
    int err = aspace_split_locked(as, va, end);

    while (!err && va < end && (e = aspace_first_in_locked(as, va, end)) != NULL) {
        if (thread_killed())
            return -EINTR;
        va = e->end; /* after the last entry there is nothing to search for */
        err = e->ops->unmap(as, e, e->start, e->end);
        if (err == -EINTR && e->locked)
            aspace_mark_entry(as, e, 0); /* a part of its pages is gone */
        if (err)
            break;
        aspace_remove_locked(as, e);
        map_entry_destroy(e);
    }
    return err;
}

int aspace_unmap_only(struct aspace *as, vaddr_t va, uint64_t len)
{
    int err;

    if (!aspace_user_range(va, len))
        return -EINVAL;
    err = mutex_lock_killable(&as->lock);
    if (unlikely(err))
        return err;
    err = aspace_unmap_locked(as, va, len);
    mutex_unlock(&as->lock);
    return err;
}

int aspace_unmap(struct aspace *as, vaddr_t va, uint64_t len)
{
    int err = aspace_unmap_only(as, va, len);

    aspace_entries_left();
    return err;
}

/* Discard [va, end) of e. 0, -EINVAL, -EINTR. Mutex exclusive. */
static int forget_part(struct aspace *as, struct map_entry *e, vaddr_t va, vaddr_t end,
                       bool locked_too)
{
    if (e->locked && !locked_too)
        return -EINVAL;
    if (e->ops->discard)
        return e->ops->discard(as, e, va, end);
    if (e->ops != &anon_ops && (!e->object || e->smap))
        return -EINVAL;
    /* Shared memory with an object just keeps its contents. */
    return e->flags & MAPF_SHARED ? 0 : anon_ops.unmap(as, e, va, end);
}

int aspace_forget(struct aspace *as, vaddr_t va, uint64_t len, bool locked_too)
{
    vaddr_t end = va + len;
    struct map_entry *e;
    int err, part;

    if (!aspace_user_range(va, len))
        return -EINVAL;
    err = mutex_lock_killable(&as->lock);
    if (err)
        return err;
    while (va < end && (e = aspace_first_in_locked(as, va, end)) != NULL) {
        if (e->start > va)
            err = -ENOMEM;
        va = MAX(va, e->start);
        part = thread_killed() ? -EINTR : forget_part(as, e, va, MIN(end, e->end), locked_too);
        if (part) {
            err = part;
            break;
        }
        va = e->end;
    }
    if (!err && va < end)
        err = -ENOMEM;
    mutex_unlock(&as->lock);
    return err;
}

/* aspace_populate() from *at up to end. *at: how far it came. *step: bytes that it does before it
   remembers this. Where memory is short they are few: those of a step that did not come to its end
   are looked at again, and may have gone to a page file by then. -ERANGE: there is a hole. */
static int populate(struct aspace *as, vaddr_t *at, vaddr_t end, bool write, uint64_t *step)
{
    vaddr_t va = *at;
    int err;

    err = mutex_lock_shared_killable(&as->lock);
    if (err)
        return err;
    while (va < end) {
        struct map_entry *e = aspace_first_in_locked(as, va, end);
        vaddr_t upto;

        if (!e || e->start > va) {
            err = -ERANGE;
            break;
        }
        upto = MIN(MIN(end, e->end), va + *step);
        err = write && !(e->prot & MAP_W) ? -EACCES : 0;
        if (!err && e->prot && e->ops->populate)
            err = e->ops->populate(as, e, va, upto);
        if (err == -EAGAIN || err == -ENOMEM)
            *step = POPULATE_SHORT;
        if (err == -EAGAIN)
            continue;
        if (err)
            break;
        *at = va = upto;
        if (va < end) { /* let others in, who change the map or stop all threads */
            mutex_unlock_shared(&as->lock);
            if (sched_loop_point() || mutex_lock_shared_killable(&as->lock) != 0)
                return -EINTR;
        }
    }
    mutex_unlock_shared(&as->lock);
    return err;
}

int aspace_populate(struct aspace *as, vaddr_t va, uint64_t len, bool write)
{
    vaddr_t at = va, end = va + len;
    uint64_t step = POPULATE_BYTES;
    int err;

    if (!aspace_user_range(va, len))
        return -EINVAL;
    do
        err = populate(as, &at, end, write, &step);
    while (unlikely(err == -ENOMEM || err == -ENOSPC) && aspace_wait_for_memory &&
           aspace_wait_for_memory());
    err = err == -ERANGE ? -ENOMEM : err;
    if (err == -ENOMEM)
        aspace_prune(as, va, end);
    return err;
}
