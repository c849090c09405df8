/*
 * MEGA_INFO_CRASH, superuser only: a deliberate panic, so that a person can see what one looks like
 * and practise its analysis (scripts/run --save, sda). Other deliberate crashes:
 * kernel/test/crash.c.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/panic.h"
#include "kernel/proc/process.h"
#include "kernel/sys/info/info.h"

/* Not inlined, so that the backtrace shows its name. */
static __attribute__((noinline)) void deliberate_panic(void)
{
    panic("a deliberate panic, asked for by a program");
}

cond_t info_crash(int64_t index, void *out)
{
    (void)out;
    if (process_euid(process_self()) != 0)
        return SS$_NOPRIV;
    if (index != 0)
        return SS$_NONEXPR;
    deliberate_panic();
    return SS$_ABORT;
}
