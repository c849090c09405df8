/*
 * Requests for an AST when there is room in a mailbox (IO$M_MB_ROOM_NOTIFY).
 *
 * Room is given back wherever a message is freed: also as a request of a process that has ended is
 * posted, with the mailbox's lock held, or in an interrupt. The requests have a lock of their own
 * for that, of a higher rank and IPL. Because there can be many, they are posted by a timer, one
 * each time it expires, and by nobody who holds a lock.
 *
 * A request is posted when room comes after it was queued, and at once if no message takes any:
 * otherwise some message does, whose end gives room. So a writer that has found the mailbox full
 * and asks for room then does not wait for ever, though the last message went in between:
 *
 *   writer                           reader
 *   no room
 *                                    frees the last message: `used` is 0, nobody asks
 *   is queued, sees that `used` is 0
 *
 * What has room for a message of one length need not have it for another: a writer tries, and asks
 * again. Requests that come while others are told wait for the next message, so that such a writer
 * does not ask without end.
 *
 * The timer is one for each mailbox and runs while requests are left, of which there are at most
 * MAILBOX_WANTED, each charged to who asks; so it counts towards nobody's timers.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/qio/mailbox_private.h"

#define BREAK_NS 20000u /* between one and the next */

static void detach_locked(struct mailbox *b, struct io_request *r)
{
    list_remove(&r->queue);
    list_remove(&r->own);
    __atomic_fetch_sub(&b->nwanted, 1, __ATOMIC_SEQ_CST);
}

/* Take the first request for which room has come. NULL: there is none, and nobody tells. */
static struct io_request *take_told(struct mailbox *b)
{
    ipl_t ipl = spin_lock(&b->room_lock);
    struct list *l = list_first(&b->wanted);
    struct io_request *r = l ? list_entry(l, struct io_request, queue) : NULL;

    if (r && r->order > b->want_until)
        r = NULL;
    if (r)
        detach_locked(b, r);
    else
        b->telling = false;
    spin_unlock(&b->room_lock, ipl);
    return r;
}

static void tell(struct timer *t)
{
    struct mailbox *b = container_of(t, struct mailbox, tell);
    struct io_request *r = take_told(b);

    if (!r) { /* from here on another one may start the timer, with its own reference */
        mailbox_unref(b);
        return;
    }
    event_post(&r->event, 0);
    timer_start(t, clock_ns() + BREAK_NS);
}

void mailbox_room_init(struct mailbox *b)
{
    spin_init(&b->room_lock, "room in a mailbox", RANK_ROOM, IPL_CLOCK);
    list_init(&b->wanted);
    b->tell.fn = tell;
}

void mailbox_room_came(struct mailbox *b)
{
    bool start;
    ipl_t ipl;

    if (!__atomic_load_n(&b->nwanted, __ATOMIC_SEQ_CST))
        return;
    ipl = spin_lock(&b->room_lock);
    b->want_until = b->want_order;
    start = !b->telling && !list_empty(&b->wanted);
    if (start) {
        b->telling = true;
        mailbox_ref(b);
        timer_start(&b->tell, clock_ns());
    }
    spin_unlock(&b->room_lock, ipl);
}

/* Queue the request. `used` is looked at behind that: who gives room back changes it first. */
static cond_t queue(struct mailbox_channel *c, struct io_request *a)
{
    struct mailbox *b = c->box;
    cond_t status = SS$_NORMAL;
    ipl_t ipl = spin_lock(&b->room_lock);

    if (c->no_room)
        status = SS$_NOPRIV;
    else if (b->nwanted == MAILBOX_WANTED)
        status = SS$_EXQUOTA;
    if (status == SS$_NORMAL) {
        a->order = ++b->want_order;
        __atomic_fetch_add(&b->nwanted, 1, __ATOMIC_SEQ_CST);
        list_add_tail(&b->wanted, &a->queue);
        list_add_tail(&c->wanted, &a->own);
    }
    spin_unlock(&b->room_lock, ipl);
    return status;
}

cond_t mailbox_want_room(struct mailbox_channel *c, struct io_request *a)
{
    cond_t status = queue(c, a);

    if (status == SS$_NORMAL && !__atomic_load_n(&c->box->used, __ATOMIC_SEQ_CST))
        mailbox_room_came(c->box);
    return status;
}

static struct io_request *take_own(struct mailbox *b, struct mailbox_channel *c, uint64_t until)
{
    ipl_t ipl = spin_lock(&b->room_lock);
    struct list *l = list_first(&c->wanted);
    struct io_request *r = l ? list_entry(l, struct io_request, own) : NULL;

    if (r && r->order > until)
        r = NULL;
    if (r)
        detach_locked(b, r);
    spin_unlock(&b->room_lock, ipl);
    return r;
}

void mailbox_want_no_room(struct mailbox_channel *c, bool closes)
{
    struct mailbox *b = c->box;
    uint64_t until;
    struct io_request *r;
    ipl_t ipl = spin_lock(&b->room_lock);

    c->no_room = c->no_room || closes;
    until = b->want_order; /* another thread may ask on */
    spin_unlock(&b->room_lock, ipl);
    while ((r = take_own(b, c, until)))
        mailbox_request_drop(r);
}
