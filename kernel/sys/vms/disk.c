/*
 * Disks and files by $QIO: channels, reads and writes of blocks. Channels to files are made by
 * sys$open; what they are asked for is done at once. fast_io.c has requests of another kind.
 *
 * A request is on its channel's list until it has ended. The device moves the data from or to the
 * program's private pages, and the interrupt posts the request (kernel/event), with the channel's
 * lock held: who finds the list empty knows that nothing will be posted any more. Memory of other
 * kinds is read and written through the open file that a channel has, before the service returns.
 *
 * $CANCEL takes back what the device has not got yet, as far as it is one request to the disk;
 * everything else ends as it does. A request that is being taken back is `held`: if it ends at that
 * moment, the interrupt leaves it to the canceller. $DASSGN then waits for the rest, killable. A
 * program that ends, or begins another one, waits for nothing. What $CANCEL would take back is not
 * carried out. What is left goes, with the pages that it has pinned, to the thread of the disks
 * when the last reference to the channel goes, and nobody is told: its writes are carried out. So
 * the end does not depend on a disk, which may be slow or silent.
 */
#include "kernel/sys/vms/disk.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/megalith/devices.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"
#include "kernel/io/file.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/channels.h"
#include "kernel/proc/fdtable.h"
#include "kernel/sys/vms/disk_private.h"
#include "mm/pool/pool_charged.h"

#define LENGTH_MAX  0x7FFFFE00u
#define PRV_LOGICAL ((uint64_t)(PRV$M_LOG_IO | PRV$M_PHY_IO))

struct qio_request { /* of $QIO; nonpaged pool */
    struct disk_request disk;
    struct event_request event;
    struct qio_channels *charged; /* with one request and a reference; constant */
    uint16_t account;             /* constant */
};

/* ---- requests ---- */

static void release(struct event_request *e)
{
    struct qio_request *r = container_of(e, struct qio_request, event);

    block_transfer_end(&r->disk.transfer, true);
    qio_release_request(r->charged);
    qio_channels_unref(r->charged);
    npp_free_charged(r, sizeof(*r), r->account);
}

/* Before the process is told: the pages are no longer pinned. */
static bool finish(struct event_request *e)
{
    block_transfer_end(&container_of(e, struct qio_request, event)->disk.transfer, true);
    return true;
}

static void post(struct disk_request *d)
{
    event_post(&container_of(d, struct qio_request, disk)->event, d->answer);
}

static void leave(struct disk_request *d)
{
    struct qio_request *r = container_of(d, struct qio_request, disk);

    event_request_cancel(&r->event);
    release(&r->event);
}

static const struct disk_request_kind of_qio = {.post = post, .leave = leave};

void disk_request_init(struct disk_request *r, struct disk_channel *c)
{
    list_init(&r->link);
    r->channel = c;
    r->held = r->over = r->gone = false;
    r->answer = 0;
}

static cond_t make(struct disk_channel *c, const struct vms_qio *q, struct qio_request **out)
{
    uint16_t account = pool_account();
    struct qio_request *r;
    cond_t status;

    if (!qio_charge_request(q->who.channels))
        return SS$_EXQUOTA;
    r = npp_alloc_charged(sizeof(*r), account);
    if (!r) {
        qio_release_request(q->who.channels);
        return SS$_INSFMEM;
    }
    memset(r, 0, sizeof(*r));
    r->disk.kind = &of_qio;
    disk_request_init(&r->disk, c);
    block_transfer_init(&r->disk.transfer);
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

static void drop(struct qio_request *r)
{
    block_transfer_end(&r->disk.transfer, false);
    leave(&r->disk);
}

/* The request has ended: it leaves the list and is posted. The channel's lock is held. */
static void post_locked(struct disk_request *r)
{
    struct disk_channel *c = r->channel;

    list_remove(&r->link);
    r->kind->post(r);
    if (list_empty(&c->requests))
        (void)wake_one(&c->idle);
}

/* The status block of a disk: the number of bytes has 32 bits. */
uint64_t disk_answer(cond_t status, uint64_t nbytes)
{
    return qio_status(status, (uint32_t)nbytes, (uint32_t)nbytes >> 16);
}

/* At IPL_DEVICE, with the disk's lock held. */
void disk_transfer_done(struct block_transfer *t)
{
    struct disk_request *r = container_of(t, struct disk_request, transfer);
    struct disk_channel *c = r->channel;

    spin_lock_at_ipl(&c->lock);

    r->answer = t->err ? disk_answer(SS$_PARITY, 0) : disk_answer(SS$_NORMAL, t->nbytes);
    r->over = true;
    if (likely(!r->gone && !r->held))
        post_locked(r);
    spin_unlock_at_ipl(&c->lock);
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

cond_t disk_submit(struct disk_request *r, bool write)
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
        r->answer = disk_answer(SS$_CANCEL, 0);
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
        r->kind->leave(r);
    }
}

