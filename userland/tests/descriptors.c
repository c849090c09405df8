// TAP
/*
 * Many descriptors: the limit RLIMIT_NOFILE at its edges, who may change it, and tables that grow
 * to 70,000 numbers and give their memory back. A table that fork, exec, close_range, select and
 * poll see is the same whatever its size.
 */
#define _GNU_SOURCE
#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MANY 70000

static uint64_t pool_bytes(void)
{
    struct mega_pool p = {.in_use = 0};

    mega$info(MEGA_INFO_POOL, 0, &p, sizeof(p));
    return p.in_use;
}

static int set(rlim_t soft, rlim_t hard)
{
    struct rlimit l = {soft, hard};

    return setrlimit(RLIMIT_NOFILE, &l) ? errno : 0;
}

static int dup_to(int fd) { return dup2(0, fd) == fd ? 0 : errno; }

/* Everything that depends on the limit, when it is `soft`. */
static void edges(int soft)
{
    struct pollfd *p = calloc((size_t)soft + 1, sizeof(*p));

    is(getdtablesize(), soft, "the size of the table is the soft limit");
    is(dup_to(soft - 1), 0, "descriptor %d can be used", soft - 1);
    is(fcntl(0, F_DUPFD, soft - 1) < 0 ? errno : 0, EMFILE, "there is none above it");
    is(fcntl(0, F_DUPFD, soft) < 0 ? errno : 0, EINVAL, "F_DUPFD refuses a number at the limit");
    is(dup_to(soft), EBADF, "and dup2 does, too");
    is(poll(p, (nfds_t)soft, 0), 0, "poll takes as many descriptors");
    is(poll(p, (nfds_t)soft + 1, 0) < 0 ? errno : 0, EINVAL, "and not one more");
    close(soft - 1);
    free(p);
}

static void limits(void)
{
    struct rlimit l;

    getrlimit(RLIMIT_NOFILE, &l);
    is(l.rlim_cur, 1024, "1024 descriptors unless a process asks for more");
    is(l.rlim_max, 65536, "of which it may have CHANNELCNT");
    edges(1024);
    is(set(100, 99), EINVAL, "a soft limit above the hard one is refused");
    is(set(65536, 65536), 0, "the soft limit can be raised to the hard one");
    edges(65536);
    is(set(3, 65536), 0, "and lowered");
    is(dup(0) < 0 ? errno : 0, EMFILE, "so that there are no descriptors left");
    is(set(100000, 100000), 0, "root raises the hard limit");
    is(set(262144, 262145), EPERM, "up to what a table can have");
    is(set(262144, 262144), 0, "262,144");
    edges(262144);
}

static int as_user(void)
{
    struct rlimit l = {0}, less = {20, 100}, more = {20, 101};
    int wrong = 0;

    wrong |= setuid(500) != 0;
    wrong |= set(200000, 262144) != 0 ? 2 : 0;
    wrong |= set(256, 65537) != 0 ? 4 : 0;
    wrong |= set(256, 65538) != EPERM ? 8 : 0;
    wrong |= prlimit(0, RLIMIT_NOFILE, &less, &l) != 0 || l.rlim_max != 65537 ? 16 : 0;
    wrong |= set(100, 100) != 0 ? 32 : 0;
    wrong |= prlimit(0, RLIMIT_NOFILE, &more, NULL) == 0 || errno != EPERM ? 64 : 0;
    wrong |= prlimit(1, RLIMIT_NOFILE, NULL, &l) == 0 || errno != EPERM ? 128 : 0;
    return wrong;
}

static void others(void)
{
    struct rlimit l = {0}, less = {77, 88};
    int status = 1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(as_user());
    waitpid(pid, &status, 0);
    is(status >> 8, 0,
       "a user lowers both limits, raises the soft one only, and no other process's");
    pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    ok(prlimit(pid, RLIMIT_NOFILE, &less, &l) == 0 && l.rlim_max == 262144 &&
           prlimit(pid, RLIMIT_NOFILE, NULL, &l) == 0 && l.rlim_cur == 77 && l.rlim_max == 88,
       "root changes the limits of another process, which inherited them");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    is(prlimit(pid, RLIMIT_NOFILE, NULL, &l) < 0 ? errno : 0, ESRCH, "which must exist");
    is(prlimit(0, 16, NULL, &l) < 0 ? errno : 0, EINVAL, "and so must the resource");
}

/* ---- many ---- */

static int is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

