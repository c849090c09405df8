/* Message queues of POSIX: mq_overview(7), mq_open(3), mq_unlink(3), mq_send(3), mq_receive(3),
   mq_notify(3), mq_getattr(3), sigevent(7). */
#include "conformance.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>

#define NAME "/conformance"

static char text[9000];

/* The calls themselves: the C library takes the slash off and has checks of its own. */
static int open_raw(const char *name, int flags, mode_t mode, struct mq_attr *a)
{
    return (int)syscall(SYS_mq_open, name, flags, mode, a);
}

static mqd_t make(long most, long size, int flags)
{
    struct mq_attr a = {.mq_maxmsg = most, .mq_msgsize = size};

    mq_unlink(NAME);
    return mq_open(NAME, O_CREAT | O_EXCL | O_RDWR | flags, 0600, &a);
}

static struct timespec soon(long ms)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* A message, as its priority and its text. */
static const char *next(mqd_t q)
{
    static char line[64];
    unsigned priority = 77;
    ssize_t n = mq_receive(q, text, sizeof(text), &priority);

    if (n < 0)
        return strerrorname_np(errno);
    snprintf(line, sizeof(line), "%u %.*s", priority, (int)n, text);
    return line;
}

static void opening(void)
{
    struct mq_attr a = {.mq_maxmsg = 3, .mq_msgsize = 10}, got;
    char name[300] = "/";
    struct stat st;
    mqd_t q;

    mq_unlink(NAME);
    CASE_AS("open of none", mq_open(NAME, O_RDONLY));
    CASE_AS("unlink of none", mq_unlink(NAME));
    CASE_AS("an empty name", open_raw("", O_CREAT | O_RDWR, 0600, NULL));
    CASE_AS("a name with a slash", open_raw("a/b", O_CREAT | O_RDWR, 0600, NULL));
    CASE_AS("a slash", open_raw("/", O_CREAT | O_RDWR, 0600, NULL));
    CASE_AS("the name .", open_raw(".", O_CREAT | O_RDWR, 0600, NULL));
    CASE_AS("the name ..", open_raw("..", O_CREAT | O_RDWR, 0600, NULL));
    CASE_AS("a bad name", open_raw((char *)8, O_CREAT | O_RDWR, 0600, NULL));
    memset(name + 1, 'n', 256);
    CASE_AS("a name of 256 bytes", mq_open(name, O_CREAT | O_RDWR, 0600, NULL));
    name[256] = '\0';
    q = mq_open(name, O_CREAT | O_RDWR, 0600, NULL);
    VALUE_AS("a name of 255 bytes", q >= 0);
    CASE_AS("its unlink", mq_unlink(name));
    CASE_AS("getattr", mq_getattr(q, &got));
    TEXT("default sizes", "%ld %ld %ld %ld", got.mq_flags, got.mq_maxmsg, got.mq_msgsize,
         got.mq_curmsgs);
    mq_close(q);
    CASE_AS("bad attributes", open_raw("conformance", O_CREAT | O_RDWR, 0600, (void *)8));
    a.mq_maxmsg = 0;
    CASE_AS("no messages", mq_open(NAME, O_CREAT | O_RDWR, 0600, &a));
    a.mq_maxmsg = -1;
    CASE_AS("fewer", mq_open(NAME, O_CREAT | O_RDWR, 0600, &a));
    a.mq_maxmsg = 65537;
    CASE_AS("more than root may have", mq_open(NAME, O_CREAT | O_RDWR, 0600, &a));
    a.mq_maxmsg = 3;
    a.mq_msgsize = 0;
    CASE_AS("no bytes", mq_open(NAME, O_CREAT | O_RDWR, 0600, &a));
    a.mq_msgsize = 16777217;
    CASE_AS("more bytes than root may have", mq_open(NAME, O_CREAT | O_RDWR, 0600, &a));
    a.mq_msgsize = 10;
    q = mq_open(NAME, O_CREAT | O_RDWR, 0640, &a);
    VALUE_AS("open", q >= 0);
    CASE_AS("open to make it again", mq_open(NAME, O_CREAT | O_EXCL | O_RDWR, 0600, &a));
    CASE_AS("no access", open_raw("conformance", O_RDWR | O_WRONLY, 0, NULL));
    CASE_AS("fstat", fstat(q, &st));
    TEXT("mode and size", "%o %ld %ld", st.st_mode, (long)st.st_size, (long)st.st_nlink);
    CASE_AS("close on exec", fcntl(q, F_GETFD));
    CASE_AS("flags", fcntl(q, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
    CASE_AS("write", write(q, "x", 1));
    CASE_AS("mmap", mmap(NULL, 8192, PROT_READ, MAP_SHARED, q, 0) == MAP_FAILED ? -1 : 0);
    CASE_AS("unlink", mq_unlink(NAME));
    CASE_AS("send after the unlink", mq_send(q, "x", 1, 0));
    CASE_AS("close", mq_close(q));
    CASE_AS("close again", mq_close(q));
}

static void limits(void)
{
    struct rlimit r = {0, 0}, few = {8192, 8192};
    struct mq_attr a = {.mq_maxmsg = 10, .mq_msgsize = 8192};

    CASE_AS("getrlimit", getrlimit(RLIMIT_MSGQUEUE, &r));
    VALUE_AS("RLIMIT_MSGQUEUE", (long)r.rlim_cur);
    setrlimit(RLIMIT_MSGQUEUE, &few);
    CASE_AS("more than RLIMIT_MSGQUEUE", mq_open(NAME, O_CREAT | O_RDWR, 0600, &a));
}

static void nobody(void)
{
    struct mq_attr a = {.mq_maxmsg = 11, .mq_msgsize = 10};

    if (setuid(65534))
        _exit(1);
    CASE_AS("open of another's", mq_open(NAME, O_RDONLY));
    CASE_AS("for writing", mq_open(NAME, O_WRONLY) >= 0 ? 0 : -1);
    CASE_AS("unlink of another's", mq_unlink(NAME));
    CASE_AS("more messages than users may have", mq_open("/other", O_CREAT | O_RDWR, 0600, &a));
    a = (struct mq_attr){.mq_maxmsg = 10, .mq_msgsize = 8193};
    CASE_AS("more bytes", mq_open("/other", O_CREAT | O_RDWR, 0600, &a));
    VALUE_AS("one's own", mq_open("/other", O_CREAT | O_RDWR, 0, NULL) >= 0);
    CASE_AS("without permissions", mq_open("/other", O_RDONLY));
    CASE_AS("unlink of one's own", mq_unlink("/other"));
}

static void permissions(void)
{
    mqd_t q;

    umask(0);
    mq_unlink(NAME);
    mq_unlink("/other");
    q = mq_open(NAME, O_CREAT | O_RDWR, 0602, NULL);
    in_child("another user", nobody);
    mq_close(q);
    mq_unlink(NAME);
    umask(022);
}

static void messages(void)
{
    mqd_t q = make(4, 10, O_NONBLOCK), reader = mq_open(NAME, O_RDONLY | O_NONBLOCK);
    mqd_t writer = mq_open(NAME, O_WRONLY | O_NONBLOCK);
    struct mq_attr a;

    VALUE_AS("opened", q >= 0 && reader >= 0 && writer >= 0);
    CASE_AS("receive of nothing", mq_receive(q, text, 10, NULL));
    CASE_AS("priority 1", mq_send(q, "one", 3, 1));
    CASE_AS("priority 5", mq_send(q, "five", 4, 5));
    CASE_AS("again", mq_send(q, "more", 4, 5));
    CASE_AS("no bytes", mq_send(q, "", 0, 0));
    CASE_AS("full", mq_send(q, "x", 1, 0));
    CASE_AS("getattr", mq_getattr(q, &a));
    TEXT("attributes", "%d %ld %ld %ld", a.mq_flags == O_NONBLOCK, a.mq_maxmsg, a.mq_msgsize,
         a.mq_curmsgs);
    TEXT("the first", "%s", next(q));
    TEXT("the second", "%s", next(reader));
    TEXT("the third", "%s", next(q));
    TEXT("the last", "%s", next(q));
    TEXT("no more", "%s", next(q));
    CASE_AS("priority 32767", mq_send(q, "x", 1, 32767));
    CASE_AS("priority 32768", mq_send(q, "x", 1, 32768));
    CASE_AS("priority -1", mq_send(q, "x", 1, -1u));
    CASE_AS("too long", mq_send(q, text, 11, 0));
    CASE_AS("a bad text", mq_send(q, (char *)8, 4, 0));
    CASE_AS("a short buffer", mq_receive(q, text, 9, NULL));
    CASE_AS("a bad buffer", mq_receive(q, (char *)8, 10, NULL));
    CASE_AS("has lost it", mq_receive(q, text, 10, NULL));
    CASE_AS("send by a reader", mq_send(reader, "x", 1, 0));
    CASE_AS("receive by a writer", mq_receive(writer, text, 10, NULL));
    CASE_AS("send to no queue", mq_send(1, "x", 1, 0));
    CASE_AS("receive from no queue", mq_receive(0, text, 10, NULL));
    CASE_AS("getattr of no queue", mq_getattr(1, &a));
    CASE_AS("send to no descriptor", mq_send(999, "x", 1, 0));
    mq_close(q);
    mq_close(reader);
    mq_close(writer);
}

static void attributes(void)
{
    mqd_t q = make(2, 10, 0), other = mq_open(NAME, O_RDWR);
    struct mq_attr a = {.mq_flags = O_NONBLOCK, .mq_maxmsg = 99, .mq_msgsize = 99}, was;

    CASE_AS("setattr", mq_setattr(q, &a, &was));
    TEXT("before", "%ld %ld %ld %ld", was.mq_flags, was.mq_maxmsg, was.mq_msgsize, was.mq_curmsgs);
    CASE_AS("getattr after it", mq_getattr(q, &a));
    TEXT("after", "%d %ld %ld %ld", a.mq_flags == O_NONBLOCK, a.mq_maxmsg, a.mq_msgsize,
         a.mq_curmsgs);
    CASE_AS("of another open file", mq_getattr(other, &a));
    VALUE_AS("its flags", a.mq_flags);
    a.mq_flags = O_NONBLOCK | 1;
    CASE_AS("other flags", mq_setattr(q, &a, NULL));
    a.mq_flags = 0;
    CASE_AS("to block again", mq_setattr(q, &a, NULL));
    VALUE_AS("flags of fcntl", fcntl(q, F_GETFL) & O_NONBLOCK);
    CASE_AS("bad attributes", syscall(SYS_mq_getsetattr, q, 8, NULL));
    CASE_AS("bad place", syscall(SYS_mq_getsetattr, q, NULL, 8));
    mq_close(q);
    mq_close(other);
}

static void times(void)
{
    mqd_t q = make(1, 10, 0);
    struct timespec t = soon(30), past = {1, 0}, bad = {1, 1000000000}, negative = {-1, 0};

    CASE_AS("receive until later", mq_timedreceive(q, text, 10, NULL, &t));
    CASE_AS("receive until earlier", mq_timedreceive(q, text, 10, NULL, &past));
    CASE_AS("receive until no time", mq_timedreceive(q, text, 10, NULL, &bad));
    CASE_AS("receive until before 1970", mq_timedreceive(q, text, 10, NULL, &negative));
    CASE_AS("a bad time", mq_timedreceive(q, text, 10, NULL, (void *)8));
    CASE_AS("send with room", mq_timedsend(q, "x", 1, 0, &past));
    CASE_AS("send with no time", mq_timedsend(q, "x", 1, 0, &bad));
    t = soon(30);
    CASE_AS("send until later", mq_timedsend(q, "x", 1, 0, &t));
    CASE_AS("receive what is there", mq_timedreceive(q, text, 10, NULL, &past));
    mq_close(q);
}

/* Two processes that wait for each other. */
static void waiting(void)
{
    mqd_t q = make(1, 10, 0);
    pid_t pid;
    int status;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        usleep(30000);
        _exit(mq_send(q, "late", 4, 3) != 0);
    }
    TEXT("a receiver that waited", "%s", next(q));
    waitpid(pid, &status, 0);
    VALUE_AS("its sender", status);
    mq_send(q, "1", 1, 0);
    pid = fork();
    if (pid == 0)
        _exit(mq_send(q, "2", 1, 9) != 0);
    usleep(30000);
    TEXT("the first message", "%s", next(q));
    TEXT("of a sender that waited", "%s", next(q));
    waitpid(pid, &status, 0);
    VALUE_AS("it", status);
    mq_close(q);
}

static void polling(void)
{
    mqd_t q = make(1, 10, O_NONBLOCK);
    struct pollfd p = {.fd = q, .events = POLLIN | POLLOUT};

    CASE_AS("poll of an empty queue", poll(&p, 1, 0));
    VALUE_AS("can be written", p.revents);
    mq_send(q, "x", 1, 0);
    CASE_AS("poll of a full queue", poll(&p, 1, 0));
    VALUE_AS("can be read", p.revents);
    mq_close(q);
}

static int take(siginfo_t *info, int ms)
{
    struct timespec t = {0, ms * 1000000l};
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    memset(info, 0, sizeof(*info));
    return sigtimedwait(&s, info, &t);
}

static void notices(void)
{
    mqd_t q = make(4, 10, O_NONBLOCK), other = mq_open(NAME, O_RDWR);
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    siginfo_t info;
    sigset_t s;
    pid_t pid;
    int status;

    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigprocmask(SIG_BLOCK, &s, NULL);
    e.sigev_value.sival_int = 42;
    CASE_AS("notify of no queue", mq_notify(1, &e));
    CASE_AS("of no descriptor", mq_notify(999, &e));
    CASE_AS("a bad event", syscall(SYS_mq_notify, q, 8));
    CASE_AS("no notice to end", mq_notify(q, NULL));
    CASE_AS("notify", mq_notify(q, &e));
    CASE_AS("again", mq_notify(other, &e));
    mq_send(q, "x", 1, 0);
    VALUE_AS("the signal", take(&info, 900) == SIGUSR1);
    TEXT("says", "%d %d %d", info.si_code == SI_MESGQ, info.si_pid == getpid(),
         info.si_value.sival_int);
    mq_send(q, "x", 1, 0);
    CASE_AS("only once", take(&info, 0));
    CASE_AS("ask again", mq_notify(q, &e));
    mq_send(q, "x", 1, 0);
    CASE_AS("the queue was not empty", take(&info, 0));
    while (mq_receive(q, text, 10, NULL) >= 0)
        ;
    pid = fork();
    if (pid == 0)
        _exit(mq_notify(q, &e) == -1 && errno == EBUSY && mq_notify(q, NULL) == 0 ? 7 : 8);
    waitpid(pid, &status, 0);
    VALUE_AS("another process cannot ask", WEXITSTATUS(status));
    pid = fork();
    if (pid == 0)
        _exit(mq_send(q, "x", 1, 0));
    waitpid(pid, &status, 0);
    VALUE_AS("a message of another process", take(&info, 900) == SIGUSR1);
    VALUE_AS("names it", info.si_pid == pid);
    while (mq_receive(q, text, 10, NULL) >= 0)
        ;
    CASE_AS("ask", mq_notify(q, &e));
    mq_close(mq_open(NAME, O_RDWR));
    mq_send(q, "x", 1, 0);
    CASE_AS("after a close of the queue", take(&info, 0));
    while (mq_receive(q, text, 10, NULL) >= 0)
        ;
    CASE_AS("ask once more", mq_notify(q, &e));
    CASE_AS("and end it", mq_notify(q, NULL));
    mq_send(q, "x", 1, 0);
    CASE_AS("no signal", take(&info, 0));
    e.sigev_signo = 65;
    CASE_AS("signal 65", mq_notify(q, &e));
    e.sigev_signo = -1;
    CASE_AS("signal -1", mq_notify(q, &e));
    e.sigev_notify = 77;
    CASE_AS("no such event", mq_notify(q, &e));
    e.sigev_notify = SIGEV_NONE;
    CASE_AS("SIGEV_NONE", mq_notify(q, &e));
    CASE_AS("takes the place", mq_notify(other, &e));
    mq_close(q);
    mq_close(other);
    mq_unlink(NAME);
}

static void threads(void)
{
    mqd_t q = make(4, 10, O_NONBLOCK);
    struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_signo = 0};

    CASE_AS("SIGEV_THREAD without a cookie", syscall(SYS_mq_notify, q, &e));
    e.sigev_value.sival_ptr = text;
    e.sigev_signo = 999;
    CASE_AS("without a descriptor", syscall(SYS_mq_notify, q, &e));
    e.sigev_signo = q;
    CASE_AS("without a socket", syscall(SYS_mq_notify, q, &e));
    mq_close(q);
    mq_unlink(NAME);
}

int main(void)
{
    cases_begin();
    opening();
    permissions();
    messages();
    attributes();
    times();
    waiting();
    polling();
    notices();
    threads();
    in_child("limits", limits);
    return 0;
}
