/* The routines to which the sites of tb_model.c branch. $8 and $29 are the kernel's there. */
#include "arch/alpha/hw/asm_offsets.h"

    .text
    .set noat
    .set noreorder

#define TBI_KINDS 7 /* the bits of a kind of TBI that enum tb_says has */
#define PAGE_BITS 13

/*
 * For TBI. Input: $16 the kind, $17 the address, $25 the return address. PALcode's TBI may change
 * $1, $16-$18 and $22-$25, and so may this; all other registers are preserved. The announcement is
 * one store, so an interrupt that announces something else may come at any point.
 */
    .align 4
    .globl tb_hook_invalidate
    .ent tb_hook_invalidate
    .type tb_hook_invalidate, @function
tb_hook_invalidate:
    .frame $30, 16, $25
    .cfi_startproc simple
    .cfi_return_column 25
    .cfi_def_cfa 30, 0
    lda $30, -16($30)
    .cfi_adjust_cfa_offset 16
    stq $25, 0($30)
    .cfi_rel_offset 25, 0
    and $16, TBI_KINDS, $1
    srl $17, PAGE_BITS, $22
    sll $22, PAGE_BITS, $22
    bis $22, $1, $1
    ldq $22, HW_CPU($8)
    ldq $22, CPU_ID($22)
    lda $23, tb_announced
    s8addq $22, $23, $22
    stq $1, 0($22)
    call_pal PAL_TBI
    ldq $25, 0($30)
    lda $30, 16($30)
    .cfi_adjust_cfa_offset -16
    jmp $31, ($25)
    .cfi_endproc
    .end tb_hook_invalidate

#define SAVED 64

/*
 * For the switch to another thread, in place of "mov a4, t7" of context_switch, when the root has
 * been loaded. Input: $20 the new thread, $6 its root, $1 the return address. Output: $8. Preserves
 * $2, $6, $7 and $19-$21, which context_switch needs, and what every function preserves.
 */
    .align 4
    .globl tb_hook_switch
    .ent tb_hook_switch
    .type tb_hook_switch, @function
tb_hook_switch:
    .frame $30, SAVED, $1
    .cfi_startproc simple
    .cfi_return_column 1
    .cfi_def_cfa 30, 0
    mov $20, $8
    lda $30, -SAVED($30)
    .cfi_adjust_cfa_offset SAVED
    stq $1, 0($30)
    .cfi_rel_offset 1, 0
    stq $2, 8($30)
    stq $6, 16($30)
    stq $7, 24($30)
    stq $19, 32($30)
    stq $20, 40($30)
    stq $21, 48($30)
    mov $6, $16
    lda $27, tb_model_root
    jsr $26, ($27)
    ldq $1, 0($30)
    ldq $2, 8($30)
    ldq $6, 16($30)
    ldq $7, 24($30)
    ldq $19, 32($30)
    ldq $20, 40($30)
    ldq $21, 48($30)
    lda $30, SAVED($30)
    .cfi_adjust_cfa_offset -SAVED
    jmp $31, ($1)
    .cfi_endproc
    .end tb_hook_switch

    .section .note.GNU-stack, "", @progbits
