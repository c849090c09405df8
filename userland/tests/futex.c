// TAP
/* futex and robust lists: results and errors, bit sets, requeueing, FUTEX_WAKE_OP, absolute times,
 * words that processes share through each kind of mapping, and the death of an owner. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define STACK   (64 * 1024)
#define WAITERS 24

static pthread_attr_t small;

static long futex(uint32_t *word, int op, uint32_t v, const void *timeout, uint32_t *word2,
                  uint32_t v3)
{
    return syscall(SYS_futex, word, op, v, timeout, word2, v3);
}

static long wake(uint32_t *word, uint32_t n) { return futex(word, FUTEX_WAKE, n, NULL, NULL, 0); }

/* What a thread is to do, and did. */
struct job {
    uint32_t *word;
    int op;
    uint32_t v, bits;
    const struct timespec *timeout;
    long result;
    int error;
    int running, done; /* atomic */
    uint32_t tid;
};

static void *do_wait(void *arg)
{
    struct job *j = arg;

    j->tid = (uint32_t)syscall(SYS_gettid);
    __atomic_store_n(&j->running, 1, __ATOMIC_RELEASE);
    j->result = futex(j->word, j->op, j->v, j->timeout, NULL, j->bits);
    j->error = errno;
    __atomic_store_n(&j->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
    if (pthread_create(t, &small, fn, arg))
        abort();
}

static int done(const struct job *j) { return __atomic_load_n(&j->done, __ATOMIC_ACQUIRE); }

/* Wait until n of the jobs are done, or for a while. */
static unsigned count_done(const struct job *j, unsigned of, unsigned want)
{
    unsigned n = 0;

    for (unsigned round = 0; round < 1000; round++) {
        n = 0;
        for (unsigned k = 0; k < of; k++)
            n += (unsigned)done(&j[k]);
        if (n >= want)
            break;
        usleep(1000);
    }
    usleep(5000); /* one too many would be done by now */
    n = 0;
    for (unsigned k = 0; k < of; k++)
        n += (unsigned)done(&j[k]);
    return n;
}

/* Wait until all of them sleep in the kernel: their numbers of the waiters that a requeue to the
 * same word finds. */
static void until_waiting(uint32_t *word, unsigned n)
{
    for (unsigned k = 0; k < 5000; k++) {
        if (futex(word, FUTEX_CMP_REQUEUE, 0, (void *)(long)INT_MAX, word, *word) == (long)n)
            return;
        usleep(1000);
    }
    diag("the waiters do not come");
}

static void error_is(long r, int want, const char *what)
{
    ok(r == -1 && errno == want, "%s", what);
}

static void test_errors(void)
{
    static uint32_t word[2];
    struct timespec bad = {0, 1000000000}, soon = {0, 1000000};
    uint32_t *odd = (uint32_t *)((char *)word + 2);
    uint32_t *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *kernel = (uint32_t *)0xFFFFFC0000000000;

    munmap(hole, 8192);
    error_is(futex(word, FUTEX_WAIT, 1, NULL, NULL, 0), EAGAIN, "another value: EAGAIN");
    error_is(futex(word, FUTEX_WAIT, 0, &soon, NULL, 0), ETIMEDOUT, "a time-out");
    error_is(futex(word, FUTEX_WAIT, 0, &bad, NULL, 0), EINVAL, "a bad time: EINVAL");
    error_is(futex(word, FUTEX_WAIT, 0, (void *)8, NULL, 0), EFAULT, "no time there: EFAULT");
    error_is(futex(odd, FUTEX_WAIT, 0, NULL, NULL, 0), EINVAL, "a misaligned word: EINVAL");
    error_is(futex(hole, FUTEX_WAIT, 0, NULL, NULL, 0), EFAULT, "no word to wait for: EFAULT");
    error_is(futex(hole, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0), EFAULT,
             "no private word to wait for: EFAULT");
    error_is(wake(hole, 1), EFAULT, "no word to wake at: EFAULT");
    error_is(wake(odd, 1), EINVAL, "a misaligned word to wake at: EINVAL");
    error_is(wake(kernel, 1), EFAULT, "a kernel address: EFAULT");
    is(wake(word, 1), 0, "nobody to wake");
    is(wake(word, INT_MAX), 0, "nobody to wake among many");
    error_is(futex(word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0), EINVAL, "no bits to wait for");
    error_is(futex(word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0), EINVAL, "no bits to wake");
    error_is(futex(word, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, 0), ENOSYS,
             "a clock for a wake-up");
    error_is(futex(word, 99, 1, NULL, NULL, 0), ENOSYS, "no such operation");
    error_is(futex(word, FUTEX_CMP_REQUEUE, 1, (void *)1L, word + 1, 5), EAGAIN,
             "another value: nothing is requeued");
    error_is(futex(word, FUTEX_CMP_REQUEUE, (uint32_t)-1, (void *)1L, word + 1, 0), EINVAL,
             "a negative number");
    error_is(futex(word, FUTEX_REQUEUE, 1, (void *)1L, hole, 0), EFAULT, "no word to requeue to");
    error_is(futex(word, FUTEX_WAKE_OP, 1, (void *)1L, word + 1, 7u << 28), ENOSYS,
             "no such operation on the word");
    error_is(futex(word, FUTEX_WAKE_OP, 1, (void *)1L, hole, 0), EFAULT, "no word to change");
    error_is(syscall(SYS_set_robust_list, word, 23), EINVAL, "a robust list of another length");
    error_is(syscall(SYS_get_robust_list, 9999999, word, word), ESRCH, "of no thread");
}

static void test_wake(void)
{
    static uint32_t word, other;
    static struct job j[WAITERS];
    static pthread_t t[WAITERS];

    for (unsigned k = 0; k < WAITERS; k++) {
        j[k] = (struct job){.word = &word, .op = FUTEX_WAIT};
        start(&t[k], do_wait, &j[k]);
    }
    until_waiting(&word, WAITERS);
    is(wake(&other, INT_MAX), 0, "a wake-up at another word reaches nobody");
    is(wake(&word, 1), 1, "one is woken");
    is(count_done(j, WAITERS, 1), 1, "and only one");
    is(wake(&word, 5), 5, "five are woken");
    is(count_done(j, WAITERS, 6), 6, "and only five");
    is(wake(&word, INT_MAX), WAITERS - 6, "then all");
    for (unsigned k = 0; k < WAITERS; k++)
        pthread_join(t[k], NULL);
    is(wake(&word, INT_MAX), 0, "and nobody is left");
}

static void test_bits(void)
{
    static uint32_t word;
    static struct job j[WAITERS];
    static pthread_t t[WAITERS];
    unsigned right = 0;

    for (unsigned k = 0; k < WAITERS; k++) {
        j[k] = (struct job){.word = &word, .op = FUTEX_WAIT_BITSET, .bits = k % 3 ? 1 : 6};
        start(&t[k], do_wait, &j[k]);
    }
    until_waiting(&word, WAITERS);
    is(futex(&word, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 8), 0, "nobody waits for that bit");
    is(futex(&word, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 2), WAITERS / 3,
       "those that wait for the bit are woken");
    (void)count_done(j, WAITERS, WAITERS / 3);
    for (unsigned k = 0; k < WAITERS; k++)
        right += done(&j[k]) == (k % 3 == 0);
    is(right, WAITERS, "and no others");
    is(wake(&word, INT_MAX), WAITERS - WAITERS / 3, "a plain wake-up reaches any bits");
    for (unsigned k = 0; k < WAITERS; k++)
        pthread_join(t[k], NULL);
}

static void test_requeue(void)
{
    static uint32_t from, to;
    static struct job j[WAITERS];
    static pthread_t t[WAITERS];

    for (unsigned k = 0; k < WAITERS; k++) {
        j[k] = (struct job){.word = &from, .op = FUTEX_WAIT};
        start(&t[k], do_wait, &j[k]);
    }
    until_waiting(&from, WAITERS);
    is(futex(&from, FUTEX_CMP_REQUEUE, 2, (void *)10L, &to, 0), 12, "two woken, ten requeued");
    is(count_done(j, WAITERS, 2), 2, "two have been woken");
    is(wake(&to, INT_MAX), 10, "ten wait at the other word");
    is(futex(&from, FUTEX_REQUEUE, 0, (void *)(long)INT_MAX, &to, 0), WAITERS - 12,
       "the rest is requeued");
    is(wake(&from, INT_MAX), 0, "nobody is left behind");
    is(wake(&to, INT_MAX), WAITERS - 12, "all are woken where they went");
    for (unsigned k = 0; k < WAITERS; k++)
        pthread_join(t[k], NULL);
}

static void test_wake_op(void)
{
    static const struct {
        uint32_t code, old, new;
        int compares;
    } cases[] = {
        {FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 5), 5, 7, 1},
        {FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_NE, 5), 5, 8, 0},
        {FUTEX_OP(FUTEX_OP_ADD, 0xFFF, FUTEX_OP_CMP_LT, 6), 5, 4, 1}, /* -1 */
        {FUTEX_OP(FUTEX_OP_OR, 8, FUTEX_OP_CMP_LE, 4), 5, 13, 0},
        {FUTEX_OP(FUTEX_OP_ANDN, 1, FUTEX_OP_CMP_GT, 4), 5, 4, 1},
        {FUTEX_OP(FUTEX_OP_XOR, 6, FUTEX_OP_CMP_GE, 6), 5, 3, 0},
        {FUTEX_OP((FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT), 9, FUTEX_OP_CMP_EQ, 0xFFF), UINT32_MAX,
         UINT32_MAX, 1},
        {FUTEX_OP((FUTEX_OP_SET | FUTEX_OP_OPARG_SHIFT), 9, FUTEX_OP_CMP_EQ, 0), 0, 512, 1},
    };

    for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        static uint32_t first, second;
        struct job j[2] = {{.word = &first, .op = FUTEX_WAIT, .v = 0},
                           {.word = &second, .op = FUTEX_WAIT, .v = cases[k].old}};
        pthread_t t[2];

        second = cases[k].old;
        start(&t[0], do_wait, &j[0]);
        start(&t[1], do_wait, &j[1]);
        until_waiting(&first, 1);
        until_waiting(&second, 1);
        ok(futex(&first, FUTEX_WAKE_OP, 1, (void *)1L, &second, cases[k].code) ==
                   1 + cases[k].compares &&
               second == cases[k].new,
           "FUTEX_WAKE_OP %#x", cases[k].code);
        is(wake(&second, 1), 1 - cases[k].compares, "the other waiter as the comparison says");
        pthread_join(t[0], NULL);
        pthread_join(t[1], NULL);
    }
}

