// TAP
// RUN: --reserve 'MEMORY_SERVICES_HINTS 24 /ALLOCATE /ZERO /NOPAGE_TABLES'
/*
 * The services for private memory as a program sees them: $CRETVA_64, $EXPREG_64, $SETPRT_64,
 * $LCKPAG_64 and $ULKPAG_64 on regions of every kind. Each error has its own condition value and
 * changes nothing. Also tests what fork, exec and deletion do to the pages, and that nothing leaks.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <fcntl.h>
#include <prtdef.h>
#include <psldef.h>
#include <setjmp.h>
#include <settled.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tap.h>
#include <vadef.h>

#define PAGE    8192ul
#define MIB     (1ul << 20)
#define NOWHERE ((void *)-1)
#define KERNEL  ((void *)0xFFFFFC0000310000)
#define MARK    ((void *)0x1234) /* marks an output that has not been written */

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

static GENERIC_64 default_region(uint64_t id) { return (GENERIC_64){{(long)id}}; }

static char *first_free(GENERIC_64 id)
{
    REGSUM sum = {0};
    unsigned __int64 n;

    if (sys$get_region_info(VA$_REGSUM_BY_ID, &id, 0, 0, sizeof(sum), &sum, &n) != SS$_NORMAL)
        bail_out("no such region");
    return (char *)sum.va$pq_first_free_va;
}

