/*
 * Address spaces: a page-table root, an ordered map of entries, regions. mm does not know
 * processes: kernel/proc holds one reference to a struct aspace for each process. Unless said
 * otherwise, the functions below are called at IPL 0 without a spinlock, take the aspace mutex
 * (MUTEX_ASPACE) themselves or, with a name in _locked, expect the caller to hold it exclusively,
 * and return 0 or a negative errno. Addresses and lengths are in bytes, page aligned.
 */
#ifndef MM_SPACE_ASPACE_H
#define MM_SPACE_ASPACE_H

#include "arch/alpha/hw/pte.h"
#include "kernel/base/list.h"
#include "kernel/sched/mutex.h"
#include "mm/object/mapping.h"
#include "mm/pt/page_table.h"

#define MAPF_FIXED           0x1u  /* at this address; existing mappings are replaced */
#define MAPF_FIXED_NOREPLACE 0x2u  /* at this address; existing mappings are an error */
#define MAPF_SHARED          0x4u  /* writes go to the object, and fork shares it */
#define MAPF_GROWSDOWN       0x8u  /* stack: lowest page is a guard, grows down on fault */
#define MAPF_REGION          0x20u /* may lie inside created regions (mm/space/region.c) */
#define MAPF_HUGE            0x80u /* of huge pages; is never split within one */
#define MAPF_READONLY        0x40u /* its protection may never allow writing */

struct mm_object;
struct aspace;
struct word_keeper;

/* The operations of a kind of mapping. Those of anonymous and object mappings are in
   mm/space/anon.c, those of sections in mm/section/section_map.c. */
struct map_ops {
    const char *name;
    /* Resolve a fault at page va; the entry's protection allows the access. Aspace mutex held
       shared. An operation that has to wait drops it, waits, takes it shared again and returns
       -EAGAIN; the caller then looks the entry up again. 0, -ENOMEM, -EFAULT, -EACCES, or an error
       of the object's pager. */
    int (*fault)(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access);
    /* Remove the whole entry, which was split before if necessary: clear its PTEs, flush, free
       what belongs to the mapping, and emptied tables (pt_prune). Aspace mutex held exclusively.
       The caller frees the entry itself. 0; -EINTR: the caller is to end (thread_killed), a part of
       the pages is gone, as if they had been discarded, and the entry stays. In a dying space 0
       always, and private pages and tables may be left to anon_end(). */
    int (*unmap)(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end);
    /* fork: give the child its copy or its share of e. The child's entry is linked already, and is
       a copy of e without object and smap. src's mutex is held exclusively; no other thread can
       reach dst yet. 0 or -ENOMEM. */
    int (*fork)(struct aspace *src, struct map_entry *e, struct aspace *dst,
                struct map_entry *child);
    /* Change the protection of the whole entry to prot, which max_prot allows. Mutex held
       exclusively; cannot fail. Returns the address up to which it was changed: end, or less if the
       caller is to end (thread_killed) and `end` lies far away. NULL: the protection is fixed. */
    vaddr_t (*protect)(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                       unsigned prot);
    /* Is the protection of this entry fixed, although there is `protect`? NULL: no. */
    bool (*is_fixed)(const struct map_entry *e);
    /* Before the protection of the whole entry is changed: do what may fail, which leaves the
       mapping as it was. 0, -ENOMEM, or -EINTR: the caller is to end. NULL: nothing to do. */
    int (*protect_prepare)(struct aspace *as, struct map_entry *e);
    /* Allocate for `second` what a split of e at va needs; of second only ops and pt are filled in
       yet. An error refuses the split, and with it the munmap or mprotect of a part of the entry,
       which has changed nothing so far. NULL: every split is possible. */
    int (*split_prepare)(struct map_entry *e, struct map_entry *second, vaddr_t va);
    /* The split is not made after all: free what split_prepare allocated. NULL: nothing to do. */
    void (*split_cancel)(struct map_entry *second);
    /* Split e at va. second is the new upper half, prepared and filled in but not linked; e still
       has its old end. NULL: nothing to do. */
    void (*split)(struct map_entry *e, struct map_entry *second, vaddr_t va);
    /* Shared memory without an object: what its words are known by (mm/space/word.h), and how that
       is kept in existence. Mutex held shared. NULL: it is known by its address space. */
    void *(*word_base)(const struct map_entry *e);
    const struct word_keeper *word_keeper;
    /* Make [start, end) present, writable where the entry allows it. Mutex and -EAGAIN as for
       fault. NULL: nothing is done. */
    int (*populate)(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end);
    /* As aspace_forget() with a part of the entry; what is discarded may extend to the next huge
       page. Mutex held exclusively. NULL: if the entry has no object of its own, nothing can be
       discarded (-EINVAL). */
    int (*discard)(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end);
    /* How many mappings share what the PTE maps, this one included. Mutex held shared. NULL: as
       many as map the object, or as the private page counts. */
    uint64_t (*sharers)(const struct map_entry *e, pte_t pte);
};

