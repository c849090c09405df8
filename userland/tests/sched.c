// TAP
// SECONDS: 90
/*
 * Scheduling as a process sees it: sleeping, yielding, sharing a CPU with one that never gives it
 * up, affinity, spreading over the CPUs. Times are the machine's own; a loaded host stretches them,
 * so upper limits are wide and ratios are preferred.
 */
#define _GNU_SOURCE
#include <company.h>
#include <megalith/info.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define MS       1000000L
#define CHILDREN 8

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

/* Shared with the children. */
static volatile struct page {
    unsigned long rounds[CHILDREN];
    unsigned long cpus[CHILDREN]; /* mask of CPUs that it ran on */
    int stop;
    int ready;
    int turn;
} *shared;

static long now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static void sleep_ns(long ns)
{
    struct timespec ts = {ns / 1000000000L, ns % 1000000000L};

    while (nanosleep(&ts, &ts) != 0)
        ;
}

static unsigned cpu_now(void)
{
    struct mega_process p = {0};

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p.cpu;
}

static unsigned cpus_online(void)
{
    struct mega_cpu c;
    unsigned n = 0;

    while (mega$info(MEGA_INFO_CPU, n, &c, sizeof(c)) == SS$_NORMAL)
        n++;
    return n;
}

static int pin(pid_t pid, unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(pid, sizeof(set), &set);
}

static void test_sleep(void)
{
    long worst = 0, early = 0;

    for (int i = 1; i <= 30; i++) {
        long want = i * 150 * 1000L, before = now(), slept;

        sleep_ns(want);
        slept = now() - before;
        early += slept < want;
        worst = slept - want > worst ? slept - want : worst;
    }
    is(early, 0, "no sleep ends early");
    ok(worst < (in_company() ? 5000 : 500) * MS, "none ends much too late (worst %ld us)",
       worst / 1000);
}

/* n children that count; each on CPU `cpu`, or anywhere where that is negative. */
static void spin(int n, int cpu, pid_t *pids)
{
    memset((void *)shared, 0, sizeof(*shared));
    for (int i = 0; i < n; i++) {
        pids[i] = must_fork();
        if (pids[i] == 0) {
            if (cpu >= 0 && pin(0, (unsigned)cpu) != 0)
                _exit(1);
            while (!shared->stop) {
                shared->rounds[i]++;
                if (shared->rounds[i] % 4096 == 0)
                    shared->cpus[i] |= 1ul << cpu_now();
            }
            _exit(0);
        }
    }
}

static int collect(int n, pid_t *pids)
{
    int status, bad = 0;

    shared->stop = 1;
    for (int i = 0; i < n; i++)
        bad += waitpid(pids[i], &status, 0) != pids[i] || status != 0;
    return bad;
}

static void test_share(void)
{
    pid_t pids[2];
    unsigned long a, b;
    long before;

    spin(2, 0, pids);
    pin(0, 0);
    before = now();
    for (int i = 0; i < 20; i++)
        sleep_ns(20 * MS); /* woken on the same CPU, between two that never give it up */
    ok(now() - before >= 400 * MS, "slept in between");
    is(collect(2, pids), 0, "two spinners on one CPU end when told");
    a = shared->rounds[0], b = shared->rounds[1];
    ok(a && b && (a < b ? a : b) * 100 / (a + b) >= 30, "and had shares of it: %lu and %lu rounds",
       a, b);
    is(shared->cpus[0] | shared->cpus[1], 1, "on the CPU that they were pinned to");
}

static void test_affinity(unsigned ncpus)
{
    cpu_set_t set;
    int wrong = 0;

    for (unsigned i = 0; i < 5 * ncpus; i++) {
        wrong += pin(0, i % ncpus) != 0;
        wrong += cpu_now() != i % ncpus;
    }
    is(wrong, 0, "a process is on the CPU that it asks for at once");
    is(pin(0, 17), -1, "a CPU that is not there is refused");
    CPU_ZERO(&set);
    is(sched_getaffinity(0, sizeof(set), &set), 0, "sched_getaffinity");
    ok(CPU_COUNT(&set) == 1 && CPU_ISSET((5 * ncpus - 1) % ncpus, &set), "tells what was set");
    CPU_ZERO(&set);
    for (unsigned i = 0; i < ncpus; i++)
        CPU_SET(i, &set);
    is(sched_setaffinity(0, sizeof(set), &set), 0, "and back to all CPUs");
}

