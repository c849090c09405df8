/* Event flags, ASTs, timers and hibernation; the control of processes. main() has made the events
 * of this process, so that most services allocate nothing any more; a child has none. */
#include "failure.h"

#include <descrip.h>
#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <megalith/services.h>
#include <megalith/spawn.h>
#include <prcdef.h>
#include <settled.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <statedef.h>
#include <string.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

static $DESCRIPTOR(cluster, "FAILURE");
static unsigned state;
static long late = -36000000000;
static int calls;

static void routine(__int64 parameter) { calls += (int)parameter; }

static long first(void) { return raw6(VMS_SETEF, 1, 0, 0, 0, 0, 0); }
static long setef(void) { return sys$setef(1); }
static long clref(void) { return sys$clref(1); }
static long readef(void) { return sys$readef(1, &state); }
static long waitfr(void) { return sys$waitfr(1); }
static long wflor(void) { return sys$wflor(0, 2); }
static long wfland(void) { return sys$wfland(0, 2); }
static long synch(void) { return sys$synch(1, NULL); }
static long ascefc(void) { return sys$ascefc(64, &cluster, 0, 0); }
static long dacefc(void) { return sys$dacefc(64); }
static long dlcefc(void) { return sys$dlcefc(&cluster); }
static long dclast(void) { return sys$dclast(routine, 1, 0); }
static long setast(void) { return sys$setast(1); }
static long clrast(void) { return sys$clrast(); }
static long setimr(void) { return sys$setimr(2, &late, routine, 1, 0); }
static long cantim(void) { return sys$cantim(0, 0); }
static long schdwk(void) { return sys$schdwk(0, 0, &late, 0); }
static long canwak(void) { return sys$canwak(0, 0); }
static long hiber(void) { return sys$hiber(); }
static long wake(void) { return sys$wake(0, 0); }
void mega$ast_return(void);
static long ast_return(void)
{
    return raw6(MEGA_SYS_AST_RETURN, (unsigned long)mega$ast_return, 0, 0, 0, 0, 0);
}

/* A process that stands still, to be acted on. */
static unsigned int other;

static void start_bare(void)
{
    if ((other = (unsigned)fork()) == 0) {
        kill(getpid(), SIGSTOP);
        sys$exit(SS$_ABORT);
    }
    waitpid((pid_t)other, NULL, WUNTRACED);
    warm_up();
}

static void start_other(void)
{
    start_bare();
    sys$wake(&other, 0); /* it has its events */
    warm_up();
}

static void end_other(void)
{
    kill((pid_t)other, SIGKILL);
    waitpid((pid_t)other, NULL, 0);
}

static $DESCRIPTOR(own_name, "FAILURE");
static long delprc(void) { return sys$delprc(&other); }
static long suspnd(void) { return sys$suspnd(&other); }
static long exit_routine(void) { return raw6(MEGA_SYS_EXIT_ROUTINE, 0, 0, 0, 0, 0, 0); }
static long resume(void) { return sys$resume(); }
static long forcex(void) { return sys$forcex(&other, 0, SS$_ABORT); }
static long setprn(void) { return sys$setprn(&own_name); }
static long setpri(void) { return sys$setpri(&other, 0, 3); }
static long final_status(void) { return raw6(MEGA_SYS_FINAL_STATUS, 1, 0, 0, 0, 0, 0); }

/* A process that waits for ever, made by $CREPRC; and as lib$spawn does. */
static $DESCRIPTOR(image, "/bin/sleep");
static $DESCRIPTOR(process, "FAILED");
static unsigned int made;
static int ended;

static long creprc(void)
{
    made = 0;
    return sys$creprc(&made, &image, 0, 0, 0, 0, 0, &process, 4, 0, 0, PRC$M_HIBER);
}

static long detached(void)
{
    made = 0;
    return sys$creprc(&made, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, PRC$M_HIBER | PRC$M_DETACH);
}

static long spawn(void)
{
    char *argv[] = {(char *)"sleep", (char *)"1000", 0};
    struct mega_spawn s = {(unsigned long)argv, 0, (unsigned long)&ended, 0, EFN$C_ENF, 0, 0};
    unsigned long block[] = {
        16, (unsigned long)&made, (unsigned long)&image, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0,
        0,  (unsigned long)&s};

    made = 0;
    return raw6(VMS_CREPRC, (unsigned long)block, 0, 0, 0, 0, 0);
}

/* With mailboxes as input and output, and the null device as error. They are found by the process
 * itself, for which no call reports a failure: it ends at once then, and is waited for. */
static $DESCRIPTOR(input, "FAILURE_IN");
static $DESCRIPTOR(output, "FAILURE_OUT");
static $DESCRIPTOR(null_device, "NL:");
static unsigned short in_chan, out_chan;

static void make_boxes(void)
{
    sys$crembx(0, &in_chan, 64, 640, 0, 0, &input, 0, 0);
    sys$crembx(0, &out_chan, 64, 640, 0, 0, &output, 0, 0);
    warm_up();
}

static long with_boxes(void)
{
    made = 0;
    return sys$creprc(&made, &image, &input, &output, &null_device, 0, 0, &process, 4, 0, 0,
                      PRC$M_HIBER);
}

/* Has it loaded its image, and does it wait? Pages of a program, once read, stay. */
static bool is_at_rest(void)
{
    char name[32] = "";
    unsigned int state = 0;
    unsigned short length = 0;
    ILE3 items[] = {{sizeof(name) - 1, JPI$_IMAGNAME, name, &length},
                    {sizeof(state), JPI$_STATE, &state, 0},
                    {0, 0, 0, 0}};

    return sys$getjpiw(EFN$C_ENF, &made, 0, items, 0, 0, 0) != SS$_NORMAL ||
           (strcmp(name, "/tests/failure") != 0 && (state == SCH$C_LEF || state == SCH$C_HIB));
}

