// TAP
// SECONDS: 60
/* ptrace: stops at system calls, signals, events and steps; registers and memory; who may trace
 * whom; what becomes of a thread whose tracer ends, and of a tracer whose thread does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define BPT                    0x80u
#define REG_V0                 0
#define REG_A0                 16
#define REG_A3                 19
#define REG_FP                 32
#define REG_PC                 64
#define REG_UNIQUE             65
#define SEIZE                  0x4206
#define INTERRUPT              0x4207
#define LISTEN                 0x4208
#define EVENT_STOP             128
#define TRAPPED(status, event) ((status) == ((SIGTRAP | (event) << 8) << 8 | 0x7F))

static volatile int shared = 5; /* a copy in each process */

static long trace(long request, pid_t pid, unsigned long addr, unsigned long data)
{
    errno = 0;
    return ptrace(request, pid, addr, data);
}

static unsigned long reg(pid_t pid, int n)
{
    return (unsigned long)trace(PTRACE_PEEKUSER, pid, n, 0);
}

static int status_of(pid_t pid)
{
    int status = -1;

    return waitpid(pid, &status, __WALL) == pid ? status : -1;
}

/* Resume and wait for the next stop. */
static int go(long request, pid_t pid, int sig)
{
    return trace(request, pid, 0, (unsigned long)sig) ? -1 : status_of(pid);
}

/* A child that is traced and has stopped, before it calls fn. */
static pid_t child(void (*fn)(void), unsigned long options)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(99);
        raise(SIGSTOP);
        fn();
        _exit(0);
    }
    if (status_of(pid) != (SIGSTOP << 8 | 0x7F) || trace(PTRACE_SETOPTIONS, pid, 0, options))
        diag("the child has not stopped, errno %d", errno);
    return pid;
}

static void kill_it(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) == pid)
        ;
}

/* ---- system calls ---- */

static void call_umask(void)
{
    if (syscall(SYS_umask, 022) == 0123)
        _exit(7);
}

static void calls(void)
{
    pid_t pid = child(call_umask, PTRACE_O_TRACESYSGOOD);
    int entry = (SIGTRAP | 0x80) << 8 | 0x7F;

    is(go(PTRACE_SYSCALL, pid, 0), entry, "a system call stops at its entry");
    is(reg(pid, REG_V0), SYS_umask, "its number is in v0");
    is(reg(pid, REG_A0), 022, "its argument is in a0");
    is(trace(PTRACE_POKEUSER, pid, REG_A0, 077), 0, "the argument is changed");
    is(go(PTRACE_SYSCALL, pid, 0), entry, "it stops again at its exit");
    is(reg(pid, REG_V0), 022, "with the result in v0");
    is(reg(pid, REG_A3), 0, "and no error in a3");
    trace(PTRACE_POKEUSER, pid, REG_V0, 0123);
    is(go(PTRACE_SYSCALL, pid, 0), entry, "the next call");
    is(reg(pid, REG_V0), SYS_exit_group, "is exit_group");
    is(reg(pid, REG_A0), 7, "because the result was changed");
    trace(PTRACE_POKEUSER, pid, REG_V0, -1ul);
    is(go(PTRACE_SYSCALL, pid, 0), entry, "a call with a changed number is not made");
    is(reg(pid, REG_V0), ENOSYS, "but fails with ENOSYS");
    kill_it(pid);
}

/* ---- memory and registers ---- */

static void spin(void)
{
    while (shared == 5)
        ;
    _exit(shared);
}

__attribute__((noinline)) static void marked(void) { __asm__ volatile("" ::: "memory"); }

static void call_marked(void)
{
    marked();
    _exit(11);
}

static void memory(void)
{
    pid_t pid = child(spin, 0);
    long mine[2] = {0, 0};
    struct iovec local = {mine, 4}, remote = {(void *)&shared, 4};
    char name[32];
    int fd, value = 9;

    is((int)trace(PTRACE_PEEKDATA, pid, (unsigned long)&shared, 0), 5, "a word is read");
    is(process_vm_readv(pid, &local, 1, &remote, 1, 0), 4, "process_vm_readv");
    is((int)mine[0], 5, "reads the same");
    mine[0] = 6;
    is(process_vm_writev(pid, &local, 1, &remote, 1, 0), 4, "process_vm_writev");
    is((int)trace(PTRACE_PEEKDATA, pid, (unsigned long)&shared, 0), 6, "writes");
    remote.iov_base = (void *)marked;
    is(process_vm_writev(pid, &local, 1, &remote, 1, 0), -1, "but not to text");
    is(errno, EFAULT, "with EFAULT");
    snprintf(name, sizeof(name), "/proc/%d/mem", pid);
    fd = open(name, O_RDWR);
    is(pwrite(fd, &value, 4, (off_t)(uintptr_t)&shared), 4, "/proc/PID/mem is written");
    is(pread(fd, mine, 4, (off_t)(uintptr_t)&shared), 4, "and read");
    is((int)mine[0], 9, "and has the value");
    is(pread(fd, mine, 8, 64), -1, "nothing is mapped there");
    is(errno, EIO, "which is EIO");
    close(fd);
    is(trace(PTRACE_PEEKDATA, pid, 64, 0), -1, "no word is there either");
    is(errno, EIO, "with EIO");
    is(trace(PTRACE_PEEKDATA, pid, 0xFFFFFC0000310000, 0), -1, "nor one of the kernel");
    is(errno, EIO, "with EIO");
    is(shared, 5, "this process has its own copy");
    trace(PTRACE_POKEDATA, pid, (unsigned long)&shared, 33);
    is(go(PTRACE_CONT, pid, 0), 33 << 8, "the child sees what was written");
}

