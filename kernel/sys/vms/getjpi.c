/*
 * $GETJPI: information on a process.
 *
 * All facts about the process are read at one time, under the process table lock, before the first
 * item is answered. Afterwards are looked up: the first free addresses of its regions, in its
 * address space, which is kept by a reference; and the CPU time of all its threads, for which the
 * lock is not held, because they may be many. As on OpenVMS, the items count pagelets of 512 bytes,
 * CPU time in units of 10 ms, and times of day in units of 100 ns since 17 November 1858.
 */
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/jpidef.h"
#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/statedef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/terminal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/items.h"
#include "kernel/sys/vms/priority.h"
#include "kernel/sys/vms/target.h"
#include "kernel/sys/vms/terminal.h"
#include "mm/space/region.h"
#include "sysman/params.h"

#define USERNAME_LENGTH 12
#define USER_MODE       (1u << PSL$C_USER) /* a bit for each access mode */
#define PAGELETS        (PAGE_SIZE / 512)
#define FLAGS           0xFFFEu /* JPI$_GETJPI_CONTROL_FLAGS as a word in an item list */
#define FLAGS_ALL \
    (JPI$M_NO_TARGET_INSWAP | JPI$M_NO_TARGET_AST | JPI$M_IGNORE_TARGET_STATUS | JPI$M_THREAD)

struct facts {
    uint32_t pid, owner, uic_group, uic_member, uid, state, priority, cpu, home_rad, threads;
    uint32_t terminal; /* its device number, or 0 */
    uint64_t files_limit, files_left, io, start_ns;
    uint32_t master, subprocesses, job_subprocesses, job_limit, flags, told;
    uint32_t asts_left, ast_limit, timers_left, timer_limit;
    uint32_t cpu_limit, flags_0, flags_1, asts_active, asts_enabled;
    struct qio_counts io_counts;
    uint64_t privileges, authorised, permanent, affinity;
    uint64_t faults, private_pages, peak_pages, global_pages, table_pages, peak_bytes;
    struct cpu_time used;   /* of all threads; only if an item asks for it */
    uint64_t disk_requests; /* likewise */
    uint64_t zero;          /* of what does not exist here, and so was never used */
    char name[sizeof(((struct process *)NULL)->name)];
    char image[VMS_ANSWER_MAX + 1]; /* the path, or the beginning of a longer one */
    struct aspace *aspace;          /* a reference, or NULL if the process is exiting */
};

