/*
 * Reading the files of a mount. The pages of a file are those of its object: read from the disk
 * when they are asked for, and kept.
 *
 * The pager's operations run inside faults, with the mutex of an address space held. They wait for
 * nothing: pages are allocated there, so that they are charged to who asks, and become a job for
 * the mount's thread. That finds the blocks, with the mount's mutex; reads them, without it, for
 * some jobs at a time; and answers for each page by itself, since only some may be unreadable. An
 * answer that is owed keeps the object, and so the inode and the mount.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/thread.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"
#include "mm/space/aspace.h"

/* Read ahead for one who reads on and on: twice as much each time. */
#define AHEAD_FIRST  EXT4_PAGES
#define AHEAD_MOST   (EXT4_TOGETHER * EXT4_PAGES)
#define FAULT_PAGES  4u   /* read with a page that a fault asks for */
#define KEPT_PAGES   128u /* of a file, when its own pages give way */
#define EVICT_PAGES  64u
#define SHRINK_FILES 256u

/* Pages of a file to be read. */
struct ext4_job {
    struct list link;    /* in mount.jobs or .doing; mount.lock */
    struct mm_object *o; /* constant, as is what follows but for the pages */
    uint64_t first;      /* page of the file */
    uint32_t npages;
    uint16_t account;
    pfn_t page[EXT4_PAGES]; /* PFN_NONE: answered */
    int err[EXT4_PAGES];    /* why it cannot be filled; the thread's */
};

static uint64_t size_of(const struct ext4_inode *i)
{
    return __atomic_load_n(&i->inode.size, __ATOMIC_ACQUIRE);
}

/* ---- memory ---- */

/* Free pages of i, beginning where that ended before. */
static uint64_t evict(struct ext4_inode *i)
{
    uint64_t from = __atomic_load_n(&i->evict_at, __ATOMIC_RELAXED), at = from;
    uint64_t freed = object_evict(i->inode.object, &at, EVICT_PAGES);

    if (!freed && from && !at) /* nothing from there to the end */
        freed = object_evict(i->inode.object, &at, EVICT_PAGES);
    __atomic_store_n(&i->evict_at, at, __ATOMIC_RELAXED);
    return freed;
}

/* Files that nobody uses are let go of, or else pages of this one: of `look` files. False: there
 * are none. */
static bool make_room(struct ext4_inode *i, uint32_t look)
{
    uint64_t resident, pool;

    if (ext4_trim(i->mount, 0, NULL, look))
        return true;
    object_measure(i->inode.object, &resident, &pool);
    return resident > KEPT_PAGES && evict(i);
}

/* A page for the contents. What is kept here leaves memory to programs (mount.reserve), and gives
 * way when the user's limit is reached. */
int ext4_page_new(struct ext4_inode *i, pfn_t *pfn)
{
    int err;

    if (unlikely(fluid_count() < i->mount->reserve))
        (void)make_room(i, EXT4_TRIM);
    err = page_alloc(PA_FILE, PAGE_T_SYSTEM, RAD_ANY, pfn);
    if (unlikely(err) && make_room(i, UINT32_MAX))
        err = page_alloc(PA_FILE, PAGE_T_SYSTEM, RAD_ANY, pfn);
    return err;
}

/* The same of a file that is mapped: pages are unmapped, whether they are in use or not. With the
 * file locked nobody copies from or to them; those that were stored to stay. */
static uint64_t evict_mapped(struct ext4_inode *i)
{
    struct mm_object *o = i->inode.object;
    uint64_t at = __atomic_load_n(&i->evict_at, __ATOMIC_RELAXED), before, after, pool;

    if (!mutex_try_lock(&i->inode.lock))
        return 0;
    object_measure(o, &before, &pool);
    for (unsigned k = 0; k < EVICT_PAGES; k++) {
        uint64_t page = object_next_page(o, at, UINT64_MAX, false);

        if (page == UINT64_MAX && at == 0)
            break;
        if (page != UINT64_MAX)
            (void)mm_downgrade(o, page, 1, 0);
        at = page == UINT64_MAX ? 0 : page + 1;
    }
    object_measure(o, &after, &pool);
    mutex_unlock(&i->inode.lock);
    __atomic_store_n(&i->evict_at, at, __ATOMIC_RELAXED);
    return before > after ? before - after : 0;
}

/* Free pages of the next few files. */
static uint64_t evict_next(struct ext4 *m, uint32_t *looked, bool mapped)
{
    struct ext4_inode *i = ext4_next_file(m, looked);
    uint64_t freed = !i ? 0 : mapped ? evict_mapped(i) : evict(i);

    if (i)
        inode_unref(&i->inode);
    return freed;
}

