/*
 * Contexts of asynchronous I/O (aio.h).
 *
 * A request is on its context's list `active` from the moment it is made, and on `done` as an event
 * that nobody has taken yet. It moves in the interrupt that ends its transfer, with disk.lock held:
 * so who ends a transfer, which takes that lock, knows that the interrupt has done with it. When
 * its event was taken it goes to `spare`, with its request to the disk: the next one is made of it,
 * without the pools. Events are taken, and requests put back, TAKE in a hold of the lock.
 *
 * A context that is destroyed stays in its table until its requests have ended, and is not found
 * any more. If the thread that destroys it is killed, the end of the process does the rest. What is
 * left of its requests is freed with its last reference.
 *
 * Whoever waits is woken when as many events are there as it needs, if it is the only one. Several
 * are content with one each, and who is woken wakes the next if events are left.
 */
#include "kernel/io/aio.h"

#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/transfer.h"
#include "kernel/io/file.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/timerfd.h"
#include "kernel/io/tree.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool_charged.h"

#define WORDS (AIO_CONTEXTS / 64)
#define SPARE BLOCK_DEPTH /* requests that a context keeps: as many as a disk has at a time */
#define TAKE  16u

struct aio_context {      /* nonpaged pool */
    struct spinlock lock; /* RANK_AIO, IPL_DEVICE */
    uint32_t refs;        /* atomic: the table's, and of calls in progress */
    uint32_t most;        /* requests at a time; constant */
    uint32_t count;       /* requests that are not spare; lock */
    uint32_t nspare;      /* length of `spare`; lock */
    uint32_t ready;       /* length of `done`; lock to write, atomic to read */
    uint32_t waiting;     /* threads that wait for events; lock */
    uint32_t wanted;      /* events for which one of them is woken; lock to write, atomic to read */
    bool dead;            /* nothing begins any more; lock to write, atomic to read */
    uint16_t account;     /* charged for it; constant */
    struct list active, done, spare; /* lock */
    struct wait_queue waiters;
    struct wait_queue idle; /* who destroys it */
};

struct aio_request { /* nonpaged pool */
    struct block_transfer transfer;
    struct list link; /* in active, done or spare; context's lock */
    struct aio_context *context;
    struct file *eventfd; /* with a reference, or NULL; constant */
    struct aio_event event;
    bool gone; /* nobody is to be told of its end; context's lock */
    uint16_t account;
};

struct aio_table {                          /* nonpaged pool */
    struct spinlock lock;                   /* RANK_AIO_TABLE, IPL_ASTDEL */
    uint64_t base;                          /* constant */
    uint16_t account;                       /* constant */
    uint64_t used[WORDS];                   /* a bit for each slot that is not NULL; lock */
    struct aio_context *slot[AIO_CONTEXTS]; /* lock */
};

static uint64_t reserved; /* sum of `most` of all contexts; atomic */

uint64_t aio_reserved(void) { return __atomic_load_n(&reserved, __ATOMIC_RELAXED); }

static bool reserve(uint32_t most, uint16_t account)
{
    if (!account_charge(&accounts[account], QUOTA_AIO, most))
        return false;
    if (__atomic_add_fetch(&reserved, most, __ATOMIC_RELAXED) <= AIO_TOTAL)
        return true;
    __atomic_sub_fetch(&reserved, most, __ATOMIC_RELAXED);
    account_release(&accounts[account], QUOTA_AIO, most);
    return false;
}

static void unreserve(uint32_t most, uint16_t account)
{
    __atomic_sub_fetch(&reserved, most, __ATOMIC_RELAXED);
    account_release(&accounts[account], QUOTA_AIO, most);
}

/* ---- requests ---- */

static void destroy(struct aio_request *r)
{
    block_transfer_end(&r->transfer, true);
    npp_free_charged(r, sizeof(*r), r->account);
}

static struct aio_request *allocate(struct aio_context *c)
{
    uint16_t account = pool_account();
    struct aio_request *r = npp_alloc_charged(sizeof(*r), account);

