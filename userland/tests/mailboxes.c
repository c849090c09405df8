// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * Mailboxes: channels, messages, status blocks, modifiers of $QIO, attention, cancelling, names,
 * protection, quotas, ends of processes.
 */
#include <agndef.h>
#include <cmbdef.h>
#include <dcdef.h>
#include <descrip.h>
#include <devdef.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <lib$routines.h>
#include <lnmdef.h>
#include <megalith/creds.h>
#include <pthread.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

static char buffer[65536];
static struct _iosb iosb;

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static int child_result(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static unsigned short make(unsigned maxmsg, unsigned bufquo)
{
    unsigned short chan = 0;

    sys$crembx(0, &chan, maxmsg, bufquo, 0, 0, 0, 0, 0);
    return chan;
}

static int put(unsigned short chan, unsigned modifiers, const char *text)
{
    return sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | modifiers, &iosb, 0, 0, (void *)text,
                    strlen(text));
}

static int get(unsigned short chan, unsigned modifiers, unsigned length)
{
    memset(buffer, '#', sizeof(buffer));
    return sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | modifiers, &iosb, 0, 0, buffer, length);
}

/* The next message is this one. */
static void expect(unsigned short chan, const char *text, const char *what)
{
    int status = get(chan, IO$M_NOW, 256);

    ok(status == SS$_NORMAL && iosb.iosb$w_status == SS$_NORMAL &&
           iosb.iosb$w_bcnt == strlen(text) && memcmp(buffer, text, strlen(text)) == 0,
       "%s: \"%.*s\", %u, %u bytes", what, (int)iosb.iosb$w_bcnt, buffer, iosb.iosb$w_status,
       iosb.iosb$w_bcnt);
}

static void block_is(unsigned status, unsigned count, const char *what)
{
    ok(iosb.iosb$w_status == status && iosb.iosb$w_bcnt == count, "%s: status %u, %u bytes", what,
       iosb.iosb$w_status, iosb.iosb$w_bcnt);
}

static unsigned unit_of(unsigned short chan)
{
    int item = DVI$_UNIT;
    unsigned unit = 0;

    lib$getdvi(&item, &chan, 0, &unit);
    return unit;
}

static int assign(unsigned unit, unsigned short *chan, unsigned flags)
{
    char name[16];
    struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};

    d.dsc$w_length = (unsigned short)snprintf(name, sizeof(name), "MBA%u:", unit);
    return sys$assign(&d, chan, 0, 0, flags);
}

/* ---- messages ---- */

static void messages(void)
{
    unsigned short chan = make(100, 1000);

    is(chan, 16, "the first channel");
    is_status(put(chan, IO$M_NOW, "one"), SS$_NORMAL, "a message is written");
    block_is(SS$_NORMAL, 3, "its block");
    is(iosb.iosb$l_dev_depend, 0, "nobody has read it");
    put(chan, IO$M_NOW, "second");
    put(chan, IO$M_NOW, "");
    expect(chan, "one", "the first one is read");
    is(iosb.iosb$l_dev_depend, (unsigned)getpid(), "the sender");
    is_status(get(chan, IO$M_NOW, 3), SS$_NORMAL, "a buffer that is too short");
    block_is(SS$_BUFFEROVF, 3, "gets the beginning");
    ok(memcmp(buffer, "sec#", 4) == 0, "and no more");
    expect(chan, "", "the rest is lost; a message without bytes");
    get(chan, IO$M_NOW, 10);
    block_is(SS$_ENDOFFILE, 0, "an empty mailbox");
    is_status(sys$qiow(EFN$C_ENF, chan, IO$_WRITEOF | IO$M_NOW, &iosb), SS$_NORMAL, "a mark");
    get(chan, 0, 10);
    block_is(SS$_ENDOFFILE, 0, "is read as the end");
    is_status(put(chan, IO$M_NOW,
                  "0123456789012345678901234567890123456789012345678901234567890123"
                  "4567890123456789012345678901234567890"),
              SS$_MBTOOSML, "101 bytes of 100");
    is_status(sys$dassgn(chan), SS$_NORMAL, "the channel is deassigned");
    is_status(sys$dassgn(chan), SS$_NOPRIV, "once");
    is_status(sys$dassgn(0), SS$_IVCHAN, "no channel has number 0");
    is_status(put(chan, IO$M_NOW, ""), SS$_NOPRIV, "and cannot be used");
}

