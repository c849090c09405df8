// SOURCES: kernel/block/queue.c kernel/block/request.c kernel/block/transfer.c kernel/block/gpt.c
/*
 * Requests to disks, with a device that answers when the test says so: order, flushes and what they
 * wait for, errors and second tries, requests that are dropped in every state, devices that are
 * late, and shortage of memory. Then random operations beside a model: each request ends once, the
 * device never has one that was freed, and nothing is left. Partition tables: one by one (the
 * fuzzer `gpt` has any).
 */
#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/block/gpt.h"
#include "kernel/block/private.h"
#include "kernel/block/transfer.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_charged.h"
#include "mm/space/pin.h"

/* As the kernel numbers them: tap.h brings the numbers of this machine. */
enum { IO = -EIO, INVALID = -EINVAL, NOTHING = -ENOENT };

#include "userland/lib/include/tap.h"

#define NS_PER_S UINT64_C(1000000000)

/* ---- memory ---- */

static long blocks, pages, fail_at; /* allocations up to the one that fails; 0: none does */

static bool fails(void) { return fail_at && --fail_at == 0; }

void *npp_alloc(size_t nbytes)
{
    if (fails())
        return NULL;
    blocks++;
    return malloc(nbytes);
}

void npp_free(void *p, size_t nbytes)
{
    memset(p, 0xEE, nbytes);
    free(p);
    blocks--;
}

int page_alloc_bulk(unsigned flags, enum page_type type, unsigned rad, pfn_t *out, size_t n)
{
    (void)flags, (void)type, (void)rad;
    if (fails())
        return -ENOMEM;
    for (size_t k = 0; k < n; k++)
        out[k] = pfn_of(100 + k);
    pages += (long)n;
    return 0;
}

void page_free_bulk(const pfn_t *pfns, size_t n)
{
    (void)pfns;
    pages -= (long)n;
}

static long unpinned;

void page_unpin(pfn_t pfn) { unpinned += (long)pfn.n; }

/* Page k of user memory is page frame k. */
static long pinned;

int aspace_pin(struct aspace *as, vaddr_t va, unsigned n, pfn_t *page)
{
    (void)as;
    if (fails())
        return -EFAULT;
    for (unsigned k = 0; k < n; k++) {
        page[k] = pfn_of(va / PAGE_SIZE + k);
        pinned += (long)page[k].n;
    }
    return 0;
}

void page_pin_again(pfn_t pfn) { pinned += (long)pfn.n; }

static struct aspace *no_aspace(void) { return NULL; }
struct aspace *(*aspace_self)(void) = no_aspace;

struct account accounts[ACCOUNTS_MAX];

/* ---- the device ---- */

static struct block_disk disk;
static struct block_request *with_device[BLOCK_DEPTH + 1];
static unsigned nwith, room, answers, notified, woken;
static int answer[BLOCK_DEPTH];

static void prepare(struct block_disk *d, struct block_request *r)
{
    (void)d;
    r->own[0] = r->sector;
}

static bool start(struct block_disk *d, struct block_request *r)
{
    if (!spin_held(&d->lock) || r->own[0] != r->sector)
        abort();
    if (nwith == room)
        return false;
    with_device[nwith++] = r;
    return true;
}

static void notify(struct block_disk *d)
{
    if (spin_held(&d->lock))
        abort();
    notified++;
}

/* End the k-th request that the device has. */
static void end_request(unsigned k, int err)
{
    struct block_request *r = with_device[k];

    with_device[k] = with_device[--nwith];
    block_ended(&disk, r, err);
}

static unsigned take(struct block_disk *d, unsigned most)
{
    unsigned n = 0;

    (void)d;
    for (; answers && n < most; n++)
        end_request(0, answer[--answers]);
    return n;
}

void block_wake(void) { woken++; }

static const struct block_driver driver = {sizeof(uint64_t), prepare, start, notify, take};
static struct block_volume volume = {.disk = &disk, .first = 1000, .sectors = 100000};

