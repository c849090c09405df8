/* epoll, eventfd, timerfd, poll and select: results, events and errors, from the manual pages of
   section 2. */
#include "conformance.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>

static int ep, ends[2];
static void *volatile nowhere = (void *)16;
static volatile int too_many = INT32_MAX;
static struct epoll_event got[16];

static int watch(int op, int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.u64 = 0x100000000 + (uint64_t)fd};

    return epoll_ctl(ep, op, fd, &e);
}

/* One look: how many, and the events of the first. */
static void look(const char *name)
{
    int n = epoll_wait(ep, got, 16, 0);

    if (n < 0)
        report_result(name, -1, errno);
    else
        TEXT(name, "%d %#x", n, n ? got[0].events : 0);
}

static void fill(int fd)
{
    static char block[4096];

    while (write(fd, block, sizeof(block)) > 0)
        ;
}

static void drain(int fd)
{
    static char block[4096];

    while (read(fd, block, sizeof(block)) > 0)
        ;
}

static void make(void)
{
    close(ends[0]);
    close(ends[1]);
    close(ep);
    ep = epoll_create1(EPOLL_CLOEXEC);
    if (ep < 0 || pipe2(ends, O_NONBLOCK) != 0)
        exit(1);
}

static void instances(void)
{
    int regular = open("conformance.events", O_RDWR | O_CREAT, 0600), folder = open("/", O_RDONLY);
    struct epoll_event e = {EPOLLIN, {0}};

    CASE(epoll_create(0));
    CASE(epoll_create(-1));
    CASE_AS("epoll_create(1)", close(epoll_create(1)));
    CASE(epoll_create1(1));
    VALUE_AS("EPOLL_CLOEXEC", fcntl(ep, F_GETFD));
    CASE(epoll_ctl(-1, EPOLL_CTL_ADD, ends[0], &e));
    CASE(epoll_ctl(999, EPOLL_CTL_ADD, ends[0], &e));
    CASE(epoll_ctl(ep, EPOLL_CTL_ADD, 999, &e));
    CASE(epoll_ctl(ends[0], EPOLL_CTL_ADD, ends[1], &e));
    CASE(epoll_ctl(ep, EPOLL_CTL_ADD, ep, &e));
    CASE(epoll_ctl(ep, 77, ends[0], &e));
    CASE(epoll_ctl(ep, 0, ends[0], &e));
    CASE(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], NULL));
    CASE_AS("add a regular file", epoll_ctl(ep, EPOLL_CTL_ADD, regular, &e));
    CASE_AS("add a directory", epoll_ctl(ep, EPOLL_CTL_ADD, folder, &e));
    CASE(epoll_ctl(ep, EPOLL_CTL_DEL, ends[0], NULL));
    CASE(epoll_ctl(ep, EPOLL_CTL_MOD, ends[0], &e));
    CASE(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e));
    CASE_AS("add again", epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e));
    CASE_AS("mod", epoll_ctl(ep, EPOLL_CTL_MOD, ends[0], &e));
    CASE_AS("del", epoll_ctl(ep, EPOLL_CTL_DEL, ends[0], NULL));
    CASE_AS("del again", epoll_ctl(ep, EPOLL_CTL_DEL, ends[0], NULL));
    CASE(epoll_wait(ep, got, 0, 0));
    CASE(epoll_wait(999, got, 1, 0));
    CASE(epoll_wait(ends[0], got, 1, 0));
    CASE(epoll_wait(ep, got, too_many, 0));
    CASE(epoll_wait(ep, got, 1, 10));
    CASE(read(ep, got, 1));
    CASE(write(ep, got, 1));
    CASE(lseek(ep, 0, SEEK_SET));
    close(regular);
    close(folder);
    unlink("conformance.events");
}

