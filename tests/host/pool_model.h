/*
 * Runs a sequence of requests, encoded in a byte string, on both pools and on a plain model, and
 * compares them.
 *
 * The model of paged pool has one number for each 16 bytes: the length of the block that starts
 * there, or 0. An allocation takes the block that was freed last to the lookaside list of its size;
 * or, if there is none, the first gap that is large enough; or, if there is none either, the first
 * such gap after all lists have been emptied. The lists stay as they are if gaps and lists together
 * are smaller than what is requested. So the model predicts the exact address, and when an
 * allocation fails. Whether a freed block goes to its list or becomes a gap is read from the list's
 * own count, and must be consistent with PAGED_LAL_SIZE and with the limit of three quarters of the
 * pool. The sizes, free blocks and bytes that the pool reports are computed from the model and
 * compared. Nonpaged pool grows where pages happen to be free, so the model knows its lists, the
 * addresses of its blocks and their contents only. Requests to it are made at IPL_CLOCK.
 *
 * Not modelled: more than one CPU (tsan_pool.c), wrong frees (test_pool.c), and POOLCHECK, which
 * may be on.
 *
 * Used by test_pool_model.c; a fuzzer can call pool_model_run() with its input. Define POOL_BYTES
 * as 0x100000 before including this header: a small pool runs short soon.
 */
#ifndef TESTS_HOST_POOL_MODEL_H
#define TESTS_HOST_POOL_MODEL_H

#include "kernel/sched/ipl.h"
#include "mm/pool/pool_private.h"
#include "pool_world.h"

#define MODEL_GRAINS   (POOL_BYTES / POOL_GRAIN)
#define MODEL_BLOCKS   512u  /* allocated at a time, of both pools */
#define MODEL_LIST     2048u /* packets of one list that the model remembers */
#define MODEL_NONPAGED 8192u /* the largest block that nonpaged pool has a list for */

struct model_block {
    unsigned char *p;
    uint64_t nbytes;
    unsigned char fill;
    bool paged;
};

/* Packets of one size, the last one freed on top. */
struct model_list {
    uint64_t p[MODEL_LIST];
    unsigned n;
};

static struct {
    uint64_t base, grains; /* of paged pool */
    uint32_t length[MODEL_GRAINS];
    uint64_t top; /* after the last block of `length` */
    struct model_list paged[POOL_LISTS], nonpaged[MODEL_NONPAGED / POOL_GRAIN];
    struct model_block block[MODEL_BLOCKS];
    unsigned nblocks;
    uint64_t lal;
    /* How often each case occurred, for a test that checks that all did. */
    struct {
        uint64_t requests, hits, frees, refused, drained, kept, most_on_lists;
    } did;
} model;

static const char *model_wrong; /* describes the first difference; NULL: there is none */

static void model_need(bool good, const char *what)
{
    if (!good && !model_wrong)
        model_wrong = what;
}

static uint64_t model_grain(uint64_t p) { return (p - model.base) / POOL_GRAIN; }

static void model_mark(uint64_t grain, uint64_t length)
{
    model.length[grain] = (uint32_t)length;
    if (length && grain + length > model.top)
        model.top = grain + length;
}

/* The index of the first gap of at least `want` grains; `grains` if there is none. */
static uint64_t model_first_gap(uint64_t want)
{
    uint64_t gap = 0;

    for (uint64_t g = 0; g < model.top; g++)
        if (model.length[g]) {
            g += model.length[g] - 1;
            gap = 0;
        } else if (++gap == want) {
            return g + 1 - want;
        }
    return model.top - gap + want <= model.grains ? model.top - gap : model.grains;
}

/* Bytes of all gaps and lists together. */
static uint64_t model_unused(void)
{
    uint64_t grains = model.grains;

    for (uint64_t g = 0; g < model.top; g++)
        grains -= model.length[g];
    for (unsigned i = 0; i < POOL_LISTS; i++)
        grains += (uint64_t)model.paged[i].n * (i + 1);
    return grains * POOL_GRAIN;
}

