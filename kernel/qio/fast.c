/*
 * Tables of buffer objects and fandles (fast.h). The table's lock (RANK_FAST, IPL_DEVICE) is held
 * for the few instructions of a look-up or a change; interrupts that end requests take it.
 *
 * A handle or fandle is the slot's number and, above it, how many there have been before, so that
 * one that was deleted is not taken for its successor.
 */
#include "kernel/qio/fast.h"

#include "kernel/base/abi/ssdef.h"
#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/spinlock.h"
#include "mm/pool/pool_charged.h"

#define SLOT_BITS 16u
#define WORDS(n)  (((n) + 63) / 64)

struct buffer {
    struct pin_set *set; /* NULL: the slot is free */
    uint64_t handle;
};

struct qio_fast { /* nonpaged pool */
    struct spinlock lock;
    uint64_t made;    /* handles and fandles so far; lock, as all that follows */
    uint16_t account; /* constant */
    uint64_t buffers[WORDS(QIO_BUFFERS)]; /* a bit for each slot in use */
    uint64_t fandles[WORDS(QIO_FANDLES)];
    struct buffer buffer[QIO_BUFFERS];
    struct qio_fandle *fandle[QIO_FANDLES];
};

struct qio_fast *qio_fast_create(uint16_t account)
{
    struct qio_fast *t = npp_alloc_charged(sizeof(*t), account);

    if (!t)
        return NULL;
    memset(t, 0, sizeof(*t));
    spin_init(&t->lock, "fast I/O", RANK_FAST, IPL_DEVICE);
    t->account = account;
    return t;
}

/* The number of the next entry, in this slot. */
static uint64_t next_number(struct qio_fast *t, unsigned slot)
{
    return ++t->made << SLOT_BITS | (slot + 1);
}

static unsigned slot_of(uint64_t number)
{
    return (unsigned)(number & ((1u << SLOT_BITS) - 1)) - 1;
}

/* Take the lowest slot of `used`, which has so many words; or one that does not exist. */
static unsigned take_slot(uint64_t *used, unsigned words)
{
    unsigned w = 0, bit;

    while (w < words && !~used[w])
        w++;
    if (w == words)
        return 64 * words;
    bit = bit_lowest(~used[w]);
    used[w] |= UINT64_C(1) << bit;
    return 64 * w + bit;
}

