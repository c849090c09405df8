/* Reads of mailboxes, and messages that come to them. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/io/open_flags.h"
#include "kernel/qio/mailbox_private.h"
#include "kernel/sched/thread.h"

#define AT_ONCE         16u /* messages that one hold of the lock moves, at most */
#define AT_ONCE_WAITING 2u  /* of those whose writers wait: 510 instructions each */

/* ---- what a reader gets ---- */

static void copy_part(struct io_request *r, const char *from, uint32_t n)
{
    n = MIN(n, r->length - r->copied);
    r->lost = r->lost || copyout(r->buffer + r->copied, from, n) != 0;
    r->copied += n;
}

/* Copy the messages that r has taken to the reader's memory, and free them. False: that memory is
 * gone, and so are the data. A thread of the reader, without locks. */
static bool copy_taken(struct io_request *r)
{
    struct list *l;

    while ((l = list_pop_head(&r->taken))) {
        struct mailbox_message *m = list_entry(l, struct mailbox_message, link);

        copy_part(r, m->bytes + m->start, mailbox_message_rest(m));
        mailbox_message_unref(m);
    }
    return !r->lost;
}

static bool finish(struct event_request *e)
{
    struct io_request *r = container_of(e, struct io_request, event);

    if (copy_taken(r) && r->last)
        copy_part(r, r->last->bytes + r->last_start, r->last_count);
    if (r->lost)
        e->status = qio_status(SS$_ACCVIO, 0, 0);
    return true;
}

/* Take a whole message, for the process pid; its writer's request is complete. Lock held. */
static void take_out_locked(struct mailbox *b, struct mailbox_message *m, uint32_t pid)
{
    struct io_request *w = m->writer;

    mailbox_unqueue_locked(b, m);
    if (!w)
        return;
    m->writer = NULL;
    w->message = NULL;
    mailbox_detach_locked(b, w);
    event_post(&w->event, qio_status(SS$_NORMAL, m->length, pid));
}

static void take_locked(struct mailbox *b, struct io_request *r, struct mailbox_message *m)
{
    take_out_locked(b, m, r->pid);
    list_add_tail(&r->taken, &m->link);
}

/* Take the first n bytes of what is left of m, which stays queued with a reference more. Lock
 * held. */
static void take_part_locked(struct mailbox *b, struct mailbox_message *m, uint32_t n)
{
    __atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
    m->start += n;
    b->nbytes -= n;
}

/* Give r the first message. Lock held. */
static void serve_record_locked(struct mailbox *b, struct io_request *r, struct mailbox_message *m)
{
    uint32_t n = MIN(mailbox_message_rest(m), r->length);
    cond_t status = m->eof                        ? SS$_ENDOFFILE
                    : n < mailbox_message_rest(m) ? SS$_BUFFEROVF
                                                  : SS$_NORMAL;

    take_locked(b, r, m);
    r->got = n;
    r->answer = qio_status(status, n, m->pid);
}

/* Give r bytes, up to its length, to a mark or to the end. False: a portion was taken, and there
 * may be more for it. Lock held. */
static bool serve_stream_locked(struct mailbox *b, struct io_request *r)
{
    struct mailbox_message *m = mailbox_first_locked(b);
    uint32_t n, pid = r->got ? (uint32_t)(r->answer >> 32) : m->pid;

    if (!r->got && m->eof) {
        serve_record_locked(b, r, m);
        return true;
    }
    for (unsigned i = 0; i < AT_ONCE && m && !m->eof && r->got < r->length; i++) {
        i += m->writer ? AT_ONCE / AT_ONCE_WAITING - 1 : 0;
        n = MIN(mailbox_message_rest(m), r->length - r->got);
        r->got += n;
        if (n == mailbox_message_rest(m)) {
            take_locked(b, r, m);
        } else {
            r->last = m;
            r->last_start = m->start;
            r->last_count = n;
            take_part_locked(b, m, n);
        }
        m = mailbox_first_locked(b);
    }
    r->answer = qio_status(SS$_NORMAL, r->got, pid);
    return !m || m->eof || r->got == r->length;
}

/* There is a message. True: r has all it gets. Lock held. */
static bool serve_locked(struct mailbox *b, struct io_request *r)
{
    if (r->stream)
        return serve_stream_locked(b, r);
    serve_record_locked(b, r, mailbox_first_locked(b));
    return true;
}

void mailbox_deliver(struct mailbox *b)
{
    struct io_request *r;

    do {
        ipl_t ipl = spin_lock(&b->lock);
        struct list *l = list_empty(&b->messages) ? NULL : list_first(&b->reads);

        r = l ? list_entry(l, struct io_request, queue) : NULL;
        if (r) {
            mailbox_detach_locked(b, r);
            (void)serve_locked(b, r);
            event_post(&r->event, r->answer);
        }
        spin_unlock(&b->lock, ipl);
    } while (r);
}

enum outcome { COMPLETE, MORE, QUEUED, CLOSED, FULL };

/* One step of a read that has been begun. *until gets the order of the last request that a queued
 * read is news for. */
