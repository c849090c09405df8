/*
 * A condition value (SS$_*), as system services and what they call return it: bit 0 says success.
 * An errno is an int as well, with 0 for success, so that one taken for the other would go
 * unnoticed; a structure would tell them apart, but is returned in memory on Alpha. Therefore
 * tests/test_conditions_apart.py looks at every user of this type with a structure in its place,
 * and fails where the two are mixed. An errno becomes a condition value in a function that says
 * which one stands for which.
 */
#ifndef KERNEL_BASE_COND_H
#define KERNEL_BASE_COND_H

#include "kernel/base/types.h"

typedef int cond_t;

static inline bool cond_ok(cond_t c) { return c & 1; }
/* The number that user mode sees. */
static inline uint32_t cond_value(cond_t c) { return (uint32_t)c; }

#endif
