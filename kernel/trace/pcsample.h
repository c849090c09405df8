/*
 * PC sampling: at each clock tick, or at a rate of its own, a CPU notes what it was doing: time,
 * PC, IPL, process. Each CPU has a ring that keeps the newest samples. While it is off, a clock
 * interrupt costs one load and one branch for it.
 */
#ifndef KERNEL_TRACE_PCSAMPLE_H
#define KERNEL_TRACE_PCSAMPLE_H

#include "arch/alpha/hw/trapframe.h"

#define PCS_RATE_MAX 20000u /* Hz: 50 us apart, some 30 times what a sample costs */

struct pc_sample {
    uint64_t ns;  /* clock_ns() */
    uint64_t pc;  /* of the next instruction of what was interrupted */
    uint32_t pid; /* 0: a kernel thread */
    uint8_t ipl, user;
    uint16_t image; /* index of the program (user mode), or PCS_NO_IMAGE */
    char name[16];  /* of the thread */
};

/* Paths of programs that were seen in user mode; more than a ring tells apart are not named. */
#define PCS_IMAGES   64u
#define PCS_NO_IMAGE 0xFFFFu
#define PCS_PATH_MAX 64u

/* What one CPU has noted: samples first .. next - 1, counted since the start. */
struct pcs_state {
    uint64_t first, next, late; /* late: times that the clock came too late for a sample */
};

extern uint32_t pcs_running; /* atomic */
static inline bool pcs_on(void)
{
    return unlikely(__atomic_load_n(&pcs_running, __ATOMIC_RELAXED) != 0);
}

/* The clock interrupt of this CPU, at IPL_CLOCK, before it is served. */
void pcs_clock(const struct trapframe *f);

/* Rings of npages each, for the CPUs that are online. 0; -EALREADY: there are some; -ENOMEM. The
 * calls from here to pcs_stop() exclude each other (kernel/trace/trace.c); IPL 0. */
int pcs_load(uint64_t npages);
/* Sample from now on, rate_hz times a second (1 .. PCS_RATE_MAX; 0: at each clock tick), into empty
 * rings. 0; -EALREADY: it does; -ENOENT: no rings. */
int pcs_start(uint64_t rate_hz);
/* 0, or -EALREADY: nothing is sampled. */
int pcs_stop(void);
/* Stop, and give the rings back. 0, or -ENOENT. */
int pcs_unload(void);

/* Samples that a ring has room for; 0: there are no rings. */
uint64_t pcs_room(void);
/* What a CPU's ring takes. */
uint64_t pcs_ring_bytes(void);
uint64_t pcs_interval_ns(void);
void pcs_times(uint64_t *started_ns, uint64_t *lasted_ns);
void pcs_state_of(unsigned cpu, struct pcs_state *s);
/* Sample number `number` of that CPU with the path of its program (empty: unknown). False: it has
 * been overwritten, or there is none yet. */
bool pcs_get(unsigned cpu, uint64_t number, struct pc_sample *out, char path[PCS_PATH_MAX]);

#endif
