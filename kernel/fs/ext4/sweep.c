/*
 * What was stored to the files of a mount (stores.c) is written: by sync and unmount, and by the
 * mount's second thread, the writer, STORED_NS after the first store to a file that was clean, when
 * there are many such pages, and when memory is short.
 *
 * Locks: sweep, which one at a time has that writes all files; then those of a file's write-back.
 */
#include "kernel/base/errno.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"

#define STORED_NS  UINT64_C(5000000000)
#define ADVANCE_NS UINT64_C(5000000000) /* that one who is short of memory waits for 128 KiB */

/* Take a reference, unless there is none any more. */
static bool try_ref(struct inode *i)
{
    uint32_t refs = __atomic_load_n(&i->refs, __ATOMIC_RELAXED);

    while (refs && !__atomic_compare_exchange_n(&i->refs, &refs, refs + 1, false, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED))
        ;
    return refs != 0;
}

/* The first file of the list, which it leaves, with a reference; *left counts down. NULL: there is
 * none, or it ends just now. */
static struct ext4_inode *next_dirty(struct ext4 *m, uint32_t *left)
{
    ipl_t ipl = spin_lock(&m->lock);
    struct ext4_inode *i = NULL;

    --*left;
    if (!list_empty(&m->dirty)) {
        i = list_first_entry(&m->dirty, struct ext4_inode, dirty_link);
        ext4_ended_locked(i);
        if (!try_ref(&i->inode))
            i = NULL;
    }
    spin_unlock(&m->lock, ipl);
    return i;
}

/* Can nobody read any more what was stored? The caller has a reference. */
static bool is_lost(struct ext4_inode *i)
{
    return !__atomic_load_n(&i->inode.nlink, __ATOMIC_RELAXED) &&
           __atomic_load_n(&i->inode.refs, __ATOMIC_ACQUIRE) == 1 &&
           !object_is_mapped(i->inode.object);
}

static int write_file(struct ext4_inode *i, bool wait)
{
    struct ext4 *m = i->mount;
    int err = is_lost(i) ? 0 : ext4_write_back(i, 0, INODE_MAX_PAGES, wait);

    if (err || is_lost(i))
        return err;
    err = mutex_lock_killable(&m->mutex);
    if (!err) {
        err = ext4_store_times(i);
        mutex_unlock(&m->mutex);
    }
    if (err == -ENOMEM || err == -EINTR)
        ext4_mark(i);
    return err;
}

/* Has somebody asked for memory since the sweep began? */
static bool has_hurry(const struct ext4 *m) { return __atomic_load_n(&m->hurry, __ATOMIC_RELAXED); }

/* The first `left` files of the list. Returns how many were locked, which are on it again: with
 * wait none. */
static uint32_t write_files(struct ext4 *m, uint32_t left, bool wait)
{
    struct ext4_inode *i;
    uint32_t locked = 0;

    while (left && !thread_killed())
        if ((i = next_dirty(m, &left)) != NULL) {
            locked += write_file(i, wait) == -EAGAIN;
            inode_unref(&i->inode);
        }
    return locked;
}

/* Those that come to the list meanwhile are left there. One that is locked is waited for after all
 * others were written, and not while memory is short: the holder may wait for that. */
void ext4_sweep(struct ext4 *m)
{
    uint32_t left;
    ipl_t ipl;

    if (mutex_lock_killable(&m->sweep))
        return;
    ipl = spin_lock(&m->lock);
    left = m->ndirty;
    m->writing += m->stored_to;
    m->stored_to = 0;
    m->hurry = false;
    m->sweeping = true;
    m->dirty_since = UINT64_MAX;
    spin_unlock(&m->lock, ipl);
    if (write_files(m, left, false) && !(thread_self()->settling && has_hurry(m)))
        (void)write_files(m, __atomic_load_n(&m->ndirty, __ATOMIC_RELAXED), true);
    ipl = spin_lock(&m->lock);
    if (m->ndirty && m->dirty_since == UINT64_MAX) /* this thread is to end */
        m->dirty_since = clock_ns();
    m->writing = 0; /* what could not be written is on the list again */
    m->sweeping = false;
    m->progress++;
    wake_all(&m->advance);
    spin_unlock(&m->lock, ipl);
    mutex_unlock(&m->sweep);
}

void ext4_sweep_soon(struct ext4 *m)
{
    ipl_t ipl = spin_lock(&m->lock);

    if (m->ndirty) {
        m->hurry = true;
        wake_all(&m->back);
    }
    spin_unlock(&m->lock, ipl);
}

/* Is there nothing to wait for, or has the writer come further? */
static bool has_advanced(struct ext4 *m, uint64_t from)
{
    ipl_t ipl = spin_lock(&m->lock);
    bool so = m->progress != from || m->writer_gone || (!m->ndirty && !m->sweeping);

    spin_unlock(&m->lock, ipl);
    return so;
}

void ext4_wait_written(struct ext4 *m)
{
    uint64_t from = __atomic_load_n(&m->progress, __ATOMIC_RELAXED);
    uint64_t until = clock_ns() + ADVANCE_NS;
    struct waiter w;
    int err = 0;

    ext4_sweep_soon(m);
    do {
        wait_enqueue(&m->advance, &w);
        if (has_advanced(m, from))
            break;
        err = wait_block(&w, WAIT_KILLABLE, until);
    } while (!err && clock_ns() < until);
    wait_finish(&w);
}

/* When the next write-back is due; 0: the thread is to end. */
static uint64_t due(struct ext4 *m)
{
    ipl_t ipl = spin_lock(&m->lock);
    uint64_t at = m->dirty_since == UINT64_MAX ? UINT64_MAX : m->dirty_since + STORED_NS;

    if (at != UINT64_MAX && (m->hurry || m->stored_to >= m->stores_most))
        at = 1;
    if (m->ending)
        at = 0;
    spin_unlock(&m->lock, ipl);
    return at;
}

void ext4_writer(void *mount)
{
    struct ext4 *m = mount;
    uint64_t at;
    ipl_t ipl;

    thread_self()->settling = 1; /* who has no memory waits for it, so it gets some of the last */
    do {
        struct waiter w;

        wait_enqueue(&m->back, &w);
        at = due(m);
        if (at > clock_ns())
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, at);
        wait_finish(&w);
        at = due(m);
        if (at && at <= clock_ns())
            ext4_sweep(m);
    } while (at);
    ipl = spin_lock(&m->lock);
    m->writer_gone = true;
    ext4_wake(m); /* under the lock: then m may be freed */
    spin_unlock(&m->lock, ipl);
    thread_exit();
}
