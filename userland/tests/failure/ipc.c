/* Calls on System V IPC. */
#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <tap.h>

#define A(p)   ((unsigned long)(p))
#define KEY    0x5EED0002ul
#define ARENA  (24 * BLOCK)
#define WIDE   0x100ul /* IPC_64 */
#define NBYTES (4 * PAGE)
/* Two whole spans of shared tables, and half of one that has a table of the process's own. */
#define HUGE       (4ul << 20)
#define HUGE_BYTES (5 * HUGE)

static int id = -1;
static long attached; /* where the call has attached the segment */

static void make(void)
{
    cold_make();
    id = shmget((key_t)KEY, NBYTES, IPC_CREAT | IPC_EXCL | 0640);
    if (id < 0)
        bail_out("no segment: %s", strerror(errno));
}

static void make_attached(void)
{
    char *p;

    make();
    p = shmat(id, (void *)ARENA, 0);
    if (p != (void *)ARENA)
        bail_out("the segment is not attached: %s", strerror(errno));
    p[0] = 'a';
    p[2 * PAGE] = 'c';
}

static void make_huge(void)
{
    id = shmget((key_t)KEY, HUGE_BYTES, SHM_HUGETLB | IPC_CREAT | IPC_EXCL | 0640);
    if (id < 0)
        bail_out("no segment of huge pages: %s", strerror(errno));
}

static void make_huge_attached(void)
{
    make_huge();
    if (shmat(id, (void *)ARENA, 0) != (void *)ARENA)
        bail_out("the segment is not attached: %s", strerror(errno));
}

static void drop(void)
{
    if (attached > 0)
        shmdt((void *)attached);
    shmdt((void *)ARENA);
    shmdt((void *)(ARENA + PAGE)); /* what munmap has left of another */
    attached = 0;
    id = shmget((key_t)KEY, 0, 0);
    if (id >= 0)
        shmctl(id, IPC_RMID, NULL);
    cold_drop();
}

static bool is_made(long r) { return r >= 0 && shmget((key_t)KEY, 0, 0) == r; }
static bool is_attached(long r)
{
    struct shmid_ds ds;

    attached = r;
    return r > 0 && shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_nattch == 1;
}
static bool is_second(long r) { return is_attached(r) || (r > 0 && ((char *)r)[2 * PAGE] == 'c'); }
static bool is_detached(long r)
{
    struct shmid_ds ds;

    return r == 0 && shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_nattch == 0;
}
static bool is_cut(long r)
{
    struct shmid_ds ds;

    return r == 0 && shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_nattch == 2;
}
static bool is_told(long r) { return r == 0 && ((struct shmid_ds *)COLD)->shm_segsz == NBYTES; }
static bool is_gone(long r) { return r == 0 && shmget((key_t)KEY, 0, 0) == -1; }
static bool is_open(long r)
{
    struct shmid_ds ds;

    return r == 0 && shmctl(id, IPC_STAT, &ds) == 0 && (ds.shm_perm.mode & 0777) == 0;
}

