/* Disks over virtio (virtio-blk; virtio 1.2, 5.2). */
#ifndef KERNEL_DRIVERS_VIRTIO_DISK_H
#define KERNEL_DRIVERS_VIRTIO_DISK_H

#include "kernel/base/types.h"

struct validate;

/* Find the disks and add them to kernel/block, with their partitions. What cannot be used is named
 * on the console. system: a bit for each disk, by its number, that may be the system disk. IPL 0;
 * waits. Boot. */
void virtio_disk_boot(uint32_t system);
/* The self-check (mm/check/validate.h): count the pages of the disks' queues. */
void virtio_disk_validate(struct validate *v);

#endif
