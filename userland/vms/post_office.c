/*
 * A mailbox with a logical name: a subprocess, which runs the same image, finds it by the name and
 * sends letters; an end of file is the last one. The status block of each read tells how long the
 * letter is and who sent it, that of each write who has read it. A termination mailbox tells how
 * the subprocess ended.
 */
#include <accdef.h>
#include <descrip.h>
#include <dvidef.h>
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

#define LONGEST 64

typedef struct {
    unsigned short status, count;
    unsigned int pid;
} io_status_block;

static $DESCRIPTOR(box, "POST_OFFICE");

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

/* What the subprocess does. */
static int sender(void)
{
    static char *letters[] = {"Dear parent,", "all is well here.", ""};
    io_status_block iosb;
    unsigned short chan;
    int i, status = SS$_NORMAL;

    check(sys$assign(&box, &chan, 0, 0));
    for (i = 0; i < 3; i++) {
        check(sys$qiow(0, chan, IO$_WRITEVBLK, &iosb, 0, 0, letters[i], strlen(letters[i]), 0, 0, 0,
                       0));
        check(iosb.status);
        if (iosb.pid != item(JPI$_OWNER))
            status = SS$_NOPRIV; /* a stranger has read it */
    }
    check(sys$qiow(0, chan, IO$_WRITEOF, &iosb, 0, 0, 0, 0, 0, 0, 0, 0));
    check(sys$dassgn(chan));
    return status;
}

/* A subprocess that runs the same image, and the unit of the mailbox that learns of its end. */
static unsigned int start(unsigned short ends)
{
    char path[256];
    unsigned short length;
    unsigned int pid, unit;
    int code = DVI$_UNIT;
    ILE3 items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};
    struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, path};

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    image.dsc$w_length = length;
    check(lib$getdvi(&code, &ends, 0, &unit));
    check(sys$creprc(&pid, &image, 0, 0, 0, 0, 0, 0, 4, 0, unit, 0));
    return pid;
}

int main(void)
{
    io_status_block iosb;
    unsigned short chan, ends, again;
    char letter[LONGEST];
    unsigned int child;
    static struct accdef end;
    int status, n = 0;

    if (item(JPI$_MASTER_PID) != item(JPI$_PID))
        return sender();
    check(sys$crembx(0, &chan, LONGEST, 4 * LONGEST, 0, 0, &box));
    check(sys$crembx(0, &ends, ACC$K_TERMLEN, ACC$K_TERMLEN, 0, 0, 0));
    child = start(ends);
    for (;;) {
        check(sys$qiow(0, chan, IO$_READVBLK, &iosb, 0, 0, letter, sizeof letter, 0, 0, 0, 0));
        if (iosb.status == SS$_ENDOFFILE)
            break;
        check(iosb.status);
        printf("letter %d of %d characters from %s: \"%.*s\"\n", ++n, iosb.count,
               iosb.pid == child ? "the subprocess" : "a stranger", iosb.count, letter);
    }
    printf("end of file after %d letters\n", n);
    check(sys$qiow(0, ends, IO$_READVBLK, &iosb, 0, 0, &end, sizeof end, 0, 0, 0, 0));
    printf("the sender has read the right names: %s\n",
           end.acc$l_pid == child && end.acc$l_finalsts == SS$_NORMAL ? "yes" : "no");
    check(
        sys$qiow(0, chan, IO$_READVBLK | IO$M_NOW, &iosb, 0, 0, letter, sizeof letter, 0, 0, 0, 0));
    printf("the box is %s\n", iosb.status == SS$_ENDOFFILE ? "empty" : "not empty");
    check(sys$dassgn(chan));
    status = sys$assign(&box, &again, 0, 0);
    printf("and gone: %s\n", $VMS_STATUS_SUCCESS(status) ? "no" : "yes");
    return SS$_NORMAL;
}
