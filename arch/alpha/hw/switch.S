/* Context switch; contracts in arch/alpha/hw/switch.h. */
#include "arch/alpha/hw/asm_offsets.h"

    .text
    .set noat
    .set noreorder

#define SWITCH_FRAME 64 /* struct switch_frame of switch.c */

/*
 * struct thread_hw *context_switch(struct thread_hw *from, struct thread_hw *to)
 * Input: $16 from (current), $17 to. Output: $0 the thread that ran before. IPL: see switch.h;
 * nothing else on this CPU may use the current thread meanwhile. Stack: 64 bytes of from's.
 * PALcode may change $1, $16-$18 and $22-$25; values that are needed after SWPCTX are in $2-$7 and
 * $19-$21.
 */
    .globl context_switch
    .ent context_switch
    .type context_switch, @function
context_switch:
    .frame $30, SWITCH_FRAME, $26
    .cfi_startproc
    .mask 0x0400fe00, -SWITCH_FRAME
    lda $30, -SWITCH_FRAME($30)
    .cfi_adjust_cfa_offset SWITCH_FRAME
    stq $26, 0($30)
    stq $9, 8($30)
    stq $10, 16($30)
    stq $11, 24($30)
    stq $12, 32($30)
    stq $13, 40($30)
    stq $14, 48($30)
    stq $15, 56($30)
    .cfi_rel_offset 26, 0
    .cfi_rel_offset 9, 8
    .cfi_rel_offset 10, 16
    .cfi_rel_offset 11, 24
    .cfi_rel_offset 12, 32
    .cfi_rel_offset 13, 40
    .cfi_rel_offset 14, 48
    .cfi_rel_offset 15, 56
    .prologue 0
    mov $16, $19                /* $19 from, $20 to */
    mov $17, $20

    ldq $1, PCB_FLAGS($19)
    ldq $7, PCB_FLAGS($20)      /* $7 flags of `to` */
    blbc $1, 1f
    lda $16, HW_FP($19)
    bsr $26, fp_store
1:
    /* Fill in that PCB of this CPU which is not loaded with the values of `to`. */
    ldq $2, HW_CPU($19)         /* $2 CPU */
    ldl $3, CPU_PCB_LIVE($2)
    lda $4, CPU_PCB($2)
    addq $4, $3, $5             /* $5 the PCB that is loaded now */
    xor $3, PCB_SIZE, $3
    stl $3, CPU_PCB_LIVE($2)
    addq $4, $3, $4             /* $4 the other one */
    stq $30, PCB_KSP($19)
    ldq $21, PCB_PTBR($19)
    ldq $6, PCB_PTBR($20)
    ldq $1, PCB_KSP($20)
    ldq $22, PCB_USP($20)
    ldq $23, PCB_UNIQUE($20)
    stq $1, PCB_KSP($4)
    stq $22, PCB_USP($4)
    stq $6, PCB_PTBR($4)
    stq $31, PCB_PTBR+8($4)     /* cycle count and ASN 0 */
    stq $23, PCB_UNIQUE($4)
    and $7, HW_FP_USED, $1
    stq $1, PCB_FLAGS($4)       /* FEN */
    sll $4, 22, $16             /* physical address: the block lies in KSEG */
    srl $16, 22, $16
    call_pal PAL_SWPCTX

    /* SP is on the stack of `to` now. PALcode has saved the USP and the unique value of `from` in
       the PCB that was loaded before. */
    ldq $1, PCB_USP($5)
    ldq $22, PCB_UNIQUE($5)
    stq $1, PCB_USP($19)
    stq $22, PCB_UNIQUE($19)
    stq $2, HW_CPU($20)
    stq $20, CPU_CURRENT($2)
    /* A call while a model of translation buffers listens (arch/alpha/hw/tb_model.h). */
