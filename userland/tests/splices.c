// TAP
/*
 * splice, tee and vmsplice by several processes at once: no byte is lost, comes twice or out of
 * order; who waits is woken, and can be killed.
 */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <tap.h>
#include <termios.h>
#include <unistd.h>

#define WORDS   200000u /* through a pipe, in the order of their values */
#define MOVERS  3
#define CIRCLED 20000u

static uint64_t buf[8192];
static pid_t children[16];
static unsigned nchildren;

static pid_t child(void)
{
    pid_t pid = must_fork();

    if (pid)
        children[nchildren++] = pid;
    return pid;
}

/* How many of the children did not end by 0. */
static int gather(void)
{
    int status, bad = 0;

    for (; nchildren; nchildren--)
        bad += waitpid(children[nchildren - 1], &status, 0) < 0 || status != 0;
    return bad;
}

static void must_pipe(int p[2])
{
    if (pipe(p) != 0)
        bail_out("pipe");
}

static uint32_t seed = 7;
static uint32_t draw(uint32_t below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % below;
}

/* Write the words in pieces of any length, half of them by vmsplice. */
static void produce(int fd)
{
    uint64_t next = 0;

    while (next < WORDS) {
        size_t n = 1 + draw(3000), at = 0;

        n = n < WORDS - next ? n : WORDS - next;
        for (size_t k = 0; k < n; k++)
            buf[k] = next++;
        while (at < n * 8) {
            struct iovec v = {(char *)buf + at, n * 8 - at};
            long r = draw(2) ? vmsplice(fd, &v, 1, 0) : write(fd, v.iov_base, v.iov_len);

            if (r <= 0)
                _exit(1);
            at += (size_t)r;
        }
    }
    _exit(0);
}

/* Read all words; 0: they are right. */
static int consume(int fd)
{
    uint64_t next = 0;
    size_t have = 0;

    for (;;) {
        struct iovec v = {(char *)buf + have, 1 + draw(sizeof(buf) - (uint32_t)have - 1)};
        long r = draw(2) ? vmsplice(fd, &v, 1, 0) : read(fd, v.iov_base, v.iov_len);

        if (r < 0)
            return 1;
        if (r == 0)
            return next != WORDS || have;
        have += (size_t)r;
        for (size_t k = 0; k < have / 8; k++)
            if (buf[k] != next++)
                return 2;
        memmove(buf, buf + have / 8, have % 8);
        have %= 8;
    }
}

static void move(int from, int to, unsigned self)
{
    long r;

    seed = self;
    while ((r = splice(from, NULL, to, NULL, 1 + draw(70000), draw(2) ? SPLICE_F_MOVE : 0)) > 0)
        ;
    _exit(r != 0);
}

/* One writes, several move, one reads. */
static void test_order(void)
{
    int a[2], b[2];

    must_pipe(a);
    must_pipe(b);
    if (!child()) {
        close(a[0]), close(b[0]), close(b[1]);
        produce(a[1]);
    }
    for (unsigned k = 1; k <= MOVERS; k++)
        if (!child()) {
            close(a[1]), close(b[0]);
            move(a[0], b[1], k);
        }
    close(a[0]), close(a[1]), close(b[1]);
    is(consume(b[0]), 0, "%u processes move bytes, and all come in order", MOVERS);
    is(gather(), 0, "all ends are seen");
    close(b[0]);
}

/* The same with a file between: it is written by splice and read by splice. */
static void test_file(void)
{
    int a[2], b[2], fd = open("/tmp/spliced", O_RDWR | O_CREAT | O_TRUNC, 0600);
    long r = 1;

    must_pipe(a);
    must_pipe(b);
    if (!child()) {
        close(a[0]);
        produce(a[1]);
    }
    close(a[1]);
    while (r > 0)
        r = splice(a[0], NULL, fd, NULL, 100000, 0);
    is(r, 0, "a file takes all that comes");
    is(lseek(fd, 0, SEEK_CUR), WORDS * 8, "its position is at the end");
    if (!child()) {
        off_t off = 0;

        close(b[0]);
        while ((r = splice(fd, &off, b[1], NULL, 1 + draw(200000), 0)) > 0)
            ;
        _exit(r != 0);
    }
    close(b[1]);
    is(consume(b[0]), 0, "and gives it in order");
    is(gather(), 0, "all ends are seen");
    close(a[0]), close(b[0]), close(fd);
    unlink("/tmp/spliced");
}

