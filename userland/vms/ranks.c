/*
 * $SETPRI: base priorities of the caller and of a subprocess, with ALTPRI and without.
 */
#include <descrip.h>
#include <gen64def.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <prcdef.h>
#include <prvdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static unsigned int base(unsigned int *pid)
{
    int code = JPI$_PRIB;
    unsigned int value;

    check(lib$getjpi(&code, pid, 0, &value));
    return value;
}

int main(void)
{
    $DESCRIPTOR(image, "/bin/sleep");
    struct _generic_64 altpri = {.gen64$q_quadword = PRV$M_ALTPRI};
    unsigned int pid, before, none = 0x3FFFFFF;
    int status;

    check(sys$creprc(&pid, &image, 0, 0, 0, 0, 0, 0, 3, 0, 0, PRC$M_HIBER));
    printf("I have %u, the subprocess %u\n", base(0), base(&pid));
    check(sys$setpri(&pid, 0, 8, &before));
    printf("it had %u, and is raised to %u\n", before, base(&pid));
    check(sys$setprv(0, &altpri, 0, 0));
    check(sys$setpri(&pid, 0, 10, &before));
    printf("without ALTPRI it stays at %u\n", base(&pid));
    check(sys$setpri(&pid, 0, 2, &before));
    printf("but can be lowered to %u\n", base(&pid));
    check(sys$setpri(&pid, 0, 8, &before));
    printf("and not raised again: %u\n", base(&pid));
    status = sys$setpri(&none, 0, 4, 0);
    printf("no process: %s\n", status == SS$_NONEXPR ? "SS$_NONEXPR" : "some");
    check(sys$delprc(&pid, 0));
    return SS$_NORMAL;
}
