/* Storing and loading the floating-point registers; contracts in arch/alpha/hw/fp.h. */
    .text
    .set noat
    .set noreorder
    .arch ev67

/*
 * void fp_store(struct fp_state *s)
 * Input: $16 s. Clobbers nothing: $f0 is used to read FPCR and loaded again. The unit is enabled.
 */
    .globl fp_store
    .ent fp_store
    .type fp_store, @function
fp_store:
    .frame $30, 0, $26
    .cfi_startproc
    .prologue 0
    stt $f0, 0($16)
    stt $f1, 8($16)
    stt $f2, 16($16)
    stt $f3, 24($16)
    stt $f4, 32($16)
    stt $f5, 40($16)
    stt $f6, 48($16)
    stt $f7, 56($16)
    stt $f8, 64($16)
    stt $f9, 72($16)
    stt $f10, 80($16)
    stt $f11, 88($16)
    stt $f12, 96($16)
    stt $f13, 104($16)
    stt $f14, 112($16)
    stt $f15, 120($16)
    stt $f16, 128($16)
    stt $f17, 136($16)
    stt $f18, 144($16)
    stt $f19, 152($16)
    stt $f20, 160($16)
    stt $f21, 168($16)
    stt $f22, 176($16)
    stt $f23, 184($16)
    stt $f24, 192($16)
    stt $f25, 200($16)
    stt $f26, 208($16)
    stt $f27, 216($16)
    stt $f28, 224($16)
    stt $f29, 232($16)
    stt $f30, 240($16)
    mf_fpcr $f0
    stt $f0, 248($16)
    ldt $f0, 0($16)
    ret $31, ($26), 1
    .cfi_endproc
    .end fp_store

/*
 * void fp_load(const struct fp_state *s)
 * Input: $16 s. Output: $f0-$f30 and FPCR. The unit is enabled.
 */
    .globl fp_load
    .ent fp_load
    .type fp_load, @function
fp_load:
    .frame $30, 0, $26
    .cfi_startproc
    .prologue 0
    ldt $f0, 248($16)
    mt_fpcr $f0
    ldt $f0, 0($16)
    ldt $f1, 8($16)
    ldt $f2, 16($16)
    ldt $f3, 24($16)
    ldt $f4, 32($16)
    ldt $f5, 40($16)
    ldt $f6, 48($16)
    ldt $f7, 56($16)
    ldt $f8, 64($16)
    ldt $f9, 72($16)
    ldt $f10, 80($16)
    ldt $f11, 88($16)
    ldt $f12, 96($16)
    ldt $f13, 104($16)
    ldt $f14, 112($16)
    ldt $f15, 120($16)
    ldt $f16, 128($16)
    ldt $f17, 136($16)
    ldt $f18, 144($16)
    ldt $f19, 152($16)
    ldt $f20, 160($16)
    ldt $f21, 168($16)
    ldt $f22, 176($16)
    ldt $f23, 184($16)
    ldt $f24, 192($16)
    ldt $f25, 200($16)
    ldt $f26, 208($16)
    ldt $f27, 216($16)
    ldt $f28, 224($16)
    ldt $f29, 232($16)
    ldt $f30, 240($16)
    ret $31, ($26), 1
    .cfi_endproc
    .end fp_load

    .section .note.GNU-stack, "", @progbits
