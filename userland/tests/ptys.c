// TAP
/*
 * Pseudo-terminals among several processes: a shell with job control on one, what goes through in
 * both directions complete and in order, waits that end, the end of a master noticed by everybody,
 * users kept apart, quotas. userland/conformance/ptys.c has the results of single calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <termios.h>

#define UID   1000
#define BYTES 200000
#define LIMIT 6 /* pseudo-terminals of a user, in one test */

static char name[64]; /* of a terminal */

static int reap(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void raw_pair(int *master, int *slave)
{
    struct termios t;

    if (openpty(master, slave, NULL, NULL, NULL) != 0)
        bail_out("no pair: %s", strerror(errno));
    tcgetattr(*slave, &t);
    cfmakeraw(&t);
    tcsetattr(*slave, TCSANOW, &t);
}

/* ---- as script(1): a shell, what it says, and the keys that it gets ---- */

static char said[20000];
static size_t nsaid;
static int shell_master;

/* Collect what comes from the master until `text` has come; false: it ended, or nothing came. */
static bool expect(const char *text)
{
    struct pollfd p = {.fd = shell_master, .events = POLLIN};

    for (;;) {
        ssize_t n;

        said[nsaid] = '\0';
        if (strstr(said, text))
            break;
        if (nsaid + 1000 > sizeof(said) || poll(&p, 1, 20000) <= 0)
            return false;
        n = read(shell_master, said + nsaid, 999);
        if (n <= 0)
            return false;
        nsaid += (size_t)n;
    }
    nsaid = 0;
    return true;
}

static void type(const char *keys)
{
    if (write(shell_master, keys, strlen(keys)) != (ssize_t)strlen(keys))
        diag("keys were lost");
}

static void session_of_a_shell(void)
{
    struct winsize size = {50, 100, 0, 0};
    pid_t pid = forkpty(&shell_master, NULL, NULL, &size);

    if (pid == 0) {
        execl("/bin/sh", "sh", (char *)NULL);
        _exit(127);
    }
    type("echo a$((1 + 1))b\n");
    ok(expect("a2b"), "a shell on a pseudo-terminal reads a line and answers");
    type("sleep 100\n");
    ok(expect("sleep"), "a job is started");
    usleep(200000);
    type("\003");
    type("echo after $((3 * 3))\n");
    ok(expect("after 9"), "^C ends the job, and the shell goes on");
    type("cat\n");
    usleep(200000);
    type("through\n");
    ok(expect("through\r\nthrough"), "a program in the foreground reads");
    type("\032");
    type("jobs\n");
    ok(expect("topped"), "^Z stops it");
    type("fg\n");
    usleep(200000);
    type("again\n");
    ok(expect("again\r\nagain"), "fg continues it");
    type("\004");
    type("exit 5\n");
    is(reap(pid), 5, "the shell ends with its status");
    while (read(shell_master, said, sizeof(said)) > 0)
        ;
    is(errno, EIO, "and the master reads EIO");
    close(shell_master);
}

/* The seventh and eighth word of /proc/self/stat: the terminal, and its foreground group. */
static int known_to_proc(void)
{
    int master, terminal = 0, group = 0, status;
    pid_t pid = forkpty(&master, name, NULL, NULL);

    if (pid == 0) {
        FILE *f = fopen("/proc/self/stat", "r");
        struct stat st;

        if (!f || fscanf(f, "%*s %*s %*s %*s %*s %*s %d %d", &terminal, &group) != 2)
            _exit(1);
        _exit(fstat(0, &st) == 0 && terminal == (int)st.st_rdev && group == getpid() ? 0 : 2);
    }
    status = reap(pid);
    close(master);
    return status;
}

/* ---- streams ---- */

static int write_pattern(int fd, unsigned seed)
{
    for (unsigned done = 0; done < BYTES;) {
        char buf[777];
        unsigned n = 1 + (done * 31 + seed) % sizeof(buf);
        ssize_t k;

        n = n > BYTES - done ? BYTES - done : n;
        for (unsigned i = 0; i < n; i++)
            buf[i] = (char)((done + i) * 7 + seed);
        k = write(fd, buf, n);
        if (k <= 0)
            return 1;
        done += (unsigned)k;
    }
    return 0;
}

static int read_pattern(int fd, unsigned seed)
{
    for (unsigned done = 0; done < BYTES;) {
        char buf[1500];
        ssize_t k = read(fd, buf, sizeof(buf));

        if (k <= 0)
            return 2;
        for (ssize_t i = 0; i < k; i++)
            if (buf[i] != (char)((done + (unsigned)i) * 7 + seed))
                return 3;
        done += (unsigned)k;
    }
    return 0;
}

/* Both directions at once, each with a writer and a reader of its own. */
static void streams(void)
{
    int master, slave, bad = 0;
    pid_t pid[4];

    raw_pair(&master, &slave);
    for (int k = 0; k < 4; k++) {
        pid[k] = fork();
        if (pid[k] == 0) {
            int fd = k < 2 ? master : slave;

            _exit(k % 2 ? read_pattern(fd, k == 1) : write_pattern(fd, k == 2));
        }
    }
    for (int k = 0; k < 4; k++)
        bad |= reap(pid[k]);
    is(bad, 0, "what is written at one end is read at the other, in both directions at once");
    close(slave);
    close(master);
}

/* A writer that does not wait takes what fits, and poll tells when there is room again. */
static void nonblocking(void)
{
    char buf[1000];
    int master, slave;
    long out = 0, in = 0, got = 0;
    ssize_t n;

    raw_pair(&master, &slave);
    fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
    fcntl(slave, F_SETFL, O_RDWR | O_NONBLOCK);
    memset(buf, 'x', sizeof(buf));
    while ((n = write(slave, buf, sizeof(buf))) > 0)
        out += n;
    ok(n < 0 && errno == EAGAIN && out > 1000, "output fills up (%ld bytes)", out);
    is(poll(&(struct pollfd){.fd = slave, .events = POLLOUT}, 1, 0), 0, "then poll finds no room");
    while ((n = read(master, buf, sizeof(buf))) > 0)
        got += n;
    is(got, out, "the master reads all of it");
    is(poll(&(struct pollfd){.fd = slave, .events = POLLOUT}, 1, 0), 1, "then there is room");
    while ((n = write(master, buf, sizeof(buf))) > 0)
        in += n;
    ok(n < 0 && errno == EAGAIN && in >= 4096, "input fills up (%ld bytes)", in);
    is(poll(&(struct pollfd){.fd = master, .events = POLLOUT}, 1, 0), 0, "then poll finds no room");
    for (got = 0; (n = read(slave, buf, sizeof(buf))) > 0;)
        got += n;
    is(got, in, "the terminal reads all of it");
    is(poll(&(struct pollfd){.fd = master, .events = POLLOUT}, 1, 0), 1, "then there is room");
    close(slave);
    close(master);
}

/* ---- waits that end ---- */

enum { READ_SLAVE, WRITE_SLAVE, READ_MASTER, WRITE_MASTER, EPOLL_SLAVE, WAITS };

/* What the next read of up to n bytes gets: text, or "-" if it would wait. */
static const char *line_of(int slave, size_t n)
{
    static char buf[32];
    ssize_t got = read(slave, buf, n);

    if (got < 0)
        return errno == EAGAIN ? "-" : strerror(errno);
    buf[got] = '\0';
    return buf;
}

static void set_canonical(int slave, bool canonical)
{
    struct termios t;

    tcgetattr(slave, &t);
    t.c_lflag = canonical ? t.c_lflag | ICANON : t.c_lflag & ~(unsigned)ICANON;
    tcsetattr(slave, TCSANOW, &t);
}

/* Whether a character ends a line is decided when it comes. A count of lines that differed from
 * what reads took for lines kept readers in the kernel for ever, or left them without their line.
 */
static void ends_of_lines(void)
{
    struct termios t;
    char buf[32] = "";
    int master, slave;

    if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
        bail_out("no pair: %s", strerror(errno));
    fcntl(slave, F_SETFL, O_NONBLOCK);
    tcgetattr(slave, &t);
    t.c_cc[VEOL] = 'x';
    tcsetattr(slave, TCSANOW, &t);
    ok(write(master, "xx", 2) == 2, "two lines come");
    t.c_cc[VEOL] = 0;
    tcsetattr(slave, TCSANOW, &t);
    is_str(line_of(slave, 16), "x", "they stay two lines when VEOL changes");
    is_str(line_of(slave, 16), "x", "which two reads get");
    is_str(line_of(slave, 16), "-", "and the next one nothing");
    read(master, buf, sizeof(buf));
    write(master, "a\026\nb", 4);
    is(read(master, buf, 6), 6, "a newline after ^V is echoed");
    is(memcmp(buf, "a^\b^Jb", 6), 0, "as ^J");
    is_str(line_of(slave, 16), "-", "and ends no line");
    write(master, "c\nd\n", 4);
    is_str(line_of(slave, 16), "a\nbc\n", "but belongs to it");
    is_str(line_of(slave, 16), "d\n", "and the next line is there at once");
    write(master, "one\ntwo\nthr", 11);
    set_canonical(slave, false);
    set_canonical(slave, true);
    is_str(line_of(slave, 16), "one\ntwo\nthr", "what was there when ICANON is set is one line");
    is_str(line_of(slave, 16), "-", "and no more");
    write(master, "ab\004\n", 4);
    is_str(line_of(slave, 2), "ab", "^D behind what a read wants");
    is_str(line_of(slave, 2), "\n", "does not end the next read");
    close(master);
    close(slave);
}

static void wait_in(int what, int master, int slave)
{
    char buf[20000] = {0};
    struct epoll_event e = {EPOLLIN, {0}};
    int ep;

    switch (what) {
    case READ_SLAVE:
        read(slave, buf, 1);
        break;
    case WRITE_SLAVE:
        write(slave, buf, sizeof(buf));
        break;
    case READ_MASTER:
        read(master, buf, 1);
        break;
    case WRITE_MASTER:
        write(master, buf, sizeof(buf));
        break;
    default:
        ep = epoll_create1(0);
        epoll_ctl(ep, EPOLL_CTL_ADD, slave, &e);
        epoll_wait(ep, &e, 1, -1);
    }
}

static void waits_end(void)
{
    int woken = 0, killed = 0, master, slave;
    pid_t pid;

    for (int what = 0; what < WAITS; what++) {
        raw_pair(&master, &slave);
        pid = fork();
        if (pid == 0) {
            wait_in(what, master, slave);
            _exit(0);
        }
        usleep(20000);
        killed += waitpid(pid, NULL, WNOHANG) == 0; /* it waits */
        kill(pid, SIGKILL);
        killed += reap(pid) == -1;
        close(slave);
        close(master);
    }
    is(killed, 2 * WAITS, "a process that waits for a pseudo-terminal can be killed");
    for (int what = 0; what < WAITS; what++) {
        if (what == READ_MASTER || what == WRITE_MASTER)
            continue;
        raw_pair(&master, &slave);
        pid = fork();
        if (pid == 0) {
            close(master);
            wait_in(what, master, slave);
            _exit(0);
        }
        usleep(20000);
        close(master);
        woken += reap(pid) == 0;
        close(slave);
    }
    is(woken, WAITS - 2, "the end of the master ends waits for the terminal");
}

/* ---- hang-up ---- */

static volatile sig_atomic_t hups;

static void on_hup(int sig)
{
    (void)sig;
    hups++;
}

/* The leader is told at once, its foreground group when it ends. */
static void hang_up(void)
{
    int master, p[2];
    char c = 0;
    pid_t pid;

    if (pipe(p) != 0)
        bail_out("no pipe");
    pid = forkpty(&master, NULL, NULL, NULL);
    if (pid == 0) {
        pid_t job;

        signal(SIGHUP, on_hup);
        signal(SIGTTOU, SIG_IGN);
        job = fork();
        if (job == 0) {
            setpgid(0, 0);
            tcsetpgrp(0, getpgrp());
            write(p[1], "j", 1);
            while (!hups)
                poll(NULL, 0, 1);
            write(p[1], "h", 1);
            _exit(0);
        }
        while (!hups)
            poll(NULL, 0, 1);
        poll(NULL, 0, 50); /* the job must not have been told yet */
        write(p[1], "l", 1);
        _exit(hups == 1 ? 0 : 1);
    }
    close(p[1]);
    read(p[0], &c, 1);
    is(c, 'j', "a job is in the foreground");
    close(master);
    read(p[0], &c, 1);
    is(c, 'l', "the leader gets SIGHUP when the master is closed");
    is(reap(pid), 0, "once");
    read(p[0], &c, 1);
    is(c, 'h', "the job gets it when the leader ends");
    close(p[0]);
}

/* ---- users ---- */

static int as_user(int (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(setgid(UID) != 0 || setuid(UID) != 0 ? 97 : fn());
    return reap(pid);
}

static int inherited;

static int open_errno(void)
{
    int fd = open(name, O_RDWR | O_NOCTTY);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int read_errno(void)
{
    char c;

    return read(inherited, &c, 1) < 0 ? errno : 0;
}

static int own_pair(void)
{
    int master, slave;
    struct stat st;

    if (openpty(&master, &slave, NULL, NULL, NULL) != 0 || fstat(slave, &st) != 0)
        return 1;
    return st.st_uid == UID && (st.st_mode & 07777) == 0620 && st.st_gid == 5 ? 0 : 2;
}

static int exhaust(void)
{
    int n = 0;

    while (open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0)
        n++;
    return n == LIMIT && errno == ENOSPC ? 0 : 1;
}

static void set_limit(const char *parameter, long value)
{
    if (mega$control(MEGA_CTL_SET_PARAM, (uint64_t)parameter, (uint64_t)value, 0, 0, 0) !=
        SS$_NORMAL)
        bail_out("%s cannot be set", parameter);
}

static void users(void)
{
    int master, slave;
    pid_t leader;

    if (openpty(&master, &slave, name, NULL, NULL) != 0)
        bail_out("no pair");
    is(as_user(open_errno), EACCES, "another user cannot open root's terminal");
    leader = fork();
    if (leader == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        pause();
    }
    while (tcgetpgrp(master) != leader)
        poll(NULL, 0, 1);
    inherited = slave;
    is(as_user(read_errno), EIO, "nor read it by a descriptor, while a session has it");
    kill(leader, SIGKILL);
    reap(leader);
    close(slave);
    close(master);
    is(as_user(own_pair), 0, "a user's pair is the user's own");
}

/* ---- races ---- */

/* Pairs are made, opened by name, acquired and closed while others do the same. */
static int racer(unsigned seed)
{
    for (int n = 0; n < 60; n++) {
        char path[32];
        int master, slave;
        pid_t pid;

        snprintf(path, sizeof(path), "/dev/pts/%d", (int)((seed + (unsigned)n) % 5));
        slave = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (slave >= 0) {
            write(slave, "race", 4);
            close(slave);
        }
        pid = forkpty(&master, NULL, NULL, NULL);
        if (pid < 0)
            return 1;
        if (pid == 0) {
            char c;

            read(0, &c, 1);
            _exit(0);
        }
        if (n % 3)
            write(master, "x\n\003", 3);
        if (n % 2)
            kill(pid, SIGKILL);
        close(master);
        waitpid(pid, NULL, 0);
    }
    return 0;
}

static void races(void)
{
    pid_t pid[4];
    int bad = 0;

    for (unsigned k = 0; k < 4; k++) {
        pid[k] = fork();
        if (pid[k] == 0)
            _exit(racer(k));
    }
    for (int k = 0; k < 4; k++)
        bad |= reap(pid[k]);
    is(bad, 0, "pairs come and go beside each other");
}

int main(void)
{
    session_of_a_shell();
    is(known_to_proc(), 0, "/proc tells the terminal and its foreground group");
    streams();
    nonblocking();
    ends_of_lines();
    waits_end();
    hang_up();
    users();
    set_limit("USER_PTYS", LIMIT);
    is(as_user(exhaust), 0, "a user has as many pseudo-terminals as the quota says");
    set_limit("USER_PTYS", -1);
    races();
    return tap_done();
}
