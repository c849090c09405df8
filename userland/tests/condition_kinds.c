// TAP
// RUN: -m 256M --set GBLSECTIONS=16
/*
 * Condition values of the services for page-file-backed and page-frame sections
 * (docs/condition-values.md): each service is called with one wrong argument at a time.
 */
#include <descrip.h>
#include <megalith/creds.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <tap.h>
#include <vadef.h>

#define MIB      (1UL << 20)
#define PAGE     8192UL
#define BAD      8            /* an address in page 0, which is never mapped */
#define BUS_PAGE 0x40000000UL /* the first page of PCI memory */
#define OUTPUTS  &va, &length
#define CREATES  1u
#define MAPS     2u

static void *va;
static unsigned __int64 length;
static GENERIC_64 p2 = {{VA$C_P2}}, p0 = {{VA$C_P0}}, none = {{4711}}, shared, small;
static char *small_va;

/* The arguments of all services. Sizes, offsets and parts are in pages for page-frame sections,
 * otherwise in bytes. */
struct call {
    const char *name;
    struct _secid ident;
    unsigned prot, acmode, flags;
    uint64_t pfn, size, offset, part;
    GENERIC_64 *region;
    void *start, *va_out;
};

static void *named(const char *name)
{
    static struct dsc$descriptor_s d;

    if (!name)
        return (void *)BAD;
    d = (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                  (char *)name};
    return &d;
}

static int create_gpfile(struct call *c)
{
    return sys$create_gpfile(named(c->name), &c->ident, c->prot, c->size, c->acmode,
                             c->flags & ~SEC$M_EXPREG);
}

static int crmpsc_gpfile(struct call *c)
{
    return sys$crmpsc_gpfile_64(named(c->name), &c->ident, c->prot, c->size, c->region, c->offset,
                                c->acmode, c->flags, c->va_out, &length, c->start, c->part);
}

static int create_gpfn(struct call *c)
{
    return sys$create_gpfn(named(c->name), &c->ident, c->prot, c->pfn, c->size, c->acmode,
                           c->flags & ~SEC$M_EXPREG);
}

static int crmpsc_gpfn(struct call *c)
{
    return sys$crmpsc_gpfn_64(named(c->name), &c->ident, c->prot, c->pfn, c->size, c->region,
                              c->offset, c->acmode, c->flags, c->va_out, &length, c->start,
                              c->part);
}

static int mgblsc_gpfn(struct call *c)
{
    return sys$mgblsc_gpfn_64(named(c->name), &c->ident, c->region, c->offset, c->part, c->acmode,
                              c->flags, c->va_out, &length, c->start);
}

static int dgblsc(const char *name, unsigned flags) { return sys$dgblsc(flags, named(name), 0); }

static const struct service {
    const char *name;
    int (*call)(struct call *);
    bool frames;
    unsigned does;
} services[] = {
    {"$create_gpfile", create_gpfile, false, CREATES},
    {"$crmpsc_gpfile_64", crmpsc_gpfile, false, CREATES | MAPS},
    {"$create_gpfn", create_gpfn, true, CREATES},
    {"$crmpsc_gpfn_64", crmpsc_gpfn, true, CREATES | MAPS},
    {"$mgblsc_gpfn_64", mgblsc_gpfn, true, MAPS},
};

/* A call without errors: 4 pages, mapped anywhere in P2. */
static struct call right(const struct service *s)
{
    return (struct call){.name = "K",
                         .pfn = BUS_PAGE,
                         .size = s->frames ? 4 : 4 * PAGE,
                         .region = &p2,
                         .flags = SEC$M_EXPREG | (s->frames ? SEC$M_WRT : 0),
                         .va_out = &va};
}

/* One call that differs from the valid one as the statements `change` say. */
#define WRONG(s, want, what, change)                               \
    do {                                                           \
        struct call c = right(s);                                  \
        change;                                                    \
        is_status((s)->call(&c), want, "%s: %s", (s)->name, what); \
    } while (0)

static void arguments(const struct service *s)
{
    WRONG(s, SS$_ACCVIO, "descriptor not readable", c.name = NULL);
    WRONG(s, SS$_IVGSDNAM, "empty name", c.name = "");
    WRONG(s, SS$_IVGSDNAM, "colon in the name", c.name = "A:B");
    WRONG(s, SS$_IVSECIDCTL, "invalid match control", c.ident.secid$l_match = 3);
    WRONG(s, SS$_IVSECFLG, "invalid flag", c.flags |= SEC$M_CRF);
    WRONG(s, SS$_IVACMODE, "invalid access mode", c.acmode = 4);
}

