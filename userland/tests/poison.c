// TAP
// RUN: -m 192M --reserve 'P_ALLOC 8 /ALLOCATE /PAGE_TABLES' --set ZERO_LIST_HI=3072
// SECONDS: 120
/*
 * No page reaches a new owner with data of an old owner in it. Old owners of every kind fill their
 * pages with a pattern and end; new owners of every kind then check that all pages that they get
 * are zero. Meanwhile idle CPUs zero what was freed (in the rounds without a pause they have no
 * time for it), so pages come zeroed from a list, are zeroed at the fault, or are being zeroed at
 * that time.
 */
#define _GNU_SOURCE /* pipe2 */
#include <descrip.h>
#include <fcntl.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>
#include <vadef.h>

#define MIB    (1UL << 20)
#define PAGE   8192UL
#define WORDS  (PAGE / 8)
#define POISON 0xDEADFEEDDEADFEEDUL
#define BYTES  (16 * MIB) /* for each kind of owner: over a tenth of the memory */

static uint64_t seen, looked; /* quadwords that were not zero; pages checked */

static void fill(void *p, uint64_t bytes)
{
    for (uint64_t *q = p; bytes; bytes -= 8)
        *q++ = POISON;
}

/* Check that all of it is zero, and fill it with the pattern. */
static void look(void *p, uint64_t bytes)
{
    uint64_t *q = p;

    for (uint64_t i = 0; i < bytes / 8; i++)
        seen += q[i] != 0;
    looked += bytes / PAGE;
    fill(p, bytes);
}

static void *memory(uint64_t bytes, int flags)
{
    void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

    if (p == MAP_FAILED)
        bail_out("no memory to map");
    return p;
}

/* ---- kinds of owners, each as the old and as the new owner ---- */

static void private_memory(void)
{
    char *p = memory(BYTES, MAP_PRIVATE);

    look(p, BYTES);
    munmap(p, BYTES);
}

static void shared_memory(void)
{
    char *p = memory(BYTES, MAP_SHARED);

    look(p, BYTES);
    munmap(p, BYTES);
}

/* Write page by page after a fork: every other page is untouched, the others are copied. */
static void copied_memory(void)
{
    char *p = memory(BYTES / 2, MAP_PRIVATE);
    int status = 0;
    pid_t child;

    for (uint64_t at = 0; at < BYTES / 2; at += 2 * PAGE)
        fill(p + at, 8);
    child = fork();
    if (child == 0) {
        seen = looked = 0;
        for (uint64_t at = 0; at < BYTES / 2; at += PAGE) {
            if (at % (2 * PAGE) == 0)
                *(uint64_t *)(p + at) = 0; /* copies the page, whose other words must be zero */
            look(p + at, PAGE);
        }
        _exit(seen ? 1 : 0);
    }
    waitpid(child, &status, 0);
    seen += status != 0;
    munmap(p, BYTES / 2);
}

static void section(const char *name, uint64_t bytes, unsigned shared)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};
    unsigned __int64 length;
    GENERIC_64 region = {{0}};
    void *va;
    int status = sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, shared, &region, &va,
                                      &length);

    if (status == SS$_NORMAL)
        status = sys$crmpsc_gdzro_64(&d, 0, 0, bytes, &region, 0, PSL$C_USER,
                                     SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length);
    if (!(status & 1))
        bail_out("section %s: %d", name, status);
    look(va, bytes);
    sys$delete_region_64(&region, PSL$C_USER, &va, &length);
}

static void fluid_section(void) { section("P_FLUID", BYTES, VA$M_SHARED_PTS); }
static void private_section(void) { section("P_PRIVATE", BYTES, 0); }
static void alloc_section(void) { section("P_ALLOC", 8 * MIB, VA$M_SHARED_PTS); }

/* A file: written, and checked through read and a mapping, with its hole and the rest of its last
 * page. */
static void file(void)
{
    static char page[PAGE];
    int fd = open("/tmp/poison", O_RDWR | O_CREAT | O_TRUNC, 0600);
    uint64_t at;
    char *p;

    if (fd < 0)
        bail_out("no file");
    for (at = 0; at < BYTES / 2; at += 2 * PAGE) { /* every second page is a hole */
        if (pwrite(fd, "x", 1, (off_t)(at + 100)) != 1)
            bail_out("no write");
    }
    ftruncate(fd, (off_t)(BYTES / 2));
    for (at = 0; at < BYTES / 2; at += PAGE) {
        pread(fd, page, PAGE, (off_t)at);
        if (at % (2 * PAGE) == 0)
            page[100] = 0;
        for (uint64_t i = 0; i < WORDS; i++)
            seen += ((uint64_t *)page)[i] != 0;
        looked++;
    }
    p = mmap(0, BYTES / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    fill(p, BYTES / 2);
    munmap(p, BYTES / 2);
    close(fd);
    unlink("/tmp/poison");
}

/* Pipes, which hold pages with the pattern when they are closed. */
static void pipes(void)
{
    static uint64_t pattern[WORDS];

    for (int i = 0; i < 40; i++) {
        int fd[2];

        if (pipe2(fd, O_NONBLOCK) != 0)
            break;
        fill(pattern, sizeof(pattern));
        for (int n = 0; n < 16 && write(fd[1], pattern, sizeof(pattern)) > 0; n++)
            ;
        close(fd[0]);
        close(fd[1]);
    }
}

/* Page tables full of PTEs: a child maps single pages far apart and is killed. */
static void page_tables(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        char *p = memory(2048 * MIB, MAP_PRIVATE | MAP_NORESERVE);

        for (uint64_t at = 0; at < 2048 * MIB; at += 8 * MIB)
            fill(p + at, PAGE);
        kill(getpid(), 9);
    }
    waitpid(child, &status, 0);
}

/* The stack and the bss of a new program, which is this program itself. */
static void programs(const char *me)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        execl(me, me, "bss", (char *)0);
        _exit(2);
    }
    waitpid(child, &status, 0);
    seen += status != 0;
}

static uint64_t bss[512 * WORDS];

static int look_at_bss(void)
{
    /* A part of the stack that has not been touched. */
    char *stack = (char *)(((uint64_t)__builtin_frame_address(0) - 320 * 1024) & ~(PAGE - 1));

    look(stack, 256 * 1024);
    look(bss, sizeof(bss));
    return seen ? 1 : 0;
}

static void all(const char *me)
{
    static void (*const owners[])(void) = {
        private_memory, fluid_section,   file,  shared_memory, page_tables, alloc_section,
        copied_memory,  private_section, pipes,
    };
    static const char *const names[] = {
        "private memory", "a FLUID section",     "a file",
        "shared memory",  "page tables",         "an ALLOC section",
        "copied memory",  "private page tables", "pipes",
    };
    const unsigned n = sizeof(owners) / sizeof(owners[0]);

    /* Each kind follows each other one: old owner i, new owner j. */
    for (unsigned i = 0; i < n; i++) {
        seen = looked = 0;
        for (unsigned j = 0; j < n; j++) {
            owners[i]();
            if (j % 2)
                usleep(5000); /* time for idle CPUs to zero some of it */
            owners[j]();
        }
        programs(me);
        is(seen, 0, "after %s, %lu pages of all kinds are all zero", names[i], looked);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return look_at_bss();
    all(argv[0]);
    return tap_done();
}
