// TAP
// SECONDS: 150
/*
 * Processes under stress: workers that fork, exit, write and read pipes, kill children at any time,
 * sleep, yield, move between CPUs and map memory. The order is random, from a seed that is printed;
 * `stress SEED SECONDS` repeats a run. As many pages are free afterwards as before, except for what
 * caches may keep.
 */
#define _GNU_SOURCE
#include <company.h>
#include <megalith/info.h>
#include <sched.h>
#include <settled.h>
#include <signal.h>
#include <starlet.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define WORKERS 6
#define NOISE   8 /* pages that this process touches for the first time at the end */

static unsigned long seed;

static unsigned long rnd(unsigned long below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static void nap(long us)
{
    struct timespec ts = {0, us * 1000};

    nanosleep(&ts, NULL);
}

static void on_usr1(int sig) { (void)sig; }

static void die(const char *why)
{
    dprintf(2, "stress: %s: %s\n", why, strerror(errno));
    _exit(9);
}

/* Send bytes through a pipe in parts of random size; they must arrive in order. */
static void through_pipe(void)
{
    unsigned char buf[3000];
    int p[2], status;
    size_t total = 1 + rnd(150000), seen = 0;
    pid_t pid;

    if (pipe(p) != 0)
        die("pipe");
    pid = must_fork();
    if (pid == 0) {
        size_t sent = 0;

        close(p[0]);
        while (sent < total) {
            size_t n = 1 + rnd(sizeof(buf));
            ssize_t w;

            n = n < total - sent ? n : total - sent;
            for (size_t i = 0; i < n; i++)
                buf[i] = (unsigned char)((sent + i) * 7);
            w = write(p[1], buf, n);
            if (w < 0 && errno == EINTR)
                continue;
            if (w <= 0)
                _exit(3);
            sent += (size_t)w;
        }
        _exit(0);
    }
    close(p[1]);
    for (;;) {
        ssize_t n = read(p[0], buf, 1 + rnd(sizeof(buf)));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("read");
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            if (buf[i] != (unsigned char)((seen + (size_t)i) * 7))
                die("a byte of the pipe is wrong");
        seen += (size_t)n;
    }
    close(p[0]);
    if (seen != total)
        die("the pipe lost bytes");
    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("the writer failed");
}

/* Children that do different things until they are killed. */
static void kill_children(void)
{
    int n = 1 + (int)rnd(4), p[2], status;
    pid_t pids[4];

    if (pipe(p) != 0)
        die("pipe");
    for (int i = 0; i < n; i++) {
        unsigned long what = rnd(5);

        pids[i] = must_fork();
        if (pids[i] != 0)
            continue;
        for (unsigned long round = 1;; round++) {
            char c;

            switch (what) {
            case 0:
                break;
            case 1:
                nap(100000);
                break;
            case 2:
                sched_yield();
                break;
            case 3:
                if (read(p[0], &c, 1) < 0 && errno != EINTR)
                    _exit(4);
                break;
            default: {
                char *m = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                               -1, 0);

                if (m == MAP_FAILED)
                    _exit(5);
                for (int at = 0; at < 1 << 16; at += 8192)
                    m[at] = (char)round;
                munmap(m, 1 << 16);
            }
            }
        }
    }
    if (rnd(2))
        nap((long)rnd(3000));
    for (int i = 0; i < n; i++) {
        if (rnd(2))
            kill(pids[i], SIGUSR1);
        kill(pids[i], SIGKILL);
    }
    for (int i = 0; i < n; i++)
        if (waitpid(pids[i], &status, 0) != pids[i] || !WIFSIGNALED(status) ||
            WTERMSIG(status) != SIGKILL)
            die("a child did not die by SIGKILL");
    close(p[0]);
    close(p[1]);
}

/* A chain of descendants: each child forks the next one and waits for it. */
static void descend(int depth)
{
    int status;
    pid_t pid;

    if (depth == 0)
        return;
    pid = must_fork();
    if (pid == 0) {
        descend(depth - 1);
        _exit(depth);
    }
    if (waitpid(pid, &status, 0) != pid || status != depth << 8)
        die("a descendant failed");
}

static void move_about(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(rnd(4), &set);
    sched_setaffinity(0, sizeof(set), &set); /* fails if the CPU does not exist */
    sched_yield();
    CPU_ZERO(&set);
    for (int i = 0; i < 4; i++)
        CPU_SET(i, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void work(long end_ms)
{
    signal(SIGUSR1, on_usr1);
    while (now_ms() < end_ms) {
        switch (rnd(6)) {
        case 0:
        case 1:
            through_pipe();
            break;
        case 2:
        case 3:
            kill_children();
            break;
        case 4:
            descend(1 + (int)rnd(6));
            break;
        default:
            move_about();
        }
    }
}

int main(int argc, char **argv)
{
    unsigned long start = argc > 1 ? strtoul(argv[1], NULL, 0)
                                   : (unsigned long)time(NULL) * 2654435761u + 1;
    long seconds = argc > 2 ? atol(argv[2]) : 2;
    long before, after;
    int bad = 0, status;

    diag("seed %lu, %ld s", start, seconds);
    seed = start;
    descend(3); /* allocates what is allocated only once */
    before = settled_pages();
    for (unsigned long i = 0; i < WORKERS; i++)
        if (must_fork() == 0) {
            seed = start * (2 * i + 3) + i;
            work(now_ms() + seconds * 1000);
            _exit(0);
        }
    for (int i = 0; i < WORKERS; i++)
        bad += wait(&status) < 0 || status != 0;
    is(bad, 0, "%d workers find what they expect", WORKERS);
    is(wait(&status), -1, "no child of theirs is left");
    if (in_company())
        return tap_done();
    after = settled_pages();
    ok(before > 0 && after + NOISE >= before, "%ld pages are free before, %ld afterwards", before,
       after);
    return tap_done();
}
