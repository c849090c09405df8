/*
 * The controlling terminal (terminal.h).
 *
 * There is one terminal, the console, and it belongs to one session at a time. A process has it as
 * its controlling terminal if the process inherited or acquired it in the present possession: each
 * possession has a number, of which the process keeps a copy (process.terminal). So a session loses
 * the terminal in one step, however many processes it has, and none of them has it again when
 * another session, or the same number reused, acquires it.
 *
 * The rules are those of POSIX and Linux/Alpha, and stricter in two points, because programs of
 * several users run in one session here (/bin/runas):
 *   - A process that does not have the terminal, while a session has it, can neither read it nor
 *     change its settings, even with a descriptor that it inherited.
 *   - A background process that blocks or ignores SIGTTOU may change the terminal and its
 *     foreground group only if it is of the user to whom the terminal belongs, or of the superuser.
 *
 * A process in a background group that reads gets SIGTTIN; if it ignores or blocks that, or if its
 * group is orphaned, the read fails with EIO. A group counts as orphaned if neither the process nor
 * its ancestors within the group, up to ANCESTORS_MAX, have a parent in another group of the same
 * session: the processes of the group are not searched, because that would take a time that grows
 * with their number.
 *
 * All state is protected by the process table lock. The number of the foreground group is kept in
 * use, so that it cannot pass to a group of another session.
 */
#include "kernel/proc/terminal.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/termios.h"
#include "kernel/io/tty.h"
#include "kernel/proc/groups.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"

#define ANCESTORS_MAX 32u

static struct {       /* process table lock */
    uint32_t session; /* 0: nobody has the terminal */
    uint32_t group;   /* foreground group, 0: none */
    uint32_t before;  /* the group that was in the foreground before it; may have ended */
    uint32_t turn;    /* number of the present possession, or of the last one */
    uint32_t owner;   /* effective user id of the session's leader when it acquired the terminal */
} terminal;

/* Does p have the terminal as its controlling terminal? */
static bool has_locked(const struct process *p)
{
    return terminal.session && p->terminal == terminal.turn;
}

/* Make pgid, a number in use or 0, the foreground group. */
static void foreground_locked(uint32_t pgid)
{
    if (pgid)
        number_use(pgid);
    if (terminal.group)
        number_release(terminal.group);
    if (pgid != terminal.group)
        terminal.before = terminal.group;
    terminal.group = pgid;
    tty_foreground_changed();
}

static void acquire_locked(struct process *p)
{
    terminal.session = p->sid;
    terminal.owner = process_euid(p);
    p->terminal = ++terminal.turn;
    foreground_locked(p->pgid);
}

/* The session loses the terminal. Returns the group that was in the foreground. */
static uint32_t release_locked(void)
{
    uint32_t group = terminal.group;

    terminal.session = 0;
    foreground_locked(0);
    return group;
}

static void hang_up_group(uint32_t group)
{
    if (!group)
        return;
    process_kill_group(group, SIGHUP, SI_KERNEL);
    process_kill_group(group, SIGCONT, SI_KERNEL);
}

void terminal_hang_up(struct process *p)
{
    uint32_t group = 0;
    ipl_t ipl;

    if (p->sid != p->pid) /* only a thread of p changes it, and this is the last one */
        return;
    ipl = spin_lock(&process_lock);
    if (has_locked(p)) {
        group = release_locked();
        tty_hang_up();
    }
    p->terminal = 0;
    spin_unlock(&process_lock, ipl);
    hang_up_group(group);
}

static bool orphaned_locked(const struct process *p)
{
    for (unsigned n = 0; n < ANCESTORS_MAX; n++) {
        const struct process *parent = p->parent;

        if (!parent || parent->sid != p->sid)
            return true;
        if (parent->pgid != p->pgid)
            return false;
        p = parent;
    }
    return true;
}

bool terminal_is_orphaned(void)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool orphaned = orphaned_locked(process_self());

    spin_unlock(&process_lock, ipl);
    return orphaned;
}

/* ---- what the line discipline asks ---- */

/* What a process in the background may do: 0, -EIO, or a signal to send to its group. */
static int background_locked(const struct process *p, enum tty_use use)
{
    int sig = use == TTY_READ ? SIGTTIN : SIGTTOU;
    uint32_t euid = process_euid(p);

    if (signal_is_ignored(p->sig, sig) || (uthread_self()->blocked & SIGBIT(sig))) {
        if (use == TTY_READ)
            return -EIO;
        return use == TTY_WRITE || !euid || euid == terminal.owner ? 0 : -EIO;
    }
    return orphaned_locked(p) ? -EIO : sig;
}

