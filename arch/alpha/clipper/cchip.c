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
static uint64_t dim_cpu0; /* protected by cchip_lock */

void cchip_boot(void)
{
    for (unsigned i = 0; i < MAX_CPUS; i++)
        io_csr_write(IO_CCHIP_CSR + dim_offset[i], 0);
}

void cchip_line_enable(unsigned line, bool on)
{
    uint64_t ipl = rawlock_acquire(&cchip_lock);
    if (on)
        dim_cpu0 |= 1UL << line;
    else
        dim_cpu0 &= ~(1UL << line);
    io_csr_write(IO_CCHIP_CSR + dim_offset[0], dim_cpu0);
    rawlock_release(&cchip_lock, ipl);
}
