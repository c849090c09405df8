// TAP
// RUN: -m 512M --set GBLSECTIONS=16 --reserve 'V_ALLOC 8 /ALLOCATE /ZERO /PAGE_TABLES'
// RUN: --reserve 'V_NOPT 8 /ALLOCATE /ZERO /NOPAGE_TABLES' --reserve 'V_PROMISE 8 /NOALLOCATE'
/*
 * Condition values of the services for regions and sections that the other test programs do not
 * produce. Together they produce every row of docs/condition-values.md
 * (tests/test_condition_matrix.py).
 */
#include <descrip.h>
#include <iosbdef.h>
#include <megalith/creds.h>
#include <megalith/services.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <vadef.h>

#define MIB  (1UL << 20)
#define PAGE 8192UL
#define BAD  ((void *)8) /* an address in page 0, which is never mapped */

static void *va;
static unsigned __int64 length;
static GENERIC_64 p0 = {{VA$C_P0}}, p2 = {{VA$C_P2}}, none = {{4711}};

static struct _secid bad_match = {3, {0}};

/* Makes a descriptor that is valid until the next call. */
static void *named(const char *name)
{
    static struct dsc$descriptor_s d;

    d = (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                  (char *)name};
    return &d;
}

static GENERIC_64 region(uint64_t bytes, unsigned flags)
{
    GENERIC_64 id = {{0}};

    is_status(sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &id, &va, &length),
              SS$_NORMAL, "a region of %lu bytes is created", bytes);
    return id;
}

