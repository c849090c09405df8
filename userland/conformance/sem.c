/* System V semaphores, from semget(2), semop(2), semctl(2). */
#include "conformance.h"

#include <grp.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>

#define KEY     0x5EED0003
#define OTHER   12345 /* a user and group id */
#define NOWHERE ((void *)8)

union semun {
    int val;
    struct semid_ds *buf;
    unsigned short *array;
    struct seminfo *info;
};

static int id;

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
    int old = semget(key, 0, 0);

    if (old >= 0)
        semctl(old, 0, IPC_RMID);
}

static struct semid_ds status(int of)
{
    struct semid_ds ds;

    memset(&ds, 0xAA, sizeof(ds));
    if (semctl(of, 0, IPC_STAT, (union semun){.buf = &ds}) != 0)
        TEXT("status", "%s", strerrorname_np(errno));
    return ds;
}

static int value(int n) { return semctl(id, n, GETVAL); }
static int set(int n, int v) { return semctl(id, n, SETVAL, (union semun){.val = v}); }

static int op(int n, int change, int flags)
{
    struct sembuf o = {(unsigned short)n, (short)change, (short)flags};

    return semop(id, &o, 1);
}

static void nap(void) { nanosleep(&(struct timespec){0, 20000000}, NULL); }

/* Wait until n threads or processes wait at semaphore k. */
static void until_waiting(int k, int command, int n)
{
    while (semctl(id, k, command) != n)
        nap();
}

static void getting(void)
{
    int mine, other, third;

    GOT("no such key", semget(KEY, 1, 0600));
    GOT("no semaphores", semget(KEY, 0, IPC_CREAT | 0600));
    GOT("a negative number", semget(KEY, -1, IPC_CREAT | 0600));
    GOT("too many", semget(KEY, 100000000, IPC_CREAT | 0600));
    mine = semget(KEY, 3, IPC_CREAT | IPC_EXCL | 0640);
    VALUE_AS("made", mine >= 0);
    VALUE_AS("found", semget(KEY, 0, 0) == mine);
    VALUE_AS("found, with fewer", semget(KEY, 2, 0600) == mine);
    GOT("found, with more", semget(KEY, 4, 0600));
    GOT("IPC_EXCL", semget(KEY, 3, IPC_CREAT | IPC_EXCL | 0600));
    other = semget(IPC_PRIVATE, 1, 0600);
    third = semget(IPC_PRIVATE, 1, 0600);
    VALUE_AS("private ones are others", other >= 0 && other != mine && third != other);
    VALUE_AS("number of semaphores", (long)status(mine).sem_nsems);
    VALUE_AS("permissions", status(mine).sem_perm.mode);
    VALUE_AS("key", status(mine).sem_perm.__key);
    VALUE_AS("time of operation", status(mine).sem_otime);
    VALUE_AS("time of change", status(mine).sem_ctime != 0);
    CASE_AS("remove", semctl(mine, 0, IPC_RMID));
    CASE_AS("remove again", semctl(mine, 0, IPC_RMID));
    semctl(other, 0, IPC_RMID);
    semctl(third, 0, IPC_RMID);
    GOT("the key is free", semget(KEY, 0, 0));
}

