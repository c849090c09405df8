// TAP
// SECONDS: 120
/* Threads of the C library's pthreads and of bare clone: creation and end, joining, mutexes,
 * condition variables, barriers, locks, semaphores, cancellation, signals to threads and to
 * processes with threads, fork, exec and exit with several threads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define THREADS 64
#define TURNS   2 /* the second waits for what was signalled before; each wakes all threads */
#define STACK   (64 * 1024)

static pthread_attr_t small;
static int failures; /* atomic */

static void expect(int good)
{
    if (!good)
        __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

static int failed(void) { return __atomic_exchange_n(&failures, 0, __ATOMIC_RELAXED); }

static void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
    int err = pthread_create(t, &small, fn, arg);

    if (err) {
        diag("pthread_create: %s", strerror(err));
        abort();
    }
}

static void run_all(void *(*fn)(void *))
{
    static pthread_t t[THREADS];

    for (long k = 0; k < THREADS; k++)
        start(&t[k], fn, (void *)k);
    for (long k = 0; k < THREADS; k++) {
        void *result = NULL;

        expect(pthread_join(t[k], &result) == 0 && result == (void *)(k + 1));
    }
}

static void *yielding(void *arg)
{
    for (int k = 0; k < 20; k++)
        sched_yield();
    return (void *)((long)arg + 1);
}

/* ---- creation and joining ---- */

static __thread long own;
static uint32_t tids[THREADS];

static void *identity(void *arg)
{
    long k = (long)arg;

    own = k;
    tids[k] = (uint32_t)syscall(SYS_gettid);
    for (int n = 0; n < 10; n++) {
        sched_yield();
        expect(own == k && getpid() == *(volatile int *)&(int){getpid()});
    }
    return (void *)(k + 1);
}

static void test_join(void)
{
    int same = 0;

    run_all(identity);
    for (int k = 0; k < THREADS; k++)
        for (int j = 0; j < k; j++)
            same += tids[k] == tids[j];
    is(failed(), 0, "64 threads are created and joined, each with data of its own");
    is(same, 0, "each has a number of its own");
    for (int k = 0; k < 3; k++) /* their stacks and numbers are used again */
        run_all(yielding);
    is(failed(), 0, "and again three times");
}

/* ---- mutexes, conditions, barriers ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long total, turn;

static void *adds(void *arg)
{
    for (int k = 0; k < 200; k++) {
        pthread_mutex_lock(&lock);
        long old = *(volatile long *)&total;
        if (k % 50 == 0)
            sched_yield();
        *(volatile long *)&total = old + 1;
        pthread_mutex_unlock(&lock);
    }
    return (void *)((long)arg + 1);
}

static void *takes_turns(void *arg)
{
    for (int round = 0; round < TURNS; round++) {
        pthread_mutex_lock(&lock);
        while (turn % THREADS != (long)arg)
            pthread_cond_wait(&changed, &lock);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return (void *)((long)arg + 1);
}

static pthread_barrier_t barrier;
static long arrived; /* atomic */

static void *meets(void *arg)
{
    for (int round = 0; round < 5; round++) {
        __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
        pthread_barrier_wait(&barrier);
        expect(__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) == (round + 1) * THREADS);
        pthread_barrier_wait(&barrier);
    }
    return (void *)((long)arg + 1);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long pair[2];
static sem_t sem;
static long inside; /* atomic */

static void *reads_and_writes(void *arg)
{
    for (int k = 0; k < 40; k++) {
        if ((k + (long)arg) % 8 == 0) {
            pthread_rwlock_wrlock(&rwlock);
            pair[0]++;
            sched_yield();
            pair[1]++;
        } else {
            pthread_rwlock_rdlock(&rwlock);
            expect(pair[0] == pair[1]);
        }
        pthread_rwlock_unlock(&rwlock);
    }
    return (void *)((long)arg + 1);
}

