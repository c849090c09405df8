// TAP
/*
 * Logical names: rules beyond the plain use of the services. How long the tables of jobs and groups
 * live, what the death of a process frees, which names a fork copies, how far a search and the name
 * of a section are followed, unusual item lists, and many processes that use names at the same time
 * and are killed meanwhile. logical_names.c tests the plain use.
 */
#include "tap.h"

#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <psldef.h>
#include <secdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <sys/wait.h>
#include <time.h>
#include <vadef.h>

static unsigned char kernel = PSL$C_KERNEL, super = PSL$C_SUPER, user = PSL$C_USER;

static struct dsc$descriptor_s str(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}
#define D(s) (&(struct dsc$descriptor_s[1]){str(s)}[0])

static int define(const char *table, const char *name, unsigned flags, unsigned char *mode,
                  const char *value)
{
    ILE3 items[] = {{(unsigned short)strlen(value), LNM$_STRING, (void *)value, NULL}, {0}};

    return sys$crelnm(&flags, D(table), D(name), mode, items);
}

static int there(const char *table, const char *name)
{
    return sys$trnlnm(NULL, D(table), D(name), NULL, NULL);
}

static int table(const char *name, const char *parent, unsigned flags, unsigned char *mode)
{
    return sys$crelnt(&flags, NULL, NULL, NULL, NULL, D(name), D(parent), mode);
}

static uint64_t paged_bytes(void)
{
    struct mega_pool p = {.in_use = 0};

    mega$info(MEGA_INFO_POOL, 1, &p, sizeof(p));
    return p.in_use;
}

/* Run fn in a child. Returns its exit status, which is 0 if it found what it should. */
static int in_child(int (*fn)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- item lists ---- */

static void items(void)
{
    unsigned zero = 0, five = 5;
    char where[4];
    unsigned short got = 0;
    ILE3 twice[] = {{4, LNM$_INDEX, &five, NULL},
                    {1, LNM$_STRING, "a", NULL},
                    {4, LNM$_INDEX, &five, NULL},
                    {1, LNM$_STRING, "b", NULL},
                    {0}};
    ILE3 down[] = {{4, LNM$_INDEX, &five, NULL},
                   {1, LNM$_STRING, "a", NULL},
                   {4, LNM$_INDEX, &zero, NULL},
                   {1, LNM$_STRING, "b", NULL},
                   {0}};
    ILE3 narrow[] = {{1, LNM$_STRING, "a", NULL}, {sizeof(where), LNM$_TABLE, where, &got}, {0}};
    ILEB_64 huge[] = {
        {1, LNM$_STRING, -1, 1, "a", NULL}, {1, LNM$_STRING, -1, 1ul << 40, "a", NULL}, {0}};
    ILEB_64 huge_buffer[] = {{1, LNM$_STRING, -1, sizeof(where), where, NULL},
                             {1, LNM$_STRING, -1, 1ul << 40, where, NULL},
                             {0}};
    ILE3 many[130] = {{0}};
    unsigned length;
    ILE3 want[] = {{4, LNM$_INDEX, &five, NULL}, {4, LNM$_LENGTH, &length, NULL}, {0}};

    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("R"), NULL, twice), SS$_BADPARAM,
              "an index that is given twice is refused");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("R"), NULL, down), SS$_NORMAL,
              "indexes in any order are accepted");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("R"), NULL, want), SS$_NORMAL,
              "$TRNLNM accepts them, too");
    is(length, 1, "the lengths of the strings are returned");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("R"), NULL, narrow), SS$_BUFFEROVF,
              "a buffer too short for the table's name is accepted");
    ok(got == 4 && !memcmp(where, "LNM$", 4) && (there("LNM$JOB", "R") & 1),
       "it gets the first bytes of the name");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("R"), NULL, huge), SS$_BADPARAM,
              "a string longer than the maximum is refused");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("R"), NULL, huge_buffer), SS$_BADPARAM,
              "a buffer longer than the maximum is refused");
    for (int i = 0; i < 129; i++)
        many[i] = (ILE3){1, LNM$_STRING, "m", NULL};
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("R"), NULL, many), SS$_BADPARAM,
              "129 strings are refused");
    many[128] = (ILE3){0};
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("R"), NULL, many), SS$_SUPERSEDE,
              "128 strings are accepted");
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
}

