/*
 * Writing to files. What is written to blocks that the file has stays in its pages, and is written
 * back later (stores.c), unless many pages are. Other blocks are found and written within a step of
 * the journal, so that no commit makes them the file's before their contents are there: the call
 * returns when the disk has them, and an error is that of the call.
 *
 * Whole blocks are written, with zeroes behind the end of the file, which its last page has there.
 *
 * The file is locked exclusively, by sync and by who writes back shared, so its blocks are its own
 * meanwhile.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"

#define NS_PER_S UINT64_C(1000000000)

/* What is written: from kernel memory or, if that is NULL, from user memory. */
struct source {
    vaddr_t ubuf;
    const uint8_t *kbuf;
    uint64_t at; /* in the file */
    size_t n;
};

static struct ext4_volume *volume_of(const struct ext4_inode *i) { return i->mount->volume; }

/* ---- to the disk ---- */

/* Write n bytes of the part, from `at` of the file on, to a place on the volume. At most as much as
 * a request takes. */
static int write_out(const struct ext4_part *p, uint64_t at, uint64_t place, uint32_t n)
{
    const struct block_volume *v = p->i->mount->disk;
    /* memory to write back with is not the user's: his pages cannot be freed without it */
    struct block_request *r = (p->back ? block_new_uncharged : block_new)(
        v, BLOCK_WRITE, place / v->disk->sector_bytes, n);
    int err;

    if (!r)
        return -ENOMEM;
    for (uint32_t done = 0, some; done < n; done += some) {
        uint64_t from = at + done;

        some = (uint32_t)MIN(MIN(n - done, PAGE_SIZE - (done & PAGE_MASK)),
                             PAGE_SIZE - (from & PAGE_MASK));
        memcpy((uint8_t *)kseg_page(r->page[done >> PAGE_SHIFT]) + (done & PAGE_MASK),
               (uint8_t *)kseg_page(p->page[(from >> PAGE_SHIFT) - p->first]) + (from & PAGE_MASK),
               some);
    }
    for (uint64_t done = p->end > at ? p->end - at : 0, some; done < n; done += some) {
        some = MIN(n - done, PAGE_SIZE - (done & PAGE_MASK));
        memset((uint8_t *)kseg_page(r->page[done >> PAGE_SHIFT]) + (done & PAGE_MASK), 0, some);
    }
    block_submit(r);
    err = block_wait_ended(r);
    block_drop(r);
    return err;
}

/* Has the part nothing but zeroes in the n bytes of the file from `at` on? */
static bool is_zero(const struct ext4_part *p, uint64_t at, uint64_t n)
{
    uint64_t end = MIN(at + n, p->end);

    for (; at < end; at += sizeof(uint64_t)) /* whole blocks; what is behind the end is zeroes */
        if (*(const uint64_t *)((uint8_t *)kseg_page(p->page[(at >> PAGE_SHIFT) - p->first]) +
                                (at & PAGE_MASK)))
            return false;
    return true;
}

static bool is_stale(const struct ext4_node *n)
{
    return (uint64_t)n->mtime_ns / NS_PER_S != clock_wall_ns() / NS_PER_S;
}

/* Within a step: blocks for [block, block + count), and their contents; the file is `size` bytes
 * long afterwards if it has come so far. */
static int fill(const struct ext4_part *p, uint64_t block, uint64_t count, uint64_t size,
                uint64_t *done)
{
    struct ext4_node *n = &p->i->node;
    uint32_t bytes = p->i->mount->about.block_bytes;
    struct ext4_run run;
    bool fresh;
    int err = ext4_edit_node(volume_of(p->i), n);

    if (!err)
        err = ext4_have_blocks(volume_of(p->i), n, block, count, &run, &fresh);
    if (!err)
        err = write_out(p, block * bytes, run.physical * bytes, (uint32_t)(run.count * bytes));
    if (err)
        return err;
    *done = run.count;
    n->size = MAX(n->size, MIN(size, (block + run.count) * bytes));
    n->mtime_ns = n->ctime_ns = (int64_t)clock_wall_ns();
    return ext4_write_node(volume_of(p->i), n, false);
}

static int fill_step(const struct ext4_part *p, uint64_t block, uint64_t count, uint64_t size,
                     uint64_t *done)
{
    struct ext4_volume *v = volume_of(p->i);
    unsigned tries = 0;
    int err;

    do {
        err = ext4_step(v);
        if (!err)
            err = ext4_step_end(v, fill(p, block, count, size, done));
    } while (ext4_step_again(v, &err, tries++));
    return err;
}

