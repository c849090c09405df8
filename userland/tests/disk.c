/*
 * Disks as block special files. tests/test_disks.py makes the images, attaches them, and looks at
 * them afterwards:
 *
 *   disk              /dev/vda: a partition table, vda1 of 4 MiB, vda3 of 1 MiB; vdb: read-only
 *   disk load N       several processes change vda1, whose last contents check_load() checks
 *   disk error KIND   KIND, read or write or flush, fails; the others do not
 *   disk once         the first read of sector 40 and the first write fail
 *   disk slow         a slow disk: processes are killed while they wait
 *   disk silent       vda answers nothing, vdb does
 *   disk cost         time outside the idle loop for each transfer: with scripts/run --icount, one
 *                     CPU, instructions; they vary, because answers come in the host's time
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <megalith/failure.h>
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>

#define SECTOR     512u
#define PART_BYTES (4u << 20)
#define PART_FIRST 64u
#define BIG        (300u << 10) /* more than one request */
#define O_DIRECT_  02000000     /* <fcntl.h> has it with _GNU_SOURCE only */

static void *volatile nowhere = (void *)8;
static uint8_t model[PART_BYTES] __attribute__((aligned(8192)));
static uint8_t buffer[PART_BYTES] __attribute__((aligned(8192)));
static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % below;
}

static void fill(uint8_t *p, size_t n)
{
    for (size_t k = 0; k < n; k++)
        p[k] = (uint8_t)draw(256);
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

static void test_facts(void)
{
    int fd = open_disk("/dev/vda1", O_RDWR), other;
    uint64_t bytes = 0;
    unsigned long units = 0;
    int size = 0, locked = -1;
    struct stat st;

    is(ioctl(fd, BLKGETSIZE64, &bytes), 0, "the size is told");
    is(bytes, PART_BYTES, "in bytes");
    ok(ioctl(fd, BLKGETSIZE, &units) == 0 && units == PART_BYTES / 512, "and in units");
    ok(ioctl(fd, BLKSSZGET, &size) == 0 && size == SECTOR, "the size of a sector is told");
    ok(ioctl(fd, BLKROGET, &locked) == 0 && locked == 0, "it can be written");
    is(ioctl(fd, BLKFLSBUF, 0), 0, "it is flushed");
    ok(ioctl(fd, 0x5401, &size) == -1 && errno == ENOTTY, "it is no terminal");
    ok(ioctl(fd, BLKGETSIZE64, 8) == -1 && errno == EFAULT, "a bad address is refused");
    fstat(fd, &st);
    ok(S_ISBLK(st.st_mode) && (st.st_mode & 07777) == 0600 && major(st.st_rdev) == 254 &&
           minor(st.st_rdev) == 1,
       "it is a block special file of root's");
    ok(mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV,
       "it is not mapped");
    ok(ftruncate(fd, 0) == -1 && errno == EINVAL, "nor truncated");
    is(fsync(fd), 0, "fsync");
    is(fdatasync(fd), 0, "fdatasync");
    close(fd);
    ok(open("/dev/vda2", O_RDONLY) == -1 && errno == ENOENT, "an empty entry is no partition");
    mknod("/tmp/none", S_IFBLK | 0600, makedev(254, 2));
    ok(open("/tmp/none", O_RDONLY) == -1 && errno == ENXIO, "nor has it a device");
    mknod("/tmp/node", S_IFBLK | 0600, makedev(254, 3));
    other = open_disk("/tmp/node", O_RDONLY);
    ok(ioctl(other, BLKGETSIZE64, &bytes) == 0 && bytes == 1 << 20,
       "another node is the same disk");
    close(other);
    ok(open("/dev/vdb", O_RDWR) == -1 && errno == EROFS, "a disk is locked against writing");
    fd = open_disk("/dev/vdb", O_RDONLY);
    ok(read(fd, buffer, 3) == 3 && memcmp(buffer, "vdb", 3) == 0, "and read");
    close(fd);
    sync();
}

static void test_rights(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (setuid(1000))
            _exit(2);
        _exit(open("/dev/vda", O_RDONLY) != -1 || errno != EACCES ||
              mknod("/tmp/mine", S_IFBLK | 0666, makedev(254, 0)) != -1 || errno != EPERM);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "others do not get at disks");
}

