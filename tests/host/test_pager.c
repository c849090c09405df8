// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c
// SOURCES: mm/pt/pt_system.c
// SOURCES: mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/space/aspace_tree.c
// SOURCES: mm/space/fault.c
// SOURCES: mm/space/fork.c
// SOURCES: mm/space/anon.c
// SOURCES: mm/object/object.c mm/object/object_paging.c
// SOURCES:
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c
// SOURCES: mm/object/pager.c
// SOURCES: mm/object/rmap.c
// SOURCES: mm/space/object_fault.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/*
 * A pager that answers late, in another order or with errors, and takes pages back during a fault.
 *
 * First each of these cases is tested step by step. Then three CPUs read and write a shared mapping
 * of one object, each its own word of every page, and private mappings of it, while a fourth plays
 * the pager: it collects requests and answers them in random order; it refuses, grants read access
 * only, takes pages back, has them written back and discards them. A CPU must always read the word
 * that it wrote last.
 */
#include "tests/host/vm.h"

#define K_EIO   5
#define K_ENXIO 6

#define PAGES    12u
#define WRITERS  3u
#define REQUESTS 256u

enum request_kind { GET, UPGRADE, PUT };

static struct request {
    enum request_kind kind;
    uint64_t offset;
    unsigned access;
} requests[REQUESTS];
static unsigned nrequests;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t store[PAGES][WRITERS + 1]; /* the pager's copy; used by one thread */
static int ended;
static unsigned gets, upgrades, puts_;

static int record(enum request_kind kind, uint64_t offset, uint64_t count, unsigned access)
{
    pthread_mutex_lock(&heap_lock);
    for (uint64_t i = offset; i < offset + count; i++) {
        if (nrequests == REQUESTS)
            vm_die("too many requests: one page was requested twice");
        requests[nrequests++] = (struct request){kind, i, access};
    }
    pthread_mutex_unlock(&heap_lock);
    return 0;
}

static int test_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    (void)o;
    __atomic_fetch_add(&gets, 1, __ATOMIC_RELAXED);
    return record(GET, offset, count, access);
}

static int test_upgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    (void)o;
    __atomic_fetch_add(&upgrades, 1, __ATOMIC_RELAXED);
    return record(UPGRADE, offset, count, access);
}

static int test_put(struct mm_object *o, uint64_t offset, uint64_t count)
{
    (void)o;
    __atomic_fetch_add(&puts_, 1, __ATOMIC_RELAXED);
    return record(PUT, offset, count, 0);
}

static void test_end(struct mm_object *o)
{
    (void)o;
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
}

static const struct pager_ops test_ops = {.name = "test pager",
                                          .get = test_get,
                                          .upgrade = test_upgrade,
                                          .put = test_put,
                                          .end = test_end};

static pfn_t stored_page(uint64_t offset)
{
    pfn_t pfn;

    page_alloc(PA_ZERO, PAGE_T_OBJECT, RAD_ANY, &pfn);
    memcpy(kseg_page(pfn), store[offset], sizeof(store[offset]));
    return pfn;
}

/* Write the page, as it is now, to the store. */
static void put_page(struct mm_object *o, uint64_t offset)
{
    pfn_t pfn = object_page_try_get(o, offset);

    if (!pfn.n)
        return; /* truncated, or the object is being freed */
    memcpy(store[offset], kseg_page(pfn), sizeof(store[offset]));
    page_unref(pfn);
}

static bool take_request(struct request *r)
{
    bool any;

    pthread_mutex_lock(&heap_lock);
    any = nrequests > 0;
    if (any) {
        unsigned i = (unsigned)rnd(nrequests);

        *r = requests[i];
        requests[i] = requests[--nrequests];
    }
    pthread_mutex_unlock(&heap_lock);
    return any;
}

/* ---- step by step ---- */

static struct aspace *space;
static struct mm_object *object;
static vaddr_t base;

struct fault {
    pthread_t thread;
    uint64_t offset, value;
    enum fault_access access;
    unsigned cpu;
    int err;
    int done; /* atomic */
};

