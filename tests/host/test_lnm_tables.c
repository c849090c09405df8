// SOURCES: kernel/base/treap.c
// SOURCES: kernel/lnm/lnm.c kernel/lnm/lnm_name.c kernel/lnm/lnm_table.c kernel/lnm/lnm_search.c
// SOURCES: kernel/lnm/lnm_space.c kernel/lnm/lnm_list.c kernel/lnm/lnm_census.c
// SOURCES: kernel/lnm/lnm_order.c sysman/params.c sysman/config.c kernel/quota/account.c
/*
 * Tables of logical names: those of groups and of the system, forks, quotas, how deep names may
 * lead to names, lists, and the census.
 */
#include "tests/host/lnm_world.h"

/* How many complaints the census has; the last one is in `complaint`. */
static unsigned complaints(void)
{
    struct census c = {.errors = 0};

    explain(&c);
    return (unsigned)c.errors;
}

static int translate_by(const struct lnm_who *who, const char *table, const char *name)
{
    return lnm_translate(who, text(table), text(name), PSL$C_USER, false, copy_out, NULL);
}

/* Create a table in `parent` with these credentials, which allow it. */
static int table_by(const struct lnm_who *who, const char *parent, const char *name, uint8_t mode,
                    uint32_t attributes, uint64_t quota)
{
    struct lnm_table_request r = {.name = text(name),
                                  .parent = text(parent),
                                  .mode = mode,
                                  .attributes = attributes,
                                  .quota = quota};
    char made[LNM$C_TABNAMLEN];
    uint32_t length;

    return lnm_table_create(who, &r, made, &length);
}

static struct lnm_who somebody(uint32_t group, bool powers)
{
    return (struct lnm_who){.space = lnm_space_create(),
                            .uic_group = group,
                            .system = powers,
                            .sysnam = powers,
                            .grpnam = powers};
}

/* Quotas within quotas, of tables that outlive their creator: each is charged to the one above, and
   the census adds up the same. */
static void census(void)
{
    struct lnm_who who = somebody(0600, true);
    char name[16];

    is(complaints(), 0, "the census agrees after the boot");
    ok(table_by(&who, "LNM$SYSTEM_DIRECTORY", "OUTER", PSL$C_USER, 0, 6000) == SS$_LNMCREATED &&
           table_by(&who, "OUTER", "INNER", PSL$C_USER, 0, 2000) == SS$_LNMCREATED &&
           table_by(&who, "INNER", "POOR", PSL$C_USER, 0, 0) == SS$_LNMCREATED &&
           table_by(&who, "POOR", "DEEPEST", PSL$C_USER, 0, 500) == SS$_LNMCREATED,
       "tables with quotas of their own, one in the other");
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "N%d", i);
        define_by(&who, i & 1 ? "POOR" : "OUTER", text(name), PSL$C_USER, 0, "value");
    }
    lnm_space_free(who.space);
    is(complaints(), 0, "the census agrees when nobody is left");
    who.space = lnm_space_create();
    is(lnm_delete(&who, text("OUTER"), text("N0"), PSL$C_USER), SS$_NORMAL, "a name goes");
    is(complaints(), 0, "it still agrees");
    lnm_lookup(lnm_system_directory, text("INNER"), 0, 3, false)->header->charged += 8;
    is(complaints(), 1, "a wrong charge is found");
    ok(strstr(complaint, "names of table INNER take ") == complaint,
       "and reported with the table's name and nothing behind it: %s", complaint);
    lnm_lookup(lnm_system_directory, text("INNER"), 0, 3, false)->header->charged -= 8;
    lnm_delete(&who, text("LNM$SYSTEM_DIRECTORY"), text("OUTER"), PSL$C_USER);
    lnm_space_free(who.space);
    is(complaints(), 0, "it agrees when all of them are gone");
}

