/* Pipes, for their files: pipe.c has the rules of the fields. */
#ifndef KERNEL_IO_PIPE_PRIVATE_H
#define KERNEL_IO_PIPE_PRIVATE_H

#include "kernel/base/list.h"
#include "kernel/io/io_private.h"
#include "kernel/io/poll.h"
#include "kernel/sched/mutex.h"
#include "mm/phys/page.h"

#define PIPE_PAGES (PIPE_BYTES / PAGE_SIZE)
#define PIPE_BUF   4096 /* bytes: a write of up to so many is not interleaved with others */

/* In nonpaged pool. All fields but those said to be atomic are protected by lock. */
struct pipe {
    struct mutex lock;
    /* Open ends; the last one to close frees the pipe. Atomic; of a FIFO fifo_mutex protects it. */
    uint32_t ends;
    uint32_t readers,
        writers;        /* open ends of each kind: 0 or 1, but of a FIFO any number; atomic */
    struct inode *fifo; /* constant: the FIFO, kept by its open files, or NULL */
    /* Without a name: the inode by which it is opened again (pipe_inode), with a reference; set at
     * most once, under fifo_mutex. */
    struct inode *unnamed;
    /* FIFO: how often it was opened for each, free-running: for who waits for the other side.
       opened_write is atomic: stored under lock. */
    uint32_t opened_read, opened_write;
    uint32_t read_waits; /* 1: there are waiters on read_queue that nobody has woken yet; atomic */
    uint32_t writes_waiting;
    uint64_t head;  /* offset of the next byte to read */
    uint64_t count; /* bytes in the pipe, without those of a unit half written; atomic for readers
                       that wait, and for poll */
    /* 1: a splice moves bytes out of the pipe, from head on, without the mutex. Others who would
     * take some wait until it is done, whether or not they may wait for bytes. Atomic: set under
     * lock. */
    uint32_t taken;
    uint64_t ino;
    struct list link;  /* in `pipes` */
    uint32_t uid, gid; /* constant: who made a pipe without a name, and may open it again */
    struct wait_queue read_queue, write_queue;
    struct poll_source polled; /* has a lock of its own; entries come under lock */
    uint8_t *page[PIPE_PAGES]; /* KSEG addresses; NULL: not allocated yet */
};

/* Protects inode.fifo, pipe.unnamed, and `ends` of a FIFO's pipe. Not held together with a pipe's
 * mutex. */
extern struct mutex fifo_mutex;

/* ---- bytes: pipe.c ---- */

/* How many open ends of a kind there are. */
static inline uint32_t pipe_ends(const uint32_t *kind)
{
    return __atomic_load_n(kind, __ATOMIC_RELAXED);
}
/* Does a splice move bytes out of the pipe? The mutex is held; still, the answer may become no. */
static inline bool pipe_is_taken(const struct pipe *p)
{
    return unlikely(__atomic_load_n(&p->taken, __ATOMIC_ACQUIRE) != 0);
}
/* Set the number of bytes. The mutex is held. */
static inline void pipe_set_count(struct pipe *p, uint64_t count)
{
    __atomic_store_n(&p->count, count, __ATOMIC_RELAXED);
}
/* Take the mutex when there are bytes to read and no splice takes them out. 0; -EAGAIN (nonblock),
 * -ERESTARTSYS, -EINTR: it is not held. *end: it is not either, as the pipe is empty and has no
 * writer. */
int pipe_lock_to_read(struct pipe *p, bool nonblock, bool *end);
/* Wait on q for a change, with the mutex released meanwhile, but not if no end of the kind `others`
 * is open any more (or no splice goes on: `taken`). 0 or -ERESTARTSYS; -EINTR: the thread is to
 * end, and the mutex is not held any more. */
int pipe_wait(struct pipe *p, struct wait_queue *q, const uint32_t *others);
/* Wait for room, with the mutex, which is held, released meanwhile. 0 or -ERESTARTSYS; -EINTR: the
 * thread is to end, and the mutex is not held any more. */
int pipe_wait_write(struct pipe *p);
/* Read as read(2) does; nonblock: without waiting for bytes. */
long pipe_read_some(struct pipe *p, vaddr_t ubuf, size_t n, bool nonblock);
/* The address for the next byte behind `count` of them, and in *room how many bytes fit there. If a
 * page was allocated for it, its bit is set in *fresh. NULL: no memory. The mutex is held. */
uint8_t *pipe_room(struct pipe *p, uint64_t count, size_t *room, unsigned *fresh);
/* A write has failed: free the pages that it allocated and that hold no data. The mutex is held. */
void pipe_undo(struct pipe *p, unsigned fresh);
/* n > 0 bytes from head on have been taken. The mutex is held. */
static inline void pipe_consume(struct pipe *p, size_t n)
{
    pipe_set_count(p, p->count - n);
    p->head = p->count ? (p->head + n) % PIPE_BYTES : 0;
}
/* Bytes came, or went: wake who waits for that (wake: writers wait), and tell who polls. The mutex
 * is not held. */
void pipe_filled(struct pipe *p);
void pipe_drained(struct pipe *p, bool wake);

/* Operations of files (file.h) whose `priv` is the pipe. */
long pipe_read(struct file *f, vaddr_t ubuf, size_t n);
long pipe_write(struct file *f, vaddr_t ubuf, size_t n);
long pipe_write_kernel(struct file *f, const void *buf, size_t n);

/* ---- ends: pipe_file.c ---- */

extern const struct file_ops pipe_read_ops, pipe_write_ops;

/* A pipe without ends; NULL: no memory. IPL 0. */
struct pipe *pipe_new(void);
/* One of `mine`, the ends of one kind, is closed; `others` wait for the other kind. */
void pipe_leave(uint32_t *mine, struct wait_queue *others);
/* An end was closed, and nothing of the pipe is in use by the caller any more. The last end frees
 * it. IPL 0, no mutex of rank MUTEX_INODE or above. */
void pipe_drop_end(struct pipe *p);
/* Operations of files, as above. */
unsigned pipe_read_poll(struct file *f, struct poll_entry *e);
unsigned pipe_write_poll(struct file *f, struct poll_entry *e);
long pipe_ioctl(struct file *f, unsigned long req, vaddr_t arg);

#endif
