// TAP
// RUN: -m 256M
/*
 * ASTs that tell of mailboxes: who may ask for attention; room (IO$M_MB_ROOM_NOTIFY), which comes
 * when a message is taken, also by a process that is killed before it has it; writers that live by
 * it. That no attention is lost between writers, mailbox_load.c tries.
 */
#include <agndef.h>
#include <cmbdef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iodef.h>
#include <lib$routines.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define MANY     100  /* requests for room at a time */
#define MESSAGES 2000 /* of a writer that is told of room */

static char buffer[64];
static struct _iosb iosb;
static volatile unsigned calls;
static volatile unsigned long parameter;

static void noted(unsigned long what)
{
    parameter = what;
    calls++;
}

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* So many ASTs have come, for which it waits five seconds, and no more come. */
static void calls_are(unsigned want, const char *what)
{
    for (int i = 0; i < 5000 && calls < want; i++)
        nap(1);
    nap(2);
    is(calls, want, "%s", what);
    calls = 0;
}

static unsigned unit_of(unsigned short chan)
{
    int item = DVI$_UNIT;
    unsigned unit = 0;

    lib$getdvi(&item, &chan, 0, &unit);
    return unit;
}

static unsigned short assign(unsigned unit, unsigned flags)
{
    unsigned short chan = 0;
    char name[16];
    struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};

    d.dsc$w_length = (unsigned short)snprintf(name, sizeof(name), "MBA%u:", unit);
    sys$assign(&d, &chan, 0, 0, flags);
    return chan;
}

static int put(unsigned short chan, unsigned length)
{
    return sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW | IO$M_NORSWAIT, &iosb, 0, 0, buffer,
                    length);
}

static int get(unsigned short chan)
{
    sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_NOW, &iosb, 0, 0, buffer, sizeof(buffer));
    return iosb.iosb$w_status;
}

static int ask(unsigned short chan, unsigned which, void (*routine)(unsigned long), long what)
{
    return sys$qiow(EFN$C_ENF, chan, IO$_SETMODE | which, &iosb, 0, 0, routine, what);
}

static void who_may_ask(void)
{
    unsigned short reader, writer;

    sys$crembx(0, &reader, 0, 0, 0, 0, 0, CMB$M_READONLY, 0);
    writer = assign(unit_of(reader), AGN$M_WRITEONLY);
    is_status(ask(reader, IO$M_WRTATTN, noted, 1), SS$_NORMAL, "a channel that reads: of writes");
    is_status(ask(reader, IO$M_READATTN, noted, 1), SS$_NORMAL, "of reads");
    is_status(ask(writer, IO$M_WRTATTN, noted, 1), SS$_NOPRIV,
              "one that only writes: not of writes");
    is_status(ask(writer, IO$M_READATTN, noted, 1), SS$_NOPRIV, "nor of reads");
    is_status(ask(writer, IO$M_WRTATTN, NULL, 0), SS$_NOPRIV, "nor can it take that back");
    is_status(ask(writer, IO$M_MB_ROOM_NOTIFY, noted, 2), SS$_NORMAL, "of room");
    calls_are(1, "which it is told at once, for the mailbox is empty");
    is(parameter, 2, "with the parameter");
    is_status(ask(writer, IO$M_MB_ROOM_NOTIFY | IO$M_READATTN, noted, 1), SS$_ILLIOFUNC,
              "not both");
    sys$dassgn(reader);
    sys$dassgn(writer);
}

