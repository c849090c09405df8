/*
 * Attention ASTs: the program hibernates; the AST routine reads every message that came without
 * being waited for, asks for attention again, and wakes the program at the last one.
 */
#include <descrip.h>
#include <iodef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 5

typedef struct {
    unsigned short status, count;
    unsigned int pid;
} io_status_block;

static unsigned short chan;
static int calls, attentions;

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void enable(void);

static void ring(int magic)
{
    io_status_block iosb;
    char text[40];

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

int main(void)
{
    $DESCRIPTOR(line, "TELEPHONE");
    io_status_block iosb;
    char text[40];
    int i;

    check(sys$crembx(0, &chan, sizeof text, 1000, 0, 0, &line));
    enable();
    if (fork() == 0) {
        check(sys$assign(&line, &chan, 0, 0));
        for (i = 1; i <= CALLS; i++) {
            sprintf(text, "this is caller %d", i);
            check(sys$qiow(0, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, text, strlen(text), 0, 0,
                           0, 0));
        }
        _exit(0);
    }
    check(sys$hiber());
    wait(0);
    printf("%d calls, %s\n", calls,
           attentions >= 1 && attentions <= CALLS ? "no more attentions than calls" : "too many");
    check(sys$qiow(0, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, "later", 5, 0, 0, 0, 0));
    printf("the machine is off: %s\n", calls == CALLS ? "yes" : "no");
    check(sys$delmbx(chan));
    check(sys$dassgn(chan));
    return SS$_NORMAL;
}