static long do_attach(void) { return raw6(SYS_shmat, A(id), 0, 0, 0, 0, 0); }
static long do_attach_at(void) { return raw6(SYS_shmat, A(id), ARENA, 0, 0, 0, 0); }
static long do_attach_over(void) { return raw6(SYS_shmat, A(id), ARENA, SHM_REMAP, 0, 0, 0); }
static long do_control(unsigned long command, unsigned long at)
{
    return raw6(SYS_shmctl, A(id), command | WIDE, at, 0, 0, 0);
}
static long do_stat(void) { return do_control(IPC_STAT, COLD); }
static long do_set(void) { return do_control(IPC_SET, COLD); }
static long do_remove(void) { return do_control(IPC_RMID, 0); }
static long do_info(void) { return do_control(SHM_INFO, COLD); }
static long do_cut_huge(void) { return raw6(SYS_munmap, ARENA + HUGE, HUGE, 0, 0, 0, 0); }
static long do_protect_huge(void)
{
    return raw6(SYS_mprotect, ARENA + HUGE, 2 * HUGE, PROT_READ, 0, 0, 0);
}
static long do_map_huge(void)
{
    return raw6(SYS_mmap, ARENA, HUGE_BYTES, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED, -1ul, 0);
}
static long do_map_private_huge(void)
{
    return raw6(SYS_mmap, ARENA, HUGE_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED, -1ul, 0);
}
static void make_private_huge(void)
{
    if (do_map_private_huge() != (long)ARENA)
        bail_out("no private huge pages");
}
static void unmap_huge(void) { munmap((void *)ARENA, HUGE_BYTES); }
static bool is_mapped(long r) { return r == (long)ARENA; }
static bool is_protected(long r) { return r == 0; }
static long do_cut(void) { return raw6(SYS_munmap, ARENA + PAGE, PAGE, 0, 0, 0, 0); }

/* ---- semaphores ---- */

#define NSEMS 3
#define MANY  20 /* operations: more than need no allocation */

static struct sembuf up = {0, 1, 0}, up_undo = {1, 1, SEM_UNDO}, many[MANY];
static unsigned short values[NSEMS];

static void drop_set(void)
{
    id = semget((key_t)KEY, 0, 0);
    if (id >= 0)
        semctl(id, 0, IPC_RMID);
    cold_drop();
}

static void make_set(void)
{
    cold_make();
    for (unsigned k = 0; k < MANY; k++)
        many[k] = up;
    id = semget((key_t)KEY, NSEMS, IPC_CREAT | IPC_EXCL | 0640);
    if (id < 0)
        bail_out("no semaphores: %s", strerror(errno));
}

static long set_value(unsigned n) { return semctl(id, (int)n, GETVAL); }
static bool is_set(long r) { return r >= 0 && semget((key_t)KEY, 0, 0) == r; }
static bool is_up(long r) { return r == 0 && set_value(0) == 1; }
static bool is_up_undo(long r) { return r == 0 && set_value(1) == 1; }
static bool is_up_many(long r) { return r == 0 && set_value(0) == MANY; }
static bool is_5(long r) { return r == 0 && set_value(0) == 5; }
static bool is_no_set(long r) { return r == 0 && semget((key_t)KEY, 0, 0) == -1; }
static bool has_3(long r) { return r == 0 && ((struct semid_ds *)COLD)->sem_nsems == NSEMS; }
static bool is_0600(long r)
{
    struct semid_ds ds;

    return r == 0 && semctl(id, 0, IPC_STAT, &ds) == 0 && ds.sem_perm.uid == 0;
}

static long sem_op(struct sembuf *ops, unsigned n)
{
    return raw6(SYS_semop, A(id), A(ops), n, 0, 0, 0);
}
static long do_up(void) { return sem_op(&up, 1); }
static long do_up_many(void) { return sem_op(many, MANY); }
static long do_up_undo(void) { return sem_op(&up_undo, 1); }
/* The operation, in an untouched page, waits for zero. */
static long do_zero(void) { return sem_op((struct sembuf *)COLD, 1); }
static long do_timed(void) { return raw6(SYS_semtimedop, A(id), A(&up), 1, COLD, 0, 0); }
static long sem_ctl(unsigned long command, unsigned long arg)
{
    return raw6(SYS_semctl, A(id), 0, command | WIDE, arg, 0, 0);
}
static long do_getall(void) { return sem_ctl(GETALL, A(values)); }
static long do_setall(void) { return sem_ctl(SETALL, A(values)); }
static long do_setval(void) { return sem_ctl(SETVAL, 5); }
static long do_sem_stat(void) { return sem_ctl(IPC_STAT, COLD); }
static long do_sem_set(void) { return sem_ctl(IPC_SET, COLD); }
static long do_sem_remove(void) { return sem_ctl(IPC_RMID, 0); }

