/* Random numbers of host tests: the same in every run, unless the test sets `seed`. */
#ifndef TESTS_HOST_RND_H
#define TESTS_HOST_RND_H

#include <stdint.h>

static uint64_t seed = 0x2545F4914F6CDD1D;

static __attribute__((unused)) uint64_t rnd(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

#endif
