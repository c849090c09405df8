// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * $DELPRC, $FORCEX, $SUSPND, $RESUME, $SETPRN: what they do to processes in all states, who may use
 * them, by number and by name; many at the same moment.
 */
#include <descrip.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

static volatile int *shared; /* of all processes */

typedef struct dsc$descriptor_s STRING;

static STRING string(const char *s)
{
    return (STRING){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)s};
}

static int reason;

static int note(const int *status)
{
    shared[4] = *status;
    return SS$_NORMAL;
}

static struct {
    void *link;
    int (*handler)();
    int count;
    int *status;
} at_end = {0, note, 1, &reason};

/* A child that tells by shared[0] that it runs; it computes, waits for a signal, or hibernates. */
enum kind { COMPUTES, WAITS, HIBERNATES, NO_ASTS };

static pid_t start(enum kind kind)
{
    pid_t pid;

    shared[0] = shared[1] = 0;
    if ((pid = fork()) == 0) {
        sys$dclexh(&at_end);
        if (kind == NO_ASTS)
            sys$setast(0);
        for (shared[0] = 1;; shared[1]++) {
            if (kind == WAITS)
                pause();
            else if (kind == HIBERNATES)
                sys$hiber();
            else if (shared[2] && kind == NO_ASTS) {
                shared[2] = 0;
                sys$setast(1);
            }
        }
    }
    while (!shared[0])
        usleep(1000);
    return pid;
}