/* A write without IO$M_NOW completes when it is read. */
static void handshake(void)
{
    static struct _iosb written, read;
    unsigned short chan = make(0, 0);
    unsigned flags;

    is_status(sys$qio(10, chan, IO$_WRITEVBLK, &written, 0, 0, "hello", 5), SS$_NORMAL,
              "a write is queued");
    is(written.iosb$w_status, 0, "it is not complete");
    is_status(sys$readef(10, &flags), SS$_WASCLR, "its flag is clear");
    expect(chan, "hello", "somebody reads it");
    is_status(sys$synch(10, &written), SS$_NORMAL, "the writer waits");
    ok(written.iosb$w_status == SS$_NORMAL && written.iosb$w_bcnt == 5, "and learns how much");
    is(written.iosb$l_dev_depend, (unsigned)getpid(), "and who has read it");
    is_status(sys$qio(11, chan, IO$_READVBLK, &read, 0, 0, buffer, 100), SS$_NORMAL,
              "a read is queued");
    is_status(sys$qio(12, chan, IO$_READVBLK, &iosb, 0, 0, buffer + 100, 100), SS$_NORMAL,
              "and another one");
    is_status(sys$qiow(10, chan, IO$_WRITEVBLK, &written, 0, 0, "first", 5), SS$_NORMAL,
              "a write finds a reader");
    sys$synch(11, &read);
    ok(read.iosb$w_bcnt == 5 && memcmp(buffer, "first", 5) == 0, "the one that came first");
    is(iosb.iosb$w_status, 0, "the other one waits on");
    sys$qiow(10, chan, IO$_WRITEVBLK, &written, 0, 0, "then", 4);
    sys$synch(12, &iosb);
    ok(iosb.iosb$w_bcnt == 4 && memcmp(buffer + 100, "then", 4) == 0, "and gets the next one");
    sys$dassgn(chan);
}

static void streams(void)
{
    unsigned short chan = make(100, 5000);

    put(chan, IO$M_NOW, "abc");
    put(chan, IO$M_NOW, "defgh");
    get(chan, IO$M_STREAM, 5);
    block_is(SS$_NORMAL, 5, "a stream crosses messages");
    ok(memcmp(buffer, "abcde#", 6) == 0, "its bytes");
    expect(chan, "fgh", "the rest is a message");
    put(chan, IO$M_NOW, "xyz");
    sys$qiow(EFN$C_ENF, chan, IO$_WRITEOF | IO$M_NOW, &iosb);
    get(chan, IO$M_STREAM, 50);
    block_is(SS$_NORMAL, 3, "a stream ends before a mark");
    get(chan, IO$M_STREAM, 0);
    block_is(SS$_NORMAL, 0, "without bytes it takes nothing");
    get(chan, IO$M_STREAM, 50);
    block_is(SS$_ENDOFFILE, 0, "then it reads the mark");
    for (int i = 0; i < 40; i++)
        put(chan, IO$M_NOW, "12345");
    get(chan, IO$M_STREAM, 198);
    block_is(SS$_NORMAL, 198, "many messages");
    ok(memcmp(buffer, "1234512345", 10) == 0 && memcmp(buffer + 193, "45123#", 5) != 1,
       "in their order");
    expect(chan, "45", "but for two bytes");
    sys$dassgn(chan);
}

/* ---- room ---- */

static void full(void)
{
    unsigned short chan = make(10, 25), theirs;
    unsigned unit = unit_of(chan);
    pid_t child;

    put(chan, IO$M_NOW, "0123456789");
    put(chan, IO$M_NOW, "0123456789");
    is_status(put(chan, IO$M_NOW | IO$M_NORSWAIT, "012345"), SS$_MBFULL, "no room for six");
    is_status(put(chan, IO$M_NOW | IO$M_NORSWAIT, "01234"), SS$_NORMAL, "room for five");
    if ((child = fork()) == 0) {
        int status = assign(unit, &theirs, AGN$M_WRITEONLY);

        if (status == SS$_NORMAL)
            status = put(theirs, IO$M_NOW, "late");
        _exit(status == SS$_NORMAL ? 0 : 1);
    }
    nap(50);
    is((unsigned long)waitpid(child, NULL, WNOHANG), 0, "a writer waits for room");
    expect(chan, "0123456789", "a message is read");
    is((unsigned long)child_result(child), 0, "and the writer goes on");
    expect(chan, "0123456789", "the next");
    expect(chan, "01234", "and the next");
    expect(chan, "late", "and his");
    if ((child = fork()) == 0) {
        assign(unit, &theirs, 0);
        put(theirs, IO$M_NOW, "0123456789");
        put(theirs, IO$M_NOW, "0123456789");
        put(theirs, IO$M_NOW, "0123456789");
        _exit(0);
    }
    nap(50);
    kill(child, SIGKILL);
    child_result(child);
    expect(chan, "0123456789", "what a writer has written that was killed");
    expect(chan, "0123456789", "stays");
    get(chan, IO$M_NOW, 10);
    block_is(SS$_ENDOFFILE, 0, "what he was about to write does not come");
    sys$dassgn(chan);
}

