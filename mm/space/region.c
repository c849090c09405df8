/*
 * Regions: reserved parts of an address space.
 *
 * A region has no memory and no page tables of its own; it only reserves addresses. mmap, mremap
 * and brk check region_overlaps_locked(), so that an address in a created region is used only
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
 * Regions are in a list in address order, in a tree of spans (kernel/base/span.h) and in a tree by
 * id. Each search takes logarithmic time, so a process with 10,000 regions pays no more for its
 * next one, or for its next fault outside of all of them, than one with a hundred.
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
#include "kernel/sched/thread.h"
#include "mm/pool/pool_charged.h"
#include "mm/space/aspace_private.h"

#define REGION_FLAGS                                                                   \
    (VA$M_DESCEND | VA$M_P0_SPACE | VA$M_P1_SPACE | VA$M_PERMANENT | VA$M_SHARED_PTS | \
     VA$M_EXPAND_ON_ACCVIO)
#define USER_MODE 3u
#define GH_BLOCK  (pte_gh_pages(3) * PAGE_SIZE) /* bytes that the largest granularity hint maps */

static const struct region_view default_regions[] = {
    {.id = VA$C_P0,
     .flags = VA$M_P0_SPACE,
     .prot = VA$C_REGION_UCREATE_UOWN,
     .start = LAYOUT_P0_FIRST,
     .end = LAYOUT_P1_BASE},
    {.id = VA$C_P1,
     .flags = VA$M_P1_SPACE | VA$M_DESCEND,
     .prot = VA$C_REGION_UCREATE_UOWN,
     .start = LAYOUT_P1_BASE,
     .end = LAYOUT_P1_TOP},
    {.id = VA$C_P2,
     .prot = VA$C_REGION_UCREATE_UOWN,
     .start = LAYOUT_P2_BASE,
     .end = LAYOUT_USER_TOP},
};

static struct region *region_of(struct span *s)
{
    return s ? container_of(s, struct region, span) : NULL;
}

struct region *region_find_locked(struct aspace *as, uint64_t id)
{
    struct treap_node *n = as->region_by_id.root;

    while (n) {
        struct region *r = container_of(n, struct region, by_id);

        if (r->id == id)
            return r;
        n = id < r->id ? n->left : n->right;
    }
    return NULL;
}

struct region *region_at_locked(struct aspace *as, vaddr_t va)
{
    struct region *r = region_of(span_floor(&as->region_tree, va));

    return r && va < r->end ? r : NULL;
}

bool region_overlaps_locked(struct aspace *as, vaddr_t va, uint64_t len)
{
    struct region *r = region_of(span_floor(&as->region_tree, va + len - 1));

    return r && r->end > va;
}

bool region_border_locked(struct aspace *as, vaddr_t va)
{
    const struct region *r = region_of(span_floor(&as->region_tree, va));

    return r && (r->start == va || r->end == va);
}

/* Insert the region, which follows `before` (NULL: it is the first). */
static void insert_after(struct aspace *as, struct region *before, struct region *new)
{
    struct list *l = before ? list_next(&as->regions, &before->link) : list_first(&as->regions);
    struct region *after = l ? list_entry(l, struct region, link) : NULL;
    struct treap_node *up = NULL, **where = &as->region_by_id.root;

    new->inner = false;
    new->gap = new->start - (before ? before->end : 0);
    span_insert(&as->region_tree, &new->span, before ? &before->span : NULL,
                after ? &after->span : NULL);
    if (after)
        span_set_gap(&after->span, after->start - new->end);
    list_add_after(before ? &before->link : &as->regions, &new->link);
    while (*where) {
        up = *where;
        where = new->id < container_of(up, struct region, by_id)->id ? &up->left : &up->right;
    }
    treap_insert(&as->region_by_id, &new->by_id, up, where);
}

static void insert_locked(struct aspace *as, struct region *new)
{
    insert_after(as, region_of(span_floor(&as->region_tree, new->start)), new);
}

