/*
 * $CREPRC: the arguments. All of them are read and checked before the process is made; its image
 * and its files are looked for by itself (creation.c).
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/megalith/spawn.h"
#include "kernel/base/abi/pqldef.h"
#include "kernel/base/abi/prcdef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/group.h"
#include "kernel/sched/rad.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/creation.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/items.h"
#include "kernel/sys/vms/priority.h"
#include "kernel/sys/vms/target.h"
#include "mm/pool/pool_charged.h"
#include "sysman/params.h"

#define QUOTAS_MOST   64 /* entries of a list */
#define FLAGS_ALL     (2 * PRC$M_HOME_RAD - 1)
#define UIC_GROUP(u)  ((u) >> 16 & 0x3FFF)
#define UIC_MEMBER(u) ((u) & 0xFFFF)

enum {
    PIDADR,
    IMAGE,
    INPUT,
    OUTPUT,
    ERROR,
    PRVADR,
    QUOTA,
    PRCNAM,
    BASPRI,
    UIC,
    MBXUNT,
    STSFLG,
    ITMLST,
    NODE,
    HOME_RAD,
    SPAWN, /* a struct mega_spawn; no argument of the manual */
    COUNT
};

/* A request that completes when the process has ended. In nonpaged pool. */
struct completion {
    struct event_request request;
    vaddr_t status, ended; /* of longwords, 0: none */
    uint16_t account;
};

/* ---- quotas ---- */

static uint32_t within(enum sysparam_id id, uint32_t value)
{
    const struct sysparam_info *i = sysparam_info(id);

    return (uint32_t)MIN(MAX((int64_t)value, i->min), i->max);
}

/* Quotas of what does not exist here are taken and have no effect. */
static cond_t take_quota(struct process_plan *n, uint8_t code, uint32_t value)
{
    switch (code) {
    case PQL$_ASTLM:
        n->limits.asts = within(SYSPARAM_PQL_DASTLM, value);
        return SS$_NORMAL;
    case PQL$_TQELM:
        n->limits.timers = within(SYSPARAM_PQL_DTQELM, value);
        return SS$_NORMAL;
    case PQL$_PRCLM:
        n->subprocesses = within(SYSPARAM_PQL_DPRCLM, value) + 1;
        return SS$_NORMAL;
    case PQL$_BYTLM:
        n->limits.io.bytes = within(SYSPARAM_PQL_DBYTLM, value);
        return SS$_NORMAL;
    case PQL$_BIOLM:
        n->limits.io.requests = within(SYSPARAM_PQL_DBIOLM, value);
        return SS$_NORMAL;
    case PQL$_FILLM:
        n->files = value;
        return SS$_NORMAL;
    case PQL$_CPULM: /* units of 10 ms; 0: no limit of its own */
        n->cpu_seconds = ((uint64_t)value + 99) / 100;
        return SS$_NORMAL;
    default:
        return code <= PQL$_JTQUOTA ? SS$_NORMAL : SS$_IVQUOTAL;
    }
}

/* Bytes with a code, each followed by a longword, without alignment. */
static cond_t read_quotas(struct process_plan *n, vaddr_t at)
{
    for (unsigned i = 0; at && i < QUOTAS_MOST; i++, at += 5) {
        uint8_t code;
        uint32_t value;
        cond_t status;

        if (copyin(&code, at, sizeof(code)) != 0)
            return SS$_ACCVIO;
        if (code == PQL$_LISTEND)
            return SS$_NORMAL;
        if (copyin(&value, at + 1, sizeof(value)) != 0)
            return SS$_ACCVIO;
        status = take_quota(n, code, value);
        if (status != SS$_NORMAL)
            return status;
    }
    return at ? SS$_IVQUOTAL : SS$_NORMAL;
}

/* Nobody gives larger quotas than his own, unless he may make processes for others: a process that
 * was given small ones gets no larger ones by a process that it makes. What the list does not name
 * is the parameter's, and no more than the caller's. PRCLM, as everywhere raised by one so that 0
 * is none given, is looked at where it has an effect: a subprocess shares its owner's. */
