/* Logical names in the shell. Not built into the host version of the shell that tests use. */
#ifndef SH_LOGICAL_H
#define SH_LOGICAL_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the command's name in its word, because qualifiers may follow "define" and
 * "deassign" without a blank. */
size_t logical_verb(const char *word);
int do_define(int argc, char **argv);
int do_deassign(int argc, char **argv);
/* Called when a program that the shell waited for has ended: deletes the process's user-mode names.
 */
void logical_program_ended(void);

#endif
