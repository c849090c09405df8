/* The boot sequence. */
#ifndef KERNEL_MAIN_H
#define KERNEL_MAIN_H

#include "kernel/base/types.h"

/* Functions of the layer above (arch/alpha/entry), which starts CPUs. */
struct boot_cpus {
    /* Called on the primary CPU once the scheduler runs: from now on the CPU handles clock ticks,
       and a panic stops the other CPUs. */
    void (*online)(void);
    /* Start the other CPUs, one at a time, on page tables whose root page is ptbr (a PFN); at most
       `limit` CPUs in all, this one included. Each of them enters sched_secondary_start(). Returns
       when all that started are online, and prints which did not start. IPL 0. */
    void (*start_others)(uint64_t ptbr, unsigned limit);
};

/* Called once, on the primary CPU, at the highest IPL on its boot stack, with traps and console
   working. *boot must remain valid for ever. */
void kernel_main(const struct boot_cpus *boot) __attribute__((noreturn));

#endif
