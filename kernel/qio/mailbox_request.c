/*
 * Requests to mailboxes: made, queued, posted and cancelled. The rules of their queues are in
 * README.md.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/qio/mailbox_private.h"
#include "mm/pool/pool_charged.h"

/* The request was posted, or will not be: free it, with what it has read. */
static void release(struct event_request *e)
{
    struct io_request *r = container_of(e, struct io_request, event);
    struct list *l;

    while ((l = list_pop_head(&r->taken)))
        mailbox_message_unref(list_entry(l, struct mailbox_message, link));
    if (r->last)
        mailbox_message_unref(r->last);
    if (r->charged) {
        qio_release_request(r->charged);
        qio_channels_unref(r->charged);
    }
    npp_free_charged(r, sizeof(*r), r->account);
}

cond_t mailbox_request_make(const struct mailbox_who *who, const struct qio_completion *done,
                            bool notice, struct io_request **out)
{
    uint16_t account = pool_account();
    struct io_request *r;
    cond_t status;

    if (!notice && !qio_charge_request(who->channels))
        return SS$_EXQUOTA;
    r = npp_alloc_charged(sizeof(*r), account);
    if (!r) {
        if (!notice)
            qio_release_request(who->channels);
        return SS$_INSFMEM;
    }
    memset(r, 0, sizeof(*r));
    list_init(&r->queue);
    list_init(&r->own);
    list_init(&r->watch);
    list_init(&r->taken);
    r->account = account;
    r->pid = who->pid;
    if (!notice) {
        qio_channels_ref(who->channels);
        r->charged = who->channels;
    }
    r->event.release = release;
    status = event_request_begin(&r->event, done->owner, done->efn, done->iosb, done->astadr,
                                 done->astprm);
    if (status != SS$_NORMAL)
        release(&r->event);
    else
        *out = r;
    return status;
}

void mailbox_request_drop(struct io_request *r)
{
    event_request_cancel(&r->event);
    release(&r->event);
}

void mailbox_queue_locked(struct mailbox *b, struct list *queue, struct list *own,
                          struct io_request *r)
{
    r->order = ++b->order;
    list_add_tail(queue, &r->queue);
    list_add_tail(own, &r->own);
}

bool mailbox_keep_locked(struct mailbox *b, unsigned side, struct list *list, struct list *link,
                         struct io_request *r)
{
    if (b->nkept[side] == MAILBOX_KEPT)
        return false;
    b->nkept[side]++;
    r->kept = (uint8_t)(1 + side);
    list_add_tail(list, link);
    return true;
}

bool mailbox_queue_kept_locked(struct mailbox *b, unsigned side, struct list *queue,
                               struct list *own, struct io_request *r)
{
    bool kept = mailbox_keep_locked(b, side, queue, &r->queue, r);

    if (kept) {
        r->order = ++b->order;
        list_add_tail(own, &r->own);
    }
    return kept;
}

void mailbox_detach_locked(struct mailbox *b, struct io_request *r)
{
    if (r->kept)
        b->nkept[r->kept - 1]--;
    r->kept = 0;
    list_remove(&r->queue);
    list_remove(&r->own);
    list_remove(&r->watch);
}

/* The first of a queue, if it was queued before that number. */
static struct io_request *first_until(const struct list *queue, uint64_t order)
{
    struct list *l = list_first(queue);
    struct io_request *r = l ? list_entry(l, struct io_request, queue) : NULL;

    return r && r->order <= order ? r : NULL;
}

void mailbox_post_all(struct mailbox *b, struct list *queue, uint64_t until, uint64_t answer)
{
    struct io_request *r;

    do {
        ipl_t ipl = spin_lock(&b->lock);

        r = first_until(queue, until);
        if (r) {
            mailbox_detach_locked(b, r);
            event_post(&r->event, answer);
        }
        spin_unlock(&b->lock, ipl);
    } while (r);
}

/* ---- the end of requests ---- */

static uint64_t order_now(struct mailbox *b)
{
    ipl_t ipl = spin_lock(&b->lock);
    uint64_t order = b->order;

    spin_unlock(&b->lock, ipl);
    return order;
}

/* Take the message of r, which nobody has read, out of the queue; NULL: it has none. The caller
 * gives it up. Lock held. */
static struct mailbox_message *withdraw_locked(struct mailbox *b, struct io_request *r)
{
    struct mailbox_message *m = r->message;

    if (m) {
        mailbox_unqueue_locked(b, m);
        m->writer = NULL;
        r->message = NULL;
    }
    return m;
}

/* Take the first request of a channel's list off all lists, if it was queued until then. */
static struct io_request *take_own(struct mailbox *b, struct list *own, uint64_t until,
                                   struct mailbox_message **m)
{
    ipl_t ipl = spin_lock(&b->lock);
    struct list *l = list_first(own);
    struct io_request *r = l ? list_entry(l, struct io_request, own) : NULL;

    if (r && r->order > until)
        r = NULL;
    if (r) {
        mailbox_detach_locked(b, r);
        *m = withdraw_locked(b, r);
    }
    spin_unlock(&b->lock, ipl);
    return r;
}

void mailbox_end_own(struct mailbox *b, struct list *own, bool drop)
{
    uint64_t until = order_now(b);
    struct mailbox_message *m;
    struct io_request *r;

    while ((r = take_own(b, own, until, &m))) {
        if (m)
            mailbox_message_unref(m);
        if (drop)
            mailbox_request_drop(r);
        else
            event_post(&r->event, qio_status(SS$_CANCEL, 0, 0));
    }
}

/* ---- ends ---- */

void mailbox_side_ended(struct mailbox *b, unsigned side)
{
    struct mailbox_message *m;
    struct io_request *r;

    do {
        ipl_t ipl = spin_lock(&b->lock);
        struct list *l = b->users[side] ? NULL : list_first(&b->watched[side]);

        m = NULL;
        r = l ? list_entry(l, struct io_request, watch) : NULL;
        if (r) {
            mailbox_detach_locked(b, r);
            m = withdraw_locked(b, r);
            event_post(&r->event, qio_status(side == WRITERS ? SS$_NOWRITER : SS$_NOREADER, 0, 0));
        }
        spin_unlock(&b->lock, ipl);
        if (m)
            mailbox_message_unref(m);
    } while (r);
}

void mailbox_cancel(struct qio_channel *q, enum qio_cancel why)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    struct mailbox *b = c->box;
    ipl_t ipl;

    if (why != QIO_CANCEL) {
        ipl = spin_lock(&b->lock);
        c->closed = true;
        spin_unlock(&b->lock, ipl);
        (void)wake_all(&b->room);
    }
    mailbox_end_own(b, &c->own, false);
    for (unsigned side = 0; side < SIDES; side++)
        mailbox_end_own(b, &c->notices[side], true);
    mailbox_want_no_room(c, why != QIO_CANCEL);
}
