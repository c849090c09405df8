// TAP
// SECONDS: 90
/*
 * No private page is created in a region with shared page tables, and no address in a created
 * region is given to a call that does not name the region. Tested for every service and every POSIX
 * call that allocates addresses, one by one, and then at random against a model of what each region
 * must contain.
 *
 * `region_walls SEED CALLS` repeats a random walk.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <fcntl.h>
#include <prtdef.h>
#include <setjmp.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <vadef.h>

#define PAGE   8192ul
#define MIB    (1ul << 20)
#define PIECE  (8 * MIB)
#define P1_TOP (char *)0x80000000
#define ANON   (MAP_PRIVATE | MAP_ANONYMOUS)
#define RW     (PROT_READ | PROT_WRITE)

static void *va;
static unsigned __int64 length;

static int wait_for(pid_t pid)
{
    int status = -1;

    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static struct dsc$descriptor_s named(const char *name)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)name};
}

static struct mega_process self(void)
{
    struct mega_process p = {0};

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

/* ---- regions and their contents ---- */

enum kind { PLAIN, SHARED };

struct wall {
    GENERIC_64 id;
    char *start, *end;
    enum kind kind;
    unsigned flags;
};

static struct wall wall(enum kind kind, uint64_t bytes, unsigned flags, void *at)
{
    struct wall w = {.kind = kind, .flags = flags | (kind == SHARED ? VA$M_SHARED_PTS : 0)};
    int status = sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, w.flags, &w.id, &va, &length,
                                      at);

    if (status != SS$_NORMAL)
        bail_out("a region of %lu bytes: %s", bytes, mega$condition_text(status));
    w.start = va;
    w.end = w.start + bytes;
    return w;
}

static void drop(struct wall *w)
{
    if (sys$delete_region_64(&w->id, 0, &va, &length) != SS$_NORMAL)
        bail_out("a region cannot be deleted");
}

static sigjmp_buf back;

static volatile int armed;

static void on_segv(int sig)
{
    (void)sig;
    if (!armed)
        bail_out("an access that nobody expected to fail");
    siglongjmp(back, 1);
}

static int can_read(const volatile char *p)
{
    volatile int readable = 0;

    if (sigsetjmp(back, 1) == 0) {
        armed = 1;
        (void)*p;
        readable = 1;
    }
    armed = 0;
    return readable;
}

static int inside(const struct wall *w, const void *p, uint64_t n)
{
    return (char *)p < w->end && (char *)p + n > w->start;
}

/* Is every page of the region as if it had just been created? */
static int is_empty(const struct wall *w)
{
    REGSUM sum = {0};
    unsigned __int64 n;

    sys$get_region_info(VA$_REGSUM_BY_ID, (GENERIC_64 *)&w->id, 0, 0, sizeof(sum), &sum, &n);
    if ((char *)sum.va$pq_first_free_va != (w->flags & VA$M_DESCEND ? w->end : w->start))
        return 0;
    for (char *p = w->start; p < w->end; p += w->kind == SHARED ? MIB : PAGE)
        if (can_read(p))
            return 0;
    return 1;
}

/* ---- mmap ---- */

static const char *const kind_names[] = {"plain", "shared-table"};

/* Kinds of mappings to ask for. */
static const struct {
    const char *name;
    int flags, file;
} mappings[] = {
    {"private memory", ANON, 0},
    {"populated memory", ANON | MAP_POPULATE, 0},
    {"shared memory", MAP_SHARED | MAP_ANONYMOUS, 0},
    {"a stack", ANON | MAP_GROWSDOWN, 0},
    {"a file", MAP_PRIVATE, 1},
    {"a shared file", MAP_SHARED, 1},
};
#define MAPPINGS (sizeof(mappings) / sizeof(mappings[0]))

static int file = -1;

static void *map(unsigned kind, void *at, uint64_t n, int more)
{
    return mmap(at, n, PROT_READ, mappings[kind].flags | more, mappings[kind].file ? file : -1, 0);
}

