/*
 * Linux's asynchronous I/O, on disks that were opened with O_DIRECT and on other files.
 * tests/test_disks.py attaches the disks:
 *
 *   aio            /dev/vda1 of 4 MiB: all calls, hostile arguments, many requests
 *   aio load N     several processes with 64 requests under way each, which fork meanwhile
 *   aio slow       vda takes a second or so for each request: what happens to the memory meanwhile
 *   aio error      every read of vda fails
 *   aio silent     vda answers nothing
 *   aio cost       time outside the idle loop for each request: with scripts/run --icount, one CPU,
 *                  instructions
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <megalith/failure.h>
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>

#define SECTOR 512u
#define PAGE   8192u
#define DEPTH  64u

enum { PREAD, PWRITE, FSYNC, FDSYNC, PREADV = 7, PWRITEV = 8 };

struct iocb {
    uint64_t data;
    uint32_t key, rw_flags;
    uint16_t opcode;
    int16_t priority;
    uint32_t fd;
    uint64_t buf, nbytes;
    int64_t offset;
    uint64_t reserved;
    uint32_t flags, eventfd;
};

struct event {
    uint64_t data, object;
    int64_t result, result2;
};

static uint8_t buffer[DEPTH * PAGE] __attribute__((aligned(8192)));
static uint8_t model[DEPTH * PAGE] __attribute__((aligned(8192)));
static struct iocb cb[DEPTH];
static struct event got[DEPTH + 1];
static uint64_t ctx;

static long setup(unsigned n, void *to) { return syscall(SYS_io_setup, n, to); }
static long destroy(uint64_t c) { return syscall(SYS_io_destroy, c); }
static long getevents(uint64_t c, long least, long most, void *to, struct timespec *t)
{
    return syscall(SYS_io_getevents, c, least, most, to, t);
}

static long submit(uint64_t c, long n, struct iocb *b)
{
    struct iocb *list[DEPTH];

    for (long k = 0; k < n; k++)
        list[k] = b + k;
    return syscall(SYS_io_submit, c, n, list);
}

static struct iocb make(int op, int fd, void *buf, uint64_t n, int64_t at)
{
    return (struct iocb){.data = 0x1234u + (uint64_t)at,
                         .opcode = (uint16_t)op,
                         .fd = (uint32_t)fd,
                         .buf = (uint64_t)buf,
                         .nbytes = n,
                         .offset = at};
}

/* Submit one request and wait for it: its result, or -1 with errno if it was not taken. */
static long one(struct iocb b)
{
    cb[0] = b;
    if (submit(ctx, 1, cb) != 1)
        return -1;
    if (getevents(ctx, 1, 1, got, NULL) != 1)
        return -2;
    return got[0].result;
}

static int open_disk(const char *name, int flags)
{
    int fd = open(name, flags);

    if (fd < 0) {
        printf("Bail out! %s cannot be opened\n", name);
        exit(1);
    }
    return fd;
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1103515245u + 12345u;
        p[k] = (uint8_t)(seed >> 16);
    }
}

static bool all_are(const uint8_t *p, size_t n, uint8_t value)
{
    for (size_t k = 0; k < n; k++)
        if (p[k] != value)
            return false;
    return true;
}

/* ---- contexts ---- */

