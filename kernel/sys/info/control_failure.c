/* MEGA_CTL_FAIL_ARM, MEGA_CTL_FAIL_REPORT, MEGA_INFO_CALL: allocations that are made to fail, and
 * the calls that a test of that has to try. The check in front of each allocation:
 * mm/phys/failure.h. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/format.h"
#include "kernel/sys/info/control.h"
#include "kernel/sys/info/info.h"
#include "kernel/sys/syscall.h"
#include "mm/phys/failure.h"

cond_t control_fail_arm(const uint64_t a[CONTROL_ARGS])
{
    if (a[0] == 0)
        return SS$_BADPARAM;
    return failure_arm(a[0], a[1] != 0) == 0 ? SS$_NORMAL : SS$_INSFMEM;
}

cond_t control_fail_report(const uint64_t a[CONTROL_ARGS])
{
    uint64_t site[MEGA_FAIL_SITES];
    struct mega_failure m;

    failure_end(&m, site);
    if (a[0] == 0)
        return SS$_NORMAL;
    failure_totals(&m.injected, &m.counted);
    for (unsigned i = 0; i < MEGA_FAIL_SITES && site[i]; i++)
        format(m.site[i], sizeof(m.site[i]), "%pS", (void *)site[i]);
    return copyout(a[0], &m, sizeof(m)) == 0 ? SS$_NORMAL : SS$_ACCVIO;
}

cond_t info_call(int64_t index, void *out)
{
    const struct syscall_entry *e = NULL;
    struct mega_call *m = out;
    uint64_t n = (uint64_t)index;

    if (n < POSIX_CALLS)
        e = &posix_calls[n];
    else if (n - VMS_FIRST < VMS_CALLS)
        e = &vms_calls[n - VMS_FIRST];
    if (!e || !e->fn)
        return SS$_NONEXPR;
    format(m->name, sizeof(m->name), "%pS", e->fn);
    m->arguments = e->arguments;
    return SS$_NORMAL;
}