static void values(void)
{
    unsigned short all[3] = {7, 8, 9};
    struct semid_ds ds;
    struct seminfo info;

    id = semget(IPC_PRIVATE, 3, 0600);
    VALUE_AS("value at first", value(0));
    VALUE_AS("pid at first", semctl(id, 0, GETPID));
    CASE_AS("SETVAL", set(1, 5));
    CASE_AS("GETVAL", value(1));
    VALUE_AS("pid after SETVAL", semctl(id, 1, GETPID) == getpid());
    CASE_AS("SETVAL too high", set(1, 32768));
    CASE_AS("SETVAL highest", set(1, 32767));
    CASE_AS("SETVAL negative", set(1, -1));
    CASE_AS("SETVAL of none", set(3, 1));
    CASE_AS("SETVAL of a negative one", set(-1, 1));
    CASE_AS("GETVAL of none", value(3));
    CASE_AS("GETPID of none", semctl(id, 3, GETPID));
    CASE_AS("GETNCNT of none", semctl(id, 3, GETNCNT));
    CASE_AS("GETNCNT", semctl(id, 0, GETNCNT));
    CASE_AS("GETZCNT", semctl(id, 0, GETZCNT));
    CASE_AS("SETALL", semctl(id, 0, SETALL, (union semun){.array = all}));
    memset(all, 0, sizeof(all));
    CASE_AS("GETALL", semctl(id, 0, GETALL, (union semun){.array = all}));
    TEXT("values", "%d %d %d", all[0], all[1], all[2]);
    all[2] = 40000;
    CASE_AS("SETALL too high", semctl(id, 0, SETALL, (union semun){.array = all}));
    VALUE_AS("nothing was set", value(0));
    CASE_AS("GETALL to nowhere", semctl(id, 0, GETALL, (union semun){.array = NOWHERE}));
    CASE_AS("SETALL from nowhere", semctl(id, 0, SETALL, (union semun){.array = NOWHERE}));
    CASE_AS("IPC_STAT to nowhere", semctl(id, 0, IPC_STAT, (union semun){.buf = NOWHERE}));
    CASE_AS("an unknown command", semctl(id, 0, 99));
    CASE_AS("GETVAL of no set", semctl(0x7FFFFFF0, 0, GETVAL));
    VALUE_AS("IPC_INFO", semctl(0, 0, IPC_INFO, (union semun){.info = &info}) >= 0);
    TEXT("limits", "%d %d %d %d", info.semmsl, info.semopm, info.semvmx, info.semaem);
    VALUE_AS("SEM_INFO", semctl(0, 0, SEM_INFO, (union semun){.info = &info}) >= 0);
    VALUE_AS("totals", info.semusz >= 1 && info.semaem >= 3);
    VALUE_AS("SEM_STAT", semctl(id % 32768, 0, SEM_STAT, (union semun){.buf = &ds}) == id);
    semctl(id, 0, IPC_RMID);
}

static void operations(void)
{
    struct sembuf many[501] = {0}, two[2] = {{0, 2, 0}, {1, -1, IPC_NOWAIT}};
    const struct timespec soon = {0, 10000000}, bad = {0, 1000000000}, none = {0, 0};

    id = semget(IPC_PRIVATE, 3, 0600);
    CASE_AS("add", op(0, 3, 0));
    VALUE_AS("after it", value(0));
    VALUE_AS("pid after it", semctl(id, 0, GETPID) == getpid());
    VALUE_AS("pid of another", semctl(id, 1, GETPID));
    VALUE_AS("time of it", status(id).sem_otime != 0);
    CASE_AS("take", op(0, -2, 0));
    CASE_AS("take too much", op(0, -2, IPC_NOWAIT));
    CASE_AS("wait for zero", op(0, 0, IPC_NOWAIT));
    CASE_AS("take the rest", op(0, -1, 0));
    CASE_AS("wait for zero again", op(0, 0, IPC_NOWAIT));
    CASE_AS("the second of two fails", semop(id, two, 2));
    VALUE_AS("the first was not done", value(0));
    set(1, 1);
    CASE_AS("both", semop(id, two, 2));
    TEXT("values after both", "%d %d", value(0), value(1));
    two[0] = (struct sembuf){2, 5, 0};
    two[1] = (struct sembuf){2, -5, IPC_NOWAIT};
    CASE_AS("up and down", semop(id, two, 2));
    two[0] = (struct sembuf){2, -5, IPC_NOWAIT};
    two[1] = (struct sembuf){2, 5, 0};
    CASE_AS("down and up", semop(id, two, 2));
    set(2, 32767);
    CASE_AS("above the highest value", op(2, 1, 0));
    CASE_AS("no such semaphore", op(3, 1, 0));
    CASE_AS("no operations", semop(id, two, 0));
    CASE_AS("too many operations", semop(id, many, 501));
    set(0, 0);
    CASE_AS("as many as may be", semop(id, many + 1, 500));
    CASE_AS("from nowhere", semop(id, NOWHERE, 1));
    CASE_AS("of no set", semop(0x7FFFFFF0, two, 1));
    CASE_AS("of a negative set", semop(-1, two, 1));
    set(0, 0);
    two[0] = (struct sembuf){0, -1, 0};
    CASE_AS("until a time-out", semtimedop(id, two, 1, &soon));
    CASE_AS("a time-out of zero", semtimedop(id, two, 1, &none));
    CASE_AS("a bad time-out", semtimedop(id, two, 1, &bad));
    CASE_AS("a time-out nowhere", semtimedop(id, two, 1, NOWHERE));
    two[0] = (struct sembuf){0, 1, 0};
    CASE_AS("with a time-out, at once", semtimedop(id, two, 1, &soon));
    semctl(id, 0, IPC_RMID);
}

