// TAP
/*
 * Sockets of AF_UNIX among several processes: nothing is lost or mixed up, ends are noticed,
 * waiting processes can be killed, what only messages hold is closed, and a user cannot have more
 * than its quota. userland/conformance/sockets.c has the results of single calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <tap.h>

#define CLIENTS 6
#define ROUNDS  300
#define UID     1000

static struct sockaddr_un address;
static socklen_t address_bytes;

static void settle(void) { usleep(20000); }

static int reap(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void use_abstract(const char *name)
{
    address = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(address.sun_path + 1, name);
    address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int listener(int type, int backlog)
{
    int fd = socket(AF_UNIX, type, 0);

    if (bind(fd, (void *)&address, address_bytes) != 0 || listen(fd, backlog) != 0)
        bail_out("no listener: %s", strerror(errno));
    return fd;
}

static int client(int type)
{
    int fd = socket(AF_UNIX, type, 0);

    return connect(fd, (void *)&address, address_bytes) == 0 ? fd : -1;
}

/* ---- many clients of a server that answers each in a process of its own ---- */

static void serve(int fd)
{
    uint32_t n[64];
    ssize_t r;

    while ((r = recv(fd, n, sizeof(n), 0)) > 0) {
        for (ssize_t k = 0; k < r / 4; k++)
            n[k]++;
        if (send(fd, n, (size_t)r, 0) != r)
            _exit(1);
    }
    _exit(r == 0 ? 0 : 2);
}

static int ask(int type)
{
    uint32_t n[64], got[64];

    for (int round = 0; round < ROUNDS; round++) {
        int fd = round % 30 == 0 ? client(type) : 3;
        size_t words = 1 + (size_t)round % 64, have = 0;

        if (fd < 0)
            return 1;
        if (fd != 3 && (dup2(fd, 3) != 3 || close(fd) != 0))
            return 2;
        for (size_t k = 0; k < words; k++)
            n[k] = (uint32_t)(round * 1000) + (uint32_t)k;
        if (send(3, n, 4 * words, 0) != (ssize_t)(4 * words))
            return 3;
        while (have < 4 * words) {
            ssize_t r = recv(3, (char *)got + have, sizeof(got) - have, 0);

            if (r <= 0)
                return 4;
            have += (size_t)r;
        }
        for (size_t k = 0; k < words; k++)
            if (got[k] != n[k] + 1)
                return 5;
    }
    return 0;
}

static void clients(int type, const char *kind)
{
    int l, bad = 0, accepted = 0;
    pid_t pid[CLIENTS], server;

    use_abstract("clients");
    l = listener(type, 1);
    server = fork();
    if (server == 0) {
        while (accepted < CLIENTS * ((ROUNDS + 29) / 30)) {
            int fd = accept(l, NULL, NULL);

            if (fd < 0)
                _exit(1);
            accepted++;
            if (fork() == 0)
                serve(fd);
            close(fd);
        }
        while (wait(&accepted) > 0)
            if (accepted != 0)
                _exit(2);
        _exit(0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            dup2(0, 3);
            _exit(ask(type));
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        bad += reap(pid[i]) != 0;
    is(bad, 0, "%d clients of %s get their answers", CLIENTS, kind);
    is(reap(server), 0, "and their servers see their ends");
    close(l);
}

/* ---- much data ---- */

static void bulk(void)
{
    static uint64_t out[4096], in[4096];
    uint64_t next = 0;
    bool right = true;
    int p[2];
    pid_t pid;
    ssize_t r;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, p) != 0)
        bail_out("no pair");
    pid = fork();
    if (pid == 0) {
        close(p[1]);
        for (int round = 0; round < 200; round++) {
            for (unsigned k = 0; k < 4096; k++)
                out[k] = next++;
            if (write(p[0], out, sizeof(out)) != sizeof(out))
                _exit(1);
        }
        _exit(0);
    }
    close(p[0]);
    while ((r = recv(p[1], in, sizeof(in), MSG_WAITALL)) > 0)
        for (ssize_t k = 0; k < r / 8; k++)
            right = right && in[k] == next++;
    ok(right && r == 0 && next == 200 * 4096, "6 MiB come in order through a stream");
    is(reap(pid), 0, "from a writer that waited for space");
    close(p[1]);
}

