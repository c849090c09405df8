/*
 * Calls on System V IPC: arguments and structures of Linux/Alpha. The objects are in kernel/ipc.
 *
 * The C library asks for the structures of 64 bits by IPC_64 in the command. The older structures,
 * of 16-bit ids, are refused.
 */
#include "kernel/sys/posix/ipc.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/ipc/msg.h"
#include "kernel/ipc/sem.h"
#include "kernel/ipc/shm.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/sys/posix/poll.h"
#include "mm/pool/pool_charged.h"
#include "mm/section/section.h"

#define IPC_RMID     0
#define IPC_SET      1
#define IPC_STAT     2
#define IPC_INFO     3
#define MSG_STAT     11
#define MSG_INFO     12
#define MSG_STAT_ANY 13
#define GETPID       11
#define GETVAL       12
#define GETALL       13
#define GETNCNT      14
#define GETZCNT      15
#define SETVAL       16
#define SETALL       17
#define SEM_STAT     18
#define SEM_INFO     19
#define SEM_STAT_ANY 20
#define SHM_LOCK     11
#define SHM_UNLOCK   12
#define SHM_STAT     13
#define SHM_INFO     14
#define SHM_STAT_ANY 15
#define IPC_64       0x100u

#define OPS_NEAR 8u /* operations of semop for which nothing is allocated */

/* ---- layouts of Linux/Alpha ---- */

struct user_perm {
    int32_t key;
    uint32_t uid, gid, cuid, cgid, mode;
    uint16_t seq, pad;
    uint32_t pad2;
    uint64_t unused[2];
};

struct user_shm {
    struct user_perm perm;
    uint64_t nbytes;
    int64_t atime, dtime, ctime;
    int32_t cpid, lpid;
    uint64_t nattch, unused[2];
};

struct user_shm_limits {
    uint64_t max, min, mni, seg, all, unused[4];
};

struct user_shm_totals {
    int32_t used, pad;
    uint64_t total, resident, swapped, attempts, successes;
};

struct user_sem {
    struct user_perm perm;
    int64_t otime, ctime;
    uint64_t nsems, unused[2];
};

struct user_sem_limits {
    int32_t map, mni, mns, mnu, msl, opm, ume, usz, vmx, aem;
};

struct user_msg {
    struct user_perm perm;
    int64_t stime, rtime, ctime;
    uint64_t nbytes, count, limit;
    int32_t lspid, lrpid;
    uint64_t unused[2];
};

struct user_msg_limits {
    int32_t pool, map, max, mnb, mni, ssz, tql;
    uint16_t seg, pad;
};

static struct user_perm perm_of(const struct ipc_object *o)
{
    return (struct user_perm){.key = o->key,
                              .uid = o->uid,
                              .gid = o->gid,
                              .cuid = o->cuid,
                              .cgid = o->cgid,
                              .mode = o->mode,
                              .seq = o->seq};
}

/* ---- who ---- */

static void who(struct ipc_caller *c)
{
    const struct process *p = process_self();

    *c = (struct ipc_caller){0};
    if (p)
        *c = (struct ipc_caller){
            {.uid = process_euid(p), .gid = process_egid(p), .groups = &p->groups}, p->pid};
}

void posix_ipc_boot(void) { ipc_who = who; }

/* ---- shared memory ---- */

long sys_shmget(uint64_t key, uint64_t n, uint64_t flags)
{
    struct ipc_caller c;

    who(&c);
    return shm_get(&c, (int32_t)key, n, (uint32_t)flags,
                   (process_privileges(process_self()) & PRV_PSWAPM) != 0);
}

long sys_shmat(uint64_t id, uint64_t va, uint64_t flags)
{
    struct ipc_caller c;
    vaddr_t at;
    int err;

    who(&c);
    err = shm_attach(&c, process_self()->aspace, (int)id, va, (uint32_t)flags, &at);
    return err ? err : (long)at;
}

long sys_shmdt(uint64_t va) { return shm_detach(process_self()->aspace, va); }

static long put_shm(const struct shm_status *s, vaddr_t to)
{
    const struct user_shm u = {.perm = perm_of(&s->ipc),
                               .nbytes = s->nbytes,
                               .atime = s->atime_ns / NS_PER_SECOND,
                               .dtime = s->dtime_ns / NS_PER_SECOND,
                               .ctime = s->ipc.ctime_ns / NS_PER_SECOND,
                               .cpid = (int32_t)s->cpid,
                               .lpid = (int32_t)s->lpid,
                               .nattch = s->nattch};

    return copyout(to, &u, sizeof(u));
}

