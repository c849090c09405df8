/*
 * Stack unwinding by the call frame information that compiler and assembler write to .eh_frame
 * (DWARF 4, section 6.4; the index .eh_frame_hdr is that of the Linux Standard Base, "Exception
 * Frames").
 *
 * The tables are read within their bounds and the stack through a function of the caller's, so that
 * a damaged stack or table ends the backtrace and does no harm. Independent of the machine; takes
 * no lock, allocates nothing and may run at any IPL.
 */
#ifndef KERNEL_BASE_UNWIND_H
#define KERNEL_BASE_UNWIND_H

#include "kernel/base/types.h"

/* Columns of the rule table: on Alpha 0-30 are $0-$30, and 64 is the PC of a trap frame. */
#define UNWIND_REGS 65

struct unwind_tables {
    const uint8_t *hdr; /* .eh_frame_hdr */
    size_t hdr_bytes;
    const uint8_t *frame; /* .eh_frame */
    size_t frame_bytes;
};

struct unwind_frame {
    uint64_t reg[UNWIND_REGS];
    uint64_t pc;
    /* pc is that of an interrupted instruction, not a return address. The caller sets it for the
       first frame; unwind_step sets it for the code that a trap frame interrupted. */
    bool exact_pc;
    unsigned sp_column; /* column that receives the CFA: 30 on Alpha */
};

/* Rules of one row of the table. */
struct unwind_rule {
    int32_t value; /* offset from the CFA, or a column */
    uint32_t kind;
};
struct unwind_rules {
    struct unwind_rule reg[UNWIND_REGS];
    uint32_t cfa_reg;
    int32_t cfa_offset;
};
/* Working storage, which the caller provides because it is too large for a kernel stack. */
struct unwind_work {
    struct unwind_rules now, initial, remembered; /* compilers do not nest remember_state */
    struct unwind_frame caller;
};

/* Read the aligned quadword at address. Returns false when address is not on the stack. */
typedef bool (*unwind_read_fn)(void *arg, uint64_t address, uint64_t *value);

/*
 * Replace *f by its caller's frame. Returns false, and leaves *f unchanged, when there is none: no
 * FDE for the PC, an instruction that is not understood, an undefined or zero return address, an
 * unreadable stack, or a caller with the same PC whose SP is not higher.
 */
bool unwind_step(const struct unwind_tables *t, struct unwind_work *w, struct unwind_frame *f,
                 unwind_read_fn read, void *arg);

#endif
