// TAP
// RUN: --set PAGEDYN=1048576
/*
 * Logical names: $CRELNM, $TRNLNM, $DELLNM and $CRELNT. Tables of process, job, group and system,
 * search lists, access modes, quotas, what fork and a new session inherit, logical names (GBL$...)
 * for sections, bad item lists and bad pointers; every condition value of the four services.
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

/* Define a name with up to three strings. */
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

/* Translate a name: its string at `index` into text, other items into the other variables. */
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
    is_status(define("LNM$PROCESS", "APPLE", NULL, "red", "green", NULL), SS$_NORMAL,
              "a name with two strings is defined");
    is_status(translate("LNM$PROCESS", "APPLE", 0, 0), SS$_NORMAL, "the name is found");
    ok(strcmp(text, "red") == 0 && strcmp(in_table, "LNM$PROCESS_TABLE") == 0 && max_index == 1 &&
           mode_found == PSL$C_USER && (attributes & LNM$M_EXISTS),
       "string, table, index, mode and attributes are returned");
    translate("LNM$PROCESS", "APPLE", 0, 1);
    ok(strcmp(text, "green") == 0, "the second string is returned");
    is_status(translate("LNM$PROCESS", "APPLE", 0, 2), SS$_NORMAL,
              "an index after the last string is no error");
    ok(!(attributes & LNM$M_EXISTS) && text[0] == '\0', "LNM$M_EXISTS is not set for that index");
    is_status(translate("LNM$PROCESS", "apple", 0, 0), SS$_NOLOGNAM, "names are case-sensitive");
    is_status(translate("LNM$PROCESS", "apple", LNM$M_CASE_BLIND, 0), SS$_NORMAL,
              "LNM$M_CASE_BLIND ignores case");
    is_status(define("LNM$PROCESS", "APPLE", NULL, "yellow", NULL, NULL), SS$_SUPERSEDE,
              "a second definition replaces the first");
    ok(reads("LNM$FILE_DEV", "APPLE", "yellow"),
       "it is found through the search list LNM$FILE_DEV");

    unsigned create_if = LNM$M_CREATE_IF;
    ILE3 item[] = {{4, LNM$_STRING, "blue", NULL}, {0}};

    is_status(sys$crelnm(&create_if, D("LNM$PROCESS"), D("APPLE"), NULL, item), SS$_NORMAL,
              "create-if keeps an existing name");
    ok(reads("LNM$PROCESS", "APPLE", "yellow"), "the existing name is unchanged");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("APPLE"), NULL), SS$_NORMAL, "a name is deleted");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("APPLE"), NULL), SS$_NOLOGNAM,
              "a deleted name cannot be deleted again");
    is_status(sys$crelnm(NULL, D("LNM$PROCESS"), D("EMPTY"), NULL, NULL), SS$_NORMAL,
              "a name without strings can be defined");
    is_status(translate("LNM$PROCESS", "EMPTY", 0, 0), SS$_NORMAL,
              "a name without strings is found");
    ok(max_index == -1, "its maximum index is -1");
    is_status(sys$dellnm(D("LNM$PROCESS"), NULL, NULL), SS$_NORMAL,
              "all names of a table are deleted by one call");
    is_status(translate("LNM$PROCESS", "EMPTY", 0, 0), SS$_NOLOGNAM,
              "a name of that table is not found any more");
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
              "attributes, indexes and chained lists are accepted");
    ok(where_length == 16 && memcmp(where, "LNM$JOB_", 8) == 0,
       "the name of the table is returned");
    translate("LNM$JOB", "ITEMS", 0, 0);
    ok(strcmp(text, "one") == 0 && (attributes & concealed) == concealed && max_index == 5,
       "the first translation has its attributes");
    translate("LNM$JOB", "ITEMS", 0, 5);
    ok(strcmp(text, "two") == 0 && !(attributes & concealed), "the second string is at index 5");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, wide), SS$_SUPERSEDE,
              "a 64-bit item list is accepted");
    ok(reads("LNM$JOB", "ITEMS", "wide"), "it has the same effect");

    char shorter[3] = "";
    unsigned length = 0;
    unsigned short got = 0;
    ILE3 cut[] = {{2, LNM$_STRING, shorter, &got}, {4, LNM$_LENGTH, &length, NULL}, {0}};

    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, cut), SS$_BUFFEROVF,
              "a buffer that is too short is accepted");
    ok(got == 2 && memcmp(shorter, "wi", 3) == 0 && length == 4,
       "the buffer gets what fits, the return length is the whole length");

    ILE3 bad_code[] = {{4, LNM$_PARENT, &none, NULL}, {0}};
    ILE3 bad_index[] = {{4, LNM$_INDEX, &big, NULL}, {0}};
    ILE3 bad_size[] = {{2, LNM$_INDEX, &index, NULL}, {0}};
    ILE3 bad_attr[] = {{4, LNM$_ATTRIBUTES, &big, NULL}, {0}};
    ILE3 bad_buffer[] = {{4, LNM$_STRING, (void *)8, NULL}, {0}};
    ILE3 bad_chain[] = {{0, (unsigned short)LNM$_CHAIN, (void *)16, NULL}};
    ILE3 circle[] = {{4, LNM$_LENGTH, &length, NULL}, {0, (unsigned short)LNM$_CHAIN, NULL, NULL}};
    unsigned bad_flags = 0x40;

    circle[1].ile3$ps_bufaddr = circle;
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_code), SS$_BADPARAM,
              "$CRELNM refuses an unknown item code");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, bad_code), SS$_BADPARAM,
              "$TRNLNM refuses an unknown item code");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_index), SS$_BADPARAM,
              "index 128 is refused");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_size), SS$_BADPARAM,
              "an index of less than four bytes is refused");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_attr), SS$_BADPARAM,
              "attributes of a wrong length are refused");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_buffer), SS$_ACCVIO,
              "a string that cannot be read is refused");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, bad_buffer), SS$_ACCVIO,
              "a buffer that cannot be written is refused");
    is_status(sys$crelnm(NULL, D("LNM$JOB"), D("X"), NULL, bad_chain), SS$_ACCVIO,
              "a chained list that cannot be read is refused");
    is_status(sys$trnlnm(NULL, D("LNM$JOB"), D("ITEMS"), NULL, circle), SS$_BADPARAM,
              "a list that chains to itself is refused");
    is_status(sys$crelnm(&bad_flags, D("LNM$JOB"), D("X"), NULL, NULL), SS$_BADPARAM, "flags");
    is_status(sys$trnlnm(&bad_flags, D("LNM$JOB"), D("X"), NULL, NULL), SS$_BADPARAM,
              "unknown flags are refused");
    is_status(sys$crelnm((void *)8, D("LNM$JOB"), D("X"), NULL, NULL), SS$_ACCVIO,
              "flags that cannot be read are refused");
    is_status(sys$trnlnm(NULL, (void *)8, D("X"), NULL, NULL), SS$_ACCVIO,
              "$TRNLNM: a table name that cannot be read is refused");
    is_status(sys$dellnm((void *)8, D("X"), NULL), SS$_ACCVIO,
              "$DELLNM: a table name that cannot be read is refused");
    is_status(translate("LNM$JOB", "X", 0, 0), SS$_NOLOGNAM,
              "none of the refused calls has defined a name");

    char longest[257];

    memset(longest, 'L', 256);
    longest[256] = '\0';
    is_status(define("LNM$JOB", longest, NULL, "x", NULL, NULL), SS$_IVLOGNAM,
              "$CRELNM refuses a name of 256 characters");
    is_status(sys$dellnm(D("LNM$JOB"), D(longest), NULL), SS$_IVLOGNAM,
              "$DELLNM refuses a name of 256 characters");
    is_status(translate("LNM$JOB", longest, 0, 0), SS$_IVLOGNAM,
              "$TRNLNM refuses a name of 256 characters");
    is_status(translate(longest, "X", 0, 0), SS$_IVLOGTAB,
              "$TRNLNM refuses a table name of 256 characters");
    is_status(define(longest, "X", NULL, "x", NULL, NULL), SS$_IVLOGTAB,
              "$CRELNM refuses a table name of 256 characters");
    is_status(sys$dellnm(D(longest), D("X"), NULL), SS$_IVLOGTAB,
              "$DELLNM refuses a table name of 256 characters");
    longest[255] = '\0';
    is_status(define("LNM$JOB", longest, NULL, longest, longest, longest), SS$_NORMAL,
              "a name and strings of 255 characters are accepted");
    ok(reads("LNM$JOB", longest, longest), "a string of 255 characters is returned");
    is_status(sys$dellnm(D("LNM$JOB"), NULL, NULL), SS$_NORMAL, "the long name is deleted");
    is_status(define("NOWHERE", "X", NULL, "x", NULL, NULL), SS$_NOLOGTAB,
              "$CRELNM: the table does not exist");
    is_status(sys$dellnm(D("NOWHERE"), D("X"), NULL), SS$_NOLOGTAB,
              "$DELLNM: the table does not exist");
    is_status(translate("NOWHERE", "X", 0, 0), SS$_IVLOGTAB, "$TRNLNM: the table does not exist");
}

