/* Parsing of commands by definitions of DCL: not implemented. */
#ifndef CLI$ROUTINES_H
#define CLI$ROUTINES_H

#include <megalith/missing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
MEGA_MISSING(cli$dcl_parse)
MEGA_MISSING(cli$dispatch)
MEGA_MISSING(cli$get_value)
MEGA_MISSING(cli$present)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
