// SOURCES: mm/pt/gh.c
/* Granularity hints for every alignment of address, frame and length, compared with the rule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm/pt/gh.h"
#include "userland/lib/include/tap.h"

#define BITS (PTE_V | PTE_KRE | PTE_URE | PTE_KWE | PTE_UWE)

/* The rule: page i gets the hint of the largest block that contains it, lies wholly in the run
   [vpn, vpn + n) -> pfn, and is aligned both virtually and physically. */
static unsigned expected_hint(uint64_t vpn, uint64_t pfn, uint64_t n, uint64_t i)
{
    for (unsigned gh = 3; gh > 0; gh--) {
        uint64_t block = pte_gh_pages(gh), first = (vpn + i) & ~(block - 1);

        if (first >= vpn && first + block <= vpn + n && (pfn + (first - vpn)) % block == 0)
            return gh;
    }
    return 0;
}

static bool run_is_right(uint64_t vpn, uint64_t pfn, uint64_t n)
{
    static pte_t ptes[PTES_PER_PAGE + 1];
    struct gh_count c = {.errors = 0}, want = {.errors = 0};

    ptes[n] = 0x5555; /* must not change: it follows the run */
    gh_fill(ptes, n, vpn, pfn_of(pfn), BITS | PTE_GH_MASK);
    for (uint64_t i = 0; i < n; i++) {
        unsigned gh = expected_hint(vpn, pfn, n, i);

        want.ptes[gh]++;
        if (ptes[i] != (pte_make(pfn_of(pfn + i), BITS) | ((pte_t)gh << PTE_GH_SHIFT))) {
            printf("# vpn %lu pfn %lu n %lu: PTE %lu is %lx, hint should be %u\n",
                   (unsigned long)vpn, (unsigned long)pfn, (unsigned long)n, (unsigned long)i,
                   (unsigned long)ptes[i], gh);
            return false;
        }
    }
    gh_count(ptes, n, vpn, &c);
    return ptes[n] == 0x5555 && memcmp(&c, &want, sizeof(c)) == 0;
}

static void all_alignments(void)
{
    bool good = true;

    /* Alignment matters modulo 512 only: the neighbours of each power of eight, and some others. */
    static const uint64_t at[] = {0, 1, 4, 7, 8, 9, 56, 63, 64, 65, 72, 120, 448, 504, 511};
    static const uint64_t lengths[] = {1,  7,   8,   9,   15,  16,  63,  64,
                                       65, 127, 128, 511, 512, 513, 600, 1024};

    for (unsigned v = 0; v < ARRAY_SIZE(at); v++)
        for (unsigned p = 0; p < ARRAY_SIZE(at); p++)
            for (unsigned l = 0; l < ARRAY_SIZE(lengths); l++)
                if (at[v] + lengths[l] <= PTES_PER_PAGE)
                    good = good && run_is_right(at[v], at[p] + 4096, lengths[l]);
    ok(good, "hints of all combinations of alignments around the block sizes");
    for (uint64_t v = 0; v < 512 && good; v++)
        for (uint64_t p = v % 8; p < 512 && good; p += 8)
            good = run_is_right(v, p + 512, 520 - v % 8);
    ok(good, "hints of every congruent pair of address and frame");
}

static void random_runs(void)
{
    unsigned seed = 20261121;
    bool good = true;

    for (unsigned i = 0; i < 20000 && good; i++) {
        uint64_t vpn = rand_r(&seed) % 1024, n = 1 + rand_r(&seed) % (1024 - vpn);

        good = run_is_right(vpn, 1 + rand_r(&seed) % 100000, n);
    }
    ok(good, "hints of 20,000 random runs");
}

static uint64_t errors_after(unsigned index, pte_t flip)
{
    pte_t ptes[PTES_PER_PAGE];
    struct gh_count c = {.errors = 0};

    gh_fill(ptes, PTES_PER_PAGE, 0, pfn_of(1024), BITS);
    ptes[index] ^= flip;
    gh_count(ptes, PTES_PER_PAGE, 0, &c);
    return c.errors;
}

static void broken_blocks(void)
{
    pte_t ptes[PTES_PER_PAGE];
    struct gh_count c = {.errors = 0};

    ok(errors_after(0, 0) == 0, "a table as it was filled has no errors");
    ok(errors_after(5, 1UL << PTE_PFN_SHIFT) == 512, "a wrong frame breaks its block and no other");
    ok(errors_after(1023, PTE_UWE) == 512, "a different protection breaks its block");
    ok(errors_after(512, PTE_V) > 0, "an invalid PTE breaks its block");
    ok(errors_after(700, PTE_GH_MASK) > 0, "a different hint breaks its block");
    memset(ptes, 0, sizeof(ptes));
    gh_count(ptes, PTES_PER_PAGE, 0, &c);
    ok(c.ptes[0] + c.ptes[1] + c.ptes[2] + c.ptes[3] + c.errors == 0,
       "an empty table counts nothing");
    gh_fill(ptes, 512, 0, pfn_of(512), BITS);
    gh_count(ptes, 512, 8, &c);
    ok(c.errors == 512, "hints that are right for one address are wrong for another");
}

int main(void)
{
    all_alignments();
    random_runs();
    broken_blocks();
    return tap_done();
}
