/* PCI: what is on the bus. PALcode has assigned the BARs. Filled once at boot, constant afterwards.
 */
#ifndef ARCH_ALPHA_CLIPPER_PCI_H
#define ARCH_ALPHA_CLIPPER_PCI_H

#include "kernel/base/types.h"

#define PCI_MAX  32
#define PCI_BARS 6

struct pci_function {
    uint8_t bus, slot, func, pin; /* pin 1-4 = INTA-INTD, 0 none */
    uint16_t vendor, device;
    uint32_t class_code;    /* base class, subclass, interface */
    unsigned irq;           /* for irq_register; 0 none */
    uint64_t bar[PCI_BARS]; /* address, flag bits taken off; 0 none */
    uint8_t bar_is_io;      /* bit per BAR */
};

/* Scan bus 0 and bridges behind it. Functions beyond PCI_MAX are named on the console and left out.
 * Boot. */
void pci_boot(void);
unsigned pci_count(void);
const struct pci_function *pci_get(unsigned index); /* NULL beyond the last */

#endif
