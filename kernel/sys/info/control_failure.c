/*
 * Failure injection: MEGA_CTL_FAIL_ARM and MEGA_CTL_FAIL_REPORT, which make an allocation fail and
 * report where it did. The check at each allocation is in mm/phys/failure.h. All state belongs to
 * the calling thread; there is no lock.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/format.h"
#include "kernel/sys/info/control.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool.h"

cond_t control_fail_arm(const uint64_t a[CONTROL_ARGS])
{
    struct failure *f;

    if (a[0] == 0)
        return SS$_BADPARAM;
    f = failure_disarm(); /* a previous arming ends, and its record is reused */
    if (!f)
        f = npp_alloc(sizeof(*f));
    if (!f)
        return SS$_INSFMEM;
    failure_arm(f, a[0], a[1] != 0);
    return SS$_NORMAL;
}

cond_t control_fail_report(const uint64_t a[CONTROL_ARGS])
{
    struct failure *f = failure_disarm();
    struct mega_failure m = {.fired = 0};

    if (f) {
        m = f->report;
        for (unsigned i = 0; i < MEGA_FAIL_SITES && f->site[i]; i++)
            format(m.site[i], sizeof(m.site[i]), "%pS", (void *)f->site[i]);
        npp_free(f, sizeof(*f));
    }
    if (a[0] == 0)
        return SS$_NORMAL;
    failure_totals(&m.injected, &m.counted);
    return copyout(a[0], &m, sizeof(m)) == 0 ? SS$_NORMAL : SS$_ACCVIO;
}
