/* /proc: processes and the system as files. */
#ifndef KERNEL_SYS_PROCFS_PROCFS_H
#define KERNEL_SYS_PROCFS_PROCFS_H

/* Mount the file system at /proc. Boot only, after io_boot. */
void procfs_boot(void);

#endif