static void modes(void)
{
    unsigned no_alias = LNM$M_NO_ALIAS;
    unsigned char bad = 4;
    ILE3 item[] = {{2, LNM$_STRING, "na", NULL}, {0}};

    is_status(define("LNM$PROCESS", "M", &super, "inner", NULL, NULL), SS$_NORMAL,
              "a name is defined in supervisor mode");
    is_status(define("LNM$PROCESS", "M", &user, "outer", NULL, NULL), SS$_NORMAL,
              "the same name is defined in user mode");
    ok(reads("LNM$PROCESS", "M", "outer"), "the user-mode name hides the supervisor-mode name");

    unsigned short n = 0;
    ILE3 want[] = {{255, LNM$_STRING, text, &n}, {0}};

    is_status(sys$trnlnm(NULL, D("LNM$PROCESS"), D("M"), &super, want), SS$_NORMAL,
              "a translation in supervisor mode succeeds");
    ok(n == 5 && memcmp(text, "inner", 5) == 0, "it finds the supervisor-mode name");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &user), SS$_NORMAL,
              "the user-mode name is deleted");
    ok(reads("LNM$PROCESS", "M", "inner"), "the supervisor-mode name still exists");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &user), SS$_NOLOGNAM,
              "deletion in user mode does not delete the supervisor-mode name");
    is_status(sys$crelnm(&no_alias, D("LNM$PROCESS"), D("M"), &super, item), SS$_SUPERSEDE,
              "a supervisor-mode name without alias is defined");
    is_status(define("LNM$PROCESS", "M", &user, "x", NULL, NULL), SS$_DUPLNAM,
              "it prevents a definition in user mode");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &super), SS$_NORMAL,
              "it is deleted in supervisor mode");
    define("LNM$PROCESS", "M", &user, "x", NULL, NULL);
    is_status(sys$crelnm(&no_alias, D("LNM$PROCESS"), D("M"), &super, item), SS$_NORMAL,
              "a name without alias is defined after a user-mode name");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &user), SS$_NOLOGNAM,
              "it deletes the user-mode name");
    sys$dellnm(D("LNM$PROCESS"), NULL, &super);
    is_status(define("LNM$PROCESS", "M", &bad, "x", NULL, NULL), SS$_IVACMODE,
              "$CRELNM refuses access mode 4");
    is_status(sys$trnlnm(NULL, D("LNM$PROCESS"), D("M"), &bad, NULL), SS$_IVACMODE,
              "$TRNLNM refuses access mode 4");
    is_status(sys$dellnm(D("LNM$PROCESS"), D("M"), &bad), SS$_IVACMODE,
              "$DELLNM refuses access mode 4");
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

    is_status(create_table("MINE", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_LNMCREATED,
              "a table is created");
    is_status(define("MINE", "A", NULL, "a", NULL, NULL), SS$_NORMAL,
              "a name is defined in the table");
    is_status(create_table("MINE", "LNM$PROCESS_DIRECTORY", LNM$M_CREATE_IF, 0), SS$_NORMAL,
              "create-if keeps an existing table");
    ok(reads("MINE", "A", "a"), "the names of the table still exist");
    is_status(create_table("MINE", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_SUPERSEDE,
              "a table of the same name supersedes it");
    is_status(translate("MINE", "A", 0, 0), SS$_NOLOGNAM, "the new table is empty");
    is_status(create_table("BELOW", "MINE", 0, 0), SS$_LNMCREATED, "a table below it is created");
    is_status(create_table("MINE", "BELOW", 0, 0), SS$_PARENT_DEL,
              "a table cannot supersede its own parent");
    is_status(define("LNM$PROCESS_DIRECTORY", "BOTH", &super, "BELOW", "MINE", NULL), SS$_NORMAL,
              "a search list of tables is defined");
    define("MINE", "B", NULL, "b", NULL, NULL);
    ok(reads("BOTH", "B", "b"), "all tables of the search list are searched");
    define("BELOW", "B", NULL, "first", NULL, NULL);
    ok(reads("BOTH", "B", "first"), "the first table of the search list takes precedence");
    define("LNM$PROCESS_DIRECTORY", "LOOP", &super, "LOOP", NULL, NULL);
    is_status(translate("LOOP", "B", 0, 0), SS$_TOOMANYLNAM,
              "$TRNLNM refuses a search list that contains itself");
    is_status(define("LOOP", "B", NULL, "x", NULL, NULL), SS$_TOOMANYLNAM,
              "$CRELNM refuses a search list that contains itself");
    is_status(sys$dellnm(D("LOOP"), D("B"), NULL), SS$_TOOMANYLNAM,
              "$DELLNM refuses a search list that contains itself");
    is_status(create_table("X", "LOOP", 0, 0), SS$_TOOMANYLNAM,
              "$CRELNT refuses a search list that contains itself");
    is_status(sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D("MINE"), NULL), SS$_NORMAL,
              "the name of a table is deleted");
    is_status(translate("BELOW", "B", 0, 0), SS$_IVLOGTAB, "the table below it is deleted with it");
    is_status(create_table("SMALL", "LNM$PROCESS_DIRECTORY", 0, 300), SS$_LNMCREATED,
              "a table with a quota of 300 bytes is created");
    is_status(define("SMALL", "1", NULL, "1", NULL, NULL), SS$_NORMAL,
              "a name fits into the quota");
    is_status(define("SMALL", "2", NULL, "2", NULL, NULL), SS$_NORMAL,
              "a second name fits into the quota");
    is_status(define("SMALL", "3", NULL, "333333333333333333333333333333333",
                     "33333333333333333333333333333333333333",
                     "33333333333333333333333333333333333333333333"),
              SS$_EXLNMQUOTA, "a name that exceeds the quota is refused");
    is_status(define("SMALL", "1", NULL, "one", NULL, NULL), SS$_SUPERSEDE,
              "a name can be replaced within the quota");
    is_status(create_table("SUB", "SMALL", 0, 400), SS$_EXLNMQUOTA,
              "a table whose quota exceeds that of its parent is refused");
    sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D("SMALL"), NULL);
    is_status(create_table("no good", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_IVLOGNAM,
              "a table name with a blank is refused");
    is_status(create_table("X", "NOWHERE", 0, 0), SS$_NOLOGTAB,
              "a parent table that does not exist is refused");
    is_status(sys$crelnt(NULL, &result, &n, NULL, NULL, NULL, D("LNM$PROCESS_DIRECTORY"), NULL),
              SS$_LNMCREATED, "the system makes up a table name");
    ok(n == 20 && memcmp(made, "LNM$", 4) == 0, "the name that was made up is returned");
    is_status(sys$crelnt(NULL, &small, &n, NULL, NULL, NULL, D("LNM$PROCESS_DIRECTORY"), NULL),
              SS$_RESULTOVF, "a result buffer that is too short for the name is reported");
    made[n] = '\0';
    is_status(sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D(made), NULL), SS$_NORMAL,
              "the table is deleted by that name");
    is_status(define("LNM$PROCESS_DIRECTORY", "PLAIN", NULL, "MINE", NULL, NULL), SS$_NORMAL,
              "a name that is not a table is defined");
    is_status(create_table("PLAIN", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_DUPLNAM,
              "a table does not supersede a name that is not a table");
    is_status(sys$crelnt(NULL, NULL, NULL, NULL, NULL, D("X"), D(""), NULL), SS$_IVLOGTAB,
              "an empty parent name is refused");
    is_status(sys$crelnt((void *)8, NULL, NULL, NULL, NULL, D("X"), D("LNM$JOB"), NULL), SS$_ACCVIO,
              "flags that cannot be read are refused");
    is_status(sys$crelnt(NULL, NULL, (void *)8, NULL, NULL, D("X"), D("LNM$JOB"), NULL), SS$_ACCVIO,
              "a result length that cannot be written is refused");

    unsigned bad_flags = 0x100, fine = 0;
    unsigned char bad_mode = 9;

    is_status(sys$crelnt(NULL, NULL, NULL, NULL, NULL, D("X"), D("LNM$JOB"), NULL, 1 << 16 | 4),
              SS$_BADPARAM, "$CRELNT takes no UIC");
    is_status(sys$crelnt(&bad_flags, NULL, NULL, NULL, NULL, D("X"), D("LNM$JOB"), NULL),
              SS$_BADPARAM, "unknown flags are refused");
    is_status(sys$crelnt(&fine, NULL, NULL, NULL, NULL, D("X"), D("LNM$JOB"), &bad_mode),
              SS$_IVACMODE, "an invalid access mode is refused");
    is_status(sys$dellnm(D("LNM$PROCESS_DIRECTORY"), D("LNM$PROCESS_TABLE"), &kernel), SS$_NOPRIV,
              "the table of the process cannot be deleted");
    is_status(define("LNM$PROCESS_DIRECTORY", "A_NAME_THAT_IS_LONGER_THAN_31_CHARACTERS", NULL, "X",
                     NULL, NULL),
              SS$_IVLOGNAM, "a name of more than 31 characters is refused in a directory");
    sys$dellnm(D("LNM$PROCESS_DIRECTORY"), NULL, &super);
}

