#ifndef KERNEL_FS_INITRD_H
#define KERNEL_FS_INITRD_H

#include "kernel/fs/inode.h"

/* The archive's files become those of a memory file system; the archive stays where it is. Boot. */
void initrd_boot(struct inode *root, const void *archive, uint64_t nbytes);

#endif
