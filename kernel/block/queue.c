/*
 * The queue of a disk: requests are started in the order of submission, as many as the device
 * takes, up to BLOCK_DEPTH. A read or write that fails is tried again, before all others. Requests
 * with the device may end in any order, with one exception: a flush is started only when all writes
 * that were submitted before it have ended, so that it covers them. It holds nothing else back.
 *
 * disk.lock is held for BLOCK_FEW requests at a time, or for a look at those that the device has,
 * which are at most BLOCK_DEPTH. It is taken by interrupts, so memory is freed without it, and only
 * by threads: the self-check, which runs while they are stopped, finds all requests at rest.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/block/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"

#define NS_PER_S  UINT64_C(1000000000)
#define TOLD_MOST 8u /* errors of a disk that the console names */

void block_queue_init(struct block_disk *d)
{
    spin_init(&d->lock, "disk", RANK_DISK, IPL_DEVICE);
    mutex_init(&d->parts, "disk parts", MUTEX_DISK);
    list_init(&d->all);
    list_init(&d->queue);
    list_init(&d->started);
    list_init(&d->held);
    list_init(&d->dead);
    list_init(&d->writes);
}

/* A request has its result. Who waits for it may free it as soon as the lock is released. */
static inline __attribute__((always_inline)) void finish(struct block_request *r, int err)
{
    struct block_disk *d = r->disk;
    struct block_count *c = &d->count[r->kind];

    c->requests++;
    if (err) {
        c->errors++;
        d->bad_sector = r->kind == BLOCK_FLUSH ? 0 : r->sector;
        d->bad_kind = r->kind;
    } else {
        c->bytes += r->nbytes;
    }
    list_remove(&r->order);
    r->err = err;
    __atomic_store_n(&r->finished, true, __ATOMIC_RELEASE);
    if (!r->ended)
        (void)wake_one(&r->done);
    else if (likely(!r->dropped))
        r->ended(r);
}

static void finish_locked(struct block_request *r, int err) { finish(r, err); }

/* A request that its maker has left, and the device does not have, is to be freed by the thread. */
static void bury_locked(struct block_request *r)
{
    if (r->dropped)
        list_add_tail(&r->disk->dead, &r->link);
}

/* Has every write that was submitted before flush r ended? */
static bool may_flush_locked(const struct block_request *r)
{
    struct list *oldest = list_first(&r->disk->writes);

    return !oldest || list_entry(oldest, struct block_request, order)->place > r->place;
}

/* Put back into the queue one flush for which the last write has ended. */
static bool release_flush_locked(struct block_disk *d)
{
    struct list *first = list_first(&d->held);

    if (!first || !may_flush_locked(list_entry(first, struct block_request, link)))
        return false;
    list_remove(first);
    list_add_head(&d->queue, first);
    return true;
}

/* The driver has passed r, which is on no list, on to the device. */
static inline void started_locked(struct block_disk *d, struct block_request *r)
{
    list_add_tail(&d->started, &r->link);
    r->with_device = true;
    r->started_ns = clock_ns();
    if (d->nstarted++ == 0)
        d->answered_ns = r->started_ns;
}

/* What became of the first request of the queue. */
enum step { NOTHING, MOVED, STARTED };

static enum step advance_locked(struct block_disk *d)
{
    bool released = release_flush_locked(d);
    struct list *first = list_first(&d->queue);
    struct block_request *r;

    if (!first)
        return NOTHING;
    r = list_entry(first, struct block_request, link);
    if (r->kind == BLOCK_FLUSH && !may_flush_locked(r)) {
        list_remove(first);
        list_add_tail(&d->held, first);
        return MOVED;
    }
    if (r->kind == BLOCK_FLUSH && (r->barrier || !d->has_cache)) {
        list_remove(first);
        bury_locked(r);
        finish_locked(r, 0);
        return MOVED;
    }
    if (d->nstarted == BLOCK_DEPTH || !d->driver->start(d, r))
        return released ? MOVED : NOTHING;
    list_remove(first);
    started_locked(d, r);
    return STARTED;
}

/* Start requests, in at most `most` steps. True: there may be more to do. */
static bool advance(struct block_disk *d, unsigned most)
{
    enum step step = MOVED;
    bool any = false;

    while (step != NOTHING && most--) {
        ipl_t ipl = spin_lock(&d->lock);

        step = d->failed ? NOTHING : advance_locked(d);
        spin_unlock(&d->lock, ipl);
        any |= step == STARTED;
    }
    if (any)
        d->driver->notify(d);
    return step != NOTHING;
}

/* r was not passed on: it waits its turn, or the disk has failed. The lock is held; it is
 * released. */