static void breakpoint(void)
{
    pid_t pid = child(call_marked, 0);
    unsigned long at = (unsigned long)marked;
    unsigned long word = (unsigned long)trace(PTRACE_PEEKTEXT, pid, at, 0);
    siginfo_t info;

    is(trace(PTRACE_POKETEXT, pid, at, (word & ~0xFFFFFFFFul) | BPT), 0, "a breakpoint is set");
    marked(); /* not in this process */
    is(go(PTRACE_CONT, pid, 0), SIGTRAP << 8 | 0x7F, "it is hit");
    is(reg(pid, REG_PC), at + 4, "the PC is behind it");
    is(trace(PTRACE_GETSIGINFO, pid, 0, (unsigned long)&info), 0, "its siginfo");
    is(info.si_code, TRAP_BRKPT, "says so");
    trace(PTRACE_POKETEXT, pid, at, word);
    trace(PTRACE_POKEUSER, pid, REG_PC, at);
    is(go(PTRACE_CONT, pid, 0), 11 << 8, "and without it the child goes on");
}

static void registers(void)
{
    pid_t pid = child(spin, 0);
    static const unsigned long bad[] = {0xFFFFFC0000310003, 3, 1ul << 42, ~0ul};

    for (int n = 0; n <= 70; n++) {
        unsigned long was = reg(pid, n);

        trace(PTRACE_POKEUSER, pid, n, 0xFEDCBA9876543210);
        if (n != 31 && n != 63 && n < 66 && reg(pid, n) != 0xFEDCBA9876543210)
            is(reg(pid, n), 0xFEDCBA9876543210, "register %d is changed", n);
        trace(PTRACE_POKEUSER, pid, n, was);
    }
    is(reg(pid, 31), 0, "$31 is zero");
    is(reg(pid, 66), 0, "there is no register 66");
    kill_it(pid);
    for (unsigned k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        pid = child(spin, 0);
        for (int n = 0; n < 66; n++)
            trace(PTRACE_POKEUSER, pid, n, bad[k]);
        is(go(PTRACE_CONT, pid, 0) & 0x7F, 0x7F, "a child with bad registers gets a signal");
        is(go(PTRACE_CONT, pid, SIGSEGV), SIGSEGV, "and ends by it");
    }
}

/* ---- steps ---- */

static void step_work(void)
{
    volatile double d = 1;

    for (volatile int k = 0; k < 5; k++) {
        marked();
        d = d * 1.5;
    }
    getppid();
    _exit(d > 7 ? 12 : 13);
}

static void steps(void)
{
    pid_t pid = child(step_work, 0);
    int status = 0, entries = 0;
    long n = 0;

    while (n < 5000 && (status = go(PTRACE_SINGLESTEP, pid, 0)) == (SIGTRAP << 8 | 0x7F)) {
        entries += reg(pid, REG_PC) == (unsigned long)marked;
        n++;
    }
    is(status, 12 << 8, "a child that is stepped through ends as it would without");
    ok(n > 60 && n < 5000, "in a number of steps (%ld)", n);
    is(entries, 5, "a function that is called five times is met five times");
}

static volatile long rounds;
static volatile int over;

static void *race_other(void *arg)
{
    while (!over) {
        marked();
        __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
    }
    return arg;
}

static void race_work(void)
{
    pthread_t t[3];

    for (int k = 0; k < 3; k++)
        pthread_create(&t[k], NULL, race_other, NULL);
    raise(SIGUSR1);
    for (volatile int k = 0; k < 30; k++)
        marked();
    raise(SIGUSR2);
    over = 1;
    for (int k = 0; k < 3; k++)
        pthread_join(t[k], NULL);
    _exit(14);
}