static void end_made(void)
{
    if (!made)
        return;
    while (!is_at_rest())
        usleep(100);
    sys$delprc(&made);
    while (sys$suspnd(&made) != SS$_NONEXPR)
        usleep(100);
    settled_pages(); /* its structures go after its number */
}

/* The caller's job is made by its first subprocess, and stays. */
static void make_job(void)
{
    static bool is_made;

    if (!is_made) {
        creprc();
        end_made();
        warm_up();
    }
    is_made = true;
}

static void make_job_and_boxes(void)
{
    make_job();
    make_boxes();
}

static void end_with_boxes(void)
{
    end_made();
    sys$dassgn(in_chan);
    sys$dassgn(out_chan);
}

static void set(void) { sys$setef(1); }
static void disable(void) { sys$setast(0); }
static void enable(void) { sys$setast(1); }
static void forget(void) { calls = 0; }
static void leave(void) { sys$dacefc(64); }
static void cancel(void) { sys$cantim(0, 0); }
static void cancel_wake(void) { sys$canwak(0, 0); }
static void enter(void) { sys$ascefc(64, &cluster, 0, 0); }
static void wake_up(void) { sys$wake(0, 0); }
static bool is_called(long r) { return r == SS$_NORMAL && calls == 1; }

#define PLAIN(name_, call_, prepare_, act_) \
    BY(name_, call_, prepare_, act_, NULL, NULL, NOTHING, {ANY_KIND, 0})

const struct scenario vms_event_scenarios[] = {
    BY("the first event flag of a process", VMS_SETEF, NULL, first, NULL, NULL, IN_CHILD,
       {ANY_KIND, 0}),
    PLAIN("$setef", VMS_SETEF, NULL, setef),
    PLAIN("$clref", VMS_CLREF, NULL, clref),
    PLAIN("$readef", VMS_READEF, NULL, readef),
    PLAIN("$waitfr", VMS_WAITFR, set, waitfr),
    PLAIN("$wflor", VMS_WFLOR, set, wflor),
    PLAIN("$wfland", VMS_WFLAND, set, wfland),
    PLAIN("$synch", VMS_SYNCH, set, synch),
    BY("$ascefc", VMS_ASCEFC, NULL, ascefc, NULL, leave, 0, {ANY_KIND, 0}),
    BY("$dacefc", VMS_DACEFC, enter, dacefc, NULL, NULL, NOTHING, {ANY_KIND, 0}),
    PLAIN("$dlcefc", VMS_DLCEFC, NULL, dlcefc),
    BY("$dclast, disabled", VMS_DCLAST, disable, dclast, NULL, enable, 0, {ANY_KIND, 0}),
    BY("$dclast", VMS_DCLAST, forget, dclast, is_called, NULL, 0, {ANY_KIND, 0}),
    BY("the end of an AST routine", MEGA_SYS_AST_EXIT, forget, dclast, is_called, NULL, 0,
       {ANY_KIND, 0}),
    PLAIN("mega$ast_return", MEGA_SYS_AST_RETURN, NULL, ast_return),
    PLAIN("$setast", VMS_SETAST, NULL, setast),
    PLAIN("$clrast", VMS_CLRAST, NULL, clrast),
    BY("$setimr", VMS_SETIMR, NULL, setimr, NULL, cancel, 0, {ANY_KIND, 0}),
    PLAIN("$cantim", VMS_CANTIM, NULL, cantim),
    BY("$schdwk", VMS_SCHDWK, NULL, schdwk, NULL, cancel_wake, 0, {ANY_KIND, 0}),
    PLAIN("$canwak", VMS_CANWAK, NULL, canwak),
    PLAIN("$hiber", VMS_HIBER, wake_up, hiber),
    PLAIN("$wake", VMS_WAKE, NULL, wake),
    BY("$delprc", VMS_DELPRC, start_other, delprc, NULL, end_other, NOTHING, {ANY_KIND, 0}),
    BY("$suspnd", VMS_SUSPND, start_other, suspnd, NULL, end_other, NOTHING, {ANY_KIND, 0}),
    BY("$forcex", VMS_FORCEX, start_other, forcex, NULL, end_other, NOTHING, {ANY_KIND, 0}),
    BY("$forcex without events", VMS_FORCEX, start_bare, forcex, NULL, end_other, 0, {ANY_KIND, 0}),
    PLAIN("$resume", VMS_RESUME, NULL, resume),
    PLAIN("$setprn", VMS_SETPRN, NULL, setprn),
    BY("$setpri", VMS_SETPRI, start_other, setpri, NULL, end_other, NOTHING, {ANY_KIND, 0}),
    PLAIN("mega$final_status", MEGA_SYS_FINAL_STATUS, NULL, final_status),
    BY("$creprc", VMS_CREPRC, make_job, creprc, NULL, end_made, 0,
       {MEGA_ALLOC_PROCESS, SS$_NOSLOT}),
    BY("$creprc, mailboxes as files", VMS_CREPRC, make_job_and_boxes, with_boxes, NULL,
       end_with_boxes, 0, {MEGA_ALLOC_PROCESS, SS$_NOSLOT}),
    BY("$creprc, detached", VMS_CREPRC, make_job, detached, NULL, end_made, 0,
       {MEGA_ALLOC_PROCESS, SS$_NOSLOT}),
    BY("$creprc of lib$spawn", VMS_CREPRC, make_job, spawn, NULL, end_made, 0,
       {MEGA_ALLOC_PROCESS, SS$_NOSLOT}),
    PLAIN("mega$exit_routine", MEGA_SYS_EXIT_ROUTINE, NULL, exit_routine),
    {0},
};
