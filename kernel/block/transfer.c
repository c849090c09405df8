/*
 * Transfers that nobody waits for (transfer.h), and requests to private pages of the current
 * process. `left` counts the requests before the first is submitted, so it reaches zero once.
 */
#include "kernel/block/transfer.h"

#include "kernel/base/errno.h"
#include "kernel/block/private.h"
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

void block_transfer_init(struct block_transfer *t)
{
    t->first = NULL;
    t->kept = NULL;
}

static void ended(struct block_request *r)
{
    struct block_transfer *t = r->owner;

    if (unlikely(r->err) && !t->err)
        t->err = r->err;
    t->with_device |= r->with_device; /* of a device that has failed */
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

static inline unsigned pages_of(vaddr_t va, uint32_t n)
{
    return (unsigned)(((va & PAGE_MASK) + n + PAGE_MASK) >> PAGE_SHIFT);
}

/* Use r, that of the transfer before, for the next n bytes, at va, whose pages it has. */
static inline void renew(struct block_transfer *t, struct block_request *r, vaddr_t va, uint32_t n)
{
    r->kind = (uint8_t)t->kind;
    r->sector = t->volume->first + t->sector;
    r->nbytes = n;
    r->skip = (uint32_t)(va & PAGE_MASK);
    r->npages = r->owned = (uint16_t)pages_of(va, n);
    r->finished = false;
    r->err = 0;
    r->tries = 0;
    r->disk->driver->prepare(r->disk, r);
    t->kept = NULL;
}

/* Add a request for the next n bytes. */
static inline void add_next(struct block_transfer *t, struct block_request *r, uint32_t n)
{
    add(t, r);
    t->sector += n >> t->volume->disk->sector_shift;
    t->nbytes += n;
}

/* Add a request for the next n bytes, at ubuf. As block_direct(). */
static inline int add_request(struct block_transfer *t, vaddr_t ubuf, uint32_t n)
{
    struct block_request *r = t->kept;
    int err;

    if (likely(r && r->disk == t->volume->disk)) {
        err = aspace_pin(aspace_self(), ubuf, pages_of(ubuf, n), r->page);
        if (likely(!err))
            renew(t, r, ubuf, n);
    } else {
        err = block_direct(t->volume, t->kind, t->sector, ubuf, n, &r);
    }
    if (unlikely(err))
        return err;
    add_next(t, r, n);
    return 0;
}

/* The most bytes of one request, whole sectors. */
static uint64_t most_bytes(const struct block_transfer *t, vaddr_t ubuf)
{
    return (BLOCK_PAGES * PAGE_SIZE - (ubuf & PAGE_MASK)) &
           ~(uint64_t)(t->volume->disk->sector_bytes - 1);
}

/* The same for more than one request has room for. */
static int __attribute__((noinline)) add_several(struct block_transfer *t, vaddr_t ubuf, uint64_t n)
{
    int err = 0;

    while (n && !err) {
        uint64_t part = MIN(n, most_bytes(t, ubuf));

        err = thread_killed() ? -EINTR : add_request(t, ubuf, (uint32_t)part);
        ubuf += part;
        n -= part;
    }
    return err;
}

int block_transfer_add(struct block_transfer *t, vaddr_t ubuf, uint64_t n)
{
    if (unlikely(!n || n > BLOCK_PAGES * PAGE_SIZE - (ubuf & PAGE_MASK)))
        return add_several(t, ubuf, n);
    return add_request(t, ubuf, (uint32_t)n);
}

/* The same at va in a set: pin its pages once more. */
static inline void pin_of_set(const struct pin_set *s, vaddr_t va, unsigned npages, pfn_t *page)
{
    unsigned k = 0;

    do { /* there is one at least */
        page[k] = pin_set_page(s, va + k * PAGE_SIZE);
        page_pin_again(page[k]);
    } while (++k < npages);
}

static int __attribute__((noinline)) add_new_of_set(struct block_transfer *t,
                                                    const struct pin_set *s, vaddr_t va, uint32_t n)
{
    unsigned npages = pages_of(va, n);
    struct block_request *r;
    pfn_t page[BLOCK_PAGES];

    pin_of_set(s, va, npages, page);
    r = block_new_pinned(t->volume, t->kind, t->sector, n, (uint32_t)(va & PAGE_MASK), page,
                         npages);
    while (unlikely(!r) && npages)
        page_unpin(page[--npages]);
    if (unlikely(!r))
        return -ENOMEM;
    add_next(t, r, n);
    return 0;
}

static inline int add_of_set(struct block_transfer *t, const struct pin_set *s, vaddr_t va,
                             uint32_t n)
{
    struct block_request *r = t->kept;

    if (unlikely(!r || r->disk != t->volume->disk))
        return add_new_of_set(t, s, va, n);
    pin_of_set(s, va, pages_of(va, n), r->page);
    renew(t, r, va, n);
    add_next(t, r, n);
    return 0;
}

static int __attribute__((noinline))
add_several_of_set(struct block_transfer *t, const struct pin_set *s, vaddr_t va, uint64_t n)
{
    int err = 0;

    while (n && !err) {
        uint64_t part = MIN(n, most_bytes(t, va));

        err = thread_killed() ? -EINTR : add_of_set(t, s, va, (uint32_t)part);
        va += part;
        n -= part;
    }
    return err;
}

int block_transfer_add_set(struct block_transfer *t, const struct pin_set *s, vaddr_t va,
                           uint64_t n)
{
    if (unlikely(n > BLOCK_PAGES * PAGE_SIZE - (va & PAGE_MASK)))
        return add_several_of_set(t, s, va, n);
    return add_of_set(t, s, va, (uint32_t)n);
}

int block_transfer_flush(struct block_transfer *t)
{
    struct block_request *r = block_new(t->volume, BLOCK_FLUSH, 0, 0);

    if (!r)
        return -ENOMEM;
    add(t, r);
    return 0;
}

void block_few_add(struct block_few *f, struct block_transfer *t)
{
    struct block_request *r = t->first, *next;

    /* When the last is submitted it may end, and t with it. */
    for (; r; r = next) {
        next = r->next;
        if (f->n == BLOCK_FEW) {
            block_submit_few(f->request, BLOCK_FEW);
            f->n = 0;
        }
        f->request[f->n++] = r;
    }
}

void block_few_end(struct block_few *f, struct block_disk *d)
{
    block_submit_few(f->request, f->n);
    block_notify(d);
}

static void __attribute__((noinline)) submit_several(struct block_transfer *t)
{
    struct block_disk *d = t->volume->disk;
    struct block_few few;

    block_few_init(&few);
    block_few_add(&few, t);
    block_few_end(&few, d);
}

void block_transfer_submit(struct block_transfer *t)
{
    if (likely(!t->first->next))
        block_submit(t->first);
    else
        submit_several(t);
}

void block_transfer_over(struct block_transfer *t)
{
    struct block_request *r = t->first;

    if (!r)
        return;
    /* Of several the others are not worth their memory. */
    if (unlikely(r->next || !r->pinned || t->kept || t->with_device)) {
        block_transfer_end(t, true);
        return;
    }
    if (likely(r->owned == 1))
        page_unpin(r->page[0]);
    else
        block_unpin(r);
    r->owned = 0;
    t->kept = r;
    t->first = NULL;
}

void block_transfer_end(struct block_transfer *t, bool carry_out)
{
    struct block_request *r;

    if (t->kept)
        block_drop(t->kept);
    t->kept = NULL;
    while ((r = t->first)) {
        t->first = r->next;
        if (carry_out && t->kind != BLOCK_READ)
            block_leave(r);
        else
            block_drop(r);
    }
}
