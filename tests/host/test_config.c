// SOURCES: sysman/config.c sysman/params.c
/*
 * The parser of the configuration blob, with every single-byte change of a valid blob, every
 * length, random bytes, and a violation of each rule under a correct checksum. Each blob is parsed
 * from a heap block of its exact length, so that AddressSanitizer sees a read beyond its end.
 */
#include "sysman/config.h"
#include "sysman/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userland/lib/include/tap.h"

/* The golden blob, as scripts/sysman wrote it for these commands:
     PARAMETERS SET PAGED_LAL_SIZE 256
     RESERVED_MEMORY ADD DBCACHE 4096 /ALLOCATE /ZERO /PAGE_TABLES
     RESERVED_MEMORY ADD G 16 /GROUP=12 /NOPAGE_TABLES /RAD=1
   tests/test_sysman.py checks that it writes the same bytes. */
#include "tests/host/config_golden.inc"

#define TABLE    32
#define PARAMS   64
#define RESERVED 104
#define TOTAL    232

/* The golden blob of version 2, for these commands:
     RESERVED_MEMORY ADD PARTS 16 /ALLOCATE /RAD=0
     RESERVED_MEMORY EXTEND PARTS 8 /RAD=1
     RESERVED_MEMORY EXTEND PARTS 3
     RESERVED_MEMORY ADD PARTS 5 /GROUP=1
     RESERVED_MEMORY EXTEND PARTS 7 /GROUP=1 /RAD=2 */
#include "tests/host/config_golden_parts.inc"

#define PARTS_FIRST 48
#define PARTS_TOTAL 368

static struct config config;

static struct config_result parse_copy(const unsigned char *b, size_t n)
{
    unsigned char *heap = malloc(n ? n : 1);
    struct config_result r;

    memcpy(heap, b, n);
    r = config_parse(heap, n, &config);
    free(heap);
    return r;
}

static void put32(unsigned char *b, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        b[i] = (unsigned char)(v >> 8 * i);
}

static void seal(unsigned char *b, size_t n)
{
    put32(b + 20, 0);
    put32(b + 20, config_crc32c(0, b, n));
}

static void test_golden(void)
{
    struct config_result r;
    const struct registry *g = &config.registry;

    is(config_crc32c(0, "123456789", 9), 0xE3069283, "CRC-32C has its check value");
    is(config_crc32c(config_crc32c(0, "1234", 4), "56789", 5), 0xE3069283, "and can be continued");
    is(sizeof(golden), TOTAL, "the golden blob has the length that its records make");
    r = parse_copy(golden, sizeof(golden));
    is(r.error, CONFIG_OK, "the golden blob is accepted");
    is(config.nparams, 1, "one parameter");
    is_str(config.params[0].name, "PAGED_LAL_SIZE", "its name");
    is(config.params[0].value, 256, "its value");
    is(g->count, 2, "two reservations");
    is_str(g->entries[0].name, "DBCACHE", "name");
    is(g->entries[0].flags, RMD_ALLOC | RMD_ZERO | RMD_PAGE_TABLES | RMD_SYSGBL, "flags");
    is(g->entries[0].megabytes, 4096, "size");
    is(g->entries[0].rad, CONFIG_RAD_NONE, "no RAD");
    is(g->entries[1].flags, RMD_GROUP, "a group entry without page tables");
    is(g->entries[1].group, 012, "its group was octal");
    is(g->entries[1].rad, 1, "its RAD");
}

static void test_parts(void)
{
    const struct registry_entry *e = config.registry.entries;

    is(sizeof(golden_parts), PARTS_TOTAL, "the golden blob with parts has the length of 5 records");
    is(parse_copy(golden_parts, PARTS_TOTAL).error, CONFIG_OK, "it is good");
    is(config.registry.count, 5, "five records");
    is(e[0].flags, RMD_ALLOC | RMD_PAGE_TABLES | RMD_SYSGBL, "an entry");
    is(e[1].flags, e[0].flags | RMD_EXTENDS, "its second part");
    ok(e[0].rad == 0 && e[1].rad == 1 && e[2].rad == CONFIG_RAD_NONE, "each with its domain");
    ok(e[0].megabytes == 16 && e[1].megabytes == 8 && e[2].megabytes == 3, "and its size");
    ok(!(e[3].flags & RMD_EXTENDS) && e[3].group == 1, "another entry of that name");
    ok((e[4].flags & RMD_EXTENDS) && e[4].megabytes == 7, "with a part of its own");
}