/* 3,000 names of one table, and all ways to write one name: found however many there are. */
static void many(void)
{
    struct lnm_who who = somebody(0600, false);
    unsigned wrong = 0;
    char name[16];
    long before;

    define_by(&who, "LNM$PROCESS", text("FIRST"), PSL$C_USER, 0, "x");
    before = in_use;
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "NAME_%u", i);
        wrong += !cond_ok(
            (cond_t)define_by(&who, "LNM$PROCESS", text(name), (uint8_t)(i % 4), 0, "v"));
    }
    for (unsigned i = 0; i < 256; i++) { /* differing in case only */
        for (unsigned k = 0; k < 8; k++)
            name[k] = (char)((i >> k & 1 ? 'A' : 'a') + k);
        name[8] = 0;
        wrong += !cond_ok(
            (cond_t)define_by(&who, "LNM$PROCESS", text(name), (uint8_t)(i % 4), 0, "v"));
    }
    is(wrong, 0, "3,256 names are defined");
    for (unsigned i = 0; i < 256; i++) {
        struct lnm_name *n;

        for (unsigned k = 0; k < 8; k++)
            name[k] = (char)((i >> k & 1 ? 'A' : 'a') + k);
        n = lnm_lookup(who.space->process_table, text(name), PSL$C_KERNEL, PSL$C_USER, false);
        wrong += !n || memcmp(n->text, name, 8) != 0 || n->mode != i % 4;
        wrong += lnm_lookup(who.space->process_table, text(name), (uint8_t)(i % 4 + 1), PSL$C_USER,
                            false) != NULL;
        n = lnm_lookup(who.space->process_table, text(name), PSL$C_KERNEL, PSL$C_SUPER, true);
        wrong += !n || n->mode != PSL$C_SUPER;
    }
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "NAME_%u", i);
        wrong += !lnm_lookup(who.space->process_table, text(name), (uint8_t)(i % 4),
                             (uint8_t)(i % 4), false);
        wrong += lnm_lookup(who.space->process_table, text(name), (uint8_t)((i + 1) % 4),
                            (uint8_t)((i + 1) % 4), false) != NULL;
    }
    is(wrong, 0, "each is found in its mode and case, and in no other");
    wrong += lnm_delete(&who, text("LNM$PROCESS"), (struct lnm_string){"", 0}, PSL$C_KERNEL) !=
             SS$_NORMAL;
    ok(!wrong && in_use < before, "all of them go");
    lnm_space_free(who.space);
}

static void life_of_a_group(void)
{
    long before = in_use, with_one;
    struct lnm_who a = somebody(0300, true), b = somebody(0300, false), c;

    translate_by(&a, "LNM$GROUP", "X");
    with_one = in_use;
    translate_by(&b, "LNM$GROUP", "X");
    lnm_space_free(a.space);
    is(translate_by(&b, "LNM$GROUP_000300", "X"), SS$_NOLOGNAM,
       "a group's table is there as long as one of its processes");
    lnm_space_free(b.space);
    is(in_use, before, "and goes with the last one");
    ok(with_one > before, "of which it was a part");

    a = somebody(0300, true);
    is(define_by(&a, "LNM$GROUP", text("G"), PSL$C_SUPER, 0, "g"), SS$_NORMAL, "with a name in it");
    lnm_space_free(a.space);
    ok(in_use > before, "it stays");
    b = somebody(0300, false);
    is(translate_by(&b, "LNM$GROUP", "G"), SS$_NORMAL, "for the next process of the group");
    lnm_space_free(b.space);
    c = somebody(0400, true);
    is(lnm_delete(&c, text("LNM$GROUP_000300"), text("G"), PSL$C_SUPER), SS$_NORMAL,
       "until that name is deleted");
    is(translate_by(&c, "LNM$GROUP_000300", "G"), SS$_IVLOGTAB,
       "by a process of another group, too");

    /* A table below it keeps it, too. */
    c.uic_group = 0300;
    is(table_by(&c, "LNM$GROUP", "BELOW", PSL$C_SUPER, 0, 0), SS$_LNMCREATED, "a table below it");
    c.uic_group = 0400;
    is(translate_by(&c, "BELOW", "X"), SS$_NOLOGNAM, "is there when nobody is in the group");
    is(lnm_delete(&c, text("LNM$SYSTEM_DIRECTORY"), text("BELOW"), PSL$C_SUPER), SS$_NORMAL,
       "and goes");
    is(translate_by(&c, "LNM$GROUP_000300", "X"), SS$_IVLOGTAB, "with the group's");
    is(table_by(&c, "LNM$GROUP", "BELOW", PSL$C_SUPER, 0, 0), SS$_LNMCREATED,
       "below another group's");
    c.uic_group = 0500;
    is(table_by(&c, "LNM$SYSTEM_TABLE", "BELOW", PSL$C_SUPER, 0, 0), SS$_SUPERSEDE,
       "moved from there");
    is(translate_by(&c, "LNM$GROUP_000400", "X"), SS$_IVLOGTAB, "which is empty then");
    table_by(&c, "LNM$GROUP", "BELOW", PSL$C_SUPER, 0, 0);
    c.uic_group = 0400;
    translate_by(&c, "LNM$JOB", "X");
    is(lnm_delete(&c, text("LNM$SYSTEM_DIRECTORY"), text(""), PSL$C_SUPER), SS$_NORMAL,
       "all tables of the system's directory that can be deleted are deleted");
    is(translate_by(&c, "LNM$GROUP_000500", "X"), SS$_IVLOGTAB, "with a group's table on the way");
    lnm_space_free(c.space);
    is(in_use, before, "and everything has been freed");
}

