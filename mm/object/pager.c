/*
 * Pagers: requests, their answers, and the changes that a pager may make to pages that are mapped.
 *
 * A request is a bit in the page's slot of the object's index (SLOT_GET, SLOT_UPGRADE, SLOT_PUT)
 * and a count of outstanding answers (mm_object.pending). Nothing else is kept, so an answer may
 * come at once, from inside the operation, or much later, from any CPU and in any order; it finds
 * the request by object and offset. A thread that faults on such a page waits on a queue chosen by
 * a hash of the two, holding neither mutex nor spinlock. When woken it starts from the beginning:
 * the page may have been supplied, supplied and taken back again (mm_downgrade), or refused. A
 * refusal stays in the slot (SLOT_ERROR) for the threads that waited for it; a thread that comes
 * later asks again.
 *
 * A fatal signal ends a wait (WAIT_KILLABLE): the fault or the call fails with -EINTR, and the
 * thread ends before it returns to user mode. The request stays as it is, because nothing in it
 * belongs to the waiting thread: its answer puts the page into the object, where the next fault
 * finds it, or finds the object dead, if that thread was its last user. (The kernel's own pagers
 * answer from inside the request, kernel/fs/memfs_file.c, so that no thread waits for them.)
 *
 * An answer to an object whose last reference has gone finds it marked dead and only counts down
 * pending; the last answer frees the object.
 *
 * Locks: the object's lock (mm/object/object.c) is held for every change of state. A fault maps a
 * page under the same hold of the lock under which it found the page present
 * (mm/space/object_fault.c). So a page that is taken back during a fault is either absent already
 * when the fault looks, or mapped and then found by the reverse walk.
 *
 * A reverse walk drops the lock between its steps. Until it is over it counts as one more request
 * for the page (SLOT_WALK): the object is not freed, whoever wants more access to the page than the
 * walk leaves waits, and a page that is to be removed stays, whatever answers come meanwhile, until
 * the last walk is over. Several walks for one page may be under way, and each visits every PTE
 * itself:
 *
 *     flush: PUT, walk 1 begins              take back: TAKE, walk 2 begins
 *     walk 1 is over; put is called
 *     put is answered: walk 2 is not over,
 *     the page stays
 *                                            walk 2 is over: no PTE is left, the page is freed
 *
 * Out of memory: only the slot of a new request is allocated, and without it the request fails with
 * -ENOMEM. An answer allocates nothing, so it cannot fail for want of memory.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/object/object_private.h"

#define QUEUES 64u /* few threads wait at a time; one woken for another page just looks again */

static struct wait_queue queues[QUEUES];

void pager_boot(void)
{
    for (unsigned i = 0; i < QUEUES; i++)
        wait_queue_init(&queues[i], "object page");
}

static struct wait_queue *queue_of(const struct mm_object *o, uint64_t offset)
{
    return &queues[(((uint64_t)o >> 6) ^ offset) % QUEUES];
}

/* A request has been answered, or a walk is over, and the slot has its new state: count down. The
   caller drops the lock by wake_unlock_answered(). Lock held. */
static void answered_locked(struct mm_object *o)
{
    KASSERT(o->pending != 0, "an answer has a request");
    o->pending--;
}

/* Drop the lock, the reference to a page that was removed (or PFN_NONE), and free the object if the
   last answer that a dead object waited for has come. */
static void unlock_answered(struct mm_object *o, ipl_t ipl, pfn_t removed)
{
    bool finish = o->dead && o->pending == 0;

    spin_unlock(o->lock, ipl);
    if (removed.n)
        page_unref(removed);
    if (finish)
        object_free_memory(o);
}

/* The same after an answer: wake the threads that wait for the page at offset. There can be as many
   as there are threads, so they are woken when the lock is free: who has found the request
   outstanding has joined the queue before that. */
static void wake_unlock_answered(struct mm_object *o, uint64_t offset, ipl_t ipl, pfn_t removed)
{
    struct wait_queue *q = queue_of(o, offset);

    unlock_answered(o, ipl, removed);
    wake_all(q);
}

void pager_wake(struct mm_object *o, uint64_t offset) { wake_all(queue_of(o, offset)); }

