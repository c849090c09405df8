/*
 * The files of one process. Each record is composed from a copy made under the process table lock,
 * in constant time; what lies in the process's memory is in maps.c.
 */
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/io/tree.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/terminal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/procfs/procfs_private.h"

struct process *proc_find_locked(const struct proc_id *who)
{
    struct process *p = process_find_locked(who->pid);

    return p && p->start_ns == who->start_ns ? p : NULL;
}

static int look_into(const struct process *self, const struct process *p)
{
    if (!p)
        return -ENOENT;
    if (self->euid != 0 && (self->euid != p->uid || self->euid != p->euid || self->euid != p->suid))
        return -EACCES;
    return 0;
}

int proc_may_look_into(const struct proc_id *who)
{
    const struct process *self = process_self();
    ipl_t ipl;
    int err;

    if (proc_if_self(who))
        return look_into(self, self);
    ipl = spin_lock(&process_lock);
    err = look_into(self, proc_find_locked(who));
    spin_unlock(&process_lock, ipl);
    return err;
}

/* What `stat` and `status` show. */
struct view {
    char name[sizeof(((struct process *)0)->name)];
    char state;
    uint32_t ppid, pgid, sid, threads;
    uint32_t terminal, foreground; /* device and group; 0: none */
    uint32_t uid, euid, suid, gid, egid, sgid;
    uint32_t tracer; /* 0: none */
    int nice, cpu;
    struct cpu_time used, waited;
    uint64_t start_ns;
    uint64_t faults, vsize, vsize_peak, rss, rss_peak, locked, tables, paged_out, descriptors;
    uint64_t pending, shared_pending, blocked, ignored, caught, switches;
    vaddr_t brk_start;
    bool more_threads; /* than were added up */
};

static uint64_t load(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }

static char state_letter(const struct process *p, const struct thread *t)
{
    if (p->state == PROCESS_ZOMBIE || !t)
        return 'Z';
    switch (__atomic_load_n(&t->state, __ATOMIC_RELAXED)) {
    case THREAD_WAITING:
        break;
    case THREAD_DEAD:
        return 'Z';
    default:
        return 'R';
    }
    if (p->sig && __atomic_load_n(&p->sig->stopped, __ATOMIC_RELAXED))
        return 'T';
    return __atomic_load_n(&t->interruptible, __ATOMIC_RELAXED) == WAIT_INTERRUPTIBLE ||
                   __atomic_load_n(&t->sleeping, __ATOMIC_RELAXED)
               ? 'S'
               : 'D';
}

static void view_signals(const struct process *p, const struct uthread *u, struct view *v)
{
    const struct sighand *s = p->sig;

    if (!s)
        return;
    v->shared_pending = load(&s->pending.set);
    v->pending = u ? load(&u->pending.set) : 0;
    v->blocked = u ? load(&u->blocked) : 0;
    for (int n = 1; n < NSIG; n++) {
        vaddr_t handler = load(&signal_action(s, n)->handler);

        v->ignored |= handler == SIG_IGN ? SIGBIT(n) : 0;
        v->caught |= handler > SIG_IGN ? SIGBIT(n) : 0;
    }
}

static void view_sums(const struct thread_sums *sums, struct view *v)
{
    v->used = sums->used;
    v->switches = sums->switches;
}

/* The view of thread u, NULL: of a zombie, as that of its process or (alone) by itself. */
static void view_threads(const struct process *p, const struct uthread *u, bool alone,
                         struct view *v)
{
    struct thread_sums sums = {0};

    v->state = state_letter(p, u ? u->thread : NULL);
    v->threads = p->nthreads;
    if (alone)
        thread_sums_add(&sums, u->thread);
    else
        sums = threads_sums_locked(p, &v->more_threads);
    view_sums(&sums, v);
    view_signals(p, u, v);
    if (!u)
        return;
    v->nice = __atomic_load_n(&u->thread->nice, __ATOMIC_RELAXED);
    if (u->trace && u->trace->tracer)
        v->tracer = u->trace->tracer->pid;
    if (u->trace && u->trace->stop)
        v->state = 't';
    v->cpu = (int)__atomic_load_n(&u->thread->last_cpu, __ATOMIC_RELAXED);
}

