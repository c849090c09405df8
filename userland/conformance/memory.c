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

/* The area, with a hole at page 4, which other mappings may have filled meanwhile. */
static char *holed(void)
{
    munmap(area + 4 * page, page);
    return area;
}

static void mapping(void)
{
    int rdonly, wronly, folder, pipes[2];
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
    MAPPED(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, open("/dev/null", O_RDWR), 0));
    close(rdonly);
    close(wronly);
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
    the_break();
    unlink("conformance.file");
    return 0;
}
