/* $QIO: its arguments, decoded, and the functions of each kind of device. Results are condition
   values. IPL 0, no locks; may wait. */
#ifndef KERNEL_SYS_VMS_QIO_H
#define KERNEL_SYS_VMS_QIO_H

#include "kernel/qio/mailbox.h"

struct vms_qio {
    uint32_t function, modifiers;
    struct qio_completion done;
    uint64_t p[6];
    struct mailbox_who who;
};

/* Begin the request on the channel. *interrupted: nothing was done, and the service is to be
   repeated. */
cond_t vms_qio_mailbox(struct qio_channel *c, const struct vms_qio *q, bool *interrupted);
cond_t vms_qio_terminal(struct qio_channel *c, const struct vms_qio *q, bool *interrupted);

#endif