/* Others execute the instructions behind which breakpoints are planted. */
static void step_race(void)
{
    pid_t pid = child(race_work, 0);
    int status = go(PTRACE_CONT, pid, 0);
    long n = 0;

    is(status, SIGUSR1 << 8 | 0x7F, "three other threads run");
    while (n < 5000 && (status = go(PTRACE_SINGLESTEP, pid, 0)) == (SIGTRAP << 8 | 0x7F))
        n++;
    is(status, SIGUSR2 << 8 | 0x7F, "one is stepped through code that the others execute (%ld)", n);
    is(go(PTRACE_CONT, pid, 0), 14 << 8, "and none of them ends by a breakpoint");
}

/* ---- signals ---- */

static volatile int handled;
static void handler(int sig) { handled = sig; }

static void signal_work(void)
{
    signal(SIGUSR1, handler);
    signal(SIGWINCH, SIG_IGN);
    raise(SIGUSR1);
    if (handled)
        _exit(1);
    raise(SIGWINCH);
    raise(SIGUSR2);
    _exit(handled == SIGUSR1 ? 15 : 2);
}

static void signals(void)
{
    pid_t pid = child(signal_work, 0);
    siginfo_t info;

    is(go(PTRACE_CONT, pid, 0), SIGUSR1 << 8 | 0x7F, "a signal is reported");
    is(trace(PTRACE_GETSIGINFO, pid, 0, (unsigned long)&info), 0, "its siginfo");
    ok(info.si_signo == SIGUSR1 && info.si_pid == pid, "names the sender");
    is(go(PTRACE_CONT, pid, 0), SIGWINCH << 8 | 0x7F, "and not delivered; an ignored one is, too");
    is(go(PTRACE_CONT, pid, 0), SIGUSR2 << 8 | 0x7F, "a third one");
    is(trace(PTRACE_CONT, pid, 0, 65), -1, "there is no signal 65");
    is(errno, EIO, "which is EIO");
    is(go(PTRACE_CONT, pid, SIGUSR1), 15 << 8, "is replaced by the first one");
}

/* ---- events ---- */

static void *end_at_once(void *arg) { return arg; }

static void event_work(void)
{
    pthread_t t;
    pid_t pid = fork();

    if (pid == 0)
        _exit(3);
    waitpid(pid, NULL, 0);
    pid = vfork();
    if (pid == 0)
        _exit(4);
    waitpid(pid, NULL, 0);
    pthread_create(&t, NULL, end_at_once, NULL);
    pthread_join(t, NULL);
    execl("/bin/true", "true", NULL);
    _exit(5);
}

/* What is seen of a traced program and all that it creates. */
struct seen {
    int fork, vfork, vfork_done, clone, exec, exits, ends, last;
};

static void note_event(struct seen *s, int event)
{
    s->fork += event == PTRACE_EVENT_FORK;
    s->vfork += event == PTRACE_EVENT_VFORK;
    s->vfork_done += event == PTRACE_EVENT_VFORK_DONE;
    s->clone += event == PTRACE_EVENT_CLONE;
    s->exec += event == PTRACE_EVENT_EXEC;
    s->exits += event == PTRACE_EVENT_EXIT;
}

static void events(void)
{
    pid_t first = child(event_work, 0x7E), pid;
    struct seen s = {0};
    int status;

    trace(PTRACE_CONT, first, 0, 0);
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        if (!WIFSTOPPED(status)) {
            s.ends++;
            s.last = pid == first ? status : s.last;
            continue;
        }
        note_event(&s, status >> 16);
        if (WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP)
            trace(PTRACE_CONT, pid, 0, 0);
        else
            trace(PTRACE_CONT, pid, 0, (unsigned long)WSTOPSIG(status));
    }
    is(s.fork, 1, "fork is reported");
    is(s.vfork, 1, "vfork");
    is(s.vfork_done, 1, "and that its child uses the memory no more");
    is(s.clone, 1, "a new thread");
    is(s.exec, 1, "exec");
    is(s.exits, 4, "and the exit of each");
    is(s.ends, 4, "whose end is told");
    is(s.last, 0, "the program ends by itself");
}

/* ---- attaching ---- */

static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

static void read_status(pid_t pid, char *state, int *tracer)
{
    char name[32], line[128];
    FILE *f;

    snprintf(name, sizeof(name), "/proc/%d/status", pid);
    f = fopen(name, "r");
    while (f && fgets(line, sizeof(line), f)) {
        (void)sscanf(line, "State: %c", state);
        (void)sscanf(line, "TracerPid: %d", tracer);
    }
    if (f)
        fclose(f);
}

