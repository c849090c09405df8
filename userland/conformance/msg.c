/* System V message queues, from msgget(2), msgop(2), msgctl(2). */
#include "conformance.h"

#include <grp.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <time.h>

#define KEY     0x5EED0004
#define OTHER   12345 /* a user and group id */
#define NOWHERE ((void *)8)

static int id;

static struct message {
    long type;
    char text[16384];
} m;

#define GOT(name, call)                               \
    do {                                              \
        int id_;                                      \
                                                      \
        errno = 0;                                    \
        id_ = (call);                                 \
        report_result(name, id_ < 0 ? -1 : 0, errno); \
    } while (0)

static void remove_key(key_t key)
{
    int old = msgget(key, 0);

    if (old >= 0)
        msgctl(old, IPC_RMID, NULL);
}

static struct msqid_ds status(int of)
{
    struct msqid_ds ds;

    memset(&ds, 0xAA, sizeof(ds));
    if (msgctl(of, IPC_STAT, &ds) != 0)
        TEXT("status", "%s", strerrorname_np(errno));
    return ds;
}

static int put(long type, const char *text)
{
    m.type = type;
    strcpy(m.text, text);
    return msgsnd(id, &m, strlen(text) + 1, IPC_NOWAIT);
}

/* msgrcv without waiting, with the message in words. */
static void take(const char *name, size_t max, long type, int flags)
{
    ssize_t n;

    memset(&m, 0, sizeof(m));
    errno = 0;
    n = msgrcv(id, &m, max, type, flags | IPC_NOWAIT);
    if (n < 0)
        TEXT(name, "-1 %s", strerrorname_np(errno));
    else
        TEXT(name, "%ld, type %ld, %s", (long)n, m.type, m.text);
}

static void nap(void) { nanosleep(&(struct timespec){0, 30000000}, NULL); }

static void getting(void)
{
    int mine, other;

    GOT("no such key", msgget(KEY, 0600));
    mine = msgget(KEY, IPC_CREAT | IPC_EXCL | 0640);
    VALUE_AS("made", mine >= 0);
    VALUE_AS("found", msgget(KEY, 0) == mine);
    GOT("IPC_EXCL", msgget(KEY, IPC_CREAT | IPC_EXCL | 0600));
    other = msgget(IPC_PRIVATE, 0600);
    VALUE_AS("a private one is another", other >= 0 && other != mine);
    VALUE_AS("permissions", status(mine).msg_perm.mode);
    VALUE_AS("key", status(mine).msg_perm.__key);
    VALUE_AS("messages", (long)status(mine).msg_qnum);
    VALUE_AS("bytes at most", (long)status(mine).msg_qbytes);
    VALUE_AS("sent by", status(mine).msg_lspid);
    VALUE_AS("time of sending", status(mine).msg_stime);
    VALUE_AS("time of change", status(mine).msg_ctime != 0);
    CASE_AS("remove", msgctl(mine, IPC_RMID, NULL));
    CASE_AS("remove again", msgctl(mine, IPC_RMID, NULL));
    msgctl(other, IPC_RMID, NULL);
    GOT("the key is free", msgget(KEY, 0));
}