#define SET(name_, call_, act_, effect_, flags_) \
    BY(name_, call_, make_set, act_, effect_, drop_set, flags_)

/* ---- message queues ---- */

static struct {
    long type;
    char text[100];
} message = {3, "hello"}, got;

static void drop_queue(void)
{
    id = msgget((key_t)KEY, 0);
    if (id >= 0)
        msgctl(id, IPC_RMID, NULL);
    cold_drop();
}

static void make_queue(void)
{
    cold_make();
    id = msgget((key_t)KEY, IPC_CREAT | IPC_EXCL | 0640);
    if (id < 0)
        bail_out("no queue: %s", strerror(errno));
}

static void make_queued(void)
{
    make_queue();
    if (msgsnd(id, &message, sizeof(message.text), 0) != 0)
        bail_out("no message: %s", strerror(errno));
}

static unsigned long queued(void)
{
    struct msqid_ds ds;

    return msgctl(id, IPC_STAT, &ds) == 0 ? ds.msg_qnum : 99;
}

static bool is_queue(long r) { return r >= 0 && msgget((key_t)KEY, 0) == r; }
static bool is_queued(long r) { return r == 0 && queued() == 1; }
static bool is_received(long r)
{
    return r == 100 && queued() == 0 && got.type == 3 && strcmp(got.text, "hello") == 0;
}
static bool is_copied(long r)
{
    return r == 100 && queued() == 1 && got.type == 3 && strcmp(got.text, "hello") == 0;
}
static bool is_no_queue(long r) { return r == 0 && msgget((key_t)KEY, 0) == -1; }
static bool has_100(long r) { return r == 0 && ((struct msqid_ds *)COLD)->__msg_cbytes == 100; }

static long do_send(void) { return raw6(SYS_msgsnd, A(id), A(&message), 100, 0, 0, 0); }
static long do_receive(void) { return raw6(SYS_msgrcv, A(id), A(&got), 100, 0, IPC_NOWAIT, 0); }
static long do_copy(void)
{
    return raw6(SYS_msgrcv, A(id), A(&got), 100, 0, IPC_NOWAIT | 040000, 0);
}
static long msg_ctl(unsigned long command, unsigned long at)
{
    return raw6(SYS_msgctl, A(id), command | WIDE, at, 0, 0, 0);
}
static long do_msg_stat(void) { return msg_ctl(IPC_STAT, COLD); }
static long do_msg_set(void) { return msg_ctl(IPC_SET, COLD); }
static long do_msg_remove(void) { return msg_ctl(IPC_RMID, 0); }

#define QUEUE(name_, call_, prepare_, act_, effect_, flags_) \
    BY(name_, call_, prepare_, act_, effect_, drop_queue, flags_)

