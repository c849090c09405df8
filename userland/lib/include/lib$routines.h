/* Of the run-time library's routines, those that say that something went wrong. */
#ifndef LIB$ROUTINES_H
#define LIB$ROUTINES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Print a condition value on the standard error output, as "%SYSTEM-F-ACCVIO, ...". With severity
 * STS$K_SEVERE the program ends, its status is EXIT_FAILURE; otherwise the value is SS$_NORMAL. */
int lib$signal(unsigned int condition_value, ...);
/* The same, and the program always ends. */
int lib$stop(unsigned int condition_value, ...) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
