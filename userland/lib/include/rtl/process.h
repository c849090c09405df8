/*
 * Control of processes. *pidadr is the number of a process, prcnam the name of one in the caller's
 * UIC group; without either it is the caller. The number goes to *pidadr. To act on a process of
 * another UIC takes GROUP or WORLD.
 */
#ifndef RTL_PROCESS_H
#define RTL_PROCESS_H

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

#define sys$delprc(...) MEGA_PROCESS_3(sys$delprc, ##__VA_ARGS__, 0, 0, 0)
#define sys$forcex(...) MEGA_PROCESS_3(sys$forcex, ##__VA_ARGS__, 0, 0, 0)
#define sys$suspnd(...) MEGA_PROCESS_3(sys$suspnd, ##__VA_ARGS__, 0, 0, 0)
#define sys$resume(...) MEGA_PROCESS_2(sys$resume, ##__VA_ARGS__, 0, 0)
#define sys$setprn(...) MEGA_PROCESS_1(sys$setprn, ##__VA_ARGS__, 0)
/* These can be called without any argument. */
#define MEGA_PROCESS_1(f, a, ...)       (f)(a)
#define MEGA_PROCESS_2(f, a, b, ...)    (f)(a, b)
#define MEGA_PROCESS_3(f, a, b, c, ...) (f)(a, b, c)

#ifdef __cplusplus
}
#endif

#endif
