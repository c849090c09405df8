/*
 * Services on event flags. As on OpenVMS, only the low byte of a flag's number counts, and 0 is the
 * flag meant when the argument is omitted.
 *
 * A service that waits and is interrupted, by a signal or an AST, is repeated afterwards from its
 * instruction on (ERESTARTNOINTR): so the wait goes on, and tests the flags again.
 */
#include "arch/alpha/hw/trapframe.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/statedef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/ast.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/wait.h"
#include "mm/pool/pool_charged.h"

cond_t vms_wait_result(cond_t status, bool interrupted)
{
    struct trapframe *f = user_frame_of(current_hw);

    if (interrupted) {
        f->v0 = ERESTARTNOINTR;
        f->a3 = 1;
    } else {
        f->v0 = (uint64_t)(int64_t)(int32_t)cond_value(status);
    }
    return status;
}

/* $SETEF(efn), $CLREF(efn): SS$_WASSET, SS$_WASCLR, SS$_ILLEFC, SS$_UNASEFC, SS$_INSFMEM (as in all
   services here: of the first that a process calls). */
cond_t vms_setef(uint64_t efn)
{
    struct event_owner *o = process_events();

    return o ? event_flag_set(o, vms_efn(efn)) : SS$_INSFMEM;
}

cond_t vms_clref(uint64_t efn)
{
    struct event_owner *o = process_events();

    return o ? event_flag_clear(o, vms_efn(efn)) : SS$_INSFMEM;
}

/* $READEF(efn, state): the same, and SS$_ACCVIO. */
cond_t vms_readef(uint64_t efn, uint64_t state)
{
    struct event_owner *o = process_events();
    uint32_t flags = 0;
    cond_t status;

    if (!o)
        return SS$_INSFMEM;
    status = event_flag_read(o, vms_efn(efn), &flags);
    if (cond_ok(status) && copyout(state, &flags, sizeof(flags)) != 0)
        return SS$_ACCVIO;
    return status;
}

static cond_t wait_for(uint64_t efn, uint32_t mask, enum event_until until)
{
    struct event_owner *o = process_events();
    bool interrupted = false;
    cond_t status = SS$_INSFMEM;

    if (o) {
        if (vms_efn(efn) >= EVENT_LOCAL_FLAGS && vms_efn(efn) < EVENT_FLAGS)
            vms_waits_as(SCH$C_CEF);
        status = event_flags_wait(o, vms_efn(efn), mask, until, &interrupted);
        vms_waits_as(0);
    }
    return vms_wait_result(status, interrupted);
}

/* $WAITFR(efn), $WFLOR(efn, mask), $WFLAND(efn, mask): SS$_NORMAL, SS$_ILLEFC, SS$_UNASEFC,
   SS$_INSFMEM. A wait for any of no flags lasts until the process ends, one for all of none is
   over. */
cond_t vms_waitfr(uint64_t efn)
{
    return wait_for(efn, UINT32_C(1) << vms_efn(efn) % 32, EVENT_ANY);
}

cond_t vms_wflor(uint64_t efn, uint64_t mask) { return wait_for(efn, (uint32_t)mask, EVENT_ANY); }

cond_t vms_wfland(uint64_t efn, uint64_t mask) { return wait_for(efn, (uint32_t)mask, EVENT_ALL); }

/* $SYNCH(efn, iosb): as $WAITFR, and SS$_ACCVIO. */
cond_t vms_synch(uint64_t efn, uint64_t iosb)
{
    struct event_owner *o = process_events();
    bool interrupted = false;
    cond_t status = SS$_INSFMEM;

    if (o)
        status = event_synch(o, vms_efn(efn), iosb, &interrupted);
    return vms_wait_result(status, interrupted);
}

/* ---- common clusters ---- */

static cond_t cluster_name(vaddr_t descriptor, struct event_cluster_name *name)
{
    char raw[EVENT_CLUSTER_NAME + 1]; /* one more, to detect longer names */
    uint32_t n;
    cond_t status = vms_string(descriptor, raw, sizeof(raw), &n);

    if (status != SS$_NORMAL)
        return status == SS$_ACCVIO ? status : SS$_IVLOGNAM;
    if (n == 0 || n > EVENT_CLUSTER_NAME)
        return SS$_IVLOGNAM;
    memcpy(name->text, raw, n);
    name->length = n;
    return SS$_NORMAL;
}

static struct event_who who_asks(void)
{
    const struct process *p = process_self();

    return (struct event_who){.uic_group = process_uic_group(p),
                              .uic_member = process_uic_member(p),
                              .prmceb = (process_privileges(p) & PRV$M_PRMCEB) != 0,
                              .account = pool_account()};
}

/*
 * $ASCEFC(efn, name, prot, perm). The low bit of prot: for processes of the same UIC only; the low
 * bit of perm: the cluster is permanent.
 *
 *   SS$_NORMAL
 *   SS$_ILLEFC    the flag is not one of 64 to 127
 *   SS$_IVLOGNAM  the name has 0 or more than 15 characters
 *   SS$_NOPRIV    a permanent cluster cannot be made without PRMCEB; or another UIC has made the
 *                 cluster for itself
 *   SS$_EXQUOTA   the process has as many timer requests and temporary clusters as it may have
 *   SS$_INSFMEM, SS$_ACCVIO
 */
cond_t vms_ascefc(uint64_t efn, uint64_t name, uint64_t prot, uint64_t perm)
{
    struct event_owner *o = process_events();
    const struct event_who who = who_asks();
    struct event_cluster_name n;
    cond_t status;

    if (!o)
        return SS$_INSFMEM;
    if (vms_efn(efn) < EVENT_LOCAL_FLAGS || vms_efn(efn) >= EVENT_FLAGS)
        return SS$_ILLEFC;
    status = cluster_name(name, &n);
    if (status != SS$_NORMAL)
        return status;
    return event_associate(o, vms_efn(efn), &n, &who, prot & 1, perm & 1);
}

/* $DACEFC(efn): SS$_NORMAL, SS$_ILLEFC, SS$_INSFMEM. */
cond_t vms_dacefc(uint64_t efn)
{
    struct event_owner *o = process_events();

    return o ? event_disassociate(o, vms_efn(efn)) : SS$_INSFMEM;
}

/* $DLCEFC(name): SS$_NORMAL, SS$_IVLOGNAM, SS$_NOPRIV, SS$_ACCVIO. */
cond_t vms_dlcefc(uint64_t name)
{
    const struct event_who who = who_asks();
    struct event_cluster_name n;
    cond_t status = cluster_name(name, &n);

    return status == SS$_NORMAL ? event_cluster_delete(&n, &who) : status;
}
