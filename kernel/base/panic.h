/*
 * Panic: stops the system after a fatal error, with diagnostics on the console. Any context, any
 * IPL.
 *
 * panic() stops the other CPUs, prints its registers and backtrace, lets each CPU that has stopped
 * print its own in turn and names the others, calls the registered dump functions, sends the host a
 * record on COM2, and waits for ever. A panic during the panic only prints its reason and sends the
 * record.
 */
#ifndef KERNEL_BASE_PANIC_H
#define KERNEL_BASE_PANIC_H

#include "kernel/base/types.h"

struct trapframe;

void panic(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2), cold));

/* The same for a trap that cannot be handled: prints the registers in its frame, s0-s6 too. sp is
   the stack pointer of the interrupted code. */
void panic_frame_at(const struct trapframe *f, uint64_t sp, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4), cold));
#define panic_frame(f, ...)                                              \
    do {                                                                 \
        __auto_type panic_f_ = (f);                                      \
        panic_frame_at(panic_f_, (uint64_t)(panic_f_ + 1), __VA_ARGS__); \
    } while (0)

/* Have fn called in a panic, on the panicking CPU, while the others are stopped. fn takes no lock
   and prints with printk; name, which must be constant, is its heading. Boot, one CPU. */
void panic_register_dump(const char *name, void (*fn)(void));

/* True once a CPU has panicked. */
bool panic_in_progress(void);

/* Panic if cond is false. text says the invariant in words. Checked in every build. */
#define KASSERT(cond, text)                                                   \
    do {                                                                      \
        if (unlikely(!(cond)))                                                \
            panic("%s:%d: %s: %s is false", __FILE__, __LINE__, text, #cond); \
    } while (0)

#endif
