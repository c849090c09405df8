/*
 * Pages of objects that go to page files and come back: of shared anonymous memory, page-file
 * sections, and files in memory.
 *
 * Alpha's hardware does not record accesses. So the pager takes a page away from all who map it, by
 * a reverse walk, and marks it in its slot (SLOT_AGED). Whoever maps the page, or asks for it to
 * read or write it, removes the mark, under the object's lock. A page that still has the mark when
 * the pager comes by the next time was not used in between. It is copied to the page file's buffer,
 * the buffer is written, and then, if nothing has changed, the slot says where the page is
 * (SLOT_FILED), and the page is free:
 *
 *     [ page ] --- visit ---> [ page, AGED ] --- visit: copy, write, look ---> [ FILED ]
 *         ^                          |    |                                      |
 *         '--------- use ------------'    '-- use: the slot of the file          |
 *         |                                   is cancelled                       |
 *         '------------------------------- use: read ----------------------------'
 *
 * A marked page is mapped by no PTE: the mark is set before the walk begins, who maps the page
 * during the walk removes it, and mm/object/rmap.c says why the walk misses no other. Where the
 * walk meets an entry that is locked in memory, it leaves its PTEs, and removes the marks. The
 * pager alone sets marks on pages that may be mapped, and it never does so while it writes, so a
 * page that has its mark before and after the write was not accessed meanwhile, provided that
 * nobody had a reference to it before: then it is not copied. The copy is made without the lock,
 * with a reference.
 *
 * A page is read by the thread that needs it first, without mutex and lock; the slots of this page,
 * and of those behind it that are read with it, say so (SLOT_GET). Others wait for it as for a
 * pager's answer. Who frees a page that is being read marks it (SLOT_TAKE), and the reader frees
 * it. Pages that were read but not asked for have the mark: if they are not used before the pager
 * comes by, they go again.
 *
 *     thread 1                     thread 2                    slot
 *     faults                                                   FILED, GET
 *     reads                        cuts the object off         FILED, GET, TAKE
 *     frees the page it has read                               empty
 *
 * Out of memory: a page for which there is none stays in its page file, and its fault or call fails
 * with -ENOMEM. One that cannot be read gives -EIO, and stays there too. To put pages out takes no
 * memory. An object that ends frees its slots; a killed thread that waits for the disk removes what
 * says that it reads.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "mm/object/object_private.h"

#define READ_AT_ONCE 8u /* pages, unless memory is short; as for private memory (page_in.c) */

bool (*object_wait_for_memory)(void);

uint64_t object_filed(struct mm_object *o) { return __atomic_load_n(&o->filed, __ATOMIC_RELAXED); }

/* A page has left its slot of a page file. Lock held. */
static void leave_file_locked(struct mm_object *o, slot_t s)
{
    pagefile_drop(slot_filed(s));
    o->filed--;
}

bool object_forget_filed_locked(struct mm_object *o, slot_t *s)
{
    if (*s & SLOT_GET) {
        *s |= SLOT_TAKE;
        return false;
    }
    leave_file_locked(o, *s);
    *s = 0;
    return true;
}

/* ---- coming back ---- */

/* Pages that are read at once: they follow each other in the object and in the page file. */
struct reading {
    uint64_t offset;
    pagefile_slot_t slot;
    unsigned n;
};

/* Mark the page at r->offset, whose slot is s, and those behind it, as being read. Lock held. */
static void begin_locked(struct mm_object *o, slot_t *s, struct reading *r)
{
    uint64_t in_leaf = INDEX_SLOTS - r->offset % INDEX_SLOTS;
    uint64_t most = pagefile_memory_is_short() ? 1 : MIN(in_leaf, (uint64_t)READ_AT_ONCE);

    r->slot = slot_filed(*s);
    for (r->n = 0; r->n < most && r->offset + r->n < o->npages; r->n++, s++) {
        if ((*s & (SLOT_FILED | SLOT_GET)) != SLOT_FILED || slot_filed(*s) != r->slot + r->n)
            break;
        *s = (*s & (SLOT_FILED | ~UINT64_C(0) << SLOT_PFN_SHIFT)) | SLOT_GET;
        o->pending++;
    }
    o->refs++; /* as object_hold() */
    o->held++;
}

