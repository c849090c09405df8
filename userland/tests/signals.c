// TAP
/* Signals: handlers and their frames, masks, codes and addresses, default actions, restarts and
 * timers. */
#define _GNU_SOURCE
#include <company.h>
#include <fenv.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

static volatile sig_atomic_t seen, count, code;
static void *volatile address;
static sigjmp_buf back;

static void note(int sig) { seen = sig, count++; }

static void note_info(int sig, siginfo_t *info, void *context)
{
    (void)context;
    seen = sig;
    code = info->si_code;
    address = info->si_addr;
}

static void jump(int sig, siginfo_t *info, void *context)
{
    note_info(sig, info, context);
    siglongjmp(back, 1);
}

static void catch (int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};

    if (sigaction(sig, &a, NULL) != 0)
        bail_out("sigaction");
}

static void plain(int sig, void (*fn)(int), int flags)
{
    struct sigaction a = {.sa_handler = fn, .sa_flags = flags};

    if (sigaction(sig, &a, NULL) != 0)
        bail_out("sigaction");
}

static void test_handler(void)
{
    register long kept asm("$9") = 0x1234567890abcdef;
    double f = 2.5;

    plain(SIGUSR1, note, 0);
    asm volatile("" : "+r"(kept), "+f"(f));
    is(raise(SIGUSR1), 0, "raise succeeds");
    asm volatile("" : "+r"(kept), "+f"(f));
    is(seen, SIGUSR1, "the handler runs");
    is(kept, 0x1234567890abcdef, "integer registers are preserved");
    ok(f == 2.5, "floating-point registers are preserved");
}

