/*
 * Disks over virtio (disk.h). A request is a header, the data, and a byte in which the device says
 * how it went. The block layer serialises all that passes requests on; the lock of the disk
 * protects the ring, also against the interrupt, which takes answers.
 */
#include "kernel/drivers/virtio/disk.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/block/block.h"
#include "kernel/drivers/virtio/blk.h"
#include "kernel/drivers/virtio/virtio.h"
#include "mm/pool/pool.h"

#define UNIT_SHIFT 9u  /* BLK_UNIT */
#define BATCH      16u /* answers that an interrupt takes; block_wake() for the rest */

struct own { /* the driver's part of a request, read and written by the device */
    struct blk_header header;
    uint64_t status; /* one byte is the device's */
    struct virtio_segment table[BLOCK_PAGES + 2];
    uint32_t segments, answer; /* of the table; bytes that the device writes */
};

struct virtio_disk {
    struct block_disk disk;
    struct virtio_device device;
    struct virtio_queue ring; /* disk.lock */
    uint32_t refused;         /* answers to requests that the device does not have; likewise */
};

static struct virtio_disk *found[BLOCK_DISKS]; /* constant after boot, as is the next */
static unsigned nfound;

static void prepare(struct block_disk *d, struct block_request *r)
{
    static const uint32_t types[BLOCK_KINDS] = {BLK_READ, BLK_WRITE, BLK_FLUSH};
    struct own *own = (struct own *)r->own;
    struct virtio_segment *s = own->table;
    bool reads = r->kind == BLOCK_READ;
    uint16_t next = 1, flags = reads ? VIRTIO_WRITE | VIRTIO_NEXT : VIRTIO_NEXT;
    uint32_t left = r->nbytes, skip = r->skip;

    own->header.type = types[r->kind];
    own->header.unit = r->kind == BLOCK_FLUSH ? 0 : r->sector << (d->sector_shift - UNIT_SHIFT);
    *s++ = (struct virtio_segment){.address = kseg_paddr(&own->header).a,
                                   .nbytes = sizeof(own->header),
                                   .flags = VIRTIO_NEXT,
                                   .next = next++};
    for (const pfn_t *page = r->page, *end = page + r->npages; page < end; page++) {
        uint32_t n = MIN(left, (uint32_t)PAGE_SIZE - skip);

        *s++ = (struct virtio_segment){
            .address = pfn_to_paddr(*page).a + skip, .nbytes = n, .flags = flags, .next = next++};
        left -= n;
        skip = 0;
    }
    *s = (struct virtio_segment){
        .address = kseg_paddr(&own->status).a, .nbytes = 1, .flags = VIRTIO_WRITE};
    own->segments = next;
    own->answer = (reads ? r->nbytes : 0) + 1;
}

static bool start(struct block_disk *d, struct block_request *r)
{
    struct virtio_disk *v = d->device;
    struct own *own = (struct own *)r->own;

    own->status = BLK_STATUS_NONE;
    return virtio_queue_add_chained(&v->ring, own->table, own->segments, r) >= 0;
}

static void notify(struct block_disk *d)
{
    struct virtio_disk *v = d->device;

    virtio_queue_notify(&v->device, &v->ring);
}

/* Did it go well? Not if the device has written less than was read, whatever it says: what is in
 * the pages may be anybody's. */
static bool is_right(const struct own *own, uint32_t nbytes)
{
    return (uint8_t)own->status == BLK_STATUS_OK && nbytes >= own->answer;
}

/* Take the next answer, if another CPU has not. */
static inline void take_locked(struct virtio_disk *v)
{
    uint32_t nbytes = 0;
    struct block_request *r = virtio_queue_take(&v->ring, &nbytes, &v->refused);

    if (r)
        block_ended_locked(&v->disk, r, is_right((struct own *)r->own, nbytes) ? 0 : -EIO);
}

