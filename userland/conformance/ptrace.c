/* Tracing: ptrace, and waiting for threads that are traced; from ptrace(2), wait(2), prctl(2),
   process_vm_readv(2). Registers are another matter on each machine: userland/tests/ptrace.c. */
#include "conformance.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

static volatile long shared = 5;

static long trace(long request, pid_t pid, unsigned long addr, unsigned long data)
{
    return ptrace(request, pid, addr, data);
}

/* A status without numbers of signals, which machines have different ones of: 1000 + exit status,
   2000 + signal, or a stop: 100 * event + signal. */
static long told(int status)
{
    static const int known[] = {0,       SIGSTOP, SIGTRAP, SIGTRAP | 0x80, SIGUSR1, SIGUSR2,
                                SIGCONT, SIGCHLD, SIGTERM, SIGKILL,        SIGSEGV};
    int sig = WIFSTOPPED(status) ? WSTOPSIG(status) : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    long k = 0;

    while (k < 11 && known[k] != sig)
        k++;
    if (WIFEXITED(status))
        return 1000 + WEXITSTATUS(status);
    return WIFSIGNALED(status) ? 2000 + k : 100L * (status >> 16) + k;
}

static long wait_for(pid_t pid, int options)
{
    int status = 0;
    pid_t r = waitpid(pid, &status, options);

    return r < 0 ? -1 : r == 0 ? 0 : told(status);
}

/* Resume and wait. */
static long go(long request, pid_t pid, int sig)
{
    return trace(request, pid, 0, (unsigned long)sig) ? -1 : wait_for(pid, __WALL);
}

static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

/* A traced child that has stopped before it calls fn. */
static pid_t child(void (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        trace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        fn();
        _exit(0);
    }
    wait_for(pid, 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) == pid)
        ;
}

static void nothing(void) {}

static void errors(void)
{
    pid_t pid = sleeper();

    CASE_AS("attach to nobody", trace(PTRACE_ATTACH, 999999, 0, 0));
    CASE_AS("attach to itself", trace(PTRACE_ATTACH, getpid(), 0, 0));
    CASE_AS("seize nobody", trace(PTRACE_SEIZE, 999999, 0, 0));
    CASE_AS("seize with an address", trace(PTRACE_SEIZE, pid, 1, 0));
    CASE_AS("seize with bad options", trace(PTRACE_SEIZE, pid, 0, 1ul << 30));
    CASE_AS("continue who is not traced", trace(PTRACE_CONT, pid, 0, 0));
    CASE_AS("peek who is not traced", trace(PTRACE_PEEKDATA, pid, 0, 0));
    CASE_AS("detach who is not traced", trace(PTRACE_DETACH, pid, 0, 0));
    CASE_AS("kill who is not traced", trace(PTRACE_KILL, pid, 0, 0));
    CASE_AS("interrupt who is not traced", trace(PTRACE_INTERRUPT, pid, 0, 0));
    CASE_AS("attach", trace(PTRACE_ATTACH, pid, 0, 0));
    CASE_AS("it stops", wait_for(pid, 0));
    CASE_AS("attach again", trace(PTRACE_ATTACH, pid, 0, 0));
    CASE_AS("seize who is traced", trace(PTRACE_SEIZE, pid, 0, 0));
    CASE_AS("interrupt who was not seized", trace(PTRACE_INTERRUPT, pid, 0, 0));
    CASE_AS("listen to who was not seized", trace(PTRACE_LISTEN, pid, 0, 0));
    CASE_AS("an unknown request", trace(0x7FFF, pid, 0, 0));
    CASE_AS("bad options", trace(PTRACE_SETOPTIONS, pid, 0, 1ul << 30));
    CASE_AS("continue with a bad signal", trace(PTRACE_CONT, pid, 0, 65));
    CASE_AS("detach with a bad signal", trace(PTRACE_DETACH, pid, 0, 65));
    CASE_AS("siginfo to nowhere", trace(PTRACE_GETSIGINFO, pid, 0, 8));
    CASE_AS("siginfo from nowhere", trace(PTRACE_SETSIGINFO, pid, 0, 8));
    CASE_AS("a message to nowhere", trace(PTRACE_GETEVENTMSG, pid, 0, 8));
    CASE_AS("a mask of another size", trace(PTRACE_GETSIGMASK, pid, 4, (unsigned long)&shared));
    CASE_AS("detach", trace(PTRACE_DETACH, pid, 0, 0));
    CASE_AS("continue", trace(PTRACE_CONT, pid, 0, 0));
    end(pid);
}

