/*
 * The header that mkswap writes to a disk or partition: version 1 of Linux's swap areas, found by
 * the ten characters at the end of its first page, whose size mkswap may have taken from another
 * machine. Independent of the machine: also built for the host.
 */
#ifndef KERNEL_PROC_SWAP_HEADER_H
#define KERNEL_PROC_SWAP_HEADER_H

#include "kernel/base/types.h"

struct swap_header {
    uint64_t slots; /* pages behind the first, which has the header */
    uint32_t *bad;  /* those that cannot be used, in the memory of the header */
    unsigned nbad;
};

/* Read the header at `page`, the first PAGE_SIZE bytes of a volume of nbytes, which is changed: 0;
 * -EINVAL: it is none, or it does not describe this volume. Any IPL. */
int swap_header(void *page, uint64_t nbytes, struct swap_header *h);

#endif