/* ---- those who wait ---- */

static long results[3];

static void *take(void *arg)
{
    struct sembuf o = {0, (short)(long)arg, 0};
    unsigned k = (unsigned)(-(long)arg) % 3;

    errno = 0;
    results[k] = semop(id, &o, 1) == 0 ? 1 : errno;
    return NULL;
}

static void *take_both(void *arg)
{
    struct sembuf o[2] = {{0, -1, 0}, {1, -1, 0}};

    (void)arg;
    results[0] = semop(id, o, 2) == 0 ? 1 : errno;
    return NULL;
}

static void ignore(int sig) { (void)sig; }

static void waiting(void)
{
    struct sigaction sa = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    pthread_t t[3];

    id = semget(IPC_PRIVATE, 2, 0600);
    pthread_create(&t[0], NULL, take, (void *)-2L); /* results[2] */
    until_waiting(0, GETNCNT, 1);
    pthread_create(&t[1], NULL, take, (void *)-1L); /* results[1] */
    until_waiting(0, GETNCNT, 2);
    VALUE_AS("nobody waits for zero", semctl(id, 0, GETZCNT));
    op(0, 1, 0);
    pthread_join(t[1], NULL);
    VALUE_AS("who can go on does", results[1]);
    VALUE_AS("the other waits", semctl(id, 0, GETNCNT));
    op(0, 2, 0);
    pthread_join(t[0], NULL);
    VALUE_AS("and goes on", results[2]);
    VALUE_AS("nothing is left", value(0));
    /* for zero */
    set(0, 2);
    pthread_create(&t[0], NULL, take, (void *)0L);
    until_waiting(0, GETZCNT, 1);
    op(0, -1, 0);
    VALUE_AS("still waits for zero", semctl(id, 0, GETZCNT));
    op(0, -1, 0);
    pthread_join(t[0], NULL);
    VALUE_AS("zero", results[0]);
    /* two semaphores */
    pthread_create(&t[0], NULL, take_both, NULL);
    until_waiting(0, GETNCNT, 1);
    VALUE_AS("at the first", semctl(id, 1, GETNCNT));
    op(0, 1, 0);
    until_waiting(1, GETNCNT, 1);
    VALUE_AS("then at the second", semctl(id, 0, GETNCNT));
    VALUE_AS("which has taken nothing", value(0));
    op(1, 1, 0);
    pthread_join(t[0], NULL);
    TEXT("then both", "%ld, %d %d", results[0], value(0), value(1));
    /* SETVAL and SETALL let go on, too */
    pthread_create(&t[0], NULL, take, (void *)-1L);
    until_waiting(0, GETNCNT, 1);
    set(0, 1);
    pthread_join(t[0], NULL);
    VALUE_AS("after SETVAL", results[1]);
    /* a signal */
    sigaction(SIGUSR1, &sa, NULL);
    pthread_create(&t[0], NULL, take, (void *)-1L);
    until_waiting(0, GETNCNT, 1);
    pthread_kill(t[0], SIGUSR1);
    pthread_join(t[0], NULL);
    TEXT("a handler with SA_RESTART", "%s", strerrorname_np((int)results[1]));
    /* removed */
    pthread_create(&t[0], NULL, take, (void *)-1L);
    until_waiting(0, GETNCNT, 1);
    semctl(id, 0, IPC_RMID);
    pthread_join(t[0], NULL);
    TEXT("removed", "%s", strerrorname_np((int)results[1]));
}

/* ---- SEM_UNDO ---- */

static void undo_up(void)
{
    op(0, 5, SEM_UNDO);
    op(0, -2, SEM_UNDO);
    op(1, -1, SEM_UNDO);
    TEXT("in the child", "%d %d", value(0), value(1));
}

static void undo_beyond(void)
{
    op(0, 3, SEM_UNDO);
    op(0, -5, 0); /* 0 is left, and 3 are to be taken */
}

static void undo_set(void)
{
    op(0, 3, SEM_UNDO);
    set(0, 10);
}

