/*
 * Who traces whom: attaching and letting go, what a tracer waits for, and the end of threads,
 * tracees and tracers. ptrace.h describes the objects.
 *
 * A tracer's tracees are in two lists, those with a report in one of their own. So a wait for any
 * of them takes the first, and one that names a thread finds it by its number; only a wait for a
 * group, or for a thread that has ended, walks the reports, in portions. A tracer that ends lets go
 * of a few tracees in one hold of the lock.
 *
 * Memory: a structure for each thread that is traced, charged to who begins to trace it (to the
 * user of the thread itself if it is traced from its first instruction on), until its end has been
 * waited for.
 */
#include "kernel/proc/ptrace.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/threads.h"
#include "mm/pool/pool_charged.h"

static struct tracee *tracee_alloc(void)
{
    uint16_t account = pool_account();
    struct tracee *t = npp_alloc_charged(sizeof(*t), account);

    if (!t)
        return NULL;
    memset(t, 0, sizeof(*t));
    t->account = account;
    t->place.tracee = t;
    list_init(&t->place.link);
    return t;
}

static void tracee_free(struct tracee *t)
{
    if (t)
        npp_free_charged(t, sizeof(*t), t->account);
}

/* Give the current process lists of tracees, if it has none. 0 or -ENOMEM. */
static struct tracing *tracing_alloc(void)
{
    uint16_t account = pool_account();
    struct tracing *r = npp_alloc_charged(sizeof(*r), account);

    if (!r)
        return NULL;
    list_init(&r->quiet);
    list_init(&r->reports);
    r->account = account;
    return r;
}

static void tracing_free(struct tracing *r)
{
    if (r)
        npp_free_charged(r, sizeof(*r), r->account);
}

/* ---- permission ---- */

/* Can p become user 0? */
static bool may_be_super(const struct process *p)
{
    return process_uid(p) == 0 || process_euid(p) == 0 || p->suid == 0;
}

/* Can p do what `by` cannot? Table lock held. */
static bool has_more(const struct process *p, const struct process *by)
{
    return (may_be_super(p) && !may_be_super(by)) ||
           ((p->authorised | p->privileges | p->permanent) & ~process_privileges(by)) ||
           (process_rights(p) & ~process_rights(by));
}

/* As for kill, but that all ids must be the same: whoever traces p can do all that p can do. So p
 * has no privilege that the tracer lacks, and holds nothing that it got as another user. */
int ptrace_access_of(const struct process *self, const struct process *p)
{
    uint32_t uid = process_uid(self), gid = process_gid(self);

    if (p == self || process_euid(self) == 0)
        return 0;
    if (uid != process_uid(p) || uid != process_euid(p) || uid != p->suid ||
        gid != process_gid(p) || gid != process_egid(p) || gid != p->sgid)
        return -EPERM;
    if (has_more(p, self))
        return -EPERM;
    return __atomic_load_n(&p->personal.undumpable, __ATOMIC_RELAXED) ? -EPERM : 0;
}

int ptrace_access_locked(const struct process *p) { return ptrace_access_of(process_self(), p); }

/* ---- attaching ---- */

/* Make t, of the thread u, a tracee of `tracer`, whose lists exist. Table lock held. */
static void link_locked(struct tracee *t, struct uthread *u, struct process *tracer)
{
    struct sighand *s = u->process->sig;
    ipl_t ipl = spin_lock(&s->lock);

    t->thread = u;
    t->tid = u->tid;
    __atomic_store_n(&t->tracer, tracer, __ATOMIC_RELAXED);
    __atomic_store_n(&u->trace, t, __ATOMIC_RELEASE);
    s->ntraced++;
    spin_unlock(&s->lock, ipl);
    list_add_tail(&tracer->tracing->quiet, &t->place.link);
}

/* Nobody traces the thread of t any more; the thread itself frees t. Table lock held. */
static void unlink_locked(struct tracee *t)
{
    struct sighand *s = t->thread->process->sig;
    ipl_t ipl = spin_lock(&s->lock);

    __atomic_store_n(&t->let_go, true, __ATOMIC_RELAXED);
    __atomic_store_n(&t->tracer, NULL, __ATOMIC_RELEASE); /* who sees it sees let_go */
    s->ntraced--;
    spin_unlock(&s->lock, ipl);
    list_remove(&t->place.link);
    t->report = 0;
    __atomic_store_n(&t->trap, false, __ATOMIC_RELAXED);
    __atomic_fetch_or(&t->thread->thread->hw.syscall_exit, EXIT_TRACE, __ATOMIC_SEQ_CST);
}