/* Requests that do not fit take no room from those that do, not even for a moment. */
#define HAMMERS 3
static unsigned short shared_chan;
static volatile int hammering;

static void *hammer(void *arg)
{
    static char large[200];
    unsigned long taken = 0;
    struct _iosb mine;

    (void)arg;
    while (hammering)
        taken += sys$qiow(EFN$C_ENF, shared_chan, IO$_WRITEVBLK | IO$M_NOW | IO$M_NORSWAIT, &mine,
                          0, 0, large, sizeof(large)) != SS$_MBFULL;
    return (void *)taken;
}

static void room(void)
{
    unsigned long refused = 0, taken = 0;
    pthread_t threads[HAMMERS];
    void *result;

    shared_chan = make(900, 1000);
    memset(buffer, 'x', 900);
    sys$qiow(EFN$C_ENF, shared_chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, buffer, 900);
    hammering = 1;
    for (int i = 0; i < HAMMERS; i++)
        pthread_create(&threads[i], NULL, hammer, NULL);
    for (int i = 0; i < 10000; i++) {
        refused += sys$qio(EFN$C_ENF, shared_chan, IO$_WRITEVBLK | IO$M_NORSWAIT, 0, 0, 0, "fits",
                           4) == SS$_MBFULL;
        sys$cancel(shared_chan); /* which takes it back */
    }
    hammering = 0;
    for (int i = 0; i < HAMMERS; i++) {
        pthread_join(threads[i], &result);
        taken += (unsigned long)result;
    }
    is(refused, 0, "a message that fits is never refused");
    is(taken, 0, "one that does not always is");
    sys$dassgn(shared_chan);
}

/* ---- who is there ---- */

static void sides(void)
{
    static struct _iosb pending;
    unsigned short reader, writer;
    int status = sys$crembx(0, &reader, 0, 0, 0, 0, 0, CMB$M_READONLY, 0);
    unsigned unit = unit_of(reader);

    is_status(status, SS$_NORMAL, "a mailbox with a channel that reads");
    is_status(put(reader, IO$M_NOW, "x"), SS$_NOPRIV, "and does not write");
    get(reader, IO$M_WRITERCHECK, 10);
    block_is(SS$_NOWRITER, 0, "nobody writes");
    sys$qio(9, reader, IO$_SETMODE | IO$M_WRITERWAIT, &pending);
    is(pending.iosb$w_status, 0, "wait for a writer");
    is_status(assign(unit, &writer, AGN$M_WRITEONLY), SS$_NORMAL, "one comes");
    sys$synch(9, &pending);
    is(pending.iosb$w_status, SS$_NORMAL, "the wait is over");
    is_status(get(writer, IO$M_NOW, 10), SS$_NOPRIV, "he does not read");
    sys$qio(9, reader, IO$_READVBLK | IO$M_WRITERCHECK, &pending, 0, 0, buffer, 10);
    is(pending.iosb$w_status, 0, "a read waits for him");
    sys$dassgn(writer);
    sys$synch(9, &pending);
    is(pending.iosb$w_status, SS$_NOWRITER, "and ends when he leaves");
    assign(unit, &writer, AGN$M_WRITEONLY);
    is_status(sys$qiow(9, writer, IO$_SETMODE | IO$M_READERWAIT, &iosb), SS$_NORMAL,
              "wait for a reader");
    block_is(SS$_NORMAL, 0, "one is there");
    sys$qio(9, writer, IO$_WRITEVBLK | IO$M_READERCHECK, &pending, 0, 0, "lost", 4);
    is(pending.iosb$w_status, 0, "a write waits for a reader");
    sys$dassgn(reader);
    sys$synch(9, &pending);
    is(pending.iosb$w_status, SS$_NOREADER, "and ends when he leaves");
    put(writer, IO$M_NOW | IO$M_READERCHECK, "y");
    block_is(SS$_NOREADER, 0, "nobody reads");
    sys$qiow(EFN$C_ENF, writer, IO$_SENSEMODE, &iosb);
    block_is(SS$_NORMAL, 0, "no message is left");
    sys$qiow(EFN$C_ENF, writer, IO$_SENSEMODE | IO$M_READERCHECK, &iosb);
    block_is(SS$_NOREADER, 0, "and no reader");
    put(writer, IO$M_NOW, "abc");
    put(writer, IO$M_NOW, "de");
    sys$qiow(EFN$C_ENF, writer, IO$_SENSEMODE, &iosb);
    block_is(SS$_NORMAL, 2, "two messages");
    is(iosb.iosb$l_dev_depend, 5, "of five bytes");
    sys$qio(9, writer, IO$_SETMODE | IO$M_READERWAIT, &pending);
    is(pending.iosb$w_status, 0, "wait for a reader, and none is there");
    assign(unit, &reader, AGN$M_READONLY);
    sys$synch(9, &pending);
    is(pending.iosb$w_status, SS$_NORMAL, "one comes");
    sys$dassgn(reader);
    sys$qio(9, writer, IO$_SETMODE | IO$M_READERWAIT, &pending);
    sys$cancel(writer);
    sys$synch(9, &pending);
    is(pending.iosb$w_status, SS$_CANCEL, "the wait is cancelled");
    sys$dassgn(writer);
    is_status(assign(unit, &writer, 0), SS$_NOSUCHDEV, "the mailbox has gone with the last one");
}

