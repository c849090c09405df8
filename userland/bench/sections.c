// RUN: -m 300G --reserve 'BENCH_SHARED 4096 /ALLOCATE /ZERO /PAGE_TABLES'
// RUN: --reserve 'BENCH_BLOCK 8192 /ALLOCATE /ZERO /PAGE_TABLES'
// RUN: --reserve 'BENCH_PRIVATE 1024 /ALLOCATE /ZERO /NOPAGE_TABLES'
/*
 * The cost of the services that create, map and delete memory-resident sections. Needs 300 GiB of
 * memory, of which the host provides only what is touched, the registry entries in the lines above,
 * and no entry BENCH_FLUID. The section keeps one mapping while another one is made and deleted
 * repeatedly, so that the cost of mapping does not include creation. Figures are for the whole
 * service; those that end in "_page" are per page. The 256 GiB section is FLUID, because
 * preallocating it would make the emulator read all that memory, which takes minutes.
 *
 * Before each service that may allocate page tables the CPU is idle long enough to zero
 * ZERO_LIST_HI pages. Otherwise some of the figures would depend on how long it was idle before,
 * while output was on its way to the host.
 *
 * A figure above its target is an error.
 */
#include "bench.h"

#include <descrip.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <unistd.h>
#include <vadef.h>

#define MIB  (1ul << 20)
#define PAGE 8192ul

struct kind {
    const char *label, *section;
    uint64_t bytes;
    unsigned region_flags;
    int alloc;
    int once;        /* create it once only: creating an ALLOC section again reads all of it */
    uint64_t target; /* instructions of the mapping service; with private tables, per page */
};

static int missed;

static void be_idle(void) { usleep(20000); }

static struct dsc64$descriptor_s describe(const char *name)
{
    struct dsc64$descriptor_s d = {1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                   -1, strlen(name),    (char *)name};

    return d;
}

static struct _generic_64 make_region(uint64_t bytes, unsigned flags)
{
    struct _generic_64 id;
    void *va;
    uint64_t length;

    bench_need(sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &id, &va, &length) & 1);
    return id;
}

static void check_kind(const struct kind *k)
{
    struct mega_section s;

    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) & 1; i++)
        if (!strcmp(s.name, k->section)) {
            bench_need(!!(s.flags & SEC$M_MRES_ALLOC) == k->alloc);
            return;
        }
    bench_need(!"the section is shown");
}

static void report(const char *label, const char *what, struct bench *b, uint64_t operations)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_%s", what, label);
    bench_report(name, b, operations);
}

static void hold_to(const char *label, struct bench *b, uint64_t operations, uint64_t target)
{
    uint64_t median = b->round[b->n / 2]; /* sorted by bench_report */

    if (median > target * operations) {
        fprintf(stderr, "map_%s: %.1f instructions, should be at most %lu\n", label,
                (double)median / (double)operations, (unsigned long)target);
        missed = 1;
    }
}

static void measure(const struct kind *k)
{
    struct bench create = {0}, map = {0}, unmap = {0};
    struct dsc64$descriptor_s d = describe(k->section);
    uint64_t region_bytes = k->bytes < 8 * MIB ? 8 * MIB : k->bytes;
    struct _generic_64 first = make_region(region_bytes, k->region_flags);
    struct _generic_64 second = make_region(region_bytes, k->region_flags);
    void *va, *va2, *gone;
    uint64_t length, length2;
    int status;

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        if (r == 0 || !k->once) {
            be_idle();
            bench_start(&create);
            status = sys$crmpsc_gdzro_64(&d, 0, 0, k->bytes, &first, 0, PSL$C_USER,
                                         SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length);
            bench_stop(&create);
            bench_need(status == SS$_CREATED || status == SS$_CREATED_SHPT);
        }
        if (r == 0)
            check_kind(k);
        be_idle();
        bench_start(&map);
        status = sys$mgblsc_64(&d, 0, &second, 0, 0, PSL$C_USER,
                               SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va2, &length2);
        bench_stop(&map);
        bench_need(status & 1);
        bench_start(&unmap);
        status = sys$deltva_64(&second, va2, length2, PSL$C_USER, &gone, &length2);
        bench_stop(&unmap);
        bench_need(status & 1);
        if (r == BENCH_ROUNDS - 1 || !k->once)
            bench_need(sys$deltva_64(&first, va, length, PSL$C_USER, &gone, &length) &
                       1); /* deletes the temporary section */
    }
    /* The first creation after boot finds its pages zeroed. Later ones zero what was used, which
     * reads every page. */
    struct bench first_create = {.round = {create.round[0]}, .n = 1};

    report(k->label, "create_and_map_first", &first_create, 1);
    if (!k->once)
        report(k->label, "create_and_map_again", &create, 1);
    report(k->label, "map", &map, 1);
    if (k->region_flags & VA$M_SHARED_PTS) {
        hold_to(k->label, &map, 1, k->target);
    } else {
        report(k->label, "map_page", &map, k->bytes / PAGE);
        hold_to(k->label, &map, k->bytes / PAGE, k->target);
    }
    report(k->label, "unmap", &unmap, 1);
    bench_need(sys$delete_region_64(&second, PSL$C_USER, &gone, &length) & 1);
    bench_need(sys$delete_region_64(&first, PSL$C_USER, &gone, &length) & 1);
}

