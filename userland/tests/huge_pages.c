// TAP
// RUN: -m 512M --set NR_HUGEPAGES=32
/*
 * Huge pages as Linux programs ask for them: the pool, shared page tables and granularity hints,
 * fork, mprotect, munmap of a part, segments, quotas, ends by SIGKILL.
 */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define MB       (1UL << 20)
#define HUGE     (4 * MB)
#define SPAN     (8 * MB)
#define POOL     32UL
#define PAGE     8192UL
#define OTHER    12345 /* a user id */
#define BOTH     (PROT_READ | PROT_WRITE)
#define ANON     (MAP_ANONYMOUS | MAP_HUGETLB)
#define FIXED_AT (void *)0x20040000000UL

static unsigned long meminfo(const char *name)
{
    char line[128];
    unsigned long value = ~0UL;
    size_t n = strlen(name);
    FILE *f = fopen("/proc/meminfo", "r");

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            sscanf(line + n + 1, "%lu", &value);
    if (f)
        fclose(f);
    return value;
}

static unsigned long nfree(void) { return meminfo("HugePages_Free"); }

/* The section with this name. False: there is none. */
static bool section(const char *name, struct mega_section *m)
{
    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, m, sizeof(*m)) & 1; i++)
        if (strcmp(m->name, name) == 0)
            return true;
    return false;
}

static volatile char *map(unsigned long n, int flags)
{
    return mmap(NULL, n, BOTH, ANON | flags, -1, 0);
}

/* How a child that runs fn ends: its status. */
static int in_child(int (*fn)(void *), void *arg)
{
    int status = -1;
    pid_t pid = must_fork();

    if (pid == 0)
        _exit(fn(arg));
    waitpid(pid, &status, 0);
    return status;
}

static unsigned differing(volatile char *p, unsigned long n, char first)
{
    unsigned wrong = 0;

    for (unsigned long i = 0; i < n; i += 1 * MB)
        wrong += p[i] != (char)(first + (char)(i / MB));
    return wrong;
}

static void fill(volatile char *p, unsigned long n, char first)
{
    for (unsigned long i = 0; i < n; i += 1 * MB)
        p[i] = (char)(first + (char)(i / MB));
}

/* ---- the pool ---- */

static void pool(void)
{
    volatile char *p, *q;

    is(meminfo("HugePages_Total"), POOL, "the pool is as large as NR_HUGEPAGES says");
    is(nfree(), POOL, "all of it is free");
    is(meminfo("Hugepagesize"), HUGE / 1024, "a huge page has 4 MiB");
    is(meminfo("Hugetlb"), POOL * HUGE / 1024, "Hugetlb is the pool's size");
    p = map(POOL * HUGE, MAP_SHARED);
    ok(p != MAP_FAILED, "a mapping may take all of it");
    is(nfree(), 0, "nothing is left");
    errno = 0;
    q = map(HUGE, MAP_SHARED);
    ok(q == MAP_FAILED && errno == ENOMEM, "ENOMEM when the pool is empty");
    is(munmap((void *)p, POOL * HUGE), 0, "it is unmapped");
    is(nfree(), POOL, "all of it is back at once");
    errno = 0;
    ok(map((POOL + 1) * HUGE, MAP_SHARED) == MAP_FAILED && errno == ENOMEM,
       "ENOMEM for more than there is");
    is(nfree(), POOL, "of which nothing was taken");
    p = map(PAGE, MAP_SHARED);
    ok(p != MAP_FAILED && nfree() == POOL - 1, "a length is rounded up to a huge page");
    p[HUGE - 1] = 1;
    is(munmap((void *)p, HUGE), 0, "which is unmapped as a whole");
}

/* ---- page tables ---- */

static void shared_tables(void)
{
    unsigned long n = 5 * HUGE;
    volatile char *p = map(n, MAP_SHARED);
    struct mega_section m;

    ok((unsigned long)p % SPAN == 0, "the mapping is aligned so that tables can be shared");
    ok(section("anon_hugepage", &m), "it is a section");
    is(m.l2_ptes[0], 2, "level-2 PTEs map the section's two whole level-3 pages");
    is(m.l3_ptes[3], n / PAGE, "all level-3 PTEs have the largest hint");
    is(m.gh_errors, 0, "no hint is wrong");
    is(differing(p, n, 0) ? m.valid_pages : n / PAGE, n / PAGE, "all pages are there");
    fill(p, n, 3);
    is(differing(p, n, 3), 0, "they keep what was written");
    munmap((void *)p, n);
    p = map(n, MAP_SHARED);
    for (unsigned long i = 0; i < n; i += MB)
        if (p[i])
            p = NULL;
    ok(p, "and are zero when they are mapped again");
    munmap((void *)p, n);
    ok(!section("anon_hugepage", &m), "the section went with its mapping");
}

