/* Quadwords in user memory: quad.h has the rules. */
#include "kernel/sys/quad.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"

cond_t vms_quad_in(vaddr_t ua, uint64_t *v)
{
    if (ua % sizeof(uint64_t) != 0 || copyin_u64(v, ua) != 0)
        return SS$_ACCVIO;
    return SS$_NORMAL;
}

cond_t vms_probe_quad(vaddr_t ua, bool optional)
{
    if (ua == 0 && optional)
        return SS$_NORMAL;
    if (ua % sizeof(uint64_t) != 0 || probe_write(ua, sizeof(uint64_t)) != 0)
        return SS$_ACCVIO;
    return SS$_NORMAL;
}

void vms_quad_out(vaddr_t ua, uint64_t v)
{
    if (ua)
        copyout_u64(ua, v);
}
