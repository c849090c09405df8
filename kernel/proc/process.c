/*
 * The process table: pids, the links between processes, and finding processes.
 *
 * One lock, process_lock (RANK_PROC, IPL_ASTDEL), protects the table and every link between
 * processes. Walks drop it after each portion (walk.h). Signals are sent under it, because it keeps
 * the target and its threads in existence. Pids ascend and wrap, so that a number is not used again
 * soon. A process uses up to three numbers: its own, its group's and its session's, whose first
 * processes may have ended (numbers.c), and the terminal uses one. There are at least four numbers
 * for each process that there can be (process_limit), so one is always free.
 */
#include "kernel/proc/process.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/groups.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/quota/quota.h"
#include "mm/phys/failure.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "sysman/params.h"

#define PER_BUCKET 8u /* numbers; as those in use ascend, a chain has some two processes at most */

#define PAGES_EACH   16u /* a process takes some 12 pages, with stack and page tables */
#define LIMIT_LEAST  2048u
#define LIMIT_MOST   32767u
#define NUMBERS_EACH 4u

_Static_assert(NUMBERS_EACH *(LIMIT_MOST + 1) <= NUMBERS_MOST, "a number is always left");

uint32_t process_limit;
struct spinlock process_lock = SPINLOCK_INIT("process table", RANK_PROC, IPL_ASTDEL);
static struct list all = LIST_INIT(all); /* protected by process_lock */
static struct list *buckets;             /* likewise */
static uint32_t nbuckets;                /* constant after boot */
static uint32_t processes; /* atomic: number of processes and of threads beside their first */

void process_table_boot(uint64_t npages)
{
    int64_t limit = sysparam(SYSPARAM_MAXPROCESSCNT);
    uint32_t numbers = NUMBERS_LEAST;
    uint64_t bytes;
    char *p;

    if (limit < 0)
        limit = (int64_t)MIN(MAX(npages / PAGES_EACH, LIMIT_LEAST), LIMIT_MOST);
    process_limit = (uint32_t)limit;
    while (numbers < NUMBERS_EACH * process_limit)
        numbers *= 2;
    nbuckets = numbers / PER_BUCKET;
    bytes = numbers * (sizeof(uint32_t) + sizeof(struct group)) + nbuckets * sizeof(*buckets);
    p = kseg_page(page_boot_alloc((bytes + PAGE_MASK) >> PAGE_SHIFT));
    memset(p, 0, bytes);
    buckets = (struct list *)p;
    p += nbuckets * sizeof(*buckets);
    groups_boot((struct group *)p);
    numbers_boot((uint32_t *)(p + numbers * sizeof(struct group)), numbers);
}

struct process *process_find_locked(uint32_t pid)
{
    struct list *head = &buckets[pid & (nbuckets - 1)];
    struct process *p;

    if (!head->next)
        return NULL;
    list_for_each_entry(p, head, hash) {
        if (p->pid == pid)
            return p;
    }
    return NULL;
}

struct process *process_next_locked(const struct process *p)
{
    const struct list *l = &p->all.link;

    for (unsigned n = 0; n < WALK_AT_ONCE && (l = list_next(&all, l)) != NULL; n++)
        if (list_entry(l, struct process_place, link)->process)
            return list_entry(l, struct process_place, link)->process;
    return NULL;
}

void process_walk_all_locked(struct process_walk *w, ipl_t ipl)
{
    process_walk_begin_locked(w, &all, ipl);
}

/* killable: a walk of a caller that is to end stops. */
static void visit(uint32_t pgid, enum process_visit (*fn)(struct process *p, void *arg), void *arg,
                  bool killable)
{
    enum process_visit then = PROCESS_NEXT;
    ipl_t ipl = spin_lock(&process_lock);
    struct list *list = pgid ? group_members(pgid) : &all;
    struct process_walk w;
    struct process *p;

    if (!list) {
        spin_unlock(&process_lock, ipl);
        return;
    }
    process_walk_begin_locked(&w, list, ipl);
    while ((p = process_walk_next(&w)) != NULL) {
        then = killable && thread_killed() ? PROCESS_STOP : fn(p, arg);
        if (then == PROCESS_STOP) {
            process_walk_end_locked(&w);
            break;
        }
        if (then == PROCESS_PAUSE)
            process_walk_pause(&w);
    }
    spin_unlock(&process_lock, w.ipl);
}

