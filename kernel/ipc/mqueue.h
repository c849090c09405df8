/* Message queues of POSIX. All functions: IPL 0, no lock held; results are 0 or a negative
 * errno. */
#ifndef KERNEL_IPC_MQUEUE_H
#define KERNEL_IPC_MQUEUE_H

#include "kernel/io/file.h"

/* The limits of /proc/sys/fs/mqueue, for all but user 0, and what user 0 may have at most. */
#define MQ_QUEUES_MAX    256u
#define MQ_MSG_MAX       10u
#define MQ_MSGSIZE_MAX   8192u
#define MQ_MSG_LIMIT     65536u
#define MQ_MSGSIZE_LIMIT 16777216u
#define MQ_PRIO_MAX      32768u

struct mqueue_message;
struct mqueue_size {
    uint64_t messages, nbytes; /* that a queue holds; of one message */
};

/* A process that wants to know of the next message in an empty queue. */
struct mqueue_notice {
    uint32_t pid; /* 0: none */
    uint64_t start_ns;
    int32_t signo; /* 0: nobody is told, but nobody else can ask either */
    uint64_t value;
};

/* Tell n's process that the current one has sent a message. Set at boot. */
extern void (*mqueue_tell)(const struct mqueue_notice *n);
/* Does n's process exist? Likewise. */
extern bool (*mqueue_lives)(const struct mqueue_notice *n);

/* Open the queue with this name, of len bytes, as `flags` say (O_*); one that is made has the mode
 * and size. root: its limits do not bind the caller. bytes_most: of all queues of the user. *out:
 * the file with one reference. -ENOENT, -EEXIST, -EACCES; -EINVAL: a size; -ENOSPC: too many
 * queues; -EMFILE: too many bytes; -ENFILE, -ENOMEM. */
int mqueue_open(const char *name, size_t len, const struct io_cred *cred, bool root, uint32_t flags,
                uint32_t mode, const struct mqueue_size *size, uint64_t bytes_most,
                struct file **out);
/* Remove the name. -ENOENT; -EACCES: neither the owner's nor root. */
int mqueue_unlink(const char *name, size_t len, const struct io_cred *cred);
bool mqueue_is(const struct file *f);
void mqueue_status(const struct file *f, struct mqueue_size *size, uint64_t *count);

/* A message without contents, charged to the current user; NULL: no memory, or the user's limit. */
struct mqueue_message *mqueue_message_new(size_t nbytes, uint32_t priority);
void mqueue_message_free(struct mqueue_message *m);
void *mqueue_message_text(struct mqueue_message *m);
size_t mqueue_message_bytes(const struct mqueue_message *m);
uint32_t mqueue_message_priority(const struct mqueue_message *m);

/* Send m, waiting for room until `deadline` (clock_ns), unless f is not to block. 0: m is not the
 * caller's any more; -EAGAIN, -ETIMEDOUT, -ERESTARTSYS. */
int mqueue_send(struct file *f, struct mqueue_message *m, uint64_t deadline);
/* The oldest message of the highest priority. Otherwise as above. */
int mqueue_receive(struct file *f, uint64_t deadline, struct mqueue_message **out);
/* Have n told of; n->pid 0: the process `pid` does not want to be told any more. -EBUSY: another
 * one does. */
int mqueue_ask(struct file *f, const struct mqueue_notice *n, uint32_t pid);
void mqueue_boot(void);

#endif
