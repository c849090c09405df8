// TAP
/* Memory as programs see it: mmap, mprotect, brk, copy-on-write, shared anonymous memory and mapped
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

/* Try an access. Returns 0 if it works, otherwise the si_code of the signal. */
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
    is(munmap(p + 4 * PAGE, 4 * PAGE), 0, "a part in the middle is unmapped");
    is(try_read(p + 4 * PAGE), SEGV_MAPERR, "the part cannot be read");
    is(p[3 * PAGE], 0x5a, "memory below the part is unchanged");
    is(p[8 * PAGE], 0x5a, "memory above the part is unchanged");
    is(mmap(p + 4 * PAGE, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           p + 4 * PAGE,
       1, "other memory is mapped in its place");
    ok(is_zero(p + 4 * PAGE, 4 * PAGE), "that memory is zero");
    is(mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
           MAP_FAILED,
       1, "MAP_FIXED_NOREPLACE does not replace a mapping");
    is(errno, EEXIST, "the error is EEXIST");
    is(munmap(p, 16 * PAGE), 0, "all of it is unmapped");
    is(munmap(p, 16 * PAGE), 0, "unmapping it again is no error");
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
    is(try_write(p + PAGE), SEGV_ACCERR, "a write to the page is SEGV_ACCERR");
    is(try_write(p), 0, "a write to the page before it works");
    is(try_write(p + 2 * PAGE), 0, "a write to the page after it works");
    is(mprotect(p, 3 * PAGE, PROT_NONE), 0, "mprotect removes all access");
    is(try_read(p), SEGV_ACCERR, "a read is SEGV_ACCERR");
    is(mprotect(p, 3 * PAGE, PROT_READ | PROT_WRITE), 0, "mprotect restores access");
    is(p[PAGE], 1, "the contents are unchanged");
    is(mprotect(p + 1, PAGE, PROT_READ), -1, "mprotect of an unaligned address is refused");
    is(mprotect(p, PAGE, 0x1000), -1, "mprotect with an unknown protection is refused");
    munmap(p, 3 * PAGE);
    is(mprotect(p, PAGE, PROT_READ), -1, "mprotect of an unmapped page is refused");
    is(errno, ENOMEM, "the error is ENOMEM");
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
    is(child_status(pid), 0, "child and grandchild see the contents at the time of the fork");
    is(p[3 * PAGE], 3, "stores of the child do not change the parent's memory");
    is(p[5 * PAGE], 55, "the parent's store is still there");
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
        p[3 * PAGE / 4] = 77; /* a page that has not been touched */
        _exit(0);
    }
    child_status(pid);
    is(p[1], 2, "a store by a child to shared memory is visible");
    is(p[3 * PAGE / 4], 77, "so is a store to a page that the child touched first");
    for (int k = 0; k < 4; k++) {
        if (must_fork() == 0) {
            for (int n = 0; n < 10000; n++)
                __atomic_fetch_add(&p[2], 1, __ATOMIC_RELAXED);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    is(p[2], 40000, "four processes increment a counter without losing an increment");
    munmap((void *)p, 4 * PAGE);
}

static void test_file(void)
{
    int fd = open("/tmp/map", O_RDWR | O_CREAT | O_TRUNC, 0600), exe;
    char buf[4] = "", *shared, *private, *text;

    is(ftruncate(fd, 3 * PAGE), 0, "a file is extended to three pages");
    is(pwrite(fd, "hello", 5, PAGE), 5, "a word is written to the file");
    shared = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    private = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ok(shared != MAP_FAILED && private != MAP_FAILED, "the file is mapped shared and private");
    is(memcmp(shared + PAGE, "hello", 5), 0, "the shared mapping shows the word");
    shared[PAGE] = 'H';
    is(private[PAGE], 'H', "the private mapping shows a shared store before it has a copy");
    is(pread(fd, buf, 1, PAGE), 1, "the file can be read");
    is(buf[0], 'H', "the shared store has changed the file");
    private[PAGE] = 'P';
    is(shared[PAGE], 'H', "a private store does not change the shared mapping");
    is(pread(fd, buf, 1, PAGE), 1, "the file can be read");
    is(buf[0], 'H', "the private store has not changed the file");
    is(pwrite(fd, "x", 1, 2 * PAGE), 1, "a byte is written to the file");
    is(shared[2 * PAGE], 'x', "the shared mapping shows it");
    close(fd);
    unlink("/tmp/map");
    is(shared[PAGE], 'H', "the mapping keeps its contents after the file is unlinked");
    shared[0] = 1;
    munmap(shared, 3 * PAGE);
    munmap(private, 3 * PAGE);
    exe = open("/bin/true", O_RDONLY);
    text = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, exe, 0);
    ok(text != MAP_FAILED && !memcmp(text, "\177ELF", 4), "a program file can be mapped");
    is(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, exe, 0) == MAP_FAILED, 1,
       "a program file cannot be mapped shared and writable");
    is(errno, EACCES, "the error is EACCES");
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

    is(ftruncate(fd, PAGE + 1), 0, "a file has one page and one byte");
    shared = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    private = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ok(shared != MAP_FAILED && private != MAP_FAILED,
       "four pages of it are mapped shared and private");
    is(try_write(shared + 2 * PAGE - 1), 0, "the last byte of its second page can be written");
    is_bus_error(try_read(shared + 2 * PAGE), "a read after the last page is SIGBUS");
    is_bus_error(try_write(shared + 3 * PAGE), "a store after the last page is SIGBUS");
    is_bus_error(try_read(private + 2 * PAGE),
                 "a read after the last page of the private mapping is SIGBUS");
    is_bus_error(try_write(private + 3 * PAGE),
                 "a store after the last page of the private mapping is SIGBUS");
    is(write(out, shared + 2 * PAGE, 1), -1, "a system call that is given such an address fails");
    is(errno, EFAULT, "the error is EFAULT");
    is(try_write(private), 0, "a page of the private mapping can be written");
    is(ftruncate(fd, 3 * PAGE), 0, "the file grows");
    is(try_read(shared + 2 * PAGE), 0, "its new page can be read");
    is(ftruncate(fd, 0), 0, "the file becomes empty");
    is_bus_error(try_read(shared), "its first page cannot be read any more");
    munmap(shared, 4 * PAGE);
    is(try_read(shared), SEGV_MAPERR, "an unmapped address is SEGV_MAPERR");
    is(signal_number, SIGSEGV, "the signal is SIGSEGV");
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
    sched_setaffinity(0, sizeof(set), &set); /* with one CPU, both processes stay on it */
}

