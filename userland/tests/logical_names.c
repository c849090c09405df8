// TAP
// RUN: --set PAGEDYN=1048576
/*
 * Logical names: $CRELNM, $TRNLNM, $DELLNM, $CRELNT. Tables of process, job, group and system,
 * search lists, access modes, quotas, what a fork and a session get, GBL$ names of sections, bad
 * item lists and bad pointers; every condition value of the four services.
 */
#include "tap.h"

#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <prvdef.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <vadef.h>

#define MIB (1ul << 20)

static unsigned char kernel = PSL$C_KERNEL, super = PSL$C_SUPER, user = PSL$C_USER;

static struct dsc$descriptor_s str(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

#define D(s) (&(struct dsc$descriptor_s[1]){str(s)}[0])

/* Define name as up to three strings. */
static int define(const char *table, const char *name, unsigned char *mode, const char *a,
                  const char *b, const char *c)
{
    ILE3 items[4] = {{0}};
    unsigned n = 0;

    for (const char *s[] = {a, b, c}; n < 3 && s[n]; n++)
        items[n] = (ILE3){(unsigned short)strlen(s[n]), LNM$_STRING, (void *)s[n], NULL};
    return sys$crelnm(NULL, D(table), D(name), mode, items);
}

static char text[256], in_table[32];
static unsigned attributes;
static int max_index;
static unsigned char mode_found;

/* Translate index of a name into `text` and the rest. */
static int translate(const char *table, const char *name, unsigned flags, unsigned index)
{
    unsigned short text_length = 0, table_length = 0;
    ILE3 items[] = {{4, LNM$_INDEX, &index, NULL},
                    {255, LNM$_STRING, text, &text_length},
                    {4, LNM$_ATTRIBUTES, &attributes, NULL},
                    {31, LNM$_TABLE, in_table, &table_length},
                    {4, LNM$_MAX_INDEX, &max_index, NULL},
                    {1, LNM$_ACMODE, &mode_found, NULL},
                    {0}};
    int status = sys$trnlnm(&flags, D(table), D(name), NULL, items);

    text[text_length] = in_table[table_length] = '\0';
    return status;
}

static int reads(const char *table, const char *name, const char *want)
{
    return (translate(table, name, 0, 0) & 1) && strcmp(text, want) == 0;
}

static void names(void)
{
    is_status(define("LNM$PROCESS", "APPLE", NULL, "red", "green", NULL), SS$_NORMAL, "a name");
    is_status(translate("LNM$PROCESS", "APPLE", 0, 0), SS$_NORMAL, "is found");
    ok(strcmp(text, "red") == 0 && strcmp(in_table, "LNM$PROCESS_TABLE") == 0 && max_index == 1 &&
           mode_found == PSL$C_USER && (attributes & LNM$M_EXISTS),
       "with string, table, index, mode, attributes");
    translate("LNM$PROCESS", "APPLE", 0, 1);
    ok(strcmp(text, "green") == 0, "and its second translation");
    is_status(translate("LNM$PROCESS", "APPLE", 0, 2), SS$_NORMAL, "an index too many is no error");
    ok(!(attributes & LNM$M_EXISTS) && text[0] == '\0', "but does not exist");
    is_status(translate("LNM$PROCESS", "apple", 0, 0), SS$_NOLOGNAM, "case counts");
    is_status(translate("LNM$PROCESS", "apple", LNM$M_CASE_BLIND, 0), SS$_NORMAL,
              "unless it is said not to");
    is_status(define("LNM$PROCESS", "APPLE", NULL, "yellow", NULL, NULL), SS$_SUPERSEDE,
              "a second definition replaces the first");
    ok(reads("LNM$FILE_DEV", "APPLE", "yellow"), "and is found through the search list");

    unsigned create_if = LNM$M_CREATE_IF;
    ILE3 item[] = {{4, LNM$_STRING, "blue", NULL}, {0}};

    is_status(sys$crelnm(&create_if, D("LNM$PROCESS"), D("APPLE"), NULL, item), SS$_NORMAL,
              "create-if keeps what is there");
    ok(reads("LNM$PROCESS", "APPLE", "yellow"), "as it was");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("APPLE"), NULL), SS$_NORMAL, "a name is deleted");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("APPLE"), NULL), SS$_NOLOGNAM, "once");
    is_status(sys$crelnm(NULL, D("LNM$PROCESS"), D("EMPTY"), NULL, NULL), SS$_NORMAL,
              "a name may stand for nothing");
    is_status(translate("LNM$PROCESS", "EMPTY", 0, 0), SS$_NORMAL, "and is found");
    ok(max_index == -1, "without any translation");
    is_status(sys$dellnm(D("LNM$PROCESS"), NULL, NULL), SS$_NORMAL, "all names go at once");
    is_status(translate("LNM$PROCESS", "EMPTY", 0, 0), SS$_NOLOGNAM, "and are gone");
}

