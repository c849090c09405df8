// TAP
// RUN: -m 256M
/*
 * Every pointer argument of every service gets every kind of bad pointer. The service must return
 * SS$_ACCVIO and have no effect.
 *
 * A valid call is made invalid in one pointer at a time, then in several at random. After each
 * refused call sections, regions, the fluid count and the mappings of the process are as before.
 */
#include <descrip.h>
#include <iledef.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <lnmdef.h>
#include <megalith/services.h>
#include <prtdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <syidef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tap.h>
#include <vadef.h>

#define PAGE     8192UL
#define MIB      (1UL << 20)
#define BUS_PAGE 0x40000000UL /* the first page of PCI memory */
#define MOST     14
#define SEED     20260311UL

/* The data that valid arguments point to. */
static struct dsc$descriptor_s fresh = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "FRESH"};
static struct dsc$descriptor_s there = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "THERE"};
static struct dsc$descriptor_s frames = {6, DSC$K_DTYPE_T, DSC$K_CLASS_S, "FRAMES"};
static struct dsc$descriptor_s program = {13, DSC$K_DTYPE_T, DSC$K_CLASS_S, "bad_arguments"};
static struct dsc$descriptor_s node = {8, DSC$K_DTYPE_T, DSC$K_CLASS_S, "MEGALITH"};
static struct dsc$descriptor_s nowhere = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)8};
static struct _secid ident;
static uint64_t nothing, no_privilege, out[4], p2 = VA$C_P2, region, victim;
static REGSUM summary;
static unsigned prot_out, pid, csid;
static IOSB iosb;
static char *pages, *hole, *victim_va; /* hole: a page of the region where nothing is mapped */
static ILE3 jpi[] = {{8, JPI$_PID, &nothing, 0}, {0, 0, 0, 0}};
static struct dsc$descriptor_s job = {7, DSC$K_DTYPE_T, DSC$K_CLASS_S, "LNM$JOB"};
static unsigned no_attributes;
static struct mega_memory told;
static char translation[256];
static ILE3 lnm[] = {{4, LNM$_STRING, "TEXT", 0}, {0, 0, 0, 0}};
static ILE3 ask[] = {{255, LNM$_STRING, translation, 0}, {0, 0, 0, 0}};
static ILE3 syi[] = {{8, SYI$_PAGE_SIZE, &nothing, 0}, {0, 0, 0, 0}};

/*
 * Kinds of arguments.
 *   v  a value
 *   Pointers to data that the service reads:
 *   d  descriptor          n  descriptor, optional (may be 0)
 *   r  quadword            i  identity, optional
 *   l  item list           m  anything, optional
 *   Pointers to data that the service writes:
 *   o  quadword            O  quadword, optional
 *   w  longword            s  status block, optional
 *   b  buffer              p  longword, read and written, optional
 */
struct service {
    const char *name;
    long number;
    bool block;
    const char *kinds;
    uint64_t right[MOST];
    int (*undo)(void); /* undoes a call that succeeded */
};

static bool aligned(char kind) { return strchr("roOw", kind) != NULL; }
static bool optional(char kind) { return strchr("imnOsp", kind) != NULL; }
static bool written(char kind) { return strchr("oOwbsp", kind) != NULL; }
static bool described(char kind) { return kind == 'd' || kind == 'n'; }

/* ---- undoing a call that succeeded ---- */

static int none(void) { return SS$_NORMAL; }
static int unmap(void)
{
    void *va;
    unsigned __int64 length;

    return sys$deltva_64((void *)&p2, (void *)out[1], out[2], 0, &va, &length);
}
static int drop_fresh(void) { return sys$dgblsc(0, &fresh, 0); }
static int drop_region(void)
{
    void *va;
    unsigned __int64 length;

    return sys$delete_region_64((void *)&out[0], 0, &va, &length);
}
static int make_victim(void)
{
    unsigned __int64 length;

    return sys$create_region_64(PAGE, 0, 0, (void *)&victim, (void **)&victim_va, &length);
}
static int make_there(void) { return sys$create_gdzro(&there, 0, 0, 8 * MIB, 0, 0); }
static int make_pages(void)
{
    void *va;
    unsigned __int64 length;

    return sys$cretva_64((void *)&region, pages, 2 * PAGE, 0, 0, &va, &length);
}
static int clear_hole(void)
{
    void *va;
    unsigned __int64 length;

    return sys$deltva_64((void *)&region, hole, PAGE, 0, &va, &length);
}
static int clear_expansion(void)
{
    void *va;
    unsigned __int64 length;

    return sys$deltva_64((void *)&region, (void *)out[1], out[2], 0, &va, &length);
}
static int unlock(void)
{
    void *va;
    unsigned __int64 length;

    return sys$ulkpag_64(pages, PAGE, 0, &va, &length);
}

