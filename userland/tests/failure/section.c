/* Services for global sections of each kind, through shared and through private page tables. */
#include "failure.h"

#include <descrip.h>
#include <gen64def.h>
#include <megalith/services.h>
#include <prtdef.h>
#include <secdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/syscall.h>
#include <tap.h>
#include <vadef.h>

#define BUS_PAGE 0x40000000ul /* the first page of PCI memory */
#define WHERE    (SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT)

enum type { RESIDENT, PAGE_FILE, FRAMES };

struct kind {
    const char *name; /* of the section; some have an entry in the registry */
    uint64_t length;  /* bytes */
    enum type type;
    bool shared; /* map it in a region with shared page tables */
    bool permanent;
};

/* The section and mapping of the current scenario. */
static const struct kind *kind;
static GENERIC_64 region;
static void *va, *start;
static unsigned __int64 length;
static bool created; /* the section was created by this scenario */
static long child;

static struct dsc$descriptor_s named(void)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(kind->name), DSC$K_DTYPE_T,
                                     DSC$K_CLASS_S, (char *)kind->name};
}

/* ---- calls ---- */

static long create(void)
{
    struct dsc$descriptor_s d = named();
    int r;

    switch (kind->type) {
    case RESIDENT:
        r = sys$create_gdzro(&d, 0, 0, kind->length, 0, SEC$M_SYSGBL);
        break;
    case PAGE_FILE:
        r = sys$create_gpfile(&d, 0, 0, kind->length, 0, SEC$M_SYSGBL | SEC$M_PERM);
        break;
    default:
        r = sys$create_gpfn(&d, 0, 0, BUS_PAGE, kind->length / PAGE, 0, SEC$M_SYSGBL | SEC$M_PERM);
    }
    if (r & 1)
        created = true;
    return r;
}

static long create_and_map(void)
{
    struct dsc$descriptor_s d = named();
    unsigned flags = WHERE | (kind->permanent ? SEC$M_PERM : 0);
    int r;

    switch (kind->type) {
    case RESIDENT:
        r = sys$crmpsc_gdzro_64(&d, 0, 0, kind->length, &region, 0, 0, flags, &va, &length);
        break;
    case PAGE_FILE:
        r = sys$crmpsc_gpfile_64(&d, 0, 0, kind->length, &region, 0, 0, flags, &va, &length);
        break;
    default:
        r = sys$crmpsc_gpfn_64(&d, 0, 0, BUS_PAGE, kind->length / PAGE, &region, 0, 0,
                               flags & ~SEC$M_WRT, &va, &length);
    }
    if ((r & 1) && kind->permanent)
        created = true;
    return r;
}

static long map(void)
{
    struct dsc$descriptor_s d = named();

    if (kind->type == FRAMES)
        return sys$mgblsc_gpfn_64(&d, 0, &region, 0, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                                  &length);
    return sys$mgblsc_64(&d, 0, &region, 0, 0, 0, WHERE, &va, &length);
}

static long delete_name(void)
{
    struct dsc$descriptor_s d = named();
    int r = sys$dgblsc(SEC$M_SYSGBL, &d, 0);

    if (r & 1)
        created = false;
    return r;
}

/* Where the mapping is split: with shared page tables at the end of a level-3 span. */
static char *cut(void) { return (char *)va + (kind->shared ? PIECE : 4 * PAGE); }
static uint64_t cut_length(void)
{
    return !kind->shared ? 4 * PAGE : kind->length > 4 * PIECE ? 2 * PIECE : kind->length - PIECE;
}

static long delete_part(void)
{
    void *v;
    unsigned __int64 n;

    return sys$deltva_64(&region, cut(), cut_length(), 0, &v, &n);
}

static long protect_part(void)
{
    unsigned __int64 n;
    unsigned prot;
    void *v;

    return sys$setprt_64(cut(), cut_length(), 0, PRT$C_UR, &v, &n, &prot);
}

static long lock_part(void)
{
    unsigned __int64 n;
    void *v;

    return sys$lckpag_64(cut(), 4 * PAGE, 0, &v, &n);
}

static long fork_with_it(void)
{
    long pid = raw6(SYS_fork, 0, 0, 0, 0, 0, 0);

    if (pid == 0) {
        if (kind->type != FRAMES)
            ((volatile char *)va)[0] = 2;
        raw6(SYS_exit, 7, 0, 0, 0, 0, 0);
    }
    child = pid;
    return pid;
}

/* ---- preparation ---- */