static struct mega_process self(void)
{
    struct mega_process p = {0};

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

static int wait_for(pid_t pid)
{
    int status = -1;

    return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* ---- accesses that may fault ---- */

static sigjmp_buf back;

static volatile int armed;

static void on_segv(int sig)
{
    (void)sig;
    if (!armed)
        bail_out("an access that nobody expected to fail");
    siglongjmp(back, 1);
}

static int access_ok(volatile char *p, int write)
{
    volatile int done = 0;

    if (sigsetjmp(back, 1) == 0) {
        armed = 1;
        if (write)
            *p = *p;
        else
            (void)*p;
        done = 1;
    }
    armed = 0;
    return done;
}

static int can_read(volatile char *p) { return access_ok(p, 0); }
static int can_write(volatile char *p) { return access_ok(p, 1); }

/* Do the outputs say that nothing was changed? */
static int none(void) { return va == NOWHERE && length == 0; }

static int expreg(GENERIC_64 id, uint64_t bytes)
{
    va = MARK;
    length = 4711;
    return sys$expreg_64(&id, bytes, PSL$C_USER, 0, &va, &length);
}

static int cretva(GENERIC_64 id, void *start, uint64_t bytes, unsigned flags)
{
    va = MARK;
    length = 4711;
    return sys$cretva_64(&id, start, bytes, PSL$C_USER, flags, &va, &length);
}

static unsigned old;

static int setprt(void *start, uint64_t bytes, unsigned prot)
{
    va = MARK;
    length = 4711;
    old = 99;
    return sys$setprt_64(start, bytes, PSL$C_USER, prot, &va, &length, &old);
}

static int lckpag(void *start, uint64_t bytes)
{
    va = MARK;
    length = 4711;
    return sys$lckpag_64(start, bytes, PSL$C_USER, &va, &length);
}

static int ulkpag(void *start, uint64_t bytes)
{
    va = MARK;
    length = 4711;
    return sys$ulkpag_64(start, bytes, PSL$C_USER, &va, &length);
}

/* ---- $EXPREG_64 ---- */

static void expreg_created(void)
{
    GENERIC_64 up = region(64 * PAGE, 0);
    char *low = va;
    GENERIC_64 down = region(64 * PAGE, VA$M_DESCEND);
    char *high = (char *)va + 64 * PAGE;

    is_status(expreg(up, 3 * PAGE), SS$_NORMAL, "$EXPREG_64 creates three pages in a region");
    ok(va == low && length == 3 * PAGE, "the pages are at the start of the region");
    ok(low[0] == 0 && low[3 * PAGE - 1] == 0, "the pages are zero");
    low[3 * PAGE - 1] = 1;
    ok(first_free(up) == low + 3 * PAGE, "the first free address is after them");
    is_status(expreg(up, PAGE), SS$_NORMAL, "one more page is created");
    ok(va == low + 3 * PAGE, "the page follows the others");
    is_status(expreg(up, 61 * PAGE), SS$_REGISFULL, "more pages than are left are refused");
    ok(none(), "the outputs say that nothing was created");
    ok(first_free(up) == low + 4 * PAGE, "the first free address is unchanged");
    is_status(expreg(up, 60 * PAGE), SS$_NORMAL, "exactly the pages that are left are created");
    is_status(expreg(up, PAGE), SS$_REGISFULL,
              "another page is refused, because the region is full");
    is_status(sys$deltva_64(&up, low + 60 * PAGE, 4 * PAGE, 0, &va, &length), SS$_NORMAL,
              "the last four pages are deleted");
    ok(first_free(up) == low + 60 * PAGE, "the first free address is before them again");
    is_status(sys$deltva_64(&up, low + 10 * PAGE, 4 * PAGE, 0, &va, &length), SS$_NORMAL,
              "a page in the middle is deleted");
    ok(first_free(up) == low + 60 * PAGE && expreg(up, PAGE) == SS$_NORMAL && va == low + 60 * PAGE,
       "$EXPREG_64 does not fill the hole");
    is(low[3 * PAGE - 1], 1, "the contents of other pages are unchanged");

    is_status(expreg(down, 3 * PAGE), SS$_NORMAL, "three pages are created in a descending region");
    ok(va == high - 3 * PAGE && first_free(down) == va,
       "they are at the end of the region, and it grows down");
    is_status(expreg(down, 61 * PAGE), SS$_NORMAL,
              "the pages down to the start of the region are created");
    ok(va == high - 64 * PAGE && first_free(down) == va,
       "the first free address is the start of the region");
    is_status(expreg(down, PAGE), SS$_REGISFULL,
              "another page is refused, because the region is full");
    sys$delete_region_64(&up, 0, &va, &length);
    sys$delete_region_64(&down, 0, &va, &length);
}

static void expreg_default(void)
{
    static const char *const names[] = {"P0", "P1", "P2"};

    for (uint64_t k = VA$C_P0; k <= VA$C_P2; k++) {
        GENERIC_64 id = default_region(k);
        char *before = first_free(id), *at;

        is_status(expreg(id, 5 * PAGE), SS$_NORMAL, "five pages of %s are created", names[k]);
        at = va;
        ok(k == VA$C_P1 ? at + 5 * PAGE == before : at == before,
           "they are at the first free address");
        ok(can_write(at) && can_write(at + 5 * PAGE - 1), "the pages can be written");
        ok(first_free(id) == (k == VA$C_P1 ? at : at + 5 * PAGE),
           "the first free address has moved");
        is_status(expreg(id, 1ul << 42), SS$_VASFULL,
                  "more pages than the address space has are refused");
        ok(none(), "the outputs say that nothing was created");
        is_status(sys$deltva_64(&id, at, 5 * PAGE, 0, &va, &length), SS$_NORMAL, "deleted");
        ok(first_free(id) == before, "after deletion the first free address is as before");
    }
}

/* Pages after the heap prevent it from growing, but malloc must still get memory. */
static void expreg_over_heap(void)
{
    GENERIC_64 p2 = default_region(VA$C_P2);
    char *heap = sbrk(0), *at, *more[64];
    unsigned got = 0;

    is_status(expreg(p2, PAGE), SS$_NORMAL, "a page after the heap is created");
    at = va;
    *at = 7;
    for (unsigned i = 0; i < 64; i++) {
        more[i] = malloc(60000);
        got += more[i] && memset(more[i], 1, 60000);
    }
    is(got, 64, "malloc still gets all the memory that it asks for");
    is(*at, 7, "the page is not part of that memory");
    for (unsigned i = 0; i < 64; i++)
        free(more[i]);
    sys$deltva_64(&p2, at, PAGE, 0, &va, &length);
    ok((char *)sbrk(0) >= heap, "the heap has not shrunk");
}

static void expreg_errors(void)
{
    GENERIC_64 id = region(64 * PAGE, 0), shared = region(8 * MIB, VA$M_SHARED_PTS);
    GENERIC_64 nobody = {{4711}};
    char *page = mmap(0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    is_status(sys$expreg_64((GENERIC_64 *)8, PAGE, 3, 0, &va, &length), SS$_ACCVIO,
              "$EXPREG_64: region id not readable");
    is_status(sys$expreg_64((GENERIC_64 *)((char *)&id + 1), PAGE, 3, 0, &va, &length), SS$_ACCVIO,
              "$EXPREG_64: unaligned output");
    is_status(sys$expreg_64(&id, PAGE, 3, 0, (void **)page, &length), SS$_ACCVIO,
              "$EXPREG_64: read-only output");
    is_status(sys$expreg_64(&id, PAGE, 3, 0, &va, (unsigned __int64 *)((char *)&length + 4)),
              SS$_ACCVIO, "$EXPREG_64: unaligned output");
    is_status(sys$expreg_64(&id, PAGE, 3, 0, KERNEL, &length), SS$_ACCVIO,
              "$EXPREG_64: output in the kernel's memory");
    is_status(sys$expreg_64(&id, PAGE, 4, 0, &va, &length), SS$_IVACMODE,
              "$EXPREG_64: invalid access mode");
    is_status(sys$expreg_64(&id, PAGE, 3, 2, &va, &length), SS$_IVVAFLG,
              "$EXPREG_64: unknown flag");
    is_status(expreg(nobody, PAGE), SS$_IVREGID, "$EXPREG_64: no such region");
    is_status(expreg(id, PAGE + 1), SS$_LEN_NOTPAGMULT,
              "$EXPREG_64: length not a multiple of a page");
    is_status(expreg(id, 0), SS$_LEN_NOTPAGMULT, "$EXPREG_64: length 0");
    is_status(expreg(shared, PAGE), SS$_NOSHPTS, "$EXPREG_64: region with shared page tables");
    ok(none(), "the outputs say that nothing was created");
    is_status(sys$expreg_64(&id, PAGE, PSL$C_KERNEL, VA$M_NO_OVERMAP, &va, &length), SS$_NORMAL,
              "inner access modes become user mode, and the flag has no effect");
    sys$delete_region_64(&id, 0, &va, &length);
    sys$delete_region_64(&shared, 0, &va, &length);
    munmap(page, PAGE);
}

/* ---- $CRETVA_64 ---- */

static struct dsc$descriptor_s named(const char *name)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)name};
}

