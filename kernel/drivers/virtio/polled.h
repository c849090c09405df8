/*
 * Disks over virtio, read before there are interrupts, threads and memory to allocate: for the
 * configuration blob of the system disk, which says what memory there will be. One disk at a time,
 * one request at a time, in memory of the kernel's image. Afterwards the disk is reset, and its
 * driver (disk.h) begins anew.
 */
#ifndef KERNEL_DRIVERS_VIRTIO_POLLED_H
#define KERNEL_DRIVERS_VIRTIO_POLLED_H

#include "kernel/base/types.h"

#define POLLED_MOST (80u << 10) /* bytes that can be read at once */

/* Begin with the n-th disk, in the order in which virtio_disk_boot() numbers them. 0, and its size;
 * -ENODEV: there is none; -EOPNOTSUPP: it cannot be read by this; -EBUSY: one before it has not
 * obeyed, so the memory is still that one's. Boot, after pci_boot(). */
int polled_begin(unsigned n, uint64_t *sectors, uint32_t *sector_bytes);
/* Read nbytes, whole sectors and at most POLLED_MOST, from a sector of the disk on into memory of
 * the kernel's image. arg: unused. 0; -EIO; -ETIMEDOUT: more than five seconds by the clock
 * have passed since the first polled_begin(): nothing is read any more, from any disk. Boot. */
int polled_read(void *arg, uint64_t sector, void *buf, uint32_t nbytes);
void polled_end(void);

#endif
