/*
 * Contexts of asynchronous I/O (aio.h).
 *
 * A request is on its context's list `active` while its disk works on it, and on `done` as an event
 * that nobody has taken yet. It moves in the interrupt that ends its transfer, with disk.lock held:
 * so who ends a transfer, which takes that lock, knows that the interrupt has done with it.
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

struct aio_context {      /* nonpaged pool */
    struct spinlock lock; /* RANK_AIO, IPL_DEVICE */
    uint32_t refs;        /* atomic: the table's, and of calls in progress */
    uint32_t most;        /* requests at a time; constant */
    uint32_t count;       /* requests that exist; atomic */
    uint32_t ready;       /* length of `done`; lock to write, atomic to read */
    uint32_t waiting;     /* threads that wait for events; lock */
    uint32_t wanted;      /* events for which one of them is woken; lock to write, atomic to read */
    bool dead;            /* nothing begins any more; lock to write, atomic to read */
    uint16_t account;     /* charged for it; constant */
    struct list active, done; /* lock */
    struct wait_queue waiters;
    struct wait_queue idle; /* who destroys it */
};

struct aio_request { /* nonpaged pool */
    struct block_transfer transfer;
    struct list link; /* in active or done; context's lock */
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

int aio_request_create(struct aio_context *c, uint64_t data, uint64_t object, struct file *eventfd,
                       struct aio_request **out)
{
    uint16_t account = pool_account();
    struct aio_request *r;

