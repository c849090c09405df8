/* Logical names in the shell: on Megalith only, not where the shell is tested on the host. */
#ifndef SH_LOGICAL_H
#define SH_LOGICAL_H

#include <stdbool.h>
#include <stddef.h>

/* Length of a command's name in its word: "define" and "deassign" may have qualifiers glued to
 * them.
 */
size_t logical_verb(const char *word);
int do_define(int argc, char **argv);
int do_deassign(int argc, char **argv);
/* A program that the shell waited for has ended: so do the user-mode names of the process. */
void logical_program_ended(void);

#endif
