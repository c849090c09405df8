// TAP
// RUN: -m 256M --smp 2
/*
 * $PROCESS_SCAN and lib$spawn: which processes a context selects; commands in subprocesses, with
 * their final condition values, event flags and ASTs.
 */
#include <clidef.h>
#include <descrip.h>
#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <prvdef.h>
#include <pscandef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

typedef struct dsc$descriptor_s STRING;

static STRING string(const char *s)
{
    return (STRING){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)s};
}

/* ---- scans ---- */

#define NAMED(text, flags) \
    {sizeof(text) - 1, PSCAN$_PRCNAM, (char *)(text), (unsigned short *)(unsigned long)(flags)}
#define NUMBER(code, value, flags) \
    {0, code, (void *)(unsigned long)(value), (unsigned short *)(unsigned long)(flags)}
#define END {0, 0, 0, 0}

/* The last letters of the names that are selected, in the order of their numbers. */
static const char *selected(ILE3 *criteria)
{
    static char found[32];
    unsigned int context = 0;
    unsigned short length;
    char name[16];
    ILE3 list[] = {{15, JPI$_PRCNAM, name, &length}, {0, 0, 0, 0}};
    size_t n = 0;
    int status = sys$process_scan(&context, criteria);

    if (status != SS$_NORMAL)
        return "refused";
    while ((status = sys$getjpiw(EFN$C_ENF, &context, 0, list, 0, 0, 0)) == SS$_NORMAL)
        if (length && n < sizeof(found) - 1)
            found[n++] = name[length - 1];
    found[n] = '\0';
    return status == SS$_NOMOREPROC ? found : "stopped";
}

static void is_selected(const char *got, const char *want, const char *what)
{
    ok(strcmp(got, want) == 0, "%s: %s", what, got);
}