static void attaching(void)
{
    pid_t pid = sleeper();
    int tracer = 0;
    char state = 0;

    is(trace(PTRACE_PEEKDATA, pid, (unsigned long)&shared, 0), -1, "it is not traced yet");
    is(errno, ESRCH, "so ESRCH");
    is(trace(PTRACE_ATTACH, pid, 0, 0), 0, "attach");
    is(status_of(pid), SIGSTOP << 8 | 0x7F, "it stops");
    read_status(pid, &state, &tracer);
    is(tracer, getpid(), "/proc names the tracer");
    is(state, 't', "and the state");
    is(trace(PTRACE_ATTACH, pid, 0, 0), -1, "not twice");
    is(errno, EPERM, "EPERM");
    is(trace(PTRACE_CONT, pid, 0, 0), 0, "it goes on");
    is(trace(PTRACE_CONT, pid, 0, 0), -1, "and has not stopped then");
    is(errno, ESRCH, "ESRCH");
    kill(pid, SIGUSR1);
    is(status_of(pid), SIGUSR1 << 8 | 0x7F, "a signal stops it");
    is(trace(PTRACE_DETACH, pid, 0, 0), 0, "detach without it");
    is(waitpid(pid, NULL, WNOHANG), 0, "it runs");
    kill(pid, SIGTERM);
    is(status_of(pid), SIGTERM, "until it is killed");
}

static void seizing(void)
{
    pid_t pid = sleeper();
    int status;

    is(trace(SEIZE, pid, 0, 1u << 20 | 1u << 30), -1, "no such option");
    is(trace(SEIZE, pid, 0, PTRACE_O_EXITKILL), 0, "seize");
    is(waitpid(pid, NULL, WNOHANG), 0, "it does not stop");
    is(trace(INTERRUPT, pid, 0, 0), 0, "until it is interrupted");
    status = status_of(pid);
    ok(TRAPPED(status, EVENT_STOP), "that is an event (%x)", status);
    trace(PTRACE_CONT, pid, 0, 0);
    kill(pid, SIGSTOP);
    is(status_of(pid), SIGSTOP << 8 | 0x7F, "a stop signal is reported");
    is(go(PTRACE_CONT, pid, SIGSTOP), (SIGSTOP | EVENT_STOP << 8) << 8 | 0x7F, "then the stop");
    is(trace(LISTEN, pid, 0, 0), 0, "it stays stopped, and listens");
    is(waitpid(pid, NULL, WNOHANG), 0, "nothing happens");
    kill(pid, SIGCONT);
    status = status_of(pid);
    ok(TRAPPED(status, EVENT_STOP), "SIGCONT ends that (%x)", status);
    is(go(PTRACE_CONT, pid, 0), SIGCONT << 8 | 0x7F, "and is reported itself");
    kill_it(pid);
}

/* ---- permission ---- */

static int refused(long request, pid_t pid) { return trace(request, pid, 0, 0) == -1 ? errno : 0; }

static void as_user(pid_t roots)
{
    pid_t pid;
    int failed = 0;

    if (setgid(1000) || setuid(1000))
        _exit(98);
    failed |= refused(PTRACE_ATTACH, roots) != EPERM;
    failed |= (refused(PTRACE_ATTACH, 1) != EPERM) << 1;
    failed |= (refused(PTRACE_ATTACH, getpid()) != EPERM) << 2;
    failed |= (refused(PTRACE_ATTACH, 999999) != ESRCH) << 3;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        for (;;)
            pause();
    }
    usleep(50000);
    failed |= (refused(PTRACE_ATTACH, pid) != EPERM) << 4;
    kill(pid, SIGKILL);
    _exit(failed);
}

/* A child of user 0 asks to be traced by this process, which is not any more. */
static void as_parent(void)
{
    int ready[2], status;
    char c = 0;
    pid_t pid;

    if (pipe(ready))
        _exit(97);
    pid = fork();
    if (pid == 0)
        _exit(read(ready[0], &c, 1) != 1 || refused(PTRACE_TRACEME, 0) != EPERM);
    if (setgid(1000) || setuid(1000) || write(ready[1], &c, 1) != 1)
        _exit(98);
    _exit(waitpid(pid, &status, 0) != pid || status);
}

static void permission(void)
{
    pid_t roots = sleeper(), pid = fork();

    if (pid == 0)
        as_user(roots);
    is(status_of(pid), 0, "a user traces neither others, nor itself, nor who forbids it");
    kill_it(roots);
    pid = fork();
    if (pid == 0) {
        if (setgid(1000) || setuid(1000))
            _exit(98);
        for (;;)
            pause();
    }
    usleep(50000);
    roots = fork();
    if (roots == 0)
        _exit(setgid(1000) || setuid(1000) ? 98 : refused(PTRACE_ATTACH, pid));
    is(status_of(roots), EPERM << 8, "nor one that was another user's since its last exec");
    is(refused(PTRACE_ATTACH, pid), 0, "root may");
    kill_it(pid);
    pid = fork();
    if (pid == 0)
        as_parent();
    is(status_of(pid), 0, "root is not traced by a parent who is not");
}

