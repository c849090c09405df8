// TAP
// RUN: --smp 1 --icount -m 1G
// RUN: --smp 4 -m 1G
// SECONDS: 120
/*
 * A process that a signal ends amid a call over many mappings, which have no pages before, leaves
 * the call soon; and amid one over as many descriptors or regions. It shares its address space and
 * its descriptors, which therefore do not end with it; its own alarm ends it, so that nobody else
 * need run for that.
 *
 * On one CPU with --icount the time from the alarm to the end of wait() is counted in
 * instructions. Each call takes millions: its length is printed.
 */
#define _GNU_SOURCE
#include <elapsed.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>
#include <vadef.h>

#define PAGE   8192ul
#define BYTES  (mappings * PAGE)
#define LATEST 400000ul
#define UNDONE 9000000ul /* for who must undo what it has done */

static uint64_t mappings = 60000; /* those whose ends are measured */
static char *area;
static char stack[65536] __attribute__((aligned(16)));
static volatile uint64_t begun, ended; /* when the call began and ended; 0: it has not */

/* Mappings of a page each, which are alternately of two kinds. */
static void make(void)
{
    area = mmap(area, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | (area ? MAP_FIXED : 0), -1,
                0);
    if (area == MAP_FAILED)
        bail_out("no memory");
    for (uint64_t k = 0; k < mappings; k += 2)
        if (mprotect(area + k * PAGE, PAGE, PROT_READ | PROT_EXEC))
            bail_out("no mappings: %s", strerror(errno));
}

/* As many descriptors. */
static void make_files(void)
{
    struct rlimit most = {mappings + 10, mappings + 10};

    if (setrlimit(RLIMIT_NOFILE, &most))
        bail_out("no descriptors: %s", strerror(errno));
    for (uint64_t k = 0; k < mappings; k++)
        if (dup2(0, (int)k + 10) < 0)
            bail_out("no descriptor: %s", strerror(errno));
}

/* As many regions, once. */
static void make_regions(void)
{
    static bool made;

    munmap(area, BYTES);
    for (uint64_t k = 0; k < mappings && !made; k++) {
        struct _generic_64 id;
        uint64_t length;
        void *va;

        if (!(sys$create_region_64(PAGE, VA$C_REGION_UCREATE_UOWN, 0, &id, &va, &length) & 1))
            bail_out("no region");
    }
    made = true;
}

static int close_all(void) { return close_range(10, mappings + 9, 0); }

/* What it has copied is freed. Newer C libraries block all signals in fork(). */
static int fork_all(void)
{
    pid_t pid = (pid_t)syscall(SYS_fork);

    if (pid == 0)
        _exit(0);
    return pid < 0;
}

static int unmap(void) { return munmap(area, BYTES); }
static int protect(void) { return mprotect(area, BYTES, PROT_READ | PROT_WRITE); }
static int forget(void) { return madvise(area, BYTES, MADV_DONTNEED); }
static int sync_all(void) { return msync(area, BYTES, MS_SYNC); }
static int map_over(void)
{
    return mmap(area, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != area;
}
static int lock(void) { return mlock(area, BYTES); }
static int unlock(void) { return munlock(area, BYTES); }

static const struct {
    const char *name;
    void (*make)(void);
    int (*call)(void);
    uint64_t latest; /* ns after the alarm */
} calls[] = {
    {"munmap", make, unmap, LATEST},
    {"mprotect", make, protect, LATEST},
    {"madvise", make, forget, LATEST},
    {"msync", make, sync_all, LATEST},
    {"munlock", make, unlock, LATEST},
    {"mmap over all", make, map_over, LATEST},
    {"mlock", make, lock, UNDONE},
    {"close_range", make_files, close_all, LATEST},
    {"fork beside regions", make_regions, fork_all, UNDONE},
};

static int victim(void *arg)
{
    unsigned long n = (unsigned long)arg;
    struct itimerval alarm = {.it_value = {0, (long)(n >> 8)}};

    setitimer(ITIMER_REAL, &alarm, NULL);
    begun = now_ns();
    calls[n & 255].call();
    ended = now_ns();
    return 0;
}

/* The call, ended after some microseconds, or not (0). How long it lasted after that, in ns. */
static uint64_t run(unsigned n, unsigned us)
{
    uint64_t from;
    int status;
    pid_t pid;

    ended = 0;
    from = now_ns();
    pid = clone(victim, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD,
                (void *)((unsigned long)us << 8 | n));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bail_out("no victim: %s", strerror(errno));
    return us ? now_ns() - from - us * 1000ul : ended - begun;
}

static void test(unsigned n)
{
    static const unsigned parts[] = {8, 30, 56, 62}; /* of 64 of the call */
    uint64_t took, most = 0;
    unsigned amid = 0;

    calls[n].make();
    took = run(n, 0);
    for (unsigned k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        uint64_t after;

        calls[n].make();
        after = run(n, (unsigned)(took * parts[k] / 64 / 1000));
        if (ended)
            continue;
        amid++;
        most = after > most ? after : most;
    }
    diag("%s takes %lu ns; ended amid it %u times, in %lu ns at most", calls[n].name, took, amid,
         most);
    ok(!counted() || (most < calls[n].latest && amid > 1), "%s is left", calls[n].name);
}

int main(void)
{
    if (!counted())
        mappings = 20000;
    for (unsigned n = 0; n < sizeof(calls) / sizeof(calls[0]); n++)
        test(n);
    return tap_done();
}
