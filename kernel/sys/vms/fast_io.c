/*
 * Buffer objects and Fast I/O: $CREATE_BUFOBJ_64, $DELETE_BUFOBJ, $IO_SETUP, $IO_PERFORM,
 * $IO_CLEANUP.
 *
 * A request is one of its channel (disk.c), as those of $QIO are, so $CANCEL and $DASSGN find it.
 * Its end needs no thread of the process: the interrupt writes the status area (IOSA), whose page
 * the buffer object keeps, and wakes who waits for a request without an event flag. Only an AST is
 * queued (kernel/event). The request then goes back to its fandle, with its pages still pinned,
 * which the next call unpins.
 *
 * What a program does to the memory meanwhile is its own affair: a page that was unmapped, or
 * copied for a child, is still the one that the device moves data to, and that the status goes to.
 */
#include "kernel/base/abi/megalith/fast_io.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/megalith/devices.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/channels.h"
#include "kernel/proc/fast.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/disk_private.h"
#include "mm/pool/pool_charged.h"

#define LENGTH_MAX 0x7FFFFE00u

/* ---- buffer objects ---- */

static cond_t status_of(int err)
{
    switch (err) {
    case 0:
        return SS$_NORMAL;
    case -E2BIG:
    case -EDQUOT:
        return SS$_EXBUFOBJLM;
    case -ENOMEM:
        return SS$_INSFMEM;
    case -EOPNOTSUPP:
        return SS$_PAGTYPVIO;
    case -EINTR:
        return SS$_ABORT;
    default:
        return SS$_ACCVIO;
    }
}

/* Pin the pages and make a buffer object of them. */
static cond_t create(vaddr_t first, uint64_t npages, uint64_t *handle)
{
    struct qio_fast *t = process_fast_make();
    struct pin_set *s;
    cond_t status;

    if (!t)
        return SS$_INSFMEM;
    status = status_of(pin_set_create(process_self()->aspace, first, npages, &s));
    if (status != SS$_NORMAL)
        return status;
    status = qio_buffer_enter(t, s, handle);
    if (status != SS$_NORMAL)
        pin_set_unref(s);
    return status;
}

/*
 * $CREATE_BUFOBJ_64(start_va, length, acmode, flags, return_va, return_length, buffer_handle). The
 * range is extended to whole pages.
 *
 *   SS$_NORMAL
 *   SS$_NOBUFOBJID      the process does not hold VMS$BUFFER_OBJECT_USER
 *   SS$_EXBUFOBJLM      more pages than MAXBOBMEM leaves, or one may have; 256 buffer objects
 *   SS$_PAGTYPVIO       pages that are not private, or cannot be written
 *   SS$_NOPRIV          CBO$M_RETSVA and CBO$M_SVA_32 are for inner modes
 *   SS$_BADPARAM        other flags; a length of 0
 *   SS$_IVACMODE, SS$_ACCVIO, SS$_INSFMEM, SS$_INSFARG, SS$_TOO_MANY_ARGS
 */
cond_t vms_create_bufobj_64(uint64_t block)
{
    enum { START, LENGTH, ACMODE, FLAGS, VA_OUT, LENGTH_OUT, HANDLE, COUNT };
    uint64_t a[VMS_ARGS_MAX], handle;
    cond_t status = vms_args(block, COUNT, COUNT, a);
    vaddr_t first;
    uint64_t n;

    if (status == SS$_NORMAL)
        status = vms_access_mode(a[ACMODE]);
    if (status == SS$_NORMAL)
        status = vms_probe_range(a[VA_OUT], a[LENGTH_OUT]);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[HANDLE], false);
    if (status == SS$_NORMAL && (uint32_t)a[FLAGS])
        status = (uint32_t)a[FLAGS] & ~(CBO$M_RETSVA | CBO$M_SVA_32) ? SS$_BADPARAM : SS$_NOPRIV;
    if (status == SS$_NORMAL && !a[LENGTH])
        status = SS$_BADPARAM;
    if (status == SS$_NORMAL && !user_range_ok(a[START], a[LENGTH]))
        status = SS$_ACCVIO;
    if (status == SS$_NORMAL && !(process_rights(process_self()) & RIGHT_BUFFER_OBJECT_USER))
        status = SS$_NOBUFOBJID;
    if (status != SS$_NORMAL)
        return status;
    first = a[START] & ~PAGE_MASK;
    n = ((a[START] + a[LENGTH] + PAGE_MASK) & ~PAGE_MASK) - first;
    status = create(first, n >> PAGE_SHIFT, &handle);
    if (status == SS$_NORMAL) {
        vms_range_out(a[VA_OUT], a[LENGTH_OUT], first, n);
        vms_quad_out(a[HANDLE], handle);
    }
    return status;
}

