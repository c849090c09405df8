// TAP
// RUN: -m 256M
/*
 * Terminals by $ASSIGN and $QIO: a process with a pseudo-terminal as its controlling terminal and
 * its first three descriptors reads and writes; the test is at the other end.
 */
#define _GNU_SOURCE
#include <dcdef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <fcntl.h>
#include <iodef.h>
#include <lib$routines.h>
#include <poll.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <tap.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* What a process that is tested reports, after which it waits for the next letter. */
static int report[2];
static int go[2]; /* and this is the letter */
static char letter;
static char seen[4096]; /* what came out of the terminal since the last step */
static int master;

static struct _iosb iosb;
static char buffer[256];
static $DESCRIPTOR(tt, "TT");
static $DESCRIPTOR(input, "SYS$INPUT");
static $DESCRIPTOR(output, "SYS$OUTPUT:");
static $DESCRIPTOR(command, "SYS$COMMAND");

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* ---- the process under test ---- */

static void say(unsigned status)
{
    char line[300];
    int n = snprintf(line, sizeof(line), "%u %u %u %u %.*s\n", status, iosb.iosb$w_status,
                     iosb.iosb$w_bcnt, iosb.iosb$l_dev_depend, (int)iosb.iosb$w_bcnt, buffer);

    if (write(report[1], line, (size_t)n) != n)
        _exit(99);
    memset(buffer, 0, sizeof(buffer));
    memset(&iosb, 0, sizeof(iosb));
}

static volatile int calls;
static void noted(void) { calls++; }

static void test_writes(unsigned short chan)
{
    static const unsigned controls[] = {0, ' ', '0', '1', '+', '$', 0x02010000, 0x8A8D0000};

    for (unsigned i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
        say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK, &iosb, 0, 0, "text", 4, 0,
                               controls[i]));
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOFORMAT, &iosb, 0, 0, "raw", 3, 0,
                           ' '));
}

static void test_reads(unsigned short chan)
{
    unsigned status = (unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 80);
    char last = buffer[iosb.iosb$w_bcnt];

    say(status);
    say((unsigned)last); /* the end of the line, in the buffer */
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 80, 0, 1));
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READPROMPT, &iosb, 0, 0, buffer, 80, 0, 0, "name? ",
                           6));
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 3));
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 80));
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 80)); /* ^D */
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_TIMED, &iosb, 0, 0, buffer, 80, 1));
    say(1); /* a line is typed, and then a letter on the pipe */
    if (read(go[0], &letter, 1) != 1)
        _exit(98);
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_PURGE, &iosb, 0, 0, buffer, 80));
    say((unsigned)sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 80));
}

static void test_requests(unsigned short chan)
{
    static struct _iosb second;
    unsigned status = (unsigned)sys$qio(9, chan, IO$_READVBLK, &iosb, noted, 0, buffer, 80);

    say(status); /* nothing was typed yet */
    sys$waitfr(9);
    for (int i = 0; i < 100 && !calls; i++)
        nap(1);
    say((unsigned)calls);
    sys$qio(9, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 80);
    sys$qio(10, chan, IO$_READVBLK, &second, 0, 0, buffer, 80);
    sys$cancel(chan);
    sys$synch(9, &iosb);
    say(1);
    sys$synch(10, &second);
    iosb = second;
    say(1);
    sys$qio(9, chan, IO$_READVBLK, &iosb, 0, 0, buffer, 80);
    sys$dassgn(chan);
    sys$synch(9, &iosb);
    say(1);
}

