// TAP
// KERNEL: test
// RUN: -m 1G
// SECONDS: 120
/*
 * Traces of locks, PC samples, process states and times, as sda and monitor query them. The
 * activity that is traced is known: the kernel's own tests take a mutex and a spinlock a known
 * number of times from one place; a child loops in one function.
 *
 *     tracing --names PROCESSES ROUNDS    a load for sda and monitor: each process defines,
 *                                         translates four times and deletes a logical name of the
 *                                         job, ROUNDS times, all with the mutex LNM
 *     tracing --fragment NAMES ROUNDS     the same by one process, with a fragmented paged pool: of
 *                                         NAMES shorter names every second one is deleted first,
 *                                         which leaves holes that are too small
 *     tracing --delete NAMES ROUNDS       fragments the pool likewise; then deletes ROUNDS names,
 *                                         and samples PCs only meanwhile
 *     tracing --callers                   more callers of a mutex than a trace can count separately
 *     tracing --fill NAMES                defines NAMES names of the job, for displays
 */
#include "tap.h"

#include <descrip.h>
#include <fcntl.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/creds.h>
#include <megalith/info.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <test_kernel.h>
#include <time.h>

static int control(unsigned facility, unsigned verb, uint64_t number)
{
    return mega$control(MEGA_CTL_TRACE, facility, verb, number, 0, 0);
}

static struct mega_trace state_of(unsigned facility)
{
    struct mega_trace t = {.loaded = 99};

    mega$info(MEGA_INFO_TRACE, facility, &t, sizeof(t));
    return t;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- loading, starting, stopping and unloading ---- */

static void life(unsigned facility, const char *name)
{
    struct mega_trace t;

    is(control(facility, MEGA_TRACE_STOP, 0), SS$_NOTMODIFIED,
       "%s: a trace that does not run cannot be stopped", name);
    is(control(facility, MEGA_TRACE_UNLOAD, 0), SS$_NOTMODIFIED,
       "a trace that is not loaded cannot be unloaded");
    is(control(facility, MEGA_TRACE_START, 0), SS$_NONEXPR,
       "a trace that is not loaded cannot be started");
    is(control(facility, MEGA_TRACE_LOAD, 0), SS$_NORMAL, "the trace is loaded");
    is(control(facility, MEGA_TRACE_LOAD, 0), SS$_NOTMODIFIED,
       "a loaded trace cannot be loaded again");
    t = state_of(facility);
    ok(t.loaded == 1 && t.running == 0 && t.bytes > 0, "it is loaded and does not run");
    for (int i = 0; i < 2; i++) {
        is(control(facility, MEGA_TRACE_START, 0), SS$_NORMAL, "the trace is started");
        is(control(facility, MEGA_TRACE_START, 0), SS$_NOTMODIFIED,
           "a running trace cannot be started again");
        t = state_of(facility);
        ok(t.running == 1 && t.started_ns > 0, "it runs");
        sleep_ms(5);
        is(control(facility, MEGA_TRACE_STOP, 0), SS$_NORMAL, "the trace is stopped");
        is(control(facility, MEGA_TRACE_STOP, 0), SS$_NOTMODIFIED,
           "a stopped trace cannot be stopped again");
        t = state_of(facility);
        ok(t.running == 0 && t.lasted_ns >= 5000000, "it has stopped after %lu ns",
           (unsigned long)t.lasted_ns);
    }
    is(control(facility, MEGA_TRACE_START, 0), SS$_NORMAL, "the trace is started again");
    is(control(facility, MEGA_TRACE_UNLOAD, 0), SS$_NORMAL, "it is unloaded while it runs");
    t = state_of(facility);
    ok(t.loaded == 0 && t.running == 0 && t.bytes == 0, "it is not loaded any more");
}

static void bad_arguments(void)
{
    struct mega_pc_sample s;
    struct mega_caller c;
    struct mega_trace t;

    is(control(MEGA_TRACE_PRF, MEGA_TRACE_LOAD, 0), SS$_UNSUPPORTED, "PRF needs a model");
    is(control(MEGA_FACILITIES, MEGA_TRACE_LOAD, 0), SS$_BADPARAM,
       "facility number 4 does not exist");
    is(control(UINT32_MAX, MEGA_TRACE_LOAD, 0), SS$_BADPARAM,
       "the largest facility number does not exist");
    for (unsigned f = 0; f < MEGA_TRACE_PRF; f++) {
        is(control(f, 0, 0), SS$_BADPARAM, "verb 0 does not exist");
        is(control(f, MEGA_TRACE_UNLOAD + 1, 0), SS$_BADPARAM,
           "a verb after the last one does not exist");
    }
    is(control(MEGA_TRACE_MTX, MEGA_TRACE_LOAD, 1), SS$_BADPARAM,
       "a buffer size is refused for mutexes");
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_LOAD, MEGA_TRACE_PAGES_MAX + 1), SS$_BADPARAM,
       "a buffer that is too large is refused");
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_START, MEGA_TRACE_RATE_MAX + 1), SS$_BADPARAM,
       "a rate that is too high is refused");
    is(mega$info(MEGA_INFO_TRACE, MEGA_FACILITIES, &t, sizeof(t)), SS$_NONEXPR,
       "the state of facility 4 does not exist");
    is(mega$info(MEGA_INFO_TRACE, -1, &t, sizeof(t)), SS$_NONEXPR,
       "the state of facility -1 does not exist");
    is(mega$info(MEGA_INFO_CALLER, 0, &c, sizeof(c)), SS$_NONEXPR,
       "callers do not exist while no trace is loaded");
    is(mega$info(MEGA_INFO_CALLER, -1, &c, sizeof(c)), SS$_NONEXPR,
       "callers of index -1 do not exist");
    is(mega$info(MEGA_INFO_PC_SAMPLE, 0, &s, sizeof(s)), SS$_NONEXPR,
       "samples do not exist while no trace is loaded");
    is(mega$info(MEGA_INFO_PC_SAMPLE, -1, &s, sizeof(s)), SS$_NONEXPR,
       "samples of index -1 do not exist");
    is(mega$info(MEGA_INFO_PC_SAMPLE, 77L << 48, &s, sizeof(s)), SS$_NONEXPR,
       "samples of a CPU that does not exist are refused");
}

