// SOURCES: kernel/base/treap.c
// SOURCES: kernel/lnm/lnm.c kernel/lnm/lnm_name.c kernel/lnm/lnm_table.c kernel/lnm/lnm_search.c
// SOURCES: kernel/lnm/lnm_space.c kernel/lnm/lnm_list.c kernel/lnm/lnm_census.c
// SOURCES: kernel/lnm/lnm_order.c sysman/params.c sysman/config.c kernel/quota/account.c
/*
 * Logical names compared with a plain model: random definitions, deletions, translations and tables
 * of several processes in two jobs, with each allocation failing in turn. A call that fails must
 * change nothing, and after the end of all processes the pool is as it was after the boot.
 */
#include "tests/host/lnm_world.h"

/* ---- the model ---- */

enum { PROCESSES = 3, NAMES = 12, TABLES = 2 + PROCESSES };

/* Table 0: job of process 0 and 1; 1: job of process 2; 2 + p: process table of p. */
static char model[TABLES][NAMES][PSL$C_USER + 1][24];
static struct lnm_space *space[PROCESSES];

static struct lnm_who who_of(int p)
{
    return (struct lnm_who){.space = space[p], .uic_group = 0100, .uic_member = (uint32_t)p};
}

static int job_table_of(int p) { return p == 2; }

static struct lnm_string name_of(int n)
{
    static char buffer[8];

    snprintf(buffer, sizeof(buffer), "N%d", n);
    return text(buffer);
}

static int define(int p, const char *table, struct lnm_string name, uint8_t mode, const char *value)
{
    struct lnm_who who = who_of(p);

    return define_by(&who, table, name, mode, 0, value);
}

static int translate(int p, const char *table, struct lnm_string name, uint8_t mode)
{
    struct lnm_who who = who_of(p);

    return lnm_translate(&who, text(table), name, mode, false, copy_out, NULL);
}

/* The outermost value up to a mode, or NULL. */
static const char *expect(int table, int n, int mode)
{
    for (; mode >= 0; mode--)
        if (model[table][n][mode][0])
            return model[table][n][mode];
    return NULL;
}

static unsigned random_state = 1;
static unsigned next(unsigned below)
{
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 8) % below;
}

/* The number of differences between what a process can see and the model. */
static int differences(int p)
{
    int wrong = 0;

    for (int n = 0; n < NAMES; n++)
        for (uint8_t mode = PSL$C_SUPER; mode <= PSL$C_USER; mode++) {
            const char *job = expect(job_table_of(p), n, mode), *own = expect(2 + p, n, mode);
            int status = translate(p, "LNM$JOB", name_of(n), mode);

            wrong += job ? status != SS$_NORMAL || strcmp(found, job) : status != SS$_NOLOGNAM;
            status = translate(p, "LNM$FILE_DEV", name_of(n), mode);
            if (own || job)
                wrong += status != SS$_NORMAL || strcmp(found, own ? own : job);
            else
                wrong += status != SS$_NOLOGNAM;
        }
    return wrong;
}

static int wrong_statuses;

static void step(unsigned number)
{
    int p = (int)next(PROCESSES), n = (int)next(NAMES), job = (int)next(2);
    uint8_t mode = (uint8_t)(PSL$C_SUPER + next(2));
    int table = job ? job_table_of(p) : 2 + p;
    const char *where = job ? "LNM$JOB" : "LNM$PROCESS";
    char(*cell)[24] = model[table][n];
    struct lnm_who who = who_of(p);
    int status, there = cell[mode][0] != '\0';
    char value[24];

    if (next(3)) {
        snprintf(value, sizeof(value), "v%u", number);
        if (next(4) == 0)
            fail_at = 1;
        status = define(p, where, name_of(n), mode, value);
        if (status == SS$_INSFMEM) {
            wrong_statuses += fail_at != 0; /* it was caused by the failing allocation */
            fail_at = 0;
            return;
        }
        fail_at = 0;
        wrong_statuses += status != (there ? SS$_SUPERSEDE : SS$_NORMAL);
        strcpy(cell[mode], value);
    } else {
        for (int m = mode + 1; m <= PSL$C_USER; m++)
            there |= cell[m][0] != '\0';
        status = lnm_delete(&who, text(where), name_of(n), mode);
        wrong_statuses += status != (there ? SS$_NORMAL : SS$_NOLOGNAM);
        for (int m = mode; m <= PSL$C_USER; m++)
            cell[m][0] = '\0';
    }
}

