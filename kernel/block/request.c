/* The memory of requests, and requests that are made and waited for at once. */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/private.h"
#include "kernel/sched/thread.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_charged.h"
#include "mm/space/pin.h"

static size_t block_bytes(const struct block_disk *d)
{
    return sizeof(struct block_request) + d->driver->room;
}

/* A request without pages, charged to an account. */
static struct block_request *make(const struct block_volume *v, enum block_kind kind,
                                  uint64_t sector, uint32_t nbytes, uint16_t account)
{
    struct block_disk *d = v->disk;
    struct block_request *r = npp_alloc_charged(block_bytes(d), account);

    if (!r)
        return NULL;
    memset(r, 0, offsetof(struct block_request, page));
    list_init(&r->link);
    list_init(&r->order);
    wait_queue_init(&r->done, "disk request");
    r->disk = d;
    r->sector = v->first + sector;
    r->nbytes = nbytes;
    r->account = account;
    r->kind = (uint8_t)kind;
    return r;
}

/* It has its pages: let the driver and the self-check know it. */
static struct block_request *complete(struct block_request *r)
{
    struct block_disk *d = r->disk;
    ipl_t ipl;

    d->driver->prepare(d, r);
    ipl = spin_lock(&d->lock);
    list_add_tail(&d->all, &r->all);
    spin_unlock(&d->lock, ipl);
    return r;
}

/* A request with pages of its own, allocated with these flags. */
static struct block_request *make_whole(const struct block_volume *v, enum block_kind kind,
                                        uint64_t sector, uint32_t nbytes, uint16_t account,
                                        unsigned flags)
{
    struct block_request *r = make(v, kind, sector, nbytes, account);

    if (!r)
        return NULL;
    r->npages = r->owned = (uint16_t)((nbytes + PAGE_MASK) >> PAGE_SHIFT);
    if (r->npages && page_alloc_bulk(flags, PAGE_T_SYSTEM, RAD_ANY, r->page, r->npages)) {
        npp_free_charged(r, block_bytes(v->disk), r->account);
        return NULL;
    }
    return complete(r);
}

struct block_request *block_new(const struct block_volume *v, enum block_kind kind, uint64_t sector,
                                uint32_t nbytes)
{
    return make_whole(v, kind, sector, nbytes, pool_account(), 0);
}

struct block_request *block_new_uncharged(const struct block_volume *v, enum block_kind kind,
                                          uint64_t sector, uint32_t nbytes)
{
    unsigned flags = thread_self()->settling ? PA_KERNEL : PA_SHARED;

    return make_whole(v, kind, sector, nbytes, 0, flags);
}

struct block_request *block_new_pinned(const struct block_volume *v, enum block_kind kind,
                                       uint64_t sector, uint32_t nbytes, uint32_t skip,
                                       const pfn_t *page, unsigned npages)
{
    struct block_request *r = make(v, kind, sector, nbytes, pool_account());

    if (!r)
        return NULL;
    r->pinned = true;
    r->skip = skip;
    r->npages = r->owned = (uint16_t)npages;
    for (unsigned k = 0; k < npages; k++)
        r->page[k] = page[k];
    return complete(r);
}

void block_unpin(struct block_request *r)
{
    for (unsigned k = 0; k < r->owned; k++)
        page_unpin(r->page[k]);
    r->owned = 0;
}

void block_free(struct block_request *r)
{
    if (r->pinned)
        block_unpin(r);
    else
        page_free_bulk(r->page, r->owned);
    npp_free_charged(r, block_bytes(r->disk), r->account);
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

static int flush(const struct block_volume *v, bool barrier)
{
    struct block_request *r = block_new(v, BLOCK_FLUSH, 0, 0);
    int err;

    if (!r)
        return -ENOMEM;
    r->barrier = barrier;
    block_submit(r);
    err = block_wait(r);
    block_drop(r);
    return err;
}

int block_flush(const struct block_volume *v) { return flush(v, false); }

int block_settle(const struct block_volume *v)
{
    ipl_t ipl = spin_lock(&v->disk->lock);
    bool any = !list_empty(&v->disk->writes);

    spin_unlock(&v->disk->lock, ipl);
    return any ? flush(v, true) : 0;
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