static void unprivileged(void)
{
    int status;

    if (fork() == 0) {
        struct mega_creds creds = {.uic_group = 0200, .uic_member = 5};
        struct mega_pc_sample s;
        struct mega_caller c;
        struct mega_trace t;
        int bad = mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&creds, 0, 0, 0, 0) != SS$_NORMAL;

        bad |= (control(MEGA_TRACE_PCS, MEGA_TRACE_LOAD, 0) != SS$_NOCMKRNL) << 1;
        bad |= (mega$info(MEGA_INFO_TRACE, 0, &t, sizeof(t)) != SS$_NOCMKRNL) << 2;
        bad |= (mega$info(MEGA_INFO_CALLER, 0, &c, sizeof(c)) != SS$_NOCMKRNL) << 3;
        bad |= (mega$info(MEGA_INFO_PC_SAMPLE, 0, &s, sizeof(s)) != SS$_NOCMKRNL) << 4;
        _exit(bad);
    }
    wait(&status);
    is(status, 0, "without CMKRNL every operation is refused");
}

/* ---- locks ---- */

/* Numbers of tests in the list of the kernel's own tests (kernel/test/selftest.c). */
#define TEST_MUTEX    1
#define TEST_SPINLOCK 2
#define TEST_CALLERS  12

static void kernel_test(int index, const char *what)
{
    struct mega_selftest t = {.name = ""};

    if (mega$info(MEGA_INFO_SELFTEST, index, &t, sizeof(t)) == SS$_BADPARAM)
        bail_out(NEEDS_TEST_KERNEL);
    ok(t.failure[0] == 0 && strstr(t.name, what), "%s: %lu", t.name, (unsigned long)t.value);
}

static struct mega_lock lock_named(unsigned item, const char *name)
{
    struct mega_lock l;

    for (int i = 0; mega$info(item, i, &l, sizeof(l)) == SS$_NORMAL; i++)
        if (strcmp(l.name, name) == 0)
            return l;
    return (struct mega_lock){.name = ""};
}

