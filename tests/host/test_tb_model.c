// SOURCES: scripts/megalith/tb/model.c scripts/megalith/tb/vhpt.c
/* The model of the translation buffers: cases computed by hand for each chip. */
#include "scripts/megalith/tb/model.h"
#include "scripts/megalith/tb/vhpt.h"

#include "userland/lib/include/tap.h"

#include <stdlib.h>
#include <string.h>

#define PAGE (UINT64_C(1) << TB_PAGE_SHIFT)

/* Page tables in which every page has these PTEs; PFNs are page numbers. */
static struct tb_walk tables = {.page = {.valid = true}, .table = {.valid = true}};
static unsigned walks;

static struct tb_walk walk(void *context, uint64_t va)
{
    struct tb_walk w = tables;

    (void)context;
    walks++;
    w.page.pfn = va >> TB_PAGE_SHIFT;
    return w;
}

static struct tb_model model;

static void begin(const char *chip, unsigned gh)
{
    tables.page = (struct tb_pte){.valid = true, .gh = (uint8_t)gh};
    tables.table = (struct tb_pte){.valid = true};
    walks = 0;
    tb_init(&model, tb_chip_named(chip), TB_GH_MAX, true);
}

static unsigned data(uint64_t page) { return tb_reference(&model, TB_DATA, page * PAGE, walk, 0); }
static unsigned code(uint64_t page) { return tb_reference(&model, TB_FETCH, page * PAGE, walk, 0); }

/* Misses of a second pass over n pages (or blocks) in order. */
static uint64_t second_pass(enum tb_stream stream, uint64_t n, uint64_t step)
{
    uint64_t before = 0;

    for (int pass = 0; pass < 2; pass++) {
        before = model.counts.misses[stream];
        for (uint64_t i = 0; i < n; i++)
            tb_reference(&model, stream, i * step * PAGE, walk, 0);
    }
    return model.counts.misses[stream] - before;
}

static void a_miss(const char *chip)
{
    begin(chip, 0);
    is(data(5), TB_MISS | TB_DOUBLE, "%s: the first reference misses, and so does its PTE", chip);
    is(data(5), TB_HIT, "%s: the next one hits", chip);
    is(data(6), TB_MISS, "%s: its neighbour's PTE is on the page that is mapped now", chip);
    is(code(6), TB_MISS, "%s: the instruction buffer is another one", chip);
    is(code(6), TB_HIT, "%s: and has the page now", chip);
    is(data(1024), TB_MISS | TB_DOUBLE, "%s: PTEs 1,024 pages further are on another page", chip);
    is(code(2048), TB_MISS | TB_DOUBLE, "%s: the PTE of an instruction too is data", chip);
    is(data(2049), TB_MISS, "%s: which a load finds", chip);
    is(walks, 6, "%s: page tables are read at misses only", chip);
    tables.page.valid = false;
    is(data(7), TB_MISS | TB_UNMAPPED, "%s: nothing is kept of an invalid PTE", chip);
    is(data(7), TB_MISS | TB_UNMAPPED, "%s: so it misses again", chip);
    tables.table.valid = false;
    is(data(9000), TB_MISS | TB_DOUBLE | TB_UNMAPPED, "%s: nor of an invalid PTE of it", chip);
    is(data(9000), TB_MISS | TB_DOUBLE | TB_UNMAPPED, "%s: which is loaded again", chip);
}

/* One entry of the data buffer is taken by the page with the PTEs, so n - 1 pages fit. */
static void capacity(const char *chip, unsigned itb, unsigned dtb)
{
    begin(chip, 0);
    is(second_pass(TB_FETCH, itb, 1), 0, "%s: %u pages of code fit", chip, itb);
    begin(chip, 0);
    is(second_pass(TB_DATA, dtb - 1, 1), 0, "%s: %u pages of data and one of PTEs fit", chip,
       dtb - 1);
    begin(chip, 0);
    ok(second_pass(TB_DATA, dtb + 2, 1) > 0, "%s: %u do not", chip, dtb + 2);
}

/* A hint multiplies what an entry maps; two blocks of 512 pages share a page of PTEs. */
static void reach(const char *chip, unsigned dtb)
{
    uint64_t blocks = dtb * 2 / 3;

    for (unsigned gh = 1; gh <= TB_GH_MAX; gh++) {
        begin(chip, gh);
        is(second_pass(TB_DATA, blocks, UINT64_C(1) << 3 * gh), 0, "%s: %lu blocks of %u pages fit",
           chip, (unsigned long)blocks, 1u << 3 * gh);
        is(data((blocks - 1) << 3 * gh | ((1u << 3 * gh) - 1)), TB_HIT,
           "%s: the last page of a block hits as the first does", chip);
    }
    begin(chip, 3);
    model.hint = 1;
    data(0);
    is(data(7), TB_HIT, "%s: of a larger hint the smaller block is kept that counts", chip);
    is(data(8), TB_MISS, "%s: and no more", chip);
    begin(chip, 3);
    model.hint = 0;
    ok(second_pass(TB_DATA, dtb, 512) > 0, "%s: with hints off they do not", chip);
    is(data(1), TB_MISS | TB_DOUBLE, "%s: and a neighbour misses", chip);
}