/* ---- ends ---- */

/* Trace `pid` in a process of its own, and end that while the tracee runs or has stopped. */
static void end_tracer(pid_t pid, unsigned long options, int stopped)
{
    pid_t tracer = fork();

    if (tracer == 0) {
        int status;

        if (trace(SEIZE, pid, 0, options))
            _exit(1);
        if (stopped && (trace(INTERRUPT, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid))
            _exit(2);
        _exit(0);
    }
    is(status_of(tracer), 0, "a tracer ends");
}

static void tracer_ends(void)
{
    pid_t pid = sleeper();

    end_tracer(pid, 0, 0);
    end_tracer(pid, 0, 1);
    is(waitpid(pid, NULL, WNOHANG), 0, "the tracee runs on");
    end_tracer(pid, PTRACE_O_EXITKILL, 1);
    is(status_of(pid), SIGKILL, "unless its end was asked for");
}

static void tracee_killed(void)
{
    pid_t pid = child(spin, PTRACE_O_TRACESYSGOOD);

    kill(pid, SIGKILL);
    is(status_of(pid), SIGKILL, "SIGKILL ends a thread that has stopped for a signal");
    pid = child(call_umask, PTRACE_O_TRACESYSGOOD);
    go(PTRACE_SYSCALL, pid, 0);
    kill(pid, SIGKILL);
    is(status_of(pid), SIGKILL, "at the entry of a call");
    pid = child(call_umask, PTRACE_O_TRACESYSGOOD);
    go(PTRACE_SYSCALL, pid, 0);
    go(PTRACE_SYSCALL, pid, 0);
    is(trace(PTRACE_KILL, pid, 0, 0), 0, "PTRACE_KILL");
    is(status_of(pid), SIGKILL, "at its exit");
}

/* The parent of a traced process is told of its end after the tracer. */
static void zombie_kept(void)
{
    int told[2], go_on[2];
    char c = 0;
    pid_t pid = sleeper(), tracer;

    if (pipe(told) || pipe(go_on))
        return;
    tracer = fork();
    if (tracer == 0) {
        int status = 0;

        if (trace(SEIZE, pid, 0, 0) || kill(pid, SIGTERM) || waitpid(pid, &status, __WALL) != pid ||
            trace(PTRACE_CONT, pid, 0, SIGTERM) ||
            waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) ||
            write(told[1], &c, 1) != 1 || read(go_on[0], &c, 1) != 1)
            _exit(1);
        _exit(waitpid(pid, &status, __WALL) == pid && status == SIGTERM ? 0 : 2);
    }
    is(read(told[0], &c, 1), 1, "the tracer knows of the end");
    is(waitpid(pid, NULL, WNOHANG), 0, "the parent does not");
    is(write(go_on[1], &c, 1), 1, "the tracer asks for it");
    is(status_of(tracer), 0, "and gets it");
    is(status_of(pid), SIGTERM, "and then the parent does");
}

/* ---- interleavings ---- */

