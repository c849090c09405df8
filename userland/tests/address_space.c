// TAP
// SECONDS: 120
/*
 * Address spaces as programs see them. Fresh memory is zero; fork copies private memory and shares
 * shared memory; protection violations are reported with their cause; stacks grow as far as their
 * guard page; files can be mapped; many processes that fork and write at the same time do not
 * affect each other's memory. At the end no page is missing.
 */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define PAGE   8192ul
#define RW     (PROT_READ | PROT_WRITE)
#define ANON   (MAP_PRIVATE | MAP_ANONYMOUS)
#define SHANON (MAP_SHARED | MAP_ANONYMOUS)

static uint64_t *word(void *base, unsigned long page)
{
    return (uint64_t *)((char *)base + page * PAGE);
}

static void *map(unsigned long pages, int prot, int flags)
{
    void *p = mmap(NULL, pages * PAGE, prot, flags, -1, 0);

    if (p == MAP_FAILED)
        bail_out("mmap of %lu pages: %d", pages, errno);
    return p;
}

/* Wait for a child; returns its exit status, 1000 + the signal that ended it, or -1. */
static int reap(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static uint64_t free_pages(void)
{
    struct mega_memory m = {0};

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m.free;
}

static struct mega_process own(void)
{
    struct mega_process p = {0};

    mega$info(MEGA_INFO_PROCESS, (uint64_t)-1, &p, sizeof(p));
    return p;
}

/* ---- accesses that must fault ---- */

static sigjmp_buf escape;
static volatile int fault_code;
static void *volatile fault_address;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    (void)context;
    fault_code = sig * 100 + info->si_code;
    fault_address = info->si_addr;
    siglongjmp(escape, 1);
}

/* Store to p or load from it. Returns 0 if that works, otherwise signal * 100 + code. */
static int touch(volatile uint64_t *p, int store)
{
    fault_code = 0;
    if (sigsetjmp(escape, 1) == 0) {
        if (store)
            *p = 1;
        else
            (void)*p;
    }
    return fault_code;
}

static void test_protection(void)
{
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    char *p = map(8, RW, ANON);

    sigaction(SIGSEGV, &sa, NULL);
    for (unsigned i = 0; i < 8; i++)
        *word(p, i) = i + 1;
    is(mprotect(p + 2 * PAGE, 2 * PAGE, PROT_READ), 0, "mprotect");
    is(touch(word(p, 2), 1), SIGSEGV * 100 + SEGV_ACCERR,
       "a store to a read-only page is SEGV_ACCERR");
    ok(fault_address == word(p, 2), "the signal reports the address of the store");
    is(touch(word(p, 2), 0), 0, "a load from the read-only page works");
    is(touch(word(p, 1), 1) | touch(word(p, 4), 1), 0, "stores to the pages on both sides work");
    mprotect(p, 8 * PAGE, PROT_NONE);
    is(touch(word(p, 0), 0), SIGSEGV * 100 + SEGV_ACCERR,
       "a load from a page without access is SEGV_ACCERR");
    is(write(1, p, 0) + (read(open("/bin/true", O_RDONLY), p, 16) == -1 && errno == EFAULT), 1,
       "a system call cannot read the page either");
    mprotect(p, 8 * PAGE, RW);
    ok(*word(p, 3) == 4 && *word(p, 7) == 8, "the pages still have their contents");
    munmap(p + 3 * PAGE, PAGE);
    is(touch(word(p, 3), 0), SIGSEGV * 100 + SEGV_MAPERR,
       "a load from an unmapped page is SEGV_MAPERR");
    ok(*word(p, 2) == 3 && *word(p, 4) == 1, "the pages on both sides still have their contents");
    is(mprotect(p, 8 * PAGE, PROT_READ), -1, "mprotect of a range with a hole fails");
    is(errno, ENOMEM, "the error is ENOMEM");
    is(touch(NULL, 0), SIGSEGV * 100 + SEGV_MAPERR, "a load from address zero is SEGV_MAPERR");
    is(touch((uint64_t *)0xFFFFFC0000310000ul, 0) / 100, SIGSEGV,
       "a load from a kernel address is SIGSEGV");
    munmap(p, 8 * PAGE);
}

