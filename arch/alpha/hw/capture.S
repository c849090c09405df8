/* See arch/alpha/hw/capture.h. */
    .text
    .set noat
    .set noreorder

/*
 * void hw_capture(uint64_t reg[32])
 * Input: $16 the array, which is filled in. Clobbers nothing. Any IPL; no stack.
 */
    .globl hw_capture
    .ent hw_capture
    .type hw_capture, @function
hw_capture:
    .frame $30, 0, $26
    .prologue 0
    .cfi_startproc
    stq $9, 9*8($16)
    stq $10, 10*8($16)
    stq $11, 11*8($16)
    stq $12, 12*8($16)
    stq $13, 13*8($16)
    stq $14, 14*8($16)
    stq $15, 15*8($16)
    stq $26, 26*8($16)
    stq $29, 29*8($16)
    stq $30, 30*8($16)
    ret $31, ($26), 1
    .cfi_endproc
    .end hw_capture

    .section .note.GNU-stack, "", @progbits
