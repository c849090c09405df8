/*
 * Reserved memory.
 *
 * Each entry of the registry becomes a reserved memory descriptor (RMD) at boot. The largest are
 * made first, so that small requests do not break up the contiguous memory that large ones need.
 *
 * An ALLOC entry takes contiguous pages, aligned to the largest granularity hint that fits (512
 * pages from 4 MiB up, else 64), and as a second stretch the page-table pages for them, first those
 * of level 3, then those of level 2, aligned to the largest hint that these pages fill. Any other
 * entry is a promise: its pages are only subtracted from the fluid page count. No entry may bring
 * the count below its minimum plus RMD_START_PAGES, which the start of the system needs. A registry
 * that takes everything would leave nothing for the first process, and a boot without a reservation
 * is better than a boot that ends in a panic.
 *
 * If no single stretch holds an ALLOC entry, because memory has holes or other entries have broken
 * it up, the entry gets several. Each is the largest available, reduced to a multiple of 1,024
 * pages (8 MiB, what a level-3 page maps), until the rest fits into one. So a level-3 page never
 * maps two stretches, all PTEs keep the largest hint, and small stretches are left for small
 * entries. The page-table pages are always one stretch, since mappings compute level-2 PTEs from
 * its first page.
 *
 * /RAD names the domain that the pages should come from. That domain is used up, in several
 * stretches if necessary, before another one is tried, because the entry asks for pages near the
 * CPUs that use them. Without /RAD, every domain is first tried for a single stretch. An entry with
 * several parts takes each part from the part's domain, in stretches of its own.
 *
 * A reservation that cannot be made is reported on the console and the boot continues. An ALLOC
 * entry without contiguous memory becomes a promise. An entry that exceeds the fluid page count is
 * left out, and its section is later created as if there were no entry.
 *
 * The pages of an ALLOC entry are not touched when they are reserved: their PFN database entries
 * are initialised when the reservation is used. ZERO reads each page and writes only to pages that
 * are not zero, because a host that allocates memory sparsely gives none to a page that is only
 * read.
 *
 * While a section uses a promise, the pages that it has allocated are not part of the promise
 * (fluid_promise_used). Before the section returns the reservation, it has given all of them back
 * to the promise (fluid_promise_unused). The death of a process leaves no RMD in use: an RMD is
 * returned with the section's last share, and a process that is killed inside a system call ends
 * only on its way out of the call, when it holds no mutex.
 *
 * Locks: the RMD mutex protects the list, the tree and the fields of RMDs, except what is constant
 * while an RMD is in use. RMDs are in nonpaged pool because a fault reads them through their
 * section.
 */
#include "mm/section/reserved.h"

#include "arch/alpha/hw/pte.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/bitops.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/thread.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/phys/page_reserve.h"
#include "mm/pool/pool.h"
#include "mm/section/prezero.h"
#include "sysman/config.h"
#include "sysman/params.h"

#define PAGES_PER_MB    (1048576 / PAGE_SIZE)
#define RESERVE_AT_ONCE 16384u /* PFN database entries made between two looks for a fatal signal */
#define LEAST_MINIMUM   512    /* as in mm/phys/fluid.c: pages on the way between page lists */
/* Most stretches of one reservation: half of the ranges that a domain can have. An entry that would
   need more becomes a promise. */
#define EXTENTS_MAX RMD_EXTENTS_MAX

static struct mutex rmd_mutex = MUTEX_INIT("RMD", MUTEX_RMD, rmd_mutex);
static struct list rmds = LIST_INIT(rmds); /* by size at boot, largest first; rmd_mutex */
static struct treap by_name;               /* of the same; rmd_mutex */
static struct treap counted;               /* of the same, in the same order; rmd_mutex */

/* Alignment in pages: the largest granularity hint that npages fill. */
static uint64_t hint_alignment(uint64_t npages)
{
    return npages >= 512 ? 512 : npages >= 64 ? 64 : npages >= 8 ? 8 : 1;
}

/* Page-table pages that a section of npages needs: level-3 pages, and the level-2 pages that point
   to them, which mappings of whole blocks of 8 GiB share. */
static uint64_t table_pages(uint64_t npages)
{
    uint64_t l3 = div_round_up(npages, PTES_PER_PAGE);

    return l3 + div_round_up(l3, PTES_PER_PAGE);
}

