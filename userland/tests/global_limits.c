// TAP
// RUN: -m 256M --set GBLSECTIONS=16 --set GBLPAGES=2000 --set GBLPAGFIL=200
/*
 * The limits of the tables of global sections: GBLSECTIONS (set at boot), GBLPAGES and GBLPAGFIL
 * (set in the running system). Each is tested exactly at the limit and one beyond it. A refusal has
 * its own condition value and leaks nothing. A limit may be set below what is in use. Use and peak
 * are equal to what was created.
 */
#include <descrip.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tap.h>
#include <vadef.h>

#define PAGE        8192UL
#define GBLSECTIONS 16
#define GBLPAGES    2000
#define GBLPAGFIL   200

static void *va;
static unsigned __int64 length;

static struct dsc$descriptor_s named(const char *name)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)name};
}

static int gdzro(const char *name, uint64_t pages)
{
    struct dsc$descriptor_s d = named(name);

    return sys$create_gdzro(&d, 0, 0, pages * PAGE, 0, SEC$M_SYSGBL);
}

static int gpfile(const char *name, uint64_t pages)
{
    struct dsc$descriptor_s d = named(name);

    return sys$create_gpfile(&d, 0, 0, pages * PAGE, 0, SEC$M_SYSGBL);
}

static int dgblsc(const char *name)
{
    struct dsc$descriptor_s d = named(name);

    return sys$dgblsc(SEC$M_SYSGBL, &d, 0);
}

static struct mega_global global(void)
{
    struct mega_global g;

    mega$info(MEGA_INFO_GLOBAL, 0, &g, sizeof(g));
    return g;
}

static int set(const char *parameter, int64_t value)
{
    return mega$control(MEGA_CTL_SET_PARAM, (uint64_t)parameter, (uint64_t)value, 0, 0, 0);
}

/* The state that a refused creation must not change. */
struct balance {
    uint64_t promised, reserved, sections, gptes, pagfil;
};

static struct balance balance(void)
{
    struct mega_global g = global();
    struct mega_memory m;

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return (struct balance){m.promised_unused, m.reserved, g.sections.use, g.gptes.use,
                            g.pagfil_pages.use};
}

static int balanced(struct balance b)
{
    struct balance now = balance();

    return memcmp(&b, &now, sizeof(b)) == 0;
}

static void sections(void)
{
    struct balance empty = balance(), full;
    char name[8];
    int n = 0;

    is(global().sections.limit, GBLSECTIONS, "GBLSECTIONS has the value that was set");
    for (n = 0; n < GBLSECTIONS; n++) {
        snprintf(name, sizeof(name), "S%d", n);
        if (gdzro(name, 1) != SS$_CREATED_SHPT)
            break;
    }
    is(n, GBLSECTIONS, "as many sections as GBLSECTIONS can be created");
    full = balance();
    is_status(gdzro("ONE", 1), SS$_GSDFULL, "one more memory-resident section is refused");
    is_status(gpfile("ONE", 1), SS$_GSDFULL, "one more page-file-backed section is refused");
    ok(balanced(full), "the refused calls leak nothing");
    is_status(gdzro("S3", 1), SS$_DUPLNAM, "the name of an existing section is still SS$_DUPLNAM");
    is_status(dgblsc("S3"), SS$_NORMAL, "a section is deleted");
    is_status(gdzro("ONE", 1), SS$_CREATED_SHPT, "another one can be created then");
    dgblsc("ONE");
    for (int i = 0; i < GBLSECTIONS; i++) {
        snprintf(name, sizeof(name), "S%d", i);
        dgblsc(name);
    }
    ok(balanced(empty), "deleting all sections leaks nothing");
    is(global().sections.peak, GBLSECTIONS, "the peak keeps its value");
    is_status(set("GBLSECTIONS", 100), SS$_NOWRT, "GBLSECTIONS can be set at boot only");
}

