// SOURCES: scripts/megalith/tb/pages.c
/* Misses by page over time: every miss is kept when pages and slices are merged. */
#include "scripts/megalith/tb/pages.h"

#include "userland/lib/include/tap.h"

#include <stdlib.h>
#include <string.h>

static struct pages_group group;

static uint64_t all(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < group.n; i++)
        for (unsigned s = 0; s < PAGES_SLICES; s++)
            sum += group.block[i]->misses[s];
    return sum;
}

/* The blocks rise, and none is there twice. */
static bool rising(void)
{
    for (unsigned i = 1; i < group.n; i++)
        if (group.block[i - 1]->number >= group.block[i]->number)
            return false;
    return true;
}

static void few(void)
{
    pages_free(&group);
    for (int i = 0; i < 3; i++)
        pages_count(&group, 7, 0);
    pages_count(&group, 5, 1u << PAGES_FIRST_WIDTH);
    is(group.n, 2, "two pages are two blocks");
    is(group.block[1]->misses[0], 3, "three misses of one in the first slice");
    ok(group.block[0]->number == 5 && group.block[0]->misses[1] == 1,
       "the lower page is first, and its miss in the second slice");
}

static void many_pages(void)
{
    pages_free(&group);
    for (uint64_t page = 0; page < 16 * PAGES_BLOCKS; page++)
        pages_count(&group, (page * 0x9E3779B1u) % (16 * PAGES_BLOCKS), 0);
    is(all(), 16 * PAGES_BLOCKS, "no miss of 4,096 pages is lost");
    is(group.shift, 4, "a block has 16 pages");
    is(group.n, PAGES_BLOCKS, "and there are as many as fit");
    ok(rising(), "in order");
    is(group.block[3]->misses[0], 16, "each has the misses of its pages");
}

static void pages_far_apart(void)
{
    pages_free(&group);
    for (uint64_t i = 0; i < PAGES_BLOCKS + 1; i++)
        pages_count(&group, i << 20, 0);
    ok(group.n <= PAGES_BLOCKS && rising(), "pages that are far apart fit too");
    is(group.shift, 21, "by blocks as large as it takes");
    is(all(), PAGES_BLOCKS + 1, "with all misses");
}

static void long_run(void)
{
    uint64_t end = (uint64_t)PAGES_SLICES << PAGES_FIRST_WIDTH;

    pages_free(&group);
    for (uint64_t at = 0; at < 8 * end; at += end / PAGES_SLICES)
        pages_count(&group, 1, at);
    is(pages_width(&group), PAGES_FIRST_WIDTH + 3, "a run of eight times the length: slices of 8");
    is(all(), 8 * PAGES_SLICES, "no miss is lost");
    is(group.block[0]->misses[PAGES_SLICES - 1], 8, "the last slice has its share");
    pages_count(&group, 1, UINT64_MAX);
    is(all(), 8 * PAGES_SLICES + 1, "nor at the end of time");
}

static void written(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    pages_free(&group);
    pages_count(&group, 9, 0);
    pages_count(&group, 9, 2u << PAGES_FIRST_WIDTH);
    pages_count(&group, 3, 0);
    pages_write(&group, f);
    fclose(f);
    ok(strcmp(text, "[[3, [0, 1]], [9, [0, 1, 2, 1]]]") == 0, "written: %s", text);
    free(text);
}

int main(void)
{
    few();
    many_pages();
    pages_far_apart();
    long_run();
    written();
    pages_free(&group);
    return tap_done();
}