void process_for_each(enum process_visit (*fn)(struct process *p, void *arg), void *arg)
{
    visit(0, fn, arg, false);
}

void process_for_group(uint32_t pgid, enum process_visit (*fn)(struct process *p, void *arg),
                       void *arg)
{
    visit(pgid, fn, arg, false);
}

void process_search(uint32_t pgid, enum process_visit (*fn)(struct process *p, void *arg),
                    void *arg)
{
    visit(pgid, fn, arg, true);
}

/* -EAGAIN: as POSIX specifies for fork at the system's limit, and at the user's. */
int process_number_charge(struct account *a)
{
    if (!rlimit_may_fork() || !account_charge(a, QUOTA_PROCESSES, 1))
        return -EAGAIN;
    if (__atomic_add_fetch(&processes, 1, __ATOMIC_RELAXED) <= process_limit &&
        !failure_inject(MEGA_ALLOC_PROCESS))
        return 0;
    process_number_release(a);
    return -EAGAIN;
}

void process_number_release(struct account *a)
{
    __atomic_fetch_sub(&processes, 1, __ATOMIC_RELAXED);
    account_release(a, QUOTA_PROCESSES, 1);
}

struct process *process_alloc(int *err)
{
    struct account *a = account_self();
    struct process *p;

    *err = process_number_charge(a);
    if (*err)
        return NULL;
    p = npp_alloc(sizeof(*p));
    if (!p) {
        *err = -ENOMEM;
        process_number_release(a);
        return NULL;
    }
    memset(p, 0, offsetof(struct process, limits));
    account_ref(a);
    p->account = a;
    list_init(&p->threads);
    list_init(&p->children);
    list_init(&p->zombies);
    list_init(&p->sibling.link);
    list_init(&p->all.link);
    p->sibling.process = p->all.process = p->fellow.process = p;
    list_init(&p->hash);
    kin_init(&p->kin);
    sem_undos_init(&p->sem_undos);
    wait_queue_init(&p->child_queue, "children");
    mutex_init(&p->settings_mutex, "process settings", MUTEX_PROCESS);
    return p;
}

void process_free(struct process *p)
{
    process_number_release(p->account);
    account_unref(p->account);
    program_path_unref(p->program); /* of a child that never ran; others gave it back */
    npp_free(p, sizeof(*p));
}

/* ---- threads ---- */

void process_add_first(struct process *p, struct thread *t)
{
    struct uthread *u = &p->sig->first;

    u->thread = t;
    u->process = p;
    u->place.user = u;
    list_add_tail(&p->threads, &u->place.link);
    p->nthreads = 1;
    p->alone = true;
    t->process = p;
    t->user = u;
    if (!fdtable_shared(p->files))
        p->files->owner = t;
    t->account = p->account;
}

struct file_table *process_change_files(struct process *p, struct file_table *files)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct file_table *before = p->files;

    __atomic_store_n(&p->files, files, __ATOMIC_RELAXED);
    spin_unlock(&process_lock, ipl);
    return before;
}

struct uthread *process_first_thread_locked(const struct process *p)
{
    return uthread_next_locked(p, &p->threads);
}

struct cpu_time process_cpu_time(const struct process *p)
{
    struct cpu_time sum;

    if (process_alone(p)) {
        sum = p->ended;
        cpu_time_add(&sum, thread_cpu_time(thread_self()));
        return sum;
    }
    return threads_sums_self().used;
}

struct cpu_time process_children_time(const struct process *p)
{
    return (struct cpu_time){.user_ns = __atomic_load_n(&p->waited.user_ns, __ATOMIC_RELAXED),
                             .system_ns = __atomic_load_n(&p->waited.system_ns, __ATOMIC_RELAXED)};
}