/* Every other value at every offset of a golden blob. */
static void test_flips(const unsigned char *good, size_t total, const char *which)
{
    unsigned char b[PARTS_TOTAL];
    unsigned accepted = 0, filled = 0;

    for (size_t at = 0; at < total; at++)
        for (unsigned v = 1; v < 256; v++) {
            memcpy(b, good, total);
            b[at] ^= (unsigned char)v;
            accepted += parse_copy(b, total).error == CONFIG_OK;
            filled += config.nparams || config.registry.count;
        }
    is(accepted, 0, "%s: no blob with one byte changed is accepted", which);
    is(filled, 0, "%s: and none leaves anything behind", which);
}

/* The same with the checksum corrected, because each field has a check of its own. The only changes
   that may be accepted are those of a name's letter, a value, a size, a RAD, a group or a flag that
   stay within the rules. */
static void test_sealed_flips(const unsigned char *good, size_t total, size_t records,
                              const char *which)
{
    unsigned char b[PARTS_TOTAL];
    unsigned structure = 0;

    for (size_t at = 0; at < total; at++)
        for (unsigned v = 1; v < 256; v++) {
            memcpy(b, good, total);
            b[at] ^= (unsigned char)v;
            seal(b, total);
            if (parse_copy(b, total).error == CONFIG_OK && at < records && (at < 20 || at >= 24))
                structure++;
        }
    is(structure, 0,
       "%s: no changed header or section table is accepted, even with a correct checksum", which);
}

static void test_cuts(const unsigned char *good, size_t total, const char *which)
{
    unsigned char b[PARTS_TOTAL + 64];
    unsigned accepted = 0;

    for (size_t n = 0; n < total; n++) {
        accepted += parse_copy(good, n).error == CONFIG_OK;
        memcpy(b, good, n);
        if (n >= 32) { /* with its new length in the header and a correct checksum */
            put32(b + 16, (uint32_t)n);
            seal(b, n);
            accepted += parse_copy(b, n).error == CONFIG_OK;
        }
    }
    is(accepted, 0, "%s: no blob cut short is accepted, with or without a correct checksum", which);
    memset(b, 0, sizeof(b));
    memcpy(b, good, total);
    is(parse_copy(b, total + 64).error, CONFIG_LENGTH, "%s: nor one with bytes after its end",
       which);
}

static void test_noise(void)
{
    unsigned char b[512];
    unsigned accepted = 0;
    uint64_t x = 88172645463325252u; /* xorshift with a fixed seed: every run is the same */

    for (int round = 0; round < 20000; round++) {
        size_t n = round % sizeof(b);

        for (size_t i = 0; i < n; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            b[i] = (unsigned char)x;
        }
        accepted += parse_copy(b, n).error == CONFIG_OK;
        if (n >= 64 && round % 2) { /* random bytes after a correct header */
            memcpy(b, golden, 20);
            put32(b + 16, (uint32_t)n);
            put32(b + 24, (uint32_t)(x % 4));
            put32(b + 28, 0);
            put32(b + 32, 1 + x % 2);
            put32(b + 36, 48);
            seal(b, n);
            accepted += parse_copy(b, n).error == CONFIG_OK;
        }
    }
    is(accepted, 0, "random bytes are not accepted, not even with a correct header and checksum");
}

/* Change one field and correct the checksum: the error must name this field's rule and offset. */
static void rule_of(const unsigned char *good, size_t total, size_t at, uint32_t value,
                    enum config_error want, size_t offset, const char *what)
{
    unsigned char b[PARTS_TOTAL];
    struct config_result r;

    memcpy(b, good, total);
    put32(b + at, value);
    seal(b, total);
    r = parse_copy(b, total);
    is(r.error, want, "%s: %s", what, config_error_text(want));
    is(r.offset, offset, "%s: offset %zu", what, offset);
}

static void rule(size_t at, uint32_t value, enum config_error want, size_t offset, const char *what)
{
    rule_of(golden, TOTAL, at, value, want, offset, what);
}

static void rule_parts(size_t at, uint32_t value, enum config_error want, size_t offset,
                       const char *what)
{
    rule_of(golden_parts, PARTS_TOTAL, at, value, want, offset, what);
}

/* Offset of byte `at` of record i. */
#define PART(i, at) (PARTS_FIRST + 64 * (i) + (at))

