/* Rows of OpenVMS services: regions, mappings of sections, logical names. */
#include "growth.h"

#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <vadef.h>

#define MIB   (1ul << 20)
#define GIB   (1ul << 30)
#define PAGE  8192ul
#define CALLS 16

static struct _generic_64 make_region(uint64_t bytes, unsigned flags)
{
    struct _generic_64 id;
    void *va;
    uint64_t length;

    bench_need(sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &id, &va, &length) & 1);
    return id;
}

static void delete_region(struct _generic_64 id)
{
    void *va;
    uint64_t length;

    bench_need(sys$delete_region_64(&id, PSL$C_USER, &va, &length) & 1);
}

static double create_region(uint64_t n)
{
    struct _generic_64 id[CALLS];
    struct bench b = {0};

    for (uint64_t i = 0; i < n; i++)
        make_region(PAGE, 0);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < CALLS; i++)
            id[i] = make_region(PAGE, 0);
        bench_stop(&b);
        for (int i = 0; i < CALLS; i++)
            delete_region(id[i]);
    }
    return growth_median(&b, CALLS);
}

/* ---- sections ---- */

static struct dsc64$descriptor_s describe(const char *name)
{
    struct dsc64$descriptor_s d = {1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                   -1, strlen(name),    (char *)name};

    return d;
}

/* Create a FLUID section that lives as long as something maps it; map it in a region. */
static void *create_section(const char *name, uint64_t bytes, struct _generic_64 *region)
{
    struct dsc64$descriptor_s d = describe(name);
    uint64_t length;
    void *va;

    bench_need(sys$crmpsc_gdzro_64(&d, 0, 0, bytes, region, 0, PSL$C_USER,
                                   SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length) &
               1);
    return va;
}

static struct _generic_64 default_region = {.gen64$q_quadword = VA$C_P2};

static void *map_once(const char *name, struct _generic_64 *region)
{
    struct dsc64$descriptor_s d = describe(name);
    uint64_t length;
    void *va;

    bench_need(sys$mgblsc_64(&d, 0, region, 0, 0, PSL$C_USER,
                             SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length) &
               1);
    return va;
}

static double map_in(uint64_t n, struct _generic_64 *region)
{
    struct bench b = {0};
    uint64_t length;
    void *va, *gone;

    create_section("GROWTH", PAGE, region);
    for (uint64_t i = 0; i < n; i++)
        map_once("GROWTH", region);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        va = map_once("GROWTH", region);
        bench_stop(&b);
        bench_need(sys$deltva_64(region, va, PAGE, PSL$C_USER, &gone, &length) & 1);
    }
    return growth_median(&b, 1);
}

static double map_section(uint64_t n) { return map_in(n, &default_region); }

static double map_section_region(uint64_t n)
{
    struct _generic_64 id = make_region(16 * GIB, 0);

    return map_in(n, &id);
}

/* The time to delete a sparse section for each of its n touched pages, which are as far apart as
   possible. */
static double delete_fluid(uint64_t n)
{
    uint64_t bytes = 64 * GIB, length;
    struct _generic_64 region = make_region(bytes, VA$M_SHARED_PTS);
    struct bench b = {0};

    for (int r = 0; r < 3; r++) {
        volatile char *va = create_section("GROWTH", bytes, &region);
        void *gone;

        for (uint64_t i = 0; i < n; i++)
            va[i * (bytes / n & ~(PAGE - 1))] = 1;
        bench_start(&b);
        bench_need(sys$deltva_64(&region, (void *)va, bytes, PSL$C_USER, &gone, &length) & 1);
        bench_stop(&b);
    }
    return growth_median(&b, n);
}

/* Create and delete a section while others have names. */
static double create_named(uint64_t n)
{
    struct _generic_64 region = make_region(16 * GIB, 0);
    struct bench b = {0};
    uint64_t length;
    char name[32];

    for (uint64_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "GROWTH_%lu", (unsigned long)i);
        create_section(name, PAGE, &region);
    }
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        void *va, *gone;

        bench_start(&b);
        va = create_section("GROWTH", PAGE, &region);
        bench_need(sys$deltva_64(&region, va, PAGE, PSL$C_USER, &gone, &length) & 1);
        bench_stop(&b);
    }
    return growth_median(&b, 1);
}

/* Ask for the last section in a list of all. */
static double show_last(uint64_t n)
{
    struct _generic_64 region = make_region(16 * GIB, 0);
    struct mega_section shown;
    struct bench b = {0};
    char name[32];

    for (uint64_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "GROWTH_%lu", (unsigned long)i);
        create_section(name, PAGE, &region);
    }
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        bench_need(mega$info(MEGA_INFO_SECTION, (int64_t)n - 1, &shown, sizeof(shown)) & 1);
        bench_stop(&b);
    }
    return growth_median(&b, 1);
}

