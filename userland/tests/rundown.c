// TAP
// ARGS: 15
// SECONDS: 200
// RUN: --reserve 'DIES_ALLOC 8 /ALLOCATE /PAGE_TABLES'
// RUN: --reserve 'DIES_BARE 8 /ALLOCATE /NOPAGE_TABLES'
// RUN: --reserve 'DIES_PROMISED 16 /NOALLOCATE'
/*
 * Rundown: a process that is killed in any service, with any kind of mapping, leaves nothing
 * allocated; nor does one that execs or exits. For each kind of service a child repeats calls until
 * it is killed at a random moment, many times; then the self-check counts every page. A permanent
 * section must keep its pages and shared page tables when its mappers have died.
 *
 * `rundown TIMES` sets how often a child of each kind is killed.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <fcntl.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <prtdef.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <vadef.h>

#define PAGE         8192ul
#define PIECE        (1024 * PAGE)
#define BYTES        (2 * PIECE)
#define RW           (PROT_READ | PROT_WRITE)
#define PORTS        ((1ul << 30) + 0x1FC000000ul / PAGE)
#define LONGEST_US   2500
#define SETTLE_TRIES 1000

static const char *self_path;
static uint64_t state = 12345;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void nap_us(uint64_t us) { nanosleep(&(struct timespec){0, (long)us * 1000}, NULL); }

/* ---- what the victims do until they are killed ---- */

static void describe(struct dsc64$descriptor *d, const char *name)
{
    *d = (struct dsc64$descriptor){1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                   -1, strlen(name),    (char *)name};
}

static void touch(volatile char *p, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += 37 * PAGE)
        p[at] = 1;
}

/* Create, map, touch and delete a section. tables: in a region with shared page tables. */
static void use_section(const char *name, bool tables, bool pagfil)
{
    struct dsc64$descriptor d;
    struct _generic_64 region;
    uint64_t length;
    void *va;
    int status;

    describe(&d, name);
    sys$create_region_64(2 * BYTES, VA$C_REGION_UCREATE_UOWN, tables ? VA$M_SHARED_PTS : 0, &region,
                         &va, &length);
    for (;;) {
        uint32_t flags = SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT;

        if (pagfil)
            status = sys$crmpsc_gpfile_64(&d, NULL, 0, PIECE, &region, 0, 3, flags, &va, &length);
        else
            status = sys$crmpsc_gdzro_64(&d, NULL, 0, PIECE, &region, 0, 3, flags, &va, &length);
        if (!(status & 1))
            continue; /* the section of the previous victim still exists */
        touch(va, length);
        sys$deltva_64(&region, va, length, 3, &va, &length);
    }
}

static void alloc_shared(void) { use_section("DIES_ALLOC", true, false); }
static void alloc_private(void) { use_section("DIES_BARE", false, false); }
static void promised(void) { use_section("DIES_PROMISED", true, false); }
static void fluid_shared(void) { use_section("DIES_FLUID", true, false); }
static void fluid_private(void) { use_section("DIES_FLUID", false, false); }
static void page_file(void) { use_section("DIES_PAGFIL", false, true); }

