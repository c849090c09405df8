/*
 * Threads of a process (threads.h).
 *
 * A thread is in its process's list from process_thread_create to leave(). While it is, its struct
 * uthread and its struct thread exist; so whoever holds the table lock or the signal lock may
 * interrupt it. It uses its process's table of descriptors and fs_context as one user each.
 *
 * Leaving. A thread first says, under both locks, that it leaves: it takes no signals any more, and
 * if all threads have said so it is the last one. The last one waits until the others are gone from
 * the list, and ends the process. Another one gives its shares back, leaves the address space, and
 * takes itself off the list; after that it does not access the process, which may be freed.
 *
 * The end of the whole process (exit_group, a fatal signal) is decided once (signal_end_locked): no
 * thread is created after that, the first few threads are marked, and each thread that leaves makes
 * sure that somebody marks all. In the last hold of the lock before it leaves, it looks again:
 *
 *   thread 1: looks, nothing to do     sender: marks thread 1 and another, both about to leave
 *             takes itself off                 (thread 1 would be gone, and nobody mark the rest)
 *
 * exec by one of several threads marks the others fatal in the same way, without `ending`, and
 * waits until it is alone. A fatal signal during that wait ends the process; another exec finds
 * itself marked.
 *
 * Numbers: a thread has one of the numbers of processes (numbers.h), and is charged to its user as
 * a process is, so both together are bounded by process_limit and USER_PROCESSES. Threads are found
 * in a hash table of their own, but for those whose number is their process's.
 */
#include "kernel/proc/threads.h"

#include "arch/alpha/hw/switch.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/event/event.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/posix_timer.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/ptrace.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/group.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool.h"
#include "mm/pt/pt_system.h"

/* With numbers below NUMBERS_MOST a chain has up to 64 threads, however they are chosen. */
#define BUCKETS 2048u

static struct list buckets[BUCKETS]; /* process table lock */

static struct list *bucket_of(uint32_t tid)
{
    struct list *b = &buckets[tid % BUCKETS];

    if (!b->next)
        list_init(b);
    return b;
}

struct uthread *thread_find_locked(uint32_t tid)
{
    struct process *p = process_find_locked(tid);
    struct uthread *u;

    if (p) { /* its first thread, or the one that has that number by exec, if it is there */
        u = process_first_thread_locked(p);
        return u && u->tid == tid ? u : NULL;
    }
    list_for_each_entry(u, bucket_of(tid), hash) {
        if (u->tid == tid)
            return u;
    }
    return NULL;
}

/* ---- walks by threads of the process ---- */

static ipl_t lock_both(struct process *p)
{
    ipl_t ipl = spin_lock(&process_lock);

    spin_lock(&p->sig->lock); /* the IPL to restore is the one below both */
    return ipl;
}

static void unlock_both(struct process *p, ipl_t ipl)
{
    spin_unlock(&p->sig->lock, IPL_ASTDEL);
    spin_unlock(&process_lock, ipl);
}

void thread_sums_add(struct thread_sums *sum, const struct thread *t)
{
    cpu_time_add(&sum->used, thread_cpu_time(t));
    sum->switches += __atomic_load_n(&t->switches, __ATOMIC_RELAXED);
    sum->unaligned += __atomic_load_n(&t->unaligned, __ATOMIC_RELAXED);
    sum->disk_requests += __atomic_load_n(&t->disk_requests, __ATOMIC_RELAXED);
}

static bool add_one(struct uthread *u, void *arg)
{
    thread_sums_add(arg, u->thread);
    return false;
}

/* Call fn for each thread of p, the current process or one that is pinned, with both locks held,
 * which are dropped after AT_ONCE threads that fn has done something about, or LOOK_AT_ONCE others.
 * New threads are met. */
#define AT_ONCE      2u
#define LOOK_AT_ONCE 16u