static void items(void)
{
    unsigned concealed = LNM$M_CONCEALED | LNM$M_TERMINAL, none = 0, index = 5, big = 128;
    char where[31];
    unsigned short where_length = 0;
    ILE3 rest[] = {{4, LNM$_ATTRIBUTES, &none, NULL},
                   {3, LNM$_STRING, "two", NULL},
                   {31, LNM$_TABLE, where, &where_length},
                   {0}};
    ILE3 list[] = {{4, LNM$_ATTRIBUTES, &concealed, NULL},
                   {3, LNM$_STRING, "one", NULL},
                   {4, LNM$_INDEX, &index, NULL},
                   {0, (unsigned short)LNM$_CHAIN, rest, NULL}};
    ILEB_64 wide[] = {{1, LNM$_STRING, -1, 4, "wide", NULL}, {0}};

    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, list), SS$_NORMAL,
              "attributes, indexes and chained lists");
    ok(where_length == 16 && memcmp(where, "LNM$JOB_", 8) == 0, "the table's name comes back");
    translate("LNM$JOB", "ITEMS", 0, 0);
    ok(strcmp(text, "one") == 0 && (attributes & concealed) == concealed && max_index == 5,
       "the first translation has its attributes");
    translate("LNM$JOB", "ITEMS", 0, 5);
    ok(strcmp(text, "two") == 0 && !(attributes & concealed), "the second is at index 5");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, wide), SS$_SUPERSEDE,
              "lists of the 64-bit form");
    ok(reads("LNM$JOB", "ITEMS", "wide"), "work alike");

    char shorter[3] = "";
    unsigned length = 0;
    unsigned short got = 0;
    ILE3 cut[] = {{2, LNM$_STRING, shorter, &got}, {4, LNM$_LENGTH, &length, NULL}, {0}};

    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, cut), SS$_BUFFEROVF,
              "a short buffer");
    ok(got == 2 && memcmp(shorter, "wi", 3) == 0 && length == 4, "gets what fits and the length");

    ILE3 bad_code[] = {{4, LNM$_PARENT, &none, NULL}, {0}};
    ILE3 bad_index[] = {{4, LNM$_INDEX, &big, NULL}, {0}};
    ILE3 bad_size[] = {{2, LNM$_INDEX, &index, NULL}, {0}};
    ILE3 bad_attr[] = {{4, LNM$_ATTRIBUTES, &big, NULL}, {0}};
    ILE3 bad_buffer[] = {{4, LNM$_STRING, (void *)8, NULL}, {0}};
    ILE3 bad_chain[] = {{0, (unsigned short)LNM$_CHAIN, (void *)16, NULL}};
    ILE3 circle[] = {{4, LNM$_LENGTH, &length, NULL}, {0, (unsigned short)LNM$_CHAIN, NULL, NULL}};
    unsigned bad_flags = 0x40;

    circle[1].ile3$ps_bufaddr = circle;
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_code), SS$_BADPARAM, "a bad code");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, bad_code), SS$_BADPARAM, "here too");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_index), SS$_BADPARAM, "index 128");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_size), SS$_BADPARAM, "short index");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_attr), SS$_BADPARAM, "attributes");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_buffer), SS$_ACCVIO, "no string");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, bad_buffer), SS$_ACCVIO,
              "no buffer to write");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_chain), SS$_ACCVIO, "no list there");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, circle), SS$_BADPARAM,
              "a list that never ends");
    is_status(sys$crelnm(&bad_flags, D("LNM$JOB"), D("X"), NULL, NULL), SS$_BADPARAM, "flags");
    is_status(sys$trnlnm(&bad_flags, D("LNM$JOB"), D("X"), NULL, NULL), SS$_BADPARAM, "flags");
    is_status(sys$crelnm((void *)8, D("LNM$JOB"), D("X"), NULL, NULL), SS$_ACCVIO, "no flags");
    is_status(sys$trnlnm(NULL, (void *)8, D("X"), NULL, NULL), SS$_ACCVIO, "no table name");
    is_status(sys$dellnm((void *)8, D("X"), NULL), SS$_ACCVIO, "no table name");
    is_status(translate("LNM$JOB", "X", 0, 0), SS$_NOLOGNAM, "nothing of all that was defined");

    char longest[257];

    memset(longest, 'L', 256);
    longest[256] = '\0';
    is_status(define("LNM$JOB", longest, NULL, "x", NULL, NULL), SS$_IVLOGNAM, "256 characters");
    is_status(sys$dellnm(D("LNM$JOB"), D(longest), NULL), SS$_IVLOGNAM, "are too many");
    is_status(translate("LNM$JOB", longest, 0, 0), SS$_IVLOGNAM, "for a name");
    is_status(translate(longest, "X", 0, 0), SS$_IVLOGTAB, "and for a table's");
    is_status(define(longest, "X", NULL, "x", NULL, NULL), SS$_IVLOGTAB, "in any service");
    is_status(sys$dellnm(D(longest), D("X"), NULL), SS$_IVLOGTAB, "of them");
    longest[255] = '\0';
    is_status(define("LNM$JOB", longest, NULL, longest, longest, longest), SS$_NORMAL,
              "255 are not");
    ok(reads("LNM$JOB", longest, longest), "neither in a translation");
    is_status(sys$dellnm(D("LNM$JOB"), NULL, NULL), SS$_NORMAL, "away with it");
    is_status(define("NOWHERE", "X", NULL, "x", NULL, NULL), SS$_NOLOGTAB, "a table that is not");
    is_status(sys$dellnm(D("NOWHERE"), D("X"), NULL), SS$_NOLOGTAB, "there");
    is_status(translate("NOWHERE", "X", 0, 0), SS$_IVLOGTAB, "has no names");
}

