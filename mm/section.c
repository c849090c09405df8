/*
 * Global sections: creation and the end.
 *
 * Which kind of section a name gets is the registry's decision alone: an entry with preallocated
 * pages makes it ALLOC, any other entry or none makes it FLUID; shared page tables are the default
 * and only an entry without page tables turns them off.
 *
 * A section's end has two steps, because whoever drops the last share may hold an address space's
 * mutex, which ranks above the directory's. section_drop() takes the share and, if it was the last,
 * pushes the section on a lock-free list; section_reap() takes the list over, under the directory
 * mutex, and deletes. Between the steps the section is still in the directory, but
 * section_try_share() refuses it. Everybody who takes the directory mutex to look for a name reaps
 * first: a name is free again, and its reservation with it, as soon as its last share is gone.
 *
 *     CPU 0 (exit)                        CPU 1 (create, same name)
 *     life 1 -> 0
 *                                         lock GSD, reap: list is empty
 *                                         lookup finds the section, share refused
 *     push on the list
 *
 * CPU 1 then waits for the push, which is a few instructions away on a CPU that runs at IPL_ASTDEL:
 * it reaps again.
 */
#include "mm/section.h"

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "mm/aspace.h"
#include "mm/fluid.h"
#include "mm/page.h"
#include "mm/pool.h"
#include "mm/section_gsd.h"
#include "mm/shpt.h"
#include "sysman/params.h"

static struct list sections; /* in the order of creation; GSD mutex */
static uint64_t nsections;   /* on it; GSD mutex */
static uint64_t gpt_entries; /* that they count for against GBLPAGES; GSD mutex */
static struct section
    *dead_sections; /* atomic: pushed by section_drop, taken whole by section_reap */

void section_boot(void)
{
    gsd_boot();
    list_init(&sections);
    aspace_entries_gone = section_reap;
}

bool section_try_share(struct section *s)
{
    uint64_t life = __atomic_load_n(&s->life, __ATOMIC_RELAXED);

    do {
        if (life == 0 || (life & ~SECTION_PERMANENT) >= SECTION_SHARES_MAX)
            return false;
    } while (!__atomic_compare_exchange_n(&s->life, &life, life + 1, false, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED));
    return true;
}

