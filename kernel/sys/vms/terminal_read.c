/*
 * Reads of terminals by $QIO.
 *
 * A read takes bytes until its buffer is full, or a line or the input ends. The bytes are taken by
 * a thread of the process in `finish` (event.h): as soon as the request is made, and whenever input
 * comes until there is enough. Between these times the request is *armed*: it has an entry on the
 * source of the file, and whoever takes `armed` away posts it. An entry is called with the source's
 * lock held, under which a request cannot be posted; so it starts a timer that expires at once.
 *
 * Locks: terminal_lock (RANK_MAILBOX) for the state of requests; user memory and files are used
 * without. A request is ended by the thread that completes it or by who cancels it: `file` belongs
 * to the one that takes it from the request under the lock, and while a thread is finishing nobody
 * else takes it.
 *
 *   finishing thread                        cancelling thread
 *   lock: not cancelled; finishing = true
 *   reads from the file                     lock: cancelled = true; finishing: leaves the file
 *   lock: cancelled: takes the file
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "kernel/sys/vms/terminal.h"

#define RETRY_NS 10000000u /* after which a read is tried again that a signal has interrupted */
#define SECOND   UINT64_C(1000000000)

static struct spinlock terminal_lock = SPINLOCK_INIT("terminal requests", RANK_MAILBOX, IPL_ASTDEL);

static bool disarm(struct terminal_request *r)
{
    return __atomic_exchange_n(&r->armed, false, __ATOMIC_SEQ_CST);
}

/* ---- timers and input: any IPL ---- */

static void kicked(struct timer *t)
{
    struct terminal_request *r = container_of(t, struct terminal_request, kick);

    event_post(&r->event, 0);
    terminal_request_unref(r);
}

/* Post r, which the caller has disarmed, at that time. */
static void kick(struct terminal_request *r, uint64_t at)
{
    __atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
    timer_start(&r->kick, at);
}

static bool input_came(struct poll_entry *e, uint32_t events)
{
    struct terminal_request *r = container_of(e, struct terminal_request, polled);

    (void)events;
    if (disarm(r))
        kick(r, clock_ns());
    return true;
}

static void expired(struct timer *t)
{
    struct terminal_request *r = container_of(t, struct terminal_request, limit);

    __atomic_store_n(&r->timed_out, true, __ATOMIC_SEQ_CST);
    if (disarm(r))
        event_post(&r->event, 0);
    terminal_request_unref(r);
}

/* ---- the end of a read ---- */

/* Take r off its channel. Its file becomes the caller's. Lock held. */
static struct file *leave_locked(struct terminal_request *r)
{
    struct file *f = r->file;

    list_remove(&r->link);
    r->file = NULL;
    return f;
}

/* What r was held by; f was taken from it, by leave_locked. IPL 0. */
static void let_go(struct terminal_request *r, struct file *f)
{
    poll_unregister(&r->polled);
    if (r->timed && timer_cancel(&r->limit))
        terminal_request_unref(r); /* the timer's reference: the caller has one */
    file_unref(f);
}

/* ---- taking input ---- */

static bool has_input(struct file *f)
{
    return !f->ops->poll || (f->ops->poll(f, NULL) & (POLLIN | POLLHUP | POLLERR)) != 0;
}

/* The quadword of a read that is over, without its line's end (13, one character) if it has one. */
static uint64_t answer_of(const struct terminal_request *r, cond_t status, char end)
{
    return end ? qio_status(status, r->got - 1, 13 | 1u << 16) : qio_status(status, r->got, 0);
}

static uint64_t answer_error(const struct terminal_request *r, long err)
{
    return qio_status(err == -EFAULT ? SS$_ACCVIO
                      : err == -EIO  ? SS$_HANGUP
                                     : SS$_ABORT,
                      r->got, 0);
}

/* The line ends with the byte that was read last. The block tells of a return, so the buffer has
 * one too, at the offset that the block tells. */
static uint64_t end_line(struct terminal_request *r, char c)
{
    static const char end = '\r';

    if (c != end && copyout(r->buffer + r->got - 1, &end, 1) != 0)
        return answer_error(r, -EFAULT);
    return answer_of(r, SS$_NORMAL, end);
}

/* Take one byte. 1: it is the last one, or the read is over, with its answer; 0: go on; -EAGAIN:
 * there is no input; -EINTR: something else is to be done first. */
static long take_byte(struct terminal_request *r, uint64_t *answer)
{
    char c = 0;
    long n;

    if (!has_input(r->file))
        return -EAGAIN;
    n = r->file->ops->read(r->file, r->buffer + r->got, 1);
    if (n == -EAGAIN)
        return n;
    if (n == -ERESTARTSYS || n == -EINTR)
        return -EINTR;
    if (n == 0)
        *answer = r->got ? answer_of(r, SS$_NORMAL, 0)
                         : qio_status(SS$_ENDOFFILE, 0, 26 | 1u << 16);
    if (n < 0)
        *answer = answer_error(r, n);
    if (n <= 0)
        return 1;
    r->got++;
    if (copyin(&c, r->buffer + r->got - 1, 1) != 0) {
        *answer = answer_error(r, -EFAULT);
        return 1;
    }
    if (c == '\n' || c == '\r') {
        *answer = end_line(r, c);
        return 1;
    }
    return 0;
}