static void modes(void)
{
    unsigned no_alias = LNM$M_NO_ALIAS;
    unsigned char bad = 4;
    ILE3 item[] = {{2, LNM$_STRING, "na", NULL}, {0}};

    is_status(define("LNM$PROCESS", "M", &super, "inner", NULL, NULL), SS$_NORMAL, "supervisor");
    is_status(define("LNM$PROCESS", "M", &user, "outer", NULL, NULL), SS$_NORMAL,
              "and user mode side by side");
    ok(reads("LNM$PROCESS", "M", "outer"), "the outer one hides the inner");

    unsigned short n = 0;
    ILE3 want[] = {{255, LNM$_STRING, text, &n}, {0}};

    is_status(sys$trnlnm(NULL, D("LNM$PROCESS"), D("M"), &super, want), SS$_NORMAL, "asked for");
    ok(n == 5 && memcmp(text, "inner", 5) == 0, "the inner one is found");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &user), SS$_NORMAL, "user mode goes");
    ok(reads("LNM$PROCESS", "M", "inner"), "supervisor mode stays");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &user), SS$_NOLOGNAM, "as long as only user");
    is_status(sys$crelnm(&no_alias, D("LNM$PROCESS"), D("M"), &super, item), SS$_SUPERSEDE,
              "a name without alias");
    is_status(define("LNM$PROCESS", "M", &user, "x", NULL, NULL), SS$_DUPLNAM, "allows no outer");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &super), SS$_NORMAL, "mode is deleted");
    define("LNM$PROCESS", "M", &user, "x", NULL, NULL);
    is_status(sys$crelnm(&no_alias, D("LNM$PROCESS"), D("M"), &super, item), SS$_NORMAL,
              "one that comes later");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &user), SS$_NOLOGNAM, "removes outer ones");
    sys$dellnm(D("LNM$PROCESS"), NULL, &super);
    is_status(define("LNM$PROCESS", "M", &bad, "x", NULL, NULL), SS$_IVACMODE, "mode 4");
    is_status(sys$trnlnm(NULL, D("LNM$PROCESS"), D("M"), &bad, NULL), SS$_IVACMODE, "is none");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &bad), SS$_IVACMODE, "anywhere");
}

