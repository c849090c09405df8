/* The memory file system: names in paged pool, files in the pages of their objects. */
#ifndef KERNEL_FS_MEMFS_H
#define KERNEL_FS_MEMFS_H

#include "kernel/fs/inode.h"

struct validate;

/* Make *fs an empty file system whose root belongs to user 0. 0 or -ENOMEM. IPL 0. */
int memfs_create(struct fs *fs);
/* Give the regular file i, empty and not yet used, the n bytes at p as contents. They must stay
 * unchanged: a page is copied from them at its first use. IPL 0. */
void memfs_set_backing(struct inode *i, const void *p, uint64_t n);

/* The file whose pages are those of the object, with a reference; NULL: it is none of a memory file
 * system, or only its mappings are left. The caller has a reference to the object. */
struct inode *memfs_inode_of(struct mm_object *o);

/* The self-check (mm/check/validate.h): count the pages of all files, with and without names, and
 * check that names, indexes and parents agree. All other threads are stopped. */
void memfs_validate(struct validate *v, struct fs *fs);
/* Boot: register the pool blocks of *fs, which must stay, with the census (mm/check/census.h). */
void memfs_census_boot(struct fs *fs);

#endif