/* $DELETE_BUFOBJ(buffer_handle): SS$_NORMAL; SS$_ILLBUFOBJ: there is none with that handle;
   SS$_ACCVIO. */
cond_t vms_delete_bufobj(uint64_t handle_in)
{
    struct qio_fast *t = process_fast();
    uint64_t handle;

    if (copyin_u64(&handle, handle_in))
        return SS$_ACCVIO;
    return t ? qio_buffer_delete(t, handle) : SS$_ILLBUFOBJ;
}

/* ---- fandles ---- */

static bool is_function(uint32_t f)
{
    return f == IO$_READVBLK || f == IO$_WRITEVBLK || f == IO$_READLBLK || f == IO$_WRITELBLK;
}

/*
 * $IO_SETUP(func, bufobj, iosobj, astadr, flags, return_fandle).
 *
 *   SS$_NORMAL
 *   SS$_ILLIOFUNC    func is not a read or write of virtual or logical blocks
 *   SS$_ILLBUFOBJ    there is no buffer object with one of the handles
 *   SS$_NOPRIV       FIO$M_EXPEDITE needs ALTPRI or PHY_IO
 *   SS$_BADPARAM     other flags; no return address of ASTs is known
 *   SS$_EXQUOTA      the process has 256 fandles
 *   SS$_ACCVIO, SS$_INSFMEM
 */
cond_t vms_io_setup(uint64_t func, uint64_t bufobj, uint64_t iosobj, uint64_t astadr,
                    uint64_t flags, uint64_t fandle_out)
{
    struct qio_fast *t = process_fast();
    struct qio_setup s = {.function = func & IO$M_FCODE,
                          .modifiers = (uint32_t)func & ~(uint32_t)IO$M_FCODE,
                          .astadr = astadr};
    cond_t status = vms_ast_check(astadr);
    uint64_t number;

    if (copyin_u64(&s.data, bufobj) || copyin_u64(&s.iosa, iosobj))
        return SS$_ACCVIO;
    if (status == SS$_NORMAL)
        status = vms_probe_quad(fandle_out, false);
    if (status == SS$_NORMAL && !is_function(s.function))
        status = SS$_ILLIOFUNC;
    if (status == SS$_NORMAL && (flags & ~(uint64_t)(FIO$M_EXPEDITE | FIO$M_AST_NOFLOAT)))
        status = SS$_BADPARAM;
    if (status == SS$_NORMAL && (flags & FIO$M_EXPEDITE) &&
        !(process_privileges(process_self()) & (PRV_ALTPRI | PRV$M_PHY_IO)))
        status = SS$_NOPRIV;
    if (status == SS$_NORMAL)
        status = t ? qio_fandle_create(t, &s, &number) : SS$_ILLBUFOBJ;
    if (status == SS$_NORMAL)
        vms_quad_out(fandle_out, number);
    return status;
}

/* $IO_CLEANUP(fandle): SS$_NORMAL; SS$_BADFANDLE; SS$_FANDLEBUSY: it has requests that have not
   ended, or whose AST was not delivered. */
cond_t vms_io_cleanup(uint64_t fandle)
{
    struct qio_fast *t = process_fast();

    return t ? qio_fandle_delete(t, fandle) : SS$_BADFANDLE;
}

/* ---- requests ---- */

struct fast_request { /* nonpaged pool */
    struct disk_request disk;
    struct qio_fast_request fast;
    struct event_request event; /* of its AST */
    struct event_owner *owner;
    struct qio_channels *charged; /* with one request, until it has ended */
    uint64_t *status, *nbytes;    /* in the status area */
    uint16_t account;             /* constant */
};

/* Own threads: the process's channels and its events are there as long as requests are. */
static struct fast_request *of_fast(struct qio_fast_request *f)
{
    return container_of(f, struct fast_request, fast);
}

static void give_back(struct fast_request *r)
{
    qio_fast_end(r->fast.fast, r->fast.fandle, &r->fast);
}

static void ast_over(struct event_request *e)
{
    give_back(container_of(e, struct fast_request, event));
}

/* Write the status area, its condition value last, which programs look at, and tell. Who sees it
 * may begin as many requests as before, and without an AST give the fandle up. */
