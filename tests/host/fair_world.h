/* What the tests of the fair rule share: random numbers, and times. */
#ifndef TESTS_HOST_FAIR_WORLD_H
#define TESTS_HOST_FAIR_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "kernel/sched/fair.h"
#include "userland/lib/include/tap.h"

#define TICK 244141u
#define US   250u /* cycles */

static uint64_t seed = 0x2545F4914F6CDD1D;

static uint64_t rnd(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

#endif
