// TAP
// RUN: -m 512M --set PHYSICAL_MEMORY=256
/*
 * Page-frame sections and page-file-backed sections as a program sees them: what can be created,
 * mapped and shared, the condition value of each refusal, and what is left after deletion.
 * PHYSICAL_MEMORY excludes 256 MiB from use by the system, whose frames are used here.
 */
#include <descrip.h>
#include <errno.h>
#include <prtdef.h>
#include <psldef.h>
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

#define MIB   (1UL << 20)
#define PAGE  8192UL
#define ASIDE (300 * MIB / PAGE) /* a frame above PHYSICAL_MEMORY, at a 4 MiB boundary */
#define IO    (1UL << 30)        /* frames of physical I/O space, bit 43 of the address */
#define PORTS (IO + 0x1FC000000UL / PAGE)
#define LSR   0x3FD /* line status of the first serial port; bit 5: ready for a character */

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

static void region_end(GENERIC_64 *id) { sys$delete_region_64(id, 0, &va, &length); }

static struct dsc$descriptor_s named(const char *name)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)name};
}

static int find(const char *name, struct mega_section *s)
{
    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, s, sizeof(*s)) == SS$_NORMAL; i++)
        if (strcmp(s->name, name) == 0)
            return 1;
    return 0;
}

static int dgblsc(const char *name)
{
    struct dsc$descriptor_s d = named(name);

    return sys$dgblsc(SEC$M_SYSGBL, &d, 0);
}

static struct mega_memory memory(void)
{
    struct mega_memory m;

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m;
}

static struct mega_global global(void)
{
    struct mega_global g;

    mega$info(MEGA_INFO_GLOBAL, 0, &g, sizeof(g));
    return g;
}

static void consistent(const char *when)
{
    struct mega_validate m;
    int status = mega$info(MEGA_INFO_VALIDATE, 0, &m, sizeof(m));

    if (!ok(status == SS$_NORMAL && m.errors == 0 && !m.timed_out,
            "every page is counted exactly once %s", when))
        diag("%s: %s", mega$condition_text(status), m.text);
}