/* Give the tracer its lists, if it has none. False: it has begun to end, and its last thread may
 * have looked for them already, after it was closed under this lock. Table lock held. */
static bool open_lists_locked(struct process *tracer, struct tracing **lists)
{
    bool open = false;

    if (tracer->sig) {
        ipl_t ipl = spin_lock(&tracer->sig->lock);

        open = !tracer->sig->closed;
        if (open && !tracer->tracing) {
            tracer->tracing = *lists;
            *lists = NULL;
        }
        spin_unlock(&tracer->sig->lock, ipl);
    }
    return open;
}

struct manner {
    bool seize;
    uint32_t options;
};

/* Let `tracer` trace u: with *t and *lists, or with what is there already, and then these stay the
 * caller's. Table lock held. 0 or -EPERM. */
static int attach_locked(struct uthread *u, struct process *tracer, const struct manner *how,
                         struct tracee **t, struct tracing **lists)
{
    struct tracee *old = u->trace;

    /* A thread that leaves has all signals blocked, which no thread could otherwise. */
    if ((old && old->tracer) || u->blocked == ~UINT64_C(0) || !open_lists_locked(tracer, lists))
        return -EPERM;
    if (!old) {
        old = *t;
        *t = NULL;
    }
    old->seized = how->seize;
    old->message = 0;
    __atomic_store_n(&old->options, how->options, __ATOMIC_RELAXED);
    __atomic_store_n(&old->stop_seen, 0, __ATOMIC_RELAXED);
    link_locked(old, u, tracer);
    return 0;
}

int ptrace_traceme(void)
{
    struct process *p = process_self();
    const struct manner how = {false, 0};
    struct tracing *lists = tracing_alloc();
    struct tracee *t = tracee_alloc();
    int err = -ENOMEM;

    if (t && lists) {
        ipl_t ipl = spin_lock(&process_lock);

        if (p->parent && (process_euid(p->parent) == 0 || !has_more(p, p->parent)))
            err = attach_locked(uthread_self(), p->parent, &how, &t, &lists);
        else
            err = -EPERM;
        spin_unlock(&process_lock, ipl);
    }
    tracing_free(lists);
    tracee_free(t);
    return err;
}

static int attach_by_number_locked(uint32_t tid, const struct manner *how, struct tracee **t,
                                   struct tracing **lists)
{
    const struct signal_info stop = {.signo = SIGSTOP, .code = SI_KERNEL};
    struct uthread *u = thread_find_locked(tid);
    int err;

    if (!u || !u->process->sig)
        return process_find_locked(tid) ? -EPERM : -ESRCH;
    if (u->process == process_self() || u->process->pid == 1)
        return -EPERM;
    err = ptrace_access_locked(u->process);
    if (!err)
        err = attach_locked(u, process_self(), how, t, lists);
    if (err)
        return err;
    if (!how->seize)
        signal_send_thread(u->process, u, &stop);
    if (__atomic_load_n(&u->process->sig->stopped, __ATOMIC_RELAXED))
        thread_interrupt(u->thread); /* it has stopped already, and is to say so */
    return 0;
}

int ptrace_attach(uint32_t tid, bool seize, uint64_t options)
{
    const struct manner how = {seize, (uint32_t)options};
    struct tracing *lists;
    struct tracee *t;
    int err = -ENOMEM;

    if (options & ~(uint64_t)PTRACE_O_KNOWN)
        return -EIO;
    lists = tracing_alloc();
    t = tracee_alloc();
    if (t && lists) {
        ipl_t ipl = spin_lock(&process_lock);

        err = attach_by_number_locked(tid, &how, &t, &lists);
        spin_unlock(&process_lock, ipl);
    }
    tracing_free(lists);
    tracee_free(t);
    return err;
}

/* ---- requests ---- */

/* A thread that leaves is still found by its number when its tracee has no thread any more. */
static struct tracee *find_locked(uint32_t tid)
{
    const struct uthread *u = thread_find_locked(tid);
    struct tracee *t = u ? u->trace : NULL;

    return t && t->thread && t->tracer == process_self() ? t : NULL;
}

struct tracee *ptrace_stopped_locked(uint32_t tid)
{
    struct tracee *t = find_locked(tid);

    return t && t->stop && !thread_fatal_pending(t->thread->thread) ? t : NULL;
}

int ptrace_interrupt(uint32_t tid)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct tracee *t = find_locked(tid);
    int err = !t ? -ESRCH : t->seized ? 0 : -EIO;

    if (!err) { /* one that has stopped for another reason says so when it goes on */
        __atomic_store_n(&t->trap, true, __ATOMIC_SEQ_CST);
        thread_interrupt(t->thread->thread);
    }
    spin_unlock(&process_lock, ipl);
    return err;
}

