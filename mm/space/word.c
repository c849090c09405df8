/*
 * Names of words (word.h). Shared memory with an object, that is, files, anonymous shared memory
 * and page-file-backed sections, is known by the object; a mapping whose operations have a
 * `word_keeper`, that is, memory-resident and page-frame sections, by the section; private memory
 * by the address space and the address.
 */
#include "mm/space/word.h"

#include "kernel/base/errno.h"
#include "mm/object/object.h"
#include "mm/space/aspace_private.h"

static bool hold(void *base)
{
    object_hold(base);
    return true;
}

static void drop(void *base) { object_drop(base); }

static const struct word_keeper object_keeper = {.hold = hold, .drop = drop};

static int name_locked(struct aspace *as, vaddr_t va, struct word_name *name)
{
    const struct map_entry *e = aspace_lookup_locked(as, va);

    if (!e)
        return -EFAULT;
    *name = (struct word_name){.base = as, .offset = va};
    if (!(e->flags & MAPF_SHARED))
        return 0;
    if (e->object)
        name->keeper = &object_keeper;
    else if (e->ops->word_keeper)
        name->keeper = e->ops->word_keeper;
    else
        return 0;
    name->base = e->object ? (void *)e->object : e->ops->word_base(e);
    name->offset = e->offset + (va - e->start);
    return word_name_hold(name) ? 0 : -ENOMEM;
}

int word_name_get(struct aspace *as, vaddr_t va, struct word_name *name)
{
    int err = mutex_lock_shared_killable(&as->lock);

    if (err)
        return err;
    err = name_locked(as, va, name);
    mutex_unlock_shared(&as->lock);
    return err;
}