/* ---- modes and names that cannot be used ---- */

static void refusals(void)
{
    is_status(table("OUTER", "LNM$PROCESS_DIRECTORY", 0, &user), SS$_LNMCREATED,
              "a table is created in user mode");
    is_status(define("OUTER", "X", 0, &super, "x"), SS$_IVLOGTAB,
              "an inner mode cannot define a name in it");
    is_status(table("INNER", "OUTER", 0, &super), SS$_NOPRIV,
              "an inner mode cannot create a table below it");
    is_status(table("LNM$JOB_00ABCDEF", "LNM$SYSTEM_DIRECTORY", 0, &kernel), SS$_DUPLNAM,
              "a table with the name of a job's table cannot be created");
    is_status(define("LNM$SYSTEM_DIRECTORY", "LNM$GROUP_000777", 0, &kernel, "x"), SS$_DUPLNAM,
              "the name of a group's table cannot be defined");
    is_status(sys$dellnm(D("LNM$SYSTEM_DIRECTORY"), D("LNM$SYSTEM_TABLE"), &kernel), SS$_NOPRIV,
              "a table of the system cannot be deleted");
    sys$dellnm(D("LNM$PROCESS_DIRECTORY"), NULL, &user);
}

/* ---- how far names are followed ---- */

static void depth(void)
{
    char name[16], next[16] = "LNM$PROCESS";

    for (int i = 1; i <= LNM$C_MAXDEPTH; i++) { /* LNM$PROCESS counts as the first of ten */
        snprintf(name, sizeof(name), "DEPTH_%d", i);
        define("LNM$PROCESS_DIRECTORY", name, 0, &super, next);
        strcpy(next, name);
    }
    is_status(there("DEPTH_9", "X"), SS$_NOLOGNAM, "a table is found through ten names");
    is_status(there("DEPTH_10", "X"), SS$_TOOMANYLNAM, "a table is not found through eleven names");
    sys$dellnm(D("LNM$PROCESS_DIRECTORY"), NULL, &super);
}

/* $DGBLSC of a logical name. No section exists, so the value shows how far the name is
 * translated. */
static int section(const char *name)
{
    struct dsc64$descriptor_s d = {1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                   -1, strlen(name),    (char *)name};

    return sys$dgblsc(0, &d, NULL);
}

static void section_names(void)
{
    char name[16], next[16] = "REAL";
    unsigned terminal = LNM$M_TERMINAL;
    ILE3 last[] = {{4, LNM$_ATTRIBUTES, &terminal, NULL}, {4, LNM$_STRING, "BAD2", NULL}, {0}};

    for (int i = 1; i <= 11; i++) {
        snprintf(name, sizeof(name), "GBL$S%d", i);
        define("LNM$JOB", name, 0, &super, next);
        snprintf(next, sizeof(next), "S%d", i);
    }
    is_status(section("S10"), SS$_NOSUCHSEC, "the name of a section is translated ten times");
    is_status(section("S11"), SS$_TOOMANYLNAM, "it is not translated eleven times");
    define("LNM$JOB", "GBL$BAD2", 0, &super, "NO:SECTION");
    define("LNM$JOB", "GBL$BAD1", 0, &super, "BAD2");
    is_status(section("BAD1"), SS$_IVLOGNAM,
              "a bad name at the end of the translations is refused");
    sys$crelnm(NULL, D("LNM$JOB"), D("GBL$BAD1"), &super, last);
    is_status(section("BAD1"), SS$_NOSUCHSEC, "a terminal name is not translated");
    sys$dellnm(D("LNM$JOB"), NULL, &super);
}

/* ---- what a fork copies ---- */

static int without_confined(void)
{
    return !(there("LNM$PROCESS", "OPEN") == SS$_NORMAL &&
             there("LNM$PROCESS", "CONFINED") == SS$_NOLOGNAM &&
             there("T_CONFINED", "X") == SS$_IVLOGTAB && there("T_OPEN", "X") == SS$_NOLOGNAM);
}

