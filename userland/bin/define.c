/*
 * define: defines a logical name, by default in the table of the job, which a shell and what it
 * starts have in common: a name in the table of a process would end with this program. The simple
 * shell has the command built in, where the table of the shell's process is the default.
 */
#include <megalith/logical_commands.h>

int main(int argc, char **argv)
{
    bool user_mode = false;

    argv[0] = "define"; /* a path has slashes that are no qualifiers */
    return mega$define(argc, argv, "LNM$JOB", &user_mode);
}