static void levels(void)
{
    make();
    CASE_AS("watch the read end", watch(EPOLL_CTL_ADD, ends[0], EPOLLIN));
    look("empty pipe");
    CASE(write(ends[1], "ab", 2));
    look("level, once");
    VALUE_AS("data", (long)(got[0].data.u64 - (uint64_t)ends[0] == 0x100000000));
    look("level, twice");
    drain(ends[0]);
    look("level, drained");
    CASE_AS("watch the write end", watch(EPOLL_CTL_ADD, ends[1], EPOLLOUT));
    look("a pipe with room");
    fill(ends[1]);
    look("a full pipe");
    CASE_AS("mask the write end", watch(EPOLL_CTL_MOD, ends[1], 0));
    drain(ends[0]);
    look("no events asked for");
    CASE_AS("unmask it", watch(EPOLL_CTL_MOD, ends[1], EPOLLOUT));
    look("unmasked");
    close(ends[1]);
    look("write end closed");
    close(ends[0]);
    look("both closed");

    make();
    watch(EPOLL_CTL_ADD, ends[1], EPOLLOUT);
    close(ends[0]);
    look("no reader");
}

static void edges(void)
{
    char c;

    make();
    watch(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET);
    look("edge, empty");
    CASE(write(ends[1], "ab", 2));
    look("edge, written");
    look("edge, nothing new");
    CASE(read(ends[0], &c, 1));
    look("edge, partly read");
    CASE(write(ends[1], "c", 1));
    look("edge, written again");
    CASE_AS("edge, mod", watch(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET));
    look("edge, after mod");
    look("edge, once only");
    drain(ends[0]);

    CASE_AS("one-shot", watch(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT));
    CASE(write(ends[1], "d", 1));
    look("one-shot, first");
    CASE(write(ends[1], "e", 1));
    look("one-shot, disabled");
    CASE_AS("one-shot, rearm", watch(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT));
    look("one-shot, rearmed");
    look("one-shot, disabled again");
    close(ends[1]);
    look("one-shot, no hang-up while disabled");
}

static void exclusive(void)
{
    int inner;

    make();
    inner = epoll_create1(0);
    CASE_AS("exclusive add", watch(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLEXCLUSIVE));
    CASE_AS("exclusive mod", watch(EPOLL_CTL_MOD, ends[0], EPOLLIN));
    CASE_AS("mod to exclusive", watch(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLEXCLUSIVE));
    CASE_AS("exclusive one-shot",
            watch(EPOLL_CTL_ADD, ends[1], EPOLLOUT | EPOLLEXCLUSIVE | EPOLLONESHOT));
    CASE_AS("exclusive instance", watch(EPOLL_CTL_ADD, inner, EPOLLIN | EPOLLEXCLUSIVE));
    CASE(write(ends[1], "x", 1));
    look("exclusive, written");
    CASE_AS("exclusive del", watch(EPOLL_CTL_DEL, ends[0], 0));
    close(inner);
}

static void duplicates(void)
{
    int copy;

    make();
    copy = dup(ends[0]);
    watch(EPOLL_CTL_ADD, ends[0], EPOLLIN);
    CASE_AS("the copy of a watched descriptor", watch(EPOLL_CTL_ADD, copy, EPOLLIN));
    CASE(write(ends[1], "x", 1));
    look("two watches");
    close(ends[0]);
    look("the original is closed, its file is not");
    close(copy);
    look("the file is closed");
}

static void nests(void)
{
    int e[8], outer = ep;
    struct epoll_event ev = {EPOLLIN, {0}};
    struct pollfd p;

    make();
    outer = epoll_create1(0);
    watch(EPOLL_CTL_ADD, ends[0], EPOLLIN);
    CASE_AS("an instance watches an instance", epoll_ctl(outer, EPOLL_CTL_ADD, ep, &ev));
    CASE_AS("nested, empty", epoll_wait(outer, got, 1, 0));
    CASE(write(ends[1], "x", 1));
    CASE_AS("nested, written", epoll_wait(outer, got, 1, 1000));
    p = (struct pollfd){outer, POLLIN, 0};
    CASE_AS("poll of the outer one", poll(&p, 1, 0));
    VALUE_AS("its events", p.revents);
    drain(ends[0]);
    CASE_AS("poll of the outer one, drained", poll(&p, 1, 0));
    CASE_AS("nested, drained", epoll_wait(outer, got, 1, 0));
    CASE_AS("a circle", epoll_ctl(ep, EPOLL_CTL_ADD, outer, &ev));
    close(outer);
    for (int i = 0; i < 8; i++)
        e[i] = epoll_create1(0);
    for (int i = 0; i < 7; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%d instances in a row", i + 2);
        CASE_AS(name, epoll_ctl(e[i + 1], EPOLL_CTL_ADD, e[i], &ev));
    }
    for (int i = 0; i < 8; i++)
        close(e[i]);
}

