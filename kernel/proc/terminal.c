/*
 * Controlling terminals (terminal.h).
 *
 * A terminal belongs to one session at a time. A process has it as its controlling terminal if the
 * process inherited or acquired it in the present possession: each possession has a number, never
 * used again, of which the process keeps a copy (process.terminal); the number says which terminal
 * it is, too. So a session loses a terminal in one step, however many processes it has, and none of
 * them has it again when another session, or the same number reused, acquires it. A session that
 * has a terminal holds a reference to it.
 *
 * The rules are those of POSIX and Linux/Alpha, and stricter in two points, because programs of
 * several users run in one session here (/bin/runas):
 *   - A process that does not have the terminal, while a session has it, can neither read it nor
 *     change its settings, even with a descriptor that it inherited. A pseudo-terminal may also be
 *     used by processes of the user to whom it belongs, and of the superuser: so a program that
 *     made the pair can change the settings at either end.
 *   - A background process that blocks or ignores SIGTTOU may change the terminal and its
 *     foreground group only if it is of the user to whom the terminal belongs, or of the superuser.
 *
 * A process in a background group that reads gets SIGTTIN; if it ignores or blocks that, or if its
 * group is orphaned, the read fails with EIO. A group counts as orphaned if neither the process nor
 * its ancestors within the group, up to ANCESTORS_MAX, have a parent in another group of the same
 * session: the processes of the group are not searched, because that would take a time that grows
 * with their number.
 *
 * When the master of a pseudo-terminal is closed, the leader of its session gets SIGHUP, and the
 * foreground group when the leader ends. Until then the session keeps the terminal, which nobody
 * can use any more.
 *
 * All state is protected by the process table lock. The number of the foreground group is kept in
 * use, so that it cannot pass to a group of another session.
 */
#include "kernel/proc/terminal.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pty.h"
#include "kernel/io/termios.h"
#include "kernel/io/tty.h"
#include "kernel/proc/groups.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"

#define ANCESTORS_MAX 32u

struct terminal {     /* process table lock */
    struct tty *tty;  /* with a reference; NULL: nobody has it */
    uint32_t session; /* 0: nobody has the terminal */
    uint32_t group;   /* foreground group, 0: none */
    uint32_t before;  /* the group that was in the foreground before it; may have ended */
    uint32_t owner;   /* effective user id of the session's leader when it acquired the terminal */
    uint64_t turn;    /* number of the present possession, or of the last one */
};

static struct terminal terminals[TTY_NUMBERS];
static uint64_t turns; /* process table lock: possessions until now */

static struct terminal *terminal_of(const struct tty *t) { return &terminals[tty_number(t)]; }

/* Does p have the terminal as its controlling terminal? */
static bool has_locked(const struct terminal *x, const struct process *p)
{
    return x->session && p->terminal == x->turn;
}

/* The one that it has; NULL: none. */
static struct terminal *own_locked(const struct process *p)
{
    struct terminal *x = &terminals[p->terminal % TTY_NUMBERS];

    return has_locked(x, p) ? x : NULL;
}

/* Make pgid, a number in use or 0, the foreground group. The caller wakes readers when it has
 * released the lock. */
static void foreground_locked(struct terminal *x, uint32_t pgid)
{
    if (pgid)
        number_use(pgid);
    if (x->group)
        number_release(x->group);
    if (pgid != x->group)
        x->before = x->group;
    x->group = pgid;
    tty_foreground_changed(x->tty);
}

static void acquire_locked(struct terminal *x, struct tty *t, struct process *p)
{
    tty_ref(t);
    x->tty = t;
    x->session = p->sid;
    x->owner = process_euid(p);
    x->before = 0;
    p->terminal = x->turn = ++turns * TTY_NUMBERS + tty_number(t);
    foreground_locked(x, p->pgid);
}

/* What a session has lost, for release_finish() to attend to without the lock. */
struct released {
    struct tty *tty; /* NULL: nothing */
    uint32_t group;  /* that was in the foreground */
};

/* The session loses the terminal. */
static struct released release_locked(struct terminal *x)
{
    struct released r = {x->tty, x->group};

    x->session = 0;
    foreground_locked(x, 0);
    x->tty = NULL;
    return r;
}

static void hang_up_group(uint32_t group)
{
    if (!group)
        return;
    process_kill_group(group, SIGHUP, SI_KERNEL);
    process_kill_group(group, SIGCONT, SI_KERNEL);
}

static void release_finish(struct released r)
{
    if (!r.tty)
        return;
    tty_wake(r.tty);
    hang_up_group(r.group);
    tty_unref(r.tty);
}

