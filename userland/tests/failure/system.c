/* Services that return and set properties of the process and the system; mega$info,
 * mega$control. */
#include "failure.h"

#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <megalith/info.h>
#include <megalith/services.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <syidef.h>
#include <tap.h>

#define A(p)   ((unsigned long)(p))
#define DRIVER "FAIL_DRIVER" /* its frames are preallocated */
#define SOFT   "FAIL_SOFT"   /* its frames are promised */

static unsigned answer;
static unsigned long privileges, before;
static ILE3 jpi_warm[] = {{4, JPI$_PID, &answer, 0}, {0, 0, 0, 0}};
static ILE3 jpi_cold[] = {{4, JPI$_PID, (void *)COLD, 0}, {0, 0, 0, 0}};
static ILE3 jpi_total[] = {
    {4, JPI$_GPGCNT, &answer, 0}, {4, JPI$_PPGCNT, &answer, 0}, {0, 0, 0, 0}};
static ILE3 syi_warm[] = {{4, SYI$_GBLSECTIONS, &answer, 0}, {0, 0, 0, 0}};
static ILE3 syi_cold[] = {{4, SYI$_GBLSECTIONS, (void *)COLD, 0}, {0, 0, 0, 0}};
static char room[8192];

static long getjpi(void) { return sys$getjpiw(0, 0, 0, jpi_warm, 0, 0, 0); }
static long getjpi_total(void) { return sys$getjpiw(0, 0, 0, jpi_total, 0, 0, 0); }
static long getjpi_cold(void) { return sys$getjpiw(0, 0, 0, jpi_cold, 0, 0, 0); }
/* A scan, which the failure of one of its steps does not end: the next call goes on. */
static unsigned context;
static void scan_begin(void) { sys$process_scan(&context); }
static long getjpi_scan(void)
{
    answer = 0;
    return sys$getjpiw(EFN$C_ENF, &context, 0, jpi_warm, 0, 0, 0);
}
static bool is_found(long r) { return r == SS$_NORMAL && answer != 0; }
static long getsyi(void) { return sys$getsyiw(0, 0, 0, syi_warm, 0, 0, 0); }
static long getsyi_cold(void) { return sys$getsyiw(0, 0, 0, syi_cold, 0, 0, 0); }
static long setprv(void) { return sys$setprv(1, &privileges, 0, &before); }
static long setprv_cold(void)
{
    privileges = PRV$M_PFNMAP;
    return sys$setprv(0, &privileges, 0, (void *)COLD);
}
static void setprv_back(void)
{
    privileges = *(unsigned long *)(void *)room; /* the previous ones, which were all */
    sys$setprv(1, &privileges, 0, 0);
    privileges = 0;
    cold_drop();
}

static void setprv_prepare(void)
{
    struct mega_process p;

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    *(unsigned long *)(void *)room = p.privileges;
    cold_make();
}

static long info(void) { return mega$info(MEGA_INFO_MEMORY, 0, room, sizeof(room)); }
static long info_cold(void) { return mega$info(MEGA_INFO_MEMORY, 0, (void *)COLD, 4096); }
static long validate(void) { return mega$info(MEGA_INFO_VALIDATE, 0, room, sizeof(room)); }
static bool is_consistent(long r)
{
    const struct mega_validate *m = (const void *)room;

    return r == SS$_NORMAL && m->errors == 0;
}

static long control(unsigned op, uint64_t a, uint64_t b, uint64_t c)
{
    return mega$control(op, a, b, c, 0, 0);
}

static long drain(void) { return control(MEGA_CTL_DRAIN, 0, 0, 0); }
static long set_param(void) { return control(MEGA_CTL_SET_PARAM, A("ZERO_LIST_HI"), 1024, 0); }
static long cost(void) { return control(MEGA_CTL_POOL_COST, 100, 4, A(room)); }
static long lock_stats(void) { return control(MEGA_CTL_LOCK_STATS, 0, 0, 0); }

