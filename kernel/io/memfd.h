/* Files without a name in memory (memfd_create), and their seals (SEAL_* of kernel/fs/inode.h). IPL
 * 0, no locks held. */
#ifndef KERNEL_IO_MEMFD_H
#define KERNEL_IO_MEMFD_H

#include "kernel/fs/inode.h"
#include "kernel/io/file.h"
#include "mm/space/aspace.h"

/* A new file, open for reading and writing, with one reference in *out. 0; -ENFILE, -ENOSPC,
 * -ENOMEM. */
int memfd_create(const struct io_cred *cred, bool sealable, struct file **out);
/* The same of huge pages (memfd_huge.c); -ENFILE, -ENOMEM. */
int memfd_huge_create(const struct io_cred *cred, bool sealable, struct file **out);
bool memfd_is_huge(const struct file *f);
/* Map *len bytes of such a file, which are rounded up to huge pages, from `offset` on. As
 * section_huge_map(), and -EPERM: a seal forbids it; -EINVAL: beyond the end of the file, which
 * only a mapping that may be written moves, or between two huge pages. */
int memfd_huge_map(struct file *f, struct aspace *as, vaddr_t *va, uint64_t *len, uint64_t offset,
                   unsigned prot, unsigned flags);
/* fallocate: take all pages of the file, which without `keep` is made as long as the n bytes at
 * offset need, in huge pages; or with `clear` make these bytes zero. At most INODE_MAX_BYTES. 0;
 * -ENOSPC; -EPERM: a seal forbids it; -EINTR: the caller is to end, a part may be zero. */
int memfd_huge_allocate(struct file *f, uint64_t offset, uint64_t n, bool keep, bool clear);
/* memfd_seal() and memfd_seals() for such a file. */
long memfd_huge_seal(struct file *f, uint32_t seals);
long memfd_huge_seals(struct file *f);
/* Add seals. 0; -EINVAL: no such file, or unknown ones; -EPERM: sealed against that, or not open
 * for writing; -EBUSY: SEAL_WRITE while the file is mapped. */
long memfd_seal(struct file *f, uint32_t seals);
/* Its seals, or -EINVAL. */
long memfd_seals(struct file *f);

#endif
