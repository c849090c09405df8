/*
 * void mega$resume(const struct resume *r);
 *
 * Continues at r->pc with the registers of *r (unwind.c), as if a call had returned r->value.
 * In: $16 is r. Loads $9 to $15, $f2 to $f9, $30, $0 and $26: behind a call, code computes its GP
 * from $26. *r may lie below the new stack pointer, so $30 is loaded last.
 */
    .set noreorder
    .set noat
    .text
    .globl mega$resume
    .ent mega$resume
mega$resume:
    .frame $30, 0, $26, 0
    .prologue 0
    ldq $9, 0($16)
    ldq $10, 8($16)
    ldq $11, 16($16)
    ldq $12, 24($16)
    ldq $13, 32($16)
    ldq $14, 40($16)
    ldq $15, 48($16)
    ldt $f2, 56($16)
    ldt $f3, 64($16)
    ldt $f4, 72($16)
    ldt $f5, 80($16)
    ldt $f6, 88($16)
    ldt $f7, 96($16)
    ldt $f8, 104($16)
    ldt $f9, 112($16)
    ldq $26, 120($16)
    ldq $0, 136($16)
    ldq $30, 128($16)
    ret $31, ($26), 1
    .end mega$resume
    .section .note.GNU-stack, "", @progbits