static void begin(void)
{
    memset(&disk, 0, sizeof(disk));
    disk.driver = &driver;
    disk.sectors = 200000;
    disk.sector_bytes = BLOCK_SECTOR;
    disk.sector_shift = 9;
    disk.has_cache = true;
    block_queue_init(&disk);
    room = BLOCK_DEPTH;
    nwith = answers = 0;
    for (unsigned k = 0; k < ACCOUNTS_MAX; k++)
        accounts[k].count[QUOTA_NONPAGED].limit = QUOTA_UNLIMITED;
}

static struct block_request *make(enum block_kind kind, uint64_t sector)
{
    struct block_request *r = block_new(&volume, kind, sector, kind == BLOCK_FLUSH ? 0 : 9 * 512);

    if (!r)
        abort();
    return r;
}

static struct block_request *send(enum block_kind kind, uint64_t sector)
{
    struct block_request *r = make(kind, sector);

    block_submit(r);
    return r;
}

static bool all_free(void)
{
    return !blocks && !pages && !accounts[0].count[QUOTA_NONPAGED].used && list_empty(&disk.all);
}

static void serve(uint64_t now)
{
    while (block_serve(&disk, now))
        ;
}

static void test_order(void)
{
    struct block_request *r[5];

    begin();
    room = 2;
    for (unsigned k = 0; k < 5; k++)
        r[k] = send(BLOCK_READ, k);
    ok(nwith == 2 && with_device[0] == r[0] && with_device[1] == r[1], "the oldest come first");
    is(r[0]->sector, 1000, "a volume begins where it does");
    end_request(1, 0);
    ok(r[1]->finished && nwith == 2 && with_device[1] == r[2], "an answer makes room for the next");
    is(block_wait(r[1]), 0, "who waits is told");
    end_request(0, 0);
    while (nwith)
        end_request(0, 0);
    for (unsigned k = 0; k < 5; k++)
        block_drop(r[k]);
    ok(all_free() && disk.count[BLOCK_READ].requests == 5 &&
           disk.count[BLOCK_READ].bytes == 5 * 9 * 512,
       "all are freed and counted");
}

static void test_flush(void)
{
    struct block_request *w[3], *f, *after;

    begin();
    w[0] = send(BLOCK_WRITE, 0);
    w[1] = send(BLOCK_WRITE, 1);
    f = send(BLOCK_FLUSH, 0);
    after = send(BLOCK_READ, 2);
    w[2] = send(BLOCK_WRITE, 3);
    ok(nwith == 4 && !f->with_device, "a flush waits for the writes before it, alone");
    end_request(1, 0);
    ok(!f->with_device, "for each of them");
    end_request(0, IO);
    ok(!f->with_device && w[0]->with_device, "for the second try of one, too");
    for (unsigned k = 0; k < nwith; k++)
        if (with_device[k] == w[0])
            end_request(k, 0);
    ok(f->with_device && !f->finished, "then the device gets it, whatever came later");
    while (nwith)
        end_request(0, 0);
    ok(f->finished && after->finished && w[2]->finished, "and all end");
    block_drop(f);
    block_drop(after);
    w[0]->err = 0;
    for (unsigned k = 0; k < 3; k++)
        block_drop(w[k]);
    disk.has_cache = false;
    w[0] = send(BLOCK_WRITE, 0);
    f = send(BLOCK_FLUSH, 0);
    ok(!f->finished, "without a cache it waits, too");
    end_request(0, 0);
    ok(f->finished && !f->err && !nwith, "but is nothing for the device");
    block_drop(f);
    block_drop(w[0]);
    room = 0;
    w[0] = send(BLOCK_WRITE, 0);
    f = send(BLOCK_FLUSH, 0);
    block_drop(w[0]);
    serve(0);
    ok(f->finished, "nor for writes that were dropped before they began");
    block_drop(f);
    ok(all_free(), "all are freed");
}