static cond_t check_quotas(struct process_plan *n)
{
    const struct process *self = process_self();
    const struct kin_limits *own = &self->kin.limits;
    struct {
        uint32_t *given, own;
        enum sysparam_id usual;
        uint32_t raised;
    } quotas[] = {
        {&n->limits.asts, own->asts, SYSPARAM_PQL_DASTLM, 0},
        {&n->limits.timers, own->timers, SYSPARAM_PQL_DTQELM, 0},
        {&n->limits.io.bytes, own->io.bytes, SYSPARAM_PQL_DBYTLM, 0},
        {&n->limits.io.requests, own->io.requests, SYSPARAM_PQL_DBIOLM, 0},
        {&n->subprocesses, 0, SYSPARAM_PQL_DPRCLM, 1},
    };
    unsigned count = ARRAY_SIZE(quotas) - (n->detached ? 0 : 1);
    ipl_t ipl;

    if (n->detached && (process_privileges(process_self()) & PRV_IMPERSONATE))
        return SS$_NORMAL;
    ipl = spin_lock(&process_lock); /* another thread may be making the job */
    quotas[ARRAY_SIZE(quotas) - 1].own = kin_subprocess_limit(self);
    spin_unlock(&process_lock, ipl);
    for (unsigned i = 0; i < count; i++) {
        uint32_t usual = (uint32_t)sysparam(quotas[i].usual) + quotas[i].raised;
        uint32_t most = quotas[i].own ? quotas[i].own : usual;

        if (*quotas[i].given > most)
            return SS$_EXQUOTA;
        if (!*quotas[i].given && most < usual)
            *quotas[i].given = most;
    }
    return SS$_NORMAL;
}

/* ---- the other arguments ---- */

static cond_t read_names(const uint64_t *a, struct creation *x, struct process_plan *n)
{
    cond_t status = vms_short_name(a[IMAGE], x->image, CREATION_NAME_MAX);

    for (unsigned k = 0; k < CREATION_FILES && status == SS$_NORMAL; k++)
        if (a[INPUT + k])
            status = vms_short_name(a[INPUT + k], x->file[k], CREATION_NAME_MAX - 1);
    if (status == SS$_NORMAL && a[PRCNAM]) {
        char name[VMS_PROCESS_NAME_MAX + 2];

        status = vms_short_name(a[PRCNAM], name, VMS_PROCESS_NAME_MAX);
        if (status == SS$_NORMAL)
            str_copy(n->name, name, sizeof(n->name));
    }
    return status;
}

/* Privileges that the caller does not have itself are not given away, unless it has SETPRV. */
static cond_t read_privileges(vaddr_t prvadr, struct process_plan *n)
{
    uint64_t own = process_privileges(process_self());

    n->privileges = own;
    if (prvadr && copyin(&n->privileges, prvadr, sizeof(n->privileges)) != 0)
        return SS$_ACCVIO;
    n->privileges &= own & PRV_SETPRV ? PRV_ALL : own;
    return SS$_NORMAL;
}

/* A UIC makes a detached process; one of another user takes IMPERSONATE. */
static cond_t read_uic(uint32_t uic, struct creation *x, struct process_plan *n)
{
    const struct process *self = process_self();
    uint32_t group = UIC_GROUP(uic), member = UIC_MEMBER(uic);

    if (!uic || (group == process_uic_group(self) && member == process_uic_member(self)))
        return SS$_NORMAL;
    if (!(process_privileges(self) & PRV_IMPERSONATE))
        return SS$_NODETACH;
    x->change_creds = true;
    x->creds = (struct mega_creds){.uic_group = group,
                                   .uic_member = member,
                                   .privileges = n->privileges,
                                   .authorised = n->privileges};
    return SS$_NORMAL;
}

static cond_t read_flags(const uint64_t *a, struct creation *x, struct process_plan *n)
{
    uint64_t own = process_privileges(process_self());
    uint32_t flags = (uint32_t)a[STSFLG];
    uint32_t base = (uint32_t)a[BASPRI];
    ipl_t ipl;

    if (flags & ~FLAGS_ALL)
        return SS$_IVSTSFLG;
    if (((flags & PRC$M_PSWAPM) && !(own & PRV_PSWAPM)) ||
        ((flags & PRC$M_NOACNT) && !(own & PRV_NOACNT)))
        return SS$_NOPRIV;
    if (base > VMS_PRIORITY_MOST)
        return SS$_BADPARAM;
    if (!(own & PRV_ALTPRI)) {
        ipl = spin_lock(&process_lock);
        base = MIN(base, vms_base_priority(process_self()));
        spin_unlock(&process_lock, ipl);
    }
    x->hibernate = (flags & PRC$M_HIBER) != 0;
    n->base = (uint8_t)(base + 1);
    n->flags = flags;
    n->detached = (flags & PRC$M_DETACH) || a[UIC];
    return SS$_NORMAL;
}

/* A domain is a preference, which anybody may have (sched/rad.h): no privilege is needed. */
static cond_t read_home_rad(const uint64_t *a, struct process_plan *n)
{
    uint32_t rad = (uint32_t)a[HOME_RAD];

    if (!(n->flags & PRC$M_HOME_RAD))
        return SS$_NORMAL;
    if (rad >= rad_count)
        return SS$_BADRAD;
    n->home_rad = rad + 1;
    return SS$_NORMAL;
}

