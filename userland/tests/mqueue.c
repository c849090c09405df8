// TAP
/*
 * Message queues of POSIX among several processes and users: quotas, waits that end, every message
 * received once and in its order, nothing left over. userland/conformance/mqueue.c has the results
 * of single calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <settled.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tap.h>

#define UID    1000
#define ROUNDS 300u
#define PAIRS  3u

static int reap(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int as_user(int (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(setgid(UID) != 0 || setuid(UID) != 0 ? 97 : fn());
    return reap(pid);
}

static void set_limit(const char *parameter, long value)
{
    if (mega$control(MEGA_CTL_SET_PARAM, (uint64_t)parameter, (uint64_t)value, 0, 0, 0) !=
        SS$_NORMAL)
        bail_out("%s cannot be set", parameter);
}

static mqd_t numbered(int n, long most, long size)
{
    struct mq_attr a = {.mq_maxmsg = most, .mq_msgsize = size};
    char name[32];

    snprintf(name, sizeof(name), "/own%d", n);
    return mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &a);
}

static void forget(int n)
{
    char name[32];

    while (n--) {
        snprintf(name, sizeof(name), "/own%d", n);
        mq_unlink(name);
    }
}

/* ---- quotas ---- */

/* 819,200 bytes: 9 queues of 10 messages of 8192 bytes, with what a message costs beside them. */
static int bytes_of_a_user(void)
{
    mqd_t q[20];
    int n = 0, err;

    while (n < 20 && (q[n] = numbered(n, 10, 8192)) >= 0)
        n++;
    err = errno;
    for (int k = 0; k < n; k++)
        mq_close(q[k]);
    if (n != 9 || err != EMFILE)
        return 1;
    if (numbered(n, 10, 8192) >= 0 || errno != EMFILE)
        return 2; /* queues count until their names are gone, too */
    forget(n);
    return numbered(0, 10, 8192) >= 0 && (forget(1), 1) ? 0 : 3;
}

static int queues_of_a_user(void)
{
    int n = 0, err;

    while (n < 50 && numbered(n, 1, 1) >= 0)
        n++;
    err = errno;
    forget(n);
    return n == 5 && err == ENOSPC ? 0 : 1;
}

static int messages_of_a_user(void)
{
    static char text[8192];
    mqd_t q = numbered(0, 10, 8192);
    int n = 0;

    while (n < 10 && mq_send(q, text, sizeof(text), 0) == 0)
        n++;
    forget(1);
    return n > 0 && n < 10 && errno == ENOMEM ? 0 : 1;
}

static void quotas(void)
{
    is(as_user(bytes_of_a_user), 0, "RLIMIT_MSGQUEUE bounds the sizes of a user's queues");
    set_limit("USER_IPC", 5);
    is(as_user(queues_of_a_user), 0, "USER_IPC their number");
    set_limit("USER_IPC", -1);
    set_limit("USER_NONPAGED", 60000);
    is(as_user(messages_of_a_user), 0, "and USER_NONPAGED the messages in them");
    set_limit("USER_NONPAGED", -1);
    set_limit("USER_MESSAGE_BYTES", 100000);
    is(as_user(bytes_of_a_user), 1, "USER_MESSAGE_BYTES bounds the sizes, too");
    set_limit("USER_MESSAGE_BYTES", -1);
    for (int k = 0; k < 20; k++)
        forget(k + 1);
}

/* ---- waits ---- */

static void killed(void)
{
    mqd_t q = numbered(0, 1, 16);
    char text[16];
    pid_t pid[4];

    for (int k = 0; k < 4; k++) {
        pid[k] = fork();
        if (pid[k] == 0)
            _exit(mq_receive(q, text, sizeof(text), NULL) != 1);
        poll(NULL, 0, 10);
    }
    kill(pid[0], SIGKILL);
    kill(pid[2], SIGKILL);
    is(reap(pid[0]), 1000 + SIGKILL, "a receiver that waits can be killed");
    is(reap(pid[2]), 1000 + SIGKILL, "and one that others wait behind");
    mq_send(q, "x", 1, 0);
    mq_send(q, "x", 1, 0);
    ok(reap(pid[1]) == 0 && reap(pid[3]) == 0, "the others get the messages");
    mq_send(q, "x", 1, 0);
    pid[0] = fork();
    if (pid[0] == 0)
        _exit(mq_send(q, "y", 1, 0));
    poll(NULL, 0, 20);
    kill(pid[0], SIGKILL);
    is(reap(pid[0]), 1000 + SIGKILL, "a sender that waits can be killed");
    is(mq_receive(q, text, sizeof(text), NULL), 1, "what was sent before is there");
    mq_close(q);
    forget(1);
}

/* A process that has asked for a notice and is gone is in nobody's way. */
static void notices(void)
{
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    mqd_t q = numbered(0, 1, 16);
    pid_t pid = fork();

    if (pid == 0) {
        while (mq_notify(q, &e)) /* the parent has just asked */
            poll(NULL, 0, 1);
        pause();
    }
    while (mq_notify(q, &e) == 0) {
        mq_notify(q, NULL);
        poll(NULL, 0, 1);
    }
    is(errno, EBUSY, "one process at a time asks for a notice");
    kill(pid, SIGKILL);
    reap(pid);
    is(mq_notify(q, &e), 0, "one that was killed does not ask any more");
    mq_close(q);
    forget(1);
}

/* ---- order ---- */

struct message {
    unsigned sender, number;
};

static int sender(mqd_t q, unsigned k)
{
    for (unsigned n = 0; n < ROUNDS; n++) {
        struct message m = {k, n};

        if (mq_send(q, (char *)&m, sizeof(m), 1))
            return 1;
    }
    return 0;
}

/* Messages of one sender and priority come in their order. */
static int receiver(mqd_t q)
{
    unsigned next[PAIRS] = {0};

    for (unsigned n = 0; n < ROUNDS; n++) {
        struct message m;

        if (mq_receive(q, (char *)&m, sizeof(m), NULL) != sizeof(m) || m.sender >= PAIRS ||
            m.number < next[m.sender])
            return 1;
        next[m.sender] = m.number + 1;
    }
    return 0;
}

static int traffic(void)
{
    mqd_t q = numbered(0, 4, sizeof(struct message));
    pid_t pid[2 * PAIRS];
    struct mq_attr a;
    int bad = 0;

    for (unsigned k = 0; k < 2 * PAIRS; k++) {
        pid[k] = fork();
        if (pid[k] == 0)
            _exit(k < PAIRS ? sender(q, k) : receiver(q));
    }
    for (unsigned k = 0; k < 2 * PAIRS; k++)
        bad |= reap(pid[k]);
    bad |= mq_getattr(q, &a) || a.mq_curmsgs;
    forget(1);
    return bad;
}

static void order(void)
{
    long before = 0;

    for (int round = 0; round < 2; round++) {
        is(traffic(), 0, "every message is received once, in the order of its sender");
        if (round == 0)
            before = settled_pages();
    }
    is(settled_pages(), before, "and no page is left behind");
}

/* A queue and its messages outlive all processes: the check at the end finds them in order. */
static void left(void)
{
    mqd_t q;

    mq_unlink("/left");
    q = mq_open("/left", O_CREAT | O_RDWR, 0600, NULL);
    ok(mq_send(q, "some text", 9, 1) == 0 && mq_send(q, "other text", 10, 2) == 0, "a queue stays");
    mq_close(q);
}

int main(void)
{
    quotas();
    killed();
    notices();
    order();
    left();
    return tap_done();
}