/* tee to a second pipe and splice on: both see everything. */
static void test_tee(void)
{
    int a[2], b[2], c[2];

    must_pipe(a);
    must_pipe(b);
    must_pipe(c);
    if (!child()) {
        close(a[0]);
        produce(a[1]);
    }
    close(a[1]);
    if (!child()) {
        long n, m;

        close(b[0]), close(c[0]);
        while ((n = tee(a[0], b[1], 1 + draw(70000), 0)) > 0)
            for (; n > 0; n -= m)
                if ((m = splice(a[0], NULL, c[1], NULL, (size_t)n, 0)) <= 0)
                    _exit(1);
        _exit(n != 0);
    }
    close(b[1]), close(a[0]);
    if (!child()) {
        close(c[1]), close(c[0]);
        _exit(consume(b[0]));
    }
    close(c[1]), close(b[0]);
    is(consume(c[0]), 0, "what was copied by tee goes on in order");
    is(gather(), 0, "and so does the copy");
    close(c[0]);
}

/* Bytes that are moved in a circle by processes of which one is killed now and then: those that
 * wait for room do not block the others, and with nobody killed while it moves none is lost. */
static void test_circle(void)
{
    int a[2], b[2];
    long left;

    must_pipe(a);
    must_pipe(b);
    memset(buf, 1, sizeof(buf));
    if (write(a[1], buf, CIRCLED) != CIRCLED)
        bail_out("write");
    for (unsigned k = 0; k < 4; k++)
        if (!child()) {
            for (unsigned n = 0; n < 3000; n++) {
                long r = splice(k & 1 ? a[0] : b[0], NULL, k & 1 ? b[1] : a[1], NULL,
                                1 + draw(30000), SPLICE_F_NONBLOCK);

                if (r < 0 && errno != EAGAIN)
                    _exit(1);
            }
            _exit(0);
        }
    is(gather(), 0, "pipes are spliced into each other by four processes");
    fcntl(a[0], F_SETFL, O_NONBLOCK);
    fcntl(b[0], F_SETFL, O_NONBLOCK);
    left = read(a[0], buf, sizeof(buf));
    left = (left > 0 ? left : 0);
    for (long r; (r = read(b[0], buf, sizeof(buf))) > 0;)
        left += r;
    is(left, CIRCLED, "and keep all their bytes");
    close(a[0]), close(a[1]), close(b[0]), close(b[1]);
}

static void splice_forever(int from, int to, bool copy)
{
    for (;;)
        if ((copy ? tee(from, to, 65536, 0) : splice(from, NULL, to, NULL, 65536, 0)) < 0)
            _exit(1);
}

static void test_killed(void)
{
    static const char *const names[] = {"an empty pipe", "a full pipe", "tee, a full pipe"};
    int a[2], b[2], status;
    bool alive;

    for (unsigned k = 0; k < 3; k++) {
        pid_t pid;

        must_pipe(a);
        must_pipe(b);
        memset(buf, 1, sizeof(buf));
        if (k && (write(a[1], buf, 65536) != 65536 || write(b[1], buf, 65536) != 65536))
            bail_out("write");
        pid = must_fork();
        if (pid == 0)
            splice_forever(a[0], b[1], k == 2);
        usleep(50000);
        alive = waitpid(pid, &status, WNOHANG) == 0;
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        ok(alive && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s: waits, and is killed",
           names[k]);
        if (k) {
            fcntl(a[0], F_SETFL, O_NONBLOCK);
            is(read(a[0], buf, 65536), 65536, "%s: the bytes are still there", names[k]);
        }
        close(a[0]), close(a[1]), close(b[0]), close(b[1]);
    }
}

/* Processes that move bytes are killed at any moment; the pipe can be read afterwards. */
static void test_killed_moving(void)
{
    int a[2], b[2], fd = open("/tmp/spliced", O_RDWR | O_CREAT | O_TRUNC, 0600);
    unsigned stuck = 0;

    must_pipe(a);
    must_pipe(b);
    for (unsigned n = 0; n < 100; n++) {
        struct pollfd p = {.fd = a[0], .events = POLLIN};
        pid_t pid = must_fork();

        if (pid == 0) {
            fcntl(a[1], F_SETFL, O_NONBLOCK);
            for (;;) {
                (void)!write(a[1], buf, 65536);
                (void)!splice(a[0], NULL, fd, &(off_t){0}, 65536, SPLICE_F_NONBLOCK);
                (void)!splice(a[0], NULL, b[1], NULL, 30000, SPLICE_F_NONBLOCK);
                (void)!splice(b[0], NULL, a[1], NULL, 65536, SPLICE_F_NONBLOCK);
            }
        }
        usleep(1000 + draw(2000));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        while (poll(&p, 1, 0) == 1 && (p.revents & POLLIN)) {
            alarm(20); /* a claim that was left would be waited for without end */
            stuck += read(a[0], buf, sizeof(buf)) <= 0;
        }
    }
    alarm(0);
    is(stuck, 0, "a pipe can be read whoever was killed while he moved its bytes");
    close(a[0]), close(a[1]), close(b[0]), close(b[1]), close(fd);
    unlink("/tmp/spliced");
}

