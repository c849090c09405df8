// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * ASTs: delivered in order, once, one at a time, with all registers restored; enabled and disabled;
 * in every wait, which goes on afterwards; to the oldest thread; beside signals and their handlers;
 * limits. Timers and hibernation: vms_timers.c.
 */
#define _GNU_SOURCE
#include <efndef.h>
#include <errno.h>
#include <iledef.h>
#include <jpidef.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <syidef.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define MANY 100

static volatile int calls, nested, inside;
static long order[MANY + 1];
static pthread_t ran_in;

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

static void note(__int64 parameter)
{
    nested += inside;
    inside = 1;
    if (calls < MANY)
        order[calls] = parameter;
    calls++;
    ran_in = pthread_self();
    inside = 0;
}

/* ---- delivery ---- */

static void order_of_delivery(void)
{
    int wrong = 0;

    calls = 0;
    is_status(sys$dclast(note, 42, 0), SS$_NORMAL, "an AST is declared");
    is(calls, 1, "and delivered before the service returns");
    is(order[0], 42, "with its parameter");
    is_status(sys$setast(0), SS$_WASSET, "ASTs are enabled at first");
    is_status(sys$setast(0), SS$_WASCLR, "and disabled now");
    calls = 0;
    for (long i = 0; i < MANY; i++)
        sys$dclast(note, (unsigned long)i * 0x100000001, 0);
    is(calls, 0, "nothing is delivered while they are disabled");
    is_status(sys$setast(1), SS$_WASCLR, "they are enabled");
    is(calls, MANY, "and all are delivered");
    for (long i = 0; i < MANY; i++)
        wrong += order[i] != i * 0x100000001;
    is(wrong, 0, "in the order in which they were declared, with 64-bit parameters");
    is(nested, 0, "one at a time");
}

/* A routine that declares another one: that comes when it has returned. */
static void again(__int64 left)
{
    nested += inside;
    inside = 1;
    calls++;
    if (left)
        sys$dclast(again, (unsigned long)left - 1, 0);
    for (volatile int i = 0; i < 1000; i++)
        ;
    inside = 0;
}

static void five(__int64 parameter, __int64 r0, __int64 r1, void *pc, __int64 ps)
{
    (void)r0;
    (void)r1;
    calls = parameter == 7 && pc != NULL && ps == 0x1B;
}

static void from_routines(void)
{
    calls = 0;
    sys$dclast(again, 20, 0);
    is(calls, 21, "each of 20 routines declares the next one");
    is(nested, 0, "which is not delivered inside it");
    calls = 0;
    sys$dclast(five, 7, 0);
    is(calls, 1, "a routine gets parameter, R0, R1, PC and PS");
}

static void change_all(__int64 parameter)
{
    (void)parameter;
    /* every register that a call may change, and those that it must keep, as the compiler does */
    __asm__ volatile("lda $1,-1($31)\n\tlda $2,-1($31)\n\tlda $3,-1($31)\n\tlda $4,-1($31)\n\t"
                     "lda $5,-1($31)\n\tlda $6,-1($31)\n\tlda $7,-1($31)\n\tlda $8,-1($31)\n\t"
                     "lda $22,-1($31)\n\tlda $23,-1($31)\n\tlda $24,-1($31)\n\tlda $25,-1($31)\n\t"
                     "cpys $f31,$f31,$f1\n\tcpys $f31,$f31,$f10\n\tcpys $f31,$f31,$f30" ::
                         : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24",
                           "$25", "$f1", "$f10", "$f30");
    calls++;
}

/* A computation in registers that timers interrupt gives what it gives alone. */
static double compute(unsigned long *hash)
{
    unsigned long a = 1, b = 2, c = 3, d = 4, e = 5;
    double x = 1, y = 2, z = 3;

    for (int i = 0; i < 300000; i++) {
        a = a * 6364136223846793005UL + b;
        b ^= a >> 7;
        c += b << 3;
        d = d * 3 + c;
        e ^= d;
        x = x * 0.5 + y;
        y = y * 0.25 + z;
        z = z * 0.125 + 1;
    }
    *hash = a ^ b ^ c ^ d ^ e;
    return x + y + z;
}

