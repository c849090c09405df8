/*
 * Map entries, as the object layer sees them. A map entry describes one mapping of an address
 * space; mm/space (mm/space/aspace.h) creates, orders and destroys entries. Each object keeps a
 * list of the entries that map it and finds the PTEs of its pages through them (mm/object/rmap.c).
 */
#ifndef MM_OBJECT_MAPPING_H
#define MM_OBJECT_MAPPING_H

#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"
#include "mm/pt/page_table.h"

struct map_ops;
struct mm_object;
struct section_map;

/*
 * Allocated from nonpaged pool (map_entry_alloc). Protected by the aspace mutex, held exclusively
 * to change a field. The exceptions concern entries that have an object:
 *
 *   object              written under *obj_lock alone, because a merge of two objects changes it
 *                       in entries of other address spaces; read under *obj_lock. The object of a
 *                       MAPF_SHARED entry is never merged: it stays as long as the entry.
 *   offset, needs_copy  written under *obj_lock with the mutex at least shared; read under
 *                       *obj_lock or with the mutex held exclusively
 *   obj_link            protected by *obj_lock
 */
struct map_entry {
    struct list link;                        /* in aspace.entries, in address order */
    struct map_entry *left, *right, *parent; /* search tree (mm/space/aspace_tree.c) */
    vaddr_t start, end;
    uint8_t prot;       /* MAP_*: the current protection */
    uint8_t max_prot;   /* MAP_*: the most that the protection may become */
    uint8_t needs_copy; /* copy pending: the first write inserts a new object */
    uint8_t locked;     /* pages are locked in memory: written with the mutex exclusive and, where
                           there is one, *obj_lock; read under either */
    uint32_t heap;      /* search tree: random weight */
    uint32_t flags;     /* MAPF_* of mm/space/aspace.h */
    const struct map_ops *ops;
    /* NULL: private memory that no fork has shared, or a section without an object. To find out
       whether there is an object, test obj_lock, which needs no spinlock. */
    struct mm_object *object;
    uint64_t offset;           /* bytes into the object or section */
    struct spinlock *obj_lock; /* lock of the object's family, set with object: mutex exclusive */
    struct list obj_link;      /* in mm_object.entries */
    vaddr_t low;               /* MAPF_GROWSDOWN: lowest page used so far; atomic, a hint */
    struct page_table *pt;     /* of its address space; constant once linked */
    struct section_map *smap;  /* section mappings: mm/section/section_map.h */
};

/* Make e map o and take a reference for it. IPL 0; the mutex of e's address space is held
   exclusively, or e is not reachable yet. */
void object_attach_entry(struct mm_object *o, struct map_entry *e);
/* The same with the family's lock held, for which a shared aspace mutex is enough. */
void object_attach_entry_locked(struct mm_object *o, struct map_entry *e);
/* Make e map its object no longer: drop its reference and free the pages that only e could reach.
   The caller has cleared all PTEs of e; e->obj_lock stays set. IPL 0, mutex of e's address space
   exclusive, or held by nobody else. May call the pager's `end`. */
void object_detach_entry(struct map_entry *e);
/* Find the object with a pager at the end of e's shadow chain. Returns it with a reference for the
   caller and stores the byte offset at which e begins in it; NULL when no object of the chain has a
   pager. Mutex of e's address space exclusive. */
struct mm_object *object_base_get(struct map_entry *e, uint64_t *offset);
/* Replace e->object, for e alone, by a new empty object that shadows it: the first write to an
   entry marked needs_copy. False: out of memory, nothing changed. Family's lock held, mutex of e's
   address space at least shared. */
bool object_shadow_entry_locked(struct map_entry *e);

#endif