static void for_each(struct process *p, bool (*fn)(struct uthread *u, void *arg), void *arg)
{
    struct uthread_place at = {.user = NULL};
    unsigned done = 0, seen = 0;
    ipl_t ipl = lock_both(p);
    struct list *l;

    list_add_head(&p->threads, &at.link);
    while ((l = list_next(&p->threads, &at.link)) != NULL) {
        struct uthread *u = list_entry(l, struct uthread_place, link)->user;

        list_remove(&at.link);
        list_add_after(l, &at.link);
        done += u && fn(u, arg);
        if (done == AT_ONCE || ++seen == LOOK_AT_ONCE) {
            unlock_both(p, ipl);
            ipl = lock_both(p);
            done = seen = 0;
            if (fn == add_one && thread_killed())
                break; /* nobody will see the sums */
        }
    }
    list_remove(&at.link);
    unlock_both(p, ipl);
}

static bool seek_one(struct uthread *u, void *arg)
{
    const struct sighand *s = arg;
    bool can = u != uthread_self() && (s->pending.set & (u->waiting | ~u->blocked));

    if (can)
        thread_interrupt(u->thread);
    return can;
}

void threads_seek(struct process *p)
{
    __atomic_store_n(&p->sig->seeking, false, __ATOMIC_SEQ_CST); /* then look */
    for_each(p, seek_one, p->sig);
}

static bool interrupt_one(struct uthread *u, void *arg)
{
    (void)arg;
    if (u == uthread_self())
        return false;
    thread_interrupt(u->thread);
    return true;
}

void threads_interrupt_others(struct process *p) { for_each(p, interrupt_one, NULL); }

static bool mark_one(struct uthread *u, void *arg)
{
    (void)arg;
    if (u == uthread_self() || thread_fatal_pending(u->thread))
        return false;
    thread_interrupt_fatal(u->thread);
    return true;
}

/* The thread that may be waiting for the others to leave, or that is alone without knowing it yet,
 * is to look. Both locks held. */
static void wake_last_locked(struct process *p)
{
    struct uthread *rest = process_first_thread_locked(p);

    if (p->nthreads != 1 || p->walkers)
        return;
    __atomic_fetch_or(&rest->thread->hw.syscall_exit, EXIT_SIGNAL, __ATOMIC_SEQ_CST);
    wake_one(&p->left);
}

/* ---- sums ---- */

struct thread_sums threads_sums_locked(const struct process *p, bool *more)
{
    struct thread_sums sum = {.used = p->ended, .disk_requests = p->disk_requests};
    const struct list *l = &p->threads;

    for (unsigned n = 0; n < THREADS_SUMMED && (l = list_next(&p->threads, l)) != NULL; n++) {
        struct uthread *u = list_entry(l, struct uthread_place, link)->user;

        if (u)
            thread_sums_add(&sum, u->thread);
    }
    if (more)
        *more = l != NULL && list_next(&p->threads, l) != NULL;
    return sum;
}

/* A thread that leaves meanwhile may be counted twice, or not at all: what it used is part of
 * `ended`, which is read first, from then on. */
struct thread_sums threads_sums_self(void)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);
    bool more;
    struct thread_sums sum = threads_sums_locked(p, &more);

    if (more)
        sum = (struct thread_sums){.used = p->ended, .disk_requests = p->disk_requests};
    spin_unlock(&process_lock, ipl);
    if (more)
        for_each(p, add_one, &sum);
    return sum;
}

bool threads_sums_of(uint32_t pid, uint64_t start_ns, struct thread_sums *sum)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct process *p = process_find_locked(pid);
    bool there = p && p->start_ns == start_ns, more = false;

    if (there)
        *sum = threads_sums_locked(p, &more);
    if (more && p->leaving < p->nthreads) {
        *sum = (struct thread_sums){.used = p->ended, .disk_requests = p->disk_requests};
        p->walkers++; /* pinned: its last thread waits */
    } else {
        more = false;
    }
    spin_unlock(&process_lock, ipl);
    if (!more)
        return there;
    for_each(p, add_one, sum);
    ipl = lock_both(p);
    if (--p->walkers == 0)
        wake_last_locked(p);
    unlock_both(p, ipl);
    return true;
}

/* ---- creation ---- */

static void thread_begin(void *arg)
{
    if (arg) /* CLONE_CHILD_SETTID; as on Linux, a bad address is ignored */
        (void)copyout_u32((vaddr_t)arg, uthread_self()->tid);
    user_enter();
}