static volatile int enough; /* an AST that $CANTIM comes too late for ends the series, too */

static void interrupt_again(__int64 left)
{
    __int64 soon = -5000; /* 0.5 ms */

    change_all(0);
    if (left && !enough)
        sys$setimr(EFN$C_ENF, &soon, interrupt_again, (unsigned long)left - 1, 0);
}

static void registers(void)
{
    unsigned long alone, beside = 0;
    double x = compute(&alone), y = x;

    calls = 0;
    interrupt_again(1000000);
    for (int i = 0; i < 20 && calls < 10; i++) {
        y = compute(&beside);
        if (y < x || y > x || beside != alone)
            break;
    }
    ok(calls >= 10, "%d ASTs come amid a computation", calls);
    ok(!(y < x || y > x) && beside == alone, "which they do not disturb");
    enough = 1;
    sys$cantim(0, 0);
}

/* ---- waits ---- */

static void set_later(__int64 efn)
{
    calls++;
    sys$setef((unsigned)efn);
}

static void in_waits(void)
{
    __int64 soon = -200000; /* 20 ms */
    struct timespec t = {5, 0}, left;
    int fd[2];
    char byte;

    calls = 0;
    sys$clref(20);
    is_status(sys$setimr(EFN$C_ENF, &soon, set_later, 20, 0), SS$_NORMAL, "an AST will set a flag");
    is_status(sys$waitfr(20), SS$_NORMAL, "for which the process waits");
    is(calls, 1, "the AST has come");
    calls = 0;
    sys$clref(20);
    sys$setimr(21, &soon, note, 1, 0);
    soon = -600000;
    sys$setimr(20, &soon, 0, 2, 0);
    is_status(sys$wfland(20, 1 << 20), SS$_NORMAL, "a wait goes on after an AST");
    is(calls, 1, "that has come amid it");
    is_status(sys$clref(21), SS$_WASSET, "its flag was set before");
    soon = -200000;
    for (int k = 0, slept = 0; slept == 0; k++) { /* again if the AST came before the sleep */
        sys$setimr(EFN$C_ENF, &soon, note, 1, 0);
        errno = 0;
        slept = nanosleep(&t, &left);
        if (slept != 0 || k == 10)
            is(slept, -1, "a sleep is interrupted, as by a handler");
        slept |= k == 10;
    }
    is(errno, EINTR, "it says so");
    ok(left.tv_sec > 0 || left.tv_nsec > 50000000, "and what is left of it");
    if (pipe(fd) != 0)
        bail_out("no pipe");
    if (fork() == 0) {
        nap(200);
        write(fd[1], "x", 1);
        _exit(0);
    }
    calls = 0;
    sys$setimr(EFN$C_ENF, &soon, note, 1, 0);
    is(read(fd[0], &byte, 1), 1, "a read goes on, as after a handler with SA_RESTART");
    is(calls, 1, "and the AST has come");
    wait(NULL);
    close(fd[0]);
    close(fd[1]);
}

/* ---- signals ---- */

static volatile int handled, handled_in_ast, asts_in_handler;

static void handler(int sig)
{
    (void)sig;
    handled++;
    handled_in_ast += inside;
}

static void raising(__int64 parameter)
{
    inside = 1;
    raise((int)parameter);
    inside = 0;
    calls++;
}

static void declaring(int sig)
{
    int before = calls;

    (void)sig;
    sys$dclast(note, 1, 0);
    asts_in_handler = calls - before;
}

