/*
 * Global sections: creation, shares and deletion, and the memory-resident kind.
 *
 * The registry alone decides where a memory-resident section's pages come from. An entry with
 * preallocated pages makes the section ALLOC; any other entry, or none, makes it FLUID. Shared page
 * tables are the default; only an entry without page tables turns them off.
 *
 * $DGBLSC removes the name from the directory and clears the section's permanent bit. From then on
 * a lookup of the name finds nothing, or a section created under it later, while processes that map
 * the old section keep it. So the list of all sections may contain several of one name, but the
 * directory contains at most one. The new section cannot use what the old one still holds, such as
 * a reservation.
 *
 * Deletion has three steps, because the thread that drops the last share may hold an address
 * space's mutex, which ranks above the directory's:
 *
 *  1. section_drop() takes the share back. If it was the last one, it pushes the section on the
 *     lock-free list dead_sections.
 *  2. Every thread that takes the directory mutex to look up a name first removes the sections on
 *     that list from the directory and moves them to the list gone_sections (bury_locked).
 *  3. section_reap() frees the pages and tables of the sections on the second list, without the
 *     directory mutex, because this takes time in proportion to their size. A thread that dropped a
 *     share calls it after it has released its mutexes.
 *
 * A lookup may see a section between its last share and the push:
 *
 *     CPU 0 (exit)                        CPU 1 (create, same name)
 *     life 1 -> 0
 *                                         lock the directory: dead_sections is empty
 *                                         the lookup finds the section, life is 0
 *     push on dead_sections
 *
 * CPU 1 then repeats the lookup until the push is done. That is a few instructions away, since
 * CPU 0 runs at IPL_ASTDEL and cannot be preempted. CPU 1 also repeats the lookup if the last share
 * goes between the lookup and its own attempt to take a share; otherwise it would report that there
 * is no such section, to a caller that asked to create it.
 *
 * After the last section_drop() has returned, the name, the reservation and the promise must be
 * available to a creation. Therefore a creation first waits for the threads that are in step 3, and
 * itself does what is left of steps 2 and 3. Threads in step 3 hold the mutex section_end shared,
 * so that they do not wait for each other; a creation holds it exclusively.
 *
 * Locks: the GSD mutex protects the lists and the counts; each section's spinlock protects its list
 * of mappings (section_map.c). A creation can fail for lack of pool, fluid pages or table entries;
 * it then leaves nothing allocated. A deletion cannot fail.
 */
#include "mm/section/section.h"

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/thread.h"
#include "mm/object/object.h"
#include "mm/phys/failure.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/section/section_gsd.h"
#include "mm/section/section_map.h"
#include "mm/section/shpt.h"
#include "mm/space/aspace.h"
#include "sysman/params.h"

static struct list sections;                              /* in order of creation; GSD mutex */
static struct treap places;                               /* likewise; GSD mutex */
static struct section_use nsections, gptes, pagfil_pages; /* GSD mutex; limits: uses_locked() */
static const struct section_kind *kinds[SECTION_KINDS];   /* constant after boot */
static unsigned nkinds;                                   /* constant after boot */
/* Atomic: pushed by section_drop, emptied under the GSD mutex. */
static struct section *dead_sections;
static struct section *gone_sections; /* removed from the directory; written under the GSD mutex,
                                         compared with NULL (atomic) without it */
/* Held shared to free what deleted sections held, exclusively to create a section. */
static struct mutex section_end = MUTEX_INIT("section end", MUTEX_SECTION_END, section_end);

static const struct section_kind mres_kind;

void section_kind_register(const struct section_kind *kind)
{
    KASSERT(nkinds < SECTION_KINDS, "each kind of section is registered once");
    kinds[nkinds++] = kind;
}

static const struct section_kind *kind_of(const struct section_request *r)
{
    uint32_t wanted = r->kinds ? r->kinds : SEC$M_MRES;

    for (unsigned i = 0; i < nkinds; i++)
        if ((kinds[i]->implied & SECTION_KIND_FLAGS) == wanted)
            return kinds[i];
    panic("there is no kind %x of section", wanted);
}

