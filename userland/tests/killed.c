// TAP
// RUN: --smp 1 --icount -m 1G --reserve 'KILLED_ALLOC 128 /ALLOCATE /NOZERO /PAGE_TABLES'
// RUN: --smp 2 -m 1G --reserve 'KILLED_BARE 128 /ALLOCATE /NOZERO /NOPAGE_TABLES'
// RUN: --smp 4 -m 1G --reserve 'KILLED_PROMISED 128 /NOALLOCATE'
// ARGS: 3
// SECONDS: 120
/*
 * A process that is killed in the middle of any long call ends soon. For each call a victim is
 * killed at a random moment, many times: by an alarm, which with --icount hits any instruction, or
 * by SIGKILL from another process.
 *
 * On one CPU with --icount the time from the alarm to the end of wait() is what the victim still
 * used: at most AFTER, and PER_PAGE for each page that its end had to free. Afterwards every page
 * must be back, which the self-check and the check for leaks at the end of the run count
 * (--validate).
 *
 * A victim that counts in a loop of user mode counts no further after kill() has returned: not at
 * all on one CPU, and at most STEPS on several, where the victim's CPU may be amid some
 * instructions when the interrupt comes that kill() has sent.
 *
 * At the end some victims are left behind in their calls: the self-check must be able to stop them.
 *
 * `killed ROUNDS [SEED]`.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <dirent.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <poll.h>
#include <sched.h>
#include <secdef.h>
#include <signal.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <vadef.h>

#define PAGE      8192ul
#define MIB       (1ul << 20)
#define BIG       (96 * MIB)
#define HUGE      0x7FFFE000ul
#define RW        (PROT_READ | PROT_WRITE)
#define AFTER     10000000ul
#define PER_PAGE  150
#define SHIFT_MIN 10 /* the victim lives for 2^10 to 2^24 ns after it has begun */
#define SHIFT_MAX 24
#define NO_ALARM  1 /* as shift_max: a stopped process takes SIGKILL only */
#define NAMES     300
#define ARGS_MAX  100000
#define STEPS     8
#define MAPPINGS  20000

