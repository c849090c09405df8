/* Pseudo-terminals: pairs and their names, locks, both directions, settings, ends, packet mode,
   sessions and signals; from pty(7), ptmx(4), pts(4), ioctl_tty(2), termios(3), poll(2). */
#include "conformance.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <termios.h>

static int master, slave;

static int polled(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

/* Wait until fd can be read: what is written at one end may take a moment to reach the other. */
static void settle(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    poll(&p, 1, 2000);
}

/* Read once, and print what came with control characters made visible. */
static void show(const char *name, int fd)
{
    char in[256], out[1024];
    size_t k = 0;
    ssize_t n = read(fd, in, sizeof(in));

    if (n < 0) {
        TEXT(name, "-1 %s", strerrorname_np(errno));
        return;
    }
    for (ssize_t i = 0; i < n; i++)
        k += (size_t)sprintf(out + k, in[i] >= ' ' && in[i] < 127 ? "%c" : "<%02x>",
                             (unsigned char)in[i]);
    out[k] = '\0';
    TEXT(name, "%zd %s", n, out);
}

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        printf("not written\n");
}

static void change(int fd, tcflag_t off, tcflag_t on)
{
    struct termios t;

    tcgetattr(fd, &t);
    t.c_lflag = (t.c_lflag & ~off) | on;
    tcsetattr(fd, TCSANOW, &t);
}

static void open_pair(void)
{
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
        printf("no pair: %s\n", strerror(errno));
}

static void close_pair(void)
{
    close(slave);
    close(master);
}

static void names(void)
{
    char name[64], again[64];
    int m = open("/dev/ptmx", O_RDWR | O_NOCTTY), s, n = -1;
    struct statfs fs;
    struct stat st;

    VALUE_AS("open /dev/ptmx", m >= 0);
    CASE_AS("TIOCGPTN", ioctl(m, TIOCGPTN, &n));
    CASE_AS("TIOCGPTN, a bad address", ioctl(m, TIOCGPTN, 8));
    snprintf(name, sizeof(name), "/dev/pts/%d", n);
    VALUE_AS("ptsname", ptsname(m) && strcmp(ptsname(m), name) == 0);
    CASE_AS("grantpt", grantpt(m));
    CASE_AS("stat of the name", stat(name, &st));
    TEXT("mode", "%o", st.st_mode & ~0777u);
    VALUE_AS("major", (st.st_rdev >> 8) & 0xFFF);
    VALUE_AS("minor is the number", (int)(st.st_rdev & 0xFF) == n);
    VALUE_AS("links", st.st_nlink);
    VALUE_AS("inode", (long)st.st_ino - n);
    CASE_AS("statfs", statfs("/dev/pts", &fs));
    TEXT("type", "%lx", (long)fs.f_type);
    CASE_AS("open while locked", open(name, O_RDWR | O_NOCTTY));
    n = -1;
    CASE_AS("TIOCGPTLCK", ioctl(m, TIOCGPTLCK, &n));
    VALUE_AS("locked", n);
    CASE_AS("TIOCGPTPEER while locked", ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY));
    VALUE_AS("poll before it is open", polled(m, POLLIN | POLLOUT));
    CASE_AS("unlockpt", unlockpt(m));
    ioctl(m, TIOCGPTLCK, &n);
    VALUE_AS("locked", n);
    s = open(name, O_RDWR | O_NOCTTY);
    VALUE_AS("open", s >= 0);
    VALUE_AS("isatty of the terminal", isatty(s));
    VALUE_AS("isatty of the master", isatty(m));
    VALUE_AS("ttyname", ttyname_r(s, again, sizeof(again)) == 0 && strcmp(again, name) == 0);
    CASE_AS("flags", fcntl(s, F_GETFL) & (O_ACCMODE | O_NOCTTY));
    CASE_AS("lseek", lseek(s, 0, SEEK_SET));
    CASE_AS("lseek of the master", lseek(m, 0, SEEK_SET));
    CASE_AS("pread", pread(s, again, 1, 0));
    CASE_AS("ftruncate", ftruncate(s, 0));
    CASE_AS("TIOCGPTN of the terminal", ioctl(s, TIOCGPTN, &n));
    CASE_AS("TIOCGPTPEER of the terminal", ioctl(s, TIOCGPTPEER, O_RDWR));
    CASE_AS("TIOCGPTPEER of a file", ioctl(open("/dev/null", O_RDWR), TIOCGPTPEER, O_RDWR));
    CASE_AS("chmod", chmod(name, 0666));
    stat(name, &st);
    TEXT("mode", "%o", st.st_mode);
    CASE_AS("unlink", unlink(name));
    CASE_AS("create in /dev/pts", open("/dev/pts/x", O_CREAT | O_RDWR, 0600));
    CASE_AS("mkdir in /dev/pts", mkdir("/dev/pts/x", 0700));
    CASE_AS("link", link(name, "/tmp/pts"));
    CASE_AS("rename", rename(name, "/dev/pts/x"));
    CASE_AS("a name that is no number", open("/dev/pts/00", O_RDWR));
    close(m);
    CASE_AS("stat after the master was closed", stat(name, &st));
    CASE_AS("fstat then", fstat(s, &st));
    close(s);
}

