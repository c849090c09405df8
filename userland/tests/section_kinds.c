// TAP
// RUN: -m 512M --set PHYSICAL_MEMORY=256
/*
 * Page-frame sections and page-file-backed sections as a program sees them: what may be created,
 * mapped and shared, each refusal its own condition value, and what is left when they go.
 * PHYSICAL_MEMORY leaves 256 MiB aside, frames that nobody else uses.
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
#define ASIDE (300 * MIB / PAGE) /* a frame that is left aside, at a 4 MiB boundary */
#define IO    (1UL << 30)        /* frames of physical I/O space, bit 43 of the address */
#define PORTS (IO + 0x1FC000000UL / PAGE)
#define LSR   0x3FD /* line status of the first serial port; bit 5: it takes a character */

static void *va;
static unsigned __int64 length;

static GENERIC_64 region(uint64_t bytes, unsigned flags)
{
    GENERIC_64 id = {{0}};
    int status = sys$create_region_64(bytes, VA$C_UCREATE_UOWN, flags, &id, &va, &length);

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

    if (!ok(status == SS$_NORMAL && m.errors == 0 && !m.timed_out, "every page is counted exactly once %s",
            when))
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
    struct _secid bad = {3, 0};

    is_status(create_gpfile("P", MIB + 1, 0), SS$_LEN_NOTPAGMULT, "$create_gpfile: length");
    is_status(create_gpfile("P", 0, 0), SS$_LEN_NOTPAGMULT, "no length");
    is_status(create_gpfile("P", 1UL << 43, 0), SS$_LENVIO, "longer than any address space");
    is_status(create_gpfile("P", MIB, SEC$M_MRES), SS$_IVSECFLG, "another kind's flag");
    is_status(sys$create_gpfile((void *)8, 0, 0, MIB, 0, 0), SS$_ACCVIO, "descriptor");
    is_status(sys$create_gpfile(&wrong, 0, 0, MIB, 0, 0), SS$_IVGSDNAM, "name");
    is_status(sys$create_gpfile(&d, &bad, 0, MIB, 0, 0), SS$_IVSECIDCTL, "match control");
    is_status(sys$create_gpfile(&d, 0, 0, MIB, 4, 0), SS$_IVACMODE, "access mode");
    is_status(crmpsc_gpfile("P", 0, plain, 0), SS$_LEN_NOTPAGMULT, "$crmpsc_gpfile_64: length");
    is_status(crmpsc_gpfile("P", MIB, plain, SEC$M_PFNMAP), SS$_IVSECFLG, "flag");
    is_status(sys$crmpsc_gpfile_64(&d, 0, 0, MIB, plain, 0, 0, SEC$M_EXPREG, (void **)4, &length),
              SS$_ACCVIO, "output");
    is_status(crmpsc_gpfile("P", MIB, shared, 0), SS$_NOSHPTS,
              "never in a region with shared page tables");
    is_status(crmpsc_gpfile("P", 64 * MIB, plain, 0), SS$_REGISFULL, "no room");
    is_status(map("P", plain, 0), SS$_NOSUCHSEC, "and nothing was left of it");
}

