/*
 * Requests to a 9P server (client.h).
 *
 * One thread takes the answers and calls `done` of those requests that no thread waits for. It
 * never waits for an answer itself. It also gives requests up whose answer has not come in
 * NINEP_PATIENCE_S seconds, and then the server as a whole: as long as no answer of any kind comes,
 * further requests fail at once with -EIO.
 *
 * client.lock protects the ring and the state of all requests. It is held for one request at a
 * time, and never while memory is allocated or freed.
 */
#include "kernel/fs/ninep/client.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define NS_PER_S    UINT64_C(1000000000)
#define PATIENCE_NS (NINEP_PATIENCE_S * NS_PER_S)
#define CLUNK_ROOM  16u /* bytes of a request that has only a fid */
#define ANSWER_ROOM 16u /* bytes of an answer that has no contents, or an error */
#define MOST_BYTES  (NINEP_CALL_PAGES * PAGE_SIZE + 4096u)

/* ---- fids ---- */

uint32_t ninep_fid_new(struct ninep_client *c)
{
    uint32_t words = NINEP_FIDS / 64, at = __atomic_load_n(&c->next_fid, __ATOMIC_RELAXED);

    for (uint32_t k = 0; k < words; k++, at++) {
        uint64_t *w = &c->used[at % words], have = __atomic_load_n(w, __ATOMIC_RELAXED);

        while (have != UINT64_MAX) {
            unsigned bit = (unsigned)__builtin_ctzl(~have);

            if (__atomic_compare_exchange_n(w, &have, have | 1ul << bit, false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED)) {
                __atomic_store_n(&c->next_fid, at % words, __ATOMIC_RELAXED);
                return at % words * 64 + bit;
            }
        }
    }
    return NINEP_NO_FID;
}

void ninep_fid_free(struct ninep_client *c, uint32_t fid)
{
    __atomic_fetch_and(&c->used[fid / 64], ~(1ul << fid % 64), __ATOMIC_RELEASE);
}

/* Have the client's thread look at a dead fid. */
static void look_at_dead(struct ninep_client *c, uint32_t fid)
{
    __atomic_fetch_or(&c->dead_words[fid / 4096], 1ul << fid / 64 % 64, __ATOMIC_RELEASE);
    __atomic_store_n(&c->any_dead, true, __ATOMIC_RELEASE);
    wake_one(&c->work);
}

void ninep_fid_drop(struct ninep_client *c, uint32_t fid)
{
    if (fid == NINEP_NO_FID)
        return;
    __atomic_fetch_or(&c->dead[fid / 64], 1ul << fid % 64, __ATOMIC_SEQ_CST);
    look_at_dead(c, fid);
}

/*
 * Who replaces a fid changes *at, marks the old one as dead, and the client's thread looks for
 * holders then. Who holds it counts first and looks at *at then. So either the thread finds the
 * holder, or the holder the new fid. The bit of a dead fid stays until there are no holders: the
 * last one finds it, and has the thread look again.
 */
uint32_t ninep_fid_hold(struct ninep_client *c, const uint32_t *at)
{
    for (;;) {
        uint32_t fid = __atomic_load_n(at, __ATOMIC_ACQUIRE);

        __atomic_fetch_add(&c->holders[fid], 1, __ATOMIC_SEQ_CST);
        if (likely(__atomic_load_n(at, __ATOMIC_SEQ_CST) == fid))
            return fid;
        ninep_fid_release(c, fid);
    }
}

void ninep_fid_release(struct ninep_client *c, uint32_t fid)
{
    if (__atomic_fetch_sub(&c->holders[fid], 1, __ATOMIC_SEQ_CST) == 1 &&
        unlikely(__atomic_load_n(&c->dead[fid / 64], __ATOMIC_SEQ_CST) >> fid % 64 & 1))
        look_at_dead(c, fid);
}

/* The server has answered: it has forgotten the fid, or never known it. */
static void clunked(struct ninep_call *call)
{
    if (call->err != -EIO) /* then nobody knows: the number is never used again */
        ninep_fid_free(call->client, (uint32_t)call->number);
}

static bool clunk(struct ninep_client *c, uint32_t fid)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_CLUNK, CLUNK_ROOM, ANSWER_ROOM);

    if (!call)
        return false;
    ninep_put32(&call->m, fid);
    call->done = clunked;
    call->number = fid;
    ninep_send(call);
    return true;
}

