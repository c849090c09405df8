/*
 * Stack unwinding by the call frame information that compiler and assembler
 * leave in .eh_frame (DWARF 4, section 6.4; the index .eh_frame_hdr as of the
 * Linux Standard Base, "Exception Frames").
 *
 * Pure: it reads the tables within their bounds and the stack through a
 * function of the caller's, so that a broken stack or a broken table ends the
 * walk and harms nothing. It takes no lock, allocates nothing and may run at
 * any IPL.
 */
#ifndef KERNEL_BASE_UNWIND_H
#define KERNEL_BASE_UNWIND_H

#include "kernel/base/types.h"

/* Columns of the rule table: on Alpha $0-$30 are 0-30 and the PC of a trap
 * frame is 64. */
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
    /* pc is an instruction that was interrupted, not one that a call returns to.
       Set by the caller for the first frame if so; set by unwind_step for what a
       signal (trap) frame interrupted. */
    bool exact_pc;
    unsigned sp_column; /* column that the CFA goes into: 30 on Alpha */
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
/* Room to work in, the caller's, because it is too large for a kernel stack
 * frame. */
struct unwind_work {
    struct unwind_rules now, initial, remembered; /* compilers nest remember_state no deeper */
    struct unwind_frame caller;
};

/* Read an aligned quadword of the stack; false when address is none of the
 * stack's. */
typedef bool (*unwind_read_fn)(void *arg, uint64_t address, uint64_t *value);

/*
 * Go from *f to its caller. False when there is no caller: no description of
 * the PC, an undefined return address, an unreadable stack, or a stack that
 * does not rise (*f is then unchanged).
 */
bool unwind_step(const struct unwind_tables *t, struct unwind_work *w, struct unwind_frame *f,
                 unwind_read_fn read, void *arg);

#endif