static int under_test(const char *name)
{
    static char device[32];
    static struct dsc$descriptor_s text = {sizeof(device), DSC$K_DTYPE_T, DSC$K_CLASS_S, device};
    unsigned short in = 0, out = 0, both = 0;
    int item = DVI$_DEVCLASS, fd;
    unsigned class = 0;

    mega$service_hook = 0; /* its remarks would go to the terminal */
    setsid();
    fd = open(name, O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    say((unsigned)sys$assign(&input, &in, 0, 0, 0));
    say((unsigned)sys$assign(&output, &out, 0, 0, 0));
    say((unsigned)sys$assign(&tt, &both, 0, 0, 0));
    lib$getdvi(&item, &in, 0, &class);
    say(class);
    item = DVI$_DEVNAM;
    lib$getdvi(&item, 0, &command, 0, &text);
    iosb.iosb$w_bcnt = 5;
    memcpy(buffer, device, 5);
    say(1);
    test_writes(out);
    test_reads(both);
    test_requests(in);
    return 0;
}

/* ---- the other end ---- */

/* Reads what has come out of the terminal until it ends with this, for five seconds. */
static void comes(const char *want, const char *what)
{
    size_t n = strlen(want), have = 0;
    struct pollfd p = {.fd = master, .events = POLLIN};

    while (have < sizeof(seen) - 1 && !(have >= n && memcmp(seen + have - n, want, n) == 0) &&
           poll(&p, 1, 5000) == 1) {
        ssize_t r = read(master, seen + have, 1);

        if (r <= 0)
            break;
        have++;
    }
    ok(have == n && memcmp(seen, want, n) == 0, "%s: %zu characters", what, have);
}

static void type(const char *text)
{
    if (write(master, text, strlen(text)) < 0)
        perror("master");
}

static void reported(const char *want, const char *what)
{
    static char line[300];
    size_t n = 0;
    struct pollfd p = {.fd = report[0], .events = POLLIN};

    while (n < sizeof(line) - 1 && poll(&p, 1, 5000) == 1 && read(report[0], line + n, 1) == 1 &&
           line[n] != '\n')
        n++;
    line[n] = '\0';
    is_str(line, want, "%s", what);
}

#define BLOCK(count, end, text) "1 1 " count " " end " " text
#define RETURN                  "65549" /* character 13, one of them */

static void writes(void)
{
    reported(BLOCK("4", "0", ""), "a write without control");
    comes("text", "its text");
    reported(BLOCK("4", "0", ""), "a new line before, a return after");
    comes("\r\ntext\r", "blank");
    reported(BLOCK("4", "0", ""), "two new lines");
    comes("\r\n\r\ntext\r", "0");
    reported(BLOCK("4", "0", ""), "a new page");
    comes("\ftext\r", "1");
    reported(BLOCK("4", "0", ""), "no new line");
    comes("text\r", "+");
    reported(BLOCK("4", "0", ""), "no return");
    comes("\r\ntext", "$");
    reported(BLOCK("4", "0", ""), "counts of new lines");
    comes("\r\r\ntext\r\r\n\r\r\n", "one before, two after");
    reported(BLOCK("4", "0", ""), "control characters");
    comes("\rtext\r\n", "a return before, a line feed after");
    reported(BLOCK("3", "0", ""), "without format");
    comes("raw", "nothing is added");
}

static void reads(void)
{
    type("first line\n");
    reported(BLOCK("10", RETURN, "first line"), "a line is read");
    reported("13 0 0 0 ", "its end is in the buffer as the block says");
    reported("20 0 0 0 ", "no other ends can be asked for"); /* SS$_BADPARAM */
    comes("first line\r\nname? ", "its echo, and a prompt");
    type("megalith\n");
    reported(BLOCK("8", RETURN, "megalith"), "what was asked for");
    type("abcdef\n");
    reported(BLOCK("3", "0", "abc"), "a full buffer");
    reported(BLOCK("3", RETURN, "def"), "the rest of the line");
    type("\004");
    reported("1 2160 0 65562 ", "the end of the input");
    reported("1 556 0 0 ", "a second without a character");
    comes("megalith\r\nabcdef\r\n", "the echo");
    reported("1 0 0 0 ", "a line is to be typed ahead");
    type("ahead\n");
    comes("ahead\r\n", "its echo");
    if (write(go[1], "g", 1) != 1)
        perror("go");
    nap(300); /* the read has purged it, and waits */
    type("after\n");
    reported(BLOCK("5", RETURN, "after"), "IO$M_PURGE has dropped what was typed before");
    type("plain\n");
    reported(BLOCK("5", RETURN, "plain"), "without it nothing is dropped");
    comes("after\r\nplain\r\n", "the echo");
}

static void requests(void)
{
    reported("1 0 0 0 ", "a read is queued");
    type("later\n");
    reported(BLOCK("5", RETURN, "later"), "and has its AST when a line comes");
    reported("1 44 0 0 ", "the read in progress is aborted"); /* SS$_ABORT */
    reported("1 2096 0 0 ", "the one behind it cancelled");   /* SS$_CANCEL */
    reported("1 44 0 0 ", "the channel is deassigned");
}

int main(void)
{
    int status = -1;
    pid_t child;

    master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master);
    unlockpt(master);
    if (pipe(report) != 0 || pipe(go) != 0)
        return 1;
    child = fork();
    if (child == 0)
        _exit(under_test(ptsname(master)));
    reported("1 0 0 0 ", "SYS$INPUT is assigned");
    reported("1 0 0 0 ", "SYS$OUTPUT is assigned");
    reported("1 0 0 0 ", "TT is assigned");
    reported("66 0 0 0 ", "a terminal");
    reported("1 0 5 0 _FTA0", "its name");
    writes();
    reads();
    requests();
    waitpid(child, &status, 0);
    is((unsigned long)status, 0, "the process ends");
    return tap_done();
}
