// TAP
// RUN: --smp 1 --icount -m 1G
// RUN: --smp 4 -m 1G
// SECONDS: 120
/*
 * A process that a signal ends amid a call over 60,000 mappings, which have no pages before, leaves
 * the call soon. It shares its address space, which therefore does not end with it; its own alarm
 * ends it, so that nobody else need run for that.
 *
 * On one CPU with --icount the time from the alarm to the end of wait() is counted in
 * instructions. Each call takes millions: its length is printed.
 */
#define _GNU_SOURCE
#include <company.h>
#include <megalith/info.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define PAGE     8192ul
#define MAPPINGS 60000ul
#define BYTES    (MAPPINGS * PAGE)
#define LATEST   400000ul
#define UNDONE   9000000ul /* for who must undo what it has done */

static char *area;
static char stack[65536] __attribute__((aligned(16)));
static bool begun, ended; /* volatile by being passed through system calls */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Does an instruction take a nanosecond? */
static bool counted(void)
{
    struct mega_cpu c;

    return !(mega$info(MEGA_INFO_CPU, 1, &c, sizeof(c)) & 1);
}

/* Mappings of a page each, which are alternately of two kinds. */
static void make(void)
{
    area = mmap(area, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | (area ? MAP_FIXED : 0), -1,
                0);
    if (area == MAP_FAILED)
        bail_out("no memory");
    for (uint64_t k = 0; k < MAPPINGS; k += 2)
        if (mprotect(area + k * PAGE, PAGE, PROT_READ | PROT_EXEC))
            bail_out("no mappings: %s", strerror(errno));
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
    int (*call)(void);
    uint64_t latest; /* ns after the alarm */
} calls[] = {
    {"munmap", unmap, LATEST},   {"mprotect", protect, LATEST}, {"madvise", forget, LATEST},
    {"msync", sync_all, LATEST}, {"munlock", unlock, LATEST},   {"mmap over all", map_over, LATEST},
    {"mlock", lock, UNDONE},
};

static int victim(void *arg)
{
    unsigned long n = (unsigned long)arg;
    struct itimerval alarm = {.it_value = {0, (long)(n >> 8)}};

    setitimer(ITIMER_REAL, &alarm, NULL);
    begun = true;
    calls[n & 255].call();
    ended = true;
    return 0;
}

/* The call, ended after some microseconds, or not (0). Until when it lasted after that, in ns. */
static uint64_t run(unsigned n, unsigned us)
{
    uint64_t from;
    int status;
    pid_t pid;

    begun = ended = false;
    from = now_ns();
    pid = clone(victim, stack + sizeof(stack), CLONE_VM | SIGCHLD,
                (void *)((unsigned long)us << 8 | n));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bail_out("no victim: %s", strerror(errno));
    return now_ns() - from - us * 1000ul;
}

static void test(unsigned n)
{
    static const unsigned parts[] = {8, 24, 40, 56, 60, 62}; /* of 64 of the call */
    uint64_t took, most = 0;
    unsigned amid = 0;

    make();
    took = run(n, 0);
    for (unsigned k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        uint64_t after;

        make();
        after = run(n, (unsigned)(took * parts[k] / 64 / 1000));
        if (ended)
            continue;
        amid++;
        most = after > most ? after : most;
    }
    diag("%s takes %lu ns; ended amid it %u times, in %lu ns at most", calls[n].name, took, amid,
         most);
    ok(!counted() || (most < calls[n].latest && amid > 2), "%s is left", calls[n].name);
}

int main(void)
{
    for (unsigned n = 0; n < sizeof(calls) / sizeof(calls[0]); n++)
        test(n);
    return tap_done();
}