/* With a hint in its PTE, one entry maps several pages of PTEs. */
static void hint_of_a_table(const char *chip)
{
    begin(chip, 0);
    tables.table.gh = 1;
    is(data(0), TB_MISS | TB_DOUBLE, "%s: a double miss", chip);
    is(data(7 * 1024), TB_MISS, "%s: the eighth table is in the same block", chip);
    is(data(8 * 1024), TB_MISS | TB_DOUBLE, "%s: the ninth is not", chip);
}

/* Without numbers, or on a chip whose buffers keep none, only a thread finds what was there. */
static void without_numbers(const char *chip, bool asns)
{
    tb_init(&model, tb_chip_named(chip), TB_GH_MAX, asns);
    tb_switch(&model, 100, 1);
    data(0);
    tables.page.asm_ = true;
    data(1);
    tables.page.asm_ = false;
    tb_switch(&model, 100, 1);
    is(data(0), TB_HIT, "%s without numbers: a thread of the same process finds it", chip);
    tb_switch(&model, 200, 2);
    is(data(1), TB_HIT, "%s without numbers: ASM matches", chip);
    tb_switch(&model, 100, 1);
    is(data(0), TB_MISS | TB_DOUBLE, "%s without numbers: another process flushes", chip);
    is(model.asn, 0, "%s without numbers: all have number 0", chip);
    is(model.counts.asn_reuse, 0, "%s without numbers: none is given away twice", chip);
}

static void address_spaces(const char *chip)
{
    begin(chip, 0);
    without_numbers(chip, false);
    if (!model.chip->asn_bits) {
        without_numbers(chip, true);
        return;
    }
    begin(chip, 0);
    tb_switch(&model, 100, 1);
    data(0);
    code(0);
    tables.page.asm_ = true;
    data(1);
    tables.page.asm_ = false;
    tb_switch(&model, 200, 2);
    is(data(1), TB_HIT, "%s: ASM matches every number", chip);
    is(data(0), TB_MISS | TB_DOUBLE, "%s: a page of number 1 is not one of number 2", chip);
    is(code(0), TB_MISS, "%s: nor in the instruction buffer", chip);
    tb_switch(&model, 100, 1);
    is(data(0), TB_HIT, "%s: it is still there when number 1 is back", chip);
    tb_invalidate_page(&model, 0);
    is(data(0), TB_MISS, "%s: one page is invalidated", chip);
    tb_switch(&model, 200, 2);
    is(data(0), TB_HIT, "%s: of the present number only", chip);
    tb_invalidate_process(&model);
    is(data(1), TB_HIT, "%s: ASM outlives a flush of processes", chip);
    is(data(0), TB_MISS | TB_DOUBLE, "%s: and nothing else does", chip);
    tb_invalidate_everything(&model);
    is(data(1), TB_MISS | TB_DOUBLE, "%s: nor ASM one of everything", chip);
    is(model.counts.asn_reuse, 0, "%s: no number was given away twice", chip);
    tb_switch(&model, 100, 3);
    tb_switch(&model, 300, 3);
    is(model.counts.asn_reuse, 1, "%s: now one was", chip);
    tb_switch(&model, 400, 1u << model.chip->asn_bits);
    is(model.asn, 0, "%s: the number has no more bits than the chip keeps", chip);
}

/* The page within an invalidated block takes the block with it; a smaller entry under a new block
 * is what the architecture forbids. */
static void blocks(void)
{
    begin("21264", 2);
    data(64);
    tb_invalidate_page(&model, 100 * PAGE);
    is(data(64), TB_MISS, "TBI of a page drops the block that holds it");
    tables.page.gh = 0;
    data(1000);
    tables.page.gh = 3;
    is(data(1001), TB_MISS, "a block begins to be valid");
    is(model.counts.overlaps, 1, "and the entry of its page was not invalidated");
    is(data(1000), TB_HIT, "now the block maps it");
}

static void stale(void)
{
    begin("21164", 1);
    data(9);
    ok(tb_check(&model, TB_DATA, 10 * PAGE, walk, 0), "the PFN of a page in a block agrees");
    ok(tb_check(&model, TB_DATA, 900 * PAGE, walk, 0), "what is not in the buffer cannot be stale");
    tables.page.valid = false;
    ok(!tb_check(&model, TB_DATA, 10 * PAGE, walk, 0), "an invalid PTE does not");
    is(model.counts.stale, 1, "and is counted");
    tables.table.pfn++;
    ok(!tb_check(&model, TB_DATA, 900 * PAGE, walk, 0), "nor does another page of its PTE");
    tables.table.pfn--;
}

