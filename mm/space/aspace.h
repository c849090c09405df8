/*
 * Address spaces: a page-table root, an ordered map of entries, regions. mm knows no processes:
 * kernel/proc owns one reference to a struct aspace for each process. All calls below: IPL 0, no
 * spinlock; they take the aspace mutex (MUTEX_ASPACE) unless they end in _locked. Addresses and
 * lengths in bytes, page aligned unless said otherwise. Return 0 or a negative errno.
 */
#ifndef MM_SPACE_ASPACE_H
#define MM_SPACE_ASPACE_H

#include "kernel/base/list.h"
#include "kernel/sched/mutex.h"
#include "mm/object/mapping.h"
#include "mm/pt/page_table.h"

#define MAPF_FIXED           0x1u /* replace what is there */
#define MAPF_FIXED_NOREPLACE 0x2u
#define MAPF_SHARED          0x4u
#define MAPF_GROWSDOWN       0x8u /* stack: lowest page is a guard, grows down on fault */
#define MAPF_POPULATE        0x10u
#define MAPF_REGION          0x20u /* placed by mm/space/region.c: may lie inside regions */
#define MAPF_READONLY        0x40u /* nor may its protection ever allow writing */

struct mm_object;
struct aspace;

/* What a kind of mapping does. Anonymous and object mappings are mm/space/anon.c's; sections are
 * mm/section/section_map.c's. */
struct map_ops {
    const char *name;
    /* Resolve a fault at page va, which the entry's protection allows. Aspace mutex held shared; an
       operation that has to wait drops it, waits, takes it shared again and returns -EAGAIN: the
       entry is looked up anew. 0, -ENOMEM, -EFAULT, -EACCES. */
    int (*fault)(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access);
    /* The whole entry goes (it was split before where needed): clear its PTEs, flush, free what
       belongs to the mapping and emptied tables (pt_prune). Aspace mutex held exclusively. The
       entry itself is the caller's. */
    int (*unmap)(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end);
    /* fork: give the child its copy or share; the child's entry is already linked, a copy of e
       without object and smap. src's mutex is held exclusively; nobody else can reach dst yet. */
    int (*fork)(struct aspace *src, struct map_entry *e, struct aspace *dst,
                struct map_entry *child);
    /* Another protection for the whole entry, which may have it: cannot fail. NULL: there is none
       but the one it has. */
    void (*protect)(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                    unsigned prot);
    /* Is this entry's protection as fixed as without `protect`? NULL: no. */
    bool (*is_fixed)(const struct map_entry *e);
    /* A split of e at va will follow: second gets what that takes; only its ops and pt are
       filled in. An error refuses the split, and with it the munmap or mprotect of a part, of which
       nothing has happened yet. NULL: every split is possible. */
    int (*split_prepare)(struct map_entry *e, struct map_entry *second, vaddr_t va);
    /* The split does not follow after all: give back what second got. NULL: nothing to do. */
    void (*split_cancel)(struct map_entry *second);
    /* e is split at va; second is the new upper half, prepared and filled in but not linked, e
       still whole. NULL: nothing to do. */
    void (*split)(struct map_entry *e, struct map_entry *second, vaddr_t va);
    /* Make [start,end) present, writably where the entry allows it. Mutex and -EAGAIN as for fault.
     * NULL: nothing is done. */
    int (*populate)(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end);
};

struct aspace_counts { /* atomics, relaxed */
    uint64_t faults, demand_zero, cow, object_valid, file, stack_grow;
    uint64_t section_made_valid, section_l3_pickup, section_raced, section_global_valid;
    uint64_t section_pages;
    uint64_t vsize;
    uint64_t locked;               /* pages locked in memory */
    uint64_t vsize_peak, rss_peak; /* the most that vsize and pt.rss ever were */
};

struct aspace {
    struct page_table pt; /* first: a walk starts at its root */
    uint32_t refs;        /* atomic */
    uint16_t seen;        /* the self-check's (mm/check/validate.h) */
    uint16_t holders;     /* likewise */
    struct mutex lock;
    struct list entries; /* of map_entry, by address */
    struct map_entry *tree;
    struct list regions; /* of struct region (mm/space/region.h), user-created */
    uint64_t next_region_id;
    struct map_entry *hint; /* entry of the last fault; atomic hint, cleared when the entry goes */
    vaddr_t full_below;     /* entries cover P2 from its start to here: where a search may begin */
    uint32_t heap_seed;     /* search tree's weights */
    struct aspace_counts counts;
};

/* Anonymous memory and objects (mm/space/anon.c, fork.c), also for kinds of mapping that build on
   them. */
extern const struct map_ops anon_ops;
int anon_fork(struct aspace *src, struct map_entry *e, struct aspace *dst, struct map_entry *child);

