/*
 * Disks at the CMD646 IDE controller (ide.h).
 *
 * A channel carries out one command at a time, and its data goes through a port, so the processor
 * moves it and any memory will do. An interrupt only acknowledges and wakes the thread of the
 * disks, which moves the data at IPL 0 in `take`. One disk, the first, is used of each channel: two
 * would have to share it.
 *
 * The disk's lock protects `now` and the start of commands. Registers are otherwise the thread's,
 * as long as `now` is set.
 */
#include "kernel/drivers/ide.h"

#include "arch/alpha/clipper/irq.h"
#include "arch/alpha/clipper/pci.h"
#include "arch/alpha/hw/io.h"
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"

#define VENDOR   0x1095u
#define DEVICE   0x0646u
#define CHANNELS 2u
#define SECTOR   512u
#define MULTIPLE 16u /* sectors at a time: a page */

enum { /* offsets in a channel's first BAR; the second one has the control register at 2 */
       REG_DATA = 0,
       REG_COUNT = 2,
       REG_LBA = 3, /* three bytes */
       REG_DRIVE = 6,
       REG_STATUS = 7, /* reading acknowledges the interrupt; writing gives a command */
       CONTROL = 2
};
#define CONTROL_QUIET 0x2u /* no interrupts */

enum {
    STATUS_ERROR = 0x01,
    STATUS_DATA = 0x08,
    STATUS_FAULT = 0x20,
    STATUS_READY = 0x40,
    STATUS_BUSY = 0x80
};

enum {
    COMMAND_READ = 0x29, /* several sectors at a time, addresses of 48 bits; likewise the next */
    COMMAND_WRITE = 0x39,
    COMMAND_SET_MULTIPLE = 0xC6,
    COMMAND_FLUSH = 0xEA,
    COMMAND_IDENTIFY = 0xEC
};

#define DRIVE_FIRST_LBA 0x40u
#define NS_PER_MS       UINT64_C(1000000)
#define BOOT_MS         1000u /* a disk that does not answer at boot is none */
#define POLLS           1000u /* looks at the status register before an interrupt is waited for */

struct ide {
    struct block_disk disk;
    struct block_request *now; /* the one command under way; disk.lock */
    uint32_t left, at;         /* bytes of it to be moved, and where; the thread's */
    uint16_t port, control;    /* constant */
};

static void command(const struct ide *i, uint8_t code) { io_out8(i->port + REG_STATUS, code); }

/* Registers of a command with an address of 48 bits: each is written twice, its high part first. */
static void address(const struct ide *i, uint64_t sector, uint32_t count)
{
    io_out8(i->port + REG_DRIVE, DRIVE_FIRST_LBA);
    for (unsigned high = 2; high--;) {
        io_out8(i->port + REG_COUNT, (uint8_t)(count >> 8 * high));
        for (unsigned k = 0; k < 3; k++)
            io_out8((uint16_t)(i->port + REG_LBA + k), (uint8_t)(sector >> (24 * high + 8 * k)));
    }
}

static void prepare(struct block_disk *d, struct block_request *r) { (void)d, (void)r; }

static bool start(struct block_disk *d, struct block_request *r)
{
    static const uint8_t codes[BLOCK_KINDS] = {COMMAND_READ, COMMAND_WRITE, COMMAND_FLUSH};
    struct ide *i = d->device;

    if (i->now)
        return false;
    i->now = r;
    i->left = r->nbytes;
    i->at = 0;
    address(i, r->sector, r->nbytes / SECTOR);
    command(i, codes[r->kind]);
    return true;
}

/* The first part of a write is asked for without an interrupt. */
static void notify(struct block_disk *d)
{
    (void)d;
    block_wake();
}

/* The status as soon as the disk is not busy, or after POLLS looks. */
static uint8_t status_of(const struct ide *i)
{
    uint8_t status = 0;

    for (unsigned k = 0; k < POLLS; k++) {
        status = io_in8((uint16_t)(i->control + CONTROL));
        if (!(status & STATUS_BUSY))
            break;
    }
    return status;
}

/* Copy a sector between `words` and the request's pages, of which it is in one or two, at any byte:
 * the pages may be a program's. */
static void copy_sector(struct ide *i, const struct block_request *r, void *words)
{
    uint32_t at = r->skip + i->at;

    for (uint32_t done = 0, n; done < SECTOR; done += n) {
        char *p = (char *)kseg_page(r->page[(at + done) / PAGE_SIZE]) + (at + done) % PAGE_SIZE;
        char *w = (char *)words + done;

        n = (uint32_t)MIN(SECTOR - done, PAGE_SIZE - (at + done) % PAGE_SIZE);
        memcpy(r->kind == BLOCK_READ ? p : w, r->kind == BLOCK_READ ? w : p, n);
    }
}

static void move_sector(struct ide *i, const struct block_request *r)
{
    uint32_t words[SECTOR / sizeof(uint32_t)];

    if (r->kind != BLOCK_READ)
        copy_sector(i, r, words);
    for (uint32_t k = 0; k < ARRAY_SIZE(words); k++)
        if (r->kind == BLOCK_READ)
            words[k] = io_in32(i->port + REG_DATA);
        else
            io_out32(i->port + REG_DATA, words[k]);
    if (r->kind == BLOCK_READ)
        copy_sector(i, r, words);
    i->at += SECTOR;
    i->left -= SECTOR;
}

/* Move what the disk has ready, or takes: MULTIPLE sectors or the rest. */
static void move(struct ide *i, const struct block_request *r)
{
    for (unsigned k = 0; i->left && k < MULTIPLE; k++)
        move_sector(i, r);
}