static pid_t start(const char *name)
{
    STRING s = string(name);
    int ready[2];
    char c;
    pid_t pid;

    if (pipe(ready) != 0)
        bail_out("no pipe");
    if ((pid = fork()) == 0) {
        sys$setprn(&s);
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    (void)!read(ready[0], &c, 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static int refused(ILE3 *criteria)
{
    unsigned int context = 0;

    return sys$process_scan(&context, criteria);
}

static void scans(pid_t a, pid_t b)
{
    is_selected(selected((ILE3[]){NAMED("SCAN_A", 0), END}), "A", "by name");
    is_selected(selected((ILE3[]){NAMED("SCAN_*", PSCAN$M_WILDCARD), END}), "AB",
                "with an asterisk");
    is_selected(selected((ILE3[]){NAMED("S*N%%", PSCAN$M_WILDCARD), END}), "AB",
                "and percent signs");
    is_selected(selected((ILE3[]){NAMED("*_*_*", PSCAN$M_WILDCARD), END}), "", "of none");
    is_selected(selected((ILE3[]){NAMED("scan_b", PSCAN$M_CASE_BLIND), END}), "B", "blind to case");
    is_selected(selected((ILE3[]){NAMED("scan_b", 0), END}), "", "and not");
    is_selected(selected((ILE3[]){NAMED("SCAN", PSCAN$M_PREFIX_MATCH), END}), "AB", "by a prefix");
    is_selected(selected((ILE3[]){NAMED("SCAN_A", PSCAN$M_OR), NAMED("SCAN_B", 0), END}), "AB",
                "or");
    is_selected(selected((ILE3[]){NAMED("SCAN_A", 0), NAMED("SCAN_B", 0), END}), "", "and");
    is_selected(selected((ILE3[]){{5, PSCAN$_TERMINAL, "OPA0:", 0}, NAMED("SCAN_A", 0), END}), "A",
                "by terminal");
    is_selected(selected((ILE3[]){{5, PSCAN$_TERMINAL, "FTA0:", 0}, NAMED("SCAN_A", 0), END}), "",
                "and not by another");
    is_selected(
        selected((ILE3[]){NAMED("SCAN", PSCAN$M_PREFIX_MATCH), NUMBER(PSCAN$_OWNER, getpid(), 0),
                          NAMED("SCAN_B", PSCAN$M_NEQ), END}),
        "A", "three criteria");
    is_selected(selected((ILE3[]){NUMBER(PSCAN$_MASTER_PID, a, PSCAN$M_GEQ),
                                  NUMBER(PSCAN$_MASTER_PID, b, PSCAN$M_LEQ), END}),
                "AB", "a range");
    is_selected(selected((ILE3[]){NUMBER(PSCAN$_MASTER_PID, a, PSCAN$M_GTR),
                                  NUMBER(PSCAN$_MASTER_PID, b + 1, PSCAN$M_LSS), END}),
                "B", "without its ends");
    is_selected(selected((ILE3[]){{8, PSCAN$_CURPRIV, &(unsigned long){PRV$M_WORLD},
                                   (unsigned short *)PSCAN$M_BIT_ALL},
                                  NAMED("SCAN", PSCAN$M_PREFIX_MATCH),
                                  END}),
                "AB", "privileges");
}

static void refusals(void)
{
    unsigned int context = 0, other, pid = 0;
    ILE3 list[] = {{4, JPI$_PID, &pid, 0}, {0, 0, 0, 0}};

    is(refused((ILE3[]){NAMED("", 0), END}), SS$_IVBUFLEN, "an empty name");
    is(refused((ILE3[]){{65, PSCAN$_PRCNAM, &context, 0}, END}), SS$_IVBUFLEN, "a long one");
    is(refused((ILE3[]){{4, PSCAN$_OWNER, &context, 0}, END}), SS$_IVBUFLEN, "a number with one");
    is_selected(selected((ILE3[]){NAMED("SCAN", PSCAN$M_PREFIX_MATCH),
                                  NUMBER(PSCAN$_OWNER, 1ul << 40 | (unsigned)getpid(), 0), END}),
                "AB", "numbers have 32 bits");
    is_selected(selected((ILE3[]){NAMED("SCAN", PSCAN$M_PREFIX_MATCH),
                                  NUMBER(PSCAN$_GRP, 0xABCD0000 | getegid(), 0),
                                  NUMBER(PSCAN$_MEM, 0xABCD0000 | geteuid(), 0), END}),
                "AB", "group and member 16");
    is(refused((ILE3[]){NUMBER(99, 1, 0), END}), SS$_BADITMCOD, "no such item");
    is(refused((ILE3[]){NUMBER(PSCAN$_OWNER, 1, PSCAN$M_GEQ | PSCAN$M_EQL), END}), SS$_BADPARAM,
       "two relations");
    is(refused((ILE3[]){NAMED("X", PSCAN$M_GEQ), END}), SS$_BADPARAM, "no relation of names");
    is(refused((ILE3[]){NAMED("X", PSCAN$M_OR), NUMBER(PSCAN$_OWNER, 1, 0), END}), SS$_BADPARAM,
       "or, of two items");
    is(sys$process_scan(0), SS$_ACCVIO, "no context");
    is(sys$process_scan(&context), SS$_NORMAL, "all processes");
    other = context;
    is(sys$process_scan(&context), SS$_NORMAL, "the context is made anew");
    ok(other != context, "and is another one");
    is(sys$getjpiw(EFN$C_ENF, &other, 0, list, 0, 0, 0), SS$_NOMOREPROC, "the old one is gone");
    is(sys$getjpiw(EFN$C_ENF, &context, 0, list, 0, 0, 0), SS$_NORMAL, "the new one is not");
    is(pid, 1, "the first process");
}

/* ---- commands ---- */

static volatile int calls, ended;

static void routine(__int64 parameter) { calls += (int)parameter; }

static int command(const char *text, int *status)
{
    STRING s = string(text);

    *status = 0;
    return lib$spawn(&s, 0, 0, 0, 0, 0, status);
}

static void commands(void)
{
    STRING program = string("/tests/process_scan fail"), sleeper = string("sleep 1000");
    STRING echo = string("echo $((6 * 7))"), out = string("/tmp/spawned"), lower = string("HANDY");
    unsigned char efn = 5;
    unsigned int pid = 0, flags = CLI$M_NOWAIT, wrong = 0x80000000;
    char line[8] = "";
    int status;
    FILE *f;

    is(command("true", &status), SS$_NORMAL, "a program");
    is(status, SS$_NORMAL, "ends well");
    is(command("false", &status), SS$_NORMAL, "another");
    is(status, SS$_ABORT, "does not");
    is(command("/tests/process_scan fail", &status), SS$_NORMAL, "one of OpenVMS");
    is(status, SS$_INSFLPGS | 0x10000000, "tells its condition value");
    is(command("exit 3", &status), SS$_NORMAL, "the shell");
    is(status, SS$_ABORT, "has none");
    is(lib$spawn(&echo, 0, &out), SS$_NORMAL, "output");
    f = fopen("/tmp/spawned", "r");
    ok(f && fgets(line, sizeof(line), f) && strcmp(line, "42\n") == 0, "goes to a file");
    sys$clref(5);
    is(lib$spawn(&program, 0, 0, &flags, 0, &pid, (int *)&ended, &efn, routine, 7), SS$_NORMAL,
       "without a wait");
    sys$waitfr(5);
    is(ended, SS$_INSFLPGS | 0x10000000, "the status, when the flag is set");
    while (!calls)
        usleep(1000);
    is(calls, 7, "the AST");
    is(lib$spawn(&sleeper, 0, 0, &flags, &lower, &pid, (int *)&ended, &efn), SS$_NORMAL, "named");
    ended = 0;
    is(lib$spawn(&sleeper, 0, 0, &flags, &lower), SS$_DUPLNAM, "twice");
    is_status(sys$delprc(0, &lower), SS$_NORMAL, "deleted");
    sys$waitfr(5);
    is(ended, SS$_ABORT, "which is its status");
    is(lib$spawn(&sleeper, 0, 0, &wrong), LIB$_INVARG, "no such flag");
    efn = 70;
    is(lib$spawn(&sleeper, 0, 0, &flags, 0, 0, 0, &efn), SS$_UNASEFC, "no such event flag");
    is(lib$spawn(&sleeper, 0, 0, &flags, 0, 0, (int *)8), SS$_ACCVIO, "nowhere for the status");
}

int main(int argc, char **argv)
{
    pid_t a, b;

    if (argc > 1 && strcmp(argv[1], "fail") == 0)
        sys$exit(0x10000000 | SS$_INSFLPGS);
    mkdir("/tmp", 0777);
    a = start("SCAN_A");
    b = start("SCAN_B");
    scans(a, b);
    refusals();
    kill(a, SIGKILL);
    kill(b, SIGKILL);
    waitpid(a, 0, 0);
    waitpid(b, 0, 0);
    commands();
    return tap_done();
}