static int create_table(const char *name, const char *parent, unsigned flags, unsigned quota)
{
    unsigned short protection = 0xFF00;

    return sys$crelnt(&flags, NULL, NULL, quota ? &quota : NULL, &protection, name ? D(name) : NULL,
                      D(parent), NULL);
}

static void tables(void)
{
    char made[31], tight[4];
    struct dsc$descriptor_s result = {sizeof(made), DSC$K_DTYPE_T, DSC$K_CLASS_S, made};
    struct dsc$descriptor_s small = {sizeof(tight), DSC$K_DTYPE_T, DSC$K_CLASS_S, tight};
    unsigned short n = 0;

    is_status(create_table("MINE", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_LNMCREATED, "a table");
    is_status(define("MINE", "A", NULL, "a", NULL, NULL), SS$_NORMAL, "takes names");
    is_status(create_table("MINE", "LNM$PROCESS_DIRECTORY", LNM$M_CREATE_IF, 0), SS$_NORMAL,
              "is kept by create-if");
    ok(reads("MINE", "A", "a"), "with its names");
    is_status(create_table("MINE", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_SUPERSEDE, "is superseded");
    is_status(translate("MINE", "A", 0, 0), SS$_NOLOGNAM, "and empty then");
    is_status(create_table("BELOW", "MINE", 0, 0), SS$_LNMCREATED, "a table below it");
    is_status(create_table("MINE", "BELOW", 0, 0), SS$_PARENT_DEL,
              "that would go with what it supersedes");
    is_status(define("LNM$PROCESS_DIRECTORY", "BOTH", &super, "BELOW", "MINE", NULL), SS$_NORMAL,
              "a search list");
    define("MINE", "B", NULL, "b", NULL, NULL);
    ok(reads("BOTH", "B", "b"), "is searched to its end");
    define("BELOW", "B", NULL, "first", NULL, NULL);
    ok(reads("BOTH", "B", "first"), "in its order");
    define("LNM$PROCESS_DIRECTORY", "LOOP", &super, "LOOP", NULL, NULL);
    is_status(translate("LOOP", "B", 0, 0), SS$_TOOMANYLNAM, "a list of itself");
    is_status(define("LOOP", "B", NULL, "x", NULL, NULL), SS$_TOOMANYLNAM, "has no end");
    is_status(sys$dellnm(D("LOOP"), D("B"), NULL), SS$_TOOMANYLNAM, "for any");
    is_status(create_table("X", "LOOP", 0, 0), SS$_TOOMANYLNAM, "service");
    is_status(sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D("MINE"), NULL), SS$_NORMAL,
              "a table's name is deleted");
    is_status(translate("BELOW", "B", 0, 0), SS$_IVLOGTAB, "and what was below it is gone as well");
    is_status(create_table("SMALL", "LNM$PROCESS_DIRECTORY", 0, 300), SS$_LNMCREATED,
              "a table of 300 bytes");
    is_status(define("SMALL", "1", NULL, "1", NULL, NULL), SS$_NORMAL, "has room for some");
    is_status(define("SMALL", "2", NULL, "2", NULL, NULL), SS$_NORMAL, "names");
    is_status(define("SMALL", "3", NULL, "333333333333333333333333333333333",
                     "33333333333333333333333333333333333333",
                     "33333333333333333333333333333333333333333333"),
              SS$_EXLNMQUOTA, "and no more");
    is_status(define("SMALL", "1", NULL, "one", NULL, NULL), SS$_SUPERSEDE, "but replaces one");
    is_status(create_table("SUB", "SMALL", 0, 400), SS$_EXLNMQUOTA, "nor for a table of 400");
    sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D("SMALL"), NULL);
    is_status(create_table("no good", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_IVLOGNAM, "a blank");
    is_status(create_table("X", "NOWHERE", 0, 0), SS$_NOLOGTAB, "no parent");
    is_status(sys$crelnt(NULL, &result, &n, NULL, NULL, NULL, D("LNM$PROCESS_DIRECTORY"), NULL),
              SS$_LNMCREATED, "a table whose name the system makes");
    ok(n == 20 && memcmp(made, "LNM$", 4) == 0, "and tells");
    is_status(sys$crelnt(NULL, &small, &n, NULL, NULL, NULL, D("LNM$PROCESS_DIRECTORY"), NULL),
              SS$_RESULTOVF, "where there is room");
    made[n] = '\0';
    is_status(sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D(made), NULL), SS$_NORMAL, "it goes");
    is_status(define("LNM$PROCESS_DIRECTORY", "PLAIN", NULL, "MINE", NULL, NULL), SS$_NORMAL, "a");
    is_status(create_table("PLAIN", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_DUPLNAM,
              "name is not superseded by a table");
    is_status(sys$crelnt(NULL, NULL, NULL, NULL, NULL, D("X"), D(""), NULL), SS$_IVLOGTAB,
              "a parent without name");
    is_status(sys$crelnt((void *)8, NULL, NULL, NULL, NULL, D("X"), D("LNM$JOB"), NULL), SS$_ACCVIO,
              "bad pointers");
    is_status(sys$crelnt(NULL, NULL, (void *)8, NULL, NULL, D("X"), D("LNM$JOB"), NULL), SS$_ACCVIO,
              "of all kinds");

    unsigned bad_flags = 0x100, fine = 0;
    unsigned char bad_mode = 9;

    is_status(sys$crelnt(&bad_flags, NULL, NULL, NULL, NULL, D("X"), D("LNM$JOB"), NULL),
              SS$_BADPARAM, "flags");
    is_status(sys$crelnt(&fine, NULL, NULL, NULL, NULL, D("X"), D("LNM$JOB"), &bad_mode),
              SS$_IVACMODE, "mode");
    is_status(sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D("LNM$PROCESS_TABLE"), &kernel), SS$_NOPRIV,
              "the process's own table stays");
    is_status(define("LNM$PROCESS_DIRECTORY", "A_NAME_THAT_IS_LONGER_THAN_31_CHARACTERS", NULL, "X",
                     NULL, NULL),
              SS$_IVLOGNAM, "no table has such a name");
    sys$dellnm(D("LNM$PROCESS_DIRECTORY"), NULL, &super);
}

