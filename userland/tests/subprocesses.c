// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * $CREPRC and $SETPRI: what a new process gets, how it and its subprocesses end, quotas, names,
 * priorities, privileges, refusals. This program is the image of its subprocesses, too: what they
 * are to do is in their input file.
 */
#include <accdef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <fcntl.h>
#include <iledef.h>
#include <iodef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <msgdef.h>
#include <pqldef.h>
#include <prcdef.h>
#include <prvdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <statedef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define IMAGE "/tests/subprocesses"

typedef struct dsc$descriptor_s STRING;

static STRING string(const char *s)
{
    return (STRING){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)s};
}

static uint64_t jpi(unsigned int pid, int code)
{
    uint64_t value = 0;
    int status = lib$getjpi(&code, &pid, 0, &value);

    return status & 1 ? value : ~0ul;
}

/* ---- the subprocess ---- */

static void tell(const char *format, uint64_t a, uint64_t b)
{
    printf(format, a, b);
    fflush(stdout);
}

static void child_quotas(void)
{
    unsigned long never = -1000000000000ul;
    int asts = 0, timers = 0;

    while (sys$setimr(1, &never, 0, 7, 0) == SS$_NORMAL)
        timers++;
    sys$cantim(0, 0);
    sys$setast(0);
    while (sys$dclast((mega_ast_routine)abort, 0, 0) == SS$_NORMAL)
        asts++;
    tell("%lu %lu\n", (uint64_t)asts, (uint64_t)timers);
    _exit(0);
}

static void child_makes_more(void)
{
    STRING image = string(IMAGE), in = string("/tmp/sleeper"), out = string("/tmp/deep");
    unsigned int pid, status, n = 0;

    while ((status = (unsigned)sys$creprc(&pid, &image, &in, &out)) == SS$_NORMAL)
        n++;
    tell("%lu %lu\n", n, status);
    for (;;)
        pause();
}

/* A process with small quotas makes others: what larger ones in the list give, and how many ASTs
 * one without a list has. */
static void child_asks_for_more(void)
{
    static const unsigned char more[] = {PQL$_ASTLM, 11, 0, 0, 0, PQL$_LISTEND};
    STRING image = string(IMAGE), in = string("/tmp/sleeper");
    unsigned int pid, status;

    status = (unsigned)sys$creprc(&pid, &image, &in, 0, 0, 0, (void *)more);
    sys$creprc(&pid, &image, &in);
    tell("%lu %lu\n", status, jpi(pid, JPI$_ASTLM));
    _exit(0);
}

/* Its input and output are mailboxes, for the C library and for $ASSIGN. */
static void child_copies_lines(void)
{
    STRING names[] = {string("SYS$INPUT"), string("SYS$OUTPUT")};
    int code = DVI$_UNIT, units[2] = {0};
    unsigned short chan;
    char line[100];

    while (fgets(line, sizeof(line), stdin)) {
        printf("got %s", line);
        fflush(stdout);
    }
    for (int i = 0; i < 2; i++)
        if (sys$assign(&names[i], &chan, 0, 0) == SS$_NORMAL)
            lib$getdvi(&code, &chan, 0, &units[i]);
    printf("%d and %d\nthe end", units[0], units[1]);
    fflush(stdout);
    _exit(0);
}

static int run_as_subprocess(void)
{
    char order[32] = "";
    ssize_t n = read(0, order, sizeof(order) - 1);

    if (n > 0 && order[n - 1] == '\n')
        order[n - 1] = '\0';
    if (strcmp(order, "identity") == 0) {
        tell("%lu %lu\n", jpi(0, JPI$_OWNER), jpi(0, JPI$_CURPRIV));
        return 0;
    }
    if (strcmp(order, "quotas") == 0)
        child_quotas();
    if (strcmp(order, "lines") == 0)
        child_copies_lines();
    if (strcmp(order, "more") == 0)
        child_makes_more();
    if (strcmp(order, "larger") == 0)
        child_asks_for_more();
    if (strcmp(order, "priority") == 0) {
        tell("%lu %lu\n", jpi(0, JPI$_PRIB), jpi(0, JPI$_AUTHPRIV));
        return 0;
    }
    if (strcmp(order, "compute") == 0)
        for (;;)
            ;
    if (strcmp(order, "user") == 0) {
        tell("%lu %lu\n", getuid(), jpi(0, JPI$_UIC));
        return 0;
    }
    for (;;)
        pause();
}