static int drop_logical(void) { return sys$dellnm(&job, &fresh, NULL); }
static int make_logical(void) { return sys$crelnm(NULL, &job, &there, NULL, lnm); }

#define A(pointer) ((uint64_t)(pointer))
#define OUT        A(&out[1]), A(&out[2])
#define HINT       (SEC$M_RAD_HINT)
#define MAPS       (SEC$M_EXPREG | SEC$M_WRT)

static struct service services[] = {
    {"sys$create_region_64",
     VMS_CREATE_REGION_64,
     true,
     "vvvooov",
     {PAGE, 0, 0, A(&out[0]), OUT, 0},
     drop_region},
    {"sys$delete_region_64",
     VMS_DELETE_REGION_64,
     false,
     "rvoo",
     {A(&victim), 0, OUT},
     make_victim},
    {"sys$get_region_info",
     VMS_GET_REGION_INFO,
     true,
     "vrvvvbO",
     {0, A(&region), 0, 0, sizeof(summary), A(&summary), A(&out[3])},
     none},
    {"sys$create_gdzro",
     VMS_CREATE_GDZRO,
     true,
     "divvvvOv",
     {A(&fresh), A(&ident), 0, 8 * MIB, 0, HINT, A(&out[3]), 1},
     drop_fresh},
    {"sys$crmpsc_gdzro_64",
     VMS_CRMPSC_GDZRO_64,
     true,
     "divvrvvvoovvOv",
     {A(&fresh), A(&ident), 0, 8 * MIB, A(&p2), 0, 0, HINT | SEC$M_EXPREG, OUT, 0, 0, A(&out[3]),
      1},
     unmap},
    {"sys$mgblsc_64",
     VMS_MGBLSC_64,
     true,
     "dirvvvvoov",
     {A(&there), A(&ident), A(&p2), 0, 0, 0, MAPS, OUT, 0},
     unmap},
    {"sys$deltva_64",
     VMS_DELTVA_64,
     false,
     "rvvvoo",
     {A(&region), 0, 2 * PAGE, 0, OUT},
     make_pages},
    {"sys$dgblsc", VMS_DGBLSC, false, "vdi", {0, A(&there), A(&ident)}, make_there},
    {"sys$create_gpfn",
     VMS_CREATE_GPFN,
     true,
     "divvvvv",
     {A(&fresh), A(&ident), 0, BUS_PAGE, 1, 0, 0},
     drop_fresh},
    {"sys$crmpsc_gpfn_64",
     VMS_CRMPSC_GPFN_64,
     true,
     "divvvrvvvoovv",
     {A(&fresh), A(&ident), 0, BUS_PAGE, 1, A(&p2), 0, 0, MAPS, OUT, 0, 0},
     unmap},
    {"sys$mgblsc_gpfn_64",
     VMS_MGBLSC_GPFN_64,
     true,
     "dirvvvvoov",
     {A(&frames), A(&ident), A(&p2), 0, 0, 0, SEC$M_EXPREG, OUT, 0},
     unmap},
    {"sys$create_gpfile",
     VMS_CREATE_GPFILE,
     false,
     "divvvv",
     {A(&fresh), A(&ident), 0, PAGE, 0, 0},
     drop_fresh},
    {"sys$crmpsc_gpfile_64",
     VMS_CRMPSC_GPFILE_64,
     true,
     "divvrvvvoovv",
     {A(&fresh), A(&ident), 0, PAGE, A(&p2), 0, 0, SEC$M_EXPREG, OUT, 0, 0},
     unmap},
    {"sys$cretva_64", VMS_CRETVA_64, true, "rvvvvoo", {A(&region), 0, PAGE, 0, 0, OUT}, clear_hole},
    {"sys$expreg_64",
     VMS_EXPREG_64,
     false,
     "rvvvoo",
     {A(&region), PAGE, 0, 0, OUT},
     clear_expansion},
    {"sys$setprt_64",
     VMS_SETPRT_64,
     true,
     "vvvvoow",
     {0, PAGE, 0, PRT$C_UW, OUT, A(&prot_out)},
     none},
    {"sys$lckpag_64", VMS_LCKPAG_64, false, "vvvoo", {0, PAGE, 0, OUT}, unlock},
    {"sys$ulkpag_64", VMS_ULKPAG_64, false, "vvvoo", {0, PAGE, 0, OUT}, none},
    {"sys$getjpi",
     VMS_GETJPI,
     true,
     "vpnlsvv",
     {0, A(&pid), A(&program), A(jpi), A(&iosb), 0, 0},
     none},
    {"sys$getsyi",
     VMS_GETSYI,
     true,
     "vmnlsvv",
     {0, A(&csid), A(&node), A(syi), A(&iosb), 0, 0},
     none},
    {"sys$crelnm",
     VMS_CRELNM,
     false,
     "mddvm",
     {A(&no_attributes), A(&job), A(&fresh), 0, A(lnm)},
     drop_logical},
    {"sys$trnlnm",
     VMS_TRNLNM,
     false,
     "mddvm",
     {A(&no_attributes), A(&job), A(&there), 0, A(ask)},
     none},
    {"sys$dellnm", VMS_DELLNM, false, "dnv", {A(&job), A(&there), 0}, make_logical},
    {"sys$setprv", VMS_SETPRV, false, "vmvO", {1, A(&no_privilege), 0, A(&out[3])}, none},
    {"mega$info",
     MEGA_SYS_INFO,
     false,
     "vvbv",
     {MEGA_INFO_MEMORY, 0, A(&told), sizeof(told)},
     none},
};
#define SERVICES (sizeof(services) / sizeof(services[0]))

