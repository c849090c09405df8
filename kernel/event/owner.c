/*
 * Owners: made by the first service that needs one, ended with the process.
 *
 * The end closes the owner under its lock: what is posted afterwards is released at once, so disk
 * and mailbox requests may complete at any time later. Lists are emptied one element in a hold, so
 * that no hold grows with what the process has asked for.
 */
#include "kernel/base/string.h"
#include "kernel/event/event_private.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool_charged.h"

struct event_owner *event_owner_create(struct thread *target, uint16_t account)
{
    struct event_owner *o = npp_alloc_charged(sizeof(*o), account);

    if (!o)
        return NULL;
    memset(o, 0, sizeof(*o));
    spin_init(&o->lock, "events", RANK_EVENTS, IPL_CLOCK);
    o->refs = 1;
    o->account = account;
    o->target = target;
    list_init(&o->posted);
    list_init(&o->asts);
    for (unsigned i = 0; i < CLUSTERS_LOCAL; i++)
        event_cluster_init(&o->local[i]);
    event_cluster_init(&o->none);
    wait_queue_init(&o->hibernating, "hibernating");
    return o;
}

void event_set_limits(struct event_owner *o, uint32_t asts, uint32_t timers)
{
    o->ast_limit = asts;
    o->timer_limit = timers;
}

void event_owner_ref(struct event_owner *o) { __atomic_fetch_add(&o->refs, 1, __ATOMIC_RELAXED); }

void event_owner_unref(struct event_owner *o)
{
    if (__atomic_sub_fetch(&o->refs, 1, __ATOMIC_ACQ_REL) == 0)
        npp_free_charged(o, sizeof(*o), o->account);
}

void event_retarget(struct event_owner *o, const struct thread *from, struct thread *to)
{
    ipl_t ipl = spin_lock(&o->lock);

    if (o->target == from) {
        o->target = to;
        o->held = false; /* that was the other one's wish */
        __atomic_store_n(&o->active, false,
                         __ATOMIC_RELAXED); /* a routine that ran will not return */
        event_ask_locked(o);
    }
    spin_unlock(&o->lock, ipl);
}

/* Drop a request that is to be completed, or whose AST is to be delivered. False: there is none. */
static bool drop_one(struct event_owner *o)
{
    ipl_t ipl = spin_lock(&o->lock);
    struct list *l = list_pop_head(&o->posted);
    struct event_request *r = l ? list_entry(l, struct event_request, link)
                                : event_next_ast_locked(o);

    spin_unlock(&o->lock, ipl);
    if (r)
        event_request_release(r);
    return r != NULL;
}

static void leave_clusters(struct event_owner *o)
{
    for (uint32_t efn = EVENT_LOCAL_FLAGS; efn < EVENT_FLAGS; efn += 32)
        (void)event_disassociate(o, efn);
}

static void run_down(struct event_owner *o, bool end)
{
    ipl_t ipl = spin_lock(&o->lock);

    o->image++;
    o->closed = end;
    o->held = false;
    __atomic_store_n(&o->disabled, false, __ATOMIC_RELAXED);
    __atomic_store_n(&o->active, false, __ATOMIC_RELAXED);
    if (end)
        o->target = NULL;
    spin_unlock(&o->lock, ipl);
    event_timer_cancel(o, 0);
    event_cancel_wakes(o);
    while (drop_one(o))
        ;
    leave_clusters(o);
    __atomic_store_n(&o->asked, false, __ATOMIC_RELAXED);
}

void event_rundown(struct event_owner *o) { run_down(o, false); }

void event_end(struct event_owner *o)
{
    run_down(o, true);
    event_owner_unref(o);
}
