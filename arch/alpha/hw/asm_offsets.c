/*
 * Offsets and constants for assembly. This file is compiled to assembly only; the build turns each
 * line "->NAME VALUE" of the output into a #define in the generated arch/alpha/hw/asm_offsets.h.
 */
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/ipl_hook.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/sigcontext.h"
#include "arch/alpha/hw/stack.h"
#include "arch/alpha/hw/tb_model.h"
#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/errno.h"
#include "kernel/sys/syscall.h"

#define EMIT(name, value)         __asm__ volatile("\n->" #name " %0" ::"i"((long)(value)))
#define EMIT_FRAME(name, field)   EMIT(name, offsetof(struct trapframe, field))
#define EMIT_CONTEXT(name, field) EMIT(name, offsetof(struct sigcontext, field))

_Static_assert(offsetof(struct thread_hw, pcb) == 0, "the PCB is the thread's first member");
_Static_assert(offsetof(struct cpu, current) == 0, "entry code loads $8 from the block's start");
_Static_assert(sizeof(struct trapframe) % 16 == 0, "the stack stays 16-byte aligned");
_Static_assert(sizeof(struct trapframe) - offsetof(struct trapframe, ps) == 48,
               "PALcode pushes six quadwords");

/* What usercopy.S relies on. */
#define APART(a, b) (offsetof(struct trapframe, b) - offsetof(struct trapframe, a))
_Static_assert(APART(v0, s6) == 15 * 8, "$0-$15 lie together");
_Static_assert(APART(a0, a2) == 2 * 8, "$16-$18 lie together");
_Static_assert(APART(a3, at) == 9 * 8, "$19-$28 lie together");
_Static_assert(offsetof(struct sigcontext, traparg) - offsetof(struct sigcontext, fpcr) == 6 * 8,
               "FPCR and five words that are 0");