static void waits(void)
{
    struct timespec t = {0, 1000000}, bad = {0, 1000000000};
    sigset_t set;

    make();
    sigemptyset(&set);
    watch(EPOLL_CTL_ADD, ends[0], EPOLLIN);
    CASE(epoll_pwait(ep, got, 1, 0, &set));
    CASE(syscall(SYS_epoll_pwait, ep, got, 1, 0, &set, 4));
    CASE(syscall(SYS_epoll_pwait2, ep, got, 1, &t, NULL, 8));
    CASE(syscall(SYS_epoll_pwait2, ep, got, 1, &bad, NULL, 8));
    write(ends[1], "x", 1);
    CASE(syscall(SYS_epoll_pwait2, ep, got, 1, NULL, NULL, 8));
    CASE(epoll_wait(ep, nowhere, 1, 0));
    look("after a bad address");
    if (fork() == 0) {
        usleep(20000);
        write(ends[1], "y", 1);
        _exit(0);
    }
    drain(ends[0]);
    CASE_AS("wait for another process", epoll_wait(ep, got, 1, 20000));
    wait(NULL);
}

/* ---- eventfd ---- */

static long take(int fd)
{
    uint64_t v;

    return read(fd, &v, 8) == 8 ? (long)v : -1;
}

static long give(int fd, uint64_t v) { return write(fd, &v, 8); }

static void polled(const char *name, int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT, 0};

    poll(&p, 1, 0);
    VALUE_AS(name, p.revents);
}

