/*
 * The six kernel entry points. PALcode has switched to the kernel stack (coming from user mode: to
 * kstack_top), pushed PS, PC, $29, $16-$18, and put the CPU's block into $29. Each entry
 *   - builds the rest of struct trapframe below that,
 *   - loads $8 (current thread) and $29 (kernel GP) from the CPU's block,
 *   - compares SP with the thread's soft limit (arch/alpha/hw/stack.h) once registers are free,
 *   - calls C, and leaves by RTI or RETSYS.
 * C functions preserve s0-s6, so these are stored in the frame only where C code may read or change
 * them there: on the slow return path to user mode, for system calls marked SYS_FULL_FRAME, and for
 * the emulation of unaligned accesses.
 *
 * The return path to user mode reads syscall_exit once, with interrupts enabled. If an interrupt
 * sets it between that read and RTI, nothing is lost: a reschedule was served on the return path of
 * that interrupt, and a signal is delivered at the return from this CPU's next entry, which is its
 * next clock tick at the latest.
 *
 * CFI describes the frames so that an unwinder can continue into the interrupted code. Column 64 is
 * the interrupted PC. The interrupted SP is the CFA if kernel mode was interrupted, and the frame's
 * usp if user mode was (USER_SP_CFI); where entry code does not store usp, a debugger does.
 */
#include "arch/alpha/hw/asm_offsets.h"

    .text
    .set noat
    .set noreorder

#define zero $31
#define v0 $0
#define t0 $1
#define t1 $2
#define t2 $3
#define t3 $4
#define t4 $5
#define t5 $6
#define t6 $7
#define t7 $8
#define s0 $9
#define s1 $10
#define s2 $11
#define s3 $12
#define s4 $13
#define s5 $14
#define s6 $15
#define a0 $16
#define a1 $17
#define a2 $18
#define a3 $19
#define a4 $20
#define a5 $21
#define t8 $22
#define t9 $23
#define t10 $24
#define t11 $25
#define ra $26
#define t12 $27
#define at $28
#define gp $29
#define sp $30
#define current $8

#define PS_USER 8
#define ENTRY_SYSCALL 5 /* number of entSys for WRENT */

/*
 * The caller's $30 as DW_CFA_val_expression. DWARF puts the CFA on the expression's stack first:
 *
 *       dup, 48, minus, deref      the frame's PS
 *       lit8 (PS_USER), and        was user mode interrupted?
 *       bra 1
 *       skip 2                     no: the CFA itself
 *   1:  80, minus, deref           yes: the frame's usp
 *   2:
 *
 * The kernel's own unwinder skips this instruction, because it stops at user mode.
 */
.macro USER_SP_CFI
    .cfi_escape 0x16, 30, 17, 0x12, 0x08, 48, 0x1c, 0x06, 0x38, 0x1a, 0x28, 3, 0
    .cfi_escape 0x2f, 4, 0, 0x08, 80, 0x1c, 0x06
.endm

/* Begin an entry point: PALcode's six quadwords are on the stack. */
.macro ENTRY name
    .align 4
    .globl \name
    .ent \name
    .type \name, @function
\name:
    .frame $30, 0, $26
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_return_column 64
    .cfi_def_cfa 30, 48
    USER_SP_CFI
    .cfi_offset 64, -40
    .cfi_offset 29, -32
    .cfi_offset 16, -24
    .cfi_offset 17, -16
    .cfi_offset 18, -8
.endm

.macro END name
    .cfi_endproc
    .end \name
.endm

.macro STORE reg, num, offset
    stq \reg, \offset(sp)
    .cfi_rel_offset \num, \offset
.endm

/* Store the registers that C may change, load $8 and $29, and check SP against the soft limit.
   Output: a3 the frame; v0, t0 and t1 are free. */
