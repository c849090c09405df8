/*
 * Cycles of sockets: a socket whose file travels in messages only can be reached only if one of the
 * messages is in the queue of a socket that can be reached. This is the pure part, which also
 * builds for the host: it knows flyers, sockets that are in messages, and carriers, messages that
 * hold them.
 */
#ifndef KERNEL_NET_CYCLES_H
#define KERNEL_NET_CYCLES_H

#include "kernel/base/list.h"

/* A socket whose file is in messages. */
struct flyer {
    struct list link;     /* all flyers, or itself */
    struct list work;     /* for the search */
    struct list carriers; /* carrier.link: those in this socket's queue */
    uint64_t flights;     /* how often its file is in a message */
    uint64_t references;  /* to its file; set before a search */
    uint64_t inner;       /* for the search: flights in queues of sockets that only fly */
    bool lost;            /* result: it cannot be reached */
};

/* A message that holds files. */
struct carrier {
    struct list link;
    uint32_t n;
    struct flyer **flyer; /* of each file; NULL: it is no socket */
};

/* Find the flyers on the list `all` that cannot be reached, and set `lost` of each. Returns how
 * many. Takes a number of steps proportional to the number of flyers and files in messages. */
unsigned cycles_find(struct list *all);

#endif