static int in_child(int (*f)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(f());
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int become(struct mega_creds c)
{
    return mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
}

/* ---- invalid argument blocks, which the stubs never pass ---- */

static void blocks(void)
{
    static const struct {
        const char *name;
        long number, fewest, most;
    } services[] = {
        {"sys$create_region_64", VMS_CREATE_REGION_64, 6, 7},
        {"sys$get_region_info", VMS_GET_REGION_INFO, 7, 7},
        {"sys$create_gdzro", VMS_CREATE_GDZRO, 6, 8},
        {"sys$crmpsc_gdzro_64", VMS_CRMPSC_GDZRO_64, 10, 14},
        {"sys$mgblsc_64", VMS_MGBLSC_64, 9, 10},
        {"sys$cretva_64", VMS_CRETVA_64, 7, 7},
        {"sys$setprt_64", VMS_SETPRT_64, 7, 7},
        {"sys$create_gpfn", VMS_CREATE_GPFN, 7, 7},
        {"sys$crmpsc_gpfn_64", VMS_CRMPSC_GPFN_64, 11, 13},
        {"sys$mgblsc_gpfn_64", VMS_MGBLSC_GPFN_64, 9, 10},
        {"sys$crmpsc_gpfile_64", VMS_CRMPSC_GPFILE_64, 10, 12},
        {"sys$getjpi", VMS_GETJPI, 4, 7},
        {"sys$getsyi", VMS_GETSYI, 4, 7},
        {"sys$crelnt", VMS_CRELNT, 7, 9},
        {"sys$crembx", VMS_CREMBX, 2, 9},
        {"sys$qio", VMS_QIO, 3, 12},
        {"sys$getdvi", VMS_GETDVI, 4, 8},
        {"sys$create_bufobj_64", VMS_CREATE_BUFOBJ_64, 7, 7},
        {"sys$creprc", VMS_CREPRC, 12, 16},
    };

    for (unsigned i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        for (int what = 0; what < 3; what++) {
            static const int wanted[] = {SS$_INSFARG, SS$_TOO_MANY_ARGS, SS$_ACCVIO};
            uint64_t block[20] = {(uint64_t)(what ? services[i].most + 1 : services[i].fewest - 1)};
            long status = syscall(services[i].number, what == 2 ? BAD : block, 0, 0, 0, 0, 0);

            mega$service_hook(services[i].name, (int)status);
            is_status((int)status, wanted[what], "%s: %s", services[i].name,
                      what == 2 ? "an argument block that is not readable is refused"
                      : what    ? "an argument block with too many arguments is refused"
                                : "an argument block with too few arguments is refused");
        }
    }
}

/* ---- regions ---- */

static int unprivileged_region(void)
{
    GENERIC_64 id;

    if (become((struct mega_creds){0200, 1, 0, 0, 0}) != SS$_NORMAL)
        return 1;
    return !status_is(sys$create_region_64(8 * MIB, 0, VA$M_PERMANENT, &id, &va, &length),
                      SS$_NOPRIV);
}

static void regions(void)
{
    GENERIC_64 id, here = region(16 * PAGE, 0);
    void *start = va;
    REGSUM sum;

    is_status(sys$create_region_64(PAGE, 0, 0, &id, &va, &length, start), SS$_VA_IN_USE,
              "a region at the address of another one is refused");
    is_status(sys$create_region_64(8 * MIB, 0, 0, &id, &va, &length, (void *)0x40000000000),
              SS$_NOT_PROCESS_VA, "a region beyond user space is refused");
    is_status(sys$create_region_64(1UL << 42, 0, 0, &id, &va, &length), SS$_VASFULL,
              "a region as large as the address space is refused");
    is_status(sys$create_region_64(1UL << 31, 0, VA$M_P0_SPACE, &id, &va, &length), SS$_VASFULL,
              "a region larger than P0 is refused");
    is_status(sys$create_region_64(8 * MIB, 0, 0, &id, BAD, &length), SS$_ACCVIO,
              "$CREATE_REGION_64: output not writable");
    is(in_child(unprivileged_region), 0, "a permanent region requires CMKRNL");
    is_status(sys$delete_region_64(&p2, 0, &va, &length), SS$_NODELPERMANENT,
              "a default region cannot be deleted");
    is_status(sys$delete_region_64(BAD, 0, &va, &length), SS$_ACCVIO,
              "$DELETE_REGION_64: region id not readable");
    is_status(sys$delete_region_64(&here, 0, &va, (void *)((char *)&sum + 4)), SS$_ACCVIO,
              "$DELETE_REGION_64: unaligned output");
    is_status(sys$get_region_info(VA$_REGSUM_BY_ID, &none, 0, 0, sizeof(sum), &sum, &length),
              SS$_IVREGID, "$GET_REGION_INFO: no such region");
    is_status(sys$get_region_info(VA$_REGSUM_BY_ID, &here, 0, 0, sizeof(sum), BAD, &length),
              SS$_ACCVIO, "$GET_REGION_INFO: buffer not writable");

    is_status(sys$deltva_64(BAD, start, PAGE, 0, &va, &length), SS$_ACCVIO,
              "$DELTVA_64: region id not readable");
    is_status(sys$deltva_64(&here, start, PAGE, 0, &va, BAD), SS$_ACCVIO,
              "$DELTVA_64: output not writable");
    is_status(sys$deltva_64(&here, start, PAGE, 4, &va, &length), SS$_IVACMODE,
              "$DELTVA_64: invalid access mode");
    is_status(sys$deltva_64(&none, start, PAGE, 0, &va, &length), SS$_IVREGID,
              "$DELTVA_64: no such region");
    is_status(sys$deltva_64(&here, start, PAGE + 1, 0, &va, &length), SS$_LEN_NOTPAGMULT,
              "$DELTVA_64: length not a multiple of a page");
    is_status(sys$deltva_64(&here, (char *)start + 1, PAGE, 0, &va, &length), SS$_VA_NOTPAGALGN,
              "$DELTVA_64: start address not page-aligned");
    is_status(sys$deltva_64(&here, start, 17 * PAGE, 0, &va, &length), SS$_PAGNOTINREG,
              "$DELTVA_64: length larger than the region");
    is_status(sys$deltva_64(&p2, start, PAGE, 0, &va, &length), SS$_PAGNOTINREG,
              "$DELTVA_64: the region cannot be named by the default region's id");
    is_status(sys$delete_region_64(&here, 0, &va, &length), SS$_NORMAL, "the region is deleted");
    is_status(sys$get_region_info(VA$_NEXT_REGSUM_BY_VA, 0, start, 0, sizeof(sum), &sum, &length),
              SS$_NOMOREREG, "$GET_REGION_INFO: no region above the address");
}

/* ---- sections ---- */

static int create(const char *name, uint64_t bytes, unsigned flags)
{
    return sys$create_gdzro(named(name), 0, 0, bytes, PSL$C_USER, flags);
}

static int crmpsc(const char *name, uint64_t bytes, GENERIC_64 *id, unsigned flags)
{
    return sys$crmpsc_gdzro_64(named(name), 0, 0, bytes, id, 0, 0, flags, &va, &length);
}

static int map(const char *name, GENERIC_64 *id, unsigned flags)
{
    return sys$mgblsc_64(named(name), 0, id, 0, 0, 0, flags, &va, &length);
}

static void creation(void)
{
    $DESCRIPTOR64(other_kind, "V_FILE");
    char name[] = "V_n";

    is_status(create("V", 1UL << 43, 0), SS$_LENVIO,
              "$CREATE_GDZRO: longer than any address space");
    is_status(sys$create_gpfile(&other_kind, 0, 0, 8 * MIB, 0, 0), SS$_CREATED,
              "a page-file-backed section is created");
    is_status(create("V_FILE", 8 * MIB, 0), SS$_GBLSEC_MISMATCH,
              "$CREATE_GDZRO: the name belongs to a page-file-backed section");
    is_status(sys$create_gdzro(named("V"), 0, 0, 8 * MIB, 0, 0, BAD), SS$_ACCVIO,
              "$CREATE_GDZRO: output not writable");
    for (int k = 0; k < 15; k++) {
        name[2] = (char)('a' + k);
        is_status(create(name, PAGE, 0), SS$_CREATED_SHPT, "section %s is created", name);
    }
    is_status(create("V", PAGE, 0), SS$_GSDFULL, "a section more than GBLSECTIONS is refused");
    is_status(crmpsc("V", PAGE, &p2, SEC$M_EXPREG), SS$_GSDFULL,
              "$CRMPSC_GDZRO_64 is refused likewise");
    is_status(sys$create_gpfile(named("V"), 0, 0, PAGE, 0, 0), SS$_GSDFULL,
              "$CREATE_GPFILE is refused likewise");
    is_status(sys$crmpsc_gpfile_64(named("V"), 0, 0, PAGE, &p2, 0, 0, SEC$M_EXPREG, &va, &length),
              SS$_GSDFULL, "$CRMPSC_GPFILE_64 is refused likewise");
    for (int k = 0; k < 15; k++) {
        name[2] = (char)('a' + k);
        is_status(sys$dgblsc(0, named(name), 0), SS$_NORMAL, "section %s is deleted", name);
    }
    is_status(sys$dgblsc(0, &other_kind, 0), SS$_NORMAL, "the page-file-backed section is deleted");
    is_status(sys$dgblsc(0, BAD, 0), SS$_ACCVIO, "$DGBLSC: descriptor not readable");
    is_status(sys$dgblsc(0, named(""), 0), SS$_IVGSDNAM, "$DGBLSC: empty name");
    is_status(sys$dgblsc(SEC$M_PERM, named("V"), 0), SS$_IVSECFLG, "$DGBLSC: invalid flag");
    is_status(sys$dgblsc(0, named("V"), &bad_match), SS$_IVSECIDCTL,
              "$DGBLSC: invalid match control");
}

static int crmpsc_without_right(void)
{
    if (become((struct mega_creds){0200, 1, 0, 0, 0}) != SS$_NORMAL)
        return 1;
    return !status_is(crmpsc("W", 8 * MIB, &p2, SEC$M_EXPREG), SS$_NOMEMRESID) +
           2 * !status_is(crmpsc("V_SHUT", 8 * MIB, &p2, SEC$M_EXPREG | SEC$M_SYSGBL), SS$_NOPRIV);
}

static int crmpsc_without_privileges(void)
{
    if (become((struct mega_creds){0200, 1, 0, 0, MEGA_RIGHTS_ALL}) != SS$_NORMAL)
        return 1;
    return !status_is(crmpsc("W", 8 * MIB, &p2, SEC$M_EXPREG | SEC$M_SYSGBL), SS$_NOSYSGBL) +
           2 * !status_is(crmpsc("W", 8 * MIB, &p2, SEC$M_EXPREG | SEC$M_PERM), SS$_NOPRMGBL);
}

static void create_and_map(void)
{
    GENERIC_64 shared = region(16 * MIB, VA$M_SHARED_PTS);
    char *start = va;
    struct _secid major2 = {SEC$K_MATEQU, {2 << 24}}, version1 = {SEC$K_MATALL, {1 << 24}};
    unsigned __int64 mask = 1UL << 40;
    unsigned flags = SEC$M_EXPREG;

    is_status(crmpsc("V", 8 * MIB, BAD, flags), SS$_ACCVIO,
              "$CRMPSC_GDZRO_64: region id not readable");
    is_status(crmpsc("V", 8 * MIB, &none, flags), SS$_IVREGID, "$CRMPSC_GDZRO_64: no such region");
    is_status(crmpsc("V", 8 * MIB, &p2, SEC$M_PAGFIL), SS$_IVSECFLG,
              "$CRMPSC_GDZRO_64: invalid flag");
    is_status(crmpsc("", 8 * MIB, &p2, flags), SS$_IVGSDNAM, "$CRMPSC_GDZRO_64: empty name");
    is_status(crmpsc("V", 8 * MIB + 1, &p2, flags), SS$_LEN_NOTPAGMULT,
              "$CRMPSC_GDZRO_64: length not a multiple of a page");
    is_status(crmpsc("V", 1UL << 43, &p2, flags), SS$_LENVIO,
              "$CRMPSC_GDZRO_64: longer than any address space");
    is_status(crmpsc("V", 1UL << 40, &p2, flags), SS$_INSFLPGS,
              "$CRMPSC_GDZRO_64: more pages than there is memory");
    is_status(crmpsc("V_ALLOC", 16 * MIB, &p2, flags | SEC$M_SYSGBL), SS$_MRES_PFNSMALL,
              "$CRMPSC_GDZRO_64: more pages than were reserved");
    is_status(crmpsc("V_PROMISE", 16 * MIB, &p2, flags | SEC$M_SYSGBL), SS$_MRES_INCON,
              "$CRMPSC_GDZRO_64: more pages than were promised");
    is_status(crmpsc("V", 1UL << 42, &p2, flags), SS$_VASFULL,
              "$CRMPSC_GDZRO_64: larger than the default region");
    is_status(crmpsc("V", 8 * MIB, &shared, 0), SS$_PAGNOTINREG,
              "$CRMPSC_GDZRO_64: no start address and no SEC$M_EXPREG");
    is_status(
        sys$crmpsc_gdzro_64(named("V"), &bad_match, 0, 8 * MIB, &p2, 0, 0, flags, &va, &length),
        SS$_IVSECIDCTL, "$CRMPSC_GDZRO_64: invalid match control");
    is_status(sys$crmpsc_gdzro_64(named("V"), 0, 0, 8 * MIB, &p2, 0, 4, flags, &va, &length),
              SS$_IVACMODE, "$CRMPSC_GDZRO_64: invalid access mode");
    is_status(sys$crmpsc_gdzro_64(named("V"), 0, 0, 8 * MIB, &p2, 0, 0, flags | SEC$M_RAD_HINT, &va,
                                  &length, 0, 0, 0, mask),
              SS$_BADRAD, "$CRMPSC_GDZRO_64: no such memory domain");
    is_status(sys$crmpsc_gdzro_64(named("V"), 0, 0, 8 * MIB, &p2, 1, 0, flags, &va, &length),
              SS$_OFF_NOTPAGALGN, "$CRMPSC_GDZRO_64: section offset 1");
    is_status(sys$crmpsc_gdzro_64(named("V"), 0, 0, 8 * MIB, &p2, 8 * MIB, 0, flags, &va, &length),
              SS$_OFFSET_TOO_BIG, "$CRMPSC_GDZRO_64: section offset at the end");
    is_status(sys$crmpsc_gdzro_64(named("V"), 0, 0, 8 * MIB, &shared, 0, 0, 0, &va, &length,
                                  start + PAGE),
              SS$_VA_NOTPAGALGN, "$CRMPSC_GDZRO_64: start address not at a multiple of 8 MiB");
    is_status(crmpsc("V_NOPT", 8 * MIB, &shared, flags | SEC$M_SYSGBL), SS$_NOSHPTS,
              "$CRMPSC_GDZRO_64: the section has no shared page tables");
    is_status(crmpsc("V_NOPT", 8 * MIB, &p2, flags | SEC$M_SYSGBL), SS$_CREATED,
              "it can be mapped in a region with private page tables");
    is_status(sys$deltva_64(&p2, va, length, 0, &va, &length), SS$_NORMAL,
              "the mapping is deleted");
    is_status(sys$crmpsc_gdzro_64(named("V"), &version1, 0, 8 * MIB, &shared, 0, 0, 0, &va, &length,
                                  start),
              SS$_CREATED_SHPT, "a section with a version is created");
    is_status(crmpsc("W", 8 * MIB, &shared, 0), SS$_PAGNOTINREG,
              "$CRMPSC_GDZRO_64: mapping an existing section at address 0");
    is_status(sys$crmpsc_gdzro_64(named("W"), 0, 0, 8 * MIB, &shared, 0, 0, 0, &va, &length, start),
              SS$_VA_IN_USE, "$CRMPSC_GDZRO_64: a section is mapped at the start address");
    is_status(sys$crmpsc_gdzro_64(named("V"), &major2, 0, 8 * MIB, &p2, 0, 0, flags, &va, &length),
              SS$_NOSUCHSEC, "$CRMPSC_GDZRO_64: the section has another version");
    is_status(sys$create_gpfile(named("V_FILE"), 0, 0, PAGE, 0, 0), SS$_CREATED,
              "a page-file-backed section is created");
    is_status(crmpsc("V_FILE", PAGE, &p2, flags), SS$_GBLSEC_MISMATCH,
              "$CRMPSC_GDZRO_64: the name belongs to a page-file-backed section");
    is_status(sys$dgblsc(0, named("V_FILE"), 0), SS$_NORMAL,
              "the page-file-backed section is deleted");

    is_status(sys$create_gdzro(named("V_SHUT"), 0, 0xFF00, 8 * MIB, 0, SEC$M_SYSGBL),
              SS$_CREATED_SHPT, "a section that others may not access is created");
    is(in_child(crmpsc_without_right), 0, "an ordinary user is refused creation and access");
    is(in_child(crmpsc_without_privileges), 0,
       "a user with the rights identifier alone is refused");
    is_status(sys$dgblsc(SEC$M_SYSGBL, named("V_SHUT"), 0), SS$_NORMAL, "the section is deleted");

    is_status(mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"GBLPAGES", 2000, 0, 0, 0), SS$_NORMAL,
              "GBLPAGES is set to 2,000");
    is_status(crmpsc("W", 16 * MIB, &p2, flags), SS$_GPTFULL,
              "16 MiB need more than 2,000 global pages");
    is_status(mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"GBLPAGES", 268435456, 0, 0, 0),
              SS$_NORMAL, "GBLPAGES is set to its old value");

    is_status(crmpsc("V_ALLOC", 8 * MIB, &p2, flags | SEC$M_SYSGBL | SEC$M_PERM), SS$_CREATED_SHPT,
              "a section with the name of an ALLOC entry is created and mapped");
    is_status(sys$dgblsc(SEC$M_SYSGBL, named("V_ALLOC"), 0), SS$_NORMAL,
              "the ALLOC section is deleted while it is mapped");
    is_status(crmpsc("V_ALLOC", 8 * MIB, &p2, flags | SEC$M_SYSGBL), SS$_RESERVEDMEMUSED,
              "its reservation is still in use");
    is_status(sys$deltva_64(&p2, va, length, 0, &va, &length), SS$_NORMAL,
              "the last mapping is deleted");
    is_status(sys$delete_region_64(&shared, 0, &va, &length), SS$_NORMAL, "the region is deleted");
}