static void signals(void)
{
    struct sigaction act = {.sa_handler = handler};
    sigset_t usr1, old, during;

    sigaction(SIGUSR1, &act, NULL);
    act.sa_handler = declaring;
    sigaction(SIGUSR2, &act, NULL);
    calls = 0;
    sys$dclast(raising, SIGUSR1, 0);
    is(handled_in_ast, 1, "a handler runs amid an AST routine");
    is(calls, 1, "which goes on");
    raise(SIGUSR2);
    is(asts_in_handler, 1, "an AST is delivered amid a handler");
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, &old);
    handled = calls = 0;
    sys$dclast(note, 1, 0);
    is(calls, 1, "a blocked signal does not block ASTs");
    sys$setast(0);
    sigprocmask(SIG_UNBLOCK, &usr1, NULL);
    raise(SIGUSR1);
    is(handled, 1, "nor do disabled ASTs block signals");
    sys$setast(1);
    /* Both at once: an AST and a signal that are delivered by the same return to user mode. */
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    handled = calls = 0;
    raise(SIGUSR1);
    sys$setast(0);
    sys$dclast(note, 1, 0);
    sys$setast(1);
    sigprocmask(SIG_SETMASK, &old, &during);
    is(handled + calls, 2, "both come");
    ok(sigismember(&during, SIGUSR1), "and the AST has left the mask alone");
}

static jmp_buf out;
static void leave(__int64 parameter) { longjmp(out, (int)parameter); }

static void left_by_jump(void)
{
    calls = 0;
    if (setjmp(out) == 0)
        sys$dclast(leave, 1, 0);
    sys$dclast(note, 1, 0);
    is(calls, 0, "after a jump out of a routine no other is delivered");
    is_status(sys$clrast(), SS$_NORMAL, "until $CLRAST");
    is(calls, 1, "says that the routine has ended");
}

/* ---- threads ---- */

static void *declare_from_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < MANY; i++)
        while (sys$dclast(note, (unsigned long)i, 0) == SS$_EXQUOTA)
            sched_yield();
    return NULL;
}

static void threads(void)
{
    pthread_t t[4];

    calls = nested = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, declare_from_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 100 && calls < 4 * MANY; i++)
        nap(10);
    is(calls, 4 * MANY, "what four threads declare is delivered");
    is(nested, 0, "one at a time");
    ok(pthread_equal(ran_in, pthread_self()), "to the first thread");
}

/* When the first thread has ended, the next oldest takes over. */
static void *heir(void *arg)
{
    (void)arg;
    for (int tries = 0; tries < 300; tries++) { /* the first thread may be on its way out still */
        calls = 0;
        sys$dclast(note, 1, 0);
        for (int i = 0; i < 500 && !calls; i++)
            nap(10);
        if (calls != 1 || pthread_equal(ran_in, pthread_self()))
            _exit(calls != 1);
        nap(10);
    }
    _exit(2);
}

static void first_thread_ends(void)
{
    pid_t pid = fork();
    pthread_t t;

    if (pid == 0) {
        sys$setast(1);
        pthread_create(&t, NULL, heir, NULL);
        pthread_exit(NULL);
    }
    is(child_result(pid), 0, "the oldest thread that is left gets the ASTs");
}

/* ---- processes ---- */

static void in_child(__int64 parameter)
{
    if (fork() == 0)
        calls = (int)parameter; /* the routine returns in the child too */
    else
        calls = 1;
}

static void forks(void)
{
    pid_t pid;

    sys$setast(0);
    sys$dclast(note, 5, 0);
    calls = 0;
    pid = fork();
    if (pid == 0) {
        int failed = !status_is(sys$setast(1), SS$_WASSET);

        _exit(failed + (calls != 0));
    }
    is(child_result(pid), 0, "a child has none of its parent's ASTs, and they are enabled");
    sys$setast(1);
    is(calls, 1, "the parent has them");
    fflush(stdout);
    pid = getpid();
    sys$dclast(in_child, 2, 0);
    if (getpid() != pid) {
        int was = calls;

        sys$dclast(note, 1, 0);
        _exit(was != 2 || calls != 3);
    }
    is(child_result(-1), 0, "a routine that forks returns in both processes");
}

/* ---- arguments of services ---- */

