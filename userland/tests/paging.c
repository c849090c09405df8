/*
 * Page files. tests/test_paging.py makes the disks:
 *
 *   paging             the calls, one process that needs more than all memory, fork, mlock, mremap,
 *                      mprotect, /proc, swapoff
 *   paging load N      processes and threads with checksummed pages, together several times memory,
 *                      N accesses each: a third of the pages private, a third in shared memory, a
 *                      third in a page-file section
 *   paging shared      memory with an object, of each kind, and private memory after forks
 *   paging quota       a user at the limits of memory, of files in memory and of page files
 *   paging thrash      more is in use all the time than memory and the page file have
 *   paging fail        the disk fails to read: SIGBUS, SS$_PAGRDERR, or what was written
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
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chfdef.h>
#include <descrip.h>
#include <gen64def.h>
#include <lib$routines.h>
#include <megalith/info.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>
#include <vadef.h>

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

/* ---- memory that processes share ---- */

static char *map_file(int fd, size_t n)
{
    char *p;

    if (fd < 0 || ftruncate(fd, (off_t)(n * PAGE)))
        bail_out("no file");
    p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        bail_out("no addresses for a file");
    return p;
}

static char *map_shared(size_t n)
{
    char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        bail_out("no addresses for shared memory");
    return p;
}

static $DESCRIPTOR(section_name, "PAGING");

static GENERIC_64 region;

static void unmap_section(void)
{
    uint64_t length;
    void *va;

    sys$delete_region_64(&region, PSL$C_USER, &va, &length);
}

static char *map_section(size_t n)
{
    uint64_t length;
    void *va = NULL;
    int status = sys$create_region_64(n * PAGE, VA$C_REGION_UCREATE_UOWN, 0, &region, &va, &length);

    if (status & 1)
        status = sys$crmpsc_gpfile_64(&section_name, NULL, 0, n * PAGE, &region, 0, PSL$C_USER,
                                      SEC$M_EXPREG | SEC$M_WRT, &va, &length);
    if (!(status & 1))
        bail_out("no section: %d", status);
    return va;
}

#define KINDS 5u
static const char *const kind_names[KINDS] = {"shared memory", "a memfd", "System V memory",
                                              "a file of /tmp", "a page-file section"};
static int files[KINDS];
static int segment;

static char *map_kind(unsigned kind, size_t n)
{
    switch (kind) {
    case 0:
        return map_shared(n);
    case 1:
        files[1] = memfd_create("paging", 0);
        return map_file(files[1], n);
    case 2:
        segment = shmget(IPC_PRIVATE, n * PAGE, IPC_CREAT | 0600);
        return shmat(segment, NULL, 0);
    case 3:
        files[3] = open("/tmp/paging", O_RDWR | O_CREAT | O_TRUNC, 0600);
        return map_file(files[3], n);
    default:
        return map_section(n);
    }
}

/* A file is read and written by calls, made shorter and longer, and gets a hole. */
static void change_file(int fd, char *p, size_t n)
{
    static uint64_t page[PAGE / 8];
    size_t wrong = 0;

    for (size_t k = 0; k < n; k += 7) {
        wrong += pread(fd, page, PAGE, (off_t)(k * PAGE)) != (ssize_t)PAGE || !matches(page, k, 1);
        fill(page, k, 2);
        wrong += pwrite(fd, page, PAGE, (off_t)(k * PAGE)) != (ssize_t)PAGE;
    }
    for (size_t k = 0; k < n; k++)
        wrong += !matches((uint64_t *)(void *)(p + k * PAGE), k, k % 7 ? 1 : 2);
    is(wrong, 0, "read and written by calls");
    is(ftruncate(fd, (off_t)(n / 2 * PAGE + 100)), 0, "made shorter");
    is(ftruncate(fd, (off_t)(n * PAGE)), 0, "and longer");
    for (size_t k = n / 2 + 1; k < n; k++)
        wrong += p[k * PAGE] != 0;
    wrong += memcmp(p + n / 2 * PAGE, (char[8]){0}, 8) == 0 || p[n / 2 * PAGE + 100] != 0;
    is(wrong, 0, "what was cut off is zero");
    is(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)(n / 4 * PAGE)), 0,
       "a hole");
    for (size_t k = 0; k < n / 4; k++)
        wrong += p[k * PAGE] != 0;
    is(wrong, 0, "is zero");
}

static int check_and_write(char *const *p, size_t n)
{
    size_t wrong = 0;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        wrong += count_wrong(p[kind], n, 1);
        fill_all(p[kind], n / 8, 5);
    }
    return wrong ? 1 : 0;
}

