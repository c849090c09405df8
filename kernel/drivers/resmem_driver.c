/*
 * A driver that uses reservations. It does what any driver with a buffer of its own would do, and
 * nothing else, so that tests can observe it.
 *
 * It takes an entry of the registry that is /NOGLOBAL_SECTION, by the same routines that sections
 * use (mm/section/reserved.h), and maps it in system space. The frames of an entry with
 * preallocated pages are contiguous and aligned, so the mapping has granularity hints, and a
 * page-frame section can map them, too. An entry without preallocated pages is a promise: its pages
 * are allocated from the promise one by one, anywhere in memory, and mapped without hints, and only
 * the driver uses them.
 *
 * The driver mutex protects the list of units and serialises all operations on them. A unit does
 * not belong to the process that created it: it stays until it is released.
 */
#include "kernel/drivers/resmem_driver.h"

#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/thread.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"
#include "mm/pt/pt.h"
#include "mm/pt/pt_system.h"
#include "mm/section/reserved.h"
#include "mm/section/window.h"

/* One reservation in use. In nonpaged pool; protected by the driver mutex. */
struct unit {
    struct list link; /* in units */
    struct rmd *rmd;
    struct window *window; /* its npages are all mapped */
};

static struct mutex driver_mutex = MUTEX_INIT("driver", MUTEX_DRIVER, driver_mutex);
static struct list units = LIST_INIT(units); /* driver_mutex */

static struct unit *find_locked(const char *name)
{
    struct unit *u;

    list_for_each_entry(u, &units, link)
        if (strcmp(u->rmd->name, name) == 0)
            return u;
    return NULL;
}

static bool is_allocated(const struct unit *u) { return (u->rmd->flags & RMD_ALLOC) != 0; }

/* Map the frames of the reservation, zeroed, with granularity hints. False: no memory for a page
 * table, or the caller is to end. */
static bool map_frames(struct unit *u)
{
    for (uint64_t page = 0, run; page < u->window->npages; page += run) {
        pfn_t first = rmd_extent_frame(u->rmd->extents, page, &run);

        run = MIN(run, u->window->npages - page);
        for (uint64_t i = 0; i < run && !(u->rmd->flags & RMD_ZEROED); i++) {
            if (thread_killed())
                return false;
            page_zero_if_needed(pfn_add(first, i));
        }
        if (window_map(u->window, page, first, run) != 0)
            return false;
    }
    return true;
}

/* Allocate the pages from the promise and map them. False: no memory for a page table, or the
 * caller is to end; what was mapped so far stays mapped. */
static bool map_promised(struct unit *u)
{
    for (uint64_t page = 0; page < u->window->npages; page++) {
        pfn_t pfn;

        if (thread_killed())
            return false;
        if (page_alloc(PA_ZERO | PA_PROMISED, PAGE_T_SYSTEM, u->rmd->rad, &pfn) != 0)
            panic("no page for a driver though it was promised");
        fluid_promise_used(1);
        if (window_map(u->window, page, pfn, 1) != 0) {
            fluid_promise_unused(1);
            page_free(pfn);
            return false;
        }
        page_of(pfn)->owner = kseg_paddr(pt_system_create(u->window->start + page * PAGE_SIZE)).a;
    }
    return true;
}

/* Unmap the unit, and return the pages of a promise to it. */
static void unmap(struct unit *u)
{
    struct window *w = u->window;
    pfn_t chain = PFN_NONE, pfn;

    /* The frames are known only from the mapping, and a page may be freed only after its
     * translation was invalidated: so a chain through the pages' PFN database entries keeps
     * them. */
    for (uint64_t page = 0; !is_allocated(u) && page < w->npages; page++) {
        pfn = window_frame(w, page);
        if (pfn.n == 0)
            break;
        page_of(pfn)->offset = chain.n;
        chain = pfn;
    }
    window_end(w);
    u->window = NULL;
    while (chain.n) {
        pfn = chain;
        chain = pfn_of(page_of(pfn)->offset);
        fluid_promise_unused(1);
        page_free(pfn);
    }
}

/* The condition value for an errno of window_create. */
static cond_t no_window(int err) { return err == -ENOMEM ? SS$_INSFMEM : SS$_INSFSPTS; }

