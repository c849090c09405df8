/*
 * Page files: where pages without other storage are while they are not in memory. A page file has
 * slots of one page each. A slot belongs to an object, or counts the PTEs that refer to it, as a
 * private page does. README.md has the rules of owners and locks.
 *
 * Who fills the slots is one thread, the pager (kernel/proc/page_out.c): pagefile_reserve() and
 * what follows from it are called by that thread alone, so a free slot has nobody who competes for
 * it, and no lock is needed. All other functions may be called by any thread, at any IPL up to
 * IPL_CLOCK, unless their comment says otherwise.
 */
#ifndef MM_PAGEFILE_PAGEFILE_H
#define MM_PAGEFILE_PAGEFILE_H

#include "kernel/base/types.h"

#define PAGEFILES_MAX      4u         /* page files at a time */
#define PAGEFILE_SLOTS     (1u << 22) /* of one: 32 GiB */
#define PAGEFILE_CLUSTER   16u        /* pages written, or read, by one request at most */
#define PAGEFILE_NAME      12u        /* bytes of a name, with its NUL */
#define PAGEFILE_UNCHARGED UINT16_MAX /* of no account: slot.charge */

/* How the slots of a page file are read and written. */
struct pagefile_io {
    /* Read n slots into pages that are allocated for it, to pages[]: active, type PAGE_T_SYSTEM,
       charged to account 0, and the caller's. 0, -ENOMEM, -EIO; -EINTR: the thread is to end. IPL
       0; waits. */
    int (*read)(void *device, uint32_t slot, unsigned n, pfn_t *pages);
    /* The memory that is written as the k-th page, k below PAGEFILE_CLUSTER. */
    void *(*buffer)(void *device, unsigned k);
    /* Write the first n pages of it to n slots. 0 or -EIO. Pager's thread; waits. */
    int (*write)(void *device, uint32_t slot, unsigned n);
};

/* The number of a slot in a PTE: that of its file, and of the slot in it. */
typedef uint32_t pagefile_slot_t;

struct pagefile_stats {
    char name[PAGEFILE_NAME];
    uint64_t slots, used, bad;      /* bad: those that cannot be used; slots includes them */
    uint64_t reads, writes, errors; /* pages read, written; transfers that failed */
    bool closing;
};

/* ---- whole files ---- */

/* Begin to use a page file of nslots slots; name is copied. bad: nbad slots that are not to be
   used. 0; -ENOSPC: there are PAGEFILES_MAX; -EINVAL: too many slots or none; -ENOMEM. IPL 0. */
int pagefile_begin(const struct pagefile_io *io, void *device, const char *name, uint64_t nslots,
                   const uint32_t *bad, unsigned nbad);
/* The number of the file of this device, or -1. */
int pagefile_find(const void *device);
/* Use no more slots of the file from now on, or (closing false) use them again. False: it is not
   in the other state. */
bool pagefile_close(unsigned file, bool closing);
/* End the use of a file that is being closed. False: some slots are in use. IPL 0. */
bool pagefile_end(unsigned file);
/* The statistics of a file; false: there is no file of this number. */
bool pagefile_stats(unsigned file, struct pagefile_stats *s);
/* How many slots all files have, and how many of these are free. A file that is being closed has
   none free. */
void pagefile_totals(uint64_t *slots, uint64_t *free);
/* Is there any page file? */
bool pagefile_any(void);

/* Is the pager freeing memory? Then nothing is read that nobody has asked for. */
bool pagefile_memory_is_short(void);
void pagefile_set_short(bool is_short);

/* ---- slots ---- */

static inline unsigned pagefile_of(pagefile_slot_t slot) { return slot >> 28; }

/* Reserve up to n free slots in a row, for pages that are to be written; the first in *first.
   Returns how many, 0: none is free. Pager's thread. */
unsigned pagefile_reserve(unsigned n, pagefile_slot_t *first);
/* May one more page that is charged to this counter go to a page file? Its user may have reached
   the limit. */
bool pagefile_may_take(uint16_t charge);
/* A reserved slot has the contents of a page that is charged to this counter, and belongs to one
   owner from now on, a PTE or an object. It is charged to the same user, and remembers the counter.
   Pager's thread. */
void pagefile_commit(pagefile_slot_t slot, uint16_t charge);
/* A reserved slot is not needed. Pager's thread. */
void pagefile_cancel(pagefile_slot_t slot);
/* A reserved slot could not be written, and is not used any more. Pager's thread. */
void pagefile_retire(pagefile_slot_t slot);
/* The memory of the k-th page to be written, and writing n of them to slots that were reserved in a
   row: 0 or -EIO. Pager's thread. */
void *pagefile_buffer(pagefile_slot_t first, unsigned k);
int pagefile_write(pagefile_slot_t first, unsigned n);

/* One PTE more has the slot. The caller knows that another PTE, or a hold, keeps it during the
   call: by the mutex of the address space, or by the table of written pages. */
void pagefile_share(pagefile_slot_t slot);
/* A PTE, or the object, that had the slot has it no longer. */
void pagefile_drop(pagefile_slot_t slot);
/* Keep the slot for a reader, if anybody has it, until pagefile_release(). False: nobody has. The
   caller looks afterwards whether the PTE still has the slot, which may be another page's by now.
 */
bool pagefile_hold(pagefile_slot_t slot);
/* End a hold. */
void pagefile_release(pagefile_slot_t slot);
/* Panic if no page file has such a slot: for a caller whose PTE has it although it could not be
   held. Takes no hold. */
void pagefile_expect(pagefile_slot_t slot);
/* Read n slots in a row, which are held, or belong to an object whose slots say SLOT_GET. As
   pagefile_io.read: IPL 0, no spinlock and no mutex of an address space held; waits. */
int pagefile_read(pagefile_slot_t first, unsigned n, pfn_t *pages);
/* Charge a page that was read from a slot in use, and is charged to account 0: to the user of the
   current thread, even beyond the limit, as whoever reads asks first (pagefile_may_read). Who has
   no limit, and the pager, charge it as it was before, and pages that were the kernel's stay its
   own. */
void pagefile_charge_page(pagefile_slot_t slot, uint16_t *charge);
/* May n pages be read from the slot, which is in use? False: the thread's user has no room for them
   in memory; the counter that says so is noted for who waits (quota_refused). */
bool pagefile_may_read(pagefile_slot_t slot, unsigned n);

/* ---- the self-check (mm/check); all threads are stopped ---- */

/* Begin to count. fn: called for each page of the tables. */
void pagefile_check_begin(void (*fn)(void *arg, pfn_t pfn), void *arg);
/* A PTE or an object has the slot. False: there is no such slot, or more have it than it counts. */
bool pagefile_check_slot(pagefile_slot_t slot);
/* All PTEs and objects were counted. slot: called for each slot in use, with the owners found and
   those that it counts, those who hold it left out, and with the counter that it remembers. file:
   called for each file. */
struct pagefile_check {
    void (*slot)(void *arg, pagefile_slot_t slot, uint32_t found, uint32_t counted,
                 uint16_t charge);
    void (*file)(void *arg, const char *name, uint64_t found, uint64_t counted);
};
void pagefile_check_end(const struct pagefile_check *c, void *arg);
/* Bytes of the one block of nonpaged pool that a file has; 0: there is no file of this number. */
uint64_t pagefile_block(unsigned file);

#endif
