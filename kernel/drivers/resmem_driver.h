/*
 * A driver that uses reservations: the consumer of reserved memory that is not a section
 * (resmem_driver.c). All functions are called at IPL 0, take the driver mutex, and return condition
 * values. `name` is the reservation's name in the registry. SS$_NORESERVEDMEM: the driver does not
 * have a reservation of that name.
 */
#ifndef KERNEL_DRIVERS_RESMEM_DRIVER_H
#define KERNEL_DRIVERS_RESMEM_DRIVER_H

#include "kernel/base/cond.h"
#include "mm/pt/gh.h"

/* Take npages of a /NOGLOBAL_SECTION entry, zeroed, and map them in system space. SS$_NORMAL; the
 * errors of mmg_use_res_mem; SS$_INSFSPTS: no room in system space; SS$_INSFMEM. */
cond_t resmem_take(const char *name, uint64_t npages);
/* Unmap the reservation and return it. SS$_NORMAL; SS$_NORESERVEDMEM; SS$_RESERVEDMEMUSED:
 * page-frame sections map its frames. */
cond_t resmem_release(const char *name);
/* Set quadword n of the mapping to seed + n, for all n. */
cond_t resmem_fill(const char *name, uint64_t seed);
/* Sum the quadwords of the mapping; the sum is rotated left by one bit before each addition. */
cond_t resmem_checksum(const char *name, uint64_t *sum);
/* Allow (on) or forbid page-frame sections to map its frames. SS$_NORMAL; SS$_NORESERVEDMEM;
 * SS$_MRES_INCON: they are not contiguous; SS$_RESERVEDMEMUSED: some sections still map them. */
cond_t resmem_expose(const char *name, bool on);

struct resmem_view {
    uint64_t npages;
    pfn_t first; /* frame of its first page */
    vaddr_t va;
    struct gh_count hints;
};
cond_t resmem_query(const char *name, struct resmem_view *v);

/* Boot: register the units' pool blocks with the census (mm/pool/pool_census.h). */
void resmem_census_boot(void);

#endif
