// SOURCES: kernel/quota/account.c
// SOURCES: mm/pool/pool_nonpaged.c mm/pool/pool_paged.c mm/pool/pool_var.c mm/pool/pool_check.c
// SOURCES: mm/phys/page.c mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c kernel/base/string_extra.c sysman/params.c
// TARGETS: mm/pool/pool_nonpaged.c mm/pool/pool_paged.c mm/pool/pool_var.c mm/pool/pool_check.c
// RUNS: 700
/*
 * Both pools: the input is read as allocations and frees, with changes of PAGED_LAL_SIZE in
 * between, any POOLCHECK from the boot on, pages for paged pool sometimes available and sometimes
 * not, and requests so large that the lists are drained. Blocks never overlap and keep their
 * contents, the bytes in use are exactly those that were allocated, and no request fails for which
 * there is room.
 */
#define POOL_BYTES (1UL << 20)
#include "mm/pool/pool_private.h"
#include "tests/fuzz/fuzz.h"
#include "tests/host/pool_world.h"

#define SLOTS 96
#define RAM   700u             /* pages */
#define LARGE (4u * PAGE_SIZE) /* of nonpaged pool, above this */

static const struct {
    void *(*alloc)(size_t);
    void *(*zalloc)(size_t);
    void (*free)(void *, size_t);
    void (*stats)(struct pool_stats *);
    int (*check)(void);
} pools[] = {
    {npp_alloc, npp_alloc_zeroed, npp_free, npp_stats, npp_check},
    {pgd_alloc, pgd_alloc_zeroed, pgd_free, pgd_stats, pgd_check},
};

static struct block {
    unsigned char *p;
    uint32_t n;
    unsigned char fill, pool;
} blocks[SLOTS];
static uint64_t given[2]; /* allocated bytes, rounded as the pools do */

