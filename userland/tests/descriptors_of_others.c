// TAP
/* Descriptors of other processes: pidfd_getfd, /proc/PID/fd and fdinfo; who may see them, and what
 * happens while the other process opens, closes, shares and ends. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define GETFD 548
#define HIGH  900 /* beyond the first chunk of a table */

static int open_pid(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

static int get(int pidfd, int fd) { return (int)syscall(GETFD, pidfd, fd, 0); }

static void error_is(long r, int want, const char *what)
{
    ok(r == -1 && errno == want, "%s", what);
}

/* What the processes of a test say to each other. */
static volatile struct {
    unsigned ready, stop; /* atomic */
    unsigned long rounds;
} *shared;

static void say_ready(void) { __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE); }

static void until_ready(void)
{
    while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
        usleep(1000);
    shared->ready = 0;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static char path[96];

static const char *in_proc(pid_t pid, const char *folder, int fd)
{
    snprintf(path, sizeof(path), "/proc/%d/%s/%d", pid, folder, fd);
    return path;
}

/* ---- results ---- */

static pid_t holder(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open("/tmp/held", O_CREAT | O_RDWR | O_TRUNC, 0600), pair[2];

        write(fd, "0123456789", 10);
        lseek(fd, 4, SEEK_SET);
        dup2(fd, 50);
        dup2(fd, HIGH);
        fcntl(50, F_SETFD, FD_CLOEXEC);
        close(fd);
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        dup2(pair[0], 51);
        write(pair[1], "hello", 5);
        pipe(pair);
        dup2(pair[0], 52);
        write(pair[1], "pipe", 4);
        say_ready();
        for (;;)
            pause();
    }
    until_ready();
    return pid;
}

static void getting(void)
{
    pid_t pid = holder();
    int p = open_pid(pid), fd, high, null = open("/dev/null", O_RDONLY);
    struct rlimit limit, few;
    char c[16] = "";

    fd = get(p, 50);
    ok(fd >= 0, "a descriptor of another process");
    is(fcntl(fd, F_GETFD), FD_CLOEXEC, "exec closes it");
    is(read(fd, c, 2), 2, "it can be read");
    ok(!strcmp(c, "45"), "where the other one is");
    high = get(p, HIGH);
    is(lseek(high, 0, SEEK_CUR), 6, "its file has one position");
    close(high);
    high = get(p, 51);
    is(read(high, c, sizeof(c)), 5, "a socket of another process");
    close(high);
    error_is(get(p, 60), EBADF, "one that is not open: EBADF");
    error_is(get(p, HIGH + 1), EBADF, "nor is one of many");
    error_is(get(p, 700), EBADF, "nor between");
    error_is(get(p, -1), EBADF, "nor -1");
    error_is(get(p, INT32_MAX), EBADF, "nor the last number");
    error_is(get(-1, 50), EBADF, "of no descriptor: EBADF");
    error_is(get(null, 50), EBADF, "of a file: EBADF");
    error_is(syscall(GETFD, p, 50, 1), EINVAL, "flags: EINVAL");
    getrlimit(RLIMIT_NOFILE, &limit);
    few = limit;
    few.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &few);
    error_is(get(p, 50), EMFILE, "no descriptor left: EMFILE");
    setrlimit(RLIMIT_NOFILE, &limit);
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
    error_is(get(p, 50), ESRCH, "of a zombie: ESRCH");
    waitpid(pid, NULL, 0);
    error_is(get(p, 50), ESRCH, "of nobody: ESRCH");
    is(pread(fd, c, 3, 0), 3, "what one has stays");
    close(fd);
    close(p);
    p = open_pid(getpid());
    fd = get(p, null);
    ok(fd >= 0 && fd != null, "a descriptor of one's own");
    close(fd);
    close(null);
    close(p);
}

