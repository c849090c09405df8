// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * Event flags: setting, clearing, reading and waiting, local and common clusters, by threads and by
 * processes; what a flag number that does not exist, a cluster without association, a name, a
 * protection, a quota and a privilege say.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <efndef.h>
#include <fcntl.h>
#include <megalith/creds.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 12

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static unsigned state_of(unsigned efn)
{
    unsigned state = 0xDEADBEEF;

    sys$readef(efn, &state);
    return state;
}

static int become(struct mega_creds c)
{
    return mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
}

static int child_result(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- local flags ---- */

static void local(void)
{
    unsigned state;

    is_status(sys$setef(5), SS$_WASCLR, "a flag is clear at first");
    is_status(sys$setef(5), SS$_WASSET, "and then set");
    is_status(sys$readef(5, &state), SS$_WASSET, "reading says so");
    is(state, 1u << 5, "and gives the cluster");
    is_status(sys$readef(6, &state), SS$_WASCLR, "of another flag of it too");
    is(state, 1u << 5, "the same cluster");
    is(state_of(32), 0, "the other local cluster is another one");
    is_status(sys$setef(63), SS$_WASCLR, "the last local flag");
    is(state_of(40), 1u << 31, "is the last bit of cluster 1");
    is_status(sys$clref(5), SS$_WASSET, "a flag is cleared");
    is_status(sys$clref(5), SS$_WASCLR, "once");
    is_status(sys$setef(0x100 + 7), SS$_WASCLR, "only the low byte of the number counts");
    is(state_of(0), 1u << 7, "so that is flag 7");
    sys$clref(7);
    is_status(sys$clref(63), SS$_WASSET, "flag 63 is cleared");
}

static void refused(void)
{
    unsigned state;

    is_status(sys$setef(64), SS$_UNASEFC, "a common flag without a cluster");
    is_status(sys$clref(127), SS$_UNASEFC, "clearing one");
    is_status(sys$readef(64, &state), SS$_UNASEFC, "reading one");
    is_status(sys$waitfr(96), SS$_UNASEFC, "waiting for one");
    is_status(sys$wflor(64, 1), SS$_UNASEFC, "for some");
    is_status(sys$wfland(96, 1), SS$_UNASEFC, "for all");
    is_status(sys$setef(EFN$C_ENF), SS$_ILLEFC, "EFN$C_ENF is no flag");
    is_status(sys$clref(129), SS$_ILLEFC, "129 is none");
    is_status(sys$readef(255, &state), SS$_ILLEFC, "255 is none");
    is_status(sys$waitfr(EFN$C_ENF), SS$_ILLEFC, "nothing waits for EFN$C_ENF");
    is_status(sys$wflor(200, 1), SS$_ILLEFC, "nor for 200");
    is_status(sys$wfland(200, 1), SS$_ILLEFC, "in no way");
    is_status(sys$readef(1, NULL), SS$_ACCVIO, "the state goes nowhere");
    is_status(sys$readef(1, (void *)0xFFFFFC0000000000), SS$_ACCVIO, "nor into the kernel");
}

/* ---- waiting ---- */

struct wait {
    unsigned efn, mask;
    int how; /* 0: $WAITFR, 1: $WFLOR, 2: $WFLAND */
    int status, done;
    pid_t tid; /* set by the thread that waits */
};

static void *waiter(void *arg)
{
    struct wait *w = arg;

    __atomic_store_n(&w->tid, gettid(), __ATOMIC_SEQ_CST);
    w->status = w->how == 0   ? sys$waitfr(w->efn)
                : w->how == 1 ? sys$wflor(w->efn, w->mask)
                              : sys$wfland(w->efn, w->mask);
    __atomic_store_n(&w->done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static int done(const struct wait *w) { return __atomic_load_n(&w->done, __ATOMIC_SEQ_CST); }

static void waits(void)
{
    struct wait any = {.efn = 3, .mask = 0x30, .how = 1}, all = {.efn = 3, .mask = 0x30, .how = 2};
    pthread_t a, b;

    sys$setef(9);
    is_status(sys$waitfr(9), SS$_NORMAL, "no wait for a flag that is set");
    is_status(sys$wflor(0, 0x201), SS$_NORMAL, "nor for any of two, one set");
    is_status(sys$wfland(0, 0x200), SS$_NORMAL, "nor for all of one");
    is_status(sys$wfland(0, 0), SS$_NORMAL, "all of no flags are set");
    is(state_of(0), 0x200, "waiting changes no flag");
    sys$clref(9);
    pthread_create(&a, NULL, waiter, &any);
    pthread_create(&b, NULL, waiter, &all);
    nap(20);
    ok(!done(&any) && !done(&all), "two threads wait");
    sys$setef(8);
    nap(20);
    ok(!done(&any) && !done(&all), "another flag of the cluster is not theirs");
    sys$setef(4);
    pthread_join(a, NULL);
    is(any.status, SS$_NORMAL, "one of two is enough for $WFLOR");
    nap(20);
    ok(!done(&all), "but not for $WFLAND");
    sys$setef(5);
    pthread_join(b, NULL);
    is(all.status, SS$_NORMAL, "which wants both");
    for (unsigned i = 0; i < 32; i++)
        sys$clref(i);
}

/* Many wait for two flags in turn; each setting must reach all of them. */
static void many(void)
{
    struct wait w[WAITERS];
    pthread_t t[WAITERS];
    int early = 0, wrong = 0;

    for (int i = 0; i < WAITERS; i++) {
        w[i] = (struct wait){.efn = i % 2 ? 33 : 34};
        pthread_create(&t[i], NULL, waiter, &w[i]);
    }
    nap(30);
    sys$setef(33);
    for (int i = 1; i < WAITERS; i += 2)
        pthread_join(t[i], NULL);
    for (int i = 0; i < WAITERS; i += 2)
        early += done(&w[i]);
    sys$setef(34);
    for (int i = 0; i < WAITERS; i += 2)
        pthread_join(t[i], NULL);
    for (int i = 0; i < WAITERS; i++)
        wrong += w[i].status != SS$_NORMAL;
    is(early, 0, "those who wait for the other flag go on waiting");
    is(wrong, 0, "all waiters of both flags are woken");
    sys$clref(33);
    sys$clref(34);
}

static int handled;
static void handler(int sig)
{
    (void)sig;
    __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

/* A signal interrupts a wait, and it goes on after the handler. */
static void interrupted(void)
{
    struct sigaction act = {.sa_handler = handler};
    struct wait w = {.efn = 12};
    pthread_t t;

    sigaction(SIGUSR1, &act, NULL);
    pthread_create(&t, NULL, waiter, &w);
    for (int i = 0; i < 5; i++) {
        nap(10);
        pthread_kill(t, SIGUSR1);
        /* A signal that is sent while one of its kind is pending is the same signal. */
        for (int tries = 0; __atomic_load_n(&handled, __ATOMIC_SEQ_CST) <= i && tries < 6000;
             tries++)
            nap(10);
    }
    nap(10);
    ok(!done(&w), "a handler without SA_RESTART does not end the wait");
    sys$setef(12);
    pthread_join(t, NULL);
    is(w.status, SS$_NORMAL, "the flag does");
    is(handled, 5, "all signals were handled");
    sys$clref(12);
}

static void killed(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        sys$waitfr(1);
        _exit(0);
    }
    nap(20);
    kill(pid, SIGKILL);
    is(child_result(pid), -1, "a process that waits can be killed");
}

/* ---- common clusters ---- */

static void names(void)
{
    $DESCRIPTOR(good, "TESTS");
    $DESCRIPTOR(empty, "");
    $DESCRIPTOR(longest, "FIFTEEN_LETTERS");
    $DESCRIPTOR(longer, "SIXTEEN_LETTERS_");

    is_status(sys$ascefc(63, &good, 0, 0), SS$_ILLEFC, "a local cluster has no name");
    is_status(sys$ascefc(128, &good, 0, 0), SS$_ILLEFC, "there is no cluster 4");
    is_status(sys$dacefc(31), SS$_ILLEFC, "a local cluster is not left");
    is_status(sys$ascefc(64, &empty, 0, 0), SS$_IVLOGNAM, "a name has a character");
    is_status(sys$ascefc(64, &longer, 0, 0), SS$_IVLOGNAM, "but not 16");
    is_status(sys$ascefc(64, NULL, 0, 0), SS$_ACCVIO, "a name is needed");
    is_status(sys$ascefc(64, &longest, 0, 0), SS$_NORMAL, "15 are enough");
    is_status(sys$dacefc(64), SS$_NORMAL, "the cluster is left");
    is_status(sys$dacefc(64), SS$_NORMAL, "which can be said twice");
    is_status(sys$dlcefc(&longer), SS$_IVLOGNAM, "no cluster of such a name is deleted");
    is_status(sys$dlcefc(NULL), SS$_ACCVIO, "or without a name");
    is_status(sys$dlcefc(&good), SS$_NORMAL, "nor one that does not exist");
}

/* Two processes pass a turn to and fro. */
#define TURNS 200
static void turns(void)
{
    $DESCRIPTOR(name, "TURNS");
    int wrong = 0;
    pid_t pid;

    is_status(sys$ascefc(70, &name, 0, 0), SS$_NORMAL, "a cluster is made");
    is_status(sys$setef(70), SS$_WASCLR, "its flags are clear");
    is_status(sys$ascefc(100, &name, 0, 0), SS$_NORMAL, "and associated once more");
    is_status(sys$readef(102, &(unsigned){0}), SS$_WASSET, "as cluster 3, the same flags");
    sys$clref(102);
    pid = fork();
    if (pid == 0) {
        int failed = !status_is(sys$setef(64), SS$_UNASEFC); /* associations are not inherited */

        failed |= !status_is(sys$ascefc(64, &name, 0, 0), SS$_NORMAL);
        for (int i = 0; i < TURNS; i++) {
            sys$waitfr(64);
            failed |= sys$clref(64) != SS$_WASSET;
            sys$setef(65);
        }
        _exit(failed);
    }
    for (int i = 0; i < TURNS; i++) {
        sys$setef(64);
        sys$waitfr(97);
        wrong += sys$clref(65) != SS$_WASSET;
    }
    is(wrong, 0, "%d turns are passed between two processes", TURNS);
    is(child_result(pid), 0, "the other one has seen the same");
    sys$dacefc(64);
    is_status(sys$setef(65), SS$_UNASEFC, "cluster 2 was left");
    is_status(sys$setef(97), SS$_WASCLR, "cluster 3 not");
    sys$dacefc(96);
    sys$ascefc(64, &name, 0, 0);
    is(state_of(64), 0, "a temporary cluster goes with the last association");
    sys$dacefc(64);
}

static struct mega_creds creds(unsigned group, unsigned member, uint64_t privileges)
{
    return (struct mega_creds){.uic_group = group,
                               .uic_member = member,
                               .privileges = privileges,
                               .authorised = privileges};
}

/* Run by a child: its failures are the result. */
static int protection(void)
{
    $DESCRIPTOR(mine, "PROTECTED");
    $DESCRIPTOR(kept, "PERMANENT");
    $DESCRIPTOR(none, "NOT_MADE");
    int pipe_fd[2], failed = 0;
    char byte;
    pid_t pid;

    if (pipe(pipe_fd) != 0)
        return 1;
    pid = fork();
    if (pid == 0) { /* another member of the group */
        failed += become(creds(300, 2, 0)) != SS$_NORMAL;
        read(pipe_fd[0], &byte, 1);
        failed += !status_is(sys$ascefc(64, &mine, 0, 0), SS$_NOPRIV);
        failed += !status_is(sys$ascefc(64, &kept, 0, 0), SS$_NORMAL);
        failed += sys$readef(64, &(unsigned){0}) != SS$_WASSET;
        failed += !status_is(sys$dlcefc(&kept), SS$_NOPRIV);
        failed += !status_is(sys$ascefc(96, &none, 0, 1), SS$_NOPRIV);
        _exit(failed);
    }
    failed += become(creds(300, 1, PRV$M_PRMCEB)) != SS$_NORMAL;
    failed += !status_is(sys$ascefc(64, &mine, 1, 0), SS$_NORMAL);
    failed += !status_is(sys$ascefc(96, &kept, 0, 1), SS$_NORMAL);
    sys$setef(96);
    sys$dacefc(96);
    write(pipe_fd[1], "x", 1);
    failed += child_result(pid);
    failed += !status_is(sys$ascefc(96, &kept, 0, 0), SS$_NORMAL);
    failed += sys$clref(96) != SS$_WASSET; /* it has stayed without an association */
    failed += !status_is(sys$dlcefc(&kept), SS$_NORMAL);
    sys$dacefc(96);
    failed += !status_is(sys$ascefc(96, &kept, 0, 0), SS$_NORMAL);
    failed += sys$clref(96) != SS$_WASCLR; /* a new one */
    return failed;
}

/* Another group has other clusters of the same name. */
static int other_group(void)
{
    $DESCRIPTOR(name, "SAME_NAME");
    int failed = 0;
    pid_t pid;

    failed += !status_is(sys$ascefc(64, &name, 0, 0), SS$_NORMAL);
    sys$setef(64);
    pid = fork();
    if (pid == 0) {
        failed = become(creds(301, 1, 0)) != SS$_NORMAL;
        failed += !status_is(sys$ascefc(64, &name, 0, 0), SS$_NORMAL);
        failed += sys$clref(64) != SS$_WASCLR;
        _exit(failed);
    }
    failed += child_result(pid);
    sys$dacefc(64);
    return failed;
}

/* Finds the cluster among all. */
static bool listed(const char *name, struct mega_cluster *c)
{
    for (int64_t n = 0; mega$info(MEGA_INFO_CLUSTER, n, c, sizeof(*c)) == SS$_NORMAL; n++)
        if (c->length == strlen(name) && memcmp(c->name, name, c->length) == 0)
            return true;
    return false;
}

static int refused_list(void)
{
    struct mega_cluster c;

    return become(creds(300, 1, PRV$M_PRMCEB)) != SS$_NORMAL ||
           !status_is((int)mega$info(MEGA_INFO_CLUSTER, 0, &c, sizeof(c)), SS$_NOCMKRNL);
}

static void lists(void)
{
    $DESCRIPTOR(name, "LISTED");
    struct mega_cluster c = {0};
    pid_t pid;

    is_status(sys$ascefc(96, &name, 1, 1), SS$_NORMAL, "a permanent cluster is made");
    ok(listed("LISTED", &c) && c.permanent && c.owner_only && c.associations == 1,
       "it is listed with what it is");
    sys$dacefc(96);
    ok(listed("LISTED", &c) && c.associations == 0, "also when no process has it");
    pid = fork();
    if (pid == 0)
        _exit(refused_list());
    is(child_result(pid), 0, "not to an ordinary user");
    sys$dlcefc(&name);
    ok(!listed("LISTED", &c), "nor when it is deleted");
}

static void clusters(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(protection());
    is(child_result(pid), 0, "protection, permanent clusters and their privilege");
    is(other_group(), 0, "a name means another cluster in another group");
    lists();
}

/* Does the thread of w sleep, as /proc has it? */
static bool asleep(const struct wait *w)
{
    char path[64], text[64] = "";
    pid_t tid = __atomic_load_n(&w->tid, __ATOMIC_SEQ_CST);
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    fd = tid ? open(path, O_RDONLY) : -1;
    if (fd < 0)
        return false;
    read(fd, text, sizeof(text) - 1);
    close(fd);
    return strstr(text, ") S ") != NULL;
}

/* A thread leaves the cluster in which another one waits. Another process keeps the cluster there
   meanwhile: without an association it would go, and its name with it. */
static void left_amid(void)
{
    $DESCRIPTOR(name, "LEFT");
    struct wait w = {.efn = 64};
    int associated[2], left[2];
    pthread_t t;
    char byte;
    pid_t pid;

    pipe(associated);
    pipe(left);
    sys$ascefc(64, &name, 0, 0);
    pthread_create(&t, NULL, waiter, &w);
    while (!asleep(&w))
        nap(1);
    pid = fork();
    if (pid == 0) {
        sys$ascefc(64, &name, 0, 0);
        write(associated[1], "x", 1);
        read(left[0], &byte, 1);
        sys$setef(64);
        _exit(0);
    }
    read(associated[0], &byte, 1);
    sys$dacefc(64);
    write(left[1], "x", 1);
    pthread_join(t, NULL);
    is(w.status, SS$_NORMAL, "who waits in a cluster is woken by it after it was left");
    child_result(pid);
    for (int i = 0; i < 2; i++) {
        close(associated[i]);
        close(left[i]);
    }
}

/* ---- status blocks ---- */

static struct _iosb block;
static void *write_block(void *arg)
{
    (void)arg;
    nap(20);
    sys$setef(14); /* of something else */
    nap(20);
    __atomic_store_n(&block.iosb$l_getxxi_status, SS$_NORMAL, __ATOMIC_SEQ_CST);
    sys$setef(14);
    return NULL;
}

static void synch(void)
{
    pthread_t t;

    sys$clref(14);
    pthread_create(&t, NULL, write_block, NULL);
    is_status(sys$synch(14, &block), SS$_NORMAL, "$SYNCH waits");
    is(block.iosb$l_getxxi_status, SS$_NORMAL, "until the block is written, not only the flag set");
    pthread_join(t, NULL);
    is_status(sys$synch(14, NULL), SS$_NORMAL, "without a block, for the flag");
    is_status(sys$synch(EFN$C_ENF, &block), SS$_NORMAL, "without a flag, for the block");
    is_status(sys$synch(64, &block), SS$_UNASEFC, "a flag of no cluster");
    is_status(sys$synch(200, &block), SS$_ILLEFC, "no flag");
    is_status(sys$synch(EFN$C_ENF, NULL), SS$_ILLEFC, "neither");
    is_status(sys$synch(14, (void *)8), SS$_ACCVIO, "no block");
    sys$clref(14);
}

int main(void)
{
    local();
    refused();
    waits();
    many();
    interrupted();
    killed();
    names();
    turns();
    clusters();
    left_amid();
    synch();
    return tap_done();
}