    if (!r)
        return NULL;
    block_transfer_init(&r->transfer);
    list_init(&r->link);
    r->context = c;
    r->eventfd = NULL;
    r->gone = false;
    r->account = account;
    return r;
}

/* A request that is not used any more, and on no list. True: the context does not keep it. */
static bool put_locked(struct aio_context *c, struct aio_request *r)
{
    bool full = c->nspare >= SPARE || c->dead;

    c->count--;
    if (!full) {
        list_add_head(&c->spare, &r->link);
        c->nspare++;
    }
    return full;
}

/* Who destroys the context waits for the last request. */
static void left_active_locked(struct aio_context *c)
{
    if (unlikely(c->dead) && list_empty(&c->active))
        (void)wake_one(&c->idle);
}

/* None is spare: allocate one, which counts already. */
static int allocate_one(struct aio_context *c, struct aio_request **r)
{
    bool dead = false;
    ipl_t ipl;

    *r = allocate(c);
    ipl = spin_lock(&c->lock);
    if (*r && !c->dead) {
        list_add_tail(&c->active, &(*r)->link);
    } else {
        c->count--;
        dead = c->dead;
    }
    spin_unlock(&c->lock, ipl);
    if (*r && dead)
        destroy(*r);
    return dead ? -EINVAL : *r ? 0 : -ENOMEM;
}

int aio_requests_create(struct aio_context *c, unsigned most, struct aio_request **r)
{
    unsigned n = 0;
    struct list *first;
    int err = 0;
    ipl_t ipl = spin_lock(&c->lock);

    most = MIN(most, MIN(c->most - c->count, AIO_BATCH));
    if (unlikely(c->dead))
        err = -EINVAL;
    else if (!most)
        err = -EAGAIN;
    while (!err && n < most && (first = list_pop_head(&c->spare)) != NULL) {
        r[n++] = list_entry(first, struct aio_request, link);
        list_add_tail(&c->active, first);
    }
    c->nspare -= n;
    c->count += err ? 0 : MAX(n, 1u);
    spin_unlock(&c->lock, ipl);
    if (likely(n))
        return (int)n;
    if (!err)
        err = allocate_one(c, r);
    return err ? err : 1;
}

void aio_requests_drop(struct aio_context *c, unsigned n, struct aio_request **r)
{
    unsigned left = 0;
    ipl_t ipl = spin_lock(&c->lock);

    for (unsigned k = 0; k < n; k++) {
        list_remove(&r[k]->link);
        if (put_locked(c, r[k]))
            r[left++] = r[k];
    }
    left_active_locked(c);
    spin_unlock(&c->lock, ipl);
    while (left)
        destroy(r[--left]);
}

void aio_request_begin(struct aio_request *r, uint64_t data, uint64_t object, struct file *eventfd)
{
    r->eventfd = eventfd;
    r->event = (struct aio_event){.data = data, .object = object};
    r->gone = false;
}

/* The request is an event from now on, or nothing. The context stays until its lock is released:
 * all is done with it held. */
static void finish_locked(struct aio_request *r, int64_t result)
{
    struct aio_context *c = r->context;

    r->event.result = result;
    if (!r->gone) {
        list_remove(&r->link);
        list_add_tail(&c->done, &r->link);
        __atomic_store_n(&c->ready, c->ready + 1, __ATOMIC_RELAXED);
        if (r->eventfd)
            eventfd_add(r->eventfd);
        if (c->waiting && c->ready >= c->wanted)
            (void)wake_one(&c->waiters);
        left_active_locked(c);
    }
}

void aio_request_done(struct aio_request *r, int64_t result)
{
    struct aio_context *c = r->context;
    ipl_t ipl = spin_lock(&c->lock);

    finish_locked(r, result);
    spin_unlock(&c->lock, ipl);
}