static void in_files(void)
{
    pid_t pid = holder();
    unsigned found = 0, n = 0;
    char text[256] = "";
    struct dirent *e;
    struct stat a, b;
    int fd;
    DIR *d;

    n = (unsigned)readlink(in_proc(pid, "fd", 50), text, sizeof(text));
    ok(n == 9 && !memcmp(text, "/tmp/held", 9), "the link of a file of another process");
    memset(text, 0, sizeof(text));
    readlink(in_proc(pid, "fd", 51), text, sizeof(text));
    ok(!strncmp(text, "socket:[", 8), "of a socket: %s", text);
    fd = open(in_proc(pid, "fd", HIGH), O_RDONLY);
    ok(fd >= 0 && read(fd, text, 4) == 4 && !memcmp(text, "0123", 4),
       "opening it opens the file anew");
    fstat(fd, &a);
    close(fd);
    ok(stat(in_proc(pid, "fd", 50), &b) == 0 && a.st_ino == b.st_ino, "and stat finds the file");
    fd = open(in_proc(pid, "fd", 52), O_RDONLY | O_NONBLOCK);
    ok(fd >= 0 && read(fd, text, 10) == 4, "a pipe can be opened");
    close(fd);
    error_is(open(in_proc(pid, "fd", 51), O_RDONLY), ENXIO, "a socket cannot");
    error_is(readlink(in_proc(pid, "fd", 60), text, 10), ENOENT, "nor what is not open");
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    d = opendir(path);
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.') {
            int k = atoi(e->d_name);

            n++;
            found += k == 50 || k == 51 || k == 52 || k == HIGH;
        }
    closedir(d);
    is(found, 4, "all are listed");
    fd = open(in_proc(pid, "fdinfo", 50), O_RDONLY);
    memset(text, 0, sizeof(text));
    ok(read(fd, text, sizeof(text) - 1) > 0, "what is known of one");
    close(fd);
    ok(strstr(text, "pos:\t4\n") == text, "its position");
    ok(strstr(text, "flags:\t010000002\n") != NULL, "its flags, with close-on-exec: %s", text);
    snprintf(path, sizeof(path), "ino:\t%lu\n", (unsigned long)a.st_ino);
    ok(strstr(text, path) != NULL, "its inode");
    fd = open(in_proc(pid, "fdinfo", 51), O_RDONLY);
    memset(text, 0, sizeof(text));
    ok(read(fd, text, sizeof(text) - 1) > 0 && strstr(text, "pos:\t0\nflags:\t02\n"),
       "of a socket");
    close(fd);
    fd = open(in_proc(getpid(), "fdinfo", 0), O_RDONLY);
    ok(fd >= 0, "of one's own");
    close(fd);
    for (fd = 3; fd < 10; fd++) { /* the file that tells of itself */
        int f = open(in_proc(getpid(), "fdinfo", 0), O_RDONLY);

        close(f);
        dup2(0, f);
        f = open(in_proc(getpid(), "fdinfo", f), O_RDONLY);
        n = (unsigned)read(f, text, sizeof(text));
        close(f);
    }
    fd = open_pid(pid);
    d = fdopendir(open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY));
    memset(text, 0, sizeof(text));
    n = (unsigned)open(in_proc(getpid(), "fdinfo", fd), O_RDONLY);
    read((int)n, text, sizeof(text) - 1);
    close((int)n);
    snprintf(path, sizeof(path), "Pid:\t%d\n", pid);
    ok(strstr(text, path) != NULL, "a pidfd tells its process");
    for (found = 0; d && (e = readdir(d));)
        found += atoi(e->d_name) == fd;
    closedir(d);
    is(found, 1, "and is listed there");
    close(fd);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/50", pid, pid);
    ok(readlink(path, text, sizeof(text)) == 9, "so is one of a thread");
    end(pid);
    error_is(readlink(in_proc(pid, "fd", 50), text, 10), ENOENT,
             "and all is gone with the process");
}

/* ---- who may ---- */

static int as_user(pid_t pid, int (*fn)(pid_t pid))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(setgid(1000) || setuid(1000) ? 99 : fn(pid));
    waitpid(child, &status, 0);
    return status;
}

