/*
 * Page files. tests/test_paging.py makes the disks:
 *
 *   paging             the calls, one process that needs more than all memory, fork, mlock, mremap,
 *                      mprotect, /proc, swapoff
 *   paging load N      processes and threads with checksummed pages, together several times memory,
 *                      N accesses each
 *   paging fail        the disk fails to read: SIGBUS, or what was written
 *   paging kill        processes are killed while they page
 *   paging full        the page file is too small: the largest process ends, others go on
 */
#define _GNU_SOURCE /* mremap */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>

#define PAGE      8192ul
#define DEVICE    "/dev/vda"
#define MEGABYTES ((size_t)1 << 20)
#define THREADS   3u
#define PROCESSES 4u

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static struct mega_page_file page_file(void)
{
    struct mega_page_file f = {0};

    mega$info(MEGA_INFO_PAGE_FILE, 0, &f, sizeof(f));
    return f;
}

static uint64_t memory_pages(void)
{
    struct mega_memory m = {0};

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m.total;
}

static bool is_consistent(void)
{
    static struct mega_validate v;

    mega$info(MEGA_INFO_VALIDATE, 0, &v, sizeof(v));
    if (v.errors)
        diag("%s", v.text);
    return v.errors == 0;
}

/* ---- pages with contents that say which page and version they are ---- */

static void fill(uint64_t *page, uint64_t number, uint64_t version)
{
    for (unsigned k = 0; k < PAGE / 8; k++)
        page[k] = number * 0x9E3779B97F4A7C15 + version * 0xBF58476D1CE4E5B9 + k;
}

static bool matches(const uint64_t *page, uint64_t number, uint64_t version)
{
    uint64_t base = number * 0x9E3779B97F4A7C15 + version * 0xBF58476D1CE4E5B9;
    uint64_t differ = 0;

    for (unsigned k = 0; k < PAGE / 8; k++)
        differ |= page[k] ^ (base + k);
    return differ == 0;
}

static char *map(size_t npages)
{
    char *p = mmap(NULL, npages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        bail_out("no addresses");
    return p;
}

static void fill_all(char *p, size_t n, uint64_t version)
{
    for (size_t k = 0; k < n; k++)
        fill((uint64_t *)(void *)(p + k * PAGE), k, version);
}

static size_t count_wrong(const char *p, size_t n, uint64_t version)
{
    size_t wrong = 0;

    for (size_t k = 0; k < n; k++)
        wrong += !matches((const uint64_t *)(const void *)(p + k * PAGE), k, version);
    return wrong;
}

/* ---- one process ---- */

static void calls(void)
{
    struct sysinfo info;

    is(swapon("/dev/null", 0), -1, "a device that is no disk is refused");
    is(errno, EINVAL, "as invalid");
    is(swapon("/dev/vdb", 0), -1, "a disk without mkswap's header is refused");
    is(errno, EINVAL, "as invalid");
    is(swapoff(DEVICE), -1, "what is no page file cannot be closed");
    is(errno, EINVAL, "as invalid");
    is(swapon(DEVICE, 0), 0, "a page file");
    is(swapon(DEVICE, 0), -1, "but not twice");
    is(errno, EBUSY, "it is busy");
    sysinfo(&info);
    ok(info.totalswap == info.freeswap && info.totalswap > 0, "sysinfo() tells its size");
    is(swapoff(DEVICE), 0, "it is closed");
    is(swapon(DEVICE, 0), 0, "and used again");
}

static void users_may_not(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (setuid(1000))
            _exit(3);
        _exit((swapoff(DEVICE) == -1 && errno == EPERM) &&
                      (swapon(DEVICE, 0) == -1 && errno == EPERM)
                  ? 0
                  : 1);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "a user may do neither");
}