.macro SAVE
    lda sp, -TF_PAL(sp)
    .cfi_adjust_cfa_offset TF_PAL
    STORE v0, 0, TF_V0
    STORE t0, 1, TF_T0
    STORE t1, 2, TF_T1
    STORE t2, 3, TF_T2
    STORE t3, 4, TF_T3
    STORE t4, 5, TF_T4
    STORE t5, 6, TF_T5
    STORE t6, 7, TF_T6
    STORE t7, 8, TF_T7
    ldq current, CPU_CURRENT(gp)
    ldq gp, CPU_GP(gp)
    STORE a3, 19, TF_A3
    STORE a4, 20, TF_A4
    STORE a5, 21, TF_A5
    STORE t8, 22, TF_T8
    STORE t9, 23, TF_T9
    STORE t10, 24, TF_T10
    STORE t11, 25, TF_T11
    STORE ra, 26, TF_RA
    STORE t12, 27, TF_T12
    STORE at, 28, TF_AT
    ldq t0, HW_KSTACK_LIMIT(current)
    lda t1, -1
    stq t1, TF_ORIG_V0(sp)
    cmpult sp, t0, t0
    bne t0, stack_overflow
    mov sp, a3
.endm

.macro STORE_S
    stq s0, TF_S0(sp)
    stq s1, TF_S1(sp)
    stq s2, TF_S2(sp)
    stq s3, TF_S3(sp)
    stq s4, TF_S4(sp)
    stq s5, TF_S5(sp)
    stq s6, TF_S6(sp)
.endm

.macro LOAD_S
    ldq s0, TF_S0(sp)
    ldq s1, TF_S1(sp)
    ldq s2, TF_S2(sp)
    ldq s3, TF_S3(sp)
    ldq s4, TF_S4(sp)
    ldq s5, TF_S5(sp)
    ldq s6, TF_S6(sp)
.endm

/* Put the next instruction into the table of arch/alpha/hw/ipl_hook.c. */
.macro IPL_SITE kind
771:
    .pushsection .ipl_sites, "a"
    .quad 771b, \kind
    .popsection
.endm

/* Restore what SAVE stored, and return from the trap. The first instruction is replaced while
   raised IPL is measured: it becomes a call of ipl_hook_rti, which executes it in its place. */
.macro RESTORE_RTI
    IPL_SITE IPL_SITE_RTI
    ldq v0, TF_V0(sp)
    ldq t0, TF_T0(sp)
    ldq t1, TF_T1(sp)
    ldq t2, TF_T2(sp)
    ldq t3, TF_T3(sp)
    ldq t4, TF_T4(sp)
    ldq t5, TF_T5(sp)
    ldq t6, TF_T6(sp)
    ldq t7, TF_T7(sp)
    ldq a3, TF_A3(sp)
    ldq a4, TF_A4(sp)
    ldq a5, TF_A5(sp)
    ldq t8, TF_T8(sp)
    ldq t9, TF_T9(sp)
    ldq t10, TF_T10(sp)
    ldq t11, TF_T11(sp)
    ldq ra, TF_RA(sp)
    ldq t12, TF_T12(sp)
    ldq at, TF_AT(sp)
    lda sp, TF_PAL(sp)
    call_pal PAL_RTI
.endm

/* CFI at the start of a procedure to which entries branch after SAVE. */
.macro FRAME_CFI
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_return_column 64
    .cfi_def_cfa 30, TF_SIZE
    USER_SP_CFI
    .cfi_offset 64, TF_PC-TF_SIZE
    .cfi_offset 29, TF_GP-TF_SIZE
    .cfi_offset 16, TF_A0-TF_SIZE
    .cfi_offset 17, TF_A1-TF_SIZE
    .cfi_offset 18, TF_A2-TF_SIZE
    .cfi_offset 0, TF_V0-TF_SIZE
    .cfi_offset 1, TF_T0-TF_SIZE
    .cfi_offset 2, TF_T1-TF_SIZE
    .cfi_offset 3, TF_T2-TF_SIZE
    .cfi_offset 4, TF_T3-TF_SIZE
    .cfi_offset 5, TF_T4-TF_SIZE
    .cfi_offset 6, TF_T5-TF_SIZE
    .cfi_offset 7, TF_T6-TF_SIZE
    .cfi_offset 8, TF_T7-TF_SIZE
    .cfi_offset 19, TF_A3-TF_SIZE
    .cfi_offset 20, TF_A4-TF_SIZE
    .cfi_offset 21, TF_A5-TF_SIZE
    .cfi_offset 22, TF_T8-TF_SIZE
    .cfi_offset 23, TF_T9-TF_SIZE
    .cfi_offset 24, TF_T10-TF_SIZE
    .cfi_offset 25, TF_T11-TF_SIZE
    .cfi_offset 26, TF_RA-TF_SIZE
    .cfi_offset 27, TF_T12-TF_SIZE
    .cfi_offset 28, TF_AT-TF_SIZE