static void pagfil_mismatch(GENERIC_64 *plain)
{
    struct dsc$descriptor_s p = named("P"), m = named("M");

    is_status(sys$create_gdzro(&m, 0, 0, 8 * MIB, 0, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a memory-resident section");
    is_status(create_gpfile("M", MIB, 0), SS$_GBLSEC_MISMATCH, "its name for $create_gpfile");
    is_status(crmpsc_gpfile("M", MIB, plain, 0), SS$_GBLSEC_MISMATCH, "for $crmpsc_gpfile_64");
    is_status(sys$create_gdzro(&p, 0, 0, 8 * MIB, 0, SEC$M_SYSGBL), SS$_GBLSEC_MISMATCH,
              "and the other way round");
    is_status(sys$crmpsc_gdzro_64(&p, 0, 0, 8 * MIB, plain, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                                  &length),
              SS$_GBLSEC_MISMATCH, "in all services");
    is_status(sys$crmpsc_gpfn_64(&p, 0, 0, ASIDE, 1, plain, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va,
                                 &length),
              SS$_GBLSEC_MISMATCH, "that name a kind");
    is_status(sys$mgblsc_gpfn_64(&p, 0, plain, 0, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length),
              SS$_GBLSEC_MISMATCH, "of section");
    is_status(create_gpfile("P", MIB, 0), SS$_DUPLNAM, "its own kind's name twice");
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
    is_status(create_gpfile("P", 4 * MIB, 0), SS$_CREATED, "$create_gpfile");
    is(memory().promised_unused, before.promised_unused, "promises nothing");
    pagfil_mismatch(&plain);
    is_status(map("P", &shared, SEC$M_WRT), SS$_NOSHPTS,
              "$mgblsc_64 in a region with shared page tables");
    is_status(map("P", &plain, SEC$M_WRT), SS$_NORMAL, "elsewhere");
    p = va;
    ok(p[0] == 0 && p[4 * MIB / 8 - 1] == 0, "demand zero");
    p[0] = 17;
    ok(find("P", &s) && s.valid_pages == 2 && s.flags & SEC$M_PAGFIL && s.shares == 1,
       "two pages of it are there");
    is(s.gptes, 4 * MIB / PAGE + 2, "it counts for its pages and two global PTEs");
    is(global().pagfil_pages.use, 4 * MIB / PAGE, "and for its pages against GBLPAGFIL");
    pid = fork();
    if (pid == 0) {
        p[1] = p[0] + 1;
        _exit(crmpsc_gpfile("P", MIB, &plain, 0) == SS$_NORMAL && *(uint64_t *)va == 17 ? 0 : 1);
    }
    is(wait_for(pid), 0, "a child has it, and maps it again");
    is(p[1], 18, "the same pages");
    is_status(map("P", &plain, 0), SS$_NORMAL, "a reader");
    other = va;
    is(*(uint64_t *)other, 17, "reads them");
    is(mprotect(other, PAGE, PROT_READ | PROT_WRITE), -1, "and can get no more access");
    is(mprotect((void *)p, PAGE, PROT_READ), 0, "a writer may give up his");
    is(mprotect((void *)p, PAGE, PROT_READ | PROT_WRITE), 0, "and have it back");
    p[0] = 19;
    is(*(volatile uint64_t *)other, 19, "it is one page all the time");
    is_status(sys$deltva_64(&plain, (char *)p + MIB, MIB, 0, &va, &length), SS$_NORMAL,
              "a part of a mapping goes");
    ok(p[0] == 19 && p[2 * MIB / 8] == 0, "the rest stays");
    consistent("with page-file sections mapped");
    is_status(sys$deltva_64(&plain, (char *)p, MIB, 0, &va, &length), SS$_NORMAL,
              "the part with the data too");
    is(*(volatile uint64_t *)other, 19, "others keep it");
    is_status(sys$lckpag_64(other, 2 * PAGE, 0, &va, &length), SS$_WASCLR,
              "its pages can be locked in memory");
    is_status(sys$lckpag_64(other, PAGE, 0, &va, &length), SS$_WASSET, "and are");
    is_status(sys$ulkpag_64(other, 2 * PAGE, 0, &va, &length), SS$_WASSET, "and unlocked");
    consistent("then");
    region_end(&plain);
    ok(find("P", &s) && s.shares == 0 && s.valid_pages >= 2, "a permanent one keeps its contents");
    plain = region(16 * MIB, 0);
    is_status(map("P", &plain, SEC$M_WRT), SS$_NORMAL, "mapped again");
    p = va;
    is(p[0], 19, "with what was written");
    is_status(dgblsc("P"), SS$_NORMAL, "deleted");
    is_status(map("P", &plain, SEC$M_WRT), SS$_NOSUCHSEC, "nobody can map it any more");
    ok(find("P", &s) && s.delete_pending && p[0] == 19, "who does keeps it");
    is_status(create_gpfile("P", MIB, 0), SS$_CREATED, "the name is free for another");
    is_status(map("P", &plain, SEC$M_WRT), SS$_NORMAL, "which is mapped");
    ok(*(uint64_t *)va == 0 && p[0] == 19, "and is not the old one");
    is_status(dgblsc("P"), SS$_NORMAL, "deleted");
    is_status(dgblsc("P"), SS$_NOSUCHSEC, "once");
    region_end(&plain);
    ok(!find("P", &s), "both are gone");
    plain = region(16 * MIB, 0);
    is_status(crmpsc_gpfile("T", 2 * MIB, &plain, 0), SS$_CREATED, "a temporary one");
    region_end(&plain);
    ok(!find("T", &s), "goes with its mapping");
    region_end(&shared);
    during = memory();
    ok(during.free + 64 > before.free, "pages are back");
    is(global().pagfil_pages.use, 0, "and none counts against GBLPAGFIL");
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

    is_status(create_gpfn("F", ASIDE, 0, 0), SS$_ILLPAGCNT, "$create_gpfn: no pages");
    is_status(create_gpfn("F", ASIDE, 1UL << 40, 0), SS$_ILLPAGCNT, "too many");
    is_status(create_gpfn("F", ASIDE, 1, SEC$M_DZRO), SS$_IVSECFLG, "flag");
    is_status(create_gpfn("F:", ASIDE, 1, 0), SS$_IVGSDNAM, "name");
    is_status(sys$create_gpfn(&d, 0, 0, ASIDE, 1, 5, SEC$M_SYSGBL), SS$_IVACMODE, "access mode");
    is_status(create_gpfn("F", 0, 1, 0), SS$_INVPFN, "frame 0");
    is_status(create_gpfn("F", 1000, 1, 0), SS$_INVPFN, "a frame of the kernel's");
    is_status(create_gpfn("F", 100 * MIB / PAGE, 1, 0), SS$_INVPFN, "a free one");
    is_status(create_gpfn("F", 256 * MIB / PAGE - 1, 2, 0), SS$_INVPFN, "one that is half aside");
    is_status(create_gpfn("F", 512 * MIB / PAGE, 1, 0), SS$_INVPFN, "behind memory");
    is_status(create_gpfn("F", UINT64_MAX, 1, 0), SS$_INVPFN, "no frame at all");
    is_status(create_gpfn("F", IO + 0x1A0000000UL / PAGE, 1, 0), SS$_INVPFN,
              "the chipset's registers");
    is_status(create_gpfn("F", IO + 0x1FE000000UL / PAGE, 1, 0), SS$_INVPFN, "configuration space");
    is_status(crmpsc_gpfn("F", ASIDE, 1, shared, 0), SS$_NOSHPTS,
              "no region with shared page tables");
    is_status(sys$crmpsc_gpfn_64(&d, 0, 0, ASIDE, 4, plain, 4, 0, SEC$M_EXPREG, &va, &length),
              SS$_ILLRELPAG, "relative page");
    is_status(sys$crmpsc_gpfn_64(&d, 0, 0, ASIDE, 4, plain, 2, 0, SEC$M_EXPREG, &va, &length, 0, 3),
              SS$_ILLPAGCNT, "more pages than there are");
    is_status(mgblsc_gpfn("F", plain, 0, 0, 0), SS$_NOSUCHSEC, "nothing was left of them");
}

static void frames(void)
{
    GENERIC_64 plain = region(64 * MIB, 0), shared = region(16 * MIB, VA$M_SHARED_PTS);
    struct mega_memory before = memory();
    struct mega_section s;
    volatile uint64_t *p;
    pid_t pid;

    frames_refused(&plain, &shared);
    is_status(create_gpfn("F", ASIDE, 1024, SEC$M_WRT), SS$_CREATED, "$create_gpfn");
    is(global().gptes.use, 0, "takes no global page table entries");
    is_status(create_gpfn("F", ASIDE, 1024, SEC$M_WRT), SS$_DUPLNAM, "twice");
    is_status(map("F", &plain, 0), SS$_GBLSEC_MISMATCH, "$mgblsc_64 is not for it");
    is_status(mgblsc_gpfn("F", &shared, 0, 0, SEC$M_WRT), SS$_NOSHPTS,
              "nor a region with shared page tables");
    is_status(mgblsc_gpfn("F", &plain, 1024, 0, 0), SS$_ILLRELPAG, "relative page");
    is_status(mgblsc_gpfn("F", &plain, 1UL << 62, 0, 0), SS$_ILLRELPAG, "far out");
    is_status(mgblsc_gpfn("F", &plain, 1000, 25, 0), SS$_ILLPAGCNT, "page count");
    is_status(mgblsc_gpfn("F", &plain, 0, 0, SEC$M_WRT), SS$_NORMAL, "$mgblsc_gpfn_64");
    is(length, 8 * MIB, "all of it");
    ok(find("F", &s) && s.l3_ptes[3] == 1024 && s.gh_errors == 0, "all hints 512 pages");
    p = va;
    p[0] = 42;
    p[8 * MIB / 8 - 1] = 43;
    is_status(mgblsc_gpfn("F", &plain, 1023, 1, 0), SS$_NORMAL, "its last page");
    ok(length == PAGE && ((uint64_t *)va)[PAGE / 8 - 1] == 43, "is the same frame");
    consistent("with page frames mapped");
    pid = fork();
    if (pid == 0) {
        p[1] = p[0] + 1;
        *(volatile uint64_t *)va = 1; /* for reading */
        _exit(1);
    }
    ok(WTERMSIG(wait_for(pid)) == SIGSEGV && p[1] == 43, "a child shares it, as it was mapped");
    is(mprotect((void *)p, PAGE, PROT_READ), 0, "a mapper may take access from itself");
    is(mprotect((void *)p, PAGE, PROT_READ | PROT_WRITE), 0, "and have it back");
    is_status(sys$lckpag_64((void *)p, 2 * PAGE, 0, &va, &length), SS$_WASCLR,
              "locking it changes nothing");
    is_status(sys$deltva_64(&plain, (char *)p + PAGE, PAGE, 0, &va, &length), SS$_NORMAL,
              "a page is unmapped");
    ok(find("F", &s) && s.gh_errors == 0 && p[0] == 42, "the others keep right hints");
    is_status(dgblsc("F"), SS$_NORMAL, "deleted");
    region_end(&plain);
    ok(!find("F", &s), "and gone");
    plain = region(16 * MIB, 0);
    is_status(crmpsc_gpfn("G", ASIDE + 1, 7, &plain, 0), SS$_CREATED,
              "$crmpsc_gpfn_64 of the frames behind the first");
    ok(find("G", &s) && s.l3_ptes[0] == 7, "no hints where nothing is aligned");
    is_status(crmpsc_gpfn("G", ASIDE + 1, 7, &plain, SEC$M_WRT), SS$_NOWRT,
              "made for reading, it is not mapped for writing");
    region_end(&plain);
    ok(!find("G", &s), "a temporary one goes with its mapping");
    plain = region(16 * MIB, 0);
    is_status(crmpsc_gpfn("G", ASIDE, 1, &plain, SEC$M_WRT), SS$_CREATED, "the first frame again");
    is(*(uint64_t *)va, 42, "unmapping frees and zeroes nothing: it is nobody's memory");
    region_end(&plain);
    region_end(&shared);
    ok(memory().free + 16 > before.free, "and no page is missing");
}

static void devices(void)
{
    GENERIC_64 plain = region(16 * MIB, 0);
    volatile unsigned char *port;
    pid_t pid;

    is_status(crmpsc_gpfn("PORTS", PORTS, 8, &plain, 0), SS$_CREATED, "PCI I/O space");
    port = va;
    ok(port[LSR] != 0xFF && (port[LSR] & 0x20), "the serial port says that it is ready");
    is_status(crmpsc_gpfn("HOLE", IO + 0x70000000UL / PAGE, 1, &plain, 0), SS$_CREATED,
              "PCI memory that no device has");
    pid = fork();
    if (pid == 0) {
        (void)*(volatile uint32_t *)va;
        _exit(0);
    }
    ok(WTERMSIG(wait_for(pid)) == SIGBUS, "gives whoever reads it a bus error");
    is(write(1, va, 8), -1, "and a system call EFAULT");
    ok(errno == EFAULT, "and nothing worse");
    region_end(&plain);
}

/* ---- who may ---- */

static void privileges(void)
{
    GENERIC_64 plain = region(16 * MIB, 0);
    struct dsc$descriptor_s open = named("OPEN"), mine = named("MINE");
    pid_t pid;

    is_status(create_gpfn("OPEN", ASIDE, 8, SEC$M_WRT), SS$_CREATED, "a page-frame section");
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
    is(wait_for(pid), 0, "without privileges: no page frames, but a group section of pages");
    is_status(dgblsc("OPEN"), SS$_NORMAL, "deleted");
    region_end(&plain);
}

int main(void)
{
    consistent("at the start"); /* what the check itself takes of pool, it has now */
    pagfil();
    frames();
    devices();
    privileges();
    consistent("at the end");
    return tap_done();
}
