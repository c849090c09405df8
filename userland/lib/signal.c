/* Reports condition values to the user, and ends the program for severe ones. */
#include <condition.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stsdef.h>

static void tell(unsigned int condition_value)
{
    static const char severity[] = "WSEIF???";
    const char *name = mega$condition_name((int)condition_value);

    fflush(stdout);
    fprintf(stderr, "%%SYSTEM-%c-%s, %s\n", severity[$VMS_STATUS_SEVERITY(condition_value)],
            name ? name + strlen("SS$_") : "NOMSG", mega$condition_text((int)condition_value));
}

int lib$signal(unsigned int condition_value, ...)
{
    tell(condition_value);
    if ($VMS_STATUS_SEVERITY(condition_value) == STS$K_SEVERE)
        exit(EXIT_FAILURE);
    return SS$_NORMAL;
}

int lib$stop(unsigned int condition_value, ...)
{
    tell(condition_value);
    exit(EXIT_FAILURE);
}