static cond_t read_mailbox(uint64_t mbxunt, struct process_plan *n)
{
    const struct mailbox_who who = vms_mailbox_identity();
    uint32_t unit = mbxunt & 0xFFFF;

    return unit ? mailbox_note(&who, unit, &n->told) : SS$_NORMAL;
}

static cond_t check_node(vaddr_t node)
{
    char name[VMS_PROCESS_NAME_MAX + 2];
    cond_t status = node ? vms_short_name(node, name, VMS_PROCESS_NAME_MAX) : SS$_NORMAL;

    if (!node || status == SS$_ACCVIO)
        return status;
    return status == SS$_NORMAL && strcmp(name, VMS_NODE_NAME) == 0 ? status : SS$_NOSUCHNODE;
}

/* The arguments of the program: its name alone, or what lib$spawn gives. */
static cond_t read_program(const struct mega_spawn *s, struct creation *x)
{
    struct exec_args *a = &x->args;
    int err;

    if (s->argv) {
        err = exec_args_vector(a, s->argv, &a->argc);
        if (!err)
            err = exec_args_vector(a, s->envp, &a->envc);
    } else {
        err = exec_args_add(a, x->image);
        a->argc = 1;
    }
    return !err ? SS$_NORMAL : err == -EFAULT ? SS$_ACCVIO : SS$_INSFMEM;
}

static cond_t read_all(const uint64_t *a, struct mega_spawn *s, struct creation *x,
                       struct process_plan *n)
{
    cond_t status = read_names(a, x, n);

    if (a[SPAWN] && copyin(s, a[SPAWN], sizeof(*s)) != 0)
        return SS$_ACCVIO;
    if (a[PIDADR] && probe_write(a[PIDADR], sizeof(uint32_t)) != 0)
        return SS$_ACCVIO;
    n->keep_files = x->keep_files = a[SPAWN] != 0;
    if (status == SS$_NORMAL)
        status = read_privileges(a[PRVADR], n);
    if (status == SS$_NORMAL)
        status = read_quotas(n, a[QUOTA]);
    if (status == SS$_NORMAL)
        status = read_flags(a, x, n);
    if (status == SS$_NORMAL)
        status = read_home_rad(a, n);
    if (status == SS$_NORMAL)
        status = check_quotas(n);
    if (status == SS$_NORMAL)
        status = read_uic((uint32_t)a[UIC], x, n);
    if (status == SS$_NORMAL)
        status = read_mailbox(a[MBXUNT], n);
    if (status == SS$_NORMAL)
        status = check_node(a[NODE]);
    if (status == SS$_NORMAL && a[ITMLST])
        status = SS$_BADITMCOD;
    return status == SS$_NORMAL ? read_program(s, x) : status;
}

/* ---- completion ---- */

/* Always: over. */
static bool finish(struct event_request *r)
{
    const struct completion *c = container_of(r, struct completion, request);

    /* Whoever waits for this longword sees a 0 as SS$_NORMAL (LIB$SPAWN, completion status). */
    if (c->status)
        (void)copyout_u32(c->status, r->status ? (uint32_t)r->status : cond_value(SS$_NORMAL));
    if (c->ended)
        (void)copyout_u32(c->ended, 1); /* a word of the value may be 0 */
    return true;
}

static void release(struct event_request *r)
{
    struct completion *c = container_of(r, struct completion, request);

    npp_free_charged(c, sizeof(*c), c->account);
}

static cond_t begin_completion(const struct mega_spawn *s, struct event_request **out)
{
    struct event_owner *o = process_events();
    uint16_t account = pool_account();
    struct completion *c;
    cond_t status = vms_ast_check(s->astadr);

    if (status != SS$_NORMAL)
        return status;
    if ((s->status && probe_write(s->status, sizeof(uint32_t)) != 0) ||
        (s->ended && probe_write(s->ended, sizeof(uint32_t)) != 0))
        return SS$_ACCVIO;
    c = o ? npp_alloc_charged(sizeof(*c), account) : NULL;
    if (!c)
        return SS$_INSFMEM;
    c->status = s->status;
    c->ended = s->ended;
    c->account = account;
    c->request.finish = finish;
    c->request.release = release;
    status = event_request_begin(&c->request, o, vms_efn(s->efn), 0, s->astadr, s->astprm);
    if (status == SS$_NORMAL)
        *out = &c->request;
    else
        release(&c->request);
    return status;
}

