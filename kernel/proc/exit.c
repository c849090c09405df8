/*
 * The end of a process with its last thread (threads.c has the end of the others), in a fixed order
 * in which each step leaves what the later ones need:
 *
 * 0. The signals are closed: one that ended the process until now is how it ended, and whoever
 *    sends a later one is told that it came too late (a terminal's interrupt then goes to the
 *    shell).
 * 1. The robust futexes that the thread holds are released; the word that clone or set_tid_address
 *    named is cleared and its futex is woken.
 * 2. The alarm is stopped, so no timer refers to the process any more.
 * 3. Descriptors are closed, so the other end of a pipe sees it; the working directory and the
 *    logical names are released.
 * 4. The address space is released, so sections lose a user; if the process leads the session of
 *    the terminal, that session loses it (terminal.c); a vfork parent continues.
 * 5. Children become orphans; those that are zombies are freed, and those that are stopped in a
 *    group of their own get SIGHUP and SIGCONT, because nobody is left to continue them.
 *    Subprocesses of OpenVMS are deleted (kin.c).
 * 6. Under the table lock, the process becomes a zombie and its parent is notified.
 * 7. The thread ends.
 *
 * A process whose parent has ended, or ignores SIGCHLD, is freed in step 6 without a wait. When pid
 * 1 ends, the system ends instead, before step 1.
 *
 * There is one table lock for the whole system, so the time for which it is held here does not grow
 * with the number of children: zombies have a list of their own, whose first one satisfies a wait
 * for any child, and children are orphaned in portions. A wait that names a process group, and one
 * that asks for stops while some child has one to report, walk the children, in portions too.
 */
#include "kernel/base/abi/prcdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/lnm/lnm.h"
#include "kernel/proc/aio.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/channels.h"
#include "kernel/proc/fast.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/pidfd.h"
#include "kernel/proc/posix_timer.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/run_hook.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/terminal.h"
#include "kernel/proc/termination.h"
#include "kernel/proc/threads.h"
#include "kernel/quota/quota.h"
#include "mm/pool/pool.h"
#include "mm/pt/pt_system.h"

/* Take p out of the table; the caller frees it. */
static void unlink_locked(struct process *p)
{
    list_remove(&p->sibling.link);
    process_leave_locked(p);
}

#define ORPHANS_AT_ONCE 6u /* up to 210 instructions each under the table lock */

/* The parent of c ends: if c is stopped as a job of its own, it gets SIGHUP and SIGCONT. POSIX
 * looks at every process of the group that becomes orphaned; here the children of the process are
 * enough, and their number in one portion is bounded. */
static void release_stopped_locked(const struct process *p, struct process *c)
{
    struct signal_info info = {.signo = SIGHUP, .code = SI_KERNEL};

    if (c->sid != p->sid || c->pgid == p->pgid || !c->sig ||
        !__atomic_load_n(&c->sig->stopped, __ATOMIC_RELAXED))
        return;
    signal_send(c, &info);
    info.signo = SIGCONT;
    signal_send(c, &info);
}

/* The parent of c ends: send the signal that c asked for, PR_SET_PDEATHSIG. A signal takes some 500
 * instructions; returns how many orphans it counts as. */
static unsigned tell_of_death_locked(struct process *c)
{
    const struct signal_info info = {
        .signo = __atomic_load_n(&c->personal.death_signal, __ATOMIC_RELAXED), .code = SI_KERNEL};

    if (likely(!info.signo) || !c->sig)
        return 0;
    signal_send(c, &info);
    return ORPHANS_AT_ONCE / 2;
}

/* Orphan up to ORPHANS_AT_ONCE children, and move those that are zombies to the list `dead`. False:
 * there were none. */
