/*
 * MEGA_CTL_DRIVER: commands of a privileged program to the driver that takes reservations
 * (kernel/drivers/resmem_driver.c). Each decodes its arguments and calls one function of the
 * driver, whose mutex is the only lock.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/drivers/resmem_driver.h"
#include "kernel/sys/info/control.h"
#include "kernel/sys/quad.h"
#include "mm/section/reserved.h"

static cond_t query(const char *name, vaddr_t out)
{
    struct mega_driver_unit m;
    struct resmem_view v;
    cond_t status;

    if (out % sizeof(uint64_t) != 0)
        return SS$_ACCVIO;
    status = resmem_query(name, &v);
    if (status != SS$_NORMAL)
        return status;
    m = (struct mega_driver_unit){
        .npages = v.npages, .first_pfn = v.first.n, .va = v.va, .hint_errors = v.hints.errors};
    memcpy(m.ptes, v.hints.ptes, sizeof(m.ptes));
    return copyout(out, &m, sizeof(m)) == 0 ? SS$_NORMAL : SS$_ACCVIO;
}

static cond_t checksum(const char *name, vaddr_t out)
{
    uint64_t sum;
    cond_t status = vms_probe_quad(out, false);

    if (status == SS$_NORMAL)
        status = resmem_checksum(name, &sum);
    if (status == SS$_NORMAL)
        vms_quad_out(out, sum);
    return status;
}

cond_t control_driver(const uint64_t a[CONTROL_ARGS])
{
    char name[RMD_NAME_MAX + 1];
    long n = copyin_str(name, a[1], sizeof(name));

    if (n < 0)
        return n == -EFAULT ? SS$_ACCVIO : SS$_NORESERVEDMEM;
    switch (a[0]) {
    case MEGA_DRIVER_TAKE:
        return resmem_take(name, a[2]);
    case MEGA_DRIVER_RELEASE:
        return resmem_release(name);
    case MEGA_DRIVER_FILL:
        return resmem_fill(name, a[2]);
    case MEGA_DRIVER_CHECKSUM:
        return checksum(name, a[2]);
    case MEGA_DRIVER_EXPOSE:
        return resmem_expose(name, a[2] != 0);
    case MEGA_DRIVER_QUERY:
        return query(name, a[2]);
    }
    return SS$_BADPARAM;
}