/* ---- attention ---- */

static volatile int calls;
static volatile unsigned long parameter;

static void noted(unsigned long what)
{
    parameter = what;
    calls++;
}

static int ask(unsigned short chan, unsigned which, void (*routine)(unsigned long), long what)
{
    return sys$qiow(EFN$C_ENF, chan, IO$_SETMODE | which, &iosb, 0, 0, routine, what);
}

static void attention(void)
{
    unsigned short chan = make(0, 0);
    static struct _iosb pending;

    is_status(ask(chan, IO$M_WRTATTN, noted, 7), SS$_NORMAL, "ask for an AST with a message");
    block_is(SS$_NORMAL, 0, "its block");
    is((unsigned long)calls, 0, "there is none yet");
    put(chan, IO$M_NOW, "a");
    ok(calls == 1 && parameter == 7, "it comes");
    put(chan, IO$M_NOW, "b");
    is((unsigned long)calls, 1, "once");
    ask(chan, IO$M_WRTATTN, noted, 8);
    ok(calls == 2 && parameter == 8, "at once, because there are messages");
    expect(chan, "a", "the messages");
    expect(chan, "b", "are there");
    ask(chan, IO$M_WRTATTN, noted, 9);
    ask(chan, IO$M_WRTATTN, NULL, 0);
    put(chan, IO$M_NOW, "c");
    is((unsigned long)calls, 2, "taken back");
    expect(chan, "c", "the message");
    ask(chan, IO$M_READATTN, noted, 10);
    is((unsigned long)calls, 2, "nobody reads");
    sys$qio(9, chan, IO$_READVBLK, &pending, 0, 0, buffer, 10);
    ok(calls == 3 && parameter == 10, "a reader comes");
    ask(chan, IO$M_WRTATTN, noted, 11);
    put(chan, IO$M_NOW, "d");
    sys$synch(9, &pending);
    ok(calls == 3, "a message that a read waits for is none to be told of");
    is_status(sys$cancel(chan), SS$_NORMAL, "the channel is cancelled");
    put(chan, IO$M_NOW, "e");
    is((unsigned long)calls, 3, "and with it the attention");
    is_status(ask(chan, 0, noted, 0), SS$_ILLIOFUNC, "no such mode");
    sys$dassgn(chan);
}

/* An AST tells of the completion. */
static void completion(void)
{
    unsigned short chan = make(0, 0);

    calls = 0;
    is_status(sys$qio(9, chan, IO$_READVBLK, &iosb, noted, 5, buffer, 10), SS$_NORMAL, "a read");
    is((unsigned long)calls, 0, "is not complete");
    sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK, 0, noted, 6, "x", 1);
    is_status(sys$waitfr(9), SS$_NORMAL, "its flag");
    for (int i = 0; i < 100 && calls < 2; i++)
        nap(1);
    is((unsigned long)calls, 2, "both have their ASTs");
    block_is(SS$_NORMAL, 1, "the block");
    sys$dassgn(chan);
}