static void test_edges(void)
{
    int fd = open_disk("/dev/vda1", O_RDWR);
    struct iovec v[2] = {{buffer, 100}, {buffer + 100, 5000}};

    is(lseek(fd, 0, SEEK_END), PART_BYTES, "the end is found");
    is(read(fd, buffer, 10), 0, "where nothing is read");
    ok(write(fd, buffer, 1) == -1 && errno == ENOSPC, "and nothing written");
    ok(lseek(fd, 1, SEEK_CUR) == -1 && errno == EINVAL, "there is nothing beyond");
    is(pread(fd, buffer, 1000, PART_BYTES - 700), 700, "a read ends there");
    is(pwrite(fd, buffer, 1000, PART_BYTES - 700), 700, "so does a write");
    ok(pwrite(fd, buffer, 1, (off_t)1 << 62) == -1 && errno == ENOSPC, "far beyond is no space");
    is(pread(fd, buffer, 1, (off_t)1 << 62), 0, "and no data");
    ok(pread(fd, buffer, 1, -1) == -1 && errno == EINVAL, "nothing is before the beginning");
    is(pwrite(fd, buffer, 0, 0), 0, "no bytes are written");
    fill(buffer, 5100);
    lseek(fd, 1000, SEEK_SET);
    is(writev(fd, v, 2), 5100, "two buffers are written");
    is(lseek(fd, 0, SEEK_CUR), 6100, "where the position is");
    is(pread(fd, model, 5100, 1000), 5100, "they are read");
    ok(memcmp(model, buffer, 5100) == 0, "as they were written");
    ok(pread(fd, nowhere, SECTOR, 0) == -1 && errno == EFAULT, "a bad buffer is refused");
    ok(pwrite(fd, nowhere, SECTOR, 0) == -1 && errno == EFAULT, "for writing too");
    close(fd);
    fd = open_disk("/dev/vda1", O_RDWR | O_SYNC);
    is(pwrite(fd, buffer, 700, 100), 700, "a synchronous write");
    close(fd);
    fd = open_disk("/dev/vda1", O_RDWR | O_DIRECT_);
    ok(pread(fd, buffer, SECTOR, 1) == -1 && errno == EINVAL, "O_DIRECT wants whole sectors");
    ok(pread(fd, buffer, 100, 0) == -1 && errno == EINVAL, "a whole number of them");
    ok(pwrite(fd, buffer + 1, SECTOR, 0) == -1 && errno == EINVAL, "in an aligned buffer");
    is(pwrite(fd, buffer, SECTOR, SECTOR), SECTOR, "and writes them");
    close(fd);
}

/* A part of the buffer cannot be read: what comes before may be written, and nothing else is. */
static void test_partial(void)
{
    int fd = open_disk("/dev/vda1", O_RDWR);
    uint8_t *map = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ssize_t n;

    munmap(map + (1 << 20), 1 << 20);
    memset(map, 0x5A, 1 << 20);
    n = pwrite(fd, map, 2 << 20, 0);
    ok(n >= 0 && n <= 1 << 20 && n % SECTOR == 0, "a write ends where its buffer does (%ld)", n);
    n = pread(fd, map, 2 << 20, 0);
    ok(n >= 0 && n <= 1 << 20, "so does a read (%ld)", n);
    close(fd);
}