static bool orphan_some(struct process *p, struct list *dead)
{
    ipl_t ipl = spin_lock(&process_lock);
    unsigned n = 0;

    while (n < ORPHANS_AT_ONCE) {
        struct list *zombie = list_first(&p->zombies);
        struct list *link = zombie ? zombie : list_first(&p->children);
        struct process *c;

        if (!link)
            break;
        c = list_entry(link, struct process_place, link)->process;
        list_remove(link); /* no walk is here: those are by threads of p, and this is the last */
        c->parent = NULL;
        __atomic_store_n(&c->ppid, 1, __ATOMIC_RELAXED);
        if (zombie) {
            unlink_locked(c);
            list_add_tail(dead, &c->sibling.link);
        } else {
            release_stopped_locked(p, c);
            n += tell_of_death_locked(c);
        }
        n++;
    }
    spin_unlock(&process_lock, ipl);
    return n != 0;
}

/* No child is added meanwhile, because only p's own thread creates them. One that ends between two
 * portions becomes a zombie of p and is found by the next portion. */
void process_free_children(struct process *p)
{
    struct list dead = LIST_INIT(dead), *link;

    while (orphan_some(p, &dead))
        ;
    while ((link = list_pop_head(&dead)))
        process_free(list_entry(link, struct process_place, link)->process);
}

/* Notify the parent of a change of p: SIGCHLD and a wake-up. Table lock held. */
static void tell_parent_locked(struct process *p, int code, uint32_t status)
{
    struct process *parent = p->parent;
    struct signal_info info = {
        .signo = SIGCHLD,
        .code = code,
        .pid = p->pid,
        .uid = process_uid(p),
        .status = (int32_t)(code == CLD_KILLED ? status & 0x7F : status >> 8 & 0xFF)};

    if (parent->sig &&
        ((code != CLD_STOPPED && code != CLD_CONTINUED) || signal_wants_stops(parent->sig)))
        signal_send(parent, &info);
    __atomic_store_n(&parent->child_changes, parent->child_changes + 1, __ATOMIC_RELEASE);
    wake_one(&parent->child_queue); /* it wakes others: process_wait() */
}

void process_report_stop(uint32_t status)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);
    const struct tracee *t = uthread_self()->trace;
    bool told = t && t->tracer && t->tracer == p->parent; /* as the tracer */

    if (p->parent && !p->stop_report && !told)
        p->parent->stops++;
    p->stop_report = told ? 0 : status;
    if (p->parent && !told)
        tell_parent_locked(p, status == 0xFFFF ? CLD_CONTINUED : CLD_STOPPED, status);
    spin_unlock(&process_lock, ipl);
}

/* Forget the stop or continuation that child c has not reported yet. */
static void stop_forget_locked(struct process *c)
{
    if (c->parent && c->stop_report)
        c->parent->stops--;
    c->stop_report = 0;
}

/* Remove the current thread, the last one, from the list. The signal lock is not needed besides:
 * code that reads the list under that lock alone runs in a thread of this process. */
static void leave_locked(struct process *p)
{
    struct thread *t = thread_self();

    KASSERT(p->nthreads == 1, "the last thread ends the process");
    list_remove(&uthread_self()->place.link);
    if (unlikely(uthread_self()->tid != p->pid)) {
        list_remove(&uthread_self()->hash);
        number_release(uthread_self()->tid);
    }
    p->nthreads = 0;
    cpu_time_add(&p->ended, thread_cpu_time(t));
    p->disk_requests += t->disk_requests;
    thread_leave_process();
    t->account = account_system; /* the process's reference goes with its structure */
}

static bool has_descendants_locked(const struct process *p)
{
    return !list_empty(&p->children) || !list_empty(&p->zombies) ||
           !list_empty(&p->kin.subprocesses);
}

/* Step 5, and take the table lock. Few processes have children when they end, so that is asked with
 * the lock that step 6 needs anyway. */
static ipl_t orphan_and_lock(struct process *p)
{
    ipl_t ipl = spin_lock(&process_lock);

    while (unlikely(has_descendants_locked(p))) {
        spin_unlock(&process_lock, ipl);
        process_free_children(p);
        kin_delete_subprocesses(p);
        ipl = spin_lock(&process_lock);
    }
    return ipl;
}