static void test_polled(void)
{
    int a[2], b[2];
    struct pollfd p;

    must_pipe(a);
    must_pipe(b);
    p = (struct pollfd){.fd = b[0], .events = POLLIN};
    if (!child()) {
        usleep(50000);
        _exit(write(a[1], "x", 1) != 1 || splice(a[0], NULL, b[1], NULL, 1, 0) != 1);
    }
    is(poll(&p, 1, 10000), 1, "poll is told of bytes that were spliced");
    is(gather(), 0, "by the child");
    close(a[0]), close(a[1]), close(b[0]), close(b[1]);
}

/* ---- sockets ---- */

static void must_pair(int type, int s[2])
{
    if (socketpair(AF_UNIX, type, 0, s))
        bail_out("socketpair");
}

static void error_is(long r, int want, const char *what)
{
    ok(r == -1 && errno == want, "%s", what);
}

static long from(int fd, int to, size_t n, unsigned flags)
{
    return splice(fd, NULL, to, NULL, n, flags);
}

/* From a pipe to a socket, and from that to a pipe, by several processes. */
static void test_socket_order(void)
{
    int a[2], b[2], s[2];

    must_pipe(a);
    must_pipe(b);
    must_pair(SOCK_STREAM, s);
    if (!child()) {
        close(a[0]), close(b[0]), close(b[1]), close(s[0]), close(s[1]);
        produce(a[1]);
    }
    for (unsigned k = 1; k <= MOVERS; k++) {
        if (!child()) {
            close(a[1]), close(b[0]), close(b[1]), close(s[1]);
            move(a[0], s[0], k);
        }
        if (!child()) {
            close(a[1]), close(a[0]), close(b[0]), close(s[0]);
            move(s[1], b[1], k);
        }
    }
    close(a[0]), close(a[1]), close(b[1]), close(s[0]), close(s[1]);
    is(consume(b[0]), 0, "through a socket all bytes come in order");
    is(gather(), 0, "and all see the end");
    close(b[0]);
}