int ext4_write_blocks(const struct ext4_part *p, uint64_t block, uint64_t count, uint64_t size,
                      uint64_t *done)
{
    struct ext4 *m = p->i->mount;
    struct ext4_node *n = &p->i->node;
    uint32_t bytes = m->about.block_bytes;
    struct ext4_run run;
    bool there;
    int err = mutex_lock_killable(&m->mutex);

    if (err)
        return err;
    err = ext4_volume_writes(m->volume) ? ext4_find_run(m->volume, n, block, &run) : -EROFS;
    run.count = err ? 0 : MIN(run.count, count);
    if (!err && p->back && !run.physical &&
        is_zero(p, block * bytes, (uint64_t)run.count * bytes)) {
        mutex_unlock(&m->mutex);
        *done = run.count; /* no store has asked for blocks: it is a hole */
        return 0;
    }
    there = run.count && run.physical && (p->back || !is_stale(n)) &&
            n->size >= MIN(size, (block + run.count) * bytes);
    if (!err && !there)
        err = fill_step(p, block, count, size, done);
    mutex_unlock(&m->mutex);
    if (err || !there)
        return err;
    *done = run.count;
    err = write_out(p, block * bytes, run.physical * bytes, (uint32_t)(run.count * bytes));
    if (err != -ENOMEM || run.count * bytes <= PAGE_SIZE)
        return err;
    *done = PAGE_SIZE / bytes; /* with as little memory as can be */
    return write_out(p, block * bytes, run.physical * bytes, PAGE_SIZE);
}

/* The blocks of a part that are within the file. */
static uint64_t blocks_of(const struct ext4_part *p, uint64_t *first)
{
    uint64_t bytes = p->i->mount->about.block_bytes;
    uint64_t to = MIN((p->first + p->npages) << PAGE_SHIFT, p->i->node.size);

    *first = (p->first << PAGE_SHIFT) / bytes;
    return (to + bytes - 1) / bytes;
}

int ext4_has_part(const struct ext4_part *p, bool *there)
{
    uint64_t block, end = blocks_of(p, &block);
    int err = ext4_volume_writes(volume_of(p->i)) ? 0 : -EROFS;

    *there = true;
    while (!err && *there && block < end) {
        struct ext4_run run;

        err = ext4_find_run(volume_of(p->i), &p->i->node, block, &run);
        *there = !err && run.physical;
        block += err ? 0 : run.count;
    }
    return err;
}

int ext4_have_part(const struct ext4_part *p)
{
    uint64_t block, end = blocks_of(p, &block), done;
    struct ext4_run run;
    int err = ext4_volume_writes(volume_of(p->i)) ? 0 : -EROFS;

    for (; !err && block < end; block += done) {
        err = ext4_find_run(volume_of(p->i), &p->i->node, block, &run);
        done = err ? 0 : run.count;
        if (!err && !run.physical)
            err = fill_step(p, block, MIN(run.count, end - block), 0, &done);
    }
    return err;
}

/* ---- in memory ---- */

static void drop(struct ext4_part *p)
{
    for (uint32_t k = 0; k < p->npages; k++)
        page_unref(p->page[k]);
    p->npages = 0;
}

static int copy_some(const struct source *s, uint64_t to, uint8_t *page, size_t n)
{
    if (s->kbuf)
        memcpy(page, s->kbuf + (to - s->at), n);
    return s->kbuf ? 0 : copyin(page, s->ubuf + (to - s->at), n);
}

/* A page that is not in memory and is overwritten whole is not read: one that has the new bytes
 * takes its place at once. False: it could not be made; *fault: because the bytes cannot be
 * read. */
static bool hold_filled(struct ext4_part *p, uint64_t index, const struct source *s, bool *fault)
{
    pfn_t pfn, out;

    if (index << PAGE_SHIFT < s->at || (index + 1) << PAGE_SHIFT > s->at + s->n ||
        ext4_page_new(p->i, &pfn))
        return false;
    if (copy_some(s, index << PAGE_SHIFT, kseg_page(pfn), PAGE_SIZE)) {
        page_free(pfn);
        *fault = true;
        return false;
    }
    if (ext4_offer_page(p->i, index, pfn, &out))
        return false;
    if (pfn_eq(out, pfn))
        p->filled |= 1u << p->npages;
    p->page[p->npages++] = out;
    return true;
}

