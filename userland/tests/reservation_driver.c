// TAP
// RUN: -m 512M --reserve 'DMABUF 64 /ALLOCATE /NOGLOBAL_SECTION'
// RUN: --reserve 'DMASOFT 3 /NOALLOCATE /NOGLOBAL_SECTION' --reserve 'CACHE 16 /ALLOCATE'
/*
 * A driver as a consumer of reserved memory: it takes its reservation by name, uses it through
 * system space, exposes its frames to a program, and returns it. It cannot take a reservation that
 * is for sections.
 */
#include <descrip.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>
#include <vadef.h>

#define MIB    (1UL << 20)
#define PAGE   8192UL
#define PAGES  (64 * MIB / PAGE)
#define SYSTEM 0xFFFFFE0000000000UL /* mapped system space */

static void *va;
static unsigned __int64 length;

static int driver(unsigned op, const char *name, uint64_t arg)
{
    return mega$control(MEGA_CTL_DRIVER, op, (uint64_t)name, arg, 0, 0);
}

static int query(const char *name, struct mega_driver_unit *u)
{
    return driver(MEGA_DRIVER_QUERY, name, (uint64_t)u);
}

static struct dsc$descriptor_s named(const char *name)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)name};
}

static int reservation(const char *name, struct mega_reserved *r)
{
    for (int i = 0; mega$info(MEGA_INFO_RESERVED, i, r, sizeof(*r)) == SS$_NORMAL; i++)
        if (strcmp(r->name, name) == 0)
            return 1;
    return 0;
}

static uint64_t used(const char *name)
{
    struct mega_reserved r;

    return reservation(name, &r) ? r.used : UINT64_MAX;
}

static struct mega_memory memory(void)
{
    struct mega_memory m;

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m;
}

static void consistent(const char *when)
{
    struct mega_validate m;
    int status = mega$info(MEGA_INFO_VALIDATE, 0, &m, sizeof(m));

    if (!ok(status == SS$_NORMAL && m.errors == 0 && !m.timed_out,
            "every page is counted exactly once %s", when))
        diag("%s: %s", mega$condition_text(status), m.text);
}

static uint64_t sum_of(const volatile uint64_t *p, uint64_t n)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum = (sum << 1 | sum >> 63) + p[i];
    return sum;
}

static uint64_t expected(uint64_t seed, uint64_t n)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum = (sum << 1 | sum >> 63) + seed + i;
    return sum;
}

static void refusals(void)
{
    uint64_t sum;

    is_status(driver(MEGA_DRIVER_TAKE, "NOWHERE", 1), SS$_NORESERVEDMEM,
              "a name that is not in the registry is refused");
    is_status(driver(MEGA_DRIVER_TAKE, "dmabuf", 1), SS$_NORESERVEDMEM, "names are case-sensitive");
    is_status(driver(MEGA_DRIVER_TAKE, "CACHE", 1), SS$_RES_MEM_INCON,
              "an entry for sections is refused");
    is(used("CACHE"), 0, "that entry stays unused");
    is_status(driver(MEGA_DRIVER_TAKE, "DMABUF", PAGES + 1), SS$_MRES_PFNSMALL,
              "more pages than were allocated are refused");
    is_status(driver(MEGA_DRIVER_TAKE, "DMASOFT", 3 * MIB / PAGE + 1), SS$_MRES_INCON,
              "more pages than were promised are refused");
    is_status(driver(MEGA_DRIVER_TAKE, "DMABUF", 0), SS$_MRES_INCON,
              "a request for 0 pages is refused");
    is_status(driver(MEGA_DRIVER_RELEASE, "DMABUF", 0), SS$_NORESERVEDMEM,
              "a reservation that was not taken cannot be returned");
    is_status(driver(MEGA_DRIVER_FILL, "DMABUF", 0), SS$_NORESERVEDMEM, "fill");
    is_status(driver(MEGA_DRIVER_CHECKSUM, "DMABUF", (uint64_t)&sum), SS$_NORESERVEDMEM,
              "checksum");
    is_status(driver(MEGA_DRIVER_EXPOSE, "DMABUF", 1), SS$_NORESERVEDMEM, "expose");
    is_status(driver(99, "DMABUF", 0), SS$_BADPARAM, "an unknown operation is refused");
    is_status(driver(MEGA_DRIVER_TAKE, (const char *)8, 1), SS$_ACCVIO,
              "a name that cannot be read is refused");
    is_status(driver(MEGA_DRIVER_CHECKSUM, "DMABUF", 4), SS$_ACCVIO,
              "an unaligned output is refused");
    is_status(driver(MEGA_DRIVER_TAKE, "A2345678901234567890123456789012345678901234", 1),
              SS$_NORESERVEDMEM, "a name of 44 characters is refused");
    if (fork() == 0) {
        if (setgid(7) != 0 || setuid(7) != 0)
            _exit(99);
        _exit(driver(MEGA_DRIVER_TAKE, "DMABUF", 1) == SS$_NOCMKRNL ? 0 : 1);
    }
    int status;

    ok(wait(&status) > 0 && status == 0, "the operations require CMKRNL");
}

