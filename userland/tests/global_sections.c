// TAP
// RUN: -m 512M --reserve 'GS_ALLOC 32 /ALLOCATE /ZERO' --reserve 'GS_PROMISE 16 /NOALLOCATE'
// RUN: --reserve 'GS_DRIVER 8 /ALLOCATE /NOGLOBAL_SECTION'
// RUN: --reserve 'GS_GROUP 8 /ALLOCATE /GROUP=7'
/*
 * What all kinds of global sections have in common: names, scope, identity, protection, access
 * modes and deletion. Also which access maps through which page tables, and the results that depend
 * on the registry.
 */
#include <descrip.h>
#include <megalith/creds.h>
#include <prvdef.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>
#include <vadef.h>

#define MIB  (1UL << 20)
#define PAGE 8192UL

static void *va;
static unsigned __int64 length;

static struct dsc$descriptor_s named(const char *name)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)name};
}

static GENERIC_64 region(uint64_t bytes, unsigned flags)
{
    GENERIC_64 id = {{0}};

    sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &id, &va, &length);
    return id;
}

static void region_end(GENERIC_64 *id) { sys$delete_region_64(id, 0, &va, &length); }

/* kind: SEC$M_MRES or SEC$M_PAGFIL. */
static int create(unsigned kind, const char *name, struct _secid *ident, unsigned prot,
                  uint64_t bytes, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    if (kind == SEC$M_PAGFIL)
        return sys$create_gpfile(&d, ident, prot, bytes, 0, flags);
    return sys$create_gdzro(&d, ident, prot, bytes, 0, flags);
}

static int map(const char *name, struct _secid *ident, GENERIC_64 *id, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$mgblsc_64(&d, ident, id, 0, 0, 0, flags | SEC$M_EXPREG, &va, &length);
}

static int dgblsc(const char *name, struct _secid *ident, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$dgblsc(flags, &d, ident);
}

static int find(const char *name, struct mega_section *s)
{
    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, s, sizeof(*s)) == SS$_NORMAL; i++)
        if (strcmp(s->name, name) == 0)
            return 1;
    return 0;
}

/* Run fn in a process with this UIC and these privileges and rights; returns its result. */
static int as(unsigned group, unsigned member, uint64_t privileges, uint64_t rights,
              int (*fn)(void))
{
    struct mega_creds c = {group, member, privileges, privileges, rights};
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0) != SS$_NORMAL)
            _exit(99);
        _exit(fn());
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int as_user(unsigned group, unsigned member, int (*fn)(void))
{
    return as(group, member, 0, 0, fn);
}

static void consistent(const char *when)
{
    struct mega_validate m;
    int status = mega$info(MEGA_INFO_VALIDATE, 0, &m, sizeof(m));

    if (!ok(status == SS$_NORMAL && m.errors == 0 && !m.timed_out,
            "every page is counted exactly once %s", when))
        diag("%s: %s", mega$condition_text(status), m.text);
}

static unsigned kind; /* kind of the sections under test */

static int created(void) { return kind == SEC$M_MRES ? SS$_CREATED_SHPT : SS$_CREATED; }

/* ---- names ---- */