/* Have the pages of what is written, up to the first one for which not all bytes can be read. */
static int hold(struct ext4_part *p, const struct source *s)
{
    uint64_t end = (s->at + s->n + PAGE_MASK) >> PAGE_SHIFT;
    bool fault = false;
    int err = 0;

    p->first = s->at >> PAGE_SHIFT;
    p->npages = p->filled = 0;
    while (!err && !fault && p->first + p->npages < end) {
        uint64_t index = p->first + p->npages;
        pfn_t pfn = object_page_try_get(p->i->inode.object, index);

        if (pfn_eq(pfn, PFN_NONE) && hold_filled(p, index, s, &fault))
            continue;
        if (pfn_eq(pfn, PFN_NONE))
            err = object_page_get(p->i->inode.object, index, MAP_R, &pfn);
        if (!err)
            p->page[p->npages++] = pfn;
    }
    if (err)
        drop(p);
    return err;
}

/* Returns how many bytes were copied, or an error: none. */
static long copy_in(const struct ext4_part *p, const struct source *s)
{
    size_t done = 0;

    while (done < s->n) {
        uint64_t to = s->at + done, within = to & PAGE_MASK, k = (to >> PAGE_SHIFT) - p->first;
        size_t some = MIN(s->n - done, PAGE_SIZE - within);
        int err = k < p->npages ? 0 : -EFAULT;

        if (!err && !(p->filled >> k & 1))
            err = copy_some(s, to, (uint8_t *)kseg_page(p->page[k]) + within, some);
        if (err)
            return done ? (long)done : err;
        done += some;
    }
    return (long)done;
}

/* ---- one part after the other ---- */

static uint64_t pages_of(uint64_t bytes) { return (bytes + PAGE_MASK) >> PAGE_SHIFT; }

/* The length is the node's; the object has as many pages. */
static void show_size(struct ext4_inode *i)
{
    __atomic_store_n(&i->inode.size, i->node.size, __ATOMIC_RELEASE);
    object_truncate(i->inode.object, pages_of(i->node.size));
}

/* Write [at, at + n), which the part has, as whole blocks. What could not be written is not in
 * memory either. Returns how many bytes, or an error. */
static long write_back(struct ext4_part *p, uint64_t at, size_t n)
{
    uint64_t bytes = p->i->mount->about.block_bytes, block = at / bytes;
    uint64_t end = (at + n + bytes - 1) / bytes, done = 0;
    int err = 0;

    while (!err && block < end) {
        err = ext4_write_blocks(p, block, end - block, at + n, &done);
        block += err ? 0 : done;
    }
    if (err && block * bytes <= at)
        return err;
    return (long)(MIN(block * bytes, at + n) - at);
}

/* Has the file blocks for all of the part, which then need not be written now? An error is one of
 * the write that follows, too. */
static bool can_wait(const struct ext4_part *p)
{
    struct ext4 *m = p->i->mount;
    bool there = false;

    if (ext4_many_stored(m) || mutex_lock_killable(&m->mutex))
        return false;
    if (ext4_has_part(p, &there))
        there = false;
    mutex_unlock(&m->mutex);
    return there;
}

/* The pages of the part as far as something was written to them, up to `end` of the file. */
static int store_later(const struct ext4_part *p, uint64_t end)
{
    return ext4_store_later(p->i, p->first, (uint32_t)(pages_of(end) - p->first));
}

/* At most as much as a part has pages for. What makes the file longer is written at once, so that
 * no commit has the length without the bytes. */
static long write_part(struct ext4_part *p, const struct source *s)
{
    struct inode *in = &p->i->inode;
    uint64_t old = in->size, end = s->at + s->n;
    long r;

    p->end = MAX(old, end);
    if (end > old)
        object_truncate(in->object, pages_of(end));
    r = hold(p, s);
    if (!r) {
        r = copy_in(p, s);
        if (r > 0 && (end > old || !can_wait(p) || store_later(p, s->at + (uint64_t)r)))
            r = write_back(p, s->at, (size_t)r);
        drop(p);
    }
    if (r < (long)s->n) { /* the others may have bytes that the disk has not */
        uint64_t first = (s->at + (uint64_t)MAX(r, 0L)) >> PAGE_SHIFT;

        (void)mm_downgrade(in->object, first, pages_of(end) - first, 0);
    }
    if (end > old)
        show_size(p->i);
    return r;
}

/* The block with the end of the file, as it is in memory. */
static int write_end_block(const struct ext4_part *p, uint64_t size)
{
    uint64_t bytes = p->i->mount->about.block_bytes, at = size & ~(bytes - 1);
    struct ext4_run run;
    int err = size == at ? 0 : mutex_lock_killable(&p->i->mount->mutex);

    if (err || size == at)
        return err;
    err = ext4_volume_writes(volume_of(p->i))
              ? ext4_find_run(volume_of(p->i), &p->i->node, at / bytes, &run)
              : -EROFS;
    mutex_unlock(&p->i->mount->mutex);
    if (err || !run.physical)
        return err;
    return write_out(p, at, run.physical * bytes, (uint32_t)bytes);
}