/* Run in a child; its status is that of the parent's test. */
static int in_child(int (*fn)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int child_sees_all(void)
{
    return !(reads("LNM$PROCESS", "PRIVATE", "p") && reads("LNM$JOB", "OURS", "j") &&
             reads("LNM$SYSTEM", "EVERYBODY", "s"));
}

static int child_changes(void)
{
    define("LNM$PROCESS", "PRIVATE", NULL, "changed", NULL, NULL);
    define("LNM$JOB", "OURS", NULL, "changed", NULL, NULL);
    return 0;
}

static int other_session(void)
{
    if (setsid() < 0)
        return 2;
    if (translate("LNM$JOB", "OURS", 0, 0) != SS$_NOLOGNAM)
        return 3;
    define("LNM$JOB", "THEIRS", NULL, "t", NULL, NULL);
    return !(reads("LNM$JOB", "THEIRS", "t") && reads("LNM$PROCESS", "PRIVATE", "p"));
}

/* Group 0300, member 5, no privileges. */
static int other_user(void)
{
    if (setgid(0300) || setuid(5))
        return 2;
    if (!status_is(define("LNM$SYSTEM", "X", NULL, "x", NULL, NULL), SS$_NOPRIV) ||
        !status_is(sys$dellnm(D("LNM$SYSTEM"), D("EVERYBODY"), NULL), SS$_NOPRIV) ||
        !status_is(create_table("WORLD", "LNM$SYSTEM_DIRECTORY", 0, 0), SS$_NOPRIV))
        return 3;
    if (!status_is(translate("LNM$JOB_PRIVATE", "X", 0, 0), SS$_NOPRIV))
        return 4;
    if (!reads("LNM$SYSTEM", "EVERYBODY", "s"))
        return 5;
    if (translate("LNM$GROUP", "G", 0, 0) != SS$_NOLOGNAM)
        return 6;
    /* Inner modes are not for everybody. */
    define("LNM$PROCESS", "K", &kernel, "k", NULL, NULL);
    translate("LNM$PROCESS", "K", 0, 0);
    return mode_found == PSL$C_SUPER ? 0 : 7;
}

static void sharing(void)
{
    define("LNM$PROCESS", "PRIVATE", NULL, "p", NULL, NULL);
    define("LNM$JOB", "OURS", NULL, "j", NULL, NULL);
    is_status(define("LNM$GROUP", "G", NULL, "g", NULL, NULL), SS$_NORMAL, "a group name");
    is_status(define("LNM$SYSTEM", "EVERYBODY", NULL, "s", NULL, NULL), SS$_NORMAL,
              "a system name");
    is_status(create_table("LNM$JOB_PRIVATE", "LNM$SYSTEM_DIRECTORY", 0, 0), SS$_LNMCREATED,
              "a shareable table for its owner only");
    is(in_child(child_sees_all), 0, "a child sees private, job and system names");
    is(in_child(child_changes), 0, "and changes them");
    ok(reads("LNM$PROCESS", "PRIVATE", "p"), "its private ones are its own");
    ok(reads("LNM$JOB", "OURS", "changed"), "the job's are everybody's in the job");
    is(in_child(other_session), 0, "a new session is a new job");
    is(in_child(other_user), 0, "another user reads what he may");
    sys$dellnm(D("LNM$SYSTEM_DIRECTORY"), D("LNM$JOB_PRIVATE"), NULL);
    sys$dellnm(D("LNM$SYSTEM"), NULL, NULL);
    sys$dellnm(D("LNM$GROUP"), NULL, NULL);
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
    sys$dellnm(D("LNM$PROCESS"), NULL, NULL);
}

/* Every service that takes a section's name answers `want`. */
static void section_services(struct dsc64$descriptor_s *d, struct _generic_64 *region, int want)
{
    const unsigned flags = SEC$M_WRT | SEC$M_EXPREG;
    unsigned __int64 length;
    void *va;

    is_status(sys$create_gdzro(d, NULL, 0, 8 * MIB, PSL$C_USER, 0), want, "$create_gdzro");
    is_status(sys$crmpsc_gdzro_64(d, NULL, 0, 8 * MIB, region, 0, PSL$C_USER, flags, &va, &length),
              want, "$crmpsc_gdzro_64");
    is_status(sys$mgblsc_64(d, NULL, region, 0, 0, PSL$C_USER, flags, &va, &length), want,
              "$mgblsc_64");
    is_status(sys$create_gpfile(d, NULL, 0, 8 * MIB, PSL$C_USER, 0), want, "$create_gpfile");
    is_status(sys$crmpsc_gpfile_64(d, NULL, 0, 8 * MIB, region, 0, PSL$C_USER, flags, &va, &length),
              want, "$crmpsc_gpfile_64");
    is_status(sys$create_gpfn(d, NULL, 0, 1, 1, PSL$C_USER, 0), want, "$create_gpfn");
    is_status(sys$crmpsc_gpfn_64(d, NULL, 0, 1, 1, region, 0, PSL$C_USER, flags, &va, &length),
              want, "$crmpsc_gpfn_64");
    is_status(sys$mgblsc_gpfn_64(d, NULL, region, 0, 0, PSL$C_USER, flags, &va, &length), want,
              "$mgblsc_gpfn_64");
    is_status(sys$dgblsc(0, d, NULL), want, "$dgblsc");
}

static void section_names(void)
{
    struct dsc64$descriptor_s d = {1, DSC64$K_DTYPE_T, DSC64$K_CLASS_S, -1, 5, "SHORT"};
    struct mega_section s;
    struct _generic_64 region;
    void *va;
    unsigned __int64 length;

    define("LNM$JOB", "GBL$SHORT", NULL, "MIDDLE", NULL, NULL);
    define("LNM$JOB", "GBL$MIDDLE", NULL, "THE_REAL_NAME", NULL, NULL);
    sys$create_region_64(8 * MIB, VA$C_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va, &length);
    ok(sys$crmpsc_gdzro_64(&d, NULL, 0, 8 * MIB, &region, 0, PSL$C_USER, SEC$M_WRT | SEC$M_EXPREG,
                           &va, &length) &
           1,
       "a section by a logical name");
    ok((mega$info(MEGA_INFO_SECTION, 0, &s, sizeof(s)) & 1) && !strcmp(s.name, "THE_REAL_NAME"),
       "has the name that it stands for");
    define("LNM$JOB", "GBL$MIDDLE", NULL, "SHORT", NULL, NULL);
    section_services(&d, &region, SS$_TOOMANYLNAM);
    define("LNM$JOB", "GBL$SHORT", NULL, "NOT:GOOD", NULL, NULL);
    section_services(&d, &region, SS$_IVLOGNAM);
    sys$delete_region_64(&region, PSL$C_USER, &va, &length);
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
}

/* Many names, made and deleted in random order, all found in between; pool as before at the end. */
static void many(void)
{
    enum { NAMES = 3000 };
    static unsigned char there[NAMES];
    struct mega_pool before, after;
    unsigned seed = 12345, wrong = 0;
    char name[16], value[64];

    define("LNM$JOB", "FIRST", NULL, "x", NULL, NULL);
    mega$info(MEGA_INFO_POOL, 1, &before, sizeof(before));
    for (unsigned i = 0; i < 4 * NAMES; i++) {
        unsigned which;

        seed = seed * 1103515245 + 12345;
        which = (seed >> 8) % NAMES;
        snprintf(name, sizeof(name), "NAME_%u", which);
        snprintf(value, sizeof(value), "%0*u", (int)(which % 50) + 1, which);
        if (there[which])
            wrong += !reads("LNM$JOB", name, value) ||
                     sys$dellnm(D("LNM$JOB"), D(name), NULL) != SS$_NORMAL;
        else
            wrong += define("LNM$JOB", name, NULL, value, NULL, NULL) != SS$_NORMAL;
        there[which] ^= 1;
    }
    is(wrong, 0, "12,000 names are made, found and deleted");
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "NAME_%u", i);
        wrong += (translate("LNM$JOB", name, 0, 0) == SS$_NORMAL) != there[i];
    }
    is(wrong, 0, "and those that should be there are");
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "NAME_%u", i);
        if (there[i])
            sys$dellnm(D("LNM$JOB"), D(name), NULL);
    }
    mega$info(MEGA_INFO_POOL, 1, &after, sizeof(after));
    is(after.in_use, before.in_use, "paged pool is as it was");
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
}

