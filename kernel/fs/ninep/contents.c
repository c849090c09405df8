/*
 * Opening and reading the files of a shared folder. The pages of a file are those of its object:
 * read from the server when they are asked for, and kept. writing.c writes them.
 *
 * The pager's operations run inside faults, with the mutex of an address space held. They wait for
 * nothing: a request is sent, and the client's thread answers the fault when the answer comes.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ninep/private.h"
#include "kernel/sched/thread.h"
#include "mm/object/object.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"

#define REQUEST_BYTES 32u
#define READ_ANSWER   (NINEP_HEADER + 4u) /* before the data; as long as an error */
#define AHEAD_PAGES   NINEP_CALL_PAGES    /* read for one who reads on and on */
#define FAULT_PAGES   4u                  /* read with a page that a fault asks for */
#define KEPT_PAGES    128u                /* of a file, when its own pages give way */
#define EVICT_PAGES   64u
#define SHRINK_FILES  256u

/* ---- opening ---- */

bool share_opened(struct share_inode *i, uint32_t fid)
{
    uint32_t none = NINEP_NO_FID;

    if (!__atomic_compare_exchange_n(&i->write_fid, &none, fid, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    none = NINEP_NO_FID;
    (void)__atomic_compare_exchange_n(&i->read_fid, &none, fid, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED);
    return true;
}

/* A new fid that is open for `how`. */
static int open_new(struct share_inode *i, uint32_t how, uint32_t *fid)
{
    struct ninep_qid q;
    int err = share_walk(i, NULL, fid, &q);

    if (err)
        return err;
    err = ninep_open(client_of(i), *fid, how, &q);
    if (!err && q.path != i->qid.path)
        err = -ESTALE;
    if (err)
        ninep_fid_drop(client_of(i), *fid);
    return err;
}

static int open_to_read(struct share_inode *i)
{
    uint32_t fid, none = NINEP_NO_FID;
    int err = open_new(i, NINEP_READ_ONLY, &fid);

    if (!err && !__atomic_compare_exchange_n(&i->read_fid, &none, fid, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED))
        ninep_fid_drop(client_of(i), fid);
    return err;
}

static int open_to_write(struct share_inode *i)
{
    uint32_t fid;
    int err = open_new(i, NINEP_READ_WRITE, &fid);

    if (!err && !share_opened(i, fid))
        ninep_fid_drop(client_of(i), fid);
    return err;
}

int share_open(struct inode *in, bool write)
{
    struct share_inode *i = share_inode_of(in);
    int err;

    if (!in->object)
        return 0;
    err = __atomic_load_n(&in->nlink, __ATOMIC_RELAXED) ? share_refresh_own(i) : 0;
    if (!err && in->size > INODE_MAX_BYTES)
        err = -EFBIG;
    if (!err && write && __atomic_load_n(&i->write_fid, __ATOMIC_ACQUIRE) == NINEP_NO_FID)
        err = open_to_write(i);
    if (!err && __atomic_load_n(&i->read_fid, __ATOMIC_ACQUIRE) == NINEP_NO_FID)
        err = open_to_read(i);
    return err;
}

/* ---- reading ---- */

static void deny(struct ninep_call *call, int err)
{
    mm_deny(call->arg, call->number, call->npages, err);
}

/* Supply the pages that the server has filled with `count` bytes, the rest with zeroes. */
static void supply(struct ninep_call *call, uint32_t count)
{
    for (uint32_t k = 0; k < call->npages; k++) {
        uint64_t valid = MIN((uint64_t)count, PAGE_SIZE);
        pfn_t pfn = call->page[k];

        if (valid < PAGE_SIZE)
            memset((uint8_t *)kseg_page(pfn) + valid, 0, PAGE_SIZE - valid);
        count -= (uint32_t)valid;
        call->page[k] = PFN_NONE;
        (void)mm_supply(call->arg, call->number + k, pfn, MAP_R);
    }
}

static bool is_outdated(const struct ninep_call *call, const struct share_inode *i)
{
    return call->version != __atomic_load_n(&i->dropped, __ATOMIC_ACQUIRE);
}

/*
 * The pages of a read have been filled, or not. Those that are not supplied are freed with the
 * call.
 *
 * What was read before the file changed is not to stay. Who drops pages counts first and looks for
 * pages then, each under the object's lock, under which pages are also supplied. So a page that the
 * drop has not found was supplied after its count, which is seen here afterwards:
 *
 *     read_done                       share_drop_pages
 *     finds no change
 *                                     counts; finds no page
 *     supplies the page
 *     finds the change: takes it back
 */
static void read_done(struct ninep_call *call)
{
    struct mm_object *o = call->arg;
    struct share_inode *i = object_pager_data(o);
    uint32_t size = 0, count;

    if (call->err) {
        deny(call, call->err);
        return;
    }
    memcpy(&size, call->answer, sizeof(size));
    count = ninep_get32(&call->m);
    if (call->m.bad || count > call->data || size != READ_ANSWER + count) {
        deny(call, -EIO);
        return;
    }
    if (is_outdated(call, i)) {
        deny(call, -EAGAIN); /* ask again */
        return;
    }
    mm_answers_begin(o); /* which keeps i, too */
    supply(call, count);
    if (is_outdated(call, i))
        (void)mm_downgrade(o, call->number, call->npages, 0);
    mm_answers_end(o);
}

/* Free pages of i, beginning where that ended before. */
static uint64_t evict(struct share_inode *i)
{
    uint64_t from = __atomic_load_n(&i->evict_at, __ATOMIC_RELAXED), at = from;
    uint64_t freed = object_evict(i->inode.object, &at, EVICT_PAGES);

    if (!freed && from && !at) /* nothing from there to the end */
        freed = object_evict(i->inode.object, &at, EVICT_PAGES);
    __atomic_store_n(&i->evict_at, at, __ATOMIC_RELAXED);
    return freed;
}

/* Files that nobody uses are let go of, or else pages of this one: of `look` files. False: there
 * are none. */
static bool reclaim(struct share_inode *i, uint32_t look)
{
    uint64_t resident, pool;

    if (share_trim(i->share, 0, NULL, look))
        return true;
    object_measure(i->inode.object, &resident, &pool);
    return resident > KEPT_PAGES && evict(i);
}

/* A page for the contents. What is kept here leaves memory to programs (share.reserve), and gives
 * way when the user's limit is reached. */
static int page_new(struct share_inode *i, unsigned flags, pfn_t *pfn)
{
    int err;

    if (unlikely(fluid_count() < i->share->reserve))
        (void)reclaim(i, TRIM_STEP);
    err = page_alloc(PA_FILE | flags, PAGE_T_SYSTEM, RAD_ANY, pfn);
    if (unlikely(err) && reclaim(i, UINT32_MAX))
        err = page_alloc(PA_FILE | flags, PAGE_T_SYSTEM, RAD_ANY, pfn);
    return err;
}

/* Free pages of the next few files. */
static uint64_t evict_next(struct share *s, uint32_t *looked)
{
    struct share_inode *i = share_next(s, looked);
    uint64_t freed = i ? evict(i) : 0;

    if (i)
        inode_unref(&i->inode);
    return freed;
}

void share_shrink(struct share *s)
{
    for (uint32_t looked = 0; looked < SHRINK_FILES && fluid_count() < s->reserve;)
        (void)evict_next(s, &looked);
}

enum fs_reclaimed share_reclaim(const struct fs *fs)
{
    struct share *s = share_of(fs);
    uint64_t freed = share_trim(s, 0, NULL, UINT32_MAX);
    uint32_t looked = 0, count = __atomic_load_n(&s->count, __ATOMIC_RELAXED);

    while (looked < count && freed < EVICT_PAGES && !thread_killed())
        freed += evict_next(s, &looked);
    return freed ? FS_RECLAIMED : FS_RECLAIMED_NONE;
}

/* Ask the server for up to n pages, all with bytes that it has. Returns how many were asked for, or
 * a negative errno: none. */
static int read_pages(struct share_inode *i, struct mm_object *o, uint64_t offset, uint32_t n)
{
    uint32_t fid = __atomic_load_n(&i->read_fid, __ATOMIC_ACQUIRE), got = 0;
    struct ninep_call *call;
    int err = 0;

    if (fid == NINEP_NO_FID)
        return -EACCES;
    call = ninep_call_new(client_of(i), NINEP_READ, REQUEST_BYTES, READ_ANSWER);
    if (!call)
        return -ENOMEM;
    while (got < n && (err = page_new(i, 0, &call->page[got])) == 0)
        call->npages = ++got;
    if (!got) {
        ninep_call_free(call);
        return err;
    }
    call->reads = true;
    call->data = (uint32_t)(got * PAGE_SIZE);
    call->arg = o;
    call->number = offset;
    call->version = __atomic_load_n(&i->dropped, __ATOMIC_ACQUIRE);
    call->done = read_done;
    ninep_put32(&call->m, fid);
    ninep_put64(&call->m, offset << PAGE_SHIFT);
    ninep_put32(&call->m, call->data);
    ninep_send(call);
    return (int)got;
}

/* Supply a page of which the server has no byte. 1, or a negative errno. */
static int zero_page(struct share_inode *i, struct mm_object *o, uint64_t offset)
{
    pfn_t pfn;
    int err = page_new(i, PA_ZERO, &pfn);

    if (err)
        return err;
    (void)mm_supply(o, offset, pfn, MAP_R);
    return 1;
}

/* access 0: nobody waits for the pages yet. */
static int share_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    struct share_inode *i = object_pager_data(o);
    uint64_t there = (share_server_size(i) + PAGE_MASK) >> PAGE_SHIFT;

    for (uint64_t at = offset, end = offset + count; at < end;) {
        uint64_t n = MIN(end - at, (uint64_t)share_pages_a_call(i));
        int got = at < there ? read_pages(i, o, at, (uint32_t)MIN(n, there - at))
                             : zero_page(i, o, at);

        if (got < 0) {
            mm_deny(o, at, 1, got);
            got = 1;
        }
        at += (uint64_t)got;
    }
    if (access && count == 1 && offset + 1 < there)
        object_read_ahead(o, offset + 1, MIN(FAULT_PAGES, there - offset - 1));
    return 0;
}

/* The next miss of one who reads in sequence is expected where this one's pages end. */
void share_will_read(struct inode *in, uint64_t index, uint64_t n)
{
    struct share_inode *i = share_inode_of(in);
    uint64_t there = (share_server_size(i) + PAGE_MASK) >> PAGE_SHIFT;
    uint64_t next = __atomic_load_n(&i->next_page, __ATOMIC_RELAXED);

    if (index == next)
        n = MAX(n, (uint64_t)AHEAD_PAGES);
    n = MIN(n, (uint64_t)4 * AHEAD_PAGES);
    n = index < there ? MIN(n, there - index) : 0;
    __atomic_store_n(&i->next_page, index + MAX(n, UINT64_C(1)), __ATOMIC_RELAXED);
    if (n > 1)
        object_read_ahead(in->object, index, n);
}

bool share_drop_pages(struct inode *in)
{
    struct mm_object *o = in->object;
    uint64_t k = 0;

    share_drop_answers(share_inode_of(in));
    while ((k = object_next_page(o, k, UINT64_MAX, false)) != UINT64_MAX)
        (void)mm_downgrade(o, k++, 1, 0);
    return !thread_killed();
}

const struct pager_ops share_pager = {.name = "shared folder",
                                      .get = share_get,
                                      .upgrade = share_upgrade,
                                      .put = share_put,
                                      .sync = share_sync_range,
                                      .end = share_object_ended};
