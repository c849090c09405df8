/* Shared by the files of kernel/proc only. */
#ifndef KERNEL_PROC_PRIVATE_H
#define KERNEL_PROC_PRIVATE_H

#include "kernel/proc/process.h"

/* Replace the address space of the current process by as (NULL: none). Returns the old one, with
 * its reference. The caller is the only thread. Takes the table lock. */
struct aspace *process_change_space(struct process *p, struct aspace *as);
/* Copy what a child inherits and what other threads of the current process may change meanwhile. */
void process_copy_identity(struct process *to, struct process *from);
/* Free a child that has no thread yet and is not in the table. IPL 0; may wait. */
void process_abandon(struct process *c);
/* t, the first thread of a new process of the same user, is no member of its maker's scheduling
 * group. Takes the table lock. */
void process_join_user_group(const struct process *c, struct thread *t);
/* Take p out of the table and give its numbers back. Table lock held. */
void process_leave_locked(struct process *p);
/* p no longer uses its parent's address space: wake the parent if it waits for that in vfork. Takes
 * the table lock. */
void process_vfork_release(struct process *p);
/* Release fs, which was p's; nobody finds it by p any more. IPL 0; may wait. */
void process_fs_end(struct process *p, struct fs_context *fs);
/* Stop the alarm; it is not set again. IPL 0; waits. */
void process_alarm_end(struct process *p);
/* SIGALRM was taken, or could be taken by now, and p->alarm_rests is set: begin the next interval.
 * Signal lock held. */
void alarm_taken_locked(struct process *p);
/* Make all children orphans and free those that have ended. Called by p's own thread. */
void process_free_children(struct process *p);
/* Pid 1 has ended: send the result record to the host and power the machine off. */
void process_first_ended(uint32_t status) __attribute__((noreturn));

#endif