static void test_part_rules(void)
{
    const uint32_t alone = RMD_ALLOC | RMD_PAGE_TABLES | RMD_SYSGBL;
    unsigned char b[PARTS_TOTAL];

    rule_parts(8, 1, CONFIG_FLAGS, PART(1, 44), "version 1 with parts");
    rule_parts(8, 3, CONFIG_VERSION, 8, "version 3");
    rule_parts(PART(0, 44), alone | RMD_EXTENDS, CONFIG_PART, PART(0, 0),
               "a part without an entry");
    rule_parts(PART(1, 44), (alone | RMD_EXTENDS) & ~RMD_PAGE_TABLES, CONFIG_PART, PART(1, 0),
               "a part with other flags");
    rule_parts(PART(1, 0), 'P' | 'A' << 8 | 'R' << 16 | 'S' << 24, CONFIG_PART, PART(1, 0),
               "a part with another name");
    rule_parts(PART(4, 48), 2, CONFIG_PART, PART(4, 0), "a part of another group");
    rule_parts(PART(1, 44), alone, CONFIG_DUPLICATE, PART(1, 0), "the same entry twice");
    rule_parts(PART(1, 52), 0, CONFIG_DUPLICATE, PART(1, 0), "two parts in one domain");
    rule_parts(PART(2, 52), 0, CONFIG_DUPLICATE, PART(2, 0), "not neighbours either");
    rule_parts(PART(0, 56), 17, CONFIG_VALUE, PART(0, 56), "a part that is no multiple of 8 MB");
    rule_parts(PART(2, 56), CONFIG_RESERVED_MB_MAX - 16, CONFIG_VALUE, PART(2, 56),
               "parts that are too large together");
    memcpy(b, golden, TOTAL);
    put32(b + 8, 2);
    seal(b, TOTAL);
    is(parse_copy(b, TOTAL).error, CONFIG_VERSION, "version 2 without parts");
    memcpy(b, golden_parts, PARTS_TOTAL);
    put32(b + PART(2, 56), 9);
    seal(b, PARTS_TOTAL);
    is(parse_copy(b, PARTS_TOTAL).error, CONFIG_OK, "the last part has any size");
    put32(b + PART(3, 56), 9);
    seal(b, PARTS_TOTAL);
    is(parse_copy(b, PARTS_TOTAL).error, CONFIG_OK, "so has every one without allocation");
}

static void test_rules(void)
{
    unsigned char b[TOTAL];

    rule(0, 0, CONFIG_MAGIC, 0, "magic");
    rule(8, 3, CONFIG_VERSION, 8, "version");
    rule(12, 40, CONFIG_HEADER, 12, "header length");
    rule(16, TOTAL - 1, CONFIG_LENGTH, 16, "total length");
    rule(16, TOTAL + 1, CONFIG_SHORT, TOTAL, "total length beyond the end");
    rule(16, 0xFFFFFFFF, CONFIG_LENGTH, 16, "enormous total length");
    rule(24, 3, CONFIG_SECTION_TABLE, 24, "three sections");
    rule(28, 1, CONFIG_HEADER, 28, "reserved field");
    rule(TABLE, 2, CONFIG_SECTION_TABLE, TABLE + 12, "another type's record length");
    rule(TABLE, 3, CONFIG_SECTION_TABLE, TABLE, "unknown section");
    rule(TABLE + 16, 1, CONFIG_SECTION_TABLE, TABLE + 16, "a section twice");
    rule(TABLE + 4, 63, CONFIG_SECTION_TABLE, TABLE + 4, "section in the table");
    rule(TABLE + 8, 0xFFFFFFF0, CONFIG_SECTION_TABLE, TABLE + 8, "enormous section");
    rule(TABLE + 12, 0xFFFFFFFF, CONFIG_SECTION_TABLE, TABLE + 12, "enormous count");
    rule(PARAMS, 'a', CONFIG_NAME, PARAMS, "small letter in a parameter's name");
    rule(PARAMS, 0, CONFIG_NAME, PARAMS, "empty name");
    rule(PARAMS + 28, 'A' << 24, CONFIG_NAME, PARAMS + 31, "name not ended");
    rule(RESERVED, 'a' | ':' << 8, CONFIG_NAME, RESERVED + 1, "colon in a section's name");
    rule(RESERVED + 44, 0x40 | RMD_SYSGBL, CONFIG_FLAGS, RESERVED + 44, "unknown flag");
    rule(RESERVED + 44, RMD_ALLOC, CONFIG_FLAGS, RESERVED + 44, "no scope");
    rule(RESERVED + 44, RMD_SYSGBL | RMD_GROUP, CONFIG_FLAGS, RESERVED + 44, "two scopes");
    rule(RESERVED + 44, RMD_SYSGBL | RMD_ZERO, CONFIG_FLAGS, RESERVED + 44, "ZERO alone");
    rule(RESERVED + 44, RMD_NOGLOBAL | RMD_PAGE_TABLES, CONFIG_FLAGS, RESERVED + 44,
         "page tables without a section");
    rule(RESERVED + 48, 1, CONFIG_VALUE, RESERVED + 48, "group of a system-wide section");
    rule(RESERVED + 64 + 48, 040000, CONFIG_VALUE, RESERVED + 64 + 48, "group too large");
    rule(RESERVED + 52, 64, CONFIG_VALUE, RESERVED + 52, "RAD too large");
    rule(RESERVED + 56, 0, CONFIG_VALUE, RESERVED + 56, "no size");
    rule(RESERVED + 60, 1, CONFIG_VALUE, RESERVED + 56, "enormous size");
    memcpy(b, golden, TOTAL);
    memcpy(b + RESERVED + 64, b + RESERVED, 64);
    seal(b, TOTAL);
    is(parse_copy(b, TOTAL).error, CONFIG_DUPLICATE, "the same entry twice");
}

