/* The configuration at boot (docs/architecture.md, Boot). */
#ifndef KERNEL_BOOT_CONFIG_H
#define KERNEL_BOOT_CONFIG_H

#include "sysman/config.h"

/* Apply the system parameters of the configuration, and return the registry that the kernel is to
 * honour. The configuration is the blob boot/config of the initrd (NULL and 0: there is no initrd);
 * without that file what `disk` finds on the system disk: it fills in *out and returns true, or
 * returns false (NULL: there are no disks). What boot/override of the initrd has counts instead,
 * parameter by parameter and entry by entry; if it says STARTUP_P1 = MIN, no disk is read.
 * A blob that is missing or invalid is empty; reason and offset are printed. Boot only, one CPU;
 * the result is constant afterwards. */
const struct registry *boot_config(const void *initrd, size_t nbytes,
                                   bool (*disk)(struct config *out));

#endif
