/* Folders of the host as folders here, over virtio-9p. README.md describes the rules. */
#ifndef KERNEL_FS_NINEP_NINEP_H
#define KERNEL_FS_NINEP_NINEP_H

#include "kernel/fs/inode.h"

/* Attach to the folder that the device with this tag offers; name is that of its root. 0 with the
 * file system, whose root is not mounted yet, in *fs; -ENODEV: there is no such device; -ENOMEM,
 * or another negative errno. Boot. */
int ninep_fs_create(const char *tag, const char *name, struct fs **fs);

#endif