static long load(unsigned facility)
{
    return control(MEGA_CTL_TRACE, facility, MEGA_TRACE_LOAD, facility == MEGA_TRACE_PCS ? 2 : 0);
}
static void unload(unsigned facility) { control(MEGA_CTL_TRACE, facility, MEGA_TRACE_UNLOAD, 0); }
static long load_spl(void) { return load(MEGA_TRACE_SPL); }
static long load_mtx(void) { return load(MEGA_TRACE_MTX); }
static long load_pcs(void) { return load(MEGA_TRACE_PCS); }
static void unload_spl(void) { unload(MEGA_TRACE_SPL); }
static void unload_mtx(void) { unload(MEGA_TRACE_MTX); }
static void unload_pcs(void) { unload(MEGA_TRACE_PCS); }

static long take(void) { return control(MEGA_CTL_DRIVER, MEGA_DRIVER_TAKE, A(DRIVER), 512); }
static long take_soft(void) { return control(MEGA_CTL_DRIVER, MEGA_DRIVER_TAKE, A(SOFT), 100); }
static void release(void) { control(MEGA_CTL_DRIVER, MEGA_DRIVER_RELEASE, A(DRIVER), 0); }
static void release_soft(void) { control(MEGA_CTL_DRIVER, MEGA_DRIVER_RELEASE, A(SOFT), 0); }

static bool is_taken(const char *name, uint64_t n)
{
    struct mega_driver_unit u;

    return control(MEGA_CTL_DRIVER, MEGA_DRIVER_FILL, A(name), 7) == SS$_NORMAL &&
           control(MEGA_CTL_DRIVER, MEGA_DRIVER_QUERY, A(name), A(&u)) == SS$_NORMAL &&
           u.npages == n;
}

static bool took(long r) { return r == SS$_NORMAL && is_taken(DRIVER, 512); }
static bool took_soft(long r) { return r == SS$_NORMAL && is_taken(SOFT, 100); }

#define SERVICE(name_, call_, act_, ...) {.name = name_, .call = (call_), .act = act_, __VA_ARGS__}
#define IN_COLD                          .prepare = cold_make, .undo = cold_drop

const struct scenario system_scenarios[] = {
    SERVICE("$getjpi", VMS_GETJPI, getjpi, .flags = NOTHING),
    SERVICE("$getjpi, pages", VMS_GETJPI, getjpi_total, .flags = NOTHING),
    SERVICE("$getjpi, untouched output", VMS_GETJPI, getjpi_cold, IN_COLD),
    SERVICE("$getjpi, a scan", VMS_GETJPI, getjpi_scan, .prepare = scan_begin, .effect = is_found),
    SERVICE("$getsyi", VMS_GETSYI, getsyi, .flags = NOTHING),
    SERVICE("$getsyi, untouched output", VMS_GETSYI, getsyi_cold, IN_COLD),
    SERVICE("$setprv", VMS_SETPRV, setprv, .flags = NOTHING),
    SERVICE("$setprv, untouched output", VMS_SETPRV, setprv_cold, .prepare = setprv_prepare,
            .undo = setprv_back),
    SERVICE("mega$info", MEGA_SYS_INFO, info, .flags = NOTHING),
    SERVICE("mega$info, untouched output", MEGA_SYS_INFO, info_cold, IN_COLD),
    SERVICE("mega$info, the self-check", MEGA_SYS_INFO, validate, .effect = is_consistent),
    SERVICE("mega$control, drain", MEGA_SYS_CONTROL, drain, .flags = NOTHING),
    SERVICE("mega$control, a parameter", MEGA_SYS_CONTROL, set_param, .flags = NOTHING),
    SERVICE("mega$control, measuring locks", MEGA_SYS_CONTROL, lock_stats, .flags = NOTHING),
    SERVICE("mega$control, spinlock trace", MEGA_SYS_CONTROL, load_spl, .undo = unload_spl),
    SERVICE("mega$control, mutex trace", MEGA_SYS_CONTROL, load_mtx, .undo = unload_mtx),
    SERVICE("mega$control, PC trace", MEGA_SYS_CONTROL, load_pcs, .undo = unload_pcs),
    SERVICE("mega$control, a driver takes frames", MEGA_SYS_CONTROL, take, .effect = took,
            .undo = release),
    SERVICE("mega$control, a driver takes promised frames", MEGA_SYS_CONTROL, take_soft,
            .effect = took_soft, .undo = release_soft),
    {0},
};

/* Only on a kernel built with TEST=1. */
const struct scenario test_scenarios[] = {
    SERVICE("mega$control, measuring pool", MEGA_SYS_CONTROL, cost),
    {0},
};
