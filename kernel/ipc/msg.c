/*
 * System V message queues.
 *
 * A queue has a mutex. Its messages are in search trees (msg_list.h). A message that is sent is
 * shown to those who wait, in the order in which they came, and goes to the first that takes it;
 * only that one is woken. Room that becomes free is given to the senders in the order in which they
 * came: whoever makes it enters the messages of those who fit, and wakes them.
 *
 * Each message may have to be shown to all receivers, of which there can be as many as threads, so
 * the mutex is released after each AT_ONCE steps. Who begins to wait meanwhile has seen the
 * message, which is in the queue, and need not be shown it; and if such a one, or the queue's end,
 * takes it out, it is shown no more. All must be shown it, also if the sender is to end; but who
 * lets others send and is to end leaves the rest of these to the next one.
 *
 * Receivers and senders wait in lists, with structures on their stacks; "done" is set under the
 * mutex, so a signal that comes at the same moment loses no message.
 */
#include "kernel/ipc/msg.h"

#include "kernel/base/errno.h"
#include "kernel/base/order.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/ipc/msg_list.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

#define AT_ONCE 16u     /* receivers looked at in one hold of the mutex */
#define ENDED   AT_ONCE /* to end a call, which wakes its thread, or a message takes as long */

struct queue { /* nonpaged pool */
    struct ipc_object ipc;
    struct mutex lock;
    /* Table's lock, and the mutex to change them: */
    int64_t stime_ns, rtime_ns;
    uint64_t nbytes, count, limit;
    uint32_t lspid, lrpid;
    /* Mutex: */
    struct msg_list messages;
    struct order senders, receivers; /* of struct party */
};

struct party { /* on the stack of its thread; mutex */
    struct order_node place;
    struct order *in;
    struct wait_queue wait;
    uint32_t pid;
    bool done; /* atomic: read by the thread without the mutex */
    int result;
    struct ipc_msg *m; /* a sender's; the one that a receiver got */
    /* What a receiver takes. */
    int64_t type;
    uint32_t flags;
    size_t max;
};

static const struct ipc_kind msg_kind;
static struct ipc_table table = {.lock = SPINLOCK_INIT("message queues", RANK_IPC, IPL_ASTDEL),
                                 .kind = &msg_kind};
static uint64_t all_messages, all_bytes; /* in queues; atomic, a statistic */

static struct queue *queue_of(struct ipc_object *o) { return container_of(o, struct queue, ipc); }

/* ---- messages ---- */

struct ipc_msg *msg_alloc(size_t nbytes)
{
    uint16_t account = pool_account();
    struct ipc_msg *m = npp_alloc_charged(sizeof(*m) + nbytes, account);

    if (m) {
        m->nbytes = (uint32_t)nbytes;
        m->account = account;
    }
    return m;
}

void msg_free(struct ipc_msg *m) { npp_free_charged(m, sizeof(*m) + m->nbytes, m->account); }
void *msg_text(struct ipc_msg *m) { return m->text; }
size_t msg_bytes(const struct ipc_msg *m) { return m->nbytes; }
int64_t msg_type(const struct ipc_msg *m) { return m->type; }

/* ---- making and ending ---- */

static struct ipc_object *queue_make(void *arg, int *err)
{
    struct queue *q = npp_alloc_zeroed(sizeof(*q));

    (void)arg;
    *err = -ENOMEM;
    if (!q)
        return NULL;
    if (!ipc_charge(&q->ipc)) {
        *err = -ENOSPC;
        npp_free(q, sizeof(*q));
        return NULL;
    }
    mutex_init(&q->lock, "message queue", MUTEX_IPC);
    q->limit = MSG_QUEUE_MAX;
    return &q->ipc;
}

static int queue_fits(const struct ipc_object *o, void *arg)
{
    (void)o, (void)arg;
    return 0;
}

static void queue_end(struct ipc_object *o)
{
    ipc_release(o);
    npp_free(queue_of(o), sizeof(struct queue));
}

static void queue_status(const struct ipc_object *o, void *to)
{
    const struct queue *q = container_of(o, const struct queue, ipc);

    *(struct msg_status *)to = (struct msg_status){.ipc = *o,
                                                   .stime_ns = q->stime_ns,
                                                   .rtime_ns = q->rtime_ns,
                                                   .nbytes = q->nbytes,
                                                   .count = q->count,
                                                   .limit = q->limit,
                                                   .lspid = q->lspid,
                                                   .lrpid = q->lrpid};
}