static void sending(void)
{
    id = msgget(IPC_PRIVATE, 0600);
    CASE_AS("send", put(5, "five"));
    VALUE_AS("one message", (long)status(id).msg_qnum);
    VALUE_AS("its bytes", (long)status(id).__msg_cbytes);
    VALUE_AS("sent by this process", status(id).msg_lspid == getpid());
    VALUE_AS("received by", status(id).msg_lrpid);
    VALUE_AS("time of sending it", status(id).msg_stime != 0);
    take("receive", 100, 0, 0);
    VALUE_AS("received by this process", status(id).msg_lrpid == getpid());
    VALUE_AS("time of receiving it", status(id).msg_rtime != 0);
    take("nothing is left", 100, 0, 0);
    m.type = 0;
    CASE_AS("type 0", msgsnd(id, &m, 1, 0));
    m.type = -1;
    CASE_AS("type -1", msgsnd(id, &m, 1, 0));
    m.type = 1;
    CASE_AS("too long", msgsnd(id, &m, 8193, 0));
    CASE_AS("a negative length", msgsnd(id, &m, (size_t)-1, 0));
    CASE_AS("from nowhere", msgsnd(id, NOWHERE, 1, 0));
    CASE_AS("to no queue", msgsnd(0x7FFFFFF0, &m, 1, 0));
    CASE_AS("to a negative queue", msgsnd(-1, &m, 1, 0));
    CASE_AS("no bytes", msgsnd(id, &m, 0, 0));
    take("of no bytes", 100, 0, 0);
    CASE_AS("the longest", msgsnd(id, &m, 8192, IPC_NOWAIT));
    CASE_AS("a second one", msgsnd(id, &m, 8192, IPC_NOWAIT));
    CASE_AS("of full size", msgsnd(id, &m, 1, IPC_NOWAIT));
    CASE_AS("no bytes to a full queue", msgsnd(id, &m, 0, IPC_NOWAIT));
    VALUE_AS("bytes of all", (long)status(id).__msg_cbytes);
    msgctl(id, IPC_RMID, NULL);
}

static void receiving(void)
{
    id = msgget(IPC_PRIVATE, 0600);
    put(3, "three");
    put(1, "one");
    put(2, "two");
    put(1, "another one");
    take("by type", 100, 2, 0);
    take("no such type", 100, 2, 0);
    take("too little room", 3, 0, 0);
    take("it is still there", 100, 0, 0);
    put(3, "three");
    take("MSG_NOERROR", 3, 1, MSG_NOERROR);
    take("the next of the type", 100, 1, 0);
    put(7, "seven");
    put(2, "two again");
    put(2, "two last");
    take("the lowest type", 100, -7, 0);
    take("the lowest type up to 2", 100, -2, 0);
    take("the lowest type up to 2, none", 100, -2, 0);
    take("all but 3", 100, 3, MSG_EXCEPT);
    take("all but 3, none", 100, 3, MSG_EXCEPT);
    CASE_AS("a negative size", msgrcv(id, &m, (size_t)-1, 0, IPC_NOWAIT));
    CASE_AS("from no queue", msgrcv(0x7FFFFFF0, &m, 1, 0, IPC_NOWAIT));
    CASE_AS("from a negative queue", msgrcv(-1, &m, 1, 0, IPC_NOWAIT));
    CASE_AS("to nowhere", msgrcv(id, NOWHERE, 100, 0, IPC_NOWAIT));
    take("that one is lost", 100, 0, 0);
    CASE_AS("MSG_COPY that waits", msgrcv(id, &m, 100, 0, 040000));
    CASE_AS("MSG_COPY with MSG_EXCEPT", msgrcv(id, &m, 100, 0, 040000 | MSG_EXCEPT | IPC_NOWAIT));
    msgctl(id, IPC_RMID, NULL);
}

static void copying(void)
{
    const int copy = 040000;
    pid_t before;

    id = msgget(IPC_PRIVATE, 0600);
    take("a copy of nothing", 100, 0, copy);
    put(3, "three");
    put(1, "one");
    put(2, "two");
    before = status(id).msg_lrpid;
    take("a copy of the oldest", 100, 0, copy);
    take("the same again", 100, 0, copy);
    take("a copy of the youngest", 100, 2, copy);
    take("a copy of none", 100, 3, copy);
    take("a copy of number -1", 100, -1, copy);
    take("a copy into too little room", 3, 1, copy);
    take("a cut copy", 3, 1, copy | MSG_NOERROR);
    CASE_AS("a copy to nowhere", msgrcv(id, NOWHERE, 100, 0, copy | IPC_NOWAIT));
    VALUE_AS("all messages are there", (long)status(id).msg_qnum);
    VALUE_AS("nobody has received one", status(id).msg_lrpid == before);
    take("the oldest itself", 100, 0, 0);
    take("a copy of what is the oldest now", 100, 0, copy);
    msgctl(id, IPC_RMID, NULL);
    take("a copy out of no queue", 100, 0, copy);
}