static void cancelled(void)
{
    static struct _iosb blocks[4];
    unsigned short chan = make(0, 0), other;

    assign(unit_of(chan), &other, 0);
    sys$qio(8, other, IO$_READVBLK, &blocks[0], 0, 0, buffer, 10);
    sys$qio(9, chan, IO$_READVBLK, &blocks[1], 0, 0, buffer, 10);
    sys$cancel(chan);
    sys$synch(9, &blocks[1]);
    is(blocks[1].iosb$w_status, SS$_CANCEL, "a read is cancelled");
    is(blocks[0].iosb$w_status, 0, "that of another channel is not");
    sys$dassgn(other);
    sys$synch(8, &blocks[0]);
    is(blocks[0].iosb$w_status, SS$_CANCEL, "but when that is deassigned");
    sys$qio(8, chan, IO$_WRITEVBLK, &blocks[2], 0, 0, "gone", 4);
    sys$cancel(chan);
    sys$synch(8, &blocks[2]);
    is(blocks[2].iosb$w_status, SS$_CANCEL, "a write is cancelled");
    get(chan, IO$M_NOW, 10);
    block_is(SS$_ENDOFFILE, 0, "with its message");
    is_status(sys$cancel(99), SS$_IVCHAN, "no such channel");
    is_status(sys$cancel(0), SS$_IVCHAN, "nor number 0");
    is_status(sys$cancel(255 * 16), SS$_NOPRIV, "the last number is not assigned");
    is_status(sys$cancel(256 * 16), SS$_IVCHAN, "and there is none above it");
    sys$dassgn(chan);
}

/* ---- names, permanent mailboxes ---- */

static $DESCRIPTOR(name, "MAILBOXES_TEST");
static $DESCRIPTOR(file_dev, "LNM$FILE_DEV");

static int translated(void)
{
    static char text[64];
    ILE3 items[2] = {{sizeof(text), LNM$_STRING, text, 0}, {0}};

    return sys$trnlnm(0, &file_dev, &name, 0, items);
}

static void names(void)
{
    unsigned short chan = 0, again = 0, third = 0;
    pid_t child;

    is_status(sys$crembx(0, &chan, 0, 0, 0, 0, &name, 0, 0), SS$_NORMAL, "a mailbox with a name");
    is_status(translated(), SS$_NORMAL, "which is a logical name");
    is_status(sys$crembx(0, &again, 0, 0, 0, 0, &name, 0, 0), SS$_NORMAL, "made again");
    is(unit_of(again), unit_of(chan), "it is the same one");
    is_status(sys$assign(&name, &third, 0, 0, 0), SS$_NORMAL, "and assigned by name");
    is(unit_of(third), unit_of(chan), "too");
    if ((child = fork()) == 0) {
        unsigned short mine;

        _exit(sys$assign(&name, &mine, 0, 0, 0) == SS$_NORMAL &&
                      put(mine, IO$M_NOW, "from a child") == SS$_NORMAL
                  ? 0
                  : 1);
    }
    is((unsigned long)child_result(child), 0, "a process of the job finds it");
    expect(chan, "from a child", "its message");
    is(iosb.iosb$l_dev_depend, (unsigned)child, "its number");
    sys$dassgn(chan);
    sys$dassgn(again);
    is_status(translated(), SS$_NORMAL, "the name stays");
    sys$dassgn(third);
    is_status(translated(), SS$_NOLOGNAM, "until the last channel goes");
}

static void permanent(void)
{
    unsigned short chan, again;

    is_status(sys$crembx(1, &chan, 0, 0, 0, 0, &name, 0, 0), SS$_NORMAL, "a permanent mailbox");
    put(chan, IO$M_NOW, "kept");
    sys$dassgn(chan);
    is_status(sys$assign(&name, &again, 0, 0, 0), SS$_NORMAL, "stays without a channel");
    expect(again, "kept", "with its messages");
    is_status(sys$delmbx(again), SS$_NORMAL, "it is to be deleted");
    put(again, IO$M_NOW, "still here");
    expect(again, "still here", "with the last channel");
    sys$dassgn(again);
    is_status(translated(), SS$_NOLOGNAM, "its name as well");
    is_status(sys$assign(&name, &again, 0, 0, 0), SS$_NOSUCHDEV, "there is no such device");
}

/* ---- protection, privileges, quotas ---- */

static int become(struct mega_creds c)
{
    return mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
}

#define USER(group_, member_, privileges_)            \
    ((struct mega_creds){.uic_group = (group_),       \
                         .uic_member = (member_),     \
                         .privileges = (privileges_), \
                         .authorised = (privileges_)})