static void lines(void)
{
    char c;

    open_pair();
    say(master, "hello\n");
    settle(slave);
    show("echo", master);
    show("a line", slave);
    say(slave, "a\nb\n");
    settle(master);
    show("output", master);
    say(master, "ab\177c\n");
    settle(slave);
    show("erased", slave);
    show("echo of it", master);
    say(master, "one two\027x\n");
    settle(slave);
    show("a word erased", slave);
    read(master, &c, 1);
    tcflush(master, TCIOFLUSH);
    change(slave, ECHO, 0);
    say(master, "first\nsecond\n");
    settle(slave);
    show("two lines, one read", slave);
    show("the other line", slave);
    say(master, "part\004");
    settle(slave);
    show("up to the end of file", slave);
    say(master, "\004");
    settle(slave);
    show("end of file", slave);
    say(master, "long\n");
    settle(slave);
    CASE_AS("the first byte", read(slave, &c, 1));
    show("the rest", slave);
    say(master, "cr\r");
    settle(slave);
    show("ICRNL", slave);
    say(master, "unfinished");
    VALUE_AS("poll with an unfinished line", polled(slave, POLLIN | POLLOUT));
    VALUE_AS("poll of the master", polled(master, POLLIN | POLLOUT));
    change(slave, ICANON | ECHO, 0);
    settle(slave);
    show("it can be read in raw mode", slave);
    fcntl(slave, F_SETFL, O_NONBLOCK);
    fcntl(master, F_SETFL, O_NONBLOCK);
    show("nothing to read", slave);
    show("nothing at the master", master);
    CASE_AS("read of no bytes", read(slave, &c, 0));
    CASE_AS("write of no bytes", write(slave, "", 0));
    CASE_AS("write from a bad address", syscall(SYS_write, slave, 8, 1));
    CASE_AS("write from a bad address to the master", syscall(SYS_write, master, 8, 1));
    close_pair();
}

static void requests(void)
{
    struct winsize size = {10, 20, 30, 40}, got;
    struct termios t;
    int n = -1;

    open_pair();
    CASE_AS("TIOCGWINSZ at first", ioctl(slave, TIOCGWINSZ, &got));
    TEXT("the size", "%d %d %d %d", got.ws_row, got.ws_col, got.ws_xpixel, got.ws_ypixel);
    CASE_AS("TIOCSWINSZ of the master", ioctl(master, TIOCSWINSZ, &size));
    ioctl(slave, TIOCGWINSZ, &got);
    TEXT("the size", "%d %d %d %d", got.ws_row, got.ws_col, got.ws_xpixel, got.ws_ypixel);
    CASE_AS("tcgetattr of the master", tcgetattr(master, &t));
    VALUE_AS("ICRNL, IXON", (t.c_iflag & (ICRNL | IXON | INLCR | IGNCR)) == (ICRNL | IXON));
    VALUE_AS("OPOST, ONLCR", (t.c_oflag & (OPOST | ONLCR)) == (OPOST | ONLCR));
    VALUE_AS("local flags",
             t.c_lflag == (ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN));
    TEXT("characters", "%d %d %d %d %d %d %d %d", t.c_cc[VINTR], t.c_cc[VQUIT], t.c_cc[VERASE],
         t.c_cc[VKILL], t.c_cc[VEOF], t.c_cc[VSTART], t.c_cc[VSTOP], t.c_cc[VSUSP]);
    cfmakeraw(&t);
    CASE_AS("tcsetattr of the master", tcsetattr(master, TCSAFLUSH, &t));
    tcgetattr(slave, &t);
    VALUE_AS("raw", !(t.c_lflag & (ECHO | ICANON | ISIG | IEXTEN)));
    say(master, "12345");
    settle(slave);
    CASE_AS("FIONREAD", ioctl(slave, FIONREAD, &n));
    VALUE_AS("bytes", n);
    CASE_AS("tcflush", tcflush(slave, TCIFLUSH));
    ioctl(slave, FIONREAD, &n);
    VALUE_AS("bytes", n);
    say(slave, "1234567");
    settle(master);
    CASE_AS("FIONREAD of the master", ioctl(master, FIONREAD, &n));
    VALUE_AS("bytes", n);
    CASE_AS("tcflush of nothing known", ioctl(slave, TCFLSH, 3));
    CASE_AS("tcflow of nothing known", ioctl(slave, TCXONC, 4));
    CASE_AS("tcdrain", tcdrain(slave));
    CASE_AS("an unknown request", ioctl(slave, 0x1234, 0));
    CASE_AS("an unknown request of the master", ioctl(master, 0x1234, 0));
    CASE_AS("TIOCGPGRP without a session", ioctl(slave, TIOCGPGRP, &n));
    CASE_AS("TIOCGSID without a session", ioctl(slave, TIOCGSID, &n));
    CASE_AS("TIOCGPGRP of the master", ioctl(master, TIOCGPGRP, &n));
    VALUE_AS("group", n);
    CASE_AS("TIOCGSID of the master", ioctl(master, TIOCGSID, &n));
    CASE_AS("TIOCSIG of nothing known", ioctl(master, TIOCSIG, 1));
    CASE_AS("TIOCPKT of the terminal", ioctl(slave, TIOCPKT, &n));
    close_pair();
}