/* The tables of jobs and groups are found by name and kept by address. A privileged process may try
   to create a table of such a name first, and to delete it while the job uses it. */
static void names_of_the_system(void)
{
    long before = in_use;
    struct lnm_who a = somebody(0300, true), b = somebody(0600, false);
    char name[32];
    int wrong = 0;

    translate_by(&a, "LNM$JOB", "X");
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "LNM$JOB_%08X", i);
        wrong += table_by(&a, "LNM$SYSTEM_DIRECTORY", name, PSL$C_KERNEL, 0, 0) != SS$_DUPLNAM;
        wrong += define_by(&a, "LNM$SYSTEM_DIRECTORY", text(name), PSL$C_KERNEL, 0, "x") !=
                 SS$_DUPLNAM;
    }
    wrong += table_by(&a, "LNM$SYSTEM_DIRECTORY", "LNM$GROUP_000600", PSL$C_KERNEL, 0, 0) !=
             SS$_DUPLNAM;
    is(wrong, 0, "a table for a future job or group cannot be created");
    translate_by(&b, "LNM$JOB", "X");
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "LNM$JOB_%08X", i);
        wrong += (lnm_delete(&a, text("LNM$SYSTEM_DIRECTORY"), text(name), PSL$C_KERNEL) & 1) != 0;
    }
    is(wrong, 0, "nor can an existing one be deleted");
    is(table_by(&a, "LNM$PROCESS_DIRECTORY", "LNM$JOB_00000001", PSL$C_KERNEL, 0, 0),
       SS$_LNMCREATED, "in the process's own directory it is a name like any other");
    lnm_space_free(b.space);
    lnm_space_free(a.space);
    is(in_use, before, "the job's own table goes with it");
}

static void forks(void)
{
    long before = in_use;
    struct lnm_who a = somebody(0300, false), b;

    define_by(&a, "LNM$PROCESS", text("OPEN"), PSL$C_USER, 0, "o");
    define_by(&a, "LNM$PROCESS", text("OWN"), PSL$C_USER, LNM$M_CONFINE, "c");
    table_by(&a, "LNM$PROCESS_DIRECTORY", "T_OWN", PSL$C_USER, LNM$M_CONFINE, 0);
    table_by(&a, "T_OWN", "T_BELOW", PSL$C_USER, 0, 0);
    table_by(&a, "LNM$PROCESS_DIRECTORY", "T_OPEN", PSL$C_USER, 0, 0);
    table_by(&a, "T_OPEN", "T_LAST", PSL$C_USER, LNM$M_CONFINE, 0);
    b = a;
    b.space = lnm_space_fork(a.space);
    ok(translate_by(&b, "LNM$PROCESS", "OPEN") == SS$_NORMAL &&
           translate_by(&b, "T_OPEN", "X") == SS$_NOLOGNAM,
       "fork copies names and tables");
    ok(translate_by(&b, "LNM$PROCESS", "OWN") == SS$_NOLOGNAM &&
           translate_by(&b, "T_OWN", "X") == SS$_IVLOGTAB &&
           translate_by(&b, "T_LAST", "X") == SS$_IVLOGTAB,
       "but none that are confined");
    is(translate_by(&b, "T_BELOW", "X"), SS$_IVLOGTAB, "nor what is below such a table");
    ok(translate_by(&a, "LNM$PROCESS", "OWN") == SS$_NORMAL &&
           translate_by(&a, "T_BELOW", "X") == SS$_NOLOGNAM,
       "which the first process still has");
    lnm_space_free(b.space);

    /* A new job, whose table does not exist yet, and a fork at once. */
    lnm_job_enter(a.space, lnm_job_create());
    b.space = lnm_space_fork(a.space);
    is(translate_by(&b, "LNM$PROCESS", "OPEN"), SS$_NORMAL, "is forked with its names");
    is(define_by(&b, "LNM$JOB", text("J"), PSL$C_USER, 0, "j"), SS$_NORMAL, "and is a job");
    is(translate_by(&a, "LNM$JOB", "J"), SS$_NORMAL, "of both");
    lnm_space_free(a.space);
    lnm_space_free(b.space);
    is(in_use, before, "that ends with them");
}

