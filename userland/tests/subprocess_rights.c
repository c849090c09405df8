// TAP
// RUN: -m 256M --smp 2
/*
 * $CREPRC: privileges and flags that the caller must have itself, the quota of open files, where
 * SYS$ERROR is. $SETPRI: the scheduling policy. This program is the image of the subprocesses,
 * which say what they have.
 */
#include <descrip.h>
#include <iledef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <lnmdef.h>
#include <pqldef.h>
#include <prcdef.h>
#include <prvdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define IMAGE  "/tests/subprocess_rights"
#define OUTPUT "/tmp/rights"

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

static int run_as_subprocess(void)
{
    STRING name = string("SYS$ERROR"), table = string("LNM$PROCESS");
    char at[64] = "";
    unsigned short length = 0;
    ILE3 list[] = {{sizeof(at) - 1, LNM$_STRING, at, &length}, {0, 0, 0, 0}};
    struct rlimit files;

    sys$trnlnm(0, &table, &name, 0, list);
    at[length] = '\0';
    getrlimit(RLIMIT_NOFILE, &files);
    printf("%lx %lu %s\n", (unsigned long)jpi(0, JPI$_CURPRIV), (unsigned long)files.rlim_cur, at);
    fflush(stdout);
    fprintf(stderr, "told\n");
    return 0;
}

struct answer {
    unsigned long privileges, files;
    char error[64];
};

static struct answer ask(void *privileges, void *quotas, unsigned int flags)
{
    STRING image = string(IMAGE), out = string(OUTPUT), err = string("/tmp/rights.err");
    struct answer a = {0};
    unsigned int pid;
    char line[200];
    FILE *f;
    int status;

    unlink(OUTPUT);
    unlink("/tmp/rights.err");
    status = sys$creprc(&pid, &image, 0, &out, &err, privileges, quotas, 0, 4, 0, 0, flags);
    if (!status_is(status, SS$_NORMAL))
        return a;
    while (jpi(pid, JPI$_PRIB) != ~0ul)
        usleep(2000);
    if (!(f = fopen(OUTPUT, "r")))
        return a;
    while (fgets(line, sizeof(line), f)) /* among what tap.h says of services */
        if (line[0] != '#')
            sscanf(line, "%lx %lu %63s", &a.privileges, &a.files, a.error);
    fclose(f);
    return a;
}

static void errors(void)
{
    struct answer a = ask(0, 0, 0);
    char line[8] = "";
    FILE *f = fopen("/tmp/rights.err", "r");

    is_str(a.error, "/tmp/rights.err", "SYS$ERROR names the file of the error output");
    ok(f && fgets(line, sizeof(line), f) && strcmp(line, "told\n") == 0, "to which that goes");
    if (f)
        fclose(f);
}

static void files(void)
{
    unsigned char quota[] = {PQL$_FILLM, 37, 0, 0, 0, PQL$_LISTEND};
    struct answer a = ask(0, quota, 0);

    is(a.files, 37, "FILLM is the number of descriptors that it may have");
}

/* What a caller without SETPRV has not itself, it cannot give. */
static void privileges(void)
{
    struct _generic_64 wanted = {.gen64$q_quadword = PRV$M_TMPMBX | PRV$M_WORLD | PRV$M_PSWAPM};
    unsigned long away = PRV$M_SETPRV | PRV$M_WORLD | PRV$M_PSWAPM;
    STRING image = string(IMAGE);
    pid_t child;
    int status = -1;

    is(ask(&wanted, 0, 0).privileges, wanted.gen64$q_quadword, "with SETPRV any are given");
    fflush(stdout);
    if ((child = fork()) == 0) {
        int good;

        sys$setprv(0, &away, 1, 0);
        good = ask(&wanted, 0, 0).privileges == PRV$M_TMPMBX;
        good &= status_is(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, PRC$M_PSWAPM),
                          SS$_NOPRIV);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    is(status, 0, "without it only those of the caller; and PRC$M_PSWAPM needs PSWAPM");
}

static void policies(void)
{
    unsigned int usual = JPI$K_DEFAULT_POLICY, other = JPI$K_DEFAULT_POLICY + 1, was = 99;
    unsigned int before = 99, nobody = 0x7FFFFFF0;

    is_status(sys$setpri(&nobody, 0, 4, &before, &usual, &was), SS$_NONEXPR, "no process");
    is_status(sys$setpri(0, 0, 4, &before, &other, &was), SS$_BADPARAM, "another policy");
    ok(was == 99 && before == 99, "nothing is written then");
    is_status(sys$setpri(0, 0, 4, &before, (void *)8, &was), SS$_ACCVIO, "a policy nowhere");
    is_status(sys$setpri(0, 0, 4, &before, &usual, (void *)8), SS$_ACCVIO, "nowhere for the old");
    is_status(sys$setpri(0, 0, 4, &before, &usual, &was), SS$_NORMAL, "the usual one");
    is(was, JPI$K_DEFAULT_POLICY, "which it was before");
}

int main(void)
{
    if (getppid() == 1 && jpi(0, JPI$_PID) != 1)
        return run_as_subprocess();
    mkdir("/tmp", 0777);
    errors();
    files();
    privileges();
    policies();
    return tap_done();
}
