// TAP
// RUN: --smp 1 --icount -m 256M
// SECONDS: 120
/*
 * What it costs to look at what other users have piled up: `show system` for each process, `ls` for
 * each name, also if names are long and differ at their ends only. Who reads a directory waits at
 * its lock for those who create names there, so it takes the lock once for many names. And
 * the mutex of all logical names is not held while a process copies thousands of them for a child.
 * On one CPU with --icount a nanosecond is an instruction.
 */
#include <descrip.h>
#include <fcntl.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <psldef.h>
#include <signal.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 500u
#define NAMES     4000u
/* Instructions for each. With printf a process took 15,000; with names sorted by comparison of the
 * whole of them, a name took 4,300. */
#define MOST_PROCESS 6000u
#define MOST_NAME    3000u

#define MANY 16u /* names of 200 characters at one lock of the directory; it were two */

#define LOGICALS 5000u /* logical names of a process that forks */
/* Instructions; they were copied, in 3,700,000, and deleted with the mutex of all names held. */
#define MOST_HELD 100000u

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

/* What was measured of the mutexes of that name. */
static const struct mega_lock *lock_named(const char *name)
{
    static struct mega_lock m;

    for (int64_t i = 0; mega$info(MEGA_INFO_MUTEX, i, &m, sizeof(m)) & 1; i++)
        if (!strcmp(m.name, name))
            return &m;
    bail_out("there is no mutex of the name %s", name);
}

/* How often directories were locked by readers while locks are measured. */
static uint64_t reader_locks(void) { return lock_named("directory")->shared; }

static void measure(uint64_t on)
{
    if (!(mega$control(MEGA_CTL_LOCK_STATS, on, 0, 0, 0, 0) & 1))
        bail_out("locks cannot be measured");
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
    ok((many - few) / PROCESSES < MOST_PROCESS, "show system: %lu instructions for each process",
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
    measure(1);
    cost("/bin/ls", "/tmp/many");
    measure(0);
    ok(reader_locks() > 0 && reader_locks() < NAMES / MANY,
       "ls: a directory of %u names is locked %lu times", NAMES, (unsigned long)reader_locks());
    many = cost("/bin/ls", "/tmp/many");
    ok((many - few) / NAMES < MOST_NAME, "ls: %lu instructions for each name",
       (unsigned long)((many - few) / NAMES));
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "/tmp/many/%0200u", i);
        unlink(path);
    }
    rmdir("/tmp/many");
}

static struct dsc$descriptor_s str(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

static void define_one(unsigned number)
{
    struct dsc$descriptor_s table = str("LNM$PROCESS"), d;
    ILE3 items[] = {{4, LNM$_STRING, "WORD", NULL}, {0}};
    unsigned char mode = PSL$C_USER;
    char name[32];

    snprintf(name, sizeof(name), "COST_%u", number);
    d = str(name);
    if (!(sys$crelnm(NULL, &table, &d, &mode, items) & 1))
        _exit(1);
}

/* A process with many logical names forks, and both end. */
static void fork_with_names(void)
{
    for (unsigned i = 0; i < LOGICALS; i++)
        define_one(i);
    if (fork() > 0)
        wait(NULL);
    _exit(0);
}

static void copy_names(void)
{
    const struct mega_lock *m;
    pid_t pid;
    int status = -1;

    measure(1);
    pid = fork();
    if (pid == 0)
        fork_with_names();
    waitpid(pid, &status, 0);
    measure(0);
    m = lock_named("LNM");
    ok(status == 0 && m->acquisitions > LOGICALS && m->longest_ns < MOST_HELD,
       "fork with %u logical names, and exit: their mutex is held for %lu instructions at most",
       LOGICALS, (unsigned long)m->longest_ns);
}

int main(void)
{
    list_processes();
    list_names();
    copy_names();
    return tap_done();
}
