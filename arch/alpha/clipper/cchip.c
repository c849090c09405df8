/*
 * Routing of the Cchip's interrupt lines. The mask register (DIM) of each CPU selects lines of the
 * raw request register (DRIR); PALcode reads the selected requests (DIR) and derives the interrupt
 * vector from them. PALcode's calls to mask and unmask a line (cserve 52, 53) do nothing on this
 * emulator, so the kernel writes DIM itself (docs/platform.md).
 */
#include "arch/alpha/clipper/cchip.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/io.h"
#include "arch/alpha/hw/rawlock.h"

static const uint16_t dim_offset[MAX_CPUS] = {0x200, 0x240, 0x600, 0x640};

static struct rawlock cchip_lock;
static uint64_t dim[MAX_CPUS];        /* copy of the mask registers; protected by cchip_lock */
static uint8_t line_cpu[CCHIP_LINES]; /* CPU that a line interrupts; protected by cchip_lock */

void cchip_boot(void)
{
    for (unsigned i = 0; i < MAX_CPUS; i++)
        io_csr_write(IO_CCHIP_CSR + dim_offset[i], 0);
}

static void dim_set_locked(unsigned cpu, uint64_t lines)
{
    dim[cpu] = lines;
    io_csr_write(IO_CCHIP_CSR + dim_offset[cpu], lines);
}

void cchip_line_enable(unsigned line, bool on)
{
    uint64_t ipl = rawlock_acquire(&cchip_lock);
    unsigned cpu = line_cpu[line];

    dim_set_locked(cpu, on ? dim[cpu] | 1UL << line : dim[cpu] & ~(1UL << line));
    rawlock_release(&cchip_lock, ipl);
}

void cchip_line_route(unsigned line, unsigned cpu)
{
    uint64_t ipl = rawlock_acquire(&cchip_lock);
    unsigned old = line_cpu[line];

    if (cpu != old) {
        uint64_t bit = dim[old] & 1UL << line;

        /* The line is masked on the old CPU before it is unmasked on the new one, so that two CPUs
           never see the same request. A request raised in between is not lost, because the line
           is level-sensitive. */
        dim_set_locked(old, dim[old] & ~bit);
        dim_set_locked(cpu, dim[cpu] | bit);
        line_cpu[line] = (uint8_t)cpu;
    }
    rawlock_release(&cchip_lock, ipl);
}