static slot_t error_slot(int err)
{
    return SLOT_ERROR | ((slot_t)(-err & 0xFFFF) << SLOT_ERRNO_SHIFT);
}
static slot_t without_error(slot_t s) { return s & ~(SLOT_ERROR | (0xFFFFul << SLOT_ERRNO_SHIFT)); }

/* Remove the page if it was to be, and nothing is outstanding that keeps it. Lock held. Returns the
   page, for wake_unlock_answered, or PFN_NONE. */
static pfn_t settle_locked(struct mm_object *o, uint64_t offset, slot_t *s)
{
    bool gone = (*s & SLOT_TAKE) || offset >= o->npages;

    return (*s & SLOT_PRESENT) && gone ? object_release_page_locked(o, s) : PFN_NONE;
}

/* ---- reverse walks of one page ---- */

/* Begin a walk for a page that is present and whose slot says already which access is left. Lock
   held. */
static void walk_begin_locked(struct mm_object *o, slot_t *s)
{
    KASSERT((*s & SLOT_WALKS) != SLOT_WALKS,
            "few walks for a page at a time: its pager makes them");
    *s += SLOT_WALK;
    o->pending++;
}

/* End it. Lock held. Returns a page that was removed, for wake_unlock_answered. */
static pfn_t walk_end_locked(struct mm_object *o, uint64_t offset, slot_t *s)
{
    pfn_t removed;

    *s -= SLOT_WALK;
    removed = settle_locked(o, offset, s);
    answered_locked(o);
    return removed;
}

/* Leave `access` (MAP_R or 0) of the page's PTEs. Lock held on entry and dropped on return. */
static void restrict_unlock(struct mm_object *o, uint64_t offset, slot_t *s, unsigned access,
                            ipl_t ipl)
{
    pfn_t removed;

    walk_begin_locked(o, s);
    spin_unlock(o->lock, ipl);
    rmap_restrict(o, offset, offset + 1, access, RMAP_CHANGE);
    ipl = spin_lock(o->lock);
    removed = walk_end_locked(o, offset, index_find(o, offset));
    wake_unlock_answered(o, offset, ipl, removed);
}

/* ---- requests ---- */

int pager_wait_unlock(struct mm_object *o, uint64_t offset, ipl_t ipl, struct mutex *shared)
{
    struct wait_queue *q = queue_of(o, offset);
    struct waiter w;
    slot_t *s;
    int err = -EAGAIN;
    bool killed;

    KASSERT(!o->dead, "who waits for a page holds its object");
    o->refs++; /* the object stays while the lock is not held */
    wait_enqueue(q, &w);
    spin_unlock(o->lock, ipl);
    if (shared)
        mutex_unlock_shared(shared);
    /* Only a fatal signal ends the wait. Other signals may not: the fault may come from a system
       call's access to user memory, which cannot be abandoned in the middle unless the process ends
       anyway. */
    killed = wait_block(&w, WAIT_KILLABLE, WAIT_FOREVER) == -EINTR;
    wait_finish(&w);
    if (shared)
        mutex_lock_shared(shared);
    ipl = spin_lock(o->lock);
    s = index_find(o, offset);
    if (killed)
        err = -EINTR;
    else if (s && (*s & SLOT_ERROR))
        err = slot_error(*s);
    object_unref_unlock(o, ipl);
    return err;
}

/* Find or create the slot of a page. *ipl: the IPL to return to; *again: the lock was dropped
   meanwhile, so the page's state may have changed. Lock held. NULL: out of memory, and the lock is
   dropped. */
static slot_t *slot_create(struct mm_object *o, uint64_t offset, struct index_nodes *spare,
                           ipl_t *ipl, bool *again)
{
    slot_t *s;

    *again = false;
    while (!(s = index_create(o, offset, spare))) {
        *again = true;
        spin_unlock(o->lock, *ipl);
        if (!index_nodes_fill(spare))
            return NULL;
        *ipl = spin_lock(o->lock);
    }
    return s;
}

/* Give a slot that was created up, if it is empty. Lock held on entry, dropped on return. */
static void slot_leave_unlock(struct mm_object *o, uint64_t offset, const slot_t *s,
                              struct index_nodes *spare, ipl_t ipl)
{
    if (*s == 0)
        index_trim(o, offset, spare);
    spin_unlock(o->lock, ipl);
    index_nodes_drop(spare);
}

