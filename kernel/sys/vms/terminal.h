/* Channels to terminals and other files, for terminal.c and terminal_read.c. */
#ifndef KERNEL_SYS_VMS_TERMINAL_H
#define KERNEL_SYS_VMS_TERMINAL_H

#include "kernel/base/list.h"
#include "kernel/io/file.h"
#include "kernel/io/poll.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/vms/qio.h"

struct terminal_channel { /* nonpaged pool */
    struct qio_channel qio;
    struct file *file; /* with a reference; constant */
    struct list reads; /* requests that have not completed; terminal_lock */
    bool closed;       /* terminal_lock */
};

/* In nonpaged pool, charged to who has asked, also as one of its user's timers: many that expire at
 * the same moment delay those of everybody. */
struct terminal_request {
    struct event_request event;
    uint32_t refs;                /* atomic: the event's, and of timers that are on their way */
    uint16_t account;             /* constant */
    struct qio_channels *charged; /* with one request and a reference; constant */
    /* Of a read. */
    struct list link;         /* in the channel's list; terminal_lock */
    struct file *file;        /* with a reference, or NULL: it is over; terminal_lock */
    struct poll_entry polled; /* on the file's source as long as there is the file */
    bool cancelled;           /* terminal_lock */
    cond_t end;               /* then its status; terminal_lock until `cancelled` is seen */
    bool finishing;           /* a thread looks for input; terminal_lock */
    bool armed;               /* atomic: whoever takes it away posts the request */
    bool timed_out;           /* atomic */
    struct timer kick;        /* posts the request, for `polled`, which may not */
    struct timer limit;       /* ends a read with IO$M_TIMED */
    bool timed;               /* `limit` was started; constant */
    vaddr_t buffer;           /* constant */
    uint32_t length, got;     /* `got`: who is finishing */
};

/* A request that was begun. As event_request_begin, and SS$_EXQUOTA, SS$_INSFMEM. */
cond_t terminal_request_make(const struct vms_qio *q, struct terminal_request **out);
/* Give up a reference. Any IPL up to IPL_CLOCK, no spinlock of a rank above RANK_POOL. */
void terminal_request_unref(struct terminal_request *r);
/* Drop a request that was begun and is nobody else's. */
void terminal_request_drop(struct terminal_request *r);

/* Read, once the request's file and buffer are set. SS$_NORMAL; SS$_NOPRIV: the channel is closed.
   The request is not the caller's any more. */
cond_t terminal_read(struct terminal_channel *c, struct terminal_request *r, uint64_t seconds);
void terminal_cancel(struct qio_channel *q, enum qio_cancel why);

/* What a file that is used as a device is. */
struct terminal_facts {
    bool terminal, null;
    uint32_t unit;
    char name[16]; /* _FTA0: */
};
/* Its name, by the device number. */
void vms_terminal_name(uint32_t device, char *name, size_t size);
void vms_terminal_facts(const struct file *f, struct terminal_facts *t);

#endif