/* ---- its maker ---- */

static const char *orders(const char *order)
{
    static char path[32];
    int fd;

    snprintf(path, sizeof(path), "/tmp/%s", order);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, order, strlen(order)) < 0)
        bail_out("no file of orders");
    close(fd);
    return path;
}

static void wait_for_end(unsigned int pid)
{
    while (jpi(pid, JPI$_PID) != ~0ul)
        usleep(1000);
}

/* What the process has told, once it has told something. */
static void told(const char *path, uint64_t *a, uint64_t *b)
{
    for (;; usleep(1000)) {
        FILE *f = fopen(path, "r");
        char line[200];
        int n = 0;

        while (f && n != 2 && fgets(line, sizeof(line), f)) /* with comments of tap.h */
            n = sscanf(line, "%lu %lu", a, b);
        if (f)
            fclose(f);
        if (n == 2)
            return;
    }
}

static unsigned int start(const char *order, const char *out)
{
    STRING image = string(IMAGE), input = string(orders(order)), output = string(out);
    unsigned int pid = 0;

    unlink(out);
    is_status(sys$creprc(&pid, &image, &input, &output), SS$_NORMAL, "a process: %s", order);
    return pid;
}

static void identity(void)
{
    uint64_t owner, privileges, before = jpi(0, JPI$_PRCCNT);
    unsigned int pid = start("identity", "/tmp/out1");

    told("/tmp/out1", &owner, &privileges);
    is(owner, getpid(), "it knows its owner");
    is(privileges, jpi(0, JPI$_CURPRIV), "and has its privileges");
    wait_for_end(pid);
    is(jpi(0, JPI$_PRCCNT), before, "it is counted no more");
    is(waitpid((pid_t)pid, NULL, 0), -1, "it is no child of POSIX");
}

static void relations(void)
{
    unsigned int pid = start("sleeper", "/tmp/out2"), detached = 0;
    STRING image = string(IMAGE), input = string("/tmp/sleeper"), name = string("HERMIT");

    is(jpi(0, JPI$_PRCCNT), 1, "PRCCNT");
    is(jpi(0, JPI$_JOBPRCCNT), 1, "JOBPRCCNT");
    is(jpi(pid, JPI$_OWNER), getpid(), "OWNER");
    is(jpi(pid, JPI$_MASTER_PID), getpid(), "MASTER_PID");
    is_status(sys$creprc(&detached, &image, &input, 0, 0, 0, 0, &name, 4, 0, 0, PRC$M_DETACH),
              SS$_NORMAL, "a detached process");
    is(jpi(detached, JPI$_OWNER), 0, "has no owner");
    is(jpi(detached, JPI$_MASTER_PID), detached, "and is master of its job");
    is(jpi(detached, JPI$_CREPRC_FLAGS), PRC$M_DETACH, "and has its flags");
    is(jpi(0, JPI$_PRCCNT), 1, "and does not count");
    is_status(sys$delprc(0, &name), SS$_NORMAL, "it is deleted by its name");
    is_status(sys$delprc(&pid), SS$_NORMAL, "and the other, too");
    wait_for_end(pid);
    wait_for_end(detached);
    is(jpi(0, JPI$_PRCCNT), 0, "none is left");
}