/* The pager's operation for the request `asked` has returned err. 0, or the request's error. */
static int requested(struct mm_object *o, uint64_t offset, slot_t asked, int err)
{
    ipl_t ipl = spin_lock(o->lock);
    slot_t *s = index_find(o, offset);
    struct index_nodes removed = {0};

    if (err == 0) {
        if (s && (*s & SLOT_ERROR)) /* refused from inside the operation */
            err = slot_error(*s);
        if (s && (err == -ENOMEM || err == -ENOSPC) && !(*s & (SLOT_PRESENT | SLOT_BUSY))) {
            *s = 0; /* threads that waited for it meanwhile ask again */
            index_trim(o, offset, &removed);
        }
        unlock_answered(o, ipl, PFN_NONE);
        index_nodes_drop(&removed);
    } else if (s && (*s & asked)) { /* not accepted: no answer will come */
        *s &= ~asked;
        answered_locked(o);
        wake_unlock_answered(o, offset, ipl, PFN_NONE);
    } else {
        unlock_answered(o, ipl, PFN_NONE);
    }
    return err;
}

int pager_request_unlock(struct mm_object *o, uint64_t offset, unsigned access, ipl_t ipl)
{
    struct index_nodes spare = {0};
    bool again;
    slot_t *s = slot_create(o, offset, &spare, &ipl, &again);
    slot_t asked;

    if (!s)
        return -ENOMEM;
    if (unlikely(again) && (*s || offset >= o->npages)) { /* asked for meanwhile, or cut off */
        slot_leave_unlock(o, offset, s, &spare, ipl);
        return 0;
    }
    KASSERT(!(*s & SLOT_BUSY), "one request at a time for a page");
    if (*s & SLOT_PRESENT) {
        if (!o->ops->upgrade) {
            spin_unlock(o->lock, ipl);
            return -EACCES;
        }
        asked = SLOT_UPGRADE;
        *s = without_error(*s) | asked;
    } else {
        asked = SLOT_GET;
        *s = asked;
    }
    o->pending++;
    spin_unlock(o->lock, ipl);
    index_nodes_drop(&spare);
    return requested(o, offset, asked,
                     asked == SLOT_GET ? o->ops->get(o, offset, 1, access)
                                       : o->ops->upgrade(o, offset, 1, access));
}

/* Mark up to n pages from offset on, which follow each other and are absent, as asked for. Returns
   how many, or 0: the first one needs none. */
static uint64_t ask_ahead(struct mm_object *o, uint64_t offset, uint64_t n)
{
    struct index_nodes spare = {0};
    ipl_t ipl = spin_lock(o->lock);
    uint64_t k = 0;

    for (; k < n && offset + k < o->npages; k++) {
        bool again;
        slot_t *s = slot_create(o, offset + k, &spare, &ipl, &again);

        if (!s) /* the lock is dropped */
            return k;
        if (offset + k >= o->npages || (*s & (SLOT_PRESENT | SLOT_BUSY)) || (*s & SLOT_TAKE)) {
            slot_leave_unlock(o, offset + k, s, &spare, ipl);
            return k;
        }
        *s = SLOT_GET;
        o->pending++;
    }
    spin_unlock(o->lock, ipl);
    index_nodes_drop(&spare);
    return k;
}

void object_read_ahead(struct mm_object *o, uint64_t offset, uint64_t count)
{
    for (uint64_t k = 0, n; k < count; k += MAX(n, UINT64_C(1))) {
        int err = 0;

        n = ask_ahead(o, offset + k, count - k);
        if (n)
            err = o->ops->get(o, offset + k, n, 0);
        if (err)
            mm_deny(o, offset + k, n, err);
    }
}

/* Answer an upgrade with new contents: take the page that is there away, and put pfn in its place.
   Lock held on entry, dropped on return. 0, or -ENOENT: the page was taken or cut off meanwhile. */