static void of_services(void)
{
    struct _iosb iosb;
    unsigned pid = 0, cpus = 0;
    ILE3 jpi[] = {{4, JPI$_PID, &pid, NULL}, {0, 0, NULL, NULL}};
    ILE3 syi[] = {{4, SYI$_ACTIVECPU_CNT, &cpus, NULL}, {0, 0, NULL, NULL}};
    ILE3 bad[] = {{4, 0x7FFF, &pid, NULL}, {0, 0, NULL, NULL}};

    calls = 0;
    memset(&iosb, 0, sizeof(iosb));
    sys$setast(0);
    is_status(sys$getjpi(30, NULL, NULL, jpi, &iosb, note, 77), SS$_NORMAL, "$GETJPI with an AST");
    is(iosb.iosb$l_getxxi_status, SS$_NORMAL, "the block is written");
    is_status(sys$clref(30), SS$_WASSET, "the flag is set");
    is(calls, 0, "ASTs are disabled");
    sys$setast(1);
    is(calls, 1, "and delivered then");
    is(order[0], 77, "with the parameter");
    is_status(sys$getsyi(31, NULL, NULL, syi, &iosb, note, 78), SS$_NORMAL, "$GETSYI likewise");
    is(order[1], 78, "its AST has come");
    is_status(sys$clref(31), SS$_WASSET, "its flag is set");
    sys$setef(31);
    is_status(sys$getjpiw(31, NULL, NULL, bad, &iosb, note, 79), SS$_BADITMCOD, "a bad item");
    is(calls, 2, "delivers no AST");
    is_status(sys$clref(31), SS$_WASCLR, "the flag was cleared at the start");
    is_status(sys$getjpi(64, NULL, NULL, jpi, NULL, NULL, 0), SS$_UNASEFC, "a flag of no cluster");
    is_status(sys$getjpi(129, NULL, NULL, jpi, NULL, NULL, 0), SS$_ILLEFC, "a flag that is none");
    is_status(sys$getsyi(64, NULL, NULL, syi, NULL, note, 0), SS$_UNASEFC, "with an AST too");
    is_status(sys$getsyi(200, NULL, NULL, syi, NULL, note, 0), SS$_ILLEFC, "neither is charged");
}

static void limits(void)
{
    unsigned pid;
    ILE3 jpi[] = {{4, JPI$_PID, &pid, NULL}, {0, 0, NULL, NULL}};
    ILE3 syi[] = {{4, SYI$_ACTIVECPU_CNT, &pid, NULL}, {0, 0, NULL, NULL}};
    int n = 0, status;

    sys$setast(0);
    calls = 0;
    while ((status = sys$dclast(note, 0, 0)) == SS$_NORMAL && n < 100000)
        n++;
    is_status(status, SS$_EXQUOTA, "no more ASTs than the limit");
    is(n, 250, "which is PQL_DASTLM");
    is_status(sys$getjpi(0, NULL, NULL, jpi, NULL, note, 0), SS$_EXASTLM, "$GETJPI says it too");
    is_status(sys$getsyi(0, NULL, NULL, syi, NULL, note, 0), SS$_EXASTLM, "and $GETSYI");
    is_status(sys$getjpi(0, NULL, NULL, jpi, NULL, NULL, 0), SS$_NORMAL, "but not without an AST");
    sys$setast(1);
    is(calls, n, "all of them are delivered");
    is_status(sys$dclast(note, 0, 0), SS$_NORMAL, "and others may be declared");
    is_status(sys$dclast(NULL, 0, 0), SS$_ACCVIO, "a routine is needed");
    is_status(sys$dclast(note, 0, 4), SS$_IVACMODE, "there are four access modes");
    is_status(sys$dclast(note, 0, 3), SS$_NORMAL, "of which user mode is one");
}

/* A routine at an address where there is none ends the process, as a handler there would. */
static void bad_routine(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        sys$dclast((void (*)())0x3000, 0, 0);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "a routine that is nowhere: SIGSEGV");
}

int main(void)
{
    order_of_delivery();
    from_routines();
    registers();
    in_waits();
    signals();
    left_by_jump();
    threads();
    first_thread_ends();
    forks();
    of_services();
    limits();
    bad_routine();
    return tap_done();
}