static void creation(const struct service *s)
{
    uint64_t unit = s->frames ? 1 : PAGE;

    WRONG(s, s->frames ? SS$_ILLPAGCNT : SS$_LEN_NOTPAGMULT, "length 0", c.size = 0);
    WRONG(s, s->frames ? SS$_ILLPAGCNT : SS$_LENVIO, "length too large", c.size = unit << 30);
    if (s->frames) {
        WRONG(s, SS$_INVPFN, "frame of ordinary memory", c.pfn = 1000);
        WRONG(s, SS$_INVPFN, "frame 0", c.pfn = 0);
        WRONG(s, SS$_INVPFN, "frame number that does not fit into a PTE", c.pfn = 1UL << 32);
    } else {
        WRONG(s, SS$_EXGBLPAGFIL, "more than GBLPAGFIL", c.size = (1UL << 40) + PAGE);
        WRONG(s, SS$_GPTFULL, "more than GBLPAGES", c.size = 1UL << 41);
    }
}

static void place(const struct service *s)
{
    WRONG(s, SS$_ACCVIO, "region id not readable", c.region = (void *)BAD);
    WRONG(s, SS$_ACCVIO, "address output not writable", c.va_out = (void *)BAD);
    WRONG(s, SS$_IVREGID, "region does not exist", c.region = &none);
    WRONG(s, SS$_NOSHPTS, "region has shared page tables", c.region = &shared);
    WRONG(s, SS$_REGISFULL, "region of 2 pages is too small", c.region = &small);
    WRONG(s, SS$_VA_NOTPAGALGN, "start address not page-aligned", c.flags &= ~SEC$M_EXPREG;
          c.start = (void *)(0x200000000 + 1));
    WRONG(s, SS$_PAGNOTINREG, "start address outside the region", c.flags &= ~SEC$M_EXPREG;
          c.start = (void *)0x200000000; c.region = &small);
    WRONG(s, SS$_VA_IN_USE, "start address inside the program", c.flags &= ~SEC$M_EXPREG;
          c.start = (void *)0x120000000);
    if (s->frames) {
        WRONG(s, SS$_ILLRELPAG, "relative page after the end", c.offset = 4);
        WRONG(s, SS$_ILLRELPAG, "relative page far too large", c.offset = 1UL << 40);
        WRONG(s, SS$_ILLPAGCNT, "part extends past the end", c.part = 5);
        WRONG(s, SS$_ILLPAGCNT, "part far too large", c.part = 1UL << 40);
    } else {
        WRONG(s, SS$_OFF_NOTPAGALGN, "an offset of 1", c.offset = 1);
        WRONG(s, SS$_OFFSET_TOO_BIG, "an offset at the end", c.offset = 4 * PAGE);
        WRONG(s, SS$_LEN_NOTPAGMULT, "part of 1 byte", c.part = 1);
        WRONG(s, SS$_LENVIO, "part extends past the end", c.part = 5 * PAGE);
    }
}

/* In a child: calls without a required privilege. Returns the number of wrong results. */
static int without(const struct service *s, uint64_t privileges, unsigned flags, int want)
{
    struct call c = right(s);
    struct mega_creds creds = {0200, 1, privileges, privileges, 0};
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        c.name = "L";
        c.flags |= flags;
        if (mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&creds, 0, 0, 0, 0) != SS$_NORMAL)
            _exit(2);
        _exit(!status_is(s->call(&c), want));
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void privileges(const struct service *s)
{
    const uint64_t frames = s->frames ? PRV$M_PFNMAP : 0;

    if (s->frames)
        is(without(s, PRV$M_SYSGBL | PRV$M_PRMGBL, SEC$M_SYSGBL | SEC$M_PERM, SS$_NOPFNMAP), 0,
           "%s: without PFNMAP", s->name);
    is(without(s, frames | PRV$M_PRMGBL, SEC$M_SYSGBL | SEC$M_PERM, SS$_NOSYSGBL), 0,
       "%s: without SYSGBL", s->name);
    is(without(s, frames | PRV$M_SYSGBL, SEC$M_SYSGBL | SEC$M_PERM, SS$_NOPRMGBL), 0,
       "%s: without PRMGBL", s->name);
}