static void *fault_main(void *arg)
{
    struct fault *f = arg;

    vm_switch(f->cpu, space);
    f->err = vm_access(space, base + f->offset * PAGE_SIZE, f->access, &f->value);
    __atomic_store_n(&f->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void fault_start(struct fault *f, unsigned cpu, uint64_t offset, enum fault_access a,
                        uint64_t value)
{
    *f = (struct fault){.cpu = cpu, .offset = offset, .access = a, .value = value};
    pthread_create(&f->thread, NULL, fault_main, f);
}

static void await_requests(unsigned n)
{
    for (;;) {
        unsigned have;

        pthread_mutex_lock(&heap_lock);
        have = nrequests;
        pthread_mutex_unlock(&heap_lock);
        if (have == n)
            return;
        sched_yield();
    }
}

static void begin(void)
{
    for (unsigned i = 0; i < PAGES; i++)
        for (unsigned w = 0; w <= WRITERS; w++)
            store[i][w] = 0x5000 + i;
    nrequests = 0;
    ended = 0;
    space = aspace_create(0);
    object = object_create(PAGES, &test_ops, NULL);
    base = 0;
    aspace_map_object(space, &base, PAGES * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED, object, 0);
}

static void end(void)
{
    vm_unload(space);
    vm_check(space);
    aspace_unref(space);
    object_unref(object);
}

static void test_late_and_out_of_order(void)
{
    struct fault f[3];

    begin();
    for (unsigned i = 0; i < 3; i++) {
        fault_start(&f[i], i, i, FAULT_READ, 0);
        await_requests(i + 1);
    }
    ok(!f[0].done && !f[1].done && !f[2].done, "faults wait for their pages");
    mm_supply(object, 2, stored_page(2), MAP_R);
    pthread_join(f[2].thread, NULL);
    ok(f[2].err == 0 && f[2].value == 0x5002, "the page requested last is supplied first");
    ok(!__atomic_load_n(&f[0].done, __ATOMIC_ACQUIRE), "the other faults keep waiting");
    mm_supply(object, 0, stored_page(0), MAP_R);
    mm_supply(object, 1, stored_page(1), MAP_R);
    pthread_join(f[0].thread, NULL);
    pthread_join(f[1].thread, NULL);
    ok(f[0].value == 0x5000 && f[1].value == 0x5001, "until their pages are supplied");
    nrequests = 0;
    is(mm_supply(object, 5, stored_page(5), MAP_R), -2, "a page that was not requested is refused");
    end();
    ok(ended, "the pager's end operation is called");
}

static void test_error(void)
{
    struct fault f;

    begin();
    fault_start(&f, 0, 3, FAULT_READ, 0);
    await_requests(1);
    nrequests = 0;
    mm_deny(object, 3, 1, -K_EIO);
    pthread_join(f.thread, NULL);
    is(f.err, -K_EIO, "a refusal reaches the fault");
    fault_start(&f, 0, 3, FAULT_READ, 0);
    await_requests(1);
    nrequests = 0;
    mm_supply(object, 3, stored_page(3), MAP_R);
    pthread_join(f.thread, NULL);
    ok(f.err == 0 && f.value == 0x5003, "the next fault makes a new request");
    end();
}

static void test_upgrade_and_downgrade(void)
{
    struct fault f;
    uint64_t value = 0;

    begin();
    fault_start(&f, 0, 4, FAULT_WRITE, 99);
    await_requests(1);
    is(requests[0].access, MAP_R | MAP_W, "a write asks for write access");
    nrequests = 0;
    mm_supply(object, 4, stored_page(4), MAP_R);
    await_requests(1);
    is(requests[0].kind, UPGRADE, "an upgrade is requested for a page that was supplied read-only");
    nrequests = 0;
    mm_supply(object, 4, PFN_NONE, MAP_R | MAP_W);
    pthread_join(f.thread, NULL);
    is(f.err, 0, "the write succeeds");
    vm_switch(0, space);
    is(vm_access(space, base + 4 * PAGE_SIZE, FAULT_READ, &value) || value != 99, 0,
       "the value is read back");
    mm_downgrade(object, 4, 1, MAP_R);
    fault_start(&f, 1, 4, FAULT_WRITE, 100);
    await_requests(1);
    is(requests[0].kind, UPGRADE, "an upgrade is requested after write access was taken away");
    nrequests = 0;
    mm_downgrade(object, 4, 1, 0); /* while the fault waits */
    await_requests(1);
    is(requests[0].kind, PUT,
       "a modified page taken back during its upgrade is written back first");
    nrequests = 0;
    put_page(object, 4);
    mm_put_done(object, 4, 1, 0);
    mm_supply(object, 4, PFN_NONE, MAP_R | MAP_W);
    await_requests(1);
    is(requests[0].kind, GET, "and is then requested with get");
    nrequests = 0;
    mm_supply(object, 4, stored_page(4), MAP_R | MAP_W);
    pthread_join(f.thread, NULL);
    is(f.err, 0, "the fault ends");
    vm_switch(0, space);
    is(vm_access(space, base + 4 * PAGE_SIZE, FAULT_READ, &value) || value != 100, 0,
       "its write is done");
    is(store[4][0], 99, "the earlier contents are kept");
    end();
}

/* Wait for the only request that there can be, the fault's. False: the fault has ended. */
static bool await_request_of(const struct fault *f)
{
    for (;;) {
        unsigned have;

        if (__atomic_load_n(&f->done, __ATOMIC_ACQUIRE))
            return false;
        pthread_mutex_lock(&heap_lock);
        have = nrequests;
        pthread_mutex_unlock(&heap_lock);
        if (have)
            return true;
        sched_yield();
    }
}

static void test_taken_back_at_once(void)
{
    struct fault f;

    begin();
    fault_start(&f, 0, 7, FAULT_READ, 0);
    for (unsigned i = 0; await_request_of(&f); i++) {
        nrequests = 0;
        mm_supply(object, 7, stored_page(7), MAP_R);
        if (i < 200) /* unless the fault once maps and reads the page before it is taken */
            mm_downgrade(object, 7, 1, 0);
    }
    pthread_join(f.thread, NULL);
    ok(f.err == 0 && f.value == 0x5007,
       "a page taken back as soon as it is supplied is requested until it stays");
    end();
}

static void test_put_and_forget(void)
{
    struct fault f;
    uint64_t value = 0;

    begin();
    fault_start(&f, 0, 1, FAULT_WRITE, 1234);
    await_requests(1);
    nrequests = 0;
    mm_supply(object, 1, stored_page(1), MAP_R | MAP_W);
    pthread_join(f.thread, NULL);
    mm_downgrade(object, 1, 1, 0);
    await_requests(1);
    is(requests[0].kind, PUT, "a modified page is written back before it is removed");
    nrequests = 0;
    put_page(object, 1);
    mm_put_done(object, 1, 1, 0);
    is(store[1][0], 1234, "with its modified contents");
    fault_start(&f, 1, 1, FAULT_READ, 0);
    await_requests(1);
    nrequests = 0;
    mm_supply(object, 1, stored_page(1), MAP_R | MAP_W);
    pthread_join(f.thread, NULL);
    is(f.value, 1234, "the page is supplied again");
    vm_switch(1, space);
    value = 5;
    is(vm_access(space, base + PAGE_SIZE, FAULT_WRITE, &value), 0,
       "a write marks it modified again");
    is(mm_flush(object, 0, PAGES), 0, "flush");
    await_requests(1);
    nrequests = 0;
    fault_start(&f, 0, 1, FAULT_WRITE, 6);
    usleep(2000);
    ok(!__atomic_load_n(&f.done, __ATOMIC_ACQUIRE),
       "a write waits while the page is being written back");
    put_page(object, 1);
    mm_put_done(object, 1, 1, 0);
    pthread_join(f.thread, NULL);
    ok(f.err == 0 && store[1][0] == 5, "the write continues after that");
    end();
}

static void test_dies_waiting_for_answers(void)
{
    struct request r;

    begin();
    /* A request whose object is freed: made on the object itself, and not waited for. */
    {
        ipl_t ipl = spin_lock(object->lock);

        is(pager_request_unlock(object, 9, MAP_R, ipl), 0, "a request is outstanding");
    }
    end();
    ok(!ended, "an object with an outstanding answer is not freed");
    take_request(&r);
    is(mm_supply(object, 9, stored_page(9), MAP_R), -2,
       "the answer is refused: the object is dead");
    ok(ended, "and was the last thing to wait for");
}

#define K_EINTR 4

static void kill_cpu(unsigned cpu, bool killed)
{
    __atomic_store_n(&host_killed[cpu], killed, __ATOMIC_RELEASE);
}

/* The pager does not answer, and one of two waiting threads gets a fatal signal: its fault fails,
   the other thread keeps waiting, and the late answer puts the page into the object. */
static void test_killed_in_a_fault(void)
{
    struct fault f, other;
    uint64_t value = 0;

    begin();
    fault_start(&f, 0, 3, FAULT_READ, 0);
    await_requests(1);
    fault_start(&other, 1, 3, FAULT_READ, 0);
    usleep(5000);
    ok(!__atomic_load_n(&f.done, __ATOMIC_ACQUIRE), "a fault waits for an answer");
    kill_cpu(0, true);
    pthread_join(f.thread, NULL);
    is(f.err, -K_EINTR, "a fatal signal ends the wait, and the fault fails");
    usleep(5000);
    ok(!__atomic_load_n(&other.done, __ATOMIC_ACQUIRE) && nrequests == 1,
       "another thread's fault keeps waiting, and the page is not requested twice");
    is(mm_supply(object, 3, stored_page(3), MAP_R), 0, "the answer is accepted");
    pthread_join(other.thread, NULL);
    ok(other.err == 0 && other.value == 0x5003, "by the thread that still waits");
    nrequests = 0;

    kill_cpu(0, false);
    fault_start(&f, 0, 4, FAULT_WRITE, 7);
    await_requests(1);
    kill_cpu(0, true);
    pthread_join(f.thread, NULL);
    is(f.err, -K_EINTR, "no thread is left waiting");
    is(mm_supply(object, 4, stored_page(4), MAP_R | MAP_W), 0, "and the late answer is accepted");
    nrequests = 0;
    vm_switch(1, space);
    ok(vm_access(space, base + 4 * PAGE_SIZE, FAULT_READ, &value) == 0 && value == 0x5004 &&
           nrequests == 0,
       "the page is in the object: the next fault finds it without asking");
    is(vm_access(space, base + 3 * PAGE_SIZE, FAULT_READ, &value), 0,
       "a page that is present needs no wait");
    kill_cpu(0, false);

    fault_start(&f, 0, 5, FAULT_READ, 0);
    await_requests(1);
    kill_cpu(0, true);
    pthread_join(f.thread, NULL);
    kill_cpu(0, false);
    mm_deny(object, 5, 1, -K_EIO);
    nrequests = 0;
    fault_start(&f, 0, 5, FAULT_READ, 0);
    await_requests(1);
    mm_supply(object, 5, stored_page(5), MAP_R);
    pthread_join(f.thread, NULL);
    ok(f.err == 0 && f.value == 0x5005, "after a late refusal the next fault makes a new request");
    end();
}

/* The same for a call that makes pages present and for one that reads a file; and the address space
   is freed before the answer comes. */
static void *call_main(void *arg)
{
    int *err = arg;
    pfn_t pfn;

    vm_switch(0, space);
    err[0] = aspace_populate(space, base, 4 * PAGE_SIZE, false);
    err[1] = object_page_get(object, 0, MAP_R, &pfn);
    return NULL;
}

static void test_killed_in_a_call(void)
{
    struct request r;
    pthread_t t;
    int err[2];

    begin();
    pthread_create(&t, NULL, call_main, err);
    await_requests(1);
    kill_cpu(0, true);
    pthread_join(t, NULL);
    kill_cpu(0, false);
    is(err[0], -K_EINTR, "populate ends");
    is(err[1], -K_EINTR, "a read ends, too");
    is(nrequests, 1, "and requests no more pages");
    end();
    ok(!ended, "the object stays until its outstanding answer");
    take_request(&r);
    is(mm_supply(object, r.offset, stored_page(r.offset), MAP_R), -2,
       "the late answer is refused: the object is dead");
    ok(ended, "and was the last thing to wait for");
}

static void test_truncate(void)
{
    struct fault f;
    uint64_t value;

    begin();
    for (unsigned i = 0; i < 3; i++) {
        fault_start(&f, 0, i, FAULT_READ, 0);
        await_requests(1);
        nrequests = 0;
        mm_supply(object, i, stored_page(i), MAP_R | MAP_W);
        pthread_join(f.thread, NULL);
    }
    object_truncate(object, 1);
    vm_switch(0, space);
    is(vm_access(space, base, FAULT_READ, &value), 0, "pages below the new size stay");
    is(vm_access(space, base + PAGE_SIZE, FAULT_READ, &value), -K_ENXIO,
       "pages that are cut off are unmapped");
    end();
}

/* ---- all at once ---- */

#define ROUNDS 10000u
static unsigned done_writers;

static void *writer_main(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    struct aspace *as = aspace_create(0);
    vaddr_t shared = 0, private = 0;
    uint64_t mine[PAGES], copy[PAGES], seed = 0x1234567 + me;
    bool copied[PAGES] = {false};

    vm_switch(me, as);
    aspace_map_object(as, &shared, PAGES * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED, object, 0);
    aspace_map_object(as, &private, PAGES * PAGE_SIZE, MAP_R | MAP_W, 0, object, 0);
    for (unsigned i = 0; i < PAGES; i++)
        mine[i] = 0x5000 + i;
    for (unsigned r = 0; r < ROUNDS; r++) {
        unsigned i, what;
        uint64_t value = 0;
        int err;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        i = (unsigned)(seed >> 33) % PAGES;
        what = (unsigned)(seed >> 50) % 8;
        if (what < 3) {
            value = ((uint64_t)me << 56) | r;
            err = vm_access(as, shared + i * PAGE_SIZE + me * 8, FAULT_WRITE, &value);
            if (!err)
                mine[i] = value;
        } else if (what < 6) {
            err = vm_access(as, shared + i * PAGE_SIZE + me * 8, FAULT_READ, &value);
            if (!err && value != mine[i])
                vm_die("CPU %u reads 0x%lx from page %u and wrote 0x%lx", me, (unsigned long)value,
                       i, (unsigned long)mine[i]);
        } else if (what == 6) {
            value = r;
            err = vm_access(as, private + i * PAGE_SIZE + WRITERS * 8, FAULT_WRITE, &value);
            if (!err) {
                copied[i] = true;
                copy[i] = value;
            }
        } else {
            err = vm_access(as, private + i * PAGE_SIZE + WRITERS * 8, FAULT_READ, &value);
            if (!err && value != (copied[i] ? copy[i] : 0x5000 + i))
                vm_die("CPU %u's private page %u holds 0x%lx", me, i, (unsigned long)value);
        }
        if (err && err != -K_EIO)
            vm_die("a fault returns %d", err);
    }
    vm_switch(me, NULL);
    {
        ipl_t ipl = spin_lock(&as->pt.lock); /* the pager may still change PTEs */

        vm_check(as);
        spin_unlock(&as->pt.lock, ipl);
    }
    aspace_unref(as);
    __atomic_fetch_add(&done_writers, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void answer_one(struct mm_object *o, const struct request *r)
{
    bool refuse = rnd(20) == 0;

    switch (r->kind) {
    case GET:
        if (refuse)
            mm_deny(o, r->offset, 1, -K_EIO);
        else
            mm_supply(o, r->offset, stored_page(r->offset), rnd(3) ? r->access : MAP_R);
        break;
    case UPGRADE:
        if (refuse)
            mm_deny(o, r->offset, 1, -K_EIO);
        else
            mm_supply(o, r->offset, PFN_NONE, r->access);
        break;
    case PUT:
        if (!refuse)
            put_page(o, r->offset);
        mm_put_done(o, r->offset, 1, refuse ? -K_EIO : 0);
        break;
    }
    /* Not during an upgrade: the page may be newer than the store and would be lost. */
    if (r->kind == GET && rnd(8) == 0)
        mm_downgrade(o, r->offset, 1, rnd(2) ? MAP_R : 0);
}

static void *pager_main(void *arg)
{
    (void)arg;
    vm_switch(WRITERS, NULL);
    while (__atomic_load_n(&done_writers, __ATOMIC_ACQUIRE) < WRITERS || nrequests) {
        struct request r;

        if (rnd(4) == 0)
            mm_flush(object, rnd(PAGES), 1);
        if (rnd(4) == 0)
            mm_downgrade(object, rnd(PAGES), 1, MAP_R);
        if (rnd(3) == 0)
            mm_downgrade(object, rnd(PAGES), 1, 0);
        if (rnd(3) == 0)
            sched_yield();
        else if (take_request(&r))
            answer_one(object, &r);
    }
    return NULL;
}

static void test_all_at_once(void)
{
    pthread_t t[WRITERS], pager;

    begin();
    done_writers = 0;
    pthread_create(&pager, NULL, pager_main, NULL);
    for (uintptr_t i = 0; i < WRITERS; i++)
        pthread_create(&t[i], NULL, writer_main, (void *)i);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(t[i], NULL);
    pthread_join(pager, NULL);
    end();
    diag("%u gets, %u upgrades, %u puts", gets, upgrades, puts_);
    ok(ended && gets > 10 && upgrades > 10 && puts_ > 10,
       "three CPUs with a pager that acts at random lose no write");
}

int main(void)
{
    uint32_t pages;
    int64_t pool;

    vm_boot();
    pages = vm_nfree;
    pool = vm_pool_bytes;
    test_late_and_out_of_order();
    test_error();
    test_upgrade_and_downgrade();
    test_taken_back_at_once();
    test_put_and_forget();
    test_dies_waiting_for_answers();
    test_killed_in_a_fault();
    test_killed_in_a_call();
    test_truncate();
    test_all_at_once();
    ok(vm_nfree == pages && vm_pool_bytes == pool, "no page and no byte of pool is lost");
    return tap_done();
}
