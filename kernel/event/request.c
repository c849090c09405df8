/*
 * Completion of requests, and ASTs.
 *
 * Whoever posts a request may be an interrupt, or a thread of another process: neither can write to
 * the status block. So the request waits on `posted` until a thread of its own process takes it:
 * the thread that ASTs are delivered to, which is interrupted for that, or one that begins to wait
 * or is woken from a wait for the request's flag. One thread at a time completes requests
 * (`absorbing`), so they complete, and their ASTs are delivered, in the order in which they were
 * posted. A thread that finds another one doing it need not wait: the flags are set later, and that
 * wakes it.
 *
 * The block is written before the flag is set, and the flag is set before the AST is queued. A
 * request without a status block and without `finish` is settled where it is posted.
 *
 * An AST is delivered by the target thread on its way to user mode (kernel/proc/ast.c): one at a
 * time. `active` is set when one is taken, and cleared when its routine has returned.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/event/event_private.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool_charged.h"
#include "sysman/params.h"

/* Charge one, at most `limit` of them. */
static bool charge(uint32_t *count, int64_t limit)
{
    if (__atomic_add_fetch(count, 1, __ATOMIC_RELAXED) <= limit)
        return true;
    __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
    return false;
}

static int64_t ast_limit(const struct event_owner *o)
{
    return o->ast_limit ? o->ast_limit : sysparam(SYSPARAM_PQL_DASTLM);
}

static int64_t timer_limit(const struct event_owner *o)
{
    return o->timer_limit ? o->timer_limit : sysparam(SYSPARAM_PQL_DTQELM);
}

bool event_ast_charge(struct event_owner *o) { return charge(&o->nasts, ast_limit(o)); }

bool event_timer_charge(struct event_owner *o) { return charge(&o->ntimers, timer_limit(o)); }

void event_limits(uint32_t asts, uint32_t timers, struct event_counts *c)
{
    *c = (struct event_counts){.enabled = true,
                               .ast_limit = asts ? asts : (uint32_t)sysparam(SYSPARAM_PQL_DASTLM),
                               .timer_limit = timers ? timers
                                                     : (uint32_t)sysparam(SYSPARAM_PQL_DTQELM)};
}

void event_counts(const struct event_owner *o, struct event_counts *c)
{
    event_limits(o->ast_limit, o->timer_limit, c);
    c->asts = __atomic_load_n(&o->nasts, __ATOMIC_RELAXED);
    c->timers = __atomic_load_n(&o->ntimers, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < CLUSTERS_LOCAL; i++)
        c->flags[i] = __atomic_load_n(&o->local[i].flags, __ATOMIC_RELAXED);
    c->active = __atomic_load_n(&o->active, __ATOMIC_RELAXED);
    c->enabled = !__atomic_load_n(&o->disabled, __ATOMIC_RELAXED);
}

/* ---- requests ---- */

cond_t event_request_begin(struct event_request *r, struct event_owner *o, uint32_t efn,
                           vaddr_t iosb, vaddr_t astadr, uint64_t astprm)
{
    struct event_cluster *c;
    cond_t status;
    ipl_t ipl;

    if (astadr && !event_ast_charge(o))
        return SS$_EXASTLM;
    ipl = spin_lock(&o->lock);
    status = event_cluster_locked(o, efn, &c);
    if (status == SS$_NORMAL)
        __atomic_fetch_and(&c->flags, ~event_bit(efn), __ATOMIC_SEQ_CST);
    r->image = o->image;
    spin_unlock(&o->lock, ipl);
    if (status != SS$_NORMAL) {
        if (astadr)
            __atomic_fetch_sub(&o->nasts, 1, __ATOMIC_RELAXED);
        return status;
    }
    list_init(&r->link);
    event_owner_ref(o);
    r->owner = o;
    r->efn = efn;
    r->iosb = iosb;
    r->status = 0;
    r->astadr = astadr;
    r->astprm = astprm;
    return SS$_NORMAL;
}

