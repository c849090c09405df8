/* Files that stand for processes: pidfd_open, pidfd_send_signal, clone with CLONE_PIDFD, waitid
   with P_PIDFD; from pidfd_open(2), pidfd_send_signal(2), clone(2), waitid(2). */
#include "conformance.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define WAIT_PIDFD 3

static int open_pid(pid_t pid, unsigned flags) { return (int)syscall(SYS_pidfd_open, pid, flags); }

static int send_signal(int fd, int sig, siginfo_t *info, unsigned flags)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, sig, info, flags);
}

static int polled(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) < 0 ? -1 : p.revents & POLLIN;
}

/* A child that waits for a signal. */
static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

static void *thread(void *arg)
{
    *(pid_t *)arg = gettid();
    pause();
    return NULL;
}

static void opening(void)
{
    pid_t pid = sleeper(), tid = 0;
    pthread_t t;
    struct stat st;
    char c;
    int fd = open_pid(pid, 0);

    VALUE_AS("pidfd_open", fd >= 0);
    VALUE_AS("it is closed by exec", fcntl(fd, F_GETFD));
    VALUE_AS("flags", fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
    CASE_AS("read", read(fd, &c, 1));
    CASE_AS("write", write(fd, &c, 1));
    CASE_AS("lseek", lseek(fd, 0, SEEK_SET));
    CASE_AS("fstat", fstat(fd, &st));
    CASE_AS("ioctl", ioctl(fd, FIONREAD, &c));
    CASE_AS("pidfd_open of 0", open_pid(0, 0));
    CASE_AS("pidfd_open of -1", open_pid(-1, 0));
    CASE_AS("pidfd_open of nobody", open_pid(0x3FFFFFFF, 0));
    CASE_AS("unknown flags", open_pid(pid, 1 << 20));
    pthread_create(&t, NULL, thread, &tid);
    while (!__atomic_load_n(&tid, __ATOMIC_RELAXED))
        usleep(1000);
    CASE_AS("pidfd_open of a thread", open_pid(tid, 0));
    VALUE_AS("poll of one that lives", polled(fd, 0));
    CASE_AS("signal 0", send_signal(fd, 0, NULL, 0));
    CASE_AS("a signal that does not exist", send_signal(fd, 65, NULL, 0));
    CASE_AS("flags of a signal", send_signal(fd, 0, NULL, 8));
    CASE_AS("a signal to a file", send_signal(open("/dev/null", O_RDONLY), 0, NULL, 0));
    CASE_AS("a signal to nothing", send_signal(-1, 0, NULL, 0));
    CASE_AS("a bad siginfo", send_signal(fd, SIGUSR1, (void *)8, 0));
    CASE_AS("a siginfo of another signal",
            send_signal(fd, SIGUSR1, &(siginfo_t){.si_signo = SIGUSR2, .si_code = SI_QUEUE}, 0));
    CASE_AS("a siginfo of the kernel",
            send_signal(fd, SIGUSR1, &(siginfo_t){.si_signo = SIGUSR1, .si_code = SI_KERNEL}, 0));
    CASE_AS("SIGKILL", send_signal(fd, SIGKILL, NULL, 0));
    VALUE_AS("poll of one that ends", polled(fd, 2000));
    CASE_AS("pidfd_open of a zombie", open_pid(pid, 0) < 0 ? -1 : 0);
    CASE_AS("a signal to a zombie", send_signal(fd, SIGUSR1, NULL, 0));
    waitpid(pid, NULL, 0);
    VALUE_AS("poll when it was waited for", polled(fd, 0));
    CASE_AS("a signal then", send_signal(fd, 0, NULL, 0));
    CASE_AS("pidfd_open then", open_pid(pid, 0));
    close(fd);
}

static int get_file(int fd, int target, unsigned flags)
{
    return (int)syscall(SYS_pidfd_getfd, fd, target, flags);
}

static void getting(void)
{
    int pair[2], own, fd;
    pid_t pid;
    char c;

    pipe(pair);
    pid = fork();
    if (pid == 0) {
        dup2(pair[0], 77);
        write(pair[1], "x", 1);
        for (;;)
            pause();
    }
    poll(&(struct pollfd){.fd = pair[0], .events = POLLIN}, 1, 2000);
    fd = open_pid(pid, 0);
    own = get_file(fd, 77, 0);
    VALUE_AS("pidfd_getfd", own >= 0);
    VALUE_AS("it is closed by exec, too", fcntl(own, F_GETFD));
    CASE_AS("read of what the other has", read(own, &c, 1));
    CASE_AS("pidfd_getfd of what is not open", get_file(fd, 78, 0));
    CASE_AS("pidfd_getfd of -1", get_file(fd, -1, 0));
    CASE_AS("pidfd_getfd with flags", get_file(fd, 77, 1));
    CASE_AS("pidfd_getfd of no process", get_file(pair[0], 77, 0));
    CASE_AS("pidfd_getfd of nothing", get_file(-1, 77, 0));
    kill(pid, SIGKILL);
    polled(fd, 2000);
    waitpid(pid, NULL, 0);
    CASE_AS("pidfd_getfd when it has ended", get_file(fd, 77, 0));
    close(fd);
    close(own);
    close(pair[0]);
    close(pair[1]);
}

static void waiting(void)
{
    pid_t pid = fork();
    siginfo_t info = {0};
    struct epoll_event e = {EPOLLIN, {0}};
    int fd, ep = epoll_create1(0);

    if (pid == 0) {
        usleep(20000);
        _exit(3);
    }
    fd = open_pid(pid, 0);
    CASE_AS("epoll of a pidfd", epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
    CASE_AS("WNOHANG", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG));
    VALUE_AS("nobody yet", info.si_pid);
    CASE_AS("epoll_wait", epoll_wait(ep, &e, 1, 2000));
    CASE_AS("waitid, to look", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED | WNOWAIT));
    VALUE_AS("who", info.si_pid == pid);
    CASE_AS("waitid", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED));
    TEXT("how", "%d %d %d", info.si_signo == SIGCHLD, info.si_code, info.si_status);
    CASE_AS("waitid again", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED));
    CASE_AS("waitid of a file", waitid(WAIT_PIDFD, (id_t)ep, &info, WEXITED));
    CASE_AS("waitid of nothing", waitid(WAIT_PIDFD, 1000, &info, WEXITED));
    CASE_AS("waitid of no descriptor", waitid(WAIT_PIDFD, (id_t)-1, &info, WEXITED));
    close(fd);
    fd = open_pid(getppid(), 0);
    CASE_AS("waitid of the parent", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED));
    close(fd);
    pid = sleeper();
    fd = open_pid(pid, O_NONBLOCK);
    VALUE_AS("one that does not wait", fd >= 0);
    CASE_AS("its waitid", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED));
    CASE_AS("its waitid with WNOHANG", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG));
    kill(pid, SIGKILL);
    polled(fd, 2000);
    CASE_AS("its waitid at the end", waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED));
    close(fd);
}