static void mmap_at(struct wall *w)
{
    const struct {
        const char *name;
        char *at;
        uint64_t n;
    } places[] = {
        {"inside", w->start + PIECE, PAGE},
        {"at the start", w->start, PAGE},
        {"at the end", w->end - PAGE, PAGE},
        {"all of it", w->start, (uint64_t)(w->end - w->start)},
        {"over the start", w->start - PAGE, 2 * PAGE},
        {"over the end", w->end - PAGE, 2 * PAGE},
        {"around it", w->start - PAGE, (uint64_t)(w->end - w->start) + 2 * PAGE},
    };
    unsigned wrong = 0, hints = 0;

    for (unsigned k = 0; k < MAPPINGS; k++) {
        for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            void *p;

            if (map(k, places[i].at, places[i].n, MAP_FIXED) != MAP_FAILED || errno != ENOMEM)
                wrong++, diag("%s %s", mappings[k].name, places[i].name);
            if (map(k, places[i].at, places[i].n, MAP_FIXED_NOREPLACE) != MAP_FAILED)
                wrong++, diag("%s %s, not replacing", mappings[k].name, places[i].name);
            p = map(k, places[i].at, places[i].n, 0);
            if (p == MAP_FAILED || inside(w, p, places[i].n))
                hints++, diag("%s, wished %s", mappings[k].name, places[i].name);
            munmap(p, places[i].n);
        }
    }
    is(wrong, 0, "no MAP_FIXED mapping is made in a %s region", kind_names[w->kind]);
    is(hints, 0, "a mapping with a hint in the region is made elsewhere");
    ok(is_empty(w), "the region is empty as before");
}

/* The pages just outside the region do not belong to it, and can be mapped. */
static void edges(struct wall *w)
{
    char *low = mmap(w->start - PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0);
    char *high = w->end < (char *)(1ul << 42)
                     ? mmap(w->end, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0)
                     : NULL;

    ok(low == w->start - PAGE, "the page before a %s region can be mapped", kind_names[w->kind]);
    *low = 1;
    ok(!can_read(w->start), "that page is not extended into the region");
    if (high && high != MAP_FAILED) {
        *high = 1;
        ok(!can_read(w->end - 1), "a page after the region is not extended into it");
        munmap(high, PAGE);
    }
    munmap(low, PAGE);
    ok(is_empty(w), "the region is empty");
}

/* Private pages on both sides of a border do not become one mapping across it. */
static void neighbours(unsigned flags)
{
    struct wall w = wall(PLAIN, 8 * PAGE, flags, (void *)0x300000000);
    GENERIC_64 p2 = {{VA$C_P2}};
    char *edge = flags & VA$M_DESCEND ? w.start : w.end - PAGE;
    char *beyond = flags & VA$M_DESCEND ? w.start - PAGE : w.end;
    unsigned wrong = 0;

    wrong += sys$cretva_64(&p2, w.start - PAGE, PAGE, 3, 0, &va, &length) != SS$_NORMAL;
    wrong += sys$cretva_64(&p2, w.end, PAGE, 3, 0, &va, &length) != SS$_NORMAL;
    wrong += sys$cretva_64(&w.id, w.start, PAGE, 3, 0, &va, &length) != SS$_NORMAL;
    wrong += sys$cretva_64(&w.id, w.end - PAGE, PAGE, 3, 0, &va, &length) != SS$_NORMAL;
    is(wrong, 0, "a page is created on each side of each border");
    is_status(sys$expreg_64(&w.id, PAGE, 3, 0, &va, &length), SS$_REGISFULL,
              "the region cannot be expanded beyond its end");
    is_status(sys$expreg_64(&p2, PAGE, 3, 0, &va, &length), SS$_NORMAL,
              "the default region can be expanded");
    ok(va == w.end + PAGE, "it expands after its own page");
    sys$deltva_64(&p2, va, PAGE, 3, &va, &length);
    *edge = 1;
    is_status(sys$deltva_64(&p2, beyond, PAGE, 3, &va, &length), SS$_NORMAL,
              "the page outside the region is deleted");
    ok(*edge == 1 && !can_read(beyond), "the page in the region still exists");
    drop(&w);
    ok(!can_read(edge), "deleting the region deletes its page");
    munmap(w.start - PAGE, 10 * PAGE);
}