static void test_zero_and_counts(void)
{
    struct mega_process before, after, end;
    char *p, sum = 0;

    /* Twice, and only the second time counts: the first brings in the pages of all the code that
     * is called here, which lies where the linker has put it. */
    for (unsigned round = 0; round < 2; round++) {
        before = own();
        p = map(64, RW, ANON);
        for (unsigned i = 0; i < 64; i++)
            for (unsigned j = 0; j < PAGE; j += 512)
                sum |= p[i * PAGE + j];
        after = own();
        munmap(p, 64 * PAGE);
        end = own();
    }
    is(sum, 0, "fresh memory is zero");
    is(after.demand_zero - before.demand_zero, 64, "each page takes one demand-zero fault");
    is(after.rss - before.rss, 64, "64 more pages are resident");
    is(end.rss, before.rss, "after munmap as many pages are resident as before");
    before = own();
    p = map(64, RW, ANON | MAP_POPULATE);
    for (unsigned i = 0; i < 64; i++)
        *word(p, i) = 1;
    is(own().faults - before.faults, 0, "access to populated memory takes no fault");
    munmap(p, 64 * PAGE);
}

static uint64_t sum_of(char *p, unsigned n)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += *word(p, i);
    return sum;
}

/* The parent writes at once after a fork, before it has been switched away: the child does not see
 * it. */
static void test_write_after_fork(void)
{
    char *p = map(32, RW, ANON);
    pid_t pid;

    for (unsigned i = 0; i < 32; i++)
        *word(p, i) = 1;
    pid = must_fork();
    if (pid == 0)
        _exit(sum_of(p, 32) != 32);
    for (unsigned i = 0; i < 32; i++)
        *word(p, i) = 2;
    is(reap(pid), 0, "what the parent writes after the fork the child does not see");
    munmap(p, 32 * PAGE);
}

static uint64_t fluid(void)
{
    struct mega_memory m = {0};

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m.fluid;
}

/* Memory that was only read is the page of zeroes, whatever is done with it. */
static void test_only_read(void)
{
    uint64_t free_pages = fluid(), faults;
    char *p = map(1000, RW, ANON);
    pid_t pid;

    /* Others that are there take pages meanwhile. */
    ok(sum_of(p, 1000) == 0 && (fluid() + 100 > free_pages || in_company()),
       "to read 1,000 pages takes few");
    pid = must_fork();
    if (pid == 0) {
        *word(p, 3) = 1;
        _exit(sum_of(p, 1000) != 1);
    }
    ok(reap(pid) == 0 && sum_of(p, 1000) == 0, "what a child writes there is its own");
    p = mremap(p, 1000 * PAGE, 1200 * PAGE, MREMAP_MAYMOVE);
    ok(p != MAP_FAILED && sum_of(p, 1200) == 0, "they are zero when they were moved");
    is(mprotect(p, 1200 * PAGE, PROT_READ) || mprotect(p, 1200 * PAGE, RW), 0, "protected");
    is(mlock(p, 8 * PAGE), 0, "locked");
    faults = own().faults;
    for (unsigned i = 0; i < 8; i++)
        *word(p, i) = 1;
    is(own().faults - faults, 0, "locked pages are there to be written");
    for (unsigned i = 8; i < 1200; i++)
        *word(p, i) = 1;
    is(sum_of(p, 1200), 1200, "each page keeps what is written");
    munmap(p, 1200 * PAGE);
}