/* Runs in a child; the exit status says whether the child found what it should. */
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

/* A process of group 0300, member 5, without privileges. */
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
    /* Inner access modes need privileges. */
    define("LNM$PROCESS", "K", &kernel, "k", NULL, NULL);
    translate("LNM$PROCESS", "K", 0, 0);
    return mode_found == PSL$C_SUPER ? 0 : 7;
}

static void sharing(void)
{
    define("LNM$PROCESS", "PRIVATE", NULL, "p", NULL, NULL);
    define("LNM$JOB", "OURS", NULL, "j", NULL, NULL);
    is_status(define("LNM$GROUP", "G", NULL, "g", NULL, NULL), SS$_NORMAL,
              "a name in the group table is defined");
    is_status(define("LNM$SYSTEM", "EVERYBODY", NULL, "s", NULL, NULL), SS$_NORMAL,
              "a name in the system table is defined");
    is_status(create_table("LNM$JOB_PRIVATE", "LNM$SYSTEM_DIRECTORY", 0, 0), SS$_LNMCREATED,
              "a shareable table that only its owner may access is created");
    is(in_child(child_sees_all), 0, "a child sees private, job and system names");
    is(in_child(child_changes), 0, "a child changes its names");
    ok(reads("LNM$PROCESS", "PRIVATE", "p"),
       "private names changed by the child are unchanged here");
    ok(reads("LNM$JOB", "OURS", "changed"), "job names changed by the child are changed here");
    is(in_child(other_session), 0, "a new session is a new job");
    is(in_child(other_user), 0, "another user reads the names that the protection lets it read");
    sys$dellnm(D("LNM$SYSTEM_DIRECTORY"), D("LNM$JOB_PRIVATE"), NULL);
    sys$dellnm(D("LNM$SYSTEM"), NULL, NULL);
    sys$dellnm(D("LNM$GROUP"), NULL, NULL);
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
    sys$dellnm(D("LNM$PROCESS"), NULL, NULL);
}

