// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * $SETIMR, $CANTIM, $SCHDWK, $CANWAK, $HIBER, $WAKE and LIB$WAIT: when timers expire, what they set
 * and call, how they are cancelled; wake-ups by other processes, which are remembered; limits.
 */
#include <descrip.h>
#include <efndef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <libwaitdef.h>
#include <megalith/creds.h>
#include <pthread.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define MS 10000L /* units of 100 ns */

static volatile int calls;
static volatile long last;

static void note(__int64 parameter)
{
    calls++;
    last = parameter;
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&t, &t) != 0)
        ;
}

static int child_result(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- timers ---- */

static void expire(void)
{
    __int64 when = -50 * MS, time;
    long begin = now_ms(), took;
    unsigned flags;

    sys$setef(1);
    is_status(sys$setimr(1, &when, 0, 0, 0), SS$_NORMAL, "a timer is set");
    ok(sys$readef(1, &flags) == SS$_WASCLR || now_ms() - begin >= 49, "which clears its flag");
    is_status(sys$waitfr(1), SS$_NORMAL, "it expires");
    took = now_ms() - begin;
    ok(took >= 49, "not too early: after %ld ms", took);
    begin = now_ms();
    sys$gettim(&time);
    time += 50 * MS;
    is_status(sys$setimr(2, &time, 0, 0, 0), SS$_NORMAL, "one for a time of day");
    sys$waitfr(2);
    took = now_ms() - begin;
    ok(took >= 48, "expires then: after %ld ms", took);
    time -= 3600 * 1000 * MS;
    begin = now_ms();
    sys$setimr(3, &time, note, 5, 0);
    sys$waitfr(3);
    ok(now_ms() - begin < 1000, "one for an hour ago is due at once");
    while (!calls)
        nap(1);
    is(last, 5, "its AST has the identification as its parameter");
    time = 1;
    is_status(sys$setimr(4, &time, 0, 0, 0), SS$_NORMAL, "1858 is a time");
    is_status(sys$waitfr(4), SS$_NORMAL, "that has passed");
    time = INT64_MIN;
    is_status(sys$setimr(4, &time, 0, 9, 0), SS$_NORMAL, "29,000 years are an interval");
    time = INT64_MAX;
    is_status(sys$setimr(4, &time, 0, 9, 0), SS$_NORMAL, "so is the end of time");
    is_status(sys$cantim(9, 0), SS$_NORMAL, "both are cancelled");
    is_status(sys$clref(4), SS$_WASCLR, "before that");
}

static void refused(void)
{
    __int64 when = -MS;

    is_status(sys$setimr(64, &when, 0, 0, 0), SS$_UNASEFC, "a flag of no cluster");
    is_status(sys$setimr(130, &when, 0, 0, 0), SS$_ILLEFC, "no flag");
    is_status(sys$setimr(1, NULL, 0, 0, 0), SS$_ACCVIO, "no time");
    is_status(sys$setimr(1, &when, 0, 0, 2), SS$_BADPARAM, "an unknown flag");
    when = MS;
    is_status(sys$setimr(1, &when, 0, 0, 1), SS$_IVTIME, "CPU time is no time of day");
    is_status(sys$cantim(0, 9), SS$_IVACMODE, "an access mode that does not exist");
}

static long cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void compute(long ms)
{
    for (long end = cpu_ms() + ms; cpu_ms() < end;)
        for (volatile int i = 0; i < 1000; i++)
            ;
}

static unsigned is_set(unsigned efn)
{
    unsigned flags = 0;

    return sys$readef(efn, &flags) == SS$_WASSET;
}

static void *computing(void *arg)
{
    compute((long)arg);
    return NULL;
}

/* Timers of CPU time (flag 1): of all threads, not of time that passes. */
static void cpu_time(void)
{
    __int64 soon = -40 * MS, later = -120 * MS, never = -3600 * 1000 * MS;
    long begin = cpu_ms();
    pthread_t thread;

    calls = 0;
    is_status(sys$setimr(5, &later, note, 3, 1), SS$_NORMAL, "a timer of CPU time");
    is_status(sys$setimr(6, &soon, note, 2, 1), SS$_NORMAL, "one that is due earlier");
    is_status(sys$setimr(7, &never, note, 4, 1), SS$_NORMAL, "one for an hour");
    nap(200);
    ok(!is_set(6) && calls == 0, "none expires while the process waits");
    while (!is_set(6))
        compute(1);
    ok(cpu_ms() - begin >= 39, "the second one expires after %ld ms of CPU time", cpu_ms() - begin);
    ok(!is_set(5) || cpu_ms() - begin >= 119, "the first one not yet");
    for (int i = 0; i < 100 && !calls; i++)
        compute(1);
    ok(calls >= 1, "with its AST");
    pthread_create(&thread, NULL, computing, (void *)150);
    pthread_join(thread, NULL);
    ok(is_set(5), "another thread's time counts, too");
    sys$setimr(5, &soon, note, 5, 1);
    sys$cantim(5, 0);
    calls = 0;
    compute(80);
    ok(!is_set(5) && calls == 0, "one that is cancelled does not expire");
    is_status(sys$cantim(0, 0), SS$_NORMAL, "all are cancelled");
}

/* Cancel timers of 30 ms with the identification `id` (0: all) after `set` has set them; again, if
 * a busy host let them expire before. */
static void cancel_in_time(void (*set)(void), unsigned long id, const char *what)
{
    int status;
    long begin;

    for (;;) {
        calls = 0;
        sys$clref(10);
        sys$clref(11);
        begin = now_ms();
        set();
        status = sys$cantim(id, 0);
        if (now_ms() - begin < 30)
            break;
        nap(80); /* until all have expired */
    }
    is_status(status, SS$_NORMAL, "%s", what);
    nap(80);
}

static void set_three(void)
{
    __int64 soon = -30 * MS;

    sys$setimr(10, &soon, note, 100, 0);
    sys$setimr(11, &soon, note, 200, 0);
    sys$setimr(11, &soon, note, 100, 0);
}

static void set_two(void)
{
    __int64 soon = -30 * MS;

    sys$setimr(10, &soon, note, 1, 0);
    sys$setimr(10, &soon, note, 2, 0);
}

static void cancel(void)
{
    cancel_in_time(set_three, 100, "two of three timers are cancelled");
    is(calls, 1, "one is left");
    is(last, 200, "the other one");
    is_status(sys$clref(10), SS$_WASCLR, "no flag is set by what was cancelled");
    cancel_in_time(set_two, 0, "0 cancels all");
    is(calls, 0, "none comes");
    is_status(sys$cantim(0, 0), SS$_NORMAL, "which is no error when there are none");
}

/* Timers that expire while they are cancelled, again and again: each comes or does not, and nothing
 * is left of it. */
static void cancel_race(void)
{
    int set = 0, failed = 0;

    calls = 0;
    for (int i = 0; i < 2000; i++) {
        __int64 soon = -(i % 100) * 10;

        failed += sys$setimr(12, &soon, note, 7, 0) != SS$_NORMAL;
        set++;
        for (volatile int k = 0; k < i % 37 * 20; k++)
            ;
        sys$cantim(7, 0);
    }
    is(failed, 0, "2,000 timers are set");
    ok(calls <= set, "%d of them come before they are cancelled", calls);
}

static void limits(void)
{
    __int64 late = -3600 * 1000 * MS;
    $DESCRIPTOR(name, "CHARGED");
    int n = 0, status;

    while ((status = sys$setimr(EFN$C_ENF, &late, 0, 3, 0)) == SS$_NORMAL && n < 100000)
        n++;
    is_status(status, SS$_EXQUOTA, "no more timers than the limit");
    is(n, 64, "which is PQL_DTQELM");
    is_status(sys$ascefc(64, &name, 0, 0), SS$_EXQUOTA, "a temporary cluster counts too");
    sys$cantim(3, 0);
    is_status(sys$ascefc(64, &name, 0, 0), SS$_NORMAL, "when they are cancelled there is room");
    sys$dacefc(64);
    n = 0;
    while ((status = sys$schdwk(NULL, NULL, &late, NULL)) == SS$_NORMAL && n < 100000)
        n++;
    is_status(status, SS$_EXQUOTA, "scheduled wake-ups are limited as ASTs");
    is(n, 250, "by PQL_DASTLM");
    is_status(sys$canwak(NULL, NULL), SS$_NORMAL, "all are cancelled");
    is_status(sys$schdwk(NULL, NULL, &late, NULL), SS$_NORMAL, "and there is room");
    sys$canwak(NULL, NULL);
}

/* ---- hibernation ---- */

static void hibernate(void)
{
    __int64 soon = -30 * MS, every = -20 * MS, positive = 20 * MS, past;
    long begin;

    is_status(sys$wake(NULL, NULL), SS$_NORMAL, "a process wakes itself");
    is_status(sys$hiber(), SS$_NORMAL, "which it remembers");
    begin = now_ms();
    is_status(sys$schdwk(NULL, NULL, &soon, NULL), SS$_NORMAL, "a wake-up is scheduled");
    is_status(sys$hiber(), SS$_NORMAL, "and comes");
    ok(now_ms() - begin >= 29, "after %ld ms", now_ms() - begin);
    begin = now_ms();
    is_status(sys$schdwk(NULL, NULL, &every, &every), SS$_NORMAL, "one every 20 ms");
    for (int i = 0; i < 4; i++)
        sys$hiber();
    ok(now_ms() - begin >= 60, "four take %ld ms", now_ms() - begin);
    is_status(sys$canwak(NULL, NULL), SS$_NORMAL, "it is cancelled");
    sys$schdwk(NULL, NULL, &soon, NULL);
    sys$hiber();
    begin = now_ms();
    sys$schdwk(NULL, NULL, &(__int64){-100 * MS}, NULL);
    sys$hiber(); /* perhaps one that had come before it was cancelled */
    ok(now_ms() - begin < 5000, "it does not come any more, others do");
    sys$canwak(NULL, NULL);
    sys$gettim(&past);
    past -= 10000 * MS;
    is_status(sys$schdwk(NULL, NULL, &past, &every), SS$_IVTIME,
              "a time of day that has passed, and its repetition, too");
    is_status(sys$schdwk(NULL, NULL, &past, &(__int64){-20000 * MS}), SS$_NORMAL,
              "one whose repetition is to come");
    sys$hiber();
    sys$canwak(NULL, NULL);
    is_status(sys$schdwk(NULL, NULL, &past, NULL), SS$_NORMAL, "or that has none");
    sys$hiber();
    is_status(sys$schdwk(NULL, NULL, &soon, &positive), SS$_IVTIME, "a repetition is a delta time");
    is_status(sys$schdwk(NULL, NULL, NULL, NULL), SS$_ACCVIO, "a time is needed");
}

static void wake_me(__int64 parameter)
{
    calls++;
    if (parameter)
        sys$wake(NULL, NULL);
}

static void ast_amid(void)
{
    __int64 first = -20 * MS, second = -60 * MS;
    long begin = now_ms();

    /* $CANWAK leaves a wake-up that has come already: use it up. */
    sys$wake(NULL, NULL);
    sys$hiber();
    calls = 0;
    sys$setimr(EFN$C_ENF, &first, wake_me, 0, 0);
    sys$setimr(EFN$C_ENF, &second, wake_me, 1, 0);
    is_status(sys$hiber(), SS$_NORMAL, "a process hibernates until an AST routine wakes it");
    is(calls, 2, "not until the first AST");
    ok(now_ms() - begin >= 59, "after %ld ms", now_ms() - begin);
}

/* ---- other processes ---- */

static int become(struct mega_creds c)
{
    return mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
}

static void others(void)
{
    $DESCRIPTOR(name, "sleeper");
    $DESCRIPTOR(nobody, "nobody_here");
    $DESCRIPTOR(longer, "a_name_that_is_too_long");
    unsigned pid, none = 0;
    int named[2], woken[2];
    char byte;
    pid_t child;

    if (pipe(named) != 0 || pipe(woken) != 0 || (child = fork()) < 0)
        bail_out("no child");
    if (child == 0) {
        prctl(PR_SET_NAME, "sleeper");
        close(named[1]);
        for (int i = 0; i < 3; i++) {
            sys$hiber();
            write(woken[1], "", 1);
        }
        _exit(0);
    }
    close(named[1]);
    read(named[0], &byte, 1);
    close(named[0]);
    pid = (unsigned)child;
    is_status(sys$wake(&pid, NULL), SS$_NORMAL, "another process is woken, by number");
    read(woken[0], &byte, 1);
    is_status(sys$wake(&none, &name), SS$_NORMAL, "by name");
    is(none, (unsigned)child, "whose number is returned");
    read(woken[0], &byte, 1);
    is_status(sys$schdwk(&pid, NULL, &(__int64){-MS}, NULL), SS$_NORMAL, "and by a timer");
    is(child_result(child), 0, "three times");
    close(woken[0]);
    close(woken[1]);
    is_status(sys$wake(&pid, NULL), SS$_NONEXPR, "then it is gone");
    is_status(sys$canwak(&pid, NULL), SS$_NONEXPR, "for all");
    is_status(sys$schdwk(&pid, NULL, &(__int64){-MS}, NULL), SS$_NONEXPR, "of the services");
    none = 0;
    is_status(sys$wake(&none, &nobody), SS$_NONEXPR, "nobody has that name");
    is_status(sys$wake(&none, &longer), SS$_IVLOGNAM, "nor can one have a longer one");
    is_status(sys$canwak(&none, &longer), SS$_IVLOGNAM, "in none of the services");
    is_status(sys$schdwk(&none, &longer, &(__int64){-MS}, NULL), SS$_IVLOGNAM, "on processes");
    is_status(sys$wake((unsigned *)8, NULL), SS$_ACCVIO, "a number is read");
    is_status(sys$canwak((unsigned *)8, NULL), SS$_ACCVIO, "here too");
    child = fork();
    if (child == 0) {
        unsigned parent = (unsigned)getppid();
        int failed = become((struct mega_creds){.uic_group = 310, .uic_member = 1}) != SS$_NORMAL;

        failed += !status_is(sys$wake(&parent, NULL), SS$_NOPRIV);
        failed += !status_is(sys$canwak(&parent, NULL), SS$_NOPRIV);
        failed += !status_is(sys$schdwk(&parent, NULL, &(__int64){-MS}, NULL), SS$_NOPRIV);
        _exit(failed);
    }
    is(child_result(child), 0, "a process of another user is not woken");
}

/* Processes end with timers that are about to expire; wake-ups of processes that end. */
static void ends(void)
{
    int failed = 0;

    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        unsigned pid = (unsigned)child;

        if (child == 0) {
            for (int k = 0; k < 20; k++)
                sys$setimr(1, &(__int64){-k * 100}, note, 1, 0);
            _exit(0);
        }
        for (int k = 0; k < 5; k++) {
            int status = sys$schdwk(&pid, NULL, &(__int64){-2000}, &(__int64){-MS});

            failed += status != SS$_NORMAL && status != SS$_NONEXPR;
        }
        failed += child_result(child) != 0;
    }
    is(failed, 0, "processes end with timers and wake-ups under way");
}