static void test_mask(void)
{
    sigset_t set, old, pending;

    plain(SIGUSR2, note, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    is(sigprocmask(SIG_BLOCK, &set, &old), 0, "the signal is blocked");
    seen = count = 0;
    raise(SIGUSR2);
    raise(SIGUSR2);
    is(seen, 0, "a blocked signal is not delivered");
    sigpending(&pending);
    ok(sigismember(&pending, SIGUSR2), "it is pending");
    is(sigprocmask(SIG_SETMASK, &old, NULL), 0, "the signal is unblocked");
    is(count, 1, "it is delivered once when it is unblocked");
    is(sigaction(SIGKILL, &(struct sigaction){.sa_handler = note}, NULL), -1,
       "a handler for SIGKILL is refused");
    is(sigaction(0, &(struct sigaction){.sa_handler = note}, NULL), -1, "signal 0 does not exist");
    is(sigaction(65, NULL, NULL), -1, "signal 65 does not exist");
}

static void test_suspend(void)
{
    sigset_t set, old;
    pid_t pid;

    plain(SIGUSR1, note, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &old);
    seen = 0;
    pid = must_fork();
    if (pid == 0) {
        usleep(10000);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    is(sigsuspend(&old), -1, "sigsuspend returns");
    is(errno, EINTR, "the error is EINTR");
    is(seen, SIGUSR1, "the handler has run");
    sigprocmask(SIG_BLOCK, NULL, &set);
    ok(sigismember(&set, SIGUSR1), "the previous mask is restored");
    sigprocmask(SIG_SETMASK, &old, NULL);
    waitpid(pid, NULL, 0);
}

static void fault(int sig, int want_code, void *want_address, void (*fn)(void), const char *what)
{
    catch (sig, jump, SA_NODEFER);
    seen = code = 0;
    address = NULL;
    if (!sigsetjmp(back, 1)) {
        fn();
        ok(0, "%s: no signal was delivered", what);
        return;
    }
    is(seen, sig, "%s: the signal is right", what);
    is(code, want_code, "%s: the code is right", what);
    if (want_address)
        ok(address == want_address, "%s: the address is right (%p)", what, address);
    signal(sig, SIG_DFL);
}

static char *readonly;
static volatile int zero;

static void read_wild(void) { (void)*(volatile char *)0x3000000000; }
static void write_readonly(void) { *(volatile char *)readonly = 1; }
static void read_kernel(void) { (void)*(volatile char *)0xfffffc0000310000; }
static void divide(void) { zero = 7 / zero; }
static void illegal(void) { asm volatile(".long 0x04000000"); }
static void jump_wild(void) { ((void (*)(void))0x3000000000)(); }

static void test_faults(void)
{
    readonly = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fault(SIGSEGV, SEGV_MAPERR, (void *)0x3000000000, read_wild, "a read of an unmapped page");
    fault(SIGSEGV, SEGV_ACCERR, readonly, write_readonly, "a write to a read-only page");
    fault(SIGSEGV, SEGV_MAPERR, NULL, read_kernel, "a read of a kernel address");
    fault(SIGSEGV, SEGV_MAPERR, (void *)0x3000000000, jump_wild, "a jump to an unmapped page");
    fault(SIGFPE, FPE_INTDIV, NULL, divide, "a division by zero");
    fault(SIGILL, ILL_ILLOPC, NULL, illegal, "an illegal instruction");
}

static void test_altstack(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    stack_t s = {.ss_sp = stack, .ss_size = sizeof(stack)}, got;

    is(sigaltstack(&s, NULL), 0, "an alternate stack is set");
    is(sigaltstack(NULL, &got), 0, "the alternate stack can be queried");
    ok(got.ss_sp == stack && got.ss_size == sizeof(stack) && got.ss_flags == 0,
       "it is the stack that was set");
    catch (SIGUSR1, note_info, SA_ONSTACK);
    raise(SIGUSR1);
    is(seen, SIGUSR1, "a handler runs on the alternate stack");
    s.ss_size = 100;
    is(sigaltstack(&s, NULL), -1, "an alternate stack that is too small is refused");
    is(syscall(SYS_sigaltstack, &s, &s), -1, "also with room for the old one");
    is((long)s.ss_size, 100, "where nothing is stored");
    s.ss_flags = SS_DISABLE | SS_ONSTACK;
    is(sigaltstack(&s, NULL), -1, "so are two modes at once");
    s.ss_flags = SS_DISABLE;
    is(sigaltstack(&s, NULL), 0, "the alternate stack can be disabled");
}

static int recurse(int n)
{
    volatile char space[4096];

    space[0] = (char)n;
    return n ? recurse(n - 1) + space[0] : 0;
}

static void test_stack_end(void)
{
    pid_t pid = must_fork();
    int status;

    if (pid == 0)
        _exit(recurse(1000000) != 0);
    waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
       "a process whose stack overflows is killed by SIGSEGV (%#x)", status);
}

static int dies_by(int sig)
{
    pid_t pid = must_fork();
    int status;

    if (pid == 0) {
        signal(sig, SIG_DFL);
        raise(sig);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_default(void)
{
    static const int killers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGKILL,
                                  SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGVTALRM};
    pid_t pid;
    int status;

    for (unsigned k = 0; k < sizeof(killers) / sizeof(*killers); k++)
        is(dies_by(killers[k]), killers[k], "signal %d kills by default", killers[k]);
    is(dies_by(SIGCHLD), 0, "SIGCHLD does not kill");
    is(dies_by(SIGWINCH), 0, "SIGWINCH does not kill");
    pid = must_fork();
    if (pid == 0) {
        *(volatile int *)0 = 1;
        _exit(0);
    }
    waitpid(pid, &status, 0);
    is(status & 0x7f, SIGSEGV, "a null pointer access kills");
    pid = must_fork();
    if (pid == 0) {
        sigset_t all;

        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        signal(SIGSEGV, SIG_IGN);
        *(volatile int *)0 = 1;
        _exit(0);
    }
    waitpid(pid, &status, 0);
    is(status & 0x7f, SIGSEGV, "it kills even if SIGSEGV is blocked and ignored");
    pid = must_fork();
    if (pid == 0)
        for (;;)
            ;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    is(status & 0x7f, SIGKILL, "a process that loops can be killed");
}

static void test_stop(void)
{
    int status, go[2];
    pid_t pid;
    char c;

    if (pipe(go))
        bail_out("pipe");
    pid = must_fork();
    if (pid == 0) {
        close(go[1]);
        raise(SIGSTOP);
        (void)!read(go[0], &c, 1); /* a child that has ended already would be reported as ended */
        _exit(6);
    }
    close(go[0]);
    is(waitpid(pid, &status, WUNTRACED), pid, "waitpid with WUNTRACED returns a stopped child");
    ok(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "its status says stopped");
    kill(pid, SIGCONT);
    is(waitpid(pid, &status, WCONTINUED), pid, "waitpid with WCONTINUED returns a continued child");
    ok(WIFCONTINUED(status), "its status says continued (%#x)", status);
    close(go[1]);
    is(waitpid(pid, &status, 0), pid, "waitpid returns the child at its end");
    is(WEXITSTATUS(status), 6, "its exit status is returned");
    pid = must_fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(6);
    }
    waitpid(pid, &status, WUNTRACED);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    is(status & 0x7f, SIGKILL, "a stopped child can be killed");
}

static void test_restart(void)
{
    volatile int *ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                               0);
    int p[2];
    char c;
    long n;
    pid_t pid;

    if (pipe(p) || ended == MAP_FAILED)
        bail_out("pipe or shared page");
    for (int restart = 0; restart < 2; restart++) {
        plain(SIGUSR1, note, restart ? SA_RESTART : 0);
        *ended = restart; /* without SA_RESTART, signals are sent until one interrupts the read */
        seen = 0;
        pid = must_fork();
        if (pid == 0) {
            do {
                usleep(10000);
                kill(getppid(), SIGUSR1);
            } while (!*ended);
            usleep(10000);
            (void)!write(p[1], "x", 1);
            _exit(0);
        }
        errno = 0;
        if (restart) {
            is(read(p[0], &c, 1), 1, "with SA_RESTART a read continues after a signal");
        } else {
            is(read(p[0], &c, 1), -1, "without SA_RESTART a read is interrupted");
            is(errno, EINTR, "the error is EINTR");
            *ended = 1;
            while ((n = read(p[0], &c, 1)) < 0 && errno == EINTR)
                ; /* another signal may be on its way */
            is(n, 1, "the read can be repeated");
        }
        is(seen, SIGUSR1, "the handler has run");
        waitpid(pid, NULL, 0);
    }
    close(p[0]);
    plain(SIGPIPE, note, 0);
    is(write(p[1], "x", 1), -1, "a write to a pipe without readers fails");
    is(errno, EPIPE, "the error is EPIPE");
    is(seen, SIGPIPE, "SIGPIPE is delivered");
    close(p[1]);
}