static int is_refused(pid_t pid)
{
    int p = open_pid(pid), wrong = 0;
    char text[8];

    wrong |= !(get(p, 50) == -1 && errno == EPERM) << 0;
    wrong |= !(get(p, 60) == -1 && errno == EPERM) << 1;
    wrong |= !(readlink(in_proc(pid, "fd", 50), text, 8) == -1 && errno == EACCES) << 2;
    wrong |= !(open(in_proc(pid, "fd", 50), O_RDONLY) == -1 && errno == EACCES) << 3;
    wrong |= !(open(in_proc(pid, "fdinfo", 50), O_RDONLY) == -1 && errno == EACCES) << 4;
    return wrong;
}

static int is_allowed(pid_t pid)
{
    char text[16];

    return get(open_pid(pid), 50) < 0 ||
           readlink(in_proc(pid, "fd", 50), text, sizeof(text)) != 9 ||
           open(in_proc(pid, "fdinfo", 50), O_RDONLY) < 0;
}

static int own_child(pid_t pid)
{
    int wrong;

    (void)pid;
    prctl(PR_SET_DUMPABLE, 1); /* which setuid has forbidden */
    pid = holder();
    wrong = is_allowed(pid);
    end(pid);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        dup2(0, 50);
        say_ready();
        for (;;)
            pause();
    }
    until_ready();
    wrong |= is_refused(pid) << 1;
    end(pid);
    return wrong;
}

static void permission(void)
{
    pid_t pid = holder();

    is(as_user(pid, is_refused), 0, "another user's descriptors are refused");
    end(pid);
    unlink("/tmp/held");
    is(as_user(0, own_child), 0, "one's own are not, but those of whom nobody may trace");
    unlink("/tmp/held");
}

/* ---- meanwhile ---- */

static void *closes(void *arg)
{
    int many = arg != NULL;

    for (unsigned long k = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); k++) {
        int fd = open("/dev/null", O_RDONLY), pair[2];

        dup2(fd, 50);
        if (many && k % 64 == 0)
            dup2(fd, HIGH + (int)(k % 512));
        close(fd);
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
            dup2(pair[0], 51);
            close(pair[0]);
            close(pair[1]);
        }
        close(50);
        close(51);
        if (many && k % 64 == 63)
            close_range(HIGH, ~0u, 0);
        if (k % 256 == 255)
            usleep(1);
        shared->rounds++;
    }
    return arg;
}

/* Processes that open and close: one thread; several; sharing with a process that comes and goes;
 * forking; beginning a program and ending, again and again. */
static void busy(int how)
{
    pthread_t t[3];
    pid_t pid;

    switch (how) {
    case 0:
        closes(&t);
        break;
    case 1:
        for (unsigned k = 0; k < 3; k++)
            pthread_create(&t[k], NULL, closes, &t);
        for (unsigned k = 0; k < 3; k++)
            pthread_join(t[k], NULL);
        break;
    case 2:
        while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
            pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
            for (unsigned k = 0; k < 20; k++) {
                dup2(0, 50);
                dup2(0, 51);
                close(50);
                close(51);
            }
            if (pid == 0)
                _exit(0);
            waitpid(pid, NULL, 0);
            shared->rounds++;
        }
        break;
    default:
        while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
            pthread_create(&t[0], NULL, closes, NULL);
            pid = fork();
            if (pid == 0) {
                dup2(0, 50);
                _exit(0);
            }
            usleep(300);
            waitpid(pid, NULL, 0);
            shared->stop = 2;
            pthread_join(t[0], NULL);
            if (shared->stop == 2)
                shared->stop = 0;
            shared->rounds++;
        }
    }
    _exit(0);
}

static unsigned look_around(pid_t pid, int p, unsigned *got)
{
    unsigned wrong = 0;
    char text[64];

    for (int fd = 49; fd < 52; fd++) {
        int mine = get(p, fd);
        ssize_t n = readlink(in_proc(pid, "fd", fd), text, sizeof(text));

        if (mine >= 0) {
            (*got)++;
            wrong += fcntl(mine, F_GETFL) < 0;
            close(mine);
        } else {
            wrong += errno != EBADF && errno != ENOENT && errno != ESRCH;
        }
        wrong += n >= 0 && strncmp(text, "/dev/", 5) && strncmp(text, "socket:", 7) &&
                 strncmp(text, "/", 1) && strncmp(text, "pipe:", 5) && strncmp(text, "stream", 6);
    }
    return wrong;
}

