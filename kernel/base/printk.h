/*
 * Console messages. printk writes a whole message, polled, to COM1, from any context and IPL: it
 * takes its own lock at the highest IPL, so messages of several CPUs do not mix. It never waits
 * for anything but the UART. Formats: kernel/base/format.h (%pS prints a symbol).
 */
#ifndef KERNEL_BASE_PRINTK_H
#define KERNEL_BASE_PRINTK_H

#include <stdarg.h>

#include "kernel/base/types.h"

void printk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vprintk(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Raw bytes under the same lock (the terminal's output). */
void printk_bytes(const char *text, size_t n);

/* Panic: from now on messages take no lock; panic lets one CPU print at a time. */
void printk_panic_begin(void);

#endif
