/* Stores through shared mappings of files of ext4 on /dev/vda, before and after a new mount.
 * tests/test_ext4_write.py makes the image, and looks at it afterwards.
 *
 *   ext4_mapped         all
 *   ext4_mapped MIB     more than there is memory
 *   ext4_mapped cost    what writes and stores cost, in nanoseconds outside the idle loop: with
 *                       scripts/run --icount on one CPU instructions
 */
#define _GNU_SOURCE
#include "ext4_files.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>

#include <megalith/info.h>
#include <starlet.h>

#define PAGE 8192u

static sigjmp_buf stopped;

static void on_bus(int signal)
{
    (void)signal;
    siglongjmp(stopped, 1);
}

static bool stores(volatile uint8_t *p, uint8_t value)
{
    bool done = false;

    signal(SIGBUS, on_bus);
    if (sigsetjmp(stopped, 1) == 0) {
        *p = value;
        done = true;
    }
    signal(SIGBUS, SIG_DFL);
    return done;
}

static uint8_t *map(int fd, size_t n)
{
    return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static long blocks_free(void)
{
    struct statfs now;

    statfs(MNT, &now);
    return (long)now.f_bfree;
}

static void test_stores(void)
{
    static const char *const how[] = {"msync", "fsync", "sync", "unmount"};

    for (unsigned k = 0; k < 4; k++) {
        int fd = make(MNT "/a", 100000, 1);
        uint8_t *p = map(fd, 100000);

        ok(p != MAP_FAILED && memcmp(p, buffer, 100000) == 0, "the mapping has what was written");
        fill(buffer, 100000, 10 + k);
        memcpy(p, buffer, 100000);
        memset(buffer, 0, 100000);
        ok(pread(fd, buffer, 3, 50000) == 3 && memcmp(buffer, p + 50000, 3) == 0,
           "read has what was stored");
        ok(pwrite(fd, "written", 7, 60000) == 7 && memcmp(p + 60000, "written", 7) == 0,
           "the mapping has what is written");
        fill(buffer, 100000, 10 + k);
        memcpy(p + 60000, buffer + 60000, 7);
        is(k == 0   ? msync(p, 100000, MS_SYNC)
           : k == 1 ? fsync(fd)
                    : (k == 2 ? sync() : (void)0, 0),
           0, how[k]);
        munmap(p, 100000);
        close(fd);
        again("/dev/vda");
        ok(has(MNT "/a", 100000, 10 + k), "%s: it is on the disk", how[k]);
    }
}

/* A hole gets blocks by the first store, and only then. */
static void test_holes(void)
{
    int fd = open(MNT "/holes", O_CREAT | O_RDWR, 0600);
    long before, after;
    uint8_t *p;

    ftruncate(fd, 64 * PAGE);
    p = map(fd, 64 * PAGE);
    before = blocks_free();
    ok(p[0] == 0 && p[63 * PAGE] == 0 && blocks_free() == before, "reading takes no blocks");
    ok(stores(p + 5 * PAGE + 7, 'h') && stores(p + 40 * PAGE, 'i'), "stores");
    after = blocks_free();
    ok(after < before && fsync(fd) == 0 && blocks_free() == after, "take them at once");
    ok(stores(p + 5 * PAGE + 8, 'j') && blocks_free() == after, "once");
    is(fallocate(fd, 0, 10 * PAGE, 10 * PAGE), 0, "reserved");
    ok(stores(p + 12 * PAGE, 'k'), "stored within");
    munmap(p, 64 * PAGE);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/holes", O_RDONLY);
    ok(pread(fd, buffer, 64 * PAGE, 0) == 64 * PAGE && buffer[5 * PAGE + 7] == 'h' &&
           buffer[5 * PAGE + 8] == 'j' && buffer[40 * PAGE] == 'i' && buffer[12 * PAGE] == 'k' &&
           buffer[5 * PAGE + 6] == 0 && buffer[13 * PAGE] == 0,
       "all are on the disk");
    close(fd);
}

/* The end of a file within a page: stores behind it are in no file, and do not come back; when it
 * moves, the page gets blocks for what is stored then. */
static void test_ends(void)
{
    int fd = open(MNT "/ends", O_CREAT | O_RDWR, 0600);
    uint8_t *p;
    struct stat st;

    ftruncate(fd, 1000);
    p = map(fd, 4 * PAGE);
    ok(stores(p + 999, 'a') && stores(p + 1500, 'b') && !stores(p + PAGE, 'c'),
       "SIGBUS in the page behind the end");
    is(fsync(fd), 0, "fsync");
    ok(ftruncate(fd, 3 * PAGE - 1) == 0 && p[1500] == 0 && p[999] == 'a',
       "what is behind the end does not come back");
    ok(stores(p + 7000, 'd') && stores(p + 2 * PAGE + 5, 'e'), "stores where the end was");
    is(fsync(fd), 0, "fsync");
    ok(ftruncate(fd, PAGE + 1) == 0 && !stores(p + 2 * PAGE + 5, 'x'), "shorter");
    ok(stores(p + PAGE + 3000, 'y') && pwrite(fd, "f", 1, 4 * PAGE - 1) == 1 &&
           p[PAGE + 3000] == 0 && p[2 * PAGE + 5] == 0,
       "a write far behind the end");
    ok(stores(p + PAGE + 5000, 'g') && stores(p + 3 * PAGE, 'h'), "stores between");
    munmap(p, 4 * PAGE);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/ends", O_RDONLY);
    memset(buffer, 1, 4 * PAGE);
    ok(fstat(fd, &st) == 0 && st.st_size == 4 * PAGE && pread(fd, buffer, 4 * PAGE, 0) == 4 * PAGE,
       "the file is as long");
    ok(buffer[999] == 'a' && buffer[1500] == 0 && buffer[7000] == 'd' && buffer[PAGE + 3000] == 0 &&
           buffer[PAGE + 5000] == 'g' && buffer[2 * PAGE + 5] == 0 && buffer[3 * PAGE] == 'h' &&
           buffer[4 * PAGE - 1] == 'f',
       "and has all that was stored in it");
    close(fd);
}

/* A write that ends early, as its bytes cannot be read, changes nothing behind them. */
static void test_short_write(void)
{
    static uint8_t want[3 * PAGE];
    int fd = make(MNT "/short", 3 * PAGE, 6);
    uint8_t *from;

    fill(want, 3 * PAGE, 6);
    close(fd);
    again("/dev/vda"); /* nothing of it is in memory */
    fd = open(MNT "/short", O_RDWR);
    from = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(from, 's', 3 * PAGE);
    mprotect(from + PAGE, PAGE, PROT_NONE);
    is(pwrite(fd, from, 3 * PAGE, 0), PAGE, "one page is written");
    memset(want, 's', PAGE);
    ok(pread(fd, buffer, 3 * PAGE, 0) == 3 * PAGE && memcmp(buffer, want, 3 * PAGE) == 0,
       "the others are as before");
    munmap(from, 3 * PAGE);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/short", O_RDONLY);
    ok(pread(fd, buffer, 3 * PAGE, 0) == 3 * PAGE && memcmp(buffer, want, 3 * PAGE) == 0,
       "on the disk, too");
    close(fd);
}

/* Holes made in a file, with pages that were stored to and are not written yet. */
static void test_punched(void)
{
    static uint8_t want[40 * PAGE];
    int fd = make(MNT "/punched", 40 * PAGE, 4);
    struct stat st;
    uint8_t *p = map(fd, 40 * PAGE);
    long before, after;

    fill(want, 40 * PAGE, 4);
    ok(stores(p + 5 * PAGE, 'a') && stores(p + 20 * PAGE + 9, 'b'), "stores");
    pwrite(fd, "written", 7, 7 * PAGE);
    before = blocks_free();
    is(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * PAGE + 100, 20 * PAGE), 0,
       "a hole");
    after = blocks_free();
    ok(after >= before + 18 && fstat(fd, &st) == 0 && st.st_size == 40 * PAGE,
       "%ld pages are free again", after - before);
    memset(want + 3 * PAGE + 100, 0, 20 * PAGE);
    ok(memcmp(p, want, 40 * PAGE) == 0, "the mapping has it");
    ok(pread(fd, buffer, 40 * PAGE, 0) == 40 * PAGE && memcmp(buffer, want, 40 * PAGE) == 0,
       "read has it");
    ok(stores(p + 10 * PAGE + 11, 'c') && stores(p + 3 * PAGE, 'd'), "stores to it");
    want[10 * PAGE + 11] = 'c';
    want[3 * PAGE] = 'd';
    is(fallocate(fd, FALLOC_FL_ZERO_RANGE, 38 * PAGE + 5, 4 * PAGE), 0, "zeroes at the end");
    memset(want + 38 * PAGE + 5, 0, 2 * PAGE - 5);
    ok(fstat(fd, &st) == 0 && st.st_size == 42 * PAGE + 5, "and behind it");
    munmap(p, 40 * PAGE);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/punched", O_RDWR);
    ok(pread(fd, buffer, 40 * PAGE, 0) == 40 * PAGE && memcmp(buffer, want, 40 * PAGE) == 0,
       "the disk has all that");
    ok(fails(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, PAGE), EOPNOTSUPP), "the length is kept");
    close(fd);
}