static void bury(struct section *s)
{
    struct section *head = __atomic_load_n(&dead_sections, __ATOMIC_RELAXED);

    do
        s->dead_next = head;
    while (!__atomic_compare_exchange_n(&dead_sections, &head, s, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

void section_drop(struct section *s)
{
    ipl_t ipl = ipl_raise(IPL_ASTDEL); /* no preemption between the last share and the list */

    if (__atomic_sub_fetch(&s->life, 1, __ATOMIC_ACQ_REL) == 0)
        bury(s);
    ipl_restore(ipl);
}

/* Global page table entries as OpenVMS counts them: one for each page and two, an even number;
   the same whether or not they are shared level-3 pages. */
static uint64_t gpt_entries_of(uint64_t npages) { return (npages + 3) & ~UINT64_C(1); }

static void delete_locked(struct section *s)
{
    if (!list_empty(&s->maps))
        panic("section %s goes while it is mapped", s->gsd->name);
    list_remove(&s->link);
    nsections--;
    gpt_entries -= gpt_entries_of(s->npages);
    gsd_remove_locked(s->gsd);
    if (s->related)
        shpt_delete(s);
    if (s->promised)
        fluid_promise_end(s->promised);
    if (s->rmd)
        mmg_return_res_mem(s->rmd);
    npp_free(s, sizeof(*s));
}

static void reap_locked(void)
{
    struct section *s = __atomic_exchange_n(&dead_sections, NULL, __ATOMIC_ACQUIRE);

    while (s) {
        struct section *next = s->dead_next;

        delete_locked(s);
        s = next;
    }
}

void section_reap(void)
{
    if (!__atomic_load_n(&dead_sections, __ATOMIC_RELAXED))
        return;
    gsd_lock();
    reap_locked();
    gsd_unlock();
}

/* The directory's entry of that name whose section is alive, with dead ones out of the way. */
static struct section *lookup_locked(const struct section_name *n)
{
    for (;;) {
        struct gsd *g;

        reap_locked();
        g = gsd_lookup_locked(n);
        if (!g)
            return NULL;
        if (__atomic_load_n(&g->section->life, __ATOMIC_ACQUIRE) != 0)
            return g->section;
    }
}

/* Take a share of a section found by name, if identity and protection allow. */
static int share_found(struct section *s, const struct section_request *r, bool write)
{
    if (!gsd_ident_matches(s->gsd->ident, r->ident_match, r->ident_version))
        return SS$_NOSUCHSEC;
    if (!gsd_access_allowed(s->gsd, &r->creds, write))
        return SS$_NOPRIV;
    if (section_try_share(s))
        return SS$_NORMAL;
    return __atomic_load_n(&s->life, __ATOMIC_RELAXED) == 0 ? SS$_NOSUCHSEC : SS$_EXQUOTA;
}

int section_find(const struct section_request *r, bool write, struct section **out)
{
    int status = SS$_NOSUCHSEC;
    struct section *s;

    gsd_lock();
    s = lookup_locked(&r->name);
    if (s)
        status = share_found(s, r, write);
    gsd_unlock();
    if (status == SS$_NORMAL)
        *out = s;
    return status;
}

/* Protection of its level-3 PTEs: data, never executed, resident for good. */
static pte_t pte_bits_of(uint32_t flags)
{
    pte_t bits = PTE_V | PTE_KRE | PTE_URE | PTE_FOE | PTE_SW_WIRED | PTE_SW_SHARED;

    return flags & SEC$M_READ_ONLY_SHPT ? bits : bits | PTE_KWE | PTE_UWE;
}

/* Fluid pages that a section must promise by itself: what its reservation, if any, does not cover.
 */
static uint64_t promise_needed(const struct section *s)
{
    uint64_t tables = shpt_l3_pages(s->npages) + shpt_l2_pages(s->npages);
    uint64_t reserved = s->rmd ? s->rmd->npt_pages : 0;

    if (section_is_alloc(s)) {
        if (!s->tables_shared)
            return 0;
        return reserved >= tables ? 0 : shpt_l2_pages(s->npages);
    }
    tables -= MIN(tables, reserved);
    return s->rmd ? tables : tables + s->npages;
}

static void zero_frames(const struct section *s)
{
    for (uint64_t page = 0, run; page < s->npages; page += run) {
        pfn_t first = section_frame(s, page);

        run = section_run(s, page);
        for (uint64_t i = 0; i < run; i++)
            page_zero_if_needed(pfn_add(first, i));
    }
}

/* Frames, promise and page tables. SS$_NORMAL or an error with nothing left behind (the reservation
 * is the caller's). */
static int furnish(struct section *s)
{
    if (s->rmd && (s->rmd->flags & RMD_ALLOC)) {
        s->first = s->rmd->first;
        s->extents = s->rmd->nextents > 1 ? s->rmd->extents : NULL;
        s->flags |= SEC$M_MRES_ALLOC | SEC$M_GRANHINT;
        if (!(s->rmd->flags & RMD_ZEROED))
            zero_frames(s);
        s->valid_pages = s->npages;
    }
    s->tables_shared = !s->rmd || (s->rmd->flags & RMD_PAGE_TABLES);
    s->promised = promise_needed(s);
    if (s->promised && fluid_promise(s->promised) != 0)
        return SS$_INSFLPGS;
    if ((s->tables_shared || !section_is_alloc(s)) && shpt_create(s) != 0) {
        if (s->promised)
            fluid_promise_end(s->promised);
        return SS$_INSFMEM;
    }
    return SS$_NORMAL;
}

/* Do the tables' sizes allow one more section of npages? */
static int room_locked(uint64_t npages)
{
    uint64_t limit = (uint64_t)sysparam(SYSPARAM_GBLPAGES);

    if (nsections >= (uint64_t)sysparam(SYSPARAM_GBLSECTIONS))
        return SS$_GSDFULL;
    /* The limit may have been lowered below what is in use. */
    if (npages > limit || gpt_entries_of(npages) + gpt_entries > limit)
        return SS$_GPTFULL;
    return SS$_NORMAL;
}

static int create_locked(const struct section_request *r, struct section **out)
{
    int status = room_locked(r->npages);

    if (status != SS$_NORMAL)
        return status;

    struct section *s = npp_alloc_zeroed(sizeof(*s));
    struct gsd *g = s ? gsd_alloc_locked(r) : NULL;

    status = SS$_INSFMEM;
    if (!g)
        goto no_entry;
    s->flags = SEC$M_GBL | SEC$M_DZRO | SEC$M_WRT | SEC$M_MRES | r->flags;
    s->npages = r->npages;
    s->rad = r->rad;
    s->pte_bits = pte_bits_of(s->flags);
    s->life = 1 | (s->flags & SEC$M_PERM ? SECTION_PERMANENT : 0);
    spin_init(&s->lock, "section", RANK_SECTION, IPL_ASTDEL);
    list_init(&s->maps);
    status = mmg_use_res_mem(g->name, r->name.sysgbl, r->name.group, r->npages, &s->rmd);
    if (status == SS$_NORESERVEDMEM)
        s->rmd = NULL;
    else if (status != SS$_NORMAL)
        goto no_reservation;
    status = furnish(s);
    if (status != SS$_NORMAL)
        goto unfurnished;
    gsd_insert_locked(g, s);
    list_add_tail(&sections, &s->link);
    nsections++;
    gpt_entries += gpt_entries_of(s->npages);
    *out = s;
    return s->tables_shared ? SS$_CREATED_SHPT : SS$_CREATED;

unfurnished:
    if (s->rmd)
        mmg_return_res_mem(s->rmd);
no_reservation:
    gsd_free_locked(g);
no_entry:
    if (s)
        npp_free(s, sizeof(*s));
    return status;
}

int section_create(const struct section_request *r, bool map_existing, bool write,
                   struct section **out)
{
    struct section *s;
    int status;

    gsd_lock();
    s = lookup_locked(&r->name);
    if (!s) {
        status = create_locked(r, out);
    } else if (!map_existing) {
        status = SS$_DUPLNAM;
    } else if (!(s->flags & SEC$M_MRES)) {
        status = SS$_GBLSEC_MISMATCH;
    } else {
        status = share_found(s, r, write);
        *out = s;
    }
    gsd_unlock();
    return status;
}

int section_mark_delete(const struct section_request *r)
{
    int status = SS$_NORMAL;
    struct section *s;

    gsd_lock();
    s = lookup_locked(&r->name);
    if (!s || !gsd_ident_matches(s->gsd->ident, r->ident_match, r->ident_version)) {
        status = SS$_NOSUCHSEC;
    } else if (!r->creds.system && !r->creds.bypass &&
               (r->creds.uic_group != s->gsd->creator.uic_group ||
                r->creds.uic_member != s->gsd->creator.uic_member)) {
        status = SS$_NOTCREATOR;
    } else if (s->flags & SEC$M_PERM) {
        s->flags &= ~SEC$M_PERM;
        if (__atomic_and_fetch(&s->life, ~SECTION_PERMANENT, __ATOMIC_ACQ_REL) == 0)
            bury(s);
        reap_locked();
    }
    gsd_unlock();
    return status;
}

bool section_make_valid(struct section *s, uint64_t page, pte_t *pte)
{
    pte_t old = 0;
    pfn_t pfn;

    if (page_alloc(PA_ZERO | PA_PROMISED, PAGE_T_GLOBAL, s->rad, &pfn) != 0)
        panic("no page for a section though it was promised");
    fluid_promise_used(1);
    page_of(pfn)->owner = (uint64_t)s;
    page_of(pfn)->offset = page;
    page_of(pfn)->aux = cpu_id(); /* who made it valid: tells a race from a preemption */
    /* Release: the zeroes and the entry are there before the page can be found. */
    if (!__atomic_compare_exchange_n(pte, &old, pte_make(pfn, s->pte_bits), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        fluid_promise_unused(1);
        page_free(pfn);
        return false;
    }
    __atomic_fetch_add(&s->valid_pages, 1, __ATOMIC_RELAXED);
    return true;
}

struct section *section_nth(uint64_t index)
{
    struct section *s, *found = NULL;

    gsd_lock();
    reap_locked();
    list_for_each_entry(s, &sections, link) if (section_try_share(s))
    {
        if (index-- == 0) {
            found = s;
            break;
        }
        section_drop(s);
    }
    gsd_unlock();
    return found;
}

uint64_t section_reserved_bytes(const struct section *s)
{
    return s->rmd ? s->rmd->npages * PAGE_SIZE : 0;
}