/* Give p numbers, of its own group and session or of maker's, and make it known. */
static inline __attribute__((always_inline)) void enter_locked(struct process *p,
                                                               const struct process *maker)
{
    struct list *bucket;

    p->pid = p->sig->first.tid = number_allocate();
    p->start_ns = clock_ns();
    p->pgid = maker ? maker->pgid : p->pid;
    p->sid = maker ? maker->sid : p->pid;
    p->terminal = maker ? maker->terminal : 0;
    number_use(p->pgid);
    number_use(p->sid);
    group_enter(p->pgid, p->sid, &p->fellow, true);
    bucket = &buckets[p->pid & (nbuckets - 1)];
    if (!bucket->next)
        list_init(bucket);
    list_add_tail(bucket, &p->hash);
    list_add_tail(&all, &p->all.link);
}

void process_enter(struct process *p, struct process *maker, bool sibling)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct process *parent = unlikely(sibling) ? maker->parent : maker;

    enter_locked(p, maker);
    p->parent = parent;
    p->ppid = 1; /* without a parent, but for the first process, which has 0 */
    if (!maker)
        p->ppid = 0;
    if (parent) {
        p->ppid = parent->pid;
        list_add_tail(&parent->children, &p->sibling.link);
    }
    spin_unlock(&process_lock, ipl);
}

void process_enter_created(struct process *p, struct process *owner)
{
    ipl_t ipl = spin_lock(&process_lock);

    enter_locked(p, owner);
    p->ppid = 1;
    kin_enter_locked(p, owner);
    spin_unlock(&process_lock, ipl);
}

void process_leave_locked(struct process *p)
{
    list_remove(&p->all.link);
    list_remove(&p->hash);
    group_leave(p->pgid, &p->fellow);
    number_release(p->pgid);
    number_release(p->sid);
    number_release(p->pid);
}

void process_set_group_locked(struct process *p, uint32_t pgid)
{
    number_use(pgid);
    group_leave(p->pgid, &p->fellow);
    number_release(p->pgid);
    p->pgid = pgid;
    group_enter(pgid, p->sid, &p->fellow, false);
}

void process_set_session_locked(struct process *p)
{
    number_use(p->pid);
    number_release(p->sid);
    p->sid = p->pid;
    p->terminal = 0; /* a new session has none */
    process_set_group_locked(p, p->pid);
}

/* ---- kill ---- */

struct kill_round {
    const struct process *self;
    struct signal_info info;
    uint32_t group; /* 0: every process except process 1 and the sender */
    unsigned found, allowed, taken;
    bool to_self; /* the sender is one of the group and has got the signal */
};

/* May self send sig to p? NULL: the kernel sends it. */
static bool may_signal(const struct process *self, const struct process *p, int sig)
{
    uint32_t uid = process_uid(p), suid = __atomic_load_n(&p->suid, __ATOMIC_RELAXED);

    return !self || !process_euid(self) || process_euid(self) == uid || process_uid(self) == uid ||
           process_euid(self) == suid || process_uid(self) == suid ||
           (sig == SIGCONT && self->sid == p->sid);
}

static void kill_one_locked(struct process *p, struct kill_round *k)
{
    k->found++;
    if (!may_signal(k->self, p, k->info.signo))
        return;
    k->allowed++;
    if (!k->info.signo || p->state != PROCESS_LIVE || !p->sig)
        return;
    if (k->self) /* if it is not queued, it is pending at least */
        (void)signal_send_user(p, NULL, &k->info);
    else
        k->taken += signal_send(p, &k->info);
}

/* A child that is created meanwhile is visited too: its place is behind that of its parent, so it
 * is behind the walk, too, unless its parent had got the signal before it forked. That is so in a
 * group too, whose new processes are the last. */
static enum process_visit kill_visit(struct process *p, void *arg)
{
    struct kill_round *k = arg;

    if (!k->group && (p == k->self || p->pid == 1))
        return PROCESS_NEXT;
    if (k->self && !k->to_self && thread_killed())
        return PROCESS_STOP; /* somebody has killed the sender */
    k->to_self |= p == k->self;
    kill_one_locked(p, k);
    return PROCESS_PAUSE; /* a signal takes some 500 instructions */
}

