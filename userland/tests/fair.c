// TAP
// RUN: --icount --smp 1
// RUN: --smp 2 --schedule 20
// RUN: --smp 4 --schedule 20
/*
 * Shares of the CPU in the guest: processes that block beside processes that compute, nice values,
 * users, and the CPU time that is charged. An instruction takes 1 ns, or on several CPUs, which
 * take turns, 8 ns: so all figures count progress of the guest.
 */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define TICK     976562L /* ns */
#define BUSY_MAX 32

static unsigned ncpus;
static pid_t busy[BUSY_MAX];

static long clock_of(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static long now(void) { return clock_of(CLOCK_MONOTONIC); }

static void sleep_ns(long ns)
{
    struct timespec ts = {ns / 1000000000L, ns % 1000000000L};

    while (nanosleep(&ts, &ts) != 0)
        ;
}

static long user_ns(const struct rusage *u)
{
    return u->ru_utime.tv_sec * 1000000000L + u->ru_utime.tv_usec * 1000L;
}
static long system_ns(const struct rusage *u)
{
    return u->ru_stime.tv_sec * 1000000000L + u->ru_stime.tv_usec * 1000L;
}

static bool sleeps; /* processes that are started sleep a third of the time */

/* In memory shared with them: the CPU on which each was when it last looked, and how often that was
 * another one than before. */
static volatile struct {
    unsigned cpu, moves;
} *seen;

static void compute_for_ever(unsigned self)
{
    seen[self].cpu = (unsigned)sched_getcpu();
    for (long from = now();;) {
        unsigned cpu = (unsigned)sched_getcpu();

        seen[self].moves += cpu != seen[self].cpu;
        seen[self].cpu = cpu;
        for (volatile unsigned n = 0; n < 1000; n++)
            ;
        if (sleeps && now() - from > 4 * TICK) {
            sleep_ns(2 * TICK);
            from = now();
        }
    }
}

/* Start n processes that compute, as a user and with a nice value, from `at` of busy[] on. */
static void start(unsigned at, unsigned n, uid_t uid, int nice_value)
{
    for (unsigned i = at; i < at + n; i++)
        if ((busy[i] = must_fork()) == 0) {
            if (nice_value)
                setpriority(PRIO_PROCESS, 0, nice_value);
            if (uid && setuid(uid) != 0)
                _exit(1);
            compute_for_ever(i);
        }
}

/* End n processes, and return the CPU time that they have used, in ns. */
static long stop(unsigned at, unsigned n)
{
    long used = 0;

    for (unsigned i = at; i < at + n; i++)
        kill(busy[i], SIGKILL);
    for (unsigned i = at; i < at + n; i++) {
        struct rusage u = {0};
        int status = 0;

        if (wait4(busy[i], &status, 0, &u) != busy[i] || !WIFSIGNALED(status))
            return -1;
        used += user_ns(&u) + system_ns(&u);
    }
    return used;
}

/* Two processes that send a byte to and fro. */
struct pair {
    pid_t pid; /* of the other one */
    int to[2], from[2];
    long trips, share; /* share: CPU time of both, in percent of one CPU */
};

/* Exchange bytes for `length` ns, beside n processes that compute. */
static struct pair exchange(unsigned n, long length)
{
    struct pair p = {0};
    struct rusage u = {0};
    long begin, used;
    char c = 'x';

    if (pipe(p.to) != 0 || pipe(p.from) != 0)
        bail_out("no pipes");
    p.pid = must_fork();
    if (p.pid == 0) {
        close(p.to[1]);
        while (read(p.to[0], &c, 1) == 1 && write(p.from[1], &c, 1) == 1)
            ;
        _exit(0);
    }
    close(p.to[0]);
    start(0, n, 0, 0);
    sleep_ns(10 * TICK);
    begin = now();
    used = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    while (now() < begin + length && write(p.to[1], &c, 1) == 1 && read(p.from[0], &c, 1) == 1)
        p.trips++;
    used = clock_of(CLOCK_PROCESS_CPUTIME_ID) - used;
    length = now() - begin;
    stop(0, n); /* they have the pipes open too */
    close(p.to[1]);
    close(p.from[0]);
    close(p.from[1]);
    wait4(p.pid, NULL, 0, &u);
    p.share = (used + user_ns(&u) + system_ns(&u)) * 100 / length;
    return p;
}

static void test_pipe(void)
{
    const long length = 150 * TICK;
    struct pair alone = exchange(0, length), some = exchange(ncpus, length),
                many = exchange(8 * ncpus, length);

    if (ncpus == 1) {
        ok(alone.trips > 1000, "a pipe alone: %ld round trips", alone.trips);
        ok(some.trips * 2 >= alone.trips, "beside one busy process at least half of that: %ld",
           some.trips);
        ok(many.trips * 10 >= alone.trips, "beside eight at least a tenth: %ld", many.trips);
    } else {
        ok(some.share >= 50, "a pipe beside one busy process for each CPU uses %ld %% of a CPU",
           some.share);
        ok(many.share >= 10, "and beside eight for each CPU %ld %%", many.share);
    }
}

/* How late does a process that sleeps much run beside 4 busy ones for each CPU? */
static void test_latency(void)
{
    long worst = 0;

    start(0, 4 * ncpus, 0, 0);
    sleep_ns(40 * TICK); /* it has computed until now: let it fall below its share */
    for (int i = 0; i < 20; i++) {
        long due = now() + 3 * TICK + 7919 * i;

        sleep_ns(due - now());
        if (now() - due > worst)
            worst = now() - due;
    }
    stop(0, 4 * ncpus);
    ok(worst <= TICK, "a process that sleeps much runs within a tick: %ld us at worst",
       worst / 1000);
}

/* The calling process and those that it creates run on the CPUs of this mask only. */
static void keep_to(unsigned long mask)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (unsigned i = 0; i < ncpus; i++)
        if (mask >> i & 1)
            CPU_SET(i, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void test_nice(void)
{
    long fast, slow;

    keep_to(1);
    start(0, 1, 0, 0);
    start(1, 1, 0, 5);
    sleep_ns(200 * TICK);
    fast = stop(0, 1);
    slow = stop(1, 1);
    keep_to(~0ul);
    ok(fast > slow * 27 / 10 && fast < slow * 34 / 10,
       "five steps of nice are a factor of three: %ld and %ld us", fast / 1000, slow / 1000);
}

/* What setpriority allows. */
static void test_setpriority(void)
{
    errno = 0;
    is(getpriority(PRIO_PROCESS, 0), 0, "a process begins with nice 0");
    is(setpriority(PRIO_PROCESS, 0, 30), 0, "a value above 19 is cut");
    is(getpriority(PRIO_PROCESS, 0), 19, "to 19");
    is(setpriority(PRIO_PROCESS, 0, 0), 0, "user 0 may lower it");
    ok(setpriority(PRIO_PROCESS, 99999, 1) == -1 && errno == ESRCH, "nobody has such a number");
    ok(setpriority(3, 0, 1) == -1 && errno == EINVAL, "there are three kinds of numbers");

    pid_t pid = must_fork();
    int status = -1;

    if (pid == 0) {
        bool right = setuid(1001) == 0 && setpriority(PRIO_PROCESS, 0, 3) == 0 &&
                     getpriority(PRIO_USER, 1001) == 3 && setpriority(PRIO_PROCESS, 0, 2) == -1 &&
                     errno == EACCES && setpriority(PRIO_PROCESS, getppid(), 5) == -1 &&
                     errno == EPERM;

        _exit(!right);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "others may raise their own only");
}

static void test_users(void)
{
    long few, many;

    keep_to(1);
    start(0, 1, 1001, 0);
    start(1, 8, 1002, 0);
    sleep_ns(200 * TICK);
    few = stop(0, 1);
    many = stop(1, 8);
    keep_to(~0ul);
    ok(few > many * 9 / 10 && few < many * 11 / 10,
       "one process of one user has as much as eight of another: %ld and %ld us", few / 1000,
       many / 1000);
}

/* ---- several CPUs ---- */

/* busy[i], where no process runs besides these and their parent. */
static struct mega_process info_of(unsigned i)
{
    struct mega_process p = {0};

    long index = i ? -1 - (long)busy[i - 1] : 1; /* the one after the last one, or the second */

    if (mega$info(MEGA_INFO_PROCESS, index, &p, sizeof(p)) != SS$_NORMAL || (pid_t)p.pid != busy[i])
        bail_out("no information on a process");
    return p;
}

#define PERIOD (64 * TICK) /* in which each CPU looks at the others' loads */

static long used[BUSY_MAX], watched; /* by each process, in all, ns */

/* Let n processes compute for `periods`, undisturbed: returns how often one of them met another CPU
 * than before. share: of one CPU, what each of them has used, in percent. */
static unsigned watch(unsigned n, unsigned periods, long share[])
{
    struct mega_process first[BUSY_MAX];
    unsigned moves = 0;
    long begin;

    for (unsigned i = 0; i < n; i++)
        first[i] = info_of(i);
    for (unsigned i = 0; i < n; i++)
        moves -= seen[i].moves;
    begin = now();
    sleep_ns(periods * PERIOD);
    watched = now() - begin;
    for (unsigned i = 0; i < n; i++)
        moves += seen[i].moves;
    for (unsigned i = 0; i < n; i++) {
        used[i] = (long)(info_of(i).cpu_ns - first[i].cpu_ns);
        share[i] = used[i] * 100 / watched;
    }
    return moves;
}

/* The share of n of them together, which is more than the sum of shares without their fractions. */
static long share_of(unsigned first, unsigned n)
{
    long sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += used[first + i];
    return sum * 100 / watched;
}

/* `users` users have one process each, which is as heavy as all of another user's: those go to the
 * other CPUs. */
static void test_users_apart(unsigned users)
{
    unsigned n = users + 4 * ncpus, moved;
    long share[BUSY_MAX], least = 100;

    for (unsigned i = 0; i < users; i++)
        start(i, 1, 1001 + i, 0);
    start(users, 4 * ncpus, 1000, 0);
    sleep_ns(8 * PERIOD);
    moved = watch(n, 8, share);
    for (unsigned i = 0; i < users; i++)
        least = share[i] < least ? share[i] : least;
    ok(least >= 90, "the only process of %u users each, beside %u of another, has %ld %% of a CPU",
       users, 4 * ncpus, least);
    ok(share_of(users, 4 * ncpus) >= 90 * (long)(ncpus - users), "and those have the rest: %ld %%",
       share_of(users, 4 * ncpus));
    ok(moved <= 4, "%u processes were moved when all had found their CPUs", moved);
    stop(0, n);
}

/* Processes that sleep a third of the time are woken where they leave the only process of another
 * user its share. */
static void test_sleepers(void)
{
    long share[BUSY_MAX];
    unsigned n = 1 + 4 * ncpus;

    start(0, 1, 1001, 0);
    sleeps = true;
    start(1, 4 * ncpus, 1000, 0);
    sleeps = false;
    sleep_ns(8 * PERIOD);
    watch(n, 24, share); /* with 8, some schedules of two CPUs are below by chance */
    ok(share[0] >= 90, "beside %u processes that sleep a third of the time it has %ld %%",
       4 * ncpus, share[0]);
    ok(share_of(1, n - 1) >= 90 * (long)(ncpus - 1), "and those have the rest: %ld %%",
       share_of(1, n - 1));
    stop(0, n);
}

static void test_nice_apart(void)
{
    unsigned n = 5 * ncpus, moved;
    long share[BUSY_MAX], least = 100;

    start(0, 4 * ncpus, 1001, 19);
    start(4 * ncpus, ncpus, 1001, 0);
    sleep_ns(8 * PERIOD);
    moved = watch(n, 8, share);
    for (unsigned i = 4 * ncpus; i < n; i++)
        least = share[i] < least ? share[i] : least;
    ok(least >= 80, "beside nice ones, one for each CPU has %ld %% of it", least);
    ok(moved <= 4, "%u processes were moved", moved);
    stop(0, n);
}

static void test_affinity(void)
{
    long share[BUSY_MAX];

    keep_to(1);
    start(0, 1, 1001, 0);
    start(1, 4, 1002, 0);
    keep_to(~0ul);
    start(5, 4, 1003, 0);
    sleep_ns(8 * PERIOD);
    is(watch(5, 8, share), 0, "those that may run on one CPU stay there");
    ok(share[0] >= 45 && share[0] <= 55 && share_of(1, 4) >= 45,
       "and two users share it: %ld and %ld %%", share[0], share_of(1, 4));
    stop(0, 9);
}

/* ---- locks ---- */

#define RIVALS 150

static void make_and_remove(const char *path)
{
    int fd = open(path, O_CREAT | O_RDWR, 0600);

    close(fd);
    unlink(path);
}

/* A directory's lock is taken all the time by many processes of one user, each of which has its
 * turn of the CPU a few times a second: a holder that lost the CPU, or a waiter that was woken,
 * would keep another user's call waiting for that long. */
static void test_locks(void)
{
    pid_t rivals[RIVALS];
    long worst = 0;
    char path[32];

    for (unsigned i = 0; i < RIVALS; i++)
        if ((rivals[i] = must_fork()) == 0) {
            snprintf(path, sizeof(path), "/tmp/rival%u", i);
            if (setuid(1001) != 0)
                _exit(1);
            for (;;)
                make_and_remove(path);
        }
    sleep_ns(100 * TICK);
    for (unsigned i = 0; i < 150; i++) {
        long begin = now();

        make_and_remove("/tmp/own");
        if (now() - begin > worst)
            worst = now() - begin;
        sleep_ns(3 * TICK);
    }
    for (unsigned i = 0; i < RIVALS; i++)
        kill(rivals[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    for (unsigned i = 0; i < RIVALS; i++) {
        snprintf(path, sizeof(path), "/tmp/rival%u", i);
        unlink(path);
    }
    ok(worst <= 20 * TICK,
       "the lock of a directory that %d others of one user want: %ld us at most", RIVALS,
       worst / 1000);
}

/* ---- CPU time ---- */

static void compute(long ns)
{
    for (long end = clock_of(CLOCK_PROCESS_CPUTIME_ID) + ns;
         clock_of(CLOCK_PROCESS_CPUTIME_ID) < end;)
        for (volatile int i = 0; i < 20000; i++)
            ;
}

static void test_accounting(void)
{
    static char block[1 << 20];
    struct rusage before, user, both;
    struct tms t;
    long start_ns;
    int fd[2];

    getrusage(RUSAGE_SELF, &before);
    compute(50 * TICK);
    getrusage(RUSAGE_SELF, &user);
    start_ns = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    while (clock_of(CLOCK_PROCESS_CPUTIME_ID) < start_ns + 50 * TICK) {
        /* In the kernel nearly all the time: pages that are made, filled and dropped. */
        char *p = mmap(NULL, sizeof(block), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

        munmap(p, sizeof(block));
    }
    getrusage(RUSAGE_SELF, &both);
    ok(user_ns(&user) - user_ns(&before) >= 48 * TICK &&
           system_ns(&user) - system_ns(&before) <= 2 * TICK,
       "50 ticks of computing are user time: %ld us, and %ld us of system time",
       (user_ns(&user) - user_ns(&before)) / 1000, (system_ns(&user) - system_ns(&before)) / 1000);
    ok(system_ns(&both) - system_ns(&user) >= 48 * TICK &&
           user_ns(&both) - user_ns(&user) <= 2 * TICK,
       "50 ticks in the kernel are system time: %ld us, and %ld us of user time",
       (system_ns(&both) - system_ns(&user)) / 1000, (user_ns(&both) - user_ns(&user)) / 1000);
    times(&t);
    getrusage(RUSAGE_SELF, &both);
    ok(labs(user_ns(&both) / TICK - (long)t.tms_utime) <= 1 &&
           labs(system_ns(&both) / TICK - (long)t.tms_stime) <= 1,
       "times() says the same");

    getrusage(RUSAGE_CHILDREN, &before);
    if (pipe(fd) != 0)
        bail_out("no pipe");
    pid_t pid = must_fork();

    if (pid == 0) {
        compute(20 * TICK);
        _exit(0);
    }
    wait4(pid, NULL, 0, &user);
    getrusage(RUSAGE_CHILDREN, &both);
    ok(user_ns(&user) >= 18 * TICK && user_ns(&user) + system_ns(&user) <= 24 * TICK,
       "wait4 returns what a child used: %ld us of user time, %ld us of system time",
       user_ns(&user) / 1000, system_ns(&user) / 1000);
    is(user_ns(&both) - user_ns(&before), user_ns(&user), "which is then that of the children");
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    struct mega_cpu c;

    seen = mmap(NULL, BUSY_MAX * sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    if (seen == MAP_FAILED)
        bail_out("no shared memory");
    while (mega$info(MEGA_INFO_CPU, ncpus, &c, sizeof(c)) == SS$_NORMAL)
        ncpus++;
    if (ncpus == 1) {
        test_accounting();
        test_latency();
        test_setpriority();
        test_nice();
        test_users();
        test_locks();
    } else {
        test_users_apart(1);
        if (ncpus > 2)
            test_users_apart(2);
        test_sleepers();
        test_nice_apart();
        test_affinity();
    }
    test_pipe();
    return tap_done();
}