/* How a child ends: its exit status, or 1000 and its signal. */
static int end_of(pid_t pid)
{
    int status = 0;

    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void deletes(void)
{
    static const enum kind kinds[] = {COMPUTES, WAITS, HIBERNATES};

    for (int i = 0; i < 3; i++) {
        pid_t pid = start(kinds[i]);
        unsigned int id = (unsigned)pid;

        is_status(sys$delprc(&id), SS$_NORMAL, "a process is deleted");
        is(end_of(pid), 1000 + SIGKILL, "at once");
        is_status(sys$delprc(&id), SS$_NONEXPR, "and gone");
    }
}

static int asts_left(unsigned int pid)
{
    int code = JPI$_ASTCNT, left = -1;

    return lib$getjpi(&code, &pid, 0, &left) & 1 ? left : -1;
}

static void forces(void)
{
    static const enum kind kinds[] = {COMPUTES, WAITS, HIBERNATES};
    unsigned int id;
    pid_t pid;
    int again = 0, left;

    for (int i = 0; i < 3; i++) {
        id = (unsigned)(pid = start(kinds[i]));
        is_status(sys$forcex(&id, 0, SS$_NORMAL), SS$_NORMAL, "a process is to exit");
        is(end_of(pid), 0, "it does, with a success");
    }
    id = (unsigned)(pid = start(WAITS));
    is_status(sys$forcex(&id, 0, 0x10000000 | SS$_INSFLPGS), SS$_NORMAL, "with an error");
    is(end_of(pid), 4, "that its parent sees");
    is(shared[4], 0x10000000 | SS$_INSFLPGS, "and its exit handler");
    id = (unsigned)(pid = start(NO_ASTS));
    left = asts_left(id);
    is_status(sys$forcex(&id, 0, SS$_NORMAL), SS$_NORMAL, "one that takes no ASTs");
    for (int i = 0; i < 1000; i++)
        again += sys$forcex(&id, 0, SS$_ABORT) == SS$_NORMAL;
    is(again, 1000, "that is already to exit");
    is(asts_left(id), left, "none of its ASTs is taken for it");
    usleep(20000);
    is(waitpid(pid, NULL, WNOHANG), 0, "goes on");
    shared[2] = 1;
    is(end_of(pid), 0, "until it takes them, with what the first one asked for");
    id = (unsigned)(pid = start(WAITS));
    is_status(sys$forcex(&id, 0, 0), SS$_NORMAL, "with the condition value 0");
    is(end_of(pid), 1, "which is a warning");
    is(shared[4], 0, "and is told its exit handler");
    id = (unsigned)(pid = fork());
    if (!pid) {
        execl("/bin/sleep", "sleep", "1000", NULL);
        _exit(99);
    }
    for (char name[64], to[64]; pid; usleep(1000)) { /* until exec has been called */
        ssize_t n;

        snprintf(name, sizeof(name), "/proc/%d/exe", pid);
        n = readlink(name, to, sizeof(to));
        if (n > 5 && memcmp(to + n - 5, "sleep", 5) == 0)
            break;
    }
    is_status(sys$forcex(&id, 0, SS$_NORMAL), SS$_NORMAL, "a program without the library");
    is(end_of(pid), 1000 + SIGTERM, "gets a signal");
}

static void suspends(void)
{
    pid_t pid = start(COMPUTES);
    unsigned int id = (unsigned)pid;
    int before, status;

    is_status(sys$resume(&id), SS$_NORMAL, "one that is not suspended");
    is_status(sys$resume(&id), SS$_NORMAL, "twice");
    is_status(sys$suspnd(&id), SS$_NORMAL, "that is remembered once:");
    before = shared[1];
    for (int i = 0; i < 1000 && shared[1] == before; i++)
        usleep(1000);
    ok(shared[1] != before && waitpid(pid, &status, WNOHANG | WUNTRACED) == 0,
       "the next suspension has no effect");
    is_status(sys$suspnd(&id), SS$_NORMAL, "suspended");
    ok(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "it stands still");
    before = shared[1];
    usleep(20000);
    is(shared[1], before, "it does nothing");
    is_status(sys$resume(&id), SS$_NORMAL, "resumed");
    for (int i = 0; i < 1000 && shared[1] == before; i++)
        usleep(1000);
    ok(shared[1] != before, "it goes on");
    is_status(sys$suspnd(&id), SS$_NORMAL, "suspended again");
    is_status(sys$delprc(&id), SS$_NORMAL, "and deleted");
    is(end_of(pid), 1000 + SIGKILL, "all the same");
}

static void names(void)
{
    STRING boss = string("BOSS"), clerk = string("CLERK"), none = string("");
    STRING longest = string("FIFTEEN_LETTERS"), longer = string("SIXTEEN__LETTERS");
    char now[16];
    pid_t pid;

    is_status(sys$setprn(&boss), SS$_NORMAL, "a name");
    prctl(PR_GET_NAME, now);
    is_status(sys$setprn(&boss), SS$_NORMAL, "the same again");
    is_status(sys$setprn(&longest), SS$_NORMAL, "15 characters");
    is_status(sys$setprn(&longer), SS$_IVLOGNAM, "16 characters");
    is_status(sys$setprn(&none), SS$_IVLOGNAM, "no character");
    is_status(sys$setprn((void *)8), SS$_ACCVIO, "no address");
    if ((pid = fork()) == 0) {
        int refused = sys$setprn(&clerk) != SS$_NORMAL || sys$setprn(&longest) != SS$_DUPLNAM;

        shared[3] = refused ? -1 : 1;
        for (;;)
            pause();
    }
    while (!shared[3])
        usleep(1000);
    is(shared[3], 1, "the name of another process is refused");
    is_status(sys$setprn(&clerk), SS$_DUPLNAM, "and its name, too");
    is_status(sys$delprc(0, &clerk), SS$_NORMAL, "it is deleted by its name, which it kept");
    is(end_of(pid), 1000 + SIGKILL, "and ends");
    is_status(sys$delprc(0, &clerk), SS$_NONEXPR, "the name is gone");
    is_status(sys$setprn(&clerk), SS$_NORMAL, "and free");
}

/* A process of root that acts for a user for a while has his UIC, but is not his. */
static void refused_by_one_who_acts_for_another(void)
{
    unsigned int server;
    pid_t pid, user;
    int good;

    shared[5] = 0;
    if ((pid = fork()) == 0) {
        if (setegid(300) != 0 || seteuid(300) != 0)
            _exit(9);
        for (shared[5] = 1; shared[5] == 1;)
            usleep(1000);
        _exit(0);
    }
    while (shared[5] == 0)
        usleep(1000);
    server = (unsigned)pid;
    fflush(stdout);
    if ((user = fork()) == 0) {
        if (setgid(300) != 0 || setuid(300) != 0)
            _exit(9);
        good = sys$suspnd(&server) == SS$_NOPRIV && sys$delprc(&server) == SS$_NOPRIV;
        _exit(good ? 0 : 1);
    }
    is(end_of(user), 0, "nor with one that acts for him");
    shared[5] = 2;
    is(end_of(pid), 0, "which goes on");
}

static void refusals(void)
{
    unsigned int id = 0, all = -1u, none = 0x7FFFFFF0;
    STRING empty = string("");
    pid_t pid;

    is_status(sys$suspnd(&none), SS$_NONEXPR, "no such process");
    is_status(sys$delprc(&all), SS$_NONEXPR, "no search");
    is_status(sys$delprc((void *)8), SS$_ACCVIO, "no address");
    is_status(sys$delprc(0, (void *)8), SS$_ACCVIO, "nor of a name");
    is_status(sys$delprc(0, &empty), SS$_IVLOGNAM, "no name");
    is_status(sys$suspnd(0, &empty), SS$_IVLOGNAM, "nor for suspension");
    is_status(sys$suspnd((void *)8), SS$_ACCVIO, "nor an address");
    is_status(sys$resume(0, &empty), SS$_IVLOGNAM, "nor to resume");
    is_status(sys$resume((void *)8), SS$_ACCVIO, "nor an address");
    is_status(sys$resume(&none), SS$_NONEXPR, "nor a process");
    is_status(sys$forcex(0, &empty, SS$_NORMAL), SS$_IVLOGNAM, "nor for an exit");
    is_status(sys$forcex((void *)8, 0, SS$_NORMAL), SS$_ACCVIO, "nor an address");
    is_status(sys$forcex(&none, 0, SS$_NORMAL), SS$_NONEXPR, "nor a process");
    fflush(stdout);
    if ((pid = fork()) == 0) {
        unsigned int parent = (unsigned)getppid();
        int good;

        if (setgid(300) != 0 || setuid(300) != 0)
            _exit(9);
        good = status_is(sys$delprc(&parent), SS$_NOPRIV);
        good &= status_is(sys$suspnd(&parent), SS$_NOPRIV);
        good &= status_is(sys$resume(&parent), SS$_NOPRIV);
        good &= status_is(sys$forcex(&parent, 0, 1), SS$_NOPRIV);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    is(end_of(pid), 0, "another user may do none of it");
    refused_by_one_who_acts_for_another();
    if ((pid = fork()) == 0) {
        sys$delprc(&id);
        _exit(9);
    }
    is(end_of(pid), 1000 + SIGKILL, "the caller itself");
    if ((pid = fork()) == 0) {
        sys$forcex(0, 0, SS$_NORMAL);
        for (;;)
            pause();
    }
    is(end_of(pid), 0, "the caller itself is to exit");
}

/* Many that force the exit of one that is about to call exec or to end. */
static void races(void)
{
    int good = 0;

    for (int round = 0; round < 20; round++) {
        pid_t pid = fork(), others[3];
        unsigned int id = (unsigned)pid;
        int end;

        if (pid == 0) {
            execl("/bin/true", "true", NULL);
            _exit(99);
        }
        for (int i = 0; i < 3; i++)
            if ((others[i] = fork()) == 0) {
                while (sys$forcex(&id, 0, SS$_NORMAL) == SS$_NORMAL)
                    ;
                _exit(0);
            }
        end = end_of(pid);
        good += end == 0 || end == 1000 + SIGTERM;
        for (int i = 0; i < 3; i++)
            good += end_of(others[i]) == 0;
    }
    is(good, 80, "$FORCEX reaches one program or none");
}

int main(void)
{
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        bail_out("no memory");
    deletes();
    forces();
    suspends();
    names();
    refusals();
    races();
    return tap_done();
}