static void test_contexts(void)
{
    struct timespec none = {0, 0}, some = {0, 20000000}, bad = {0, 1000000000};
    uint64_t c = 0, more[300] = {0};
    unsigned n = 0;

    ok(setup(0, &c) == -1 && errno == EINVAL, "a context has room for one at least");
    ok(setup(1u << 30, &c) == -1 && errno == EAGAIN, "and not for very many");
    ok(setup(8, (void *)8) == -1 && errno == EFAULT, "its number goes to memory");
    c = 1;
    ok(setup(8, &c) == -1 && errno == EINVAL, "which must be zero");
    c = 0;
    is(setup(8, &c), 0, "a context is made");
    is(*(uint32_t *)(c + 16), 0, "where its number points to is no ring");
    is(getevents(c, 0, 4, got, &none), 0, "it has no events");
    is(getevents(c, 1, 4, got, &some), 0, "none come");
    ok(getevents(c, 1, 4, got, &bad) == -1 && errno == EINVAL, "a bad time is refused");
    ok(getevents(c, 5, 4, got, &none) == -1 && errno == EINVAL, "so is more than the most");
    ok(getevents(c, -1, 4, got, &none) == -1 && errno == EINVAL, "or less than nothing");
    ok(getevents(c + 1, 0, 4, got, &none) == -1 && errno == EINVAL, "or another number");
    is(destroy(c), 0, "it is destroyed");
    ok(destroy(c) == -1 && errno == EINVAL, "once");
    ok(submit(c, 0, cb) == -1 && errno == EINVAL, "nothing can be submitted to it");
    while (n < 300 && setup(1, &more[n]) == 0)
        n++;
    ok(n == 256 && errno == EAGAIN, "a process has 256 (%u)", n);
    while (n--)
        destroy(more[n]);
    memset(more, 0, sizeof(more));
    for (n = 0; n < 3 && setup(30000, &more[n]) == 0; n++)
        ;
    ok(n == 2 && errno == EAGAIN, "all contexts together are limited");
    destroy(more[0]);
    destroy(more[1]);
    is(setup(DEPTH, &ctx), 0, "another one is made");
}

