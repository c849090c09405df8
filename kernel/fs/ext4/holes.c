/*
 * Holes made in files (fallocate). Pages of the file that are in memory stay, as zeroes: there may
 * be mappings of them. 16 pages at a time, with the mount's mutex: their blocks are freed, then
 * write access is taken away, so that the next store asks for blocks, and then they are cleared,
 * and count as written. Who stores meanwhile to a page that is still writable has done so before.
 *
 *     hole                                   store
 *     blocks are freed
 *                                            to a page with access: lost
 *     access is taken away
 *                                            asks for blocks, waits for the mutex
 *     cleared
 *
 * The file is locked exclusively.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/thread.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"

static void clear_pages(struct ext4_inode *i, uint64_t first, uint64_t n)
{
    struct mm_object *o = i->inode.object;

    (void)mm_downgrade(o, first, n, MAP_R);
    for (uint64_t k = first; k < first + n; k++) {
        pfn_t pfn = object_page_try_get(o, k);

        if (pfn_eq(pfn, PFN_NONE))
            continue;
        memset(kseg_page(pfn), 0, PAGE_SIZE);
        page_unref(pfn);
    }
    ext4_forget_stores(i, first, n);
}

/* Only some of the blocks could be freed. Pages leave memory. Those that stay, as they are locked
 * in it or were stored to, lose their write access, and have zeroes where the blocks are gone. */
static void forget(struct ext4_inode *i, uint64_t first, uint64_t n)
{
    uint64_t bytes = i->mount->about.block_bytes, each = PAGE_SIZE / bytes;

    (void)mm_downgrade(i->inode.object, first, n, 0);
    (void)mm_downgrade(i->inode.object, first, n, MAP_R);
    for (uint64_t k = first; k < first + n; k++) {
        pfn_t pfn = object_page_try_get(i->inode.object, k);
        struct ext4_run run;

        if (pfn_eq(pfn, PFN_NONE))
            continue;
        for (uint64_t b = 0; b < each; b++)
            if (!ext4_find_run(i->mount->volume, &i->node, k * each + b, &run) && !run.physical)
                memset((uint8_t *)kseg_page(pfn) + b * bytes, 0, bytes);
        page_unref(pfn);
    }
}

/* Of pages that are in no hole, at most EXT4_PAGES. m->mutex is held. If it fails, memory shows
 * what the disk has, but for pages that were stored to, where they have blocks still. */
static int make_hole(struct ext4_inode *i, uint64_t first, uint64_t n)
{
    struct ext4_volume *v = i->mount->volume;
    uint64_t each = PAGE_SIZE / i->mount->about.block_bytes;
    bool more = true;
    int err = 0;

    while (!err && more)
        err = ext4_punch(v, &i->node, first * each, (first + n) * each, &more);
    ext4_outdate(i, first << PAGE_SHIFT, (first + n) << PAGE_SHIFT);
    if (err)
        forget(i, first, n);
    else
        clear_pages(i, first, n);
    return err;
}

/* What is a hole already has no page that is not zero, and is passed over. m->mutex is held. */
static int make_some(struct ext4_inode *i, uint64_t first, uint64_t n, uint64_t *done)
{
    uint64_t each = PAGE_SIZE / i->mount->about.block_bytes;
    struct ext4_run run;
    int err = ext4_find_run(i->mount->volume, &i->node, first * each, &run);

    *done = MIN(n, (uint64_t)EXT4_PAGES);
    if (err)
        return err;
    if (run.physical || run.reserved || run.count < each)
        return make_hole(i, first, *done);
    *done = MIN(n, run.count / each);
    return 0;
}

int ext4_op_discard(struct inode *in, uint64_t first, uint64_t n)
{
    struct ext4_inode *i = ext4_inode_of(in);
    struct ext4 *m = i->mount;
    int err = ext4_may_change(i);

    if (!err && ext4_is_mapped(m->volume, &i->node))
        err = -EOPNOTSUPP;
    if (!err && n)
        err = ext4_drop_set_ids(in);
    for (uint64_t done = 0; !err && n; first += done, n -= done) {
        err = thread_killed() ? -EINTR : mutex_lock_killable(&m->mutex);
        if (err)
            break;
        err = make_some(i, first, n, &done);
        mutex_unlock(&m->mutex);
        ext4_mark(i); /* for the time of the change, which the caller sets with the file locked */
    }
    return err;
}