void asm_offsets(void);
void asm_offsets(void)
{
    EMIT(CPU_CURRENT, offsetof(struct cpu, current));
    EMIT(CPU_GP, offsetof(struct cpu, gp));
    EMIT(CPU_EMERGENCY, offsetof(struct cpu, emergency_stack));
    EMIT(CPU_SCRATCH, offsetof(struct cpu, scratch));
    EMIT(CPU_RESCHED, offsetof(struct cpu, resched));
    EMIT(CPU_PCB_LIVE, offsetof(struct cpu, pcb_live));
    EMIT(CPU_FP_STALE, offsetof(struct cpu, fp_stale));
    EMIT(CPU_PCB, offsetof(struct cpu, pcb));
    EMIT(CPU_ID, offsetof(struct cpu, id));
    EMIT(CPU_SIZE, sizeof(struct cpu));
    EMIT(TB_SITE_SWITCH, TB_SITE_SWITCH);

    EMIT(PCB_KSP, offsetof(struct hwpcb, ksp));
    EMIT(PCB_USP, offsetof(struct hwpcb, usp));
    EMIT(PCB_PTBR, offsetof(struct hwpcb, ptbr));
    EMIT(PCB_UNIQUE, offsetof(struct hwpcb, unique));
    EMIT(PCB_FLAGS, offsetof(struct hwpcb, flags));
    EMIT(PCB_SIZE, sizeof(struct hwpcb));

    EMIT(HW_CPU, offsetof(struct thread_hw, cpu));
    EMIT(HW_KSTACK_LIMIT, offsetof(struct thread_hw, kstack_limit));
    EMIT(HW_KSTACK_TOP, offsetof(struct thread_hw, kstack_top));
    EMIT(HW_SYSCALL_EXIT, offsetof(struct thread_hw, syscall_exit));
    EMIT(HW_FP_USED, HW_FP_USED);
    EMIT(HW_FP, offsetof(struct thread_hw, fp));
    EMIT(HW_SIZE, sizeof(struct thread_hw));

    EMIT_FRAME(TF_V0, v0);
    EMIT_FRAME(TF_T0, t0);
    EMIT_FRAME(TF_T1, t1);
    EMIT_FRAME(TF_T2, t2);
    EMIT_FRAME(TF_T3, t3);
    EMIT_FRAME(TF_T4, t4);
    EMIT_FRAME(TF_T5, t5);
    EMIT_FRAME(TF_T6, t6);
    EMIT_FRAME(TF_T7, t7);
    EMIT_FRAME(TF_S0, s0);
    EMIT_FRAME(TF_S1, s1);
    EMIT_FRAME(TF_S2, s2);
    EMIT_FRAME(TF_S3, s3);
    EMIT_FRAME(TF_S4, s4);
    EMIT_FRAME(TF_S5, s5);
    EMIT_FRAME(TF_S6, s6);
    EMIT_FRAME(TF_A3, a3);
    EMIT_FRAME(TF_A4, a4);
    EMIT_FRAME(TF_A5, a5);
    EMIT_FRAME(TF_T8, t8);
    EMIT_FRAME(TF_T9, t9);
    EMIT_FRAME(TF_T10, t10);
    EMIT_FRAME(TF_T11, t11);
    EMIT_FRAME(TF_RA, ra);
    EMIT_FRAME(TF_T12, t12);
    EMIT_FRAME(TF_AT, at);
    EMIT_FRAME(TF_USP, usp);
    EMIT_FRAME(TF_ORIG_V0, orig_v0);
    EMIT_FRAME(TF_ORIG_A3, orig_a3);
    EMIT_FRAME(TF_PAL, ps);
    EMIT_FRAME(TF_PS, ps);
    EMIT_FRAME(TF_PC, pc);
    EMIT_FRAME(TF_GP, gp);
    EMIT_FRAME(TF_A0, a0);
    EMIT_FRAME(TF_A1, a1);
    EMIT_FRAME(TF_A2, a2);
    EMIT(TF_SIZE, sizeof(struct trapframe));
    EMIT_CONTEXT(SC_ONSTACK, onstack);
    EMIT_CONTEXT(SC_MASK, mask);
    EMIT_CONTEXT(SC_PC, pc);
    EMIT_CONTEXT(SC_PS, ps);
    EMIT_CONTEXT(SC_REGS, regs);
    EMIT_CONTEXT(SC_OWNEDFP, ownedfp);
    EMIT_CONTEXT(SC_FPREGS, fpregs);
    EMIT_CONTEXT(SC_FPCR, fpcr);
    EMIT_CONTEXT(SC_TRAPARG, traparg);
    _Static_assert(sizeof(struct trapframe) - offsetof(struct trapframe, ps) == 48 &&
                       sizeof(struct trapframe) - offsetof(struct trapframe, usp) == 80,
                   "USER_SP_CFI of entry.S finds ps and usp");

    EMIT(BOOT_STACK_SIZE, BOOT_STACK_SIZE);
    EMIT(STACK_RESERVE, STACK_RESERVE);

    EMIT(ASM_EFAULT, EFAULT);
    EMIT(ASM_ENAMETOOLONG, ENAMETOOLONG);
    EMIT(ASM_ENOMEM, ENOMEM);

    EMIT(SYS_POSIX_BITS, __builtin_ctzl(POSIX_DISPATCH));
    EMIT(SYS_VMS_FIRST, VMS_FIRST);
    EMIT(SYS_VMS_CALLS, VMS_CALLS);
    EMIT(SYS_ENTRY_SHIFT, __builtin_ctzl(sizeof(struct syscall_entry)));
    EMIT(SYS_ENTRY_FN, offsetof(struct syscall_entry, fn));
    EMIT(SYS_ENTRY_FLAGS, offsetof(struct syscall_entry, flags));
    EMIT(SYS_FLAGS_MASK, SYS_FULL_FRAME | SYS_RAW);
    EMIT(SYS_RAW_FLAG, SYS_RAW);

    EMIT(IPL_SITE_SWPIPL, IPL_SITE_SWPIPL);
    EMIT(IPL_SITE_INTERRUPT, IPL_SITE_INTERRUPT);
    EMIT(IPL_SITE_RTI, IPL_SITE_RTI);

    EMIT(PAL_HALT, PAL_HALT);
    EMIT(PAL_SWPCTX, PAL_SWPCTX);
    EMIT(PAL_TBI, PAL_TBI);
    EMIT(PAL_SWPIPL, PAL_SWPIPL);
    EMIT(PAL_WRFEN, PAL_WRFEN);
    EMIT(PAL_RDUSP, PAL_RDUSP);
    EMIT(PAL_WRENT, PAL_WRENT);
    EMIT(PAL_WRUSP, PAL_WRUSP);
    EMIT(PAL_RETSYS, PAL_RETSYS);
    EMIT(PAL_RTI, PAL_RTI);
}