static int child_writes(void *arg)
{
    volatile char *p = arg;
    int wrong = (int)differing(p, 4 * HUGE, 1);

    fill(p, 4 * HUGE, 7);
    return wrong != 0;
}

static void forked(void)
{
    volatile char *p = map(4 * HUGE, MAP_SHARED);
    struct mega_section m;
    pid_t pid;
    int status;

    fill(p, 4 * HUGE, 1);
    is(in_child(child_writes, (void *)p), 0, "a child finds what its parent wrote");
    is(differing(p, 4 * HUGE, 7), 0, "and the parent what the child wrote");
    pid = must_fork();
    if (pid == 0)
        pause();
    section("anon_hugepage", &m);
    is(m.refs, 2, "parent and child have a mapping each");
    munmap((void *)p, 4 * HUGE);
    is(nfree(), POOL - 4, "the child keeps the pages");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    is(nfree(), POOL, "until it is killed");
}

/* ---- parts ---- */

static int touch(void *arg)
{
    *(volatile char *)arg = 1;
    return 0;
}

static bool dies(volatile char *p, int signal)
{
    int status = in_child(touch, (void *)p);

    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

static void parts(void)
{
    unsigned long n = 8 * HUGE;
    volatile char *p = map(n, MAP_SHARED), *q;
    struct mega_section m;

    fill(p, n, 1);
    errno = 0;
    ok(munmap((void *)p, HUGE - PAGE) != 0 && errno == EINVAL,
       "no part of a huge page is unmapped");
    errno = 0;
    ok(munmap((void *)(p + PAGE), HUGE) != 0 && errno == EINVAL, "nor from its middle on");
    errno = 0;
    ok(mprotect((void *)p, PAGE, PROT_READ) != 0 && errno == EINVAL, "nor protected");
    is(differing(p, n, 1), 0, "everything is still there");
    is(munmap((void *)(p + 3 * HUGE), HUGE), 0, "a huge page in a shared span is unmapped");
    ok(dies(p + 3 * HUGE, SIGSEGV) && dies(p + 4 * HUGE - 1, SIGSEGV), "it is gone");
    ok(differing(p, 3 * HUGE, 1) == 0 && differing(p + 4 * HUGE, 4 * HUGE, 17) == 0,
       "its neighbours are there");
    q = mmap((void *)(p + 3 * HUGE), PAGE, BOTH, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ok(q == p + 3 * HUGE, "private memory takes its place");
    q[0] = 55;
    is(in_child(touch, (void *)q), 0, "a child has its own copy of that");
    is(q[0], 55, "which does not show here");
    is(mprotect((void *)(p + 5 * HUGE), 2 * HUGE, PROT_READ), 0, "a part is made read-only");
    ok(dies(p + 5 * HUGE, SIGSEGV) && dies(p + 7 * HUGE - 1, SIGSEGV), "it cannot be written");
    is(in_child(touch, (void *)(p + 7 * HUGE)), 0, "what follows can");
    p[7 * HUGE] = (char)29;
    ok(differing(p, 3 * HUGE, 1) == 0 && differing(p + 4 * HUGE, 4 * HUGE, 17) == 0,
       "and all can be read");
    is(mprotect((void *)(p + 4 * HUGE), 4 * HUGE, PROT_NONE), 0, "nothing may be done");
    ok(dies(p + 4 * HUGE, SIGSEGV), "so that it cannot be used");
    is(mprotect((void *)(p + 4 * HUGE), 4 * HUGE, BOTH), 0, "and all again");
    is(in_child(touch, (void *)(p + 5 * HUGE)), 0, "it can be written");
    section("anon_hugepage", &m);
    is(m.gh_errors, 0, "no hint is wrong");
    is(nfree(), POOL - 8, "the section keeps all pages as long as one is mapped");
    munmap((void *)p, n);
    is(nfree(), POOL, "all are back");
}

/* ---- places ---- */

static void places(void)
{
    volatile char *p;
    struct mega_section m;

    errno = 0;
    p = mmap((char *)FIXED_AT + PAGE, HUGE, BOTH, ANON | MAP_SHARED | MAP_FIXED, -1, 0);
    ok(p == MAP_FAILED && errno == EINVAL, "a fixed place is aligned to a huge page");
    p = mmap((char *)FIXED_AT + HUGE, 3 * HUGE, BOTH, ANON | MAP_SHARED | MAP_FIXED, -1, 0);
    ok(p == (char *)FIXED_AT + HUGE, "it need not be aligned to a span");
    ok(section("anon_hugepage", &m) && m.l2_ptes[0] + m.l2_ptes[1] + m.l2_ptes[2] == 0 &&
           m.l3_ptes[3] == 3 * HUGE / PAGE,
       "then no tables are shared, but the hints are there");
    fill(p, 3 * HUGE, 9);
    is(differing(p, 3 * HUGE, 9), 0, "the memory works");
    ok(mmap((void *)p, HUGE, BOTH, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p,
       "other memory may replace a huge page");
    errno = 0;
    ok(mremap((void *)(p + HUGE), HUGE, 2 * HUGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL,
       "mremap refuses huge pages");
    is(madvise((void *)(p + HUGE), HUGE, MADV_DONTNEED), 0, "MADV_DONTNEED");
    is(differing(p + HUGE, 2 * HUGE, 9 + 4), 0, "keeps what is shared");
    errno = 0;
    ok(madvise((void *)(p + HUGE + PAGE), HUGE, MADV_DONTNEED) != 0 && errno == EINVAL,
       "and takes the addresses of huge pages");
    munmap((void *)p, 3 * HUGE);
    is(nfree(), POOL, "all are back");
}

/* Has the mapping at p this line in smaps? */
static bool smaps_says(volatile char *p, const char *line)
{
    char text[256];
    bool here = false, found = false;
    FILE *f = fopen("/proc/self/smaps", "r");

    while (f && fgets(text, sizeof(text), f)) {
        unsigned long start, end;

        if (sscanf(text, "%lx-%lx ", &start, &end) == 2)
            here = start == (unsigned long)p;
        found |= here && strncmp(text, line, strlen(line)) == 0;
    }
    if (f)
        fclose(f);
    return found;
}

/* ---- segments ---- */

static int attach_as_other(void *arg)
{
    (void)arg;
    if (setgid(OTHER) != 0 || setuid(OTHER) != 0)
        return 2;
    return shmget(IPC_PRIVATE, HUGE, SHM_HUGETLB | IPC_CREAT | 0600) == -1 && errno == EPERM ? 0
                                                                                             : 1;
}

static int map_as_other(void *arg)
{
    unsigned long limit = (unsigned long)arg;

    if (setgid(OTHER) != 0 || setuid(OTHER) != 0)
        return 2;
    errno = 0;
    if (map((limit + 1) * HUGE, MAP_SHARED) != MAP_FAILED || errno != ENOMEM)
        return 1;
    return map(limit * HUGE, MAP_SHARED) == MAP_FAILED;
}

static void segments(void)
{
    int id = shmget(IPC_PRIVATE, 5 * HUGE - 100, SHM_HUGETLB | IPC_CREAT | 0600);
    volatile char *p = shmat(id, NULL, 0), *q;
    struct mega_section m;
    struct shmid_ds ds;

    ok(id >= 0 && p != (void *)-1, "a segment of huge pages");
    is(nfree(), POOL - 5, "takes whole ones");
    ok((unsigned long)p % SPAN == 0, "and is attached so that tables can be shared");
    fill(p, 5 * HUGE, 2);
    q = shmat(id, NULL, SHM_RDONLY);
    ok(q != (void *)-1 && differing(q, 5 * HUGE, 2) == 0, "it can be attached read-only");
    ok(dies(q, SIGSEGV), "and not be written there");
    ok(section("SYSV00000000", &m), "it is a section");
    is(m.refs, 3, "of two mappings and the segment");
    is(m.l2_ptes[0], 2, "the first of which shares tables");
    shmctl(id, IPC_STAT, &ds);
    ok(ds.shm_nattch == 2 && ds.shm_segsz == 5 * HUGE - 100, "its status is right");
    ok(smaps_says(p, "KernelPageSize:     4096 kB"), "smaps tells the size of its pages");
    is(shmdt((void *)q), 0, "one is detached");
    is(munmap((void *)(p + HUGE), HUGE), 0, "a huge page of the other is unmapped");
    is(in_child(touch, (void *)(p + 4 * HUGE)), 0, "a child uses the rest");
    shmctl(id, IPC_STAT, &ds);
    is(ds.shm_nattch, 2, "which is in two parts");
    is(shmctl(id, IPC_RMID, NULL), 0, "the segment is removed");
    is(nfree(), POOL - 5, "but kept while it is attached");
    is(shmdt((void *)p), 0, "both parts are detached");
    is(nfree(), POOL, "all pages are back");
    id = shmget(IPC_PRIVATE, HUGE, SHM_HUGETLB | IPC_CREAT | 0600);
    is(nfree(), POOL - 1, "a segment has its pages before it is attached");
    is(shmctl(id, IPC_RMID, NULL), 0, "and when it is removed");
    is(nfree(), POOL, "they are back");
    errno = 0;
    ok(shmget(IPC_PRIVATE, (POOL + 1) * HUGE, SHM_HUGETLB | IPC_CREAT | 0600) == -1 &&
           errno == ENOMEM,
       "ENOMEM for a segment of more than there is");
    is(in_child(attach_as_other, NULL), 0, "EPERM for a user who may not lock memory");
}

static void set_quota(long value)
{
    is_status(
        mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"USER_HUGE_PAGES", (uint64_t)value, 0, 0, 0),
        SS$_NORMAL, "the quota is set to %ld", value);
}

static void quotas(void)
{
    set_quota(3);
    is(in_child(map_as_other, (void *)3), 0, "a user gets no more huge pages than that");
    set_quota(-1);
    is(in_child(map_as_other, (void *)POOL), 0, "or as many as there are");
    is(nfree(), POOL, "all are back");
}

/* ---- mappings that others replace ---- */

static void *stay(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* The break goes down over a mapping, in a process with two threads. */
static int shrink(void *arg)
{
    char *base = sbrk(4 * HUGE), *at = (char *)(((unsigned long)base + HUGE - 1) & -HUGE);
    pthread_t t;

    (void)arg;
    if (base == (void *)-1 || pthread_create(&t, NULL, stay, NULL))
        return 1;
    if (mmap(at, HUGE, BOTH, ANON | MAP_SHARED | MAP_FIXED, -1, 0) != at)
        return 2;
    return brk(base) != 0 || nfree() != POOL ? 3 : 0;
}

static void replaced(void)
{
    volatile char *p = map(POOL * HUGE, MAP_SHARED);

    ok(mmap((void *)p, POOL * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p,
       "other memory is mapped over all of the pool");
    is(nfree(), POOL, "which is free then");
    munmap((void *)p, POOL * HUGE);
    is(in_child(shrink, NULL), 0, "a break that goes down over a mapping frees its pages");
}

/* ---- private memory ---- */

static void private_alone(void)
{
    unsigned long n = 3 * HUGE, wrong = 0;
    volatile char *p = map(n, MAP_PRIVATE);

    ok(p != MAP_FAILED, "private huge pages");
    is(nfree(), POOL - 3, "are taken when they are mapped");
    for (unsigned long i = 0; i < n; i += PAGE)
        wrong += p[i] != 0;
    is(wrong, 0, "and are zero");
    fill(p, n, 5);
    ok(smaps_says(p, "KernelPageSize:     4096 kB") &&
           smaps_says(p, "Private_Hugetlb:   12288 kB") &&
           smaps_says(p, "Shared_Hugetlb:        0 kB") &&
           smaps_says(p, "Rss:                   0 kB"),
       "smaps tells what they are");
    errno = 0;
    ok(munmap((void *)p, PAGE) != 0 && errno == EINVAL, "no part of one is unmapped");
    errno = 0;
    ok(mprotect((void *)(p + PAGE), HUGE, PROT_READ) != 0 && errno == EINVAL, "nor protected");
    is(mprotect((void *)(p + HUGE), HUGE, PROT_READ), 0, "a whole one is");
    ok(dies(p + HUGE, SIGSEGV) && dies(p + 2 * HUGE - 1, SIGSEGV), "it cannot be written");
    is(in_child(touch, (void *)(p + 2 * HUGE)), 0, "what follows can");
    is(mprotect((void *)(p + HUGE), HUGE, BOTH), 0, "nor for ever");
    p[HUGE + 3 * MB] = (char)12;
    is(differing(p, n, 5), 0, "nothing was lost");
    is(munmap((void *)(p + HUGE), HUGE), 0, "one is unmapped");
    is(nfree(), POOL - 2, "and free");
    ok(dies(p + HUGE, SIGSEGV), "it is gone");
    is(madvise((void *)p, PAGE, MADV_DONTNEED), 0, "a length is rounded up to discard one");
    is(nfree(), POOL - 1, "it is free");
    for (unsigned long i = 0; i < HUGE; i += PAGE)
        wrong += p[i] != 0;
    is(wrong, 0, "and zero at the next access");
    is(nfree(), POOL - 2, "for which another is taken");
    errno = 0;
    ok(madvise((void *)(p + PAGE), HUGE, MADV_DONTNEED) != 0 && errno == EINVAL,
       "the address is that of a huge page");
    is(differing(p + 2 * HUGE, HUGE, 5 + 8), 0, "the last one is as it was");
    munmap((void *)p, n);
    is(nfree(), POOL, "all are back");
}

/* What a child does with two huge pages of its parent: finds them, writes to the second. */
static int copies(void *arg)
{
    volatile char *p = arg;

    if (differing(p, 2 * HUGE, 1) || nfree() != POOL - 2)
        return 1;
    if (!smaps_says(p, "Shared_Hugetlb:     8192 kB"))
        return 2;
    p[HUGE + 5] = 77;
    if (differing(p, 2 * HUGE, 1) || p[HUGE + 5] != 77 || nfree() != POOL - 3)
        return 3;
    return smaps_says(p, "Private_Hugetlb:    4096 kB") ? 0 : 4;
}

/* The child's child writes to what both have from the first. */
static int grandchild(void *arg)
{
    volatile char *p = arg;

    p[0] = 2;
    if (in_child(touch, (void *)p) != 0 || p[0] != 2)
        return 1;
    return nfree() == POOL - 3 ? 0 : 2;
}

static void private_forked(void)
{
    volatile char *p = map(2 * HUGE, MAP_PRIVATE);

    fill(p, 2 * HUGE, 1);
    is(in_child(copies, (void *)p), 0, "a child copies a huge page when it writes to it");
    is(nfree(), POOL - 2, "its copy ends with it");
    is(p[HUGE + 5], 0, "and does not show here");
    fill(p, 2 * HUGE, 1);
    is(nfree(), POOL - 2, "the parent writes without copying when it is alone again");
    is(in_child(grandchild, (void *)p), 0, "a child of a child has copies of its own");
    is(differing(p, 2 * HUGE, 1), 0, "the first of the three has what it wrote");
    munmap((void *)p, 2 * HUGE);
    is(nfree(), POOL, "all are back");
}

/* The kernel copies to a huge page that a child shares, with the mutex of what it copies from. */
static int received(void *arg)
{
    static const char text[] = "into a page of the parent's";
    volatile char *p = arg;
    int s[2], d[2];
    ssize_t n[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, d) != 0)
        return 1;
    write(s[0], text, sizeof(text));
    write(d[0], text, sizeof(text));
    n[0] = read(s[1], (void *)p, 100);
    n[1] = read(d[1], (void *)(p + HUGE), 100);
    if (n[0] != sizeof(text) || n[1] != sizeof(text))
        return 2;
    return strcmp((char *)p, text) != 0 || strcmp((char *)p + HUGE, text) != 0;
}

static void private_received(void)
{
    volatile char *p = map(2 * HUGE, MAP_PRIVATE);

    fill(p, 2 * HUGE, 1);
    is(in_child(received, (void *)p), 0, "sockets are read into huge pages that are copied for it");
    is(differing(p, 2 * HUGE, 1), 0, "and the parent's stay as they are");
    munmap((void *)p, 2 * HUGE);
}

/* All of the pool is in use, so that nothing can be copied. */
static int lacks(void *arg)
{
    volatile char *p = arg;

    if (!dies(p, SIGBUS)) /* a child of this one: a page is used by three */
        return 1;
    errno = 0;
    return map(HUGE, MAP_PRIVATE) == MAP_FAILED && errno == ENOMEM ? 0 : 2;
}

static void private_short(void)
{
    volatile char *p = map(POOL * HUGE, MAP_PRIVATE);

    ok(p != MAP_FAILED && nfree() == 0, "private memory takes all of the pool");
    p[0] = 1;
    is(in_child(lacks, (void *)p), 0,
       "SIGBUS when there is no page for a copy, ENOMEM for a mapping");
    p[0] = 2;
    is(madvise((void *)(p + HUGE), HUGE, MADV_DONTNEED), 0, "one is given up");
    is(in_child(touch, (void *)p), 0, "then a child can copy");
    is(nfree(), 1, "and gives it back");
    munmap((void *)p, POOL * HUGE);
    is(nfree(), POOL, "all are back");
}

/* Threads that write to pages shared with another process, of which only one more is free. */
static volatile char *raced;

static void *race(void *arg)
{
    raced[(unsigned long)arg] = 1;
    return arg;
}

static int races(void *arg)
{
    pthread_t t[4];

    for (unsigned long k = 0; k < 4; k++)
        if (pthread_create(&t[k], NULL, race, (void *)(k * MB)) != 0)
            return 1;
    for (unsigned k = 0; k < 4; k++)
        pthread_join(t[k], NULL);
    (void)arg;
    return nfree() != 0;
}

static void private_races(void)
{
    volatile char *most = map((POOL - 2) * HUGE, MAP_SHARED);

    raced = map(HUGE, MAP_PRIVATE);
    raced[0] = 3;
    for (unsigned k = 0; k < 8; k++)
        is(in_child(races, NULL), 0, "threads that write at once share the last copy");
    is(raced[0], 3, "which is not this one");
    munmap((void *)raced, HUGE);
    munmap((void *)most, (POOL - 2) * HUGE);
    is(nfree(), POOL, "all are back");
}

/* Children that are killed while they map, copy and fork private huge pages. */
static void restless(void *arg)
{
    volatile char *p = arg;

    for (;;) {
        volatile char *q = map(4 * HUGE, MAP_PRIVATE);

        if (q != MAP_FAILED)
            in_child(touch, (void *)q);
        p[0]++;
        if (q != MAP_FAILED)
            munmap((void *)q, 4 * HUGE);
    }
}

static void private_killed(void)
{
    volatile char *p = map(HUGE, MAP_PRIVATE);
    int wrong = 0;

    p[0] = 1;
    for (unsigned k = 0; k < 12; k++) {
        pid_t pid = must_fork();
        int status;

        if (pid == 0)
            restless((void *)p);
        usleep(2000 * (k + 1));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        wrong += p[0] != 1;
    }
    is(wrong, 0, "children that are killed in the middle change nothing here");
    for (unsigned k = 0; k < 100 && nfree() != POOL - 1; k++)
        usleep(20000); /* their own children may live a little longer */
    is(nfree(), POOL - 1, "and lose no page");
    munmap((void *)p, HUGE);
}

/* ---- files ---- */

#define MFD_OF_4MB (MFD_HUGETLB | 22u << 26)

static volatile char *map_fd(int fd, unsigned long n, int flags, unsigned long from)
{
    return mmap(NULL, n, BOTH, flags, fd, (off_t)from);
}

static void file_shared(void)
{
    int fd = memfd_create("huge", MFD_OF_4MB | MFD_CLOEXEC);
    volatile char *p, *q;
    struct mega_section m;
    struct stat st;
    char text[16] = "?";

    ok(fd >= 0, "a file of huge pages");
    is(ftruncate(fd, 4 * HUGE), 0, "gets a size");
    ok(fstat(fd, &st) == 0 && st.st_size == 4 * (long)HUGE && st.st_blksize == (long)HUGE,
       "which fstat tells");
    is(nfree(), POOL, "it has no pages before it is mapped");
    is(pread(fd, text, 8, HUGE), 8, "it can be read");
    is(text[0], 0, "and is zero");
    p = map_fd(fd, 4 * HUGE, MAP_SHARED, 0);
    q = map_fd(fd, HUGE, MAP_SHARED, 3 * HUGE);
    ok(p != MAP_FAILED && q != MAP_FAILED && nfree() == POOL - 4, "then it has them");
    ok(section("memfd_hugepage", &m) && m.l2_ptes[0] == 2 && m.l3_ptes[3] == 4 * HUGE / PAGE,
       "and the mapping shares tables, with hints");
    fill(p, 4 * HUGE, 1);
    is(differing(q, HUGE, 1 + 12), 0, "two mappings show the same");
    is(pread(fd, text, 2, HUGE + MB), 2, "a read");
    is(text[0], 1 + 5, "shows it too");
    is(lseek(fd, 3 * HUGE + MB, SEEK_SET), 3 * (long)HUGE + (long)MB, "a position is set");
    ok(read(fd, text, 1) == 1 && text[0] == 1 + 13, "and read from");
    errno = 0;
    ok(write(fd, text, 1) == -1 && errno == EINVAL, "it cannot be written by calls");
    errno = 0;
    ok(ftruncate(fd, HUGE + PAGE) == -1 && errno == EINVAL, "a size is one of huge pages");
    /* growing: a new section with the pages of the old one */
    is(ftruncate(fd, 6 * HUGE), 0, "the file grows");
    munmap((void *)q, HUGE);
    q = map_fd(fd, 6 * HUGE, MAP_SHARED, 0);
    ok(q != MAP_FAILED && nfree() == POOL - 6, "and has more pages when it is mapped again");
    is(differing(q, 4 * HUGE, 1), 0, "the old contents are there");
    q[5] = 99;
    is(p[5], 99, "in both mappings");
    is(q[5 * HUGE], 0, "the new pages are zero");
    fill(q, 6 * HUGE, 1);
    is(ftruncate(fd, 2 * HUGE), 0, "it becomes shorter");
    munmap((void *)p, 4 * HUGE);
    munmap((void *)q, 6 * HUGE);
    is(nfree(), POOL - 2, "what was cut off is free when nobody maps it");
    p = map_fd(fd, 3 * HUGE, MAP_SHARED, 0);
    ok(p != MAP_FAILED && fstat(fd, &st) == 0 && st.st_size == 3 * (long)HUGE,
       "a mapping makes the file longer");
    is(p[2 * HUGE], 0, "with zeroes");
    is(differing(p, 2 * HUGE, 1), 0, "and the first two pages as they were");
    close(fd);
    is(nfree(), POOL - 3, "the mapping keeps the pages of a file that is closed");
    munmap((void *)p, 3 * HUGE);
    is(nfree(), POOL, "all are back");
}

/* mremap and fallocate, as far as huge pages have them. */
static void file_parts(void)
{
    int fd = memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING);
    volatile char *p = mmap(NULL, 3 * HUGE, BOTH, ANON | MAP_PRIVATE, -1, 0);
    struct stat st;

    p[0] = 1;
    ok(mremap((void *)p, 3 * HUGE, HUGE, 0) == p && p[0] == 1, "a mapping becomes shorter");
    is(nfree(), POOL - 1, "and gives its pages back");
    ok(mremap((void *)p, HUGE, HUGE / 2, 0) == MAP_FAILED && errno == EINVAL, "by huge pages");
    munmap((void *)p, HUGE);
    is(fallocate(fd, 0, HUGE, HUGE), 0, "fallocate makes a file of huge pages");
    ok(fstat(fd, &st) == 0 && st.st_size == 2 * (long)HUGE, "with a size");
    is(nfree(), POOL - 2, "and its pages");
    p = map_fd(fd, 2 * HUGE, MAP_SHARED, 0);
    fill(p, 2 * HUGE, 1);
    is(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, HUGE, 3 * HUGE), 0, "a hole");
    ok(p[HUGE] == 0 && p[2 * HUGE - PAGE] == 0, "is zero");
    is(differing(p, HUGE, 1), 0, "and what is before it as it was");
    ok(mremap((void *)p, 2 * HUGE, HUGE, MREMAP_MAYMOVE) == p, "a mapping of it becomes shorter");
    is(differing(p, HUGE, 1), 0, "with its contents");
    is(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 8 * HUGE), 0, "pages beyond the end");
    ok(fstat(fd, &st) == 0 && st.st_size == 2 * (long)HUGE, "do not make it longer");
    ok(fallocate(fd, 0, 0, (POOL + 1) * HUGE) == -1 && errno == ENOSPC, "more than there are");
    ok(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, HUGE) == -1 && errno == EOPNOTSUPP,
       "a range is not zeroed");
    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
    ok(fallocate(fd, 0, 0, 3 * HUGE) == -1 && errno == EPERM, "a seal forbids growing");
    munmap((void *)p, HUGE);
    close(fd);
    is(nfree(), POOL, "all pages are back");
}

