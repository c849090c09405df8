/* Host stand-in: the memory map, with the parts of system space that tests use where this machine
   has room for them. */
#ifndef HOST_LAYOUT_H
#define HOST_LAYOUT_H

#include_next "arch/alpha/hw/layout.h"

#undef LAYOUT_PAGED_POOL_BASE
#define LAYOUT_PAGED_POOL_BASE 0x200000000000UL

#endif
