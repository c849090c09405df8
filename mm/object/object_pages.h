/*
 * The pages of an object: its structure, its page index and the requests to its pager, for the
 * code that maps, copies and checks these pages (mm/space, mm/check). All other code uses
 * mm/object/object.h. mm/object/object.c describes the design.
 */
#ifndef MM_OBJECT_OBJECT_PAGES_H
#define MM_OBJECT_OBJECT_PAGES_H

#include "kernel/base/list.h"
#include "kernel/base/treap.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/spinlock.h"
#include "mm/object/object.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/page.h"

/*
 * A slot of an object's page index holds the state of one page. A request to the pager is recorded
 * here and nowhere else, so its answer finds it by (object, offset).
 *
 *   63:32      31:16      15     14    13:8   7      6     5    4        3    2      1  0
 *   PFN, valid errno,     FILED  AGED  WALKS  ERROR  TAKE  PUT  UPGRADE  GET  DIRTY  W  PRESENT
 *   if PRESENT with ERROR
 *
 * If FILED, 63:32 is the slot of a page file.
 */
typedef uint64_t slot_t;
#define SLOT_PRESENT 0x1ul
#define SLOT_W       0x2ul /* write access is granted */
#define SLOT_DIRTY   0x4ul /* written since it was last written back */
/* Get is outstanding, or it is read from its page file (not present): faulting threads wait. */
#define SLOT_GET     0x8ul
#define SLOT_UPGRADE 0x10ul /* upgrade is outstanding (present) */
#define SLOT_PUT     0x20ul /* put is outstanding (present): readable, writers wait */
/* No PTE may map it any more; freed when neither a put nor a walk is outstanding; all wait. */
#define SLOT_TAKE  0x40ul
#define SLOT_ERROR 0x80ul   /* the last answer was an error, for the threads that waited */
#define SLOT_WALK  0x100ul  /* one reverse walk that changes its PTEs: a count */
#define SLOT_WALKS 0x3F00ul /* how many there are: writers wait */
/* Present: no PTE maps it, and none was asked for since the pager came by (object_paging.c). */
#define SLOT_AGED        0x4000ul
#define SLOT_FILED       0x8000ul /* not present: in a slot of a page file */
#define SLOT_REQUESTED   (SLOT_GET | SLOT_UPGRADE | SLOT_PUT)
#define SLOT_BUSY        (SLOT_REQUESTED | SLOT_WALKS)
#define SLOT_ERRNO_SHIFT 16
#define SLOT_PFN_SHIFT   32

static inline pfn_t slot_pfn(slot_t s) { return pfn_of(s >> SLOT_PFN_SHIFT); }
static inline slot_t slot_make(pfn_t pfn, slot_t bits)
{
    return (pfn.n << SLOT_PFN_SHIFT) | SLOT_PRESENT | bits;
}
/* The slot of its page file that a FILED one has. */
static inline pagefile_slot_t slot_filed(slot_t s) { return (uint32_t)(s >> SLOT_PFN_SHIFT); }
static inline int slot_error(slot_t s) { return -(int)((s >> SLOT_ERRNO_SHIFT) & 0xFFFF); }

/* Page index: a radix tree of 64-slot nodes. At height 0 it is one leaf, which may begin at any
   multiple of 64 (leaf_base), so that an object with a few pages near each other needs one node. */
#define INDEX_BITS  6
#define INDEX_SLOTS (1u << INDEX_BITS)
struct index_node {
    uint64_t used;              /* bit n: slot n may be nonempty; above the leaves: is */
    uint64_t slot[INDEX_SLOTS]; /* leaf: slot_t; else struct index_node * */
};

/* The 32-bit `offset` of an entry of the PFN database can number this many pages: 32 TiB, more than
   any file or address space has (INODE_MAX_PAGES, LAYOUT_USER_TOP). */
#define OBJECT_MAX_PAGES (UINT64_C(1) << 32)

struct mm_object {         /* nonpaged pool; all fields protected by *lock unless said otherwise */
    struct spinlock *lock; /* constant; objects share a fixed number of locks (object.c) */
    uint32_t refs;         /* entries and outside holders */
    uint32_t nentries;     /* map entries in `entries` */
    uint64_t npages;
    const struct pager_ops *ops; /* NULL: anonymous, zero filled; constant */
    void *pager_data;            /* constant */
    struct treap entries;        /* map entries, as object_mapping (mm/object/mappings.c) */
    uint64_t next_age;           /* of the entry that is attached next */
    struct index_node *root;
    uint64_t leaf_base; /* height 0: offset of the leaf's first slot */
    uint64_t resident;  /* pages present */
    uint64_t filed;     /* pages in page files */
    struct list link;   /* among those with this lock whose pages may go to page files */
    uint64_t visit;     /* where the pager goes on: a page; pager's thread */
    uint32_t round;     /* of the pager's last visit; pager's thread */
    uint32_t nodes;     /* of the index */
    uint32_t held;      /* references by object_hold */
    uint32_t pending;   /* answers and walks outstanding: bits of SLOT_REQUESTED, and SLOT_WALKS */
    uint8_t height;     /* of the index: levels above the leaves */
    bool dead;          /* no reference left; freed with the last outstanding answer */
    uint16_t seen;      /* used by the self-check (mm/check/validate.h) */
    uint32_t number;    /* how many objects were created before it; constant */
};