/* Unmap all pages of paged pool. */
static void pages_gone(void)
{
    for (uint64_t n = 0; n < POOL_BYTES >> PAGE_SHIFT; n++)
        if (present[n])
            mmap((void *)(LAYOUT_PAGED_POOL_BASE + n * PAGE_SIZE), PAGE_SIZE, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static uint64_t rounded(uint64_t n) { return (n + POOL_GRAIN - 1) & ~(uint64_t)(POOL_GRAIN - 1); }

/* The bytes that a block counts for: 0 for a large nonpaged one, which has pages of its own. */
static uint64_t counted(const struct block *b)
{
    return b->pool == 0 && b->n > LARGE ? 0 : rounded(b->n);
}

static void check_filled(const struct block *b, unsigned char with, const char *what)
{
    for (uint32_t i = 0; i < b->n; i++)
        fuzz_check(b->p[i] == with, "byte %u of a block of %u is %x: %s", i, b->n, b->p[i], what);
}

static void check_pool(unsigned which)
{
    struct pool_stats s;

    fuzz_check(pools[which].check() == 0, "the self-check of pool %u fails", which);
    pools[which].stats(&s);
    fuzz_check(s.in_use == given[which], "pool %u: %lu bytes in use, %lu given out", which,
               s.in_use, given[which]);
    fuzz_check(s.size == s.free + s.lookaside_bytes + s.in_use, "pool %u: numbers", which);
    fuzz_check(s.largest <= s.free && s.smallest <= s.largest &&
                   s.free_blocks_le64 <= s.free_blocks && (s.free_blocks != 0) == (s.free != 0),
               "pool %u: numbers of blocks", which);
}

static void refused(unsigned which, uint64_t n)
{
    struct pool_stats s;

    pools[which].stats(&s);
    if (which == 1 && pages_left == UINT64_MAX)
        fuzz_check(s.largest < rounded(n), "%lu bytes are refused, %lu are there", n, s.largest);
}

static void allocate(struct fuzz_in *in, struct block *b, unsigned which)
{
    unsigned how = in_u8(in);
    uint32_t n = how & 0xC0 ? 1 + in_u8(in) * (1u + (how >> 6)) : 1u + in_u16(in);
    bool zero = how & 1;

    b->pool = (unsigned char)which;
    b->n = n;
    b->p = zero ? pools[which].zalloc(n) : pools[which].alloc(n);
    if (!b->p) {
        refused(which, n);
        return;
    }
    given[which] += counted(b);
    fuzz_check((uint64_t)b->p % POOL_GRAIN == 0, "%p is not aligned", (void *)b->p);
    for (unsigned i = 0; i < SLOTS; i++)
        fuzz_check(&blocks[i] == b || !blocks[i].p || blocks[i].p + rounded(blocks[i].n) <= b->p ||
                       b->p + rounded(n) <= blocks[i].p,
                   "a block of %u overlaps one of %u", n, blocks[i].n);
    if (zero)
        check_filled(b, 0, "not zeroed");
    else if (pool_check & POOL_CHECK_ALLOC)
        check_filled(b, (unsigned char)(pool_check >> 24), "not the pattern of allocated memory");
    b->fill = in_u8(in);
    memset(b->p, b->fill, n);
}

static void release(struct block *b)
{
    check_filled(b, b->fill, "changed by somebody else");
    given[b->pool] -= counted(b);
    pools[b->pool].free(b->p, b->n);
    b->p = NULL;
}

/* Allocate and free many blocks of one size, which leaves a long list, or holes. */
static void burst(struct fuzz_in *in, unsigned which)
{
    enum { MANY = 40 };
    void *p[MANY];
    unsigned n = 1 + in_below(in, 2700), count = 1 + in_below(in, MANY);

    for (unsigned i = 0; i < count; i++)
        p[i] = pools[which].alloc(n);
    for (unsigned i = 0; i < count; i++)
        if (p[i])
            pools[which].free(p[i], n);
}

static void step(struct fuzz_in *in)
{
    static const int64_t sizes[] = {0, 16, 64, 208, 512, 2560};
    unsigned what = in_u8(in), which = what >> 7;
    struct block *b = &blocks[in_below(in, SLOTS)];

    switch (what % 16) {
    case 0:
        sysparam_set("PAGED_LAL_SIZE", what & 16 ? sizes[in_below(in, 6)] : in_below(in, 2561),
                     true);
        break;
    case 1:
        pages_left = what & 16 ? UINT64_MAX : in_below(in, 30);
        break;
    case 2:
        check_pool(which);
        break;
    case 3:
        burst(in, which);
        break;
    case 4: { /* the largest request that can succeed: the lists are emptied for it */
        struct pool_stats s;
        uint64_t n;

        pools[1].stats(&s);
        n = s.size - s.in_use - in_below(in, 4096);
        void *p = n && n <= s.size ? pgd_alloc(n) : NULL;

        if (p)
            pgd_free(p, n);
        else if (n && n <= s.size)
            refused(1, n);
        break;
    }
    default:
        if (b->p)
            release(b);
        else
            allocate(in, b, which);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (mmap((void *)LAYOUT_PAGED_POOL_BASE, POOL_BYTES, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        fuzz_fail("no room for the pool");
    sigaction(SIGSEGV,
              &(struct sigaction){.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER},
              NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint32_t checks[] = {0, 0x616400FF, 0x61640001, 0x61640002, 0x61640005};
    struct fuzz_in in = fuzz_in(data, n);

    pages_gone();
    fuzz_begin();
    sysparam_set("NPAGEDYN", 1 << 20, false);
    sysparam_set("NPAGEVIR", 2 << 20, false);
    sysparam_set("PAGEDYN", POOL_BYTES, false);
    sysparam_set("POOLCHECK", checks[in_below(&in, 5)], false);
    page_boot_add_range(pfn_of(16), RAM);
    page_boot_done();
    pool_check_boot();
    pool_boot();
    pool_boot_paged();
    for (unsigned i = 0; in_more(&in) && i < 300; i++)
        step(&in);
    pages_left = UINT64_MAX;
    for (unsigned i = 0; i < SLOTS; i++)
        if (blocks[i].p)
            release(&blocks[i]);
    check_pool(0);
    check_pool(1);
    return 0;
}
