/* mmap, munmap, mprotect, mremap, msync, madvise, mincore, mlock and brk: results and edges, from
   the manual pages of section 2. */
#include "conformance.h"

#include <fcntl.h>

#define PAGES        8
#define UNKNOWN_FLAG 0x2000000

static size_t page;
static char *area; /* PAGES pages; holed() takes page 4 out */
static int file;   /* of two and a half pages */

static void *anon(size_t n)
{
    return mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *file_at(size_t n, int prot, int flags)
{
    return mmap(NULL, n * page, prot, flags, file, 0);
}

/* The area, with a hole at page 4, which other mappings may have filled meanwhile. */
static char *holed(void)
{
    munmap(area + 4 * page, page);
    return area;
}

static void mapping(void)
{
    int rdonly, wronly, zero, folder, pipes[2];
    char *p;

    MAPPED(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, page / 2));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 100 * page));
    MAPPED(mmap(area + 1, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(area + 1, page, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(area, page, PROT_READ, MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(holed() + 4 * page, page, PROT_READ,
                MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(area + 4 * page, page);
    MAPPED(mmap(NULL, page, PROT_READ, MAP_SHARED_VALIDATE, file, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_SHARED_VALIDATE | MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_SHARED_VALIDATE | UNKNOWN_FLAG, file, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_SHARED | UNKNOWN_FLAG, file, 0));
    MAPPED(mmap(NULL, SIZE_MAX / 2 & ~(page - 1), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    MAPPED(mmap(NULL, page, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0));
    rdonly = open("conformance.file", O_RDONLY);
    wronly = open("conformance.file", O_WRONLY);
    MAPPED(mmap(NULL, page, PROT_READ, MAP_PRIVATE, wronly, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_SHARED, wronly, 0));
    MAPPED(mmap(NULL, page, PROT_WRITE, MAP_SHARED, rdonly, 0));
    MAPPED(mmap(NULL, page, PROT_WRITE, MAP_PRIVATE, rdonly, 0));
    p = mmap(NULL, page, PROT_READ, MAP_SHARED, rdonly, 0);
    CASE_AS("mprotect to write, shared file open for reading", mprotect(p, page, PROT_WRITE));
    p = mmap(NULL, page, PROT_READ, MAP_PRIVATE, rdonly, 0);
    CASE_AS("mprotect to write, private file open for reading",
            mprotect(p, page, PROT_READ | PROT_WRITE));
    folder = open("/", O_RDONLY | O_DIRECTORY);
    CASE_AS("pipe for mmap", pipe(pipes));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_PRIVATE, folder, 0));
    MAPPED(mmap(NULL, page, PROT_READ, MAP_PRIVATE, pipes[0], 0));
    zero = open("/dev/zero", O_RDWR);
    MAPPED(p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0));
    if (p != MAP_FAILED) {
        p[5] = 1;
        VALUE_AS("private mapping of /dev/zero", p[5] + p[6]);
    }
    MAPPED(p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0));
    MAPPED(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, open("/dev/null", O_RDWR), 0));
    close(rdonly);
    close(wronly);
    close(zero);
}

static void unmapping(void)
{
    char *p = anon(4);

    CASE_AS("munmap, unaligned", munmap(p + 1, page));
    CASE_AS("munmap, no bytes", munmap(p, 0));
    CASE_AS("munmap, one byte", munmap(p, 1));
    CASE_AS("munmap, the same again", munmap(p, 1));
    CASE_AS("munmap, with holes", munmap(p, 4 * page));
    CASE_AS("munmap, beyond the address space", munmap((void *)(INTPTR_MAX & ~(page - 1)), page));
    CASE_AS("munmap, wraps", munmap(p, SIZE_MAX - page + 1));
}

static void protection(void)
{
    char *p = anon(3);

    CASE_AS("mprotect, unaligned", mprotect(p + 1, page, PROT_READ));
    CASE_AS("mprotect, no bytes", mprotect(p, 0, PROT_READ));
    CASE_AS("mprotect, no bytes, unaligned", mprotect(p + 8, 0, PROT_READ));
    CASE_AS("mprotect, unknown bits", mprotect(p, page, 0x40));
    CASE_AS("mprotect, grows down and up", mprotect(p, page, PROT_GROWSDOWN | PROT_GROWSUP));
    CASE_AS("mprotect, grows down, no stack", mprotect(p, page, PROT_READ | PROT_GROWSDOWN));
    CASE_AS("mprotect, one byte", mprotect(p, 1, PROT_READ));
    munmap(p + page, page);
    CASE_AS("mprotect, hole", mprotect(p, 3 * page, PROT_READ));
    CASE_AS("mprotect, not mapped", mprotect(p + page, page, PROT_READ));
    CASE_AS("mprotect, wraps", mprotect(p, SIZE_MAX - page + 1, PROT_READ));
}

static void moving(void)
{
    char *p = anon(4), *q, *other;

    p[0] = 'a';
    p[3 * page] = 'd';
    CASE_AS("mremap, unaligned", (long)mremap(p + 1, page, page, 0) == -1 ? -1 : 0);
    CASE_AS("mremap, unknown flags", (long)mremap(p, page, page, 0x40) == -1 ? -1 : 0);
    CASE_AS("mremap, to no bytes", (long)mremap(p, page, 0, 0) == -1 ? -1 : 0);
    CASE_AS("mremap, fixed without may-move",
            (long)mremap(p, page, page, MREMAP_FIXED, area) == -1 ? -1 : 0);
    CASE_AS("mremap, the same size", mremap(p, 4 * page, 4 * page, 0) == p ? 0 : -1);
    CASE_AS("mremap, shrink", mremap(p, 4 * page, 2 * page, 0) == p ? 0 : -1);
    CASE_AS("mincore of the rest", mincore(p + 2 * page, page, (unsigned char[1]){0}));
    CASE_AS("mremap, grow in place", mremap(p, 2 * page, 3 * page, 0) == p ? 0 : -1);
    VALUE_AS("contents after mremap", p[0] + p[2 * page]);
    CASE_AS("mremap, hole",
            (long)mremap(holed(), PAGES * page, 9 * page, MREMAP_MAYMOVE) == -1 ? -1 : 0);
    CASE_AS("mremap, not mapped",
            (long)mremap(holed() + 4 * page, page, 2 * page, MREMAP_MAYMOVE) == -1 ? -1 : 0);
    q = anon(5);
    q[page] = 'q';
    mprotect(q + 2 * page, page, PROT_READ); /* so that the next page is another mapping */
    CASE_AS("mremap, no room, must not move",
            (long)mremap(q + page, page, 2 * page, 0) == -1 ? -1 : 0);
    other = mremap(q + page, page, 3 * page, MREMAP_MAYMOVE);
    CASE_AS("mremap, moves", other == MAP_FAILED ? -1 : other != q + page);
    if (other != MAP_FAILED)
        VALUE_AS("contents after a move", other[0] + other[2 * page]);
    CASE_AS("old place after a move", msync(q + page, page, MS_ASYNC));
    q = anon(4);
    q[0] = 'f';
    other = anon(4);
    CASE_AS("mremap, fixed",
            mremap(q, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other ? 0 : -1);
    VALUE_AS("contents after a fixed move", other[0]);
    CASE_AS("mremap, fixed, overlaps",
            (long)mremap(other, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, other + page) ==
                    -1
                ? -1
                : 0);
    CASE_AS("mremap, fixed, unaligned",
            (long)mremap(other, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, other + 2 * page + 1) ==
                    -1
                ? -1
                : 0);
    q = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    q[page] = 'Z';
    other = mremap(q, 2 * page, 3 * page, MREMAP_MAYMOVE);
    CASE_AS("mremap, a shared file grows", other == MAP_FAILED ? -1 : 0);
    if (other != MAP_FAILED)
        VALUE_AS("contents of the file after mremap", other[page]);
    p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p[0] = 's';
    other = mremap(p, 0, page, MREMAP_MAYMOVE);
    CASE_AS("mremap, a second mapping of shared memory", other == MAP_FAILED ? -1 : 0);
    if (other != MAP_FAILED) {
        p[0] = 't';
        VALUE_AS("contents through the second mapping", other[0]);
    }
}

static void syncing(void)
{
    char *p = file_at(2, PROT_READ | PROT_WRITE, MAP_SHARED);

    CASE_AS("msync, unaligned", msync(p + 1, page, MS_SYNC));
    CASE_AS("msync, async and sync", msync(p, page, MS_ASYNC | MS_SYNC));
    CASE_AS("msync, unknown flag", msync(p, page, 0x100));
    CASE_AS("msync, no flags", msync(p, page, 0));
    CASE_AS("msync, sync", msync(p, 2 * page, MS_SYNC));
    CASE_AS("msync, invalidate", msync(p, page, MS_SYNC | MS_INVALIDATE));
    mlock(p, page);
    CASE_AS("msync, invalidate locked pages", msync(p, page, MS_SYNC | MS_INVALIDATE));
    munlock(p, page);
    CASE_AS("msync, no bytes", msync(p, 0, MS_SYNC));
    CASE_AS("msync, hole", msync(holed(), PAGES * page, MS_SYNC));
    CASE_AS("msync, not mapped", msync(holed() + 4 * page, page, MS_ASYNC));
    CASE_AS("msync, wraps", msync(p, SIZE_MAX - page + 1, MS_SYNC));
    munmap(p, 2 * page);
}

static void advising(void)
{
    char *p = anon(2), *s = file_at(2, PROT_READ | PROT_WRITE, MAP_SHARED);

    p[0] = 'p';
    CASE_AS("madvise, unaligned", madvise(p + 1, page, MADV_NORMAL));
    CASE_AS("madvise, unknown advice", madvise(p, page, 1000));
    CASE_AS("madvise, no bytes", madvise(p, 0, MADV_NORMAL));
    CASE_AS("madvise, no bytes, unknown advice", madvise(p, 0, 1000));
    CASE_AS("madvise, normal", madvise(p, page, MADV_NORMAL));
    CASE_AS("madvise, random", madvise(p, page, MADV_RANDOM));
    CASE_AS("madvise, sequential", madvise(p, page, MADV_SEQUENTIAL));
    CASE_AS("madvise, will need", madvise(s, page, MADV_WILLNEED));
    CASE_AS("madvise, hole, normal", madvise(holed(), PAGES * page, MADV_NORMAL));
    CASE_AS("madvise, hole, will need", madvise(holed(), PAGES * page, MADV_WILLNEED));
    CASE_AS("madvise, hole, don't need", madvise(holed(), PAGES * page, MADV_DONTNEED));
    CASE_AS("madvise, not mapped", madvise(holed() + 4 * page, page, MADV_RANDOM));
    CASE_AS("madvise, don't need", madvise(p, page, MADV_DONTNEED));
    VALUE_AS("private memory not needed", p[0]);
    s[1] = 'S';
    CASE_AS("madvise, don't need, shared file", madvise(s, page, MADV_DONTNEED));
    VALUE_AS("shared memory not needed", s[1]);
    CASE_AS("madvise, free, shared file", madvise(s, page, MADV_FREE));
    CASE_AS("madvise, free", madvise(p, page, MADV_FREE));
    CASE_AS("madvise, don't dump", madvise(p, page, MADV_DONTDUMP));
    CASE_AS("madvise, dump", madvise(p, page, MADV_DODUMP));
    CASE_AS("madvise, huge page", madvise(p, page, MADV_HUGEPAGE) == 0 || errno == EINVAL ? 0 : -1);
    CASE_AS("madvise, wraps", madvise(p, SIZE_MAX - page + 1, MADV_NORMAL));
}

#define MAPS(name, call) CASE_AS(name, (call) == MAP_FAILED ? -1 : 0)

/* There are no huge pages on a machine that was not told to have any. */
static void huge(void)
{
    const int shared = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB;
    const int unknown = 14 << 26; /* 16 KiB */
    const int access = PROT_READ | PROT_WRITE;

    MAPS("huge pages, none in the pool", mmap(NULL, page, access, shared, -1, 0));
    MAPS("huge pages of unknown size", mmap(NULL, page, access, shared | unknown, -1, 0));
    MAPS("huge pages, private, none in the pool",
         mmap(NULL, page, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0));
    MAPS("huge pages, a fixed place of small ones",
         mmap(holed() + page, page, access, shared | MAP_FIXED, -1, 0));
    MAPS("huge pages, no bytes", mmap(NULL, 0, access, shared, -1, 0));
}

static unsigned char vec[PAGES];

static void resident(void)
{
    char *p = anon(3);

    p[page] = 1;
    CASE_AS("mincore, unaligned", mincore(p + 1, page, vec));
    CASE_AS("mincore, no bytes", mincore(p, 0, vec));
    CASE_AS("mincore", mincore(p, 3 * page, vec));
    TEXT("mincore, touched", "%d%d%d", vec[0] & 1, vec[1] & 1, vec[2] & 1);
    CASE_AS("mincore, hole", mincore(holed(), PAGES * page, vec));
    CASE_AS("mincore, bad vector", mincore(p, page, (unsigned char *)8));
    CASE_AS("mincore, wraps", mincore(p, SIZE_MAX - page + 1, vec));
}

static void locks_of_a_user(void)
{
    struct rlimit limit = {2 * page, 2 * page};
    char *p = anon(4);

    CASE_AS("setrlimit of locked memory", setrlimit(RLIMIT_MEMLOCK, &limit));
    if (setresuid(1001, 1001, 1001) != 0)
        _exit(9);
    CASE_AS("user: mlock within the limit", mlock(p, 2 * page));
    CASE_AS("user: mlock again", mlock(p, 2 * page));
    CASE_AS("user: mlock beyond the limit", mlock(p, 3 * page));
    CASE_AS("user: munlock", munlock(p, 2 * page));
    CASE_AS("user: mlock of another page", mlock(p + 3 * page, 1));
    CASE_AS("user: mlockall beyond the limit", mlockall(MCL_CURRENT));
    CASE_AS("user: munlockall", munlockall());
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_MEMLOCK, &limit);
    CASE_AS("user: mlock with limit 0", mlock(p, page));
    CASE_AS("user: mlockall with limit 0", mlockall(MCL_CURRENT));
}

static void locking(void)
{
    char *p = anon(3);

    CASE_AS("mlock", mlock(p, page));
    CASE_AS("mlock, within a page", mlock(p + 5, 10));
    CASE_AS("mlock, no bytes", mlock(p, 0));
    CASE_AS("mlock, hole", mlock(holed(), PAGES * page));
    CASE_AS("munlock, hole", munlock(holed(), PAGES * page));
    CASE_AS("munlock", munlock(p, page));
    CASE_AS("munlock, not locked", munlock(p, page));
    CASE_AS("mlock, wraps", mlock(p, SIZE_MAX - page + 1));
    CASE_AS("mlockall, no flags", mlockall(0));
    CASE_AS("mlockall, unknown flags", mlockall(0x4000000));
    CASE_AS("mlockall, on fault alone", mlockall(0x8000));
    CASE_AS("mlockall, current", mlockall(MCL_CURRENT));
    CASE_AS("munlockall", munlockall());
    CASE_AS("mlockall, future", mlockall(MCL_CURRENT | MCL_FUTURE));
    CASE_AS("munlockall after future", munlockall());
    in_child("child with a limit of locked memory", locks_of_a_user);
}

static void the_break(void)
{
    char *old = sbrk(0);

    CASE_AS("sbrk grows", sbrk((intptr_t)page) == old ? 0 : -1);
    old[0] = 'b';
    CASE_AS("sbrk shrinks", sbrk(-(intptr_t)page) == old + page ? 0 : -1);
    CASE_AS("sbrk beyond memory", (long)sbrk(INTPTR_MAX / 2) == -1 ? -1 : 0);
    CASE_AS("brk below the start", brk((void *)page));
}

int main(void)
{
    cases_begin();
    page = (size_t)sysconf(_SC_PAGESIZE);
    file = open("conformance.file", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, (off_t)(2 * page + page / 2)) != 0)
        return 1;
    area = anon(PAGES);
    mapping();
    unmapping();
    protection();
    moving();
    syncing();
    advising();
    huge();
    resident();
    locking();
    the_break();
    unlink("conformance.file");
    return 0;
}
