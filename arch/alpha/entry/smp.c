/*
 * Starting the secondary CPUs. They are started one at a time, because the console clears the whole
 * request word when it serves one CPU (docs/platform.md). Each comes up on its boot stack with the
 * system page tables; its boot thread becomes its idle thread in the scheduler.
 */
#include "arch/alpha/entry/entry.h"
#include "arch/alpha/entry/start.h"
#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/hwrpb.h"
#include "kernel/base/panic_stop.h"
#include "kernel/base/printk.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/sched.h"

#define ONLINE_NS 5000000000UL /* the host may schedule a new virtual CPU late */

static void stop_others(void) { ipi_send(~(cpumask_t)0, IPI_STOP); }

static void cpu_online(void)
{
    __atomic_store_n(&cpu_self()->online, 1, __ATOMIC_RELEASE);
    ipi_register(IPI_STOP, panic_stopped);
    panic_set_stop(stop_others);
}

/* Called by boot.S on the secondary CPU, at the highest IPL. */
void secondary_boot(struct cpu *c)
{
    cpu_enter(c->id);
    __atomic_store_n(&c->online, 1, __ATOMIC_RELEASE);
    sched_secondary_start();
}

static bool start_one(unsigned id, unsigned whami, uint64_t ptbr)
{
    uint64_t give_up;

    cpu_block_boot(id, cpus[0].gp, whami);
    boot_threads[id].hw.pcb.ptbr = ptbr;
    if (!hwrpb_start_cpu(whami, secondary_start, (uint64_t)&cpus[id],
                         boot_threads[id].hw.kstack_top, ptbr)) {
        printk("CPU %u: the console does not take the order to start it\n", whami);
        return false;
    }
    give_up = clock_read_ns() + ONLINE_NS;
    while (!(__atomic_load_n(&cpu_online_mask, __ATOMIC_ACQUIRE) & 1UL << id))
        if (clock_read_ns() > give_up) {
            printk("CPU %u: started, but does not come online\n", whami);
            return false;
        }
    return true;
}

static void secondaries_start(uint64_t ptbr, unsigned limit)
{
    uint64_t present = hwrpb_cpus_present() & ~(1UL << hwrpb_primary());

    for (unsigned whami = 0; whami < 64 && cpu_count < MIN(limit, (unsigned)MAX_CPUS); whami++) {
        if (!(present & 1UL << whami))
            continue;
        /* A CPU that has not come online in time may still do so later, so its block is not used
           for another CPU. */
        if (!start_one(cpu_count, whami, ptbr))
            return;
        /* Atomic, because the CPUs that are online read it at each clock tick. */
        __atomic_store_n(&cpu_count, cpu_count + 1, __ATOMIC_RELAXED);
    }
}

const struct boot_cpus boot_cpus = {.online = cpu_online, .start_others = secondaries_start};