/* A process ends with its owner, and so do its own subprocesses. */
static void ends_with_owner(void)
{
    STRING image = string(IMAGE), input = string("/tmp/sleeper");
    uint64_t n, status;
    volatile unsigned int *shared;
    unsigned int pid;
    pid_t owner;

    orders("sleeper");
    pid = start("more", "/tmp/out3");
    told("/tmp/out3", &n, &status);
    is(n + 1, jpi(0, JPI$_PRCLM), "a job has so many subprocesses");
    is(status, SS$_EXPRCLM, "and no more");
    is(jpi(pid, JPI$_PRCCNT), n, "they are counted");
    is_status(sys$creprc(0, &image, &input), SS$_EXPRCLM, "nor has another process of the job");
    is_status(sys$delprc(&pid), SS$_NORMAL, "their owner is deleted");
    while (jpi(0, JPI$_JOBPRCCNT) != 0)
        usleep(1000);
    is(jpi(0, JPI$_JOBPRCCNT), 0, "they are gone, too");
    fflush(stdout);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if ((owner = fork()) == 0) {
        if (sys$creprc(&pid, &image, &input) == SS$_NORMAL)
            *shared = pid;
        _exit(0);
    }
    waitpid(owner, NULL, 0);
    pid = *shared;
    ok(pid != 0, "a child of fork has a subprocess");
    wait_for_end(pid);
    is(jpi(pid, JPI$_PID), ~0ul, "which ends with it");
}

static void quotas(void)
{
    static const unsigned char list[] = {PQL$_ASTLM,  10, 0, 0, 0, PQL$_TQELM, 3, 0, 0, 0,
                                         PQL$_PRCLM,  0,  0, 0, 0, PQL$_ENQLM, 9, 0, 0, 0,
                                         PQL$_LISTEND};
    static const unsigned char wrong[] = {15, 0, 0, 0, 0, PQL$_LISTEND};
    static unsigned char endless[5 * 65];
    STRING image = string(IMAGE), input = string(orders("quotas")), output = string("/tmp/out5");
    uint64_t asts, timers;
    unsigned int pid;

    is_status(sys$creprc(&pid, &image, &input, &output, 0, 0, (void *)list), SS$_NORMAL, "quotas");
    told("/tmp/out5", &asts, &timers);
    is(asts, 10, "ASTs");
    is(timers, 3, "timers");
    wait_for_end(pid);
    is_status(sys$creprc(0, &image, 0, 0, 0, 0, (void *)wrong), SS$_IVQUOTAL, "no such quota");
    memset(endless, PQL$_ASTLM, sizeof(endless));
    is_status(sys$creprc(0, &image, 0, 0, 0, 0, endless), SS$_IVQUOTAL, "a list without an end");
    is_status(sys$creprc(0, &image, 0, 0, 0, 0, (void *)8), SS$_ACCVIO, "no list");
    input = string("/tmp/sleeper");
    is_status(sys$creprc(&pid, &image, &input, 0, 0, 0, (void *)list, 0, 4, 0, 0, PRC$M_DETACH),
              SS$_NORMAL, "a detached process");
    is(jpi(pid, JPI$_ASTLM), 10, "ASTLM");
    is(jpi(pid, JPI$_ASTCNT), 10, "ASTCNT");
    is(jpi(pid, JPI$_TQLM), 3, "TQLM");
    is(jpi(pid, JPI$_TQCNT), 3, "TQCNT");
    is(jpi(pid, JPI$_PRCLM), 0, "PRCLM");
    sys$delprc(&pid);
    wait_for_end(pid);
}

