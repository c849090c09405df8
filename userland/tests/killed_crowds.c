// TAP
// RUN: --smp 1 --icount -m 1G
// RUN: --smp 4 -m 1G
// SECONDS: 120
/*
 * A process that is killed amid a call that concerns a crowd ends soon, and what it has left undone
 * is done by others.
 *
 * On one CPU with --icount the time from the signal to the end of wait() is counted in
 * instructions. Others of the crowd run meanwhile: so the bound is ELAPSED, a fraction of what
 * the whole call would take.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <elapsed.h>
#include <iledef.h>
#include <iodef.h>
#include <iosbdef.h>
#include <lib$routines.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define PAGE    8192ul
#define ELAPSED 40000000ul

static struct shared {
    uint32_t begun; /* calls of the victim */
    uint32_t ended;
    uint32_t passed; /* waiters that went on */
} *shared;

static uint32_t load(const uint32_t *n) { return __atomic_load_n(n, __ATOMIC_ACQUIRE); }
static void count(uint32_t *n) { __atomic_fetch_add(n, 1, __ATOMIC_RELEASE); }

static void await_count(const uint32_t *n, uint32_t want)
{
    for (unsigned tries = 0; load(n) < want; tries++) {
        if (tries == 20000)
            bail_out("a process is not ready");
        usleep(1000);
    }
}

/* Kill who is in its call, or was not when the signal came: then false. *ns: what it still took. */
static bool kill_amid(pid_t pid, uint64_t *ns)
{
    uint64_t from;
    int status;

    await_count(&shared->begun, 1);
    usleep(1000);
    from = now_ns();
    kill(pid, SIGKILL);
    if (waitpid(pid, &status, 0) != pid)
        bail_out("no victim");
    *ns = now_ns() - from;
    return load(&shared->ended) == 0;
}

/* A process that makes a call. */
static pid_t in_victim(bool (*call)(void))
{
    pid_t pid;

    shared->begun = shared->ended = 0;
    pid = must_fork();
    if (pid == 0) {
        bool done;

        count(&shared->begun);
        done = call();
        count(&shared->ended);
        _exit(!done);
    }
    return pid;
}

/* ---- semaphores ---- */

#define PARTIES    120 /* let go on when the semaphore is set; before them, as many that are not */
#define OPERATIONS 500

static int set;

/* Wait for `need` of semaphore 0, after operations on semaphore 1 that never wait; take 1 of it and
 * give it back, after which all who wait may be looked at again. */
static void party(short need)
{
    static struct sembuf ops[OPERATIONS];

    if (must_fork() != 0)
        return;
    for (unsigned k = 0; k < OPERATIONS - 2; k++)
        ops[k] = (struct sembuf){1, 0, 0};
    ops[OPERATIONS - 2] = (struct sembuf){0, (short)-need, 0};
    ops[OPERATIONS - 1] = (struct sembuf){0, need, 0};
    if (semop(set, ops, OPERATIONS) == 0)
        count(&shared->passed);
    _exit(0); /* or the set was removed */
}

static void await_parties(int n)
{
    for (unsigned tries = 0; semctl(set, 0, GETNCNT) != n; tries++) {
        if (tries == 20000)
            bail_out("the parties do not wait");
        usleep(1000);
    }
}

static void __attribute__((noreturn)) set_it(void)
{
    count(&shared->begun);
    semctl(set, 0, SETVAL, 1);
    count(&shared->ended);
    pause();
    _exit(0);
}

static void semaphores(void)
{
    uint64_t ns, from;
    bool amid;
    pid_t pid;

    set = semget(IPC_PRIVATE, 3, 0600);
    for (unsigned i = 0; i < PARTIES; i++)
        party(2);
    await_parties(PARTIES);
    for (unsigned i = 0; i < PARTIES; i++)
        party(1);
    await_parties(2 * PARTIES);
    pid = must_fork();
    if (pid == 0)
        set_it();
    amid = kill_amid(pid, &ns);
    diag("killed after %u had gone on, in %lu ns", load(&shared->passed), ns);
    ok(!counted() || (amid && ns < ELAPSED), "a semaphore is set for many: its setter is killed");
    from = now_ns();
    ok(semctl(set, 0, GETVAL) == 1, "the value was set");
    ok(!counted() || now_ns() - from < ELAPSED, "which others see at once");
    await_count(&shared->passed, PARTIES);
    await_parties(PARTIES);
    ok(true, "all who may have gone on");
    is(semctl(set, 0, IPC_RMID), 0, "the set is removed");
    for (unsigned i = 0; i < 2 * PARTIES; i++)
        if (wait(NULL) < 0)
            bail_out("a party is lost");
    is(load(&shared->passed), PARTIES, "and the others have failed");
}

