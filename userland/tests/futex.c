// TAP
/* futex and robust lists: results and errors, bit sets, requeueing, FUTEX_WAKE_OP, absolute times,
 * words that processes share through each kind of mapping, and the death of an owner. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/* ---- priority inheritance ---- */

#define LOCK_PI2 13

static uint32_t own_tid(void) { return (uint32_t)syscall(SYS_gettid); }
static long pi(uint32_t *word, int op, const void *timeout)
{
    return futex(word, op, 0, timeout, NULL, 0);
}

static void test_pi_errors(void)
{
    static uint32_t word[2];
    struct timespec past = {1, 0}, soon;
    uint32_t *odd = (uint32_t *)((char *)word + 2);
    int status;
    pid_t pid;

    is(pi(word, FUTEX_LOCK_PI, NULL), 0, "a free lock is taken");
    is(word[0], own_tid(), "its word has the owner's number");
    error_is(pi(word, FUTEX_LOCK_PI, NULL), EDEADLK, "not twice");
    error_is(pi(word, FUTEX_TRYLOCK_PI, NULL), EDEADLK, "nor for a try");
    is(pi(word, FUTEX_UNLOCK_PI, NULL), 0, "it is given back");
    is(word[0], 0, "its word is 0");
    error_is(pi(word, FUTEX_UNLOCK_PI, NULL), EPERM, "who does not have it cannot give it back");
    is(pi(word, FUTEX_TRYLOCK_PI, NULL), 0, "a try takes a free lock");
    pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    word[0] = (uint32_t)pid; /* as if that one had taken it */
    error_is(pi(word, FUTEX_TRYLOCK_PI, NULL), EAGAIN, "and does not wait");
    error_is(pi(word, FUTEX_LOCK_PI, &past), ETIMEDOUT, "a time that is over");
    is(word[0], (uint32_t)pid | FUTEX_WAITERS, "the word says that somebody has waited");
    clock_gettime(CLOCK_MONOTONIC, &soon);
    error_is(pi(word, LOCK_PI2 | FUTEX_PRIVATE_FLAG, &soon), ETIMEDOUT, "by the other clock");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    error_is(futex(word, FUTEX_LOCK_PI | FUTEX_CLOCK_REALTIME, 0, NULL, NULL, 0), ENOSYS,
             "LOCK_PI has one clock");
    error_is(pi(odd, FUTEX_LOCK_PI, NULL), EINVAL, "a misaligned lock");
    error_is(pi((uint32_t *)8, FUTEX_LOCK_PI, NULL), EFAULT, "no lock there");
    error_is(pi((uint32_t *)8, FUTEX_UNLOCK_PI, NULL), EFAULT, "none to give back");
    pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, &status, 0);
    word[0] = (uint32_t)pid;
    error_is(pi(word, FUTEX_LOCK_PI, NULL), ESRCH, "its owner has ended");
    word[0] = FUTEX_OWNER_DIED | FUTEX_WAITERS;
    is(pi(word, FUTEX_LOCK_PI, NULL), 0, "one whose owner has died is taken");
    is(word[0], own_tid() | FUTEX_OWNER_DIED, "and says so");
    is(pi(word, FUTEX_UNLOCK_PI, NULL), 0, "and is given back");
}

static struct {
    pthread_mutex_t m, other;
    unsigned long count;
    int order[8], n, waiting;
} *pis;

static void *pi_count(void *arg)
{
    for (unsigned k = 0; k < 400; k++) {
        if (pthread_mutex_lock(&pis->m))
            abort();
        pis->count++;
        if (k % 16 == 0)
            sched_yield();
        pthread_mutex_unlock(&pis->m);
    }
    return arg;
}

/* Takes the lock once, with a nice value of its own. */
static void *pi_once(void *arg)
{
    int nice = (int)(long)arg;

    setpriority(PRIO_PROCESS, (id_t)own_tid(), nice);
    __atomic_fetch_add(&pis->waiting, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&pis->m);
    pis->order[pis->n++] = nice;
    pthread_mutex_unlock(&pis->m);
    return NULL;
}

