/*
 * Timer queue entries: timers ($SETIMR), scheduled wake-ups ($SCHDWK), and hibernation.
 *
 * An entry belongs to the owner whose flag is set or who is woken, and is on that one's list; its
 * function, which runs in the timer interrupt, takes the owner's lock. Whoever cancels an entry
 * takes it off the list and cancels the kernel's timer. If that is not pending any more, because
 * another CPU is about to call the function, the function finds the entry dead and frees it:
 *
 *   CPU 0                                   CPU 1
 *   timer is due, taken off the queue       lock; off the list; timer_cancel: not pending
 *   function: waits for the lock            dead = true; unlock
 *   lock, dead: unlock, free
 *
 * There are at most as many timers as timer requests, PQL_DTQELM; to wake-ups other processes add.
 * Entries are looked at LOOK_AT_ONCE in a hold, and cancelled a few in one. The walk goes by age
 * (order.h), so it meets each once, and none that is set while it goes on.
 *
 * Timers of CPU time are on the same list, without a timer of the kernel. Threads of the process
 * compare `cpu_next` with the time that it has used (kernel/proc/cpu_timer.c); a walk that begins
 * clears it, and leaves the least of what it has met and of what was set meanwhile.
 *
 * A repeated wake-up starts its next interval in the interrupt, hence the shortest interval, as on
 * OpenVMS, and EACH_NS for each timer that the user has who asked for it: so all timers of a user
 * together expire no more than 20,000 times a second.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/event/event_private.h"
#include "mm/pool/pool_charged.h"

#define EACH_NS        50000u
#define CANCEL_AT_ONCE 2u
#define LOOK_AT_ONCE   16u

struct event_tqe { /* nonpaged pool, counted as QUOTA_TIMERS */
    struct timer timer;
    struct order_node place;     /* in owner->timers or wakes; owner's lock */
    struct event_owner *owner;   /* with a reference; constant */
    struct event_owner *charged; /* a timer request, or an AST; with a reference; constant */
    bool wake;                   /* it wakes the owner; else `request` is completed; constant */
    uint64_t cpu_at;             /* expires at that CPU time of the process; 0: it has a timer;
                                    constant */
    bool dead;                   /* it was cancelled too late; owner's lock */
    uint16_t account;            /* constant */
    uint64_t id;                 /* constant */
    uint64_t interval;           /* ns, 0: none; constant */
    struct event_request request;
};

static void tqe_free(struct event_tqe *t)
{
    struct event_owner *owner = t->owner, *charged = t->charged;

    npp_free_counted(t, sizeof(*t), QUOTA_TIMERS, t->account);
    event_owner_unref(charged);
    event_owner_unref(owner);
}