static void ends(void)
{
    char c;
    int m;

    open_pair();
    say(slave, "last words\n");
    close(slave);
    settle(master);
    show("what was written before the end", master);
    show("after the end", master);
    VALUE_AS("poll after the end", polled(master, POLLIN));
    CASE_AS("write after the end", write(master, "x", 1));
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    VALUE_AS("opened again", slave >= 0);
    VALUE_AS("poll then", polled(master, POLLIN) & POLLHUP);
    close(master);
    CASE_AS("read of a terminal that is gone", read(slave, &c, 1));
    CASE_AS("write to it", write(slave, "x", 1));
    CASE_AS("ioctl of it", ioctl(slave, TIOCGWINSZ, &c));
    VALUE_AS("poll of it", polled(slave, POLLIN | POLLOUT));
    close(slave);
    open_pair();
    m = dup(master);
    close(master);
    VALUE_AS("poll with another descriptor of the master", polled(slave, POLLIN | POLLOUT));
    close(m);
    close(slave);
}

static void packets(void)
{
    int one = 1, zero = 0, n = -1;

    open_pair();
    CASE_AS("TIOCPKT", ioctl(master, TIOCPKT, &one));
    CASE_AS("TIOCGPKT", ioctl(master, TIOCGPKT, &n));
    VALUE_AS("packet mode", n);
    say(slave, "data\n");
    settle(master);
    show("data", master);
    tcflush(slave, TCIFLUSH);
    VALUE_AS("poll after a flush", polled(master, POLLIN | POLLPRI) & POLLPRI);
    show("flushed", master);
    tcflow(slave, TCOOFF);
    show("stopped", master);
    VALUE_AS("poll to write while stopped", polled(slave, POLLOUT));
    tcflow(slave, TCOON);
    show("started", master);
    VALUE_AS("poll to write then", polled(slave, POLLOUT));
    CASE_AS("TIOCPKT off", ioctl(master, TIOCPKT, &zero));
    say(slave, "plain\n");
    settle(master);
    show("data", master);
    close_pair();
}

static void flow(void)
{
    open_pair();
    change(slave, ECHO, 0);
    fcntl(slave, F_SETFL, O_NONBLOCK);
    say(master, "\023");
    usleep(20000);
    CASE_AS("write after ^S", write(slave, "x", 1));
    say(master, "\021");
    usleep(20000);
    CASE_AS("write after ^Q", write(slave, "x", 1));
    close_pair();
}

static volatile sig_atomic_t got;

static void on_signal(int sig) { got = sig; }

static void await(void)
{
    for (int n = 0; !got && n < 2000; n++)
        usleep(1000);
    TEXT("the signal", "%s", got ? sigabbrev_np(got) : "none");
    got = 0;
}