/* Nobody gives what he does not have. */
static void larger_quotas(void)
{
    static const unsigned char ten[] = {PQL$_ASTLM, 10, 0, 0, 0, PQL$_LISTEND};
    static const unsigned char more[] = {PQL$_ASTLM, 251, 0, 0, 0, PQL$_LISTEND};
    static const unsigned char bytes[] = {PQL$_BYTLM, 0, 0, 0, 1, PQL$_LISTEND};
    uint64_t status, asts, impersonate = PRV$M_IMPERSONATE;
    STRING image = string(IMAGE), input = string(orders("larger")), output = string("/tmp/out7");
    unsigned int pid;

    is_status(sys$creprc(&pid, &image, &input, &output, 0, 0, (void *)ten), SS$_NORMAL, "ASTLM 10");
    told("/tmp/out7", &status, &asts);
    is_status((int)status, SS$_EXQUOTA, "it gives nobody 11");
    is(asts, 10, "nor, without a list, more than its own");
    wait_for_end(pid);
    input = string("/tmp/sleeper");
    is_status(sys$creprc(0, &image, &input, 0, 0, 0, (void *)more), SS$_EXQUOTA, "as nobody does");
    is_status(sys$creprc(0, &image, &input, 0, 0, 0, (void *)bytes), SS$_EXQUOTA, "BYTLM likewise");
    is_status(sys$creprc(&pid, &image, &input, 0, 0, 0, (void *)more, 0, 4, 0, 0, PRC$M_DETACH),
              SS$_NORMAL, "but to a detached process");
    is(jpi(pid, JPI$_ASTLM), 251, "ASTLM 251");
    sys$delprc(&pid);
    wait_for_end(pid);
    sys$setprv(0, &impersonate, 0, 0);
    is_status(sys$creprc(0, &image, &input, 0, 0, 0, (void *)more, 0, 4, 0, 0, PRC$M_DETACH),
              SS$_EXQUOTA, "with IMPERSONATE");
    sys$setprv(1, &impersonate, 0, 0);
}

static void quotas_of_io(void)
{
    static const unsigned char list[] = {PQL$_BIOLM, 5, 0, 0, 0,           PQL$_BYTLM,
                                         0xD0,       7, 0, 0, PQL$_LISTEND};
    STRING image = string(IMAGE), input = string("/tmp/sleeper");
    unsigned short chan[2];
    static struct _iosb iosb;
    unsigned int pid;

    is_status(sys$creprc(&pid, &image, &input, 0, 0, 0, (void *)list), SS$_NORMAL,
              "quotas for mailboxes");
    is(jpi(pid, JPI$_BIOLM), 5, "BIOLM");
    is(jpi(pid, JPI$_BIOCNT), 5, "BIOCNT");
    is(jpi(pid, JPI$_BYTLM), 2000, "BYTLM");
    is(jpi(pid, JPI$_BYTCNT), 2000, "BYTCNT");
    sys$delprc(&pid);
    wait_for_end(pid);
    sys$crembx(0, &chan[0], 100, 1000, 0, 0, 0, 0, 0);
    sys$qio(EFN$C_ENF, chan[0], IO$_READVBLK, &iosb, 0, 0, &pid, 4);
    is(jpi(0, JPI$_BYTLM) - jpi(0, JPI$_BYTCNT), 1000, "BYTCNT falls with a mailbox");
    is(jpi(0, JPI$_BIOLM) - jpi(0, JPI$_BIOCNT), 1, "BIOCNT with a request");
    sys$dassgn(chan[0]);
    is(jpi(0, JPI$_BYTLM), jpi(0, JPI$_BYTCNT), "and both rise");
}

