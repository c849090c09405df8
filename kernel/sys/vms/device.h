/* Names of devices, and the caller as mailboxes see him. Results are condition values. IPL 0, no
   locks. */
#ifndef KERNEL_SYS_VMS_DEVICE_H
#define KERNEL_SYS_VMS_DEVICE_H

#include "kernel/qio/mailbox.h"

enum vms_device_kind {
    VMS_DEVICE_MAILBOX,
    VMS_DEVICE_PATH,
    VMS_DEVICE_DESCRIPTOR,
    VMS_DEVICE_DISK
};

struct vms_device {
    enum vms_device_kind kind;
    uint32_t unit; /* of a mailbox; a descriptor's number; of a disk, minor part of its number */
    char path[24]; /* of the file that stands for it */
};

/* Find the device that a name, by descriptor, leads to through logical names (LNM$FILE_DEV).
   SS$_NORMAL; SS$_ACCVIO; SS$_IVLOGNAM: 0 or more than 255 characters; SS$_IVDEVNAM: no name of a
   device; SS$_NOSUCHDEV: there are none of this name; SS$_TOOMANYLNAM. That the unit exists is not
   checked. */
cond_t vms_device_find(vaddr_t devnam, struct vms_device *d);

/* The same for a name in kernel memory that may also be that of a file: *is_device is whether it,
   or what it stands for, begins with an underscore or has a colon at its end, and no slash. If so,
   `name`, of `size` bytes, is set to what it stands for, with a colon; else it has none. */
cond_t vms_device_named(char *name, size_t size, bool *is_device, struct vms_device *d);

/* The current process, without channels. */
struct mailbox_who vms_mailbox_identity(void);
/* With its channels, which are made if it has none. SS$_NORMAL, SS$_INSFMEM. */
cond_t vms_mailbox_who(struct mailbox_who *who);

/* ---- terminals (terminal.c) ---- */

/* A channel to a terminal or another file. SS$_NORMAL, SS$_NOSUCHDEV, SS$_NOPRIV, SS$_INSFMEM. */
cond_t vms_terminal_assign(const struct vms_device *d, struct qio_channel **out);

#endif