/* Clunk those dropped fids of word k that nobody holds. False: out of memory. */
static bool clunk_word(struct ninep_client *c, uint32_t k)
{
    uint64_t bits = __atomic_load_n(&c->dead[k], __ATOMIC_RELAXED);

    for (; bits; bits &= bits - 1) {
        uint32_t fid = k * 64 + (unsigned)__builtin_ctzl(bits);

        if (__atomic_load_n(&c->holders[fid], __ATOMIC_SEQ_CST))
            continue;
        __atomic_fetch_and(&c->dead[k], ~(bits & -bits), __ATOMIC_ACQUIRE);
        if (!clunk(c, fid)) {
            __atomic_fetch_or(&c->dead[k], bits & -bits, __ATOMIC_RELAXED);
            return false;
        }
    }
    return true;
}

/* Clunk the fids that were dropped. What there is no memory for is left to a later time. */
static void clunk_dead(struct ninep_client *c)
{
    if (!__atomic_exchange_n(&c->any_dead, false, __ATOMIC_SEQ_CST))
        return;
    for (uint32_t k = 0; k < NINEP_FIDS / 4096; k++) {
        uint64_t words = 0;

        if (__atomic_load_n(&c->dead_words[k], __ATOMIC_RELAXED))
            words = __atomic_exchange_n(&c->dead_words[k], 0, __ATOMIC_ACQUIRE);
        for (; words; words &= words - 1)
            if (!clunk_word(c, k * 64 + (unsigned)__builtin_ctzl(words))) {
                __atomic_fetch_or(&c->dead_words[k], words, __ATOMIC_RELAXED);
                __atomic_store_n(&c->any_dead, true, __ATOMIC_RELEASE);
                return;
            }
    }
}

/* ---- requests ---- */

struct ninep_call *ninep_call_new(struct ninep_client *c, enum ninep_type type, size_t room,
                                  size_t answer)
{
    size_t nbytes = offsetof(struct ninep_call, buf) + room + answer;
    struct ninep_call *call = npp_alloc_zeroed(nbytes);
    ipl_t ipl;

    if (!call)
        return NULL;
    call->client = c;
    wait_queue_init(&call->queue, "9P answer");
    list_init(&call->waiting);
    call->made_ns = clock_ns();
    call->tag = -1;
    call->type = (uint8_t)type;
    call->fid = NINEP_NO_FID;
    call->room = (uint32_t)answer;
    call->nbytes = (uint32_t)nbytes;
    call->answer = call->buf + room;
    ninep_begin(&call->m, call->buf, room, type);
    ipl = spin_lock(&c->lock);
    list_add_tail(&c->calls, &call->all);
    spin_unlock(&c->lock, ipl);
    return call;
}

void ninep_call_free(struct ninep_call *call)
{
    ipl_t ipl = spin_lock(&call->client->lock);

    KASSERT(call->tag < 0 && list_empty(&call->waiting),
            "a request that is freed is not on its way");
    list_remove(&call->all);
    spin_unlock(&call->client->lock, ipl);
    for (uint32_t k = 0; k < call->npages; k++)
        if (call->page[k].n)
            page_unref(call->page[k]);
    npp_free(call, call->nbytes);
}

/* Nobody waits for it, and the device has given it back: free it, and what its success has made. */
static void dispose(struct ninep_call *call)
{
    if (call->fid != NINEP_NO_FID)
        ninep_fid_drop(call->client, call->fid); /* the server may know it */
    ninep_call_free(call);
}

/* Fill in the table of segments: request, data, answer, the parts that the device writes last.
 * Returns their number. */
static unsigned segments(struct ninep_call *call)
{
    struct virtio_segment *s = call->table;
    struct virtio_segment answer = {
        .address = kseg_paddr(call->answer).a, .nbytes = call->room, .flags = VIRTIO_WRITE};
    uint32_t left = call->data, within = call->within;

    *s++ = (struct virtio_segment){.address = kseg_paddr(call->m.start).a,
                                   .nbytes = (uint32_t)(call->m.at - call->m.start)};
    if (call->reads)
        *s++ = answer;
    for (uint32_t k = 0; left; k++) {
        uint32_t part = (uint32_t)MIN((uint64_t)left, PAGE_SIZE - within);

        *s++ = (struct virtio_segment){.address = pfn_to_paddr(call->page[k]).a + within,
                                       .nbytes = part,
                                       .flags = call->reads ? VIRTIO_WRITE : 0};
        left -= part;
        within = 0;
    }
    if (!call->reads)
        *s++ = answer;
    return (unsigned)(s - call->table);
}