void ext4_shrink(struct ext4 *m)
{
    for (uint32_t looked = 0; looked < SHRINK_FILES && fluid_count() < m->reserve;)
        (void)evict_next(m, &looked, false);
    if (fluid_count() < m->reserve)
        ext4_sweep_soon(m);
}

static uint64_t evict_some(struct ext4 *m, bool mapped)
{
    uint32_t looked = 0, count = __atomic_load_n(&m->count, __ATOMIC_RELAXED);
    uint64_t freed = 0;

    while (looked < count && freed < EVICT_PAGES && !thread_killed())
        freed += evict_next(m, &looked, mapped);
    return freed;
}

enum fs_reclaimed ext4_reclaim(const struct fs *fs)
{
    struct ext4 *m = ext4_of(fs);
    uint64_t freed = ext4_trim(m, 0, NULL, UINT32_MAX);

    freed += evict_some(m, false);
    if (freed)
        return FS_RECLAIMED;
    if (evict_some(m, true))
        return FS_RECLAIMED_MAPPED;
    ext4_wait_written(m);
    if (evict_some(m, false))
        return FS_RECLAIMED;
    return evict_some(m, true) ? FS_RECLAIMED_MAPPED : FS_RECLAIMED_NONE;
}

/* ---- asking ---- */

static void job_free(struct ext4_job *j)
{
    for (uint32_t k = 0; k < j->npages; k++)
        if (!pfn_eq(j->page[k], PFN_NONE))
            page_free(j->page[k]);
    npp_free_charged(j, sizeof(*j), j->account);
}

/* Ask for up to n pages. Returns for how many, or a negative errno: none. */
static int ask(struct ext4_inode *i, struct mm_object *o, uint64_t offset, uint64_t n)
{
    struct ext4 *m = i->mount;
    uint16_t account = pool_account();
    struct ext4_job *j = npp_alloc_charged(sizeof(*j), account);
    uint32_t got = 0;
    int err = 0;
    ipl_t ipl;

    if (!j)
        return -ENOMEM;
    memset(j, 0, sizeof(*j));
    j->o = o;
    j->first = offset;
    j->account = account;
    while (got < MIN(n, (uint64_t)EXT4_PAGES) && (err = ext4_page_new(i, &j->page[got])) == 0)
        j->npages = ++got;
    if (!got) {
        job_free(j);
        return err;
    }
    ipl = spin_lock(&m->lock); /* after that the job may be done, and i gone */
    list_add_tail(&m->jobs, &j->link);
    ext4_wake(m);
    spin_unlock(&m->lock, ipl);
    return (int)got;
}

/* Only the thread that offers a page sees itself there, and what it has stored before. */
static bool take_offer(struct ext4_inode *i, struct mm_object *o, uint64_t offset, uint64_t count)
{
    pfn_t page = PFN_NONE;

    if (likely(__atomic_load_n(&i->offers, __ATOMIC_RELAXED) != thread_self()) || count != 1 ||
        offset != i->offered || pfn_eq(i->offer, PFN_NONE))
        return false;
    page = i->offer;
    i->offer = PFN_NONE;
    (void)mm_supply(o, offset, page, MAP_R);
    return true;
}

int ext4_offer_page(struct ext4_inode *i, uint64_t index, pfn_t page, pfn_t *out)
{
    int err;

    i->offered = index;
    i->offer = page;
    __atomic_store_n(&i->offers, thread_self(), __ATOMIC_RELAXED);
    err = object_page_get(i->inode.object, index, MAP_R, out);
    __atomic_store_n(&i->offers, NULL, __ATOMIC_RELAXED);
    if (!pfn_eq(i->offer, PFN_NONE))
        page_free(page);
    return err;
}

/* access 0: nobody waits for the pages yet. Until all of them are answered the object stays. */
static int ext4_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    struct ext4_inode *i = object_pager_data(o);
    uint64_t there = (size_of(i) + PAGE_MASK) >> PAGE_SHIFT;

    if (unlikely(take_offer(i, o, offset, count)))
        return 0;
    mm_answers_begin(o);
    for (uint64_t at = offset, end = offset + count; at < end;) {
        int got = ask(i, o, at, end - at);

        if (got < 0) {
            mm_deny(o, at, 1, got);
            got = 1;
        }
        at += (uint64_t)got;
    }
    if (access && count == 1 && offset + 1 < there)
        object_read_ahead(o, offset + 1, MIN((uint64_t)FAULT_PAGES, there - offset - 1));
    mm_answers_end(o);
    return 0;
}

