// TAP
// RUN: -m 256M --set NPAGEDYN=1048576 --set NPAGEVIR=2097152
/*
 * Nonpaged pool exhausted: every service that allocates some must return SS$_INSFMEM and leave the
 * state as it was. When some of the pool has been freed, the same call must succeed.
 */
#include <descrip.h>
#include <prtdef.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/mman.h>
#include <tap.h>
#include <vadef.h>

#define PAGE     8192UL
#define MIB      (1UL << 20)
#define REGIONS  20000
#define BUS_PAGE 0x40000000UL /* the first page of PCI memory */

static void *va;
static unsigned __int64 length;
static unsigned prot;
static GENERIC_64 p2 = {{VA$C_P2}}, here, regions[REGIONS];
static unsigned nregions;
static char *first, *last; /* the pages whose map entries fill the pool */
static char *pages;

static struct dsc$descriptor_s there = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "THERE"};
static struct dsc$descriptor_s frames = {6, DSC$K_DTYPE_T, DSC$K_CLASS_S, "FRAMES"};
static struct dsc$descriptor_s other = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "OTHER"};

static int create_region(GENERIC_64 *id)
{
    return sys$create_region_64(PAGE, VA$C_REGION_UCREATE_UOWN, 0, id, &va, &length);
}

/* Create map entries that do not merge, from the low end of the default region, then regions, until
 * neither can be created. */