static void disk_cancel(struct qio_channel *q, enum qio_cancel why)
{
    bool close = why != QIO_CANCEL;
    struct disk_channel *c = vms_disk_of(q);
    ipl_t ipl = spin_lock(&c->lock);
    uint32_t number = ++c->cancels;
    struct disk_request *r;

    c->closed |= close;
    spin_unlock(&c->lock, ipl);
    while ((close || !thread_killed()) && hold_next(c, number, &r))
        if (r)
            take_back(c, r);
    if (why == QIO_CLOSE)
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

/* A channel to an open file, whose reference it takes over; v: the disk that it is, or NULL. After
 * an error the caller has the reference. */
static cond_t make_channel(struct file *f, const struct block_volume *v, bool readable,
                           bool writable, struct qio_channel **out)
{
    uint16_t account = pool_account();
    struct disk_channel *c = npp_alloc_charged(sizeof(*c), account);

    if (!c)
        return SS$_INSFMEM;
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

cond_t vms_disk_assign(const struct vms_device *d, bool readable, bool writable,
                       struct qio_channel **out)
{
    const struct block_volume *v = block_volume(d->unit);
    cond_t status = SS$_NOSUCHDEV;
    struct file *f;
    int err;

    if (!v)
        return SS$_NOSUCHDEV;
    err = file_open(d->path, v->disk->read_only ? O_RDONLY : O_RDWR, 0, &f);
    if (err)
        return err == -ENOMEM || err == -ENFILE ? SS$_INSFMEM : SS$_NOSUCHDEV;
    if (disk_file_volume(f) == v)
        status = make_channel(f, v, readable, writable, out);
    if (status != SS$_NORMAL)
        file_unref(f);
    return status;
}

cond_t vms_file_assign(uint64_t fd, struct qio_channel **out)
{
    struct fd_use u = fd_get(process_self()->files, fd);
    const struct block_volume *v = u.file ? disk_file_volume(u.file) : NULL;
    uint32_t mode = u.file ? u.file->flags & (O_ACCMODE | O_PATH) : O_PATH;
    cond_t status = SS$_NOTFILEDEV;

    if (!(mode & O_PATH) && (v || u.file->ops == &regular_ops)) {
        file_ref(u.file);
        status = make_channel(u.file, v, mode != O_WRONLY, mode != O_RDONLY, out);
        if (status != SS$_NORMAL)
            file_unref(u.file);
    }
    fd_put(u);
    return status;
}

/* ---- $QIO ---- */

cond_t disk_place(const struct disk_channel *c, uint64_t block, uint64_t n, bool write,
                  uint64_t *at)
{
    const struct block_disk *d;
    uint64_t size;

    if (!c->disk) { /* virtual blocks of a file count from 1 */
        *at = (block - 1) * DISK_BLOCK;
        return block && block <= (uint64_t)INT64_MAX / DISK_BLOCK ? SS$_NORMAL : SS$_ILLBLKNUM;
    }
    d = c->disk->disk;
    size = c->disk->sectors << d->sector_shift;
    *at = block * DISK_BLOCK;
    if (block > size / DISK_BLOCK || n > size - *at || (*at & (d->sector_bytes - 1)))
        return SS$_ILLBLKNUM;
    return write && d->read_only ? SS$_WRITLCK : SS$_NORMAL;
}

/* A disk, or a regular file. */
static long read_file(struct file *f, vaddr_t buffer, uint32_t n, uint64_t at)
{
    return f->ops == &regular_ops ? inode_read_user(f->inode, at, buffer, n)
                                  : f->ops->read_at(f, buffer, n, at);
}

static long write_file(struct file *f, vaddr_t buffer, uint32_t n, uint64_t at)
{
    return f->ops == &regular_ops ? regular_written(f, inode_write_user(f->inode, at, buffer, n))
                                  : f->ops->write_at(f, buffer, n, at);
}

/* Move n bytes. A file that has moved fewer is asked for the rest, and so tells why: 0 is its end.
 * *err: 0 or a negative errno. Returns how many were moved. */
static uint32_t move_now(struct file *f, bool write, vaddr_t buffer, uint32_t n, uint64_t at,
                         long *err)
{
    uint32_t done = 0;
    long part;

    do {
        part = write ? write_file(f, buffer + done, n - done, at + done)
                     : read_file(f, buffer + done, n - done, at + done);
        done += part > 0 ? (uint32_t)part : 0;
    } while (part > 0 && done < n);
    *err = part < 0 ? part : 0;
    return done;
}

/* The condition value of a request that was carried out, and has failed or moved too little. */
static cond_t status_of_short(const struct disk_channel *c, bool write, long err)
{
    switch (err) {
    case 0:
        return write || c->disk ? SS$_PARITY : SS$_ENDOFFILE; /* a file ends somewhere */
    case -ENOSPC:
    case -EFBIG:
        return SS$_DEVICEFULL;
    case -EDQUOT:
        return SS$_EXQUOTA;
    case -EPERM:
    case -EROFS:
        return SS$_WRITLCK;
    default:
        return SS$_PARITY;
    }
}

uint64_t disk_do_now(struct disk_channel *c, bool write, vaddr_t buffer, uint32_t n, uint64_t at,
                     cond_t *fault)
{
    long err;
    uint32_t done = move_now(c->file, write, buffer, n, at, &err);

    *fault = err == -EFAULT                         ? SS$_ACCVIO
             : err == -ENOMEM                       ? SS$_INSFMEM
             : err == -EINTR || err == -ERESTARTSYS ? SS$_ABORT
                                                    : SS$_NORMAL;
    return disk_answer(done == n ? SS$_NORMAL : status_of_short(c, write, err), done);
}

cond_t disk_may(const struct disk_channel *c, bool physical, bool virtual)
{
    uint64_t has;

    if (!c->disk)
        return virtual ? SS$_NORMAL : SS$_ILLIOFUNC;
    has = process_privileges(process_self());
    return has & (physical ? (uint64_t)PRV$M_PHY_IO : PRV_LOGICAL) ? SS$_NORMAL : SS$_NOPRIV;
}

static cond_t do_now(struct disk_channel *c, struct qio_request *r, bool write, vaddr_t buffer,
                     uint32_t n, uint64_t at)
{
    cond_t fault;
    uint64_t answer = disk_do_now(c, write, buffer, n, at, &fault);

    if (fault == SS$_NORMAL)
        event_post_self(&r->event, answer);
    else
        drop(r);
    return fault;
}

static cond_t begin(struct disk_channel *c, struct qio_request *r, bool write, vaddr_t buffer,
                    uint32_t n, uint64_t at)
{
    struct block_transfer *t = &r->disk.transfer;
    cond_t status;
    int err = -EOPNOTSUPP;

    if (c->disk) {
        block_transfer_begin(t, c->disk, write ? BLOCK_WRITE : BLOCK_READ, at, disk_transfer_done);
        err = block_transfer_add(t, buffer, n);
    }
    if (err == -EOPNOTSUPP) { /* also for memory that is not private */
        block_transfer_end(t, false);
        return do_now(c, r, write, buffer, n, at);
    }
    status = err == -EFAULT   ? SS$_ACCVIO
             : err == -ENOMEM ? SS$_INSFMEM
             : err            ? SS$_ABORT
                              : disk_submit(&r->disk, write);
    if (status != SS$_NORMAL)
        drop(r);
    return status;
}

/* P1, P2: the buffer; P3: number of the first block. */
static cond_t transfer(struct disk_channel *c, const struct vms_qio *q, bool physical, bool virtual,
                       bool write)
{
    uint32_t n = (uint32_t)q->p[1], unit = c->disk ? c->disk->disk->sector_bytes : 1;
    struct qio_request *r;
    uint64_t at;
    cond_t status = q->modifiers ? SS$_ILLIOFUNC : disk_may(c, physical, virtual), bad;

    if (status == SS$_NORMAL && !(write ? c->qio.writable : c->qio.readable))
        status = SS$_NOPRIV;
    if (status != SS$_NORMAL)
        return status;
    if ((n & (unit - 1)) || n > LENGTH_MAX)
        return SS$_IVBUFLEN;
    if (!user_range_ok(q->p[0], n))
        return SS$_ACCVIO;
    bad = disk_place(c, q->p[2], n, write, &at);
    status = make(c, q, &r);
    if (status != SS$_NORMAL)
        return status;
    if (bad != SS$_NORMAL || !n) {
        event_post_self(&r->event, disk_answer(bad, 0));
        return SS$_NORMAL;
    }
    return begin(c, r, write, q->p[0], n, at);
}

cond_t vms_qio_disk(struct qio_channel *q, const struct vms_qio *a)
{
    struct disk_channel *c = vms_disk_of(q);

    switch (a->function) {
    case IO$_READVBLK:
        return transfer(c, a, false, true, false);
    case IO$_READLBLK:
        return transfer(c, a, false, false, false);
    case IO$_WRITEVBLK:
        return transfer(c, a, false, true, true);
    case IO$_WRITELBLK:
        return transfer(c, a, false, false, true);
    case IO$_READPBLK:
        return transfer(c, a, true, false, false);
    case IO$_WRITEPBLK:
        return transfer(c, a, true, false, true);
    default:
        return SS$_ILLIOFUNC;
    }
}