.Lsite:
    mov $20, $8
    .pushsection .tb_sites, "a"
    .quad .Lsite, TB_SITE_SWITCH
    .popsection

    /* In user mode the CPU's floating-point registers are the thread's own (arch/alpha/hw/fp.h). */
    beq $7, 5f                  /* a thread of the kernel, which uses none */
    blbs $7, 6f
    ldl $1, CPU_FP_STALE($2)
    bne $1, 7f
5:
    /* The ASN is always 0, so a change of the root invalidates all translations of processes. */
    cmpeq $6, $21, $1
    beq $1, 4f
3:  mov $19, $0
    ldq $26, 0($30)
    ldq $9, 8($30)
    ldq $10, 16($30)
    ldq $11, 24($30)
    ldq $12, 32($30)
    ldq $13, 40($30)
    ldq $14, 48($30)
    ldq $15, 56($30)
    lda $30, SWITCH_FRAME($30)
    .cfi_remember_state
    .cfi_adjust_cfa_offset -SWITCH_FRAME
    .cfi_restore 26
    .cfi_restore 9
    .cfi_restore 10
    .cfi_restore 11
    .cfi_restore 12
    .cfi_restore 13
    .cfi_restore 14
    .cfi_restore 15
    ret $31, ($26), 1
    .cfi_restore_state
4:  lda $16, -1
    mov $31, $17
    call_pal PAL_TBI
    br 3b
6:  lda $16, HW_FP($20)
    bsr $26, fp_load
    lda $1, 1
    stl $1, CPU_FP_STALE($2)
    br 5b
7:  lda $16, 1                  /* hw.fp of a thread that has not used the unit is 0 */
    call_pal PAL_WRFEN
    lda $16, HW_FP($20)
    bsr $26, fp_load
    mov $31, $16
    call_pal PAL_WRFEN
    stl $31, CPU_FP_STALE($2)
    br 5b
    .cfi_endproc
    .end context_switch

/*
 * void context_load_pcb(struct hwpcb *pcb)
 * Input: $16 a PCB of this CPU that is not loaded, filled in for the current thread but for KSP.
 * The caller's stack stays in use. IPL, and what PALcode may change: as context_switch.
 */
    .globl context_load_pcb
    .ent context_load_pcb
    .type context_load_pcb, @function
context_load_pcb:
    .frame $30, 0, $26
    .cfi_startproc
    .prologue 0
    stq $30, PCB_KSP($16)
    sll $16, 22, $16            /* physical address: the block lies in KSEG */
    srl $16, 22, $16
    call_pal PAL_SWPCTX
    ret $31, ($26), 1
    .cfi_endproc
    .end context_load_pcb

/*
 * void thread_trampoline(void) -- the first code of a new thread, to which context_switch returns.
 * Input: $0 the thread that ran before, $9 (from context_prepare) the start function. Unwinders
 * stop here, because the return address is undefined.
 */
    .globl thread_trampoline
    .ent thread_trampoline
    .type thread_trampoline, @function
thread_trampoline:
    .frame $30, 0, $26
    .cfi_startproc
    .cfi_undefined 26
    .prologue 0
    mov $0, $16
    mov $9, $27
    jsr $26, ($27)
    call_pal PAL_HALT
    .cfi_endproc
    .end thread_trampoline

/*
 * void user_enter(void) -- a thread's first entry into user mode, by the complete frame that ends
 * at kstack_top. Input: $8. IPL 0. Does not return: it jumps to user_return with SP at the frame.
 */
    .globl user_enter
    .ent user_enter
    .type user_enter, @function
user_enter:
    .frame $30, 0, $26
    .cfi_startproc
    .cfi_undefined 26
    .prologue 0
    ldq $1, HW_KSTACK_TOP($8)
    lda $30, -TF_SIZE($1)
    lda $2, user_return
    ldq $27, 0($2)
    jmp $31, ($27)
    .cfi_endproc
    .end user_enter

    .section .note.GNU-stack, "", @progbits
