// SOURCES:
/*
 * The algorithm of the mutex, run by POSIX threads: writers exclude all others, readers share, no
 * thread sleeps forever (an alarm ends a hung test), and the word is 0 when all threads have ended.
 * Some threads are to end now and then: they leave a wait without the mutex, and no wake-up is lost
 * with them.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "kernel/sched/mutex_word.h"
#include "userland/lib/include/tap.h"

#define THREADS 8
#define ROUNDS  20000

#define KILLABLE 4 /* threads that are to end now and then, each with a CPU of its own */

static uint64_t word;
static struct wait_queue queue = WAIT_QUEUE_INIT("test", queue);
static int writers, readers;       /* inside; atomic */
static int broken, sharing, slept; /* atomic */
static int ended;                  /* threads; atomic */
static int left;                   /* waits that ended without the mutex; atomic */
static long counter;               /* protected by the mutex: a lost update shows in the sum */

/* False: the thread was to end and has left without the mutex. */
static bool write_once(unsigned flags)
{
    uint64_t open = 0;

    if (!mutex_word_cas(&word, &open, MUTEX_WRITER)) {
        __atomic_fetch_add(&slept, 1, __ATOMIC_RELAXED);
        if (mutex_word_lock_slow(&word, &queue, flags)) {
            __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
            return false;
        }
    }
    if (__atomic_fetch_add(&writers, 1, __ATOMIC_RELAXED) != 0 ||
        __atomic_load_n(&readers, __ATOMIC_RELAXED) != 0)
        __atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
    counter++;
    if (counter % 64 == 0)
        sched_yield();
    __atomic_fetch_sub(&writers, 1, __ATOMIC_RELAXED);
    mutex_word_unlock(&word, &queue);
    return true;
}

static void read_once(unsigned flags)
{
    if (!mutex_word_try_lock_shared(&word) && mutex_word_lock_shared_slow(&word, &queue, flags)) {
        __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
        return;
    }
    if (__atomic_fetch_add(&readers, 1, __ATOMIC_RELAXED) != 0)
        __atomic_store_n(&sharing, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&writers, __ATOMIC_RELAXED) != 0)
        __atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
    sched_yield();
    __atomic_fetch_sub(&readers, 1, __ATOMIC_RELAXED);
    mutex_word_unlock_shared(&word, &queue);
}

static void *run(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg;
    unsigned writes_of_8 = self % 4 == 3 ? 8 : self % 4; /* from a pure reader to a pure writer */
    long written = 0;

    host_cpu_id = self % KILLABLE;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned flags = self < KILLABLE ? WAIT_KILLABLE : WAIT_UNINTERRUPTIBLE;

        if (i % 8 < writes_of_8)
            written += write_once(flags);
        else
            read_once(flags);
    }
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
    return (void *)written;
}

int main(void)
{
    pthread_t t[THREADS];
    long written = 0;

    alarm(120);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, run, (void *)i);
    for (unsigned i = 0; __atomic_load_n(&ended, __ATOMIC_ACQUIRE) < THREADS; i++) {
        bool *killed = &host_killed[i % KILLABLE];

        __atomic_store_n(killed, !*killed, __ATOMIC_RELEASE);
        usleep(300);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *n;

        pthread_join(t[i], &n);
        written += (long)n;
    }
    is(broken, 0, "no other writer and no reader was inside with a writer");
    is(counter, written, "no write was lost");
    ok(sharing, "readers were inside together");
    ok(slept > 0, "%d writers found the mutex held", slept);
    ok(left > 0, "%d left without it, as they were to end", left);
    is(word, 0, "the word is 0 at the end");
    ok(list_empty(&queue.waiters), "and no thread waits");
    return tap_done();
}
