/* Granularity hints: see mm/pt/gh.h for the rule. */
#include "mm/pt/gh.h"

#define GH_MAX 3

const uint64_t gh_step = UINT64_C(1) << PTE_PFN_SHIFT;

unsigned gh_best(uint64_t vpn, uint64_t pfn, uint64_t n)
{
    for (unsigned gh = GH_MAX; gh > 0; gh--) {
        uint64_t block = pte_gh_pages(gh);

        if (n >= block && ((vpn | pfn) & (block - 1)) == 0)
            return gh;
    }
    return 0;
}

/*
 * Store n PTEs, each `step` above the previous one; returns the address after the last. A PTE takes
 * at least two instructions; 64 in each round of the loop keep its overhead below a twentieth.
 * noipa, because if the compiler knew the value of step, it would compute its multiples as
 * constants, for which there are not enough registers.
 */
static __attribute__((noipa)) pte_t *fill_run(pte_t *p, uint64_t n, pte_t pte, pte_t step)
{
    for (; n >= 64; n -= 64, p += 64)
#pragma GCC unroll 64
        for (unsigned i = 0; i < 64; i++, pte += step)
            p[i] = pte;
    for (; n >= 8; n -= 8, p += 8)
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++, pte += step)
            p[i] = pte;
    for (; n; n--, pte += step)
        *p++ = pte;
    return p;
}

void gh_fill(pte_t *ptes, uint64_t n, uint64_t vpn, pfn_t pfn, pte_t bits)
{
    bits &= ~PTE_GH_MASK;
    while (n) {
        unsigned gh = gh_best(vpn, pfn.n, n);
        uint64_t run = n & ~(pte_gh_pages(gh) - 1);

        if (gh < GH_MAX) {
            /* Stop where a larger block may begin, if page and frame are congruent for its size. */
            uint64_t larger = pte_gh_pages(gh + 1);

            if (((vpn ^ pfn.n) & (larger - 1)) == 0)
                run = MIN(run, larger - (vpn & (larger - 1)));
        }
        ptes = fill_run(ptes, run, pte_make(pfn, bits | ((pte_t)gh << PTE_GH_SHIFT)),
                        1UL << PTE_PFN_SHIFT);
        n -= run;
        vpn += run;
        pfn.n += run;
    }
}

/* Do the PTEs from p on, of which there are n, form a block for hint gh? */
static bool block_is_right(const pte_t *p, uint64_t n, uint64_t vpn, unsigned gh)
{
    uint64_t block = pte_gh_pages(gh);

    if (gh == 0)
        return true;
    if (n < block || ((vpn | pte_pfn(*p).n) & (block - 1)) != 0)
        return false;
    for (uint64_t i = 1; i < block; i++)
        if (p[i] != p[0] + (i << PTE_PFN_SHIFT))
            return false;
    return true;
}

void gh_count(const pte_t *ptes, uint64_t n, uint64_t vpn, struct gh_count *c)
{
    uint64_t i = 0;

    while (i < n) {
        unsigned gh = pte_gh(ptes[i]);
        uint64_t run = 1;

        if (!pte_valid(ptes[i])) {
            i++;
            continue;
        }
        if (block_is_right(ptes + i, n - i, vpn + i, gh))
            run = pte_gh_pages(gh);
        else
            c->errors++;
        c->ptes[gh] += run;
        i += run;
    }
}

void gh_break(pte_t *p)
{
    uint64_t n = pte_gh_pages(pte_gh(*p));

    p = (pte_t *)((uintptr_t)p & ~(n * sizeof(*p) - 1));
    for (uint64_t i = 0; i < n; i++)
        if (pte_gh(p[i]))
            __atomic_store_n(&p[i], p[i] & ~PTE_GH_MASK, __ATOMIC_RELEASE);
}