/* What a user takes leaves something to others: how many contexts for n requests there are. */
static int user_setup(unsigned uid, unsigned n)
{
    int status = -1, made = 0;
    pid_t pid = fork();

    if (pid == 0) {
        uint64_t c = 0, d = 0;

        if (setuid(uid))
            _exit(9);
        made += setup(n, &c) == 0;
        made += setup(n, &d) == 0;
        _exit(made);
    }
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

static void test_users(void)
{
    is(user_setup(1000, 65536 - DEPTH), 0, "a user cannot take all of them");
    is(user_setup(1000, 30000), 1, "but not quite a half");
    is(user_setup(0, 30000), 2, "user 0 can");
}

static void test_arguments(int fd)
{
    struct iocb b = make(PREAD, fd, buffer, SECTOR, 0), *list[2] = {cb, (struct iocb *)8};
    int ro = open("/dev/vda1", O_RDONLY | O_DIRECT);

    is(submit(ctx, 0, cb), 0, "nothing is submitted");
    ok(syscall(SYS_io_submit, ctx, -1, list) == -1 && errno == EINVAL, "less is refused");
    ok(syscall(SYS_io_submit, ctx, 1, 8) == -1 && errno == EFAULT, "a bad list, too");
    ok(syscall(SYS_io_submit, ctx, 1, list + 1) == -1 && errno == EFAULT, "a bad request, too");
    cb[0] = b;
    is(syscall(SYS_io_submit, ctx, 2, list), 1, "what comes before it is submitted");
    ok(getevents(ctx, 1, 1, got, NULL) == 1 && got[0].object == (uint64_t)cb &&
           got[0].data == b.data && got[0].result == SECTOR && got[0].result2 == 0,
       "and its event tells of it");
    b.fd = 999;
    ok(one(b) == -1 && errno == EBADF, "a number that is no file");
    b.fd = (uint32_t)fd;
    b.reserved = 1;
    ok(one(b) == -1 && errno == EINVAL, "a reserved field");
    b.reserved = 0;
    b.flags = 1;
    b.eventfd = (uint32_t)fd;
    ok(one(b) == -1 && errno == EINVAL, "a file that is no eventfd");
    b.eventfd = 999;
    ok(one(b) == -1 && errno == EBADF, "or none");
    b.flags = 0;
    b.opcode = 99;
    ok(one(b) == -1 && errno == EINVAL, "an unknown operation");
    ok(one(make(PREAD, fd, buffer, SECTOR, -512)) == -1 && errno == EINVAL, "a negative offset");
    ok(one(make(PWRITE, ro, buffer, SECTOR, 0)) == -1 && errno == EBADF, "a file that is read");
    ok(one(make(PREAD, fd, (void *)-8192l, SECTOR, 0)) == -1 && errno == EFAULT,
       "an address of the kernel");
    is(one(make(PREAD, fd, (void *)SECTOR, SECTOR, 0)), -EFAULT, "memory that is not there");
    is(one(make(PREAD, fd, buffer, 100, 0)), -EINVAL, "a part of a sector");
    is(one(make(PREAD, fd, buffer + 8, SECTOR, 0)), -EINVAL, "a buffer that is not aligned");
    is(one(make(PREAD, fd, buffer, SECTOR, 4 << 20)), 0, "nothing is read behind the end");
    is(one(make(PREAD, fd, buffer, 2 * SECTOR, (4 << 20) - SECTOR)), SECTOR, "a read ends there");
    is(one(make(PWRITE, fd, buffer, SECTOR, 4 << 20)), -ENOSPC, "and nothing is written there");
    is(one(make(PWRITE, fd, buffer, SECTOR, INT64_MAX & -512)), -ENOSPC, "or far behind it");
    is(one(make(PWRITE, fd, buffer, 0, 0)), 0, "nothing can be written");
    ok(syscall(SYS_io_cancel, ctx, cb, got) == -1 && errno == EINVAL, "nothing is cancelled");
    ok(syscall(SYS_io_cancel, ctx, 8, got) == -1 && errno == EFAULT, "least of all nothing");
    cb[0] = make(PREAD, fd, buffer, SECTOR, 0);
    is(submit(ctx, 1, cb), 1, "a read is submitted");
    ok(getevents(ctx, 1, 1, (void *)8, NULL) == -1 && errno == EFAULT, "events go to memory");
    is(getevents(ctx, 1, 1, got, NULL), 1, "and stay until they can be delivered");
    close(ro);
}

/* ---- transfers ---- */

static void test_transfers(int fd)
{
    struct {
        void *base;
        uint64_t n;
    } v[3] = {{buffer, SECTOR}, {buffer + 3 * SECTOR, 3 * SECTOR}, {buffer + 4 * PAGE, PAGE}};
    struct timespec soon = {5, 0};
    int plain = open("/tmp/aio", O_RDWR | O_CREAT, 0600), buffered = open_disk("/dev/vda1", O_RDWR);
    uint8_t *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint8_t *text = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    fill(model, sizeof(model), 1);
    for (unsigned k = 0; k < DEPTH; k++)
        cb[k] = make(PWRITE, fd, model + k * PAGE, PAGE, k * PAGE);
    is(submit(ctx, DEPTH, cb), DEPTH, "64 writes are submitted");
    cb[0].data = 7;
    ok(submit(ctx, 1, cb) == -1 && errno == EAGAIN, "no more than that");
    is(getevents(ctx, DEPTH, DEPTH, got, &soon), DEPTH, "they end");
    is(one(make(FSYNC, fd, NULL, 0, 0)), 0, "fsync");
    is(one(make(FDSYNC, fd, NULL, 0, 0)), 0, "fdsync");
    is(pread(buffered, buffer, sizeof(buffer), 0), sizeof(buffer), "what they wrote is read");
    ok(memcmp(buffer, model, sizeof(model)) == 0, "and is right");
    memset(buffer, 0, sizeof(buffer));
    is(one(make(PREAD, fd, buffer + SECTOR, 40 * PAGE, SECTOR)), 40 * PAGE, "a long read");
    ok(memcmp(buffer + SECTOR, model + SECTOR, 40 * PAGE) == 0 &&
           all_are(buffer + SECTOR + 40 * PAGE, PAGE, 0),
       "of several requests, across pages");
    memset(buffer, 0, sizeof(buffer));
    is(one(make(PREADV, fd, v, 3, PAGE)), 4 * SECTOR + PAGE, "several buffers are read");
    ok(!memcmp(buffer, model + PAGE, SECTOR) &&
           !memcmp(buffer + 3 * SECTOR, model + PAGE + SECTOR, 3 * SECTOR) &&
           !memcmp(buffer + 4 * PAGE, model + PAGE + 4 * SECTOR, PAGE),
       "each its part");
    memset(buffer + 4 * PAGE, 0x5A, PAGE);
    is(one(make(PWRITEV, fd, v + 2, 1, 0)), PAGE, "one is written");
    is(pread(buffered, buffer, PAGE, 0), PAGE, "and read");
    ok(all_are(buffer, PAGE, 0x5A), "as it was");
    is(one(make(PREADV, fd, v, 2000, 0)), -EINVAL, "too many buffers");
    is(one(make(PREAD, fd, shared, PAGE, 0)), PAGE, "shared memory is read into");
    ok(all_are(shared, PAGE, 0x5A), "through pages of the kernel");
    is(one(make(PWRITE, fd, text, PAGE, PAGE)), PAGE, "memory that is not written is written from");
    is(one(make(PREAD, fd, text, PAGE, 0)), -EFAULT, "but not read into");
    is(one(make(PWRITE, plain, model, 1000, 10)), 1000, "other files are written");
    is(one(make(PREAD, plain, buffer, 5000, 0)), 1010, "and read");
    ok(memcmp(buffer + 10, model, 1000) == 0, "at once");
    is(one(make(FSYNC, plain, NULL, 0, 0)), 0, "and synchronised");
    is(one(make(PREAD, buffered, buffer, 100, 1)), 100, "so are disks without O_DIRECT");
    munmap(shared, PAGE);
    munmap(text, PAGE);
    close(plain);
    close(buffered);
    unlink("/tmp/aio");
}

static void on_alarm(int s) { (void)s; }

static void test_waiting(int fd)
{
    struct pollfd p = {.fd = eventfd(0, EFD_NONBLOCK), .events = POLLIN};
    struct sigaction a = {.sa_handler = on_alarm};
    struct timespec long_time = {20, 0};
    struct {
        sigset_t *set;
        size_t n;
    } mask = {NULL, 8};
    sigset_t none;
    uint64_t count = 0;

    for (unsigned k = 0; k < 8; k++) {
        cb[k] = make(PREAD, fd, buffer + k * PAGE, PAGE, k * PAGE);
        cb[k].flags = 1;
        cb[k].eventfd = (uint32_t)p.fd;
    }
    is(submit(ctx, 8, cb), 8, "reads that an eventfd counts");
    while (count < 8) {
        uint64_t n;

        if (poll(&p, 1, 5000) != 1 || read(p.fd, &n, sizeof(n)) != sizeof(n))
            break;
        count += n;
    }
    is(count, 8, "it tells of each");
    is(getevents(ctx, 0, DEPTH, got, NULL), 8, "and the events are there");
    close(p.fd);
    sigaction(SIGALRM, &a, NULL);
    alarm(1);
    ok(getevents(ctx, 1, 1, got, &long_time) == -1 && errno == EINTR, "a signal ends the wait");
    sigemptyset(&none);
    sigaddset(&none, SIGALRM);
    sigprocmask(SIG_BLOCK, &none, NULL);
    sigemptyset(&none);
    mask.set = &none;
    alarm(1);
    ok(syscall(SYS_io_pgetevents, ctx, 1L, 1L, got, &long_time, &mask) == -1 && errno == EINTR,
       "one that is blocked otherwise, too");
    sigaddset(&none, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &none, NULL);
}

/* ---- what happens to the memory meanwhile ---- */

static uint8_t *map(unsigned pages)
{
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* A read of the first n bytes of vda is under way, to p. The disk has just carried one out, so it
 * takes its time for this one. */
static void begin_read(int fd, uint8_t *p, uint64_t n)
{
    pread(fd, model, SECTOR, 0);
    cb[0] = make(PREAD, fd, p, n, 0);
    is(submit(ctx, 1, cb), 1, "a read is under way");
}

static void end_read(const uint8_t *p, uint64_t n, const char *what)
{
    is(getevents(ctx, 1, 1, got, NULL), 1, "it ends");
    is(got[0].result, (int64_t)n, "with all bytes");
    if (p)
        ok(all_are(p, n, 0xA5), "%s", what);
}

static int child_sees(const uint8_t *p, uint64_t n, uint8_t value, long wait_ms)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        bool right = all_are(p, n, value);

        pause_ms(wait_ms);
        right &= all_are(p, n, value);
        _exit(!right);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void test_fork(int fd)
{
    uint8_t *p = map(2);

    memset(p, 1, 2 * PAGE);
    begin_read(fd, p, 2 * PAGE);
    is(child_sees(p, 2 * PAGE, 1, 3000), 0, "a child has the memory as it was, and keeps it so");
    end_read(p, 2 * PAGE, "the parent gets the data");
    is(child_sees(p, 2 * PAGE, 0xA5, 0), 0, "a later child does, too");
    p[0] = 1;
    is(p[0] + p[1], 1 + 0xA5, "and all can be written");
    munmap(p, 2 * PAGE);
}

static void test_mapping(int fd)
{
    uint8_t *p = map(2), *q;

    memset(p, 1, 2 * PAGE);
    begin_read(fd, p, 2 * PAGE);
    munmap(p, 2 * PAGE);
    q = mmap(p, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(q, 2, 2 * PAGE);
    end_read(NULL, 2 * PAGE, "");
    ok(all_are(q, 2 * PAGE, 2), "what is mapped there now is left alone");
    begin_read(fd, q, 2 * PAGE);
    mprotect(q, 2 * PAGE, PROT_READ);
    end_read(q, 2 * PAGE, "memory that became read-only meanwhile gets the data");
    mprotect(q, 2 * PAGE, PROT_READ | PROT_WRITE);
    memset(q, 3, 2 * PAGE);
    begin_read(fd, q, 2 * PAGE);
    p = mremap(q, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, map(2));
    end_read(p, 2 * PAGE, "memory that was moved, too");
    memset(p, 4, 2 * PAGE);
    begin_read(fd, p, 2 * PAGE);
    madvise(p, 2 * PAGE, MADV_DONTNEED);
    ok(all_are(p, 2 * PAGE, 0), "what was discarded is zero");
    end_read(NULL, 2 * PAGE, "");
    ok(all_are(p, 2 * PAGE, 0), "and stays so");
    munmap(p, 2 * PAGE);
}

/* The process ends, or begins another program, while its requests are under way. */
static void test_ends(int fd)
{
    static const char *const names[] = {"exit", "SIGKILL", "exec"};

    for (int how = 0; how < 3; how++) {
        struct timespec a, b;
        int status = -1;
        pid_t pid = fork();

        if (pid == 0) {
            ctx = 0;
            setup(DEPTH, &ctx);
            for (unsigned k = 0; k < 4; k++)
                cb[k] = make(k % 2 ? PWRITE : PREAD, fd, buffer + k * PAGE, PAGE,
                             (1 << 20) + k * PAGE);
            submit(ctx, 4, cb);
            if (how == 1)
                kill(getpid(), SIGKILL);
            if (how == 2)
                execl("/bin/true", "true", NULL);
            _exit(0);
        }
        clock_gettime(CLOCK_MONOTONIC, &a);
        waitpid(pid, &status, 0);
        clock_gettime(CLOCK_MONOTONIC, &b);
        is(status, how == 1 ? SIGKILL : 0, "%s with requests under way", names[how]);
        ok(b.tv_sec - a.tv_sec < 3, "does not wait for them");
    }
}

static void test_destroy(int fd)
{
    uint8_t *p = map(1);
    int status = -1;
    pid_t pid;

    memset(p, 1, PAGE);
    begin_read(fd, p, PAGE);
    is(destroy(ctx), 0, "a context is destroyed with a read under way");
    ok(all_are(p, PAGE, 0xA5), "which has ended then");
    pid = fork();
    if (pid == 0) {
        ctx = 0;
        setup(DEPTH, &ctx);
        cb[0] = make(PREAD, fd, p, PAGE, 0);
        submit(ctx, 1, cb);
        destroy(ctx);
        _exit(0);
    }
    pause_ms(300);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    is(status, SIGKILL, "who waits for that can be killed");
    munmap(p, PAGE);
    ctx = 0;
    setup(DEPTH, &ctx);
}

static int test_slow(void)
{
    int fd = open_disk("/dev/vda", O_RDWR | O_DIRECT);

    setup(DEPTH, &ctx);
    test_fork(fd);
    test_mapping(fd);
    test_ends(fd);
    test_destroy(fd);
    return tap_done();
}

/* ---- failures ---- */

static int test_error(void)
{
    int fd = open_disk("/dev/vda", O_RDWR | O_DIRECT);

    setup(DEPTH, &ctx);
    is(one(make(PREAD, fd, buffer, 40 * PAGE, 0)), -EIO, "a read fails");
    is(one(make(PWRITE, fd, buffer, PAGE, 0)), PAGE, "a write does not");
    return tap_done();
}

static int test_silent(void)
{
    int fd = open_disk("/dev/vda", O_RDWR | O_DIRECT), status = -1;
    pid_t pid;

    setup(DEPTH, &ctx);
    is(one(make(PREAD, fd, buffer, 12 * PAGE, 0)), 12 * PAGE, "one read is all it answers");
    pid = fork();
    if (pid == 0) {
        ctx = 0;
        setup(DEPTH, &ctx);
        cb[0] = make(PREAD, fd, buffer, PAGE, 0);
        submit(ctx, 1, cb);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "a process ends with a request that is not answered");
    for (unsigned k = 0; k < DEPTH; k++)
        cb[k] = make(PREAD, fd, buffer + k * PAGE, PAGE, k * PAGE);
    is(submit(ctx, DEPTH, cb), DEPTH, "64 are under way");
    is(getevents(ctx, DEPTH, DEPTH, got, NULL), DEPTH, "all end");
    for (unsigned k = 0; k < DEPTH; k++)
        if (got[k].result != -EIO)
            status = 1;
    is(status, 0, "with EIO");
    is(one(make(PREAD, fd, buffer, PAGE, 0)), -EIO, "so do later ones, at once");
    is(destroy(ctx), 0, "and the context");
    return tap_done();
}

/* ---- failing allocations ---- */

static void test_allocations(int fd)
{
    struct mega_failure f = {.fired = 1};
    bool right = true;
    unsigned long n;

    for (n = 1; f.fired && n < 100 && right; n++) {
        long r, result = 1;
        uint64_t c = 0;

        munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
        cb[0] = make(PREAD, fd, buffer, 40 * PAGE, 0);
        if (mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0) != SS$_NORMAL)
            break;
        r = setup(4, &c);
        if (r == 0)
            r = submit(c, 1, cb);
        mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&f, 0, 0, 0, 0);
        if (r == 1) {
            right = getevents(c, 1, 1, got, NULL) == 1;
            result = got[0].result;
        }
        right &= f.fired ? (r == -1 && errno == ENOMEM) || result == -ENOMEM : result == 40 * PAGE;
        if (!right)
            diag("failure %lu: %ld, result %ld", n, r, result);
        if (c)
            destroy(c);
    }
    ok(right && !f.fired, "each allocation fails in turn (%lu)", n);
}

/* A fork that fails leaves the pages that a device writes to with the parent. */
static void test_fork_failures(int fd)
{
    struct mega_failure f = {.fired = 1};
    uint8_t *p = map(4);
    bool right = true;

    for (unsigned long n = 1; f.fired && n < 200 && right; n++) {
        pid_t pid;

        memset(p, 1, 4 * PAGE);
        cb[0] = make(PREAD, fd, p, 4 * PAGE, 0);
        right = submit(ctx, 1, cb) == 1;
        mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0);
        pid = fork();
        if (pid == 0)
            _exit(0);
        p[3 * PAGE + PAGE - 1] = p[3 * PAGE + PAGE - 1]; /* a write to each page */
        mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&f, 0, 0, 0, 0);
        if (pid > 0)
            waitpid(pid, NULL, 0);
        right &= getevents(ctx, 1, 1, got, NULL) == 1 && got[0].result == 4 * PAGE;
        right &= memcmp(p, model, 4 * PAGE) == 0;
    }
    ok(right && !f.fired, "a fork fails at each allocation while a read is under way");
    munmap(p, 4 * PAGE);
}

