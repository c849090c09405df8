// TAP
// RUN: -m 512M --smp 4
// ARGS: 4
// SECONDS: 60
/*
 * ASTs, event flags, timers and signals under load: processes of several threads each, which
 * declare ASTs, pass turns by flags, set and cancel timers and send signals, all at the same time.
 * Each AST has a number of its own: none is lost, delivered twice or nested in another, those of
 * one thread keep their order, no wait is forgotten, and no flag of another process changes.
 *
 * Declarers are four and the thread that takes ASTs is one, so it may find no instruction of its
 * own between them, as on OpenVMS, for as long as they declare. So all threads wait for one flag,
 * and setting it is the last thing that the first thread does before the load and has to do for
 * it: the clock, the progress of all kinds and the end are watched by another thread.
 *
 * `ast_load SECONDS [PROCESSES]`, also parts of a second. It ends with the sums of all processes.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <efndef.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 16
#define DECLARERS     4
#define PAIRS         2     /* of threads that pass a turn */
#define QUIET_MS      20000 /* at most, until what was sent has come, or has begun to come */
#define GO            48    /* the flag that all threads wait for */

static struct sums { /* of one process, in shared memory */
    unsigned long declared, delivered, lost, nested, disordered, elsewhere;
    unsigned long turns, timers, fired, after_cancel, signals, taken, common;
} *all;

static struct sums *mine;
static volatile int stop, inside;
static unsigned long next_of[DECLARERS];
static pthread_t first_thread;
static volatile sig_atomic_t handled;

