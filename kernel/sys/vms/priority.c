/* $SETPRI, and base priorities (priority.h). */
#include "kernel/sys/vms/priority.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/jpidef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/group.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/target.h"

#define PRIORITY_USUAL 4
#define NICE_BELOW     5 /* steps of a nice value for a priority */
#define NICE_ABOVE     2
#define NICE_BEST      (-20)

int vms_nice(uint32_t base)
{
    int above = (int)base - PRIORITY_USUAL;

    return above < 0 ? MIN(-above * NICE_BELOW, NICE_WORST) : MAX(-above * NICE_ABOVE, NICE_BEST);
}

uint32_t vms_base_priority(const struct process *p)
{
    int nice = __atomic_load_n(&process_first_thread_locked(p)->thread->nice, __ATOMIC_RELAXED);

    if (p->kin.base && vms_nice(p->kin.base - 1u) == nice)
        return p->kin.base - 1u;
    return (uint32_t)(PRIORITY_USUAL +
                      (nice > 0 ? -((nice + NICE_BELOW - 1) / NICE_BELOW) : -nice / NICE_ABOVE));
}

/* Set the base priority of p to c[0], which becomes what it was. Without ALTPRI it is not
   raised. */
static cond_t set_locked(struct process *p, uint64_t address)
{
    uint32_t *c = (uint32_t *)address, base = *c, before = vms_base_priority(p);

    if (!(process_privileges(process_self()) & PRV_ALTPRI))
        base = MIN(base, before);
    *c = before;
    if (base != before) {
        p->kin.base = (uint8_t)(base + 1);
        thread_set_nice(process_first_thread_locked(p)->thread, vms_nice(base));
    }
    return SS$_NORMAL;
}

/* pol, if given, is the one policy that there is. */
static cond_t check_policy(uint64_t pol)
{
    uint32_t policy = JPI$K_DEFAULT_POLICY;

    if (pol && copyin_u32(&policy, pol) != 0)
        return SS$_ACCVIO;
    return policy == JPI$K_DEFAULT_POLICY ? SS$_NORMAL : SS$_BADPARAM;
}

/*
 * $SETPRI(pidadr, prcnam, pri, prvpri, pol, prvpol): of the oldest thread, and of those that it
 * makes. *prvpri and *prvpol are written if it succeeds.
 *
 *   SS$_NORMAL    also if the caller has no ALTPRI and asked for more than the process has
 *   SS$_BADPARAM  there is no such priority, or policy
 *   SS$_NONEXPR, SS$_NOPRIV, SS$_IVLOGNAM, SS$_ACCVIO
 */
cond_t vms_setpri(uint64_t pidadr, uint64_t prcnam, uint64_t pri, uint64_t prvpri, uint64_t pol,
                  uint64_t prvpol)
{
    uint32_t priority = (uint32_t)pri;
    cond_t status = check_policy(pol);

    if (status != SS$_NORMAL)
        return status;
    if (priority > VMS_PRIORITY_MOST)
        return SS$_BADPARAM;
    if ((prvpri && probe_write(prvpri, sizeof(priority)) != 0) ||
        (prvpol && probe_write(prvpol, sizeof(priority)) != 0))
        return SS$_ACCVIO;
    status = vms_control(pidadr, prcnam, set_locked, (uint64_t)&priority);
    if (status == SS$_NORMAL && ((prvpri && copyout_u32(prvpri, priority) != 0) ||
                                 (prvpol && copyout_u32(prvpol, JPI$K_DEFAULT_POLICY) != 0)))
        status = SS$_ACCVIO;
    return status;
}