/* ---- other calls that might create a page in a region ---- */

static void other_calls(struct wall *w)
{
    char *p = w->start + PIECE, *own = mmap(0, 4 * PAGE, RW, ANON, -1, 0);
    unsigned wrong = 0;
    int fds[2];

    own[0] = 1;
    wrong += mprotect(p, PAGE, RW) != -1;
    wrong += madvise(p, PAGE, MADV_DONTNEED) != -1;
    wrong += mlock(p, PAGE) != -1;
    wrong += syscall(SYS_mremap, own, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p) != -1;
    wrong += syscall(SYS_shmat, 0, p, 0) != -1;
    wrong += pipe(fds) != 0 || write(fds[1], own, 8) != 8;
    wrong += read(fds[0], p, 8) != -1 || errno != EFAULT;
    wrong += write(fds[1], p, 8) != -1 || errno != EFAULT;
    wrong += clock_gettime(CLOCK_MONOTONIC, (struct timespec *)p) != -1;
    wrong += sigaltstack(&(stack_t){.ss_sp = p, .ss_size = 4 * PAGE}, NULL) != 0;
    wrong += sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL) != 0;
    is(wrong, 0, "no other call has an effect in a %s region", kind_names[w->kind]);
    ok(can_read(own) && is_empty(w), "the region is empty as before");
    close(fds[0]);
    close(fds[1]);
    munmap(own, 4 * PAGE);
}

static void services(struct wall *w, struct wall *other)
{
    GENERIC_64 space[3] = {{{VA$C_P0}}, {{VA$C_P1}}, {{VA$C_P2}}};
    int want = w->kind == SHARED ? SS$_NOSHPTS : SS$_NORMAL;
    struct dsc$descriptor_s d = named("REGION_WALLS");
    unsigned wrong = 0, old, in_p0 = w->flags & VA$M_P0_SPACE;
    char *p = w->start + PIECE;

    for (unsigned i = 0; i < 3; i++) {
        wrong += sys$cretva_64(&space[i], p, PAGE, 3, 0, &va, &length) != SS$_PAGNOTINREG;
        wrong += sys$deltva_64(&space[i], p, PAGE, 3, &va, &length) != SS$_PAGNOTINREG;
        wrong += sys$expreg_64(&space[i], PAGE, 3, 0, &va, &length) != SS$_NORMAL;
        wrong += inside(w, va, length) || inside(other, va, length);
        wrong += sys$deltva_64(&space[i], va, length, 3, &va, &length) != SS$_NORMAL;
        wrong += sys$mgblsc_64(&d, 0, &space[i], 0, 0, 0, SEC$M_WRT, &va, &length, p) & 1;
        wrong += !(
            sys$mgblsc_64(&d, 0, &space[i], 0, 0, 0, SEC$M_WRT | SEC$M_EXPREG, &va, &length) & 1);
        wrong += inside(w, va, length) || inside(other, va, length);
        wrong += sys$deltva_64(&space[i], va, length, 3, &va, &length) != SS$_NORMAL;
    }
    is(wrong, 0, "no service maps memory in a %s region through a default region",
       kind_names[w->kind]);
    wrong = 0;
    wrong += sys$cretva_64(&other->id, p, PAGE, 3, 0, &va, &length) !=
             (other->kind == SHARED ? SS$_NOSHPTS : SS$_PAGNOTINREG);
    wrong += sys$cretva_64(&other->id, w->start - PAGE, 2 * PAGE, 3, 0, &va, &length) & 1;
    wrong += sys$deltva_64(&other->id, p, PAGE, 3, &va, &length) != SS$_PAGNOTINREG;
    wrong += sys$mgblsc_64(&d, 0, &other->id, 0, 0, 0, SEC$M_WRT, &va, &length, p) & 1;
    wrong += sys$setprt_64(p, PAGE, 3, PRT$C_UW, &va, &length, &old) != SS$_ACCVIO;
    wrong += sys$lckpag_64(p, PAGE, 3, &va, &length) != SS$_ACCVIO;
    wrong += sys$ulkpag_64(p, PAGE, 3, &va, &length) != SS$_ACCVIO;
    wrong += sys$create_region_64(PIECE, 0, in_p0, &space[0], &va, &length, p) != SS$_VA_IN_USE;
    wrong += sys$create_region_64(3 * PIECE, 0, in_p0 | VA$M_SHARED_PTS, &space[0], &va, &length,
                                  w->start - PIECE) != SS$_VA_IN_USE;
    is(wrong, 0, "no service maps memory in it through another region");
    ok(is_empty(w), "the region is empty as before");
    is_status(sys$cretva_64(&w->id, p, PAGE, 3, 0, &va, &length), want,
              "$CRETVA_64 with the region's own id");
    is_status(sys$expreg_64(&w->id, PAGE, 3, 0, &va, &length), want,
              "$EXPREG_64 with the region's own id");
    if (w->kind == PLAIN)
        sys$deltva_64(&w->id, w->start, (uint64_t)(w->end - w->start), 3, &va, &length);
    ok(is_empty(w), "the region is empty again");
}

