/*
 * A read-only query of a database whose blocks are all in memory, for the model of a hashed
 * page table (docs/translation-buffer.md), after the VHPT paper's: customers, their orders, and
 * the items of the orders, found by indices.
 *
 *     queries CUSTOMERS ORDERS ITEMS QUERIES [SECTION shared|private SERVERS]
 *
 * ORDERS are those of each customer, and ITEMS those of each order.
 *
 * With SECTION the cache lies in that memory-resident section, mapped with shared or private page
 * tables, and SERVERS processes ask as many questions each.
 *
 * Each table, and each level of its index, is a range of blocks of 8 KiB. A block lies in any
 * buffer of the cache, and is found by a hash table of buffer headers, as in a database server. A
 * row of the index has a key and its row's number; a search goes from the root block downwards.
 * Each query reads one customer at random, all orders of his, and all items of those.
 */
#include "work.h"

#include <descrip.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vadef.h>

#define BLOCK      8192ul
#define LEVELS_MAX 4

struct header {
    uint64_t block; /* which one the buffer holds */
    struct header *next;
    char *buffer;
    uint64_t uses;
};

/* A row of an index: in a leaf the key and the row; above, the first key of a block, and the
 * block. */
struct key {
    uint64_t key, to;
};
#define KEYS (BLOCK / sizeof(struct key))

struct row {
    uint64_t id, parent, amount;
    char text[104];
};
#define ROWS (BLOCK / sizeof(struct row))

/* Rows in the order of `parent`; the index has that as its key. */
struct table {
    uint64_t rows, first; /* first: block of the rows */
    unsigned levels;
    uint64_t level[LEVELS_MAX], blocks[LEVELS_MAX]; /* [0]: the leaves */
    uint64_t keys[LEVELS_MAX];
};

static struct header *headers, **chains;
static uint64_t nblocks, nchains, lookups;

#define PIECE        (8ul << 20) /* what a page of PTEs maps */
#define SECTION_MOST (1ul << 30)
static uint64_t section_bytes;

static char *block_at(uint64_t block)
{
    struct header *h = chains[block * 0x9E3779B97F4A7C15ul >> 32 & (nchains - 1)];

    while (h->block != block)
        h = h->next;
    h->uses++;
    lookups++;
    return h->buffer;
}

static struct row *row_at(const struct table *t, uint64_t n)
{
    return (struct row *)block_at(t->first + n / ROWS) + n % ROWS;
}

static struct key *key_at(const struct table *t, unsigned level, uint64_t n)
{
    return (struct key *)block_at(t->level[level] + n / KEYS) + n % KEYS;
}

/* Give the table its blocks. */
static void lay_out(struct table *t, uint64_t rows)
{
    uint64_t n = rows;

    t->rows = rows;
    t->first = nblocks;
    nblocks += (rows + ROWS - 1) / ROWS;
    do {
        bench_need(t->levels < LEVELS_MAX);
        t->keys[t->levels] = n;
        t->level[t->levels] = nblocks;
        n = (n + KEYS - 1) / KEYS;
        t->blocks[t->levels++] = n;
        nblocks += n;
    } while (n > 1);
}

/* The whole section, in its own region. */
static void *map_section(const char *name, bool shared)
{
    struct dsc64$descriptor_s d = {1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                   -1, strlen(name),    (char *)name};
    struct _generic_64 region;
    uint64_t length;
    void *va;
    int status;

    status = sys$create_region_64(SECTION_MOST, VA$C_REGION_UCREATE_UOWN,
                                  shared ? VA$M_SHARED_PTS : 0, &region, &va, &length);
    bench_need(status & 1);
    status = sys$crmpsc_gdzro_64(&d, 0, 0, section_bytes, &region, 0, PSL$C_USER,
                                 SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length);
    bench_need(status == SS$_CREATED || status == SS$_CREATED_SHPT);
    return va;
}

/* All blocks into buffers in an order of their own. section: NULL, or where they shall be. */
static void make_cache(const char *section, bool shared)
{
    char *buffers;
    uint64_t seed = 7, *order, bytes;

    for (nchains = 2; nchains < nblocks; nchains *= 2)
        ;
    bytes = nblocks * (BLOCK + sizeof(*headers) + sizeof(*order)) + nchains * sizeof(*chains);
    if (section) {
        section_bytes = (bytes + PIECE - 1) & ~(PIECE - 1);
        bench_need(section_bytes <= SECTION_MOST);
        buffers = map_section(section, shared);
    } else {
        buffers = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        bench_need(buffers != MAP_FAILED);
    }
    headers = (struct header *)(buffers + nblocks * BLOCK);
    order = (uint64_t *)(headers + nblocks);
    chains = (struct header **)(order + nblocks);
    for (uint64_t i = 0; i < nblocks; i++)
        order[i] = i;
    for (uint64_t i = nblocks - 1; i > 0; i--) {
        uint64_t j = work_next(&seed, i + 1), other = order[j];

        order[j] = order[i];
        order[i] = other;
    }
    for (uint64_t i = 0; i < nblocks; i++) {
        struct header *h = &headers[i], **chain;

        h->block = order[i];
        h->buffer = buffers + i * BLOCK;
        chain = &chains[h->block * 0x9E3779B97F4A7C15ul >> 32 & (nchains - 1)];
        h->next = *chain;
        *chain = h;
    }
}

