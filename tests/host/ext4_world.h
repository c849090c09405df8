/*
 * What kernel/fs/ext4 stands on, for host tests: memory, which can fail, and a volume in memory,
 * which can remember what is written to it and when that is flushed.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/block/block.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/library/checksums.h"
#include "kernel/fs/ext4/library/memory.h"
#include "kernel/fs/ext4/lines.h"
#include "mm/pool/pool_charged.h"

/* As the kernel numbers them: tap.h brings the numbers of this machine. */
enum {
    NO_ENTRY = -ENOENT,
    IO = -EIO,
    NO_MEMORY = -ENOMEM,
    NO_SPACE = -ENOSPC,
    UNCLEAN = -EUCLEAN,
    NOT_EMPTY = -ENOTEMPTY,
    TOO_LONG = -ENAMETOOLONG,
};

#include "userland/lib/include/tap.h"

static uint8_t *image, *pristine;
static size_t image_bytes;
static uint64_t seed;
static unsigned allocated, fail_at, reads;

static __attribute__((unused)) uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

struct account accounts[ACCOUNTS_MAX];

uint64_t clock_wall_ns(void) { return UINT64_C(1700000000000000000) + seed % 1000000000; }

/* ---- memory ---- */

static void *take(size_t n)
{
    void *p = fail_at && --fail_at == 0 ? NULL : malloc(n ? n : 1);

    allocated += p != NULL;
    if (p)
        memset(p, 0xA5, n);
    return p;
}

static void give(void *p)
{
    allocated -= p != NULL;
    free(p);
}

void *ext4_library_alloc(size_t n) { return n > (8u << 20) ? NULL : take(n); }
void ext4_library_free(void *p) { give(p); }
char *ext4_library_getenv(const char *name) { return (void)name, NULL; }
char *ext4_library_strcpy(char *to, const char *from) { return strcpy(to, from); }
unsigned long ext4_library_strtoul(const char *s, char **end, int base)
{
    return (void)s, (void)end, (void)base, 0;
}
void *pgd_alloc(size_t n) { return take(n); }
void *pgd_alloc_zeroed(size_t n)
{
    void *p = take(n);

    return p ? memset(p, 0, n) : NULL;
}
void pgd_free(void *p, size_t n)
{
    (void)n;
    give(p);
}

size_t format(char *buf, size_t size, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(buf, size, fmt, ap);
    va_end(ap);
    return (size_t)n;
}

/* ---- the volume ---- */

static struct block_disk disk = {.sector_bytes = 512};
static struct block_volume volume = {.disk = &disk, .name = "image"};

/* What was written, in order: n 0 is a flush. */
struct written {
    uint64_t offset;
    uint32_t n;
    uint8_t *bytes;
};
static struct written *log_of;
static unsigned nlog, log_room;
static bool keep_log;
static unsigned writes,
    fail_write; /* fail_write: the number of the first one that fails; 0: none */

static void log_write(uint64_t offset, const void *bytes, uint32_t n)
{
    if (!keep_log)
        return;
    if (nlog == log_room) {
        log_room = log_room ? 2 * log_room : 1024;
        log_of = realloc(log_of, log_room * sizeof(*log_of));
    }
    log_of[nlog] = (struct written){offset, n, n ? malloc(n) : NULL};
    if (n)
        memcpy(log_of[nlog].bytes, bytes, n);
    nlog++;
}

int block_read(const struct block_volume *v, uint64_t sector, void *buf, uint32_t n)
{
    (void)v;
    if (++reads > 3000000u) {
        printf("Bail out! it does not end\n");
        abort();
    }
    if (sector * 512 > image_bytes || n > image_bytes - sector * 512)
        return IO;
    memcpy(buf, image + sector * 512, n);
    return 0;
}

static bool write_fails(void) { return fail_write && ++writes >= fail_write; }

void ext4_store_write(struct ext4_store *s, uint64_t offset, const void *data, uint32_t n)
{
    if (offset > image_bytes || n > image_bytes - offset) {
        printf("Bail out! written outside\n");
        abort();
    }
    if (write_fails())
        s->err = IO;
    if (s->err)
        return;
    memcpy(image + offset, data, n);
    log_write(offset, data, n);
}

void ext4_store_push(struct ext4_store *s) { (void)s; }

int ext4_store_finish(struct ext4_store *s)
{
    int err = s->err;

    s->err = 0;
    return err;
}

int ext4_store_reserve(struct ext4_store *s) { return (void)s, 0; }
void ext4_store_end(struct ext4_store *s) { (void)s; }

int ext4_store_flush(struct ext4_store *s)
{
    (void)s;
    if (write_fails())
        return IO;
    log_write(0, NULL, 0);
    return 0;
}

static void load(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;

    if (!f || fstat(fileno(f), &st) != 0)
        exit(2);
    image_bytes = (size_t)st.st_size;
    image = malloc(image_bytes);
    pristine = malloc(image_bytes);
    if (fread(pristine, 1, image_bytes, f) != image_bytes)
        exit(2);
    fclose(f);
    memcpy(image, pristine, image_bytes);
    volume.sectors = image_bytes / 512;
    for (unsigned k = 0; k < QUOTA_KINDS; k++)
        accounts[0].count[k].limit = QUOTA_UNLIMITED;
}

static __attribute__((unused)) void save(const char *path)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(image, 1, image_bytes, f) != image_bytes || fclose(f) != 0)
        exit(2);
}

/* Lines of the volume, empty. */
static struct ext4_lines *new_lines(void)
{
    static struct ext4_lines l;
    unsigned at = fail_at;

    memset(&l, 0, sizeof(l));
    fail_at = 0;
    if (ext4_lines_init(&l, &volume) != 0) {
        printf("Bail out! no index of lines\n");
        abort();
    }
    fail_at = at;
    return &l;
}
