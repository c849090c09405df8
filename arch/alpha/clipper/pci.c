/*
 * PCI enumeration: a scan of bus 0 and, recursively, of the buses of its bridges, by reading
 * configuration space. Only the boot CPU scans, so the table of functions needs no lock.
 */
#include "arch/alpha/clipper/pci.h"

#include "arch/alpha/clipper/irq.h"
#include "arch/alpha/hw/io.h"
#include "kernel/base/printk.h"

enum {
    CFG_ID = 0x00,
    CFG_CLASS = 0x08,
    CFG_HEADER = 0x0C,
    CFG_BAR0 = 0x10,
    CFG_BUSES = 0x18,
    CFG_INTERRUPT = 0x3C
};
#define HEADER_TYPE_BRIDGE   1
#define HEADER_MULTIFUNCTION 0x80
#define BAR_IO               0x1u
#define BAR_64               0x4u
#define SLOTS                32
#define FUNCS                8
#define BUS_DEPTH            4 /* nesting of bridges that is followed; clipper itself has none */

static struct pci_function functions[PCI_MAX]; /* constant after boot */
static unsigned count;                         /* constant after boot */

static void read_bars(struct pci_function *f)
{
    for (unsigned i = 0; i < PCI_BARS; i++) {
        uint32_t low = io_config_read32(f->bus, f->slot, f->func, CFG_BAR0 + 4 * i);
        if (low & BAR_IO) {
            f->bar[i] = low & ~3u;
            f->bar_is_io |= (uint8_t)(1u << i);
        } else if (low & BAR_64 && i + 1 < PCI_BARS) {
            uint64_t high = io_config_read32(f->bus, f->slot, f->func, CFG_BAR0 + 4 * (i + 1));
            f->bar[i] = high << 32 | (low & ~15u);
            i++;
        } else {
            f->bar[i] = low & ~15u;
        }
    }
}

static void scan_bus(unsigned bus, unsigned depth);

static void scan_function(unsigned bus, unsigned slot, unsigned func, unsigned depth)
{
    uint32_t id = io_config_read32(bus, slot, func, CFG_ID);
    unsigned header = (io_config_read32(bus, slot, func, CFG_HEADER) >> 16) & 0x7F;
    if (header == HEADER_TYPE_BRIDGE) {
        unsigned secondary = (io_config_read32(bus, slot, func, CFG_BUSES) >> 8) & 0xFF;
        if (secondary > bus && depth < BUS_DEPTH)
            scan_bus(secondary, depth + 1);
        return;
    }
    if (count == PCI_MAX) {
        printk("pci: %u.%u.%u left out, the table holds %u (PCI_MAX)\n", bus, slot, func, PCI_MAX);
        return;
    }
    struct pci_function *f = &functions[count++];
    f->bus = (uint8_t)bus;
    f->slot = (uint8_t)slot;
    f->func = (uint8_t)func;
    f->vendor = (uint16_t)id;
    f->device = (uint16_t)(id >> 16);
    f->class_code = io_config_read32(bus, slot, func, CFG_CLASS) >> 8;
    f->pin = (uint8_t)(io_config_read32(bus, slot, func, CFG_INTERRUPT) >> 8) & 7;
    if (f->pin && bus == 0) /* line (slot + 1) * 4 + pin, INTA = 0 (docs/platform.md) */
        f->irq = IRQ_PCI_FIRST + (slot + 1) * 4 + (f->pin - 1);
    read_bars(f);
}

static void scan_bus(unsigned bus, unsigned depth)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if ((io_config_read32(bus, slot, 0, CFG_ID) & 0xFFFF) == 0xFFFF)
            continue;
        unsigned header = (io_config_read32(bus, slot, 0, CFG_HEADER) >> 16) & 0xFF;
        unsigned funcs = header & HEADER_MULTIFUNCTION ? FUNCS : 1;
        for (unsigned func = 0; func < funcs; func++) {
            if ((io_config_read32(bus, slot, func, CFG_ID) & 0xFFFF) != 0xFFFF)
                scan_function(bus, slot, func, depth);
        }
    }
}

void pci_boot(void) { scan_bus(0, 0); }

const struct pci_function *pci_get(unsigned index)
{
    return index < count ? &functions[index] : NULL;
}