void section_boot(void)
{
    gsd_boot();
    list_init(&sections);
    section_kind_register(&mres_kind);
    aspace_entries_gone = section_reap;
}

bool section_try_share(struct section *s)
{
    uint64_t life = __atomic_load_n(&s->life, __ATOMIC_RELAXED);

    if (failure_inject(MEGA_ALLOC_SHARE))
        return false;
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

/* Global page table entries as OpenVMS counts them: one for each page plus two, rounded up to an
   even number, whether or not the level-3 pages are shared. */
static uint64_t gptes_of(const struct section_kind *kind, uint64_t npages)
{
    return kind->has_gptes ? (npages + 3) & ~UINT64_C(1) : 0;
}

static uint64_t pagfil_pages_of(const struct section_kind *kind, uint64_t npages)
{
    return kind->has_pagfil_pages ? npages : 0;
}

static void use_add(struct section_use *u, uint64_t n)
{
    u->use += n;
    u->peak = MAX(u->peak, u->use);
}

/* Read the limits from the parameters. A dynamic parameter may have been set below the current
   use. */
static void uses_locked(void)
{
    nsections.limit = (uint64_t)sysparam(SYSPARAM_GBLSECTIONS);
    gptes.limit = (uint64_t)sysparam(SYSPARAM_GBLPAGES);
    pagfil_pages.limit = (uint64_t)sysparam(SYSPARAM_GBLPAGFIL);
}

#define RESERVE_SHARE 16u /* of each limit, one part in so many is kept for user 0 */

/* May n more be used by the current thread? Correct for every n: the subtraction cannot wrap. */
static bool use_allows(const struct section_use *u, uint64_t n)
{
    uint64_t limit = account_self()->exempt ? u->limit : u->limit - u->limit / RESERVE_SHARE;

    return n == 0 || (u->use <= limit && n <= limit - u->use);
}

void section_free(struct section *s)
{
    account_release(s->account, QUOTA_SECTIONS, 1);
    npp_free(s, sizeof(*s));
}

static void delist_locked(struct section *s)
{
    if (!list_empty(&s->maps))
        panic("section %s goes while it is mapped", s->gsd->name);
    list_remove(&s->link);
    treap_take_out(&places, &s->place);
    nsections.use--;
    gptes.use -= gptes_of(s->kind, s->npages);
    pagfil_pages.use -= pagfil_pages_of(s->kind, s->npages);
    gsd_remove_locked(s->gsd);
    s->gsd = NULL;
}

/* Remove the dead sections from the directory. This takes a constant time for each section, and no
   more sections can die than were created, so their creators have paid for it. GSD mutex held. */
static void bury_locked(void)
{
    struct section *s = __atomic_exchange_n(&dead_sections, NULL, __ATOMIC_ACQUIRE);

    while (s) {
        struct section *next = s->dead_next;

        delist_locked(s);
        s->dead_next = gone_sections;
        __atomic_store_n(&gone_sections, s, __ATOMIC_RELAXED);
        s = next;
    }
}

/* Free what the sections hold that were removed from the directory. section_end held. */
static void release_gone(void)
{
    struct section *s, *next;

    gsd_lock();
    bury_locked();
    s = gone_sections;
    __atomic_store_n(&gone_sections, NULL, __ATOMIC_RELAXED);
    gsd_unlock();
    for (; s; s = next) {
        next = s->dead_next;
        s->kind->release(s);
        section_free(s);
    }
}

static bool any_gone(void)
{
    return __atomic_load_n(&dead_sections, __ATOMIC_RELAXED) ||
           __atomic_load_n(&gone_sections, __ATOMIC_RELAXED);
}

/*
 * A creation holds section_end for as long as its section has pages. Who is to end leaves what is
 * gone to it, as it looks once more when it has released the mutex:
 *
 *     to end                                 creation
 *     buries a section
 *     finds section_end held
 *                                            releases it, finds the section
 */
void section_reap(void)
{
    /* Twice: a creation that waits for section_end keeps one that is to end from it, too, and may
       itself be killed before it has the mutex. */
    for (unsigned look = 0; look < 2 && any_gone(); look++) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the burial precedes the look at the mutex */
        if (mutex_lock_shared_killable(&section_end) != 0)
            return;
        release_gone();
        mutex_unlock_shared(&section_end);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as end_unlock() */
    }
}