static void test_errors(void)
{
    struct block_request *r = (begin(), send(BLOCK_READ, 7)), *f;

    end_request(0, IO);
    end_request(0, IO);
    ok(!r->finished && disk.retries == 2, "a read is tried three times");
    end_request(0, IO);
    ok(r->finished && block_wait(r) == IO, "then it has failed");
    is(disk.bad_sector, 1007, "the sector is known");
    f = send(BLOCK_FLUSH, 0);
    end_request(0, IO);
    is(block_wait(f), IO, "a flush is tried once: what it lost is lost");
    serve(0);
    is(disk.told, 2, "the console was told");
    block_drop(r);
    block_drop(f);
    ok(all_free(), "all are freed");
}

static void test_dropped(void)
{
    struct block_request *a, *b, *c;

    begin();
    room = 1;
    a = send(BLOCK_READ, 0);
    b = send(BLOCK_READ, 1);
    c = make(BLOCK_READ, 2);
    block_drop(b);
    block_drop(c);
    is(blocks, 1, "what the device does not have is freed at once");
    block_drop(a);
    is(blocks, 1, "what it has is not");
    end_request(0, IO);
    ok(!nwith && blocks == 1, "it is not tried again, nor freed by an interrupt");
    serve(0);
    ok(all_free(), "but by the thread");
}

static void test_late(void)
{
    struct block_request *a, *b, *f, *more;
    uint64_t now;

    begin();
    room = 1;
    a = send(BLOCK_WRITE, 0);
    b = send(BLOCK_WRITE, 1);
    f = send(BLOCK_FLUSH, 0);
    now = a->started_ns;
    serve(now + BLOCK_SILENCE_S * NS_PER_S);
    ok(!disk.failed, "half a minute is waited for");
    serve(now + BLOCK_SILENCE_S * NS_PER_S + 1);
    ok(disk.failed && a->finished && b->finished && f->finished, "not more: all have failed");
    is(block_wait(a) | block_wait(b) | block_wait(f), IO, "with EIO");
    more = send(BLOCK_READ, 3);
    is(block_wait(more), IO, "so does what comes later");
    block_drop(more);
    block_drop(a);
    block_drop(b);
    block_drop(f);
    is(blocks, 1, "the device still has the memory of one");
    end_request(0, 0);
    serve(now);
    ok(all_free() && disk.failed, "until it gives it back");

    begin();
    a = send(BLOCK_READ, 0);
    now = a->started_ns;
    for (unsigned s = 10; s <= BLOCK_PATIENCE_S; s += 10) {
        disk.answered_ns = now + s * NS_PER_S; /* another one was answered */
        serve(disk.answered_ns);
    }
    ok(!disk.failed, "a device that answers is slow");
    disk.answered_ns += NS_PER_S;
    serve(disk.answered_ns);
    ok(disk.failed && block_wait(a) == IO, "but one request must not wait for ever");
    block_drop(a);
    end_request(0, 0);
    serve(now);
    ok(all_free(), "all are freed");
}

static void test_memory(void)
{
    begin();
    for (long n = 1; n <= 2; n++) {
        fail_at = n;
        ok(!block_new(&volume, BLOCK_READ, 0, 9 * 512) && all_free(), "no memory, no request");
    }
    fail_at = 1;
    is(block_flush(&volume), -ENOMEM, "nor a flush");
    accounts[0].count[QUOTA_NONPAGED].limit = 10;
    ok(!block_new(&volume, BLOCK_FLUSH, 0, 0) && all_free(), "a user's limit counts");
}

/* ---- requests that nobody waits for ---- */

static unsigned called;

static void ended(struct block_request *r)
{
    if (!spin_held(&disk.lock) || !r->finished || r->owner != &called)
        abort();
    called++;
}

static struct block_request *send_off(enum block_kind kind, uint64_t sector)
{
    struct block_request *r = make(kind, sector);