static int file_child(void *arg)
{
    volatile char *p = arg;

    if (differing(p, 2 * HUGE, 1))
        return 1;
    p[HUGE] = 9;
    return p[0] == 1 && p[HUGE] == 9 ? 0 : 2;
}

static void file_private(void)
{
    int fd = memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING), plain;
    volatile char *p = map_fd(fd, 2 * HUGE, MAP_SHARED, 0), *q;

    fill(p, 2 * HUGE, 1);
    q = map_fd(fd, 2 * HUGE, MAP_PRIVATE, 0);
    ok(q != MAP_FAILED && nfree() == POOL - 2, "a private mapping of a file takes no pages");
    is(differing(q, 2 * HUGE, 1), 0, "it shows the file");
    q[1] = 50;
    is(nfree(), POOL - 3, "until it is written");
    ok(p[1] == 0 && q[1] == 50 && differing(q, 2 * HUGE, 1) == 0, "which the file does not see");
    is(in_child(file_child, (void *)q), 0, "a child has its own");
    is(q[HUGE], 5, "which does not show here");
    errno = 0;
    ok(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1 && errno == EBUSY, "it is not sealed meanwhile");
    munmap((void *)p, 2 * HUGE);
    munmap((void *)q, 2 * HUGE);
    is(nfree(), POOL - 2, "the copies are free again");
    is(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW), 0, "but when it is not mapped");
    is(fcntl(fd, F_GET_SEALS), F_SEAL_WRITE | F_SEAL_GROW, "it has these seals");
    errno = 0;
    ok(map_fd(fd, 2 * HUGE, MAP_SHARED, 0) == MAP_FAILED && errno == EPERM,
       "against shared mappings that may be written");
    p = mmap(NULL, 2 * HUGE, PROT_READ, MAP_SHARED, fd, 0);
    ok(p != MAP_FAILED && differing(p, 2 * HUGE, 1) == 0, "not against others");
    errno = 0;
    ok(mprotect((void *)p, HUGE, BOTH) == -1 && errno == EACCES, "which stay as they are");
    errno = 0;
    ok(ftruncate(fd, 3 * HUGE) == -1 && errno == EPERM, "and against growing");
    errno = 0;
    ok(map_fd(fd, HUGE, MAP_PRIVATE, PAGE) == MAP_FAILED && errno == EINVAL,
       "an offset is one of huge pages");
    munmap((void *)p, 2 * HUGE);
    close(fd);
    is(nfree(), POOL, "all are back");
    plain = memfd_create("plain", 0);
    errno = 0;
    ok(ftruncate(plain, HUGE) == 0 &&
           map_fd(plain, HUGE, MAP_SHARED | MAP_HUGETLB, 0) == MAP_FAILED && errno == EINVAL,
       "MAP_HUGETLB does not make huge pages of others");
    close(plain);
}