/* In a child that leads no session yet. */
static void session(void)
{
    struct winsize size = {1, 2, 3, 4};
    int n = -1, tty;
    pid_t group;

    open_pair();
    CASE_AS("TIOCSCTTY of no leader", ioctl(slave, TIOCSCTTY, 0));
    setsid();
    CASE_AS("open /dev/tty without a terminal", open("/dev/tty", O_RDWR));
    CASE_AS("TIOCSCTTY", ioctl(slave, TIOCSCTTY, 0));
    CASE_AS("TIOCSCTTY again", ioctl(slave, TIOCSCTTY, 0));
    tty = open("/dev/tty", O_RDWR);
    VALUE_AS("open /dev/tty", tty >= 0);
    VALUE_AS("the foreground group", tcgetpgrp(tty) == getpgrp());
    VALUE_AS("the session", tcgetsid(tty) == getpid());
    VALUE_AS("the group asked of the master", tcgetpgrp(master) == getpgrp());
    CASE_AS("the session asked of the master", ioctl(master, TIOCGSID, &n));
    CASE_AS("tcsetpgrp by the master", tcsetpgrp(master, getpgrp()));
    for (int sig = 1; sig < 32; sig++)
        signal(sig, on_signal);
    signal(SIGALRM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    say(master, "\003");
    await();
    say(master, "\034");
    await();
    say(master, "\032");
    await();
    ioctl(master, TIOCSIG, SIGINT);
    await();
    ioctl(master, TIOCSWINSZ, &size);
    await();
    ioctl(master, TIOCSWINSZ, &size);
    usleep(10000);
    VALUE_AS("a signal when the size is the same", got);
    group = fork();
    if (group == 0) {
        setpgid(0, 0);
        signal(SIGTTIN, SIG_DFL);
        read(slave, &n, 1);
        _exit(0);
    }
    waitpid(group, &n, WUNTRACED);
    TEXT("a reader in the background", "%s",
         WIFSTOPPED(n) ? sigabbrev_np(WSTOPSIG(n)) : "not stopped");
    signal(SIGTTOU, SIG_IGN);
    CASE_AS("tcsetpgrp", tcsetpgrp(slave, group));
    VALUE_AS("the group asked of the master", tcgetpgrp(master) == group);
    kill(group, SIGKILL);
    waitpid(group, &n, 0);
    CASE_AS("tcsetpgrp back", tcsetpgrp(slave, getpgrp()));
    close(tty);
    got = 0;
    signal(SIGCONT, SIG_DFL);
    close(master);
    await();
    CASE_AS("open /dev/tty after the hang-up", open("/dev/tty", O_RDWR));
    CASE_AS("tcgetpgrp after the hang-up", tcgetpgrp(slave));
    CASE_AS("write after the hang-up", write(slave, "x", 1));
    close(slave);
    open_pair();
    CASE_AS("TIOCSCTTY of another", ioctl(slave, TIOCSCTTY, 0));
    CASE_AS("TIOCNOTTY", ioctl(slave, TIOCNOTTY));
    usleep(10000);
    close_pair();
}

/* A leader without a terminal acquires one by opening it. */
static void by_opening(void)
{
    int m = posix_openpt(O_RDWR | O_NOCTTY);
    char name[64];

    unlockpt(m);
    ptsname_r(m, name, sizeof(name));
    setsid();
    close(open(name, O_RDWR | O_NOCTTY));
    CASE_AS("/dev/tty after O_NOCTTY", open("/dev/tty", O_RDWR));
    close(open(name, O_WRONLY));
    CASE_AS("/dev/tty after O_WRONLY", open("/dev/tty", O_RDWR));
    slave = open(name, O_RDWR);
    VALUE_AS("/dev/tty after open", open("/dev/tty", O_RDWR) >= 0);
    signal(SIGHUP, SIG_IGN);
    if (fork() == 0) {
        VALUE_AS("open by a member", open(name, O_RDWR) >= 0);
        CASE_AS("TIOCSCTTY by a member", ioctl(slave, TIOCSCTTY, 0));
        CASE_AS("TIOCNOTTY by a member", ioctl(slave, TIOCNOTTY));
        CASE_AS("/dev/tty then", open("/dev/tty", O_RDWR));
        _exit(0);
    }
    wait(NULL);
    VALUE_AS("/dev/tty of the leader", open("/dev/tty", O_RDWR) >= 0);
}

/* The child ends with its terminal: the master reads what it wrote, and then the end. */
static void forked(void)
{
    int status, m;
    pid_t pid = forkpty(&m, NULL, NULL, NULL);

    if (pid == 0) {
        printf("%d %d\n", isatty(0), tcgetpgrp(1) == getpid());
        fflush(stdout);
        _exit(7);
    }
    waitpid(pid, &status, 0);
    show("what a child wrote", m);
    show("its end", m);
    VALUE_AS("its status", WEXITSTATUS(status));
    close(m);
}

int main(void)
{
    cases_begin();
    names();
    lines();
    requests();
    ends();
    packets();
    flow();
    in_child("session", session);
    in_child("by opening", by_opening);
    forked();
    return 0;
}