static const struct ipc_kind msg_kind = {
    .make = queue_make, .fits = queue_fits, .status = queue_status, .end = queue_end};

int msg_get(const struct ipc_caller *c, int32_t key, uint32_t flags)
{
    return ipc_get(&table, c, key, flags, NULL);
}

/* ---- the messages of a queue; mutex held ---- */

/* Count a message in or out, by the process pid. */
static void note(struct queue *q, const struct ipc_msg *m, bool in, uint32_t pid)
{
    ipl_t ipl = spin_lock(&table.lock);
    int64_t now = (int64_t)clock_wall_ns();

    q->nbytes += in ? m->nbytes : -(uint64_t)m->nbytes;
    q->count += in ? 1 : UINT64_MAX;
    if (in) {
        q->stime_ns = now;
        q->lspid = pid;
    } else {
        q->rtime_ns = now;
        q->lrpid = pid;
    }
    spin_unlock(&table.lock, ipl);
    __atomic_fetch_add(&all_messages, in ? 1 : UINT64_MAX, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all_bytes, in ? m->nbytes : -(uint64_t)m->nbytes, __ATOMIC_RELAXED);
}

/* Does a receiver take messages of this type? */
static bool wants(const struct party *r, int64_t type)
{
    if (r->type == 0)
        return true;
    if (r->type < 0)
        return type <= (r->type == INT64_MIN ? INT64_MAX : -r->type);
    return (type == r->type) != ((r->flags & MSG_EXCEPT) != 0);
}

/* The message that the receiver gets, or NULL. */
static struct ipc_msg *choose(const struct queue *q, const struct party *r)
{
    struct ipc_msg *m;

    if (r->type == 0)
        return msg_list_first(&q->messages);
    if (r->type > 0 && (r->flags & MSG_EXCEPT))
        return msg_list_but_type(&q->messages, r->type);
    if (r->type > 0)
        return msg_list_of_type(&q->messages, r->type);
    m = msg_list_of_lowest(&q->messages);
    return m && wants(r, m->type) ? m : NULL;
}

static bool has_room(const struct queue *q, const struct ipc_msg *m)
{
    return q->nbytes + m->nbytes <= q->limit && q->count < MSG_QUEUE_MAX && q->count < q->limit;
}

/* p's call is over. The thread may leave as soon as the mutex is free. */
static void finish(struct party *p, int result)
{
    order_remove(p->in, &p->place);
    p->result = result;
    __atomic_store_n(&p->done, true, __ATOMIC_RELEASE);
    wake_all(&p->wait);
}

static struct party *party_of(struct order_node *n)
{
    return n ? container_of(n, struct party, place) : NULL;
}

/* A long hold of the mutex, in portions. */
struct portions {
    uint64_t since_ns;
    unsigned steps;
};

/* So many steps more: release the mutex for a moment if that makes many. Was it released? */
static bool step(struct queue *q, struct portions *p, unsigned steps)
{
    p->steps += steps;
    if (p->steps < AT_ONCE)
        return false;
    p->steps = 0;
    mutex_pause(&q->lock, &p->since_ns);
    return true;
}

/* Show a message that has been entered to the receivers that wait, until one takes it. Whoever
 * cannot hold it learns that. */
static void show(struct queue *q, struct ipc_msg *m, struct portions *p)
{
    uint64_t end = order_end(&q->receivers), age = m->age;
    struct order_node *at = order_first(&q->receivers), *next;
    int64_t type = m->type;

    for (; at && at->age < end; at = next) {
        struct party *r = party_of(at);
        bool wanted = wants(r, type), fits = m->nbytes <= r->max || (r->flags & MSG_NOERROR);
        uint64_t after = at->age + 1;

        next = order_next(at);
        if (wanted && fits) {
            msg_list_take_out(&q->messages, m);
            note(q, m, false, r->pid);
            r->m = m;
            finish(r, 0);
            return;
        }
        if (wanted)
            finish(r, -E2BIG);
        if (step(q, p, wanted ? ENDED : 1)) {
            if (!msg_list_has(&q->messages, type, age))
                return; /* m may be freed */
            next = order_from(&q->receivers, after);
        }
    }
}

/* Enter a message for which there is room; it is not the caller's any more. */
static void deliver(struct queue *q, struct ipc_msg *m, uint32_t pid)
{
    note(q, m, true, pid);
    msg_list_enter(&q->messages, m);
}