static void view_memory(const struct aspace *as, struct view *v)
{
    v->faults = load(&as->counts.faults);
    v->vsize = load(&as->counts.vsize);
    v->vsize_peak = MAX(load(&as->counts.vsize_peak), v->vsize);
    v->rss = aspace_pages(as);
    v->paged_out = __atomic_load_n(&as->pt.paged_out, __ATOMIC_RELAXED);
    v->rss_peak = MAX(page_table_rss_peak(&as->pt), v->rss);
    v->locked = load(&as->counts.locked);
    v->tables = load(&as->pt.tables);
}

static int look(const struct proc_id *who, struct view *v)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = proc_find_locked(who);
    const struct uthread *u = p && who->tid ? thread_find_locked(who->tid) : NULL;
    struct thread_sums sums;

    memset(v, 0, sizeof(*v));
    if (who->tid && (!u || u->process != p))
        p = NULL;
    if (p) {
        str_copy(v->name, p->name, sizeof(v->name));
        v->ppid = p->ppid;
        v->pgid = p->pgid;
        v->sid = p->sid;
        v->terminal = terminal_device_locked(p);
        v->foreground = terminal_group_locked(p);
        v->uid = p->uid;
        v->euid = p->euid;
        v->suid = p->suid;
        v->gid = p->gid;
        v->egid = p->egid;
        v->sgid = p->sgid;
        v->waited = process_children_time(p);
        v->start_ns = p->start_ns;
        v->brk_start = p->brk_start;
        view_threads(p, u ? u : process_first_thread_locked(p), u != NULL, v);
        if (p->aspace)
            view_memory(p->aspace, v);
    }
    spin_unlock(&process_lock, ipl);
    if (p && v->more_threads && threads_sums_of(who->pid, who->start_ns, &sums))
        view_sums(&sums, v);
    return p ? 0 : -ENOENT;
}

#define USER_HZ   1024ul /* as times(2) counts, and AT_CLKTCK says */
#define TICKS(ns) ((ns) / (1000000000 / USER_HZ))
#define PAGE_KIB  (PAGE_SIZE / 1024)

int proc_show_stat(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct view v;
    int err = look(who, &v);

    (void)cursor;
    if (err)
        return err;
    proc_print(t, "%u (%s) %c %u %u %u %u %d 0 %lu 0 0 0 ", proc_number(who), v.name, v.state,
               v.ppid, v.pgid, v.sid, v.terminal, v.foreground ? (int)v.foreground : -1, v.faults);
    proc_print(t, "%lu %lu %lu %lu %d %d %u 0 %lu %lu %lu %lu ", TICKS(v.used.user_ns),
               TICKS(v.used.system_ns), TICKS(v.waited.user_ns), TICKS(v.waited.system_ns),
               20 + v.nice, v.nice, v.threads, TICKS(v.start_ns), v.vsize, v.rss,
               UINT64_C(0x7FFFFFFFFFFFFFFF));
    /* Addresses of text and stack, and the registers, are not told. */
    proc_print(t, "0 0 0 0 0 %lu %lu %lu %lu 0 0 0 %d %d 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
               v.pending & 0x7FFFFFFF, v.blocked & 0x7FFFFFFF, v.ignored & 0x7FFFFFFF,
               v.caught & 0x7FFFFFFF, 17, v.cpu);
    return 0;
}

static int show_statm(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct view v;
    int err = look(who, &v);

    (void)cursor;
    if (!err)
        proc_print(t, "%lu %lu 0 0 0 %lu 0\n", v.vsize / PAGE_SIZE, v.rss, v.vsize / PAGE_SIZE);
    return err;
}