static void walk(void)
{
    int wrong = 0;

    space[0] = lnm_space_create();
    space[1] = lnm_space_fork(space[0]);
    space[2] = lnm_space_create();
    for (unsigned i = 0; i < 6000; i++) {
        step(i);
        if (i % 50 == 0)
            for (int p = 0; p < PROCESSES; p++)
                wrong += differences(p);
    }
    is(wrong, 0, "6,000 random steps: every name is where the model has it");
    is(wrong_statuses, 0, "and every status is as it says");
}

/* fork with each allocation failing in turn. */
static void failing_forks(void)
{
    struct lnm_space *child = NULL;
    long before = in_use;
    int n, wrong = 0;

    for (n = 1; !child && n < 1000; n++) {
        fail_at = n;
        child = lnm_space_fork(space[0]);
        if (!child)
            wrong += in_use != before;
    }
    fail_at = 0;
    ok(child && n > 5, "fork succeeds when no allocation fails, after %d failures", n - 1);
    is(wrong, 0, "each failed fork frees everything");
    lnm_space_free(child);
    is(in_use, before, "so does the child's end");
}

/* The first use of names, and the creation of a table, with each allocation failing in turn. */
static void failing_first_use(void)
{
    struct lnm_space *s = lnm_space_create();
    struct lnm_who who = {.space = s, .uic_group = 0200};
    struct lnm_table_request r = {
        .name = text("T"), .parent = text("LNM$PROCESS_DIRECTORY"), .mode = PSL$C_USER};
    char made[LNM$C_TABNAMLEN];
    uint32_t length;
    int status = SS$_INSFMEM, n;

    for (n = 1; status == SS$_INSFMEM && n < 1000; n++) {
        fail_at = n;
        status = lnm_table_create(&who, &r, made, &length);
    }
    fail_at = 0;
    is(status, SS$_LNMCREATED, "a first use goes on where the last attempt failed (%d times)", n);
    is(lnm_table_create(&who, &r, made, &length), SS$_SUPERSEDE, "and everything is there once");
    lnm_space_free(s);
}

static void deep(void)
{
    struct lnm_who who = who_of(0);
    char parent[32] = "LNM$PROCESS_DIRECTORY", name[32], made[LNM$C_TABNAMLEN];
    uint32_t length;
    int wrong = 0;
    long before;

    translate(0, "LNM$JOB", text("X"), PSL$C_USER);
    before = in_use;
    for (int i = 0; i < 500; i++) {
        struct lnm_table_request r = {.mode = PSL$C_USER};

        snprintf(name, sizeof(name), "DEEP_%d", i);
        r.name = text(name);
        r.parent = text(parent);
        wrong += lnm_table_create(&who, &r, made, &length) != SS$_LNMCREATED;
        strcpy(parent, name);
    }
    is(wrong, 0, "500 tables, each below the one before");
    is(lnm_delete(&who, text("LNM$PROCESS_DIRECTORY"), text("DEEP_0"), PSL$C_USER), SS$_NORMAL,
       "go with the first");
    is(in_use, before, "all of them");
}

int main(void)
{
    long booted;

    lnm_boot();
    booted = in_use;
    walk();
    failing_forks();
    failing_first_use();
    deep();
    lnm_job_enter(space[1], lnm_job_create());
    is(translate(1, "LNM$JOB", name_of(0), PSL$C_USER), SS$_NOLOGNAM, "and finds a new table");
    for (int p = 0; p < PROCESSES; p++)
        lnm_space_free(space[p]);
    is(in_use, booted, "with the last process everything is gone but the system's");
    return tap_done();
}
