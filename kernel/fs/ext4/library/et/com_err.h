/* The type of libext2fs's results: 0, an errno, or a number of its own. */
#ifndef KERNEL_FS_EXT4_LIBRARY_ET_COM_ERR_H
#define KERNEL_FS_EXT4_LIBRARY_ET_COM_ERR_H

typedef long errcode_t;

#endif
