/*
 * Controlling terminals: which session each terminal belongs to, and which of its process groups is
 * in the foreground. kernel/io/tty.h states what the line discipline asks.
 */
#ifndef KERNEL_PROC_TERMINAL_H
#define KERNEL_PROC_TERMINAL_H

#include "kernel/base/types.h"

struct process;

/* Give the console to the session of p, the first process, which is in the process table and does
 * not run yet, and serve the line discipline from now on. Boot only. */
void terminal_boot(struct process *p);
/* p, the current process, leaves its session or ends. If it is the leader of the terminal's session
 * the session loses the terminal: files opened on it are dead, and its foreground group gets SIGHUP
 * and SIGCONT. IPL 0; takes the table lock. */
void terminal_hang_up(struct process *p);
/* The device number of the controlling terminal of p, and the foreground group there; 0: none.
 * Table lock held. */
uint32_t terminal_device_locked(const struct process *p);
uint32_t terminal_group_locked(const struct process *p);
/* Is the current process's group orphaned, so that no shell would continue it if it stopped? Takes
 * the table lock. */
bool terminal_is_orphaned(void);

#endif