/* What is left of a process for its last thread to give back without the table lock. */
struct remains {
    struct process *process; /* itself, if nobody will wait for it */
    struct sighand *sig;
    struct event_request *completion; /* of its owner, or NULL */
    struct job *job;                  /* or NULL */
};

/* Steps 5 and 6. */
static void become_zombie(struct process *p, uint32_t status, uint32_t final, struct remains *r)
{
    ipl_t ipl = orphan_and_lock(p);
    uint32_t pid = p->pid;
    struct accounting_record *record = NULL;
    bool forgotten;

    if (likely(!(p->kin.flags & PRC$M_NOACNT))) {
        record = accounting_add_locked(p);
        record->owner = accounting_owner_locked(p);
        record->job = accounting_job_locked(p);
    }
    r->completion = kin_end_locked(p, &r->job);
    r->sig = p->sig;
    p->exit_status = status;
    p->withheld = ptrace_process_end_locked(p, status);
    leave_locked(p);
    if (likely(record != NULL))
        accounting_note_locked(p, final, status, p->ended, record);
    accounting_end_locked(p);
    p->sig = NULL;
    p->state = PROCESS_ZOMBIE;
    p->terminal = 0;
    stop_forget_locked(p);
    forgotten = !p->parent || (p->parent->sig && signal_is_ignored(p->parent->sig, SIGCHLD));
    if (p->parent && !p->withheld)
        tell_parent_locked(p, !(status & 0x7F) ? CLD_EXITED : CLD_KILLED, status);
    if (unlikely(p->withheld)) {
        forgotten = false;
    } else if (forgotten) {
        unlink_locked(p);
    } else {
        list_remove(&p->sibling.link);
        list_add_tail(&p->parent->zombies, &p->sibling.link);
    }
    spin_unlock(&process_lock, ipl);
    pidfd_exited(pid);
    r->process = forgotten ? p : NULL;
}

struct process *process_zombie_shown_locked(struct process *p)
{
    struct process *parent = p->parent;

    p->withheld = false;
    if (!parent || (parent->sig && signal_is_ignored(parent->sig, SIGCHLD))) {
        unlink_locked(p);
        return p;
    }
    list_remove(&p->sibling.link);
    list_add_tail(&parent->zombies, &p->sibling.link);
    tell_parent_locked(p, !(p->exit_status & 0x7F) ? CLD_EXITED : CLD_KILLED, p->exit_status);
    return NULL;
}

void (*futex_end_hook)(struct process *p, struct uthread *u);

/* Step 1. */
void process_tell_end(struct process *p)
{
    struct uthread *u = uthread_self();

    if (futex_end_hook)
        futex_end_hook(p, u);
}

/* Take the program, the address space, and root and working directory away from p, where others
 * find them, and use no address space any more. */
static struct program_path *leave_program(struct process *p, struct aspace **as,
                                          struct fs_context **fs)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct program_path *path = p->program;

    *as = p->aspace;
    *fs = p->fs;
    p->fs = NULL;
    p->program = NULL;
    p->aspace = NULL;
    spin_unlock(&process_lock, ipl);
    thread_set_root(thread_self(), system_root_pfn, NULL);
    return path;
}

/* Steps 2 to 4, without the wake-up of a vfork parent. */
static void give_back(struct process *p)
{
    struct file_table *files;
    struct program_path *path;
    struct fs_context *fs;
    struct aspace *as;

    process_alarm_end(p);
    posix_timers_end(p);
    if (unlikely(p->sem_undos.used))
        sem_end(&p->sem_undos);
    files = process_change_files(p, NULL);
    process_channels_end(p); /* while there are its logical names */
    process_aio_end(p);
    fdtable_release(files);
    lnm_space_free(p->names);
    p->names = NULL;
    path = leave_program(p, &as, &fs);
    process_events_end(p); /* without an address space it gets no others */
    process_fast_end(p);
    process_fs_end(p, fs);
    program_path_unref(path);
    if (as) /* a run_hook may have released that of the first process */
        aspace_unref(as);
}