/* Zeroes follow the end, in its page and in its block, which may be shorter, or none. For a file
 * that becomes longer otherwise than from its end on, and one that has become shorter. */
static int write_end(struct ext4_part *p, uint64_t size)
{
    int err = size & PAGE_MASK ? hold(p, &(struct source){.at = size, .n = 1}) : 0;

    if (err || !(size & PAGE_MASK))
        return err;
    p->end = size;
    memset((uint8_t *)kseg_page(p->page[0]) + (size & PAGE_MASK), 0,
           PAGE_SIZE - (size & PAGE_MASK));
    err = write_end_block(p, size);
    drop(p);
    return err;
}

/* The file was `old` bytes long, and has become longer, other than by a write from there on: the
 * page with its old end has got blocks that are holes. A store to it asks for them. */
static void ask_again(struct ext4_inode *i, uint64_t old)
{
    if (old & PAGE_MASK)
        (void)mm_downgrade(i->inode.object, old >> PAGE_SHIFT, 1, MAP_R);
}

/* Can the contents of a file be changed? A volume that is only read is not opened for writing, but
 * truncate() takes a path, and a journal may have ended since. */
static int may_write(struct ext4_inode *i)
{
    int err = mutex_lock_killable(&i->mount->mutex);

    if (err)
        return err;
    if (!ext4_volume_writes(volume_of(i)))
        err = -EROFS;
    else if (ext4_is_inline(&i->node))
        err = -EOPNOTSUPP;
    mutex_unlock(&i->mount->mutex);
    return err;
}

/* What a truncation that was killed has left. */
static int finish_cut(struct ext4_inode *i, bool killable)
{
    struct ext4 *m = i->mount;
    bool more = __atomic_load_n(&i->node.cutting, __ATOMIC_RELAXED);
    int err = 0;

    while (!err && more) {
        err = killable && thread_killed() ? -EINTR : mutex_lock_killable(&m->mutex);
        if (err)
            break;
        err = ext4_cut(m->volume, &i->node, &more);
        mutex_unlock(&m->mutex);
    }
    return err;
}

int ext4_may_change(struct ext4_inode *i)
{
    int err = may_write(i);

    return err ? err : finish_cut(i, true);
}

int ext4_drop_set_ids(struct inode *in)
{
    /* as a change of the owner does, with what the mode is then */
    const struct fs_change to = {.which = FS_SET_OWNER, .uid = UINT32_MAX, .gid = UINT32_MAX};

    return inode_set_id_bits(__atomic_load_n(&in->mode, __ATOMIC_RELAXED)) ? ext4_op_change(in, &to)
                                                                           : 0;
}

long ext4_op_write(struct inode *in, uint64_t offset, vaddr_t ubuf, const void *kbuf, size_t n)
{
    struct ext4_part p = {.i = ext4_inode_of(in)};
    uint64_t old = in->size;
    size_t done = 0;
    long r = 0;
    int err = ext4_may_change(p.i);

    if (!err)
        err = ext4_drop_set_ids(in);
    if (!err && offset > in->size)
        err = write_end(&p, in->size);
    if (err)
        return err;
    while (done < n) {
        uint64_t at = offset + done;
        size_t some = MIN(n - done, EXT4_PAGES * PAGE_SIZE - (at & PAGE_MASK));
        struct source s = {ubuf + done, kbuf ? (const uint8_t *)kbuf + done : NULL, at, some};

        r = thread_killed() ? -EINTR : write_part(&p, &s);
        done += r > 0 ? (size_t)r : 0;
        if (r < (long)some)
            break;
    }
    if (offset > old)
        ask_again(p.i, old);
    return done ? (long)done : r;
}

/* ---- length ---- */

static int set_size(struct ext4_inode *i, uint64_t size)
{
    struct ext4 *m = i->mount;
    uint64_t old = i->inode.size;
    int err = mutex_lock_killable(&m->mutex);

    if (err)
        return err;
    i->node.mtime_ns = i->node.ctime_ns = (int64_t)clock_wall_ns();
    err = ext4_set_size(m->volume, &i->node, size);
    mutex_unlock(&m->mutex);
    if (err)
        return err;
    show_size(i);
    if (size > old)
        ask_again(i, old);
    if (size >= old)
        return 0;
    mutex_lock(&m->mutex); /* after that, nothing that was read before comes into memory */
    ext4_outdate(i, size, UINT64_MAX);
    mutex_unlock(&m->mutex);
    return 0;
}

