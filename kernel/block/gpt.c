/* GUID partition tables (gpt.h): checked field by field, in the order in which they are read. */
#include "kernel/block/gpt.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"

/* Offsets of the header's fields, then those of an entry's. */
enum {
    AT_REVISION = 8,
    AT_HEADER_SIZE = 12,
    AT_HEADER_CRC = 16,
    AT_LBA = 24,
    AT_FIRST = 40,
    AT_LAST = 48,
    AT_TABLE = 72,
    AT_COUNT = 80,
    AT_SIZE = 84,
    AT_TABLE_CRC = 88,
};
enum { ENTRY_TYPE = 0, ENTRY_FIRST = 32, ENTRY_LAST = 40 };

static const char signature[] = "EFI PART";

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const uint8_t *p) { return get32(p) | (uint64_t)get32(p + 4) << 32; }

uint32_t gpt_crc32(uint32_t crc, const void *at, size_t n)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    const uint8_t *p = at;

    crc = ~crc;
    for (size_t k = 0; k < n; k++) {
        crc ^= p[k];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

/* The header's checksum is that of its bytes with the checksum itself as zero. */
static bool sum_is_right(const uint8_t *p, uint32_t size)
{
    static const uint8_t zero[4];
    uint32_t crc = gpt_crc32(0, p, AT_HEADER_CRC);

    crc = gpt_crc32(crc, zero, sizeof(zero));
    crc = gpt_crc32(crc, p + AT_HEADER_CRC + 4, size - AT_HEADER_CRC - 4);
    return crc == get32(p + AT_HEADER_CRC);
}

int gpt_header(struct gpt *g, const void *at, size_t n, uint64_t lba, uint64_t sectors)
{
    const uint8_t *p = at;
    uint32_t size;

    memset(g, 0, sizeof(*g));
    if (n < GPT_HEADER || memcmp(p, signature, sizeof(signature) - 1) != 0)
        return -ENOENT;
    size = get32(p + AT_HEADER_SIZE);
    if (get32(p + AT_REVISION) >> 16 != 1 || size < GPT_HEADER || size > n ||
        !sum_is_right(p, size))
        return -EINVAL;
    g->first_usable = get64(p + AT_FIRST);
    g->last_usable = get64(p + AT_LAST);
    g->table = get64(p + AT_TABLE);
    g->count = get32(p + AT_COUNT);
    g->size = get32(p + AT_SIZE);
    g->crc = get32(p + AT_TABLE_CRC);
    if (get64(p + AT_LBA) != lba || g->first_usable < 2 || g->first_usable > g->last_usable ||
        g->last_usable >= sectors)
        return -EINVAL;
    if (g->size < GPT_ENTRY || g->size > GPT_ENTRY_MAX || (g->size & (g->size - 1)) || !g->count ||
        g->count > GPT_TABLE_BYTES / g->size)
        return -EINVAL;
    /* A sector has 512 bytes or more, so the table is at most as many sectors long as it has bytes
     * for; it lies outside of what partitions may use, and not on the header. */
    if (g->table < 2 || g->table >= sectors || g->table == lba ||
        (g->table >= g->first_usable && g->table <= g->last_usable))
        return -EINVAL;
    return 0;
}

/* Types of partitions, with their bytes as they are in an entry. */
static enum gpt_kind kind_of(const uint8_t *type)
{
    static const struct {
        uint8_t type[16];
        enum gpt_kind kind;
    } kinds[] = {
        {{0x60, 0x18, 0x1B, 0x60, 0x9C, 0xD1, 0x65, 0x47, 0x81, 0xF5, 0xE1, 0x60, 0x94, 0x90, 0x5E,
          0x38},
         GPT_CONFIG},
        {{0xAF, 0x3D, 0xC6, 0x0F, 0x83, 0x84, 0x72, 0x47, 0x8E, 0x79, 0x3D, 0x69, 0xD8, 0x47, 0x7D,
          0xE4},
         GPT_FILES},
        {{0x6D, 0xFD, 0x57, 0x06, 0xAB, 0xA4, 0xC4, 0x43, 0x84, 0xE5, 0x09, 0x33, 0xC8, 0x4B, 0x4F,
          0x4F},
         GPT_PAGING},
    };

    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        if (memcmp(kinds[k].type, type, sizeof(kinds[k].type)) == 0)
            return kinds[k].kind;
    return GPT_OTHER;
}

static void feed_entry(struct gpt *g, const uint8_t *p)
{
    static const uint8_t none[16];
    uint64_t first = get64(p + ENTRY_FIRST), last = get64(p + ENTRY_LAST);

    if (memcmp(p + ENTRY_TYPE, none, sizeof(none)) == 0)
        return;
    if (first < g->first_usable || first > last || last > g->last_usable) {
        g->bad = true;
        return;
    }
    if (g->fed >= GPT_PARTS) {
        g->ignored++;
        return;
    }
    for (unsigned k = 0; k < g->fed; k++)
        if (g->part[k].sectors && g->part[k].first <= last &&
            first <= g->part[k].first + (g->part[k].sectors - 1))
            g->bad = true;
    g->part[g->fed] = (struct gpt_part){first, last - first + 1, kind_of(p + ENTRY_TYPE)};
}

void gpt_feed(struct gpt *g, const void *at, size_t n)
{
    const uint8_t *p = at;

    for (; n >= g->size && g->fed < g->count; p += g->size, n -= g->size) {
        g->sum = gpt_crc32(g->sum, p, g->size);
        feed_entry(g, p);
        g->fed++;
    }
}

int gpt_end(const struct gpt *g)
{
    return g->fed == g->count && g->sum == g->crc && !g->bad ? 0 : -EINVAL;
}

/* Read the table whose header is in sector lba. 0, -ENOENT, -EINVAL, or the error of a read. */
static int read_table(struct gpt *g, const struct gpt_disk *d, uint64_t lba)
{
    uint32_t size = d->sector_bytes, most = GPT_CHUNK / size;
    int err = d->read(d->arg, lba, d->buf, size);

    if (!err)
        err = gpt_header(g, d->buf, size, lba, d->sectors);
    if (err)
        return err;
    for (uint64_t at = g->table; gpt_entries_left(g); at += most) {
        uint64_t n = (gpt_entries_left(g) + size - 1) / size;

        n = n < most ? n : most;
        if (at >= d->sectors || n > d->sectors - at)
            return -EINVAL;
        err = d->read(d->arg, at, d->buf, (uint32_t)n * size);
        if (err)
            return err;
        gpt_feed(g, d->buf, n * size);
    }
    return gpt_end(g);
}

int gpt_read(struct gpt *g, const struct gpt_disk *d, int tables[2])
{
    tables[0] = tables[1] = -ENOENT;
    if (d->sectors < 3)
        return -ENOENT; /* no room for a table */
    tables[0] = read_table(g, d, 1);
    if (tables[0] == 0)
        return 0;
    tables[1] = read_table(g, d, d->sectors - 1);
    return tables[1] == -ENOENT ? tables[0] : tables[1];
}

bool gpt_is_unread(const int tables[2])
{
    for (unsigned k = 0; k < 2; k++)
        if (tables[k] && tables[k] != -ENOENT && tables[k] != -EINVAL)
            return true;
    return false;
}