static cond_t take_locked(const char *name, uint64_t npages, struct unit *u)
{
    cond_t status = mmg_use_res_mem(name, false, RMD_NO_GROUP, npages, &u->rmd);
    int err;

    if (status != SS$_NORMAL)
        return status;
    err = window_create(npages, &u->window);
    if (err) {
        status = no_window(err);
    } else if (!(is_allocated(u) ? map_frames(u) : map_promised(u))) {
        unmap(u);
        status = SS$_INSFMEM;
    } else {
        list_add_tail(&units, &u->link);
        return SS$_NORMAL;
    }
    mmg_return_res_mem(u->rmd);
    return status;
}

cond_t resmem_take(const char *name, uint64_t npages)
{
    struct unit *u = npp_alloc_zeroed(sizeof(*u));
    cond_t status;

    if (!u)
        return SS$_INSFMEM;
    list_init(&u->link);
    mutex_lock(&driver_mutex);
    status = take_locked(name, npages, u);
    mutex_unlock(&driver_mutex);
    if (status != SS$_NORMAL)
        npp_free(u, sizeof(*u));
    return status;
}

cond_t resmem_release(const char *name)
{
    cond_t status = SS$_NORMAL;

    mutex_lock(&driver_mutex);
    struct unit *u = find_locked(name);

    if (!u) {
        status = SS$_NORESERVEDMEM;
    } else if (!mmg_close_res_mem(u->rmd)) {
        status = SS$_RESERVEDMEMUSED;
    } else {
        list_remove(&u->link);
        unmap(u);
        mmg_return_res_mem(u->rmd);
        npp_free(u, sizeof(*u));
    }
    mutex_unlock(&driver_mutex);
    return status;
}

cond_t resmem_fill(const char *name, uint64_t seed)
{
    mutex_lock(&driver_mutex);
    struct unit *u = find_locked(name);
    uint64_t *p = u ? (uint64_t *)u->window->start : NULL;

    for (uint64_t i = 0; u && i < u->window->npages * (PAGE_SIZE / sizeof(*p)); i++) {
        if (thread_killed())
            break;
        p[i] = seed + i;
    }
    mutex_unlock(&driver_mutex);
    return u ? SS$_NORMAL : SS$_NORESERVEDMEM;
}

cond_t resmem_checksum(const char *name, uint64_t *sum)
{
    mutex_lock(&driver_mutex);
    struct unit *u = find_locked(name);
    const uint64_t *p = u ? (const uint64_t *)u->window->start : NULL;

    *sum = 0;
    for (uint64_t i = 0; u && i < u->window->npages * (PAGE_SIZE / sizeof(*p)); i++) {
        if (thread_killed())
            break;
        *sum = (*sum << 1 | *sum >> 63) + p[i];
    }
    mutex_unlock(&driver_mutex);
    return u ? SS$_NORMAL : SS$_NORESERVEDMEM;
}

cond_t resmem_expose(const char *name, bool on)
{
    cond_t status = SS$_NORMAL;

    mutex_lock(&driver_mutex);
    struct unit *u = find_locked(name);

    if (!u)
        status = SS$_NORESERVEDMEM;
    else if (!is_allocated(u))
        status = SS$_MRES_INCON;
    else if (on)
        mmg_open_res_mem(u->rmd);
    else if (!mmg_close_res_mem(u->rmd))
        status = SS$_RESERVEDMEMUSED;
    mutex_unlock(&driver_mutex);
    return status;
}

cond_t resmem_query(const char *name, struct resmem_view *v)
{
    mutex_lock(&driver_mutex);
    struct unit *u = find_locked(name);

    if (u) {
        v->npages = u->window->npages;
        v->first = window_frame(u->window, 0);
        v->va = u->window->start;
        window_count(u->window, &v->hints);
    }
    mutex_unlock(&driver_mutex);
    return u ? SS$_NORMAL : SS$_NORESERVEDMEM;
}

static void explain(struct census *c)
{
    const struct unit *u;

    list_for_each_entry(u, &units, link)
        census_explain(c, CENSUS_NONPAGED, sizeof(*u), 1);
}

void resmem_census_boot(void)
{
    static const struct census_kind kinds[] = {
        {"unit of the reservations' driver", CENSUS_NONPAGED, sizeof(struct unit)}};

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
