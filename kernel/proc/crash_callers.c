/*
 * The callers of a user program that has crashed.
 *
 * Programs are stripped, and their tables for unwinding would have to be read and trusted; but the
 * calling standard leaves traces in the code. A function with a frame begins by `lda sp,-N(sp)`,
 * or, with one of many pages, by a loop that touches each and then `lda sp,-N(t8)`, and saves its
 * return address by `stq ra,M(sp)`. So from the instruction back, the first such `lda` is the
 * prologue of the function, or, if that has no frame, of one before it. The instruction before a
 * return address is a call, so the functions further out have frames. The innermost one has none
 * if it begins (`ldah gp,N(t12)`) behind that `lda`. Where a `ret` or a tail call lies between, ra
 * decides: if it does not point into the function and is not what the frame holds, there is no
 * frame.
 *
 * A function that changes sp otherwise (alloca) ends the list, or is followed by callers that are
 * not true: they must be preceded by calls, and sp must rise.
 */
#include "kernel/proc/crash_callers.h"

#include "mm/space/aspace_read.h"

#define SCAN_MOST     4096u
#define CHUNK         ASPACE_READ_MAX /* bytes that are read at once; a power of two */
#define FUNCTION_MOST 0x8000u         /* how far behind the PC its function may reach */

#define LDA_SP(i)    ((i) >> 16 == 0x23DE) /* lda sp,N(sp) */
#define LDA_SP_T8(i) ((i) >> 16 == 0x23D6) /* lda sp,N(t8) */
#define LDA_T8_SP    0x22DE1000u           /* lda t8,4096(sp) */
#define LDA_T9(i)    ((i) >> 16 == 0x22FF) /* lda t9,N: so many steps of PROBE_BYTES */
#define PROBE_BYTES  8192u
#define PROBE_FIRST  4096u
#define PROBE_WORDS  5u                    /* of the loop, with `lda t8` */
#define STQ_RA(i)    ((i) >> 16 == 0xB75E) /* stq ra,N(sp) */
#define IS_RET(i)    (((i) & 0xFFFFC000u) == 0x6BFA8000u)
#define IS_JMP(i)    (((i) & 0xFFE0C000u) == 0x6BE00000u)                      /* jmp zero */
#define IS_ENTRY(i)  ((i) >> 16 == 0x27BB)                                     /* ldah gp,N(t12) */
#define IS_CALL(i)   ((i) >> 26 == 0x34 || ((i) & 0xFC00C000u) == 0x68004000u) /* bsr, jsr */
#define OFFSET(i)    ((int16_t)(i))

struct reader {
    struct aspace *as;
    vaddr_t at; /* of the chunk; ~0: none */
    uint32_t words[CHUNK / 4];
};

static bool word(struct reader *r, vaddr_t va, uint32_t *value)
{
    vaddr_t chunk = va & ~(vaddr_t)(CHUNK - 1);

    if (va & 3)
        return false;
    if (r->at != chunk) {
        r->at = ~(vaddr_t)0;
        if (aspace_read(r->as, chunk, r->words, CHUNK) != 0)
            return false;
        r->at = chunk;
    }
    *value = r->words[(va - chunk) / 4];
    return true;
}

static bool is_return(struct reader *r, uint64_t ra)
{
    uint32_t before;

    return ra >= 4 && word(r, ra - 4, &before) && IS_CALL(before);
}

/* Is t9 the return address of a routine for division, which leaves ra alone? */
static bool is_division(struct reader *r, uint64_t t9)
{
    uint32_t before;

    return t9 >= 4 && word(r, t9 - 4, &before) && IS_CALL(before) && (before >> 21 & 31) == 23;
}

static bool saved(struct aspace *as, vaddr_t at, uint64_t *value)
{
    return !(at & 7) && aspace_read(as, at, value, sizeof(*value)) == 0;
}

struct prologue {
    vaddr_t start;
    uint64_t bytes; /* of the frame; 0: none was found */
    int offset;     /* of the return address in it; -1: it was not saved */
    bool crossed;   /* a `ret` or a jump lies between */
};

/* The bytes of the frame that the instruction i at va makes; 0: it makes none. */
static uint64_t frame_bytes(struct reader *r, vaddr_t va, uint32_t i)
{
    uint32_t steps, begin;

    if (OFFSET(i) >= 0 && !LDA_SP_T8(i))
        return 0;
    if (LDA_SP(i))
        return (uint64_t)-OFFSET(i);
    if (!LDA_SP_T8(i) || va < 4 * (PROBE_WORDS + 1) || !word(r, va - 4 * PROBE_WORDS, &begin) ||
        !word(r, va - 4 * (PROBE_WORDS + 1), &steps) || begin != LDA_T8_SP || !LDA_T9(steps))
        return 0;
    return (uint64_t)(OFFSET(steps) * (int)PROBE_BYTES - (int)PROBE_FIRST - OFFSET(i));
}

static struct prologue search(struct reader *r, vaddr_t pc)
{
    struct prologue p = {.offset = -1};
    uint32_t i;

    for (unsigned n = 1; n <= SCAN_MOST && pc >= 4 * n && word(r, pc - 4 * n, &i); n++) {
        if (IS_ENTRY(i))
            break;
        if (STQ_RA(i))
            p.offset = OFFSET(i);
        else if (IS_RET(i) || IS_JMP(i))
            p.crossed = true;
        else if ((p.bytes = frame_bytes(r, pc - 4 * n, i)) != 0) {
            p.start = pc - 4 * n;
            break;
        }
    }
    return p;
}

/* Is there a prologue in [from, to)? */
static bool function_begins(struct reader *r, vaddr_t from, vaddr_t to)
{
    uint32_t i;

    for (vaddr_t at = from & ~(vaddr_t)3; at < to && word(r, at, &i); at += 4)
        if (frame_bytes(r, at, i))
            return true;
    return false;
}

/* Is the innermost function that of the prologue, though the end of one lies between? */
static bool is_framed(struct reader *r, const struct crash_frame *f, const struct prologue *p)
{
    uint64_t kept;

    if (f->ra > p->start && f->ra <= f->pc)
        return true;
    if (f->ra > f->pc && f->ra < f->pc + FUNCTION_MOST && !function_begins(r, f->pc, f->ra))
        return true;
    if (!is_return(r, f->ra))
        return true;
    return p->offset >= 0 && saved(r->as, f->sp + (uint64_t)p->offset, &kept) && kept == f->ra;
}

bool crash_caller(struct aspace *as, struct crash_frame *f)
{
    struct reader r = {.as = as, .at = ~(vaddr_t)0};
    struct prologue p = search(&r, f->returned ? f->pc - 4 : f->pc);
    uint64_t ra = f->ra;
    vaddr_t sp = f->sp;

    if (!f->returned && is_division(&r, f->t9)) {
        *f = (struct crash_frame){.pc = f->t9, .sp = sp + p.bytes, .ra = ra};
        return true;
    }
    if (!f->returned && (!p.bytes || (p.crossed && !is_framed(&r, f, &p)))) {
        /* no frame: the return address is in its register */
    } else if (!p.bytes) {
        return false;
    } else {
        if (p.offset >= 0 ? !saved(as, sp + (uint64_t)p.offset, &ra) : f->returned)
            return false;
        sp += p.bytes;
    }
    if (!is_return(&r, ra) || (f->returned && sp <= f->sp))
        return false;
    *f = (struct crash_frame){.pc = ra, .sp = sp, .returned = true};
    return true;
}