/* Round robin: the entry that was written first goes first, however often it was used. The pages
 * of data are 1 .. 127, the page of PTEs was written before the first of them. */
static void round_robin(void)
{
    begin("21264", 0);
    for (unsigned i = 1; i <= 127; i++)
        data(i);
    for (int i = 0; i < 5; i++)
        data(1);
    is(data(128), TB_MISS, "21264: the 129th entry");
    is(data(1), TB_HIT, "21264: replaces the page of PTEs");
    is(data(129), TB_MISS | TB_DOUBLE, "21264: which comes back in the place of page 1");
    is(data(1), TB_MISS, "21264: however often that was used; page 129 went where 2 was");
    is(data(2), TB_MISS, "21264: and page 1 where 3 was");
    is(data(5), TB_HIT, "21264: page 2 where 4 was");
}

/* Not last used: the pointer leaves an entry that is used. ITB of the 21164, to keep data out. */
static void not_last_used(void)
{
    begin("21164", 0);
    for (unsigned i = 0; i < 48; i++)
        code(i);
    is(code(0), TB_HIT, "21164: page 0, where the pointer stands, is used");
    is(code(48), TB_MISS, "21164: so the next page");
    is(code(0), TB_HIT, "21164: does not replace it");
    is(code(1), TB_MISS, "21164: but page 1; that goes where page 2 was");
    is(code(1), TB_HIT, "21164: using another entry than the one at the pointer changes nothing");
    is(code(3), TB_HIT, "21164: using page 3 moves the pointer to page 4");
    is(code(49), TB_MISS, "21164: which goes");
    is(code(3), TB_HIT, "21164: page 3 stays");
    is(code(4), TB_MISS, "21164: page 4 went");
}

/* The instruction buffer of the 21064: 8 entries for pages, 4 for blocks of 512. */
static void two_sizes(void)
{
    begin("21064", 3);
    is(second_pass(TB_FETCH, 4, 512), 0, "21064: 4 blocks of 4 MiB fit");
    begin("21064", 3);
    ok(second_pass(TB_FETCH, 5, 512) > 0, "21064: 5 do not");
    tables.page.gh = 0;
    for (unsigned i = 0; i < 8; i++)
        code(100000 + i);
    for (unsigned i = 0; i < 8; i++)
        is(code(100000 + i), TB_HIT, "21064: 8 pages do not compete with blocks");
    begin("21064", 2);
    code(0);
    is(code(1), TB_MISS, "21064: a smaller hint counts as none in the instruction buffer");
    data(0);
    is(data(1), TB_HIT, "21064: but in the data buffer");
    tb_invalidate_page(&model, 0);
    is(code(1), TB_HIT, "21064: TBI drops the page of code alone");
    is(data(1), TB_MISS, "21064: and the block of data");
}

static void prices(void)
{
    struct tb_cycles c;

    begin("21164", 0);
    data(0);
    data(1);
    c = tb_cost(&model);
    is(c.least, 2 * 23 + 31, "two misses, one of them double, at least");
    is(c.most, 2 * 103 + 191, "and at most");
}

static uint64_t sum_of(const uint64_t *numbers, unsigned n)
{
    uint64_t sum = 0;

    while (n)
        sum += numbers[--n];
    return sum;
}

