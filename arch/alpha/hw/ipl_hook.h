/*
 * Hooks at every place where this CPU's IPL changes: SWPIPL, the entry of an interrupt, and the
 * return from a trap. They cost nothing while they are off: the table .ipl_sites lists the
 * instructions concerned, and ipl_hooks_on() replaces each of them (arch/alpha/hw/patch.h) with a
 * branch to a routine of ipl_hook.S, which calls the function set here and then does what the
 * instruction did.
 */
#ifndef ARCH_ALPHA_HW_IPL_HOOK_H
#define ARCH_ALPHA_HW_IPL_HOOK_H

#include "arch/alpha/hw/trapframe.h"

/* The kinds of sites; pal.h and entry.S put (address, kind) pairs into .ipl_sites. */
#define IPL_SITE_SWPIPL    0
#define IPL_SITE_INTERRUPT 1
#define IPL_SITE_RTI       2

/* All three are called on the CPU concerned and may use no other IPL function than
 * pal_swpipl_unmetered(); they take no lock.
 * swpipl: the IPL is about to change from `old` to `ipl` at `pc`. Called at IPL_HIGH, whichever of
 *     the two is higher. `cycles`: the cycle counter (clock_cycles) when the call began.
 * interrupt: the entry of an interrupt, at its IPL.
 * rti: the return from an interrupt or another trap to the code of f, at any IPL. */
struct ipl_hooks {
    void (*swpipl)(uint64_t old, uint64_t ipl, uint64_t pc, uint64_t cycles);
    void (*interrupt)(const struct trapframe *f);
    void (*rti)(const struct trapframe *f);
};

/* Have the hooks called from now on; h remains valid for ever and is the same in every call. Other
 * CPUs follow when they execute IMB. Callers exclude each other. Any IPL. */
void ipl_hooks_on(const struct ipl_hooks *h);
/* Put the instructions back. A hook may still be running, or be called by a CPU that has not
 * executed IMB. Any IPL. */
void ipl_hooks_off(void);

#endif
