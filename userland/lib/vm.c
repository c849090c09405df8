/*
 * Memory in zones. A block is memory of malloc(); each zone has a tree of its blocks by address, so
 * that a wrong address is found out, and all blocks can be freed with their zone. A part of a block
 * cannot be freed.
 */
#define _GNU_SOURCE /* tdestroy */
#include "hold.h"

#include <libdef.h>
#include <libvmdef.h>
#include <rtl/vm.h>
#include <search.h>
#include <ssdef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#undef lib$get_vm
#undef lib$free_vm
#undef lib$get_vm_64
#undef lib$free_vm_64
#undef lib$create_vm_zone
#undef lib$create_vm_zone_64

#define ZONES_MAX     1024
#define PAGELET       512
#define ALIGNMENT_MAX 512
#define VM_FLAGS      0xff /* all LIB$M_VM_ */

/* By default sizes and alignments are those of a quadword, in the forms that end in _64 those of
 * an octaword, at which LIB$INSQHIQ wants its entries. They may be as small as that and half of it.
 */
#define UNIT    8
#define UNIT_64 16

struct block {
    char *at;
    size_t size;
};

struct zone {
    void *blocks; /* a tree of struct block */
    size_t bytes;
    size_t limit, most; /* bytes, by the page limit and by the initial size */
    size_t fixed, block_size, alignment;
    unsigned flags;
};

/* Protects all zones. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct zone zone_0 = {
    .block_size = UNIT, .alignment = UNIT_64, .limit = SIZE_MAX, .most = SIZE_MAX};
static struct zone *zones[ZONES_MAX] = {&zone_0};

static int by_address(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static void free_block(void *block)
{
    free(((struct block *)block)->at);
    free(block);
}

static struct zone *zone_of(uint64_t id) { return id < ZONES_MAX ? zones[id] : NULL; }

static void fill(const struct block *b, unsigned flags, unsigned zeroes, unsigned ones)
{
    if (flags & zeroes)
        memset(b->at, 0, b->size);
    else if (flags & ones)
        memset(b->at, 0xff, b->size);
}

/* The size that a block of so many bytes has; 0: there is none. */
static size_t size_in(const struct zone *z, int64_t bytes)
{
    if (z->fixed)
        return bytes > 0 && (size_t)bytes <= z->fixed ? z->fixed : 0;
    if (bytes <= 0 || bytes > INT64_MAX - (int64_t)z->block_size)
        return 0;
    return ((size_t)bytes + z->block_size - 1) / z->block_size * z->block_size;
}

static int get_locked(struct zone *z, int64_t bytes, void **result)
{
    struct block *b;
    void *memory;
    size_t size;

    if (!z)
        return LIB$_BADBLOADR;
    if (!(size = size_in(z, bytes)))
        return LIB$_BADBLOSIZ;
    if (size > z->limit - z->bytes)
        return LIB$_PAGLIMEXC;
    if (size > z->most - z->bytes)
        return LIB$_INSVIRMEM;
    if (!(b = malloc(sizeof(*b))))
        return LIB$_INSVIRMEM;
    if (posix_memalign(&memory, z->alignment < 8 ? 8 : z->alignment, size) != 0) {
        free(b);
        return LIB$_INSVIRMEM;
    }
    *b = (struct block){memory, size};
    if (!tsearch(b, &z->blocks, by_address)) {
        free_block(b);
        return LIB$_INSVIRMEM;
    }
    z->bytes += size;
    fill(b, z->flags, LIB$M_VM_GET_FILL0, LIB$M_VM_GET_FILL1);
    *result = memory;
    return SS$_NORMAL;
}

static int free_locked(struct zone *z, const int64_t *bytes, char *address)
{
    struct block key = {.at = address}, **found, *b;

    if (!z)
        return LIB$_BADBLOADR;
    if (!(found = tfind(&key, &z->blocks, by_address)))
        return LIB$_BADBLOADR;
    b = *found;
    if (bytes ? size_in(z, *bytes) != b->size : !(z->flags & LIB$M_VM_BOUNDARY_TAGS))
        return LIB$_BADBLOSIZ;
    fill(b, z->flags, LIB$M_VM_FREE_FILL0, LIB$M_VM_FREE_FILL1);
    tdelete(b, &z->blocks, by_address);
    z->bytes -= b->size;
    free_block(b);
    return SS$_NORMAL;
}