/* Maps a new section of 8 MiB somewhere. It is deleted with its last mapping. */
static char *map_section(GENERIC_64 id)
{
    struct dsc$descriptor_s d = named("MEMORY_SERVICES");
    int status = sys$crmpsc_gdzro_64(&d, 0, 0, 8 * MIB, &id, 0, 3, SEC$M_EXPREG, &va, &length);

    if (!(status & 1))
        bail_out("no section: %s", mega$condition_text(status));
    return va;
}

static void cretva_pages(void)
{
    GENERIC_64 id = region(16 * MIB, 0);
    char *start = va, *section;

    is_status(cretva(id, start + 7 * PAGE, 2 * PAGE, 0), SS$_NORMAL,
              "$CRETVA_64 creates pages at a given address");
    ok(va == start + 7 * PAGE && length == 2 * PAGE && first_free(id) == start + 9 * PAGE,
       "they are at that address");
    start[7 * PAGE] = 7;
    start[8 * PAGE] = 8;
    ok(!can_read(start) && !can_read(start + 9 * PAGE), "there are no pages before and after them");
    is_status(cretva(id, start + 8 * PAGE, 4 * PAGE, VA$M_NO_OVERMAP), SS$_VA_IN_USE,
              "with VA$M_NO_OVERMAP existing pages are not replaced");
    ok(none() && start[8 * PAGE] == 8 && !can_read(start + 9 * PAGE), "nothing has changed");
    is_status(cretva(id, start + 8 * PAGE, 4 * PAGE, 0), SS$_NORMAL,
              "without the flag existing pages are replaced");
    ok(start[7 * PAGE] == 7 && start[8 * PAGE] == 0 && start[11 * PAGE] == 0,
       "the pages that were replaced are zero");
    section = map_section(id);
    section[0] = 5;
    is_status(cretva(id, section, PAGE, 0), SS$_VA_IN_USE, "a page of a section is not replaced");
    is_status(cretva(id, section - PAGE, 2 * PAGE, 0), SS$_VA_IN_USE,
              "a range that contains a page of a section is refused");
    ok(none() && section[0] == 5 && !can_read(section - PAGE), "nothing has changed");
    sys$delete_region_64(&id, 0, &va, &length);
    ok(!can_read(start + 7 * PAGE), "deleting the region deletes its pages");
}

static void cretva_errors(void)
{
    GENERIC_64 id = region(64 * PAGE, 0);
    char *start = va;
    GENERIC_64 other = region(64 * PAGE, 0), shared = region(8 * MIB, VA$M_SHARED_PTS);
    char *in_shared = va;
    GENERIC_64 p2 = default_region(VA$C_P2), nobody = {{4711}};

    is_status(sys$cretva_64((GENERIC_64 *)8, start, PAGE, 3, 0, &va, &length), SS$_ACCVIO,
              "$CRETVA_64: region id not readable");
    is_status(sys$cretva_64(&id, start, PAGE, 3, 0, (void **)1, &length), SS$_ACCVIO,
              "$CRETVA_64: address output not writable");
    is_status(sys$cretva_64(&id, start, PAGE, 3, 0, &va, KERNEL), SS$_ACCVIO,
              "$CRETVA_64: length output not writable");
    is_status(sys$cretva_64(&id, start, PAGE, 9, 0, &va, &length), SS$_IVACMODE,
              "$CRETVA_64: invalid access mode");
    is_status(cretva(id, start, PAGE, 0x80), SS$_IVVAFLG, "$CRETVA_64: unknown flag");
    is_status(cretva(nobody, start, PAGE, 0), SS$_IVREGID, "$CRETVA_64: no such region");
    is_status(cretva(id, start + 8, PAGE, 0), SS$_VA_NOTPAGALGN,
              "$CRETVA_64: start address not page-aligned");
    is_status(cretva(id, start, PAGE - 1, 0), SS$_LEN_NOTPAGMULT,
              "$CRETVA_64: length not a multiple of a page");
    is_status(cretva(id, start, 0, 0), SS$_LEN_NOTPAGMULT, "$CRETVA_64: length 0");
    is_status(cretva(id, start - PAGE, PAGE, 0), SS$_PAGNOTINREG,
              "$CRETVA_64: range before the region");
    is_status(cretva(id, start + 63 * PAGE, 2 * PAGE, 0), SS$_PAGNOTINREG,
              "$CRETVA_64: range over the end of the region");
    is_status(cretva(id, start, -PAGE, 0), SS$_PAGNOTINREG, "$CRETVA_64: range wraps around");
    is_status(cretva(other, start, PAGE, 0), SS$_PAGNOTINREG,
              "$CRETVA_64: address in another region");
    is_status(cretva(p2, start, PAGE, 0), SS$_PAGNOTINREG,
              "$CRETVA_64: address in a created region, given the default region");
    is_status(cretva(shared, in_shared, PAGE, 0), SS$_NOSHPTS,
              "$CRETVA_64: region with shared page tables");
    is_status(cretva(p2, in_shared, PAGE, 0), SS$_PAGNOTINREG,
              "$CRETVA_64: address in such a region, given the default region");
    is_status(cretva(default_region(VA$C_P0), 0, PAGE, 0), SS$_PAGNOTINREG, "$CRETVA_64: page 0");
    ok(none(), "the outputs say that nothing was created");
    ok(!can_read(start) && !can_read(in_shared), "nowhere");
    sys$delete_region_64(&id, 0, &va, &length);
    sys$delete_region_64(&other, 0, &va, &length);
    sys$delete_region_64(&shared, 0, &va, &length);
}