/* Random reads and writes of any place and length, beside a model. */
static void test_model(void)
{
    int fd = open_disk("/dev/vda1", O_RDWR), whole = open_disk("/dev/vda", O_RDONLY);
    bool right = true;

    fill(model, PART_BYTES);
    is(pwrite(fd, model, PART_BYTES, 0), PART_BYTES, "the partition is written at once");
    for (int k = 0; k < 150 && right; k++) {
        uint32_t n = draw(k % 3 ? 2000 : BIG) + 1, at = draw(PART_BYTES - n);

        if (k % 4 == 0) { /* whole sectors */
            n = (n + SECTOR - 1) & -SECTOR;
            at &= -SECTOR;
            n = n > PART_BYTES - at ? PART_BYTES - at : n;
        }
        if (draw(2)) {
            memset(model + at, k + 1, n);
            right = pwrite(fd, model + at, n, at) == n;
        } else {
            int from = draw(2) ? fd : whole;

            right = pread(from, buffer, n, at + (from == whole ? PART_FIRST * SECTOR : 0)) == n &&
                    memcmp(buffer, model + at, n) == 0;
        }
        if (!right)
            diag("operation %d, %u bytes at %u", k, n, at);
    }
    ok(right, "random reads and writes are as in the model");
    is(fsync(fd), 0, "which is made safe");
    close(fd);
    close(whole);
}

/* ---- failing allocations ---- */

struct attempt {
    const char *name;
    int fd;
    size_t n;
    off_t at;
    bool write;
};

static bool fails_right(const struct attempt *a)
{
    struct mega_failure f = {.fired = 1};

    for (unsigned long n = 1; f.fired && n < 100; n++) {
        ssize_t r;

        if (mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0) != SS$_NORMAL)
            return false;
        r = !a->n      ? fsync(a->fd)
            : a->write ? pwrite(a->fd, model + a->at, a->n, a->at)
                       : pread(a->fd, buffer, a->n, a->at);
        mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&f, 0, 0, 0, 0);
        /* A long transfer goes on with fewer requests at a time. */
        if (f.fired ? !(r == -1 && errno == ENOMEM) && r != (ssize_t)a->n : r != (ssize_t)a->n)
            return diag("%s, failure %lu: %ld, %s", a->name, n, r, strerror(errno)), false;
    }
    return !f.fired;
}

static void test_failures(void)
{
    int fd = open_disk("/dev/vda1", O_RDWR);
    const struct attempt tries[] = {{"read", fd, 1000, 100, false},
                                    {"long read", fd, BIG, 0, false},
                                    {"write of a part", fd, 1000, 100, true},
                                    {"long write", fd, BIG & -SECTOR, 0, true},
                                    {"fsync", fd, 0, 0, true}};

    pread(fd, model, PART_BYTES, 0);
    for (unsigned k = 0; k < sizeof(tries) / sizeof(tries[0]); k++)
        ok(fails_right(&tries[k]), "%s: each allocation fails in turn", tries[k].name);
    ok(pread(fd, buffer, PART_BYTES, 0) == PART_BYTES && !memcmp(model, buffer, PART_BYTES),
       "nothing was changed by halves");
    close(fd);
}

/* ---- several processes ---- */

#define PROCESSES   4u
#define AREA        1024u              /* sectors of each process */
#define LANES_FIRST (PROCESSES * AREA) /* sectors that all change parts of */
#define LANES       32u
#define LANE        16u /* bytes; that of process p is the p-th of PROCESSES */

/* What process p has last written to a sector of its own. */
static void make_sector(uint64_t *to, uint64_t sector, uint64_t version)
{
    for (uint64_t k = 0; k < SECTOR / 8; k++)
        to[k] = sector * 0x9E3779B97F4A7C15u + version * 0xBF58476D1CE4E5B9u + k;
}

static bool change_run(int fd, uint32_t p, uint32_t *versions, uint32_t version)
{
    uint32_t n = draw(draw(4) ? 20 : 600) + 1, at = draw(AREA - n);

    for (uint32_t k = 0; k < n; k++) {
        versions[at + k] = version;
        make_sector((uint64_t *)(buffer + k * SECTOR), p * AREA + at + k, version);
    }
    return pwrite(fd, buffer, n * SECTOR, (p * AREA + at) * SECTOR) == n * SECTOR;
}