static void fill(void)
{
    int protection = PROT_READ;
    void *p;

    for (;; protection ^= PROT_WRITE) {
        p = mmap(0, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            break;
        if (!first)
            first = p;
        last = p;
    }
    while (nregions < REGIONS && create_region(&regions[nregions]) == SS$_NORMAL)
        nregions++;
}

static void empty(void)
{
    while (nregions)
        if (sys$delete_region_64(&regions[--nregions], 0, &va, &length) != SS$_NORMAL)
            bail_out("a region does not go");
    munmap(first, (size_t)(last - first) + PAGE);
}

/* ---- the calls ---- */

static int do_region(void) { return create_region(&regions[REGIONS - 1]); }

static int do_create_gdzro(void) { return sys$create_gdzro(&other, 0, 0, 8 * MIB, 0, 0); }

static int do_crmpsc_gdzro(void)
{
    return sys$crmpsc_gdzro_64(&other, 0, 0, 8 * MIB, &p2, 0, 0, SEC$M_EXPREG, &va, &length);
}

static int do_mgblsc(void)
{
    return sys$mgblsc_64(&there, 0, &p2, 0, 0, 0, SEC$M_WRT | SEC$M_EXPREG, &va, &length);
}

static int do_create_gpfile(void) { return sys$create_gpfile(&other, 0, 0, PAGE, 0, 0); }

static int do_crmpsc_gpfile(void)
{
    return sys$crmpsc_gpfile_64(&other, 0, 0, PAGE, &p2, 0, 0, SEC$M_EXPREG, &va, &length);
}

static int do_create_gpfn(void) { return sys$create_gpfn(&other, 0, 0, BUS_PAGE, 1, 0, SEC$M_WRT); }

static int do_crmpsc_gpfn(void)
{
    return sys$crmpsc_gpfn_64(&other, 0, 0, BUS_PAGE, 1, &p2, 0, 0, SEC$M_WRT | SEC$M_EXPREG, &va,
                              &length);
}

static int do_mgblsc_gpfn(void)
{
    return sys$mgblsc_gpfn_64(&frames, 0, &p2, 0, 0, 0, SEC$M_EXPREG, &va, &length);
}

static int do_expreg(void) { return sys$expreg_64(&p2, PAGE, 0, 0, &va, &length); }

static int do_cretva(void)
{
    return sys$cretva_64(&here, pages + 8 * PAGE, PAGE, 0, 0, &va, &length);
}

/* Changes a page in the middle, so that the map entry has to be split. */
static int do_deltva(void) { return sys$deltva_64(&here, pages + PAGE, PAGE, 0, &va, &length); }

static int do_setprt(void)
{
    return sys$setprt_64(pages + 2 * PAGE, PAGE, 0, PRT$C_UR, &va, &length, &prot);
}

static int do_lckpag(void) { return sys$lckpag_64(pages + 2 * PAGE, PAGE, 0, &va, &length); }

static int do_ulkpag(void) { return sys$ulkpag_64(pages + 5 * PAGE, PAGE, 0, &va, &length); }

static const struct {
    const char *name;
    int (*call)(void);
    int refused;
} calls[] = {
    {"$create_region_64", do_region, SS$_INSFMEM},
    {"$create_gdzro", do_create_gdzro, SS$_INSFMEM},
    {"$crmpsc_gdzro_64", do_crmpsc_gdzro, SS$_INSFMEM},
    {"$mgblsc_64", do_mgblsc, SS$_INSFMEM},
    {"$create_gpfile", do_create_gpfile, SS$_INSFMEM},
    {"$crmpsc_gpfile_64", do_crmpsc_gpfile, SS$_INSFMEM},
    {"$create_gpfn", do_create_gpfn, SS$_INSFMEM},
    {"$crmpsc_gpfn_64", do_crmpsc_gpfn, SS$_INSFMEM},
    {"$mgblsc_gpfn_64", do_mgblsc_gpfn, SS$_INSFMEM},
    {"$expreg_64", do_expreg, SS$_INSFMEM},
    {"$cretva_64", do_cretva, SS$_INSFMEM},
    {"$deltva_64", do_deltva, SS$_INSFMEM},
    {"$setprt_64", do_setprt, SS$_INSFMEM},
    {"$lckpag_64", do_lckpag, SS$_LCKPAGFUL},
    {"$ulkpag_64", do_ulkpag, SS$_INSFMEM},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static struct mega_process me(void)
{
    struct mega_process p;

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

static unsigned sections(void)
{
    struct mega_section s;
    unsigned n = 0;

    while (mega$info(MEGA_INFO_SECTION, n, &s, sizeof(s)) == SS$_NORMAL)
        n++;
    return n;
}

int main(void)
{
    struct mega_process before;
    unsigned before_sections;

    is_status(sys$create_gdzro(&there, 0, 0, 8 * MIB, 0, 0), SS$_CREATED_SHPT,
              "a section is created");
    is_status(sys$create_gpfn(&frames, 0, 0, BUS_PAGE, 1, 0, 0), SS$_CREATED,
              "a page-frame section is created");
    is_status(sys$create_region_64(16 * PAGE, VA$C_REGION_UCREATE_UOWN, 0, &here, (void **)&pages,
                                   &length),
              SS$_NORMAL, "a region is created");
    is_status(sys$cretva_64(&here, pages, 4 * PAGE, 0, 0, &va, &length), SS$_NORMAL, "4 pages");
    is_status(sys$cretva_64(&here, pages + 4 * PAGE, 3 * PAGE, 0, 0, &va, &length), SS$_NORMAL,
              "3 pages");
    is_status(sys$lckpag_64(pages + 4 * PAGE, 3 * PAGE, 0, &va, &length), SS$_NORMAL, "locked");
    fill();
    diag("full with %lu map entries and %u regions", (unsigned long)(last - first) / PAGE + 1,
         nregions);
    before = me();
    before_sections = sections();
    for (unsigned k = 0; k < CALLS; k++)
        is_status(calls[k].call(), calls[k].refused, "%s fails without pool", calls[k].name);
    is(me().vsize, before.vsize, "the failed call has mapped and unmapped nothing");
    is(me().pt_pages, before.pt_pages, "the failed call has left no page-table pages");
    is(sections(), before_sections, "the failed call has left no section");
    empty();
    for (unsigned k = 0; k < CALLS; k++) {
        int status = calls[k].call();

        ok(status & 1, "%s succeeds when there is pool (%s)", calls[k].name,
           mega$condition_text(status));
        sys$dgblsc(0, &other, 0); /* deletes what the call created */
    }
    return tap_done();
}
