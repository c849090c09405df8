/*
 * The first C code of the primary CPU, and what every CPU does first. The primary comes from boot.S
 * on the first boot stack, as the first boot thread; it initialises the UARTs and the entry points
 * and calls kernel_main.
 */
#include "arch/alpha/entry/start.h"

#include "arch/alpha/clipper/channel.h"
#include "arch/alpha/clipper/uart.h"
#include "arch/alpha/entry/entry.h"
#include "arch/alpha/hw/hwrpb.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/stack.h"
#include "kernel/base/panic.h"
#include "kernel/sched/sched.h"

char boot_stacks[MAX_CPUS][BOOT_STACK_SIZE] __attribute__((aligned(64)));

/* The compiler's stack probe (arch/alpha/hw/stack.h) touches memory below the stack: the
   reserve. */
static struct {
    char reserve[STACK_RESERVE];
    char stack[EMERGENCY_STACK_SIZE];
} emergency[MAX_CPUS] __attribute__((aligned(64)));

void cpu_block_boot(unsigned id, uint64_t gp, unsigned whami)
{
    struct cpu *c = &cpus[id];
    struct thread_hw *t = &boot_threads[id].hw;

    c->id = id;
    c->whami = whami;
    c->gp = gp;
    c->emergency_stack = (uint64_t)(emergency[id].stack + EMERGENCY_STACK_SIZE);
    c->current = t;
    t->cpu = c;
    t->kstack_base = (uint64_t)boot_stacks[id];
    t->kstack_limit = t->kstack_base + STACK_RESERVE;
    t->kstack_top = t->kstack_base + BOOT_STACK_SIZE;
}

void cpu_enter(unsigned id)
{
    pal_swpipl(7);
    pal_wrkgp((uint64_t)&cpus[id]);
    pal_wrfen(0);
    entry_points_set();
}

/* Called by boot.S on the primary CPU, at the highest IPL. */
void kernel_boot(uint64_t gp)
{
    uart_boot(&uart_com1);
    uart_boot(&uart_com2);
    channel_write_polled(CHANNEL_READY, NULL, 0);
    cpu_block_boot(0, gp, (unsigned)pal_whami());
    cpu_enter(0);
    if (!hwrpb_boot())
        panic("the console left no HWRPB");
    cpu_count = 1;
    dispatch_boot();
    kernel_main(&boot_cpus);
}
