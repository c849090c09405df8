// TAP
// RUN: -m 512M --reserve 'LAYOUT_A 20 /ALLOCATE /PAGE_TABLES'
// RUN: --reserve 'LAYOUT_B 36 /ALLOCATE /PAGE_TABLES' --reserve 'LAYOUT_RO 20 /ALLOCATE'
/*
 * Where sections lie and whose page tables show them: several in one region, of lengths that are no
 * multiple of 8 MiB; the same tables at two addresses; a permanent section that nobody maps for a
 * while; readers with tables of their own beside writers that share, and readers that share.
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
#define PIECE (8 * MIB) /* what a level-3 page maps */

struct room {
    GENERIC_64 id;
    char *start, *end;
};

static struct room room(uint64_t bytes, unsigned flags)
{
    unsigned __int64 length;
    struct room r;
    void *va;

    if (sys$create_region_64(bytes, VA$C_UCREATE_UOWN, flags, &r.id, &va, &length) != SS$_NORMAL)
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
    uint64_t bytes, boundary; /* the largest power of two that is not above the length */
    int alloc;
} kinds[] = {
    {"LAYOUT_A", 20 * MIB, 16 * MIB, 1},
    {"LAYOUT_B", 36 * MIB, 32 * MIB, 1},
    {"LAYOUT_C", 9 * MIB + PAGE, 8 * MIB, 0},
    {"LAYOUT_D", PAGE, 8 * MIB, 0},
};
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

/* Behind a section's last page, within its last 8 MiB, is nothing, and nothing comes there. */
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
    is(outside + meet, 0, "four sections lie in %s region, each in a place of its own", what);
    is(unaligned, 0, "at the boundary that its length allows, 8 MiB at the least");
    for (int i = 0; i < KINDS; i++) {
        struct mega_section s = section(kinds[i].name);

        tails += tail_taken(&r, va[i], kinds[i].bytes);
        hints += s.gh_errors || (kinds[i].alloc && s.l3_ptes[3] != kinds[i].bytes / PAGE);
        data += *(volatile int *)va[i] != 1000 + i ||
                *(volatile int *)(va[i] + kinds[i].bytes - 8) != 1000 + i;
    }
    is(tails, 0, "nothing comes behind one that does not fill its last 8 MiB");
    is(hints, 0, "ALLOC ones have the largest hint all through, and no hint is wrong");
    is(data, 0, "and no page is another's");
    is_status(sys$deltva_64(&r.id, va[0] + 16 * MIB, 4 * MIB, 3, &gone, &length), SS$_NORMAL,
              "the short tail of one goes alone");
    ok(!can(va[0] + 16 * MIB, 0) && can(va[0] + 16 * MIB - 1, 0) && can(va[1], 0), "and only that");
    leave(&r);
}

/* In a region just large enough they come closer, but never nearer than 8 MiB. */
static void tight(void)
{
    struct room r = room(24 * MIB + 40 * MIB, VA$M_SHARED_PTS);
    char *a, *b, *c;

    is_status(map("LAYOUT_A", &r, SEC$M_WRT, &a), SS$_NORMAL, "20 MiB in a region of 64");
    is_status(map("LAYOUT_B", &r, SEC$M_WRT, &b), SS$_NORMAL, "36 MiB in what is left");
    ok((uint64_t)b % PIECE == 0 && b >= a + 24 * MIB, "at 8 MiB, if there is no better place");
    is(section("LAYOUT_B").gh_errors, 0, "with hints that are right there");
    is_status(map("LAYOUT_D", &r, SEC$M_WRT, &c), SS$_REGISFULL, "then there is no 8 MiB left");
    leave(&r);
}

/* What was touched a moment ago is out of reach as soon as it is unmapped, though its neighbour
   keeps the tables above it. */
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
       "two sections are written through %s tables", what);
    is_status(sys$deltva_64(&r.id, goes, kinds[2].bytes, 3, &at, &length), SS$_NORMAL,
              "one of them is unmapped");
    ok(!can(goes, 0) && !can(goes + kinds[2].bytes - 1, 0) && can(stays, 0),
       "it is gone at once, and only it");
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
    wrong += after.section_l3_pickup != before.section_l3_pickup; /* there when it was mapped */
    wrong += after.section_made_valid != before.section_made_valid;
    *(volatile long *)(va + PAGE) = 3; /* made valid for both */
    wrong += section("LAYOUT_C").pt_pages != p->tables;
    return wrong;
}

static void two_addresses(void)
{
    struct room r = room(16 * MIB, VA$M_SHARED_PTS);
    struct mega_process before;
    struct place p;
    char *va;

    is_status(map("LAYOUT_C", &r, SEC$M_WRT, &va), SS$_NORMAL, "mapped by one");
    *(volatile long *)va = 1;
    *(volatile long *)(va + PIECE) = 2;
    p = (struct place){va, section("LAYOUT_C").pt_pages};
    is(p.tables, 3, "through two level-3 pages and the one that says where they are");
    is(in_child(at_another_address, &p), 0,
       "another maps it elsewhere, with those two and no more");
    before = self();
    is(*(volatile long *)(va + PAGE), 3, "what it made valid is there");
    is(self().faults, before.faults, "without a fault");
    leave(&r);
}

/* ---- a permanent section without mappers ---- */

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

    is(before.shares, 0, "a permanent section that nobody maps");
    ok(before.pt_pages == 3 && before.valid_pages >= 3, "keeps its tables and its pages");
    is(in_child(maps_and_looks, NULL), 0, "the next one has a level-2 page, and makes nothing");
    is(in_child(maps_and_looks, NULL), 0, "and so has the one after it");
    after = section("LAYOUT_C");
    ok(after.pt_pages == before.pt_pages && after.valid_pages == before.valid_pages &&
           after.made_valid == before.made_valid && after.shares == 0,
       "nothing has become more");
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
    ((volatile char *)written)[6 * MIB] = 9; /* through the shared tables, inherited */
    wrong += va[6 * MIB] != 9;
    return wrong;
}

static void beside_writers(void)
{
    struct room r = room(32 * MIB, VA$M_SHARED_PTS);
    uint64_t tables;
    char *va;

    is_status(map("LAYOUT_A", &r, SEC$M_WRT, &va), SS$_NORMAL, "writers share tables");
    va[5 * MIB] = 5;
    tables = section("LAYOUT_A").pt_pages;
    is(in_child(reads, va), 0, "a reader has its own, sees what is written and writes nothing");
    ok(va[5 * MIB] == 5 && va[6 * MIB] == 9, "others are not kept from writing");
    is(section("LAYOUT_A").pt_pages, tables, "the shared tables are as many as before");
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
              "the creator asks for shared tables for reading");
    is_status(map("LAYOUT_RO", &plain, SEC$M_WRT, &va), SS$_NORMAL, "a writer has its own");
    va[7 * MIB] = 7;
    is(in_child(reads_through_shared, NULL), 0,
       "readers share: a level-2 page each at the most, no writing");
    is(in_child(reads_through_shared, NULL), 0, "all of them");
    s = section("LAYOUT_RO");
    ok(s.l3_ptes[3] == 20 * MIB / PAGE && s.gh_errors == 0 && s.pt_pages == 4,
       "through tables with hints, of which there is one set");
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