static void post(struct disk_request *d)
{
    struct fast_request *r = container_of(d, struct fast_request, disk);
    uint64_t count = d->answer >> 16 & UINT32_MAX, value = d->answer & 0xFFFF;
    struct event_owner *owner = r->owner;

    qio_release_request(r->charged);
    if (r->event.astadr) {
        *r->nbytes = count;
        __atomic_store_n(r->status, value, __ATOMIC_RELEASE);
        event_post(&r->event, 0); /* and wakes who waits */
    } else {
        qio_fast_end_telling(r->fast.fast, r->fast.fandle, &r->fast, r->nbytes, count, r->status,
                             value);
        event_wake_none(owner); /* r may be gone */
    }
}

static void leave(struct disk_request *d)
{
    struct fast_request *r = container_of(d, struct fast_request, disk);

    qio_release_request(r->charged);
    if (r->event.astadr)
        event_request_cancel(&r->event);
    give_back(r);
}

static const struct disk_request_kind of_fast_io = {.post = post, .leave = leave};

static void free_request(struct qio_fast_request *f)
{
    struct fast_request *r = of_fast(f);

    block_transfer_end(&r->disk.transfer, true);
    npp_free_charged(r, sizeof(*r), r->account);
}

static struct fast_request *__attribute__((noinline)) allocate(struct qio_fast *t,
                                                               struct qio_fandle *f)
{
    uint16_t account = pool_account();
    struct fast_request *r = npp_alloc_charged(sizeof(*r), account);

    if (!r)
        return NULL;
    memset(r, 0, sizeof(*r));
    r->disk.kind = &of_fast_io;
    block_transfer_init(&r->disk.transfer);
    r->fast = (struct qio_fast_request){.fast = t, .fandle = f, .free = free_request};
    list_init(&r->fast.spare);
    r->event.release = ast_over;
    r->account = account;
    return r;
}

/* The arguments of $IO_PERFORM. */
struct perform {
    struct qio_fandle *f;
    struct disk_channel *c;
    vaddr_t iosa, buffer;
    uint64_t nbytes, block;
};

static cond_t check(const struct perform *p)
{
    uint32_t function = p->f->setup.function;
    bool write = function == IO$_WRITEVBLK || function == IO$_WRITELBLK;
    uint32_t unit = p->c->disk ? p->c->disk->disk->sector_bytes : DISK_BLOCK;
    cond_t status;

    if (unlikely(p->f->setup.modifiers & ~(uint32_t)IO$M_NOVCACHE)) /* nothing is cached here */
        return SS$_ILLMODIFIER;
    status = disk_may(p->c, false, function == IO$_READVBLK || function == IO$_WRITEVBLK);
    if (status != SS$_NORMAL)
        return status;
    if (!(write ? p->c->qio.writable : p->c->qio.readable))
        return write ? SS$_NOWRTACC : SS$_NORDACC;
    if (((p->iosa & 7) | (p->buffer & (unit - 1))) != 0)
        return SS$_UNALIGNED;
    if (!pin_set_has(p->f->iosa, p->iosa, IOSA$K_LENGTH))
        return SS$_BADIOSADR;
    if ((p->nbytes & (unit - 1)) || p->nbytes > LENGTH_MAX)
        return SS$_IVBUFLEN;
    return pin_set_has(p->f->data, p->buffer, p->nbytes) ? SS$_NORMAL : SS$_ILLBUFOBJ;
}

/* Move the data, of which there is some. After an error the request is as before. */
static inline cond_t move(struct fast_request *r, const struct perform *p, bool write, uint64_t at)
{
    struct block_transfer *t = &r->disk.transfer;
    cond_t status = SS$_NORMAL;

    if (unlikely(!p->c->disk)) {
        r->disk.answer = disk_do_now(p->c, write, p->buffer, (uint32_t)p->nbytes, at, &status);
        if (status == SS$_NORMAL)
            post(&r->disk);
        return status;
    }
    block_transfer_begin(t, p->c->disk, write ? BLOCK_WRITE : BLOCK_READ, at, disk_transfer_done);
    status = status_of(block_transfer_add_set(t, p->f->data, p->buffer, p->nbytes));
    if (likely(status == SS$_NORMAL))
        status = disk_submit(&r->disk, write);
    if (unlikely(status != SS$_NORMAL))
        block_transfer_end(t, false);
    return status;
}