/* Fills in the arguments that are known only when the pages have been created. */
static void complete(void)
{
    for (unsigned i = 0; i < SERVICES; i++)
        switch (services[i].number) {
        case VMS_DELTVA_64:
            services[i].right[1] = A(pages);
            break;
        case VMS_CRETVA_64:
            services[i].right[1] = A(hole);
            break;
        case VMS_SETPRT_64:
        case VMS_LCKPAG_64:
        case VMS_ULKPAG_64:
            services[i].right[0] = A(pages);
            break;
        default:
            break;
        }
}

static int call(const struct service *s, const uint64_t *a)
{
    uint64_t block[MOST + 1];
    unsigned n = (unsigned)strlen(s->kinds);
    long status;

    pid = 0;
    /* The flag by which a POSIX call returns an error is in the register of the fourth argument.
     * For services it does not change. If it is set, the C library returns -1 and errno, which is
     * the condition value. */
    if (s->block) {
        block[0] = n;
        memcpy(block + 1, a, n * sizeof(*a));
        status = syscall(s->number, block, 0, 0, 0, 0, 0);
    } else {
        errno = 0;
        status = syscall(s->number, a[0], n > 1 ? a[1] : 0, n > 2 ? a[2] : 0, n > 3 ? a[3] : 0,
                         n > 4 ? a[4] : 0, n > 5 ? a[5] : 0);
        if (status == -1 && errno)
            status = errno;
    }
    mega$service_hook(s->name, (int)status);
    return (int)status;
}

/* ---- state that must not change ---- */

struct state {
    uint64_t sections, regions, promised, fluid, vsize, pt_pages, privileges, uic;
};

static struct state state(void)
{
    struct mega_section section;
    struct mega_region r;
    struct mega_memory m;
    struct mega_process p;
    struct state now = {0};

    while (mega$info(MEGA_INFO_SECTION, (long)now.sections, &section, sizeof(section)) & 1)
        now.sections++;
    for (r.id = 0; mega$info(MEGA_INFO_REGION, (long)r.id, &r, sizeof(r)) & 1;)
        now.regions++;
    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    now.promised = m.promised_unused;
    now.fluid = m.fluid;
    now.vsize = p.vsize;
    now.pt_pages = p.pt_pages;
    now.privileges = p.privileges;
    now.uic = (uint64_t)p.uic_group << 32 | p.uic_member;
    return now;
}

static bool same(struct state a, struct state b) { return memcmp(&a, &b, sizeof(a)) == 0; }

/* ---- bad pointers ---- */

static char *edge, *read_only; /* the page after edge's is not accessible */

#define BADS 12

