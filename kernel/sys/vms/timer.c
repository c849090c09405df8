/*
 * Services on timers, and hibernation. Times are quadwords in units of 100 ns: positive ones since
 * 17 November 1858, negative ones from now on. A time that has passed is due at once. As with
 * timer_settime, a clock that is set later does not move what was computed from it.
 */
#include "kernel/sched/timer.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/statedef.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/cpu_timer.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/items.h"
#include "kernel/sys/vms/target.h"
#include "kernel/sys/vms/wait.h"
#include "mm/pool/pool_charged.h"

#define UNIT_NS  100u
#define CPU_TIME 1u /* flag of $SETIMR */

/* Units of 100 ns as ns, or as long as there is a clock. */
static uint64_t to_ns(uint64_t units)
{
    return units > INT64_MAX / UNIT_NS ? INT64_MAX : units * UNIT_NS;
}

/* The reading of clock_ns() at a time. */
static uint64_t deadline_of(int64_t time)
{
    uint64_t now = clock_ns(), wall = clock_wall_ns(), at, ns;

    if (time <= 0) {
        ns = to_ns(0 - (uint64_t)time);
    } else {
        at = (uint64_t)time > VMS_EPOCH ? to_ns((uint64_t)time - VMS_EPOCH) : 0;
        ns = at > wall ? at - wall : 0;
    }
    return ns > INT64_MAX - now ? INT64_MAX : now + ns;
}

/* The CPU time of the process after a delta time. */
static uint64_t cpu_deadline_of(int64_t time)
{
    struct cpu_time used = process_cpu_time(process_self());
    uint64_t now = used.user_ns + used.system_ns, ns = to_ns(0 - (uint64_t)time);

    return MAX(ns > INT64_MAX - now ? INT64_MAX : now + ns, 1ul);
}

static cond_t time_in(vaddr_t ua, int64_t *time)
{
    return copyin(time, ua, sizeof(*time)) != 0 ? SS$_ACCVIO : SS$_NORMAL;
}

/*
 * $SETIMR(efn, daytim, astadr, reqidt, flags).
 *
 *   SS$_NORMAL
 *   SS$_ILLEFC, SS$_UNASEFC
 *   SS$_EXQUOTA   the process has as many timer requests or ASTs outstanding as it may have, or its
 *                 user has as many timers
 *   SS$_BADPARAM  an unknown flag; or no return address of ASTs is known
 *   SS$_IVTIME    a time of day, for a timer of CPU time
 *   SS$_INSFMEM, SS$_ACCVIO
 */
cond_t vms_setimr(uint64_t efn, uint64_t daytim, uint64_t astadr, uint64_t reqidt, uint64_t flags)
{
    struct event_owner *o = process_events();
    struct event_timer t = {.id = reqidt, .efn = vms_efn(efn), .astadr = astadr};
    int64_t time;
    cond_t status = time_in(daytim, &time);

    t.cpu = (uint32_t)flags & CPU_TIME;
    if (status == SS$_NORMAL && (uint32_t)flags & ~CPU_TIME)
        status = SS$_BADPARAM;
    if (status == SS$_NORMAL && t.cpu && time > 0)
        status = SS$_IVTIME;
    if (status == SS$_NORMAL)
        status = vms_ast_check(astadr);
    if (status != SS$_NORMAL)
        return status;
    t.deadline = t.cpu ? cpu_deadline_of(time) : deadline_of(time);
    status = o ? event_timer_set(o, &t, pool_account()) : SS$_INSFMEM;
    if (t.cpu)
        cpu_timers_watch();
    return status;
}

/* $CANTIM(reqidt, acmode): SS$_NORMAL, SS$_IVACMODE. */
cond_t vms_cantim(uint64_t reqidt, uint64_t acmode)
{
    struct event_owner *o = process_events_now(process_self());
    cond_t status = vms_access_mode(acmode);

    if (status == SS$_NORMAL && o)
        event_timer_cancel(o, reqidt);
    return status;
}