/* Whole pages become holes: that changes the time. Edges that are in holes take no blocks. */
static void test_punched_holes(void)
{
    const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    int fd = make(MNT "/times", 4 * PAGE, 4);
    struct stat st;
    long before;

    futimens(fd, old);
    is(fsync(fd), 0, "a file with an old time");
    is(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE), 0, "a page");
    close(fd);
    again("/dev/vda");
    ok(stat(MNT "/times", &st) == 0 && st.st_mtim.tv_sec > 1000000000, "the time has changed");
    fd = open(MNT "/times", O_RDWR | O_TRUNC);
    is(ftruncate(fd, 8 * PAGE) + fsync(fd), 0, "a hole");
    before = blocks_free();
    is(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 5 * PAGE), 0, "holes in it");
    is(blocks_free(), before, "take no blocks");
    close(fd);
}

/* What was stored is written without being asked for, and the time of the change with it. */
static void test_in_time(void)
{
    struct stat before, after;
    int fd = make(MNT "/time", 3 * PAGE, 2);
    uint8_t *p = map(fd, 3 * PAGE);

    fstat(fd, &before);
    usleep(20000);
    ok(stores(p + PAGE, 't') && fstat(fd, &after) == 0 &&
           (after.st_mtim.tv_sec > before.st_mtim.tv_sec ||
            after.st_mtim.tv_nsec > before.st_mtim.tv_nsec),
       "a store changes the time");
    munmap(p, 3 * PAGE);
    close(fd);
    again("/dev/vda");
    is(stat(MNT "/time", &before), 0, "the file is there");
    is(before.st_mtim.tv_sec, after.st_mtim.tv_sec, "the second is kept");
    ok(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec || before.st_mtim.tv_nsec == 0,
       "and the part of it, if the inodes of the disk have one");
}

