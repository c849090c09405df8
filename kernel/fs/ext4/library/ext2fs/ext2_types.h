/* The types of libext2fs's structures on disk; its name and contents are the library's. */
#ifndef KERNEL_FS_EXT4_LIBRARY_EXT2FS_EXT2_TYPES_H
#define KERNEL_FS_EXT4_LIBRARY_EXT2FS_EXT2_TYPES_H

#include <stdint.h>

typedef uint8_t __u8;
typedef int8_t __s8;
typedef uint16_t __u16, __le16, __be16;
typedef int16_t __s16;
typedef uint32_t __u32, __le32, __be32;
typedef int32_t __s32;
typedef uint64_t __u64, __le64, __be64;
typedef int64_t __s64;

#define __bitwise
#define __force

#endif