void terminal_hang_up(struct process *p)
{
    struct released r = {0};
    struct terminal *x;
    ipl_t ipl;

    if (p->sid != p->pid) /* only a thread of p changes it, and this is the last one */
        return;
    ipl = spin_lock(&process_lock);
    x = own_locked(p);
    if (x) {
        tty_hang_up(x->tty);
        r = release_locked(x);
    }
    p->terminal = 0;
    spin_unlock(&process_lock, ipl);
    release_finish(r);
}

uint32_t terminal_device_locked(const struct process *p)
{
    const struct terminal *x = own_locked(p);

    return x && !tty_is_gone(x->tty) ? tty_device(tty_number(x->tty)) : 0;
}

uint32_t terminal_group_locked(const struct process *p)
{
    const struct terminal *x = own_locked(p);

    return x ? x->group : 0;
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
static int background_locked(const struct terminal *x, const struct process *p, enum tty_use use)
{
    int sig = use == TTY_READ ? SIGTTIN : SIGTTOU;
    uint32_t euid = process_euid(p);

    if (signal_is_ignored(p->sig, sig) || (uthread_self()->blocked & SIGBIT(sig))) {
        if (use == TTY_READ)
            return -EIO;
        return use == TTY_WRITE || !euid || euid == x->owner ? 0 : -EIO;
    }
    return orphaned_locked(p) ? -EIO : sig;
}

/* What a process may do that does not have the terminal: 0 or -EIO. */
static int stranger_locked(const struct terminal *x, const struct process *p, enum tty_use use)
{
    uint32_t euid = process_euid(p);

    if (!x->session || use == TTY_WRITE)
        return 0;
    return x != &terminals[TTY_CONSOLE] && (!euid || euid == x->owner) ? 0 : -EIO;
}

static int check(struct tty *t, enum tty_use use)
{
    const struct process *p = process_self();
    const struct terminal *x = terminal_of(t);
    ipl_t ipl = spin_lock(&process_lock);
    uint32_t pgid = p->pgid;
    int r = 0;

    if (!has_locked(x, p))
        r = stranger_locked(x, p, use);
    else if (pgid != x->group)
        r = background_locked(x, p, use);
    spin_unlock(&process_lock, ipl);
    if (r <= 0)
        return r;
    process_kill_group(pgid, r, SI_KERNEL);
    return -ERESTARTSYS;
}

static struct tty *own(void)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct terminal *x = own_locked(process_self());
    struct tty *t = x ? x->tty : NULL;

    if (t)
        tty_ref(t);
    spin_unlock(&process_lock, ipl);
    return t;
}

static bool has_terminal(const struct terminal *x)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool has = has_locked(x, process_self());

    spin_unlock(&process_lock, ipl);
    return has;
}

/* A signal that is typed when a job has ended and its shell has not taken the terminal back yet
 * goes to the shell, whose group was in the foreground before: otherwise a loop of short programs
 * would miss some of the user's interrupts. */
static void signal_foreground(struct tty *t, int sig)
{
    const struct terminal *x = terminal_of(t);
    ipl_t ipl = spin_lock(&process_lock);
    uint32_t group = x->group;
    uint32_t before = group_session(x->before) == x->session ? x->before : 0;

    spin_unlock(&process_lock, ipl);
    if (group && !process_kill_group(group, sig, SI_KERNEL) && before)
        process_kill_group(before, sig, SI_KERNEL);
}

/* The leader has not given the terminal up yet, so it has its signal state. */
static void hang_up_leader(struct tty *t)
{
    static const struct signal_info hup = {.signo = SIGHUP, .code = SI_KERNEL},
                                    cont = {.signo = SIGCONT, .code = SI_KERNEL};
    const struct terminal *x = terminal_of(t);
    ipl_t ipl = spin_lock(&process_lock);
    struct process *leader = x->session ? process_find_locked(x->session) : NULL;

    if (leader && leader->sig) {
        signal_send(leader, &hup);
        signal_send(leader, &cont);
    }
    spin_unlock(&process_lock, ipl);
}

static struct io_cred cred(void) { return process_cred(process_self()); }

/* ---- requests ---- */

/* May p, which does not have the terminal, acquire it, if need be from another session? */
static bool may_acquire_locked(const struct terminal *x, const struct process *p, bool steal)
{
    const struct terminal *mine = own_locked(p);

    return p->sid == p->pid && (!mine || tty_is_gone(mine->tty)) &&
           (!x->session || (steal && process_euid(p) == 0));
}

