/*
**  $SETPRV: privileges are enabled for a moment and disabled again. Of a mask with
**  privileges that are not authorised, the others are enabled.
*/
#define __NEW_STARLET 1

#include <descrip.h>
#include <lib$routines.h>
#include <prvdef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

static $DESCRIPTOR(section, "NOT_THERE");

static void show(char *when)
{
    PRVDEF mask;
    int status;

    status = sys$setprv(0, 0, 0, &mask);
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
    printf("%s: SYSGBL %d, PRMGBL %d, SYSPRV %d, DETACH %d\n", when, mask.prv$v_sysgbl,
           mask.prv$v_prmgbl, mask.prv$v_sysprv, mask.prv$v_detach);
}

int main(void)
{
    PRVDEF wanted, previous;
    int status;

    show("At first");
    memset(&wanted, 0, sizeof wanted);
    wanted.prv$v_sysgbl = 1;
    wanted.prv$v_prmgbl = 1;
    wanted.prv$v_sysprv = 1;
    status = sys$setprv(1, &wanted, 0, &previous);
    printf("Three privileges: %s\n", status == SS$_NORMAL       ? "SS$_NORMAL"
                                     : status == SS$_NOTALLPRIV ? "SS$_NOTALLPRIV"
                                                                : "another status");
    printf("It is a success: %s\n", $VMS_STATUS_SUCCESS(status) ? "yes" : "no");
    show("Enabled");
    status = sys$dgblsc(SEC$M_SYSGBL, &section, 0);
    printf("Deleting a section that is not there: %s\n",
           status == SS$_NOSUCHSEC                            ? "no such section"
           : status == SS$_NOPRMGBL || status == SS$_NOSYSGBL ? "no privilege"
                                                              : "another status");

    status = sys$setprv(0, &wanted, 0, 0);
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
    show("Disabled");
    status = sys$setprv(1, &previous, 1, 0);
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
    show("As before");
    return SS$_NORMAL;
}
