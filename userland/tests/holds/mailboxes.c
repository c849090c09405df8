/* Mailboxes with many messages, requests, channels and writers that wait; many mailboxes. */
#include "holds.h"

#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iodef.h>
#include <lib$routines.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <unistd.h>

static char text[65536];
static struct dsc$descriptor_s name = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};

static void routine(__int64 parameter) { (void)parameter; }

static unsigned short make(unsigned bufquo)
{
    unsigned short chan = 0;

    need(sys$crembx(0, &chan, 65535, bufquo, 0, 0, 0, 0, 0) & 1);
    return chan;
}

static void name_unit(unsigned short chan)
{
    static char device[16];
    int item = DVI$_UNIT;
    unsigned unit = 0;

    lib$getdvi(&item, &chan, 0, &unit);
    name.dsc$a_pointer = device;
    name.dsc$w_length = (unsigned short)snprintf(device, sizeof(device), "MBA%u:", unit);
}

static int put(unsigned short chan, unsigned modifiers, unsigned length)
{
    return sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | modifiers, 0, 0, 0, text, length);
}

/* Many messages, read as a stream that takes all of them, cancelled, and dropped with the last
 * channel. */
static void messages(unsigned n)
{
    unsigned short chan = make(4 * n);

    for (unsigned i = 0; i < n; i++)
        need(put(chan, IO$M_NOW | IO$M_NORSWAIT, i % 4 + 1) & 1);
    need(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_STREAM, 0, 0, 0, text, sizeof(text)) & 1);
    for (unsigned i = 0; i < n / 2; i++)
        put(chan, IO$M_NORSWAIT, 2);
    need(sys$cancel(chan) & 1);
    while (put(chan, IO$M_NOW | IO$M_NORSWAIT, 2) & 1)
        ;
    need(sys$dassgn(chan) & 1);
}

/* Many reads that wait, and requests for attention, all served, cancelled, or left to the end. */
static void many_requests(unsigned i, void *arg)
{
    unsigned short chan = make(65535);
    unsigned n = *(unsigned *)arg;

    for (unsigned k = 0; k < n; k++) {
        if (sys$qio(EFN$C_ENF, chan, IO$_READVBLK | IO$M_WRITERCHECK, 0, k % 2 ? routine : 0, 0,
                    text, 1) != SS$_NORMAL ||
            sys$qio(EFN$C_ENF, chan, IO$_SETMODE | IO$M_WRTATTN, 0, 0, 0, routine, k) != SS$_NORMAL)
            break;
    }
    switch (i % 3) {
    case 0:
        for (unsigned k = 0; k < n + 2; k++)
            put(chan, IO$M_NOW | IO$M_NORSWAIT, 1);
        break;
    case 1:
        need(sys$cancel(chan) & 1);
        break;
    }
}

static void requests(unsigned n)
{
    crowd_start(3, many_requests, &n);
    crowd_wait(3);
}

/* Many writers wait for room; then the mailbox is emptied, and the last ones are killed. */
static void wait_to_write(unsigned i, void *arg)
{
    unsigned short chan;

    (void)i;
    (void)arg;
    need(sys$assign(&name, &chan, 0, 0, 0) & 1);
    put(chan, IO$M_NOW, 10);
}

static void writers(unsigned n)
{
    unsigned short chan = make(20);
    pid_t first;

    name_unit(chan);
    need(put(chan, IO$M_NOW, 10) & 1);
    need(put(chan, IO$M_NOW, 10) & 1);
    first = crowd_start(n, wait_to_write, NULL);
    for (unsigned i = 0; i < n / 2; i++)
        need(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, 0, 0, 0, text, 10) & 1);
    for (unsigned i = 0; i < n; i++)
        kill(first + (pid_t)i, SIGKILL);
    crowd_wait(n);
}

/* As many mailboxes as one process may have, each with a name. */
static void mailboxes(unsigned n)
{
    static char called[24];
    struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, called};
    unsigned short chan;

    for (unsigned i = 0; i < n && i < 255; i++) {
        d.dsc$w_length = (unsigned short)snprintf(called, sizeof(called), "HOLDS_%u", i);
        need(sys$crembx(0, &chan, 100, 100, 0, 0, &d, 0, 0) & 1);
    }
}

const struct growth growth_mailboxes[] = {{"messages", messages},
                                          {"mailbox requests", requests},
                                          {"mailbox writers", writers},
                                          {"mailboxes", mailboxes},
                                          {0}};