static int check(enum tty_use use)
{
    const struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);
    uint32_t pgid = p->pgid;
    int r = 0;

    if (!has_locked(p))
        r = terminal.session && use != TTY_WRITE ? -EIO : 0;
    else if (pgid != terminal.group)
        r = background_locked(p, use);
    spin_unlock(&process_lock, ipl);
    if (r <= 0)
        return r;
    process_kill_group(pgid, r, SI_KERNEL);
    return -ERESTARTSYS;
}

static bool has_terminal(void)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool has = has_locked(process_self());

    spin_unlock(&process_lock, ipl);
    return has;
}

/* A signal that is typed when a job has ended and its shell has not taken the terminal back yet
 * goes to the shell, whose group was in the foreground before: otherwise a loop of short programs
 * would miss some of the user's interrupts. */
static void signal_foreground(int sig)
{
    ipl_t ipl = spin_lock(&process_lock);
    uint32_t group = terminal.group;
    uint32_t before = group_session(terminal.before) == terminal.session ? terminal.before : 0;

    spin_unlock(&process_lock, ipl);
    if (group && !process_kill_group(group, sig, SI_KERNEL) && before)
        process_kill_group(before, sig, SI_KERNEL);
}

/* ---- requests ---- */

/* TIOCSCTTY: a session's leader without a terminal acquires it. If another session has it, only the
 * superuser may take it away, and only with `steal`. */
static int acquire(const struct file *f, bool steal)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);
    bool super = process_euid(p) == 0;
    uint32_t group = 0;
    int err = 0;

    if (!has_locked(p)) {
        if (p->sid != p->pid || (terminal.session && !(steal && super)) ||
            (!super && (f->flags & O_ACCMODE) == O_WRONLY))
            err = -EPERM;
        if (!err && terminal.session)
            group = release_locked();
        if (!err)
            acquire_locked(p);
    } else if (p->sid != p->pid) {
        err = -EPERM;
    }
    spin_unlock(&process_lock, ipl);
    hang_up_group(group);
    return err;
}

/* TIOCNOTTY: the process gives the terminal up; if it leads the session, so does the session. */
static int give_up(void)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);
    uint32_t group = 0;
    int err = has_locked(p) ? 0 : -ENOTTY;

    if (!err && p->sid == p->pid)
        group = release_locked();
    if (!err)
        p->terminal = 0;
    spin_unlock(&process_lock, ipl);
    hang_up_group(group);
    return err;
}

static int number_out(vaddr_t to, const uint32_t *number)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool has = has_locked(process_self());
    uint32_t n = *number;

    spin_unlock(&process_lock, ipl);
    return has ? copyout_u32(to, n) : -ENOTTY;
}

/* TIOCSPGRP: make the group whose number is at `from`, of the caller's session, the foreground. */
static int set_foreground(vaddr_t from)
{
    struct process *p = process_self();
    uint32_t pgid, sid;
    int err = has_terminal() ? check(TTY_CHANGE) : -ENOTTY;
    ipl_t ipl;

    if (err)
        return err;
    if (copyin_u32(&pgid, from))
        return -EFAULT;
    if (!pgid || pgid > INT32_MAX)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    sid = group_session(pgid);
    if (!has_locked(p))
        err = -ENOTTY;
    else if (!sid)
        err = -ESRCH;
    else if (sid != p->sid)
        err = -EPERM;
    else
        foreground_locked(pgid);
    spin_unlock(&process_lock, ipl);
    return err;
}

static long request(struct file *f, unsigned long req, vaddr_t arg)
{
    switch (req) {
    case TIOCSCTTY:
        return acquire(f, arg == 1);
    case TIOCNOTTY:
        return give_up();
    case TIOCGPGRP:
        return number_out(arg, &terminal.group);
    case TIOCGSID:
        return number_out(arg, &terminal.session);
    case TIOCSPGRP:
        return set_foreground(arg);
    default:
        return -ENOTTY;
    }
}

static const struct tty_jobs jobs = {
    .check = check, .has = has_terminal, .signal = signal_foreground, .request = request};

void terminal_boot(struct process *p)
{
    ipl_t ipl = spin_lock(&process_lock);

    acquire_locked(p);
    spin_unlock(&process_lock, ipl);
    tty_jobs = &jobs;
}
