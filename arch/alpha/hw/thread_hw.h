/*
 * The part of a thread that assembly and PALcode know. It is the first member of struct thread.
 * $8 holds the current thread's address whenever the kernel runs (-ffixed-8): entry code loads it
 * from the per-CPU block, whose address PALcode puts into $29 (wrkgp) at every entry.
 *
 * Offsets used by assembly are generated from this header, see arch/alpha/hw/asm_offsets.c.
 */
#ifndef ARCH_ALPHA_HW_THREAD_HW_H
#define ARCH_ALPHA_HW_THREAD_HW_H

#include "kernel/base/types.h"

/* OSF/1 hardware process control block. What SWPCTX gets, by physical address, is aligned to 64
 * bytes: those of struct cpu. The others, of threads and in the console's slots, lie anywhere. */
struct hwpcb {
    uint64_t ksp;
    uint64_t usp;
    uint64_t ptbr; /* PFN of the level-1 page */
    uint32_t cycles;
    uint32_t asn;
    uint64_t unique;
    uint64_t flags; /* bit 0 FEN */
    uint64_t reserved[2];
};

struct cpu; /* per-CPU block, arch/alpha/hw/cpu.h */

struct fp_state {
    uint64_t f[32]; /* f[31] holds FPCR */
};

struct thread_hw {
    struct hwpcb pcb;       /* own CPU while it runs, else the scheduler's */
    struct cpu *cpu;        /* where it runs or ran last; changed only by the switch */
    uint64_t kstack_base;   /* lowest usable byte of the kernel stack (above the guard page) */
    uint64_t kstack_limit;  /* soft limit: an entry with SP below this panics */
    uint64_t kstack_top;    /* first byte above the stack */
    uint64_t syscall_exit;  /* nonzero: slow way out (signal, reschedule, trace); atomic */
    uint64_t ipl_raised_at; /* PC that raised the IPL last (kernel/sched/ipl.h); own thread */
    struct fp_state fp;     /* user floating point, valid when not live in the CPU */
};

#endif
