/*
 * Encoding of the configuration blob. The result is parsed by the kernel's own parser, so nothing
 * is ever written that the kernel would refuse.
 */
#include "encode.h"

#include <string.h>

#define HEADER        32u
#define TABLE_ENTRY   16u
#define PARAM         40u
#define RESERVED      64u
#define CHECKSUM_AT   20u
#define TYPE_PARAM    1u
#define TYPE_RESERVED 2u

static void put(unsigned char *p, uint64_t v, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        p[k] = (unsigned char)(v >> 8 * k);
}

static void put_section(unsigned char *p, uint32_t type, uint32_t offset, uint32_t record,
                        uint32_t count)
{
    put(p, type, 4);
    put(p + 4, offset, 4);
    put(p + 8, (uint64_t)record * count, 4);
    put(p + 12, count, 4);
}

uint32_t config_encode(const struct config *c, void *blob, enum config_error *why)
{
    static struct config parsed;
    unsigned char *b = blob, *table = b + HEADER;
    uint32_t nsections = (c->nparams > 0) + (c->registry.count > 0), at, version = 1;

    *why = CONFIG_TOO_MANY;
    if (c->nparams > CONFIG_MAX_PARAMS || c->registry.count > CONFIG_MAX_RESERVED)
        return 0;
    memset(b, 0, CONFIG_MAX_BYTES);
    at = HEADER + nsections * TABLE_ENTRY;
    if (c->nparams) {
        put_section(table, TYPE_PARAM, at, PARAM, c->nparams);
        table += TABLE_ENTRY;
    }
    for (uint32_t k = 0; k < c->nparams; k++, at += PARAM) {
        memcpy(b + at, c->params[k].name, strnlen(c->params[k].name, CONFIG_PARAM_NAME_MAX));
        put(b + at + 32, (uint64_t)c->params[k].value, 8);
    }
    if (c->registry.count)
        put_section(table, TYPE_RESERVED, at, RESERVED, c->registry.count);
    for (uint32_t k = 0; k < c->registry.count; k++, at += RESERVED) {
        const struct registry_entry *e = &c->registry.entries[k];

        memcpy(b + at, e->name, strnlen(e->name, CONFIG_RESERVED_NAME_MAX));
        put(b + at + 44, e->flags, 4);
        put(b + at + 48, e->group, 4);
        put(b + at + 52, e->rad, 4);
        put(b + at + 56, e->megabytes, 8);
        if (e->flags & RMD_EXTENDS)
            version = 2;
    }
    memcpy(b, "MEGACONF", 8);
    put(b + 8, version, 4);
    put(b + 12, HEADER, 4);
    put(b + 16, at, 4);
    put(b + 24, nsections, 4);
    put(b + CHECKSUM_AT, config_crc32c(0, b, at), 4);
    *why = config_parse(b, at, &parsed).error;
    return *why ? 0 : at;
}
