/*
 * Writing to the files of a shared folder.
 *
 * write() is written through: it copies into the pages and returns when the server has them, so an
 * error of the server is that of the call, and nothing is lost when the machine is powered off.
 * Only what programs store through a shared mapping is written back later: a page becomes writable
 * by an upgrade, which puts its file on the list share.dirty. Once a second, and for fsync and
 * msync, write access is taken from such pages, and those that were written to are sent. So between
 * two stores in different seconds there is a fault.
 *
 * A write by a system call holds references to the pages from before it copies until the server has
 * them. Pages may leave the object meanwhile (the host has changed the file): the bytes sent are
 * those copied all the same.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ninep/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"

#define REQUEST_BYTES 32u
#define WRITE_ANSWER  (NINEP_HEADER + 4u)
#define PUTS_MOST     64u /* pages of a file on their way to the server */
#define SYNC_ALL_NS   UINT64_C(20000000000)
#define SYNC_LOOK_NS  UINT64_C(10000000)

/* ---- pages that programs write to ---- */

/* The contents on the server are others than before, or may be: attributes that were asked for
 * earlier tell nothing of them (share_refresh). Before the file is unlocked, or the page is not on
 * its way any more. */
static void contents_changed(struct share_inode *i)
{
    __atomic_fetch_add(&i->changes, 1, __ATOMIC_RELEASE);
}

static void mark_dirty(struct share_inode *i)
{
    struct share *s = i->share;
    ipl_t ipl = spin_lock(&s->client.lock);

    if (list_empty(&i->dirty_link))
        list_add_tail(&s->dirty, &i->dirty_link);
    spin_unlock(&s->client.lock, ipl);
}

bool share_is_dirty(struct share_inode *i)
{
    ipl_t ipl = spin_lock(&i->share->client.lock);
    bool dirty = !list_empty(&i->dirty_link);

    spin_unlock(&i->share->client.lock, ipl);
    return dirty || __atomic_load_n(&i->puts, __ATOMIC_ACQUIRE);
}

int share_upgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    struct share_inode *i = object_pager_data(o);

    (void)access;
    if (__atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE) == NINEP_NO_FID)
        return -EACCES;
    mark_dirty(i);
    for (uint64_t k = 0; k < count; k++)
        (void)mm_supply(o, offset + k, PFN_NONE, MAP_R | MAP_W);
    return 0;
}

