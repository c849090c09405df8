/*
 * Panic: the end, with everything worth knowing on the console. Any context, any IPL.
 *
 * panic() stops the other CPUs (each that answers prints its registers and backtrace in its turn;
 * the others are named), prints its own, calls the registered dumpers, tells the host through COM2
 * and spins. A panic inside a panic prints its reason and goes straight to the end.
 */
#ifndef KERNEL_BASE_PANIC_H
#define KERNEL_BASE_PANIC_H

#include "kernel/base/types.h"

struct trapframe;

void panic(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2), cold));

/* The same for a trap that could not be served: with the registers of its frame (s0-s6 too) and the
   stack pointer of what it interrupted. */
void panic_frame_at(const struct trapframe *f, uint64_t sp, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4), cold));
#define panic_frame(f, ...)                                              \
    do {                                                                 \
        __auto_type panic_f_ = (f);                                      \
        panic_frame_at(panic_f_, (uint64_t)(panic_f_ + 1), __VA_ARGS__); \
    } while (0)

/* Have fn called at a panic, on the panicking CPU, all others stopped: it takes no lock and prints
 * by printk. Boot only. */
void panic_register_dump(const char *name, void (*fn)(void));

/* True once a CPU has panicked. */
bool panic_in_progress(void);

/* The invariant in words, as `text`, is always printed. Checked in every build. */
#define KASSERT(cond, text)                                                   \
    do {                                                                      \
        if (unlikely(!(cond)))                                                \
            panic("%s:%d: %s: %s is false", __FILE__, __LINE__, text, #cond); \
    } while (0)

#endif