/* In a new session, whose job has no names yet; children still get the private names. */
static int session_and_fork(void) { return setsid() < 0 || in_child(without_confined); }

static void forks(void)
{
    define("LNM$PROCESS", "OPEN", 0, NULL, "o");
    define("LNM$PROCESS", "CONFINED", LNM$M_CONFINE, NULL, "c");
    table("T_OPEN", "LNM$PROCESS_DIRECTORY", 0, NULL);
    table("T_CONFINED", "LNM$PROCESS_DIRECTORY", LNM$M_CONFINE, NULL);
    is(in_child(without_confined), 0, "a fork copies names that are not confined");
    is(in_child(session_and_fork), 0, "a fork copies them in a new session, too");
    is_status(there("LNM$PROCESS", "CONFINED"), SS$_NORMAL,
              "confined names still exist in the parent");
    sys$dellnm(D("LNM$PROCESS_DIRECTORY"), NULL, NULL);
    sys$dellnm(D("LNM$PROCESS"), NULL, NULL);
}

/* ---- lifetimes ---- */

/* A session of group 0500 that uses every kind of table. */
static int visitor(void)
{
    if (setsid() < 0 || setgid(0500) || setuid(7))
        return 2;
    if (!(define("LNM$PROCESS", "P", 0, NULL, "p") & 1) ||
        !(define("LNM$JOB", "J", 0, NULL, "j") & 1) ||
        table("T", "LNM$PROCESS_DIRECTORY", 0, NULL) != SS$_LNMCREATED)
        return 3;
    return !status_is(there("LNM$GROUP", "G"), SS$_NOLOGNAM) ||
           there("LNM$GROUP_000500", "G") != SS$_NOLOGNAM;
}

static int dies(void)
{
    int bad = visitor();

    if (!bad)
        kill(getpid(), SIGKILL);
    return bad;
}

static void lives(void)
{
    uint64_t before;

    is_status(there("LNM$JOB", "X"), SS$_NOLOGNAM, "the tables of this job and group exist");
    before = paged_bytes();
    for (int i = 0; i < 50; i++)
        if (in_child(visitor))
            ok(0, "visitor %d", i);
    is(paged_bytes(), before, "fifty sessions of another group leave no paged pool allocated");
    is_status(there("LNM$GROUP_000500", "X"), SS$_IVLOGTAB, "the table of that group is deleted");
    is(in_child(dies), -1, "a process with names is killed");
    is(paged_bytes(), before, "its names are freed");
}

/* ---- many processes at once ---- */

/* Define, translate and delete names that all other processes use, too. Exits with 1 after a result
 * that is not expected. */
