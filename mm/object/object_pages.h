/*
 * The pages of an object: its structure, its page index and the requests to its pager, for the
 * layers that map, copy and check these pages (mm/space, mm/check). Everybody else uses
 * mm/object/object.h. The essay is in mm/object/object.c.
 */
#ifndef MM_OBJECT_OBJECT_PAGES_H
#define MM_OBJECT_OBJECT_PAGES_H

#include "kernel/base/list.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/spinlock.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"

/*
 * A slot of an object's page index: one page's state. PFN in 63:32 while SLOT_PRESENT; a request to
 * the pager is recorded here and nowhere else, so its completion finds it by (object, offset).
 */
typedef uint64_t slot_t;
#define SLOT_PRESENT 0x1ul
#define SLOT_W       0x2ul /* the pager granted write access */
#define SLOT_DIRTY   0x4ul /* written since it was last put back */
#define SLOT_GET \
    0x8ul /* get is under way (not present), page state "transition" for those who fault */
#define SLOT_UPGRADE 0x10ul /* upgrade is under way (present) */
#define SLOT_PUT     0x20ul /* put is under way (present): readable, writers wait */
#define SLOT_TAKE \
    0x40ul /* with SLOT_PUT: unmapped, and the page goes when the put is done; everybody waits */
#define SLOT_ERROR \
    0x80ul /* last answer was an error (errno in 31:16): for those who waited for it */
#define SLOT_BUSY        (SLOT_GET | SLOT_UPGRADE | SLOT_PUT)
#define SLOT_ERRNO_SHIFT 16
#define SLOT_PFN_SHIFT   32

static inline pfn_t slot_pfn(slot_t s) { return pfn_of(s >> SLOT_PFN_SHIFT); }
static inline slot_t slot_make(pfn_t pfn, slot_t bits)
{
    return (pfn.n << SLOT_PFN_SHIFT) | SLOT_PRESENT | bits;
}
static inline int slot_error(slot_t s) { return -(int)((s >> SLOT_ERRNO_SHIFT) & 0xFFFF); }

/* Page index: a radix tree of 64-slot nodes. Height 0: one leaf, which may stand at any multiple of
   64 (leaf_base), so that an object with a few pages anywhere needs one node. */
#define INDEX_BITS  6
#define INDEX_SLOTS (1u << INDEX_BITS)
struct index_node {
    uint64_t used;              /* leaf: bit n, slot n may be nonempty */
    uint64_t slot[INDEX_SLOTS]; /* leaf: slot_t; else struct index_node * */
};

/* As many pages as an entry of the PFN database can number: 32 TiB, above what any file or address
   space has (INODE_MAX_PAGES, LAYOUT_USER_TOP). */
#define OBJECT_MAX_PAGES (UINT64_C(1) << 32)

struct mm_object {         /* nonpaged pool; all fields protected by *lock unless said otherwise */
    struct spinlock *lock; /* of the family: an object and all that were copied from it; constant */
    uint32_t refs;         /* entries, copies and outside holders */
    uint32_t ncopies;
    uint64_t npages;
    const struct pager_ops *ops; /* NULL: anonymous, zero filled; constant */
    void *pager_data;            /* constant */
    struct mm_object *shadow;    /* what it was copied from, with a reference */
    uint64_t shadow_offset;      /* pages: page n here is page n + shadow_offset there */
    struct list copies;          /* objects whose shadow this is, newest first */
    struct list copy_link;
    struct list entries; /* map entries that map this object directly */
    struct index_node *root;
    uint64_t leaf_base; /* height 0: offset of the leaf's first slot */
    uint64_t resident;  /* pages present */
    uint64_t nodes;     /* of the index */
    uint32_t pending;   /* slots with SLOT_BUSY: answers to come */
    uint8_t height;
    bool dead;     /* no reference left; waits for the answers */
    uint16_t seen; /* the self-check's (mm/check/validate.h) */
};

/* ---- index (mm/object/object_index.c); lock held ---- */
/* NULL: there is no such slot, as good as an empty one. An empty slot is filled through
   index_create only, which notes it as used. */
slot_t *index_find(struct mm_object *o, uint64_t offset);
slot_t *index_create(struct mm_object *o, uint64_t offset); /* NULL: no memory */
/* Call fn for each nonempty slot with offset in [from, to), ascending; fn may empty the slot. Stops
 * when fn returns false. */
void index_for_each(struct mm_object *o, uint64_t from, uint64_t to,
                    bool (*fn)(struct mm_object *o, uint64_t offset, slot_t *s, void *arg),
                    void *arg);

/* A page of o, found in o's own index, has a new place: note it in the PFN database. */
static inline void object_page_own(struct mm_object *o, uint64_t offset, pfn_t pfn)
{
    struct page *p = page_of(pfn);

    p->owner = (uint64_t)o;
    p->offset = offset;
    p->type = PAGE_T_OBJECT;
}

/* ---- requests (mm/object/pager.c) ---- */
/* Wait until the request for the page is answered. Lock held on entry, dropped on return; the
   aspace mutex `shared`, if not NULL, is dropped while waiting. -EAGAIN: look again; or the error
   that was answered. */
int pager_wait_unlock(struct mm_object *o, uint64_t offset, ipl_t ipl, struct mutex *shared);
/* Ask the pager for a page that is not there, or for more access to one that is. The caller holds a
   reference, its own or that of an entry whose space's mutex it holds. Lock held on entry, dropped
   on return. 0: asked, perhaps answered already; or a negative errno. */
int pager_request_unlock(struct mm_object *o, uint64_t offset, unsigned access, ipl_t ipl);

#endif