/* The sum of all callers of that lock, of readers or of writers; *places: the number of callers. */
static struct mega_caller callers_of(unsigned facility, const char *name, unsigned shared,
                                     unsigned *places)
{
    struct mega_trace t = state_of(facility);
    struct mega_caller sum = {.count = 0}, c;

    *places = 0;
    for (uint64_t i = 0; i < t.cpus * t.slots; i++) {
        uint64_t index = (uint64_t)facility << 32 | (i / t.slots) << 16 | i % t.slots;

        if (mega$info(MEGA_INFO_CALLER, (int64_t)index, &c, sizeof(c)) != SS$_NORMAL || !c.count ||
            strcmp(c.name, name) != 0 || c.shared != shared)
            continue;
        *places += c.place != sum.place;
        c.count += sum.count;
        c.waits += sum.waits;
        c.wait_ns += sum.wait_ns;
        c.held_ns += sum.held_ns;
        sum = c;
    }
    return sum;
}

static void mutexes(void)
{
    struct mega_caller readers, writers;
    struct mega_lock l;
    unsigned places;

    is(control(MEGA_TRACE_MTX, MEGA_TRACE_LOAD, 0), SS$_NORMAL, "a trace of mutexes is loaded");
    kernel_test(TEST_MUTEX, "mutex");
    l = lock_named(MEGA_INFO_MUTEX, "selftest");
    readers = callers_of(MEGA_TRACE_MTX, "selftest", 1, &places);
    is(places, 1, "readers have one caller");
    writers = callers_of(MEGA_TRACE_MTX, "selftest", 0, &places);
    ok(places >= 1 && places <= 2, "writers have one caller, or two if they try first");
    is(writers.count, (long)l.acquisitions, "the callers add up to all writers");
    is(readers.count, (long)l.shared, "the callers add up to all readers");
    is(l.acquisitions + l.shared, 8 * 3000, "the lock was taken 24,000 times");
    is(l.unlocks, (long)l.acquisitions, "it was unlocked by each writer");
    is(l.shared_unlocks, (long)l.shared, "it was unlocked by each reader");
    is(writers.waits + readers.waits, (long)l.waits, "the callers add up to all waits");
    is(readers.waits, (long)l.shared_waits, "the callers add up to all waits of readers");
    ok(l.waits > 0 && l.shared_waits < l.waits, "%lu callers waited, %lu of them readers",
       (unsigned long)l.waits, (unsigned long)l.shared_waits);
    is(writers.wait_ns + readers.wait_ns, (long)l.wait_ns,
       "the callers add up to the time of all waits");
    /* A worker sleeps 0.1 ms while it holds the mutex, so another waits about that long. */
    ok(l.longest_wait_ns >= 50000 && l.longest_wait_ns <= l.wait_ns, "the longest wait was %lu ns",
       (unsigned long)l.longest_wait_ns);
    is(writers.held_ns, (long)l.held_ns,
       "the callers add up to the time for which the lock was held");
    ok(strncmp(writers.routine, "mutex_work+0x", 13) == 0 &&
           strcmp(writers.module, "kernel/test/selftest.c") == 0,
       "the caller is %s of %s", writers.routine, writers.module);
    is(control(MEGA_TRACE_MTX, MEGA_TRACE_UNLOAD, 0), SS$_NORMAL, "the trace is unloaded");
}

/* 2,048 callers on one or more CPUs. Those for which there is no slot are dropped and counted. */
static void too_many_callers(void)
{
    struct mega_caller c;
    struct mega_trace t;
    unsigned places;
    uint64_t bytes;

    is(control(MEGA_TRACE_MTX, MEGA_TRACE_LOAD, 0), SS$_NORMAL, "a trace of mutexes is loaded");
    bytes = state_of(MEGA_TRACE_MTX).bytes;
    kernel_test(TEST_CALLERS, "more callers");
    t = state_of(MEGA_TRACE_MTX);
    c = callers_of(MEGA_TRACE_MTX, "selftest callers", 0, &places);
    ok(t.dropped > 0 && c.count < 2048, "%lu callers are dropped", (unsigned long)t.dropped);
    ok(c.count > t.slots / 2 && c.count <= t.slots * t.cpus, "%lu callers are recorded",
       (unsigned long)c.count);
    ok(c.count + t.dropped >= 2048 && c.count + t.dropped < 2048 + 200,
       "recorded and dropped callers add up to all");
    is(t.bytes, (long)bytes, "the trace uses as much memory as before");
    control(MEGA_TRACE_MTX, MEGA_TRACE_START, 0);
    control(MEGA_TRACE_MTX, MEGA_TRACE_STOP, 0);
    is(state_of(MEGA_TRACE_MTX).dropped, 0, "a new start resets the count of dropped callers");
    is(control(MEGA_TRACE_MTX, MEGA_TRACE_UNLOAD, 0), SS$_NORMAL, "the trace is unloaded");
}

