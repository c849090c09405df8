/* The memory file system: names in paged pool, files in the pages of their objects. */
#ifndef KERNEL_FS_MEMFS_H
#define KERNEL_FS_MEMFS_H

#include "kernel/fs/inode.h"

struct validate;

/* Make *fs an empty file system whose root is the superuser's. 0 or -ENOMEM. IPL 0. */
int memfs_create(struct fs *fs);
/* The regular file i, empty and not yet used by anybody, has the n bytes at p, which stay as they
 * are: a page is filled from them when it is first wanted. IPL 0. */
void memfs_set_backing(struct inode *i, const void *p, uint64_t n);

/* The self-check (mm/check/validate.h): count the pages of all files with names; names, indexes and
 * parents agree. Nothing else runs. */
void memfs_validate(struct validate *v, struct fs *fs);
/* Boot: what *fs, which stays, takes of pool is accounted for (mm/check/census.h). */
void memfs_census_boot(struct fs *fs);

#endif