/* A file without a name is not on the list of those being cut: it will be freed whole. */
static int punch_rest(struct ext4_inode *i)
{
    uint64_t first = (i->node.size + i->mount->about.block_bytes - 1) / i->mount->about.block_bytes;
    bool more = true;
    int err = 0;

    while (!err && more) {
        err = thread_killed() ? -EINTR : mutex_lock_killable(&i->mount->mutex);
        if (err)
            break;
        err = ext4_punch(volume_of(i), &i->node, first, UINT32_MAX, &more);
        mutex_unlock(&i->mount->mutex);
    }
    return err;
}

/* Blocks that a killed thread leaves behind the end are freed before the file gets others, or by
 * the mount's thread. */
int ext4_op_resize(struct inode *in, uint64_t size, bool killable)
{
    struct ext4_part p = {.i = ext4_inode_of(in)};
    uint64_t old = in->size;
    int err = may_write(p.i);

    if (!err)
        err = finish_cut(p.i, killable);
    if (!err)
        err = ext4_drop_set_ids(in);
    if (!err && size > old)
        err = write_end(&p, old);
    if (!err && size != old)
        err = set_size(p.i, size);
    if (err || size >= old)
        return err;
    err = write_end(&p, size);
    if (!err && in->nlink)
        err = finish_cut(p.i, killable);
    else if (!err)
        err = punch_rest(p.i);
    if (__atomic_load_n(&p.i->node.cutting, __ATOMIC_RELAXED))
        ext4_cut_later(p.i);
    return err == -EINTR ? 0 : err;
}

int ext4_op_allocate(struct inode *in, uint64_t offset, uint64_t n, bool grow)
{
    struct ext4_inode *i = ext4_inode_of(in);
    uint64_t bytes = i->mount->about.block_bytes, block = offset / bytes;
    uint64_t end = (offset + n + bytes - 1) / bytes, done = 0, old = in->size;
    int err = ext4_may_change(i);

    if (!err && grow && offset + n > in->size)
        err = ext4_op_resize(in, offset + n, true);
    end = MIN(end, (in->size + bytes - 1) / bytes); /* none behind the end of the file */
    while (!err && block < end) {
        err = thread_killed() ? -EINTR : mutex_lock_killable(&i->mount->mutex);
        if (err)
            break;
        err = ext4_reserve_blocks(volume_of(i), &i->node, block, end - block, &done);
        mutex_unlock(&i->mount->mutex);
        block += done;
    }
    if (err && in->size > old)
        (void)ext4_op_resize(in, old, true); /* with what was reserved, but for a killed one */
    return err;
}

/* ---- sync ---- */

int ext4_sync_volume(struct ext4 *m)
{
    struct ext4_journal *j = m->volume->journal;
    bool any = j && j->changed;
    int err;

    if (!j)
        return 0;
    err = ext4_commit(m->volume);
    return err || any ? err : ext4_store_flush(&j->store);
}

int ext4_store_times(struct ext4_inode *i)
{
    struct ext4_node before = i->node;

    ext4_take_times(i);
    if (i->node.mtime_ns == before.mtime_ns && i->node.ctime_ns == before.ctime_ns)
        return 0;
    return ext4_store_node(i->mount->volume, &i->node, &before);
}

/* The contents are written, but perhaps only in the disk's cache; a commit flushes it, too. */
int ext4_flush(struct ext4_inode *i, bool only_data)
{
    struct ext4 *m = i->mount;
    int err = m->volume->journal ? mutex_lock_killable(&m->mutex) : 0;

    if (err || !m->volume->journal)
        return err;
    if (!only_data && i->inode.object)
        err = ext4_store_times(i);
    if (!err && i->node.changed_in == m->volume->journal->sequence)
        err = ext4_commit(m->volume);
    else if (!err)
        err = m->volume->journal->aborted ? -EIO : ext4_store_flush(&m->volume->journal->store);
    mutex_unlock(&m->mutex);
    return err == -EROFS ? -EIO : err;
}

int ext4_op_sync(struct inode *in, bool only_data)
{
    struct ext4_inode *i = ext4_inode_of(in);
    int err = in->object ? ext4_write_back(i, 0, INODE_MAX_PAGES, true) : 0;

    return err ? err : ext4_flush(i, only_data);
}