static void give_slot(uint64_t *used, unsigned slot)
{
    used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

_Static_assert(QIO_BUFFERS % 64 == 0 && QIO_FANDLES % 64 == 0, "each bit has a slot");

/* ---- buffer objects ---- */

cond_t qio_buffer_enter(struct qio_fast *t, struct pin_set *s, uint64_t *handle)
{
    ipl_t ipl = spin_lock(&t->lock);
    unsigned k = take_slot(t->buffers, ARRAY_SIZE(t->buffers));

    if (k < QIO_BUFFERS) {
        *handle = next_number(t, k);
        t->buffer[k] = (struct buffer){s, *handle};
    }
    spin_unlock(&t->lock, ipl);
    return k < QIO_BUFFERS ? SS$_NORMAL : SS$_EXBUFOBJLM;
}

/* NULL: there is none. */
static struct buffer *buffer_locked(struct qio_fast *t, uint64_t handle)
{
    unsigned k = slot_of(handle);

    return k < QIO_BUFFERS && t->buffer[k].set && t->buffer[k].handle == handle ? &t->buffer[k]
                                                                                : NULL;
}

cond_t qio_buffer_delete(struct qio_fast *t, uint64_t handle)
{
    ipl_t ipl = spin_lock(&t->lock);
    struct buffer *b = buffer_locked(t, handle);
    struct pin_set *s = b ? b->set : NULL;

    if (b) {
        b->set = NULL;
        give_slot(t->buffers, slot_of(handle));
    }
    spin_unlock(&t->lock, ipl);
    if (s)
        pin_set_unref(s);
    return s ? SS$_NORMAL : SS$_ILLBUFOBJ;
}

static struct pin_set *buffer_get(struct qio_fast *t, uint64_t handle)
{
    ipl_t ipl = spin_lock(&t->lock);
    struct buffer *b = buffer_locked(t, handle);
    struct pin_set *s = b ? b->set : NULL;

    if (s)
        pin_set_ref(s);
    spin_unlock(&t->lock, ipl);
    return s;
}

/* ---- fandles ---- */

static struct qio_fandle *fandle_locked(const struct qio_fast *t, uint64_t number)
{
    unsigned k = slot_of(number);

    return k < QIO_FANDLES && t->fandle[k] && t->fandle[k]->number == number ? t->fandle[k] : NULL;
}

/* Free a fandle that nobody finds any more, and what it has kept. */
static void discard(struct qio_fandle *f)
{
    struct list *l;

    while ((l = list_pop_head(&f->spare)) != NULL) {
        struct qio_fast_request *r = list_entry(l, struct qio_fast_request, spare);

        r->free(r);
    }
    if (f->data)
        pin_set_unref(f->data);
    if (f->iosa)
        pin_set_unref(f->iosa);
    npp_free_charged(f, sizeof(*f), f->account);
}

static cond_t fandle_enter(struct qio_fast *t, struct qio_fandle *f, uint64_t *number)
{
    ipl_t ipl = spin_lock(&t->lock);
    unsigned k = take_slot(t->fandles, ARRAY_SIZE(t->fandles));

    if (k < QIO_FANDLES) {
        *number = f->number = next_number(t, k);
        t->fandle[k] = f; /* another thread that guesses the number may delete it */
    }
    spin_unlock(&t->lock, ipl);
    return k < QIO_FANDLES ? SS$_NORMAL : SS$_EXQUOTA;
}

cond_t qio_fandle_create(struct qio_fast *t, const struct qio_setup *s, uint64_t *number)
{
    uint16_t account = pool_account();
    struct qio_fandle *f = npp_alloc_charged(sizeof(*f), account);
    cond_t status = SS$_ILLBUFOBJ;

    if (!f)
        return SS$_INSFMEM;
    memset(f, 0, sizeof(*f));
    f->setup = *s;
    f->account = account;
    list_init(&f->spare);
    f->data = buffer_get(t, s->data);
    f->iosa = buffer_get(t, s->iosa);
    if (f->data && f->iosa)
        status = fandle_enter(t, f, number);
    if (status != SS$_NORMAL)
        discard(f);
    return status;
}

cond_t qio_fandle_delete(struct qio_fast *t, uint64_t number)
{
    ipl_t ipl = spin_lock(&t->lock);
    struct qio_fandle *f = fandle_locked(t, number);
    cond_t status = !f ? SS$_BADFANDLE : f->busy ? SS$_FANDLEBUSY : SS$_NORMAL;

    if (status == SS$_NORMAL) {
        t->fandle[slot_of(number)] = NULL;
        give_slot(t->fandles, slot_of(number));
    }
    spin_unlock(&t->lock, ipl);
    if (status == SS$_NORMAL)
        discard(f);
    return status;
}

struct qio_fandle *qio_fast_begin(struct qio_fast *t, uint64_t number, struct qio_fast_request **r)
{
    ipl_t ipl = spin_lock(&t->lock);
    struct qio_fandle *f = fandle_locked(t, number);
    struct list *first = NULL;

    if (likely(f != NULL)) {
        f->busy++;
        first = list_pop_head(&f->spare);
    }
    spin_unlock(&t->lock, ipl);
    *r = first ? list_entry(first, struct qio_fast_request, spare) : NULL;
    return f;
}

static inline void end_locked(struct qio_fandle *f, struct qio_fast_request *r)
{
    f->busy--;
    if (r)
        list_add_head(&f->spare, &r->spare);
}

void qio_fast_end(struct qio_fast *t, struct qio_fandle *f, struct qio_fast_request *r)
{
    ipl_t ipl = spin_lock(&t->lock);

    end_locked(f, r);
    spin_unlock(&t->lock, ipl);
}

/* The status area is written with the lock held: once the fandle is not busy, another thread may
 * give it up as soon as the lock is free, and with it the page of the status area. */
void qio_fast_end_telling(struct qio_fast *t, struct qio_fandle *f, struct qio_fast_request *r,
                          uint64_t *nbytes, uint64_t count, uint64_t *status, uint64_t value)
{
    ipl_t ipl = spin_lock(&t->lock);

    end_locked(f, r);
    *nbytes = count;
    __atomic_store_n(status, value, __ATOMIC_RELEASE);
    spin_unlock(&t->lock, ipl);
}

void qio_fast_free(struct qio_fast *t)
{
    for (unsigned k = 0; k < QIO_FANDLES; k++)
        if (t->fandle[k]) {
            KASSERT(!t->fandle[k]->busy, "requests of a program have ended before its fandles");
            discard(t->fandle[k]);
        }
    for (unsigned k = 0; k < QIO_BUFFERS; k++)
        if (t->buffer[k].set)
            pin_set_unref(t->buffer[k].set);
    npp_free_charged(t, sizeof(*t), t->account);
}