static int blocked_pipe[2];

static void in_read(void)
{
    char c;
    (void)!read(blocked_pipe[0], &c, 1);
}
static void in_write(void)
{
    static char big[100000];
    (void)!write(blocked_pipe[1], big, sizeof(big));
}
static void in_sleep(void) { sleep(1000); }
static void in_pause(void) { pause(); }
static void in_poll(void)
{
    struct pollfd f = {.fd = blocked_pipe[0], .events = POLLIN};
    poll(&f, 1, -1);
}
static void in_futex(void)
{
    static int word;
    syscall(SYS_futex, &word, 0L, 0L, NULL, NULL, 0L);
}
static void in_wait(void)
{
    if (must_fork() == 0) {
        sleep(1);
        _exit(0);
    }
    wait(NULL);
}
static void in_suspend(void)
{
    sigset_t all;

    sigfillset(&all);
    sigsuspend(&all);
}
static void in_fault(void)
{
    for (;;)
        munmap(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0),
               1 << 20);
}
static void in_fork(void)
{
    for (;;) {
        if (must_fork() == 0)
            _exit(0);
        wait(NULL);
    }
}

/* SIGKILL ends a process in any kind of wait. */
static void test_kill_anywhere(void)
{
    static const struct {
        const char *what;
        void (*fn)(void);
    } places[] = {{"read", in_read},   {"write", in_write},     {"sleep", in_sleep},
                  {"pause", in_pause}, {"poll", in_poll},       {"futex", in_futex},
                  {"wait", in_wait},   {"suspend", in_suspend}, {"fault", in_fault},
                  {"fork", in_fork}};
    int status;

    for (unsigned k = 0; k < sizeof(places) / sizeof(*places); k++) {
        pid_t pid;

        if (pipe(blocked_pipe))
            bail_out("pipe");
        pid = must_fork();
        if (pid == 0) {
            places[k].fn();
            _exit(0);
        }
        usleep(20000);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        is(status, SIGKILL, "a process is killed in %s", places[k].what);
        close(blocked_pipe[0]);
        close(blocked_pipe[1]);
    }
}