static void spinlocks(void)
{
    struct mega_caller c;
    struct mega_lock l;
    unsigned places;

    is(control(MEGA_TRACE_SPL, MEGA_TRACE_LOAD, 0), SS$_NORMAL, "a trace of spinlocks is loaded");
    kernel_test(TEST_SPINLOCK, "spinlock");
    l = lock_named(MEGA_INFO_SPINLOCK, "selftest measured");
    c = callers_of(MEGA_TRACE_SPL, "selftest measured", 0, &places);
    is(places, 1, "the spinlock has one caller");
    is(c.count, 400, "its caller has taken it 400 times");
    is(l.acquisitions, 400, "the number of acquisitions is that of the lock's own counter");
    is(c.waits, (long)l.waits, "the number of spins is the same, too");
    ok((l.waits == 0) == (l.wait_ns == 0), "the spins took %lu ns", (unsigned long)l.wait_ns);
    is(c.held_ns, (long)l.held_ns, "the time for which the lock was held is the same");
    ok(strncmp(c.routine, "hold_work+0x", 12) == 0, "the caller is %s", c.routine);
    is(control(MEGA_TRACE_SPL, MEGA_TRACE_UNLOAD, 0), SS$_NORMAL, "the trace is unloaded");
}

/* ---- PC samples ---- */

/* A loop in a function of its own, so that samples of it can be identified by their addresses. */
__attribute__((noinline, noclone)) static void spin(void)
{
    for (;;)
        asm volatile("");
}
__attribute__((noinline, noclone)) static void spin_end(void) { asm volatile(""); }

#define TICKS_HZ 1024 /* samples without a rate are taken at the clock's ticks */
#define ENOUGH   60   /* samples of a child */
#define SPARE    60   /* samples between those of the rate, such as at the start of a CPU's timer */

struct tally {
    unsigned all, user, inside, named, of_kernel, unnamed;
    uint64_t last;
    bool in_order;
};

static struct tally tally_of(uint32_t pid)
{
    struct mega_trace t = state_of(MEGA_TRACE_PCS);
    struct tally n = {.in_order = true};
    struct mega_pc_sample s;

    for (uint64_t cpu = 0; cpu < 4; cpu++) {
        n.last = 0;
        for (uint64_t i = t.first[cpu]; i < t.next[cpu]; i++) {
            if (mega$info(MEGA_INFO_PC_SAMPLE, (int64_t)(cpu << 48 | i), &s, sizeof(s)) !=
                SS$_NORMAL)
                continue;
            n.in_order &= s.ns > n.last && s.cpu == cpu && s.ipl < 5;
            n.last = s.ns;
            if (!s.user)
                n.unnamed += !s.routine[0] || !s.module[0];
            if (s.pid != pid)
                continue;
            n.all++;
            n.user += s.user;
            n.of_kernel += !s.user;
            n.inside += s.user && s.pc >= (uint64_t)spin && s.pc < (uint64_t)spin_end;
            n.named += strcmp(s.name, "tracing") == 0 &&
                       (!s.user || strcmp(s.module, "/tests/tracing") == 0);
        }
    }
    return n;
}

/* Sample that child until there are enough, up to some seconds: on a busy host a virtual CPU may
 * not run at each of its clock ticks. */