/* Alignment of data pages, as on OpenVMS: 512 pages or 64. */
static uint64_t data_alignment(uint64_t npages) { return npages >= 512 ? 512 : 64; }

/* ---- the entries by name ---- */

/* The scopes of a name, in their order: groups, the system, drivers. */
#define SCOPE_SYSGBL ((uint64_t)UINT32_MAX + 1)
#define SCOPE_DRIVER ((uint64_t)UINT32_MAX + 2)

static struct rmd *rmd_of(struct treap_node *n)
{
    return n ? container_of(n, struct rmd, node) : NULL;
}

static uint64_t scope_of(const struct rmd *r)
{
    return r->flags & RMD_NOGLOBAL ? SCOPE_DRIVER : r->flags & RMD_SYSGBL ? SCOPE_SYSGBL : r->group;
}

/* FNV-1a of the name. */
static uint32_t hash_of(const char *name)
{
    uint32_t x = 2166136261u;

    while (*name)
        x = (x ^ (uint8_t)*name++) * 16777619u;
    return x;
}

/* Does r come before the name of this hash in this scope? Hashes first: one comparison of names or
   two are made in a search. */
static bool comes_before(const struct rmd *r, uint32_t hash, const char *name, uint64_t scope)
{
    int c;

    if (r->node.hash != hash)
        return r->node.hash < hash;
    c = strcmp(r->name, name);
    return c < 0 || (c == 0 && scope_of(r) < scope);
}

static void enter_locked(struct rmd *r)
{
    struct treap_node *up = NULL, **where = &by_name.root;

    r->node.hash = hash_of(r->name);
    while (*where) {
        up = *where;
        where = comes_before(rmd_of(up), r->node.hash, r->name, scope_of(r)) ? &up->right
                                                                             : &up->left;
    }
    treap_insert(&by_name, &r->node, up, where);
    list_add_tail(&rmds, &r->link);
    treap_append(&counted, &r->nth);
}

static void leave_locked(struct rmd *r)
{
    treap_remove(&by_name, &r->node);
    list_remove(&r->link);
    treap_take_out(&counted, &r->nth);
}

/* The entry of a name in the first scope from `scope` on; NULL: there is none. */
static struct rmd *find_from_locked(const char *name, uint64_t scope)
{
    struct rmd *r = rmd_of(by_name.root), *found = NULL;
    uint32_t hash = hash_of(name);

    while (r)
        if (comes_before(r, hash, name, scope)) {
            r = rmd_of(r->node.right);
        } else {
            found = r;
            r = rmd_of(r->node.left);
        }
    return found && strcmp(found->name, name) == 0 ? found : NULL;
}

static struct rmd *find_locked(const char *name, bool sysgbl, uint32_t group)
{
    uint64_t scope = sysgbl ? SCOPE_SYSGBL : group == RMD_NO_GROUP ? SCOPE_DRIVER : group;
    struct rmd *r = find_from_locked(name, scope);

    return r && scope_of(r) == scope ? r : NULL;
}

/* Is there an entry with this name, of any scope, for a section? */
static bool is_sections_locked(const char *name)
{
    const struct rmd *r = find_from_locked(name, 0);

    return r && !(r->flags & RMD_NOGLOBAL);
}

/* ---- boot ---- */

/* Call fn for each contiguous stretch of data pages [from, to). */
static void for_stretches(const struct rmd *r, uint64_t from, uint64_t to,
                          void (*fn)(pfn_t first, uint64_t npages))
{
    while (from < to) {
        uint64_t run;
        pfn_t first = rmd_extent_frame(r->extents, from, &run);

        run = MIN(run, to - from);
        fn(first, run);
        from += run;
    }
}

static void extents_forget(struct rmd *r)
{
    if (r->extents && r->extents != &r->one)
        npp_free(r->extents, EXTENTS_MAX * sizeof(struct rmd_extent));
    r->extents = NULL;
    r->nextents = 0;
    r->first = r->pt_first = PFN_NONE;
}

/* Reserve one stretch, from domain rad. If rad is RAD_ANY or `any` is set, other domains are tried
   too. False: there is none. */
static bool take_one(uint32_t rad, uint64_t npages, uint64_t align, bool any, pfn_t *first)
{
    unsigned wanted = rad < rad_count ? rad : 0, i = 0;

    if (rad >= rad_count)
        any = true;
    do
        if (page_reserve(npages, align, (wanted + i) % rad_count, first) == 0)
            return true;
    while (any && ++i < rad_count);
    return false;
}