/* The next miss of one who reads in sequence is expected where this one's pages end. */
void ext4_will_read(struct inode *in, uint64_t index, uint64_t n)
{
    struct ext4_inode *i = ext4_inode_of(in);
    uint64_t there = (size_of(i) + PAGE_MASK) >> PAGE_SHIFT;
    uint64_t next = __atomic_load_n(&i->next_page, __ATOMIC_RELAXED);
    uint32_t ahead = __atomic_load_n(&i->ahead, __ATOMIC_RELAXED);

    ahead = index != next ? 0 : MIN(MAX(2 * ahead, AHEAD_FIRST), AHEAD_MOST);
    __atomic_store_n(&i->ahead, ahead, __ATOMIC_RELAXED);
    n = MIN(MAX(n, (uint64_t)ahead), (uint64_t)AHEAD_MOST);
    n = index < there ? MIN(n, there - index) : 0;
    __atomic_store_n(&i->next_page, index + MAX(n, UINT64_C(1)), __ATOMIC_RELAXED);
    if (n > 1)
        object_read_ahead(in->object, index, n);
}

const struct pager_ops ext4_pager = {
    .name = "ext4",
    .get = ext4_get,
    .upgrade = ext4_upgrade,
    .put = ext4_put,
    .sync = ext4_sync_pages,
    .written = ext4_written,
    .end = ext4_object_ended,
};

/* ---- reading ---- */

static void fail(struct ext4_reading *x, uint64_t at, uint64_t n, int err)
{
    uint64_t end = MIN(at + n, x->end);

    for (; at < end; at = page_round_down(at) + PAGE_SIZE)
        x->job->err[(at - x->start) >> PAGE_SHIFT] = err;
}

/* Copy n bytes to the place of `at`; from NULL: zeroes. */
static void put(struct ext4_reading *x, uint64_t at, const uint8_t *from, uint64_t n)
{
    while (n) {
        uint64_t within = at & PAGE_MASK, part = MIN(n, PAGE_SIZE - within);
        uint8_t *to = (uint8_t *)kseg_page(x->job->page[(at - x->start) >> PAGE_SHIFT]) + within;

        if (from)
            memcpy(to, from, part);
        else
            memset(to, 0, part);
        from = from ? from + part : NULL;
        at += part;
        n -= part;
    }
}

/* The oldest request. */
static void finish_one(struct ext4_reading *x)
{
    struct ext4_way *w = &x->way[x->first++ % EXT4_WINDOW];
    int err = block_wait(w->r);

    x->count--;
    if (err)
        fail(x, w->at, w->n, err);
    for (uint64_t done = 0; !err && done < w->n;) {
        uint64_t from = w->skip + done, part = MIN(w->n - done, PAGE_SIZE - (from & PAGE_MASK));

        put(x, w->at + done,
            (uint8_t *)kseg_page(w->r->page[from >> PAGE_SHIFT]) + (from & PAGE_MASK), part);
        done += part;
    }
    block_drop(w->r);
}

/* Read n bytes of the volume from `place` on to where `at` is, in requests of whole sectors. */
static void read_volume(struct ext4_reading *x, const struct block_volume *v, uint64_t place,
                        uint64_t at, uint64_t n)
{
    uint32_t sector = v->disk->sector_bytes;

    while (n) {
        uint64_t from = align_down(place, sector), skip = place - from;
        uint64_t part = MIN(n, BLOCK_PAGES * PAGE_SIZE - skip);
        struct block_request *r = block_new(v, BLOCK_READ, from / sector,
                                            (uint32_t)align_up(skip + part, sector));

        if (!r && x->count) {
            finish_one(x); /* and have its memory */
            continue;
        }
        if (!r) {
            fail(x, at, n, -ENOMEM);
            return;
        }
        if (x->count == EXT4_WINDOW)
            finish_one(x);
        x->way[(x->first + x->count++) % EXT4_WINDOW] = (struct ext4_way){r, at, (uint32_t)skip,
                                                                          (uint32_t)part};
        block_submit(r);
        place += part;
        at += part;
        n -= part;
    }
}

/* Read what follows `at`, as far as it is in one place, below `end`. Returns how far. */
static uint64_t read_run(struct ext4_reading *x, struct ext4_inode *i, uint64_t at, uint64_t end)
{
    struct ext4 *m = i->mount;
    uint64_t block = m->about.block_bytes, within = at & (block - 1), blocks, n;
    struct ext4_run run;
    int err;

    mutex_lock(&m->mutex);
    err = ext4_find_run(m->volume, &i->node, at / block, &run);
    mutex_unlock(&m->mutex);
    blocks = err ? 1 : MIN(run.count, (end - at + within + block - 1) / block);
    n = MIN(blocks * block - within, end - at);
    if (err)
        fail(x, at, n, err);
    else if (run.physical)
        read_volume(x, m->disk, run.physical * block + within, at, n);
    else
        put(x, at, NULL, n);
    return at + n;
}

