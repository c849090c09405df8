/*
 * Time, for test programs that bound how long something lasts. Where one CPU is emulated with
 * --icount an instruction takes a nanosecond, so that such a bound is one of instructions;
 * elsewhere it would be one of the host's speed.
 */
#ifndef ELAPSED_H
#define ELAPSED_H

#include <megalith/info.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Does an instruction take a nanosecond? It may where there is no second CPU. */
static inline bool counted(void)
{
    struct mega_cpu c;

    return !(mega$info(MEGA_INFO_CPU, 1, &c, sizeof(c)) & 1);
}

#endif
