/*
 * Disks by $QIO: channels, reads and writes of blocks.
 *
 * A request is on its channel's list until it has ended. The device moves the data from or to the
 * program's private pages, and the interrupt posts the request (kernel/event), with the channel's
 * lock held: who finds the list empty knows that nothing will be posted any more. Memory of other
 * kinds is read and written through the open file that a channel has, before the service returns.
 *
 * $CANCEL takes back what the device has not got yet, as far as it is one request to the disk;
 * everything else ends as it does. A request that is being taken back is `held`: if it ends at that
 * moment, the interrupt leaves it to the canceller. $DASSGN then waits for the rest, as no process
 * may go on or end with requests that are to be posted to it; the wait is killable, and who is
 * killed leaves its requests, with the pages that they have pinned, to the thread of the disks when
 * the last reference to the channel goes.
 */
#include "kernel/sys/vms/disk.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/megalith/devices.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/block/transfer.h"
#include "kernel/io/file.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/channels.h"
#include "mm/pool/pool_charged.h"

#define BLOCK       512u /* bytes in which block numbers count, whatever the disk's sectors are */
#define LENGTH_MAX  0x7FFFFE00u
#define PRV_LOGICAL ((uint64_t)(PRV$M_LOG_IO | PRV$M_PHY_IO))

struct disk_channel { /* nonpaged pool */
    struct qio_channel qio;
    struct file *file; /* with a reference; constant, as is the next */
    const struct block_volume *disk;
    struct spinlock lock;   /* RANK_AIO, IPL_DEVICE */
    struct list requests;   /* under way; lock, as all that follows */
    uint32_t cancels;       /* calls of $CANCEL so far */
    bool closed;            /* nothing begins any more */
    struct wait_queue idle; /* who waits for the end of all requests */
};

struct disk_request { /* nonpaged pool */
    struct event_request event;
    struct block_transfer transfer;
    struct list link; /* in the channel's list; channel's lock, as the next five */
    struct disk_channel *channel;
    uint32_t cancel; /* number of the newest $CANCEL when it was made or seen by one */
    bool held;       /* $CANCEL is taking it back */
    bool over;       /* it has ended meanwhile, with `answer` */
    bool gone;       /* nobody is to be told */
    uint64_t answer;
    struct qio_channels *charged; /* with one request and a reference; constant */
    uint16_t account;             /* constant */
};

/* ---- requests ---- */

static void release(struct event_request *e)
{
    struct disk_request *r = container_of(e, struct disk_request, event);

    block_transfer_end(&r->transfer, true);
    qio_release_request(r->charged);
    qio_channels_unref(r->charged);
    npp_free_charged(r, sizeof(*r), r->account);
}

/* Before the process is told: the pages are no longer pinned. */
static bool finish(struct event_request *e)
{
    block_transfer_end(&container_of(e, struct disk_request, event)->transfer, true);
    return true;
}

static cond_t make(struct disk_channel *c, const struct vms_qio *q, struct disk_request **out)
{
    uint16_t account = pool_account();
    struct disk_request *r;
    cond_t status;

    if (!qio_charge_request(q->who.channels))
        return SS$_EXQUOTA;
    r = npp_alloc_charged(sizeof(*r), account);
    if (!r) {
        qio_release_request(q->who.channels);
        return SS$_INSFMEM;
    }
    memset(r, 0, sizeof(*r));
    list_init(&r->link);
    r->channel = c;
    r->account = account;
    qio_channels_ref(q->who.channels);
    r->charged = q->who.channels;
    r->event.finish = finish;
    r->event.release = release;
    status = event_request_begin(&r->event, q->done.owner, q->done.efn, q->done.iosb,
                                 q->done.astadr, q->done.astprm);
    if (status == SS$_NORMAL)
        *out = r;
    else
        release(&r->event);
    return status;
}

static void drop(struct disk_request *r)
{
    block_transfer_end(&r->transfer, false);
    event_request_cancel(&r->event);
    release(&r->event);
}

/* The request has ended: it leaves the list and is posted. The channel's lock is held. */
static void post_locked(struct disk_request *r)
{
    struct disk_channel *c = r->channel;

    list_remove(&r->link);
    event_post(&r->event, r->answer);
    if (list_empty(&c->requests))
        (void)wake_one(&c->idle);
}

/* The status block of a disk: the number of bytes has 32 bits. */
static uint64_t answer_of(cond_t status, uint64_t nbytes)
{
    return qio_status(status, (uint32_t)nbytes, (uint32_t)nbytes >> 16);
}

static void transfer_done(struct block_transfer *t)
{
    struct disk_request *r = container_of(t, struct disk_request, transfer);
    struct disk_channel *c = r->channel;
    ipl_t ipl = spin_lock(&c->lock);

    r->answer = t->err ? answer_of(SS$_PARITY, 0) : answer_of(SS$_NORMAL, t->nbytes);
    r->over = true;
    if (!r->gone && !r->held)
        post_locked(r);
    spin_unlock(&c->lock, ipl);
}