.endm

/*
 * entInt: a0 kind, a1 vector, a2 parameter. IPL: the interrupt's.
 */
    ENTRY entry_interrupt
    SAVE
    IPL_SITE IPL_SITE_INTERRUPT
    mov sp, a3
    jsr ra, trap_interrupt
    ldq t0, TF_PS(sp)
    and t0, PS_USER, t1
    bne t1, user_exit
    /* Return to kernel mode: a thread at IPL 0 is preempted if a reschedule is pending. */
    and t0, 7, t0
    bne t0, 1f
    ldq t1, HW_CPU(current)
    ldl t1, CPU_RESCHED(t1)
    beq t1, 1f
    /*
     * Entry code that has not loaded $8 and $29 yet is not preempted. Its $29 holds the address of
     * this CPU's block; if it were resumed on another CPU it would load the thread that is current
     * on this one. It checks for a reschedule itself on its way out.
     */
    ldq t1, TF_GP(sp)
    cmpeq t1, gp, t1
    beq t1, 1f
    jsr ra, sched_preempt_late
1:  RESTORE_RTI
    END entry_interrupt

/*
 * entMM: a0 virtual address; a1 kind: 0 not valid, 1 access violation, 2 FOR, 3 FOE, 4 FOW; a2: -1
 * instruction fetch, 0 load, 1 store. IPL: unchanged.
 */
    ENTRY entry_memory
    SAVE
    jsr ra, trap_memory
    ldq t0, TF_PS(sp)
    and t0, PS_USER, t1
    bne t1, user_exit
    RESTORE_RTI
    END entry_memory

/*
 * entArith: a0 summary, a1 register mask. IPL: unchanged.
 */
    ENTRY entry_arithmetic
    SAVE
    mov a3, a2
    jsr ra, trap_arithmetic
    ldq t0, TF_PS(sp)
    and t0, PS_USER, t1
    bne t1, user_exit
    RESTORE_RTI
    END entry_arithmetic

/*
 * entIF: a0 kind: 0 bpt, 1 bugchk, 2 gentrap, 3 FEN, 4 opDEC. IPL: unchanged.
 */
    ENTRY entry_instruction
    SAVE
    mov a3, a1
    jsr ra, trap_instruction
    ldq t0, TF_PS(sp)
    and t0, PS_USER, t1
    bne t1, user_exit
    RESTORE_RTI
    END entry_instruction

/*
 * entUna: a0 address, a1 opcode, a2 register. IPL: unchanged. The emulation reads or writes any
 * register through the frame, so s0-s6 are stored and loaded too.
 */
    ENTRY entry_unaligned
    SAVE
    STORE_S
    jsr ra, trap_unaligned
    LOAD_S
    ldq t0, TF_PS(sp)
    and t0, PS_USER, t1
    bne t1, user_exit
    RESTORE_RTI
    END entry_unaligned

/*
 * Return to user mode from an interrupt or a fault. The frame is complete except for s0-s6 and usp.
 * IPL: that of the entry.
 */
    .align 4
    .ent user_exit
    .type user_exit, @function
user_exit:
    FRAME_CFI
    ldq t0, HW_SYSCALL_EXIT(current)
    bne t0, .Luser_exit_slow
    RESTORE_RTI

/*
 * There is work to do before the return (a signal, a reschedule, a trace): complete the frame, do
 * the work at IPL 0, and read syscall_exit again with interrupts disabled.
 */
.Luser_exit_slow:
    STORE_S
    call_pal PAL_RDUSP
    stq v0, TF_USP(sp)
