/* Attacks by services of OpenVMS that complete later: mailboxes, subprocesses, timers, ASTs. */
#define _GNU_SOURCE
#include "siege.h"

#include <descrip.h>
#include <efndef.h>
#include <iodef.h>
#include <prcdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNITS      4096u
#define UNIT_GUESS 200u /* most mailboxes have a low number */
#define STREAM     65535u

static char data[STREAM];
static __int64 soon = -1, often = -100000; /* units of 100 ns from now */

static void again(__int64 parameter) { sys$setimr(EFN$C_ENF, &soon, again, parameter, 0); }

/* As many timers as there may be, which are set again at once, wake-ups of oneself, and flags that
 * all have in common. */
void attack_events(void)
{
    struct dsc$descriptor_s name = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "SIEGE"};

    sys$schdwk(NULL, NULL, &soon, &often);
    sys$ascefc(64, &name, 0, 0);
    for (;;) {
        for (unsigned n = 0; n < 300; n++) {
            sys$setimr(EFN$C_ENF, &soon, again, n, 0);
            sys$dclast(again, n, 0);
        }
        sys$setef(64 + (unsigned)siege_draw(32));
        if (siege_draw(2))
            sys$hiber();
        else
            sys$clref(64 + (unsigned)siege_draw(32));
        siege_nap_ms(20);
    }
}

static void noted(__int64 parameter) { (void)parameter; }

/* A request of some kind; 0: none was made. */
static unsigned ask(unsigned short chan)
{
    static const unsigned reads[] = {0, IO$M_NOW, IO$M_STREAM, IO$M_STREAM | IO$M_NOW,
                                     IO$M_WRITERCHECK};
    static const unsigned writes[] = {0, IO$M_NOW, IO$M_NORSWAIT, IO$M_READERCHECK | IO$M_NORSWAIT,
                                      IO$M_NOW | IO$M_NORSWAIT};
    static const unsigned modes[] = {IO$M_READATTN, IO$M_WRTATTN, IO$M_READERWAIT, IO$M_WRITERWAIT,
                                     IO$M_MB_ROOM_NOTIFY};

    switch (siege_draw(4)) {
    case 0:
        return (unsigned)sys$qio(EFN$C_ENF, chan, IO$_READVBLK | reads[siege_draw(5)], 0, 0, 0,
                                 data, siege_draw(STREAM));
    case 1:
        return (unsigned)sys$qio(EFN$C_ENF, chan, IO$_SETMODE | modes[siege_draw(5)], 0, 0, 0,
                                 noted, 0);
    default:
        return (unsigned)sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | writes[siege_draw(5)], 0, 0, 0,
                                 data, siege_draw(64));
    }
}

/* Mailboxes, those of others included, filled with messages and requests. */
void attack_mailboxes(void)
{
    unsigned short chan;
    char name[16];

    for (unsigned n = 0;; n++) {
        struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};
        unsigned unit = 1 + (unsigned)siege_draw(n % 2 ? UNIT_GUESS : UNITS);

        if (!(sys$crembx(0, &chan, 0, (unsigned)siege_draw(65536), 0, 0, 0, 0, 0) & 1))
            siege_nap_ms(20);
        d.dsc$w_length = (unsigned short)snprintf(name, sizeof(name), "MBA%u:", unit);
        if (!(sys$assign(&d, &chan, 0, 0, 0) & 1))
            chan = (unsigned short)(16 * (1 + siege_draw(255)));
        for (unsigned k = 0; k < 100 && (ask(chan) & 1); k++)
            ;
        if (siege_draw(3) == 0)
            sys$dassgn((unsigned)(16 * (1 + siege_draw(255))));
        siege_nap_ms(2);
    }
}

/* Subprocesses and detached processes, that run, wait for a wake-up, or cannot begin; the mailbox
 * that is told of their end is anybody's. */
void attack_subprocesses(void)
{
    static const char *const images[] = {"/bin/true", "/bin/sh", "/bin/none"};
    char name[16];

    for (;;) {
        const char *image = images[siege_draw(3)];
        struct dsc$descriptor_s i = {(unsigned short)strlen(image), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)image};
        struct dsc$descriptor_s p = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};
        unsigned flags = siege_draw(2) ? PRC$M_DETACH : 0, pid = 0;

        p.dsc$w_length = (unsigned short)snprintf(name, sizeof(name), "S%u",
                                                  (unsigned)siege_draw(10000));
        flags |= siege_draw(4) ? 0 : PRC$M_HIBER;
        if (!(sys$creprc(&pid, &i, 0, 0, 0, 0, 0, &p, (unsigned)siege_draw(16), 0,
                         (unsigned short)siege_draw(UNIT_GUESS), flags) &
              1))
            siege_nap_ms(100);
        if (siege_draw(3) == 0)
            sys$delprc(&pid, NULL);
        siege_nap_ms(20);
    }
}
