/* The configuration blob on the system disk, as the boot finds it. Independent of the machine: also
 * built for the host. */
#ifndef KERNEL_BOOT_DISK_H
#define KERNEL_BOOT_DISK_H

#include "kernel/block/gpt.h"
#include "sysman/copies.h"

enum boot_disk {
    BOOT_DISK_OTHER,   /* not the system disk: it has no configuration partition, as far as known */
    BOOT_DISK_CONFIG,  /* it is, and *out has its configuration */
    BOOT_DISK_UNREAD,  /* nobody knows: its partition table cannot be read */
    BOOT_DISK_DAMAGED, /* it is, and no copy is good or can be read: *out is empty */
};

/* Look for the configuration on a disk called `name`; what is wrong is printed. d->buf has
 * COPY_BYTES, and d->read reads as many at once. Waits as d->read does. Boot. */
enum boot_disk boot_disk_config(const struct gpt_disk *d, const char *name, struct config *out);

#endif
