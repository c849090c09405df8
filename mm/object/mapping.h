/*
 * Mappings as objects know them. A map entry is one mapping of an address space; the layer of
 * address spaces (mm/space/aspace.h) makes, orders and destroys entries. An object keeps a list of
 * the entries that map it and finds the PTEs of its pages through them (mm/object/rmap.c).
 */
#ifndef MM_OBJECT_MAPPING_H
#define MM_OBJECT_MAPPING_H

#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"
#include "mm/pt/page_table.h"

struct map_ops;
struct mm_object;
struct section_map;

/* Nonpaged pool (map_entry_alloc). Protected by the aspace mutex; object, offset and needs_copy of
   an entry that has an object are written under *obj_lock with the mutex at least shared, and read
   under either of *obj_lock and the mutex held exclusively. */
struct map_entry {
    struct list link;                        /* in address order */
    struct map_entry *left, *right, *parent; /* search tree (mm/space/aspace_tree.c) */
    vaddr_t start, end;
    uint8_t prot; /* MAP_* */
    uint8_t max_prot;
    uint8_t needs_copy; /* symmetric copy pending: first write puts a new object in front */
    uint8_t locked;     /* pages are locked in memory: written with the mutex exclusive and, where
                           there is one, *obj_lock; read under either */
    uint32_t heap;      /* search tree: random weight */
    uint32_t flags;     /* MAPF_* of mm/space/aspace.h */
    const struct map_ops *ops;
    struct mm_object
        *object; /* NULL: private, never shared by fork; tested by obj_lock, which needs no lock */
    uint64_t offset;           /* bytes into object or section */
    struct spinlock *obj_lock; /* lock of the object's family, set with object: mutex exclusive */
    struct list obj_link;      /* in object's list of entries; protected by *obj_lock */
    vaddr_t low;               /* GROWSDOWN: lowest page used so far; atomic, a hint for walks */
    struct page_table *pt;     /* of its address space; constant once linked */
    struct section_map *smap;  /* section mappings: mm/section/section_map.h */
};

/* The entry maps o from now on: takes a reference. IPL 0, mutex of the entry's space exclusive. */
void object_attach_entry(struct mm_object *o, struct map_entry *e);
/* The same with the family's lock held. */
void object_attach_entry_locked(struct mm_object *o, struct map_entry *e);
/* The entry maps its object no longer: drops the reference, and frees the pages that only e could
   reach. No PTE of e is left. IPL 0, mutex of the entry's space exclusive. */
void object_detach_entry(struct map_entry *e);
/* The object with a pager at the end of e's chain, with a reference, and the byte offset in it that
   e starts at; NULL when there is none. Mutex of the entry's space exclusive. */
struct mm_object *object_base_get(struct map_entry *e, uint64_t *offset);
/* Put a new object in front of e->object, for e alone: symmetric copy's write side. False: no
   memory. Lock held. */
bool object_shadow_entry_locked(struct map_entry *e);

#endif