/* Reserve the largest stretch available of the `missing` pages: from domain rad, or if that has
   none, from the domain with the largest stretch. False: there is none. */
static bool take_extent(uint32_t rad, uint64_t missing, struct rmd_extent *e)
{
    uint64_t align = data_alignment(PTE_SPAN_PAGES), most = 0;
    unsigned best = 0;

    if (rad < rad_count &&
        page_reserve_part(missing, PTE_SPAN_PAGES, align, rad, &e->first, &e->npages) == 0)
        return true;
    for (unsigned i = 0; i < rad_count; i++) {
        uint64_t n = page_largest_stretch(i, align);

        if (n > most) {
            most = n;
            best = i;
        }
    }
    return page_reserve_part(missing, PTE_SPAN_PAGES, align, best, &e->first, &e->npages) == 0;
}

/* Reserve the data pages in several stretches, those of each part from the part's domain. False: it
   was not possible, and nothing is reserved. */
static bool take_extents(struct rmd *r, const struct registry_entry *part)
{
    struct rmd_extent *e = npp_alloc(EXTENTS_MAX * sizeof(*e));
    uint64_t taken = 0, end = 0;

    if (!e)
        return false;
    r->extents = e;
    for (; end < r->npages; part++) {
        end += part->megabytes * PAGES_PER_MB;
        while (taken < end && r->nextents < EXTENTS_MAX) {
            struct rmd_extent *next = &e[r->nextents];

            if (!take_extent(part->rad, end - taken, next))
                break;
            taken += next->npages;
            r->nextents++;
        }
        if (taken < end)
            break;
    }
    if (taken == r->npages)
        return true;
    for_stretches(r, 0, taken, page_unreserve);
    extents_forget(r);
    return false;
}

/* Reserve the data pages, as one stretch if the entry has one part. part: the first of the entry's
   parts, whose sizes add up to r->npages. False: nothing is reserved. */
static bool take_data(struct rmd *r, const struct registry_entry *part)
{
    bool whole = part->megabytes * PAGES_PER_MB == r->npages;

    if (whole && take_one(part->rad, r->npages, data_alignment(r->npages), false, &r->one.first)) {
        r->one.npages = r->npages;
        r->extents = &r->one;
        r->nextents = 1;
    } else if (!take_extents(r, part)) {
        return false;
    }
    r->first = r->extents[0].first;
    return true;
}

/* Reserve the data and page-table pages of an ALLOC entry. False: not all are available, and
   nothing is reserved. */
static bool take_stretches(struct rmd *r, const struct registry_entry *part)
{
    if (!take_data(r, part))
        return false;
    if (r->npt_pages &&
        !take_one(r->rad, r->npt_pages, hint_alignment(r->npt_pages), true, &r->pt_first)) {
        for_stretches(r, 0, r->npages, page_unreserve);
        extents_forget(r);
        return false;
    }
    if (r->nextents > 1)
        printk("reserved memory: %s is in %u stretches, the first of %lu pages\n", r->name,
               r->nextents, r->extents[0].npages);
    return true;
}

/* Make the reservation or, if that fails, the promise. False: neither is possible. */
static bool honour(struct rmd *r, const struct registry_entry *part)
{
    uint64_t wanted = r->npages + r->npt_pages;
    uint64_t fluid = fluid_count(), remain = fluid_minimum() + RMD_START_PAGES;

    if (fluid < remain + wanted) {
        printk("reserved memory: %s wants %lu pages, but of %lu fluid pages %lu must remain: not "
               "reserved\n",
               r->name, wanted, fluid, remain);
        return false;
    }
    if (r->flags & RMD_ALLOC) {
        if (take_stretches(r, part)) {
            if (r->flags & RMD_ZERO) {
                for_stretches(r, 0, r->npages, prezero_boot);
                r->flags |= RMD_ZEROED;
            }
            return true;
        }
        printk("reserved memory: no stretches of contiguous pages aligned to %lu hold the %lu of "
               "%s: reserved without allocation\n",
               data_alignment(r->npages), r->npages, r->name);
        r->flags = (r->flags & ~(RMD_ALLOC | RMD_ZERO)) | RMD_NO_CONTIG;
    }
    return fluid_promise(wanted) == 0;
}

/* Number of records of entry i: itself and the parts that extend it. *megabytes: their total
   size. */
