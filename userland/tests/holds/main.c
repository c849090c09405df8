/*
 * holds [-n N] [WORD...]: make things numerous, N of each (default 1,000), and print for how long
 * spinlocks were held and interrupt levels kept raised meanwhile. tests/test_holds.py runs it on
 * one CPU under --icount, where a nanosecond is an instruction, and compares the figures with the
 * bound.
 *
 * The output has a line for each growth whose name contains one of the words and each place that
 * takes a spinlock or raises the IPL: growth, kind, name or IPL, longest time, place; separated by
 * tabs.
 */
#include "holds.h"

#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct growth *const tables[] = {growth_processes, growth_threads, growth_memory,
                                              growth_names,     growth_events,  growth_mailboxes};

void need_(int there, const char *what, const char *file, int line)
{
    if (there)
        return;
    fprintf(stderr, "%s:%d: %s: ", file, line, what);
    perror("no");
    _exit(1);
}

pid_t crowd_start(unsigned n, void (*fn)(unsigned i, void *arg), void *arg)
{
    pid_t first = 0;

    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            fn(i, arg);
            _exit(0);
        }
        need(pid > 0);
        if (!first)
            first = pid;
    }
    return first;
}

void crowd_wait(unsigned n)
{
    int status;

    while (n--)
        need(wait(&status) > 0);
}

void gate_make(struct gate *g) { need(pipe(g->fd) == 0); }

void gate_wait(struct gate *g)
{
    char c;

    close(g->fd[1]);
    need(read(g->fd[0], &c, 1) == 0);
}

void gate_open(struct gate *g)
{
    close(g->fd[0]);
    close(g->fd[1]);
}

static void measure(int on)
{
    need(mega$control(MEGA_CTL_LOCK_STATS, (uint64_t)on, 0, 0, 0, 0) == SS$_NORMAL);
}

static void print(const char *growth)
{
    struct mega_held h;
    char name[16];

    for (int64_t i = 0; mega$info(MEGA_INFO_HOLD, i, &h, sizeof(h)) == SS$_NORMAL; i++) {
        if (!h.longest_ns)
            continue;
        snprintf(name, sizeof(name), "%u", h.ipl);
        printf("%s\t%s\t%s\t%lu\t%s\n", growth, h.name[0] ? "spinlock" : "IPL",
               h.name[0] ? h.name : name, (unsigned long)h.longest_ns, h.place);
    }
    fflush(stdout);
}

/* In a process of its own, whose end is measured too. */
static void grow(const struct growth *g, unsigned n)
{
    int status;
    pid_t pid;

    measure(1);
    pid = fork();
    need(pid >= 0);
    if (pid == 0) {
        g->run(n);
        _exit(0);
    }
    need(waitpid(pid, &status, 0) == pid);
    need(mega$control(MEGA_CTL_DRAIN, 0, 0, 0, 0, 0) == SS$_NORMAL);
    measure(0);
    if (status != 0) {
        fprintf(stderr, "holds: %s: status %#x\n", g->name, (unsigned)status);
        exit(1);
    }
    print(g->name);
}

static bool chosen(const char *name, int argc, char **argv)
{
    for (int i = optind; i < argc; i++)
        if (strcmp(name, argv[i]) == 0)
            return true;
    return optind == argc;
}

int main(int argc, char **argv)
{
    unsigned n = 1000;

    for (int c; (c = getopt(argc, argv, "n:")) != -1;)
        n = c == 'n' ? (unsigned)atoi(optarg) : 0;
    need(n >= 16);
    for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct growth *g = tables[t]; g->name; g++)
            if (chosen(g->name, argc, argv))
                grow(g, n);
    return 0;
}
