/* Processes: fork, exec, spawn. */
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

#define DIRTY 8192u /* pages of a large process */

static char *const environment[] = {NULL};
static volatile char *dirty;

static char *const *arguments(void)
{
    static char *words[3];

    words[0] = (char *)self_path;
    words[1] = LEAVE;
    return words;
}

static void reap(pid_t pid)
{
    int status;

    need(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void fork_exit(unsigned times)
{
    while (times--) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        reap(pid);
    }
}

static void fork_exec(unsigned times)
{
    while (times--) {
        pid_t pid = fork();

        if (pid == 0) {
            execve(self_path, arguments(), environment);
            _exit(1);
        }
        reap(pid);
    }
}

static void vfork_exec(unsigned times)
{
    while (times--) {
        pid_t pid = vfork();

        if (pid == 0) {
            execve(self_path, arguments(), environment);
            _exit(1);
        }
        reap(pid);
    }
}

static void spawn(unsigned times)
{
    while (times--) {
        pid_t pid;

        need(posix_spawn(&pid, self_path, NULL, NULL, arguments(), environment) == 0);
        reap(pid);
    }
}

static void make_dirty(void)
{
    dirty = mmap(NULL, DIRTY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(dirty != MAP_FAILED);
    for (unsigned i = 0; i < DIRTY; i++)
        dirty[i * PAGE] = 1;
}

static void drop_dirty(void) { munmap((void *)dirty, DIRTY * PAGE); }

/* One fork; the row is for each page of the parent. */
static void fork_large(unsigned times)
{
    (void)times;
    fork_exit(1);
}

const struct row process_rows[] = {
    {"fork_exit_wait", 8, fork_exit, NULL, NULL},
    {"fork_exec_wait", 8, fork_exec, NULL, NULL},
    {"vfork_exec_wait", 8, vfork_exec, NULL, NULL},
    {"posix_spawn_wait", 8, spawn, NULL, NULL},
    {"fork_page", DIRTY, fork_large, make_dirty, drop_dirty},
    {0},
};
