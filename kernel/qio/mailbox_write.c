/* Writes to mailboxes, and messages of the kernel. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/qio/mailbox_private.h"

enum outcome { PUT, CLOSED, FULL };

/* Put m, which belongs to the mailbox from then on, with the request r that waits until it is read,
 * or NULL. PUT: it is there; CLOSED: the mailbox is gone, and m still the caller's; FULL: too many
 * check for readers, likewise. */
static enum outcome put(struct mailbox *b, struct mailbox_channel *c, struct mailbox_message *m,
                        struct io_request *r, bool check)
{
    ipl_t ipl = spin_lock(&b->lock);
    enum outcome outcome = PUT;

    if (b->gone || (c && c->closed))
        outcome = CLOSED;
    else if (r && check && !mailbox_keep_locked(b, READERS, &b->watched[READERS], &r->watch, r))
        outcome = FULL;
    if (outcome == PUT) {
        list_add_tail(&b->messages, &m->link);
        b->nmessages++;
        b->nbytes += m->length;
        if (r) {
            r->message = m;
            m->writer = r;
            r->order = ++b->order;
            list_add_tail(&c->own, &r->own);
        }
    }
    spin_unlock(&b->lock, ipl);
    return outcome;
}

/* Is there a message for which no read waits? *until gets the order of the last request that this
 * is news for. */
static bool is_left(struct mailbox *b, uint64_t *until)
{
    ipl_t ipl = spin_lock(&b->lock);
    bool left = !list_empty(&b->messages) && list_empty(&b->reads);

    *until = b->order;
    spin_unlock(&b->lock, ipl);
    return left;
}

/*
 * The message is in the mailbox: to a read that waits, or tell who wants to know.
 *
 * That a read was waiting when the message came is no promise that it gets this one: two writers
 * may both have seen the only read, or it is cancelled before mailbox_deliver() finds it. And that
 * none was waiting is no news once the message has been read: who has asked to be told then waits
 * for another one. So what is left after the delivery decides.
 *
 *   writer A: put, a read waits       writer B: put, the same read waits
 *   deliver: the read has A's
 *                                     deliver: no read; B's message is left, and told of
 *
 * Both may see that it is left. If A is late then, B's message may have been read, and a request
 * made that waits for another one:
 *
 *   A: is_left                        B: is_left, tells; the message is read
 *                                     a new request (its order is higher)
 *   tells nobody
 */
static void announce(struct mailbox *b)
{
    uint64_t until;

    mailbox_deliver(b);
    (void)wake_one(&b->lines);
    poll_notify(&b->polled, POLLIN | POLLRDNORM);
    if (is_left(b, &until))
        mailbox_post_all(b, &b->attention[WRITERS], until, 0);
}

static uint32_t readers_of(struct mailbox *b)
{
    ipl_t ipl = spin_lock(&b->lock);
    uint32_t n = b->users[READERS];

    spin_unlock(&b->lock, ipl);
    return n;
}

/* Write m, by the request r, which has been begun. */
static cond_t write_message(struct mailbox_channel *c, const struct mailbox_write *w,
                            struct mailbox_message *m, struct io_request *r)
{
    struct mailbox *b = c->box;
    uint32_t length = m->length;
    enum outcome outcome;

    if (w->check && !readers_of(b)) {
        mailbox_message_unref(m);
        event_post_self(&r->event, qio_status(SS$_NOREADER, 0, 0));
        return SS$_NORMAL;
    }
    outcome = put(b, c, m, w->now ? NULL : r, w->check);
    if (outcome == CLOSED || outcome == FULL) {
        mailbox_message_unref(m);
        mailbox_request_drop(r);
        return outcome == FULL ? SS$_EXQUOTA : SS$_NOPRIV;
    }
    announce(b);
    if (w->now)
        event_post_self(&r->event, qio_status(SS$_NORMAL, length, 0));
    else if (w->check && !readers_of(b)) /* the last one has gone before r was on the list */
        mailbox_side_ended(b, READERS);
    return SS$_NORMAL;
}

cond_t mailbox_write(struct qio_channel *q, const struct mailbox_who *who,
                     const struct qio_completion *done, const struct mailbox_write *w,
                     bool *interrupted)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    uint32_t length = w->eof ? 0 : (uint32_t)MIN(w->length, (uint64_t)UINT32_MAX);
    struct mailbox_message *m;
    struct io_request *r;
    cond_t status;

    if (length > c->box->maxmsg || mailbox_message_cost(c->box, length) > c->box->bufquo)
        return SS$_MBTOOSML;
    status = mailbox_wait_for_room(c, mailbox_message_cost(c->box, length), w->norswait,
                                   interrupted);
    if (status != SS$_NORMAL || *interrupted)
        return status;
    m = mailbox_message_make(c->box, length, who->pid);
    if (!m)
        return SS$_INSFMEM;
    m->eof = w->eof;
    status = copyin(m->bytes, w->buffer, length) != 0 ? SS$_ACCVIO : SS$_NORMAL;
    if (status == SS$_NORMAL)
        status = mailbox_request_make(who, done, false, &r);
    if (status == SS$_NORMAL)
        return write_message(c, w, m, r);
    mailbox_message_unref(m);
    return status;
}

cond_t mailbox_send(struct qio_channel *q, uint32_t pid, const struct mailbox_write *w,
                    bool *interrupted)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    uint32_t length = w->eof ? 0 : (uint32_t)MIN(w->length, (uint64_t)UINT32_MAX);
    uint32_t cost;
    struct mailbox_message *m;
    enum outcome outcome;
    cond_t status;

    if (length > c->box->maxmsg || mailbox_message_cost(c->box, length) > c->box->bufquo)
        return SS$_MBTOOSML;
    cost = mailbox_message_cost(c->box, length);
    status = mailbox_wait_for_room(c, cost, w->norswait, interrupted);
    if (status != SS$_NORMAL || *interrupted)
        return status;
    m = mailbox_message_make(c->box, length, pid);
    if (!m)
        return SS$_INSFMEM;
    m->eof = w->eof;
    if (length && copyin(m->bytes, w->buffer, length) != 0)
        status = SS$_ACCVIO;
    else if ((outcome = put(c->box, c, m, NULL, false)) == CLOSED)
        status = SS$_NOPRIV;
    if (status != SS$_NORMAL)
        mailbox_message_unref(m);
    else
        announce(c->box);
    return status;
}

cond_t mailbox_post(const struct mailbox_number *to, const void *message, uint32_t length,
                    uint32_t pid)
{
    struct mailbox *b = mailbox_find(to->unit);
    struct mailbox_message *m = NULL;
    cond_t status = SS$_NORMAL;
    enum outcome outcome;

    if (!b)
        return SS$_NOSUCHDEV;
    if (b->serial != to->serial)
        status = SS$_NOSUCHDEV;
    else if (length > b->maxmsg)
        status = SS$_MBTOOSML;
    else if (!mailbox_take_room(b, mailbox_message_cost(b, length)))
        status = SS$_MBFULL;
    else if (!(m = mailbox_message_make(b, length, pid)))
        status = SS$_INSFMEM;
    if (m) {
        memcpy(m->bytes, message, length);
        outcome = put(b, NULL, m, NULL, false);
        if (outcome == CLOSED) {
            mailbox_message_unref(m);
            status = SS$_NOSUCHDEV;
        } else {
            announce(b);
        }
    }
    mailbox_unref(b);
    return status;
}
