/* PCI enumeration. PALcode has assigned the base address registers (BARs). The table of functions
   is filled once at boot and is constant afterwards. */
#ifndef ARCH_ALPHA_CLIPPER_PCI_H
#define ARCH_ALPHA_CLIPPER_PCI_H

#include "kernel/base/types.h"

#define PCI_MAX  32
#define PCI_BARS 6

struct pci_function {
    uint8_t bus, slot, func, pin; /* pin: 1-4 for INTA-INTD, 0 for none */
    uint16_t vendor, device;
    uint32_t class_code;    /* base class, subclass, interface */
    unsigned irq;           /* for irq_register; 0 for none */
    uint64_t bar[PCI_BARS]; /* addresses, without the flag bits; 0 for none */
    uint8_t bar_is_io;      /* bit n: BAR n is in I/O space */
};

/* Scan bus 0 and the buses of its bridges. Functions beyond PCI_MAX are named on the console and
   left out. Boot, one CPU. */
void pci_boot(void);
const struct pci_function *pci_get(unsigned index); /* NULL beyond the last */

#endif