static long shm_info(unsigned command, vaddr_t to)
{
    struct shm_totals t;
    int err;

    shm_totals(&t);
    if (command == SHM_INFO) {
        const struct user_shm_totals u = {
            .used = (int32_t)t.count, .total = t.pages, .resident = t.resident};

        err = copyout(to, &u, sizeof(u));
    } else {
        const struct user_shm_limits u = {.max = SHM_MAX,
                                          .min = 1,
                                          .mni = IPC_SLOTS,
                                          .seg = IPC_SLOTS,
                                          .all = SHM_MAX >> PAGE_SHIFT};

        err = copyout(to, &u, sizeof(u));
    }
    return err ? err : (long)t.highest;
}

static long shm_status(const struct ipc_caller *c, int id, unsigned command, vaddr_t to)
{
    struct shm_status s;
    long err;

    if (command == IPC_STAT)
        err = shm_stat(c, id, &s);
    else
        err = shm_stat_slot(c, (uint64_t)id, command == SHM_STAT_ANY, &s);
    section_reap(); /* a segment that was removed meanwhile */
    if (!err)
        err = put_shm(&s, to);
    return err || command == IPC_STAT ? err : ipc_id(&s.ipc);
}

/* SHM_LOCK is refused to whom mlock is refused. */
static long shm_lock_call(const struct ipc_caller *c, int id, bool lock)
{
    const struct process *p = process_self();
    bool may = (process_privileges(p) & PRV_PSWAPM) || rlimit_soft(p, RLIMIT_MEMLOCK) != 0;

    return lock && !may ? -EPERM : shm_lock(c, id, lock);
}

long sys_shmctl(uint64_t id_, uint64_t command_, uint64_t b)
{
    unsigned command = (unsigned)command_ & ~IPC_64;
    bool wide = ((unsigned)command_ & IPC_64) != 0;
    int id = (int)id_;
    struct ipc_caller c;
    struct user_shm u;

    who(&c);
    if ((int)command_ < 0 || id < 0)
        return -EINVAL;
    switch (command) {
    case IPC_RMID:
        return shm_remove(&c, id);
    case IPC_SET:
        if (!wide)
            return -EINVAL;
        if (copyin(&u, b, sizeof(u)) != 0)
            return -EFAULT;
        return shm_set(&c, id, u.perm.uid, u.perm.gid, u.perm.mode);
    case IPC_STAT:
    case SHM_STAT:
    case SHM_STAT_ANY:
        return wide ? shm_status(&c, id, command, b) : -EINVAL;
    case SHM_INFO:
    case IPC_INFO:
        return wide || command == SHM_INFO ? shm_info(command, b) : -EINVAL;
    case SHM_LOCK:
    case SHM_UNLOCK:
        return shm_lock_call(&c, id, command == SHM_LOCK);
    default:
        return -EINVAL;
    }
}

/* ---- semaphores ---- */

long sys_semget(uint64_t key, uint64_t n, uint64_t flags)
{
    struct ipc_caller c;

    who(&c);
    return sem_get(&c, (int32_t)key, (int)n, (uint32_t)flags);
}

static long operate(int id, vaddr_t from, unsigned n, uint64_t deadline)
{
    struct sem_op near[OPS_NEAR], *ops = near;
    uint16_t account = pool_account();
    struct ipc_caller c;
    long err;

    if (n > OPS_NEAR)
        ops = npp_alloc_charged(n * sizeof(*ops), account);
    if (!ops)
        return -ENOMEM;
    who(&c);
    err = copyin(ops, from, n * sizeof(*ops));
    if (!err)
        err = sem_operate(&c, &process_self()->sem_undos, id, ops, n, deadline);
    if (ops != near)
        npp_free_charged(ops, n * sizeof(*ops), account);
    return err;
}

long sys_semtimedop(uint64_t id, uint64_t ops, uint64_t n, uint64_t timeout)
{
    uint64_t deadline;
    long err;

    n = (unsigned)n;
    if (n == 0 || (int)id < 0)
        return -EINVAL;
    if (n > SEM_OPS_MAX)
        return -E2BIG;
    err = poll_deadline(timeout, 1, &deadline);
    return err ? err : operate((int)id, ops, (unsigned)n, deadline);
}

long sys_semop(uint64_t id, uint64_t ops, uint64_t n) { return sys_semtimedop(id, ops, n, 0); }

