// TAP
// RUN: --smp 1
// RUN: --smp 4
/*
 * The terminal belongs to a session. Who does not have it cannot read it nor change it; who has it
 * in the background is stopped, or gets EIO where nobody could continue it; a session's end is
 * seen by those that it leaves behind. The tests run as process 1, to whose session the console
 * belongs at boot, on the descriptors of /dev/console.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <termios.h>

static int console;

/* Run fn in a child, whose exit status it is. */
static int in_child(int (*fn)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int open_errno(const char *path)
{
    int fd = open(path, O_RDWR | O_NONBLOCK);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int read_errno(void)
{
    char c;

    return read(console, &c, 1) < 0 ? errno : 0;
}

static int change_errno(void)
{
    struct termios t;

    if (tcgetattr(console, &t) < 0)
        return errno;
    return tcsetattr(console, TCSANOW, &t) < 0 ? errno : 0;
}

static int size_errno(void)
{
    struct winsize w = {24, 80, 0, 0};

    return ioctl(console, TIOCSWINSZ, &w) < 0 ? errno : 0;
}

/* ---- another session ---- */

static int stranger_opens(void)
{
    setsid();
    return open_errno("/dev/tty");
}

static int stranger_reads(void)
{
    setsid();
    return read_errno();
}

static int stranger_changes(void)
{
    setsid();
    return change_errno();
}

static int stranger_counts(void)
{
    int n;

    setsid();
    return ioctl(console, FIONREAD, &n) < 0 ? errno : 0;
}

static int stranger_asks(void)
{
    setsid();
    return tcgetpgrp(console) < 0 ? errno : 0;
}

static int stranger_acquires(void)
{
    setsid();
    return setuid(1000) < 0 ? -1 : ioctl(console, TIOCSCTTY, 1) < 0 ? errno : 0;
}

static int member_acquires(void) { return ioctl(console, TIOCSCTTY, 1) < 0 ? errno : 0; }

static int user_opens(void) { return setuid(1000) < 0 ? -1 : open_errno("/dev/console"); }

/* ---- the background ---- */

static int background_reads(void)
{
    setpgid(0, 0);
    signal(SIGTTIN, SIG_IGN);
    return read_errno();
}

static int background_user_changes(void)
{
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    return setuid(1000) < 0 ? -1 : change_errno();
}

static int background_user_sizes(void)
{
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    return setuid(1000) < 0 ? -1 : size_errno();
}

static int background_user_takes(void)
{
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    if (setuid(1000) < 0)
        return -1;
    return tcsetpgrp(console, getpgrp()) < 0 ? errno : 0;
}

static int background_root_changes(void)
{
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    return change_errno();
}

/* A background process with default actions stops; afterwards it is killed. The signal. */
static int stops_by(int (*fn)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        setpgid(0, 0);
        fn();
        _exit(0);
    }
    waitpid(pid, &status, WUNTRACED);
    kill(pid, SIGKILL);
    if (!WIFSTOPPED(status))
        return 0;
    waitpid(pid, NULL, 0);
    return WSTOPSIG(status);
}

/* The parent, of the same group, has ended: nobody would continue the reader. */
static int orphan_result(void)
{
    int p[2], err = -1;
    pid_t pid;

    if (pipe(p) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        if (fork() == 0) {
            while (getppid() != 1)
                poll(NULL, 0, 1);
            err = read_errno();
            _exit(write(p[1], &err, sizeof(err)) < 0);
        }
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    close(p[1]);
    return read(p[0], &err, sizeof(err)) == sizeof(err) ? err : -1;
}

/* ---- moving the foreground ---- */

static volatile sig_atomic_t hung_up, continued;

static void on_hup(int sig)
{
    (void)sig;
    hung_up = 1;
}

static void on_cont(int sig)
{
    (void)sig;
    continued = 1;
}

/* A reader that waits in the foreground loses the terminal: it must not go on waiting there. */
static void foreground_moves(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        setpgid(0, 0);
        while (tcgetpgrp(console) != getpgrp())
            poll(NULL, 0, 1);
        read_errno();
        _exit(0);
    }
    setpgid(pid, pid);
    is(tcsetpgrp(console, pid), 0, "a child's group comes to the foreground");
    poll(NULL, 0, 50);
    signal(SIGTTOU, SIG_IGN);
    is(tcsetpgrp(console, getpgrp()), 0, "the leader takes the terminal back");
    waitpid(pid, &status, WUNTRACED);
    ok(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN,
       "the reader that lost the terminal stops (%#x)", (unsigned)status);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ok(tcsetpgrp(console, 30000) < 0 && errno == ESRCH, "a group without processes: ESRCH");
    pid = fork();
    if (pid == 0) {
        setsid();
        pause();
    }
    while (getsid(pid) != pid)
        poll(NULL, 0, 1);
    ok(tcsetpgrp(console, pid) < 0 && errno == EPERM, "a group of another session: EPERM");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ok(tcsetpgrp(console, -5) < 0 && errno == EINVAL, "a negative number: EINVAL");
}

/* A group whose first process has ended is still a group of the session. */
static void group_without_leader(void)
{
    pid_t first = fork(), second;

    if (first == 0)
        pause();
    setpgid(first, first);
    second = fork();
    if (second == 0)
        pause();
    is(setpgid(second, first), 0, "a second process joins the group");
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    is(tcsetpgrp(console, first), 0, "the group comes to the foreground without its first process");
    is(tcgetpgrp(console), first, "it is the foreground group");
    is(tcsetpgrp(console, getpgrp()), 0, "the leader takes the terminal back");
    kill(second, SIGKILL);
    waitpid(second, NULL, 0);
}

/* Process 1 gives the terminal up, a child's session acquires it and ends. */
static void session_ends(void)
{
    int gone[2], status;
    char c;
    pid_t pid;

    signal(SIGHUP, SIG_IGN);
    is(ioctl(console, TIOCNOTTY), 0, "process 1 gives the terminal up");
    is(open_errno("/dev/tty"), ENXIO, "without a terminal, /dev/tty cannot be opened");
    ok(tcgetpgrp(console) < 0 && errno == ENOTTY, "nor asked for its group");
    if (pipe(gone) < 0)
        bail_out("no pipe");
    pid = fork();
    if (pid == 0) {
        int mine;

        setsid();
        if (ioctl(console, TIOCSCTTY, 0) != 0 || tcgetpgrp(console) != getpgrp() ||
            tcgetsid(console) != getpid())
            _exit(1);
        mine = open("/dev/tty", O_RDWR);
        if (fork() == 0) {
            int bad = 0;

            signal(SIGHUP, on_hup);
            signal(SIGCONT, on_cont);
            while (!hung_up)
                poll(NULL, 0, 1);
            bad |= read(mine, &c, 1) != 0; /* ended */
            bad |= write(mine, "x", 1) >= 0 || errno != EIO;
            bad |= open_errno("/dev/tty") == ENXIO ? 0 : 4;
            _exit(write(gone[1], &bad, sizeof(bad)) < 0);
        }
        poll(NULL, 0, 20);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "another session acquires it");
    close(gone[1]);
    is(read(gone[0], &status, sizeof(status)), sizeof(status),
       "its foreground group gets SIGHUP when the leader ends");
    is(status, 0, "and finds the terminal dead");
    console = open("/dev/console", O_RDWR);
    is(ioctl(console, TIOCSCTTY, 0), 0, "process 1 acquires the terminal again");
}

/* A stopped job is not left behind by a shell that ends. */
static int leaves_stopped_job(void)
{
    int p[2], status;
    char c;
    pid_t shell;

    if (pipe(p) < 0)
        return -1;
    shell = fork();
    if (shell == 0) {
        pid_t job = fork();

        if (job == 0) {
            close(p[0]);
            setpgid(0, 0);
            raise(SIGSTOP);
            _exit(0);
        }
        close(p[1]);
        waitpid(job, &status, WUNTRACED);
        _exit(0);
    }
    waitpid(shell, NULL, 0);
    close(p[1]);
    return read(p[0], &c, 1) == 0; /* the job ended, so its end of the pipe is closed */
}

static int private_device(void)
{
    struct stat st;

    return stat("/dev/console", &st) == 0 && (st.st_mode & 077) == 0 && st.st_uid == 0;
}

int main(void)
{
    console = open("/dev/console", O_RDWR);
    if (console < 0)
        bail_out("/dev/console: %s", strerror(errno));
    is(open_errno("/dev/tty"), 0, "the first session has the terminal");
    is(tcgetpgrp(console), getpgrp(), "its leader is in the foreground");
    ok(private_device(), "the console device is its owner's only");
    is(in_child(user_opens), EACCES, "another user cannot open it");
    is(in_child(stranger_opens), ENXIO, "a new session has no /dev/tty");
    is(in_child(stranger_reads), EIO, "it cannot read by an inherited descriptor");
    is(in_child(stranger_changes), EIO, "nor change the settings");
    is(in_child(stranger_counts), EIO, "nor learn how much was typed");
    is(in_child(stranger_asks), ENOTTY, "nor ask for the foreground group");
    is(in_child(stranger_acquires), EPERM, "nor take the terminal away, if it is not root's");
    is(in_child(member_acquires), EPERM, "a process that leads no session cannot acquire it");
    is(in_child(background_reads), EIO, "a background process that ignores SIGTTIN reads EIO");
    is(in_child(background_user_changes), EIO,
       "a background process of another user that ignores SIGTTOU cannot change the settings");
    is(in_child(background_user_sizes), EIO, "nor the size");
    is(in_child(background_user_takes), EIO, "nor come to the foreground");
    is(in_child(background_root_changes), 0, "one of the terminal's owner can");
    is(stops_by(read_errno), SIGTTIN, "a background process that reads gets SIGTTIN");
    is(stops_by(change_errno), SIGTTOU, "one that changes the settings gets SIGTTOU");
    is(orphan_result(), EIO, "one that nobody could continue gets EIO");
    foreground_moves();
    group_without_leader();
    is(leaves_stopped_job(), 1, "a stopped job ends when its shell does");
    session_ends();
    return tap_done();
}
