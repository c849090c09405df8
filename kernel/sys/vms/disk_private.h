/* Channels to disks and files and their requests, for disk.c and fast_io.c. */
#ifndef KERNEL_SYS_VMS_DISK_PRIVATE_H
#define KERNEL_SYS_VMS_DISK_PRIVATE_H

#include "kernel/block/transfer.h"
#include "kernel/sys/vms/disk.h"

#define DISK_BLOCK 512u /* bytes in which block numbers count, whatever the disk's sectors are */

struct disk_channel { /* nonpaged pool */
    struct qio_channel qio;
    struct file *file;               /* with a reference; constant, as is the next */
    const struct block_volume *disk; /* NULL: the channel leads to a file */
    struct spinlock lock;            /* RANK_AIO, IPL_DEVICE */
    struct list requests;            /* under way; lock, as all that follows */
    uint32_t cancels;                /* calls of $CANCEL so far */
    bool closed;                     /* nothing begins any more */
    struct wait_queue idle;          /* who waits for the end of all requests */
};

struct disk_request;

struct disk_request_kind {
    /* It has ended, with r->answer, and is on no list. At IPL_DEVICE with the channel's lock held,
     * and perhaps that of the disk; or at IPL 0 without. */
    void (*post)(struct disk_request *r);
    /* The program ends: nobody is told, and it is freed. Its requests to the disk have been left.
     * IPL 0, no locks. */
    void (*leave)(struct disk_request *r);
};

struct disk_request {                     /* nonpaged pool, in a structure of its kind */
    const struct disk_request_kind *kind; /* constant */
    struct block_transfer transfer;
    struct list link; /* in the channel's list; channel's lock, as the next five */
    struct disk_channel *channel;
    uint32_t cancel; /* number of the newest $CANCEL when it was made or seen by one */
    bool held;       /* $CANCEL is taking it back */
    bool over;       /* it has ended meanwhile, with `answer` */
    bool gone;       /* nobody is to be told */
    uint64_t answer; /* a quadword as of a status block: condition value, 32 bits of bytes */
};

/* Prepare r for a transfer by c. */
void disk_request_init(struct disk_request *r, struct disk_channel *c);
uint64_t disk_answer(cond_t status, uint64_t nbytes);
/* Called by a transfer that has ended. */
void disk_transfer_done(struct block_transfer *t);
/* Submit the requests of a transfer, of which the caller knows nothing any more afterwards.
 * SS$_NORMAL; SS$_ABORT: the thread is to end; SS$_IVCHAN: the channel was deassigned. */
cond_t disk_submit(struct disk_request *r, bool write);
/* Are n bytes at block number `block` of what the channel leads to? SS$_NORMAL, and the byte in
 * *at; SS$_ILLBLKNUM; SS$_WRITLCK. */
cond_t disk_place(const struct disk_channel *c, uint64_t block, uint64_t n, bool write,
                  uint64_t *at);
/* Read or write n bytes by the open file, at once. The answer, or (*fault) SS$_ACCVIO, SS$_INSFMEM
 * or SS$_ABORT: nothing was answered. */
uint64_t disk_do_now(struct disk_channel *c, bool write, vaddr_t buffer, uint32_t n, uint64_t at,
                     cond_t *fault);
/* May the current process ask the channel for this? physical: IO$_READPBLK and so on; virtual:
 * IO$_READVBLK. SS$_NORMAL; SS$_NOPRIV; SS$_ILLIOFUNC: files have virtual blocks only. */
cond_t disk_may(const struct disk_channel *c, bool physical, bool virtual);

#endif
