/*
 * Console messages. printk writes a whole message to COM1 by polling. It may be called in any
 * context and at any IPL. It holds a lock of its own at the highest IPL, so that messages of
 * several CPUs do not mix; it waits only for that lock and the UART. Formats: kernel/base/format.h
 * (%pS prints a symbol).
 */
#ifndef KERNEL_BASE_PRINTK_H
#define KERNEL_BASE_PRINTK_H

#include <stdarg.h>

#include "kernel/base/types.h"

void printk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vprintk(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Write n bytes unchanged under the same lock (the terminal's output). */
void printk_bytes(const char *text, size_t n);

/* For panic: from now on messages take no lock. panic lets one CPU print at a time. */
void printk_panic_begin(void);

#endif
