/*
 * A program with an error that a trace of alignment faults can find, and its corrected form:
 *
 *     misaligned ROUNDS            adds up records of 12 bytes through a pointer to a structure
 *                                  that the compiler assumes to be aligned. The address of every
 *                                  other balance is not a multiple of 8.
 *     misaligned ROUNDS --mended   uses a packed structure, for which the compiler assembles the
 *                                  quadword from two aligned ones.
 *
 * Prints the sum, the number of unaligned accesses that the kernel emulated, and the time for a
 * record in nanoseconds (with --icount: instructions).
 */
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RECORDS 100
#define BYTES   12 /* of a stored record: balance, then number */

struct record {
    uint64_t balance;
    uint32_t number;
};
struct packed_record {
    uint64_t balance;
    uint32_t number;
} __attribute__((packed));

static char stored[RECORDS * BYTES + 8] __attribute__((aligned(8)));

static uint64_t __attribute__((noipa)) add_records(const char *at)
{
    uint64_t sum = 0;

    for (int i = 0; i < RECORDS; i++)
        sum += ((const volatile struct record *)(uintptr_t)(at + i * BYTES))->balance;
    return sum;
}

static uint64_t __attribute__((noipa)) add_records_mended(const char *at)
{
    uint64_t sum = 0;

    for (int i = 0; i < RECORDS; i++)
        sum += ((const volatile struct packed_record *)(at + i * BYTES))->balance;
    return sum;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t unaligned(void)
{
    struct mega_process p;

    return mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p)) == SS$_NORMAL ? p.unaligned : 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, mended = argc > 2 && !strcmp(argv[2], "--mended");
    uint64_t sum = 0, before = unaligned(), start;

    if (rounds < 1)
        return 2;
    for (uint64_t i = 0; i < RECORDS; i++)
        memcpy(stored + i * BYTES, &i, sizeof(i));
    start = now();
    for (int r = 0; r < rounds; r++)
        sum += mended ? add_records_mended(stored) : add_records(stored);
    start = now() - start;
    printf("sum %lu, %lu unaligned accesses, %.1f ns a record\n", (unsigned long)sum,
           (unsigned long)(unaligned() - before), (double)start / rounds / RECORDS);
    return sum != (uint64_t)rounds * (RECORDS * (RECORDS - 1) / 2);
}