/* GETALL or SETALL: through a buffer, since the values are copied under the set's mutex. */
static long all_values(const struct ipc_caller *c, int id, bool set, vaddr_t at)
{
    uint16_t account = pool_account();
    struct sem_status s;
    uint16_t *values;
    size_t nbytes;
    long err = sem_stat(c, id, &s);

    if (err)
        return err;
    nbytes = s.nsems * sizeof(*values);
    values = npp_alloc_charged(nbytes, account);
    if (!values)
        return -ENOMEM;
    if (set) {
        err = copyin(values, at, nbytes);
        if (!err)
            err = sem_set_all(c, id, values, s.nsems);
    } else {
        err = sem_get_all(c, id, values, s.nsems);
        if (!err)
            err = copyout(at, values, nbytes);
    }
    npp_free_charged(values, nbytes, account);
    return err;
}

static long sem_info(unsigned command, vaddr_t to)
{
    struct user_sem_limits u = {.map = SEM_SETS_TOTAL,
                                .mni = IPC_SLOTS,
                                .mns = SEM_SETS_TOTAL,
                                .mnu = SEM_SETS_TOTAL,
                                .msl = SEM_SET_MAX,
                                .opm = SEM_OPS_MAX,
                                .ume = SEM_OPS_MAX,
                                .usz = 20,
                                .vmx = SEM_VALUE_MAX,
                                .aem = SEM_VALUE_MAX};
    struct sem_totals t;
    int err;

    sem_totals(&t);
    if (command == SEM_INFO) {
        u.usz = (int32_t)t.count;
        u.aem = (int32_t)t.semaphores;
    }
    err = copyout(to, &u, sizeof(u));
    return err ? err : (long)t.highest;
}

static long sem_status(const struct ipc_caller *c, int id, unsigned command, vaddr_t to)
{
    struct sem_status s;
    long err;

    if (command == IPC_STAT)
        err = sem_stat(c, id, &s);
    else
        err = sem_stat_slot(c, (uint64_t)id, command == SEM_STAT_ANY, &s);
    if (!err) {
        const struct user_sem u = {.perm = perm_of(&s.ipc),
                                   .otime = s.otime_ns / NS_PER_SECOND,
                                   .ctime = s.ipc.ctime_ns / NS_PER_SECOND,
                                   .nsems = s.nsems};

        err = copyout(to, &u, sizeof(u));
    }
    return err || command == IPC_STAT ? err : ipc_id(&s.ipc);
}

/* The commands on one semaphore or the values of all. */
static long sem_values(const struct ipc_caller *c, int id, int number, unsigned command,
                       uint64_t arg)
{
    switch (command) {
    case GETVAL:
        return sem_query(c, id, number, SEM_VALUE);
    case GETPID:
        return sem_query(c, id, number, SEM_PID);
    case GETNCNT:
        return sem_query(c, id, number, SEM_INCREASE_WAITERS);
    case GETZCNT:
        return sem_query(c, id, number, SEM_ZERO_WAITERS);
    case SETVAL:
        return sem_set_value(c, id, number, (int)arg);
    case GETALL:
    case SETALL:
        return all_values(c, id, command == SETALL, arg);
    default:
        return -EINVAL;
    }
}

long sys_semctl(uint64_t id_, uint64_t number, uint64_t command_, uint64_t arg)
{
    unsigned command = (unsigned)command_ & ~IPC_64;
    bool wide = ((unsigned)command_ & IPC_64) != 0;
    int id = (int)id_;
    struct ipc_caller c;
    struct user_sem u;

    who(&c);
    if ((int)command_ < 0 || id < 0)
        return -EINVAL;
    switch (command) {
    case IPC_RMID:
        return sem_remove(&c, id);
    case IPC_SET:
        if (!wide)
            return -EINVAL;
        if (copyin(&u, arg, sizeof(u)) != 0)
            return -EFAULT;
        return sem_set(&c, id, u.perm.uid, u.perm.gid, u.perm.mode);
    case IPC_STAT:
    case SEM_STAT:
    case SEM_STAT_ANY:
        return wide ? sem_status(&c, id, command, arg) : -EINVAL;
    case IPC_INFO:
    case SEM_INFO:
        return sem_info(command, arg);
    default:
        return sem_values(&c, id, (int)number, command, arg);
    }
}

/* ---- message queues ---- */

long sys_msgget(uint64_t key, uint64_t flags)
{
    struct ipc_caller c;

    who(&c);
    return msg_get(&c, (int32_t)key, (uint32_t)flags);
}

