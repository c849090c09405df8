/*
 * Requests to mailboxes.
 *
 * The mailbox's lock (RANK_MAILBOX) protects its queues, and the list of each channel's requests.
 * Either messages wait for reads or reads for messages, never both for longer than it takes
 * deliver() to bring them together. A request that is complete is posted with the lock held, so
 * requests complete in the order in which messages were taken. No user memory is accessed with the
 * lock held: a message is copied from its writer before, and to its reader by the thread that
 * completes the read; between them it is handed over by pointer. A hold takes a bounded number of
 * steps, whatever is queued: one request, or AT_ONCE messages.
 *
 * Room for messages (`used`) is taken by an atomic addition, and given back when the memory is. Who
 * waits for it is woken one at a time, and wakes the next one if there is room left: so is a writer
 * that gives up, because it may have been woken for nothing.
 *
 *   writer A                      reader                      writer B
 *   no room, waits
 *                                 frees a message, wakes A
 *   interrupted by a signal
 *   wakes B, which has come to wait meanwhile                 takes the room
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/qio/mailbox_private.h"
#include "mm/pool/pool_charged.h"

#define AT_ONCE 16u

/* ---- messages ---- */

static size_t size_of(uint32_t length) { return sizeof(struct mailbox_message) + length; }

size_t mailbox_message_size(const struct mailbox_message *m) { return size_of(m->length); }

/* What a message takes of the buffer quota: those without bytes are counted too. */
static uint32_t cost_of(uint32_t length) { return MAX(length, 1u); }

static bool has_room(const struct mailbox *b)
{
    return __atomic_load_n(&b->used, __ATOMIC_SEQ_CST) < b->bufquo;
}

static bool take_room(struct mailbox *b, uint32_t n)
{
    if (__atomic_add_fetch(&b->used, n, __ATOMIC_SEQ_CST) <= b->bufquo)
        return true;
    __atomic_fetch_sub(&b->used, n, __ATOMIC_SEQ_CST);
    return false;
}

static void give_room(struct mailbox *b, uint32_t n)
{
    __atomic_fetch_sub(&b->used, n, __ATOMIC_SEQ_CST);
    (void)wake_one(&b->room);
}

/* A message whose room is taken; NULL: no memory, and the room is given back. */
static struct mailbox_message *message_make(struct mailbox *b, uint32_t length, uint32_t pid)
{
    struct mailbox_message *m = npp_alloc_charged(size_of(length), b->account);

    if (!m) {
        give_room(b, cost_of(length));
        return NULL;
    }
    *m = (struct mailbox_message){.box = b, .refs = 1, .length = length, .pid = pid};
    list_init(&m->link);
    mailbox_ref(b);
    return m;
}