/* Pass a request to the device, if its ring has room. Lock held. */
static bool pass_locked(struct ninep_client *c, struct ninep_call *call)
{
    int tag;

    if (c->ring.nfree == 0)
        return false;
    /* The entry that comes next, so that the message has its tag before the device sees it. */
    tag = c->ring.free[c->ring.nfree - 1];
    ninep_end(&call->m, call->type == NINEP_VERSION ? NINEP_NO_TAG : (uint16_t)tag,
              call->reads ? 0 : call->data);
    call->tag = virtio_queue_add(&c->ring, call->table, segments(call), call);
    KASSERT(call->tag == tag, "the ring's free entries are taken from the end");
    return true;
}

/* May a request be sent? While the server is silent, one in a second is, to find out. */
static bool may_send(struct ninep_client *c)
{
    uint64_t since = __atomic_load_n(&c->silent_ns, __ATOMIC_RELAXED), now;

    if (likely(!since))
        return true;
    now = clock_ns();
    return now - since > NS_PER_S &&
           __atomic_compare_exchange_n(&c->silent_ns, &since, now, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* Send a request, or let it wait for room in the ring. One that cannot be sent waits too: the
 * client's thread finishes it. */
static void submit(struct ninep_call *call)
{
    struct ninep_client *c = call->client;
    bool passed = false;
    ipl_t ipl;

    call->err = call->m.bad ? -EINVAL : may_send(c) ? 0 : -EIO;
    ipl = spin_lock(&c->lock);
    if (!call->err && list_empty(&c->waiting))
        passed = pass_locked(c, call);
    if (!passed)
        list_add_tail(&c->waiting, &call->waiting);
    spin_unlock(&c->lock, ipl);
    if (passed)
        virtio_queue_notify(&c->device, &c->ring);
    else
        wake_one(&c->work);
}

void ninep_send(struct ninep_call *call)
{
    call->left = true; /* not sent yet, so nobody else knows it */
    submit(call);
}

/* The server need not work on a request any more. Whether it answers that, or this, or both is all
 * the same: its ring entries come back. */
static void flushed(struct ninep_call *call) { (void)call; }

/* The calling thread waits no longer. The request is freed here if it has been returned, or was
 * never passed on; otherwise by the client's thread, which may be about to read its answer. The
 * server is told of it under the same hold of the lock: once the answer is taken the tag may be
 * another request's. Without memory or room in the ring the server is not told. */
static void leave(struct ninep_call *call)
{
    struct ninep_client *c = call->client;
    struct ninep_call *flush = ninep_call_new(c, NINEP_FLUSH, CLUNK_ROOM, ANSWER_ROOM);
    bool ours, told = false;
    ipl_t ipl = spin_lock(&c->lock);

    ours = call->returned || !list_empty(&call->waiting);
    list_remove(&call->waiting);
    call->left = true;
    if (flush && !ours && !call->finished && call->tag >= 0 && list_empty(&c->waiting)) {
        ninep_put16(&flush->m, (uint16_t)call->tag);
        flush->done = flushed;
        flush->left = true;
        told = pass_locked(c, flush);
    }
    spin_unlock(&c->lock, ipl);
    if (told)
        virtio_queue_notify(&c->device, &c->ring);
    else if (flush)
        ninep_call_free(flush);
    if (ours)
        dispose(call);
}

int ninep_wait(struct ninep_call *call)
{
    struct waiter w;
    bool killed = false;
    int err;

    if (thread_killed()) {
        if (call->fid != NINEP_NO_FID)
            ninep_fid_free(call->client, call->fid);
        ninep_call_free(call);
        return -EINTR;
    }
    submit(call);
    for (;;) {
        wait_enqueue(&call->queue, &w);
        if (__atomic_load_n(&call->finished, __ATOMIC_ACQUIRE))
            break;
        if (wait_block(&w, WAIT_KILLABLE, WAIT_FOREVER)) {
            killed = true;
            break;
        }
    }
    wait_finish(&w);
    err = __atomic_load_n(&call->finished, __ATOMIC_ACQUIRE) ? call->err : killed ? -EINTR : -EIO;
    if (!err)
        return 0;
    leave(call);
    return err;
}

/* ---- the client's thread ---- */

/* Finish a request: with its answer, or because it is given up. returned: the device does not have
 * it (any more). */
static void finish(struct ninep_call *call, int err, bool returned)
{
    struct ninep_client *c = call->client;
    ipl_t ipl = spin_lock(&c->lock);
    bool first = !call->finished, left = call->left;

    call->returned = returned;
    if (first) {
        call->err = err;
        __atomic_store_n(&call->finished, true, __ATOMIC_RELEASE);
        if (!left) /* one thread, which runs here when this one has nothing more to do */
            (void)wake_all_follow(&call->queue);
    }
    spin_unlock(&c->lock, ipl);
    if (!left) /* who waits for it may have freed it by now */
        return;
    if (first && call->done)
        call->done(call);
    if (returned)
        dispose(call);
}

/* What the device has written in answer to `call`. */
static int read_answer(struct ninep_call *call, uint32_t nbytes, uint16_t tag)
{
    size_t data = call->reads ? call->data : 0;
    int err = ninep_answer(&call->m, call->answer, call->room, nbytes, data,
                           (enum ninep_type)call->type, tag);

    if (err != -EPROTO)
        return err;
    if (nbytes) /* none: it was flushed */
        printk("9P: the server's answer to a request of type %u (%u bytes) is none: refused\n",
               call->type, nbytes);
    return -EIO;
}

/* Take one answer from the ring. False: there is none. */
static bool take_answer(struct ninep_client *c)
{
    uint32_t nbytes, bad = 0;
    struct ninep_call *call;
    uint16_t tag = 0;
    ipl_t ipl = spin_lock(&c->lock);

    call = virtio_queue_take(&c->ring, &nbytes, &bad);
    c->refused += bad;
    if (call) {
        tag = (uint16_t)call->tag;
        call->tag = -1;
        __atomic_store_n(&c->silent_ns, 0, __ATOMIC_RELAXED);
    }
    spin_unlock(&c->lock, ipl);
    if (bad)
        printk("9P: %u answers to requests that the server does not have\n", bad);
    if (!call)
        return false;
    if (call->finished) { /* given up: nobody reads the answer */
        finish(call, -EIO, true);
    } else {
        int err = read_answer(call, nbytes, call->type == NINEP_VERSION ? NINEP_NO_TAG : tag);

        if (err && err != -EIO && call->fid != NINEP_NO_FID && call->type != NINEP_CLUNK) {
            ninep_fid_free(c, call->fid); /* it was not made */
            call->fid = NINEP_NO_FID;
        }
        finish(call, err, true);
    }
    return true;
}

/* Pass on what waits for room in the ring, and finish what failed at once. False: nothing could be
 * done. */
static bool pass_waiting(struct ninep_client *c)
{
    ipl_t ipl = spin_lock(&c->lock);
    struct list *first = list_first(&c->waiting);
    struct ninep_call *call = first ? list_entry(first, struct ninep_call, waiting) : NULL;
    bool failed = call && call->err, passed = false;

    if (call && !failed)
        passed = pass_locked(c, call);
    if (failed || passed)
        list_remove(&call->waiting);
    spin_unlock(&c->lock, ipl);
    if (failed)
        finish(call, call->err, true);
    if (passed)
        virtio_queue_notify(&c->device, &c->ring);
    return failed || passed;
}

/* Was it asked for too long ago? Not if it was made since `now` was read. */
static bool is_late(const struct ninep_call *call, uint64_t now)
{
    return now > call->made_ns && now - call->made_ns > PATIENCE_NS;
}

/* Find a request that is to be given up. Lock held. *waited: it was never sent. */
static struct ninep_call *late_locked(struct ninep_client *c, uint64_t now, bool *waited)
{
    struct list *first = list_first(&c->waiting);
    struct ninep_call *call;

    *waited = false;
    for (uint32_t k = 0; k < c->ring.size; k++) {
        call = c->ring.owner[k];
        if (call && !call->finished && is_late(call, now))
            return call;
    }
    call = first ? list_entry(first, struct ninep_call, waiting) : NULL;
    if (!call || !is_late(call, now))
        return NULL;
    list_remove(&call->waiting);
    *waited = true;
    return call;
}

/* Give up what was asked for too long ago. */
static void give_up_late(struct ninep_client *c)
{
    uint64_t now = clock_ns();

    for (;;) {
        bool waited;
        ipl_t ipl = spin_lock(&c->lock);
        struct ninep_call *call = late_locked(c, now, &waited);

        spin_unlock(&c->lock, ipl);
        if (!call)
            return;
        if (!__atomic_exchange_n(&c->silent_ns, now, __ATOMIC_RELAXED))
            printk("9P: no answer for %u seconds: requests fail until one comes\n",
                   NINEP_PATIENCE_S);
        finish(call, -EIO, waited);
    }
}

static void interrupted(void *arg)
{
    struct ninep_client *c = arg;

    __atomic_store_n(&c->interrupted, true, __ATOMIC_RELEASE);
    wake_one(&c->work);
}

/* Is there something for the thread to do? A wake-up after this look finds it on its queue. */
static bool has_work(struct ninep_client *c)
{
    return __atomic_exchange_n(&c->interrupted, false, __ATOMIC_ACQUIRE) |
           __atomic_load_n(&c->called, __ATOMIC_ACQUIRE);
}

static void serve(void *arg)
{
    struct ninep_client *c = arg;
    uint64_t next = clock_ns() + NS_PER_S;

    for (;;) {
        struct waiter w;
        bool busy = false;

        wait_enqueue(&c->work, &w);
        while (take_answer(c) || pass_waiting(c))
            busy = true;
        clunk_dead(c);
        if (__atomic_exchange_n(&c->called, false, __ATOMIC_ACQUIRE) || clock_ns() >= next) {
            give_up_late(c);
            next = clock_ns() + c->idle(c->arg);
        }
        if (!busy && !has_work(c))
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, next);
        wait_finish(&w);
    }
}

void ninep_client_wake(struct ninep_client *c)
{
    __atomic_store_n(&c->called, true, __ATOMIC_RELEASE);
    wake_one(&c->work);
}

/* ---- boot ---- */

/* The device's tag is a length of two bytes and the text. */
static bool has_tag(const struct virtio_device *d, const char *tag)
{
    size_t n = strlen(tag);

    if (virtio_config(d, 0, 2) != n)
        return false;
    for (size_t k = 0; k < n; k++)
        if (virtio_config8(d, (unsigned)(2 + k)) != (uint8_t)tag[k])
            return false;
    return true;
}

static int agree_on_version(struct ninep_client *c)
{
    static const char version[] = "9P2000.L";
    struct ninep_call *call = ninep_call_new(c, NINEP_VERSION, 64, 64);
    const char *text;
    uint32_t len;
    int err;

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, MOST_BYTES);
    ninep_put_text(&call->m, version, sizeof(version) - 1);
    err = ninep_wait(call);
    if (err)
        return err;
    c->most = ninep_get32(&call->m);
    text = ninep_get_text(&call->m, sizeof(version) - 1, &len);
    if (!text || len != sizeof(version) - 1 || memcmp(text, version, len) != 0 ||
        c->most < PAGE_SIZE + 4096 || c->most > MOST_BYTES)
        err = -EPROTO;
    ninep_call_free(call);
    return err;
}

