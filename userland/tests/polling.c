// TAP
/*
 * poll and select, and whom a change of a file wakes: all who poll that file, few or many, by
 * whatever call and in whatever place of a large array, and nobody else.
 */
#define _GNU_SOURCE
#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <starlet.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

#define MANY      60  /* pollers of one file: more than a notifier wakes by itself */
#define MOST_RUNS 100 /* of a poller that is woken once, and loses the CPU at some clock ticks */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void make(int fd[2])
{
    if (pipe(fd) != 0)
        bail_out("no pipe");
}

/* Wait until a child is in a call that waits: it has told us that it is about to. */
static void settle(void) { usleep(20000); }

static int reap(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- one poller ---- */

static void one_file(void)
{
    int fd[2];
    pid_t pid;

    make(fd);
    pid = fork();
    if (pid == 0) {
        struct pollfd p[3] = {{fd[0], POLLIN, 0}, {-1, POLLIN, 77}, {fd[1], 0, 0}};
        int n = poll(p, 3, 30000);

        _exit(n == 1 && p[0].revents == POLLIN && p[1].revents == 0 && p[2].revents == 0 ? 0 : 1);
    }
    settle();
    is(write(fd[1], "x", 1), 1, "a byte is written");
    is(reap(pid), 0, "and wakes the poller of the pipe");
    pid = fork();
    if (pid == 0) {
        struct pollfd p = {fd[0], POLLPRI, 0};

        close(fd[1]);
        _exit(poll(&p, 1, 30000) == 1 && p.revents == POLLHUP ? 0 : 1);
    }
    settle();
    close(fd[1]);
    is(reap(pid), 0, "the end of the last writer wakes one that asked for neither");
    close(fd[0]);
}

static void timeouts(void)
{
    struct pollfd p;
    struct timeval t = {0, 30000};
    long start = now_ms(), took;
    fd_set set;
    int fd[2];

    make(fd);
    p = (struct pollfd){fd[0], POLLIN, 7};
    is(poll(&p, 1, 50), 0, "poll ends when its time is over");
    took = now_ms() - start;
    ok(took >= 50, "and not before");
    is(p.revents, 0, "with no event");
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    start = now_ms();
    is(select(fd[0] + 1, &set, NULL, NULL, &t), 0, "and select");
    took = now_ms() - start;
    ok(took >= 30, "after its time");
    ok(!FD_ISSET(fd[0], &set), "with an empty set");
    is(poll(NULL, 0, 10), 0, "poll of nothing is a sleep");
    p.fd = 99;
    is(poll(&p, 1, -1), 1, "a number without a file");
    is(p.revents, POLLNVAL, "is reported at once");
    close(fd[0]);
    close(fd[1]);
}

/* ---- many pollers of one file; each polls another, too, to which nothing happens ---- */

static void many_pollers(void)
{
    static pid_t pid[MANY];
    int fd[2], none[2], bad = 0, early = 0;

    make(fd);
    make(none);
    for (int i = 0; i < MANY; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            struct pollfd p[2] = {{none[0], POLLIN, 0}, {fd[0], POLLIN, 0}};
            fd_set set;

            if (i % 2) {
                FD_ZERO(&set);
                FD_SET(fd[0], &set);
                _exit(select(fd[0] + 1, &set, NULL, NULL, NULL) == 1 ? 0 : 1);
            }
            _exit(poll(p, 2, -1) == 1 && p[1].revents == POLLIN ? 0 : 1);
        }
    }
    settle();
    for (int i = 0; i < MANY; i++)
        early += waitpid(pid[i], NULL, WNOHANG) != 0;
    is(early, 0, "%d processes poll one pipe", MANY);
    if (write(fd[1], "x", 1) != 1)
        bail_out("no byte");
    for (int i = 0; i < MANY; i++)
        bad += reap(pid[i]) != 0;
    is(bad, 0, "one byte wakes them all");
    close(fd[0]);
    close(fd[1]);
    close(none[0]);
    close(none[1]);
}

/* How often the calling process has begun to run. */
static uint64_t begun(void)
{
    struct mega_process p = {0};

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p.switches;
}

