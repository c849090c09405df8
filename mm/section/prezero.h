/* Zeroing of long stretches at boot, by all CPUs. */
#ifndef MM_SECTION_PREZERO_H
#define MM_SECTION_PREZERO_H

#include "kernel/base/types.h"

/* Make a stretch zero, writing only pages that are not. Every online CPU helps, by a thread of
   low priority; without memory for these the caller does it alone. Boot only, one caller: IPL 0. */
void prezero_boot(pfn_t first, uint64_t npages);

#endif
