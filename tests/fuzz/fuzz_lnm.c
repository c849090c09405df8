// SOURCES: kernel/base/treap.c
// SOURCES: kernel/lnm/lnm.c kernel/lnm/lnm_name.c kernel/lnm/lnm_table.c kernel/lnm/lnm_search.c
// SOURCES: kernel/lnm/lnm_space.c kernel/lnm/lnm_list.c sysman/params.c sysman/config.c
// SOURCES: kernel/lnm/lnm_order.c kernel/quota/account.c
// TARGETS: kernel/lnm/lnm.c kernel/lnm/lnm_name.c kernel/lnm/lnm_table.c
// TARGETS: kernel/lnm/lnm_search.c kernel/lnm/lnm_space.c
// RUNS: 2500
/*
 * Logical names compared with a plain model: processes are created, forked and ended, and leave
 * their jobs; names in all access modes, with and without NO_ALIAS, are defined, superseded and
 * deleted, one by one or all at once; a private table below the process's is created and deleted;
 * any allocation may fail. Each status must be that of the model, every process must see the
 * model's names, and after the end of the last process nothing may be left.
 */
#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/lnm/lnm_private.h"
#include "sysman/params.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

enum { PROCESSES = 5, NAMES = 5, MODES = 4, JOBS = 24 };
enum { PROCESS, OWN, KINDS }; /* private tables */

struct cell {
    uint8_t value; /* 0: no such name */
    bool no_alias;
};
typedef struct cell table_model[NAMES][MODES];

static struct process_model {
    struct lnm_space *space; /* NULL: there is no such process */
    unsigned job;
    bool own; /* the process has the table OWN */
    table_model table[KINDS];
} process[PROCESSES];
static struct {
    unsigned members;
    table_model table;
} job[JOBS];
static unsigned jobs; /* created so far */

static struct lnm_who who_of(unsigned p)
{
    return (struct lnm_who){
        .space = process[p].space, .uic_group = 0100, .uic_member = p, .sysnam = true};
}

static struct lnm_string text(const char *s) { return (struct lnm_string){s, (uint32_t)strlen(s)}; }
static const char *const names[NAMES] = {"A", "B", "GBL$A", "LONGER_NAME", "a"};
static const char *const wheres[] = {"LNM$PROCESS", "OWN", "LNM$JOB"};

static struct cell (*table_of(unsigned p, unsigned where))[MODES]
{
    return where == 2 ? job[process[p].job].table : process[p].table[where];
}

static void define(struct fuzz_in *in, unsigned p, unsigned where)
{
    unsigned n = in_below(in, NAMES), mode = in_below(in, MODES), how = in_u8(in);
    uint8_t value = (uint8_t)(1 + in_below(in, 200));
    struct cell(*t)[MODES] = table_of(p, where), *c = &t[n][mode];
    bool no_alias = how & 1, create_if = how & 2, inner = false, kept = false;
    struct lnm_who who = who_of(p);
    struct lnm_name *b = lnm_name_alloc(text(names[n]), (uint8_t)mode,
                                        no_alias ? LNM$M_NO_ALIAS : 0, lnm_translation_bytes(1));
    int status, expected;

    if (!b) {
        fuzz_check(fuzz_pool_failed, "no block");
        return;
    }
    *lnm_name_add(b, 0, 0, 1) = (char)value;
    /* Of the names of inner modes, the one of the mode nearest to this counts. */
    for (unsigned m = 0; m < mode; m++)
        if (t[n][m].value)
            inner = t[n][m].no_alias;
    expected = where == OWN && !process[p].own                                    ? SS$_NOLOGTAB
               : where != 2 && mode < (where == OWN ? PSL$C_SUPER : PSL$C_KERNEL) ? SS$_IVLOGTAB
               : create_if && c->value                                            ? SS$_NORMAL
               : inner                                                            ? SS$_DUPLNAM
               : c->value                                                         ? SS$_SUPERSEDE
                                                                                  : SS$_NORMAL;
    status = lnm_define(&who, text(wheres[where]), b, create_if, NULL, NULL, &kept);
    if (!(status & 1) || kept)
        lnm_name_free(b);
    if (fuzz_pool_failed && status == SS$_INSFMEM)
        return;
    fuzz_check(status == expected, "define %s in %s, mode %u: %d, not %d", names[n], wheres[where],
               mode, status, expected);
    fuzz_check(kept == (create_if && c->value && status == SS$_NORMAL), "kept or not");
    if (!(status & 1) || kept)
        return;
    *c = (struct cell){value, no_alias};
    for (unsigned m = mode + 1; m < MODES && no_alias; m++)
        t[n][m].value = 0;
}

static void delete(struct fuzz_in *in, unsigned p, unsigned where)
{
    unsigned n = in_below(in, NAMES), mode = in_below(in, MODES);
    struct cell(*t)[MODES] = table_of(p, where);
    struct lnm_who who = who_of(p);
    bool there = false;
    int status = lnm_delete(&who, text(wheres[where]), text(names[n]), (uint8_t)mode);
    int expected;

    for (unsigned m = mode; m < MODES; m++)
        there |= t[n][m].value != 0;
    expected = where == OWN && !process[p].own ? SS$_NOLOGTAB : there ? SS$_NORMAL : SS$_NOLOGNAM;
    if (fuzz_pool_failed && status == SS$_INSFMEM)
        return;
    fuzz_check(status == expected, "delete %s in %s: %d, not %d", names[n], wheres[where], status,
               expected);
    for (unsigned m = mode; m < MODES; m++)
        t[n][m].value = 0;
}