static void gptes(void)
{
    struct balance empty = balance(), some;

    is(global().gptes.limit, GBLPAGES, "GBLPAGES has the value that was set");
    is_status(gdzro("A", 999), SS$_CREATED_SHPT, "a section of 999 pages is created");
    is(global().gptes.use, 1002, "it counts for 999 pages, two more, and one for rounding");
    some = balance();
    is_status(gdzro("B", 997), SS$_GPTFULL, "1,000 entries do not fit into 998");
    ok(balanced(some), "the refused call leaks nothing");
    is_status(gdzro("B", 996), SS$_CREATED_SHPT, "998 entries fit");
    is(global().gptes.use, GBLPAGES, "all entries are in use");
    is_status(gdzro("C", 1), SS$_GPTFULL, "the smallest section does not fit");
    is_status(gpfile("C", 1), SS$_GPTFULL, "a page-file-backed section does not fit");
    is_status(set("GBLPAGES", 512), SS$_NORMAL, "GBLPAGES is set below what is in use");
    is_status(gdzro("C", 1), SS$_GPTFULL, "no section can be created");
    is(global().gptes.limit, 512, "GBLPAGES has its new value");
    dgblsc("A");
    is(global().gptes.use, 998, "sections that were not deleted still count");
    is_status(gdzro("C", 1), SS$_GPTFULL, "no section can be created while use is above the limit");
    dgblsc("B");
    is_status(gdzro("C", 509), SS$_CREATED_SHPT, "a section can be created when it fits");
    is(global().gptes.peak, GBLPAGES, "the peak keeps its value");
    is_status(gdzro("D", UINT64_C(1) << 29), SS$_GPTFULL,
              "a very large section is refused: no sum wraps around");
    is_status(set("GBLPAGES", 511), SS$_BADPARAM, "a value below the minimum is refused");
    is_status(set("GBLPAGES", GBLPAGES), SS$_NORMAL, "GBLPAGES is raised");
    is_status(gdzro("D", 1400), SS$_CREATED_SHPT, "a raised limit takes effect at once");
    dgblsc("C");
    dgblsc("D");
    ok(balanced(empty), "deleting all sections leaks nothing");
}

static void pagfil(void)
{
    struct dsc$descriptor_s d = named("T");
    struct balance empty = balance(), some;
    GENERIC_64 id = {{0}};

    is(global().pagfil_pages.limit, GBLPAGFIL, "GBLPAGFIL has the value that was set");
    is_status(gpfile("A", 150), SS$_CREATED, "a section of 150 pages is created");
    some = balance();
    is_status(gpfile("B", 51), SS$_EXGBLPAGFIL, "one page more than GBLPAGFIL is refused");
    ok(balanced(some), "the refused call leaks nothing");
    is_status(gpfile("B", 50), SS$_CREATED, "50 pages fit");
    is(global().pagfil_pages.use, GBLPAGFIL, "all pages are in use");
    is_status(gpfile("C", 1), SS$_EXGBLPAGFIL, "one more page is refused");
    is_status(gdzro("C", 100), SS$_CREATED_SHPT,
              "GBLPAGFIL does not limit memory-resident sections");
    sys$create_region_64(16 * PAGE, VA$C_REGION_UCREATE_UOWN, 0, &id, &va, &length);
    is_status(
        sys$crmpsc_gpfile_64(&d, 0, 0, PAGE, &id, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length),
        SS$_EXGBLPAGFIL, "$crmpsc_gpfile_64 returns the same value");
    is_status(set("GBLPAGFIL", 128), SS$_NORMAL, "GBLPAGFIL is set below what is in use");
    dgblsc("B");
    is_status(gpfile("B", 1), SS$_EXGBLPAGFIL, "one page is refused while 150 of 128 are in use");
    is_status(set("GBLPAGFIL", GBLPAGFIL), SS$_NORMAL, "GBLPAGFIL is raised");
    is_status(
        sys$crmpsc_gpfile_64(&d, 0, 0, PAGE, &id, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length),
        SS$_CREATED, "a raised limit takes effect at once");
    dgblsc("A");
    dgblsc("C");
    sys$delete_region_64(&id, 0, &va, &length);
    ok(balanced(empty), "deleting all sections leaks nothing");
    is(global().pagfil_pages.peak, GBLPAGFIL, "the peak keeps its value");
}

int main(void)
{
    sections();
    gptes();
    pagfil();
    return tap_done();
}
