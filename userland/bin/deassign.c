/*
 * deassign: deletes logical names, by default in the table of the job, which a shell and what it
 * starts have in common: a name in the table of a process would end with this program. The simple
 * shell has the command built in, where the table of the shell's process is the default.
 */
#include <megalith/logical_commands.h>

int main(int argc, char **argv)
{
    argv[0] = "deassign"; /* a path has slashes that are no qualifiers */
    return mega$deassign(argc, argv, "LNM$JOB");
}
