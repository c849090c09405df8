/*
 * The channels of a process: a table of fixed size, and what the process is charged for requests.
 *
 * The table's lock (RANK_CHANNELS) is held for the few instructions of looking up a number or
 * changing it; who has found a channel has a reference. A channel that is deassigned leaves the
 * table first; then the device closes it, so that a call which has found it just before begins
 * nothing any more; the last reference frees it.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/bitops.h"
#include "kernel/base/string.h"
#include "kernel/qio/qio.h"
#include "kernel/sched/spinlock.h"
#include "mm/pool/pool_charged.h"
#include "sysman/params.h"

#define WORDS ((QIO_CHANNELS + 63) / 64)

/* In nonpaged pool. */
struct qio_channels {
    struct spinlock lock;
    uint32_t refs;            /* atomic: the process's, and of what is charged to it */
    uint32_t requests;        /* atomic: outstanding */
    uint64_t bytes;           /* atomic: of buffers */
    struct qio_limits limits; /* constant */
    uint16_t account;         /* charged for this structure; constant */
    uint64_t used[WORDS];     /* a bit for each slot that is not NULL; lock */
    struct qio_channel *slot[QIO_CHANNELS]; /* lock */
};

struct qio_channels *qio_channels_create(uint16_t account, const struct qio_limits *limits)
{
    struct qio_channels *t = npp_alloc_charged(sizeof(*t), account);

    if (!t)
        return NULL;
    memset(t, 0, sizeof(*t));
    spin_init(&t->lock, "channels", RANK_CHANNELS, IPL_ASTDEL);
    t->refs = 1;
    t->limits = *limits;
    t->account = account;
    return t;
}

void qio_channels_ref(struct qio_channels *t) { __atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED); }

void qio_channels_unref(struct qio_channels *t)
{
    if (__atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) == 0)
        npp_free_charged(t, sizeof(*t), t->account);
}

/* ---- quotas ---- */

static uint32_t most_requests(const struct qio_limits *l)
{
    return l->requests ? l->requests : (uint32_t)sysparam(SYSPARAM_PQL_DBIOLM);
}

static uint32_t most_bytes(const struct qio_limits *l)
{
    return l->bytes ? l->bytes : (uint32_t)sysparam(SYSPARAM_PQL_DBYTLM);
}

void qio_counts(const struct qio_channels *t, const struct qio_limits *limits, struct qio_counts *c)
{
    uint32_t requests = t ? __atomic_load_n(&t->requests, __ATOMIC_RELAXED) : 0;
    uint64_t nbytes = t ? __atomic_load_n(&t->bytes, __ATOMIC_RELAXED) : 0;

    c->limit = (struct qio_limits){most_requests(limits), most_bytes(limits)};
    c->left.requests = c->limit.requests - MIN(requests, c->limit.requests);
    c->left.bytes = c->limit.bytes - (uint32_t)MIN(nbytes, (uint64_t)c->limit.bytes);
}

bool qio_charge_request(struct qio_channels *t)
{
    if (__atomic_add_fetch(&t->requests, 1, __ATOMIC_RELAXED) <= most_requests(&t->limits))
        return true;
    qio_release_request(t);
    return false;
}

void qio_release_request(struct qio_channels *t)
{
    __atomic_fetch_sub(&t->requests, 1, __ATOMIC_RELAXED);
}

bool qio_charge_bytes(struct qio_channels *t, uint64_t nbytes)
{
    if (__atomic_add_fetch(&t->bytes, nbytes, __ATOMIC_RELAXED) <= most_bytes(&t->limits))
        return true;
    qio_release_bytes(t, nbytes);
    return false;
}

void qio_release_bytes(struct qio_channels *t, uint64_t nbytes)
{
    __atomic_fetch_sub(&t->bytes, nbytes, __ATOMIC_RELAXED);
}

/* ---- channels ---- */

/* The first free slot, or one that does not exist. */
static unsigned free_slot_locked(const struct qio_channels *t)
{
    unsigned w = 0;

    while (w < WORDS - 1 && !~t->used[w])
        w++;
    return ~t->used[w] ? 64 * w + bit_lowest(~t->used[w]) : QIO_CHANNELS;
}

static void set_slot_locked(struct qio_channels *t, unsigned i, struct qio_channel *c)
{
    uint64_t bit = UINT64_C(1) << i % 64;

    t->slot[i] = c;
    t->used[i / 64] = c ? t->used[i / 64] | bit : t->used[i / 64] & ~bit;
}

cond_t qio_channel_enter(struct qio_channels *t, struct qio_channel *c, uint32_t *number)
{
    ipl_t ipl = spin_lock(&t->lock);
    unsigned i = free_slot_locked(t);

    if (i < QIO_CHANNELS)
        set_slot_locked(t, i, c);
    spin_unlock(&t->lock, ipl);
    *number = (i + 1) * QIO_CHANNEL_STEP;
    return i < QIO_CHANNELS ? SS$_NORMAL : SS$_NOIOCHAN;
}

static bool is_number(uint32_t number)
{
    uint32_t n = number / QIO_CHANNEL_STEP;

    return number % QIO_CHANNEL_STEP == 0 && n >= 1 && n <= QIO_CHANNELS;
}

cond_t qio_no_channel(uint32_t number) { return is_number(number) ? SS$_NOPRIV : SS$_IVCHAN; }

/* The place of a number, NULL: there is no such number. */
static struct qio_channel **place(struct qio_channels *t, uint32_t number)
{
    return is_number(number) ? &t->slot[number / QIO_CHANNEL_STEP - 1] : NULL;
}

struct qio_channel *qio_channel_get(struct qio_channels *t, uint32_t number)
{
    struct qio_channel **at = place(t, number), *c = NULL;
    ipl_t ipl;

    if (!at)
        return NULL;
    ipl = spin_lock(&t->lock);
    if ((c = *at))
        __atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);
    spin_unlock(&t->lock, ipl);
    return c;
}

void qio_channel_unref(struct qio_channel *c)
{
    if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) == 0)
        c->device->free(c);
}

void qio_channel_drop(struct qio_channel *c, enum qio_cancel why)
{
    c->device->cancel(c, why);
    c->device->deassign(c);
    qio_channel_unref(c);
}

cond_t qio_channel_deassign(struct qio_channels *t, uint32_t number, enum qio_cancel why)
{
    struct qio_channel **at = place(t, number), *c;
    ipl_t ipl;

    if (!at)
        return qio_no_channel(number);
    ipl = spin_lock(&t->lock);
    c = *at;
    set_slot_locked(t, (unsigned)(at - t->slot), NULL);
    spin_unlock(&t->lock, ipl);
    if (!c)
        return qio_no_channel(number);
    qio_channel_drop(c, why);
    return SS$_NORMAL;
}
