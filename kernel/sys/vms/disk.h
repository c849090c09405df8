/* Channels to disks, and their requests (disk.c). Results are condition values. IPL 0, no locks, if
   not said otherwise. */
#ifndef KERNEL_SYS_VMS_DISK_H
#define KERNEL_SYS_VMS_DISK_H

#include "kernel/block/block.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/qio.h"

struct disk_channel;

/* A channel to the disk d. SS$_NORMAL, SS$_NOSUCHDEV, SS$_INSFMEM. */
cond_t vms_disk_assign(const struct vms_device *d, bool readable, bool writable,
                       struct qio_channel **out);
/* A channel to the open file, regular or a disk, that descriptor fd has, for the directions that it
   was opened for. SS$_NORMAL; SS$_NOTFILEDEV: it is something else; SS$_INSFMEM. */
cond_t vms_file_assign(uint64_t fd, struct qio_channel **out);
/* The disk of a channel, NULL: it leads to none. Any IPL. */
struct disk_channel *vms_disk_of(struct qio_channel *c);
const struct block_volume *vms_disk_volume(const struct disk_channel *c);
/* The functions of $QIO. */
cond_t vms_qio_disk(struct qio_channel *c, const struct vms_qio *q);

#endif
