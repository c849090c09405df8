/* What a process does on each signal. signal_actions.h describes the order of accesses. */
#include "kernel/proc/signal_actions.h"

#include "kernel/base/bitops.h"

const struct signal_action signal_action_default;

static int lowest(sigset_t set) { return (int)bit_lowest(set) + 1; }

void signal_action_set_locked(struct sighand *s, int sig, const struct signal_action *act)
{
    struct signal_actions *a = &s->actions;
    bool none = act->handler == SIG_DFL && !act->flags && !act->mask && !act->restorer;

    if (!none)
        a->of[sig - 1] = *act;
    __atomic_store_n(&a->set, none ? a->set & ~SIGBIT(sig) : a->set | SIGBIT(sig),
                     __ATOMIC_RELEASE);
}

void signal_actions_copy(struct signal_actions *to, const struct signal_actions *from)
{
    to->set = from->set;
    for (sigset_t left = from->set; left; left &= left - 1)
        to->of[lowest(left) - 1] = from->of[lowest(left) - 1];
}

void signal_actions_reset_locked(struct signal_actions *a)
{
    sigset_t kept = 0;

    for (sigset_t left = a->set; left; left &= left - 1) {
        struct signal_action *act = &a->of[lowest(left) - 1];

        if (act->handler != SIG_IGN)
            continue;
        *act = (struct signal_action){.handler = SIG_IGN};
        kept |= SIGBIT(lowest(left));
    }
    __atomic_store_n(&a->set, kept, __ATOMIC_RELEASE);
}

bool signal_is_ignored(const struct sighand *s, int sig)
{
    const struct signal_action *act = signal_action(s, sig);

    return act->handler == SIG_IGN || (sig == SIGCHLD && (act->flags & SA_NOCLDWAIT));
}

bool signal_wants_stops(const struct sighand *s)
{
    return !(signal_action(s, SIGCHLD)->flags & SA_NOCLDSTOP);
}
