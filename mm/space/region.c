/*
 * Regions: reserved parts of an address space.
 *
 * A region has no memory and no page tables of its own; it only reserves addresses. mmap, brk and
 * stack growth check region_overlaps_locked(), so that an address in a created region is used only
 * by services that name the region.
 *
 * A region with VA$M_SHARED_PTS consists of whole level-3 spans (8 MiB) and takes only
 * memory-resident sections, mapped through their shared page tables from a span boundary on: so a
 * private page never shares a level-3 page-table page with a section. Where the system chooses the
 * address of such a region, it is aligned to the largest power of two that is not above its length,
 * between 8 MiB and 8 GiB. Then level-2 PTEs can have the granularity hints that the frames of the
 * shared page-table pages allow (the addresses of these pages in page-table space are aligned in
 * the same way), and a section of whole 8 GiB blocks fills whole level-2 pages.
 *
 * The end of a region's mappings is found from the entries of the address space and not recorded.
 *
 * Everything is protected by the aspace mutex. Only creation and fork allocate, and fail with
 * nothing changed, or with a child that the caller destroys.
 */
#include "mm/space/region.h"

#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pte.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/base/errno.h"
#include "kernel/base/range.h"
#include "mm/pool/pool.h"

#define REGION_FLAGS                                                                   \
    (VA$M_DESCEND | VA$M_P0_SPACE | VA$M_P1_SPACE | VA$M_PERMANENT | VA$M_SHARED_PTS | \
     VA$M_EXPAND_ON_ACCVIO)
#define USER_MODE 3u
#define GH_BLOCK  (pte_gh_pages(3) * PAGE_SIZE) /* bytes that the largest granularity hint maps */

static const struct region_view default_regions[] = {
    {.id = VA$C_P0,
     .flags = VA$M_P0_SPACE,
     .prot = VA$C_UCREATE_UOWN,
     .start = LAYOUT_P0_FIRST,
     .end = LAYOUT_P1_BASE},
    {.id = VA$C_P1,
     .flags = VA$M_P1_SPACE | VA$M_DESCEND,
     .prot = VA$C_UCREATE_UOWN,
     .start = LAYOUT_P1_BASE,
     .end = LAYOUT_P1_TOP},
    {.id = VA$C_P2, .prot = VA$C_UCREATE_UOWN, .start = LAYOUT_P2_BASE, .end = LAYOUT_USER_TOP},
};

struct region *region_find_locked(struct aspace *as, uint64_t id)
{
    struct region *r;

    list_for_each_entry(r, &as->regions, link)
        if (r->id == id)
            return r;
    return NULL;
}

struct region *region_at_locked(struct aspace *as, vaddr_t va)
{
    struct region *r;

    list_for_each_entry(r, &as->regions, link)
        if (va >= r->start && va - r->start < r->length)
            return r;
    return NULL;
}

bool region_overlaps_locked(struct aspace *as, vaddr_t va, uint64_t len)
{
    struct region *r;

    list_for_each_entry(r, &as->regions, link)
        if (range_overlaps(va, va + len, r->start, r->start + r->length))
            return true;
    return false;
}

bool region_border_locked(struct aspace *as, vaddr_t va)
{
    struct region *r;

    list_for_each_entry(r, &as->regions, link) {
        if (va == r->start || va - r->start == r->length)
            return true;
    }
    return false;
}

static void insert_sorted(struct aspace *as, struct region *new)
{
    struct region *r;

    list_for_each_entry(r, &as->regions, link)
        if (r->start > new->start)
            break;
    list_add_before(&r->link, &new->link);
}

int region_fork_locked(struct aspace *src, struct aspace *dst)
{
    struct region *r;

    list_for_each_entry(r, &src->regions, link) {
        struct region *copy = npp_alloc(sizeof(*copy));

        if (!copy)
            return -ENOMEM;
        *copy = *r;
        list_add_tail(&dst->regions, &copy->link);
    }
    dst->next_region_id = src->next_region_id;
    return 0;
}

void region_clear_locked(struct aspace *as)
{
    struct list *l;

    while ((l = list_pop_head(&as->regions)) != NULL)
        npp_free(list_entry(l, struct region, link), sizeof(struct region));
}

static struct region_view view_of(const struct region *r)
{
    return (struct region_view){r->id, r->flags, r->prot, r->start, r->start + r->length};
}

bool region_view_locked(struct aspace *as, uint64_t id, struct region_view *v)
{
    struct region *r;

    if (id < ARRAY_SIZE(default_regions)) {
        *v = default_regions[id];
        return true;
    }
    r = region_find_locked(as, id);
    if (!r)
        return false;
    *v = view_of(r);
    return true;
}

/* Does e, which lies within the region v, belong to a created region inside a default one? */
static bool is_others(struct aspace *as, const struct region_view *v, const struct map_entry *e)
{
    return v->id < REGION_MIN_USER_ID && region_at_locked(as, e->start);
}

