// TAP
// RUN: -m 256M --smp 1
// RUN: -m 256M --smp 2
// RUN: -m 256M --smp 4
/*
 * Ends of processes of $CREPRC, and what passes to the next ones: the name that is free when the
 * message of the end has come, final condition values, the limit of subprocesses. This program is
 * the image of its subprocesses, too: what they are to do is in their input file.
 */
#include <accdef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <fcntl.h>
#include <iodef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <pqldef.h>
#include <prcdef.h>
#include <prvdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define IMAGE "/tests/successors"

typedef struct dsc$descriptor_s STRING;

static STRING string(const char *s)
{
    return (STRING){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)s};
}

static unsigned jpi(unsigned int pid, int code)
{
    unsigned value = 0;

    return lib$getjpi(&code, &pid, 0, &value) & 1 ? value : ~0u;
}

/* ---- the subprocess ---- */

static void tell(unsigned a, unsigned b)
{
    printf("%u %u\n", a, b);
    fflush(stdout);
}

/* A grandchild of fork makes as many subprocesses as it may; its maker has none yet, or one. */
static void forks_and_makes(int first)
{
    STRING image = string(IMAGE), in = string("/tmp/sleeper");
    unsigned pid, n = 0;
    int status = SS$_NORMAL;

    if (first)
        sys$creprc(&pid, &image, &in);
    if (fork() == 0) {
        if (fork() == 0) {
            unsigned limit = jpi(0, JPI$_PRCLM);

            while (n < 20 && (status = sys$creprc(&pid, &image, &in)) == SS$_NORMAL)
                n++;
            tell(status == SS$_EXPRCLM ? n : 1000 + n, limit);
        }
        wait(NULL);
        _exit(0);
    }
    wait(NULL);
    _exit(0);
}

/* Without IMPERSONATE, give a detached process more subprocesses, and then say nothing of them. */
static void detaches(void)
{
    static const unsigned char more[] = {PQL$_PRCLM, 3, 0, 0, 0, PQL$_LISTEND};
    STRING image = string(IMAGE), in = string("/tmp/sleeper");
    unsigned long impersonate = PRV$M_IMPERSONATE;
    unsigned pid = 0;
    int status;

    sys$setprv(0, &impersonate, 0, 0);
    status = sys$creprc(0, &image, &in, 0, 0, 0, (void *)more, 0, 4, 0, 0, PRC$M_DETACH);
    sys$creprc(&pid, &image, &in, 0, 0, 0, 0, 0, 4, 0, 0, PRC$M_DETACH);
    tell((unsigned)status, jpi(pid, JPI$_PRCLM));
    sys$delprc(&pid);
    _exit(0);
}

/* Fill a mailbox that nobody reads; with PRC$M_SSRWAIT it does not wait for room. */
static void fills(void)
{
    struct _iosb iosb;
    unsigned short chan;
    unsigned written = 0;
    int status;

    sys$crembx(0, &chan, 100, 1000, 0, 0, 0, 0, 0);
    alarm(20);
    while ((status = sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, "a line",
                              6)) == SS$_NORMAL &&
           iosb.iosb$w_status == SS$_NORMAL)
        written++;
    tell((unsigned)status, written != 0);
    _exit(0);
}

static void unheard(int sig) { (void)sig; }

/* Use CPU time on and on, whatever signal says that there is no more. */
static void computes(void)
{
    signal(SIGXCPU, unheard);
    for (;;)
        ;
}

static int run_as_subprocess(void)
{
    char order[32] = "";

    if (read(0, order, sizeof(order) - 1) < 0)
        return 9;
    if (strcmp(order, "forks") == 0)
        forks_and_makes(0);
    if (strcmp(order, "forks_later") == 0)
        forks_and_makes(1);
    if (strcmp(order, "detaches") == 0)
        detaches();
    if (strcmp(order, "fills") == 0)
        fills();
    if (strcmp(order, "computes") == 0)
        computes();
    if (strcmp(order, "exit_0") == 0)
        sys$exit(0);
    if (strcmp(order, "c_exit_0") == 0)
        exit(0);
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

static void told(const char *path, unsigned *a, unsigned *b)
{
    *a = *b = ~0u;
    for (int i = 0; i < 10000; i++, usleep(1000)) {
        FILE *f = fopen(path, "r");
        char line[200];
        int n = 0;

        while (f && n != 2 && fgets(line, sizeof(line), f)) /* with comments of tap.h */
            n = sscanf(line, "%u %u", a, b);
        if (f)
            fclose(f);
        if (n == 2)
            return;
    }
}

static unsigned short mailbox(unsigned *unit)
{
    unsigned short chan = 0;
    int item = DVI$_UNIT;

    sys$crembx(0, &chan, ACC$K_TERMLEN, 4 * ACC$K_TERMLEN, 0, 0, 0, 0, 0);
    lib$getdvi(&item, &chan, 0, unit);
    return chan;
}

static unsigned final_status(unsigned short chan)
{
    static struct accdef m;
    struct _iosb iosb;

    sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, &m, sizeof(m));
    return iosb.iosb$w_status == SS$_NORMAL ? m.acc$l_finalsts : ~0u;
}

