// TAP
// RUN: -m 64G
/*
 * Level-2 pages that are shared as a whole: a section of 20 GiB, of which the host provides what is
 * touched. Processes map it, or parts of it, by level-1 PTEs; one deletes parts while others read
 * and write through the same level-2 page; three at a time map and delete parts at random, each
 * compared with its own model of what it must see.
 */
#include <descrip.h>
#include <psldef.h>
#include <secdef.h>
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

#define GIB    (1UL << 30)
#define PIECE  (8UL << 20) /* mapped by one level-3 page-table page */
#define BLOCK  (8UL << 30) /* mapped by one level-2 page-table page */
#define SIZE   (20 * GIB)
#define ROOM   (40 * GIB)
#define PIECES (SIZE / PIECE)
#define PLACES (ROOM / PIECE)

static $DESCRIPTOR64(name, "SHARE_BLOCKS");

struct mapping {
    GENERIC_64 region;
    char *base; /* start of the region */
    char *va;
};

/* Shared by all processes of the test; not in the section. */
static struct shared {
    int ready, stop;
    uint64_t rounds, wrong;
} *shared;

/* ---- services ---- */

static struct mapping room(void)
{
    unsigned __int64 length;
    struct mapping m;
    void *va;

    if (sys$create_region_64(ROOM, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &m.region, &va,
                             &length) != SS$_NORMAL)
        bail_out("a region of 40 GiB");
    m.base = m.va = va;
    return m;
}

/* length 0: to the end of the section. */
static int map_at(struct mapping *m, char *where, uint64_t offset, uint64_t length)
{
    unsigned __int64 mapped;
    void *va;
    int status = sys$mgblsc_64(&name, 0, &m->region, offset, length, PSL$C_USER,
                               SEC$M_SYSGBL | SEC$M_WRT | (where ? 0 : SEC$M_EXPREG), &va, &mapped,
                               where);

    if (status == SS$_NORMAL)
        m->va = va;
    return status;
}

static int delete_part(const struct mapping *m, char *va, uint64_t length)
{
    unsigned __int64 deleted;
    GENERIC_64 region = m->region;
    void *gone;

    return sys$deltva_64(&region, va, length, PSL$C_USER, &gone, &deleted);
}

static struct mega_process process(void)
{
    struct mega_process p;

    if (mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p)) != SS$_NORMAL)
        bail_out("process information");
    return p;
}

static struct mega_section section(void)
{
    struct mega_section s;

    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL; i++)
        if (strcmp(s.name, "SHARE_BLOCKS") == 0)
            return s;
    bail_out("the section is listed");
}

/* The kernel's self-check of every page and page table. */
static void consistent(const char *when)
{
    struct mega_validate v;

    if (mega$info(MEGA_INFO_VALIDATE, 0, &v, sizeof(v)) != SS$_NORMAL)
        bail_out("the self-check");
    if (!ok(v.errors == 0 && !v.timed_out, "every page is counted exactly once, %s", when))
        diag("%s", v.text);
}

/* ---- accesses that may fault ---- */

static sigjmp_buf back;
static void caught(int sig)
{
    (void)sig;
    siglongjmp(back, 1);
}

/* The first word of the page at va; NULL: the access must end in a signal. */
static volatile uint64_t *word_at(char *va)
{
    if (sigsetjmp(back, 1))
        return NULL;
    (void)*(volatile uint64_t *)va;
    return (volatile uint64_t *)va;
}

static int children_ended_well(int n)
{
    int how, good = 1;

    while (n--)
        good = wait(&how) > 0 && how == 0 && good;
    return good;
}

/* ---- tests ---- */

