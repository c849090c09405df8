/* Calls on the address space. */
#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tap.h>
#include <unistd.h>

#define RW    (PROT_READ | PROT_WRITE)
#define ANON  (MAP_PRIVATE | MAP_ANONYMOUS)
#define ARENA (24 * BLOCK) /* sixteen pages, which the calls split */
#define PAGES 16ul
#define END   (ARENA + PAGES * PAGE)

static long where; /* address of the new mapping */
static int file = -1;
static unsigned char resident[4]; /* what mincore returns */

static char *page(unsigned n) { return (char *)(ARENA + n * PAGE); }

/* Each page contains its number. */
static void fill(void)
{
    for (unsigned i = 0; i < PAGES; i++)
        *page(i) = (char)(i + 1);
}

static void arena(void)
{
    cold_map(ARENA, PAGES * PAGE);
    fill();
}

static void shared_arena(void)
{
    if (mmap((void *)ARENA, PAGES * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
             0) != (void *)ARENA)
        bail_out("no shared memory");
    fill();
}

static void file_open(void)
{
    file = open("/tmp/mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, PAGES * PAGE) != 0)
        bail_out("no file: %s", strerror(errno));
    for (unsigned i = 0; i < PAGES; i++) {
        char c = (char)(i + 1);

        pwrite(file, &c, 1, (off_t)(i * PAGE));
    }
}

static void file_drop(void)
{
    munmap((void *)ARENA, PAGES * PAGE);
    close(file);
    file = -1;
    unlink("/tmp/mapped");
}

static void file_arena(void)
{
    file_open();
    if (mmap((void *)ARENA, PAGES * PAGE, RW, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0) !=
        (void *)ARENA)
        bail_out("the file is not mapped");
    *page(5) = 6; /* one page is a private copy */
}

/* Private memory followed by a mapping of a file. Only the latter is split. */
static void mixed_arena(void)
{
    file_open();
    cold_map(ARENA, 6 * PAGE);
    if (mmap(page(6), 10 * PAGE, RW, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 6 * (long)PAGE) !=
        page(6))
        bail_out("the file is not mapped");
    fill();
}

static void arena_drop(void) { munmap((void *)ARENA, PAGES * PAGE); }

static bool pages_are(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        if (*page(i) != (char)(i + 1))
            return false;
    return true;
}

/* Is nothing mapped there? */
static bool is_hole(unsigned n)
{
    return raw6(SYS_madvise, (unsigned long)page(n), PAGE, 6, 0, 0, 0) == -ENOMEM;
}

/* ---- mmap ---- */

static long map(unsigned long at, unsigned long n, unsigned prot, unsigned flags, int fd)
{
    where = raw6(SYS_mmap, at, n, prot, flags, (unsigned long)fd, 0);
    return where < 0 && where > -4096 ? where : 0;
}

static long map_anywhere(void) { return map(0, 3 * PAGE, RW, ANON, -1); }
static long map_shared(void) { return map(0, 3 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1); }
static long map_private_file(void) { return map(0, PAGES * PAGE, RW, MAP_PRIVATE, file); }
static long map_shared_file(void) { return map(0, PAGES * PAGE, RW, MAP_SHARED, file); }
static long map_over(void)
{
    return map(ARENA + 4 * PAGE, 4 * PAGE, PROT_READ, ANON | MAP_FIXED, -1);
}
static long map_populated(void)
{
    return map(ARENA, PAGES * PAGE, RW, ANON | MAP_FIXED | MAP_POPULATE, -1);
}
static long map_populated_shared(void)
{
    return map(ARENA, PAGES * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1);
}

static bool is_usable(long r)
{
    char *p = (char *)where;

    p[2 * PAGE] = 9;
    return r == 0 && p[2 * PAGE] == 9;
}

static bool shows_file(long r)
{
    const char *p = (const char *)where;

    return r == 0 && p[3 * PAGE] == 4;
}

static void where_drop(void)
{
    if (where > 0)
        munmap((void *)where, 3 * PAGE);
    where = 0;
}

static void where_file_drop(void)
{
    if (where > 0)
        munmap((void *)where, PAGES * PAGE);
    where = 0;
    file_drop();
}

static bool is_replaced(long r)
{
    return r == 0 && pages_are(0, 4) && *page(4) == 0 && *page(7) == 0 && pages_are(8, PAGES);
}

static bool arena_is_zero(long r) { return r == 0 && *page(0) == 0 && *page(PAGES - 1) == 0; }

/* ---- munmap, mprotect, madvise, locks ---- */

#define MIDDLE ARENA + 4 * PAGE, 4 * PAGE

static bool middle_is_gone(long r)
{
    return r == 0 && is_hole(4) && is_hole(7) && pages_are(0, 4) && pages_are(8, PAGES);
}

/* mremap to another table, which may be missing: pages 4 to 7. */
#define ELSEWHERE (36 * BLOCK)

static bool middle_has_moved(long r)
{
    const char *to = (const char *)ELSEWHERE;

    return r == (long)ELSEWHERE && is_hole(4) && is_hole(7) && pages_are(0, 4) &&
           pages_are(8, PAGES) && to[0] == 5 && to[3 * PAGE] == 8;
}

static void moved_drop(void)
{
    munmap((void *)ELSEWHERE, 4 * PAGE);
    munmap((void *)ARENA, PAGES * PAGE);
}

static void moved_file_drop(void)
{
    munmap((void *)ELSEWHERE, 4 * PAGE);
    file_drop();
}

static void unlock_all(void) { munlockall(); }

static bool middle_is_zero(long r)
{
    return r == 0 && pages_are(0, 4) && *page(4) == 0 && *page(7) == 0 && pages_are(8, PAGES);
}

static bool mixed_is_forgotten(long r)
{
    return r == 0 && pages_are(0, 4) && *page(4) == 0 && *page(5) == 0 && pages_are(6, PAGES);
}

static bool middle_is_file(long r) { return r == 0 && pages_are(0, PAGES); }

static bool all_there(long r) { return r == 0 && pages_are(0, PAGES); }

/* Memory as a fork and the end of the child leave it: copy-on-write with one user. */
static void forked_arena(void)
{
    long pid;

    arena();
    pid = raw6(SYS_fork, 0, 0, 0, 0, 0, 0);
    if (pid == 0)
        raw6(SYS_exit, 0, 0, 0, 0, 0, 0);
    raw6(SYS_wait4, (unsigned long)pid, 0, 0, 0, 0, 0);
    warm_up();
    settle();
}

/* Three mappings; a call splits two of them. */
static void three_arenas(void)
{
    arena();
    mprotect(page(6), 4 * PAGE, PROT_READ);
}

static void cold_arena(void) { cold_map(ARENA, PAGES * PAGE); }

static bool locked_is(unsigned long n)
{
    struct state s;

    state_take(&s);
    return s.locked == n;
}

static bool four_locked(long r) { return r == 0 && locked_is(4); }
static bool twelve_locked(long r) { return r == 0 && locked_is(12); }

static void locked_arena(void)
{
    arena();
    mlock((void *)ARENA, PAGES * PAGE);
}

/* ---- brk ---- */

static long old_end;

static void brk_prepare(void) { old_end = raw6(SYS_brk, 0, 0, 0, 0, 0, 0); }

/* The interface that the C library uses: a brk that fails returns the old end. */
static long brk_grow(void)
{
    long end = raw6(SYS_brk, (unsigned long)old_end + PIECE, 0, 0, 0, 0, 0);

    return end == old_end ? -ENOMEM : end == old_end + (long)PIECE ? 0 : -EINVAL;
}

static bool brk_usable(long r)
{
    char *last = (char *)(old_end + (long)PIECE - 1);

    *last = 1;
    return r == 0 && *last == 1;
}

static void brk_undo(void) { raw6(SYS_brk, (unsigned long)old_end, 0, 0, 0, 0, 0); }

/* The heap ends with a page that cannot be written: what is added is a mapping of its own. */
static long first_end;

static void brk_apart_prepare(void)
{
    brk_prepare();
    first_end = old_end;
    brk_grow();
    old_end += (long)PIECE;
    mprotect((void *)((old_end - 1) & ~((long)PAGE - 1)), PAGE, PROT_READ);
}

static void brk_apart_undo(void) { raw6(SYS_brk, (unsigned long)first_end, 0, 0, 0, 0, 0); }

static void brk_shrink_prepare(void)
{
    brk_prepare();
    brk_grow();
    mprotect((void *)((old_end + (long)PAGE - 1) & ~((long)PAGE - 1)), PAGE, PROT_READ);
}

static long brk_shrink(void)
{
    unsigned long want = ((unsigned long)old_end & ~(PAGE - 1)) + PIECE / 2;
    long end = raw6(SYS_brk, want, 0, 0, 0, 0, 0);

    return end == (long)want ? 0 : end == old_end + (long)PIECE ? -ENOMEM : -EINVAL;
}

#define CALL(name_, call_, prepare_, effect_, undo_, ...)                                      \
    {                                                                                          \
        .name = name_, .call = (call_), .prepare = prepare_, .effect = effect_, .undo = undo_, \
        .args = {                                                                              \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    }
#define MAPS(name_, act_, prepare_, effect_, undo_) \
    BY(name_, SYS_mmap, prepare_, act_, effect_, undo_, 0)

const struct scenario memory_scenarios[] = {
    MAPS("mmap", map_anywhere, NULL, is_usable, where_drop),
    MAPS("mmap, shared", map_shared, NULL, is_usable, where_drop),
    MAPS("mmap of a file", map_private_file, file_open, shows_file, where_file_drop),
    MAPS("mmap of a file, shared", map_shared_file, file_open, shows_file, where_file_drop),
    MAPS("mmap in the middle of a mapping", map_over, arena, is_replaced, arena_drop),
    MAPS("mmap in the middle of shared memory", map_over, shared_arena, is_replaced, arena_drop),
    MAPS("mmap over three mappings", map_over, three_arenas, is_replaced, arena_drop),
    {.name = "mmap, populated",
     .call = SYS_mmap,
     .act = map_populated,
     .effect = arena_is_zero,
     .undo = arena_drop,
     .flags = ABSORBS},
    {.name = "mmap, shared and populated",
     .call = SYS_mmap,
     .act = map_populated_shared,
     .effect = arena_is_zero,
     .undo = arena_drop,
     .flags = ABSORBS},
    CALL("munmap out of the middle", SYS_munmap, arena, middle_is_gone, arena_drop, MIDDLE),
    CALL("munmap out of shared memory", SYS_munmap, shared_arena, middle_is_gone, arena_drop,
         MIDDLE),
    CALL("munmap out of a file", SYS_munmap, file_arena, middle_is_gone, file_drop, MIDDLE),
    CALL("munmap out of what fork copied", SYS_munmap, forked_arena, middle_is_gone, arena_drop,
         MIDDLE),
    CALL("munmap across mappings", SYS_munmap, three_arenas, middle_is_gone, arena_drop, MIDDLE),
    {.name = "munmap of a whole mapping",
     .call = SYS_munmap,
     .prepare = arena,
     .args = {ARENA, PAGES *PAGE},
     .undo = arena_drop,
     .flags = NOTHING},
    CALL("mprotect in the middle", SYS_mprotect, arena, all_there, arena_drop, MIDDLE, PROT_READ),
    CALL("mprotect of shared memory", SYS_mprotect, shared_arena, all_there, arena_drop, MIDDLE,
         PROT_READ),
    CALL("mprotect of a file", SYS_mprotect, file_arena, all_there, file_drop, MIDDLE, PROT_READ),
    CALL("mprotect across mappings", SYS_mprotect, three_arenas, all_there, arena_drop, MIDDLE,
         PROT_READ),
    {.name = "mprotect of a whole mapping",
     .call = SYS_mprotect,
     .prepare = arena,
     .args = {ARENA, PAGES *PAGE, PROT_READ},
     .undo = arena_drop,
     .flags = NOTHING},
    {.name = "madvise, private memory",
     .call = SYS_madvise,
     .prepare = arena,
     .args = {MIDDLE, MADV_DONTNEED},
     .effect = middle_is_zero,
     .undo = arena_drop,
     .flags = NOTHING},
    {.name = "madvise, what fork copied",
     .call = SYS_madvise,
     .prepare = forked_arena,
     .args = {MIDDLE, MADV_DONTNEED},
     .effect = middle_is_zero,
     .undo = arena_drop,
     .flags = NOTHING},
    {.name = "madvise, a file",
     .call = SYS_madvise,
     .prepare = file_arena,
     .args = {MIDDLE, MADV_DONTNEED},
     .effect = middle_is_file,
     .undo = file_drop,
     .flags = NOTHING},
    {.name = "madvise, private memory and a file",
     .call = SYS_madvise,
     .prepare = mixed_arena,
     .args = {MIDDLE, MADV_DONTNEED},
     .effect = mixed_is_forgotten,
     .undo = file_drop,
     .flags = NOTHING},
    CALL("mremap to another place", SYS_mremap, arena, middle_has_moved, moved_drop, MIDDLE,
         4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, ELSEWHERE),
    CALL("mremap of what fork copied", SYS_mremap, forked_arena, middle_has_moved, moved_drop,
         MIDDLE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, ELSEWHERE),
    {.name = "mremap of a file",
     .call = SYS_mremap,
     .prepare = file_arena,
     .args = {MIDDLE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, ELSEWHERE},
     .effect = middle_has_moved,
     .undo = moved_file_drop,
     .flags = WARM},
    {.name = "mincore",
     .call = SYS_mincore,
     .prepare = arena,
     .args = {MIDDLE, (unsigned long)resident},
     .undo = arena_drop,
     .flags = NOTHING},
    {.name = "mlockall of the future",
     .call = SYS_mlockall,
     .args = {MCL_FUTURE},
     .undo = unlock_all,
     .flags = NOTHING},
    {.name = "munlockall", .call = SYS_munlockall, .flags = NOTHING},
    {.name = "msync",
     .call = SYS_msync,
     .prepare = arena,
     .args = {MIDDLE, 4},
     .undo = arena_drop,
     .flags = NOTHING},
    CALL("mlock2", SYS_mlock2, arena, four_locked, arena_drop, MIDDLE, 0),
    CALL("mlock", SYS_mlock, arena, four_locked, arena_drop, MIDDLE),
    {.name = "mlock, untouched memory",
     .call = SYS_mlock,
     .prepare = cold_arena,
     .args = {MIDDLE},
     .effect = four_locked,
     .undo = arena_drop,
     .flags = WARM},
    {.name = "mlock, a file",
     .call = SYS_mlock,
     .prepare = file_arena,
     .args = {MIDDLE},
     .effect = four_locked,
     .undo = file_drop,
     .flags = HALFWAY},
    CALL("munlock", SYS_munlock, locked_arena, twelve_locked, arena_drop, MIDDLE),
    {.name = "brk, more",
     .call = SYS_brk,
     .prepare = brk_prepare,
     .act = brk_grow,
     .effect = brk_usable,
     .undo = brk_undo,
     .flags = NOTHING},
    {.name = "brk, more, behind a protected page",
     .call = SYS_brk,
     .prepare = brk_apart_prepare,
     .act = brk_grow,
     .effect = brk_usable,
     .undo = brk_apart_undo},
    {.name = "brk, less",
     .call = SYS_brk,
     .prepare = brk_shrink_prepare,
     .act = brk_shrink,
     .undo = brk_undo},
    {0},
};
