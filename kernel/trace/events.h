/*
 * The monitor of translation-buffer events (PRF): what a model beside the machine counts
 * (mm/pt/vhpt.h), from a start to a stop. `tracing` of trace.c is held for all of these functions.
 */
#ifndef KERNEL_TRACE_EVENTS_H
#define KERNEL_TRACE_EVENTS_H

#include "mm/pt/vhpt.h"

/* 0; -EALREADY: that is so already; -ENOENT: it is not loaded; -EOPNOTSUPP (load): nothing
   counts. */
int events_load(void);
int events_start(void);
int events_stop(void);
int events_unload(void);

bool events_loaded(void);
bool events_on(void);
/* When it started (0: never), and for how long it has run, in ns. */
void events_times(uint64_t *started_ns, uint64_t *lasted_ns);

/* What was counted for the CPU between the start and the stop, or now. */
struct vhpt_counts events_of(unsigned cpu);

#endif