/* Go on with the command under way. 1: it is to be waited for; 0: it has ended; -EIO. */
static int go_on(struct ide *i, const struct block_request *r)
{
    for (;;) {
        uint8_t status = status_of(i);

        if (status & STATUS_BUSY)
            return 1;
        if (status & (STATUS_ERROR | STATUS_FAULT))
            return -EIO;
        if (!i->left)
            return status & STATUS_DATA ? -EIO : 0;
        if (!(status & STATUS_DATA))
            return -EIO;
        move(i, r);
        if (!i->left && r->kind == BLOCK_READ)
            return 0;
    }
}

/* Only the thread of the disks comes here: an interrupt does not. */
static unsigned take(struct block_disk *d, unsigned most)
{
    struct ide *i = d->device;
    struct block_request *r;
    unsigned n;

    for (n = 0; n < most; n++) {
        ipl_t ipl = spin_lock(&d->lock);
        int err;

        r = i->now;
        spin_unlock(&d->lock, ipl);
        err = r ? go_on(i, r) : 1;
        if (err > 0)
            break;
        ipl = spin_lock(&d->lock);
        i->now = NULL;
        spin_unlock(&d->lock, ipl);
        block_ended(d, r, err);
    }
    return n;
}

static void interrupted(void *arg)
{
    const struct ide *i = arg;

    (void)io_in8(i->port + REG_STATUS);
    block_wake();
}

static const struct block_driver driver = {
    .prepare = prepare, .start = start, .notify = notify, .take = take};

/* ---- boot ---- */

/* Wait until the disk is not busy. Its status; STATUS_BUSY: it is for too long. */
static uint8_t wait_boot(const struct ide *i)
{
    uint64_t end = clock_ns() + BOOT_MS * NS_PER_MS;
    uint8_t status;

    do
        status = status_of(i);
    while ((status & STATUS_BUSY) && clock_ns() < end);
    return status;
}

/* Have the channel interrupt, or not; what it has asked for so far is over. */
static void interrupts(const struct ide *i, bool on)
{
    io_out8((uint16_t)(i->control + CONTROL), on ? 0 : CONTROL_QUIET);
    (void)io_in8(i->port + REG_STATUS);
}

/* Ask the disk what it is. -ENODEV: there is none; -EOPNOTSUPP: one of another kind; -EIO. */
static int identify(struct ide *i)
{
    uint16_t w[256];
    uint8_t status;

    io_out8(i->port + REG_DRIVE, DRIVE_FIRST_LBA);
    status = wait_boot(i);
    if (status == 0 || !(status & STATUS_READY) || (status & STATUS_BUSY))
        return -ENODEV;
    command(i, COMMAND_IDENTIFY);
    status = wait_boot(i);
    if ((status & (STATUS_BUSY | STATUS_ERROR | STATUS_DATA)) != STATUS_DATA)
        return -ENODEV; /* a drive for CDs, say */
    for (unsigned k = 0; k < 256; k++)
        w[k] = io_in16(i->port + REG_DATA);
    /* Addresses of 48 bits and the flush that goes with them; sectors of 512 bytes. */
    if (!(w[83] & 1 << 10) || !(w[83] & 1 << 13) || (w[106] & 0xD000) == 0x5000)
        return -EOPNOTSUPP;
    i->disk.sectors = w[100] | (uint64_t)w[101] << 16 | (uint64_t)w[102] << 32 |
                      (uint64_t)w[103] << 48;
    i->disk.sector_bytes = SECTOR;
    i->disk.has_cache = true;
    i->disk.driver = &driver;
    i->disk.device = i;
    io_out8(i->port + REG_COUNT, MULTIPLE);
    command(i, COMMAND_SET_MULTIPLE);
    status = wait_boot(i);
    return status & (STATUS_BUSY | STATUS_ERROR | STATUS_FAULT) ? -EIO : 0;
}

static int channel_boot(struct ide *i, unsigned irq)
{
    int err = identify(i);

    if (err)
        return err;
    err = irq_register(irq, interrupted, i);
    if (err)
        return err;
    err = block_register(&i->disk);
    if (err)
        return err;
    interrupts(i, true);
    block_scan(&i->disk);
    return 0;
}

static const struct pci_function *controller(void)
{
    const struct pci_function *f;

    for (unsigned k = 0; (f = pci_get(k)) != NULL; k++)
        if (f->vendor == VENDOR && f->device == DEVICE && (f->bar_is_io & 0xF) == 0xF)
            break;
    return f;
}

void ide_boot(void)
{
    const struct pci_function *f = controller();
    struct ide *channel[CHANNELS] = {NULL};

    /* The channels have one interrupt line. It is level-sensitive, so as long as a channel is asked
     * for its disk, without a handler, it must not interrupt. */
    for (unsigned k = 0; f && k < CHANNELS; k++) {
        struct ide *i = channel[k] = npp_alloc_zeroed(sizeof(*i));

        if (!i)
            return;
        i->port = (uint16_t)f->bar[2 * k];
        i->control = (uint16_t)f->bar[2 * k + 1];
        interrupts(i, false);
    }
    for (unsigned k = 0; f && k < CHANNELS; k++) {
        int err = channel_boot(channel[k], f->irq);

        if (err && err != -ENODEV)
            printk("the disk of IDE channel %u cannot be used (error %d)\n", k, err);
        if (err == -ENODEV || err == -EOPNOTSUPP)
            npp_free(channel[k], sizeof(*channel[k]));
    }
}
