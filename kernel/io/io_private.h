/* Shared by the files of kernel/io only. */
#ifndef KERNEL_IO_PRIVATE_H
#define KERNEL_IO_PRIVATE_H

#include "kernel/io/tree.h"

/* Boot: the nodes of /dev, the console, /dev/pts, the streams. */
void device_boot(void);
void tty_boot(void);
void pty_boot(void);
void lock_boot(void);
void stream_boot(void);
/* The disks that there are, as block special files. */
void disk_files_boot(void);

extern const struct file_ops tty_ops, fifo_ops, ptmx_ops, disk_ops;

#define RDEV(major, minor) ((major) << 8 | (minor))
#define RDEV_TTY           RDEV(5, 0) /* the caller's controlling terminal */
#define RDEV_CONSOLE       RDEV(5, 1)
#define RDEV_PTMX          RDEV(5, 2) /* each open file of it is the master of a new pair */

#define RDEV_PTS_MAJOR 136u
/* The operations of an open device; NULL: there is no such device. */
const struct file_ops *device_ops(uint32_t rdev);

/* Boot: register the pool blocks of files with the census. */
void io_census_boot(void);

/* The self-check: count the pages of all pipes. All other threads are stopped. */
void pipes_validate(struct validate *v);

#endif
