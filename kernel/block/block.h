/*
 * Disks: what drivers of disks offer, and what file systems and device files use. README.md has the
 * rules of owners and locks.
 *
 * A request (struct block_request) is a block of nonpaged pool with the pages that its data is read
 * into or written from. It owns these pages. While it is queued or with the device it belongs to
 * the disk, whoever made it: a thread that is killed, or whose time is over, leaves it behind, and
 * it is freed when the device has given it back. So no memory that a device may still access is
 * ever used for anything else. The pages are either its own, or private pages of a process that it
 * has pinned (mm/space/pin.h), from some byte of the first one on.
 *
 * Nothing waits for ever: a device that has answered nothing for BLOCK_SILENCE_S seconds, or one
 * request for BLOCK_PATIENCE_S, by the guest's clock, is marked as failed. All its requests end
 * with -EIO then, and so does every later one.
 */
#ifndef KERNEL_BLOCK_BLOCK_H
#define KERNEL_BLOCK_BLOCK_H

#include "kernel/sched/mutex.h"
#include "kernel/sched/wait.h"

struct validate;

#define BLOCK_DISKS        16u  /* disks, and ... */
#define BLOCK_VOLUMES      16u  /* volumes of each: itself, and 15 partitions */
#define BLOCK_PAGES        16u  /* of data in a request */
#define BLOCK_DEPTH        64u  /* requests of a disk that its device has at a time */
#define BLOCK_FEW          4u   /* requests that one hold of a disk's lock is for */
#define BLOCK_NAME         12u  /* bytes of a name with its NUL: "vda", "vda15" */
#define BLOCK_SILENCE_S    30u  /* a device that answers nothing for so long has failed, ... */
#define BLOCK_PATIENCE_S   120u /* and one that does not answer one request for so long */
#define BLOCK_TRIES        3u   /* of a read or write that fails */
#define BLOCK_SECTOR       512u /* bytes: the smallest sector of a disk */
#define BLOCK_DEVICE_MAJOR 254u /* of device numbers; the minor one is disk * 16 + volume */

enum block_kind { BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_KINDS };

struct block_disk;

struct block_request {
    struct list all;         /* in disk.all; disk.lock; only threads change it */
    struct list link;        /* in disk.queue, .started, .held or .dead; disk.lock */
    struct list order;       /* of a write that is not finished: in disk.writes; disk.lock */
    struct block_disk *disk; /* constant */
    struct wait_queue done;  /* who waits for the end */
    uint64_t sector;         /* of the disk; constant until it is used again */
    uint64_t place;          /* in the order of submission; disk.lock */
    uint64_t started_ns;     /* when the device got it; disk.lock */
    uint32_t nbytes;         /* of data: whole sectors; constant until it is used again */
    uint32_t skip;           /* bytes of the first page before the data; constant as nbytes is */
    uint16_t npages;         /* of `page` that the data takes; constant as nbytes is */
    uint16_t owned;          /* of `page` that the request owns, or has pinned; its maker's */
    uint16_t account;        /* charged for the block; constant */
    uint8_t kind;            /* enum block_kind; constant as nbytes is */
    uint8_t tries;           /* disk.lock */
    bool pinned;             /* the pages are a process's; constant once it is submitted */
    bool barrier;            /* a flush that does nothing but wait for writes; constant */
    bool with_device;        /* the device may access its memory; disk.lock */
    bool finished;           /* err is valid; atomic, disk.lock to write */
    bool dropped;            /* by its maker; disk.lock, as the next */
    bool left;               /* dropped, but carried out all the same */
    int err;                 /* 0 or a negative errno; before `finished` */
    /* It has ended: finished and err are set. Called with disk.lock held, at IPL_DEVICE, unless the
     * request was dropped before. NULL: somebody waits for it. Set before it is submitted. */
    void (*ended)(struct block_request *r);
    void *owner;                /* of `ended`; set with it */
    struct block_request *next; /* of the same transfer (transfer.h); its maker's */
    pfn_t page[BLOCK_PAGES];
    uint64_t own[]; /* the driver's: driver.room bytes */
};

