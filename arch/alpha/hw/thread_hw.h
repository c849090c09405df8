/*
 * The part of a thread that assembly and PALcode use. It is the first member of struct thread. $8
 * holds the current thread's address while the kernel runs (-ffixed-8): entry code loads it from
 * the per-CPU block, whose address PALcode puts into $29 (wrkgp) at every entry.
 *
 * arch/alpha/hw/asm_offsets.c generates the offsets for assembly from this header.
 */
#ifndef ARCH_ALPHA_HW_THREAD_HW_H
#define ARCH_ALPHA_HW_THREAD_HW_H

#include "kernel/base/types.h"

/* OSF/1 hardware process control block. One that SWPCTX loads, by its physical address, must be
   aligned to 64 bytes: those in struct cpu are. Those of threads and of the HWRPB's slots may lie
   anywhere. */
struct hwpcb {
    uint64_t ksp;
    uint64_t usp;
    uint64_t ptbr; /* PFN of the level-1 page */
    uint32_t cycles;
    uint32_t asn;
    uint64_t unique;
    uint64_t flags; /* HW_FP_USED, HW_USER; in the PCB that PALcode loads, FEN only */
    uint64_t reserved[2];
};

#define HW_FP_USED 1u /* FEN of the PCB: the thread has used floating point (arch/alpha/hw/fp.h) */
#define HW_USER    2u /* a thread of a process */

struct cpu; /* per-CPU block, arch/alpha/hw/cpu.h */

struct fp_state {
    uint64_t f[32]; /* $f0-$f30, and FPCR at FP_FPCR */
};
#define FP_FPCR 31u

struct thread_hw {
    struct hwpcb pcb;       /* own CPU while it runs, otherwise protected by the scheduler */
    struct cpu *cpu;        /* where it runs or ran last; changed only by context_switch */
    uint64_t kstack_base;   /* lowest usable byte of the kernel stack (above the guard page) */
    uint64_t kstack_limit;  /* soft limit: an entry with SP below this panics */
    uint64_t kstack_top;    /* first byte above the stack */
    uint64_t syscall_exit;  /* nonzero: take the slow return path (signal, reschedule); atomic */
    uint64_t ipl_raised_at; /* PC that raised the IPL last (kernel/sched/ipl.h); own thread */
    struct fp_state fp;     /* user floating-point registers while it does not run */
};

#endif