static vaddr_t lowest_start(struct aspace *as, const struct region_view *v)
{
    struct map_entry *e;

    list_for_each_entry(e, &as->entries, link) {
        if (e->start >= v->end)
            break;
        if (e->end > v->start && !is_others(as, v, e))
            return e->start;
    }
    return v->end;
}

static vaddr_t highest_end(struct aspace *as, const struct region_view *v)
{
    struct map_entry *e;

    list_for_each_entry_reverse(e, &as->entries, link) {
        if (e->end <= v->start)
            break;
        if (e->start < v->end && !is_others(as, v, e))
            return e->end;
    }
    return v->start;
}

vaddr_t region_first_free_locked(struct aspace *as, const struct region_view *v)
{
    bool down = (v->flags & VA$M_DESCEND) != 0;
    vaddr_t va = down ? lowest_start(as, v) : highest_end(as, v);
    struct region *r;

    if (v->id >= REGION_MIN_USER_ID)
        return va;
    while ((down ? va > v->start : va < v->end) &&
           (r = region_at_locked(as, down ? va - 1 : va)) != NULL)
        va = down ? r->start : r->start + r->length;
    return va;
}

bool region_range_used_locked(struct aspace *as, vaddr_t start, vaddr_t end)
{
    struct map_entry *e;

    /* From the high end, where the created regions of P0 and P2 are. */
    list_for_each_entry_reverse(e, &as->entries, link)
        if (e->start < end)
            return e->end > start;
    return false;
}

/* The alignment of an address that the system chooses, in bytes. */
static uint64_t region_alignment(uint64_t length, uint32_t flags)
{
    uint64_t low = flags & VA$M_SHARED_PTS ? PTE_L2_SPAN : PAGE_SIZE;
    uint64_t high = flags & VA$M_SHARED_PTS ? PTE_L1_SPAN : GH_BLOCK;
    uint64_t power = 1UL << (63 - __builtin_clzl(length));

    return MIN(MAX(power, low), high);
}

static cond_t check_create(uint64_t length, uint32_t prot, uint32_t flags, vaddr_t start,
                           bool privileged)
{
    uint64_t unit = flags & VA$M_SHARED_PTS ? PTE_L2_SPAN : PAGE_SIZE;
    uint32_t owner = prot & VA$M_OWNER_MODE, create = (prot & VA$M_CREATE_MODE) >> 4;

    if (flags & ~REGION_FLAGS)
        return SS$_IVREGFLG;
    if ((flags & VA$M_P0_SPACE) && (flags & VA$M_P1_SPACE))
        return SS$_IVREGFLG;
    if ((flags & VA$M_SHARED_PTS) && (flags & VA$M_EXPAND_ON_ACCVIO))
        return SS$_IVREGFLG; /* it would grow by private memory */
    if ((prot & ~(VA$M_OWNER_MODE | VA$M_CREATE_MODE)) || owner > create || create > USER_MODE)
        return SS$_IVREGPROT;
    if ((flags & VA$M_PERMANENT) && !privileged)
        return SS$_NOPRIV;
    if (length == 0 || length % unit != 0)
        return SS$_LEN_NOTPAGMULT;
    if (start % unit != 0)
        return SS$_VA_NOTPAGALGN;
    if (start >= LAYOUT_USER_TOP || length > LAYOUT_USER_TOP - start)
        return start ? SS$_NOT_PROCESS_VA : SS$_VASFULL;
    return SS$_NORMAL;
}

/* Choose or check the address of a new region. *start: the address asked for (0: none), and the
   result. Mutex exclusive. */
static cond_t place_locked(struct aspace *as, uint64_t length, uint32_t flags, vaddr_t *start)
{
    unsigned space = flags & VA$M_P0_SPACE ? VA$C_P0 : flags & VA$M_P1_SPACE ? VA$C_P1 : VA$C_P2;
    vaddr_t low = default_regions[space].start, high = default_regions[space].end;

    if (*start == 0) {
        /* In P1 upward from the low end, because the stack grows down from the high end. */
        *start = aspace_find_locked(as, length, region_alignment(length, flags), low, high,
                                    space != VA$C_P1);
        return *start ? SS$_NORMAL : SS$_VASFULL;
    }
    if (*start < low || *start >= high)
        return SS$_IVREGFLG;
    if (length > high - *start)
        return SS$_VASFULL;
    return aspace_range_free_locked(as, *start, length) ? SS$_NORMAL : SS$_VA_IN_USE;
}

