/* Event flags, ASTs, timers, hibernation: stubs of the services, and the routines LIB$ on flags. */
#include <efndef.h>
#include <libdef.h>
#include <libwaitdef.h>
#include <math.h>
#include <pthread.h>
#include <ssdef.h>
#include <string.h>
#include <time.h>

#include "service.h"

#undef sys$setimr
#undef sys$dclast
#undef sys$schdwk
#undef sys$ascefc
#undef lib$wait

#define WAIT_MAX 100000 /* seconds, of LIB$WAIT: RTL Library manual */

/* ---- services ---- */

int sys$setef(unsigned int efn) { return service(VMS_SETEF, efn, 0, 0, 0, 0, 0); }
int sys$clref(unsigned int efn) { return service(VMS_CLREF, efn, 0, 0, 0, 0, 0); }

int sys$readef(unsigned int efn, void *state)
{
    return service(VMS_READEF, efn, (quad)state, 0, 0, 0, 0);
}

int sys$waitfr(unsigned int efn) { return service(VMS_WAITFR, efn, 0, 0, 0, 0, 0); }

int sys$wflor(unsigned int efn, unsigned int mask)
{
    return service(VMS_WFLOR, efn, mask, 0, 0, 0, 0);
}

int sys$wfland(unsigned int efn, unsigned int mask)
{
    return service(VMS_WFLAND, efn, mask, 0, 0, 0, 0);
}

int sys$synch(unsigned int efn, struct _iosb *iosb)
{
    return service(VMS_SYNCH, efn, (quad)iosb, 0, 0, 0, 0);
}

int sys$ascefc(unsigned int efn, void *name, char prot, char perm)
{
    return service(VMS_ASCEFC, efn, (quad)name, (quad)prot, (quad)perm, 0, 0);
}

int sys$dacefc(unsigned int efn) { return service(VMS_DACEFC, efn, 0, 0, 0, 0, 0); }
int sys$dlcefc(void *name) { return service(VMS_DLCEFC, (quad)name, 0, 0, 0, 0, 0); }

int sys$dclast(mega_ast_routine astadr, unsigned __int64 astprm, unsigned int acmode)
{
    return service(VMS_DCLAST, ast_routine(astadr), astprm, acmode, 0, 0, 0);
}

int sys$setast(char enbflg) { return service(VMS_SETAST, (quad)enbflg, 0, 0, 0, 0, 0); }
int sys$clrast(void) { return service(VMS_CLRAST, 0, 0, 0, 0, 0, 0); }

int sys$setimr(unsigned int efn, const void *daytim, mega_ast_routine astadr,
               unsigned __int64 reqidt, unsigned int flags)
{
    return service(VMS_SETIMR, efn, (quad)daytim, ast_routine(astadr), reqidt, flags, 0);
}

int sys$cantim(unsigned __int64 reqidt, unsigned int acmode)
{
    return service(VMS_CANTIM, reqidt, acmode, 0, 0, 0, 0);
}

int sys$schdwk(unsigned int *pidadr, void *prcnam, const void *daytim, const void *reptim)
{
    return service(VMS_SCHDWK, (quad)pidadr, (quad)prcnam, (quad)daytim, (quad)reptim, 0, 0);
}

int sys$canwak(unsigned int *pidadr, void *prcnam)
{
    return service(VMS_CANWAK, (quad)pidadr, (quad)prcnam, 0, 0, 0, 0);
}

int sys$hiber(void) { return service(VMS_HIBER, 0, 0, 0, 0, 0, 0); }

int sys$wake(unsigned int *pidadr, void *prcnam)
{
    return service(VMS_WAKE, (quad)pidadr, (quad)prcnam, 0, 0, 0, 0);
}

/* ---- LIB$ ---- */

/* Flags that may be had: as on OpenVMS, 0 and 24 to 31 belong to the system. */
#define IS_OURS(n) (((n) >= 1 && (n) <= 23) || ((n) >= 32 && (n) <= 63))
#define FREE_FIRST 0xFFFFFFFF00000000ul /* 32 to 63 */

/* A bit for each flag that is free; changed by one atomic operation, so in AST routines too. */
static unsigned long free_flags = FREE_FIRST;

int lib$get_ef(int *event_flag_number)
{
    unsigned long all = __atomic_load_n(&free_flags, __ATOMIC_RELAXED);
    int n;

    do {
        if (!all) {
            *event_flag_number = -1;
            return LIB$_INSEF;
        }
        n = 63 - __builtin_clzl(all);
    } while (!__atomic_compare_exchange_n(&free_flags, &all, all & ~(1ul << n), 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    *event_flag_number = n;
    return SS$_NORMAL;
}

int lib$free_ef(const int *event_flag_number)
{
    int n = *event_flag_number;

    if (!IS_OURS(n))
        return LIB$_EF_RESSYS;
    return __atomic_fetch_or(&free_flags, 1ul << n, __ATOMIC_SEQ_CST) & 1ul << n ? LIB$_EF_ALRFRE
                                                                                 : SS$_NORMAL;
}

int lib$reserve_ef(const int *event_flag_number)
{
    int n = *event_flag_number;

    if (!IS_OURS(n))
        return LIB$_EF_RESSYS;
    return __atomic_fetch_and(&free_flags, ~(1ul << n), __ATOMIC_SEQ_CST) & 1ul << n
               ? SS$_NORMAL
               : LIB$_EF_ALRRES;
}

/* The number at an address, a double if the type says so. Not a number: an unknown type. */
static double seconds_at(const float *at, const unsigned int *type)
{
    double t;

    switch (type ? *type : LIB$K_VAX_F) {
    case LIB$K_VAX_F:
    case LIB$K_IEEE_S:
        return *at;
    case LIB$K_VAX_D:
    case LIB$K_VAX_G:
    case LIB$K_IEEE_T:
        memcpy(&t, at, sizeof(t));
        return t;
    default:
        return NAN;
    }
}

/* A sleep that ASTs and signals interrupt goes on until its time. */
int lib$wait(const float *seconds, const unsigned int *flags, const unsigned int *float_type)
{
    struct timespec until;
    double whole = seconds_at(seconds, float_type);

    if (!(whole >= 0 && whole <= WAIT_MAX) || (flags && *flags & ~(unsigned)LIB$K_NOWAKE))
        return LIB$_INVARG;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)((whole - (double)(time_t)whole) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) != 0)
        ;
    return SS$_NORMAL;
}
