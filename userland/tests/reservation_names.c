/*
 * `reservation_names N`: what searches among N reservations cost: for that of a name (a section is
 * created under one that has none), for the last one by its number, and for the one with some
 * frames, which no driver has opened. Prints the least of some trials each, in nanoseconds: with
 * --icount, instructions. tests/test_reserved_memory.py compares few entries with many.
 */
#include <descrip.h>
#include <megalith/info.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAGE    8192ul
#define TRIALS  20
#define MANAGED 1000 /* a frame that the kernel manages */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void must(int status, int wanted)
{
    if (status == wanted)
        return;
    fprintf(stderr, "reservation_names: status %d, not %d\n", status, wanted);
    exit(1);
}

static void by_name(int64_t n)
{
    struct dsc$descriptor_s name = {9, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)"MANY_NONE"};
    const unsigned int flags = SEC$M_SYSGBL | SEC$M_WRT | SEC$M_PERM;

    (void)n;
    must(sys$create_gdzro(&name, NULL, 0, PAGE, 0, flags) & 1, 1);
    must(sys$dgblsc(SEC$M_SYSGBL, &name, NULL), SS$_NORMAL);
}

static void by_number(int64_t n)
{
    struct mega_reserved r;

    must(mega$info(MEGA_INFO_RESERVED, n - 1, &r, sizeof(r)), SS$_NORMAL);
}

static void by_frames(int64_t n)
{
    struct dsc$descriptor_s name = {9, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)"MANY_NONE"};
    const unsigned int flags = SEC$M_SYSGBL | SEC$M_WRT | SEC$M_PERM;

    (void)n;
    must(sys$create_gpfn(&name, NULL, 0, MANAGED, 1, 0, flags), SS$_INVPFN);
}

static uint64_t least_of(void (*fn)(int64_t n), int64_t n)
{
    uint64_t least = UINT64_MAX;

    for (int k = 0; k < TRIALS; k++) {
        uint64_t took, from = now_ns();

        fn(n);
        took = now_ns() - from;
        least = took < least ? took : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 0;

    printf("%lu %lu %lu\n", (unsigned long)least_of(by_name, n),
           (unsigned long)least_of(by_number, n), (unsigned long)least_of(by_frames, n));
    return 0;
}
