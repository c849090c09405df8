/* The memory of a queue that the device shares, laid out as the legacy interface wants it. */
#ifndef KERNEL_DRIVERS_VIRTIO_RING_H
#define KERNEL_DRIVERS_VIRTIO_RING_H

#include "kernel/drivers/virtio/virtio.h"

#define VIRTIO_RING_MAX 1024u

struct virtio_available { /* written by the driver */
    uint16_t flags, index;
    uint16_t ring[];
};

struct virtio_used { /* written by the device */
    uint16_t flags, index;
    struct {
        uint32_t id, nbytes;
    } ring[];
};

/* Bytes of the memory for a queue of `size`, a power of two. */
size_t ring_bytes(uint32_t size);
/* Initialise q, whose arrays owner (zeroed) and free are allocated, with zeroed memory of
 * ring_bytes(size) at an address that the device's pages of 4 KiB divide. */
void ring_init(struct virtio_queue *q, void *memory, uint32_t size, unsigned number);

#endif