static void until_sampled(pid_t child)
{
    for (int looks = 0; looks < 100 && tally_of((uint32_t)child).all < ENOUGH; looks++)
        sleep_ms(50);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void known_loop(unsigned rate)
{
    int64_t begin = now_ns(), most;
    struct tally n;
    pid_t child;

    is(control(MEGA_TRACE_PCS, MEGA_TRACE_START, rate), SS$_NORMAL,
       "sampling is started at rate %u", rate);
    child = fork();
    if (child == 0)
        spin();
    sleep_ms(300);
    until_sampled(child);
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_STOP, 0), SS$_NORMAL,
       "sampling of a child that loops is stopped");
    most = (now_ns() - begin) * (rate ? rate : TICKS_HZ) / 1000000000;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    n = tally_of((uint32_t)child);
    ok(n.in_order, "the samples of each CPU are in order of time");
    is(n.unnamed, 0, "every kernel PC has a routine and a module");
    ok(n.all >= ENOUGH && n.all <= most + SPARE, "the child has %u samples, of %ld at most", n.all,
       (long)most);
    ok(n.inside >= n.all * 8 / 10, "%u of the samples are in its loop", n.inside);
    is(n.named, n.all, "all samples have its name and program");
}

static void kernel_time(void)
{
    struct tally n;
    pid_t child;

    is(control(MEGA_TRACE_PCS, MEGA_TRACE_START, 0), SS$_NORMAL, "sampling is started");
    child = fork();
    if (child == 0)
        for (;;)
            close(open("/no such place", 0));
    until_sampled(child);
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_STOP, 0), SS$_NORMAL,
       "sampling of a child that only makes system calls is stopped");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    n = tally_of((uint32_t)child);
    ok(n.of_kernel > n.all / 2, "%u of %u samples are in the kernel", n.of_kernel, n.all);
}

static void overwritten(void)
{
    struct mega_pc_sample s;
    struct mega_trace t;
    uint64_t room;

    is(control(MEGA_TRACE_PCS, MEGA_TRACE_UNLOAD, 0), SS$_NORMAL, "the buffers are unloaded");
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_LOAD, 1), SS$_NORMAL, "buffers of one page are loaded");
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_START, MEGA_TRACE_RATE_MAX), SS$_NORMAL,
       "sampling is started at the highest rate");
    room = 8192 / 40;
    for (int i = 0; i < 100 && state_of(MEGA_TRACE_PCS).next[0] < 3 * room; i++)
        sleep_ms(20);
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_STOP, 0), SS$_NORMAL, "sampling is stopped");
    t = state_of(MEGA_TRACE_PCS);
    ok(t.next[0] >= 3 * room, "%lu samples are taken", (unsigned long)t.next[0]);
    is(t.next[0] - t.first[0], (long)room, "the last %lu samples are available",
       (unsigned long)room);
    is(mega$info(MEGA_INFO_PC_SAMPLE, (int64_t)t.first[0], &s, sizeof(s)), SS$_NORMAL,
       "the oldest of them can be read");
    is(mega$info(MEGA_INFO_PC_SAMPLE, (int64_t)t.next[0] - 1, &s, sizeof(s)), SS$_NORMAL,
       "the newest of them can be read");
    is(mega$info(MEGA_INFO_PC_SAMPLE, (int64_t)t.first[0] - 1, &s, sizeof(s)), SS$_NONEXPR,
       "the sample before the oldest cannot be read");
    is(mega$info(MEGA_INFO_PC_SAMPLE, (int64_t)t.next[0], &s, sizeof(s)), SS$_NONEXPR,
       "the sample after the newest cannot be read");
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_UNLOAD, 0), SS$_NORMAL, "the buffers are unloaded");
}

/* ---- states and times of processes ---- */

static uint32_t state_of_process(pid_t pid, uint64_t *io)
{
    struct mega_process p;

    for (int i = 0; mega$info(MEGA_INFO_PROCESS, i, &p, sizeof(p)) == SS$_NORMAL; i++)
        if (p.pid == (uint32_t)pid) {
            *io = p.io;
            return p.waits;
        }
    return MEGA_STATES;
}

/* The child must reach that state within two seconds, and the counts of all states must include it.
 */
static void comes_to(pid_t pid, uint32_t want, const char *name)
{
    struct mega_states s = {.count = {0}};
    uint64_t io;
    int i = 0;

    while (i++ < 200 && state_of_process(pid, &io) != want)
        sleep_ms(10);
    is(state_of_process(pid, &io), want, "a child that %s", name);
    is(mega$info(MEGA_INFO_STATES, 0, &s, sizeof(s)), SS$_NORMAL,
       "the counts of all states are returned");
    ok(s.count[want] >= 1, "%lu processes are in that state", (unsigned long)s.count[want]);
}

