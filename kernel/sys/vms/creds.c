/*
 * Services on the identity and privileges of the caller: $SETPRV, and MEGA_CTL_SET_CREDS. Locks and
 * rules: kernel/proc/creds.h.
 */
#include "kernel/proc/creds.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/process.h"
#include "kernel/sys/info/control.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"

/*
 * $SETPRV(enbflg, prvadr, prmflg, prvprv). The service of the manual sets those privileges that are
 * authorised and returns SS$_NOTALLPRIV if there are others; here a mask with a privilege that is
 * not authorised changes nothing and returns SS$_NOPRIV (docs/services.md). If prvadr is 0, nothing
 * is changed. The previous mask, the permanent one if prmflg is set, is written to prvprv.
 */
cond_t vms_setprv(uint64_t enbflg, uint64_t prvadr, uint64_t prmflg, uint64_t prvprv)
{
    struct process *p = process_self();
    bool permanent = (prmflg & 1) != 0;
    uint64_t mask = 0, before = permanent ? __atomic_load_n(&p->permanent, __ATOMIC_RELAXED)
                                          : process_privileges(p);

    if (prvadr && copyin(&mask, prvadr, sizeof(mask)) != 0)
        return SS$_ACCVIO;
    if (vms_probe_quad(prvprv, true) != SS$_NORMAL)
        return SS$_ACCVIO;
    if (!creds_set_privileges(p, (enbflg & 1) != 0, mask, permanent))
        return SS$_NOPRIV;
    vms_quad_out(prvprv, before);
    return SS$_NORMAL;
}

cond_t control_set_creds(const uint64_t a[CONTROL_ARGS])
{
    struct mega_creds c;

    if (copyin(&c, a[0], sizeof(c)) != 0)
        return SS$_ACCVIO;
    if (c.uic_group > MEGA_UIC_GROUP_MAX || c.uic_member > MEGA_UIC_MEMBER_MAX ||
        (c.authorised & ~PRV_ALL) || (c.privileges & ~c.authorised) ||
        (c.rights & ~MEGA_RIGHTS_ALL))
        return SS$_BADPARAM;
    return creds_set(process_self(), &c) == 0 ? SS$_NORMAL : SS$_EXQUOTA;
}
