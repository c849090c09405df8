/*
 * Virtio devices on PCI, in the legacy (I/O port) form that QEMU's transitional devices offer:
 * discovery, features, configuration, interrupts, and queues of requests. Drivers of disks, of the
 * source of entropy and of shared folders stand on this.
 *
 * The device addresses all of physical memory directly: it is not asked for ACCESS_PLATFORM, so the
 * chipset's DMA windows do not apply to it.
 */
#ifndef KERNEL_DRIVERS_VIRTIO_VIRTIO_H
#define KERNEL_DRIVERS_VIRTIO_VIRTIO_H

#include "kernel/base/types.h"

struct pci_function;
struct validate;

#define VIRTIO_ID_BLOCK   2u /* virtio's own numbers of device types */
#define VIRTIO_ID_ENTROPY 4u
#define VIRTIO_ID_9P      9u

#define VIRTIO_F_INDIRECT (1u << 28) /* a descriptor may refer to a table of descriptors */

/* A stretch of physical memory that a device reads or writes; as the device finds it. */
struct virtio_segment {
    uint64_t address;
    uint32_t nbytes;
    uint16_t flags; /* VIRTIO_NEXT, VIRTIO_WRITE */
    uint16_t next;
};
#define VIRTIO_NEXT     0x1u
#define VIRTIO_WRITE    0x2u /* the device writes it */
#define VIRTIO_INDIRECT 0x4u

struct virtio_available;
struct virtio_used;

/*
 * A queue of requests. A request is one descriptor that refers to a table of segments, so as many
 * requests as the queue has descriptors can be with the device, whatever their sizes. The caller
 * serialises all calls for a queue.
 */
struct virtio_queue {
    struct virtio_segment *ring;        /* `size` descriptors; memory shared with the device */
    struct virtio_available *available; /* likewise */
    struct virtio_used *used;           /* likewise */
    void **owner;   /* of each descriptor: what virtio_queue_add was given; NULL: it is free */
    uint16_t *free; /* descriptors that are free: nfree of them */
    uint32_t size;  /* constant */
    uint32_t nfree;
    uint16_t added;  /* requests made available so far */
    uint16_t seen;   /* answers taken so far; atomic */
    uint16_t number; /* constant */
};

struct virtio_device {
    const struct pci_function *pci; /* constant */
    uint16_t port;                  /* first I/O port; constant */
    uint32_t features;              /* that both sides have; constant after virtio_start */
    void (*interrupt)(void *arg);   /* constant once interrupts are enabled */
    void *arg;
};

/* Find the n-th device of a type, in the order of the bus; it may be in use already, and its
 * configuration can be read. False: there is none, or it has no I/O ports. Boot. */
bool virtio_find(struct virtio_device *d, unsigned id, unsigned n);
/* Reset the device, and agree on features: those of `wanted` that the device offers are set in
 * d->features. Boot. */
void virtio_negotiate(struct virtio_device *d, uint32_t wanted);
/* Set up queue `number`. 0; -ENODEV: the device has none, or of an unknown form; -ENOMEM. Boot. */
int virtio_queue_boot(struct virtio_device *d, struct virtio_queue *q, unsigned number);
/* The size of queue `number`; 0: the device has none, or of an unknown form. Boot. */
uint32_t virtio_queue_size(const struct virtio_device *d, unsigned number);
/* Tell the device where the memory of a queue is that ring_init() has initialised (ring.h). Boot.
 */
void virtio_queue_place(const struct virtio_device *d, const struct virtio_queue *q);
/* Have interrupt(arg) called at IPL_DEVICE for each of the device's interrupts, which are
 * acknowledged already, and let the device begin to serve its queues. 0, or irq_register's error.
 * Boot. */
int virtio_start(struct virtio_device *d, void (*interrupt)(void *arg), void *arg);
/* Let the device begin to serve its queues, without interrupts: its caller looks for answers. Boot.
 */
void virtio_start_polled(const struct virtio_device *d);
/* Stop the device: it accesses no memory any more, and forgets its queues. False: it does not obey.
 * Boot. */
bool virtio_reset(const struct virtio_device *d);
/* The driver gives up: the device is reset and told so. Boot. */
void virtio_fail(struct virtio_device *d);
/* Read the byte, or the number of n bytes, at `offset` of the configuration that belongs to the
 * device's type. */
uint8_t virtio_config8(const struct virtio_device *d, unsigned offset);
uint64_t virtio_config(const struct virtio_device *d, unsigned offset, unsigned n);

/* Make a request available to the device: the n segments at `table`, which stay as they are until
 * its answer is taken; the segments that the device writes come last. owner, not NULL, is what
 * virtio_queue_take returns. Returns the request's number, below q->size, or -ENOSPC: as many as
 * the queue holds are with the device. virtio_queue_notify() tells the device. */
int virtio_queue_add(struct virtio_queue *q, struct virtio_segment *table, unsigned n, void *owner);
/* The same for segments that are chained already: each but the last has VIRTIO_NEXT, and in `next`
 * the index of the one that follows. */
int virtio_queue_add_chained(struct virtio_queue *q, struct virtio_segment *table, unsigned n,
                             void *owner);
void virtio_queue_notify(const struct virtio_device *d, const struct virtio_queue *q);
/* Has the device answered a request that was not taken? By a caller that does not serialise: may be
 * out of date. */
bool virtio_queue_answered(const struct virtio_queue *q);
/* The self-check (mm/check/validate.h): count the queue's pages. */
void virtio_queue_validate(struct validate *v, const struct virtio_queue *q);
/* The owner of the next request that the device has answered; NULL: there is none. *nbytes is how
 * many bytes the device says it has written. An answer to a request that is not with the device is
 * passed over, and counted in *bad. */
void *virtio_queue_take(struct virtio_queue *q, uint32_t *nbytes, uint32_t *bad);

#endif
