/*
 * Services that control processes: $DELPRC, $FORCEX, $SUSPND, $RESUME, $SETPRN. A process that the
 * caller may act on is found and acted on in one hold of the table lock. Deletion and suspension
 * are the signals SIGKILL, SIGSTOP and SIGCONT, sent by the kernel; whoever may use them is decided
 * by UICs and privileges, not by user ids. $FORCEX is an AST that calls the $EXIT of the program's
 * library, whose address the library has named (`exit_routine`).
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/signal.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/items.h"
#include "kernel/sys/vms/target.h"

/* A UIC follows the effective ids. A process whose real or saved user is another one acts for that
   user for a while, and is protected from him as from kill(): by whose process it really is. */
static bool may_control(const struct process *self, const struct process *p)
{
    uint32_t uid = process_uid(p), suid = __atomic_load_n(&p->suid, __ATOMIC_RELAXED);
    uint32_t caller = process_uid(self);

    if (!vms_target_allowed(self, p))
        return false;
    return p == self || (process_privileges(self) & PRV_WORLD) || caller == uid || caller == suid ||
           (uid == process_euid(p) && suid == uid);
}

cond_t vms_control(vaddr_t pidadr, vaddr_t prcnam,
                   cond_t (*action)(struct process *p, uint64_t arg), uint64_t arg)
{
    struct vms_target t;
    struct process *p;
    uint32_t pid = 0;
    cond_t status = vms_target_decode(pidadr, prcnam, &t);
    ipl_t ipl;

    if (status == SS$_NORMAL && t.search)
        status = SS$_NONEXPR;
    if (status != SS$_NORMAL)
        return status;
    ipl = vms_target_lock(&t, &p);
    if (!p || p->state != PROCESS_LIVE || !p->nthreads || !p->aspace)
        status = SS$_NONEXPR;
    else if (!may_control(process_self(), p))
        status = SS$_NOPRIV;
    else
        status = action(p, arg);
    if (status == SS$_NORMAL)
        pid = p->pid;
    spin_unlock(&process_lock, ipl);
    if (status == SS$_NORMAL && pidadr && copyout_u32(pidadr, pid) != 0)
        status = SS$_ACCVIO;
    return status;
}

static cond_t send(struct process *p, uint64_t sig)
{
    const struct signal_info info = {.signo = (int32_t)sig, .code = SI_KERNEL};

    return signal_send(p, &info) ? SS$_NORMAL : SS$_NONEXPR;
}

/* $DELPRC(pidadr, prcnam, flags): no exit handler is called, whatever the flags. SS$_NORMAL,
   SS$_NONEXPR, SS$_NOPRIV, SS$_IVLOGNAM, SS$_ACCVIO. */
cond_t vms_delprc(uint64_t pidadr, uint64_t prcnam)
{
    return vms_control(pidadr, prcnam, send, SIGKILL);
}

/* A $RESUME that came before this $SUSPND has cancelled it. */
static cond_t suspend(struct process *p, uint64_t unused)
{
    (void)unused;
    if (!p->kin.resume_pending)
        return send(p, SIGSTOP);
    p->kin.resume_pending = false;
    return SS$_NORMAL;
}

/* All that suspend and resume a process hold the table lock, and a stop that was sent is either
   pending or taken: so between the question and the signal it is neither lost nor begun. */
static cond_t resume(struct process *p, uint64_t unused)
{
    (void)unused;
    if (!signal_is_stopping(p))
        p->kin.resume_pending = true;
    return send(p, SIGCONT);
}

/* $SUSPND(pidadr, prcnam, flags), $RESUME(pidadr, prcnam): as $DELPRC. If the process is not
   suspended, the next $SUSPND has no effect; several such $RESUME count as one. */
cond_t vms_suspnd(uint64_t pidadr, uint64_t prcnam)
{
    return vms_control(pidadr, prcnam, suspend, 0);
}
cond_t vms_resume(uint64_t pidadr, uint64_t prcnam)
{
    return vms_control(pidadr, prcnam, resume, 0);
}

