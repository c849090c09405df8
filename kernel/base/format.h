/*
 * Formatted text: a subset of printf. Conversions %d %i %u %x %X %o %c %s %p %%; lengths hh h l ll
 * z j t; flags - 0 + # space; width, precision and *. Extension: %pS prints an address as
 * symbol+offset. There is no floating point. Any context; takes no locks and allocates nothing.
 */
#ifndef KERNEL_BASE_FORMAT_H
#define KERNEL_BASE_FORMAT_H

#include <stdarg.h>

#include "kernel/base/types.h"

/* Receives n characters of formatted text. */
typedef void format_out_fn(void *arg, const char *text, size_t n);
/* Format, passing the text to out(arg, ...) in parts. Returns the number of characters. */
size_t format_to(format_out_fn *out, void *arg, const char *fmt, va_list ap);

/* Format into buf of size bytes; the text is truncated to fit, and NUL-terminated when size > 0.
   Return the length of the whole text without its NUL. */
size_t format(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
size_t vformat(char *buf, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

#endif
