/*
 * The meter: the longest time that the IPL was raised, by IPL and place, and a clock that leaves
 * out interrupts, for the holds of spinlocks (lockstat.h); and a table of the longest time from
 * each place, of both kinds, so that a long one does not conceal others. It runs while spinlocks
 * are measured, and costs nothing while it is off (arch/alpha/hw/ipl_hook.h).
 *
 * Times are of one CPU: what its own code does at raised IPL. Interrupts that come meanwhile are
 * subtracted, as are the meter's own work and an idle CPU's wait for an interrupt.
 */
#ifndef KERNEL_SCHED_METER_H
#define KERNEL_SCHED_METER_H

#include "kernel/sched/ipl.h"

struct meter_record {
    /* Time during which the IPL was never below; 0: it was not raised so far. */
    uint64_t longest_ns;
    uint64_t place; /* PC that raised it */
};

/* The longest hold of a spinlock, or time at raised IPL, that began at one place on one CPU. */
struct meter_hold {
    const char *name; /* the spinlock's; NULL: the IPL was raised */
    ipl_t ipl;
    uint64_t longest_ns; /* 0: there is none at this index */
    uint64_t place;
};

/* Clear all records and begin. IPL below IPL_IPI; callers exclude each other, here and below. */
void meter_start(void);
/* End; the records keep their values. Any IPL. */
void meter_stop(void);
/* The longest time so far on any CPU, of times at `ipl` or above. A time whose end left no lower
 * raised level is counted for the highest level only. Any IPL. */
void meter_get(ipl_t ipl, struct meter_record *out);

/* A spinlock of that name and IPL was held for ns, from `place`. Own CPU, at IPL_HIGH. */
void meter_held(const char *name, ipl_t ipl, uint64_t place, uint64_t ns);
/* The index-th entry of the table of places; false after the last. Most are empty. A CPU that
 * writes the entry meanwhile may be seen half done. Any IPL. */
bool meter_hold_get(uint64_t index, struct meter_hold *out);

/* The cycle counter less what the meter leaves out; it wraps like clock_cycles(). IPL above 0. */
uint32_t meter_clock(void);
/* The current IPL, and what is above `old` of it, was raised for `place`: the caller of a function
 * that raises it on its caller's behalf. */
void meter_place(ipl_t old, ipl_t ipl, uint64_t place);
/* Leave out what is between these two: the measurement of something else. The IPL is IPL_HIGH in
 * between. */
struct meter_pause {
    ipl_t ipl;
    uint32_t start, excluded;
};
struct meter_pause meter_pause(void);
void meter_resume(struct meter_pause p);
/* The CPU has waited for an interrupt: what was raised before counts from now on. */
void meter_waited(void);

#endif