static void busy(void)
{
    for (;;) {
        marked();
        syscall(SYS_umask, 022);
        if (fork() == 0)
            _exit(0);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static unsigned long state = 88172645463325252;

static unsigned long draw(unsigned long below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

/* Shared by all. */
static struct common {
    volatile unsigned long count, handled;
} *common;

static void count_handled(int sig)
{
    (void)sig;
    common->handled++;
}

/* A child that makes calls, and counts. */
static pid_t counter(void)
{
    pid_t pid;

    common->count = 0;
    pid = fork();
    if (pid == 0) {
        signal(SIGUSR1, count_handled);
        for (;;) {
            common->count++;
            marked();
            syscall(SYS_umask, 022);
        }
    }
    while (!common->count)
        sched_yield();
    return pid;
}

/* Does it go on counting? */
static int counts(pid_t pid)
{
    unsigned long was = common->count;
    int status;

    for (int k = 0; k < 2000 && common->count < was + 10; k++)
        usleep(1000);
    if (waitpid(pid, &status, WNOHANG) == pid)
        diag("it has ended: %x", status);
    return common->count >= was + 10;
}

/* What a tracer does last, without waiting for what becomes of it. */
static void last_request(pid_t pid, long request)
{
    int status;

    if (trace(SEIZE, pid, 0, 0) || trace(INTERRUPT, pid, 0, 0) ||
        waitpid(pid, &status, __WALL) != pid)
        _exit(1);
    for (unsigned long k = draw(4); k; k--)
        if (go(request, pid, 0) == -1)
            _exit(2);
    if (trace(request, pid, 0, 0))
        _exit(3);
    for (unsigned long k = draw(3000); k; k--)
        marked();
    _exit(0);
}

/* A tracer ends at any moment while its tracee steps, or goes from call to call. */
static void tracer_ends_meanwhile(long request, const char *what)
{
    pid_t pid = counter(), tracer;
    int bad = 0;

    for (int k = 0; k < 60 && !bad; k++) {
        draw(2);
        tracer = fork();
        if (tracer == 0)
            last_request(pid, request);
        if (draw(2)) {
            usleep((useconds_t)draw(3000));
            kill(tracer, SIGKILL);
        }
        bad |= (status_of(tracer) & ~SIGKILL) != 0;
        bad |= !counts(pid) << 1;
    }
    is(bad, 0, "a tracee runs on when its tracer ends %s", what);
    kill_it(pid);
}

/* Another tracer takes over what the first has left listening. */
static void listening_left(void)
{
    pid_t pid = counter(), tracer = fork();
    int status, seen = 0;

    if (tracer == 0) {
        if (trace(SEIZE, pid, 0, 0) || kill(pid, SIGSTOP) ||
            status_of(pid) != (SIGSTOP << 8 | 0x7F) ||
            go(PTRACE_CONT, pid, SIGSTOP) != ((SIGSTOP | EVENT_STOP << 8) << 8 | 0x7F))
            _exit(1);
        _exit(trace(LISTEN, pid, 0, 0) ? 2 : 0);
    }
    is(status_of(tracer), 0, "a tracer lets its tracee listen in a stop, and ends");
    is(trace(SEIZE, pid, 0, 0), 0, "another one seizes it");
    for (int k = 0; k < 2000 && !seen; k++) {
        seen = waitpid(pid, &status, WNOHANG | __WALL) == pid;
        usleep(1000);
    }
    ok(seen && status == ((SIGSTOP | EVENT_STOP << 8) << 8 | 0x7F), "and is told of the stop");
    kill(pid, SIGCONT);
    kill_it(pid);
}

/* PTRACE_INTERRUPT is over with the next stop; in a stop it asks for another one. */
static void interrupts(void)
{
    pid_t pid = counter();
    int status;

    trace(SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD);
    trace(INTERRUPT, pid, 0, 0);
    status = status_of(pid);
    ok(TRAPPED(status, EVENT_STOP), "an interrupted tracee stops");
    is(trace(INTERRUPT, pid, 0, 0), 0, "it is interrupted in the stop");
    status = go(PTRACE_CONT, pid, 0);
    ok(TRAPPED(status, EVENT_STOP), "and stops again (%x)", status);
    is(go(PTRACE_SYSCALL, pid, 0), (SIGTRAP | 0x80) << 8 | 0x7F, "but not a third time");
    kill_it(pid);
}

/* Detach while signals come: each is delivered, by this or by that way. */
static void detach_and_signal(void)
{
    pid_t pid = counter();
    int lost = 0, status;

    for (int k = 0; k < 60 && !lost; k++) {
        unsigned long was = common->handled;
        pid_t sender;

        draw(2);
        if (trace(SEIZE, pid, 0, 0) || trace(INTERRUPT, pid, 0, 0) || status_of(pid) == -1)
            lost = 2;
        sender = fork();
        if (sender == 0) {
            for (unsigned long n = draw(3000); n; n--)
                marked();
            kill(pid, SIGUSR1);
            _exit(0);
        }
        for (unsigned long n = draw(20000); n; n--)
            marked();
        if (trace(PTRACE_DETACH, pid, 0, 0))
            lost = 4;
        waitpid(sender, &status, 0);
        for (int n = 0; n < 2000 && common->handled == was; n++)
            usleep(1000);
        lost |= common->handled != was + 1;
    }
    is(lost, 0, "signals sent while a tracer detaches are delivered once");
    ok(counts(pid), "and the tracee runs");
    kill_it(pid);
}

/* SIGKILL while the tracer looks into a stop, or resumes it. */
static void killed_meanwhile(void)
{
    static const int some[] = {PTRACE_PEEKUSER, PTRACE_SYSCALL, PTRACE_SINGLESTEP, PTRACE_DETACH,
                               PTRACE_GETEVENTMSG};
    int bad = 0;

    for (int k = 0; k < 40 && !bad; k++) {
        pid_t pid = child(busy, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT), killer;
        int status;

        draw(2);
        killer = fork();
        if (killer == 0) {
            for (unsigned long n = draw(20000); n; n--)
                marked();
            _exit(kill(pid, SIGKILL) != 0);
        }
        while (!bad && trace(some[draw(5)], pid, draw(66), 0) != -1)
            if (waitpid(pid, &status, WNOHANG | __WALL) == pid && !WIFSTOPPED(status))
                bad = status != SIGKILL;
        bad |= errno && errno != ESRCH && errno != EFAULT;
        waitpid(killer, NULL, 0);
        while ((killer = waitpid(-1, &status, __WALL)) > 0)
            if (WIFSTOPPED(status))
                kill(killer, SIGKILL);
    }
    is(bad, 0, "a tracee is killed while its tracer looks and resumes");
}

/* ---- exec by another thread ---- */

static void *exec_true(void *arg)
{
    execl("/bin/true", "true", NULL);
    return arg;
}

static void exec_by_thread(void)
{
    pthread_t t;

    pthread_create(&t, NULL, exec_true, NULL);
    for (;;)
        pause();
}

/* What the tracer sees until the program ends: how often each. */
static void exec_by_other(unsigned long request, const char *what)
{
    pid_t first = child(exec_by_thread, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC), other = 0, pid;
    unsigned long was = 0;
    int execs = 0, by_other = 0, ends = 0, status;

    trace((long)request, first, 0, 0);
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        if (!WIFSTOPPED(status)) {
            ends++;
            continue;
        }
        if (pid != first)
            other = pid;
        if (status >> 16 == PTRACE_EVENT_EXEC) {
            execs++;
            by_other += pid == first;
            trace(PTRACE_GETEVENTMSG, pid, 0, (unsigned long)&was);
        }
        if (trace((long)request, pid, 0, 0) && errno != ESRCH)
            break;
    }
    is(execs, 1, "exec by another thread %s is reported", what);
    is(by_other, 1, "for the number of the process");
    ok(other && was == (unsigned long)other, "with the thread's own as the message");
    is(ends, 1, "and then only the end of the program");
}

/* ---- the end of a mapping ---- */

#define NOP 0x47FF041Fu

static unsigned *last_page;

static void run_to_the_end(void)
{
    unsigned *last = last_page + 8192 / sizeof(unsigned) - 2;

    ((void (*)(void))last)();
}

static void step_over_end(void)
{
    char *p = mmap(NULL, 2 * 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    unsigned long end = (unsigned long)p + 8192;
    int status = 0;
    pid_t pid;

    last_page = (unsigned *)p;
    last_page[2046] = last_page[2047] = NOP;
    munmap(p + 8192, 8192);
    pid = child(run_to_the_end, 0);
    for (int n = 0; n < 20000 && reg(pid, REG_PC) != end - 8; n++)
        status = go(PTRACE_SINGLESTEP, pid, 0);
    is(reg(pid, REG_PC), end - 8, "the last instruction but one of a mapping");
    is(go(PTRACE_SINGLESTEP, pid, 0), SIGTRAP << 8 | 0x7F, "a step to the last one");
    is(reg(pid, REG_PC), end - 4, "gets there");
    status = go(PTRACE_SINGLESTEP, pid, 0);
    is(status, SIGSEGV << 8 | 0x7F, "behind that there is nothing to execute");
    is(reg(pid, REG_PC), end, "but it was executed");
    kill_it(pid);
    munmap(p, 8192);
}

/* ---- masks ---- */

static void end_22(int sig)
{
    (void)sig;
    _exit(22);
}

static void *wait_for_signal(void *arg)
{
    shared = 6;
    for (;;)
        pause();
    return arg;
}

static void two_threads(void)
{
    pthread_t t;

    signal(SIGUSR1, end_22);
    pthread_create(&t, NULL, wait_for_signal, NULL);
    while (shared == 5)
        sched_yield();
    usleep(1000);
    for (;;)
        syscall(SYS_umask, 022);
}

/* A signal that was meant for the tracee, which is made to block it, goes to another thread. */
static void mask_set(void)
{
    unsigned long mask = 1ul << (SIGUSR1 - 1);
    pid_t pid = child(two_threads, PTRACE_O_TRACESYSGOOD);
    int status = -1;

    trace(PTRACE_CONT, pid, 0, 0);
    usleep(50000);
    kill(pid, SIGSTOP);
    is(status_of(pid), SIGSTOP << 8 | 0x7F, "one of two threads stops");
    is(go(PTRACE_SYSCALL, pid, 0), (SIGTRAP | 0x80) << 8 | 0x7F, "at a call");
    kill(pid, SIGUSR1);
    is(trace(PTRACE_SETSIGMASK, pid, 8, (unsigned long)&mask), 0, "it is made to block a signal");
    trace(PTRACE_CONT, pid, 0, 0);
    for (int k = 0; k < 2000 && waitpid(pid, &status, WNOHANG) == 0; k++)
        usleep(1000);
    is(status, 22 << 8, "that has come for it: another thread takes it");
    kill_it(pid);
}

/* ---- random requests ---- */

#define TRACEES  4
#define REQUESTS 1500

static unsigned long word(void)
{
    static unsigned long room[64];
    const unsigned long some[] = {0,
                                  1,
                                  30,
                                  64,
                                  65,
                                  128,
                                  (unsigned long)&shared,
                                  (unsigned long)marked,
                                  (unsigned long)room,
                                  ~0ul,
                                  1ul << 42,
                                  0xFFFFFC0000310000,
                                  0xFFFFFE0000000000,
                                  PTRACE_O_TRACESYSGOOD};

    return draw(4) ? some[draw(sizeof(some) / sizeof(some[0]))] : draw(~0ul);
}

static pid_t tracees[TRACEES];

/* Something was reported: resume it, or end it. */
static void answer(pid_t pid, int status)
{
    if (WIFSTOPPED(status)) {
        (void)trace(draw(2) ? PTRACE_CONT : PTRACE_SYSCALL, pid, 0, 0);
        if (draw(8) == 0)
            kill(pid, SIGKILL);
        return;
    }
    for (int k = 0; k < TRACEES; k++)
        if (tracees[k] == pid)
            tracees[k] = 0;
}

static void random_requests(void)
{
    static const int usual[] = {1,      2,  3,      4,      5,      6,      7,
                                9,      24, 0x4200, 0x4201, 0x4202, 0x4203, 0x4207,
                                0x4208, 16, 17,     0x420A, 0x420B};
    int worked = 0, status;
    pid_t pid;

    for (int n = 0; n < REQUESTS; n++) {
        int k = (int)draw(TRACEES);
        long request = draw(20) ? usual[draw(sizeof(usual) / sizeof(usual[0]))]
                                : (long)draw(0x5000);
        unsigned long data = draw(3) ? 0 : word();

        if (data == (unsigned long)&shared)
            data = 0; /* this program's own would be written */
        if (!tracees[k])
            tracees[k] = child(busy, draw(2) ? 0x7F : 1);
        (void)trace(request, tracees[k], word(), data);
        worked += errno == 0;
        if (errno == ESRCH) { /* it runs, or listens */
            kill(tracees[k], SIGUSR1);
            usleep(500);
        }
        if (draw(3) == 0 && (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
            answer(pid, status);
    }
    for (int k = 0; k < TRACEES; k++)
        if (tracees[k])
            kill(tracees[k], SIGKILL);
    while ((pid = waitpid(-1, &status, __WALL)) > 0)
        if (WIFSTOPPED(status))
            kill(pid, SIGKILL);
    ok(worked > REQUESTS / 20, "%d of %d random requests succeeded", worked, REQUESTS);
}

static void bad_pointers(void)
{
    pid_t pid = child(spin, 0);
    struct iovec bad = {(void *)64, 8}, good = {(void *)&shared, 4};

    is(trace(PTRACE_GETSIGINFO, pid, 0, 64), -1, "siginfo goes to a bad address");
    is(errno, EFAULT, "EFAULT");
    is(trace(PTRACE_GETEVENTMSG, pid, 0, 0xFFFFFC0000310000), -1,
       "the message to one of the kernel");
    is(errno, EFAULT, "EFAULT");
    is(process_vm_readv(pid, &bad, 1, &good, 1, 0), -1, "process_vm_readv to a bad address");
    is(errno, EFAULT, "EFAULT");
    is(process_vm_readv(pid, &good, 1, &bad, 1, 0), -1, "and from one");
    is(errno, EFAULT, "EFAULT");
    is(process_vm_readv(pid, &good, 1, &good, 1, 1), -1, "with flags");
    is(errno, EINVAL, "EINVAL");
    is(process_vm_readv(pid, &good, 1025, &good, 1, 0), -1, "with too many parts");
    is(errno, EINVAL, "EINVAL");
    kill_it(pid);
}

int main(void)
{
    alarm(50);
    common = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    calls();
    memory();
    breakpoint();
    registers();
    steps();
    step_race();
    signals();
    events();
    attaching();
    seizing();
    permission();
    tracer_ends();
    tracee_killed();
    zombie_kept();
    bad_pointers();
    tracer_ends_meanwhile(PTRACE_SINGLESTEP, "during a step");
    tracer_ends_meanwhile(PTRACE_SYSCALL, "while it goes on to a call");
    listening_left();
    interrupts();
    detach_and_signal();
    killed_meanwhile();
    exec_by_other(PTRACE_CONT, "");
    exec_by_other(PTRACE_SYSCALL, "that is traced");
    step_over_end();
    mask_set();
    random_requests();
    return tap_done();
}