/* A driver's functions. d->lock is held, at IPL_DEVICE, where nothing else is said. */
struct block_driver {
    size_t room; /* bytes of block_request.own */
    /* Fill in r->own. Not locked: nobody else knows the request yet. */
    void (*prepare)(struct block_disk *d, struct block_request *r);
    /* Pass the request on; the device accesses its memory until block_ended(). False: the device
     * has no room, and block_ended() of another request will be called. */
    bool (*start)(struct block_disk *d, struct block_request *r);
    /* Tell the device that requests were passed on. Not locked. */
    void (*notify)(struct block_disk *d);
    /* Call block_ended() for up to `most` requests that the device has answered. Returns how many.
     * Not locked; IPL up to IPL_DEVICE. */
    unsigned (*take)(struct block_disk *d, unsigned most);
};

/* A stretch of a disk that has a name. */
struct block_volume {
    struct block_disk *disk; /* NULL: there is none; all constant after boot */
    uint64_t first, sectors; /* of the disk */
    uint8_t kind;            /* enum gpt_kind of a partition, by its type */
    char name[BLOCK_NAME];
};

struct block_count { /* disk.lock */
    uint64_t requests, bytes, errors;
};

struct block_disk {
    /* What the driver says; constant after block_register(). */
    const struct block_driver *driver;
    void *device;
    uint64_t sectors;
    uint32_t sector_bytes; /* a power of two from BLOCK_SECTOR to PAGE_SIZE */
    bool read_only;
    bool may_be_system; /* the boot has read its configuration, or none from any disk */
    bool has_cache;     /* what was written is safe only after a flush */
    /* What follows is the block layer's. */
    uint32_t number;                           /* constant, as are the next two */
    uint32_t sector_shift;                     /* sector_bytes is 1 << sector_shift */
    struct block_volume volume[BLOCK_VOLUMES]; /* [0]: the whole disk */
    struct spinlock lock;                      /* RANK_DISK */
    struct list all;                           /* requests that exist */
    struct list queue;                         /* to be started, oldest first */
    struct list started;                       /* with the device, in the order of starting */
    struct list held;                          /* flushes that wait for writes, oldest first */
    struct list dead;                          /* to be freed by the thread */
    struct list writes;                        /* unfinished, in the order of submission */
    uint32_t nstarted;                         /* lock, as all that follows */
    uint64_t places;                           /* requests submitted */
    uint64_t answered_ns;                      /* when the device last answered, or got work */
    uint64_t reminded_ns;                      /* when a silent device was last told once more */
    struct block_count count[BLOCK_KINDS];
    uint64_t retries, late; /* late: given up */
    bool to_serve;          /* there is memory to free or an error to tell, for the thread */
    /* The last error, for the console: the thread names the first few. */
    uint64_t bad_sector, told;
    uint8_t bad_kind;
    bool failed;
    bool unscanned; /* whether it has partitions could not be read; constant after boot */
    /* Held exclusively by who changes a part of a sector, which is read first and written as a
     * whole; shared by other writers through device files. MUTEX_DISK. */
    struct mutex parts;
};

/* ---- drivers ---- */

/* Add a disk, whose first fields are filled in and whose others are zero; the structure stays. 0;
 * -ENOSPC: there are BLOCK_DISKS; -EINVAL: sectors of an unknown size; -ENOMEM. IPL 0. Boot. */
int block_register(struct block_disk *d);
/* The device serves requests now: read the partitions. IPL 0; waits. Boot. */
void block_scan(struct block_disk *d);
/* The device has given a request back: 0, or -EIO. Takes d->lock; IPL up to IPL_DEVICE. */
void block_ended(struct block_disk *d, struct block_request *r, int err);
/* The same for several: each with d->lock held, and at once afterwards, without. */
void block_ended_locked(struct block_disk *d, struct block_request *r, int err);
void block_ended_all(struct block_disk *d);
/* Answers are left that were not taken in time: have the thread take them. IPL up to IPL_DEVICE. */
void block_wake(void);

/* ---- users ---- */

/* The volume of a device number's minor part; NULL: there is none. Any IPL. */
struct block_volume *block_volume(unsigned minor);
/* The first partition of a kind (enum gpt_kind) of the system disk, which is the first disk that
 * may be it and that has a configuration partition. NULL: there is none, or the partitions of a
 * disk before it could not be read, which may be the system disk. Any IPL; after the
 * scans. */
