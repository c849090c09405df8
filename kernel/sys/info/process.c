/*
 * Items on processes and CPUs, for `show process`, `show system` and `show cpu`. Processes are read
 * under the process table's lock, in a constant time for each. Fields of threads that run on other
 * CPUs are read with relaxed atomics and may be out of date.
 */
#include "kernel/proc/process.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/group.h"
#include "kernel/sched/sched.h"
#include "kernel/sys/info/info.h"
#include "mm/pool/pool.h"

static uint64_t load(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

/* The state of a process that `show system` prints, which is that of its oldest thread. Process
   table lock held. The thread may run meanwhile, so the state may be out of date. */
static enum mega_state state_of(const struct process *p)
{
    const struct uthread *u = process_first_thread_locked(p);
    const struct thread *t = u ? u->thread : NULL;

    if (!t)
        return MEGA_STATE_ENDED;
    switch (__atomic_load_n(&t->state, __ATOMIC_RELAXED)) {
    case THREAD_RUNNING:
        return MEGA_STATE_CUR;
    case THREAD_WAITING:
        break;
    case THREAD_DEAD:
        return MEGA_STATE_ENDED;
    default:
        return MEGA_STATE_COM;
    }
    if (__atomic_load_n(&t->wants_name, __ATOMIC_RELAXED))
        return MEGA_STATE_MUTEX;
    if (p->sig && __atomic_load_n(&p->sig->stopped, __ATOMIC_RELAXED))
        return MEGA_STATE_SUSP;
    if (__atomic_load_n(&t->sleeping, __ATOMIC_RELAXED))
        return MEGA_STATE_HIB;
    return __atomic_load_n(&t->interruptible, __ATOMIC_RELAXED) == WAIT_INTERRUPTIBLE
               ? MEGA_STATE_LEF
               : MEGA_STATE_RWAST;
}

/* State, priority and CPU are those of the oldest thread; counts are the sums over all threads. */
static void describe_threads(const struct process *p, struct mega_process *m)
{
    const struct uthread *u = process_first_thread_locked(p);
    const struct thread *t;
    struct thread_share share;
    struct thread_sums sums;
    const char *wants;

    m->state = THREAD_DEAD;
    if (!u)
        return;
    t = u->thread;
    m->state = __atomic_load_n(&t->state, __ATOMIC_RELAXED);
    m->prio = __atomic_load_n(&t->prio, __ATOMIC_RELAXED);
    wants = __atomic_load_n(&t->wants_name, __ATOMIC_RELAXED);
    if (wants)
        str_copy(m->mutex, wants, sizeof(m->mutex));
    m->cpu = __atomic_load_n(&t->last_cpu, __ATOMIC_RELAXED);
    m->home_rad = __atomic_load_n(&t->home_rad, __ATOMIC_RELAXED);
    sums = threads_sums_locked(p, NULL);
    m->cpu_ns = sums.used.user_ns + sums.used.system_ns;
    m->user_ns = sums.used.user_ns;
    m->switches = sums.switches;
    m->unaligned = sums.unaligned;
    m->nice = __atomic_load_n(&t->nice, __ATOMIC_RELAXED);
    share = thread_share(t);
    m->weight = share.weight;
    m->lead_ns = share.lead_ns;
}

/* May the caller know more of p than what `show system` lists of every process? The rule of
 * $GETJPI: a process of the same UIC, with GROUP of the same group, with WORLD any. */
static bool may_know(const struct process *p)
{
    const struct process *self = process_self();
    bool same_group = process_uic_group(p) == process_uic_group(self);

    return p == self || (process_privileges(self) & PRV_WORLD) ||
           (same_group && (process_uic_member(p) == process_uic_member(self) ||
                           (process_privileges(self) & PRV_GROUP)));
}

/* Leave what `show system` lists. */
static void reduce(struct mega_process *m)
{
    struct mega_process all = *m;

    memset(m, 0, sizeof(*m));
    m->pid = all.pid;
    m->ppid = all.ppid;
    m->uid = all.uid;
    m->state = all.state;
    m->prio = all.prio;
    m->cpu = all.cpu;
    memcpy(m->name, all.name, sizeof(m->name));
    m->cpu_ns = all.cpu_ns;
    m->user_ns = all.user_ns;
    m->nice = all.nice;
    m->faults = all.faults;
    m->rss = all.rss;
    m->uic_group = all.uic_group;
    m->uic_member = all.uic_member;
    m->io = all.io;
    m->waits = all.waits;
}

/* Fill in *m, which is zero. Process table lock held. */
static void describe_all(const struct process *p, struct mega_process *m)
{
    const struct aspace *as = p->aspace;

    m->pid = p->pid;
    m->ppid = p->parent ? p->parent->pid : 0;
    m->uid = process_uid(p);
    m->uic_group = process_uic_group(p);
    m->uic_member = process_uic_member(p);
    m->privileges = process_privileges(p);
    m->authorised = __atomic_load_n(&p->authorised, __ATOMIC_RELAXED);
    m->rights = process_rights(p);
    str_copy(m->name, p->name, sizeof(m->name));
    m->waits = state_of(p);
    m->io = load(&p->io);
    describe_threads(p, m);
    if (as) {
        const struct aspace_counts *c = &as->counts;

        m->faults = load(&c->faults);
        m->demand_zero = load(&c->demand_zero);
        m->cow = load(&c->cow);
        m->object_valid = load(&c->object_valid);
        m->file = load(&c->file);
        m->stack_grow = load(&c->stack_grow);
        m->aged = load(&c->aged);
        m->page_file = load(&c->page_file);
        m->section_made_valid = load(&c->section_made_valid);
        m->section_l3_pickup = load(&c->section_l3_pickup);
        m->section_raced = load(&c->section_raced);
        m->section_global_valid = load(&c->section_global_valid);
        m->pt_pages = load(&as->pt.tables);
        m->rss = load(&as->pt.rss);
        m->section_pages = load(&c->section_pages);
        m->vsize = load(&c->vsize);
        m->locked = load(&c->locked);
    }
}

/* The same with what the caller may know. */
static void describe(const struct process *p, struct mega_process *m)
{
    describe_all(p, m);
    if (!may_know(p))
        reduce(m);
}

struct search {
    int64_t left;
    struct mega_process *out;
};

static enum process_visit search_one(struct process *p, void *arg)
{
    struct search *s = arg;

    if (s->left-- != 0)
        return PROCESS_NEXT;
    describe(p, s->out);
    return PROCESS_STOP;
}

/* Describe the process that follows process pid in the table. SS$_NONEXPR: there is no process pid;
   SS$_NOMOREPROC: it is the last. */
static cond_t describe_next(uint64_t pid, struct mega_process *out)
{
    const struct process *p = NULL;
    cond_t status = SS$_NONEXPR;
    ipl_t ipl;

    if (pid > UINT32_MAX)
        return status;
    ipl = spin_lock(&process_lock);
    p = process_find_locked((uint32_t)pid);
    if (p) {
        p = process_next_locked(p);
        status = p ? SS$_NORMAL : SS$_NOMOREPROC;
    }
    if (p)
        describe(p, out);
    spin_unlock(&process_lock, ipl);
    return status;
}

cond_t info_process(int64_t index, void *out)
{
    struct search s = {.left = index, .out = out};

    if (index == -1) {
        ipl_t ipl = spin_lock(&process_lock);

        describe(process_self(), out);
        spin_unlock(&process_lock, ipl);
        return SS$_NORMAL;
    }
    if (index < 0)
        return describe_next(-1 - (uint64_t)index, out);
    process_search(0, search_one, &s);
    return s.left < 0 ? SS$_NORMAL : SS$_NONEXPR;
}

static enum process_visit count_state(struct process *p, void *arg)
{
    struct mega_states *m = arg;

    m->count[state_of(p)]++;
    if (p->state != PROCESS_LIVE) /* it is among those that have ended */
        return PROCESS_NEXT;
    m->io += load(&p->io);
    m->faults += load(&p->spaces.faults);
    if (p->aspace && !p->borrows_space && !__atomic_load_n(&p->left_space, __ATOMIC_RELAXED))
        m->faults += load(&p->aspace->counts.faults);
    return PROCESS_NEXT;
}

/* A walk during which a process ends counts it twice, or not at all: then once more. */
#define WALKS 4

cond_t info_states(int64_t index, void *out)
{
    struct mega_states *m = out;
    struct accounting_sums before, after = accounting_ended();

    if (index != 0)
        return SS$_NONEXPR;
    for (unsigned k = 0; k < WALKS; k++) {
        before = after;
        memset(m, 0, sizeof(*m));
        process_search(0, count_state, m);
        after = accounting_ended();
        if (after.processes == before.processes)
            break;
    }
    m->faults += after.faults;
    m->io += after.io;
    pgd_free_space(&m->pool_free_blocks, &m->pool_free);
    return SS$_NORMAL;
}

static enum process_visit add_pt_pages(struct process *p, void *arg)
{
    uint64_t *sum = arg;

    if (p->aspace)
        *sum += load(&p->aspace->pt.tables);
    return PROCESS_NEXT;
}

uint64_t info_process_pt_pages(void)
{
    uint64_t sum = 0;

    process_search(0, add_pt_pages, &sum);
    return sum;
}

struct owner_search {
    const void *process;
    uint32_t pid;
};

/* The process that a CPU ran may have ended since: find it among the existing ones, compared by
   address only, or report none. */
static enum process_visit find_owner(struct process *p, void *arg)
{
    struct owner_search *s = arg;

    if (p != s->process)
        return PROCESS_NEXT;
    s->pid = p->pid;
    return PROCESS_STOP;
}

cond_t info_cpu(int64_t index, void *out)
{
    struct mega_cpu *m = out;
    struct sched_cpu_stats s;
    struct owner_search owner = {.process = NULL};

    if (index < 0 || index >= MAX_CPUS || !__atomic_load_n(&cpus[index].online, __ATOMIC_ACQUIRE))
        return SS$_NONEXPR;
    sched_cpu_stats((unsigned)index, &s);
    m->id = (uint32_t)index;
    m->online = 1;
    m->idle = s.idle;
    m->idle_ns = s.idle_ns;
    m->user_ns = s.user_ns;
    m->kernel_ns = s.busy_ns - s.user_ns;
    m->interrupt_ns = s.interrupt_ns;
    m->spin_ns = s.spin_ns;
    m->pure_idle_ns = s.pure_idle_ns;
    m->pure_kernel_ns = s.kernel_ns;
    m->switches = s.switches;
    m->interrupts = load(&cpus[index].interrupts);
    m->unaligned = load(&cpus[index].unaligned);
    m->clock_ticks = s.ticks;
    m->ipis = s.ipis;
    m->runq = s.ready;
    str_copy(m->current_name, s.current_name, sizeof(m->current_name));
    owner.process = s.current_process;
    if (owner.process)
        process_search(0, find_owner, &owner);
    m->current_pid = owner.pid;
    return SS$_NORMAL;
}
