/* The callers of a user program, found by the prologues of its functions. */
#ifndef KERNEL_PROC_CRASH_CALLERS_H
#define KERNEL_PROC_CRASH_CALLERS_H

#include "mm/space/aspace.h"

struct crash_frame {
    vaddr_t pc; /* of the first frame, the instruction; of others, the return address */
    vaddr_t sp;
    uint64_t ra;   /* the register, of the first frame */
    uint64_t t9;   /* the same: division returns to it; 0: no more */
    bool returned; /* not the first frame */
};

/* Go to the caller. False: it is not known. Reads at most SCAN_MOST instructions of the program,
 * which need not be code. IPL 0; takes the mutex of as. */
bool crash_caller(struct aspace *as, struct crash_frame *f);

#endif
