/*
 * The table of interrupt handlers. An entry is written once, under register_lock: first its
 * argument, then, with release order, its function. Dispatch therefore reads the table without a
 * lock, on any CPU. An entry is never removed.
 */
#include "arch/alpha/clipper/irq.h"

#include "arch/alpha/clipper/cchip.h"
#include "arch/alpha/clipper/i8259.h"
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/rawlock.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"

#define VECTOR_DEVICE 0x800
#define VECTOR_STEP   16

struct irq_line {
    irq_fn fn[IRQ_SHARERS]; /* atomic: stored after arg with release order, never changed again */
    void *arg[IRQ_SHARERS]; /* written under register_lock; constant once fn is set */
};

static struct irq_line lines[IRQ_COUNT];
static struct rawlock register_lock;
static uint64_t taken, unclaimed; /* atomic, relaxed: statistics */

void irq_boot(void)
{
    cchip_boot();
    i8259_boot();
    cchip_line_enable(CCHIP_LINE_ISA, true);
}

int irq_register(unsigned irq, irq_fn fn, void *arg)
{
    if (irq >= IRQ_COUNT || !fn)
        return -EINVAL;
    unsigned places = irq < IRQ_PCI_FIRST ? 1 : IRQ_SHARERS;
    int result = -EBUSY;
    uint64_t ipl = rawlock_acquire(&register_lock);
    for (unsigned i = 0; i < places; i++) {
        if (lines[irq].fn[i])
            continue;
        lines[irq].arg[i] = arg;
        __atomic_store_n(&lines[irq].fn[i], fn, __ATOMIC_RELEASE);
        if (irq < IRQ_PCI_FIRST)
            i8259_enable(irq);
        else
            cchip_line_enable(irq - IRQ_PCI_FIRST, true);
        result = 0;
        break;
    }
    rawlock_release(&register_lock, ipl);
    return result;
}

int irq_set_cpu(unsigned irq, unsigned cpu)
{
    if (irq >= IRQ_COUNT || cpu >= MAX_CPUS ||
        !__atomic_load_n(&cpus[cpu].online, __ATOMIC_ACQUIRE))
        return -EINVAL;
    cchip_line_route(irq < IRQ_PCI_FIRST ? CCHIP_LINE_ISA : irq - IRQ_PCI_FIRST, cpu);
    return 0;
}

void irq_dispatch(uint64_t vector)
{
    uint64_t irq = (vector - VECTOR_DEVICE) / VECTOR_STEP;
    bool claimed = false;
    if (vector >= VECTOR_DEVICE && irq < IRQ_COUNT) {
        for (unsigned i = 0; i < IRQ_SHARERS; i++) {
            irq_fn fn = __atomic_load_n(&lines[irq].fn[i], __ATOMIC_ACQUIRE);
            if (!fn)
                break;
            fn(lines[irq].arg[i]);
            claimed = true;
        }
        if (irq < IRQ_PCI_FIRST)
            i8259_end((unsigned)irq);
    }
    __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    if (!claimed) {
        __atomic_fetch_add(&unclaimed, 1, __ATOMIC_RELAXED);
        if (irq >= IRQ_PCI_FIRST && irq < IRQ_COUNT && irq - IRQ_PCI_FIRST != CCHIP_LINE_ISA) {
            cchip_line_enable((unsigned)irq - IRQ_PCI_FIRST, false);
            printk("irq: line %lu interrupts, but has no driver: disabled\n", irq - IRQ_PCI_FIRST);
        }
    }
}

void irq_stats(struct irq_stats *s)
{
    s->taken = __atomic_load_n(&taken, __ATOMIC_RELAXED);
    s->unclaimed = __atomic_load_n(&unclaimed, __ATOMIC_RELAXED);
}