static void all_kinds(void)
{
    size_t n = memory_pages() / 2;
    char *p[KINDS];
    int status;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        p[kind] = map_kind(kind, n);
        fill_all(p[kind], n, 1);
    }
    for (unsigned kind = 0; kind < KINDS; kind++)
        is(count_wrong(p[kind], n, 1), 0, "%s keeps its contents", kind_names[kind]);
    ok(page_file().used > n, "more than half of it is in the page file");
    ok(is_consistent(), "memory is consistent");
    if (fork() == 0)
        _exit(check_and_write(p, n));
    wait(&status);
    is(status, 0, "a child sees the same");
    for (unsigned kind = 0; kind < KINDS; kind++) {
        is(count_wrong(p[kind], n / 8, 5), 0, "%s has what the child wrote", kind_names[kind]);
        fill_all(p[kind], n / 8, 1);
    }
    change_file(files[1], p[1], n);
    change_file(files[3], p[3], n);
    is(mlock(p[0], 32 * PAGE), 0, "some of it is locked");
    is(munmap(p[0] + n / 2 * PAGE, n / 4 * PAGE), 0, "a part is unmapped");
    is(count_wrong(p[0], n / 2, 1), 0, "the others are there");
    ok(is_consistent(), "memory is consistent");
    shmdt(p[2]);
    p[2] = shmat(segment, NULL, 0);
    is(count_wrong(p[2], n, 1), 0, "System V memory that nobody had attached keeps its contents");
    munmap(p[0], n * PAGE);
    munmap(p[1], n * PAGE);
    munmap(p[3], n * PAGE);
    close(files[1]);
    close(files[3]);
    unlink("/tmp/paging");
    shmdt(p[2]);
    shmctl(segment, IPC_RMID, NULL);
    unmap_section();
}

/* Children that have a parent's pages, and then write some. */
static int sharer(char *p, size_t n, int gate)
{
    size_t wrong;
    char c;

    if (read(gate, &c, 1) != 0)
        return 2;
    wrong = count_wrong(p, n, 1);
    fill_all(p, n / 4, 7);
    wrong += count_wrong(p, n / 4, 7);
    return wrong ? 1 : 0;
}

static void after_forks(void)
{
    size_t n = memory_pages() / 2;
    char *p = map(n), *q;
    uint64_t used;
    int gate[2], status;

    fill_all(p, n, 1);
    if (pipe(gate))
        bail_out("no pipe");
    for (unsigned k = 0; k < 3; k++)
        if (fork() == 0) {
            close(gate[1]);
            _exit(sharer(p, n, gate[0]));
        }
    used = page_file().used;
    q = map(2 * n);
    fill_all(q, 2 * n, 3);
    ok(page_file().used > used + n, "pages that four processes have are in the page file");
    ok(is_consistent(), "memory is consistent");
    is(count_wrong(q, 2 * n, 3), 0, "what took their place is right");
    munmap(q, 2 * n * PAGE);
    close(gate[1]);
    for (unsigned k = 0; k < 3; k++) {
        wait(&status);
        is(status, 0, "a child has found what it had, and written its own");
    }
    is(count_wrong(p, n, 1), 0, "its parent's are unchanged");
    munmap(p, n * PAGE);
    ok(is_consistent(), "memory is consistent");
}

static void shared(void)
{
    is(swapon(DEVICE, 0), 0, "a page file");
    after_forks();
    all_kinds();
    usleep(100000); /* the pager forgets what nobody maps any more */
    ok(is_consistent(), "memory is consistent");
    is((long)page_file().used < 200, 1, "the page file is nearly empty");
    is(swapoff(DEVICE), 0, "it is closed");
}

/* ---- limits ---- */

static int as_user(size_t n)
{
    char *p;

    if (setuid(1000))
        return 3;
    p = map(n);
    fill_all(p, n, 1);
    return count_wrong(p, n, 1) ? 1 : 0;
}

static int status_as_user(size_t n)
{
    int status = -1;

    if (fork() == 0)
        _exit(as_user(n));
    wait(&status);
    return status;
}

/* A page, and then one below each of n tables: a first access to such a page needs its table too,
   so one of two numbers of `first` leaves room for the table alone. By the program or by a call. */
static int sparse_as_user(size_t n, size_t first, int fd)
{
    size_t stride = PAGE / 8;
    char *p;

    if (setuid(1000))
        return 3;
    p = map(n * stride);
    memset(map(first), 1, first * PAGE);
    for (size_t k = 0; k < n; k++)
        if (fd < 0)
            p[k * stride * PAGE] = 1;
        else if (pread(fd, p + k * stride * PAGE, 1, 0) != 1)
            return 4;
    return 0;
}

