/*
 * Conditions and their handlers. A handler belongs to the procedure that established it, for as
 * long as that runs, in its thread. A condition that is signalled is given to the handlers of the
 * procedures that are running, from the innermost on, until one returns SS$_CONTINUE (any odd
 * value): then the signal returns. After SS$_RESIGNAL (any even value) the next one is called. A
 * condition that no handler wants prints its message; a severe one then ends the program, with exit
 * status 4. The exit status is 1 after a warning, 2 after an error, if lib$stop ends it.
 *
 * Once a handler was established, faults are signalled: SS$_ACCVIO, SS$_INTDIV and the like.
 * docs/services.md lists the differences from OpenVMS.
 */
#ifndef RTL_HANDLER_H
#define RTL_HANDLER_H

#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

struct chf$signal_array;
struct chf$mech_array;

/* Signals a condition: its value, for those that are not of the system the number of its
 * parameters and these, then maybe more conditions. Returns SS$_NORMAL if a handler continues, or
 * if there is none and it is not severe. */
int lib$signal(unsigned int condition_value, ...);
/* As lib$signal with severity severe; it does not return. */
int lib$stop(unsigned int condition_value, ...) __attribute__((__noreturn__));

/* Makes a handler that of the procedure that calls this, and returns the one it had, or 0. */
int (*lib$establish(int (*new_handler)()))();
/* Takes the handler of the procedure that calls this away, and returns it. */
int (*lib$revert(void))();

/* Returns 0, or which of the further values, from 1 on, is the same condition as the first,
 * whatever the severity, and, if the first has not the bit STS$M_FAC_SP, whatever the facility. All
 * are longwords by reference; an address of 0 is passed over. */
int lib$match_cond(const void *condition_value, ...);

/* To be called by a handler: when that has returned, all procedures are left up to the one in which
 * the program goes on, whose handlers are told SS$_UNWIND. *depadr is how many frames that one lies
 * above the one that signalled; if depadr is 0 it is the caller of the one that established the
 * handler. It sees the value of chf$q_mch_savr0 as the result of its call. newpc, unless 0, is
 * where it goes on instead. */
int sys$unwind(const void *depadr, void *newpc);
/* A handler, or to be called by one: the procedure that established it returns the condition value
 * to its caller. */
int lib$sig_to_ret(void *signal_args, void *mechanism_args);

/* What the macros below call. */
int mega$signal(int stop, void *frame, int count, ...);
int (*mega$establish(int (*new_handler)(), void *frame, void *unused))();
int mega$match_cond(int count, ...);

/* The number of arguments, at most 32; more are refused. */
#define MEGA_COUNT(...)                                                                          \
    MEGA_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, \
                15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)                            \
    MEGA_TOO_MANY(MEGA_BEHIND_15(MEGA_BEHIND_15(MEGA_BEHIND_2(__VA_ARGS__))))
#define MEGA_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, \
                    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, n, ...)                 \
    n
#define MEGA_TOO_MANY(...) __VA_OPT__(+mega$too_many_arguments)
extern const int mega$too_many_arguments __attribute__((unavailable("at most 32")));

/* How many arguments a call has can only be known where it is compiled. */
#define lib$signal(...) mega$signal(0, __builtin_dwarf_cfa(), MEGA_COUNT(__VA_ARGS__), __VA_ARGS__)
#define lib$stop(...)                                                             \
    (mega$signal(1, __builtin_dwarf_cfa(), MEGA_COUNT(__VA_ARGS__), __VA_ARGS__), \
     __builtin_unreachable())
/* A function that calls alloca is not made a part of its caller. */
#define lib$establish(handler) \
    mega$establish((handler), __builtin_dwarf_cfa(), __builtin_alloca(16))
#define lib$revert()        mega$establish(0, __builtin_dwarf_cfa(), __builtin_alloca(16))
#define lib$match_cond(...) mega$match_cond(MEGA_COUNT(__VA_ARGS__), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
