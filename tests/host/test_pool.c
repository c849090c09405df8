// SOURCES: kernel/quota/account.c
// SOURCES: mm/pool/pool_nonpaged.c mm/pool/pool_paged.c mm/pool/pool_var.c mm/pool/pool_check.c
// SOURCES: mm/phys/page.c mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c
// SOURCES: kernel/base/string_extra.c sysman/params.c
/*
 * Both pools: blocks never overlap and keep their contents, wrong frees are caught, everything can
 * be freed; the lookaside lists with several threads; shortage of memory.
 */
#include "mm/pool/pool_lal.h"

#include "pool_world.h"

extern __thread uint64_t host_spin_locks; /* tests/host/shim.c */

/* ---- one interface to both pools ---- */

static const struct pool {
    const char *name;
    void *(*alloc)(size_t);
    void *(*zalloc)(size_t);
    void (*free)(void *, size_t);
    void (*stats)(struct pool_stats *);
    void (*list_stats)(unsigned, struct pool_list_stats *);
    int (*check)(void);
    uint64_t max;
} pools[] = {
    {"nonpaged", npp_alloc, npp_alloc_zeroed, npp_free, npp_stats, npp_list_stats, npp_check,
     100000},
    {"paged", pgd_alloc, pgd_alloc_zeroed, pgd_free, pgd_stats, pgd_list_stats, pgd_check, 30000},
};

#define BLOCKS 400
static struct block {
    unsigned char *p;
    size_t n;
    unsigned char fill;
} blocks[BLOCKS];

static const char *check_block(const struct block *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] != b->fill)
            return "contents changed";
    for (unsigned j = 0; j < BLOCKS; j++)
        if (blocks[j].p && b != &blocks[j] && b->p < blocks[j].p + blocks[j].n &&
            blocks[j].p < b->p + b->n)
            return "two blocks overlap";
    return NULL;
}

static size_t random_size(const struct pool *pool)
{
    return 1 + rnd(rnd(4) == 0 ? pool->max : rnd(2) ? 64 : 600);
}

static uint64_t all_requests(const struct pool *pool)
{
    struct pool_list_stats l;
    struct pool_stats s;
    uint64_t sum;

    pool->stats(&s);
    sum = s.direct;
    for (unsigned i = 0; i < s.nlists; i++) {
        pool->list_stats(i, &l);
        sum += l.requests;
    }
    return sum;
}

static void test_random(const struct pool *pool)
{
    const char *bad = NULL;
    struct pool_stats before, s;
    uint64_t requests = all_requests(pool), asked = 0;

    pool->stats(&before);
    for (unsigned step = 0; step < 30000 && !bad; step++) {
        struct block *b = &blocks[rnd(BLOCKS)];

        if (b->p) {
            bad = check_block(b);
            pool->free(b->p, b->n);
            b->p = NULL;
        } else {
            bool zero = rnd(2);

            b->n = random_size(pool);
            asked++;
            b->p = zero ? pool->zalloc(b->n) : pool->alloc(b->n);
            if (!b->p)
                continue;
            if ((uint64_t)b->p % POOL_GRAIN)
                bad = "not aligned";
            for (size_t i = 0; zero && i < b->n; i++)
                if (b->p[i])
                    bad = "not zeroed";
            b->fill = (unsigned char)rnd(256);
            memset(b->p, b->fill, b->n);
        }
        if (step % 700 == 0) { /* lists are turned on and off and change their size */
            static const int64_t lal[] = {512, 0, 2560, 16, 1000};

            sysparam_set("PAGED_LAL_SIZE", lal[rnd(ARRAY_SIZE(lal))], true);
        }
        if (step % 500 == 0 && !bad && pool->check())
            bad = "the self-check fails";
    }
    sysparam_set("PAGED_LAL_SIZE", 512, true);
    ok(!bad, "%s pool: 30000 random requests agree with the model%s%s", pool->name, bad ? ": " : "",
       bad ? bad : "");
    is(all_requests(pool) - requests, asked, "%s pool: each is counted once, lists on or off",
       pool->name);
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].p) {
            pool->free(blocks[i].p, blocks[i].n);
            blocks[i].p = NULL;
        }
    is(pool->check(), 0, "%s pool: the self-check passes", pool->name);
    pool->stats(&s);
    is(s.in_use, before.in_use, "%s pool: everything has been freed", pool->name);
    ok(s.size == s.free + s.lookaside_bytes + s.in_use, "%s pool: its counters add up", pool->name);
    ok(s.largest <= s.free && s.smallest <= s.largest && s.free_blocks_le64 <= s.free_blocks,
       "%s pool: and are plausible", pool->name);
}