/* Pid 1 ends: run the hooks (run_hook.h), then end the system. */
static void __attribute__((noreturn)) first_exit(struct process *p, uint32_t status)
{
    run_ends();
    if (run_end_others()) {
        struct sighand *sig = p->sig;
        struct job *job;
        ipl_t ipl;

        give_back(p);
        kin_delete_subprocesses(p);
        ipl = spin_lock(&process_lock);
        (void)kin_end_locked(p, &job); /* it has no owner that would wait for its end */
        spin_unlock(&process_lock, ipl);
        kin_job_free(job);
        p->sig = NULL;
        thread_forget(uthread_self(), sig);
        sighand_free(sig);
        run_ended();
    }
    process_first_ended(status);
}

static void name_signal(const struct process *p, uint32_t sig)
{
    char name[PROCESS_NAME_BYTES];

    if (sig && sig != SIGKILL && sig != SIGTERM && sig != SIGINT && sig != SIGPIPE &&
        sig != SIGHUP && sig != SIGALRM)
        printk("%s (%u): ended by signal %u\n", process_name_text(p, name), p->pid, sig);
}

void process_end(struct process *p, uint32_t status)
{
    struct uthread *u = uthread_self();
    struct remains r;
    uint32_t final;

    status = signal_close(p->sig, status);
    name_signal(p, status & 0x7F);
    threads_end_group(p);
    if (p->pid != 1)
        accounting_leave_space(p, p->aspace);
    if (unlikely(p->kin.told.unit))
        termination_send(p, status);
    if (unlikely(p->tracing != NULL))
        ptrace_tracer_end(p);
    if (p->pid == 1)
        first_exit(p, status);
    give_back(p);
    terminal_hang_up(p);
    process_vfork_release(p);
    final = kin_final_status(p, status);
    become_zombie(p, status, final, &r);
    kin_job_free(r.job);
    if (unlikely(r.completion != NULL))
        event_post(r.completion, final);
    thread_forget(u, r.sig);
    sighand_free(r.sig);
    if (r.process)
        process_free(r.process);
    thread_exit();
}

/* ---- wait ---- */

/* The report of a stop or continuation of the live child p that `options` asks for; 0: none. */
static uint32_t stop_report_locked(const struct process *p, unsigned options)
{
    return options & (p->stop_report == 0xFFFF ? WCONTINUED : WUNTRACED) ? p->stop_report : 0;
}

static bool wanted(const struct process *self, const struct process *c, int32_t pid)
{
    if (pid > 0)
        return c->pid == (uint32_t)pid;
    return pid == -1 || c->pgid == (pid == 0 ? self->pgid : 0u - (uint32_t)pid);
}

/* The first child on a list of self's that pid selects and fits() accepts. The lock may be dropped
 * and taken meanwhile, but is held with the result. A child that comes to fit during the walk may
 * be missed: then child_changes is raised, and process_wait() looks again. */
static struct process *find_locked(struct process *self, struct list *list, int32_t pid,
                                   bool (*fits)(const struct process *c, unsigned options),
                                   unsigned options, ipl_t *ipl)
{
    struct process_walk w;
    struct process *c;

    process_walk_begin_locked(&w, list, *ipl);
    while ((c = process_walk_next(&w)) != NULL) {
        if (wanted(self, c, pid) && fits(c, options)) {
            process_walk_end_locked(&w);
            break;
        }
    }
    *ipl = w.ipl;
    return c;
}

static bool any_child(const struct process *c, unsigned options)
{
    (void)c;
    (void)options;
    return true;
}

static bool has_stop_report(const struct process *c, unsigned options)
{
    return stop_report_locked(c, options) != 0;
}

/* The first zombie among self's children that pid selects; pid -1 selects any. */
static struct process *find_zombie_locked(struct process *self, int32_t pid, ipl_t *ipl)
{
    struct process *c;

    if (pid > 0) {
        c = process_find_locked((uint32_t)pid);
        return c && c->parent == self && c->state == PROCESS_ZOMBIE && !c->withheld ? c : NULL;
    }
    if (list_empty(&self->zombies))
        return NULL;
    return find_locked(self, &self->zombies, pid, any_child, 0, ipl);
}

