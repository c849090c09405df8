// SOURCES: kernel/boot_disk.c kernel/block/gpt.c sysman/copies.c sysman/config.c
// SOURCES: userland/bin/sysman/encode.c
/*
 * The configuration on the system disk as the boot finds it: which copy counts, power cuts at any
 * place of a write, numbers that wrap around, partitions and copies of any size, disks that fail,
 * and random damage. The buffer has its exact size, so that AddressSanitizer sees what is read
 * beyond it.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/boot_disk.h"
#include "userland/bin/sysman/encode.h"

/* As the kernel numbers them: tap.h brings the numbers of this machine. */
enum { IO = -EIO, LATE = -ETIMEDOUT };

#include "userland/lib/include/tap.h"

static char said[4096]; /* formats of what was printed */

void printk(const char *fmt, ...) { strncat(said, fmt, sizeof(said) - strlen(said) - 1); }

#define SECTORS 2048u
#define FIRST   64u  /* of the partition */
#define PART    320u /* sectors: two of the longest copies */
#define TABLE   2u
#define ENTRIES 128u
#define USABLE  34u

static unsigned char image[SECTORS * 512], table[ENTRIES * 128];
static uint32_t sector_bytes = 512;
static uint64_t sectors; /* that the disk says to have */
static unsigned char *buf;
static long fail_at;    /* the read that fails; 0: none does */
static long fail_more;  /* how many after it fail, too */
static uint64_t unread; /* reads from this sector on fail, too */
static int fail_with;
static struct config found;

static int read_image(void *arg, uint64_t sector, void *to, uint32_t nbytes)
{
    (void)arg;
    if (fail_at && --fail_at == 0) {
        fail_at = fail_more > 0;
        fail_more -= fail_at;
        return fail_with;
    }
    if (unread && sector == unread)
        return IO;
    if (nbytes > COPY_BYTES || nbytes % sector_bytes || sector > sectors ||
        nbytes / sector_bytes > sectors - sector)
        bail_out("a read of %u bytes at sector %lu", nbytes, (unsigned long)sector);
    if ((sector + nbytes / sector_bytes) * sector_bytes > sizeof(image))
        return IO;
    memcpy(to, image + sector * sector_bytes, nbytes);
    return 0;
}

static enum boot_disk look(void)
{
    struct gpt_disk d = {
        .sectors = sectors, .sector_bytes = sector_bytes, .read = read_image, .buf = buf};

    said[0] = 0;
    return boot_disk_config(&d, "vda", &found);
}

static void put(unsigned char *p, uint64_t v, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        p[k] = (unsigned char)(v >> 8 * k);
}

static void entry(unsigned k, const char *type, uint64_t first, uint64_t n)
{
    unsigned char *e = table + k * 128;

    memcpy(e, type, 16);
    put(e + 16, k + 1, 8);
    put(e + 32, first, 8);
    put(e + 40, first + n - 1, 8);
}

static const char config_type[16] = "\x60\x18\x1B\x60\x9C\xD1\x65\x47\x81\xF5\xE1\x60\x94\x90\x5E"
                                    "8";
static const char files_type[16] = "\xAF\x3D\xC6\x0F\x83\x84\x72\x47\x8E\x79\x3D\x69\xD8\x47\x7D"
                                   "\xE4";

static void header(uint64_t lba, uint64_t at)
{
    unsigned char *h = image + lba * sector_bytes;

    memset(h, 0, sector_bytes);
    memcpy(h, "EFI PART", 8);
    put(h + 8, 0x10000, 4);
    put(h + 12, 92, 4);
    put(h + 24, lba, 8);
    put(h + 40, USABLE, 8);
    put(h + 48, sectors - USABLE - 1, 8);
    put(h + 72, at, 8);
    put(h + 80, ENTRIES, 4);
    put(h + 84, 128, 4);
    put(h + 88, gpt_crc32(0, table, sizeof(table)), 4);
    put(h + 16, gpt_crc32(0, h, 92), 4);
    memcpy(image + at * sector_bytes, table, sizeof(table));
}

