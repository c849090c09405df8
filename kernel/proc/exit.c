/*
 * The end of a process, in a fixed order, each step harmless for those after it:
 *
 *   1. the alarm is off: no timer points here any more
 *   2. descriptors are closed (a pipe's other end sees it)
 *   3. the address space goes (sections lose a share), and a vfork parent goes on
 *   4. children become nobody's; those that are zombies are freed
 *   5. under the table lock: zombie, the parent is told
 *   6. the thread ends
 *
 * A process whose parent has gone, or does not want to know (SIGCHLD ignored), frees itself in
 * step 5. Pid 1 ends the system instead, before step 1.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/io/inode.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal.h"

/* Take p out of the table; the caller frees it. */
static void unlink_locked(struct process *p)
{
    list_remove(&p->sibling);
    list_remove(&p->all);
    list_remove(&p->hash);
}

/* Step 4. */
static void orphan_children(struct process *p)
{
    struct list dead = LIST_INIT(dead), *link;
    ipl_t ipl = spin_lock(&process_lock);
    struct process *c, *next;

    list_for_each_entry_safe(c, next, &p->children, sibling)
    {
        list_remove(&c->sibling);
        c->parent = NULL;
        __atomic_store_n(&c->ppid, 1, __ATOMIC_RELAXED);
        if (c->state == PROCESS_ZOMBIE) {
            unlink_locked(c);
            list_add_tail(&dead, &c->sibling);
        }
    }
    spin_unlock(&process_lock, ipl);
    while ((link = list_pop_head(&dead)))
        process_free(list_entry(link, struct process, sibling));
}

/* Tell the parent that something about p changed. Table lock held. */
static void tell_parent_locked(struct process *p, int code, uint32_t status)
{
    struct process *parent = p->parent;
    struct signal_info info = {.signo = SIGCHLD,
                               .code = code,
                               .pid = p->pid,
                               .uid = p->uid,
                               .status = code == CLD_EXITED ? (int32_t)(status >> 8 & 0xFF)
                                         : code == CLD_KILLED || code == CLD_DUMPED
                                             ? (int32_t)(status & 0x7F)
                                             : (int32_t)(status >> 8 & 0xFF)};

    if (parent->sig &&
        ((code != CLD_STOPPED && code != CLD_CONTINUED) || signal_wants_stops(parent->sig)))
        signal_send(parent, &info);
    __atomic_store_n(&parent->child_changed, true, __ATOMIC_RELEASE);
    wake_all(&parent->child_queue);
}

void process_report_stop(uint32_t status)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);

    p->stop_report = status;
    if (p->parent)
        tell_parent_locked(p, status == 0xFFFF ? CLD_CONTINUED : CLD_STOPPED, status);
    spin_unlock(&process_lock, ipl);
}

/* Step 5. Returns the structure if it is ours to free. */
static struct process *become_zombie(struct process *p, uint32_t status, struct sighand **sig)
{
    struct thread *t = thread_self();
    ipl_t ipl = spin_lock(&process_lock);
    bool forgotten;

    *sig = p->sig;
    p->sig = NULL;
    p->thread = NULL;
    p->state = PROCESS_ZOMBIE;
    p->exit_status = status;
    p->run_ns = thread_cpu_ns(t);
    t->process = NULL;
    forgotten = !p->parent || (p->parent->sig && signal_is_ignored(p->parent->sig, SIGCHLD));
    if (p->parent)
        tell_parent_locked(p, !(status & 0x7F) ? CLD_EXITED : CLD_KILLED, status);
    if (forgotten)
        unlink_locked(p);
    spin_unlock(&process_lock, ipl);
    return forgotten ? p : NULL;
}

void process_exit(uint32_t status)
{
    struct process *p = process_self(), *mine;
    struct file_table *files = p->files;
    struct aspace *as;
    struct sighand *sig;

    if (p->pid == 1)
        process_first_ended(status);
    process_alarm_end(p);
    p->files = NULL;
    fdtable_free(files);
    if (p->cwd)
        inode_unref(p->cwd);
    p->cwd = NULL;
    as = process_change_space(p, NULL);
    aspace_unref(as);
    process_vfork_release(p);
    orphan_children(p);
    mine = become_zombie(p, status, &sig);
    sighand_free(sig);
    if (mine)
        process_free(mine);
    thread_exit();
}

void process_exit_signal(int sig)
{
    struct process *p = process_self();

    if (sig != SIGKILL && sig != SIGTERM && sig != SIGINT && sig != SIGPIPE && sig != SIGHUP &&
        sig != SIGALRM)
        printk("%s (%u): ended by signal %d\n", p->name, p->pid, sig);
    process_exit((uint32_t)sig);
}

void process_kill_out_of_memory(void)
{
    struct process *p = process_self();

    printk("%s (%u): out of memory, killed\n", p->name, p->pid);
    signal_force(SIGKILL, SI_KERNEL, 0);
}

/* ---- wait ---- */

/* What child p has to report for options; 0: nothing. */
static uint32_t report_locked(const struct process *p, unsigned options)
{
    if (p->state == PROCESS_ZOMBIE)
        return options & WEXITED ? p->exit_status | 1u << 31 : 0; /* status 0 is a report too */
    if (p->stop_report == 0xFFFF)
        return options & WCONTINUED ? p->stop_report : 0;
    return options & WUNTRACED ? p->stop_report : 0;
}

static bool wanted(const struct process *self, const struct process *c, int32_t pid)
{
    if (pid > 0)
        return c->pid == (uint32_t)pid;
    return pid == -1 || c->pgid == (pid == 0 ? self->pgid : 0u - (uint32_t)pid);
}

/* 1: *r filled in, and *dead to be freed if it is not NULL; 0: none ready; -ECHILD. */
static int look(struct process *self, int32_t pid, unsigned options, struct wait_result *r,
                struct process **dead)
{
    ipl_t ipl = spin_lock(&process_lock);
    int result = -ECHILD;
    struct process *c;

    *dead = NULL;
    self->child_changed = false;
    list_for_each_entry(c, &self->children, sibling)
    {
        uint32_t report;

        if (!wanted(self, c, pid))
            continue;
        result = 0;
        report = report_locked(c, options);
        if (!report)
            continue;
        *r = (struct wait_result){
            .pid = c->pid, .uid = c->uid, .status = report & ~(1u << 31), .run_ns = c->run_ns};
        result = 1;
        if (options & WNOWAIT)
            break;
        c->stop_report = 0;
        if (c->state == PROCESS_ZOMBIE) {
            unlink_locked(c);
            self->children_ns += c->run_ns + c->children_ns;
            *dead = c;
        }
        break;
    }
    spin_unlock(&process_lock, ipl);
    return result;
}

int process_wait(int32_t pid, unsigned options, struct wait_result *r)
{
    struct process *self = process_self(), *dead;
    struct waiter w;
    int result;

    for (;;) {
        result = look(self, pid, options, r, &dead);
        if (result || (options & WNOHANG))
            break;
        wait_enqueue(&self->child_queue, &w);
        if (!__atomic_load_n(&self->child_changed, __ATOMIC_ACQUIRE) &&
            wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER))
            result = -ERESTARTSYS;
        wait_finish(&w);
        if (result) {
            /* A child that ended at the same moment is reported rather than the interruption. */
            int late = look(self, pid, options, r, &dead);

            if (late)
                result = late;
            break;
        }
    }
    if (dead)
        process_free(dead);
    return result;
}
