// TAP
/*
 * System V IPC under load: processes that are killed while they hold a semaphore, objects that are
 * removed while others use them.
 */
#include <company.h>
#include <errno.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 6
#define ROUNDS  120
#define PAGE    8192ul

static volatile long *shared; /* not part of System V */

static void nap_us(long us) { nanosleep(&(struct timespec){0, us * 1000}, NULL); }

static int op(int id, unsigned short n, short change, short flags)
{
    struct sembuf o = {n, change, flags};

    return semop(id, &o, 1);
}

static void start(pid_t pid[WORKERS], void (*work)(unsigned k, int id), int id)
{
    for (unsigned k = 0; k < WORKERS; k++) {
        pid[k] = must_fork();
        if (pid[k] == 0) {
            work(k, id);
            _exit(0);
        }
    }
}

/* Returns how many ended by themselves with status 0. */
static unsigned reap(const pid_t pid[WORKERS])
{
    unsigned good = 0;
    int status;

    for (unsigned k = 0; k < WORKERS; k++)
        good += waitpid(pid[k], &status, 0) == pid[k] && WIFEXITED(status) && !WEXITSTATUS(status);
    return good;
}

/* One at a time is in the middle. */
static void exclude(unsigned k, int id)
{
    for (unsigned n = 0; n < ROUNDS; n++) {
        if (op(id, 0, -1, SEM_UNDO) != 0)
            _exit(1);
        if (shared[0]++ != 0)
            shared[1]++;
        shared[2]++;
        shared[0]--;
        if (op(id, 0, 1, SEM_UNDO) != 0)
            _exit(1);
    }
    (void)k;
}

static void test_exclusion(void)
{
    int id = semget(IPC_PRIVATE, 1, 0600);
    pid_t pid[WORKERS];

    shared[0] = shared[1] = shared[2] = 0;
    op(id, 0, 1, 0);
    start(pid, exclude, id);
    is(reap(pid), WORKERS, "all come through");
    is(shared[1], 0, "never two at a time");
    is(shared[2], WORKERS * ROUNDS, "each as often as it should");
    is(semctl(id, 0, GETVAL), 1, "the semaphore is free again");
    semctl(id, 0, IPC_RMID);
}

/* Takes some of several semaphores for ever, until it is killed. */
static void take(unsigned k, int id)
{
    unsigned x = k + 1;

    for (;;) {
        struct sembuf o[2];

        x = x * 1103515245 + 12345;
        o[0] = (struct sembuf){(unsigned short)(x >> 16 & 3), -1, SEM_UNDO};
        o[1] = (struct sembuf){(unsigned short)(x >> 18 & 3), -1, SEM_UNDO};
        if (semop(id, o, 2) != 0)
            _exit(2);
        o[0].sem_op = o[1].sem_op = 1;
        if (semop(id, o, 2) != 0)
            _exit(2);
    }
}

static void test_killed(void)
{
    int id = semget(IPC_PRIVATE, 4, 0600), wrong = 0;

    for (unsigned short k = 0; k < 4; k++)
        op(id, k, 2, 0);
    for (unsigned round = 0; round < 8; round++) {
        pid_t pid[WORKERS];

        start(pid, take, id);
        nap_us(500 * (1 + round % 5));
        for (unsigned k = 0; k < WORKERS; k++)
            kill(pid[k], SIGKILL);
        reap(pid);
        for (int k = 0; k < 4; k++)
            wrong += semctl(id, k, GETVAL) != 2 || semctl(id, k, GETNCNT) != 0;
    }
    is(wrong, 0, "what killed processes had taken is given back");
    semctl(id, 0, IPC_RMID);
}

/* Uses a set until it is removed. */
static void use(unsigned k, int id)
{
    while (op(id, (unsigned short)(k % 2), k % 3 ? -1 : 1, SEM_UNDO) == 0)
        ;
    _exit(errno == EIDRM || errno == EINVAL || errno == ERANGE ? 0 : 3);
}

static void test_removed_set(void)
{
    unsigned good = 0;

    for (unsigned round = 0; round < 8; round++) {
        int id = semget(IPC_PRIVATE, 2, 0600);
        pid_t pid[WORKERS];

        start(pid, use, id);
        nap_us(300 * (1 + round % 5));
        if (semctl(id, 0, IPC_RMID) == 0)
            good += reap(pid);
    }
    is(good, 8 * WORKERS, "a removed set lets all go, whatever they have to undo");
}