static long make(unsigned long flags, int *fd)
{
    long pid = syscall(SYS_clone, flags, 0, fd, 0, 0);

    if (pid == 0)
        _exit(fcntl(*fd, F_GETFD) < 0 ? 0 : 1);
    return pid;
}

static void cloning(void)
{
    int fd = -1, status = -1;
    long pid = make(CLONE_PIDFD | SIGCHLD, &fd);

    VALUE_AS("clone", pid > 0);
    VALUE_AS("its file", fd >= 0);
    VALUE_AS("it is closed by exec", fcntl(fd, F_GETFD));
    VALUE_AS("poll", polled(fd, 2000));
    waitpid((pid_t)pid, &status, 0);
    VALUE_AS("the child does not have it", status);
    CASE_AS("a signal when it has ended", send_signal(fd, 0, NULL, 0));
    CASE_AS("with CLONE_PARENT_SETTID", make(CLONE_PIDFD | CLONE_PARENT_SETTID | SIGCHLD, &fd));
    CASE_AS("with CLONE_DETACHED", make(CLONE_PIDFD | CLONE_DETACHED | SIGCHLD, &fd));
    close(fd);
}

static void by_another(void)
{
    int fd = open_pid(getppid(), 0);

    setresuid(65534, 65534, 65534);
    CASE_AS("a signal to another user", send_signal(fd, SIGUSR1, NULL, 0));
    CASE_AS("a descriptor of another user", get_file(fd, 0, 0));
}

int main(void)
{
    cases_begin();
    opening();
    waiting();
    getting();
    cloning();
    in_child("by another", by_another);
    return 0;
}
