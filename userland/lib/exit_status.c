/*
 * What a program of OpenVMS gives to exit(), or returns from main(), is a condition value.
 * scripts/cc links such programs with --wrap=exit, so that calls of exit, that of the C library
 * behind main() included, come here.
 */
#include "handlers.h"

#include <ssdef.h>

void __real_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) __attribute__((noreturn));

void __wrap_exit(int status)
{
    if (!mega$is_ending()) /* as on OpenVMS, 0 of C is a success */
        mega$end(status ? (unsigned)status : SS$_NORMAL);
    __real_exit(status);
}