/* ---- messages ---- */

#define MEMBERS (counted() ? 1000u : 300u) /* who send, and who wait for what nobody sends */
#define LONGEST 400000ul                   /* ns in a hold of the queue's mutex; all: 13,000,000 */
/* Of one message, shown to all who wait for others, of whom one runs; all: 130,000. */
#define LONGEST_ONE 4500ul
#define LONGEST_END 2000000ul /* until who lets all send, and is killed, has ended */
#define BIG         8000

static int queue;

struct text {
    long type;
    char bytes[BIG];
};

static void measure(uint64_t on)
{
    if (!(mega$control(MEGA_CTL_LOCK_STATS, on, 0, 0, 0, 0) & 1))
        bail_out("locks cannot be measured");
}

static uint64_t longest_hold(const char *name)
{
    struct mega_lock m;

    for (int64_t i = 0; mega$info(MEGA_INFO_MUTEX, i, &m, sizeof(m)) == SS$_NORMAL; i++)
        if (strcmp(m.name, name) == 0)
            return m.longest_ns;
    return 0;
}

/* A member waits to send a byte, or for a message that does not come. */
static void member(bool sends)
{
    struct text t = {.type = 7};

    if (must_fork() != 0)
        return;
    count(&shared->begun);
    if (sends && msgsnd(queue, &t, 1, 0) == 0)
        count(&shared->passed);
    if (!sends)
        msgrcv(queue, &t, sizeof(t.bytes), 9, 0);
    _exit(0); /* or the queue was removed */
}

static bool receive_big(void)
{
    struct text t;

    return msgrcv(queue, &t, sizeof(t.bytes), 5, 0) == BIG;
}

/* Two big messages fill the queue, and all members wait. */
static void gather(void)
{
    static struct text t = {.type = 5};

    queue = msgget(IPC_PRIVATE, 0600);
    if (msgsnd(queue, &t, BIG, 0) || msgsnd(queue, &t, BIG, 0) || msgsnd(queue, &t, 384, 0))
        bail_out("no queue that is full");
    shared->begun = shared->passed = 0;
    for (unsigned k = 0; k < MEMBERS; k++) {
        member(true);
        member(false);
    }
    await_count(&shared->begun, 2 * MEMBERS);
    usleep(200000); /* they wait now, or soon */
}

static int wait_status(void)
{
    int status = -1;

    return wait(&status) > 0 ? status : -1;
}

static void dismiss(unsigned members)
{
    is(msgctl(queue, IPC_RMID, NULL), 0, "the queue is removed");
    for (unsigned k = 0; k < members; k++)
        if (wait(NULL) < 0)
            bail_out("a member is lost");
}

static void messages(void)
{
    struct msqid_ds d;
    uint64_t ns;
    bool amid;

    gather();
    amid = kill_amid(in_victim(receive_big), &ns);
    diag("killed after %u had sent, in %lu ns", load(&shared->passed), ns);
    ok(!counted() || (amid && ns < LONGEST_END), "who lets many send is killed");
    await_count(&shared->passed, MEMBERS);
    ok(msgctl(queue, IPC_STAT, &d) == 0 && d.msg_qnum == MEMBERS + 2, "all have sent");
    dismiss(2 * MEMBERS);
    gather();
    measure(1);
    ok(receive_big(), "and when nobody is killed");
    await_count(&shared->passed, MEMBERS);
    measure(0);
    ns = longest_hold("message queue");
    diag("the longest hold: %lu ns", ns);
    ok(!counted() || (ns && ns < LONGEST), "all send in short holds");
    dismiss(2 * MEMBERS);
}

