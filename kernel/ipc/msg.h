/* System V message queues. IPL 0, no locks held; results are 0 or a negative errno unless said
 * otherwise. kernel/ipc/README.md describes the design. */
#ifndef KERNEL_IPC_MSG_H
#define KERNEL_IPC_MSG_H

#include "kernel/ipc/ipc.h"

/* A message that is in no queue belongs to the call that made or received it. */
struct ipc_msg;

#define MSG_MAX       8192u  /* bytes of a message: MSGMAX */
#define MSG_QUEUE_MAX 16384u /* bytes of a new queue, and messages of any: MSGMNB */

#define MSG_NOERROR 010000u
#define MSG_EXCEPT  020000u
#define MSG_COPY    040000u

/* A message with room for nbytes (at most MSG_MAX), charged to the current user. NULL. */
struct ipc_msg *msg_alloc(size_t nbytes);
void msg_free(struct ipc_msg *m);
void *msg_text(struct ipc_msg *m);
size_t msg_bytes(const struct ipc_msg *m);
int64_t msg_type(const struct ipc_msg *m);

struct msg_status {
    struct ipc_object ipc;
    int64_t stime_ns, rtime_ns; /* of the last message sent and received */
    uint64_t nbytes, count, limit;
    uint32_t lspid, lrpid;
};

struct msg_totals {
    uint32_t queues, highest; /* the highest slot in use */
    uint64_t count, nbytes;   /* of all messages */
};

/* msgget: errors as for ipc_get, and -ENOMEM. Returns the identifier. */
int msg_get(const struct ipc_caller *c, int32_t key, uint32_t flags);
/* msgsnd: on success the message is the queue's. -EINVAL, -EACCES, -EAGAIN, -ERESTARTNOHAND;
 * -EIDRM: removed meanwhile. May wait. */
int msg_send(const struct ipc_caller *c, int id, struct ipc_msg *m, int64_t type, bool wait);
/* msgrcv: *out is the caller's. -EINVAL, -EACCES, -E2BIG: it has more than `max` bytes; -ENOMSG,
 * -ERESTARTNOHAND, -EIDRM. May wait. */
int msg_receive(const struct ipc_caller *c, int id, size_t max, int64_t type, uint32_t flags,
                struct ipc_msg **out);
/* msgrcv with MSG_COPY: a copy, for the caller, of the message with this number, counted from the
 * oldest. It stays, and nothing is noted of the call. -ENOMSG: there are fewer; -ENOMEM; -EINVAL,
 * -EACCES, -E2BIG, -EIDRM. */
int msg_copy(const struct ipc_caller *c, int id, size_t max, int64_t number, uint32_t flags,
             struct ipc_msg **out);

/* IPC_STAT; or by the number of a slot, which needs no permission with `any`. -EINVAL, -EACCES. */
int msg_stat(const struct ipc_caller *c, int id, struct msg_status *s);
int msg_stat_slot(const struct ipc_caller *c, uint64_t slot, bool any, struct msg_status *s);
uint32_t msg_next(uint32_t from); /* the first used slot from `from` on, or IPC_SLOTS */
/* IPC_SET; -EPERM also for a limit above MSG_QUEUE_MAX, but by user 0. */
int msg_set(const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid, uint32_t mode,
            uint64_t limit);
int msg_remove(const struct ipc_caller *c, int id);
void msg_totals(struct msg_totals *t);

/* Boot: register the queues in the census of pool. */
void msg_boot(void);

#endif