static void sparse(const char *when)
{
    size_t n = memory_pages();
    int fd = memfd_create("byte", 0), status;

    if (write(fd, "x", 1) != 1)
        bail_out("no file");
    for (size_t first = 1; first <= 2; first++)
        for (int by_call = 0; by_call <= 1; by_call++) {
            status = -1;
            if (fork() == 0)
                _exit(sparse_as_user(n, first, by_call ? fd : -1));
            wait(&status);
            ok(by_call ? WIFEXITED(status) && WEXITSTATUS(status) == 4 : WIFSIGNALED(status),
               "tables take all that a user may have, %s, by %s, after %zu (%d)", when,
               by_call ? "calls" : "accesses", first, status);
        }
    close(fd);
}

/* More in a file than a user may have in memory of files. */
static int file_as_user(size_t n)
{
    static uint64_t page[PAGE / 8];
    size_t wrong = 0;
    char *p;
    int fd;

    if (setuid(1000))
        return 3;
    fd = memfd_create("paging", 0);
    p = map_file(fd, n);
    fill_all(p, n, 1);
    for (size_t k = 0; k < n; k++)
        wrong += pread(fd, page, PAGE, (off_t)(k * PAGE)) != (ssize_t)PAGE || !matches(page, k, 1);
    return wrong || count_wrong(p, n, 1) ? 1 : 0;
}

/* A file that is in a page file is made longer by a write that fails, as there is no room for its
   last page: neither in memory nor, to make some, in the page file. */
static int append_as_user(size_t n)
{
    static uint64_t page[PAGE / 4];
    struct stat st = {0};
    int small, large;

    if (setuid(1000))
        return 3;
    small = memfd_create("small", 0);
    large = memfd_create("large", 0);
    if (write(small, "what there is", 13) != 13)
        return 4;
    for (size_t k = 0; write(large, page, PAGE) == (ssize_t)PAGE; k++)
        if (k == n)
            return 5; /* nothing limits it */
    if (write(small, page, sizeof(page)) != -1)
        return 6;
    fstat(small, &st);
    if (st.st_size != 13)
        return 7;
    close(large);
    return pread(small, page, 100, 0) == 13 && !memcmp(page, "what there is", 13) ? 0 : 8;
}

