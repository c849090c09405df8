/* Services for regions and for private memory in them. */
#include "failure.h"

#include <gen64def.h>
#include <megalith/services.h>
#include <prtdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/mman.h>
#include <tap.h>
#include <vadef.h>

#define A(p)  ((unsigned long)(p))
#define PAGES 16ul

static GENERIC_64 region, p2 = {{VA$C_P2}};
static void *va, *start;
static unsigned __int64 length;
static unsigned prot;

/* Places for outputs in an untouched page. */
#define COLD_ID   ((GENERIC_64 *)COLD)
#define COLD_VA   ((void **)(COLD + 8))
#define COLD_LEN  ((unsigned __int64 *)(COLD + 16))
#define COLD_PROT ((unsigned *)(COLD + 24))

static void nothing(void) { region.gen64$q_quadword = 0; }

static void outputs(void)
{
    nothing();
    cold_make();
}

static void make_region(void)
{
    cold_make();
    if (sys$create_region_64(64 * PAGE, VA$C_REGION_UCREATE_UOWN, 0, &region, &start, &length) !=
        SS$_NORMAL)
        bail_out("no region");
}

static void make_shared_region(void)
{
    if (sys$create_region_64(4 * PIECE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &start,
                             &length) != SS$_NORMAL)
        bail_out("no region");
}

/* A region with memory at its start. */
static void make_memory(void)
{
    make_region();
    if (sys$cretva_64(&region, start, PAGES * PAGE, 0, 0, &va, &length) != SS$_NORMAL)
        bail_out("no memory");
    for (unsigned i = 0; i < PAGES; i++)
        ((char *)start)[i * PAGE] = (char)(i + 1);
}

static void make_locked(void)
{
    make_memory();
    sys$lckpag_64(start, PAGES * PAGE, 0, &va, &length);
}

static void drop(void)
{
    cold_drop();
    if (region.gen64$q_quadword)
        sys$delete_region_64(&region, 0, &va, &length);
    region.gen64$q_quadword = 0;
}

static long create(void)
{
    return sys$create_region_64(64 * PAGE, VA$C_REGION_UCREATE_UOWN, 0, &region, &va, &length);
}

static long create_in_p0(void)
{
    return sys$create_region_64(64 * PAGE, VA$C_REGION_UCREATE_UOWN, VA$M_P0_SPACE, &region, &va,
                                &length);
}

static long create_shared(void)
{
    return sys$create_region_64(4 * PIECE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                                &length);
}

/* The outputs are probed first, so if they cannot be written nothing has been created. */
static long create_cold(void)
{
    return sys$create_region_64(64 * PAGE, VA$C_REGION_UCREATE_UOWN, 0, COLD_ID, COLD_VA, COLD_LEN);
}

static bool created_cold(long r)
{
    region = *COLD_ID;
    return r == SS$_NORMAL && *COLD_LEN == 64 * PAGE;
}

static void drop_cold(void) { drop(); }

static long delete(void)
{
    long r = sys$delete_region_64(&region, 0, &va, &length);

    if (r & 1)
        region.gen64$q_quadword = 0;
    return r;
}

static long delete_cold(void)
{
    long r = sys$delete_region_64(&region, 0, COLD_VA, COLD_LEN);

    if (r & 1)
        region.gen64$q_quadword = 0;
    return r;
}

static long info(void)
{
    return sys$get_region_info(VA$_REGSUM_BY_ID, &region, 0, 0, VA$C_REGSUM_LENGTH, COLD_ID,
                               (unsigned __int64 *)(COLD + 64));
}

static bool knows_id(long r)
{
    return r == SS$_NORMAL && COLD_ID->gen64$q_quadword == region.gen64$q_quadword;
}

static long cretva(void) { return sys$cretva_64(&region, start, 4 * PAGE, 0, 0, &va, &length); }
static long cretva_cold(void)
{
    return sys$cretva_64(&region, start, 4 * PAGE, 0, 0, COLD_VA, COLD_LEN);
}
static long cretva_middle(void)
{
    return sys$cretva_64(&region, (char *)start + 4 * PAGE, 4 * PAGE, 0, 0, &va, &length);
}
static long expreg(void) { return sys$expreg_64(&region, 4 * PAGE, 0, 0, &va, &length); }
static long expreg_p2(void) { return sys$expreg_64(&p2, 4 * PAGE, 0, 0, &va, &length); }
static long expreg_cold(void) { return sys$expreg_64(&region, 4 * PAGE, 0, 0, COLD_VA, COLD_LEN); }
static long deltva(void)
{
    return sys$deltva_64(&region, (char *)start + 4 * PAGE, 4 * PAGE, 0, &va, &length);
}
static long deltva_cold(void)
{
    return sys$deltva_64(&region, (char *)start + 4 * PAGE, 4 * PAGE, 0, COLD_VA, COLD_LEN);
}
static long setprt(void)
{
    return sys$setprt_64((char *)start + 4 * PAGE, 4 * PAGE, 0, PRT$C_UR, &va, &length, &prot);
}
static long setprt_cold(void)
{
    return sys$setprt_64((char *)start + 4 * PAGE, 4 * PAGE, 0, PRT$C_UR, COLD_VA, COLD_LEN,
                         COLD_PROT);
}
static long lckpag(void)
{
    return sys$lckpag_64((char *)start + 4 * PAGE, 4 * PAGE, 0, &va, &length);
}
static long lckpag_cold(void)
{
    return sys$lckpag_64((char *)start + 4 * PAGE, 4 * PAGE, 0, COLD_VA, COLD_LEN);
}
static long ulkpag(void)
{
    return sys$ulkpag_64((char *)start + 4 * PAGE, 4 * PAGE, 0, &va, &length);
}
static long ulkpag_cold(void)
{
    return sys$ulkpag_64((char *)start + 4 * PAGE, 4 * PAGE, 0, COLD_VA, COLD_LEN);
}