static unsigned take(struct block_disk *d, unsigned most)
{
    struct virtio_disk *v = d->device;
    unsigned n;

    for (n = 0; n < most && virtio_queue_answered(&v->ring);) {
        ipl_t ipl = spin_lock(&d->lock);
        unsigned end = MIN(n + BLOCK_FEW, most);

        do
            take_locked(v);
        while (++n < end && virtio_queue_answered(&v->ring));
        spin_unlock(&d->lock, ipl);
    }
    if (n)
        block_ended_all(d);
    return n;
}

static void interrupted(void *arg)
{
    const struct block_disk *d = arg;
    const struct virtio_disk *v = d->device;

    if (take(arg, BATCH) == BATCH && virtio_queue_answered(&v->ring))
        block_wake();
}

static const struct block_driver driver = {
    .room = sizeof(struct own), .prepare = prepare, .start = start, .notify = notify, .take = take};

/* Agree with the device, and read what it says of the disk. */
static int agree(struct virtio_disk *v)
{
    struct block_disk *d = &v->disk;
    uint32_t has;
    uint64_t units;

    virtio_negotiate(&v->device, VIRTIO_F_INDIRECT | BLK_F_SEGMENTS | BLK_F_READ_ONLY |
                                     BLK_F_BLOCK_SIZE | BLK_F_FLUSH);
    has = v->device.features;
    if (!(has & VIRTIO_F_INDIRECT))
        return -EOPNOTSUPP;
    if ((has & BLK_F_SEGMENTS) && virtio_config(&v->device, BLK_CONFIG_SEGMENTS, 4) < BLOCK_PAGES)
        return -EOPNOTSUPP;
    units = virtio_config(&v->device, BLK_CONFIG_SECTORS, 8);
    d->sector_bytes = BLK_UNIT;
    if (has & BLK_F_BLOCK_SIZE)
        d->sector_bytes = (uint32_t)virtio_config(&v->device, BLK_CONFIG_BLOCK_SIZE, 4);
    if (d->sector_bytes < BLK_UNIT || d->sector_bytes % BLK_UNIT)
        return -EINVAL;
    d->sectors = units / (d->sector_bytes / BLK_UNIT);
    d->read_only = (has & BLK_F_READ_ONLY) != 0;
    d->has_cache = (has & BLK_F_FLUSH) != 0;
    d->driver = &driver;
    d->device = v;
    return virtio_queue_boot(&v->device, &v->ring, 0);
}

/* Set up a device that was found. Once it has a queue its memory stays, because the device may know
 * of it. */
static int disk_boot(struct virtio_disk *v)
{
    int err = agree(v);
    ipl_t ipl;

    if (err) {
        virtio_fail(&v->device);
        npp_free(v, sizeof(*v));
        return err;
    }
    found[nfound++] = v;
    err = block_register(&v->disk);
    if (err) {
        virtio_fail(&v->device);
        return err;
    }
    err = virtio_start(&v->device, interrupted, &v->disk);
    if (!err) {
        block_scan(&v->disk);
        return 0;
    }
    virtio_fail(&v->device);
    ipl = spin_lock(&v->disk.lock);
    v->disk.failed = true;
    spin_unlock(&v->disk.lock, ipl);
    return err;
}

void virtio_disk_boot(uint32_t system)
{
    for (unsigned n = 0; n < BLOCK_DISKS; n++) {
        struct virtio_disk *v = npp_alloc_zeroed(sizeof(*v));
        int err;

        if (v && !virtio_find(&v->device, VIRTIO_ID_BLOCK, n)) {
            npp_free(v, sizeof(*v));
            return;
        }
        if (v)
            v->disk.may_be_system = system >> n & 1;
        err = v ? disk_boot(v) : -ENOMEM;
        if (err)
            printk("disk %u cannot be used (error %d)\n", n, err);
        if (!v)
            return;
    }
}

void virtio_disk_validate(struct validate *v)
{
    for (unsigned k = 0; k < nfound; k++)
        virtio_queue_validate(v, &found[k]->ring);
}
