/* Shared by the files of kernel/block only. */
#ifndef KERNEL_BLOCK_PRIVATE_H
#define KERNEL_BLOCK_PRIVATE_H

#include "kernel/block/block.h"

/* Requests that an interrupt, or one pass of the thread, takes or starts at a time: what is left is
 * the thread's, so that the time at IPL_DEVICE does not grow with the number of requests. */
#define BLOCK_BATCH 16u

/* Initialise the fields of a disk that are the block layer's, but for its volumes. */
void block_queue_init(struct block_disk *d);
/* Unpin the pages of a request that has ended and that the device does not have. IPL 0. */
void block_unpin(struct block_request *r);
/* Free a request that is on no list. IPL 0. */
void block_free(struct block_request *r);
/* One pass of the thread over a disk, `now` being the time: take what was answered, start what can
 * be started, free what was dropped, give the device up when it is late. True: there may be more to
 * do at once. IPL 0; takes the disk's lock for BLOCK_FEW requests at a time. */
bool block_serve(struct block_disk *d, uint64_t now);

#endif