/* A new program has none of the timers and ASTs of the former one. */
static void after_exec(char *self)
{
    pid_t pid = fork();

    if (pid == 0) {
        sys$setef(50);
        sys$setast(0);
        sys$dclast(note, 1, 0);
        sys$setimr(51, &(__int64){-200 * MS}, note, 1, 0);
        sys$wake(NULL, NULL);
        execl(self, self, "second", NULL);
        _exit(1);
    }
    is(child_result(pid), 0, "exec drops timers and ASTs, and keeps local flags and a wake-up");
}

static int second_program(void)
{
    int failed = sys$setast(1) != SS$_WASSET;

    nap(250);
    failed += sys$clref(50) != SS$_WASSET;
    failed += sys$clref(51) != SS$_WASCLR;
    failed += sys$hiber() != SS$_NORMAL;
    return failed;
}

/* ---- LIB$ ---- */

/* LIB$WAIT with its optional arguments. */
static int wait_for(const void *seconds, unsigned flags, unsigned type)
{
    return lib$wait(seconds, &flags, &type);
}

static void library(void)
{
    float seconds = 0.1F, negative = -1, too_long = 100001;
    double moment = 0.02;
    long begin = now_ms();
    int efn, first = 0, n = 0, status;

    calls = 0;
    sys$setimr(EFN$C_ENF, &(__int64){-20 * MS}, note, 1, 0);
    is_status(lib$wait(&seconds), SS$_NORMAL, "LIB$WAIT");
    ok(now_ms() - begin >= 99, "waits, after an AST too: %ld ms", now_ms() - begin);
    is(calls, 1, "which is delivered meanwhile");
    is_status(lib$wait(&negative), LIB$_INVARG, "not for a negative time");
    is_status(lib$wait(&too_long), LIB$_INVARG, "nor for more than 100,000 seconds");
    is_status(wait_for(&seconds, LIB$K_NOWAKE, LIB$K_IEEE_S), SS$_NORMAL, "a float of IEEE");
    begin = now_ms();
    is_status(wait_for(&moment, 0, LIB$K_IEEE_T), SS$_NORMAL, "a double");
    ok(now_ms() - begin >= 19, "which is read as one: %ld ms", now_ms() - begin);
    is_status(wait_for(&moment, 0, LIB$K_VAX_H), LIB$_INVARG, "no number of 16 bytes");
    is_status(wait_for(&seconds, 2, LIB$K_IEEE_S), LIB$_INVARG, "no unknown flag");
    while ((status = lib$get_ef(&efn)) == SS$_NORMAL && n < 1000) {
        first = first ? first : efn;
        n++;
    }
    is_status(status, LIB$_INSEF, "LIB$GET_EF gives flags until there are no more");
    is(efn, -1, "which it says in the number too");
    is(first, 63, "from 63 down");
    is(n, 32, "those of cluster 1");
    efn = 40;
    is_status(lib$free_ef(&efn), SS$_NORMAL, "one is freed");
    is_status(lib$free_ef(&efn), LIB$_EF_ALRFRE, "once");
    is_status(lib$reserve_ef(&efn), SS$_NORMAL, "and reserved");
    is_status(lib$reserve_ef(&efn), LIB$_EF_ALRRES, "once");
    efn = 23;
    is_status(lib$free_ef(&efn), SS$_NORMAL, "flags 1 to 23 can be freed");
    efn = 24;
    is_status(lib$free_ef(&efn), LIB$_EF_RESSYS, "24 is the system's");
    efn = 0;
    is_status(lib$reserve_ef(&efn), LIB$_EF_RESSYS, "so is 0");
    efn = 64;
    is_status(lib$reserve_ef(&efn), LIB$_EF_RESSYS, "and 64 is no local flag");
    is_status(lib$get_ef(&efn), SS$_NORMAL, "23 is free");
    is(efn, 23, "and given");
}