static void begin(const struct kind *k)
{
    uint64_t room = k->shared ? (k->length > BLOCK ? 3 * BLOCK : 4 * PIECE) : k->length + 64 * PAGE;

    kind = k;
    if (sys$create_region_64(room, VA$C_REGION_UCREATE_UOWN, k->shared ? VA$M_SHARED_PTS : 0,
                             &region, &start, &length) != SS$_NORMAL)
        bail_out("no region for %s", k->name);
}

static void there(const struct kind *k)
{
    begin(k);
    if (!(create() & 1))
        bail_out("no section %s", k->name);
}

static void mapped(const struct kind *k)
{
    there(k);
    if (!(map() & 1))
        bail_out("section %s is not mapped", k->name);
    if (k->type != FRAMES)
        *(char *)va = 1;
}

static void forked(const struct kind *k)
{
    long pid;

    mapped(k);
    pid = raw6(SYS_fork, 0, 0, 0, 0, 0, 0);
    if (pid == 0)
        raw6(SYS_exit, 0, 0, 0, 0, 0, 0);
    raw6(SYS_wait4, (unsigned long)pid, 0, 0, 0, 0, 0);
    warm_up();
    settle();
}

/* ---- effects ---- */

static void end(void)
{
    if (child > 0)
        raw6(SYS_wait4, (unsigned long)child, 0, 0, 0, 0, 0);
    child = 0;
    sys$delete_region_64(&region, 0, &va, &length);
    if (created)
        delete_name();
}

static bool works(long r)
{
    (void)r;
    if (kind->type == FRAMES)
        return length == kind->length;
    ((char *)va)[PAGE] = 5;
    return ((char *)va)[PAGE] == 5 && length == kind->length;
}

static bool is_cut(long r)
{
    struct mega_process p;

    return r == SS$_NORMAL && mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p)) == SS$_NORMAL &&
           p.section_pages == (kind->length - cut_length()) / PAGE;
}

static bool child_shared(long r)
{
    int status = 0;

    if (r <= 0 || raw6(SYS_wait4, (unsigned long)r, (unsigned long)&status, 0, 0, 0, 0) != r)
        return false;
    child = 0;
    return status == 7 << 8 && (kind->type == FRAMES || *(volatile char *)va == 2);
}

/* ---- kinds of sections ---- */

#define KIND(id, ...)                                                      \
    static const struct kind id = {__VA_ARGS__};                           \
    static void __attribute__((unused)) id##_begin(void) { begin(&id); }   \
    static void __attribute__((unused)) id##_there(void) { there(&id); }   \
    static void __attribute__((unused)) id##_mapped(void) { mapped(&id); } \
    static void __attribute__((unused)) id##_forked(void) { forked(&id); }

KIND(alloc_shared, "FAIL_ALLOC", 2 * PIECE, RESIDENT, true, false)
KIND(alloc_private, "FAIL_ALLOC", 2 * PIECE, RESIDENT, false, false)
KIND(alloc_bare, "FAIL_BARE", 2 * PIECE, RESIDENT, false, false)
KIND(promised_shared, "FAIL_PROMISED", 2 * PIECE, RESIDENT, true, false)
KIND(fluid_shared, "FLUID", 2 * PIECE, RESIDENT, true, false)
KIND(fluid_private, "FLUID", 2 * PIECE, RESIDENT, false, false)
KIND(fluid_blocks, "LARGE", BLOCK + 4 * PIECE, RESIDENT, true, false)
KIND(page_file, "PAGE_FILE", 64 * PAGE, PAGE_FILE, false, false)
KIND(frames, "FRAMES", 64 * PAGE, FRAMES, false, false)
/* A permanent section that one call creates and maps. */
KIND(alloc_permanent, "FAIL_ALLOC", 2 * PIECE, RESIDENT, true, true)
KIND(fluid_permanent, "FLUID", 2 * PIECE, RESIDENT, true, true)
KIND(page_file_permanent, "PAGE_FILE", 64 * PAGE, PAGE_FILE, false, true)
KIND(frames_permanent, "FRAMES", 64 * PAGE, FRAMES, false, true)

#define ONE(name_, call_, prepare_, act_, effect_, ...) \
    {.name = name_,                                     \
     .call = (call_),                                   \
     .prepare = prepare_,                               \
     .act = act_,                                       \
     .effect = effect_,                                 \
     .undo = end,                                       \
     __VA_ARGS__}