/* ---- several processes ---- */

#define PROCESSES 4u
#define AREA      DEPTH /* pages of each process */

/* Keep DEPTH requests under way; each page is written with what tells its place and version, and
 * read again. Children come and go meanwhile. */
static int load(unsigned p, unsigned rounds)
{
    static unsigned version[AREA];
    int fd = open_disk("/dev/vda1", O_RDWR | O_DIRECT);

    ctx = 0;
    if (setup(DEPTH, &ctx))
        return 1;
    for (unsigned round = 1; round <= rounds; round++) {
        bool write = round % 2;

        for (unsigned k = 0; k < AREA; k++) {
            uint8_t *at = buffer + k * PAGE;

            if (write)
                fill(at, PAGE, (version[k] = round) * 1000 + p * AREA + k);
            else
                memset(at, 0, PAGE);
            cb[k] = make(write ? PWRITE : PREAD, fd, at, PAGE, (p * AREA + k) * PAGE);
        }
        if (submit(ctx, AREA, cb) != AREA)
            return 2;
        if (round % 4 < 2) {
            pid_t pid = fork();

            if (pid == 0) {
                memset(buffer, 0xEE, sizeof(buffer));
                _exit(0);
            }
            if (waitpid(pid, NULL, 0) != pid)
                return 3;
        }
        for (unsigned done = 0; done < AREA;) {
            long n = getevents(ctx, 1, 7, got, NULL);

            if (n < 1)
                return 4;
            for (long k = 0; k < n; k++)
                if (got[k].result != PAGE)
                    return 5;
            done += (unsigned)n;
        }
        for (unsigned k = 0; k < AREA && !write; k++) {
            fill(model, PAGE, version[k] * 1000 + p * AREA + k);
            if (memcmp(model, buffer + k * PAGE, PAGE))
                return 6;
        }
    }
    return 0;
}