static int replace_unlock(struct mm_object *o, uint64_t offset, slot_t *s, pfn_t pfn,
                          slot_t granted, ipl_t ipl)
{
    pfn_t old = PFN_NONE;

    *s |= SLOT_TAKE; /* all faults wait, for the upgrade */
    walk_begin_locked(o, s);
    spin_unlock(o->lock, ipl);
    rmap_restrict(o, offset, offset + 1, 0, RMAP_CHANGE);
    ipl = spin_lock(o->lock);
    s = index_find(o, offset);
    *s -= SLOT_WALK;
    o->pending--; /* the answer below wakes those who wait */
    if (!(*s & SLOT_UPGRADE) || offset >= o->npages) {
        bool answer = (*s & SLOT_UPGRADE) != 0;

        *s &= ~SLOT_UPGRADE;
        old = settle_locked(o, offset, s);
        if (answer)
            answered_locked(o);
        wake_unlock_answered(o, offset, ipl, old);
        page_free(pfn);
        return -ENOENT;
    }
    old = slot_pfn(*s);
    page_of(old)->state = PAGE_ACTIVE;
    *s = slot_make(pfn, (*s & (SLOT_PUT | SLOT_WALKS)) | granted);
    object_page_own(o, offset, pfn);
    answered_locked(o);
    wake_unlock_answered(o, offset, ipl, old);
    return 0;
}

/* The rest of mm_supply(). Lock held, dropped on return. */
static inline __attribute__((always_inline)) int
supply_unlock(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access, ipl_t ipl)
{
    slot_t *s = index_find(o, offset);
    slot_t granted = access & MAP_W ? SLOT_W : 0;
    int err = 0;

    if (!s || !(*s & (SLOT_GET | SLOT_UPGRADE))) {
        err = -ENOENT;
        spin_unlock(o->lock, ipl);
        if (pfn.n)
            page_free(pfn);
        return err;
    }
    if (*s & SLOT_UPGRADE) {
        if (pfn.n)
            return replace_unlock(o, offset, s, pfn, granted, ipl);
        *s = (without_error(*s) & ~SLOT_UPGRADE) | granted;
    } else if (o->dead || offset >= o->npages || pfn.n == 0) {
        /* The object has no user left or has been truncated, or this grants an upgrade whose page
           was taken back in the meantime: the waiting threads look again. */
        *s = 0;
        if (pfn.n) {
            page_free(pfn);
            err = -ENOENT;
        }
    } else {
        *s = slot_make(pfn, granted);
        object_page_own(o, offset, pfn);
        o->resident++;
    }
    answered_locked(o);
    wake_unlock_answered(o, offset, ipl, PFN_NONE);
    return err;
}

int mm_supply(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access)
{
    return supply_unlock(o, offset, pfn, access, spin_lock(o->lock));
}

int mm_supply_if(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access,
                 const uint64_t *state, uint64_t was)
{
    ipl_t ipl = spin_lock(o->lock);

    /* Relaxed: what was stored before a hold of the lock is seen in the next. */
    if (unlikely(__atomic_load_n(state, __ATOMIC_RELAXED) != was)) {
        spin_unlock(o->lock, ipl);
        return -EAGAIN;
    }
    return supply_unlock(o, offset, pfn, access, ipl);
}

bool mm_asks_alone(struct mm_object *o, uint64_t offset, uint64_t n)
{
    ipl_t ipl = spin_lock(o->lock);
    const slot_t *s = index_find(o, offset & ~(n - 1));
    bool alone = s != NULL;

    for (uint64_t k = 0; k < n && alone; k++)
        alone = s[k] == 0 || k == offset % n;
    spin_unlock(o->lock, ipl);
    return alone;
}

bool mm_offer(struct mm_object *o, uint64_t offset, pfn_t pfn, const uint64_t *state, uint64_t was)
{
    struct index_nodes none = {0}; /* the leaf is that of the page that was asked for */
    ipl_t ipl = spin_lock(o->lock);
    bool fits = !o->dead && offset < o->npages && __atomic_load_n(state, __ATOMIC_RELAXED) == was;
    const slot_t *there = fits ? index_find(o, offset) : NULL;
    bool taken = there && *there == 0;

    if (taken) {
        slot_t *s = index_create(o, offset, &none);

        *s = slot_make(pfn, SLOT_W);
        object_page_own(o, offset, pfn);
        o->resident++;
    }
    spin_unlock(o->lock, ipl);
    return taken;
}

void mm_answers_begin(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    o->pending++;
    spin_unlock(o->lock, ipl);
}

void mm_answers_end(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    o->pending--;
    unlock_answered(o, ipl, PFN_NONE);
}

