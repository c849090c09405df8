/*
 * Parser of the configuration blob (sysman/FORMAT.md).
 *
 * The blob is untrusted input: a flipped byte, a truncated blob or random data must not prevent the
 * boot. The parser first checks the fields that it needs to compute the checksum (magic, version,
 * lengths), then the checksum, and then everything else as if there were no checksum: a hostile or
 * faulty tool may have written a blob with a correct checksum.
 *
 * Each field is read by its offset, byte by byte, so that neither alignment nor the byte order of
 * the machine matters. Every access is inside [0, total), and total == nbytes <= CONFIG_MAX_BYTES.
 * Sums of offsets and lengths, which are below 2^32 each, are computed in 64 bits and cannot wrap.
 * The encoding is unique: sections lie in the order of their types, without gaps, up to the end;
 * names are padded with zeros; unused fields are zero. So the parser checks every byte, and two
 * blobs of the same configuration are equal.
 *
 * The result is stored in the caller's structure, which has a fixed size. After an error it is
 * empty.
 */
#include "sysman/config.h"

#define HEADER_BYTES      32u
#define TABLE_ENTRY_BYTES 16u
#define SECTION_PARAMS    1u
#define SECTION_RESERVED  2u
#define PARAM_BYTES       40u
#define RESERVED_BYTES    64u
#define VERSION_PARTS     2u /* version of a blob with further parts; that of others is 1 */

static const unsigned char magic[8] = {'M', 'E', 'G', 'A', 'C', 'O', 'N', 'F'};

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const unsigned char *p) { return get32(p) | (uint64_t)get32(p + 4) << 32; }

static struct config_result fail(enum config_error e, uint64_t offset)
{
    return (struct config_result){e, (uint32_t)offset};
}

#define PASS ((struct config_result){CONFIG_OK, 0})

/* Polynomial 0x1EDC6F41, reflected; four bits at a time, with a table of 64 bytes, which is fast
   enough for the few kilobytes of a blob. */