/* The entry is no timer request any more. */
static void discharge(struct event_tqe *t)
{
    uint32_t *count = t->wake ? &t->charged->nasts : &t->charged->ntimers;

    __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

static struct order *list_of(const struct event_tqe *t)
{
    return t->wake ? &t->owner->wakes : &t->owner->timers;
}

/* The entry is on its list no more, and no timer request. */
static void leave_locked(struct event_tqe *t)
{
    order_remove(list_of(t), &t->place);
    discharge(t);
}

static void release_request(struct event_request *r)
{
    tqe_free(container_of(r, struct event_tqe, request));
}

/* ---- expiration ---- */

static uint64_t interval_of(const struct event_tqe *t)
{
    const struct quota_count *c = &accounts[t->account].count[QUOTA_TIMERS];

    return MAX(t->interval, EACH_NS * __atomic_load_n(&c->used, __ATOMIC_RELAXED));
}

/* The next wake-up, without those that were missed. */
static void again_locked(struct event_tqe *t)
{
    uint64_t next = t->timer.deadline_ns + interval_of(t), now = clock_ns();

    timer_start(&t->timer, next > now ? next : now + interval_of(t));
}

/* What remains of an entry whose function will not run, or has found it dead. */
static void end_cancelled(struct event_tqe *t)
{
    if (!t->wake)
        event_request_cancel(&t->request);
    tqe_free(t);
}

/* The last that becomes of an entry: it is on no list. */
static void finish(struct event_tqe *t, bool dead)
{
    if (dead)
        end_cancelled(t);
    else if (t->wake)
        tqe_free(t);
    else
        event_post(&t->request, 0);
}

/* An entry that goes on may be cancelled and freed as soon as the lock is released. */
static void expired(struct timer *timer)
{
    struct event_tqe *t = container_of(timer, struct event_tqe, timer);
    struct event_owner *o = t->owner;
    ipl_t ipl = spin_lock(&o->lock);
    bool dead = t->dead, over = dead || !t->interval;

    if (t->wake && !dead)
        event_wake(o);
    if (!over) {
        again_locked(t);
    } else if (!dead) {
        leave_locked(t);
    }
    spin_unlock(&o->lock, ipl);
    if (over)
        finish(t, dead);
}

/* ---- setting ---- */

static struct event_tqe *tqe_create(struct event_owner *o, struct event_owner *by, bool wake,
                                    uint16_t account, cond_t *status)
{
    struct event_tqe *t;
    bool full;

    *status = SS$_EXQUOTA;
    if (!(wake ? event_ast_charge(by) : event_timer_charge(by)))
        return NULL;
    t = npp_alloc_counted(sizeof(*t), QUOTA_TIMERS, account, &full);
    if (!t) {
        *status = full ? SS$_EXQUOTA : SS$_INSFMEM;
        __atomic_fetch_sub(wake ? &by->nasts : &by->ntimers, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    memset(t, 0, sizeof(*t));
    event_owner_ref(o);
    event_owner_ref(by);
    t->owner = o;
    t->charged = by;
    t->wake = wake;
    t->account = account;
    t->timer.fn = expired;
    return t;
}

/* The owner's lock is held. at 0: none. */
static void note_cpu_locked(struct event_owner *o, uint64_t at)
{
    if (at && (!o->cpu_next || at < o->cpu_next))
        __atomic_store_n(&o->cpu_next, at, __ATOMIC_SEQ_CST);
}

/* Start the entry. False: the process has ended. */
static bool start(struct event_tqe *t, uint64_t deadline)
{
    struct event_owner *o = t->owner;
    ipl_t ipl = spin_lock(&o->lock);
    bool may = !o->closed;

    if (may) {
        order_append(list_of(t), &t->place);
        note_cpu_locked(o, t->cpu_at);
        if (!t->cpu_at)
            timer_start(&t->timer, deadline);
    }
    spin_unlock(&o->lock, ipl);
    return may;
}

cond_t event_timer_set(struct event_owner *o, const struct event_timer *w, uint16_t account)
{
    cond_t status;
    struct event_tqe *t = tqe_create(o, o, false, account, &status);

    if (!t)
        return status;
    t->id = w->id;
    t->cpu_at = w->cpu ? w->deadline : 0;
    t->request.release = release_request;
    status = event_request_begin(&t->request, o, w->efn, 0, w->astadr, w->id);
    if (status == SS$_NORMAL && start(t, w->deadline))
        return SS$_NORMAL;
    if (status == SS$_NORMAL)
        event_request_cancel(&t->request);
    discharge(t);
    tqe_free(t);
    return status == SS$_EXASTLM ? SS$_EXQUOTA : status;
}

cond_t event_schedule_wake(struct event_owner *o, struct event_owner *by, uint64_t deadline,
                           uint64_t interval, uint16_t account)
{
    cond_t status;
    struct event_tqe *t = tqe_create(o, by, true, account, &status);

    if (!t)
        return status;
    t->interval = interval ? MAX(interval, (uint64_t)EVENT_INTERVAL_NS) : 0;
    if (start(t, deadline))
        return SS$_NORMAL;
    discharge(t);
    tqe_free(t);
    return SS$_NONEXPR;
}

/* ---- cancelling, and timers of CPU time that have expired ---- */

/* A walk along a list: what it is for, up to which age it has come, and what it has taken out and
 * is to free. */
struct walk {
    uint64_t id;   /* entries with this identification; 0: all */
    uint64_t used; /* those that are due at this CPU time; 0: to cancel them, whatever they are */
    uint64_t age, end;
    struct event_tqe *gone[CANCEL_AT_ONCE];
    unsigned ngone;
};

/* Is the entry one of those? The lock is held. */
static bool wants_locked(struct event_owner *o, const struct walk *c, const struct event_tqe *t)
{
    if (!c->used)
        return !c->id || t->id == c->id;
    if (t->cpu_at > c->used)
        note_cpu_locked(o, t->cpu_at);
    return t->cpu_at && t->cpu_at <= c->used;
}

/* One hold: take such entries off the list. False: no more are left. */
static bool take_some(struct event_owner *o, struct order *list, struct walk *c)
{
    ipl_t ipl = spin_lock(&o->lock);
    struct order_node *at = order_from(list, c->age);
    unsigned found = 0;
    bool more;

    if (!c->age) {
        c->end = order_end(list);
        if (c->used)
            __atomic_store_n(&o->cpu_next, 0, __ATOMIC_SEQ_CST);
    }
    for (unsigned n = 0; at && n < LOOK_AT_ONCE && found < CANCEL_AT_ONCE; n++) {
        struct event_tqe *t = container_of(at, struct event_tqe, place);

        c->age = at->age + 1;
        at = order_next(at);
        if (t->place.age >= c->end || !wants_locked(o, c, t))
            continue;
        leave_locked(t);
        found++;
        if (t->cpu_at || timer_cancel(&t->timer))
            c->gone[c->ngone++] = t;
        else
            t->dead = true;
    }
    more = at && at->age < c->end;
    spin_unlock(&o->lock, ipl);
    return more;
}

static void walk(struct event_owner *o, struct order *list, struct walk c)
{
    bool more;

    do {
        more = take_some(o, list, &c);
        for (unsigned i = 0; i < c.ngone; i++)
            finish(c.gone[i], !c.used);
        c.ngone = 0;
    } while (more);
}

static void cancel(struct event_owner *o, struct order *list, uint64_t id)
{
    walk(o, list, (struct walk){.id = id});
}

void event_timer_cancel(struct event_owner *o, uint64_t id) { cancel(o, &o->timers, id); }

bool event_has_cpu_timers(const struct event_owner *o)
{
    return __atomic_load_n(&o->cpu_next, __ATOMIC_SEQ_CST) != 0;
}

bool event_cpu_timers_expire(struct event_owner *o, uint64_t used_ns)
{
    uint64_t next = __atomic_load_n(&o->cpu_next, __ATOMIC_SEQ_CST);

    if (next && used_ns >= next)
        walk(o, &o->timers, (struct walk){.used = used_ns});
    return event_has_cpu_timers(o);
}

void event_cancel_wakes(struct event_owner *o) { cancel(o, &o->wakes, 0); }

/* ---- hibernation ---- */

void event_wake(struct event_owner *o)
{
    __atomic_store_n(&o->wake_pending, 1, __ATOMIC_SEQ_CST);
    wake_one(&o->hibernating);
}

cond_t event_hibernate(struct event_owner *o, bool *interrupted)
{
    struct waiter w;

    for (;;) {
        event_absorb(o);
        wait_enqueue(&o->hibernating, &w);
        if (__atomic_exchange_n(&o->wake_pending, 0, __ATOMIC_SEQ_CST))
            break;
        if (wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER) != 0) {
            *interrupted = true;
            break;
        }
        wait_finish(&w);
    }
    wait_finish(&w);
    /* It may have been woken, and not take the wake-up: another thread is to. */
    if (*interrupted && __atomic_load_n(&o->wake_pending, __ATOMIC_SEQ_CST))
        wake_one(&o->hibernating);
    return SS$_NORMAL;
}