static int test_load(unsigned rounds)
{
    pid_t pid[PROCESSES];

    for (unsigned p = 0; p < PROCESSES; p++)
        if ((pid[p] = fork()) == 0)
            _exit(load(p, rounds));
    for (unsigned p = 0; p < PROCESSES; p++) {
        int status = -1;

        waitpid(pid[p], &status, 0);
        is(status, 0, "process %u found what it had written", p);
    }
    return tap_done();
}

/* ---- costs ---- */

#define REQUESTS 6400u

static uint64_t busy_ns(void)
{
    struct mega_cpu c = {0};
    struct timespec t;

    mega$info(MEGA_INFO_CPU, 0, &c, sizeof(c));
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - c.pure_idle_ns;
}

static void cost(const char *name, int op, int fd, unsigned batch)
{
    uint64_t begin;
    unsigned sent = 0, done = 0, depth = 32;

    for (unsigned k = 0; k < depth; k++)
        cb[k] = make(op, fd, buffer + k * PAGE, PAGE, k * PAGE);
    begin = busy_ns();
    submit(ctx, depth, cb);
    sent = depth;
    while (done < REQUESTS) {
        unsigned rest = sent - done;
        long n = getevents(ctx, batch < rest ? batch : rest, DEPTH, got, NULL);
        struct iocb *list[DEPTH];
        long k;

        for (k = 0; k < n && sent < REQUESTS; k++, sent++)
            list[k] = (struct iocb *)got[k].object;
        if (n <= 0 || (k && syscall(SYS_io_submit, ctx, k, list) != k))
            printf("Bail out! %s\n", strerror(errno));
        done += (unsigned)n;
    }
    diag("%-40s %6lu", name, (unsigned long)((busy_ns() - begin) / REQUESTS));
}