/* ---- $SETPRT_64 ---- */

static void setprt_codes(void)
{
    static const struct {
        unsigned code, back,
            access; /* back: the code returned later; access: 0 none, 1 read, 2 write */
    } codes[] = {
        {PRT$C_NA, PRT$C_NA, 0},   {PRT$C_KW, PRT$C_NA, 0},   {PRT$C_KR, PRT$C_NA, 0},
        {PRT$C_UW, PRT$C_UW, 2},   {PRT$C_EW, PRT$C_NA, 0},   {PRT$C_ERKW, PRT$C_NA, 0},
        {PRT$C_ER, PRT$C_NA, 0},   {PRT$C_SW, PRT$C_NA, 0},   {PRT$C_SREW, PRT$C_NA, 0},
        {PRT$C_SRKW, PRT$C_NA, 0}, {PRT$C_SR, PRT$C_NA, 0},   {PRT$C_URSW, PRT$C_UR, 1},
        {PRT$C_UREW, PRT$C_UR, 1}, {PRT$C_URKW, PRT$C_UR, 1}, {PRT$C_UR, PRT$C_UR, 1},
    };
    GENERIC_64 id = region(64 * PAGE, 0);
    unsigned last = PRT$C_UW;
    int wrong = 0;
    char *p = va;

    expreg(id, 4 * PAGE);
    p[PAGE] = 3;
    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        wrong += setprt(p + PAGE, PAGE, codes[i].code | 0xABC0) != SS$_NORMAL || old != last;
        wrong += va != p + PAGE || length != PAGE;
        wrong += can_read(p + PAGE) != (codes[i].access > 0);
        wrong += can_write(p + PAGE) != (codes[i].access > 1);
        wrong += !can_write(p) || !can_write(p + 2 * PAGE);
        last = codes[i].back;
    }
    is(wrong, 0, "every protection code gives user mode its access, to that page only");
    is_status(setprt(p + 2 * PAGE + 17, 100, PRT$C_UR), SS$_NORMAL,
              "the range of $SETPRT_64 is rounded");
    ok(va == p + 2 * PAGE && length == PAGE && old == PRT$C_UW, "it is rounded to whole pages");
    is_status(setprt(p + PAGE - 1, PAGE + 2, PRT$C_UW), SS$_NORMAL, "the range is rounded outward");
    ok(va == p && length == 3 * PAGE && old == PRT$C_UR,
       "the previous protection of the last page is returned");
    is(p[PAGE], 3, "the contents are unchanged");
    is_status(setprt(p, 4 * PAGE, PRT$C_UR), SS$_NORMAL, "all pages become read-only");
    is_status(setprt(p, 4 * PAGE, PRT$C_UW), SS$_NORMAL, "all pages become writable");
    ok(old == PRT$C_UR && can_write(p + 3 * PAGE), "they can be written");
    sys$delete_region_64(&id, 0, &va, &length);
}

/* Private page tables of a section: each process has its own protection. */
static void setprt_section(void)
{
    GENERIC_64 one = region(16 * MIB, 0), two = region(16 * MIB, 0);
    char *p = map_section(one), *q = map_section(two);
    struct dsc$descriptor_s d = named("MEMORY_SERVICES");
    GENERIC_64 reader = region(16 * MIB, 0);
    unsigned wrong = 0;

    p[5 * PAGE] = 5;
    is_status(setprt(p + 4 * PAGE, 3 * PAGE, PRT$C_UR), SS$_NORMAL,
              "three pages of a section become read-only");
    is(old, PRT$C_UW, "their previous protection was writable");
    for (unsigned i = 0; i < 12; i++)
        wrong += can_write(p + i * PAGE) != (i < 4 || i > 6) || !can_write(q + i * PAGE);
    is(wrong, 0, "they cannot be written through this mapping");
    q[5 * PAGE] = 6;
    is(p[5 * PAGE], 6, "writes through the other mapping are visible");
    is_status(setprt(p + 5 * PAGE, PAGE, PRT$C_NA), SS$_NORMAL, "one of them becomes inaccessible");
    ok(!can_read(p + 5 * PAGE) && can_read(p + 4 * PAGE) && q[5 * PAGE] == 6, "here");
    is_status(setprt(p, 8 * MIB, PRT$C_UW), SS$_NORMAL, "all pages become writable again");
    for (unsigned i = 0; i < 12; i++)
        wrong += !can_write(p + i * PAGE);
    ok(wrong == 0 && p[5 * PAGE] == 6, "all pages are writable and have their contents");
    is_status(sys$mgblsc_64(&d, 0, &reader, 0, 0, 0, SEC$M_EXPREG, &va, &length), SS$_NORMAL,
              "a section is mapped for reading");
    p = va;
    is_status(setprt(p, PAGE, PRT$C_UW), SS$_NOPRIV, "a reader cannot make its pages writable");
    ok(none() && !can_write(p), "nothing has changed");
    sys$delete_region_64(&one, 0, &va, &length);
    sys$delete_region_64(&two, 0, &va, &length);
    sys$delete_region_64(&reader, 0, &va, &length);
}