static void test_fork(void)
{
    char *p = map(32, RW, ANON), *s = map(4, RW, SHANON);
    struct mega_process before, after;
    pid_t pid;

    for (unsigned i = 0; i < 32; i++)
        *word(p, i) = 100 + i;
    pid = must_fork();
    if (pid == 0) {
        int bad = 0;

        for (unsigned i = 0; i < 32; i++)
            bad |= *word(p, i) != 100 + i;
        for (unsigned i = 0; i < 32; i += 2)
            *word(p, i) = 500 + i;
        for (unsigned i = 0; i < 32; i++)
            bad |= *word(p, i) != (i % 2 ? 100 + i : 500 + i);
        *word(s, 1) = 42;
        /* A grandchild sees the memory of the child, and its stores do not change it. */
        pid = must_fork();
        if (pid == 0) {
            for (unsigned i = 0; i < 32; i++)
                bad |= *word(p, i) != (i % 2 ? 100 + i : 500 + i);
            for (unsigned i = 0; i < 32; i++)
                *word(p, i) = 0;
            _exit(bad);
        }
        bad |= reap(pid);
        for (unsigned i = 0; i < 32; i++)
            bad |= *word(p, i) != (i % 2 ? 100 + i : 500 + i);
        _exit(bad);
    }
    is(reap(pid), 0, "child and grandchild have the contents that they should have");
    pid = 0;
    for (unsigned i = 0; i < 32; i++)
        pid |= *word(p, i) != 100 + i;
    is(pid, 0, "the parent's private pages are unchanged");
    is(*word(s, 1), 42, "the child's store to a shared page is visible");
    before = own();
    for (unsigned i = 0; i < 32; i++)
        *word(p, i) = i;
    after = own();
    is(after.cow - before.cow, 0, "a write after the child has ended copies no page");
    munmap(p, 32 * PAGE);
    munmap(s, 4 * PAGE);
}

static void test_file(void)
{
    int fd = open("/address_space.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char page[PAGE];
    char *shared, *private;
    pid_t pid;

    if (fd < 0)
        bail_out("no file: %d", errno);
    for (unsigned i = 0; i < 4; i++) {
        memset(page, 'a' + (int)i, PAGE);
        if (write(fd, page, PAGE) != (ssize_t)PAGE)
            bail_out("write: %d", errno);
    }
    shared = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0);
    private = mmap(NULL, 3 * PAGE, RW, MAP_PRIVATE, fd, PAGE);
    ok(shared != MAP_FAILED && private != MAP_FAILED, "a file is mapped shared and private");
    ok(shared[0] == 'a' && private[0] == 'b' && private[2 * PAGE] == 'd',
       "both mappings show the contents of the file");
    shared[PAGE] = 'X';
    ok(private[0] == 'X', "a private page that was not written shows changes of the file");
    private[0] = 'Y';
    ok(shared[PAGE] == 'X' && pread(fd, page, 1, PAGE) == 1 && page[0] == 'X',
       "a store to the private mapping does not change the file");
    shared[PAGE] = 'Z';
    ok(private[0] == 'Y' && pread(fd, page, 1, PAGE) == 1 && page[0] == 'Z',
       "a store to the shared mapping changes the file, but not the private copy");
    pid = must_fork();
    if (pid == 0) {
        int bad = private[0] != 'Y' || private[PAGE] != 'c';

        private[PAGE] = 'C';
        shared[3 * PAGE] = 'D';
        _exit(bad);
    }
    is(reap(pid), 0, "a child inherits both mappings");
    ok(private[PAGE] == 'c' && private[2 * PAGE] == 'D',
       "the child's stores have the same effect as the parent's");
    munmap(shared, 4 * PAGE);
    munmap(private, 3 * PAGE);
    close(fd);
    unlink("/address_space.tmp");
}

/* Recurses, using about 1 KiB of stack for each call. */
static int __attribute__((noinline)) dig(int depth)
{
    volatile char frame[1024];

    memset((void *)frame, depth, sizeof(frame));
    return depth == 0 ? frame[17] : dig(depth - 1) + frame[3];
}

static void test_stack(void)
{
    uint64_t before = own().stack_grow;
    pid_t pid = must_fork();

    if (pid == 0) {
        dig(2000);
        _exit(own().stack_grow - before < 200);
    }
    is(reap(pid), 0, "the stack grows on access");
    pid = must_fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        dig(100000000);
        _exit(0);
    }
    is(reap(pid), 1000 + SIGSEGV, "an access to the stack's guard page is SIGSEGV");
}