static void one_level1_pte(void)
{
    struct mega_process before = process(), after;
    struct mapping a = room();
    uint64_t faults;
    pid_t pid;

    is(map_at(&a, NULL, 0, 0), SS$_NORMAL, "20 GiB are mapped");
    after = process();
    is(after.pt_pages - before.pt_pages, 1, "the process needs one page-table page of its own");
    is(section().l1_ptes, 2, "the section is mapped by two level-1 PTEs");
    *(volatile uint64_t *)a.va = 1;
    *(volatile uint64_t *)(a.va + 5 * GIB) = 2;
    pid = fork();
    if (pid == 0) { /* uses the inherited mapping */
        struct mega_process p = process(), q;
        int good = *(volatile uint64_t *)a.va == 1 && *(volatile uint64_t *)(a.va + 5 * GIB) == 2;

        q = process();
        good = good && q.section_l3_pickup == p.section_l3_pickup &&
               q.section_made_valid == p.section_made_valid;
        *(volatile uint64_t *)(a.va + 13 * GIB) = 3;
        _exit(good ? 0 : 1);
    }
    ok(pid > 0 && children_ended_well(1),
       "a forked child sees the same pages without picking up tables");
    is(section().shares, 1, "its share is dropped");
    faults = process().faults;
    is(*(volatile uint64_t *)(a.va + 13 * GIB), 3, "a page that the child made valid is visible");
    is(process().faults - faults, 0, "the access takes no fault");
    pid = fork();
    if (pid == 0) { /* maps it at another address */
        struct mapping b = room();
        int good = map_at(&b, b.base + BLOCK, 0, 0) == SS$_NORMAL && b.va != a.va &&
                   *(volatile uint64_t *)(b.va + 13 * GIB) == 3;

        _exit(good && process().section_l3_pickup == 0 ? 0 : 1);
    }
    ok(pid > 0 && children_ended_well(1), "a child maps the section at another address");
    is(munmap(a.va + 4096, PIECE), -1, "munmap of a part of an 8 MiB span is refused");
    is(munmap(a.va + PIECE, PIECE / 2), -1, "munmap of a part at its end is refused");
    is(mprotect(a.va + PIECE, PIECE, PROT_READ), -1, "mprotect of a span is refused");
    after = process();
    is(after.pt_pages - before.pt_pages, 1, "the refused calls have allocated no page table");
    is(delete_part(&a, a.va, SIZE), SS$_NORMAL, "the mapping is deleted");
    is(process().pt_pages, before.pt_pages, "deleting the mapping frees the page-table page");
    is(section().shares, 0, "the section has no mapping");
    ok(section().pt_pages >= 5, "the section keeps its shared page tables");
}

/* Write the number of each 8 MiB span into its first page. */
static void number_pieces(void)
{
    struct mapping a = room();
    int status = map_at(&a, NULL, 0, 0);

    for (uint64_t i = 0; status == SS$_NORMAL && i < PIECES; i++)
        *(volatile uint64_t *)(a.va + i * PIECE) = i;
    is(status, SS$_NORMAL, "the section is mapped again, with one page-table page");
    is(section().valid_pages, PIECES, "one page in every span is valid");
    is(delete_part(&a, a.va, SIZE), SS$_NORMAL, "the mapping is deleted");
}

static void reader(const struct mapping *a)
{
    __atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELEASE);
    do {
        for (uint64_t i = 0; i < PIECES; i += 16 + i % 3) {
            if (*(volatile uint64_t *)(a->va + i * PIECE) != i)
                __atomic_fetch_add(&shared->wrong, 1, __ATOMIC_RELAXED);
            __atomic_fetch_add((uint64_t *)(a->va + i * PIECE) + 1, 1, __ATOMIC_RELAXED);
        }
        __atomic_fetch_add(&shared->rounds, 1, __ATOMIC_RELAXED);
    } while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE));
    _exit(process().pt_pages);
}

/* One process deletes parts in its shared level-2 pages, while two read and write through
 * theirs. */
static void others_notice_nothing(void)
{
    struct mapping a = room();
    uint64_t tables, own, right = 0, left = 0;
    int how;

    is(map_at(&a, NULL, 0, 0), SS$_NORMAL, "the section is mapped");
    tables = process().pt_pages;
    for (int i = 0; i < 2; i++)
        if (fork() == 0)
            reader(&a);
    while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) < 2)
        usleep(1000);
    for (uint64_t i = 1; i < 2 * BLOCK / PIECE; i += 64) {
        if (delete_part(&a, a.va + i * PIECE, PIECE) != SS$_NORMAL)
            break;
        right += !word_at(a.va + i * PIECE) && *word_at(a.va + (i + 1) * PIECE) == i + 1 &&
                 *word_at(a.va + (i - 1) * PIECE) == i - 1;
    }
    is(right, 32, "32 spans are deleted one by one, and nothing else");
    consistent("while some level-2 pages are shared and others are not");
    own = process().pt_pages;
    is(own - tables, 2, "two level-2 pages were copied for that");
    for (uint64_t rounds = __atomic_load_n(&shared->rounds, __ATOMIC_RELAXED);
         __atomic_load_n(&shared->rounds, __ATOMIC_RELAXED) < rounds + 4;)
        usleep(1000);
    __atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        wait(&how);
        left += (uint64_t)WEXITSTATUS(how);
    }
    is(shared->wrong, 0, "the other processes see their contents through the shared level-2 pages");
    ok(left <= 2 * tables, "they own no more page tables than before");
    is(section().shares, 33, "the mapping has been split into 33");
    is(delete_part(&a, a.base, ROOM), SS$_NORMAL, "all of the region is deleted");
    is(section().shares, 0, "all shares are dropped");
}