/* Stores by threads and a child while the file is written back: each store is there at the end. */
#define COUNTERS 32u
#define ROUNDS   300u

static volatile uint32_t *counters;

static void *count_up(void *arg)
{
    for (uint32_t k = 1; k <= ROUNDS; k++)
        for (unsigned c = (unsigned)(uintptr_t)arg; c < COUNTERS; c += 3)
            counters[c * PAGE / 4] = k;
    return NULL;
}

static void test_while_written(void)
{
    int fd = open(MNT "/counters", O_CREAT | O_RDWR, 0600), status, failed = 0;
    pthread_t t[2];
    pid_t child;

    ftruncate(fd, COUNTERS * PAGE);
    counters = (volatile uint32_t *)map(fd, COUNTERS * PAGE);
    child = fork();
    if (child == 0) {
        count_up((void *)2);
        _exit(0);
    }
    for (uintptr_t k = 0; k < 2; k++)
        pthread_create(&t[k], NULL, count_up, (void *)k);
    for (unsigned k = 0; k < 40; k++)
        failed += k % 2 ? fsync(fd) != 0
                        : msync((void *)counters, COUNTERS / 2 * PAGE, MS_SYNC) != 0;
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    waitpid(child, &status, 0);
    is(failed + status, 0, "all goes well");
    munmap((void *)counters, COUNTERS * PAGE);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/counters", O_RDONLY);
    failed = pread(fd, buffer, COUNTERS * PAGE, 0) != COUNTERS * PAGE;
    for (unsigned c = 0; c < COUNTERS; c++)
        failed += *(uint32_t *)(buffer + c * PAGE) != ROUNDS;
    is(failed, 0, "no store is lost");
    close(fd);
}

