/*
 * The owners of pool blocks, and what they account for: see mm/pool/pool_census.h. The table of
 * owners is filled at boot and constant afterwards, so it has no lock.
 */
#include "mm/pool/pool_census.h"

#include "kernel/base/bitops.h"
#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "mm/pool/pool_private.h"

#define OWNERS_MAX 24u
#define LARGE      (CENSUS_SIZES - 1) /* index of the line that counts pages */

_Static_assert(CENSUS_GRAIN == POOL_GRAIN, "lines are the sizes that blocks have");
_Static_assert(CENSUS_SIZES == POOL_LISTS + 1, "a line for each size that a list can have");

static struct {
    void (*explain)(struct census *c);
    const struct census_kind *kinds;
    unsigned nkinds;
} owners[OWNERS_MAX];    /* constant after boot */
static unsigned nowners; /* constant after boot */

void census_register(void (*explain)(struct census *c), const struct census_kind *kinds,
                     unsigned nkinds)
{
    KASSERT(nowners < OWNERS_MAX, "there is room for every owner of pool");
    owners[nowners].explain = explain;
    owners[nowners].kinds = kinds;
    owners[nowners++].nkinds = nkinds;
}

unsigned census_line(uint64_t nbytes)
{
    uint64_t size = pool_round(nbytes);

    return size <= LARGE * POOL_GRAIN ? (unsigned)(size / POOL_GRAIN) - 1 : LARGE;
}

int64_t census_weight(uint64_t nbytes)
{
    return census_line(nbytes) < LARGE ? 1 : (int64_t)div_round_up(nbytes, PAGE_SIZE);
}

void census_explain(struct census *c, enum census_pool pool, size_t nbytes, uint64_t count)
{
    c->blocks[pool][census_line(nbytes)] -= census_weight(nbytes) * (int64_t)count;
}

void census_error(struct census *c, const char *fmt, ...)
{
    char text[160];
    va_list ap;

    va_start(ap, fmt);
    vformat(text, sizeof(text), fmt, ap);
    va_end(ap);
    printk("leak: %s\n", text);
    c->errors++;
}

void census_explain_all(struct census *c)
{
    for (unsigned i = 0; i < nowners; i++)
        if (owners[i].explain)
            owners[i].explain(c);
}

void census_for_each_kind(void (*fn)(void *arg, const struct census_kind *kind), void *arg)
{
    for (unsigned i = 0; i < nowners; i++)
        for (unsigned k = 0; k < owners[i].nkinds; k++)
            fn(arg, &owners[i].kinds[k]);
}