static bool check_run(int fd, uint32_t p, const uint32_t *versions)
{
    uint32_t n = draw(draw(4) ? 20 : 600) + 1, at = draw(AREA - n);
    uint64_t want[SECTOR / 8];

    if (pread(fd, buffer, n * SECTOR, (p * AREA + at) * SECTOR) != n * SECTOR)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        make_sector(want, p * AREA + at + k, versions[at + k]);
        if (memcmp(want, buffer + k * SECTOR, SECTOR) != 0)
            return false;
    }
    return true;
}

static bool change_lane(int fd, uint32_t p, uint32_t sector, uint8_t value)
{
    off_t at = (LANES_FIRST + sector) * SECTOR + p * LANE;
    uint8_t lane[LANE], back[LANE];

    memset(lane, value, LANE);
    return pwrite(fd, lane, LANE, at) == LANE && pread(fd, back, LANE, at) == LANE &&
           memcmp(lane, back, LANE) == 0;
}

static int load(uint32_t p, uint32_t rounds)
{
    static uint32_t versions[AREA];
    int fd = open_disk("/dev/vda1", O_RDWR);

    seed = p + 1;
    for (uint32_t k = 0; k < AREA; k++)
        make_sector((uint64_t *)(buffer + k * SECTOR), p * AREA + k, 0);
    if (pwrite(fd, buffer, AREA * SECTOR, p * AREA * SECTOR) != AREA * SECTOR)
        return 1;
    for (uint32_t k = 1; k <= rounds; k++) {
        if (!change_run(fd, p, versions, k))
            return 2;
        if (!check_run(fd, p, versions))
            return 3;
        if (!change_lane(fd, p, draw(LANES), (uint8_t)k))
            return 4;
        if (k % 16 == 0 && fsync(fd))
            return 5;
    }
    for (uint32_t k = 0; k < LANES; k++)
        if (!change_lane(fd, p, k, (uint8_t)(p + 1)))
            return 6;
    for (uint32_t k = 0; k < AREA; k++)
        make_sector((uint64_t *)(buffer + k * SECTOR), p * AREA + k, 1000 + p);
    return pwrite(fd, buffer, AREA * SECTOR, p * AREA * SECTOR) != AREA * SECTOR || fdatasync(fd);
}

static int test_load(uint32_t rounds)
{
    pid_t pid[PROCESSES];

    for (uint32_t p = 0; p < PROCESSES; p++)
        if ((pid[p] = fork()) == 0)
            _exit(load(p, rounds));
    for (uint32_t p = 0; p < PROCESSES; p++) {
        int status = -1;

        waitpid(pid[p], &status, 0);
        is(status, 0, "process %u found what it had written", p);
    }
    return tap_done();
}

/* ---- faults ---- */

static long try_kind(int fd, const char *kind)
{
    errno = 0;
    return !strcmp(kind, "read")    ? pread(fd, buffer, 100000, 0)
           : !strcmp(kind, "write") ? pwrite(fd, buffer, 100352, 0)
                                    : fsync(fd);
}

static int test_error(const char *bad)
{
    static const char *const kinds[] = {"read", "write", "flush"};
    int fd = open_disk("/dev/vda", O_RDWR);

    for (int k = 0; k < 3; k++) {
        long r = try_kind(fd, kinds[k]);

        if (strcmp(kinds[k], bad) == 0)
            ok(r == -1 && errno == EIO, "%s fails with EIO (%ld)", bad, r);
        else
            ok(r >= 0, "%s does not fail", kinds[k]);
    }
    if (strcmp(bad, "read") == 0)
        ok(pwrite(fd, buffer, 100, 100) == -1 && errno == EIO, "nor can a part be written");
    close(fd);
    return tap_done();
}

static int test_once(void)
{
    int fd = open_disk("/dev/vda", O_RDWR);

    is(pread(fd, buffer, 32768, 0), 32768, "a read that failed once is tried again");
    is(pwrite(fd, buffer, 4096, 0), 4096, "so is a write");
    return tap_done();
}

