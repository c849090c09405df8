/* The formatter of $FAO, for the library's files. */
#ifndef FAO_H
#define FAO_H

#include <stddef.h>
#include <stdint.h>

/* Where parameters come from: the one of this number, counted from 0. */
typedef int64_t mega$fao_source(void *of, size_t number);

/* Writes at most size characters to out, unless that is NULL; *length gets the number of all.
 * Returns SS$_NORMAL or SS$_BADPARAM. */
int mega$fao(const char *control, size_t control_length, char *out, size_t size, size_t *length,
             mega$fao_source *source, void *of);

#endif