static bool model_drain(void)
{
    bool any = false;

    for (unsigned i = 0; i < POOL_LISTS; i++)
        for (struct model_list *l = &model.paged[i]; l->n; any = true)
            model_mark(model_grain(l->p[--l->n]), 0);
    model.did.drained += any;
    return any;
}

/* The address at which paged pool must allocate `size` bytes; 0: it must fail. */
static uint64_t model_take(uint64_t size)
{
    uint64_t want = size / POOL_GRAIN, grain;

    if (size <= model.lal && model.paged[want - 1].n) {
        struct model_list *l = &model.paged[want - 1];

        model.did.hits++;
        return l->p[--l->n]; /* its length is in the map already */
    }
    grain = model_first_gap(want);
    if (grain == model.grains && model_unused() < size)
        model.did.kept++;
    else if (grain == model.grains && model_drain())
        grain = model_first_gap(want);
    if (grain == model.grains)
        return 0;
    model_mark(grain, want);
    return model.base + grain * POOL_GRAIN;
}

/* ---- what is allocated ---- */

static void model_note(void *p, uint64_t nbytes, bool paged, bool zeroed)
{
    struct model_block *b = &model.block[model.nblocks++];

    *b = (struct model_block){p, nbytes, (unsigned char)(nbytes * 7 + model.did.requests), paged};
    model_need((uint64_t)p % POOL_GRAIN == 0, "a block is not aligned");
    for (uint64_t i = 0; zeroed && i < nbytes; i++)
        model_need(b->p[i] == 0, "a block is not zeroed");
    for (unsigned i = 0; !paged && i + 1 < model.nblocks; i++)
        model_need(model.block[i].p >= b->p + nbytes ||
                       b->p >= model.block[i].p + model.block[i].nbytes,
                   "two blocks overlap");
    memset(p, b->fill, nbytes);
}

static void model_alloc_paged(uint64_t nbytes, bool zeroed)
{
    uint64_t expected = nbytes ? model_take(pool_round(nbytes)) : 0;
    void *p = zeroed ? pgd_alloc_zeroed(nbytes) : pgd_alloc(nbytes);

    model_need((uint64_t)p == expected, "a block is not where the model has it");
    model.did.refused += p == NULL;
    if (p && expected)
        model_note(p, nbytes, true, zeroed);
}

static void model_alloc_nonpaged(uint64_t nbytes, bool zeroed)
{
    uint64_t list = (nbytes - 1) / POOL_GRAIN; /* very large for 0 bytes */
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    void *p = zeroed ? npp_alloc_zeroed(nbytes) : npp_alloc(nbytes);

    ipl_restore(ipl);
    if (list < ARRAY_SIZE(model.nonpaged) && model.nonpaged[list].n) {
        struct model_list *l = &model.nonpaged[list];

        model.did.hits++;
        model_need((uint64_t)p == l->p[--l->n], "not the packet that was freed last");
    }
    model_need((p == NULL) == (nbytes == 0), "nonpaged pool has room, and for nothing gives none");
    if (p)
        model_note(p, nbytes, false, zeroed);
}

static void model_free_nonpaged(struct model_block b)
{
    uint64_t list = (b.nbytes - 1) / POOL_GRAIN;
    ipl_t ipl = ipl_raise(IPL_CLOCK);

    npp_free(b.p, b.nbytes);
    ipl_restore(ipl);
    if (list < ARRAY_SIZE(model.nonpaged))
        model.nonpaged[list].p[model.nonpaged[list].n++] = (uint64_t)b.p;
}

