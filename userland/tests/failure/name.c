/* Services for logical names. The system's directory and tables are shared by all processes, so
 * what a scenario creates there it deletes. */
#include "failure.h"

#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <megalith/services.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/syscall.h>

static char value[] = "VALUE", other[200], name_out[32];
static unsigned short length;
static unsigned quota = 4096, create_if = LNM$M_CREATE_IF;
static struct dsc$descriptor_s made = {31, DSC$K_DTYPE_T, DSC$K_CLASS_S, name_out};
static unsigned char user = PSL$C_USER;

#define NAME(id, text) static $DESCRIPTOR(id, text)

NAME(process, "LNM$PROCESS_TABLE");
NAME(directory, "LNM$PROCESS_DIRECTORY");
NAME(system_table, "LNM$SYSTEM_TABLE");
NAME(system_directory, "LNM$SYSTEM_DIRECTORY");
NAME(job, "LNM$JOB");
NAME(group, "LNM$GROUP");
NAME(table, "FAIL_TABLE");
NAME(name, "FAIL_NAME");

static ILE3 one[] = {{sizeof(value) - 1, LNM$_STRING, value, 0}, {0, 0, 0, 0}};
static ILE3 two[] = {{sizeof(value) - 1, LNM$_STRING, value, 0},
                     {sizeof(other), LNM$_STRING, other, 0},
                     {0, 0, 0, 0}};
static ILE3 cold_item[] = {{100, LNM$_STRING, (void *)COLD, (unsigned short *)(COLD + 128)},
                           {0, 0, 0, 0}};
static ILE3 cold_value[] = {{64, LNM$_STRING, (void *)COLD, 0}, {0, 0, 0, 0}};

static void fill(void) { memset(other, 'o', sizeof(other)); }

/* ---- names ---- */

static long crelnm(void *in, ILE3 *items) { return sys$crelnm(0, in, &name, &user, items); }

static long define(void) { return crelnm(&process, one); }
static long define_two(void) { return crelnm(&process, two); }
static long define_system(void) { return crelnm(&system_table, one); }
static long define_job(void) { return crelnm(&job, one); }
static long define_group(void) { return crelnm(&group, one); }
static long define_cold(void) { return crelnm(&process, cold_value); }

static void defined(void)
{
    fill();
    define();
    cold_make();
}

static void undefine_in(void *in) { sys$dellnm(in, &name, &user); }
static void undefine(void)
{
    cold_drop();
    undefine_in(&process);
}
static void undefine_system(void) { undefine_in(&system_table); }
static void undefine_job(void) { undefine_in(&job); }
static void undefine_group(void) { undefine_in(&group); }

static bool translates(void *in, const char *to, size_t n)
{
    static char got[256];
    static unsigned short got_length;
    ILE3 items[] = {{sizeof(got), LNM$_STRING, got, &got_length}, {0, 0, 0, 0}};

    return sys$trnlnm(0, in, &name, 0, items) == SS$_NORMAL && got_length == n &&
           memcmp(got, to, n) == 0;
}

static bool is_defined(long r) { return (r & 1) && translates(&process, value, 5); }
static bool is_system(long r) { return (r & 1) && translates(&system_table, value, 5); }
static bool is_job(long r) { return (r & 1) && translates(&job, value, 5); }
static bool is_group(long r) { return (r & 1) && translates(&group, value, 5); }

static long undefine_it(void) { return sys$dellnm(&process, &name, &user); }
static long translate(void) { return translates(&process, value, 5) ? SS$_NORMAL : SS$_NOLOGNAM; }
static long translate_cold(void) { return sys$trnlnm(0, &process, &name, 0, cold_item); }
static bool translated(long r)
{
    return r == SS$_NORMAL && *(unsigned short *)(COLD + 128) == 5 &&
           memcmp((void *)COLD, value, 5) == 0;
}

/* ---- tables ---- */