static void quotas(void)
{
    long before = in_use;
    struct lnm_who a = somebody(0300, false);
    int status = SS$_LNMCREATED, n = 0;
    long tables, marks;
    char name[32];
    size_t bytes;

    is(table_by(&a, "LNM$PROCESS_DIRECTORY", "HALF", PSL$C_USER, 0, 5 << 20), SS$_LNMCREATED,
       "a table of 5 MB of the directory's 8");
    is(table_by(&a, "LNM$PROCESS_DIRECTORY", "OTHER", PSL$C_USER, 0, 5 << 20), SS$_EXLNMQUOTA,
       "leaves no room for a second one");
    is(table_by(&a, "LNM$PROCESS_DIRECTORY", "HALF", PSL$C_USER, 0, 6 << 20), SS$_SUPERSEDE,
       "but for one in its place");
    is(table_by(&a, "LNM$PROCESS_DIRECTORY", "HALF", PSL$C_USER, 0, 8 << 20), SS$_EXLNMQUOTA,
       "whose own name finds room too");
    tables = in_use;
    do
        snprintf(name, sizeof(name), "T_%d", n++);
    while ((status = table_by(&a, "LNM$PROCESS_DIRECTORY", name, PSL$C_USER, 0, 0)) ==
           SS$_LNMCREATED);
    is(status, SS$_EXLNMQUOTA, "after %d tables no more", n);
    marks = (long)lnm_marks(a.space->directory, &bytes);
    tables = in_use - tables - marks * (long)bytes;
    ok(tables <= 2 << 20 && tables > (2 << 20) - 4096,
       "as all that they take is counted: %ld bytes", tables);
    ok(marks * 16 < n, "but %ld marks in their list", marks);
    is(lnm_delete(&a, text("LNM$PROCESS_DIRECTORY"), text(""), PSL$C_USER), SS$_NORMAL,
       "all of them can be deleted");
    is(table_by(&a, "LNM$PROCESS_DIRECTORY", "HALF", PSL$C_USER, 0, 8000000), SS$_LNMCREATED,
       "and their memory is freed");
    lnm_space_free(a.space);
    is(in_use, before, "and all memory at the end");
}

/* The limit on the depth of a search. */
static void depth(void)
{
    struct lnm_who a = somebody(0300, false);
    char name[16], next_name[32] = "LNM$PROCESS_TABLE";

    for (int i = 0; i <= LNM$C_MAXDEPTH; i++) {
        snprintf(name, sizeof(name), "L%d", i);
        define_by(&a, "LNM$PROCESS_DIRECTORY", text(name), PSL$C_USER, 0, next_name);
        strcpy(next_name, name);
    }
    is(translate_by(&a, "L9", "X"), SS$_NOLOGNAM, "a table is found through ten names");
    is(translate_by(&a, "L10", "X"), SS$_TOOMANYLNAM, "but not through eleven");
    lnm_space_free(a.space);
}

/* ---- lists ---- */

struct listed {
    char name[32], table[32];
    struct lnm_place place;
};

static int list_one(const struct lnm_entry *e, void *arg)
{
    struct listed *l = arg;

    snprintf(l->name, sizeof(l->name), "%.*s", (int)e->view.name.length, e->view.name.s);
    snprintf(l->table, sizeof(l->table), "%.*s", (int)e->view.table.length, e->view.table.s);
    l->place = (struct lnm_place){text(l->name), e->view.mode, e->table_number};
    return SS$_NORMAL;
}

/* Listing by position and by index gives the same names, `want` of them. */
static void list(const struct lnm_who *who, const char *which, int want)
{
    struct listed a, b;
    int n = 0, wrong = 0, of_table = 0;

    while (lnm_nth(who, text(which), (uint64_t)n, list_one, &b) == SS$_NORMAL) {
        int status = n ? lnm_at(who, text(which), &a.place, true, list_one, &a)
                       : lnm_nth(who, text(which), 0, list_one, &a);

        wrong += status != SS$_NORMAL || strcmp(a.name, b.name) || strcmp(a.table, b.table);
        wrong += lnm_at(who, text(which), &a.place, false, list_one, &b) != SS$_NORMAL ||
                 strcmp(a.name, b.name) != 0;
        of_table += strcmp(a.table, "LISTED") == 0;
        n++;
    }
    is(wrong, 0, "%d names are listed alike by index and by place", n);
    is(lnm_at(who, text(which), &a.place, true, list_one, &a), SS$_NOLOGNAM, "to the last");
    is(of_table, want, "with those of a table");
}