static void remove_locked(struct aspace *as, struct region *r)
{
    struct span *before = span_prev(&r->span), *after = span_next(&r->span);

    span_remove(&as->region_tree, &r->span, after,
                after ? after->start - (before ? before->end : 0) : 0);
    list_remove(&r->link);
    treap_remove(&as->region_by_id, &r->by_id);
    aspace_region_gone_locked(as, r->start);
}

/* Memory for a region, charged to the current thread's user. NULL: *why is SS$_EXQUOTA or
   SS$_INSFMEM. */
static struct region *region_alloc(cond_t *why)
{
    uint16_t account = pool_account();
    bool full;
    struct region *r = npp_alloc_counted(sizeof(*r), QUOTA_REGIONS, account, &full);

    *why = full ? SS$_EXQUOTA : SS$_INSFMEM;
    if (r)
        r->account = account;
    return r;
}

static void region_free(struct region *r)
{
    npp_free_counted(r, sizeof(*r), QUOTA_REGIONS, r->account);
}

int region_fork_locked(struct aspace *src, struct aspace *dst)
{
    struct region *r, *before = NULL;

    list_for_each_entry(r, &src->regions, link) {
        cond_t why;
        struct region *copy = region_alloc(&why);
        uint16_t account;

        if (!copy)
            return -ENOMEM;
        if (thread_killed()) {
            region_free(copy);
            return -EINTR;
        }
        account = copy->account;
        *copy = *r;
        copy->account = account;
        insert_after(dst, before, copy);
        before = copy;
    }
    dst->next_region_id = src->next_region_id;
    return 0;
}

void region_clear_locked(struct aspace *as)
{
    struct list *l;

    as->region_tree.root = NULL;
    as->region_by_id.root = NULL;
    while ((l = list_pop_head(&as->regions)) != NULL)
        region_free(list_entry(l, struct region, link));
}

static struct region_view view_of(const struct region *r)
{
    return (struct region_view){r->id, r->flags, r->prot, r->start, r->end};
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

/* The entries that count where the region v begins and ends: in a default region those outside of
   created regions. */
static struct map_entry *first_of(struct aspace *as, const struct region_view *v)
{
    struct span *s;

    if (v->id >= REGION_MIN_USER_ID)
        return aspace_first_in_locked(as, v->start, v->end);
    s = span_floor(&as->tree, v->start);
    if (!s || s->inner || s->end <= v->start)
        s = span_first_outer(&as->tree, v->start);
    return s && s->start < v->end ? container_of(s, struct map_entry, span) : NULL;
}

static struct map_entry *last_of(struct aspace *as, const struct region_view *v)
{
    struct span *s = v->id < REGION_MIN_USER_ID ? span_last_outer(&as->tree, v->end)
                                                : span_floor(&as->tree, v->end - 1);