/* A page was read, or (PFN_NONE) not, with err. wanted: the thread has asked for it. Lock held.
   Returns a page to be freed, or PFN_NONE. */
static pfn_t end_locked(struct mm_object *o, uint64_t offset, pfn_t pfn, bool wanted, int err)
{
    slot_t *s = index_find(o, offset), was = *s;

    KASSERT((was & (SLOT_FILED | SLOT_GET)) == (SLOT_FILED | SLOT_GET),
            "a page that is being read keeps its slot");
    o->pending--;
    if ((was & SLOT_TAKE) || offset >= o->npages) {
        leave_file_locked(o, was);
        *s = 0; /* the node goes with its leaf, or with the object */
        return pfn;
    }
    if (!pfn.n) {
        *s = (was & ~SLOT_GET) |
             (err == -EIO ? SLOT_ERROR | (slot_t)(-err) << SLOT_ERRNO_SHIFT : 0);
        return PFN_NONE;
    }
    pagefile_charge_page(slot_filed(was), &page_of(pfn)->charge);
    leave_file_locked(o, was);
    *s = slot_make(pfn, SLOT_W | (wanted ? 0 : SLOT_AGED));
    object_page_own(o, offset, pfn);
    o->resident++;
    return PFN_NONE;
}

static void end_reading(struct mm_object *o, const struct reading *r, unsigned from, unsigned to,
                        const pfn_t *pages, int err)
{
    for (unsigned k = from; k < to; k++) {
        ipl_t ipl = spin_lock(o->lock);
        pfn_t left = end_locked(o, r->offset + k, err ? PFN_NONE : pages[k], k == 0, err);

        spin_unlock(o->lock, ipl);
        if (left.n)
            page_free(left);
        pager_wake(o, r->offset + k);
    }
}

int object_bring_unlock(struct mm_object *o, uint64_t offset, ipl_t ipl, struct mutex *shared)
{
    slot_t *s = index_find(o, offset);
    struct reading r = {.offset = offset};
    pfn_t pages[READ_AT_ONCE];
    int err;

    if (*s & SLOT_GET)
        return pager_wait_unlock(o, offset, ipl, shared);
    begin_locked(o, s, &r);
    spin_unlock(o->lock, ipl);
    if (shared)
        mutex_unlock_shared(shared);
    err = pagefile_may_read(r.slot, r.n) ? pagefile_read(r.slot, r.n, pages) : -ENOMEM;
    if (err && r.n > 1) { /* the error, or the shortage, may be that of the others */
        end_reading(o, &r, 1, r.n, NULL, -ENOMEM);
        r.n = 1;
        err = pagefile_may_read(r.slot, 1) ? pagefile_read(r.slot, 1, pages) : -ENOMEM;
    }
    end_reading(o, &r, 0, r.n, pages, err);
    if (shared)
        mutex_lock_shared(shared);
    object_drop(o);
    return err ? err : -EAGAIN;
}

/* ---- going ---- */

/* Pages that are written: they go to slots in a row. */
struct victims {
    struct mm_object *o;
    const struct quota_count *only;
    pagefile_slot_t slot;
    unsigned room, n;  /* slots, pages */
    bool full;         /* there was no room for one more */
    uint64_t from, to; /* pages that were marked, and those between them */
    struct {
        uint64_t offset;
        pfn_t pfn;
    } page[PAGEFILE_CLUSTER];
};

/* Is the page one that may go, if nobody uses it? Lock held. */
static bool may_go(const struct victims *v, slot_t s)
{
    const struct page *page;

    if ((s & (SLOT_PRESENT | SLOT_BUSY | SLOT_TAKE)) != SLOT_PRESENT)
        return false;
    page = page_of(slot_pfn(s));
    return page->state == PAGE_ACTIVE && page->flags == 0 && pagefile_may_take(page->charge) &&
           (!v->only || quota_counter(page->charge) == v->only);
}