/* One process reads the page of a file again and again while another one truncates the file. */
static void test_taken_away(void)
{
    volatile int *step = (volatile int *)map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    int fd = open("/tmp/taken", O_RDWR | O_CREAT | O_TRUNC, 0600), got = 0;
    volatile char *page;
    cpu_set_t all;
    pid_t pid;

    sched_getaffinity(0, sizeof(all), &all);
    is(ftruncate(fd, PAGE), 0, "a file of one page is created");
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
    is(ftruncate(fd, 0), 0, "the file is truncated while a process reads it on another CPU");
    *step = 2;
    is(child_status(pid), 0, "the reader gets a signal");
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
    ok(good && p[0] == 1, "advice that is only a hint is accepted");
    is(madvise(p, 8 * PAGE, 99), -1, "unknown advice is refused");
    is(madvise(p, 8 * PAGE, MADV_DONTFORK), -1,
       "MADV_DONTFORK is refused, because a program would rely on it");
    is(madvise(p + PAGE, 2 * PAGE, MADV_DONTNEED), 0, "MADV_DONTNEED of two pages succeeds");
    ok(is_zero(p + PAGE, 2 * PAGE), "the two pages are zero");
    ok(p[PAGE - 1] == 1 && p[3 * PAGE] == 1, "the pages before and after them are unchanged");
    p[PAGE] = 2;
    is(p[PAGE], 2, "the pages can be written again");
    pid = must_fork();
    if (pid == 0) { /* memory shared by the fork */
        good = madvise(p + 4 * PAGE, 2 * PAGE, MADV_DONTNEED) == 0;
        good &= is_zero(p + 4 * PAGE, 2 * PAGE) && p[4 * PAGE - 1] == 1 && p[6 * PAGE] == 1;
        memset(p + 4 * PAGE, 3, PAGE);
        _exit(good ? 0 : 1);
    }
    is(child_status(pid), 0, "MADV_DONTNEED works in a child");
    ok(p[4 * PAGE] == 1 && p[5 * PAGE] == 1, "the parent's pages are unchanged");
    is(madvise(p, 8 * PAGE, MADV_DONTNEED), 0, "MADV_DONTNEED of all pages succeeds in the parent");
    ok(is_zero(p, 8 * PAGE), "all pages of the parent are zero");
    memset(shared, 4, 2 * PAGE);
    is(madvise(shared, 2 * PAGE, MADV_DONTNEED), 0, "MADV_DONTNEED of shared memory succeeds");
    is(shared[PAGE], 4, "shared memory keeps its contents");
    munmap(p + PAGE, PAGE);
    memset(p + 2 * PAGE, 5, PAGE);
    ok(madvise(p, 4 * PAGE, MADV_DONTNEED) == -1 && errno == ENOMEM,
       "MADV_DONTNEED of a range with a hole is ENOMEM");
    ok(is_zero(p + 2 * PAGE, PAGE), "the pages after the hole are zero");
    munmap(p, 8 * PAGE);
    munmap(shared, 2 * PAGE);
    is(ftruncate(fd, 3 * PAGE), 0, "a file is extended to three pages");
    is(pwrite(fd, "file", 4, PAGE), 4, "a word is written to the file");
    p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
    ok(p != MAP_FAILED, "the file is mapped private");
    memcpy(p, "mine", 4);
    p[PAGE] = 6;
    is(madvise(p, PAGE, MADV_DONTNEED), 0, "MADV_DONTNEED of its first page succeeds");
    is(memcmp(p, "file", 4), 0, "the page shows the file again");
    is(p[PAGE], 6, "the next page is unchanged");
    memcpy(p, "mine", 4);
    is(memcmp(p, "mine", 4), 0, "the page can be written again");
    munmap(p, 2 * PAGE);
    close(fd);
    unlink("/tmp/advice");
}