static bool activate(struct disk_request *r)
{
    struct disk_channel *c = r->channel;
    ipl_t ipl = spin_lock(&c->lock);
    bool closed = c->closed;

    r->cancel = c->cancels;
    if (!closed)
        list_add_tail(&c->requests, &r->link);
    spin_unlock(&c->lock, ipl);
    return !closed;
}

/* Submit the request, of which the caller knows nothing any more afterwards. */
static cond_t submit(struct disk_request *r, bool write)
{
    struct block_disk *d = r->channel->disk->disk;

    if (write && mutex_lock_shared_killable(&d->parts) != 0)
        return SS$_ABORT;
    if (!activate(r)) {
        if (write)
            mutex_unlock_shared(&d->parts);
        return SS$_IVCHAN;
    }
    block_transfer_submit(&r->transfer);
    if (write)
        mutex_unlock_shared(&d->parts);
    return SS$_NORMAL;
}

/* ---- cancelling ---- */

/* Look at the first request of the list, unless a $CANCEL that is as new as `number` has seen it,
   or it was made since. It is held then and *out, or NULL if another thread holds it. False: there
   is none. The list is in the order of `cancel`: the newest number goes to its end only. */
static bool hold_next(struct disk_channel *c, uint32_t number, struct disk_request **out)
{
    ipl_t ipl = spin_lock(&c->lock);
    struct list *first = list_first(&c->requests);
    struct disk_request *r = first ? list_entry(first, struct disk_request, link) : NULL;

    if (r && (int32_t)(r->cancel - number) >= 0)
        r = NULL;
    if (r) {
        *out = r->held ? NULL : r;
        r->cancel = c->cancels;
        r->held = true;
        list_remove(&r->link);
        list_add_tail(&c->requests, &r->link);
    }
    spin_unlock(&c->lock, ipl);
    return r != NULL;
}

static void take_back(struct disk_channel *c, struct disk_request *r)
{
    bool taken = r->transfer.first && !r->transfer.first->next &&
                 block_take_back(r->transfer.first);
    ipl_t ipl;

    if (taken)
        r->transfer.first = NULL;
    ipl = spin_lock(&c->lock);
    r->held = false;
    if (taken)
        r->answer = answer_of(SS$_CANCEL, 0);
    if (taken || r->over)
        post_locked(r);
    spin_unlock(&c->lock, ipl);
}

/* Is nothing under way? */
static bool is_idle(struct disk_channel *c)
{
    ipl_t ipl = spin_lock(&c->lock);
    bool idle = list_empty(&c->requests);

    spin_unlock(&c->lock, ipl);
    return idle;
}

/* Wait until nothing is under way, or the thread is to end. */
static void wait_idle(struct disk_channel *c)
{
    struct waiter w;

    for (;;) {
        wait_enqueue(&c->idle, &w);
        if (is_idle(c) || wait_block(&w, WAIT_KILLABLE, WAIT_FOREVER) != 0)
            break;
    }
    wait_finish(&w);
}

/* Leave all requests to the disks: the process ends, and no call uses the channel any more. */
static void leave_all(struct disk_channel *c)
{
    for (;;) {
        ipl_t ipl = spin_lock(&c->lock);
        struct list *first = list_pop_head(&c->requests);
        struct disk_request *r = first ? list_entry(first, struct disk_request, link) : NULL;

        if (r)
            r->gone = true;
        spin_unlock(&c->lock, ipl);
        if (!r)
            return;
        block_transfer_end(&r->transfer, true);
        event_request_cancel(&r->event);
        release(&r->event);
    }
}

static void disk_cancel(struct qio_channel *q, bool close)
{
    struct disk_channel *c = vms_disk_of(q);
    ipl_t ipl = spin_lock(&c->lock);
    uint32_t number = ++c->cancels;
    struct disk_request *r;

    c->closed |= close;
    spin_unlock(&c->lock, ipl);
    while ((close || !thread_killed()) && hold_next(c, number, &r))
        if (r)
            take_back(c, r);
    if (close)
        wait_idle(c);
}

/* ---- channels ---- */

static void disk_deassign(struct qio_channel *q) { (void)q; }

static void disk_free(struct qio_channel *q)
{
    struct disk_channel *c = vms_disk_of(q);

    leave_all(c);
    file_unref(c->file);
    npp_free_charged(c, sizeof(*c), q->account);
}

static const struct qio_device disk_device = {
    .cancel = disk_cancel, .deassign = disk_deassign, .free = disk_free};

struct disk_channel *vms_disk_of(struct qio_channel *q)
{
    return q->device == &disk_device ? container_of(q, struct disk_channel, qio) : NULL;
}

const struct block_volume *vms_disk_volume(const struct disk_channel *c) { return c->disk; }

cond_t vms_disk_assign(const struct vms_device *d, bool readable, bool writable,
                       struct qio_channel **out)
{
    const struct block_volume *v = block_volume(d->unit);
    uint16_t account = pool_account();
    struct disk_channel *c;
    struct file *f;
    int err;

