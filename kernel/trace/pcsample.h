/*
 * PC sampling: at each clock tick, or at a rate of its own, a CPU records what it was executing:
 * time, PC, IPL, process. Each CPU has a ring that keeps the newest samples. While it is off, a
 * clock interrupt costs one load and one branch for it.
 */
#ifndef KERNEL_TRACE_PCSAMPLE_H
#define KERNEL_TRACE_PCSAMPLE_H

#include "arch/alpha/hw/trapframe.h"

#define PCS_RATE_MAX 20000u /* Hz: 50 us apart, some 30 times the cost of a sample */

struct pc_sample {
    uint64_t ns;  /* clock_ns() */
    uint64_t pc;  /* of the next instruction of what was interrupted */
    uint32_t pid; /* 0: a kernel thread */
    uint8_t ipl, user;
    uint16_t image; /* index of the program (user mode), or PCS_NO_IMAGE */
    char name[16];  /* of the thread */
};

/* Paths of programs seen in user mode, for each ring; the paths of further ones are not
   recorded. */
#define PCS_IMAGES   64u
#define PCS_NO_IMAGE 0xFFFFu
#define PCS_PATH_MAX 64u

/* The samples of one CPU: numbers first .. next - 1, counted from the start. */
struct pcs_state {
    uint64_t first, next, late; /* late: how often the clock came too late for a sample */
};

extern uint32_t pcs_running; /* atomic */
static inline bool pcs_on(void)
{
    return unlikely(__atomic_load_n(&pcs_running, __ATOMIC_RELAXED) != 0);
}

/* Take a sample if one is due. Called by the clock interrupt at IPL_CLOCK, before it is served. */
void pcs_clock(const struct trapframe *f);

/* Allocate a ring of npages pages for each online CPU. 0; -EALREADY: there are rings; -ENOMEM. The
 * callers of this and of all functions below exclude each other (kernel/trace/trace.c). IPL 0. */
int pcs_load(uint64_t npages);
/* Empty the rings and start sampling, rate_hz times a second (1 .. PCS_RATE_MAX; 0: at each clock
 * tick). 0; -EALREADY: sampling is on; -ENOENT: there are no rings. */
int pcs_start(uint64_t rate_hz);
/* Stop sampling. 0; -EALREADY: sampling is off. */
int pcs_stop(void);
/* Stop sampling and free the rings. 0; -ENOENT: there are no rings. */
int pcs_unload(void);

/* Capacity of a ring in samples; 0: there are no rings. */
uint64_t pcs_room(void);
/* Size of a ring in bytes. */
uint64_t pcs_ring_bytes(void);
uint64_t pcs_interval_ns(void);
/* When sampling was last started, and how long it has run or did run, in ns. */
void pcs_times(uint64_t *started_ns, uint64_t *lasted_ns);
void pcs_state_of(unsigned cpu, struct pcs_state *s);
/* Copy sample `number` of that CPU and the path of its program (empty: unknown). False: it has been
 * overwritten, or there is none yet. */
bool pcs_get(unsigned cpu, uint64_t number, struct pc_sample *out, char path[PCS_PATH_MAX]);

#endif
