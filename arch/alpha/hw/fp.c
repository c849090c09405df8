/* Ownership of the floating-point unit; the rules are in the header. */
#include "arch/alpha/hw/fp.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/pal.h"

#define FLAG_FEN      1UL
#define IPL_NO_SWITCH 5 /* blocks clock and device interrupts, and with them a context switch */

void fp_enable(void)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    if (!(current_hw->pcb.flags & FLAG_FEN)) {
        pal_wrfen(1);
        fp_load(&current_hw->fp);
        current_hw->pcb.flags |= FLAG_FEN;
        cpu_self()->fp_loads++;
    }
    pal_swpipl(ipl);
}

void fp_sync(void)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    if (current_hw->pcb.flags & FLAG_FEN)
        fp_store(&current_hw->fp);
    pal_swpipl(ipl);
}

void fp_discard(void)
{
    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    pal_wrfen(0);
    current_hw->pcb.flags &= ~FLAG_FEN;
    pal_swpipl(ipl);
}

void fp_init(struct thread_hw *t)
{
    for (unsigned i = 0; i < 31; i++)
        t->fp.f[i] = 0;
    t->fp.f[31] = FPCR_INITIAL;
}

void fp_reset(void)
{
    fp_discard();
    fp_init(current_hw);
}

uint64_t fp_get(struct thread_hw *t, unsigned reg)
{
    fp_sync();
    return reg < 31 ? t->fp.f[reg] : 0;
}

void fp_set(struct thread_hw *t, unsigned reg, uint64_t v)
{
    if (reg >= 31)
        return;

    uint64_t ipl = pal_swpipl(IPL_NO_SWITCH);

    fp_sync();
    t->fp.f[reg] = v;
    if (t->pcb.flags & FLAG_FEN)
        fp_load(&t->fp);
    pal_swpipl(ipl);
}