static int test_cost(void)
{
    int fd = open_disk("/dev/vda", O_RDWR | O_DIRECT);

    memset(buffer, 1, sizeof(buffer));
    setup(DEPTH, &ctx);
    cost("read 8 KiB, 32 under way, 1 at a time", PREAD, fd, 1);
    cost("read 8 KiB, 32 under way, 8 at a time", PREAD, fd, 8);
    cost("read 8 KiB, 32 under way, 32 at a time", PREAD, fd, 32);
    cost("write 8 KiB, 32 under way, 32 at a time", PWRITE, fd, 32);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int fd;

    if (!strcmp(how, "load"))
        return test_load((unsigned)atoi(argv[2]));
    if (!strcmp(how, "slow"))
        return test_slow();
    if (!strcmp(how, "error"))
        return test_error();
    if (!strcmp(how, "silent"))
        return test_silent();
    if (!strcmp(how, "cost"))
        return test_cost();
    fd = open_disk("/dev/vda1", O_RDWR | O_DIRECT);
    test_contexts();
    test_users();
    test_arguments(fd);
    test_transfers(fd);
    test_waiting(fd);
    pread(fd, model, sizeof(model), 0);
    test_allocations(fd);
    test_fork_failures(fd);
    close(fd);
    return tap_done();
}