static uint64_t state = 88172645463325252ul;
static struct shared { /* between the victim and its killer */
    uint64_t began_ns; /* when the victim begins the call */
    uint32_t ready;
    uint32_t steps;      /* counted by victims in user mode */
    uint32_t ready_maps; /* the process with many mappings has them */
} *shared;
static char *big; /* BIG bytes that have no pages in the killer */
static int file = -1, dir = -1;
static int often = -1; /* a file that another process has mapped MAPPINGS times */

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *map(uint64_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, RW, flags | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static void fill(void)
{
    mmap(big, BIG, RW, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE | MAP_ANONYMOUS, -1, 0);
}

static void drop(void)
{
    mmap(big, BIG, RW, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* ---- the calls: each is repeated until the victim is killed ---- */

static void user_mode(void) { __atomic_fetch_add(&shared->steps, 1, __ATOMIC_RELAXED); }
static void touch(void)
{
    drop();
    for (uint64_t at = 0; at < BIG; at += PAGE)
        big[at] = 1;
}
static void write_tty(void)
{
    int fd = open("/dev/tty", O_WRONLY);

    if (fd < 0) /* the session has no terminal, as when soak has started this program */
        fd = open("/dev/console", O_WRONLY | O_NOCTTY);
    if (write(fd, map(HUGE, MAP_PRIVATE | MAP_NORESERVE), HUGE) < 0)
        _exit(1);
}
/* Nobody reads what is written to the master, nor its echo. */
static void write_master(void)
{
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);

    if (write(fd, map(HUGE, MAP_PRIVATE | MAP_NORESERVE), HUGE) < 0)
        _exit(1);
}
static void write_null(void)
{
    int fd = open("/dev/null", O_WRONLY);

    if (write(fd, big, BIG) < 0)
        _exit(1);
    close(fd);
}
static void read_zero(void)
{
    int fd = open("/dev/zero", O_RDONLY);

    drop();
    if (read(fd, big, BIG) < 0)
        _exit(1);
    close(fd);
}
static void write_file(void)
{
    ftruncate(file, 0);
    if (pwrite(file, big, BIG, 0) < 0)
        _exit(1);
}
static void read_file(void)
{
    ftruncate(file, BIG);
    if (pread(file, big, BIG, 0) < 0)
        _exit(1);
}
static void truncate_file(void)
{
    ftruncate(file, 16 * MIB);
    pwrite(file, big, 16 * MIB, 0);
    ftruncate(file, 0);
}
static void vectors(void)
{
    struct iovec v[1024];

    for (unsigned i = 0; i < 1024; i++)
        v[i] = (struct iovec){big + i * PAGE, 3 * PAGE};
    lseek(file, 0, SEEK_SET);
    writev(file, v, 1024);
    lseek(file, 0, SEEK_SET);
    readv(file, v, 1024);
}
static void through_pipe(void)
{
    int p[2];

    if (pipe(p))
        _exit(1);
    if (must_fork() == 0) {
        close(p[1]);
        while (read(p[0], big, BIG) > 0)
            ;
        _exit(0);
    }
    close(p[0]);
    for (;;)
        write(p[1], big, BIG);
}
static void populate(void)
{
    fill();
    munmap(big, BIG);
}
static void populate_shared(void) { munmap(map(BIG, MAP_SHARED | MAP_POPULATE), BIG); }
static void populate_file(void)
{
    ftruncate(file, BIG);
    munmap(mmap(NULL, BIG, RW, MAP_SHARED | MAP_POPULATE, file, 0), BIG);
}
static void lock_pages(void)
{
    drop();
    mlock(big, BIG);
    munlock(big, BIG);
}
static void protect(void)
{
    static bool full;

    if (!full)
        fill();
    full = true;
    mprotect(big, BIG, PROT_READ);
    mprotect(big, BIG, RW);
}
static void forget(void)
{
    fill();
    madvise(big, BIG, MADV_DONTNEED);
}
static void copy_space(void)
{
    pid_t pid;

    fill();
    pid = must_fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
}
static void copied_space(void)
{
    pid_t pid = must_fork();

    if (pid)
        _exit(waitpid(pid, NULL, 0) < 0);
    for (;;)
        touch();
}
static void fork_only(void)
{
    pid_t pid = must_fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
}
static void vfork_only(void)
{
    static char *const none[] = {(char *)"/bin/true", NULL};
    pid_t pid = vfork();

    if (pid == 0) {
        execv("/bin/true", none);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}
static void exec_many(void)
{
    static char *args[ARGS_MAX + 1];

    for (unsigned i = 0; i < ARGS_MAX; i++)
        args[i] = (char *)"";
    execv("/nowhere", args);
    args[20000] = NULL;
    if (vfork() == 0) {
        execv("/bin/true", args);
        _exit(1);
    }
    wait(NULL);
}
static void list_names(void)
{
    lseek(dir, 0, SEEK_SET);
    for (unsigned i = 0; i < 20; i++)
        getdents64(dir, big, BIG);
}
static void numbers(void) { getrandom(big, 33554431, 0); }
static void mix_in(void) { write(open("/dev/urandom", O_WRONLY), big, BIG); }
static void poll_many(void)
{
    struct pollfd f[256];

    for (int i = 0; i < 256; i++)
        f[i] = (struct pollfd){file, POLLPRI, 0};
    poll(f, 256, 1);
}
static void select_many(void)
{
    fd_set set;
    struct timeval t = {0, 1000};

    FD_ZERO(&set);
    for (int i = 20; i < 200; i++) {
        dup2(file, i);
        FD_SET(i, &set);
    }
    select(200, NULL, NULL, &set, &t);
}
static void sleep_long(void) { sleep(100); }
static void allocate_file(void)
{
    fallocate(file, 0, 0, BIG);
    ftruncate(file, 0);
}
static void truncate_mapped(void) /* every mapping is looked at for pages to unmap */
{
    ftruncate(often, BIG);
    ftruncate(often, 0);
}
static void wait_signal(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigsuspend(&none);
}
static void stop_self(void) { raise(SIGSTOP); }

/* ---- tracing ---- */

#define SEIZE 0x4206

/* Resume pid, by steps and from call to call in turn, until it has ended; or `most` times. */
static void trace(pid_t pid, unsigned most)
{
    int status;

    for (unsigned n = 0; n < most && waitpid(pid, &status, __WALL) == pid; n++) {
        if (!WIFSTOPPED(status))
            return;
        ptrace(n / 50 % 2 ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, pid, 0,
               (long)(WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status)));
    }
}

static void trace_child(void)
{
    pid_t pid = must_fork();

    if (pid == 0)
        for (;;)
            getppid();
    ptrace(SEIZE, pid, 0, PTRACE_O_EXITKILL);
    ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    trace(pid, 400);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) == pid)
        ;
}