/* $create_gpfn of the driver's frames. */
static int show_frames(const struct mega_driver_unit *u, uint64_t from, uint64_t n)
{
    struct dsc$descriptor_s d = named("FRAMES");

    return sys$create_gpfn(&d, 0, 0, u->first_pfn + from, n, 0, SEC$M_SYSGBL | SEC$M_WRT);
}

static void frames(const struct mega_driver_unit *u)
{
    struct dsc$descriptor_s d = named("FRAMES");
    GENERIC_64 id = {{0}};
    unsigned __int64 sum;
    uint64_t *p;

    is_status(show_frames(u, 0, PAGES), SS$_INVPFN,
              "frames that the driver has not exposed are refused");
    is_status(driver(MEGA_DRIVER_EXPOSE, "DMABUF", 1), SS$_NORMAL, "the driver exposes its frames");
    is_status(show_frames(u, 1, PAGES), SS$_INVPFN, "a range that is one frame longer is refused");
    is_status(show_frames(u, 0, PAGES), SS$_CREATED,
              "a page-frame section of all frames is created");
    sys$create_region_64(64 * MIB, VA$C_REGION_UCREATE_UOWN, 0, &id, &va, &length);
    is_status(sys$mgblsc_gpfn_64(&d, 0, &id, 0, 0, 0, SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va,
                                 &length),
              SS$_NORMAL, "the section is mapped");
    consistent("while frames are exposed");
    p = va;
    is(p[4711], 1000 + 4711, "a page of the section shows what the driver wrote");
    is(sum_of(p, PAGES * PAGE / 8), expected(1000, PAGES * PAGE / 8), "all pages show it");
    p[4711] = 0;
    driver(MEGA_DRIVER_CHECKSUM, "DMABUF", (uint64_t)&sum);
    is(sum, sum_of(p, PAGES * PAGE / 8), "the driver sees what the program writes");
    is_status(driver(MEGA_DRIVER_RELEASE, "DMABUF", 0), SS$_RESERVEDMEMUSED,
              "the reservation cannot be returned while the section exists");
    is_status(driver(MEGA_DRIVER_EXPOSE, "DMABUF", 0), SS$_RESERVEDMEMUSED,
              "the frames cannot be hidden while the section exists");
    is_status(sys$dgblsc(SEC$M_SYSGBL, &d, 0), SS$_NORMAL,
              "the section is deleted while it is mapped");
    is_status(driver(MEGA_DRIVER_RELEASE, "DMABUF", 0), SS$_RESERVEDMEMUSED,
              "the reservation still cannot be returned");
    sys$delete_region_64(&id, 0, &va, &length);
    is_status(driver(MEGA_DRIVER_EXPOSE, "DMABUF", 0), SS$_NORMAL,
              "the frames can be hidden after the last mapping is deleted");
    is_status(show_frames(u, 0, 1), SS$_INVPFN, "a page-frame section of hidden frames is refused");
}

static void allocated(void)
{
    struct mega_memory before = memory();
    struct mega_driver_unit u;
    unsigned __int64 sum, freed;

    is_status(driver(MEGA_DRIVER_TAKE, "DMABUF", PAGES), SS$_NORMAL,
              "the driver takes its reservation");
    is(used("DMABUF"), PAGES, "all of it is in use");
    is_status(driver(MEGA_DRIVER_TAKE, "DMABUF", 1), SS$_RESERVEDMEMUSED,
              "the driver cannot take its reservation twice");
    is_status(query("DMABUF", &u), SS$_NORMAL, "the driver can ask for its address");
    ok(u.va >= SYSTEM && u.va % (4 * MIB) == 0 && u.first_pfn % 512 == 0, "it is in system space");
    ok(u.npages == PAGES && u.ptes[3] == PAGES && u.hint_errors == 0,
       "all PTEs have a hint of 512 pages");
    is_status(driver(MEGA_DRIVER_CHECKSUM, "DMABUF", (uint64_t)&sum), SS$_NORMAL, "checksum");
    is(sum, 0, "the pages are zero");
    is_status(driver(MEGA_DRIVER_FILL, "DMABUF", 1000), SS$_NORMAL, "fill");
    driver(MEGA_DRIVER_CHECKSUM, "DMABUF", (uint64_t)&sum);
    is(sum, expected(1000, PAGES * PAGE / 8), "the driver reads what it wrote");
    is_status(mega$control(MEGA_CTL_FREE_RESERVED, (uint64_t)"DMABUF", MEGA_SCOPE_NOGLOBAL,
                           (uint64_t)&freed, 0, 0),
              SS$_RESERVEDMEMUSED, "the reservation cannot be freed while the driver has it");
    frames(&u);
    is_status(driver(MEGA_DRIVER_RELEASE, "DMABUF", 0), SS$_NORMAL, "returned");
    is(used("DMABUF"), 0, "the reservation is unused after it is returned");
    is_status(query("DMABUF", &u), SS$_NORESERVEDMEM, "its address cannot be asked for any more");
    /* System space keeps its page tables, and the program has some of its own. */
    ok(memory().reserved == before.reserved && before.fluid - memory().fluid < 64,
       "no page has gone to the free list");
    is_status(driver(MEGA_DRIVER_TAKE, "DMABUF", 100), SS$_NORMAL,
              "the driver takes a part of its reservation");
    driver(MEGA_DRIVER_CHECKSUM, "DMABUF", (uint64_t)&sum);
    is(sum, 0, "the pages are zero again");
    ok(query("DMABUF", &u) == SS$_NORMAL && u.ptes[2] == 64 && u.ptes[1] == 32 && u.ptes[0] == 4,
       "the PTEs have hints as far as they fit");
    driver(MEGA_DRIVER_EXPOSE, "DMABUF", 1);
    is_status(show_frames(&u, 0, 101), SS$_INVPFN,
              "frames that the driver has not taken are refused");
    is_status(driver(MEGA_DRIVER_RELEASE, "DMABUF", 0), SS$_NORMAL, "returned");
}