uint32_t config_crc32c(uint32_t crc, const void *data, size_t nbytes)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
        0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
        0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
    };
    const unsigned char *p = data;

    crc = ~crc;
    for (size_t i = 0; i < nbytes; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

static bool param_name_byte(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* Names of sections: all printable characters but the colon (System Services manual,
   $MGBLSC_64). */
static bool reserved_name_byte(unsigned char c) { return c > 0x20 && c < 0x7F && c != ':'; }

/* Copy a name of 1 to field - 1 bytes, which zeros follow up to the end of the field. Returns field
   if it is valid, otherwise the offset of the wrong byte. */
static uint32_t copy_name(char *to, const unsigned char *from, uint32_t field,
                          bool (*good)(unsigned char))
{
    uint32_t n = 0;

    while (n < field && from[n]) {
        if (n == field - 1 || !good(from[n]))
            return n;
        to[n] = (char)from[n];
        n++;
    }
    if (n == 0)
        return 0;
    for (uint32_t i = n; i < field; i++) {
        if (from[i])
            return i;
        to[i] = 0;
    }
    return field;
}

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static struct config_result parse_params(const unsigned char *b, uint32_t at, uint32_t count,
                                         struct config *out)
{
    if (count > CONFIG_MAX_PARAMS)
        return fail(CONFIG_TOO_MANY, at);
    for (uint32_t i = 0; i < count; i++, at += PARAM_BYTES) {
        struct config_param *p = &out->params[i];
        uint32_t n = copy_name(p->name, b + at, sizeof(p->name), param_name_byte);

        if (n != sizeof(p->name))
            return fail(CONFIG_NAME, at + n);
        for (uint32_t j = 0; j < i; j++)
            if (same(out->params[j].name, p->name))
                return fail(CONFIG_DUPLICATE, at);
        p->value = (int64_t)get64(b + at + 32);
    }
    out->nparams = count;
    return PASS;
}

static bool flags_good(uint32_t f)
{
    uint32_t scope = f & (RMD_GROUP | RMD_SYSGBL | RMD_NOGLOBAL);

    if (f & ~RMD_CHOICES)
        return false;
    if (scope == 0 || (scope & (scope - 1)))
        return false;
    if ((f & RMD_ZERO) && !(f & RMD_ALLOC))
        return false;
    return !(f & RMD_NOGLOBAL) || !(f & RMD_PAGE_TABLES);
}

static bool same_entry(const struct registry_entry *a, const struct registry_entry *b)
{
    return same(a->name, b->name) && a->group == b->group &&
           (a->flags & RMD_GROUP) == (b->flags & RMD_GROUP);
}

/* Check record i, at offset at of the blob, which is a further part of the entry to which the
   record before it belongs. All parts of an entry have different domains. */
static struct config_result check_part(const struct registry *g, uint32_t i, uint32_t at)
{
    const struct registry_entry *e = &g->entries[i], *o = e - 1;
    uint64_t total = e->megabytes;

    if (i == 0 || !same_entry(e, o) || ((e->flags ^ o->flags) & ~RMD_EXTENDS))
        return fail(CONFIG_PART, at);
    if ((e->flags & RMD_ALLOC) && o->megabytes % CONFIG_PART_MB)
        return fail(CONFIG_VALUE, at - RESERVED_BYTES + 56);
    do { /* the first record never has RMD_EXTENDS, so the loop ends */
        o = --e;
        if (o->rad == g->entries[i].rad)
            return fail(CONFIG_DUPLICATE, at);
        total += o->megabytes;
    } while (o->flags & RMD_EXTENDS);
    return total > CONFIG_RESERVED_MB_MAX ? fail(CONFIG_VALUE, at + 56) : PASS;
}

static struct config_result parse_reserved(const unsigned char *b, uint32_t at, uint32_t count,
                                           struct registry *out)
{
    uint32_t extends = get32(b + 8) == VERSION_PARTS ? RMD_EXTENDS : 0;

    if (count > CONFIG_MAX_RESERVED)
        return fail(CONFIG_TOO_MANY, at);
    for (uint32_t i = 0; i < count; i++, at += RESERVED_BYTES) {
        struct registry_entry *e = &out->entries[i];
        uint32_t n = copy_name(e->name, b + at, sizeof(e->name), reserved_name_byte);

        if (n != sizeof(e->name))
            return fail(CONFIG_NAME, at + n);
        e->flags = get32(b + at + 44);
        e->group = get32(b + at + 48);
        e->rad = get32(b + at + 52);
        e->megabytes = get64(b + at + 56);
        if (!flags_good(e->flags & ~extends))
            return fail(CONFIG_FLAGS, at + 44);
        if (e->group > ((e->flags & RMD_GROUP) ? CONFIG_GROUP_MAX : 0))
            return fail(CONFIG_VALUE, at + 48);
        if (e->rad != CONFIG_RAD_NONE && e->rad > CONFIG_RAD_MAX)
            return fail(CONFIG_VALUE, at + 52);
        if (e->megabytes == 0 || e->megabytes > CONFIG_RESERVED_MB_MAX)
            return fail(CONFIG_VALUE, at + 56);
        if (e->flags & RMD_EXTENDS) {
            struct config_result r = check_part(out, i, at);

            if (r.error)
                return r;
            continue;
        }
        for (uint32_t j = 0; j < i; j++)
            if (same_entry(&out->entries[j], e))
                return fail(CONFIG_DUPLICATE, at);
    }
    out->count = count;
    return PASS;
}

static struct config_result parse_sections(const unsigned char *b, uint32_t total,
                                           struct config *out)
{
    uint32_t nsections = get32(b + 24);
    uint32_t last_type = 0;
    uint64_t expect;

    if (nsections > 2)
        return fail(CONFIG_SECTION_TABLE, 24);
    expect = HEADER_BYTES + nsections * TABLE_ENTRY_BYTES;
    if (expect > total)
        return fail(CONFIG_SECTION_TABLE, 24);
    for (uint32_t i = 0; i < nsections; i++) {
        uint32_t t = HEADER_BYTES + i * TABLE_ENTRY_BYTES;
        uint32_t type = get32(b + t), offset = get32(b + t + 4);
        uint32_t length = get32(b + t + 8), count = get32(b + t + 12);
        uint32_t record = type == SECTION_PARAMS ? PARAM_BYTES : RESERVED_BYTES;
        struct config_result r;

        if ((type != SECTION_PARAMS && type != SECTION_RESERVED) || type <= last_type)
            return fail(CONFIG_SECTION_TABLE, t);
        if (offset != expect)
            return fail(CONFIG_SECTION_TABLE, t + 4);
        if (length > total - offset)
            return fail(CONFIG_SECTION_TABLE, t + 8);
        if ((uint64_t)count * record != length)
            return fail(CONFIG_SECTION_TABLE, t + 12);
        last_type = type;
        expect = (uint64_t)offset + length;
        r = type == SECTION_PARAMS ? parse_params(b, offset, count, out)
                                   : parse_reserved(b, offset, count, &out->registry);
        if (r.error)
            return r;
    }
    return expect == total ? PASS : fail(CONFIG_LENGTH, expect);
}

/* Version 2 is allowed only if an entry has further parts, so that the encoding is unique. */
static bool version_fits(uint32_t version, const struct registry *g)
{
    bool parts = false;

    for (uint32_t i = 0; i < g->count; i++)
        parts |= (g->entries[i].flags & RMD_EXTENDS) != 0;
    return parts == (version == VERSION_PARTS);
}

static struct config_result parse(const unsigned char *b, size_t nbytes, struct config *out)
{
    static const unsigned char zero[4];
    uint32_t total, crc, version;
    struct config_result r;

    if (nbytes < HEADER_BYTES)
        return fail(CONFIG_SHORT, nbytes);
    for (uint32_t i = 0; i < sizeof(magic); i++)
        if (b[i] != magic[i])
            return fail(CONFIG_MAGIC, i);
    version = get32(b + 8);
    if (version != 1 && version != VERSION_PARTS)
        return fail(CONFIG_VERSION, 8);
    if (get32(b + 12) != HEADER_BYTES)
        return fail(CONFIG_HEADER, 12);
    total = get32(b + 16);
    if (total > CONFIG_MAX_BYTES)
        return fail(CONFIG_LENGTH, 16);
    if (total > nbytes)
        return fail(CONFIG_SHORT, nbytes);
    if (total != nbytes || total < HEADER_BYTES)
        return fail(CONFIG_LENGTH, 16);
    crc = config_crc32c(0, b, 20);
    crc = config_crc32c(crc, zero, 4);
    crc = config_crc32c(crc, b + 24, total - 24);
    if (crc != get32(b + 20))
        return fail(CONFIG_CHECKSUM, 20);
    if (get32(b + 28))
        return fail(CONFIG_HEADER, 28);
    r = parse_sections(b, total, out);
    if (!r.error && !version_fits(version, &out->registry))
        return fail(CONFIG_VERSION, 8);
    return r;
}

struct config_result config_parse(const void *blob, size_t nbytes, struct config *out)
{
    struct config_result r;

    out->nparams = 0;
    out->registry.count = 0;
    r = parse(blob, nbytes, out);
    if (r.error) {
        out->nparams = 0;
        out->registry.count = 0;
    }
    return r;
}

const char *config_error_text(enum config_error e)
{
    switch (e) {
    case CONFIG_OK:
        return "good";
    case CONFIG_SHORT:
        return "ends too early";
    case CONFIG_MAGIC:
        return "is no configuration blob";
    case CONFIG_VERSION:
        return "has a version that is unknown or not its entries'";
    case CONFIG_HEADER:
        return "has a damaged header";
    case CONFIG_LENGTH:
        return "has a wrong length";
    case CONFIG_CHECKSUM:
        return "has a wrong checksum";
    case CONFIG_SECTION_TABLE:
        return "has a damaged section table";
    case CONFIG_TOO_MANY:
        return "has more records than the kernel holds";
    case CONFIG_NAME:
        return "has a bad name";
    case CONFIG_DUPLICATE:
        return "names the same thing twice";
    case CONFIG_FLAGS:
        return "has flags that exclude each other";
    case CONFIG_PART:
        return "has a further part that is not behind its entry";
    case CONFIG_VALUE:
        return "has a value out of range";
    }
    return "is broken";
}
