// TAP
// RUN: -m 512M --reserve 'TEST_ALLOC 32 /ALLOCATE /ZERO /PAGE_TABLES'
// RUN: --reserve 'TEST_NOPT 24 /ALLOCATE /ZERO /NOPAGE_TABLES'
// RUN: --reserve 'TEST_PROMISE 24 /NOALLOCATE'
/*
 * Regions and sections as a program sees them: the services in the order of the OpenVMS guides;
 * each error with its own condition value; what fork, exec, exit and deletion do to shares; and
 * that no page contains data of another process.
 */
#include <descrip.h>
#include <megalith/registry.h>
#include <psldef.h>
#include <setjmp.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>
#include <vadef.h>

#define MIB  (1UL << 20)
#define PAGE 8192UL

static void *va;
static unsigned __int64 length;

static GENERIC_64 region(uint64_t bytes, unsigned flags)
{
    GENERIC_64 id = {{0}};
    int status = sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &id, &va, &length);

    if (status != SS$_NORMAL)
        diag("a region of %lu bytes: %s", bytes, mega$condition_text(status));
    return id;
}

static struct dsc$descriptor_s named(const char *name)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};

    return d;
}

static int find(const char *name, struct mega_section *s)
{
    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, s, sizeof(*s)) == SS$_NORMAL; i++)
        if (strcmp(s->name, name) == 0)
            return 1;
    return 0;
}

static uint64_t shares(const char *name)
{
    struct mega_section s;

    return find(name, &s) ? s.shares : UINT64_MAX;
}

static uint64_t promised(void)
{
    struct mega_memory m;

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m.promised_unused;
}

static int create(const char *name, uint64_t bytes, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$create_gdzro(&d, 0, 0, bytes, 0, flags | SEC$M_SYSGBL);
}

static int map(const char *name, GENERIC_64 *id, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$mgblsc_64(&d, 0, id, 0, 0, 0, flags | SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length);
}

static int dgblsc(const char *name)
{
    struct dsc$descriptor_s d = named(name);

    return sys$dgblsc(SEC$M_SYSGBL, &d, 0);
}

/* ---- the reservations that this program needs ---- */

/* As options of scripts/run, and as mega$info returns them. The RUN lines above are the same. */
static const struct {
    const char *option, *name;
    uint64_t bytes;
    unsigned flags;
} needed[] = {
    {"'TEST_ALLOC 32 /ALLOCATE /ZERO /PAGE_TABLES'", "TEST_ALLOC", 32 * MIB,
     RMD_ALLOC | RMD_PAGE_TABLES},
    {"'TEST_NOPT 24 /ALLOCATE /ZERO /NOPAGE_TABLES'", "TEST_NOPT", 24 * MIB, RMD_ALLOC},
    {"'TEST_PROMISE 24 /NOALLOCATE'", "TEST_PROMISE", 24 * MIB, RMD_PAGE_TABLES},
};
#define NEEDED (sizeof(needed) / sizeof(needed[0]))

static int is_reserved(unsigned k)
{
    struct mega_reserved r;

    for (int i = 0; mega$info(MEGA_INFO_RESERVED, i, &r, sizeof(r)) == SS$_NORMAL; i++)
        if (strcmp(r.name, needed[k].name) == 0)
            return r.npages == needed[k].bytes / PAGE &&
                   (r.flags & (RMD_ALLOC | RMD_PAGE_TABLES)) == needed[k].flags;
    return 0;
}

static void need_reservations(void)
{
    char options[400] = "";
    int missing = 0;

    for (unsigned k = 0; k < NEEDED; k++) {
        strcat(strcat(options, " --reserve "), needed[k].option);
        if (is_reserved(k))
            continue;
        diag("there is no reservation %s", needed[k].option);
        missing++;
    }
    if (missing)
        bail_out("start with: scripts/run%s -- /tests/section_services", options);
}

/* ---- the steps of the guides ---- */

