/*
 * Queues of requests in memory that the device shares (virtio 1.2, 2.7). Independent of the
 * machine: also built for the host.
 *
 * What the device writes is not believed: an answer's number is compared with the requests that
 * are with the device, and what it says of lengths is for the caller to check.
 */
#include "kernel/drivers/virtio/ring.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"

#define RING_ALIGN 4096u /* of the used ring */

static size_t used_offset(uint32_t size)
{
    size_t before = size * sizeof(struct virtio_segment) + sizeof(struct virtio_available) +
                    (size + 1) * sizeof(uint16_t);

    return (before + RING_ALIGN - 1) & ~(size_t)(RING_ALIGN - 1);
}

size_t ring_bytes(uint32_t size)
{
    return used_offset(size) + sizeof(struct virtio_used) + size * 2 * sizeof(uint32_t) +
           sizeof(uint16_t);
}

void ring_init(struct virtio_queue *q, void *memory, uint32_t size, unsigned number)
{
    q->ring = memory;
    q->available = (struct virtio_available *)(q->ring + size);
    q->used = (struct virtio_used *)((char *)memory + used_offset(size));
    q->size = q->nfree = size;
    q->added = q->seen = 0;
    q->number = (uint16_t)number;
    for (uint32_t k = 0; k < size; k++)
        q->free[k] = (uint16_t)(size - 1 - k);
}

int virtio_queue_add(struct virtio_queue *q, struct virtio_segment *table, unsigned n, void *owner)
{
    for (unsigned k = 0; k < n; k++) {
        table[k].flags = (uint16_t)((table[k].flags & VIRTIO_WRITE) |
                                    (k + 1 < n ? VIRTIO_NEXT : 0));
        table[k].next = (uint16_t)(k + 1);
    }
    return virtio_queue_add_chained(q, table, n, owner);
}

int virtio_queue_add_chained(struct virtio_queue *q, struct virtio_segment *table, unsigned n,
                             void *owner)
{
    uint16_t id;

    if (q->nfree == 0)
        return -ENOSPC;
    id = q->free[--q->nfree];
    q->owner[id] = owner;
    q->ring[id] = (struct virtio_segment){.address = kseg_paddr(table).a,
                                          .nbytes = (uint32_t)(n * sizeof(*table)),
                                          .flags = VIRTIO_INDIRECT};
    q->available->ring[q->added & (q->size - 1)] = id;
    q->added++;
    /* The device reads the entry after it has read the index. */
    __atomic_store_n(&q->available->index, q->added, __ATOMIC_RELEASE);
    return id;
}

bool virtio_queue_answered(const struct virtio_queue *q)
{
    return __atomic_load_n(&q->seen, __ATOMIC_RELAXED) !=
           __atomic_load_n(&q->used->index, __ATOMIC_RELAXED);
}

void *virtio_queue_take(struct virtio_queue *q, uint32_t *nbytes, uint32_t *bad)
{
    while (q->seen != __atomic_load_n(&q->used->index, __ATOMIC_ACQUIRE)) {
        uint32_t id = q->used->ring[q->seen & (q->size - 1)].id;
        void *owner;

        *nbytes = q->used->ring[q->seen & (q->size - 1)].nbytes;
        __atomic_store_n(&q->seen, (uint16_t)(q->seen + 1), __ATOMIC_RELAXED);
        owner = id < q->size ? q->owner[id] : NULL;
        if (owner) {
            q->owner[id] = NULL;
            q->free[q->nfree++] = (uint16_t)id;
            return owner;
        }
        ++*bad;
    }
    return NULL;
}