/* Kill a process that waits for a disk which takes seconds for each of its requests. */
static void kill_one(const char *kind)
{
    struct timespec a, b, some = {.tv_nsec = 200000000};
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int fd = open_disk("/dev/vda", O_RDWR);

        for (;;)
            if (!strcmp(kind, "read")   ? pread(fd, buffer, 3 << 20, 0) < 0
                : !strcmp(kind, "part") ? pwrite(fd, buffer, 100, 100) < 0
                                        : pwrite(fd, buffer, 3 << 20, 0) < 0)
                _exit(1);
    }
    nanosleep(&some, NULL);
    clock_gettime(CLOCK_MONOTONIC, &a);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    is(status, SIGKILL, "a process is killed in a %s", kind);
    ok(b.tv_sec - a.tv_sec < 3, "and has ended soon (%ld s)", b.tv_sec - a.tv_sec);
}

static int test_slow(void)
{
    kill_one("read");
    kill_one("write");
    kill_one("part");
    return tap_done();
}

static int test_silent(void)
{
    int fd = open_disk("/dev/vda", O_RDWR), other = open_disk("/dev/vdb", O_RDWR);
    pid_t pid[3];

    is(try_kind(fd, "read"), 100000, "the first read is all that a disk answers");
    for (int k = 0; k < 3; k++)
        if ((pid[k] = fork()) == 0)
            _exit(try_kind(fd, "read") == -1 && errno == EIO ? 0 : 1);
    is(pread(other, buffer, 4096, 0), 4096, "another disk goes on");
    for (int k = 0; k < 3; k++) {
        int status = -1;

        waitpid(pid[k], &status, 0);
        is(status, 0, "a read of a disk that is silent ends with EIO");
    }
    ok(pwrite(fd, buffer, 4096, 0) == -1 && errno == EIO, "so does every later request");
    ok(fsync(fd) == -1 && errno == EIO, "and a flush");
    is(pwrite(other, buffer, 4096, 0), 4096, "the other disk still goes on");
    return tap_done();
}

/* ---- costs ---- */

#define TRANSFERS 400

/* Nanoseconds outside the idle loop of CPU 0 so far. */
static uint64_t busy_ns(void)
{
    struct mega_cpu c = {0};
    struct timespec t;

    mega$info(MEGA_INFO_CPU, 0, &c, sizeof(c));
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - c.pure_idle_ns;
}

static void cost(const char *name, int fd, size_t n, bool write, bool random)
{
    uint64_t begin = busy_ns(), bytes;
    struct timespec a, b;
    double seconds;

    ioctl(fd, BLKGETSIZE64, &bytes);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (unsigned k = 0; k < TRANSFERS; k++) {
        off_t at = (off_t)(n * ((random ? draw(1 << 20) : k) % (bytes / n)));

        if ((write ? pwrite(fd, buffer, n, at) : pread(fd, buffer, n, at)) != (ssize_t)n)
            printf("Bail out! %s: %s\n", name, strerror(errno));
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    diag("%-24s %8lu ns outside the idle loop, %8.1f MB/s", name,
         (unsigned long)((busy_ns() - begin) / TRANSFERS), (double)n * TRANSFERS / 1e6 / seconds);
}

static int test_cost(void)
{
    int fd = open_disk("/dev/vda", O_RDWR);

    cost("read 8 KiB, random", fd, 8192, false, true);
    cost("write 8 KiB, random", fd, 8192, true, true);
    cost("read 128 KiB, in order", fd, 131072, false, false);
    cost("read 1 MiB, in order", fd, 1 << 20, false, false);
    cost("write 1 MiB, in order", fd, 1 << 20, true, false);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (!strcmp(how, "load"))
        return test_load((uint32_t)atoi(argv[2]));
    if (!strcmp(how, "error"))
        return test_error(argv[2]);
    if (!strcmp(how, "once"))
        return test_once();
    if (!strcmp(how, "slow"))
        return test_slow();
    if (!strcmp(how, "silent"))
        return test_silent();
    if (!strcmp(how, "cost"))
        return test_cost();
    test_facts();
    test_rights();
    test_edges();
    test_partial();
    test_model();
    test_failures();
    return tap_done();
}
