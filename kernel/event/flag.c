/*
 * Event flags: clusters of 32, and waiting for them.
 *
 * Flags are changed by one atomic operation, at any IPL, also by the timer interrupt. Any number of
 * threads may wait in one cluster, and an interrupt cannot wake them all. So whoever changes a
 * cluster counts the change and wakes one waiter; and each waiter that finds the count higher than
 * when it looked at the flags wakes two more before it looks again:
 *
 *   setter: flags |= bit; changes++; wake one       waiter: seen = changes; enqueue;
 *                                                           flags? changes == seen? sleep
 *                                                           changes != seen: wake two more
 *
 * All who were on the queue before the change are woken so, for the queue is first in, first out,
 * and those who have come since have seen the change: woken by mistake, they wake nobody. A waiter
 * that has read the count before the change and enters the queue after it finds the count changed,
 * and does not sleep.
 *
 * What is waited for is a state: a waiter may miss a flag that is set and cleared again before it
 * has run.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/event/event_private.h"
#include "kernel/sched/thread.h"

void event_cluster_init(struct event_cluster *c)
{
    c->flags = 0;
    c->changes = 0;
    wait_queue_init(&c->queue, "event flags");
}

uint32_t event_cluster_set(struct event_cluster *c, uint32_t mask)
{
    uint32_t before = __atomic_fetch_or(&c->flags, mask, __ATOMIC_SEQ_CST);

    __atomic_fetch_add(&c->changes, 1, __ATOMIC_SEQ_CST);
    wake_one(&c->queue);
    return before;
}

/* A waiter is on the queue before it looks at the count, so that one that is not seen here sees the
 * change. */
void event_wake_none(struct event_owner *o)
{
    __atomic_fetch_add(&o->none.changes, 1, __ATOMIC_SEQ_CST);
    if (unlikely(wait_queue_is_used(&o->none.queue)))
        wake_one(&o->none.queue);
}

cond_t event_cluster_locked(struct event_owner *o, uint32_t efn, struct event_cluster **c)
{
    struct event_common *common;

    if (efn > EVENT_NONE)
        return SS$_ILLEFC;
    if (efn == EVENT_NONE) {
        *c = &o->none;
        return SS$_NORMAL;
    }
    if (efn < EVENT_LOCAL_FLAGS) {
        *c = &o->local[efn / 32];
        return SS$_NORMAL;
    }
    common = o->common[(efn - EVENT_LOCAL_FLAGS) / 32];
    if (!common)
        return SS$_UNASEFC;
    *c = &common->cluster;
    return SS$_NORMAL;
}

/* ---- set, clear, read ---- */

enum action { SET, CLEAR, READ };

static cond_t act(struct event_owner *o, uint32_t efn, enum action action, uint32_t *before)
{
    struct event_cluster *c;
    cond_t status;
    ipl_t ipl;

    if (efn >= EVENT_FLAGS)
        return SS$_ILLEFC;
    ipl = spin_lock(&o->lock);
    status = event_cluster_locked(o, efn, &c);
    if (status == SS$_NORMAL && action == SET)
        *before = event_cluster_set(c, event_bit(efn));
    else if (status == SS$_NORMAL && action == CLEAR)
        *before = __atomic_fetch_and(&c->flags, ~event_bit(efn), __ATOMIC_SEQ_CST);
    else if (status == SS$_NORMAL)
        *before = __atomic_load_n(&c->flags, __ATOMIC_SEQ_CST);
    spin_unlock(&o->lock, ipl);
    if (status != SS$_NORMAL)
        return status;
    return *before & event_bit(efn) ? SS$_WASSET : SS$_WASCLR;
}

cond_t event_flag_set(struct event_owner *o, uint32_t efn)
{
    uint32_t before;

    return act(o, efn, SET, &before);
}

cond_t event_flag_clear(struct event_owner *o, uint32_t efn)
{
    uint32_t before;

    return act(o, efn, CLEAR, &before);
}

cond_t event_flag_read(struct event_owner *o, uint32_t efn, uint32_t *state)
{
    event_absorb(o);
    return act(o, efn, READ, state);
}

/* ---- waiting ---- */

/* A cluster that stays in existence while a thread waits, although another one may leave it. */
struct held {
    struct event_cluster *cluster;
    struct event_common *common; /* NULL: it is one of the process's own */
};

static cond_t hold(struct event_owner *o, uint32_t efn, struct held *h)
{
    ipl_t ipl = spin_lock(&o->lock);
    cond_t status = event_cluster_locked(o, efn, &h->cluster);

    h->common = NULL;
    if (status == SS$_NORMAL && efn >= EVENT_LOCAL_FLAGS && efn < EVENT_FLAGS) {
        h->common = container_of(h->cluster, struct event_common, cluster);
        __atomic_fetch_add(&h->common->refs, 1, __ATOMIC_RELAXED);
    }
    spin_unlock(&o->lock, ipl);
    return status;
}

static void let_go(const struct held *h)
{
    if (h->common)
        event_common_unref(h->common);
}

static uint32_t changes_of(const struct event_cluster *c)
{
    return __atomic_load_n(&c->changes, __ATOMIC_SEQ_CST);
}

/* Sleep until the cluster has changed since its count of changes was `seen`, or a request was
 * posted that this thread can complete; one that is to end completes none. False: interrupted. */
static bool wait_for_change(struct event_owner *o, struct event_cluster *c, uint32_t seen)
{
    struct waiter w;
    int err = 0;

    wait_enqueue(&c->queue, &w);
    if (changes_of(c) == seen && (thread_killed() || !event_is_posted(o)))
        err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
    wait_finish(&w);
    if (changes_of(c) != seen) {
        wake_one(&c->queue);
        wake_one(&c->queue);
    }
    return err == 0;
}

static bool are_set(const struct event_cluster *c, uint32_t mask, enum event_until until)
{
    uint32_t set = __atomic_load_n(&c->flags, __ATOMIC_SEQ_CST) & mask;

    return until == EVENT_ALL ? set == mask : set != 0;
}

cond_t event_flags_wait(struct event_owner *o, uint32_t efn, uint32_t mask, enum event_until until,
                        bool *interrupted)
{
    struct held h;
    cond_t status;

    if (efn >= EVENT_FLAGS)
        return SS$_ILLEFC;
    status = hold(o, efn, &h);
    if (status != SS$_NORMAL)
        return status;
    for (;;) {
        uint32_t seen = changes_of(h.cluster);

        event_absorb(o);
        if (are_set(h.cluster, mask, until))
            break;
        if (!wait_for_change(o, h.cluster, seen)) {
            *interrupted = true;
            break;
        }
    }
    let_go(&h);
    return SS$_NORMAL;
}

cond_t event_synch(struct event_owner *o, uint32_t efn, vaddr_t iosb, bool *interrupted)
{
    cond_t status;
    struct held h;

    if (!iosb)
        return event_flags_wait(o, efn, event_bit(efn), EVENT_ANY, interrupted);
    status = hold(o, efn, &h);
    while (status == SS$_NORMAL) {
        uint32_t seen = changes_of(h.cluster), block = 0;

        event_absorb(o);
        if (copyin(&block, iosb, sizeof(block)) != 0)
            status = SS$_ACCVIO;
        else if (block)
            break;
        else if (!wait_for_change(o, h.cluster, seen))
            *interrupted = true;
        if (*interrupted)
            break;
    }
    if (status == SS$_NORMAL || status == SS$_ACCVIO)
        let_go(&h);
    return status;
}