static void pi_mutex(pthread_mutex_t *m, int robust)
{
    pthread_mutexattr_t a;

    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&a, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
    is(pthread_mutex_init(m, &a), 0, "a mutex with inheritance");
}

static void wait_for_waiters(int n)
{
    while (__atomic_load_n(&pis->waiting, __ATOMIC_ACQUIRE) < n)
        usleep(1000);
    usleep(30000); /* to the kernel */
}

static void test_pi_mutex(void)
{
    static const int nices[] = {5, -3, 10, -3, 0};
    pthread_t t[8];
    pid_t pid;
    int status;

    pis = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pi_mutex(&pis->m, 0);
    pid = fork();
    for (unsigned k = 0; k < 8; k++)
        start(&t[k], pi_count, NULL);
    for (unsigned k = 0; k < 8; k++)
        pthread_join(t[k], NULL);
    if (pid == 0)
        _exit(0);
    waitpid(pid, &status, 0);
    is(pis->count, 2 * 8 * 400, "16 threads of two processes exclude each other");
    is(*(uint32_t *)&pis->m, 0, "and leave the mutex free");
    pthread_mutex_lock(&pis->m);
    for (unsigned k = 0; k < 5; k++) {
        start(&t[k], pi_once, (void *)(long)nices[k]);
        wait_for_waiters((int)k + 1);
    }
    pthread_mutex_unlock(&pis->m);
    for (unsigned k = 0; k < 5; k++)
        pthread_join(t[k], NULL);
    ok(pis->order[0] == -3 && pis->order[1] == -3 && pis->order[2] == 0 && pis->order[3] == 5 &&
           pis->order[4] == 10,
       "those who wait come by their nice values");
}

/* Works for a while with the lock, beside threads of the same process that want the CPU. */
static volatile unsigned long worked;
static int stop_work; /* atomic */

static void *pi_worker(void *arg)
{
    setpriority(PRIO_PROCESS, (id_t)own_tid(), 19);
    pthread_mutex_lock(&pis->m);
    __atomic_fetch_add(&pis->waiting, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stop_work, __ATOMIC_RELAXED))
        worked++;
    pthread_mutex_unlock(&pis->m);
    return arg;
}

static void *pi_hog(void *arg)
{
    while (!__atomic_load_n(&stop_work, __ATOMIC_RELAXED))
        ;
    return arg;
}

/* How much a worker of nice 19 does beside two busy threads in 300 ms, with a waiter of nice -20 or
 * without. All on one CPU. */
static unsigned long work_done(int with_waiter)
{
    unsigned long one = 1, done;
    pthread_t worker, hog[2], waiter;

    syscall(SYS_sched_setaffinity, 0, sizeof(one), &one);
    pis->waiting = pis->n = 0;
    stop_work = 0;
    start(&worker, pi_worker, NULL);
    wait_for_waiters(1);
    if (with_waiter)
        start(&waiter, pi_once, (void *)-20L);
    wait_for_waiters(1 + with_waiter);
    setpriority(PRIO_PROCESS, (id_t)own_tid(), -20);
    for (unsigned k = 0; k < 2; k++)
        start(&hog[k], pi_hog, NULL); /* with this one's nice value */
    done = worked;
    usleep(300000);
    done = worked - done;
    __atomic_store_n(&stop_work, 1, __ATOMIC_RELAXED);
    setpriority(PRIO_PROCESS, (id_t)own_tid(), 0);
    pthread_join(worker, NULL);
    for (unsigned k = 0; k < 2; k++)
        pthread_join(hog[k], NULL);
    if (with_waiter)
        pthread_join(waiter, NULL);
    one = ~0UL;
    syscall(SYS_sched_setaffinity, 0, sizeof(one), &one);
    return done;
}

static void test_pi_inherits(void)
{
    unsigned long alone = work_done(0), lent = work_done(1);

    diag("work of nice 19 beside two of -20: %lu alone, %lu with a waiter of -20", alone, lent);
    ok(lent > 10 * alone, "an owner has the weight of whom it keeps waiting");
    is(getpriority(PRIO_PROCESS, 0), 0, "and its own nice value");
}