static struct timespec after(clockid_t clock, long ms)
{
    struct timespec t;

    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static volatile int taken;
static void take(int sig) { (void)sig, taken++; }

static void test_times(void)
{
    static uint32_t word;
    struct timespec t = after(CLOCK_MONOTONIC, 20), now, past = {1, 0};
    struct sigaction a = {.sa_handler = take};
    struct job j = {.word = &word, .op = FUTEX_WAIT};
    pthread_t p;

    error_is(futex(&word, FUTEX_WAIT_BITSET, 0, &t, NULL, ~0u), ETIMEDOUT, "an absolute time");
    clock_gettime(CLOCK_MONOTONIC, &now);
    ok(now.tv_sec > t.tv_sec || (now.tv_sec == t.tv_sec && now.tv_nsec >= t.tv_nsec),
       "has been reached");
    t = after(CLOCK_REALTIME, 20);
    error_is(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &t, NULL, ~0u), ETIMEDOUT,
             "a time of day");
    error_is(futex(&word, FUTEX_WAIT_BITSET, 0, &past, NULL, ~0u), ETIMEDOUT, "a time past");
    sigaction(SIGUSR1, &a, NULL);
    start(&p, do_wait, &j);
    until_waiting(&word, 1);
    pthread_kill(p, SIGUSR1);
    pthread_join(p, NULL);
    ok(taken == 1 && j.result == -1 && j.error == EINTR, "a signal ends a wait");
    a.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &a, NULL);
    j.done = j.running = 0;
    start(&p, do_wait, &j);
    until_waiting(&word, 1);
    pthread_kill(p, SIGUSR1);
    for (unsigned k = 0; k < 1000 && taken < 2; k++)
        usleep(1000);
    until_waiting(&word, 1);
    ok(taken == 2 && !done(&j), "which SA_RESTART begins anew");
    is(wake(&word, 1), 1, "and which then is woken");
    pthread_join(p, NULL);
}