cond_t region_create(struct aspace *as, uint64_t length, uint32_t prot, uint32_t flags,
                     vaddr_t start, bool privileged, struct region_view *out)
{
    cond_t status = check_create(length, prot, flags, start, privileged);
    struct region *r;

    if (status != SS$_NORMAL)
        return status;
    r = npp_alloc(sizeof(*r));
    if (!r)
        return SS$_INSFMEM;
    mutex_lock(&as->lock);
    status = place_locked(as, length, flags, &start);
    if (status == SS$_NORMAL) {
        as->next_region_id = MAX(as->next_region_id, (uint64_t)REGION_MIN_USER_ID);
        *r = (struct region){.id = as->next_region_id++,
                             .flags = flags,
                             /* The less privileged of what is asked and the caller: user. */
                             .prot = VA$C_UCREATE_UOWN,
                             .start = start,
                             .length = length};
        insert_sorted(as, r);
        *out = view_of(r);
    }
    mutex_unlock(&as->lock);
    if (status != SS$_NORMAL)
        npp_free(r, sizeof(*r));
    return status;
}

/* A negative errno of the address space as a condition value. */
static cond_t status_of(int err) { return err == 0 ? SS$_NORMAL : SS$_INSFMEM; }

cond_t region_delete(struct aspace *as, uint64_t id, bool privileged, struct region_view *out)
{
    struct region *r = NULL;
    cond_t status;

    mutex_lock(&as->lock);
    if (!region_view_locked(as, id, out)) {
        status = SS$_IVREGID;
    } else if (id < ARRAY_SIZE(default_regions) || ((out->flags & VA$M_PERMANENT) && !privileged)) {
        status = SS$_NODELPERMANENT;
    } else {
        r = region_find_locked(as, id);
        status = status_of(aspace_unmap_locked(as, r->start, r->length));
        if (status == SS$_NORMAL)
            list_remove(&r->link);
        else
            r = NULL;
    }
    mutex_unlock(&as->lock);
    if (r)
        npp_free(r, sizeof(*r));
    return status;
}

/* In a region with shared page tables only whole level-3 spans can be deleted; a mapping may end in
   the middle of its last one. */
static cond_t check_spans_locked(struct aspace *as, vaddr_t start, vaddr_t end)
{
    struct map_entry *e;

    list_for_each_entry(e, &as->entries, link) {
        if (e->end <= start || e->start >= end)
            continue;
        if (start > e->start && start % PTE_L2_SPAN != 0)
            return SS$_VA_NOTPAGALGN;
        if (end < e->end && end % PTE_L2_SPAN != 0)
            return SS$_LEN_NOTPAGMULT;
    }
    return SS$_NORMAL;
}

static cond_t check_delete_va_locked(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length)
{
    struct region_view v;

    if (!region_view_locked(as, id, &v))
        return SS$_IVREGID;
    if (start % PAGE_SIZE != 0)
        return SS$_VA_NOTPAGALGN;
    if (length == 0 || length % PAGE_SIZE != 0)
        return SS$_LEN_NOTPAGMULT;
    if (!range_within(start, length, v.start, v.end))
        return SS$_PAGNOTINREG;
    if (id < ARRAY_SIZE(default_regions) && region_overlaps_locked(as, start, length))
        return SS$_PAGNOTINREG;
    if (v.flags & VA$M_SHARED_PTS)
        return check_spans_locked(as, start, start + length);
    return SS$_NORMAL;
}

cond_t region_delete_va(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length)
{
    cond_t status;

    mutex_lock(&as->lock);
    status = check_delete_va_locked(as, id, start, length);
    if (status == SS$_NORMAL)
        status = status_of(aspace_unmap_locked(as, start, length));
    mutex_unlock(&as->lock);
    return status;
}

/* The default region that holds va. */
static uint64_t default_id_of(vaddr_t va)
{
    return va < LAYOUT_P1_BASE ? VA$C_P0 : va < LAYOUT_P1_TOP ? VA$C_P1 : VA$C_P2;
}

static cond_t query_locked(struct aspace *as, uint32_t function, uint64_t id, vaddr_t va,
                           struct region_view *v)
{
    struct region *r;

    if (function == VA$_REGSUM_BY_ID)
        return region_view_locked(as, id, v) ? SS$_NORMAL : SS$_IVREGID;
    if (va >= LAYOUT_USER_TOP)
        return SS$_NOMOREREG;
    r = region_at_locked(as, va);
    if (r) {
        *v = view_of(r);
        return SS$_NORMAL;
    }
    if (function == VA$_REGSUM_BY_VA)
        return region_view_locked(as, default_id_of(va), v) ? SS$_NORMAL : SS$_IVREGID;
    list_for_each_entry(r, &as->regions, link)
        if (r->start > va) {
            *v = view_of(r);
            return SS$_NORMAL;
        }
    return SS$_NOMOREREG;
}

cond_t region_query(struct aspace *as, uint32_t function, uint64_t id, vaddr_t va,
                    struct region_view *v, vaddr_t *first_free)
{
    cond_t status;

    mutex_lock_shared(&as->lock);
    status = query_locked(as, function, id, va, v);
    if (status == SS$_NORMAL)
        *first_free = region_first_free_locked(as, v);
    mutex_unlock_shared(&as->lock);
    return status;
}