static void guided_tour(void)
{
    $DESCRIPTOR64(name, "TOUR");
    GENERIC_64 id = region(16 * MIB, VA$M_SHARED_PTS);
    struct _secid ident = {SEC$K_MATALL, {0}};
    unsigned __int64 gone;
    uint64_t *p;
    void *where;
    int status;

    ok((uint64_t)va % (16 * MIB) == 0 && length == 16 * MIB,
       "a region is created, aligned to its length");
    status = sys$crmpsc_gdzro_64(&name, &ident, 0, 12 * MIB, &id, 0, PSL$C_USER,
                                 SEC$M_DZRO | SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length);
    is_status(status, SS$_CREATED_SHPT,
              "$CRMPSC_GDZRO_64 creates a section with shared page tables");
    is(length, 12 * MIB, "all of the section is mapped");
    p = va;
    is(p[12 * MIB / 8 - 1], 0, "its last word is zero");
    p[0] = 42;
    where = va;
    is(shares("TOUR"), 1, "the section has one share");
    status = sys$crmpsc_gdzro_64(&name, &ident, 0, 12 * MIB, &id, 0, PSL$C_USER,
                                 SEC$M_DZRO | SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length);
    is_status(status, SS$_REGISFULL, "a second mapping does not fit into the region");
    id = region(16 * MIB, VA$M_SHARED_PTS);
    status = sys$crmpsc_gdzro_64(&name, &ident, 0, 12 * MIB, &id, 0, PSL$C_USER,
                                 SEC$M_DZRO | SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length, 0,
                                 8 * MIB);
    is_status(status, SS$_NORMAL, "in another region the section is mapped, not created");
    ok(length == 8 * MIB && *(uint64_t *)va == 42,
       "8 MiB of it are mapped, and show the same pages");
    is_status(sys$delete_region_64(&id, PSL$C_USER, &va, &gone), SS$_NORMAL,
              "the second region is deleted");
    is(gone, 16 * MIB, "its length of 16 MiB is returned");
    is(*(uint64_t *)where, 42, "the first mapping still exists");
    is(shares("TOUR"), 1, "the section has one share");
    id.gen64$q_quadword = 16;
    is_status(sys$deltva_64(&id, where, 12 * MIB, PSL$C_USER, &va, &gone), SS$_NORMAL,
              "the first mapping is deleted");
    is(shares("TOUR"), UINT64_MAX, "the temporary section is gone");
    is_status(sys$delete_region_64(&id, PSL$C_USER, &va, &gone), SS$_NORMAL,
              "the first region is deleted");
}

/* ---- each error has its own value ---- */