static void traced_twice(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        long first = trace(PTRACE_TRACEME, 0, 0, 0), second = trace(PTRACE_TRACEME, 0, 0, 0);

        _exit(first != 0 || second != -1 || errno != EPERM);
    }
    CASE_AS("traceme twice", wait_for(pid, 0));
}

static volatile sig_atomic_t handled;
static void handler(int sig) { handled += sig == SIGUSR1; }

static void raises(void)
{
    signal(SIGUSR1, handler);
    signal(SIGUSR2, SIG_IGN);
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGTERM);
    _exit(handled);
}

static void signals(void)
{
    pid_t pid = child(raises);
    siginfo_t info;

    CASE_AS("a signal", go(PTRACE_CONT, pid, 0));
    CASE_AS("its siginfo", trace(PTRACE_GETSIGINFO, pid, 0, (unsigned long)&info));
    VALUE_AS("its code", info.si_code);
    VALUE_AS("its sender", info.si_pid == pid);
    CASE_AS("an ignored one", go(PTRACE_CONT, pid, SIGUSR1));
    CASE_AS("waited for with no option", wait_for(pid, WNOHANG));
    CASE_AS("a fatal one", go(PTRACE_CONT, pid, 0));
    CASE_AS("is left out", go(PTRACE_CONT, pid, 0));
    pid = child(raises);
    go(PTRACE_CONT, pid, 0);
    go(PTRACE_CONT, pid, 0);
    go(PTRACE_CONT, pid, 0);
    CASE_AS("or another is delivered", go(PTRACE_CONT, pid, SIGKILL));
}

static void call(void)
{
    (void)chdir("/nowhere");
    _exit(3);
}

static void calls(void)
{
    pid_t pid = child(call);
    unsigned long message = 9;
    siginfo_t info;

    CASE_AS("set options", trace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD));
    CASE_AS("the entry of a call", go(PTRACE_SYSCALL, pid, 0));
    trace(PTRACE_GETSIGINFO, pid, 0, (unsigned long)&info);
    VALUE_AS("its code", info.si_code == (SIGTRAP | 0x80));
    CASE_AS("its message", trace(PTRACE_GETEVENTMSG, pid, 0, (unsigned long)&message));
    VALUE_AS("message", (long)message);
    CASE_AS("its exit", go(PTRACE_SYSCALL, pid, 0));
    trace(PTRACE_GETEVENTMSG, pid, 0, (unsigned long)&message);
    VALUE_AS("message", (long)message);
    CASE_AS("without the option", trace(PTRACE_SETOPTIONS, pid, 0, 0));
    CASE_AS("the entry of exit", go(PTRACE_SYSCALL, pid, 0));
    CASE_AS("it has no exit", go(PTRACE_SYSCALL, pid, 0));
}

static void forks(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(4);
    waitpid(pid, NULL, 0);
    execl("/bin/true", "true", NULL);
    _exit(5);
}