static void meanwhile(void)
{
    static const char *const what[] = {"of one thread", "of three threads", "shared now and then",
                                       "of threads that come and go"};

    for (int how = 0; how < 4; how++) {
        unsigned got = 0, wrong = 0, listed = 0;
        pid_t pid;
        int p;

        shared->stop = 0;
        shared->rounds = 0;
        pid = fork();
        if (pid == 0)
            busy(how);
        p = open_pid(pid);
        while (shared->rounds < 5)
            usleep(1000);
        for (unsigned k = 0; k < 1500; k++) {
            wrong += look_around(pid, p, &got);
            if (k % 50 == 0) {
                struct dirent *e;
                DIR *d;

                snprintf(path, sizeof(path), "/proc/%d/fd", pid);
                d = opendir(path);
                while (d && (e = readdir(d)))
                    listed += e->d_name[0] != '.';
                closedir(d);
            }
        }
        shared->stop = 1;
        usleep(2000);
        end(pid);
        close(p);
        is(wrong, 0, "a table %s: what is there is found", what[how]);
        ok(listed >= 30 * 3, "and listed (%u of 4,500 were got, in %lu rounds)", got,
           shared->rounds);
    }
}

static void at_the_end(void)
{
    unsigned wrong = 0, got = 0;

    for (unsigned k = 0; k < 150; k++) {
        pid_t pid = fork();
        int p;

        if (pid == 0) {
            for (int fd = 40; fd < 60; fd++)
                dup2(0, fd);
            if (k % 2)
                usleep(100 * k);
            if (k % 3 == 0)
                execl("/bin/true", "true", NULL);
            _exit(0);
        }
        p = open_pid(pid);
        for (unsigned n = 0; n < 10; n++) {
            int fd = get(p, 45);

            got += fd >= 0;
            wrong += fd < 0 && errno != EBADF && errno != ESRCH;
            close(fd);
        }
        waitpid(pid, NULL, 0);
        close(p);
    }
    is(wrong, 0, "processes end while others look (%u were got)", got);
    /* killed while it looks */
    for (unsigned k = 0; k < 40; k++) {
        pid_t target = fork(), pid;

        if (target == 0)
            for (;;)
                sched_yield();
        pid = fork();
        if (pid == 0) {
            int p = open_pid(target);

            for (;;)
                close(get(p, (int)(k % 4)));
        }
        usleep(1000 + 100 * k);
        kill(k % 2 ? pid : target, SIGKILL);
        usleep(500);
        end(pid);
        end(target);
    }
    ok(1, "and who looks is killed");
}

/* ---- files that end, and tables that are given back, at any moment ---- */

/* The last reference of an epoll instance, whose end takes a mutex of its own. */
static void ends_files(void)
{
    for (;;)
        close(epoll_create1(0));
}

/* A table that is shared for a moment, and left for an own one. */
static void leaves_tables(void)
{
    for (;;) {
        pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

        if (pid == 0)
            syscall(SYS_exit_group, 0);
        syscall(SYS_close_range, 2000u, 3000u, 2u /* CLOSE_RANGE_UNSHARE */);
        waitpid(pid, NULL, 0);
    }
}

static void storms(void)
{
    static void (*const storm[])(void) = {ends_files, leaves_tables};

    for (unsigned n = 0; n < 2; n++) {
        unsigned wrong = 0;
        pid_t pid = fork();
        struct stat st;
        int p;

        if (pid == 0)
            storm[n]();
        p = open_pid(pid);
        for (unsigned k = 0; k < 2000; k++) {
            int fd = get(p, 3);

            wrong += fd < 0 && errno != EBADF;
            close(fd);
            wrong += lstat(in_proc(pid, "fd", 3), &st) != 0 && errno != ENOENT;
            wrong += lstat(in_proc(pid, "fd", 1), &st) != 0;
        }
        end(pid);
        close(p);
        is(wrong, 0, n ? "a table is left for another one" : "files end while others look");
    }
}

int main(void)
{
    shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    getting();
    in_files();
    permission();
    meanwhile();
    at_the_end();
    storms();
    return tap_done();
}