static void model_free_paged(struct model_block b)
{
    uint64_t size = pool_round(b.nbytes);
    unsigned list = (unsigned)(size / POOL_GRAIN) - 1;
    struct pool_list_stats before = {0}, after = {0};

    if (list < POOL_LISTS)
        pgd_list_stats(list, &before);
    pgd_free(b.p, b.nbytes);
    if (list < POOL_LISTS)
        pgd_list_stats(list, &after);
    model_need(after.count == before.count || after.count == before.count + 1,
               "a release puts one packet on a list, or none");
    if (after.count > before.count) {
        model_need(size <= model.lal, "a list has what is above PAGED_LAL_SIZE");
        model.paged[list].p[model.paged[list].n++] = (uint64_t)b.p;
    } else {
        model_mark(model_grain((uint64_t)b.p), 0);
    }
}

static void model_free(unsigned i)
{
    struct model_block b = model.block[i];

    for (uint64_t k = 0; k < b.nbytes; k++)
        model_need(b.p[k] == b.fill, "contents have changed");
    model.block[i] = model.block[--model.nblocks];
    model.did.frees++;
    if (b.paged)
        model_free_paged(b);
    else
        model_free_nonpaged(b);
}

/* ---- what is free ---- */

static struct pool_stats model_stats(void)
{
    struct pool_stats s = {.size = model.grains * POOL_GRAIN, .smallest = UINT64_MAX};

    for (uint64_t g = 0; g < model.grains;) {
        uint64_t first = g, nbytes;

        if (model.length[g]) {
            g += model.length[g];
            continue;
        }
        while (g < model.grains && !model.length[g])
            g++;
        nbytes = (g - first) * POOL_GRAIN;
        s.free += nbytes;
        s.free_blocks++;
        s.free_blocks_le64 += nbytes <= 64;
        s.largest = MAX(s.largest, nbytes);
        s.smallest = MIN(s.smallest, nbytes);
    }
    for (unsigned i = 0; i < POOL_LISTS; i++)
        s.lookaside_bytes += (uint64_t)model.paged[i].n * (i + 1) * POOL_GRAIN;
    s.in_use = s.size - s.free - s.lookaside_bytes;
    if (!s.free_blocks)
        s.smallest = 0;
    return s;
}

static void model_compare(void)
{
    struct pool_stats want = model_stats(), s;
    uint64_t blocks, nbytes;

    pgd_stats(&s);
    pgd_free_space(&blocks, &nbytes);
    model_need(s.size == want.size && s.free == want.free && s.in_use == want.in_use,
               "size, free space, space in use");
    model_need(s.largest == want.largest && s.smallest == want.smallest, "largest, smallest block");
    model_need(s.free_blocks == want.free_blocks && s.free_blocks_le64 == want.free_blocks_le64,
               "free blocks, those of at most 64 bytes");
    model_need(blocks == want.free_blocks && nbytes == want.free, "what is read without the mutex");
    model_need(s.lookaside_bytes == want.lookaside_bytes, "bytes on the lists");
    model_need(s.lookaside_bytes <= s.size / 4 * 3, "lists hold over three quarters of the pool");
    model.did.most_on_lists = MAX(model.did.most_on_lists, s.lookaside_bytes);
    model_need(pgd_check() == 0 && npp_check() == 0, "a pool's own check");
    npp_stats(&s);
    model_need(s.size == s.free + s.in_use + s.lookaside_bytes, "nonpaged pool's sum");
}

/* Make one request while no page is free. Either it fails, and the lists are empty then unless they
   could not have helped, or pages that the pool has already or gets back from its lists are enough.
 */
static void model_no_pages(uint64_t nbytes)
{
    uint64_t size = pool_round(nbytes);
    bool hit = size <= model.lal && model.paged[size / POOL_GRAIN - 1].n;
    struct pool_stats s;
    void *p;

    pages_left = 0;
    p = pgd_alloc(nbytes);
    pages_left = UINT64_MAX;
    pgd_stats(&s);
    if (!hit && s.lookaside_bytes == 0)
        model_drain();
    model_need(p || s.lookaside_bytes == 0 || model_unused() < size,
               "a request fails before the lists are empty");
    model.did.refused += p == NULL;
    if (p) {
        model_need((uint64_t)p == model_take(size), "a block is not where the model has it");
        model_note(p, nbytes, true, false);
    }
}

