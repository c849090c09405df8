/*
 * Device interrupts. Drivers on higher floors register a handler; entry code calls irq_dispatch.
 * IRQ numbers: 0-15 ISA, 16 + n Cchip line n (PCI).
 */
#ifndef ARCH_ALPHA_CLIPPER_IRQ_H
#define ARCH_ALPHA_CLIPPER_IRQ_H

#include "kernel/base/types.h"

#define IRQ_PCI_FIRST 16
#define IRQ_COUNT     (IRQ_PCI_FIRST + 64)

/* A handler runs at IPL_DEVICE on the CPU that its line goes to. It makes the device drop its
   request, takes locks from RANK_TTY up and never waits. While a line moves to another CPU the
   handler may run on both at once, so a driver protects its state by a lock, not by its CPU. */
typedef void (*irq_fn)(void *arg);

void irq_boot(void);
/* Add a handler and enable the line. PCI lines are shared by up to IRQ_SHARERS handlers. 0, -EINVAL
   for a number that does not exist, -EBUSY when the line's places are taken. IPL 0. */
int irq_register(unsigned irq, irq_fn fn, void *arg);
/* Let the line of irq interrupt that CPU. The ISA numbers share one line and move together. 0, or
   -EINVAL: no such number, or the CPU is not online. Any IPL. */
int irq_set_cpu(unsigned irq, unsigned cpu);
/* From entInt, kind 3: vector is PALcode's (0x800 + 16 * IRQ). IPL_DEVICE or above. An interrupt
   nobody registered for is counted, and its PCI line disabled, because it would come again for
   ever. */
void irq_dispatch(uint64_t vector);

struct irq_stats {
    uint64_t taken;
    uint64_t unclaimed;
};
void irq_stats(struct irq_stats *s);

#define IRQ_SHARERS 4

#endif