/* Enter u, which has not run, among the threads of p. False: the process ends. */
static bool enter(struct process *p, struct uthread *u)
{
    struct sighand *s = p->sig;
    ipl_t ipl = lock_both(p);
    bool may = !s->ending && !s->exec_by;

    if (may) {
        u->tid = number_allocate();
        list_add_tail(bucket_of(u->tid), &u->hash);
        u->place.user = u;
        list_add_tail(&p->threads, &u->place.link);
        p->nthreads++;
        if (p->alone) /* others read it: it is not written again */
            p->alone = false;
        if (s->stopped) /* by another thread: this one is to stop before it runs */
            u->thread->hw.syscall_exit |= EXIT_SIGNAL;
    }
    unlock_both(p, ipl);
    return may;
}

static void give_shares_back(struct process *p)
{
    fdtable_release(p->files);
    (void)fs_release(p->fs); /* the last thread has a share still */
}

/* Let the process share the CPUs as one: its group is inside its user's. The threads of a process
   that has changed its user since are in that one's group. False: memory is short. */
static bool group_for(struct process *p, struct thread *t)
{
    struct sched_group *user;
    ipl_t ipl;

    if (!p->group) { /* then the current thread is the only one */
        struct sched_group *g = npp_alloc(sizeof(*g));

        if (!g)
            return false;
        ipl = spin_lock(&process_lock);
        sched_group_init(g, creds_group_locked(p->account));
        p->group = g;
        spin_unlock(&process_lock, ipl);
        thread_set_group(thread_self(), g);
    }
    ipl = spin_lock(&process_lock);
    user = creds_group_locked(p->account);
    spin_unlock(&process_lock, ipl);
    thread_set_group(t, p->group->top == user ? p->group : user);
    return true;
}

/* The current thread leaves its process's group: for its user's. */
static void leave_group(struct process *p)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct sched_group *g = creds_group_locked(p->account);

    spin_unlock(&process_lock, ipl);
    thread_set_group(thread_self(), g);
}

void threads_end_group(struct process *p)
{
    if (likely(!p->group))
        return;
    leave_group(p);
    npp_free(p->group, sizeof(*p->group));
    p->group = NULL;
}

/* A thread with its structures, not in the list yet. NULL with *err. */
static struct uthread *build(struct process *p, void *arg, int *err)
{
    struct account *a = account_self();
    struct uthread *u;

    *err = process_number_charge(a);
    if (*err)
        return NULL;
    *err = -ENOMEM;
    u = uthread_create();
    if (u) {
        u->process = p;
        u->charged = a;
        u->thread = thread_create(thread_self()->name, thread_begin, arg, PRIO_NORMAL);
        if (u->thread && process_fs_sharable(p) && group_for(p, u->thread))
            return u;
        if (u->thread)
            thread_discard(u->thread);
        uthread_free(u);
    }
    process_number_release(a);
    return NULL;
}

long process_thread_create(uint64_t flags, vaddr_t usp, vaddr_t parent_tid, vaddr_t child_tid,
                           uint64_t tls)
{
    struct process *p = process_self();
    struct tracee *trace = NULL;
    unsigned event = 0;
    struct uthread *u;
    struct thread *t;
    uint32_t tid;
    int err;

    if (unlikely(ptrace_self() != NULL) && !ptrace_fork_begin(flags, &trace, &event))
        return -ENOMEM;
    u = build(p, flags & CLONE_CHILD_SETTID ? (void *)child_tid : NULL, &err);
    if (!u) {
        ptrace_fork_cancel(trace);
        return err;
    }
    t = u->thread;
    fork_registers(t, usp, flags, tls);
    t->affinity = thread_self()->affinity;
    t->process = p;
    t->user = u;
    t->account = p->account;
    if (flags & CLONE_CHILD_CLEARTID)
        u->clear_tid = child_tid;
    if (process_alone(p))
        wait_queue_init(&p->left, "threads");
    fdtable_share(p->files);
    fs_share(p->fs);
    thread_set_root(t, p->aspace->pt.root.n, &p->aspace->pt.loaded);
    if (!enter(p, u)) {
        give_shares_back(p);
        thread_discard(t);
        process_number_release(u->charged);
        uthread_free(u);
        ptrace_fork_cancel(trace);
        return -EAGAIN;
    }
    tid = u->tid;
    if (unlikely(trace != NULL))
        ptrace_fork_end(trace, u);
    if (flags & CLONE_PARENT_SETTID)
        (void)copyout_u32(parent_tid, tid); /* probed by process_clone */
    thread_start(t);
    if (unlikely(event))
        ptrace_event(event, tid);
    return tid;
}