/* The owner of a process, with a reference. SS$_NORMAL, SS$_NONEXPR, SS$_NOPRIV, SS$_INSFMEM. */
static cond_t owner_of(const struct vms_target *t, struct event_owner **o, uint32_t *pid)
{
    struct process *p;
    ipl_t ipl = vms_target_lock(t, &p);
    cond_t status = SS$_NORMAL;

    if (!p || p->state != PROCESS_LIVE || !p->nthreads || !p->aspace)
        status = SS$_NONEXPR;
    else if (!vms_target_allowed(process_self(), p))
        status = SS$_NOPRIV;
    else if (!(*o = process_events_of_locked(p)))
        status = SS$_INSFMEM;
    else
        *pid = p->pid;
    spin_unlock(&process_lock, ipl);
    return status;
}

/* Find the process that the arguments name, as owner_of, and write its number to *pidadr;
   SS$_ACCVIO, SS$_IVLOGNAM. */
static cond_t find(vaddr_t pidadr, vaddr_t prcnam, struct event_owner **o)
{
    struct vms_target t;
    uint32_t pid;
    cond_t status = vms_target_decode(pidadr, prcnam, &t);

    if (status == SS$_NORMAL && t.search)
        status = SS$_NONEXPR;
    if (status == SS$_NORMAL)
        status = owner_of(&t, o, &pid);
    if (status == SS$_NORMAL && pidadr && copyout_u32(pidadr, pid) != 0) {
        event_owner_unref(*o);
        status = SS$_ACCVIO;
    }
    return status;
}

/* Had a wake-up at this time of day been repeated by now? */
static bool is_over(int64_t time, int64_t every)
{
    uint64_t now = VMS_EPOCH + clock_wall_ns() / UNIT_NS;

    return time > 0 && every && (uint64_t)time + (0 - (uint64_t)every) < now;
}

/*
 * $SCHDWK(pidadr, prcnam, daytim, reptim).
 *
 *   SS$_NORMAL
 *   SS$_IVTIME    reptim is not a delta time; or the first repetition of a time of day has passed
 *   SS$_EXQUOTA   the caller has as many ASTs outstanding as it may have, or its user as many
 *                 timers
 *   SS$_NONEXPR, SS$_NOPRIV, SS$_IVLOGNAM, SS$_INSFMEM, SS$_ACCVIO
 */
cond_t vms_schdwk(uint64_t pidadr, uint64_t prcnam, uint64_t daytim, uint64_t reptim)
{
    struct event_owner *self = process_events(), *o;
    int64_t time, every = 0;
    cond_t status = time_in(daytim, &time);

    if (status == SS$_NORMAL && reptim)
        status = time_in(reptim, &every);
    if (status == SS$_NORMAL && (every > 0 || is_over(time, every)))
        status = SS$_IVTIME;
    if (status == SS$_NORMAL && !self)
        status = SS$_INSFMEM;
    if (status == SS$_NORMAL)
        status = find(pidadr, prcnam, &o);
    if (status != SS$_NORMAL)
        return status;
    status = event_schedule_wake(o, self, deadline_of(time), to_ns(0 - (uint64_t)every),
                                 pool_account());
    event_owner_unref(o);
    return status;
}

/* $CANWAK(pidadr, prcnam), $WAKE(pidadr, prcnam): SS$_NORMAL, SS$_NONEXPR, SS$_NOPRIV,
   SS$_IVLOGNAM, SS$_INSFMEM, SS$_ACCVIO. */
cond_t vms_canwak(uint64_t pidadr, uint64_t prcnam)
{
    struct event_owner *o;
    cond_t status = find(pidadr, prcnam, &o);

    if (status == SS$_NORMAL) {
        event_cancel_wakes(o);
        event_owner_unref(o);
    }
    return status;
}

cond_t vms_wake(uint64_t pidadr, uint64_t prcnam)
{
    struct event_owner *o;
    cond_t status = find(pidadr, prcnam, &o);

    if (status == SS$_NORMAL) {
        event_wake(o);
        event_owner_unref(o);
    }
    return status;
}

/* $HIBER(): SS$_NORMAL, SS$_INSFMEM. */
cond_t vms_hiber(void)
{
    struct event_owner *o = process_events();
    bool interrupted = false;
    cond_t status = SS$_INSFMEM;

    if (o) {
        vms_waits_as(SCH$C_HIB);
        status = event_hibernate(o, &interrupted);
        vms_waits_as(0);
    }
    return vms_wait_result(status, interrupted);
}
