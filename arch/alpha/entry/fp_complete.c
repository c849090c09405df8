/*
 * The hardware computes results only for ordinary operands; an instruction with the /S qualifier
 * traps for the others, and software completes it. The emulator, like an EV6, traps precisely: the
 * instruction is the one before the PC, and its operands have not changed.
 */
#include "arch/alpha/entry/fp_complete.h"

#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/ieee.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"

enum opcode { OP_ITFP = 0x14, OP_FLTI = 0x16 };
enum function {
    ADD,
    SUB,
    MUL,
    DIV,
    CMPUN,
    CMPEQ,
    CMPLT,
    CMPLE,
    SQRT = 0xB,
    TO_S,
    TO_T = 0xE,
    TO_Q
};
enum source { FROM_S = 0, FROM_T = 2, FROM_Q = 3 };

#define SOFTWARE_QUALIFIER 0x400u
#define FUNCTION_CVTST     0x2ACu
#define ROUND_DYNAMIC      3u

#define FPCR_SUM           (1UL << 63)
#define FPCR_STATUS_SHIFT  52
#define FPCR_DYN_SHIFT     58
#define CONTROL_TRAP_SHIFT 1 /* enabled traps, in the control word that the C library sets */

static enum ieee_round rounding(uint32_t instruction, uint64_t fpcr)
{
    unsigned mode = instruction >> 11 & 3;

    return mode == ROUND_DYNAMIC ? (enum ieee_round)(fpcr >> FPCR_DYN_SHIFT & 3)
                                 : (enum ieee_round)mode;
}

static uint64_t convert(uint32_t instruction, uint64_t b, enum ieee_format to, enum ieee_round r,
                        unsigned *flags)
{
    unsigned function = instruction >> 5 & 0x7FF, source = instruction >> 9 & 3;

    if (source == FROM_Q)
        return ieee_from_int((int64_t)b, to, r, flags);
    if ((function & ~SOFTWARE_QUALIFIER) == FUNCTION_CVTST)
        return ieee_convert(b, IEEE_S, IEEE_T, r, flags);
    return ieee_convert(b, IEEE_T, to, r, flags);
}

/* Returns false for an operation that is never completed in software. */
static bool compute(uint32_t instruction, uint64_t a, uint64_t b, enum ieee_round r,
                    uint64_t *result, unsigned *flags)
{
    enum ieee_format f = (instruction >> 9 & 3) == FROM_S ? IEEE_S : IEEE_T;

    switch (instruction >> 5 & 0xF) {
    case ADD:
        *result = ieee_add(a, b, f, r, flags);
        return true;
    case SUB:
        *result = ieee_sub(a, b, f, r, flags);
        return true;
    case MUL:
        *result = ieee_mul(a, b, f, r, flags);
        return true;
    case DIV:
        *result = ieee_div(a, b, f, r, flags);
        return true;
    case CMPUN:
        *result = ieee_compare(a, b, IEEE_UNORDERED, flags);
        return true;
    case CMPEQ:
        *result = ieee_compare(a, b, IEEE_EQUAL, flags);
        return true;
    case CMPLT:
        *result = ieee_compare(a, b, IEEE_LESS, flags);
        return true;
    case CMPLE:
        *result = ieee_compare(a, b, IEEE_LESS_EQUAL, flags);
        return true;
    case SQRT:
        *result = ieee_sqrt(b, f, r, flags);
        return true;
    case TO_S:
        *result = convert(instruction, b, IEEE_S, r, flags);
        return true;
    case TO_T:
        *result = convert(instruction, b, IEEE_T, r, flags);
        return true;
    case TO_Q:
        *result = ieee_to_int(b, r, flags);
        return true;
    default:
        return false;
    }
}

static uint64_t operand(const struct fp_state *fp, unsigned reg)
{
    return reg == 31 ? 0 : fp->f[reg];
}

static int code_of(unsigned exceptions)
{
    if (exceptions & IEEE_INV)
        return FPE_FLTINV;
    if (exceptions & IEEE_DZE)
        return FPE_FLTDIV;
    if (exceptions & IEEE_OVF)
        return FPE_FLTOVF;
    return exceptions & IEEE_UNF ? FPE_FLTUND : FPE_FLTRES;
}

int fp_complete(struct trapframe *f)
{
    const struct fp_state *fp = &current_hw->fp;
    uint32_t instruction;
    uint64_t result = 0;
    unsigned flags = 0, enabled;

    if (copyin_u32(&instruction, f->pc - 4) != 0)
        return FPE_FLTINV;
    if (instruction >> 26 != OP_FLTI && instruction >> 26 != OP_ITFP)
        return FPE_FLTINV;
    fp_sync();
    if (!compute(instruction, operand(fp, instruction >> 21 & 31),
                 operand(fp, instruction >> 16 & 31), rounding(instruction, fp->f[FP_FPCR]),
                 &result, &flags))
        return FPE_FLTINV;
    fp_set(instruction & 31, result, flags ? FPCR_SUM | (uint64_t)flags << FPCR_STATUS_SHIFT : 0);
    enabled = flags & (unsigned)(uthread_self()->ieee_control >> CONTROL_TRAP_SHIFT) & 0x1F;
    return enabled ? code_of(enabled) : 0;
}