static void look_around(char *p, size_t n)
{
    char *moved, line[256];
    uint64_t *page;
    int fd, status;
    pid_t pid = fork();

    if (pid == 0) {
        size_t wrong = count_wrong(p, n, 1);

        fill_all(p, n / 4, 2);
        wrong += count_wrong(p, n / 4, 2);
        _exit(wrong ? 1 : 0);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "a child sees the same, and writes its own");
    is(count_wrong(p, n, 1), 0, "its parent's are unchanged");

    is(mprotect(p, n * PAGE / 2, PROT_READ), 0, "made read-only");
    is(count_wrong(p, n / 2, 1), 0, "they are the same");
    is(mprotect(p, n * PAGE / 2, PROT_READ | PROT_WRITE), 0, "and writable again");

    moved = mremap(p, n * PAGE, n * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, map(n));
    ok(moved != MAP_FAILED && moved != p, "moved");
    is(count_wrong(moved, n, 1), 0, "with their contents");

    is(mlock(moved, 64 * PAGE), 0, "some are locked");
    is(munmap(moved + (n / 2) * PAGE, n / 4 * PAGE), 0, "a part is unmapped");
    is(madvise(moved + (n / 4) * PAGE, 16 * PAGE, MADV_DONTNEED), 0, "a part is discarded");
    page = (uint64_t *)(void *)(moved + n / 4 * PAGE);
    is((long)page[0], 0, "which is zero now");

    fd = open("/proc/self/mem", O_RDWR);
    is(pread(fd, line, sizeof(line), (off_t)(uintptr_t)(moved + 100 * PAGE)), (long)sizeof(line),
       "read by /proc/self/mem");
    ok(memcmp(line, moved + 100 * PAGE, sizeof(line)) == 0, "what is there");
    memset(line, 7, sizeof(line));
    is(pwrite(fd, line, sizeof(line), (off_t)(uintptr_t)(moved + 101 * PAGE)), (long)sizeof(line),
       "written by it");
    ok(memcmp(line, moved + 101 * PAGE, sizeof(line)) == 0, "is there");
    close(fd);
    munmap(moved, n * PAGE);
}

static void one_process(void)
{
    size_t n = memory_pages() * 2;
    char *p;

    calls();
    users_may_not();
    p = map(n);
    fill_all(p, n, 1);
    is(count_wrong(p, n, 1), 0, "twice as much as all memory keeps its contents");
    ok(page_file().used > n / 2, "half of it and more is in the page file");
    ok(page_file().writes >= page_file().used, "where it was written");
    ok(is_consistent(), "memory is consistent");
    look_around(p, n);
    ok(is_consistent(), "memory is consistent");
    is((long)page_file().used < 100, 1, "what was unmapped is free in the page file");
    p = map(n);
    fill_all(p, n, 3);
    is(swapoff(DEVICE), -1, "the page file cannot be closed while memory is too small");
    is(errno, ENOMEM, "for this reason");
    is(count_wrong(p, n, 3), 0, "nothing is lost");
    munmap(p + n / 3 * PAGE, (n - n / 3) * PAGE);
    is(swapoff(DEVICE), 0, "it can when there is enough");
    is(count_wrong(p, n / 3, 3), 0, "all is in memory");
    is(page_file().slots, 0, "there is no page file");
}

/* ---- many ---- */

struct share {
    char *pages;
    uint32_t *version; /* of each page */
    size_t n;
    uint32_t seed, accesses;
    size_t wrong;
};

/* Random accesses of one thread to its share of the pages, and reads of one that all share. */
static void *access_some(void *arg)
{
    struct share *s = arg;

    for (uint32_t k = 0; k < s->accesses; k++) {
        size_t page = draw(&s->seed) % s->n;
        uint64_t *p = (uint64_t *)(void *)(s->pages + page * PAGE);

        if (s->version[page] && !matches(p, page, s->version[page]))
            s->wrong++;
        if (!s->version[page] || draw(&s->seed) % 2)
            fill(p, page, ++s->version[page]);
    }
    return NULL;
}

static int one_load(uint32_t seed, uint32_t accesses, size_t npages)
{
    struct share share[THREADS];
    pthread_t thread[THREADS];
    size_t wrong = 0;

    for (unsigned k = 0; k < THREADS; k++) {
        size_t n = npages / THREADS;

        share[k] = (struct share){map(n), calloc(n, 4), n, seed * THREADS + k, accesses, 0};
        if (!share[k].version || pthread_create(&thread[k], NULL, access_some, &share[k]))
            return 2;
    }
    for (unsigned k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        wrong += share[k].wrong;
        for (size_t page = 0; page < share[k].n; page++) {
            const uint64_t *p = (const uint64_t *)(void *)(share[k].pages + page * PAGE);

            wrong += share[k].version[page] ? !matches(p, page, share[k].version[page]) : 0;
        }
    }
    return wrong != 0;
}

