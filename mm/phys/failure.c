/* Failure injection: see mm/phys/failure.h. Each thread uses only its own record: no lock. */
#include "mm/phys/failure.h"

#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/string.h"

static uint64_t injected, counted; /* since boot; atomic */

bool failure_count(enum mega_alloc kind)
{
    struct thread *t = thread_self();
    struct failure *f = t->failing;

    t->failing = NULL; /* allocations below must not be counted */
    __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
    if (f->left == 0 || --f->left != 0) {
        f->report.passed++;
        t->failing = f;
        return false;
    }
    __atomic_fetch_add(&injected, 1, __ATOMIC_RELAXED);
    f->report.fired = 1;
    f->report.kind = kind;
    f->report.in_fault = f->in_fault;
    f->report.call = user_frame_of(&t->hw)->orig_v0;
    memset(f->site, 0, sizeof(f->site));
    backtrace_callers(&f->room, f->site, MEGA_FAIL_SITES);
    t->failing = f;
    return true;
}

int failure_in_fault(int (*resolve)(uint64_t va, int64_t cause), uint64_t va, int64_t cause,
                     bool from_user)
{
    struct thread *t = thread_self();
    struct failure *f = t->failing;
    bool was = f->in_fault;
    int err;

    if (from_user && !f->faults)
        t->failing = NULL;
    f->in_fault = !from_user;
    err = resolve(va, cause);
    f->in_fault = was;
    t->failing = f;
    return err;
}

void failure_arm(struct failure *f, uint64_t n, bool faults)
{
    struct thread *t = thread_self();

    memset(f, 0, sizeof(*f));
    f->left = n;
    f->faults = faults;
    t->failure = f;
    t->failing = f;
}

struct failure *failure_disarm(void)
{
    struct thread *t = thread_self();
    struct failure *f = t->failure;

    t->failing = NULL;
    t->failure = NULL;
    return f;
}

void failure_totals(uint64_t *injected_out, uint64_t *counted_out)
{
    *injected_out = __atomic_load_n(&injected, __ATOMIC_RELAXED);
    *counted_out = __atomic_load_n(&counted, __ATOMIC_RELAXED);
}
