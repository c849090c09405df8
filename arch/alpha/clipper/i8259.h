/* The pair of i8259 interrupt controllers, whose output is Cchip line 55. PALcode has initialised
   and masked them, and performs the acknowledge cycle. */
#ifndef ARCH_ALPHA_CLIPPER_I8259_H
#define ARCH_ALPHA_CLIPPER_I8259_H

#include "kernel/base/types.h"

#define I8259_IRQS 16

/* Mask every IRQ but the cascade. Boot, one CPU. */
void i8259_boot(void);
/* Unmask an ISA IRQ, 0-15. Callers serialise their calls (irq_register does). */
void i8259_enable(unsigned irq);
/* Signal the end of interrupt irq, 0-15, after the device has dropped its request, on the CPU that
   took the interrupt. The command names the IRQ (a specific EOI), so two CPUs may end different
   interrupts at the same time. */
void i8259_end(unsigned irq);

#endif
