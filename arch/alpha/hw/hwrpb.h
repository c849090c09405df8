/*
 * The hardware restart parameter block that the console leaves behind, and the boot parameters that
 * QEMU puts below the kernel's image (docs/platform.md, Starting up). Read at boot on one CPU;
 * constant afterwards, but for the words by which secondaries are started.
 */
#ifndef ARCH_ALPHA_HW_HWRPB_H
#define ARCH_ALPHA_HW_HWRPB_H

#include "kernel/base/types.h"

/* A cluster of memory. Clusters may leave holes between them. */
struct hwrpb_cluster {
    pfn_t first;
    uint64_t npages;
    bool console; /* kept by PALcode; never to be used */
};

/* Find the block. False when what lies at its address is none. */
bool hwrpb_boot(void);
unsigned hwrpb_cluster_count(void);
struct hwrpb_cluster hwrpb_cluster(unsigned i);
/* CPUs whose slot says present and available: bit n = hardware id n. */
uint64_t hwrpb_cpus_present(void);
unsigned hwrpb_primary(void);
/* Interval clock ticks a second. */
unsigned hwrpb_clock_hz(void);

/* Kernel command line; terminated, at most 255 characters. */
const char *boot_command_line(void);
/* The initrd as it lies in memory; size 0 when there is none. */
const void *boot_initrd(uint64_t *nbytes);

/*
 * Make the console start CPU whami at entry(arg in $27) on kernel stack sp with page tables ptbr.
 * Returns once the console has taken the order; false when it did not within one second.
 */
bool hwrpb_start_cpu(unsigned whami, void (*entry)(void), uint64_t arg, uint64_t sp, uint64_t ptbr);

#endif
