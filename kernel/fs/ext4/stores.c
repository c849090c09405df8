/*
 * Pages of files that are written later: stores through shared mappings, and write() to what a file
 * has blocks for already (writing.c).
 *
 * A page of a file is mapped without write access. The first store asks for it (`upgrade`), and
 * becomes a job of the mount's thread: the page gets blocks where the file has holes, with what it
 * has at that moment, so a full disk is told there, as SIGBUS, and a write-back changes no
 * metadata but times. From then on the page counts as modified (SLOT_DIRTY).
 *
 * A write-back takes the access away on all CPUs, writes what the page has then, and lets stores
 * that came meanwhile go on when the device has it: these fault, and the page is modified again.
 *
 *     store: asks ---> blocks ---> page modified ---> write-back: access taken away, written ---.
 *       ^                                                                                       |
 *       '---------------------------------- next store <----------------------------------------'
 *
 * It is done by fsync and msync, and for all files by sweep.c. A file is on the list `dirty` from
 * its first store on, and leaves it before its pages are looked at: a store behind that puts it
 * there again. The index of inodes keeps those that are on the list (inodes.c), so what was stored
 * is not lost with the last user of a file that has a name. One without a name leaves the list when
 * it ends; it may be mapped still, but nobody else will read it.
 *
 * What the device does not take is told by the next fsync of each open file and the next msync
 * (inode_failure), and counts as written then: memory has it until it is needed for something else.
 * For want of memory nothing is lost, and it is tried again.
 *
 * write() does the same with the file locked, and needs nobody's answer: ext4_store_later().
 *
 * Locks: sweep; the file, shared: so it keeps its blocks and its length; back_lock, for one who
 * writes back; the mount's mutex, to find blocks. Grants take only the mutex, as they are waited
 * for with files locked. They compare with the length in the node, which changes with the mutex
 * held, before the pages of the object do.
 */
#include "kernel/base/errno.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"
#include "mm/space/aspace.h"

#define HOLD_PAGES (4 * EXT4_PAGES) /* that are written while the file is locked */
#define GRANTS     32u              /* before what else waits for the mount's thread */
#define PUT_TRIES  3u               /* of a page that a fault asks for at the same moment */

struct ext4_grant {
    struct list link;    /* in mount.grants; mount.lock */
    struct mm_object *o; /* constant, as is what follows */
    uint64_t index;
    uint16_t account;
};

/* ---- grants ---- */

static void note_locked(struct ext4_inode *i, uint64_t index)
{
    if (i->nnoted < EXT4_NOTED)
        i->noted[i->nnoted] = (uint32_t)index;
    i->nnoted = MIN(i->nnoted + 1, EXT4_NOTED + 1);
}

/* A page is about to be written to. Many are written back at once. Few are found again without a
 * search of all that is in memory. */
static void note(struct ext4_inode *i, uint64_t index)
{
    struct ext4 *m = i->mount;
    ipl_t ipl = spin_lock(&m->lock);

    if (++m->stored_to == m->stores_most)
        wake_all(&m->back);
    note_locked(i, index);
    spin_unlock(&m->lock, ipl);
}

bool ext4_many_stored(struct ext4 *m)
{
    uint64_t n = __atomic_load_n(&m->stored_to, __ATOMIC_RELAXED) +
                 __atomic_load_n(&m->writing, __ATOMIC_RELAXED);

    return n >= 2 * m->stores_most;
}

void ext4_mark(struct ext4_inode *i)
{
    struct ext4 *m = i->mount;
    ipl_t ipl;

    __atomic_store_n(&i->stored, true, __ATOMIC_RELEASE);
    ipl = spin_lock(&m->lock);
    if (list_empty(&i->dirty_link) && !i->ended) {
        list_add_tail(&m->dirty, &i->dirty_link);
        m->ndirty++;
        if (m->dirty_since == UINT64_MAX) {
            m->dirty_since = clock_ns();
            wake_all(&m->back);
        }
    }
    spin_unlock(&m->lock, ipl);
}