static void test_brk(void)
{
    char *start = sbrk(0);
    int bad = 0;

    ok(sbrk(100 * (long)PAGE) == start, "the heap grows");
    for (unsigned i = 0; i < 99; i++) {
        bad |= start[(i + 1) * PAGE];
        start[(i + 1) * PAGE] = 1;
    }
    is(sbrk(-100 * (long)PAGE) == (void *)-1, 0, "the heap shrinks");
    sbrk(100 * (long)PAGE);
    for (unsigned i = 0; i < 99; i++)
        bad |= start[(i + 1) * PAGE];
    is(bad, 0, "the heap is zero each time it has grown");
    sbrk(-100 * (long)PAGE);
}

/* ---- many processes at once ---- */

#define WORKERS 12
#define PAGES   40ul
#define DEPTH   3

static uint64_t random_next(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s >> 33;
}

/* Writes and checks private pages, forks now and then, and increments a shared counter. */
static int worker(uint64_t id, char *private, uint64_t *counter, int depth)
{
    uint64_t mine[PAGES], seed = id * 77777 + 1;
    int bad = 0;

    for (unsigned long i = 0; i < PAGES; i++)
        mine[i] = *word(private, i);
    for (unsigned round = 0; round < 120; round++) {
        unsigned long i = random_next(&seed) % PAGES;

        if (random_next(&seed) % 2) {
            mine[i] = (id << 32) | round;
            *word(private, i) = mine[i];
        } else if (*word(private, i) != mine[i]) {
            return 1;
        }
        if (depth && round % 40 == 7) {
            pid_t pid = must_fork();

            if (pid == 0)
                _exit(worker(id * 10 + round, private, counter, depth - 1));
            if (random_next(&seed) % 2) {
                *word(private, i) = ~mine[i];
                mine[i] = ~mine[i];
            }
            bad |= reap(pid) != 0;
        }
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    }
    for (unsigned long i = 0; i < PAGES; i++)
        bad |= *word(private, i) != mine[i];
    return bad;
}

static void test_storm(void)
{
    char *private = map(PAGES, RW, ANON);
    uint64_t *counter = map(1, RW, SHANON);
    uint64_t per_tree = 0, tree = 1;
    pid_t pids[WORKERS];
    int bad = 0;

    for (unsigned long i = 0; i < PAGES; i++)
        *word(private, i) = i;
    for (unsigned i = 0; i < WORKERS; i++) {
        pids[i] = must_fork();
        if (pids[i] == 0)
            _exit(worker(i + 1, private, counter, DEPTH));
    }
    for (unsigned i = 0; i < WORKERS; i++)
        bad |= reap(pids[i]) != 0;
    for (unsigned long i = 0; i < PAGES; i++)
        bad |= *word(private, i) != i;
    is(bad, 0, "processes that fork and write at the same time keep their own contents");
    for (unsigned d = 0; d <= DEPTH; d++, tree *= 3)
        per_tree += tree;
    is(*counter, per_tree * 120 * WORKERS, "no increment of the shared counter is lost");
    munmap(private, PAGES * PAGE);
    munmap(counter, PAGE);
}

static void all_once(void)
{
    uint64_t rss;

    test_zero_and_counts();
    test_only_read();
    rss = own().rss; /* with the code that the test needs */
    test_only_read();
    is(own().rss, rss, "after munmap as many pages are resident as before");
    test_protection();
    test_fork();
    test_write_after_fork();
    test_file();
    test_stack();
    test_brk();
    test_storm();
}

int main(void)
{
    uint64_t before;
    int64_t lost;

    all_once(); /* what the first round allocates and keeps (heap, objects, caches) exists in the
                   second */
    before = free_pages();
    all_once();
    /* Kernel stacks of processes that existed at the same time are cached for new ones, and the
       last thread may not have been reaped yet. */
    lost = (int64_t)(before - free_pages());
    diag("%ld pages less are free", (long)lost);
    if (!in_company())
        ok(lost < 2 * WORKERS * 4, "at most pages of kernel stacks are missing");
    return tap_done();
}
