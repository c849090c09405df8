/*
 * The system disk: the first disk over virtio that has a configuration partition. Its
 * configuration is read before there is anything else; the file system and the page file on it are
 * put to use when all drivers are up. docs/system-disk.md is for who uses it.
 */
#ifndef KERNEL_SYSTEM_DISK_H
#define KERNEL_SYSTEM_DISK_H

#include "sysman/config.h"

/* Find the system disk and read its configuration: for boot_config(). A disk that does not answer
 * costs some seconds, and is named; no later one is read then. Boot, one CPU, after pci_boot(). */
bool system_disk_config(struct config *out);
/* Which disks may be the system disk: for virtio_disk_boot(). After system_disk_config(), if that
 * is called at all. Boot. */
uint32_t system_disk_choice(void);
/* Begin to page to the system disk's page file. Boot, after page_out_boot(); waits. */
void system_disk_page_file(void);
/* Mount the system disk's file system at SYSTEM_DISK_PATH. What goes wrong is printed. Boot, after
 * io_boot(); waits. With STARTUP_P1 = MIN this and the one above do nothing. */
void system_disk_mount(void);

#define SYSTEM_DISK_PATH "/disk"

#endif
