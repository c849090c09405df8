/*
 * Contexts of asynchronous I/O (io_setup and its family): requests whose completion is an event
 * that a thread fetches later. This layer does not know descriptors or system calls; a process has
 * a table of contexts (kernel/proc/process.h), and kernel/sys/posix/aio.c decodes arguments.
 *
 * IPL 0, no spinlock, if not said otherwise. Results: 0 or a negative errno.
 */
#ifndef KERNEL_IO_AIO_H
#define KERNEL_IO_AIO_H

#include "kernel/base/types.h"

struct aio_table;
struct aio_context;
struct aio_request;
struct file;

#define AIO_TOTAL    65536u /* requests of all contexts of all processes (aio-max-nr) */
#define AIO_CONTEXTS 256u   /* of a process */
#define AIO_STEP     32u    /* between the numbers of contexts of a process: addresses in a page */

/* What has become of a request; as user memory has it. */
struct aio_event {
    uint64_t data, object;
    int64_t result, result2;
};

/* Requests that all contexts have room for. Any IPL. */
uint64_t aio_reserved(void);

/* A table without contexts, whose numbers begin at `base`. NULL: no memory. */
struct aio_table *aio_table_create(uint64_t base);
/* The program ends: end all contexts. Writes under way are carried out, and nobody is told. Frees
 * t, which nobody else uses. */
void aio_table_end(struct aio_table *t);
/* Free a table that has no context. */
void aio_table_free(struct aio_table *t);

/* Make a context for `most` requests at a time, and its number. -EAGAIN: AIO_TOTAL, AIO_CONTEXTS or
 * the user's QUOTA_AIO would be exceeded; -ENOMEM. */
int aio_context_create(struct aio_table *t, uint32_t most, uint64_t *number);
/* End a context: wait until its requests have ended, whose events are lost. Killable. -EINVAL:
 * there is none of that number. */
int aio_context_destroy(struct aio_table *t, uint64_t number);
/* The context of a number with a reference, NULL: there is none. */
struct aio_context *aio_context_get(struct aio_table *t, uint64_t number);
void aio_context_unref(struct aio_context *c);

#define AIO_BATCH 16u /* requests that are made, or submitted, together */

/* Make up to `most` requests, 1 at least and AIO_BATCH at most. Returns how many, or -EAGAIN: the
 * context has as many as it may have; -EINVAL: it has ended; -ENOMEM. */
int aio_requests_create(struct aio_context *c, unsigned most, struct aio_request **r);
/* n of them, at most AIO_BATCH, are not begun after all. */
void aio_requests_drop(struct aio_context *c, unsigned n, struct aio_request **r);
/* What its event is to tell; takes over a reference to eventfd, an eventfd or NULL. It is to be done
 * from now on. */
void aio_request_begin(struct aio_request *r, uint64_t data, uint64_t object, struct file *eventfd);
/* It has been done, with this result: it becomes an event. */
void aio_request_done(struct aio_request *r, int64_t result);

/* A stretch of user memory. */
struct aio_part {
    uint64_t base, nbytes;
};
/* Prepare to read from or write to f, a disk that was opened with O_DIRECT, at byte `offset`, from
 * or to n parts, 1 at least. 0: the caller submits it, or *done was set and it is an event;
 * -EOPNOTSUPP: it cannot be done this way, and nothing was done; -EINVAL: parts of sectors;
 * -ENOSPC, -EFAULT, -ENOMEM, -EINTR. */
int aio_prepare(struct aio_request *r, struct file *f, bool write, const struct aio_part *part,
                unsigned n, uint64_t offset, bool *done);
/* The same for fsync. */
int aio_prepare_flush(struct aio_request *r, struct file *f);

/* Prepared requests that are submitted together, so that a disk is told of them once. Nothing that
 * other requests wait for may depend on them before. */
struct aio_batch {
    unsigned n;
    struct aio_request *r[AIO_BATCH];
};
/* Submit all in their order, and empty the batch. Waits, killable, while parts of sectors are
 * changed; who is to end then gets events with -EINTR. */
void aio_submit(struct aio_batch *b);

/* Events that wait to be taken; may be out of date. Any IPL. */
unsigned aio_ready(const struct aio_context *c);
/* Take up to `most` events, the oldest first, into kernel memory. Returns how many. */
unsigned aio_take(struct aio_context *c, struct aio_event *to, unsigned most);
/* Wait until so many events can be taken, or one, if others wait, too. 0; -EINTR; -ETIMEDOUT:
 * clock_ns() has reached the deadline; -EINVAL: the context has ended. */
int aio_wait(struct aio_context *c, unsigned need, uint64_t deadline);

#endif