static void *pi_crossed(void *arg)
{
    uint32_t *words = arg;

    pi(&words[1], FUTEX_LOCK_PI, NULL);
    __atomic_fetch_add(&pis->waiting, 1, __ATOMIC_RELEASE);
    pi(&words[0], FUTEX_LOCK_PI, NULL);
    pi(&words[0], FUTEX_UNLOCK_PI, NULL);
    pi(&words[1], FUTEX_UNLOCK_PI, NULL);
    return NULL;
}

static void test_pi_deadlock(void)
{
    static uint32_t words[2];
    pthread_t t;

    pis->waiting = 0;
    pi(&words[0], FUTEX_LOCK_PI, NULL);
    start(&t, pi_crossed, words);
    wait_for_waiters(1);
    error_is(pi(&words[1], FUTEX_LOCK_PI, NULL), EDEADLK, "two who would wait for each other");
    is(pi(&words[0], FUTEX_UNLOCK_PI, NULL), 0, "one gives way");
    pthread_join(t, NULL);
    is(words[0] | words[1], 0, "and both locks are free");
}

static void *pi_waits(void *arg)
{
    struct job *j = arg;

    __atomic_fetch_add(&pis->waiting, 1, __ATOMIC_RELEASE);
    j->result = pthread_mutex_lock(&pis->m);
    if (j->result == EOWNERDEAD)
        pthread_mutex_consistent(&pis->m);
    pthread_mutex_unlock(&pis->m);
    return NULL;
}

static void nothing(int sig) { (void)sig; }

static void test_pi_death(void)
{
    struct job j[3] = {0};
    pthread_t t[3];
    int status, dead = 0;
    struct timespec soon;
    pid_t pid;

    pi_mutex(&pis->m, 1);
    pis->waiting = 0;
    pid = fork();
    if (pid == 0) {
        pthread_mutex_lock(&pis->m);
        __atomic_fetch_add(&pis->waiting, 1, __ATOMIC_RELEASE);
        for (;;)
            pause();
    }
    wait_for_waiters(1);
    for (unsigned k = 0; k < 3; k++)
        start(&t[k], pi_waits, &j[k]);
    wait_for_waiters(4);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = nothing}, NULL);
    pthread_kill(t[0], SIGUSR1);
    usleep(10000); /* the handler has no SA_RESTART */
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec = (soon.tv_nsec + 20000000) % 1000000000;
    soon.tv_sec += soon.tv_nsec < 20000000;
    is(pthread_mutex_timedlock(&pis->m, &soon), ETIMEDOUT, "a wait with a time");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    for (unsigned k = 0; k < 3; k++) {
        pthread_join(t[k], NULL);
        dead += j[k].result == EOWNERDEAD;
        j[k].result &= ~EOWNERDEAD;
    }
    is(dead, 1, "the owner is killed: one of those who wait learns it");
    is(j[0].result | j[1].result | j[2].result, 0, "and a signal has disturbed none of them");
    is(pthread_mutex_lock(&pis->m), 0, "the mutex works");
    pthread_mutex_unlock(&pis->m);
    /* those who wait are killed, too */
    for (unsigned k = 0; k < 10; k++) {
        pid = fork();
        if (pid == 0) {
            pthread_t more[4];

            for (unsigned i = 0; i < 4; i++)
                pthread_create(&more[i], NULL, pi_count, NULL);
            for (;;)
                pause();
        }
        usleep(1000 * (k + 1));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        status = pthread_mutex_lock(&pis->m);
        if (status == EOWNERDEAD)
            pthread_mutex_consistent(&pis->m);
        dead += status != 0 && status != EOWNERDEAD;
        pthread_mutex_unlock(&pis->m);
    }
    is(dead, 1, "processes are killed at work on it, and it goes on");
}

/* ---- requeue to a lock with inheritance ---- */