void mm_deny(struct mm_object *o, uint64_t offset, uint64_t count, int err)
{
    mm_answers_begin(o);
    for (uint64_t i = offset; i < offset + count; i++) {
        ipl_t ipl = spin_lock(o->lock);
        slot_t *s = index_find(o, i);

        if (s && (*s & (SLOT_GET | SLOT_UPGRADE))) {
            *s = (without_error(*s) & ~(SLOT_GET | SLOT_UPGRADE)) | error_slot(err);
            answered_locked(o);
        }
        wake_unlock_answered(o, i, ipl, PFN_NONE);
    }
    mm_answers_end(o);
}

/* Mark the page as being written back: it stays present, read-only. Lock held. */
static void put_begin_locked(struct mm_object *o, slot_t *s)
{
    *s = (without_error(*s) & ~SLOT_DIRTY) | SLOT_PUT;
    page_of(slot_pfn(*s))->state = PAGE_TRANSITION; /* being written back */
    o->pending++;
}

/* Pass a page that is marked so to the pager. */
static void put(struct mm_object *o, uint64_t offset)
{
    int err = o->ops->put(o, offset, 1);

    if (err)
        mm_put_done(o, offset, 1, err);
}

/* Remove the page at a present slot, after writing it back if it is modified. Lock held on entry,
   dropped on return. False: a page locked in memory stays, with the access that it had. */
static bool take_back_unlock(struct mm_object *o, uint64_t offset, slot_t *s, ipl_t ipl)
{
    bool write = (*s & (SLOT_DIRTY | SLOT_PUT)) == SLOT_DIRTY && o->ops->put, taken;
    slot_t was = *s & SLOT_W;
    pfn_t removed;

    *s = (*s & ~SLOT_W) | SLOT_TAKE;
    if (write)
        put_begin_locked(o, s);
    walk_begin_locked(o, s);
    spin_unlock(o->lock, ipl);
    taken = rmap_restrict(o, offset, offset + 1, 0, RMAP_STOP);
    ipl = spin_lock(o->lock);
    s = index_find(o, offset);
    if (!taken) {
        *s = (*s & ~SLOT_TAKE) | was;
        if (write) {
            *s = (*s & ~SLOT_PUT) | SLOT_DIRTY;
            page_of(slot_pfn(*s))->state = PAGE_ACTIVE;
            o->pending--; /* the end of the walk wakes those who wait */
        }
    }
    removed = walk_end_locked(o, offset, s);
    wake_unlock_answered(o, offset, ipl, removed);
    if (taken && write)
        put(o, offset);
    return taken;
}

int mm_downgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    int err = 0;

    for (uint64_t i = offset; i < offset + count; i++) {
        ipl_t ipl = spin_lock(o->lock);
        slot_t *s = index_find(o, i);

        if (!s || !(*s & SLOT_PRESENT)) {
            if (s && (*s & SLOT_FILED) && !(access & MAP_R))
                (void)object_forget_filed_locked(o, s);
            spin_unlock(o->lock, ipl);
        } else if (access & MAP_R) {
            *s &= ~SLOT_W;
            restrict_unlock(o, i, s, MAP_R, ipl);
        } else if (!take_back_unlock(o, i, s, ipl)) {
            err = -EBUSY;
        }
    }
    return err;
}

int mm_flush(struct mm_object *o, uint64_t offset, uint64_t count)
{
    if (!o->ops || !o->ops->put)
        return -EINVAL;
    for (uint64_t i = offset; i < offset + count; i++) {
        ipl_t ipl = spin_lock(o->lock);
        slot_t *s = index_find(o, i);

        if (!s || (*s & (SLOT_PRESENT | SLOT_DIRTY | SLOT_BUSY)) != (SLOT_PRESENT | SLOT_DIRTY)) {
            spin_unlock(o->lock, ipl);
            continue;
        }
        put_begin_locked(o, s);
        restrict_unlock(o, i, s, MAP_R, ipl); /* the next write marks it dirty again */
        put(o, i);
    }
    return 0;
}