/* The session that p leads acquires t. What it and another session lose goes to `lost`. */
static void take_locked(struct tty *t, struct process *p, struct released lost[2])
{
    struct terminal *x = terminal_of(t), *mine = own_locked(p);

    if (mine) { /* it is gone: nobody has to be told */
        lost[0] = release_locked(mine);
        lost[0].group = 0;
    }
    if (x->session)
        lost[1] = release_locked(x);
    acquire_locked(x, t, p);
}

static void take_finish(const struct released lost[2])
{
    release_finish(lost[0]);
    release_finish(lost[1]);
}

/* TIOCSCTTY: a session's leader without a terminal acquires it. If another session has it, only the
 * superuser may take it away, and only with `steal`. */
static int acquire(struct tty *t, const struct file *f, bool steal)
{
    struct process *p = process_self();
    struct released lost[2] = {0};
    ipl_t ipl = spin_lock(&process_lock);
    int err = 0;

    if (has_locked(terminal_of(t), p))
        err = p->sid == p->pid ? 0 : -EPERM;
    else if (!may_acquire_locked(terminal_of(t), p, steal) ||
             (process_euid(p) && (f->flags & O_ACCMODE) == O_WRONLY))
        err = -EPERM;
    else
        take_locked(t, p, lost);
    spin_unlock(&process_lock, ipl);
    take_finish(lost);
    return err;
}

static void opened(struct tty *t)
{
    struct process *p = process_self();
    struct released lost[2] = {0};
    ipl_t ipl = spin_lock(&process_lock);

    if (may_acquire_locked(terminal_of(t), p, false))
        take_locked(t, p, lost);
    spin_unlock(&process_lock, ipl);
    take_finish(lost);
}

/* TIOCNOTTY: the process gives the terminal up; if it leads the session, so does the session. */
static int give_up(struct tty *t)
{
    struct process *p = process_self();
    struct terminal *x = terminal_of(t);
    struct released r = {0};
    ipl_t ipl = spin_lock(&process_lock);
    int err = has_locked(x, p) ? 0 : -ENOTTY;

    if (!err && p->sid == p->pid)
        r = release_locked(x);
    if (!err)
        p->terminal = 0;
    spin_unlock(&process_lock, ipl);
    release_finish(r);
    return err;
}

static int number_out(const struct terminal *x, bool always, vaddr_t to, const uint32_t *number)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool has = always || has_locked(x, process_self());
    uint32_t n = *number;

    spin_unlock(&process_lock, ipl);
    return has ? copyout_u32(to, n) : -ENOTTY;
}

/* The session, for a process of it, or for the master of a terminal that belongs to one. */
static int session_out(const struct terminal *x, bool master, vaddr_t to)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool some = x->session != 0;

    spin_unlock(&process_lock, ipl);
    return number_out(x, master && some, to, &x->session);
}

/* TIOCSPGRP: make the group whose number is at `from`, of the caller's session, the foreground. */
static int set_foreground(struct tty *t, vaddr_t from)
{
    struct process *p = process_self();
    struct terminal *x = terminal_of(t);
    uint32_t pgid, sid;
    int err = has_terminal(x) ? check(t, TTY_CHANGE) : -ENOTTY;
    ipl_t ipl;

    if (err)
        return err;
    if (copyin_u32(&pgid, from))
        return -EFAULT;
    if (!pgid || pgid > INT32_MAX)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    sid = group_session(pgid);
    if (!has_locked(x, p))
        err = -ENOTTY;
    else if (!sid)
        err = -ESRCH;
    else if (sid != p->sid)
        err = -EPERM;
    else
        foreground_locked(x, pgid);
    spin_unlock(&process_lock, ipl);
    if (!err)
        tty_wake(t);
    return err;
}

static long request(struct tty *t, struct file *f, bool master, unsigned long req, vaddr_t arg)
{
    struct terminal *x = terminal_of(t);

    switch (req) {
    case TIOCSCTTY:
        return acquire(t, f, arg == 1);
    case TIOCNOTTY:
        return give_up(t);
    case TIOCGPGRP:
        return number_out(x, master, arg, &x->group);
    case TIOCGSID:
        return session_out(x, master, arg);
    case TIOCSPGRP:
        return set_foreground(t, arg);
    default:
        return -ENOTTY;
    }
}

static const struct tty_jobs jobs = {.check = check,
                                     .own = own,
                                     .opened = opened,
                                     .signal = signal_foreground,
                                     .hang_up = hang_up_leader,
                                     .request = request,
                                     .cred = cred};

void terminal_boot(struct process *p)
{
    ipl_t ipl = spin_lock(&process_lock);

    acquire_locked(&terminals[TTY_CONSOLE], &tty_console, p);
    spin_unlock(&process_lock, ipl);
    tty_jobs = &jobs;
}
