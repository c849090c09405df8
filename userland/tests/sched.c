// TAP
// SECONDS: 90
/*
 * Scheduling as a process sees it: sleeping, yielding, sharing a CPU with a process that never
 * yields, affinity, spreading over the CPUs. Times are those of the virtual machine, which a loaded
 * host stretches, so upper limits are wide and ratios are preferred.
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
    unsigned long periods[CHILDREN]; /* from tick to tick of CPU 0, in which each child ran */
    unsigned long cpus[CHILDREN];    /* mask of CPUs that each child ran on */
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

static unsigned long ticks_of_cpu_0(void)
{
    struct mega_cpu c = {0};

    mega$info(MEGA_INFO_CPU, 0, &c, sizeof(c));
    return c.clock_ticks;
}

static int pin(pid_t pid, unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(pid, sizeof(set), &set);
}

/* What is late is judged by the ticks of CPU 0, which do not come while the host runs other
 * work. */
static void test_sleep(void)
{
    unsigned long worst = 0;
    long early = 0;

    for (int i = 1; i <= 30; i++) {
        long want = i * 150 * 1000L, before = now();
        unsigned long ticks = ticks_of_cpu_0();

        sleep_ns(want);
        early += now() - before < want;
        ticks = ticks_of_cpu_0() - ticks;
        worst = ticks > worst ? ticks : worst;
    }
    is(early, 0, "no sleep ends too early");
    ok(worst < (in_company() ? 5120 : 512),
       "no sleep of up to 5 ms takes half a second (%lu ticks)", worst);
}

/* Start n children that count; each on CPU `cpu`, or on any CPU if that is negative. */
static void spin(int n, int cpu, pid_t *pids)
{
    memset((void *)shared, 0, sizeof(*shared));
    for (int i = 0; i < n; i++) {
        pids[i] = must_fork();
        if (pids[i] == 0) {
            if (cpu >= 0 && pin(0, (unsigned)cpu) != 0)
                _exit(1);
            for (unsigned long seen = 0; !shared->stop;) {
                shared->rounds[i]++;
                if (shared->rounds[i] % 4096 == 0) {
                    unsigned long tick = ticks_of_cpu_0();

                    shared->cpus[i] |= 1ul << cpu_now();
                    shared->periods[i] += tick != seen;
                    seen = tick;
                }
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

/* Counted are the periods between ticks, as the scheduler decides at these. The host may run the
 * CPU while it delays the ticks: then one child counts on for long, which is nobody's fault. */
static void test_share(void)
{
    pid_t pids[2];
    unsigned long a, b;
    long before;

    spin(2, 0, pids);
    pin(0, 0);
    before = now();
    for (int i = 0; i < 20; i++)
        sleep_ns(20 * MS); /* woken on the CPU that two others use without yielding */
    ok(now() - before >= 400 * MS, "the parent could sleep and run meanwhile");
    is(collect(2, pids), 0, "two processes that spin on one CPU end when told to");
    a = shared->periods[0], b = shared->periods[1];
    diag("%lu and %lu rounds", shared->rounds[0], shared->rounds[1]);
    ok(a && b && (a < b ? a : b) * 100 / (a + b) >= 30,
       "both had at least 30 %% of the CPU: %lu and %lu periods of a tick", a, b);
    is(shared->cpus[0] | shared->cpus[1], 1, "they ran on the CPU to which they were pinned");
}

static void test_affinity(unsigned ncpus)
{
    cpu_set_t set;
    int wrong = 0;

    for (unsigned i = 0; i < 5 * ncpus; i++) {
        wrong += pin(0, i % ncpus) != 0;
        wrong += cpu_now() != i % ncpus;
    }
    is(wrong, 0, "a process runs on the CPU that it has asked for at once");
    is(pin(0, 17), -1, "a CPU that does not exist is refused");
    CPU_ZERO(&set);
    is(sched_getaffinity(0, sizeof(set), &set), 0, "sched_getaffinity");
    ok(CPU_COUNT(&set) == 1 && CPU_ISSET((5 * ncpus - 1) % ncpus, &set),
       "sched_getaffinity returns the mask that was set");
    CPU_ZERO(&set);
    for (unsigned i = 0; i < ncpus; i++)
        CPU_SET(i, &set);
    is(sched_setaffinity(0, sizeof(set), &set), 0, "the mask is set to all CPUs again");
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
    /* In turns on one CPU: without the yield each turn would take a whole time slice. */
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
    is(shared->turn, 1000, "each process had its turns");
    ok(switched < 100000, "few calls of sched_yield were in vain (%ld in all)", switched);
}

/* FUTEX_WAKE returns the number of processes that it has woken, at most its argument. */
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
        is(most, k ? 2 : 3, "three processes wait, at most %d are woken", limits[k]);
        __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, word, FUTEX_WAKE, 100, NULL, NULL, 0);
        is(collect(3, pids), 0, "they continue when the word has changed");
        is(syscall(SYS_futex, word, FUTEX_WAKE, 100, NULL, NULL, 0), 0, "no waiter is left");
    }
}

/* All children start on the parent's CPU; the idle CPUs must take them over. */
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
    is(collect(CHILDREN, pids), 0, "%d processes that spin end when told to", CHILDREN);
    is(mask, (1ul << ncpus) - 1, "they have spread over all CPUs");
    for (int j = 0; j < CHILDREN; j++)
        least = shared->rounds[j] < least ? shared->rounds[j] : least;
    ok(least > 0, "each of them has run (at least %lu rounds)", least);
    is(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0, "the CPU time of the parent can be read");
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
