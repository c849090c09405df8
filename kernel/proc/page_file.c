/*
 * Page files on volumes: the header that mkswap has written, and requests to the disk.
 *
 * Slot n is page n + 1 of the volume, as the header has the first. Writing takes no memory: each
 * page file has one request, made when its use begins, that the pager uses again and again. The
 * pages of a request that reads become the pages of the process, so nothing is copied.
 *
 * A volume is claimed by compare-and-swap, so two who begin to use one at the same time find one
 * another; there is no lock.
 */
#include "kernel/proc/page_file.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/block/block.h"
#include "kernel/proc/swap_header.h"
#include "kernel/quota/quota.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"

static struct page_device {
    const struct block_volume *volume; /* NULL: unused; atomic */
    struct block_request *out;         /* what the pager writes with; while it is in use */
    uint64_t slots;
} devices[PAGEFILES_MAX];

static uint64_t sectors_per_page(const struct block_volume *v)
{
    return PAGE_SIZE / v->disk->sector_bytes;
}

static uint64_t sector_of(const struct block_volume *v, uint32_t slot)
{
    return ((uint64_t)slot + 1) * sectors_per_page(v);
}

static int device_read(void *device, uint32_t slot, unsigned n, pfn_t *pages)
{
    const struct block_volume *v = ((struct page_device *)device)->volume;
    struct block_request *r = block_new_uncharged(v, BLOCK_READ, sector_of(v, slot),
                                                  n * (uint32_t)PAGE_SIZE);
    int err;

    if (!r)
        return -ENOMEM;
    block_submit(r);
    /* A thread that settles what others wait for is to find the memory that it has. */
    err = thread_self()->settling ? block_wait_ended(r) : block_wait(r);
    if (!err)
        block_take_pages(r, pages);
    block_drop(r);
    return err;
}

static void *device_buffer(void *device, unsigned k)
{
    return kseg_page(((struct page_device *)device)->out->page[k]);
}

static int device_write(void *device, uint32_t slot, unsigned n)
{
    const struct page_device *d = device;

    if (!block_again(d->out, d->volume, sector_of(d->volume, slot), n * (uint32_t)PAGE_SIZE))
        return -EIO;
    block_submit(d->out);
    return block_wait(d->out);
}

static const struct pagefile_io device_io = {
    .read = device_read, .buffer = device_buffer, .write = device_write};

/* ---- beginning and end ---- */

static bool overlaps(const struct block_volume *a, const struct block_volume *b)
{
    return a->disk == b->disk && a->first < b->first + b->sectors &&
           b->first < a->first + a->sectors;
}

/* Claim a device for the volume. NULL with *err: -EBUSY, -ENOSPC. */
static struct page_device *claim(const struct block_volume *v, int *err)
{
    struct page_device *mine = NULL;

    for (unsigned k = 0; k < PAGEFILES_MAX && !mine; k++) {
        const struct block_volume *none = NULL;

        if (__atomic_compare_exchange_n(&devices[k].volume, &none, v, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            mine = &devices[k];
    }
    *err = mine ? 0 : -ENOSPC;
    for (unsigned k = 0; k < PAGEFILES_MAX; k++) {
        const struct block_volume *other = __atomic_load_n(&devices[k].volume, __ATOMIC_SEQ_CST);

        if (&devices[k] != mine && other && overlaps(other, v))
            *err = -EBUSY; /* of two at the same moment, perhaps both */
    }
    if (*err && mine)
        __atomic_store_n(&mine->volume, NULL, __ATOMIC_RELEASE);
    return *err ? NULL : mine;
}

/* Read the header and begin. page: one page of memory. */
static int begin(struct page_device *d, void *page)
{
    const struct block_volume *v = d->volume;
    struct swap_header h;
    int err;

    if (v->sectors < 2 * sectors_per_page(v))
        return -EINVAL;
    err = block_read(v, 0, page, (uint32_t)PAGE_SIZE);
    if (!err)
        err = swap_header(page, v->sectors * v->disk->sector_bytes, &h);
    if (err)
        return err;
    h.slots = MIN(h.slots, (uint64_t)PAGEFILE_SLOTS);
    d->out = block_new(v, BLOCK_WRITE, 0, PAGEFILE_CLUSTER * (uint32_t)PAGE_SIZE);
    if (!d->out)
        return -ENOMEM;
    d->out->finished = true; /* ready to be used: it was never submitted */
    d->slots = h.slots;
    err = pagefile_begin(&device_io, d, v->name, h.slots, h.bad, h.nbad);
    if (err)
        block_drop(d->out);
    return err;
}

int page_file_on(const struct block_volume *v)
{
    struct page_device *d;
    void *page;
    int err;

    _Static_assert(PAGEFILE_CLUSTER <= BLOCK_PAGES, "a cluster is one request");
    if (v->disk->read_only)
        return -EROFS;
    d = claim(v, &err);
    if (!d)
        return err;
    page = npp_alloc(PAGE_SIZE);
    err = page ? begin(d, page) : -ENOMEM;
    if (page)
        npp_free(page, PAGE_SIZE);
    if (err) {
        __atomic_store_n(&d->volume, NULL, __ATOMIC_RELEASE);
        return err;
    }
    quota_page_file((int64_t)d->slots);
    page_out_look();
    return 0;
}

const void *page_file_device(const struct block_volume *v)
{
    for (unsigned k = 0; k < PAGEFILES_MAX; k++)
        if (__atomic_load_n(&devices[k].volume, __ATOMIC_SEQ_CST) == v)
            return &devices[k];
    return NULL;
}

void page_file_ended(const void *device)
{
    struct page_device *d = &devices[(const struct page_device *)device - devices];

    block_drop(d->out);
    quota_page_file(-(int64_t)d->slots);
    __atomic_store_n(&d->volume, NULL, __ATOMIC_RELEASE);
}

int page_file_off(const struct block_volume *v)
{
    const void *device = page_file_device(v);
    int file = device ? pagefile_find(device) : -1;

    return file < 0 ? -EINVAL : page_out_close((unsigned)file, device);
}
