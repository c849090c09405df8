// TAP
// RUN: -m 512M --smp 4 --set RADS=3 --reserve 'D_ONE 40 /ALLOCATE /ZERO /PAGE_TABLES /RAD=1'
// RUN: --reserve 'D_FLUID 16 /NOALLOCATE /RAD=2' --reserve 'D_NONE 8 /ALLOCATE /RAD=7'
/*
 * Memory domains: their sizes; hints of the registry, of the creator of a section and of the home
 * of a process; what fork and exec inherit; allocation from other domains when one is full.
 */
#include <descrip.h>
#include <iledef.h>
#include <jpidef.h>
#include <prcdef.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>
#include <vadef.h>

#define MIB     (1UL << 20)
#define PAGE    8192UL
#define DOMAINS 3

static struct mega_rad rads[DOMAINS];

static void look(void)
{
    for (int i = 0; i < DOMAINS; i++)
        mega$info(MEGA_INFO_RAD, i, &rads[i], sizeof(rads[i]));
}

/* The number of free pages that the domain has lost since look() was last called. */
static long lost(int rad)
{
    struct mega_rad before = rads[rad];

    look();
    return (long)(before.free - rads[rad].free);
}

static struct mega_process self(void)
{
    struct mega_process p;

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

static int home(uint64_t rad) { return mega$control(MEGA_CTL_SET_HOME_RAD, rad, 0, 0, 0, 0); }

static struct dsc$descriptor_s named(const char *name)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};

    return d;
}

/* Create and map a section, with the hint that mask and flag give. */
static int make(const char *name, uint64_t bytes, uint64_t mask, unsigned flags, char **va)
{
    struct dsc$descriptor_s d = named(name);
    unsigned __int64 length;
    GENERIC_64 region = {{0}};
    void *start;
    int status = sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region,
                                      &start, &length);

    if (status != SS$_NORMAL)
        return status;
    return sys$crmpsc_gdzro_64(&d, 0, 0, bytes, &region, 0, PSL$C_USER,
                               SEC$M_SYSGBL | SEC$M_EXPREG | flags, (void **)va, &length, 0, 0, 0,
                               mask);
}

static void touch(char *va, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += PAGE)
        *(volatile long *)(va + at) = (long)at;
}

/* The number of valid pages of a section outside the domain; all if there is no such section. */
static long elsewhere(const char *name, int rad, uint64_t pages)
{
    struct mega_section s;

    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL; i++)
        if (strcmp(s.name, name) == 0)
            return (long)(pages - s.rad_pages[rad]);
    return -1;
}

static void sizes(void)
{
    struct mega_memory m;
    uint64_t sum = 0, cpus = 0;
    struct mega_rad none;

    look();
    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    for (int i = 0; i < DOMAINS; i++) {
        /* A domain begins where a block of 512 pages may, and the last has the remainder. */
        ok(rads[i].total + 512 + DOMAINS > m.total / DOMAINS &&
               rads[i].total < m.total / DOMAINS + 512 + DOMAINS,
           "domain %d has a third of the memory (%lu of %lu pages)", i, rads[i].total, m.total);
        sum += rads[i].total;
        ok((rads[i].cpus & cpus) == 0 && rads[i].cpus, "it has CPUs of its own");
        cpus |= rads[i].cpus;
    }
    is(sum, m.total, "all memory belongs to one of the domains");
    is(cpus, 0xF, "all CPUs belong to one of the domains");
    is(mega$info(MEGA_INFO_RAD, DOMAINS, &none, sizeof(none)), SS$_NONEXPR,
       "there is no fourth domain");
    is(mega$info(MEGA_INFO_RAD, -1, &none, sizeof(none)), SS$_NONEXPR,
       "there is no domain before the first");
}

static void hints(void)
{
    char *va;

    is(make("D_ONE", 40 * MIB, 0, 0, &va), SS$_CREATED_SHPT,
       "a section is created on an entry with /ALLOCATE /RAD=1");
    is(elsewhere("D_ONE", 1, 40 * MIB / PAGE), 0, "all its pages are in domain 1");
    is(make("D_FLUID", 16 * MIB, 0, 0, &va), SS$_CREATED_SHPT,
       "a section is created on an entry with /NOALLOCATE /RAD=2");
    touch(va, 16 * MIB);
    is(elsewhere("D_FLUID", 2, 16 * MIB / PAGE), 0,
       "its pages come from domain 2 when they are touched");
    is(make("D_NONE", 8 * MIB, 0, 0, &va), SS$_CREATED_SHPT,
       "an entry with a domain that does not exist is used without it");
    is(make("D_HINT", 16 * MIB, 1UL << 1, SEC$M_RAD_HINT, &va), SS$_CREATED_SHPT,
       "a section is created with rad_mask 2");
    touch(va, 16 * MIB);
    is(elsewhere("D_HINT", 1, 16 * MIB / PAGE), 0, "its pages come from domain 1");
    for (uint64_t bad = 0; bad <= 16; bad += 8)
        is(make("D_BAD", 16 * MIB, bad, SEC$M_RAD_HINT, &va), SS$_BADRAD, "rad_mask %lu is refused",
           bad);
    is(make("D_BAD", 16 * MIB, ~0UL, SEC$M_RAD_HINT, &va), SS$_BADRAD,
       "a rad_mask of all ones is refused");
    is(make("D_FREE", 16 * MIB, 8, 0, &va), SS$_CREATED_SHPT,
       "without the flag the mask is ignored");
}

