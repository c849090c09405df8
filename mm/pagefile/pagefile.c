/*
 * The slots of page files.
 *
 * A slot is free (count 0), or counts its owners, which are PTEs or one object, and those who hold
 * it: the pager until the page is written, and readers. An object reads its slot without a hold, as
 * nobody drops it meanwhile. Only the pager takes free slots, and whoever drops the last
 * count makes a slot free:
 *
 *     0 --- pagefile_reserve ---> 1, held --- pagefile_commit ---> 1 --- share, hold ---> n
 *     ^                           |                                |                      |
 *     '------- cancel ------------'          '------------ drop, release -----------------'
 *
 * The drop has release order and the pager's look has acquire order, so what was read from a slot
 * was read before it is written again. A reader holds the slot, so it is not written meanwhile, nor
 * given to another page: whoever finds afterwards that the PTE still has the slot has read the
 * PTE's page, whatever happened in between.
 *
 * A file ends when it is being closed and none of its slots is used. Whoever takes a slot and who
 * closes the file first store, then look at what the other has stored (in one order for all, so
 * that one of them sees it): the pager, and a reader who may have an old PTE, count a slot as used
 * and then look at the file's state; the closer stores that it is ending and then looks for used
 * slots.
 * Other functions have a slot by a PTE that stays, or hold it, so the file is there.
 */
#include "mm/pagefile/pagefile.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"

#define INDEX_BITS     28u
#define SLOTS_PER_PAGE (PAGE_SIZE / sizeof(struct slot))

struct slot {
    uint32_t count;    /* owners (PTEs, or an object) and holds; 0: free, unless it is unusable;
                          atomic */
    uint32_t found;    /* owners that the self-check has found */
    uint16_t held;     /* holds; atomic */
    uint16_t charge;   /* number of the counter of its page, or PAGEFILE_UNCHARGED: none yet; atomic
                        */
    uint32_t unusable; /* atomic */
};

enum state { UNUSED, STARTING, OPEN, CLOSING, ENDING };

static struct pagefile {
    uint32_t state; /* enum state; atomic */
    uint32_t nslots;
    const struct pagefile_io *io; /* this and what follows: constant while the file is in use */
    void *device;
    struct slot **pages; /* of the table of slots */
    char name[PAGEFILE_NAME];
    uint32_t next;                  /* where the search for free slots begins; pager's thread */
    uint64_t used, bad;             /* slots; atomic */
    uint64_t reads, writes, errors; /* atomic */
} files[PAGEFILES_MAX];

static uint32_t state_of(const struct pagefile *f)
{
    return __atomic_load_n(&f->state, __ATOMIC_SEQ_CST);
}

static bool in_use(const struct pagefile *f) { return state_of(f) >= OPEN; }

static inline struct slot *slot_at(const struct pagefile *f, uint32_t k)
{
    return &f->pages[k / SLOTS_PER_PAGE][k % SLOTS_PER_PAGE];
}

static uint32_t index_of(pagefile_slot_t slot) { return slot & ((1u << INDEX_BITS) - 1); }

static struct pagefile *file_of(pagefile_slot_t slot)
{
    struct pagefile *f = &files[pagefile_of(slot) % PAGEFILES_MAX];

    if (unlikely(pagefile_of(slot) >= PAGEFILES_MAX || !in_use(f) || index_of(slot) >= f->nslots))
        panic("a PTE has slot %x, which no page file has", slot);
    return f;
}

static struct slot *slot_of(pagefile_slot_t slot) { return slot_at(file_of(slot), index_of(slot)); }

static void add(uint64_t *counter, uint64_t n) { __atomic_fetch_add(counter, n, __ATOMIC_RELAXED); }

/* ---- whole files ---- */

static uint64_t pages_for(uint64_t nslots)
{
    return (nslots + SLOTS_PER_PAGE - 1) / SLOTS_PER_PAGE;
}

static void table_free(struct pagefile *f)
{
    uint64_t n = pages_for(f->nslots);

    for (uint64_t k = 0; k < n && f->pages[k]; k++)
        page_free(paddr_to_pfn(kseg_paddr(f->pages[k])));
    npp_free(f->pages, n * sizeof(*f->pages));
}

static bool table_make(struct pagefile *f)
{
    uint64_t n = pages_for(f->nslots);

    f->pages = npp_alloc_zeroed(n * sizeof(*f->pages));
    if (!f->pages)
        return false;
    for (uint64_t k = 0; k < n; k++) {
        pfn_t pfn;

        if (page_alloc(PA_ZERO, PAGE_T_SYSTEM, RAD_ANY, &pfn) != 0) {
            table_free(f);
            return false;
        }
        f->pages[k] = kseg_page(pfn);
    }
    return true;
}

