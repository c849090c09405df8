/* Requests that move data between a disk and private pages of the current process. */
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