/* ---- words shared by processes ---- */

static void test_shared(uint32_t *here, uint32_t *there, const char *what)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(futex(there, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 ? 0 : 1);
    until_waiting(here, 1);
    is(futex(here, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0), 0,
       "%s: a private wake-up does not cross", what);
    is(wake(here + 1, 1), 0, "nor does one at the next word");
    is(wake(here, 1), 1, "a shared one does");
    ok(waitpid(pid, &status, 0) == pid && status == 0, "and the other process sees it");
}

static void test_mappings(void)
{
    const int rw = PROT_READ | PROT_WRITE;
    int fd = open("/tmp/futex", O_RDWR | O_CREAT | O_TRUNC, 0600), status;
    uint32_t *a = mmap(NULL, 16384, rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *b, *own;
    pid_t pid;

    test_shared(a + 5, a + 5, "anonymous shared memory");
    test_shared(a + 2100, a + 2100, "its second page");
    if (ftruncate(fd, 16384))
        abort();
    a = mmap(NULL, 16384, rw, MAP_SHARED, fd, 0);
    b = mmap(NULL, 8192, rw, MAP_SHARED, fd, 8192);
    test_shared(a + 2048 + 7, b + 7, "a file mapped at two addresses");
    own = mmap(NULL, 8192, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid = fork();
    if (pid == 0) {
        struct timespec t = {0, 50000000};

        _exit(futex(own, FUTEX_WAIT, 0, &t, NULL, 0) == -1 && errno == ETIMEDOUT ? 0 : 1);
    }
    usleep(20000);
    is(wake(own, 1), 0, "private memory is not shared with a child");
    ok(waitpid(pid, &status, 0) == pid && status == 0, "whose wait ends by its time");
    close(fd);
    unlink("/tmp/futex");
}

/* ---- robust mutexes ---- */

static pthread_mutex_t *robust;

static void *dies_with_it(void *arg)
{
    (void)arg;
    pthread_mutex_lock(robust);
    return NULL;
}

static void test_robust(void)
{
    pthread_mutexattr_t a;
    pthread_t t;
    int status;
    pid_t pid;

    robust = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(robust, &a);
    start(&t, dies_with_it, NULL);
    pthread_join(t, NULL);
    is(pthread_mutex_lock(robust), EOWNERDEAD, "a thread has ended with a robust mutex");
    is(pthread_mutex_consistent(robust), 0, "it is mended");
    is(pthread_mutex_unlock(robust), 0, "and given back");
    pid = fork();
    if (pid == 0) {
        pthread_mutex_lock(robust);
        for (;;)
            pause();
    }
    while (pthread_mutex_trylock(robust) == 0) {
        pthread_mutex_unlock(robust);
        usleep(1000);
    }
    start(&t, dies_with_it, NULL); /* waits for it */
    usleep(10000);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    pthread_join(t, NULL);
    is(pthread_mutex_lock(robust), EOWNERDEAD, "its owner was killed, and so was the next one");
    pthread_mutex_consistent(robust);
    pthread_mutex_unlock(robust);
}

/* A ring without end, and entries where nothing is. */
static void test_bad_lists(void)
{
    static struct {
        uint64_t next, offset, begun;
    } ring[2], bad[3];
    int status, good = 0;

    ring[0].next = (uint64_t)&ring[1];
    ring[1].next = (uint64_t)&ring[1];
    bad[0].next = 8;
    bad[1].next = 0xFFFFFC0000000000;
    bad[2].next = (uint64_t)&bad[2];
    bad[2].begun = 3;
    for (unsigned k = 0; k < 5; k++) {
        pid_t pid = fork();

        if (pid == 0) {
            syscall(SYS_set_robust_list,
                    k < 1   ? (void *)ring
                    : k < 4 ? (void *)&bad[k - 1]
                            : (void *)16,
                    24);
            _exit(0);
        }
        good += waitpid(pid, &status, 0) == pid && status == 0;
    }
    is(good, 5, "lists that lead nowhere do no harm");
}

int main(void)
{
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    test_errors();
    test_wake();
    test_bits();
    test_requeue();
    test_wake_op();
    test_times();
    test_mappings();
    test_robust();
    test_bad_lists();
    return tap_done();
}
