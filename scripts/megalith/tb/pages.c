/* Misses by virtual page over time (pages.h). */
#include "pages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

unsigned pages_width(const struct pages_group *g) { return PAGES_FIRST_WIDTH + g->widening; }

/* Make each two slices one. */
static void widen(struct pages_group *g)
{
    for (unsigned i = 0; i < g->n; i++) {
        uint64_t *m = g->block[i]->misses;

        for (unsigned s = 0; s < PAGES_SLICES; s++)
            m[s] = s < PAGES_SLICES / 2 ? m[2 * s] + m[2 * s + 1] : 0;
    }
    g->widening++;
}

/* Make each two blocks of pages one, where both are there. */
static void coarsen(struct pages_group *g)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < g->n; i++) {
        struct pages_block *b = g->block[i], *before = kept ? g->block[kept - 1] : NULL;

        b->number >>= 1;
        if (!before || before->number != b->number) {
            g->block[kept++] = b;
            continue;
        }
        for (unsigned s = 0; s < PAGES_SLICES; s++)
            before->misses[s] += b->misses[s];
        free(b);
    }
    g->n = kept;
    g->shift++;
}

/* The place of the first block whose number is not below this one. */
static unsigned place(const struct pages_group *g, uint64_t number)
{
    unsigned low = 0, high = g->n;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (g->block[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct pages_block *block_of(struct pages_group *g, uint64_t page)
{
    unsigned at = place(g, page >> g->shift);
    struct pages_block *b;

    if (at < g->n && g->block[at]->number == page >> g->shift)
        return g->block[at];
    while (g->n == PAGES_BLOCKS)
        coarsen(g);
    at = place(g, page >> g->shift);
    if (at < g->n && g->block[at]->number == page >> g->shift)
        return g->block[at];
    b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->number = page >> g->shift;
    memmove(&g->block[at + 1], &g->block[at], (g->n - at) * sizeof(struct pages_block *));
    g->block[at] = b;
    g->n++;
    return b;
}

bool pages_count(struct pages_group *g, uint64_t page, uint64_t now)
{
    struct pages_block *b = block_of(g, page);

    if (!b)
        return false;
    while (now >> pages_width(g) >= PAGES_SLICES)
        widen(g);
    b->misses[now >> pages_width(g)]++;
    return true;
}

void pages_write(const struct pages_group *g, FILE *f)
{
    fputc('[', f);
    for (unsigned i = 0; i < g->n; i++) {
        const struct pages_block *b = g->block[i];
        const char *comma = "";

        fprintf(f, "%s[%" PRIu64 ", [", i ? ", " : "", b->number << g->shift);
        for (unsigned s = 0; s < PAGES_SLICES; s++)
            if (b->misses[s]) {
                fprintf(f, "%s%u, %" PRIu64, comma, s, b->misses[s]);
                comma = ", ";
            }
        fputs("]]", f);
    }
    fputc(']', f);
}

void pages_free(struct pages_group *g)
{
    for (unsigned i = 0; i < g->n; i++)
        free(g->block[i]);
    *g = (struct pages_group){0};
}