/* Called, if set, with no lock held after entries have gone: what they mapped may have to be
 * deleted (mm/section/section.c, at boot). */
extern void (*aspace_entries_gone)(void);

struct aspace *aspace_create(unsigned rad); /* NULL when memory is short */
/* fork: a copy of src. NULL when memory is short; src is unchanged then. */
struct aspace *aspace_fork(struct aspace *src);
void aspace_ref(struct aspace *as);
/* Last reference: everything is unmapped and freed. No CPU has the root loaded any more but perhaps
 * this one, which switches to the system root first. */
void aspace_unref(struct aspace *as);
/* exec: unmap everything, regions included. */
void aspace_clear(struct aspace *as);

/* Private or shared anonymous memory. *va is the wish (0: none) and the result. */
int aspace_map_anon(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags);
/* An object (takes a reference of its own); private unless MAPF_SHARED: writes then go to a shadow.
 */
int aspace_map_object(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags,
                      struct mm_object *obj, uint64_t offset);
/* 0; -EINVAL: bad range, or it cuts a mapping where that cannot be cut; -ENOMEM. After an error all
   is mapped as before. */
int aspace_unmap(struct aspace *as, vaddr_t va, uint64_t len);
/* mprotect (mm/space/aspace_protect.c). 0; -EINVAL: bad range; -ENOMEM: there are holes, or no
   memory to split a mapping; -EACCES: more than a mapping may have, or its protection is fixed. All
   or nothing. */
int aspace_protect(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot);
/* $SETPRT_64: MAP_X counts where the mapping may have it; *old is what the last page had. 0;
   -EFAULT: bad range, or holes; -EACCES: more than a mapping may have; -EPERM: a mapping's
   protection is fixed; -ENOMEM. All or nothing. */
int aspace_set_protection(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot,
                          unsigned *old);
/* Forget the contents of private memory: anonymous pages are zero at their next access, those of an
   object what the object has. Shared memory keeps its contents. -EINVAL: a section, or without
   `locked_too` a locked page, is there, and what lies before it is forgotten; -ENOMEM: there are
   holes (all else is done), or no memory to split a mapping (nothing is). */
int aspace_forget(struct aspace *as, vaddr_t va, uint64_t len, bool locked_too);
/* Lock pages in memory (mm/space/aspace_lock.c): they are made present, and stay until they are
   unlocked, unmapped or forgotten. Not inherited by fork. *any_set: one was locked before. 0;
   -EFAULT: bad range, holes, or behind an object's end; -EACCES: a page that may not be accessed;
   -ENOMEM: they cannot all be had above the minimum of fluid pages. After an error no lock has
   changed. May wait.
 */
int aspace_lock_pages(struct aspace *as, vaddr_t va, uint64_t len, bool *any_set);
/* *all_set: all were locked. 0; -EFAULT: bad range or holes; -ENOMEM: no memory to split a mapping.
 */
int aspace_unlock_pages(struct aspace *as, vaddr_t va, uint64_t len, bool *all_set);
/* Make [va, va+len) present as a fault would; errors as aspace_fault's. */
int aspace_populate(struct aspace *as, vaddr_t va, uint64_t len, bool write);
/* Is every page of the range free (no entry, no region)? */
bool aspace_range_free_locked(struct aspace *as, vaddr_t va, uint64_t len);
/* A free range of len bytes, aligned, within [low, high), from the low end or (down) the high end;
 * created regions count as taken. 0 when none. */
vaddr_t aspace_find_locked(struct aspace *as, uint64_t len, uint64_t align, vaddr_t low,
                           vaddr_t high, bool down);
struct map_entry *aspace_lookup_locked(struct aspace *as, vaddr_t va);
/* Insert an entry (from nonpaged pool) whose range is free. */
void aspace_insert_locked(struct aspace *as, struct map_entry *e);
int aspace_unmap_locked(struct aspace *as, vaddr_t va, uint64_t len);

/* Page fault from trap dispatch, user or kernel mode. 0: retry the access. -EFAULT: SIGSEGV MAPERR;
   -EACCES: SIGSEGV ACCERR; -ENOMEM: the process is to be killed and named; -EINTR: a fatal signal
   ended a wait for a pager, the thread dies on its way out; -ENXIO (behind the end of what is
   mapped) and whatever else a pager answers: SIGBUS ADRERR. May wait. IPL 0 with no
   spinlock, else panics. */
int aspace_fault(struct aspace *as, vaddr_t va, enum fault_access access);

struct map_entry *map_entry_alloc(void); /* zeroed, links initialised; NULL when short */
void map_entry_free(struct map_entry *e);

#endif