/* At IPL_DEVICE. */
static void transfer_done(struct block_transfer *t)
{
    struct aio_request *r = container_of(t, struct aio_request, transfer);
    struct aio_context *c = r->context;

    spin_lock_at_ipl(&c->lock);
    finish_locked(r, t->err ? t->err : (int64_t)t->nbytes);
    spin_unlock_at_ipl(&c->lock);
}

/* Add the parts, up to `most` bytes. */
static int __attribute__((noinline)) add_parts(struct aio_request *r, const struct aio_part *part,
                                               unsigned n, uint64_t most)
{
    int err = 0;

    for (unsigned k = 0; k < n && most && !err; k++) {
        uint64_t nbytes = MIN(part[k].nbytes, most);

        err = block_transfer_add(&r->transfer, part[k].base, nbytes);
        most -= nbytes;
    }
    return err;
}

int aio_prepare(struct aio_request *r, struct file *f, bool write, const struct aio_part *part,
                unsigned n, uint64_t offset, bool *done)
{
    const struct block_volume *v = disk_file_volume(f);
    uint64_t size, nbytes = part[0].nbytes, all = part[0].base | nbytes | offset, room;
    int err;

    if (!v || !(f->flags & O_DIRECT) || (write && (f->flags & O_DSYNC)))
        return -EOPNOTSUPP;
    for (unsigned k = 1; k < n; k++) {
        nbytes += part[k].nbytes;
        all |= part[k].base | part[k].nbytes;
    }
    if (all & (v->disk->sector_bytes - 1))
        return -EINVAL;
    size = v->sectors << v->disk->sector_shift;
    room = size - MIN(offset, size);
    if (unlikely(nbytes > room)) {
        nbytes = room;
        if (!room && write)
            return -ENOSPC;
    }
    if (unlikely(!nbytes)) {
        *done = true;
        aio_request_done(r, 0);
        return 0;
    }
    block_transfer_begin(&r->transfer, v, write ? BLOCK_WRITE : BLOCK_READ, offset, transfer_done);
    err = n == 1 ? block_transfer_add(&r->transfer, part[0].base, nbytes)
                 : add_parts(r, part, n, nbytes);
    if (unlikely(err))
        block_transfer_end(&r->transfer, false);
    return err;
}

int aio_prepare_flush(struct aio_request *r, struct file *f)
{
    const struct block_volume *v = disk_file_volume(f);
    int err;

    if (!v)
        return -EOPNOTSUPP;
    block_transfer_begin(&r->transfer, v, BLOCK_FLUSH, 0, transfer_done);
    err = block_transfer_flush(&r->transfer);
    if (err)
        block_transfer_end(&r->transfer, false);
    return err;
}

static struct block_disk *disk_of(const struct aio_request *r) { return r->transfer.volume->disk; }

/* Submit n requests to one disk, which is told of all together. */
static void submit_run(struct aio_request *const *r, unsigned n)
{
    struct block_disk *d = disk_of(r[0]);
    struct block_few few;
    bool write = false;
    int err;

    for (unsigned k = 0; k < n; k++)
        write |= r[k]->transfer.kind == BLOCK_WRITE;
    err = write ? mutex_lock_shared_killable(&d->parts) : 0;
    block_few_init(&few);
    for (unsigned k = 0; k < n; k++) {
        if (likely(!err)) {
            block_few_add(&few, &r[k]->transfer);
        } else {
            block_transfer_end(&r[k]->transfer, false);
            aio_request_done(r[k], err);
        }
    }
    if (!err)
        block_few_end(&few, d);
    if (write && !err)
        mutex_unlock_shared(&d->parts);
}

void aio_submit(struct aio_batch *b)
{
    for (unsigned k = 0, end; k < b->n; k = end) {
        for (end = k + 1; end < b->n && disk_of(b->r[end]) == disk_of(b->r[k]); end++)
            ;
        submit_run(b->r + k, end - k);
    }
    b->n = 0;
}

/* ---- events ---- */

unsigned aio_ready(const struct aio_context *c)
{
    return __atomic_load_n(&c->ready, __ATOMIC_RELAXED);
}

