/*
 * The first instructions of each CPU. PALcode's console enters both procedures in kernel mode at
 * the highest IPL, on the primary CPU with the console's page tables, on a secondary with those
 * given in the PCB of its HWRPB slot. The image lies in KSEG, so it runs without page tables of its
 * own.
 */
#include "arch/alpha/hw/asm_offsets.h"

    .set noat
    .set noreorder

/*
 * void _start(void) -- entered by the console on the primary CPU.
 * Input: none. Stack: the console's, abandoned at once. Does not return.
 */
    .section .text.boot, "ax"
    .globl _start
    .ent _start
    .type _start, @function
_start:
    .frame $30, 0, $26
    .cfi_startproc
    .cfi_undefined 26
    br $27, 1f
1:  ldgp $29, 0($27)

    /* Clear .sbss and .bss; the linker aligns their ends to 8 bytes. */
    lda $1, _bss_start
    lda $2, _bss_end
2:  cmpult $1, $2, $3
    beq $3, 3f
    stq $31, 0($1)
    lda $1, 8($1)
    br 2b

    /* The boot stack and the boot thread of CPU 0, both in the image. */
3:  lda $30, boot_stacks
    lda $1, BOOT_STACK_SIZE
    addq $30, $1, $30
    lda $8, boot_threads
    mov $29, $16
    jsr $26, kernel_boot
    ldgp $29, 0($26)
    call_pal PAL_HALT
    .cfi_endproc
    .end _start

/*
 * void secondary_start(struct cpu *cpu) -- entered by the console on a secondary CPU.
 * Input: $27 the CPU's block (the HWRPB's cpu_restart_data), whose current thread and GP are set.
 * Stack: the CPU's boot stack, from the slot's PCB. Does not return.
 */
    .text
    .globl secondary_start
    .ent secondary_start
    .type secondary_start, @function
secondary_start:
    .frame $30, 0, $26
    .cfi_startproc
    .cfi_undefined 26
    mov $27, $16
    ldq $29, CPU_GP($16)
    ldq $8, CPU_CURRENT($16)
    jsr $26, secondary_boot
    ldgp $29, 0($26)
    call_pal PAL_HALT
    .cfi_endproc
    .end secondary_start

    .section .note.GNU-stack, "", @progbits
