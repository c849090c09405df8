/* Calls of POSIX, which OpenVMS C declares here, and its own translations of file names, which are
   not implemented: file names are those of POSIX. */
#ifndef UNIXLIB_H
#define UNIXLIB_H

#include <megalith/missing.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
MEGA_MISSING(decc$feature_get_index)
MEGA_MISSING(decc$feature_get_value)
MEGA_MISSING(decc$feature_set_value)
MEGA_MISSING(decc$from_vms)
MEGA_MISSING(decc$match_wild)
MEGA_MISSING(decc$set_child_standard_streams)
MEGA_MISSING(decc$set_child_default_dir)
MEGA_MISSING(decc$to_vms)
MEGA_MISSING(decc$translate_vms)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