/* A disk whose configuration partition has n sectors. */
static void make(uint64_t n)
{
    memset(image, 0, sizeof(image));
    memset(table, 0, sizeof(table));
    sector_bytes = 512;
    sectors = SECTORS;
    entry(0, files_type, FIRST + PART, 8);
    if (n)
        entry(1, config_type, FIRST, n);
    header(1, TABLE);
    header(SECTORS - 1, SECTORS - 33);
}

/* A configuration with `value` in a parameter, and more of them the longer it is to be. */
static uint32_t blob_of(int64_t value, uint32_t entries, unsigned char *blob)
{
    static struct config c;
    enum config_error why;

    memset(&c, 0, sizeof(c));
    c.nparams = 1;
    strcpy(c.params[0].name, "GBLSECTIONS");
    c.params[0].value = value;
    for (c.registry.count = 0; c.registry.count < entries; c.registry.count++) {
        struct registry_entry *e = &c.registry.entries[c.registry.count];

        snprintf(e->name, sizeof(e->name), "E%u", c.registry.count);
        e->flags = RMD_SYSGBL;
        e->rad = CONFIG_RAD_NONE;
        e->megabytes = 1;
    }
    return config_encode(&c, blob, &why);
}

static unsigned char made[COPY_BYTES];

/* Make a copy. Returns its length. */
static uint32_t copy_of(uint64_t sequence, int64_t value, uint32_t entries)
{
    struct copy h = {.sequence = sequence};

    memset(made, 0, sizeof(made));
    h.nbytes = blob_of(value, entries, made + COPY_HEADER);
    copy_seal(made, &h);
    return COPY_HEADER + h.nbytes;
}

static unsigned char *place_of(unsigned n)
{
    return image + (size_t)FIRST * sector_bytes + (size_t)n * copy_room((uint64_t)PART * 512);
}

static void write_copy(unsigned n, uint64_t sequence, int64_t value, uint32_t entries)
{
    uint32_t nbytes = copy_of(sequence, value, entries);

    memcpy(place_of(n), made, nbytes);
}

static int64_t value_found(void) { return found.nparams == 1 ? found.params[0].value : -1; }

/* ---- which copy counts ---- */

static void test_choice(void)
{
    make(PART);
    ok(look() == BOOT_DISK_DAMAGED && found.nparams == 0, "no copy: the defaults");
    write_copy(0, 1, 11, 2);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 11, "one copy");
    write_copy(1, 2, 12, 2);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 12, "the second is newer");
    write_copy(0, 3, 13, 1);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 13, "the first is newer");
    place_of(0)[100] ^= 1;
    ok(look() == BOOT_DISK_CONFIG && value_found() == 12, "the newer is damaged");
    place_of(1)[70] ^= 1;
    ok(look() == BOOT_DISK_DAMAGED && found.nparams == 0 && found.registry.count == 0,
       "both are damaged");
    write_copy(0, UINT64_MAX, 14, 0);
    write_copy(1, 0, 15, 0);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 15, "numbers wrap around");
    write_copy(0, 0, 16, 0);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 16, "the first of two with one number");
    write_copy(0, 4, 17, CONFIG_MAX_RESERVED);
    ok(look() == BOOT_DISK_CONFIG && found.registry.count == CONFIG_MAX_RESERVED,
       "the longest configuration");
}

static void test_refused_blob(void)
{
    struct copy h = {.sequence = 9, .nbytes = 10};

    make(PART);
    write_copy(0, 8, 21, 0);
    memset(made, 0, sizeof(made));
    copy_seal(made, &h);
    memcpy(place_of(1), made, COPY_HEADER + h.nbytes);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 21,
       "a whole copy of what is no configuration does not count");
}

