/*
 * $SETPRI: base priorities of the caller and of a subprocess, with ALTPRI and without. The
 * subprocess is to run the same image, but hibernates before that begins.
 */
#include <descrip.h>
#include <efndef.h>
#include <gen64def.h>
#include <iledef.h>
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
    char path[256];
    unsigned short length;
    ILE3 items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};
    struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, path};
    struct _generic_64 altpri = {.gen64$q_quadword = PRV$M_ALTPRI};
    unsigned int pid, before, none = 0x3FFFFFF;
    int status;

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    image.dsc$w_length = length;
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