static void undo_killed(void)
{
    op(1, -1, SEM_UNDO);
    raise(SIGKILL);
}

static void undo_range(void)
{
    CASE_AS("32767 with SEM_UNDO", op(0, 32767, SEM_UNDO));
    CASE_AS("and back without it", op(0, -32767, 0));
    CASE_AS("more than can be undone", op(0, 32767, SEM_UNDO));
}

static void undo_in_child(void)
{
    op(0, 4, SEM_UNDO);
    fflush(stdout);
    if (fork() == 0)
        _exit(0);
    wait(NULL);
    VALUE_AS("a child's end undoes nothing of its parent", value(0));
}

static void *undo_in_thread(void *arg)
{
    op(0, 4, SEM_UNDO);
    return arg;
}

static void undo_threads(void)
{
    pthread_t t;

    pthread_create(&t, NULL, undo_in_thread, NULL);
    pthread_join(t, NULL);
    VALUE_AS("after the end of a thread", value(0));
}

static void undoing(void)
{
    pthread_t t;

    id = semget(IPC_PRIVATE, 2, 0600);
    set(1, 4);
    in_child("SEM_UNDO", undo_up);
    TEXT("after its end", "%d %d", value(0), value(1));
    set(0, 2);
    in_child("below zero", undo_beyond);
    VALUE_AS("is zero", value(0));
    in_child("SETVAL", undo_set);
    VALUE_AS("forgets what is to be undone", value(0));
    in_child("killed", undo_killed);
    VALUE_AS("undone when killed", value(1));
    set(0, 0);
    in_child("range", undo_range);
    VALUE_AS("undone", value(0));
    in_child("a child's child", undo_in_child);
    VALUE_AS("undone for the child", value(0));
    in_child("threads", undo_threads);
    VALUE_AS("undone for the process", value(0));
    /* what is undone lets others go on */
    set(1, 0);
    set(0, 1);
    fflush(stdout);
    if (fork() == 0) {
        op(0, -1, SEM_UNDO);
        op(1, 1, 0);
        until_waiting(0, GETNCNT, 1);
        _exit(0);
    }
    op(1, -1, 0);
    pthread_create(&t, NULL, take, (void *)-1L);
    pthread_join(t, NULL);
    wait(NULL);
    VALUE_AS("goes on by what is undone", results[1]);
    semctl(id, 0, IPC_RMID);
}

static int group_id;

static void as_another(void)
{
    struct semid_ds ds = {.sem_perm.mode = 0666};

    if (setgroups(0, NULL) != 0 || setgid(OTHER) != 0 || setuid(OTHER) != 0)
        _exit(9);
    CASE_AS("GETVAL without permission", value(0));
    CASE_AS("SETVAL without permission", set(0, 1));
    CASE_AS("semop without permission", op(0, 1, 0));
    CASE_AS("waiting for zero without permission", op(0, 0, 0));
    CASE_AS("IPC_STAT without permission", semctl(id, 0, IPC_STAT, (union semun){.buf = &ds}));
    CASE_AS("remove by another", semctl(id, 0, IPC_RMID));
    id = group_id;
    CASE_AS("GETVAL by the group", value(0));
    CASE_AS("SETVAL by the group", set(0, 1));
    CASE_AS("semop by the group", op(0, 1, 0));
    CASE_AS("waiting for zero by the group", op(0, 0, 0));
    CASE_AS("IPC_SET by another", semctl(id, 0, IPC_SET, (union semun){.buf = &ds}));
}

static void permissions(void)
{
    struct semid_ds ds;

    id = semget(KEY, 1, IPC_CREAT | 0600);
    group_id = semget(IPC_PRIVATE, 1, 0640);
    ds = status(group_id);
    ds.sem_perm.gid = OTHER;
    CASE_AS("IPC_SET", semctl(group_id, 0, IPC_SET, (union semun){.buf = &ds}));
    VALUE_AS("the group", status(group_id).sem_perm.gid);
    in_child("another user", as_another);
    semctl(id, 0, IPC_RMID);
    semctl(group_id, 0, IPC_RMID);
}

int main(void)
{
    cases_begin();
    remove_key(KEY);
    getting();
    values();
    operations();
    waiting();
    undoing();
    permissions();
    return 0;
}