static void test_child(void)
{
    pid_t pid;
    siginfo_t info;
    sigset_t set;

    (void)info;
    (void)set;
    plain(SIGCHLD, note, 0);
    seen = 0;
    pid = must_fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    is(seen, SIGCHLD, "SIGCHLD is delivered when a child ends");
    signal(SIGCHLD, SIG_IGN);
    pid = must_fork();
    if (pid == 0)
        _exit(0);
    usleep(50000);
    is(waitpid(pid, NULL, 0), -1, "a child leaves no zombie if SIGCHLD is ignored");
    signal(SIGCHLD, SIG_DFL);
}

static void test_alarm(void)
{
    struct itimerval t = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}}, left;
    struct timespec req = {5, 0}, rem;

    plain(SIGALRM, note, 0);
    seen = 0;
    alarm(1);
    is(nanosleep(&req, &rem), -1, "an alarm interrupts nanosleep");
    is(errno, EINTR, "the error is EINTR");
    ok(rem.tv_sec >= 3 && rem.tv_sec <= 4, "nanosleep returns the time that was left (%ld s)",
       (long)rem.tv_sec);
    is(seen, SIGALRM, "the handler has run");
    count = 0;
    is(setitimer(ITIMER_REAL, &t, NULL), 0, "an interval timer is set");
    while (count < 5)
        pause();
    is(setitimer(ITIMER_REAL, &off, &left), 0, "it expires repeatedly and can be disabled");
    is(left.it_interval.tv_usec, 2000, "its previous interval is returned");
    is(alarm(100), 0, "alarm returns 0 if no alarm was set");
    ok(alarm(0) >= 99, "alarm returns the time that was left");
}

/* Timers that would expire after their processes have ended and the memory has been reused. */
static void test_alarm_left(void)
{
    struct itimerval soon = {{0, 10000}, {0, 10000}};
    int good = 1, how;

    for (int i = 0; i < 8; i++) {
        pid_t pid = must_fork();

        if (pid == 0) {
            setitimer(ITIMER_REAL, &soon, NULL);
            _exit(0);
        }
        good &= waitpid(pid, &how, 0) == pid && how == 0;
    }
    usleep(50000);
    ok(good, "processes can end while their timers run");
}

static void test_wait_for(void)
{
    struct timespec short_time = {0, 20000000};
    siginfo_t info;
    sigset_t set, old;
    struct pollfd none = {.fd = -1};
    int sig = 0;
    pid_t pid;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &old);
    is(sigtimedwait(&set, &info, &short_time), -1, "sigtimedwait without a signal returns");
    is(errno, EAGAIN, "the error is EAGAIN");
    pid = must_fork();
    if (pid == 0)
        _exit(9);
    is(sigtimedwait(&set, &info, NULL), SIGCHLD,
       "sigtimedwait returns SIGCHLD, which has no handler");
    ok(info.si_pid == pid && info.si_status == 9 && info.si_code == CLD_EXITED,
       "the information names the child");
    waitpid(pid, NULL, 0);
    alarm(1);
    is(sigwait(&set, &sig), 0, "sigwait returns for the next signal");
    is(sig, SIGALRM, "sigwait returns SIGALRM");
    plain(SIGALRM, note, 0);
    seen = 0;
    alarm(1);
    short_time.tv_sec = 1;
    short_time.tv_nsec = 500000000;
    is(nanosleep(&short_time, NULL), 0, "a blocked alarm does not interrupt nanosleep");
    sigpending(&set);
    ok(sigismember(&set, SIGALRM) && !seen, "it is pending");
    is(ppoll(&none, 1, NULL, &old), -1, "ppoll with another mask is interrupted");
    is(errno, EINTR, "the error is EINTR");
    is(seen, SIGALRM, "the handler has run");
    sigprocmask(SIG_SETMASK, NULL, &set);
    ok(sigismember(&set, SIGALRM), "the previous mask is restored");
    short_time.tv_sec = 0;
    is(ppoll(&none, 1, &(struct timespec){0, 1000}, &old), 0,
       "ppoll without a signal ends at its time limit");
    sigprocmask(SIG_SETMASK, NULL, &set);
    ok(sigismember(&set, SIGALRM), "the previous mask is restored");
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static volatile int codes[4], ncodes;
static int child_status;