int pagefile_begin(const struct pagefile_io *io, void *device, const char *name, uint64_t nslots,
                   const uint32_t *bad, unsigned nbad)
{
    struct pagefile *f = files;
    uint32_t unused = UNUSED;

    if (nslots == 0 || nslots > PAGEFILE_SLOTS)
        return -EINVAL;
    while (!__atomic_compare_exchange_n(&f->state, &unused, STARTING, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        unused = UNUSED;
        if (++f == files + PAGEFILES_MAX)
            return -ENOSPC;
    }
    f->nslots = (uint32_t)nslots;
    f->io = io;
    f->device = device;
    f->next = 0;
    f->bad = f->reads = f->writes = f->errors = 0; /* `used` is 0, or the pager looks at it */
    str_copy(f->name, name, sizeof(f->name));
    if (!table_make(f)) {
        __atomic_store_n(&f->state, UNUSED, __ATOMIC_RELEASE);
        return -ENOMEM;
    }
    for (unsigned k = 0; k < nbad; k++) {
        if (bad[k] >= nslots || slot_at(f, bad[k])->unusable)
            continue;
        slot_at(f, bad[k])->unusable = 1;
        f->bad++;
    }
    __atomic_store_n(&f->state, OPEN, __ATOMIC_SEQ_CST);
    return 0;
}

int pagefile_find(const void *device)
{
    for (unsigned k = 0; k < PAGEFILES_MAX; k++)
        if (in_use(&files[k]) && files[k].device == device)
            return (int)k;
    return -1;
}

bool pagefile_close(unsigned file, bool closing)
{
    uint32_t from = closing ? OPEN : CLOSING;

    return file < PAGEFILES_MAX &&
           __atomic_compare_exchange_n(&files[file].state, &from, closing ? CLOSING : OPEN, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool pagefile_end(unsigned file)
{
    struct pagefile *f = &files[file];

    KASSERT(state_of(f) == CLOSING, "a page file is closed before it ends");
    __atomic_store_n(&f->state, ENDING, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&f->used, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&f->state, CLOSING, __ATOMIC_SEQ_CST);
        return false;
    }
    __atomic_store_n(&f->state, STARTING, __ATOMIC_SEQ_CST);
    table_free(f);
    __atomic_store_n(&f->state, UNUSED, __ATOMIC_RELEASE);
    return true;
}

bool pagefile_stats(unsigned file, struct pagefile_stats *s)
{
    const struct pagefile *f = &files[file % PAGEFILES_MAX];

    if (file >= PAGEFILES_MAX || !in_use(f))
        return false;
    *s = (struct pagefile_stats){.slots = f->nslots,
                                 .used = __atomic_load_n(&f->used, __ATOMIC_RELAXED),
                                 .bad = __atomic_load_n(&f->bad, __ATOMIC_RELAXED),
                                 .reads = __atomic_load_n(&f->reads, __ATOMIC_RELAXED),
                                 .writes = __atomic_load_n(&f->writes, __ATOMIC_RELAXED),
                                 .errors = __atomic_load_n(&f->errors, __ATOMIC_RELAXED),
                                 .closing = state_of(f) == CLOSING};
    memcpy(s->name, f->name, sizeof(s->name));
    return true;
}

void pagefile_totals(uint64_t *slots, uint64_t *free)
{
    struct pagefile_stats s;

    *slots = *free = 0;
    for (unsigned k = 0; k < PAGEFILES_MAX; k++) {
        if (!pagefile_stats(k, &s))
            continue;
        *slots += s.slots - s.bad;
        if (!s.closing && s.used + s.bad < s.slots)
            *free += s.slots - s.bad - s.used;
    }
}

bool pagefile_any(void)
{
    for (unsigned k = 0; k < PAGEFILES_MAX; k++)
        if (in_use(&files[k]))
            return true;
    return false;
}

static bool memory_is_short; /* atomic; a hint */

bool pagefile_memory_is_short(void) { return __atomic_load_n(&memory_is_short, __ATOMIC_RELAXED); }

void pagefile_set_short(bool is_short)
{
    __atomic_store_n(&memory_is_short, is_short, __ATOMIC_RELAXED);
}

/* ---- taking slots: the pager's thread ---- */

static bool is_free(const struct pagefile *f, uint32_t k)
{
    const struct slot *s = slot_at(f, k);

    return __atomic_load_n(&s->count, __ATOMIC_ACQUIRE) == 0 &&
           !__atomic_load_n(&s->unusable, __ATOMIC_RELAXED);
}

/* The first free slot from f->next on, or around. False: none is free. */
static bool find_free(struct pagefile *f, uint32_t *found)
{
    uint64_t used = __atomic_load_n(&f->used, __ATOMIC_RELAXED);

    if (used + __atomic_load_n(&f->bad, __ATOMIC_RELAXED) > f->nslots)
        return false; /* those that the caller has counted would be too many */
    for (uint32_t n = 0, k = f->next; n < f->nslots; n++, k++) {
        if (k >= f->nslots)
            k = 0;
        if (is_free(f, k)) {
            *found = k;
            return true;
        }
    }
    return false;
}

/* Take up to n free slots in a row. Those are counted as used already. */
static unsigned take(struct pagefile *f, unsigned n, uint32_t *first)
{
    unsigned taken = 0;

    if (!find_free(f, first))
        return 0;
    while (taken < n && *first + taken < f->nslots && is_free(f, *first + taken)) {
        struct slot *s = slot_at(f, *first + taken);

        s->charge = PAGEFILE_UNCHARGED;
        __atomic_store_n(&s->held, 1, __ATOMIC_RELAXED);
        /* Release: who sees the count, with a PTE of before, adds to this `held`. */
        __atomic_store_n(&s->count, 1, __ATOMIC_RELEASE);
        taken++;
    }
    f->next = *first + taken;
    return taken;
}

unsigned pagefile_reserve(unsigned n, pagefile_slot_t *first)
{
    for (unsigned k = 0; k < PAGEFILES_MAX; k++) {
        struct pagefile *f = &files[k];
        unsigned taken = 0;
        uint32_t index;

        __atomic_fetch_add(&f->used, 1, __ATOMIC_SEQ_CST); /* the file stays, if it is open */
        if (state_of(f) == OPEN)
            taken = take(f, n, &index);
        if (taken) {
            add(&f->used, taken - 1);
            *first = k << INDEX_BITS | index;
            return taken;
        }
        __atomic_fetch_sub(&f->used, 1, __ATOMIC_RELEASE);
    }
    return 0;
}

/* What the slots of the counter's user are charged to. */
static struct quota_count *slots_of(uint16_t charge)
{
    return &quota_account(charge)->count[QUOTA_PAGE_FILE];
}

bool pagefile_may_take(uint16_t charge) { return quota_room(slots_of(charge)) != 0; }

/* Only the pager adds to what users have in page files. It asks (pagefile_may_take) right before it
 * commits, page by page, so the limit is kept unless it is lowered in between. */
void pagefile_commit(pagefile_slot_t slot, uint16_t charge)
{
    struct slot *s = slot_of(slot);

    __atomic_fetch_add(&slots_of(charge)->used, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->charge, charge, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&s->held, 1, __ATOMIC_RELAXED);
}

void pagefile_cancel(pagefile_slot_t slot) { pagefile_release(slot); }

void pagefile_retire(pagefile_slot_t slot)
{
    __atomic_store_n(&slot_of(slot)->unusable, 1, __ATOMIC_RELAXED);
    add(&file_of(slot)->bad, 1);
    pagefile_release(slot); /* a reader with an old PTE may still hold it */
}

void *pagefile_buffer(pagefile_slot_t first, unsigned k)
{
    const struct pagefile *f = file_of(first);

    return f->io->buffer(f->device, k);
}

int pagefile_write(pagefile_slot_t first, unsigned n)
{
    struct pagefile *f = file_of(first);
    int err = f->io->write(f->device, index_of(first), n);

    add(err ? &f->errors : &f->writes, err ? 1 : n);
    return err;
}

/* ---- slots in use ---- */

void pagefile_share(pagefile_slot_t slot)
{
    uint32_t before = __atomic_fetch_add(&slot_of(slot)->count, 1, __ATOMIC_RELAXED);

    KASSERT(before != 0 && before != UINT32_MAX, "a PTE that is copied has a slot in use");
}

void pagefile_drop(pagefile_slot_t slot)
{
    struct pagefile *f = file_of(slot);
    struct slot *s = slot_of(slot);
    uint32_t before = __atomic_load_n(&s->count, __ATOMIC_ACQUIRE);
    uint16_t charge;

    KASSERT(before != 0, "a slot that is dropped is in use");
    /* The charge is read while the slot is ours: when it is free, the pager may take it at once. */
    do
        charge = __atomic_load_n(&s->charge, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&s->count, &before, before - 1, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
    if (before > 1)
        return;
    if (charge != PAGEFILE_UNCHARGED)
        quota_count_give(slots_of(charge), 1);
    __atomic_fetch_sub(&f->used, 1, __ATOMIC_RELEASE); /* the last access to the file */
}

/* The PTE from which the caller has the slot may have been changed since, and the file may have
 * ended: as in pagefile_reserve(), counting first and then looking at the state keeps it. */
bool pagefile_hold(pagefile_slot_t slot)
{
    struct pagefile *f = &files[pagefile_of(slot) % PAGEFILES_MAX];
    uint32_t state, count = 0;

    __atomic_fetch_add(&f->used, 1, __ATOMIC_SEQ_CST);
    state = state_of(f);
    if ((state == OPEN || state == CLOSING) && index_of(slot) < f->nslots) {
        struct slot *s = slot_at(f, index_of(slot));

        count = __atomic_load_n(&s->count, __ATOMIC_RELAXED);
        while (count != 0 && count != UINT32_MAX &&
               !__atomic_compare_exchange_n(&s->count, &count, count + 1, true, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
            ;
        if (count == UINT32_MAX)
            count = 0;
        if (count)
            __atomic_fetch_add(&s->held, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_sub(&f->used, 1, __ATOMIC_RELEASE); /* a slot that is held counts by itself */
    return count != 0;
}

void pagefile_expect(pagefile_slot_t slot) { (void)slot_of(slot); }

void pagefile_release(pagefile_slot_t slot)
{
    __atomic_fetch_sub(&slot_of(slot)->held, 1, __ATOMIC_RELAXED);
    pagefile_drop(slot);
}

int pagefile_read(pagefile_slot_t first, unsigned n, pfn_t *pages)
{
    struct pagefile *f = file_of(first);
    int err = f->io->read(f->device, index_of(first), n, pages);

    if (!err)
        add(&f->reads, n);
    else if (err == -EIO)
        add(&f->errors, 1);
    return err;
}

/* What a page that the current thread reads from the slot is charged to. An old PTE may lead to a
   slot that the pager has not committed yet: its page is not used. */
static struct quota_count *counter_for(pagefile_slot_t slot)
{
    uint16_t charge = __atomic_load_n(&slot_of(slot)->charge, __ATOMIC_RELAXED);
    struct account *self = account_self();
    const struct account *was;

    if (charge == PAGEFILE_UNCHARGED)
        return &account_system->count[QUOTA_PAGES];
    was = quota_account(charge);
    if (self->exempt || was->exempt)
        return quota_counter(charge);
    return &self->count[quota_counter(charge) - was->count];
}

void pagefile_charge_page(pagefile_slot_t slot, uint16_t *charge)
{
    struct quota_count *to = counter_for(slot);

    __atomic_fetch_add(&to->used, 1, __ATOMIC_RELAXED);
    quota_count_give(quota_counter(*charge), 1);
    *charge = (uint16_t)quota_number(to);
}

bool pagefile_may_read(pagefile_slot_t slot, unsigned n)
{
    const struct quota_count *c;

    if (account_self()->exempt)
        return true;
    c = counter_for(slot);
    if (quota_room(c) >= n)
        return true;
    quota_note_refused(c, n);
    return false;
}

/* ---- the self-check, and the census of pool ---- */

void pagefile_check_begin(void (*fn)(void *arg, pfn_t pfn), void *arg)
{
    for (unsigned i = 0; i < PAGEFILES_MAX; i++) {
        const struct pagefile *f = &files[i];

        if (!in_use(f))
            continue;
        for (uint64_t k = 0; k < pages_for(f->nslots); k++)
            fn(arg, paddr_to_pfn(kseg_paddr(f->pages[k])));
        for (uint32_t k = 0; k < f->nslots; k++)
            slot_at(f, k)->found = 0;
    }
}

bool pagefile_check_slot(pagefile_slot_t slot)
{
    const struct pagefile *f = &files[pagefile_of(slot) % PAGEFILES_MAX];
    struct slot *s;

    if (pagefile_of(slot) >= PAGEFILES_MAX || !in_use(f) || index_of(slot) >= f->nslots)
        return false;
    s = slot_at(f, index_of(slot));
    return ++s->found <= s->count;
}

void pagefile_check_end(const struct pagefile_check *c, void *arg)
{
    for (unsigned i = 0; i < PAGEFILES_MAX; i++) {
        const struct pagefile *f = &files[i];
        uint64_t used = 0;

        if (!in_use(f))
            continue;
        for (uint32_t k = 0; k < f->nslots; k++) {
            const struct slot *s = slot_at(f, k);

            if (s->count == 0)
                continue;
            used++;
            c->slot(arg, i << INDEX_BITS | k, s->found, s->count - s->held, s->charge);
        }
        c->file(arg, f->name, used, f->used);
    }
}

uint64_t pagefile_block(unsigned file)
{
    const struct pagefile *f = &files[file];

    return in_use(f) ? pages_for(f->nslots) * sizeof(*f->pages) : 0;
}