static void test_socket(void)
{
    int a[2], s[2], t[2], fd;
    char c[100] = "", *big = (char *)buf;
    off_t off = 0;

    must_pipe(a);
    must_pair(SOCK_STREAM, s);
    is(write(s[0], "0123456789", 10), 10, "ten bytes for a socket");
    is(from(s[1], a[1], 4, 0), 4, "some of them to a pipe");
    is(from(s[1], a[1], 100, 0), 6, "and the others");
    ok(read(a[0], c, 100) == 10 && !memcmp(c, "0123456789", 10), "which has all");
    error_is(from(s[1], a[1], 5, SPLICE_F_NONBLOCK), EAGAIN, "no more, without a wait: EAGAIN");
    fcntl(s[1], F_SETFL, O_NONBLOCK);
    error_is(from(s[1], a[1], 5, 0), EAGAIN, "nor from a socket that does not wait");
    fcntl(s[1], F_SETFL, 0);
    error_is(splice(s[1], &off, a[1], NULL, 5, 0), EINVAL, "an offset of a socket: EINVAL");
    write(a[1], "abc", 3);
    error_is(splice(a[0], NULL, s[0], &off, 5, 0), EINVAL, "nor of a target");
    is(from(a[0], s[0], 100, 0), 3, "from a pipe to the socket");
    ok(read(s[1], c, 100) == 3 && !memcmp(c, "abc", 3), "whose peer receives it");
    error_is(tee(s[1], a[1], 5, 0), EINVAL, "tee is for pipes: EINVAL");
    error_is(from(s[0], s[1], 5, 0), EINVAL, "one side is a pipe: EINVAL");
    memset(big, 'x', sizeof(buf));
    fcntl(a[1], F_SETFL, O_NONBLOCK);
    while (write(a[1], big, sizeof(buf)) > 0)
        ;
    write(s[0], "stays", 5);
    error_is(from(s[1], a[1], 5, 0), EAGAIN, "a full pipe: EAGAIN");
    fcntl(s[0], F_SETFL, O_NONBLOCK);
    for (long r = 1; r > 0;)
        r = from(a[0], s[0], 65536, SPLICE_F_NONBLOCK);
    while (write(a[1], big, sizeof(buf)) > 0)
        ;
    for (unsigned k = 0; k < 10 && from(a[0], s[0], 65536, 0) > 0; k++)
        while (write(a[1], big, sizeof(buf)) > 0)
            ;
    error_is(from(a[0], s[0], 65536, 0), EAGAIN, "a full socket: EAGAIN");
    close(a[0]), close(a[1]);
    must_pipe(a);
    is(from(s[1], a[1], 5, 0), 5, "the bytes are still there");
    ok(read(a[0], c, 100) == 5 && !memcmp(c, "stays", 5), "as they were");
    close(a[0]);
    error_is(from(s[1], a[1], 5, 0), EPIPE, "a pipe without reader: EPIPE");
    ok(recv(s[1], c, 5, MSG_DONTWAIT) == 5, "and nothing is lost");
    close(a[1]);
    must_pipe(a);
    write(a[1], "y", 1);
    close(s[1]);
    error_is(from(a[0], s[0], 5, 0), EPIPE, "a socket without peer: EPIPE");
    is(read(a[0], c, 5), 1, "and nothing is lost either");
    close(s[0]);
    must_pair(SOCK_STREAM, s);
    write(s[0], "end", 3);
    close(s[0]);
    is(from(s[1], a[1], 100, 0), 3, "the last bytes of a socket");
    is(from(s[1], a[1], 100, 0), 0, "and its end");
    read(a[0], c, 100);
    close(s[1]);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    error_is(from(fd, a[1], 5, 0), EINVAL, "one that is not connected: EINVAL");
    write(a[1], "z", 1);
    error_is(from(a[0], fd, 5, 0), ENOTCONN, "nor as a target: ENOTCONN");
    is(read(a[0], c, 5), 1, "which takes nothing");
    close(fd);
    must_pair(SOCK_SEQPACKET, s);
    write(s[0], "one", 3);
    write(s[0], "two and more", 12);
    is(from(s[1], a[1], 100, 0), 3, "a packet");
    is(from(s[1], a[1], 5, 0), 5, "a part of one, as by read");
    error_is(from(s[1], a[1], 5, SPLICE_F_NONBLOCK), EAGAIN, "whose rest is lost");
    ok(read(a[0], c, 100) == 8 && !memcmp(c, "onetwo a", 8), "the bytes of both");
    memset(big, 'p', 30000);
    write(s[0], big, 30000);
    is(from(s[1], a[1], 65536, 0), 30000, "a packet longer than a page");
    is(from(a[0], s[0], 65536, 0), 30000, "and back");
    close(s[0]), close(s[1]);
    must_pair(SOCK_DGRAM, s);
    send(s[0], "gram", 4, 0);
    is(from(s[1], a[1], 100, 0), 4, "a datagram");
    send(s[0], "", 0, 0);
    is(from(s[1], a[1], 100, 0), 0, "one without bytes");
    close(s[0]), close(s[1]);
    /* a descriptor in a message is closed */
    must_pair(SOCK_STREAM, s);
    must_pipe(t);
    {
        char control[CMSG_SPACE(sizeof(int))] = "";
        struct iovec v = {"m", 1};
        struct msghdr m = {.msg_iov = &v,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof(control)};
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);

        *h = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(h), &t[1], sizeof(int));
        is(sendmsg(s[0], &m, 0), 1, "a descriptor is sent");
    }
    close(t[1]);
    is(from(s[1], a[1], 100, 0), 1, "and its message is spliced");
    is(read(t[0], c, 1), 0, "which closes it");
    close(t[0]), close(s[0]), close(s[1]);
    close(a[0]), close(a[1]);
}

static void test_sendfile(void)
{
    int s[2], fd = open("/tmp/sent", O_RDWR | O_CREAT | O_TRUNC, 0600), null;
    off_t off = 8;
    long n = 0, r;

    for (unsigned k = 0; k < 8192; k++)
        buf[k] = k;
    for (unsigned k = 0; k < 4; k++)
        write(fd, buf, sizeof(buf));
    must_pair(SOCK_STREAM, s);
    is(sendfile(s[0], fd, &off, 16), 16, "sendfile to a socket");
    is(off, 24, "from an offset");
    is(recv(s[1], buf, sizeof(buf), 0), 16, "it comes");
    ok(buf[0] == 1 && buf[1] == 2, "as it is in the file");
    lseek(fd, 0, SEEK_SET);
    if (!child()) {
        close(s[1]);
        while ((r = sendfile(s[0], fd, NULL, 1 << 20)) > 0)
            ;
        _exit(r != 0);
    }
    close(s[0]);
    for (int bad = 0; (r = read(s[1], buf, 8)) > 0; n += r)
        if (r != 8 || buf[0] != (uint64_t)(n / 8 % 8192)) {
            ok(bad++, "a wrong word at %ld", n);
            break;
        }
    is(n, 4 * 65536, "more than a socket holds");
    is(gather(), 0, "with waits");
    null = open("/dev/null", O_RDONLY);
    error_is(sendfile(fd, s[1], NULL, 5), EINVAL, "not from a socket: EINVAL");
    close(null), close(fd), close(s[1]);
    unlink("/tmp/sent");
}