/* By a child, which ends with this process, the first to know of its end. */
static void be_traced(void)
{
    static pid_t tracer;
    pid_t self = getpid();

    if (!tracer) {
        tracer = must_fork();
        if (tracer == 0) {
            ptrace(SEIZE, self, 0, 0);
            ptrace(PTRACE_INTERRUPT, self, 0, 0);
            trace(self, ~0u);
            _exit(0);
        }
    }
    getppid();
}

/* ---- services ---- */

static struct dsc64$descriptor *named(const char *name)
{
    static struct dsc64$descriptor d;

    d = (struct dsc64$descriptor){1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                  -1, strlen(name),    (char *)name};
    return &d;
}

static void section(const char *name, bool tables, bool pagfil)
{
    static struct _generic_64 region;
    uint32_t flags = SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT;
    uint64_t length;
    void *va;
    int status;

    sys$create_region_64(256 * MIB, VA$C_REGION_UCREATE_UOWN, tables ? VA$M_SHARED_PTS : 0, &region,
                         &va, &length);
    if (pagfil)
        status = sys$crmpsc_gpfile_64(named(name), NULL, 0, BIG, &region, 0, 3, flags, &va,
                                      &length);
    else
        status = sys$crmpsc_gdzro_64(named(name), NULL, 0, BIG, &region, 0, 3, flags, &va, &length);
    if (status & 1)
        mlock(va, length);
    sys$delete_region_64(&region, 3, &va, &length);
}
static void alloc_section(void) { section("KILLED_ALLOC", true, false); }
static void bare_section(void) { section("KILLED_BARE", false, false); }
static void promised_section(void) { section("KILLED_PROMISED", true, false); }
static void fluid_section(void) { section("KILLED_FLUID", true, false); }
static void fluid_private(void) { section("KILLED_FLUID", false, false); }
static void pagfil_section(void) { section("KILLED_PAGFIL", false, true); }
static void lock_service(void)
{
    struct _generic_64 region = {.gen64$q_quadword = VA$C_P2};
    uint64_t length;
    void *va;

    if (sys$expreg_64(&region, BIG, 3, 0, &va, &length) & 1) {
        sys$lckpag_64(va, length, 3, &va, &length);
        sys$deltva_64(&region, va, length, 3, &va, &length);
    }
}
static void self_check(void)
{
    struct mega_validate v;

    mega$info(MEGA_INFO_VALIDATE, 0, &v, sizeof(v));
}
static void show_all(void)
{
    struct mega_process p;

    for (long pid = 1; mega$info(MEGA_INFO_PROCESS, -1 - pid, &p, sizeof(p)) & 1; pid = p.pid)
        ;
}