1:  mov zero, a0
    IPL_SITE IPL_SITE_SWPIPL
    call_pal PAL_SWPIPL
    jsr ra, process_return_slow
.Luser_exit_full:
    lda a0, 7
    IPL_SITE IPL_SITE_SWPIPL
    call_pal PAL_SWPIPL
    ldq t0, HW_SYSCALL_EXIT(current)
    bne t0, 3f
2:  ldq a0, TF_USP(sp)
    call_pal PAL_WRUSP
    LOAD_S
    RESTORE_RTI

/*
 * A bit in the lower half of syscall_exit asks for more work. In the upper half there is only
 * EXIT_TRACED: the thread's next system call goes to entry_syscall_traced.
 */
3:  addl t0, zero, t1
    bne t1, 1b
    lda a0, entry_syscall_traced
    lda a1, ENTRY_SYSCALL
    call_pal PAL_WRENT
    br 2b
    END user_exit

/*
 * void user_return_full(void) -- return to user mode by the complete frame at SP. user_enter of
 * arch/alpha/hw/switch.S jumps here through the pointer user_return. IPL 0. Does not return.
 */
    .globl user_return_full
    .ent user_return_full
    .type user_return_full, @function
user_return_full:
    .frame $30, 0, $26
    br .Luser_exit_full
    .end user_return_full

/*
 * SP is below the soft limit, and the frame lies in the reserve. Continue on the emergency stack,
 * with interrupts disabled: the emergency stack lies outside the thread's limits, so an interrupt
 * taken before the C function has cleared the limit would itself look like a stack overflow.
 * void trap_stack_overflow(struct trapframe *f, uint64_t sp)
 */
    .align 4
    .ent stack_overflow
    .type stack_overflow, @function
stack_overflow:
    FRAME_CFI
    STORE_S
    lda a0, 7
    call_pal PAL_SWPIPL
    mov sp, a0
    lda a1, TF_SIZE(sp)
    ldq t0, HW_CPU(current)
    ldq sp, CPU_EMERGENCY(t0)
    jsr ra, trap_stack_overflow
    call_pal PAL_HALT
    END stack_overflow

/*
 * entSys: v0 number, a0-a5 arguments. IPL 0. Only user mode executes callsys (in kernel mode it is
 * a machine check), so SP is kstack_top less PALcode's frame and needs no check.
 * Output: v0 result and a3 0, or v0 errno and a3 1; VMS services: v0 condition value, a3 unchanged.
 * Preserved: s0-s6, ra, gp, sp, a0-a2, a4, a5, and every floating-point register, because the
 * kernel is compiled without them. Zero: t0-t12 and at, which the C library declares clobbered.
 */
    ENTRY entry_syscall
    ldq current, CPU_CURRENT(gp)
    ldq gp, CPU_GP(gp)
.Lcall_begin:
    lda sp, -TF_PAL(sp)
    .cfi_adjust_cfa_offset TF_PAL
    stq v0, TF_ORIG_V0(sp)
    stq a0, TF_A0(sp)
    stq a1, TF_A1(sp)
    stq a2, TF_A2(sp)
    stq a3, TF_ORIG_A3(sp)
    stq a4, TF_A4(sp)
    stq a5, TF_A5(sp)
    STORE ra, 26, TF_RA
.Lcall:
    srl v0, SYS_POSIX_BITS, t0
    bne t0, .Lvms_call
    s8addq v0, gp, t0
    ldq t12, posix_dispatch(t0) !gprel
.Lposix_call:
    jsr ra, (t12)
    blt v0, .Lposix_error
    mov zero, a3
.Lsyscall_exit:
    ldq t0, HW_SYSCALL_EXIT(current)
    bne t0, .Lsyscall_exit_slow
    /*
     * What C code has left in the registers that a call clobbers must not reach the program: it
     * would find addresses and data of the kernel there. t0 is zero already.
     */
    mov zero, t1
    mov zero, t2
    mov zero, t3
    mov zero, t4
    mov zero, t5
    mov zero, t6
    mov zero, t7
    mov zero, t8
    mov zero, t9
    mov zero, t10
    mov zero, t11
    mov zero, t12
    mov zero, at
    ldq ra, TF_RA(sp)
    ldq a0, TF_A0(sp)
    ldq a1, TF_A1(sp)
    ldq a2, TF_A2(sp)
    ldq a4, TF_A4(sp)
    ldq a5, TF_A5(sp)
    lda sp, TF_PAL(sp)
    .cfi_remember_state
    .cfi_adjust_cfa_offset -TF_PAL
    call_pal PAL_RETSYS
    .cfi_restore_state