static int as_other(unsigned unit)
{
    unsigned short chan;
    int status;

    if (become(USER(201, 301, PRV$M_TMPMBX)) != SS$_NORMAL)
        return 10;
    status = assign(unit, &chan, 0);
    if (status != SS$_NORMAL)
        return status == SS$_NOPRIV ? 2 : 11;
    return get(chan, IO$M_NOW, 10) == SS$_NOPRIV ? put(chan, IO$M_NOW, "w") == SS$_NORMAL ? 3 : 4
                                                 : 5;
}

static int without_privilege(void)
{
    unsigned short chan;

    if (become(USER(201, 301, 0)) != SS$_NORMAL)
        return 10;
    return sys$crembx(0, &chan, 0, 0, 0, 0, 0, 0, 0) == SS$_NOPRIV &&
                   sys$crembx(1, &chan, 0, 0, 0, 0, 0, 0, 0) == SS$_NOPRIV
               ? 0
               : 1;
}

static int in_child(int (*fn)(void))
{
    pid_t child = fork();

    if (child == 0)
        _exit(fn());
    return child_result(child);
}

static unsigned other_unit;
static int as_other_child(void) { return as_other(other_unit); }

static void protection(void)
{
    unsigned short chan = 0;

    is_status(sys$crembx(0, &chan, 0, 0, 0xF000, 0, 0, 0, 0), SS$_NORMAL, "not for the world");
    other_unit = unit_of(chan);
    is((unsigned long)in_child(as_other_child), 2, "another user may not use it");
    is_status(sys$qiow(EFN$C_ENF, chan, IO$_SETMODE | IO$M_SETPROT, &iosb, 0, 0, 0, 0x1000),
              SS$_NORMAL, "the world may write now");
    is((unsigned long)in_child(as_other_child), 3, "and so he does, and cannot read");
    expect(chan, "w", "his message");
    is((unsigned long)in_child(without_privilege), 0, "TMPMBX and PRMMBX are needed");
    sys$dassgn(chan);
}

static int many_channels(void)
{
    unsigned short first = make(0, 0), chan;
    unsigned unit = unit_of(first), n = 1;
    int status;

    while ((status = assign(unit, &chan, 0)) == SS$_NORMAL)
        n++;
    return status == SS$_NOIOCHAN && n == 255 ? 0 : 1;
}

static int many_requests(void)
{
    static struct _iosb blocks[300];
    unsigned short chan = make(0, 0);
    int status, n = 0;

    while ((status = sys$qio(EFN$C_ENF, chan, IO$_READVBLK, &blocks[n], 0, 0, buffer, 1)) ==
           SS$_NORMAL)
        n++;
    if (status != SS$_EXQUOTA || n != 150)
        return 1;
    sys$cancel(chan);
    sys$synch(EFN$C_ENF, &blocks[149]);
    return get(chan, IO$M_NOW, 1) == SS$_NORMAL ? 0 : 2;
}

static int many_bytes(void)
{
    unsigned short a, b, c;

    if (sys$crembx(0, &a, 0, 200000, 0, 0, 0, 0, 0) != SS$_NORMAL ||
        sys$crembx(0, &b, 0, 62145, 0, 0, 0, 0, 0) != SS$_EXBYTLM ||
        sys$crembx(0, &b, 0, 62144, 0, 0, 0, 0, 0) != SS$_NORMAL ||
        sys$crembx(0, &c, 0, 1, 0, 0, 0, 0, 0) != SS$_EXBYTLM)
        return 1;
    sys$dassgn(a);
    return sys$crembx(0, &c, 0, 200000, 0, 0, 0, 0, 0) == SS$_NORMAL ? 0 : 2;
}

static void quotas(void)
{
    is((unsigned long)in_child(many_channels), 0, "255 channels");
    is((unsigned long)in_child(many_requests), 0, "150 requests");
    is((unsigned long)in_child(many_bytes), 0, "262144 bytes of temporary mailboxes");
}

/* ---- what is refused ---- */