/* PTEs of one granularity hint must change together. */
static void setprt_hints(void)
{
    struct dsc$descriptor_s d = named("MEMORY_SERVICES_HINTS");
    GENERIC_64 id = region(32 * MIB, 0);
    struct mega_section s = {0};
    unsigned wrong = 0;
    int i = 0;
    char *p;

    if (sys$crmpsc_gdzro_64(&d, 0, 0, 24 * MIB, &id, 0, 3, SEC$M_EXPREG | SEC$M_SYSGBL, &va,
                            &length) != SS$_CREATED)
        bail_out("start with: scripts/run --reserve 'MEMORY_SERVICES_HINTS 24 /ALLOCATE /ZERO "
                 "/NOPAGE_TABLES' -- /tests/memory_services");
    p = va;
    for (uint64_t k = 0; k < 24 * MIB; k += PAGE)
        p[k] = (char)(k / PAGE);
    is_status(setprt(p + 5 * MIB, PAGE, PRT$C_UR), SS$_NORMAL,
              "a page in the middle of a granularity hint becomes read-only");
    for (uint64_t k = 0; k < 24 * MIB; k += PAGE)
        wrong += p[k] != (char)(k / PAGE) || can_write(p + k) != (k != 5 * MIB);
    is(wrong, 0, "only that page is read-only, and all pages have their contents");
    while (mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL &&
           strcmp(s.name, "MEMORY_SERVICES_HINTS"))
        i++;
    ok(s.gh_errors == 0, "no PTE has a wrong hint");
    is_status(setprt(p, 24 * MIB, PRT$C_UW), SS$_NORMAL, "all pages become writable again");
    for (uint64_t k = 0; k < 24 * MIB; k += PAGE)
        wrong += p[k] != (char)(k / PAGE) || !can_write(p + k);
    is(wrong, 0, "all pages are writable and have their contents");
    sys$delete_region_64(&id, 0, &va, &length);
}

static void setprt_errors(void)
{
    GENERIC_64 id = region(64 * PAGE, 0);
    char *p = va;
    GENERIC_64 shared = region(16 * MIB, VA$M_SHARED_PTS);
    char *section = map_section(shared);
    int fd = open("/bin/true", O_RDONLY);
    char *file = mmap(0, PAGE, PROT_READ, MAP_SHARED, fd, 0);

    expreg(id, 3 * PAGE);
    p[PAGE] = 1;
    is_status(sys$setprt_64(p, PAGE, 3, PRT$C_UR, (void **)4, &length, &old), SS$_ACCVIO,
              "$SETPRT_64: address output not writable");
    is_status(sys$setprt_64(p, PAGE, 3, PRT$C_UR, &va, (unsigned __int64 *)p + 3 * PAGE, &old),
              SS$_ACCVIO, "$SETPRT_64: length output not writable");
    is_status(sys$setprt_64(p, PAGE, 3, PRT$C_UR, &va, &length, (unsigned *)2), SS$_ACCVIO,
              "$SETPRT_64: protection output not writable");
    is_status(sys$setprt_64(p, PAGE, 3, PRT$C_UR, &va, &length, (unsigned *)((char *)&old + 2)),
              SS$_ACCVIO, "unaligned");
    is_status(sys$setprt_64(p, PAGE, 5, PRT$C_UR, &va, &length, &old), SS$_IVACMODE,
              "$SETPRT_64: invalid access mode");
    is_status(setprt(p, PAGE, PRT$C_RESERVED), SS$_IVPROTECT,
              "$SETPRT_64: reserved protection code");
    ok(none() && old == 99, "nothing has changed");
    is_status(setprt(p, 0, PRT$C_UR), SS$_BADPARAM, "$SETPRT_64: length 0");
    is_status(setprt(p, 1ul << 43, PRT$C_UR), SS$_NOT_PROCESS_VA,
              "$SETPRT_64: range beyond user space");
    is_status(setprt(KERNEL, PAGE, PRT$C_UW), SS$_NOT_PROCESS_VA, "$SETPRT_64: kernel address");
    is_status(setprt(p, -PAGE, PRT$C_UR), SS$_NOT_PROCESS_VA, "$SETPRT_64: range wraps around");
    is_status(setprt(0, PAGE, PRT$C_UW), SS$_ACCVIO, "$SETPRT_64: page 0");
    is_status(setprt(p + PAGE, 3 * PAGE, PRT$C_UR), SS$_ACCVIO,
              "$SETPRT_64: range with an unmapped page");
    ok(none() && can_write(p + PAGE), "no page of the range has changed");
    is_status(setprt(section, PAGE, PRT$C_UR), SS$_PAGTYPVIO,
              "$SETPRT_64: pages in shared page tables");
    ok(none() && can_write(section), "these pages have not changed");
    is_status(setprt(section, PAGE, PRT$C_UW), SS$_PAGTYPVIO,
              "$SETPRT_64: the same protection in shared page tables");
    is_status(setprt(file, PAGE, PRT$C_UW), SS$_NOPRIV,
              "$SETPRT_64: write access to a file opened for reading");
    ok(none() && !can_write(file), "the file cannot be written");
    is(mprotect(file, PAGE, PROT_READ | PROT_WRITE), -1, "mprotect is refused, too");
    close(fd);
    munmap(file, PAGE);
    sys$delete_region_64(&id, 0, &va, &length);
    sys$delete_region_64(&shared, 0, &va, &length);
}