/* Every prefix of a write, in sectors, and random subsets of its sectors: old or new. */
static void test_power_cuts(void)
{
    static unsigned char old[COPY_BYTES];
    unsigned olds = 0, news = 0, wrong = 0;
    uint32_t nsectors;

    make(PART);
    write_copy(0, 6, 30, 20);
    write_copy(1, 7, 31, 3);
    memcpy(old, place_of(0), sizeof(old));
    nsectors = (copy_of(8, 32, 40) + 511) / 512;
    srand(1);
    for (unsigned k = 0; k < 400; k++) {
        memcpy(place_of(0), old, sizeof(old));
        for (uint32_t s = 0; s < nsectors; s++)
            if (k <= nsectors ? s < k : rand() & 1)
                memcpy(place_of(0) + s * 512, made + s * 512, 512);
        if (look() != BOOT_DISK_CONFIG)
            wrong++;
        else if (value_found() == 31)
            olds++;
        else if (value_found() == 32)
            news++;
        else
            wrong++;
    }
    ok(wrong == 0 && olds > 0 && news > 0, "power cuts: old %u, new %u, wrong %u", olds, news,
       wrong);
}

/* ---- sizes ---- */

static void test_sizes(void)
{
    struct copy h;

    make(0);
    ok(look() == BOOT_DISK_OTHER, "no such partition");
    make(8);
    ok(look() == BOOT_DISK_DAMAGED, "a partition without room for two copies");
    make(PART);
    write_copy(0, 1, 41, 0);
    put(place_of(0) + 12, UINT32_MAX, 4);
    ok(look() == BOOT_DISK_DAMAGED, "a length beyond everything");
    put(place_of(0) + 12, COPY_BYTES - COPY_HEADER + 1, 4);
    ok(look() == BOOT_DISK_DAMAGED, "a length one beyond the room");
    put(place_of(0) + 12, COPY_BYTES - COPY_HEADER, 4);
    ok(look() == BOOT_DISK_DAMAGED, "all the room, with a wrong checksum");
    make(PART);
    write_copy(0, 1, 42, 0);
    sectors = UINT64_MAX;
    ok(look() == BOOT_DISK_OTHER, "a disk of more bytes than 64 bits count");
    sectors = 2;
    ok(look() == BOOT_DISK_OTHER, "a disk of two sectors");
    ok(copy_room(0) == 0 && copy_room(2 * COPY_UNIT - 1) == 0 &&
           copy_room(2 * COPY_UNIT) == COPY_UNIT && copy_room(UINT64_MAX) == COPY_BYTES,
       "room of copies");
    copy_of(1, 1, 0);
    ok(copy_header(made, COPY_HEADER + 88, &h) && !copy_header(made, COPY_HEADER + 87, &h) &&
           !copy_header(made, COPY_HEADER - 1, &h) && !copy_header(made, 0, &h),
       "a header in little room");
    for (unsigned k = 28; k < COPY_HEADER; k++) {
        made[k] = 1;
        if (copy_header(made, COPY_BYTES, &h))
            bail_out("byte %u of the header is not looked at", k);
        made[k] = 0;
    }
}

static void test_large_sectors(void)
{
    make(PART);
    memset(image, 0, sizeof(image));
    memset(table, 0, sizeof(table));
    sector_bytes = 4096;
    sectors = sizeof(image) / sector_bytes;
    entry(0, config_type, FIRST, PART / 8);
    header(1, TABLE);
    header(sectors - 1, sectors - 5);
    write_copy(0, 1, 45, 3);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 45, "sectors of 4 KiB");
    write_copy(1, 2, 46, CONFIG_MAX_RESERVED);
    ok(look() == BOOT_DISK_CONFIG && found.registry.count == CONFIG_MAX_RESERVED &&
           value_found() == 46,
       "the second copy there");
    image[sector_bytes + 60] ^= 1;
    ok(look() == BOOT_DISK_CONFIG, "the second table there");
}