/* Take up to TAKE events. */
static unsigned take(struct aio_context *c, struct aio_event *to, unsigned most)
{
    struct aio_request *r[TAKE];
    struct list *first;
    unsigned n = 0, left = 0;
    ipl_t ipl = spin_lock(&c->lock);

    while (n < most && (first = list_pop_head(&c->done)) != NULL)
        r[n++] = list_entry(first, struct aio_request, link);
    __atomic_store_n(&c->ready, c->ready - n, __ATOMIC_RELAXED);
    spin_unlock(&c->lock, ipl);
    for (unsigned k = 0; k < n; k++) {
        to[k] = r[k]->event;
        if (unlikely(r[k]->eventfd != NULL))
            file_unref(r[k]->eventfd);
        block_transfer_over(&r[k]->transfer);
    }
    ipl = spin_lock(&c->lock);
    for (unsigned k = 0; k < n; k++)
        if (put_locked(c, r[k]))
            r[left++] = r[k];
    spin_unlock(&c->lock, ipl);
    while (left)
        destroy(r[--left]);
    return n;
}

unsigned aio_take(struct aio_context *c, struct aio_event *to, unsigned most)
{
    unsigned done = 0, n = TAKE;

    for (; done < most && n == TAKE; done += n)
        n = take(c, to + done, MIN(most - done, TAKE));
    return done;
}

/* One thread more or less waits. Who leaves wakes the next one, if there are events. */
static void count_waiter(struct aio_context *c, int by, unsigned need)
{
    ipl_t ipl = spin_lock(&c->lock);

    c->waiting += (uint32_t)by;
    __atomic_store_n(&c->wanted, by > 0 && c->waiting == 1 ? need : 1, __ATOMIC_RELAXED);
    if (by < 0 && c->waiting && (c->ready || c->dead))
        (void)wake_one(&c->waiters);
    spin_unlock(&c->lock, ipl);
}

int aio_wait(struct aio_context *c, unsigned need, uint64_t deadline)
{
    struct waiter w;
    bool dead = false;
    int err = 0;

    count_waiter(c, 1, need);
    for (;;) {
        wait_enqueue(&c->waiters, &w);
        dead = __atomic_load_n(&c->dead, __ATOMIC_RELAXED);
        if (dead || aio_ready(c) >= __atomic_load_n(&c->wanted, __ATOMIC_RELAXED))
            break;
        err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
        if (err)
            break;
    }
    wait_finish(&w);
    count_waiter(c, -1, need);
    return dead ? -EINVAL : err;
}

/* ---- contexts ---- */

int aio_context_create(struct aio_table *t, uint32_t most, uint64_t *number)
{
    uint16_t account = pool_account();
    unsigned w = 0, slot = AIO_CONTEXTS;
    struct aio_context *c;
    ipl_t ipl;

    if (!reserve(most, account))
        return -EAGAIN;
    c = npp_alloc_charged(sizeof(*c), account);
    if (!c) {
        unreserve(most, account);
        return -ENOMEM;
    }
    memset(c, 0, sizeof(*c));
    spin_init(&c->lock, "aio", RANK_AIO, IPL_DEVICE);
    list_init(&c->active);
    list_init(&c->done);
    list_init(&c->spare);
    wait_queue_init(&c->waiters, "aio");
    wait_queue_init(&c->idle, "aio end");
    c->refs = 1;
    c->most = most;
    c->account = account;
    ipl = spin_lock(&t->lock);
    while (w < WORDS - 1 && !~t->used[w])
        w++;
    if (~t->used[w]) {
        slot = 64 * w + bit_lowest(~t->used[w]);
        t->used[w] |= UINT64_C(1) << slot % 64;
        t->slot[slot] = c;
    }
    spin_unlock(&t->lock, ipl);
    *number = t->base + slot * AIO_STEP;
    if (slot == AIO_CONTEXTS)
        aio_context_unref(c);
    return slot == AIO_CONTEXTS ? -EAGAIN : 0;
}

