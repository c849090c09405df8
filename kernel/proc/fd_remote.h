/*
 * Descriptors of other processes, for pidfd_getfd and /proc/PID/fd. IPL 0, no locks; may wait.
 *
 * A process is named by its number and by when it started, so that a later one with the same number
 * is another one. The caller may look into it if he may trace it (ptrace_access_locked).
 */
#ifndef KERNEL_PROC_FD_REMOTE_H
#define KERNEL_PROC_FD_REMOTE_H

#include "kernel/base/types.h"

struct file;

/* The file of descriptor fd, with a reference, in *out, and in *cloexec whether exec closes the
 * descriptor. 0; -ESRCH: the process ends or has ended; -EPERM; -EBADF: fd has no file; -EINTR: the
 * caller is to end. */
int fd_remote_get(uint32_t pid, uint64_t start_ns, uint64_t fd, struct file **out, bool *cloexec);
/* Has descriptor fd a file? 0, or an error as above. */
int fd_remote_has(uint32_t pid, uint64_t start_ns, uint64_t fd);
/* Set *fd to the lowest number from *fd on that has a file. 0; -EBADF: there is none; or as
 * above. */
int fd_remote_next(uint32_t pid, uint64_t start_ns, uint64_t *fd);

#endif
