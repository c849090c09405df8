/*
 * A foreman and three workers: subprocesses that run the same image, and find out by the master of
 * their job what they are. They report by common event flags, and wait to be dismissed.
 */
#include <descrip.h>
#include <efndef.h>
#include <iledef.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <pqldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

#define WORKERS 3
#define READY   64 /* and one more for each worker */

static $DESCRIPTOR(cluster, "FOREMAN_FLAGS");

/* A quota list is packed: a byte and a longword. */
#pragma member_alignment save
#pragma nomember_alignment
struct quota {
    unsigned char code;
    unsigned int value;
};
#pragma member_alignment restore

static struct quota quotas[] = {{PQL$_ASTLM, 20}, {PQL$_TQELM, 8}, {PQL$_LISTEND, 0}};

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static unsigned int item(unsigned int pid, int code)
{
    unsigned int value = 0;

    check(lib$getjpi(&code, &pid, 0, &value));
    return value;
}

static int work(void)
{
    char name[16];
    unsigned short length;
    ILE3 items[] = {{15, JPI$_PRCNAM, name, &length}, {0, 0, 0, 0}};
    IOSB iosb;

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, &iosb, 0, 0));
    check(iosb.iosb$l_getxxi_status);
    check(sys$ascefc(READY, &cluster, 0, 0));
    check(sys$setef(READY + name[length - 1] - '0'));
    for (;;)
        sys$hiber();
}

int main(void)
{
    char path[256], text[16];
    unsigned short length;
    ILE3 items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};
    struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, path};
    struct dsc$descriptor_s name = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    unsigned int pid[WORKERS], limit;
    int i, status;

    if (item(0, JPI$_MASTER_PID) != item(0, JPI$_PID))
        return work();
    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    image.dsc$w_length = length;
    check(sys$ascefc(READY, &cluster, 0, 0));
    for (i = 0; i < WORKERS; i++) {
        name.dsc$w_length = sprintf(text, "WORKER_%d", i);
        check(sys$creprc(&pid[i], &image, 0, 0, 0, 0, quotas, &name, 4, 0, 0, 0));
    }
    status = sys$creprc(0, &image, 0, 0, 0, 0, 0, &name, 4, 0, 0, 0);
    printf("a second %s: %s\n", text, status == SS$_DUPLNAM ? "SS$_DUPLNAM" : "is made");
    check(sys$wfland(READY, (1 << WORKERS) - 1));
    printf("%u subprocesses report\n", item(0, JPI$_PRCCNT));
    limit = item(pid[0], JPI$_ASTLM);
    printf("a worker may have %u ASTs and %u timers\n", limit, item(pid[0], JPI$_TQLM));
    printf("its owner is %s\n", item(pid[0], JPI$_OWNER) == item(0, JPI$_PID) ? "me" : "not me");
    printf("its job is %s\n", item(pid[0], JPI$_MASTER_PID) == item(0, JPI$_PID) ? "mine" : "not");
    check(sys$delprc(0, &name));
    while (item(0, JPI$_PRCCNT) == WORKERS)
        ;
    printf("%s is dismissed: %u are left\n", text, item(0, JPI$_PRCCNT));
    check(sys$forcex(&pid[0], 0, SS$_NORMAL));
    while (item(0, JPI$_PRCCNT) == WORKERS - 1)
        ;
    printf("one more has gone by itself; the last one ends with me\n");
    return SS$_NORMAL;
}
