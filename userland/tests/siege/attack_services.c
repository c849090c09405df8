/* Mailboxes, requests and subprocesses of OpenVMS. The users have TMPMBX. */
#include "siege.h"

#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iodef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <unistd.h>

static char text[60000];

static void routine(__int64 parameter) { (void)parameter; }

/* A mailbox, with a name or without. 0: there is none to be had. */
static unsigned short make(unsigned bufquo)
{
    char name[32];
    struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};
    unsigned short chan = 0;

    d.dsc$w_length = (unsigned short)snprintf(name, sizeof(name), "SIEGE_%d_%lu", (int)getpid(),
                                              siege_draw(1000));
    sys$crembx(0, &chan, sizeof(text), bufquo, 0, 0, siege_draw(2) ? &d : 0, 0, 0);
    return chan;
}

/* Mailboxes, as many as there are, filled with messages that nobody reads. */
void attack_mailboxes(void)
{
    for (;;) {
        unsigned short chan = make(1000 + (unsigned)siege_draw(60000));

        if (!chan) {
            for (unsigned i = 0; i < 8; i++)
                sys$dassgn((unsigned short)(16 * (1 + siege_draw(255))));
            siege_nap_ms(50);
            continue;
        }
        while (sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW | IO$M_NORSWAIT, 0, 0, 0, text,
                       (__int64)siege_draw(2000)) == SS$_NORMAL)
            ;
    }
}

/* Requests, as many as there are, of every kind; cancelled, or left to the end of the process. */
void attack_requests(void)
{
    for (;;) {
        unsigned short chan = make(5000);
        unsigned n = 0;

        while (chan && n < 400) {
            int status = siege_draw(3) == 0 ? sys$qio(EFN$C_ENF, chan, IO$_SETMODE | IO$M_WRTATTN,
                                                      0, 0, 0, routine, 0)
                         : siege_draw(2)
                             ? sys$qio(EFN$C_ENF, chan, IO$_READVBLK, 0, routine, 0, text, 100)
                             : sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NORSWAIT, 0, 0, 0,
                                       text, (__int64)siege_draw(100));

            n++;
            if (status == SS$_INSFMEM)
                break;
        }
        if (siege_draw(2))
            sys$cancel(chan);
        siege_nap_ms(20);
        sys$dassgn(chan);
        if (siege_draw(8) == 0)
            return;
    }
}

/* Subprocesses, which tell a mailbox of their ends. */
void attack_subprocesses(void)
{
    static $DESCRIPTOR(program, "/bin/true");
    static $DESCRIPTOR(nothing, "/bin/none");
    unsigned short chan = make(3000);
    unsigned unit = 0;
    int item = DVI$_UNIT;

    lib$getdvi(&item, &chan, 0, &unit);
    for (;;) {
        unsigned pid;

        if (sys$creprc(&pid, siege_draw(4) ? &program : &nothing, 0, 0, 0, 0, 0, 0, 4, 0,
                       (unsigned short)unit) != SS$_NORMAL)
            siege_nap_ms(50);
        else if (siege_draw(4) == 0)
            sys$delprc(&pid);
    }
}
