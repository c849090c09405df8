/*
 * Endurance: all stress programs at once, each again and again with another seed, for a given time.
 * The resource usage of the whole system is then not that of one program, so the programs compare
 * only what belongs to them (company.h). The check at the end of the run (scripts/run --validate)
 * counts every page, every block of pool and every thread.
 *
 * The programs of one line run one after the other; the lines run in parallel. A program that does
 * not end in time is stopped and its output printed: a wake-up was lost, or there is a deadlock.
 *
 * `soak SECONDS SEED`. The output is TAP, with a line for each run; the output of a program that
 * failed is included. SIGHUP and other signals that end this program do not end its children, which
 * the check then sees.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define WORDS      5
#define PER_LINE   6
#define PATIENCE_S 240 /* four virtual CPUs share a host with others */

/* %s: the seed. */
static const char *const lines[][PER_LINE][WORDS] = {
    {{"random_walk", "--seconds", "8", "--seed", "%s"}},
    {{"stress_smp", "%s", "4", "5"}, {"stress", "%s", "3"}},
    {{"syscall_fuzz", "%s", "60", "800", "4"}}, /* may remove the access of all others to /tmp */
    {{"pool_stress", "%s", "1500"}},
    {{"shared_fuzz", "%s", "4", "3000"}},
    {{"killed", "2", "%s"}},
    {{"ast_load", "10"}, {"asts"}, {"vms_timers"}, {"event_flags"}},
    {{"rundown", "17"}, {"signals"}, {"interrupted_calls"}},
    {{"floating_point"},
     {"memory"},
     {"memory_services"},
     {"address_space"},
     {"sched"},
     {"wait_many"}},
};
#define LINES (sizeof(lines) / sizeof(lines[0]))

struct line {
    pid_t pid;
    unsigned at, runs;
    long began_s;
    char seed[24], output[32];
};

static long now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void start(struct line *l, unsigned number, unsigned long seed)
{
    const char *const *words = lines[number][l->at];
    char path[40], *args[WORDS + 1] = {path};

    snprintf(path, sizeof(path), "/tests/%s", words[0]);
    snprintf(l->seed, sizeof(l->seed), "%lu", seed);
    snprintf(l->output, sizeof(l->output), "/soak.%u", number);
    for (unsigned i = 1; i < WORDS && words[i]; i++)
        args[i] = strcmp(words[i], "%s") ? (char *)words[i] : l->seed;
    l->began_s = now_s();
    l->pid = fork();
    if (l->pid == 0) {
        int fd = open(l->output, O_CREAT | O_TRUNC | O_WRONLY, 0644), none = open("/dev/null", 0);

        setsid(); /* a job of its own, with its own quotas, names and process group */
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(none, 0) < 0)
            _exit(126);
        close(fd);
        close(none);
        execv(path, args);
        _exit(127);
    }
}

static void show(const struct line *l)
{
    char text[512], *line;
    FILE *f = fopen(l->output, "r");

    while (f && fgets(text, sizeof(text), f)) {
        line = text + strspn(text, " ");
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "ok ", 3) != 0 && strncmp(line, "# checked", 9) != 0 &&
            strncmp(line, "# returns", 9) != 0)
            diag("  %s", line);
    }
    if (f)
        fclose(f);
}

/* Is the output a complete TAP stream without a failure? */
static bool in_order(const struct line *l)
{
    bool plan = false, fine = true;
    char text[512];
    FILE *f = fopen(l->output, "r");

    while (f && fgets(text, sizeof(text), f)) {
        plan |= strncmp(text, "1..", 3) == 0;
        fine &= strncmp(text, "not ok", 6) != 0;
    }
    if (f)
        fclose(f);
    return plan && fine;
}

static void ended(struct line *l, unsigned number, int status)
{
    bool fine = status == 0 && in_order(l);

    ok(fine, "%s with seed %s passes in %ld s (status %#x)", lines[number][l->at][0], l->seed,
       now_s() - l->began_s, (unsigned)status);
    if (!fine)
        show(l);
    l->pid = 0;
    l->runs++;
    l->at = l->at + 1 < PER_LINE && lines[number][l->at + 1][0] ? l->at + 1 : 0;
}

static bool too_long(struct line *l, unsigned number)
{
    if (now_s() - l->began_s < PATIENCE_S)
        return false;
    ok(0, "%s with seed %s ends within %u s", lines[number][l->at][0], l->seed, PATIENCE_S);
    show(l);
    return true;
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? atol(argv[1]) : 20, end_s = now_s() + seconds;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    static struct line all[LINES];
    unsigned runs = 0, left = LINES;
    bool stuck = false;

    setenv("IN_COMPANY", "1", 1);
    for (unsigned i = 0; i < LINES; i++)
        start(&all[i], i, seed++);
    while (left > 0 && !stuck) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);

        for (unsigned i = 0; i < LINES; i++) {
            if (pid > 0 && all[i].pid == pid) {
                ended(&all[i], i, status);
                /* Run every program once, however short the time is. */
                if (now_s() < end_s || all[i].at != 0)
                    start(&all[i], i, seed++);
                else
                    left--;
            }
            stuck |= all[i].pid != 0 && too_long(&all[i], i);
        }
        if (pid <= 0)
            poll(NULL, 0, 20);
    }
    for (unsigned i = 0; i < LINES; i++) {
        runs += all[i].runs;
        if (all[i].pid)
            kill(-all[i].pid, SIGKILL);
    }
    for (unsigned i = 0; i < LINES; i++)
        unlink(all[i].output);
    diag("%u runs of programs in %ld s, %u lines beside each other", runs,
         now_s() - end_s + seconds, (unsigned)LINES);
    return tap_done();
}