static void many_senders(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0), bad = 0;
    unsigned count[CLIENTS] = {0};
    pid_t pid[CLIENTS];
    bool right = true;

    use_abstract("senders");
    if (bind(fd, (void *)&address, address_bytes) != 0)
        bail_out("no name");
    for (unsigned i = 0; i < CLIENTS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            int s = i % 2 ? client(SOCK_DGRAM) : socket(AF_UNIX, SOCK_DGRAM, 0);

            for (unsigned n = 0; n < ROUNDS; n++) {
                unsigned m[2] = {i, n};
                struct pollfd p = {s, POLLOUT, 0};

                if (i % 2 && (poll(&p, 1, 20000) != 1 || send(s, m, sizeof(m), 0) != sizeof(m)))
                    _exit(1);
                if (i % 2 == 0 &&
                    sendto(s, m, sizeof(m), 0, (void *)&address, address_bytes) != sizeof(m))
                    _exit(2);
            }
            _exit(0);
        }
    }
    for (unsigned k = 0; k < CLIENTS * ROUNDS; k++) {
        unsigned m[2];

        right = right && recv(fd, m, sizeof(m), 0) == sizeof(m) && m[0] < CLIENTS &&
                m[1] == count[m[0]]++;
    }
    ok(right, "datagrams of %d senders come in the order of each", CLIENTS);
    for (unsigned i = 0; i < CLIENTS; i++)
        bad += reap(pid[i]) != 0;
    is(bad, 0, "who waited for room, in send and in poll");
    close(fd);
}

/* ---- ends ---- */

static void killed(void)
{
    static const char *const names[] = {"recv", "send", "accept", "connect", "recvmsg, many"};
    int p[2], l;

    use_abstract("killed");
    l = listener(SOCK_STREAM, 0);
    client(SOCK_STREAM);
    for (int which = 0; which < 5; which++) {
        pid_t pid;
        static char block[65536];

        socketpair(AF_UNIX, which == 4 ? SOCK_DGRAM : SOCK_STREAM, 0, p);
        pid = fork();
        if (pid == 0) {
            switch (which) {
            case 0:
            case 4:
                recv(p[0], block, 1, 0);
                break;
            case 1:
                while (send(p[0], block, sizeof(block), 0) > 0)
                    ;
                break;
            case 2:
                use_abstract("nobody");
                accept(listener(SOCK_STREAM, 1), NULL, NULL);
                break;
            default:
                for (;;)
                    if (client(SOCK_STREAM) < 0)
                        _exit(1);
            }
            _exit(0);
        }
        settle();
        kill(pid, SIGKILL);
        is(reap(pid), -1, "a process that waits in %s is killed", names[which]);
        close(p[0]);
        close(p[1]);
    }
    close(l);
}

static void on_alarm(int sig) { (void)sig; }

static void interrupted(void)
{
    struct sigaction a = {.sa_handler = on_alarm};
    struct itimerval t = {{0, 0}, {0, 20000}};
    int p[2];
    char c;

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
    ok(read(p[0], &c, 1) < 0 && errno == EINTR, "a signal ends a read");
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
    if (fork() == 0) {
        usleep(60000);
        write(p[1], "x", 1);
        _exit(0);
    }
    is(read(p[0], &c, 1), 1, "or the read is restarted, if the handler says so");
    wait(NULL);
    close(p[0]);
    close(p[1]);
}

/* ---- files in messages ---- */

static int pass(int over, const int *fd, unsigned n)
{
    union {
        struct cmsghdr head;
        char bytes[256];
    } c = {.head = {.cmsg_len = CMSG_LEN(n * sizeof(int)),
                    .cmsg_level = SOL_SOCKET,
                    .cmsg_type = SCM_RIGHTS}};
    struct iovec v = {"f", 1};
    struct msghdr h = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = &c,
                       .msg_controllen = CMSG_SPACE(n * sizeof(int))};

    memcpy(CMSG_DATA(&c.head), fd, n * sizeof(int));
    return sendmsg(over, &h, MSG_DONTWAIT) == 1 ? 0 : errno;
}

static struct mega_account account_of(unsigned uid)
{
    struct mega_account a;

    for (int64_t i = 0; mega$info(MEGA_INFO_ACCOUNT, i, &a, sizeof(a)) == SS$_NORMAL; i++)
        if (a.uid == uid)
            return a;
    return (struct mega_account){.uid = uid};
}

/* The user holds no more files and messages, perhaps after a search. */
static bool all_gone(void)
{
    struct mega_account a;

    for (int k = 0; k < 400; k++) {
        a = account_of(UID);
        if (!a.used[MEGA_QUOTA_FILES] && !a.used[MEGA_QUOTA_FLIGHTS])
            return true;
        usleep(10000);
    }
    diag("%lu files, %lu in messages", (unsigned long)a.used[MEGA_QUOTA_FILES],
         (unsigned long)a.used[MEGA_QUOTA_FLIGHTS]);
    return false;
}

