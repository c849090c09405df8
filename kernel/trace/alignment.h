/*
 * The alignment-fault trace: counts unaligned accesses of user mode that the kernel carried out, by
 * PC and process, in a table for each CPU. While it is off, such an access costs one load and one
 * branch for it; nothing else costs anything.
 */
#ifndef KERNEL_TRACE_ALIGNMENT_H
#define KERNEL_TRACE_ALIGNMENT_H

#include "kernel/base/types.h"

/* Slots for each CPU; few programs have so many unaligned instructions. Accesses that find no slot
 * are counted as dropped. */
#define ALIGN_SLOTS    512u
#define ALIGN_PATH_MAX 64u

struct align_slot { /* written by the own CPU at IPL_HIGH; read by others as statistics */
    uint64_t count; /* 0: free; stored last, with release order */
    uint64_t pc;    /* of the access itself */
    uint64_t first_va, last_va; /* addresses accessed */
    uint32_t pid, opcode;
    char name[16];             /* of the process */
    char path[ALIGN_PATH_MAX]; /* of its program */
};
struct align_table {
    uint64_t dropped;
    struct align_slot slot[ALIGN_SLOTS];
};

extern uint32_t align_running; /* atomic */
static inline bool align_on(void)
{
    return unlikely(__atomic_load_n(&align_running, __ATOMIC_RELAXED) != 0);
}

/* Record that an access of the current process at pc to va was carried out. IPL 0. */
void align_note(uint64_t pc, uint64_t va, unsigned opcode);

/* Allocate the tables, start, stop, free the tables. As pcs_load() and the functions after it
 * (kernel/trace/pcsample.h): 0, -EALREADY, -ENOENT, -ENOMEM. The callers of these and of all
 * functions below exclude each other (kernel/trace/trace.c). IPL 0. */
int align_load(void);
int align_start(void);
int align_stop(void);
int align_unload(void);

uint64_t align_bytes(void);   /* of all tables; 0: not loaded */
uint64_t align_dropped(void); /* accesses that found no slot */
/* When the trace was last started, and how long it has run or did run, in ns. */
void align_times(uint64_t *started_ns, uint64_t *lasted_ns);
/* Copy that slot to *out. False: there are no tables, or no such slot. */
bool align_get(unsigned cpu, unsigned slot, struct align_slot *out);

#endif
