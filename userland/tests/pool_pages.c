// TAP
// RUN: --smp 2 -m 256M --set PAGEDYN=8388608 --set PQL_DJTQUOTA=16777216
/*
 * Pages of paged pool that are freed and later replaced by other pages: a CPU that has read the old
 * pages, and has not switched address spaces since, must read the new pages. One process defines
 * logical names that are large enough to take whole pages, and replaces them. Another process of
 * its job reads them on another CPU, and waits by polling memory, so that only the kernel's
 * requests invalidate that CPU's translation buffer. Runs without POOLCHECK, which keeps the pages
 * of free blocks.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <sched.h>
#include <ssdef.h>
#include <starlet.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>

#define NAMES        48
#define TRANSLATIONS 100 /* of 255 bytes each: more than three pages for a name */
#define ROUNDS       3
#define FILL         (8UL << 20)

static struct dsc$descriptor_s table = {7, DSC$K_DTYPE_T, DSC$K_CLASS_S, "LNM$JOB"};
static volatile int *step; /* 2n + 1: the n-th names are defined; 2n + 2: they were read */

static struct dsc$descriptor_s name_of(unsigned n)
{
    static char text[16];
    int length = snprintf(text, sizeof(text), "PAGES_%u", n);

    return (struct dsc$descriptor_s){(unsigned short)length, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
}

static void to_cpu(int n)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(n, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        bail_out("CPU %d", n);
}

static int letter(unsigned round, unsigned n) { return 'A' + (int)((7 * round + n) % 26); }

/* Returns how many of the names could not be defined. */
static unsigned define(unsigned round)
{
    static ILE3 items[TRANSLATIONS + 1];
    unsigned wrong = 0;
    char text[255];

    for (unsigned i = 0; i < TRANSLATIONS; i++)
        items[i] = (ILE3){sizeof(text), LNM$_STRING, text, NULL};
    for (unsigned n = 0; n < NAMES; n++) {
        struct dsc$descriptor_s name = name_of(n);

        memset(text, letter(round, n), sizeof(text));
        wrong += sys$crelnm(NULL, &table, &name, NULL, items) != SS$_NORMAL;
    }
    return wrong;
}

static unsigned delete(void)
{
    unsigned wrong = 0;

    for (unsigned n = 0; n < NAMES; n++) {
        struct dsc$descriptor_s name = name_of(n);

        wrong += sys$dellnm(&table, &name, NULL) != SS$_NORMAL;
    }
    return wrong;
}

/* Returns how many translations are wrong. Checks some of each page. */
static unsigned read_all(unsigned round)
{
    unsigned wrong = 0;

    for (unsigned n = 0; n < NAMES; n++)
        for (unsigned index = 0; index < TRANSLATIONS; index += 9) {
            struct dsc$descriptor_s name = name_of(n);
            unsigned short length = 0;
            char text[255] = "";
            ILE3 items[] = {{4, LNM$_INDEX, &index, NULL}, {255, LNM$_STRING, text, &length}, {0}};
            int bad = sys$trnlnm(NULL, &table, &name, NULL, items) != SS$_NORMAL || length != 255;

            for (unsigned i = 0; i < sizeof(text); i++)
                bad |= text[i] != letter(round, n);
            wrong += (unsigned)bad;
        }
    return wrong;
}

static void reader(void)
{
    unsigned wrong = 0;

    to_cpu(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        while (*step != (int)(2 * round + 1))
            ;
        wrong += read_all(round);
        *step = (int)(2 * round + 2);
    }
    _exit(wrong ? 1 : 0);
}

static uint64_t present(void)
{
    struct mega_pool p = {0};

    mega$info(MEGA_INFO_POOL, 1, &p, sizeof(p));
    return p.pages;
}

int main(void)
{
    char *others = mmap(0, ROUNDS * FILL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
    unsigned wrong;
    pid_t pid;
    int how;

    step = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *step = 0;
    is(define(0), 0, "%u names of %u translations are defined", NAMES, TRANSLATIONS);
    pid = fork();
    if (pid == 0)
        reader();
    to_cpu(0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t before = present();

        *step = (int)(2 * round + 1);
        while (*step != (int)(2 * round + 2))
            ;
        if (round + 1 == ROUNDS)
            break;
        wrong = delete ();
        ok(wrong == 0 && present() + 100 < before, "the names are deleted, and %lu pages are freed",
           before - present());
        /* The frames get other owners. */
        memset(others + round * FILL, 0x5A, FILL);
        is(define(round + 1), 0, "new names are defined");
    }
    ok(waitpid(pid, &how, 0) == pid && how == 0, "another CPU has always read the current names");
    is(delete (), 0, "all names are deleted");
    return tap_done();
}
