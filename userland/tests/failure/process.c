/* Calls that create, change, wait for and end processes. */
#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tap.h>
#include <unistd.h>

#define KIN    (28 * BLOCK) /* memory of every kind, for a fork to copy */
#define PAGES  16ul
#define EXITED 7

static long child;

/* ---- fork ---- */

#define HUGE    (4ul << 20)
#define HUGE_AT PIECE /* in a table of its own */

static void memory_of_every_kind(void)
{
    char *p = (char *)KIN;

    cold_map(KIN, PAGES * PAGE);
    if (mmap(p + 64 * PAGE, PAGES * PAGE, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        bail_out("no shared memory");
    if (mmap(p + HUGE_AT, HUGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        bail_out("no huge page");
    for (unsigned i = 0; i < PAGES; i++)
        p[i * PAGE] = p[(i + 64) * PAGE] = (char)i;
}

/* Pages that an earlier fork has moved into objects, which a second fork finds there. */
static void forked_memory(void)
{
    long pid;

    memory_of_every_kind();
    pid = raw6(SYS_fork, 0, 0, 0, 0, 0, 0);
    if (pid == 0)
        raw6(SYS_exit, 0, 0, 0, 0, 0, 0);
    raw6(SYS_wait4, (unsigned long)pid, 0, 0, 0, 0, 0);
    ((char *)KIN)[PAGE] = 1;
    warm_up();
    settle();
}

static void memory_drop(void)
{
    munmap((void *)KIN, PAGES * PAGE);
    munmap((void *)(KIN + 64 * PAGE), PAGES * PAGE);
    munmap((void *)(KIN + HUGE_AT), HUGE);
}

/* The child returns by its exit status whether its memory equals its parent's. */
static __attribute__((noinline)) long child_ends(long pid)
{
    if (pid == 0) {
        const volatile char *p = (const char *)KIN;

        raw6(SYS_exit, p[3 * PAGE] == 3 && p[67 * PAGE] == 3 ? EXITED : 1, 0, 0, 0, 0, 0);
    }
    child = pid;
    return pid;
}

static long do_fork(void) { return child_ends(raw6(SYS_fork, 0, 0, 0, 0, 0, 0)); }
static long do_clone(void) { return child_ends(raw6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0)); }

/* vfork as posix_spawn uses it: both processes run on this stack, and both get the child's pid. */
static long do_clone_vm(void)
{
    long pid = raw6(SYS_clone, CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD, 0, COLD, 0,
                    0, 0);

    if (pid == 0)
        raw6(SYS_exit, EXITED, 0, 0, 0, 0, 0);
    child = pid;
    return pid;
}

static long do_clone_pidfd(void)
{
    long pid = raw6(SYS_clone, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, 0, COLD, 0, 0, 0);

    if (pid == 0)
        raw6(SYS_exit, EXITED, 0, 0, 0, 0, 0);
    child = pid;
    return pid;
}

static long do_vfork(void)
{
    long pid = raw6(SYS_vfork, 0, 0, 0, 0, 0, 0);

    if (pid == 0)
        raw6(SYS_exit, EXITED, 0, 0, 0, 0, 0);
    child = pid;
    return pid;
}

static bool child_was_right(long r)
{
    int status = 0;

    if (r <= 0 || raw6(SYS_wait4, (unsigned long)r, (unsigned long)&status, 0, 0, 0, 0) != r)
        return false;
    child = 0;
    return status == EXITED << 8;
}

static bool clone_was_right(long r) { return *(int *)COLD == r && child_was_right(r); }

static bool pidfd_was_right(long r)
{
    return child_was_right(r) && raw6(SYS_close, (unsigned long)*(int *)COLD, 0, 0, 0, 0, 0) == 0;
}

static void reap(void)
{
    if (child > 0)
        raw6(SYS_wait4, (unsigned long)child, 0, 0, 0, 0, 0);
    child = 0;
}

static void fork_undo(void)
{
    reap();
    memory_drop();
}

static void clone_undo(void)
{
    reap();
    cold_drop();
}

/* ---- wait ---- */

static void ended_child(void)
{
    long pid = raw6(SYS_vfork, 0, 0, 0, 0, 0, 0);

    if (pid == 0)
        raw6(SYS_exit, EXITED, 0, 0, 0, 0, 0);
    child = pid;
    cold_make();
    settle(); /* the zombie has given back everything but its entry */
}

static long do_wait4(void)
{
    return raw6(SYS_wait4, (unsigned long)child, COLD, 0, COLD + 64, 0, 0);
}

static long do_osf_wait4(void)
{
    return raw6(SYS_osf_wait4, (unsigned long)child, COLD, 0, 0, 0, 0);
}

static long do_waitid(void)
{
    return raw6(SYS_waitid, 1, (unsigned long)child, COLD, 4, COLD + 256, 0);
}

static bool waited(long r)
{
    bool right = r == child && *(int *)COLD == EXITED << 8;

    child = 0;
    return right;
}

static bool waited_id(long r)
{
    const int *info = (const int *)COLD;
    bool right = r == 0 && info[4] == child && info[6] == EXITED;

    child = 0;
    return right;
}

static void wait_undo(void)
{
    cold_drop();
    reap();
}

/* ---- exec and exit ---- */

static char many[3][5000]; /* arguments that take more than a page */
static char *arguments[] = {"failure", "--exec", many[0], many[1], many[2], NULL};
static char *environment[] = {"A=B", many[1], NULL};

static void exec_prepare(void)
{
    for (unsigned i = 0; i < 3; i++)
        memset(many[i], 'x', sizeof(many[i]) - 1);
}

static long do_exec(void)
{
    return raw6(SYS_execve, (unsigned long)"/tests/failure", (unsigned long)arguments,
                (unsigned long)environment, 0, 0, 0);
}

static long do_execveat(void)
{
    return raw6(SYS_execveat, (unsigned long)AT_FDCWD, (unsigned long)"/tests/failure",
                (unsigned long)arguments, (unsigned long)environment, 0, 0);
}

static int program = -1;

static void open_prepare(void)
{
    exec_prepare();
    program = open("/tests/failure", O_PATH);
}

static void open_undo(void) { close(program); }

/* By a descriptor, for which a path is made. */
static long do_execveat_file(void)
{
    return raw6(SYS_execveat, (unsigned long)program, (unsigned long)"", (unsigned long)arguments,
                (unsigned long)environment, AT_EMPTY_PATH, 0);
}

static long do_exec_link(void)
{
    return raw6(SYS_execve, (unsigned long)"/tmp/program", (unsigned long)arguments, 0, 0, 0, 0);
}

static void link_prepare(void)
{
    exec_prepare();
    symlink("/tests/failure", "/tmp/program");
}

static void link_undo(void) { unlink("/tmp/program"); }

/* Fork in a child whose table of descriptors has grown. */
static void grow_table(void) { raw6(SYS_dup2, 1, 200, 0, 0, 0, 0); }

static long fork_in_child(void)
{
    long pid = raw6(SYS_fork, 0, 0, 0, 0, 0, 0);

    if (pid == 0)
        raw6(SYS_exit, EXITED, 0, 0, 0, 0, 0);
    if (pid > 0)
        raw6(SYS_wait4, (unsigned long)pid, 0, 0, 0, 0, 0);
    return pid;
}

static long do_setsid(void)
{
    long r = raw6(SYS_setsid, 0, 0, 0, 0, 0, 0);

    return r > 0 && r != raw6(SYS_getsid, 0, 0, 0, 0, 0, 0) ? -EINVAL : r;
}

const struct scenario process_scenarios[] = {
    {.name = "fork",
     .call = SYS_fork,
     .prepare = forked_memory,
     .act = do_fork,
     .effect = child_was_right,
     .undo = fork_undo},
    {.name = "fork for the first time",
     .call = SYS_fork,
     .prepare = memory_of_every_kind,
     .act = do_fork,
     .effect = child_was_right,
     .undo = fork_undo,
     .flags = HALFWAY},
    {.name = "vfork, then fork with a grown table",
     .call = SYS_fork,
     .child = grow_table,
     .act = fork_in_child,
     .flags = IN_CHILD | HALFWAY},
    {.name = "clone",
     .call = SYS_clone,
     .prepare = forked_memory,
     .act = do_clone,
     .effect = child_was_right,
     .undo = fork_undo},
    {.name = "clone, memory shared",
     .call = SYS_clone,
     .prepare = cold_make,
     .act = do_clone_vm,
     .effect = clone_was_right,
     .undo = clone_undo,
     .flags = WARM},
    {.name = "clone, a file for the child",
     .call = SYS_clone,
     .prepare = cold_make,
     .act = do_clone_pidfd,
     .effect = pidfd_was_right,
     .undo = clone_undo,
     .flags = WARM},
    {.name = "vfork", .call = SYS_vfork, .act = do_vfork, .effect = child_was_right, .undo = reap},
    {.name = "wait4",
     .call = SYS_wait4,
     .prepare = ended_child,
     .act = do_wait4,
     .effect = waited,
     .undo = wait_undo},
    {.name = "osf_wait4",
     .call = SYS_osf_wait4,
     .prepare = ended_child,
     .act = do_osf_wait4,
     .effect = waited,
     .undo = wait_undo},
    {.name = "waitid",
     .call = SYS_waitid,
     .prepare = ended_child,
     .act = do_waitid,
     .effect = waited_id,
     .undo = wait_undo},
    {.name = "execve",
     .call = SYS_execve,
     .prepare = exec_prepare,
     .act = do_exec,
     .flags = IN_CHILD,
     .right = {{IN_FAULT, -ENOMEM}}},
    {.name = "execveat",
     .call = SYS_execveat,
     .prepare = exec_prepare,
     .act = do_execveat,
     .flags = IN_CHILD,
     .right = {{IN_FAULT, -ENOMEM}}},
    {.name = "execveat of an open file",
     .call = SYS_execveat,
     .prepare = open_prepare,
     .act = do_execveat_file,
     .undo = open_undo,
     .flags = IN_CHILD,
     .right = {{IN_FAULT, -ENOMEM}}},
    {.name = "execve through a link",
     .call = SYS_execve,
     .prepare = link_prepare,
     .act = do_exec_link,
     .undo = link_undo,
     .flags = IN_CHILD,
     .right = {{IN_FAULT, -ENOMEM}}},
    {.name = "exit", .call = SYS_exit, .flags = IN_CHILD | NOTHING},
    {.name = "exit_group", .call = SYS_exit_group, .flags = IN_CHILD | NOTHING},
    {.name = "setsid", .call = SYS_setsid, .act = do_setsid, .flags = IN_CHILD},
    {0},
};