static void own_table(struct fuzz_in *in, unsigned p)
{
    struct lnm_table_request r = {
        .name = text("OWN"), .parent = text("LNM$PROCESS_DIRECTORY"), .mode = PSL$C_SUPER};
    struct lnm_who who = who_of(p);
    char made[LNM$C_TABNAMLEN];
    uint32_t length;
    int status, expected;

    if (in_u8(in) & 1) {
        status = lnm_table_create(&who, &r, made, &length);
        expected = process[p].own ? SS$_SUPERSEDE : SS$_LNMCREATED;
    } else {
        status = lnm_delete(&who, r.parent, r.name, PSL$C_SUPER);
        expected = process[p].own ? SS$_NORMAL : SS$_NOLOGNAM;
    }
    if (fuzz_pool_failed && status == SS$_INSFMEM)
        return;
    fuzz_check(status == expected, "the table: %d, not %d", status, expected);
    if (status & 1)
        process[p].own = expected == SS$_LNMCREATED || expected == SS$_SUPERSEDE;
    if (status & 1) /* also if a name was superseded */
        memset(process[p].table[OWN], 0, sizeof(table_model));
}

static void job_left(unsigned j)
{
    if (--job[j].members == 0)
        memset(job[j].table, 0, sizeof(table_model));
}

static void life(struct fuzz_in *in, unsigned p)
{
    unsigned what = in_u8(in) % 4, other = in_below(in, PROCESSES);

    if (what == 0 && !process[other].space && jobs < JOBS) {
        process[other].space = lnm_space_create();
        fuzz_check(process[other].space || fuzz_pool_failed, "no new space");
        if (process[other].space)
            job[process[other].job = jobs++].members = 1;
    } else if (what == 1 && !process[other].space) {
        struct lnm_space *s = lnm_space_fork(process[p].space);

        fuzz_check(s || fuzz_pool_failed, "no child");
        if (!s)
            return;
        process[other] = process[p];
        process[other].space = s;
        job[process[p].job].members++;
    } else if (what == 2 && p != 0) {
        lnm_space_free(process[p].space);
        job_left(process[p].job);
        memset(&process[p], 0, sizeof(process[p]));
    } else if (what == 3 && jobs < JOBS) {
        struct lnm_job *new = lnm_job_create();

        fuzz_check(new || fuzz_pool_failed, "no new job");
        if (new) {
            lnm_job_enter(process[p].space, new);
            job_left(process[p].job);
            job[process[p].job = jobs++].members = 1;
        }
    }
}

static int take(const struct lnm_view *v, void *arg)
{
    struct lnm_string s;
    uint32_t attributes;

    *(uint8_t *)arg = lnm_translation(v->block, 0, &s, &attributes) && s.length == 1
                          ? (uint8_t)s.s[0]
                          : 0;
    return SS$_NORMAL;
}

static uint8_t outermost(struct cell (*t)[MODES], unsigned n, unsigned mode)
{
    for (int m = (int)mode; m >= 0; m--)
        if (t[n][m].value)
            return t[n][m].value;
    return 0;
}

static void compare(unsigned p)
{
    struct lnm_who who = who_of(p);

    for (unsigned n = 0; n < NAMES; n++)
        for (uint8_t mode = 0; mode < MODES; mode++) {
            uint8_t own = outermost(process[p].table[PROCESS], n, mode), got = 0;
            uint8_t common = outermost(job[process[p].job].table, n, mode);
            int status = lnm_translate(&who, text("LNM$FILE_DEV"), text(names[n]), mode, false,
                                       take, &got);

            fuzz_check(got == (own ? own : common) && (got != 0) == (status == SS$_NORMAL),
                       "process %u, %s, mode %u: %u (%d), not %u", p, names[n], mode, got, status,
                       own ? own : common);
            got = 0;
            if (process[p].own)
                lnm_translate(&who, text("OWN"), text(names[n]), mode, false, take, &got);
            fuzz_check(!process[p].own || got == outermost(process[p].table[OWN], n, mode),
                       "process %u, %s in its own table: %u", p, names[n], got);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_in in = fuzz_in(data, n);
    long booted;

    fuzz_begin();
    fuzz_pool_begin();
    sysparam_set("LNMSHASHTBL", 16, false);
    sysparam_set("LNMPHASHTBL", 1 + in_below(&in, 4), false);
    lnm_boot();
    booted = fuzz_pool_bytes;
    process[0].space = lnm_space_create();
    job[process[0].job = jobs++].members = 1;
    for (unsigned i = 0; in_more(&in) && i < 200; i++) {
        unsigned what = in_u8(&in), p = in_below(&in, PROCESSES);

        if (!process[p].space)
            p = 0;
        fuzz_pool_failed = false;
        fuzz_pool_fail = what & 0x80 ? 1 + in_below(&in, 8) : 0;
        switch (what % 8) {
        case 0:
            life(&in, p);
            break;
        case 1:
            own_table(&in, p);
            break;
        case 2:
        case 3:
            delete (&in, p, in_below(&in, 3));
            break;
        default:
            define(&in, p, in_below(&in, 3));
        }
        fuzz_pool_fail = 0;
        if (i % 8 == 7 && process[p].space) /* the process may just have ended */
            compare(p);
    }
    for (unsigned p = 0; p < PROCESSES; p++)
        if (process[p].space) {
            compare(p);
            lnm_space_free(process[p].space);
        }
    fuzz_check(fuzz_pool_bytes == booted, "%ld bytes of pool are left", fuzz_pool_bytes - booted);
    fuzz_check(!lnm_prefix_in_use(), "a GBL$ name is still counted");
    return 0;
}
