/* Locks by name, for `show spinlock` and `show mutex`. */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sys/info/info.h"

static cond_t info_lock(enum lockstat_kind kind, int64_t index, struct mega_lock *m)
{
    struct lockstat s;

    if (index < 0 || !lockstat_get(kind, (uint64_t)index, &s))
        return SS$_NONEXPR;
    *m = (struct mega_lock){.rank = s.rank,
                            .ipl = s.ipl,
                            .measuring = lockstat_on(kind),
                            .acquisitions = s.acquisitions,
                            .shared = s.shared,
                            .waits = s.waits,
                            .held_ns = s.held_ns,
                            .longest_ns = s.longest_ns,
                            .shared_waits = s.shared_waits,
                            .wait_ns = s.wait_ns,
                            .longest_wait_ns = s.longest_wait_ns,
                            .unlocks = s.unlocks,
                            .shared_unlocks = s.shared_unlocks};
    str_copy(m->name, s.name, sizeof(m->name));
    if (s.longest_place)
        format(m->longest_place, sizeof(m->longest_place), "%pS", (void *)s.longest_place);
    return SS$_NORMAL;
}

cond_t info_spinlock(int64_t index, void *out) { return info_lock(LOCKSTAT_SPIN, index, out); }
cond_t info_mutex(int64_t index, void *out) { return info_lock(LOCKSTAT_MUTEX, index, out); }