/* Attaches and detaches, as long as the segment is there. */
static void attach(unsigned k, int id)
{
    for (unsigned n = 0; n < 40; n++) {
        char *p = shmat(id, NULL, k % 2 ? SHM_RDONLY : 0);

        if (p == (void *)-1)
            _exit(errno == EINVAL ? 0 : 4);
        if (k % 2 == 0)
            p[k * PAGE] = (char)k;
        if (p[PAGE * (k | 1)] != 0)
            _exit(5);
        if (k % 3 == 0)
            munmap(p + PAGE, PAGE);
        if (k % 3 == 1 && must_fork() == 0)
            _exit(0);
        shmdt(p);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static void test_removed_segment(void)
{
    unsigned good = 0, gone = 0;

    for (unsigned round = 0; round < 6; round++) {
        int id = shmget(IPC_PRIVATE, 8 * PAGE, 0600);
        struct shmid_ds ds;
        pid_t pid[WORKERS];
        char *p = shmat(id, NULL, 0);

        start(pid, attach, id);
        nap_us(500 * (1 + round % 5));
        shmctl(id, IPC_RMID, NULL);
        shmdt(p);
        good += reap(pid);
        for (unsigned n = 0; n < 1000 && shmctl(id, IPC_STAT, &ds) == 0; n++)
            nap_us(1000); /* children of the workers are ending */
        gone += shmctl(id, IPC_STAT, &ds) != 0 && errno == EINVAL;
    }
    is(good, 6 * WORKERS, "a removed segment goes once nobody has it attached");
    is(gone, 6, "and leaves nothing");
}

/* ---- messages ---- */

struct message {
    long type;
    long from, number;
    char filling[200];
};
#define MESSAGE_BYTES (sizeof(struct message) - sizeof(long))

static void send_all(unsigned k, int id)
{
    struct message m = {.type = 1 + k % 2, .from = k};

    for (m.number = 0; m.number < ROUNDS; m.number++)
        if (msgsnd(id, &m, MESSAGE_BYTES - (size_t)(m.number % 180), 0) != 0)
            _exit(6);
}

/* Workers 0 and 1 receive, by type; the others send. */
static void exchange(unsigned k, int id)
{
    long next[WORKERS] = {0}, wrong = 0;
    struct message m;

    if (k >= 2) {
        send_all(k, id);
        return;
    }
    for (unsigned n = 0; n < (WORKERS - 2) / 2 * ROUNDS; n++) {
        if (msgrcv(id, &m, MESSAGE_BYTES, 1 + (long)k, 0) < 0)
            _exit(7);
        wrong += m.type != 1 + (long)k || m.from % 2 != k || m.number != next[m.from]++;
    }
    _exit(wrong != 0);
}

static void test_messages(void)
{
    int id = msgget(IPC_PRIVATE, 0600);
    struct msqid_ds ds;
    pid_t pid[WORKERS];

    start(pid, exchange, id);
    is(reap(pid), WORKERS, "all messages come, each sender's in their order");
    ok(msgctl(id, IPC_STAT, &ds) == 0 && ds.msg_qnum == 0 && ds.__msg_cbytes == 0,
       "and none is left");
    msgctl(id, IPC_RMID, NULL);
}

static void babble(unsigned k, int id)
{
    struct message m = {.type = 1};

    for (;;)
        if (k % 2 ? msgsnd(id, &m, MESSAGE_BYTES, 0) != 0
                  : msgrcv(id, &m, MESSAGE_BYTES, k % 3 ? 0 : 1, 0) < 0)
            _exit(errno == EIDRM || errno == EINVAL ? 0 : 8);
}

static void test_removed_queue(void)
{
    unsigned good = 0;

    for (unsigned round = 0; round < 8; round++) {
        int id = msgget(IPC_PRIVATE, 0600);
        struct msqid_ds ds;
        pid_t pid[WORKERS];

        start(pid, babble, id);
        nap_us(300 * (1 + round % 5));
        for (unsigned k = 0; k < 2; k++)
            kill(pid[k], SIGKILL);
        good += msgctl(id, IPC_STAT, &ds) == 0 && (ds.msg_qnum == 0) == (ds.__msg_cbytes == 0);
        msgctl(id, IPC_RMID, NULL);
        good += reap(pid) >= WORKERS - 2;
    }
    is(good, 2 * 8, "a removed queue lets all go");
}

int main(void)
{
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_exclusion();
    test_killed();
    test_removed_set();
    test_removed_segment();
    test_messages();
    test_removed_queue();
    return tap_done();
}
