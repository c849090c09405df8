/* The memory of libext2fs, for the census. */
#ifndef KERNEL_FS_EXT4_LIBRARY_MEMORY_H
#define KERNEL_FS_EXT4_LIBRARY_MEMORY_H

#include "kernel/base/types.h"

struct census;

/* malloc() and free() of the library (names.h). */
void *ext4_library_alloc(size_t n);
void ext4_library_free(void *p);
/* Account for all blocks that the library has. Nothing else runs. */
void ext4_library_census(struct census *c);

#endif