static void test_overlap(void)
{
    make(PART);
    write_copy(0, 1, 51, 0);
    entry(2, files_type, FIRST + 1, 1);
    header(1, TABLE);
    header(SECTORS - 1, SECTORS - 33);
    ok(look() == BOOT_DISK_OTHER, "partitions that overlap");
    make(PART);
    write_copy(0, 1, 52, 0);
    image[512 + 60] ^= 1;
    ok(look() == BOOT_DISK_CONFIG && value_found() == 52, "the second table");
    image[(SECTORS - 1) * 512 + 60] ^= 1;
    ok(look() == BOOT_DISK_OTHER, "both tables are damaged");
}

/* ---- errors, damage ---- */

static void test_errors(void)
{
    unsigned outcomes[4] = {0}, wrong = 0;

    for (int k = 0; k < 2; k++) {
        fail_with = k ? LATE : IO;
        for (long n = 1;; n++) {
            enum boot_disk got;

            make(PART);
            write_copy(0, 1, 61, 5);
            write_copy(1, 2, 62, 5);
            fail_at = n;
            got = look();
            outcomes[got]++;
            wrong += got == BOOT_DISK_CONFIG ? value_found() != 61 && value_found() != 62
                                             : found.nparams != 0;
            /* Once is not enough, but for the tables, of which there are two. */
            wrong += k == 0 && (got != BOOT_DISK_CONFIG || value_found() != 62);
            if (fail_at)
                break; /* there were fewer reads */
        }
        fail_at = 0;
    }
    ok(wrong == 0 && outcomes[BOOT_DISK_CONFIG] > 2, "each read fails in turn");
}

static uint64_t sector_of(unsigned n) { return (uint64_t)(place_of(n) - image) / sector_bytes; }

static void test_named(void)
{
    make(PART);
    write_copy(0, 1, 63, 5);
    ok(look() == BOOT_DISK_CONFIG && !strstr(said, "damaged") && !strstr(said, "cannot"),
       "a copy that never was is not named");
    write_copy(1, 2, 64, 5);
    unread = sector_of(1);
    ok(look() == BOOT_DISK_CONFIG && value_found() == 63 && strstr(said, "copy %u") &&
           strstr(said, "cannot be read"),
       "an unreadable copy, which may be the newer one, is named");
    unread = 0;
    place_of(1)[0] ^= 1;
    ok(look() == BOOT_DISK_CONFIG && value_found() == 63 && strstr(said, "damaged header"),
       "a copy with a damaged header is named");
    fail_with = IO;
    fail_at = fail_more = 1;
    ok(look() == BOOT_DISK_UNREAD && found.nparams == 0,
       "no table can be read: no other disk stands in for this one");
    fail_at = 1;
    image[(SECTORS - 1) * 512 + 60] ^= 1;
    ok(look() == BOOT_DISK_UNREAD, "one table cannot be read, the other is damaged");
    fail_with = LATE;
    fail_at = fail_more = 1;
    ok(look() == BOOT_DISK_UNREAD, "the disk is silent");
}

static void test_damage(void)
{
    unsigned wrong = 0, config = 0;

    srand(2);
    for (unsigned k = 0; k < 3000; k++) {
        static const uint32_t places[] = {512, 1024, 1024 + 128, FIRST * 512, FIRST * 512 + 512};
        enum boot_disk got;

        make(PART);
        write_copy(0, 1, 71, 3);
        write_copy(1, 2, 72, 3);
        for (unsigned j = rand() % 4u; j < 4; j++)
            image[places[rand() % 5] + (unsigned)rand() % 160] = (unsigned char)rand();
        if (rand() & 1) { /* with right checksums of the table */
            memcpy(table, image + 1024, sizeof(table));
            header(1, TABLE);
        }
        got = look();
        config += got == BOOT_DISK_CONFIG;
        wrong += got == BOOT_DISK_CONFIG && value_found() != 71 && value_found() != 72;
    }
    ok(wrong == 0 && config > 0, "random damage: no configuration that was never written");
}

int main(void)
{
    buf = malloc(COPY_BYTES);
    test_choice();
    test_refused_blob();
    test_power_cuts();
    test_sizes();
    test_large_sectors();
    test_overlap();
    test_errors();
    test_named();
    test_damage();
    free(buf);
    return tap_done();
}