    r->ended = ended;
    r->owner = &called;
    block_submit(r);
    return r;
}

static void test_ended(void)
{
    struct block_request *a, *b, *c;

    begin();
    room = 1;
    called = 0;
    a = send_off(BLOCK_WRITE, 0);
    b = send_off(BLOCK_WRITE, 1);
    end_request(0, 0);
    ok(called == 1 && a->finished && !b->finished, "who has asked is told of the end");
    block_drop(a);
    block_drop(b);
    end_request(0, 0);
    serve(0);
    ok(called == 1 && all_free(), "but not of a request that was dropped");
    a = send_off(BLOCK_WRITE, 0);
    b = send_off(BLOCK_WRITE, 1);
    c = send_off(BLOCK_FLUSH, 2);
    block_leave(a);
    block_leave(b);
    block_leave(c);
    end_request(0, 0);
    ok(nwith == 1 && with_device[0] == b, "what was left is carried out");
    end_request(0, 0);
    ok(nwith == 1 && with_device[0] == c, "in order");
    end_request(0, 0);
    serve(0);
    ok(called == 1 && all_free(), "and freed without a word");
    a = send_off(BLOCK_WRITE, 0);
    block_leave(a);
    end_request(0, IO);
    ok(nwith == 1 && with_device[0] == a, "a write that was left is tried again");
    end_request(0, 0);
    serve(0);
    ok(called == 1 && all_free(), "until it succeeds");
    a = send_off(BLOCK_WRITE, 0);
    block_leave(a);
    for (unsigned k = 0; k < BLOCK_TRIES && nwith; k++)
        end_request(0, IO);
    serve(0);
    ok(called == 1 && all_free(), "or has failed as often as others may");
    a = send_off(BLOCK_READ, 0);
    end_request(0, 0);
    block_leave(a);
    ok(called == 2 && all_free(), "or at once, if it has ended");
    a = send_off(BLOCK_WRITE, 0);
    b = send_off(BLOCK_WRITE, 1);
    block_leave(a);
    block_leave(b);
    serve(a->started_ns + BLOCK_SILENCE_S * NS_PER_S + 1);
    ok(disk.failed && blocks == 1, "a device that fails keeps what it has");
    end_request(0, 0);
    serve(0);
    ok(called == 2 && all_free(), "until it answers");
    a = send_off(BLOCK_READ, 0);
    ok(called == 3 && a->err == IO, "later ones end at once");
    block_drop(a);
}

static void test_barrier(void)
{
    struct block_request *w;

    begin();
    is(block_settle(&volume), 0, "without writes nothing is to be waited for");
    w = send(BLOCK_WRITE, 0);
    fail_at = 1;
    is(block_settle(&volume), -ENOMEM, "a wait needs memory");
    end_request(0, 0);
    block_drop(w);
    ok(all_free(), "all are freed");
}

static void test_pinned(void)
{
    const pfn_t page[2] = {{7}, {30}};
    struct block_request *r;

    begin();
    unpinned = 0;
    fail_at = 1;
    ok(!block_new_pinned(&volume, BLOCK_READ, 0, 8192, 512, page, 2) && !unpinned,
       "no memory, no request");
    r = block_new_pinned(&volume, BLOCK_READ, 0, 8192, 512, page, 2);
    ok(!pages && r->skip == 512 && r->page[1].n == 30, "the pages are somebody's");
    block_submit(r);
    block_drop(r);
    is(unpinned, 0, "they stay pinned until the device has answered");
    end_request(0, 0);
    serve(0);
    ok(unpinned == 37 && all_free(), "and are unpinned by the thread");
}

static unsigned transfers_done;

static void done(struct block_transfer *t)
{
    (void)t;
    transfers_done++;
}

static void make_transfer(struct block_transfer *t, enum block_kind kind, vaddr_t at, uint64_t n)
{
    block_transfer_begin(t, &volume, kind, 4096, done);
    if (block_transfer_add(t, at, n))
        abort();
    block_transfer_submit(t);
}