/* Any IPL up to IPL_CLOCK, locks below RANK_POOL. */
static void message_unref(struct mailbox_message *m)
{
    struct mailbox *b = m->box;

    if (__atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    give_room(b, cost_of(m->length));
    npp_free_charged(m, mailbox_message_size(m), b->account);
    mailbox_unref(b);
}

static uint32_t rest_of(const struct mailbox_message *m) { return m->length - m->start; }

static struct mailbox_message *first_message(const struct mailbox *b)
{
    struct list *l = list_first(&b->messages);

    return l ? list_entry(l, struct mailbox_message, link) : NULL;
}

/* Take m off the queue; its reference is the caller's. Lock held. */
static void unqueue_locked(struct mailbox *b, struct mailbox_message *m)
{
    list_remove(&m->link);
    b->nmessages--;
    b->nbytes -= rest_of(m);
}

void mailbox_purge(struct mailbox *b)
{
    struct mailbox_message *m;

    do {
        ipl_t ipl = spin_lock(&b->lock);

        m = first_message(b);
        if (m)
            unqueue_locked(b, m);
        spin_unlock(&b->lock, ipl);
        if (m)
            message_unref(m);
    } while (m);
}

/* ---- requests ---- */

/* The request was posted, or will not be: free it, with what it has read. */
static void release(struct event_request *e)
{
    struct io_request *r = container_of(e, struct io_request, event);
    struct list *l;

    while ((l = list_pop_head(&r->taken)))
        message_unref(list_entry(l, struct mailbox_message, link));
    if (r->last)
        message_unref(r->last);
    if (r->charged) {
        qio_release_request(r->charged);
        qio_channels_unref(r->charged);
    }
    npp_free_charged(r, sizeof(*r), r->account);
}

static bool copy_part(struct io_request *r, uint32_t *at, const char *from, uint32_t n)
{
    n = MIN(n, r->length - *at);
    if (copyout(r->buffer + *at, from, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Copy what was read to the reader's memory; if that is gone, the data are lost. */
static bool copy_out(struct event_request *e)
{
    struct io_request *r = container_of(e, struct io_request, event);
    const struct mailbox_message *m;
    uint32_t at = 0;
    bool good = true;

    list_for_each_entry(m, &r->taken, link)
        good = good && copy_part(r, &at, m->bytes + m->start, rest_of(m));
    if (r->last)
        good = good && copy_part(r, &at, r->last->bytes + r->last_start, r->last_count);
    if (!good)
        e->status = qio_status(SS$_ACCVIO, 0, 0);
    return true;
}

/* A request that is on no queue. notice: it is charged as an AST only. */
static cond_t request_make(const struct mailbox_who *who, const struct qio_completion *done,
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

/* Drop a request that was begun. */
static void request_drop(struct io_request *r)
{
    event_request_cancel(&r->event);
    release(&r->event);
}

/* A request that completes at once with this quadword. */
static cond_t complete_now(const struct mailbox_who *who, const struct qio_completion *done,
                           uint64_t answer)
{
    struct io_request *r;
    cond_t status = request_make(who, done, false, &r);

    if (status == SS$_NORMAL)
        event_post_self(&r->event, answer);
    return status;
}

/* Queue r, as one of a channel's. Lock held. */
static void queue_locked(struct mailbox *b, struct list *queue, struct list *own,
                         struct io_request *r)
{
    r->order = ++b->order;
    list_add_tail(queue, &r->queue);
    list_add_tail(own, &r->own);
}

/* Take r off all lists. Lock held. */
static void detach_locked(struct io_request *r)
{
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

static uint64_t order_now(struct mailbox *b)
{
    ipl_t ipl = spin_lock(&b->lock);
    uint64_t order = b->order;

    spin_unlock(&b->lock, ipl);
    return order;
}

/* Complete all requests that are on a queue now, one in a hold. Those that come meanwhile, because
 * an AST asks again, stay. */
static void post_all(struct mailbox *b, struct list *queue, uint64_t answer)
{
    uint64_t until = order_now(b);
    struct io_request *r;

    do {
        ipl_t ipl = spin_lock(&b->lock);

        r = first_until(queue, until);
        if (r) {
            detach_locked(r);
            event_post(&r->event, answer);
        }
        spin_unlock(&b->lock, ipl);
    } while (r);
}

/* ---- the end of requests ---- */

/* Take the message of r, which nobody has read, out of the queue; NULL: it has none. The caller
 * gives it up. Lock held. */
static struct mailbox_message *withdraw_locked(struct mailbox *b, struct io_request *r)
{
    struct mailbox_message *m = r->message;

    if (m) {
        unqueue_locked(b, m);
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
        detach_locked(r);
        *m = withdraw_locked(b, r);
    }
    spin_unlock(&b->lock, ipl);
    return r;
}

/* End the requests that are on a channel's list now, one in a hold. drop: they complete with
 * nothing, because they are for attention. */
static void end_own(struct mailbox *b, struct list *own, bool drop)
{
    uint64_t until = order_now(b);
    struct mailbox_message *m;
    struct io_request *r;

    while ((r = take_own(b, own, until, &m))) {
        if (m)
            message_unref(m);
        if (drop)
            request_drop(r);
        else
            event_post(&r->event, qio_status(SS$_CANCEL, 0, 0));
    }
}

/* ---- reading ---- */

/* Take a whole message for r; its writer's request is complete. Lock held. */
static void take_locked(struct mailbox *b, struct io_request *r, struct mailbox_message *m)
{
    struct io_request *w = m->writer;

    unqueue_locked(b, m);
    list_add_tail(&r->taken, &m->link);
    if (!w)
        return;
    m->writer = NULL;
    w->message = NULL;
    detach_locked(w);
    event_post(&w->event, qio_status(SS$_NORMAL, m->length, r->pid));
}

/* Give r the first message. Lock held. */
static void serve_record_locked(struct mailbox *b, struct io_request *r, struct mailbox_message *m)
{
    uint32_t n = MIN(rest_of(m), r->length);
    cond_t status = m->eof ? SS$_ENDOFFILE : n < rest_of(m) ? SS$_BUFFEROVF : SS$_NORMAL;

    take_locked(b, r, m);
    r->got = n;
    r->answer = qio_status(status, n, m->pid);
}

/* Give r bytes, up to its length, to a mark or to the end. False: AT_ONCE messages were taken, and
 * there may be more for it. Lock held. */
static bool serve_stream_locked(struct mailbox *b, struct io_request *r)
{
    struct mailbox_message *m = first_message(b);
    uint32_t n, pid = r->got ? (uint32_t)(r->answer >> 32) : m->pid;

    if (!r->got && m->eof) {
        serve_record_locked(b, r, m);
        return true;
    }
    for (unsigned i = 0; i < AT_ONCE && m && !m->eof && r->got < r->length; i++) {
        n = MIN(rest_of(m), r->length - r->got);
        r->got += n;
        if (n == rest_of(m)) {
            take_locked(b, r, m);
        } else {
            __atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
            r->last = m;
            r->last_start = m->start;
            r->last_count = n;
            m->start += n;
            b->nbytes -= n;
        }
        m = first_message(b);
    }
    r->answer = qio_status(SS$_NORMAL, r->got, pid);
    return !m || m->eof || r->got == r->length;
}

/* There is a message. True: r has all it gets. Lock held. */
static bool serve_locked(struct mailbox *b, struct io_request *r)
{
    if (r->stream)
        return serve_stream_locked(b, r);
    serve_record_locked(b, r, first_message(b));
    return true;
}

/* Bring messages and waiting reads together. */
static void deliver(struct mailbox *b)
{
    struct io_request *r;

    do {
        ipl_t ipl = spin_lock(&b->lock);

        r = list_empty(&b->messages) ? NULL : first_until(&b->reads, UINT64_MAX);
        if (r) {
            detach_locked(r);
            (void)serve_locked(b, r);
            event_post(&r->event, r->answer);
        }
        spin_unlock(&b->lock, ipl);
    } while (r);
}

enum outcome { COMPLETE, MORE, QUEUED, CLOSED };

/* One step of a read that has been begun. */
static enum outcome read_step(struct mailbox_channel *c, const struct mailbox_read *w,
                              struct io_request *r)
{
    struct mailbox *b = c->box;
    enum outcome outcome = COMPLETE;
    ipl_t ipl = spin_lock(&b->lock);

    if (c->closed) {
        outcome = r->got ? COMPLETE : CLOSED;
    } else if (r->stream && !w->length) {
        r->answer = qio_status(SS$_NORMAL, 0, 0);
    } else if (!list_empty(&b->messages) && list_empty(&b->reads)) {
        outcome = serve_locked(b, r) ? COMPLETE : MORE;
    } else if (r->got) {
        /* others have read the rest */
    } else if (w->now) {
        r->answer = qio_status(SS$_ENDOFFILE, 0, 0);
    } else if (w->check && !b->users[WRITERS]) {
        r->answer = qio_status(SS$_NOWRITER, 0, 0);
    } else {
        queue_locked(b, &b->reads, &c->own, r);
        if (w->check)
            list_add_tail(&b->watched[WRITERS], &r->watch);
        outcome = QUEUED;
    }
    spin_unlock(&b->lock, ipl);
    return outcome;
}

cond_t mailbox_read(struct qio_channel *q, const struct mailbox_who *who,
                    const struct qio_completion *done, const struct mailbox_read *w)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    uint64_t most = w->stream ? c->box->bufquo : c->box->maxmsg;
    uint32_t length = (uint32_t)MIN(MIN(w->length, most), (uint64_t)MAILBOX_MSG_MAX);
    enum outcome outcome;
    struct io_request *r;
    cond_t status;

    if (length && probe_write(w->buffer, length) != 0)
        return SS$_ACCVIO;
    status = request_make(who, done, false, &r);
    if (status != SS$_NORMAL)
        return status;
    r->stream = w->stream;
    r->buffer = w->buffer;
    r->length = length;
    r->event.finish = copy_out;
    do {
        outcome = read_step(c, w, r);
    } while (outcome == MORE);
    switch (outcome) {
    case CLOSED:
        request_drop(r);
        return SS$_IVCHAN;
    case QUEUED: /* r may be gone already */
        post_all(c->box, &c->box->attention[READERS], 0);
        deliver(c->box);
        return SS$_NORMAL;
    default:
        event_post_self(&r->event, r->answer);
        return SS$_NORMAL;
    }
}

/* ---- writing ---- */

static bool is_closed(struct mailbox_channel *c)
{
    ipl_t ipl = spin_lock(&c->box->lock);
    bool closed = c->closed;

    spin_unlock(&c->box->lock, ipl);
    return closed;
}

/* Take room for n bytes, waiting for it. SS$_NORMAL, SS$_MBFULL, SS$_IVCHAN; *interrupted. */
static cond_t wait_for_room(struct mailbox_channel *c, uint32_t n, bool norswait, bool *interrupted)
{
    struct mailbox *b = c->box;
    cond_t status = SS$_NORMAL;
    struct waiter w;

    if (take_room(b, n))
        return SS$_NORMAL;
    if (norswait)
        return SS$_MBFULL;
    for (;;) {
        wait_enqueue(&b->room, &w);
        if (is_closed(c)) {
            status = SS$_IVCHAN;
            break;
        }
        if (take_room(b, n))
            break;
        if (wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER) != 0) {
            *interrupted = true;
            break;
        }
    }
    wait_finish(&w);
    if (has_room(b))
        (void)wake_one(&b->room);
    return status;
}

/* Put m, which belongs to the mailbox from then on, with the request r that waits until it is read,
 * or NULL. COMPLETE: it is there; QUEUED: likewise, and no read had been waiting; CLOSED: the
 * mailbox is gone, and m still the caller's. */
static enum outcome put(struct mailbox *b, struct mailbox_channel *c, struct mailbox_message *m,
                        struct io_request *r, bool check)
{
    ipl_t ipl = spin_lock(&b->lock);
    enum outcome outcome = list_empty(&b->reads) ? QUEUED : COMPLETE;

    if (b->gone || (c && c->closed)) {
        outcome = CLOSED;
    } else {
        list_add_tail(&b->messages, &m->link);
        b->nmessages++;
        b->nbytes += m->length;
    }
    if (outcome != CLOSED && r) {
        r->message = m;
        m->writer = r;
        r->order = ++b->order;
        list_add_tail(&c->own, &r->own);
        if (check)
            list_add_tail(&b->watched[READERS], &r->watch);
    }
    spin_unlock(&b->lock, ipl);
    return outcome;
}

/* The message is in the mailbox: to a read that waits, or tell who wants to know. */
static void announce(struct mailbox *b, enum outcome outcome)
{
    deliver(b);
    if (outcome == QUEUED)
        post_all(b, &b->attention[WRITERS], 0);
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
        message_unref(m);
        event_post_self(&r->event, qio_status(SS$_NOREADER, 0, 0));
        return SS$_NORMAL;
    }
    outcome = put(b, c, m, w->now ? NULL : r, w->check);
    if (outcome == CLOSED) {
        message_unref(m);
        request_drop(r);
        return SS$_IVCHAN;
    }
    announce(b, outcome);
    if (w->now)
        event_post_self(&r->event, qio_status(SS$_NORMAL, length, 0));
    else if (w->check && !readers_of(b)) /* the last one has gone before r was on the list */
        mailbox_side_changed(b, READERS, true);
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

    if (length > c->box->maxmsg || cost_of(length) > c->box->bufquo)
        return SS$_MBTOOSML;
    status = wait_for_room(c, cost_of(length), w->norswait, interrupted);
    if (status != SS$_NORMAL || *interrupted)
        return status;
    m = message_make(c->box, length, who->pid);
    if (!m)
        return SS$_INSFMEM;
    m->eof = w->eof;
    status = copyin(m->bytes, w->buffer, length) != 0 ? SS$_ACCVIO : SS$_NORMAL;
    if (status == SS$_NORMAL)
        status = request_make(who, done, false, &r);
    if (status == SS$_NORMAL)
        return write_message(c, w, m, r);
    message_unref(m);
    return status;
}

cond_t mailbox_post(uint32_t unit, const void *message, uint32_t length, uint32_t pid)
{
    struct mailbox *b = mailbox_find(unit);
    struct mailbox_message *m = NULL;
    cond_t status = SS$_NORMAL;
    enum outcome outcome;

    if (!b)
        return SS$_NOSUCHDEV;
    if (length > b->maxmsg)
        status = SS$_MBTOOSML;
    else if (!take_room(b, cost_of(length)))
        status = SS$_MBFULL;
    else if (!(m = message_make(b, length, pid)))
        status = SS$_INSFMEM;
    if (m) {
        memcpy(m->bytes, message, length);
        outcome = put(b, NULL, m, NULL, false);
        if (outcome == CLOSED) {
            message_unref(m);
            status = SS$_NOSUCHDEV;
        } else {
            announce(b, outcome);
        }
    }
    mailbox_unref(b);
    return status;
}

/* ---- attention, waits, settings ---- */

/* Queue the notice, or post it if what it is for is there. */
static bool arm(struct mailbox_channel *c, unsigned side, struct io_request *a)
{
    struct mailbox *b = c->box;
    ipl_t ipl = spin_lock(&b->lock);
    bool open = !c->closed;
    bool there = !list_empty(side == WRITERS ? &b->messages : &b->reads);

    if (open && there)
        event_post(&a->event, 0);
    else if (open)
        queue_locked(b, &b->attention[side], &c->notices[side], a);
    spin_unlock(&b->lock, ipl);
    return open;
}

cond_t mailbox_attention(struct qio_channel *q, const struct mailbox_who *who,
                         const struct qio_completion *done, bool writes, vaddr_t astadr,
                         uint64_t astprm)
{
    const struct qio_completion ast = {
        .owner = done->owner, .efn = EVENT_NONE, .astadr = astadr, .astprm = astprm};
    struct mailbox_channel *c = mailbox_channel_of(q);
    unsigned side = writes ? WRITERS : READERS;
    struct io_request *r, *a = NULL;
    cond_t status = request_make(who, done, false, &r);

    if (status != SS$_NORMAL)
        return status;
    if (astadr)
        status = request_make(who, &ast, true, &a);
    if (status == SS$_NORMAL && a) {
        if (!arm(c, side, a)) {
            request_drop(a);
            status = SS$_IVCHAN;
        }
    } else if (status == SS$_NORMAL) {
        end_own(c->box, &c->notices[side], true);
    }
    if (status == SS$_NORMAL)
        event_post_self(&r->event, qio_status(SS$_NORMAL, 0, 0));
    else
        request_drop(r);
    return status;
}

cond_t mailbox_wait(struct qio_channel *q, const struct mailbox_who *who,
                    const struct qio_completion *done, bool writer)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    unsigned side = writer ? WRITERS : READERS;
    struct mailbox *b = c->box;
    bool there, open;
    struct io_request *r;
    cond_t status = request_make(who, done, false, &r);
    ipl_t ipl;

    if (status != SS$_NORMAL)
        return status;
    ipl = spin_lock(&b->lock);
    there = b->users[side] != 0;
    open = !c->closed;
    if (open && !there)
        queue_locked(b, &b->waits[side], &c->own, r);
    spin_unlock(&b->lock, ipl);
    if (!open) {
        request_drop(r);
        return SS$_IVCHAN;
    }
    if (there)
        event_post_self(&r->event, qio_status(SS$_NORMAL, 0, 0));
    return SS$_NORMAL;
}

cond_t mailbox_protect(struct qio_channel *q, const struct mailbox_who *who,
                       const struct qio_completion *done, uint32_t protection)
{
    struct mailbox *b = mailbox_channel_of(q)->box;

    if (!who->bypass && (who->uic_group != b->uic_group || who->uic_member != b->uic_member))
        return SS$_NOPRIV;
    __atomic_store_n(&b->protection, protection, __ATOMIC_RELAXED);
    return complete_now(who, done, qio_status(SS$_NORMAL, 0, protection));
}

cond_t mailbox_sense(struct qio_channel *q, const struct mailbox_who *who,
                     const struct qio_completion *done, bool reader_check, bool writer_check)
{
    struct mailbox *b = mailbox_channel_of(q)->box;
    ipl_t ipl = spin_lock(&b->lock);
    uint32_t messages = b->nmessages, nbytes = b->nbytes;
    bool no_reader = reader_check && !b->users[READERS];
    bool no_writer = writer_check && !b->users[WRITERS];

    spin_unlock(&b->lock, ipl);
    return complete_now(who, done,
                        qio_status(no_reader   ? SS$_NOREADER
                                   : no_writer ? SS$_NOWRITER
                                               : SS$_NORMAL,
                                   messages, nbytes));
}

/* ---- ends ---- */

void mailbox_side_changed(struct mailbox *b, unsigned side, bool end)
{
    struct mailbox_message *m;
    struct io_request *r;

    if (!end) {
        post_all(b, &b->waits[side], qio_status(SS$_NORMAL, 0, 0));
        return;
    }
    do {
        ipl_t ipl = spin_lock(&b->lock);
        struct list *l = b->users[side] ? NULL : list_first(&b->watched[side]);

        m = NULL;
        r = l ? list_entry(l, struct io_request, watch) : NULL;
        if (r) {
            detach_locked(r);
            m = withdraw_locked(b, r);
            event_post(&r->event, qio_status(side == WRITERS ? SS$_NOWRITER : SS$_NOREADER, 0, 0));
        }
        spin_unlock(&b->lock, ipl);
        if (m)
            message_unref(m);
    } while (r);
}

void mailbox_cancel(struct qio_channel *q, bool close)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    struct mailbox *b = c->box;
    ipl_t ipl;

    if (close) {
        ipl = spin_lock(&b->lock);
        c->closed = true;
        spin_unlock(&b->lock, ipl);
        (void)wake_all(&b->room);
    }
    end_own(b, &c->own, false);
    for (unsigned side = 0; side < SIDES; side++)
        end_own(b, &c->notices[side], true);
}