/* A message is its type, a long, and n bytes. */
long sys_msgsnd(uint64_t id, uint64_t from, uint64_t n, uint64_t flags)
{
    struct ipc_caller c;
    struct ipc_msg *m;
    uint64_t type;
    long err;

    if (copyin_u64(&type, from) != 0)
        return -EFAULT;
    if (n > MSG_MAX || (int)id < 0 || (int64_t)type < 1)
        return -EINVAL;
    m = msg_alloc(n);
    if (!m)
        return -ENOMEM;
    who(&c);
    err = copyin(msg_text(m), from + sizeof(type), n);
    if (!err)
        err = msg_send(&c, (int)id, m, (int64_t)type, !(flags & IPC_NOWAIT));
    if (err)
        msg_free(m);
    return err;
}

long sys_msgrcv(uint64_t id, uint64_t to, uint64_t max, uint64_t type, uint64_t flags)
{
    struct ipc_caller c;
    struct ipc_msg *m;
    size_t n;
    long err;

    if ((int)id < 0 || (int64_t)max < 0)
        return -EINVAL;
    if ((flags & MSG_COPY) && ((flags & MSG_EXCEPT) || !(flags & IPC_NOWAIT)))
        return -EINVAL;
    who(&c);
    err = (flags & MSG_COPY ? msg_copy : msg_receive)(&c, (int)id, max, (int64_t)type,
                                                      (uint32_t)flags, &m);
    if (err)
        return err;
    n = MIN(msg_bytes(m), max);
    err = copyout_u64(to, (uint64_t)msg_type(m));
    if (!err)
        err = copyout(to + sizeof(uint64_t), msg_text(m), n);
    msg_free(m);
    return err ? err : (long)n;
}

static long msg_info(unsigned command, vaddr_t to)
{
    struct user_msg_limits u = {.pool = IPC_SLOTS * (MSG_QUEUE_MAX / 1024),
                                .map = MSG_QUEUE_MAX,
                                .max = MSG_MAX,
                                .mnb = MSG_QUEUE_MAX,
                                .mni = IPC_SLOTS,
                                .ssz = 16,
                                .tql = MSG_QUEUE_MAX,
                                .seg = UINT16_MAX};
    struct msg_totals t;
    int err;

    msg_totals(&t);
    if (command == MSG_INFO) {
        u.pool = (int32_t)t.queues;
        u.map = (int32_t)t.count;
        u.tql = (int32_t)t.nbytes;
    }
    err = copyout(to, &u, sizeof(u));
    return err ? err : (long)t.highest;
}

static long msg_status(const struct ipc_caller *c, int id, unsigned command, vaddr_t to)
{
    struct msg_status s;
    long err;

    if (command == IPC_STAT)
        err = msg_stat(c, id, &s);
    else
        err = msg_stat_slot(c, (uint64_t)id, command == MSG_STAT_ANY, &s);
    if (!err) {
        const struct user_msg u = {.perm = perm_of(&s.ipc),
                                   .stime = s.stime_ns / NS_PER_SECOND,
                                   .rtime = s.rtime_ns / NS_PER_SECOND,
                                   .ctime = s.ipc.ctime_ns / NS_PER_SECOND,
                                   .nbytes = s.nbytes,
                                   .count = s.count,
                                   .limit = s.limit,
                                   .lspid = (int32_t)s.lspid,
                                   .lrpid = (int32_t)s.lrpid};

        err = copyout(to, &u, sizeof(u));
    }
    return err || command == IPC_STAT ? err : ipc_id(&s.ipc);
}

long sys_msgctl(uint64_t id_, uint64_t command_, uint64_t b)
{
    unsigned command = (unsigned)command_ & ~IPC_64;
    bool wide = ((unsigned)command_ & IPC_64) != 0;
    int id = (int)id_;
    struct ipc_caller c;
    struct user_msg u;

    who(&c);
    if ((int)command_ < 0 || id < 0)
        return -EINVAL;
    switch (command) {
    case IPC_RMID:
        return msg_remove(&c, id);
    case IPC_SET:
        if (!wide)
            return -EINVAL;
        if (copyin(&u, b, sizeof(u)) != 0)
            return -EFAULT;
        return msg_set(&c, id, u.perm.uid, u.perm.gid, u.perm.mode, u.limit);
    case IPC_STAT:
    case MSG_STAT:
    case MSG_STAT_ANY:
        return wide ? msg_status(&c, id, command, b) : -EINVAL;
    case IPC_INFO:
    case MSG_INFO:
        return msg_info(command, b);
    default:
        return -EINVAL;
    }
}