/* A permanent section keeps its page tables while it is not mapped, so mapping it again costs no
 * more than mapping it beside another mapping. */
static void unmapped_meanwhile(void)
{
    struct bench map = {0};
    const uint64_t bytes = 1024 * MIB;
    struct dsc64$descriptor_s d = describe("BENCH_FLUID");
    struct _generic_64 region = make_region(bytes, VA$M_SHARED_PTS);
    uint64_t length;
    void *va, *gone;

    bench_need(sys$create_gdzro(&d, 0, 0, bytes, PSL$C_USER, SEC$M_SYSGBL) & 1);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        be_idle();
        bench_start(&map);
        bench_need(sys$mgblsc_64(&d, 0, &region, 0, 0, PSL$C_USER,
                                 SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length) &
                   1);
        bench_stop(&map);
        for (uint64_t at = 0; at < bytes; at += 8 * MIB)
            ((volatile char *)va)[at] = 1; /* all shared page tables exist after the first round */
        bench_need(sys$deltva_64(&region, va, length, PSL$C_USER, &gone, &length) & 1);
    }
    report("unmapped_fluid_1g", "map", &map, 1);
    hold_to("unmapped_fluid_1g", &map, 1, 4000);
    bench_need(sys$delete_region_64(&region, PSL$C_USER, &gone, &length) & 1);
    bench_need(sys$dgblsc(SEC$M_SYSGBL, &d, 0) & 1);
}

/* The first access to each page of a FLUID section through shared page tables, and then the faults
 * by which a second mapping takes over those tables. */
static void fluid_faults(void)
{
    struct bench touch = {0}, pickup = {0};
    const uint64_t bytes = 64 * MIB;
    struct dsc64$descriptor_s d = describe("BENCH_FLUID");
    struct _generic_64 first = make_region(bytes, VA$M_SHARED_PTS),
                       second = make_region(bytes, VA$M_SHARED_PTS);
    void *va, *va2, *gone;
    uint64_t length, length2;

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        volatile char *p;

        bench_need(sys$crmpsc_gdzro_64(&d, 0, 0, bytes, &first, 0, PSL$C_USER,
                                       SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length) &
                   1);
        bench_need(sys$mgblsc_64(&d, 0, &second, 0, 0, PSL$C_USER,
                                 SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va2, &length2) &
                   1);
        p = va;
        bench_start(&touch);
        for (uint64_t at = 0; at < bytes; at += PAGE)
            p[at] = 1;
        bench_stop(&touch);
        p = va2;
        bench_start(&pickup);
        for (uint64_t at = 0; at < bytes; at += 8 * MIB)
            (void)p[at];
        bench_stop(&pickup);
        bench_need(sys$deltva_64(&second, va2, length2, PSL$C_USER, &gone, &length2) & 1);
        bench_need(sys$deltva_64(&first, va, length, PSL$C_USER, &gone, &length) & 1);
    }
    bench_report("fluid_first_touch_page", &touch, bytes / PAGE);
    bench_report("fluid_table_pickup", &pickup, bytes / (8 * MIB));
}

int main(void)
{
    static const struct kind kinds[] = {
        {"alloc_shared_4g", "BENCH_SHARED", 4096 * MIB, VA$M_SHARED_PTS, 1, 0, 4000},
        {"alloc_shared_8g", "BENCH_BLOCK", 8192 * MIB, VA$M_SHARED_PTS, 1, 1, 6000},
        {"alloc_private_1g", "BENCH_PRIVATE", 1024 * MIB, 0, 1, 0, 5},
        {"fluid_shared_1g", "BENCH_FLUID", 1024 * MIB, VA$M_SHARED_PTS, 0, 0, 4000},
        {"fluid_shared_256g", "BENCH_FLUID", 256 * 1024 * MIB, VA$M_SHARED_PTS, 0, 0, 12000},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        measure(&kinds[i]);
    unmapped_meanwhile();
    fluid_faults();
    return missed;
}