static void note_code(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)context;
    if (ncodes < 4)
        codes[ncodes++] = info->si_code;
}

/* A signal to the thread and the same signal to the process are both pending; each merges only with
 * others of its own kind. */
static void test_thread_directed(void)
{
    sigset_t set, old;
    long self = syscall(SYS_gettid);
    pid_t child;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    catch (SIGUSR1, note_code, 0);
    sigprocmask(SIG_BLOCK, &set, &old);
    is(kill(getpid(), SIGUSR1), 0, "kill");
    is(kill(getpid(), SIGUSR1), 0, "twice");
    is(syscall(SYS_tgkill, getpid(), self, SIGUSR1), 0, "tgkill");
    is(syscall(SYS_tkill, self, SIGUSR1), 0, "tkill");
    ncodes = 0;
    sigprocmask(SIG_SETMASK, &old, NULL);
    is(ncodes, 2, "two signals are pending");
    is(codes[0], SI_TKILL, "the signal to the thread is taken first");
    is(codes[1], SI_USER, "the signal to the process is taken second");
    is(syscall(SYS_tgkill, getpid() + 1, self, SIGUSR1), -1,
       "tgkill of a thread of another process is refused");
    is(errno, ESRCH, "(ESRCH)");
    is(syscall(SYS_tgkill, getpid(), 32000, SIGUSR1), -1,
       "tgkill of a thread that does not exist is refused");
    is(errno, ESRCH, "(ESRCH)");
    is(syscall(SYS_tgkill, 0, self, SIGUSR1), -1, "tgkill with process 0 is refused");
    is(errno, EINVAL, "(EINVAL)");
    child = must_fork();
    if (child == 0) {
        sigprocmask(SIG_BLOCK, &set, NULL);
        syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
        sigpending(&set);
        _exit(sigismember(&set, SIGUSR1) == 1 ? 0 : 1);
    }
    waitpid(child, &child_status, 0);
    is(child_status, 0, "a signal to the thread is pending for the thread");
    plain(SIGUSR1, SIG_DFL, 0);
}

/* Once a signal is about to end the process, nothing that the process does can prevent that. */
static void test_settled(void)
{
    int p[2], status = 0;
    char c;
    pid_t pid;

    is(pipe(p), 0, "a pipe is created");
    pid = must_fork();
    if (pid == 0) {
        plain(SIGUSR1, SIG_DFL, 0);
        for (;;) {
            sigset_t set;

            sigemptyset(&set);
            sigaddset(&set, SIGUSR1);
            plain(SIGUSR1, SIG_IGN, 0);
            plain(SIGUSR1, SIG_DFL, 0);
            sigprocmask(SIG_BLOCK, &set, NULL);
            sigprocmask(SIG_UNBLOCK, &set, NULL);
            if (write(p[1], "x", 1) != 1)
                _exit(1);
        }
    }
    close(p[1]);
    while (read(p[0], &c, 1) == 1)
        kill(pid, SIGUSR1);
    close(p[0]);
    is(waitpid(pid, &status, 0), pid, "the child ends");
    is(status, SIGUSR1, "a process that keeps changing the action of a signal is ended by it");
}

int main(void)
{
    test_handler();
    test_mask();
    test_suspend();
    test_faults();
    test_altstack();
    test_stack_end();
    test_default();
    test_stop();
    test_restart();
    test_kill_anywhere();
    test_child();
    test_alarm();
    test_alarm_left();
    test_wait_for();
    test_thread_directed();
    test_settled();
    return tap_done();
}