static void file_killed(void)
{
    for (unsigned k = 0; k < 8; k++) {
        pid_t pid = must_fork();
        int status;

        while (pid == 0) {
            int fd = memfd_create("huge", MFD_HUGETLB);
            volatile char *p = map_fd(fd, 4 * HUGE, MAP_SHARED, 0);
            volatile char *q = map_fd(fd, 6 * HUGE, MAP_PRIVATE, 0);

            if (p != MAP_FAILED && q != MAP_FAILED)
                q[HUGE] = p[HUGE] = 1;
            ftruncate(fd, HUGE);
            munmap((void *)p, 4 * HUGE);
            munmap((void *)q, 6 * HUGE);
            close(fd);
        }
        usleep(3000 * (k + 1));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    is(nfree(), POOL, "who is killed at work on files of huge pages loses none");
}

static int private_as_other(void *arg)
{
    unsigned long limit = (unsigned long)arg;
    volatile char *p;

    if (setgid(OTHER) != 0 || setuid(OTHER) != 0)
        return 2;
    errno = 0;
    if (map((limit + 1) * HUGE, MAP_PRIVATE) != MAP_FAILED || errno != ENOMEM)
        return 1;
    p = map(limit * HUGE, MAP_PRIVATE);
    if (p == MAP_FAILED)
        return 3;
    p[0] = 1;
    return dies(p, SIGBUS) ? 0 : 4;
}

static void private_quota(void)
{
    set_quota(3);
    is(in_child(private_as_other, (void *)3), 0, "the quota counts private pages and copies");
    set_quota(-1);
    is(nfree(), POOL, "all are back");
}

int main(void)
{
    pool();
    shared_tables();
    forked();
    parts();
    places();
    segments();
    quotas();
    replaced();
    private_alone();
    private_forked();
    private_received();
    private_short();
    private_races();
    private_killed();
    private_quota();
    file_shared();
    file_parts();
    file_private();
    file_killed();
    return tap_done();
}
