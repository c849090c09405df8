/* Page frames: a driver that takes a reservation and exposes it or not, and page-frame sections of
 * its frames or of memory that PHYSICAL_MEMORY excludes from use by the system. */
#include "walk.h"

#include <iledef.h>
#include <secdef.h>
#include <syidef.h>

#define DRIVER       "WALK_DRIVER" /* the driver's entry in the registry of the run */
#define FRAMES       512ul         /* number of frames of each of the two */
#define PAGES_PER_MB 128

/* The two kinds of sections have different names, because their contents differ: the pattern of a
   frame depends on its offset in the section. */
static const struct {
    const char *name;
    bool of_driver;
} names[] = {{"WALK_SHOWN", true}, {"WALK_ASIDE", false}};

#define TAG 0x180 /* differs from the tags of other sections */

static const int create_errors[] = {SS$_DUPLNAM, SS$_INVPFN, SS$_GSDFULL, SS$_INSFMEM, 0};
static const int map_errors[] = {
    SS$_NOSUCHSEC, SS$_INVPFN,        SS$_ILLRELPAG, SS$_ILLPAGCNT, SS$_NOSHPTS,
    SS$_REGISFULL, SS$_PAGNOTINREG,   SS$_VASFULL,   SS$_GSDFULL,   SS$_INSFMEM,
    SS$_DUPLNAM,   SS$_VA_NOTPAGALGN, SS$_VA_IN_USE, SS$_IVREGID,   0};
static const int delete_errors[] = {SS$_NOSUCHSEC, 0};
static const int driver_errors[] = {SS$_NORESERVEDMEM, SS$_RESERVEDMEMUSED, SS$_INSFMEM, 0};

static struct dsc64$descriptor described(unsigned k)
{
    return (struct dsc64$descriptor){1,  DSC64$K_DTYPE_T,       DSC64$K_CLASS_S,
                                     -1, strlen(names[k].name), (char *)names[k].name};
}

static int driver(unsigned operation, uint64_t arg)
{
    return mega$control(MEGA_CTL_DRIVER, operation, (uint64_t)DRIVER, arg, 0, 0);
}

/* 0 if no section may show it: the driver has no frames, or no memory is excluded. */
static uint64_t first_frame(unsigned k)
{
    struct mega_driver_unit unit;
    uint32_t megabytes = 0;
    ILE3 items[] = {{sizeof(megabytes), SYI$_PHYSICAL_MEMORY, &megabytes, NULL},
                    {0, 0, NULL, NULL}};

    if (names[k].of_driver)
        return driver(MEGA_DRIVER_QUERY, (uint64_t)&unit) == SS$_NORMAL ? unit.first_pfn : 0;
    sys$getsyiw(0, NULL, NULL, items, NULL, NULL, 0);
    return megabytes == UINT32_MAX ? 0 : (uint64_t)megabytes * PAGES_PER_MB;
}

void op_driver(void)
{
    static const struct {
        unsigned operation;
        uint64_t arg;
    } asked[] = {{MEGA_DRIVER_TAKE, FRAMES},
                 {MEGA_DRIVER_EXPOSE, 1},
                 {MEGA_DRIVER_EXPOSE, 0},
                 {MEGA_DRIVER_RELEASE, 0}};
    unsigned k = (unsigned)draw(4);
    int status = driver(asked[k].operation, asked[k].arg);

    note(29, (uint64_t)status);
    if (expected("MEGA_CTL_DRIVER", status, driver_errors) && k == 0)
        made(MADE_DRIVER);
}

void op_create_frames(void)
{
    unsigned k = (unsigned)draw(2);
    struct dsc64$descriptor d = described(k);
    int status = sys$create_gpfn(&d, NULL, 0, first_frame(k), FRAMES, 0, SEC$M_SYSGBL | SEC$M_WRT);

    note(30, (uint64_t)status);
    expected("$create_gpfn", status, create_errors);
}

void op_map_frames(void)
{
    unsigned k = (unsigned)draw(2);
    struct dsc64$descriptor d = described(k);
    uint64_t at = draw(2) ? 0 : draw(FRAMES + 4), n = draw(2) ? 0 : 1 + draw(FRAMES), length = 0;
    uint32_t flags = SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT;
    struct _generic_64 id;
    int region = choose_region(&id), status;
    void *va = NULL;

    if (draw(2))
        status = sys$mgblsc_gpfn_64(&d, NULL, &id, at, n, 3, flags, &va, &length);
    else
        status = sys$crmpsc_gpfn_64(&d, NULL, 0, first_frame(k), FRAMES, &id, at, 3, flags, &va,
                                    &length, NULL, n);
    note(31, (uint64_t)status);
    if (!expected("$mgblsc_gpfn_64 or $crmpsc_gpfn_64", status, map_errors))
        return;
    made(names[k].of_driver ? MADE_SHOWN : MADE_ASIDE);
    section_mapped(TAG + k, SECTION, region, va, length, at * PAGE, true);
}

void op_delete_frames(void)
{
    struct dsc64$descriptor d = described((unsigned)draw(2));
    int status = sys$dgblsc(SEC$M_SYSGBL, &d, NULL);

    note(32, (uint64_t)status);
    expected("$dgblsc", status, delete_errors);
}

void frames_delete(void)
{
    for (unsigned k = 0; k < 2; k++) {
        struct dsc64$descriptor d = described(k);

        sys$dgblsc(SEC$M_SYSGBL, &d, NULL);
    }
}

void driver_release(void)
{
    driver(MEGA_DRIVER_EXPOSE, 0);
    driver(MEGA_DRIVER_RELEASE, 0);
}