/* ---- terminals ---- */

static void test_terminal(void)
{
    int a[2], m = posix_openpt(O_RDWR | O_NOCTTY), t;
    struct termios set;
    char c[200] = "";
    off_t off = 0;

    grantpt(m), unlockpt(m);
    t = open(ptsname(m), O_RDWR | O_NOCTTY);
    tcgetattr(t, &set);
    set.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(t, TCSANOW, &set);
    must_pipe(a);
    write(m, "line\nmore\n", 10);
    is(from(t, a[1], 100, 0), 5, "a line of a terminal");
    is(from(t, a[1], 2, 0), 2, "a part of the next");
    is(from(t, a[1], 100, 0), 3, "and its rest");
    ok(read(a[0], c, 100) == 10 && !memcmp(c, "line\nmore\n", 10), "all are in the pipe");
    write(m, "\004", 1);
    is(from(t, a[1], 100, 0), 0, "its end");
    fcntl(t, F_SETFL, O_NONBLOCK);
    error_is(from(t, a[1], 100, 0), EAGAIN, "nothing, without a wait: EAGAIN");
    fcntl(t, F_SETFL, 0);
    error_is(splice(t, &off, a[1], NULL, 5, 0), EINVAL, "an offset: EINVAL");
    write(a[1], "out\n", 4);
    is(from(a[0], t, 100, 0), 4, "to a terminal");
    is(from(m, a[1], 100, 0), 5, "what its master shows goes to a pipe");
    ok(read(a[0], c, 100) == 5 && !memcmp(c, "out\r\n", 5), "as it was written");
    write(a[1], "typed\n", 6);
    is(from(a[0], m, 100, 0), 6, "from a pipe to the master");
    ok(read(t, c, 100) == 6 && !memcmp(c, "typed\n", 6), "is as typed");
    set.c_lflag &= ~(tcflag_t)ICANON;
    set.c_cc[VMIN] = 0;
    set.c_cc[VTIME] = 1;
    tcsetattr(t, TCSANOW, &set);
    is(from(t, a[1], 100, 0), 0, "a time without input");
    write(m, "raw", 3);
    is(from(t, a[1], 100, 0), 3, "input without lines");
    if (!child()) {
        usleep(50000);
        write(m, "later", 5);
        _exit(0);
    }
    set.c_cc[VMIN] = 1;
    set.c_cc[VTIME] = 0;
    tcsetattr(t, TCSANOW, &set);
    is(from(t, a[1], 100, 0), 5, "input that comes later");
    is(gather(), 0, "from another process");
    read(a[0], c, 100);
    close(t);
    error_is(from(m, a[1], 100, 0), EIO, "a master whose terminal is closed: EIO");
    close(m);
    close(a[0]), close(a[1]);
}

static void test_killed_elsewhere(void)
{
    int a[2], s[2], status;

    for (unsigned k = 0; k < 6; k++) {
        pid_t pid;

        must_pipe(a);
        must_pair(SOCK_STREAM, s);
        memset(buf, 1, sizeof(buf));
        if (k % 3 == 1) /* a full pipe */
            write(a[1], buf, 65536), write(s[0], buf, 100);
        pid = must_fork();
        if (pid == 0) {
            if (k % 3 == 2) /* a full socket */
                for (;;) {
                    write(a[1], buf, 1000);
                    from(a[0], s[0], 1000, 0);
                }
            for (;;)
                from(s[1], a[1], 1000, 0);
        }
        usleep(20000);
        if (k >= 3) {
            k % 3 == 2 ? read(s[1], buf, 10) : write(s[0], buf, 10);
            usleep(k * 100);
        }
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        ok(WIFSIGNALED(status), "who waits is killed (%u)", k);
        if (k % 3 == 0) {
            write(s[0], buf, 1);
            is(from(s[1], a[1], 1, 0), 1, "and others go on");
        }
        close(a[0]), close(a[1]), close(s[0]), close(s[1]);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_order();
    test_file();
    test_tee();
    test_circle();
    test_killed();
    test_killed_moving();
    test_polled();
    test_socket_order();
    test_socket();
    test_sendfile();
    test_terminal();
    test_killed_elsewhere();
    return tap_done();
}