    if (__atomic_add_fetch(&c->count, 1, __ATOMIC_RELAXED) > c->most) {
        __atomic_sub_fetch(&c->count, 1, __ATOMIC_RELAXED);
        return -EAGAIN;
    }
    r = npp_alloc_charged(sizeof(*r), account);
    if (!r) {
        __atomic_sub_fetch(&c->count, 1, __ATOMIC_RELAXED);
        return -ENOMEM;
    }
    r->transfer.first = NULL;
    list_init(&r->link);
    r->context = c;
    r->eventfd = eventfd;
    r->event = (struct aio_event){.data = data, .object = object};
    r->gone = false;
    r->account = account;
    *out = r;
    return 0;
}

void aio_request_free(struct aio_request *r)
{
    block_transfer_end(&r->transfer, true);
    if (r->eventfd)
        file_unref(r->eventfd);
    __atomic_sub_fetch(&r->context->count, 1, __ATOMIC_RELAXED);
    npp_free_charged(r, sizeof(*r), r->account);
}

/* The request is an event from now on, or nothing. The context stays until its lock is released:
 * all is done with it held. */
static void finish(struct aio_request *r, int64_t result)
{
    struct aio_context *c = r->context;
    ipl_t ipl = spin_lock(&c->lock);

    r->event.result = result;
    if (!r->gone) {
        list_remove(&r->link);
        list_add_tail(&c->done, &r->link);
        __atomic_store_n(&c->ready, c->ready + 1, __ATOMIC_RELAXED);
        if (r->eventfd)
            eventfd_add(r->eventfd);
        if (c->waiting && c->ready >= c->wanted)
            (void)wake_one(&c->waiters);
        if (unlikely(c->dead) && list_empty(&c->active))
            (void)wake_one(&c->idle);
    }
    spin_unlock(&c->lock, ipl);
}

void aio_request_done(struct aio_request *r, int64_t result) { finish(r, result); }

static void transfer_done(struct block_transfer *t)
{
    finish(container_of(t, struct aio_request, transfer), t->err ? t->err : (int64_t)t->nbytes);
}

/* The request is made: from now on it belongs to its context. */
static int activate(struct aio_request *r)
{
    struct aio_context *c = r->context;
    ipl_t ipl = spin_lock(&c->lock);
    bool dead = c->dead;

    if (!dead)
        list_add_tail(&c->active, &r->link);
    spin_unlock(&c->lock, ipl);
    return dead ? -EINVAL : 0;
}

/* Add the parts, up to `most` bytes. */
static int add_parts(struct aio_request *r, const struct aio_part *part, unsigned n, uint64_t most)
{
    int err = 0;

    for (unsigned k = 0; k < n && most && !err; k++) {
        uint64_t nbytes = MIN(part[k].nbytes, most);

        err = block_transfer_add(&r->transfer, part[k].base, nbytes);
        most -= nbytes;
    }
    return err;
}

static int submit_write(struct aio_request *r, struct block_disk *d)
{
    int err = mutex_lock_shared_killable(&d->parts);

    if (err)
        return err;
    err = activate(r);
    if (!err)
        block_transfer_submit(&r->transfer);
    mutex_unlock_shared(&d->parts);
    return err;
}

static int submit(struct aio_request *r)
{
    int err = activate(r);

    if (!err)
        block_transfer_submit(&r->transfer);
    return err;
}

int aio_start(struct aio_request *r, struct file *f, bool write, const struct aio_part *part,
              unsigned n, uint64_t offset)
{
    const struct block_volume *v = disk_file_volume(f);
    uint64_t mask, size, nbytes = 0, asked, all = offset;
    int err;

    if (!v || !(f->flags & O_DIRECT) || (write && (f->flags & O_DSYNC)))
        return -EOPNOTSUPP;
    mask = v->disk->sector_bytes - 1;
    size = v->sectors * v->disk->sector_bytes;
    for (unsigned k = 0; k < n; k++) {
        nbytes += part[k].nbytes;
        all |= part[k].base | part[k].nbytes;
    }
    if (all & mask)
        return -EINVAL;
    asked = nbytes;
    nbytes = MIN(nbytes, size - MIN(offset, size));
    if (!nbytes && write && asked)
        return -ENOSPC;
    if (!nbytes) {
        aio_request_done(r, 0);
        return 0;
    }
    block_transfer_begin(&r->transfer, v, write ? BLOCK_WRITE : BLOCK_READ, offset, transfer_done);
    err = add_parts(r, part, n, nbytes);
    if (!err)
        err = write ? submit_write(r, v->disk) : submit(r);
    if (err)
        block_transfer_end(&r->transfer, false);
    return err;
}

int aio_start_flush(struct aio_request *r, struct file *f)
{
    const struct block_volume *v = disk_file_volume(f);
    int err;

    if (!v)
        return -EOPNOTSUPP;
    block_transfer_begin(&r->transfer, v, BLOCK_FLUSH, 0, transfer_done);
    err = block_transfer_flush(&r->transfer);
    if (!err)
        err = submit(r);
    if (err)
        block_transfer_end(&r->transfer, false);
    return err;
}

/* ---- events ---- */

unsigned aio_ready(const struct aio_context *c)
{
    return __atomic_load_n(&c->ready, __ATOMIC_RELAXED);
}

unsigned aio_take(struct aio_context *c, struct aio_event *to, unsigned most)
{
    unsigned n;

    for (n = 0; n < most; n++) {
        ipl_t ipl = spin_lock(&c->lock);
        struct list *first = list_pop_head(&c->done);
        struct aio_request *r;

        if (first)
            __atomic_store_n(&c->ready, c->ready - 1, __ATOMIC_RELAXED);
        spin_unlock(&c->lock, ipl);
        if (!first)
            break;
        r = list_entry(first, struct aio_request, link);
        to[n] = r->event;
        aio_request_free(r);
    }
    return n;
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

/* Free the requests of a context that nobody uses any more. Writes that are under way are carried
 * out. */
static void drain(struct aio_context *c)
{
    for (;;) {
        ipl_t ipl = spin_lock(&c->lock);
        struct list *first = list_pop_head(&c->active);
        struct aio_request *r;

        if (!first)
            first = list_pop_head(&c->done);
        r = first ? list_entry(first, struct aio_request, link) : NULL;
        if (r)
            r->gone = true;
        spin_unlock(&c->lock, ipl);
        if (!r)
            return;
        aio_request_free(r);
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