/* The message about the end of a process that has these quotas and, -1: is deleted. */
static void ends_with(const char *order, const unsigned char *list, int delete, unsigned want)
{
    static struct accdef m;
    STRING image = string(IMAGE), input = string(orders(order));
    unsigned short chan;
    unsigned int pid, unit;
    int item = DVI$_UNIT;
    struct _iosb iosb;

    sys$crembx(0, &chan, ACC$K_TERMLEN, 2 * ACC$K_TERMLEN, 0, 0, 0, 0, 0);
    lib$getdvi(&item, &chan, 0, &unit);
    is_status(
        sys$creprc(&pid, &image, &input, 0, 0, 0, (void *)list, 0, 4, 0, (unsigned short)unit),
        SS$_NORMAL, "a process that tells of its end: %s", order);
    if (delete) {
        is(jpi(pid, JPI$_TMBU), unit, "TMBU");
        sys$delprc(&pid);
    }
    sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, &m, sizeof(m));
    ok(iosb.iosb$w_status == SS$_NORMAL && iosb.iosb$w_bcnt == ACC$K_TERMLEN, "a message");
    ok(m.acc$w_msgtyp == MSG$_DELPROC && m.acc$l_pid == pid && iosb.iosb$l_dev_depend == pid,
       "of its end");
    is(m.acc$l_finalsts, want, "its final status");
    is(m.acc$l_owner, getpid(), "its owner");
    ok(memcmp(m.acc$t_username, "SYSTEM      ", 12) == 0, "its user");
    sys$dassgn(chan);
    wait_for_end(pid);
}

static void messages_of_ends(void)
{
    static const unsigned char one_second[] = {PQL$_CPULM, 100, 0, 0, 0, PQL$_LISTEND};
    STRING image = string(IMAGE), input = string("/tmp/identity");
    unsigned short chan;
    unsigned int pid, unit;
    int item = DVI$_UNIT, status = 0;
    pid_t child;

    orders("identity");
    ends_with("sleeper", NULL, 1, SS$_ABORT);
    ends_with("compute", one_second, 0, SS$_EXCPUTIM);
    is_status(sys$creprc(&pid, &image, &input, 0, 0, 0, 0, 0, 4, 0, 4000), SS$_NORMAL,
              "a mailbox that does not exist");
    wait_for_end(pid);
    sys$crembx(0, &chan, 10, 100, 0xF000, 0, 0, 0, 0);
    lib$getdvi(&item, &chan, 0, &unit);
    is_status(sys$creprc(&pid, &image, &input, 0, 0, 0, 0, 0, 4, 0, (unsigned short)unit),
              SS$_NORMAL, "one for which the message is too long");
    wait_for_end(pid);
    fflush(stdout);
    if ((child = fork()) == 0) {
        int good = setgid(300) == 0 && setuid(300) == 0;

        good &= status_is(sys$creprc(0, &image, &input, 0, 0, 0, 0, 0, 4, 0, (unsigned short)unit),
                          SS$_NOPRIV);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    is(status, 0, "one that another user may not write to");
    sys$dassgn(chan);
}

static unsigned short mailbox(const char *name, int most, int *unit)
{
    STRING logical = string(name);
    int code = DVI$_UNIT;
    unsigned short chan;

    is_status(sys$crembx(0, &chan, ACC$K_TERMLEN, most, 0, 0, &logical), SS$_NORMAL, "a mailbox");
    lib$getdvi(&code, &chan, 0, unit);
    return chan;
}

static void put_line(unsigned short chan, const char *line)
{
    struct _iosb iosb;

    sys$qiow(EFN$C_ENF, chan, line ? IO$_WRITEVBLK | IO$M_NOW : IO$_WRITEOF | IO$M_NOW, &iosb, 0, 0,
             (void *)line, line ? strlen(line) : 0, 0, 0, 0, 0);
}

static void got_line(unsigned short chan, const char *expected)
{
    char line[ACC$K_TERMLEN + 1];
    struct _iosb iosb;

    do { /* comments of tap.h come between */
        sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, line, ACC$K_TERMLEN, 0, 0, 0, 0);
    } while (iosb.iosb$w_bcnt && line[0] == '#');
    is(iosb.iosb$w_status, expected ? SS$_NORMAL : SS$_ENDOFFILE, "a message, or the end");
    line[iosb.iosb$w_bcnt] = '\0';
    is_str(line, expected ? expected : "", "what it says");
}