.Lposix_error:
    subq zero, v0, v0
    lda a3, 1
    lda t0, -ASM_ENOMEM(v0)
    bne t0, .Lsyscall_exit
    ldq a0, TF_ORIG_V0(sp)
    jsr ra, syscall_no_memory
    lda a3, 1
    bne v0, .Lsyscall_exit

/* There is memory again: the call is made once more. */
.Lcall_again:
    ldq v0, TF_ORIG_V0(sp)
    ldq a0, TF_A0(sp)
    ldq a1, TF_A1(sp)
    ldq a2, TF_A2(sp)
    ldq a3, TF_ORIG_A3(sp)
    ldq a4, TF_A4(sp)
    ldq a5, TF_A5(sp)
    br .Lcall

/* A number above those of POSIX calls: a service, or no call at all. */
.Lvms_call:
    lda t0, -SYS_VMS_FIRST(v0)
    lda t1, SYS_VMS_CALLS
    cmpult t0, t1, t1
    beq t1, .Lmissing_call
    lda t1, vms_dispatch
    s8addq t0, t1, t0
    ldq t12, 0(t0)
    lda t1, syscall_missing
    cmpeq t12, t1, t1
    bne t1, .Lposix_call
    blbs t12, .Lfull_call
    jsr ra, (t12)
    ldq a3, TF_ORIG_A3(sp)
    br .Lsyscall_exit

.Lmissing_call:
    lda t12, syscall_missing
    br .Lposix_call

/*
 * syscall_exit is set: complete the frame. The t registers are zeroed, as on the fast path.
 */
.Lsyscall_exit_slow:
    stq v0, TF_V0(sp)
    stq a3, TF_A3(sp)
    bsr t12, .Lclear_temporaries
    br .Luser_exit_slow

/* What posix_dispatch has for the calls that are marked SYS_FULL_FRAME, so that the others need no
   test: v0 is the number. */
    .globl syscall_full
syscall_full:
    lda t1, posix_calls
    sll v0, SYS_ENTRY_SHIFT, t0
    addq t1, t0, t1
    ldq t12, SYS_ENTRY_FN(t1)
    ldl t0, SYS_ENTRY_FLAGS(t1)
    bis t12, t0, t12

/* The call is marked SYS_FULL_FRAME and perhaps SYS_RAW: t12 function and flags. */
.Lfull_call:
    stq v0, TF_V0(sp)
    stq a3, TF_A3(sp)
    STORE_S
    mov t12, s0
    bsr t12, .Lclear_temporaries
    call_pal PAL_RDUSP
    stq v0, TF_USP(sp)
    ldq a0, TF_A0(sp)
    ldq a1, TF_A1(sp)
    ldq a2, TF_A2(sp)
    bic s0, SYS_FLAGS_MASK, t12
    jsr ra, (t12)
    and s0, SYS_RAW_FLAG, t0
    bne t0, 2f
    ldq t0, TF_ORIG_V0(sp)
    stq v0, TF_V0(sp)
    lda t0, -SYS_VMS_FIRST(t0)
    bge t0, 2f                  /* a VMS service leaves a3 unchanged */
    stq zero, TF_A3(sp)
    bge v0, 2f
    subq zero, v0, v0
    lda t0, 1
    stq v0, TF_V0(sp)
    stq t0, TF_A3(sp)
    lda t0, -ASM_ENOMEM(v0)
    bne t0, 2f
    ldq a0, TF_ORIG_V0(sp)
    jsr ra, syscall_no_memory
    stq v0, TF_V0(sp)
    bne v0, 2f
    LOAD_S
    br .Lcall_again
2:  br .Luser_exit_full