/* Room has become free: let those send who fit, in their order. Who is to end wakes the first of
 * the rest, which goes on (sleep_in). */
static void admit(struct queue *q)
{
    struct portions p = {clock_ns(), 0};
    struct party *s;

    while ((s = party_of(order_first(&q->senders))) != NULL) {
        struct ipc_msg *m = s->m;

        if (!has_room(q, m))
            return;
        if (thread_killed()) {
            wake_all(&s->wait);
            return;
        }
        deliver(q, m, s->pid);
        finish(s, 0);
        show(q, m, &p);
        step(q, &p, ENDED);
    }
}

/* ---- finding a queue ---- */

/* The queue, with a reference, if the caller has the permissions; then the mutex is held. -EINTR:
 * the thread is to end. */
static int open_queue(const struct ipc_caller *c, int id, uint32_t want, struct queue **out)
{
    struct ipc_object *o;
    int err = ipc_open(&table, c, id, want, &o);

    if (err)
        return err;
    *out = queue_of(o);
    err = mutex_lock_killable(&(*out)->lock);
    if (err)
        ipc_close(&table, o);
    return err;
}

static void close_queue(struct queue *q)
{
    mutex_unlock(&q->lock);
    ipc_close(&table, &q->ipc);
}

/* Wait until somebody has finished p, which is put at the end of the list. Mutex held, but not
 * during the wait. */
static int sleep_in(struct queue *q, struct order *list, struct party *p)
{
    struct waiter t;

    wait_queue_init(&p->wait, "message");
    p->in = list;
    order_append(list, &p->place);
    wait_enqueue(&p->wait, &t);
    mutex_unlock(&q->lock);
    while (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE)) {
        if (wait_block(&t, WAIT_INTERRUPTIBLE, WAIT_FOREVER) != 0)
            break;
        wait_enqueue(&p->wait, &t); /* before the look: a wake-up after it is not missed */
        if (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE)) { /* who let others send is to end */
            mutex_lock(&q->lock);
            admit(q);
            mutex_unlock(&q->lock);
        }
    }
    wait_finish(&t);
    mutex_lock(&q->lock); /* whoever was finishing p is through with it */
    if (p->done)
        return p->result;
    order_remove(list, &p->place);
    return -ERESTARTNOHAND;
}

int msg_send(const struct ipc_caller *c, int id, struct ipc_msg *m, int64_t type, bool wait)
{
    struct party s = {.pid = c->pid, .m = m};
    struct portions p = {clock_ns(), 0};
    struct queue *q;
    int err = open_queue(c, id, IPC_WRITE, &q);

    if (err)
        return err;
    m->type = type;
    if (ipc_is_removed(&q->ipc)) {
        err = -EIDRM;
    } else if (has_room(q, m) && order_empty(&q->senders)) {
        deliver(q, m, c->pid);
        show(q, m, &p);
        admit(q); /* who came meanwhile may have waited for the room of a message that is gone */
    } else {
        err = wait ? sleep_in(q, &q->senders, &s) : -EAGAIN;
        if (err == -ERESTARTNOHAND)
            admit(q); /* those behind it may fit */
    }
    close_queue(q);
    return err;
}

/* A copy of the message with this number, the oldest being 0. It is charged to the caller, as are
 * messages that it receives. 0, -ENOMSG, -E2BIG, -ENOMEM. Mutex held. */
static int copy_of(const struct queue *q, int64_t number, size_t max, bool cut,
                   struct ipc_msg **out)
{
    const struct ipc_msg *m = number < 0 ? NULL : msg_list_nth(&q->messages, (uint64_t)number);

    if (!m)
        return -ENOMSG;
    if (m->nbytes > max)
        return cut ? -EINVAL : -E2BIG; /* Linux cuts no copies */
    *out = msg_alloc(m->nbytes);
    if (!*out)
        return -ENOMEM;
    (*out)->type = m->type;
    memcpy((*out)->text, m->text, m->nbytes);
    return 0;
}

int msg_copy(const struct ipc_caller *c, int id, size_t max, int64_t number, uint32_t flags,
             struct ipc_msg **out)
{
    struct queue *q;
    int err = open_queue(c, id, IPC_READ, &q);

