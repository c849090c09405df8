/*
 * Transfers that nobody waits for (transfer.h), and requests to private pages of the current
 * process. `left` counts the requests before the first is submitted, so it reaches zero once.
 */
#include "kernel/block/transfer.h"

#include "kernel/base/errno.h"
#include "kernel/sched/thread.h"
#include "mm/space/pin.h"

int block_direct(const struct block_volume *v, enum block_kind kind, uint64_t sector, vaddr_t ubuf,
                 uint32_t nbytes, struct block_request **out)
{
    uint32_t skip = (uint32_t)(ubuf & PAGE_MASK);
    unsigned n = (unsigned)((skip + nbytes + PAGE_MASK) >> PAGE_SHIFT);
    pfn_t page[BLOCK_PAGES];
    int err = n <= BLOCK_PAGES ? aspace_pin(aspace_self(), ubuf, n, page) : -EINVAL;

    if (err)
        return err;
    *out = block_new_pinned(v, kind, sector, nbytes, skip, page, n);
    while (!*out && n--)
        page_unpin(page[n]);
    return *out ? 0 : -ENOMEM;
}

void block_transfer_begin(struct block_transfer *t, const struct block_volume *v,
                          enum block_kind kind, uint64_t at, void (*done)(struct block_transfer *t))
{
    t->volume = v;
    t->sector = at >> v->disk->sector_shift;
    t->nbytes = 0;
    t->first = NULL;
    t->last = &t->first;
    t->kind = kind;
    t->left = 0;
    t->err = 0;
    t->done = done;
}

static void ended(struct block_request *r)
{
    struct block_transfer *t = r->owner;

    if (r->err && !t->err)
        t->err = r->err;
    if (--t->left == 0)
        t->done(t);
}

static void add(struct block_transfer *t, struct block_request *r)
{
    r->ended = ended;
    r->owner = t;
    *t->last = r;
    t->last = &r->next;
    t->left++; /* nobody else knows the requests yet */
}

int block_transfer_add(struct block_transfer *t, vaddr_t ubuf, uint64_t n)
{
    while (n) {
        uint32_t most = (uint32_t)(BLOCK_PAGES * PAGE_SIZE - (ubuf & PAGE_MASK)) &
                        ~(t->volume->disk->sector_bytes - 1);
        uint32_t part = (uint32_t)MIN(n, most);
        struct block_request *r;
        int err = thread_killed() ? -EINTR
                                  : block_direct(t->volume, t->kind, t->sector, ubuf, part, &r);

        if (err)
            return err;
        add(t, r);
        t->sector += part >> t->volume->disk->sector_shift;
        t->nbytes += part;
        ubuf += part;
        n -= part;
    }
    return 0;
}

int block_transfer_flush(struct block_transfer *t)
{
    struct block_request *r = block_new(t->volume, BLOCK_FLUSH, 0, 0);

    if (!r)
        return -ENOMEM;
    add(t, r);
    return 0;
}

void block_transfer_submit(struct block_transfer *t)
{
    struct block_request *r = t->first, *next;

    /* The last may end, and t with it, before the call returns. */
    for (; r; r = next) {
        next = r->next;
        block_submit(r);
    }
}

void block_transfer_end(struct block_transfer *t, bool carry_out)
{
    struct block_request *r;

    while ((r = t->first)) {
        t->first = r->next;
        if (carry_out && t->kind != BLOCK_READ)
            block_leave(r);
        else
            block_drop(r);
    }
}
