/* Mailboxes with many channels, messages and requests. */
#define _GNU_SOURCE
#include "holds.h"

#include <agndef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iodef.h>
#include <lib$routines.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EACH     8u /* requests of each of a crowd */
#define ROOM     100000u
#define STREAM   65535u
#define CHANNELS 255u

static uint32_t *ready; /* shared: of the crowd, those that have asked */
static char buffer[STREAM];
static unsigned short chan; /* to the crowd's mailbox */
static unsigned unit;

static void nothing(__int64 parameter) { (void)parameter; }

static void make(unsigned room)
{
    int item = DVI$_UNIT;

    need(sys$crembx(0, &chan, 0, room, 0, 0, 0, 0, 0) & 1);
    need(lib$getdvi(&item, &chan, 0, &unit) & 1);
}

static void end(void) { need(sys$dassgn(chan) & 1); }

static unsigned short assign(void)
{
    char name[16];
    struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};
    unsigned short own = 0;

    d.dsc$w_length = (unsigned short)snprintf(name, sizeof(name), "MBA%u:", unit);
    need(sys$assign(&d, &own, 0, 0, 0) & 1);
    return own;
}

static int put(unsigned short c, unsigned modifiers, unsigned length)
{
    return sys$qio(EFN$C_ENF, c, IO$_WRITEVBLK | modifiers, 0, 0, 0, buffer, length);
}

static int get(unsigned short c, unsigned modifiers, unsigned length)
{
    return sys$qio(EFN$C_ENF, c, IO$_READVBLK | modifiers, 0, 0, 0, buffer, length);
}

static int attend(unsigned short c)
{
    return sys$qiow(EFN$C_ENF, c, IO$_SETMODE | IO$M_WRTATTN, 0, 0, 0, nothing, 0);
}

static int ask_for_room(unsigned short c)
{
    return sys$qiow(EFN$C_ENF, c, IO$_SETMODE | IO$M_MB_ROOM_NOTIFY, 0, 0, 0, nothing, 0);
}

/* ---- a crowd, each of which asks for something and waits to be ended, or ends itself ---- */

enum what { READ, READ_STREAM, WRITE, ATTEND, ASK_FOR_ROOM, WAIT_FOR_ROOM };

static void ask(unsigned i, void *arg)
{
    enum what what = *(enum what *)arg;
    unsigned short own = assign();

    for (unsigned k = 0; k < EACH; k++)
        switch (what) {
        case READ:
            need(get(own, 0, 8) & 1);
            break;
        case READ_STREAM:
            need(get(own, IO$M_STREAM, STREAM) & 1);
            break;
        case WRITE:
            need(put(own, 0, 1) & 1);
            break;
        case ATTEND:
            need(attend(own) & 1 || attend(own) == SS$_EXQUOTA); /* as many as a mailbox takes */
            break;
        case ASK_FOR_ROOM:
            need(ask_for_room(own) & 1 || ask_for_room(own) == SS$_EXQUOTA);
            break;
        case WAIT_FOR_ROOM:
            break;
        }
    __atomic_fetch_add(ready, 1, __ATOMIC_SEQ_CST);
    if (what == WAIT_FOR_ROOM)
        put(own, 0, 1);
    if (i % 3 == 0)
        execl("/bin/sleep", "sleep", "1000", NULL);
    pause();
}

static pid_t gather(unsigned n, enum what what)
{
    pid_t first;

    *ready = 0;
    first = crowd_start(n, ask, &what);
    while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) < n)
        usleep(10000);
    usleep(100000); /* those that exec or wait do so now */
    return first;
}

static void dismiss(pid_t first, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        kill(first + (pid_t)i, SIGKILL);
    crowd_wait(n);
}

/* ---- the growths ---- */

/* Reads that wait are answered one by one, and by the end of those who asked. */
static void waiting_reads(unsigned n, enum what what)
{
    pid_t first;

    make(ROOM);
    first = gather(n, what);
    for (unsigned k = 0; k < n * EACH / 2; k++)
        need(put(chan, IO$M_NOW, 1) & 1);
    dismiss(first, n);
    end();
}

/* Writers that wait until their message is read, all by one read, or their own ends. */
static void waiting_writes(unsigned n, bool read)
{
    pid_t first;

    make(ROOM);
    first = gather(n, WRITE);
    if (read)
        need(get(chan, IO$M_STREAM | IO$M_NOW, STREAM) & 1);
    dismiss(first, n);
    end();
}

/* Messages of a byte, and of none: read together, or dropped with the mailbox. */
static void messages(unsigned n, unsigned length, bool read)
{
    make(ROOM);
    for (unsigned k = 0; k < n * EACH; k++)
        need(put(chan, IO$M_NOW, length) & 1);
    if (read)
        need(get(chan, IO$M_STREAM | IO$M_NOW, STREAM) & 1);
    end();
}

static void attention(unsigned n)
{
    pid_t first;

    make(ROOM);
    first = gather(n, ATTEND);
    need(put(chan, IO$M_NOW, 1) & 1);
    dismiss(first, n);
    end();
}

/* Told of room one after the other; the last third of them ends before that. */
static void told_of_room(unsigned n)
{
    pid_t first;

    make(64);
    need(put(chan, IO$M_NOW, 64) & 1);
    first = gather(n, ASK_FOR_ROOM);
    for (unsigned i = 2 * n / 3; i < n; i++)
        kill(first + (pid_t)i, SIGKILL);
    need(get(chan, IO$M_NOW, 64) & 1);
    usleep(100000);
    dismiss(first, n);
    end();
}

static void room(unsigned n)
{
    unsigned short other;
    pid_t first;

    make(64);
    other = assign();
    need(put(chan, IO$M_NOW, 64) & 1);
    first = gather(n, WAIT_FOR_ROOM);
    need(sys$dassgn(other) & 1);
    need(get(chan, IO$M_NOW, 64) & 1);
    usleep(100000);
    need(get(chan, IO$M_NOW | IO$M_STREAM, STREAM) & 1);
    dismiss(first, n);
    end();
}

/* As many channels as a process may have, closed by it and by its end. */
static void channels(unsigned i, void *arg)
{
    (void)arg;
    make(64);
    for (unsigned k = 1; k < CHANNELS; k++)
        (void)assign();
    if (i == 0)
        for (unsigned k = 1; k <= CHANNELS; k++)
            need(sys$dassgn((unsigned short)(16 * k)) & 1);
}

static void many_mailboxes(unsigned n)
{
    unsigned crowd = n / EACH;

    ready = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(ready != MAP_FAILED);
    crowd_start(2, channels, NULL);
    crowd_wait(2);
    waiting_reads(crowd, READ);
    waiting_reads(crowd, READ_STREAM);
    waiting_writes(crowd, true);
    waiting_writes(crowd, false);
    messages(crowd, 1, true);
    messages(crowd, 0, true);
    messages(crowd, 1, false);
    attention(crowd);
    told_of_room(crowd);
    room(crowd);
}

const struct growth growth_mailboxes[] = {{"mailboxes", many_mailboxes}, {0}};
