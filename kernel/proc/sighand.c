/* The signal state of processes and threads: made, copied by fork, reset by exec. */
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/signal_queue.h"
#include "mm/pool/pool.h"

/* Allocate and initialise. The entries of actions and the info arrays, most of the structure, are
 * left undefined: they are read only for signals in their sets. */
static void sighand_released(struct poll_source *p);

struct sighand *sighand_create(void)
{
    struct sighand *s = npp_alloc(sizeof(*s));

    if (!s)
        return NULL;
    memset(s, 0, offsetof(struct sighand, first.pending.info));
    s->pending.set = 0;
    s->pending.queue = NULL;
    s->gone = NULL;
    s->actions.set = 0;
    s->lock = (struct spinlock)SPINLOCK_INIT("signals", RANK_SIGNAL, IPL_CLOCK);
    wait_queue_init(&s->cont, "stopped");
    poll_source_init(&s->polled);
    s->polled.released = sighand_released;
    s->refs = 1;
    wait_queue_init(&s->first.vfork_queue, "vfork");
    s->first.alt_flags = SS_DISABLE;
    return s;
}

struct uthread *uthread_create(void)
{
    const struct uthread *self = uthread_self();
    struct uthread *u = npp_alloc(sizeof(*u));

    if (!u)
        return NULL;
    memset(u, 0, offsetof(struct uthread, pending.info));
    wait_queue_init(&u->vfork_queue, "vfork");
    list_init(&u->hash);
    u->alt_flags = SS_DISABLE;
    u->blocked = self->blocked;
    u->ieee_control = self->ieee_control;
    return u;
}

void uthread_free(struct uthread *u)
{
    signal_queue_end(&u->pending);
    npp_free(u, sizeof(*u));
}

struct sighand *sighand_fork(bool share_vm)
{
    struct sighand *s = sighand_create(), *from = process_self()->sig;
    const struct uthread *self = uthread_self();
    ipl_t ipl;

    if (!s)
        return NULL;
    if (process_alone(process_self())) {
        signal_actions_copy(&s->actions, &from->actions);
    } else { /* up to 2 KiB under the lock */
        ipl = spin_lock(&from->lock);
        signal_actions_copy(&s->actions, &from->actions);
        spin_unlock(&from->lock, ipl);
    }
    s->first.blocked = self->blocked;
    s->first.ieee_control = self->ieee_control;
    if (!share_vm) {
        s->first.alt_sp = self->alt_sp;
        s->first.alt_size = self->alt_size;
        s->first.alt_flags = self->alt_flags;
    }
    return s;
}

void sighand_exec(struct sighand *s)
{
    struct uthread *u = uthread_self();
    ipl_t ipl = spin_lock(&s->lock);

    signal_actions_reset_locked(&s->actions);
    spin_unlock(&s->lock, ipl);
    u->alt_sp = u->alt_size = 0;
    u->alt_flags = SS_DISABLE;
}

void sighand_free(struct sighand *s)
{
    if (__atomic_fetch_sub(&s->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    poll_source_end(&s->polled);
    queued_signals_free(s->gone);
    signal_queue_end(&s->first.pending);
    signal_queue_end(&s->pending);
    npp_free(s, sizeof(*s));
}

/* An entry was taken off the source of a sighand. */
static void sighand_released(struct poll_source *p)
{
    sighand_free(container_of(p, struct sighand, polled));
}