/* ---- the end ---- */

/* Undertake to mark the other threads, if the process ends and nobody has. */
static bool undertake_locked(struct sighand *s)
{
    bool mine = s->ending && !s->marking;

    s->marking |= mine;
    return mine;
}

/* Say that the current thread leaves. True: it is the last one. */
static bool leave_begin(struct process *p, uint32_t status)
{
    struct sighand *s = p->sig;
    struct uthread *u = uthread_self();
    ipl_t ipl = lock_both(p);
    bool last = ++p->leaving == p->nthreads, mark = undertake_locked(s);

    u->blocked = ~UINT64_C(0);
    u->waiting = 0;
    if (s->taker == u)
        s->taker = NULL;
    if (u->tid == p->pid)
        s->first_status = status;
    unlock_both(p, ipl);
    if (mark)
        for_each(p, mark_one, NULL);
    return last;
}

void thread_forget(struct uthread *u, const struct sighand *s)
{
    if (likely(u == &s->first)) /* s may be gone, and is not accessed */
        return;
    process_number_release(u->charged);
    uthread_free(u);
}

/* Take the current thread, which is not the last, off the list. False: there is something to do for
 * the others first. */
static bool leave(struct process *p, uint32_t status)
{
    struct uthread *u = uthread_self();
    struct thread *t = thread_self();
    struct sighand *s = p->sig;
    ipl_t ipl = lock_both(p);
    bool mark = undertake_locked(s), seek = s->seeking;
    bool aimed = u->timers.next && !list_empty(&u->timers);

    bool traced = u->trace && !u->trace->parked;

    if (mark || seek || u->held || aimed || traced) {
        unlock_both(p, ipl);
        if (traced)
            ptrace_thread_end(status);
        if (aimed)
            posix_timers_forget(u);
        if (u->held)
            threads_follow_account();
        if (mark)
            for_each(p, mark_one, NULL);
        threads_seek(p);
        return false;
    }
    list_remove(&u->place.link);
    if (u->tid != p->pid) {
        list_remove(&u->hash);
        number_release(u->tid);
    }
    cpu_time_add(&p->ended, thread_cpu_time(t));
    p->disk_requests += t->disk_requests;
    thread_leave_process();
    t->account = account_system;
    p->leaving--;
    p->nthreads--;
    if (unlikely(p->events != NULL))
        event_retarget(p->events, t, process_first_thread_locked(p)->thread);
    wake_last_locked(p);
    unlock_both(p, ipl);
    thread_forget(u, s);
    return true;
}

/* The current thread leaves, while others stay. */
static void __attribute__((noreturn)) part(struct process *p, uint32_t status)
{
    threads_seek(p); /* it may be the one that was interrupted for a signal to the process */
    give_shares_back(p);
    leave_group(p);
    thread_set_root(thread_self(), system_root_pfn, NULL);
    while (!leave(p, status))
        ;
    thread_exit();
}

static bool is_alone(struct process *p)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool alone = p->nthreads == 1 && !p->walkers;

    spin_unlock(&process_lock, ipl);
    return alone;
}

/* Wait until the current thread is the only one in the list, and nobody walks the list. 0, or
 * -EINTR with WAIT_KILLABLE. */
static int wait_alone(struct process *p, unsigned flags)
{
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&p->left, &w);
        if (is_alone(p) || err)
            break;
        err = wait_block(&w, flags, WAIT_FOREVER);
        wait_finish(&w);
    }
    wait_finish(&w);
    return is_alone(p) ? 0 : err;
}