static void room(void)
{
    unsigned short chan = 0;

    sys$crembx(0, &chan, 10, 25, 0, 0, 0, 0, 0);
    put(chan, 10);
    put(chan, 10);
    is_status(put(chan, 6), SS$_MBFULL, "a mailbox without room for six bytes");
    for (int i = 0; i < MANY; i++)
        if (ask(chan, IO$M_MB_ROOM_NOTIFY, noted, 3) != SS$_NORMAL)
            is(i, MANY, "requests for room");
    calls_are(0, "nothing is told before there is some");
    is(get(chan), SS$_NORMAL, "a message is taken");
    calls_are(MANY, "all who asked are told");
    is(get(chan), SS$_NORMAL, "another one");
    calls_are(0, "which nobody is told of");
    put(chan, 10);
    ask(chan, IO$M_MB_ROOM_NOTIFY, noted, 4);
    ask(chan, IO$M_MB_ROOM_NOTIFY, NULL, 0);
    get(chan);
    calls_are(0, "taken back");
    put(chan, 10);
    ask(chan, IO$M_MB_ROOM_NOTIFY, noted, 5);
    sys$cancel(chan);
    get(chan);
    calls_are(0, "cancelled");
    put(chan, 10);
    ask(chan, IO$M_MB_ROOM_NOTIFY, noted, 6);
    sys$dassgn(chan);
    calls_are(0, "the last channel goes, and the message with it");
}

/* The end of a process gives the room of a message back that it has taken and not yet got. */
static void reader_is_killed(void)
{
    unsigned short chan = 0, own;
    unsigned unit;
    int go[2], status;
    pid_t child;
    char c;

    sys$crembx(0, &chan, 10, 10, 0, 0, 0, 0, 0);
    unit = unit_of(chan);
    if (pipe(go) != 0)
        return;
    if ((child = fork()) == 0) {
        own = assign(unit, AGN$M_READONLY);
        sys$qio(EFN$C_ENF, own, IO$_READVBLK, &iosb, 0, 0, buffer, 10);
        raise(write(go[1], "r", 1) == 1 ? SIGSTOP : SIGKILL);
        _exit(0);
    }
    is(read(go[0], &c, 1), 1, "a process reads");
    waitpid(child, &status, WUNTRACED);
    is_status(put(chan, 10), SS$_NORMAL, "it has a message, and is stopped");
    is_status(put(chan, 1), SS$_MBFULL, "which takes its room");
    ask(chan, IO$M_MB_ROOM_NOTIFY, noted, 7);
    calls_are(0, "as long as it is there");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    calls_are(1, "killed, it gives the room back");
    is_status(put(chan, 10), SS$_NORMAL, "so a message fits");
    /* A process that has asked ends, also before it is told. */
    for (int i = 0; i < 2; i++) {
        if ((child = fork()) == 0) {
            own = assign(unit, 0);
            for (int k = 0; k < MANY; k++)
                ask(own, IO$M_MB_ROOM_NOTIFY, noted, 8);
            if (i)
                get(own);
            _exit(0);
        }
        waitpid(child, &status, 0);
        is(status, 0, "a process that has asked for room ends");
    }
    calls_are(0, "nobody else is told");
    sys$dassgn(chan);
    close(go[0]);
    close(go[1]);
}

/* A writer that waits for nothing but ASTs writes all its messages: the reader may take the last
 * one just before the writer asks for room. */
static void lives_by_room(void)
{
    unsigned short chan = 0, own;
    unsigned unit, lost = 0, n = 0;
    pid_t child;
    int status;

    sys$crembx(0, &chan, 8, 16, 0, 0, 0, CMB$M_WRITEONLY, 0);
    unit = unit_of(chan);
    if ((child = fork()) == 0) {
        own = assign(unit, AGN$M_READONLY);
        while (sys$qiow(EFN$C_ENF, own, IO$_READVBLK | IO$M_WRITERCHECK, &iosb, 0, 0, buffer, 8) &
                   1 &&
               iosb.iosb$w_status == SS$_NORMAL)
            n++;
        _exit(n == MESSAGES ? 0 : 1);
    }
    while (n < MESSAGES && !lost) {
        while (n < MESSAGES && put(chan, 8) == SS$_NORMAL)
            n++;
        calls = 0;
        ask(chan, IO$M_MB_ROOM_NOTIFY, noted, 9);
        for (int i = 0; i < 5000 && !calls; i++)
            nap(1);
        lost += !calls;
    }
    is(lost, 0, "a writer is told of room each time: %u messages", n);
    sys$dassgn(chan);
    waitpid(child, &status, 0);
    is(status, 0, "the reader has all of them");
}

int main(void)
{
    who_may_ask();
    room();
    reader_is_killed();
    lives_by_room();
    return tap_done();
}
