/* Host stand-in for the memory map: the parts of system space that tests use are at addresses that
   are free in a process of the host. */
#ifndef HOST_LAYOUT_H
#define HOST_LAYOUT_H

#include_next "arch/alpha/hw/layout.h"

#undef LAYOUT_PAGED_POOL_BASE
#ifdef __SANITIZE_THREAD__ /* its shadow memory is at the other addresses */
#define LAYOUT_PAGED_POOL_BASE 0x4000000000UL
#else
#define LAYOUT_PAGED_POOL_BASE 0x200000000000UL
#endif

#endif
