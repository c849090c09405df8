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
#include <iodef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <prvdef.h>
#include <pscandef.h>
#include <ssdef.h>
#include <starlet.h>
#include <statedef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
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
    is_selected(selected((ILE3[]){NAMED("SCAN", PSCAN$M_PREFIX_MATCH), NAMED("SCAN_B", PSCAN$M_NEQ),
                                  NUMBER(PSCAN$_OWNER, getpid(), 0), END}),
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

/* One of each kind of number and text that nothing else asks for. */
static void items(void)
{
    ILE3 name = NAMED("SCAN", PSCAN$M_PREFIX_MATCH), end = END;
    unsigned long world = PRV$M_WORLD, other = PRV$M_WORLD | PRV$M_NOACNT;
    char node[16], user[12];
    unsigned short node_length;
    unsigned int grp, mem, mode, type, uic, state = SCH$C_LEF, pri;
    ILE3 list[] = {{4, JPI$_GRP, &grp, 0},
                   {4, JPI$_MEM, &mem, 0},
                   {4, JPI$_MODE, &mode, 0},
                   {4, JPI$_JOBTYPE, &type, 0},
                   {4, JPI$_UIC, &uic, 0},
                   {4, JPI$_PRI, &pri, 0},
                   {12, JPI$_USERNAME, user, 0},
                   {15, JPI$_NODENAME, node, &node_length},
                   {0, 0, 0, 0}};

    is_status(sys$getjpiw(EFN$C_ENF, 0, 0, list, 0, 0, 0), SS$_NORMAL, "what this process has");
    const struct {
        unsigned short code;
        unsigned int value;
        const char *what;
    } numbers[] = {
        {PSCAN$_GRP, grp, "GRP"},     {PSCAN$_MEM, mem, "MEM"},
        {PSCAN$_MODE, mode, "MODE"},  {PSCAN$_JOBTYPE, type, "JOBTYPE"},
        {PSCAN$_UIC, uic, "UIC"},     {PSCAN$_STATE, state, "STATE"},
        {PSCAN$_PRI, pri, "PRI"},     {PSCAN$_PRIB, pri, "PRIB"},
        {PSCAN$_PRCCNT, 0, "PRCCNT"}, {PSCAN$_JOBPRCCNT, 0, "JOBPRCCNT"},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        is_selected(selected((ILE3[]){name, NUMBER(numbers[i].code, numbers[i].value, 0), end}),
                    "AB", numbers[i].what);
        is_selected(
            selected((ILE3[]){name, NUMBER(numbers[i].code, numbers[i].value, PSCAN$M_NEQ), end}),
            "", "others");
    }
    is_selected(selected((ILE3[]){name, {12, PSCAN$_USERNAME, user, 0}, end}), "AB", "USERNAME");
    is_selected(selected((ILE3[]){name, {3, PSCAN$_USERNAME, "NO1", 0}, end}), "", "others");
    is_selected(selected((ILE3[]){name, {node_length, PSCAN$_NODENAME, node, 0}, end}), "AB",
                "NODENAME");
    is_selected(selected((ILE3[]){name, {3, PSCAN$_NODENAME, "NO1", 0}, end}), "", "others");
    is_selected(selected((ILE3[]){
                    {8, PSCAN$_CURPRIV, &other, (unsigned short *)PSCAN$M_BIT_ANY}, name, end}),
                "AB", "any of two privileges");
    world = 0;
    is_selected(selected((ILE3[]){
                    {8, PSCAN$_CURPRIV, &world, (unsigned short *)PSCAN$M_BIT_ANY}, name, end}),
                "", "any of none");
    is_selected(selected((ILE3[]){NUMBER(PSCAN$_GETJPI_BUFFER_SIZE, 1000, 0), name, end}), "AB",
                "a buffer size has no effect");
}

/* The form of item lists with 64 bits, and the longest list. */
static void long_lists(void)
{
    static ILE3 many[258];
    ILEB_64 wide[] = {{.ileb_64$w_mbo = 1,
                       .ileb_64$w_code = PSCAN$_PRCNAM,
                       .ileb_64$l_mbmo = -1,
                       .ileb_64$q_length = 6,
                       .ileb_64$pq_bufaddr = (void *)"SCAN_B"},
                      {.ileb_64$w_mbo = 1, .ileb_64$l_mbmo = -1}};

    is_selected(selected((ILE3 *)wide), "B", "a list of the wide form");
    for (int i = 0; i < 257; i++)
        many[i] = (ILE3)NUMBER(PSCAN$_OWNER, getpid(), 0);
    is(refused(many), SS$_IVBUFLEN, "257 criteria");
    many[256] = (ILE3)END;
    is_selected(selected(many), "AB", "256");
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
    is(refused((ILE3[]){NUMBER(99, 1, 0), END}), SS$_BADPARAM, "no such item");
    is(refused((ILE3[]){NUMBER(PSCAN$_OWNER, 1, PSCAN$M_GEQ | PSCAN$M_EQL), END}), SS$_BADPARAM,
       "two relations");
    is(refused((ILE3[]){NAMED("X", PSCAN$M_GEQ), END}), SS$_BADPARAM, "no relation of names");
    is(refused((ILE3[]){NAMED("X", PSCAN$M_OR), NUMBER(PSCAN$_OWNER, 1, 0), END}), SS$_IVSSRQ,
       "or, of two items");
    is(refused((ILE3[]){NAMED("X", 0), NUMBER(PSCAN$_OWNER, 1, 0), NAMED("Y", 0), END}), SS$_IVSSRQ,
       "others between two of one item");
    is(sys$process_scan(0), SS$_IVSSRQ, "no context");
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

static volatile int storm_over;

static void set_again(__int64 efn)
{
    const __int64 soon = -10000;

    sys$setef((unsigned)efn);
    calls++;
    if (!storm_over)
        sys$setimr(EFN$C_ENF, &soon, set_again, (unsigned)efn, 0);
}

static uint64_t clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The wait for a command is for its end, whatever sets the flag; with a flag that is none, too. */
static void waits(void)
{
    STRING command = string("sleep 1"), show = string("test -z \"$MARK\"");
    unsigned char efn = 9, none = EFN$C_ENF;
    unsigned int flags = CLI$M_NOLOGNAM | CLI$M_NOKEYPAD | CLI$M_TRUSTED;
    int status = 0;
    uint64_t used, passed;

    used = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    passed = clock_of(CLOCK_MONOTONIC);
    set_again(9);
    is(lib$spawn(&command, 0, 0, &flags, 0, 0, &status, &efn), SS$_NORMAL,
       "flags without effect; a wait while the flag is set and set");
    storm_over = 1;
    used = clock_of(CLOCK_PROCESS_CPUTIME_ID) - used;
    passed = clock_of(CLOCK_MONOTONIC) - passed;
    is(status, SS$_NORMAL, "lasts until the end");
    ok(used < passed / 2, "without a loop of its own: %lu of %lu ns", (unsigned long)used,
       (unsigned long)passed);
    sys$cantim(0, 0);
    status = 0;
    is(lib$spawn(&command, 0, 0, 0, 0, 0, &status, &none), SS$_NORMAL, "a wait without a flag");
    is(status, SS$_NORMAL, "lasts as long");
    setenv("MARK", "here", 1);
    flags = 0;
    lib$spawn(&show, 0, 0, &flags, 0, 0, &status);
    is(status, SS$_ABORT, "a command has the environment");
    flags = CLI$M_NOCLISYM;
    lib$spawn(&show, 0, 0, &flags, 0, 0, &status);
    is(status, SS$_NORMAL, "and with NOCLISYM has not");
}

/* A record is there as soon as it is put: the child does not end, and its output is a mailbox. */
static void records(void)
{
    STRING later = string("sleep 1; echo late"), name = string("RECORDS"),
           command = string("/tests/process_scan put");
    unsigned int flags = CLI$M_NOWAIT, pid = 0;
    struct _iosb iosb;
    unsigned short chan;
    char text[80] = "";
    STRING device = string("RECORDS");
    int status = sys$crembx(0, &chan, 0, 0, 0, 0, &name);

    is_status(status, SS$_NORMAL, "a mailbox");
    is(lib$spawn(&command, 0, &device, &flags, 0, &pid), SS$_NORMAL, "for the output of a command");
    is_status(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, text, sizeof(text)), SS$_NORMAL,
              "a message");
    is_str(strtok(text, "\n"), "one record", "is what it has put before it waits");
    sys$delprc(&pid);
    sys$dassgn(chan);
    device = name = string("LATER"); /* the other one may have an end of file by now */
    sys$crembx(0, &chan, 0, 0, 0, 0, &name);
    is(lib$spawn(&later, 0, &device, &flags), SS$_NORMAL, "a command that writes later");
    memset(text, 0, sizeof(text));
    is_status(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, 0, 0, 0, text, sizeof(text)), SS$_NORMAL,
              "$QIOW without a flag and a status block");
    ok(strncmp(text, "late", 4) == 0, "waits all the same: %s", text);
    sys$dassgn(chan);
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

/* ---- without memory ---- */

/* What allocates in these routines is malloc(), which here gets no more of the system, and has
 * nothing left. */
static void without_memory(void)
{
    static char text[1000];
    STRING record = {sizeof(text), DSC$K_DTYPE_T, DSC$K_CLASS_S, text}, command = string("true");
    ILE3 criteria[] = {NAMED("SCAN_A", 0), END};
    unsigned int context = 0;
    int scanned, spawned, put, timer;
    unsigned int handle = 0;
    struct rlimit was, none;
    void *list = NULL, *p;

    memset(text, '#', sizeof(text));
    getrlimit(RLIMIT_AS, &was);
    none = was;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_AS, &none);
    /* Small blocks that were freed are kept by their sizes. */
    for (size_t size = 1 << 20; size >= 16; size = size > 2048 ? size / 2 : size - 16)
        while ((p = malloc(size))) {
            *(void **)p = list;
            list = p;
        }
    scanned = sys$process_scan(&context, criteria);
    spawned = lib$spawn(&command);
    put = lib$put_output(&record);
    timer = lib$init_timer(&handle);
    while ((p = list)) {
        list = *(void **)p;
        free(p);
    }
    setrlimit(RLIMIT_AS, &was);
    is(scanned, SS$_INSFMEM, "a scan without memory");
    is(context, 0, "has no context");
    is(spawned, LIB$_INSVIRMEM, "no command");
    is(put, LIB$_FATERRLIB, "no record that is long");
    ok(timer == SS$_NORMAL || timer == LIB$_INSVIRMEM, "a timer, or no memory for it: %d", timer);
    if (timer == SS$_NORMAL)
        lib$free_timer(&handle);
    is(sys$process_scan(&context, criteria), SS$_NORMAL, "with memory there is one again");
    sys$process_scan(&context);
}

int main(int argc, char **argv)
{
    pid_t a, b;

    if (argc > 1 && strcmp(argv[1], "fail") == 0)
        sys$exit(0x10000000 | SS$_INSFLPGS);
    if (argc > 1 && strcmp(argv[1], "put") == 0) {
        STRING record = string("one record");

        lib$put_output(&record);
        sys$hiber();
    }
    mkdir("/tmp", 0777);
    a = start("SCAN_A");
    b = start("SCAN_B");
    scans(a, b);
    items();
    long_lists();
    refusals();
    kill(a, SIGKILL);
    kill(b, SIGKILL);
    waitpid(a, 0, 0);
    waitpid(b, 0, 0);
    commands();
    waits();
    records();
    without_memory();
    return tap_done();
}
