/* Logical names, directories, descriptors, output and displays. */
#define _GNU_SOURCE
#include "holds.h"

#include <descrip.h>
#include <dirent.h>
#include <fcntl.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <poll.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void path_of(char *path, unsigned i) { sprintf(path, "/tmp/holds/%u", i); }

static void directory(unsigned n)
{
    char path[32], other[32];
    unsigned found = 0;
    DIR *d;

    need(mkdir("/tmp/holds", 0700) == 0);
    for (unsigned i = 0; i < n; i++) {
        path_of(path, i);
        int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

        need(fd >= 0 && close(fd) == 0);
    }
    d = opendir("/tmp/holds");
    need(d);
    while (readdir(d))
        found++;
    need(found >= n && closedir(d) == 0);
    for (unsigned i = 0; i < n; i += 16) {
        path_of(path, i);
        path_of(other, i + n);
        need(rename(path, other) == 0 && rename(other, path) == 0);
    }
    for (unsigned i = 0; i < n; i++) {
        path_of(path, i);
        need(unlink(path) == 0);
    }
    need(rmdir("/tmp/holds") == 0);
}

static struct dsc$descriptor_s string(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

static int define(const char *table, unsigned i)
{
    char name[32];
    ILE3 items[2] = {{5, LNM$_STRING, (void *)"value", NULL}};
    struct dsc$descriptor_s t = string(table), n;

    sprintf(name, "HOLDS_%u", i);
    n = string(name);
    return sys$crelnm(NULL, &t, &n, NULL, items);
}

static void logical_names(unsigned n)
{
    unsigned status = SS$_NORMAL, made = 0;
    struct dsc$descriptor_s job = string("LNM$JOB");

    for (; made < n && (status & 1); made++)
        status = (unsigned)define("LNM$PROCESS", made);
    for (unsigned i = 0; i < n && (status & 1); i++)
        status = (unsigned)define("LNM$JOB", i);
    need(made >= n / 2);
    pid_t pid = fork();
    int how;

    if (pid == 0)
        _exit(!(sys$dellnm(&job, NULL, NULL) & 1));
    need(pid > 0 && waitpid(pid, &how, 0) == pid && how == 0);
}

static unsigned open_all(unsigned n)
{
    struct rlimit r = {n + 16, n + 16};
    unsigned made = 0;

    setrlimit(RLIMIT_NOFILE, &r);
    while (made < n && dup(0) >= 0)
        made++;
    return made;
}

static void descriptors(unsigned n)
{
    unsigned made = open_all(n < 65000 ? n : 65000);
    struct pollfd *p = calloc(made, sizeof(*p));
    int status;
    pid_t pid;

    need(made > 100 && p);
    for (unsigned i = 0; i < made; i++)
        p[i] = (struct pollfd){.fd = (int)i + 3, .events = POLLOUT};
    poll(p, made, 0);
    for (unsigned i = 0; i < made; i += 2)
        fcntl((int)i + 3, F_SETFD, FD_CLOEXEC);
    pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    need(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void pipes(unsigned n)
{
    static char data[65536];
    struct rlimit r = {2 * n + 16, 2 * n + 16};
    unsigned made = 0;
    int fd[2];

    setrlimit(RLIMIT_NOFILE, &r);
    for (; made < n && pipe2(fd, O_NONBLOCK) == 0; made++)
        need(write(fd[1], data, sizeof(data)) > 0);
    need(made > 50);
}

/* Output of the console and of a command, and messages of the kernel. */
static void output(unsigned n)
{
    static char line[1024];
    int console = open("/dev/console", O_WRONLY), err = dup(2);

    memset(line, '.', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    need(err >= 0);
    if (console < 0)
        console = open("/dev/tty", O_WRONLY);
    for (unsigned i = 0; i < n / 16 && console >= 0; i++)
        need(write(console, line, sizeof(line)) > 0);
}

static void command(const char *path, const char *const *words)
{
    int status, fd;
    pid_t pid = fork();

    if (pid == 0) {
        fd = open("/dev/null", O_WRONLY);
        dup2(fd, 1);
        execv(path, (char *const *)words);
        _exit(1);
    }
    need(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
}

/* What root's displays do, beside many processes. */
static void at_gate(unsigned i, void *g)
{
    (void)i;
    gate_wait(g);
}

static void displays(unsigned n)
{
    static const char *const show[][5] = {{"show", "memory", "/all", "/full"},
                                          {"show", "process", "/all"},
                                          {"show", "system"},
                                          {"show", "section", "/full"},
                                          {"show", "cpu", "/full"},
                                          {"show", "logical", "/full"},
                                          {"show", "region"},
                                          {"show", "mutex"},
                                          {"show", "parameter"},
                                          {"show", "memory", "/pool", "/full"}};
    static const char *const sda[][5] = {
        {"sda", "mtx", "load"},           {"sda", "mtx", "unload"},       {"sda", "pcs", "load"},
        {"sda", "pcs", "unload"},         {"sda", "flt", "load"},         {"sda", "flt", "unload"},
        {"sda", "mtx", "start", "trace"}, {"sda", "mtx", "stop", "trace"}};
    struct gate g;
    unsigned most = n < 2000 ? n : 2000;

    gate_make(&g);
    crowd_start(most, at_gate, &g);
    for (unsigned i = 0; i < sizeof(show) / sizeof(show[0]); i++)
        command("/bin/show", show[i]);
    for (unsigned i = 0; i < sizeof(sda) / sizeof(sda[0]); i++)
        command("/bin/sda", sda[i]);
    gate_open(&g);
    crowd_wait(most);
}

const struct growth growth_names[] = {
    {"directory", directory},
    {"logical names", logical_names},
    {"descriptors", descriptors},
    {"pipes", pipes},
    {"output", output},
    {"displays", displays},
    {0},
};