/* Page frames of a PCI bus; none of them is accessed. */
static void page_frames(void)
{
    struct dsc64$descriptor d;
    struct _generic_64 region;
    uint64_t length;
    void *va;

    describe(&d, "DIES_FRAMES");
    sys$create_region_64(BYTES, VA$C_REGION_UCREATE_UOWN, 0, &region, &va, &length);
    for (;;) {
        if (sys$crmpsc_gpfn_64(&d, NULL, 0, PORTS, 512, &region, 0, 3,
                               SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
            1)
            sys$deltva_64(&region, va, length / 2, 3, &va, &length);
        sys$create_gpfn(&d, NULL, 0, PORTS, 64, 0, SEC$M_SYSGBL);
        sys$mgblsc_gpfn_64(&d, NULL, &region, 8, 8, 3, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length);
        sys$dgblsc(SEC$M_SYSGBL, &d, NULL);
        sys$delete_region_64(&region, 3, &va, &length);
        sys$create_region_64(BYTES, VA$C_REGION_UCREATE_UOWN, 0, &region, &va, &length);
    }
}

static void logical_names(void)
{
    $DESCRIPTOR(system, "LNM$SYSTEM");
    $DESCRIPTOR(process, "LNM$PROCESS");
    $DESCRIPTOR(name, "DIES_NAME");
    static char text[] = "something to stand for";
    ILE3 items[] = {{sizeof(text) - 1, LNM$_STRING, text, NULL}, {0, 0, NULL, NULL}};

    for (unsigned i = 0;; i++) {
        void *table = i % 2 ? &system : &process;

        sys$crelnm(NULL, table, &name, NULL, items);
        sys$trnlnm(NULL, table, &name, NULL, items);
        sys$dellnm(table, &name, NULL);
    }
}

static void regions(void)
{
    struct _generic_64 id[4];
    uint64_t length;
    void *va;

    for (;;) {
        for (int i = 0; i < 4; i++)
            sys$create_region_64(BYTES, VA$C_REGION_UCREATE_UOWN, i & 1 ? VA$M_SHARED_PTS : 0,
                                 &id[i], &va, &length);
        for (int i = 0; i < 4; i++)
            sys$delete_region_64(&id[i], 3, &va, &length);
    }
}

static void parts(void)
{
    struct dsc64$descriptor d;
    struct _generic_64 region;
    uint64_t length;
    void *va, *gone;

    describe(&d, "DIES_PARTS");
    for (;;) {
        sys$create_region_64(2 * BYTES, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                             &length);
        if (sys$crmpsc_gdzro_64(&d, NULL, 0, BYTES, &region, 0, 3,
                                SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
            1) {
            touch(va, length);
            sys$deltva_64(&region, va, PIECE, 3, &gone, &length);
        }
        sys$dgblsc(SEC$M_SYSGBL, &d, NULL);
        sys$delete_region_64(&region, 3, &va, &length);
    }
}

static void private_services(void)
{
    struct _generic_64 p2 = {.gen64$q_quadword = VA$C_P2};
    uint64_t length;
    unsigned old;
    void *va;

    for (;;) {
        if (!(sys$expreg_64(&p2, 40 * PAGE, 3, 0, &va, &length) & 1))
            continue;
        touch(va, length);
        char *p = va;
        sys$lckpag_64(p, 16 * PAGE, 3, &va, &length);
        sys$setprt_64(p + 8 * PAGE, 20 * PAGE, 3, PRT$C_UR, &va, &length, &old);
        sys$cretva_64(&p2, p + 4 * PAGE, 4 * PAGE, 3, 0, &va, &length);
        sys$ulkpag_64(p, 16 * PAGE, 3, &va, &length);
        sys$deltva_64(&p2, p, 40 * PAGE, 3, &va, &length);
    }
}

static void maps(void)
{
    for (;;) {
        char *p = mmap(NULL, 300 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        char *q = mmap(NULL, 30 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        touch(q, 30 * PAGE);
        mprotect(p + 40 * PAGE, 20 * PAGE, PROT_READ);
        madvise(p, 30 * PAGE, MADV_DONTNEED);
        munmap(p + 100 * PAGE, 10 * PAGE);
        munmap(p, 300 * PAGE);
        munmap(q, 30 * PAGE);
        sbrk(50 * (intptr_t)PAGE);
        sbrk(-50 * (intptr_t)PAGE);
    }
}

static void forks(void)
{
    char *p = mmap(NULL, 100 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    for (;;) {
        pid_t pid = must_fork();

        if (pid == 0) {
            touch(p, 100 * PAGE);
            _exit(0);
        }
        touch(p + PAGE, 90 * PAGE);
        waitpid(pid, NULL, 0);
    }
}

static void execs(void)
{
    char *const argv[] = {(char *)self_path, "--again", NULL};

    mmap(NULL, 64 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    execv(self_path, argv);
}

static void pipes_and_files(void)
{
    static char buffer[3 * PAGE];

    for (;;) {
        int fd[2], file = open("/tmp/rundown", O_RDWR | O_CREAT | O_TRUNC, 0600);

        if (pipe(fd) != 0 || file < 0)
            continue;
        unlink("/tmp/rundown");
        for (int i = 0; i < 2; i++)
            if (write(fd[1], buffer, sizeof(buffer)) < 0 ||
                write(file, buffer, sizeof(buffer)) < 0 || read(fd[0], buffer, sizeof(buffer)) < 0)
                break;
        char *p = mmap(NULL, sizeof(buffer), RW, MAP_SHARED, file, 0);
        if (p != MAP_FAILED)
            p[PAGE] = 1;
        if (ftruncate(file, 100) == 0 && p != MAP_FAILED)
            munmap(p, sizeof(buffer));
        close(fd[0]);
        close(fd[1]);
        close(file);
    }
}

static void information(void)
{
    struct mega_section s;
    struct mega_process p;

    for (int64_t i = 0;; i = i < 3 ? i + 1 : 0) {
        mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s));
        mega$info(MEGA_INFO_PROCESS, i, &p, sizeof(p));
    }
}

/* The self-check stops all CPUs; its caller may be killed while it waits for that. */
static void checks(void)
{
    struct mega_validate v;

    for (;;)
        mega$info(MEGA_INFO_VALIDATE, 0, &v, sizeof(v));
}

static const struct {
    const char *name;
    void (*fn)(void);
} victims[] = {
    {"ALLOC sections through shared page tables", alloc_shared},
    {"ALLOC sections through private page tables", alloc_private},
    {"promised sections", promised},
    {"FLUID sections through shared page tables", fluid_shared},
    {"FLUID sections through private page tables", fluid_private},
    {"page-file sections", page_file},
    {"page-frame sections", page_frames},
    {"logical names", logical_names},
    {"parts of mappings", parts},
    {"regions", regions},
    {"services on private memory", private_services},
    {"mmap, mprotect, madvise, munmap, brk", maps},
    {"fork", forks},
    {"exec", execs},
    {"pipes and files", pipes_and_files},
    {"questions to the system", information},
    {"the self-check itself", checks},
};

/* ---- counting ---- */

struct count {
    struct mega_validate v;
    uint64_t owned, available;
};

static uint64_t owned_by_somebody(const uint64_t *n)
{
    return n[MEGA_PAGES_PRIVATE] + n[MEGA_PAGES_OBJECT] + n[MEGA_PAGES_SECTION] +
           n[MEGA_PAGES_TABLE] + n[MEGA_PAGES_SHARED_TABLE] + n[MEGA_PAGES_PIPE];
}

/* Write all data of this program after the last fork, so that each count finds the same number of
 * copied pages. */
static void touch_data(void)
{
    extern char __data_start[], _end[];
    volatile char stack[4 * PAGE];

    for (volatile char *p = __data_start; p < _end; p += PAGE)
        *p = *p;
    for (size_t i = 0; i < sizeof(stack); i += PAGE)
        stack[i] = 0;
}

/* Take the count when children of the killed processes have ended, too. */
static void count(struct count *c)
{
    for (int i = 0; i < SETTLE_TRIES; i++) {
        touch_data();
        if (mega$info(MEGA_INFO_VALIDATE, 0, &c->v, sizeof(c->v)) != SS$_NORMAL || c->v.timed_out)
            bail_out("no check: %s", c->v.text);
        if (c->v.spaces == 1 || in_company())
            break;
        nap_us(2000);
    }
    c->owned = owned_by_somebody(c->v.pages);
    c->available = c->v.pages[MEGA_PAGES_RESERVED];
    for (int k = MEGA_PAGES_FREE; k <= MEGA_PAGES_NEVER_USED; k++)
        c->available += c->v.pages[k];
    c->available += c->v.pages[MEGA_PAGES_PAGED_POOL] + c->v.pages[MEGA_PAGES_KSTACK] +
                    c->v.pages[MEGA_PAGES_NONPAGED_POOL] + c->v.pages[MEGA_PAGES_LINKS];
}

/* Kill a victim `times` times. Returns true if it was alive each time. */
static bool kill_often(void (*fn)(void), unsigned times)
{
    bool alive = true;

    for (unsigned i = 0; i < times; i++) {
        pid_t pid = must_fork();
        int status;

        if (pid == 0) {
            mega$service_hook = NULL;
            fn();
            _exit(1);
        }
        nap_us(draw(LONGEST_US));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        alive = alive && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    return alive;
}

static void one_kind(unsigned k, unsigned times)
{
    struct count before, after;
    bool alive;

    kill_often(
        victims[k].fn,
        6); /* allocates what the first ones allocate for good: pages of the program, tables */
    count(&before);
    alive = kill_often(victims[k].fn, times);
    count(&after);
    if (in_company()) {
        ok(alive && after.v.errors == 0, "memory is consistent after %s%s%s", victims[k].name,
           after.v.errors ? ": " : "", after.v.text);
        return;
    }
    if (!ok(alive && after.v.errors == 0 && after.v.spaces == 1 && after.owned == before.owned &&
                after.available == before.available && after.v.sections == before.v.sections,
            "nothing of %s is left", victims[k].name))
        diag("%lu errors, %lu spaces, %lu sections, before %lu; owned %lu, before %lu; "
             "available %lu, before %lu; %s",
             (unsigned long)after.v.errors, (unsigned long)after.v.spaces,
             (unsigned long)after.v.sections, (unsigned long)before.v.sections,
             (unsigned long)after.owned, (unsigned long)before.owned,
             (unsigned long)after.available, (unsigned long)before.available, after.v.text);
}

/* A permanent section: it keeps its pages and page tables when its mappers die, until it is
   deleted. */
static void permanent(unsigned times)
{
    struct count before, after;
    struct dsc64$descriptor d;

    describe(&d, "DIES_PERM");
    count(&before);
    is_status(sys$create_gdzro(&d, NULL, 0, PIECE, 0, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a permanent section is created");
    for (unsigned i = 0; i < times; i++) {
        pid_t pid = must_fork();

        if (pid == 0) {
            struct _generic_64 region;
            uint64_t length;
            void *va;

            mega$service_hook = NULL;
            sys$create_region_64(BYTES, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                                 &length);
            sys$mgblsc_64(&d, NULL, &region, 0, 0, 3, SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va,
                          &length);
            touch(va, length);
            for (;;)
                touch(va, length);
        }
        nap_us(draw(3 * LONGEST_US));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    count(&after);
    is(after.v.mappings, 0, "it has no mapping any more");
    ok(after.v.errors == 0 && after.v.pages[MEGA_PAGES_SECTION] > 0 &&
           after.v.pages[MEGA_PAGES_SHARED_TABLE] == 2,
       "it keeps its pages and page tables");
    is_status(sys$dgblsc(SEC$M_SYSGBL, &d, NULL), SS$_NORMAL, "the section is deleted");
    count(&after);
    ok(after.v.errors == 0 && after.owned == before.owned && after.v.sections == before.v.sections,
       "all its pages are freed");
}

int main(int argc, char **argv)
{
    unsigned times = argc > 1 ? (unsigned)atoi(argv[1]) : 60;
    char buffer[PAGE];
    int fd;

    self_path = argv[0];
    if (argc > 1 && !strcmp(argv[1], "--again")) {
        execs();
        return 1;
    }
    fd = open(self_path, O_RDONLY); /* reads all pages of the program file now */
    while (read(fd, buffer, sizeof(buffer)) > 0)
        ;
    close(fd);
    for (unsigned k = 0; k < sizeof(victims) / sizeof(victims[0]); k++)
        one_kind(k, times);
    if (!in_company())
        permanent(times);
    return tap_done();
}