static void __attribute__((noinline)) queue_up(struct block_request *r, ipl_t ipl)
{
    struct block_disk *d = r->disk;
    bool failed = d->failed;

    if (failed)
        finish_locked(r, -EIO);
    else
        list_add_tail(&d->queue, &r->link);
    spin_unlock(&d->lock, ipl);
    if (!failed && advance(d, BLOCK_BATCH))
        block_wake();
}

/* Pass r on to the device, which is to be told of it. False: r is to wait in the queue. */
static inline __attribute__((always_inline)) bool pass_on_locked(struct block_request *r,
                                                                 struct block_disk *d)
{
    bool write = r->kind == BLOCK_WRITE;

    __atomic_store_n(&thread_self()->disk_requests, thread_self()->disk_requests + 1,
                     __ATOMIC_RELAXED);
    r->place = d->places++;
    if (write && !d->failed)
        list_add_tail(&d->writes, &r->order);
    /* Mostly it is the only one to be started. */
    if (unlikely(d->failed || r->kind == BLOCK_FLUSH || !list_empty(&d->queue) ||
                 d->nstarted >= BLOCK_DEPTH || !d->driver->start(d, r)))
        return false;
    started_locked(d, r);
    return true;
}

void block_submit(struct block_request *r)
{
    struct block_disk *d = r->disk; /* r may be gone on return */
    ipl_t ipl = spin_lock(&d->lock);

    if (unlikely(!pass_on_locked(r, d))) {
        queue_up(r, ipl);
        return;
    }
    spin_unlock(&d->lock, ipl);
    d->driver->notify(d);
}

void block_submit_few(struct block_request *const *r, unsigned n)
{
    struct block_disk *d = r[0]->disk;

    KASSERT(n != 0 && n <= BLOCK_FEW, "there are some, and few");
    for (unsigned k = 0; k < n;) {
        ipl_t ipl = spin_lock(&d->lock);

        while (k < n && likely(pass_on_locked(r[k], d)))
            k++;
        if (unlikely(k < n))
            queue_up(r[k++], ipl);
        else
            spin_unlock(&d->lock, ipl);
    }
}

void block_notify(struct block_disk *d) { d->driver->notify(d); }

void block_ended_locked(struct block_disk *d, struct block_request *r, int err)
{
    KASSERT(r->with_device, "a device gives back what it has");
    list_remove(&r->link);
    r->with_device = false;
    d->nstarted--;
    if (unlikely(err) && !r->finished && r->kind != BLOCK_FLUSH && (!r->dropped || r->left) &&
        ++r->tries < BLOCK_TRIES) {
        d->retries++;
        list_add_head(&d->queue, &r->link);
    } else {
        d->to_serve |= r->dropped || err;
        if (r->dropped)
            list_add_tail(&d->dead, &r->link);
        if (likely(!r->finished))
            finish(r, err);
    }
}

void block_ended_all(struct block_disk *d)
{
    ipl_t ipl = spin_lock(&d->lock);
    bool wake = d->to_serve, more = !list_empty(&d->queue) || !list_empty(&d->held);

    d->answered_ns = clock_ns();
    d->to_serve = false;
    spin_unlock(&d->lock, ipl);
    if ((more && advance(d, BLOCK_BATCH)) || wake)
        block_wake();
}

void block_ended(struct block_disk *d, struct block_request *r, int err)
{
    ipl_t ipl = spin_lock(&d->lock);

    block_ended_locked(d, r, err);
    spin_unlock(&d->lock, ipl);
    block_ended_all(d);
}

void block_drop(struct block_request *r)
{
    struct block_disk *d = r->disk;
    ipl_t ipl = spin_lock(&d->lock);
    bool ours = !r->with_device;

    r->dropped = true;
    if (ours) {
        list_remove(&r->link);
        list_remove(&r->order); /* a flush may have waited for it */
        list_remove(&r->all);
    }
    spin_unlock(&d->lock, ipl);
    if (!ours)
        return;
    if (!r->finished && advance(d, BLOCK_BATCH))
        block_wake();
    block_free(r);
}

bool block_take_back(struct block_request *r)
{
    struct block_disk *d = r->disk;
    ipl_t ipl = spin_lock(&d->lock);
    bool waits = !list_empty(&r->link) && !r->with_device && !r->finished;

    if (waits) {
        list_remove(&r->link);
        list_remove(&r->order);
        list_remove(&r->all);
    }
    spin_unlock(&d->lock, ipl);
    if (!waits)
        return false;
    if (advance(d, BLOCK_BATCH)) /* a flush may have waited for it */
        block_wake();
    block_free(r);
    return true;
}

void block_leave(struct block_request *r)
{
    struct block_disk *d = r->disk;
    ipl_t ipl = spin_lock(&d->lock);
    bool over = r->finished && !r->with_device;

    r->dropped = r->left = true;
    if (over)
        list_remove(&r->all);
    spin_unlock(&d->lock, ipl);
    if (over)
        block_free(r);
}