static void test_wrong_frees(const struct pool *pool)
{
    static const size_t sizes[] = {64, 400, 1008, 1024, 4000};
    unsigned caught = 0, wanted = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        size_t n = sizes[i];
        unsigned char *a = pool->alloc(n), *b = pool->alloc(n), *c = pool->alloc(n);

        memset(a, 1, n);
        memset(b, 1, n);
        wanted += 6;
        caught += panics(pool->free(b, n - 16));
        caught += panics(pool->free(b, n + 16));
        caught += panics(pool->free(b + 16, n));
        caught += panics(pool->free(b + 8, n));
        caught += panics(pool->free(b, 2 * n));
        pool->free(b, n);
        /* Freed twice: noticed by the seal if it is on a lookaside list, and in the variable list
           because the block is free. */
        caught += panics(pool->free(b, n));
        pool->free(a, n);
        pool->free(c, n);
    }
    is(caught, wanted, "%s pool: frees of a wrong address or size, and second frees, are caught",
       pool->name);
    ok(panics(pool->free(&seed, 64)), "%s pool: so is an address outside it", pool->name);
    ok(pool->alloc(0) == NULL, "%s pool: a request for 0 bytes fails", pool->name);
    ok(pool->alloc(UINT64_MAX) == NULL && pool->alloc(UINT64_MAX - 20) == NULL,
       "%s pool: a request for too much fails", pool->name);

    unsigned char *a = pool->alloc(80);

    pool->free(a, 80);
    memset(a, 7, 80);
    ok(panics(pool->alloc(80)), "%s pool: a write after the free is caught", pool->name);
}

/* ---- threads ---- */

#define SLOTS 32
static uint64_t slots[SLOTS]; /* atomic: blocks on their way between threads; first quadword 0,
                                 second own address */
static uint64_t broken;       /* atomic */
static const struct pool *stressed;

static void *stress(void *arg)
{
    uint64_t s = (uint64_t)arg * 104729 + 7;

    host_cpu_enter((unsigned)((uint64_t)arg % MAX_CPUS), NULL);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t *p, *q;
        size_t n;

        s = s * 6364136223846793005u + 1442695040888963407u;
        n = 48 + ((s >> 40) & 1) * 16; /* two lists only */
        p = stressed->alloc(n);
        if (!p)
            continue;
        p[0] = n;
        p[2] = (uint64_t)p;
        q = (uint64_t *)__atomic_exchange_n(&slots[(s >> 33) % SLOTS], (uint64_t)p,
                                            __ATOMIC_ACQ_REL);
        if (!q)
            continue;
        if (q[2] != (uint64_t)q || (q[0] != 48 && q[0] != 64)) {
            __atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
            continue;
        }
        q[2] = 0;
        stressed->free(q, q[0]);
    }
    return NULL;
}

static void test_threads(const struct pool *pool)
{
    pthread_t t[6];
    struct pool_stats before, after;

    stressed = pool;
    pool->stats(&before);
    for (uint64_t i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, stress, (void *)i);
    for (unsigned i = 0; i < 6; i++)
        pthread_join(t[i], NULL);
    for (unsigned i = 0; i < SLOTS; i++)
        if (slots[i]) {
            uint64_t *p = (uint64_t *)slots[i];

            p[2] = 0;
            pool->free(p, p[0]);
            slots[i] = 0;
        }
    pool->stats(&after);
    is(broken, 0, "%s pool: six threads never get the same packet", pool->name);
    is(after.in_use, before.in_use, "%s pool: no packet is lost", pool->name);
    is(pool->check(), 0, "%s pool: its self-check passes", pool->name);
}

