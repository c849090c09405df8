/*
 * Changing the protection of mappings: mprotect and $SETPRT_64.
 *
 * Both hold the mutex exclusively. They check the whole range first, then split it at its ends,
 * which may run out of memory, and then change entry after entry, which cannot fail any more; but a
 * thread that is to end leaves the rest of the range as it is. The operation `protect` of the entry
 * (anon_protect) changes the PTEs and flushes every CPU.
 */
#include "kernel/base/errno.h"
#include "kernel/sched/thread.h"
#include "mm/space/aspace_private.h"

/* The protection asked for. The codes of $SETPRT_64 have no bit for execution: it comes with
   reading wherever the mapping may have it. And on a mapping with fixed protection they are refused
   even if they change nothing. */
struct wish {
    unsigned prot; /* MAP_* */
    bool code;     /* from a code of $SETPRT_64 */
};

static unsigned prot_for(const struct map_entry *e, const struct wish *w)
{
    return w->code && !(e->max_prot & MAP_X) ? w->prot & ~MAP_X : w->prot;
}

static bool is_fixed(const struct map_entry *e, const struct wish *w)
{
    return (!e->ops->protect || (e->ops->is_fixed && e->ops->is_fixed(e))) &&
           (w->code || w->prot != e->prot);
}

/* Is every page of the range mapped, and may it have this protection? 0, -EFAULT, -EACCES, -EPERM
 * as aspace_set_protection. *prepares: prepare() is to be called. */
static int check(struct aspace *as, vaddr_t va, vaddr_t end, const struct wish *w, bool *prepares)
{
    struct map_entry *e = aspace_entry_locked(as, va);

    for (;;) {
        struct list *l;

        if (!e)
            return -EFAULT;
        if (thread_killed())
            return -EINTR;
        if (is_fixed(e, w))
            return -EPERM;
        if (prot_for(e, w) & ~(unsigned)e->max_prot)
            return -EACCES;
        *prepares |= e->ops->protect_prepare != NULL;
        if (e->end >= end)
            return 0;
        l = list_next(&as->entries, &e->link);
        va = e->end;
        e = l ? list_entry(l, struct map_entry, link) : NULL;
        if (e && e->start != va)
            return -EFAULT;
    }
}

/* Is there a mapping at va whose protection will change? */
static bool changes(struct aspace *as, vaddr_t va, const struct wish *w)
{
    const struct map_entry *e = aspace_entry_locked(as, va);

    return e && e->prot != prot_for(e, w);
}

/* Change the protection of the entry e. -EINTR: the caller is to end, and only the lower part was
 * changed, which is an entry of its own now. Without memory to split e, all of it is changed. */
static int set_entry(struct aspace *as, struct map_entry *e, unsigned prot)
{
    vaddr_t upto = e->ops->protect(as, e, e->start, e->end, prot);
    int err = 0;

    if (upto < e->end && aspace_split_locked(as, upto, 0) == 0)
        err = -EINTR;
    while (upto < e->end)
        upto = e->ops->protect(as, e, upto, e->end, prot);
    aspace_count_extent(as, e,
                        -(int64_t)(e->end - e->start)); /* it may become data, or cease to be */
    e->prot = (uint8_t)prot;
    aspace_count_extent(as, e, (int64_t)(e->end - e->start));
    return err;
}

/* Let the mappings in the range, which was split at its ends, prepare for the change. */
static int prepare(struct aspace *as, vaddr_t va, vaddr_t end, const struct wish *w)
{
    int err = 0;

    while (!err && va < end) {
        struct map_entry *e = aspace_entry_locked(as, va);

        if (thread_killed())
            err = -EINTR;
        else if (e->ops->protect_prepare && e->prot != prot_for(e, w))
            err = e->ops->protect_prepare(as, e);
        va = e->end;
    }
    return err;
}

static int set_locked(struct aspace *as, vaddr_t va, vaddr_t end, const struct wish *w,
                      unsigned *old)
{
    bool prepares = false;
    int err = check(as, va, end, w, &prepares);

    if (!err)
        err = aspace_split_locked(as, changes(as, va, w) ? va : 0, changes(as, end, w) ? end : 0);
    if (!err && unlikely(prepares))
        err = prepare(as, va, end, w);
    while (!err && va < end) {
        struct map_entry *e = aspace_entry_locked(as, va);
        unsigned prot = prot_for(e, w);

        va = e->end;
        *old = e->prot;
        if (e->prot != prot)
            err = set_entry(as, e, prot);
        aspace_merge_locked(as, e);
        if (thread_killed())
            err = -EINTR;
    }
    return err;
}

static bool range_ok(vaddr_t va, uint64_t len, unsigned prot)
{
    return aspace_user_range(va, len) && !(prot & ~(MAP_R | MAP_W | MAP_X));
}

static int set(struct aspace *as, vaddr_t va, uint64_t len, const struct wish *w, unsigned *old)
{
    int err = mutex_lock_killable(&as->lock);

    if (err)
        return err;
    err = set_locked(as, va, va + len, w, old);
    mutex_unlock(&as->lock);
    return err;
}

int aspace_set_protection(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot, unsigned *old)
{
    const struct wish w = {prot, true};

    return range_ok(va, len, prot) ? set(as, va, len, &w, old) : -EFAULT;
}

int aspace_protect(struct aspace *as, vaddr_t va, uint64_t len, unsigned prot)
{
    const struct wish w = {prot, false};
    unsigned old;
    int err;

    if (!range_ok(va, len, prot))
        return -EINVAL;
    err = set(as, va, len, &w, &old);
    return err == -EFAULT ? -ENOMEM : err == -EPERM ? -EACCES : err;
}