/* Release section_end, held exclusively, and do what others have left meanwhile. */
static void end_unlock(void)
{
    mutex_unlock(&section_end);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    section_reap();
}

void section_settle(void)
{
    mutex_lock(&section_end); /* waits for those who hold it shared */
    release_gone();
    end_unlock();
}

/* Remove the dead sections from the directory, then look up the name. Returns a section that had a
   share or was permanent at that moment, or NULL. GSD mutex held. */
static struct section *lookup_locked(const struct section_name *n)
{
    for (;;) {
        struct gsd *g;

        bury_locked();
        g = gsd_lookup_locked(n);
        if (!g)
            return NULL;
        if (__atomic_load_n(&g->section->life, __ATOMIC_ACQUIRE) != 0)
            return g->section;
    }
}

static bool kind_will_do(const struct section *s, const struct section_request *r)
{
    return !r->kinds || (s->kind->implied & r->kinds & SECTION_KIND_FLAGS);
}

/* Internal to this file, never returned to a caller: no living section has that name. */
#define NO_SECTION SS$_NONEXPR

/* Take a share of a section found by name, if identity, kind and protection allow it. NO_SECTION:
   its last share was dropped after the lookup; the caller repeats the lookup. GSD mutex held. */
static cond_t share_found(struct section *s, const struct section_request *r, bool write)
{
    if (!gsd_ident_matches(s->gsd->ident, r->ident_match, r->ident_version))
        return SS$_NOSUCHSEC;
    if (!kind_will_do(s, r))
        return SS$_GBLSEC_MISMATCH;
    if (!gsd_access_allowed(s->gsd, &r->creds, write))
        return SS$_NOPRIV;
    if (write && !(s->flags & SEC$M_WRT))
        return SS$_NOWRT;
    if (section_try_share(s))
        return SS$_NORMAL;
    return __atomic_load_n(&s->life, __ATOMIC_RELAXED) == 0 ? NO_SECTION : SS$_EXQUOTA;
}

cond_t section_find(const struct section_request *r, bool write, struct section **out)
{
    struct section *s;
    cond_t status = gsd_lock_service();

    if (status != SS$_NORMAL)
        return status;
    do {
        s = lookup_locked(&r->name);
        status = s ? share_found(s, r, write) : SS$_NOSUCHSEC;
    } while (status == NO_SECTION);
    gsd_unlock();
    if (status == SS$_NORMAL)
        *out = s;
    return status;
}

/* Bits of the level-3 PTEs: data, not executable, never paged out. */
static pte_t pte_bits_of(uint32_t flags)
{
    pte_t bits = PTE_V | PTE_KRE | PTE_URE | PTE_FOE | PTE_SW_WIRED | PTE_SW_SHARED;

    return flags & SEC$M_READ_ONLY_SHPT ? bits : bits | PTE_KWE | PTE_UWE;
}

/* Fluid pages that the section must promise itself: those that its reservation does not cover. */
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

/* Zero the frames of an ALLOC section. False: the caller is to end. */
static bool zero_frames(const struct section *s)
{
    for (uint64_t page = 0, run; page < s->npages; page += run) {
        pfn_t first = section_frame(s, page);

        run = section_run(s, page);
        for (uint64_t i = 0; i < run; i++) {
            if (thread_killed())
                return false;
            page_zero_if_needed(pfn_add(first, i));
        }
    }
    return true;
}

/* Set up frames, promise and page tables. SS$_NORMAL; SS$_INSFLPGS; SS$_INSFMEM; SS$_ABORT: the
   caller is to end, and sees no status any more. After an error
   only the reservation is left for the caller to return. */