static uint64_t load(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

/* ---- which process ---- */

/* Of the oldest thread. Process table lock held. */
static uint32_t state_of(const struct process *p, const struct uthread *u)
{
    const struct thread *t = u->thread;
    uint32_t waits = __atomic_load_n(&u->vms_wait, __ATOMIC_RELAXED);

    switch (__atomic_load_n(&t->state, __ATOMIC_RELAXED)) {
    case THREAD_RUNNING:
        return SCH$C_CUR;
    case THREAD_WAITING:
        break;
    default:
        return SCH$C_COM;
    }
    if (p->sig && __atomic_load_n(&p->sig->stopped, __ATOMIC_RELAXED))
        return SCH$C_SUSP;
    if (__atomic_load_n(&t->wants_name, __ATOMIC_RELAXED))
        return SCH$C_MWAIT;
    if (waits)
        return waits;
    if (__atomic_load_n(&t->sleeping, __ATOMIC_RELAXED))
        return SCH$C_HIB;
    return __atomic_load_n(&t->interruptible, __ATOMIC_RELAXED) == WAIT_INTERRUPTIBLE ? SCH$C_LEF
                                                                                      : SCH$C_MWAIT;
}

/* What the process may have, and has left. Process table lock held. */
static void note_quotas(const struct process *p, struct facts *f)
{
    const struct event_owner *o = process_events_now(p);
    const struct kin *k = &p->kin;
    struct event_counts c;

    if (o)
        event_counts(o, &c);
    else
        event_limits(k->limits.asts, k->limits.timers, &c);
    f->flags_0 = c.flags[0];
    f->flags_1 = c.flags[1];
    f->asts_active = c.active ? USER_MODE : 0;
    f->asts_enabled = c.enabled ? USER_MODE : 0;
    f->ast_limit = c.ast_limit;
    f->asts_left = c.ast_limit - MIN(c.asts, c.ast_limit);
    f->timer_limit = c.timer_limit;
    f->timers_left = c.timer_limit - MIN(c.timers, c.timer_limit);
    qio_counts(p->channels, &k->limits.io, &f->io_counts);
    f->master = k->job ? k->job->master : p->pid;
    f->subprocesses = k->count;
    f->job_subprocesses = k->job ? k->job->count : 0;
    f->job_limit = kin_subprocess_limit(p) ? kin_subprocess_limit(p) - 1
                                           : (uint32_t)sysparam(SYSPARAM_PQL_DPRCLM);
    f->flags = k->flags;
    f->told = k->told.unit;
}

/* The CPUs to which the thread is confined, 0: it may run on all, as a mask of explicit affinity of
   OpenVMS has no bits then. */
static uint64_t affinity_of(const struct thread *t)
{
    cpumask_t all = (UINT64_C(1) << cpu_count) - 1;
    cpumask_t mask = __atomic_load_n(&t->affinity, __ATOMIC_RELAXED) & all;

    return mask == all ? 0 : mask;
}

/* Fill in *f. p has a thread; facts about a thread are those of the oldest. Process table lock
   held. */
static void note_facts(const struct process *p, struct facts *f)
{
    const struct uthread *u = process_first_thread_locked(p);
    const struct thread *t = u->thread;
    uint64_t cpu_limit = rlimit_soft(p, RLIMIT_CPU), files_limit = rlimit_soft(p, RLIMIT_NOFILE);
    const struct file_table *files = __atomic_load_n(&p->files, __ATOMIC_RELAXED);

    *f = (struct facts){.pid = p->pid,
                        .owner = p->kin.owner ? p->kin.owner->pid
                                 : p->parent  ? p->parent->pid
                                              : 0,
                        .uic_group = process_uic_group(p),
                        .uic_member = process_uic_member(p),
                        .uid = process_uid(p),
                        .state = state_of(p, u),
                        .priority = vms_base_priority(p),
                        .cpu = __atomic_load_n(&t->last_cpu, __ATOMIC_RELAXED),
                        .home_rad = __atomic_load_n(&t->home_rad, __ATOMIC_RELAXED),
                        .threads = p->nthreads,
                        .files_limit = files_limit,
                        .files_left = files_limit,
                        .terminal = terminal_device_locked(p),
                        .cpu_limit = cpu_limit < UINT32_MAX / 100 ? (uint32_t)cpu_limit * 100 : 0,
                        .io = load(&p->io),
                        .start_ns = p->start_ns,
                        .privileges = process_privileges(p),
                        .authorised = load(&p->authorised),
                        .permanent = load(&p->permanent),
                        .affinity = affinity_of(t),
                        .aspace = p->aspace};
    note_quotas(p, f);
    if (files) /* the limit may have been lowered below what is open */
        f->files_left -= MIN(fdtable_count(files), files_limit);
    str_copy(f->name, p->name, sizeof(f->name));
    str_copy(f->image, program_path_text(p->program), sizeof(f->image));
    if (!p->aspace)
        return;
    aspace_ref(p->aspace);
    f->faults = load(&p->spaces.faults);
    if (!__atomic_load_n(&p->left_space, __ATOMIC_RELAXED))
        f->faults += load(&p->aspace->counts.faults);
    f->private_pages = load(&p->aspace->pt.rss);
    f->peak_pages = MAX(load(&p->spaces.peak_pages), page_table_rss_peak(&p->aspace->pt));
    f->global_pages = load(&p->aspace->counts.section_pages);
    f->table_pages = load(&p->aspace->pt.tables);
    f->peak_bytes = MAX(load(&p->spaces.peak_bytes), load(&p->aspace->counts.vsize_peak));
}

/* Find the process. SS$_NORMAL with *f filled in; SS$_NOPRIV; SS$_NONEXPR, SS$_NOMOREPROC: there is
   none. *pid is set to its number if there is one, even after SS$_NOPRIV. */
static cond_t find(const struct vms_target *t, struct facts *f, uint32_t *pid)
{
    struct process *p;
    cond_t status = SS$_NORMAL;
    ipl_t ipl = vms_target_lock(t, &p);

    if (!p || p->state != PROCESS_LIVE || !p->nthreads)
        status = t->search ? SS$_NOMOREPROC : SS$_NONEXPR;
    else
        *pid = p->pid;
    if (status == SS$_NORMAL && !vms_target_allowed(process_self(), p))
        status = SS$_NOPRIV;
    if (status == SS$_NORMAL)
        note_facts(p, f);
    spin_unlock(&process_lock, ipl);
    return status;
}

/* ---- items ---- */

/* First free address of a default region, or 0. */
static vaddr_t first_free(struct aspace *as, uint64_t region)
{
    struct region_view v;
    vaddr_t va = 0;

    if (as && region_query(as, VA$_REGSUM_BY_ID, region, 0, &v, &va) != SS$_NORMAL)
        va = 0;
    return va;
}

static void longword(struct vms_answer *a, uint64_t v)
{
    a->length = sizeof(a->l);
    a->l = (uint32_t)MIN(v, (uint64_t)UINT32_MAX);
}

static void quadword(struct vms_answer *a, uint64_t v)
{
    a->length = sizeof(a->q);
    a->q = v;
}

static void text(struct vms_answer *a, const char *s)
{
    a->length = (uint32_t)MIN(strlen(s), sizeof(a->bytes));
    memcpy(a->bytes, s, a->length);
}

/* CPU time in units of 10 ms: in user mode, in the kernel, or in both. */
enum { USER = 1, KERNEL = 2 };
static uint64_t cpu_ticks(const struct facts *f, unsigned modes)
{
    return ((modes & USER ? f->used.user_ns : 0) + (modes & KERNEL ? f->used.system_ns : 0)) /
           10000000;
}

static uint64_t login_time(const struct facts *f)
{
    return vms_time(clock_wall_ns() - (clock_ns() - f->start_ns));
}

/* The name of the process's user, filled up with blanks to 12 characters as on OpenVMS. The kernel
   keeps no names of users: user 0 is SYSTEM, any other U and its number. */
static void user_name(struct vms_answer *a, const struct facts *f)
{
    char name[USERNAME_LENGTH + 1] = "SYSTEM";
    size_t n = strlen(name);

    if (f->uid)
        n = format(name, sizeof(name), "U%u", (unsigned)f->uid);
    a->length = USERNAME_LENGTH;
    memset(a->bytes, ' ', USERNAME_LENGTH);
    memcpy(a->bytes, name, n);
}

enum kind { LONG, SMALL, QUAD, PAGES, BYTES, TEXT, FREE_LONG, FREE_QUAD, TICKS, SUM, OTHER };

#define FACT(field) offsetof(struct facts, field)

/* `from` is the offset of a field of struct facts, of 32 bits if SMALL; of FREE_* the number of a
   region; of TICKS the modes. TICKS and SUM are of all threads. */
static const struct item {
    uint16_t code;
    uint8_t kind;
    uint16_t from;
} items[] = {
    {JPI$_PID, SMALL, FACT(pid)},
    {JPI$_OWNER, SMALL, FACT(owner)},
    {JPI$_GRP, SMALL, FACT(uic_group)},
    {JPI$_MEM, SMALL, FACT(uic_member)},
    {JPI$_STATE, SMALL, FACT(state)},
    {JPI$_PRI, SMALL, FACT(priority)},
    {JPI$_PRIB, SMALL, FACT(priority)},
    {JPI$_ASTCNT, SMALL, FACT(asts_left)},
    {JPI$_ASTLM, SMALL, FACT(ast_limit)},
    {JPI$_TQCNT, SMALL, FACT(timers_left)},
    {JPI$_TQLM, SMALL, FACT(timer_limit)},
    {JPI$_BIOCNT, SMALL, FACT(io_counts.left.requests)},
    {JPI$_BIOLM, SMALL, FACT(io_counts.limit.requests)},
    {JPI$_BYTCNT, SMALL, FACT(io_counts.left.bytes)},
    {JPI$_BYTLM, SMALL, FACT(io_counts.limit.bytes)},
    {JPI$_PRCCNT, SMALL, FACT(subprocesses)},
    {JPI$_PRCLM, SMALL, FACT(job_limit)},
    {JPI$_JOBPRCCNT, SMALL, FACT(job_subprocesses)},
    {JPI$_MASTER_PID, SMALL, FACT(master)},
    {JPI$_CREPRC_FLAGS, SMALL, FACT(flags)},
    {JPI$_TMBU, SMALL, FACT(told)},
    {JPI$_CPU_ID, SMALL, FACT(cpu)},
    {JPI$_HOME_RAD, SMALL, FACT(home_rad)},
    {JPI$_KT_COUNT, SMALL, FACT(threads)},
    {JPI$_INITIAL_THREAD_PID, SMALL, FACT(pid)},
    {JPI$_FILLM, LONG, FACT(files_limit)},
    {JPI$_FILCNT, LONG, FACT(files_left)},
    {JPI$_BUFIO, LONG, FACT(io)},
    {JPI$_DIRIO, SUM, FACT(disk_requests)},
    {JPI$_ASTACT, SMALL, FACT(asts_active)},
    {JPI$_ASTEN, SMALL, FACT(asts_enabled)},
    {JPI$_EFCS, SMALL, FACT(flags_0)},
    {JPI$_EFCU, SMALL, FACT(flags_1)},
    {JPI$_CPULIM, SMALL, FACT(cpu_limit)},
    {JPI$_PAGEFLTS, LONG, FACT(faults)},
    {JPI$_PPGCNT, PAGES, FACT(private_pages)},
    {JPI$_GPGCNT, PAGES, FACT(global_pages)},
    {JPI$_WSPEAK, PAGES, FACT(peak_pages)},
    {JPI$_APTCNT, PAGES, FACT(table_pages)},
    {JPI$_VIRTPEAK, BYTES, FACT(peak_bytes)},
    {JPI$_CURPRIV, QUAD, FACT(privileges)},
    {JPI$_AUTHPRIV, QUAD, FACT(authorised)},
    {JPI$_PROCPRIV, QUAD, FACT(permanent)},
    {JPI$_IMAGPRIV, QUAD, FACT(zero)},                  /* no program has privileges of its own */
    {JPI$_CURRENT_AFFINITY_MASK, QUAD, FACT(affinity)}, /* exec does not change it: there is one */
    {JPI$_PERMANENT_AFFINITY_MASK, QUAD, FACT(affinity)},
    {JPI$_PRCNAM, TEXT, FACT(name)},
    {JPI$_IMAGNAME, TEXT, FACT(image)},
    {JPI$_FREP0VA, FREE_LONG, VA$C_P0},
    {JPI$_FREP1VA, FREE_LONG, VA$C_P1},
    {JPI$_P0_FIRST_FREE_VA_64, FREE_QUAD, VA$C_P0},
    {JPI$_P1_FIRST_FREE_VA_64, FREE_QUAD, VA$C_P1},
    {JPI$_P2_FIRST_FREE_VA_64, FREE_QUAD, VA$C_P2},
    {JPI$_CPUTIM, TICKS, USER | KERNEL},
    {JPI$_USERTIM, TICKS, USER},
    {JPI$_KRNLTIM, TICKS, KERNEL},
    {JPI$_EXECTIM, LONG, FACT(zero)}, /* there are no such modes */
    {JPI$_SUPRTIM, LONG, FACT(zero)},
    {JPI$_NODE_CSID, LONG, FACT(zero)}, /* a node by itself */
    {JPI$_SCHED_POLICY, OTHER, 0},
    {JPI$_UIC, OTHER, 0},
    {JPI$_USERNAME, OTHER, 0},
    {JPI$_LOGINTIM, OTHER, 0},
    {JPI$_NODENAME, OTHER, 0},
    {JPI$_NODE_VERSION, OTHER, 0},
    {JPI$_MODE, OTHER, 0},
    {JPI$_JOBTYPE, OTHER, 0},
    {JPI$_TERMINAL, OTHER, 0},
    {JPI$_TT_PHYDEVNAM, OTHER, 0},
};

static const struct item *item_of(uint32_t code)
{
    for (unsigned i = 0; i < ARRAY_SIZE(items); i++)
        if (items[i].code == code)
            return &items[i];
    return NULL;
}

/* The controlling terminal as $GETDVI calls it, empty if there is none. The name of the login
   terminal has no underscore. */
static void terminal_name(struct vms_answer *a, uint32_t device, bool physical)
{
    char *name = (char *)a->bytes;

    a->length = 0;
    if (!device)
        return;
    vms_terminal_name(device, name, sizeof(a->bytes));
    a->length = (uint32_t)strlen(name);
    if (!physical)
        memmove(name, name + 1, --a->length);
}

static void answer_other(uint32_t code, const struct facts *f, struct vms_answer *a)
{
    switch (code) {
    case JPI$_UIC:
        return longword(a, (f->uic_group & 0xFFFF) << 16 | (f->uic_member & 0xFFFF));
    case JPI$_USERNAME:
        return user_name(a, f);
    case JPI$_LOGINTIM:
        return quadword(a, login_time(f));
    case JPI$_MODE:
        return longword(a, f->terminal ? JPI$K_INTERACTIVE : JPI$K_OTHER);
    case JPI$_JOBTYPE:
        return longword(a, f->terminal ? JPI$K_LOCAL : JPI$K_DETACHED);
    case JPI$_TERMINAL:
    case JPI$_TT_PHYDEVNAM:
        return terminal_name(a, f->terminal, code == JPI$_TT_PHYDEVNAM);
    case JPI$_SCHED_POLICY: /* as $SETPRI says: there is no other */
        return longword(a, JPI$K_DEFAULT_POLICY);
    case JPI$_NODE_VERSION:
        return text(a, VMS_NODE_VERSION);
    default:
        return text(a, VMS_NODE_NAME);
    }
}

/* Set *a to the value of an item. */
static void answer(const struct item *item, const struct facts *f, struct vms_answer *a)
{
    const char *field = (const char *)f + item->from;

    switch ((enum kind)item->kind) {
    case LONG:
    case SUM:
        return longword(a, *(const uint64_t *)field);
    case SMALL:
        return longword(a, *(const uint32_t *)field);
    case QUAD:
        return quadword(a, *(const uint64_t *)field);
    case PAGES:
        return longword(a, *(const uint64_t *)field * PAGELETS);
    case BYTES:
        return longword(a, *(const uint64_t *)field / PAGE_SIZE * PAGELETS);
    case TEXT:
        return text(a, field);
    case FREE_LONG:
        return longword(a, first_free(f->aspace, item->from));
    case FREE_QUAD:
        return quadword(a, first_free(f->aspace, item->from));
    case TICKS:
        return longword(a, cpu_ticks(f, item->from));
    case OTHER:
        return answer_other(item->code, f, a);
    }
}

/* The control flags need no action, since no process is ever swapped out. */
static cond_t check_flags(const struct vms_item *item)
{
    uint32_t flags;

    if (item->length != sizeof(flags))
        return SS$_BADPARAM;
    if (copyin(&flags, item->buffer, sizeof(flags)) != 0)
        return SS$_ACCVIO;
    return flags & ~FLAGS_ALL ? SS$_BADPARAM : SS$_NORMAL;
}

static cond_t check_item(const struct vms_item *item, const void *arg)
{
    (void)arg;
    if (item->code == FLAGS)
        return check_flags(item);
    return item_of(item->code) ? vms_item_probe(item) : SS$_BADITMCOD;
}

static cond_t write_item(const struct vms_item *item, const void *facts)
{
    struct vms_answer a;

    if (item->code == FLAGS)
        return SS$_NORMAL;
    answer(item_of(item->code), facts, &a);
    return vms_item_answer(item, &a);
}

/* If an item asks for what all threads have used, find it, once for all items. It stays 0 if the
   process has ended meanwhile. */
static void note_sums(const struct vms_item_list *list, struct facts *f)
{
    struct thread_sums sums;

    for (unsigned i = 0; i < list->count; i++) {
        const struct item *item = item_of(list->item[i].code);

        if (item && (item->kind == TICKS || item->kind == SUM)) {
            if (threads_sums_of((uint32_t)f->pid, f->start_ns, &sums)) {
                f->used = sums.used;
                f->disk_requests = sums.disk_requests;
            }
            return;
        }
    }
}

/* Write the answers about the process t. The list has been checked. */
static cond_t answer_all(const struct vms_target *t, vaddr_t pidadr,
                         const struct vms_item_list *list)
{
    struct facts f;
    uint32_t pid = 0;
    cond_t status = find(t, &f, &pid);

    /* Return the number, in a search also if the caller may not see the process. */
    if (pid && pidadr && (status == SS$_NORMAL || t->search) &&
        copyout_u32(pidadr, t->search ? pid | VMS_SEARCH : pid) != 0)
        status = status == SS$_NORMAL ? SS$_ACCVIO : status;
    if (!pid || status == SS$_NOPRIV)
        return status;
    if (status == SS$_NORMAL) {
        note_sums(list, &f);
        status = vms_items_each(list, write_item, &f);
    }
    if (f.aspace)
        aspace_unref(f.aspace); /* may be the last reference, if the process has ended meanwhile */
    return status;
}

/* Not inlined: its caller's arguments would make one large frame of two. */
static __attribute__((noinline)) cond_t inform(vaddr_t pidadr, vaddr_t prcnam, vaddr_t itmlst)
{
    struct vms_item_list list;
    struct vms_target t;
    cond_t status = vms_target_decode(pidadr, prcnam, &t);

    if (status != SS$_NORMAL)
        return status;
    status = vms_items_check(itmlst, vms_items_chained, check_item, &list);
    if (status == SS$_NORMAL)
        status = answer_all(&t, pidadr, &list);
    vms_items_end(&list);
    return status;
}

/*
 * $GETJPI(efn, pidadr, prcnam, itmlst, iosb, astadr, astprm), and $GETJPIW, since it completes at
 * once.
 *
 *   SS$_NORMAL
 *   SS$_NONEXPR                     there is no such process
 *   SS$_NOMOREPROC                  a search (*pidadr -1) has reached the end
 *   SS$_NOPRIV                      the process has another UIC, and the caller has neither WORLD
 *                                   nor (same group) GROUP; a search can go on after the process
 *   SS$_BADITMCOD                   an item is not implemented
 *   SS$_BADPARAM, SS$_BADBUFLEN     the item list is malformed
 *   SS$_IVLOGNAM                    the name has 0 or more than 15 characters
 *   SS$_INSFMEM                     the list is long, and there is no memory for its copy
 *   SS$_ILLEFC, SS$_UNASEFC, SS$_EXASTLM, SS$_ACCVIO
 */
cond_t vms_getjpi(uint64_t block)
{
    enum { EFN, PIDADR, PRCNAM, ITMLST, IOSB_OUT, ASTADR, ASTPRM, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    struct vms_completion c;
    cond_t status = vms_args(block, IOSB_OUT, COUNT, a);

    if (status == SS$_NORMAL)
        status = vms_completion_begin(&c, a[EFN], a[IOSB_OUT], a[ASTADR], a[ASTPRM]);
    if (status != SS$_NORMAL)
        return status;
    status = inform(a[PIDADR], a[PRCNAM], a[ITMLST]);
    return vms_completion_end(&c, status, status != SS$_NORMAL);
}