/* ---- particular to one pool ---- */

static void test_lists(void)
{
    struct pool_list_stats a, b;
    void *p;

    pgd_free(pgd_alloc(208), 208);
    pgd_list_stats(12, &a);
    p = pgd_alloc(200);
    pgd_list_stats(12, &b);
    ok(b.requests == a.requests + 1 && b.hits == a.hits + 1 && b.count == a.count - 1,
       "a hit is counted in its list");
    pgd_free(p, 200);
    pgd_list_stats(12, &b);
    ok(b.frees == a.frees + 1 && b.count == a.count, "and so is the free");

    sysparam_set("PAGED_LAL_SIZE", 0, true);
    p = pgd_alloc(200);
    pgd_list_stats(12, &a);
    ok(a.requests == b.requests && a.count == b.count,
       "with PAGED_LAL_SIZE 0 the lists are not used");
    pgd_free(p, 200);
    pgd_list_stats(12, &a);
    is(a.count, b.count, "neither for allocations nor for frees; packets stay on the lists");
    sysparam_set("PAGED_LAL_SIZE", 512, true);

    pgd_drain();
    pgd_list_stats(12, &a);
    p = pgd_alloc(200);
    pgd_list_stats(12, &b);
    ok(b.requests == a.requests + 1 && b.hits == a.hits, "a miss is a request and no hit");
    pgd_free(p, 200);
}

static void test_paged_shortage(void)
{
    static void *p[300000 / 16];
    struct pool_stats s;
    unsigned n = 0;
    void *big;

    /* Allocate and free 4 MiB in packets of 512 bytes: the lists hold as much as they may then, the
       rest is in the variable list. */
    while (n < ARRAY_SIZE(p) && (p[n] = pgd_alloc(512)) != NULL)
        n++;
    ok(n > 7000, "4 MiB hold %u packets of 512 bytes", n);
    for (unsigned i = 0; i < n; i++)
        pgd_free(p[i], 512);
    pgd_stats(&s);
    ok(s.lookaside_bytes <= s.size / 4 * 3,
       "the lists hold no more than three quarters of the pool");
    ok(s.lookaside_bytes > 0, "but they hold something");
    big = pgd_alloc(s.size - s.in_use - 4096);
    ok(big != NULL, "a shortage gives the lists back to the variable list");
    if (big)
        pgd_free(big, s.size - s.in_use - 4096);
    pgd_stats(&s);
    is(s.free_blocks, 1, "where all is one block again");
}

static void *keep_draining(void *stop)
{
    host_cpu_enter(1, NULL);
    while (!__atomic_load_n((uint32_t *)stop, __ATOMIC_ACQUIRE))
        pgd_drain();
    return NULL;
}

/* Requests for all that is left of the pool while another thread moves packets from the lists to
   the variable list: what is on its way is not missed. */
static void test_shortage_beside_drain(void)
{
    enum { LISTS = 32, LEFT = 16384, ROUNDS = 60000 };
    void *p[LISTS + 1], *rest;
    struct pool_stats s;
    uint32_t stop = 0, failed = 0;
    pthread_t t;

    pgd_drain();
    pgd_stats(&s);
    rest = pgd_alloc(s.free - LEFT);
    pthread_create(&t, NULL, keep_draining, &stop);
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 1; k <= LISTS; k++)
            p[k] = pgd_alloc(k * POOL_GRAIN);
        for (unsigned k = 1; k <= LISTS; k++)
            pgd_free(p[k], k * POOL_GRAIN);
        p[0] = pgd_alloc(LEFT);
        failed += !p[0];
        if (p[0])
            pgd_free(p[0], LEFT);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(t, NULL);
    is(failed, 0, "all memory that is free can be had while packets are moved");
    pgd_free(rest, s.free - LEFT);
}

