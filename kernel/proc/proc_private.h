/* Shared by the files of kernel/proc only. */
#ifndef KERNEL_PROC_PRIVATE_H
#define KERNEL_PROC_PRIVATE_H

#include "kernel/proc/process.h"

/* The current process's space becomes as (NULL: none). Returns the old one, whose reference is the
 * caller's. */
struct aspace *process_change_space(struct process *p, struct aspace *as);
/* p has a space of its own, or none: who waits for that in vfork may go on. */
void process_vfork_release(struct process *p);
/* Give up the working directory. */
void process_fs_end(struct process *p);
/* Stop the alarm for good. */
void process_alarm_end(struct process *p);
/* Let go of all children; those that have ended are freed. By p's own thread. */
void process_free_children(struct process *p);
/* Pid 1 has ended: the result record goes to the host and the machine is powered off. */
void process_first_ended(uint32_t status) __attribute__((noreturn));

#endif