static bool has_one_reference(slot_t s)
{
    return __atomic_load_n(&page_of(slot_pfn(s))->refcnt, __ATOMIC_ACQUIRE) == 1;
}

/* Look at a page: mark it, or note that it goes. False: there is no more room. Lock held. */
static bool visit(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    struct victims *v = arg;

    (void)o;
    if (!may_go(v, *s) || !has_one_reference(*s))
        return true;
    if (!(*s & SLOT_AGED)) {
        *s |= SLOT_AGED;
        v->from = MIN(v->from, offset);
        v->to = offset + 1;
        return true;
    }
    if (v->n == v->room) {
        v->full = true;
        o->visit = offset;
        return false;
    }
    v->page[v->n].offset = offset;
    v->page[v->n].pfn = slot_pfn(*s);
    v->n++;
    return true;
}

/* Look at the pages of the next leaf. False: there is none any more. */
static bool look_around(struct victims *v)
{
    struct mm_object *o = v->o;
    ipl_t ipl = spin_lock(o->lock);
    struct index_node *leaf = NULL;
    uint64_t base = 0;

    if (o->resident)
        leaf = index_next_leaf(o, o->visit, o->npages, &base);
    if (leaf) {
        index_for_each(o, MAX(o->visit, base), MIN(base + INDEX_SLOTS, o->npages), visit, v);
        if (!v->full)
            o->visit = base + INDEX_SLOTS;
        for (unsigned k = 0; k < v->n; k++)
            page_ref(v->page[k].pfn);
    }
    spin_unlock(o->lock, ipl);
    return leaf != NULL;
}

static bool unmark(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    (void)o, (void)offset, (void)arg;
    if (*s & SLOT_PRESENT)
        *s &= ~SLOT_AGED;
    return true;
}

void object_unmark_locked(struct mm_object *o, uint64_t from, uint64_t to)
{
    index_for_each(o, from, to, unmark, NULL);
}

/* The page was written: it goes, if it has not been used since it was copied. Lock held. */
static bool let_go_locked(struct victims *v, unsigned k)
{
    struct mm_object *o = v->o;
    slot_t *s = v->page[k].offset < o->npages ? index_find(o, v->page[k].offset) : NULL;

    if (!s || !(*s & SLOT_AGED) || !may_go(v, *s) || !has_one_reference(*s) ||
        !pfn_eq(slot_pfn(*s), v->page[k].pfn))
        return false;
    pagefile_commit(v->slot + k, page_of(v->page[k].pfn)->charge);
    *s = (slot_t)(v->slot + k) << SLOT_PFN_SHIFT | SLOT_FILED;
    o->resident--;
    o->filed++;
    return true;
}

static unsigned let_all_go(struct victims *v)
{
    pfn_t gone[PAGEFILE_CLUSTER];
    unsigned freed = 0;
    ipl_t ipl = spin_lock(v->o->lock);

    for (unsigned k = 0; k < v->n; k++) {
        if (let_go_locked(v, k))
            gone[freed++] = v->page[k].pfn;
        else
            pagefile_cancel(v->slot + k);
    }
    spin_unlock(v->o->lock, ipl);
    page_free_bulk(gone, freed);
    return freed;
}

/* Write the pages. Returns how many were freed. */
static unsigned write_out(struct victims *v)
{
    for (unsigned k = 0; k < v->n; k++) {
        memcpy(pagefile_buffer(v->slot, k), kseg_page(v->page[k].pfn), PAGE_SIZE);
        page_unref(v->page[k].pfn);
    }
    for (unsigned k = v->n; k < v->room; k++)
        pagefile_cancel(v->slot + k);
    if (v->n == 0)
        return 0;
    if (pagefile_write(v->slot, v->n) == 0)
        return let_all_go(v);
    for (unsigned k = 0; k < v->n; k++)
        pagefile_retire(v->slot + k);
    return 0;
}

