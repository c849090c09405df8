// TAP
// RUN: --smp 4
/* Queues with interlock: order, distances, condition values; many threads and processes. The unit
 * test of the same name, under ThreadSanitizer, includes this file. */
#include <lib$routines.h>
#include <libdef.h>
#include <pthread.h>
#include <ssdef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

struct item {
    int links[2] __attribute__((aligned(8)));
    int number;
};

struct wide_item {
    int64_t links[2] __attribute__((aligned(16)));
    int number;
};

/* What the library does between two attempts. */
static unsigned int yields;
int sched_yield(void)
{
    __atomic_fetch_add(&yields, 1, __ATOMIC_RELAXED);
    return 0;
}

static void order(void)
{
    struct item items[4] = {{{0}, 0}, {{0}, 1}, {{0}, 2}, {{0}, 3}}, *got;
    int header[2] __attribute__((aligned(8))) = {0};
    unsigned int once = 1;

    is(lib$remqhi(header, &got), LIB$_QUEWASEMP, "an empty queue");
    is((uintptr_t)got, (uintptr_t)header, "gives the address of the header");
    is(lib$insqti(&items[1], header), LIB$_ONEENTQUE, "the first entry");
    is(lib$insqti(&items[2], header), SS$_NORMAL, "one at the tail");
    is(lib$insqhi(&items[0], header), SS$_NORMAL, "one at the head");
    is(lib$insqti(&items[3], header), SS$_NORMAL, "one at the tail again");
    is((uintptr_t)header + (uintptr_t)(long)header[0], (uintptr_t)&items[0],
       "the header has the distance to the first");
    is((uintptr_t)header + (uintptr_t)(long)header[1], (uintptr_t)&items[3], "and to the last");
    is(lib$remqhi(header, &got), SS$_NORMAL, "one from the head");
    is(got->number, 0, "the first");
    is(lib$remqti(header, &got), SS$_NORMAL, "one from the tail");
    is(got->number, 3, "the last");
    is(lib$remqti(header, &got), SS$_NORMAL, "another from the tail");
    is(got->number, 2, "the one before");
    header[0] |= 1;
    is(lib$remqti(header, &got, &once), LIB$_SECINTFAI, "a queue that is held");
    is(lib$insqti(&items[0], header, &once), LIB$_SECINTFAI, "for insertion as well");
    is(yields, 0, "a retry count of 1 is one attempt");
    is(lib$remqti(header, &got), LIB$_SECINTFAI, "without a retry count");
    is(yields, 9, "there are ten");
    header[0] &= ~1;
    is(lib$remqhi(header, &got), LIB$_ONEENTQUE, "the last entry");
    is(got->number, 1, "the one left");
    ok(header[0] == 0 && header[1] == 0, "and the queue is empty");
    is(lib$insqhi((char *)items + 4, header), SS$_ROPRAND, "an entry that is not aligned");
    is(lib$insqhi(header, header), SS$_ROPRAND, "the header itself");
    is(lib$remqhi(header, 0), SS$_ROPRAND, "nowhere to put it");
}

static void wide(void)
{
    static struct wide_item near;
    struct wide_item *far = NULL, *got;
    int64_t header[2] __attribute__((aligned(16))) = {0};

    if (posix_memalign((void **)&far, 16, sizeof(*far)) != 0)
        bail_out("no memory");
    far->number = 1;
    near.number = 2;
    is(lib$insqhiq(far, header), LIB$_ONEENTQUE, "an entry far away");
    is(lib$insqtiq(&near, header), SS$_NORMAL, "another");
    is(lib$remqtiq(header, &got), SS$_NORMAL, "from the tail");
    is(got->number, 2, "the second");
    is(lib$remqhiq(header, &got), LIB$_ONEENTQUE, "from the head");
    is(got->number, 1, "the first");
    free(far);
}

enum { WORKERS = 4, ITEMS = 64, ROUNDS = 5000 };

/* In shared memory: workers take items from one queue and put them into the other. */
static struct shared {
    int from[2] __attribute__((aligned(8)));
    int to[2] __attribute__((aligned(8)));
    struct item items[ITEMS];
} *shared;

static const unsigned int patience = 1000000000;

static int move(int *from, int *to, int which)
{
    struct item *i;
    int status = which & 1 ? lib$remqhi(from, &i, &patience) : lib$remqti(from, &i, &patience);

    if (status == LIB$_QUEWASEMP)
        return 1;
    if (!(status & 1))
        return 0;
    i->number++;
    return (which & 2 ? lib$insqhi(i, to, &patience) : lib$insqti(i, to, &patience)) & 1;
}

static void *work(void *argument)
{
    long good = 1, self = (long)argument;

    for (int n = 0; n < ROUNDS; n++)
        good &= n & 1 ? move(shared->from, shared->to, n >> 1)
                      : move(shared->to, shared->from, (int)self + (n >> 1));
    return (void *)good;
}

/* Each item is in one queue, once; links lead back and forth. */
static int count(int *header)
{
    char *at = (char *)header + header[0], *before = (char *)header;
    int n = 0;

    while (at != (char *)header && n <= ITEMS) {
        int *links = (int *)at;

        if (at + links[1] != before)
            return -1;
        before = at;
        at += links[0];
        n++;
    }
    return (char *)header + header[1] == before ? n : -1;
}

static void crowd(void)
{
    pthread_t threads[WORKERS];
    void *good;
    int status, a, b;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ITEMS; i++)
        lib$insqti(&shared->items[i], i & 1 ? shared->from : shared->to);
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], &good);
        ok(good, "thread %d", i);
    }
    a = count(shared->from);
    b = count(shared->to);
    ok(a >= 0 && b >= 0 && a + b == ITEMS, "no item lost by threads: %d and %d", a, b);
    for (long i = 0; i < WORKERS; i++)
        if (fork() == 0)
            _exit(work((void *)i) ? 0 : 1);
    for (int i = 0; i < WORKERS; i++) {
        wait(&status);
        is(status, 0, "a process");
    }
    a = count(shared->from);
    b = count(shared->to);
    ok(a >= 0 && b >= 0 && a + b == ITEMS, "no item lost by processes: %d and %d", a, b);
}

int main(void)
{
    order();
    wide();
    crowd();
    return tap_done();
}
