/*
 * Buffer objects and fandles of a process: what Fast I/O of OpenVMS saves is probing and pinning
 * memory, and checking arguments, for each request. A buffer object is a set of pinned pages
 * (mm/space/pin_set.h), a fandle one function with two of them: for data, and for status areas. The
 * requests themselves are the device's (kernel/sys/vms/fast_io.c); a fandle keeps those that have
 * ended, to be used again.
 *
 * Unless a function says otherwise, its caller is a thread of the process at IPL 0 without
 * spinlocks. Results are condition values.
 */
#ifndef KERNEL_QIO_FAST_H
#define KERNEL_QIO_FAST_H

#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "mm/space/pin_set.h"

struct qio_fast; /* of a process */
struct qio_fandle;

#define QIO_BUFFERS 256u /* buffer objects of a process */
#define QIO_FANDLES 256u

/* A request of a fandle, part of a structure of the device's. */
struct qio_fast_request {
    struct list spare; /* in fandle's list; table's lock */
    struct qio_fast *fast;
    struct qio_fandle *fandle; /* constant, as is the next */
    /* Free it: it has ended, and is on no list. Own threads, IPL 0. */
    void (*free)(struct qio_fast_request *r);
};

/* What $IO_SETUP was asked for. */
struct qio_setup {
    uint32_t function, modifiers; /* IO$_... */
    uint64_t data, iosa;          /* handles of buffer objects */
    vaddr_t astadr;
};

struct qio_fandle { /* nonpaged pool; constant but for `busy` and `spare` */
    struct qio_setup setup;
    struct pin_set *data, *iosa; /* with references */
    uint64_t number;
    uint32_t busy;     /* calls of $IO_PERFORM and requests that have not ended; table's lock */
    struct list spare; /* table's lock */
    uint16_t account;
};

/* A table without entries, charged to the account of that number. NULL: no memory. */
struct qio_fast *qio_fast_create(uint16_t account);
/* The program has ended, its channels are closed and its events run down: free all. */
void qio_fast_free(struct qio_fast *t);

/* Enter a set, with its reference, as a buffer object. SS$_NORMAL; SS$_EXBUFOBJLM: there are
 * QIO_BUFFERS, and the caller has the set. */
cond_t qio_buffer_enter(struct qio_fast *t, struct pin_set *s, uint64_t *handle);
/* Delete a buffer object. Its pages stay pinned until the last fandle that uses it goes.
 * SS$_NORMAL; SS$_ILLBUFOBJ: there is none with that handle. */
cond_t qio_buffer_delete(struct qio_fast *t, uint64_t handle);

/* Make a fandle, and its number. SS$_NORMAL; SS$_ILLBUFOBJ; SS$_EXQUOTA: there are QIO_FANDLES;
 * SS$_INSFMEM. */
cond_t qio_fandle_create(struct qio_fast *t, const struct qio_setup *s, uint64_t *number);
/* SS$_NORMAL; SS$_BADFANDLE: there is none; SS$_FANDLEBUSY: it has requests that have not ended, or
 * whose AST was not delivered. */
cond_t qio_fandle_delete(struct qio_fast *t, uint64_t number);

/* Begin a request: the fandle, busy from now on, and in *r one that it has kept, or NULL. NULL:
 * there is no such fandle. */
struct qio_fandle *qio_fast_begin(struct qio_fast *t, uint64_t number, struct qio_fast_request **r);
/* A request of f has ended, or was not begun: keep r, unless it is NULL. Any IPL up to IPL_DEVICE,
 * spinlocks of ranks below RANK_FAST. */
void qio_fast_end(struct qio_fast *t, struct qio_fandle *f, struct qio_fast_request *r);
/* The same for one that has ended, and the program is told by its status area: first *nbytes, then
 * *status become what is given. Who sees the status can give the fandle up; then r is gone. */
void qio_fast_end_telling(struct qio_fast *t, struct qio_fandle *f, struct qio_fast_request *r,
                          uint64_t *nbytes, uint64_t count, uint64_t *status, uint64_t value);

#endif