static const char *state_name(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'D':
        return "disk sleep";
    case 'T':
        return "stopped";
    case 't':
        return "tracing stop";
    default:
        return "zombie";
    }
}

int proc_show_status(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct view v;
    int err = look(who, &v);

    (void)cursor;
    if (err)
        return err;
    proc_print(t, "Name:\t%s\nState:\t%c (%s)\nTgid:\t%u\nPid:\t%u\nPPid:\t%u\nTracerPid:\t%u\n",
               v.name, v.state, state_name(v.state), who->pid, proc_number(who), v.ppid, v.tracer);
    proc_print(t, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nGroups:\t\n", v.uid, v.euid, v.suid,
               v.euid, v.gid, v.egid, v.sgid, v.egid);
    if (v.state != 'Z')
        proc_print(t,
                   "VmPeak:\t%8lu kB\nVmSize:\t%8lu kB\nVmLck:\t%8lu kB\nVmHWM:\t%8lu kB\n"
                   "VmRSS:\t%8lu kB\nVmPTE:\t%8lu kB\nVmSwap:\t%8lu kB\n",
                   v.vsize_peak / 1024, v.vsize / 1024, v.locked * PAGE_KIB, v.rss_peak * PAGE_KIB,
                   v.rss * PAGE_KIB, v.tables * PAGE_KIB, v.paged_out * PAGE_KIB);
    proc_print(t, "Threads:\t%u\n", v.threads);
    proc_print(t,
               "SigPnd:\t%016lx\nShdPnd:\t%016lx\nSigBlk:\t%016lx\nSigIgn:\t%016lx\n"
               "SigCgt:\t%016lx\n",
               v.pending, v.shared_pending, v.blocked, v.ignored, v.caught);
    proc_print(t, "voluntary_ctxt_switches:\t%lu\nnonvoluntary_ctxt_switches:\t0\n", v.switches);
    return 0;
}

int proc_show_comm(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct view v;
    int err = look(who, &v);

    (void)cursor;
    if (!err)
        proc_print(t, "%s\n", v.name);
    return err;
}

/* ---- links ---- */

/* A reference to the process's working directory, or its root; NULL with *err 0: the root of the
 * machine. Who follows it gets past the directories above, so the right to trace is asked for. */
static struct inode *directory_of(const struct proc_id *who, bool root, int *err)
{
    struct inode *dir = NULL;
    ipl_t ipl;

    ipl = spin_lock(&process_lock);
    struct process *p = proc_find_locked(who);
    *err = !p || !p->fs ? -ENOENT : ptrace_access_locked(p) ? -EACCES : 0;
    if (!*err)
        dir = root ? fs_root_counted(p->fs) : fs_cwd_counted(p->fs);
    spin_unlock(&process_lock, ipl);
    return dir;
}

static int follow_directory(const struct proc_inode *i, bool root, struct inode **out)
{
    int err;
    struct inode *dir = directory_of(&i->who, root, &err);

    if (err)
        return err;
    if (!dir)
        inode_ref(inode_root);
    *out = dir ? dir : inode_root;
    return 0;
}

static int follow_cwd(const struct proc_inode *i, struct inode **out)
{
    return follow_directory(i, false, out);
}

static int follow_root(const struct proc_inode *i, struct inode **out)
{
    return follow_directory(i, true, out);
}

static long readlink_directory(const struct proc_inode *i, bool root, char *buf, size_t n)
{
    struct inode *dir;
    long r = follow_directory(i, root, &dir);

    if (r)
        return r;
    r = tree_path(dir, buf, n);
    inode_unref(dir);
    return r > 0 ? r - 1 : r;
}

static long readlink_cwd(const struct proc_inode *i, char *buf, size_t n)
{
    return readlink_directory(i, false, buf, n);
}

static long readlink_root(const struct proc_inode *i, char *buf, size_t n)
{
    return readlink_directory(i, true, buf, n);
}

