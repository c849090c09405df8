/* Shared by the files of kernel/io only. */
#ifndef KERNEL_IO_PRIVATE_H
#define KERNEL_IO_PRIVATE_H

#include "kernel/io/inode.h"

/* Boot: fill the tree from the archive. */
void initrd_boot(const void *archive, uint64_t nbytes);
/* Boot: /dev and what serves it. */
void device_boot(void);
void tty_boot(void);
void stream_boot(void);

extern const struct file_ops tty_ops;

/* Boot: what files take of pool is accounted for. */
void io_census_boot(void);

/* The self-check: count a pipe's pages; nothing if f is no end of a pipe. */
void pipe_validate(struct validate *v, struct file *f);

#endif