/* The server has bytes up to `end` now, that we have written. */
static void was_written(struct share_inode *i, uint64_t end)
{
    uint64_t size = share_server_size(i);

    while (end > size && !__atomic_compare_exchange_n(&i->server_size, &size, end, false,
                                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    __atomic_store_n(&i->wrote, true, __ATOMIC_RELAXED);
    contents_changed(i);
}

/* A page has been written back, or not: then it stays dirty, and whoever calls fsync next is told.
 * The object, and with it i, exists until mm_put_done(). */
static void put_done(struct ninep_call *call)
{
    struct mm_object *o = call->arg;
    struct share_inode *i = object_pager_data(o);
    struct share *s = i->share;
    int err = call->err;

    if (!err && (ninep_get32(&call->m) != call->data || call->m.bad))
        err = -EIO;
    if (err) {
        __atomic_store_n(&i->put_error, err, __ATOMIC_RELAXED);
        mark_dirty(i);
    } else {
        was_written(i, (call->number << PAGE_SHIFT) + call->data);
    }
    __atomic_fetch_sub(&i->puts, 1, __ATOMIC_RELEASE);
    mm_put_done(o, call->number, 1, err);
    __atomic_fetch_sub(&s->puts, 1, __ATOMIC_RELEASE);
    (void)wake_all(&s->written);
}

/*
 * Count a page as on its way, unless the file is being truncated to less than `end` bytes: on the
 * server the write could come behind the truncation, and would make the file longer again. One
 * counts and then looks at put_end; share_resize sets that and then looks at the count. So one of
 * the two sees the other.
 */
static bool put_begin(struct share_inode *i, uint64_t end)
{
    __atomic_fetch_add(&i->puts, 1, __ATOMIC_SEQ_CST);
    if (end <= __atomic_load_n(&i->put_end, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&i->share->puts, 1, __ATOMIC_RELAXED);
        return true;
    }
    __atomic_fetch_add(&i->refused, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&i->puts, 1, __ATOMIC_RELEASE);
    (void)wake_all(&i->share->written);
    return false;
}

int share_put(struct mm_object *o, uint64_t offset, uint64_t count)
{
    struct share_inode *i = object_pager_data(o);
    uint64_t at = offset << PAGE_SHIFT, size = __atomic_load_n(&i->inode.size, __ATOMIC_ACQUIRE);
    uint32_t fid = __atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE), data;
    struct ninep_call *call;
    pfn_t pfn;

    (void)count; /* always 1 */
    if (at >= size) {
        mm_put_done(o, offset, 1, 0);
        return 0;
    }
    data = (uint32_t)MIN(size - at, PAGE_SIZE);
    pfn = object_page_try_get(o, offset);
    call = pfn.n ? ninep_call_new(client_of(i), NINEP_WRITE, REQUEST_BYTES, WRITE_ANSWER) : NULL;
    if (!call || !put_begin(i, at + data)) {
        if (call)
            ninep_call_free(call);
        if (pfn.n)
            page_unref(pfn);
        mark_dirty(i);
        return -ENOMEM;
    }
    call->page[0] = pfn;
    call->npages = 1;
    call->data = data;
    call->arg = o;
    call->number = offset;
    call->done = put_done;
    ninep_put32(&call->m, fid);
    ninep_put64(&call->m, at);
    ninep_put32(&call->m, data);
    ninep_send(call);
    return 0;
}

/* Take write access from a page and send it if it was written to. */
static void put_page(struct mm_object *o, uint64_t offset)
{
    (void)mm_downgrade(o, offset, 1, MAP_R);
    (void)mm_flush(o, offset, 1);
}

/* The first file of the list, which it leaves, with a reference. */
static struct share_inode *next_dirty(struct share *s)
{
    ipl_t ipl = spin_lock(&s->client.lock);
    struct share_inode *i = NULL;

    while (!i && !list_empty(&s->dirty)) {
        uint32_t refs;

        i = list_first_entry(&s->dirty, struct share_inode, dirty_link);
        list_remove(&i->dirty_link);
        refs = __atomic_load_n(&i->inode.refs, __ATOMIC_RELAXED);
        while (refs && !__atomic_compare_exchange_n(&i->inode.refs, &refs, refs + 1, false,
                                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
        if (!refs) /* nobody can read it any more */
            i = NULL;
    }
    spin_unlock(&s->client.lock, ipl);
    return i;
}

static bool is_truncated(const struct share_inode *i)
{
    return __atomic_load_n(&i->put_end, __ATOMIC_ACQUIRE) != UINT64_MAX;
}

/*
 * The file leaves the list before its pages are looked at. So a page that becomes writable
 * meanwhile, and may be behind the place reached, puts it on the list again.
 */
bool share_write_back(struct share *s)
{
    struct share_inode *i;
    uint64_t k = 0;
    unsigned n = 0;

    if (__atomic_load_n(&s->puts, __ATOMIC_RELAXED) >= PUTS_MOST || !(i = next_dirty(s)))
        return false;
    if (is_truncated(i)) { /* much would be refused: try again later */
        mark_dirty(i);
        inode_unref(&i->inode);
        return false;
    }
    for (; n < PUTS_MOST &&
           (k = object_next_page(i->inode.object, k, UINT64_MAX, true)) != UINT64_MAX;
         k++, n++)
        put_page(i->inode.object, k);
    if (n == PUTS_MOST)
        mark_dirty(i);
    inode_unref(&i->inode);
    return n == PUTS_MOST;
}

/* Wait until at most `most` pages of i are on their way, and, if `all` may be sent, until it is not
 * being truncated. */
static int wait_written(struct share_inode *i, uint32_t most, bool all)
{
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&i->share->written, &w);
        if (__atomic_load_n(&i->puts, __ATOMIC_SEQ_CST) <= most && !(all && is_truncated(i)))
            break;
        err = wait_block(&w, WAIT_KILLABLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err;
}

/* Send the pages that programs have written to, and wait for the answers. */
static int sync_once(struct share_inode *i, struct mm_object *o, uint64_t offset, uint64_t end)
{
    int err = 0;

    for (uint64_t k = offset; !err && (k = object_next_page(o, k, end, true)) < end; k++) {
        err = thread_killed() ? -EINTR : wait_written(i, PUTS_MOST - 1, false);
        if (!err)
            put_page(o, k);
    }
    return err ? err : wait_written(i, 0, false);
}

/* i stays as long as its object, to which the caller has a reference. */
int share_sync_range(struct mm_object *o, uint64_t offset, uint64_t count)
{
    struct share_inode *i = object_pager_data(o);
    uint32_t before;
    int err;

    do { /* again if pages were refused, which are still here unless they were cut off */
        err = wait_written(i, UINT32_MAX, true);
        before = __atomic_load_n(&i->refused, __ATOMIC_RELAXED);
        if (!err)
            err = sync_once(i, o, offset, offset + count);
    } while (!err && __atomic_load_n(&i->refused, __ATOMIC_RELAXED) != before);
    return err ? err : __atomic_exchange_n(&i->put_error, 0, __ATOMIC_RELAXED);
}

int share_sync(struct inode *in, bool only_data)
{
    struct share_inode *i = share_inode_of(in);
    uint32_t fid = __atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE);
    int err = in->object ? share_sync_range(in->object, 0, INODE_MAX_PAGES) : 0;

    return err || fid == NINEP_NO_FID ? err : ninep_sync(client_of(i), fid, only_data);
}

void share_sync_all(const struct fs *fs)
{
    struct share *s = share_of(fs);
    uint64_t give_up = clock_ns() + SYNC_ALL_NS;
    bool any = true;

    while (any && clock_ns() < give_up && !thread_killed()) {
        ipl_t ipl = spin_lock(&s->client.lock);

        any = !list_empty(&s->dirty);
        spin_unlock(&s->client.lock, ipl);
        any |= __atomic_load_n(&s->puts, __ATOMIC_ACQUIRE) != 0;
        if (any) {
            ninep_client_wake(&s->client);
            thread_sleep_ns(SYNC_LOOK_NS);
        }
    }
}

/* ---- writing ---- */

/* Make the rest of the last page zero, which a longer file shows. */
static void clear_rest(struct inode *in, uint64_t size)
{
    uint64_t within = size & PAGE_MASK;
    pfn_t pfn = within ? object_page_try_get(in->object, size >> PAGE_SHIFT) : PFN_NONE;

    if (!pfn.n)
        return;
    memset((uint8_t *)kseg_page(pfn) + within, 0, PAGE_SIZE - within);
    page_unref(pfn);
}

/* A shorter file loses the answers to reads that are on their way: they may bring bytes behind its
 * end, which it would show when it gets longer again. */
void share_set_size(struct inode *in, uint64_t size)
{
    uint64_t old = in->size;

    if (size < old)
        share_drop_answers(share_inode_of(in));
    __atomic_store_n(&in->size, size, __ATOMIC_RELEASE);
    object_truncate(in->object, (MIN(size, INODE_MAX_BYTES) + PAGE_MASK) >> PAGE_SHIFT);
    if (size < old)
        clear_rest(in, size);
}

/* What the server has made of a change is not known: the next look at the file finds it changed. */
static void lose_track(struct share_inode *i)
{
    i->server_mtime_ns = INT64_MIN;
    __atomic_store_n(&i->wrote, false, __ATOMIC_RELAXED);
    contents_changed(i);
    share_doubt(&i->inode);
}

/* Copy n bytes into the pages, which stay referenced in page[]. Returns how many, or an error. */
static long copy_in(struct inode *in, uint64_t offset, vaddr_t ubuf, const void *kbuf, size_t n,
                    pfn_t *page, uint32_t *npages)
{
    size_t done = 0;

    while (done < n) {
        size_t within = (offset + done) & PAGE_MASK, part = MIN(n - done, PAGE_SIZE - within);
        pfn_t pfn;
        int err = thread_killed()
                      ? -EINTR
                      : object_page_get(in->object, (offset + done) >> PAGE_SHIFT, MAP_R, &pfn);

        if (err)
            return done ? (long)done : err;
        page[*npages] = pfn;
        if (kbuf)
            memcpy((uint8_t *)kseg_page(pfn) + within, (const uint8_t *)kbuf + done, part);
        else
            err = copyin((uint8_t *)kseg_page(pfn) + within, ubuf + done, part);
        ++*npages;
        if (err)
            return done ? (long)done : err;
        done += part;
    }
    return (long)done;
}

/* Of n bytes at offset the server has taken r, or none: the others are not what the file has. */
static void take_back(struct inode *in, uint64_t offset, long r, size_t n, uint64_t old)
{
    uint64_t reached = offset + (uint64_t)MAX(r, 0L), first = reached >> PAGE_SHIFT;
    struct share_inode *i = share_inode_of(in);

    if (in->size > old)
        share_set_size(in, MAX(old, reached));
    share_drop_answers(i);
    (void)mm_downgrade(in->object, first, ((offset + n + PAGE_MASK) >> PAGE_SHIFT) - first, 0);
    lose_track(i);
}

/* The part of a write that one request holds. */
static long write_part(struct inode *in, uint64_t offset, vaddr_t ubuf, const void *kbuf, size_t n)
{
    struct share_inode *i = share_inode_of(in);
    uint32_t fid = __atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE), npages = 0;
    pfn_t page[NINEP_CALL_PAGES];
    uint64_t old = in->size;
    long copied, r;

    if (offset + n > old)
        share_set_size(in, offset + n);
    copied = r = copy_in(in, offset, ubuf, kbuf, n, page, &npages);
    if (copied > 0)
        r = ninep_write(client_of(i), fid, offset, page, npages, (uint32_t)(offset & PAGE_MASK),
                        (uint32_t)copied);
    else
        for (uint32_t k = 0; k < npages; k++)
            page_unref(page[k]);
    if (r > 0)
        was_written(i, offset + (uint64_t)r);
    if (r < (long)n)
        take_back(in, offset, r, n, old);
    return r;
}

/* Called with the mutex held, and limits checked. */
long share_write(struct inode *in, uint64_t offset, vaddr_t ubuf, const void *kbuf, size_t n)
{
    struct share_inode *i = share_inode_of(in);
    uint64_t most = (uint64_t)share_pages_a_call(i) << PAGE_SHIFT;
    size_t done = 0;

    if (__atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE) == NINEP_NO_FID)
        return -EBADF;
    if (share_drop_set_ids(i) != 0)
        return -EINTR;
    while (done < n) {
        uint64_t at = offset + done;
        size_t part = MIN(n - done, most - (at & PAGE_MASK));
        const uint8_t *from = kbuf ? (const uint8_t *)kbuf + done : NULL;
        long r = write_part(in, at, ubuf + done, from, part);

        if (r <= 0)
            return done ? (long)done : r;
        done += (size_t)r;
        if ((size_t)r < part)
            break;
    }
    return (long)done;
}