static void test_yield(void)
{
    long switched = 0;
    pid_t pid;

    memset((void *)shared, 0, sizeof(*shared));
    pid = must_fork();
    pin(0, 0);
    if (pid == 0)
        shared->ready = 1;
    else
        while (!shared->ready)
            sleep_ns(MS);
    /* In turns on one CPU: without the yield each turn would cost a whole slice. */
    for (int i = 0; i < 500; i++) {
        while (shared->turn % 2 != (pid == 0)) {
            sched_yield();
            switched++;
        }
        __atomic_fetch_add(&shared->turn, 1, __ATOMIC_SEQ_CST);
    }
    if (pid == 0)
        _exit(0);

    int status = -1;

    ok(waitpid(pid, &status, 0) == pid && status == 0,
       "two processes take 1,000 turns by sched_yield");
    is(shared->turn, 1000, "each had its turns");
    ok(switched < 100000, "without going round in vain (%ld yields)", switched);
}

/* FUTEX_WAKE says how many it has woken, at most as many as it was to wake. */
static void test_futex_wake(void)
{
    static const int limits[] = {100, 2};
    int *word = (int *)&shared->turn;

    for (unsigned k = 0; k < 2; k++) {
        pid_t pids[3];
        long woken = 0, most = 0;

        memset((void *)shared, 0, sizeof(*shared));
        for (unsigned i = 0; i < 3; i++)
            if ((pids[i] = must_fork()) == 0) {
                while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == 0)
                    syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
                _exit(0);
            }
        /* All three are woken at once in the first round in which all three wait. */
        for (int i = 0; i < 1000 && most < (k ? 2 : 3); i++) {
            sleep_ns(5 * MS);
            woken = syscall(SYS_futex, word, FUTEX_WAKE, limits[k], NULL, NULL, 0);
            most = woken > most ? woken : most;
        }
        is(most, k ? 2 : 3, "three wait, at most %d are to be woken", limits[k]);
        __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, word, FUTEX_WAKE, 100, NULL, NULL, 0);
        is(collect(3, pids), 0, "and go on when the word has changed");
        is(syscall(SYS_futex, word, FUTEX_WAKE, 100, NULL, NULL, 0), 0, "nobody is left to wake");
    }
}

/* All start where the parent is; the idle CPUs take them. */
static void test_spread(unsigned ncpus)
{
    pid_t pids[CHILDREN];
    unsigned long mask = 0, least = ~0ul;
    struct timespec ts;

    spin(CHILDREN, -1, pids);
    for (int i = 0; i < 100; i++) {
        sleep_ns(20 * MS);
        mask = 0;
        for (int j = 0; j < CHILDREN; j++)
            mask |= shared->cpus[j];
        if (mask == (1ul << ncpus) - 1 && i >= 10)
            break;
    }
    is(collect(CHILDREN, pids), 0, "%d spinners end when told", CHILDREN);
    is(mask, (1ul << ncpus) - 1, "they had spread over all CPUs");
    for (int j = 0; j < CHILDREN; j++)
        least = shared->rounds[j] < least ? shared->rounds[j] : least;
    ok(least > 0, "and none of them starved (least %lu rounds)", least);
    is(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0, "the parent's CPU time can be asked");
}

int main(void)
{
    unsigned ncpus = cpus_online();

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        bail_out("no shared page");
    diag("%u CPUs", ncpus);
    test_sleep();
    test_affinity(ncpus);
    test_yield();
    test_share();
    test_futex_wake();
    test_affinity(ncpus);
    test_spread(ncpus);
    return tap_done();
}