static void fill(const struct table *t, uint64_t per_parent, uint64_t seed)
{
    for (uint64_t n = 0; n < t->rows; n++) {
        struct row *r = row_at(t, n);

        *r = (struct row){.id = n, .parent = n / per_parent, .amount = work_next(&seed, 1000)};
        memset(r->text, (int)('a' + n % 26), sizeof(r->text) - 1);
        *key_at(t, 0, n) = (struct key){n / per_parent, n};
    }
    for (unsigned level = 1; level < t->levels; level++)
        for (uint64_t n = 0; n < t->keys[level]; n++)
            *key_at(t, level, n) = (struct key){key_at(t, level - 1, n * KEYS)->key, n};
}

/* The first row whose parent is the key, by the index; t->rows: there is none. */
static uint64_t find(const struct table *t, uint64_t key)
{
    uint64_t block = 0;

    for (unsigned level = t->levels; level-- > 0;) {
        const struct key *k = (const struct key *)block_at(t->level[level] + block);
        uint64_t left = t->keys[level] - block * KEYS, low = 0, high = left < KEYS ? left : KEYS;

        while (low < high) { /* the first that is not below the key */
            uint64_t middle = (low + high) / 2;

            if (k[middle].key < key)
                low = middle + 1;
            else
                high = middle;
        }
        if (level == 0) {
            uint64_t n = block * KEYS + low;

            return n < t->rows && key_at(t, 0, n)->key == key ? key_at(t, 0, n)->to : t->rows;
        }
        /* The key may begin in the block before. */
        block = k[low > 0 ? low - 1 : 0].to;
    }
    return t->rows;
}

static uint64_t query(const struct table *table, uint64_t customer)
{
    uint64_t at = find(&table[0], customer), sum;

    bench_need(at < table[0].rows);
    sum = row_at(&table[0], at)->amount;
    for (uint64_t o = find(&table[1], customer); o < table[1].rows; o++) {
        const struct row *order = row_at(&table[1], o);

        if (order->parent != customer)
            break;
        sum += order->amount;
        for (uint64_t i = find(&table[2], order->id); i < table[2].rows; i++) {
            const struct row *item = row_at(&table[2], i);

            if (item->parent != order->id)
                break;
            sum += item->amount + (uint64_t)item->text[0];
        }
    }
    return sum;
}

static uint64_t ask(const struct table *table, uint64_t customers, uint64_t queries, uint64_t seed)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < queries; i++)
        sum += query(table, work_next(&seed, customers));
    return sum;
}

/* Processes that ask at once, each its own questions. */
static void serve(const struct table *table, uint64_t customers, uint64_t queries, uint64_t servers)
{
    int status;

    for (uint64_t n = 0; n < servers; n++) {
        pid_t pid = fork();

        bench_need(pid >= 0);
        if (pid == 0)
            _exit(ask(table, customers, queries, n + 1) == 0);
    }
    for (uint64_t n = 0; n < servers; n++)
        bench_need(wait(&status) > 0 && status == 0);
    lookups = servers * queries;
}

int main(int argc, char **argv)
{
    static struct table table[3];
    uint64_t number[4] = {0}, servers = 0, sum = 0, begin;

    bench_need(argc == 5 || argc == 8);
    for (int i = 0; i < 4; i++) {
        number[i] = strtoul(argv[1 + i], NULL, 10);
        bench_need(number[i] > 0 && number[i] <= 10000000);
    }
    if (argc == 8) {
        servers = strtoul(argv[7], NULL, 10);
        bench_need(servers > 0 && servers <= 64);
        bench_need(!strcmp(argv[6], "shared") || !strcmp(argv[6], "private"));
    }
    lay_out(&table[0], number[0]);
    lay_out(&table[1], number[0] * number[1]);
    lay_out(&table[2], number[0] * number[1] * number[2]);
    make_cache(servers ? argv[5] : NULL, servers && !strcmp(argv[6], "shared"));
    fill(&table[0], 1, 2);
    fill(&table[1], number[1], 3);
    fill(&table[2], number[2], 4);
    lookups = 0;
    begin = work_clock();
    if (servers)
        serve(table, number[0], number[3], servers);
    else
        sum = ask(table, number[0], number[3], 1);
    work_report(begin, lookups, sum);
    return 0;
}