static void end_transfer(struct block_transfer *t, int err, int expected)
{
    while (nwith)
        end_request(0, err);
    is(t->err, expected, "a transfer ends");
    block_transfer_over(t);
}

static void test_transfer(void)
{
    struct block_transfer t;
    struct block_request *r;
    unsigned told;

    begin();
    pinned = unpinned = 0;
    block_transfer_init(&t);
    make_transfer(&t, BLOCK_READ, 5 * PAGE_SIZE + 512, 8192);
    r = t.first;
    ok(nwith == 1 && r->sector == 1008 && r->skip == 512 && r->npages == 2, "one request");
    end_transfer(&t, 0, 0);
    ok(pinned == 11 && unpinned == 11, "its pages are pinned meanwhile");
    fail_at = 2; /* the first is the pin */
    make_transfer(&t, BLOCK_WRITE, 9 * PAGE_SIZE, 512);
    fail_at = 0;
    ok(t.first == r && r->kind == BLOCK_WRITE && r->npages == 1 && !r->skip && r->page[0].n == 9,
       "the next one has the same, without memory");
    end_transfer(&t, 0, 0);
    told = notified;
    make_transfer(&t, BLOCK_READ, 10 * PAGE_SIZE + 4096, 17 * PAGE_SIZE);
    ok(nwith == 2 && with_device[1]->sector == 1008 + 16 * 16 - 8, "a long one has two");
    is(notified - told, 1, "of which the device is told once");
    end_transfer(&t, 0, 0);
    ok(pinned == unpinned && all_free(), "which are not kept");
    make_transfer(&t, BLOCK_READ, 0, 512);
    end_request(0, -EIO);
    end_request(0, -EIO);
    end_transfer(&t, -EIO, IO);
    ok(t.kept && blocks == 1, "one that has failed is kept");
    block_transfer_begin(&t, &volume, BLOCK_READ, 0, done);
    fail_at = 1;
    ok(block_transfer_add(&t, 0, 512) == -EFAULT && t.kept, "also when no memory is there");
    block_transfer_end(&t, false);
    ok(all_free(), "until the end");
    make_transfer(&t, BLOCK_READ, PAGE_SIZE, 512);
    serve(t.first->started_ns + BLOCK_SILENCE_S * NS_PER_S + 1);
    ok(disk.failed && t.with_device && t.err == -EIO, "the device is silent, and may answer later");
    block_transfer_over(&t);
    ok(!t.kept && blocks == 1 && unpinned + 1 == pinned, "so the request is not used again");
    end_request(0, 0);
    serve(0);
    ok(unpinned == pinned && all_free(), "and is freed with its pages when it has answered");
    is(transfers_done, 5, "each was told of");
}

/* ---- random operations ---- */

#define MOST 300u

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % below;
}

static void test_random(void)
{
    struct block_request *mine[MOST];
    unsigned n = 0, flushed = 0;
    bool right = true;

    begin();
    for (unsigned step = 0; step < 60000 && right; step++) {
        unsigned what = draw(10);

        room = draw(50) ? BLOCK_DEPTH : draw(4);
        if (what < 4 && n < MOST) {
            mine[n++] = send((enum block_kind)draw(3), draw(1000));
        } else if (what < 8 && nwith) {
            unsigned k = draw(nwith);
            struct block_request *r = with_device[k], *w;

            if (r->kind == BLOCK_FLUSH) {
                flushed++;
                list_for_each_entry(w, &disk.writes, order)
                    right &= w->place > r->place;
            }
            end_request(k, draw(5) ? 0 : IO);
        } else if (n) {
            unsigned k = draw(n);

            if (mine[k]->finished || draw(4) == 0) {
                block_drop(mine[k]);
                mine[k] = mine[--n];
            }
        }
        if (draw(20) == 0)
            (void)block_serve(&disk, 0);
        right &= disk.nstarted == nwith;
    }
    ok(right && flushed > 1000, "a flush begins when the writes before it have ended (%u)",
       flushed);
    room = BLOCK_DEPTH;
    do {
        while (nwith)
            end_request(0, 0);
        serve(0);
    } while (nwith);
    right = true;
    for (unsigned k = 0; k < n; k++) {
        right &= mine[k]->finished;
        block_drop(mine[k]);
    }
    ok(right, "all have ended");
    ok(all_free() && list_empty(&disk.queue) && list_empty(&disk.held) && list_empty(&disk.writes),
       "nothing is left");
}

