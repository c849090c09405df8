// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * Mailboxes as the input and output of a process of $CREPRC: what poll and epoll say, attention for
 * a reader that waits already, and what is left of a reader or a writer that is killed while it
 * waits. This program is the image of the process, too: the first line of its input is what it is
 * to do.
 */
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iodef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <poll.h>
#include <ssdef.h>
#include <starlet.h>
#include <statedef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define IMAGE "/tests/mailbox_files"
#define LINE  80   /* bytes of the longest message */
#define ROOM  LINE /* of the output: one such message, and no other */

typedef struct dsc$descriptor_s STRING;

static STRING string(const char *s)
{
    return (STRING){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)s};
}

static uint64_t jpi(unsigned int pid, int code)
{
    uint64_t value = 0;
    int status = lib$getjpi(&code, &pid, 0, &value);

    return status & 1 ? value : ~0ul;
}

/* ---- the subprocess ---- */

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(1);
}

static void fill(void)
{
    char line[LINE + 1];

    memset(line, 'x', LINE);
    line[LINE] = '\0';
    say(line);
}

static int events(int fd, int wanted, int timeout)
{
    struct pollfd p = {.fd = fd, .events = (short)wanted};

    return poll(&p, 1, timeout) < 0 ? -1 : p.revents;
}

/* Both ends, with and without waiting. */
static void child_polls(void)
{
    int got[7], epoll = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN}, told = {0};
    char line[LINE + 1];

    got[0] = events(0, POLLIN | POLLOUT, 0); /* nothing, and it is not for writing */
    got[1] = events(1, POLLIN | POLLOUT, 0); /* room */
    fill();
    got[2] = events(1, POLLIN | POLLOUT, 0); /* none left */
    got[3] = events(1, POLLOUT, -1);         /* until it is read */
    got[4] = events(0, POLLIN, -1);          /* until a message comes */
    if (read(0, line, sizeof(line)) <= 0 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &e))
        _exit(1);
    got[5] = events(0, POLLIN, 0); /* it is read */
    if (epoll_wait(epoll, &told, 1, -1) != 1)
        _exit(1);
    got[6] = (int)told.events;
    snprintf(line, sizeof(line), "%d %d %d %d %d %d %d", got[0], got[1], got[2], got[3], got[4],
             got[5], got[6]);
    say(line);
}

static void child_reads(void)
{
    char line[LINE + 1];
    ssize_t n = read(0, line, LINE);

    if (n > 0 && write(1, line, (size_t)n) != n)
        _exit(1);
}

static void run_as_subprocess(void)
{
    char order[LINE] = "";
    ssize_t n = read(0, order, sizeof(order) - 1);

    if (n > 0)
        order[n - 1] = '\0';
    if (strcmp(order, "poll") == 0)
        child_polls();
    if (strcmp(order, "read") == 0)
        child_reads();
    if (strcmp(order, "write") == 0) {
        fill();
        fill();
    }
    _exit(0);
}

/* ---- its owner ---- */

static unsigned short in, out;
static unsigned int pid;

static unsigned short mailbox(const char *name, int most)
{
    STRING logical = string(name);
    unsigned short chan = 0;

    if (sys$crembx(0, &chan, LINE, most, 0, 0, &logical) != SS$_NORMAL)
        bail_out("no mailbox");
    return chan;
}

static int put(const char *line)
{
    return sys$qiow(EFN$C_ENF, in, IO$_WRITEVBLK | IO$M_NOW, 0, 0, 0, (void *)line, strlen(line), 0,
                    0, 0, 0);
}

/* The next message that the process has written; *mark: it is a mark. */
static const char *get(void)
{
    static char line[LINE + 1];
    struct _iosb iosb;

    sys$qiow(EFN$C_ENF, out, IO$_READVBLK, &iosb, 0, 0, line, LINE, 0, 0, 0, 0);
    line[iosb.iosb$w_bcnt] = '\0';
    return iosb.iosb$w_status == SS$_ENDOFFILE ? "(the end)" : line;
}

/* How many messages there are that nobody has read. */
static unsigned messages(unsigned short chan)
{
    struct _iosb iosb;

    sys$qiow(EFN$C_ENF, chan, IO$_SENSEMODE, &iosb, 0, 0, 0, 0, 0, 0, 0, 0);
    return iosb.iosb$w_bcnt;
}