int ptrace_kill(uint32_t tid)
{
    const struct signal_info kill = {.signo = SIGKILL, .code = SI_KERNEL};
    ipl_t ipl = spin_lock(&process_lock);
    struct tracee *t = find_locked(tid);

    if (t)
        signal_send(t->thread->process, &kill);
    spin_unlock(&process_lock, ipl);
    return t ? 0 : -ESRCH;
}

/* Let the thread of t go on, which has stopped. Table lock held. */
static void go_on_locked(struct tracee *t, enum trace_how how, int sig)
{
    struct trace_stop *s = t->stop;

    s->how = how;
    s->signal = sig;
    t->stop = NULL;
    if (t->report)
        ptrace_told_locked(t);
    __atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
    wake_one(&s->queue); /* it leaves the stack when the table lock is free */
}

int ptrace_resume(uint32_t tid, enum trace_how how, uint64_t sig)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct tracee *t = ptrace_stopped_locked(tid);
    int err = !t ? -ESRCH : sig > NSIG ? -EIO : 0;

    if (!err && how == TRACE_LISTEN &&
        (!t->stop->has_info || t->stop->info.code >> 8 != PTRACE_EVENT_STOP))
        err = -EIO;
    if (!err)
        go_on_locked(t, how, (int)sig);
    spin_unlock(&process_lock, ipl);
    return err;
}

int ptrace_detach(uint32_t tid, uint64_t sig)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct tracee *t = ptrace_stopped_locked(tid);
    int err = !t ? -ESRCH : sig > NSIG ? -EIO : 0;

    if (!err) {
        go_on_locked(t, TRACE_CONT, (int)sig);
        unlink_locked(t);
    }
    spin_unlock(&process_lock, ipl);
    return err;
}

/* ---- reports ---- */

void ptrace_report_locked(struct tracee *t, uint32_t status, int code)
{
    struct process *tracer = t->tracer;
    struct signal_info info = {.signo = SIGCHLD,
                               .code = code,
                               .pid = t->tid,
                               .uid = t->uid,
                               .status = (int32_t)(code == CLD_EXITED || code == CLD_TRAPPED
                                                       ? status >> 8
                                                       : status & 0x7F)};

    t->report = status;
    list_remove(&t->place.link);
    list_add_tail(&tracer->tracing->reports, &t->place.link);
    if (tracer->sig && (code != CLD_TRAPPED || signal_wants_stops(tracer->sig)))
        signal_send(tracer, &info);
    __atomic_store_n(&tracer->child_changes, tracer->child_changes + 1, __ATOMIC_RELEASE);
    wake_one(&tracer->child_queue); /* it wakes others: process_wait() */
}

void ptrace_told_locked(struct tracee *t)
{
    t->report = 0;
    list_remove(&t->place.link);
    list_add_tail(&t->tracer->tracing->quiet, &t->place.link);
}

/* t, whose thread has ended, is not needed any more. Table lock held. Returns a process for the
 * caller to free without it, or NULL. */
static struct process *bury_locked(struct tracee *t)
{
    struct process *p = t->zombie ? process_zombie_shown_locked(t->zombie) : NULL;

    if (t->parked)
        t->parked->trace = NULL;
    list_remove(&t->place.link);
    tracee_free(t);
    return p;
}

static uint32_t group_of(const struct tracee *t)
{
    return t->thread ? t->thread->process->pgid : t->pgid;
}

static bool wanted(const struct process *self, const struct tracee *t, int32_t pid)
{
    if (pid > 0)
        return t->tid == (uint32_t)pid;
    return pid == -1 || group_of(t) == (pid == 0 ? self->pgid : 0u - (uint32_t)pid);
}

/* Is the report of t one that a wait with these options asks for? Stops always are, as on Linux. */
static bool asked_for(const struct tracee *t, unsigned options)
{
    return t->thread ? t->report != 0 : !t->parked && (options & WEXITED);
}

/* A walk of a list, as walk.h has it. */
struct walk {
    struct tracee_place at;
    struct process *self;
    int32_t pid;
    unsigned options;
    bool report; /* only those with a report that is asked for */
};

/* Put the place of a walk behind `where`. */
static __attribute__((noinline)) void put_after(struct list *where, struct list *at)
{
    list_add_after(where, at);
}

/* The first element of a list that fits. The lock may be dropped meanwhile, but is held with the
 * result. */