static void refused(void)
{
    static $DESCRIPTOR(no_device, "XXA0:");
    static $DESCRIPTOR(no_name, "A B:");
    static $DESCRIPTOR(empty, "");
    static $DESCRIPTOR(no_unit, "_MBA4097:");
    static struct dsc$descriptor_s long_name = {300, DSC$K_DTYPE_T, DSC$K_CLASS_S, buffer};
    unsigned short chan = make(0, 0), got;
    void *bad = (void *)8;

    is_status(sys$assign(&no_device, &got, 0, 0, 0), SS$_NOSUCHDEV, "no such device");
    is_status(sys$assign(&no_unit, &got, 0, 0, 0), SS$_NOSUCHDEV, "no such unit");
    is_status(sys$assign(&no_name, &got, 0, 0, 0), SS$_IVDEVNAM, "no name of a device");
    is_status(sys$assign(&empty, &got, 0, 0, 0), SS$_IVLOGNAM, "no name at all");
    is_status(sys$assign(&long_name, &got, 0, 0, 0), SS$_IVLOGNAM, "300 characters");
    is_status(sys$assign(bad, &got, 0, 0, 0), SS$_ACCVIO, "a name that cannot be read");
    is_status(sys$assign(&no_device, bad, 0, 0, 0), SS$_ACCVIO, "a channel that cannot be written");
    is_status(sys$assign(&no_device, &got, 4, 0, 0), SS$_IVACMODE, "no access mode");
    is_status(sys$assign(&no_device, &got, 0, 0, 3), SS$_BADPARAM, "both flags");
    is_status(sys$assign(&no_device, &got, 0, &no_device, 0), SS$_BADPARAM, "a second mailbox");
    is_status(sys$crembx(2, &got, 0, 0, 0, 0, 0, 0, 0), SS$_BADPARAM, "prmflg 2");
    is_status(sys$crembx(0, &got, 65536, 0, 0, 0, 0, 0, 0), SS$_BADPARAM, "a long message");
    is_status(sys$crembx(0, &got, 0, 1 << 25, 0, 0, 0, 0, 0), SS$_BADPARAM, "too much room");
    is_status(sys$crembx(0, bad, 0, 0, 0, 0, 0, 0, 0), SS$_ACCVIO, "crembx: the channel");
    is_status(sys$crembx(0, &got, 0, 0, 0, 5, 0, 0, 0), SS$_IVACMODE, "crembx: the mode");
    is_status(sys$crembx(0, &got, 0, 0, 0, 0, &empty, 0, 0), SS$_IVLOGNAM, "crembx: the name");
    is_status(sys$crembx(0, &got, 0, 0, 0, 0, bad, 0, 0), SS$_ACCVIO, "crembx: no descriptor");
    is_status(sys$crembx(0, &got, 0, 0, 0, 0, 0, 4, 0), SS$_BADPARAM, "crembx: the flags");
    is_status(sys$delmbx(1000), SS$_IVCHAN, "delmbx: the channel");
    is_status(sys$delmbx(4080), SS$_NOPRIV, "delmbx: one that is not assigned");
    is_status(sys$qio(0, 17, IO$_READVBLK), SS$_IVCHAN, "qio: the channel");
    is_status(sys$qio(0, 4080, IO$_READVBLK), SS$_NOPRIV, "qio: one that is not assigned");
    is_status(sys$qio(0, chan, 5, &iosb), SS$_ILLIOFUNC, "no such function");
    is_status(sys$qio(0, chan, IO$_READVBLK | 0x8000, &iosb, 0, 0, buffer, 1), SS$_ILLIOFUNC,
              "a modifier of nothing");
    is_status(sys$qio(0, chan, IO$_WRITEVBLK | IO$M_STREAM, &iosb, 0, 0, buffer, 1), SS$_ILLIOFUNC,
              "a modifier of reads");
    is_status(sys$qio(0, chan, IO$_READVBLK, bad, 0, 0, buffer, 1), SS$_ACCVIO, "the block");
    is_status(sys$qio(0, chan, IO$_READVBLK, &iosb, 0, 0, bad, 1), SS$_ACCVIO, "the buffer");
    is_status(sys$qio(0, chan, IO$_WRITEVBLK, &iosb, 0, 0, bad, 1), SS$_ACCVIO, "the message");
    is_status(sys$qio(200, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 1), SS$_ILLEFC, "the flag");
    is_status(sys$qio(70, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 1), SS$_UNASEFC, "the cluster");
    get(chan, IO$M_NOW, 10);
    block_is(SS$_ENDOFFILE, 0, "nothing has come of these");
    sys$dassgn(chan);
}

/* ---- $GETDVI ---- */

static unsigned item_of(unsigned short chan, int item)
{
    unsigned value = 0xDEADBEEF;

    lib$getdvi(&item, &chan, 0, &value);
    return value;
}

