/* The i8259 pair behind Cchip line 55. PALcode has initialised and masked it, and does the
 * acknowledge cycle. */
#ifndef ARCH_ALPHA_CLIPPER_I8259_H
#define ARCH_ALPHA_CLIPPER_I8259_H

#include "kernel/base/types.h"

#define I8259_IRQS 16

/* Mask all but the cascade. Boot, one CPU. */
void i8259_boot(void);
/* Unmask an ISA IRQ, 0-15. Boot or a driver's attach; callers serialise themselves (irq_register
 * does). */
void i8259_enable(unsigned irq);
/* End of interrupt, after the device has dropped its request. On the CPU that took the interrupt,
   in its handler: an end names its IRQ, so two CPUs may end different ones at once. */
void i8259_end(unsigned irq);

#endif