/* The limits of the current process for what its own calls map; NULL: there are none. kernel/proc
   sets both at boot. aspace_within: may its space have so many bytes, so many of them data?
   aspace_stack_limit: how many bytes a stack may have. */
extern bool (*aspace_within)(uint64_t nbytes, uint64_t data);
extern uint64_t (*aspace_stack_limit)(void);
/* Called, if set, with no lock of mm held, after there was no memory to populate a range: wait
   until pages have gone to page files. False: none have. */
extern bool (*aspace_wait_for_memory)(void);

/* An address space gets no more entries from Linux's calls when it has so many, which is Linux's
   vm.max_map_count: a loop of mmap would otherwise take all memory of the kernel. As on Linux, mmap
   makes one more than that, whether or not it replaces others. */
#define ASPACE_ENTRIES_MAX 65530u

struct aspace_counts { /* relaxed atomics, except as noted */
    uint64_t faults, demand_zero, cow, object_valid, file, stack_grow;
    uint64_t aged, page_file; /* pages that had been taken away to see if they are used; that came
                                 back from page files */
    uint64_t section_made_valid, section_l3_pickup, section_raced, section_global_valid;
    uint64_t section_pages;
    uint64_t vsize;      /* bytes in entries; aspace mutex exclusive to change */
    uint64_t data;       /* of these, in private writable ones; likewise */
    uint64_t entries;    /* on the map; likewise */
    uint64_t locked;     /* pages locked in memory */
    uint64_t vsize_peak; /* the most that vsize ever was */
};

struct aspace {           /* protected by `lock`, exclusive to change, unless said otherwise */
    struct page_table pt; /* first: a walk starts at its root */
    uint32_t refs;        /* atomic */
    uint16_t seen;        /* used by the self-check (mm/check/validate.h) */
    uint16_t holders;     /* likewise */
    uint16_t visitors;    /* likewise: threads that may have a reference (aspace_visits) */
    struct mutex lock;
    struct list entries;       /* of map_entry, in address order */
    struct treap tree;         /* the same entries as spans (mm/space/aspace_tree.c) */
    struct list regions;       /* created regions (mm/space/region.h), in address order */
    struct treap region_tree;  /* the same regions as spans */
    struct treap region_by_id; /* the same regions by id */
    uint64_t next_region_id;
    bool locks_future;      /* mlockall(MCL_FUTURE); atomic */
    struct map_entry *hint; /* found last, by a fault mostly; atomic, cleared when it is removed */
    struct tb_gather *gather; /* of a dying space: takes what its sections free; else NULL */
    union {
        struct fork_noted *noted; /* of a space that a fork fills (mm/space/fork.c); else NULL */
        struct aspace *next_left; /* of one that only kernel/proc/page_out.c refers to */
    };
    uint64_t forks; /* how often it was copied */
    struct aspace_counts counts;
};

/* The operations of anonymous memory and objects (mm/space/anon.c, fork.c), also for kinds of
   mapping that build on them. */