static void names(void)
{
    static const char name43[] = "A234567890123456789012345678901234567890123";
    char name44[] = "_A234567890123456789012345678901234567890123";
    GENERIC_64 id = region(16 * MIB, 0);
    struct dsc64$descriptor_s d64 = {1, DSC64$K_DTYPE_T, DSC64$K_CLASS_S, -1, 1, "x"};

    is_status(create(kind, name43, 0, 0, MIB, SEC$M_SYSGBL), created(),
              "a name of 43 characters is accepted");
    is_status(create(kind, name44, 0, 0, MIB, SEC$M_SYSGBL), SS$_DUPLNAM,
              "an underscore before the name does not count");
    is_status(create(kind, name44 + 1, 0, 0, MIB, SEC$M_SYSGBL), SS$_DUPLNAM,
              "the same name without the underscore exists already");
    name44[0] = 'B';
    is_status(create(kind, name44, 0, 0, MIB, SEC$M_SYSGBL), SS$_IVGSDNAM,
              "a name of 44 characters is refused");
    is_status(create(kind, "_", 0, 0, MIB, SEC$M_SYSGBL), SS$_IVGSDNAM,
              "an underscore alone is refused");
    is_status(create(kind, "__", 0, 0, MIB, SEC$M_SYSGBL), created(),
              "two underscores are a name of one character");
    is_status(create(kind, "x", 0, 0, MIB, SEC$M_SYSGBL), created(),
              "a name of one character is accepted");
    is_status(sys$mgblsc_64(&d64, 0, &id, 0, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length),
              SS$_NORMAL, "the name may be given by a 64-bit descriptor");
    is_status(map("X", 0, &id, SEC$M_SYSGBL), SS$_NOSUCHSEC, "names are case-sensitive");
    is_status(create(kind, "a:b", 0, 0, MIB, SEC$M_SYSGBL), SS$_IVGSDNAM,
              "a name with a colon is refused");
    is_status(dgblsc(name43, 0, SEC$M_SYSGBL), SS$_NORMAL,
              "the section with the long name is deleted");
    is_status(dgblsc("__", 0, SEC$M_SYSGBL), SS$_NORMAL,
              "the section with the name of two underscores is deleted");
    is_status(dgblsc("_x", 0, SEC$M_SYSGBL), SS$_NORMAL,
              "the section with the name of one character is deleted");
    region_end(&id);
}

/* ---- scope ---- */

static int see_the_groups(void)
{
    GENERIC_64 id = region(16 * MIB, 0);

    return map("SCOPE", 0, &id, 0) == SS$_NORMAL ? 0 : 1;
}

static int see_the_systems(void)
{
    GENERIC_64 id = region(16 * MIB, 0);

    return map("SCOPE", 0, &id, SEC$M_SYSGBL) == SS$_NORMAL ? *(int *)va : 100;
}

static void scope(void)
{
    GENERIC_64 id = region(16 * MIB, 0);

    is_status(create(kind, "SCOPE", 0, 0, MIB, 0), created(), "a group section is created");
    is_status(map("SCOPE", 0, &id, SEC$M_SYSGBL), SS$_NOSUCHSEC,
              "it is not found as a system section");
    is_status(create(kind, "SCOPE", 0, 0, MIB, SEC$M_SYSGBL), created(),
              "a system section of the same name is created");
    is_status(map("SCOPE", 0, &id, SEC$M_SYSGBL | SEC$M_WRT), SS$_NORMAL,
              "the system section is mapped");
    *(int *)va = 5;
    is_status(map("SCOPE", 0, &id, 0), SS$_NORMAL, "the group section is mapped");
    is(*(int *)va, 0, "the group section has pages of its own");
    is(as_user(0, 9, see_the_groups), 0, "another member of the group finds the group section");
    is(as_user(7, 9, see_the_groups), 1, "a process of another group does not find it");
    is(as_user(7, 9, see_the_systems), 5, "a process of another group finds the system section");
    is_status(dgblsc("SCOPE", 0, 0), SS$_NORMAL, "the group section is deleted");
    is_status(map("SCOPE", 0, &id, SEC$M_SYSGBL), SS$_NORMAL, "the system section still exists");
    is_status(dgblsc("SCOPE", 0, SEC$M_SYSGBL), SS$_NORMAL, "the system section is deleted");
    region_end(&id);
}

/* ---- identity ---- */

