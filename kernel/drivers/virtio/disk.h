/* Disks over virtio (virtio-blk; virtio 1.2, 5.2). */
#ifndef KERNEL_DRIVERS_VIRTIO_DISK_H
#define KERNEL_DRIVERS_VIRTIO_DISK_H

struct validate;

/* Find the disks and add them to kernel/block, with their partitions. What cannot be used is named
 * on the console. IPL 0; waits. Boot. */
void virtio_disk_boot(void);
/* The self-check (mm/check/validate.h): count the pages of the disks' queues. */
void virtio_disk_validate(struct validate *v);

#endif