static void states(void)
{
    int p[2];
    uint64_t io = 0;
    pid_t child;
    char c;

    if (pipe(p))
        return;
    child = fork();
    if (child == 0)
        _exit(read(p[0], &c, 1) != 1);
    comes_to(child, MEGA_STATE_LEF, "reads from an empty pipe waits for an event");
    state_of_process(child, &io);
    is(io, 1, "its read counts as one transfer");
    kill(child, SIGSTOP);
    comes_to(child, MEGA_STATE_SUSP, "is stopped is suspended");
    kill(child, SIGCONT);
    is(write(p[1], "x", 1), 1, "a byte is written to the pipe");
    comes_to(child, MEGA_STATE_ENDED, "nobody has waited for has ended");
    waitpid(child, NULL, 0);
    child = fork();
    if (child == 0) {
        sleep_ms(100000);
        _exit(0);
    }
    comes_to(child, MEGA_STATE_HIB, "sleeps hibernates");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    is(state_of_process(getpid(), &io), MEGA_STATE_CUR, "the state of the caller is current");
}

/* During a quarter of a second the parts of each CPU's time must add up to the whole. */
static void times(void)
{
    struct mega_cpu a[4], b[4];
    struct timespec t0, t1;
    int n = 0;

    clock_gettime(CLOCK_MONOTONIC, &t0);
    while (n < 4 && mega$info(MEGA_INFO_CPU, n, &a[n], sizeof(a[n])) == SS$_NORMAL)
        n++;
    sleep_ms(250);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    for (int i = 0; i < n; i++)
        mega$info(MEGA_INFO_CPU, i, &b[i], sizeof(b[i]));
    for (int i = 0; i < n; i++) {
        int64_t wall = (t1.tv_sec - t0.tv_sec) * 1000000000L + t1.tv_nsec - t0.tv_nsec;
        int64_t sum = (int64_t)(b[i].interrupt_ns - a[i].interrupt_ns + b[i].spin_ns -
                                a[i].spin_ns + b[i].pure_kernel_ns - a[i].pure_kernel_ns +
                                b[i].pure_idle_ns - a[i].pure_idle_ns + b[i].user_ns -
                                a[i].user_ns);

        ok(sum > wall * 9 / 10 && sum < wall * 11 / 10 + 20000000,
           "the parts of CPU %d's time add up to %ld of %ld us", i, (long)sum / 1000,
           (long)wall / 1000);
        ok(b[i].interrupt_ns > a[i].interrupt_ns, "a part of the time was spent in interrupts");
    }
}

/* ---- a load ---- */

/* Defines names with values of that length. Returns 0, or which call failed. */
static int names(int rounds, unsigned short bytes)
{
    static const char longest[200] = "value";

    struct dsc$descriptor_s table = {7, DSC$K_DTYPE_T, DSC$K_CLASS_S, "LNM$JOB"};
    char text[32], value[200];
    struct dsc$descriptor_s name = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    unsigned short length;
    ILE3 in[] = {{bytes, LNM$_STRING, (void *)longest, NULL}, {0}};
    ILE3 out[] = {{sizeof(value), LNM$_STRING, value, &length}, {0}};

    name.dsc$w_length = (unsigned short)snprintf(text, sizeof(text), "TRACED_%d", getpid());
    for (int i = 0; i < rounds; i++) {
        if (sys$crelnm(NULL, &table, &name, NULL, in) != SS$_NORMAL)
            return 1;
        for (int j = 0; j < 4; j++)
            if (sys$trnlnm(NULL, &table, &name, NULL, out) != SS$_NORMAL)
                return 2;
        if (sys$dellnm(&table, &name, NULL) != SS$_NORMAL)
            return 3;
    }
    return 0;
}

/* Define (or delete) number i of the names that leave holes. */
static int hole(int i, bool gone)
{
    struct dsc$descriptor_s table = {7, DSC$K_DTYPE_T, DSC$K_CLASS_S, "LNM$JOB"};
    char text[32];
    struct dsc$descriptor_s name = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    ILE3 in[] = {{5, LNM$_STRING, "value", NULL}, {0}};

    name.dsc$w_length = (unsigned short)snprintf(text, sizeof(text), "HOLE_%06d", i);
    return gone ? sys$dellnm(&table, &name, NULL) : sys$crelnm(NULL, &table, &name, NULL, in);
}