static long crelnt(unsigned *attributes, void *out, unsigned *bytes, void *tab, void *in)
{
    return sys$crelnt(attributes, out, out ? &length : 0, bytes, 0, tab, in, &user);
}

static long make_private(void) { return crelnt(0, 0, 0, &table, &directory); }
static long make_quota(void) { return crelnt(0, 0, &quota, &table, &directory); }
static long make_shared(void) { return crelnt(0, 0, 0, &table, &system_directory); }
static long make_unnamed(void) { return crelnt(0, &made, 0, 0, &directory); }
static long make_if(void) { return crelnt(&create_if, 0, 0, &table, &directory); }

static void made_already(void) { make_private(); }

static void unmake(void) { sys$dellnm(&directory, &table, &user); }
static void unmake_shared(void) { sys$dellnm(&system_directory, &table, &user); }
static void unmake_unnamed(void)
{
    struct dsc$descriptor_s d = {length, DSC$K_DTYPE_T, DSC$K_CLASS_S, name_out};

    if (length)
        sys$dellnm(&directory, &d, &user);
    length = 0;
}

/* A table with a quota of its own, and a name in it that is charged to the quota. */
static void quota_table(void)
{
    fill();
    make_quota();
}

static long define_in_table(void) { return crelnm(&table, one); }
static bool is_in_table(long r) { return (r & 1) && translates(&table, value, 5); }

static void new_session(void) { raw6(SYS_setsid, 0, 0, 0, 0, 0, 0); }

static struct mega_logical shown;
static long show(void) { return mega$logical(&system_directory, 0, 0, &shown); }

const struct scenario first_name = BY("$crelnm, the first of all", VMS_CRELNM, NULL, define,
                                      is_defined, undefine, 0);

const struct scenario name_scenarios[] = {
    BY("$crelnm", VMS_CRELNM, NULL, define, is_defined, undefine, 0),
    {.name = "$crelnm, the first of a session",
     .call = VMS_CRELNM,
     .child = new_session,
     .act = define_job,
     .flags = IN_CHILD},
    BY("$crelnm, two translations", VMS_CRELNM, fill, define_two, is_defined, undefine, 0),
    BY("$crelnm, another definition", VMS_CRELNM, defined, define_two, is_defined, undefine, 0),
    BY("$crelnm in the system table", VMS_CRELNM, NULL, define_system, is_system, undefine_system,
       0),
    BY("$crelnm in the job's table", VMS_CRELNM, NULL, define_job, is_job, undefine_job, 0),
    BY("$crelnm in the group's table", VMS_CRELNM, NULL, define_group, is_group, undefine_group, 0),
    BY("$crelnm in a table of its own quota", VMS_CRELNM, quota_table, define_in_table, is_in_table,
       unmake, 0),
    BY("$crelnm, value in an untouched page", VMS_CRELNM, cold_make, define_cold, NULL, undefine,
       WARM),
    BY("$dellnm", VMS_DELLNM, defined, undefine_it, NULL, undefine, NOTHING),
    BY("$trnlnm", VMS_TRNLNM, defined, translate, NULL, undefine, NOTHING),
    BY("$trnlnm, untouched outputs", VMS_TRNLNM, defined, translate_cold, translated, undefine, 0),
    BY("$crelnt", VMS_CRELNT, NULL, make_private, NULL, unmake, 0),
    BY("$crelnt with a quota", VMS_CRELNT, NULL, make_quota, NULL, unmake, 0),
    BY("$crelnt, shareable", VMS_CRELNT, NULL, make_shared, NULL, unmake_shared, 0),
    BY("$crelnt without a name", VMS_CRELNT, NULL, make_unnamed, NULL, unmake_unnamed, 0),
    BY("$crelnt, another one", VMS_CRELNT, made_already, make_private, NULL, unmake, 0),
    BY("$crelnt, the one there is", VMS_CRELNT, made_already, make_if, NULL, unmake, NOTHING),
    BY("mega$logical", MEGA_SYS_LOGICAL, NULL, show, NULL, NULL, 0),
    {0},
};
