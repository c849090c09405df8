/* The memory of requests, and requests that are made and waited for at once. */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/private.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_charged.h"

static size_t block_bytes(const struct block_disk *d)
{
    return sizeof(struct block_request) + d->driver->room;
}

struct block_request *block_new(const struct block_volume *v, enum block_kind kind, uint64_t sector,
                                uint32_t nbytes)
{
    struct block_disk *d = v->disk;
    uint16_t account = pool_account();
    uint16_t npages = (uint16_t)((nbytes + PAGE_MASK) >> PAGE_SHIFT);
    struct block_request *r = npp_alloc_charged(block_bytes(d), account);
    ipl_t ipl;

    if (!r)
        return NULL;
    memset(r, 0, sizeof(*r));
    if (npages && page_alloc_bulk(0, PAGE_T_SYSTEM, RAD_ANY, r->page, npages)) {
        npp_free_charged(r, block_bytes(d), account);
        return NULL;
    }
    list_init(&r->link);
    list_init(&r->order);
    wait_queue_init(&r->done, "disk request");
    r->disk = d;
    r->sector = v->first + sector;
    r->nbytes = nbytes;
    r->npages = r->owned = npages;
    r->account = account;
    r->kind = (uint8_t)kind;
    d->driver->prepare(d, r);
    ipl = spin_lock(&d->lock);
    list_add_tail(&d->all, &r->all);
    spin_unlock(&d->lock, ipl);
    return r;
}

void block_release(struct block_request *r)
{
    struct block_disk *d = r->disk;
    ipl_t ipl = spin_lock(&d->lock);

    list_remove(&r->all);
    spin_unlock(&d->lock, ipl);
    page_free_bulk(r->page, r->owned);
    npp_free_charged(r, block_bytes(d), r->account);
}

bool block_again(struct block_request *r, const struct block_volume *v, uint64_t sector,
                 uint32_t nbytes)
{
    struct block_disk *d = r->disk;
    ipl_t ipl = spin_lock(&d->lock);
    bool ours = r->finished && !r->with_device;

    spin_unlock(&d->lock, ipl);
    if (!ours)
        return false;
    /* Nobody else knows it but disk.all, where it stays. */
    r->finished = false;
    r->err = 0;
    r->tries = 0;
    r->sector = v->first + sector;
    r->nbytes = nbytes;
    r->npages = (uint16_t)((nbytes + PAGE_MASK) >> PAGE_SHIFT);
    d->driver->prepare(d, r);
    return true;
}

void block_take_pages(struct block_request *r, pfn_t *pages)
{
    memcpy(pages, r->page, r->owned * sizeof(*pages));
    r->owned = 0;
}

int block_flush(const struct block_volume *v)
{
    struct block_request *r = block_new(v, BLOCK_FLUSH, 0, 0);
    int err;

    if (!r)
        return -ENOMEM;
    block_submit(r);
    err = block_wait(r);
    block_drop(r);
    return err;
}

int block_read(const struct block_volume *v, uint64_t sector, void *buf, uint32_t nbytes)
{
    struct block_request *r = block_new(v, BLOCK_READ, sector, nbytes);
    int err;

    if (!r)
        return -ENOMEM;
    block_submit(r);
    err = block_wait(r);
    if (!err)
        memcpy(buf, kseg_page(r->page[0]), nbytes);
    block_drop(r);
    return err;
}
