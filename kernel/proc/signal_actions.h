/*
 * What a process does on each signal (struct signal_actions, signal.h). For kernel/proc; others
 * only read it, for display.
 *
 * The entry of a signal is written before its bit in the set, so a reader without the lock never
 * sees an entry that was not written. Only the number of entries costs instructions: fork copies,
 * and exec resets, those of the set.
 */
#ifndef KERNEL_PROC_SIGNAL_ACTIONS_H
#define KERNEL_PROC_SIGNAL_ACTIONS_H

#include "kernel/proc/signal.h"

#define SIG_DFL      0ul
#define SIG_IGN      1ul
#define SA_NOCLDSTOP 4ul
#define SA_NOCLDWAIT 0x20ul
#define SA_NODEFER   8ul
#define SA_RESTART   2ul
#define SA_RESETHAND 0x10ul

#define STOPS              (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))
#define IGNORED_BY_DEFAULT (SIGBIT(SIGCHLD) | SIGBIT(SIGURG) | SIGBIT(SIGWINCH) | SIGBIT(SIGCONT))

extern const struct signal_action signal_action_default;

/* The action on sig. Signal lock held, or the result may be out of date. */
static inline const struct signal_action *signal_action(const struct sighand *s, int sig)
{
    const struct signal_actions *a = &s->actions;

    return __atomic_load_n(&a->set, __ATOMIC_ACQUIRE) & SIGBIT(sig) ? &a->of[sig - 1]
                                                                    : &signal_action_default;
}

/* Change the action on sig. Signal lock held. */
void signal_action_set_locked(struct sighand *s, int sig, const struct signal_action *act);

/* Replace the handler of sig by the default, and keep flags and mask, as on Linux. Signal lock
 * held. */
static inline void signal_handler_drop_locked(struct sighand *s, int sig)
{
    struct signal_action act = *signal_action(s, sig);

    act.handler = SIG_DFL;
    signal_action_set_locked(s, sig, &act);
}

/* Is sig discarded when it is sent? Signal lock held. */
static inline bool signal_ignored_locked(const struct sighand *s, int sig)
{
    vaddr_t handler = signal_action(s, sig)->handler;

    return handler == SIG_IGN || (handler == SIG_DFL && (SIGBIT(sig) & IGNORED_BY_DEFAULT));
}

/* Does sig end the process? Otherwise it has a handler, is ignored, or stops the process. Signal
 * lock held. */
static inline bool signal_ends_locked(const struct sighand *s, int sig)
{
    return signal_action(s, sig)->handler == SIG_DFL &&
           !(SIGBIT(sig) & (IGNORED_BY_DEFAULT | STOPS));
}

/* fork: give `to`, which nobody else can reach, the actions of `from`. The lock of `from` is held,
 * unless the caller is alone in the process. */
void signal_actions_copy(struct signal_actions *to, const struct signal_actions *from);

/* exec: ignored signals stay ignored, all others get the default action. Signal lock held. */
void signal_actions_reset_locked(struct signal_actions *a);

#endif