static void events(void)
{
    pid_t pid = child(forks);
    unsigned long message = 0;

    trace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
    CASE_AS("fork", go(PTRACE_CONT, pid, 0));
    trace(PTRACE_GETEVENTMSG, pid, 0, (unsigned long)&message);
    CASE_AS("its child has stopped", wait_for((pid_t)message, __WALL));
    CASE_AS("the child's exit", go(PTRACE_CONT, (pid_t)message, 0));
    CASE_AS("its message", trace(PTRACE_GETEVENTMSG, (pid_t)message, 0, (unsigned long)&shared));
    VALUE_AS("the status", shared);
    shared = 5;
    CASE_AS("the child's end", go(PTRACE_CONT, (pid_t)message, 0));
    CASE_AS("the parent is told", go(PTRACE_CONT, pid, 0));
    CASE_AS("exec", go(PTRACE_CONT, pid, 0));
    trace(PTRACE_GETEVENTMSG, pid, 0, (unsigned long)&message);
    VALUE_AS("former number", (pid_t)message == pid);
    CASE_AS("exit", go(PTRACE_CONT, pid, 0));
    CASE_AS("end", go(PTRACE_CONT, pid, 0));
}

static void exec_alone(void)
{
    pid_t pid = child(forks);

    CASE_AS("a child that is not traced", go(PTRACE_CONT, pid, 0));
    CASE_AS("exec without the option", go(PTRACE_CONT, pid, 0));
    CASE_AS("then the end", go(PTRACE_CONT, pid, 0));
}

static void seized(void)
{
    pid_t pid = sleeper();
    siginfo_t info;

    CASE_AS("seize", trace(PTRACE_SEIZE, pid, 0, 0));
    CASE_AS("it runs", wait_for(pid, WNOHANG));
    CASE_AS("interrupt", trace(PTRACE_INTERRUPT, pid, 0, 0));
    CASE_AS("it stops", wait_for(pid, 0));
    trace(PTRACE_GETSIGINFO, pid, 0, (unsigned long)&info);
    VALUE_AS("its code", info.si_code == (SIGTRAP | PTRACE_EVENT_STOP << 8));
    CASE_AS("listen there", trace(PTRACE_LISTEN, pid, 0, 0));
    CASE_AS("continue who listens", trace(PTRACE_CONT, pid, 0, 0));
    CASE_AS("it stays stopped", wait_for(pid, WNOHANG));
    CASE_AS("interrupt who listens", trace(PTRACE_INTERRUPT, pid, 0, 0));
    CASE_AS("it stops again", wait_for(pid, 0));
    trace(PTRACE_CONT, pid, 0, 0);
    kill(pid, SIGSTOP);
    CASE_AS("a stop signal", wait_for(pid, 0));
    CASE_AS("the group stop", go(PTRACE_CONT, pid, SIGSTOP));
    CASE_AS("listen", trace(PTRACE_LISTEN, pid, 0, 0));
    CASE_AS("continue who listens", trace(PTRACE_CONT, pid, 0, 0));
    CASE_AS("it stays stopped", wait_for(pid, WNOHANG));
    kill(pid, SIGCONT);
    CASE_AS("the end of the group stop", wait_for(pid, 0));
    CASE_AS("SIGCONT", go(PTRACE_CONT, pid, 0));
    CASE_AS("detach with a signal", trace(PTRACE_DETACH, pid, 0, SIGTERM));
    CASE_AS("which ends it", wait_for(pid, 0));
}

static void group_stop(void)
{
    pid_t pid = sleeper();
    siginfo_t info;

    trace(PTRACE_ATTACH, pid, 0, 0);
    wait_for(pid, 0);
    CASE_AS("deliver SIGSTOP", go(PTRACE_CONT, pid, SIGSTOP));
    CASE_AS("no siginfo there", trace(PTRACE_GETSIGINFO, pid, 0, (unsigned long)&info));
    CASE_AS("continue from it", trace(PTRACE_CONT, pid, 0, 0));
    kill(pid, SIGUSR1);
    CASE_AS("it runs, though stopped", wait_for(pid, 0));
    end(pid);
}