static void test_full_tables(void)
{
    static unsigned char b[CONFIG_MAX_BYTES];
    size_t n = 48;

    for (uint32_t count = CONFIG_MAX_RESERVED; count <= CONFIG_MAX_RESERVED + 1; count++) {
        memcpy(b, golden, 32);
        n = 48 + 64 * count;
        put32(b + 16, (uint32_t)n);
        put32(b + 24, 1);
        put32(b + 32, 2);
        put32(b + 36, 48);
        put32(b + 40, 64 * count);
        put32(b + 44, count);
        for (uint32_t i = 0; i < count; i++) {
            unsigned char *e = b + 48 + 64 * i;

            memcpy(e, golden + RESERVED, 64);
            snprintf((char *)e, 44, "ENTRY%u", i);
            memset(e + strlen((char *)e), 0, 44 - strlen((char *)e));
        }
        seal(b, n);
        is(parse_copy(b, n).error, count > CONFIG_MAX_RESERVED ? CONFIG_TOO_MANY : CONFIG_OK,
           "%u reservations", count);
    }
    memcpy(b, golden, 32);
    put32(b + 16, 32);
    put32(b + 24, 0);
    seal(b, 32);
    is(parse_copy(b, 32).error, CONFIG_OK, "a blob without sections is good");
}

static unsigned complaints;
static enum sysparam_status last_complaint;

static void complain(const struct config_param *p, enum sysparam_status why)
{
    (void)p;
    complaints++;
    last_complaint = why;
}

static void test_params(void)
{
    is(sysparam(SYSPARAM_PAGED_LAL_SIZE), 512, "a parameter has its default");
    is(sysparam_find("RSVD_EXEC_1"), SYSPARAM_PAGED_LAL_SIZE, "the older name is found");
    ok(!strcmp(sysparam_older_name(SYSPARAM_PAGED_LAL_SIZE), "RSVD_EXEC_1"), "and told");
    ok(!strcmp(sysparam_older_name(SYSPARAM_PAGEDYN), ""), "most have none");
    is(sysparam_find("PAGED"), SYSPARAM_COUNT, "the beginning of a name is not found");
    ok(!sysparam_info(SYSPARAM_COUNT), "there is no parameter after the last");
    for (unsigned i = 0; i < SYSPARAM_COUNT; i++) {
        const struct sysparam_info *p = sysparam_info(i);

        ok(p->min <= p->dflt && p->dflt <= p->max && strlen(p->name) <= CONFIG_PARAM_NAME_MAX,
           "%s: default within its limits", p->name);
    }
    is(parse_copy(golden, TOTAL).error, CONFIG_OK, "golden again");
    is(sysparam_boot_apply(&config, complain), 0, "its parameter is taken over");
    is(sysparam(SYSPARAM_PAGED_LAL_SIZE), 256, "and in force");
    config.params[0].value = 2561;
    is(sysparam_boot_apply(&config, complain), 1, "a value out of range is refused");
    is(last_complaint, SYSPARAM_RANGE, "for that reason");
    is(sysparam(SYSPARAM_PAGED_LAL_SIZE), 256, "and changes nothing");
    strcpy(config.params[0].name, "NOSUCH");
    is(sysparam_boot_apply(&config, complain), 1, "an unknown name is refused");
    is(last_complaint, SYSPARAM_UNKNOWN, "for that reason");
    is(complaints, 2, "each was named once");
    is(sysparam_set("RSVD_EXEC_1", 0, true), SYSPARAM_OK,
       "a dynamic one changes in the running system");
    is(sysparam_set("PAGEDYN", 1 << 20, true), SYSPARAM_FIXED, "another does not");
}

int main(void)
{
    test_golden();
    test_parts();
    test_flips(golden, TOTAL, "version 1");
    test_flips(golden_parts, PARTS_TOTAL, "version 2");
    test_sealed_flips(golden, TOTAL, PARAMS, "version 1");
    test_sealed_flips(golden_parts, PARTS_TOTAL, PARTS_FIRST, "version 2");
    test_cuts(golden, TOTAL, "version 1");
    test_cuts(golden_parts, PARTS_TOTAL, "version 2");
    test_noise();
    test_rules();
    test_part_rules();
    test_full_tables();
    test_params();
    return tap_done();
}