/* ---- partition tables ---- */

static uint8_t table_header[512], table[128 * 4];

static void put(uint8_t *p, uint64_t v, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        p[k] = (uint8_t)(v >> 8 * k);
}

static int read_table(struct gpt *g)
{
    int err;

    put(table_header + 88, gpt_crc32(0, table, sizeof(table)), 4);
    put(table_header + 16, 0, 4);
    put(table_header + 16, gpt_crc32(0, table_header, 92), 4);
    err = gpt_header(g, table_header, sizeof(table_header), 1, 10000);
    if (err)
        return err;
    gpt_feed(g, table, sizeof(table));
    return gpt_end(g);
}

static void put_part(unsigned k, uint64_t first, uint64_t last)
{
    table[k * 128] = 1;
    put(table + k * 128 + 32, first, 8);
    put(table + k * 128 + 40, last, 8);
}

static void test_tables(void)
{
    struct gpt g;

    is(gpt_crc32(0, "123456789", 9), 0xCBF43926u, "the checksum is that of the standard");
    is(read_table(&g), NOTHING, "a disk may have no table");
    memcpy(table_header, "EFI PART\0\0\1\0\\\0\0\0", 16);
    put(table_header + 24, 1, 8);
    put(table_header + 40, 34, 8);
    put(table_header + 48, 9966, 8);
    put(table_header + 72, 2, 8);
    put(table_header + 80, 4, 4);
    put(table_header + 84, 128, 4);
    put_part(0, 34, 99);
    put_part(2, 100, 9966);
    is(read_table(&g), 0, "a table is read");
    ok(g.part[0].first == 34 && g.part[0].sectors == 66 && !g.part[1].sectors &&
           g.part[2].sectors == 9867,
       "with its partitions");
    put_part(1, 99, 99);
    is(read_table(&g), INVALID, "partitions with a sector in common are refused");
    put_part(1, 33, 33);
    is(read_table(&g), INVALID, "so is one before the first that may be used");
    put_part(1, 9967, 9966);
    is(read_table(&g), INVALID, "one of no sectors");
    memset(table + 128, 0, 128);
    put(table_header + 72, 34, 8);
    is(read_table(&g), INVALID, "a table among the partitions");
    put(table_header + 72, 2, 8);
    put(table_header + 48, 10000, 8);
    is(read_table(&g), INVALID, "a last sector behind the disk's");
    put(table_header + 48, 9966, 8);
    put(table_header + 84, 64, 4);
    is(read_table(&g), INVALID, "entries that are too short");
    put(table_header + 84, 128, 4);
    put(table_header + 80, 1u << 31, 4);
    is(gpt_header(&g, table_header, 512, 1, 10000), INVALID, "too many of them, a wrong checksum");
    put(table_header + 80, 4, 4);
    is(read_table(&g), 0, "the same without faults is read");
    table[200] ^= 1;
    gpt_header(&g, table_header, 512, 1, 10000);
    gpt_feed(&g, table, sizeof(table));
    is(gpt_end(&g), INVALID, "a changed entry is found");
}

int main(void)
{
    test_order();
    test_flush();
    test_errors();
    test_dropped();
    test_late();
    test_memory();
    test_ended();
    test_barrier();
    test_pinned();
    test_transfer();
    test_random();
    test_tables();
    return tap_done();
}
