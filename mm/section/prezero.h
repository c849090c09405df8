/* Zeroing of reserved memory at boot, by all CPUs. */
#ifndef MM_SECTION_PREZERO_H
#define MM_SECTION_PREZERO_H

#include "kernel/base/types.h"

/* Zero npages contiguous frames from first on, writing only to pages that are not zero. A thread of
   low priority on every other online CPU helps; fewer help if a thread cannot be created. Returns
   when all is done. Boot only, one caller at a time; IPL 0, waits. */
void prezero_boot(pfn_t first, uint64_t npages);

#endif