int lib$get_vm_64(const __int64 *number_of_bytes, void *base_address, const __int64 *zone_id)
{
    uint64_t id = zone_id ? (uint64_t)*zone_id : 0;
    void *result;
    int64_t bytes;
    int status;

    if (!number_of_bytes || !base_address)
        return SS$_ACCVIO;
    bytes = *number_of_bytes;
    mega$lock(&lock); /* the caller's addresses are not touched while it is held */
    status = get_locked(zone_of(id), bytes, &result);
    mega$unlock(&lock);
    if (status == SS$_NORMAL)
        memcpy(base_address, &result, sizeof(result));
    return status;
}

int lib$free_vm_64(const __int64 *number_of_bytes, void *base_address, const __int64 *zone_id)
{
    int64_t bytes = number_of_bytes ? *number_of_bytes : 0;
    uint64_t id = zone_id ? (uint64_t)*zone_id : 0;
    char *address;
    int status;

    if (!base_address)
        return SS$_ACCVIO;
    memcpy(&address, base_address, sizeof(address));
    mega$lock(&lock);
    status = free_locked(zone_of(id), number_of_bytes ? &bytes : NULL, address);
    mega$unlock(&lock);
    return status;
}

int lib$get_vm(const int *number_of_bytes, void *base_address, const unsigned int *zone_id)
{
    __int64 bytes = number_of_bytes ? *number_of_bytes : 0, id = zone_id ? *zone_id : 0;

    return lib$get_vm_64(number_of_bytes ? &bytes : NULL, base_address, &id);
}

int lib$free_vm(const int *number_of_bytes, void *base_address, const unsigned int *zone_id)
{
    __int64 bytes = number_of_bytes ? *number_of_bytes : 0, id = zone_id ? *zone_id : 0;

    return lib$free_vm_64(number_of_bytes ? &bytes : NULL, base_address, &id);
}

/* Value of an optional argument. */
static int64_t given(const __int64 *argument, int64_t otherwise)
{
    return argument && *argument ? *argument : otherwise;
}

/* Bytes of so many pagelets; 0: without a limit. */
static size_t limit_of(int64_t pagelets)
{
    return pagelets && pagelets < INT64_MAX / PAGELET ? (size_t)pagelets * PAGELET : SIZE_MAX;
}

/* The algorithms, and what their arguments may be. */
static bool is_algorithm(int64_t algorithm, int64_t argument)
{
    static const int64_t most[] = {
        [LIB$K_VM_FIRST_FIT] = 0,
        [LIB$K_VM_QUICK_FIT] = 128,
        [LIB$K_VM_FREQ_SIZES] = 16,
        [LIB$K_VM_FIXED] = INT64_MAX,
    };

    if (algorithm < LIB$K_VM_FIRST_FIT || algorithm > LIB$K_VM_FIXED)
        return false;
    return algorithm == LIB$K_VM_FIRST_FIT || (argument >= 1 && argument <= most[algorithm]);
}

static bool is_power_of_2(int64_t n, int64_t least)
{
    return n >= least && n <= ALIGNMENT_MAX && !(n & (n - 1));
}