const struct scenario ipc_scenarios[] = {
    {.name = "shmget",
     .call = SYS_shmget,
     .args = {KEY, NBYTES, IPC_CREAT | 0600},
     .effect = is_made,
     .undo = drop},
    {.name = "shmget, found",
     .call = SYS_shmget,
     .args = {KEY, NBYTES, 0600},
     .prepare = make,
     .effect = is_made,
     .undo = drop,
     .flags = NOTHING},
    WITH("shmat", SYS_shmat, make, do_attach, is_attached, 0),
    WITH("shmat, at an address", SYS_shmat, make, do_attach_at, is_attached, 0),
    WITH("shmat, a second time", SYS_shmat, make_attached, do_attach, is_second, 0),
    WITH("shmat, SHM_REMAP", SYS_shmat, make_attached, do_attach_over, is_attached, HALFWAY),
    {.name = "shmdt",
     .call = SYS_shmdt,
     .args = {ARENA},
     .prepare = make_attached,
     .effect = is_detached,
     .undo = drop,
     .flags = NOTHING},
    WITH("munmap, within a segment", SYS_munmap, make_attached, do_cut, is_cut, 0),
    {.name = "shmget, huge pages",
     .call = SYS_shmget,
     .args = {KEY, HUGE_BYTES, SHM_HUGETLB | IPC_CREAT | 0600},
     .effect = is_made,
     .undo = drop},
    WITH("shmat, huge pages", SYS_shmat, make_huge, do_attach_at, is_attached, 0),
    WITH("munmap, one of several huge pages", SYS_munmap, make_huge_attached, do_cut_huge, is_cut,
         0),
    WITH("mprotect, huge pages", SYS_mprotect, make_huge_attached, do_protect_huge, is_protected,
         0),
    {.name = "mmap, huge pages",
     .call = SYS_mmap,
     .act = do_map_huge,
     .effect = is_mapped,
     .undo = unmap_huge},
    {.name = "mmap, private huge pages",
     .call = SYS_mmap,
     .act = do_map_private_huge,
     .effect = is_mapped,
     .undo = unmap_huge},
    BY("munmap, one of several private huge pages", SYS_munmap, make_private_huge, do_cut_huge,
       is_protected, unmap_huge, 0),
    BY("mprotect, private huge pages", SYS_mprotect, make_private_huge, do_protect_huge,
       is_protected, unmap_huge, 0),
    WITH("shmctl, IPC_STAT", SYS_shmctl, make, do_stat, is_told, WARM),
    WITH("shmctl, IPC_SET", SYS_shmctl, make, do_set, is_open, WARM),
    WITH("shmctl, SHM_INFO", SYS_shmctl, make, do_info, NULL, WARM),
    WITH("shmctl, IPC_RMID", SYS_shmctl, make, do_remove, is_gone, NOTHING),
    WITH("shmctl, IPC_RMID while attached", SYS_shmctl, make_attached, do_remove, is_gone, NOTHING),

    {.name = "semget",
     .call = SYS_semget,
     .args = {KEY, NSEMS, IPC_CREAT | 0600},
     .effect = is_set,
     .undo = drop_set},
    SET("semop", SYS_semop, do_up, is_up, NOTHING),
    SET("semop, many", SYS_semop, do_up_many, is_up_many, 0),
    SET("semop, SEM_UNDO", SYS_semop, do_up_undo, is_up_undo, 0),
    SET("semop, from an untouched page", SYS_semop, do_zero, NULL, WARM),
    SET("semtimedop", SYS_semtimedop, do_timed, is_up, WARM),
    SET("semctl, GETALL", SYS_semctl, do_getall, NULL, 0),
    SET("semctl, SETALL", SYS_semctl, do_setall, NULL, 0),
    SET("semctl, SETVAL", SYS_semctl, do_setval, is_5, NOTHING),
    SET("semctl, IPC_STAT", SYS_semctl, do_sem_stat, has_3, WARM),
    SET("semctl, IPC_SET", SYS_semctl, do_sem_set, is_0600, WARM),
    SET("semctl, IPC_RMID", SYS_semctl, do_sem_remove, is_no_set, NOTHING),

    {.name = "msgget",
     .call = SYS_msgget,
     .args = {KEY, IPC_CREAT | 0600},
     .effect = is_queue,
     .undo = drop_queue},
    QUEUE("msgsnd", SYS_msgsnd, make_queue, do_send, is_queued, 0),
    QUEUE("msgrcv", SYS_msgrcv, make_queued, do_receive, is_received, NOTHING),
    QUEUE("msgrcv, MSG_COPY", SYS_msgrcv, make_queued, do_copy, is_copied, 0),
    QUEUE("msgctl, IPC_STAT of a message", SYS_msgctl, make_queued, do_msg_stat, has_100, WARM),
    QUEUE("msgctl, IPC_SET of a message queue", SYS_msgctl, make_queue, do_msg_set, NULL, WARM),
    QUEUE("msgctl, IPC_RMID of a message queue", SYS_msgctl, make_queued, do_msg_remove,
          is_no_queue, NOTHING),
    {0},
};
