/*
 * The routines to which the sites of ipl_hook.c branch. Each calls the hook of its kind and has the
 * effect of the instruction that it replaces. $8 and $29 are the kernel's at every site.
 */
#include "arch/alpha/hw/asm_offsets.h"

    .text
    .set noat
    .set noreorder

#define IPL_HIGH 7

#define HOOK_SWPIPL    0 /* struct ipl_hooks */
#define HOOK_INTERRUPT 8
#define HOOK_RTI       16

/* Load the hook at that offset into $27 and call it. */
.macro CALL_HOOK offset
    lda $27, ipl_hooks
    ldq $27, 0($27)
    ldq $27, \offset($27)
    jsr $26, ($27)
.endm

#define SAVED 128

/*
 * For SWPIPL. Input: $16 the new IPL, $25 the return address. Output: $0 the old IPL. PALcode's
 * SWPIPL may change $1, $16-$18 and $22-$25, and so may this; all other registers are preserved.
 * Everything is done at IPL_HIGH, so that no interrupt comes between a change and its record.
 */
    .align 4
    .globl ipl_hook_swpipl
    .ent ipl_hook_swpipl
    .type ipl_hook_swpipl, @function
ipl_hook_swpipl:
    .frame $30, SAVED, $25
    .cfi_startproc simple
    .cfi_return_column 25
    .cfi_def_cfa 30, 0
    lda $30, -SAVED($30)
    .cfi_adjust_cfa_offset SAVED
    stq $25, 0($30)
    .cfi_rel_offset 25, 0
    stq $16, 8($30)
    lda $16, IPL_HIGH
    call_pal PAL_SWPIPL
    rpcc $1
    stq $0, 16($30)
    stq $26, 24($30)
    .cfi_rel_offset 26, 24
    stq $27, 32($30)
    stq $28, 40($30)
    stq $2, 48($30)
    stq $3, 56($30)
    stq $4, 64($30)
    stq $5, 72($30)
    stq $6, 80($30)
    stq $7, 88($30)
    stq $19, 96($30)
    stq $20, 104($30)
    stq $21, 112($30)
    mov $0, $16
    ldq $17, 8($30)
    ldq $18, 0($30)
    zapnot $1, 15, $19
    CALL_HOOK HOOK_SWPIPL
    ldq $26, 24($30)
    ldq $27, 32($30)
    ldq $28, 40($30)
    ldq $2, 48($30)
    ldq $3, 56($30)
    ldq $4, 64($30)
    ldq $5, 72($30)
    ldq $6, 80($30)
    ldq $7, 88($30)
    ldq $19, 96($30)
    ldq $20, 104($30)
    ldq $21, 112($30)
    ldq $16, 8($30)
    call_pal PAL_SWPIPL
    ldq $0, 16($30)
    ldq $25, 0($30)
    lda $30, SAVED($30)
    .cfi_adjust_cfa_offset -SAVED
    jmp $31, ($25)
    .cfi_endproc
    .end ipl_hook_swpipl

/*
 * For the entry of an interrupt, in place of "mov sp, a3" after SAVE of entry.S. Input: $0 the
 * return address, $16-$18 the arguments of the interrupt, which are preserved. Output: $19 the
 * frame. All other registers that C may change are in the frame already.
 */
    .align 4
    .globl ipl_hook_interrupt
    .ent ipl_hook_interrupt
    .type ipl_hook_interrupt, @function
ipl_hook_interrupt:
    .frame $30, 32, $0
    .cfi_startproc simple
    .cfi_return_column 0
    .cfi_def_cfa 30, 0
    lda $30, -32($30)
    .cfi_adjust_cfa_offset 32
    stq $0, 0($30)
    .cfi_rel_offset 0, 0
    stq $16, 8($30)
    stq $17, 16($30)
    stq $18, 24($30)
    lda $16, 32($30)
    CALL_HOOK HOOK_INTERRUPT
    ldq $0, 0($30)
    ldq $16, 8($30)
    ldq $17, 16($30)
    ldq $18, 24($30)
    lda $30, 32($30)
    .cfi_adjust_cfa_offset -32
    mov $30, $19
    jmp $31, ($0)
    .cfi_endproc
    .end ipl_hook_interrupt

/*
 * For the return from a trap, in place of RESTORE_RTI's load of $0. Input: $0 the return address,
 * SP at the frame, from which all registers that C may change are loaded next.
 */
    .align 4
    .globl ipl_hook_rti
    .ent ipl_hook_rti
    .type ipl_hook_rti, @function
ipl_hook_rti:
    .frame $30, 16, $0
    .cfi_startproc simple
    .cfi_return_column 0
    .cfi_def_cfa 30, 0
    lda $30, -16($30)
    .cfi_adjust_cfa_offset 16
    stq $0, 0($30)
    .cfi_rel_offset 0, 0
    lda $16, 16($30)
    CALL_HOOK HOOK_RTI
    ldq $27, 0($30)
    .cfi_register 0, 27
    lda $30, 16($30)
    .cfi_adjust_cfa_offset -16
    ldq $0, TF_V0($30)
    jmp $31, ($27)
    .cfi_endproc
    .end ipl_hook_rti

    .section .note.GNU-stack, "", @progbits
