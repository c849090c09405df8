/* Files that stand for processes: pidfd_open, and clone with CLONE_PIDFD. */
#ifndef KERNEL_PROC_PIDFD_H
#define KERNEL_PROC_PIDFD_H

#include "kernel/base/types.h"

struct file;
struct process;
struct signal_info;

/* A file for the process pid, live or zombie, in *out. 0; -ESRCH: there is none; -EINVAL: it is the
 * number of a thread; -ENFILE, -ENOMEM. IPL 0; takes the table lock. */
int pidfd_create(uint32_t pid, bool nonblock, struct file **out);
/* A file for no process yet, and that for p, which is in the process table and has not run. NULL:
 * file_why_not() tells why. */
struct file *pidfd_alloc(bool nonblock);
void pidfd_set(struct file *f, const struct process *p);
/* The number of the process of f; 0: it has been waited for; -EBADF: f is not such a file. Takes
 * the table lock. */
int32_t pidfd_process(const struct file *f);
/* The number of the process of f, and when that started. 0 or -EBADF: f is not such a file. */
int pidfd_target(const struct file *f, uint32_t *pid, uint64_t *start_ns);
/* As process_queue_signal, to the process of f. -EBADF: f is not such a file. */
int pidfd_signal(const struct file *f, const struct signal_info *info);
/* The process pid has become a zombie: tell who polls. IPL 0, no locks. */
void pidfd_exited(uint32_t pid);
void pidfd_boot(void);

#endif
