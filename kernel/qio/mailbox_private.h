/* The structures of mailboxes, for the files of mailboxes. */
#ifndef KERNEL_QIO_MAILBOX_PRIVATE_H
#define KERNEL_QIO_MAILBOX_PRIVATE_H

#include "kernel/base/list.h"
#include "kernel/io/poll.h"
#include "kernel/qio/mailbox.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

#define MAILBOX_MESSAGES 16384u /* in one mailbox */
#define MAILBOX_KEPT     4096u  /* requests that one call completes for others, on each side */
#define MAILBOX_WANTED   4096u  /* requests for an AST when there is room */

/* The two sides of a mailbox: channels that read, channels that write. */
enum { READERS, WRITERS, SIDES };

/* In nonpaged pool, charged to its maker. `lock` is RANK_MAILBOX, IPL_ASTDEL. */
struct mailbox {
    struct spinlock lock;
    uint32_t refs;                  /* atomic: the directory's, of channels, messages, calls */
    uint32_t unit;                  /* constant */
    uint64_t serial;                /* of all mailboxes, from 1 on; constant */
    uint32_t maxmsg, bufquo;        /* constant */
    uint32_t uic_group, uic_member; /* of the maker; constant */
    uint32_t protection;            /* atomic */
    bool permanent;                 /* directory mutex */
    uint32_t nchannels;             /* directory mutex */
    bool gone;                      /* it has left the directory; lock */
    bool system;                    /* it was made as a permanent one; constant */
    uint16_t account;               /* constant */
    uint32_t name_length;           /* of its logical name; atomic: set once, after the name */
    char name[MAILBOX_NAME_MAX];
    struct qio_channels *charged; /* with bufquo bytes, or NULL; with a reference; constant */
    uint32_t used;           /* atomic: bytes of messages, those included that are being read */
    struct wait_queue room;  /* writers that wait for it */
    struct wait_queue lines; /* threads that wait for a message in mailbox_receive() */
    /* Who polls descriptors. Their files have channels, so there is nobody once it is gone. */
    struct poll_source polled;
    /* All below: lock. */
    uint32_t users[SIDES];        /* channels of each side */
    uint32_t nkept[SIDES];        /* requests on the three lists of a side below, together */
    struct list messages;         /* that nobody has read */
    uint32_t nmessages, nbytes;   /* of those */
    struct list reads;            /* requests that wait for a message */
    uint32_t nlines;              /* threads that are or will be on `lines` */
    struct list attention[SIDES]; /* requests for an AST when a read or a message comes */
    struct list waits[SIDES];     /* requests that wait for a channel of that side */
    struct list watched[SIDES];   /* requests that end with the last channel of that side */
    uint64_t order;               /* number of the request that was queued last */
    /* Requests for an AST when there is room (mailbox_room.c). */
    struct spinlock room_lock; /* RANK_ROOM, IPL_CLOCK: room comes in any context */
    struct list wanted;        /* those requests; room_lock */
    uint32_t nwanted;          /* atomic; changed under room_lock */
    uint64_t want_order;       /* number of the one that came last; room_lock */
    uint64_t want_until;       /* number of the last one for which room has come; room_lock */
    bool telling;              /* `tell` is pending or runs, with a reference; room_lock */
    struct timer tell;         /* posts them */
};

struct mailbox_message { /* nonpaged pool, charged to the mailbox's maker */
    struct list link;    /* in mailbox.messages, lock; or in io_request.taken */
    struct mailbox *box; /* with a reference; constant */
    uint32_t refs;       /* atomic: the queue's or a reader's, and of one who has read a part */
    uint32_t start;      /* the first byte that nobody has read; lock while it is queued */
    uint32_t length;     /* constant */
    uint32_t pid;        /* of the sender; constant */
    bool eof;            /* a mark; constant */
    struct io_request *writer; /* waits until it is read, or NULL; lock */
    char bytes[];
};

struct io_request { /* nonpaged pool, charged to who has asked */
    struct event_request event;
    struct list queue, own, watch;   /* of the mailbox, the channel, mailbox.watched; lock */
    struct qio_channels *charged;    /* with one request, or NULL; with a reference; constant */
    uint16_t account;                /* constant */
    uint32_t pid;                    /* of who has asked; constant */
    uint64_t order;                  /* lock */
    uint8_t kept;                    /* 1 + the side in whose nkept it counts, or 0; lock */
    struct mailbox_message *message; /* that it has written, while nobody has read it; lock */
    /* A read: where to, and what it has got, which the thread that completes it copies. */
    bool stream;
    vaddr_t buffer;
    uint32_t length, got;
    uint32_t copied;              /* of `got`, by the thread that completes it */
    bool lost;                    /* the reader's memory was gone; likewise */
    uint64_t answer;              /* quadword for the status block */
    struct list taken;            /* messages, wholly its own */
    struct mailbox_message *last; /* NULL, or one of which it has a part; with a reference */
    uint32_t last_start, last_count;
};

struct mailbox_channel {
    struct qio_channel qio; /* first */
    struct mailbox *box;    /* with a reference; constant */
    /* The mailbox's lock: its requests, in the order in which they came; those for attention. */
    struct list own, notices[SIDES];
    bool closed;        /* likewise */
    struct list wanted; /* requests for an AST when there is room; mailbox.room_lock */
    bool no_room;       /* it takes no more of them; mailbox.room_lock */
};

