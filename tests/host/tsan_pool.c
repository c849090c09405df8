// SOURCES: kernel/quota/account.c
// SOURCES: mm/pool/pool_nonpaged.c mm/pool/pool_paged.c mm/pool/pool_var.c mm/pool/pool_check.c
// SOURCES: mm/phys/page.c mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c
// SOURCES: kernel/base/string_extra.c sysman/params.c
/*
 * The lookaside lists of both pools under ThreadSanitizer: threads allocate packets of a few sizes,
 * pass them to each other and free them, while paged pool runs short, which empties its lists, and
 * PAGED_LAL_SIZE changes. Packets are written without atomics, except where the link is, which a
 * late pop may read: so a packet that two threads have, or that is in use and on a list, shows as a
 * data race.
 */
#include "pool_world.h"

#define THREADS 3 /* CPUs, beside the one of disturb() */
#define SLOTS   16
#define STEPS   40000

static uint64_t *slots[2][SLOTS]; /* atomic: packets on their way between threads */
static uint32_t wrong;            /* atomic */

/* Write a value that depends on address and size into every word of the packet. */
static void fill(uint64_t *p, uint64_t size)
{
    __atomic_store_n(p, (uint64_t)p + size, __ATOMIC_RELAXED);
    for (uint64_t i = 1; i < size / 8; i++)
        p[i] = (uint64_t)p + size;
}

static void look(const uint64_t *p, uint64_t size)
{
    for (uint64_t i = 0; i < size / 8; i++)
        if (p[i] != (uint64_t)p + size)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
    uint64_t s = (uint64_t)arg * 7919 + 13;

    host_cpu_enter((unsigned)(uint64_t)arg, NULL);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned pool = step & 1;
        uint64_t size, *p;

        s = s * 6364136223846793005u + 1442695040888963407u;
        size = 48 + ((s >> 40) % 3) * 64;
        p = pool ? pgd_alloc(size) : npp_alloc(size);
        if (p)
            fill(p, size);
        p = __atomic_exchange_n(&slots[pool][(s >> 33) % SLOTS], p, __ATOMIC_ACQ_REL);
        if (!p)
            continue;
        size = p[0] - (uint64_t)p;
        look(p, size);
        if (pool) {
            pgd_free(p, size);
        } else if (step % 8) {
            npp_free(p, size);
        } else {
            __atomic_store_n(p, 0, __ATOMIC_RELAXED);
            npp_free_chain(p, size);
        }
    }
    return NULL;
}

/* Cause shortages, by requests for about all free memory as one block, and change the list size. */
static void *disturb(void *arg)
{
    static const int64_t sizes[] = {512, 0, 2560, 100};

    host_cpu_enter(3, NULL);
    for (unsigned i = 0; !__atomic_load_n((uint32_t *)arg, __ATOMIC_ACQUIRE); i++) {
        struct pool_stats s;
        void *p;

        pgd_stats(&s);
        p = pgd_alloc(s.free + s.lookaside_bytes);
        if (p)
            pgd_free(p, s.free + s.lookaside_bytes);
        sysparam_set("PAGED_LAL_SIZE", sizes[i % ARRAY_SIZE(sizes)], true);
        usleep(2000);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS], other;
    struct pool_list_stats l, all = {0};
    uint32_t stop = 0;

    pool_world_start();
    pthread_create(&other, NULL, disturb, &stop);
    for (uint64_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    for (unsigned pool = 0; pool < 2; pool++)
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t *p = slots[pool][i];

            if (p && pool)
                pgd_free(p, p[0] - (uint64_t)p);
            else if (p)
                npp_free(p, p[0] - (uint64_t)p);
        }
    is(wrong, 0, "no packet belonged to two threads at once");
    is(npp_check() | pgd_check(), 0, "both pools are consistent");
    for (unsigned i = 0; i < 160; i++) {
        pgd_list_stats(i, &l);
        all.hits += l.hits;
        all.requests += l.requests;
    }
    ok(all.hits > 1000 && all.requests > all.hits, "%lu of %lu requests were hits", all.hits,
       all.requests);
    return tap_done();
}