/* ---- $LCKPAG_64, $ULKPAG_64 ---- */

static uint64_t locked(void) { return self().locked; }

static void lock_pages(void)
{
    GENERIC_64 id = region(64 * PAGE, 0);
    char *p = va;
    uint64_t rss;
    int status;
    pid_t pid;

    expreg(id, 16 * PAGE);
    rss = self().rss;
    is_status(lckpag(p + 4 * PAGE + 1, 4 * PAGE - 2), SS$_WASCLR, "$LCKPAG_64 locks four pages");
    ok(va == p + 4 * PAGE && length == 4 * PAGE, "the range is rounded to whole pages");
    is(locked(), 4, "four pages are locked");
    is(self().rss, rss + 4, "the locked pages are resident");
    is_status(lckpag(p + 6 * PAGE, 4 * PAGE), SS$_WASSET, "two of four pages were locked before");
    is(locked(), 6, "six pages are locked");
    is_status(lckpag(p + 4 * PAGE, 6 * PAGE), SS$_WASSET, "locked pages can be locked again");
    is(locked(), 6, "they count once");
    is_status(ulkpag(p + 9 * PAGE, 2 * PAGE), SS$_WASCLR,
              "one of two pages to be unlocked was not locked");
    is(locked(), 5, "one page less is locked");
    is_status(ulkpag(p + 4 * PAGE, 2 * PAGE), SS$_WASSET, "two pages are unlocked");
    ok(va == p + 4 * PAGE && length == 2 * PAGE && locked() == 3, "three pages are locked");
    is(madvise(p + 6 * PAGE, PAGE, MADV_DONTNEED), -1, "MADV_DONTNEED of locked pages is refused");
    setprt(p + 6 * PAGE, PAGE, PRT$C_UR);
    is(locked(), 3, "a change of protection does not unlock pages");
    pid = must_fork();
    if (pid == 0)
        _exit((int)locked());
    is(wait_for(pid), 0, "a child does not inherit locks");
    is(locked(), 3, "the parent's pages are still locked");
    p[7 * PAGE] = 1;
    is_status(cretva(id, p + 7 * PAGE, PAGE, 0), SS$_NORMAL, "a locked page is replaced");
    is(locked(), 2, "the new page is not locked");
    sys$deltva_64(&id, p + 8 * PAGE, PAGE, 0, &va, &length);
    is(locked(), 1, "a locked page is deleted");
    pid = vfork(); /* shares the address space until exec */
    if (pid == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    is(wait_for(pid), 0, "a vfork child execs a program");
    is(mlock(p, 2 * PAGE), 0, "mlock locks two pages");
    is_status(ulkpag(p, PAGE), SS$_WASSET, "$ULKPAG_64 unlocks a page locked by mlock");
    is(munlock(p, 3 * PAGE), 0, "munlock unlocks pages");
    is(locked(), 1, "one page is locked");
    pid = must_fork();
    if (pid == 0) {
        if (lckpag(p, PAGE) != SS$_WASCLR || locked() != 1)
            _exit(1);
        execl("/bin/true", "true", (char *)0);
        _exit(2);
    }
    is(wait_for(pid), 0, "a process with locked pages execs");
    status = sys$delete_region_64(&id, 0, &va, &length);
    ok(status == SS$_NORMAL && locked() == 0, "deleting the region unlocks its pages");
}

/* Runs as an ordinary user; returns the number of wrong results. */
static int lock_as_user(char *p)
{
    int wrong = setgid(1000) != 0 || setuid(1000) != 0;

    wrong += !status_is(lckpag(p, PAGE), SS$_NOPSWAPM) || va != MARK;
    wrong += !status_is(ulkpag(p, PAGE), SS$_NOPSWAPM) || va != MARK;
    wrong += setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0}) != 0;
    wrong += mlock(p, PAGE) != -1; /* within the limit it may, as on Linux */
    return wrong;
}