static void model_lal(uint64_t size)
{
    model.lal = size;
    sysparam_set("PAGED_LAL_SIZE", (int64_t)size, true);
}

/* Request nearly all of the pool as one block, which empties the lists and merges all gaps. */
static void model_shortage(uint64_t less)
{
    uint64_t size = (model.grains - model.grains * less / 256) * POOL_GRAIN;

    model_alloc_paged(size, false);
}

/* ---- the byte string ---- */

struct model_input {
    const uint8_t *p, *end;
};

static uint64_t model_byte(struct model_input *in) { return in->p < in->end ? *in->p++ : 0; }

static uint64_t model_size(struct model_input *in, unsigned kind)
{
    uint64_t v = model_byte(in);

    v |= model_byte(in) << 8;
    return kind == 0 ? v : kind == 1 ? 1 + v % 2700 : 1 + v % 400;
}

static void model_step(struct model_input *in)
{
    static const uint64_t lal[] = {512, 0, 2560, 16, 1000, 100, 208, 2559};
    uint64_t op = model_byte(in);
    bool room = model.nblocks < MODEL_BLOCKS;

    switch (op % 8) {
    case 0 ... 3:
        model.did.requests++;
        if (!room)
            model_free((unsigned)(model_byte(in) * model.nblocks / 256));
        else if (op & 0x20)
            model_alloc_nonpaged(model_size(in, op >> 3 & 3), op & 0x40);
        else
            model_alloc_paged(model_size(in, op >> 3 & 3), op & 0x40);
        break;
    case 4 ... 6:
        if (model.nblocks)
            model_free((unsigned)(model_byte(in) * model.nblocks / 256));
        break;
    default:
        switch (op >> 3 & 7) {
        case 0:
            model_lal(lal[model_byte(in) % ARRAY_SIZE(lal)]);
            break;
        case 1:
            if (room)
                model_shortage(model_byte(in));
            break;
        case 2:
            if (room)
                model_no_pages(1 + model_size(in, 0));
            break;
        case 3: /* many of one size, so that its list fills up */
            for (uint64_t n = model_byte(in), size = 16 + model_byte(in) * 10;
                 n && model.nblocks < MODEL_BLOCKS; n--)
                model_alloc_paged(size, false);
            break;
        case 4:
            for (uint64_t n = model_byte(in); n && model.nblocks; n--)
                model_free(model.nblocks - 1);
            break;
        default:
            model_compare();
        }
    }
}

/* Release everything; then all of the pool must be one free block. */
static void model_empty(void)
{
    while (model.nblocks)
        model_free(model.nblocks - 1);
    model_compare();
    model_drain();
    model_need(pgd_alloc(model.grains * POOL_GRAIN) == (void *)model.base,
               "the whole pool is one block at the end");
    pgd_free((void *)model.base, model.grains * POOL_GRAIN);
    model.top = 0;
    model_compare();
}

/* Set up the pools, with the parameters that are set, and an empty model. Call it once, first. */
static void pool_model_start(void)
{
    struct pool_stats s;

    pool_world_start();
    pgd_stats(&s);
    model.grains = s.size / POOL_GRAIN;
    model.base = (uint64_t)pgd_alloc(s.size);
    pgd_free((void *)model.base, s.size);
}

/*
 * Make the requests that the n bytes of `data` encode (any bytes are valid) and release everything
 * at the end. NULL, or a description of the first difference between pools and model, after which
 * neither may be used any more. One thread at a time, after pool_model_start().
 */
static const char *pool_model_run(const uint8_t *data, size_t n)
{
    struct model_input in = {data, data + n};

    model_lal(512);
    while (in.p < in.end && !model_wrong)
        model_step(&in);
    if (!model_wrong)
        model_empty();
    return model_wrong;
}

#endif
