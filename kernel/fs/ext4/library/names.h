/*
 * Included before each file of libext2fs by the compiler's command line (Makefile). The functions
 * of the C library that it calls are in memory.c, under names that say whose they are.
 */
#ifndef KERNEL_FS_EXT4_LIBRARY_NAMES_H
#define KERNEL_FS_EXT4_LIBRARY_NAMES_H

#define malloc             ext4_library_alloc
#define free               ext4_library_free
#define getenv             ext4_library_getenv
#define ext2fs_safe_getenv ext4_library_getenv
#define strcpy             ext4_library_strcpy
#define strtoul            ext4_library_strtoul

#endif