static struct process *find_stopped_locked(struct process *self, int32_t pid, unsigned options,
                                           ipl_t *ipl)
{
    if (!self->stops || !(options & (WUNTRACED | WCONTINUED)))
        return NULL;
    return find_locked(self, &self->children, pid, has_stop_report, options, ipl);
}

/* Does self have any child that pid selects? One that ends between the two walks moves from the
 * first list to the second. */
static bool has_child_locked(struct process *self, int32_t pid, ipl_t *ipl)
{
    if (unlikely(self->tracing != NULL) && ptrace_any_locked(self, pid, ipl))
        return true;
    if (pid > 0) {
        const struct process *c = process_find_locked((uint32_t)pid);

        return c && c->parent == self;
    }
    return find_locked(self, &self->children, pid, any_child, 0, ipl) ||
           find_locked(self, &self->zombies, pid, any_child, 0, ipl);
}

/* One look at the children: 1 with *r filled in, and in *dead a process for the caller to free or
 * NULL; 0: none is ready; -ECHILD. *changes: self->child_changes at the beginning. */
static int look(struct process *self, int32_t pid, unsigned options, struct wait_result *r,
                struct process **dead, uint32_t *changes)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct process *c = NULL;
    bool zombie;
    struct cpu_time used;
    int result = 1;

    *dead = NULL;
    *changes = self->child_changes;
    if (unlikely(self->tracing != NULL) && ptrace_wait_locked(self, pid, options, r, dead, &ipl)) {
        spin_unlock(&process_lock, ipl);
        return 1;
    }
    if (options & WEXITED)
        c = find_zombie_locked(self, pid, &ipl);
    zombie = c != NULL;
    if (!zombie)
        c = find_stopped_locked(self, pid, options, &ipl);
    if (c) {
        used = threads_sums_locked(c, NULL).used;
        cpu_time_add(&used, c->waited);
        *r = (struct wait_result){.pid = c->pid,
                                  .uid = process_uid(c),
                                  .status = zombie ? c->exit_status : c->stop_report,
                                  .used = used};
        if (!(options & WNOWAIT)) {
            stop_forget_locked(c);
            if (zombie) {
                unlink_locked(c);
                __atomic_store_n(&self->waited.user_ns, self->waited.user_ns + used.user_ns,
                                 __ATOMIC_RELAXED);
                __atomic_store_n(&self->waited.system_ns, self->waited.system_ns + used.system_ns,
                                 __ATOMIC_RELAXED);
                *dead = c;
            }
        }
    } else {
        result = has_child_locked(self, pid, &ipl) ? 0 : -ECHILD;
    }
    spin_unlock(&process_lock, ipl);
    return result;
}

/* If several threads of a process wait, a change wakes one of them, which wakes the next after it
 * has looked. A waiter that has looked already since the change wakes nobody, so that it ends. */
int process_wait(int32_t pid, unsigned options, struct wait_result *r)
{
    struct process *self = process_self(), *dead;
    struct waiter w;
    uint32_t seen, before = 0;
    int result;

    for (;;) {
        result = look(self, pid, options, r, &dead, &seen);
        if (unlikely(!process_alone(self)) && seen != before)
            wake_one(&self->child_queue);
        if (result || (options & WNOHANG))
            break;
        before = seen;
        wait_enqueue(&self->child_queue, &w);
        if (__atomic_load_n(&self->child_changes, __ATOMIC_ACQUIRE) == seen &&
            wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER))
            result = -ERESTARTSYS;
        wait_finish(&w);
        if (result) {
            /* If a child ended at the same moment, report it rather than the interruption. */
            int late = look(self, pid, options, r, &dead, &seen);

            if (late)
                result = late;
            if (unlikely(!process_alone(self)))
                wake_one(&self->child_queue); /* this thread may have been the one woken */
            break;
        }
    }
    if (dead)
        process_free(dead);
    return result;
}
