/*
 * Termination mailboxes: a process makes subprocesses that run the same image, and learns from the
 * messages in its mailbox how each of them ended, one of them by its quota of CPU time.
 */
#include <accdef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <msgdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

#define CPU_TIME 1 /* flag of SYS$SETIMR */

static $DESCRIPTOR(half_a_second, "0 00:00:00.50");

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

/* An AST routine. */
static void too_long(int id) { sys$exit(SS$_EXCPUTIM); }

/* The last character of the process's name says how it is to end. */
static int subprocess(void)
{
    char name[16];
    unsigned short length;
    ILE3 items[] = {{15, JPI$_PRCNAM, name, &length}, {0, 0, 0, 0}};
    __int64 limit;

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    switch (name[length - 1]) {
    case '1':
        return SS$_NORMAL;
    case '2':
        return SS$_NOTINSEC;
    case '3':
        check(sys$bintim(&half_a_second, &limit));
        check(sys$setimr(EFN$C_ENF, &limit, too_long, 1, CPU_TIME));
        for (;;)
            ;
    default:
        for (;;)
            sys$hiber();
    }
}

static void tell(const char *name, const struct accdef *message, const IOSB *iosb)
{
    char text[64];
    struct dsc$descriptor_s line = {sizeof(text), DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    unsigned short length = 0;

    check(lib$sys_getmsg(&message->acc$l_finalsts, &length, &line));
    printf("%s: %.*s\n", name, length, text);
    if (message->acc$w_msgtyp != MSG$_DELPROC || iosb->iosb$w_bcnt < ACC$K_TERMLEN ||
        message->acc$l_owner != item(JPI$_PID))
        printf("  but that is no message of a process's end\n");
    if (message->acc$l_cputim >= 50)
        printf("  after half a second of CPU time\n");
}

int main(void)
{
    static struct accdef message;
    static struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S};
    char path[256], text[16];
    unsigned short chan, length;
    ILE3 items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};
    struct dsc$descriptor_s name = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    unsigned int pid, unit;
    int i, code = DVI$_UNIT;
    IOSB iosb;

    if (item(JPI$_MASTER_PID) != item(JPI$_PID))
        return subprocess();
    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    image.dsc$w_length = length;
    image.dsc$a_pointer = path;
    check(sys$crembx(0, &chan, ACC$K_TERMLEN, 4 * ACC$K_TERMLEN, 0, 0, 0));
    check(lib$getdvi(&code, &chan, 0, &unit));
    for (i = 1; i <= 4; i++) {
        name.dsc$w_length = sprintf(text, "PROCESS_%d", i);
        check(sys$creprc(&pid, &image, 0, 0, 0, 0, 0, &name, 4, 0, unit, 0));
        if (i == 4)
            check(sys$delprc(&pid, 0));
        check(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, &message, sizeof(message), 0, 0,
                       0, 0));
        check(iosb.iosb$w_status);
        if (message.acc$l_pid != pid || iosb.iosb$l_pid != pid)
            printf("somebody else has ended\n");
        tell(text, &message, &iosb);
    }
    return sys$dassgn(chan);
}