/* A process that polls a pipe does not run while another is written to and read. */
static void unconcerned(void)
{
    int fd[2], other[2], told[2];
    uint64_t runs = 0;
    pid_t pid;
    char c;

    make(fd);
    make(other);
    make(told);
    pid = fork();
    if (pid == 0) {
        struct pollfd p = {fd[0], POLLIN, 0};

        runs = begun();
        poll(&p, 1, -1);
        runs = begun() - runs;
        _exit(write(told[1], &runs, sizeof(runs)) == sizeof(runs) ? 0 : 1);
    }
    settle();
    for (int i = 0; i < 20000; i++)
        if (write(other[1], "x", 1) != 1 || read(other[0], &c, 1) != 1)
            bail_out("the other pipe does not work");
    if (write(fd[1], "x", 1) != 1 || read(told[0], &runs, sizeof(runs)) != sizeof(runs))
        bail_out("the poller has said nothing");
    is(reap(pid), 0, "a poller whose pipe was written to last");
    ok(runs <= MOST_RUNS, "has not looked each time that another pipe changed");
    diag("it began to run %lu times", (unsigned long)runs);
    for (int i = 0; i < 2; i++) {
        close(fd[i]);
        close(other[i]);
        close(told[i]);
    }
}

/* ---- arrays longer than what fits on the kernel's stack ---- */

#define LONG 400

static void long_arrays(void)
{
    static struct pollfd p[LONG];
    struct rlimit l = {1024, 1024};
    int quiet[2], fd[2];
    pid_t pid;

    if (setrlimit(RLIMIT_NOFILE, &l) != 0)
        bail_out("no descriptors");
    make(quiet);
    make(fd);
    for (int place = 0; place < LONG; place += LONG / 3) {
        pid = fork();
        if (pid == 0) {
            for (int i = 0; i < LONG; i++)
                p[i] = (struct pollfd){i == place ? fd[0] : quiet[0], POLLIN, 0};
            _exit(poll(p, LONG, -1) == 1 && p[place].revents == POLLIN ? 0 : 1);
        }
        settle();
        if (write(fd[1], "x", 1) != 1)
            bail_out("no byte");
        is(reap(pid), 0, "place %d of %d is found ready", place, LONG);
        if (read(fd[0], p, 1) != 1)
            bail_out("no byte back");
    }
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < LONG; i++)
            p[i] = (struct pollfd){quiet[0], POLLIN, 0};
        poll(p, LONG, -1);
        _exit(0);
    }
    settle();
    kill(pid, SIGKILL);
    is(reap(pid), -1, "a poller of %d files is killed", LONG);
    close(quiet[0]);
    close(quiet[1]);
    close(fd[0]);
    close(fd[1]);
}

/* A thread of the same descriptor table closes a file that another polls. */
static int shared[2];
static char stack[65536] __attribute__((aligned(16)));

static int poll_shared(void *arg)
{
    struct pollfd p = {shared[0], POLLIN, 0};

    (void)arg;
    return poll(&p, 1, 30000) == 1 && (p.revents & (POLLHUP | POLLIN | POLLNVAL)) ? 0 : 1;
}

static void closed_meanwhile(void)
{
    pid_t pid;

    make(shared);
    pid = clone(poll_shared, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, NULL);
    if (pid < 0)
        bail_out("no clone");
    settle();
    close(shared[0]);
    close(shared[1]);
    is(reap(pid), 0, "a file that is closed while it is polled stays until poll returns");
}

/* Write and poll in turn, as fast as two processes can: a lost wake-up would hang. */
static void races(void)
{
    int to[2], from[2];
    pid_t pid;
    bool right = true;
    char c;

    make(to);
    make(from);
    pid = fork();
    for (int i = 0; i < 3000; i++) {
        struct pollfd p = {pid ? from[0] : to[0], POLLIN, 0};

        if (pid && write(to[1], "x", 1) != 1)
            right = false;
        if (poll(&p, 1, 60000) != 1 || read(p.fd, &c, 1) != 1)
            right = false;
        if (!pid && write(from[1], "y", 1) != 1)
            right = false;
    }
    if (!pid)
        _exit(right ? 0 : 1);
    ok(right, "3,000 answers were waited for by poll");
    is(reap(pid), 0, "and as many questions");
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
}

int main(void)
{
    one_file();
    timeouts();
    many_pollers();
    unconcerned();
    long_arrays();
    closed_meanwhile();
    races();
    return tap_done();
}