/* The names that $ASSIGN takes. */
static void mailboxes_as_files(void)
{
    char device[16], units[32];
    int in_unit, out_unit;
    unsigned short in = mailbox("SUB_IN", 512, &in_unit),
                   out = mailbox("SUB_OUT", ACC$K_TERMLEN, &out_unit);
    STRING image = string(IMAGE), output = string("SUB_OUT"), null = string("_nla0:"), input;

    snprintf(device, sizeof(device), "_MBA%d:", in_unit);
    input = string(device);
    put_line(in, "lines");
    put_line(in, "the first line of them, of some length");
    put_line(in, "");
    put_line(in, NULL);
    is_status(sys$creprc(0, &image, &input, &output, &null), SS$_NORMAL, "mailboxes as files");
    usleep(100000); /* it waits for room */
    got_line(out, "got the first line of them, of some length");
    got_line(out, "got ");
    snprintf(units, sizeof(units), "%d and %d", in_unit, out_unit);
    got_line(out, units);
    got_line(out, "the end");
    got_line(out, NULL);
    is_status(sys$dassgn(in), SS$_NORMAL, "they go");
    is_status(sys$dassgn(out), SS$_NORMAL, "likewise");
}

/* How a process ends whose files cannot be opened. */
static void devices_as_files(void)
{
    static const struct {
        const char *in, *out;
        unsigned int final;
    } ways[] = {{"NL:", "_NLA0:", SS$_NORMAL},
                {"_MBA4001:", "NL:", SS$_NOSUCHDEV},
                {"NL:", "nothing$at$all:", SS$_NOSUCHDEV},
                {"NL:", "SYS$OUTPUT:", SS$_NOSUCHDEV},
                {"NL:", "_a b", SS$_IVDEVNAM},
                {"NL:", "/tmp/none/out", SS$_NOSUCHFILE}};
    STRING image = string("/bin/true");
    int unit;
    unsigned short chan = mailbox("SUB_ENDS", 512, &unit);
    struct accdef m;
    struct _iosb iosb;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        STRING in = string(ways[i].in), out = string(ways[i].out);

        is_status(sys$creprc(0, &image, &in, &out, 0, 0, 0, 0, 4, 0, (unsigned short)unit),
                  SS$_NORMAL, "%s, %s", ways[i].in, ways[i].out);
        sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, &m, sizeof(m), 0, 0, 0, 0);
        is_status((int)m.acc$l_finalsts, ways[i].final, "how it ends");
    }
    sys$dassgn(chan);
}

static void names(void)
{
    STRING image = string(IMAGE), input = string("/tmp/sleeper"), name = string("CLERK");
    STRING longer = string("SIXTEEN__LETTERS"), none = string("");
    unsigned int pid;
    char text[16] = "";
    int code = JPI$_PRCNAM;
    struct dsc$descriptor_s to = {15, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};

    is_status(sys$creprc(&pid, &image, &input, 0, 0, 0, 0, &name), SS$_NORMAL, "a name");
    is_status(sys$creprc(0, &image, &input, 0, 0, 0, 0, &name), SS$_DUPLNAM, "the same");
    is_status(sys$creprc(0, &image, &input, 0, 0, 0, 0, &longer), SS$_IVLOGNAM, "too long");
    is_status(sys$creprc(0, &image, &input, 0, 0, 0, 0, &none), SS$_IVLOGNAM, "empty");
    is_status(sys$creprc(0, &none), SS$_IVLOGNAM, "an image without a name");
    is_status(sys$creprc(0, 0), SS$_ACCVIO, "no image");
    is_status(sys$creprc((void *)8, &image), SS$_ACCVIO, "nowhere for the number");
    usleep(20000); /* its image is loaded */
    lib$getjpi(&code, &pid, 0, 0, &to, 0);
    ok(strncmp(text, "CLERK ", 6) == 0, "it keeps the name: %s", text);
    is_status(sys$delprc(0, &name), SS$_NORMAL, "by which it is found");
    wait_for_end(pid);
}

