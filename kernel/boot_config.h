/* The configuration blob at boot (docs/architecture.md, Boot). */
#ifndef KERNEL_BOOT_CONFIG_H
#define KERNEL_BOOT_CONFIG_H

#include "sysman/config.h"

/* Find boot/config in the initrd (NULL and 0: there is no initrd), apply its system parameters, and
   return the registry that the kernel is to honour: an empty one when there is no blob, when it is
   invalid (reason and offset are printed), or with STARTUP_P1 = MIN. Boot only, one CPU; the result
   is constant afterwards. */
const struct registry *boot_config(const void *initrd, size_t nbytes);

#endif