static bool zero_in_middle(long r)
{
    const char *p = start;

    return r == SS$_NORMAL && p[3 * PAGE] == 4 && p[4 * PAGE] == 0 && p[7 * PAGE] == 0 &&
           p[8 * PAGE] == 9;
}

static bool is_usable(long r)
{
    *(char *)va = 1;
    return r == SS$_NORMAL && length == 4 * PAGE;
}

static void drop_p2(void)
{
    if (va && length)
        munmap(va, 4 * PAGE);
    va = NULL;
}

static void nothing_in_p2(void) { va = NULL; }

static bool hole_in_middle(long r)
{
    const char *p = start;

    return r == SS$_NORMAL && madvise((char *)start + 4 * PAGE, PAGE, 6) != 0 && p[3 * PAGE] == 4 &&
           p[8 * PAGE] == 9;
}

static bool locked_is(uint64_t n)
{
    struct mega_process p;

    return mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p)) == SS$_NORMAL && p.locked == n;
}

static bool four_locked(long r) { return r == SS$_WASCLR && locked_is(4); }
static bool twelve_locked(long r) { return r == SS$_WASSET && locked_is(12); }

/* Untouched memory in a region. */
static void make_untouched(void)
{
    make_region();
    if (sys$cretva_64(&region, start, PAGES * PAGE, 0, 0, &va, &length) != SS$_NORMAL)
        bail_out("no memory");
}

const struct scenario region_scenarios[] = {
    WITH("$create_region_64", VMS_CREATE_REGION_64, nothing, create, NULL, 0),
    WITH("$create_region_64 in P0", VMS_CREATE_REGION_64, nothing, create_in_p0, NULL, 0),
    WITH("$create_region_64, shared tables", VMS_CREATE_REGION_64, nothing, create_shared, NULL, 0),
    {.name = "$create_region_64, untouched outputs",
     .call = VMS_CREATE_REGION_64,
     .prepare = outputs,
     .act = create_cold,
     .effect = created_cold,
     .undo = drop_cold,
     .flags = WARM},
    WITH("$delete_region_64", VMS_DELETE_REGION_64, make_memory, delete, NULL, NOTHING),
    WITH("$delete_region_64, shared tables", VMS_DELETE_REGION_64, make_shared_region, delete, NULL,
         NOTHING),
    WITH("$delete_region_64, untouched outputs", VMS_DELETE_REGION_64, make_memory, delete_cold,
         NULL, 0),
    WITH("$get_region_info", VMS_GET_REGION_INFO, make_region, info, knows_id, 0),
    WITH("$cretva_64", VMS_CRETVA_64, make_region, cretva, is_usable, 0),
    WITH("$cretva_64, untouched outputs", VMS_CRETVA_64, make_region, cretva_cold, NULL, WARM),
    WITH("$cretva_64 in the middle", VMS_CRETVA_64, make_memory, cretva_middle, zero_in_middle, 0),
    WITH("$expreg_64", VMS_EXPREG_64, make_region, expreg, is_usable, 0),
    WITH("$expreg_64, untouched outputs", VMS_EXPREG_64, make_region, expreg_cold, NULL, WARM),
    {.name = "$expreg_64 in P2",
     .call = VMS_EXPREG_64,
     .prepare = nothing_in_p2,
     .act = expreg_p2,
     .effect = is_usable,
     .undo = drop_p2},
    WITH("$deltva_64 in the middle", VMS_DELTVA_64, make_memory, deltva, hole_in_middle, 0),
    WITH("$deltva_64, untouched outputs", VMS_DELTVA_64, make_memory, deltva_cold, hole_in_middle,
         WARM),
    WITH("$setprt_64 in the middle", VMS_SETPRT_64, make_memory, setprt, NULL, 0),
    WITH("$setprt_64, untouched outputs", VMS_SETPRT_64, make_memory, setprt_cold, NULL, WARM),
    {.name = "$lckpag_64",
     .call = VMS_LCKPAG_64,
     .prepare = make_memory,
     .act = lckpag,
     .effect = four_locked,
     .undo = drop,
     .right = {{ANY_KIND, SS$_LCKPAGFUL}}},
    {.name = "$lckpag_64, untouched memory",
     .call = VMS_LCKPAG_64,
     .prepare = make_untouched,
     .act = lckpag,
     .effect = four_locked,
     .undo = drop,
     .flags = WARM,
     .right = {{ANY_KIND, SS$_LCKPAGFUL}}},
    {.name = "$lckpag_64, untouched outputs",
     .call = VMS_LCKPAG_64,
     .prepare = make_memory,
     .act = lckpag_cold,
     .effect = four_locked,
     .undo = drop,
     .flags = WARM,
     .right = {{IN_FAULT, SS$_ACCVIO}, {ANY_KIND, SS$_LCKPAGFUL}}},
    WITH("$ulkpag_64", VMS_ULKPAG_64, make_locked, ulkpag, twelve_locked, 0),
    WITH("$ulkpag_64, untouched outputs", VMS_ULKPAG_64, make_locked, ulkpag_cold, twelve_locked,
         WARM),
    {0},
};
