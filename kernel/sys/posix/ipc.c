/*
 * Calls on System V IPC: arguments and structures of Linux/Alpha. The objects are in kernel/ipc.
 *
 * The C library asks for the structures of 64 bits by IPC_64 in the command. The older structures,
 * of 16-bit ids, are refused.
 */
#include "kernel/sys/posix/ipc.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/ipc/shm.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"

#define IPC_RMID     0
#define IPC_SET      1
#define IPC_STAT     2
#define IPC_INFO     3
#define SHM_LOCK     11
#define SHM_UNLOCK   12
#define SHM_STAT     13
#define SHM_INFO     14
#define SHM_STAT_ANY 15
#define IPC_64       0x100u

#define NS_PER_SECOND 1000000000

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
        *c = (struct ipc_caller){{process_euid(p), process_egid(p), &p->groups}, p->pid};
}

void posix_ipc_boot(void) { ipc_who = who; }

/* ---- shared memory ---- */

long sys_shmget(uint64_t key, uint64_t n, uint64_t flags)
{
    struct ipc_caller c;

    who(&c);
    return shm_get(&c, (int32_t)key, n, (uint32_t)flags);
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