/* Overwrite [at, end) with zeroes on the server. */
static int write_zeroes(struct share_inode *i, uint64_t at, uint64_t end)
{
    uint32_t fid = __atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE);
    pfn_t zero;
    int err = page_alloc(PA_ZERO, PAGE_T_SYSTEM, RAD_ANY, &zero);

    while (!err && at < end) { /* a page at a time: ends with -EINTR for a killed thread */
        uint32_t n = (uint32_t)MIN(end - at, PAGE_SIZE);
        pfn_t page = zero;
        long r;

        page_ref(zero); /* which the request takes over */
        r = ninep_write(client_of(i), fid, at, &page, 1, 0, n);
        err = r < 0 ? (int)r : r == 0 ? -EIO : 0;
        at += r > 0 ? (uint64_t)r : 0;
    }
    if (zero.n)
        page_unref(zero);
    return err;
}

/*
 * The same for a file that was removed: a server that looks for it by its name cannot change its
 * length. Nobody else can open the file any more, so it is enough that what lies behind a shorter
 * length is zero there, as for a file that was made longer.
 */
static int resize_removed(struct share_inode *i, uint64_t size)
{
    uint64_t there = share_server_size(i);

    if (__atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE) == NINEP_NO_FID)
        return -ENOENT;
    return size < there ? write_zeroes(i, size, there) : 0;
}

