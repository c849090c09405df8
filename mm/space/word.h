/*
 * Words of memory that several address spaces may map: by what a word is known in all of them, for
 * futexes.
 */
#ifndef MM_SPACE_WORD_H
#define MM_SPACE_WORD_H

#include "kernel/base/types.h"

struct aspace;
struct map_entry;

/* What keeps the base of a word's name in existence. */
struct word_keeper {
    bool (*hold)(void *base); /* one more reference; false: there are too many */
    void (*drop)(void *base); /* IPL 0; may wait */
};

/* The name of a word: an object, a section or, for private memory, the address space; and the
   offset of the word in it. While it is held, no other memory gets the same name. */
struct word_name {
    void *base;
    uint64_t offset;                  /* bytes */
    const struct word_keeper *keeper; /* NULL: the base is the caller's address space */
};

/* Name the word at va, and hold the name. 0; -EFAULT: nothing is mapped there; -ENOMEM: too many
   hold it. IPL 0; takes the mutex of as, shared. */
int word_name_get(struct aspace *as, vaddr_t va, struct word_name *name);
/* Hold a name once more, which the caller holds. False: too many hold it. Any IPL. */
static inline bool word_name_hold(const struct word_name *name)
{
    return !name->keeper || name->keeper->hold(name->base);
}
/* IPL 0, no locks; may wait. */
static inline void word_name_drop(const struct word_name *name)
{
    if (name->keeper)
        name->keeper->drop(name->base);
}

#endif
