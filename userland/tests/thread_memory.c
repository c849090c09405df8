// TAP
// SECONDS: 90
// ARGS: 4
/*
 * Threads that change one address space while others use it: munmap, mmap, mprotect, madvise, brk,
 * fork and exec against faults and system calls on other CPUs.
 *
 * `thread_memory TENTHS`: how long each part runs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define PAGE    8192ul
#define PAGES   16
#define WRITERS 3
#define STACK   (64 * 1024)

static pthread_attr_t small;
static long tenths;
static int stop;            /* atomic */
static volatile char *area; /* changed by one thread, written by the others */
static __thread sigjmp_buf back;
static __thread volatile int expecting;
static const char *program;

static void on_fault(int sig)
{
    (void)sig;
    if (!expecting)
        _exit(55);
    siglongjmp(back, 1);
}

static void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
    if (pthread_create(t, &small, fn, arg))
        abort();
}

static int over(void) { return __atomic_load_n(&stop, __ATOMIC_RELAXED); }

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Write to random pages of the area for as long as the part lasts, faults or not. */
static void *writes(void *arg)
{
    volatile uint64_t n = (uint64_t)arg * 7919 + 1, done = 0;

    expecting = 1;
    while (!over()) {
        if (sigsetjmp(back, 1) == 0)
            for (unsigned k = 0; k < 64; k++) {
                n = n * 6364136223846793005 + 1;
                *(volatile uint64_t *)(area + (n >> 40) % PAGES * PAGE + 8 * (uint64_t)arg) = n | 1;
                done++;
            }
    }
    expecting = 0;
    return (void *)done;
}

/* The same through system calls, which fail with EFAULT. */
static void *calls(void *arg)
{
    uint64_t n = 1, done = 0;

    (void)arg;
    while (!over()) {
        n = n * 6364136223846793005 + 1;
        done += syscall(SYS_clock_gettime, CLOCK_MONOTONIC,
                        area + (n >> 40) % PAGES * PAGE + PAGE - 64) == 0;
    }
    return (void *)done;
}

/* Run the writers while fn, which is given the number of its round, returns no error. */
static void beside_writers(unsigned (*fn)(unsigned round), const char *what)
{
    pthread_t t[WRITERS + 1];
    unsigned rounds = 0, wrong = 0;
    long end = now_ms() + tenths * 100;
    uint64_t all = 0;

    stop = 0;
    area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long k = 0; k < WRITERS; k++)
        start(&t[k], writes, (void *)(k + 1));
    start(&t[WRITERS], calls, NULL);
    do
        wrong += fn(rounds++);
    while (!wrong && (rounds < 5 || now_ms() < end));
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (unsigned k = 0; k <= WRITERS; k++) {
        void *done;

        pthread_join(t[k], &done);
        all += (uint64_t)done;
    }
    munmap((void *)area, PAGES * PAGE);
    ok(!wrong && all, "%s", what);
    diag("%u rounds beside %lu writes", rounds, all);
}

/* After mprotect has returned nobody writes any more. */
static unsigned protects(unsigned round)
{
    unsigned first = round % PAGES, n = 1 + round % 5, wrong = 0;
    uint64_t sum = 0, again = 0;

    n = first + n > PAGES ? PAGES - first : n;
    if (mprotect((void *)(area + first * PAGE), n * PAGE, PROT_READ))
        return 1;
    for (unsigned k = 0; k < n * PAGE; k += 8)
        sum += *(volatile uint64_t *)(area + first * PAGE + k);
    for (unsigned k = 0; k < 3; k++)
        sched_yield();
    for (unsigned k = 0; k < n * PAGE; k += 8)
        again += *(volatile uint64_t *)(area + first * PAGE + k);
    wrong = sum != again;
    return wrong + (mprotect((void *)(area + first * PAGE), n * PAGE, PROT_READ | PROT_WRITE) != 0);
}

