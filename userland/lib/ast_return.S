/*
 * mega$ast_return -- where AST routines return to, as their return address.
 *
 * In: $30 as the routine was called with, which is the address of a sigcontext
 * (arch/alpha/hw/sigcontext.h). The service loads all registers as they were when the AST was
 * delivered, and goes on there.
 *
 * The unwinder is told so too: the frame is one of a signal, in which each register is saved, and
 * column 64 is the PC that was interrupted. It looks up the byte before the return address, so the
 * description begins at an instruction before the label.
 */
#include <megalith/services.h>

#define SC_PC     16
#define SC_REGS   32
#define SC_FPREGS 296
#define PC_COLUMN 64

/* The place of a register: what $30 points to and an offset of two bytes of SLEB128. */
.macro saved column, offset
    .cfi_escape 0x10, \column, 3, 0x8e, (\offset & 0x7f) | 0x80, \offset >> 7
.endm

    .set noreorder
    .set noat
    .text
    .globl mega$ast_return
    .type mega$ast_return, @function
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column PC_COLUMN
    /* The CFA, which is the $30 that was interrupted. */
    .cfi_escape 0x0f, 4, 0x8e, ((SC_REGS + 30 * 8) & 0x7f) | 0x80, (SC_REGS + 30 * 8) >> 7, 0x06
    .irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29
    saved \number, (SC_REGS + \number * 8)
    saved (32 + \number), (SC_FPREGS + \number * 8)
    .endr
    saved 62, (SC_FPREGS + 30 * 8)
    saved PC_COLUMN, SC_PC
    nop
mega$ast_return:
    lda $0, MEGA_SYS_AST_EXIT($31)
    call_pal 0x83
    .cfi_endproc
    .size mega$ast_return, . - mega$ast_return
    .section .note.GNU-stack, "", @progbits
