// TAP
// RUN: -m 512M --set NR_HUGEPAGES=32
/*
 * Huge pages as Linux programs ask for them: the pool, shared page tables and granularity hints,
 * fork, mprotect, munmap of a part, segments, quotas, ends by SIGKILL.
 */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
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
    errno = 0;
    ok(madvise((void *)(p + HUGE), HUGE, MADV_DONTNEED) != 0 && errno == EINVAL,
       "so does MADV_DONTNEED");
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
    return tap_done();
}