int ext4_upgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    struct ext4_inode *i = object_pager_data(o);
    struct ext4 *m = i->mount;
    uint16_t account = pool_account();
    struct ext4_grant *g;
    ipl_t ipl;

    (void)count, (void)access; /* one page, to be stored to */
    if (__atomic_load_n(&i->grants, __ATOMIC_RELAXED) == thread_self()) {
        note(i, offset);
        (void)mm_supply(o, offset, PFN_NONE, MAP_R | MAP_W);
        return 0;
    }
    if (__atomic_load_n(&m->fs.read_only, __ATOMIC_RELAXED))
        return -EROFS;
    g = npp_alloc_charged(sizeof(*g), account);
    if (!g)
        return -ENOMEM;
    *g = (struct ext4_grant){.o = o, .index = offset, .account = account};
    ipl = spin_lock(&m->lock); /* after that it may be answered, and i gone */
    list_add_tail(&m->grants, &g->link);
    i->granting++;
    ext4_wake(m);
    spin_unlock(&m->lock, ipl);
    return 0;
}

/* How many pages get blocks with the one that a fault asks for: more for one who goes on and on.
 * m->mutex is held. */
static uint32_t pages_with(struct ext4_inode *i, uint64_t index)
{
    uint64_t all = (i->node.size + PAGE_MASK) >> PAGE_SHIFT;
    uint32_t n = 1;

    if (index == i->next_store)
        n = MIN(2 * MAX(i->stores_ahead, 1u), EXT4_PAGES);
    n = (uint32_t)MIN((uint64_t)n, all - index);
    i->stores_ahead = n;
    i->next_store = index + n;
    return n;
}

/* Have blocks for a page of i, and for some behind it: if there is one in a hole, it is zeroes.
 * m->mutex is held: so the page is the one that the file has at this length. -EAGAIN: the file just
 * becomes longer, or shorter, and the object has more pages: the fault looks again. (An error would
 * be told to who makes it longer, too, should he wait for the page.) */
static int have_page(struct ext4_inode *i, struct mm_object *o, uint64_t index)
{
    struct ext4_part p = {.i = i, .first = index, .end = i->node.size, .back = true};
    bool there;
    int err;

    p.page[0] = object_page_try_get(o, index);
    if (pfn_eq(p.page[0], PFN_NONE))
        return 0; /* it was cut off: who waits, perhaps to read it, looks again */
    p.npages = 1;
    there = index << PAGE_SHIFT >= i->node.size;
    err = there ? -EAGAIN : ext4_has_part(&p, &there);
    if (!err && !there) {
        p.npages = pages_with(i, index);
        for (uint32_t k = 1; k < p.npages; k++)
            p.page[k] = page_zeroes;
        err = ext4_have_part(&p);
        if (err && p.npages > 1) {
            p.npages = 1;
            err = ext4_have_part(&p);
        }
    }
    page_unref(p.page[0]);
    return err;
}

/* Answer with the mutex held, so that a file that becomes shorter, and longer again, does so before
 * or behind the answer. The answer may be the last that keeps the object. */
static void grant(struct ext4 *m, struct ext4_grant *g)
{
    struct ext4_inode *i = object_pager_data(g->o);
    ipl_t ipl;
    int err;

    mm_answers_begin(g->o);
    mutex_lock(&m->mutex);
    err = have_page(i, g->o, g->index);
    if (!err) {
        note(i, g->index);
        ext4_mark(i); /* the store can have happened before its thread comes to ext4_written() */
    }
    if (err && err != -EAGAIN)
        mm_deny(g->o, g->index, 1, err);
    else
        (void)mm_supply(g->o, g->index, PFN_NONE, err ? MAP_R : MAP_R | MAP_W);
    mutex_unlock(&m->mutex);
    ipl = spin_lock(&m->lock); /* until then who waits for the thread finds it busy */
    list_remove(&g->link);
    i->granting--;
    spin_unlock(&m->lock, ipl);
    mm_answers_end(g->o);
}

void ext4_do_grants(struct ext4 *m)
{
    for (unsigned k = 0; k < GRANTS; k++) {
        ipl_t ipl = spin_lock(&m->lock);
        struct list *l = list_first(&m->grants);
        struct ext4_grant *g = l ? list_entry(l, struct ext4_grant, link) : NULL;

        spin_unlock(&m->lock, ipl);
        if (!g)
            return;
        grant(m, g);
        npp_free_charged(g, sizeof(*g), g->account);
    }
}