static int status_of(int (*fn)(size_t n), size_t n)
{
    int status = -1;

    if (fork() == 0)
        _exit(fn(n));
    wait(&status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void quota(void)
{
    size_t n = memory_pages();

    is(swapon(DEVICE, 0), 0, "a page file");
    is(status_as_user(n * 3 / 4), 0, "a user may have more than half of memory");
    ok(page_file().writes > 0, "%lu of his pages had to go", (unsigned long)page_file().writes);
    is(status_of(file_as_user, n * 2 / 5), 0, "and a file of more than a quarter of it");
    is(status_of(append_as_user, n), 0, "a write that fails leaves a file as long as it was");
    ok(WIFSIGNALED(status_as_user(n * 3 / 2)), "but not more than half of it and of the page file");
    ok(is_consistent(), "memory is consistent");
    is(swapoff(DEVICE), 0, "it is closed");
}

/* With a small limit. */
static void tables(void)
{
    sparse("without a page file");
    is(swapon(DEVICE, 0), 0, "a page file");
    sparse("with one");
    ok(is_consistent(), "memory is consistent");
    is(swapoff(DEVICE), 0, "it is closed");
}

#define CACHED 512u /* pages */

static size_t in_memory(const char *p)
{
    static unsigned char there[CACHED];
    size_t n = 0;

    if (mincore((void *)(uintptr_t)p, CACHED * PAGE, there))
        bail_out("mincore");
    for (size_t k = 0; k < CACHED; k++)
        n += there[k] & 1;
    return n;
}

/* A user at his limit does not cost others what is in memory of a disk's files. */
static void cached(void)
{
    static char page[PAGE];
    const char *p;
    int fd;

    mkdir("/tmp/disk", 0755);
    if (mount("/dev/vda", "/tmp/disk", "ext4", MS_RDONLY, ""))
        bail_out("no file system");
    fd = open("/tmp/disk/file", O_RDONLY);
    while (read(fd, page, PAGE) > 0)
        ;
    p = mmap(NULL, CACHED * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    is((long)in_memory(p), CACHED, "a file of a disk is in memory");
    sparse("beside it");
    is((long)in_memory(p), CACHED, "and still is");
    munmap((void *)(uintptr_t)p, CACHED * PAGE);
    close(fd);
    is(umount("/tmp/disk"), 0, "the disk is let go");
}

static int keep_using(uint32_t seed, size_t n)
{
    char *p = map(n);

    for (unsigned k = 0; k < 3 * n; k++) {
        size_t page = k < n ? k : draw(&seed) % n;

        fill((uint64_t *)(void *)(p + page * PAGE), page, k);
    }
    return 0;
}

static void thrash(void)
{
    unsigned killed = 0, wrong = 0;
    time_t begin = time(NULL), first = 0;

    is(swapon(DEVICE, 0), 0, "a page file");
    for (unsigned k = 0; k < PROCESSES; k++)
        if (fork() == 0)
            _exit(keep_using(k, memory_pages() / 2));
    for (unsigned k = 0; k < PROCESSES; k++) {
        int status = 0;

        wait(&status);
        if (WIFSIGNALED(status) && killed++ == 0)
            first = time(NULL);
        wrong += !WIFSIGNALED(status) && status != 0;
    }
    diag("the first one ended after %ld s", (long)(first - begin));
    ok(killed > 0 && killed < PROCESSES, "%u of %u processes had to end", killed, PROCESSES);
    is(wrong, 0, "the others came to their ends");
    ok(is_consistent(), "memory is consistent");
    is(swapoff(DEVICE), 0, "it is closed");
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

/* Each thread has memory of another kind. common: what all processes share, of which this one has
   the part `seed`; NULL: nothing. */
static int one_load(uint32_t seed, uint32_t accesses, size_t npages, char *const *common)
{
    struct share share[THREADS];
    pthread_t thread[THREADS];
    size_t wrong = 0;

    for (unsigned k = 0; k < THREADS; k++) {
        size_t n = npages / THREADS;
        char *p = k == 0 || !common ? map(n) : common[k - 1] + (seed - 1) * n * PAGE;

        share[k] = (struct share){p, calloc(n, 4), n, seed * THREADS + k, accesses, 0};
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
    char *common[2];

    is(swapon(DEVICE, 0), 0, "a page file");
    common[0] = map_shared(n / THREADS * PROCESSES);
    common[1] = map_section(n / THREADS * PROCESSES);
    for (unsigned k = 0; k < PROCESSES; k++)
        if (fork() == 0)
            _exit(one_load(k + 1, accesses, n, common));
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
    munmap(common[0], n / THREADS * PROCESSES * PAGE);
    unmap_section();
    is((long)page_file().used < 200, 1, "the page file is nearly empty");
    is(swapoff(DEVICE), 0, "it is closed");
}

/* ---- errors ---- */

static sigjmp_buf back;
static volatile int code, error;

static void on_bus(int signo, siginfo_t *info, void *context)
{
    (void)signo, (void)context;
    code = info->si_code;
    error = info->si_errno;
    siglongjmp(back, 1);
}

static void *lost; /* an address whose page cannot be read */

static int on_condition(struct chf$signal_array *s, void *m)
{
    (void)m;
    _exit(s->chf$is_sig_name == SS$_PAGRDERR ? 0 : 1);
}

static int read_error_as_condition(void)
{
    void *va;
    uint64_t length;

    if (sys$lckpag_64(lost, PAGE, PSL$C_USER, &va, &length) != SS$_PAGRDERR)
        return 2;
    signal(SIGBUS, SIG_DFL);
    lib$establish(on_condition);
    return 3 + *(volatile char *)lost;
}

static void fail(void)
{
    struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    size_t n = memory_pages() * 2, errors = 0, wrong = 0;
    char *p = map(n);
    int status;

    sigaction(SIGBUS, &sa, NULL);
    is(swapon(DEVICE, 0), 0, "a page file");
    fill_all(p, n, 1);
    for (volatile size_t k = 0; k < n; k++) {
        if (sigsetjmp(back, 1)) {
            errors++;
            lost = p + k * PAGE;
            continue;
        }
        wrong += !matches((const uint64_t *)(void *)(p + k * PAGE), k, 1);
    }
    is(wrong, 0, "no page has other contents");
    ok(errors > 0, "%lu pages cannot be read: SIGBUS", (unsigned long)errors);
    is(code, BUS_ADRERR, "with its code");
    is(error, EIO, "and errno");
    if (fork() == 0)
        _exit(read_error_as_condition());
    wait(&status);
    is(status, 0, "SS$_PAGRDERR for a service, and for a condition handler");
    ok(page_file().errors > 0, "the errors are counted");
    ok(is_consistent(), "memory is consistent");
    munmap(p, (size_t)((char *)lost - p));
    munmap((char *)lost + PAGE, n * PAGE - (size_t)((char *)lost - p) - PAGE);
    is(swapoff(DEVICE), -1, "the page file cannot be closed");
    is(errno, EIO, "for this reason");
    munmap(lost, PAGE);
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
                _exit(one_load(round * 3 + k, 1000000, n, NULL));
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
    else if (!strcmp(what, "shared"))
        shared();
    else if (!strcmp(what, "quota"))
        quota();
    else if (!strcmp(what, "tables"))
        tables();
    else if (!strcmp(what, "cached"))
        cached();
    else if (!strcmp(what, "thrash"))
        thrash();
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
