// TAP
// RUN: --smp 1 -m 512M --icount
// SECONDS: 120
/*
 * The pages of an object that very many mappings see: cutting a file off once visited every mapping
 * for every page with one spinlock held, while other CPUs spun. Whatever is done to a file or to
 * shared memory, the locks of objects and page tables are held for a bounded time. One CPU counts
 * instructions, so a nanosecond is one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <test_kernel.h>
#include <time.h>
#include <unistd.h>

#define PAGE     8192ul
#define PAGES    600ul
#define MAPS     4000ul
#define RW       (PROT_READ | PROT_WRITE)
#define HOLD_MAX 2000ul /* instructions */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ul + (uint64_t)t.tv_nsec;
}

/* ---- the longest hold ---- */

static void measure(bool on)
{
    if (!(mega$control(MEGA_CTL_LOCK_STATS, on, 0, 0, 0, 0) & 1))
        abort();
}

/* Stop measuring; were the locks that a walk holds held for a short time only? */
static void holds_are_short(const char *during)
{
    static const char *const names[] = {"object", "page tables"};
    struct mega_lock m;

    measure(false);
    for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        bool found = false;

        for (int64_t i = 0; !found && mega$info(MEGA_INFO_SPINLOCK, i, &m, sizeof(m)) & 1; i++)
            found = !strcmp(m.name, names[n]);
        if (!ok(found && m.longest_ns <= HOLD_MAX,
                "%s: \"%s\" is held for at most %lu instructions", during, names[n], HOLD_MAX))
            diag("%lu, taken at %s", (unsigned long)m.longest_ns, m.longest_place);
    }
}

/* ---- access that may fail ---- */

static sigjmp_buf back;

static void on_bus_error(int sig)
{
    (void)sig;
    siglongjmp(back, 1);
}

/* Does reading the byte end with SIGBUS? */
static bool is_cut_off(volatile char *p)
{
    if (sigsetjmp(back, 1))
        return true;
    (void)*p;
    return false;
}

static int new_file(uint64_t pages)
{
    int fd = open("/tmp/object_walks", O_RDWR | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || unlink("/tmp/object_walks") || ftruncate(fd, (off_t)(pages * PAGE)))
        abort();
    return fd;
}

static char *map(int fd, uint64_t pages, int flags)
{
    char *p = mmap(NULL, pages * PAGE, RW, flags, fd, 0);

    if (p == MAP_FAILED)
        abort();
    return p;
}

/* ---- the attack: a file of many pages, mapped many times ---- */

static char *maps[MAPS];

/* Read a page in every mapping of the file, which is cut off then. */
static void see_all(void)
{
    int wrong = 0;

    for (unsigned long i = 0; i < MAPS; i++)
        wrong += maps[i][i % PAGES * PAGE] == 'y';
    is(wrong, 0, "every mapping sees the file");
}

