/* Texts of condition values, by $GETMSG, and messages that an action routine collects. */
#define __NEW_STARLET 1

#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

static int collect(struct dsc$descriptor_s *message, int *count)
{
    printf("%d: %.*s\n", ++*count, message->dsc$w_length, message->dsc$a_pointer);
    return 0; /* it is not to be written once more */
}

static void show(int condition, int flags)
{
    char text[256];
    $DESCRIPTOR(buffer, text);
    unsigned short length;
    unsigned char out[4];
    int status;

    buffer.dsc$w_length = sizeof(text);
    buffer.dsc$a_pointer = text;
    status = sys$getmsg(condition, &length, &buffer, flags, out);
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status);
    printf("%.*s%s\n", length, text, status == SS$_MSGNOTFND ? " (no such message)" : "");
}

int main(void)
{
    static const int conditions[] = {SS$_NORMAL, SS$_INSFLPGS, SS$_NOSUCHSEC, SS$_NOTINSEC,
                                     LIB$_QUEWASEMP};
    int one[] = {1, SS$_INSFLPGS};
    int several[] = {4, LIB$_INVARG, 0, SS$_NOPRIV, SS$_ABORT};
    int access[] = {5, SS$_ACCVIO, 4, 0x1000, 0x20000, 0x1b};
    int text_only[] = {1 | 1 << 16, SS$_INSFLPGS};
    $DESCRIPTOR(facility, "PAYROLL");
    int count = 0;

    for (unsigned i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
        show(conditions[i], 15);
    show(SS$_INSFLPGS, 1);
    show(SS$_INSFLPGS, 2);
    show(SS$_INSFLPGS, 12);
    show(0x08018012, 15);
    sys$putmsg(one, collect, 0, (unsigned __int64)&count);
    sys$putmsg(several, collect, 0, (unsigned __int64)&count);
    sys$putmsg(access, collect, 0, (unsigned __int64)&count);
    sys$putmsg(text_only, collect, 0, (unsigned __int64)&count);
    sys$putmsg(one, collect, &facility, (unsigned __int64)&count);
    return SS$_NORMAL;
}