static inline struct mailbox_channel *mailbox_channel_of(struct qio_channel *c)
{
    return container_of(c, struct mailbox_channel, qio);
}

/* Unless it says otherwise: IPL up to IPL_ASTDEL, locks below RANK_MAILBOX. _locked: the mailbox's
 * lock is held. */

/* ---- mailbox_message.c ---- */

size_t mailbox_message_size(const struct mailbox_message *m);
/* What a message takes of the buffer quota: those without bytes are counted too, and where the
 * quota is large so many of them fill it as one call may have to drop (mailbox_purge). */
static inline uint32_t mailbox_message_cost(const struct mailbox *b, uint32_t length)
{
    uint32_t least = 1 + b->bufquo / MAILBOX_MESSAGES;

    return length > least ? length : least;
}
/* Bytes that nobody has read. The lock is held if m is queued. */
static inline uint32_t mailbox_message_rest(const struct mailbox_message *m)
{
    return m->length - m->start;
}
/* Is there room for the shortest message? */
bool mailbox_has_room(const struct mailbox *b);
/* Take room for n bytes. False: there is not so much. */
bool mailbox_take_room(struct mailbox *b, uint32_t n);
/* The same, waiting for it, at IPL 0. SS$_NORMAL; SS$_MBFULL (norswait); SS$_NOPRIV: c is closed;
 * *interrupted. */
cond_t mailbox_wait_for_room(struct mailbox_channel *c, uint32_t n, bool norswait,
                             bool *interrupted);
/* A message, for which room was taken. NULL: no memory, and the room is given back. */
struct mailbox_message *mailbox_message_make(struct mailbox *b, uint32_t length, uint32_t pid);
/* Any IPL up to IPL_CLOCK, locks below RANK_ROOM. */
void mailbox_message_unref(struct mailbox_message *m);
/* NULL: there is none. */
struct mailbox_message *mailbox_first_locked(const struct mailbox *b);
/* Take m off the queue; its reference is the caller's. */
void mailbox_unqueue_locked(struct mailbox *b, struct mailbox_message *m);
/* Drop the messages of a mailbox that is gone. */
void mailbox_purge(struct mailbox *b);

/* ---- mailbox_room.c ---- */

void mailbox_room_init(struct mailbox *b);
/* Room has been given back: tell who has asked for that. Any IPL up to IPL_CLOCK, locks below
 * RANK_ROOM. */
void mailbox_room_came(struct mailbox *b);
/* Ask for one AST by the request a, made as a notice: when a message has been taken, or at once if
 * there is none and none is being read. SS$_NORMAL; SS$_NOPRIV: c is closed; SS$_EXQUOTA. */
cond_t mailbox_want_room(struct mailbox_channel *c, struct io_request *a);
/* Take the channel's requests for that back, and (closes) take no more of them. */
void mailbox_want_no_room(struct mailbox_channel *c, bool closes);

/* ---- mailbox_request.c ---- */

/* A request that is on no queue, and what to do when it is posted is the caller's to set. notice:
 * it is charged as an AST only. SS$_NORMAL, SS$_EXQUOTA, SS$_INSFMEM, SS$_EXASTLM, SS$_ILLEFC,
 * SS$_UNASEFC. */
cond_t mailbox_request_make(const struct mailbox_who *who, const struct qio_completion *done,
                            bool notice, struct io_request **out);
/* Drop a request that is on no queue. */
void mailbox_request_drop(struct io_request *r);
/* Queue r, as one of a channel's. */
void mailbox_queue_locked(struct mailbox *b, struct list *queue, struct list *own,
                          struct io_request *r);
/* Put r on a list of that side from which another process's call may take all. False: they are as
 * many as one call may complete, in all such lists of the side. */
bool mailbox_keep_locked(struct mailbox *b, unsigned side, struct list *list, struct list *link,
                         struct io_request *r);
/* The same for a request that is on no other queue. */
bool mailbox_queue_kept_locked(struct mailbox *b, unsigned side, struct list *queue,
                               struct list *own, struct io_request *r);
/* Take r off all lists. */
void mailbox_detach_locked(struct mailbox *b, struct io_request *r);
/* Complete all requests of a queue that were on it when b->order was `until`, one in a hold. The
 * order is read in the hold in which the news is seen: whoever asks later looks for himself, and
 * may find that what is told here has been and gone. */
void mailbox_post_all(struct mailbox *b, struct list *queue, uint64_t until, uint64_t answer);
/* End the requests that are on a channel's list now, one in a hold. drop: they complete with
 * nothing, because they are for attention. */
void mailbox_end_own(struct mailbox *b, struct list *own, bool drop);
/* End what a channel has asked for, and (close) let it begin nothing any more. */
void mailbox_cancel(struct qio_channel *c, enum qio_cancel why);
/* There is no channel of this side any more: complete who waits for that. */
void mailbox_side_ended(struct mailbox *b, unsigned side);

/* ---- mailbox_read.c ---- */

/* Bring messages and waiting reads together. */
void mailbox_deliver(struct mailbox *b);

#endif