int ninep_client_boot(struct ninep_client *c, const char *tag, uint64_t (*idle)(void *arg),
                      void *arg)
{
    struct thread *t;
    int err;

    memset(c, 0, sizeof(*c));
    for (unsigned n = 0;; n++) {
        if (!virtio_find(&c->device, VIRTIO_ID_9P, n))
            return -ENODEV;
        if (has_tag(&c->device, tag))
            break;
    }
    spin_init(&c->lock, "shared folder", RANK_SHARE, IPL_ASTDEL);
    list_init(&c->calls);
    list_init(&c->waiting);
    wait_queue_init(&c->work, "9P work");
    c->idle = idle;
    c->arg = arg;
    virtio_negotiate(&c->device, VIRTIO_F_INDIRECT);
    err = c->device.features & VIRTIO_F_INDIRECT ? virtio_queue_boot(&c->device, &c->ring, 0)
                                                 : -ENODEV;
    t = err ? NULL : thread_create("9p", serve, c, PRIO_NORMAL + 4);
    if (!err && !t)
        err = -ENOMEM;
    if (!err)
        err = virtio_start(&c->device, interrupted, c);
    if (err) {
        if (t)
            thread_discard(t);
        virtio_fail(&c->device);
        return err;
    }
    thread_start(t);
    return agree_on_version(c);
}

/* ---- self-check and census ---- */

/* Pages to be filled belong to the request, those to be written to an object, unless the thread
 * that wrote them has been killed and has taken them out. */
static void validate_pages(struct validate *v, const struct ninep_call *call)
{
    for (uint32_t k = 0; k < call->npages; k++) {
        const struct page *p = page_of(call->page[k]);

        if (call->page[k].n && p->type == PAGE_T_SYSTEM)
            validate_page(v, call->page[k], VALIDATE_PIPE);
        else if (call->page[k].n && p->refcnt == 1 && p->state == PAGE_ACTIVE)
            validate_left_page(v, call->page[k]);
    }
}

void ninep_client_validate(struct validate *v, const struct ninep_client *c)
{
    const struct ninep_call *call;

    virtio_queue_validate(v, &c->ring);
    list_for_each_entry(call, &c->calls, all)
        validate_pages(v, call);
}

void ninep_client_census(struct census *n, const struct ninep_client *c)
{
    const struct ninep_call *call;

    list_for_each_entry(call, &c->calls, all)
        census_explain(n, CENSUS_NONPAGED, call->nbytes, 1);
}
