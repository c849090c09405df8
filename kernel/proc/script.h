/* The first line of a script, which names its interpreter. The code depends on nothing of the
 * machine, so host tests link it. */
#ifndef KERNEL_PROC_SCRIPT_H
#define KERNEL_PROC_SCRIPT_H

#include "kernel/base/types.h"

#define SCRIPT_LINE_MAX 256 /* bytes of a file that are looked at, as on Linux */

/* Parse the first n bytes of a file, at most SCRIPT_LINE_MAX, which are in a buffer of that size
 * and are changed: "#!", blanks, the interpreter, and perhaps blanks and one argument, which may
 * have blanks in it. 1 with *interp and *argument (NULL: there is none) pointing into the buffer;
 * 0: the file is no script; -ENOEXEC: it has no interpreter, or the name is cut off. */
int script_parse(char *line, size_t n, const char **interp, const char **argument);

#endif
