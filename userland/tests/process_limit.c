// TAP
// RUN: --smp 1 --icount -m 3G --set MAXPROCESSCNT=32767
// RUN: --smp 2 -m 512M --set MAXPROCESSCNT=1000
// SECONDS: 150
/*
 * Processes can be created until the limit, MAXPROCESSCNT, is reached. Then fork fails with EAGAIN,
 * no process dies of it, and when the processes have ended everything works as before.
 *
 * The processes share one address space, so that 32,767 of them fit into memory. With --icount a
 * nanosecond is an instruction: the end and the search of a process must not cost more at the limit
 * than at the beginning.
 */
#define _GNU_SOURCE
#include <megalith/info.h>
#include <sched.h>
#include <signal.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define MOST   32767u
#define PART   400u /* processes measured at each end */
#define STACK  1024u
#define SHARED (CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD)
#define FLAT   (5.0 / 4)

static uint64_t began[MOST + 1]; /* when each process was created */
static pid_t group, last;

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int sleeper(void *arg)
{
    for (;;)
        pause();
    return arg != NULL;
}

/* Create processes until that fails. How many there are; the error in *error. */
static unsigned create_all(char *stacks, int *error)
{
    unsigned n = 0;

    for (; n < MOST; n++) {
        pid_t pid = clone(sleeper, stacks + (n + 1) * STACK, SHARED, NULL);

        *error = errno;
        if (pid < 0)
            break;
        if (!n)
            group = pid;
        setpgid(pid, group);
        last = pid;
        began[n] = now();
    }
    return n;
}

static unsigned wait_all(unsigned n, uint64_t *first_ns, uint64_t *last_ns)
{
    unsigned gone = 0;
    uint64_t t = now();
    int status;

    for (; gone < n && wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;) {
        gone++;
        if (gone == PART)
            *first_ns = now() - t;
        if (gone == n - PART)
            t = now();
    }
    *last_ns = now() - t;
    return gone;
}

/* Visit every process as `show system` does. How many there are. */
static unsigned visit(void)
{
    struct mega_process p;
    unsigned n = 1;

    for (long pid = 1; mega$info(MEGA_INFO_PROCESS, -1 - pid, &p, sizeof(p)) & 1; pid = p.pid)
        n++;
    return n;
}

static uint64_t kill_0(pid_t pid)
{
    uint64_t t = now();

    for (unsigned i = 0; i < 100; i++)
        kill(pid, 0);
    return now() - t;
}

static void flat(uint64_t small, uint64_t large, unsigned count, const char *what)
{
    ok((double)large <= (double)small * FLAT, "%s takes %lu instructions, at the limit %lu", what,
       (unsigned long)(small / count), (unsigned long)(large / count));
}

int main(void)
{
    char *stacks = mmap(NULL, (MOST + 1) * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct mega_cpu c;
    bool counts = !(mega$info(MEGA_INFO_CPU, 1, &c, sizeof(c)) & 1);
    uint64_t find, first = 0, rest = 0;
    unsigned n, others = visit(), gone;
    int error, status, limit = 0;
    pid_t pid;

    find = kill_0(getppid()); /* oneself need not be found */
    n = create_all(stacks, &error);
    limit = (int)(n + others);
    ok(limit == 32767 || limit == 1000, "%u processes exist at once", n + others);
    is(error, EAGAIN, "then a new one is refused with EAGAIN");
    is(visit(), n + others, "show system finds all of them");
    if (counts) {
        flat(began[2 * PART] - began[PART], began[n - 1] - began[n - 1 - PART], PART,
             "creation of a process");
        flat(find, kill_0(last), 100, "finding a process");
    }
    is(kill(-group, SIGKILL), 0, "all of them are killed by one call");
    gone = wait_all(n, &first, &rest);
    is(gone, n, "all of them have ended");
    if (counts)
        flat(first, rest, PART, "waiting for one that has ended");
    pid = fork();
    if (pid == 0)
        _exit(42);
    is(waitpid(pid, &status, 0), pid, "a new process can be created");
    is(status, 42 << 8, "the new process works");
    return tap_done();
}