void mm_put_done(struct mm_object *o, uint64_t offset, uint64_t count, int err)
{
    mm_answers_begin(o);
    for (uint64_t i = offset; i < offset + count; i++) {
        ipl_t ipl = spin_lock(o->lock);
        slot_t *s = index_find(o, i);
        pfn_t removed = PFN_NONE;

        if (s && (*s & SLOT_PUT)) {
            page_of(slot_pfn(*s))->state = PAGE_ACTIVE;
            *s &= ~SLOT_PUT;
            if (err) /* kept: it is the only copy */
                *s = (*s & ~SLOT_TAKE) | SLOT_DIRTY;
            removed = settle_locked(o, i, s);
            answered_locked(o);
        }
        wake_unlock_answered(o, i, ipl, removed);
    }
    mm_answers_end(o);
}

pfn_t object_page_try_get(struct mm_object *o, uint64_t offset)
{
    ipl_t ipl = spin_lock(o->lock);
    slot_t *s = index_find(o, offset);
    pfn_t pfn = PFN_NONE;

    if (s && (*s & SLOT_PRESENT) && offset < o->npages) {
        *s &= ~SLOT_AGED;
        pfn = slot_pfn(*s);
        page_ref(pfn);
    }
    spin_unlock(o->lock, ipl);
    return pfn;
}

bool object_page_is_there(struct mm_object *o, uint64_t offset)
{
    ipl_t ipl = spin_lock(o->lock);
    const slot_t *s = index_find(o, offset);
    bool there = s && (*s & SLOT_PRESENT) && offset < o->npages;

    spin_unlock(o->lock, ipl);
    return there;
}

/* Add a zero page to an anonymous object. Lock held on entry, dropped on return. 0 with a reference
   in *out, -EAGAIN: look again, or -ENOMEM. */
static int zero_page_unlock(struct mm_object *o, uint64_t offset, ipl_t ipl, pfn_t *out)
{
    struct index_nodes spare = {0};
    bool again;
    slot_t *s;

    spin_unlock(o->lock, ipl);
    if (page_alloc(PA_ZERO, PAGE_T_OBJECT, RAD_ANY, out) != 0)
        return -ENOMEM;
    ipl = spin_lock(o->lock);
    s = slot_create(o, offset, &spare, &ipl, &again);
    if (s && *s == 0 && offset < o->npages) {
        *s = slot_make(*out, SLOT_W);
        object_page_own(o, offset, *out);
        o->resident++;
        page_ref(*out);
        spin_unlock(o->lock, ipl);
        index_nodes_drop(&spare);
        return 0;
    }
    if (s)
        slot_leave_unlock(o, offset, s, &spare, ipl);
    page_free(*out);
    return s ? -EAGAIN : -ENOMEM;
}

/* Do its pages go to page files? */
static bool is_pageable(const struct mm_object *o) { return !o->ops || o->ops->in_memory; }

int object_page_get(struct mm_object *o, uint64_t offset, unsigned access, pfn_t *out)
{
    for (;;) {
        ipl_t ipl = spin_lock(o->lock);
        slot_t *s = index_find(o, offset);
        slot_t v = s ? *s : 0;
        int err;

        if (offset >= o->npages) {
            spin_unlock(o->lock, ipl);
            return -EFAULT;
        }
        if ((v & SLOT_PRESENT) && !(v & SLOT_TAKE) &&
            (!(access & MAP_W) || ((v & SLOT_W) && !(v & SLOT_PUT)))) {
            if ((access & MAP_W) && o->ops && o->ops->put)
                *s |= SLOT_DIRTY;
            *s &= ~SLOT_AGED;
            *out = slot_pfn(v);
            page_ref(*out);
            spin_unlock(o->lock, ipl);
            return 0;
        }
        if (unlikely(v & SLOT_FILED)) {
            err = object_bring_unlock(o, offset, ipl, NULL);
        } else if (!o->ops) {
            err = zero_page_unlock(o, offset, ipl, out);
            if (err == 0)
                return 0;
        } else if (v & SLOT_BUSY)
            err = pager_wait_unlock(o, offset, ipl, NULL);
        else
            err = pager_request_unlock(o, offset, access | MAP_R, ipl);
        if (unlikely(err == -ENOMEM || (err == -ENOSPC && is_pageable(o))) &&
            object_wait_for_memory && object_wait_for_memory())
            err = 0;
        if (err && err != -EAGAIN)
            return err;
    }
}