static cond_t allocate(struct section *s)
{
    if (s->rad == RAD_ANY && s->rmd)
        s->rad = (uint8_t)s->rmd->rad; /* /RAD of the registry entry, or RAD_ANY */
    if (s->rmd && (s->rmd->flags & RMD_ALLOC)) {
        s->first = s->rmd->first;
        s->extents = s->rmd->nextents > 1 ? s->rmd->extents : NULL;
        s->flags |= SEC$M_MRES_ALLOC | SEC$M_GRANHINT;
        if (!(s->rmd->flags & RMD_ZEROED) && !zero_frames(s))
            return SS$_ABORT;
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

static void mres_release(struct section *s)
{
    if (s->related)
        shpt_delete(s);
    if (s->promised)
        fluid_promise_end(s->promised);
    if (s->rmd)
        mmg_return_res_mem(s->rmd);
}

static cond_t mres_allocate(struct section *s, const struct section_request *r)
{
    cond_t status = mmg_use_res_mem(s->gsd->name, r->name.sysgbl, r->name.group, r->npages,
                                    &s->rmd);

    if (status == SS$_NORESERVEDMEM)
        s->rmd = NULL;
    else if (status != SS$_NORMAL)
        return status;
    status = allocate(s);
    if (status != SS$_NORMAL && s->rmd)
        mmg_return_res_mem(s->rmd);
    return status;
}

static const struct section_kind mres_kind = {
    .implied = SEC$M_MRES | SEC$M_DZRO | SEC$M_WRT,
    .has_gptes = true,
    .map_ops = &section_map_ops,
    .allocate = mres_allocate,
    .release = mres_release,
};

/* Do GBLSECTIONS, GBLPAGES and GBLPAGFIL allow one more section of npages? GSD mutex held. */
static cond_t room_locked(const struct section_kind *kind, uint64_t npages)
{
    uses_locked();
    if (failure_inject(MEGA_ALLOC_SECTION) || !use_allows(&nsections, 1))
        return SS$_GSDFULL;
    if (!use_allows(&gptes, gptes_of(kind, npages)))
        return SS$_GPTFULL;
    if (!use_allows(&pagfil_pages, pagfil_pages_of(kind, npages)))
        return SS$_EXGBLPAGFIL;
    return SS$_NORMAL;
}

static void enlist_locked(struct section *s)
{
    list_add_tail(&sections, &s->link);
    treap_append(&places, &s->place);
    use_add(&nsections, 1);
    use_add(&gptes, gptes_of(s->kind, s->npages));
    use_add(&pagfil_pages, pagfil_pages_of(s->kind, s->npages));
}

struct section *section_new(const struct section_kind *kind, uint64_t npages, uint32_t flags,
                            cond_t *why)
{
    struct section *s = NULL;

    *why = SS$_EXQUOTA;
    if (!account_charge(account_self(), QUOTA_SECTIONS, 1))
        return NULL;
    *why = SS$_INSFMEM;
    s = npp_alloc_zeroed(sizeof(*s));
    if (!s) {
        account_release(account_self(), QUOTA_SECTIONS, 1);
        return NULL;
    }
    s->account = account_self();
    s->kind = kind;
    s->flags = SEC$M_GBL | kind->implied | flags;
    s->npages = npages;
    s->rad = RAD_ANY;
    s->pte_bits = pte_bits_of(s->flags);
    s->life = 1 | (s->flags & SEC$M_PERM ? SECTION_PERMANENT : 0);
    spin_init(&s->lock, "section", RANK_SECTION, IPL_ASTDEL);
    list_init(&s->maps);
    return s;
}

cond_t section_enter(struct section *s, const char *name)
{
    struct section_request r = {.name = {.name = name, .length = (uint32_t)strlen(name)}};
    cond_t status;

    gsd_lock();
    bury_locked();
    status = room_locked(s->kind, s->npages);
    if (status == SS$_NORMAL && !(s->gsd = gsd_alloc_locked(&r)))
        status = SS$_INSFMEM;
    if (status == SS$_NORMAL) {
        s->gsd->section = s;
        enlist_locked(s);
    }
    gsd_unlock();
    return status;
}

static cond_t create_locked(const struct section_request *r, struct section **out)
{
    const struct section_kind *kind = kind_of(r);
    cond_t status = room_locked(kind, r->npages);

    if (status != SS$_NORMAL)
        return status;
    struct section *s = section_new(kind, r->npages, r->flags, &status);

    if (!s)
        return status;
    s->gsd = gsd_alloc_locked(r);
    s->rad = r->rad;
    status = s->gsd ? kind->allocate(s, r) : SS$_INSFMEM;
    if (status != SS$_NORMAL) {
        if (s->gsd)
            gsd_free_locked(s->gsd);
        section_free(s);
        return status;
    }
    gsd_insert_locked(s->gsd, s);
    enlist_locked(s);
    *out = s;
    return s->tables_shared ? SS$_CREATED_SHPT : SS$_CREATED;
}

/* If a section has the name already: take a share of it (map_existing), or return the error.
   NO_SECTION if no section has the name. GSD mutex held. */
static cond_t use_existing_locked(const struct section_request *r, bool map_existing, bool write,
                                  struct section **out)
{
    cond_t status;

    do {
        struct section *s = lookup_locked(&r->name);

        if (!s)
            return NO_SECTION;
        if (s->kind != kind_of(r))
            return SS$_GBLSEC_MISMATCH;
        if (!map_existing)
            return SS$_DUPLNAM;
        *out = s;
        status = share_found(s, r, write);
    } while (status == NO_SECTION);
    return status;
}

/* As use_existing_locked(), but returns NO_SECTION only after everything is freed that sections
   without shares held. section_end held exclusively; returns with the GSD mutex held. */
static cond_t use_existing_or_all_back(const struct section_request *r, bool map_existing,
                                       bool write, struct section **out)
{
    for (;;) {
        cond_t status;

        if (any_gone())
            release_gone();
        gsd_lock();
        status = use_existing_locked(r, map_existing, write, out);
        if (status != NO_SECTION || !any_gone())
            return status;
        gsd_unlock(); /* a section has died meanwhile, and may hold what this one needs */
    }
}

cond_t section_create(const struct section_request *r, bool map_existing, bool write,
                      struct section **out)
{
    cond_t status = gsd_lock_service();

    if (status != SS$_NORMAL)
        return status;
    status = use_existing_locked(r, map_existing, write, out);
    gsd_unlock();
    if (status != NO_SECTION)
        return status;
    if (mutex_lock_killable(&section_end) != 0)
        return SS$_ABORT;
    status = use_existing_or_all_back(r, map_existing, write, out);
    if (status == NO_SECTION)
        status = create_locked(r, out);
    gsd_unlock();
    end_unlock();
    return status;
}

cond_t section_mark_delete(const struct section_request *r)
{
    cond_t status = gsd_lock_service();
    struct section *s;

    if (status != SS$_NORMAL)
        return status;
    s = lookup_locked(&r->name);
    if (!s || !gsd_ident_matches(s->gsd->ident, r->ident_match, r->ident_version)) {
        status = SS$_NOSUCHSEC;
    } else if (!r->creds.system && !r->creds.bypass &&
               (r->creds.uic_group != s->gsd->creator.uic_group ||
                r->creds.uic_member != s->gsd->creator.uic_member)) {
        status = SS$_NOTCREATOR;
    } else {
        gsd_unname_locked(s->gsd);
        if (s->flags & SEC$M_PERM) {
            s->flags &= ~SEC$M_PERM;
            if (__atomic_and_fetch(&s->life, ~SECTION_PERMANENT, __ATOMIC_ACQ_REL) == 0)
                bury(s);
        }
    }
    gsd_unlock();
    section_reap();
    return status;
}

void section_uncreate(struct section *s)
{
    gsd_lock();
    if (s->flags & SEC$M_PERM) { /* otherwise it was not permanent, or $DGBLSC has deleted it */
        gsd_unname_locked(s->gsd);
        s->flags &= ~SEC$M_PERM;
        __atomic_fetch_and(&s->life, ~SECTION_PERMANENT, __ATOMIC_RELEASE);
    }
    gsd_unlock();
}

bool section_make_valid(struct section *s, uint64_t page, pte_t *pte)
{
    pte_t old = 0;
    pfn_t pfn;

    if (page_alloc(PA_ZERO | PA_PROMISED, PAGE_T_GLOBAL, s->rad, &pfn) != 0)
        panic("no page for a section though it was promised");
    fluid_promise_used(1);
    page_of(pfn)->owner = (uint64_t)s;
    page_of(pfn)->offset = (uint32_t)page;
    page_of(pfn)->maker = (uint8_t)cpu_id(); /* tells a race from a preemption: section_map.c */
    /* Release: another CPU that finds the page sees its zeroes and its PFN entry. */
    if (!__atomic_compare_exchange_n(pte, &old, pte_make(pfn, s->pte_bits), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        fluid_promise_unused(1);
        page_free(pfn);
        return false;
    }
    shpt_touch(pte);
    __atomic_fetch_add(&s->valid_pages, 1, __ATOMIC_RELAXED);
    return true;
}

struct section *section_nth(uint64_t index)
{
    const struct treap_node *at;
    struct section *s = NULL;

    if (gsd_lock_service() != SS$_NORMAL)
        return NULL;
    bury_locked();
    for (at = treap_nth(&places, index); at; at = treap_next(at)) {
        s = container_of(at, struct section, place);
        if (section_try_share(s))
            break; /* else it has died since, or all its shares are in use */
    }
    gsd_unlock();
    return at ? s : NULL;
}

uint64_t section_valid_pages(const struct section *s)
{
    return s->kind->valid_pages ? s->kind->valid_pages(s)
                                : __atomic_load_n(&s->valid_pages, __ATOMIC_RELAXED);
}

void section_uses(struct section_use *sections_out, struct section_use *gptes_out,
                  struct section_use *pagfil_out)
{
    gsd_lock();
    bury_locked();
    uses_locked();
    *sections_out = nsections;
    *gptes_out = gptes;
    *pagfil_out = pagfil_pages;
    gsd_unlock();
}

void section_cost(struct section *s, struct section_cost *c)
{
    const struct section *shpt = s->related;
    ipl_t ipl = spin_lock(&s->lock);

    *c = (struct section_cost){.gptes = gptes_of(s->kind, s->npages),
                               .npp_bytes = sizeof(*s) + s->nmaps * sizeof(struct section_map),
                               .pgd_bytes = sizeof(struct gsd)};
    spin_unlock(&s->lock, ipl);
    if (shpt)
        c->npp_bytes += sizeof(*shpt) + shpt->nupper * sizeof(pfn_t);
    if (s->object) {
        uint64_t resident, pool_bytes;

        object_measure(s->object, &resident, &pool_bytes);
        c->npp_bytes += pool_bytes;
    }
}

void section_for_each(void (*fn)(struct section *s, void *arg), void *arg)
{
    struct section *s;

    gsd_lock();
    list_for_each_entry(s, &sections, link)
        fn(s, arg);
    gsd_unlock();
}

void section_recount(uint64_t counted[SECTION_USES], uint64_t found[SECTION_USES])
{
    const struct section *s;

    gsd_lock();
    counted[0] = nsections.use;
    counted[1] = gptes.use;
    counted[2] = pagfil_pages.use;
    found[0] = found[1] = found[2] = 0;
    list_for_each_entry(s, &sections, link) {
        found[0]++;
        found[1] += gptes_of(s->kind, s->npages);
        found[2] += pagfil_pages_of(s->kind, s->npages);
    }
    gsd_unlock();
}

uint64_t section_reserved_bytes(const struct section *s)
{
    return s->rmd ? s->rmd->npages * PAGE_SIZE : 0;
}