struct block_volume *block_system(unsigned kind);
/* The index-th disk; NULL: there are no more. Any IPL. */
struct block_disk *block_disk(unsigned index);

/* A new request for nbytes of whole sectors, at most BLOCK_PAGES pages, from a sector of v on that
 * are within v; of a flush both are 0. Its pages, of undefined contents, and its block are charged
 * to the current thread's account. NULL: no memory. IPL up to IPL_ASTDEL. */
struct block_request *block_new(const struct block_volume *v, enum block_kind kind, uint64_t sector,
                                uint32_t nbytes);
/* The same, charged to nobody: for pages in whose place others were charged. They leave what the
 * current thread's account must leave, unless it settles what others wait for. Otherwise as
 * block_new(). */
struct block_request *block_new_uncharged(const struct block_volume *v, enum block_kind kind,
                                          uint64_t sector, uint32_t nbytes);
/* As block_new() for npages pages that the caller has pinned, with the data from byte `skip` of the
 * first one on; the request has the pins from now on. NULL: no memory, and the caller has them. */
struct block_request *block_new_pinned(const struct block_volume *v, enum block_kind kind,
                                       uint64_t sector, uint32_t nbytes, uint32_t skip,
                                       const pfn_t *page, unsigned npages);
/* The same for nbytes at ubuf of the current process, whole sectors in at most BLOCK_PAGES pages.
 * 0, and *out; -EOPNOTSUPP: memory that is not private; -EFAULT, -ENOMEM, -EINTR. IPL 0;
 * takes the mutex of the address space. */
int block_direct(const struct block_volume *v, enum block_kind kind, uint64_t sector, vaddr_t ubuf,
                 uint32_t nbytes, struct block_request **out);
/* Queue it; on a disk that has failed it ends with -EIO at once. IPL 0; takes the disk's lock. */
void block_submit(struct block_request *r);
/* The same for up to BLOCK_FEW requests to one disk, in one hold of its lock. The device may begin
 * them only when block_notify() is called, which the caller does at once after the last. Nothing
 * that may wait comes between. */
void block_submit_few(struct block_request *const *r, unsigned n);
void block_notify(struct block_disk *d);
/* Wait for its end: its err. The caller drops it. -EINTR: the thread is to end, and the request is
 * under way. IPL 0, no spinlock. */
int block_wait(struct block_request *r);
/* The same, whatever happens to the thread: for who may not leave a write under way, whose place
 * would be used for something else. It ends as every request does: the device answers, or fails. */
int block_wait_ended(struct block_request *r);
/* Use a request once more that has ended, for nbytes from a sector of v on, at most as much as it
 * was made for. False: the device has been given up and has it still. IPL 0; takes the disk's lock.
 */
bool block_again(struct block_request *r, const struct block_volume *v, uint64_t sector,
                 uint32_t nbytes);
/* The pages of a request that has ended without an error are the caller's from now on: r->npages of
 * them, active and of type PAGE_T_SYSTEM. Any IPL. */
void block_take_pages(struct block_request *r, pfn_t *pages);
/* The caller has no more to do with a request, in whatever state it is: it is freed now, or when
 * the device has given it back. One that the device has not got yet is not carried out. IPL 0. */
void block_drop(struct block_request *r);
/* Take a request back that was submitted and that the device has not got: it is freed, and true is
 * returned; false: it is under way or has ended. IPL 0. */
bool block_take_back(struct block_request *r);
/* block_drop(), but a request that was submitted is carried out. */
void block_leave(struct block_request *r);

/* Have all that was written to the disk, by requests that ended before, survive the machine's end.
 * 0, -ENOMEM, -EIO, -EINTR. IPL 0; waits, killable. */
int block_flush(const struct block_volume *v);
/* Wait until all writes that were submitted before have ended. As block_flush(). */
int block_settle(const struct block_volume *v);
/* block_flush() for all disks, as far as they do not fail. */
void block_flush_all(void);
/* Read nbytes (whole sectors, at most one page) into kernel memory. As block_flush(). */
int block_read(const struct block_volume *v, uint64_t sector, void *buf, uint32_t nbytes);

/* The self-check (mm/check/validate.h): count the pages of all requests. */
void block_validate(struct validate *v);

#endif