static void test_bad(void)
{
    is(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, 1,
       "mmap of no bytes is refused");
    is(mmap(NULL, 1L << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, 1,
       "mmap of too many bytes is refused");
    is(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0) == MAP_FAILED, 1,
       "mmap that is neither shared nor private is refused");
    is(mmap((void *)1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           MAP_FAILED,
       1, "mmap at an unaligned address is refused");
    is(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED, 1,
       "mmap of page 0 is refused");
    is(mmap((void *)0xfffffc0000000000, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
            -1, 0) == MAP_FAILED,
       1, "mmap of a kernel address is refused");
    is(mmap((void *)0x3ffffffe000, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
            0) == MAP_FAILED,
       1, "mmap over the end of the address space is refused");
    is(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED, 1,
       "mmap of a descriptor that is not open is refused");
    is(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 1, 0) == MAP_FAILED, 1,
       "mmap of a file that cannot be mapped is refused");
    is(munmap((void *)0xfffffc0000000000, PAGE), -1, "munmap of kernel addresses is refused");
    is(munmap((void *)PAGE, ~0UL), -1, "munmap of the whole address space is refused");
}

static void test_heap(void)
{
    char *old = sbrk(0), *p;
    int good = 1;

    is(brk(old + 10 * PAGE), 0, "the heap grows");
    ok(is_zero(old, 10 * PAGE), "the heap is zero where it has grown");
    memset(old, 7, 10 * PAGE);
    is(brk(old), 0, "the heap shrinks");
    is(brk(old + 10 * PAGE), 0, "the heap grows again");
    ok(is_zero(old, 10 * PAGE), "the heap is zero again");
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
    ok(good, "2000 blocks are allocated and freed");
    p = malloc(64 << 20);
    ok(p != NULL, "64 MiB");
    memset(p, 1, 64 << 20);
    p = realloc(p, 96 << 20);
    ok(p && p[(64 << 20) - 1] == 1, "it keeps its contents when it grows to 96 MiB");
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
