/* Context switching: the parts that are written in C. */
#include "arch/alpha/hw/switch.h"

#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/stack.h"
#include "arch/alpha/hw/tb_model.h"

/* The frame that context_switch pops; must match switch.S. */
struct switch_frame {
    uint64_t ra, s[7];
};

void thread_trampoline(void); /* switch.S */

void (*user_return)(void);

void context_prepare(struct thread_hw *t, void (*start)(struct thread_hw *))
{
    struct switch_frame *f = (struct switch_frame *)user_frame_of(t) - 1;

    *f = (struct switch_frame){.ra = (uint64_t)thread_trampoline, .s[0] = (uint64_t)start};
    t->pcb.ksp = (uint64_t)f;
    t->pcb.flags = 0;
    t->kstack_limit = t->kstack_base + STACK_RESERVE;
}

void context_load_pcb(struct hwpcb *pcb); /* switch.S */

/* The thread switches to itself, by the PCB of this CPU that is not loaded. The registers are the
   same before and after, those of floating point too. */
void context_load_root(uint64_t ptbr)
{
    struct thread_hw *t = current_hw;
    struct cpu *c = t->cpu;
    struct hwpcb *pcb;

    c->pcb_live ^= sizeof(*pcb);
    pcb = &c->pcb[c->pcb_live / sizeof(*pcb)];
    t->pcb.ptbr = ptbr;
    pcb->ptbr = ptbr;
    pcb->usp = pal_rdusp();
    pcb->unique = pal_rdunique();
    pcb->cycles = pcb->asn = 0;
    pcb->flags = t->pcb.flags & HW_FP_USED; /* FEN, as it is */
    context_load_pcb(pcb);
    if (unlikely(tb_model_listens))
        tb_model_root(ptbr);
    /* The ASN is the same, so translations by the old root must be invalidated. */
    pal_tbi_silent((uint64_t)-1, 0);
}