static void *three_at_once(void *arg)
{
    for (int k = 0; k < 20; k++) {
        sem_wait(&sem);
        expect(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) <= 3);
        sched_yield();
        __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
        sem_post(&sem);
    }
    return (void *)((long)arg + 1);
}

static void test_locks(void)
{
    struct timespec soon;

    run_all(adds);
    is(total, 200 * THREADS, "a mutex excludes");
    run_all(takes_turns);
    is(turn, TURNS * THREADS, "a condition variable wakes");
    pthread_barrier_init(&barrier, NULL, THREADS);
    run_all(meets);
    is(failed(), 0, "a barrier holds all until the last");
    run_all(reads_and_writes);
    is(failed(), 0, "a lock for readers and writers excludes");
    sem_init(&sem, 0, 3);
    run_all(three_at_once);
    is(failed(), 0, "a semaphore lets three in");
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 20000000;
    if (soon.tv_nsec >= 1000000000)
        soon.tv_sec++, soon.tv_nsec -= 1000000000;
    pthread_mutex_lock(&lock);
    is(pthread_cond_timedwait(&changed, &lock, &soon), ETIMEDOUT, "a timed wait ends");
    pthread_mutex_unlock(&lock);
}

/* ---- cancellation, detaching, data ---- */

static pthread_key_t key;
static int destroyed; /* atomic */

static void destroy(void *arg)
{
    expect(arg == &key);
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
}

static void *sleeps_forever(void *arg)
{
    pthread_setspecific(key, &key);
    sem_post(arg);
    for (;;)
        pause();
    return NULL;
}

static void *reads_forever(void *arg)
{
    char c;

    sem_post(&sem);
    (void)!read(*(int *)arg, &c, 1);
    return NULL;
}

static void *says_and_goes(void *arg)
{
    sem_post(arg);
    return NULL;
}

static void test_cancel(void)
{
    pthread_t t[8];
    void *result;
    int fd[2];

    pthread_key_create(&key, destroy);
    sem_init(&sem, 0, 0);
    for (int k = 0; k < 8; k++)
        start(&t[k], sleeps_forever, &sem);
    for (int k = 0; k < 8; k++)
        sem_wait(&sem);
    for (int k = 0; k < 8; k++)
        expect(pthread_cancel(t[k]) == 0);
    for (int k = 0; k < 8; k++)
        expect(pthread_join(t[k], &result) == 0 && result == PTHREAD_CANCELED);
    is(failed(), 0, "sleeping threads are cancelled");
    is(destroyed, 8, "the destructor of their data has run");
    if (pipe(fd))
        abort();
    start(&t[0], reads_forever, fd);
    sem_wait(&sem);
    expect(pthread_cancel(t[0]) == 0 && pthread_join(t[0], &result) == 0);
    ok(!failed() && result == PTHREAD_CANCELED, "a thread in a read is cancelled");
    close(fd[0]);
    close(fd[1]);
    for (int k = 0; k < 100; k++) {
        start(&t[0], says_and_goes, &sem);
        pthread_detach(t[0]);
        sem_wait(&sem);
    }
    ok(1, "detached threads end");
}

/* ---- signals ---- */

static volatile uint32_t taken_by;
static volatile int taken;

static void take(int sig)
{
    (void)sig;
    taken_by = (uint32_t)syscall(SYS_gettid);
    taken++;
}

static void handle(int sig)
{
    struct sigaction a = {.sa_handler = take};

    sigaction(sig, &a, NULL);
}

static uint32_t member_tid;
static pthread_t member;
static volatile int member_open; /* it does not block SIGUSR2 */

static void *member_waits(void *arg)
{
    sigset_t one;

    (void)arg;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    member_tid = (uint32_t)syscall(SYS_gettid);
    sem_post(&sem);
    while (!member_open)
        usleep(1000);
    return NULL;
}

static void wait_taken(int n)
{
    for (int k = 0; k < 2000 && taken < n; k++)
        usleep(1000);
}