/* ---- the end of a program ---- */

static int end_pipe[2];
static int end_status;
static int at_end(const int *status, long tag)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%ld:%d;", tag, *status);

    write(end_pipe[1], text, (size_t)n);
    return SS$_NORMAL;
}

struct block {
    void *link;
    int (*handler)(const int *, long);
    unsigned count;
    int *status;
    long tag;
};

static void told(int how, const char *want, int exit_status, const char *what)
{
    struct block b[3];
    char got[100] = "";
    ssize_t n;
    pid_t pid;

    pipe(end_pipe);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 3; i++) {
            b[i] = (struct block){.handler = at_end, .count = 2, .status = &end_status, .tag = i};
            if (sys$dclexh(&b[i]) != SS$_NORMAL)
                _exit(99);
        }
        if (sys$canexh(&b[1]) != SS$_NORMAL || sys$canexh(&b[1]) != SS$_NOHANDLER)
            _exit(98);
        if (how == 0)
            sys$exit(SS$_ACCVIO);
        else if (how == 1)
            sys$exit(SS$_NORMAL);
        else if (how == 2)
            exit(0);
        sys$canexh(NULL);
        exit(0);
    }
    close(end_pipe[1]);
    is(child_result(pid), exit_status, "%s: exit status", what);
    n = read(end_pipe[0], got, sizeof(got) - 1);
    got[n > 0 ? n : 0] = '\0';
    close(end_pipe[0]);
    is_str(got, want, "%s: handlers, the last one first", what);
}

static void exits(void)
{
    told(0, "2:12;0:12;", 4, "$EXIT with SS$_ACCVIO");
    told(1, "2:1;0:1;", 0, "$EXIT with SS$_NORMAL");
    told(2, "2:1;0:1;", 0, "exit(0)");
    told(3, "", 0, "all handlers cancelled");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return second_program();
    expire();
    refused();
    cpu_time();
    cancel();
    cancel_race();
    limits();
    hibernate();
    ast_amid();
    others();
    ends();
    after_exec(argv[0]);
    library();
    exits();
    return tap_done();
}
