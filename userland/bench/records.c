/*
 * A writer of records whose objects live in a collected heap, for the model of a hashed page table
 * (docs/translation-buffer.md): what a program in a language with a collector does, after the VHPT
 * paper's Java application, of which no more is known than that it writes 30,000 records.
 *
 *     records COUNT MIB FILE
 *
 * A record has strings, a list of entries, and two references to earlier ones, whose entries
 * go into its sum. A hash table finds records by key. Each is written as a line of text, built from
 * strings that are garbage afterwards. Objects are allocated one after the other in one half of MIB
 * megabytes; when it is full, what can be reached is copied to the other half (Cheney's algorithm).
 */
#include "work.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRIES 6
#define TEXT    40
#define BUFFER  8192

/* An object: `refs` references, then `bytes` bytes. `moved` is where it is now, while a collection
 * copies. */
struct object {
    struct object *moved;
    uint32_t refs, bytes;
    struct object *ref[];
};

static char *half[2], *next, *limit;
static uint64_t half_bytes;
static unsigned in_use; /* the half that objects are allocated in */
static uint64_t collections;

/* The roots: the table of records, and the objects that are being made. */
static struct object **table;
static uint64_t slots;
static struct object *made[4];

static uint64_t size_of(const struct object *o)
{
    return (sizeof(*o) + o->refs * sizeof(o->ref[0]) + o->bytes + 7) & ~7ul;
}

static char *bytes_of(struct object *o) { return (char *)&o->ref[o->refs]; }

static struct object *copied(struct object *o)
{
    if (!o)
        return NULL;
    if (!o->moved) {
        uint64_t n = size_of(o);

        bench_need(next + n <= limit);
        memcpy(next, o, n);
        o->moved = (struct object *)next;
        next += n;
    }
    return o->moved;
}

static void collect(void)
{
    char *scan;

    in_use ^= 1;
    collections++;
    scan = next = half[in_use];
    limit = next + half_bytes;
    for (uint64_t i = 0; i < slots; i++)
        table[i] = copied(table[i]);
    for (unsigned i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        made[i] = copied(made[i]);
    while (scan < next) {
        struct object *o = (struct object *)scan;

        for (uint32_t i = 0; i < o->refs; i++)
            o->ref[i] = copied(o->ref[i]);
        scan += size_of(o);
    }
}

/* A new object; others may move. */
static struct object *make(uint32_t refs, uint32_t bytes)
{
    struct object wanted = {.refs = refs, .bytes = bytes}, *o;
    uint64_t n = size_of(&wanted);

    if (next + n > limit)
        collect();
    bench_need(next + n <= limit);
    o = (struct object *)next;
    next += n;
    memset(o, 0, n);
    o->refs = refs;
    o->bytes = bytes;
    return o;
}

static struct object **slot_of(uint64_t key)
{
    uint64_t at = key * 0x9E3779B97F4A7C15ul >> 20 & (slots - 1);

    while (table[at] && *(uint64_t *)bytes_of(table[at]) != key)
        at = (at + 1) & (slots - 1);
    return &table[at];
}

/* A string that says what the number is, built from shorter ones, which are garbage then. */
static struct object *text(const char *what, uint64_t number)
{
    struct object *s;

    made[3] = make(0, TEXT);
    snprintf(bytes_of(made[3]), TEXT, "%lu", (unsigned long)number);
    s = make(0, TEXT);
    snprintf(bytes_of(s), TEXT, "%s %.24s", what, bytes_of(made[3]));
    return s;
}

/* made[0] is the record: two strings, the list of entries, two earlier records; key and sum. */
static void make_record(uint64_t key, uint64_t *seed)
{
    uint64_t earlier[2], sum = 0;

    made[0] = make(5, 2 * sizeof(uint64_t));
    *(uint64_t *)bytes_of(made[0]) = key;
    made[1] = text("name", work_next(seed, 1000000));
    made[0]->ref[0] = made[1];
    made[1] = text("place", work_next(seed, 10000));
    made[0]->ref[1] = made[1];
    for (unsigned i = 0; i < ENTRIES; i++) {
        made[1] = text("entry", i);
        made[2] = make(2, sizeof(uint64_t));
        made[2]->ref[0] = made[1];
        made[2]->ref[1] = made[0]->ref[2];
        *(uint64_t *)bytes_of(made[2]) = work_next(seed, 1000);
        made[0]->ref[2] = made[2];
    }
    for (unsigned i = 0; i < 2 && key > 0; i++) {
        earlier[i] = work_next(seed, key);
        made[0]->ref[3 + i] = *slot_of(earlier[i]);
        bench_need(made[0]->ref[3 + i] != NULL);
        for (struct object *e = made[0]->ref[3 + i]->ref[2]; e; e = e->ref[1])
            sum += *(uint64_t *)bytes_of(e);
    }
    ((uint64_t *)bytes_of(made[0]))[1] = sum;
    *slot_of(key) = made[0];
}

static char buffer[BUFFER];
static unsigned buffered;

static void flush(int fd)
{
    bench_need(write(fd, buffer, buffered) == (ssize_t)buffered);
    buffered = 0;
}

static void write_record(int fd)
{
    struct object *line = make(0, 512), *r = made[0];
    const uint64_t *numbers = (uint64_t *)bytes_of(r);
    char *to = bytes_of(line);
    int n = snprintf(to, 512, "%lu;%s;%s;%lu", (unsigned long)numbers[0], bytes_of(r->ref[0]),
                     bytes_of(r->ref[1]), (unsigned long)numbers[1]);

    for (struct object *e = r->ref[2]; e; e = e->ref[1])
        n += snprintf(to + n, 512 - (size_t)n, ";%s=%lu", bytes_of(e->ref[0]),
                      (unsigned long)*(uint64_t *)bytes_of(e));
    to[n++] = '\n';
    if (buffered + (unsigned)n > BUFFER)
        flush(fd);
    memcpy(buffer + buffered, to, (size_t)n);
    buffered += (unsigned)n;
}

int main(int argc, char **argv)
{
    uint64_t count = argc == 4 ? strtoul(argv[1], NULL, 10) : 0, seed = 1, sum = 0, begin;
    uint64_t mib = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    int fd;

    bench_need(count > 0 && mib > 0 && mib <= 4096);
    for (slots = 2; slots < 2 * count; slots *= 2)
        ;
    half_bytes = mib << 19;
    half[0] = mmap(NULL, 2 * half_bytes + slots * sizeof(*table), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bench_need(half[0] != MAP_FAILED);
    half[1] = half[0] + half_bytes;
    table = (struct object **)(half[1] + half_bytes);
    next = half[0];
    limit = next + half_bytes;
    fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bench_need(fd >= 0);
    begin = work_clock();
    for (uint64_t key = 0; key < count; key++) {
        make_record(key, &seed);
        write_record(fd);
        sum += ((uint64_t *)bytes_of(made[0]))[1];
    }
    flush(fd);
    bench_need(collections > 0);
    work_report(begin, count, sum);
    return close(fd);
}