static cond_t begin(struct fast_request *r, const struct perform *p)
{
    uint32_t function = p->f->setup.function;
    bool write = function == IO$_WRITEVBLK || function == IO$_WRITELBLK;
    vaddr_t astadr = p->f->setup.astadr;
    uint64_t at, before, zero = 0;
    cond_t status, bad;

    block_transfer_over(&r->disk.transfer);
    disk_request_init(&r->disk, p->c);
    r->event.astadr = 0;
    if (!qio_charge_request(r->charged))
        return SS$_EXQUOTA;
    status = astadr ? event_request_begin(&r->event, r->owner, EVENT_NONE, 0, astadr, p->iosa)
                    : SS$_NORMAL;
    if (unlikely(status != SS$_NORMAL)) {
        qio_release_request(r->charged);
        return status;
    }
    r->status = pin_set_pointer(p->f->iosa, p->iosa);
    r->nbytes = pin_set_pointer(p->f->iosa, p->iosa + offsetof(struct _iosa, iosa$ih_count));
    before = *r->status;
    *r->status = 0;
    bad = disk_place(p->c, p->block, p->nbytes, write, &at);
    if (unlikely(bad != SS$_NORMAL || !p->nbytes)) {
        r->disk.answer = disk_answer(bad, 0);
        post(&r->disk);
        return SS$_NORMAL;
    }
    status = move(r, p, write, at);
    if (unlikely(status != SS$_NORMAL)) {
        /* A request that is refused leaves the area as it was, unless another one, for which it is
         * used too, has ended meanwhile. */
        (void)__atomic_compare_exchange_n(r->status, &zero, before, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED);
        qio_release_request(r->charged);
        if (astadr)
            event_request_cancel(&r->event);
    }
    return status;
}

/* The fandle is busy; r is one of its requests, or NULL. */
static cond_t perform(struct qio_fast *t, struct perform *p, struct qio_fast_request *kept,
                      uint64_t chan)
{
    struct qio_channels *channels = process_self()->channels;
    struct qio_channel *q = channels ? qio_channel_get(channels, chan & 0xFFFF) : NULL;
    struct fast_request *r = kept ? of_fast(kept) : NULL;
    struct event_owner *owner = process_events();
    cond_t status;

    p->c = q ? vms_disk_of(q) : NULL;
    status = !q ? qio_no_channel(chan & 0xFFFF) : !p->c ? SS$_ILLIOFUNC : check(p);
    if (status == SS$_NORMAL && !r)
        r = allocate(t, p->f);
    if (status == SS$_NORMAL && (!r || !owner))
        status = SS$_INSFMEM;
    if (likely(status == SS$_NORMAL)) {
        r->owner = owner;
        r->charged = channels;
        status = begin(r, p);
    }
    if (unlikely(status != SS$_NORMAL))
        qio_fast_end(t, p->f, r ? &r->fast : NULL);
    if (q)
        qio_channel_unref(q);
    return status;
}

/*
 * $IO_PERFORM(fandle, chan, iosadr, bufadr, buflen, devdata).
 *
 *   SS$_NORMAL                    the request has begun: the status area tells its end
 *   SS$_BADFANDLE                 there is no such fandle
 *   SS$_IVCHAN, SS$_NOPRIV        no such channel; LOG_IO is needed for disks
 *   SS$_ILLIOFUNC                 not a channel to a disk or file; logical blocks of a file
 *   SS$_ILLMODIFIER               a modifier of the function
 *   SS$_NORDACC, SS$_NOWRTACC     the channel is not assigned for this direction
 *   SS$_UNALIGNED                 the status area to a quadword, the buffer to a sector
 *   SS$_BADIOSADR, SS$_ILLBUFOBJ  they are not in the buffer objects of the fandle
 *   SS$_IVBUFLEN                  not whole sectors
 *   SS$_EXQUOTA, SS$_EXASTLM, SS$_INSFMEM, SS$_ABORT, SS$_ACCVIO (of a file)
 */
cond_t vms_io_perform(uint64_t fandle, uint64_t chan, uint64_t iosadr, uint64_t bufadr,
                      uint64_t buflen, uint64_t devdata)
{
    struct perform p = {.iosa = iosadr, .buffer = bufadr, .nbytes = buflen, .block = devdata};
    struct qio_fast *t = process_fast();
    struct qio_fast_request *kept;

    p.f = likely(t != NULL) ? qio_fast_begin(t, fandle, &kept) : NULL;
    return likely(p.f != NULL) ? perform(t, &p, kept, chan) : SS$_BADFANDLE;
}
