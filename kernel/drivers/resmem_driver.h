/*
 * A driver that takes reservations: the consumer of reserved memory that is no section
 * (resmem_driver.c). All calls: IPL 0, may wait for the driver's mutex; results are condition
 * values; `name` as the registry has it. SS$_NORESERVEDMEM: the driver has no reservation of that
 * name.
 */
#ifndef KERNEL_DRIVERS_RESMEM_DRIVER_H
#define KERNEL_DRIVERS_RESMEM_DRIVER_H

#include "kernel/base/cond.h"
#include "mm/pt/gh.h"

/* Take npages of a /NOGLOBAL_SECTION entry, zeroed, and map them in system space. SS$_NORMAL,
   mmg_use_res_mem's values, SS$_INSFSPTS (no room in system space), SS$_INSFMEM. */
cond_t resmem_take(const char *name, uint64_t npages);
/* Unmap and return it. SS$_NORMAL, SS$_NORESERVEDMEM, SS$_RESERVEDMEMUSED: page-frame sections show
   its frames. */
cond_t resmem_release(const char *name);
/* Through the mapping: quadword n becomes seed + n. */
cond_t resmem_fill(const char *name, uint64_t seed);
/* Through the mapping: the quadwords, each added to the sum rotated left by one. */
cond_t resmem_checksum(const char *name, uint64_t *sum);
/* May page-frame sections show its frames? SS$_NORMAL, SS$_NORESERVEDMEM, SS$_MRES_INCON (they are
   not contiguous), SS$_RESERVEDMEMUSED (some do still). */
cond_t resmem_expose(const char *name, bool on);

struct resmem_view {
    uint64_t npages;
    pfn_t first; /* of its first page */
    vaddr_t va;
    struct gh_count hints;
};
cond_t resmem_query(const char *name, struct resmem_view *v);

/* Boot: what units take of pool is accounted for (mm/pool/pool_census.h). */
void resmem_census_boot(void);

#endif