static void counters(void)
{
    char small[4];
    int fd;

    CASE(eventfd(0, 0x10));
    fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
    VALUE_AS("EFD_CLOEXEC", fcntl(fd, F_GETFD));
    VALUE_AS("EFD_NONBLOCK", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    polled("eventfd 3, polled", fd);
    CASE(take(fd));
    CASE_AS("take of 0", take(fd));
    polled("eventfd 0, polled", fd);
    CASE(give(fd, 5));
    CASE(give(fd, 6));
    CASE_AS("take of 5 and 6", take(fd));
    CASE(give(fd, 0));
    CASE_AS("take after 0", take(fd));
    CASE(give(fd, UINT64_MAX));
    CASE(give(fd, UINT64_MAX - 1));
    CASE_AS("give above the maximum", give(fd, 1));
    polled("eventfd full, polled", fd);
    CASE_AS("take the maximum", take(fd));
    CASE(read(fd, small, 4));
    CASE(write(fd, small, 4));
    CASE(lseek(fd, 0, SEEK_SET));
    CASE(ftruncate(fd, 0));
    close(fd);
    fd = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    CASE_AS("semaphore 2", take(fd));
    CASE_AS("semaphore 1", take(fd));
    CASE_AS("semaphore 0", take(fd));
    CASE(give(fd, 2));
    CASE_AS("semaphore given 2", take(fd));
    polled("semaphore 1, polled", fd);
    close(fd);
    fd = eventfd(0, 0);
    if (fork() == 0) {
        usleep(20000);
        give(fd, 9);
        _exit(0);
    }
    CASE_AS("take waits", take(fd));
    wait(NULL);
    close(fd);
}

static void counters_watched(void)
{
    int fd = eventfd(0, EFD_NONBLOCK);

    make();
    watch(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET);
    look("eventfd, edge, 0");
    give(fd, 1);
    look("eventfd, edge, 1");
    look("eventfd, edge, nothing new");
    give(fd, 1);
    look("eventfd, edge, given again");
    close(fd);
}

/* ---- timerfd ---- */

static int set(int fd, int flags, long first_ns, long interval_ns)
{
    struct itimerspec t = {{interval_ns / 1000000000, interval_ns % 1000000000},
                           {first_ns / 1000000000, first_ns % 1000000000}};

    return timerfd_settime(fd, flags, &t, NULL);
}

static void timers(void)
{
    struct itimerspec t = {{0, 0}, {0, 0}}, old;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct timespec now;
    char small[4];

    CASE(timerfd_create(99, 0));
    CASE(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0));
    CASE(timerfd_create(CLOCK_MONOTONIC, 1));
    CASE_AS("timerfd of the wall clock", close(timerfd_create(CLOCK_REALTIME, 0)));
    CASE_AS("timerfd of the boot clock", close(timerfd_create(CLOCK_BOOTTIME, 0)));
    VALUE_AS("TFD_CLOEXEC", fcntl(fd, F_GETFD));
    CASE_AS("read, off", take(fd));
    polled("off, polled", fd);
    CASE(timerfd_gettime(fd, &old));
    VALUE_AS("left of a timer that is off", old.it_value.tv_sec + old.it_value.tv_nsec);
    CASE(timerfd_gettime(ends[0], &old));
    CASE(timerfd_gettime(999, &old));
    CASE(timerfd_settime(ends[0], 0, &t, NULL));
    CASE(timerfd_settime(999, 0, &t, NULL));
    CASE(timerfd_settime(fd, 77, &t, NULL));
    CASE(timerfd_settime(fd, 0, NULL, NULL));
    t.it_value.tv_nsec = 1000000000;
    CASE_AS("1,000,000,000 ns", timerfd_settime(fd, 0, &t, NULL));
    t.it_value = (struct timespec){-1, 0};
    CASE_AS("-1 s", timerfd_settime(fd, 0, &t, NULL));
    CASE_AS("read of 4 bytes", read(fd, small, 4));
    CASE_AS("write", write(fd, "12345678", 8));
    CASE_AS("set, one shot", set(fd, 0, 1000000, 0));
    usleep(20000);
    polled("expired, polled", fd);
    CASE_AS("read, expired", take(fd));
    CASE_AS("read, again", take(fd));
    CASE_AS("set, interval of a day", set(fd, 0, 1000000, 86400000000000));
    usleep(20000);
    CASE_AS("read, interval", take(fd));
    CASE(timerfd_gettime(fd, &old));
    VALUE_AS("interval", old.it_interval.tv_sec);
    VALUE_AS("left, about a day", (old.it_value.tv_sec + 99) / 100);
    CASE_AS("set, short interval", set(fd, 0, 1000000, 1000000));
    usleep(20000);
    VALUE_AS("several expirations", take(fd) >= 10);
    t = (struct itimerspec){{0, 0}, {500, 0}};
    CASE_AS("set, with the old setting", timerfd_settime(fd, 0, &t, &old));
    VALUE_AS("old interval", old.it_interval.tv_nsec);
    t.it_value.tv_sec = 0;
    CASE_AS("set off", timerfd_settime(fd, 0, &t, &old));
    VALUE_AS("what was left", (old.it_value.tv_sec + 1) / 10);
    clock_gettime(CLOCK_MONOTONIC, &now);
    CASE_AS("absolute, past",
            set(fd, TFD_TIMER_ABSTIME, now.tv_sec * 1000000000 + now.tv_nsec - 1, 0));
    usleep(5000);
    CASE_AS("read, past", take(fd));
    clock_gettime(CLOCK_MONOTONIC, &now);
    CASE_AS("absolute, soon",
            set(fd, TFD_TIMER_ABSTIME, now.tv_sec * 1000000000 + now.tv_nsec + 30000000, 0));
    CASE_AS("read, not yet", take(fd));
    fcntl(fd, F_SETFL, 0);
    CASE_AS("read, waits", take(fd));
    close(fd);
    fd = timerfd_create(CLOCK_REALTIME, 0);
    clock_gettime(CLOCK_REALTIME, &now);
    CASE_AS("wall clock, soon",
            set(fd, TFD_TIMER_ABSTIME, now.tv_sec * 1000000000 + now.tv_nsec + 10000000, 0));
    CASE_AS("wall clock, read", take(fd));
    close(fd);
}

static void timers_watched(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

    make();
    watch(EPOLL_CTL_ADD, fd, EPOLLIN);
    set(fd, 0, 5000000, 0);
    CASE_AS("wait for a timer", epoll_wait(ep, got, 1, 20000));
    CASE_AS("its count", take(fd));
    look("timer read");
    close(fd);
}

/* ---- signalfd ---- */

