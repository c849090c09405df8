// TAP
// RUN: -m 256M
/*
 * What services on channels refuse beyond what mailboxes.c tries: too many channels, requests,
 * bytes, mailboxes; privileges; logical names that lead nowhere; items of $GETDVI.
 */
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <lnmdef.h>
#include <megalith/creds.h>
#include <prvdef.h>
#include <psldef.h>
#include <pthread.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

static $DESCRIPTOR(null_device, "NL:");
static $DESCRIPTOR(console, "OPA0:");
static $DESCRIPTOR(box, "CHANNELS_TEST");
static $DESCRIPTOR(directory, "LNM$PROCESS_DIRECTORY");
static $DESCRIPTOR(process, "LNM$PROCESS");
static $DESCRIPTOR(temporary, "LNM$TEMPORARY_MAILBOX");
static char memory[65536];
static struct _iosb iosb;
static unsigned short chan;

static void routine(__int64 parameter) { (void)parameter; }

static int crembx(unsigned bufquo, void *name)
{
    return sys$crembx(0, &chan, 0, bufquo, 0, 0, name, 0, 0);
}

static int define(void *table, void *name, unsigned char mode, const char *value)
{
    ILE3 items[2] = {{(unsigned short)strlen(value), LNM$_STRING, (void *)(uintptr_t)value, 0},
                     {0}};

    return sys$crelnm(0, table, name, &mode, items);
}

static int become(struct mega_creds c)
{
    return mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
}

/* ---- limits of a process, each in a child ---- */

static int many_channels(void)
{
    int status;

    while ((status = sys$assign(&null_device, &chan, 0, 0, 0)) == SS$_NORMAL)
        ;
    return status_is(status, SS$_NOIOCHAN) && status_is(crembx(0, 0), SS$_NOIOCHAN);
}

static int many_requests(void)
{
    int status;

    if (crembx(0, 0) != SS$_NORMAL)
        return 0;
    while ((status = sys$qio(EFN$C_ENF, chan, IO$_READVBLK, 0, 0, 0, memory, 1)) == SS$_NORMAL)
        ;
    return status_is(status, SS$_EXQUOTA);
}

static int many_asts(void)
{
    unsigned value;
    ILE3 items[2] = {{4, DVI$_UNIT, &value, 0}, {0}};

    if (crembx(0, 0) != SS$_NORMAL)
        return 0;
    sys$setast(0);
    while (sys$dclast(routine, 0, 0) == SS$_NORMAL)
        ;
    return status_is(sys$qio(EFN$C_ENF, chan, IO$_READVBLK, 0, routine, 0, memory, 1),
                     SS$_EXASTLM) &&
           status_is(sys$getdvi(EFN$C_ENF, chan, 0, items, 0, routine, 0, 0), SS$_EXASTLM);
}

static int many_bytes(void) { return status_is(crembx(1 << 20, 0), SS$_EXBYTLM); }

static int unprivileged(void)
{
    unsigned short mine;
    unsigned value;
    ILE3 items[2] = {{4, DVI$_UNIT, &value, 0}, {0}};
    unsigned long prmmbx = PRV$M_PRMMBX;

    if (sys$crembx(1, &mine, 0, 0, 0, 0, 0, 0, 0) != SS$_NORMAL ||
        sys$setprv(0, &prmmbx, 0, 0) != SS$_NORMAL)
        return 0;
    return status_is(sys$delmbx(mine), SS$_NOPRIV) && sys$setprv(1, &prmmbx, 0, 0) == SS$_NORMAL &&
           sys$delmbx(mine) == SS$_NORMAL &&
           become((struct mega_creds){0310, 0455, 0, 0, 0}) == SS$_NORMAL &&
           status_is(crembx(0, 0), SS$_NOPRIV) &&
           status_is(sys$assign(&console, &chan, 0, 0, 0), SS$_NOPRIV) &&
           status_is(sys$getdvi(EFN$C_ENF, 0, &console, items, 0, 0, 0, 0), SS$_NOPRIV);
}