static struct tracee *search_locked(struct walk *w, struct list *list, ipl_t *ipl)
{
    struct tracee *found = NULL;
    struct list *l;

    put_after(list, &w->at.link);
    for (unsigned n = 1; !found && (l = list_next(list, &w->at.link)) != NULL; n++) {
        struct tracee *t = list_entry(l, struct tracee_place, link)->tracee;

        list_remove(&w->at.link);
        put_after(l, &w->at.link);
        if (t && wanted(w->self, t, w->pid) && (!w->report || asked_for(t, w->options)))
            found = t;
        else if (n % WALK_AT_ONCE == 0) {
            spin_unlock(&process_lock, *ipl);
            *ipl = spin_lock(&process_lock);
        }
    }
    list_remove(&w->at.link);
    return found;
}

int ptrace_wait_locked(struct process *self, int32_t pid, unsigned options, struct wait_result *r,
                       struct process **dead, ipl_t *ipl)
{
    struct walk w = {.self = self, .pid = pid, .options = options, .report = true};
    struct tracee *t = pid > 0 ? find_locked((uint32_t)pid) : NULL;

    if (!t || !asked_for(t, options))
        t = list_empty(&self->tracing->reports) ? NULL
                                                : search_locked(&w, &self->tracing->reports, ipl);
    if (!t)
        return 0;
    *r = (struct wait_result){.pid = t->tid, .status = t->report, .used = t->used};
    r->trapped = t->thread != NULL;
    r->uid = t->thread ? process_uid(t->thread->process) : t->uid;
    if (t->thread)
        r->used = threads_sums_locked(t->thread->process, NULL).used;
    if (options & WNOWAIT)
        return 1;
    if (t->thread)
        ptrace_told_locked(t);
    else
        *dead = bury_locked(t);
    return 1;
}

bool ptrace_any_locked(struct process *self, int32_t pid, ipl_t *ipl)
{
    struct walk w = {.self = self, .pid = pid};

    if (pid > 0 && find_locked((uint32_t)pid))
        return true;
    return search_locked(&w, &self->tracing->reports, ipl) ||
           search_locked(&w, &self->tracing->quiet, ipl);
}

/* ---- fork ---- */

static unsigned event_of(uint64_t flags)
{
    if (flags & CLONE_VFORK)
        return PTRACE_EVENT_VFORK;
    return (flags & 0xFF) == SIGCHLD ? PTRACE_EVENT_FORK : PTRACE_EVENT_CLONE;
}

bool ptrace_fork_begin(uint64_t flags, struct tracee **child, unsigned *event)
{
    const struct tracee *t = ptrace_self();
    unsigned e = event_of(flags);
    uint32_t options = __atomic_load_n(&t->options, __ATOMIC_RELAXED);

    *child = NULL;
    *event = !(flags & CLONE_UNTRACED) && (options & PTRACE_O_EVENT(e)) ? e : 0;
    if (!*event && !(flags & CLONE_PTRACE))
        return true;
    *child = tracee_alloc();
    return *child != NULL;
}

void ptrace_fork_end(struct tracee *child, struct uthread *u)
{
    const struct signal_info stop = {.signo = SIGSTOP, .code = SI_KERNEL};
    const struct tracee *t = ptrace_self();
    struct tracing *none = NULL;
    ipl_t ipl = spin_lock(&process_lock);

    if (t->tracer &&
        attach_locked(u, t->tracer, &(struct manner){t->seized, t->options}, &child, &none) == 0) {
        if (t->seized) {
            __atomic_store_n(&u->trace->trap, true, __ATOMIC_SEQ_CST);
            __atomic_fetch_or(&u->thread->hw.syscall_exit, EXIT_SIGNAL, __ATOMIC_SEQ_CST);
        } else {
            signal_send_thread(u->process, u, &stop);
        }
    }
    spin_unlock(&process_lock, ipl);
    tracee_free(child);
}

void ptrace_fork_cancel(struct tracee *child) { tracee_free(child); }

/* ---- the end of a thread ---- */

/* The thread of t has ended, or t goes to somebody else: it is in no list, and has no thread. */
static void part_locked(struct tracee *t, struct uthread *u, const struct process *p)
{
    struct process *tracer = t->tracer;

    if (t->thread && tracer)
        unlink_locked(t);
    list_remove(&t->place.link);
    if (u == uthread_self()) /* another one is gone, and was asked when it went */
        t->used = thread_cpu_time(thread_self());
    t->tracer = tracer;
    t->thread = t->parked = NULL;
    t->pgid = p->pgid;
    t->uid = process_uid(p);
}