static void identity(void)
{
    struct _secid made = {SEC$K_MATEQU, {0x02000005}}, ask = {SEC$K_MATEQU, {0x02000005}};
    GENERIC_64 id = region(16 * MIB, 0);
    static const struct {
        unsigned match, version;
        int status;
        const char *what;
    } cases[] = {
        {SEC$K_MATALL, 0x07000009, SS$_NORMAL, "match all finds any version"},
        {SEC$K_MATEQU, 0x02000005, SS$_NORMAL, "match equal finds that version"},
        {SEC$K_MATEQU, 0x02000004, SS$_NOSUCHSEC, "match equal does not find an earlier version"},
        {SEC$K_MATEQU, 0x02000006, SS$_NOSUCHSEC, "match equal does not find a later version"},
        {SEC$K_MATLEQ, 0x02000005, SS$_NORMAL, "match less or equal finds the same minor version"},
        {SEC$K_MATLEQ, 0x02000000, SS$_NORMAL,
         "match less or equal finds a section for a smaller minor version"},
        {SEC$K_MATLEQ, 0x02000006, SS$_NOSUCHSEC,
         "match less or equal does not find it for a larger minor version"},
        {SEC$K_MATLEQ, 0x01000005, SS$_NOSUCHSEC,
         "match less or equal does not find it for a smaller major version"},
        {SEC$K_MATLEQ, 0x03000005, SS$_NOSUCHSEC,
         "match less or equal does not find it for a larger major version"},
        {3, 0x02000005, SS$_IVSECIDCTL, "an invalid match control is refused"},
    };

    is_status(create(kind, "IDENT", &made, 0, MIB, SEC$M_SYSGBL), created(),
              "a section is created with major version 2, minor version 5");
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ask = (struct _secid){cases[i].match, {cases[i].version}};
        is_status(map("IDENT", &ask, &id, SEC$M_SYSGBL), cases[i].status, "%s", cases[i].what);
    }
    is_status(map("IDENT", 0, &id, SEC$M_SYSGBL), SS$_NORMAL,
              "without an identity any version is found");
    ask = (struct _secid){SEC$K_MATEQU, {0x02000004}};
    is_status(dgblsc("IDENT", &ask, SEC$M_SYSGBL), SS$_NOSUCHSEC,
              "deletion compares the identity, too");
    is_status(dgblsc("IDENT", &made, SEC$M_SYSGBL), SS$_NORMAL, "the section is deleted");
    is_status(create(kind, "IDENT", 0, 0, MIB, SEC$M_SYSGBL), created(),
              "a section is created without a version");
    is_status(map("IDENT", &made, &id, SEC$M_SYSGBL), SS$_NOSUCHSEC,
              "it is not found by a version");
    is_status(dgblsc("IDENT", 0, SEC$M_SYSGBL), SS$_NORMAL, "the section is deleted");
    region_end(&id);
}

/* ---- protection ---- */

enum { NO_READ = 1, NO_WRITE = 2, NEITHER = 3, SURPRISE = 4 };

static int refused(void)
{
    GENERIC_64 id = region(16 * MIB, 0);
    int read = map("PROT", 0, &id, SEC$M_SYSGBL);
    int write = map("PROT", 0, &id, SEC$M_SYSGBL | SEC$M_WRT);

    return (read == SS$_NOPRIV   ? NO_READ
            : read == SS$_NORMAL ? 0
                                 : SURPRISE) |
           (write == SS$_NOPRIV   ? NO_WRITE
            : write == SS$_NORMAL ? 0
                                  : SURPRISE);
}

static unsigned prot;

static int make(void)
{
    return create(kind, "PROT", 0, prot, MIB, SEC$M_SYSGBL) == created() ? 0 : 1;
}

