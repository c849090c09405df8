/*
 * What leaked blocks of this folder are called by the check for leaks (kernel/proc/leaks.h). None
 * of them outlives the processes, so there is nothing to account for.
 */
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/disk_private.h"
#include "kernel/sys/vms/terminal.h"
#include "mm/pool/pool_census.h"

void vms_census_boot(void)
{
    static const struct census_kind kinds[] = {
        {"channel to a terminal", CENSUS_NONPAGED, sizeof(struct terminal_channel)},
        {"request to a terminal", CENSUS_NONPAGED, sizeof(struct terminal_request)},
        {"channel to a disk", CENSUS_NONPAGED, sizeof(struct disk_channel)},
    };

    census_register(NULL, kinds, ARRAY_SIZE(kinds));
}
