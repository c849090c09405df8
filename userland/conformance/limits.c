/* Resource limits: getrlimit(2), setrlimit(2), prlimit(2), and what each limit does. */
#include "conformance.h"

#include <fcntl.h>
#include <sys/time.h>

static size_t page;

static void show(const char *name, int resource)
{
    struct rlimit l;

    if (getrlimit(resource, &l))
        TEXT(name, "%s", strerrorname_np(errno));
    else
        TEXT(name, "%s %s", l.rlim_cur == RLIM_INFINITY ? "infinity" : "a number",
             l.rlim_max == RLIM_INFINITY ? "infinity" : "a number");
}

static int set(int resource, rlim_t soft, rlim_t hard)
{
    return setrlimit(resource, &(struct rlimit){soft, hard});
}

static void calls(void)
{
    struct rlimit l = {5, 4};

    show("CPU at the start", RLIMIT_CPU);
    show("DATA at the start", RLIMIT_DATA);
    show("AS at the start", RLIMIT_AS);
    show("STACK at the start", RLIMIT_STACK);
    show("FSIZE at the start", RLIMIT_FSIZE);
    CASE_AS("setrlimit, soft above hard", setrlimit(RLIMIT_CORE, &l));
    CASE_AS("setrlimit, no such resource", set(99, 1, 1));
    CASE_AS("getrlimit, no such resource", getrlimit(99, &l));
    CASE_AS("setrlimit, bad address", syscall(SYS_setrlimit, RLIMIT_CORE, 8));
    CASE_AS("getrlimit, bad address", syscall(SYS_getrlimit, RLIMIT_CORE, 8));
    CASE_AS("prlimit, no such process", prlimit(1 << 30, RLIMIT_CORE, NULL, &l));
    CASE_AS("prlimit of the own process", prlimit(getpid(), RLIMIT_CORE, NULL, &l));
    CASE_AS("setrlimit CORE", set(RLIMIT_CORE, 10, 20));
    CASE_AS("getrlimit CORE", getrlimit(RLIMIT_CORE, &l));
    TEXT("CORE", "%ld %ld", (long)l.rlim_cur, (long)l.rlim_max);
    CASE_AS("root: raise the hard limit", set(RLIMIT_CORE, 10, 30));
    CASE_AS("setrlimit to infinity", set(RLIMIT_RSS, RLIM_INFINITY, RLIM_INFINITY));
    CASE_AS("setrlimit LOCKS", set(RLIMIT_LOCKS, 5, 5));
    CASE_AS("setrlimit MSGQUEUE", set(RLIMIT_MSGQUEUE, 5, 5));
    CASE_AS("setrlimit RTPRIO", set(RLIMIT_RTPRIO, 5, 5));
    CASE_AS("setrlimit RTTIME", set(RLIMIT_RTTIME, 5, 5));
    CASE_AS("setrlimit SIGPENDING", set(RLIMIT_SIGPENDING, 5, 5));
    if (setresuid(1001, 1001, 1001))
        _exit(9);
    CASE_AS("user: raise the soft limit to the hard one", set(RLIMIT_CORE, 30, 30));
    CASE_AS("user: lower the soft limit", set(RLIMIT_CORE, 3, 30));
    CASE_AS("user: lower the hard limit", set(RLIMIT_CORE, 3, 20));
    CASE_AS("user: raise the hard limit", set(RLIMIT_CORE, 3, 21));
    CASE_AS("user: prlimit of root's process", prlimit(getppid(), RLIMIT_CORE, NULL, &l));
    CASE_AS("user: lower NOFILE", set(RLIMIT_NOFILE, 5, 100));
    CASE_AS("user: descriptor 5", dup2(1, 5));
    CASE_AS("user: descriptor 4", dup2(1, 4));
    if (fork() == 0) {
        getrlimit(RLIMIT_NOFILE, &l);
        TEXT("a child inherits NOFILE", "%ld %ld", (long)l.rlim_cur, (long)l.rlim_max);
        _exit(0);
    }
    wait(NULL);
}

