/* Ownership of the floating-point unit; the rules are in the header. */
#include "arch/alpha/hw/fp.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/pal.h"
#include "kernel/base/string.h"

#define IPL_NO_SWITCH 5 /* blocks clock and device interrupts, and with them a context switch */

/* Load the registers of the current thread, which has the unit from now on. IPL_NO_SWITCH. */
static void take(void)
{
    if (!fp_used())
        pal_wrfen(1);
    fp_load(&current_hw->fp);
    current_hw->pcb.flags |= HW_FP_USED;
    cpu_self()->fp_stale = 1;
}

void fp_enable(void)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    if (!fp_used())
        take();
    pal_swpipl(ipl);
}

void fp_sync(void)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    if (fp_used())
        fp_store(&current_hw->fp);
    pal_swpipl(ipl);
}

void fp_init(struct thread_hw *t) { t->fp.f[FP_FPCR] = FPCR_INITIAL; }

void fp_inherit(struct thread_hw *t)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    if (fp_used()) /* otherwise both are as fp_init() makes them */
        fp_store(&t->fp);
    pal_swpipl(ipl);
    t->pcb.flags = current_hw->pcb.flags;
}

void fp_reset(void)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    if (fp_used())
        memset(&current_hw->fp, 0, sizeof(current_hw->fp));
    fp_init(current_hw);
    if (cpu_self()->fp_stale) {
        pal_wrfen(1);
        fp_load(&current_hw->fp);
        cpu_self()->fp_stale = 0;
        pal_wrfen(0);
    }
    current_hw->pcb.flags = HW_USER;
    pal_swpipl(ipl);
}

uint64_t fp_get(unsigned reg)
{
    fp_sync();
    return reg < 31 ? current_hw->fp.f[reg] : 0;
}

void fp_set(unsigned reg, uint64_t v, uint64_t exceptions)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    fp_sync();
    if (reg < 31)
        current_hw->fp.f[reg] = v;
    current_hw->fp.f[FP_FPCR] |= exceptions;
    take();
    pal_swpipl(ipl);
}

void fp_write(const struct fp_state *s)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    if (fp_used() || memcmp(&current_hw->fp, s, sizeof(*s)) != 0) {
        current_hw->fp = *s;
        take();
    }
    pal_swpipl(ipl);
}
