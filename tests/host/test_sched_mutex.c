// SOURCES:
/*
 * The algorithm of the mutex, run by POSIX threads: writers exclude all others, readers share, no
 * thread sleeps forever (an alarm ends a hung test), and the word is 0 when all threads have ended.
 * Some threads are to end now and then: they leave a wait without the mutex, and no wake-up is lost
 * with them. Who waits is overtaken a bounded number of times by one that takes the mutex again and
 * again; and users take turns, however many threads one of them has in the queue.
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

/* ---- who waits is not overtaken for ever ---- */

static void *wait_once(void *arg)
{
    mutex_word_lock_slow(&word, &queue, WAIT_UNINTERRUPTIBLE);
    mutex_word_unlock(&word, &queue);
    return arg;
}

/* A thread waits; each time it sleeps, or sleeps again, do as a release does, but take the mutex
 * anew before it is woken, if that is possible. */
static void overtake(void)
{
    unsigned overtaken = 0;
    bool held = true;
    pthread_t t;

    word = MUTEX_WRITER;
    pthread_create(&t, NULL, wait_once, NULL);
    while (held && overtaken < 20) {
        while (!(__atomic_load_n(&word, __ATOMIC_ACQUIRE) & MUTEX_WAITERS))
            usleep(100);
        __atomic_store_n(&word, mutex_word_left(word), __ATOMIC_RELEASE);
        held = mutex_word_try_lock(&word);
        overtaken += held;
        turn_wake(&queue);
    }
    if (held)
        mutex_word_unlock(&word, &queue);
    pthread_join(t, NULL);
    is(overtaken, MUTEX_LOSSES, "who waits is overtaken twice by one that came later");
}

/* ---- turns ---- */

#define CROWD 100u

/* A user with a crowd before those of two others, some of whom have left: who comes when? */
static void take_turns(void)
{
    static const char users[3];
    struct turn crowd[CROWD], one, two[2], back, *t;
    struct list leaders = LIST_INIT(leaders);
    unsigned before_one = 0, before_two = 0, n = 0, order = 0;

    for (unsigned i = 0; i < CROWD; i++)
        turn_join(&leaders, &crowd[i], &users[0]);
    turn_join(&leaders, &one, &users[1]);
    turn_join(&leaders, &two[0], &users[2]);
    turn_join(&leaders, &two[1], &users[2]);
    turn_leave(&crowd[0]); /* a leader, and one of its crowd */
    turn_leave(&crowd[50]);
    turn_leave(&two[0]);
    turn_join_first(&leaders, &back);
    is(list_length(&leaders), 4, "each user has one turn in the queue, and who came back its own");
    ok(turn_take(&leaders) == &back, "who was woken too late is the first");
    for (unsigned last = 0; (t = turn_take(&leaders)) != NULL; n++) {
        if (t == &one)
            before_one = n;
        else if (t == &two[1])
            before_two = n;
        else
            order += (unsigned)(t - crowd) > last, last = (unsigned)(t - crowd);
    }
    is(n, CROWD - 2 + 2, "nobody is lost who waits");
    is(order, CROWD - 2, "the threads of a user in their order");
    is(before_one, 1, "a single thread waits for one of a crowd that came before it");
    is(before_two, 2, "as does that of a third user, and for the other single one");
}

/* More users than are compared: each is served all the same. */
static void many_users(void)
{
    static const char users[4 * TURN_USERS];
    struct turn turns[ARRAY_SIZE(users)][2], *t;
    struct list leaders = LIST_INIT(leaders);
    unsigned n = 0, second = 0;

    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < ARRAY_SIZE(users); i++)
            turn_join(&leaders, &turns[i][k], &users[i]);
    while ((t = turn_take(&leaders)) != NULL && ++n)
        second += n <= ARRAY_SIZE(users) && (t - turns[0]) % 2;
    is(n, 2 * ARRAY_SIZE(users), "many users are served");
    is(second, 0, "each once before any a second time");
}

int main(void)
{
    pthread_t t[THREADS];
    long written = 0;

    alarm(120);
    take_turns();
    many_users();
    overtake();
    for (unsigned i = 0; i < KILLABLE; i++)
        host_user[i] = &host_user[i / 2];
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
