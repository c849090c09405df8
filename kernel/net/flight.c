/*
 * Files in messages (SCM_RIGHTS).
 *
 * Who sends a descriptor and closes it leaves the file to the message. A socket whose file is only
 * in messages, all of them in queues of such sockets, can never be received or closed by anybody:
 * two sockets, each sent over the other, suffice. A thread looks for these (cycles.c) once a second
 * while any sockets are in messages, and whenever a socket is closed then, and drops what is in
 * their queues. It also closes the files of messages that nobody received: a file may be a socket
 * whose queue has messages with files in turn, to any depth, and the thread takes one after the
 * other.
 *
 * flight_lock protects which file is in which message. A file gains or loses a message, and a
 * message its place in a queue, under it. So during a search nothing moves. A socket that only
 * flies has no descriptor, hence nobody can receive from it, or take a new reference but from a
 * message.
 *
 * Files in messages are charged to the user who sent them (USER_FLIGHTS).
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/net/private.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"

#define SEARCH_NS UINT64_C(1000000000)

struct mutex flight_lock = MUTEX_INIT("socket flights", MUTEX_FLIGHT, flight_lock);

static struct list flyers = LIST_INIT(flyers); /* flyer.link; flight_lock */
static uint32_t nflyers;                       /* atomic: changed under flight_lock */

/* Held by whoever works on what was dropped: the thread, or socket_drain(). */
static struct mutex collect_lock = MUTEX_INIT("socket collection", MUTEX_COLLECT, collect_lock);

/* Work for the thread. */
static struct spinlock work_lock = SPINLOCK_INIT("socket work", RANK_SOCKET_WORK, IPL_ASTDEL);
static struct list doomed = LIST_INIT(doomed); /* carrier.link of flights to free; work_lock */
static bool search_wanted;                     /* atomic */
static struct wait_queue work_queue = WAIT_QUEUE_INIT("socket work", work_queue);

/* ---- making and freeing ---- */

static size_t flight_bytes(unsigned n)
{
    return sizeof(struct flight) + n * (sizeof(struct file *) + sizeof(struct flyer *));
}

static struct flight *flight_alloc(unsigned n, int *err)
{
    struct account *a = account_self();
    struct flight *f;

    *err = -ETOOMANYREFS;
    if (!account_charge(a, QUOTA_FLIGHTS, n))
        return NULL;
    *err = -ENOMEM;
    f = npp_alloc_zeroed(flight_bytes(n));
    if (!f) {
        account_release(a, QUOTA_FLIGHTS, n);
        return NULL;
    }
    f->account = a;
    f->n = n;
    f->file = (struct file **)(f + 1);
    f->flyer = (struct flyer **)(f->file + n);
    f->carrier.flyer = f->flyer;
    f->carrier.n = n;
    list_init(&f->carrier.link);
    return f;
}

int flight_create(struct file **files, unsigned n, struct flight **out)
{
    int err;
    struct flight *f = flight_alloc(n, &err);

    if (!f)
        return err;
    for (unsigned k = 0; k < n; k++) {
        struct sock *s = socket_of(files[k]);

        f->file[k] = files[k];
        f->flyer[k] = s ? &s->flyer : NULL;
    }
    *out = f;
    return 0;
}

int flight_copy(const struct flight *from, struct flight **out)
{
    int err;
    struct flight *f = flight_alloc(from->n, &err);

    if (!f)
        return err;
    /* `from` has its references while the caller holds `reading`; under flight_lock no search takes
     * the new ones for those of messages. */
    mutex_lock(&flight_lock);
    for (unsigned k = 0; k < f->n; k++) {
        f->file[k] = from->file[k];
        f->flyer[k] = from->flyer[k];
        file_ref(f->file[k]);
    }
    mutex_unlock(&flight_lock);
    *out = f;
    return 0;
}

unsigned flight_count(const struct flight *f) { return f->n; }
struct file *flight_file(const struct flight *f, unsigned k) { return f->file[k]; }

void flight_free(struct flight *f)
{
    for (unsigned k = 0; k < f->n; k++)
        file_unref(f->file[k]);
    account_release(f->account, QUOTA_FLIGHTS, f->n);
    npp_free(f, flight_bytes(f->n));
}

/* ---- messages; flight_lock is held ---- */

static void count_flyers(int n)
{
    __atomic_store_n(&nflyers, nflyers + (uint32_t)n, __ATOMIC_RELAXED);
    if (nflyers == 1 && n > 0)
        wake_all(&work_queue); /* the thread sleeps for as long as there are none */
}

void flight_begin_locked(struct message *m, struct sock *to)
{
    struct flight *f = m->flight;
    struct sock *owner = to->listener ? to->listener : to;

    f->message = m;
    m->to = to;
    list_add_tail(&owner->flyer.carriers, &f->carrier.link);
    for (unsigned k = 0; k < f->n; k++) {
        if (!f->flyer[k] || f->flyer[k]->flights++)
            continue;
        list_add_tail(&flyers, &f->flyer[k]->link);
        count_flyers(1);
    }
}

void flight_end_locked(struct flight *f)
{
    list_remove(&f->carrier.link);
    f->message = NULL;
    for (unsigned k = 0; k < f->n; k++) {
        if (!f->flyer[k] || --f->flyer[k]->flights)
            continue;
        list_remove(&f->flyer[k]->link);
        count_flyers(-1);
    }
}

