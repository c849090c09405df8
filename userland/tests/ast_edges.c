// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * ASTs at the edges of POSIX: stacks, masks, signals at the same moment, calls that an AST ends and
 * those that go on; exec and common clusters. asts.c has the rest of docs/events.md.
 */
#include <descrip.h>
#include <efndef.h>
#include <errno.h>
#include <linux/futex.h>
#include <megalith/services.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define MS 10000

static volatile int calls;
static char order[8];

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&t, &t) != 0)
        ;
}

static int wait_status(pid_t pid)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void count(__int64 unused)
{
    (void)unused;
    calls++;
}

static void after(long ms, mega_ast_routine routine)
{
    const __int64 delta = -ms * MS;

    sys$setimr(EFN$C_ENF, &delta, routine, 0, 0);
}

/* ---- frames ---- */

/* A service of two arguments, without the library, with another stack pointer unless that is 0. */
static int call(long number, long argument, long stack)
{
    register long v0 __asm__("$0") = number;
    register long sp __asm__("$10") = stack;
    register long a0 __asm__("$16") = argument;
    register long a1 __asm__("$17") = 0;
    register long a2 __asm__("$18") = 0;

    __asm__ volatile("mov $30, $9\n\tcmovne $10, $10, $30\n\tcallsys\n\tmov $9, $30"
                     : "+r"(v0), "+r"(a0), "+r"(a1), "+r"(a2)
                     : "r"(sp)
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$19", "$20", "$21",
                       "$22", "$23", "$24", "$25", "$27", "$28", "memory");
    return (int)v0;
}

static void frames(void)
{
    pid_t pid;
    int status;

    fflush(stdout);
    sys$setast(1); /* the library has told where routines return to */
    if ((pid = fork()) == 0) {
        sys$dclast(count, 0, 0);
        signal(SIGSEGV, SIG_DFL);
        (void)call(VMS_DCLAST, (long)count, 0x4000);
        _exit(calls);
    }
    status = wait_status(pid);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
       "a stack that cannot take the frame ends the process");
    if ((pid = fork()) == 0) {
        (void)call(MEGA_SYS_AST_RETURN, 0, 0);
        _exit(!status_is(call(VMS_DCLAST, (long)count, 0), SS$_BADPARAM) || calls);
    }
    is(wait_status(pid), 0, "before the kernel knows where routines return to: SS$_BADPARAM");
}

/* ---- signals ---- */

static void first(__int64 unused)
{
    (void)unused;
    strcat(order, "a");
}

static void second(int sig)
{
    (void)sig;
    strcat(order, "s");
}

/* A timer expires, and a signal is sent, while the process is stopped. */
static void at_once(void)
{
    pid_t pid;
    int status;

    fflush(stdout);
    if ((pid = fork()) == 0) {
        signal(SIGUSR1, second);
        after(100, first);
        raise(SIGSTOP);
        _exit(strcmp(order, "as") != 0);
    }
    waitpid(pid, &status, WUNTRACED);
    ok(WIFSTOPPED(status), "a child has stopped");
    nap(300);
    kill(pid, SIGUSR1);
    kill(pid, SIGCONT);
    is(wait_status(pid), 0,
       "of an AST and a signal at the same return, the AST's routine is first");
}

static char alternate[4 * 8192];
static volatile bool on_alternate;

static void look(__int64 unused)
{
    const char *here = __builtin_frame_address(0);

    (void)unused;
    on_alternate = here >= alternate && here < alternate + sizeof(alternate);
}

static void declare(int sig)
{
    (void)sig;
    sys$dclast(look, 0, 0);
}

static void block(__int64 sig)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, (int)sig);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void stacks_and_masks(void)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)},
            none = {.ss_flags = SS_DISABLE};
    struct sigaction act = {.sa_handler = declare, .sa_flags = SA_ONSTACK};
    sigset_t now;

    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &act, NULL);
    raise(SIGUSR2);
    ok(on_alternate, "an AST amid a handler on the alternate stack runs there, too");
    sys$dclast(look, 0, 0);
    ok(!on_alternate, "another one on the usual stack");
    sigaltstack(&none, NULL);
    sys$dclast(block, SIGUSR2, 0);
    sigprocmask(SIG_BLOCK, NULL, &now);
    ok(sigismember(&now, SIGUSR2), "a signal that a routine blocks stays blocked");
    sigdelset(&now, SIGUSR2);
    sigprocmask(SIG_SETMASK, &now, NULL);
}

/* ---- calls ---- */

static int polls(void) { return poll(NULL, 0, 5000); }

static int selects(void)
{
    struct timeval t = {5, 0};

    return select(0, NULL, NULL, NULL, &t);
}

static int suspends(void)
{
    sigset_t none;

    sigemptyset(&none);
    return sigsuspend(&none);
}

/* Once more if the AST has come before the call. An alarm ends a call without a limit. */
static void ends_call(int (*call)(void), const char *what)
{
    int result = 0, error = 0;

    for (int tries = 0; tries < 10 && result != -1; tries++) {
        calls = 0;
        after(50, count);
        errno = 0;
        result = call();
        error = errno;
    }
    ok(result == -1 && error == EINTR && calls == 1, "%s: EINTR after an AST", what);
}

static int word;

static void *wake(void *unused)
{
    nap(300);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
    return unused;
}

static void waits(void)
{
    pthread_t t;
    pid_t pid;
    int status = -1;
    long result;

    ends_call(polls, "poll");
    ends_call(selects, "select");
    ends_call(suspends, "sigsuspend");
    calls = 0;
    fflush(stdout);
    if ((pid = fork()) == 0) {
        nap(300);
        _exit(7);
    }
    after(50, count);
    is(waitpid(pid, &status, 0), pid, "wait goes on after an AST");
    ok(calls == 1 && status == 7 << 8, "which has come amid it");
    calls = 0;
    pthread_create(&t, NULL, wake, NULL);
    after(50, count);
    result = syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    is(result, 0, "so does futex without a limit");
    ok(calls == 1 && word, "until it is woken");
    pthread_join(t, NULL);
}

/* ---- exec ---- */

static int second_program(void)
{
    unsigned int state;

    return !status_is(sys$readef(64, &state), SS$_UNASEFC);
}

static void clusters(char *self)
{
    struct dsc$descriptor_s name = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)"EDGES"};
    pid_t pid;

    is_status(sys$ascefc(64, &name, 0, 0), SS$_NORMAL, "a common cluster");
    fflush(stdout);
    if ((pid = fork()) == 0) {
        if (!status_is(sys$ascefc(64, &name, 0, 0), SS$_NORMAL))
            _exit(2);
        execl(self, self, "second", NULL);
        _exit(3);
    }
    is(wait_status(pid), 0, "which a program that exec starts is not associated with");
    sys$dacefc(64);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return second_program();
    alarm(100);
    frames();
    at_once();
    stacks_and_masks();
    waits();
    clusters(argv[0]);
    return tap_done();
}
