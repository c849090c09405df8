/*
 * The arguments pidadr and prcnam of services that name a process, and who may be named. IPL 0, no
 * spinlock held: user memory may fault. Results are condition values.
 */
#ifndef KERNEL_SYS_VMS_TARGET_H
#define KERNEL_SYS_VMS_TARGET_H

#include "kernel/base/cond.h"
#include "kernel/proc/process.h"

#define VMS_PROCESS_NAME_MAX 15 /* most characters of a process's name */

/* *pidadr in a search over all processes: at its start VMS_SEARCH_START, afterwards VMS_SEARCH and
   the number of the process found last. */
#define VMS_SEARCH_START UINT32_MAX
#define VMS_SEARCH       0x80000000u

struct vms_target { /* the arguments, decoded */
    bool search, by_name;
    uint32_t pid; /* in a search: the process found last, or 0 */
    char name[VMS_PROCESS_NAME_MAX + 2];
};

/* Decode the arguments. If *pidadr is not 0, it takes precedence; without either it is the caller.
   SS$_NORMAL, SS$_ACCVIO, SS$_IVLOGNAM. */
cond_t vms_target_decode(vaddr_t pidadr, vaddr_t prcnam, struct vms_target *t);
/* Take the table lock and find the process. *p: NULL if there is none, otherwise one that may be a
   zombie. Returns what spin_lock() did. */
ipl_t vms_target_lock(const struct vms_target *t, struct process **p);
/* May the caller (self) know of p, and act on it: the same UIC, WORLD, or GROUP in the same group?
   Table lock held. */
bool vms_target_allowed(const struct process *self, const struct process *p);
/* Call action with the process that the arguments name, which the caller may control, and the table
   lock held; write its number to *pidadr. The action's result, or SS$_NONEXPR, SS$_NOPRIV,
   SS$_IVLOGNAM, SS$_ACCVIO. (process.c) */
cond_t vms_control(vaddr_t pidadr, vaddr_t prcnam,
                   cond_t (*action)(struct process *p, uint64_t arg), uint64_t arg);
/* Has another live process of p's UIC group this name? IPL 0, no lock. (process.c) */
bool vms_name_taken(const struct process *p, const char *name);

#endif
