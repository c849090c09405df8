/* Queued signals: sigqueue(3), rt_sigqueueinfo(2), rt_tgsigqueueinfo(2), signal(7). */
#include "conformance.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <time.h>

#define FIRST (SIGRTMIN)
#define OTHER (SIGRTMIN + 1)

static sigset_t both;

static void block(void)
{
    sigemptyset(&both);
    sigaddset(&both, FIRST);
    sigaddset(&both, OTHER);
    sigaddset(&both, SIGUSR1);
    sigprocmask(SIG_BLOCK, &both, NULL);
}

static int queue(int sig, int value)
{
    return sigqueue(getpid(), sig, (union sigval){.sival_int = value});
}

/* Take the next pending signal. */
static void take(const char *name)
{
    siginfo_t i;
    int sig = sigtimedwait(&both, &i, &(struct timespec){0, 0});

    if (sig < 0)
        TEXT(name, "none");
    else
        TEXT(name, "%s%+d code %d value %d own %d", sig < SIGRTMIN ? "USR1" : "RT",
             sig < SIGRTMIN ? 0 : sig - SIGRTMIN, i.si_code,
             i.si_code == SI_USER ? 0 : i.si_value.sival_int, i.si_pid == getpid());
}

static void order(void)
{
    block();
    CASE_AS("queue a value", queue(OTHER, 1));
    CASE_AS("queue another", queue(OTHER, 2));
    CASE_AS("queue for a signal with a lower number", queue(FIRST, 3));
    CASE_AS("queue a third", queue(OTHER, 4));
    take("lowest number first");
    take("then in the order they were sent");
    take("then in the order they were sent");
    take("then in the order they were sent");
    take("nothing is left");
    CASE_AS("queue a standard signal", queue(SIGUSR1, 5));
    CASE_AS("and again", queue(SIGUSR1, 6));
    take("it has the first value");
    take("and is pending once");
    kill(getpid(), FIRST);
    kill(getpid(), FIRST);
    queue(FIRST, 7);
    take("sent by kill");
    take("kill queues too");
    take("then sigqueue");
    take("nothing is left");
}

static volatile int handled, values;
static void handler(int sig, siginfo_t *i, void *context)
{
    (void)sig, (void)context;
    handled++;
    values = values * 10 + i->si_value.sival_int;
}

static void deliver(void)
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

    block();
    sigaction(FIRST, &a, NULL);
    for (int k = 1; k <= 5; k++)
        queue(FIRST, k);
    sigprocmask(SIG_UNBLOCK, &both, NULL);
    VALUE_AS("handler calls", handled);
    VALUE_AS("values in order", values);
    sigprocmask(SIG_BLOCK, &both, NULL);
    queue(FIRST, 1);
    queue(FIRST, 2);
    signal(FIRST, SIG_IGN);
    take("SIG_IGN discards what is queued");
    signal(FIRST, SIG_DFL);
    take("SIG_DFL afterwards finds nothing");
    queue(FIRST, 8);
    take("and new ones are queued");
}

static void by_descriptor(void)
{
    struct signalfd_siginfo i[3];
    int fd;

    block();
    fd = signalfd(-1, &both, SFD_NONBLOCK);
    queue(FIRST, 11);
    queue(FIRST, 12);
    CASE_AS("signalfd: both at once", read(fd, i, sizeof(i)) / (long)sizeof(*i));
    TEXT("signalfd: values", "%d %d code %d own %d", i[0].ssi_int, i[1].ssi_int, i[0].ssi_code,
         i[0].ssi_pid == (unsigned)getpid());
    CASE_AS("signalfd: empty", read(fd, i, sizeof(i)));
}

static void errors(void)
{
    siginfo_t i = {.si_code = SI_QUEUE};
    int child;

    block();
    CASE_AS("number 65", queue(65, 0));
    CASE_AS("number -1", queue(-1, 0));
    CASE_AS("number 0", queue(0, 0));
    CASE_AS("no such process", sigqueue(1 << 30, FIRST, (union sigval){0}));
    CASE_AS("process 0", syscall(SYS_rt_sigqueueinfo, 0, FIRST, &i));
    CASE_AS("process -1", syscall(SYS_rt_sigqueueinfo, -1, FIRST, &i));
    CASE_AS("bad address", syscall(SYS_rt_sigqueueinfo, getpid(), FIRST, 8));
    child = fork();
    if (child == 0)
        for (;;)
            pause();
    CASE_AS("to another process", syscall(SYS_rt_sigqueueinfo, child, FIRST, &i));
    i.si_code = SI_USER;
    CASE_AS("to another as by kill", syscall(SYS_rt_sigqueueinfo, child, FIRST, &i));
    i.si_code = SI_TKILL;
    CASE_AS("to another as by tkill", syscall(SYS_rt_sigqueueinfo, child, FIRST, &i));
    i.si_code = SI_KERNEL;
    CASE_AS("to another as by the kernel", syscall(SYS_rt_sigqueueinfo, child, FIRST, &i));
    CASE_AS("to itself as by the kernel", syscall(SYS_rt_sigqueueinfo, getpid(), FIRST, &i));
    take("it has come");
    i.si_code = SI_QUEUE;
    CASE_AS("thread", syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), FIRST, &i));
    take("it has come");
    CASE_AS("thread 0", syscall(SYS_rt_tgsigqueueinfo, getpid(), 0, FIRST, &i));
    CASE_AS("thread of another process",
            syscall(SYS_rt_tgsigqueueinfo, child, getpid(), FIRST, &i));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (setresuid(1001, 1001, 1001))
        _exit(9);
    CASE_AS("to another user's process", sigqueue(getppid(), FIRST, (union sigval){0}));
    CASE_AS("number 0 to another user's process", sigqueue(getppid(), 0, (union sigval){0}));
}

static void limit(void)
{
    struct rlimit l = {5, 5};

    block();
    if (setresuid(1002, 1002, 1002))
        _exit(9);
    CASE_AS("setrlimit SIGPENDING", setrlimit(RLIMIT_SIGPENDING, &l));
    for (int k = 1; k <= 5; k++)
        if (queue(FIRST, k))
            TEXT("refused too early", "%d", k);
    CASE_AS("one more than the limit", queue(FIRST, 6));
    CASE_AS("kill", kill(getpid(), FIRST));
    take("the first is there");
    CASE_AS("there is room again", queue(FIRST, 7));
    CASE_AS("and no more", queue(FIRST, 8));
}

int main(void)
{
    cases_begin();
    in_child("order", order);
    in_child("delivery", deliver);
    in_child("descriptor", by_descriptor);
    in_child("errors", errors);
    in_child("limit", limit);
    return 0;
}
