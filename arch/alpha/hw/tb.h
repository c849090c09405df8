/* Translation buffer of this CPU. Other CPUs: mm/pt/shootdown.h. */
#ifndef ARCH_ALPHA_HW_TB_H
#define ARCH_ALPHA_HW_TB_H

#include "arch/alpha/hw/pal.h"
#include "kernel/base/types.h"

/* Drop this CPU's translation of the page at va (data and instruction side), one 8 KiB page even
   inside a granularity-hint block (docs/platform.md). Any IPL. */
static inline void tb_invalidate_single(vaddr_t va) { pal_tbi(3, va); }

/* Drop every translation of this CPU, system space included. Any IPL. */
static inline void tb_invalidate_all(void) { pal_tbi(-2, 0); }

#endif