/* Take any request of a context off its lists. NULL: there are no more. */
static struct aio_request *pop_any(struct aio_context *c)
{
    ipl_t ipl = spin_lock(&c->lock);
    struct list *first = list_pop_head(&c->active);
    struct aio_request *r;

    if (!first)
        first = list_pop_head(&c->done);
    r = first ? list_entry(first, struct aio_request, link) : NULL;
    if (r)
        r->gone = true;
    else if ((first = list_pop_head(&c->spare)) != NULL)
        r = list_entry(first, struct aio_request, link);
    spin_unlock(&c->lock, ipl);
    return r;
}

/* Free the requests of a context that nobody uses any more. Writes that are under way are carried
 * out. */
static void drain(struct aio_context *c)
{
    struct aio_request *r;

    while ((r = pop_any(c))) {
        struct file *eventfd = r->gone ? r->eventfd : NULL; /* a spare one has lost its own */

        destroy(r); /* from here on no interrupt knows it */
        if (eventfd)
            file_unref(eventfd);
    }
}

void aio_context_unref(struct aio_context *c)
{
    if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    drain(c);
    unreserve(c->most, c->account);
    npp_free_charged(c, sizeof(*c), c->account);
}

struct aio_context *aio_context_get(struct aio_table *t, uint64_t number)
{
    uint64_t slot = (number - t->base) / AIO_STEP;
    struct aio_context *c;
    ipl_t ipl;

    if (number < t->base || slot >= AIO_CONTEXTS || (number - t->base) % AIO_STEP)
        return NULL;
    ipl = spin_lock(&t->lock);
    c = t->slot[slot];
    if (c && __atomic_load_n(&c->dead, __ATOMIC_RELAXED))
        c = NULL;
    if (c)
        __atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);
    spin_unlock(&t->lock, ipl);
    return c;
}

static bool is_idle(struct aio_context *c)
{
    ipl_t ipl = spin_lock(&c->lock);
    bool idle = list_empty(&c->active);

    spin_unlock(&c->lock, ipl);
    return idle;
}

/* Wait until nothing is under way. */
static int wait_idle(struct aio_context *c)
{
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&c->idle, &w);
        if (is_idle(c))
            break;
        err = wait_block(&w, WAIT_KILLABLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err;
}

int aio_context_destroy(struct aio_table *t, uint64_t number)
{
    uint64_t slot = (number - t->base) / AIO_STEP;
    struct aio_context *c = aio_context_get(t, number);
    bool ours;
    ipl_t ipl;
    int err;

    if (!c)
        return -EINVAL;
    ipl = spin_lock(&c->lock);
    ours = !c->dead;
    __atomic_store_n(&c->dead, true, __ATOMIC_RELAXED);
    (void)wake_one(&c->waiters);
    spin_unlock(&c->lock, ipl);
    err = ours ? wait_idle(c) : -EINVAL;
    if (!err) {
        ipl = spin_lock(&t->lock);
        t->slot[slot] = NULL;
        t->used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
        spin_unlock(&t->lock, ipl);
        aio_context_unref(c);
    }
    aio_context_unref(c);
    return err;
}

/* ---- tables ---- */

struct aio_table *aio_table_create(uint64_t base)
{
    uint16_t account = pool_account();
    struct aio_table *t = npp_alloc_charged(sizeof(*t), account);

    if (!t)
        return NULL;
    memset(t, 0, sizeof(*t));
    spin_init(&t->lock, "aio contexts", RANK_AIO_TABLE, IPL_ASTDEL);
    t->base = base;
    t->account = account;
    return t;
}

void aio_table_free(struct aio_table *t) { npp_free_charged(t, sizeof(*t), t->account); }

void aio_table_end(struct aio_table *t)
{
    for (unsigned k = 0; k < AIO_CONTEXTS; k++)
        if (t->slot[k])
            aio_context_unref(t->slot[k]);
    aio_table_free(t);
}
