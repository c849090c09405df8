/*
 * Ranges of a regular file: pages allocated ahead (fallocate), and ranges that are cleared. The
 * file is locked exclusively, for as long as the range takes: a thread that is to end leaves after
 * the page that it is at.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"
#include "kernel/sched/thread.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"

#define DISCARD_PAGES 256u /* in one step, each some hundred instructions */

/* Make the file at least `size` bytes long. i->lock is held. */
static int grow_to(struct inode *i, uint64_t size)
{
    return size > i->size ? i->ops->resize(i, size, false) : 0;
}

/* After an error the size is the old one. Pages that were made in holes stay: a mapping may have
   written to them already. A thread that is to end leaves the file as long as it has come, since
   to free all these pages again would take it as long as to make them. */
static int allocate_pages(struct inode *i, uint64_t offset, uint64_t n, bool grow)
{
    uint64_t at = offset >> PAGE_SHIFT, old = i->size, end = offset + n;
    int err = grow ? inode_check_seals(i, MAX(end, old), false) : 0;

    if (!err && grow)
        err = grow_to(i, end);
    end = MIN(end, i->size); /* pages behind the end are made when the file grows */
    for (; !err && at << PAGE_SHIFT < end; at += !err) {
        pfn_t pfn;

        err = thread_killed() ? -EINTR : object_page_get(i->object, at, MAP_R | MAP_W, &pfn);
        if (!err)
            page_unref(pfn);
    }
    if (err) /* making it shorter cannot fail */
        (void)i->ops->resize(i, err == -EINTR ? MAX(old, MIN(end, at << PAGE_SHIFT)) : old, false);
    else if (grow && i->size > old)
        inode_touch(i);
    else
        inode_touch_attributes(i);
    return err == -ENOMEM ? -ENOSPC : err;
}

int inode_allocate(struct inode *i, uint64_t offset, uint64_t n, bool grow)
{
    int err = mutex_lock_killable(&i->lock);

    if (err)
        return err;
    err = i->ops->allocate ? i->ops->allocate(i, offset, n, grow)
                           : allocate_pages(i, offset, n, grow);
    mutex_unlock(&i->lock);
    return err;
}

/* Are n bytes of one page zeroes? 1 or 0, or an error. */
static int is_clear(struct inode *i, uint64_t offset, uint64_t n)
{
    pfn_t pfn;
    int err = object_page_get(i->object, offset >> PAGE_SHIFT, MAP_R, &pfn);
    const uint8_t *p;
    uint64_t k = 0;

    if (err)
        return err;
    p = (const uint8_t *)kseg_page(pfn) + (offset & PAGE_MASK);
    while (k < n && !p[k])
        k++;
    page_unref(pfn);
    return k == n;
}

/* Overwrite n bytes of one page with zeroes. To the pager that is a store, for which it may have to
 * find storage: so it is none where they are zeroes, as in a hole. */
static int clear_part(struct inode *i, uint64_t offset, uint64_t n)
{
    const struct pager_ops *pager = object_pager(i->object);
    pfn_t pfn;
    int err = n ? is_clear(i, offset, n) : 1;

    if (!err)
        err = object_page_get(i->object, offset >> PAGE_SHIFT, MAP_R | MAP_W, &pfn);
    else
        return MIN(err, 0);
    if (err)
        return err;
    memset((uint8_t *)kseg_page(pfn) + (offset & PAGE_MASK), 0, n);
    page_unref(pfn);
    if (pager && pager->written)
        pager->written(i->object);
    return 0;
}

/* Clear whole pages, some at a time. */
static int clear_pages(struct inode *i, uint64_t first, uint64_t last)
{
    int err = 0;

    for (uint64_t n; !err && first < last; first += n) {
        if (thread_killed())
            return -EINTR;
        n = MIN(last - first, (uint64_t)DISCARD_PAGES);
        err = i->ops->discard(i, first, n);
    }
    return err;
}

int inode_clear(struct inode *i, uint64_t offset, uint64_t n, bool grow)
{
    uint64_t end = offset + n, first = (offset + PAGE_MASK) >> PAGE_SHIFT, last;
    int err = i->ops->discard ? mutex_lock_killable(&i->lock) : -EOPNOTSUPP;

    if (err)
        return err;
    err = inode_check_seals(i, grow ? MAX(end, i->size) : i->size, true);
    if (!err)
        err = i->ops->discard(i, first, 0);
    if (!err && grow)
        err = grow_to(i, end);
    end = MIN(end, i->size);
    last = end == i->size ? (end + PAGE_MASK) >> PAGE_SHIFT : end >> PAGE_SHIFT;
    if (!err && offset < end) {
        if (first > last) {
            err = clear_part(i, offset, end - offset); /* within one page */
        } else {
            err = clear_part(i, offset, (first << PAGE_SHIFT) - offset);
            if (!err)
                err = clear_pages(i, first, last);
            if (!err && end > last << PAGE_SHIFT)
                err = clear_part(i, last << PAGE_SHIFT, end - (last << PAGE_SHIFT));
        }
    }
    if (!err)
        inode_touch(i);
    mutex_unlock(&i->lock);
    return err;
}
