/*
 * Integer division. Alpha has no divide instruction; GCC calls these procedures, which have a
 * calling convention of their own. libgcc does not contain them. They are part of a C library, but
 * its versions use the floating-point unit, which the kernel does not use.
 *
 * Convention of all eight:
 *   in       $24 dividend, $25 divisor, $23 return address
 *   out      $27 quotient or remainder; results of the 32-bit forms are sign-extended
 *   clobbers $28; all other registers are preserved, the arguments too
 *   stack    64 bytes, aligned; any IPL
 *   a divisor of zero causes the trap GEN_INTDIV, as in the C library's versions
 *
 * Method: the divisor is shifted left until its top bit is in the position of the dividend's; then
 * each step finds one bit of the quotient. This takes eight instructions for each bit by which the
 * operands differ in length, and eight more.
 */

#define CALL_PAL_GENTRAP 0xaa
#define GEN_INTDIV -2

#define dividend $24
#define divisor $25
#define result $27
#define steps $0
#define fits $1
#define less $2
#define sign $3
#define tmp $28

    .set noat
    .text

/* is_signed: signed operands; is_long: 32-bit operands; is_rem: the result is the remainder. */
    .macro DIVIDE name, is_signed, is_long, is_rem
    .align 4
    .globl \name
    .ent \name
\name:
    .cfi_startproc simple
    .cfi_def_cfa $30, 0
    .cfi_return_column 23
    lda $30, -64($30)
    .cfi_def_cfa_offset 64
    .frame $30, 64, $23, 0
    stq $24, 0($30)
    stq $25, 8($30)
    stq $0, 16($30)
    stq $1, 24($30)
    stq $2, 32($30)
    stq $3, 40($30)
    .prologue 0

    /* Extend the operands to 64 bits and take their absolute values. */
    .if \is_long
    .if \is_signed
    addl dividend, $31, dividend
    addl divisor, $31, divisor
    .else
    zapnot dividend, 15, dividend
    zapnot divisor, 15, divisor
    .endif
    .endif
    .if \is_signed
    .if \is_rem
    mov dividend, sign
    .else
    xor dividend, divisor, sign
    .endif
    subq $31, dividend, tmp
    cmovlt dividend, tmp, dividend
    subq $31, divisor, tmp
    cmovlt divisor, tmp, divisor
    .endif

    mov $31, result
    beq divisor, 3f
    cmpult dividend, divisor, tmp
    bne tmp, 2f

    ctlz dividend, steps
    ctlz divisor, tmp
    subq tmp, steps, steps
    sll divisor, steps, divisor
1:  cmpule divisor, dividend, fits
    subq dividend, divisor, less
    addq result, result, result
    cmovne fits, less, dividend
    bis result, fits, result
    srl divisor, 1, divisor
    subq steps, 1, steps
    bge steps, 1b

    /* What is left of the dividend is the remainder. */
2:
    .if \is_rem
    mov dividend, result
    .endif
    .if \is_signed
    subq $31, result, tmp
    cmovlt sign, tmp, result
    .endif
    .if \is_long
    addl result, $31, result
    .endif
    br 4f

3:  mov $16, tmp
    lda $16, GEN_INTDIV($31)
    call_pal CALL_PAL_GENTRAP
    mov tmp, $16

4:  ldq $24, 0($30)
    ldq $25, 8($30)
    ldq $0, 16($30)
    ldq $1, 24($30)
    ldq $2, 32($30)
    ldq $3, 40($30)
    lda $30, 64($30)
    .cfi_def_cfa_offset 0
    ret $31, ($23), 1
    .cfi_endproc
    .end \name
    .endm

    DIVIDE __divqu, 0, 0, 0
    DIVIDE __remqu, 0, 0, 1
    DIVIDE __divq, 1, 0, 0
    DIVIDE __remq, 1, 0, 1
    DIVIDE __divlu, 0, 1, 0
    DIVIDE __remlu, 0, 1, 1
    DIVIDE __divl, 1, 1, 0
    DIVIDE __reml, 1, 1, 1

    .section .note.GNU-stack, "", @progbits
