// TAP
/* Memory as programs see it: mmap, mprotect, brk, copy-on-write, shared anonymous memory, mapped
 * files. */
#define _GNU_SOURCE
#include <company.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>

#define PAGE 8192L

static sigjmp_buf back;
static volatile int code, signal_number;

static void jump(int sig, siginfo_t *info, void *context)
{
    (void)context;
    signal_number = sig;
    code = info->si_code;
    siglongjmp(back, 1);
}

/* 0: the access works; else the si_code of the signal. */
static int try_read(volatile char *p)
{
    if (sigsetjmp(back, 1))
        return code;
    (void)*p;
    return 0;
}

static int try_write(volatile char *p)
{
    if (sigsetjmp(back, 1))
        return code;
    *p = 1;
    return 0;
}

static char *map(size_t n, int prot, int flags)
{
    char *p = mmap(NULL, n, prot, flags | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        bail_out("mmap: %s", strerror(errno));
    return p;
}

static int is_zero(const char *p, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (p[k])
            return 0;
    return 1;
}

static int child_status(pid_t pid)
{
    int status = -1;

    waitpid(pid, &status, 0);
    return status;
}

static void test_anonymous(void)
{
    char *p = map(16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);

    ok(is_zero(p, 16 * PAGE), "new memory is zero");
    memset(p, 0x5a, 16 * PAGE);
    is(munmap(p + 4 * PAGE, 4 * PAGE), 0, "a part in the middle goes");
    is(try_read(p + 4 * PAGE), SEGV_MAPERR, "and is gone");
    is(p[3 * PAGE], 0x5a, "what is below is there");
    is(p[8 * PAGE], 0x5a, "and what is above");
    is(mmap(p + 4 * PAGE, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           p + 4 * PAGE,
       1, "something else goes there");
    ok(is_zero(p + 4 * PAGE, 4 * PAGE), "new again");
    is(mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
           MAP_FAILED,
       1, "MAP_FIXED_NOREPLACE replaces nothing");
    is(errno, EEXIST, "and says so");
    is(munmap(p, 16 * PAGE), 0, "all of it goes");
    is(munmap(p, 16 * PAGE), 0, "twice is no error");
    p = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
             -1, 0);
    ok(p != MAP_FAILED && is_zero(p, 32 * PAGE), "populated memory is zero");
    munmap(p, 32 * PAGE);
}

static void test_protect(void)
{
    char *p = map(3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);

    memset(p, 1, 3 * PAGE);
    is(mprotect(p + PAGE, PAGE, PROT_READ), 0, "one page becomes read-only");
    is(try_write(p + PAGE), SEGV_ACCERR, "writes to it fail");
    is(try_write(p), 0, "those before it do not");
    is(try_write(p + 2 * PAGE), 0, "nor those behind it");
    is(mprotect(p, 3 * PAGE, PROT_NONE), 0, "all become inaccessible");
    is(try_read(p), SEGV_ACCERR, "reads fail");
    is(mprotect(p, 3 * PAGE, PROT_READ | PROT_WRITE), 0, "and writable again");
    is(p[PAGE], 1, "with their contents");
    is(mprotect(p + 1, PAGE, PROT_READ), -1, "an odd address is refused");
    is(mprotect(p, PAGE, 0x1000), -1, "an odd protection too");
    munmap(p, 3 * PAGE);
    is(mprotect(p, PAGE, PROT_READ), -1, "nothing cannot be protected");
    is(errno, ENOMEM, "which is ENOMEM");
}

static void test_cow(void)
{
    char *p = map(8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    pid_t pid;

    for (int k = 0; k < 8; k++)
        p[k * PAGE] = (char)k;
    pid = must_fork();
    if (pid == 0) {
        for (int k = 0; k < 8; k++)
            if (p[k * PAGE] != k)
                _exit(1);
        p[3 * PAGE] = 33;
        pid_t deep = must_fork();
        if (deep == 0) {
            p[4 * PAGE] = 44;
            _exit(p[3 * PAGE] == 33 ? 0 : 1);
        }
        _exit(child_status(deep) == 0 && p[4 * PAGE] == 4 ? 0 : 2);
    }
    p[5 * PAGE] = 55;
    is(child_status(pid), 0, "child and grandchild see what was there when they were made");
    is(p[3 * PAGE], 3, "their stores are their own");
    is(p[5 * PAGE], 55, "and ours ours");
    munmap(p, 8 * PAGE);
}

static void test_shared(void)
{
    volatile int *p = (volatile int *)map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    pid_t pid;

    p[0] = 1;
    pid = must_fork();
    if (pid == 0) {
        p[1] = p[0] + 1;
        p[3 * PAGE / 4] = 77; /* a page that nobody has touched yet */
        _exit(0);
    }
    child_status(pid);
    is(p[1], 2, "a child's store into shared memory is seen");
    is(p[3 * PAGE / 4], 77, "in a page touched first by the child too");
    for (int k = 0; k < 4; k++) {
        if (must_fork() == 0) {
            for (int n = 0; n < 10000; n++)
                __atomic_fetch_add(&p[2], 1, __ATOMIC_RELAXED);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    is(p[2], 40000, "four processes add without loss");
    munmap((void *)p, 4 * PAGE);
}

static void test_file(void)
{
    int fd = open("/tmp/map", O_RDWR | O_CREAT | O_TRUNC, 0600), exe;
    char buf[4] = "", *shared, *private, *text;

    is(ftruncate(fd, 3 * PAGE), 0, "a file of three pages");
    is(pwrite(fd, "hello", 5, PAGE), 5, "with a word");
    shared = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    private = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ok(shared != MAP_FAILED && private != MAP_FAILED, "mapped twice");
    is(memcmp(shared + PAGE, "hello", 5), 0, "shows it");
    shared[PAGE] = 'H';
    is(private[PAGE], 'H', "a shared store is seen in a private mapping not written yet");
    is(pread(fd, buf, 1, PAGE), 1, "and read");
    is(buf[0], 'H', "from the file");
    private[PAGE] = 'P';
    is(shared[PAGE], 'H', "a private store is not seen");
    is(pread(fd, buf, 1, PAGE), 1, "nor read");
    is(buf[0], 'H', "from the file");
    is(pwrite(fd, "x", 1, 2 * PAGE), 1, "a write");
    is(shared[2 * PAGE], 'x', "is seen in the mapping");
    close(fd);
    unlink("/tmp/map");
    is(shared[PAGE], 'H', "the mapping outlives the file's name");
    shared[0] = 1;
    munmap(shared, 3 * PAGE);
    munmap(private, 3 * PAGE);
    exe = open("/bin/true", O_RDONLY);
    text = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, exe, 0);
    ok(text != MAP_FAILED && !memcmp(text, "\177ELF", 4), "a program can be mapped");
    is(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, exe, 0) == MAP_FAILED, 1,
       "but not shared and writable");
    is(errno, EACCES, "which is EACCES");
    close(exe);
}

static void is_bus_error(int got, const char *what)
{
    ok(got == BUS_ADRERR && signal_number == SIGBUS, "%s", what);
    signal_number = 0;
}

static void test_file_end(void)
{
    int fd = open("/tmp/end", O_RDWR | O_CREAT | O_TRUNC, 0600),
        out = open("/tmp/out", O_RDWR | O_CREAT, 0600);
    char *shared, *private;

    is(ftruncate(fd, PAGE + 1), 0, "a file of two pages, the second one begun");
    shared = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    private = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ok(shared != MAP_FAILED && private != MAP_FAILED, "four pages are mapped");
    is(try_write(shared + 2 * PAGE - 1), 0, "its last page is there as a whole");
    is_bus_error(try_read(shared + 2 * PAGE), "a read behind it is SIGBUS");
    is_bus_error(try_write(shared + 3 * PAGE), "so is a store");
    is_bus_error(try_read(private + 2 * PAGE), "so is a read of a private mapping");
    is_bus_error(try_write(private + 3 * PAGE), "and a store to it");
    is(write(out, shared + 2 * PAGE, 1), -1, "a call that is given such an address fails");
    is(errno, EFAULT, "by EFAULT");
    is(try_write(private), 0, "a private page is written");
    is(ftruncate(fd, 3 * PAGE), 0, "the file grows");
    is(try_read(shared + 2 * PAGE), 0, "and its new page is there");
    is(ftruncate(fd, 0), 0, "it becomes empty");
    is_bus_error(try_read(shared), "and no page is left");
    munmap(shared, 4 * PAGE);
    is(try_read(shared), SEGV_MAPERR, "what is not mapped is SIGSEGV");
    is(signal_number, SIGSEGV, "as ever");
    munmap(private, 4 * PAGE);
    close(fd);
    close(out);
    unlink("/tmp/end");
    unlink("/tmp/out");
}

static void to_cpu(int n)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(n, &set);
    sched_setaffinity(0, sizeof(set), &set); /* where there is one CPU, both stay on it */
}

/* The page of a file that one process reads again and again is cut off by another one. */
static void test_taken_away(void)
{
    volatile int *step = (volatile int *)map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    int fd = open("/tmp/taken", O_RDWR | O_CREAT | O_TRUNC, 0600), got = 0;
    volatile char *page;
    cpu_set_t all;
    pid_t pid;

    sched_getaffinity(0, sizeof(all), &all);
    is(ftruncate(fd, PAGE), 0, "a file of one page");
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pid = must_fork();
    if (pid == 0) {
        to_cpu(1);
        *page = 1;
        *step = 1;
        while (*step == 1)
            got = try_read(page);
        got = try_read(page);
        _exit(got == BUS_ADRERR && signal_number == SIGBUS ? 0 : 1);
    }
    to_cpu(0);
    while (*step == 0)
        sched_yield();
    is(ftruncate(fd, 0), 0, "is cut off under a process that reads it on another CPU");
    *step = 2;
    is(child_status(pid), 0, "which reads it no more");
    sched_setaffinity(0, sizeof(all), &all);
    munmap((void *)page, PAGE);
    munmap((void *)step, PAGE);
    close(fd);
    unlink("/tmp/taken");
}

static void test_advice(void)
{
    static const int harmless[] = {MADV_NORMAL,   MADV_RANDOM,   MADV_SEQUENTIAL,
                                   MADV_WILLNEED, MADV_FREE,     MADV_MERGEABLE,
                                   MADV_HUGEPAGE, MADV_DONTDUMP, MADV_COLD};
    char *p = map(8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    char *shared = map(2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    int fd = open("/tmp/advice", O_RDWR | O_CREAT | O_TRUNC, 0600), good = 1;
    pid_t pid;

    memset(p, 1, 8 * PAGE);
    for (size_t k = 0; k < sizeof(harmless) / sizeof(harmless[0]); k++)
        good &= madvise(p, 8 * PAGE, harmless[k]) == 0;
    ok(good && p[0] == 1, "advice that may be left is taken");
    is(madvise(p, 8 * PAGE, 99), -1, "unknown advice is not");
    is(madvise(p, 8 * PAGE, MADV_DONTFORK), -1, "nor what a program would rely on");
    is(madvise(p + PAGE, 2 * PAGE, MADV_DONTNEED), 0, "two pages are not needed");
    ok(is_zero(p + PAGE, 2 * PAGE), "they are zero");
    ok(p[PAGE - 1] == 1 && p[3 * PAGE] == 1, "their neighbours are not");
    p[PAGE] = 2;
    is(p[PAGE], 2, "and can be written");
    pid = must_fork();
    if (pid == 0) { /* what fork has shared */
        good = madvise(p + 4 * PAGE, 2 * PAGE, MADV_DONTNEED) == 0;
        good &= is_zero(p + 4 * PAGE, 2 * PAGE) && p[4 * PAGE - 1] == 1 && p[6 * PAGE] == 1;
        memset(p + 4 * PAGE, 3, PAGE);
        _exit(good ? 0 : 1);
    }
    is(child_status(pid), 0, "a child forgets");
    ok(p[4 * PAGE] == 1 && p[5 * PAGE] == 1, "its parent does not");
    is(madvise(p, 8 * PAGE, MADV_DONTNEED), 0, "until it does");
    ok(is_zero(p, 8 * PAGE), "all of it");
    memset(shared, 4, 2 * PAGE);
    is(madvise(shared, 2 * PAGE, MADV_DONTNEED), 0, "shared memory");
    is(shared[PAGE], 4, "keeps its contents");
    munmap(p + PAGE, PAGE);
    memset(p + 2 * PAGE, 5, PAGE);
    ok(madvise(p, 4 * PAGE, MADV_DONTNEED) == -1 && errno == ENOMEM, "a hole is ENOMEM");
    ok(is_zero(p + 2 * PAGE, PAGE), "what is behind it is forgotten");
    munmap(p, 8 * PAGE);
    munmap(shared, 2 * PAGE);
    is(ftruncate(fd, 3 * PAGE), 0, "a file");
    is(pwrite(fd, "file", 4, PAGE), 4, "with a word");
    p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
    ok(p != MAP_FAILED, "mapped privately");
    memcpy(p, "mine", 4);
    p[PAGE] = 6;
    is(madvise(p, PAGE, MADV_DONTNEED), 0, "without need for the first page");
    is(memcmp(p, "file", 4), 0, "shows the file again");
    is(p[PAGE], 6, "in that page only");
    memcpy(p, "mine", 4);
    is(memcmp(p, "mine", 4), 0, "and can be written again");
    munmap(p, 2 * PAGE);
    close(fd);
    unlink("/tmp/advice");
}

static void test_bad(void)
{
    is(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, 1, "no bytes");
    is(mmap(NULL, 1L << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, 1,
       "too many bytes");
    is(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0) == MAP_FAILED, 1,
       "neither shared nor private");
    is(mmap((void *)1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           MAP_FAILED,
       1, "an odd address");
    is(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED, 1,
       "page 0");
    is(mmap((void *)0xfffffc0000000000, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
            -1, 0) == MAP_FAILED,
       1, "the kernel's address");
    is(mmap((void *)0x3ffffffe000, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
            0) == MAP_FAILED,
       1, "over the end");
    is(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED, 1, "no such file");
    is(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 1, 0) == MAP_FAILED, 1,
       "a file that cannot be mapped");
    is(munmap((void *)0xfffffc0000000000, PAGE), -1, "unmapping the kernel");
    is(munmap((void *)PAGE, ~0UL), -1, "unmapping everything");
}

static void test_heap(void)
{
    char *old = sbrk(0), *p;
    int good = 1;

    is(brk(old + 10 * PAGE), 0, "the heap grows");
    ok(is_zero(old, 10 * PAGE), "by zeroes");
    memset(old, 7, 10 * PAGE);
    is(brk(old), 0, "and shrinks");
    is(brk(old + 10 * PAGE), 0, "and grows");
    ok(is_zero(old, 10 * PAGE), "by zeroes again");
    brk(old);
    for (int k = 0; k < 2000; k++) {
        size_t n = (size_t)(k * 977) % 100000 + 1;

        p = malloc(n);
        if (!p)
            bail_out("malloc");
        memset(p, k, n);
        p = realloc(p, 2 * n);
        good &= p[n - 1] == (char)k;
        free(p);
    }
    ok(good, "2000 blocks come and go");
    p = malloc(64 << 20);
    ok(p != NULL, "64 MiB");
    memset(p, 1, 64 << 20);
    p = realloc(p, 96 << 20);
    ok(p && p[(64 << 20) - 1] == 1, "and 96");
    free(p);
}

int main(void)
{
    struct sigaction a = {.sa_sigaction = jump, .sa_flags = SA_SIGINFO | SA_NODEFER};

    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGBUS, &a, NULL);
    test_anonymous();
    test_protect();
    test_cow();
    test_shared();
    test_file();
    test_file_end();
    test_taken_away();
    test_advice();
    test_bad();
    test_heap();
    return tap_done();
}
