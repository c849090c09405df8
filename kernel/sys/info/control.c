/*
 * MEGA_SYS_CONTROL(op, a1..a5): changes that a privileged program makes to the running system.
 *
 * A table has the function and the privileges for each operation. Each function decodes all its
 * arguments first, then makes one change, which either succeeds completely or changes nothing.
 * There is no lock here; the table is constant after boot.
 */
#include "kernel/sys/info/control.h"

#include "arch/alpha/clipper/irq.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/net/socket.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/process.h"
#include "kernel/quota/quota.h"
#include "kernel/sys/quad.h"
#include "kernel/trace/trace.h"
#include "mm/phys/page.h"
#include "mm/pt/kstack.h"
#include "mm/section/reserved.h"
#include "mm/section/section.h"
#include "sysman/config.h"
#include "sysman/params.h"

/* (name, value): set a dynamic system parameter. The subsystem that it belongs to reads the value
   at each use, so it applies from the next use on. SS$_NORMAL; SS$_ACCVIO; SS$_NONEXPR: there is no
   such parameter; SS$_NOWRT: it is not dynamic; SS$_BADPARAM: the value is outside its limits. */
static cond_t set_param(const uint64_t a[CONTROL_ARGS])
{
    char name[CONFIG_PARAM_NAME_MAX + 1];
    long n = copyin_str(name, a[0], sizeof(name));

    if (n < 0)
        return n == -EFAULT ? SS$_ACCVIO : SS$_NONEXPR;
    switch (sysparam_set(name, (int64_t)a[1], true)) {
    case SYSPARAM_OK:
        quota_set_limits(); /* accounts have copies of theirs */
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

/* (name, scope, address of a quadword for the number of pages freed, or 0): RESERVED_MEMORY FREE.
   scope: MEGA_SCOPE_SYSGBL, MEGA_SCOPE_NOGLOBAL or a group number. SS$_NORMAL; SS$_ACCVIO;
   SS$_BADPARAM: scope is none of these; SS$_NORESERVEDMEM: there is no such reservation;
   SS$_RESERVEDMEMUSED: all of it is in use, or the unused part has been freed already. */
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

/* (address of a struct mega_creds): set the caller's identity and privileges. SS$_NORMAL;
   SS$_ACCVIO; SS$_BADPARAM: a UIC, privilege or right that does not exist, or a privilege that is
   not among the authorised ones; SS$_EXQUOTA. */
static cond_t set_creds(const uint64_t a[CONTROL_ARGS])
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

/* (domain): set the caller's home domain. Memory that it has already is not moved. SS$_NORMAL;
   SS$_BADRAD: there is no such domain. */
static cond_t set_home_rad(const uint64_t a[CONTROL_ARGS])
{
    struct aspace *as = process_self()->aspace;

    if (a[0] >= rad_count)
        return SS$_BADRAD;
    if (mutex_lock_killable(&as->lock) != 0)
        return SS$_ABORT;
    __atomic_store_n(&thread_self()->home_rad, (uint8_t)a[0], __ATOMIC_RELAXED);
    as->pt.home_rad = (uint8_t)a[0];
    mutex_unlock(&as->lock);
    return SS$_NORMAL;
}

/* (interrupt number, CPU): deliver an interrupt to that CPU from now on. SS$_NORMAL; SS$_BADPARAM:
   there is no such interrupt, or the CPU is not online. */
static cond_t set_irq_cpu(const uint64_t a[CONTROL_ARGS])
{
    if (a[0] >= IRQ_COUNT || a[1] >= MAX_CPUS)
        return SS$_BADPARAM;
    return irq_set_cpu((unsigned)a[0], (unsigned)a[1]) == 0 ? SS$_NORMAL : SS$_BADPARAM;
}

/* (): return cached memory (per-CPU page caches, kernel stacks of ended threads, deleted sections,
   dropped messages of sockets) to the free lists, so that a test can compare exact counts of free
   pages. Always SS$_NORMAL. */
static cond_t drain(const uint64_t a[CONTROL_ARGS])
{
    (void)a;
    socket_drain();
    section_reap();
    thread_drain();
    kstack_drain();
    page_drain();
    return SS$_NORMAL;
}

static cond_t trace(const uint64_t a[CONTROL_ARGS]) { return trace_verb(a[0], a[1], a[2]); }
static cond_t lock_stats(const uint64_t a[CONTROL_ARGS]) { return trace_lock_stats(a[0]); }

static struct { /* constant after boot */
    control_fn fn;
    uint64_t privileges; /* PRV_*: the caller needs all of them; 0: none */
    cond_t refusal;      /* result for a caller without them */
} operations[MEGA_CTL_LAST + 1] = {
    [MEGA_CTL_SET_PARAM] = {set_param, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_FREE_RESERVED] = {free_reserved, PRV_CMKRNL, SS$_NOCMKRNL},
    [MEGA_CTL_SET_CREDS] = {set_creds, PRV_CMKRNL, SS$_NOCMKRNL},
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
    if (operations[op].privileges & ~process_privileges(process_self()))
        return operations[op].refusal;
    return operations[op].fn(a);
}