void event_request_cancel(struct event_request *r)
{
    if (r->astadr)
        __atomic_fetch_sub(&r->owner->nasts, 1, __ATOMIC_RELAXED);
    event_owner_unref(r->owner);
}

void event_request_release(struct event_request *r)
{
    struct event_owner *o = r->owner;

    if (r == &o->forced) /* a part of the owner */
        return;
    if (r->astadr)
        __atomic_fetch_sub(&o->nasts, 1, __ATOMIC_RELAXED);
    r->release(r);
    event_owner_unref(o);
}

void event_ask_locked(struct event_owner *o)
{
    bool ast = !o->disabled && !o->active && !o->held && !list_empty(&o->asts);
    bool asked = ast || (!list_empty(&o->posted) && !o->absorbing);

    __atomic_store_n(&o->asked, asked, __ATOMIC_RELAXED);
    if (asked && o->target)
        thread_interrupt(o->target);
}

bool event_settle_locked(struct event_owner *o, struct event_request *r)
{
    struct event_cluster *c;

    if (o->closed || r->image != o->image)
        return true;
    if (event_cluster_locked(o, r->efn, &c) == SS$_NORMAL) /* else it has left the cluster */
        (void)event_cluster_set(c, event_bit(r->efn));
    if (!r->astadr)
        return true;
    list_add_tail(&o->asts, &r->link);
    event_ask_locked(o);
    return false;
}

void event_post(struct event_request *r, uint64_t status)
{
    struct event_owner *o = r->owner;
    struct event_cluster *c;
    bool over;
    ipl_t ipl;

    r->status = status;
    ipl = spin_lock(&o->lock);
    over = (!r->iosb && !r->finish) || o->closed || r->image != o->image;
    if (over) {
        over = event_settle_locked(o, r);
    } else {
        list_add_tail(&o->posted, &r->link);
        event_ask_locked(o);
        if (event_cluster_locked(o, r->efn, &c) == SS$_NORMAL)
            wake_one(&c->queue); /* a waiter completes it sooner than a busy target thread */
    }
    spin_unlock(&o->lock, ipl);
    if (over)
        event_request_release(r);
}

/* The thread completes no request any more. */
static void end_absorbing(struct event_owner *o)
{
    ipl_t ipl = spin_lock(&o->lock);

    __atomic_store_n(&o->absorbing, false, __ATOMIC_RELAXED);
    event_ask_locked(o);
    spin_unlock(&o->lock, ipl);
}

/* Complete r, which is on no list. */
static void complete(struct event_owner *o, struct event_request *r, bool absorbed)
{
    ipl_t ipl;
    bool over;

    if (r->finish && !r->finish(r)) {
        if (absorbed)
            end_absorbing(o);
        return;
    }
    if (r->iosb) /* if it has been unmapped since the request began, the status is lost */
        (void)copyout_u64(r->iosb, r->status);
    ipl = spin_lock(&o->lock);
    if (absorbed)
        __atomic_store_n(&o->absorbing, false, __ATOMIC_RELAXED);
    over = event_settle_locked(o, r);
    if (absorbed)
        event_ask_locked(o);
    spin_unlock(&o->lock, ipl);
    if (over)
        event_request_release(r);
}

void event_post_self(struct event_request *r, uint64_t status)
{
    r->status = status;
    complete(r->owner, r, false);
}

/* Take a posted request, to complete it. NULL: there is none, or another thread does it. */
static struct event_request *next_posted(struct event_owner *o)
{
    ipl_t ipl = spin_lock(&o->lock);
    struct list *l = o->absorbing ? NULL : list_pop_head(&o->posted);

    if (l) {
        __atomic_store_n(&o->absorbing, true, __ATOMIC_RELAXED);
        event_ask_locked(o);
    }
    spin_unlock(&o->lock, ipl);
    return l ? list_entry(l, struct event_request, link) : NULL;
}

