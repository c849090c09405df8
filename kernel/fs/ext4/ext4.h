/*
 * ext4: what mounts it (kernel/sys/posix/mount.c) uses. A kernel that was built without
 * libext2fs has absent.c instead, with which every mount fails.
 */
#ifndef KERNEL_FS_EXT4_EXT4_H
#define KERNEL_FS_EXT4_EXT4_H

#include "kernel/fs/inode.h"

struct block_volume;

#define EXT4_MAGIC 0xEF53u
/* As EXT4_OPEN_* (volume.h): ignore a journal that has not been replayed; write if possible. */
#define EXT4_NOLOAD 0x1u
#define EXT4_WRITE  0x2u

/* Make the file system on a volume ready to be mounted: *out, with its root, which is the caller's
 * until tree_mount(), and after tree_unmount(); its `end` frees it. 0; -ENODEV: this kernel has no
 * ext4; -EBUSY: the volume is in use; or as ext4_volume_open(). IPL 0, no lock held; waits. */
int ext4_create(const struct block_volume *v, unsigned flags, struct fs **out);

/* Boot. */
void ext4_boot(void);

#endif