static void memory(void)
{
    pid_t pid = child(nothing);
    long to = 0;
    struct iovec local = {&to, sizeof(to)}, remote = {(void *)&shared, sizeof(shared)};
    struct iovec nowhere = {(void *)8, 8};
    char name[32];
    int fd;

    CASE_AS("peek", trace(PTRACE_PEEKDATA, pid, (unsigned long)&shared, 0));
    CASE_AS("poke", trace(PTRACE_POKEDATA, pid, (unsigned long)&shared, 6));
    CASE_AS("peek", trace(PTRACE_PEEKDATA, pid, (unsigned long)&shared, 0));
    CASE_AS("peek nothing", trace(PTRACE_PEEKDATA, pid, 8, 0));
    CASE_AS("poke nothing", trace(PTRACE_POKEDATA, pid, 8, 0));
    CASE_AS("poke text", trace(PTRACE_POKETEXT, pid, (unsigned long)memory, 0));
    CASE_AS("process_vm_readv", process_vm_readv(pid, &local, 1, &remote, 1, 0));
    VALUE_AS("what it read", to);
    CASE_AS("of nobody", process_vm_readv(999999, &local, 1, &remote, 1, 0));
    CASE_AS("from nowhere", process_vm_readv(pid, &local, 1, &nowhere, 1, 0));
    CASE_AS("to nowhere", process_vm_readv(pid, &nowhere, 1, &remote, 1, 0));
    CASE_AS("with flags", process_vm_readv(pid, &local, 1, &remote, 1, 1));
    CASE_AS("with no parts", process_vm_readv(pid, &local, 0, &remote, 1, 0));
    CASE_AS("with too many", process_vm_readv(pid, &local, 1025, &remote, 1, 0));
    to = 7;
    CASE_AS("process_vm_writev", process_vm_writev(pid, &local, 1, &remote, 1, 0));
    remote.iov_base = (void *)memory;
    CASE_AS("to text", process_vm_writev(pid, &local, 1, &remote, 1, 0));
    snprintf(name, sizeof(name), "/proc/%d/mem", pid);
    fd = open(name, O_RDWR);
    CASE_AS("/proc/PID/mem", pread(fd, &to, 8, (off_t)(uintptr_t)&shared));
    VALUE_AS("what it read", to);
    CASE_AS("its text is written", pwrite(fd, &to, 8, (off_t)(uintptr_t)memory));
    CASE_AS("from nothing", pread(fd, &to, 8, 8));
    close(fd);
    end(pid);
}

static void ends(void)
{
    pid_t pid = child(nothing), other;

    kill(pid, SIGKILL);
    CASE_AS("kill who has stopped", wait_for(pid, 0));
    CASE_AS("wait again", wait_for(pid, 0));
    pid = child(nothing);
    CASE_AS("PTRACE_KILL", trace(PTRACE_KILL, pid, 0, 0));
    CASE_AS("its end", wait_for(pid, 0));
    pid = sleeper();
    other = fork();
    if (other == 0)
        _exit(trace(PTRACE_SEIZE, pid, 0, 0) != 0);
    CASE_AS("a tracer ends", wait_for(other, 0));
    CASE_AS("the thread runs", wait_for(pid, WNOHANG));
    other = fork();
    if (other == 0)
        _exit(trace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) != 0);
    CASE_AS("another ends", wait_for(other, 0));
    CASE_AS("the thread ends", wait_for(pid, 0));
}

static long refused(pid_t pid) { return trace(PTRACE_SEIZE, pid, 0, 0) ? errno == EPERM : 2; }

static void permission(void)
{
    pid_t roots = sleeper(), user = fork();

    if (user == 0) {
        if (setgid(1000) || setuid(1000))
            _exit(9);
        _exit((int)(refused(roots) + 10 * prctl(PR_GET_DUMPABLE)));
    }
    CASE_AS("a user seizes root's, and may be traced", wait_for(user, 0));
    CASE_AS("not dumpable is no hindrance for root", trace(PTRACE_SEIZE, roots, 0, 0));
    end(roots);
}

int main(void)
{
    alarm(CASES_SECONDS);
    CASE_AS("attach to number 0", trace(PTRACE_ATTACH, 0, 0, 0));
    if (errno == ENOSYS)
        return 0; /* under emulation, which has no ptrace */
    errors();
    traced_twice();
    signals();
    calls();
    events();
    exec_alone();
    seized();
    group_stop();
    memory();
    ends();
    permission();
    return 0;
}
