/*
 * Page faults of user mode: each allocation inside a fault fails in turn. A process for which a
 * page cannot be allocated is killed with a message (docs/architecture.md), and its resources are
 * freed. A fault on memory of a FLUID section never fails, because that memory was promised.
 */
#include "failure.h"

#include <descrip.h>
#include <fcntl.h>
#include <gen64def.h>
#include <secdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tap.h>
#include <unistd.h>
#include <vadef.h>

#define RW    (PROT_READ | PROT_WRITE)
#define PLACE (32 * BLOCK) /* address of the memory that is touched */
#define PAGES 16ul

static GENERIC_64 region;
static void *va, *start;
static unsigned __int64 length;

static long touch(unsigned long at)
{
    *(volatile char *)at = 9;
    return *(volatile char *)at == 9 ? 0 : -1;
}

static long touch_place(void) { return touch(PLACE + 3 * PAGE); }
static long touch_two(void) { return touch(PLACE) + touch(PLACE + PIECE); }
static long read_place(void) { return *(volatile char *)(PLACE + 3 * PAGE) == 4 ? 0 : -1; }
static long touch_section(void) { return touch((unsigned long)va + 5 * PAGE); }
static long touch_region(void) { return touch((unsigned long)start + 5 * PAGE); }

static void map(unsigned flags, int fd)
{
    if (mmap((void *)PLACE, PAGES * PAGE, RW, flags | MAP_FIXED_NOREPLACE, fd, 0) != (void *)PLACE)
        bail_out("no memory to touch");
}

static void fill(void)
{
    for (unsigned i = 0; i < PAGES; i++)
        ((char *)PLACE)[i * PAGE] = (char)(i + 1);
}

static void untouched(void) { map(MAP_PRIVATE | MAP_ANONYMOUS, -1); }
static void untouched_wide(void) { cold_map(PLACE, 2 * PIECE); }
static void shared(void) { map(MAP_SHARED | MAP_ANONYMOUS, -1); }

/* Memory of the parent, which the child copies on write. */
static void copied(void)
{
    untouched();
    fill();
}

#define HUGE (4ul << 20)
static void huge(void)
{
    if (mmap((void *)PLACE, HUGE, RW,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED_NOREPLACE, -1,
             0) != (void *)PLACE)
        bail_out("no huge page");
}
static void huge_discarded(void)
{
    huge();
    madvise((void *)PLACE, HUGE, MADV_DONTNEED);
}

static void drop(void) { munmap((void *)PLACE, 2 * PIECE); }

static void file(int flags)
{
    int fd = open("/tmp/touched", O_RDWR | O_CREAT, 0600);
    char c = 4;

    if (fd < 0 || ftruncate(fd, PAGES * PAGE) != 0 || pwrite(fd, &c, 1, 3 * PAGE) != 1)
        bail_out("no file");
    map((unsigned)flags, fd);
    close(fd);
}

/* A file that is one hole. */
static void hole(void)
{
    int fd = open("/tmp/touched", O_RDWR | O_CREAT, 0600);

    if (fd < 0 || ftruncate(fd, PAGES * PAGE) != 0)
        bail_out("no file");
    map(MAP_SHARED, fd);
    close(fd);
}

static void private_file(void) { file(MAP_PRIVATE); }
static void shared_file(void) { file(MAP_SHARED); }
static void drop_file(void)
{
    drop();
    unlink("/tmp/touched");
}

/* ---- sections and regions ---- */

static $DESCRIPTOR(fluid, "FAULT_FLUID");
static $DESCRIPTOR(paged, "FAULT_PAGED");

static void make_region(uint64_t bytes, unsigned flags)
{
    if (sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &region, &start, &length) !=
        SS$_NORMAL)
        bail_out("no region");
}

static void make_fluid(unsigned flags)
{
    make_region(4 * PIECE, flags);
    if (!(sys$crmpsc_gdzro_64(&fluid, 0, 0, 2 * PIECE, &region, 0, 0, SEC$M_SYSGBL | SEC$M_EXPREG,
                              &va, &length) &
          1))
        bail_out("no section");
}

