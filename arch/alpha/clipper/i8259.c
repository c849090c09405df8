/* The i8259 pair: masks and specific end of interrupt. IRQs 8-15 are those of the slave controller,
   whose output is the master's IRQ 2, so that both controllers need an end of interrupt. */
#include "arch/alpha/clipper/i8259.h"

#include "arch/alpha/hw/io.h"

#define MASTER_COMMAND 0x20
#define MASTER_MASK    0x21
#define SLAVE_COMMAND  0xA0
#define SLAVE_MASK     0xA1
#define CASCADE_IRQ    2
#define EOI_SPECIFIC   0x60

/* Copy of both mask registers, a set bit masks; serialised by the callers of i8259_enable. */
static uint16_t mask = 0xFFFF & ~(1u << CASCADE_IRQ);

static void write_mask(void)
{
    io_out8(MASTER_MASK, (uint8_t)mask);
    io_out8(SLAVE_MASK, (uint8_t)(mask >> 8));
}

void i8259_boot(void) { write_mask(); }

void i8259_enable(unsigned irq)
{
    mask &= (uint16_t)~(1u << irq);
    write_mask();
}

void i8259_end(unsigned irq)
{
    if (irq >= 8) {
        io_out8(SLAVE_COMMAND, (uint8_t)(EOI_SPECIFIC | (irq - 8)));
        irq = CASCADE_IRQ;
    }
    io_out8(MASTER_COMMAND, (uint8_t)(EOI_SPECIFIC | irq));
}