static void hibernation(void)
{
    STRING image = string(IMAGE), input = string(orders("identity")), out = string("/tmp/out6");
    uint64_t owner, privileges;
    unsigned int pid;
    struct stat st;

    unlink("/tmp/out6");
    is_status(sys$creprc(&pid, &image, &input, &out, 0, 0, 0, 0, 4, 0, 0, PRC$M_HIBER), SS$_NORMAL,
              "one that is to hibernate");
    usleep(50000);
    ok(stat("/tmp/out6", &st) == 0 && st.st_size == 0, "has its files and has not begun");
    is(jpi(pid, JPI$_STATE), SCH$C_HIB, "it hibernates");
    is_status(sys$suspnd(&pid), SS$_NORMAL, "it is suspended meanwhile");
    is_status(sys$wake(&pid, 0), SS$_NORMAL, "it is woken");
    is_status(sys$resume(&pid), SS$_NORMAL, "and resumed");
    told("/tmp/out6", &owner, &privileges);
    is(owner, getpid(), "it begins");
    wait_for_end(pid);
    is_status(sys$creprc(&pid, &image, &input, &out, 0, 0, 0, 0, 4, 0, 0, PRC$M_HIBER), SS$_NORMAL,
              "another");
    is_status(sys$forcex(&pid, 0, SS$_ABORT), SS$_NORMAL, "is to exit");
    wait_for_end(pid);
    is(jpi(pid, JPI$_PID), ~0ul, "and does");
}

static void priorities(void)
{
    STRING image = string(IMAGE), input = string("/tmp/sleeper"), none = string("");
    unsigned int pid, before = 99, nobody = 0x7FFFFFF0;
    pid_t child;
    int status = 0;

    is(jpi(0, JPI$_PRIB), 4, "the usual base priority");
    is_status(sys$creprc(&pid, &image, &input, 0, 0, 0, 0, 0, 2), SS$_NORMAL, "a lower one");
    usleep(20000);
    is(jpi(pid, JPI$_PRIB), 2, "PRIB");
    is_status(sys$setpri(&pid, 0, 9, &before), SS$_NORMAL, "a higher one");
    is(before, 2, "it was 2");
    is(jpi(pid, JPI$_PRIB), 9, "PRIB is 9");
    is_status(sys$setpri(&pid, 0, 32), SS$_BADPARAM, "no such priority");
    is_status(sys$setpri(&nobody, 0, 4), SS$_NONEXPR, "no such process");
    is_status(sys$setpri(0, &none, 4), SS$_IVLOGNAM, "no name");
    is_status(sys$setpri((void *)8, 0, 4), SS$_ACCVIO, "no address");
    is_status(sys$setpri(0, 0, 4, (void *)8), SS$_ACCVIO, "nor of the answer");
    is_status(sys$creprc(0, &image, &input, 0, 0, 0, 0, 0, 32), SS$_BADPARAM, "nor for a new one");
    fflush(stdout);
    if ((child = fork()) == 0) {
        unsigned int parent = (unsigned)getppid();
        unsigned long altpri = PRV$M_ALTPRI;
        int good;

        sys$setprv(0, &altpri, 0, 0);
        sys$setpri(0, 0, 7, &before);
        good = before == 4 && jpi(0, JPI$_PRIB) == 4;
        sys$setpri(0, 0, 3);
        sys$setpri(0, 0, 4);
        good &= jpi(0, JPI$_PRIB) == 3;
        good &= setgid(300) == 0 && setuid(300) == 0;
        good &= status_is(sys$setpri(&parent, 0, 1), SS$_NOPRIV);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    is(status, 0, "nobody raises it without ALTPRI, or changes that of another user");
    sys$delprc(&pid);
    wait_for_end(pid);
}

static void users(void)
{
    STRING image = string(IMAGE), input = string(orders("user")), out = string("/tmp/user_out");
    uint64_t uid, uic;
    unsigned int pid;
    pid_t child;
    int status = 0;
    int fd = open("/tmp/user_out", O_WRONLY | O_CREAT, 0666);

    fchmod(fd, 0666);
    close(fd);
    is_status(sys$creprc(&pid, &image, &input, &out, 0, 0, 0, 0, 4, 0310 << 16 | 0456), SS$_NORMAL,
              "a process of another user");
    told("/tmp/user_out", &uid, &uic);
    is(uid, 0456, "has his number");
    is(uic, 0310 << 16 | 0456, "and UIC");
    wait_for_end(pid);
    fflush(stdout);
    if ((child = fork()) == 0) {
        int good = setgid(300) == 0 && setuid(300) == 0;

        good &= status_is(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 1 << 16 | 1), SS$_NODETACH);
        good &= status_is(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, PRC$M_NOACNT),
                          SS$_NOPRIV);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    is(status, 0, "a user makes none");
    fflush(stdout);
    if ((child = fork()) == 0) {
        const struct rlimit none = {0, 0};
        int good = setgid(300) == 0 && setuid(300) == 0 && setrlimit(RLIMIT_NPROC, &none) == 0;

        good &= status_is(sys$creprc(0, &image), SS$_NOSLOT);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    is(status, 0, "nor one more than his limit");
    is_status(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0x800000), SS$_IVSTSFLG,
              "no such flag");
}