/* The pages of large free blocks go back to the system, and are mapped again when the blocks are
   allocated again. */
static void test_pages_go_back(void)
{
    enum { BLOCK = 300000 };
    uint64_t before = unmapped;
    unsigned char *low = pgd_alloc(600), *p = pgd_alloc(BLOCK), *high = pgd_alloc(600);
    unsigned there = 0;

    memset(p, 0x5A, BLOCK);
    memset(low, 1, 600);
    memset(high, 2, 600);
    pgd_free(p, BLOCK);
    for (uint64_t a = page_round_up((uint64_t)p + 16); a + PAGE_SIZE <= (uint64_t)p + BLOCK;
         a += PAGE_SIZE)
        there += kmap_lookup(a).n != 0;
    ok(unmapped > before, "whole pages inside a free block go back to the system");
    ok(there <= 32, "all but a few of them (%u of %u)", there, (unsigned)(BLOCK / PAGE_SIZE));
    is(pgd_check(), 0, "the list can still be walked: headers stay");
    ok(low[599] == 1 && high[0] == 2, "neighbours keep their contents");
    p = pgd_alloc(BLOCK);
    ok(p != NULL, "the block is allocated again");
    memset(p, 0xA5, BLOCK);
    pgd_free(p, BLOCK);
    pgd_free(low, 600);
    pgd_free(high, 600);
    is(pgd_check(), 0, "and freed");
}

static void test_paged_no_memory(void)
{
    void *p;

    pages_left = 0;
    memset(present, 0, sizeof(present)); /* as if all had been paged out, and no page were free */
    p = pgd_alloc(5000);
    ok(p == NULL, "without memory for its pages a request fails");
    pages_left = UINT64_MAX;
    is(pgd_check(), 0, "and nothing has changed");
    p = pgd_alloc(5000);
    ok(p != NULL, "with memory it is served");
    pgd_free(p, 5000);
}

static void test_nonpaged_limit(void)
{
    static void *p[20000];
    unsigned n = 0;
    struct pool_stats s;

    sysparam_set("NPAGEVIR", 6 << 20, false);
    while (n < ARRAY_SIZE(p) && (p[n] = npp_alloc(1008)) != NULL)
        n++;
    npp_stats(&s);
    ok(s.size <= 6 << 20 && n > 5000, "nonpaged pool grows to NPAGEVIR and no further (%u packets)",
       n);
    for (unsigned i = 0; i < n; i++)
        npp_free(p[i], 1008);
    p[0] = npp_alloc(20000);
    ok(p[0] != NULL, "its lookaside lists are given back on shortage");
    npp_free(p[0], 20000);
    npp_stats(&s);
    is(s.in_use, 0, "nothing is in use");
}

/* Interrupts are off while the lock is held, so it is held for one batch of packets and one walk of
   the variable list at a time. The order of the packets is the worst for a drain that walks the
   list for each packet. */
static void test_drain_in_batches(void)
{
    enum { PACKETS = 20000 };
    static void *p[PACKETS];
    struct pool_list_stats l;
    struct pool_stats before, s;
    uint64_t locks, hits;

    sysparam_set("NPAGEVIR", 64 << 20, false);
    npp_stats(&before);
    for (unsigned i = 0; i < PACKETS; i++)
        p[i] = npp_alloc(160);
    for (unsigned i = 0; i < PACKETS; i += 2)
        npp_free(p[i], 160);
    npp_list_stats(160 / POOL_GRAIN - 1, &l);
    hits = l.hits;
    locks = host_spin_locks;
    npp_drain();
    locks = host_spin_locks - locks;
    ok(locks >= PACKETS / 2 / POOL_RECLAIM && locks <= PACKETS / 2 / POOL_RECLAIM + npp_lists(),
       "the lock is free between two batches (taken %lu times)", locks);
    npp_list_stats(160 / POOL_GRAIN - 1, &l);
    is(l.count, 0, "the list is empty");
    is(l.hits, hits, "packets taken out by the drain are not counted as hits");
    npp_stats(&s);
    is(s.in_use - before.in_use, PACKETS / 2 * 160, "the others are in use");
    is(npp_check(), 0, "the pool is consistent");
    for (unsigned i = 1; i < PACKETS; i += 2)
        npp_free(p[i], 160);
    npp_drain();
    npp_stats(&s);
    is(s.in_use, before.in_use, "all is free");
    is(npp_check(), 0, "and consistent");
}