/* ---- files that were stored to ---- */

void ext4_written(struct mm_object *o)
{
    struct ext4_inode *i = object_pager_data(o);

    inode_touch(&i->inode);
    ext4_mark(i);
}

/* Pages that are not written to yet but for this get access at once, as the file is locked and has
 * blocks. */
int ext4_store_later(struct ext4_inode *i, uint64_t first, uint32_t npages)
{
    int err = 0;

    __atomic_store_n(&i->grants, thread_self(), __ATOMIC_RELAXED);
    for (uint32_t k = 0; !err && k < npages; k++) {
        pfn_t pfn;

        err = object_page_get(i->inode.object, first + k, MAP_R | MAP_W, &pfn);
        if (!err)
            page_unref(pfn);
    }
    __atomic_store_n(&i->grants, NULL, __ATOMIC_RELAXED);
    ext4_mark(i);
    return err;
}

/* m->lock is held. */
static void unmark_locked(struct ext4_inode *i)
{
    list_remove(&i->dirty_link);
    i->mount->ndirty--;
}

void ext4_ended_locked(struct ext4_inode *i)
{
    if (!list_empty(&i->dirty_link))
        unmark_locked(i);
}

bool ext4_is_dirty(struct ext4_inode *i)
{
    ipl_t ipl = spin_lock(&i->mount->lock);
    bool dirty = !list_empty(&i->dirty_link);

    spin_unlock(&i->mount->lock, ipl);
    return dirty;
}

/* ---- writing back ---- */

/* The page joins what its thread writes back. Nobody else writes modified pages: one that is taken
 * back for another reason stays as it is. */
int ext4_put(struct mm_object *o, uint64_t offset, uint64_t count)
{
    struct ext4_inode *i = object_pager_data(o);

    (void)count; /* always 1 */
    if (__atomic_load_n(&i->backs, __ATOMIC_RELAXED) != thread_self())
        return -EBUSY;
    if (i->back->drops)
        mm_put_done(o, offset, 1, 0);
    else
        i->back->page[i->back->npages++] = object_page_try_get(o, offset);
    return 0;
}

/* n pages are written: those first that the sweep has begun with. */
static void count_written(struct ext4 *m, uint32_t n)
{
    ipl_t ipl = spin_lock(&m->lock);
    uint64_t old = MIN(m->writing, (uint64_t)n);

    m->writing -= old;
    m->stored_to -= MIN(m->stored_to, n - old);
    m->progress++;
    wake_all(&m->advance);
    spin_unlock(&m->lock, ipl);
}

static bool is_lasting(int err) { return err && err != -EINTR && err != -ENOMEM; }

/* Write n pages of the part from page[k] on. An error ends that; or else, one block at a time, only
 * one that does not last: what is behind a block that the device refuses is written all the same.
 * The first error. */
static int write_blocks(const struct ext4_part *p, uint32_t k, uint32_t n, bool singly)
{
    uint64_t bytes = p->i->mount->about.block_bytes, block = ((p->first + k) << PAGE_SHIFT) / bytes;
    uint64_t to = MIN((p->first + k + n) << PAGE_SHIFT, p->end);
    uint64_t end = (to + bytes - 1) / bytes, done;
    int first = 0, err = 0;

    for (; block < end && (!err || (singly && is_lasting(err))); block += done) {
        err = ext4_write_blocks(p, block, singly ? 1 : end - block, 0, &done);
        done = err ? 1 : done;
        if (err && (!first || !is_lasting(err)))
            first = err;
    }
    return first;
}

/* What became of n pages from page[k] on. 0, or why they are left. Who unmaps the file, and does
 * not store any more, leaves pages that can be evicted: they have no write access. */
static int answer(const struct ext4_part *p, struct mm_object *o, uint32_t k, uint32_t n, int err)
{
    bool left = err && !is_lasting(err);

    if (err && !left)
        inode_write_failed(&p->i->inode, err == -EROFS ? -EIO : err);
    if (!left)
        (void)mm_downgrade(o, p->first + k, n, MAP_R);
    mm_put_done(o, p->first + k, n, left ? err : 0);
    if (!left)
        count_written(p->i->mount, n);
    return left ? err : 0;
}