/* ---- random parts ---- */

static uint64_t rnd(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % below;
}

static uint64_t rnd_piece(uint64_t *seed, uint64_t below)
{
    uint64_t n = rnd(seed, below);

    return rnd(seed, 2) ? n : n / (BLOCK / PIECE) * (BLOCK / PIECE);
}

#define NOTHING 0xFFFF
static uint16_t picture[PLACES]; /* number of the span that must be visible at each place */

static int step_map(uint64_t *seed, struct mapping *m)
{
    uint64_t at = rnd_piece(seed, PLACES), from = rnd_piece(seed, PIECES);
    uint64_t n = rnd(seed, 2) ? PIECES : 1 + rnd(seed, PIECES);
    int expected = SS$_NORMAL, status;

    n = n > PIECES - from ? PIECES - from : n;
    for (uint64_t k = at; k < at + n && k < PLACES; k++)
        if (picture[k] != NOTHING)
            expected = SS$_VA_IN_USE;
    if (at + n > PLACES)
        expected = SS$_PAGNOTINREG;
    status = map_at(m, m->base + at * PIECE, from * PIECE, n * PIECE);
    for (uint64_t k = 0; status == SS$_NORMAL && k < n; k++)
        picture[at + k] = (uint16_t)(from + k);
    return status == expected;
}

static int step_delete(uint64_t *seed, struct mapping *m)
{
    uint64_t at = rnd_piece(seed, PLACES), n = 1 + rnd(seed, rnd(seed, 2) ? 50 : PLACES);

    n = n > PLACES - at ? PLACES - at : n;
    memset(&picture[at], 0xFF, n * sizeof(picture[0]));
    return delete_part(m, m->base + at * PIECE, n * PIECE) == SS$_NORMAL;
}

static int step_look(uint64_t *seed, struct mapping *m)
{
    uint64_t at = rnd(seed, PLACES);

    for (uint64_t k = at; k < PLACES && k < at + 3; k++) {
        volatile uint64_t *word = word_at(m->base + k * PIECE);

        if (picture[k] == NOTHING ? word != NULL : !word || *word != picture[k])
            return 0;
    }
    return 1;
}

static void random_parts(void)
{
    int good = 1;

    for (uint64_t i = 1; i <= 3; i++)
        if (fork() == 0) {
            struct mapping m = room();
            uint64_t seed = 20261121 * i;

            memset(picture, 0xFF, sizeof(picture));
            for (int step = 0; good && step < 600; step++)
                switch (rnd(&seed, 8)) {
                case 0:
                    good = step_map(&seed, &m);
                    break;
                case 1:
                    good = step_delete(&seed, &m);
                    break;
                default:
                    good = step_look(&seed, &m);
                }
            _exit(good ? 0 : 1);
        }
    consistent("in the middle of the random operations");
    ok(children_ended_well(3), "three processes map and delete parts at random");
    is(section().shares, 0, "no mapping of theirs is left");
}

int main(void)
{
    struct mega_memory before, after;

    signal(SIGSEGV, caught);
    mega$info(MEGA_INFO_MEMORY, 0, &before, sizeof(before));
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared->stop = 0; /* allocates its page table before tables are counted */
    is(sys$create_gdzro(&name, 0, 0, SIZE, PSL$C_USER, SEC$M_SYSGBL), SS$_CREATED_SHPT,
       "a FLUID section of 20 GiB is created");
    one_level1_pte();
    number_pieces();
    others_notice_nothing();
    random_parts();
    is(sys$dgblsc(SEC$M_SYSGBL, &name, 0), SS$_NORMAL, "the section is deleted");
    mega$info(MEGA_INFO_MEMORY, 0, &after, sizeof(after));
    is(after.promised_unused, before.promised_unused, "its promised pages are released");
    return tap_done();
}
