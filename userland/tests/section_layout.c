// TAP
// RUN: -m 512M --reserve 'LAYOUT_A 20 /ALLOCATE /PAGE_TABLES'
// RUN: --reserve 'LAYOUT_B 36 /ALLOCATE /PAGE_TABLES' --reserve 'LAYOUT_RO 20 /ALLOCATE'
/*
 * Where sections are mapped, and through which page tables: several sections in one region, with
 * lengths that are not multiples of 8 MiB; the same page tables at two addresses; a permanent
 * section without mappings; readers with private page tables beside writers with shared ones, and
 * readers with shared page tables.
 */
#include <descrip.h>
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

#define MIB   (1ul << 20)
#define PAGE  8192ul
#define PIECE (8 * MIB) /* mapped by one level-3 page-table page */

struct room {
    GENERIC_64 id;
    char *start, *end;
};

static struct room room(uint64_t bytes, unsigned flags)
{
    unsigned __int64 length;
    struct room r;
    void *va;

    if (sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &r.id, &va, &length) !=
        SS$_NORMAL)
        bail_out("a region of %lu bytes", bytes);
    r.start = va;
    r.end = r.start + length;
    return r;
}

static void leave(struct room *r)
{
    unsigned __int64 length;
    void *va;

    if (sys$delete_region_64(&r->id, 0, &va, &length) != SS$_NORMAL)
        bail_out("a region cannot be deleted");
}

static struct dsc$descriptor_s named(const char *name)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)name};
}

static int create(const char *name, uint64_t bytes, unsigned flags)
{
    struct dsc$descriptor_s d = named(name);

    return sys$create_gdzro(&d, 0, 0, bytes, 0, flags | SEC$M_SYSGBL);
}

static void delete(const char *name)
{
    struct dsc$descriptor_s d = named(name);

    if (sys$dgblsc(SEC$M_SYSGBL, &d, 0) != SS$_NORMAL)
        bail_out("%s cannot be deleted", name);
}

static int map_at(const char *name, struct room *r, unsigned flags, char *at, char **va)
{
    struct dsc$descriptor_s d = named(name);
    unsigned __int64 length;

    return sys$mgblsc_64(&d, 0, &r->id, 0, 0, 0, SEC$M_SYSGBL | flags | (at ? 0 : SEC$M_EXPREG),
                         (void **)va, &length, at);
}

static int map(const char *name, struct room *r, unsigned flags, char **va)
{
    return map_at(name, r, flags, NULL, va);
}

static struct mega_section section(const char *name)
{
    struct mega_section s;

    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL; i++)
        if (strcmp(s.name, name) == 0)
            return s;
    bail_out("%s is not listed", name);
}

