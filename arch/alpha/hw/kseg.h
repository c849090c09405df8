/* KSEG: physical memory addressed without page tables. KSEG addresses are computed only here. */
#ifndef ARCH_ALPHA_HW_KSEG_H
#define ARCH_ALPHA_HW_KSEG_H

#include "arch/alpha/hw/layout.h"
#include "kernel/base/types.h"

static inline void *kseg_ptr(paddr_t pa) { return (void *)(LAYOUT_KSEG_BASE + pa.a); }
static inline void *kseg_page(pfn_t pfn) { return kseg_ptr(pfn_to_paddr(pfn)); }
static inline paddr_t kseg_paddr(const void *p)
{
    return (paddr_t){(uint64_t)p - LAYOUT_KSEG_BASE};
}
static inline bool kseg_contains(const void *p)
{
    return (uint64_t)p >= LAYOUT_KSEG_BASE && (uint64_t)p < LAYOUT_KSEG_IO;
}

#endif
