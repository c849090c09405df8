/*
 * A condition value (SS$_*), which system services and functions below them return: bit 0 set means
 * success. An errno is also an int, with 0 for success, so that the compiler does not notice when
 * one is used as the other. A structure type would prevent that, but Alpha returns structures in
 * memory. Therefore tests/test_conditions_apart.py compiles every user of this type with a
 * structure in its place, and fails where the two are mixed. An errno is converted to a condition
 * value only by functions that contain the mapping.
 */
#ifndef KERNEL_BASE_COND_H
#define KERNEL_BASE_COND_H

#include "kernel/base/types.h"

typedef int cond_t;

static inline bool cond_ok(cond_t c) { return c & 1; }
/* The number that user mode sees. */
static inline uint32_t cond_value(cond_t c) { return (uint32_t)c; }

#endif
