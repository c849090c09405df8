/* Private to signal.c and signal_deliver.c. Functions named _locked hold the signal lock. */
#ifndef KERNEL_PROC_SIGNAL_PRIVATE_H
#define KERNEL_PROC_SIGNAL_PRIVATE_H

#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal.h"

/* The rest of signal_clean_locked() where something was discarded. */
void signal_clean_rest_locked(struct sighand *s, struct uthread *u);

/* Remove from the pending set of u, a thread of the process, what was discarded since it was last
 * done. */
static inline void signal_clean_locked(struct sighand *s, struct uthread *u)
{
    if (unlikely(u->discards_seen != s->discards))
        signal_clean_rest_locked(s, u);
}

/* SIGALRM may be taken again: let a resting alarm go on, unless a signal of it is pending still. */
static inline void signal_alarm_wanted_locked(struct process *p)
{
    if (unlikely(p->alarm_rests) && !(p->sig->pending.set & SIGBIT(SIGALRM)))
        alarm_taken_locked(p);
}

/* The rest of signal_free_gone() where there are some. */
void signal_free_gone_slowly(struct sighand *s);

/* Free the records that were discarded. The signal lock is not held. */
static inline void signal_free_gone(struct sighand *s)
{
    if (unlikely(__atomic_load_n(&s->gone, __ATOMIC_RELAXED) != NULL))
        signal_free_gone_slowly(s);
}

/* The signals that the current thread could take now. The first load is a barrier before the
 * look. */
static inline sigset_t signals_ready(const struct sighand *s, const struct uthread *u)
{
    return (__atomic_load_n(&s->pending.set, __ATOMIC_SEQ_CST) |
            __atomic_load_n(&u->pending.set, __ATOMIC_RELAXED)) &
           ~u->blocked;
}

#endif
