// SOURCES: kernel/block/gpt.c
// TARGETS: kernel/block/gpt.c
// RUNS: 6000
/*
 * Partition tables. The input makes a table, whose partitions it chooses, or damages one. Checksums
 * are computed afterwards, or not. Whatever was damaged, partitions that are reported lie within
 * the disk and have no sector in common; an undamaged table gives exactly those that a plain model
 * finds. The blocks that are read have their exact sizes.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/base/errno.h"
#include "kernel/block/gpt.h"
#include "tests/fuzz/fuzz.h"

#define SECTOR  512u
#define ENTRIES 2048u /* bytes of the largest table made here */

static uint8_t header[SECTOR], entries[ENTRIES];
static uint64_t sectors, lba;
static uint32_t count, size;

static void put(uint8_t *p, uint64_t v, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        p[k] = (uint8_t)(v >> 8 * k);
}

/* The checksum, bit by bit. */
static uint32_t sum(const uint8_t *p, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t k = 0; k < n * 8; k++)
        crc = crc >> 1 ^ ((crc ^ (uint32_t)(p[k / 8] >> k % 8)) & 1 ? 0xEDB88320u : 0);
    return ~crc;
}

static void put_sums(void)
{
    put(header + 88, sum(entries, (size_t)count * size), 4);
    put(header + 16, 0, 4);
    put(header + 16, sum(header, 92), 4);
}

/* A number near others that matter, or any. */
static uint64_t any_sector(struct fuzz_in *in)
{
    static const uint64_t near[] = {0, 34, 2048, 4096, UINT64_MAX, INT64_MAX};
    uint8_t how = in_u8(in);

    if (how & 0x80)
        return in_u64(in);
    return (how & 0x40 ? sectors : near[how % 6]) + in_u8(in) - 64;
}

static void make(struct fuzz_in *in)
{
    memset(header, 0, sizeof(header));
    memset(entries, 0, sizeof(entries));
    size = 128u << in_below(in, 3);
    count = 1 + in_below(in, ENTRIES / size);
    sectors = 4096 + in_u16(in);
    lba = in_u8(in) & 1 ? 1 : sectors - 1;
    memcpy(header, "EFI PART\0\0\1\0\\\0\0\0", 16);
    put(header + 24, lba, 8);
    put(header + 40, 34, 8);
    put(header + 48, sectors - 34, 8);
    put(header + 72, lba == 1 ? 2 : sectors - 33, 8);
    put(header + 80, count, 4);
    put(header + 84, size, 4);
    for (unsigned n = in_below(in, 20); n; n--) {
        uint8_t *e = entries + (size_t)in_below(in, count) * size;
        uint64_t first = in_u8(in) & 1 ? 34 + in_u16(in) : any_sector(in);

        e[in_below(in, 16)] = 1;
        put(e + 32, first, 8);
        put(e + 40, in_u8(in) & 1 ? first + in_u8(in) : any_sector(in), 8);
    }
}

static uint64_t get(const uint8_t *p)
{
    uint64_t v = 0;

    for (unsigned k = 8; k--;)
        v = v << 8 | p[k];
    return v;
}

static bool is_used(unsigned k)
{
    for (unsigned b = 0; b < 16; b++)
        if (entries[(size_t)k * size + b])
            return true;
    return false;
}

/* Is the undamaged table right? Only those that get a name must not overlap. */
static bool model(void)
{
    for (unsigned k = 0; k < count; k++) {
        uint64_t first = get(entries + (size_t)k * size + 32);
        uint64_t last = get(entries + (size_t)k * size + 40);

        if (!is_used(k))
            continue;
        if (first < 34 || first > last || last > sectors - 34)
            return false;
        for (unsigned j = 0; j < k && k < GPT_PARTS; j++)
            if (is_used(j) && get(entries + (size_t)j * size + 32) <= last &&
                get(entries + (size_t)j * size + 40) >= first)
                return false;
    }
    return true;
}

static void check_parts(const struct gpt *g)
{
    for (unsigned k = 0; k < GPT_PARTS; k++) {
        const struct gpt_part *p = &g->part[k];

        if (!p->sectors)
            continue;
        fuzz_check(p->first >= 2 && p->first < sectors && p->sectors <= sectors - p->first,
                   "a partition outside of the disk");
        for (unsigned j = 0; j < k; j++)
            fuzz_check(!g->part[j].sectors || g->part[j].first >= p->first + p->sectors ||
                           p->first >= g->part[j].first + g->part[j].sectors,
                       "partitions overlap");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_in in = fuzz_in(data, n);
    bool damaged, right;
    struct gpt g;
    uint8_t *copy;
    int err;

    fuzz_begin();
    make(&in);
    put_sums();
    damaged = in_u8(&in) & 1;
    if (damaged) {
        bool sums = in_u8(&in) & 1;

        while (in_more(&in)) {
            unsigned at = in_below(&in, SECTOR + ENTRIES);

            *(at < SECTOR ? &header[at % 96] : &entries[at - SECTOR]) = in_u8(&in);
        }
        if (sums)
            put_sums();
    }
    copy = malloc(SECTOR);
    memcpy(copy, header, SECTOR);
    err = gpt_header(&g, copy, SECTOR, lba, sectors);
    free(copy);
    while (!err && gpt_entries_left(&g)) {
        uint64_t left = gpt_entries_left(&g), at = (uint64_t)g.fed * g.size;
        size_t part = left < 4096 ? (size_t)left : 4096;

        copy = calloc(1, part);
        if (at < ENTRIES)
            memcpy(copy, entries + at, part < ENTRIES - at ? part : ENTRIES - at);
        gpt_feed(&g, copy, part);
        free(copy);
    }
    if (!err)
        err = gpt_end(&g);
    if (!err)
        check_parts(&g);
    if (damaged)
        return 0;
    right = model();
    fuzz_check(right == !err, "a table that is %s gives %d", right ? "right" : "wrong", err);
    for (unsigned k = 0; right && k < GPT_PARTS; k++) {
        uint64_t first = k < count && is_used(k) ? get(entries + (size_t)k * size + 32) : 0;

        fuzz_check(g.part[k].first == first, "partition %u begins at %lu", k + 1, g.part[k].first);
    }
    return 0;
}
