/*
 * The client side of 9P2000.L over a virtio queue: requests, their answers, and what happens to
 * those that nobody waits for any more. calls.h has a function for each kind of request.
 *
 * A request (struct ninep_call) is a block of nonpaged pool with the message, room for the answer,
 * and the pages of data that are read or written directly. While the device has it, it belongs to
 * the client's thread, whoever made it: a thread that is killed, or has waited for too long, leaves
 * it behind, and the answer, when it comes, frees it. So no memory that the device may still write
 * is ever used for anything else.
 *
 * Each request has the number of its ring entry as tag. So a tag is used again only when the device
 * has given the entry back, which it also does with a request that was flushed.
 */
#ifndef KERNEL_FS_NINEP_CLIENT_H
#define KERNEL_FS_NINEP_CLIENT_H

#include "kernel/drivers/virtio/virtio.h"
#include "kernel/fs/ninep/message.h"
#include "kernel/sched/wait.h"

struct validate;
struct census;

#define NINEP_CALL_PAGES 16u /* of data in one request */
#define NINEP_FIDS       65536u
#define NINEP_PATIENCE_S 30u /* the server is given up after that */

struct ninep_client;

struct ninep_call {
    struct ninep_client *client;       /* constant */
    struct list all;                   /* in client.calls; client.lock */
    struct list waiting;               /* in client.waiting, while the ring has no room; likewise */
    struct wait_queue queue;           /* who waits for the answer */
    void (*done)(struct ninep_call *); /* called by the client's thread, with `err`; NULL: a thread
                                          waits; constant */
    uint64_t made_ns;                  /* constant */
    struct ninep_message m;            /* the request while it is built, then its answer */
    int32_t tag;                       /* -1: not with the device; client.lock */
    int err;                           /* set before `finished`, or if it cannot be sent */
    bool finished;                     /* answered, or given up; client.lock */
    bool returned;                     /* the device has given it back; client.lock */
    bool left;                         /* nobody waits; client.lock */
    bool reads;                        /* the data is read; constant */
    uint8_t type;                      /* enum ninep_type; constant */
    uint32_t fid;                      /* that a success makes valid, to be clunked if nobody waits;
                                          NINEP_NO_FID: none */
    uint32_t room, nbytes;             /* for the answer; of the block; constant */
    uint32_t data;                     /* bytes of data */
    uint32_t npages;                   /* of `page`, each with a reference that the call owns */
    uint32_t within;                   /* where the data begins in the first page */
    pfn_t page[NINEP_CALL_PAGES];
    void *arg;                                         /* of `done` */
    uint64_t number;                                   /* likewise */
    uint32_t version;                                  /* likewise */
    struct virtio_segment table[2 + NINEP_CALL_PAGES]; /* read by the device */
    uint8_t *answer;                                   /* room for the answer */
    uint8_t buf[];                                     /* the request, then the answer */
};

struct ninep_client {
    struct virtio_device device;
    struct virtio_queue ring; /* lock */
    struct spinlock lock;     /* RANK_SHARE */
    struct list calls;        /* all that exist */
    struct list waiting;      /* those that the ring had no room for, oldest first */
    struct wait_queue work;   /* of the client's thread */
    uint32_t refused;         /* answers that were none; lock */
    bool interrupted;         /* atomic: an interrupt came since the thread looked last */
    uint64_t silent_ns; /* atomic: when the server was given up, or last tried; 0: it answers */
    uint32_t most;      /* bytes of a message; constant */
    /* Fids in use, a bit each, and those among them to be clunked; how many hold each; atomic. */
    uint64_t used[NINEP_FIDS / 64], dead[NINEP_FIDS / 64];
    uint32_t holders[NINEP_FIDS];
    /* Words of `dead` to be looked at, a bit each; atomic. */
    uint64_t dead_words[NINEP_FIDS / 4096];
    bool any_dead;     /* of these; atomic */
    uint32_t next_fid; /* where the search for one begins; atomic */
    /* Called by the client's thread when woken by ninep_client_wake(), and when the time is over,
     * in ns, that it returned the last time; at first a second. Constant. */
    uint64_t (*idle)(void *arg);
    void *arg;
    bool called; /* atomic: ninep_client_wake was called */
};

/* Find the device with this tag and start the client. 0, -ENODEV, -ENOMEM or another negative
 * errno. Boot. */
int ninep_client_boot(struct ninep_client *c, const char *tag, uint64_t (*idle)(void *arg),
                      void *arg);
/* Have the client's thread call `idle`. IPL up to IPL_ASTDEL. */
void ninep_client_wake(struct ninep_client *c);

/* A new request, with `room` bytes for the message and as many for the answer as `answer` says.
 * NULL: no memory. The caller builds it in ->m, and passes it to ninep_wait or ninep_send. IPL up
 * to IPL_ASTDEL. */
struct ninep_call *ninep_call_new(struct ninep_client *c, enum ninep_type type, size_t room,
                                  size_t answer);
/* Free a request that was not sent, or whose answer the caller has waited for. */
void ninep_call_free(struct ninep_call *call);
/* Send it and wait for the answer: 0, and ->m is at its contents; the caller frees it. Or a
 * negative errno, and it is gone: -EINTR: the thread is to end; -EIO: no answer; or what the server
 * says. IPL 0, no spinlock. */
int ninep_wait(struct ninep_call *call);
/* Send it: call->done, which the caller has set, is called later, once, by the client's thread at
 * IPL 0, and the call is freed afterwards. IPL up to IPL_ASTDEL, no spinlock of RANK_SHARE or
 * above. */
void ninep_send(struct ninep_call *call);

/* A fid for a new use; NINEP_NO_FID: there are NINEP_FIDS. Any IPL. */
uint32_t ninep_fid_new(struct ninep_client *c);
/* The server does not know it (any more). */
void ninep_fid_free(struct ninep_client *c, uint32_t fid);
/* It is used no longer, and the server is to forget it. NINEP_NO_FID: nothing happens. IPL up to
 * IPL_ASTDEL. */
void ninep_fid_drop(struct ninep_client *c, uint32_t fid);

/* The fid that *at, which may change meanwhile, has now: it is not clunked, and so stands for no
 * other file, until it is released. Any IPL. */
uint32_t ninep_fid_hold(struct ninep_client *c, const uint32_t *at);
/* IPL up to IPL_ASTDEL. */
void ninep_fid_release(struct ninep_client *c, uint32_t fid);

/* The self-check and the census, while nothing else runs. */
void ninep_client_validate(struct validate *v, const struct ninep_client *c);
void ninep_client_census(struct census *n, const struct ninep_client *c);

#endif
