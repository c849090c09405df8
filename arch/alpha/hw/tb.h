/* Invalidation in the translation buffer of this CPU; for other CPUs: mm/pt/shootdown.h. */
#ifndef ARCH_ALPHA_HW_TB_H
#define ARCH_ALPHA_HW_TB_H

#include "arch/alpha/hw/pal.h"
#include "kernel/base/types.h"

/* Invalidate this CPU's data and instruction translations of the page at va. A chip drops that of
   the whole block if it has a granularity hint; QEMU, which knows no blocks, drops those of 8 KiB
   (docs/platform.md). Any IPL. */
static inline void tb_invalidate_single(vaddr_t va) { pal_tbi(3, va); }

/* Invalidate every translation of this CPU, those of system space too. Any IPL. */
static inline void tb_invalidate_all(void) { pal_tbi(-2, 0); }

#endif