/* ---- those who wait ---- */

static struct receiver {
    long type, result;
    size_t max;
    char text[100];
} rec[3];

static void *receive(void *arg)
{
    struct receiver *r = arg;
    struct message *mine = malloc(sizeof(*mine));

    errno = 0;
    memset(mine, 0, sizeof(*mine));
    r->result = msgrcv(id, mine, r->max, r->type, 0) < 0 ? -errno : mine->type;
    memcpy(r->text, mine->text, sizeof(r->text) - 1);
    free(mine);
    return NULL;
}

static long sent;

static void *send_one(void *arg)
{
    sent = msgsnd(id, &(struct message){1, "late"}, 5, 0) == 0 ? 1 : -errno;
    return arg;
}

static void ignore(int sig) { (void)sig; }

static void waiting(void)
{
    struct sigaction sa = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    struct msqid_ds ds;
    pthread_t t[3];

    id = msgget(IPC_PRIVATE, 0600);
    for (unsigned k = 0; k < 3; k++) {
        rec[k] = (struct receiver){.type = k + 1, .max = 50};
        pthread_create(&t[k], NULL, receive, &rec[k]);
    }
    nap();
    put(2, "for the second");
    pthread_join(t[1], NULL);
    TEXT("who waits for its type", "%ld %s", rec[1].result, rec[1].text);
    put(9, "for nobody");
    VALUE_AS("another stays in the queue", (long)status(id).msg_qnum);
    put(1, "for the first");
    put(3, "for the third");
    pthread_join(t[0], NULL);
    pthread_join(t[2], NULL);
    TEXT("the others", "%ld %s, %ld %s", rec[0].result, rec[0].text, rec[2].result, rec[2].text);
    /* a message that is too long for who waits */
    rec[0] = (struct receiver){.type = 1, .max = 3};
    pthread_create(&t[0], NULL, receive, &rec[0]);
    nap();
    put(1, "too long");
    pthread_join(t[0], NULL);
    TEXT("too long for who waits", "%s", strerrorname_np((int)-rec[0].result));
    take("which stays", 100, 1, 0);
    /* a signal */
    sigaction(SIGUSR1, &sa, NULL);
    rec[0] = (struct receiver){.type = 1, .max = 3};
    pthread_create(&t[0], NULL, receive, &rec[0]);
    nap();
    pthread_kill(t[0], SIGUSR1);
    pthread_join(t[0], NULL);
    TEXT("a handler with SA_RESTART", "%s", strerrorname_np((int)-rec[0].result));
    /* room */
    m.type = 4;
    msgsnd(id, &m, 8192, 0);
    msgsnd(id, &m, 8180, 0);
    sent = 0;
    pthread_create(&t[0], NULL, send_one, NULL);
    nap();
    VALUE_AS("a sender waits for room", sent);
    take("makes room", 8192, 9, 0);
    pthread_join(t[0], NULL);
    VALUE_AS("it was sent", sent);
    take("what it sent", 100, 1, 0);
    /* limits: the queue has 16,372 bytes */
    ds = status(id);
    ds.msg_qbytes = 8000;
    CASE_AS("a limit below what is there", msgctl(id, IPC_SET, &ds));
    sent = 0;
    m.type = 5;
    CASE_AS("full", msgsnd(id, &m, 0, IPC_NOWAIT));
    pthread_create(&t[0], NULL, send_one, NULL);
    nap();
    VALUE_AS("a sender waits for a higher limit", sent);
    ds.msg_qbytes = 16377;
    CASE_AS("a higher limit", msgctl(id, IPC_SET, &ds));
    pthread_join(t[0], NULL);
    VALUE_AS("lets it send", sent);
    VALUE_AS("the limit", (long)status(id).msg_qbytes);
    /* removed */
    rec[0] = (struct receiver){.type = 99, .max = 3};
    pthread_create(&t[0], NULL, receive, &rec[0]);
    nap();
    msgctl(id, IPC_RMID, NULL);
    pthread_join(t[0], NULL);
    TEXT("removed", "%s", strerrorname_np((int)-rec[0].result));
}