/* USER_IPC is a limit of users other than 0. */
static int many_mailboxes(void)
{
    unsigned long all = PRV$M_TMPMBX;
    int status;

    if (become((struct mega_creds){0310, 0456, all, all, 0}) != SS$_NORMAL)
        return 0;
    while ((status = crembx(100, 0)) == SS$_NORMAL)
        ;
    return status_is(status, SS$_EXQUOTA);
}

static void in_child(int (*fn)(void), const char *what)
{
    int status = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(fn() ? 0 : 1);
    waitpid(child, &status, 0);
    is(status, 0, "%s", what);
}

static void limits(void)
{
    in_child(many_channels, "channels");
    in_child(many_requests, "requests");
    in_child(many_asts, "ASTs");
    in_child(many_bytes, "bytes");
    in_child(unprivileged, "privileges");
    is_status(mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"USER_IPC", 10, 0, 0, 0), SS$_NORMAL,
              "USER_IPC is 10");
    in_child(many_mailboxes, "mailboxes");
    mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"USER_IPC", (uint64_t)-1, 0, 0, 0);
}

/* ---- logical names ---- */

static void names(void)
{
    static $DESCRIPTOR(loop, "CHANNELS_LOOP");
    static $DESCRIPTOR(small, "CHANNELS_SMALL");
    static $DESCRIPTOR(job, "LNM$JOB");
    static char long_text[200];
    struct dsc$descriptor_s long_name = {200, DSC$K_DTYPE_T, DSC$K_CLASS_S, long_text};
    unsigned quota = 200, value;
    unsigned char super = PSL$C_SUPER, exec = PSL$C_EXEC;
    unsigned attributes = LNM$M_NO_ALIAS;
    ILE3 items[2] = {{4, DVI$_UNIT, &value, 0}, {0}};
    ILE3 other[2] = {{5, LNM$_STRING, "OTHER", 0}, {0}};

    memset(long_text, 'X', sizeof(long_text));
    define(&process, &loop, PSL$C_USER, "CHANNELS_LOOP");
    is_status(sys$assign(&loop, &chan, 0, 0, 0), SS$_TOOMANYLNAM, "a name that leads to itself");
    is_status(sys$getdvi(EFN$C_ENF, 0, &loop, items, 0, 0, 0, 0), SS$_TOOMANYLNAM, "likewise");
    is_status(sys$crelnm(&attributes, &job, &box, &exec, other), SS$_NORMAL,
              "a name of an inner mode");
    is_status(crembx(0, &box), SS$_DUPLNAM, "which no mailbox can have");
    sys$dellnm(&job, &box, &exec);
    define(&directory, &temporary, super, "CHANNELS_NONE");
    is_status(crembx(0, &box), SS$_NOLOGTAB, "no table for names of mailboxes");
    sys$crelnt(0, 0, 0, &quota, 0, &small, &directory, &super);
    define(&directory, &temporary, super, "CHANNELS_SMALL");
    is_status(crembx(0, &long_name), SS$_EXLNMQUOTA, "a table that is too small");
    define(&directory, &temporary, super, "LNM$TEMPORARY_MAILBOX");
    is_status(crembx(0, &box), SS$_TOOMANYLNAM, "a table that leads to itself");
    sys$dellnm(&directory, &temporary, &super);
    sys$dellnm(&directory, &small, &super);
    is_status(crembx(0, &box), SS$_NORMAL, "as it was");
    sys$dassgn(chan);
}

/* ---- others ---- */

