/*
 * The order in which the house is put up at boot. Each step may use what the steps before it made.
 */
#include "kernel/main.h"

#include "arch/alpha/hw/hwrpb.h"
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/pal.h"
#include "kernel/base/printk.h"

void kernel_main(void)
{
    uint64_t initrd_bytes;
    const void *initrd = boot_initrd(&initrd_bytes);

    printk("Megalith on Alpha\n");
    printk("command line: \"%s\"\n", boot_command_line());
    for (unsigned i = 0; i < hwrpb_cluster_count(); i++) {
        struct hwrpb_cluster c = hwrpb_cluster(i);

        printk("memory: pages %#lx to %#lx, %s\n", c.first.n, c.first.n + c.npages,
               c.console ? "console" : "free");
    }
    printk("initrd: %lu bytes at %p\n", initrd_bytes, initrd);
    pal_halt();
    for (;;)
        ;
}