extern const struct map_ops anon_ops;
int anon_fork(struct aspace *src, struct map_entry *e, struct aspace *dst, struct map_entry *child);

/* Called, if set, with no lock held after entries have been removed, because what they mapped may
   have to be deleted. mm/section/section.c sets it at boot. */
extern void (*aspace_entries_gone)(void);

/* Create an empty address space with one reference, whose pages come from domain `rad` if possible.
   NULL: out of memory. */
struct aspace *aspace_create(unsigned rad);
/* fork: copy src. soon: n addresses to which the child is going to write at once, any ones; n is at
   most FORK_ADDRESSES. NULL: out of memory, and the contents of src are unchanged. */
#define FORK_ADDRESSES 4u
struct aspace *aspace_fork_writing(struct aspace *src, const vaddr_t *soon, unsigned n);
static inline struct aspace *aspace_fork(struct aspace *src)
{
    return aspace_fork_writing(src, NULL, 0);
}
/* Mapped pages that are the space's or an object's, not the page of zeroes. May be out of date. */
static inline uint64_t aspace_pages(const struct aspace *as)
{
    uint64_t zeroes = __atomic_load_n(&as->pt.zeroes, __ATOMIC_RELAXED);
    uint64_t all = __atomic_load_n(&as->pt.rss, __ATOMIC_RELAXED);

    return all > zeroes ? all - zeroes : 0;
}
void aspace_ref(struct aspace *as);
/* Drop a reference, unless it is the last. False: it is, and the caller has it still. Any IPL. */
bool aspace_try_unref(struct aspace *as);
/* Drop a reference. The last one unmaps and frees everything; then no CPU has the root loaded,
   except perhaps this one, which switches to the system root first. */
void aspace_unref(struct aspace *as);

/* Map private or shared anonymous memory. *va: the address asked for (0: none), and the result.
   -EINVAL: bad length or protection; -ENOMEM: out of memory or of addresses, or the fixed range is
   not free for mappings; -EEXIST: with MAPF_FIXED_NOREPLACE, a mapping is there. */
int aspace_map_anon(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags);
/* Make the private memory that ends at va longer by [va, va + len), which is free, as
   aspace_map_anon would with MAPF_FIXED_NOREPLACE. -ENOENT: none of this protection ends there, or
   it is locked; otherwise as aspace_map_anon. */
int aspace_grow_anon(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot);
/* Map obj, from `offset` bytes on; the mapping takes a reference of its own. Private unless
   MAPF_SHARED: what is written then is a copy of its own. Errors as for aspace_map_anon. */
int aspace_map_object(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags,
                      struct mm_object *obj, uint64_t offset);
/* The same with operations that build on anon_ops. A mapping that was inserted is unmapped by
   them, perhaps before the return. */
int aspace_map_object_by(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot,
                         unsigned flags, struct mm_object *obj, uint64_t offset,
                         const struct map_ops *ops);
/* -EINVAL: bad range, or it would split a mapping that cannot be split there; -ENOMEM. After an
   error everything is mapped as before. -EINTR: the caller is to end; a part is unmapped. */
int aspace_unmap(struct aspace *as, vaddr_t va, uint64_t len);
/* The same for a caller that holds a mutex, and calls aspace_entries_left() without it. */
int aspace_unmap_only(struct aspace *as, vaddr_t va, uint64_t len);
/* Free what mappings that are gone were the last to use (aspace_entries_gone). Who has replaced
   mappings calls it, as the calls that unmap do. IPL 0, no lock held. */
void aspace_entries_left(void);
/* mprotect (mm/space/aspace_protect.c). -EINVAL: bad range; -ENOMEM: there are holes, or no memory
   to split a mapping; -EACCES: more access than a mapping may have, or its protection is fixed;
   -EINTR: the caller is to end. All of the range is changed or none, except by a caller that is to
   end. */