/* ---- the heap, the stack, programs and threads ---- */

static void heap(enum kind kind)
{
    char *now = sbrk(0);
    uint64_t unit = kind == SHARED ? PIECE : PAGE;
    char *at = (char *)(((uint64_t)now + 2 * PAGE + unit - 1) & -unit);
    struct wall w = wall(kind, 2 * PIECE, 0, at);

    ok(brk(at) == 0, "the heap grows up to a %s region", kind_names[kind]);
    is(brk(at + 1), -1, "it does not grow into the region");
    is(brk(w.end + PAGE), -1, "it does not grow beyond the region");
    ok(sbrk(0) == at && is_empty(&w), "the heap ends there");
    if (at > now)
        at[-1] = 1;
    is(brk(now), 0, "the heap shrinks");
    ok(malloc(32 * MIB) != NULL, "malloc gets memory elsewhere");
    drop(&w);
    ok(brk(at + PAGE) == 0 && brk(now) == 0, "when the region is deleted the heap can grow again");
}

static void stack(enum kind kind)
{
    struct wall w;
    char *low;

    /* The range of the stack is reserved from the start, so a region lies below it. */
    for (low = P1_TOP - 2 * PIECE;; low -= PIECE) {
        GENERIC_64 id;
        int status = sys$create_region_64(PIECE, 0,
                                          VA$M_P1_SPACE | (kind == SHARED ? VA$M_SHARED_PTS : 0),
                                          &id, &va, &length, low);

        if (status == SS$_NORMAL) {
            w = (struct wall){id, low, low + PIECE, kind, kind == SHARED ? VA$M_SHARED_PTS : 0};
            break;
        }
        if (status != SS$_VA_IN_USE)
            bail_out("a region below the stack: %s", mega$condition_text(status));
    }
    ok(!can_read(low + PIECE - 8), "the stack does not grow into a %s region below it",
       kind_names[kind]);
    ok(is_empty(&w), "the region stays empty");
    drop(&w);
}

/* Runs in a process that shares this address space. */
static unsigned foreign(const struct wall *a, const struct wall *b)
{
    GENERIC_64 p2 = {{VA$C_P2}};
    unsigned wrong = 0;
    void *p = mmap(a->start, PAGE, RW, ANON, -1, 0);

    wrong += p == MAP_FAILED || inside(a, p, PAGE) || inside(b, p, PAGE);
    munmap(p, PAGE);
    wrong += mmap(a->start, PAGE, RW, ANON | MAP_FIXED, -1, 0) != MAP_FAILED;
    wrong += mmap(b->start, PAGE, RW, ANON | MAP_FIXED, -1, 0) != MAP_FAILED;
    wrong += sys$cretva_64(&p2, a->start, PAGE, 3, 0, &va, &length) != SS$_PAGNOTINREG;
    wrong += sys$expreg_64(&p2, PAGE, 3, 0, &va, &length) != SS$_NORMAL;
    wrong += inside(a, va, PAGE) || inside(b, va, PAGE);
    sys$deltva_64(&p2, va, PAGE, 3, &va, &length);
    return wrong;
}

