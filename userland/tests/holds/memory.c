/* Mappings, pages, files and sections of memory. */
#define _GNU_SOURCE
#include "holds.h"

#include <descrip.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <secdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vadef.h>

static char *pages_of(unsigned n, int flags)
{
    char *p = mmap(NULL, n * PAGE_BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    need(p != MAP_FAILED);
    return p;
}

static void touch(char *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        p[i * PAGE_BYTES] = 1;
}

static void in_child(void (*fn)(char *p, unsigned n), char *p, unsigned n)
{
    int status;
    pid_t pid = fork();

    need(pid >= 0);
    if (pid == 0) {
        fn(p, n);
        _exit(0);
    }
    need(waitpid(pid, &status, 0) == pid && status == 0);
}

/* n mappings of one page each, which cannot be joined. */
static void mappings(unsigned n)
{
    char *p = mmap(NULL, n * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    need(p != MAP_FAILED);
    for (unsigned i = 0; i < n; i += 2)
        need(mprotect(p + i * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0);
    for (unsigned i = 0; i < n; i += 2)
        p[i * PAGE_BYTES] = 1;
    in_child(touch, p, 1);
    need(mprotect(p, n * PAGE_BYTES, PROT_READ) == 0);
    need(munmap(p, n * PAGE_BYTES / 2) == 0);
}

static void unmap(char *p, unsigned n) { need(munmap(p, n * PAGE_BYTES) == 0); }

/* Pages: private, copied by a fork, shared with a child; moved, protected, freed. */
static void pages(unsigned n)
{
    char *private = pages_of(n, MAP_PRIVATE), *shared = pages_of(n, MAP_SHARED), *big;

    touch(private, n);
    touch(shared, n);
    in_child(touch, private, n);
    in_child(unmap, private, n);
    in_child(touch, shared, n);
    need(mprotect(private, n * PAGE_BYTES, PROT_READ) == 0);
    need(mprotect(shared, n * PAGE_BYTES, PROT_READ) == 0);
    big = mremap(private, n * PAGE_BYTES, 2 * n * PAGE_BYTES, MREMAP_MAYMOVE);
    if (big != MAP_FAILED)
        unmap(big, 2 * n);
    unmap(shared, n);
}

/* Pages of 300 generations: each has changed another one. */
static void generations(unsigned n)
{
    char *p = pages_of(n, MAP_PRIVATE);
    unsigned deep = n < 300 ? n : 300;
    int status = 0;

    touch(p, n);
    for (unsigned i = 0; i < deep; i++) {
        pid_t pid = fork();

        need(pid >= 0);
        if (pid) {
            need(waitpid(pid, &status, 0) == pid);
            _exit(status != 0);
        }
        p[i * PAGE_BYTES] = 2;
    }
    for (unsigned i = 0; i < n; i++)
        need(p[i * PAGE_BYTES]);
    touch(p, n);
    _exit(0);
}

/* A file of n pages with many mappings of all of it, cut off. */
static void truncated(unsigned n)
{
    unsigned maps = n;
    char *p = NULL;
    int fd = open("/tmp/holds", O_RDWR | O_CREAT | O_TRUNC, 0600);

    need(fd >= 0 && unlink("/tmp/holds") == 0);
    need(ftruncate(fd, (off_t)(n * PAGE_BYTES)) == 0);
    for (unsigned i = 0; i < maps; i++) {
        p = mmap(NULL, n * PAGE_BYTES, PROT_READ | PROT_WRITE, i % 2 ? MAP_SHARED : MAP_PRIVATE, fd,
                 0);
        need(p != MAP_FAILED);
    }
    touch(p, n);
    need(ftruncate(fd, (off_t)(n / 2 * PAGE_BYTES)) == 0);
    need(ftruncate(fd, 0) == 0);
    need(ftruncate(fd, (off_t)(n * PAGE_BYTES)) == 0);
    touch(p, n);
    unmap(p, n);
}

/* A page that n processes map, and one that n mappings of a process share. */
static void sharers_child(unsigned i, void *arg)
{
    char *p = *(char **)arg;

    (void)i;
    need(p[0]);
    gate_wait((struct gate *)((char **)arg + 1));
}

static void sharers(unsigned n)
{
    struct {
        char *p;
        struct gate g;
    } s = {.p = pages_of(4, MAP_PRIVATE)};
    unsigned most = n < 8000 ? n : 8000;

    touch(s.p, 4);
    gate_make(&s.g);
    crowd_start(most, sharers_child, &s);
    touch(s.p, 2);
    unmap(s.p, 4);
    gate_open(&s.g);
    crowd_wait(most);
}

/* A file written and read in large pieces, and removed. */
static void file(unsigned n)
{
    size_t bytes = n * PAGE_BYTES;
    char *p = pages_of(n, MAP_PRIVATE);
    int fd = open("/tmp/holds", O_RDWR | O_CREAT | O_TRUNC, 0600);

    need(fd >= 0);
    need(write(fd, p, bytes) == (ssize_t)bytes);
    need(pread(fd, p, bytes, 0) == (ssize_t)bytes);
    need(unlink("/tmp/holds") == 0);
    need(close(fd) == 0);
}

/* Pages far from each other in a file and in shared memory: each has its own nodes in the index. */
static void sparse(unsigned n)
{
    uint64_t span = 1ul << 36; /* bytes; the index of a file has levels of 2^19, 2^25 ... bytes */
    int fd = open("/tmp/holds", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *p = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    need(fd >= 0 && unlink("/tmp/holds") == 0 && p != MAP_FAILED);
    for (unsigned i = 0; i < 64; i++) { /* a lone page, and then a second one */
        need(ftruncate(fd, 0) == 0);
        need(pwrite(fd, "x", 1, (off_t)(i * PAGE_BYTES)) == 1);
        need(pwrite(fd, "x", 1, (off_t)((1ul << 36) - (i + 1) * 1048573)) == 1);
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t at = i * 0x9E3779B97F4A7C15ul >> 28;

        p[at] = 1;
        need(pwrite(fd, "x", 1, (off_t)at) == 1);
    }
    need(ftruncate(fd, 1) == 0);
}

/* Processes in select() with tables of a few contiguous pages, every second of which ends: memory
   in many short stretches. */
static void selects(unsigned i, void *g)
{
    static char set[8192]; /* 65,536 bits */
    int fds = 43690 + (int)(i % 3) * 10922;
    struct rlimit r = {65536, 65536};
    struct timeval until = {1000, 0};

    memset(set, 0, sizeof(set));
    setrlimit(RLIMIT_NOFILE, &r);
    if (i % 2)
        gate_wait(g);
    else
        syscall(SYS_select, fds, set, NULL, NULL, &until);
}

static void stretches(unsigned n)
{
    struct gate g;
    unsigned most = n < 2000 ? n : 2000;
    pid_t first;

    gate_make(&g);
    first = crowd_start(most, selects, &g);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 2 * round; i < most; i += 4)
            kill(first + (pid_t)i, SIGKILL);
    gate_open(&g);
    crowd_wait(most);
}

/* Nearly all memory, in several ways, and freed. */
static void hog(unsigned n)
{
    struct mega_memory m;
    uint64_t all;
    char *p;

    (void)n;
    need(mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) == SS$_NORMAL);
    all = m.fluid * 3 / 4;
    p = pages_of((unsigned)all, MAP_PRIVATE);
    touch(p, (unsigned)all);
    for (uint64_t i = 0; i < all; i += 64) /* holes for the range lists */
        need(munmap(p + i * PAGE_BYTES, 32 * PAGE_BYTES) == 0);
    unmap(p, (unsigned)all);
    p = mmap(NULL, all / 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    need(p != MAP_FAILED);
}

static GENERIC_64 p2 = {.gen64$q_quadword = VA$C_P2};

static struct dsc$descriptor_s *named(const char *format, unsigned i)
{
    static char text[32];
    static struct dsc$descriptor_s d;

    snprintf(text, sizeof(text), format, i);
    d = (struct dsc$descriptor_s){(unsigned short)strlen(text), DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    return &d;
}

static void limit(const char *name, uint64_t value)
{
    mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, value, 0, 0, 0);
}

/* A process that maps none of the sections looks at all of them. */
static void looker(unsigned number, void *g)
{
    struct mega_section s;

    (void)number;
    gate_wait(g);
    for (int64_t i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL; i++)
        ;
}

/* Global sections: memory-resident, with their pages, and mapped by n entries. */
static void sections(unsigned n)
{
    unsigned most = n < 4000 ? n : 4000;
    uint64_t length;
    struct gate g;
    void *va;

    gate_make(&g);
    crowd_start(1, looker, &g);
    limit("GBLSECTIONS", 4095);
    for (unsigned i = 0; i < most; i++)
        need(sys$create_gdzro(named("HOLDS_%u", i), 0, 0, PAGE_BYTES, 0, SEC$M_SYSGBL) & 1);
    for (unsigned i = 0; i < n; i++)
        need(sys$mgblsc_64(named("HOLDS_%u", i % 2 ? 0 : i % most), 0, &p2, 0, 0, 0,
                           SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
             1);
    *(char *)va = 1;
    gate_open(&g);
    crowd_wait(1);
    for (unsigned i = 0; i < most; i++)
        need(sys$dgblsc(SEC$M_SYSGBL, named("HOLDS_%u", i), 0) & 1);
}

/* One section of many pages, touched, mapped and deleted. */
static void fluid(unsigned n)
{
    uint64_t length, bytes = (n * PAGE_BYTES + (8ul << 20) - 1) & ~((8ul << 20) - 1);
    void *va;

    need(sys$create_gdzro(named("HOLDS_FLUID", 0), 0, 0, bytes, 0, SEC$M_SYSGBL) & 1);
    for (unsigned i = 0; i < 8; i++) {
        need(sys$mgblsc_64(named("HOLDS_FLUID", 0), 0, &p2, 0, 0, 0,
                           SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
             1);
        touch(va, n);
    }
    need(sys$dgblsc(SEC$M_SYSGBL, named("HOLDS_FLUID", 0), 0) & 1);
}

static void page_file_section(unsigned n)
{
    uint64_t length;
    void *va;

    limit("GBLPAGFIL", 1ul << 20);
    need(sys$create_gpfile(named("HOLDS_PAGFIL", 0), 0, 0, n * PAGE_BYTES, 0, SEC$M_SYSGBL) & 1);
    need(sys$mgblsc_64(named("HOLDS_PAGFIL", 0), 0, &p2, 0, 0, 0,
                       SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
         1);
    touch(va, n);
    in_child(touch, va, n);
    need(sys$dgblsc(SEC$M_SYSGBL, named("HOLDS_PAGFIL", 0), 0) & 1);
}

static void regions(unsigned n)
{
    GENERIC_64 id;
    uint64_t length;
    void *va;

    for (unsigned i = 0; i < n; i++)
        need(sys$create_region_64(4 * PAGE_BYTES, VA$C_REGION_UCREATE_UOWN, 0, &id, &va, &length) &
             1);
    in_child(touch, (char *)pages_of(1, MAP_PRIVATE), 1);
}

const struct growth growth_memory[] = {
    {"mappings", mappings},
    {"pages", pages},
    {"generations", generations},
    {"truncated", truncated},
    {"sharers", sharers},
    {"file", file},
    {"sparse", sparse},
    {"stretches", stretches},
    {"hog", hog},
    {"sections", sections},
    {"fluid", fluid},
    {"page-file section", page_file_section},
    {"regions", regions},
    {0},
};
