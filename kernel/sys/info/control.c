/*
 * MEGA_SYS_CONTROL(op, a1..a5): a table of operation, privilege and function. An operation that
 * needs no privilege has 0 there and decides by itself. Each decodes all its arguments first, then
 * makes one change that works as a whole or not at all.
 */
#include "kernel/sys/info/control.h"

#include "arch/alpha/clipper/irq.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/trace/trace.h"
#include "mm/phys/page.h"
#include "mm/pt/kstack.h"
#include "mm/section/reserved.h"
#include "mm/section/section.h"
#include "sysman/config.h"
#include "sysman/params.h"

/* (name, value): a dynamic system parameter. The owner of what it limits reads the value at each
 * use, so it counts from the next use on. SS$_NORMAL; SS$_ACCVIO; SS$_NONEXPR: there is none of
 * that name; SS$_NOWRT: it is not dynamic; SS$_BADPARAM: the value is outside its limits. */
static cond_t set_param(const uint64_t a[CONTROL_ARGS])
{
    char name[CONFIG_PARAM_NAME_MAX + 1];
    long n = copyin_str(name, a[0], sizeof(name));

    if (n < 0)
        return n == -EFAULT ? SS$_ACCVIO : SS$_NONEXPR;
    switch (sysparam_set(name, (int64_t)a[1], true)) {
    case SYSPARAM_OK:
        return SS$_NORMAL;
    case SYSPARAM_UNKNOWN:
        return SS$_NONEXPR;
    case SYSPARAM_FIXED:
        return SS$_NOWRT;
    case SYSPARAM_RANGE:
        break;
    }
    return SS$_BADPARAM;
}

/* (name, scope, address of a quadword for the pages given back, or 0): RESERVED_MEMORY FREE.
 * scope: MEGA_SCOPE_SYSGBL, MEGA_SCOPE_NOGLOBAL or a group number. SS$_NORMAL; SS$_ACCVIO;
 * SS$_BADPARAM: no scope; SS$_NORESERVEDMEM: no such reservation; SS$_RESERVEDMEMUSED: all of it is
 * in use, or what was not is free already. */
static cond_t free_reserved(const uint64_t a[CONTROL_ARGS])
{
    char name[RMD_NAME_MAX + 1];
    long n = copyin_str(name, a[0], sizeof(name));
    bool sysgbl = a[1] == MEGA_SCOPE_SYSGBL, none = a[1] == MEGA_SCOPE_NOGLOBAL;
    uint64_t freed;
    cond_t status;

    if (n < 0)
        return n == -EFAULT ? SS$_ACCVIO : SS$_NORESERVEDMEM;
    if (!sysgbl && !none && a[1] > CONFIG_GROUP_MAX)
        return SS$_BADPARAM;
    if (vms_probe_quad(a[2], true) != SS$_NORMAL)
        return SS$_ACCVIO;
    status = mmg_free_res_mem(name, sysgbl, none ? RMD_NO_GROUP : (uint32_t)a[1], &freed);
    if (status == SS$_NORMAL)
        vms_quad_out(a[2], freed);
    return status;
}

/* (domain): the caller's home. What it has stays where it is. SS$_NORMAL; SS$_BADRAD: there is no
 * such domain. */
static cond_t set_home_rad(const uint64_t a[CONTROL_ARGS])
{
    struct aspace *as = process_self()->aspace;

    if (a[0] >= rad_count)
        return SS$_BADRAD;
    __atomic_store_n(&thread_self()->home_rad, (uint8_t)a[0], __ATOMIC_RELAXED);
    mutex_lock(&as->lock);
    as->pt.home_rad = (uint8_t)a[0];
    mutex_unlock(&as->lock);
    return SS$_NORMAL;
}

/* (interrupt number, CPU): its line interrupts that CPU from now on. SS$_NORMAL; SS$_BADPARAM: no
 * such number, or the CPU is not online. */
static cond_t set_irq_cpu(const uint64_t a[CONTROL_ARGS])
{
    if (a[0] >= IRQ_COUNT || a[1] >= MAX_CPUS)
        return SS$_BADPARAM;
    return irq_set_cpu((unsigned)a[0], (unsigned)a[1]) == 0 ? SS$_NORMAL : SS$_BADPARAM;
}

/* (): what is kept ready for the next who asks becomes free pages on lists, so that the counts of
 * free pages before and after something can be compared to the page. Always SS$_NORMAL. */
static cond_t drain(const uint64_t a[CONTROL_ARGS])
{
    (void)a;
    section_reap();
    thread_reap();
    kstack_drain();
    page_drain();
    return SS$_NORMAL;
}

static cond_t trace(const uint64_t a[CONTROL_ARGS]) { return trace_verb(a[0], a[1], a[2]); }
static cond_t lock_stats(const uint64_t a[CONTROL_ARGS]) { return trace_lock_stats(a[0]); }

static struct { /* constant after boot */
    control_fn fn;
    uint64_t privileges; /* all of these, PRV_* */
    cond_t refusal;      /* without them */
} operations[MEGA_CTL_LAST + 1] = {
    [MEGA_CTL_SET_PARAM] = {set_param, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_FREE_RESERVED] = {free_reserved, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_SET_CREDS] = {control_set_creds, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_SET_HOME_RAD] = {set_home_rad, 0, SS$_NORMAL},
    [MEGA_CTL_IRQ_CPU] = {set_irq_cpu, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_DRAIN] = {drain, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_DRIVER] = {control_driver, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_LOCK_STATS] = {lock_stats, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_TRACE] = {trace, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_FAIL_ARM] = {control_fail_arm, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_FAIL_REPORT] = {control_fail_report, PRV_CMKRNL, SS$_NOCMKRNL},
};

void control_register(enum mega_control op, control_fn fn)
{
    KASSERT(op < ARRAY_SIZE(operations) && !operations[op].fn, "an operation has one function");
    operations[op].fn = fn;
    operations[op].privileges = PRV_CMKRNL;
    operations[op].refusal = SS$_NOCMKRNL;
}

cond_t mega_sys_control(uint64_t op, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                        uint64_t a5)
{
    const uint64_t a[CONTROL_ARGS] = {a1, a2, a3, a4, a5};

    if (op >= ARRAY_SIZE(operations) || !operations[op].fn)
        return SS$_BADPARAM;
    if (operations[op].privileges & ~process_self()->privileges)
        return operations[op].refusal;
    return operations[op].fn(a);
}