/* ---- index (mm/object/object_index.c); lock held ---- */
/* Find the slot of a page. NULL: no node holds it, which means the same as an empty slot. Only a
   slot returned by index_create, which records it as used, may be filled. */
slot_t *index_find(struct mm_object *o, uint64_t offset);
/* Nodes that belong to no index: allocated before they are needed, or left over, so that nodes are
   allocated and freed without the object's lock. {0}: none. */
struct index_nodes {
    struct index_node *first; /* a chain by slot 0 */
    unsigned count;
    unsigned wanted; /* that index_create() could not go on without */
};
/* Find the slot of a page, or create it with nodes of `spare`. NULL: it has too few, and nothing
   has changed; the caller drops the lock, calls index_nodes_fill(), and looks at the object anew.
 */
slot_t *index_create(struct mm_object *o, uint64_t offset, struct index_nodes *spare);
/* Allocate the nodes that were wanted. Object's lock not held. False: out of memory; nothing is
   left in `spare`. */
bool index_nodes_fill(struct index_nodes *spare);
/* Free the nodes of `spare`, if there are any. Object's lock not held. */
void index_nodes_free(struct index_nodes *spare);
static inline void index_nodes_drop(struct index_nodes *spare)
{
    if (unlikely(spare->first != NULL))
        index_nodes_free(spare);
}
/* Take the nodes that were created for the empty slot at offset and hold no other slot out of the
   index, into `removed`, and make the tree as low as its contents allow. */
void index_trim(struct mm_object *o, uint64_t offset, struct index_nodes *removed);
/* Call fn for each nonempty slot with offset in [from, to), in ascending order; fn may empty the
   slot. Stops when fn returns false. */
void index_for_each(struct mm_object *o, uint64_t from, uint64_t to,
                    bool (*fn)(struct mm_object *o, uint64_t offset, slot_t *s, void *arg),
                    void *arg);

/* Record in the PFN database that pfn is the page at offset of o. */
static inline void object_page_own(struct mm_object *o, uint64_t offset, pfn_t pfn)
{
    struct page *p = page_of(pfn);

    p->owner = (uint64_t)o;
    p->offset = offset;
    p->type = PAGE_T_OBJECT;
}

/* ---- entries (mm/object/mappings.c); lock held ---- */
/* The entry that follows `after` in o's order, or the first one if it is NULL; NULL: there is none.
   For the self-check. */
struct map_entry *object_next_entry(const struct mm_object *o, const struct map_entry *after);

/* ---- requests (mm/object/pager.c) ---- */
/* Wait until the outstanding request for the page is answered. The object's lock is held on entry
   and dropped on return; ipl is the IPL to return to. The aspace mutex `shared`, if not NULL, is
   held shared and released while waiting. -EAGAIN: look the page up again; -EINTR: a fatal signal
   ended the wait; or the pager's error. */
int pager_wait_unlock(struct mm_object *o, uint64_t offset, ipl_t ipl, struct mutex *shared);
/* Ask the pager for a page that is not present, or for more access to one that is; no request for
   it is outstanding. The caller holds a reference, its own or that of an entry whose address
   space's mutex it holds. The object's lock is held on entry and dropped on return. 0: asked, and
   perhaps answered already; -ENOMEM; -EACCES: the pager never grants more; or the pager's error. */
int pager_request_unlock(struct mm_object *o, uint64_t offset, unsigned access, ipl_t ipl);

/* ---- page files (mm/object/object_paging.c) ---- */
/* The list of the objects whose pages may go to page files and that share a lock, k-th of
   OBJECT_LOCKS, and that lock. list->next NULL: there was none yet. */
#define OBJECT_LOCKS 64u /* far more than CPUs: two objects in use rarely share a lock */
struct spinlock *object_list(unsigned k, struct list **list);
/* Bring a page back that is in a page file, or wait for who does. The object's lock is held on
   entry and dropped on return, and the caller has a reference, its own or that of an entry; ipl and
   `shared` as for pager_wait_unlock(), and the results, with -ENOMEM and -EIO. */
int object_bring_unlock(struct mm_object *o, uint64_t offset, ipl_t ipl, struct mutex *shared);

#endif