/* A process of a job that has no table yet, and paged pool is full. */
static int first_use_without_pool(void)
{
    if (setsid() < 0)
        return 2;
    return !(status_is(translate("LNM$JOB", "X", 0, 0), SS$_INSFMEM) &&
             status_is(sys$dellnm(D("LNM$JOB"), D("X"), NULL), SS$_INSFMEM));
}

/* Fill paged pool: every service that needs some says so, and works again when there is some. */
static void full(void)
{
    char name[16], value[241];
    unsigned n = 0;
    int status, child;
    pid_t pid;
    int go[2];
    char byte;

    memset(value, 'v', 240);
    value[240] = '\0';
    /* The child is made before: a fork copies names, which takes pool too. */
    if (pipe(go) || (pid = fork()) < 0)
        bail_out("no child");
    if (pid == 0) {
        if (read(go[0], &byte, 1) != 1)
            _exit(3);
        _exit(first_use_without_pool());
    }
    do
        snprintf(name, sizeof(name), "FULL_%u", n++);
    while ((status = define("LNM$JOB", name, NULL, value, value, value)) == SS$_NORMAL);
    do
        snprintf(name, sizeof(name), "FULL_%u", n++);
    while (define("LNM$JOB", name, NULL, "v", NULL, NULL) == SS$_NORMAL);
    is_status(define("LNM$JOB", name, NULL, "v", NULL, NULL), SS$_INSFMEM,
              "after %u names paged pool is full", n);
    is_status(create_table("NO_ROOM", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_INSFMEM,
              "there is no table then");
    is(write(go[1], "g", 1), 1, "a process that uses names for the first time");
    ok(waitpid(pid, &child, 0) == pid && WIFEXITED(child) && WEXITSTATUS(child) == 0,
       "is told so too");
    ok(reads("LNM$JOB", "FULL_0", value), "what is there is found");
    is_status(sys$dellnm(D("LNM$JOB"), D("FULL_0"), NULL), SS$_NORMAL, "one name less");
    is_status(define("LNM$JOB", name, NULL, "v", NULL, NULL), SS$_NORMAL, "makes room");
    is_status(sys$dellnm(D("LNM$JOB"), NULL, NULL), SS$_NORMAL, "all of them go");
    close(go[0]);
    close(go[1]);
}

int main(void)
{
    names();
    items();
    modes();
    tables();
    sharing();
    section_names();
    many();
    full();
    return tap_done();
}