/* Define names of the job and delete every second one, which leaves holes between the others.
 * Without rounds the names stay. */
static int fragment(int count, int rounds)
{
    for (int pass = 0; pass < (rounds ? 2 : 1); pass++)
        for (int i = 0; i < count; i += pass + 1)
            if (hole(i, pass) != SS$_NORMAL)
                return 4;
    return names(rounds, 200);
}

/* Make the same holes. Then, while PCs are sampled, delete names, each next to another hole. */
static int deletions(int count, int rounds)
{
    const int step = 7919; /* visits each of the odd numbers below count once */
    int bad = fragment(count, 1);

    bad |= control(MEGA_TRACE_PCS, MEGA_TRACE_LOAD, 0) != SS$_NORMAL;
    bad |= control(MEGA_TRACE_PCS, MEGA_TRACE_START, 0) != SS$_NORMAL;
    for (int i = 0; i < rounds; i++)
        bad |= hole((int)((int64_t)i * step % (count / 2)) * 2 + 1, true) != SS$_NORMAL;
    return bad | (control(MEGA_TRACE_PCS, MEGA_TRACE_STOP, 0) != SS$_NORMAL);
}

static int load(int processes, int rounds)
{
    int status, bad = 0;

    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            _exit(names(rounds, 5));
    while (wait(&status) > 0)
        bad |= status != 0;
    printf("%d processes, %d names each\n", processes, rounds);
    return bad;
}

/* Every trace is loaded and unloaded while all CPUs execute what it traces. */
static void under_load(void)
{
    unsigned bad = 0, samples = 0, callers, places = 0;
    struct mega_caller c = {.count = 0};
    pid_t children[6];

    for (int i = 0; i < 6; i++)
        if ((children[i] = fork()) == 0)
            _exit(names(1000000, 5));
    for (int i = 0; i < 20; i++) {
        for (unsigned f = 0; f < MEGA_TRACE_PRF; f++) {
            bad += control(f, MEGA_TRACE_LOAD, 0) != SS$_NORMAL;
            bad += control(f, MEGA_TRACE_START, f == MEGA_TRACE_PCS ? 5000 : 0) != SS$_NORMAL;
        }
        sleep_ms(5);
        samples += state_of(MEGA_TRACE_PCS).next[0] > 0;
        c = callers_of(MEGA_TRACE_MTX, "LNM", 0, &callers);
        places += callers;
        bad += c.waits > c.count;
        for (unsigned f = 0; f < MEGA_TRACE_PRF; f++) {
            if (i % 2)
                bad += control(f, MEGA_TRACE_STOP, 0) != SS$_NORMAL;
            bad += control(f, MEGA_TRACE_UNLOAD, 0) != SS$_NORMAL;
        }
    }
    is(bad, 0, "each trace can be loaded and unloaded twenty times under load");
    ok(samples > 0, "%u traces have samples", samples);
    ok(places >= 10, "%u callers have taken the mutex LNM", places);
    for (int i = 0; i < 6; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--names") == 0)
        return load(atoi(argv[2]), atoi(argv[3]));
    if (argc == 4 && strcmp(argv[1], "--fragment") == 0)
        return fragment(atoi(argv[2]), atoi(argv[3]));
    if (argc == 4 && strcmp(argv[1], "--delete") == 0)
        return deletions(atoi(argv[2]), atoi(argv[3]));
    if (argc == 2 && strcmp(argv[1], "--callers") == 0)
        return kernel_test(TEST_CALLERS, "more callers"), 0;
    if (argc == 3 && strcmp(argv[1], "--fill") == 0)
        return fragment(atoi(argv[2]), 0);
    bad_arguments();
    unprivileged();
    life(MEGA_TRACE_MTX, "MTX");
    life(MEGA_TRACE_SPL, "SPL");
    life(MEGA_TRACE_PCS, "PCS");
    mutexes();
    too_many_callers();
    spinlocks();
    is(control(MEGA_TRACE_PCS, MEGA_TRACE_LOAD, 16), SS$_NORMAL, "buffers of 16 pages are loaded");
    known_loop(0);
    known_loop(500);
    kernel_time();
    overwritten();
    states();
    under_load();
    times();
    return tap_done();
}
