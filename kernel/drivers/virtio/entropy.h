/* The source of entropy: a virtio-rng device (virtio 1.2, 5.4). */
#ifndef KERNEL_DRIVERS_VIRTIO_ENTROPY_H
#define KERNEL_DRIVERS_VIRTIO_ENTROPY_H

#include "kernel/base/types.h"

struct validate;

#define ENTROPY_BYTES      32u /* handed over at a time */
#define ENTROPY_INTERVAL_S 60u

/* Find the device and have sink called with ENTROPY_BYTES fresh bytes, as soon as it has sent that
 * many, and again every ENTROPY_INTERVAL_S seconds. sink runs in a kernel thread at IPL 0 without
 * locks. 0; -ENODEV: there is none; or why it cannot be used. Boot. */
int entropy_boot(void (*sink)(const uint8_t bytes[ENTROPY_BYTES]));
/* The self-check (mm/check/validate.h): count the pages of the device's queue. */
void entropy_validate(struct validate *v);

#endif
