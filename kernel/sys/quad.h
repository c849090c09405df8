/*
 * Quadwords in user memory, as arguments and outputs of system services, MEGA_SYS_CONTROL included.
 * An output is probed before anything is changed. IPL 0, no spinlock held: any of these functions
 * may fault on user memory.
 */
#ifndef KERNEL_SYS_QUAD_H
#define KERNEL_SYS_QUAD_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

/* Copy in a quadword, which must be naturally aligned. SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_quad_in(vaddr_t ua, uint64_t *v);
/* Is ua naturally aligned, and can a quadword be written there? If it is optional, 0 is accepted
   too. SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_probe_quad(vaddr_t ua, bool optional);
/* Write an output that was probed; nothing if ua is 0. If another thread has unmapped it since, the
   value is lost. */
void vms_quad_out(vaddr_t ua, uint64_t v);

#endif