static const struct call {
    const char *name;
    void (*fn)(void);
    unsigned shift_max; /* lives for up to 2^shift_max ns, 0: SHIFT_MAX */
    bool uncounted;     /* other processes run at the same time, or (self-check) are all stopped */
} calls[] = {
    {"a loop of user mode", user_mode, 16, false},
    {"first accesses to pages", touch, 0, false},
    {"write to the terminal", write_tty, 19, false},
    {"write to a pseudo-terminal", write_master, 19, false},
    {"write to /dev/null", write_null, 0, false},
    {"read of /dev/zero", read_zero, 0, false},
    {"write to a file", write_file, 0, false},
    {"read of a file", read_file, 0, false},
    {"ftruncate", truncate_file, 0, false},
    {"ftruncate of a file with many mappings", truncate_mapped, 0, false},
    {"fallocate", allocate_file, 0, false},
    {"readv and writev", vectors, 0, false},
    {"a pipe", through_pipe, 0, true},
    {"mmap and munmap, populated", populate, 0, false},
    {"shared mmap, populated", populate_shared, 0, false},
    {"mmap of a file, populated", populate_file, 0, false},
    {"mlock", lock_pages, 0, false},
    {"mprotect", protect, 0, false},
    {"madvise", forget, 0, false},
    {"fork of a large space", copy_space, 0, true},
    {"writes after fork", copied_space, 0, true},
    {"fork", fork_only, 0, true},
    {"vfork and exec", vfork_only, 0, true},
    {"exec with many arguments", exec_many, 0, false},
    {"getdents64", list_names, 0, false},
    {"getrandom", numbers, 0, false},
    {"write to /dev/urandom", mix_in, 0, false},
    {"poll", poll_many, 0, false},
    {"select", select_many, 0, false},
    {"sleep", sleep_long, 0, false},
    {"sigsuspend", wait_signal, 0, false},
    {"stopped", stop_self, NO_ALARM, true},
    {"tracing", trace_child, 0, true},
    {"traced", be_traced, NO_ALARM, true},
    {"section, preallocated", alloc_section, 0, false},
    {"section, private tables", bare_section, 0, false},
    {"section, promised", promised_section, 0, false},
    {"section, fluid", fluid_section, 0, false},
    {"section, fluid, private tables", fluid_private, 0, false},
    {"section, page-file-backed", pagfil_section, 0, false},
    {"$LCKPAG_64", lock_service, 0, false},
    {"self-check", self_check, 0, true},
    {"show system", show_all, 0, false},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* ---- the killer ---- */

static void victim(const struct call *c, uint64_t life_ns, bool by_alarm)
{
    struct itimerval t = {{0, 0}, {0, (long)(life_ns / 1000) + 1}};

    setpgid(0, 0);
    signal(SIGALRM, SIG_DFL);
    shared->began_ns = now();
    __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
    if (by_alarm)
        setitimer(ITIMER_REAL, &t, NULL);
    for (;;)
        c->fn();
}

struct outcome {
    uint64_t after_ns; /* from the alarm to the end of the victim */
    uint32_t steps;    /* in user mode, after it was killed */
    int status;        /* of the victim, as waitpid() has it */
    bool ended;        /* by the signal */
};

static struct outcome kill_once(const struct call *c, bool by_alarm)
{
    unsigned shift_max = c->shift_max > SHIFT_MIN ? c->shift_max : SHIFT_MAX;
    unsigned shift = SHIFT_MIN + (unsigned)draw(shift_max - SHIFT_MIN);
    uint64_t life = (1ul << shift) + draw(1ul << shift);
    struct outcome o = {0};
    uint32_t steps = 0;
    int status = 0;
    pid_t pid;

    shared->ready = 0;
    pid = must_fork();
    if (pid == 0)
        victim(c, life, by_alarm);
    setpgid(pid, pid);
    if (!by_alarm) {
        while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
            sched_yield();
        nanosleep(&(struct timespec){0, (long)life}, NULL);
        kill(pid, SIGKILL);
        steps = __atomic_load_n(&shared->steps, __ATOMIC_RELAXED);
    }
    o.ended = waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
              WTERMSIG(status) == (by_alarm ? SIGALRM : SIGKILL);
    o.status = status;
    if (by_alarm) /* after SIGKILL the victim may have had the CPU already */
        o.after_ns = now() - shared->began_ns - life;
    else
        o.steps = __atomic_load_n(&shared->steps, __ATOMIC_RELAXED) - steps;
    kill(-pid, SIGKILL); /* its children */
    return o;
}

static void await_count(const uint32_t *count, uint32_t want)
{
    for (unsigned tries = 0; __atomic_load_n(count, __ATOMIC_ACQUIRE) < want; tries++) {
        if (tries == 20000)
            bail_out("a process is not ready");
        usleep(1000);
    }
    usleep(20000);
}

static bool end(pid_t pid)
{
    int status = 0;

    return kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static pid_t map_often(void)
{
    pid_t pid;

    often = open("/tmp/often", O_RDWR | O_CREAT | O_TRUNC, 0600);
    shared->ready_maps = 0;
    pid = must_fork();
    if (pid)
        return pid;
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (mmap(NULL, BIG, RW, MAP_SHARED, often, 0) == MAP_FAILED)
            _exit(1);
    __atomic_store_n(&shared->ready_maps, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

static unsigned cpus(void)
{
    struct mega_cpu c;
    unsigned n = 0;

    while (mega$info(MEGA_INFO_CPU, n, &c, sizeof(c)) & 1)
        n++;
    return n;
}

static __attribute__((noinline)) uint64_t lap(void)
{
    uint64_t a = now();

    for (volatile int i = 0; i < 1000; i++)
        ;
    return now() - a;
}

/* One CPU, on which time counts instructions? Then a loop takes the same time again, unless an
   interrupt comes. */
static bool exact(void)
{
    unsigned same = 0;

    for (unsigned i = 0; i < 8; i++)
        same += lap() == lap();
    return same >= 4 && cpus() == 1;
}

static void prepare(void)
{
    char name[40];

    shared = map(PAGE, MAP_SHARED);
    big = map(BIG, MAP_PRIVATE | MAP_NORESERVE);
    file = open("/tmp/killed", O_RDWR | O_CREAT | O_TRUNC, 0600);
    mkdir("/tmp/names", 0700);
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "/tmp/names/%u", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    dir = open("/tmp/names", O_RDONLY);
}

static void tidy(void)
{
    char name[40];

    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "/tmp/names/%u", i);
        unlink(name);
    }
    rmdir("/tmp/names");
    unlink("/tmp/often");
    unlink("/tmp/killed");
}

/* Leave some victims in their calls: the self-check at the end of the run must be possible. */
static void leave(void)
{
    static void (*const left[])(void) = {write_tty, read_zero, populate, copy_space, write_file};

    for (unsigned k = 0; k < sizeof(left) / sizeof(left[0]); k++) {
        if (must_fork() == 0)
            for (;;)
                left[k]();
    }
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
    bool counts = exact();
    pid_t mapper;

    if (argc > 2)
        state ^= strtoul(argv[2], NULL, 0) * 0x9E3779B97F4A7C15ul;
    prepare();
    mapper = map_often();
    await_count(&shared->ready_maps, 1);
    for (unsigned k = 0; k < CALLS; k++) {
        uint64_t bound = AFTER + PER_PAGE * (BIG / PAGE + 1000), most = 0;
        uint32_t steps = 0;
        bool ended = true;

        for (unsigned round = 0; round < rounds * (calls[k].fn == user_mode ? 8 : 1); round++) {
            bool by_alarm = round % 2 == 0 && calls[k].shift_max != NO_ALARM;
            struct outcome o = kill_once(&calls[k], by_alarm);

            if (!o.ended)
                diag("%s, by %s: status %#x", calls[k].name, by_alarm ? "alarm" : "kill",
                     (unsigned)o.status);
            ended &= o.ended;
            steps = o.steps > steps ? o.steps : steps;
            most = o.after_ns > most ? o.after_ns : most;
        }
        ok(ended, "%s: the victim is killed", calls[k].name);
        if (calls[k].fn == user_mode)
            ok(steps <= (cpus() == 1 ? 0 : STEPS), "%u steps of user mode after that", steps);
        if (counts && !calls[k].uncounted)
            ok(most <= bound, "%s: it ends within %lu of %lu instructions", calls[k].name,
               (unsigned long)most, (unsigned long)bound);
    }
    ok(end(mapper), "the process with many mappings is killed");
    tidy();
    if (!in_company())
        leave();
    return tap_done();
}
