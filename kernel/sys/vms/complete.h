/*
 * Completion arguments of services (event flag, status block, AST) that complete before they
 * return. Services that complete later use struct event_request (kernel/event/event.h) themselves.
 * IPL 0, no spinlock held. Results are condition values.
 */
#ifndef KERNEL_SYS_VMS_COMPLETE_H
#define KERNEL_SYS_VMS_COMPLETE_H

#include "kernel/event/event.h"

/* The number of an event flag as services take it: the low byte counts. */
static inline uint32_t vms_efn(uint64_t efn) { return efn & 0xFF; }

/* May an AST be requested with this routine (0: none)? SS$_NORMAL; SS$_BADPARAM: the C library has
   not said where AST routines return to. */
cond_t vms_ast_check(vaddr_t astadr);

struct vms_completion {
    struct event_owner *owner;
    uint32_t efn;
    vaddr_t iosb;
    struct vms_ast_request *ast; /* NULL: none */
};

/* The service begins: clear the flag, check the block, charge the AST. SS$_NORMAL, SS$_ILLEFC,
   SS$_UNASEFC, SS$_ACCVIO, SS$_EXASTLM, SS$_INSFMEM, SS$_BADPARAM. */
cond_t vms_completion_begin(struct vms_completion *c, uint64_t efn, vaddr_t iosb, vaddr_t astadr,
                            uint64_t astprm);
/* It has ended, with this status: write the block, set the flag, queue the AST; after an error of
   the arguments (failed) only give back what was charged. Returns the status, or SS$_ACCVIO if the
   block can no longer be written. */
cond_t vms_completion_end(struct vms_completion *c, cond_t status, bool failed);

#endif
