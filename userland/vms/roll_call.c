/*
 * $PROCESS_SCAN: of the processes of one job, those whose names fit a pattern, in the order of
 * their numbers; and what is common to them. The subprocesses are to run the same image, but
 * hibernate before that begins.
 */
#include <descrip.h>
#include <efndef.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <prcdef.h>
#include <pscandef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

/* An item of the scan: its third part has flags instead of an address. */
struct criterion {
    unsigned short length, code;
    void *value;
    unsigned __int64 flags;
};

struct item {
    unsigned short length, code;
    void *buffer;
    unsigned short *return_length;
};

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void make(char *text)
{
    struct dsc$descriptor_s name = {strlen(text), DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    char path[256];
    unsigned short length;
    struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, path};
    struct item items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    image.dsc$w_length = length;
    check(sys$creprc(0, &image, 0, 0, 0, 0, 0, &name, 3, 0, 0, PRC$M_HIBER));
}

static void call(char *what, struct criterion *list)
{
    unsigned int context = 0, me, owner, priority;
    unsigned short length;
    char name[16];
    struct item items[] = {{15, JPI$_PRCNAM, name, &length},
                           {4, JPI$_OWNER, &owner, 0},
                           {4, JPI$_PRIB, &priority, 0},
                           {0, 0, 0, 0}};
    IOSB iosb;
    int status, code = JPI$_PID;

    check(lib$getjpi(&code, 0, 0, &me));
    printf("%s:", what);
    check(sys$process_scan(&context, list));
    for (;;) {
        status = sys$getjpiw(EFN$C_ENF, &context, 0, items, &iosb, 0, 0);
        if (status == SS$_NOMOREPROC)
            break;
        check(status);
        check(iosb.iosb$l_getxxi_status);
        printf(" %.*s(%u%s)", length, name, priority, owner == me ? "" : ", not mine");
    }
    printf("\n");
}

int main(void)
{
    static struct criterion by_name[] = {{5, PSCAN$_PRCNAM, "JOAN*", PSCAN$M_WILDCARD}, {0}};
    static struct criterion blind[] = {
        {4, PSCAN$_PRCNAM, "*ine", PSCAN$M_WILDCARD | PSCAN$M_CASE_BLIND}, {0}};
    static struct criterion either[] = {
        {4, PSCAN$_PRCNAM, "JOAN", PSCAN$M_OR}, {7, PSCAN$_PRCNAM, "MARTINE", PSCAN$M_EQL}, {0}};
    static struct criterion low[] = {{0, PSCAN$_PRIB, (void *)3, PSCAN$M_LEQ},
                                     {0, PSCAN$_OWNER, (void *)0, PSCAN$M_NEQ},
                                     {4, PSCAN$_PRCNAM, "JOAN", PSCAN$M_NEQ},
                                     {0}};
    static struct criterion none[] = {{5, PSCAN$_PRCNAM, "PETER", 0}, {0}};
    static struct criterion wrong[] = {{0, PSCAN$_PRCNAM, "", 0}, {0}};
    unsigned int context = 0, status;

    make("JOAN");
    make("JOANNA");
    make("MARTINE");
    call("by a pattern", by_name);
    call("whatever the case", blind);
    call("one of two names", either);
    call("subprocesses of low priority, but for one", low);
    call("nobody", none);
    status = sys$process_scan(&context, wrong);
    printf("an empty name: %s\n", status == SS$_IVBUFLEN ? "SS$_IVBUFLEN" : "accepted");
    return SS$_NORMAL;
}