/* Every service that takes the name of a section must return `want`. */
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
    sys$create_region_64(8 * MIB, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va, &length);
    ok(sys$crmpsc_gdzro_64(&d, NULL, 0, 8 * MIB, &region, 0, PSL$C_USER, SEC$M_WRT | SEC$M_EXPREG,
                           &va, &length) &
           1,
       "a section is created by a logical name");
    ok((mega$info(MEGA_INFO_SECTION, 0, &s, sizeof(s)) & 1) && !strcmp(s.name, "THE_REAL_NAME"),
       "it has the name to which the logical name translates");
    define("LNM$JOB", "GBL$MIDDLE", NULL, "SHORT", NULL, NULL);
    section_services(&d, &region, SS$_TOOMANYLNAM);
    define("LNM$JOB", "GBL$SHORT", NULL, "NOT:GOOD", NULL, NULL);
    section_services(&d, &region, SS$_IVLOGNAM);
    sys$delete_region_64(&region, PSL$C_USER, &va, &length);
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
}

/* Many names are defined and deleted in random order, and translated meanwhile. At the end as much
 * of the pool is in use as before. */
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
    is(wrong, 0, "12,000 names are defined, found and deleted");
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "NAME_%u", i);
        wrong += (translate("LNM$JOB", name, 0, 0) == SS$_NORMAL) != there[i];
    }
    is(wrong, 0, "the names that were not deleted are found");
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "NAME_%u", i);
        if (there[i])
            sys$dellnm(D("LNM$JOB"), D(name), NULL);
    }
    mega$info(MEGA_INFO_POOL, 1, &after, sizeof(after));
    is(after.in_use, before.in_use, "as much paged pool is in use as before");
    sys$dellnm(D("LNM$JOB"), NULL, NULL);
}