int aspace_protect(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot);
/* $SETPRT_64: like mprotect, but MAP_X is ignored where the mapping may not have it, and *old is
   the former protection of the last page. -EFAULT: bad range, or holes; -EACCES: more access than a
   mapping may have; -EPERM: a mapping's protection is fixed; -ENOMEM; -EINTR: the caller
   is to end. All or nothing, except that a caller that is to end may have changed a part. */
int aspace_set_protection(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot,
                          unsigned *old);
/* Discard the contents of private memory: at their next access anonymous pages are zero, and pages
   of an object have the object's contents. Shared memory keeps its contents. -EINVAL: bad range;
   or it contains a section or, without `locked_too`, a locked page, and only what lies below that
   was discarded. -ENOMEM: there are holes; everything else is discarded. -EINTR: the caller is to
   end; a part was discarded. */
int aspace_forget(struct aspace *as, vaddr_t va, uint64_t len, bool locked_too);
/* Lock pages in memory (mm/space/aspace_lock.c): they are made present and stay so until they are
   unlocked, unmapped or discarded. Not inherited by fork. *any_set: one was locked before. -EFAULT:
   bad range, holes, or beyond an object's end; -EACCES: a page that may not be accessed; -ENOMEM:
   not all pages can be allocated above the minimum of fluid pages; -EIO: a page cannot be read;
   -EINTR: a fatal signal. After an error no lock has changed. May wait. */
int aspace_lock_pages(struct aspace *as, vaddr_t va, uint64_t len, bool *any_set);
/* The same, but -ENOMEM if the address space would have more than `limit` locked pages. */
int aspace_lock_pages_within(struct aspace *as, vaddr_t va, uint64_t len, uint64_t limit,
                             bool *any_set);
/* Lock every page that may be locked, of a stack what has been used; or unlock all. 0; -ENOMEM: the
   mapped pages are more than `limit`, or there is no memory; -EINTR. */
int aspace_lock_all(struct aspace *as, uint64_t limit);
int aspace_unlock_all(struct aspace *as);
/* Unlock them. *all_set: all were locked. -EFAULT: bad range or holes; -ENOMEM: no memory to split
   a mapping. */
int aspace_unlock_pages(struct aspace *as, vaddr_t va, uint64_t len, bool *all_set);
/* Make [va, va + len) present, as read faults would or, with `write`, write faults. -EINVAL: bad
   range; -ENOMEM: holes, or out of memory; -EACCES: `write` and a mapping is read-only; others as
   for aspace_fault, and -EINTR if the caller is to end. What was made present before an error
   stays. May wait. */
int aspace_populate(struct aspace *as, vaddr_t va, uint64_t len, bool write);
/* Map anonymous memory (obj NULL), or obj from `offset` bytes on, privately at va, where nothing is
   mapped. flags: MAPF_GROWSDOWN or 0. Errors as for aspace_map_anon with MAPF_FIXED_NOREPLACE.
   Mutex held exclusively. */
int aspace_map_new_locked(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot,
                          unsigned flags, struct mm_object *obj, uint64_t offset);
/* Map what a new program is about to use of its mappings, as far as it is in memory: text, copies
   of the first pages of data, the top of the stack. The space has a program's few mappings, made by
   aspace_map_new_locked. 0; -ENOMEM. Mutex held, at least shared. */
int aspace_preload_locked(struct aspace *as);
/* What mremap does (mm/space/aspace_remap.c). */
#define REMAP_MAYMOVE 1u
#define REMAP_FIXED   2u /* to `fixed`, where mappings are replaced; with REMAP_MAYMOVE */
#define REMAP_KEEP    4u /* the old mapping stays, empty; with REMAP_MAYMOVE, the length as it is */
struct remap {
    vaddr_t old, fixed; /* pages; [fixed, fixed + new_len) does not overlap the old range */
    uint64_t old_len;   /* 0: make a second mapping of shared memory */
    uint64_t new_len;   /* not 0 */
    unsigned flags;     /* REMAP_* */
};
/* Make the mapping of [old, old + old_len) new_len long, where it is or elsewhere, with its
   contents. Its place in *va. -EFAULT: it is no part of one mapping; -EINVAL: of a kind that cannot
   be moved, or a bad place; -ENOMEM: no place, no memory, or the process's limits forbid it;
   -EINTR: the caller is to end, and a part may be at the new place. After another error the old
   mapping is as before, except that it may be shorter already, and what REMAP_FIXED replaces may be
   gone. */
