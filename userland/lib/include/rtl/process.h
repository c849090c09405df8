/*
 * Control of processes. *pidadr is the number of a process, prcnam the name of one in the caller's
 * UIC group; without either it is the caller. The number goes to *pidadr. To act on a process of
 * another UIC takes GROUP or WORLD.
 */
#ifndef RTL_PROCESS_H
#define RTL_PROCESS_H

#include <gen64def.h>
#include <rtl/event.h>
#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends a process at once, without its exit handlers; makes it call sys$exit with a condition value,
 * by an AST. */
int sys$delprc(unsigned int *pidadr, void *prcnam, unsigned int flags);
int sys$forcex(unsigned int *pidadr, void *prcnam, unsigned int code);
/* Stops a process and lets it go on. */
int sys$suspnd(unsigned int *pidadr, void *prcnam, unsigned int flags);
int sys$resume(unsigned int *pidadr, void *prcnam);
/* Names the caller: at most 15 characters, which no other process of its UIC group has. */
int sys$setprn(void *prcnam);
/* Sets the base priority, 0 to 31; without ALTPRI not above what it is. */
int sys$setpri(unsigned int *pidadr, void *prcnam, unsigned int pri, unsigned int *prvpri,
               unsigned int *pol, unsigned int *prvpol);
/* Makes a subprocess, or with a UIC or PRC$M_DETACH a detached process, which runs the image. Files
 * and image are looked for by the new process. quota: bytes PQL$_..., each followed by a longword,
 * up to PQL$_LISTEND. mbxunt: unit of the mailbox that is told of its end. */
int sys$creprc(unsigned int *pidadr, void *image, void *input, void *output, void *error,
               struct _generic_64 *prvadr, void *quota, void *prcnam, unsigned int baspri,
               unsigned int uic, unsigned short mbxunt, unsigned int stsflg, void *itmlst,
               void *node, unsigned int home_rad);
/* A routine in an inner mode: SS$_NOCMKRNL and SS$_NOCMEXEC, whatever privileges the caller has,
 * because user programs have one mode here. */
int sys$cmkrnl(int (*routin)(void), unsigned int *arglst);
int sys$cmkrnl_64(int (*routin_64)(void), unsigned __int64 *arglst_64);
int sys$cmexec(int (*routin)(void), unsigned int *arglst);
int sys$cmexec_64(int (*routin_64)(void), unsigned __int64 *arglst_64);
/* Selects processes: a context for the pidadr of $GETJPI, which then returns one process after the
 * other, up to SS$_NOMOREPROC. An item has its value, or address and length of it, where those of
 * $GETJPI have a buffer, and flags PSCAN$M_... where they have the address of a length. */
int sys$process_scan(unsigned int *pidctx, void *itmlst);
/* Runs a command in a subprocess and, without CLI$M_NOWAIT, waits for its end. If the first word is
 * a program that is found by PATH, it gets the further words; other commands are left to the shell,
 * which reads them from its input if there is none. */
int lib$spawn(const void *command_string, const void *input_file, const void *output_file,
              const unsigned int *flags, const void *process_name, unsigned int *process_id,
              int *completion_status_address, const unsigned char *byte_integer_event_flag_num,
              mega_ast_routine AST_address, unsigned __int64 varying_AST_argument,
              const void *prompt_string, const void *cli, const void *table);

#define sys$process_scan(...) MEGA_UP_TO(2, sys$process_scan, (0), __VA_ARGS__)
#define lib$spawn(...)                                                                            \
    MEGA_PASS(MEGA_SPAWN, lib$spawn, (MEGA_BEHIND_13(__VA_ARGS__)), __VA_ARGS__ __VA_OPT__(, ) 0, \
              0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define MEGA_SPAWN(f, rest, a, b, c, d, e, g, h, i, j, k, l, m, n, ...) \
    (f)(a, b, c, d, e, g, h, i, j, (unsigned __int64)(k), l, m, n MEGA_AND rest)
#define sys$delprc(...) MEGA_UP_TO(3, sys$delprc, (0, 0, 0), __VA_ARGS__)
#define sys$forcex(...) MEGA_UP_TO(3, sys$forcex, (0, 0, 0), __VA_ARGS__)
#define sys$suspnd(...) MEGA_UP_TO(3, sys$suspnd, (0, 0, 0), __VA_ARGS__)
#define sys$resume(...) MEGA_UP_TO(2, sys$resume, (0, 0), __VA_ARGS__)
#define sys$setprn(...) MEGA_UP_TO(1, sys$setprn, (0), __VA_ARGS__)
#define sys$setpri(...) MEGA_UP_TO(6, sys$setpri, (0, 0, 0, 0), __VA_ARGS__)
#define sys$creprc(...) \
    MEGA_UP_TO(15, sys$creprc, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