/*
 * Zero the frame's fields of the registers that a call clobbers. Return address in t12; clobbers
 * nothing.
 */
.Lclear_temporaries:
    stq zero, TF_T0(sp)
    stq zero, TF_T1(sp)
    stq zero, TF_T2(sp)
    stq zero, TF_T3(sp)
    stq zero, TF_T4(sp)
    stq zero, TF_T5(sp)
    stq zero, TF_T6(sp)
    stq zero, TF_T7(sp)
    stq zero, TF_T8(sp)
    stq zero, TF_T9(sp)
    stq zero, TF_T10(sp)
    stq zero, TF_T11(sp)
    stq zero, TF_T12(sp)
    stq zero, TF_AT(sp)
    ret zero, (t12), 1
    END entry_syscall

/*
 * entSys of a CPU on which a thread with EXIT_TRACED has returned to user mode. A thread without
 * that bit sets the CPU's entry point back and goes on at entry_syscall, so that the entry of
 * others need not ask whether they are traced. One with the bit gets a complete frame, in which its
 * tracer finds and changes registers, and makes the call from it.
 */
    ENTRY entry_syscall_traced
    ldq current, CPU_CURRENT(gp)
    ldq t0, HW_SYSCALL_EXIT(current)
    sra t0, 32, t0
    beq t0, .Luntraced_call
    ldq gp, CPU_GP(gp)
    lda sp, -TF_PAL(sp)
    .cfi_adjust_cfa_offset TF_PAL
    stq v0, TF_V0(sp)
    stq v0, TF_ORIG_V0(sp)
    stq a0, TF_A0(sp)
    stq a1, TF_A1(sp)
    stq a2, TF_A2(sp)
    stq a3, TF_A3(sp)
    stq a3, TF_ORIG_A3(sp)
    stq a4, TF_A4(sp)
    stq a5, TF_A5(sp)
    STORE ra, 26, TF_RA
    STORE_S
    bsr t12, .Lclear_temporaries
    call_pal PAL_RDUSP
    stq v0, TF_USP(sp)
    jsr ra, ptrace_call
    ldq a0, TF_USP(sp)
    call_pal PAL_WRUSP
    LOAD_S
    ldq v0, TF_V0(sp)
    ldq a0, TF_A0(sp)
    ldq a1, TF_A1(sp)
    ldq a2, TF_A2(sp)
    ldq a3, TF_A3(sp)
    ldq a4, TF_A4(sp)
    ldq a5, TF_A5(sp)
    br .Lcall

/* WRENT preserves t1-t7. The thread may be moved to another CPU here, and then sets the entry point
   of that one: a traced thread there sets it again when it next returns to user mode. */
.Luntraced_call:
    ldq gp, CPU_GP(gp)
    mov v0, t1
    mov a0, t2
    mov a1, t3
    lda a0, entry_syscall
    lda a1, ENTRY_SYSCALL
    call_pal PAL_WRENT
    mov t1, v0
    mov t2, a0
    mov t3, a1
    br .Lcall_begin
    END entry_syscall_traced

#ifdef MEGALITH_TEST
/*
 * long stack_stain(uint64_t byte) -- the system call MEGA_TEST_STAIN_CALL: fill the current
 * thread's kernel stack with the byte, from this frame, the outermost, down to the soft limit. So
 * the next call finds the byte wherever its functions have not written yet. Leaf; returns 0.
 */
    .globl stack_stain
    .ent stack_stain
    .type stack_stain, @function
stack_stain:
    .frame $30, 0, $26
    .cfi_startproc
    .prologue 0
    and a0, 255, t0
    sll t0, 8, t1
    bis t0, t1, t0
    sll t0, 16, t1
    bis t0, t1, t0
    sll t0, 32, t1
    bis t0, t1, t0
    ldq t1, HW_KSTACK_LIMIT(current)
    mov sp, t2
1:  lda t2, -8(t2)
    stq t0, 0(t2)
    cmpult t1, t2, t3
    bne t3, 1b
    mov zero, v0
    ret zero, (ra), 1
    .cfi_endproc
    .end stack_stain
#endif

    .section .note.GNU-stack, "", @progbits
