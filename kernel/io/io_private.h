/* Shared by the files of kernel/io only. */
#ifndef KERNEL_IO_PRIVATE_H
#define KERNEL_IO_PRIVATE_H

#include "kernel/io/tree.h"

/* Boot: /dev and what serves it. */
void device_boot(void);
void tty_boot(void);
void stream_boot(void);

extern const struct file_ops tty_ops;

/* What an open device does; NULL: there is no such device. */
const struct file_ops *device_ops(uint32_t rdev);

/* Boot: what files take of pool is accounted for. */
void io_census_boot(void);

/* The self-check: count a pipe's pages; nothing if f is no end of a pipe. */
void pipe_validate(struct validate *v, struct file *f);

#endif
