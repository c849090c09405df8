/*
 * Base priorities of OpenVMS, 0 to 31, and the nice values that stand for them here: 4, that of an
 * interactive process there, is nice 0; each step below takes five, each above two, as far as there
 * are any. The priorities of real time, from 16 on, are the best nice value.
 */
#ifndef KERNEL_SYS_VMS_PRIORITY_H
#define KERNEL_SYS_VMS_PRIORITY_H

#include "kernel/proc/process.h"

#define VMS_PRIORITY_MOST 31u

int vms_nice(uint32_t base);
/* The base priority of p, which has a thread: the one that it was given, unless its nice value was
 * changed since. Table lock held. */
uint32_t vms_base_priority(const struct process *p);

#endif