static void nap(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- ASTs ---- */

/* The parameter: who has declared it in the upper half, its number in the lower. */
static void delivered(__int64 parameter)
{
    unsigned who = (unsigned)((unsigned long)parameter >> 32);
    unsigned long number = (unsigned long)parameter & 0xFFFFFFFF;

    mine->nested += inside != 0;
    inside = 1;
    mine->elsewhere += !pthread_equal(pthread_self(), first_thread);
    mine->disordered += number != next_of[who];
    next_of[who] = number + 1;
    mine->delivered++;
    for (volatile int i = 0; i < 50; i++)
        ;
    inside = 0;
}

static void *declare(void *arg)
{
    unsigned long who = (unsigned long)arg, n = 0;

    sys$waitfr(GO);
    while (!stop) {
        int status = sys$dclast(delivered, who << 32 | n, 0);

        if (status == SS$_NORMAL)
            n++;
        else if (status == SS$_EXQUOTA)
            sched_yield();
        else
            break;
    }
    __atomic_fetch_add(&mine->declared, n, __ATOMIC_SEQ_CST);
    return NULL;
}

/* ---- flags ---- */

/* Pass a turn between two threads by two local flags of their own. */
static void *turns(void *arg)
{
    unsigned long k = (unsigned long)arg;
    unsigned me = 32 + (unsigned)k, other = 32 + (unsigned)(k ^ 1);

    sys$waitfr(GO);
    for (;;) {
        sys$waitfr(me);
        sys$clref(me);
        if (stop) {
            sys$setef(other);
            break;
        }
        __atomic_fetch_add(&mine->turns, 1, __ATOMIC_SEQ_CST);
        sys$setef(other);
    }
    return NULL;
}

/* A ring of all processes: each waits for its flag of the common cluster and sets the next. */
static unsigned ring_me, ring_next;
static void *ring(void *arg)
{
    (void)arg;
    sys$waitfr(GO);
    for (;;) {
        sys$waitfr(64 + ring_me);
        sys$clref(64 + ring_me);
        sys$setef(64 + ring_next);
        if (stop)
            break;
        __atomic_fetch_add(&mine->common, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* ---- timers ---- */

static void fired(__int64 parameter)
{
    mine->nested += inside != 0;
    inside = 1;
    mine->fired++;
    *(volatile int *)parameter = 1;
    inside = 0;
}

/* Set a timer; declarers may have used up the ASTs of the process for a moment. */
static int set_timer(unsigned efn, long when, volatile int *told)
{
    int status;

    while ((status = sys$setimr(efn, &when, fired, (unsigned long)told, 0)) == SS$_EXQUOTA && !stop)
        sched_yield();
    return status == SS$_NORMAL;
}

/* Timers that are left to expire, and timers that are cancelled. */
static void *timers(void *arg)
{
    static volatile int kept, cancelled;

    (void)arg;
    sys$waitfr(GO);
    while (!stop) {
        kept = cancelled = 0;
        if (set_timer(EFN$C_ENF, -600000000, &cancelled))
            sys$cantim((unsigned long)&cancelled, 0);
        if (!set_timer(40, -1000 - (long)(mine->timers % 7) * 500, &kept))
            break;
        __atomic_fetch_add(&mine->timers, 1, __ATOMIC_SEQ_CST);
        sys$waitfr(40);
        while (!kept)
            nap(100);
        mine->after_cancel += cancelled != 0;
    }
    return NULL;
}

/* ---- signals ---- */

static void on_signal(int sig)
{
    (void)sig;
    handled++;
}

/* Has the process of these sums done something of each kind? */
static int busy(const struct sums *s)
{
    const volatile struct sums *p = s; /* other threads count */

    return p->delivered && p->turns && p->timers && p->signals && p->common;
}

/* Queued signals to the first thread, amid its ASTs, for so long, and until all kinds have made
 * progress, which takes longer on a slow kernel with many processes for each CPU. */
static void *signals(void *arg)
{
    long until;

    sys$waitfr(GO);
    until = now_ms() + (long)arg;
    while (now_ms() < until || (!busy(mine) && now_ms() < until + QUIET_MS)) {
        if (pthread_sigqueue(first_thread, SIGRTMIN, (union sigval){0}) == 0)
            mine->signals++;
        nap(300);
    }
    stop = 1;
    sys$wake(NULL, NULL);
    return NULL;
}

/* ---- a process ---- */

static void process(unsigned k, unsigned count, long ms)
{
    $DESCRIPTOR(name, "LOAD");
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t t[DECLARERS + 2 * PAIRS + 3];
    long until;
    unsigned n = 0;

    mine = &all[k];
    first_thread = pthread_self();
    ring_me = k;
    ring_next = (k + 1) % count;
    sigaction(SIGRTMIN, &act, NULL);
    if (sys$ascefc(64, &name, 0, 0) != SS$_NORMAL)
        _exit(2);
    for (unsigned long i = 0; i < DECLARERS; i++)
        pthread_create(&t[n++], NULL, declare, (void *)i);
    for (unsigned long i = 0; i < 2UL * PAIRS; i++)
        pthread_create(&t[n++], NULL, turns, (void *)i);
    pthread_create(&t[n++], NULL, timers, NULL);
    pthread_create(&t[n++], NULL, signals, (void *)ms);
    pthread_create(&t[n++], NULL, ring, NULL);
    for (unsigned i = 0; i < PAIRS; i++)
        sys$setef(32 + 2 * i);
    if (k == 0)
        sys$setef(64);
    sys$setef(GO);
    while (!stop)
        sys$hiber();
    sys$setef(64 + ring_me); /* the ring may have stopped already */
    for (unsigned i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    for (until = now_ms() + QUIET_MS; now_ms() < until;) {
        if (mine->delivered == mine->declared && (unsigned long)handled == mine->signals)
            break;
        nap(1000);
    }
    mine->taken = (unsigned long)handled;
    mine->lost = mine->declared - mine->delivered;
    _exit(0);
}

int main(int argc, char **argv)
{
    long ms = argc > 1 ? (long)(atof(argv[1]) * 1000) : 4000;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    struct sums s = {0};
    int ends = 0, idle = 0, status;

    count = count > PROCESSES_MAX ? PROCESSES_MAX : count;
    all = mmap(NULL, sizeof(*all) * PROCESSES_MAX, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(stdout);
    for (unsigned k = 0; k < count; k++)
        if (fork() == 0)
            process(k, count, ms);
    while (wait(&status) > 0)
        ends += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (unsigned k = 0; k < count; k++) {
        const struct sums *p = &all[k];

        idle += !busy(p);
        s.declared += p->declared;
        s.delivered += p->delivered;
        s.lost += p->lost;
        s.nested += p->nested;
        s.disordered += p->disordered;
        s.elsewhere += p->elsewhere;
        s.turns += p->turns;
        s.timers += p->timers;
        s.fired += p->fired;
        s.after_cancel += p->after_cancel;
        s.signals += p->signals;
        s.taken += p->taken;
        s.common += p->common;
    }
    diag("%lu ASTs, %lu turns by local flags, %lu by common ones, %lu timers, %lu signals",
         s.delivered, s.turns, s.common, s.timers, s.signals);
    is(ends, (int)count, "all processes end");
    is(idle, 0, "each has done something of each kind, in its turn of the ring too");
    is(s.lost, 0, "no AST is lost or delivered twice");
    is(s.nested, 0, "none is nested in another one");
    is(s.disordered, 0, "those of one thread keep their order");
    is(s.elsewhere, 0, "all are delivered to the first thread");
    is(s.fired, s.timers, "each timer that is not cancelled expires once");
    is(s.after_cancel, 0, "no cancelled one does");
    is(s.taken, s.signals, "each signal is handled once");
    return tap_done();
}
