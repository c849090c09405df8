/*
 * MEGA_INFO_ACCOUNTING: records of processes that have ended, for `show accounting`. The caller
 * sees those of which it could have asked while they lived, by the rule of $GETJPI; the others do
 * not exist for it.
 */
#include "kernel/proc/accounting.h"

#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/proc/termination.h"
#include "kernel/sys/info/info.h"

static bool may_know(const struct accounting_record *r)
{
    const struct process *self = process_self();
    uint64_t privileges = process_privileges(self);

    return (privileges & PRV_WORLD) ||
           (r->uic_group == process_uic_group(self) &&
            (r->uic_member == process_uic_member(self) || (privileges & PRV_GROUP)));
}

/* There is a bounded number of records, and the lock is taken for each, so the search is short. */
cond_t info_accounting(int64_t index, void *out)
{
    struct mega_accounting *m = out;
    struct accounting_record r;
    struct termination message;

    _Static_assert(sizeof(m->message) == sizeof(message), "the layout of <accdef.h>");
    r.number = index > 0 ? (uint64_t)index - 1 : 0;
    do {
        if (!accounting_find(r.number + 1, &r))
            return SS$_NONEXPR;
    } while (!may_know(&r));
    termination_fill(&message, &r);
    memcpy(m->message, &message, sizeof(message));
    m->number = r.number;
    m->uid = r.uid;
    m->uic_group = r.uic_group;
    m->uic_member = r.uic_member;
    m->exit_status = r.exit_status;
    memcpy(m->name, r.name, sizeof(m->name));
    m->elapsed_ns = r.end_ns - r.start_ns;
    m->user_ns = r.used.user_ns;
    m->cpu_ns = r.used.user_ns + r.used.system_ns;
    m->faults = r.spaces.faults;
    m->peak_bytes = r.spaces.peak_bytes;
    m->peak_pages = r.spaces.peak_pages;
    m->buffered_io = r.buffered_io;
    m->direct_io = r.direct_io;
    return SS$_NORMAL;
}
