/*
 * A common event flag cluster: a process and its subprocess, which runs the same image, take turns
 * by two flags. What the subprocess says comes by a mailbox, its SYS$OUTPUT. The cluster is
 * temporary, so it is gone when the last one has left it.
 */
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

#define PING    64
#define PONG    65
#define ROUNDS  3
#define LONGEST 80

static $DESCRIPTOR(cluster, "TABLE_TENNIS");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static unsigned int item(int code)
{
    unsigned int value = 0;

    check(lib$getjpi(&code, 0, 0, &value));
    return value;
}

static void turn(int mine, int theirs, char *what, int round)
{
    check(sys$waitfr(mine));
    check(sys$clref(mine));
    printf("%s %d\n", what, round);
    fflush(stdout);
    check(sys$setef(theirs));
}

/* What the subprocess does. */
static int other(void)
{
    int i;

    check(sys$ascefc(PONG, &cluster, 0, 0));
    for (i = 1; i <= ROUNDS; i++)
        turn(PONG, PING, "    pong", i);
    check(sys$dacefc(PONG));
    return SS$_NORMAL;
}

/* A subprocess that runs the same image and writes to the mailbox. */
static void start(unsigned short chan)
{
    char path[256], device[64];
    unsigned short length, device_length;
    ILE3 items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};
    ILE3 of_mailbox[] = {{64, DVI$_DEVNAM, device, &device_length}, {0, 0, 0, 0}};
    struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, path};
    struct dsc$descriptor_s output = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, device};

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    check(sys$getdviw(EFN$C_ENF, chan, 0, of_mailbox, 0, 0, 0, 0));
    image.dsc$w_length = length;
    output.dsc$w_length = device_length;
    check(sys$creprc(0, &image, 0, &output, 0, 0, 0, 0, 4, 0, 0, 0));
}

/* Prints what the subprocess has said. 0: it says no more. */
static int hear(unsigned short chan)
{
    char text[LONGEST];
    IOSB iosb;

    check(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, text, sizeof text, 0, 0, 0, 0));
    if (iosb.iosb$w_status == SS$_ENDOFFILE)
        return 0;
    check(iosb.iosb$w_status);
    printf("%.*s\n", iosb.iosb$w_bcnt, text);
    return 1;
}

int main(void)
{
    int status, i;
    unsigned int flags;
    unsigned short chan;

    if (item(JPI$_MASTER_PID) != item(JPI$_PID))
        return other();
    status = sys$setef(PING);
    printf("before: %s\n", status == SS$_UNASEFC ? "not associated" : "associated");
    check(sys$ascefc(PING, &cluster, 0, 0));
    check(sys$crembx(0, &chan, LONGEST, 10 * LONGEST, 0, 0, 0));
    start(chan);
    check(sys$setef(PING));
    for (i = 1; i <= ROUNDS; i++) {
        turn(PING, PONG, "ping", i);
        hear(chan);
    }
    while (hear(chan))
        ;
    check(sys$dassgn(chan));
    check(sys$readef(PING, &flags));
    printf("afterwards the flags are %X\n", flags);
    check(sys$dacefc(PING));
    check(sys$ascefc(PING, &cluster, 0, 0));
    check(sys$readef(PING, &flags));
    printf("in a new cluster of that name %X\n", flags);
    check(sys$dacefc(PING));
    status = sys$ascefc(32, &cluster, 0, 0);
    printf("flag 32 is in no common cluster: %s\n", status == SS$_ILLEFC ? "SS$_ILLEFC" : "is");
    return SS$_NORMAL;
}