/* Write the pages that have joined, and answer for them. If the device refuses some, each is tried
 * by itself. */
static int write_part(struct ext4_part *p, struct mm_object *o)
{
    int err = p->npages ? write_blocks(p, 0, p->npages, false) : 0, left = 0;

    if (is_lasting(err))
        for (uint32_t k = 0; k < p->npages; k++) {
            err = answer(p, o, k, 1, left ? left : write_blocks(p, k, 1, true));
            left = left ? left : err;
        }
    else if (p->npages)
        left = answer(p, o, 0, p->npages, err);
    for (uint32_t k = 0; k < p->npages; k++)
        page_unref(p->page[k]);
    p->npages = 0;
    return left;
}

/*
 * Have page `index`, which was found modified or with write access, join the part. One for which a
 * fault waits (a page that is modified and has lost its write access, ask_again() in writing.c) is
 * passed over by mm_flush(), until the fault has been answered.
 */
static int join(struct ext4_part *p, struct mm_object *o, uint64_t index)
{
    uint32_t before = p->npages;

    for (unsigned k = 0; k < PUT_TRIES; k++) {
        pfn_t pfn;
        int err;

        (void)mm_flush(o, index, 1);
        if (p->npages != before || object_next_page(o, index, index + 1, true) != index)
            return 0;
        err = object_page_get(o, index, MAP_R | MAP_W, &pfn);
        if (!err)
            page_unref(pfn);
        else if (err == -EINTR || err == -ENOMEM)
            return err;
        else if (err != -EFAULT)
            inode_write_failed(&p->i->inode, err == -EROFS ? -EIO : err);
    }
    return 0;
}

/*
 * The pages that may have been written to, in order. A page is noted before it gets access. So one
 * of those that are about to get it may look as if nobody had written to it: it stays noted.
 */
struct noted {
    bool all;      /* not all are here */
    bool granting; /* some are about to get access */
    uint32_t n, next;
    uint32_t page[EXT4_NOTED];
};

/* forget: who writes back does so with all. A page that gets access behind this is noted again. */
static void take_noted(struct ext4_inode *i, struct noted *t, bool forget)
{
    ipl_t ipl = spin_lock(&i->mount->lock);

    t->all = i->nnoted > EXT4_NOTED;
    t->granting = forget && i->granting;
    t->n = t->all ? 0 : i->nnoted;
    t->next = 0;
    memcpy(t->page, i->noted, t->n * sizeof(*t->page));
    if (forget && !(t->all && t->granting))
        i->nnoted = 0;
    spin_unlock(&i->mount->lock, ipl);
    for (uint32_t k = 1; k < t->n; k++)
        for (uint32_t j = k; j > 0 && t->page[j - 1] > t->page[j]; j--) {
            uint32_t page = t->page[j];

            t->page[j] = t->page[j - 1];
            t->page[j - 1] = page;
        }
}

static void note_again(struct ext4_inode *i, uint64_t index)
{
    ipl_t ipl = spin_lock(&i->mount->lock);

    note_locked(i, index);
    spin_unlock(&i->mount->lock, ipl);
}

/* Some are left: they are looked for. */
static void lose_noted(struct ext4_inode *i)
{
    ipl_t ipl = spin_lock(&i->mount->lock);

    i->nnoted = EXT4_NOTED + 1;
    spin_unlock(&i->mount->lock, ipl);
}

/* The first one of [from, end). */
static uint64_t next_noted(struct noted *t, struct mm_object *o, uint64_t from, uint64_t end)
{
    if (t->all)
        return object_next_page(o, from, end, true);
    while (t->next < t->n && t->page[t->next] < from)
        t->next++;
    return t->next < t->n ? t->page[t->next] : UINT64_MAX;
}

/* Write pages from *at on, which becomes where to go on: many are written in several holds of the
 * file's lock. The file is locked, and so is back_lock. */