static long readlink_exe(const struct proc_inode *i, char *buf, size_t n)
{
    const struct process *self = proc_if_self(&i->who);
    struct program_path *path = NULL;
    long r = proc_may_look_into(&i->who);
    ipl_t ipl;

    if (r)
        return r;
    if (self && self->program) /* only exec changes it, which is by this thread */
        return (long)str_copy(buf, self->program->text, n);
    ipl = spin_lock(&process_lock);
    const struct process *p = proc_find_locked(&i->who);
    if (p)
        path = program_path_ref(p->program);
    spin_unlock(&process_lock, ipl);
    if (!path)
        return -ENOENT;
    r = (long)str_copy(buf, path->text, n);
    program_path_unref(path);
    return r;
}

static const struct proc_entry process_names[] = {
    /* First, because the start of every static program looks it up. */
    {.name = "exe", .mode = S_IFLNK | 0777, .readlink = readlink_exe},
    {.name = "cmdline", .mode = S_IFREG | 0444, .show = proc_show_arguments},
    {.name = "comm", .mode = S_IFREG | 0444, .show = proc_show_comm},
    {.name = "cwd", .mode = S_IFLNK | 0777, .readlink = readlink_cwd, .follow = follow_cwd},
    {.name = "environ", .mode = S_IFREG | 0400, .show = proc_show_environment},
    {.name = "fd", .mode = S_IFDIR | 0500, .find = proc_find_fd, .next = proc_next_fd},
    {.name = "fdinfo", .mode = S_IFDIR | 0555, .find = proc_find_fdinfo, .next = proc_next_fdinfo},
    {.name = "maps", .mode = S_IFREG | 0444, .show = proc_show_maps},
    {.name = "mem", .mode = S_IFREG | 0600, .memory = proc_copy_memory},
    {.name = "mounts", .mode = S_IFREG | 0444, .show = proc_show_mounts},
    {.name = "root", .mode = S_IFLNK | 0777, .readlink = readlink_root, .follow = follow_root},
    {.name = "smaps", .mode = S_IFREG | 0444, .show = proc_show_smaps},
    {.name = "stat", .mode = S_IFREG | 0444, .show = proc_show_stat},
    {.name = "statm", .mode = S_IFREG | 0444, .show = show_statm},
    {.name = "status", .mode = S_IFREG | 0444, .show = proc_show_status},
    {.name = "task", .mode = S_IFDIR | 0555, .find = proc_find_task, .next = proc_next_task},
};

const struct proc_entry proc_process_entry = {.name = "",
                                              .mode = S_IFDIR | 0555,
                                              .child = process_names,
                                              .nchild = ARRAY_SIZE(process_names)};

/* ---- the processes in /proc ---- */

static bool identify(uint32_t pid, struct proc_id *who)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = process_find_locked(pid);

    if (p)
        *who = (struct proc_id){.pid = p->pid, .start_ns = p->start_ns};
    spin_unlock(&process_lock, ipl);
    return p != NULL;
}

int proc_find_process(const struct proc_inode *dir, const struct fs_name *name, struct inode **out)
{
    struct proc_id who;
    uint32_t pid;

    if (!proc_name_number(name, &pid) || !identify(pid, &who))
        return -ENOENT;
    return proc_inode_create(dir, &proc_process_entry, &who, pid, out);
}

/* The search is made in steps, so that the table is not locked while many numbers are passed. */
int proc_next_process(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                      const struct proc_entry **entry)
{
    struct proc_id who;

    (void)dir;
    for (uint64_t n = from; n < numbers_end; n++) {
        ipl_t ipl = spin_lock(&process_lock);

        n = number_next((uint32_t)n);
        spin_unlock(&process_lock, ipl);
        if (n < numbers_end && identify((uint32_t)n, &who)) {
            *number = n;
            *entry = &proc_process_entry;
            return 0;
        }
    }
    return -ENOENT;
}