/* A process of a job that has no table yet, while paged pool is full. */
static int first_use_without_pool(void)
{
    if (setsid() < 0)
        return 2;
    return !(status_is(translate("LNM$JOB", "X", 0, 0), SS$_INSFMEM) &&
             status_is(sys$dellnm(D("LNM$JOB"), D("X"), NULL), SS$_INSFMEM));
}

/* Fill paged pool. Every service that allocates some must return its condition value, and must work
 * again when some has been freed. */
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
    /* The child is created before, because a fork copies names, which also takes pool. */
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
              "paged pool is full after %u names", n);
    is_status(create_table("NO_ROOM", "LNM$PROCESS_DIRECTORY", 0, 0), SS$_INSFMEM,
              "$CRELNT fails while paged pool is full");
    is(write(go[1], "g", 1), 1, "a process that has not used names is told to use them");
    ok(waitpid(pid, &child, 0) == pid && WIFEXITED(child) && WEXITSTATUS(child) == 0,
       "its first use of names fails, too");
    ok(reads("LNM$JOB", "FULL_0", value), "existing names are found");
    is_status(sys$dellnm(D("LNM$JOB"), D("FULL_0"), NULL), SS$_NORMAL, "a name can be deleted");
    is_status(define("LNM$JOB", name, NULL, "v", NULL, NULL), SS$_NORMAL,
              "then a name can be defined");
    is_status(sys$dellnm(D("LNM$JOB"), NULL, NULL), SS$_NORMAL, "all names are deleted");
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
