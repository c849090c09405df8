/*
 * Item lists of information services, in both forms (iledef.h), and the rest of what $GETJPI and
 * $GETSYI have in common. A service goes over its list twice: first every item is looked at and
 * every output probed, then the answers are written, so that a refused call has written nothing.
 */
#ifndef KERNEL_SYS_VMS_ITEMS_H
#define KERNEL_SYS_VMS_ITEMS_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

#define VMS_ITEMS_MAX       1024  /* in one list */
#define VMS_ITEM_LENGTH_MAX 65535 /* bytes of a buffer, in either form */
#define VMS_ANSWER_MAX      128   /* bytes of an answer */

struct vms_items { /* a place in a list; the caller's own */
    vaddr_t at;
    bool wide; /* entries of the 64-bit form */
    unsigned count;
};

struct vms_item {
    uint32_t code; /* 0: the list's end */
    uint64_t length;
    vaddr_t buffer;
    vaddr_t return_length; /* 0: not wanted */
    bool wide;             /* it is a quadword, naturally aligned; else a word */
};

/* What an item's value is: bytes in `answer`, not more than VMS_ANSWER_MAX. */
struct vms_answer {
    uint32_t length;
    union {
        uint32_t l;
        uint64_t q;
        uint8_t bytes[VMS_ANSWER_MAX];
    };
};

/* Go to the start of the list at ua. The first entry tells the form of all. SS$_NORMAL or
 * SS$_ACCVIO. */
cond_t vms_items_start(struct vms_items *l, vaddr_t ua);
/* The next entry. SS$_NORMAL; SS$_ACCVIO; SS$_BADPARAM: more than VMS_ITEMS_MAX, or an entry of a
 * 64-bit list without MBO and MBMO; SS$_BADBUFLEN: a longer buffer than VMS_ITEM_LENGTH_MAX. */
cond_t vms_items_next(struct vms_items *l, struct vms_item *item);
/* Call fn for each item of the list at ua until the list ends or fn returns anything but
 * SS$_NORMAL. fn's value, or one of the two above. */
cond_t vms_items_each(vaddr_t ua, cond_t (*fn)(const struct vms_item *item, const void *arg),
                      const void *arg);
/* Can its outputs be written? SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_item_probe(const struct vms_item *item);
/* Write an answer: cut to the buffer's length, or followed by zeros up to it; the return length is
 * that of what was written of the answer. SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_item_answer(const struct vms_item *item, const struct vms_answer *answer);

/* An event flag's number: nothing waits for one here, since services complete at once, but its
 * number is checked. SS$_NORMAL; SS$_UNASEFC beyond the process's own (0-63) and EFN$C_ENF. */
cond_t vms_event_flag(uint64_t efn);
/* Outputs and completion that the services have in common: can the status block (0: none) be
 * written, and is there no AST to deliver? SS$_NORMAL; SS$_ACCVIO; SS$_EXASTLM: the AST limit of
 * every process is 0. */
cond_t vms_completion_check(vaddr_t iosb, vaddr_t astadr);
/* The service has completed with this status: say so in the status block. Returns the status, or
 * SS$_ACCVIO when the block has gone since. */
cond_t vms_complete(vaddr_t iosb, cond_t status);
/* A process's or node's name by descriptor, 1 to most characters. SS$_NORMAL, SS$_ACCVIO,
 * SS$_IVLOGNAM. */
cond_t vms_short_name(vaddr_t descriptor, char *name, uint32_t most);

#endif