static void promised(void)
{
    struct mega_memory before = memory(), during;
    struct mega_driver_unit u;
    unsigned __int64 sum;

    is_status(driver(MEGA_DRIVER_TAKE, "DMASOFT", 300), SS$_NORMAL,
              "the driver takes pages of an entry without allocation");
    during = memory();
    is(before.promised_unused - during.promised_unused, 300, "as many fewer pages are promised");
    ok(query("DMASOFT", &u) == SS$_NORMAL && u.ptes[0] == 300 && u.hint_errors == 0,
       "the PTEs have no hints");
    driver(MEGA_DRIVER_CHECKSUM, "DMASOFT", (uint64_t)&sum);
    is(sum, 0, "zeroes");
    driver(MEGA_DRIVER_FILL, "DMASOFT", 7);
    driver(MEGA_DRIVER_CHECKSUM, "DMASOFT", (uint64_t)&sum);
    is(sum, expected(7, 300 * PAGE / 8), "the driver reads what it wrote");
    consistent("while the driver has promised pages");
    is_status(driver(MEGA_DRIVER_EXPOSE, "DMASOFT", 1), SS$_MRES_INCON,
              "the frames cannot be exposed");
    is_status(show_frames(&u, 0, 1), SS$_INVPFN, "a page-frame section of them is refused");
    is_status(driver(MEGA_DRIVER_RELEASE, "DMASOFT", 0), SS$_NORMAL, "returned");
    is(memory().promised_unused, before.promised_unused, "returned pages are promised again");
}

/* The entry is not for sections, so a section of that name is created as if there were none. */
static void section_of_that_name(void)
{
    struct dsc$descriptor_s d = named("DMABUF");

    is_status(sys$create_gdzro(&d, 0, 0, 8 * MIB, 0, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a section with the driver's name is created");
    is(used("DMABUF"), 0, "it does not use the driver's reservation");
    is_status(driver(MEGA_DRIVER_TAKE, "DMABUF", PAGES), SS$_NORMAL,
              "the driver can take its reservation");
    is_status(driver(MEGA_DRIVER_RELEASE, "DMABUF", 0), SS$_NORMAL,
              "the driver can return its reservation");
    is_status(sys$dgblsc(SEC$M_SYSGBL, &d, 0), SS$_NORMAL, "the section is deleted");
}

static void freed_reservation(void)
{
    struct mega_memory before = memory();
    unsigned __int64 freed;

    is_status(mega$control(MEGA_CTL_FREE_RESERVED, (uint64_t)"DMABUF", MEGA_SCOPE_NOGLOBAL,
                           (uint64_t)&freed, 0, 0),
              SS$_NORMAL, "the reservation is freed");
    is(freed, PAGES, "all its pages are freed");
    is(memory().fluid, before.fluid + PAGES, "its pages are fluid");
    is_status(driver(MEGA_DRIVER_TAKE, "DMABUF", 1), SS$_NORESERVEDMEM,
              "the driver cannot take it any more");
}

int main(void)
{
    struct mega_reserved r;

    if (!reservation("DMABUF", &r) || !reservation("DMASOFT", &r) || !reservation("CACHE", &r))
        bail_out("start with the reservations that the source names");
    consistent("at the start"); /* allocates the pool that the check itself needs */
    refusals();
    allocated();
    promised();
    section_of_that_name();
    freed_reservation();
    consistent("at the end");
    return tap_done();
}
