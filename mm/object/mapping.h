/*
 * Map entries, as the object layer sees them. A map entry describes one mapping of an address
 * space; mm/space (mm/space/aspace.h) creates, orders and destroys entries. Each object keeps a
 * list of the entries that map it and finds the PTEs of its pages through them (mm/object/rmap.c).
 */
#ifndef MM_OBJECT_MAPPING_H
#define MM_OBJECT_MAPPING_H

#include "kernel/base/list.h"
#include "kernel/base/span.h"
#include "kernel/base/treap.h"
#include "kernel/sched/spinlock.h"
#include "mm/pt/page_table.h"

struct map_ops;
struct mm_object;
struct section_map;

/*
 * Allocated from nonpaged pool (map_entry_alloc). Protected by the aspace mutex, held exclusively
 * to change a field, except `pages` and what its comment says.
 */
/*
 * An entry in its object's tree (mm/object/mappings.c): the pages of the object that it maps, and
 * its place among all entries, by first page and then by age. Protected by the object's lock; first
 * and age do not change while the entry is attached.
 */
struct object_mapping {
    struct treap_node node;
    uint64_t first, end; /* pages of the object */
    uint64_t age;        /* number of the attachment: a later one is higher */
    uint64_t max_end;    /* the largest end of the subtree */
};

struct map_entry {
    struct list link; /* in aspace.entries, in address order */
    union {           /* in aspace.tree */
        struct span span;
        struct {
            SPAN_FIELDS;
        };
    };
    uint8_t prot;     /* MAP_*: the current protection */
    uint8_t max_prot; /* MAP_*: the most that the protection may become */
    uint8_t locked;   /* pages are locked in memory: written with the mutex exclusive and, where
                           there is an object, its lock; read under either */
    /* The last fault found no page in the object, which is memory shared by mappings alone. A hint;
       atomic. */
    uint8_t fresh;
    uint32_t flags;   /* MAPF_* of mm/space/aspace.h */
    uint16_t account; /* number of the account that the entry is charged to; constant */
    const struct map_ops *ops;
    /* NULL: private memory that is zero where it was not written, or a section without an object.
       Constant while the entry is linked. */
    struct mm_object *object;
    uint64_t offset;             /* bytes into the object or section */
    struct object_mapping pages; /* with an object */
    vaddr_t low;                 /* MAPF_GROWSDOWN: lowest page used so far; atomic, a hint */
    struct page_table *pt;       /* of its address space; constant once linked */
    struct section_map *smap;    /* section mappings: mm/section/section_map.h */
};

/* Make e, whose range and offset are set, map o, and take a reference for it. IPL 0; the mutex of
   e's address space is held exclusively, or e is not reachable yet. */
void object_attach_entry(struct mm_object *o, struct map_entry *e);
/* Split e, which maps an object: `second`, whose range and offset are set, gets the upper part. The
   caller lowers e->end. IPL 0, mutex of e's address space exclusive. */
void object_split_entry(struct map_entry *e, struct map_entry *second);
/* The end of e, which maps an object, was moved up: it maps as many pages more. IPL 0, mutex of e's
   address space exclusive. */
void object_extend_entry(struct map_entry *e);
/* Make e map its object no longer: drop its reference, and free the pages of an anonymous object
   that only e could reach. The caller has cleared all PTEs of e. IPL 0, mutex of e's address space
   exclusive, or held by nobody else. May call the pager's `end`. */
void object_detach_entry(struct map_entry *e);

#endif