static enum outcome read_step(struct mailbox_channel *c, const struct mailbox_read *w,
                              struct io_request *r, uint64_t *until)
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
    } else if (w->check && !mailbox_keep_locked(b, WRITERS, &b->watched[WRITERS], &r->watch, r)) {
        outcome = FULL;
    } else {
        mailbox_queue_locked(b, &b->reads, &c->own, r);
        outcome = QUEUED;
    }
    *until = b->order;
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
    uint64_t until;
    cond_t status;

    if (length && probe_write(w->buffer, length) != 0)
        return SS$_ACCVIO;
    status = mailbox_request_make(who, done, false, &r);
    if (status != SS$_NORMAL)
        return status;
    r->stream = w->stream;
    r->buffer = w->buffer;
    r->length = length;
    r->event.finish = finish;
    /* Any number of messages in portions: if the thread is to end, its read is a shorter one. */
    do {
        outcome = read_step(c, w, r, &until);
    } while (outcome == MORE && copy_taken(r) && !thread_killed());
    switch (outcome) {
    case CLOSED:
    case FULL:
        mailbox_request_drop(r);
        return outcome == FULL ? SS$_EXQUOTA : SS$_NOPRIV;
    case QUEUED: /* r may be gone already */
        mailbox_post_all(c->box, &c->box->attention[READERS], until, 0);
        mailbox_deliver(c->box);
        return SS$_NORMAL;
    default:
        event_post_self(&r->event, r->answer);
        return SS$_NORMAL;
    }
}

/* ---- lines ---- */

/* What a caller of mailbox_receive() has taken. */
struct line {
    struct mailbox_message *m; /* with a reference; NULL: nothing */
    uint32_t start, count;     /* its bytes */
    bool end;                  /* the last of them: a line feed follows */
};

/* Take of the first message what fits into n bytes with a line feed, unless requests wait for
 * it. */
static bool take_line(struct mailbox *b, uint32_t pid, uint64_t n, struct line *l)
{
    ipl_t ipl = spin_lock(&b->lock);
    struct mailbox_message *m = list_empty(&b->reads) ? mailbox_first_locked(b) : NULL;
    uint32_t rest = m ? mailbox_message_rest(m) : 0;

    *l = (struct line){.m = m};
    if (m) {
        l->start = m->start;
        l->end = n > rest;
        l->count = l->end ? rest : (uint32_t)n;
        if (l->end)
            take_out_locked(b, m, pid);
        else
            take_part_locked(b, m, l->count);
    }
    spin_unlock(&b->lock, ipl);
    return m != NULL;
}

/* A thread begins or ends to wait for a line, as requests for attention see it. Returns the order
 * of the last of them. */
static uint64_t count_waiting(struct mailbox *b, bool begins)
{
    ipl_t ipl = spin_lock(&b->lock);
    uint64_t until = b->order;

    b->nlines += begins ? 1 : UINT32_MAX;
    spin_unlock(&b->lock, ipl);
    return until;
}

/* Take a line, waiting for it. False: interrupted. */
static bool wait_for_line(struct mailbox *b, uint32_t pid, uint64_t n, struct line *l)
{
    bool taken = false;
    struct waiter w;

    /* It is a read that finds no message. */
    mailbox_post_all(b, &b->attention[READERS], count_waiting(b, true), 0);
    do {
        wait_enqueue(&b->lines, &w);
        taken = take_line(b, pid, n, l);
    } while (!taken && wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER) == 0);
    wait_finish(&w);
    count_waiting(b, false);
    return taken;
}

cond_t mailbox_receive(struct qio_channel *q, uint32_t pid, const struct mailbox_read *r,
                       uint32_t *got, bool *interrupted)
{
    static const char line_feed = '\n';
    struct mailbox *b = mailbox_channel_of(q)->box;
    struct line l;
    bool lost;

    *got = 0;
    if (!take_line(b, pid, r->length, &l)) {
        if (r->now)
            return SS$_ENDOFFILE;
        *interrupted = !wait_for_line(b, pid, r->length, &l);
    }
    /* Threads that wait are woken one at a time, for each message: also for one that a thread which
     * gives up was woken for, or of which a part is left. */
    (void)wake_one(&b->lines);
    if (!l.m)
        return SS$_NORMAL;
    if (!l.m->eof) {
        lost = copyout(r->buffer, l.m->bytes + l.start, l.count) != 0 ||
               (l.end && copyout(r->buffer + l.count, &line_feed, 1) != 0);
        *got = l.count + l.end;
    } else {
        lost = false;
    }
    mailbox_message_unref(l.m);
    return lost ? SS$_ACCVIO : SS$_NORMAL;
}

unsigned mailbox_poll(struct qio_channel *q, struct poll_entry *e)
{
    struct mailbox *b = mailbox_channel_of(q)->box;
    bool message, room;
    ipl_t ipl;

    poll_register(&b->polled, e);
    ipl = spin_lock(&b->lock);
    message = !list_empty(&b->messages) && list_empty(&b->reads);
    spin_unlock(&b->lock, ipl);
    /* Room is not taken under the lock: either this finds it, or who gives it finds the entry. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    room = mailbox_has_room(b);
    return (q->readable && message ? POLLIN | POLLRDNORM : 0) |
           (q->writable && room ? POLLOUT | POLLWRNORM : 0);
}
