// TAP
// RUN: -m 256M
/*
 * Services on events for which there is no memory, as the first service of a process that needs
 * some; and requests for ASTs before the kernel knows where their routines return to.
 */
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <jpidef.h>
#include <megalith/failure.h>
#include <megalith/services.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <syidef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

static $DESCRIPTOR(name, "MEMORY");
static __int64 soon = -1000;
static unsigned answer;
static ILE3 jpi[] = {{4, JPI$_PID, &answer, 0}, {0, 0, 0, 0}};
static ILE3 syi[] = {{4, SYI$_ACTIVECPU_CNT, &answer, 0}, {0, 0, 0, 0}};
static ILE3 dvi[] = {{4, DVI$_UNIT, &answer, 0}, {0, 0, 0, 0}};
static $DESCRIPTOR(device, "_NLA0:"); /* not to be translated */
static unsigned short chan;
static struct _iosb block;

static void routine(__int64 parameter) { (void)parameter; }

static int setef(void) { return sys$setef(1); }
static int clref(void) { return sys$clref(1); }
static int readef(void) { return sys$readef(1, &answer); }
static int waitfr(void) { return sys$waitfr(1); }
static int wflor(void) { return sys$wflor(1, 1); }
static int wfland(void) { return sys$wfland(1, 1); }
static int synch(void) { return sys$synch(1, &block); }
static int ascefc(void) { return sys$ascefc(64, &name, 0, 0); }
static int dacefc(void) { return sys$dacefc(64); }
static int dclast(void) { return sys$dclast(routine, 0, 0); }
static int setast(void) { return sys$setast(1); }
static int setimr(void) { return sys$setimr(1, &soon, 0, 0, 0); }
static int schdwk(void) { return sys$schdwk(0, 0, &soon, 0); }
static int canwak(void) { return sys$canwak(0, 0); }
static int hiber(void) { return sys$hiber(); }
static int wake(void) { return sys$wake(0, 0); }
static int getjpi(void) { return sys$getjpi(1, 0, 0, jpi, 0, 0, 0); }
static int assign(void) { return sys$assign(&device, &chan, 0, 0, 0); }
static int crembx(void) { return sys$crembx(0, &chan, 0, 0, 0, 0, 0, 0, 0); }
static int qio(void) { return sys$qio(1, 16, IO$_READVBLK, 0, 0, 0, &answer, 1); }
static int getdvi(void) { return sys$getdvi(1, 16, 0, dvi, 0, 0, 0, 0); }
static int creprc(void) { return sys$creprc(0, &device); }
static int getsyi(void) { return sys$getsyi(1, 0, 0, syi, 0, 0, 0); }

static const struct {
    const char *name;
    int (*call)(void);
} services[] = {
    {"$SETEF", setef},   {"$CLREF", clref},   {"$READEF", readef}, {"$WAITFR", waitfr},
    {"$WFLOR", wflor},   {"$WFLAND", wfland}, {"$SYNCH", synch},   {"$ASCEFC", ascefc},
    {"$DACEFC", dacefc}, {"$DCLAST", dclast}, {"$SETAST", setast}, {"$SETIMR", setimr},
    {"$SCHDWK", schdwk}, {"$CANWAK", canwak}, {"$HIBER", hiber},   {"$WAKE", wake},
    {"$GETJPI", getjpi}, {"$GETSYI", getsyi}, {"$ASSIGN", assign}, {"$CREMBX", crembx},
    {"$QIO", qio},       {"$GETDVI", getdvi}, {"$CREPRC", creprc},
};

static int child_result(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int without_memory(int (*call)(void))
{
    struct mega_failure report;
    int status;

    if (mega$control(MEGA_CTL_FAIL_ARM, 1, 0, 0, 0, 0) != SS$_NORMAL)
        return 1;
    status = call();
    if (mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&report, 0, 0, 0, 0) != SS$_NORMAL)
        return 2;
    return report.fired == 1 && status_is(status, SS$_INSFMEM) ? 0 : 3;
}

/* Made by hand, before any stub has told the kernel the address. */
static int by_hand(long number, uint64_t a0, uint64_t a1, uint64_t a2, const char *service)
{
    int status = (int)syscall(number, a0, a1, a2, 0, 0, 0);

    mega$service_hook(service, status);
    return status_is(status, SS$_BADPARAM);
}

static int not_told(void)
{
    uint64_t args[] = {7, 1, 0, 0, (uint64_t)jpi, 0, (uint64_t)routine, 0};
    int right = by_hand(VMS_DCLAST, (uint64_t)routine, 0, 0, "sys$dclast");

    right += by_hand(VMS_SETIMR, 1, (uint64_t)&soon, (uint64_t)routine, "sys$setimr");
    right += by_hand(VMS_GETJPI, (uint64_t)args, 0, 0, "sys$getjpi");
    args[4] = (uint64_t)syi;
    right += by_hand(VMS_GETSYI, (uint64_t)args, 0, 0, "sys$getsyi");
    return right != 4;
}

int main(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(not_told());
    is(child_result(pid), 0, "no AST before the kernel knows where routines return to");
    for (unsigned i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        fflush(stdout);
        pid = fork();
        if (pid == 0)
            _exit(without_memory(services[i].call));
        is(child_result(pid), 0, "%s without memory", services[i].name);
    }
    return tap_done();
}