static uint32_t entry_parts(const struct registry *g, uint32_t i, uint64_t *megabytes)
{
    uint32_t n = 1;

    *megabytes = g->entries[i].megabytes;
    for (; i + n < g->count && (g->entries[i + n].flags & RMD_EXTENDS); n++)
        *megabytes += g->entries[i + n].megabytes;
    return n;
}

static void reserve_entry(const struct registry *g, uint32_t i)
{
    const struct registry_entry *e = &g->entries[i];
    struct rmd *r = npp_alloc_zeroed(sizeof(*r));
    uint64_t megabytes;
    uint32_t nparts;

    if (!r) {
        printk("reserved memory: no pool for %s\n", e->name);
        return;
    }
    str_copy(r->name, e->name, sizeof(r->name));
    r->flags = e->flags;
    r->group = e->group;
    nparts = entry_parts(g, i, &megabytes);
    for (uint32_t k = 0; k < nparts; k++)
        if (e[k].rad != CONFIG_RAD_NONE && e[k].rad >= rad_count)
            printk("reserved memory: %s asks for domain %u, but there are only %u: any will do\n",
                   r->name, e[k].rad, rad_count);
    r->rad = e->rad < rad_count ? e->rad : RAD_ANY;
    r->npages = megabytes * PAGES_PER_MB;
    if (e->flags & RMD_PAGE_TABLES)
        r->npt_pages = table_pages(r->npages);
    if (honour(r, e))
        enter_locked(r);
    else
        npp_free(r, sizeof(*r));
}

_Static_assert(RMD_NAME_MAX == CONFIG_RESERVED_NAME_MAX, "names fit");

void reserved_boot(const struct registry *g)
{
    uint64_t done[(CONFIG_MAX_RESERVED + 63) / 64] = {0};
    int64_t minimum = sysparam(SYSPARAM_MIN_FLUID_PAGES);

    if (minimum >= 0)
        fluid_set_minimum_boot((uint64_t)MAX(minimum, LEAST_MINIMUM));
    if (g->count > 0 && sysparam(SYSPARAM_STARTUP_P1) == 1) {
        printk("reserved memory: STARTUP_P1 is MIN, the registry is ignored\n");
        return;
    }
    mutex_lock(&rmd_mutex);
    for (uint32_t n = 0; n < g->count; n++) { /* the largest that is left; of equals the first */
        uint32_t best = g->count;
        uint64_t most = 0, size;

        for (uint32_t i = 0, parts; i < g->count; i += parts) {
            parts = entry_parts(g, i, &size);
            if (!bitmap_test(done, i) && size > most) {
                best = i;
                most = size;
            }
        }
        if (best == g->count)
            break; /* only parts of entries are left */
        bitmap_set(done, best);
        reserve_entry(g, best);
    }
    mutex_unlock(&rmd_mutex);
}

/* ---- use, return, free ---- */

/* page_reserve_entries() in portions, until the caller is to end. */
static void reserve_entries(pfn_t first, uint64_t npages)
{
    for (uint64_t at = 0, n; at < npages && !thread_killed(); at += n) {
        n = MIN(npages - at, RESERVE_AT_ONCE);
        page_reserve_entries(pfn_add(first, at), n);
    }
}

cond_t mmg_use_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t npages,
                       struct rmd **out)
{
    cond_t status = SS$_NORMAL;

    if (mutex_lock_killable(&rmd_mutex))
        return SS$_ABORT;
    struct rmd *r = find_locked(name, sysgbl, group);

    if (!r || (r->flags & RMD_FREED))
        status = !sysgbl && group == RMD_NO_GROUP && is_sections_locked(name) ? SS$_RES_MEM_INCON
                                                                              : SS$_NORESERVEDMEM;
    else if (r->used > 0)
        status = SS$_RESERVEDMEMUSED;
    else if (npages == 0)
        status = SS$_MRES_INCON;
    else if (npages > r->npages)
        status = r->flags & RMD_ALLOC ? SS$_MRES_PFNSMALL : SS$_MRES_INCON;
    else {
        r->used = npages;
        r->pt_used = MIN(r->npt_pages, table_pages(npages));
        if (r->flags & RMD_ALLOC) {
            for_stretches(r, 0, r->npages, reserve_entries);
            if (r->npt_pages)
                reserve_entries(r->pt_first, r->npt_pages);
        }
        *out = r;
        if (thread_killed()) { /* not all entries may have been made */
            r->used = r->pt_used = 0;
            status = SS$_ABORT;
        }
    }
    mutex_unlock(&rmd_mutex);
    return status;
}