/* 1,024 entries. Pages 128 apart push each other out of the data buffer, and 1,024 apart meet. */
static void hashed(void)
{
    static struct tb_vhpt table;
    struct tb_cycles c;
    uint64_t most;

    begin("21264", 0);
    ok(vhpt_init(&table, (struct vhpt_kind){.kib = 32}), "a table of 32 KiB");
    is(table.mask + 1, 1024, "has 1,024 entries");
    model.vhpt = &table;
    tb_switch(&model, 100, 1);
    is(data(0), TB_MISS | TB_DOUBLE, "VHPT: the first reference finds nothing");
    c = tb_cost(&model);
    most = c.most;
    is(c.least, 10 + 20 + 31, "VHPT: and pays the walker and PALcode");
    for (unsigned i = 1; i < 200; i++)
        data(i);
    is(data(0), TB_MISS | TB_HASHED, "VHPT: out of the buffer, page 0 is found here");
    is(table.hits, 1, "VHPT: which is counted");
    is(table.walks, 201, "VHPT: at each miss it is asked");
    ok(most > 0 && tb_cost(&model).most > most, "VHPT: and paid");
    is(data(0), TB_HIT, "VHPT: it fills the buffer");
    data(1024);
    tb_invalidate_page(&model, 5000 * PAGE);
    for (unsigned i = 200; i < 400; i++)
        data(i);
    is(data(1024), TB_MISS | TB_HASHED, "VHPT: page 1024 has replaced");
    is(data(0) & TB_HASHED, 0, "VHPT: page 0");
    tb_switch(&model, 200, 2);
    is(data(300) & TB_HASHED, 0, "VHPT: another process does not find the page");
    tb_switch(&model, 100, 1);
    tb_invalidate_page(&model, 350 * PAGE);
    is(data(350) & TB_HASHED, 0, "VHPT: what is invalidated is not found");
    is(data(220), TB_MISS | TB_HASHED, "VHPT: another page is");
    tb_invalidate_process(&model);
    is(data(221) & TB_HASHED, 0, "VHPT: nothing after a flush of processes");
    tb_invalidate_everything(&model);
    table.of_processes = 0; /* which the 2^24th flush after the next reference would be again */
    data(230);
    table.of_processes = (1 << 24) - 1;
    tb_invalidate_process(&model);
    is(data(230) & TB_HASHED, 0, "VHPT: nor when the flushes are counted anew");
    tables.page.gh = 3;
    data(512);
    tb_invalidate_page(&model, 512 * PAGE);
    is(data(512) & TB_HASHED, 0, "VHPT: a block is not kept");
    is(model.counts.misses[TB_DATA], table.walks, "VHPT: each miss was a walk");
    is(model.counts.walked[TB_DATA], table.walks - table.hits, "VHPT: PALcode did the others");
    is(sum_of(table.instead, VHPT_REASONS), table.walks - table.hits,
       "VHPT: each of which has a reason");
    free(table.entry);
}

/* Look for a page that is not there: the reason, and keep it. */
static unsigned keeps(struct tb_vhpt *v, uint64_t page, uint64_t asn, bool of_all)
{
    struct tb_pte pte = {.valid = true, .asm_ = of_all};
    uint64_t before[VHPT_REASONS];
    unsigned reason = 0;

    memcpy(before, v->instead, sizeof(before));
    if (vhpt_find(v, page, asn, &pte))
        return VHPT_REASONS;
    vhpt_put(v, page, asn, pte);
    while (v->instead[reason] == before[reason])
        reason++;
    return reason;
}

/* A table of 256 KiB has 8,192 entries: room for 4 processes of 1,024 pages. */
static void places_of_processes(void)
{
    static struct tb_vhpt v;
    uint64_t upper = UINT64_C(1) << 29;

    ok(vhpt_init(&v, (struct vhpt_kind){.kib = 256}), "VHPT: a table of 256 KiB");
    for (uint64_t asn = 1; asn <= 4; asn++)
        for (uint64_t page = 0; page < 1024; page++)
            keeps(&v, page, asn, false);
    is(v.instead[VHPT_NOTHING], 4 * 1024, "VHPT: processes that fit do not meet");
    is(v.replaced, 0, "VHPT: and replace nothing");
    is(keeps(&v, 1023, 4, false), VHPT_REASONS, "VHPT: their pages are found");
    is(keeps(&v, 8192, 1, false), VHPT_OWN, "VHPT: page 8192 meets page 0 of its process");
    vhpt_drop_page(&v, 8192, 1);
    is(keeps(&v, 0, 1, false), VHPT_NOTHING, "VHPT: an invalidation leaves nothing");
    /* 8192 * 0.618 = 5062, where the first process begins. */
    is(keeps(&v, upper + 5062, 1, true), VHPT_OWN, "VHPT: the system's pages have no number");
    is(keeps(&v, upper + 5062, 2, true), VHPT_REASONS, "VHPT: and are found by all");
    is(keeps(&v, 0, 1, false), VHPT_SYSTEM, "VHPT: a page of the system gives way");
    /* The second begins 8192 * 0.236 = 1933, the first 3129 pages above it. */
    is(keeps(&v, 3129, 2, false), VHPT_OTHER, "VHPT: processes that do not fit meet");
    vhpt_drop_process(&v);
    is(keeps(&v, 0, 1, false), VHPT_VOID, "VHPT: a flush leaves what is void");
    free(v.entry);
}

int main(void)
{
    static const struct {
        const char *name;
        unsigned itb, dtb;
    } chips[] = {{"21064", 8, 32}, {"21164", 48, 64}, {"21264", 128, 128}};

    for (unsigned i = 0; i < 3; i++) {
        a_miss(chips[i].name);
        capacity(chips[i].name, chips[i].itb, chips[i].dtb);
        reach(chips[i].name, chips[i].dtb);
        hint_of_a_table(chips[i].name);
        address_spaces(chips[i].name);
    }
    blocks();
    stale();
    round_robin();
    not_last_used();
    two_sizes();
    prices();
    hashed();
    places_of_processes();
    ok(!tb_chip_named("21464"), "a chip that was never sold is unknown");
    return tap_done();
}