/* The AST is queued under the table lock, under which exec forgets the routine and then drops the
   ASTs of the old program: it reaches no other program. It is one that each process has for this,
   so that neither quotas nor memory of the caller or the process keep it from exiting. */
static cond_t force_exit(struct process *p, uint64_t code)
{
    const struct event_ast ast = {.routine = p->exit_routine, .parameter = (uint32_t)code};
    struct event_owner *o;

    if (!ast.routine)
        return send(p, SIGTERM);
    if (!(o = process_events_of_locked(p)))
        return SS$_INSFMEM;
    event_force_ast(o, &ast);
    event_owner_unref(o);
    return SS$_NORMAL;
}

/*
 * $FORCEX(pidadr, prcnam, code): the process calls $EXIT with that condition value, when it can
 * take an AST. A program without that library gets SIGTERM.
 *
 *   SS$_NORMAL    also if an earlier exit has not begun yet, with whose condition value it ends
 *   SS$_NONEXPR, SS$_NOPRIV, SS$_IVLOGNAM, SS$_ACCVIO
 *   SS$_INSFMEM   the process has no events yet, and there is no memory for them
 */
cond_t vms_forcex(uint64_t pidadr, uint64_t prcnam, uint64_t code)
{
    return vms_control(pidadr, prcnam, force_exit, code);
}

/* ---- names ---- */

struct namesake {
    const struct process *self;
    const char *name;
    bool found;
};

static enum process_visit compare(struct process *p, void *arg)
{
    struct namesake *n = arg;

    n->found = p != n->self && p->state == PROCESS_LIVE && !p->kin.nameless &&
               process_uic_group(p) == process_uic_group(n->self) &&
               strncmp(p->name, n->name, sizeof(p->name)) == 0;
    return n->found ? PROCESS_STOP : PROCESS_NEXT;
}

bool vms_name_taken(const struct process *p, const char *name)
{
    struct namesake n = {.self = p, .name = name};

    process_search(0, compare, &n);
    return n.found;
}

static void set_name(struct process *p, const char *name, char before[sizeof(p->name)])
{
    ipl_t ipl = spin_lock(&process_lock);

    str_copy(before, p->name, sizeof(p->name));
    str_copy(p->name, name, sizeof(p->name));
    spin_unlock(&process_lock, ipl);
}

/*
 * $SETPRN(prcnam): 0 takes the name away. The name is set before others are compared with it, so
 * of two processes that take one name at the same moment none or one gets it.
 *
 *   SS$_NORMAL
 *   SS$_DUPLNAM    another process of the UIC group has this name
 *   SS$_IVLOGNAM   0 or more than 15 characters
 *   SS$_ACCVIO
 */
cond_t vms_setprn(uint64_t prcnam)
{
    char name[VMS_PROCESS_NAME_MAX + 1] = "", before[sizeof(process_self()->name)], unused[16];
    cond_t status = prcnam ? vms_short_name(prcnam, name, VMS_PROCESS_NAME_MAX) : SS$_NORMAL;

    if (status != SS$_NORMAL)
        return status;
    set_name(process_self(), name, before);
    if (!prcnam || !vms_name_taken(process_self(), name))
        return SS$_NORMAL;
    set_name(process_self(), before, unused);
    return SS$_DUPLNAM;
}

/* The C library: $FORCEX calls this routine, as an AST with the condition value. SS$_NORMAL. */
cond_t mega_sys_exit_routine(uint64_t address)
{
    ipl_t ipl = spin_lock(&process_lock);

    process_self()->exit_routine = address;
    spin_unlock(&process_lock, ipl);
    return SS$_NORMAL;
}

/* The C library: the program ends with this condition value. SS$_NORMAL. */
cond_t mega_sys_final_status(uint64_t status)
{
    __atomic_store_n(&process_self()->kin.final_status, KIN_STATUS_GIVEN | (uint32_t)status,
                     __ATOMIC_RELAXED);
    return SS$_NORMAL;
}