static void cycles(int which)
{
    int p[2], q[2], pipes[2];

    if (setgid(UID) != 0 || setuid(UID) != 0)
        _exit(97);
    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    pipe(pipes);
    switch (which) {
    case 0: /* each end in its own queue, with a pipe */
        pass(p[0], (int[]){p[1], pipes[0], pipes[1]}, 3);
        pass(p[1], &p[0], 1);
        break;
    case 1: /* two pairs in each other's queues */
        socketpair(AF_UNIX, SOCK_DGRAM, 0, q);
        pass(p[0], q, 2);
        pass(q[0], p, 2);
        break;
    case 2: /* in the queue of a connection that is not accepted, of a listener that flies to it */
        use_abstract("cycle");
        q[0] = listener(SOCK_STREAM, 1);
        q[1] = client(SOCK_STREAM);
        pass(q[1], q, 2);
        break;
    default: /* a chain of pairs, each in the queue of the next */
        for (int n = 0; n < 60; n++) {
            socketpair(AF_UNIX, SOCK_STREAM, 0, q);
            pass(q[0], p, 2);
            close(p[0]);
            close(p[1]);
            p[0] = q[0];
            p[1] = q[1];
        }
    }
    _exit(0);
}

static void collected(void)
{
    static const char *const what[] = {"a pair in its own queues", "two pairs in each other's",
                                       "a listener in a connection to it", "a chain of 60 pairs"};

    for (int which = 0; which < 4; which++) {
        pid_t pid = fork();

        if (pid == 0)
            cycles(which);
        reap(pid);
        ok(all_gone(), "nothing is left of %s", what[which]);
    }
}

/* A socket is received from another that was in a message itself, while searches run. */
static void kept(void)
{
    int p[2], q[2], closed[2], bad = 0;
    char c;

    for (int n = 0; n < 200; n++) {
        union {
            struct cmsghdr head;
            char bytes[64];
        } control;
        struct iovec v = {&c, 1};
        struct msghdr h = {.msg_iov = &v,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof(control)};
        int fd;

        socketpair(AF_UNIX, SOCK_STREAM, 0, p);
        socketpair(AF_UNIX, SOCK_STREAM, 0, q);
        bad += write(q[0], "q", 1) != 1;
        bad += pass(p[0], &q[1], 1) != 0;
        close(q[1]);
        socketpair(AF_UNIX, SOCK_STREAM, 0, closed); /* the end of a socket starts a search */
        close(closed[0]);
        close(closed[1]);
        bad += recvmsg(p[1], &h, 0) != 1;
        memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
        bad += read(fd, &c, 1) != 1 || c != 'q';
        close(fd);
        close(q[0]);
        close(p[0]);
        close(p[1]);
    }
    is(bad, 0, "a socket in a message is kept while its receiver is open");
}

static void set_limit(const char *name, long value)
{
    if (mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, (uint64_t)value, 0, 0, 0) != SS$_NORMAL)
        bail_out("%s cannot be set", name);
}

static int exhaust(void)
{
    static char block[60000];
    int p[2], n = 0, err = 0, full = 0;

    if (setgid(UID) != 0 || setuid(UID) != 0)
        return 97;
    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    while (n < 64 && !(err = pass(p[0], &p[0], 1)))
        n++;
    if (n != 40 || err != ETOOMANYREFS)
        return 1;
    for (n = 0; n < 2000 && !full; n++) {
        int q[2];

        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, q) != 0)
            full = errno;
        while (!full && send(q[0], block, sizeof(block), 0) > 0)
            ;
        if (errno != EAGAIN)
            full = errno;
    }
    return full == ENOMEM || full == EMFILE || full == ENFILE ? 0 : 2;
}

static void quotas(void)
{
    pid_t pid;

    set_limit("USER_FLIGHTS", 40);
    set_limit("USER_NONPAGED", 2000000);
    pid = fork();
    if (pid == 0)
        _exit(exhaust());
    is(reap(pid), 0, "a user's messages and the files in them end at its quota");
    set_limit("USER_FLIGHTS", -1);
    set_limit("USER_NONPAGED", -1);
    ok(all_gone(), "and are gone with the user");
}

int main(void)
{
    clients(SOCK_STREAM, "streams");
    clients(SOCK_SEQPACKET, "packets");
    bulk();
    many_senders();
    killed();
    interrupted();
    collected();
    kept();
    quotas();
    return tap_done();
}