/* The k-th bad pointer for an argument of this kind, or 0 if that pointer would be valid. */
static uint64_t bad(char kind, uint64_t right, unsigned k)
{
    static const uint64_t wild[] = {8,
                                    0x1FF8,
                                    0x40000000000,
                                    0x7FFFFFFFFFFFFFF8,
                                    0xFFFFFC0000310000,
                                    0xFFFFFE0000000000,
                                    0xFFFFFFFE00000000,
                                    0xFFFFFFFFFFFFFFF8};

    switch (k) {
    case 8:
        return A(edge) + PAGE;
    case 9:
        return A(edge) + PAGE - (kind == 'p' || kind == 'w' || kind == 'm' ? 2 : 4);
    case 10:
        return aligned(kind) ? right + 2 : described(kind) ? A(&nowhere) : 0;
    case 11:
        return written(kind) ? A(read_only) : 0;
    default:
        return wild[k];
    }
}

/* Make one pointer bad at a time. Sets the number of calls and of those that did not return
 * SS$_ACCVIO. */
static unsigned one_by_one(const struct service *s, unsigned *wrong, unsigned *changed)
{
    unsigned calls = 0;
    uint64_t a[MOST];

    for (unsigned i = 0; s->kinds[i]; i++) {
        if (s->kinds[i] == 'v')
            continue;
        for (unsigned k = 0; k <= BADS; k++) {
            uint64_t pointer = k < BADS ? bad(s->kinds[i], s->right[i], k) : 0;
            struct state before;

            if (pointer == 0 && (k < BADS || optional(s->kinds[i])))
                continue;
            memcpy(a, s->right, sizeof(a));
            a[i] = pointer;
            before = state();
            calls++;
            if (call(s, a) != SS$_ACCVIO && ++*wrong < 4)
                diag("%s: argument %u, %#lx", s->name, i, pointer);
            *changed += !same(before, state());
        }
    }
    return calls;
}

static uint64_t seed = SEED;

static uint64_t next(void)
{
    seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    return seed >> 33;
}

/* Make several pointers bad at random, also 0. Returns the number of refused calls that changed the
 * state. */
static unsigned at_random(const struct service *s, unsigned rounds)
{
    unsigned changed = 0;
    uint64_t a[MOST];

    while (rounds--) {
        struct state before = state();

        memcpy(a, s->right, sizeof(a));
        for (unsigned i = 0; s->kinds[i]; i++)
            if (s->kinds[i] != 'v' && next() % 3 == 0)
                a[i] = bad(s->kinds[i], s->right[i], (unsigned)(next() % BADS));
        if (call(s, a) & 1)
            s->undo();
        else
            changed += !same(before, state());
    }
    return changed;
}

int main(void)
{
    unsigned __int64 length;
    char *start;

    edge = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(edge, 0x11, PAGE);
    mprotect(edge + PAGE, PAGE, PROT_NONE);
    read_only = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(read_only, 0, PAGE);
    mprotect(read_only, PAGE, PROT_READ);
    is_status(sys$create_region_64(64 * PAGE, 0, 0, (void *)&region, (void **)&start, &length),
              SS$_NORMAL, "a region is created");
    pages = start;
    hole = start + 4 * PAGE;
    is_status(make_pages(), SS$_NORMAL, "pages are created in it");
    is_status(make_victim(), SS$_NORMAL, "a region for other calls to delete is created");
    is_status(make_there(), SS$_CREATED_SHPT, "a section is created");
    is_status(make_logical(), SS$_NORMAL, "a logical name is created");
    is_status(sys$create_gpfn(&frames, 0, 0, BUS_PAGE, 1, 0, 0), SS$_CREATED,
              "a page-frame section is created");
    complete();
    diag("seed %lu", SEED);
    for (unsigned i = 0; i < SERVICES; i++) {
        const struct service *s = &services[i];
        unsigned wrong = 0, changed = 0, calls;
        int status = call(s, s->right);

        ok((status & 1) && (s->undo() & 1), "%s succeeds with valid arguments (%s)", s->name,
           mega$condition_text(status));
        at_random(s, 5); /* allocates what the first calls allocate for good */
        calls = one_by_one(s, &wrong, &changed);
        ok(calls > 10 && wrong == 0, "%s: SS$_ACCVIO for %u bad pointers (%u other results)",
           s->name, calls, wrong);
        is(changed, 0, "%s: no refused call changes the state", s->name);
        is(at_random(s, 60), 0, "%s: no call with several bad pointers changes the state", s->name);
    }
    return tap_done();
}
