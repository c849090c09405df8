/* Event flags, ASTs, timers, hibernation, and handlers that run at the end of a program. */
#ifndef RTL_EVENT_H
#define RTL_EVENT_H

#include <ints.h>
#include <megalith/iosb.h>
#include <rtl/optional.h>

/* A routine whose arguments the prototype does not know: an AST routine, an exit handler. */
#ifdef __cplusplus
typedef void (*mega_ast_routine)(...);
extern "C" {
#else
typedef void (*mega_ast_routine)();
#endif

/* ---- event flags: 0 to 63 are the process's own, 64 to 127 those of common clusters ---- */

/* SS$_WASSET or SS$_WASCLR: what the flag was. */
int sys$setef(unsigned int efn);
int sys$clref(unsigned int efn);
/* The 32 flags of the cluster that efn is in. */
int sys$readef(unsigned int efn, void *state);
int sys$waitfr(unsigned int efn);
int sys$wflor(unsigned int efn, unsigned int mask);
int sys$wfland(unsigned int efn, unsigned int mask);
/* Waits until the status block has been written. */
int sys$synch(unsigned int efn, struct _iosb *iosb);

/* A cluster of a name that the processes of the UIC group share. */
int sys$ascefc(unsigned int efn, void *name, char prot, char perm);
int sys$dacefc(unsigned int efn);
int sys$dlcefc(void *name);

/* One of the flags that no other part of the program uses: LIB$_INSEF, and -1, if there is none.
 * Flags 32 to 63 are free at first, 1 to 23 once they are freed. */
int lib$get_ef(int *event_flag_number);
int lib$free_ef(const int *event_flag_number);
int lib$reserve_ef(const int *event_flag_number);

/* ---- ASTs ---- */

int sys$dclast(mega_ast_routine astadr, unsigned __int64 astprm, unsigned int acmode);
int sys$setast(char enbflg);
/* For a program that leaves an AST routine by longjmp: the next AST may come. */
int sys$clrast(void);

/* ---- timers: times are quadwords in units of 100 ns, negative ones from now on ---- */

int sys$setimr(unsigned int efn, const void *daytim, mega_ast_routine astadr,
               unsigned __int64 reqidt, unsigned int flags);
int sys$cantim(unsigned __int64 reqidt, unsigned int acmode);
int sys$schdwk(unsigned int *pidadr, void *prcnam, const void *daytim, const void *reptim);
int sys$canwak(unsigned int *pidadr, void *prcnam);
int sys$hiber(void);
int sys$wake(unsigned int *pidadr, void *prcnam);
/* Waits for so many seconds, at most 100,000; ASTs are delivered meanwhile. flags and float_type
 * are constants of <libwaitdef.h>. LIB$_INVARG. */
int lib$wait(const float *seconds, const unsigned int *flags, const unsigned int *float_type);

/* ---- the end of a program ---- */

/* Ends the program with a condition value: the shell sees 0 for success and information. */
int sys$exit(unsigned int code) __attribute__((__noreturn__));
/*
 * Adds a handler, which is called when the program ends by sys$exit, exit, or a return from main;
 * those added last are called first. The block has, in fields of their natural sizes: a pointer
 * that belongs to the library, the address of the handler, a longword whose low byte is the number
 * of arguments, the address of a longword for the condition value, and further arguments. The
 * handler gets the fields from that address on.
 */
int sys$dclexh(void *desblk);
/* Removes one, or all (0). SS$_NOHANDLER: there is no such handler. */
int sys$canexh(void *desblk);

#define sys$setimr(...) MEGA_UP_TO(5, sys$setimr, (0, 0, 0), __VA_ARGS__)
#define sys$dclast(...) MEGA_UP_TO(3, sys$dclast, (0, 0), __VA_ARGS__)
#define sys$schdwk(...) MEGA_UP_TO(4, sys$schdwk, (0), __VA_ARGS__)
#define sys$ascefc(...) MEGA_UP_TO(4, sys$ascefc, (0, 0), __VA_ARGS__)
#define lib$wait(...)   MEGA_UP_TO(3, lib$wait, (0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
