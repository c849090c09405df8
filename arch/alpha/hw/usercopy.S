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

/* Store the quadword at \at($17), which is not aligned, to \at($16): \low is the aligned one that
   contains its first byte, \high becomes the one that contains its last. Uses $3, $4. */
.macro  MERGE   fl:req, fs:req, low:req, high:req, at:req
        ACCESS  \fl, ldq_u \high, \at+7($17)
        extql   \low, $17, $3
        extqh   \high, $17, $4
        bis     $3, $4, $3
        ACCESS  \fs, stq $3, \at($16)
.endm

/* Copy 64 bytes at \at, all aligned. Uses $1-$7, $23. */
.macro  COPY_64 fl:req, fs:req, at:req
        ACCESS  \fl, ldq $1, \at+0($17)
        ACCESS  \fl, ldq $2, \at+8($17)
        ACCESS  \fl, ldq $3, \at+16($17)
        ACCESS  \fl, ldq $4, \at+24($17)
        ACCESS  \fl, ldq $5, \at+32($17)
        ACCESS  \fl, ldq $6, \at+40($17)
        ACCESS  \fl, ldq $7, \at+48($17)
        ACCESS  \fl, ldq $23, \at+56($17)
        ACCESS  \fs, stq $1, \at+0($16)
        ACCESS  \fs, stq $2, \at+8($16)
        ACCESS  \fs, stq $3, \at+16($16)
        ACCESS  \fs, stq $4, \at+24($16)
        ACCESS  \fs, stq $5, \at+32($16)
        ACCESS  \fs, stq $6, \at+40($16)
        ACCESS  \fs, stq $7, \at+48($16)
        ACCESS  \fs, stq $23, \at+56($16)
.endm

/*
 * int NAME(void *dst, const void *src, size_t nbytes)
 *   In:   $16 dst, $17 src, $18 nbytes
 *   Out:  $0 is 0 or -EFAULT; the bytes before a fault have been copied
 *   Uses: $1-$7, $22-$25
 *   \fl: loads may fault; \fs: stores may fault
 *
 * Bytes are copied until dst is aligned to a quadword. Then quadwords are copied, 256 and then 64
 * bytes in each round (a round of 256 is 272 bytes of the instruction cache; nothing is fetched
 * ahead: most copies are of a page that has just been written, and a load beyond the last page
 * would be a trap to PALcode); if src is not aligned, each is made of the two that contain it
 * (ldq_u never traps for alignment, and no quadword is read that contains no byte to copy). The
 * rest is copied by bytes.
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
        srl     $18, 8, $24
        beq     $24, 3f
31:     COPY_64 \fl, \fs, 0
        COPY_64 \fl, \fs, 64
        COPY_64 \fl, \fs, 128
        COPY_64 \fl, \fs, 192
        lda     $24, -1($24)
        lda     $17, 256($17)
        lda     $16, 256($16)
        bne     $24, 31b
        and     $22, 3, $22
        beq     $22, 4f
3:      COPY_64 \fl, \fs, 0
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

6:      beq     $22, 62f
        ACCESS  \fl, ldq_u $1, 0($17)
61:     MERGE   \fl, \fs, $1, $2, 0
        MERGE   \fl, \fs, $2, $1, 8
        MERGE   \fl, \fs, $1, $2, 16
        MERGE   \fl, \fs, $2, $1, 24
        MERGE   \fl, \fs, $1, $2, 32
        MERGE   \fl, \fs, $2, $1, 40
        MERGE   \fl, \fs, $1, $2, 48
        MERGE   \fl, \fs, $2, $1, 56
        lda     $22, -1($22)
        lda     $17, 64($17)
        lda     $16, 64($16)
        bne     $22, 61b
62:     and     $18, 56, $22
        beq     $22, 7f
63:     ACCESS  \fl, ldq_u $1, 0($17)
        MERGE   \fl, \fs, $1, $2, 0
        lda     $22, -8($22)
        lda     $17, 8($17)
        lda     $16, 8($16)
        bne     $22, 63b

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
 * int user_clear(void *dst, size_t nbytes)
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
        srl     $17, 3, $22
        beq     $22, 6f
5:      ACCESS  1, stq $31, 0($16)
        lda     $22, -1($22)
        lda     $16, 8($16)
        bne     $22, 5b
6:      and     $17, 7, $17
        beq     $17, 9f
7:      ACCESS  1, stb $31, 0($16)
        lda     $17, -1($17)
        lda     $16, 1($16)
        bne     $17, 7b
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
 * long user_copy_string(char *dst, const char *src, const void *limit)
 *   In:   $16 dst, at the same place in its quadword as src; $17 src; $18 limit (above src)
 *   Out:  $0 is the length of the string, its NUL not counted; -ENAMETOOLONG when there is no NUL
 *         in the aligned quadwords that begin below limit; or -EFAULT
 *   Uses: $1-$5
 *   Each aligned quadword is read once and stored whole, that in which src begins too. So the
 *   length is that of the copy, whatever others do to the string meanwhile.
 */
        FUNCTION user_copy_string
        ACCESS  1, ldq_u $1, 0($17)
        lda     $3, -1($31)
        and     $17, 7, $4
        sll     $3, $4, $3              /* a bit for each byte from src on */
        bic     $16, 7, $16
        bic     $17, 7, $5
        cmpbge  $31, $1, $2             /* a bit for each byte that is zero */
        stq     $1, 0($16)
        and     $2, $3, $2
        bne     $2, 2f