/* A section of another kind has the name. */
static void other_kind(const struct service *s)
{
    is_status(sys$create_gdzro(named("K"), 0, 0, PAGE, 0, 0), SS$_CREATED_SHPT,
              "a memory-resident section has the name");
    WRONG(s, SS$_GBLSEC_MISMATCH, "section is of another kind", (void)c);
    is_status(dgblsc("K", 0), SS$_NORMAL, "the section is deleted");
}

static void tables_full(const struct service *s)
{
    char name[] = "T_n";

    for (int k = 0; k < 16; k++) {
        name[2] = (char)('a' + k);
        sys$create_gdzro(named(name), 0, 0, PAGE, 0, 0);
    }
    WRONG(s, SS$_GSDFULL, "GBLSECTIONS", (void)c);
    for (int k = 0; k < 16; k++) {
        name[2] = (char)('a' + k);
        sys$dgblsc(0, named(name), 0);
    }
}

static void release(const struct service *s)
{
    is_status(sys$deltva_64(&p2, va, length, 0, OUTPUTS), SS$_NORMAL, "%s: unmapped", s->name);
}

/* A section exists: create it again, find it, be refused access to it. */
static void existing(const struct service *s)
{
    const struct service *maker = s->frames ? &services[2] : &services[0];

    WRONG(maker, SS$_CREATED, "section with a version", c.ident.secid$l_version = 0x01000001);
    if (s->does == CREATES) {
        WRONG(s, SS$_DUPLNAM, "section exists", (void)c);
        is_status(dgblsc("K", 0), SS$_NORMAL, "the section is deleted");
        return;
    }
    WRONG(s, SS$_NORMAL, "section exists", (void)c);
    release(s);
    WRONG(s, SS$_NOSUCHSEC, "section has another version", c.ident.secid$l_match = SEC$K_MATEQU;
          c.ident.secid$l_version = 0x02000001);
    is_status(dgblsc("K", 0), SS$_NORMAL, "the section is deleted");
    if (s->does == (CREATES | MAPS)) {
        WRONG(s, SS$_CREATED, "create and map", (void)c);
        release(s);
    }
    WRONG(maker, SS$_CREATED, "section for the system category only", c.name = "L"; c.prot = 0xFFF0;
          c.flags |= SEC$M_SYSGBL);
    is(without(s, 0, SEC$M_SYSGBL, SS$_NOPRIV), 0, "%s: access by others is refused", s->name);
    is_status(dgblsc("L", SEC$M_SYSGBL), SS$_NORMAL, "the section is deleted");
    if (s->frames) {
        WRONG(maker, SS$_CREATED, "read-only section", c.flags &= ~SEC$M_WRT);
        WRONG(s, SS$_NOWRT, "write access to a read-only section", (void)c);
        is_status(dgblsc("K", 0), SS$_NORMAL, "the section is deleted");
    }
}

/* P0 has no free space. */
static void no_room(const struct service *s)
{
    unsigned __int64 bytes;
    GENERIC_64 id;
    void *at;

    is_status(
        sys$create_region_64((1UL << 30) - PAGE, 0, VA$M_P0_SPACE, &id, &at, &bytes, (void *)PAGE),
        SS$_NORMAL, "a region takes all of P0");
    WRONG(s, SS$_VASFULL, "no free space in P0", c.region = &p0);
    is_status(sys$delete_region_64(&id, 0, &at, &bytes), SS$_NORMAL, "the region is deleted");
}

int main(void)
{
    is_status(sys$create_region_64(8 * MIB, 0, VA$M_SHARED_PTS, &shared, OUTPUTS), SS$_NORMAL,
              "a region with shared page tables is created");
    is_status(sys$create_region_64(2 * PAGE, 0, 0, &small, (void **)&small_va, &length), SS$_NORMAL,
              "a region of 2 pages is created");
    for (unsigned i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        const struct service *s = &services[i];

        arguments(s);
        other_kind(s);
        existing(s);
        if (s->does & CREATES) {
            creation(s);
            privileges(s);
            tables_full(s);
        } else {
            WRONG(s, SS$_NOSUCHSEC, "section does not exist", (void)c);
        }
        if (s->does == MAPS)
            WRONG(&services[2], SS$_CREATED, "create a section to map", (void)c);
        if (s->does & MAPS) {
            place(s);
            no_room(s);
        }
        if (s->does == MAPS)
            is_status(dgblsc("K", 0), SS$_NORMAL, "the section is deleted");
    }
    return tap_done();
}