static void truncated(void)
{
    int fd = new_file(PAGES), wrong = 0;
    uint64_t before, spent;

    for (unsigned long i = 0; i < MAPS; i++)
        maps[i] = map(fd, PAGES, i % 2 ? MAP_PRIVATE : MAP_SHARED);
    see_all();
    before = now();
    is(ftruncate(fd, PAGE), 0, "the file is cut off");
    spent = now() - before;
    if (!ok(spent < MAPS * 12000, "it takes at most 12,000 instructions a mapping"))
        diag("%lu instructions", (unsigned long)spent);
    is(ftruncate(fd, (off_t)(PAGES * PAGE)), 0, "and grows again");

    for (unsigned long i = 0; i < PAGES; i++)
        if (pwrite(fd, "x", 1, (off_t)(i * PAGE)) != 1)
            abort();
    see_all();
    for (unsigned long i = 1; i < MAPS; i += 8)
        maps[i][PAGE * (PAGES - 1)] = 'y'; /* a private copy, which stays */
    measure(true);
    is(ftruncate(fd, PAGE), 0, "it is cut off once more");
    holds_are_short("ftruncate beside 4,000 mappings");
    for (unsigned long i = 0; i < MAPS; i++) {
        bool copied = i % 8 == 1;
        char *last = &maps[i][PAGE * (PAGES - 1)];

        wrong += maps[i][0] != 'x';
        wrong += !is_cut_off(&maps[i][PAGE * (1 + i % (PAGES - 2))]);
        wrong += copied ? *last != 'y' : !is_cut_off(last);
    }
    is(wrong, 0, "no mapping reaches what is cut off, and copies stay");
    is(ftruncate(fd, (off_t)(PAGES * PAGE)), 0, "the file grows again");
    for (unsigned long i = 0; i < MAPS; i += 2)
        wrong += maps[i][PAGE * (1 + i % (PAGES - 2))] != 0;
    is(wrong, 0, "with zeroes");

    measure(true);
    for (unsigned long i = 0; i < MAPS; i++)
        munmap(maps[i], PAGES * PAGE);
    holds_are_short("munmap of 4,000 mappings of a file");
    close(fd);
}

/* ---- one mapping of many pages ---- */

static void in_child(void (*fn)(char *p), char *p)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        fn(p);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status)
        abort();
}

static void read_all(char *p)
{
    for (unsigned long i = 0; i < MAPS; i++)
        (void)*(volatile char *)(p + i * PAGE);
}

static void write_all(char *p)
{
    for (unsigned long i = 0; i < MAPS; i++)
        p[i * PAGE] = 1;
}

static void many_pages(int flags, const char *what)
{
    int fd = new_file(MAPS);
    char *p = map(fd, MAPS, flags);

    measure(true);
    read_all(p);
    if (flags == MAP_SHARED)
        write_all(p);
    in_child(read_all, p);
    in_child(write_all, p);
    if (mprotect(p, MAPS * PAGE, PROT_READ) || mprotect(p, MAPS * PAGE, RW))
        abort();
    write_all(p);
    if (madvise(p, MAPS * PAGE, MADV_DONTNEED))
        abort();
    read_all(p);
    munmap(p, MAPS * PAGE);
    close(fd);
    holds_are_short(what);
}

/* Shared memory that is unmapped in pieces: whether others map a piece was once found out by
   looking
 * at all of them. */
static void pieces(void)
{
    char *p = mmap(NULL, MAPS * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t first = 0, last = 0;

    write_all(p);
    measure(true);
    for (unsigned long i = 0; i < MAPS; i += 2) {
        uint64_t before = now();

        munmap(p + i * PAGE, PAGE);
        if (i == 2)
            first = now() - before;
        last = now() - before;
    }
    holds_are_short("munmap of every second page of shared memory");
    if (!ok(last < 2 * first, "the last piece costs no more than twice the first"))
        diag("%lu and %lu instructions", (unsigned long)first, (unsigned long)last);
    munmap(p, MAPS * PAGE);
}

/* Pages far from each other: the index has many nodes, and nearly empty ones. */
static void sparse(void)
{
    int fd = new_file(0);

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned long i = 0; i < 1000; i++)
            if (pwrite(fd, "x", 1, (off_t)(i * i * 16 * PAGE)) != 1)
                abort();
        if (round == 0) {
            measure(true);
            if (ftruncate(fd, (off_t)(500ul * 500 * 16 * PAGE)) || ftruncate(fd, 0))
                abort();
            holds_are_short("a file with a thousand scattered pages, cut off");
        }
    }
    measure(true);
    close(fd);
    holds_are_short("the same file, freed");
}

int main(void)
{
    signal(SIGBUS, on_bus_error);
    truncated();
    many_pages(MAP_SHARED, "4,000 pages of a file mapped shared");
    many_pages(MAP_PRIVATE, "4,000 pages of a file mapped private");
    pieces();
    sparse();
    return tap_done();
}
