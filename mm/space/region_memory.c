/*
 * Private memory in regions: $CRETVA_64, $EXPREG_64, and regions that grow by faults.
 *
 * The entry is allocated and everything is checked, under the aspace mutex, before the map changes.
 * After that only the split of an entry that extends across an end of the range can fail, and it
 * does so before any page has been unmapped.
 *
 * $EXPREG_64 appends memory to a default region at the end of its highest mapping (P1: below the
 * start of its lowest). Created regions inside a default region do not belong to it and are stepped
 * over.
 */
#include "mm/space/region_memory.h"

#include "arch/alpha/hw/layout.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/base/errno.h"
#include "kernel/base/range.h"
#include "kernel/sched/thread.h"
#include "mm/space/aspace_private.h"

#define MEMORY_PROT (MAP_R | MAP_W | MAP_X)

/* The checks that both services begin with. */
static cond_t check_locked(struct aspace *as, uint64_t id, uint64_t length, uint32_t flags,
                           struct region_view *v)
{
    if (flags & ~(uint32_t)VA$M_NO_OVERMAP)
        return SS$_IVVAFLG;
    if (!region_view_locked(as, id, v))
        return SS$_IVREGID;
    if (v->flags & VA$M_SHARED_PTS)
        return SS$_NOSHPTS;
    return length == 0 || length % PAGE_SIZE != 0 ? SS$_LEN_NOTPAGMULT : SS$_NORMAL;
}

/* May the mappings in [start, end) be replaced? Mutex held. */
static cond_t check_overmap(struct aspace *as, vaddr_t start, vaddr_t end, uint32_t flags)
{
    struct map_entry *e;

    while (start < end && (e = aspace_first_in_locked(as, start, end)) != NULL) {
        if (thread_killed())
            return SS$_ABORT;
        if ((flags & VA$M_NO_OVERMAP) || e->ops != &anon_ops)
            return SS$_VA_IN_USE;
        start = e->end;
    }
    return SS$_NORMAL;
}

static cond_t create_va_locked(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length,
                               uint32_t flags, struct map_entry *e)
{
    struct region_view v;
    cond_t status = check_locked(as, id, length, flags, &v);

    if (status != SS$_NORMAL)
        return status;
    if (start % PAGE_SIZE != 0)
        return SS$_VA_NOTPAGALGN;
    if (!range_within(start, length, v.start, v.end))
        return SS$_PAGNOTINREG;
    if (id < REGION_MIN_USER_ID && region_overlaps_locked(as, start, length))
        return SS$_PAGNOTINREG;
    status = check_overmap(as, start, start + length, flags);
    if (status != SS$_NORMAL)
        return status;
    if (aspace_unmap_locked(as, start, length) != 0)
        return SS$_INSFMEM;
    e->inner = id >= REGION_MIN_USER_ID;
    aspace_add_anon_locked(as, e, start, length, MEMORY_PROT);
    return SS$_NORMAL;
}

cond_t region_create_va(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length,
                        uint32_t flags)
{
    struct map_entry *e = map_entry_alloc();
    cond_t status;

    if (!e)
        return SS$_INSFMEM;
    status = aspace_lock_service(as);
    if (status != SS$_NORMAL) {
        map_entry_free(e);
        return status;
    }
    status = create_va_locked(as, id, start, length, flags, e);
    mutex_unlock(&as->lock);
    if (status != SS$_NORMAL)
        map_entry_free(e);
    return status;
}

vaddr_t region_expand_place(vaddr_t start, vaddr_t end, vaddr_t first_free, bool down,
                            uint64_t length)
{
    if (down)
        return length <= first_free - start ? first_free - length : 0;
    return length <= end - first_free ? first_free : 0;
}

static cond_t expand_locked(struct aspace *as, uint64_t id, uint64_t length, uint32_t flags,
                            struct map_entry *e, vaddr_t *start)
{
    struct region_view v;
    cond_t status = check_locked(as, id, length, flags, &v);
    vaddr_t first_free;
    bool down;

    if (status != SS$_NORMAL)
        return status;
    first_free = region_first_free_locked(as, &v);
    down = (v.flags & VA$M_DESCEND) != 0;
    if (id >= REGION_MIN_USER_ID)
        *start = region_expand_place(v.start, v.end, first_free, down, length);
    else if (down)
        *start = aspace_find_locked(as, length, PAGE_SIZE, v.start, first_free, true);
    else
        *start = aspace_find_locked(as, length, PAGE_SIZE, first_free, v.end, false);
    if (*start == 0)
        return id >= REGION_MIN_USER_ID ? SS$_REGISFULL : SS$_VASFULL;
    e->inner = id >= REGION_MIN_USER_ID;
    aspace_add_anon_locked(as, e, *start, length, MEMORY_PROT);
    return SS$_NORMAL;
}

cond_t region_expand(struct aspace *as, uint64_t id, uint64_t length, uint32_t flags,
                     vaddr_t *start)
{
    struct map_entry *e = map_entry_alloc();
    cond_t status;

    if (!e)
        return SS$_INSFMEM;
    status = aspace_lock_service(as);
    if (status != SS$_NORMAL) {
        map_entry_free(e);
        return status;
    }
    status = expand_locked(as, id, length, flags, e, start);
    mutex_unlock(&as->lock);
    if (status != SS$_NORMAL)
        map_entry_free(e);
    return status;
}

/* Find the range that has to be mapped for the region at va to grow to it. False: no region there
   grows on faults, or va lies in a hole between its mappings. Mutex held. */
static bool growth_locked(struct aspace *as, vaddr_t va, vaddr_t *start, vaddr_t *end)
{
    struct region *r = region_at_locked(as, va);
    struct region_view v;
    vaddr_t first_free;

    if (!r || !(r->flags & VA$M_EXPAND_ON_ACCVIO) || !region_view_locked(as, r->id, &v))
        return false;
    first_free = region_first_free_locked(as, &v);
    *start = v.flags & VA$M_DESCEND ? va : first_free;
    *end = v.flags & VA$M_DESCEND ? first_free : va + PAGE_SIZE;
    return *start < *end && va >= *start && va < *end;
}

int region_grow_to(struct aspace *as, vaddr_t va)
{
    vaddr_t start, end;
    int err = mutex_lock_killable(&as->lock);

    if (err)
        return err;
    if (aspace_lookup_locked(as, va)) {
        /* another thread has grown the region meanwhile */
    } else if (growth_locked(as, va, &start, &end)) {
        struct map_entry *e = map_entry_alloc();

        if (e) {
            e->inner = true; /* growth_locked finds created regions only */
            aspace_add_anon_locked(as, e, start, end - start, MEMORY_PROT);
        } else {
            err = -ENOMEM;
        }
    } else {
        err = -EFAULT;
    }
    mutex_unlock(&as->lock);
    return err;
}