static void control(void)
{
    struct msqid_ds ds;
    struct msginfo info;

    id = msgget(IPC_PRIVATE, 0640);
    ds = status(id);
    ds.msg_perm.mode = 0107604;
    ds.msg_perm.uid = OTHER;
    CASE_AS("IPC_SET", msgctl(id, IPC_SET, &ds));
    VALUE_AS("the mode set", status(id).msg_perm.mode);
    VALUE_AS("the owner set", status(id).msg_perm.uid);
    VALUE_AS("the creator", status(id).msg_perm.cuid);
    CASE_AS("IPC_STAT to nowhere", msgctl(id, IPC_STAT, NOWHERE));
    CASE_AS("IPC_SET from nowhere", msgctl(id, IPC_SET, NOWHERE));
    CASE_AS("IPC_STAT of none", msgctl(0x7FFFFFF0, IPC_STAT, &ds));
    CASE_AS("an unknown command", msgctl(id, 99, &ds));
    VALUE_AS("IPC_INFO", msgctl(0, IPC_INFO, (struct msqid_ds *)&info) >= 0);
    TEXT("limits", "%d %d", info.msgmax, info.msgmnb);
    VALUE_AS("MSG_INFO", msgctl(0, MSG_INFO, (struct msqid_ds *)&info) >= 0);
    VALUE_AS("queues", info.msgpool >= 1);
    VALUE_AS("MSG_STAT", msgctl(id % 32768, MSG_STAT, &ds) == id);
    msgctl(id, IPC_RMID, NULL);
}

static int group_id, open_id;

static void as_another(void)
{
    struct msqid_ds ds = status(open_id);

    if (setgroups(0, NULL) != 0 || setgid(OTHER) != 0 || setuid(OTHER) != 0)
        _exit(9);
    CASE_AS("send without permission", put(1, "x"));
    take("receive without permission", 100, 0, 0);
    CASE_AS("status without permission", msgctl(id, IPC_STAT, &ds));
    CASE_AS("remove by another", msgctl(id, IPC_RMID, NULL));
    id = group_id;
    CASE_AS("send by the group", put(1, "x"));
    take("receive by the group", 100, 0, 0);
    id = open_id;
    CASE_AS("send as others may", put(1, "x"));
    take("receive as others may", 100, 0, 0);
    CASE_AS("IPC_SET by another", msgctl(open_id, IPC_SET, &ds));
    id = msgget(IPC_PRIVATE, 0600);
    ds = status(id);
    ds.msg_qbytes = 16385;
    CASE_AS("a higher limit by its owner", msgctl(id, IPC_SET, &ds));
    ds.msg_qbytes = 100;
    CASE_AS("a lower limit by its owner", msgctl(id, IPC_SET, &ds));
    msgctl(id, IPC_RMID, NULL);
}

static void permissions(void)
{
    struct msqid_ds ds;

    id = msgget(KEY, IPC_CREAT | 0600);
    group_id = msgget(IPC_PRIVATE, 0640);
    open_id = msgget(IPC_PRIVATE, 0606);
    ds = status(group_id);
    ds.msg_perm.gid = OTHER;
    msgctl(group_id, IPC_SET, &ds);
    in_child("another user", as_another);
    msgctl(id, IPC_RMID, NULL);
    msgctl(group_id, IPC_RMID, NULL);
    msgctl(open_id, IPC_RMID, NULL);
}

int main(void)
{
    cases_begin();
    remove_key(KEY);
    getting();
    sending();
    receiving();
    copying();
    waiting();
    control();
    permissions();
    return 0;
}