static void *waits_for_signal(void *arg)
{
    sigset_t set;
    int sig = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sem_post(&sem);
    sigwait(&set, &sig);
    (void)arg;
    return (void *)(long)sig;
}

static void test_signals(void)
{
    sigset_t usr2, old;
    void *sig;

    handle(SIGUSR1);
    handle(SIGUSR2);
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigaddset(&usr2, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &usr2, &old);
    taken = member_open = 0;
    start(&member, member_waits, NULL);
    sem_wait(&sem);
    is(pthread_kill(member, SIGUSR1), 0, "a signal is sent to a thread");
    wait_taken(1);
    is(taken_by, member_tid, "that thread takes it");
    is(kill(getpid(), SIGUSR2), 0, "a signal is sent to the process");
    wait_taken(2);
    is(taken_by, member_tid, "the thread that does not block it takes it");
    is(syscall(SYS_tgkill, getpid(), 1000000, 0), -1, "no thread has that number");
    is(errno, ESRCH, "the error is ESRCH");
    is(syscall(SYS_tgkill, getpid() + 1, member_tid, 0), -1, "it is no thread of that process");
    is(syscall(SYS_tkill, member_tid, 0), 0, "tkill finds it");
    is(kill((pid_t)member_tid, 0), 0, "kill finds its process");
    member_open = 1;
    pthread_join(member, NULL);
    for (int k = 0; k < 2000 && syscall(SYS_tkill, member_tid, 0) == 0; k++)
        usleep(1000); /* it leaves a little after it is joined */
    is(syscall(SYS_tkill, member_tid, 0), -1, "no more when it has ended");
    start(&member, waits_for_signal, NULL);
    sem_wait(&sem);
    kill(getpid(), SIGRTMIN);
    pthread_join(member, &sig);
    is((long)sig, SIGRTMIN, "sigwait in a thread takes what all block");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Many threads block a signal, one of the youngest takes it. */
static volatile int enough;

static void *blocks(void *arg)
{
    sem_post(&sem);
    while (!enough)
        usleep(5000);
    return (void *)((long)arg + 1);
}

static void test_many_block(void)
{
    enum { MANY = 100 };
    static pthread_t t[MANY];
    sigset_t usr2, old;

    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, &old);
    taken = member_open = enough = 0;
    for (long k = 0; k < MANY; k++)
        start(&t[k], blocks, (void *)k);
    start(&member, member_waits, NULL);
    for (int k = 0; k <= MANY; k++)
        sem_wait(&sem);
    for (int k = 1; k <= 3; k++) {
        kill(getpid(), SIGUSR2);
        wait_taken(k);
    }
    ok(taken == 3 && taken_by == member_tid, "the one thread of 102 that does not block it");
    member_open = enough = 1;
    pthread_join(member, NULL);
    for (long k = 0; k < MANY; k++)
        pthread_join(t[k], NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- the end of a process with threads ---- */

static int in_child(void (*fn)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        fn();
        _exit(99);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

static int pipe_fd[2];
static volatile int *volatile nowhere = (int *)8;
static const char *program;

static void *in_call(void *arg)
{
    static int never; /* a futex */
    char c;

    sem_post(&sem);
    for (;;)
        switch ((long)arg % 7) {
        case 0:
            (void)!read(pipe_fd[0], &c, 1);
            break;
        case 1:
            pause();
            break;
        case 2:
            syscall(SYS_futex, &never, 0, 0, NULL);
            break;
        case 3:
            poll(NULL, 0, -1);
            break;
        case 4:
            sleep(1000);
            break;
        case 5:
            waitpid(-1, NULL, 0);
            break;
        case 6:
            sched_yield();
            break;
        }
    return NULL;
}

/* Start threads in every kind of wait, and some that compute. */
static void crowd(void)
{
    pthread_t t;

    sem_init(&sem, 0, 0);
    if (pipe(pipe_fd))
        abort();
    for (long k = 0; k < 20; k++)
        start(&t, in_call, (void *)k);
    for (int k = 0; k < 20; k++)
        sem_wait(&sem);
}

static void exit_from_first(void)
{
    crowd();
    _exit(7);
}

static void *exits_8(void *arg)
{
    (void)arg;
    _exit(8);
}

static void exit_from_other(void)
{
    pthread_t t;

    crowd();
    start(&t, exits_8, NULL);
    for (;;)
        pause();
}

static void die_by_fault(void)
{
    crowd();
    *nowhere = 1;
}

static void *later(void *arg)
{
    (void)arg;
    usleep(20000);
    syscall(SYS_exit, 5);
    return NULL;
}

static void first_ends_first(void)
{
    pthread_t t;

    start(&t, later, NULL);
    syscall(SYS_exit, 3);
}

static void *execs(void *arg)
{
    (void)arg;
    execl(program, program, "child", NULL);
    _exit(98);
}

static void exec_from_other(void)
{
    pthread_t t;

    crowd();
    start(&t, execs, NULL);
    for (;;)
        pause();
}

static void exec_from_first(void)
{
    crowd();
    execs(NULL);
}

static void *forks(void *arg)
{
    int status = 0;
    pid_t pid = fork();

    (void)arg;
    if (pid == 0)
        _exit(syscall(SYS_gettid) == getpid() ? 4 : 5);
    return (void *)(long)(waitpid(pid, &status, 0) == pid ? status : -1);
}

static void test_ends(void)
{
    void *result;
    pthread_t t;

    is(in_child(exit_from_first), 7 << 8, "exit_group with threads in calls");
    is(in_child(exit_from_other), 8 << 8, "exit_group by another thread");
    is(in_child(die_by_fault), SIGSEGV, "a fault ends all threads");
    is(in_child(first_ends_first), 3 << 8, "the status is the first thread's, which ended first");
    is(in_child(exec_from_other), 42 << 8, "exec by a thread ends the others");
    is(in_child(exec_from_first), 42 << 8, "and so does exec by the first thread");
    start(&t, forks, NULL);
    pthread_join(t, &result);
    is((long)result, 4 << 8, "fork by a thread makes a process of one thread");
}

static void test_kill(void)
{
    int status, good = 0;

    for (int round = 0; round < 10; round++) {
        pid_t pid = fork();

        if (pid == 0) {
            crowd();
            for (;;)
                pause();
        }
        usleep((useconds_t)(1000 + round * 3000));
        kill(pid, round & 1 ? SIGKILL : SIGTERM);
        good += waitpid(pid, &status, 0) == pid && (status == (round & 1 ? SIGKILL : SIGTERM));
    }
    is(good, 10, "a process with threads in every kind of wait is killed");
}

static void test_stop(void)
{
    int status = 0,
        *count = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int before, after;
    pid_t pid = fork();

    if (pid == 0) {
        crowd();
        for (;;) {
            __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
            sched_yield();
        }
    }
    while (__atomic_load_n(count, __ATOMIC_RELAXED) < 3)
        usleep(1000);
    kill(pid, SIGSTOP);
    is(waitpid(pid, &status, WUNTRACED), pid, "a process with threads stops");
    ok(WIFSTOPPED(status), "and says so");
    usleep(20000);
    before = __atomic_load_n(count, __ATOMIC_RELAXED);
    usleep(20000);
    after = __atomic_load_n(count, __ATOMIC_RELAXED);
    is(before, after, "no thread of it runs");
    kill(pid, SIGCONT);
    is(waitpid(pid, &status, WCONTINUED), pid, "it continues");
    for (int k = 0; k < 2000 && __atomic_load_n(count, __ATOMIC_RELAXED) == after; k++)
        usleep(1000);
    ok(__atomic_load_n(count, __ATOMIC_RELAXED) > after, "and runs");
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    kill(pid, SIGKILL);
    is(waitpid(pid, &status, 0), pid, "a stopped process with threads is killed");
    is(status, SIGKILL, "by that signal");
    munmap(count, 8192);
}

/* Several threads wait for children, each for its own. */
static void *waits_for_own(void *arg)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        usleep((useconds_t)((long)arg * 400 % 7000));
        _exit((int)(long)arg);
    }
    expect(waitpid(pid, &status, 0) == pid && status == (int)(long)arg << 8);
    return (void *)((long)arg + 1);
}

static void test_children(void)
{
    run_all(waits_for_own);
    is(failed(), 0, "64 threads wait for a child each");
}

/* ---- bare clone ---- */

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void test_flags(void)
{
    static char stack[STACK] __attribute__((aligned(16)));
    static const unsigned long bad[] = {CLONE_THREAD, CLONE_THREAD | CLONE_VM, CLONE_SIGHAND,
                                        CLONE_THREAD | CLONE_SIGHAND, CLONE_NEWNS};
    pid_t pid;
    int status;

    for (unsigned k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
        ok(clone(nothing, stack + STACK, (int)(bad[k] | SIGCHLD), NULL) == -1 && errno == EINVAL,
           "clone with flags %#lx is refused", bad[k]);
    pid = fork();
    if (pid == 0) {
        pid_t child = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

        _exit(child == 0 ? 6 : child > 0 ? 5 : 4);
    }
    is(waitpid(pid, &status, 0), pid, "a child");
    is(status, 5 << 8, "makes another one with CLONE_PARENT");
    ok(wait(&status) > 0 && status == 6 << 8, "which is our child");
}

static uint64_t ns_of(clockid_t clock)
{
    struct timespec t = {0, 0};

    if (clock_gettime(clock, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void compute(uint64_t ns)
{
    uint64_t end = ns_of(CLOCK_THREAD_CPUTIME_ID) + ns;

    while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void *computes(void *arg)
{
    tids[0] = (uint32_t)syscall(SYS_gettid);
    sem_post(&sem);
    compute((uint64_t)arg);
    while (!enough)
        usleep(1000);
    return NULL;
}

static int count_tasks(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void test_clocks(void)
{
    struct rusage all, one;
    clockid_t of_thread, of_process;
    char path[64], text[64] = "";
    uint64_t before, used;
    cpu_set_t set;
    int fd;

    enough = 0;
    before = ns_of(CLOCK_PROCESS_CPUTIME_ID);
    start(&member, computes, (void *)20000000L);
    sem_wait(&sem);
    is(pthread_getcpuclockid(member, &of_thread), 0, "a thread has a clock");
    for (int k = 0; k < 5000 && ns_of(of_thread) < 20000000; k++)
        usleep(1000);
    used = ns_of(of_thread);
    ok(used >= 20000000, "which shows what it has used");
    ok(ns_of(CLOCK_PROCESS_CPUTIME_ID) - before >= used, "as part of the process's");
    is(clock_getcpuclockid(getpid(), &of_process), 0, "a process has a clock");
    ok(ns_of(of_process) >= used, "that others can read");
    is(getrusage(RUSAGE_SELF, &all), 0, "getrusage of the process");
    is(getrusage(RUSAGE_THREAD, &one), 0, "and of the thread");
    ok(timercmp(&all.ru_utime, &one.ru_utime, >), "which has used less");
    is(count_tasks(), 2, "/proc/self/task lists two threads");
    snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tids[0]);
    fd = open(path, O_RDONLY);
    ok(read(fd, text, sizeof(text) - 1) > 0 && (uint32_t)atoi(text) == tids[0],
       "and shows each by its number");
    close(fd);
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    is(pthread_setaffinity_np(member, sizeof(set), &set), 0, "a thread is bound to a CPU");
    CPU_ZERO(&set);
    ok(pthread_getaffinity_np(member, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1,
       "and says so");
    is(setpriority(PRIO_PROCESS, tids[0], 5), 0, "it gets another nice value");
    ok(getpriority(PRIO_PROCESS, tids[0]) == 5 && getpriority(PRIO_PROCESS, 0) == 0, "of its own");
    enough = 1;
    pthread_join(member, NULL);
    for (int k = 0; k < 2000 && ns_of(of_thread); k++)
        usleep(1000);
    ok(ns_of(of_thread) == 0, "its clock is gone with it");
}

/* For each of two processes, in memory that they share: the last tick of CPU 0 that it has seen,
 * and the number of periods between ticks in which it has run. */
static volatile struct turns {
    uint64_t tick, periods;
} *turns;

static uint64_t ticks_of_cpu_0(void)
{
    struct mega_cpu c = {0};

    mega$info(MEGA_INFO_CPU, 0, &c, sizeof(c));
    return c.clock_ticks;
}

static void *counts_turns(void *arg)
{
    volatile struct turns *of = arg;

    for (;;) {
        uint64_t tick = ticks_of_cpu_0();

        of->periods += tick != of->tick;
        of->tick = tick;
        for (volatile int i = 0; i < 4096; i++)
            ;
    }
    return arg;
}

/* A child that computes on CPU 0 with that many threads, and has begun to. */
static pid_t start_computing(int threads, volatile struct turns *of)
{
    pid_t pid = fork();
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    if (pid == 0) {
        sched_setaffinity(0, sizeof(set), &set);
        while (--threads > 0)
            start(&member, counts_turns, (void *)of);
        counts_turns((void *)of);
    }
    while (of->periods < 5)
        usleep(1000);
    return pid;
}

/* Two processes compute on one CPU, one of them with six threads: each gets about a half, where
 * equal threads would leave the other a seventh. The CPU is shared at its ticks, and so they are
 * what is counted: the host may run the CPU while it delays the ticks. */
static void test_shares(void)
{
    uint64_t many, one;
    pid_t pid[2];

    turns = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid[0] = start_computing(6, &turns[0]);
    pid[1] = start_computing(1, &turns[1]);
    many = turns[0].periods;
    one = turns[1].periods;
    while (turns[0].periods - many + turns[1].periods - one < 250)
        usleep(10000);
    many = turns[0].periods - many;
    one = turns[1].periods - one;
    ok(one * 3 > many, "a process beside one with six threads has its share");
    diag("%lu and %lu periods of a tick", one, many);
    for (int k = 0; k < 2; k++) {
        kill(pid[k], SIGKILL);
        waitpid(pid[k], NULL, 0);
    }
    munmap((void *)turns, 8192);
}

/* A change of the user beside threads that make calls which charge it. */
static void *opens_and_closes(void *arg)
{
    (void)arg;
    while (!enough)
        close(open("/tmp/threads", O_CREAT | O_RDWR, 0666));
    return NULL;
}

static void other_user(void)
{
    pthread_t t[4];

    enough = 0;
    umask(0);
    for (int k = 0; k < 4; k++)
        start(&t[k], opens_and_closes, NULL);
    usleep(10000);
    if (setgid(77) || setuid(77))
        _exit(1);
    usleep(10000);
    enough = 1;
    for (int k = 0; k < 4; k++)
        pthread_join(t[k], NULL);
    _exit(getuid() == 77 && geteuid() == 77 ? 5 : 2);
}

static void test_user(void)
{
    is(in_child(other_user), 5 << 8, "setuid of a process with threads");
    unlink("/tmp/threads");
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1)
        return getpid() == syscall(SYS_gettid) && strcmp(argv[1], "child") == 0 ? 42 : 43;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    test_join();
    test_locks();
    test_cancel();
    test_signals();
    test_many_block();
    test_ends();
    test_kill();
    test_stop();
    test_children();
    test_flags();
    test_clocks();
    test_shares();
    test_user();
    return tap_done();
}
