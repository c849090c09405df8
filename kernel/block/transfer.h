/*
 * Transfers that nobody waits for: data that a disk moves to or from private pages of a process,
 * by one request or several, and a function that is called when all have ended. Part of a structure
 * of whoever asks for it (kernel/io/aio.c, kernel/sys/vms/disk.c).
 *
 *   block_transfer_init      once
 *   block_transfer_begin
 *   block_transfer_add       for each stretch of memory; or block_transfer_flush
 *   block_transfer_submit    the transfer is under way until `done` is called
 *   block_transfer_over      `done` was called: its pages are unpinned, and it can begin again,
 *                            mostly with the request that it has
 *   block_transfer_end       at any time: its requests are freed, at the latest when the device has
 *                            given them back; `done` is not called any more
 */
#ifndef KERNEL_BLOCK_TRANSFER_H
#define KERNEL_BLOCK_TRANSFER_H

#include "kernel/block/block.h"
#include "mm/space/pin_set.h"

struct block_transfer {
    const struct block_volume *volume; /* its maker's */
    uint64_t sector;                   /* of the volume, of what is added next; its maker's */
    uint64_t nbytes;                   /* added; its maker's */
    struct block_request *first;       /* linked by `next`; its maker's */
    struct block_request **last;
    struct block_request *kept; /* of the transfer before, to be used again; NULL; its maker's */
    enum block_kind kind;       /* its maker's */
    uint32_t left;              /* requests that have not ended; disk.lock */
    int err;          /* 0, or that of the first request that failed; disk.lock until `done` */
    bool with_device; /* the device keeps a request that has ended; likewise */
    /* All requests have ended. Called once, with disk.lock held, at IPL_DEVICE. Its maker's. */
    void (*done)(struct block_transfer *t);
};

void block_transfer_init(struct block_transfer *t);
/* Begin a transfer from or to byte `at` of v, which is the beginning of a sector. */
static inline void block_transfer_begin(struct block_transfer *t, const struct block_volume *v,
                                        enum block_kind kind, uint64_t at,
                                        void (*done)(struct block_transfer *t))
{
    t->volume = v;
    t->sector = at >> v->disk->sector_shift;
    t->nbytes = 0;
    t->first = NULL;
    t->last = &t->first;
    t->kind = kind;
    t->left = 0;
    t->err = 0;
    t->with_device = false;
    t->done = done;
}
/* Add n bytes at ubuf of the current process, whole sectors, within the volume. 0;
 * or as block_direct(), and the caller ends the transfer. IPL 0. */
int block_transfer_add(struct block_transfer *t, vaddr_t ubuf, uint64_t n);
/* The same for n bytes at va in a set of pinned pages, whose pins the requests take over for
 * themselves; n is not 0. 0, -ENOMEM, -EINTR. */
int block_transfer_add_set(struct block_transfer *t, const struct pin_set *s, vaddr_t va,
                           uint64_t n);
/* Make it a flush, of writes that were submitted before. 0 or -ENOMEM. */
int block_transfer_flush(struct block_transfer *t);
/* Submit all requests, of which there is one at least. Of a write the caller holds disk.parts,
 * shared. IPL 0. */
void block_transfer_submit(struct block_transfer *t);

/* Requests of several transfers to one disk, on their way to it. The caller's. */
struct block_few {
    unsigned n;
    struct block_request *request[BLOCK_FEW];
};

static inline void block_few_init(struct block_few *f) { f->n = 0; }
/* Submit all requests of t behind those of the transfers before, without telling the device. Some
 * are still in f. As block_transfer_submit(). */
void block_few_add(struct block_few *f, struct block_transfer *t);
/* Submit what is still in f, and tell the device: at once after the last transfer. IPL 0. */
void block_few_end(struct block_few *f, struct block_disk *d);

/* `done` was called, and its maker has finished with the result. IPL 0; takes the disk's lock for
 * requests that cannot be used again. */
void block_transfer_over(struct block_transfer *t);
/* Its maker has no more to do with it. carry_out: writes and flushes that the device does not have
 * yet are carried out nevertheless; reads are not, as nobody gets the data. IPL 0; takes the
 * disk's lock once for each request. */
void block_transfer_end(struct block_transfer *t, bool carry_out);

#endif
