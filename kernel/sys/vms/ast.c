/* Services on ASTs. */
#include "kernel/proc/ast.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/trapframe.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/signal.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "mm/pool/pool_charged.h"

/*
 * $DCLAST(astadr, astprm, acmode).
 *
 *   SS$_NORMAL
 *   SS$_ACCVIO    astadr is 0
 *   SS$_IVACMODE  there is no such access mode
 *   SS$_EXQUOTA   the process has as many ASTs outstanding as it may have
 *   SS$_BADPARAM  no return address is known (MEGA_SYS_AST_RETURN)
 *   SS$_INSFMEM
 */
cond_t vms_dclast(uint64_t astadr, uint64_t astprm, uint64_t acmode)
{
    const struct event_ast ast = {astadr, astprm};
    struct event_owner *o = process_events();
    cond_t status = vms_access_mode(acmode);

    if (status == SS$_NORMAL)
        status = astadr ? vms_ast_check(astadr) : SS$_ACCVIO;
    if (status != SS$_NORMAL)
        return status;
    return o ? event_declare_ast(o, &ast, pool_account()) : SS$_INSFMEM;
}

/* $SETAST(enbflg), of which the low bit counts: SS$_WASSET, SS$_WASCLR, SS$_INSFMEM. */
cond_t vms_setast(uint64_t enbflg)
{
    struct event_owner *o = process_events();

    return o ? event_enable_asts(o, enbflg & 1) : SS$_INSFMEM;
}

/* $CLRAST(): the routine that runs is seen as ended, because it was left by other means than its
   return. SS$_NORMAL. */
cond_t vms_clrast(void)
{
    struct event_owner *o = process_events_now(process_self());

    if (o)
        event_ast_over(o, true);
    return SS$_NORMAL;
}

/* The C library: AST routines return to this address, at which MEGA_SYS_AST_EXIT is called with the
   stack pointer that they were called with. `hold` is the distance from a thread's unique value to
   the word by which it puts its ASTs off, 0: there is none (kernel/proc/ast.c). ASTs that the
   caller has put off may be delivered now. SS$_NORMAL. */
cond_t mega_sys_ast_return(uint64_t address, uint64_t hold)
{
    struct process *p = process_self();
    struct event_owner *o = process_events_now(p);

    __atomic_store_n(&p->ast_hold, hold, __ATOMIC_RELAXED);
    __atomic_store_n(&p->ast_return, address, __ATOMIC_RELAXED);
    /* What process_ast_hold() has written. A word that cannot be written is the program's loss. */
    if (hold)
        (void)copyout_u32(pal_rdunique() + hold + sizeof(uint32_t), 0);
    if (o)
        event_hold_asts(o, false);
    return SS$_NORMAL;
}

/* The end of an AST routine: go on where it has interrupted. */
cond_t mega_sys_ast_exit(void)
{
    struct trapframe *f = user_frame_of(current_hw);

    if (process_ast_pop(f) != 0)
        signal_force(SIGSEGV, SI_KERNEL, f->usp);
    return SS$_NORMAL;
}
