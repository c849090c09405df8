/*
 * LIB$SPAWN: commands in subprocesses, with their completion status, an event flag, and an AST. The
 * commands are given, or are read by the command interpreter from a mailbox, and what it says goes
 * to another one.
 */
#include <clidef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <iosbdef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <lnmdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

#define LONGEST 255
#define NAME    64

static int done;

static void finished(int *which) { done |= *which; }

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static char *name_of(int status) { return $VMS_STATUS_SUCCESS(status) ? "success" : "failure"; }

/* A logical name that the subprocesses find too, because they belong to the same job. */
static void define(char *name, char *value)
{
    $DESCRIPTOR(job, "LNM$JOB");
    struct dsc$descriptor_s logical = {strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S, name};
    ILE3 items[] = {{strlen(value), LNM$_STRING, value, 0}, {0, 0, 0, 0}};

    check(sys$crelnm(0, &job, &logical, 0, items));
}

/* Makes a mailbox and puts the name of the device into the descriptor. */
static unsigned short mailbox(struct dsc$descriptor_s *device)
{
    unsigned short chan, length;
    ILE3 items[] = {{NAME, DVI$_DEVNAM, device->dsc$a_pointer, &length}, {0, 0, 0, 0}};

    check(sys$crembx(0, &chan, LONGEST, 8 * LONGEST, 0, 0, 0));
    check(sys$getdviw(EFN$C_ENF, chan, 0, items, 0, 0, 0, 0));
    device->dsc$w_length = length;
    return chan;
}

/* Prints what the logical names are, as SHOW LOGICAL says between quotation marks; up to the end of
 * the output. */
static void listen(unsigned short chan)
{
    char text[LONGEST + 1], *value;
    IOSB iosb;

    for (;;) {
        check(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, text, LONGEST, 0, 0, 0, 0));
        if (iosb.iosb$w_status == SS$_ENDOFFILE)
            return;
        check(iosb.iosb$w_status);
        text[iosb.iosb$w_bcnt] = '\0';
        value = strstr(text, "= \"");
        if (value)
            printf("%.*s\n", (int)strcspn(value + 3, "\""), value + 3);
    }
}

static void command(unsigned short chan, char *text)
{
    IOSB iosb;

    check(sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, text, strlen(text), 0, 0,
                   0, 0));
    check(iosb.iosb$w_status);
}

int main(void)
{
    $DESCRIPTOR(hello, "show logical HELLO");
    $DESCRIPTOR(fails, "no_such_command");
    $DESCRIPTOR(handle, "SLOWCOACH");
    static char in[NAME], out[NAME];
    static struct dsc$descriptor_s input = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, in};
    static struct dsc$descriptor_s output = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, out};
    static int first = 1, second = 2;
    unsigned int flags = CLI$M_NOWAIT, pid = 0, wrong = 0x40000000;
    int status = 0, hello_status = 0, several_status = 0, slow_status = 0, flag;
    unsigned short commands, words;
    unsigned char efn;
    IOSB iosb;

    commands = mailbox(&input);
    words = mailbox(&output);
    define("HELLO", "hello from a subprocess");
    define("FIRST", "one");
    define("SECOND", "two");
    check(lib$get_ef(&flag));
    efn = flag;

    check(lib$spawn(&hello, 0, &output, &flags, 0, 0, &hello_status, &efn));
    listen(words);
    check(sys$waitfr(flag));
    printf("the command ended with a %s\n", name_of(hello_status));
    check(lib$spawn(&fails, 0, 0, 0, 0, 0, &status));
    printf("the next one with a %s\n", name_of(status));

    check(lib$spawn(0, &input, &output, &flags, 0, &pid, &several_status, &efn, finished, &first));
    printf("without a wait: %s\n", pid && !several_status ? "it runs" : "it has ended");
    command(commands, "show logical FIRST");
    command(commands, "show logical SECOND");
    check(sys$qiow(EFN$C_ENF, commands, IO$_WRITEOF | IO$M_NOW, &iosb, 0, 0, 0, 0, 0, 0, 0, 0));
    listen(words);
    check(sys$waitfr(flag));
    while (!(done & first))
        ;
    printf("the flag is set, the AST was delivered: a %s\n", name_of(several_status));

    /* It gets no commands, so it waits for them. */
    check(lib$spawn(0, &input, 0, &flags, &handle, &pid, &slow_status, &efn, finished, &second));
    check(sys$delprc(0, &handle));
    check(sys$waitfr(flag));
    printf("a subprocess that is deleted: %s\n", slow_status == SS$_ABORT ? "SS$_ABORT" : "?");
    check(lib$free_ef(&flag));
    status = lib$spawn(&hello, 0, 0, &wrong);
    printf("an unknown flag: %s\n", status == LIB$_INVARG ? "LIB$_INVARG" : "accepted");
    return SS$_NORMAL;
}
