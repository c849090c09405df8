/*
 * getpriority and setpriority. As on Linux, a nice value belongs to a thread: PRIO_PROCESS names a
 * thread, the others the oldest thread of each process. Processes are found under the process
 * table's lock, many of them by a walk that drops it after each portion.
 */
#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/errno.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/group.h"
#include "kernel/sys/posix/process.h"

#define PRIO_PROCESS 0
#define PRIO_PGRP    1
#define PRIO_USER    2
#define NICE_MIN     (-20)
#define NICE_MAX     19

struct round {
    uint64_t which;
    uint32_t who;
    bool set;
    int nice; /* to set; or the lowest found */
    long err; /* -ESRCH until a process was found */
};

/* The lowest nice value that RLIMIT_NICE of p allows. */
static int lowest_nice(const struct process *p)
{
    return 20 - (int)MIN(rlimit_soft(p, RLIMIT_NICE), 40ul);
}

/* Set the nice value of u. 0; -EPERM: it belongs to another user; -EACCES: only user 0 may lower it
 * beyond the limit. */
static long set_locked(const struct uthread *u, int nice)
{
    uint32_t euid = process_euid(process_self());
    const struct process *p = u->process;

    if (euid != 0 && euid != process_uid(p) && euid != process_euid(p))
        return -EPERM;
    if (euid != 0 && nice < lowest_nice(p) &&
        nice < __atomic_load_n(&u->thread->nice, __ATOMIC_RELAXED))
        return -EACCES;
    thread_set_nice(u->thread, nice);
    return 0;
}

/* Read or set that of one thread. */
static void one_thread_locked(const struct uthread *u, struct round *r)
{
    long err = 0;

    if (r->set)
        err = set_locked(u, r->nice);
    else
        r->nice = MIN(r->nice, (int)__atomic_load_n(&u->thread->nice, __ATOMIC_RELAXED));
    if (err || r->err == -ESRCH)
        r->err = err;
}

/* A process of the group or user: one with several threads is represented by its oldest. */
static enum process_visit one_locked(struct process *p, void *arg)
{
    const struct uthread *u = process_first_thread_locked(p);
    struct round *r = arg;

    if (!u || (r->which == PRIO_USER && process_uid(p) != r->who))
        return PROCESS_NEXT;
    one_thread_locked(u, r);
    return r->set ? PROCESS_PAUSE : PROCESS_NEXT;
}

/* The process, group or user that is meant; 0: the caller's own. */
static void name_own(struct round *r)
{
    const struct process *self = process_self();

    if (r->who == 0)
        r->who = r->which == PRIO_PROCESS ? uthread_self()->tid
                 : r->which == PRIO_PGRP  ? self->pgid
                                          : process_uid(self);
}

static void run(struct round *r)
{
    const struct uthread *u;
    ipl_t ipl;

    name_own(r);
    if (r->which != PRIO_PROCESS) {
        process_search(r->which == PRIO_PGRP ? r->who : 0, one_locked, r);
        return;
    }
    ipl = spin_lock(&process_lock);
    u = thread_find_locked(r->who);
    if (u)
        one_thread_locked(u, r);
    spin_unlock(&process_lock, ipl);
}

/* As on Linux/Alpha the result is the nice value itself, so that a negative one is no error. */
long sys_getpriority(uint64_t which, uint64_t who)
{
    struct trapframe *f = user_frame_of(current_hw);
    struct round r = {.which = which, .who = (uint32_t)who, .nice = NICE_MAX, .err = -ESRCH};

    if (which > PRIO_USER)
        r.err = -EINVAL;
    else
        run(&r);
    f->v0 = (uint64_t)(r.err ? -r.err : r.nice);
    f->a3 = r.err != 0;
    return 0;
}

long sys_setpriority(uint64_t which, uint64_t who, uint64_t nice)
{
    struct round r = {.which = which, .who = (uint32_t)who, .set = true, .err = -ESRCH};

    if (which > PRIO_USER)
        return -EINVAL;
    r.nice = MAX(MIN((int)nice, NICE_MAX), NICE_MIN);
    run(&r);
    return r.err;
}
