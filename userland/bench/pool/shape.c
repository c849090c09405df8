/* How paged pool gets into pieces. */
#include "pool.h"

#include <ssdef.h>
#include <starlet.h>

struct mega_pool pool_now(void)
{
    struct mega_pool p;

    status_need(mega$info(MEGA_INFO_POOL, 1, &p, sizeof(p)), "mega$info(POOL)");
    return p;
}

static uint64_t state;

static unsigned random_living(void)
{
    for (;;) {
        unsigned n = (unsigned)(random_next(&state) % opt.names);

        if (board->size[n])
            return n;
    }
}

static uint64_t large_blocks(const struct mega_pool *p)
{
    return p->free_blocks - p->free_blocks_le64;
}

/* A name goes, and another comes. */
static void replace(unsigned size)
{
    unsigned n = random_living();

    name_delete(n);
    name_create(n, size);
}

void pool_shatter(void (*pause_here)(void))
{
    unsigned large = opt.blocks - opt.small, points = 0, more = opt.names;
    struct mega_pool p;

    state = opt.seed;
    for (unsigned n = 0; n < opt.names; n++)
        name_create(n, random_size(&state));
    /* Jobs come and go. What is left of a block when a smaller one is cut out of it stays until its
       neighbours go. */
    for (p = pool_now(); p.free_blocks < opt.blocks; p = pool_now()) {
        if (opt.series && p.free_blocks >= (uint64_t)opt.blocks * points / opt.series) {
            points++;
            pause_here();
        }
        for (unsigned i = 0; i < 1 + (opt.blocks - p.free_blocks) / 4; i++)
            replace(random_size(&state));
    }
    /* The last ones are small: they go into the first blocks that are large enough. */
    while (large_blocks(&p) > large || p.free_blocks < opt.blocks) {
        for (uint64_t i = large; i + 16 < large_blocks(&p); i++)
            name_create(more++, 80);
        if (p.free_blocks < opt.blocks || more == NAMES_MAX)
            replace(80);
        else
            name_create(more++, 80);
        p = pool_now();
    }
    if (p.in_use < opt.used)
        ballast_create(opt.used - p.in_use);
    pause_here();
}

/* Of two neighbours one goes, and a smaller one comes into its place: what is left is too small for
   any name. From the end to the front, so that nobody walks. (But for the first few, which find the
   gaps that were there before.) */
void pool_comb(void)
{
    bench_need(opt.names == 2 * opt.blocks);
    for (unsigned n = 0; n < opt.names; n++)
        name_create(n, 128);
    for (unsigned n = opt.names; n > 0; n -= 2) {
        name_delete(n - 2);
        name_create(n - 2, 80);
    }
    bench_need(pool_now().free_blocks_le64 + opt.blocks / 100 >= opt.blocks);
}
