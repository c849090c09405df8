/*
 * mega$ast_return -- where AST routines return to, as their return address.
 *
 * In: $30 as the routine was called with. The service loads all registers as they were when the AST
 * was delivered, and goes on there.
 */
#include <megalith/services.h>

    .set noreorder
    .set noat
    .text
    .globl mega$ast_return
    .ent mega$ast_return
mega$ast_return:
    .frame $30, 0, $26, 0
    .prologue 0
    lda $0, MEGA_SYS_AST_EXIT($31)
    call_pal 0x83
    .end mega$ast_return
    .section .note.GNU-stack, "", @progbits