static void information(void)
{
    static char text[32];
    static char room[32];
    static struct dsc$descriptor_s string = {sizeof(room), DSC$K_DTYPE_T, DSC$K_CLASS_S, room};
    static $DESCRIPTOR(no_device, "XXA0:");
    unsigned short chan = make(77, 1000), length = 0;
    unsigned unit = unit_of(chan);
    int item = DVI$_DEVNAM, wrong = 999;
    static const struct {
        int item;
        unsigned mask;
    } bits[] = {{DVI$_REC, DEV$M_REC}, {DVI$_CCL, DEV$M_CCL}, {DVI$_TRM, DEV$M_TRM},
                {DVI$_SHR, DEV$M_SHR}, {DVI$_AVL, DEV$M_AVL}, {DVI$_MBX, DEV$M_MBX},
                {DVI$_IDV, DEV$M_IDV}, {DVI$_ODV, DEV$M_ODV}};
    static const int zeros[] = {DVI$_PID, DVI$_ERRCNT, DVI$_STS, DVI$_DEVCHAR2};
    static const int names[] = {DVI$_FULLDEVNAM, DVI$_ALLDEVNAM, DVI$_TT_PHYDEVNAM};

    is(item_of(chan, DVI$_DEVCLASS), DC$_MAILBOX, "the class");
    is(item_of(chan, DVI$_DEVTYPE), DT$_MBX, "the type");
    is(item_of(chan, DVI$_DEVBUFSIZ), 77, "the longest message");
    is(item_of(chan, DVI$_DEVCHAR) & DEV$M_MBX, DEV$M_MBX, "the characteristics");
    is(item_of(chan, DVI$_MBX), 1, "one of them");
    is(item_of(chan, DVI$_TRM), 0, "another one");
    is(item_of(chan, DVI$_REFCNT), 1, "one channel");
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
        is(item_of(chan, bits[i].item), (item_of(chan, DVI$_DEVCHAR) & bits[i].mask) != 0,
           "characteristic %X", bits[i].mask);
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++)
        is(item_of(chan, zeros[i]), 0, "item %d is 0", zeros[i]);
    put(chan, IO$M_NOW, "a");
    is(item_of(chan, DVI$_DEVDEPEND), 1, "one message");
    is_status(lib$getdvi(&item, &chan, 0, 0, &string, &length), SS$_NORMAL, "the name");
    snprintf(text, sizeof(text), "_MBA%u:", unit);
    ok(length == strlen(text) && memcmp(string.dsc$a_pointer, text, length) == 0, "is %.*s", length,
       string.dsc$a_pointer);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        item = names[i];
        is_status(lib$getdvi(&item, &chan, 0, 0, &string, &length), SS$_NORMAL, "another name");
        ok(length == strlen(text) && memcmp(string.dsc$a_pointer, text, length) == 0, "is %.*s too",
           length, string.dsc$a_pointer);
    }
    item = DVI$_DEVNAM;
    is_status(lib$getdvi(&wrong, &chan, 0, &unit), SS$_BADPARAM, "no such item");
    is_status(lib$getdvi(&item, 0, &no_device, 0, &string), SS$_NOSUCHDEV, "no such device");
    length = 48;
    is_status(lib$getdvi(&item, &length, 0, 0, &string), SS$_NOPRIV, "no such channel");
    sys$dassgn(chan);
}

/* ---- ends ---- */

/* A process ends with requests outstanding: nothing of it stays in the mailbox. */
static void ends(void)
{
    unsigned short chan = make(0, 0);
    unsigned unit = unit_of(chan);
    pid_t child = fork();

    if (child == 0) {
        unsigned short mine;

        assign(unit, &mine, 0);
        for (int i = 0; i < 20; i++)
            sys$qio(EFN$C_ENF, mine, IO$_READVBLK, 0, 0, 0, buffer, 10);
        ask(mine, IO$M_WRTATTN, noted, 1);
        _exit(0);
    }
    child_result(child);
    put(chan, IO$M_NOW, "for nobody else");
    expect(chan, "for nobody else", "reads of a process that has ended take nothing");
    if ((child = fork()) == 0) {
        unsigned short mine;

        assign(unit, &mine, 0);
        sys$qio(EFN$C_ENF, mine, IO$_WRITEVBLK, 0, 0, 0, "unread", 6);
        _exit(0);
    }
    child_result(child);
    get(chan, IO$M_NOW, 10);
    block_is(SS$_ENDOFFILE, 0, "a write that nobody has read ends with its process");
    sys$dassgn(chan);
}

int main(void)
{
    messages();
    handshake();
    streams();
    full();
    room();
    sides();
    attention();
    completion();
    cancelled();
    names();
    permanent();
    protection();
    quotas();
    refused();
    information();
    ends();
    return tap_done();
}
