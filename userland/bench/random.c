/*
 * Random reads of a memory-resident section, for the model of translation buffers: scripts/bench
 * translation starts it with a reservation (docs/translation-buffer.md).
 *
 *     random NAME READS MIB...
 *
 * Maps the section NAME, which must be preallocated, and for each size reads READS quadwords at
 * random places of its first MIB megabytes, after as many to fill the buffers. Prints the clock
 * before and after, by which the model's counts are found:
 *     {"mib": 64, "reads": 100000, "begin": 1234567, "end": 2345678}
 */
#include "bench.h"

#include <descrip.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <vadef.h>

#define MIB       (1ul << 20)
#define SIZES_MAX 16

/* Each address is a multiple of 8 in [first, first + bytes); bytes is a power of two. The number is
 * the upper part of a linear congruential one, whose lower bits are not random. */
static uint64_t read_at_random(const char *first, uint64_t bytes, uint64_t reads, uint64_t seed)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < reads; i++) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        sum += *(const volatile uint64_t *)(first + (seed >> 20 & (bytes - 8)));
    }
    return sum;
}

static const char *map(const char *name, uint64_t bytes)
{
    struct dsc64$descriptor_s d = {1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                   -1, strlen(name),    (char *)name};
    struct _generic_64 region;
    uint64_t length;
    void *va;
    int status;

    bench_need(sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                                    &length) &
               1);
    status = sys$crmpsc_gdzro_64(&d, 0, 0, bytes, &region, 0, PSL$C_USER,
                                 SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length);
    bench_need(status == SS$_CREATED || status == SS$_CREATED_SHPT);
    return va;
}

int main(int argc, char **argv)
{
    uint64_t reads = argc > 3 ? strtoul(argv[2], NULL, 10) : 0, most = 0, sum = 0;
    uint64_t begin[SIZES_MAX], end[SIZES_MAX];
    const char *first;

    bench_need(reads > 0 && argc <= 3 + SIZES_MAX);
    for (int i = 3; i < argc; i++) {
        uint64_t bytes = strtoul(argv[i], NULL, 10) * MIB;

        bench_need(bytes && (bytes & (bytes - 1)) == 0);
        if (bytes > most)
            most = bytes;
    }
    first = map(argv[1], most);
    for (int i = 3; i < argc; i++) {
        uint64_t mib = strtoul(argv[i], NULL, 10);

        sum += read_at_random(first, mib * MIB, reads, mib);
        begin[i - 3] = bench_clock();
        sum += read_at_random(first, mib * MIB, reads, mib + 1);
        end[i - 3] = bench_clock();
    }
    /* Only now: while it waits for its output the CPU is idle, and its clock jumps. */
    for (int i = 3; i < argc; i++)
        printf("{\"mib\": %s, \"reads\": %lu, \"begin\": %lu, \"end\": %lu}\n", argv[i],
               (unsigned long)reads, (unsigned long)begin[i - 3], (unsigned long)end[i - 3]);
    bench_need(sum == 0); /* a section of zeroes */
    return 0;
}