void event_absorb(struct event_owner *o)
{
    struct event_request *r;

    while (unlikely(event_is_posted(o)) && !thread_killed() && (r = next_posted(o)))
        complete(o, r, true);
}

/* ---- ASTs ---- */

struct declared { /* of $DCLAST, in nonpaged pool */
    struct event_request request;
    uint16_t account;
};

static void free_declared(struct event_request *r)
{
    struct declared *d = container_of(r, struct declared, request);

    npp_free_charged(d, sizeof(*d), d->account);
}

cond_t event_declare_ast(struct event_owner *o, const struct event_ast *ast, uint16_t account)
{
    struct declared *d = npp_alloc_charged(sizeof(*d), account);

    if (!d)
        return SS$_INSFMEM;
    d->account = account;
    d->request.finish = NULL;
    d->request.release = free_declared;
    if (event_request_begin(&d->request, o, EVENT_NONE, 0, ast->routine, ast->parameter) !=
        SS$_NORMAL) {
        npp_free_charged(d, sizeof(*d), account);
        return SS$_EXQUOTA;
    }
    event_post(&d->request, 0);
    return SS$_NORMAL;
}

/* A process that ends has dropped its ASTs, or is about to. */
void event_force_ast(struct event_owner *o, const struct event_ast *ast)
{
    ipl_t ipl = spin_lock(&o->lock);

    if (!o->forcing && !o->closed) {
        o->forcing = true;
        o->forced.owner = o;
        o->forced.astadr = ast->routine;
        o->forced.astprm = ast->parameter;
        list_add_tail(&o->asts, &o->forced.link);
        event_ask_locked(o);
    }
    spin_unlock(&o->lock, ipl);
}

struct event_request *event_next_ast_locked(struct event_owner *o)
{
    struct list *l = list_pop_head(&o->asts);
    struct event_request *r = l ? list_entry(l, struct event_request, link) : NULL;

    if (r == &o->forced)
        o->forcing = false;
    return r;
}

cond_t event_enable_asts(struct event_owner *o, bool enable)
{
    ipl_t ipl = spin_lock(&o->lock);
    bool was = !o->disabled;

    __atomic_store_n(&o->disabled, !enable, __ATOMIC_RELAXED);
    event_ask_locked(o);
    spin_unlock(&o->lock, ipl);
    return was ? SS$_WASSET : SS$_WASCLR;
}

bool event_is_asked(const struct event_owner *o)
{
    return __atomic_load_n(&o->asked, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&o->target, __ATOMIC_RELAXED) == thread_self();
}

bool event_take_ast(struct event_owner *o, struct event_ast *ast)
{
    struct event_request *r = NULL;
    ipl_t ipl;

    if (!event_is_asked(o))
        return false;
    ipl = spin_lock(&o->lock);
    if (!o->disabled && !o->active && !o->held && o->target == thread_self())
        r = event_next_ast_locked(o);
    if (r) {
        *ast = (struct event_ast){r->astadr, r->astprm};
        __atomic_store_n(&o->active, true, __ATOMIC_RELAXED);
        event_ask_locked(o);
    }
    spin_unlock(&o->lock, ipl);
    if (r)
        event_request_release(r);
    return r != NULL;
}

void event_hold_asts(struct event_owner *o, bool hold)
{
    ipl_t ipl = spin_lock(&o->lock);

    if (o->target == thread_self()) {
        o->held = hold;
        event_ask_locked(o);
    }
    spin_unlock(&o->lock, ipl);
}

void event_ast_over(struct event_owner *o, bool from_any)
{
    ipl_t ipl = spin_lock(&o->lock);

    if (from_any || o->target == thread_self())
        __atomic_store_n(&o->active, false, __ATOMIC_RELAXED);
    event_ask_locked(o);
    spin_unlock(&o->lock, ipl);
}
