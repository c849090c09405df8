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
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <tap.h>
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
    return tap_done();
}