/* A process may always signal itself, and a process that calls this is live, and stays so. */
static int kill_self(struct process *self, const struct signal_info *info)
{
    if (info->signo)
        (void)signal_send_user(self, NULL, info);
    return 0;
}

int process_kill(int32_t pid, int sig, int code)
{
    struct process *self = process_self();
    struct kill_round k = {.self = self, .info = {.signo = sig, .code = code}};

    if (sig < 0 || sig > NSIG)
        return -EINVAL;
    if (self) {
        k.info.pid = self->pid;
        k.info.uid = process_uid(self);
        if (pid == (int32_t)self->pid)
            return kill_self(self, &k.info);
    }
    if (pid > 0) {
        ipl_t ipl = spin_lock(&process_lock);
        struct process *p = process_find_locked((uint32_t)pid);
        const struct uthread *u = p ? NULL : thread_find_locked((uint32_t)pid);

        if (p || u)
            kill_one_locked(p ? p : u->process, &k);
        spin_unlock(&process_lock, ipl);
    } else {
        if (pid == 0 && !self)
            return -ESRCH;
        k.group = pid == -1 ? 0 : pid == 0 ? self->pgid : 0u - (uint32_t)pid;
        process_for_group(k.group, kill_visit, &k);
    }
    return k.allowed ? 0 : k.found ? -EPERM : -ESRCH;
}

int process_kill_thread(uint32_t tgid, uint32_t tid, int sig)
{
    struct process *self = process_self(), *p;
    struct signal_info info = {
        .signo = sig, .code = SI_TKILL, .pid = self->pid, .uid = process_uid(self)};
    struct uthread *u;
    int err = -ESRCH;
    ipl_t ipl;

    if (sig < 0 || sig > NSIG)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    u = thread_find_locked(tid);
    p = u ? u->process : process_find_locked(tid); /* a zombie, or its first thread has ended */
    if (p && (!tgid || p->pid == tgid)) {
        err = may_signal(self, p, sig) ? 0 : -EPERM;
        if (!err && u && sig)
            (void)signal_send_user(p, u, &info);
    }
    spin_unlock(&process_lock, ipl);
    return err;
}

/* Send a signal from the current process to p, or only to its thread u. */
static int queue_signal_locked(struct process *p, struct uthread *u, const struct signal_info *info)
{
    if (info->signo < 0 || info->signo > NSIG)
        return -EINVAL;
    if (!may_signal(process_self(), p, info->signo))
        return -EPERM;
    if (!info->signo || p->state != PROCESS_LIVE || !p->sig)
        return 0;
    return signal_send_user(p, u, info);
}

int process_queue_signal(uint32_t pid, uint32_t tid, const struct signal_info *info)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct process *p = process_find_locked(pid);
    struct uthread *u = tid ? thread_find_locked(tid) : NULL;
    int err = -ESRCH;

    if (p && (!tid || (u && u->process == p)))
        err = queue_signal_locked(p, u, info);
    spin_unlock(&process_lock, ipl);
    return err;
}

int process_signal_started(uint32_t pid, uint64_t start_ns, const struct signal_info *info)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct process *p = process_find_locked(pid);
    int err = p && p->start_ns == start_ns ? queue_signal_locked(p, NULL, info) : -ESRCH;

    spin_unlock(&process_lock, ipl);
    return err;
}

bool process_kill_group(uint32_t pgid, int sig, int code)
{
    struct kill_round k = {.info = {.signo = sig, .code = code}, .group = pgid};

    process_for_group(pgid, kill_visit, &k);
    return k.taken != 0;
}

const char *process_name_text(const struct process *p, char text[PROCESS_NAME_BYTES])
{
    _Static_assert(sizeof(p->name) == PROCESS_NAME_BYTES, "the longest name fits");

    str_copy(text, p->name, PROCESS_NAME_BYTES);
    for (char *c = text; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    return text;
}
