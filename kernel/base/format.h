/*
 * Formatted text, a small printf: %d %i %u %x %X %o %c %s %p %%, lengths hh h l ll z j, flags
 * - 0 + # space, width, precision and *. Extension: %pS prints an address as symbol+offset. No
 * floating point.
 */
#ifndef KERNEL_BASE_FORMAT_H
#define KERNEL_BASE_FORMAT_H

#include <stdarg.h>

#include "kernel/base/types.h"

/* Emit each piece of formatted text. Returns the number of characters. */
typedef void format_out_fn(void *arg, const char *text, size_t n);
size_t format_to(format_out_fn *out, void *arg, const char *fmt, va_list ap);

/* Format into buf, always terminated when size > 0. Return the length without the cut. */
size_t format(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
size_t vformat(char *buf, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

#endif