    if (!v)
        return SS$_NOSUCHDEV;
    err = file_open(d->path, v->disk->read_only ? O_RDONLY : O_RDWR, 0, &f);
    if (err)
        return err == -ENOMEM || err == -ENFILE ? SS$_INSFMEM : SS$_NOSUCHDEV;
    c = npp_alloc_charged(sizeof(*c), account);
    if (!c || disk_file_volume(f) != v) {
        file_unref(f);
        if (c)
            npp_free_charged(c, sizeof(*c), account);
        return c ? SS$_NOSUCHDEV : SS$_INSFMEM;
    }
    memset(c, 0, sizeof(*c));
    c->qio = (struct qio_channel){.device = &disk_device,
                                  .refs = 1,
                                  .readable = readable,
                                  .writable = writable,
                                  .account = account};
    c->file = f;
    c->disk = v;
    spin_init(&c->lock, "disk channel", RANK_AIO, IPL_DEVICE);
    list_init(&c->requests);
    wait_queue_init(&c->idle, "disk channel");
    *out = &c->qio;
    return SS$_NORMAL;
}

/* ---- $QIO ---- */

/* Memory that is not private: through the file, at once. All blocks are there: fewer bytes mean an
   error. */
static cond_t do_now(struct disk_channel *c, struct disk_request *r, bool write, vaddr_t buffer,
                     uint32_t n, uint64_t at)
{
    long done = write ? c->file->ops->write_at(c->file, buffer, n, at)
                      : c->file->ops->read_at(c->file, buffer, n, at);

    if (done == -EFAULT || done == -ENOMEM || done == -EINTR) {
        drop(r);
        return done == -EFAULT ? SS$_ACCVIO : done == -ENOMEM ? SS$_INSFMEM : SS$_ABORT;
    }
    event_post_self(&r->event,
                    answer_of(done == (long)n ? SS$_NORMAL : SS$_PARITY, (uint64_t)MAX(done, 0)));
    return SS$_NORMAL;
}

static cond_t begin(struct disk_channel *c, struct disk_request *r, bool write, vaddr_t buffer,
                    uint32_t n, uint64_t at)
{
    cond_t status;
    int err;

    block_transfer_begin(&r->transfer, c->disk, write ? BLOCK_WRITE : BLOCK_READ, at,
                         transfer_done);
    err = block_transfer_add(&r->transfer, buffer, n);
    if (err == -EOPNOTSUPP) {
        block_transfer_end(&r->transfer, false);
        return do_now(c, r, write, buffer, n, at);
    }
    status = err == -EFAULT   ? SS$_ACCVIO
             : err == -ENOMEM ? SS$_INSFMEM
             : err            ? SS$_ABORT
                              : submit(r, write);
    if (status != SS$_NORMAL)
        drop(r);
    return status;
}

/* May the process use this function? */
static cond_t check(const struct disk_channel *c, const struct vms_qio *q, bool physical,
                    bool write)
{
    uint64_t has = process_privileges(process_self());

    if (q->modifiers)
        return SS$_ILLIOFUNC;
    if (!(has & (physical ? (uint64_t)PRV$M_PHY_IO : PRV_LOGICAL)))
        return SS$_NOPRIV;
    return (write ? c->qio.writable : c->qio.readable) ? SS$_NORMAL : SS$_NOPRIV;
}

/* P1, P2: the buffer; P3: number of the first block. */
static cond_t transfer(struct disk_channel *c, const struct vms_qio *q, bool physical, bool write)
{
    const struct block_disk *d = c->disk->disk;
    uint64_t size = c->disk->sectors << d->sector_shift, at = q->p[2] * BLOCK;
    uint32_t n = (uint32_t)q->p[1];
    struct disk_request *r;
    cond_t status = check(c, q, physical, write), bad = SS$_NORMAL;

    if (status != SS$_NORMAL)
        return status;
    if ((n & (d->sector_bytes - 1)) || n > LENGTH_MAX)
        return SS$_IVBUFLEN;
    if (!user_range_ok(q->p[0], n))
        return SS$_ACCVIO;
    if (q->p[2] > size / BLOCK || n > size - at || (at & (d->sector_bytes - 1)))
        bad = SS$_ILLBLKNUM;
    else if (write && d->read_only)
        bad = SS$_WRITLCK;
    status = make(c, q, &r);
    if (status != SS$_NORMAL)
        return status;
    if (bad != SS$_NORMAL || !n) {
        event_post_self(&r->event, answer_of(bad, 0));
        return SS$_NORMAL;
    }
    return begin(c, r, write, q->p[0], n, at);
}

cond_t vms_qio_disk(struct qio_channel *q, const struct vms_qio *a)
{
    struct disk_channel *c = vms_disk_of(q);

    switch (a->function) {
    case IO$_READVBLK:
    case IO$_READLBLK:
        return transfer(c, a, false, false);
    case IO$_WRITEVBLK:
    case IO$_WRITELBLK:
        return transfer(c, a, false, true);
    case IO$_READPBLK:
        return transfer(c, a, true, false);
    case IO$_WRITEPBLK:
        return transfer(c, a, true, true);
    default:
        return SS$_ILLIOFUNC;
    }
}