static void region_errors(void)
{
    GENERIC_64 id = region(8 * MIB, 0);
    char *page = mmap(0, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GENERIC_64 none = {{4711}};
    REGSUM sum;
    unsigned __int64 n;

    is_status(sys$create_region_64(8 * MIB, 0, 0, (GENERIC_64 *)page, &va, &length), SS$_ACCVIO,
              "$CREATE_REGION_64: read-only output");
    is_status(sys$create_region_64(8 * MIB, 0, 0, &none, (void **)1, &length), SS$_ACCVIO,
              "$CREATE_REGION_64: unaligned output");
    is_status(
        sys$create_region_64(8 * MIB, 0, 0, &none, &va, (unsigned __int64 *)0xFFFFFC0000310000),
        SS$_ACCVIO, "$CREATE_REGION_64: output in the kernel's memory");
    is(none.gen64$q_quadword, 4711, "refused calls write no output");
    is_status(sys$create_region_64(8 * MIB + 1, 0, 0, &none, &va, &length), SS$_LEN_NOTPAGMULT,
              "$CREATE_REGION_64: length not a multiple of a page");
    is_status(sys$create_region_64(4 * MIB, 0, VA$M_SHARED_PTS, &none, &va, &length),
              SS$_LEN_NOTPAGMULT,
              "$CREATE_REGION_64: length with shared page tables not a multiple of 8 MiB");
    is_status(
        sys$create_region_64(8 * MIB, 0, VA$M_SHARED_PTS, &none, &va, &length, (void *)0x300002000),
        SS$_VA_NOTPAGALGN,
        "$CREATE_REGION_64: start with shared page tables not a multiple of 8 MiB");
    is_status(sys$create_region_64(8 * MIB, 0, 0x1000, &none, &va, &length), SS$_IVREGFLG,
              "$CREATE_REGION_64: unknown flag");
    is_status(sys$create_region_64(8 * MIB, 0x12, 0, &none, &va, &length), SS$_IVREGPROT,
              "$CREATE_REGION_64: invalid protection");
    is_status(sys$delete_region_64(&none, 0, &va, &length), SS$_IVREGID,
              "$DELETE_REGION_64: no such region");
    is_status(sys$delete_region_64(&id, 7, &va, &length), SS$_IVACMODE,
              "$DELETE_REGION_64: invalid access mode");
    is_status(sys$get_region_info(VA$_REGSUM_BY_ID, &id, 0, 0, sizeof(sum), &sum, &n), SS$_NORMAL,
              "$GET_REGION_INFO returns a region by its id");
    ok(n == sizeof(sum) && sum.va$q_region_size == 8 * MIB &&
           sum.va$pq_first_free_va == sum.va$pq_start_va,
       "it returns the size and addresses of the region");
    is_status(sys$get_region_info(VA$_REGSUM_BY_ID, &id, 0, 0, 8, &sum, &n), SS$_BUFFEROVF,
              "a buffer that is too short gets the first bytes");
    is_status(sys$get_region_info(9, &id, 0, 0, sizeof(sum), &sum, &n), SS$_BADPARAM,
              "$GET_REGION_INFO: unknown function");
    is_status(sys$delete_region_64(&id, 0, &va, &length), SS$_NORMAL, "the region is deleted");
    munmap(page, 2 * PAGE);
}

static void section_errors(void)
{
    GENERIC_64 shared = region(32 * MIB, VA$M_SHARED_PTS), plain = region(32 * MIB, 0),
               none = {{99}};
    struct dsc$descriptor_s d = named("");
    struct _secid bad = {3, {0}};
    unsigned __int64 mask = 2;

    is_status(create("E", 8 * MIB + 1, 0), SS$_LEN_NOTPAGMULT,
              "$CREATE_GDZRO: length not a multiple of a page");
    is_status(create("E", 0, 0), SS$_LEN_NOTPAGMULT, "$CREATE_GDZRO: length 0");
    is_status(create("", 8 * MIB, 0), SS$_IVGSDNAM, "$CREATE_GDZRO: empty name");
    is_status(create("A2345678901234567890123456789012345678901234", 8 * MIB, 0), SS$_IVGSDNAM,
              "$CREATE_GDZRO: name of 44 characters");
    is_status(create("A:B", 8 * MIB, 0), SS$_IVGSDNAM, "$CREATE_GDZRO: colon in the name");
    is_status(create("E", 8 * MIB, SEC$M_PAGFIL), SS$_IVSECFLG, "$CREATE_GDZRO: invalid flag");
    is_status(sys$create_gdzro((void *)8, 0, 0, 8 * MIB, 0, 0), SS$_ACCVIO,
              "$CREATE_GDZRO: descriptor not readable");
    d.dsc$w_length = 5;
    d.dsc$a_pointer = (char *)8;
    is_status(sys$create_gdzro(&d, 0, 0, 8 * MIB, 0, 0), SS$_ACCVIO,
              "$CREATE_GDZRO: name not readable");
    d = named("E");
    is_status(sys$create_gdzro(&d, &bad, 0, 8 * MIB, 0, 0), SS$_IVSECIDCTL,
              "$CREATE_GDZRO: invalid match control");
    is_status(sys$create_gdzro(&d, 0, 0, 8 * MIB, 4, 0), SS$_IVACMODE,
              "$CREATE_GDZRO: invalid access mode");
    is_status(sys$create_gdzro(&d, 0, 0, 8 * MIB, 0, SEC$M_RAD_HINT, 0, mask), SS$_BADRAD,
              "$CREATE_GDZRO: no such memory domain");
    is_status(create("E", 1UL << 40, 0), SS$_INSFLPGS,
              "$CREATE_GDZRO: more pages than there is memory");
    is_status(create("TEST_ALLOC", 40 * MIB, 0), SS$_MRES_PFNSMALL,
              "$CREATE_GDZRO: more pages than were reserved");
    is_status(map("E", &shared, SEC$M_WRT), SS$_NOSUCHSEC, "$MGBLSC_64: no such section");
    is_status(create("E", 20 * MIB, 0), SS$_CREATED_SHPT, "a section is created");
    is_status(create("E", 20 * MIB, 0), SS$_DUPLNAM, "$CREATE_GDZRO: the section exists");
    is_status(create("_E", 20 * MIB, 0), SS$_DUPLNAM, "an underscore before a name does not count");
    is_status(create("e", 8 * MIB, 0), SS$_CREATED_SHPT, "names are case-sensitive");
    is_status(map("E", &none, SEC$M_WRT), SS$_IVREGID, "$MGBLSC_64: no such region");
    is_status(map("E", &shared, 0), SS$_NOSHPTS,
              "$MGBLSC_64: a reader in a region with shared page tables");
    is_status(map("E", &plain, 0), SS$_NORMAL, "a reader maps it in an ordinary region");
    is_status(sys$mgblsc_64(&d, 0, &shared, PAGE, 0, 0, SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG,
                            &va, &length),
              SS$_OFF_NOTPAGALGN, "$MGBLSC_64: section offset not a multiple of a page");
    is_status(sys$mgblsc_64(&d, 0, &shared, 24 * MIB, 0, 0, SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG,
                            &va, &length),
              SS$_OFFSET_TOO_BIG, "$MGBLSC_64: section offset after the end");
    is_status(sys$mgblsc_64(&d, 0, &shared, 0, 24 * MIB, 0, SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG,
                            &va, &length),
              SS$_LENVIO, "$MGBLSC_64: length larger than the section");
    is_status(sys$mgblsc_64(&d, 0, &shared, 0, 0, 0, SEC$M_SYSGBL | SEC$M_WRT, &va, &length,
                            (void *)0x200000),
              SS$_VA_NOTPAGALGN, "$MGBLSC_64: start address not at a multiple of 8 MiB");
    is_status(sys$mgblsc_64(&d, 0, &shared, 0, 0, 0, SEC$M_SYSGBL | SEC$M_WRT, &va, &length,
                            (void *)0x300000000),
              SS$_PAGNOTINREG, "$MGBLSC_64: start address outside the region");
    is_status(map("E", &shared, SEC$M_WRT), SS$_NORMAL, "the section is mapped");
    is_status(map("E", &shared, SEC$M_WRT), SS$_REGISFULL,
              "another mapping does not fit into the region");
    is_status(sys$deltva_64(&shared, (char *)va + PAGE, 8 * MIB, 0, &va, &length),
              SS$_VA_NOTPAGALGN, "$DELTVA_64: half of an 8 MiB span");
    is(munmap((char *)va + PAGE, PAGE), -1, "munmap of such a part is refused");
    is(mprotect(va, PAGE, PROT_READ), -1, "mprotect of such a part is refused");
    ok(mmap(va, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED,
       "no private page is mapped in the region");
    is_status(dgblsc("E"), SS$_NORMAL, "the section is deleted");
    is_status(dgblsc("nowhere"), SS$_NOSUCHSEC, "$DGBLSC: no such section");
    is_status(dgblsc("e"), SS$_NORMAL, "the section is deleted");
    is_status(sys$delete_region_64(&shared, 0, &va, &length), SS$_NORMAL, "the region is deleted");
    is_status(sys$delete_region_64(&plain, 0, &va, &length), SS$_NORMAL,
              "the other region is deleted");
    is(shares("E"), UINT64_MAX, "no section is left");
}

/* ---- shares over fork, exec and exit ---- */

static int wait_for(pid_t pid)
{
    int status = -1;

    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void shares_over_fork(void)
{
    GENERIC_64 id = region(32 * MIB, VA$M_SHARED_PTS);
    uint64_t before = promised();
    volatile uint64_t *p;
    struct mega_section s;
    int go[2];
    pid_t pid;
    char c;

    is_status(create("TEST_ALLOC", 32 * MIB, 0), SS$_CREATED_SHPT, "an ALLOC section is created");
    is_status(map("TEST_ALLOC", &id, SEC$M_WRT), SS$_NORMAL, "the section is mapped");
    p = va;
    p[0] = 1;
    ok(pipe(go) == 0, "a pipe is created");
    pid = fork();
    if (pid == 0) {
        close(go[1]);
        p[1] = p[0] + 1;
        if (read(go[0], &c, 1) != 0)
            _exit(1);
        execl("/bin/true", "true", (char *)0);
        _exit(2);
    }
    close(go[0]);
    while (__atomic_load_n(&p[1], __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
    is(p[1], 2, "the child writes to the same page as the parent");
    is(shares("TEST_ALLOC"), 2, "fork has taken a share");
    is_status(dgblsc("TEST_ALLOC"), SS$_NORMAL, "the section is marked for deletion");
    is_status(sys$delete_region_64(&id, 0, &va, &length), SS$_NORMAL,
              "the parent deletes its mapping");
    is(shares("TEST_ALLOC"), 1, "the child's share keeps the section");
    is_status(create("TEST_ALLOC", 32 * MIB, 0), SS$_RESERVEDMEMUSED,
              "its reservation is in use, and its name is free");
    close(go[1]);
    is(wait_for(pid), 0, "the child execs, which drops its share");
    is(shares("TEST_ALLOC"), UINT64_MAX, "the section is gone");
    id = region(32 * MIB, VA$M_SHARED_PTS);
    is_status(create("TEST_ALLOC", 16 * MIB, 0), SS$_CREATED_SHPT,
              "the reservation can be used again");
    is_status(map("TEST_ALLOC", &id, SEC$M_WRT), SS$_NORMAL, "the section is mapped");
    p = va;
    ok(p[0] == 0 && p[1] == 0, "its pages are zero");
    ok(find("TEST_ALLOC", &s) && s.l3_ptes[3] == 2048 && s.gh_errors == 0,
       "all PTEs have a hint of 512 pages");
    pid = fork();
    if (pid == 0) {
        *(volatile int *)0 = 0;
        _exit(3);
    }
    ok(WIFSIGNALED(wait_for(pid)), "a child that has mapped the section is killed");
    is(shares("TEST_ALLOC"), 1, "its share is dropped");
    sys$delete_region_64(&id, 0, &va, &length);
    is(shares("TEST_ALLOC"), 0, "a permanent section exists without mappings");
    dgblsc("TEST_ALLOC");
    is(promised(), before, "as many pages are promised as before");
}

static void fluid_and_private(void)
{
    GENERIC_64 shared = region(24 * MIB, VA$M_SHARED_PTS), plain = region(24 * MIB, 0);
    uint64_t before = promised();
    struct mega_process a, b;
    struct mega_section s;
    char *one, *two;

    is_status(create("TEST_NOPT", 24 * MIB, 0), SS$_CREATED,
              "a section on an entry without page tables has no shared page tables");
    is_status(map("TEST_NOPT", &shared, SEC$M_WRT), SS$_NOSHPTS,
              "it cannot be mapped in a region with shared page tables");
    mega$info(MEGA_INFO_PROCESS, -1, &a, sizeof(a));
    is_status(map("TEST_NOPT", &plain, SEC$M_WRT), SS$_NORMAL,
              "it can be mapped in an ordinary region");
    one = va;
    memset(one + 23 * MIB, 7, MIB);
    mega$info(MEGA_INFO_PROCESS, -1, &b, sizeof(b));
    ok(b.pt_pages - a.pt_pages >= 3, "at least three private level-3 pages are needed");
    ok(find("TEST_NOPT", &s) && s.l3_ptes[3] == 3072 && s.gh_errors == 0 && s.made_valid == 0,
       "all PTEs are filled in at once with 512-page hints, without faults");
    is_status(sys$deltva_64(&plain, va, 24 * MIB, 0, &va, &length), SS$_NORMAL, "unmapped");
    dgblsc("TEST_NOPT");

    is_status(create("TEST_PROMISE", 24 * MIB, 0), SS$_CREATED_SHPT,
              "a section on an entry without allocation is FLUID");
    is_status(map("TEST_PROMISE", &shared, SEC$M_WRT), SS$_NORMAL,
              "it is mapped with shared page tables");
    one = va;
    is_status(map("TEST_PROMISE", &plain, SEC$M_WRT), SS$_NORMAL,
              "it is mapped with private page tables");
    two = va;
    one[9 * MIB] = 5;
    is(two[9 * MIB], 5, "both mappings show the same page");
    two[17 * MIB] = 6;
    is(one[17 * MIB], 6, "also if the other mapping has made it valid");
    ok(find("TEST_PROMISE", &s) && s.made_valid == 2 && s.valid_pages == 2 && s.global_valid == 1 &&
           s.l3_pickups == 1,
       "two pages were made valid, one was global valid, one level-3 page was picked up");
    dgblsc("TEST_PROMISE");
    sys$delete_region_64(&shared, 0, &va, &length);
    sys$delete_region_64(&plain, 0, &va, &length);
    is(promised(), before, "as many pages are promised as before");
}

/* ---- privileges and protection ---- */

/* Runs in a child as an ordinary user; returns the number of wrong results. */
static int as_user(void)
{
    GENERIC_64 id = region(8 * MIB, VA$M_SHARED_PTS);
    struct dsc$descriptor_s mine = named("USERS"), closed = named("CLOSED");
    int wrong = 0;

    wrong += !status_is(create("USERS", 8 * MIB, 0), SS$_NOMEMRESID);
    wrong += !status_is(map("OPEN", &id, SEC$M_WRT), SS$_NORMAL);
    wrong += *(uint64_t *)va != 77;
    wrong += !status_is(
        sys$mgblsc_64(&closed, 0, &id, 0, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length),
        SS$_NOPRIV);
    wrong += !status_is(dgblsc("OPEN"), SS$_NOSYSGBL);
    wrong += !status_is(sys$dgblsc(0, &mine, 0), SS$_NOPRMGBL);
    wrong += mega$info(MEGA_INFO_CRASH, 0, 0, 0) != SS$_NOPRIV;
    return wrong;
}

static void privileges(void)
{
    GENERIC_64 id = region(8 * MIB, VA$M_SHARED_PTS);
    struct dsc$descriptor_s closed = named("CLOSED"), group = named("OPEN");
    int how;
    pid_t pid;

    is_status(create("OPEN", 8 * MIB, 0), SS$_CREATED_SHPT,
              "a section that everybody may access is created");
    is_status(sys$create_gdzro(&closed, 0, 0xFF00, 8 * MIB, 0, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a section that group and world may not access is created");
    is_status(map("OPEN", &id, SEC$M_WRT), SS$_NORMAL, "mapped");
    *(uint64_t *)va = 77;
    is_status(sys$mgblsc_64(&group, 0, &id, 0, 0, 0, SEC$M_WRT | SEC$M_EXPREG, &va, &length),
              SS$_NOSUCHSEC, "a group section of that name does not exist");
    pid = fork();
    if (pid == 0) {
        if (setgid(1000) != 0 || setuid(1000) != 0)
            _exit(100);
        _exit(as_user());
    }
    how = wait_for(pid);
    ok(how == 0, "an ordinary user can map and cannot create or delete (%d wrong)", how >> 8);
    sys$delete_region_64(&id, 0, &va, &length);
    is_status(dgblsc("OPEN"), SS$_NORMAL, "the section is deleted");
    is_status(dgblsc("CLOSED"), SS$_NORMAL, "the other section is deleted");
}

int main(void)
{
    need_reservations();
    guided_tour();
    region_errors();
    section_errors();
    shares_over_fork();
    fluid_and_private();
    privileges();
    return tap_done();
}