static void others(void)
{
    struct wall a = wall(SHARED, 2 * PIECE, 0, 0), b = wall(PLAIN, 2 * PIECE, 0, 0);
    volatile unsigned wrong = 99;
    pid_t pid = vfork();

    if (pid == 0) {
        wrong = foreign(&a, &b);
        _exit(0);
    }
    ok(wait_for(pid) == 0 && wrong == 0,
       "a process that shares the address space cannot map memory in the regions");
    ok(is_empty(&a) && is_empty(&b), "the regions are empty");
    pid = fork();
    if (pid == 0)
        _exit((int)foreign(&a, &b));
    is(wait_for(pid), 0, "a child, which inherits the regions, cannot either");
    drop(&a);
    drop(&b);
    a = wall(SHARED, 3 * PIECE, 0, (void *)0x200000000); /* not at the addresses of programs */
    pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(9);
    }
    is(wait_for(pid), 0, "exec of a program that uses the addresses of regions works");
    drop(&a);
}

/* ---- POSIX calls on memory mapped in a region ---- */

static void sections(void)
{
    struct wall s = wall(SHARED, 4 * PIECE, 0, 0);
    struct wall p = wall(PLAIN, 4 * PIECE, 0, s.start - 8 * PIECE);
    struct dsc$descriptor_s d = named("REGION_WALLS");
    char *a, *b, *own;
    unsigned old;

    if (!(sys$mgblsc_64(&d, 0, &s.id, 0, 0, 0, SEC$M_WRT | SEC$M_EXPREG, &va, &length) & 1))
        bail_out("the section cannot be mapped");
    a = va;
    if (!(sys$mgblsc_64(&d, 0, &p.id, 0, 0, 0, SEC$M_WRT | SEC$M_EXPREG, &va, &length) & 1))
        bail_out("the section cannot be mapped privately");
    b = va;
    a[9 * MIB] = 9;
    is(b[9 * MIB], 9, "both mappings show the same page");
    is(munmap(a + PAGE, PAGE), -1, "munmap of a page in shared page tables is refused");
    is(munmap(a + PIECE, PAGE), -1, "munmap of the first page of an 8 MiB span is refused");
    is(munmap(a + PAGE, PIECE - PAGE), -1, "munmap up to the end of an 8 MiB span is refused");
    is(mmap(a, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED, 1,
       "mmap over a page in shared page tables is refused");
    is(mprotect(a, PIECE, PROT_READ), -1, "mprotect of pages in shared page tables is refused");
    is(mprotect(b + 9 * MIB, PAGE, PROT_READ), 0,
       "mprotect of a page in private page tables works");
    ok(b[9 * MIB] == 9 && b[9 * MIB + PAGE] == 0, "the contents are unchanged");
    a[9 * MIB] = 10;
    is(b[9 * MIB], 10, "writes through the other mapping are visible");
    is(mprotect(b + 9 * MIB, PAGE, PROT_READ | PROT_EXEC), -1,
       "execute access to a section is refused");
    is(mprotect(b + 9 * MIB, PAGE, RW), 0, "write access can be restored");
    b[9 * MIB] = 9;
    is(mprotect(a, PIECE, PROT_READ | PROT_WRITE), 0, "mprotect that changes nothing is accepted");
    is(mlock(a, 2 * PAGE), 0, "mlock of a memory-resident section is accepted");
    is(self().locked, 0, "its pages do not count as locked");
    is(madvise(a, PIECE, MADV_DONTNEED), -1,
       "MADV_DONTNEED of a memory-resident section is refused");
    is(a[9 * MIB], 9, "the contents are unchanged");
    own = mmap(s.start - 2 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
    own[0] = own[PAGE] = 3;
    ok(own + 2 * PAGE == a, "private pages are mapped just before the region");
    is(mprotect(own, 4 * PAGE, PROT_READ), -1,
       "mprotect of private pages and pages in shared page tables is refused");
    own[0] = 4;
    is(munmap(own + PAGE, 2 * PAGE), -1, "munmap of a part of such a range is refused");
    ok(own[0] == 4 && own[PAGE] == 3, "the refused calls have changed nothing");
    is_status(sys$setprt_64(own, 4 * PAGE, 3, PRT$C_UR, &va, &length, &old), SS$_PAGTYPVIO,
              "$SETPRT_64 of such a range is refused");
    own[0] = 5;
    is(self().locked, 0, "no page is locked");
    is(munmap(own, 2 * PAGE + PIECE), 0,
       "munmap of the private pages and a whole 8 MiB span works");
    ok(!can_read(own) && !can_read(a) && a[9 * MIB] == 9,
       "they are unmapped, and the next span is not");
    is(munmap(b + 5 * PAGE, PAGE), 0, "munmap of a page in private page tables works");
    ok(!can_read(b + 5 * PAGE) && can_read(b + 6 * PAGE), "only that page is unmapped");
    ok(mmap(b + 5 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED,
       "the hole still belongs to the region");
    drop(&s);
    drop(&p);
}

/* POSIX calls on private pages in an ordinary region. */
static void private_pages(void)
{
    struct wall w = wall(PLAIN, 64 * PAGE, 0, 0);
    char *p = w.start;

    sys$expreg_64(&w.id, 32 * PAGE, 3, 0, &va, &length);
    memset(p, 1, 32 * PAGE);
    is(mprotect(p + PAGE, PAGE, PROT_READ), 0, "mprotect of a private page in a region works");
    is(madvise(p + 2 * PAGE, PAGE, MADV_DONTNEED), 0,
       "MADV_DONTNEED of a private page in a region is accepted");
    is(p[2 * PAGE], 0, "MADV_DONTNEED of a page zeroes it");
    is(munmap(p + 3 * PAGE, PAGE), 0, "munmap of a private page in a region is accepted");
    ok(!can_read(p + 3 * PAGE), "munmap of a page works");
    ok(mmap(p + 3 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED,
       "the hole still belongs to the region");
    ok(mmap(p, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED && p[0] == 1,
       "mmap with MAP_FIXED does not replace a page of the region");
    is_status(sys$cretva_64(&w.id, p + 3 * PAGE, PAGE, 3, 0, &va, &length), SS$_NORMAL,
              "$CRETVA_64 with the region's id fills the hole");
    drop(&w);
}

/* ---- a random walk ---- */

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

#define WALLS  6
#define GRAINS 64 /* number of parts of a region that the model tracks */

static struct {
    struct wall w;
    int alive;
    uint64_t grain;
    /* Contents of each part: 0 nothing, 1 private memory, 2 the section. */
    unsigned char there[GRAINS];
} area[WALLS];

static unsigned broken;

#define EXPECT(cond)                                              \
    do {                                                          \
        if (!(cond) && broken++ < 10)                             \
            diag("%s:%d: not so: %s", __FILE__, __LINE__, #cond); \
    } while (0)

static int outside_all(const void *p, uint64_t n)
{
    for (unsigned i = 0; i < WALLS; i++)
        if (area[i].alive && inside(&area[i].w, p, n))
            return 0;
    return 1;
}

static void walk_create(unsigned i)
{
    enum kind kind = draw(2) ? SHARED : PLAIN;
    uint64_t bytes = kind == SHARED ? 4 * PIECE : GRAINS * PAGE;

    if (area[i].alive) {
        drop(&area[i].w);
        area[i].alive = 0;
        return;
    }
    area[i].w = wall(kind, bytes, (draw(2) ? VA$M_DESCEND : 0) | (draw(4) == 0 ? VA$M_P0_SPACE : 0),
                     0);
    EXPECT(outside_all(area[i].w.start, bytes));
    area[i].alive = 1;
    area[i].grain = bytes / GRAINS;
    memset(area[i].there, 0, sizeof(area[i].there));
}

static void walk_services(unsigned i)
{
    struct wall *w = &area[i].w;
    unsigned first = (unsigned)draw(GRAINS), n = 1 + (unsigned)draw(8), j = (unsigned)draw(WALLS);
    char *at = w->start + first * area[i].grain;
    struct dsc$descriptor_s d = named("REGION_WALLS");
    uint64_t bytes;
    int status;

    if (!area[i].alive)
        return;
    if (n > GRAINS - first)
        n = GRAINS - first;
    bytes = n * area[i].grain;
    switch (draw(6)) {
    case 0:
        status = sys$cretva_64(&w->id, at, bytes, 3, 0, &va, &length);
        EXPECT(status == (w->kind == SHARED ? SS$_NOSHPTS : SS$_NORMAL));
        if (status == SS$_NORMAL)
            memset(area[i].there + first, 1, n);
        break;
    case 1:
        status = sys$expreg_64(&w->id, bytes, 3, 0, &va, &length);
        EXPECT(w->kind == SHARED ? status == SS$_NOSHPTS
                                 : status == SS$_NORMAL || status == SS$_REGISFULL);
        if (status == SS$_NORMAL) {
            first = (unsigned)(((char *)va - w->start) / area[i].grain);
            for (unsigned k = first; k < first + n; k++) {
                EXPECT(area[i].there[k] == 0);
                area[i].there[k] = 1;
            }
        }
        break;
    case 2:
        status = sys$mgblsc_64(&d, 0, &w->id, 0, 0, 0, SEC$M_WRT | SEC$M_EXPREG, &va, &length);
        EXPECT(w->kind == PLAIN ? status == SS$_REGISFULL
                                : status == SS$_NORMAL || status == SS$_REGISFULL);
        if (status == SS$_NORMAL)
            memset(area[i].there + ((char *)va - w->start) / area[i].grain, 2,
                   length / area[i].grain);
        break;
    case 3:
        if (w->kind == SHARED) {
            first &= ~15u;
            n = 16;
            at = w->start + first * area[i].grain;
            bytes = PIECE;
        }
        status = draw(2) ? sys$deltva_64(&w->id, at, bytes, 3, &va, &length)
                         : (munmap(at, bytes) == 0 ? SS$_NORMAL : SS$_ABORT);
        EXPECT(status == SS$_NORMAL);
        memset(area[i].there + first, 0, n);
        break;
    case 4:
        if (j != i && area[j].alive)
            EXPECT(sys$cretva_64(&area[j].w.id, at, bytes, 3, 0, &va, &length) ==
                   (area[j].w.kind == SHARED ? SS$_NOSHPTS : SS$_PAGNOTINREG));
        break;
    default:
        EXPECT(mmap(at, bytes, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED);
        break;
    }
}

#define OWN 24
static struct {
    char *p;
    uint64_t n;
} own[OWN];

/* Maps private memory of this program, with a hint at any address. */
static void walk_private(void)
{
    unsigned i = (unsigned)draw(OWN), j = (unsigned)draw(WALLS);
    GENERIC_64 space = {{(long)draw(3)}};
    char *wish = area[j].w.start ? area[j].w.start - PIECE + draw(4 * PIECE / PAGE) * PAGE : NULL;

    if (own[i].p) {
        EXPECT(munmap(own[i].p, own[i].n) == 0);
        own[i].p = NULL;
        return;
    }
    own[i].n = PAGE * (1 + draw(64));
    switch (draw(4)) {
    case 0:
        own[i].p = mmap(wish, own[i].n, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
        break;
    case 1:
        own[i].p = mmap(wish, own[i].n, RW, ANON | (draw(2) ? MAP_POPULATE : 0), -1, 0);
        break;
    case 2:
        own[i].p = mmap(wish, own[i].n, PROT_READ, MAP_PRIVATE, file, 0);
        break;
    default:
        if (sys$expreg_64(&space, own[i].n, 3, 0, (void **)&own[i].p, &length) != SS$_NORMAL)
            own[i].p = MAP_FAILED;
    }
    if (own[i].p == MAP_FAILED)
        own[i].p = NULL;
    if (!own[i].p)
        return;
    EXPECT(outside_all(own[i].p, own[i].n));
    for (unsigned k = 0; k < OWN; k++)
        EXPECT(k == i || !own[k].p || own[k].p + own[k].n <= own[i].p ||
               own[i].p + own[i].n <= own[k].p);
}

/* Check some parts of a region: is there what the model says, and nothing else? */
static void walk_look(unsigned i)
{
    for (unsigned n = 0; area[i].alive && n < 8; n++) {
        unsigned k = (unsigned)draw(GRAINS);
        char *p = area[i].w.start + k * area[i].grain;

        EXPECT(can_read(p) == (area[i].there[k] != 0));
        if (area[i].there[k] == 1)
            *p = 1;
    }
}

static void walk_fork(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (unsigned i = 0; i < WALLS; i++)
            walk_look(i);
        for (unsigned i = 0; i < 20; i++)
            draw(2) ? walk_services((unsigned)draw(WALLS)) : walk_private();
        for (unsigned i = 0; i < WALLS; i++)
            walk_look(i);
        _exit(broken != 0);
    }
    EXPECT(wait_for(pid) == 0);
}

static void walk(uint64_t seed, unsigned calls)
{
    struct mega_process before, after;

    diag("seed %lu, %u calls", (unsigned long)seed, calls);
    state = seed * 0x9E3779B97F4A7C15 | 1;
    memset(area, 0, sizeof(area));
    memset(own, 0, sizeof(own));
    before = self();
    for (unsigned i = 0; i < calls && !broken; i++) {
        unsigned k = (unsigned)draw(WALLS);

        switch (draw(10)) {
        case 0:
            walk_create(k);
            break;
        case 1:
        case 2:
        case 3:
            walk_private();
            break;
        case 4:
            walk_look(k);
            break;
        case 5:
            if (draw(20) == 0)
                walk_fork();
            break;
        default:
            walk_services(k);
        }
    }
    is(broken, 0, "every address has the contents that the model says");
    for (unsigned i = 0; i < WALLS; i++)
        if (area[i].alive)
            drop(&area[i].w);
    for (unsigned i = 0; i < OWN; i++)
        if (own[i].p)
            munmap(own[i].p, own[i].n);
    after = self();
    is(after.pt_pages, before.pt_pages, "as many page-table pages are in use as before");
    is(after.rss, before.rss, "the process has as many pages as before");
    is(after.vsize, before.vsize, "the address space is as large as before");
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 4000;
    struct dsc$descriptor_s d = named("REGION_WALLS");
    struct mega_section s;
    int last = -1;

    signal(SIGSEGV, on_segv);
    file = open("/tmp/region_walls", O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 64 * (long)MIB) != 0)
        bail_out("no file");
    if (sys$create_gdzro(&d, 0, 0, 2 * PIECE, 0, 0) != SS$_CREATED_SHPT)
        bail_out("no section");
    for (enum kind kind = PLAIN; kind <= SHARED; kind++) {
        struct wall w = wall(kind, 4 * PIECE, 0, 0);
        struct wall other = wall(PLAIN, 2 * PIECE, 0, w.start - 8 * PIECE);
        struct wall low = wall(kind, 4 * PIECE, VA$M_P0_SPACE, 0);

        mmap_at(&w);
        mmap_at(&low);
        edges(&w);
        other_calls(&w);
        other_calls(&low);
        services(&w, &other);
        services(&low, &w);
        drop(&w);
        drop(&other);
        drop(&low);
        heap(kind);
        stack(kind);
    }
    neighbours(0);
    neighbours(VA$M_DESCEND);
    others();
    sections();
    private_pages();
    for (uint64_t i = 0; i < (argc > 1 ? 1 : 3); i++)
        walk(seed + i, calls);
    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL; i++)
        if (!strcmp(s.name, "REGION_WALLS"))
            last = (int)s.shares;
    is(last, 0, "the section has no mapping any more");
    is_status(sys$dgblsc(0, &d, 0), SS$_NORMAL, "the section is deleted");
    unlink("/tmp/region_walls");
    return tap_done();
}