static struct mega_process self(void)
{
    struct mega_process p;

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

static sigjmp_buf back;
static void on_segv(int sig)
{
    (void)sig;
    siglongjmp(back, 1);
}

static int can(volatile char *p, int write)
{
    if (sigsetjmp(back, 1))
        return 0;
    if (write)
        *p = 77;
    else
        (void)*p;
    return 1;
}

static int in_child(int (*fn)(void *), void *arg)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(fn(arg));
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- several sections in one region ---- */

static const struct {
    const char *name;
    uint64_t bytes, boundary; /* boundary: the largest power of two not above the length */
    int alloc;
} kinds[] = {
    {"LAYOUT_A", 20 * MIB, 16 * MIB, 1},
    {"LAYOUT_B", 36 * MIB, 32 * MIB, 1},
    {"LAYOUT_C", 9 * MIB + PAGE, 8 * MIB, 0},
    {"LAYOUT_D", PAGE, 8 * MIB, 0},
};
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

/* The rest of the last 8 MiB after a section must be unmapped and stay so. */
static unsigned tail_taken(struct room *r, char *va, uint64_t bytes)
{
    unsigned __int64 length;
    unsigned wrong = can(va + bytes, 0);
    char *other;
    void *at;

    wrong += sys$cretva_64(&r->id, va + bytes, PAGE, 3, 0, &at, &length) != SS$_NOSHPTS;
    wrong += mmap(va + bytes, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
             MAP_FAILED;
    wrong += map_at("LAYOUT_D", r, SEC$M_WRT, va + bytes, &other) != SS$_VA_NOTPAGALGN;
    return wrong;
}

static void several(unsigned flags, const char *what)
{
    struct room r = room(128 * MIB, VA$M_SHARED_PTS | flags);
    unsigned unaligned = 0, outside = 0, meet = 0, tails = 0, hints = 0, data = 0;
    unsigned __int64 length;
    char *va[KINDS];
    void *gone;

    for (int i = 0; i < KINDS; i++) {
        if (map(kinds[i].name, &r, SEC$M_WRT, &va[i]) != SS$_NORMAL)
            bail_out("%s does not fit", kinds[i].name);
        unaligned += (uint64_t)va[i] % kinds[i].boundary != 0;
        outside += va[i] < r.start || va[i] + kinds[i].bytes > r.end;
        for (int k = 0; k < i; k++)
            meet += va[i] < va[k] + kinds[k].bytes && va[k] < va[i] + kinds[i].bytes;
        *(volatile int *)va[i] = *(volatile int *)(va[i] + kinds[i].bytes - 8) = 1000 + i;
    }
    is(outside + meet, 0, "four sections are mapped at different addresses in %s region", what);
    is(unaligned, 0, "each is at the boundary that its length allows, at least 8 MiB");
    for (int i = 0; i < KINDS; i++) {
        struct mega_section s = section(kinds[i].name);

        tails += tail_taken(&r, va[i], kinds[i].bytes);
        hints += s.gh_errors || (kinds[i].alloc && s.l3_ptes[3] != kinds[i].bytes / PAGE);
        data += *(volatile int *)va[i] != 1000 + i ||
                *(volatile int *)(va[i] + kinds[i].bytes - 8) != 1000 + i;
    }
    is(tails, 0, "nothing is mapped in the rest of a section's last 8 MiB");
    is(hints, 0, "ALLOC sections have the largest hints, and no hint is wrong");
    is(data, 0, "every page contains what was written to it");
    is_status(sys$deltva_64(&r.id, va[0] + 16 * MIB, 4 * MIB, 3, &gone, &length), SS$_NORMAL,
              "the last part of a section can be deleted");
    ok(!can(va[0] + 16 * MIB, 0) && can(va[0] + 16 * MIB - 1, 0) && can(va[1], 0),
       "only that part is unmapped");
    leave(&r);
}

/* In a region that is just large enough sections are closer to each other, but on 8 MiB boundaries.
 */
static void tight(void)
{
    struct room r = room(24 * MIB + 40 * MIB, VA$M_SHARED_PTS);
    char *a, *b, *c;

    is_status(map("LAYOUT_A", &r, SEC$M_WRT, &a), SS$_NORMAL,
              "20 MiB are mapped in a region of 64 MiB");
    is_status(map("LAYOUT_B", &r, SEC$M_WRT, &b), SS$_NORMAL,
              "36 MiB are mapped in the rest of it");
    ok((uint64_t)b % PIECE == 0 && b >= a + 24 * MIB,
       "they are at an 8 MiB boundary, because no better place is free");
    is(section("LAYOUT_B").gh_errors, 0, "the hints are right for that address");
    is_status(map("LAYOUT_D", &r, SEC$M_WRT, &c), SS$_REGISFULL,
              "another section is refused, because no 8 MiB are free");
    leave(&r);
}

/* Memory that was just accessed must be inaccessible as soon as it is unmapped, even if a neighbour
   keeps the page tables above it. */
static void unmapped(unsigned flags, const char *what)
{
    struct room r = room(32 * MIB, flags);
    unsigned __int64 length;
    char *goes, *stays;
    void *at;

    if (map("LAYOUT_C", &r, SEC$M_WRT, &goes) != SS$_NORMAL ||
        map("LAYOUT_D", &r, SEC$M_WRT, &stays) != SS$_NORMAL)
        bail_out("two sections do not fit");
    ok(can(stays, 1) && can(goes, 1) && can(goes + kinds[2].bytes - 1, 1),
       "two sections are written through %s page tables", what);
    is_status(sys$deltva_64(&r.id, goes, kinds[2].bytes, 3, &at, &length), SS$_NORMAL,
              "one of them is unmapped");
    ok(!can(goes, 0) && !can(goes + kinds[2].bytes - 1, 0) && can(stays, 0),
       "it cannot be accessed any more, and the other one can");
    leave(&r);
}

/* ---- the same tables at two addresses ---- */

struct place {
    char *first;
    uint64_t tables;
};

static int at_another_address(void *arg)
{
    const struct place *p = arg;
    struct room apart = room(PIECE, VA$M_SHARED_PTS), r;
    struct mega_process before, after;
    int wrong = 0;
    char *va;

    (void)apart;
    r = room(24 * MIB, VA$M_SHARED_PTS);
    before = self();
    wrong += map("LAYOUT_C", &r, SEC$M_WRT, &va) != SS$_NORMAL || va == p->first;
    wrong += *(volatile long *)va != 1 || *(volatile long *)(va + PIECE) != 2;
    after = self();
    wrong += after.section_l3_pickup !=
             before.section_l3_pickup; /* level-3 pages are linked when it is mapped */
    wrong += after.section_made_valid != before.section_made_valid;
    *(volatile long *)(va + PAGE) = 3; /* makes the page valid for both mappings */
    wrong += section("LAYOUT_C").pt_pages != p->tables;
    return wrong;
}

static void two_addresses(void)
{
    struct room r = room(16 * MIB, VA$M_SHARED_PTS);
    struct mega_process before;
    struct place p;
    char *va;

    is_status(map("LAYOUT_C", &r, SEC$M_WRT, &va), SS$_NORMAL, "one process maps the section");
    *(volatile long *)va = 1;
    *(volatile long *)(va + PIECE) = 2;
    p = (struct place){va, section("LAYOUT_C").pt_pages};
    is(p.tables, 3, "it has two level-3 pages and the level-2 page above them");
    is(in_child(at_another_address, &p), 0,
       "another process maps it elsewhere, through the same two level-3 pages");
    before = self();
    is(*(volatile long *)(va + PAGE), 3, "a page that the other process has made valid is visible");
    is(self().faults, before.faults, "the access takes no fault");
    leave(&r);
}

/* ---- a permanent section without mappings ---- */

static int maps_and_looks(void *arg)
{
    struct room r = room(16 * MIB, VA$M_SHARED_PTS);
    struct mega_process before = self(), mapped, after;
    char *va;
    int wrong = 0;

    (void)arg;
    wrong += map("LAYOUT_C", &r, SEC$M_WRT, &va) != SS$_NORMAL;
    mapped = self();
    wrong += mapped.pt_pages - before.pt_pages != 1;
    wrong += *(volatile long *)va != 1 || *(volatile long *)(va + PIECE) != 2;
    after = self();
    wrong += after.section_made_valid != before.section_made_valid;
    wrong += after.pt_pages != mapped.pt_pages;
    return wrong;
}

static void nobody_maps_it(void)
{
    struct mega_section before = section("LAYOUT_C"), after;

    is(before.shares, 0, "a permanent section has no mapping");
    ok(before.pt_pages == 3 && before.valid_pages >= 3, "it keeps its page tables and pages");
    is(in_child(maps_and_looks, NULL), 0,
       "the next mapper needs one level-2 page and makes no page valid");
    is(in_child(maps_and_looks, NULL), 0, "so does the mapper after it");
    after = section("LAYOUT_C");
    ok(after.pt_pages == before.pt_pages && after.valid_pages == before.valid_pages &&
           after.made_valid == before.made_valid && after.shares == 0,
       "the section has as many pages and page tables as before");
}

/* ---- readers ---- */

static int reads(void *arg)
{
    struct room plain = room(32 * MIB, 0), shared = room(32 * MIB, VA$M_SHARED_PTS);
    struct mega_process before = self();
    const char *written = arg;
    int wrong = 0;
    char *va;

    wrong += !status_is(map("LAYOUT_A", &shared, 0, &va), SS$_NOSHPTS);
    wrong += !status_is(map("LAYOUT_A", &plain, 0, &va), SS$_NORMAL);
    wrong += self().pt_pages - before.pt_pages < 20 * MIB / PIECE + 1;
    wrong += va[5 * MIB] != written[5 * MIB] || can(va + 5 * MIB, 1);
    wrong += mprotect(va, PAGE, PROT_READ | PROT_WRITE) != -1;
    wrong += section("LAYOUT_A").gh_errors != 0;
    ((volatile char *)written)[6 * MIB] = 9; /* through the inherited shared page tables */
    wrong += va[6 * MIB] != 9;
    return wrong;
}

static void beside_writers(void)
{
    struct room r = room(32 * MIB, VA$M_SHARED_PTS);
    uint64_t tables;
    char *va;

    is_status(map("LAYOUT_A", &r, SEC$M_WRT, &va), SS$_NORMAL,
              "a section is mapped for writing through shared page tables");
    va[5 * MIB] = 5;
    tables = section("LAYOUT_A").pt_pages;
    is(in_child(reads, va), 0, "a reader has private page tables, sees writes and cannot write");
    ok(va[5 * MIB] == 5 && va[6 * MIB] == 9, "writers can still write");
    is(section("LAYOUT_A").pt_pages, tables,
       "the section has as many shared page tables as before");
    leave(&r);
}

static int reads_through_shared(void *arg)
{
    struct room r = room(32 * MIB, VA$M_SHARED_PTS);
    struct mega_process before = self();
    int wrong = 0;
    char *va;

    (void)arg;
    wrong += !status_is(map("LAYOUT_RO", &r, SEC$M_WRT, &va), SS$_NOSHPTS);
    wrong += !status_is(map("LAYOUT_RO", &r, 0, &va), SS$_NORMAL);
    wrong += self().pt_pages - before.pt_pages > 1;
    return wrong + (va[7 * MIB] != 7) + can(va + 7 * MIB, 1);
}

static void readers_share(void)
{
    struct room plain = room(32 * MIB, 0);
    struct mega_section s;
    char *va;

    is_status(create("LAYOUT_RO", 20 * MIB, SEC$M_READ_ONLY_SHPT), SS$_CREATED_SHPT,
              "a section with shared page tables for reading is created");
    is_status(map("LAYOUT_RO", &plain, SEC$M_WRT, &va), SS$_NORMAL,
              "a writer maps it with private page tables");
    va[7 * MIB] = 7;
    is(in_child(reads_through_shared, NULL), 0,
       "a reader needs at most one level-2 page and cannot write");
    is(in_child(reads_through_shared, NULL), 0, "the same holds for another reader");
    s = section("LAYOUT_RO");
    ok(s.l3_ptes[3] == 20 * MIB / PAGE && s.gh_errors == 0 && s.pt_pages == 4,
       "there is one set of shared page tables, with hints");
    leave(&plain);
    delete ("LAYOUT_RO");
}

int main(void)
{
    signal(SIGSEGV, on_segv);
    for (int i = 0; i < KINDS; i++)
        is_status(create(kinds[i].name, kinds[i].bytes, 0), SS$_CREATED_SHPT, "%s", kinds[i].name);
    several(0, "an ascending");
    several(VA$M_DESCEND, "a descending");
    tight();
    unmapped(VA$M_SHARED_PTS, "shared");
    unmapped(0, "private");
    beside_writers();
    for (int i = 0; i < KINDS; i++)
        delete (kinds[i].name);
    is_status(create("LAYOUT_C", 9 * MIB + PAGE, 0), SS$_CREATED_SHPT, "LAYOUT_C again, FLUID");
    two_addresses();
    nobody_maps_it();
    delete ("LAYOUT_C");
    readers_share();
    return tap_done();
}
