/*
 * Attention ASTs: the program hibernates; the AST routine reads every message that came without
 * being waited for, asks for attention again, and wakes the program at the last one. The caller is
 * a subprocess that runs the same image.
 */
#include <descrip.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

#define CALLS   5
#define LONGEST 40

typedef struct {
    unsigned short status, count;
    unsigned int pid;
} io_status_block;

static $DESCRIPTOR(line, "TELEPHONE");
static unsigned short chan;
static int calls, attentions;

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

static void enable(void);

static void ring(int magic)
{
    io_status_block iosb;
    char text[LONGEST];

    attentions++;
    for (;;) {
        check(
            sys$qiow(1, chan, IO$_READVBLK | IO$M_NOW, &iosb, 0, 0, text, sizeof text, 0, 0, 0, 0));
        if (iosb.status == SS$_ENDOFFILE)
            break;
        calls++;
        printf("call %d (%d): %.*s\n", calls, magic, iosb.count, text);
    }
    if (calls == CALLS)
        check(sys$wake(0, 0));
    else
        enable();
}

static void enable(void)
{
    io_status_block iosb;

    check(sys$qiow(2, chan, IO$_SETMODE | IO$M_WRTATTN, &iosb, 0, 0, ring, 1876, 0, 0, 0, 0));
    check(iosb.status);
}

/* What the subprocess does. */
static int caller(void)
{
    io_status_block iosb;
    char text[LONGEST];
    int i;

    check(sys$assign(&line, &chan, 0, 0));
    for (i = 1; i <= CALLS; i++) {
        sprintf(text, "this is caller %d", i);
        check(sys$qiow(0, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, text, strlen(text), 0, 0, 0,
                       0));
        check(iosb.status);
    }
    return SS$_NORMAL;
}

/* A subprocess that runs the same image. */
static void start(void)
{
    char path[256];
    unsigned short length;
    ILE3 items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};
    struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, path};

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    image.dsc$w_length = length;
    check(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0));
}

int main(void)
{
    io_status_block iosb;

    if (item(JPI$_MASTER_PID) != item(JPI$_PID))
        return caller();
    check(sys$crembx(0, &chan, LONGEST, 1000, 0, 0, &line));
    enable();
    start();
    check(sys$hiber());
    printf("%d calls, %s\n", calls,
           attentions >= 1 && attentions <= CALLS ? "no more attentions than calls" : "too many");
    check(sys$qiow(0, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, "later", 5, 0, 0, 0, 0));
    printf("the machine is off: %s\n", calls == CALLS ? "yes" : "no");
    check(sys$delmbx(chan));
    check(sys$dassgn(chan));
    return SS$_NORMAL;
}
