/*
**  The ways in which a program ends, and what the command interpreter learns of each.
*/
#include <lib$routines>
#include <libdef>
#include <ssdef>
#include <starlet>
#include <stdio>
#include <stdlib>
#include <string>
#include <stsdef>

static int status, no = 0, yes = 1;

static void handler(int *reason, int *twice)
{
    printf("exit handler: status %08X, %d\n", *reason, *twice);
    if (*twice)
        exit(SS$_NORMAL); /* the other handlers are called before the program ends */
}

static struct {
    void *link;
    void (*routine)();
    int count;
    int *reason;
    int *argument;
} first = {0, handler, 2, &status, &no}, second = {0, handler, 2, &status, &yes};

main(argc, argv) int argc;
char *argv[];
{
    char *how = argc > 1 ? argv[1] : "";

    printf("%s:\n", how);
    if (!strcmp(how, "normal"))
        return SS$_NORMAL;
    if (!strcmp(how, "zero"))
        return 0;
    if (!strcmp(how, "information"))
        return SS$_NOTINSEC;
    if (!strcmp(how, "warning"))
        return SS$_NOSUCHSEC;
    if (!strcmp(how, "error"))
        exit(SS$_INSFLPGS & ~STS$M_SEVERITY | STS$K_ERROR);
    if (!strcmp(how, "severe"))
        return SS$_INSFLPGS;
    if (!strcmp(how, "library"))
        sys$exit(LIB$_INVARG);
    if (!strcmp(how, "silent"))
        return SS$_INSFLPGS | STS$M_INHIB_MSG;
    if (!strcmp(how, "failure"))
        exit(EXIT_FAILURE);
    if (!strcmp(how, "unknown"))
        return 0x08018012;
    if (!strcmp(how, "signal"))
        lib$signal(SS$_INSFLPGS);
    if (!strcmp(how, "handlers")) {
        sys$dclexh(&first);
        sys$dclexh(&second);
        sys$exit(SS$_NOPRIV);
    }
    return SS$_ABORT;
}