/* Pages that munmap has freed are used for something else: nobody writes to them any more. */
static unsigned unmaps(unsigned round)
{
    unsigned first = round % PAGES, n = 1 + round % 5;
    uint64_t sum = 0;
    char *fresh;

    n = first + n > PAGES ? PAGES - first : n;
    if (munmap((void *)(area + first * PAGE), n * PAGE))
        return 1;
    fresh = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                 -1, 0);
    if (fresh == MAP_FAILED)
        return 1;
    for (unsigned look = 0; look < 2; look++) {
        for (unsigned k = 0; k < n * PAGE; k += 8)
            sum += *(volatile uint64_t *)(fresh + k);
        sched_yield();
    }
    munmap(fresh, n * PAGE); /* perhaps the gap itself, where writers have found it */
    mmap((void *)(area + first * PAGE), n * PAGE, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return sum != 0 && (fresh + n * PAGE <= area || fresh >= area + PAGES * PAGE);
}

static unsigned discards(unsigned round)
{
    return madvise((void *)(area + round % PAGES * PAGE), PAGE, MADV_DONTNEED) != 0;
}

/* The child has a copy of one moment, which no thread of the parent changes. */
static unsigned forks(unsigned round)
{
    int status = -1;
    pid_t pid = (pid_t)syscall(SYS_fork); /* without the C library's handlers */

    (void)round;
    if (pid == 0) {
        uint64_t sum = 0, again = 0;

        for (unsigned k = 0; k < PAGES * PAGE; k += 8)
            sum += *(volatile uint64_t *)(area + k);
        for (unsigned k = 0; k < PAGES; k++)
            *(area + k * PAGE + PAGE - 8) += 0;
        for (unsigned k = 0; k < PAGES * PAGE; k += 8)
            again += *(volatile uint64_t *)(area + k);
        syscall(SYS_exit_group, sum == again ? 0 : 1);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* ---- the break, moved by several threads ---- */

static void *moves_break(void *arg)
{
    (void)arg;
    while (!over()) {
        uint64_t was = (uint64_t)syscall(SYS_brk, 0);

        syscall(SYS_brk, was + 3 * PAGE);
        syscall(SYS_brk, was);
    }
    return NULL;
}

static void test_break(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) { /* whose heap is at its bottom, and not used meanwhile */
        pthread_t t[4];

        stop = 0;
        for (unsigned k = 0; k < 4; k++)
            start(&t[k], moves_break, NULL);
        usleep((useconds_t)(tenths * 30000));
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
        for (unsigned k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
        syscall(SYS_exit_group, 0);
    }
    ok(waitpid(pid, &status, 0) == pid && status == 0, "four threads move the break");
}

/* ---- ends in the middle ---- */

static void *maps_and_unmaps(void *arg)
{
    (void)arg;
    for (;;) {
        char *p = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
            continue;
        for (unsigned k = 0; k < 64; k += 3)
            p[k * PAGE] = 1;
        mprotect(p + PAGE, 9 * PAGE, PROT_READ);
        munmap(p, 64 * PAGE);
    }
    return NULL;
}

static void test_ends(void)
{
    unsigned good = 0, n = 0;

    for (long end = now_ms() + tenths * 100; n < 6 || now_ms() < end; n++) {
        int status = 0, want = n % 3 == 0 ? SIGKILL : n % 3 == 1 ? 9 << 8 : 42 << 8;
        pid_t pid = fork();

        if (pid == 0) {
            pthread_t t;

            for (unsigned k = 0; k < 6; k++)
                start(&t, maps_and_unmaps, NULL);
            usleep(1000 + n * 377 % 5000);
            if (n % 3 == 0)
                pause();
            if (n % 3 == 1)
                _exit(9);
            execl(program, program, "child", NULL);
            _exit(98);
        }
        if (n % 3 == 0) {
            usleep(3000 + n * 577 % 5000);
            kill(pid, SIGKILL);
        }
        good += waitpid(pid, &status, 0) == pid && status == want;
    }
    ok(good == n, "a process ends, or calls exec, while its threads map and unmap");
    diag("%u of %u times", good, n);
}

int main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = on_fault};

    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return 42;
    tenths = argc > 1 ? atol(argv[1]) : 12;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    sigaction(SIGSEGV, &a, NULL);
    beside_writers(protects, "no write comes after mprotect");
    beside_writers(unmaps, "no write reaches a page that was unmapped");
    beside_writers(discards, "pages are discarded beside writers");
    beside_writers(forks, "fork beside writers copies one moment");
    test_break();
    test_ends();
    return tap_done();
}
