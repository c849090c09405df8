/*
 * Item lists of information services, in both forms (iledef.h), and other arguments common to
 * $GETJPI and $GETSYI. A service reads its list twice: first it checks every item and probes every
 * output, then it writes the answers, so that a call that is refused has written nothing. Results
 * are condition values. IPL 0, no spinlock held: any of these functions may fault on user memory.
 */
#ifndef KERNEL_SYS_VMS_ITEMS_H
#define KERNEL_SYS_VMS_ITEMS_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

#define VMS_ITEMS_MAX       1024    /* entries of a list */
#define VMS_ITEM_LENGTH_MAX 65535   /* bytes of an item's buffer, in either form */
#define VMS_ANSWER_MAX      128     /* bytes of an answer */
#define VMS_ITEM_CHAIN      0xFFFFu /* -1 as a word in an item list */
#define VMS_NODE_NAME       "MEGALITH"
#define VMS_NODE_VERSION    "V7.1" /* whose services these are */

struct vms_items {  /* a position in a list; used by its owner only */
    vaddr_t at;     /* next entry */
    bool wide;      /* entries have the 64-bit form */
    unsigned count; /* entries read */
};

struct vms_item {
    uint64_t length;       /* bytes of the buffer */
    vaddr_t buffer;        /* user address */
    vaddr_t return_length; /* user address; 0: not wanted */
    uint32_t code;         /* 0: end of the list */
    bool wide;             /* return_length is a quadword, naturally aligned; else a word */
};

#define VMS_ITEMS_FEW 8 /* items that need no allocation */

/* A whole list, copied in once: other processes may change the memory where it lies between the
   check of the items and the answers. */
struct vms_item_list {
    unsigned count;
    unsigned room;         /* of `item` */
    struct vms_item *item; /* few, or paged pool */
    struct vms_item few[VMS_ITEMS_FEW];
};

/* The value of an item: `length` bytes, at most VMS_ANSWER_MAX. */
struct vms_answer {
    uint32_t length;
    union {
        uint32_t l;
        uint64_t q;
        uint8_t bytes[VMS_ANSWER_MAX];
    };
};

/* Start with the list at ua. The first entry decides the form of all entries. SS$_NORMAL or
   SS$_ACCVIO. */
cond_t vms_items_start(struct vms_items *l, vaddr_t ua);
/* Read the next entry. SS$_NORMAL; SS$_ACCVIO; SS$_BADPARAM: more than VMS_ITEMS_MAX entries, or an
   entry of a 64-bit list has no MBO and MBMO; SS$_BADBUFLEN: a buffer is longer than
   VMS_ITEM_LENGTH_MAX. */
cond_t vms_items_next(struct vms_items *l, struct vms_item *item);
/* The same, and an entry with the code VMS_ITEM_CHAIN (JPI$_CHAIN, LNM$_CHAIN) is replaced by the
   first entry of the list at its buffer, which may have the other form. Chained lists count as one
   list, so that one that leads back to itself ends with SS$_BADPARAM. */
cond_t vms_items_chained(struct vms_items *l, struct vms_item *item);
/* Copy in the list at ua, to be given back by vms_items_end in every case. `next` reads an entry,
   as vms_items_next does. SS$_NORMAL; SS$_INSFMEM; or an error of vms_items_start or `next`. */
cond_t vms_items_read(vaddr_t ua, cond_t (*next)(struct vms_items *l, struct vms_item *item),
                      struct vms_item_list *list);
/* The same, and call `check` for each item that was read. The first error of both in the order of
   the list. */
cond_t vms_items_check(vaddr_t ua, cond_t (*next)(struct vms_items *l, struct vms_item *item),
                       cond_t (*check)(const struct vms_item *item, const void *arg),
                       struct vms_item_list *list);
void vms_items_end(struct vms_item_list *list);
/* Call fn for each item, until the list ends or fn returns another value than SS$_NORMAL. Returns
   the last value of fn. */
cond_t vms_items_each(const struct vms_item_list *list,
                      cond_t (*fn)(const struct vms_item *item, const void *arg), const void *arg);
/* Can the item's outputs be written? SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_item_probe(const struct vms_item *item);
/* Write an answer: truncated to the buffer's length, or padded with zeros up to it. The return
   length is the number of bytes of the answer that were written. SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_item_answer(const struct vms_item *item, const struct vms_answer *answer);

/* The time of day in units of 100 ns since 17 November 1858, which begins 40,587 days before 1970.
   wall_ns: ns since 1970. */
#define VMS_EPOCH (40587ul * 24 * 60 * 60 * 10000000)
static inline uint64_t vms_time(uint64_t wall_ns) { return VMS_EPOCH + wall_ns / 100; }

/* Copy in the name of a process or node by descriptor: 1 to `most` characters, and a terminating
   NUL. SS$_NORMAL, SS$_ACCVIO, SS$_IVLOGNAM. */
cond_t vms_short_name(vaddr_t descriptor, char *name, uint32_t most);

#endif