/* What a supervisor does that starts a worker again when it has ended. */
static void names_at_once(void)
{
    STRING image = string("/bin/true"), null = string("NL:"), name = string("WORKER");
    unsigned unit, refused = 0, ends = 0, pid;
    unsigned short chan = mailbox(&unit);
    int status = SS$_NORMAL;

    for (int i = 0; i < 100; i++) {
        status = sys$creprc(&pid, &image, &null, 0, 0, 0, 0, &name, 4, 0, (unsigned short)unit,
                            PRC$M_DETACH);
        refused += status != SS$_NORMAL;
        if (status != SS$_NORMAL) {
            usleep(1000);
            continue;
        }
        ends += final_status(chan) == SS$_NORMAL;
    }
    is(refused, 0, "when the message has come, the name is free");
    is(ends, 100, "each has told its end");
    sys$dassgn(chan);
}

/* lib$spawn of a program that ends with 0: its wait is not for the value. */
static void waits_for_zero(void)
{
    STRING command = string(IMAGE), in = string(orders("exit_0"));
    int ended = -1;

    is_status(lib$spawn(&command, &in, 0, 0, 0, 0, &ended), SS$_NORMAL, "lib$spawn of exit_0");
    is(ended, SS$_NORMAL, "0 is told as success");
}

static void final_values(void)
{
    static const unsigned char second[] = {PQL$_CPULM, 100, 0, 0, 0, PQL$_LISTEND};
    static const struct {
        const char *order;
        unsigned want;
    } ends[] = {
        {"exit_0", 0}, {"c_exit_0", SS$_NORMAL}, {"sleeper", 0}, {"computes", SS$_EXCPUTIM}};
    STRING image = string(IMAGE);
    unsigned unit, pid;
    unsigned short chan = mailbox(&unit);

    for (int i = 0; i < 4; i++) {
        STRING in = string(orders(ends[i].order));

        is_status(sys$creprc(&pid, &image, &in, 0, 0, 0, i == 3 ? (void *)second : 0, 0, 4, 0,
                             (unsigned short)unit),
                  SS$_NORMAL, "a process: %s", ends[i].order);
        if (i == 2) { /* when its program is there */
            usleep(100000);
            is_status(sys$forcex(&pid, 0, 0), SS$_NORMAL, "is to exit, without a code");
        }
        is(final_status(chan), ends[i].want, "how it ends");
    }
    sys$dassgn(chan);
    waits_for_zero();
}

static void limits_pass_on(void)
{
    static const unsigned char two[] = {PQL$_PRCLM, 2, 0, 0, 0, PQL$_LISTEND};
    static const struct {
        const char *order, *out, *what;
        unsigned a, b;
    } ways[] = {
        {"forks", "/tmp/made", "a grandchild of fork makes two and no more", 2, 2},
        {"forks_later", "/tmp/made_later", "nor when there are others already", 2, 2},
        {"detaches", "/tmp/detached", "a detached process gets no larger limit", SS$_EXQUOTA, 2},
    };
    STRING image = string(IMAGE);
    unsigned pid, a, b;

    orders("sleeper");
    for (int i = 0; i < 3; i++) {
        STRING in = string(orders(ways[i].order)), out = string(ways[i].out);

        is_status(sys$creprc(&pid, &image, &in, &out, 0, 0, (void *)two, 0, 4, 0, 0, PRC$M_DETACH),
                  SS$_NORMAL, "a process with PRCLM 2: %s", ways[i].order);
        told(ways[i].out, &a, &b);
        is(a, ways[i].a, "%s", ways[i].what);
        is(b, ways[i].b, "its PRCLM");
    }
}

static void no_waits(void)
{
    STRING image = string(IMAGE), in = string(orders("fills")), out = string("/tmp/filled");
    unsigned pid, a, b;

    is_status(sys$creprc(&pid, &image, &in, &out, 0, 0, 0, 0, 4, 0, 0, PRC$M_SSRWAIT), SS$_NORMAL,
              "a process without resource waits");
    told("/tmp/filled", &a, &b);
    is(a, SS$_MBFULL, "is told that a mailbox is full");
    is(b, 1, "when it is");
}

int main(void)
{
    if (getppid() == 1 && jpi(0, JPI$_PID) != 1)
        return run_as_subprocess();
    mkdir("/tmp", 0777);
    names_at_once();
    final_values();
    limits_pass_on();
    no_waits();
    return tap_done();
}