void flight_accept_locked(struct sock *s)
{
    struct sock *l = s->listener;
    struct carrier *c, *next;

    s->listener = NULL;
    if (!l)
        return;
    list_for_each_entry_safe(c, next, &l->flyer.carriers, link) {
        if (container_of(c, struct flight, carrier)->message->to != s)
            continue;
        list_remove(&c->link);
        list_add_tail(&s->flyer.carriers, &c->link);
    }
}

/* ---- the thread ---- */

static void push(struct flight *f)
{
    ipl_t ipl = spin_lock(&work_lock);

    list_add_tail(&doomed, &f->carrier.link);
    spin_unlock(&work_lock, ipl);
    wake_all(&work_queue);
}

void flight_discard(struct message *m)
{
    struct flight *f = m->flight;

    mutex_lock(&flight_lock);
    flight_end_locked(f);
    mutex_unlock(&flight_lock);
    m->flight = NULL;
    message_free(m);
    push(f);
}

void flight_check(void)
{
    if (!__atomic_load_n(&nflyers, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&search_wanted, true, __ATOMIC_RELEASE);
    wake_all(&work_queue);
}

/* Take the messages with files out of the queue of a socket that is lost. */
static void empty_locked(struct flyer *lost, struct list *messages)
{
    struct list *l;

    while ((l = list_first(&lost->carriers)) != NULL) {
        struct flight *f = container_of(list_entry(l, struct carrier, link), struct flight,
                                        carrier);
        struct message *m = f->message;
        struct sock *s = m->to;
        ipl_t ipl = spin_lock(&s->lock);

        list_remove(&m->link);
        s->nmessages--;
        s->nbytes -= m->nbytes - m->done;
        spin_unlock(&s->lock, ipl);
        flight_end_locked(f);
        list_add_tail(messages, &m->link);
    }
}

/* Find the lost sockets, and drop what is in their queues; that closes them. */
static void search(void)
{
    struct list messages = LIST_INIT(messages), lost = LIST_INIT(lost), *l;
    struct flyer *f, *next;

    mutex_lock(&flight_lock);
    list_for_each_entry(f, &flyers, link) {
        const struct sock *s = container_of(f, struct sock, flyer);

        f->references = __atomic_load_n(&s->file->refs, __ATOMIC_ACQUIRE);
    }
    if (cycles_find(&flyers)) {
        list_for_each_entry_safe(f, next, &flyers, link) {
            if (!f->lost)
                continue;
            list_remove(&f->link);
            list_add_tail(&lost, &f->link);
        }
        /* Whose last flight ends leaves this list, too. */
        while ((l = list_first(&lost)) != NULL) {
            f = list_entry(l, struct flyer, link);
            list_remove(l);
            list_add_tail(&flyers, l);
            empty_locked(f, &messages);
        }
    }
    mutex_unlock(&flight_lock);
    while ((l = list_pop_head(&messages)) != NULL) {
        struct message *m = list_entry(l, struct message, link);
        struct flight *flight = m->flight;

        m->flight = NULL;
        message_free(m);
        flight_free(flight);
    }
}

static struct flight *next_doomed(void)
{
    ipl_t ipl = spin_lock(&work_lock);
    struct list *l = list_pop_head(&doomed);

    spin_unlock(&work_lock, ipl);
    return l ? container_of(list_entry(l, struct carrier, link), struct flight, carrier) : NULL;
}

/* When the next search is due, which was to be at *due; a second after there are any flyers. */
static bool is_due(uint64_t *due)
{
    uint64_t now = clock_ns();

    if (!__atomic_load_n(&nflyers, __ATOMIC_RELAXED))
        *due = WAIT_FOREVER;
    else if (*due == WAIT_FOREVER)
        *due = now + SEARCH_NS;
    return now >= *due;
}

static bool is_work(void)
{
    ipl_t ipl = spin_lock(&work_lock);
    bool any = !list_empty(&doomed);

    spin_unlock(&work_lock, ipl);
    return any || __atomic_load_n(&search_wanted, __ATOMIC_ACQUIRE);
}

/* Free what was dropped, and search if that is wanted. Each may bring more work. */
static void collect(void)
{
    struct flight *f;

    mutex_lock(&collect_lock);
    while ((f = next_doomed()) != NULL)
        flight_free(f);
    if (__atomic_exchange_n(&search_wanted, false, __ATOMIC_ACQ_REL))
        search();
    mutex_unlock(&collect_lock);
}

void socket_drain(void)
{
    do {
        collect(); /* waits for the thread, which may be in the middle of it */
    } while (is_work());
}

static void socket_thread(void *arg)
{
    uint64_t due = WAIT_FOREVER;

    (void)arg;
    for (;;) {
        struct waiter w;

        wait_enqueue(&work_queue, &w); /* whoever brings work wakes this from here on */
        if (is_due(&due)) {
            __atomic_store_n(&search_wanted, true, __ATOMIC_RELAXED);
            due = WAIT_FOREVER;
        }
        if (!is_work())
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, due);
        wait_finish(&w);
        if (is_work())
            collect();
    }
}

void socket_boot(void)
{
    struct thread *t = thread_create("sockets", socket_thread, NULL, PRIO_NORMAL);

    if (!t)
        panic("no memory for the thread of the sockets");
    thread_start(t);
}
