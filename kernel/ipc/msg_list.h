/*
 * The messages of a System V queue, in two search trees: by age, where the n-th one is found by its
 * number, and by type and age, where each node knows the oldest message of its subtree. So whatever
 * a receiver asks for is found in logarithmic time, with any number of messages of any types.
 *
 * Callers do the locking, here by the queue's mutex; nothing allocates or fails.
 */
#ifndef KERNEL_IPC_MSG_LIST_H
#define KERNEL_IPC_MSG_LIST_H

#include "kernel/base/treap.h"

struct ipc_msg { /* nonpaged pool, charged to the sender */
    struct treap_node by_age;
    struct treap_node by_type;    /* then by age */
    const struct ipc_msg *oldest; /* of its subtree by type */
    uint64_t age;                 /* ascends; not used again in its list */
    int64_t type;                 /* constant while it is in a list */
    uint32_t nbytes;
    uint16_t account;
    uint8_t text[];
};

struct msg_list { /* all 0: empty */
    struct treap by_age, by_type;
    uint64_t next_age;
};

/* Put m, whose type is set, at the end; take it out. */
void msg_list_enter(struct msg_list *l, struct ipc_msg *m);
void msg_list_take_out(struct msg_list *l, struct ipc_msg *m);
/* The oldest message: of all, of a type, of all other types; the oldest of the lowest type; the one
 * with that number, the oldest being 0. NULL: there is none. */
struct ipc_msg *msg_list_first(const struct msg_list *l);
struct ipc_msg *msg_list_of_type(const struct msg_list *l, int64_t type);
struct ipc_msg *msg_list_but_type(const struct msg_list *l, int64_t type);
struct ipc_msg *msg_list_of_lowest(const struct msg_list *l);
struct ipc_msg *msg_list_nth(const struct msg_list *l, uint64_t number);
/* Is the message of that type and age in the list? */
bool msg_list_has(const struct msg_list *l, int64_t type, uint64_t age);
/* The one that came after m; NULL: m is the last. */
struct ipc_msg *msg_list_next(const struct ipc_msg *m);

#endif
