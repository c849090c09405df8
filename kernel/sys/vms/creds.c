/* Services on what the caller is and may do: $SETPRV, and MEGA_CTL_SET_CREDS. */
#include "kernel/proc/creds.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/process.h"
#include "kernel/sys/info/control.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"

/*
 * $SETPRV(enbflg, prvadr, prmflg, prvprv). The manual's service sets those that are authorised and
 * answers SS$_NOTALLPRIV when there are others; here a mask that is not wholly authorised changes
 * nothing: SS$_NOPRIV (docs/services.md). prvadr 0: nothing to set. prvprv gets the mask as it was,
 * the permanent one if prmflg is set.
 */
cond_t vms_setprv(uint64_t enbflg, uint64_t prvadr, uint64_t prmflg, uint64_t prvprv)
{
    struct process *p = process_self();
    bool permanent = (prmflg & 1) != 0;
    uint64_t mask = 0, before = permanent ? p->permanent : p->privileges;

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
    creds_set(process_self(), &c);
    return SS$_NORMAL;
}
