/*
 * MEGA_INFO_CALL: the functions of system calls and services by number, from which a test learns
 * what it must try. The item is registered at boot, as kernel/sys/info is below the tables.
 */
#include "kernel/base/abi/megalith/failure.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/format.h"
#include "kernel/sys/info/info.h"
#include "kernel/sys/vms/calls.h"

/* The function of a system call or system service number. */
static cond_t info_call(int64_t index, void *out)
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

void vms_names_boot(void) { info_register(MEGA_INFO_CALL, info_call, sizeof(struct mega_call)); }
