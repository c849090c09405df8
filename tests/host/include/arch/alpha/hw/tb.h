/*
 * Host stand-in for the translation buffer: invalidations are counted and passed to a hook, with
 * which a test can model a translation buffer.
 */
#ifndef ARCH_ALPHA_HW_TB_H
#define ARCH_ALPHA_HW_TB_H

#include "arch/alpha/hw/pal.h"
#include "kernel/base/types.h"

#define HOST_TB_ALL UINT64_MAX

extern uint64_t host_tb_singles, host_tb_alls; /* atomic */
/* Called, if not NULL, on the CPU that invalidates, with the address or HOST_TB_ALL. */
extern void (*host_tb_hook)(vaddr_t va);

void tb_invalidate_single(vaddr_t va);
void tb_invalidate_all(void);

#endif
