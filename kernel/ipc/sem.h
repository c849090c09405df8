/* Sets of System V semaphores. IPL 0, no locks held; results are 0 or a negative errno unless said
 * otherwise. kernel/ipc/README.md describes the design. */
#ifndef KERNEL_IPC_SEM_H
#define KERNEL_IPC_SEM_H

#include "kernel/base/list.h"
#include "kernel/ipc/ipc.h"

#define SEM_SET_MAX   32000u /* semaphores of a set: SEMMSL */
#define SEM_OPS_MAX   500u   /* operations of a call: SEMOPM */
#define SEM_VALUE_MAX 32767  /* SEMVMX, and the bound of an adjustment, SEMAEM */

#define SEM_SETS_TOTAL (IPC_SLOTS * SEM_SET_MAX) /* semaphores that all sets can have: SEMMNS */

#define SEM_UNDO 0x1000

struct sem_op { /* as the user has it */
    uint16_t number;
    int16_t change;
    int16_t flags; /* IPC_NOWAIT, SEM_UNDO */
};

/* What a process has to undo at its end: a list of struct sem_undo. */
struct sem_undos {
    struct list list; /* table's lock */
    bool used;        /* there were any; its own threads */
};
static inline void sem_undos_init(struct sem_undos *u)
{
    list_init(&u->list);
    u->used = false;
}

struct sem_status {
    struct ipc_object ipc;
    int64_t otime_ns;
    uint32_t nsems;
};

struct sem_totals {
    uint32_t count, highest; /* sets; the highest slot in use */
    uint64_t semaphores;     /* of all sets */
};

/* semget: errors as for ipc_get, and -EINVAL: bad number of semaphores, or more than the set has;
 * -ENOMEM. Returns the identifier. */
int sem_get(const struct ipc_caller *c, int32_t key, int nsems, uint32_t flags);
/* semop and semtimedop: all n operations (1 to SEM_OPS_MAX), or none. deadline_ns of clock_ns().
 * -EINVAL, -EACCES, -EFBIG: there is no such semaphore; -ERANGE; -ENOMEM, -EAGAIN, -EINTR; -EIDRM:
 * removed meanwhile. May wait. */
int sem_operate(const struct ipc_caller *c, struct sem_undos *undos, int id,
                const struct sem_op *ops, unsigned n, uint64_t deadline_ns);
/* The current process, which has these undos and one thread, ends. */
void sem_end(struct sem_undos *undos);

/* IPC_STAT; or by the number of a slot, which needs no permission with `any`. -EINVAL, -EACCES. */
int sem_stat(const struct ipc_caller *c, int id, struct sem_status *s);
int sem_stat_slot(const struct ipc_caller *c, uint64_t slot, bool any, struct sem_status *s);
uint32_t sem_next(uint32_t from); /* the first used slot from `from` on, or IPC_SLOTS */
int sem_set(const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid, uint32_t mode);
int sem_remove(const struct ipc_caller *c, int id);
void sem_totals(struct sem_totals *t);

/* GETVAL, GETPID, GETNCNT, GETZCNT of a semaphore: not negative. -EINVAL, -EACCES. */
enum sem_query { SEM_VALUE, SEM_PID, SEM_INCREASE_WAITERS, SEM_ZERO_WAITERS };
int sem_query(const struct ipc_caller *c, int id, int number, enum sem_query what);
/* SETVAL. -EINVAL, -EACCES, -ERANGE. */
int sem_set_value(const struct ipc_caller *c, int id, int number, int value);
/* GETALL and SETALL: the values of all n semaphores. -EINVAL: the set has another number of them;
 * -EACCES, -ERANGE. */
int sem_get_all(const struct ipc_caller *c, int id, uint16_t *values, uint32_t n);
int sem_set_all(const struct ipc_caller *c, int id, const uint16_t *values, uint32_t n);

/* Boot: register the sets in the census of pool. */
void sem_boot(void);

#endif