static int wait_for(struct block_request *r, unsigned how)
{
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&r->done, &w);
        if (__atomic_load_n(&r->finished, __ATOMIC_ACQUIRE))
            break;
        err = wait_block(&w, how, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return __atomic_load_n(&r->finished, __ATOMIC_ACQUIRE) ? r->err : err;
}

int block_wait(struct block_request *r) { return wait_for(r, WAIT_KILLABLE); }

int block_wait_ended(struct block_request *r) { return wait_for(r, WAIT_UNINTERRUPTIBLE); }

/* ---- the thread ---- */

static bool is_older(uint64_t since, uint64_t now, uint64_t seconds)
{
    return now > since && now - since > seconds * NS_PER_S;
}

/* A thread may be preempted for long between passing a request on and telling the device. So a
   silent one is told once more, before it is judged. Once a second: telling it may be to wake this
   very thread, which would not sleep any more until the answer. */
static void remind(struct block_disk *d, uint64_t now)
{
    ipl_t ipl = spin_lock(&d->lock);
    bool silent = d->nstarted && !d->failed && is_older(d->answered_ns, now, 1) &&
                  is_older(d->reminded_ns, now, 1);

    if (silent)
        d->reminded_ns = now;
    spin_unlock(&d->lock, ipl);
    if (silent)
        d->driver->notify(d);
}

/* Mark the device as failed if it is late. */
static void judge(struct block_disk *d, uint64_t now)
{
    ipl_t ipl = spin_lock(&d->lock);
    struct list *first = list_first(&d->started);
    bool late = false;

    if (first && !d->failed) {
        const struct block_request *r = list_entry(first, struct block_request, link);

        late = is_older(d->answered_ns, now, BLOCK_SILENCE_S) ||
               is_older(r->started_ns, now, BLOCK_PATIENCE_S);
        d->failed = late;
    }
    spin_unlock(&d->lock, ipl);
    if (late)
        printk("%s: no answer: the device has failed, and so does every request to it\n",
               d->volume[0].name);
}

/* End one request of a device that has failed. The device keeps those that it has. */
static bool end_one(struct block_disk *d)
{
    struct block_request *r = NULL, *it;
    ipl_t ipl = spin_lock(&d->lock);
    struct list *first = list_first(&d->queue);

    if (!first)
        first = list_first(&d->held);
    if (first) {
        r = list_entry(first, struct block_request, link);
        list_remove(first);
    } else {
        list_for_each_entry(it, &d->started, link)
            if (!it->finished) {
                r = it;
                d->late++;
                break;
            }
    }
    if (r && !r->with_device)
        bury_locked(r);
    if (r)
        finish_locked(r, -EIO);
    spin_unlock(&d->lock, ipl);
    return r != NULL;
}

/* Free one request that was dropped while the device had it. */
static bool bury_one(struct block_disk *d)
{
    ipl_t ipl = spin_lock(&d->lock);
    struct list *first = list_pop_head(&d->dead);
    struct block_request *r = first ? list_entry(first, struct block_request, link) : NULL;

    if (r)
        list_remove(&r->all);
    spin_unlock(&d->lock, ipl);
    if (r)
        block_free(r);
    return r != NULL;
}

/* Name the last error on the console, if there was one since the last time. */
static void tell(struct block_disk *d)
{
    static const char *const names[BLOCK_KINDS] = {"a read", "a write", "a flush"};
    uint64_t errors = 0, sector;
    bool fresh;
    unsigned kind;
    ipl_t ipl = spin_lock(&d->lock);

    for (unsigned k = 0; k < BLOCK_KINDS; k++)
        errors += d->count[k].errors;
    fresh = !d->failed && errors > d->told && d->told < TOLD_MOST;
    if (fresh)
        d->told = errors;
    sector = d->bad_sector;
    kind = d->bad_kind;
    spin_unlock(&d->lock, ipl);
    if (fresh)
        printk("%s: %s failed, sector %lu (errors so far: %lu)%s\n", d->volume[0].name, names[kind],
               sector, errors, errors < TOLD_MOST ? "" : "; from now on they are only counted");
}

bool block_serve(struct block_disk *d, uint64_t now)
{
    bool more = d->driver->take(d, BLOCK_BATCH) == BLOCK_BATCH;

    remind(d, now);
    more |= advance(d, BLOCK_BATCH);
    for (unsigned k = 0; k < BLOCK_BATCH && bury_one(d); k++)
        more = true;
    if (!more)
        judge(d, now);
    while (d->failed && end_one(d))
        more = true; /* there may be some to free */
    tell(d);
    return more;
}
