/*
 * $SETPRV: the privileges of the caller. Locks and rules: kernel/proc/creds.h.
 */
#include "kernel/proc/creds.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"

/*
 * $SETPRV(enbflg, prvadr, prmflg, prvprv). If prvadr is 0, nothing is changed. The previous mask,
 * the permanent one if prmflg is set, is written to prvprv.
 *
 *   SS$_NORMAL
 *   SS$_NOTALLPRIV   success: those that are authorised were enabled, but there were others
 *   SS$_ACCVIO
 */
cond_t vms_setprv(uint64_t enbflg, uint64_t prvadr, uint64_t prmflg, uint64_t prvprv)
{
    struct process *p = process_self();
    bool permanent = (prmflg & 1) != 0, all;
    uint64_t mask = 0, before = permanent ? __atomic_load_n(&p->permanent, __ATOMIC_RELAXED)
                                          : process_privileges(p);

    if (prvadr && copyin(&mask, prvadr, sizeof(mask)) != 0)
        return SS$_ACCVIO;
    if (vms_probe_quad(prvprv, true) != SS$_NORMAL)
        return SS$_ACCVIO;
    all = creds_set_privileges(p, (enbflg & 1) != 0, mask, permanent);
    vms_quad_out(prvprv, before);
    return all ? SS$_NORMAL : SS$_NOTALLPRIV;
}
