/* What configure would find out for libext2fs. */
#ifndef KERNEL_FS_EXT4_LIBRARY_CONFIG_H
#define KERNEL_FS_EXT4_LIBRARY_CONFIG_H

#include <stddef.h> /* which some files of version 1.47.2 use and do not include */

#define SIZEOF_INT       4
#define SIZEOF_LONG      8
#define HAVE_SYS_TYPES_H 1
#define HAVE_ERRNO_H     1
#define HAVE_UNISTD_H    1

#endif
