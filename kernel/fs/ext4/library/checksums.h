/* The checksums of ext4, which libext2fs calls. */
#ifndef KERNEL_FS_EXT4_LIBRARY_CHECKSUMS_H
#define KERNEL_FS_EXT4_LIBRARY_CHECKSUMS_H

/* Fill in the table that they use, before anything calls them. Called once. */
void ext4_checksums_prepare(void);

#endif