static void lists(void)
{
    struct lnm_who a = somebody(0300, false);
    struct listed at;
    char name[16];

    table_by(&a, "LNM$PROCESS_DIRECTORY", "LISTED", PSL$C_SUPER, 0, 0);
    table_by(&a, "LNM$PROCESS_DIRECTORY", "NONE", PSL$C_USER, 0, 0);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "N%d", i / 2);
        define_by(&a, "LISTED", text(name), PSL$C_SUPER + i % 2, 0, "v");
    }
    define_by(&a, "LNM$PROCESS", text("ONE"), PSL$C_USER, 0, "v");
    list(&a, "LISTED", 40);
    list(&a, "LNM$FILE_DEV", 0);
    list(&a, "", 40);
    /* A search list that names one table twice ends, too. */
    {
        struct lnm_name *b = lnm_name_alloc(text("TWICE"), PSL$C_USER, 0,
                                            3 * lnm_translation_bytes(6));
        bool kept;

        memcpy(lnm_name_add(b, 0, 0, 6), "LISTED", 6);
        memcpy(lnm_name_add(b, 1, 0, 4), "NONE", 4);
        memcpy(lnm_name_add(b, 2, 0, 6), "LISTED", 6);
        lnm_define(&a, text("LNM$PROCESS_DIRECTORY"), b, false, NULL, NULL, &kept);
    }
    list(&a, "TWICE", 80);
    lnm_nth(&a, text("LISTED"), 7, list_one, &at);
    lnm_delete(&a, text("LISTED"), at.place.name, PSL$C_SUPER);
    is(lnm_at(&a, text("LISTED"), &at.place, true, list_one, &at), SS$_NONEXPR,
       "listing after a name that was deleted fails");
    at.place.table_number = 77;
    is(lnm_at(&a, text("LISTED"), &at.place, true, list_one, &at), SS$_NONEXPR,
       "and after a table that does not exist");
    lnm_space_free(a.space);
}

/* The n-th name of a table against an array, while names come and go, and with them the marks in
 * the list, for which there is no memory now and then. */
static void numbers(void)
{
    enum { MOST = 700 };
    static int at[MOST];
    struct lnm_who a = somebody(0300, false);
    unsigned n = 0, wrong = 0, random = 7;
    struct listed l;
    char name[16];

    table_by(&a, "LNM$PROCESS_DIRECTORY", "NUMBERS", PSL$C_USER, 0, 0);
    for (int i = 0; i < 6000; i++) {
        unsigned k, end = i / 1000 % 2 ? 3 : 1; /* of 4 that are deleted: it grows, it shrinks */

        random = random * 1103515245u + 12345u;
        k = n ? (random >> 12) % n : 0;
        if (n == MOST || (n && (random >> 28) % 4 < end)) {
            snprintf(name, sizeof(name), "N%d", at[k]);
            wrong += lnm_delete(&a, text("NUMBERS"), text(name), PSL$C_USER) != SS$_NORMAL;
            memmove(&at[k], &at[k + 1], (--n - k) * sizeof(at[0]));
        } else {
            snprintf(name, sizeof(name), "N%d", i);
            fail_at = i % 3 ? 0 : 2; /* after the name's block */
            wrong += define_by(&a, "NUMBERS", text(name), PSL$C_USER, 0, "v") != SS$_NORMAL;
            fail_at = 0;
            at[n++] = i;
        }
        for (unsigned j = i % 7; j < n; j += 7) {
            snprintf(name, sizeof(name), "N%d", at[j]);
            wrong += lnm_nth(&a, text("NUMBERS"), j, list_one, &l) != SS$_NORMAL ||
                     strcmp(l.name, name) != 0;
        }
        wrong += lnm_nth(&a, text("NUMBERS"), n, list_one, &l) != SS$_NOLOGNAM;
    }
    is(wrong, 0, "names are found by number while they come and go");
    lnm_space_free(a.space);
}

int main(void)
{
    long booted;

    lnm_boot();
    booted = in_use;
    life_of_a_group();
    names_of_the_system();
    forks();
    quotas();
    depth();
    lists();
    numbers();
    census();
    many();
    is(in_use, booted, "nothing of all that is left");
    return tap_done();
}