/* A single message, for the last of many receivers. */
static void one_message(void)
{
    static struct text t = {.type = 7};
    uint64_t ns;

    queue = msgget(IPC_PRIVATE, 0600);
    shared->begun = 0;
    for (unsigned k = 0; k < MEMBERS; k++)
        member(false);
    await_count(&shared->begun, MEMBERS);
    usleep(200000);
    if (must_fork() == 0)
        _exit(msgrcv(queue, &t, sizeof(t.bytes), 7, 0) != 1);
    usleep(20000);
    measure(1);
    is(msgsnd(queue, &t, 1, IPC_NOWAIT), 0, "one sends what the last receiver wants");
    is(wait_status(), 0, "who gets it");
    measure(0);
    ns = longest_hold("message queue");
    diag("the longest hold: %lu ns", ns);
    ok(!counted() || (ns && ns < LONGEST_ONE), "it is shown to the others in short holds");
    dismiss(MEMBERS);
}

/* As many messages as a queue can have, none of which a receiver takes, or the last. */

#define FULL         16384
#define LONGEST_LOOK 3000ul /* ns in a hold in which a message is looked for */
#ifndef MSG_COPY
#define MSG_COPY 040000
#endif

static void look_among_all(const char *what, long type, int flags, long want)
{
    struct text t;
    uint64_t ns;
    long got;

    measure(1);
    got = msgrcv(queue, &t, sizeof(t.bytes), type, flags | IPC_NOWAIT);
    measure(0);
    ns = longest_hold("message queue");
    is(got, want, "%s", what);
    diag("the longest hold: %lu ns", ns);
    ok(!counted() || (ns && ns < LONGEST_LOOK), "is looked for in a short hold");
}

static void full_queue(void)
{
    static struct text t = {.type = 5};
    unsigned sent = 0;

    queue = msgget(IPC_PRIVATE, 0600);
    while (sent < FULL && msgsnd(queue, &t, 0, IPC_NOWAIT) == 0)
        sent++;
    is(sent, FULL, "a queue is filled");
    look_among_all("a message of another type, of which there is none,", 5, MSG_EXCEPT, -1);
    look_among_all("the last message, by its number,", FULL - 1, MSG_COPY, 0);
    look_among_all("a message that does not exist", FULL, MSG_COPY, -1);
    look_among_all("the first message", 0, 0, 0);
    t.type = 6;
    is(msgsnd(queue, &t, 1, IPC_NOWAIT), 0, "one of another type is sent");
    look_among_all("the only message of another type", 5, MSG_EXCEPT, 1);
    measure(1);
    is(msgctl(queue, IPC_RMID, NULL), 0, "the queue is removed");
    measure(0);
    ok(!counted() || longest_hold("message queue") < LONGEST_ONE, "in holds of at most %lu ns",
       longest_hold("message queue"));
}

/* ---- logical names ---- */

#define NAMES     (counted() ? 100000u : 30000u)
#define FEW_NAMES 500
#define LATEST    4000000ul /* ns, the CPU time of others included */

static struct dsc$descriptor_s text(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}
#define D(s) (&(struct dsc$descriptor_s[1]){text(s)}[0])

static bool define(const char *table, const char *name)
{
    ILE3 items[] = {{1, LNM$_STRING, (void *)"v", NULL}, {0}};

    return sys$crelnm(NULL, D(table), D(name), NULL, items) & 1;
}

static bool make_table(const char *name)
{
    return sys$crelnt(NULL, NULL, NULL, NULL, NULL, D(name), D("LNM$SYSTEM_DIRECTORY"), NULL) & 1;
}

/* A table with names and, below it, tables one below the other. */
static bool make_names(unsigned n)
{
    bool made = make_table("CROWD");
    char name[16], up[16] = "CROWD";

    for (unsigned k = 0; k < n && made; k++) {
        snprintf(name, sizeof(name), "N%u", k);
        made = define("CROWD", name);
    }
    for (unsigned k = 0; k < 500 && made; k++) {
        snprintf(name, sizeof(name), "CROWD_%u", k);
        made = sys$crelnt(NULL, NULL, NULL, NULL, NULL, D(name), D(up), NULL) & 1;
        strcpy(up, name);
    }
    return made;
}

/* Others use logical names while it makes its call: the longest that they need, in ns. */
static uint64_t longest_define(bool (*call)(void))
{
    pid_t pid = in_victim(call);
    uint64_t most = 0;
    bool wrong = false;
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        uint64_t from = now_ns();

        wrong |= !define("LNM$PROCESS", "OTHER");
        most = now_ns() - from > most ? now_ns() - from : most;
        usleep(100);
    }
    ok(!wrong && status == 0, "it is deleted, while others define names");
    return most;
}

