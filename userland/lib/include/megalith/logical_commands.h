/*
 * define and deassign: logical names. As with DCL, names are defined in supervisor mode by default.
 *
 *     define [/PROCESS | /JOB | /GROUP | /SYSTEM | /TABLE=name]
 *            [/USER_MODE | /SUPERVISOR_MODE | /EXECUTIVE_MODE]
 *            [/NAME_ATTRIBUTES=CONFINE,NO_ALIAS] [/TRANSLATION_ATTRIBUTES=CONCEALED,TERMINAL]
 *            name string[,string...]
 *     deassign [table and mode as above] name | /ALL
 *
 * Attributes may be enclosed in parentheses, which then must be quoted, because shells have their
 * own use for parentheses.
 */
#ifndef MEGALITH_LOGICAL_COMMANDS_H
#define MEGALITH_LOGICAL_COMMANDS_H

#include <stdbool.h>

/*
 * Both take the words of the command, which they modify; argv[0] may have qualifiers behind the
 * verb. table: the one that is meant where none is named. "LNM$PROCESS" says that the caller is the
 * process whose names they are, as a shell is; with another one the process's own table is refused,
 * because it would end with the caller. They return the exit status: 0, or 1 after a message.
 *
 * Sets *user_mode when a name of user mode has been defined, and leaves it alone otherwise.
 */
int mega$define(int argc, char **argv, const char *table, bool *user_mode);
int mega$deassign(int argc, char **argv, const char *table);

#endif
