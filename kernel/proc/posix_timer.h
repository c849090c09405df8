/*
 * Timers of timer_create: any number for a process, each with a signal of its own, which goes to
 * the process or to one of its threads. posix_timer.c describes them.
 */
#ifndef KERNEL_PROC_POSIX_TIMER_H
#define KERNEL_PROC_POSIX_TIMER_H

#include "kernel/base/types.h"

struct process;
struct posix_timer;
struct signal_info;
struct uthread;

#define SI_TIMER (-2)

/* What timer_create asks for. */
struct posix_timer_wish {
    bool realtime;  /* absolute times are of CLOCK_REALTIME, not of CLOCK_MONOTONIC */
    bool silent;    /* SIGEV_NONE */
    int signo;      /* unless silent; valid */
    uint32_t tid;   /* of a thread of the process that gets the signal; 0: the process */
    uint64_t value; /* goes with the signal */
    bool own_value; /* the number of the timer goes with it instead */
};

struct posix_timer_setting {
    uint64_t first, interval; /* ns; first 0: off */
    bool absolute;
};

/* The current process's timers. All: IPL 0, no locks; numbers of timers that do not exist: -EINVAL.
 * Create one; its number. -EAGAIN: the user may have no more, or the process has
 * POSIX_TIMERS_MAX; -ENOMEM; -EINVAL: there is no such thread. */
long posix_timer_create(const struct posix_timer_wish *wish);
/* Set one; what it was set to goes to *was, with the time that was left. Waits. */
int posix_timer_set(uint64_t number, const struct posix_timer_setting *to,
                    struct posix_timer_setting *was);
int posix_timer_get(uint64_t number, struct posix_timer_setting *now);
/* How many expirations besides the one signalled had passed when its signal was last taken. */
long posix_timer_overrun(uint64_t number);
int posix_timer_delete(uint64_t number);

/* A signal with SI_TIMER was taken by a thread of p: complete what goes with it, and let the timer
 * go on. Signal lock held. */
void posix_timer_taken_locked(struct process *p, struct signal_info *info);
/* The thread u, the current one, ends: no timer is to signal it any more. The caller then looks at
 * u->timers again, under the signal lock. IPL 0, no locks. */
void posix_timers_forget(struct uthread *u);
/* p, the current process with one thread left, ends or calls exec: it has no timers any more. */
void posix_timers_end(struct process *p);

#endif
