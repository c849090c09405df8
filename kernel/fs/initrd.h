#ifndef KERNEL_FS_INITRD_H
#define KERNEL_FS_INITRD_H

#include "kernel/fs/inode.h"

/* Add the files of the archive below root, in a memory file system. The archive's memory must stay.
 * What cannot be added is reported on the console. Boot only. */
void initrd_boot(struct inode *root, const void *archive, uint64_t nbytes);

#endif