static void protection(void)
{
    enum { GROUP = 0300, SYSTEM = 05 };
    /* Fields of four bits, from the right: system, owner, group, world. Read is 1, write is 2. */
    static const struct {
        unsigned prot;
        int system, owner, group, world;
        const char *what;
    } cases[] = {
        {0x0000, 0, 0, 0, 0, "nothing is denied: everybody may read and write"},
        {0x2000, 0, 0, 0, NO_WRITE, "the world may not write"},
        {0x3000, 0, 0, 0, NEITHER, "the world may neither read nor write"},
        {0x2200, 0, 0, NO_WRITE, NO_WRITE, "group and world may not write"},
        {0x3330, 0, NEITHER, NEITHER, NEITHER, "only the system category has access"},
        {0x3333, NEITHER, NEITHER, NEITHER, NEITHER, "nobody has access"},
        {0x0330, 0, 0, 0, 0, "a process in several categories has the access of all of them"},
        {0xCCCC, 0, 0, 0, 0, "execute and delete bits have no effect"},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        prot = cases[i].prot;
        is(as(GROUP, 9, PRV$M_SYSGBL | PRV$M_PRMGBL, MEGA_RIGHTS_ALL, make), 0, "%s",
           cases[i].what);
        is(as_user(GROUP, 9, refused), cases[i].owner,
           "the owner has the access that the mask gives it");
        is(as_user(GROUP, 10, refused), cases[i].group,
           "the group has the access that the mask gives it");
        is(as_user(GROUP + 1, 9, refused), cases[i].world,
           "the world has the access that the mask gives it");
        is(as_user(SYSTEM, 1, refused), cases[i].system,
           "the system category has the access that the mask gives it");
        is(as(GROUP + 1, 9, PRV$M_BYPASS, 0, refused), 0, "a process with BYPASS has all access");
        is_status(dgblsc("PROT", 0, SEC$M_SYSGBL), SS$_NORMAL, "deleted");
    }
}

/* ---- access modes ---- */

static void modes(void)
{
    struct dsc$descriptor_s d = named("MODE");
    GENERIC_64 id = region(16 * MIB, 0);
    int wrong = 0;

    is_status(create(kind, "MODE", 0, 0, MIB, SEC$M_SYSGBL), created(), "a section is created");
    for (unsigned mode = PSL$C_KERNEL; mode <= PSL$C_USER; mode++) {
        wrong += sys$mgblsc_64(&d, 0, &id, 0, 0, mode, SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va,
                               &length) != SS$_NORMAL;
        if (!wrong)
            *(volatile int *)va = 1; /* the owner is user mode, whatever mode the caller gave */
    }
    is(wrong, 0, "mapping in each access mode gives user mode access");
    is_status(sys$mgblsc_64(&d, 0, &id, 0, 0, 4, SEC$M_SYSGBL | SEC$M_EXPREG, &va, &length),
              SS$_IVACMODE, "access mode 4 is refused");
    dgblsc("MODE", 0, SEC$M_SYSGBL);
    region_end(&id);
}

/* ---- deletion ---- */

static int not_the_creator(void) { return dgblsc("DEL", 0, SEC$M_SYSGBL) == SS$_NOSYSGBL ? 0 : 1; }

static void deletion(void)
{
    GENERIC_64 id = region(48 * MIB, 0);
    struct mega_section s;
    volatile int *p, *q;

    is_status(create(kind, "DEL", 0, 0, MIB, SEC$M_SYSGBL), created(),
              "a permanent section is created");
    is(as_user(7, 9, not_the_creator), 0, "an ordinary user cannot delete it");
    is_status(map("DEL", 0, &id, SEC$M_SYSGBL | SEC$M_WRT), SS$_NORMAL, "mapped");
    p = va;
    *p = 1;
    is_status(dgblsc("DEL", 0, SEC$M_SYSGBL), SS$_NORMAL, "it can be deleted while it is mapped");
    is_status(map("DEL", 0, &id, SEC$M_SYSGBL), SS$_NOSUCHSEC, "it cannot be mapped any more");
    is_status(dgblsc("DEL", 0, SEC$M_SYSGBL), SS$_NOSUCHSEC, "it cannot be deleted again");
    ok(find("DEL", &s) && s.delete_pending == 1 && s.shares == 1 && *p == 1,
       "the mapping and its data stay");
    is_status(create(kind, "DEL", 0, 0, MIB, SEC$M_SYSGBL), created(),
              "a new section can have the same name");
    is_status(map("DEL", 0, &id, SEC$M_SYSGBL | SEC$M_WRT), SS$_NORMAL,
              "the new section is mapped");
    q = va;
    *q = 2;
    ok(*p == 1 && *q == 2, "the two sections have different pages");
    is_status(dgblsc("DEL", 0, SEC$M_SYSGBL), SS$_NORMAL, "the new section is deleted, too");
    if (fork() == 0)
        _exit(*p + *q == 3 ? 0 : 1);
    int status;

    ok(wait(&status) > 0 && status == 0, "a child inherits both mappings");
    region_end(&id);
    ok(!find("DEL", &s), "both sections are gone after their last mappings");
}

