/*
 * The hardware restart parameter block (HWRPB), which the console fills in, and the boot parameters
 * that QEMU puts below the kernel's image (docs/platform.md, Starting up). They are read at boot on
 * one CPU. They are constant, except for the fields by which secondary CPUs are started.
 */
#ifndef ARCH_ALPHA_HW_HWRPB_H
#define ARCH_ALPHA_HW_HWRPB_H

#include "kernel/base/types.h"

/* A cluster of memory. Clusters may leave holes between them. */
struct hwrpb_cluster {
    pfn_t first;
    uint64_t npages;
    bool console; /* in use by PALcode: the kernel must not use it */
};

/* Find the HWRPB, while the console's page tables are still loaded. Returns false when there is
   none. To be called before the functions below. */
bool hwrpb_boot(void);
unsigned hwrpb_cluster_count(void);
/* Memory cluster i, below hwrpb_cluster_count(). */
struct hwrpb_cluster hwrpb_cluster(unsigned i);
/* Mask of the CPUs that are present and available: bit n stands for hardware id n. */
uint64_t hwrpb_cpus_present(void);
/* Hardware id of the primary CPU. */
unsigned hwrpb_primary(void);
/* The console's numbers of the type of machine, and of that of the primary CPU. */
unsigned hwrpb_system_type(void);
unsigned hwrpb_cpu_type(void);

/* The kernel command line, NUL-terminated, at most 255 characters. */
const char *boot_command_line(void);
/* The initrd's address and, in *nbytes, its size, which is 0 when there is none. */
const void *boot_initrd(uint64_t *nbytes);

/*
 * Have the console start CPU whami at entry, with arg in $27, kernel stack pointer sp and the
 * level-1 page table of PFN ptbr. Returns true once the console has accepted the command, false
 * when it has not within one second. One caller at a time.
 */
bool hwrpb_start_cpu(unsigned whami, void (*entry)(void), uint64_t arg, uint64_t sp, uint64_t ptbr);

#endif