/* A page-file-backed section is pageable, so its pages are locked like private pages. */
static void lock_section(void)
{
    struct dsc$descriptor_s d = named("MEMORY_SERVICES_FILE");
    GENERIC_64 id = region(64 * PAGE, 0);
    char *p;

    if (!(sys$crmpsc_gpfile_64(&d, 0, 0, 16 * PAGE, &id, 0, 3, SEC$M_WRT | SEC$M_EXPREG, &va,
                               &length) &
          1))
        bail_out("no page-file section");
    p = va;
    is_status(lckpag(p + 3 * PAGE, 4 * PAGE), SS$_WASCLR,
              "pages of a page-file-backed section are locked");
    is(locked(), 4, "they count as locked");
    is_status(ulkpag(p + 3 * PAGE, PAGE), SS$_WASSET, "one of them is unlocked");
    is(locked(), 3, "one page less is locked");
    is_status(setprt(p, 16 * PAGE, PRT$C_UR), SS$_NORMAL,
              "the protection of the mapping is changed");
    ok(!can_write(p + 4 * PAGE) && can_read(p + 4 * PAGE) && locked() == 3,
       "the pages become read-only and stay locked");
    is_status(cretva(id, p, PAGE, 0), SS$_VA_IN_USE,
              "$CRETVA_64 does not replace a page of the section");
    sys$delete_region_64(&id, 0, &va, &length);
    is(locked(), 0, "deleting the mapping unlocks its pages");
}

static void lock_errors(void)
{
    GENERIC_64 id = region(16ul << 30, 0);
    char *p = va;
    GENERIC_64 shared = region(16 * MIB, VA$M_SHARED_PTS);
    char *section = map_section(shared);
    struct mega_process before;
    pid_t pid;

    cretva(id, p, 4 * PAGE, 0);
    setprt(p + 3 * PAGE, PAGE, PRT$C_NA);
    is_status(sys$lckpag_64(p, PAGE, 3, (void **)1, &length), SS$_ACCVIO,
              "$LCKPAG_64: address output not writable");
    is_status(sys$lckpag_64(p, PAGE, 3, &va, KERNEL), SS$_ACCVIO,
              "$LCKPAG_64: length output not writable");
    is_status(sys$lckpag_64(p, PAGE, 4, &va, &length), SS$_IVACMODE,
              "$LCKPAG_64: invalid access mode");
    is_status(lckpag(p, 0), SS$_BADPARAM, "$LCKPAG_64: length 0");
    is_status(lckpag(KERNEL, PAGE), SS$_NOT_PROCESS_VA, "$LCKPAG_64: kernel address");
    is_status(lckpag(p, 4 * PAGE), SS$_ACCVIO, "$LCKPAG_64: page without access");
    is_status(lckpag(p + 2 * PAGE, 4 * PAGE), SS$_ACCVIO,
              "$LCKPAG_64: range with an unmapped page");
    ok(none() && locked() == 0, "no page is locked");
    is_status(sys$ulkpag_64(p, PAGE, 3, (void **)1, &length), SS$_ACCVIO,
              "$ULKPAG_64: address output not writable");
    is_status(sys$ulkpag_64(p, PAGE, 3, &va, KERNEL), SS$_ACCVIO,
              "$ULKPAG_64: length output not writable");
    is_status(sys$ulkpag_64(p, PAGE, 4, &va, &length), SS$_IVACMODE,
              "$ULKPAG_64: invalid access mode");
    is_status(ulkpag(p, 0), SS$_BADPARAM, "$ULKPAG_64: length 0");
    is_status(ulkpag((void *)(1ul << 42), PAGE), SS$_NOT_PROCESS_VA,
              "$ULKPAG_64: range beyond user space");
    is_status(ulkpag(p + 2 * PAGE, 4 * PAGE), SS$_ACCVIO,
              "$ULKPAG_64: range with an unmapped page");
    is_status(ulkpag(p, PAGE), SS$_WASCLR, "$ULKPAG_64: page that is not locked");
    is_status(cretva(id, p + 8 * MIB, 8ul << 30, 0), SS$_NORMAL,
              "8 GiB of address space are created");
    before = self();
    is_status(lckpag(p + 8 * MIB, 8ul << 30), SS$_LCKPAGFUL,
              "more pages than there is memory cannot be locked");
    ok(none() && locked() == 0 && self().rss == before.rss,
       "the refused call has allocated and locked nothing");
    is_status(lckpag(section, 2 * PAGE), SS$_WASCLR,
              "pages of a memory-resident section are accepted");
    is_status(lckpag(section, 2 * PAGE), SS$_WASCLR, "they are not locked by that");
    is(locked(), 0, "they do not count as locked");
    pid = must_fork();
    if (pid == 0)
        _exit(lock_as_user(p));
    is(wait_for(pid), 0, "an ordinary user may not lock pages");
    sys$delete_region_64(&id, 0, &va, &length);
    sys$delete_region_64(&shared, 0, &va, &length);
}

/* ---- fork, regions that grow by access, leaks ---- */

