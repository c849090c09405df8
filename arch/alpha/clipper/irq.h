/*
 * Device interrupts. Drivers register a handler for an IRQ number; entry code calls irq_dispatch.
 * IRQ numbers 0 to 15 are those of the ISA bus, 16 + n is Cchip line n (PCI).
 */
#ifndef ARCH_ALPHA_CLIPPER_IRQ_H
#define ARCH_ALPHA_CLIPPER_IRQ_H

#include "kernel/base/types.h"

#define IRQ_PCI_FIRST 16
#define IRQ_COUNT     (IRQ_PCI_FIRST + 64)

/* A handler runs at IPL_DEVICE on the CPU to which its line is routed. It makes the device drop its
   request, may take spinlocks of rank RANK_TTY and above, and never waits. While a line is being
   routed to another CPU the handler may run on both CPUs at once, so a driver protects its state by
   a lock. */
typedef void (*irq_fn)(void *arg);

/* Mask every line except that of the i8259 pair. Boot, one CPU. */
void irq_boot(void);
/* Add a handler, which is called with arg, and enable the line. Up to IRQ_SHARERS handlers share a
   PCI line; an ISA line has one. A handler cannot be removed. Returns 0, -EINVAL for a number that
   does not exist or a null fn, -EBUSY when the line has no room for another handler. IPL 0. */
int irq_register(unsigned irq, irq_fn fn, void *arg);
/* Route the line of irq to a CPU, by its index. The ISA numbers share one line and move together.
   Returns 0, or -EINVAL when there is no such number or the CPU is not online. Any IPL. */
int irq_set_cpu(unsigned irq, unsigned cpu);
/* Call the handlers of an interrupt. Entry code calls it for entInt kind 3 with PALcode's vector,
   0x800 + 16 * IRQ, at IPL_DEVICE or above. An interrupt without a handler is counted, and its PCI
   line is masked, because it would interrupt again without end. */
void irq_dispatch(uint64_t vector);

struct irq_stats {
    uint64_t taken;
    uint64_t unclaimed;
};
void irq_stats(struct irq_stats *s);

#define IRQ_SHARERS 4

#endif