/* ---- logical names ---- */

static struct dsc$descriptor_s str(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

static char name[32];

static void define(uint64_t number)
{
    struct dsc$descriptor_s table = str("LNM$PROCESS"), d;
    ILE3 items[] = {{4, LNM$_STRING, "WORD", NULL}, {0}};
    unsigned char mode = PSL$C_USER;

    snprintf(name, sizeof(name), "GROWTH_%lu", (unsigned long)number);
    d = str(name);
    bench_need(sys$crelnm(NULL, &table, &d, &mode, items) & 1);
}

static double translate(uint64_t n)
{
    struct dsc$descriptor_s table = str("LNM$PROCESS"), d;
    char text[256];
    unsigned short length;
    ILE3 items[] = {{255, LNM$_STRING, text, &length}, {0}};
    struct bench b = {0};

    for (uint64_t i = 0; i < n; i++)
        define(i);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (uint64_t i = 0; i < CALLS; i++) {
            snprintf(name, sizeof(name), "GROWTH_%lu", (unsigned long)(i * n / CALLS));
            d = str(name);
            bench_need(sys$trnlnm(NULL, &table, &d, NULL, items) & 1);
        }
        bench_stop(&b);
    }
    return growth_median(&b, CALLS);
}

static double define_one(uint64_t n)
{
    struct bench b = {0};

    for (uint64_t i = 0; i < n; i++)
        define(i);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (uint64_t i = 0; i < CALLS; i++)
            define(i * n / CALLS); /* which replaces the name */
        bench_stop(&b);
    }
    return growth_median(&b, CALLS);
}

/* A name by its number in the table, without regard to any other. */
static double show_nth(uint64_t n)
{
    struct dsc$descriptor_s table = str("LNM$PROCESS");
    struct bench b = {0};
    struct mega_logical m;

    for (uint64_t i = 0; i < n; i++)
        define(i);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (uint64_t i = 0; i < CALLS; i++)
            bench_need(mega$logical(&table, (int64_t)(i * n / CALLS), 0, &m) & 1);
        bench_stop(&b);
    }
    return growth_median(&b, CALLS);
}

/* Tables of one name each, all of which are listed with their names. */
static double list_all(uint64_t n)
{
    struct dsc$descriptor_s parent = str("LNM$PROCESS_DIRECTORY"), d, one = str("ONE");
    ILE3 items[] = {{4, LNM$_STRING, "WORD", NULL}, {0}};
    unsigned char mode = PSL$C_USER;
    struct bench b = {0};
    uint64_t listed = 0;

    for (uint64_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "GROWTH_%lu", (unsigned long)i);
        d = str(name);
        bench_need(sys$crelnt(NULL, NULL, NULL, NULL, NULL, &d, &parent, &mode) & 1);
        bench_need(sys$crelnm(NULL, &d, &one, &mode, items) & 1);
    }
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        struct mega_logical m;
        unsigned status;

        bench_start(&b);
        status = mega$logical(NULL, 0, 0, &m);
        for (listed = 0; status & 1; listed++)
            status = mega$logical(NULL, MEGA_LOGICAL_NEXT, 0, &m);
        bench_stop(&b);
    }
    bench_need(listed >= 2 * n);
    return growth_median(&b, listed);
}

const struct growth_row growth_service[] = {
    {"create a region", "regions", 100, 10000, 1.3, 0, create_region},
    {"map a section", "mappings of it", 10, 10000, 1.3, 0, map_section},
    {"map a section into a region", "mappings of it", 10, 10000, 1.3, 0, map_section_region},
    {"create and delete a section", "sections", 10, 1000, 1.3, 0, create_named},
    {"show the last section", "sections", 10, 1000, 1.3, 0, show_last},
    {"delete a section of 64 GiB, each page", "pages touched", 100, 1000, 1.3, 0, delete_fluid},
    {"translate a logical name", "names in LNM$PROCESS", 100, 10000, 1.3, 0, translate},
    {"define a logical name", "names in LNM$PROCESS", 100, 10000, 1.3, 0, define_one},
    {"show a logical name by its number", "names in LNM$PROCESS", 100, 10000, 1.3, 0, show_nth},
    {"list all logical names, each", "tables of one name", 100, 10000, 1.3, 0, list_all},
    {.name = NULL},
};