1:      lda     $5, 8($5)
        cmpult  $5, $18, $3
        lda     $16, 8($16)
        beq     $3, 3f
        ACCESS  1, ldq $1, 0($5)
        cmpbge  $31, $1, $2
        stq     $1, 0($16)
        beq     $2, 1b
2:      cttz    $2, $2
        subq    $5, $17, $5
        addq    $5, $2, $0
        ret     $31, ($26), 1
3:      lda     $0, -ASM_ENAMETOOLONG($31)
        ret     $31, ($26), 1
        END_FUNCTION user_copy_string

/*
 * int user_touch_write(void *quadword)
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
 * int user_swap32(void *p, uint32_t old, uint32_t new, uint32_t *seen)
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
 * int user_load64(uint64_t *v, const void *p), int user_load32(uint32_t *v, const void *p)
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
 * int user_store64(void *p, uint64_t v), int user_store32(void *p, uint32_t v)
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

/* The two accesses of kernel and user memory that move one register of a trap frame. */
.macro  PUT     frame:req, context:req
        ldq     $1, \frame($17)
        ACCESS  1, stq $1, \context($16)
.endm

.macro  GET     frame:req, context:req
        ACCESS  1, ldq $1, \context($17)
        stq     $1, \frame($16)
.endm

/* Every register that struct sigcontext has in one piece with its neighbours of the trap frame. */
.macro  REGISTERS move:req
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        \move   TF_V0+8*\n, SC_REGS+8*\n
        .endr
        .irp    n, 0, 1, 2
        \move   TF_A0+8*\n, SC_REGS+8*(16+\n)
        .endr
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
        \move   TF_A3+8*\n, SC_REGS+8*(19+\n)
        .endr
        \move   TF_GP, SC_REGS+8*29
        \move   TF_USP, SC_REGS+8*30
.endm

/*
 * long user_put_context(struct sigcontext *to, const struct trapframe *f, uint64_t mask)
 *   In: $16 user address, aligned; $17 f, complete; $18 mask. Out: $0 is 0 or -EFAULT. Uses $1.
 *   Sets all fields but fpregs and fpcr.
 */
        FUNCTION user_put_context
        ACCESS  1, stq $31, SC_ONSTACK($16)
        ACCESS  1, stq $18, SC_MASK($16)
        PUT     TF_PC, SC_PC
        lda     $1, 8($31)              /* user mode */
        ACCESS  1, stq $1, SC_PS($16)
        REGISTERS PUT
        ACCESS  1, stq $31, SC_REGS+8*31($16)
        lda     $1, 1($31)
        ACCESS  1, stq $1, SC_OWNEDFP($16)
        .irp    n, 0, 1, 2, 3, 4
        ACCESS  1, stq $31, SC_FPCR+8+8*\n($16)
        .endr
        PUT     TF_A0, SC_TRAPARG
        PUT     TF_A1, SC_TRAPARG+8
        PUT     TF_A2, SC_TRAPARG+16
        .irp    n, 3, 4, 5
        ACCESS  1, stq $31, SC_TRAPARG+8*\n($16)
        .endr
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_put_context

/*
 * long user_get_context(struct trapframe *f, const struct sigcontext *from)
 *   In: $16 f; $17 user address, aligned. Out: $0 is 0 or -EFAULT. Uses $1, $2.
 *   Sets PC and the integer registers. The words at both ends of what is read from the context are
 *   loaded first. It lies in two pages at most, so f is changed in part only if another thread
 *   takes a page away at this moment.
 */
        FUNCTION user_get_context
        ACCESS  1, ldq $1, SC_FPCR($17)
        ACCESS  1, ldq $2, SC_PC($17)
        bic     $2, 3, $2
        stq     $2, TF_PC($16)
        REGISTERS GET
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_get_context

/*
 * long user_put_fp(struct sigcontext *to)
 *   In: $16 user address, aligned. Out: $0 is 0 or -EFAULT. Uses $1, $2.
 *   Stores $f0-$f30 and FPCR. The unit is enabled: if the thread is switched away meanwhile, its
 *   registers are saved and loaded. FPCR is read through $f0, which has its own value again before
 *   anything can fault.
 */
        FUNCTION user_put_fp
        ftoit   $f0, $1
        mf_fpcr $f0
        ftoit   $f0, $2
        itoft   $1, $f0
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        ACCESS  1, stt $f\n, SC_FPREGS+8*\n($16)
        .endr
        .irp    n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
        ACCESS  1, stt $f\n, SC_FPREGS+8*\n($16)
        .endr
        ACCESS  1, stq $31, SC_FPREGS+8*31($16)
        ACCESS  1, stq $2, SC_FPCR($16)
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_put_fp

/*
 * long user_get_fp(const struct sigcontext *from)
 *   In: $16 user address, aligned. Out: $0 is 0 or -EFAULT. Loads $f0-$f30 and FPCR. The unit is
 *   enabled, as for user_put_fp.
 */
        FUNCTION user_get_fp
        ACCESS  1, ldt $f0, SC_FPCR($16)
        mt_fpcr $f0
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        ACCESS  1, ldt $f\n, SC_FPREGS+8*\n($16)
        .endr
        .irp    n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
        ACCESS  1, ldt $f\n, SC_FPREGS+8*\n($16)
        .endr
        mov     $31, $0
        ret     $31, ($26), 1
        END_FUNCTION user_get_fp

/* The fix-up of every access: in a leaf function $26 is still the return address. */
        FUNCTION user_access_failed
.Lefault:
        lda     $0, -ASM_EFAULT($31)
        ret     $31, ($26), 1
        END_FUNCTION user_access_failed
