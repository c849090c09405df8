/* What the self-check reads of lists and caches: page_check.h. */
#include "mm/phys/page_check.h"

#include "mm/phys/page_private.h"

/* Call fn for each page of a chain. True: it has exactly `count` pages. */
static bool walk_chain(uint64_t first, uint64_t count, enum page_state state,
                       void (*fn)(void *arg, uint64_t n, enum page_state state), void *arg)
{
    uint64_t n = first;

    for (; count > 0 && n != 0 && page_entry_valid(pfn_of(n)); count--) {
        fn(arg, n, state);
        n = link_of(n);
    }
    return count == 0 && n == 0;
}

uint64_t *page_list_count(unsigned rad, enum page_state state)
{
    return &rads[rad].lists[state].count;
}

const char *page_walk_free(void (*fn)(void *arg, uint64_t n, enum page_state state), void *arg)
{
    static const uint8_t states[] = {PAGE_FREE, PAGE_MODIFIED, PAGE_BAD, PAGE_ZEROED};
    const char *broken = NULL;

    for (unsigned i = 0; i < rad_count; i++)
        for (unsigned s = 0; s < ARRAY_SIZE(states); s++) {
            const struct page_list *l = &rads[i].lists[states[s]];

            if (!walk_chain(l->head, l->count, states[s], fn, arg))
                broken = "a page list is not as long as its count says";
        }
    for (unsigned i = 0; i < MAX_CPUS * RAD_MAX; i++) {
        const struct page_cache *c = &page_caches[i / RAD_MAX][i % RAD_MAX];
        uint64_t heads[] = {c->dirty, c->zeroed};

        for (unsigned k = 0; k < ARRAY_SIZE(heads); k++)
            if (!walk_chain(heads[k] & HEAD_PFN_MASK, head_count(heads[k]), PAGE_CACHED, fn, arg))
                broken = "a CPU's page cache is not as long as its count says";
    }
    return broken;
}