static void start(const char *order)
{
    STRING image = string(IMAGE), input = string("FILES_IN"), output = string("FILES_OUT");

    in = mailbox("FILES_IN", 512);
    out = mailbox("FILES_OUT", ROOM);
    put(order);
    is_status(sys$creprc(&pid, &image, &input, &output), SS$_NORMAL, "a process: %s", order);
}

/* Until it has read all of its input and written so many messages, and waits in that state. */
static void until_it_waits(unsigned written, unsigned state)
{
    while (messages(in) || messages(out) != written || jpi(pid, JPI$_STATE) != state)
        usleep(1000);
}

static void stop(void)
{
    while (sys$suspnd(&pid) != SS$_NONEXPR)
        usleep(1000);
    sys$dassgn(in);
    sys$dassgn(out);
}

static void is_gone(const char *name)
{
    STRING device = string(name);
    unsigned short chan;

    is_status(sys$assign(&device, &chan, 0, 0), SS$_NOSUCHDEV, "%s has gone", name);
}

static void polls(void)
{
    char expected[LINE];

    start("poll");
    until_it_waits(1, SCH$C_LEF);
    is(strlen(get()), LINE, "the message that fills the mailbox");
    until_it_waits(0, SCH$C_LEF);
    put("for poll");
    until_it_waits(0, SCH$C_LEF);
    put("for epoll");
    snprintf(expected, sizeof(expected), "0 %d 0 %d %d 0 %d", POLLOUT, POLLOUT, POLLIN, EPOLLIN);
    is_str(get(), expected, "what poll and epoll say");
    is_str(get(), "(the end)", "its end");
    stop();
}

static volatile unsigned told;

static void attention(unsigned long parameter)
{
    (void)parameter;
    told++;
}

static int ask_for_readers(void)
{
    return sys$qiow(EFN$C_ENF, in, IO$_SETMODE | IO$M_READATTN, 0, 0, 0, (void *)attention, 7, 0, 0,
                    0, 0);
}

static void later_attention(void)
{
    start("read");
    is(ask_for_readers(), SS$_NORMAL, "attention before it reads");
    until_it_waits(0, SCH$C_LEF);
    is(told, 1, "is told of the read");
    is(ask_for_readers(), SS$_NORMAL, "attention while it waits");
    is(told, 2, "is told at once");
    put("a line");
    is_str(get(), "a line", "it gets the line");
    is_str(get(), "(the end)", "and ends");
    is(ask_for_readers(), SS$_NORMAL, "attention after that");
    is(told, 2, "has nobody to tell of");
    stop();
    is_gone("FILES_IN");
}

static void kill_it(void)
{
    is(kill((pid_t)jpi(pid, JPI$_PID), SIGKILL), 0, "killed");
    while (sys$suspnd(&pid) != SS$_NONEXPR)
        usleep(1000);
}

static void killed_reader(void)
{
    struct _iosb iosb;

    told = 0;
    start("read");
    until_it_waits(0, SCH$C_LEF);
    kill_it();
    is(ask_for_readers(), SS$_NORMAL, "attention after the end of a reader that waited");
    is(told, 0, "finds none");
    sys$qiow(EFN$C_ENF, in, IO$_WRITEVBLK | IO$M_NOW | IO$M_READERCHECK, &iosb, 0, 0, "x", 1, 0, 0,
             0, 0);
    is(messages(in), 1, "a message stays: this program's channel may read, too");
    is_str(get(), "(the end)", "its output has ended");
    stop();
    is_gone("FILES_IN");
    is_gone("FILES_OUT");
}

static void killed_writer(void)
{
    start("write");
    until_it_waits(1, SCH$C_LEF);
    kill_it();
    is(messages(out), 1, "of a writer that waited for room the first message is left");
    is(strlen(get()), LINE, "whole");
    is(messages(out), 0, "and nothing else: there was no room for a mark");
    is(put("x"), SS$_NORMAL, "its input can be written");
    stop();
    is_gone("FILES_OUT");
}

int main(void)
{
    if (getpid() != 1) /* no service here, which would say in its output what it returns */
        run_as_subprocess();
    polls();
    later_attention();
    killed_reader();
    killed_writer();
    return tap_done();
}
