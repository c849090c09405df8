// RUN: -m 1G
/* The cost of each kind of page fault, of populating and of unmapping, each per page. */
#include "bench.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  8192ul
#define PAGES 1024ul /* 8 MiB: each figure includes one level-3 page-table page */

static char *map(int flags)
{
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

    bench_need(p != MAP_FAILED);
    return p;
}

static void touch(volatile char *p)
{
    for (unsigned long i = 0; i < PAGES; i++)
        p[i * PAGE] = 1;
}

static unsigned long look(volatile char *p)
{
    unsigned long sum = 0;

    for (unsigned long i = 0; i < PAGES; i++)
        sum += (unsigned long)p[i * PAGE];
    return sum;
}

static void unmap(char *p) { bench_need(munmap(p, PAGES * PAGE) == 0); }

static void demand_zero(void)
{
    struct bench b = {0};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        char *p = map(MAP_PRIVATE);

        bench_start(&b);
        touch(p);
        bench_stop(&b);
        unmap(p);
    }
    bench_report("fault_demand_zero", &b, PAGES);
}

/* The same after CPUs were idle: they have zeroed at least as many pages as are touched
 * (ZERO_LIST_HI). */
static void demand_zero_after_idle(void)
{
    struct bench b = {0};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        char *p = map(MAP_PRIVATE);

        usleep(20000);
        bench_start(&b);
        touch(p);
        bench_stop(&b);
        unmap(p);
    }
    bench_report("fault_demand_zero_after_idle", &b, PAGES);
}

/* The parent writes every page again after a fork; the child keeps the pages shared until the pipe
 * is closed. */
static void copy_on_write(void)
{
    struct bench b = {0};
    char *p = map(MAP_PRIVATE), c;

    touch(p);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        int fds[2];
        pid_t pid;

        bench_need(pipe(fds) == 0);
        pid = fork();
        bench_need(pid >= 0);
        if (pid == 0) {
            close(fds[1]);
            _exit(read(fds[0], &c, 1) == 0 ? 0 : 1);
        }
        close(fds[0]);
        bench_start(&b);
        touch(p);
        bench_stop(&b);
        close(fds[1]);
        bench_need(waitpid(pid, NULL, 0) == pid);
    }
    unmap(p);
    bench_report("fault_copy_on_write", &b, PAGES);
}

/* A child reads pages of a shared mapping that its parent has made valid, measures that, and sends
 * the time through a pipe. */
static void shared_valid(void)
{
    struct bench b = {0};
    char *p = map(MAP_SHARED);

    touch(p);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        struct bench child = {0};
        int fds[2];
        pid_t pid;

        bench_need(pipe(fds) == 0);
        pid = fork();
        bench_need(pid >= 0);
        if (pid == 0) {
            bench_start(&child);
            bench_need(look(p) == PAGES);
            bench_stop(&child);
            _exit(write(fds[1], child.round, sizeof(child.round[0])) == sizeof(child.round[0]) ? 0
                                                                                               : 1);
        }
        close(fds[1]);
        bench_need(read(fds[0], &b.round[b.n], sizeof(b.round[0])) == sizeof(b.round[0]));
        b.n++;
        close(fds[0]);
        bench_need(waitpid(pid, NULL, 0) == pid);
    }
    unmap(p);
    bench_report("fault_shared_valid", &b, PAGES);
}

static void populate_and_unmap(void)
{
    struct bench in = {0}, out = {0};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        char *p;

        bench_start(&in);
        p = map(MAP_PRIVATE | MAP_POPULATE);
        bench_stop(&in);
        bench_start(&out);
        unmap(p);
        bench_stop(&out);
    }
    bench_report("populate", &in, PAGES);
    bench_report("unmap", &out, PAGES);
}

static void populate_shared(void)
{
    struct bench in = {0}, out = {0};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        char *p;

        bench_start(&in);
        p = map(MAP_SHARED | MAP_POPULATE);
        bench_stop(&in);
        bench_start(&out);
        unmap(p);
        bench_stop(&out);
    }
    bench_report("populate_shared", &in, PAGES);
    bench_report("unmap_shared", &out, PAGES);
}

int main(void)
{
    demand_zero();
    demand_zero_after_idle();
    copy_on_write();
    shared_valid();
    populate_and_unmap();
    populate_shared();
    return 0;
}
