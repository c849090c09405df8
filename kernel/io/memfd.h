/* Files without a name in memory (memfd_create), and their seals (SEAL_* of kernel/fs/inode.h). IPL
 * 0, no locks held. */
#ifndef KERNEL_IO_MEMFD_H
#define KERNEL_IO_MEMFD_H

#include "kernel/fs/inode.h"
#include "kernel/io/file.h"

/* A new file, open for reading and writing, with one reference in *out. 0; -ENFILE, -ENOSPC,
 * -ENOMEM. */
int memfd_create(const struct io_cred *cred, bool sealable, struct file **out);
/* Add seals. 0; -EINVAL: no such file, or unknown ones; -EPERM: sealed against that, or not open
 * for writing; -EBUSY: SEAL_WRITE while the file is mapped. */
long memfd_seal(struct file *f, uint32_t seals);
/* Its seals, or -EINVAL. */
long memfd_seals(struct file *f);

#endif