static void mapping(void)
{
    unsigned flags = SEC$M_EXPREG | SEC$M_WRT;
    GENERIC_64 here = region(16 * MIB, 0);
    char *start = va;

    is_status(create("M", 8 * MIB, 0), SS$_CREATED_SHPT, "a section is created");
    is_status(map("M", BAD, flags), SS$_ACCVIO, "$MGBLSC_64: region id not readable");
    is_status(sys$mgblsc_64(named("M"), 0, &p2, 0, 0, 0, flags, &va, BAD), SS$_ACCVIO,
              "$MGBLSC_64: output not writable");
    is_status(map("M", &p2, flags | SEC$M_PFNMAP), SS$_IVSECFLG, "$MGBLSC_64: invalid flag");
    is_status(map("", &p2, flags), SS$_IVGSDNAM, "$MGBLSC_64: empty name");
    is_status(sys$mgblsc_64(named("M"), &bad_match, &p2, 0, 0, 0, flags, &va, &length),
              SS$_IVSECIDCTL, "$MGBLSC_64: invalid match control");
    is_status(sys$mgblsc_64(named("M"), 0, &p2, 0, 0, 4, flags, &va, &length), SS$_IVACMODE,
              "$MGBLSC_64: invalid access mode");
    is_status(sys$mgblsc_64(named("M"), 0, &p2, 0, PAGE + 1, 0, flags, &va, &length),
              SS$_LEN_NOTPAGMULT, "$MGBLSC_64: length not a multiple of a page");
    is_status(sys$mgblsc_64(named("M"), 0, &here, 0, 0, 0, SEC$M_WRT, &va, &length, start),
              SS$_NORMAL, "$MGBLSC_64 maps at a start address");
    is_status(sys$mgblsc_64(named("M"), 0, &here, 0, 0, 0, SEC$M_WRT, &va, &length, start),
              SS$_VA_IN_USE, "$MGBLSC_64: a section is mapped at the start address");
    is_status(sys$dgblsc(0, named("M"), 0), SS$_NORMAL, "deleted");
    is_status(sys$delete_region_64(&here, 0, &va, &length), SS$_NORMAL, "the region is deleted");
    /* P0 is 1 GiB long. Page 0 is never mapped, so a section of 256 MiB fits into it three
     * times. */
    is_status(create("M", 256 * MIB, 0), SS$_CREATED_SHPT,
              "a section of a quarter of P0 is created");
    for (int k = 0; k < 3; k++)
        is_status(map("M", &p0, flags), SS$_NORMAL, "$MGBLSC_64 maps it in P0");
    is_status(map("M", &p0, flags), SS$_VASFULL, "$MGBLSC_64: P0 has no free space");
    is_status(sys$deltva_64(&p0, (void *)PAGE, (1UL << 30) - PAGE, 0, &va, &length), SS$_NORMAL,
              "the mappings in P0 are deleted");
    is_status(sys$dgblsc(0, named("M"), 0), SS$_NORMAL, "deleted");
}

int main(void)
{
    blocks();
    regions();
    creation();
    create_and_map();
    mapping();
    return tap_done();
}