/* lib$create_vm_zone_64 of what the zone's sizes are by default. */
static int create(int64_t least, __int64 *zone_id, const __int64 *algorithm,
                  const __int64 *algorithm_argument, const __int64 *flags,
                  const __int64 *initial_size, const __int64 *block_size, const __int64 *alignment,
                  const __int64 *page_limit, int (*get_page)(), int (*free_page)())
{
    int64_t unit = given(block_size, least), align = given(alignment, least);
    int64_t pages = given(page_limit, 0), initial = given(initial_size, 0);
    int64_t argument = given(algorithm_argument, 0);
    bool fixed = algorithm && *algorithm == LIB$K_VM_FIXED;
    struct zone *z;
    size_t id = 1;

    if (!zone_id)
        return SS$_ACCVIO;
    if ((algorithm && !is_algorithm(*algorithm, argument)) || initial < 0 ||
        (flags && ((*flags & ~(int64_t)VM_FLAGS) || (*flags & LIB$M_VM_NO_EXTEND && !initial))))
        return LIB$_INVARG;
    if (!is_power_of_2(align, least / 2) || !is_power_of_2(unit, least) || pages < 0 || get_page ||
        free_page)
        return LIB$_INVARG;
    if (!(z = calloc(1, sizeof(*z))))
        return LIB$_INSVIRMEM;
    z->flags = flags ? (unsigned)*flags : 0;
    z->fixed = fixed ? (size_t)argument : 0;
    z->block_size = (size_t)unit;
    z->alignment = (size_t)align;
    z->limit = limit_of(pages);
    z->most = z->flags & LIB$M_VM_NO_EXTEND ? limit_of(initial) : SIZE_MAX;
    mega$lock(&lock);
    while (id < ZONES_MAX && zones[id])
        id++;
    if (id < ZONES_MAX)
        zones[id] = z;
    mega$unlock(&lock);
    if (id == ZONES_MAX) {
        free(z);
        return LIB$_INSVIRMEM;
    }
    *zone_id = (int64_t)id;
    return SS$_NORMAL;
}

int lib$create_vm_zone_64(__int64 *zone_id, const __int64 *algorithm,
                          const __int64 *algorithm_argument, const __int64 *flags,
                          const __int64 *extend_size, const __int64 *initial_size,
                          const __int64 *block_size, const __int64 *alignment,
                          const __int64 *page_limit, const __int64 *smallest_block_size,
                          const void *zone_name, int (*get_page)(), int (*free_page)())
{
    (void)extend_size;
    (void)smallest_block_size;
    (void)zone_name;
    return create(UNIT_64, zone_id, algorithm, algorithm_argument, flags, initial_size, block_size,
                  alignment, page_limit, get_page, free_page);
}

static int end_zone(uint64_t id, bool keep)
{
    struct zone *z;

    mega$lock(&lock);
    z = zone_of(id);
    if (z && id) {
        tdestroy(z->blocks, free_block);
        z->blocks = NULL;
        z->bytes = 0;
        if (!keep) {
            zones[id] = NULL;
            free(z);
        }
    }
    mega$unlock(&lock);
    return !z ? LIB$_BADBLOADR : id ? SS$_NORMAL : LIB$_INVOPEZON;
}

int lib$delete_vm_zone_64(const __int64 *zone_id)
{
    return zone_id ? end_zone((uint64_t)*zone_id, false) : SS$_ACCVIO;
}

int lib$delete_vm_zone(const unsigned int *zone_id)
{
    return zone_id ? end_zone(*zone_id, false) : SS$_ACCVIO;
}

int lib$reset_vm_zone_64(const __int64 *zone_id)
{
    return zone_id ? end_zone((uint64_t)*zone_id, true) : SS$_ACCVIO;
}

int lib$reset_vm_zone(const unsigned int *zone_id)
{
    return zone_id ? end_zone(*zone_id, true) : SS$_ACCVIO;
}

/* A longword argument as a quadword, 0 if it was left out. */
#define WIDE(argument) (&(const __int64){argument ? *argument : 0})

int lib$create_vm_zone(unsigned int *zone_id, const int *algorithm, const int *algorithm_argument,
                       const int *flags, const int *extend_size, const int *initial_size,
                       const int *block_size, const int *alignment, const int *page_limit,
                       const int *smallest_block_size, const void *zone_name, int (*get_page)(),
                       int (*free_page)())
{
    __int64 id;
    int status;

    (void)extend_size;
    (void)smallest_block_size;
    (void)zone_name;
    if (!zone_id)
        return SS$_ACCVIO;
    status = create(UNIT, &id, algorithm ? WIDE(algorithm) : NULL, WIDE(algorithm_argument),
                    WIDE(flags), WIDE(initial_size), WIDE(block_size), WIDE(alignment),
                    WIDE(page_limit), get_page, free_page);
    if (status == SS$_NORMAL)
        *zone_id = (unsigned int)id;
    return status;
}
