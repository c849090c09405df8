/*
 * Console messages. printk writes a whole message to COM1 by polling. It may be called in any
 * context and at any IPL; it waits only for the UART. Messages of several CPUs do not mix. Formats:
 * kernel/base/format.h (%pS prints a symbol).
 */
#ifndef KERNEL_BASE_PRINTK_H
#define KERNEL_BASE_PRINTK_H

#include <stdarg.h>

#include "kernel/base/types.h"

void printk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vprintk(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Write n bytes unchanged (the terminal's output). Returns when they have been sent, or when over()
   says that the caller need not wait: then what the ring had room for is sent later. */
void printk_bytes(const char *text, size_t n, bool (*over)(void));
/* Have up to 8 bytes written unchanged by the next printk_send(), which waits for the UART: for a
 * caller with a lock. Between two calls of printk_send() there is room for 16 such. Any IPL. */
void printk_queue(const char *text, size_t n);
void printk_send(void);

/* The messages of printk() (not what terminals print) are kept, the last PRINTK_KEPT bytes of them;
 * those of a panic are not. A position counts all bytes that ever were. Any IPL. */
#define PRINTK_KEPT 32768u
/* Copy up to n bytes from position *from on, or from the oldest that is there, and set *from to the
 * position after them. Returns how many. At most PRINTK_KEPT_STEP at a time. */
#define PRINTK_KEPT_STEP 512u
size_t printk_kept(uint64_t *from, char *to, size_t n);
/* The position after the last message. */
uint64_t printk_kept_end(void);

/* For panic: from now on messages take no lock. panic lets one CPU print at a time. */
void printk_panic_begin(void);

#endif
