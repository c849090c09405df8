// SOURCES: kernel/quota/account.c
// SOURCES: mm/pool/pool_nonpaged.c mm/pool/pool_paged.c mm/pool/pool_var.c mm/pool/pool_check.c
// SOURCES: mm/phys/page.c mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c kernel/base/string_extra.c sysman/params.c
/*
 * POOLCHECK: allocated and free blocks are filled with their patterns, and a write after a free is
 * found on a lookaside list, in the variable list, and where two blocks were merged.
 */
#include "pool_world.h"

static const struct pool {
    const char *name;
    void *(*alloc)(size_t);
    void (*free)(void *, size_t);
} pools[] = {{"nonpaged", npp_alloc, npp_free}, {"paged", pgd_alloc, pgd_free}};

static unsigned wrong_bytes(const unsigned char *p, size_t n, unsigned char pattern)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong += p[i] != pattern;
    return wrong;
}

static void patterns(const struct pool *pool, size_t n)
{
    unsigned char *p = pool->alloc(n);

    is(wrong_bytes(p, n, 'a'), 0,
       "%s pool: a block of %zu bytes has the pattern of allocated blocks", pool->name, n);
    memset(p, 0, n);
    pool->free(p, n);
    is(wrong_bytes(p + POOL_HEAD, n - POOL_HEAD, 'd'), 0,
       "it has the pattern of free blocks when it is free");
    p = pool->alloc(n);
    is(wrong_bytes(p, n, 'a'), 0, "and the first one again when it is allocated again");
    pool->free(p, n);
}

/* Write each byte after the header of a freed block in turn. */
static void writes_after_free(const struct pool *pool, size_t n)
{
    unsigned caught = 0, tried = 0;

    for (size_t at = POOL_HEAD; at < n; at += n / 40 + 1, tried++) {
        unsigned char *p = pool->alloc(n);

        pool->free(p, n);
        caught += panics({
            p[at] ^= 1;
            pool->alloc(n);
        });
    }
    is(caught, tried, "%s pool: %u writes into a free block of %zu bytes are found", pool->name,
       tried, n);
}

/* When blocks are merged, the former headers between them have the pattern too. */
static void merged(void)
{
    unsigned char *p[8], *all;

    sysparam_set("PAGED_LAL_SIZE", 0, true);
    for (unsigned i = 0; i < 8; i++)
        p[i] = pgd_alloc(112);
    for (unsigned i = 0; i < 8; i += 2)
        pgd_free(p[i], 112);
    for (unsigned i = 1; i < 8; i += 2)
        pgd_free(p[i], 112);
    is(wrong_bytes(p[0] + POOL_HEAD, 8 * 112 - POOL_HEAD, 'd'), 0,
       "merged blocks have the pattern everywhere");
    ok(panics({
           p[5][3] = 1;
           pgd_alloc(8 * 112);
       }),
       "a write where a header has been is found");
    all = pgd_alloc(8 * 112);
    ok(all == p[0], "they are one block");
    pgd_free(all, 8 * 112);
    sysparam_set("PAGED_LAL_SIZE", 512, true);
}

static void random_requests(const struct pool *pool)
{
    enum { BLOCKS = 200 };
    static struct {
        unsigned char *p;
        size_t n;
    } b[BLOCKS];
    unsigned wrong = 0;

    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (unsigned)rnd(BLOCKS);

        if (step % 700 == 0)
            sysparam_set("PAGED_LAL_SIZE", (int64_t)rnd(4) * 512, true);
        if (b[i].p) {
            memset(b[i].p, (int)rnd(256), b[i].n);
            pool->free(b[i].p, b[i].n);
            b[i].p = NULL;
        } else {
            b[i].n = 1 + rnd(rnd(8) ? 700 : 20000);
            b[i].p = pool->alloc(b[i].n);
            wrong += b[i].p && wrong_bytes(b[i].p, b[i].n, 'a');
        }
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (b[i].p) {
            pool->free(b[i].p, b[i].n);
            b[i].p = NULL;
        }
    sysparam_set("PAGED_LAL_SIZE", 512, true);
    is(wrong, 0, "%s pool: 20,000 random requests raise no false alarm", pool->name);
}

int main(void)
{
    sysparam_set("POOLCHECK", 0x616400FF, false);
    pool_world_start();
    merged(); /* first, while consecutive blocks are adjacent */
    for (unsigned i = 0; i < ARRAY_SIZE(pools); i++) {
        random_requests(&pools[i]);
        patterns(&pools[i], 208);
        patterns(&pools[i], 12000);
        writes_after_free(&pools[i], 208);
        writes_after_free(&pools[i], 2560);
        writes_after_free(&pools[i], 12000);
    }
    return tap_done();
}