static void churn(unsigned seed)
{
    char name[16], value[64];

    for (;;) {
        int status;

        seed = seed * 1103515245 + 12345;
        snprintf(name, sizeof(name), "C%u", seed >> 8 & 15);
        snprintf(value, sizeof(value), "%0*u", (int)(seed >> 12 & 31) + 1, seed >> 16);
        switch (seed >> 28 & 3) {
        case 0:
            status = sys$dellnm(D("LNM$JOB"), D(name), NULL);
            break;
        case 1:
            status = define("LNM$JOB", name, 0, NULL, value);
            break;
        case 2:
            status = table(name, "LNM$PROCESS_DIRECTORY", 0, NULL);
            break;
        default:
            status = there("LNM$FILE_DEV", name);
        }
        if (!(status & 1) && status != SS$_NOLOGNAM)
            _exit(1);
        if ((seed >> 20 & 255) == 0 && fork() == 0)
            _exit(0);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static void killed_in_the_middle(void)
{
    enum { CROWD = 6, ROUNDS = 12 };
    uint64_t before = paged_bytes();
    int wrong = 0, status;
    pid_t crowd[CROWD];

    for (int i = 0; i < CROWD; i++)
        if ((crowd[i] = fork()) == 0)
            churn((unsigned)i * 7919 + 1);
    for (int i = 0; i < ROUNDS * CROWD; i++) {
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        kill(crowd[i % CROWD], SIGKILL);
        waitpid(crowd[i % CROWD], &status, 0);
        wrong += !WIFSIGNALED(status);
        if (i < (ROUNDS - 1) * CROWD && (crowd[i % CROWD] = fork()) == 0)
            churn((unsigned)i * 104729 + 3);
    }
    is(wrong, 0, "72 processes that use the same names are killed one by one");
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
    /* Their children are still alive, and end at once. */
    for (int i = 0; i < 200 && paged_bytes() != before; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    is(paged_bytes(), before, "no paged pool of theirs stays allocated");
}

/* ---- the list of names for displays ---- */

static void lists(void)
{
    enum { NAMES = 500 };
    struct mega_logical m, other;
    char name[16];
    int n = 0, wrong = 0, status;

    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "L%d", i);
        define("LNM$JOB", name, 0, NULL, "v");
    }
    for (status = mega$logical(D("LNM$JOB"), 0, 0, &m); status & 1;
         status = mega$logical(D("LNM$JOB"), MEGA_LOGICAL_NEXT, 0, &m)) {
        snprintf(name, sizeof(name), "L%d", n++);
        wrong += strcmp(m.name, name) != 0;
        other = m;
        wrong += mega$logical(D("LNM$JOB"), MEGA_LOGICAL_SAME, 0, &other) != SS$_NORMAL ||
                 mega$logical(D("LNM$JOB"), MEGA_LOGICAL_SAME, 1, &other) != SS$_NONEXPR;
    }
    is(status, SS$_NOLOGNAM, "the list of names ends");
    is(n, NAMES, "the list has all names");
    is(wrong, 0, "the names are in order");
    m = (struct mega_logical){.name = "L7", .name_length = 2, .mode = 3};
    is(mega$logical(D("LNM$JOB"), MEGA_LOGICAL_NEXT, 0, &m), SS$_NORMAL,
       "the list can continue after any name");
    ok(strcmp(m.name, "L8") == 0, "it continues after the given name");
    m.name[1] = 'X';
    is(mega$logical(D("LNM$JOB"), MEGA_LOGICAL_NEXT, 0, &m), SS$_NONEXPR,
       "a name that does not exist is an error");
    m.name_length = 256;
    is(mega$logical(D("LNM$JOB"), MEGA_LOGICAL_NEXT, 0, &m), SS$_BADPARAM,
       "a name that is too long is refused");
    m.name_length = 2;
    m.mode = 4;
    is(mega$logical(D("LNM$JOB"), MEGA_LOGICAL_NEXT, 0, &m), SS$_BADPARAM,
       "an invalid mode is refused");
    is(mega$logical(D("LNM$JOB"), MEGA_LOGICAL_NEXT, 0, (void *)8), SS$_ACCVIO,
       "a buffer that cannot be written is refused");
    is(mega$logical(D("LNM$JOB"), -3, 0, &m), SS$_NOLOGNAM,
       "an index below the special values finds nothing");
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
}

/* Tables with quotas of their own that nobody deletes: the check for leaks, which runs when this
   program has ended, must find that the quota of each is charged to the one above. */
static void left_behind(void)
{
    unsigned outer = 4096, inner = 1024;

    is(sys$crelnt(NULL, NULL, NULL, &outer, NULL, D("LEFT_OUTER"), D("LNM$SYSTEM_DIRECTORY"), NULL),
       SS$_LNMCREATED, "a shareable table with a quota of its own stays");
    is(sys$crelnt(NULL, NULL, NULL, &inner, NULL, D("LEFT_INNER"), D("LEFT_OUTER"), NULL),
       SS$_LNMCREATED, "and one in it");
    is(define("LEFT_INNER", "LEFT_NAME", 0, NULL, "value"), SS$_NORMAL, "with a name");
}

int main(void)
{
    items();
    refusals();
    depth();
    section_names();
    forks();
    lives();
    lists();
    killed_in_the_middle();
    left_behind();
    return tap_done();
}
