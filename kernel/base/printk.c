/*
 * Console messages. A message is formatted directly into the UART, by polling, under a raw lock at
 * the highest IPL (ranked locks belong to a higher layer). A newline is sent as carriage return and
 * newline. In a panic messages are printed without the lock; a message that another CPU was
 * printing when it stopped remains incomplete.
 */
#include "kernel/base/printk.h"

#include "arch/alpha/clipper/uart.h"
#include "arch/alpha/hw/rawlock.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"

static struct rawlock printk_lock;
static uint32_t printk_unlocked; /* atomic: set in a panic, when messages take no lock */

static void put(void *arg, const char *text, size_t n)
{
    (void)arg;
    while (n) {
        const char *newline = memchr(text, '\n', n);
        size_t plain = newline ? (size_t)(newline - text) : n;

        uart_write_polled(&uart_com1, text, plain);
        if (!newline)
            break;
        uart_write_polled(&uart_com1, "\r\n", 2);
        text += plain + 1;
        n -= plain + 1;
    }
}

void vprintk(const char *fmt, va_list ap)
{
    if (__atomic_load_n(&printk_unlocked, __ATOMIC_ACQUIRE)) {
        format_to(put, NULL, fmt, ap);
        return;
    }

    uint64_t ipl = rawlock_acquire(&printk_lock);

    format_to(put, NULL, fmt, ap);
    rawlock_release(&printk_lock, ipl);
}

void printk(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vprintk(fmt, ap);
    va_end(ap);
}

void printk_bytes(const char *text, size_t n)
{
    uint64_t ipl = rawlock_acquire(&printk_lock);

    uart_write_polled(&uart_com1, text, n);
    rawlock_release(&printk_lock, ipl);
}

void printk_panic_begin(void) { __atomic_store_n(&printk_unlocked, 1, __ATOMIC_RELEASE); }
