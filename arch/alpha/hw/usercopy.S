/*
 * Copying to and from user memory. Every access to user memory has an entry in __ex_table: when its
 * fault cannot be resolved, the trap handler continues at the fix-up, which returns -EFAULT.
 * Accesses to kernel memory have no entry: a fault there is a bug and panics.
 *
 * These are leaf functions that use no stack and no GP. Their C prototypes are given above each; $8
 * is preserved.
 */
#include "arch/alpha/hw/asm_offsets.h"

        .set    noat
        .set    noreorder
        .arch   ev6
        .text

/* An instruction, with an entry in the exception table if \fix is 1. */
.macro  ACCESS fix:req, insn:vararg
        .if \fix
77:     \insn
        .section __ex_table, "a"
        .quad   77b, .Lefault
        .previous
        .else
        \insn
        .endif
.endm

.macro  FUNCTION name:req
        .align  4
        .globl  \name
        .ent    \name
\name:
        .frame  $30, 0, $26
        .prologue 0
        .cfi_startproc
.endm

.macro  END_FUNCTION name:req
        .cfi_endproc
        .end    \name
.endm

/*
 * long NAME(void *dst, const void *src, size_t nbytes)
 *   In:   $16 dst, $17 src, $18 nbytes
 *   Out:  $0 is 0 or -EFAULT; the bytes before a fault have been copied
 *   Uses: $1-$7, $22-$25
 *   \fl: loads may fault; \fs: stores may fault
 *
 * Bytes are copied until dst is aligned to a quadword. Then quadwords are copied: 64 bytes in each
 * round if src is aligned too; otherwise each from the two source quadwords that contain it (ldq_u
 * never traps for alignment, and no quadword is read that contains no byte to copy). The rest is
 * copied by bytes.
 */
.macro  COPY name:req, fl:req, fs:req
        FUNCTION \name
        beq     $18, 9f
1:      and     $16, 7, $1
        beq     $1, 2f
        ACCESS  \fl, ldbu $2, 0($17)
        ACCESS  \fs, stb $2, 0($16)
        lda     $17, 1($17)
        lda     $16, 1($16)
        lda     $18, -1($18)
        bne     $18, 1b
        br      $31, 9f

2:      and     $17, 7, $1
        srl     $18, 6, $22
        bne     $1, 6f
        beq     $22, 4f
3:      ACCESS  \fl, ldq $1, 0($17)
        ACCESS  \fl, ldq $2, 8($17)
        ACCESS  \fl, ldq $3, 16($17)
        ACCESS  \fl, ldq $4, 24($17)
        ACCESS  \fl, ldq $5, 32($17)
        ACCESS  \fl, ldq $6, 40($17)
        ACCESS  \fl, ldq $7, 48($17)
        ACCESS  \fl, ldq $23, 56($17)
        ACCESS  \fs, stq $1, 0($16)
        ACCESS  \fs, stq $2, 8($16)
        ACCESS  \fs, stq $3, 16($16)
        ACCESS  \fs, stq $4, 24($16)
        ACCESS  \fs, stq $5, 32($16)
        ACCESS  \fs, stq $6, 40($16)
        ACCESS  \fs, stq $7, 48($16)
        ACCESS  \fs, stq $23, 56($16)
        lda     $22, -1($22)
        lda     $17, 64($17)
        lda     $16, 64($16)
        bne     $22, 3b
4:      and     $18, 56, $22
        beq     $22, 7f
5:      ACCESS  \fl, ldq $1, 0($17)
        ACCESS  \fs, stq $1, 0($16)
        lda     $22, -8($22)
        lda     $17, 8($17)
        lda     $16, 8($16)
        bne     $22, 5b
        br      $31, 7f

6:      srl     $18, 3, $22
        beq     $22, 7f
61:     ACCESS  \fl, ldq_u $1, 0($17)
        ACCESS  \fl, ldq_u $2, 7($17)
        extql   $1, $17, $1
        extqh   $2, $17, $2
        bis     $1, $2, $1
        ACCESS  \fs, stq $1, 0($16)
        lda     $22, -1($22)
        lda     $17, 8($17)
        lda     $16, 8($16)
        bne     $22, 61b

7:      and     $18, 7, $18
        beq     $18, 9f
8:      ACCESS  \fl, ldbu $1, 0($17)
        ACCESS  \fs, stb $1, 0($16)
        lda     $18, -1($18)
        lda     $17, 1($17)
        lda     $16, 1($16)
        bne     $18, 8b
9:      mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION \name
.endm

        COPY    user_copy_from, 1, 0
        COPY    user_copy_to, 0, 1

/*
 * long user_clear(void *dst, size_t nbytes)
 *   In: $16 dst, $17 nbytes. Out: $0 is 0 or -EFAULT. Uses $1, $22.
 */
        FUNCTION user_clear
        beq     $17, 9f