static void forked(void)
{
    GENERIC_64 id = region(64 * PAGE, 0);
    char *p = va;
    pid_t pid;

    expreg(id, 4 * PAGE);
    for (int i = 0; i < 4; i++)
        p[i * PAGE] = (char)(i + 1);
    pid = must_fork();
    if (pid == 0) {
        int wrong = p[0] != 1 || p[3 * PAGE] != 4;

        p[0] = 77;
        wrong += expreg(id, PAGE) != SS$_NORMAL || va != p + 4 * PAGE;
        wrong += sys$deltva_64(&id, p + PAGE, PAGE, 0, &va, &length) != SS$_NORMAL;
        wrong += cretva(id, p + 2 * PAGE, PAGE, 0) != SS$_NORMAL || p[2 * PAGE] != 0;
        wrong += setprt(p + 3 * PAGE, PAGE, PRT$C_UR) != SS$_NORMAL;
        wrong += can_write(p + 3 * PAGE) || p[3 * PAGE] != 4;
        wrong += sys$delete_region_64(&id, 0, &va, &length) != SS$_NORMAL || can_read(p);
        _exit(wrong);
    }
    p[3 * PAGE] = 44;
    is(wait_for(pid), 0, "a child has the same regions and its own copies of the pages");
    ok(p[0] == 1 && p[PAGE] == 2 && p[2 * PAGE] == 3 && p[3 * PAGE] == 44 &&
           !can_read(p + 4 * PAGE),
       "the parent's regions and pages are unchanged");
    is_status(expreg(id, PAGE), SS$_NORMAL, "the parent's region can grow");
    sys$delete_region_64(&id, 0, &va, &length);
}

static void grows_by_itself(void)
{
    GENERIC_64 up = region(64 * PAGE, VA$M_EXPAND_ON_ACCVIO);
    char *low = va;
    GENERIC_64 down = region(64 * PAGE, VA$M_EXPAND_ON_ACCVIO | VA$M_DESCEND);
    char *high = (char *)va + 64 * PAGE;
    GENERIC_64 none_such;
    int fds[2];

    is_status(sys$create_region_64(8 * MIB, 0, VA$M_EXPAND_ON_ACCVIO | VA$M_SHARED_PTS, &none_such,
                                   &va, &length),
              SS$_IVREGFLG, "a region with shared page tables cannot expand on access");
    ok(can_write(low + 5 * PAGE), "an access expands the region");
    ok(first_free(up) == low + 6 * PAGE && can_read(low),
       "the region expands from its start to that page");
    is(low[3 * PAGE], 0, "the new pages are zero");
    sys$deltva_64(&up, low + 2 * PAGE, PAGE, 0, &va, &length);
    ok(!can_read(low + 2 * PAGE), "a page that was deleted is not created again");
    ok(can_write(low + 63 * PAGE) && !can_read(low + 64 * PAGE),
       "the region does not expand beyond its end");
    ok(pipe(fds) == 0 && write(fds[1], "x", 1) == 1 && read(fds[0], high - 3 * PAGE, 1) == 1,
       "an access by a system call expands a descending region");
    ok(high[-3 * (long)PAGE] == 'x' && first_free(down) == high - 3 * PAGE,
       "the region expands down to that page");
    close(fds[0]);
    close(fds[1]);
    sys$delete_region_64(&up, 0, &va, &length);
    sys$delete_region_64(&down, 0, &va, &length);
}

static void use_all(void)
{
    GENERIC_64 up = region(64 * MIB, 0);
    char *p = va;
    GENERIC_64 down = region(64 * MIB, VA$M_DESCEND);

    expreg(up, 20 * MIB);
    lckpag(va, 10 * MIB);
    memset(p, 1, 12 * MIB);
    cretva(up, p + 5 * MIB, MIB, 0);
    setprt(p + 4 * MIB, 3 * MIB, PRT$C_UR);
    expreg(down, 9 * MIB);
    *(char *)va = 1;
    lckpag(va, PAGE);
    sys$delete_region_64(&down, 0, &va, &length);
    sys$deltva_64(&up, p + MIB, 6 * MIB, 0, &va, &length);
    sys$delete_region_64(&up, 0, &va, &length);
}

static void nothing_is_lost(void)
{
    struct mega_process before, after;
    long free;

    use_all();
    before = self();
    free = settled_pages();
    for (int i = 0; i < 3; i++)
        use_all();
    after = self();
    if (!in_company())
        is(settled_pages(), free, "as many pages are free as before");
    is(after.pt_pages, before.pt_pages, "as many page-table pages are in use as before");
    is(after.rss, before.rss, "the process has as many pages as before");
    is(after.vsize, before.vsize, "the address space is as large as before");
    is(after.locked, 0, "no pages are locked");
}

int main(void)
{
    signal(SIGSEGV, on_segv);
    expreg_created();
    expreg_default();
    expreg_over_heap();
    expreg_errors();
    cretva_pages();
    cretva_errors();
    setprt_codes();
    setprt_section();
    setprt_hints();
    setprt_errors();
    lock_pages();
    lock_section();
    lock_errors();
    forked();
    grows_by_itself();
    nothing_is_lost();
    return tap_done();
}
