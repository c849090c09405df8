/* Virtio devices on PCI: registers of the legacy interface (virtio 1.2, 4.1.4.8). */
#include "kernel/drivers/virtio/virtio.h"

#include "arch/alpha/clipper/irq.h"
#include "arch/alpha/clipper/pci.h"
#include "arch/alpha/hw/io.h"
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/drivers/virtio/ring.h"
#include "mm/check/validate.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"

#define VENDOR          0x1AF4u
#define DEVICE_FIRST    0x1000u /* devices that have the legacy interface */
#define DEVICE_LAST     0x103Fu
#define CFG_COMMAND     0x04u
#define CFG_SUBSYSTEM   0x2Cu
#define COMMAND_PORTS   0x1u
#define COMMAND_MASTER  0x4u
#define COMMAND_NO_INTX 0x400u

enum { /* offsets from the first port */
       REG_OFFERED = 0,
       REG_ACCEPTED = 4,
       REG_QUEUE_PAGE = 8, /* number of its first page of 4 KiB */
       REG_QUEUE_SIZE = 12,
       REG_QUEUE_SELECT = 14,
       REG_QUEUE_NOTIFY = 16,
       REG_STATUS = 18,
       REG_INTERRUPT = 19, /* reading acknowledges */
       REG_CONFIG = 20
};

#define STATUS_ACKNOWLEDGED 0x01u
#define STATUS_DRIVER       0x02u
#define STATUS_RUNNING      0x04u
#define STATUS_FAILED       0x80u

#define QUEUE_PAGE_SHIFT 12

static void status_add(const struct virtio_device *d, unsigned bits)
{
    io_out8(d->port + REG_STATUS, (uint8_t)(io_in8(d->port + REG_STATUS) | bits));
}

/* The type of a device with the legacy interface; 0: it is none. */
static unsigned type_of(const struct pci_function *f)
{
    if (f->vendor != VENDOR || f->device < DEVICE_FIRST || f->device > DEVICE_LAST ||
        !(f->bar_is_io & 1) || !f->bar[0])
        return 0;
    return io_config_read32(f->bus, f->slot, f->func, CFG_SUBSYSTEM) >> 16;
}

bool virtio_find(struct virtio_device *d, unsigned id, unsigned n)
{
    const struct pci_function *f = NULL;
    uint32_t command;

    for (unsigned k = 0; (f = pci_get(k)) != NULL; k++)
        if (type_of(f) == id && n-- == 0)
            break;
    if (!f)
        return false;
    memset(d, 0, sizeof(*d));
    d->pci = f;
    d->port = (uint16_t)f->bar[0];
    command = io_config_read32(f->bus, f->slot, f->func, CFG_COMMAND) & 0xFFFF;
    command = (command | COMMAND_PORTS | COMMAND_MASTER) & ~COMMAND_NO_INTX;
    io_config_write32(f->bus, f->slot, f->func, CFG_COMMAND, command);
    return true;
}

void virtio_negotiate(struct virtio_device *d, uint32_t wanted)
{
    io_out8(d->port + REG_STATUS, 0);
    status_add(d, STATUS_ACKNOWLEDGED);
    status_add(d, STATUS_DRIVER);
    d->features = io_in32(d->port + REG_OFFERED) & wanted;
    io_out32(d->port + REG_ACCEPTED, d->features);
}

uint32_t virtio_queue_size(const struct virtio_device *d, unsigned number)
{
    uint32_t size;

    io_out16(d->port + REG_QUEUE_SELECT, (uint16_t)number);
    size = io_in16(d->port + REG_QUEUE_SIZE);
    return size > VIRTIO_RING_MAX || (size & (size - 1)) ? 0 : size;
}

void virtio_queue_place(const struct virtio_device *d, const struct virtio_queue *q)
{
    io_out16(d->port + REG_QUEUE_SELECT, q->number);
    io_out32(d->port + REG_QUEUE_PAGE, (uint32_t)(kseg_paddr(q->ring).a >> QUEUE_PAGE_SHIFT));
}

int virtio_queue_boot(struct virtio_device *d, struct virtio_queue *q, unsigned number)
{
    uint32_t size = virtio_queue_size(d, number);
    uint64_t npages;
    pfn_t first;

    if (size == 0)
        return -ENODEV;
    npages = (ring_bytes(size) + PAGE_MASK) >> PAGE_SHIFT;
    if (page_alloc_contig(npages, 1, PA_KERNEL | PA_ZERO, PAGE_T_SYSTEM, RAD_ANY, &first))
        return -ENOMEM;
    q->owner = npp_alloc_zeroed(size * sizeof(*q->owner));
    q->free = npp_alloc(size * sizeof(*q->free));
    if (!q->owner || !q->free) {
        if (q->owner)
            npp_free(q->owner, size * sizeof(*q->owner));
        if (q->free)
            npp_free(q->free, size * sizeof(*q->free));
        page_free_contig(first, npages);
        return -ENOMEM;
    }
    ring_init(q, kseg_page(first), size, number);
    virtio_queue_place(d, q);
    return 0;
}

/* Reading the register acknowledges all reasons at once, so two CPUs that come here at the same
 * time, while the line moves, both call the driver or one of them does. */
static void interrupted(void *arg)
{
    struct virtio_device *d = arg;

    if (io_in8(d->port + REG_INTERRUPT)) {
        /* The driver looks at the ring (virtio_queue_answered) after this and not before: what is
         * answered from now on raises another interrupt, what was answered before is seen. */
        io_barrier();
        d->interrupt(d->arg);
    }
}

int virtio_start(struct virtio_device *d, void (*interrupt)(void *arg), void *arg)
{
    int err;

    d->interrupt = interrupt;
    d->arg = arg;
    err = irq_register(d->pci->irq, interrupted, d);
    if (!err)
        status_add(d, STATUS_RUNNING);
    return err;
}

void virtio_start_polled(const struct virtio_device *d) { status_add(d, STATUS_RUNNING); }

bool virtio_reset(const struct virtio_device *d)
{
    io_out8(d->port + REG_STATUS, 0);
    return io_in8(d->port + REG_STATUS) == 0;
}

void virtio_fail(struct virtio_device *d)
{
    io_out8(d->port + REG_STATUS, 0);
    status_add(d, STATUS_FAILED);
}

void virtio_queue_validate(struct validate *v, const struct virtio_queue *q)
{
    pfn_t first = paddr_to_pfn(kseg_paddr(q->ring));

    for (uint64_t k = 0; k << PAGE_SHIFT < ring_bytes(q->size); k++)
        validate_page(v, pfn_add(first, k), VALIDATE_PIPE);
}

uint8_t virtio_config8(const struct virtio_device *d, unsigned offset)
{
    return io_in8((uint16_t)(d->port + REG_CONFIG + offset));
}

uint64_t virtio_config(const struct virtio_device *d, unsigned offset, unsigned n)
{
    uint64_t v = 0;

    for (unsigned k = 0; k < n; k++)
        v |= (uint64_t)virtio_config8(d, offset + k) << 8 * k;
    return v;
}

void virtio_queue_notify(const struct virtio_device *d, const struct virtio_queue *q)
{
    io_barrier(); /* the request is in memory before the device is told */
    io_out16(d->port + REG_QUEUE_NOTIFY, q->number);
}
