/* What the console says of a process that a trap of its own ends. */
#ifndef KERNEL_PROC_CRASH_REPORT_H
#define KERNEL_PROC_CRASH_REPORT_H

struct signal_info;
struct trapframe;

/* The current process is about to be ended by the signal in info, which a trap has sent (code > 0):
 * print the signal, the instruction and what was wrong with it, the registers, the mapping of the
 * address and those around it, and the callers. f: the registers of user mode, s0 to s6 and usp
 * too. Prints at most CRASH_BURST reports and then one each CRASH_NS, and says how many it left
 * out. IPL 0, no locks held; takes the mutex of the address space; may wait for pages. */
void crash_report(const struct trapframe *f, const struct signal_info *info);

#endif