static void common(unsigned k, const char *what)
{
    kind = k;
    diag("%s sections", what);
    names();
    scope();
    identity();
    protection();
    modes();
    deletion();
}

/* ---- which access gets which page tables ---- */

static void read_only_tables(void)
{
    GENERIC_64 shared = region(32 * MIB, VA$M_SHARED_PTS), plain = region(32 * MIB, 0);
    struct dsc$descriptor_s d = named("RO");
    struct mega_section s;
    volatile int *p, *q;

    is_status(create(SEC$M_MRES, "RW", 0, 0, 8 * MIB, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a section with shared page tables for writing is created");
    is_status(map("RW", 0, &shared, SEC$M_SYSGBL), SS$_NOSHPTS,
              "a reader cannot map it through shared page tables");
    is_status(map("RW", 0, &shared, SEC$M_SYSGBL | SEC$M_WRT), SS$_NORMAL,
              "a writer can map it through shared page tables");
    p = va;
    *p = 1;
    is_status(map("RW", 0, &plain, SEC$M_SYSGBL), SS$_NORMAL,
              "a reader can map it in an ordinary region");
    is(*(volatile int *)va, 1, "the reader sees what the writer writes");
    dgblsc("RW", 0, SEC$M_SYSGBL);

    is_status(sys$crmpsc_gdzro_64(&d, 0, 0, 8 * MIB, &shared, 0, 0,
                                  SEC$M_SYSGBL | SEC$M_PERM | SEC$M_EXPREG | SEC$M_READ_ONLY_SHPT |
                                      SEC$M_WRT,
                                  &va, &length),
              SS$_NOSHPTS,
              "the creator of a read-only section cannot write through shared page tables");
    is_status(sys$crmpsc_gdzro_64(&d, 0, 0, 8 * MIB, &shared, 0, 0,
                                  SEC$M_SYSGBL | SEC$M_PERM | SEC$M_EXPREG | SEC$M_READ_ONLY_SHPT,
                                  &va, &length),
              SS$_CREATED_SHPT, "the creator can read through shared page tables");
    p = va;
    is(*p, 0, "the new pages are zero");
    is_status(map("RO", 0, &plain, SEC$M_SYSGBL | SEC$M_WRT), SS$_NORMAL,
              "the creator can write in an ordinary region");
    q = va;
    *q = 42;
    is(*p, 42, "a reader sees what the creator writes");
    is_status(map("RO", 0, &shared, SEC$M_SYSGBL | SEC$M_WRT), SS$_NOSHPTS,
              "a writer cannot use shared page tables for reading");
    is_status(map("RO", 0, &shared, SEC$M_SYSGBL), SS$_NORMAL,
              "a reader can use shared page tables for reading");
    ok(find("RO", &s) && (s.flags & SEC$M_READ_ONLY_SHPT) && s.pt_pages == 2,
       "there is one set of shared page tables");
    if (fork() == 0) {
        *p = 1;
        _exit(0);
    }
    int status;

    ok(wait(&status) > 0 && WIFSIGNALED(status),
       "a store through page tables for reading ends the process");
    dgblsc("RO", 0, SEC$M_SYSGBL);
    region_end(&shared);
    region_end(&plain);
    ok(!find("RO", &s) && !find("RW", &s), "both sections are gone");
}

/* ---- results that depend on the registry ---- */

static int group_seven(void)
{
    struct mega_section s;

    if (create(SEC$M_MRES, "GS_GROUP", 0, 0, 8 * MIB, 0) != SS$_NOMEMRESID)
        return 1;
    return find("GS_GROUP", &s);
}

static void registry(void)
{
    GENERIC_64 id = region(32 * MIB, VA$M_SHARED_PTS);
    struct mega_section s;

    is_status(create(SEC$M_MRES, "GS_ALLOC", 0, 0, 32 * MIB + PAGE, SEC$M_SYSGBL),
              SS$_MRES_PFNSMALL, "a section with more pages than its ALLOC reservation is refused");
    is_status(create(SEC$M_MRES, "GS_PROMISE", 0, 0, 16 * MIB + PAGE, SEC$M_SYSGBL), SS$_MRES_INCON,
              "a section with more pages than were promised is refused");
    is_status(create(SEC$M_MRES, "GS_ALLOC", 0, 0, 32 * MIB, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a section with exactly the promised pages is created");
    ok(find("GS_ALLOC", &s) && (s.flags & SEC$M_MRES_ALLOC),
       "a section with an /ALLOCATE entry is an ALLOC section");
    is_status(map("GS_ALLOC", 0, &id, SEC$M_SYSGBL | SEC$M_WRT), SS$_NORMAL,
              "the section is mapped");
    is_status(dgblsc("GS_ALLOC", 0, SEC$M_SYSGBL), SS$_NORMAL,
              "the section is deleted while it is mapped");
    is_status(create(SEC$M_MRES, "GS_ALLOC", 0, 0, 8 * MIB, SEC$M_SYSGBL), SS$_RESERVEDMEMUSED,
              "its reservation is still in use");
    is_status(create(SEC$M_PAGFIL, "GS_ALLOC", 0, 0, 8 * MIB, SEC$M_SYSGBL), SS$_CREATED,
              "a section of another kind does not need the reservation");
    dgblsc("GS_ALLOC", 0, SEC$M_SYSGBL);
    region_end(&id);
    is_status(create(SEC$M_MRES, "GS_ALLOC", 0, 0, 8 * MIB, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "the reservation is free after the last mapping is deleted");
    ok(find("GS_ALLOC", &s) && (s.flags & SEC$M_MRES_ALLOC),
       "the new section is an ALLOC section again");
    dgblsc("GS_ALLOC", 0, SEC$M_SYSGBL);
    is_status(create(SEC$M_MRES, "GS_ALLOC", 0, 0, 8 * MIB, 0), SS$_CREATED_SHPT,
              "a group section with the name of a system entry is created");
    ok(find("GS_ALLOC", &s) && !(s.flags & SEC$M_MRES_ALLOC),
       "it is FLUID, because the entry is for system sections");
    dgblsc("GS_ALLOC", 0, 0);
    is_status(create(SEC$M_MRES, "GS_GROUP", 0, 0, 8 * MIB, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a system section with the name of a group entry is created");
    ok(find("GS_GROUP", &s) && !(s.flags & SEC$M_MRES_ALLOC),
       "it is FLUID, because the entry is for sections of the group");
    dgblsc("GS_GROUP", 0, SEC$M_SYSGBL);
    is(as_user(7, 9, group_seven), 0,
       "a member of the group needs the rights identifier to create one");
    is_status(create(SEC$M_MRES, "GS_DRIVER", 0, 0, 8 * MIB, SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a section with the name of a driver's entry is created");
    ok(find("GS_DRIVER", &s) && !(s.flags & SEC$M_MRES_ALLOC),
       "it is FLUID, because the entry is not for sections");
    dgblsc("GS_DRIVER", 0, SEC$M_SYSGBL);
}

int main(void)
{
    common(SEC$M_MRES, "memory-resident");
    common(SEC$M_PAGFIL, "page-file-backed");
    read_only_tables();
    registry();
    consistent("at the end");
    return tap_done();
}