/* Waits for word[0] to be requeued to the lock word[1], and gives that back. */
static void *waits_to_requeue(void *arg)
{
    struct job *j = arg;

    j->tid = own_tid();
    __atomic_store_n(&j->running, 1, __ATOMIC_RELEASE);
    j->result = futex(j->word, FUTEX_WAIT_REQUEUE_PI, j->v, j->timeout, j->word + 1, 0);
    j->error = errno;
    if (j->result == 0 && (j->word[1] & FUTEX_TID_MASK) != j->tid)
        j->result = 1;
    __atomic_store_n(&j->done, 1, __ATOMIC_RELEASE);
    if (j->result == 0)
        pi(j->word + 1, FUTEX_UNLOCK_PI, NULL);
    return NULL;
}

/* The job runs: wait until it sleeps in the kernel, or has ended. */
static void until_asleep(const struct job *j)
{
    char path[64], text[128], *end;

    snprintf(path, sizeof(path), "/proc/self/task/%u/stat", j->tid);
    for (;; usleep(1000)) {
        int fd = open(path, O_RDONLY);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

        close(fd);
        text[n > 0 ? n : 0] = 0;
        end = strrchr(text, ')');
        if (n <= 0 || (end && end[2] == 'S') || done(j))
            return;
    }
}

static void start_to_requeue(pthread_t t[], struct job j[], unsigned n, uint32_t *word,
                             const struct timespec *timeout)
{
    for (unsigned k = 0; k < n; k++) {
        j[k] = (struct job){.word = word, .v = word[0], .timeout = timeout};
        start(&t[k], waits_to_requeue, &j[k]);
        while (!__atomic_load_n(&j[k].running, __ATOMIC_ACQUIRE))
            usleep(1000);
        until_asleep(&j[k]);
    }
}

static void join(pthread_t t[], unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        pthread_join(t[k], NULL);
}

static long requeue_pi(uint32_t *word, long wakes, long n, uint32_t *lock)
{
    return futex(word, FUTEX_CMP_REQUEUE_PI, (uint32_t)wakes, (void *)n, lock, word[0]);
}