/* Take what there is. As take_byte, but not 0. */
static long take(struct terminal_request *r, uint64_t *answer)
{
    long n = 0;

    while (!n && r->got < r->length)
        n = thread_killed() || (r->got % 256 == 255 && sched_loop_point()) ? -EINTR
                                                                           : take_byte(r, answer);
    if (!n) {
        *answer = answer_of(r, SS$_NORMAL, 0);
        n = 1;
    }
    return n;
}

/* ---- states ---- */

static bool begin(struct terminal_request *r)
{
    ipl_t ipl = spin_lock(&terminal_lock);
    bool may = !r->cancelled;

    r->finishing = may;
    spin_unlock(&terminal_lock, ipl);
    return may;
}

/* The thread that was finishing stops. over: r is complete; otherwise it is armed. Returns whether
 * it is over, also because it was cancelled. */
static bool stop(struct terminal_request *r, bool over)
{
    ipl_t ipl = spin_lock(&terminal_lock);
    bool cancelled = r->cancelled;
    struct file *f = NULL;

    r->finishing = false;
    if (over || cancelled)
        f = leave_locked(r);
    else
        __atomic_store_n(&r->armed, true, __ATOMIC_SEQ_CST);
    spin_unlock(&terminal_lock, ipl);
    if (f)
        let_go(r, f);
    if (cancelled && !over)
        r->event.status = qio_status(r->end, r->got, 0);
    return f != NULL;
}

/* r is armed, and may end at any moment, but the caller has references to it and to f. False:
 * whoever posts it completes it; true: the caller has it again. */
static bool regain(struct terminal_request *r, struct file *f, long why)
{
    if (!has_input(f) && !__atomic_load_n(&r->timed_out, __ATOMIC_SEQ_CST) && why != -EINTR)
        return false;
    if (!disarm(r))
        return false;
    if (why != -EINTR)
        return true;
    kick(r, clock_ns() + RETRY_NS); /* first the signal */
    return false;
}

/* One round of a read that has begun: true when it is over; *again: another round. */
static bool round(struct terminal_request *r, bool *again)
{
    uint64_t answer = 0;
    struct file *f = r->file;
    long n = take(r, &answer);
    bool over = n == 1;

    *again = false;
    if (!over && __atomic_load_n(&r->timed_out, __ATOMIC_SEQ_CST)) {
        answer = qio_status(SS$_TIMEOUT, r->got, 0);
        over = true;
    }
    r->event.status = answer;
    file_ref(f);
    __atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
    over = stop(r, over);
    if (!over)
        *again = regain(r, f, n);
    terminal_request_unref(r);
    file_unref(f);
    return over;
}

/* A thread of the process: take what there is; false: more is to come. */
static bool finish(struct event_request *e)
{
    struct terminal_request *r = container_of(e, struct terminal_request, event);
    bool over, again;

    do {
        if (!begin(r)) {
            e->status = qio_status(r->end, r->got, 0);
            return true;
        }
        over = round(r, &again);
    } while (again);
    return over;
}

cond_t terminal_read(struct terminal_channel *c, struct terminal_request *r, uint64_t seconds)
{
    struct file *f = c->file;
    bool open;
    ipl_t ipl;

    r->event.finish = finish;
    r->kick.fn = kicked;
    r->limit.fn = expired;
    r->polled.wake = input_came;
    r->polled.events = POLLIN | POLLRDNORM | POLLHUP | POLLERR;
    file_ref(f);
    ipl = spin_lock(&terminal_lock);
    open = !c->closed;
    if (open) {
        r->file = f;
        r->finishing = true; /* until the first round has begun, nobody ends it */
        list_add_tail(&c->reads, &r->link);
    }
    spin_unlock(&terminal_lock, ipl);
    if (!open) {
        file_unref(f);
        terminal_request_drop(r);
        return SS$_NOPRIV;
    }
    if (f->ops->poll)
        (void)f->ops->poll(f, &r->polled);
    if (r->timed) {
        __atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
        timer_start(&r->limit, clock_ns() + seconds * SECOND);
    }
    event_post_self(&r->event, 0);
    return SS$_NORMAL;
}

/* Take the first read of a channel, to be cancelled with that status. *f: its file, unless a thread
 * is finishing; *post: it is to be posted. */
static struct terminal_request *take_read(struct terminal_channel *c, cond_t status,
                                          struct file **f, bool *post)
{
    ipl_t ipl = spin_lock(&terminal_lock);
    struct list *l = list_first(&c->reads);
    struct terminal_request *r = l ? list_entry(l, struct terminal_request, link) : NULL;

    *f = NULL;
    if (r) {
        r->cancelled = true;
        r->end = status;
        __atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
        if (r->finishing)
            list_remove(&r->link);
        else
            *f = leave_locked(r);
        *post = disarm(r);
    }
    spin_unlock(&terminal_lock, ipl);
    return r;
}

/* As on OpenVMS the read that is in progress, the first, is aborted; those behind it are
 * cancelled. */
void terminal_cancel(struct qio_channel *q, enum qio_cancel why)
{
    struct terminal_channel *c = container_of(q, struct terminal_channel, qio);
    cond_t status = SS$_ABORT;
    struct terminal_request *r;
    struct file *f;
    bool post;

    if (why != QIO_CANCEL) {
        ipl_t ipl = spin_lock(&terminal_lock);

        c->closed = true;
        spin_unlock(&terminal_lock, ipl);
    }
    while ((r = take_read(c, status, &f, &post))) {
        if (f)
            let_go(r, f);
        if (post)
            event_post(&r->event, qio_status(status, 0, 0));
        terminal_request_unref(r);
        status = SS$_CANCEL;
    }
}