/* The server's part of a new length. */
static int resize_there(struct share_inode *i, uint64_t size)
{
    struct ninep_attributes a = {.size = size};
    /* A page on its way could make it longer again. */
    int err = size < i->inode.size ? wait_written(i, 0, false) : 0;

    if (!err)
        err = share_drop_set_ids(i);
    if (err)
        return err;
    err = share_set_attributes(i, NINEP_SET_SIZE, &a);
    if (err == -ENOENT && share_is_removed(i))
        err = resize_removed(i, size);
    if (err == -EINTR || err == -EIO)
        lose_track(i);
    return err;
}

int share_resize(struct inode *in, uint64_t size, bool killable)
{
    struct share_inode *i = share_inode_of(in);
    int err;

    (void)killable;
    if (size < in->size)
        __atomic_store_n(&i->put_end, size, __ATOMIC_SEQ_CST);
    err = resize_there(i, size);
    if (!err) {
        __atomic_store_n(&i->wrote, true, __ATOMIC_RELAXED);
        if (size < share_server_size(i))
            __atomic_store_n(&i->server_size, size, __ATOMIC_RELEASE);
        contents_changed(i);
        share_set_size(in, size);
    }
    __atomic_store_n(&i->put_end, UINT64_MAX, __ATOMIC_SEQ_CST);
    (void)wake_all(&i->share->written);
    return err;
}