static struct timespec after_ms(long ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void test_requeue_pi_errors(void)
{
    static uint32_t word[4];
    struct timespec past = {1, 0}, bad = {0, -1};
    uint32_t *odd = (uint32_t *)((char *)word + 2), *none = (uint32_t *)8;
    struct job j = {.word = word, .op = FUTEX_WAIT};
    pthread_t t;

    is(requeue_pi(word, 1, 5, word + 1), 0, "nobody to requeue to a lock");
    is(word[1], 0, "which nobody gets");
    error_is(requeue_pi(word, 0, 5, word + 1), EINVAL, "none woken: EINVAL");
    error_is(requeue_pi(word, 2, 5, word + 1), EINVAL, "two woken: EINVAL");
    error_is(requeue_pi(word, 1, -1, word + 1), EINVAL, "a negative number: EINVAL");
    error_is(requeue_pi(word, 1, 5, word), EINVAL, "to the same word: EINVAL");
    error_is(requeue_pi(word, 1, 5, odd), EINVAL, "to a misaligned one: EINVAL");
    error_is(requeue_pi(word, 1, 5, none), EFAULT, "to no word: EFAULT");
    error_is(futex(word, FUTEX_CMP_REQUEUE_PI, 1, (void *)1L, word + 1, 5), EAGAIN,
             "another value: EAGAIN");
    error_is(futex(word, FUTEX_CMP_REQUEUE_PI | FUTEX_CLOCK_REALTIME, 1, NULL, word + 1, 0), ENOSYS,
             "it has no clock");
    error_is(futex(word, FUTEX_WAIT_REQUEUE_PI, 0, NULL, word, 0), EINVAL,
             "a wait for the same word: EINVAL");
    error_is(futex(word, FUTEX_WAIT_REQUEUE_PI, 1, NULL, word + 1, 0), EAGAIN,
             "a wait for another value: EAGAIN");
    error_is(futex(word, FUTEX_WAIT_REQUEUE_PI, 0, &past, word + 1, 0), ETIMEDOUT,
             "whose time is over");
    error_is(futex(word, FUTEX_WAIT_REQUEUE_PI | FUTEX_CLOCK_REALTIME, 0, &past, word + 1, 0),
             ETIMEDOUT, "by the other clock");
    error_is(futex(word, FUTEX_WAIT_REQUEUE_PI, 0, &bad, word + 1, 0), EINVAL,
             "with a bad time: EINVAL");
    error_is(futex(word, FUTEX_WAIT_REQUEUE_PI, 0, none, word + 1, 0), EFAULT, "no time: EFAULT");
    error_is(futex(word, FUTEX_WAIT_REQUEUE_PI, 0, NULL, none, 0), EFAULT, "no lock: EFAULT");
    error_is(futex(none, FUTEX_WAIT_REQUEUE_PI, 0, NULL, word, 0), EFAULT, "no word: EFAULT");
    start(&t, do_wait, &j);
    until_waiting(word, 1);
    error_is(requeue_pi(word, 1, 5, word + 1), EINVAL, "an ordinary waiter is not requeued");
    is(wake(word, 1), 1, "and is still there");
    pthread_join(t, NULL);
    start_to_requeue(&t, &j, 1, word, NULL);
    error_is(wake(word, 1), EINVAL, "one that waits to be requeued is not woken");
    error_is(futex(word, FUTEX_REQUEUE, 1, (void *)1L, word + 2, 0), EINVAL, "nor after that");
    error_is(futex(word, FUTEX_REQUEUE, 0, (void *)1L, word + 2, 0), EINVAL,
             "nor requeued as another");
    error_is(futex(word, FUTEX_WAKE_OP, 1, (void *)1L, word + 3, 0), EINVAL,
             "nor by FUTEX_WAKE_OP");
    error_is(requeue_pi(word, 1, 5, word + 2), EINVAL, "nor to another lock");
    word[1] = 0x3FFFFFF0;
    error_is(requeue_pi(word, 1, 5, word + 1), ESRCH, "nor to one of nobody");
    word[1] = j.tid;
    error_is(requeue_pi(word, 1, 5, word + 1), EDEADLK, "nor to its own");
    is(done(&j), 0, "it waits through all that");
    word[1] = 0;
    is(requeue_pi(word, 1, 0, word + 1), 1, "a free lock is given to it");
    pthread_join(t, NULL);
    is(j.result, 0, "and so it goes on");
    is(word[1], 0, "the lock is free");
}

static void test_requeue_pi(void)
{
    static uint32_t word[2];
    uint32_t *lock = &word[1];
    struct timespec soon;
    struct job j[5];
    pthread_t t[5];

    pi(lock, FUTEX_LOCK_PI, NULL);
    start_to_requeue(t, j, 5, word, NULL);
    is(requeue_pi(word, 1, 2, lock), 3, "three of five are requeued to a lock that is taken");
    is(*lock, own_tid() | FUTEX_WAITERS, "whose word says so");
    is(count_done(j, 5, 1), 0, "and nobody gets it");
    is(pi(lock, FUTEX_UNLOCK_PI, NULL), 0, "until it is given back");
    is(count_done(j, 5, 3), 3, "then it goes from one to the next");
    ok(done(&j[0]) && done(&j[1]) && done(&j[2]), "who are the oldest");
    is(requeue_pi(word, 1, INT_MAX, lock), 2, "the others get one that is free");
    join(t, 5);
    is(j[0].result | j[1].result | j[2].result | j[3].result | j[4].result, 0,
       "each had it when it went on");
    is(*lock, 0, "and it is free");

    pi(lock, FUTEX_LOCK_PI, NULL);
    for (long ms = 300, n = 0; n == 0; ms *= 2) { /* until both wait before their time ends */
        soon = after_ms(ms);
        start_to_requeue(t, j, 2, word, &soon);
        n = requeue_pi(word, 1, 0, lock);
        join(t, 2);
        if (n || ms > 60000) {
            is(n, 1, "one of two with a time is requeued");
            break;
        }
    }
    ok(j[0].result == -1 && j[0].error == ETIMEDOUT, "its time ends while it waits for the lock");
    ok(j[1].result == -1 && j[1].error == ETIMEDOUT, "that of the other before that");
    is(pi(lock, FUTEX_UNLOCK_PI, NULL), 0, "the lock is given back");
    is(*lock, 0, "to nobody");

    pi(lock, FUTEX_LOCK_PI, NULL);
    start_to_requeue(t, j, 2, word, NULL);
    pthread_kill(t[0], SIGUSR1);
    usleep(20000);
    is(count_done(j, 2, 1), 0, "a handler does not end the wait");
    is(requeue_pi(word, 1, INT_MAX, lock), 2, "both are requeued");
    pthread_kill(t[0], SIGUSR1);
    is(count_done(j, 2, 1), 1, "then a handler ends it");
    ok(j[0].result == -1 && j[0].error == EAGAIN, "with EAGAIN, as if it had come too late");
    pi(lock, FUTEX_UNLOCK_PI, NULL);
    join(t, 2);
    is(j[1].result, 0, "the other one gets the lock");
    is(*lock, 0, "which is free");
}

/* A condition of processes and threads: its word, its lock, and what the lock protects. */
#define MEETINGS 150u
static struct {
    uint32_t word, lock;
    unsigned inside, entries, clashes; /* of whoever has the lock */
    unsigned stop;                     /* atomic */
} *meeting;

static void meet_lock(void)
{
    uint32_t tid = own_tid(), none = 0;

    if (!__atomic_compare_exchange_n(&meeting->lock, &none, tid, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        while (pi(&meeting->lock, FUTEX_LOCK_PI, NULL) && errno != EDEADLK)
            if (errno != EAGAIN && errno != EINTR)
                abort();
}

static void meet_unlock(void)
{
    uint32_t tid = own_tid();

    if (!__atomic_compare_exchange_n(&meeting->lock, &tid, 0, 0, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
        if (pi(&meeting->lock, FUTEX_UNLOCK_PI, NULL))
            abort();
}

static void meet_inside(void)
{
    if (meeting->inside++)
        meeting->clashes++;
    meeting->entries++;
    sched_yield();
    meeting->inside--;
}

static void *meets(void *arg)
{
    struct timespec t;

    while (!__atomic_load_n(&meeting->stop, __ATOMIC_ACQUIRE)) {
        uint32_t v;

        meet_lock();
        v = __atomic_load_n(&meeting->word, __ATOMIC_ACQUIRE);
        meet_unlock();
        t = after_ms((v & 7) == 3 ? 1 : 20);
        if (futex(&meeting->word, FUTEX_WAIT_REQUEUE_PI, v, &t, &meeting->lock, 0))
            continue;
        meet_inside();
        meet_unlock();
    }
    return arg;
}

static void meet_all(unsigned nthreads)
{
    pthread_t t[8];

    for (unsigned k = 0; k < nthreads; k++)
        start(&t[k], meets, NULL);
    join(t, nthreads);
}

static void meet_call(void)
{
    long r;

    meet_lock();
    __atomic_fetch_add(&meeting->word, 1, __ATOMIC_RELEASE);
    r = requeue_pi(&meeting->word, 1, INT_MAX, &meeting->lock);
    if (r < 0)
        meeting->clashes += 1000;
    meet_inside();
    meet_unlock();
}

static void test_requeue_pi_crowd(void)
{
    int status, failed = 0;
    pid_t pid;

    meeting = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned k = 0; k < 2; k++)
        if (fork() == 0) {
            meet_all(5);
            _exit(0);
        }
    for (unsigned k = 0; k < MEETINGS; k++) {
        meet_call();
        usleep(k % 16 ? 500 : 5000);
    }
    __atomic_store_n(&meeting->stop, 1, __ATOMIC_RELEASE);
    for (unsigned k = 0; k < 2; k++) {
        wait(&status);
        failed |= status;
    }
    is(failed, 0, "ten threads of two processes wait at a condition");
    is(meeting->clashes, 0, "none has the lock while another has it");
    ok(meeting->entries > 2 * MEETINGS, "and they come in (%u)", meeting->entries);
    is(meeting->lock & ~FUTEX_WAITERS, 0, "in the end nobody has it");
    meeting->lock = 0;
    meeting->stop = 0;
    /* killed while they are moved, or with the lock: its word is mended by hand then */
    for (unsigned k = 0; k < 12; k++) {
        pid = fork();
        if (pid == 0) {
            meet_all(4);
            _exit(0);
        }
        usleep(20000 + 3000 * k);
        pi(&meeting->lock, FUTEX_LOCK_PI, NULL);
        meeting->word++;
        failed |= requeue_pi(&meeting->word, 1, k % 2 ? 1 : INT_MAX, &meeting->lock) < 0;
        kill(pid, SIGKILL);
        if (k % 3)
            usleep(1000 * k);
        pi(&meeting->lock, FUTEX_UNLOCK_PI, NULL);
        waitpid(pid, &status, 0);
        meeting->lock = 0;
        failed |= pi(&meeting->lock, FUTEX_LOCK_PI, NULL) != 0;
        failed |= pi(&meeting->lock, FUTEX_UNLOCK_PI, NULL) != 0;
        failed |= wake(&meeting->word, 1) != 0;
    }
    is(failed, 0, "processes are killed on their way to the lock, and nothing stays behind");
}

/* ---- membarrier ---- */

/* Two threads in Dekker's protocol, of which one has no barrier of its own. */
static struct {
    unsigned quick, slow, both, go, done, rounds;
} dekker; /* atomic */

static void *dekker_quick(void *arg)
{
    for (unsigned k = 1; k <= dekker.rounds; k++) {
        unsigned saw;

        while (__atomic_load_n(&dekker.go, __ATOMIC_ACQUIRE) < k)
            sched_yield();
        __atomic_store_n(&dekker.quick, k, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        saw = __atomic_load_n(&dekker.slow, __ATOMIC_RELAXED);
        __atomic_store_n(&dekker.both, saw >= k ? k : 0, __ATOMIC_RELAXED);
        __atomic_store_n(&dekker.done, k, __ATOMIC_RELEASE);
    }
    return arg;
}

static void test_membarrier(void)
{
    unsigned missed = 0;
    pthread_t t;

    is(syscall(SYS_membarrier, 0, 0, 0), 31, "membarrier tells what there is");
    error_is(syscall(SYS_membarrier, 8, 0, 0), EPERM, "private ones need a registration");
    error_is(syscall(SYS_membarrier, 0, 1, 0), EINVAL, "no flags");
    error_is(syscall(SYS_membarrier, 3, 0, 0), EINVAL, "one command at a time");
    error_is(syscall(SYS_membarrier, 64, 0, 0), EINVAL, "none for instructions");
    is(syscall(SYS_membarrier, 16, 0, 0), 0, "the registration");
    is(syscall(SYS_membarrier, 8, 0, 0), 0, "then a private barrier");
    is(syscall(SYS_membarrier, 1, 0, 0), 0, "a global one");
    is(syscall(SYS_membarrier, 4, 0, 0), 0, "a registration for others");
    is(syscall(SYS_membarrier, 2, 0, 0), 0, "a global one for those");
    dekker.rounds = 200;
    start(&t, dekker_quick, NULL);
    for (unsigned k = 1; k <= dekker.rounds; k++) {
        unsigned saw;

        __atomic_store_n(&dekker.go, k, __ATOMIC_RELEASE);
        __atomic_store_n(&dekker.slow, k, __ATOMIC_RELAXED);
        syscall(SYS_membarrier, 8, 0, 0);
        saw = __atomic_load_n(&dekker.quick, __ATOMIC_RELAXED);
        while (__atomic_load_n(&dekker.done, __ATOMIC_ACQUIRE) < k)
            sched_yield();
        missed += saw < k && __atomic_load_n(&dekker.both, __ATOMIC_RELAXED) != k;
    }
    pthread_join(t, NULL);
    is(missed, 0, "one of two threads sees what the other has stored");
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
    test_pi_errors();
    test_pi_mutex();
    test_pi_inherits();
    test_pi_deadlock();
    test_pi_death();
    test_requeue_pi_errors();
    test_requeue_pi();
    test_requeue_pi_crowd();
    test_membarrier();
    return tap_done();
}