static void fluid_shared(void) { make_fluid(VA$M_SHARED_PTS); }
static void fluid_private(void) { make_fluid(0); }

static void page_file(void)
{
    make_region(4 * PIECE, 0);
    if (!(sys$crmpsc_gpfile_64(&paged, 0, 0, 64 * PAGE, &region, 0, 0,
                               SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
          1))
        bail_out("no section");
}

static void growing(void) { make_region(64 * PAGE, VA$M_EXPAND_ON_ACCVIO); }
static void drop_region(void) { sys$delete_region_64(&region, 0, &va, &length); }

/* An address far down the stack, where no page is present yet. */
static long touch_stack(void)
{
    return touch(((unsigned long)__builtin_frame_address(0) & ~(PAGE - 1)) - 256 * PAGE);
}

/* ---- a signal frame that cannot be written ---- */

static void handler(int sig) { (void)sig; }

/* If there is no memory for the frame of a signal, SIGSEGV ends the process, as on Linux. */
static long signal_on_cold_stack(void)
{
    return raw6(SYS_kill, (unsigned long)getpid(), SIGUSR1, 0, 0, 0, 0);
}

static void cold_stack(void)
{
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    stack_t ss = {(void *)PLACE, 0, PAGES * PAGE};

    untouched();
    sigaltstack(&ss, NULL);
    sigaction(SIGUSR1, &sa, NULL);
}

static void cold_stack_drop(void)
{
    stack_t none = {NULL, SS_DISABLE, 0};

    sigaltstack(&none, NULL);
    signal(SIGUSR1, SIG_DFL);
    drop();
}

#define FREE(name_, prepare_, act_, undo_) \
    {.name = "fault: " name_,              \
     .call = UINT16_MAX,                   \
     .prepare = prepare_,                  \
     .act = act_,                          \
     .undo = undo_,                        \
     .flags = BY_FAULT | NOTHING}
#define FAULT(name_, prepare_, act_, undo_)                                            \
    {                                                                                  \
        .name = "fault: " name_, .call = UINT16_MAX, .prepare = prepare_, .act = act_, \
        .undo = undo_, .flags = BY_FAULT, .right = {                                   \
            {ANY_KIND, -SIGKILL}                                                       \
        }                                                                              \
    }

const struct scenario fault_scenarios[] = {
    FAULT("demand zero", untouched, touch_place, drop),
    FAULT("demand zero, two tables", untouched_wide, touch_two, drop),
    FAULT("shared memory", shared, touch_place, drop),
    FAULT("copy on write", copied, touch_place, drop),
    FREE("what fork shares, read", copied, read_place, drop),
    FAULT("private file, read", private_file, read_place, drop_file),
    FAULT("private file, written", private_file, touch_place, drop_file),
    FAULT("shared file, written", shared_file, touch_place, drop_file),
    FREE("copy of a huge page", huge, touch_place, drop),
    FAULT("huge page that was discarded", huge_discarded, touch_place, drop),
    {.name = "fault: a file's hole, written",
     .call = UINT16_MAX,
     .prepare = hole,
     .act = touch_place,
     .undo = drop_file,
     .flags = BY_FAULT,
     .right = {{OF_FILE, -SIGBUS}, {ANY_KIND, -SIGKILL}}},
    FAULT("stack", NULL, touch_stack, NULL),
    FREE("FLUID section, shared tables", fluid_shared, touch_section, drop_region),
    FAULT("FLUID section, private tables", fluid_private, touch_section, drop_region),
    FAULT("page-file section", page_file, touch_section, drop_region),
    FAULT("a region that grows", growing, touch_region, drop_region),
    {.name = "fault: a handler's frame",
     .call = UINT16_MAX,
     .prepare = cold_stack,
     .act = signal_on_cold_stack,
     .undo = cold_stack_drop,
     .flags = BY_FAULT,
     .right = {{ANY_KIND, -SIGSEGV}}},
    {0},
};