static void address_space(void)
{
    size_t n = 256 * page;
    char *p;

    CASE_AS("setrlimit AS", set(RLIMIT_AS, 100 * page, RLIM_INFINITY));
    MAPPED(mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CASE_AS("AS: sbrk", sbrk((intptr_t)n) == (void *)-1 ? -1 : 0);
    set(RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY);
    p = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set(RLIMIT_AS, 100 * page, RLIM_INFINITY);
    CASE_AS("AS: mremap", mremap(p, page, n, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    CASE_AS("AS: a mapping in place of another",
            mmap(p, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p ? 0 : -1);
    set(RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY);
    CASE_AS("AS: no limit again",
            mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
}

static void data(void)
{
    size_t n = 256 * page;

    CASE_AS("setrlimit DATA", set(RLIMIT_DATA, 100 * page, RLIM_INFINITY));
    CASE_AS("DATA: private writable memory",
            mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                ? -1
                : 0);
    CASE_AS("DATA: memory that is only read",
            mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    CASE_AS("DATA: shared memory",
            mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                ? -1
                : 0);
    CASE_AS("DATA: sbrk", sbrk((intptr_t)n) == (void *)-1 ? -1 : 0);
}

static int dive(int depth)
{
    volatile char block[4096];

    block[0] = (char)depth;
    return depth ? dive(depth - 1) + block[0] : block[0];
}

static void stack_within(void) { VALUE_AS("STACK: 200 KiB of a stack", dive(50) & 0); }

static void stack_beyond(void)
{
    set(RLIMIT_STACK, 512 * 1024, RLIM_INFINITY);
    VALUE_AS("STACK: 4 MiB of a stack", dive(1024) & 0);
}

static volatile sig_atomic_t caught;

static void note(int sig) { caught = sig; }

static void file_size(void)
{
    char block[1000] = "";
    int fd = open("limits.file", O_RDWR | O_CREAT | O_TRUNC, 0600);

    signal(SIGXFSZ, note);
    CASE_AS("setrlimit FSIZE", set(RLIMIT_FSIZE, 1500, RLIM_INFINITY));
    CASE_AS("FSIZE: within", write(fd, block, 1000));
    CASE_AS("FSIZE: up to it", write(fd, block, 1000));
    VALUE_AS("FSIZE: no signal so far", caught);
    CASE_AS("FSIZE: at it", write(fd, block, 1));
    TEXT("FSIZE: signal", "%s", caught ? sigabbrev_np(caught) : "none");
    caught = 0;
    CASE_AS("FSIZE: nothing at it", write(fd, block, 0));
    CASE_AS("FSIZE: pwrite beyond", pwrite(fd, block, 1, 5000));
    CASE_AS("FSIZE: truncate to it", ftruncate(fd, 1500));
    caught = 0;
    CASE_AS("FSIZE: truncate beyond", ftruncate(fd, 1501));
    TEXT("FSIZE: signal of truncate", "%s", caught ? sigabbrev_np(caught) : "none");
    CASE_AS("FSIZE: shorter", ftruncate(fd, 10));
    unlink("limits.file");
}

static void file_size_default(void)
{
    int fd = open("limits.file", O_RDWR | O_CREAT | O_TRUNC, 0600);

    unlink("limits.file");
    set(RLIMIT_FSIZE, 0, 0);
    CASE_AS("FSIZE: write with limit 0", write(fd, "x", 1));
}

static void processes(void)
{
    pid_t pid;

    set(RLIMIT_NPROC, 1, 1);
    pid = fork();
    if (pid == 0)
        _exit(0);
    VALUE_AS("NPROC: root is not limited", pid > 0);
    wait(NULL);
    if (setresuid(10011, 10011, 10011))
        _exit(9);
    pid = fork();
    if (pid == 0)
        _exit(0);
    report_result("NPROC: a user is", pid, errno);
    CASE_AS("NPROC: more is not allowed", set(RLIMIT_NPROC, 2, 2));
}

static void priorities(void)
{
    set(RLIMIT_NICE, 15, 15);
    setpriority(PRIO_PROCESS, 0, 10);
    if (setresuid(1001, 1001, 1001))
        _exit(9);
    CASE_AS("NICE: to the limit", setpriority(PRIO_PROCESS, 0, 5));
    CASE_AS("NICE: below the limit", setpriority(PRIO_PROCESS, 0, 4));
    CASE_AS("NICE: nicer", setpriority(PRIO_PROCESS, 0, 15));
    CASE_AS("NICE: back", setpriority(PRIO_PROCESS, 0, 8));
}

static void cpu_soft(void)
{
    signal(SIGXCPU, note);
    set(RLIMIT_CPU, 1, 20);
    while (!caught)
        ;
    TEXT("CPU: signal", "%s", sigabbrev_np(caught));
}

static void cpu_default(void)
{
    set(RLIMIT_CPU, 1, 20);
    for (;;)
        ;
}

static void cpu_hard(void)
{
    signal(SIGXCPU, SIG_IGN);
    set(RLIMIT_CPU, 1, 1);
    for (;;)
        ;
}

int main(void)
{
    cases_begin();
    page = (size_t)sysconf(_SC_PAGESIZE);
    in_child("calls", calls);
    in_child("address_space", address_space);
    in_child("data", data);
    in_child("stack_within", stack_within);
    in_child("stack_beyond", stack_beyond);
    in_child("file_size", file_size);
    in_child("file_size_default", file_size_default);
    in_child("processes", processes);
    in_child("priorities", priorities);
    in_child("cpu_soft", cpu_soft);
    in_child("cpu_default", cpu_default);
    in_child("cpu_hard", cpu_hard);
    return 0;
}
