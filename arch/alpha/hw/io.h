/*
 * Access to physical I/O space through KSEG (docs/platform.md, Memory). The addresses of the
 * chipset's windows appear only here. Device registers are read and written by volatile accesses; a
 * memory barrier follows each write, so that accesses reach the device in program order.
 */
#ifndef ARCH_ALPHA_HW_IO_H
#define ARCH_ALPHA_HW_IO_H

#include "arch/alpha/hw/layout.h"
#include "kernel/base/types.h"

#define IO_PCI_MEMORY 0x0UL
#define IO_PCHIP_CSR  0x180000000UL
#define IO_CCHIP_CSR  0x1A0000000UL
#define IO_PCI_PORTS  0x1FC000000UL
#define IO_PCI_CONFIG 0x1FE000000UL

static inline volatile void *io_address(uint64_t offset)
{
    return (volatile void *)(LAYOUT_KSEG_IO + offset);
}

/* Do npages frames from first on lie in a window to the PCI bus, memory (4 GiB) or I/O (32 MiB)?
   The frame numbers are those of physical I/O space (address bit 43). The chipset's registers and
   PCI configuration space are not in these windows. */
static inline bool io_frames_are_bus(pfn_t first, uint64_t npages)
{
    const struct {
        uint64_t base, size;
    } windows[] = {{IO_PCI_MEMORY, 1UL << 32}, {IO_PCI_PORTS, 1UL << 25}};

    for (unsigned i = 0; i < 2; i++) {
        uint64_t from = ((1UL << 43) + windows[i].base) >> PAGE_SHIFT;
        uint64_t n = windows[i].size >> PAGE_SHIFT;

        if (first.n >= from && first.n - from < n && npages <= n - (first.n - from))
            return true;
    }
    return false;
}

static inline void io_barrier(void) { __asm__ volatile("mb" ::: "memory"); }

/* PCI I/O ports. */
static inline uint8_t io_in8(uint16_t port)
{
    return *(volatile uint8_t *)io_address(IO_PCI_PORTS + port);
}
static inline void io_out8(uint16_t port, uint8_t v)
{
    *(volatile uint8_t *)io_address(IO_PCI_PORTS + port) = v;
    io_barrier();
}

static inline uint16_t io_in16(uint16_t port)
{
    return *(volatile uint16_t *)io_address(IO_PCI_PORTS + port);
}
static inline void io_out16(uint16_t port, uint16_t v)
{
    *(volatile uint16_t *)io_address(IO_PCI_PORTS + port) = v;
    io_barrier();
}
static inline uint32_t io_in32(uint16_t port)
{
    return *(volatile uint32_t *)io_address(IO_PCI_PORTS + port);
}
static inline void io_out32(uint16_t port, uint32_t v)
{
    *(volatile uint32_t *)io_address(IO_PCI_PORTS + port) = v;
    io_barrier();
}

/* Chipset registers. */
static inline uint64_t io_csr_read(uint64_t offset)
{
    return *(volatile uint64_t *)io_address(offset);
}
static inline void io_csr_write(uint64_t offset, uint64_t v)
{
    *(volatile uint64_t *)io_address(offset) = v;
    io_barrier();
}

/* PCI configuration space of hose 0. */
static inline uint64_t io_config_offset(unsigned bus, unsigned slot, unsigned func, unsigned reg)
{
    return IO_PCI_CONFIG | (uint64_t)bus << 16 | slot << 11 | func << 8 | reg;
}
static inline uint32_t io_config_read32(unsigned bus, unsigned slot, unsigned func, unsigned reg)
{
    return *(volatile uint32_t *)io_address(io_config_offset(bus, slot, func, reg));
}
static inline uint8_t io_config_read8(unsigned bus, unsigned slot, unsigned func, unsigned reg)
{
    return *(volatile uint8_t *)io_address(io_config_offset(bus, slot, func, reg));
}
static inline void io_config_write32(unsigned bus, unsigned slot, unsigned func, unsigned reg,
                                     uint32_t v)
{
    *(volatile uint32_t *)io_address(io_config_offset(bus, slot, func, reg)) = v;
    io_barrier();
}

#endif