static void others(void)
{
    static $DESCRIPTOR(no_name, "A B:");
    static $DESCRIPTOR(empty, "");
    unsigned value = 0;
    ILE3 items[2] = {{4, DVI$_UNIT, &value, 0}, {0}};
    ILEB_64 wide[] = {{1, DVI$_UNIT, -1, 4, &value, 0}, {1, DVI$_PID, -1, 65536, memory, 0}, {0}};
    void *bad = (void *)8;

    is_status(sys$assign(&null_device, &chan, 0, 0, 0), SS$_NORMAL, "the null device");
    is_status(sys$delmbx(chan), SS$_DEVNOTMBX, "is no mailbox");
    is_status(sys$qio(EFN$C_ENF, chan, IO$_READVBLK, 0, 0, 0, memory, 65536), SS$_BADPARAM,
              "65,536 bytes");
    is_status(sys$getdviw(EFN$C_ENF, chan, 0, items, &iosb, 0, 0, 0), SS$_NORMAL, "its unit");
    is_status(sys$getdvi(EFN$C_ENF, 17, 0, items, 0, 0, 0, 0), SS$_IVCHAN, "no such number");
    is_status(sys$getdvi(EFN$C_ENF, 4080, 0, items, 0, 0, 0, 0), SS$_NOPRIV, "not assigned");
    is_status(sys$getdvi(130, chan, 0, items, 0, 0, 0, 0), SS$_ILLEFC, "no such flag");
    is_status(sys$getdvi(70, chan, 0, items, 0, 0, 0, 0), SS$_UNASEFC, "no cluster");
    is_status(sys$getdvi(EFN$C_ENF, chan, 0, bad, 0, 0, 0, 0), SS$_ACCVIO, "no list");
    is_status(sys$getdvi(EFN$C_ENF, 0, bad, items, 0, 0, 0, 0), SS$_ACCVIO, "no name");
    is_status(sys$getdvi(EFN$C_ENF, 0, &no_name, items, 0, 0, 0, 0), SS$_IVDEVNAM, "a wrong one");
    is_status(sys$getdvi(EFN$C_ENF, 0, &empty, items, 0, 0, 0, 0), SS$_IVLOGNAM, "an empty one");
    is_status(sys$getdvi(EFN$C_ENF, chan, 0, wide, 0, 0, 0, 0), SS$_BADBUFLEN, "64 KiB");
    is_status(sys$getdvi(EFN$C_ENF, 0, 0, items, 0, 0, 0, 0), SS$_IVDEVNAM, "of no device");
    is_status(sys$qio(EFN$C_ENF, chan, IO$_READVBLK, 0, 0, 0, memory, 8, 0, 1), SS$_BADPARAM,
              "other ends of a read");
    is_status(sys$dassgn(chan), SS$_NORMAL, "it is deassigned");
}

/* ---- the flag of a request that is not made ---- */

static unsigned state_of(unsigned efn)
{
    unsigned flags = 0;

    sys$readef(efn, &flags);
    return flags >> efn % 32 & 1;
}

static void flags(void)
{
    unsigned short own;

    sys$assign(&null_device, &own, 0, 0, 0);
    sys$clref(5);
    is_status(sys$qiow(5, own, 5, &iosb), SS$_ILLIOFUNC, "no such function");
    is(state_of(5), 1, "sets the flag");
    sys$clref(5);
    is_status(sys$qio(5, own, IO$_READVBLK, &iosb, 0, 0, memory, 65536), SS$_BADPARAM, "too long");
    is(state_of(5), 1, "does, too");
    sys$clref(5);
    is_status(sys$qio(5, 4080, IO$_READVBLK, &iosb, 0, 0, memory, 1), SS$_NOPRIV, "no channel");
    is(state_of(5), 1, "does, too");
    sys$clref(5);
    is_status(sys$qio(5, own, IO$_READVBLK, (void *)8, 0, 0, memory, 1), SS$_ACCVIO, "no block");
    is(state_of(5), 1, "does, too");
    is_status(sys$qio(130, own, 5, &iosb), SS$_ILLIOFUNC, "an error without a flag");
    sys$dassgn(own);
}

int main(void)
{
    limits();
    names();
    others();
    flags();
    return tap_done();
}
