/*
 * The mask register (DIM) of each CPU selects lines of the raw request register (DRIR); PALcode
 * reads the result (DIR) and makes a vector of it. PALcode's own mask and unmask calls (cserve 52,
 * 53) do nothing on this emulator, so DIM is written here (docs/platform.md).
 */
#include "arch/alpha/clipper/cchip.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/io.h"
#include "arch/alpha/hw/rawlock.h"

static const uint16_t dim_offset[MAX_CPUS] = {0x200, 0x240, 0x600, 0x640};

static struct rawlock cchip_lock;
static uint64_t dim[MAX_CPUS];        /* what the mask registers hold; cchip_lock */
static uint8_t line_cpu[CCHIP_LINES]; /* the CPU that a line interrupts; cchip_lock */

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

        /* Off before on: at no time do two CPUs see the request. One that is raised in between is
           not lost, because the line keeps its level. */
        dim_set_locked(old, dim[old] & ~bit);
        dim_set_locked(cpu, dim[cpu] | bit);
        line_cpu[line] = (uint8_t)cpu;
    }
    rawlock_release(&cchip_lock, ipl);
}