static void privileges(void)
{
    STRING image = string(IMAGE), input = string("/tmp/identity"), out = string("/tmp/out7");
    struct _generic_64 mask = {.gen64$q_quadword = PRV$M_TMPMBX | PRV$M_GROUP};
    uint64_t owner, has;
    unsigned int pid;

    unlink("/tmp/out7");
    is_status(sys$creprc(&pid, &image, &input, &out, 0, &mask), SS$_NORMAL, "privileges");
    told("/tmp/out7", &owner, &has);
    is(has, PRV$M_TMPMBX | PRV$M_GROUP, "it has these");
    wait_for_end(pid);
    is_status(sys$creprc(0, &image, &input, &out, 0, (void *)8), SS$_ACCVIO, "no mask");
}

static void others(void)
{
    STRING image = string(IMAGE), node = string("ORION");

    is_status(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, (void *)&image), SS$_BADITMCOD,
              "an item list");
    is_status(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, &node), SS$_NOSUCHNODE,
              "another node");
}

/* Many processes make, name and delete subprocesses at the same moment. */
static void races(void)
{
    int good = 0;
    pid_t child[4];

    orders("sleeper");
    fflush(stdout);
    for (int i = 0; i < 4; i++)
        if ((child[i] = fork()) == 0) {
            STRING image = string(IMAGE), input = string("/tmp/sleeper"), name = string("RIVAL");

            for (int n = 0; n < 12; n++) {
                unsigned int pid = 0;
                int status = sys$creprc(&pid, &image, &input, 0, 0, 0, 0, n & 1 ? &name : 0);

                if (status == SS$_DUPLNAM)
                    continue;
                if (status != SS$_NORMAL || (n % 3 == 0 && sys$delprc(&pid) != SS$_NORMAL))
                    _exit(1);
            }
            _exit(0); /* the others end with it */
        }
    for (int i = 0; i < 4; i++) {
        int status = -1;

        waitpid(child[i], &status, 0);
        good += status == 0;
    }
    is(good, 4, "all have got theirs");
}

int main(void)
{
    if (getppid() == 1 && jpi(0, JPI$_PID) != 1)
        return run_as_subprocess();
    mkdir("/tmp", 0777);
    identity();
    relations();
    ends_with_owner();
    quotas();
    larger_quotas();
    quotas_of_io();
    messages_of_ends();
    mailboxes_as_files();
    devices_as_files();
    names();
    hibernation();
    priorities();
    users();
    privileges();
    others();
    races();
    return tap_done();
}