static void load(uint32_t accesses, unsigned times)
{
    size_t n = memory_pages() * times / PROCESSES;

    is(swapon(DEVICE, 0), 0, "a page file");
    for (unsigned k = 0; k < PROCESSES; k++)
        if (fork() == 0)
            _exit(one_load(k + 1, accesses, n));
    for (unsigned k = 0; k < PROCESSES; k++) {
        int status;

        for (unsigned round = 0; round < 3; round++)
            if (k == 0 && !is_consistent())
                ok(false, "memory is consistent meanwhile");
        if (wait(&status) < 0)
            status = -1;
        is(status, 0, "a process found its contents");
    }
    ok(page_file().writes > 0 && page_file().reads > 0, "there was paging: %lu in, %lu out",
       (unsigned long)page_file().reads, (unsigned long)page_file().writes);
    ok(is_consistent(), "memory is consistent");
    is((long)page_file().used < 200, 1, "the page file is nearly empty");
    is(swapoff(DEVICE), 0, "it is closed");
}

/* ---- errors ---- */

static sigjmp_buf back;
static volatile int code;

static void on_bus(int signo, siginfo_t *info, void *context)
{
    (void)signo, (void)context;
    code = info->si_code;
    siglongjmp(back, 1);
}

static void fail(void)
{
    struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    size_t n = memory_pages() * 2, errors = 0, wrong = 0;
    char *p = map(n);

    sigaction(SIGBUS, &sa, NULL);
    is(swapon(DEVICE, 0), 0, "a page file");
    fill_all(p, n, 1);
    for (volatile size_t k = 0; k < n; k++) {
        if (sigsetjmp(back, 1)) {
            errors++;
            continue;
        }
        wrong += !matches((const uint64_t *)(void *)(p + k * PAGE), k, 1);
    }
    is(wrong, 0, "no page has other contents");
    ok(errors > 0, "%lu pages cannot be read: SIGBUS", (unsigned long)errors);
    is(code, BUS_ADRERR, "with its code");
    ok(page_file().errors > 0, "the errors are counted");
    ok(is_consistent(), "memory is consistent");
    is(swapoff(DEVICE), -1, "the page file cannot be closed");
    is(errno, EIO, "for this reason");
    munmap(p, n * PAGE);
    is(swapoff(DEVICE), 0, "it can when nobody needs it");
}

static void bad_write(void)
{
    size_t n = memory_pages() * 2;
    char *p = map(n);

    is(swapon(DEVICE, 0), 0, "a page file");
    fill_all(p, n, 1);
    is(count_wrong(p, n, 1), 0, "pages that could not be written are in memory or elsewhere");
    ok(page_file().bad > 0, "%lu pages of the file are used no more",
       (unsigned long)page_file().bad);
    ok(is_consistent(), "memory is consistent");
    munmap(p, n * PAGE);
    is(swapoff(DEVICE), 0, "it is closed");
}

static void kill_some(void)
{
    size_t n = memory_pages();
    uint32_t seed = 5;

    is(swapon(DEVICE, 0), 0, "a page file");
    for (unsigned round = 0; round < 12; round++) {
        pid_t pid[3];

        for (unsigned k = 0; k < 3; k++) {
            pid[k] = fork();
            if (pid[k] == 0)
                _exit(one_load(round * 3 + k, 1000000, n));
        }
        usleep(300000 + draw(&seed) % 300000);
        for (unsigned k = 0; k < 3; k++)
            kill(pid[k], SIGKILL);
        for (unsigned k = 0; k < 3; k++)
            waitpid(pid[k], NULL, 0);
    }
    ok(page_file().reads > 0, "there was paging");
    ok(is_consistent(), "memory is consistent");
    is((long)page_file().used < 200, 1, "the page file is nearly empty");
    is(swapoff(DEVICE), 0, "it is closed");
}

static void full(void)
{
    size_t n = memory_pages() * 4;
    int status;
    pid_t pid;

    is(swapon(DEVICE, 0), 0, "a page file");
    pid = fork();
    if (pid == 0) {
        fill_all(map(n), n, 1);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "who needs more than all there is ends");
    ok(is_consistent(), "memory is consistent");
    is(swapoff(DEVICE), 0, "it is closed");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "load"))
        load((uint32_t)atoi(argv[2]), argc > 3 ? (unsigned)atoi(argv[3]) : 4);
    else if (!strcmp(what, "fail"))
        fail();
    else if (!strcmp(what, "write"))
        bad_write();
    else if (!strcmp(what, "kill"))
        kill_some();
    else if (!strcmp(what, "full"))
        full();
    else
        one_process();
    return tap_done();
}