static bool delete_table(void)
{
    return sys$dellnm(D("LNM$SYSTEM_DIRECTORY"), D("CROWD"), NULL) & 1;
}
static bool delete_names(void) { return sys$dellnm(D("CROWD"), NULL, NULL) & 1; }
static bool supersede_table(void) { return make_table("CROWD"); }

static void names(void)
{
    static bool (*const calls[])(void) = {delete_names, supersede_table, delete_table};
    uint64_t ns;
    bool amid;

    ok(make_names(NAMES), "a table with many names");
    amid = kill_amid(in_victim(delete_table), &ns);
    ok(!counted() || (amid && ns < LATEST), "who deletes it is killed in %lu ns", ns);
    ns = longest_define(delete_table);
    ok(!counted() || ns < LATEST, "who defines names waits for %lu ns at most", ns);
    for (unsigned k = 0; k < 3; k++) {
        ok(make_names(FEW_NAMES) && calls[k](), "names and tables are made and deleted");
        is(sys$trnlnm(NULL, D("CROWD"), D("N1"), NULL, NULL) & 1, 0, "the names are gone");
        is(sys$trnlnm(NULL, D("LNM$SYSTEM_DIRECTORY"), D("CROWD_0"), NULL, NULL) & 1, k == 0,
           "and the tables below, but with all names");
        ok(k == 2 || delete_table(), "the table goes");
    }
}

/* ---- mailboxes ---- */

#define EMPTY    12000u /* messages without bytes, all of which one read takes: 4 million ns */
#define MESSAGES 16384u
#define NOTICES  4096u /* requests for attention that a mailbox takes */
#define A_READ   65000u
#define FEW_ROOM 100000u

static unsigned unit;

static unsigned short make_mailbox(void)
{
    unsigned short chan = 0;
    int item = DVI$_UNIT;

    if (!(sys$crembx(0, &chan, 0, FEW_ROOM, 0, 0, 0, 0, 0) & 1) ||
        !(lib$getdvi(&item, &chan, 0, &unit) & 1))
        bail_out("no mailbox");
    return chan;
}

static unsigned short channel(void)
{
    unsigned short chan = 0;
    char name[16];

    snprintf(name, sizeof(name), "MBA%u:", unit);
    if (!(sys$assign(D(name), &chan, 0, 0, 0) & 1))
        bail_out("no channel");
    return chan;
}

static bool read_stream(void)
{
    static char bytes[A_READ];

    return sys$qiow(EFN$C_ENF, channel(), IO$_READVBLK | IO$M_STREAM | IO$M_NOW, 0, 0, 0, bytes,
                    A_READ) &
           1;
}

static unsigned messages_of(unsigned short chan)
{
    IOSB iosb = {0};

    sys$qiow(EFN$C_ENF, chan, IO$_SENSEMODE, &iosb, 0, 0);
    return iosb.iosb$w_bcnt;
}

static unsigned attend(unsigned short chan)
{
    return (unsigned)sys$qiow(EFN$C_ENF, chan, IO$_SETMODE | IO$M_WRTATTN, 0, 0, 0, read_stream, 0);
}

static void mailboxes(void)
{
    unsigned short chan = make_mailbox();
    unsigned n = 0, left;
    uint64_t ns;
    bool amid;

    while (n < EMPTY && (sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, 0, 0, 0, "", 0) & 1))
        n++;
    is(n, EMPTY, "a mailbox with many messages");
    while (sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW | IO$M_NORSWAIT, 0, 0, 0, "", 0) & 1)
        n++;
    ok(n > EMPTY && n <= MESSAGES, "which takes no more than %u, not %u", MESSAGES, n);
    amid = kill_amid(in_victim(read_stream), &ns);
    left = messages_of(chan);
    diag("killed with %u left, in %lu ns", left, ns);
    ok(!counted() || (amid && left && ns < LONGEST_END / 2), "who reads all at once is killed");
    ok(read_stream() && messages_of(chan) == 0, "another one reads the rest");
    mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"PQL_DASTLM", 2 * NOTICES, 0, 0, 0);
    for (n = 0; n < 2 * NOTICES && (attend(chan) & 1);)
        n++;
    is(n, NOTICES, "a mailbox takes so many requests for attention");
    is(attend(chan), SS$_EXQUOTA, "and no more");
    sys$dassgn(chan);
    mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"PQL_DASTLM", 250, 0, 0, 0);
}

int main(void)
{
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    semaphores();
    messages();
    one_message();
    full_queue();
    names();
    mailboxes();
    return tap_done();
}