static int write_pages(struct ext4_inode *i, struct mm_object *o, uint64_t *at, uint64_t end)
{
    struct ext4_part p = {.i = i, .end = i->inode.size, .back = true};
    uint32_t before, n = 0;
    uint64_t k = *at;
    struct noted t;
    int err = 0;

    take_noted(i, &t, k == 0 && end >= INODE_MAX_PAGES);
    *at = end;
    i->back = &p;
    __atomic_store_n(&i->backs, thread_self(), __ATOMIC_RELAXED);
    for (; !err && (k = next_noted(&t, o, k, end)) < end; k++) {
        if (t.all && n++ == HOLD_PAGES) {
            *at = k;
            break;
        }
        if (p.npages == EXT4_PAGES || k != p.first + p.npages)
            err = write_part(&p, o);
        if (!p.npages)
            p.first = k;
        before = p.npages;
        if (!err)
            err = join(&p, o, k);
        if (t.granting && !t.all && p.npages == before)
            note_again(i, k);
    }
    if (!err || p.npages) {
        int last = write_part(&p, o);

        err = err ? err : last;
    }
    if (t.granting)
        ext4_mark(i); /* they may have been passed over, as they had no access yet */
    __atomic_store_n(&i->backs, NULL, __ATOMIC_RELAXED);
    i->back = NULL;
    return !err && thread_killed() ? -EINTR : err;
}

/* Nobody writes back while the file is locked exclusively. A page for which a fault waits may stay
 * modified, and is written as zeroes. */
void ext4_forget_stores(struct ext4_inode *i, uint64_t first, uint64_t n)
{
    struct ext4_part p = {.i = i, .drops = true};

    i->back = &p;
    __atomic_store_n(&i->backs, thread_self(), __ATOMIC_RELAXED);
    (void)mm_flush(i->inode.object, first, n);
    __atomic_store_n(&i->backs, NULL, __ATOMIC_RELAXED);
    i->back = NULL;
}

/* Some of the pages [*at, end); *at is where to go on. wait: for the file, if it is locked;
 * otherwise -EAGAIN. */
static int write_back_some(struct ext4_inode *i, uint64_t *at, uint64_t end, bool wait)
{
    bool all = *at == 0 && end >= INODE_MAX_PAGES;
    int err = 0;

    if (wait)
        err = mutex_lock_shared_killable(&i->inode.lock);
    else if (!mutex_try_lock_shared(&i->inode.lock))
        err = -EAGAIN;
    if (err)
        return err;
    err = mutex_lock_killable(&i->back_lock); /* also for what another one is about to write */
    if (err) {
        mutex_unlock_shared(&i->inode.lock);
        return err;
    }
    if (all ? __atomic_exchange_n(&i->stored, false, __ATOMIC_ACQUIRE)
            : __atomic_load_n(&i->stored, __ATOMIC_ACQUIRE))
        err = write_pages(i, i->inode.object, at, end);
    else
        *at = end;
    if (err || *at < end) { /* who comes in between has to look for the others */
        lose_noted(i);
        __atomic_store_n(&i->stored, true, __ATOMIC_RELEASE);
    }
    mutex_unlock(&i->back_lock);
    mutex_unlock_shared(&i->inode.lock);
    return err;
}

int ext4_write_back(struct ext4_inode *i, uint64_t first, uint64_t end, bool wait)
{
    uint64_t at = first;
    int err;

    do
        err = write_back_some(i, &at, end, wait);
    while (!err && at < end);
    if (err)
        ext4_mark(i);
    return err;
}

/* i stays as long as its object, to which the caller has a reference. */
int ext4_sync_pages(struct mm_object *o, uint64_t offset, uint64_t count)
{
    struct ext4_inode *i = object_pager_data(o);
    uint64_t end = offset + count;
    int err, before;

    err = ext4_write_back(i, MIN(offset, INODE_MAX_PAGES), MIN(end, INODE_MAX_PAGES), true);
    if (!err)
        err = ext4_flush(i, true);
    before = inode_failure(&i->inode, &i->told);
    return before ? before : err;
}

void ext4_grants_census(struct census *c, const struct ext4 *m)
{
    census_explain(c, CENSUS_NONPAGED, sizeof(struct ext4_grant), list_length(&m->grants));
}