/* Free data pages [used, npages) and page-table pages [pt_used, npt_pages), and r itself if it is
   not in use. Returns the number of pages freed. */
static uint64_t free_unused_locked(struct rmd *r)
{
    uint64_t data = r->npages - r->used, tables = r->npt_pages - r->pt_used;

    if (r->flags & RMD_ALLOC) {
        for_stretches(r, r->used, r->npages, page_unreserve);
        if (tables)
            page_unreserve(pfn_add(r->pt_first, r->pt_used), tables);
    } else
        fluid_promise_end(data + tables);
    r->npages = r->used;
    r->npt_pages = r->pt_used;
    r->flags |= RMD_FREED;
    if (r->used == 0) {
        leave_locked(r);
        extents_forget(r);
        npp_free(r, sizeof(*r));
    }
    return data + tables;
}

void mmg_return_res_mem(struct rmd *r)
{
    mutex_lock(&rmd_mutex);
    r->used = r->pt_used = 0;
    r->flags &= ~RMD_ZEROED;
    if (r->flags & RMD_FREED) /* what was not in use has been freed already */
        free_unused_locked(r);
    mutex_unlock(&rmd_mutex);
}

/* ---- frames that a driver makes available to page-frame sections ---- */

void mmg_open_res_mem(struct rmd *r)
{
    mutex_lock(&rmd_mutex);
    r->open = true;
    mutex_unlock(&rmd_mutex);
}

bool mmg_close_res_mem(struct rmd *r)
{
    mutex_lock(&rmd_mutex);
    if (r->borrowers == 0)
        r->open = false;
    bool closed = !r->open;

    mutex_unlock(&rmd_mutex);
    return closed;
}

/* Are these frames part of the reservation, in use, and in one stretch? */
static bool holds_frames(const struct rmd *r, pfn_t first, uint64_t npages)
{
    for (uint64_t page = 0, run; (r->flags & RMD_ALLOC) && page < r->used; page += run) {
        pfn_t start = rmd_extent_frame(r->extents, page, &run);
        uint64_t n = MIN(run, r->used - page);

        if (first.n >= start.n && first.n - start.n < n && npages <= n - (first.n - start.n))
            return true;
    }
    return false;
}

struct rmd *mmg_borrow_res_mem(pfn_t first, uint64_t npages)
{
    struct rmd *r, *found = NULL;

    if (mutex_lock_killable(&rmd_mutex))
        return NULL;
    list_for_each_entry(r, &rmds, link)
        if (r->open && holds_frames(r, first, npages))
            found = r;
    if (found)
        found->borrowers++;
    mutex_unlock(&rmd_mutex);
    return found;
}

void mmg_give_back_res_mem(struct rmd *r)
{
    mutex_lock(&rmd_mutex);
    r->borrowers--;
    mutex_unlock(&rmd_mutex);
}

cond_t mmg_free_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t *freed_pages)
{
    cond_t status = SS$_NORMAL;

    *freed_pages = 0;
    if (mutex_lock_killable(&rmd_mutex))
        return SS$_ABORT;
    struct rmd *r = find_locked(name, sysgbl, group);

    if (!r)
        status = SS$_NORESERVEDMEM;
    else if (r->used == r->npages)
        status = SS$_RESERVEDMEMUSED;
    else
        *freed_pages = free_unused_locked(r);
    mutex_unlock(&rmd_mutex);
    return status;
}

cond_t rmd_nth(uint64_t index, void (*fn)(const struct rmd *, void *), void *arg)
{
    struct treap_node *n;

    if (mutex_lock_killable(&rmd_mutex))
        return SS$_ABORT;
    n = treap_nth(&counted, index);
    if (n)
        fn(container_of(n, struct rmd, nth), arg);
    mutex_unlock(&rmd_mutex);
    return n ? SS$_NORMAL : SS$_NONEXPR;
}

void rmd_for_each(void (*fn)(const struct rmd *, void *), void *arg)
{
    struct rmd *r;

    mutex_lock(&rmd_mutex);
    list_for_each_entry(r, &rmds, link)
        fn(r, arg);
    mutex_unlock(&rmd_mutex);
}
