/*
 * Channels of processes to devices, and requests for input and output by them (README.md).
 *
 * A process that assigns a channel has a struct qio_channels. Unless a function says otherwise, its
 * caller is a thread of that process at IPL 0 without locks. Results are condition values.
 */
#ifndef KERNEL_QIO_QIO_H
#define KERNEL_QIO_QIO_H

#include "kernel/base/cond.h"
#include "kernel/event/event.h"

struct qio_channel;
struct qio_channels;

/* Which mailbox: its unit, 0 for none, and which of all that have had this unit. */
struct mailbox_number {
    uint32_t unit;
    uint64_t serial;
};

#define QIO_CHANNELS     255u /* channels of a process */
#define QIO_CHANNEL_STEP 16u  /* the n-th channel has the number n * 16, from 1 on, as on OpenVMS */

/* Why requests are cancelled. */
enum qio_cancel {
    QIO_CANCEL,  /* $CANCEL */
    QIO_CLOSE,   /* $DASSGN: nothing begins afterwards, and who calls it may wait for the end */
    QIO_ABANDON, /* the same as the program ends: nobody is told, and nothing is waited for */
};

/* What a kind of device does with its channels. */
struct qio_device {
    /* End what was asked for by the channel and has not completed, with SS$_CANCEL; a terminal's
     * read that is in progress with SS$_ABORT. */
    void (*cancel)(struct qio_channel *c, enum qio_cancel why);
    /* The channel is closed: the device is used by one less. Followed by `free`. */
    void (*deassign)(struct qio_channel *c);
    /* Free the channel, which nobody refers to any more. */
    void (*free)(struct qio_channel *c);
};

/* A channel, the first member of a structure of the device, in nonpaged pool. */
struct qio_channel {
    const struct qio_device *device; /* constant */
    uint32_t refs;                   /* atomic: the table's, and of calls in progress */
    bool readable, writable;         /* what it was assigned for; constant */
    uint16_t account;                /* charged for it; constant */
};

/* ---- the channels of a process (channel.c) ---- */

/* What a process may have outstanding; 0: as the system parameters PQL_DBIOLM, PQL_DBYTLM say. */
struct qio_limits {
    uint32_t requests, bytes; /* BIOLM, BYTLM */
};

/* A new table with one reference, charged to the account of that number. NULL: no memory. */
struct qio_channels *qio_channels_create(uint16_t account, const struct qio_limits *limits);
/* References. Any IPL up to IPL_CLOCK, spinlocks of ranks below RANK_POOL. */
void qio_channels_ref(struct qio_channels *t);
void qio_channels_unref(struct qio_channels *t);

/* Enter c with its one reference, as the lowest number that is free. SS$_NORMAL; SS$_NOIOCHAN: all
 * are in use, and the caller still has c. */
cond_t qio_channel_enter(struct qio_channels *t, struct qio_channel *c, uint32_t *number);
/* A channel with a reference, NULL: none has that number. */
struct qio_channel *qio_channel_get(struct qio_channels *t, uint32_t number);
void qio_channel_unref(struct qio_channel *c);
/* What a service returns for a number that no channel has: SS$_IVCHAN, if none can have it;
 * SS$_NOPRIV, if there is no channel now, as on OpenVMS, where an inner mode may have it. */
cond_t qio_no_channel(uint32_t number);
/* $DASSGN: SS$_NORMAL, or as qio_no_channel. why: QIO_CLOSE or QIO_ABANDON. */
cond_t qio_channel_deassign(struct qio_channels *t, uint32_t number, enum qio_cancel why);
/* The same for a channel that was not entered. */
void qio_channel_drop(struct qio_channel *c, enum qio_cancel why);

/* ---- quotas of a process ---- */

/* Charge one request, or bytes of buffers, at most so many as the process may have. Any IPL. */
bool qio_charge_request(struct qio_channels *t);
void qio_release_request(struct qio_channels *t);
bool qio_charge_bytes(struct qio_channels *t, uint64_t nbytes);
void qio_release_bytes(struct qio_channels *t, uint64_t nbytes);
/* The limits in force, and what is left of them; t may be NULL, for a process that is to get these
 * limits. Any IPL. */
struct qio_counts {
    struct qio_limits limit, left;
};
void qio_counts(const struct qio_channels *t, const struct qio_limits *limits,
                struct qio_counts *c);

/* ---- status blocks ---- */

/* The quadword of a status block: condition value, bytes, and the second longword. */
static inline uint64_t qio_status(cond_t status, uint32_t nbytes, uint32_t second)
{
    return (cond_value(status) & 0xFFFF) | (uint64_t)(nbytes & 0xFFFF) << 16 |
           (uint64_t)second << 32;
}

/* The arguments of $QIO on completion. */
struct qio_completion {
    struct event_owner *owner;
    uint32_t efn;
    vaddr_t iosb, astadr;
    uint64_t astprm;
};

#endif
