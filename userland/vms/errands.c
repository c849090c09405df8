/*
 * LIB$SPAWN: commands in subprocesses, one after the other and side by side, with their completion
 * status, an event flag, and an AST.
 */
#include <clidef.h>
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

static int done;

static void finished(int *which) { done |= *which; }

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static char *name_of(int status) { return $VMS_STATUS_SUCCESS(status) ? "success" : "failure"; }

int main(void)
{
    $DESCRIPTOR(hello, "echo hello from a subprocess");
    $DESCRIPTOR(fails, "false");
    $DESCRIPTOR(both, "echo one; echo two");
    $DESCRIPTOR(quick, "sleep 0.05");
    $DESCRIPTOR(slow, "sleep 600");
    $DESCRIPTOR(handle, "SLOWCOACH");
    static int first = 1, second = 2;
    unsigned int flags = CLI$M_NOWAIT, pid = 0, wrong = 0x40000000;
    int status = 0, quick_status = 0, slow_status = 0, flag;
    unsigned char efn;

    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    check(lib$spawn(&hello, 0, 0, 0, 0, 0, &status));
    printf("the command ended with a %s\n", name_of(status));
    check(lib$spawn(&fails, 0, 0, 0, 0, 0, &status));
    printf("the next one with a %s\n", name_of(status));
    check(lib$spawn(&both));
    check(lib$get_ef(&flag));
    efn = flag;
    check(lib$spawn(&quick, 0, 0, &flags, 0, &pid, &quick_status, &efn, finished, &first));
    printf("without a wait: %s\n", pid && !quick_status ? "it runs" : "it has ended");
    check(sys$waitfr(flag));
    while (!(done & first))
        ;
    printf("the flag is set, the AST was delivered: a %s\n", name_of(quick_status));
    check(lib$spawn(&slow, 0, 0, &flags, &handle, &pid, &slow_status, &efn, finished, &second));
    check(sys$delprc(0, &handle));
    check(sys$waitfr(flag));
    printf("a subprocess that is deleted: %s\n", slow_status == SS$_ABORT ? "SS$_ABORT" : "?");
    check(lib$free_ef(&flag));
    status = lib$spawn(&hello, 0, 0, &wrong);
    printf("an unknown flag: %s\n", status == LIB$_INVARG ? "LIB$_INVARG" : "accepted");
    return SS$_NORMAL;
}