/* u, of p, has ended with this status: tell its tracer, if `tell`. zombie: p, if it is to be kept
 * from its parent meanwhile. False: nobody was told. Table lock held. */
static bool end_locked(struct uthread *u, struct process *p, uint32_t status, bool tell,
                       struct process *zombie)
{
    struct tracee *t = u->trace;

    part_locked(t, u, p);
    u->trace = NULL;
    if (!t->tracer || !tell || signal_is_ignored(t->tracer->sig, SIGCHLD)) {
        tracee_free(t);
        return false;
    }
    t->zombie = zombie;
    list_add_tail(&t->tracer->tracing->quiet, &t->place.link);
    ptrace_report_locked(t, status, status & 0x7F ? CLD_KILLED : CLD_EXITED);
    return true;
}

/* The end of the first thread is reported with that of the process. u may be another than the one
 * that the process began with, if that has called exec, and is freed when it has left; the slot of
 * the first is free then, and stays for as long as the process. */
static void park_locked(struct uthread *u, struct process *p)
{
    struct tracee *t = u->trace;

    if (!t->tracer) {
        (void)end_locked(u, p, 0, false, NULL);
        return;
    }
    part_locked(t, u, p);
    u->trace = NULL;
    p->sig->first.trace = t;
    t->parked = &p->sig->first;
    list_add_tail(&t->tracer->tracing->quiet, &t->place.link);
}

void ptrace_thread_end(uint32_t status)
{
    struct uthread *u = uthread_self();
    struct process *p = u->process;
    ipl_t ipl = spin_lock(&process_lock);

    if (u->tid == p->pid)
        park_locked(u, p);
    else
        (void)end_locked(u, p, status, true, NULL);
    spin_unlock(&process_lock, ipl);
}

bool ptrace_process_end_locked(struct process *p, uint32_t status)
{
    struct uthread *u = uthread_self(), *first = u->tid == p->pid ? u : &p->sig->first;
    struct process *tracer = first->trace ? first->trace->tracer : NULL;
    bool kept = false;

    if (u != first && u->trace)
        (void)end_locked(u, p, status, true, NULL);
    if (first->trace)
        kept = end_locked(first, p, status, tracer != p->parent, p->parent ? p : NULL);
    return kept && p->parent;
}

void ptrace_exec_number(struct process *p)
{
    struct uthread *u = uthread_self(), *first = &p->sig->first;
    ipl_t ipl = spin_lock(&process_lock);

    if (u != first && first->trace)
        (void)end_locked(first, p, 0, false, NULL);
    if (u->trace)
        u->trace->tid = u->tid;
    spin_unlock(&process_lock, ipl);
}

/* ---- the end of a tracer ---- */

#define LET_GO_AT_ONCE 2u /* up to 900 instructions each: a signal, a wake-up */

static void let_go_locked(struct tracee *t)
{
    const struct signal_info kill = {.signo = SIGKILL, .code = SI_KERNEL};
    struct process *p = t->thread->process;
    bool end = (t->options & PTRACE_O_EXITKILL) != 0;

    if (t->stop)
        go_on_locked(t, TRACE_CONT,
                     ptrace_is_step(t->stop->signal, &t->stop->info) ? 0 : t->stop->signal);
    else
        thread_interrupt(t->thread->thread); /* it may listen */
    unlink_locked(t);
    if (end)
        signal_send(p, &kill);
}

void ptrace_tracer_end(struct process *p)
{
    struct process *dead[LET_GO_AT_ONCE];
    unsigned n;

    do {
        ipl_t ipl = spin_lock(&process_lock);

        for (n = 0; n < LET_GO_AT_ONCE; n++) {
            struct list *l = list_first(&p->tracing->quiet);
            struct tracee *t;

            l = l ? l : list_first(&p->tracing->reports);
            if (!l)
                break;
            t = list_entry(l, struct tracee_place, link)->tracee;
            dead[n] = NULL;
            if (t->thread)
                let_go_locked(t);
            else
                dead[n] = bury_locked(t);
        }
        spin_unlock(&process_lock, ipl);
        for (unsigned k = 0; k < n; k++)
            if (dead[k])
                process_free(dead[k]);
    } while (n);
    tracing_free(p->tracing);
    p->tracing = NULL;
}

void ptrace_release(void)
{
    struct uthread *u = uthread_self();
    struct tracee *t = NULL;
    ipl_t ipl = spin_lock(&process_lock);

    if (u->trace && !u->trace->tracer) {
        t = u->trace;
        u->trace = NULL;
    }
    spin_unlock(&process_lock, ipl);
    tracee_free(t);
}