/* A file is cut and made longer while it is stored to: nothing but SIGBUS, zeroes and what was
 * stored. */
static void test_cut_while_stored(void)
{
    int fd = open(MNT "/cuts", O_CREAT | O_RDWR, 0600), status = 1;
    unsigned wrong = 0;
    pid_t child;

    ftruncate(fd, 16 * PAGE);
    child = fork();
    if (child == 0) {
        volatile uint8_t *p = map(fd, 16 * PAGE);

        seed = 5;
        for (unsigned k = 0; k < 600; k++)
            (void)stores((uint8_t *)p + draw(16 * PAGE), 's');
        _exit(0);
    }
    for (unsigned k = 0; k < 150; k++) {
        wrong += ftruncate(fd, draw(16 * PAGE)) != 0;
        wrong += k % 3 == 0 && pwrite(fd, "s", 1, draw(16 * PAGE)) != 1;
        wrong += k % 8 == 0 && fsync(fd) != 0;
        wrong += ftruncate(fd, 16 * PAGE) != 0;
    }
    waitpid(child, &status, 0);
    is(status, 0, "stores end well");
    is(wrong, 0, "so does all else");
    wrong = pread(fd, buffer, 16 * PAGE, 0) != 16 * PAGE;
    for (unsigned k = 0; k < 16 * PAGE; k++)
        wrong += buffer[k] != 0 && buffer[k] != 's';
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/cuts", O_RDONLY);
    wrong += pread(fd, buffer + 16 * PAGE, 16 * PAGE, 0) != 16 * PAGE;
    is(wrong, 0, "the file has what was stored, or zeroes");
    is(memcmp(buffer, buffer + 16 * PAGE, 16 * PAGE), 0, "the same on the disk");
    close(fd);
}

/* A file that has lost its name, or all who have it open. */
static void test_nameless(void)
{
    long before = blocks_free();
    int fd = make(MNT "/gone", 8 * PAGE, 3);
    uint8_t *p = map(fd, 8 * PAGE);

    unlink(MNT "/gone");
    ok(stores(p, 'a') && fsync(fd) == 0, "a file without a name is stored to");
    close(fd);
    ok(stores(p + PAGE, 'b') && msync(p, 8 * PAGE, MS_SYNC) == 0 && stores(p + PAGE, 'c') &&
           p[0] == 'a',
       "also when nobody has it open");
    munmap(p, 8 * PAGE);
    for (int k = 0; k < 300 && blocks_free() != before; k++)
        usleep(10000);
    is(blocks_free(), before, "and its blocks are free afterwards");
}