/* The current thread leaves, alone in its process or not. */
static void __attribute__((noreturn)) end_thread(struct process *p, uint32_t status)
{
    struct failure *armed;

    if (unlikely(ptrace_self() != NULL))
        ptrace_last_step();
    process_tell_end(p);
    armed = failure_disarm(); /* allocated in kernel/sys/info/control_failure.c */
    if (armed)
        npp_free(armed, sizeof(*armed));
    if (!process_alone(p)) {
        ipl_t ipl;

        if (!leave_begin(p, status))
            part(p, status);
        (void)wait_alone(p, WAIT_UNINTERRUPTIBLE);
        ipl = lock_both(p); /* and so see all that the others did */
        p->alone = true;
        status = p->sig->first_status;
        unlock_both(p, ipl);
        if (uthread_self()->held)
            threads_follow_account();
    }
    process_end(p, status);
}

void process_thread_exit(uint32_t status)
{
    struct process *p = process_self();

    if (unlikely(ptrace_self() != NULL))
        ptrace_exit(status);
    if (process_alone(p) && uthread_self()->tid != p->pid)
        status = p->sig->first_status;
    end_thread(p, status);
}

void process_exit(uint32_t status)
{
    struct process *p = process_self();

    if (unlikely(ptrace_self() != NULL))
        ptrace_exit(status);
    if (!process_alone(p)) {
        ipl_t ipl = spin_lock(&p->sig->lock);

        if (!p->sig->exec_by || p->sig->exec_by == uthread_self())
            signal_end_locked(p, status);
        signal_continue_locked(p->sig);
        spin_unlock(&p->sig->lock, ipl);
    }
    end_thread(p, status);
}

void threads_end_self(void)
{
    struct sighand *s = process_self()->sig;
    ipl_t ipl = spin_lock(&s->lock);
    bool all = s->ending;
    uint32_t status = s->end_status;

    spin_unlock(&s->lock, ipl);
    if (all)
        process_exit(status);
    process_thread_exit(0); /* another thread calls exec */
}

/* ---- exec ---- */

/* Claim the exec. False: another thread has, or the process ends. */
static bool claim(struct process *p)
{
    struct sighand *s = p->sig;
    ipl_t ipl = spin_lock(&s->lock);
    bool mine = !s->ending && !s->exec_by;

    if (mine) {
        s->exec_by = uthread_self();
        signal_continue_locked(s);
    }
    spin_unlock(&s->lock, ipl);
    return mine;
}

int threads_end_others(void)
{
    struct process *p = process_self();
    struct uthread *u = uthread_self();
    ipl_t ipl;
    int err;

    if (!process_alone(p) && !claim(p))
        return -EAGAIN;
    if (!process_alone(p))
        for_each(p, mark_one, NULL);
    err = process_alone(p) ? 0 : wait_alone(p, WAIT_KILLABLE);
    ipl = lock_both(p);
    p->sig->exec_by = NULL;
    p->alone = !err;
    if (!err && u->tid != p->pid) {
        list_remove(&u->hash);
        number_release(u->tid);
        u->tid = p->pid;
    }
    unlock_both(p, ipl);
    if (!err) {
        threads_end_group(p);
        if (unlikely(u->trace || p->sig->first.trace))
            ptrace_exec_number(p);
    }
    return err ? -EAGAIN : 0;
}

/* ---- a change of the user ---- */

/* u goes on charging the former account until it follows, and holds it until then. */
static bool tell_one(struct uthread *u, void *arg)
{
    if (u->thread->account != arg)
        return false;
    if (!u->held)
        account_ref(u->held = arg);
    __atomic_fetch_or(&u->thread->hw.syscall_exit, EXIT_SIGNAL, __ATOMIC_SEQ_CST);
    return false;
}

void threads_account_changed(struct process *p, struct account *was)
{
    if (!process_alone(p))
        for_each(p, tell_one, was);
}

void thread_follow_account_locked(struct process *p, struct uthread *u)
{
    u->thread->account = p->account;
    thread_set_group(u->thread, creds_group_locked(p->account));
}

void threads_follow_account(void)
{
    struct process *p = process_self();
    struct uthread *u = uthread_self();
    ipl_t ipl = spin_lock(&process_lock);
    struct account *held = u->held;

    thread_follow_account_locked(p, u);
    u->held = NULL;
    spin_unlock(&process_lock, ipl);
    if (held)
        account_unref(held);
}