unsigned object_page_out(struct mm_object *o, const struct quota_count *only, bool *more)
{
    struct victims v; /* without an initialiser, which would clear all of it */

    /* Most objects have nothing in memory, and no slots need to be searched for them. */
    if (__atomic_load_n(&o->resident, __ATOMIC_RELAXED) == 0) {
        *more = false;
        o->visit = 0;
        return 0;
    }
    v.o = o;
    v.only = only;
    v.n = v.room = 0;
    v.full = false;
    v.from = UINT64_MAX;
    v.to = 0;
    v.room = pagefile_reserve(PAGEFILE_CLUSTER, &v.slot);
    *more = v.room && look_around(&v);
    if (!*more)
        o->visit = 0;
    if (v.from < v.to)
        (void)rmap_restrict(o, v.from, v.to, 0, RMAP_UNMARK);
    return write_out(&v);
}

/* ---- all objects, for the pager ---- */

static struct mm_object *next_of(unsigned k, uint32_t round)
{
    struct list *all, *first;
    struct spinlock *lock = object_list(k, &all);
    ipl_t ipl = spin_lock(lock);
    struct mm_object *o = NULL;

    first = all->next ? list_first(all) : NULL;
    if (first && container_of(first, struct mm_object, link)->round != round) {
        o = container_of(first, struct mm_object, link);
        o->round = round;
        list_remove(first);
        list_add_tail(all, first);
        o->refs++;
        o->held++;
    }
    spin_unlock(lock, ipl);
    return o;
}

/* Those that were visited are behind those that were not. */
struct mm_object *object_next_to_page(uint32_t round)
{
    struct mm_object *o = NULL;

    for (unsigned k = 0; k < OBJECT_LOCKS && !o; k++)
        o = next_of(k, round);
    return o;
}

struct search {
    unsigned file;
    uint64_t found;
};

static bool is_in(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    struct search *search = arg;

    (void)o;
    if (!(*s & SLOT_FILED) || pagefile_of(slot_filed(*s)) != search->file)
        return true;
    search->found = offset;
    return false;
}

int object_page_in(struct mm_object *o, unsigned file)
{
    struct search search = {.file = file};
    uint64_t at = 0, base = 0;
    int err = 0;

    while (!err || err == -EAGAIN) {
        ipl_t ipl = spin_lock(o->lock);
        struct index_node *leaf = o->filed ? index_next_leaf(o, at, o->npages, &base) : NULL;

        search.found = UINT64_MAX;
        if (leaf)
            index_for_each(o, MAX(at, base), MIN(base + INDEX_SLOTS, o->npages), is_in, &search);
        at = search.found == UINT64_MAX ? base + INDEX_SLOTS : search.found;
        if (search.found != UINT64_MAX) {
            err = object_bring_unlock(o, at, ipl, NULL);
            continue;
        }
        spin_unlock(o->lock, ipl);
        if (!leaf)
            return 0;
    }
    return err;
}

/* ---- for calls ---- */

int object_page_find(struct mm_object *o, uint64_t offset, pfn_t *out)
{
    int err;

    do {
        ipl_t ipl = spin_lock(o->lock);
        slot_t *s = offset < o->npages ? index_find(o, offset) : NULL;

        *out = PFN_NONE;
        if (s && (*s & SLOT_FILED)) {
            err = object_bring_unlock(o, offset, ipl, NULL);
            continue;
        }
        if (s && (*s & SLOT_PRESENT)) {
            *s &= ~SLOT_AGED;
            *out = slot_pfn(*s);
            page_ref(*out);
        }
        spin_unlock(o->lock, ipl);
        return 0;
    } while (err == -EAGAIN ||
             (err == -ENOMEM && object_wait_for_memory && object_wait_for_memory()));
    return err;
}
