/* The boot sequence. */
#ifndef KERNEL_MAIN_H
#define KERNEL_MAIN_H

#include "kernel/base/types.h"

/* What the boot sequence needs of the layer above it, which brings CPUs up (arch/alpha/entry). */
struct boot_cpus {
    /* On the primary, once the scheduler runs: from here on clock ticks reach it, and panics stop
       the other CPUs. */
    void (*online)(void);
    /* Start the other CPUs, one at a time, on page tables ptbr; at most `limit` CPUs in all. Each
       goes to sched_secondary_start(). Returns when all that came up are online; says on the
       console which did not. IPL 0. */
    void (*start_others)(uint64_t ptbr, unsigned limit);
};

/* Called once, on the primary CPU, at the highest IPL on its boot stack, with traps and console
   working. *boot lives for ever. */
void kernel_main(const struct boot_cpus *boot) __attribute__((noreturn));

#endif