    return s && s->end > v->start ? container_of(s, struct map_entry, span) : NULL;
}

/* Of a default region: `va`, or the closest address above it (down: below it, where addresses end)
   that is in no created region; the region's end if there is none. */
static vaddr_t beyond_regions(struct aspace *as, const struct region_view *v, vaddr_t va, bool down)
{
    struct region *r = region_at_locked(as, down ? va - 1 : va);
    struct span *s;

    if (!r || (down ? va <= v->start : va >= v->end))
        return va;
    if (down) {
        s = span_last_gap(&r->span, PAGE_SIZE);
        return MAX(s->start, v->start); /* page 0 is in no region, so there is one */
    }
    s = span_first_gap(span_next(&r->span), PAGE_SIZE);
    s = s ? span_prev(s) : span_of(treap_last(&as->region_tree));
    return MIN(s->end, v->end);
}

vaddr_t region_first_free_locked(struct aspace *as, const struct region_view *v)
{
    bool down = (v->flags & VA$M_DESCEND) != 0;
    struct map_entry *e = down ? first_of(as, v) : last_of(as, v);
    vaddr_t va;

    if (down)
        va = e ? e->start : v->end;
    else
        va = e ? e->end : v->start;
    return v->id >= REGION_MIN_USER_ID ? va : beyond_regions(as, v, va, down);
}

bool region_range_used_locked(struct aspace *as, vaddr_t start, vaddr_t end)
{
    return aspace_first_in_locked(as, start, end) != NULL;
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

cond_t aspace_lock_service(struct aspace *as)
{
    return mutex_lock_killable(&as->lock) == 0 ? SS$_NORMAL : SS$_ABORT;
}

cond_t region_create(struct aspace *as, uint64_t length, uint32_t prot, uint32_t flags,
                     vaddr_t start, bool privileged, struct region_view *out)
{
    cond_t status = check_create(length, prot, flags, start, privileged);
    struct region *r;

    if (status != SS$_NORMAL)
        return status;
    r = region_alloc(&status);
    if (!r)
        return status;
    status = aspace_lock_service(as);
    if (status != SS$_NORMAL) {
        region_free(r);
        return status;
    }
    status = place_locked(as, length, flags, &start);
    if (status == SS$_NORMAL) {
        as->next_region_id = MAX(as->next_region_id, (uint64_t)REGION_MIN_USER_ID);
        *r = (struct region){.id = as->next_region_id++,
                             .flags = flags,
                             /* The less privileged of what is asked and the caller: user. */
                             .prot = VA$C_REGION_UCREATE_UOWN,
                             .start = start,
                             .end = start + length,
                             .account = r->account};
        insert_locked(as, r);
        *out = view_of(r);
    }
    mutex_unlock(&as->lock);
    if (status != SS$_NORMAL)
        region_free(r);
    return status;
}

/* A negative errno of the address space as a condition value. */
static cond_t status_of(int err) { return err == 0 ? SS$_NORMAL : SS$_INSFMEM; }

cond_t region_delete(struct aspace *as, uint64_t id, bool privileged, struct region_view *out)
{
    struct region *r = NULL;
    cond_t status = aspace_lock_service(as);

    if (status != SS$_NORMAL)
        return status;
    if (!region_view_locked(as, id, out)) {
        status = SS$_IVREGID;
    } else if (id < ARRAY_SIZE(default_regions) || ((out->flags & VA$M_PERMANENT) && !privileged)) {
        status = SS$_NODELPERMANENT;
    } else {
        r = region_find_locked(as, id);
        status = status_of(aspace_unmap_locked(as, r->start, r->end - r->start));
        if (status == SS$_NORMAL)
            remove_locked(as, r);
        else
            r = NULL;
    }
    mutex_unlock(&as->lock);
    if (r)
        region_free(r);
    return status;
}

/* In a region with shared page tables only whole level-3 spans can be deleted; a mapping may end in
   the middle of its last one. */
static cond_t check_spans_locked(struct aspace *as, vaddr_t start, vaddr_t end)
{
    const struct map_entry *e;

    if (start % PTE_L2_SPAN != 0) {
        e = aspace_lookup_locked(as, start);
        if (e && start > e->start)
            return SS$_VA_NOTPAGALGN;
    }
    if (end % PTE_L2_SPAN != 0) {
        e = aspace_lookup_locked(as, end - 1);
        if (e && end < e->end)
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
    cond_t status = aspace_lock_service(as);

    if (status != SS$_NORMAL)
        return status;
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
    r = region_of(span_above(&as->region_tree, va));
    if (!r)
        return SS$_NOMOREREG;
    *v = view_of(r);
    return SS$_NORMAL;
}

cond_t region_query(struct aspace *as, uint32_t function, uint64_t id, vaddr_t va,
                    struct region_view *v, vaddr_t *first_free)
{
    cond_t status = aspace_lock_service(as); /* exclusively, for the searches for gaps */

    if (status != SS$_NORMAL)
        return status;
    status = query_locked(as, function, id, va, v);
    if (status == SS$_NORMAL)
        *first_free = region_first_free_locked(as, v);
    mutex_unlock(&as->lock);
    return status;
}
