// TAP
// RUN: --smp 1 --icount -m 256M
// SECONDS: 120
/*
 * What it costs to look at what other users have piled up: `show system` for each process, `ls` for
 * each name, also if names are long and differ at their ends only. On one CPU with --icount a
 * nanosecond is an instruction.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 500u
#define NAMES     4000u
#define MOST      6000u /* instructions for each; printf takes 15,000 for a process */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Instructions that a program takes, with its output thrown away. */
static uint64_t cost(const char *path, const char *word)
{
    uint64_t began = now();
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY), 1);
        execl(path, path, word, NULL);
        _exit(126);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        bail_out("%s %s: status %x", path, word, status);
    return now() - began;
}

static void list_processes(void)
{
    static pid_t pids[PROCESSES];
    uint64_t few = cost("/bin/show", "system"), many;

    few = cost("/bin/show", "system");
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            bail_out("no process");
        if (pids[i] == 0)
            for (;;)
                pause();
    }
    cost("/bin/true", "");
    many = cost("/bin/show", "system");
    for (unsigned i = 0; i < PROCESSES; i++)
        kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    ok((many - few) / PROCESSES < MOST, "show system: %lu instructions for each process",
       (unsigned long)((many - few) / PROCESSES));
}

static void list_names(void)
{
    uint64_t few, many;
    char path[256];

    mkdir("/tmp/many", 0700);
    cost("/bin/ls", "/tmp/many");
    few = cost("/bin/ls", "/tmp/many");
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "/tmp/many/%0200u", i);
        if (close(open(path, O_CREAT | O_WRONLY, 0600)))
            bail_out("no file");
    }
    many = cost("/bin/ls", "/tmp/many");
    ok((many - few) / NAMES < MOST, "ls: %lu instructions for each name",
       (unsigned long)((many - few) / NAMES));
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "/tmp/many/%0200u", i);
        unlink(path);
    }
    rmdir("/tmp/many");
}

int main(void)
{
    list_processes();
    list_names();
    return tap_done();
}
