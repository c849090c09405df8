/*
 * The register frame that entry code builds on the kernel stack, below the six quadwords that
 * PALcode pushes. In a system call s0-s6 are valid only if the call is marked SYS_FULL_FRAME
 * (kernel/sys/syscall.h) and on the slow return path. The frame of a user thread's outermost entry
 * always ends at hw.kstack_top; user_frame_of() returns it.
 */
#ifndef ARCH_ALPHA_HW_TRAPFRAME_H
#define ARCH_ALPHA_HW_TRAPFRAME_H

#include "arch/alpha/hw/thread_hw.h"

struct trapframe {
    uint64_t v0, t0, t1, t2, t3, t4, t5, t6, t7; /* $0-$8 */
    uint64_t s0, s1, s2, s3, s4, s5, s6;         /* $9-$15 */
    uint64_t a3, a4, a5;                         /* $19-$21 */
    uint64_t t8, t9, t10, t11, ra, t12, at;      /* $22-$28 */
    uint64_t usp;     /* user SP, in full-frame calls and on the slow path; otherwise use rdusp */
    uint64_t orig_v0; /* system call number, for restarts; ~0 if the entry is no system call */
    uint64_t orig_a3; /* the caller's a3, for restarts */
    uint64_t pad;     /* keeps the stack 16-byte aligned */
    /* pushed by PALcode */
    uint64_t ps, pc, gp, a0, a1, a2;
};

static inline struct trapframe *user_frame_of(struct thread_hw *t)
{
    return (struct trapframe *)t->kstack_top - 1;
}
static inline bool frame_from_user(const struct trapframe *f) { return (f->ps & 8) != 0; }

#endif