/* Private memory and page tables come from the home domain. */
static void at_home(int rad)
{
    const uint64_t bytes = 24 * MIB;
    char *p;

    is(home((uint64_t)rad), SS$_NORMAL, "the home is set to domain %d", rad);
    is(self().home_rad, rad, "the process shows its home");
    look();
    p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(p, bytes);
    long taken = lost(rad), want = (long)(bytes / PAGE);

    ok(taken >= want && taken < want + 100, "%ld of %ld pages come from the home domain", taken,
       want);
    munmap(p, bytes);
}

/* $CREPRC from a process with home 2: the domain counts only with the flag for it. */
static void created(void)
{
    static const struct {
        unsigned flags, rad, home;
    } ways[] = {{0, 1, 2}, {PRC$M_HOME_RAD, 1, 1}, {PRC$M_HOME_RAD, 0, 0}};
    struct dsc$descriptor_s image = {10, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)"/bin/sleep"};
    uint32_t rad;
    ILE3 items[] = {{4, JPI$_HOME_RAD, &rad, 0}, {0, 0, 0, 0}};
    unsigned pid;

    for (int i = 0; i < 3; i++) {
        is_status(sys$creprc(&pid, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, PRC$M_HIBER | ways[i].flags,
                             0, 0, ways[i].rad),
                  SS$_NORMAL, "a process, flags %x, domain %u", ways[i].flags, ways[i].rad);
        rad = 99;
        sys$getjpiw(0, &pid, 0, items, 0, 0, 0);
        is(rad, ways[i].home, "its home");
        sys$delprc(&pid);
    }
    is_status(sys$creprc(&pid, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, PRC$M_HOME_RAD, 0, 0, DOMAINS),
              SS$_BADRAD, "nor a process in a domain that there is not");
}

static void inherited(const char *me)
{
    uint32_t rad = 99;
    ILE3 items[] = {{4, JPI$_HOME_RAD, &rad, 0}, {0, 0, 0, 0}};
    int status;
    pid_t child;

    home(2);
    child = fork();
    if (child == 0)
        _exit((int)self().home_rad);
    waitpid(child, &status, 0);
    is(WEXITSTATUS(status), 2, "fork passes the home on");
    child = fork();
    if (child == 0) {
        execl(me, me, "home", (char *)0);
        _exit(99);
    }
    waitpid(child, &status, 0);
    is(WEXITSTATUS(status), 2, "exec keeps the home");
    child = fork();
    if (child == 0) {
        execl("/bin/rad", "rad", "1", me, "home", (char *)0);
        _exit(99);
    }
    waitpid(child, &status, 0);
    is(WEXITSTATUS(status), 1, "rad 1 COMMAND runs a command in domain 1");
    sys$getjpiw(0, 0, 0, items, 0, 0, 0);
    is(rad, 2, "JPI$_HOME_RAD");
    created();
    is(home(DOMAINS), SS$_BADRAD, "there is no domain %d", DOMAINS);
    is(home(~0UL), SS$_BADRAD, "there is no domain -1");
    is(self().home_rad, 2, "a refused call does not change the home");
    is(setgid(100) | setuid(100), 0, "the process becomes an ordinary user");
    is(home(0), SS$_NORMAL, "an ordinary user may set the home");
}

/* More pages than a domain has free: the rest come from other domains. */
static void full(void)
{
    const uint64_t bytes = 230 * MIB;
    char *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long before;

    look();
    home(2);
    before = (long)(rads[0].free + rads[1].free + rads[2].free);
    touch(p, bytes);
    look();
    ok(before - (long)(rads[0].free + rads[1].free + rads[2].free) >= (long)(bytes / PAGE),
       "230 MiB are allocated with a home of 170 MiB");
    ok(rads[2].free < 200, "the home domain is full then (%lu free pages)",
       (unsigned long)rads[2].free);
    munmap(p, bytes);
}

/* A process that is woken runs on a CPU of its home if one of these is idle. */
static void cpus(void)
{
    int near = 0;

    home(1);
    look();
    for (int i = 0; i < 40; i++) {
        usleep(2000);
        near += (rads[1].cpus >> self().cpu) & 1;
    }
    ok(near >= 30, "%d of 40 times it ran on a CPU of its home", near);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return (int)self().home_rad;
    sizes();
    hints();
    at_home(0);
    at_home(2);
    at_home(1);
    full();
    cpus();
    inherited(argv[0]);
    return tap_done();
}
