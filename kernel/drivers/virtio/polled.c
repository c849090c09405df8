/*
 * Disks over virtio, polled at boot (polled.h).
 *
 * The memory that the device may access is static, and used for nothing else: a device that answers
 * late, or not at all, can spoil nothing but what is read from it, which has checksums.
 */
#include "kernel/drivers/virtio/polled.h"

#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/drivers/virtio/blk.h"
#include "kernel/drivers/virtio/ring.h"

/* How long all disks together may take for all that is read from them: by the clock, and at least
 * so many looks at the ring, about 10^9 instructions, where the clock counts instructions and the
 * host cannot keep up with it. */
#define PATIENCE_NS    UINT64_C(5000000000)
#define PATIENCE_LOOKS 20000000u

#define NO_INTERRUPT 1u /* in the flags of the ring of requests */

/* ring_bytes(VIRTIO_RING_MAX), rounded up to pages. */
#define RING_BYTES (4 * PAGE_SIZE)

static struct { /* one CPU, at boot; the device reads and writes some of it */
    unsigned char memory[RING_BYTES] __attribute__((aligned(PAGE_SIZE)));
    void *owner[VIRTIO_RING_MAX];
    uint16_t free[VIRTIO_RING_MAX];
    struct virtio_device device;
    struct virtio_queue ring;
    struct blk_header header;
    uint64_t status; /* one byte is the device's */
    struct virtio_segment table[3];
    uint32_t sector_bytes;
    uint64_t end_ns; /* when patience ends; 0: nothing was read yet ... */
    uint64_t looks;  /* if so many looks were in vain */
    bool silent;     /* the device has not answered in time */
    bool disobeyed;  /* it was told to stop, and did not */
} polled;

int polled_begin(unsigned n, uint64_t *sectors, uint32_t *sector_bytes)
{
    struct virtio_device *d = &polled.device;
    uint32_t size;

    if (polled.disobeyed)
        return -EBUSY;
    if (!virtio_find(d, VIRTIO_ID_BLOCK, n))
        return -ENODEV;
    virtio_negotiate(d, VIRTIO_F_INDIRECT | BLK_F_BLOCK_SIZE);
    polled.sector_bytes = BLK_UNIT;
    if (d->features & BLK_F_BLOCK_SIZE)
        polled.sector_bytes = (uint32_t)virtio_config(d, BLK_CONFIG_BLOCK_SIZE, 4);
    size = virtio_queue_size(d, 0);
    if (!(d->features & VIRTIO_F_INDIRECT) || size == 0 || ring_bytes(size) > RING_BYTES ||
        polled.sector_bytes < BLK_UNIT || polled.sector_bytes > PAGE_SIZE ||
        (polled.sector_bytes & (polled.sector_bytes - 1))) {
        (void)virtio_reset(d);
        return -EOPNOTSUPP;
    }
    memset(polled.memory, 0, sizeof(polled.memory));
    memset(polled.owner, 0, sizeof(polled.owner));
    polled.ring.owner = polled.owner;
    polled.ring.free = polled.free;
    polled.silent = false;
    if (!polled.end_ns)
        polled.end_ns = clock_read_ns() + PATIENCE_NS;
    ring_init(&polled.ring, polled.memory, size, 0);
    polled.ring.available->flags = NO_INTERRUPT;
    virtio_queue_place(d, &polled.ring);
    virtio_start_polled(d);
    *sector_bytes = polled.sector_bytes;
    *sectors = virtio_config(d, BLK_CONFIG_SECTORS, 8) / (polled.sector_bytes / BLK_UNIT);
    return 0;
}

/* Wait for the answer. Returns how many bytes the device has written; 0: it is silent. */
static uint32_t answer(void)
{
    uint32_t nbytes = 0, bad = 0;

    for (; polled.looks < PATIENCE_LOOKS || clock_read_ns() < polled.end_ns; polled.looks++)
        if (virtio_queue_answered(&polled.ring) &&
            virtio_queue_take(&polled.ring, &nbytes, &bad) != NULL)
            return nbytes;
    polled.silent = true;
    return 0;
}

int polled_read(void *arg, uint64_t sector, void *buf, uint32_t nbytes)
{
    uint32_t got;

    (void)arg;
    if (polled.silent)
        return -ETIMEDOUT;
    polled.header.type = BLK_READ;
    polled.header.unit = sector * (polled.sector_bytes / BLK_UNIT);
    polled.status = BLK_STATUS_NONE;
    polled.table[0] = (struct virtio_segment){.address = kseg_paddr(&polled.header).a,
                                              .nbytes = sizeof(polled.header)};
    polled.table[1] = (struct virtio_segment){
        .address = kseg_paddr(buf).a, .nbytes = nbytes, .flags = VIRTIO_WRITE};
    polled.table[2] = (struct virtio_segment){
        .address = kseg_paddr(&polled.status).a, .nbytes = 1, .flags = VIRTIO_WRITE};
    if (virtio_queue_add(&polled.ring, polled.table, 3, &polled) < 0)
        return -EIO;
    virtio_queue_notify(&polled.device, &polled.ring);
    got = answer();
    if (polled.silent)
        return -ETIMEDOUT;
    /* As the driver does: a device that has written less than was read has not read it. */
    return (uint8_t)polled.status == BLK_STATUS_OK && got >= nbytes + 1 ? 0 : -EIO;
}

void polled_end(void) { polled.disobeyed = !virtio_reset(&polled.device); }
