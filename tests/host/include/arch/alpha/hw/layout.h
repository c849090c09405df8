/* Host stand-in: the memory map, with the parts of system space that tests use where this machine
   has room for them. */
#ifndef HOST_LAYOUT_H
#define HOST_LAYOUT_H

#include_next "arch/alpha/hw/layout.h"

#undef LAYOUT_PAGED_POOL_BASE
#ifdef __SANITIZE_THREAD__ /* keeps shadows of the others' addresses there */
#define LAYOUT_PAGED_POOL_BASE 0x4000000000UL
#else
#define LAYOUT_PAGED_POOL_BASE 0x200000000000UL
#endif

#endif