    if (err)
        return err;
    err = ipc_is_removed(&q->ipc) ? -EIDRM
                                  : copy_of(q, number, max, (flags & MSG_NOERROR) != 0, out);
    close_queue(q);
    return err;
}

int msg_receive(const struct ipc_caller *c, int id, size_t max, int64_t type, uint32_t flags,
                struct ipc_msg **out)
{
    struct party r = {.pid = c->pid, .type = type, .flags = flags, .max = max};
    struct queue *q;
    int err = open_queue(c, id, IPC_READ, &q);

    if (err)
        return err;
    r.m = choose(q, &r);
    if (ipc_is_removed(&q->ipc)) {
        err = -EIDRM;
    } else if (r.m && r.m->nbytes > max && !(flags & MSG_NOERROR)) {
        err = -E2BIG;
    } else if (r.m) {
        msg_list_take_out(&q->messages, r.m);
        note(q, r.m, false, c->pid);
        admit(q);
    } else {
        err = flags & IPC_NOWAIT ? -ENOMSG : sleep_in(q, &q->receivers, &r);
    }
    close_queue(q);
    *out = err ? NULL : r.m;
    return err;
}

/* ---- msgctl ---- */

int msg_stat(const struct ipc_caller *c, int id, struct msg_status *s)
{
    return ipc_stat(&table, c, id, s);
}

int msg_stat_slot(const struct ipc_caller *c, uint64_t slot, bool any, struct msg_status *s)
{
    return ipc_stat_slot(&table, c, slot, any, s);
}

uint32_t msg_next(uint32_t from) { return ipc_next(&table, from); }

int msg_set(const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid, uint32_t mode,
            uint64_t limit)
{
    struct queue *q;
    ipl_t ipl;
    int err = open_queue(c, id, 0, &q);

    if (err)
        return err;
    ipl = spin_lock(&table.lock);
    if (q->ipc.removed)
        err = -EIDRM;
    else if (!ipc_owns(&q->ipc, c) || (limit > MSG_QUEUE_MAX && c->cred.uid != 0))
        err = -EPERM;
    else
        err = ipc_set_locked(&q->ipc, c, uid, gid, mode);
    if (!err)
        q->limit = limit;
    spin_unlock(&table.lock, ipl);
    if (!err)
        admit(q);
    close_queue(q);
    return err;
}

/* The queue is removed: nobody begins to wait. */
static void end_all(struct queue *q, struct order *parties, struct portions *p)
{
    while (!order_empty(parties)) {
        finish(party_of(order_first(parties)), -EIDRM);
        step(q, p, ENDED);
    }
}

int msg_remove(const struct ipc_caller *c, int id)
{
    struct portions p = {clock_ns(), 0};
    struct ipc_object *o;
    struct ipc_msg *m;
    struct queue *q;
    int err = ipc_open_removed(&table, c, id, &o);

    if (err)
        return err;
    q = queue_of(o);
    mutex_lock(&q->lock);
    end_all(q, &q->senders, &p);
    end_all(q, &q->receivers, &p);
    while ((m = msg_list_first(&q->messages)) != NULL) {
        msg_list_take_out(&q->messages, m);
        note(q, m, false, c->pid);
        msg_free(m);
        step(q, &p, ENDED);
    }
    close_queue(q);
    return 0;
}

/* ---- figures and checks ---- */

void msg_totals(struct msg_totals *t)
{
    ipl_t ipl = spin_lock(&table.lock);

    *t = (struct msg_totals){.queues = table.count,
                             .highest = ipc_highest_locked(&table),
                             .count = __atomic_load_n(&all_messages, __ATOMIC_RELAXED),
                             .nbytes = __atomic_load_n(&all_bytes, __ATOMIC_RELAXED)};
    spin_unlock(&table.lock, ipl);
}

static void explain(struct census *c)
{
    const struct ipc_msg *m;

    for (uint32_t n = msg_next(0); n < IPC_SLOTS; n = msg_next(n + 1)) {
        const struct queue *q = queue_of(table.slot[n].object);

        census_explain(c, CENSUS_NONPAGED, sizeof(*q), 1);
        for (m = msg_list_first(&q->messages); m; m = msg_list_next(m))
            census_explain(c, CENSUS_NONPAGED, sizeof(*m) + m->nbytes, 1);
    }
}

void msg_boot(void)
{
    static const struct census_kind kinds[] = {
        {"message queue", CENSUS_NONPAGED, sizeof(struct queue)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
