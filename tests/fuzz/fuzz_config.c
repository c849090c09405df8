// SOURCES: sysman/config.c sysman/params.c
// TARGETS: sysman/config.c sysman/params.c
// RUNS: 8000
/*
 * The parser of the configuration blob. A configuration that it accepts is encoded again here,
 * according to sysman/FORMAT.md, and must give exactly the same bytes: so every byte was checked
 * and interpreted as the format says. After an error no result is left, and the reported offset is
 * within the blob.
 *
 * The first byte of an input:
 *   bit 0  the header (magic, length, checksum) is made correct
 *   bit 1  version 2
 *   bit 2  the section table is made correct for the records, which the next byte divides
 *   bit 3  with bit 2: but one section claims to have more records than there are
 */
#include <stdlib.h>
#include <string.h>

#include "sysman/params.h"
#include "tests/fuzz/fuzz.h"

#define HEADER   32u
#define TABLE    16u
#define PARAM    40u
#define RESERVED 64u
#define MADE_MAX 8192u /* longer blobs differ only in their number of records */

static struct config config;

static void put(uint8_t *b, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        b[i] = (uint8_t)(v >> 8 * i);
}

static void seal(uint8_t *b, size_t n, uint32_t version)
{
    memcpy(b, "MEGACONF", 8);
    put(b + 8, version, 4);
    put(b + 12, HEADER, 4);
    put(b + 16, n, 4);
    put(b + 20, 0, 4);
    put(b + 28, 0, 4);
    put(b + 20, config_crc32c(0, b, n), 4);
}

/* Make a section table, in front of the records. */
static size_t table(uint8_t *b, unsigned nparams, unsigned nreserved)
{
    uint8_t *t = b + HEADER;
    size_t at = HEADER + ((nparams != 0) + (nreserved != 0)) * TABLE;
    unsigned counts[2] = {nparams, nreserved};

    put(b + 24, (nparams != 0) + (nreserved != 0), 4);
    for (unsigned i = 0; i < 2; i++) {
        size_t length = counts[i] * (i ? RESERVED : PARAM);

        if (!counts[i])
            continue;
        put(t, i + 1, 4);
        put(t + 4, at, 4);
        put(t + 8, length, 4);
        put(t + 12, counts[i], 4);
        t += TABLE;
        at += length;
    }
    return (size_t)(t - b);
}

/* Encode a parsed configuration; sections without records are as in the original. */
static size_t encode(uint8_t *b, const uint8_t *original)
{
    const struct registry *g = &config.registry;
    uint32_t nsections = original[24], version = 1;
    size_t at = HEADER + nsections * TABLE, t = HEADER;

    memset(b, 0, MADE_MAX);
    put(b + 24, nsections, 4);
    for (uint32_t i = 0; i < nsections; i++, t += TABLE) {
        bool params = original[t] == 1;
        uint32_t count = params ? config.nparams : g->count;

        put(b + t, params ? 1 : 2, 4);
        put(b + t + 4, at, 4);
        put(b + t + 8, count * (params ? PARAM : RESERVED), 4);
        put(b + t + 12, count, 4);
        for (uint32_t k = 0; k < count && params; k++, at += PARAM) {
            strcpy((char *)b + at, config.params[k].name);
            put(b + at + 32, (uint64_t)config.params[k].value, 8);
        }
        for (uint32_t k = 0; k < count && !params; k++, at += RESERVED) {
            const struct registry_entry *e = &g->entries[k];

            strcpy((char *)b + at, e->name);
            put(b + at + 44, e->flags, 4);
            put(b + at + 48, e->group, 4);
            put(b + at + 52, e->rad, 4);
            put(b + at + 56, e->megabytes, 8);
            version = e->flags & RMD_EXTENDS ? 2 : version;
        }
    }
    seal(b, at, version);
    return at;
}

static unsigned complaints;

static void complain(const struct config_param *p, enum sysparam_status why)
{
    const struct sysparam_info *info = sysparam_info(sysparam_find(p->name));

    complaints++;
    fuzz_check(why == SYSPARAM_UNKNOWN ? !info
                                       : info && (p->value < info->min || p->value > info->max),
               "parameter %s is refused with reason %d", p->name, why);
}

static bool sound(const struct registry *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct registry_entry *e = &g->entries[i];
        uint32_t scope = e->flags & (RMD_GROUP | RMD_SYSGBL | RMD_NOGLOBAL);

        if (!e->name[0] || !memchr(e->name, 0, sizeof(e->name)) || e->megabytes == 0 ||
            e->megabytes > CONFIG_RESERVED_MB_MAX || __builtin_popcount(scope) != 1 ||
            (!(e->flags & RMD_GROUP) && e->group) || e->group > CONFIG_GROUP_MAX ||
            (e->rad != CONFIG_RAD_NONE && e->rad > CONFIG_RAD_MAX))
            return false;
        if (i == 0 && (e->flags & RMD_EXTENDS))
            return false;
        for (uint32_t j = 0; j < i; j++) { /* the same entry twice only as adjacent parts */
            const struct registry_entry *o = &g->entries[j];

            if (strcmp(o->name, e->name) || o->group != e->group ||
                ((o->flags ^ e->flags) & RMD_GROUP))
                continue;
            for (uint32_t k = j + 1; k <= i; k++)
                if (!(g->entries[k].flags & RMD_EXTENDS))
                    return false;
            if (o->rad == e->rad)
                return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t made[MADE_MAX], again[MADE_MAX];
    struct fuzz_in in = fuzz_in(data, n);
    unsigned how = in_u8(&in), split = in_u8(&in);
    size_t at = 0;
    uint8_t *heap;
    struct config_result r;

    fuzz_begin();
    if (how & 4) {
        size_t left = (size_t)(in.end - in.p), nparams = left / PARAM;

        nparams = nparams * split / 255;
        at = table(made, (unsigned)nparams, (unsigned)((left - nparams * PARAM) / RESERVED));
        how |= 1;
    }
    if ((how & 12) == 12 && at > HEADER) { /* a section claims to have more records */
        uint8_t *t = made + HEADER, more = (uint8_t)(1 + in_below(&in, 8));

        t += at == HEADER + 2 * TABLE && split % 2 ? TABLE : 0;
        put(t + 8, t[8] + 256u * t[9] + more * (t[0] == 1 ? PARAM : RESERVED), 4);
        put(t + 12, t[12] + more, 4);
    }
    while (in_more(&in) && at < sizeof(made))
        made[at++] = in_u8(&in);
    if ((how & 1) && at >= HEADER)
        seal(made, at, how & 2 ? 2 : 1);
    heap = malloc(at ? at : 1); /* of the blob's exact length */
    memcpy(heap, made, at);
    r = config_parse(heap, at, &config);
    if (r.error) {
        fuzz_check(!config.nparams && !config.registry.count, "a refused blob leaves records");
        fuzz_check(r.offset <= at, "error %d at offset %u of %zu", r.error, r.offset, at);
        fuzz_check(config_error_text(r.error)[0], "an error without words");
    } else {
        fuzz_check(encode(again, heap) == at && !memcmp(again, heap, at),
                   "an accepted blob is not its own encoding");
        fuzz_check(sound(&config.registry), "a registry that cannot be");
        fuzz_check(sysparam_boot_apply(&config, complain) == complaints, "complaints are counted");
        for (unsigned i = 0; i < SYSPARAM_COUNT; i++)
            fuzz_check(sysparam_values[i] >= sysparam_info(i)->min &&
                           sysparam_values[i] <= sysparam_info(i)->max,
                       "parameter %s out of its limits", sysparam_info(i)->name);
    }
    free(heap);
    return 0;
}