/* Every third descriptor is closed, so that each level of the search for a free number counts. */
static void fill(void)
{
    int wrong = 0;

    for (int fd = 3; fd < MANY; fd++)
        wrong += dup(0) != fd;
    is(wrong, 0, "dup returns the lowest free number each time, up to %d", MANY - 1);
    for (int fd = 3; fd < MANY; fd += 3)
        wrong += close(fd) != 0;
    for (int fd = 3; fd < MANY; fd += 3)
        wrong += dup(0) != fd;
    is(wrong, 0, "the numbers that are closed are used again, the lowest first");
    wrong += close(40000) || close(600) || close(66000) || dup(0) != 600 || dup(0) != 40000 ||
             dup(0) != 66000 || dup(0) != MANY || close(MANY);
    is(wrong, 0, "wherever they are");
    for (int fd = 1000; fd < MANY; fd += 1000)
        wrong += fcntl(fd, F_SETFD, FD_CLOEXEC) != 0;
    is(fcntl(0, F_DUPFD, 30000), MANY, "F_DUPFD finds the lowest from a number on");
    wrong += close(MANY) != 0;
    is(wrong, 0, "marks can be set");
}

static int inherits(void)
{
    int wrong = 0;

    for (int fd = 0; fd < MANY; fd++)
        wrong += fcntl(fd, F_GETFD) != (fd >= 1000 && fd % 1000 == 0 ? FD_CLOEXEC : 0);
    return wrong != 0 || is_open(MANY);
}

static void waits(void)
{
    static unsigned long sets[3][MANY / 64 + 1];
    struct timeval now = {0, 0};
    int fds[2];

    if (pipe(fds) != 0)
        return;
    is(fds[0], MANY, "a pipe gets the next numbers");
    sets[0][fds[0] / 64] = 1ul << fds[0] % 64;
    is(syscall(SYS_select, fds[0] + 1, sets[0], NULL, NULL, &now), 0, "nothing can be read");
    sets[0][fds[0] / 64] = 1ul << fds[0] % 64;
    ok(write(fds[1], "x", 1) == 1 &&
           syscall(SYS_select, fds[0] + 1, sets[0], NULL, NULL, &now) == 1 &&
           sets[0][fds[0] / 64] == 1ul << fds[0] % 64,
       "select sees what can be read at a high number");
    close(fds[0]);
    close(fds[1]);
}

static void many(void)
{
    uint64_t before = pool_bytes(), grown;
    int status = 1, wrong = 0;
    pid_t pid;

    fill();
    grown = pool_bytes();
    ok(grown > before + MANY * 8 && grown < before + MANY * 10, "a descriptor takes %lu/10 bytes",
       (unsigned long)((grown - before) * 10 / MANY));
    pid = fork();
    if (pid == 0)
        _exit(inherits());
    waitpid(pid, &status, 0);
    is(status, 0, "fork copies all of them");
    /* Its thread may be freed a little later; the copy has half a megabyte. */
    ok(pool_bytes() < grown + 16384, "and the copy goes with its process");
    pid = fork();
    if (pid == 0) {
        execl("/tests/descriptors", "descriptors", "after exec", NULL);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "exec closes those that are marked");
    waits();
    is(syscall(SYS_close_range, 3, 65000, 0), 0, "close_range closes most of them");
    for (int fd = 3; fd < MANY; fd++)
        wrong += is_open(fd) != (fd > 65000);
    is(wrong, 0, "and no others");
    is(syscall(SYS_close_range, 65001, ~0u, 0), 0, "and the rest");
    ok(pool_bytes() < before + 16384, "the table gives its memory back while the process lives");
    for (int i = 0; i < 1000; i++) /* a number in a chunk of its own */
        wrong += dup2(0, 50000) != 50000 || close(50000) != 0;
    is(wrong, 0, "a number far from others can be opened and closed again and again");
    ok(pool_bytes() < before + 16384, "which takes no memory for ever");
}

/* ---- a table that processes share ---- */

static int shared_user(void *arg)
{
    int wrong = 0;

    (void)arg;
    for (int i = 0; i < 400; i++) {
        int fd = fcntl(0, F_DUPFD, 500 + i * 37 % 3000);

        wrong += fd < 0 || close(fd) != 0;
    }
    _exit(wrong != 0);
}

static void shared(void)
{
    enum { USERS = 3 };
    static char stacks[USERS][16384] __attribute__((aligned(16)));
    int wrong = 0, status;
    pid_t pid[USERS];

    for (int i = 0; i < USERS; i++)
        pid[i] = clone(shared_user, stacks[i] + sizeof(stacks[i]), CLONE_FILES | SIGCHLD, NULL);
    for (int i = 0; i < 60; i++) {
        pid_t copy = fork(); /* while the others change the table */

        if (copy == 0)
            _exit(0);
        wrong += copy < 0 || waitpid(copy, &status, 0) != copy || status;
    }
    for (int i = 0; i < USERS; i++)
        wrong += pid[i] < 0 || waitpid(pid[i], &status, 0) != pid[i] || status;
    is(wrong, 0, "processes that share a table let it grow and shrink, and others fork from it");
    for (int fd = 3; fd < 4000; fd++)
        wrong += is_open(fd);
    is(wrong, 0, "and nothing is left open");
}

static int after_exec(void)
{
    int wrong = 0;

    for (int fd = 0; fd < MANY; fd++)
        wrong += is_open(fd) != !(fd >= 1000 && fd % 1000 == 0);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return after_exec();
    limits();
    others();
    many();
    shared();
    return tap_done();
}