/* Link n blocks, in another order than that of their addresses. */
static void *link_blocks(void *const *p, unsigned n)
{
    void *first = NULL;

    for (unsigned i = 0; i < n; i++) {
        void **b = p[i * 7 % n];

        *b = first;
        first = b;
    }
    return first;
}

/* Blocks that are freed together are on their list, each once, and can be allocated again. */
static void test_chains(void)
{
    enum { BLOCKS_AT_ONCE = 300 };
    static const size_t sizes[] = {16,  64,   528,
                                   992, 1008, 4000}; /* above 992 the quick check ends */
    static uint64_t *p[BLOCKS_AT_ONCE];
    struct pool_stats before, s;
    unsigned wrong = 0;

    npp_stats(&before);
    for (unsigned k = 0; k < ARRAY_SIZE(sizes); k++) {
        struct pool_list_stats was, is;
        unsigned list = (unsigned)(sizes[k] - 1) / POOL_GRAIN;

        for (unsigned i = 0; i < BLOCKS_AT_ONCE; i++)
            p[i] = npp_alloc(sizes[k]);
        npp_list_stats(list, &was);
        npp_free_chain(link_blocks((void **)p, BLOCKS_AT_ONCE), sizes[k]);
        npp_list_stats(list, &is);
        wrong += is.count != was.count + BLOCKS_AT_ONCE || is.frees != was.frees + BLOCKS_AT_ONCE;
        for (unsigned i = 0; i < BLOCKS_AT_ONCE; i++) {
            p[i] = npp_alloc(sizes[k]);
            p[i][0] = i;
            p[i][sizes[k] / 8 - 1] = i;
        }
        for (unsigned i = 0; i < BLOCKS_AT_ONCE; i++) {
            wrong += p[i][0] != i;
            npp_free(p[i], sizes[k]);
        }
    }
    npp_free_chain(NULL, 64);
    npp_stats(&s);
    ok(!wrong && s.in_use == before.in_use && npp_check() == 0,
       "blocks that are freed together are free, each once");
}

static void test_wrong_chains(void)
{
    void *p[3] = {npp_alloc(64), npp_alloc(64), npp_alloc(80)};
    void *chain = link_blocks(p, 2);
    unsigned caught = 0;

    caught += panics(npp_free_chain(chain, 80));
    caught += panics(npp_free_chain(link_blocks(p, 3), 64));
    caught += panics({
        npp_free(p[0], 64);
        npp_free_chain(link_blocks(p, 2), 64);
    });
    caught += panics({
        *(void **)p[0] = p[0]; /* itself once more */
        npp_free_chain(p[0], 64);
    });
    caught += panics({
        *(void **)p[0] = &p[1];
        npp_free_chain(p[0], 64);
    });
    is(caught, 5, "a chain with a block of another size, a free one, one twice, or none is caught");
    for (unsigned i = 0; i < 3; i++)
        npp_free(p[i], i < 2 ? 64 : 80);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    diag("seed %#lx", seed);
    pool_world_start();

    for (unsigned i = 0; i < ARRAY_SIZE(pools); i++) {
        test_random(&pools[i]);
        test_threads(&pools[i]);
    }
    test_lists();
    test_paged_shortage();
    test_shortage_beside_drain();
    test_pages_go_back();
    test_paged_no_memory();
    test_nonpaged_limit();
    test_drain_in_batches();
    test_chains();
    test_wrong_chains();
    for (unsigned i = 0; i < ARRAY_SIZE(pools); i++)
        test_wrong_frees(&pools[i]); /* last: leaves a damaged packet */
    return tap_done();
}
