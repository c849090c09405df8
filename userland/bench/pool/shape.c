/* How paged pool is fragmented before a trial. */
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

/* Delete a random name and create one of the given size. */
static void replace(unsigned size)
{
    unsigned n = random_living();

    name_delete(n);
    name_create(n, size);
}

void pool_shatter(void (*pause_here)(void))
{
    unsigned large = opt.blocks - opt.small, points = 0, more = 0;
    struct mega_pool p;

    state = opt.seed;
    for (unsigned n = 0; n < opt.names; n++)
        name_create(n, random_size(&state));
    /* Names are replaced at random. When a smaller block is cut out of a free one, the remainder
       stays free until its neighbours are freed. */
    for (p = pool_now(); p.free_blocks < opt.blocks; p = pool_now()) {
        if (opt.series && p.free_blocks >= (uint64_t)opt.blocks * points / opt.series) {
            points++;
            pause_here();
        }
        for (unsigned i = 0; i < 1 + (opt.blocks - p.free_blocks) / 4; i++)
            replace(random_size(&state));
    }
    /* The last names are small: they take the first free blocks that are large enough. They are
       names of files, because those of jobs take 96 bytes: free blocks of 80 bytes, which count as
       large, would be left. */
    while (large_blocks(&p) > large || p.free_blocks < opt.blocks) {
        for (uint64_t i = large; i + 16 < large_blocks(&p); i++)
            link_create(more++);
        if (p.free_blocks < opt.blocks)
            replace(NAME_SMALLEST);
        else
            link_create(more++);
        p = pool_now();
    }
    if (p.in_use < opt.used)
        ballast_create(opt.used - p.in_use);
    pause_here();
}

/* Of every two neighbouring names, deletes one and creates a smaller one in its place; the
 * remainder is too small for any name. Runs from the end of the pool to its start, so that no
 * request has to walk past the remainders, except for the first few, which find gaps that existed
 * before. */
void pool_comb(void)
{
    bench_need(opt.names == 2 * opt.blocks);
    for (unsigned n = 0; n < opt.names; n++)
        name_create(n, 128);
    for (unsigned n = opt.names; n > 0; n -= 2) {
        name_delete(n - 2);
        name_create(n - 2, NAME_SMALLEST);
    }
    bench_need(pool_now().free_blocks_le64 + opt.blocks / 100 >= opt.blocks);
}