static int wait_for(pid_t pid)
{
    int status = -1;

    return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* ---- page-file-backed sections ---- */

static int create_gpfile(const char *name, uint64_t bytes, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$create_gpfile(&d, 0, 0, bytes, 0, flags | SEC$M_SYSGBL);
}

static int crmpsc_gpfile(const char *name, uint64_t bytes, GENERIC_64 *id, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$crmpsc_gpfile_64(&d, 0, 0, bytes, id, 0, 0, flags | SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                                &length);
}

static int map(const char *name, GENERIC_64 *id, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$mgblsc_64(&d, 0, id, 0, 0, 0, flags | SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length);
}

static void pagfil_errors(GENERIC_64 *plain, GENERIC_64 *shared)
{
    struct dsc$descriptor_s d = named("P"), wrong = named("P:");
    struct _secid bad = {3, {0}};

    is_status(create_gpfile("P", MIB + 1, 0), SS$_LEN_NOTPAGMULT,
              "$CREATE_GPFILE: length not a multiple of a page");
    is_status(create_gpfile("P", 0, 0), SS$_LEN_NOTPAGMULT, "$CREATE_GPFILE: length 0");
    is_status(create_gpfile("P", 1UL << 43, 0), SS$_LENVIO,
              "$CREATE_GPFILE: longer than any address space");
    is_status(create_gpfile("P", MIB, SEC$M_MRES), SS$_IVSECFLG,
              "$CREATE_GPFILE: flag of another kind of section");
    is_status(sys$create_gpfile((void *)8, 0, 0, MIB, 0, 0), SS$_ACCVIO,
              "$CREATE_GPFILE: descriptor not readable");
    is_status(sys$create_gpfile(&wrong, 0, 0, MIB, 0, 0), SS$_IVGSDNAM,
              "$CREATE_GPFILE: invalid name");
    is_status(sys$create_gpfile(&d, &bad, 0, MIB, 0, 0), SS$_IVSECIDCTL,
              "$CREATE_GPFILE: invalid match control");
    is_status(sys$create_gpfile(&d, 0, 0, MIB, 4, 0), SS$_IVACMODE,
              "$CREATE_GPFILE: invalid access mode");
    is_status(crmpsc_gpfile("P", 0, plain, 0), SS$_LEN_NOTPAGMULT, "$CRMPSC_GPFILE_64: length 0");
    is_status(crmpsc_gpfile("P", MIB, plain, SEC$M_PFNMAP), SS$_IVSECFLG,
              "$CRMPSC_GPFILE_64: invalid flag");
    is_status(sys$crmpsc_gpfile_64(&d, 0, 0, MIB, plain, 0, 0, SEC$M_EXPREG, (void **)4, &length),
              SS$_ACCVIO, "$CRMPSC_GPFILE_64: output not writable");
    is_status(crmpsc_gpfile("P", MIB, shared, 0), SS$_NOSHPTS,
              "$CRMPSC_GPFILE_64: region with shared page tables");
    is_status(crmpsc_gpfile("P", 64 * MIB, plain, 0), SS$_REGISFULL,
              "$CRMPSC_GPFILE_64: region too small");
    is_status(map("P", plain, 0), SS$_NOSUCHSEC, "the refused calls have left no section");
}

static void pagfil_mismatch(GENERIC_64 *plain)
{
    struct dsc$descriptor_s p = named("P"), m = named("M");

    is_status(sys$create_gdzro(&m, 0, 0, 8 * MIB, 0, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a memory-resident section is created");
    is_status(create_gpfile("M", MIB, 0), SS$_GBLSEC_MISMATCH,
              "$CREATE_GPFILE: the name belongs to another kind of section");
    is_status(crmpsc_gpfile("M", MIB, plain, 0), SS$_GBLSEC_MISMATCH,
              "$CRMPSC_GPFILE_64: the name belongs to another kind of section");
    is_status(sys$create_gdzro(&p, 0, 0, 8 * MIB, 0, SEC$M_SYSGBL), SS$_GBLSEC_MISMATCH,
              "$CREATE_GDZRO: the name belongs to another kind of section");
    is_status(sys$crmpsc_gdzro_64(&p, 0, 0, 8 * MIB, plain, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                                  &length),
              SS$_GBLSEC_MISMATCH, "$CRMPSC_GDZRO_64: the name belongs to another kind of section");
    is_status(sys$crmpsc_gpfn_64(&p, 0, 0, ASIDE, 1, plain, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                                 &length),
              SS$_GBLSEC_MISMATCH, "$CRMPSC_GPFN_64: the name belongs to another kind of section");
    is_status(sys$mgblsc_gpfn_64(&p, 0, plain, 0, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length),
              SS$_GBLSEC_MISMATCH, "$MGBLSC_GPFN_64: the name belongs to another kind of section");
    is_status(create_gpfile("P", MIB, 0), SS$_DUPLNAM, "$CREATE_GPFILE: the section exists");
    dgblsc("M");
}

static void pagfil(void)
{
    GENERIC_64 plain = region(16 * MIB, 0), shared = region(16 * MIB, VA$M_SHARED_PTS);
    struct mega_memory before = memory(), during;
    struct mega_section s;
    volatile uint64_t *p;
    char *other;
    pid_t pid;

    pagfil_errors(&plain, &shared);
    is_status(create_gpfile("P", 4 * MIB, 0), SS$_CREATED, "a page-file-backed section is created");
    is(memory().promised_unused, before.promised_unused, "creation promises no pages");
    pagfil_mismatch(&plain);
    is_status(map("P", &shared, SEC$M_WRT), SS$_NOSHPTS,
              "$MGBLSC_64 in a region with shared page tables is refused");
    is_status(map("P", &plain, SEC$M_WRT), SS$_NORMAL, "it is mapped in an ordinary region");
    p = va;
    ok(p[0] == 0 && p[4 * MIB / 8 - 1] == 0, "its pages are zero");
    p[0] = 17;
    ok(find("P", &s) && s.valid_pages == 2 && s.flags & SEC$M_PAGFIL && s.shares == 1,
       "two of its pages are valid");
    is(s.gptes, 4 * MIB / PAGE + 2, "it counts against GBLPAGES with its pages and two more");
    is(global().pagfil_pages.use, 4 * MIB / PAGE, "its pages count against GBLPAGFIL");
    pid = fork();
    if (pid == 0) {
        p[1] = p[0] + 1;
        _exit(crmpsc_gpfile("P", MIB, &plain, 0) == SS$_NORMAL && *(uint64_t *)va == 17 ? 0 : 1);
    }
    is(wait_for(pid), 0, "a child inherits the mapping and can map the section again");
    is(p[1], 18, "the child's store is visible");
    is_status(map("P", &plain, 0), SS$_NORMAL, "the section is mapped for reading");
    other = va;
    is(*(uint64_t *)other, 17, "the reader sees the contents");
    is(mprotect(other, PAGE, PROT_READ | PROT_WRITE), -1, "a reader cannot get write access");
    is(mprotect((void *)p, PAGE, PROT_READ), 0, "a writer can give up write access");
    is(mprotect((void *)p, PAGE, PROT_READ | PROT_WRITE), 0, "a writer can get write access back");
    p[0] = 19;
    is(*(volatile uint64_t *)other, 19, "both mappings show the same page");
    is_status(sys$deltva_64(&plain, (char *)p + MIB, MIB, 0, &va, &length), SS$_NORMAL,
              "a part of a mapping is deleted");
    ok(p[0] == 19 && p[2 * MIB / 8] == 0, "the rest of the mapping is unchanged");
    consistent("while page-file-backed sections are mapped");
    is_status(sys$deltva_64(&plain, (char *)p, MIB, 0, &va, &length), SS$_NORMAL,
              "the part of the mapping with the data is deleted");
    is(*(volatile uint64_t *)other, 19, "the other mapping keeps the data");
    is_status(sys$lckpag_64(other, 2 * PAGE, 0, &va, &length), SS$_WASCLR,
              "its pages can be locked in memory");
    is_status(sys$lckpag_64(other, PAGE, 0, &va, &length), SS$_WASSET, "they are locked");
    is_status(sys$ulkpag_64(other, 2 * PAGE, 0, &va, &length), SS$_WASSET, "they are unlocked");
    consistent("then");
    region_end(&plain);
    ok(find("P", &s) && s.shares == 0 && s.valid_pages >= 2,
       "a permanent section keeps its contents without a mapping");
    plain = region(16 * MIB, 0);
    is_status(map("P", &plain, SEC$M_WRT), SS$_NORMAL, "it can be mapped again");
    p = va;
    is(p[0], 19, "it shows what was written");
    is_status(dgblsc("P"), SS$_NORMAL, "the section is deleted");
    is_status(map("P", &plain, SEC$M_WRT), SS$_NOSUCHSEC, "a deleted section cannot be mapped");
    ok(find("P", &s) && s.delete_pending && p[0] == 19, "an existing mapping keeps the section");
    is_status(create_gpfile("P", MIB, 0), SS$_CREATED, "a new section can have the same name");
    is_status(map("P", &plain, SEC$M_WRT), SS$_NORMAL, "the new section is mapped");
    ok(*(uint64_t *)va == 0 && p[0] == 19, "the two sections have different pages");
    is_status(dgblsc("P"), SS$_NORMAL, "the new section is deleted");
    is_status(dgblsc("P"), SS$_NOSUCHSEC, "a deleted section cannot be deleted again");
    region_end(&plain);
    ok(!find("P", &s), "both sections are gone after their last mappings");
    plain = region(16 * MIB, 0);
    is_status(crmpsc_gpfile("T", 2 * MIB, &plain, 0), SS$_CREATED,
              "a temporary section is created");
    region_end(&plain);
    ok(!find("T", &s), "it is gone after its last mapping");
    region_end(&shared);
    during = memory();
    ok(during.free + 64 > before.free, "the pages are freed");
    is(global().pagfil_pages.use, 0, "no page counts against GBLPAGFIL");
}

/* ---- page-frame sections ---- */

static int create_gpfn(const char *name, uint64_t pfn, uint64_t n, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$create_gpfn(&d, 0, 0, pfn, n, 0, flags | SEC$M_SYSGBL);
}

static int crmpsc_gpfn(const char *name, uint64_t pfn, uint64_t n, GENERIC_64 *id, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$crmpsc_gpfn_64(&d, 0, 0, pfn, n, id, 0, 0, flags | SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                              &length);
}

static int mgblsc_gpfn(const char *name, GENERIC_64 *id, uint64_t page, uint64_t n, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$mgblsc_gpfn_64(&d, 0, id, page, n, 0, flags | SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                              &length);
}

static void frames_refused(GENERIC_64 *plain, GENERIC_64 *shared)
{
    struct dsc$descriptor_s d = named("F");

    is_status(create_gpfn("F", ASIDE, 0, 0), SS$_ILLPAGCNT, "$CREATE_GPFN: 0 pages");
    is_status(create_gpfn("F", ASIDE, 1UL << 40, 0), SS$_ILLPAGCNT, "$CREATE_GPFN: too many pages");
    is_status(create_gpfn("F", ASIDE, 1, SEC$M_DZRO), SS$_IVSECFLG, "$CREATE_GPFN: invalid flag");
    is_status(create_gpfn("F:", ASIDE, 1, 0), SS$_IVGSDNAM, "$CREATE_GPFN: invalid name");
    is_status(sys$create_gpfn(&d, 0, 0, ASIDE, 1, 5, SEC$M_SYSGBL), SS$_IVACMODE,
              "$CREATE_GPFN: invalid access mode");
    is_status(create_gpfn("F", 0, 1, 0), SS$_INVPFN, "$CREATE_GPFN: frame 0");
    is_status(create_gpfn("F", 1000, 1, 0), SS$_INVPFN, "$CREATE_GPFN: frame of the kernel");
    is_status(create_gpfn("F", 100 * MIB / PAGE, 1, 0), SS$_INVPFN, "$CREATE_GPFN: free frame");
    is_status(create_gpfn("F", 256 * MIB / PAGE - 1, 2, 0), SS$_INVPFN,
              "$CREATE_GPFN: range that begins below PHYSICAL_MEMORY");
    is_status(create_gpfn("F", 512 * MIB / PAGE, 1, 0), SS$_INVPFN,
              "$CREATE_GPFN: frame after the end of memory");
    is_status(create_gpfn("F", UINT64_MAX, 1, 0), SS$_INVPFN,
              "$CREATE_GPFN: frame number too large");
    is_status(create_gpfn("F", IO + 0x1A0000000UL / PAGE, 1, 0), SS$_INVPFN,
              "$CREATE_GPFN: registers of the chipset");
    is_status(create_gpfn("F", IO + 0x1FE000000UL / PAGE, 1, 0), SS$_INVPFN,
              "$CREATE_GPFN: configuration space");
    is_status(crmpsc_gpfn("F", ASIDE, 1, shared, 0), SS$_NOSHPTS,
              "$CRMPSC_GPFN_64: region with shared page tables");
    is_status(sys$crmpsc_gpfn_64(&d, 0, 0, ASIDE, 4, plain, 4, 0, SEC$M_EXPREG, &va, &length),
              SS$_ILLRELPAG, "$CRMPSC_GPFN_64: relative page after the end");
    is_status(sys$crmpsc_gpfn_64(&d, 0, 0, ASIDE, 4, plain, 2, 0, SEC$M_EXPREG, &va, &length, 0, 3),
              SS$_ILLPAGCNT, "$CRMPSC_GPFN_64: more pages than the section has");
    is_status(mgblsc_gpfn("F", plain, 0, 0, 0), SS$_NOSUCHSEC,
              "the refused calls have left no section");
}

static void frames(void)
{
    GENERIC_64 plain = region(64 * MIB, 0), shared = region(16 * MIB, VA$M_SHARED_PTS);
    struct mega_memory before = memory();
    struct mega_section s;
    volatile uint64_t *p;
    pid_t pid;

    frames_refused(&plain, &shared);
    is_status(create_gpfn("F", ASIDE, 1024, SEC$M_WRT), SS$_CREATED,
              "$CREATE_GPFN creates a section");
    is(global().gptes.use, 0, "it does not count against GBLPAGES");
    is_status(create_gpfn("F", ASIDE, 1024, SEC$M_WRT), SS$_DUPLNAM,
              "$CREATE_GPFN: the section exists");
    is_status(map("F", &plain, 0), SS$_GBLSEC_MISMATCH,
              "$MGBLSC_64 is refused for a page-frame section");
    is_status(mgblsc_gpfn("F", &shared, 0, 0, SEC$M_WRT), SS$_NOSHPTS,
              "$MGBLSC_GPFN_64: region with shared page tables");
    is_status(mgblsc_gpfn("F", &plain, 1024, 0, 0), SS$_ILLRELPAG,
              "$MGBLSC_GPFN_64: relative page after the end");
    is_status(mgblsc_gpfn("F", &plain, 1UL << 62, 0, 0), SS$_ILLRELPAG,
              "$MGBLSC_GPFN_64: relative page far too large");
    is_status(mgblsc_gpfn("F", &plain, 1000, 25, 0), SS$_ILLPAGCNT,
              "$MGBLSC_GPFN_64: too many pages");
    is_status(mgblsc_gpfn("F", &plain, 0, 0, SEC$M_WRT), SS$_NORMAL,
              "$MGBLSC_GPFN_64 maps the section");
    is(length, 8 * MIB, "all of the section is mapped");
    ok(find("F", &s) && s.l3_ptes[3] == 1024 && s.gh_errors == 0,
       "all PTEs have a hint of 512 pages");
    p = va;
    p[0] = 42;
    p[8 * MIB / 8 - 1] = 43;
    is_status(mgblsc_gpfn("F", &plain, 1023, 1, 0), SS$_NORMAL, "its last page is mapped");
    ok(length == PAGE && ((uint64_t *)va)[PAGE / 8 - 1] == 43, "it is the same frame");
    consistent("while page frames are mapped");
    pid = fork();
    if (pid == 0) {
        p[1] = p[0] + 1;
        *(volatile uint64_t *)va = 1; /* mapped for reading: SIGSEGV */
        _exit(1);
    }
    ok(WTERMSIG(wait_for(pid)) == SIGSEGV && p[1] == 43,
       "a child inherits the mappings with their access");
    is(mprotect((void *)p, PAGE, PROT_READ), 0, "a mapper can give up write access");
    is(mprotect((void *)p, PAGE, PROT_READ | PROT_WRITE), 0, "it can get write access back");
    is_status(sys$lckpag_64((void *)p, 2 * PAGE, 0, &va, &length), SS$_WASCLR,
              "locking pages has no effect");
    is_status(sys$deltva_64(&plain, (char *)p + PAGE, PAGE, 0, &va, &length), SS$_NORMAL,
              "a page is deleted from the mapping");
    ok(find("F", &s) && s.gh_errors == 0 && p[0] == 42, "the other PTEs have right hints");
    is_status(dgblsc("F"), SS$_NORMAL, "the section is deleted");
    region_end(&plain);
    ok(!find("F", &s), "the section is gone after its last mapping");
    plain = region(16 * MIB, 0);
    is_status(crmpsc_gpfn("G", ASIDE + 1, 7, &plain, 0), SS$_CREATED,
              "$CRMPSC_GPFN_64 maps the frames after the first");
    ok(find("G", &s) && s.l3_ptes[0] == 7, "frames that are not aligned have no hints");
    is_status(crmpsc_gpfn("G", ASIDE + 1, 7, &plain, SEC$M_WRT), SS$_NOWRT,
              "a read-only section cannot be mapped for writing");
    region_end(&plain);
    ok(!find("G", &s), "a temporary section is gone after its last mapping");
    plain = region(16 * MIB, 0);
    is_status(crmpsc_gpfn("G", ASIDE, 1, &plain, SEC$M_WRT), SS$_CREATED,
              "a section of the first frame is created again");
    is(*(uint64_t *)va, 42, "the frame has its contents, because the system does not own it");
    region_end(&plain);
    region_end(&shared);
    ok(memory().free + 16 > before.free, "as many pages are free as before");
}

static void devices(void)
{
    GENERIC_64 plain = region(16 * MIB, 0);
    volatile unsigned char *port;
    pid_t pid;

    is_status(crmpsc_gpfn("PORTS", PORTS, 8, &plain, 0), SS$_CREATED, "PCI I/O space");
    port = va;
    ok(port[LSR] != 0xFF && (port[LSR] & 0x20), "the serial port reports that it is ready");
    is_status(crmpsc_gpfn("HOLE", IO + 0x70000000UL / PAGE, 1, &plain, 0), SS$_CREATED,
              "a section of PCI memory without a device is created");
    pid = fork();
    if (pid == 0) {
        (void)*(volatile uint32_t *)va;
        _exit(0);
    }
    ok(WTERMSIG(wait_for(pid)) == SIGBUS, "a read from it is a bus error");
    is(write(1, va, 8), -1, "a system call that reads from it fails");
    ok(errno == EFAULT, "the error is EFAULT");
    region_end(&plain);
}

/* ---- privileges ---- */

static void privileges(void)
{
    GENERIC_64 plain = region(16 * MIB, 0);
    struct dsc$descriptor_s open = named("OPEN"), mine = named("MINE");
    pid_t pid;

    is_status(create_gpfn("OPEN", ASIDE, 8, SEC$M_WRT), SS$_CREATED,
              "a page-frame section is created");
    pid = fork();
    if (pid == 0) {
        int wrong = 0;

        if (setgid(7) != 0 || setuid(7) != 0)
            _exit(99);
        wrong += create_gpfn("X", ASIDE, 8, 0) != SS$_NOPFNMAP;
        wrong += create_gpfile("X", MIB, 0) != SS$_NOSYSGBL;
        wrong += sys$create_gpfile(&mine, 0, 0, MIB, 0, 0) != SS$_NOPRMGBL;
        wrong += sys$crmpsc_gpfn_64(&mine, 0, 0, ASIDE, 8, &plain, 0, 0, SEC$M_EXPREG, &va,
                                    &length) != SS$_NOPFNMAP;
        wrong += sys$mgblsc_gpfn_64(&open, 0, &plain, 0, 0, 0,
                                    SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va,
                                    &length) != SS$_NORMAL;
        wrong += sys$crmpsc_gpfile_64(&mine, 0, 0, MIB, &plain, 0, 0, SEC$M_EXPREG, &va, &length) !=
                 SS$_CREATED;
        _exit(wrong);
    }
    is(wait_for(pid), 0, "without privileges only a group page-file-backed section can be created");
    is_status(dgblsc("OPEN"), SS$_NORMAL, "the section is deleted");
    region_end(&plain);
}

int main(void)
{
    consistent("at the start"); /* allocates the pool that the check itself needs */
    pagfil();
    frames();
    devices();
    privileges();
    consistent("at the end");
    return tap_done();
}