int aspace_remap(struct aspace *as, const struct remap *r, vaddr_t *va);
/* Is every page of the range mapped, and by what `bar` allows? 0; -ENOMEM: there are holes;
   -EINVAL: by something else; -EBUSY: pages are locked in memory; -EINTR: the caller is to end. */
enum aspace_bar { ASPACE_ANY, ASPACE_PRIVATE_ANON, ASPACE_UNLOCKED };
int aspace_check_mapped(struct aspace *as, vaddr_t va, uint64_t len, enum aspace_bar bar);
/* Have what was stored in the range through shared mappings of files where the files have their
   storage. 0; -ENOMEM: there are holes; -EINTR; or the first error of a pager. IPL 0; waits. */
int aspace_sync(struct aspace *as, vaddr_t va, uint64_t len);
/* mincore: which of the pages are in memory, a byte of 0 or 1 each in vec; at most
   ASPACE_RESIDENT_MAX pages. 0; -ENOMEM: there are holes. */
#define ASPACE_RESIDENT_MAX 64u
int aspace_resident(struct aspace *as, vaddr_t va, unsigned npages, uint8_t *vec);
/* Choose or check the address of a new mapping of len bytes, aligned to align (a power of two)
   unless it is fixed, and remove what MAPF_FIXED replaces. 0, or an error as aspace_map_anon. */
int aspace_place_locked(struct aspace *as, vaddr_t *va, uint64_t len, uint64_t align, unsigned prot,
                        unsigned flags);
/* Is every page of the range free, with neither an entry nor a created region there? */
bool aspace_range_free_locked(struct aspace *as, vaddr_t va, uint64_t len);
/* Find a free range of len bytes within [low, high), aligned to the power of two `align`, the
   lowest or (down) the highest (mm/space/aspace_tree.c has an exception for large alignments);
   created regions count as taken. 0: there is none. */
vaddr_t aspace_find_locked(struct aspace *as, uint64_t len, uint64_t align, vaddr_t low,
                           vaddr_t high, bool down);
/* The entry that holds va, or NULL. Mutex at least shared. */
struct map_entry *aspace_lookup_locked(struct aspace *as, vaddr_t va);
/* First entry that overlaps [start, end), or NULL. Mutex at least shared. */
struct map_entry *aspace_first_in_locked(struct aspace *as, vaddr_t start, vaddr_t end);
/* Insert an entry (from map_entry_alloc) whose range is free. */
void aspace_insert_locked(struct aspace *as, struct map_entry *e);
/* aspace_unmap for a valid range, without the call of aspace_entries_gone. */
int aspace_unmap_locked(struct aspace *as, vaddr_t va, uint64_t len);

/* Resolve a page fault, of user or kernel mode, at va (any byte address). The result tells trap
   dispatch what to do:
       0        retry the access
       -EFAULT  SIGSEGV MAPERR: nothing is mapped there
       -EACCES  SIGSEGV ACCERR: the protection forbids the access
       -ENOMEM  kill the process and name it on the console
       -EINTR   a fatal signal ended a wait for a pager; the thread ends before user mode
       -ENXIO   SIGBUS ADRERR: beyond the end of the object; so is any other error of a pager
   May wait. Panics if IPL is not 0 or a spinlock is held. */
int aspace_fault(struct aspace *as, vaddr_t va, enum fault_access access);

/* Allocate an entry from nonpaged pool, zeroed and with initialised links. NULL: out of memory. */
struct map_entry *map_entry_alloc(void);
void map_entry_free(struct map_entry *e);

#endif
