/*
**  $GETJPI: items of the caller in two chained lists, then of every process that
**  the caller may ask about.
*/
#define __NEW_STARLET 1

#include <efndef>
#include <iledef>
#include <iosbdef>
#include <jpidef>
#include <lib$routines>
#include <prvdef>
#include <ssdef>
#include <starlet>
#include <stdio>
#include <stdlib>
#include <string>
#include <stsdef>
#include <uicdef>
#include <unixlib>

static unsigned int pid, owner, mode, cputim, bufio, dirio, usertim, krnltim, threads;
static unsigned short imagname_len, username_len;
static char imagname[256], username[13];
static UICDEF uic;
static PRVDEF curpriv, authpriv, imagpriv;
static unsigned __int64 logintim;

static ILE3 second_list[] = {{sizeof curpriv, JPI$_CURPRIV, &curpriv, 0},
                             {sizeof authpriv, JPI$_AUTHPRIV, &authpriv, 0},
                             {sizeof imagpriv, JPI$_IMAGPRIV, &imagpriv, 0},
                             {sizeof logintim, JPI$_LOGINTIM, &logintim, 0},
                             {sizeof cputim, JPI$_CPUTIM, &cputim, 0},
                             {sizeof usertim, JPI$_USERTIM, &usertim, 0},
                             {sizeof krnltim, JPI$_KRNLTIM, &krnltim, 0},
                             {sizeof bufio, JPI$_BUFIO, &bufio, 0},
                             {sizeof dirio, JPI$_DIRIO, &dirio, 0},
                             {sizeof threads, JPI$_KT_COUNT, &threads, 0},
                             {0, 0, 0, 0}};

static ILE3 first_list[] = {{sizeof pid, JPI$_PID, &pid, 0},
                            {sizeof owner, JPI$_OWNER, &owner, 0},
                            {sizeof uic, JPI$_UIC, &uic, 0},
                            {sizeof mode, JPI$_MODE, &mode, 0},
                            {sizeof username - 1, JPI$_USERNAME, username, &username_len},
                            {sizeof imagname - 1, JPI$_IMAGNAME, imagname, &imagname_len},
                            {0, JPI$_CHAIN, second_list, 0},
                            {0, 0, 0, 0}};

static void compute(void)
{
    volatile unsigned int i;

    for (i = 0; i < 60000000; i++)
        ;
}

main()
{
    IOSB iosb;
    int status, found = 0, myself = 0;
    unsigned int wild = -1, one;
    ILE3 search[2] = {{sizeof one, JPI$_PID, &one, 0}, {0, 0, 0, 0}};

    compute();
    status = sys$getjpiw(EFN$C_ENF, 0, 0, first_list, &iosb, 0, 0);
    if ($VMS_STATUS_SUCCESS(status))
        status = iosb.iosb$l_getxxi_status;
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);

    imagname[imagname_len] = username[username_len] = '\0';
    printf("Image %s, user \"%s\" of %d characters, UIC [%o,%o], %s\n", imagname, username,
           username_len, uic.uic$v_group, uic.uic$v_member,
           mode == JPI$K_INTERACTIVE ? "interactive" : "not interactive");
    printf("The process is %s, %s\n", pid == (unsigned)getpid() ? "the caller" : "another",
           threads == 1 ? "with one thread" : "with several threads");
    printf("CMKRNL %s, TMPMBX %s, SECURITY %s; authorised for %s; the image has %s\n",
           curpriv.prv$v_cmkrnl ? "yes" : "no", curpriv.prv$v_tmpmbx ? "yes" : "no",
           curpriv.prv$v_security ? "yes" : "no",
           authpriv.prv$l_l1_bits == 0xFFFFFFFF && authpriv.prv$l_l2_bits == 0x7F ? "everything"
                                                                                  : "less",
           imagpriv.prv$l_l1_bits | imagpriv.prv$l_l2_bits ? "some" : "none");
    printf("CPU time: %s, the sum of both modes: %s; direct I/O %d\n", cputim > 0 ? "some" : "none",
           cputim - usertim - krnltim <= 1 ? "yes" : "no", dirio);
    /* Quadwords count 100 ns from 1858: this is 1-JAN-2020. */
    printf("Logged in: %s\n", logintim > 0x00B4A3BEDFB1C000 ? "in this decade" : "long ago");

    while ((status = SYS$GETJPIW(EFN$C_ENF, &wild, 0, search, &iosb, 0, 0)) != SS$_NOMOREPROC) {
        if (status == SS$_NOPRIV || status == SS$_SUSPENDED)
            continue;
        if (!$VMS_STATUS_SUCCESS(status))
            lib$stop(status);
        found++;
        myself += one == pid;
    }
    printf("The search found %s process, and this one %d time\n",
           found >= 1 ? "at least one" : "no", myself);
    return SS$_NORMAL;
}