#define CREATE(what, id, call_) ONE("create: " what, call_, id##_begin, create, NULL, .flags = 0)
#define CREATE_AND_MAP(what, id, call_) \
    ONE("create and map: " what, call_, id##_begin, create_and_map, works, .flags = 0)
#define MAP(what, id, call_) ONE("map: " what, call_, id##_there, map, works, .flags = 0)
#define DELETE_PART(what, id)                                                 \
    ONE("$deltva_64: " what, VMS_DELTVA_64, id##_mapped, delete_part, is_cut, \
        .right = {{MEGA_ALLOC_SHARE, SS$_INSFMEM}})
#define FORK(what, id) \
    ONE("fork: " what, SYS_fork, id##_forked, fork_with_it, child_shared, .flags = 0)

const struct scenario section_scenarios[] = {
    CREATE("ALLOC", alloc_shared, VMS_CREATE_GDZRO),
    CREATE("ALLOC without tables", alloc_bare, VMS_CREATE_GDZRO),
    CREATE("FLUID, promised at boot", promised_shared, VMS_CREATE_GDZRO),
    CREATE("FLUID", fluid_shared, VMS_CREATE_GDZRO),
    CREATE("FLUID, large", fluid_blocks, VMS_CREATE_GDZRO),
    CREATE("page file", page_file, VMS_CREATE_GPFILE),
    CREATE("page frames", frames, VMS_CREATE_GPFN),
    CREATE_AND_MAP("ALLOC, shared", alloc_shared, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("ALLOC, private", alloc_private, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("ALLOC without tables", alloc_bare, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("FLUID, promised at boot", promised_shared, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("FLUID, shared", fluid_shared, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("FLUID, private", fluid_private, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("FLUID, large", fluid_blocks, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("page file", page_file, VMS_CRMPSC_GPFILE_64),
    CREATE_AND_MAP("page frames", frames, VMS_CRMPSC_GPFN_64),
    CREATE_AND_MAP("ALLOC, permanent", alloc_permanent, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("FLUID, permanent", fluid_permanent, VMS_CRMPSC_GDZRO_64),
    CREATE_AND_MAP("page file, permanent", page_file_permanent, VMS_CRMPSC_GPFILE_64),
    CREATE_AND_MAP("page frames, permanent", frames_permanent, VMS_CRMPSC_GPFN_64),
    MAP("ALLOC, shared", alloc_shared, VMS_MGBLSC_64),
    MAP("ALLOC, private", alloc_private, VMS_MGBLSC_64),
    MAP("ALLOC without tables", alloc_bare, VMS_MGBLSC_64),
    MAP("FLUID, shared", fluid_shared, VMS_MGBLSC_64),
    MAP("FLUID, private", fluid_private, VMS_MGBLSC_64),
    MAP("FLUID, large", fluid_blocks, VMS_MGBLSC_64),
    MAP("page file", page_file, VMS_MGBLSC_64),
    MAP("page frames", frames, VMS_MGBLSC_GPFN_64),
    DELETE_PART("ALLOC, shared", alloc_shared),
    DELETE_PART("ALLOC, private", alloc_private),
    DELETE_PART("FLUID, shared", fluid_shared),
    DELETE_PART("FLUID, private", fluid_private),
    DELETE_PART("FLUID, out of a shared level-2 page", fluid_blocks),
    DELETE_PART("page file", page_file),
    DELETE_PART("page frames", frames),
    ONE("$setprt_64: ALLOC, private", VMS_SETPRT_64, alloc_private_mapped, protect_part, NULL,
        .right = {{MEGA_ALLOC_SHARE, SS$_INSFMEM}}),
    ONE("$setprt_64: FLUID, private", VMS_SETPRT_64, fluid_private_mapped, protect_part, NULL,
        .right = {{MEGA_ALLOC_SHARE, SS$_INSFMEM}}),
    ONE("$setprt_64: page file", VMS_SETPRT_64, page_file_mapped, protect_part, NULL,
        .right = {{MEGA_ALLOC_SHARE, SS$_INSFMEM}}),
    ONE("$lckpag_64: FLUID, private", VMS_LCKPAG_64, fluid_private_mapped, lock_part, NULL,
        .flags = NOTHING),
    ONE("$lckpag_64: page file", VMS_LCKPAG_64, page_file_mapped, lock_part, NULL, .flags = HALFWAY,
        .right = {{ANY_KIND, SS$_LCKPAGFUL}}),
    ONE("$dgblsc", VMS_DGBLSC, fluid_shared_there, delete_name, NULL, .flags = NOTHING),
    ONE("$dgblsc, page file", VMS_DGBLSC, page_file_there, delete_name, NULL, .flags = NOTHING),
    FORK("ALLOC, shared", alloc_shared),
    FORK("ALLOC, private", alloc_private),
    FORK("FLUID, shared", fluid_shared),
    FORK("FLUID, private", fluid_private),
    FORK("FLUID, large", fluid_blocks),
    FORK("page file", page_file),
    FORK("page frames", frames),
    {0},
};
