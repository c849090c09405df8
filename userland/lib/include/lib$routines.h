/* The routines of the OpenVMS run-time library that report errors. */
#ifndef LIB$ROUTINES_H
#define LIB$ROUTINES_H

#include <megalith/missing_library.h>
#include <rtl/fao.h>
#include <rtl/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Prints a condition value on standard error, as "%SYSTEM-F-ACCVIO, ...". If its severity is
 * STS$K_SEVERE, the program ends with status EXIT_FAILURE; otherwise returns SS$_NORMAL. */
int lib$signal(unsigned int condition_value, ...);
/* As lib$signal, but the program ends whatever the severity is. */
int lib$stop(unsigned int condition_value, ...) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