/* Pages that nobody maps any more, and more of them than there is memory. */
static void test_many(unsigned mib)
{
    size_t n = (size_t)mib << 20;
    int fd = open(MNT "/many", O_CREAT | O_RDWR, 0600);
    unsigned wrong = 0;

    ftruncate(fd, (off_t)n);
    for (size_t at = 0; at < n; at += LARGE) {
        volatile uint32_t *p = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);

        for (unsigned k = 0; k < LARGE; k += PAGE)
            p[k / 4] = (uint32_t)(at + k) ^ 0x5A5A5A5A;
        munmap((void *)p, LARGE);
    }
    for (size_t at = 0; at < n; at += PAGE) {
        uint32_t v = 0;

        wrong += pread(fd, &v, 4, (off_t)at) != 4 || v != ((uint32_t)at ^ 0x5A5A5A5A);
    }
    is(wrong, 0, "%u MiB are stored", mib);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/many", O_RDONLY);
    for (size_t at = 0; at < n; at += 5 * PAGE) {
        uint32_t v = 0;

        wrong += pread(fd, &v, 4, (off_t)at) != 4 || v != ((uint32_t)at ^ 0x5A5A5A5A);
    }
    is(wrong, 0, "and on the disk");
    close(fd);
    unlink(MNT "/many");
}

/* ---- costs ---- */

#define COST_PAGES 2048u

/* Nanoseconds outside the idle loop of CPU 0 so far: with scripts/run --icount, on one CPU,
 * instructions. */
static uint64_t busy_ns(void)
{
    struct mega_cpu c = {0};
    struct timespec t;

    mega$info(MEGA_INFO_CPU, 0, &c, sizeof(c));
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - c.pure_idle_ns;
}

static uint64_t began;

static void begin(void) { began = busy_ns(); }

static void end(const char *what, unsigned n)
{
    diag("%-40s %8lu", what, (unsigned long)((busy_ns() - began) / n));
}

static void write_all(const char *what, int fd, size_t each, bool random)
{
    unsigned n = (unsigned)(COST_PAGES * PAGE / each);

    begin();
    for (unsigned k = 0; k < n; k++)
        if (pwrite(fd, buffer, each, (off_t)(each * (random ? draw(n) : k))) != (ssize_t)each)
            ok(false, "%s", what);
    end(what, n);
    begin();
    is(fsync(fd), 0, "fsync");
    end("  and the fsync afterwards, for each", n);
}

static int cost(void)
{
    int fd = open(MNT "/cost", O_CREAT | O_RDWR | O_TRUNC, 0600);
    volatile uint8_t *p;

    write_all("write 8 KiB at the end", fd, PAGE, false);
    write_all("write 128 KiB over others", fd, 16 * PAGE, false);
    write_all("write 8 KiB over others, in order", fd, PAGE, false);
    write_all("write 8 KiB over others, random", fd, PAGE, true);
    begin();
    for (unsigned k = 0; k < 100; k++)
        if (pwrite(fd, buffer, PAGE, (off_t)(PAGE * draw(COST_PAGES))) != PAGE || fdatasync(fd))
            ok(false, "a write");
    end("write 8 KiB, random, and fdatasync", 100);
    p = map(fd, COST_PAGES * PAGE);
    for (unsigned round = 0; round < 2; round++) {
        begin();
        for (unsigned k = 0; k < COST_PAGES; k++)
            p[k * PAGE] = (uint8_t)round;
        end("store to a page that is clean", COST_PAGES);
        begin();
        is(fsync(fd), 0, "fsync");
        end("  and the fsync afterwards, for each", COST_PAGES);
    }
    munmap((void *)p, COST_PAGES * PAGE);
    ftruncate(fd, 0);
    ftruncate(fd, COST_PAGES * PAGE);
    p = map(fd, COST_PAGES * PAGE);
    begin();
    for (unsigned k = 0; k < COST_PAGES; k++)
        p[k * PAGE] = 1;
    end("store to a hole, in order", COST_PAGES);
    munmap((void *)p, COST_PAGES * PAGE);
    close(fd);
    unlink(MNT "/cost");
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}

int main(int argc, char **argv)
{
    is(mount_it("/dev/vda"), 0, "mounted");
    if (argc > 1 && !strcmp(argv[1], "cost"))
        return cost();
    if (argc > 1) {
        test_many((unsigned)atoi(argv[1]));
    } else {
        test_stores();
        test_holes();
        test_ends();
        test_short_write();
        test_punched();
        test_punched_holes();
        test_in_time();
        test_while_written();
        test_cut_while_stored();
        test_nameless();
    }
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}