1:      and     $16, 7, $1
        beq     $1, 2f
        ACCESS  1, stb $31, 0($16)
        lda     $17, -1($17)
        lda     $16, 1($16)
        bne     $17, 1b
        br      $31, 9f
2:      srl     $17, 6, $22
        beq     $22, 4f
3:      ACCESS  1, stq $31, 0($16)
        ACCESS  1, stq $31, 8($16)
        ACCESS  1, stq $31, 16($16)
        ACCESS  1, stq $31, 24($16)
        ACCESS  1, stq $31, 32($16)
        ACCESS  1, stq $31, 40($16)
        ACCESS  1, stq $31, 48($16)
        ACCESS  1, stq $31, 56($16)
        lda     $22, -1($22)
        lda     $16, 64($16)
        bne     $22, 3b
4:      and     $17, 63, $17
        beq     $17, 9f
5:      ACCESS  1, stb $31, 0($16)
        lda     $17, -1($17)
        lda     $16, 1($16)
        bne     $17, 5b
9:      mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_clear

/*
 * long user_find_nul(const void *src, const void *limit)
 *   In:   $16 src, $17 limit (above src)
 *   Out:  $0 is the address of the first NUL byte at or after src, 0 when there is none in the
 *         aligned quadwords that begin below limit, or -EFAULT
 *   Uses: $1-$3
 *   No quadword is read that does not begin below limit.
 */
        FUNCTION user_find_nul
        ACCESS  1, ldq_u $1, 0($16)
        lda     $2, -1($31)
        insqh   $2, $16, $2             /* ones in the bytes before src */
        bic     $16, 7, $16
        bis     $1, $2, $1
1:      cmpbge  $31, $1, $2             /* a bit for each byte that is zero */
        bne     $2, 2f
        lda     $16, 8($16)
        cmpult  $16, $17, $3
        beq     $3, 3f
        ACCESS  1, ldq $1, 0($16)
        br      $31, 1b
2:      cttz    $2, $2
        addq    $16, $2, $0
        ret     $31, ($26), 1
3:      mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_find_nul

/*
 * long user_touch_write(void *quadword)
 *   In: $16, aligned. Out: $0 is 0 or -EFAULT. Uses $1.
 *   Stores the loaded value with load-locked and store-conditional: this proves write access, and a
 *   write of another CPU in between is not lost.
 */
        FUNCTION user_touch_write
1:      ACCESS  1, ldq_l $1, 0($16)
        ACCESS  1, stq_c $1, 0($16)
        beq     $1, 2f
        mov     $31, $0
        ret     $31, ($26), 1
2:      br      $31, 1b                 /* a forward branch to here is predicted not taken */
        END_FUNCTION user_touch_write

/*
 * long user_swap32(void *p, uint32_t old, uint32_t new, uint32_t *seen)
 *   In: $16 user address, aligned; $17 old; $18 new; $19 seen. Out: $0 is 0 or -EFAULT. Uses $1-$3.
 *   Stores `new` if the word is `old`, atomically; *seen is what it was. A barrier on both sides.
 */
        FUNCTION user_swap32
        addl    $17, $31, $17           /* as ldl_l extends it */
        mb
1:      ACCESS  1, ldl_l $1, 0($16)
        cmpeq   $1, $17, $2
        mov     $18, $3
        beq     $2, 2f
        ACCESS  1, stl_c $3, 0($16)
        beq     $3, 3f
2:      mb
        stl     $1, 0($19)
        mov     $31, $0
        ret     $31, ($26), 1
3:      br      $31, 1b                 /* a forward branch to here is predicted not taken */
        END_FUNCTION user_swap32

/*
 * long user_load64(uint64_t *v, const void *p), long user_load32(uint32_t *v, const void *p)
 *   One aligned access; p may also be a kernel address (kernel_read_u64). $0 is 0 or -EFAULT.
 *   Uses $1.
 */
        FUNCTION user_load64
        ACCESS  1, ldq $1, 0($17)
        stq     $1, 0($16)
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_load64

        FUNCTION user_load32
        ACCESS  1, ldl $1, 0($17)
        stl     $1, 0($16)
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_load32

/*
 * long user_store64(void *p, uint64_t v), long user_store32(void *p, uint32_t v)
 *   One aligned access. $0 is 0 or -EFAULT.
 */
        FUNCTION user_store64
        ACCESS  1, stq $17, 0($16)
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_store64

        FUNCTION user_store32
        ACCESS  1, stl $17, 0($16)
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_store32

/* The fix-up of every access: in a leaf function $26 is still the return address. */
        FUNCTION user_access_failed
.Lefault:
        lda     $0, -ASM_EFAULT($31)
        ret     $31, ($26), 1
        END_FUNCTION user_access_failed