static uint64_t read_inline_page(struct ext4_reading *x, struct ext4_inode *i, uint64_t at,
                                 uint64_t end)
{
    uint64_t n = MIN(PAGE_SIZE, end - at);
    int err;

    mutex_lock(&i->mount->mutex);
    err = ext4_read_bytes(i->mount->volume, &i->node, at,
                          kseg_page(x->job->page[(at - x->start) >> PAGE_SHIFT]), n);
    mutex_unlock(&i->mount->mutex);
    if (err)
        fail(x, at, n, err);
    return at + n;
}

/* Ask the disk for what a job wants, as far as there is room. */
static void begin_job(struct ext4_reading *x, struct ext4_job *j)
{
    struct ext4_inode *i = object_pager_data(j->o);
    uint64_t end, at = j->first << PAGE_SHIFT;

    x->job = j;
    x->first = x->count = 0;
    mutex_lock(&i->mount->mutex);
    x->i = i;
    x->outdated = false;
    x->start = at;
    x->end = at + ((uint64_t)j->npages << PAGE_SHIFT);
    mutex_unlock(&i->mount->mutex);
    end = MAX(MIN(x->end, size_of(i)), at); /* of the bytes that the file has */
    while (at < end)
        at = ext4_is_inline(&i->node) ? read_inline_page(x, i, at, end) : read_run(x, i, at, end);
    put(x, at, NULL, x->end - at);
}

/* The last answer may be the last that keeps the object. */
static void answer(struct ext4_job *j)
{
    struct mm_object *o = j->o;

    mm_answers_begin(o);
    for (uint32_t k = 0; k < j->npages; k++) {
        pfn_t pfn = j->page[k];

        if (j->err[k]) {
            mm_deny(o, j->first + k, 1, j->err[k]);
            continue; /* the page is freed with the job */
        }
        j->page[k] = PFN_NONE;
        (void)mm_supply(o, j->first + k, pfn, MAP_R);
    }
    mm_answers_end(o);
}

static struct ext4_job *next_job(struct ext4 *m)
{
    ipl_t ipl = spin_lock(&m->lock);
    struct list *l = list_pop_head(&m->jobs);

    if (l)
        list_add_tail(&m->doing, l);
    spin_unlock(&m->lock, ipl);
    return l ? list_entry(l, struct ext4_job, link) : NULL;
}

/* The file became shorter, or got a hole, while it was read: what was read may be of blocks that it
 * has no more, and the file as long as before. So the job is done again. */
static void do_again(struct ext4 *m, struct ext4_job *j)
{
    ipl_t ipl;

    memset(j->err, 0, sizeof(j->err));
    ipl = spin_lock(&m->lock);
    list_remove(&j->link);
    list_add_tail(&m->jobs, &j->link);
    spin_unlock(&m->lock, ipl);
}

/* With the mutex held, a file that becomes shorter does so before, and the job is done again, or
 * behind the answers, and drops them. */
static void end_job(struct ext4 *m, struct ext4_reading *x)
{
    bool good;
    ipl_t ipl;

    while (x->count)
        finish_one(x);
    mutex_lock(&m->mutex);
    good = !x->outdated;
    x->i = NULL;
    if (good)
        answer(x->job);
    mutex_unlock(&m->mutex);
    if (!good) {
        do_again(m, x->job);
        return;
    }
    ipl = spin_lock(&m->lock);
    list_remove(&x->job->link);
    spin_unlock(&m->lock, ipl);
    job_free(x->job);
}

void ext4_do_jobs(struct ext4 *m)
{
    struct ext4_job *j;
    unsigned n;

    for (n = 0; n < EXT4_TOGETHER && (j = next_job(m)) != NULL; n++)
        begin_job(&m->reading[n], j);
    for (unsigned k = 0; k < n; k++)
        end_job(m, &m->reading[k]);
}

void ext4_outdate(struct ext4_inode *i, uint64_t from, uint64_t end)
{
    struct ext4 *m = i->mount;

    for (unsigned k = 0; k < EXT4_TOGETHER; k++) {
        struct ext4_reading *x = &m->reading[k];

        if (x->i == i && x->start < end && from < x->end)
            x->outdated = true;
    }
}

/* ---- self-check and census ---- */

static void validate_jobs(struct validate *v, const struct list *jobs)
{
    const struct ext4_job *j;

    list_for_each_entry(j, jobs, link)
        for (uint32_t k = 0; k < j->npages; k++)
            if (!pfn_eq(j->page[k], PFN_NONE))
                validate_page(v, j->page[k], VALIDATE_PIPE);
}

void ext4_jobs_validate(struct validate *v, const struct ext4 *m)
{
    validate_jobs(v, &m->jobs);
    validate_jobs(v, &m->doing);
}

void ext4_jobs_census(struct census *c, const struct ext4 *m)
{
    census_explain(c, CENSUS_NONPAGED, sizeof(struct ext4_job),
                   list_length(&m->jobs) + list_length(&m->doing));
}