static void cancel_completion(struct event_request *r)
{
    if (!r)
        return;
    event_request_cancel(r);
    release(r);
}

/* ---- the service ---- */

/* A thread begins with its maker's nice value: give it its own, before anybody is told its number
   and may change it. */
static void set_priority(uint32_t pid, uint32_t base)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = process_find_locked(pid);

    if (p && p->nthreads)
        thread_set_nice(process_first_thread_locked(p)->thread, vms_nice(base));
    spin_unlock(&process_lock, ipl);
}

/* The process is in the table, but does not run yet. If another one has taken its name at the same
   moment, it is abandoned: of two that want one name, none or one gets it. */
static cond_t launch(struct process *p, struct thread *t, struct creation *x,
                     struct event_request **completion, uint32_t *pid)
{
    cond_t status = SS$_NORMAL;
    uint32_t base;

    *pid = p->pid;
    if (p->name[0] && vms_name_taken(p, p->name)) {
        ipl_t ipl = spin_lock(&process_lock);

        p->kin.completion = NULL;
        p->kin.told.unit = 0;
        spin_unlock(&process_lock, ipl);
        x->abandoned = true;
        status = SS$_DUPLNAM;
    } else {
        *completion = NULL; /* it belongs to the process */
    }
    base = p->kin.base - 1u;
    thread_start(t);
    set_priority(*pid, base);
    return status;
}

/* x passes to the process if there is one: *taken. */
static cond_t create(struct process_plan *n, struct creation *x, bool *taken, uint32_t *pid)
{
    struct event_request *completion = n->completion;
    struct process *p;
    struct thread *t;
    cond_t status = SS$_NORMAL;

    if (n->name[0] && vms_name_taken(process_self(), n->name))
        status = SS$_DUPLNAM;
    if (status == SS$_NORMAL && !n->detached)
        status = kin_charge();
    if (status == SS$_NORMAL) {
        status = process_create(n, &p, &t);
        *taken = status == SS$_NORMAL;
        if (*taken)
            status = launch(p, t, x, &completion, pid);
        else if (!n->detached)
            kin_discharge();
    }
    if (status != SS$_NORMAL)
        cancel_completion(completion);
    return status;
}

/*
 * $CREPRC(pidadr, image, input, output, error, prvadr, quota, prcnam, baspri, uic, mbxunt, stsflg,
 * itmlst, node, home_rad): the last one counts with PRC$M_HOME_RAD.
 *
 *   SS$_NORMAL
 *   SS$_DUPLNAM     another process of the UIC group has this name
 *   SS$_EXPRCLM     the job has as many subprocesses as it may have
 *   SS$_NOSLOT      there are as many processes as there can be, or as the user may have
 *   SS$_IVLOGNAM    a name is empty or too long
 *   SS$_IVQUOTAL    the list has an unknown quota, or no end
 *   SS$_EXQUOTA     a quota is larger than the caller's, and the process is a subprocess or the
 *                   caller does not have IMPERSONATE
 *   SS$_IVSTSFLG    an unknown flag
 *   SS$_NODETACH    a UIC of another user without IMPERSONATE
 *   SS$_NOPRIV      PRC$M_PSWAPM or PRC$M_NOACNT without the privilege of that name; the caller may
 *                   not write to the mailbox
 *   SS$_BADPARAM    there is no such priority
 *   SS$_BADRAD      there is no such domain
 *   SS$_BADITMCOD   there is an item list, of which no item exists here
 *   SS$_NOSUCHNODE  another node than this one
 *   SS$_ACCVIO, SS$_INSFARG, SS$_TOO_MANY_ARGS, SS$_INSFMEM; of lib$spawn also SS$_EXASTLM,
 *   SS$_ILLEFC, SS$_UNASEFC
 */
cond_t vms_creprc(uint64_t block)
{
    uint64_t a[VMS_ARGS_MAX];
    struct process_plan n = {.start = creation_start};
    struct mega_spawn s = {0};
    struct creation *x;
    bool taken = false;
    uint32_t pid = 0;
    cond_t status = vms_args(block, STSFLG + 1, COUNT, a);

    if (status != SS$_NORMAL)
        return status;
    x = creation_alloc();
    if (!x)
        return SS$_INSFMEM;
    n.arg = x;
    status = read_all(a, &s, x, &n);
    if (status == SS$_NORMAL && a[SPAWN])
        status = begin_completion(&s, &n.completion);
    if (status == SS$_NORMAL)
        status = create(&n, x, &taken, &pid);
    if (!taken)
        creation_free(x);
    if (status == SS$_NORMAL && a[PIDADR])
        (void)copyout_u32(a[PIDADR], pid); /* probed above */
    return status;
}
