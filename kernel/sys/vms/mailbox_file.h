/* Descriptors of mailboxes: SYS$INPUT and its relatives of a process that $CREPRC has made. */
#ifndef KERNEL_SYS_VMS_MAILBOX_FILE_H
#define KERNEL_SYS_VMS_MAILBOX_FILE_H

#include "kernel/base/cond.h"
#include "kernel/io/file.h"

/* Open the mailbox of that unit by the current process's rights, for reading or for writing, with
 * one reference in *out. SS$_NORMAL, SS$_NOSUCHDEV, SS$_NOPRIV, SS$_INSFMEM, SS$_EXQUOTA. IPL 0, no
 * locks. */
cond_t vms_mailbox_open(uint32_t unit, bool writes, struct file **out);
/* The unit of the mailbox that f is open to, or 0. Any IPL. */
uint32_t vms_mailbox_file_unit(const struct file *f);

#endif