static void signals(void)
{
    struct signalfd_siginfo info[2];
    sigset_t set, other;
    int fd;

    make();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigemptyset(&other);
    sigaddset(&other, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    CASE(syscall(SYS_signalfd4, -1, &set, 4, 0));
    CASE(syscall(SYS_signalfd4, -1, &set, 8, 1));
    CASE(syscall(SYS_signalfd4, 999, &set, 8, 0));
    CASE(syscall(SYS_signalfd4, ends[0], &set, 8, 0));
    fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    VALUE_AS("SFD_CLOEXEC", fcntl(fd, F_GETFD));
    CASE_AS("signalfd, none", read(fd, info, sizeof(info)));
    polled("signalfd, none, polled", fd);
    watch(EPOLL_CTL_ADD, fd, EPOLLIN);
    look("signalfd, none, watched");
    raise(SIGUSR1);
    polled("signalfd, one, polled", fd);
    look("signalfd, one, watched");
    CASE_AS("signalfd, short buffer", read(fd, info, 127));
    CASE_AS("signalfd, one", read(fd, info, sizeof(info)));
    VALUE_AS("its signal", info[0].ssi_signo == SIGUSR1 && info[0].ssi_pid == (unsigned)getpid());
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    CASE_AS("signalfd, two", read(fd, info, sizeof(info)));
    VALUE_AS("both signals", info[0].ssi_signo + info[1].ssi_signo == SIGUSR1 + SIGUSR2);
    CASE_AS("signalfd, changed", signalfd(fd, &other, 0) == fd);
    raise(SIGUSR1);
    CASE_AS("signalfd, another signal", read(fd, info, sizeof(info)));
    CASE_AS("signalfd, changed back", signalfd(fd, &set, 0) == fd);
    CASE_AS("signalfd, the signal", read(fd, info, sizeof(info)));
    fcntl(fd, F_SETFL, 0);
    if (fork() == 0) {
        usleep(20000);
        kill(getppid(), SIGUSR2);
        _exit(0);
    }
    CASE_AS("wait for a signal", epoll_wait(ep, got, 1, 20000));
    CASE_AS("signalfd, from a child", read(fd, info, sizeof(info)));
    wait(NULL);
    if (fork() == 0) {
        usleep(20000);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    CASE_AS("signalfd, read waits", read(fd, info, sizeof(info)));
    wait(NULL);
    close(fd);
}

/* ---- poll and select ---- */

static void others(void)
{
    struct pollfd p[3];
    struct timespec t = {0, 0}, bad = {0, -1};
    struct timeval tv = {0, 0}, badv = {-1, 0};
    fd_set set;

    make();
    p[0] = (struct pollfd){ends[0], POLLIN, 0x7F};
    p[1] = (struct pollfd){-1, POLLIN, 0x7F};
    p[2] = (struct pollfd){999, POLLIN, 0x7F};
    CASE(poll(p, 3, 0));
    TEXT("events", "%#x %#x %#x", p[0].revents, p[1].revents, p[2].revents);
    CASE(poll(p, 2, 0));
    CASE(poll(NULL, 0, 0));
    CASE(poll(nowhere, 1, 0));
    CASE(ppoll(p, 2, &t, NULL));
    CASE(syscall(SYS_ppoll, p, 2, &bad, NULL, 8));
    p[0] = (struct pollfd){ends[1], POLLIN | POLLOUT, 0};
    CASE(poll(p, 1, 0));
    VALUE_AS("write end", p[0].revents);
    close(ends[0]);
    CASE(poll(p, 1, 0));
    VALUE_AS("write end, no reader", p[0].revents);
    make();
    close(ends[1]);
    p[0] = (struct pollfd){ends[0], POLLIN, 0};
    CASE(poll(p, 1, 0));
    VALUE_AS("read end, no writer", p[0].revents);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    CASE(select(ends[0] + 1, &set, NULL, NULL, &tv));
    CASE(select(-1, NULL, NULL, NULL, &tv));
    CASE(select(0, NULL, NULL, NULL, &badv));
    FD_ZERO(&set);
    FD_SET(200, &set);
    CASE(select(201, &set, NULL, NULL, &tv));
    CASE(select(ends[0] + 1, NULL, NULL, &set, &tv));
    p[0] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
    p[0].fd = open("/", O_RDONLY);
    p[0].events = POLLIN | POLLOUT;
    CASE(poll(p, 1, 0));
    VALUE_AS("a directory", p[0].revents);
    close(p[0].fd);
}

int main(void)
{
    cases_begin();
    make();
    instances();
    levels();
    edges();
    exclusive();
    duplicates();
    nests();
    waits();
    counters();
    counters_watched();
    timers();
    timers_watched();
    signals();
    others();
    return 0;
}
