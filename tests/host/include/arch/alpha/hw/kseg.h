/*
 * Host stand-in for KSEG: one sparse mapping, made at the first use, stands for physical memory.
 * Physical address 0 is its first byte.
 */
#ifndef ARCH_ALPHA_HW_KSEG_H
#define ARCH_ALPHA_HW_KSEG_H

#include "arch/alpha/hw/layout.h"
#include "kernel/base/types.h"

#ifdef __SANITIZE_THREAD__ /* it leaves little address space */
#define HOST_RAM_BYTES (UINT64_C(1) << 36)
#else
#define HOST_RAM_BYTES (UINT64_C(1) << 40)
#endif

/* The mapping's first byte; shim.c creates the mapping before main(). Pages that were never touched
   take no memory and read as zero. */
extern char *host_ram;
/* Give all touched pages back to the host: everything reads as zero again. */
void host_ram_reset(void);

static inline void *kseg_ptr(paddr_t pa) { return host_ram + pa.a; }
static inline void *kseg_page(pfn_t pfn) { return kseg_ptr(pfn_to_paddr(pfn)); }
static inline paddr_t kseg_paddr(const void *p)
{
    return (paddr_t){(uint64_t)((const char *)p - host_ram)};
}
static inline bool kseg_contains(const void *p)
{
    return (const char *)p >= host_ram && (const char *)p < host_ram + HOST_RAM_BYTES;
}

#endif
